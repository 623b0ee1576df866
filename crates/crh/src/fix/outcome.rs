//! Result of a fix pass.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crh_review::report::AppliedFix;

const NOT_ITS_TURN: &str = "fixing was stopped before";

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(crate) struct FixPass {
    /// Applied fixes, by issue number.
    pub(crate) applied: Vec<AppliedFix>,
    /// Issues of applied fixes whose edits were in the checkout before, so that crh changed nothing.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub(crate) already_fixed: BTreeSet<u32>,
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
    #[serde(default, skip_serializing_if = "SkipKind::is_failed")]
    pub(crate) kind: SkipKind,
}

/// Whether crh tried to fix a skipped issue, and whether the same fix would fail again.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum SkipKind {
    /// crh could not fix it.
    #[default]
    Failed,
    /// crh or the fixer rejected the fix itself, so that the same fix would fail again.
    Rejected,
    /// Nothing would verify its fix. With a verification command that runs, crh may fix it.
    Unverifiable,
    /// The user stopped the pass before, or no model can write the fix.
    NotTried,
    /// crh fixed it, and the user reverted the fix.
    Reverted,
}

impl SkipKind {
    /// For serde, which passes a reference.
    pub(crate) fn is_failed(&self) -> bool {
        *self == Self::Failed
    }
}

impl SkippedIssue {
    pub(crate) fn new(number: u32, why: impl Into<String>) -> Self {
        Self { number, why: why.into(), kind: SkipKind::Failed }
    }

    /// An issue before whose turn the user stopped.
    pub(crate) fn not_tried(number: u32) -> Self {
        Self { kind: SkipKind::NotTried, ..Self::new(number, NOT_ITS_TURN) }
    }

    /// An issue whose fix the user reverted.
    pub(crate) fn reverted(number: u32, why: impl Into<String>) -> Self {
        Self { kind: SkipKind::Reverted, ..Self::new(number, why) }
    }

    /// An issue whose fix was rejected.
    pub(crate) fn rejected(number: u32, why: impl Into<String>) -> Self {
        Self { kind: SkipKind::Rejected, ..Self::new(number, why) }
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
        self.already_fixed.extend(other.already_fixed);
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
