//! Reads a pull request with concurrent requests. A request waits only if it depends on an earlier
//! reply.

mod conversations;
mod convert;
mod texts;
mod wire;

use std::collections::BTreeSet;

use conversations::Conversations;
use serde::de::DeserializeOwned;
use texts::TextList;
use tokio::sync::watch;
use url::form_urlencoded;
use wire::{CheckRuns, Comment, File, Pull, Repository, Review, Statuses};

use super::{GitHubClient, PageCompleteness, Pages, PullRequestRef, Repo};
use crate::posting::ProposalState;
use crate::{ChangeProposal, ForgeError};

/// Maximum number of reads of one pull request. crh reads it again if its head moved meanwhile.
const TRIES_MAX: u32 = 3;

/// Lengths of a commit id in hexadecimal digits: SHA-1 and SHA-256.
const COMMIT_DIGITS: [usize; 2] = [40, 64];

/// All replies, before conversion.
#[derive(Default)]
struct RawPullRequest {
    pull: Pull,
    files: Vec<File>,
    comments: Vec<Comment>,
    reviews: Vec<Review>,
    check_runs: Vec<CheckRuns>,
    statuses: Vec<Statuses>,
    conversations: Conversations,
    /// Sentences about parts that crh could not read, for the reviewers and the user.
    notes: Vec<String>,
    /// Names of incomplete lists that posting depends on.
    incomplete_lists: Vec<String>,
}

impl RawPullRequest {
    /// Returns the texts of a list and adds notes about missing and shortened ones.
    fn take_texts<T>(&mut self, list_name: &str, texts: TextList<T>) -> Vec<T> {
        note_if_truncated(list_name, texts.completeness, &mut self.notes);
        self.notes.extend(texts::cut_note(list_name, texts.shortened_texts));
        match texts.completeness {
            PageCompleteness::Complete => {}
            PageCompleteness::Truncated => self.incomplete_lists.push(list_name.to_owned()),
        }
        texts.items
    }
}

/// Reads a pull request: the proposal for the review, and the state for posting. `instance` names
/// this installation's reviews.
pub async fn pull_request(
    client: &GitHubClient,
    pull_ref: &PullRequestRef,
    instance: &str,
) -> Result<(ChangeProposal, ProposalState), ForgeError> {
    let mut tries = 1;
    loop {
        let mut raw = Box::pin(read_raw(client, pull_ref)).await?;
        // Lists and threads must belong to the same head.
        let head_moved = raw.conversations.head != raw.pull.head.sha;
        if head_moved && tries < TRIES_MAX {
            // GitHub may need a moment to show a push everywhere.
            client.pause(tries).await;
            tries += 1;
            continue;
        }
        if head_moved {
            let note = "The pull request received pushes while crh read it; the data may mix several heads.";
            raw.notes.push(note.to_owned());
        }
        return Ok(convert::convert(client.host(), raw, instance));
    }
}

/// Open pull requests of a branch, newest first. `owner` owns the branch. If `repo` has none and is
/// a fork, this looks in its parent.
pub async fn open_pulls_of_branch(
    client: &GitHubClient,
    repo: &Repo,
    owner: &str,
    branch: &str,
) -> Result<Vec<PullRequestRef>, ForgeError> {
    let path = format!("/repos/{repo}");
    let (repository, pulls) = tokio::try_join!(
        client.get_json::<Repository>(&path),
        open_pulls_in(client, repo, owner, branch),
    )?;
    match repository.parent() {
        Some(parent) if pulls.is_empty() => open_pulls_in(client, &parent, owner, branch).await,
        Some(_) | None => Ok(pulls),
    }
}

/// The repository that a fork was made from; `None` if `repo` is no fork.
pub async fn parent_of_fork(
    client: &GitHubClient,
    repo: &Repo,
) -> Result<Option<Repo>, ForgeError> {
    let repository: Repository = client.get_json(&format!("/repos/{repo}")).await?;
    Ok(repository.parent())
}

async fn open_pulls_in(
    client: &GitHubClient,
    repo: &Repo,
    owner: &str,
    branch: &str,
) -> Result<Vec<PullRequestRef>, ForgeError> {
    let query = form_urlencoded::Serializer::new(String::new())
        .append_pair("state", "open")
        .append_pair("head", &format!("{owner}:{branch}"))
        .finish();
    let pulls: Vec<Pull> = client.get_json(&format!("/repos/{repo}/pulls?{query}")).await?;
    let to_ref = |pull: Pull| PullRequestRef {
        host: client.host().clone(),
        repo: repo.clone(),
        number: pull.number,
    };
    // GitHub ignores the filter for an unknown branch and lists all pull requests.
    let of_branch = pulls.into_iter().filter(|pull| pull.head.branch == branch);
    Ok(of_branch.map(to_ref).collect())
}

async fn read_raw(
    client: &GitHubClient,
    pull_ref: &PullRequestRef,
) -> Result<RawPullRequest, ForgeError> {
    let PullRequestRef { repo, number, .. } = pull_ref;
    let pull_path = format!("/repos/{repo}/pulls/{number}");
    let files_path = format!("{pull_path}/files");
    let reviews_path = format!("{pull_path}/reviews");
    let comments_path = format!("/repos/{repo}/issues/{number}/comments");
    // Comments of our own account can be recognised once the GraphQL reply names the account.
    let (viewer_sender, viewer) = watch::channel(None);
    let (head, files, comments, reviews, conversations) = tokio::join!(
        read_head(client, pull_ref, &pull_path),
        client.pages::<Vec<File>>(&files_path),
        texts::read_texts::<Comment>(client, &comments_path, &viewer),
        texts::read_texts::<Review>(client, &reviews_path, &viewer),
        conversations::read(client, pull_ref, viewer_sender),
    );
    // The order decides which error is reported: a missing pull request first.
    let mut raw = head?;
    raw.conversations = conversations?;
    raw.comments = raw.take_texts("comments", comments?);
    raw.reviews = raw.take_texts("reviews", reviews?);
    raw.files = match files {
        Ok(files) => flatten_pages("files", files, &mut raw.notes),
        // GitHub cannot show very large diffs. The review reads the files from git instead.
        Err(
            error @ (ForgeError::Refused { .. }
            | ForgeError::Failing { .. }
            | ForgeError::Unreachable { .. }),
        ) => {
            raw.notes.push(format!("GitHub does not list the files: {error}."));
            Vec::new()
        }
        Err(error) => return Err(error),
    };
    Ok(raw)
}

/// Reads the pull request, then the parts that need its head commit.
async fn read_head(
    client: &GitHubClient,
    pull_ref: &PullRequestRef,
    path: &str,
) -> Result<RawPullRequest, ForgeError> {
    let PullRequestRef { repo, number, .. } = pull_ref;
    let pull: Pull = client.get_json(path).await?;
    if let Some(problem) = problem(&pull, *number) {
        return Err(ForgeError::unreadable(format!("GET {path}"), problem));
    }
    let commit = format!("/repos/{repo}/commits/{}", pull.head.sha);
    let runs_path = format!("{commit}/check-runs");
    let status_path = format!("{commit}/status");
    let (runs, statuses) =
        tokio::join!(client.pages::<CheckRuns>(&runs_path), client.pages::<Statuses>(&status_path));
    let mut raw = RawPullRequest { pull, ..RawPullRequest::default() };
    raw.check_runs = pages_or_note("check runs", runs, &mut raw.notes);
    raw.statuses = pages_or_note("commit statuses", statuses, &mut raw.notes);
    Ok(raw)
}

/// Why crh cannot use the reply to the request for a pull request; `None` if it can.
fn problem(pull: &Pull, number: u64) -> Option<&'static str> {
    let is_commit = |name: &str| {
        COMMIT_DIGITS.contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_hexdigit())
    };
    if pull.number != number {
        return Some("it is another pull request");
    }
    let has_commits = is_commit(&pull.head.sha) && is_commit(&pull.base.sha);
    (!has_commits).then_some("its head or base is not a commit id")
}

/// Pages of a list that a review can do without. An error becomes a note.
fn pages_or_note<P: DeserializeOwned>(
    list_name: &str,
    pages: Result<Pages<P>, ForgeError>,
    notes: &mut Vec<String>,
) -> Vec<P> {
    match pages {
        Ok(Pages { pages, completeness }) => {
            note_if_truncated(list_name, completeness, notes);
            pages
        }
        Err(error) => {
            notes.push(format!("Cannot read the {list_name}: {error}."));
            Vec::new()
        }
    }
}

fn flatten_pages<T>(list_name: &str, list: Pages<Vec<T>>, notes: &mut Vec<String>) -> Vec<T> {
    note_if_truncated(list_name, list.completeness, notes);
    list.pages.into_iter().flatten().collect()
}

fn note_if_truncated(list_name: &str, completeness: PageCompleteness, notes: &mut Vec<String>) {
    match completeness {
        PageCompleteness::Complete => {}
        PageCompleteness::Truncated => {
            notes.push(format!("There are more {list_name} than crh reads."));
        }
    }
}

/// Joins error messages without duplicates.
fn unique_reasons<'e>(messages: impl Iterator<Item = &'e str>) -> String {
    messages.collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reply_for_another_pull_request_is_rejected() {
        let pull = |number, head: &str| {
            let mut pull = Pull { number, ..Pull::default() };
            pull.head.sha = head.to_owned();
            pull.base.sha = "b".repeat(40);
            pull
        };
        let commit = "a".repeat(40);
        assert_eq!(problem(&pull(12, &commit), 12), None);
        assert_eq!(problem(&pull(13, &commit), 12), Some("it is another pull request"));
        for invalid in ["", "main", "../../x", &commit[1..], "--upload-pack=x"] {
            assert!(problem(&pull(12, invalid), 12).is_some(), "{invalid}");
        }
    }
}
