//! Carries out a plan: does what [`Carrying`] says, one request after another, and tells it what came of each.

use std::time::Duration;

use serde_json::Value;

use super::carrying::{Answer, Carrying, LOOKS_MAX, Step};
use super::plan::{What, Write};
use super::{Outcome, Posting};
use crate::ForgeError;
use crate::github::{Client, Name, read};

/// How many writes follow each other without a wait: comments, a vote, a summary. GitHub asks for a pause between many.
const WRITES_AT_ONCE: u32 = 3;

/// The words by which GitHub says that a place is wrong.
const PLACE_WORDS: [&str; 7] = ["line", "lines", "position", "path", "side", "hunk", "diff"];

/// How long is waited while a review is posted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Waits {
    /// Before each look at what stands, after a write of which nobody knows whether it was applied.
    pub looks: [Duration; LOOKS_MAX as usize],
    /// Between two of many writes.
    pub between_writes: Duration,
}

impl Default for Waits {
    /// GitHub cuts a request after ten seconds and may work on it for longer, so that the second look comes after twenty. It
    /// asks for a second between writes.
    fn default() -> Self {
        Self { looks: [5, 15, 45].map(Duration::from_secs), between_writes: Duration::from_secs(1) }
    }
}

/// Posts a review to a pull request. What stands there is read first, since a review takes long. An error means that it could
/// not be read and nothing was written; whatever goes wrong later is in the outcome.
pub async fn carry_out(
    client: &Client,
    name: &Name,
    posting: &Posting<'_>,
    waits: &Waits,
) -> Result<Outcome, ForgeError> {
    let (_, standing) = read::proposal(client, name, posting.instance).await?;
    let mut carrying = Carrying::new(*posting);
    carrying.read(standing);
    let (mut writes, mut url) = (0, None);
    loop {
        match carrying.next() {
            Step::Done(outcome) => {
                let url = url.or(outcome.url.clone());
                return Ok(Outcome { url, ..outcome });
            }
            Step::Write(write) => {
                if writes >= WRITES_AT_ONCE {
                    tokio::time::sleep(waits.between_writes).await;
                }
                writes += 1;
                let (answer, place) = sent(client, &write).await;
                url = place.or(url);
                carrying.answered(answer);
            }
            Step::Read { look } => {
                let wait = (1..).zip(waits.looks).find(|(number, _)| *number == look);
                tokio::time::sleep(wait.map(|(_, wait)| wait).unwrap_or_default()).await;
                match read::proposal(client, name, posting.instance).await {
                    Ok((_, standing)) => carrying.read(standing),
                    Err(error) => carrying.unreadable(&error.to_string()),
                }
            }
        }
    }
}

/// Writes once: what GitHub says, and where a summary stands by its word.
async fn sent(client: &Client, write: &Write) -> (Answer, Option<String>) {
    let request = &write.request;
    let result: Result<Value, ForgeError> = match &write.what {
        What::Resolve { .. } => {
            let query = request.body["query"].as_str().unwrap_or_default();
            client.graphql(query, &request.body["variables"]).await
        }
        What::Review { .. }
        | What::Vote { .. }
        | What::Withdraw { .. }
        | What::Submit { .. }
        | What::NewSummary
        | What::Summary { .. } => client.write(request.verb, &request.path, &request.body).await,
    };
    match result {
        Ok(said) => (Answer::Done, place(client, write, &said)),
        Err(error) => (answer(&error), None),
    }
}

/// Where a summary stands; none of what is another write, or is said to stand at another host.
fn place(client: &Client, write: &Write, said: &Value) -> Option<String> {
    match write.what {
        What::NewSummary | What::Summary { .. } => {
            let url = said["html_url"].as_str()?;
            url.starts_with(client.host().server()).then(|| url.to_owned())
        }
        What::Review { .. }
        | What::Vote { .. }
        | What::Withdraw { .. }
        | What::Submit { .. }
        | What::Resolve { .. } => None,
    }
}

/// What an error says about a write.
fn answer(error: &ForgeError) -> Answer {
    let said = error.to_string();
    match error {
        ForgeError::Refused { status: 422, message, .. } if is_about_places(message) => {
            Answer::Misplaced(said)
        }
        ForgeError::Refused { status: 422, .. } => Answer::Refused(said),
        ForgeError::Forbidden { .. } | ForgeError::NotFound { .. } => Answer::Forbidden(said),
        // It was applied, most likely; what stands there tells.
        ForgeError::Ambiguous { .. }
        | ForgeError::TooLarge { .. }
        | ForgeError::Bazaar { .. }
        | ForgeError::Unreadable { .. } => Answer::Unsure(said),
        ForgeError::Refused { .. }
        | ForgeError::BadToken { .. }
        | ForgeError::RateLimited { .. }
        | ForgeError::Failing { .. }
        | ForgeError::Unreachable { .. } => Answer::Failed(said),
    }
}

/// Whether GitHub's reason is about where a comment is. It has many others for the same status: votes that are not permitted,
/// another review that is not submitted, commits that are gone, too much at a time.
fn is_about_places(message: &str) -> bool {
    let mut words = message.split(|char: char| !char.is_ascii_alphanumeric());
    words.any(|word| PLACE_WORDS.iter().any(|place| word.eq_ignore_ascii_case(place)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_reason_that_names_a_place_is_about_one() {
        for message in [
            "Unprocessable Entity (Line could not be resolved)",
            "Unprocessable Entity (Path could not be resolved)",
            "Validation Failed (PullRequestReviewComment pull_request_review_thread.start_line invalid)",
            "Validation Failed (Pull request review thread diff hunk can't be blank)",
        ] {
            assert!(is_about_places(message), "{message}");
        }
        for message in [
            "Unprocessable Entity (GitHub Actions is not permitted to approve pull requests.)",
            "Unprocessable Entity (User can only have one pending review per pull request)",
            "Validation Failed (was submitted too quickly)",
            "Unprocessable Entity (The commit_id is not part of the pull request)",
            "no reason is given",
        ] {
            assert!(!is_about_places(message), "{message}");
        }
    }
}
