//! Runs that did not review all of their change. Every rendering must mention them.

use super::figures::count;
use crate::eval::scores::RunCounts;
use crate::eval::{Ending, Evaluation};

/// Maximum number of listed runs.
const LISTED_MAX: usize = 20;

/// An incomplete, failed or missing run.
pub(super) struct RunProblem<'a> {
    /// Kind of problem.
    pub(super) state: &'static str,
    /// The case.
    pub(super) case: &'a str,
    /// Which run of the case, such as `run 2 of 3`.
    pub(super) run: Option<String>,
    /// Reason.
    pub(super) reason: &'a str,
}

/// Display name of an ending.
pub(super) fn ending_word(ending: &Ending) -> &'static str {
    match ending {
        Ending::Reviewed => "reviewed",
        Ending::Incomplete(_) => "incomplete",
        Ending::Failed(_) => "failed",
        Ending::NotRun(_) => "not run",
    }
}

/// Why a run is not complete.
pub(super) fn ending_reason(ending: &Ending) -> Option<&str> {
    match ending {
        Ending::Reviewed => None,
        Ending::Incomplete(reason) | Ending::Failed(reason) | Ending::NotRun(reason) => {
            Some(reason)
        }
    }
}

/// The listed runs, the worst first, and the number of the others.
pub(super) fn listed_problems(evaluation: &Evaluation) -> (Vec<RunProblem<'_>>, usize) {
    let mut problems: Vec<(u8, RunProblem<'_>)> = Vec::new();
    for case in &evaluation.cases {
        for (index, run) in case.runs.iter().enumerate() {
            let rank = match run.ending {
                Ending::Reviewed => continue,
                Ending::Failed(_) => 0,
                Ending::NotRun(_) => 1,
                Ending::Incomplete(_) => 2,
            };
            let run_count = case.runs.len();
            let problem = RunProblem {
                state: ending_word(&run.ending),
                case: &case.labels.id,
                run: (run_count > 1).then(|| format!("run {} of {run_count}", index + 1)),
                reason: ending_reason(&run.ending).unwrap_or_default(),
            };
            problems.push((rank, problem));
        }
    }
    problems.sort_by_key(|(rank, _)| *rank);
    let omitted = problems.len().saturating_sub(LISTED_MAX);
    let listed = problems.into_iter().take(LISTED_MAX).map(|(_, problem)| problem);
    (listed.collect(), omitted)
}

/// Numbers of runs that did not review all of their change, by ending; `None` if there are none.
pub(super) fn problem_counts(runs: &RunCounts) -> Option<String> {
    let endings =
        [(runs.failed, "failed"), (runs.not_run, "not run"), (runs.incomplete, "incomplete")];
    let endings = endings.iter().filter(|(number, _)| *number > 0);
    let endings: Vec<String> = endings.map(|(number, word)| format!("{number} {word}")).collect();
    (!endings.is_empty()).then(|| format!("Not every case was reviewed: {}", endings.join(", ")))
}

/// Number of cases, and runs by outcome.
pub(super) fn runs_line(runs: &RunCounts) -> String {
    let RunCounts { cases, clean, twins, reviewed, incomplete, failed, not_run } = *runs;
    let twins = match twins {
        0 => String::new(),
        twins => format!(", plus {}", count(twins as usize, "reversed change")),
    };
    format!(
        "{}, {clean} of them clean{twins}. Runs: {reviewed} reviewed, {incomplete} incomplete, {failed} failed, \
         {not_run} not run.",
        count(cases as usize, "case"),
    )
}
