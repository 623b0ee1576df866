//! `crh eval score`: scores another tool's findings on a suite.

use super::evaluated_reviewers::EvaluatedReviewers;
use super::evaluation_files;
use super::reviews::EvalArm;
use super::suite_reviews::OpenedSuite;
use crate::cli::EvalScoreArgs;
use crate::config::environment::Environment;
use crate::eval::external;
use crate::eval::external::Twins;
use crate::eval::ready_case::ReadyCase;
use crate::failure::Failure;
use crate::ui;
use crate::ui::Verbosity;
use crh_review::eval::{About, Evaluation};
use crh_review::report::Strategy;

pub(super) fn run(args: &EvalScoreArgs, environment: &Environment) -> Result<(), Failure> {
    let opened = OpenedSuite::new(&args.suite, &EvaluatedReviewers::default(), environment)?;
    let about = About {
        tool: args.name.clone(),
        suite: opened.suite.name.clone(),
        suite_hash: opened.suite.hash(),
        ..About::default()
    };
    let arm = EvalArm::Strategy(Strategy::default());
    let rule = evaluation_files::rule(args.match_args.rule, &opened.suite, arm)?;
    let mut evaluation = opened.unreviewed(about, rule, 1);
    let twins = if args.with_twins { Twins::Asked } else { Twins::IfNamed };
    external::fill(&mut evaluation, &args.results, twins)?;
    warn_of_places(&evaluation, &opened);
    let sheet = evaluation_files::sheet(evaluation, &opened, Verbosity::Normal, environment);
    if let Some(out) = &args.out {
        let folder = evaluation_files::folder(Some(out), &opened.suite.name, environment)?;
        evaluation_files::keep(&sheet, &folder)?;
        ui::note(&format!("stored in `{}`", environment.display_path(&folder)));
    }
    evaluation_files::print(&sheet, args.format)
}

/// Warns if reports are about files that the change does not touch: their paths may have another
/// form.
fn warn_of_places(evaluation: &Evaluation, opened: &OpenedSuite) {
    let is_touched = |file: &str, ready: &ReadyCase| {
        let files = ready.diff.files().iter();
        files
            .flat_map(|touched| [Some(&touched.path), touched.old_path.as_ref()])
            .flatten()
            .any(|path| path.shown() == file)
    };
    let cases = evaluation.cases.iter().zip(&opened.ready);
    let strays: Vec<&str> = cases
        .flat_map(|(case, ready)| {
            let reported = case.runs.iter().flat_map(|run| &run.reported);
            reported.map(|it| it.span.file()).filter(|file| !is_touched(file, ready))
        })
        .collect();
    if let Some(first) = strays.first() {
        ui::warn(&format!(
            "{} reports are about files that their change does not touch, such as `{first}`; paths must be relative to the root of the case",
            strays.len()
        ));
    }
}
