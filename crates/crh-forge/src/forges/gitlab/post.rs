//! Posts a review to a merge request: GitLab's part of the posting engine.

use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use sha1::{Digest, Sha1};

use super::GitLab;
use crate::forges::{PostKind, SinkProfile};
use crate::posting::{
    Anchor, DiffPoint, ForgeProfile, ForgeRequest, ForgeRules, PlannedComment, PostingDelays,
    ProposalState, ReviewPosting, SuggestionSyntax, Verb, WriteAnswer, WriteKind, commit_status,
};
use crate::rest::{self, RestChangeRef, RestClient, RestForge};
use crate::{ForgeError, ProposalKind};
use crh_review::diff::LineKind;
use crh_review::finding::Side;

/// Words in GitLab's messages about a wrong position.
const POSITION_WORDS: [&str; 3] = ["line_code", "position", "line_range"];

/// GitLab's abilities. It takes comments one by one, by default 300 a minute from one account. It
/// gives up a request after a minute.
const PROFILE: ForgeProfile = ForgeProfile {
    name: "GitLab",
    sinks: &[
        SinkProfile::new(
            "gitlab",
            PostKind::Review,
            "A comment with a summary, and comments on lines",
        ),
        SinkProfile::new("gitlab-comment", PostKind::Comment, "Only the summary"),
        SinkProfile::new("gitlab-status", PostKind::CheckRun, "A commit status with the verdict"),
    ],
    kind: ProposalKind::MergeRequest,
    separator: "!",
    inline_max: 500,
    batch_max: 1,
    has_ranges: true,
    suggestions: SuggestionSyntax::RelativeLines,
    no_request_changes: Some("GitLab's API has no vote against a merge request"),
    votes_have_text: false,
    no_resolving: None,
    // After a push, GitLab moves threads to the new diff with a delay. Until then they look
    // outdated.
    outdated_means_changed: false,
    repeats_writes: true,
    delays: PostingDelays {
        rereads: [Duration::from_secs(5), Duration::from_secs(15), Duration::from_secs(60)],
        between_writes: Duration::from_millis(250),
    },
};

impl ForgeRules for GitLab {
    fn rest(&self) -> Option<&'static dyn RestForge> {
        Some(&Self)
    }

    fn profile(&self) -> &'static ForgeProfile {
        &PROFILE
    }

    fn request(&self, write: &WriteKind, state: &ProposalState) -> ForgeRequest {
        let path = &state.properties.api_path;
        let (verb, path, body) = match write {
            WriteKind::Review { comments, .. } => {
                let body = comments.first().map(|comment| discussion(comment, state));
                (Verb::Post, format!("{path}/discussions"), body.unwrap_or_default())
            }
            WriteKind::Vote { .. } => {
                let body = json!({ "sha": state.properties.head });
                (Verb::Post, format!("{path}/approve"), body)
            }
            WriteKind::Withdraw { .. } => (Verb::Post, format!("{path}/unapprove"), json!({})),
            WriteKind::NewSummary { body } => {
                (Verb::Post, format!("{path}/notes"), json!({ "body": body }))
            }
            WriteKind::Summary { id, body } => {
                (Verb::Put, format!("{path}/notes/{id}"), json!({ "body": body }))
            }
            WriteKind::Resolve { node_id } => {
                (Verb::Put, format!("{path}/discussions/{node_id}"), json!({ "resolved": true }))
            }
            // crh reads no pending reviews from GitLab, and `WholeReview` occurs only in plans for
            // Launchpad.
            WriteKind::Submit { .. } | WriteKind::WholeReview { .. } => {
                (Verb::Post, path.clone(), Value::Null)
            }
        };
        ForgeRequest { verb, path, body }
    }

    fn line_url(&self, anchor: &Anchor, _: &ReviewPosting<'_>, state: &ProposalState) -> String {
        format!("{}/diffs#{}", state.properties.url, line_code(anchor, anchor.end))
    }
}

/// A thread on lines. GitLab finds the line by the three commits of the diff, both paths, and the
/// line number in the old or the new file. For an unchanged line it needs both numbers.
fn discussion(comment: &PlannedComment, state: &ProposalState) -> Value {
    let PlannedComment { anchor, body, .. } = comment;
    let refs = state.properties.diff_refs.clone().unwrap_or_default();
    let mut position = json!({
        "position_type": "text",
        "base_sha": refs.base, "start_sha": refs.start, "head_sha": refs.head,
        "old_path": anchor.old_path.as_ref().unwrap_or(&anchor.path), "new_path": anchor.path,
    });
    let (old_line, new_line) = line_numbers(anchor.end);
    if let Some(line) = old_line {
        position["old_line"] = json!(line);
    }
    if let Some(line) = new_line {
        position["new_line"] = json!(line);
    }
    if let Some(start) = anchor.start {
        let end = |point: DiffPoint| {
            let side = match point.side {
                Side::Old => "old",
                Side::New => "new",
            };
            let (old_line, new_line) = line_numbers(point);
            json!({
                "line_code": line_code(anchor, point), "type": side,
                "old_line": old_line, "new_line": new_line,
            })
        };
        position["line_range"] = json!({ "start": end(start), "end": end(anchor.end) });
    }
    json!({ "body": body, "position": position })
}

/// Numbers of a line in the old and in the new file, where it exists.
fn line_numbers(point: DiffPoint) -> (Option<u32>, Option<u32>) {
    let (old_line, new_line) = point.numbers;
    match point.kind {
        LineKind::Removed => (Some(old_line), None),
        LineKind::Added => (None, Some(new_line)),
        LineKind::Context | LineKind::Remark => (Some(old_line), Some(new_line)),
    }
}

/// GitLab's name of a line: a hash of the path, and both line numbers.
fn line_code(anchor: &Anchor, point: DiffPoint) -> String {
    let hash = Sha1::digest(anchor.path.as_bytes());
    let hash: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{hash}_{}_{}", point.numbers.0, point.numbers.1)
}

pub(super) fn classify_error(error: &ForgeError) -> WriteAnswer {
    let error_text = error.to_string();
    let is_about_position =
        |message: &str| POSITION_WORDS.iter().any(|word| message.contains(word));
    match error {
        ForgeError::Refused { status: 400 | 422 | 500, message, .. }
            if is_about_position(message) =>
        {
            WriteAnswer::Misplaced(error_text)
        }
        ForgeError::Refused { status: 400 | 409 | 422, .. } => WriteAnswer::Refused(error_text),
        // GitLab answers 401 if the account may not approve.
        _ => rest::classify_error(error, "the scope `api` and at least the role Reporter"),
    }
}

/// A commit status.
#[derive(Debug, Deserialize)]
struct CommitStatus {
    status: String,
    description: Option<String>,
}

/// Request that sets the commit status of the head, or `None` if the newest status says the same.
/// GitLab refuses to set the same state twice.
pub(super) async fn status_request(
    client: &RestClient,
    change: &RestChangeRef,
    posting: &ReviewPosting<'_>,
) -> Result<Option<ForgeRequest>, ForgeError> {
    let status = commit_status(posting);
    let (project, head) = (change.repository_path(), &posting.report.change.head_sha);
    let path = format!("{project}/repository/commits/{head}/statuses?name={}", posting.instance);
    let existing = client.list::<CommitStatus>(&path).await?.entries;
    let state = if status.is_success { "success" } else { "failed" };
    let is_current = existing.last().is_some_and(|existing| {
        existing.status == state && existing.description.as_deref() == Some(&status.description)
    });
    Ok((!is_current).then(|| ForgeRequest {
        verb: Verb::Post,
        path: format!("{project}/statuses/{head}"),
        body: json!({
            "state": state, "name": posting.instance, "description": status.description,
            "target_url": change.url(),
        }),
    }))
}
