//! `crh eval score`: scores another tool's findings on a suite.

use super::lenses::Lenses;
use super::measured::Opened;
use super::reviews::Arm;
use super::sheet;
use crate::cli::EvalScoreArgs;
use crate::config::environment::Environment;
use crate::eval::external;
use crate::eval::external::Twins;
use crate::eval::laid_out::LaidOut;
use crate::failure::Failure;
use crate::ui;
use crate::ui::Verbosity;
use crh_review::eval::{About, Evaluation};
use crh_review::report::Strategy;

pub(super) fn run(args: &EvalScoreArgs, environment: &Environment) -> Result<(), Failure> {
    let opened = Opened::new(&args.suite, &Lenses::default(), environment)?;
    let about = About {
        tool: args.name.clone(),
        suite: opened.suite.name.clone(),
        suite_hash: opened.suite.hash(),
        ..About::default()
    };
    let arm = Arm::Strategy(Strategy::default());
    let rule = sheet::rule(args.match_args.rule, &opened.suite, arm)?;
    let mut evaluation = opened.unreviewed(about, rule, 1);
    let twins = if args.with_twins { Twins::Asked } else { Twins::IfNamed };
    external::fill(&mut evaluation, &args.results, twins)?;
    warn_of_places(&evaluation, &opened);
    let sheet = sheet::sheet(evaluation, &opened, Verbosity::Normal, environment);
    if let Some(out) = &args.out {
        let folder = sheet::folder(Some(out), &opened.suite.name, environment)?;
        sheet::keep(&sheet, &folder)?;
        ui::note(&format!("stored in `{}`", environment.display_path(&folder)));
    }
    sheet::print(&sheet, args.format)
}

/// Warns if reports are about files that the change does not touch: their paths may have another
/// form.
fn warn_of_places(evaluation: &Evaluation, opened: &Opened) {
    let is_touched = |file: &str, laid_out: &LaidOut| {
        let files = laid_out.diff.files().iter();
        files
            .flat_map(|touched| [Some(&touched.path), touched.old_path.as_ref()])
            .flatten()
            .any(|path| path.shown() == file)
    };
    let cases = evaluation.cases.iter().zip(&opened.laid_out);
    let strays: Vec<&str> = cases
        .flat_map(|(case, laid_out)| {
            let reported = case.runs.iter().flat_map(|run| &run.reported);
            reported.map(|it| it.span.file()).filter(|file| !is_touched(file, laid_out))
        })
        .collect();
    if let Some(first) = strays.first() {
        ui::warn(&format!(
            "{} reports are about files that their change does not touch, such as `{first}`; paths must be relative to the root of the case",
            strays.len()
        ));
    }
}
