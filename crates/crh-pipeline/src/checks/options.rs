//! Options of static checks.

use std::sync::Arc;

use super::baseline::Baseline;
use crate::workspace::RoundEntry;
use crh_git::PathGlobs;
use crh_lint::analysers::Analysers;
use crh_lint::sarif::SarifFile;

/// Options of static checks. Settings and baseline may be part of the change: see
/// [`SuppressionOrigin`].
#[derive(Debug, Clone, Default)]
pub struct CheckOptions {
    /// Where the change was made.
    pub change_origin: ChangeOrigin,
    /// Who made the change.
    pub author: ChangeAuthor,
    /// Installed analysers. `None` if they must not run.
    pub analysers: Option<Arc<Analysers>>,
    /// Settings that suppress rules in some files.
    pub ignore: Vec<IgnoredPaths>,
    /// Baseline of the repository.
    pub baseline: Option<Baseline>,
    /// SARIF files about the code after the change.
    pub sarif: Vec<SarifFile>,
    /// SARIF files about the code before the change.
    pub sarif_base: Vec<SarifFile>,
}

/// Where a change was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ChangeOrigin {
    /// In the user's checkout, and the change has no commits.
    InCheckout,
    /// Elsewhere: a branch, a commit, or a packed change.
    #[default]
    Elsewhere,
}

/// Who made a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ChangeAuthor {
    /// An account that may write to the repository.
    #[default]
    Trusted,
    /// Unknown, or an account without write access, such as the author of a fork.
    Stranger,
    /// A model that writes a fix.
    Fixer,
}

impl ChangeOrigin {
    /// Which revision supplies the repository's own rules and reviewers: `base` or `head`.
    ///
    /// The author of a change must not choose how it is reviewed. Only uncommitted work is
    /// certainly reviewed by its own author.
    pub(crate) fn config_revision(self, round: Option<&RoundEntry>) -> &'static str {
        let is_committed = round.is_none_or(|round| round.created_at.is_some());
        match self {
            Self::InCheckout if !is_committed => "head",
            Self::InCheckout | Self::Elsewhere => "base",
        }
    }
}

/// Files in which some rules are suppressed.
#[derive(Debug, Clone)]
pub struct IgnoredPaths {
    /// Rules: `*`, `REVIEWER/*`, or the name of a rule.
    pub rules: String,
    /// Files.
    pub paths: PathGlobs,
    /// Whether the change itself adds this setting.
    pub origin: SuppressionOrigin,
}

/// Where a suppression comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SuppressionOrigin {
    /// The suppression existed before the change.
    Before,
    /// The change adds the suppression.
    ThisChange,
}
