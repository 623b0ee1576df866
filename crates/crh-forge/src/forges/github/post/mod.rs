//! Posts a review to a pull request: GitHub's part of the posting engine.

mod check_run;
mod sarif;
mod status_channel;

use std::time::Duration;

pub use check_run::{ExistingCheckRun, check_run_requests, existing_check_runs, post_check_run};
pub use sarif::{SarifUploadError, post_sarif, sarif_upload};
use serde_json::{Value, json};
pub use status_channel::{StatusChannel, plan_for_channel, post_to_channel};

use super::{GitHubClient, PullRequestRef, read};
use crate::forges::{PostKind, SinkProfile};
use crate::posting::{
    Anchor, DiffPoint, ForgePoster, ForgeProfile, ForgeRequest, ForgeRules, PlannedComment,
    PostingDelays, PostingWrite, ProposalState, ReviewPosting, SuggestionSyntax, Verb, WriteAnswer,
    WriteKind,
};
use crate::{ForgeError, ProposalKind};
use crh_review::finding::Side;

/// Words in GitHub's messages about a wrong position.
const POSITION_WORDS: [&str; 7] = ["line", "lines", "position", "path", "side", "hunk", "diff"];

/// Mutation that resolves a thread.
const RESOLVE: &str = "mutation($id: ID!) { resolveReviewThread(input: { threadId: $id }) { thread { id isResolved } } }";

/// GitHub's abilities. It accepts about five hundred comments an hour from one account, and may not
/// answer in time with more than fifty comments in a review. It cuts a request off after ten
/// seconds but may continue to work on it, so crh reads the state a second time after twenty.
/// GitHub asks for a second between writes.
const PROFILE: ForgeProfile = ForgeProfile {
    name: "GitHub",
    sinks: &[
        SinkProfile::new(
            "github",
            PostKind::Review,
            "A GitHub review: a summary, and comments on lines",
        ),
        SinkProfile::new(
            "github-comment",
            PostKind::Comment,
            "A single GitHub comment; needs fewer permissions",
        ),
        SinkProfile::new(
            "github-check",
            PostKind::CheckRun,
            "A check run with annotations; needs a token of GitHub Actions or of a GitHub App",
        ),
        SinkProfile::new("github-sarif", PostKind::CodeScanning, "Code scanning alerts"),
    ],
    kind: ProposalKind::PullRequest,
    separator: "#",
    inline_max: 500,
    batch_max: 50,
    has_ranges: true,
    suggestions: SuggestionSyntax::CommentedLines,
    no_request_changes: None,
    votes_have_text: true,
    no_resolving: None,
    outdated_means_changed: true,
    repeats_writes: true,
    delays: PostingDelays {
        rereads: [Duration::from_secs(5), Duration::from_secs(15), Duration::from_secs(45)],
        between_writes: Duration::from_secs(1),
    },
};

/// The rules of GitHub.
pub struct GitHubRules;

/// Reads and writes one pull request.
pub struct GitHubPoster<'a> {
    /// The client.
    pub client: &'a GitHubClient,
    /// The pull request.
    pub pull_ref: &'a PullRequestRef,
}

impl ForgeRules for GitHubRules {
    fn profile(&self) -> &'static ForgeProfile {
        &PROFILE
    }

    fn request(&self, write: &WriteKind, state: &ProposalState) -> ForgeRequest {
        let (repo, number) = (&state.properties.repo, state.properties.number);
        let (pull, head) = (format!("/repos/{repo}/pulls/{number}"), &state.properties.head);
        let review = |event: &str, body: &str, comments: Vec<Value>| {
            let path = format!("{pull}/reviews");
            let body =
                json!({ "commit_id": head, "event": event, "body": body, "comments": comments });
            (Verb::Post, path, body)
        };
        let (verb, path, body) = match write {
            WriteKind::Review { body, comments } => {
                review("COMMENT", body, comments.iter().map(comment).collect())
            }
            WriteKind::Vote { event, body } => review(event, body, Vec::new()),
            WriteKind::Withdraw { id, message } => (
                Verb::Put,
                format!("{pull}/reviews/{id}/dismissals"),
                json!({ "message": message, "event": "DISMISS" }),
            ),
            WriteKind::Submit { id } => {
                (Verb::Post, format!("{pull}/reviews/{id}/events"), json!({ "event": "COMMENT" }))
            }
            WriteKind::NewSummary { body } => {
                let path = format!("/repos/{repo}/issues/{number}/comments");
                (Verb::Post, path, json!({ "body": body }))
            }
            WriteKind::Summary { id, body } => (
                Verb::Patch,
                format!("/repos/{repo}/issues/comments/{id}"),
                json!({ "body": body }),
            ),
            WriteKind::Resolve { node_id } => (
                Verb::Post,
                "/graphql".to_owned(),
                json!({ "query": RESOLVE, "variables": { "id": node_id } }),
            ),
            // Only plans for Launchpad have this write.
            WriteKind::WholeReview { arguments, .. } => (Verb::Post, pull, arguments.clone()),
        };
        ForgeRequest { verb, path, body }
    }

    fn line_url(
        &self,
        anchor: &Anchor,
        posting: &ReviewPosting<'_>,
        state: &ProposalState,
    ) -> String {
        let (repo, number) = (&state.properties.repo, state.properties.number);
        let side = match anchor.end.side {
            Side::Old => 'L',
            Side::New => 'R',
        };
        let file = crh_review::identity::content_id(anchor.path.as_bytes());
        let (line, web) = (anchor.end.line, posting.web.trim_end_matches('/'));
        format!("{web}/{repo}/pull/{number}/files#diff-{file}{side}{line}")
    }
}

fn comment(comment: &PlannedComment) -> Value {
    let PlannedComment { anchor, body, .. } = comment;
    let side = |point: DiffPoint| match point.side {
        Side::Old => "LEFT",
        Side::New => "RIGHT",
    };
    let end = anchor.end;
    let mut comment =
        json!({ "path": anchor.path, "body": body, "line": end.line, "side": side(end) });
    if let Some(start) = anchor.start {
        comment["start_line"] = json!(start.line);
        comment["start_side"] = json!(side(start));
    }
    comment
}

impl ForgePoster for GitHubPoster<'_> {
    fn rules(&self) -> &'static dyn ForgeRules {
        &GitHubRules
    }

    async fn read_state(&self, instance: &str) -> Result<ProposalState, ForgeError> {
        Ok(read::pull_request(self.client, self.pull_ref, instance).await?.1)
    }

    async fn send(&self, write: &PostingWrite) -> (WriteAnswer, Option<String>) {
        let request = &write.request;
        let result: Result<Value, ForgeError> = if request.path == "/graphql" {
            let query = request.body["query"].as_str().unwrap_or_default();
            self.client.graphql(query, &request.body["variables"]).await
        } else {
            self.client.write(request.verb, &request.path, &request.body).await
        };
        match result {
            Ok(reply) => {
                (WriteAnswer::Done, write.summary_url(&reply, self.client.host().server()))
            }
            Err(error) => (classify_error(&error), None),
        }
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
        // GitHub may have applied the write. Reading the state shows whether it did.
        ForgeError::Ambiguous { .. }
        | ForgeError::TooLarge { .. }
        | ForgeError::Bazaar { .. }
        | ForgeError::TooOld { .. }
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
