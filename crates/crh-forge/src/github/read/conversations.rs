//! What only GraphQL tells: who we are, conversations about lines with whether they are settled, and the issues that are closed.
//!
//! Pages come one after another, since each says where the next begins; the rest of a long conversation is asked for beside them.

use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use serde_json::json;
use tokio::sync::watch;

use super::super::{Account, Client, GraphError, Name, Rest};
use super::reasons;
use super::texts::{Room, Whose};
use super::wire::{Issue, Queried, QueriedPull, QueriedThread, Thread, ThreadComment, Viewer};
use crate::ForgeError;

/// The most queries for one pull request: twenty thousand conversations, or as many long ones as anybody will read. Where pages have to
/// be as small as they can be, it is a thousand.
const QUERIES_MAX: usize = 200;

/// As many of them may be for the rest of long conversations that others began: these decide nothing, and must not keep us from reading
/// what does.
const OTHERS_MAX: usize = 50;

/// How many conversations come with a page, and how many comments with each. Where a page is larger than an answer may be, or takes
/// the host longer than it works on one, it is asked for again in smaller parts; the smallest cannot be too large, at 65,536 letters
/// a comment.
const PARTS: [(usize, usize); 3] = [(100, 30), (25, 10), (5, 5)];

/// After so many pages in smaller parts the next one is asked for in larger ones: what is too much is often one conversation, and
/// where all are, this costs one more question in five.
const GROW_AFTER: usize = 4;

/// The issues that are asked for; no pull request closes more.
const LINKED: &str = "closingIssuesReferences";

const FIRST: &str =
    "query($owner: String!, $name: String!, $number: Int!, $threads: Int!, $comments: Int!) {
  viewer { login databaseId }
  repository(owner: $owner, name: $name) {
    pullRequest(number: $number) {
      headRefOid
      reviewThreads(first: $threads) { pageInfo { hasNextPage endCursor } nodes { ...thread } }
      closingIssuesReferences(first: 50) {
        pageInfo { hasNextPage endCursor }
        nodes { number title body url repository { nameWithOwner } }
      }
    }
  }
}";

const NEXT: &str = "query($owner: String!, $name: String!, $number: Int!, $after: String!, $threads: Int!, $comments: Int!) {
  repository(owner: $owner, name: $name) {
    pullRequest(number: $number) {
      headRefOid
      reviewThreads(first: $threads, after: $after) { pageInfo { hasNextPage endCursor } nodes { ...thread } }
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
  comments(first: $comments) { pageInfo { hasNextPage endCursor } nodes { ...comment } }
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
    /// Whether there are more conversations than were read, or more in those of ours.
    pub(super) left_out: bool,
    /// How many conversations of others were not read to their ends.
    pub(super) unended: usize,
    /// Of how many comments only the beginning is kept.
    pub(super) cut: usize,
}

/// What has come.
enum Came {
    /// A page, and in which parts the next one is asked for.
    Page(Queried, Vec<GraphError>, Parts),
    /// More comments of the thread with this number.
    More(usize, QueriedThread),
}

/// In which parts a page is asked for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Parts {
    /// The place in [`PARTS`].
    at: usize,
    /// How many pages have come in these in a row.
    came: usize,
}

impl Parts {
    /// After a page has come.
    fn next(self) -> Self {
        match self.came + 1 {
            came if came < GROW_AFTER => Self { came, ..self },
            _ => Self { at: self.at.saturating_sub(1), came: 0 },
        }
    }

    /// After a page was too much; none if there are no smaller ones.
    fn smaller(self) -> Option<Self> {
        let at = self.at + 1;
        (at < PARTS.len()).then_some(Self { at, came: 0 })
    }
}

type Coming<'a> = BoxFuture<'a, Result<Came, ForgeError>>;

/// What is asked for next.
#[derive(Default)]
struct Next<'a> {
    /// The next page, and the rest of our own conversations.
    needed: Vec<Coming<'a>>,
    /// The rest of those of others.
    others: Vec<Coming<'a>>,
}

/// Reads all conversations of a pull request. `known` is told whom the token belongs to.
pub(super) async fn read(
    client: &Client,
    name: &Name,
    known: watch::Sender<Option<u64>>,
) -> Result<Conversations, ForgeError> {
    let (mut read, mut room) = (Conversations::default(), Room::new());
    let mut coming: FuturesUnordered<Coming<'_>> = FuturesUnordered::new();
    coming.push(Box::pin(page(client, name, None, Parts::default())));
    let (mut queries, mut of_others) = (1, 0);
    while let Some(came) = coming.next().await {
        let mut next = Next::default();
        match came? {
            Came::Page(queried, errors, parts) => {
                let pull = read.begin(queried, errors)?;
                known.send_replace(Some(read.viewer.id));
                if let Some(after) = pull.review_threads.page_info.next() {
                    next.needed.push(Box::pin(page(client, name, Some(after), parts)));
                }
                for mut thread in pull.review_threads.nodes.into_iter().flatten() {
                    let after = std::mem::take(&mut thread.comments.page_info).next();
                    let comments = std::mem::take(&mut thread.comments.nodes);
                    read.threads.push(thread);
                    let number = read.threads.len() - 1;
                    read.add(number, comments, &mut room);
                    read.go_on(client, number, after, &mut next);
                }
            }
            Came::More(number, queried) => {
                // A thread that has been deleted since has no more comments.
                let Some(found) = queried.node else { continue };
                read.add(number, found.comments.nodes, &mut room);
                read.go_on(client, number, found.comments.page_info.next(), &mut next);
            }
        }
        let Next { mut needed, mut others } = next;
        read.left_out |= needed.len() > QUERIES_MAX.saturating_sub(queries);
        needed.truncate(QUERIES_MAX.saturating_sub(queries));
        queries += needed.len();
        let room = OTHERS_MAX.saturating_sub(of_others).min(QUERIES_MAX.saturating_sub(queries));
        read.unended += others.len().saturating_sub(room);
        others.truncate(room);
        of_others += others.len();
        queries += others.len();
        coming.extend(needed.into_iter().chain(others));
    }
    read.cut = room.cut;
    Ok(read)
}

impl Conversations {
    /// Adds comments to a thread, as much of them as there is room for.
    fn add(&mut self, thread: usize, comments: Vec<Option<ThreadComment>>, room: &mut Room) {
        for mut comment in comments.into_iter().flatten() {
            let whose = if comment.viewer_did_author { Whose::Ours } else { Whose::Theirs };
            match room.take(&mut comment.body, whose) {
                Rest::Nothing => self.threads[thread].comments.nodes.push(Some(comment)),
                Rest::LeftOut => self.left_out = true,
            }
        }
    }

    /// Asks for the rest of a thread, if there is one.
    fn go_on<'a>(
        &self,
        client: &'a Client,
        number: usize,
        after: Option<String>,
        next: &mut Next<'a>,
    ) {
        let Some(after) = after else { return };
        let thread = &self.threads[number];
        let first = thread.comments.nodes.iter().flatten().next();
        let is_ours = first.is_none_or(|first| first.viewer_did_author);
        let asked = Box::pin(more(client, number, thread.id.clone(), after));
        if is_ours { next.needed.push(asked) } else { next.others.push(asked) }
    }

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

/// A page, in these parts or in smaller ones.
async fn page(
    client: &Client,
    name: &Name,
    after: Option<String>,
    mut parts: Parts,
) -> Result<Came, ForgeError> {
    let (owner, repo, number) = (name.repo.owner(), name.repo.name(), name.number);
    loop {
        let (threads, comments) = PARTS[parts.at];
        let mut variables = json!({
            "owner": owner, "name": repo, "number": number, "threads": threads, "comments": comments,
        });
        let query = match &after {
            None => FIRST,
            Some(after) => {
                variables["after"] = json!(after);
                NEXT
            }
        };
        let query = [query, THREAD, COMMENT].concat();
        match client.graphql_parts(&query, &variables).await {
            Ok((queried, errors)) => return Ok(Came::Page(queried, errors, parts.next())),
            Err(error @ (ForgeError::TooLarge { .. } | ForgeError::Failing { .. })) => {
                parts = parts.smaller().ok_or(error)?;
            }
            Err(error) => return Err(error),
        }
    }
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

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use serde_json::Value;

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

    #[test]
    fn parts_shrink_at_once_and_grow_in_steps() {
        let mut parts = Parts::default();
        let mut asked = Vec::new();
        // A page in full parts comes; then whatever is larger than the smallest parts is too much, twice.
        for too_much in
            [&[][..], &[0, 1], &[], &[], &[], &[1], &[], &[], &[], &[], &[], &[], &[], &[]]
        {
            while too_much.contains(&parts.at) {
                asked.push(parts.at);
                parts = parts.smaller().unwrap();
            }
            asked.push(parts.at);
            parts = parts.next();
        }
        assert_eq!(asked, [0, 0, 1, 2, 2, 2, 2, 1, 2, 2, 2, 2, 1, 1, 1, 1, 0]);
        assert_eq!(Parts { at: PARTS.len() - 1, came: 0 }.smaller(), None);
    }
}
