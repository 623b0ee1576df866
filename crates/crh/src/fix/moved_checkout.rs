//! Whether another commit is checked out than the reviewed one.

use super::reviewed_checkout::ReviewedCheckout;
use crate::commands::review::session::ReviewSession;
use crate::failure::{Failure, FailureKind, OrFail};
use crate::ui;
use crh_git::Repository;
use crh_pipeline::run_folder::{CheckoutState, RunFolder};
use crh_review::report::ReviewedChange;

/// Characters of an abbreviated commit hash, as in reports.
const COMMIT_CHARS: usize = 12;

/// The commit of a review, and another one that is checked out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MovedCheckout {
    reviewed: CheckoutState,
    current: CheckoutState,
}

impl MovedCheckout {
    /// For a review of the checkout. `None` if the checkout has the reviewed commit or a rewritten
    /// one of its branch, or if the files are as they were reviewed.
    pub(crate) fn since_review(session: &ReviewSession) -> Result<Option<Self>, Failure> {
        let Ok(mut reviewed_checkout) = ReviewedCheckout::open(session) else { return Ok(None) };
        // Without this file, crh compares only the lines of each issue.
        let Ok(metadata) = reviewed_checkout.run().metadata() else { return Ok(None) };
        let repository =
            Repository::discover(reviewed_checkout.root()).or_fail(FailureKind::External)?;
        let current = CheckoutState::from_repository(&repository);
        let moved = Self { reviewed: metadata.checkout, current };
        let is_ancestor = |one: &str, other: &str| {
            reviewed_checkout.bare.is_ancestor(one, other).is_ok_and(|is_ancestor| is_ancestor)
        };
        if !moved.is_elsewhere(is_ancestor) {
            return Ok(None);
        }
        // If the checkout cannot be locked, the fix itself reports the reason.
        let Ok(checkout) = reviewed_checkout.locked() else { return Ok(None) };
        reviewed_checkout.take_reverted_files(&checkout)?;
        let edited = reviewed_checkout.edited_since_review(&checkout)?;
        Ok((!edited.is_empty()).then_some(moved))
    }

    /// For a review of a branch that was not checked out. `None` if it is no local branch, or if it
    /// is checked out now.
    pub(crate) fn from_branch(change: &ReviewedChange, repository: &Repository) -> Option<Self> {
        let reviewed = CheckoutState::from_change(change);
        let current = CheckoutState::from_repository(repository);
        let is_local = || repository.commit(&format!("refs/heads/{}", reviewed.branch)).is_some();
        let is_other = !reviewed.branch.is_empty() && reviewed.branch != current.branch;
        let is_other_branch = is_other && change.url.is_empty() && is_local();
        is_other_branch.then_some(Self { reviewed, current })
    }

    /// For an undo of the fixes of a run. `None` if the branch of the review is checked out, or if
    /// the review had no branch.
    pub(crate) fn since_fixes(run: &RunFolder, repository: &Repository) -> Option<Self> {
        // Without this file, the branch of the review is unknown.
        let reviewed = run.metadata().ok()?.checkout;
        let moved = Self { reviewed, current: CheckoutState::from_repository(repository) };
        // Any commit of the branch may have the fixes.
        let is_ancestor = |_: &str, _: &str| false;
        let is_elsewhere = !moved.reviewed.branch.is_empty() && moved.is_elsewhere(is_ancestor);
        is_elsewhere.then_some(moved)
    }

    /// The two commits, as the end of a message.
    pub(crate) fn reason(&self) -> String {
        let name = |state: &CheckoutState| {
            let commit: String = state.head_sha.chars().take(COMMIT_CHARS).collect();
            match state.branch.as_str() {
                "" => format!("commit `{commit}`"),
                branch => format!("`{branch}` at commit `{commit}`"),
            }
        };
        format!("it reviewed {}, but {} is checked out", name(&self.reviewed), name(&self.current))
    }

    /// The command that checks out the reviewed commit.
    pub(crate) fn switch_command(&self) -> String {
        let CheckoutState { branch, head_sha } = &self.reviewed;
        match branch.is_empty() || *branch == self.current.branch {
            true => format!("git switch --detach {head_sha}"),
            false => format!("git switch {}", ui::shell_word(branch)),
        }
    }

    /// Whether the current commit neither contains the reviewed one nor is a rewritten one of its
    /// branch. A new branch may contain the reviewed work.
    fn is_elsewhere(&self, is_ancestor: impl Fn(&str, &str) -> bool) -> bool {
        let Self { reviewed, current } = self;
        if reviewed.head_sha == current.head_sha
            || reviewed.head_sha.is_empty()
            || is_ancestor(&reviewed.head_sha, &current.head_sha)
        {
            return false;
        }
        reviewed.branch.is_empty()
            || reviewed.branch != current.branch
            || is_ancestor(&current.head_sha, &reviewed.head_sha)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(branch: &str, head_sha: &str) -> CheckoutState {
        CheckoutState { branch: branch.to_owned(), head_sha: head_sha.to_owned() }
    }

    #[test]
    fn checkout_that_contains_the_reviewed_commit_is_not_elsewhere() {
        // The ancestors of a commit are the prefixes of its name.
        let is_ancestor = |one: &str, other: &str| other.starts_with(one);
        let check = |reviewed: (&str, &str), current: (&str, &str), expected: bool| {
            let moved = MovedCheckout {
                reviewed: state(reviewed.0, reviewed.1),
                current: state(current.0, current.1),
            };
            assert_eq!(moved.is_elsewhere(is_ancestor), expected, "{moved:?}");
        };
        check(("topic", "ab"), ("topic", "ab"), false);
        check(("topic", "ab"), ("topic", "abc"), false);
        check(("topic", "ab"), ("topic", "ac"), false);
        check(("topic", "ab"), ("topic", "a"), true);
        check(("topic", "ab"), ("other", "ab"), false);
        check(("topic", "ab"), ("other", "abc"), false);
        check(("topic", "ab"), ("other", "ac"), true);
        check(("topic", "ab"), ("other", "a"), true);
        check(("topic", "ab"), ("", "abc"), false);
        check(("topic", "ab"), ("", "ac"), true);
        check(("", "ab"), ("", "abc"), false);
        check(("", "ab"), ("", "ac"), true);
        check(("topic", ""), ("other", "c"), false);
    }

    #[test]
    fn switch_command_names_the_branch_or_the_commit() {
        let check = |branch: &str, current: &str, expected: &str| {
            let (reviewed, current) = (state(branch, "b"), state(current, "c"));
            assert_eq!(MovedCheckout { reviewed, current }.switch_command(), expected);
        };
        check("topic", "other", "git switch topic");
        check("topic", "topic", "git switch --detach b");
        check("", "other", "git switch --detach b");
    }
}
