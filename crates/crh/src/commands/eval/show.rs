//! `crh eval show`: prints a stored evaluation in another format or scored by another rule.

use super::{print, stored};
use crate::cli::{EvalFormatArg, EvalShowArgs};
use crate::config::environment::Environment;
use crate::failure::{Failure, FailureKind, OrFail};
use crate::ui;
use crh_review::eval::{Sheet, render};

pub(super) fn run(args: &EvalShowArgs, environment: &Environment) -> Result<(), Failure> {
    let rule = args.match_args.rule();
    let evaluations = args.evaluations.iter().map(|place| stored(place, rule, environment));
    let evaluations = evaluations.collect::<Result<Vec<_>, _>>()?;
    let sheets: Vec<Sheet> =
        evaluations.into_iter().map(|evaluation| Sheet::new(evaluation, &[])).collect();
    match (args.format, sheets.as_slice()) {
        (EvalFormatArg::Html, sheets) => {
            ui::result_text(&render::html(sheets, None).or_fail(FailureKind::Bug)?)
        }
        (format, [sheet]) => print(sheet, format),
        (EvalFormatArg::Text | EvalFormatArg::Markdown | EvalFormatArg::Json, _) => {
            Err(Failure::usage("only the HTML page can show several evaluations")
                .hint("use `--format html`, or `crh eval compare` for two"))
        }
    }
}
