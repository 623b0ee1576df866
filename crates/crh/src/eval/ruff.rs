//! What ruff says about the Python cases of a suite: a reviewer that sees each file by itself and knows nothing of the change.
//!
//! Invariant: a case that it was not shown is one that was not run, never one on which it was silent.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use super::case::{Case, Source};
use super::laid_out::LaidOut;
use super::side_by_side::side_by_side;
use crh_lint::ruff::{Ruff, RuffError, RuffFinding};
use crh_review::eval::{Ending, Evaluation, Reported, Span, nothing};
use crh_review::finding::{Category, Side};

/// What it is called among the baselines. Its numbers are of fewer cases than those beside it, and nobody should have to look that up.
pub(crate) const NAME: &str = "ruff (Python only)";
/// Who reported something.
const REVIEWER: &str = "ruff";
const LANGUAGE: &str = "python";

/// The Python files of a case that its change has written.
pub(crate) struct PythonCase<'a> {
    id: &'a str,
    files: Vec<PythonFile<'a>>,
}

struct PythonFile<'a> {
    path: &'a str,
    old: Option<&'a [u8]>,
    new: &'a [u8],
}

/// What it said.
pub(crate) struct SaidByRuff {
    /// The same cases with its reports. Those that it was not shown are not run: ruff reads whole files, and of Python alone.
    pub(crate) evaluation: Evaluation,
    /// How many cases it could not look at.
    pub(crate) failed: usize,
    /// Why not at the first of them.
    pub(crate) why: Option<String>,
}

/// The Python cases of which whole files are known.
pub(crate) fn python_cases<'a>(cases: &'a [Case], laid_out: &'a [LaidOut]) -> Vec<PythonCase<'a>> {
    let python = cases.iter().zip(laid_out).filter(|(case, _)| case.language == LANGUAGE);
    python
        .filter_map(|(case, laid_out)| match &case.source {
            Source::Files { base, head } => {
                let changed = laid_out.diff.files().iter().filter_map(|file| {
                    let path = std::str::from_utf8(file.path.as_bytes()).ok()?;
                    let old = file.old_path.as_ref().unwrap_or(&file.path);
                    let old = std::str::from_utf8(old.as_bytes()).ok()?;
                    let (path, new) = head.get_key_value(path)?;
                    let old = base.get(old).map(Vec::as_slice);
                    path.ends_with(".py").then_some(PythonFile { path, old, new })
                });
                Some(PythonCase { id: &case.id, files: changed.collect() })
            }
            Source::Commits { .. } | Source::Diff(_) => None,
        })
        .collect()
}

/// Asks ruff about the cases of an evaluation, on so many threads.
pub(crate) fn said_by_ruff(
    ruff: &Ruff,
    evaluation: &Evaluation,
    cases: &[PythonCase<'_>],
    threads: usize,
) -> SaidByRuff {
    // One that does not end with one file does not with the next: nobody waits for all of them.
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
    let shown: BTreeSet<&str> = cases.iter().map(|case| case.id).collect();
    let mut said = SaidByRuff { evaluation: nothing(evaluation), failed: 0, why: None };
    said.evaluation.about.tool = NAME.to_owned();
    for case in &mut said.evaluation.cases {
        let why = match case.labels.language.as_str() {
            _ if shown.contains(case.labels.id.as_str()) => continue,
            LANGUAGE => "its files are not known",
            _ => "it is not in Python",
        };
        // What was not run for the tool keeps its own reason.
        let runs = case.runs.iter_mut().filter(|run| run.ending == Ending::Reviewed);
        runs.for_each(|run| run.ending = Ending::NotRun(why.to_owned()));
    }
    side_by_side(
        cases.len(),
        threads,
        |at| Some(ask(&cases[at])),
        |at, answer| {
            said.add(cases[at].id, answer);
        },
    );
    said
}

impl SaidByRuff {
    /// Adds what was said about a case.
    fn add(&mut self, id: &str, answer: Result<Vec<Reported>, String>) {
        let mut cases = self.evaluation.cases.iter_mut();
        let Some(case) = cases.find(|case| case.labels.id == id) else { return };
        // What was not run for the tool is not for ruff either, so that both have the same cases.
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

/// What is new in the files of a case.
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

/// What kind of trouble a rule is about, by the letters before its number.
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
