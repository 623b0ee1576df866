//! Publishing what was fixed, when the user says so: a commit of the files of the fixes, a push, and a pull request if one is wanted.

use std::path::Path;

use super::destination::{
    NOT_COMMITTED, Place, branch_named, followed_by_pull, head_of_pull, is_mixed, opening,
};
use super::next::Publish;
use crate::commands::review::Begun;
use crate::commands::withheld;
use crate::config::environment::Environment;
use crate::failure::{Failure, Kind, OrFail};
use crate::fix;
use crate::fix::Standing;
use crate::fix::journal::Locked;
use crate::ui::on_one_line;
use crh_git::{RemoteBranch, Repository, Tip};
use crh_review::report::Report;

/// Commits what was fixed and pushes it, with a pull request where one is wanted. What came of it, in a sentence. `place` is
/// where the checkout was before the fixes.
pub(super) fn publish(
    publish: Publish,
    begun: &Begun,
    report: &Report,
    place: &Place,
    environment: &Environment,
) -> Result<String, Failure> {
    let Some(checkout) = begun.checkout.as_deref() else { return Ok(String::new()) };
    let repository = Repository::discover(checkout).or_fail(Kind::Outside)?;
    let withheld = withheld(&begun.settings)?;
    let not_committed = |error| {
        let hint = "the fixes are in the working tree; `git commit` and `git push` go on by hand";
        Failure::new(Kind::Outside, error).hint(hint)
    };
    let by_hand = "the fixes are committed; push them by hand";
    let not_pushed = |error| Failure::new(Kind::Outside, error).hint(by_hand);
    let not_pushed_there = |why| Failure::new(Kind::Outside, anyhow::Error::msg(why)).hint(by_hand);
    // Of all that stands: a fix whose issue was found again is in the tree too.
    let standing = begun.place.folder().map(Standing::of).transpose()?.unwrap_or_default();
    let files = standing.files();
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    check(begun, checkout, place, &standing, &files)?;
    repository.commit_files(&files, &message(report), &withheld).map_err(not_committed)?;
    let branch = place.branch.clone().unwrap_or_default();
    only_fixes(&repository.tip(&branch).map_err(not_pushed)?, place, &files)
        .map_err(not_pushed_there)?;
    match publish {
        Publish::Push => {
            let head = head_of_pull(begun, report);
            let to = followed_by_pull(&repository, report, head, place);
            let to = to.map_err(not_pushed_there)?;
            repository.push(&branch, &to, &withheld).map_err(not_pushed)?;
            Ok("The fixes are pushed.".to_owned())
        }
        Publish::CreatePullRequest => {
            let to = RemoteBranch { remote: "origin".to_owned(), branch: branch.clone() };
            repository.push(&branch, &to, &withheld).map_err(not_pushed)?;
            let url = opened(begun, report, place, &repository, environment)?;
            Ok(format!("The pull request is there: {}", on_one_line(&url)))
        }
    }
}

/// Opens a pull request for the branch that was pushed, in the words of its commits; its address.
fn opened(
    begun: &Begun,
    report: &Report,
    place: &Place,
    repository: &Repository,
    environment: &Environment,
) -> Result<String, Failure> {
    let pushed = |failure: Failure| {
        let message =
            format!("the branch is pushed, and no pull request was opened: {:#}", failure.error);
        let hint = failure.hint.unwrap_or_else(|| "open it by hand".to_owned());
        Failure::new(Kind::Outside, anyhow::anyhow!(message)).hint(hint)
    };
    let opening = opening(begun, environment).map_err(|why| pushed(Failure::usage(why)))?;
    let change = &report.change;
    let branch = place.branch.as_deref().unwrap_or_default();
    let is_there =
        |name: &&str| repository.commit(&format!("refs/remotes/origin/{name}")).is_some();
    // Where it is none of the remote's, the host knows what changes go to.
    let base = branch_named(&change.base_ref).filter(is_there);
    let said = begun.subject.workspace().map(|workspace| workspace.metadata().body.clone());
    let said = said.unwrap_or_default();
    let title = if change.title.is_empty() { branch } else { &change.title };
    let ends = (branch, base);
    opening.open(ends, (title, &said), environment, &begun.settings).map_err(pushed)
}

/// Why nothing is committed; none if the checkout is where it was and its files are as the fixes have left them.
fn changed_since(
    checkout: &Path,
    place: &Place,
    files: &[&str],
    fixed: impl Fn(&str) -> Result<Option<Vec<u8>>, String>,
) -> Result<Option<String>, Failure> {
    if let Some(why) = place.left_for(&Place::of(checkout)?) {
        return Ok(Some(why.to_owned()));
    }
    let locked = Locked::take(checkout)?;
    for path in files {
        let (found, fixed) = (locked.bytes(path)?, fixed(path));
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
fn check(
    begun: &Begun,
    checkout: &Path,
    place: &Place,
    standing: &Standing,
    files: &[&str],
) -> Result<(), Failure> {
    let refused = |why: String| {
        let hint = "the fixes are in the working tree; look at them, and commit and push by hand";
        let message = format!("nothing was committed: {why}");
        Failure::new(Kind::Outside, anyhow::anyhow!(message)).hint(hint)
    };
    if files.is_empty() {
        return Err(refused("no fix has changed a file".to_owned()));
    }
    if is_mixed(begun) {
        return Err(refused(NOT_COMMITTED.to_owned()));
    }
    let repository = Repository::discover(checkout).or_fail(Kind::Outside)?;
    let staged = repository.staged().or_fail(Kind::Outside)?;
    // To commit such a file is to lose what was staged of it.
    if let Some(path) = staged.iter().find(|path| files.contains(&path.as_str())) {
        return Err(refused(format!("`{path}` is staged, which the fixes have not done")));
    }
    let (Some((bare, _)), Some(commit)) = (&begun.files, standing.commit()) else {
        return Err(refused("what the fixes have written is not known any more".to_owned()));
    };
    let objects = bare.objects().or_fail(Kind::Outside)?;
    let fixed =
        |path: &str| objects.file_if_any(commit, path.as_bytes()).map_err(|why| why.to_string());
    match changed_since(checkout, place, files, fixed)? {
        Some(why) => Err(refused(why)),
        None => Ok(()),
    }
}

/// Refuses to push a commit that has more in it than the fixes: a hook, or somebody at another terminal, may have staged something
/// while it was made.
fn only_fixes(tip: &Tip, place: &Place, files: &[&str]) -> Result<(), String> {
    let is_alone = place.head.iter().eq(&tip.parents);
    let other = tip.files.iter().find(|file| !files.contains(&file.as_str()));
    match (is_alone, other) {
        (false, _) => {
            Err("the commit of the fixes does not stand on what was reviewed alone".into())
        }
        (true, Some(file)) => Err(format!("the commit of the fixes has `{file}` in it, too")),
        (true, None) => Ok(()),
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
