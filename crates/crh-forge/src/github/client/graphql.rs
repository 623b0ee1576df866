//! GraphQL: failures come with status 200, and a part of an answer may be missing while the rest is there.

use std::time::Duration;

use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::{Value, json};

use super::head::names_limit;
use super::send::{Api, Ask, Method};
use super::{Client, parsed};
use crate::ForgeError;
use crate::asking::retry::Purpose;
use crate::asking::said;

/// The kind of an error that says that too much was asked.
const RATE_LIMITED: &str = "RATE_LIMITED";

/// What is in the sentence with which GitHub gives a query up after ten seconds. It has no word for it.
const TIMEOUT: &str = "may be the result of a timeout";

/// Why a part of an answer is missing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct GraphError {
    /// The host's sentence.
    #[serde(default)]
    pub message: String,
    /// The host's word for it, such as `FORBIDDEN` or `NOT_FOUND`.
    #[serde(default, rename = "type")]
    pub kind: Option<String>,
    /// The names of the fields that lead to what is missing; numbers for places in lists.
    #[serde(default)]
    pub path: Vec<Value>,
}

impl GraphError {
    /// Whether what is missing is a field of this name, or in one.
    pub fn is_in(&self, field: &str) -> bool {
        self.path.iter().any(|part| part.as_str() == Some(field))
    }

    /// The error of an answer as REST would have told it.
    pub(crate) fn refusal(&self) -> ForgeError {
        let names = self.path.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(".");
        let what = if names.is_empty() { WHAT.to_owned() } else { format!("{WHAT} ({names})") };
        let message = said::shown(&self.message, None);
        match self.kind.as_deref() {
            Some("FORBIDDEN" | "INSUFFICIENT_SCOPES") => {
                ForgeError::Forbidden { what, message, needs: None }
            }
            Some("NOT_FOUND") => ForgeError::NotFound { what },
            Some(_) | None => ForgeError::Refused { what, status: 200, message },
        }
    }
}

#[derive(Deserialize)]
struct Answer<T> {
    data: Option<T>,
    #[serde(default)]
    errors: Vec<GraphError>,
}

impl Client {
    /// Asks a query or a mutation, all or nothing: a part that is missing fails the whole. A mutation is not repeated blindly.
    pub async fn graphql<T: DeserializeOwned>(
        &self,
        query: &str,
        variables: &Value,
    ) -> Result<T, ForgeError> {
        let (data, errors) = self.graphql_parts(query, variables).await?;
        match errors.first() {
            None => Ok(data),
            Some(error) => Err(error.refusal()),
        }
    }

    /// Asks a query, and gives what there is of the answer together with why the rest is missing.
    pub async fn graphql_parts<T: DeserializeOwned>(
        &self,
        query: &str,
        variables: &Value,
    ) -> Result<(T, Vec<GraphError>), ForgeError> {
        let body = json!({ "query": query, "variables": variables }).to_string().into_bytes();
        let ask = Ask {
            method: Method::Post,
            purpose: purpose(query),
            url: self.host().graphql().to_owned(),
            body: Some(body),
            etag: None,
            api: Api::Graphql,
        };
        let reply = self.send(&ask).await?;
        let answer = parsed::<Answer<T>>(WHAT, &reply.body);
        // A part that is missing can make the rest unreadable; then the reason for the part is the better one.
        let errors = match &answer {
            Ok(answer) => answer.errors.clone(),
            Err(_) => errors(&reply.body),
        };
        match (answer, errors) {
            (Ok(Answer { data: Some(data), .. }), errors) => Ok((data, errors)),
            (Ok(Answer { data: None, .. }) | Err(_), errors) if !errors.is_empty() => {
                Err(errors[0].refusal())
            }
            (Ok(Answer { data: None, .. }), _) => Err(ForgeError::Unreadable {
                what: WHAT.to_owned(),
                message: "there are no data in it".to_owned(),
            }),
            (Err(error), _) => Err(error),
        }
    }
}

/// What is said to have been asked: queries are long.
const WHAT: &str = "POST a query";

/// What a document is for: a mutation says so with its first word.
fn purpose(query: &str) -> Purpose {
    if query.trim_start().starts_with("mutation") { Purpose::Write } else { Purpose::Read }
}

/// An answer that may be none.
#[derive(Deserialize)]
struct Turned {
    data: Option<IgnoredAny>,
    #[serde(default)]
    errors: Vec<GraphError>,
    /// As REST would tell it.
    message: Option<String>,
}

/// Whether an answer says that too much was asked: by its word for the limit of an hour, in a sentence for the others. `wait` is
/// how long the head of the answer asks to wait.
pub(super) fn is_limited(body: &[u8], wait: Option<Duration>) -> bool {
    let Ok(Turned { data, errors, message }) = serde_json::from_slice(body) else { return false };
    if errors.iter().any(|error| error.kind.as_deref() == Some(RATE_LIMITED)) {
        return true;
    }
    let mut said = errors.iter().map(|error| &error.message).chain(&message);
    // Where there are data, something was done: a part that is missing is no reason to do it again.
    data.is_none() && said.any(|message| wait.is_some() || names_limit(message))
}

/// Whether an answer says that the query took GitHub too long. Where it changes something, nobody knows how far that came.
pub(super) fn is_timeout(body: &[u8]) -> bool {
    errors(body).iter().any(|error| error.message.contains(TIMEOUT))
}

fn errors(body: &[u8]) -> Vec<GraphError> {
    let answer = serde_json::from_slice::<Answer<IgnoredAny>>(body);
    answer.map(|answer| answer.errors).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn only_a_mutation_changes_anything() {
        assert_eq!(purpose("query { viewer { login } }"), Purpose::Read);
        assert_eq!(purpose("{ mutation }"), Purpose::Read);
        assert_eq!(purpose("\n  mutation($id: ID!) { x }"), Purpose::Write);
    }

    #[test]
    fn a_limit_is_told_by_its_word_by_a_sentence_or_by_a_time_to_wait() {
        let wait = Some(Duration::from_secs(60));
        let sentence = "You have exceeded a secondary rate limit. Please wait a few minutes.";
        for (body, wait, expected) in [
            (json!({ "errors": [{ "type": "RATE_LIMITED" }] }), None, true),
            (json!({ "message": sentence, "documentation_url": "x" }), None, true),
            (json!({ "data": null, "errors": [{ "message": sentence }] }), None, true),
            (json!({ "errors": [{ "message": "Please wait." }] }), wait, true),
            (json!({ "errors": [{ "message": "Please wait." }] }), None, false),
            (json!({ "data": { "a": 1 }, "errors": [{ "message": sentence }] }), wait, false),
            (json!({ "data": {} }), wait, false),
            (json!("<html>"), wait, false),
        ] {
            assert_eq!(is_limited(body.to_string().as_bytes(), wait), expected, "{body}");
        }
    }

    #[test]
    fn a_query_that_was_given_up_is_told_by_its_sentence() {
        let sentence = "Something went wrong while executing your query. This may be the result of a timeout, or it could be a GitHub bug. Please include `A:0` when reporting this issue.";
        for (body, expected) in [
            (json!({ "data": null, "errors": [{ "message": sentence }] }), true),
            (json!({ "data": { "a": null }, "errors": [{}, { "message": sentence }] }), true),
            (json!({ "data": null, "errors": [{ "message": "no" }] }), false),
            (json!({ "data": { "a": sentence } }), false),
            (json!("<html>"), false),
        ] {
            assert_eq!(is_timeout(body.to_string().as_bytes()), expected, "{body}");
        }
    }

    #[test]
    fn errors_are_told_as_rest_tells_them() {
        let body = br#"{"data":null,"errors":[
            {"type":"NOT_FOUND","path":["repository"],"message":"Could not resolve"},
            {"type":"FORBIDDEN","path":["repository","pullRequest","closingIssuesReferences",0],"message":"Resource not\naccessible"},
            {"message":"Field 'x' doesn't exist"},
            {"type":"RATE_LIMITED","message":"API rate limit exceeded"}]}"#;
        let found = errors(body);
        assert!(is_limited(body, None) && found[1].is_in("closingIssuesReferences"));
        let lines: String = found.iter().map(|error| format!("{}\n", error.refusal())).collect();
        expect![[r#"
            `POST a query (repository)` is not there, or the token cannot see it
            the token may not do `POST a query (repository.pullRequest.closingIssuesReferences)`: Resource not accessible
            `POST a query` was refused with status 200: Field 'x' doesn't exist
            `POST a query` was refused with status 200: API rate limit exceeded
        "#]].assert_eq(&lines);
    }
}
