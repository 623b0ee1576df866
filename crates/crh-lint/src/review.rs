//! All built-in reviewers on one change: those that look at one file at a time share its texts and trees, on every core;
//! the others look at the whole change beside them.

use std::any::Any;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::found::Found;
use crate::look::{Look, Looked, Reviewer};
use crate::patterns::Patterns;
use crate::remembered::Remembered;
use crate::source::Source;
use crate::{
    Change, ChangedFile, Project, Returned, consistency, leftovers, references, secrets, syntax,
    touched, workflows,
};
use crh_review::finding::Side;

/// More workers than this wait for memory rather than for each other.
const WORKERS_MAX: usize = 8;

/// Why nothing but the diff of a file was looked at. Somebody has told git to take it for a text.
const NO_TEXT: &str = "it has zero bytes in it, and is no UTF-8";

/// Why nothing but the diff was looked at.
const ONLY_A_DIFF: &str = "there is only a diff";

/// What came of one reviewer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    /// The reviewer's name.
    pub name: &'static str,
    /// The files it looked at, in the order of the change.
    pub files: Vec<String>,
    /// Files that it should have looked at and could not, each with the reason.
    pub unread: Vec<(String, String)>,
    /// What it said, or how it crashed.
    pub outcome: Result<Returned, String>,
    /// How long it was at work.
    pub took: Duration,
}

/// Runs the reviewers of [`crate::REVIEWERS`] on a change, but for `injection`, which looks at more than files. One that crashes
/// is a row like the others; what crashes it at one file costs that file alone.
pub fn review(change: &Change<'_>, patterns: &Patterns) -> Vec<Run> {
    let per_file: [&dyn Reviewer; 4] =
        [&syntax::Syntax, &leftovers::Leftovers, &workflows::Workflows, patterns];
    let remembered = change.project.map(|project| Remembered::new(project, change));
    let project = remembered.as_ref().map(|it| it as &dyn Project);
    let change = &Change::new(change.files, change.all, project);
    thread::scope(|scope| {
        let references =
            scope.spawn(|| whole("references", change, Needs::Project, references::review));
        let consistency =
            scope.spawn(|| whole("consistency", change, Needs::Project, consistency::review));
        let secrets = whole("secrets", change, Needs::Diff, |change| secrets::review(change.files));
        let mut runs = file_by_file(change, &per_file);
        runs.push(secrets);
        runs.extend([references.join(), consistency.join()].into_iter().flatten());
        // In the order in which they are listed everywhere.
        runs.sort_by_key(|run| crate::REVIEWERS.iter().position(|name| *name == run.name));
        runs
    })
}

/// What a reviewer needs to do its work.
enum Needs {
    Diff,
    Project,
}

/// A reviewer that looks at the change as a whole.
fn whole(
    name: &'static str,
    change: &Change<'_>,
    needs: Needs,
    review: impl FnOnce(&Change<'_>) -> Returned,
) -> Run {
    let began = Instant::now();
    let outcome =
        catch_unwind(AssertUnwindSafe(|| review(change).bounded())).map_err(|panic| words(&*panic));
    let files: Vec<String> = change.files.iter().map(|file| file.path.clone()).collect();
    let unread = match needs {
        Needs::Project => without_project(change, &files),
        Needs::Diff => Vec::new(),
    };
    Run { name, files, unread, outcome, took: began.elapsed() }
}

/// What nobody could look at, since there is only a diff.
fn without_project(change: &Change<'_>, files: &[String]) -> Vec<(String, String)> {
    let unread = files.iter().map(|path| (path.clone(), ONLY_A_DIFF.to_owned()));
    unread.filter(|_| change.project.is_none()).collect()
}

/// What one reviewer said about the files so far.
#[derive(Default)]
struct Collected {
    looked: BTreeMap<usize, Looked>,
    unread: BTreeMap<usize, String>,
    took: Duration,
}

fn file_by_file(change: &Change<'_>, reviewers: &[&dyn Reviewer]) -> Vec<Run> {
    let wanted: Vec<(usize, &ChangedFile)> = (0..)
        .zip(change.files)
        .filter(|(_, file)| reviewers.iter().any(|reviewer| wants(*reviewer, file)))
        .collect();
    let next = AtomicUsize::new(0);
    let collected: Vec<Mutex<Collected>> = reviewers.iter().map(|_| Mutex::default()).collect();
    let workers = thread::available_parallelism().map_or(1, usize::from);
    let workers = workers.min(WORKERS_MAX).min(wanted.len());
    thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while let Some((at, file)) = wanted.get(next.fetch_add(1, Ordering::Relaxed)) {
                    one_file(change, *at, file, reviewers, &collected);
                }
            });
        }
    });
    let collected = collected
        .into_iter()
        .map(|collected| collected.into_inner().unwrap_or_else(PoisonError::into_inner));
    reviewers.iter().zip(collected).map(|(it, collected)| run(*it, change, collected)).collect()
}

/// A file that is there no more has no text to look at.
fn wants(reviewer: &dyn Reviewer, file: &ChangedFile) -> bool {
    file.after().is_some() && reviewer.wants(file)
}

fn one_file(
    change: &Change<'_>,
    at: usize,
    file: &ChangedFile,
    reviewers: &[&dyn Reviewer],
    collected: &[Mutex<Collected>],
) {
    let texts = change
        .project
        .ok_or(ONLY_A_DIFF.to_owned())
        .and_then(|project| texts(project, file))
        .and_then(|texts| match &texts {
            [_, None] if is_there(change, &file.path) => Err(NO_TEXT.to_owned()),
            [_, Some(_) | None] => Ok(texts),
        });
    let old_path = file.before.as_deref().unwrap_or(&file.path);
    // One look for all, so that each text is parsed once.
    let texts = match texts {
        Ok(texts) => texts,
        Err(why) => {
            for (reviewer, collected) in reviewers.iter().zip(collected) {
                if wants(*reviewer, file) {
                    locked(collected).unread.insert(at, why.clone());
                }
            }
            return;
        }
    };
    let [old, new] = &texts;
    let part = match [old, new] {
        [Some(old), Some(new)] => touched::text_of(&file.path, old_path, [old, new]),
        [None, _] | [_, None] => None,
    };
    let old = old.as_deref().map(|text| Source::new(old_path, text));
    let new = new.as_deref().map(|text| Source::new(&file.path, text));
    let part = part.as_deref().map(|text| Source::new(&file.path, text));
    let look = Look { change, file, old, new, part };
    for (reviewer, collected) in reviewers.iter().zip(collected) {
        if !wants(*reviewer, file) {
            continue;
        }
        let began = Instant::now();
        let looked = catch_unwind(AssertUnwindSafe(|| reviewer.look(&look)));
        let mut collected = locked(collected);
        collected.took += began.elapsed();
        match looked {
            Ok(looked) => drop(collected.looked.insert(at, looked)),
            Err(panic) => drop(collected.unread.insert(at, words(&*panic))),
        }
    }
}

fn is_there(change: &Change<'_>, path: &str) -> bool {
    change.project.is_some_and(|project| matches!(project.file(Side::New, path), Ok(Some(_))))
}

fn locked(collected: &Mutex<Collected>) -> std::sync::MutexGuard<'_, Collected> {
    collected.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The texts of a file before and after the change; none where there is none, or it is none to git either.
fn texts(project: &dyn Project, file: &ChangedFile) -> Result<[Option<String>; 2], String> {
    let text = |side, path: Option<&str>| -> Result<Option<String>, String> {
        let bytes = path.map(|path| project.file(side, path)).transpose()?.flatten();
        Ok(bytes.and_then(crate::source::text))
    };
    Ok([text(Side::Old, file.before.as_deref())?, text(Side::New, file.after())?])
}

/// A reviewer's rows in the order of the files.
fn run(reviewer: &dyn Reviewer, change: &Change<'_>, collected: Collected) -> Run {
    let path = |at: usize| change.files.get(at).map(|file| file.path.clone()).unwrap_or_default();
    let files = change.files.iter().filter(|file| wants(reviewer, file));
    let (mut found, mut notes): (Vec<Found>, Vec<String>) = (Vec::new(), Vec::new());
    for looked in collected.looked.into_values() {
        found.extend(looked.found);
        notes.extend(looked.notes);
    }
    let returned = Returned { findings: found.into_iter().map(Found::reported).collect(), notes };
    Run {
        name: reviewer.name(),
        files: files.map(|file| file.path.clone()).collect(),
        unread: collected.unread.into_iter().map(|(at, why)| (path(at), why)).collect(),
        outcome: Ok(returned.bounded()),
        took: collected.took,
    }
}

fn words(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
    format!("it crashed: {text}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Fixture;

    struct Crashes;

    impl Reviewer for Crashes {
        fn name(&self) -> &'static str {
            "syntax"
        }

        fn wants(&self, _: &ChangedFile) -> bool {
            true
        }

        fn look(&self, look: &Look<'_>) -> Looked {
            let new = look.new.as_ref().unwrap();
            assert!(!new.text.contains("crash"), "out of bounds");
            Looked { notes: vec![new.text.to_owned()], ..Looked::default() }
        }
    }

    #[test]
    fn a_file_that_crashes_a_reviewer_is_not_read_and_the_others_are() {
        let fixture = Fixture::new("//- head\n//- a.py\ncrash\n//- b.py\nx\n");
        let run = fixture.with(|change| file_by_file(change, &[&Crashes])).remove(0);
        assert_eq!(run.files, ["a.py", "b.py"]);
        assert_eq!(run.unread, [("a.py".to_owned(), "it crashed: out of bounds".to_owned())]);
        assert_eq!(run.outcome.unwrap().notes, ["x\n"]);
    }

    #[test]
    fn a_text_that_is_not_utf_8_is_read_all_the_same() {
        struct Latin;

        impl Project for Latin {
            fn file(&self, _: Side, path: &str) -> Result<Option<Vec<u8>>, String> {
                let text: &[u8] = if path == "a.py" { b"x = 'caf\xe9'\n" } else { b"\xff\xfex\0" };
                Ok(Some(text.to_vec()))
            }

            fn paths(&self, _: Side) -> Result<&[String], String> {
                Ok(&[])
            }

            fn search(&self, _: Side, _: &[&str], _: usize) -> Result<crate::Hits, String> {
                Ok(crate::Hits::default())
            }
        }

        let file = |path: &str| ChangedFile {
            path: path.to_owned(),
            has_lines: true,
            ..ChangedFile::default()
        };
        let read = |path| texts(&Latin, &file(path)).unwrap();
        assert_eq!(read("a.py"), [None, Some("x = 'caf\u{fffd}'\n".to_owned())]);
        assert_eq!(read("b.py"), [None, None]);
    }

    #[test]
    fn without_a_repository_the_files_count_as_unread() {
        let file = |path: &str| ChangedFile {
            path: path.to_owned(),
            has_lines: true,
            ..ChangedFile::default()
        };
        let files = [file("a.py"), file("b.png")];
        let runs = review(&Change::new(&files, &files, None), &Patterns::default());
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
