//! `crh eval gate`: fails if reviews have become worse than a baseline.

use std::process::ExitCode;

use anyhow::Context;

use super::lenses::Lenses;
use super::measured::Opened;
use super::reviews::{End, Reviews};
use super::sheet;
use crate::cli::EvalGateArgs;
use crate::config::environment::Environment;
use crate::failure::{Failure, FailureKind, OrFail};
use crate::ui;
use crh_pipeline::run_folder::write_atomic;
use crh_review::eval::{Evaluation, compare, regressions, score};
use crh_review::stable_json;

pub(super) fn run(args: &EvalGateArgs, environment: &Environment) -> Result<ExitCode, Failure> {
    ui::set_verbosity(args.review.verbosity.verbosity());
    let rule = args.match_args.rule;
    let before = match args.write_baseline {
        true => None,
        // Read the baseline before any model is paid.
        false => Some(sheet::stored(&args.baseline, rule, environment)?),
    };
    let after = match &args.result {
        Some(result) => sheet::stored(result, rule, environment)?,
        None => {
            let lenses = Lenses::of(&args.review)?;
            let opened = Opened::new(&args.suite, &lenses, environment)?;
            let reviews = Reviews::open(&args.review, &lenses, environment)?;
            let repeats = args.review.repeat.get();
            let rule = sheet::rule(rule);
            let (evaluation, end) =
                opened.review(&reviews, repeats, rule, environment, |_, _, _| {})?;
            if end == End::Interrupted {
                return Ok(ui::interrupted());
            }
            evaluation
        }
    };
    match before {
        None if sheet::endings(&after).any(sheet::is_missing) => {
            Err(Failure::usage("cannot write a baseline: not every case was reviewed")
                .hint("the rows above say why; finished cases are not reviewed again"))
        }
        None => write(args, after, environment).map(|()| ExitCode::SUCCESS),
        Some(before) => hold(&before, &after),
    }
}

/// Writes the baseline without values that differ between runs or that no comparison reads.
fn write(
    args: &EvalGateArgs,
    mut evaluation: Evaluation,
    environment: &Environment,
) -> Result<(), Failure> {
    for case in &mut evaluation.cases {
        case.labels.known_bad.clear();
        for run in &mut case.runs {
            run.effort.latency_ms = 0;
            run.summary.clear();
            run.reported.iter_mut().for_each(|reported| reported.evidence.clear());
        }
    }
    let text = stable_json(&evaluation).or_fail(FailureKind::Bug)?;
    let path = environment.folder.join(&args.baseline);
    write_atomic(&path, text.as_bytes())
        .with_context(|| format!("writing `{}`", path.display()))
        .or_fail(FailureKind::Usage)?;
    ui::note(&format!("wrote {}", environment.display_path(&path)));
    Ok(())
}

fn hold(before: &Evaluation, after: &Evaluation) -> Result<ExitCode, Failure> {
    let compared = compare(before, after).cases;
    if compared == 0 {
        return Err(Failure::usage("the baseline has no case in common with the reviewed suite")
            .hint("write a baseline for this suite with `--write-baseline`"));
    }
    warn_of_differences(before, after);
    let worse = regressions(before, after);
    let quality = score(after).quality;
    let mut text = format!(
        "{} of {} expected issues found, {} reported, {} on clean changes\n",
        quality.matched, quality.expected, quality.reported, quality.clean_reported
    );
    if worse.is_empty() {
        let cases = if compared == 1 { "1 case".to_owned() } else { format!("{compared} cases") };
        text.push_str(&format!("no regression in the {cases} that both evaluations have\n"));
    }
    for regression in &worse {
        text.push_str(&format!("worse: {}\n", regression.what));
        for case in &regression.cases {
            text.push_str(&format!("  {case}\n"));
        }
    }
    ui::result_text(&crh_review::escape_invisible(&text))?;
    Ok(if worse.is_empty() { sheet::exit_code(sheet::endings(after)) } else { ExitCode::from(1) })
}

/// Warns if the two evaluations were made with different settings.
fn warn_of_differences(before: &Evaluation, after: &Evaluation) {
    let (before, after) = (&before.about, &after.about);
    let reviewers = [before, after].map(|about| about.reviewers.join(","));
    for (what, before, after) in [
        ("tool", &before.tool, &after.tool),
        ("strategy", &before.strategy, &after.strategy),
        ("set of reviewers", &reviewers[0], &reviewers[1]),
        ("model", &before.model, &after.model),
        ("budget", &before.budget, &after.budget),
        ("prompts", &before.prompt_version, &after.prompt_version),
    ] {
        if before != after {
            ui::warn(&format!(
                "the baseline was made with another {what}: `{before}`, now `{after}`"
            ));
        }
    }
}
