//! `crh eval score`: scores another tool's findings on a suite.

use super::host::CommandHost;
use super::{print, suite_choice};
use crate::cli::EvalScoreArgs;
use crate::config::environment::{Environment, PATH};
use crate::failure::Failure;
use crate::ui::Verbosity;
use crate::{input, ui};
use crh_eval::{
    EvalArm, EvaluatedReviewers, OpenedSuite, Twins, create_folder, fill, rule,
    score_with_baselines, write_files,
};
use crh_review::report::Strategy;

pub(super) fn run(args: &EvalScoreArgs, environment: &Environment) -> Result<(), Failure> {
    let host = CommandHost::new(environment, Verbosity::Normal);
    let choice = suite_choice(&args.suite, environment)?;
    let opened = OpenedSuite::new(&choice, &EvaluatedReviewers::default(), &host)?;
    let arm = EvalArm::Strategy(Strategy::default());
    let rule = rule(args.match_args.rule(), &opened, arm, &host)?;
    let mut evaluation = opened.by_tool(&args.name, rule);
    let twins = if args.with_twins { Twins::Asked } else { Twins::IfNamed };
    let (name, bytes) = (input::display_name(&args.results), input::bytes(&args.results)?);
    fill(&mut evaluation, (&name, &bytes), twins, &opened, &host)?;
    let sheet = score_with_baselines(evaluation, &opened, environment.variable(PATH), &host);
    if let Some(out) = &args.out {
        let folder = create_folder(Some(out), &environment.folder, opened.name(), &host)?;
        write_files(&sheet, &folder)?;
        ui::note(&format!("stored in `{}`", environment.display_path(&folder)));
    }
    print(&sheet, args.format)
}
