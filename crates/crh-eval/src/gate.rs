//! Compares an evaluation with a baseline, which is a stored earlier evaluation.

use std::path::Path;

use anyhow::Context;

use crate::evaluation_files::{endings, is_missing};
use crate::host::EvalHost;
use crh_pipeline::failure::{Failure, FailureKind, OrFail};
use crh_pipeline::run_folder::write_atomic;
use crh_review::eval::{Evaluation, compare, regressions, score};
use crh_review::stable_json;

/// An evaluation compared with its baseline.
pub struct GateResult {
    /// The comparison for people.
    pub text: String,
    /// Whether something is worse than in the baseline.
    pub has_regression: bool,
}

impl GateResult {
    /// Compares the cases that both evaluations have. A case of the baseline that cannot be compared
    /// any more is a regression.
    pub fn new(
        before: &Evaluation,
        after: &Evaluation,
        host: &dyn EvalHost,
    ) -> Result<Self, Failure> {
        let compared = compare(before, after).cases;
        if compared == 0 {
            return Err(Failure::usage(
                "no case of the baseline can be compared with the reviewed suite",
            )
            .hint("write a baseline for this suite with `--write-baseline`"));
        }
        warn_of_differences(before, after, host);
        let worse = regressions(before, after);
        let quality = score(after).quality;
        let mut text = format!(
            "new evaluation: {} of {} expected issues found, {} reported, {} of them on clean changes\n",
            quality.matched, quality.expected, quality.reported, quality.clean_reported
        );
        if worse.is_empty() {
            let cases =
                if compared == 1 { "1 case".to_owned() } else { format!("{compared} cases") };
            text.push_str(&format!("no regression in the {cases} that both evaluations have\n"));
        }
        for regression in &worse {
            text.push_str(&format!("worse: {}\n", regression.what));
            for case in &regression.cases {
                text.push_str(&format!("  {case}\n"));
            }
        }
        Ok(Self { text, has_regression: !worse.is_empty() })
    }
}

/// Writes the baseline without values that differ between runs or that no comparison reads.
pub fn write_baseline(path: &Path, mut evaluation: Evaluation) -> Result<(), Failure> {
    if endings(&evaluation).any(is_missing) {
        return Err(Failure::usage("cannot write a baseline: not every case was reviewed")
            .hint("the rows above say why; finished cases are not reviewed again"));
    }
    for case in &mut evaluation.cases {
        case.labels.known_bad.clear();
        for run in &mut case.runs {
            run.effort.latency_ms = 0;
            run.summary.clear();
            run.reported.iter_mut().for_each(|reported| reported.evidence.clear());
            run.funnel = None;
        }
    }
    let text = stable_json(&evaluation).or_fail(FailureKind::Bug)?;
    write_atomic(path, text.as_bytes())
        .with_context(|| format!("cannot write `{}`", path.display()))
        .or_fail(FailureKind::Usage)
        .map_err(|failure| failure.hint("`--baseline FILE` needs an existing, writable folder"))
}

/// Warns if the two evaluations were made with different settings.
fn warn_of_differences(before: &Evaluation, after: &Evaluation, host: &dyn EvalHost) {
    let (before, after) = (&before.about, &after.about);
    let reviewers = [before, after].map(|about| about.reviewers.join(","));
    for (what, before, after) in [
        ("tool", &before.tool, &after.tool),
        ("strategy", &before.strategy, &after.strategy),
        ("reviewers", &reviewers[0], &reviewers[1]),
        ("model", &before.model, &after.model),
        ("budget", &before.budget, &after.budget),
        ("prompts", &before.prompt_version, &after.prompt_version),
    ] {
        if before != after {
            host.warn(&format!("the baseline differs in its {what}: `{before}`, now `{after}`"));
        }
    }
}
