//! Decides whether the fixes of a review can be pushed from its checkout.

use std::path::Path;

use crate::commands::github::PullRequestTarget;
use crate::commands::review::session::ReviewSession;
use crate::config::environment::Environment;
use crate::failure::{Failure, FailureKind, OrFail};
use crate::fix;
use crh_git::{RemoteBranch, Repository};
use crh_review::report::{Report, ReviewedChange};

pub(super) const NOT_COMMITTED: &str = "the checkout has uncommitted changes";
const FOLLOWS_NOTHING: &str = "the branch tracks no remote branch";
const OFFLINE: &str = "offline mode is on";

/// The kind of the reviewed checkout, and why fixes cannot be pushed from it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Destination {
    pub(super) checkout: Checkout,
    /// Why the fixes cannot be pushed, without a period. `None` if they can, or if there is no
    /// target.
    pub(super) stays: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Checkout {
    /// The branch of a pull request.
    PullRequest,
    /// A feature branch without a pull request.
    Branch,
    /// The branch that changes are merged into, or no branch.
    Base,
}

/// Position of a checkout: `HEAD`, on which crh commits the fixes, and the branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CheckoutPosition {
    pub(super) head: Option<String>,
    pub(super) branch: Option<String>,
}

impl CheckoutPosition {
    /// Reads the current position.
    pub(super) fn read(checkout: &Path) -> Result<Self, Failure> {
        let repository = Repository::discover(checkout).or_fail(FailureKind::External)?;
        let head = repository.head().or_fail(FailureKind::External)?;
        Ok(Self { head, branch: repository.branch() })
    }

    /// Why the checkout is not at this position any more, or `None`. The user may switch branches
    /// while a question waits.
    pub(super) fn left_for(&self, now: &Self) -> Option<&'static str> {
        if now.branch != self.branch {
            return Some("another branch is checked out now");
        }
        (now.head != self.head).then_some("`HEAD` has moved since the fixes")
    }
}

/// Classifies a checkout that was at `place` before the fixes, and checks whether fixes can be
/// pushed.
pub(super) fn destination(
    session: &ReviewSession,
    report: &Report,
    place: &CheckoutPosition,
    environment: &Environment,
) -> Destination {
    let defaults = open_repository(session).map(|it| it.default_branches()).unwrap_or_default();
    let checkout = checkout_at(&report.change, place, &defaults);
    let is_clean =
        place.head.as_deref() == Some(report.change.head_sha.as_str()) && !is_mixed(session);
    let at = |checkout, stays| Destination { checkout, stays };
    match (checkout, is_clean) {
        (Checkout::Base, _) => at(checkout, None),
        (Checkout::PullRequest | Checkout::Branch, false) => {
            at(checkout, Some(NOT_COMMITTED.to_owned()))
        }
        (Checkout::PullRequest, true) => at(checkout, check_pushable(session, report, place).err()),
        (Checkout::Branch, true) => match opening(session, environment) {
            Err(why) => at(checkout, Some(why)),
            // If the review compared with another base, crh has not looked for a pull request yet.
            Ok(opening) if opening.is_open(branch_of(place), environment, &session.settings) => {
                at(Checkout::PullRequest, check_pushable(session, report, place).err())
            }
            Ok(_) => at(checkout, None),
        },
    }
}

/// Whether files of the fixes also contain edits of the user. Returns true if that cannot be
/// determined.
pub(super) fn is_mixed(session: &ReviewSession) -> bool {
    session
        .place
        .folder()
        .is_some_and(|run| fix::AppliedFixes::load(run).map_or(true, |it| it.is_mixed()))
}

fn branch_of(place: &CheckoutPosition) -> &str {
    place.branch.as_deref().unwrap_or_default()
}

fn checkout_at(change: &ReviewedChange, place: &CheckoutPosition, defaults: &[String]) -> Checkout {
    let Some(branch) = place.branch.as_deref() else { return Checkout::Base };
    // The default branch always counts as a base.
    let is_base = branch_named(&change.base_ref) == Some(branch)
        || defaults.iter().any(|default| default == branch);
    match (change.pr_number.is_empty(), is_base) {
        (false, _) => Checkout::PullRequest,
        (true, true) => Checkout::Base,
        (true, false) => Checkout::Branch,
    }
}

/// The branch name of a local or remote ref. `None` for a tag, a commit or an empty ref.
pub(super) fn branch_named(name: &str) -> Option<&str> {
    let remote = || name.strip_prefix("refs/remotes/")?.split_once('/').map(|(_, branch)| branch);
    name.strip_prefix("refs/heads/").or_else(remote)
}

/// Checks that the checked-out branch tracks the branch of its pull request.
fn check_pushable(
    session: &ReviewSession,
    report: &Report,
    place: &CheckoutPosition,
) -> Result<(), String> {
    if session.settings.git_offline.value {
        return Err(OFFLINE.to_owned());
    }
    followed_by_pull(&open_repository(session)?, report, head_of_pull(session, report), place)
        .map(drop)
}

/// The head commit of the pull request. Falls back to the reviewed commit.
pub(super) fn head_of_pull<'r>(session: &'r ReviewSession, report: &'r Report) -> &'r str {
    let pull = session.pull.as_ref();
    pull.map_or(&report.change.head_sha, |pull| &pull.proposal.source.commit)
}

/// The remote branch of the pull request, if the checked-out branch tracks it. crh pushes nowhere
/// else.
pub(super) fn followed_by_pull(
    repository: &Repository,
    report: &Report,
    head: &str,
    place: &CheckoutPosition,
) -> Result<RemoteBranch, String> {
    let branch = branch_of(place);
    let upstream = repository.upstream_branch(branch).ok_or(FOLLOWS_NOTHING)?;
    let change = &report.change;
    let RemoteBranch { remote, branch: name } = &upstream;
    let is_pull_branch = match change.pr_number.is_empty() {
        // crh looked for this branch name on `origin`.
        true => (remote.as_str(), name.as_str()) == ("origin", branch),
        // The name alone proves nothing: a fork may have its own `main`. The last fetched commit
        // must be the reviewed one.
        false => {
            let seen = repository.commit(&format!("refs/remotes/{remote}/{name}"));
            let wanted = branch_named(&change.head_ref).unwrap_or(&change.head_ref);
            name == wanted && seen.as_deref() == Some(head)
        }
    };
    match is_pull_branch {
        true => Ok(upstream),
        false => Err(format!(
            "the branch tracks `{name}` of `{remote}`, which is not the branch of the pull request"
        )),
    }
}

/// Where a pull request can be opened, or why none can.
pub(super) fn opening(
    session: &ReviewSession,
    environment: &Environment,
) -> Result<PullRequestTarget, String> {
    PullRequestTarget::find(&open_repository(session)?, environment, &session.settings)
}

fn open_repository(session: &ReviewSession) -> Result<Repository, String> {
    let checkout = session.checkout.as_deref().ok_or("there is no checkout")?;
    Repository::discover(checkout).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests;
