//! Reads a pull request of Gitea or Forgejo. The first requests run concurrently. The requests that
//! need their replies follow.

mod convert;
mod wire;

use std::collections::BTreeMap;

use futures_util::{StreamExt, stream};
use wire::{Comment, File, Pull, Review, ReviewComment, Status, User, VersionInfo};

use super::Gitea;
use crate::posting::{Association, ProposalState};
use crate::rest::{RestChangeRef, RestClient, RestForge, RestList, people_with_roles};
use crate::{ChangeProposal, ForgeError};
use crh_review::identity::is_commit_id;

/// Oldest supported version of Gitea. Forgejo continued its version numbers.
const OLDEST_VERSION: &str = "1.19";

/// Maximum number of concurrent requests for the comments of reviews.
const CONCURRENT_MAX: usize = 8;

/// All replies, before conversion.
#[derive(Default)]
struct RawPullRequest {
    pull: Pull,
    viewer: User,
    files: Vec<File>,
    diff: String,
    comments: Vec<Comment>,
    reviews: Vec<Review>,
    review_comments: Vec<ReviewComment>,
    statuses: Vec<Status>,
    roles: BTreeMap<String, Association>,
    /// Sentences about parts that crh could not read, for the reviewers and the user.
    notes: Vec<String>,
    /// Names of incomplete lists that posting depends on.
    incomplete_lists: Vec<String>,
}

/// Reads a pull request: the proposal for the review, and the state for posting.
pub(super) async fn pull_request(
    client: &RestClient,
    change: &RestChangeRef,
    instance: &str,
) -> Result<(ChangeProposal, ProposalState), ForgeError> {
    let (path, repository) = (change.api_path(), change.repository_path());
    let lists = [
        format!("{path}/files"),
        format!("{path}.diff"),
        format!("{repository}/issues/{}/comments", change.number),
        format!("{path}/reviews"),
    ];
    let (pull, viewer, version, files, diff, comments, reviews) = tokio::join!(
        client.get_json::<Pull>(&path),
        client.get_json::<User>("/user"),
        client.get_json::<VersionInfo>("/version"),
        client.list::<File>(&lists[0]),
        client.get_text(&lists[1]),
        client.list::<Comment>(&lists[2]),
        client.list::<Review>(&lists[3]),
    );
    if let Ok(version) = &version {
        client.check_version("Gitea", &version.version, OLDEST_VERSION)?;
    }
    let mut raw = RawPullRequest { pull: pull?, viewer: viewer?, ..RawPullRequest::default() };
    check(&path, &raw.pull, change.number)?;
    raw.files = files?.required("files", &mut raw.notes, &mut raw.incomplete_lists);
    raw.comments = comments?.required("comments", &mut raw.notes, &mut raw.incomplete_lists);
    raw.reviews = reviews?.required("reviews", &mut raw.notes, &mut raw.incomplete_lists);
    raw.diff = diff.unwrap_or_else(|error| {
        raw.notes.push(format!("Cannot read the diff: {error}."));
        String::new()
    });
    read_review_comments(client, &path, &mut raw).await?;
    let statuses = format!("{repository}/commits/{}/statuses", raw.pull.head.sha);
    match client.list::<Status>(&statuses).await {
        Ok(list) => raw.statuses = list.entries,
        Err(error) => raw.notes.push(format!("Cannot read the statuses: {error}.")),
    }
    read_roles(client, change, &mut raw).await;
    Ok(convert::convert(change, raw, instance))
}

/// Number of the newest open pull request from a branch of a source repository.
pub(super) async fn open_pull_of_branch(
    client: &RestClient,
    target: &str,
    (source, branch): (&str, &str),
) -> Result<Option<u64>, ForgeError> {
    let path = format!("{}/pulls?state=open", Gitea.repository_path(target));
    let pulls = client.list::<Pull>(&path).await?.entries;
    let is_of_branch = |pull: &&Pull| {
        let repo = pull.head.repo.as_ref();
        pull.head.branch == branch
            && repo.is_some_and(|repo| repo.full_name.eq_ignore_ascii_case(source))
    };
    Ok(pulls.iter().filter(is_of_branch).map(|pull| pull.number).max())
}

/// Reads the comments of all reviews that have some.
async fn read_review_comments(
    client: &RestClient,
    path: &str,
    raw: &mut RawPullRequest,
) -> Result<(), ForgeError> {
    let with_comments = raw.reviews.iter().filter(|review| review.comments_count > 0);
    let paths: Vec<String> =
        with_comments.map(|review| format!("{path}/reviews/{}/comments", review.id)).collect();
    let mut reads = stream::iter(paths)
        .map(|path| async move { client.list::<ReviewComment>(&path).await })
        .buffered(CONCURRENT_MAX);
    let mut comments = Vec::new();
    let mut is_truncated = false;
    while let Some(list) = reads.next().await {
        let list = list?;
        is_truncated |= list.is_truncated;
        comments.extend(list.entries);
    }
    comments.sort_by_key(|comment| comment.id);
    let list = RestList { entries: comments, is_truncated };
    raw.review_comments =
        list.required("inline comments", &mut raw.notes, &mut raw.incomplete_lists);
    Ok(())
}

/// Fails if the reply cannot be for this pull request.
fn check(path: &str, pull: &Pull, number: u64) -> Result<(), ForgeError> {
    let problem = if pull.number != number {
        Some("it is another pull request")
    } else if !is_commit_id(&pull.head.sha) || !is_commit_id(&pull.base.sha) {
        Some("its head or base is not a commit id")
    } else {
        None
    };
    match problem {
        None => Ok(()),
        Some(problem) => Err(ForgeError::unreadable(format!("GET {path}"), problem)),
    }
}

/// Roles of the author and of the people who wrote inline comments.
async fn read_roles(client: &RestClient, change: &RestChangeRef, raw: &mut RawPullRequest) {
    let writers = raw.review_comments.iter().filter_map(|comment| comment.user.as_ref());
    let author = raw.pull.user.as_ref().map(|user| user.login.clone());
    let others = writers.map(|user| user.login.clone());
    for login in people_with_roles(author, others, Some(&raw.viewer.login)) {
        let is_plain =
            login.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
        let path = format!("{}/collaborators/{login}/permission", change.repository_path());
        let reply = match is_plain {
            true => client.get_json::<wire::Permission>(&path).await.ok(),
            false => None,
        };
        let owner = change.repository.split('/').next().unwrap_or_default();
        // A person who may only read is a stranger. The reply includes permissions from teams.
        let role = match reply.as_ref().map(|reply| reply.permission.as_str()) {
            _ if login.eq_ignore_ascii_case(owner) => Association::Owner,
            Some("write" | "admin" | "owner") => Association::Collaborator,
            Some(_) | None => Association::Stranger,
        };
        raw.roles.insert(login, role);
    }
}
