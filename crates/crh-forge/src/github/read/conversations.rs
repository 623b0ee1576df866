//! What only GraphQL tells: who we are, conversations about lines with whether they are settled, and the issues that are closed.
//!
//! Pages come one after another, since each says where the next begins; the rest of a long conversation is asked for beside them.

use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use serde_json::Value;
use serde_json::json;

use crate::ForgeError;

use super::super::Account;
use super::super::Client;
use super::super::GraphError;
use super::super::Name;
use super::reasons;
use super::wire::Issue;
use super::wire::Queried;
use super::wire::QueriedPull;
use super::wire::QueriedThread;
use super::wire::Thread;
use super::wire::ThreadComment;
use super::wire::Viewer;

/// The most queries for one pull request: ten thousand conversations, or as many long ones as anybody will read.
const QUERIES_MAX: usize = 200;

/// The most text of all conversations together, in bytes, so that hostile ones cannot fill the memory.
const TEXT_MAX: usize = 64 << 20;

/// The issues that are asked for; no pull request closes more.
const LINKED: &str = "closingIssuesReferences";

const FIRST: &str = "query($owner: String!, $name: String!, $number: Int!) {
  viewer { login databaseId }
  repository(owner: $owner, name: $name) {
    pullRequest(number: $number) {
      headRefOid
      reviewThreads(first: 100) { pageInfo { hasNextPage endCursor } nodes { ...thread } }
      closingIssuesReferences(first: 50) {
        pageInfo { hasNextPage endCursor }
        nodes { number title body url repository { nameWithOwner } }
      }
    }
  }
}";

const NEXT: &str = "query($owner: String!, $name: String!, $number: Int!, $after: String!) {
  repository(owner: $owner, name: $name) {
    pullRequest(number: $number) {
      headRefOid
      reviewThreads(first: 100, after: $after) { pageInfo { hasNextPage endCursor } nodes { ...thread } }
    }
  }
}";

const MORE: &str = "query($id: ID!, $after: String!) {
  node(id: $id) {
    ... on PullRequestReviewThread {
      comments(first: 100, after: $after) { pageInfo { hasNextPage endCursor } nodes { ...comment } }
    }
  }
}";

const THREAD: &str = "
fragment thread on PullRequestReviewThread {
  id isResolved isOutdated path line startLine originalLine originalStartLine diffSide
  resolvedBy { login }
  comments(first: 30) { pageInfo { hasNextPage endCursor } nodes { ...comment } }
}";

const COMMENT: &str = "
fragment comment on PullRequestReviewComment {
  fullDatabaseId state viewerDidAuthor author { __typename login } authorAssociation createdAt body url
}";

/// What was read.
#[derive(Default)]
pub(super) struct Conversations {
    pub(super) viewer: Account,
    /// The head when the first of it was read.
    pub(super) head: String,
    pub(super) threads: Vec<Thread>,
    pub(super) issues: Vec<Issue>,
    pub(super) notes: Vec<String>,
    /// Whether there is more of the threads than was read.
    pub(super) left_out: bool,
}

/// What has come.
enum Came {
    Page(Queried, Vec<GraphError>),
    /// More comments of the thread with this number.
    More(usize, QueriedThread),
}

/// Reads all conversations of a pull request.
pub(super) async fn read(client: &Client, name: &Name) -> Result<Conversations, ForgeError> {
    let mut read = Conversations::default();
    let mut coming: FuturesUnordered<BoxFuture<'_, Result<Came, ForgeError>>> =
        FuturesUnordered::new();
    coming.push(Box::pin(page(client, name, None)));
    let (mut queries, mut text) = (1, 0);
    while let Some(came) = coming.next().await {
        let mut next: Vec<BoxFuture<'_, Result<Came, ForgeError>>> = Vec::new();
        match came? {
            Came::Page(queried, errors) => {
                let pull = read.begin(queried, errors)?;
                if let Some(after) = pull.review_threads.page_info.next() {
                    next.push(Box::pin(page(client, name, Some(after))));
                }
                for mut thread in pull.review_threads.nodes.into_iter().flatten() {
                    text += size(&thread.comments.nodes);
                    if let Some(after) = std::mem::take(&mut thread.comments.page_info).next() {
                        let (number, id) = (read.threads.len(), thread.id.clone());
                        next.push(Box::pin(more(client, number, id, after)));
                    }
                    read.threads.push(thread);
                }
            }
            Came::More(number, queried) => {
                // A thread that has been deleted since has no more comments.
                let Some(found) = queried.node else { continue };
                let thread = &mut read.threads[number];
                text += size(&found.comments.nodes);
                if let Some(after) = found.comments.page_info.next() {
                    next.push(Box::pin(more(client, number, thread.id.clone(), after)));
                }
                thread.comments.nodes.extend(found.comments.nodes);
            }
        }
        // The next page comes before the rest of long conversations.
        let room = if text > TEXT_MAX { 0 } else { QUERIES_MAX.saturating_sub(queries) };
        read.left_out |= next.len() > room;
        next.truncate(room);
        queries += next.len();
        coming.extend(next);
    }
    Ok(read)
}

impl Conversations {
    /// Takes in what a page says beside its threads.
    fn begin(
        &mut self,
        queried: Queried,
        errors: Vec<GraphError>,
    ) -> Result<QueriedPull, ForgeError> {
        let (linked, others): (Vec<_>, Vec<_>) =
            errors.into_iter().partition(|error| error.is_in(LINKED));
        if let Some(error) = others.first() {
            return Err(error.refusal());
        }
        if !linked.is_empty() {
            let why = reasons(linked.iter().map(|error| error.message.as_str()));
            self.notes.push(format!("Not all linked issues could be read: {why}."));
        }
        if let Some(Viewer { login, database_id: Some(id) }) = queried.viewer {
            self.viewer = Account { id, login };
        }
        let pull = queried.repository.and_then(|repository| repository.pull_request);
        let mut pull = pull.ok_or_else(|| missing("there is no pull request in it"))?;
        // Whoever nobody knows cannot tell own comments from those of others.
        if self.viewer.id == 0 {
            return Err(missing("it does not say whom the token belongs to"));
        }
        if self.head.is_empty() {
            self.head.clone_from(&pull.head_ref_oid);
        }
        if let Some(issues) = pull.closing_issues_references.take() {
            if issues.page_info.has_next_page {
                self.notes.push("There are more linked issues than are read.".to_owned());
            }
            self.issues.extend(issues.nodes.into_iter().flatten());
        }
        Ok(pull)
    }
}

fn missing(what: &str) -> ForgeError {
    ForgeError::Unreadable { what: "POST a query".to_owned(), message: what.to_owned() }
}

async fn page(client: &Client, name: &Name, after: Option<String>) -> Result<Came, ForgeError> {
    let (owner, repo, number) = (name.repo.owner(), name.repo.name(), name.number);
    let (query, variables): (&str, Value) = match after {
        None => (FIRST, json!({ "owner": owner, "name": repo, "number": number })),
        Some(after) => {
            (NEXT, json!({ "owner": owner, "name": repo, "number": number, "after": after }))
        }
    };
    let query = [query, THREAD, COMMENT].concat();
    let (queried, errors) = client.graphql_parts(&query, &variables).await?;
    Ok(Came::Page(queried, errors))
}

async fn more(
    client: &Client,
    number: usize,
    id: String,
    after: String,
) -> Result<Came, ForgeError> {
    let query = [MORE, COMMENT].concat();
    let queried = client.graphql(&query, &json!({ "id": id, "after": after })).await?;
    Ok(Came::More(number, queried))
}

fn size(comments: &[Option<ThreadComment>]) -> usize {
    comments.iter().flatten().map(|comment| comment.body.len()).sum()
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    fn begun(answer: Value, errors: Value) -> String {
        let errors: Vec<GraphError> = serde_json::from_value(errors).unwrap();
        let queried: Queried = serde_json::from_value(answer).unwrap();
        let mut read = Conversations::default();
        match read.begin(queried, errors) {
            Ok(_) => format!("{} issues, {:?}\n", read.issues.len(), read.notes),
            Err(error) => format!("{error}\n"),
        }
    }

    #[test]
    fn linked_issues_that_may_not_be_seen_are_a_note_and_all_else_is_an_error() {
        let page = json!({ "nodes": [], "pageInfo": { "hasNextPage": false, "endCursor": null } });
        let issue = json!({
            "number": 1, "title": "t", "body": "b", "url": "u", "repository": { "nameWithOwner": "o/r" },
        });
        let answer = |issues: Value| {
            json!({
                "viewer": { "login": "me", "databaseId": 7 },
                "repository": { "pullRequest": {
                    "headRefOid": "abc", "reviewThreads": page, "closingIssuesReferences": issues,
                } },
            })
        };
        let path = ["repository", "pullRequest", LINKED];
        let forbidden = json!({ "type": "FORBIDDEN", "message": "not accessible", "path": path });
        let mut lines = begun(answer(Value::Null), json!([forbidden, forbidden]));
        let nodes = json!({ "nodes": [issue, null], "pageInfo": { "hasNextPage": true, "endCursor": "x" } });
        lines += &begun(answer(nodes), json!([forbidden]));
        let threads =
            json!({ "type": "FORBIDDEN", "message": "no", "path": ["repository", "pullRequest"] });
        lines += &begun(answer(page.clone()), json!([forbidden, threads]));
        lines += &begun(json!({ "viewer": null, "repository": null }), json!([]));
        let mut nobody = answer(page.clone());
        nobody["viewer"] = Value::Null;
        lines += &begun(nobody, json!([]));
        expect![[r#"
            0 issues, ["Not all linked issues could be read: not accessible."]
            1 issues, ["Not all linked issues could be read: not accessible.", "There are more linked issues than are read."]
            the token may not do `POST a query (repository.pullRequest)`: no
            the answer to `POST a query` cannot be read: there is no pull request in it
            the answer to `POST a query` cannot be read: it does not say whom the token belongs to
        "#]].assert_eq(&lines);
    }
}
