//! Result of a fix pass.

use serde::Serialize;

use crh_review::report::AppliedFix;

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(crate) struct FixPass {
    /// Applied fixes, by issue number.
    pub(crate) applied: Vec<AppliedFix>,
    /// Skipped issues, by number.
    pub(crate) left: Vec<SkippedIssue>,
    /// Warnings about the whole pass.
    pub(crate) warnings: Vec<String>,
    /// Why the run folder could not be updated.
    #[serde(skip)]
    pub(crate) store_error: Option<String>,
    /// Whether the user stopped the pass. Then crh may not have tried the skipped issues.
    pub(crate) is_stopped: bool,
}

/// A skipped issue.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) struct SkippedIssue {
    pub(crate) number: u32,
    /// The reason, without a period.
    pub(crate) why: String,
    /// Whether crh or the fixer rejected the fix itself, so that the same fix would fail again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) is_rejected: bool,
}

impl SkippedIssue {
    pub(crate) fn new(number: u32, why: impl Into<String>) -> Self {
        Self { number, why: why.into(), is_rejected: false }
    }

    /// An issue whose fix was rejected.
    pub(crate) fn rejected(number: u32, why: impl Into<String>) -> Self {
        Self { is_rejected: true, ..Self::new(number, why) }
    }
}

impl FixPass {
    /// A result with skipped issues only.
    pub(crate) fn leaving(left: Vec<SkippedIssue>) -> Self {
        Self { left, ..Self::default() }
    }

    /// Merges two results, ordered by number.
    pub(crate) fn and(mut self, other: Self) -> Self {
        self.applied.extend(other.applied);
        self.left.extend(other.left);
        self.applied.sort_by_key(|fix| fix.number);
        self.left.sort();
        self.left.dedup();
        let new = other.warnings.into_iter().filter(|it| !self.warnings.contains(it));
        let new: Vec<String> = new.collect();
        self.warnings.extend(new);
        // The last write covers everything.
        self.store_error = other.store_error;
        self.is_stopped |= other.is_stopped;
        self
    }
}
