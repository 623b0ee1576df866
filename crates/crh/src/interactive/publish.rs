//! Publishes fixes if the user chose it: a commit of the fixed files, a push, and optionally a pull
//! request.

use std::path::Path;

use super::destination::{
    CheckoutPosition, NOT_COMMITTED, branch_named, followed_by_pull, head_of_pull, is_mixed,
    opening,
};
use super::next::PublishStep;
use crate::commands::hidden_variables;
use crate::commands::review::session::ReviewSession;
use crate::config::environment::Environment;
use crate::failure::{Failure, FailureKind, OrFail};
use crate::fix;
use crate::fix::AppliedFixes;
use crate::fix::journal::LockedCheckout;
use crh_git::{BranchTip, RemoteBranch, Repository};
use crh_review::one_line;
use crh_review::render::commit_title;
use crh_review::report::{FixOutcome, Issue, Report};

/// Commits and pushes the fixes, and opens a pull request if wanted. Returns a message for the
/// user. `place` is the position of the checkout before the fixes.
pub(super) fn publish(
    publish: PublishStep,
    session: &ReviewSession,
    report: &Report,
    place: &CheckoutPosition,
    environment: &Environment,
) -> Result<String, Failure> {
    let Some(checkout) = session.checkout.as_deref() else { return Ok(String::new()) };
    let repository = Repository::discover(checkout).or_fail(FailureKind::External)?;
    let withheld = hidden_variables(&session.settings)?;
    let not_committed = |error| {
        let hint = "the fixes are in the working tree; commit and push them yourself";
        Failure::new(FailureKind::External, error).hint(hint)
    };
    let by_hand = "the fixes are committed; push them by hand";
    let not_pushed = |error| Failure::new(FailureKind::External, error).hint(by_hand);
    let not_pushed_there =
        |why| Failure::new(FailureKind::External, anyhow::Error::msg(why)).hint(by_hand);
    // Includes fixes whose issue was found again: they are in the tree too.
    let applied_fixes =
        session.place.folder().map(AppliedFixes::load).transpose()?.unwrap_or_default();
    let files = applied_fixes.files();
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    check(session, checkout, place, &applied_fixes, &files)?;
    repository.commit_files(&files, &message(report), &withheld).map_err(not_committed)?;
    let branch = place.branch.clone().unwrap_or_default();
    only_fixes(&repository.tip(&branch).map_err(not_pushed)?, place, &files)
        .map_err(not_pushed_there)?;
    match publish {
        PublishStep::Push => {
            let head = head_of_pull(session, report);
            let to = followed_by_pull(&repository, report, head, place);
            let to = to.map_err(not_pushed_there)?;
            repository.push(&branch, &to, &withheld).map_err(not_pushed)?;
            Ok("The fixes are pushed.".to_owned())
        }
        PublishStep::CreatePullRequest => {
            let to = RemoteBranch { remote: "origin".to_owned(), branch: branch.clone() };
            repository.push(&branch, &to, &withheld).map_err(not_pushed)?;
            let url = open_pull_request(session, report, place, &repository, environment)?;
            Ok(format!("Opened the pull request: {}", one_line(&url)))
        }
    }
}

/// Opens a pull request for the pushed branch, with a title and text from its commits. Returns its
/// address.
fn open_pull_request(
    session: &ReviewSession,
    report: &Report,
    place: &CheckoutPosition,
    repository: &Repository,
    environment: &Environment,
) -> Result<String, Failure> {
    let pushed = |failure: Failure| {
        let message = format!(
            "the branch is pushed, but the pull request could not be opened: {:#}",
            failure.error
        );
        let hint = failure.hint.unwrap_or_else(|| "open it by hand".to_owned());
        Failure::new(FailureKind::External, anyhow::anyhow!(message)).hint(hint)
    };
    let opening = opening(session, environment).map_err(|why| pushed(Failure::usage(why)))?;
    let change = &report.change;
    let branch = place.branch.as_deref().unwrap_or_default();
    let is_on_remote =
        |name: &&str| repository.commit(&format!("refs/remotes/origin/{name}")).is_some();
    // If the remote does not have the base branch, GitHub chooses the default branch.
    let base = branch_named(&change.base_ref).filter(is_on_remote);
    let body = session.subject.workspace().map(|workspace| workspace.metadata().body.clone());
    let body = body.unwrap_or_default();
    let title = if change.title.is_empty() { branch } else { &change.title };
    let ends = (branch, base);
    opening.open(ends, (title, &body), environment, &session.settings).map_err(pushed)
}

/// Why crh must not commit: the checkout moved, or a file is not as the fixes left it.
fn changed_since(
    checkout: &Path,
    place: &CheckoutPosition,
    files: &[&str],
    fixed: impl Fn(&str) -> Result<Option<Vec<u8>>, String>,
) -> Result<Option<String>, Failure> {
    if let Some(why) = place.left_for(&CheckoutPosition::read(checkout)?) {
        return Ok(Some(why.to_owned()));
    }
    // Reading files under the lock needs no stamp key.
    let stamp_key = None;
    let locked = LockedCheckout::take(checkout, stamp_key)?;
    for path in files {
        let (found, fixed) = (locked.bytes(path)?, fixed(path));
        let is_as_fixed = match fixed {
            Err(why) => return Ok(Some(why)),
            Ok(fixed) => found == fixed || found == fixed.as_deref().map(fix::with_crlf),
        };
        if !is_as_fixed {
            return Ok(Some(format!("`{path}` was changed after the fix")));
        }
    }
    Ok(None)
}

/// Fails if the commit would contain anything other than the fixes.
fn check(
    session: &ReviewSession,
    checkout: &Path,
    place: &CheckoutPosition,
    applied_fixes: &AppliedFixes,
    files: &[&str],
) -> Result<(), Failure> {
    let refused = |why: String| {
        let hint =
            "the fixes are in the working tree; check them, then commit and push them yourself";
        let message = format!("nothing was committed: {why}");
        Failure::new(FailureKind::External, anyhow::anyhow!(message)).hint(hint)
    };
    if files.is_empty() {
        return Err(refused("no fix has changed a file".to_owned()));
    }
    if is_mixed(session) {
        return Err(refused(NOT_COMMITTED.to_owned()));
    }
    let repository = Repository::discover(checkout).or_fail(FailureKind::External)?;
    let staged = repository.staged().or_fail(FailureKind::External)?;
    // If crh committed such a file, its staged version would be lost.
    if let Some(path) = staged.iter().find(|path| files.contains(&path.as_str())) {
        return Err(refused(format!("`{path}` is staged")));
    }
    let (Some((bare, _)), Some(commit)) = (&session.files, applied_fixes.commit()) else {
        return Err(refused("the journal of the fixes is missing".to_owned()));
    };
    let objects = bare.objects().or_fail(FailureKind::External)?;
    let fixed =
        |path: &str| objects.file_if_any(commit, path.as_bytes()).map_err(|why| why.to_string());
    match changed_since(checkout, place, files, fixed)? {
        Some(why) => Err(refused(why)),
        None => Ok(()),
    }
}

/// Fails if the commit contains more than the fixes. A hook or another program may have staged
/// files meanwhile.
fn only_fixes(tip: &BranchTip, place: &CheckoutPosition, files: &[&str]) -> Result<(), String> {
    let is_alone = place.head.iter().eq(&tip.parents);
    let other = tip.files.iter().find(|file| !files.contains(&file.as_str()));
    match (is_alone, other) {
        (false, _) => Err("the parent of the fix commit is not the reviewed commit".into()),
        (true, Some(file)) => Err(format!("the fix commit also contains `{file}`")),
        (true, None) => Ok(()),
    }
}

/// The commit message of the fixes. The commit also contains fixes that do not close their issue;
/// the message does not call those issues fixed.
fn message(report: &Report) -> String {
    let titles = |outcome: FixOutcome| -> Vec<String> {
        let is_in_list =
            |issue: &&Issue| report.fix_of(issue.number).is_some_and(|fix| fix.outcome == outcome);
        report.all_issues().filter(is_in_list).map(commit_title).collect()
    };
    let list = |titles: &[String]| -> String {
        titles.iter().map(|title| format!("\n- {title}")).collect()
    };
    let (unverified, found_again) =
        (titles(FixOutcome::Unverified), titles(FixOutcome::FoundAgain));
    let (partial, reverted) = (titles(FixOutcome::Partial), titles(FixOutcome::PartlyReverted));
    let mut message = match titles(FixOutcome::Done).as_slice() {
        [] => open_fixes_subject(report),
        [only] => format!("fix(review): {only}"),
        fixed => format!("fix(review): {} review findings\n{}", fixed.len(), list(fixed)),
    };
    let open_fixes = [
        ("Applied, not verified:", unverified),
        ("Applied, but the review found the issue again:", found_again),
        ("Applied, but not at all places of the issue:", partial),
        ("Applied, but a part of the fix is no longer in the tree:", reverted),
    ];
    for (heading, titles) in open_fixes.into_iter().filter(|(_, titles)| !titles.is_empty()) {
        message.push_str(&format!("\n\n{heading}{}", list(&titles)));
    }
    message
}

/// The subject of a commit without a fixed issue of the report.
fn open_fixes_subject(report: &Report) -> String {
    let outcomes = report.applied_fixes.iter().map(|fix| fix.outcome);
    let open: Vec<FixOutcome> = outcomes.filter(|outcome| !outcome.is_done()).collect();
    let is_unverified = open.iter().all(|outcome| *outcome == FixOutcome::Unverified);
    match (open.len(), is_unverified) {
        // The fixed issues are no longer in the report.
        (0, _) => "fix(review): apply fixes".to_owned(),
        (1, true) => "fix(review): apply 1 fix that is not verified".to_owned(),
        (count, true) => format!("fix(review): apply {count} fixes, none of them verified"),
        (1, false) => "fix(review): apply 1 fix, its issue is still open".to_owned(),
        (count, false) => {
            format!("fix(review): apply {count} fixes, their issues are still open")
        }
    }
}

#[cfg(test)]
mod tests;
