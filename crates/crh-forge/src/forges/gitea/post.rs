//! Posts a review to a pull request of Gitea or Forgejo: their part of the posting engine.

use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};

use super::Gitea;
use crate::forges::{PostKind, SinkProfile};
use crate::posting::{
    Anchor, ForgeProfile, ForgeRequest, ForgeRules, PlannedComment, PostingDelays, PostingWrite,
    ProposalState, ReviewPosting, SuggestionSyntax, Verb, WriteAnswer, WriteKind, commit_status,
};
use crate::rest::{self, RestChangeRef, RestClient, RestForge};
use crate::{ForgeError, ProposalKind};
use crh_review::finding::Side;

/// Gitea's abilities. It documents no limits; crh uses those of GitHub.
const PROFILE: ForgeProfile = ForgeProfile {
    name: "Gitea",
    sinks: &[
        SinkProfile::new(
            "gitea",
            PostKind::Review,
            "A comment with a summary, and comments on lines",
        ),
        SinkProfile::new("gitea-comment", PostKind::Comment, "Only the summary"),
        SinkProfile::new("gitea-status", PostKind::CheckRun, "A commit status with the verdict"),
    ],
    kind: ProposalKind::PullRequest,
    separator: "#",
    inline_max: 500,
    batch_max: 50,
    has_ranges: false,
    suggestions: SuggestionSyntax::Unsupported,
    no_request_changes: None,
    votes_have_text: true,
    no_resolving: Some("most servers have no API that resolves threads"),
    outdated_means_changed: true,
    repeats_writes: true,
    delays: PostingDelays {
        rereads: [Duration::from_secs(5), Duration::from_secs(15), Duration::from_secs(60)],
        between_writes: Duration::from_millis(250),
    },
};

impl ForgeRules for Gitea {
    fn rest(&self) -> Option<&'static dyn RestForge> {
        Some(&Self)
    }

    fn profile(&self) -> &'static ForgeProfile {
        &PROFILE
    }

    fn request(&self, write: &WriteKind, state: &ProposalState) -> ForgeRequest {
        let (repo, number) = (&state.properties.repo, state.properties.number);
        let (pull, head) = (&state.properties.api_path, &state.properties.head);
        let review = |event: &str, body: &str, comments: Vec<Value>| {
            let body =
                json!({ "commit_id": head, "event": event, "body": body, "comments": comments });
            (Verb::Post, format!("{pull}/reviews"), body)
        };
        let (verb, path, body) = match write {
            WriteKind::Review { body, comments } => {
                review("COMMENT", body, comments.iter().map(comment).collect())
            }
            WriteKind::Vote { event, body } => {
                let event = if *event == "APPROVE" { "APPROVED" } else { *event };
                review(event, body, Vec::new())
            }
            WriteKind::Withdraw { id, message } => {
                let body = json!({ "message": message });
                (Verb::Post, format!("{pull}/reviews/{id}/dismissals"), body)
            }
            WriteKind::Submit { id } => {
                let body = json!({ "event": "COMMENT", "body": "" });
                (Verb::Post, format!("{pull}/reviews/{id}"), body)
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
            // The profile excludes `Resolve`, and `WholeReview` occurs only in plans for Launchpad.
            WriteKind::Resolve { .. } | WriteKind::WholeReview { .. } => {
                (Verb::Post, pull.clone(), Value::Null)
            }
        };
        ForgeRequest { verb, path, body }
    }

    fn line_url(&self, _: &Anchor, _: &ReviewPosting<'_>, state: &ProposalState) -> String {
        format!("{}/files", state.properties.url)
    }
}

/// A comment. Gitea expects the line number on one side, and 0 for the other side.
fn comment(comment: &PlannedComment) -> Value {
    let PlannedComment { anchor, body, .. } = comment;
    let (old, new) = match anchor.end.side {
        Side::Old => (anchor.end.line, 0),
        Side::New => (0, anchor.end.line),
    };
    json!({ "path": anchor.path, "body": body, "old_position": old, "new_position": new })
}

pub(super) fn classify_error(error: &ForgeError, write: &PostingWrite) -> WriteAnswer {
    let error_text = error.to_string();
    match error {
        // Gitea does not say which comment it refuses.
        ForgeError::Refused { status: 400 | 422, .. }
            if matches!(write.kind, WriteKind::Review { .. }) =>
        {
            WriteAnswer::Misplaced(error_text)
        }
        ForgeError::Refused { status: 400 | 422, .. } => WriteAnswer::Refused(error_text),
        _ => rest::classify_error(error, "the scopes `write:repository` and `write:issue`"),
    }
}

/// A commit status.
#[derive(Debug, Deserialize)]
struct CommitStatus {
    id: u64,
    status: String,
    context: String,
    description: Option<String>,
}

/// Request that sets the commit status of the head, or `None` if the newest status says the same.
pub(super) async fn status_request(
    client: &RestClient,
    change: &RestChangeRef,
    posting: &ReviewPosting<'_>,
) -> Result<Option<ForgeRequest>, ForgeError> {
    let status = commit_status(posting);
    let (repository, head) = (change.repository_path(), &posting.report.change.head_sha);
    let list =
        client.list::<CommitStatus>(&format!("{repository}/commits/{head}/statuses")).await?;
    let own = list.entries.into_iter().filter(|existing| existing.context == posting.instance);
    let state = if status.is_success { "success" } else { "failure" };
    let is_current = own.max_by_key(|existing| existing.id).is_some_and(|existing| {
        existing.status == state && existing.description.as_deref() == Some(&status.description)
    });
    Ok((!is_current).then(|| ForgeRequest {
        verb: Verb::Post,
        path: format!("{repository}/statuses/{head}"),
        body: json!({
            "state": state, "context": posting.instance, "description": status.description,
            "target_url": change.url(),
        }),
    }))
}
