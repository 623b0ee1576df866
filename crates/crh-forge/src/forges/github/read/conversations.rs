//! Data that only GraphQL has: our own account, threads with their resolved state, and the issues
//! that the pull request closes.
//!
//! crh reads pages one after another, because each page names the next. It reads the rest of long
//! threads concurrently.

use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use serde_json::json;
use tokio::sync::watch;

use super::super::{GitHubClient, GraphError, PageCompleteness, PullRequestRef};
use super::texts::{TextBudget, TextOwner};
use super::unique_reasons;
use super::wire::{
    Issue, PullQueryData, QueriedPull, Thread, ThreadComment, ThreadQueryData, Viewer,
};
use crate::ForgeError;
use crate::posting::ForgeUser;

/// Maximum number of queries for one pull request: twenty thousand threads, or a thousand at the
/// smallest page size.
const QUERIES_MAX: usize = 200;

/// Maximum number of queries for the rest of long threads that other accounts opened. Posting does
/// not depend on these threads.
const OTHERS_QUERIES_MAX: usize = 50;

/// Threads per page and comments per thread. If a page is too large or too slow, it is requested
/// again in a smaller size. The smallest always fits, at 65,536 characters per comment.
const PAGE_SIZES: [(usize, usize); 3] = [(100, 30), (25, 10), (5, 5)];

/// Number of pages in a small size before crh tries the next larger size. Often a single thread is
/// too large. If all threads are, the failed attempts cost one extra query in five.
const GROW_AFTER: usize = 4;

/// Field of the linked issues. Pull requests close at most fifty.
const LINKED_ISSUES_FIELD: &str = "closingIssuesReferences";

const FIRST_PAGE_QUERY: &str =
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

const NEXT_PAGE_QUERY: &str = "query($owner: String!, $name: String!, $number: Int!, $after: String!, $threads: Int!, $comments: Int!) {
  repository(owner: $owner, name: $name) {
    pullRequest(number: $number) {
      headRefOid
      reviewThreads(first: $threads, after: $after) { pageInfo { hasNextPage endCursor } nodes { ...thread } }
    }
  }
}";

const MORE_COMMENTS_QUERY: &str = "query($id: ID!, $after: String!) {
  node(id: $id) {
    ... on PullRequestReviewThread {
      comments(first: 100, after: $after) { pageInfo { hasNextPage endCursor } nodes { ...comment } }
    }
  }
}";

const THREAD_FRAGMENT: &str = "
fragment thread on PullRequestReviewThread {
  id isResolved isOutdated path line startLine originalLine originalStartLine diffSide
  resolvedBy { login }
  comments(first: $comments) { pageInfo { hasNextPage endCursor } nodes { ...comment } }
}";

const COMMENT_FRAGMENT: &str = "
fragment comment on PullRequestReviewComment {
  fullDatabaseId state viewerDidAuthor author { __typename login } authorAssociation createdAt body url
}";

/// Threads and related data of a pull request.
#[derive(Default)]
pub(super) struct Conversations {
    pub(super) viewer: ForgeUser,
    /// Head at the time of the first page.
    pub(super) head: String,
    pub(super) threads: Vec<Thread>,
    pub(super) issues: Vec<Issue>,
    pub(super) notes: Vec<String>,
    /// Whether threads, comments of own threads or own comments are missing.
    pub(super) truncated: bool,
    /// Number of threads of other accounts that were not read to the end.
    pub(super) unfinished_threads: usize,
    /// Number of shortened comments.
    pub(super) shortened_comments: usize,
}

enum ThreadQueryReply {
    /// A page, with the size of the next one.
    Page(PullQueryData, Vec<GraphError>, PageSizes),
    /// More comments of the thread with this index.
    More(usize, ThreadQueryData),
}

/// Current page size.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct PageSizes {
    /// Index in [`PAGE_SIZES`].
    index: usize,
    /// Number of consecutive pages in this size.
    pages: usize,
}

impl PageSizes {
    /// Page size after a successful page.
    fn next(self) -> Self {
        match self.pages + 1 {
            pages if pages < GROW_AFTER => Self { pages, ..self },
            _ => Self { index: self.index.saturating_sub(1), pages: 0 },
        }
    }

    /// Page size after a page that was too large.
    fn smaller(self) -> Option<Self> {
        let index = self.index + 1;
        (index < PAGE_SIZES.len()).then_some(Self { index, pages: 0 })
    }
}

type PendingQuery<'a> = BoxFuture<'a, Result<ThreadQueryReply, ForgeError>>;

#[derive(Default)]
struct NextQueries<'a> {
    /// The next page, and the rest of own threads.
    needed: Vec<PendingQuery<'a>>,
    /// The rest of threads of other accounts.
    others: Vec<PendingQuery<'a>>,
}

/// Reads all threads of a pull request. Sends the account id to `viewer_sender`.
pub(super) async fn read(
    client: &GitHubClient,
    pull_ref: &PullRequestRef,
    viewer_sender: watch::Sender<Option<u64>>,
) -> Result<Conversations, ForgeError> {
    let (mut conversations, mut budget) = (Conversations::default(), TextBudget::new());
    let mut pending: FuturesUnordered<PendingQuery<'_>> = FuturesUnordered::new();
    pending.push(Box::pin(query_page(client, pull_ref, None, PageSizes::default())));
    let (mut queries, mut other_queries) = (1, 0);
    while let Some(reply) = pending.next().await {
        let mut next = NextQueries::default();
        match reply? {
            ThreadQueryReply::Page(data, errors, sizes) => {
                let pull = conversations.add_page(data, errors)?;
                viewer_sender.send_replace(conversations.viewer.id.parse().ok());
                if let Some(after) = pull.review_threads.page_info.next() {
                    next.needed.push(Box::pin(query_page(client, pull_ref, Some(after), sizes)));
                }
                for mut thread in pull.review_threads.nodes.into_iter().flatten() {
                    let after = std::mem::take(&mut thread.comments.page_info).next();
                    let comments = std::mem::take(&mut thread.comments.nodes);
                    conversations.threads.push(thread);
                    let thread_index = conversations.threads.len() - 1;
                    conversations.add_comments(thread_index, comments, &mut budget);
                    conversations.queue_more_comments(client, thread_index, after, &mut next);
                }
            }
            ThreadQueryReply::More(thread_index, data) => {
                // The thread was deleted meanwhile.
                let Some(node) = data.node else { continue };
                conversations.add_comments(thread_index, node.comments.nodes, &mut budget);
                conversations.queue_more_comments(
                    client,
                    thread_index,
                    node.comments.page_info.next(),
                    &mut next,
                );
            }
        }
        let NextQueries { mut needed, mut others } = next;
        conversations.truncated |= needed.len() > QUERIES_MAX.saturating_sub(queries);
        needed.truncate(QUERIES_MAX.saturating_sub(queries));
        queries += needed.len();
        let max_others = OTHERS_QUERIES_MAX
            .saturating_sub(other_queries)
            .min(QUERIES_MAX.saturating_sub(queries));
        conversations.unfinished_threads += others.len().saturating_sub(max_others);
        others.truncate(max_others);
        other_queries += others.len();
        queries += others.len();
        pending.extend(needed.into_iter().chain(others));
    }
    conversations.shortened_comments = budget.shortened_texts;
    Ok(conversations)
}

impl Conversations {
    /// Adds comments to a thread, within the budget.
    fn add_comments(
        &mut self,
        thread_index: usize,
        comments: Vec<Option<ThreadComment>>,
        budget: &mut TextBudget,
    ) {
        for mut comment in comments.into_iter().flatten() {
            let owner = if comment.viewer_did_author { TextOwner::Ours } else { TextOwner::Theirs };
            match budget.take(&mut comment.body, owner) {
                PageCompleteness::Complete => {
                    self.threads[thread_index].comments.nodes.push(Some(comment));
                }
                PageCompleteness::Truncated => self.truncated = true,
            }
        }
    }

    /// Queues a query for the rest of a thread.
    fn queue_more_comments<'a>(
        &self,
        client: &'a GitHubClient,
        thread_index: usize,
        after: Option<String>,
        next: &mut NextQueries<'a>,
    ) {
        let Some(after) = after else { return };
        let thread = &self.threads[thread_index];
        let first_comment = thread.comments.nodes.iter().flatten().next();
        let is_ours = first_comment.is_none_or(|first| first.viewer_did_author);
        let query = Box::pin(query_more_comments(client, thread_index, thread.id.clone(), after));
        if is_ours { next.needed.push(query) } else { next.others.push(query) }
    }

    /// Takes everything from a page except the threads.
    fn add_page(
        &mut self,
        data: PullQueryData,
        errors: Vec<GraphError>,
    ) -> Result<QueriedPull, ForgeError> {
        let (linked_errors, other_errors): (Vec<_>, Vec<_>) =
            errors.into_iter().partition(|error| error.concerns(LINKED_ISSUES_FIELD));
        if let Some(error) = other_errors.first() {
            return Err(error.to_forge_error());
        }
        if !linked_errors.is_empty() {
            let why = unique_reasons(linked_errors.iter().map(|error| error.message.as_str()));
            self.notes.push(format!("Cannot read all linked issues: {why}."));
        }
        if let Some(Viewer { login, database_id: Some(id) }) = data.viewer {
            self.viewer = ForgeUser::new(id, login);
        }
        let pull = data.repository.and_then(|repository| repository.pull_request);
        let mut pull = pull.ok_or_else(|| missing_data_error("it has no pull request"))?;
        // Without the account id, own comments cannot be recognised.
        if self.viewer.id.is_empty() {
            return Err(missing_data_error("it does not name the account of the token"));
        }
        if self.head.is_empty() {
            self.head.clone_from(&pull.head_ref_oid);
        }
        if let Some(issues) = pull.closing_issues_references.take() {
            if issues.page_info.has_next_page {
                self.notes.push("There are more linked issues than crh reads.".to_owned());
            }
            self.issues.extend(issues.nodes.into_iter().flatten());
        }
        Ok(pull)
    }
}

fn missing_data_error(problem: &str) -> ForgeError {
    ForgeError::Unreadable { request: "POST a query".to_owned(), message: problem.to_owned() }
}

/// Reads a page, in this size or, if it is too large or too slow, in a smaller one.
async fn query_page(
    client: &GitHubClient,
    pull_ref: &PullRequestRef,
    after: Option<String>,
    mut sizes: PageSizes,
) -> Result<ThreadQueryReply, ForgeError> {
    let (owner, repo, number) = (pull_ref.repo.owner(), pull_ref.repo.name(), pull_ref.number);
    loop {
        let (threads, comments) = PAGE_SIZES[sizes.index];
        let mut variables = json!({
            "owner": owner, "name": repo, "number": number, "threads": threads, "comments": comments,
        });
        let query = match &after {
            None => FIRST_PAGE_QUERY,
            Some(after) => {
                variables["after"] = json!(after);
                NEXT_PAGE_QUERY
            }
        };
        let query = [query, THREAD_FRAGMENT, COMMENT_FRAGMENT].concat();
        match client.graphql_parts(&query, &variables).await {
            Ok((data, errors)) => {
                return Ok(ThreadQueryReply::Page(data, errors, sizes.next()));
            }
            Err(error @ (ForgeError::TooLarge { .. } | ForgeError::Failing { .. })) => {
                sizes = sizes.smaller().ok_or(error)?;
            }
            Err(error) => return Err(error),
        }
    }
}

async fn query_more_comments(
    client: &GitHubClient,
    thread_index: usize,
    id: String,
    after: String,
) -> Result<ThreadQueryReply, ForgeError> {
    let query = [MORE_COMMENTS_QUERY, COMMENT_FRAGMENT].concat();
    let data = client.graphql(&query, &json!({ "id": id, "after": after })).await?;
    Ok(ThreadQueryReply::More(thread_index, data))
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use serde_json::Value;

    use super::*;

    fn add_first_page(answer: Value, errors: Value) -> String {
        let errors: Vec<GraphError> = serde_json::from_value(errors).unwrap();
        let data: PullQueryData = serde_json::from_value(answer).unwrap();
        let mut conversations = Conversations::default();
        match conversations.add_page(data, errors) {
            Ok(_) => format!("{} issues, {:?}\n", conversations.issues.len(), conversations.notes),
            Err(error) => format!("{error}\n"),
        }
    }

    #[test]
    fn hidden_linked_issues_become_a_note() {
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
        let path = ["repository", "pullRequest", LINKED_ISSUES_FIELD];
        let forbidden = json!({ "type": "FORBIDDEN", "message": "not accessible", "path": path });
        let mut lines = add_first_page(answer(Value::Null), json!([forbidden, forbidden]));
        let nodes = json!({ "nodes": [issue, null], "pageInfo": { "hasNextPage": true, "endCursor": "x" } });
        lines += &add_first_page(answer(nodes), json!([forbidden]));
        let threads =
            json!({ "type": "FORBIDDEN", "message": "no", "path": ["repository", "pullRequest"] });
        lines += &add_first_page(answer(page.clone()), json!([forbidden, threads]));
        lines += &add_first_page(json!({ "viewer": null, "repository": null }), json!([]));
        let mut without_viewer = answer(page.clone());
        without_viewer["viewer"] = Value::Null;
        lines += &add_first_page(without_viewer, json!([]));
        expect![[r#"
            0 issues, ["Cannot read all linked issues: not accessible."]
            1 issues, ["Cannot read all linked issues: not accessible.", "There are more linked issues than crh reads."]
            the token does not permit `POST a query (repository.pullRequest)`: no
            cannot parse the reply to `POST a query`: it has no pull request
            cannot parse the reply to `POST a query`: it does not name the account of the token
        "#]].assert_eq(&lines);
    }

    #[test]
    fn page_size_shrinks_at_once_and_grows_slowly() {
        let mut sizes = PageSizes::default();
        let mut requested_indexes = Vec::new();
        // The first page comes in full size; then everything above the smallest size is too large,
        // twice.
        for too_large in
            [&[][..], &[0, 1], &[], &[], &[], &[1], &[], &[], &[], &[], &[], &[], &[], &[]]
        {
            while too_large.contains(&sizes.index) {
                requested_indexes.push(sizes.index);
                sizes = sizes.smaller().unwrap();
            }
            requested_indexes.push(sizes.index);
            sizes = sizes.next();
        }
        assert_eq!(requested_indexes, [0, 0, 1, 2, 2, 2, 2, 1, 2, 2, 2, 2, 1, 1, 1, 1, 0]);
        assert_eq!(PageSizes { index: PAGE_SIZES.len() - 1, pages: 0 }.smaller(), None);
    }
}
