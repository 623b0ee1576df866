//! Where the fixes of a review could go: what its checkout is, and how they are published when the user says so.

use std::path::Path;

use crh_git::Repository;
use crh_git::Upstream;
use crh_review::report::Report;

use super::next::Publish;
use crate::commands::review::Begun;
use crate::commands::withheld;
use crate::failure::Failure;
use crate::failure::Kind;
use crate::failure::OrFail;
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

impl Standing {
    /// What the checkout is, before anything was fixed in it.
    pub(super) fn of(checkout: &Path, report: &Report) -> Result<Self, Failure> {
        let repository = Repository::discover(checkout).or_fail(Kind::Outside)?;
        let head = repository.head().or_fail(Kind::Outside)?;
        let branch = repository.branch();
        Ok(standing(report, head.as_deref(), branch.as_deref()))
    }
}

fn standing(report: &Report, head: Option<&str>, branch: Option<&str>) -> Standing {
    let change = &report.change;
    let Some(branch) = branch else { return Standing::Base };
    // A base that is fetched has the name of its remote before it.
    let is_base = change.base_ref == branch
        || change.base_ref.split_once('/').is_some_and(|(_, name)| name == branch);
    let is_pull_request = !change.pr_number.is_empty();
    if is_base && !is_pull_request {
        return Standing::Base;
    }
    if head != Some(change.head_sha.as_str()) {
        let why =
            "The checkout has changes that are not committed, so nothing is pushed from here.";
        return Standing::NotClean(why.to_owned());
    }
    if is_pull_request { Standing::PullRequest } else { Standing::Branch }
}

/// Commits what was fixed and pushes it, with a pull request where one is wanted. What came of it, in a sentence.
pub(super) fn publish(publish: Publish, begun: &Begun, report: &Report) -> Result<String, Failure> {
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
