//! What a summary keeps for the next one, in its last line: whether the next one says the same, and what it need not say again.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};

use super::{Posting, vote};
use crate::launchpad::{Said, Standing};
use crh_review::identity::{content_id, marked_state, state_marker};
use crh_review::report::Report;
use crh_review::stable_json_line;

/// What a summary keeps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Kept {
    /// What it says.
    #[serde(flatten)]
    pub(super) state: State,
    /// The keys of the issues that it names.
    pub(super) keys: Vec<String>,
}

/// What a summary says. Two with the same state say the same, whatever run they are of; two of the same review need not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct State {
    /// The head that was reviewed.
    head: String,
    /// The verdict.
    verdict: String,
    /// The vote that the verdict asks for; none if it is not to be cast.
    vote: Option<String>,
    /// The hash of the keys of all issues.
    issues: String,
}

impl State {
    /// What is to be said, whatever stands.
    pub(super) fn of(posting: &Posting<'_>, report: &Report, standing: &Standing) -> Self {
        let mut keys: Vec<&str> =
            report.issues.iter().map(|issue| issue.dedupe_key.as_str()).collect();
        keys.sort_unstable();
        Self {
            head: report.change.head_sha.clone(),
            verdict: report.verdict.to_string(),
            vote: vote::meant(posting, report, standing).ok().map(str::to_owned),
            issues: content_id(keys.join("\n").as_bytes()),
        }
    }
}

impl Kept {
    /// The last line of a summary that keeps this.
    pub(super) fn marker(&self, instance: &str) -> String {
        // A text that JSON cannot hold does not exist.
        let data = stable_json_line(self).unwrap_or_default();
        state_marker(instance, &URL_SAFE_NO_PAD.encode(data.trim_end()))
    }

    /// What a summary of this instance keeps; none if that cannot be read.
    pub(super) fn of(instance: &str, said: &Said) -> Option<Self> {
        let data = marked_state(instance, &said.content)?;
        serde_json::from_slice(&URL_SAFE_NO_PAD.decode(data).ok()?).ok()
    }
}
