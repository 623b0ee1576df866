//! What came of fixing: what was done about each issue, or why it was left.

use serde::Serialize;

use crh_review::report::AppliedFix;

/// What came of fixing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Fixed {
    /// What was done, by the numbers of the issues.
    pub(crate) applied: Vec<AppliedFix>,
    /// What was not, and why, by the numbers of the issues.
    pub(crate) left: Vec<Left>,
    /// What has to be known of all of it.
    pub(crate) warnings: Vec<String>,
    /// Why the run folder does not know of it; none if it does, or there is none.
    #[serde(skip)]
    pub(crate) unkept: Option<String>,
    /// Whether somebody has stopped it: what was left is not done, and nobody has tried.
    pub(crate) is_stopped: bool,
}

/// An issue that was left as it is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) struct Left {
    pub(crate) number: u32,
    /// Why, in a sentence without its period.
    pub(crate) why: String,
}

impl Left {
    pub(crate) fn new(number: u32, why: impl Into<String>) -> Self {
        Self { number, why: why.into() }
    }
}

impl Fixed {
    /// Nothing but these were left.
    pub(crate) fn leaving(left: Vec<Left>) -> Self {
        Self { left, ..Self::default() }
    }

    /// Both together, each in the order of its numbers.
    pub(crate) fn and(mut self, other: Self) -> Self {
        self.applied.extend(other.applied);
        self.left.extend(other.left);
        self.applied.sort_by_key(|fix| fix.number);
        self.left.sort();
        self.left.dedup();
        let new = other.warnings.into_iter().filter(|it| !self.warnings.contains(it));
        let new: Vec<String> = new.collect();
        self.warnings.extend(new);
        // What was kept last is all of it.
        self.unkept = other.unkept;
        self.is_stopped |= other.is_stopped;
        self
    }
}
