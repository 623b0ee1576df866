//! Posts a review: performs the steps of a [`PostingMachine`] and feeds the results back.

use std::time::Duration;

use serde_json::Value;

use super::machine::{PostingMachine, PostingStep, REREADS_MAX, WriteAnswer};
use super::plan::{GitHubWrite, WriteKind};
use super::{GitHubPosting, GitHubPostingOutcome};
use crate::ForgeError;
use crate::github::{GitHubClient, PullRequestRef, read};

/// Number of writes without a pause: inline comments, vote, summary. GitHub asks for pauses between
/// many writes.
const WRITES_WITHOUT_PAUSE: u32 = 3;

/// Words in GitHub's messages about a wrong position.
const POSITION_WORDS: [&str; 7] = ["line", "lines", "position", "path", "side", "hunk", "diff"];

/// Delays while posting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GitHubPostingDelays {
    /// Before each read of the state after an unconfirmed write.
    pub rereads: [Duration; REREADS_MAX as usize],
    /// Between writes, after the first few.
    pub between_writes: Duration,
}

impl Default for GitHubPostingDelays {
    /// GitHub cuts a request off after ten seconds but may continue to work on it, so the second
    /// read happens after twenty. GitHub asks for a second between writes.
    fn default() -> Self {
        Self {
            rereads: [5, 15, 45].map(Duration::from_secs),
            between_writes: Duration::from_secs(1),
        }
    }
}

/// Posts a review to a pull request. Reads the current state first. An error means that the state
/// could not be read and nothing was written; later failures are in the outcome.
pub async fn post_review(
    client: &GitHubClient,
    pull_ref: &PullRequestRef,
    posting: &GitHubPosting<'_>,
    delays: &GitHubPostingDelays,
) -> Result<GitHubPostingOutcome, ForgeError> {
    let (_, pull_state) = read::pull_request(client, pull_ref, posting.instance).await?;
    let mut machine = PostingMachine::new(*posting);
    machine.record_state(pull_state);
    let (mut writes, mut url) = (0, None);
    loop {
        match machine.next() {
            PostingStep::Done(outcome) => {
                let url = url.or(outcome.url.clone());
                return Ok(GitHubPostingOutcome { url, ..outcome });
            }
            PostingStep::Write(write) => {
                if writes >= WRITES_WITHOUT_PAUSE {
                    tokio::time::sleep(delays.between_writes).await;
                }
                writes += 1;
                let (answer, comment_url) = send(client, &write).await;
                url = comment_url.or(url);
                machine.record_answer(answer);
            }
            PostingStep::Read { reread } => {
                let wait = (1..).zip(delays.rereads).find(|(number, _)| *number == reread);
                tokio::time::sleep(wait.map(|(_, wait)| wait).unwrap_or_default()).await;
                match read::pull_request(client, pull_ref, posting.instance).await {
                    Ok((_, pull_state)) => machine.record_state(pull_state),
                    Err(error) => machine.record_read_failure(&error.to_string()),
                }
            }
        }
    }
}

/// Sends one write. Returns GitHub's answer and the address of the summary.
async fn send(client: &GitHubClient, write: &GitHubWrite) -> (WriteAnswer, Option<String>) {
    let request = &write.request;
    let result: Result<Value, ForgeError> = match &write.kind {
        WriteKind::Resolve { .. } => {
            let query = request.body["query"].as_str().unwrap_or_default();
            client.graphql(query, &request.body["variables"]).await
        }
        WriteKind::Review { .. }
        | WriteKind::Vote { .. }
        | WriteKind::Withdraw { .. }
        | WriteKind::Submit { .. }
        | WriteKind::NewSummary
        | WriteKind::Summary { .. } => {
            client.write(request.verb, &request.path, &request.body).await
        }
    };
    match result {
        Ok(reply) => (WriteAnswer::Done, summary_url(client, write, &reply)),
        Err(error) => (classify_error(&error), None),
    }
}

/// Address of the summary in a reply, unless it is on another host.
fn summary_url(client: &GitHubClient, write: &GitHubWrite, reply: &Value) -> Option<String> {
    match write.kind {
        WriteKind::NewSummary | WriteKind::Summary { .. } => {
            let url = reply["html_url"].as_str()?;
            url.starts_with(client.host().server()).then(|| url.to_owned())
        }
        WriteKind::Review { .. }
        | WriteKind::Vote { .. }
        | WriteKind::Withdraw { .. }
        | WriteKind::Submit { .. }
        | WriteKind::Resolve { .. } => None,
    }
}

fn classify_error(error: &ForgeError) -> WriteAnswer {
    let error_text = error.to_string();
    match error {
        ForgeError::Refused { status: 422, message, .. } if is_about_position(message) => {
            WriteAnswer::Misplaced(error_text)
        }
        ForgeError::Refused { status: 422, .. } => WriteAnswer::Refused(error_text),
        ForgeError::Forbidden { .. } | ForgeError::NotFound { .. } => {
            WriteAnswer::Forbidden(error_text)
        }
        // GitHub probably applied the write. Reading the state shows whether it did.
        ForgeError::Ambiguous { .. }
        | ForgeError::TooLarge { .. }
        | ForgeError::Bazaar { .. }
        | ForgeError::Unreadable { .. } => WriteAnswer::Unconfirmed(error_text),
        ForgeError::Refused { .. }
        | ForgeError::BadToken { .. }
        | ForgeError::RateLimited { .. }
        | ForgeError::Failing { .. }
        | ForgeError::Unreachable { .. } => WriteAnswer::Failed(error_text),
    }
}

/// Whether GitHub rejects the position of a comment. Status 422 has many other causes: forbidden
/// votes, a pending review, missing commits, too many writes.
fn is_about_position(message: &str) -> bool {
    let mut words = message.split(|char: char| !char.is_ascii_alphanumeric());
    words.any(|word| {
        POSITION_WORDS.iter().any(|position_word| word.eq_ignore_ascii_case(position_word))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn detects_messages_about_positions() {
        for message in [
            "Unprocessable Entity (Line could not be resolved)",
            "Unprocessable Entity (Path could not be resolved)",
            "Validation Failed (PullRequestReviewComment pull_request_review_thread.start_line invalid)",
            "Validation Failed (Pull request review thread diff hunk can't be blank)",
        ] {
            assert!(is_about_position(message), "{message}");
        }
        for message in [
            "Unprocessable Entity (GitHub Actions is not permitted to approve pull requests.)",
            "Unprocessable Entity (User can only have one pending review per pull request)",
            "Validation Failed (was submitted too quickly)",
            "Unprocessable Entity (The commit_id is not part of the pull request)",
            "no reason given",
        ] {
            assert!(!is_about_position(message), "{message}");
        }
    }
}
