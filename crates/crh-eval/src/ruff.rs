//! ruff as a reviewer of the Python cases of a suite, to compare its score with that of crh. Ruff
//! sees each file alone and knows nothing of the change. Invariant: a case that ruff did not check
//! counts as not run or failed, never as run without findings.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use super::case::{Case, CaseSource};
use super::parallel::run_parallel;
use super::ready_case::ReadyCase;
use crh_lint::ruff::{Ruff, RuffError, RuffFinding};
use crh_review::eval::{Ending, Evaluation, Reported, Span, without_reports};
use crh_review::finding::{Category, Side};

/// Name in the table of scores. It says that the numbers cover fewer cases.
pub(crate) const NAME: &str = "ruff (Python only)";
/// Reviewer name in reports.
const REVIEWER: &str = "ruff";
const LANGUAGE: &str = "python";

/// Changed Python files of a case.
pub(crate) struct PythonCase<'a> {
    id: &'a str,
    files: Vec<PythonFile<'a>>,
}

struct PythonFile<'a> {
    path: &'a str,
    old: Option<&'a [u8]>,
    new: &'a [u8],
}

/// Result of ruff on a suite.
pub(crate) struct RuffResult {
    /// The same cases with ruff's reports. Cases without a changed Python file whose whole text is
    /// known are marked as not run, and cases after a timeout as failed.
    pub(crate) evaluation: Evaluation,
    /// Number of cases that ruff had to check.
    pub(crate) all: usize,
    /// Number of these that failed.
    pub(crate) failed: usize,
    /// Reason of the first failure.
    pub(crate) why: Option<String>,
}

/// Python cases with a changed Python file whose whole text is known.
pub(crate) fn python_cases<'a>(cases: &'a [Case], ready: &'a [ReadyCase]) -> Vec<PythonCase<'a>> {
    let python = cases.iter().zip(ready).filter(|(case, _)| case.language == LANGUAGE);
    python
        .filter_map(|(case, ready)| match &case.source {
            CaseSource::Files { base, head } => {
                let changed = ready.diff.files().iter().filter_map(|file| {
                    let path = std::str::from_utf8(file.path.as_bytes()).ok()?;
                    let old = file.old_path.as_ref().unwrap_or(&file.path);
                    let old = std::str::from_utf8(old.as_bytes()).ok()?;
                    let (path, new) = head.get_key_value(path)?;
                    let old = base.get(old).map(Vec::as_slice);
                    path.ends_with(".py").then_some(PythonFile { path, old, new })
                });
                let files: Vec<PythonFile<'_>> = changed.collect();
                (!files.is_empty()).then_some(PythonCase { id: &case.id, files })
            }
            CaseSource::Commits { .. } | CaseSource::Diff(_) => None,
        })
        .collect()
}

/// Runs ruff on the cases of an evaluation, on the given number of threads.
pub(crate) fn run_ruff(
    ruff: &Ruff,
    evaluation: &Evaluation,
    cases: &[PythonCase<'_>],
    threads: usize,
) -> RuffResult {
    // After one timeout, skip the other cases: ruff would probably hang on them, too.
    let given_up: Mutex<Option<String>> = Mutex::new(None);
    let ask = |case: &PythonCase<'_>| {
        if let Some(why) = given_up.lock().unwrap_or_else(PoisonError::into_inner).clone() {
            return Err(why);
        }
        reports(ruff, case).map_err(|error| {
            let why = error.to_string();
            if matches!(error, RuffError::TooSlow(_)) {
                *given_up.lock().unwrap_or_else(PoisonError::into_inner) = Some(why.clone());
            }
            why
        })
    };
    let checkable: BTreeSet<&str> = cases.iter().map(|case| case.id).collect();
    let mut result =
        RuffResult { evaluation: without_reports(evaluation), all: 0, failed: 0, why: None };
    result.evaluation.about.tool = NAME.to_owned();
    for case in &mut result.evaluation.cases {
        let why = match case.labels.language.as_str() {
            _ if checkable.contains(case.labels.id.as_str()) => continue,
            LANGUAGE => "no whole Python file that changed",
            _ => "not a Python case",
        };
        // Cases that were not run for crh keep their own reason.
        let runs = case.runs.iter_mut().filter(|run| run.ending == Ending::Reviewed);
        runs.for_each(|run| run.ending = Ending::NotRun(why.to_owned()));
    }
    // Skip cases that were not run for crh, so that both have the same cases.
    let cases: Vec<&PythonCase<'_>> =
        cases.iter().filter(|case| result.is_reviewed(case.id)).collect();
    result.all = cases.len();
    run_parallel(
        cases.len(),
        threads,
        |at| Some(ask(cases[at])),
        |at, answer| result.add(cases[at].id, answer),
    );
    result
}

impl RuffResult {
    fn is_reviewed(&self, id: &str) -> bool {
        let mut cases = self.evaluation.cases.iter().filter(|case| case.labels.id == id);
        cases.any(|case| case.runs.iter().any(|run| run.ending == Ending::Reviewed))
    }

    fn add(&mut self, id: &str, answer: Result<Vec<Reported>, String>) {
        let mut cases = self.evaluation.cases.iter_mut();
        let Some(case) = cases.find(|case| case.labels.id == id) else { return };
        let runs = case.runs.iter_mut().filter(|run| run.ending == Ending::Reviewed);
        for run in runs {
            match &answer {
                Ok(reports) => run.reported.clone_from(reports),
                Err(why) => run.ending = Ending::Failed(why.clone()),
            }
        }
        if let Err(why) = answer {
            self.failed += 1;
            self.why.get_or_insert(why);
        }
    }
}

/// New findings in the files of a case.
fn reports(ruff: &Ruff, case: &PythonCase<'_>) -> Result<Vec<Reported>, RuffError> {
    let mut reports = Vec::new();
    for PythonFile { path, old, new } in &case.files {
        let introduced = ruff.introduced(path, *old, new)?;
        reports.extend(introduced.into_iter().filter_map(|found| reported(path, found)));
    }
    Ok(reports)
}

fn reported(path: &str, found: RuffFinding) -> Option<Reported> {
    Some(Reported {
        span: Span::new(path, found.line, found.line, Side::New)?,
        also: Vec::new(),
        category: Some(category(&found.rule)),
        title: found.message,
        text: found.rule,
        evidence: String::new(),
        severity: None,
        confidence: None,
        key: String::new(),
        reviewers: vec![REVIEWER.to_owned()],
    })
}

/// Category of a ruff rule, by its letter prefix.
fn category(rule: &str) -> Category {
    match rule.trim_end_matches(|char: char| char.is_ascii_digit()) {
        "S" => Category::Security,
        "ASYNC" => Category::Concurrency,
        "BLE" => Category::ErrorHandling,
        "PERF" => Category::Performance,
        _ => Category::Bug,
    }
}

#[cfg(test)]
mod tests;
