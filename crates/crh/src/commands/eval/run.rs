//! `crh eval run`: reviews every case of a suite and scores the reviews.

use std::process::ExitCode;

use super::super::models::ModelResolver;
use super::host::CommandHost;
use super::{exit_code, print, review_batch, suite_choice};
use crate::cli::EvalRunArgs;
use crate::config::environment::{Environment, PATH};
use crate::config::keys::RawSettings;
use crate::failure::Failure;
use crate::{config, ui};
use crh_eval::{
    EvalEnding, JudgeModel, OpenedSuite, ReviewBatch, create_folder, endings, rule,
    score_with_baselines, write_files,
};
use crh_review::eval::Rule;

pub(super) fn run(args: &EvalRunArgs, environment: &Environment) -> Result<ExitCode, Failure> {
    let verbosity = args.review.verbosity.verbosity();
    ui::set_verbosity(verbosity);
    let evaluated = review_batch::reviewers(&args.review)?;
    let host = CommandHost::new(environment, verbosity);
    let opened = OpenedSuite::new(&suite_choice(&args.suite, environment)?, &evaluated, &host)?;
    let host = host.inside(opened.folders());
    let no_model = review_batch::no_model_failure;
    let reviews = review_batch::open(&args.review, &evaluated, environment, &host, no_model)?;
    // Check the judge before any model is paid.
    let judge = args.judge.as_deref().map(|name| open_judge(name, args, &reviews, environment));
    let judge = judge.transpose()?;
    let rule = match judge {
        Some(_) => Rule::Judge,
        None => rule(args.match_args.rule(), &opened, reviews.arm, &host)?,
    };
    // Create the folder only after all input is validated.
    let folder = create_folder(args.out.as_deref(), &environment.folder, opened.name(), &host)?;
    let repeats = args.review.repeat.get();
    let (mut evaluation, end) = opened.review(&reviews, repeats, rule, Some(&folder), &host)?;
    if end == EvalEnding::Interrupted {
        return Ok(ui::interrupted());
    }
    if let Some(judge) = judge {
        judge.judge(&mut evaluation, reviews.left(), &host)?;
    }
    let code = exit_code(endings(&evaluation));
    let sheet = score_with_baselines(evaluation, &opened, environment.variable(PATH), &host);
    let written = write_files(&sheet, &folder);
    // Print the result even if storing it failed.
    print(&sheet, args.format)?;
    written?;
    ui::note(&format!(
        "stored in `{}`; open `eval.html` to see every case",
        environment.display_path(&folder)
    ));
    Ok(code)
}

/// Resolves the judge model without calling it.
fn open_judge(
    name: &str,
    args: &EvalRunArgs,
    reviews: &ReviewBatch,
    environment: &Environment,
) -> Result<JudgeModel, Failure> {
    // Do not quote the command line: the address may contain a password.
    let name = name.parse().map_err(|error: crh_llm::ModelNameError| {
        Failure::usage(format!("`--judge`: {error}"))
            .hint("`crh model list` shows providers and models")
    })?;
    let mut flags = RawSettings::default();
    args.review.set_strategy(&mut flags);
    let settings = config::load(environment, None, flags)?;
    let known = ModelResolver::new(&settings, environment)?;
    let model = match reviews.recorder() {
        Some(recorder) => known.open(&name, None)?.with_recorder(recorder),
        None => known.open(&name, args.review.record.as_deref())?,
    };
    let side_by_side = settings.review_side_by_side.value.get();
    Ok(JudgeModel {
        model,
        identity: review_batch::identity(&name, environment)?,
        is_paid: review_batch::is_live(&name),
        redactor: known.redactor(),
        rows: review_batch::kept_rows(&args.review, &settings, environment)?,
        side_by_side: usize::try_from(side_by_side).unwrap_or(usize::MAX),
    })
}
