//! Runs all built-in reviewers on a change. Per-file reviewers share texts and trees and run on all
//! cores; the others check the whole change in parallel.

use std::any::Any;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::cached_project::CachedProject;
use crate::file_context::{FileContext, FileFindings, FileReviewer};
use crate::findings::FindingDraft;
use crate::patterns::PatternRules;
use crate::source::SourceText;
use crate::{
    ChangeView, ChangedFile, Project, StaticOutput, changed_statements, consistency, leftovers,
    references, secrets, syntax, workflows,
};
use crh_review::finding::Side;

/// More workers compete for memory bandwidth.
const WORKERS_MAX: usize = 8;

/// Reason for a file that git treats as text by configuration.
const BINARY_FILE: &str = "it contains zero bytes and is not UTF-8";

const ONLY_A_DIFF: &str = "only the diff is available";

/// The run of one static reviewer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StaticRun {
    /// Name of the reviewer.
    pub name: &'static str,
    /// Files it checked, in diff order.
    pub files: Vec<String>,
    /// Files it could not check, each with the reason.
    pub unread: Vec<(String, String)>,
    /// Its output, or a panic message.
    pub outcome: Result<StaticOutput, String>,
    /// Working time.
    pub took: Duration,
}

/// Runs the reviewers of [`crate::REVIEWERS`] except `injection`, which needs more than files. If a
/// reviewer panics on a file, only that file is lost.
pub fn review(change: &ChangeView<'_>, patterns: &PatternRules) -> Vec<StaticRun> {
    let per_file: [&dyn FileReviewer; 4] =
        [&syntax::SyntaxCheck, &leftovers::LeftoverCheck, &workflows::WorkflowCheck, patterns];
    let remembered = change.project.map(|project| CachedProject::new(project, change));
    let project = remembered.as_ref().map(|it| it as &dyn Project);
    let change = &ChangeView::new(change.files, change.all_files, project);
    thread::scope(|scope| {
        let references = scope.spawn(|| {
            run_on_change("references", change, ReviewInput::Project, references::review)
        });
        let consistency = scope.spawn(|| {
            run_on_change("consistency", change, ReviewInput::Project, consistency::review)
        });
        let secrets = run_on_change("secrets", change, ReviewInput::Diff, |change| {
            secrets::review(change.files)
        });
        let mut runs = run_per_file(change, &per_file);
        runs.push(secrets);
        runs.extend([references.join(), consistency.join()].into_iter().flatten());
        // Display order.
        runs.sort_by_key(|run| crate::REVIEWERS.iter().position(|name| *name == run.name));
        runs
    })
}

enum ReviewInput {
    Diff,
    Project,
}

/// Runs a reviewer that checks the change as a whole.
fn run_on_change(
    name: &'static str,
    change: &ChangeView<'_>,
    needs: ReviewInput,
    review: impl FnOnce(&ChangeView<'_>) -> StaticOutput,
) -> StaticRun {
    let began = Instant::now();
    let outcome = catch_unwind(AssertUnwindSafe(|| review(change).limited()))
        .map_err(|panic| panic_message(&*panic));
    let files: Vec<String> = change.files.iter().map(|file| file.path.clone()).collect();
    let unread = match needs {
        ReviewInput::Project => without_project(change, &files),
        ReviewInput::Diff => Vec::new(),
    };
    StaticRun { name, files, unread, outcome, took: began.elapsed() }
}

/// All files count as unread if only the diff is available.
fn without_project(change: &ChangeView<'_>, files: &[String]) -> Vec<(String, String)> {
    let unread = files.iter().map(|path| (path.clone(), ONLY_A_DIFF.to_owned()));
    unread.filter(|_| change.project.is_none()).collect()
}

/// Findings of one reviewer so far, by file.
#[derive(Default)]
struct CollectedFindings {
    looked: BTreeMap<usize, FileFindings>,
    unread: BTreeMap<usize, String>,
    took: Duration,
}

fn run_per_file(change: &ChangeView<'_>, reviewers: &[&dyn FileReviewer]) -> Vec<StaticRun> {
    let wanted: Vec<(usize, &ChangedFile)> = (0..)
        .zip(change.files)
        .filter(|(_, file)| reviewers.iter().any(|reviewer| handles(*reviewer, file)))
        .collect();
    let next = AtomicUsize::new(0);
    let collected: Vec<Mutex<CollectedFindings>> =
        reviewers.iter().map(|_| Mutex::default()).collect();
    let workers = thread::available_parallelism().map_or(1, usize::from);
    let workers = workers.min(WORKERS_MAX).min(wanted.len());
    thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while let Some((at, file)) = wanted.get(next.fetch_add(1, Ordering::Relaxed)) {
                    review_file(change, *at, file, reviewers, &collected);
                }
            });
        }
    });
    let collected = collected
        .into_iter()
        .map(|collected| collected.into_inner().unwrap_or_else(PoisonError::into_inner));
    reviewers
        .iter()
        .zip(collected)
        .map(|(it, collected)| finish_run(*it, change, collected))
        .collect()
}

/// A deleted file has no text to check.
fn handles(reviewer: &dyn FileReviewer, file: &ChangedFile) -> bool {
    file.new_path().is_some() && reviewer.handles(file)
}

fn review_file(
    change: &ChangeView<'_>,
    at: usize,
    file: &ChangedFile,
    reviewers: &[&dyn FileReviewer],
    collected: &[Mutex<CollectedFindings>],
) {
    let texts = change
        .project
        .ok_or(ONLY_A_DIFF.to_owned())
        .and_then(|project| file_texts(project, file))
        .and_then(|texts| match &texts {
            [_, None] if is_there(change, &file.path) => Err(BINARY_FILE.to_owned()),
            [_, Some(_) | None] => Ok(texts),
        });
    let old_path = file.old_path.as_deref().unwrap_or(&file.path);
    // One context for all reviewers, so that each text is parsed once.
    let texts = match texts {
        Ok(texts) => texts,
        Err(why) => {
            for (reviewer, collected) in reviewers.iter().zip(collected) {
                if handles(*reviewer, file) {
                    lock(collected).unread.insert(at, why.clone());
                }
            }
            return;
        }
    };
    let [old, new] = &texts;
    let part = match [old, new] {
        [Some(old), Some(new)] => {
            changed_statements::changed_text(&file.path, old_path, [old, new])
        }
        [None, _] | [_, None] => None,
    };
    let old = old.as_deref().map(|text| SourceText::new(old_path, text));
    let new = new.as_deref().map(|text| SourceText::new(&file.path, text));
    let part = part.as_deref().map(|text| SourceText::new(&file.path, text));
    let ctx = FileContext { change, file, old, new, touched_text: part };
    for (reviewer, collected) in reviewers.iter().zip(collected) {
        if !handles(*reviewer, file) {
            continue;
        }
        let began = Instant::now();
        let outcome = catch_unwind(AssertUnwindSafe(|| reviewer.review(&ctx)));
        let mut collected = lock(collected);
        collected.took += began.elapsed();
        match outcome {
            Ok(looked) => drop(collected.looked.insert(at, looked)),
            Err(panic) => drop(collected.unread.insert(at, panic_message(&*panic))),
        }
    }
}

fn is_there(change: &ChangeView<'_>, path: &str) -> bool {
    change.project.is_some_and(|project| matches!(project.file(Side::New, path), Ok(Some(_))))
}

fn lock(collected: &Mutex<CollectedFindings>) -> std::sync::MutexGuard<'_, CollectedFindings> {
    collected.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The texts before and after the change; `None` if there is no file or git treats it as binary.
fn file_texts(project: &dyn Project, file: &ChangedFile) -> Result<[Option<String>; 2], String> {
    let text = |side, path: Option<&str>| -> Result<Option<String>, String> {
        let bytes = path.map(|path| project.file(side, path)).transpose()?.flatten();
        Ok(bytes.and_then(crate::source::text))
    };
    Ok([text(Side::Old, file.old_path.as_deref())?, text(Side::New, file.new_path())?])
}

/// Combines the findings of a reviewer in file order.
fn finish_run(
    reviewer: &dyn FileReviewer,
    change: &ChangeView<'_>,
    collected: CollectedFindings,
) -> StaticRun {
    let path = |at: usize| change.files.get(at).map(|file| file.path.clone()).unwrap_or_default();
    let files = change.files.iter().filter(|file| handles(reviewer, file));
    let (mut found, mut notes): (Vec<FindingDraft>, Vec<String>) = (Vec::new(), Vec::new());
    for looked in collected.looked.into_values() {
        found.extend(looked.findings);
        notes.extend(looked.notes);
    }
    let returned = StaticOutput {
        findings: found.into_iter().map(FindingDraft::into_finding).collect(),
        notes,
    };
    StaticRun {
        name: reviewer.name(),
        files: files.map(|file| file.path.clone()).collect(),
        unread: collected.unread.into_iter().map(|(at, why)| (path(at), why)).collect(),
        outcome: Ok(returned.limited()),
        took: collected.took,
    }
}

fn panic_message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
    format!("crashed: {text}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Fixture;

    struct Crashes;

    impl FileReviewer for Crashes {
        fn name(&self) -> &'static str {
            "syntax"
        }

        fn handles(&self, _: &ChangedFile) -> bool {
            true
        }

        fn review(&self, ctx: &FileContext<'_>) -> FileFindings {
            let new = ctx.new.as_ref().unwrap();
            assert!(!new.text.contains("crash"), "out of bounds");
            FileFindings { notes: vec![new.text.to_owned()], ..FileFindings::default() }
        }
    }

    #[test]
    fn panic_on_one_file_skips_only_that_file() {
        let fixture = Fixture::new("//- head\n//- a.py\ncrash\n//- b.py\nx\n");
        let run = fixture.with(|change| run_per_file(change, &[&Crashes])).remove(0);
        assert_eq!(run.files, ["a.py", "b.py"]);
        assert_eq!(run.unread, [("a.py".to_owned(), "crashed: out of bounds".to_owned())]);
        assert_eq!(run.outcome.unwrap().notes, ["x\n"]);
    }

    #[test]
    fn invalid_utf8_is_replaced() {
        struct Latin;

        impl Project for Latin {
            fn file(&self, _: Side, path: &str) -> Result<Option<Vec<u8>>, String> {
                let text: &[u8] = if path == "a.py" { b"x = 'caf\xe9'\n" } else { b"\xff\xfex\0" };
                Ok(Some(text.to_vec()))
            }

            fn paths(&self, _: Side) -> Result<&[String], String> {
                Ok(&[])
            }

            fn search(&self, _: Side, _: &[&str], _: usize) -> Result<crate::SearchHits, String> {
                Ok(crate::SearchHits::default())
            }
        }

        let file = |path: &str| ChangedFile {
            path: path.to_owned(),
            has_lines: true,
            ..ChangedFile::default()
        };
        let read = |path| file_texts(&Latin, &file(path)).unwrap();
        assert_eq!(read("a.py"), [None, Some("x = 'caf\u{fffd}'\n".to_owned())]);
        assert_eq!(read("b.py"), [None, None]);
    }

    #[test]
    fn diff_without_repository_leaves_files_unread() {
        let file = |path: &str| ChangedFile {
            path: path.to_owned(),
            has_lines: true,
            ..ChangedFile::default()
        };
        let files = [file("a.py"), file("b.png")];
        let runs = review(&ChangeView::new(&files, &files, None), &PatternRules::default());
        let shown = runs.iter().map(|run| {
            let unread: Vec<&str> = run.unread.iter().map(|(path, _)| path.as_str()).collect();
            format!("{}: {} of {}\n", run.name, unread.join(" "), run.files.join(" "))
        });
        expect_test::expect![[r#"
            secrets:  of a.py b.png
            syntax: a.py of a.py
            references: a.py b.png of a.py b.png
            leftovers: a.py of a.py
            workflows:  of 
            consistency: a.py b.png of a.py b.png
            patterns: a.py of a.py
        "#]]
        .assert_eq(&shown.collect::<String>());
    }
}
