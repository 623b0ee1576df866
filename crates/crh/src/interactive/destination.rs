//! Where the fixes of a review could go: what its checkout is, and whether anything can be pushed from there.

use std::path::Path;

use crate::commands::github::Opening;
use crate::commands::review::Begun;
use crate::config::environment::Environment;
use crate::failure::{Failure, Kind, OrFail};
use crate::fix;
use crh_git::{RemoteBranch, Repository};
use crh_review::report::{Change, Report};

pub(super) const NOT_COMMITTED: &str = "the checkout has changes that are not committed";
const FOLLOWS_NOTHING: &str = "the branch follows no branch of a remote";
const OFFLINE: &str = "nobody is asked offline";

/// What the reviewed checkout is, and whether fixes can go on from there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Destination {
    pub(super) checkout: Checkout,
    /// Why they cannot, without a period; none if they can, or there is nowhere to go.
    pub(super) stays: Option<String>,
}

/// What a reviewed checkout is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Checkout {
    /// The branch of a pull request.
    PullRequest,
    /// A branch of its own, without a pull request.
    Branch,
    /// The branch that changes are merged into, or no branch.
    Base,
}

/// Where a checkout is: what a commit of the fixes would stand on, and which branch it would go to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    /// The commit that is checked out.
    pub(super) head: Option<String>,
    /// The branch that is checked out.
    pub(super) branch: Option<String>,
}

impl Place {
    /// Where it is now.
    pub(super) fn of(checkout: &Path) -> Result<Self, Failure> {
        let repository = Repository::discover(checkout).or_fail(Kind::Outside)?;
        let head = repository.head().or_fail(Kind::Outside)?;
        Ok(Self { head, branch: repository.branch() })
    }

    /// How a checkout that was here is somewhere else now; none if it is here. A question may stand there for hours.
    pub(super) fn left_for(&self, now: &Self) -> Option<&'static str> {
        if now.branch != self.branch {
            return Some("another branch is checked out than before the fixes");
        }
        (now.head != self.head).then_some("`HEAD` is another commit than before the fixes")
    }
}

/// What a checkout is that was at a place before anything was fixed in it, and whether fixes can be pushed from there.
pub(super) fn destination(
    begun: &Begun,
    report: &Report,
    place: &Place,
    environment: &Environment,
) -> Destination {
    let defaults = discovered(begun).map(|it| it.default_branches()).unwrap_or_default();
    let checkout = checkout_at(&report.change, place, &defaults);
    let is_clean =
        place.head.as_deref() == Some(report.change.head_sha.as_str()) && !is_mixed(begun);
    let at = |checkout, stays| Destination { checkout, stays };
    match (checkout, is_clean) {
        (Checkout::Base, _) => at(checkout, None),
        (Checkout::PullRequest | Checkout::Branch, false) => {
            at(checkout, Some(NOT_COMMITTED.to_owned()))
        }
        (Checkout::PullRequest, true) => at(checkout, not_pushed(begun, report, place).err()),
        (Checkout::Branch, true) => match opening(begun, environment) {
            Err(why) => at(checkout, Some(why)),
            // It was compared with something else than what the pull request is proposed to, and so nobody has looked for one.
            Ok(opening) if opening.is_open(branch_of(place), environment, &begun.settings) => {
                at(Checkout::PullRequest, not_pushed(begun, report, place).err())
            }
            Ok(_) => at(checkout, None),
        },
    }
}

/// Whether files of the fixes also have what somebody did to them while they were reviewed, or asked about. What cannot be told is
/// taken for that.
pub(super) fn is_mixed(begun: &Begun) -> bool {
    begun.place.folder().is_some_and(|run| fix::Standing::of(run).map_or(true, |it| it.is_mixed()))
}

fn branch_of(place: &Place) -> &str {
    place.branch.as_deref().unwrap_or_default()
}

fn checkout_at(change: &Change, place: &Place, defaults: &[String]) -> Checkout {
    let Some(branch) = place.branch.as_deref() else { return Checkout::Base };
    // Whatever it was compared with: nobody proposes the default branch to itself.
    let is_base = branch_named(&change.base_ref) == Some(branch)
        || defaults.iter().any(|default| default == branch);
    match (change.pr_number.is_empty(), is_base) {
        (false, _) => Checkout::PullRequest,
        (true, true) => Checkout::Base,
        (true, false) => Checkout::Branch,
    }
}

/// The branch that a ref stands for, here or at a remote; none for a tag, a commit, or no ref.
pub(super) fn branch_named(name: &str) -> Option<&str> {
    let remote = || name.strip_prefix("refs/remotes/")?.split_once('/').map(|(_, branch)| branch);
    name.strip_prefix("refs/heads/").or_else(remote)
}

/// Why `git push` would have nowhere to push the branch of a pull request to.
fn not_pushed(begun: &Begun, report: &Report, place: &Place) -> Result<(), String> {
    if begun.settings.git_offline.value {
        return Err(OFFLINE.to_owned());
    }
    followed_by_pull(&discovered(begun)?, report, head_of_pull(begun, report), place).map(drop)
}

/// The commit that a pull request is at; what was reviewed where that is not known any more.
pub(super) fn head_of_pull<'r>(begun: &'r Begun, report: &'r Report) -> &'r str {
    let pull = begun.pull.as_ref();
    pull.map_or(&report.change.head_sha, |pull| &pull.proposal.source.commit)
}

/// The branch of a pull request at its remote, if the one that is checked out follows it: nothing is pushed elsewhere.
pub(super) fn followed_by_pull(
    repository: &Repository,
    report: &Report,
    head: &str,
    place: &Place,
) -> Result<RemoteBranch, String> {
    let branch = branch_of(place);
    let followed = repository.followed(branch).ok_or(FOLLOWS_NOTHING)?;
    let change = &report.change;
    let RemoteBranch { remote, branch: name } = &followed;
    let is_its = match change.pr_number.is_empty() {
        // It was looked for by its name at `origin`.
        true => (remote.as_str(), name.as_str()) == ("origin", branch),
        // A name is no proof: a fork may propose its own `main`. What was last seen there is what was reviewed.
        false => {
            let seen = repository.commit(&format!("refs/remotes/{remote}/{name}"));
            let wanted = branch_named(&change.head_ref).unwrap_or(&change.head_ref);
            name == wanted && seen.as_deref() == Some(head)
        }
    };
    match is_its {
        true => Ok(followed),
        false => Err(format!(
            "`{name}` of `{remote}`, which the branch follows, is not the pull request's"
        )),
    }
}

/// Where a pull request could be opened, or why none can be.
pub(super) fn opening(begun: &Begun, environment: &Environment) -> Result<Opening, String> {
    Opening::of(&discovered(begun)?, environment, &begun.settings)
}

fn discovered(begun: &Begun) -> Result<Repository, String> {
    let checkout = begun.checkout.as_deref().ok_or("there is no checkout")?;
    Repository::discover(checkout).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests;
