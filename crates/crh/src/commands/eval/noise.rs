//! `crh eval noise`: counts findings on the last commits of a repository.

use std::process::ExitCode;

use super::host::CommandHost;
use super::{exit_code, review_batch};
use crate::cli::{EvalNoiseArgs, NoiseFormatArg};
use crate::config::environment::Environment;
use crate::failure::{Failure, FailureKind, OrFail};
use crate::ui;
use crh_eval::{CommitReviews, last_commits, review_commits};
use crh_git::Repository;
use crh_review::eval::Noise;
use crh_review::stable_json;

pub(super) fn run(args: &EvalNoiseArgs, environment: &Environment) -> Result<ExitCode, Failure> {
    let verbosity = args.review.verbosity.verbosity();
    ui::set_verbosity(verbosity);
    let folder = environment.folder.join(&args.repo);
    let repository = Repository::discover(&folder)
        .or_fail(FailureKind::Usage)
        .map_err(|failure| failure.hint("pass a folder inside a repository"))?;
    let commits = last_commits(&repository, args.last.get().into())?;
    let evaluated = review_batch::reviewers(&args.review)?;
    // User settings must not influence the measurement.
    let home = tempfile::tempdir().or_fail(FailureKind::External)?;
    let host = CommandHost::new(environment, verbosity).inside((folder, home.path()));
    let no_model = review_batch::no_model_failure;
    let reviews = review_batch::open(&args.review, &evaluated, environment, &host, no_model)?;
    let repeats = args.review.repeat.get();
    let Some(CommitReviews { runs, endings }) = review_commits(&commits, &reviews, repeats, &host)?
    else {
        return Ok(ui::interrupted());
    };
    let noise = Noise::new(&runs, args.sample, args.seed);
    ui::result_text(&match args.format {
        NoiseFormatArg::Text => noise.text(),
        NoiseFormatArg::Markdown => noise.markdown(),
        NoiseFormatArg::Json => stable_json(&noise).or_fail(FailureKind::Bug)?,
    })?;
    Ok(exit_code(endings.iter()))
}
