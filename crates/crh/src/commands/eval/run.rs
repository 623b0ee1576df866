//! `crh eval run`: reviews every case of a suite and scores the reviews.

use std::process::ExitCode;

use anyhow::Context;

use super::evaluated_reviewers::EvaluatedReviewers;
use super::evaluation_files;
use super::judge::JudgeModel;
use super::reviews::{EvalEnding, ReviewBatch, no_model_failure};
use super::suite_reviews::{OpenedSuite, report_file};
use crate::cli::EvalRunArgs;
use crate::config::environment::Environment;
use crate::failure::{Failure, FailureKind, OrFail};
use crate::ui;
use crh_pipeline::run_folder::write_atomic;
use crh_review::eval::Rule;
use crh_review::stable_json;

pub(super) fn run(args: &EvalRunArgs, environment: &Environment) -> Result<ExitCode, Failure> {
    let verbosity = args.review.verbosity.verbosity();
    ui::set_verbosity(verbosity);
    let evaluated = EvaluatedReviewers::from_args(&args.review)?;
    let opened = OpenedSuite::new(&args.suite, &evaluated, environment)?;
    let reviews = ReviewBatch::open(&args.review, &evaluated, environment, no_model_failure)?;
    // Check the judge before any model is paid.
    let judge =
        args.judge.as_deref().map(|name| JudgeModel::open(name, args, &reviews, environment));
    let judge = judge.transpose()?;
    let rule = match judge {
        Some(_) => Rule::Judge,
        None => evaluation_files::rule(args.match_args.rule, &opened.suite, reviews.arm())?,
    };
    // Create the folder only after all input is validated.
    let folder = evaluation_files::folder(args.out.as_deref(), &opened.suite.name, environment)?;
    let mut not_written = None;
    let repeats = args.review.repeat.get();
    let (mut evaluation, end) =
        opened.review(&reviews, repeats, rule, environment, |case, repeat, row| {
            let Some(report) = &row.report else { return };
            let path = report_file(&folder, case, repeat);
            let written = stable_json(report)
                .map_err(std::io::Error::from)
                .and_then(|text| write_atomic(&path, text.as_bytes()));
            if let Err(error) = written {
                not_written.get_or_insert((path, error));
            }
        })?;
    if let Some((path, error)) = not_written {
        return Err(error)
            .with_context(|| format!("writing `{}`", path.display()))
            .or_fail(FailureKind::Usage);
    }
    if end == EvalEnding::Interrupted {
        return Ok(ui::interrupted());
    }
    if let Some(judge) = judge {
        judge.judge(&mut evaluation, reviews.left(), environment)?;
    }
    let ended = evaluation_files::exit_code(evaluation_files::endings(&evaluation));
    let sheet = evaluation_files::sheet(evaluation, &opened, verbosity, environment);
    let kept = evaluation_files::keep(&sheet, &folder);
    // Print the result even if storing it failed.
    evaluation_files::print(&sheet, args.format)?;
    kept?;
    ui::note(&format!(
        "stored in `{}`; open `eval.html` to see every case",
        environment.display_path(&folder)
    ));
    Ok(ended)
}
