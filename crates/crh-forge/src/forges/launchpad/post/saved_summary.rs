//! State in the last line of a summary. It tells the next posting whether the review has anything
//! new, and which issues were posted.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};

use super::vote;
use crate::posting::{ProposalComment, ProposalState, ReviewPosting};
use crh_review::identity::{content_id, state_in_comment, state_marker};
use crh_review::report::Report;
use crh_review::stable_json_line;

/// State that a summary contains.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SavedSummary {
    /// State that decides whether two summaries say the same.
    #[serde(flatten)]
    pub(super) state: SummaryState,
    /// Keys of the issues that the summary lists.
    pub(super) keys: Vec<String>,
}

/// Content of a summary. Summaries with equal states say the same, even if they come from different
/// reviews.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SummaryState {
    /// Reviewed head.
    head: String,
    verdict: String,
    /// The vote for the verdict; `None` if crh may not cast it.
    vote: Option<String>,
    /// Hash of the keys of all issues.
    issues: String,
}

impl SummaryState {
    /// State of the summary to post.
    pub(super) fn new(
        posting: &ReviewPosting<'_>,
        report: &Report,
        proposal_state: &ProposalState,
    ) -> Self {
        let mut keys: Vec<&str> =
            report.issues.iter().map(|issue| issue.dedupe_key.as_str()).collect();
        keys.sort_unstable();
        Self {
            head: report.change.head_sha.clone(),
            verdict: report.verdict.to_string(),
            vote: vote::intended_vote(posting, report, proposal_state).ok().map(str::to_owned),
            issues: content_id(keys.join("\n").as_bytes()),
        }
    }

    /// Whether the summary is about this head.
    pub(super) fn is_for_head(&self, head: &str) -> bool {
        self.head == head
    }
}

impl SavedSummary {
    /// State of a comment that withdraws a vote. No review has an equal state.
    pub(super) fn withdrawn(head: &str) -> Self {
        let state = SummaryState {
            head: head.to_owned(),
            verdict: String::new(),
            vote: None,
            issues: String::new(),
        };
        Self { state, keys: Vec::new() }
    }

    /// Last line of the summary.
    pub(super) fn marker(&self, instance: &str) -> String {
        // Serialising strings cannot fail.
        let data = stable_json_line(self).unwrap_or_default();
        state_marker(instance, &URL_SAFE_NO_PAD.encode(data.trim_end()))
    }

    /// Parses the state of a summary of this instance.
    pub(super) fn from_comment(instance: &str, comment: &ProposalComment) -> Option<Self> {
        let data = state_in_comment(instance, &comment.body)?;
        serde_json::from_slice(&URL_SAFE_NO_PAD.decode(data).ok()?).ok()
    }
}
