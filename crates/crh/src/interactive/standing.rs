//! Where the fixes of a review could go: what its checkout is, and how they are published when the user says so.

use std::path::Path;

use crh_git::Repository;
use crh_git::Upstream;
use crh_review::report::Report;

use super::next::Publish;
use crate::commands::not_undone;
use crate::commands::review::Begun;
use crate::commands::withheld;
use crate::failure::Failure;
use crate::failure::Kind;
use crate::failure::OrFail;
use crate::fix;
use crate::fix::journal::Locked;
use crate::programs;
use crate::ui::on_one_line;

/// What the reviewed checkout is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Standing {
    /// The branch of a pull request.
    PullRequest,
    /// A branch of its own, without a pull request.
    Branch,
    /// The branch that changes are merged into, or no branch.
    Base,
    /// One with changes of the user's own that are not committed; why nothing is published then.
    NotClean(String),
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
}

/// What a checkout at a place is, before anything was fixed in it.
pub(super) fn standing(report: &Report, place: &Place) -> Standing {
    let change = &report.change;
    let Some(branch) = place.branch.as_deref() else { return Standing::Base };
    // A base that is fetched has the name of its remote before it.
    let is_base = change.base_ref == branch
        || change.base_ref.split_once('/').is_some_and(|(_, name)| name == branch);
    let is_pull_request = !change.pr_number.is_empty();
    if is_base && !is_pull_request {
        return Standing::Base;
    }
    if place.head.as_deref() != Some(change.head_sha.as_str()) {
        let why =
            "The checkout has changes that are not committed, so nothing is pushed from here.";
        return Standing::NotClean(why.to_owned());
    }
    if is_pull_request { Standing::PullRequest } else { Standing::Branch }
}

/// Why nothing is committed; none if the checkout is where it was and its files are as the fixes have left them. The question may
/// have stood there for hours.
fn changed_since(
    checkout: &Path,
    place: &Place,
    files: &[&str],
    fixed: impl Fn(&str) -> Result<Option<Vec<u8>>, String>,
) -> Result<Option<String>, Failure> {
    let now = Place::of(checkout)?;
    if now.branch != place.branch {
        return Ok(Some("another branch is checked out than before the fixes".to_owned()));
    }
    if now.head != place.head {
        return Ok(Some("`HEAD` is another commit than before the fixes".to_owned()));
    }
    let locked = Locked::take(checkout).map_err(not_undone)?;
    for path in files {
        let (found, fixed) = (locked.bytes(path).map_err(not_undone)?, fixed(path));
        let is_as_fixed = match fixed {
            Err(why) => return Ok(Some(why)),
            Ok(fixed) => found == fixed || found == fixed.as_deref().map(fix::with_crlf),
        };
        if !is_as_fixed {
            return Ok(Some(format!("`{path}` is not as the fix has left it")));
        }
    }
    Ok(None)
}

/// Refuses to publish where something else would be committed than what was fixed and shown.
fn check(begun: &Begun, checkout: &Path, place: &Place, files: &[&str]) -> Result<(), Failure> {
    let refused = |why: String| {
        let hint = "the fixes are in the working tree; look at them, and commit and push by hand";
        let message = format!("nothing was committed: {why}");
        Failure::new(Kind::Outside, anyhow::anyhow!(message)).hint(hint)
    };
    if files.is_empty() {
        return Err(refused("no fix has changed a file".to_owned()));
    }
    let commit = begun.place.folder().and_then(fix::standing_commit);
    let (Some((bare, _)), Some(commit)) = (&begun.files, commit) else {
        return Err(refused("what the fixes have written is not known any more".to_owned()));
    };
    let objects = bare.objects().or_fail(Kind::Outside)?;
    let fixed =
        |path: &str| objects.file_if_any(&commit, path.as_bytes()).map_err(|why| why.to_string());
    match changed_since(checkout, place, files, fixed)? {
        Some(why) => Err(refused(why)),
        None => Ok(()),
    }
}

/// Commits what was fixed and pushes it, with a pull request where one is wanted. What came of it, in a sentence. `place` is
/// where the checkout was before the fixes.
pub(super) fn publish(
    publish: Publish,
    begun: &Begun,
    report: &Report,
    place: &Place,
) -> Result<String, Failure> {
    let Some(checkout) = begun.checkout.as_deref() else { return Ok(String::new()) };
    let repository = Repository::discover(checkout).or_fail(Kind::Outside)?;
    let withheld = withheld(&begun.settings)?;
    let not_committed = |error| {
        let hint = "the fixes are in the working tree; `git commit` and `git push` go on by hand";
        Failure::new(Kind::Outside, error).hint(hint)
    };
    let not_pushed = |error| {
        Failure::new(Kind::Outside, error).hint("the fixes are committed; push them by hand")
    };
    let mut files: Vec<&str> =
        report.applied_fixes.iter().flat_map(|fix| &fix.files).map(String::as_str).collect();
    files.sort_unstable();
    files.dedup();
    check(begun, checkout, place, &files)?;
    repository.commit_files(&files, &message(report), &withheld).map_err(not_committed)?;
    match publish {
        Publish::Push => {
            repository.push(Upstream::AsItIs, &withheld).map_err(not_pushed)?;
            Ok("The fixes are pushed.".to_owned())
        }
        Publish::CreatePullRequest => {
            repository.push(Upstream::Origin, &withheld).map_err(not_pushed)?;
            match programs::gh_create_pull_request(checkout) {
                Ok(url) => Ok(format!("The pull request is there: {}", on_one_line(&url))),
                Err(why) => {
                    let message = format!("the branch is pushed, but `gh pr create` failed: {why}");
                    Err(Failure::new(Kind::Outside, anyhow::anyhow!(message))
                        .hint("open the pull request by hand"))
                }
            }
        }
    }
}

/// What the commit of the fixes says.
fn message(report: &Report) -> String {
    let fixed = || report.issues.iter().filter(|issue| report.is_fixed(issue.number));
    let titles: Vec<String> = fixed().map(|issue| on_one_line(&issue.title)).collect();
    match titles.as_slice() {
        [only] => format!("fix(review): {only}"),
        titles => {
            let list: String = titles.iter().map(|title| format!("\n- {title}")).collect();
            format!("fix(review): {} findings of a review\n{list}", titles.len())
        }
    }
}

#[cfg(test)]
mod tests;
