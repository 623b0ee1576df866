//! GraphQL requests. Errors come with status 200, and part of the data may be missing.

use std::time::Duration;

use reqwest::Method;
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::{Value, json};

use super::reply_head::mentions_rate_limit;
use super::send::{ApiKind, ApiRequest};
use super::{GitHubClient, parse_body};
use crate::ForgeError;
use crate::http::message;
use crate::http::retry::RequestPurpose;

/// Error type of a rate limit.
const RATE_LIMITED: &str = "RATE_LIMITED";

/// Part of GitHub's message when a query takes more than ten seconds. There is no error type for
/// it.
const TIMEOUT_PHRASE: &str = "may be the result of a timeout";

/// An error in a GraphQL reply: why part of the data is missing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct GraphError {
    /// Message of the host.
    #[serde(default)]
    pub message: String,
    /// Error type of the host, such as `FORBIDDEN` or `NOT_FOUND`.
    #[serde(default, rename = "type")]
    pub kind: Option<String>,
    /// Path of the missing field: names, and numbers for list entries.
    #[serde(default)]
    pub path: Vec<Value>,
}

impl GraphError {
    /// Whether the missing part is this field or inside it.
    pub fn concerns(&self, field: &str) -> bool {
        self.path.iter().any(|part| part.as_str() == Some(field))
    }

    /// Converts to the error that REST would give.
    pub(crate) fn to_forge_error(&self) -> ForgeError {
        let names = self.path.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(".");
        let request = if names.is_empty() {
            QUERY_NAME.to_owned()
        } else {
            format!("{QUERY_NAME} ({names})")
        };
        let message = message::single_line(&self.message, None);
        match self.kind.as_deref() {
            Some("FORBIDDEN" | "INSUFFICIENT_SCOPES") => {
                ForgeError::Forbidden { request, message, needs: None }
            }
            Some("NOT_FOUND") => ForgeError::NotFound { request },
            Some(_) | None => ForgeError::Refused { request, status: 200, message },
        }
    }
}

#[derive(Deserialize)]
struct GraphReply<T> {
    data: Option<T>,
    #[serde(default)]
    errors: Vec<GraphError>,
}

impl GitHubClient {
    /// Runs a query or mutation. Any missing part is an error. Unconfirmed mutations are not
    /// retried.
    pub async fn graphql<T: DeserializeOwned>(
        &self,
        query: &str,
        variables: &Value,
    ) -> Result<T, ForgeError> {
        let (data, errors) = self.graphql_parts(query, variables).await?;
        match errors.first() {
            None => Ok(data),
            Some(error) => Err(error.to_forge_error()),
        }
    }

    /// Runs a query and returns the available data with the errors for the rest.
    pub async fn graphql_parts<T: DeserializeOwned>(
        &self,
        query: &str,
        variables: &Value,
    ) -> Result<(T, Vec<GraphError>), ForgeError> {
        let body = json!({ "query": query, "variables": variables }).to_string().into_bytes();
        let api_request = ApiRequest {
            method: Method::POST,
            purpose: purpose(query),
            url: self.host().graphql().to_owned(),
            body: Some(body),
            etag: None,
            api: ApiKind::Graphql,
        };
        let reply = self.send(&api_request).await?;
        let parsed_reply = parse_body::<GraphReply<T>>(QUERY_NAME, &reply.body);
        // Missing parts can break parsing. Their errors explain more than the parse error.
        let errors = match &parsed_reply {
            Ok(answer) => answer.errors.clone(),
            Err(_) => errors(&reply.body),
        };
        match (parsed_reply, errors) {
            (Ok(GraphReply { data: Some(data), .. }), errors) => Ok((data, errors)),
            (Ok(GraphReply { data: None, .. }) | Err(_), errors) if !errors.is_empty() => {
                Err(errors[0].to_forge_error())
            }
            (Ok(GraphReply { data: None, .. }), _) => {
                Err(ForgeError::unreadable(QUERY_NAME, "it has no data"))
            }
            (Err(error), _) => Err(error),
        }
    }
}

/// Name of a query in messages, because queries are long.
const QUERY_NAME: &str = "POST a query";

/// Mutations start with the word `mutation`.
fn purpose(query: &str) -> RequestPurpose {
    if query.trim_start().starts_with("mutation") {
        RequestPurpose::Write
    } else {
        RequestPurpose::Read
    }
}

#[derive(Deserialize)]
struct GraphFailureReply {
    data: Option<IgnoredAny>,
    #[serde(default)]
    errors: Vec<GraphError>,
    /// Error message in REST format.
    message: Option<String>,
}

/// Whether a reply reports a rate limit: by error type (primary limit) or by message (secondary
/// limits). `wait` is the reply's `Retry-After`.
pub(super) fn is_limited(body: &[u8], wait: Option<Duration>) -> bool {
    let Ok(GraphFailureReply { data, errors, message }) = serde_json::from_slice(body) else {
        return false;
    };
    if errors.iter().any(|error| error.kind.as_deref() == Some(RATE_LIMITED)) {
        return true;
    }
    let mut messages = errors.iter().map(|error| &error.message).chain(&message);
    // If the reply has data, GitHub ran the query, so crh must not repeat it.
    data.is_none() && messages.any(|message| wait.is_some() || mentions_rate_limit(message))
}

/// Whether GitHub gave up a slow query. A mutation may have been applied in part.
pub(super) fn is_timeout(body: &[u8]) -> bool {
    errors(body).iter().any(|error| error.message.contains(TIMEOUT_PHRASE))
}

fn errors(body: &[u8]) -> Vec<GraphError> {
    let answer = serde_json::from_slice::<GraphReply<IgnoredAny>>(body);
    answer.map(|answer| answer.errors).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn only_mutations_are_writes() {
        assert_eq!(purpose("query { viewer { login } }"), RequestPurpose::Read);
        assert_eq!(purpose("{ mutation }"), RequestPurpose::Read);
        assert_eq!(purpose("\n  mutation($id: ID!) { x }"), RequestPurpose::Write);
    }

    #[test]
    fn rate_limit_is_detected_by_type_message_or_wait() {
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
    fn query_timeout_is_detected_by_message() {
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
    fn graphql_errors_become_rest_errors() {
        let body = br#"{"data":null,"errors":[
            {"type":"NOT_FOUND","path":["repository"],"message":"Could not resolve"},
            {"type":"FORBIDDEN","path":["repository","pullRequest","closingIssuesReferences",0],"message":"Resource not\naccessible"},
            {"message":"Field 'x' doesn't exist"},
            {"type":"RATE_LIMITED","message":"API rate limit exceeded"}]}"#;
        let errors = errors(body);
        assert!(is_limited(body, None) && errors[1].concerns("closingIssuesReferences"));
        let lines: String =
            errors.iter().map(|error| format!("{}\n", error.to_forge_error())).collect();
        expect![[r#"
            `POST a query (repository)` failed: not found, or the token cannot see it
            the token does not permit `POST a query (repository.pullRequest.closingIssuesReferences)`: Resource not accessible
            `POST a query` was rejected with status 200: Field 'x' doesn't exist
            `POST a query` was rejected with status 200: API rate limit exceeded
        "#]].assert_eq(&lines);
    }
}
