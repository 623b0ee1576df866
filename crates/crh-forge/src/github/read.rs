//! Reads a pull request in one burst: everything is asked for at once, and only what depends on an answer waits for it.

mod conversations;
mod convert;
mod texts;
mod wire;

use std::collections::BTreeSet;

use conversations::Conversations;
use serde::de::DeserializeOwned;
use texts::Texts;
use tokio::sync::watch;
use url::form_urlencoded;
use wire::{CheckRuns, Comment, File, Pull, Repository, Review, Statuses};

use super::{Client, Name, Pages, Repo, Rest, Standing};
use crate::{ForgeError, Proposal};

/// How often a pull request is read that is pushed to while it is read: twice is rare, three times in a row is a robot.
const TRIES_MAX: u32 = 3;

/// How many digits the name of a commit has: of SHA-1, and of SHA-256.
const COMMIT_DIGITS: [usize; 2] = [40, 64];

/// Everything that came, before it is made into our own values.
#[derive(Default)]
struct Burst {
    pull: Pull,
    files: Vec<File>,
    comments: Vec<Comment>,
    reviews: Vec<Review>,
    check_runs: Vec<CheckRuns>,
    statuses: Vec<Statuses>,
    conversations: Conversations,
    /// What of it could not be read.
    notes: Vec<String>,
    /// What of it there is more of than was read, among what decides about posting.
    unread: Vec<String>,
}

impl Burst {
    /// What people wrote in one list. What is missing of it is written down.
    fn whole_texts<T>(&mut self, what: &str, texts: Texts<T>) -> Vec<T> {
        note(what, texts.rest, &mut self.notes);
        self.notes.extend(texts::note(what, texts.cut));
        match texts.rest {
            Rest::Nothing => {}
            Rest::LeftOut => self.unread.push(what.to_owned()),
        }
        texts.said
    }
}

/// Reads a pull request: what a review needs to know, and what stands on it. `instance` is the name under which reviews of ours are
/// posted there.
pub async fn proposal(
    client: &Client,
    name: &Name,
    instance: &str,
) -> Result<(Proposal, Standing), ForgeError> {
    let mut tries = 1;
    loop {
        let mut burst = Box::pin(burst(client, name)).await?;
        // Lists of one head and threads of another do not fit together.
        let moved = burst.conversations.head != burst.pull.head.sha;
        if moved && tries < TRIES_MAX {
            // What has just been pushed may not be known everywhere yet.
            client.pause(tries).await;
            tries += 1;
            continue;
        }
        if moved {
            let note = "The pull request was pushed to while it was read; what was read is of several heads.";
            burst.notes.push(note.to_owned());
        }
        return Ok(convert::converted(client.host(), burst, instance));
    }
}

/// The open pull requests of a branch, the newest one first. `owner` is whose branch it is; if `repo` is a fork, they are looked
/// for where it was forked from as well.
pub async fn open_pulls_of_branch(
    client: &Client,
    repo: &Repo,
    owner: &str,
    branch: &str,
) -> Result<Vec<Name>, ForgeError> {
    let path = format!("/repos/{repo}");
    let (itself, found) = tokio::try_join!(
        client.get_json::<Repository>(&path),
        open_pulls_in(client, repo, owner, branch),
    )?;
    let parent = itself.parent.and_then(|parent| Repo::parse(&parent.full_name));
    match parent {
        Some(parent) if found.is_empty() => open_pulls_in(client, &parent, owner, branch).await,
        Some(_) | None => Ok(found),
    }
}

async fn open_pulls_in(
    client: &Client,
    repo: &Repo,
    owner: &str,
    branch: &str,
) -> Result<Vec<Name>, ForgeError> {
    let query = form_urlencoded::Serializer::new(String::new())
        .append_pair("state", "open")
        .append_pair("head", &format!("{owner}:{branch}"))
        .finish();
    let pulls: Vec<Pull> = client.get_json(&format!("/repos/{repo}/pulls?{query}")).await?;
    let named =
        |pull: Pull| Name { host: client.host().clone(), repo: repo.clone(), number: pull.number };
    // A host that does not know the branch leaves the condition out; what it then lists is not what was asked for.
    let of_branch = pulls.into_iter().filter(|pull| pull.head.branch == branch);
    Ok(of_branch.map(named).collect())
}

async fn burst(client: &Client, name: &Name) -> Result<Burst, ForgeError> {
    let Name { repo, number, .. } = name;
    let pull = format!("/repos/{repo}/pulls/{number}");
    let files_path = format!("{pull}/files");
    let reviews_path = format!("{pull}/reviews");
    let comments_path = format!("/repos/{repo}/issues/{number}/comments");
    // What is ours among the comments can be told as soon as the conversations say who we are.
    let (known, viewer) = watch::channel(None);
    let (head, files, comments, reviews, conversations) = tokio::join!(
        head(client, name, &pull),
        client.pages::<Vec<File>>(&files_path),
        texts::read::<Comment>(client, &comments_path, &viewer),
        texts::read::<Review>(client, &reviews_path, &viewer),
        conversations::read(client, name, known),
    );
    // In this order, so that one reason is given and it is the best one: without a pull request nothing else matters.
    let mut burst = head?;
    burst.conversations = conversations?;
    burst.comments = burst.whole_texts("comments", comments?);
    burst.reviews = burst.whole_texts("reviews", reviews?);
    burst.files = match files {
        Ok(files) => whole("files", files, &mut burst.notes),
        // A diff that is too much for GitHub can be reviewed all the same: the files are read from git.
        Err(
            error @ (ForgeError::Refused { .. }
            | ForgeError::Failing { .. }
            | ForgeError::Unreachable { .. }),
        ) => {
            burst.notes.push(format!("GitHub does not show the files: {error}."));
            Vec::new()
        }
        Err(error) => return Err(error),
    };
    Ok(burst)
}

/// The pull request, and then what depends on its head.
async fn head(client: &Client, name: &Name, path: &str) -> Result<Burst, ForgeError> {
    let Name { repo, number, .. } = name;
    let pull: Pull = client.get_json(path).await?;
    if let Some(problem) = problem(&pull, *number) {
        let (what, message) = (format!("GET {path}"), problem.to_owned());
        return Err(ForgeError::Unreadable { what, message });
    }
    let commit = format!("/repos/{repo}/commits/{}", pull.head.sha);
    let runs = format!("{commit}/check-runs");
    let status = format!("{commit}/status");
    let (runs, statuses) =
        tokio::join!(client.pages::<CheckRuns>(&runs), client.pages::<Statuses>(&status));
    let mut burst = Burst { pull, ..Burst::default() };
    burst.check_runs = optional("check runs", runs, &mut burst.notes);
    burst.statuses = optional("commit statuses", statuses, &mut burst.notes);
    Ok(burst)
}

/// What keeps an answer from being the pull request that was asked for.
fn problem(pull: &Pull, number: u64) -> Option<&'static str> {
    let is_commit = |name: &str| {
        COMMIT_DIGITS.contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_hexdigit())
    };
    if pull.number != number {
        return Some("it is about another pull request");
    }
    let has_commits = is_commit(&pull.head.sha) && is_commit(&pull.base.sha);
    (!has_commits).then_some("its head and its base are no names of commits")
}

/// The pages of something that a review can do without.
fn optional<P: DeserializeOwned>(
    what: &str,
    pages: Result<Pages<P>, ForgeError>,
    notes: &mut Vec<String>,
) -> Vec<P> {
    match pages {
        Ok(Pages { pages, rest }) => {
            note(what, rest, notes);
            pages
        }
        Err(error) => {
            notes.push(format!("The {what} could not be read: {error}."));
            Vec::new()
        }
    }
}

fn whole<T>(what: &str, list: Pages<Vec<T>>, notes: &mut Vec<String>) -> Vec<T> {
    note(what, list.rest, notes);
    list.pages.into_iter().flatten().collect()
}

fn note(what: &str, rest: Rest, notes: &mut Vec<String>) {
    match rest {
        Rest::Nothing => {}
        Rest::LeftOut => notes.push(format!("There are more {what} than are read.")),
    }
}

/// The errors of a part of an answer, each once.
fn reasons<'e>(messages: impl Iterator<Item = &'e str>) -> String {
    messages.collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_held_against_what_was_asked() {
        let pull = |number, head: &str| {
            let mut pull = Pull { number, ..Pull::default() };
            pull.head.sha = head.to_owned();
            pull.base.sha = "b".repeat(40);
            pull
        };
        let commit = "a".repeat(40);
        assert_eq!(problem(&pull(12, &commit), 12), None);
        assert_eq!(problem(&pull(13, &commit), 12), Some("it is about another pull request"));
        for odd in ["", "main", "../../x", &commit[1..], "--upload-pack=x"] {
            assert!(problem(&pull(12, odd), 12).is_some(), "{odd}");
        }
    }
}
