//! Stores and prints evaluations.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, io};

use anyhow::Context;

use crate::case::Case;
use crate::host::EvalHost;
use crate::reviews::{EvalArm, cores};
use crate::ruff;
use crate::ruff::{RuffResult, run_ruff};
use crate::suite_reviews::OpenedSuite;
use crh_lint::ruff::Ruff;
use crh_pipeline::failure::{Failure, FailureKind, OrFail};
use crh_pipeline::run_folder::{Timestamp, write_atomic};
use crh_review::eval::{
    BaselineCase, Ending, Evaluation, Rule, SCHEMA_VERSION, Sheet, every_hunk, random_lines,
    render, without_reports,
};
use crh_review::stable_json;

/// Findings per change of the random baseline: as many as the best public tools report.
const RANDOM_LINES: usize = 3;
/// Repeats of the random baseline. Its score is then precise to about 0.01 on fifty cases.
const RANDOM_REPEATS: u32 = 20;
const SEED: u64 = 1;

/// Time limit for ruff per file: a thousand times what it needs.
const RUFF_TIME: Duration = Duration::from_secs(10);

/// Default folder of evaluations, relative to the current folder.
const EVALS: &str = ".crh/evals";
const STORED: &str = "eval.json";
pub(crate) const REPORTS: &str = "reports";
/// All files that an evaluation writes.
const OURS: [&str; 4] = [STORED, "eval.md", "eval.html", REPORTS];
/// More evaluations of one suite within a second than this are a bug.
const SAME_SECOND_MAX: u32 = 1_000;

/// Scores an evaluation beside trivial baselines on the same cases. `path` is the search path for
/// ruff.
pub fn score_with_baselines(
    evaluation: Evaluation,
    opened: &OpenedSuite,
    path: Option<&OsStr>,
    host: &dyn EvalHost,
) -> Sheet {
    let changes = opened.ready.iter();
    let changes: Vec<BaselineCase<'_>> =
        changes.map(|case| BaselineCase { id: &case.labels.id, diff: &case.diff }).collect();
    let mut baselines = vec![
        ("reports nothing".to_owned(), without_reports(&evaluation)),
        ("reports every hunk".to_owned(), every_hunk(&evaluation, &changes)),
        (
            format!("reports {RANDOM_LINES} random lines"),
            random_lines(&evaluation, &changes, RANDOM_LINES, RANDOM_REPEATS, SEED),
        ),
    ];
    let by_ruff = by_ruff(&evaluation, opened, path, host);
    baselines.extend(by_ruff.map(|evaluation| (ruff::NAME.to_owned(), evaluation)));
    Sheet::new(evaluation, &baselines)
}

/// The findings of ruff on the same cases. `None` if there are no Python cases, or if ruff is not
/// installed or fails on all of them.
fn by_ruff(
    evaluation: &Evaluation,
    opened: &OpenedSuite,
    path: Option<&OsStr>,
    host: &dyn EvalHost,
) -> Option<Evaluation> {
    let cases = ruff::python_cases(&opened.suite.cases, &opened.ready);
    if cases.is_empty() {
        return None;
    }
    let find = |path| Ruff::find(path, RUFF_TIME);
    let Some(program) = path.and_then(find) else {
        host.detail("ruff is not installed, so it is missing among the baselines");
        return None;
    };
    let RuffResult { evaluation, all, failed, why } =
        run_ruff(&program, evaluation, &cases, cores());
    if let Some(why) = why {
        host.warn(&format!("the ruff baseline misses {failed} of {all} Python cases: {why}"));
    }
    (failed < all).then_some(evaluation)
}

/// Returns a folder that has only an empty folder for reports: the given one, or a new one in
/// `.crh/evals` of `here`.
pub fn create_folder(
    out: Option<&Path>,
    here: &Path,
    suite: &str,
    host: &dyn EvalHost,
) -> Result<PathBuf, Failure> {
    let folder = here.join(out.unwrap_or(Path::new(EVALS)));
    let made = match out {
        Some(_) => clear_folder(&folder).map(|()| folder.clone()),
        None => create_numbered(
            &folder,
            &format!("{}_{suite}", Timestamp::from_system_time(host.now())),
        ),
    };
    let made = made.and_then(|made| fs::create_dir_all(made.join(REPORTS)).map(|()| made));
    made.with_context(|| format!("using `{}`", folder.display()))
        .or_fail(FailureKind::Usage)
        .map_err(|failure| failure.hint("pass another folder with `--out DIR`"))
}

/// Deletes an earlier evaluation from a folder. Fails if the folder has other files.
fn clear_folder(folder: &Path) -> io::Result<()> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries.collect::<io::Result<Vec<_>>>()?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(error),
    };
    let is_ours = |name: &OsStr| OURS.iter().any(|ours| name == *ours);
    if let Some(other) = entries.iter().find(|entry| !is_ours(&entry.file_name())) {
        let name = other.file_name().to_string_lossy().into_owned();
        return Err(io::Error::other(format!(
            "it contains `{name}`, which is not part of an evaluation"
        )));
    }
    for entry in entries {
        match entry.file_type()?.is_dir() {
            true => fs::remove_dir_all(entry.path())?,
            false => fs::remove_file(entry.path())?,
        }
    }
    Ok(())
}

/// Creates a folder with this name, or with the first free number appended. git ignores its
/// contents.
fn create_numbered(evals: &Path, name: &str) -> io::Result<PathBuf> {
    fs::create_dir_all(evals)?;
    fs::write(evals.join(".gitignore"), "*\n")?;
    for number in 1..=SAME_SECOND_MAX {
        let suffix = if number == 1 { String::new() } else { format!("-{number}") };
        let folder = evals.join(format!("{name}{suffix}"));
        match fs::create_dir(&folder) {
            Ok(()) => return Ok(folder),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::new(io::ErrorKind::AlreadyExists, "too many evaluations started in this second"))
}

/// Writes all formats into a folder.
pub fn write_files(sheet: &Sheet, folder: &Path) -> Result<(), Failure> {
    let page = render::html(std::slice::from_ref(sheet), None).or_fail(FailureKind::Bug)?;
    let files = [
        (STORED, stable_json(sheet).or_fail(FailureKind::Bug)?),
        ("eval.md", render::markdown(sheet)),
        ("eval.html", page),
    ];
    for (name, text) in files {
        let path = folder.join(name);
        write_atomic(&path, text.as_bytes())
            .with_context(|| format!("cannot write `{}`", path.display()))
            .or_fail(FailureKind::Usage)?;
    }
    Ok(())
}

/// Loads a stored evaluation by file or folder. `read` reads the file. If `rule` is given, scores
/// it again by that rule.
pub fn load_evaluation(
    place: &Path,
    rule: Option<Rule>,
    read: impl FnOnce(&Path) -> Result<Evaluation, Failure>,
) -> Result<Evaluation, Failure> {
    let path = if place.is_dir() { place.join(STORED) } else { place.to_owned() };
    let hint = "pass the `eval.json` of `crh eval run`, or its folder";
    let mut evaluation = read(&path).map_err(|failure| failure.hint(hint))?;
    if evaluation.schema_version != SCHEMA_VERSION {
        return Err(Failure::usage(format!(
            "`{}` has schema_version {}, but this crh reads {SCHEMA_VERSION}",
            path.display(),
            evaluation.schema_version
        ))
        .hint("run the evaluation again"));
    }
    if let Some(problem) = evaluation.problem() {
        return Err(Failure::usage(format!("`{}`: {problem}", path.display())).hint(hint));
    }
    evaluation.rule = rule.unwrap_or(evaluation.rule);
    Ok(evaluation)
}

/// The given rule for matching reports with expected issues, or the default for the suite and the
/// arm. Expected issues without a line need a comparison of words, and the model alone names no
/// category.
pub fn rule(
    given: Option<Rule>,
    opened: &OpenedSuite,
    arm: EvalArm,
    host: &dyn EvalHost,
) -> Result<Rule, Failure> {
    let has_no_place = |case: &Case| case.expected.iter().any(|issue| issue.spans.is_empty());
    let needs_words = opened.suite.cases.iter().any(has_no_place);
    match (given, arm) {
        (None, _) if needs_words => {
            host.warn(
                "some expected issues have no line, so crh compares words; `--judge MODEL` is more reliable",
            );
            Ok(Rule::Text)
        }
        (Some(Rule::Category | Rule::Family | Rule::FileLine), _) if needs_words => {
            Err(Failure::usage(
                "some expected issues have no line, so crh cannot match findings by line",
            )
            .hint("use `--judge MODEL`, or `--match text`"))
        }
        (Some(rule), _) => Ok(rule),
        (None, EvalArm::Bare) => Ok(Rule::FileLine),
        (None, EvalArm::Strategy(_)) => Ok(Rule::default()),
    }
}

/// How every review ended.
pub fn endings(evaluation: &Evaluation) -> impl Iterator<Item = &Ending> {
    evaluation.cases.iter().flat_map(|case| &case.runs).map(|run| &run.ending)
}

/// Whether a review is missing. A review that its budget cut short is not missing: that is how this
/// reviewer works.
pub fn is_missing(ending: &Ending) -> bool {
    match ending {
        Ending::Failed(_) | Ending::NotRun(_) => true,
        Ending::Reviewed | Ending::Incomplete(_) => false,
    }
}
