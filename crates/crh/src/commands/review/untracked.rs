//! Asks before an interactive review whether untracked files are part of it.

use crate::config::environment::Environment;
use crate::config::value::Color;
use crate::failure::{Failure, FailureKind, OrFail};
use crate::hand_off::todos;
use crate::ui;
use crate::ui::questions::{LeaveEffect, MenuAnswer, MenuOption, MenuQuestion, TerminalPrompt};
use crh_git::Repository;
use crh_os::names::repository_path;
use crh_pipeline::resolve::UntrackedPolicy;
use crh_pipeline::target_args::Target;

/// Maximum number of files in the question, which must fit into a small window.
const LISTED_MAX: usize = 5;

/// Note if the user stops.
const STAGE_FIRST: &str = "add the files to review with `git add`, then run `crh review` again";

/// What to do about untracked files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum UntrackedAnswer {
    Review(UntrackedPolicy),
    /// The user wants to add files first.
    Stop,
}

/// Asks the user whether to review untracked files. Without untracked files, without a terminal, or
/// for a target other than the checkout, asks nothing and leaves them out.
pub(super) fn ask(target: &Target, environment: &Environment) -> Result<UntrackedAnswer, Failure> {
    let unasked = UntrackedAnswer::Review(UntrackedPolicy::Listed);
    let is_checkout = match target {
        Target::CurrentBranch | Target::Against(_) => true,
        Target::Uncommitted
        | Target::Staged
        | Target::Commit(_)
        | Target::Range(_)
        | Target::Named(_)
        | Target::PullRequest(_)
        | Target::Diff(_) => false,
    };
    // The review itself reports errors of the repository.
    let Ok(repository) = Repository::discover(&environment.folder) else { return Ok(unasked) };
    let Some(person) = TerminalPrompt::detect(environment, Color::Auto).filter(|_| is_checkout)
    else {
        return Ok(unasked);
    };
    let files = repository.untracked().or_fail(FailureKind::External)?;
    let root = repository.work_tree.clone().unwrap_or_default();
    let is_own =
        |path: &[u8]| repository_path(path).is_ok_and(|path| todos::is_own(&root.join(path)));
    // The folder `.crh` has no sources. Git ignores it if crh created it.
    let files: Vec<String> = files
        .iter()
        .filter(|path| !path.starts_with(b".crh/") && !is_own(path))
        .map(|path| crh_review::one_line(&String::from_utf8_lossy(path)))
        .collect();
    if files.is_empty() {
        return Ok(unasked);
    }
    Ok(match person.ask(&question(&files)) {
        MenuAnswer::Chosen(0) => unasked,
        MenuAnswer::Chosen(1) => UntrackedAnswer::Review(UntrackedPolicy::Included),
        MenuAnswer::Chosen(_) | MenuAnswer::Cancelled => {
            ui::note(STAGE_FIRST);
            UntrackedAnswer::Stop
        }
    })
}

fn question(files: &[String]) -> MenuQuestion {
    let listed: Vec<String> =
        files.iter().take(LISTED_MAX).map(|path| format!("  {path}")).collect();
    let more = match files.len().saturating_sub(LISTED_MAX) {
        0 => None,
        more => Some(format!("  … and {more} more")),
    };
    let head = match files.len() {
        1 => "1 file is untracked:".to_owned(),
        count => format!("{count} files are untracked:"),
    };
    let end = "Should crh review untracked files?".to_owned();
    let option = |label: &str| MenuOption { key: None, label: label.to_owned() };
    MenuQuestion {
        paragraphs: [head].into_iter().chain(listed).chain(more).chain([end]).collect(),
        options: vec![
            option("No — review tracked files only"),
            option("Yes — review all of them, too"),
            option("Stop — to add some of them with `git add` first"),
        ],
        preselected: 0,
        on_leave: LeaveEffect::Undo,
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn long_list_of_files_is_cut() {
        let check = |count: usize, expected: expect_test::Expect| {
            let files: Vec<String> = (1..=count).map(|number| format!("{number}.py")).collect();
            expected.assert_eq(&question(&files).paragraphs.join("\n"));
        };
        check(
            1,
            expect![[r#"
            1 file is untracked:
              1.py
            Should crh review untracked files?"#]],
        );
        check(
            7,
            expect![[r#"
            7 files are untracked:
              1.py
              2.py
              3.py
              4.py
              5.py
              … and 2 more
            Should crh review untracked files?"#]],
        );
    }
}
