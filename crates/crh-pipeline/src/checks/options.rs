//! What static reviewers work with besides the change.

use std::sync::Arc;

use super::baseline::Baseline;
use crate::workspace::RoundRow;
use crh_git::Globs;
use crh_lint::analysers::Analysers;
use crh_lint::sarif::Sarif;

/// What static reviewers work with besides the change. Nothing of it comes from the change itself, but for work that is not
/// committed, where the author and the reader are one.
#[derive(Debug, Clone, Default)]
pub struct CheckTerms {
    /// Where the change was made.
    pub work: Work,
    /// Analysers of others that are installed; none if they are not to be run.
    pub analysers: Option<Arc<Analysers>>,
    /// Files whose findings are set aside, by rules.
    pub ignore: Vec<IgnoredPaths>,
    /// What was known when crh was adopted.
    pub baseline: Option<Baseline>,
    /// What other tools say about the text after the change.
    pub sarif: Vec<Sarif>,
    /// What they said about the text before it.
    pub sarif_base: Vec<Sarif>,
}

/// Where a change was made, as far as is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Work {
    /// In the reader's checkout.
    InCheckout,
    /// Somewhere else: a branch, a commit, or what somebody prepared.
    #[default]
    Elsewhere,
}

impl Work {
    /// The end of a change at which the repository's own rules and reviewers are read: `base` or `head`.
    ///
    /// Who wrote a change must not choose what it is held against. Only with work that is not committed yet the author and the
    /// reader are surely one.
    pub(crate) fn own_end(self, round: Option<&RoundRow>) -> &'static str {
        let is_committed = round.is_none_or(|round| round.created_at.is_some());
        match self {
            Self::InCheckout if !is_committed => "head",
            Self::InCheckout | Self::Elsewhere => "base",
        }
    }
}

/// Files in which some rules do not count.
#[derive(Debug, Clone)]
pub struct IgnoredPaths {
    /// The rules: `*`, `REVIEWER/*`, or the name of a rule.
    pub rules: String,
    /// The files.
    pub paths: Globs,
    /// Whether the change itself brings that along.
    pub since: Since,
}

/// Since when something is silenced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Since {
    /// It was so before the change.
    Before,
    /// The change brings it along.
    ThisChange,
}
