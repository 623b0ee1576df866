//! Outcomes, cost and time of runs, including twins.

use super::{EffortSums, RunCounts};
use crate::eval::bootstrap::rounded;
use crate::eval::evaluation::{CaseRun, Ending, Evaluation};

/// Numbers of runs by outcome.
pub(super) fn run_counts(evaluation: &Evaluation) -> RunCounts {
    let mut counts = RunCounts::default();
    for case in &evaluation.cases {
        match case.labels.twin_of {
            Some(_) => counts.twins += 1,
            None => {
                counts.cases += 1;
                counts.clean += u32::from(case.labels.expected.is_empty());
            }
        }
        for run in &case.runs {
            match run.ending {
                Ending::Reviewed => counts.reviewed += 1,
                Ending::Incomplete(_) => counts.incomplete += 1,
                Ending::Failed(_) => counts.failed += 1,
                Ending::NotRun(_) => counts.not_run += 1,
            }
        }
    }
    counts
}

/// Cost and time of all started runs.
pub(in crate::eval) fn effort(evaluation: &Evaluation) -> EffortSums {
    let runs =
        evaluation.cases.iter().flat_map(|case| &case.runs).filter(|run| run.ending.is_started());
    let runs: Vec<_> = runs.collect();
    // Stored numbers can be huge, and the sum must stay finite.
    let sum =
        |part: fn(&CaseRun) -> u64| runs.iter().map(|run| part(run)).fold(0, u64::saturating_add);
    let cost_usd = sum(|run| run.effort.cost_usd.0) as f64 / 1e6;
    let mut latencies: Vec<u64> = runs.iter().map(|run| run.effort.latency_ms).collect();
    latencies.sort_unstable();
    let percentile = |percent: usize| {
        let rank = (latencies.len() * percent).div_ceil(100);
        let latency = latencies.get(rank.saturating_sub(1)).copied().unwrap_or_default();
        rounded(latency as f64 / 1e3)
    };
    EffortSums {
        cost_usd: rounded(cost_usd),
        cost_usd_per_run: rounded(cost_usd / runs.len().max(1) as f64),
        tokens_in: sum(|run| run.effort.tokens.input),
        tokens_out: sum(|run| run.effort.tokens.output),
        tokens_cached: sum(|run| run.effort.tokens.cached),
        llm_calls: sum(|run| run.effort.llm_calls.into()),
        latency_seconds_median: percentile(50),
        latency_seconds_p95: percentile(95),
    }
}
