//! Runs all built-in reviewers on a change. Reviewers of single files share texts and syntax trees
//! and run on up to 8 cores. The others check the whole change: `secrets` runs first, and
//! `references` and `consistency` run in threads of their own.

use std::any::Any;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
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
use crh_syntax::Language;

/// Maximum threads that review files. More would compete for memory bandwidth.
const WORKERS_MAX: usize = 8;

/// Reason to skip a binary file that git, by its configuration, treats as text.
const BINARY_FILE: &str = "it contains zero bytes and is not UTF-8";

const ONLY_A_DIFF: &str = "only the diff is available";

/// The run of one static reviewer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StaticRun {
    /// Name of the reviewer.
    pub name: &'static str,
    /// Files that the reviewer handles, in diff order, including the skipped ones.
    pub files: Vec<String>,
    /// Files that the reviewer could not check, each with the reason.
    pub skipped_files: Vec<(String, String)>,
    /// Files that the reviewer checked only in part, each with the reason. For example, if a file
    /// cannot be parsed, only checks that need no syntax tree run.
    pub partly_checked_files: Vec<(String, String)>,
    /// Output of the reviewer, or the message of its panic.
    pub outcome: Result<StaticOutput, String>,
    /// Working time, added up over all threads.
    pub duration: Duration,
}

/// Runs the reviewers of [`crate::REVIEWERS`] except `injection`, which needs more than files. If a
/// reviewer panics on a file, only its findings in that file are lost.
pub fn review(change: &ChangeView<'_>, patterns: &PatternRules) -> Vec<StaticRun> {
    let per_file: [&dyn FileReviewer; 4] =
        [&syntax::SyntaxCheck, &leftovers::LeftoverCheck, &workflows::WorkflowCheck, patterns];
    let cached_project = change.project.map(|project| CachedProject::new(project, change));
    let project = cached_project.as_ref().map(|it| it as &dyn Project);
    let change = &ChangeView::new(change.files, change.all_files, project);
    // `references` and `consistency` compare the whole repository before and after, so for them no
    // old file counts as new.
    let [files_as_in_diff, all_as_in_diff] = change.files_as_in_diff();
    let mut change_as_in_diff = ChangeView::new(&files_as_in_diff, &all_as_in_diff, project);
    change_as_in_diff.statements = Arc::clone(&change.statements);
    let change_as_in_diff = &change_as_in_diff;
    thread::scope(|scope| {
        let references = scope.spawn(|| {
            run_on_change(
                "references",
                change_as_in_diff,
                RequiredInput::Project,
                references::review,
            )
        });
        let consistency = scope.spawn(|| {
            run_on_change(
                "consistency",
                change_as_in_diff,
                RequiredInput::Project,
                consistency::review,
            )
        });
        let secrets = run_on_change("secrets", change, RequiredInput::Diff, |change| {
            secrets::review(change.files, change.project)
        });
        let mut runs = run_per_file(change, &per_file);
        runs.push(secrets);
        runs.extend([references.join(), consistency.join()].into_iter().flatten());
        // Sort the runs in the order in which they are shown.
        runs.sort_by_key(|run| crate::REVIEWERS.iter().position(|name| *name == run.name));
        runs
    })
}

/// What a reviewer needs at least. Without the repository, a reviewer that needs `Project` skips all
/// files.
enum RequiredInput {
    Diff,
    Project,
}

/// Runs a reviewer that checks the change as a whole.
fn run_on_change(
    name: &'static str,
    change: &ChangeView<'_>,
    input: RequiredInput,
    review: impl FnOnce(&ChangeView<'_>) -> StaticOutput,
) -> StaticRun {
    let start = Instant::now();
    let outcome = catch_unwind(AssertUnwindSafe(|| review(change).with_limit()))
        .map_err(|panic| panic_message(&*panic));
    let files: Vec<String> = change.files.iter().map(|file| file.path.clone()).collect();
    let skipped_files = match input {
        RequiredInput::Project => files_without_project(change, &files),
        RequiredInput::Diff => Vec::new(),
    };
    StaticRun {
        name,
        files,
        skipped_files,
        partly_checked_files: Vec::new(),
        outcome,
        duration: start.elapsed(),
    }
}

/// All files with the reason for skipping them, if only the diff is available.
fn files_without_project(change: &ChangeView<'_>, files: &[String]) -> Vec<(String, String)> {
    let skipped_files = files.iter().map(|path| (path.clone(), ONLY_A_DIFF.to_owned()));
    skipped_files.filter(|_| change.project.is_none()).collect()
}

/// Results of one reviewer so far, by index of the file.
#[derive(Default)]
struct CollectedFindings {
    by_file: BTreeMap<usize, FileFindings>,
    skip_reasons: BTreeMap<usize, String>,
    parse_failures: BTreeMap<usize, String>,
    duration: Duration,
}

fn run_per_file(change: &ChangeView<'_>, reviewers: &[&dyn FileReviewer]) -> Vec<StaticRun> {
    let files: Vec<FileToReview<'_>> = (0..)
        .zip(change.files)
        .map(|(index, file)| FileToReview { index, file, language: change.language(file) })
        .collect();
    let handled_files: Vec<&FileToReview<'_>> = files
        .iter()
        .filter(|file| reviewers.iter().any(|reviewer| file.is_handled_by(*reviewer)))
        .collect();
    let next_file = AtomicUsize::new(0);
    let collected: Vec<Mutex<CollectedFindings>> =
        reviewers.iter().map(|_| Mutex::default()).collect();
    let workers = thread::available_parallelism().map_or(1, usize::from);
    let workers = workers.min(WORKERS_MAX).min(handled_files.len());
    thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while let Some(file) = handled_files.get(next_file.fetch_add(1, Ordering::Relaxed))
                {
                    review_file(change, file, reviewers, &collected);
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
        .map(|(it, collected)| finish_run(*it, &files, collected))
        .collect()
}

/// A file of the change, with its index and language.
struct FileToReview<'c> {
    index: usize,
    file: &'c ChangedFile,
    language: Option<Language>,
}

impl FileToReview<'_> {
    /// Whether a reviewer handles the file. A deleted file has no text to check.
    fn is_handled_by(&self, reviewer: &dyn FileReviewer) -> bool {
        self.file.new_path().is_some() && reviewer.handles(self.file, self.language)
    }
}

fn review_file(
    change: &ChangeView<'_>,
    file_to_review: &FileToReview<'_>,
    reviewers: &[&dyn FileReviewer],
    collected: &[Mutex<CollectedFindings>],
) {
    let FileToReview { index: file_index, file, language } = *file_to_review;
    let texts = change
        .project
        .ok_or(ONLY_A_DIFF.to_owned())
        .and_then(|project| file_texts(project, file))
        .and_then(|texts| match &texts {
            [_, None] if file_exists(change, &file.path) => Err(BINARY_FILE.to_owned()),
            [_, Some(_) | None] => Ok(texts),
        });
    let old_path = file.old_path.as_deref().unwrap_or(&file.path);
    let texts = match texts {
        Ok(texts) => texts,
        Err(why) => {
            for (reviewer, collected) in reviewers.iter().zip(collected) {
                if file_to_review.is_handled_by(*reviewer) {
                    lock(collected).skip_reasons.insert(file_index, why.clone());
                }
            }
            return;
        }
    };
    let [old, new] = &texts;
    let touched_text = match [old, new] {
        [Some(old), Some(new)] => {
            changed_statements::touched_text(&change.statements, &file.path, old_path, [old, new])
        }
        [None, _] | [_, None] => None,
    };
    let old = old.as_deref().map(|text| SourceText::new(old_path, text));
    let new = new.as_deref().map(|text| SourceText::new(&file.path, text));
    let touched_text =
        touched_text.as_deref().map(|text| SourceText::with_language(&file.path, text, language));
    // All reviewers share one context, so that each text is parsed once.
    let ctx = FileContext { change, file, old, new, touched_text };
    for (reviewer, collected) in reviewers.iter().zip(collected) {
        if !file_to_review.is_handled_by(*reviewer) {
            continue;
        }
        let start = Instant::now();
        let outcome = catch_unwind(AssertUnwindSafe(|| reviewer.review(&ctx)));
        let mut collected = lock(collected);
        collected.duration += start.elapsed();
        match outcome {
            Ok(file_findings) => drop(collected.by_file.insert(file_index, file_findings)),
            Err(panic) => drop(collected.skip_reasons.insert(file_index, panic_message(&*panic))),
        }
    }
    let parse_failure =
        [&ctx.new, &ctx.old].into_iter().flatten().find_map(SourceText::parse_failure);
    if let Some(why) = parse_failure {
        for (reviewer, collected) in reviewers.iter().zip(collected) {
            if file_to_review.is_handled_by(*reviewer) {
                lock(collected).parse_failures.insert(file_index, why.to_string());
            }
        }
    }
}

fn file_exists(change: &ChangeView<'_>, path: &str) -> bool {
    change.project.is_some_and(|project| matches!(project.file(Side::New, path), Ok(Some(_))))
}

fn lock(collected: &Mutex<CollectedFindings>) -> std::sync::MutexGuard<'_, CollectedFindings> {
    collected.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The texts before and after the change. `None` if the file does not exist on that side or is
/// binary.
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
    files: &[FileToReview<'_>],
    collected: CollectedFindings,
) -> StaticRun {
    let path = |file_index: usize| {
        files.get(file_index).map(|it| it.file.path.clone()).unwrap_or_default()
    };
    let handled_files = files.iter().filter(|it| it.is_handled_by(reviewer));
    let (mut drafts, mut notes): (Vec<FindingDraft>, Vec<String>) = (Vec::new(), Vec::new());
    let mut partly_checked = collected.parse_failures;
    for (file_index, file_findings) in collected.by_file {
        if let Some(why) = file_findings.abort_reason {
            partly_checked.entry(file_index).or_insert(why);
        }
        drafts.extend(file_findings.findings);
        notes.extend(file_findings.notes);
    }
    let output = StaticOutput {
        findings: drafts.into_iter().map(FindingDraft::into_finding).collect(),
        notes,
    };
    let with_paths = |reasons: BTreeMap<usize, String>| {
        reasons.into_iter().map(|(file_index, why)| (path(file_index), why)).collect()
    };
    StaticRun {
        name: reviewer.name(),
        files: handled_files.map(|it| it.file.path.clone()).collect(),
        skipped_files: with_paths(collected.skip_reasons),
        partly_checked_files: with_paths(partly_checked),
        outcome: Ok(output.with_limit()),
        duration: collected.duration,
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

        fn handles(&self, _: &ChangedFile, _: Option<Language>) -> bool {
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
        assert_eq!(run.skipped_files, [("a.py".to_owned(), "crashed: out of bounds".to_owned())]);
        assert_eq!(run.outcome.unwrap().notes, ["x\n"]);
    }

    #[test]
    fn file_that_is_not_parsed_is_partly_checked() {
        let angles = "a<".repeat(3_000);
        let indents: String =
            (0..600).map(|n| format!("{}# x\n{}if x:\n", " ".repeat(n), " ".repeat(n))).collect();
        let fixture = Fixture::new(&format!(
            "//- head\n//- a.ts\n// {angles}\ndebugger;\n//- b.py\n{indents}\n//- c.py\nx = 1\n"
        ));
        let runs = fixture.with(|change| review(change, &PatternRules::default()));
        for name in ["syntax", "leftovers", "patterns"] {
            let run = runs.iter().find(|run| run.name == name).unwrap();
            let paths: Vec<&str> =
                run.partly_checked_files.iter().map(|(path, _)| path.as_str()).collect();
            assert_eq!(paths, ["a.ts", "b.py"], "{name}");
        }
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
    fn diff_without_repository_skips_files() {
        let file = |path: &str| ChangedFile {
            path: path.to_owned(),
            has_lines: true,
            ..ChangedFile::default()
        };
        let files = [file("a.py"), file("b.png")];
        let runs = review(&ChangeView::new(&files, &files, None), &PatternRules::default());
        let shown = runs.iter().map(|run| {
            let skipped: Vec<&str> =
                run.skipped_files.iter().map(|(path, _)| path.as_str()).collect();
            format!("{}: {} of {}\n", run.name, skipped.join(" "), run.files.join(" "))
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
