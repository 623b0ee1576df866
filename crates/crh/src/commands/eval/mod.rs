//! `crh eval`: measures how good reviews are.

mod calibrate;
mod compare;
mod gate;
mod host;
mod noise;
mod outcomes;
mod review_batch;
mod run;
mod score;
mod show;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::cli::{EvalCommand, EvalFormatArg, SuiteArgs};
use crate::config::environment::Environment;
use crate::failure::{Failure, FailureKind, OrFail};
use crate::{input, ui};
use crh_eval::import::{ImportArgs, import_cases};
use crh_eval::{SuiteChoice, is_missing, load_evaluation};
use crh_review::eval::{Comparison, Ending, Evaluation, Rule, Sheet, render};
use crh_review::stable_json;

/// Default suite, relative to the current folder.
const DEFAULT_SUITE: &str = "eval/suite";

pub(super) fn run(command: EvalCommand, environment: &Environment) -> Result<ExitCode, Failure> {
    let result = match command {
        EvalCommand::Run(args) => return run::run(&args, environment),
        EvalCommand::Gate(args) => return gate::run(&args, environment),
        EvalCommand::Noise(args) => return noise::run(&args, environment),
        EvalCommand::Compare(args) => compare::run(&args, environment),
        EvalCommand::Show(args) => show::run(&args, environment),
        EvalCommand::Score(args) => score::run(&args, environment),
        EvalCommand::Import(args) => import(&args, environment),
        EvalCommand::Outcomes(args) => outcomes::run(&args, environment),
        EvalCommand::Calibrate(args) => calibrate::run(&args, environment),
    };
    result.map(|()| ExitCode::SUCCESS)
}

/// `crh eval import`: imports cases into the folder of a suite.
fn import(args: &ImportArgs, environment: &Environment) -> Result<(), Failure> {
    for imported in import_cases(args, &environment.folder, &input::bytes)? {
        imported.notes.iter().for_each(|note| ui::note(note));
        if let Some(file) = imported.draft {
            let file = environment.display_path(&file);
            ui::warn(&format!(
                "`{file}` is a draft: before you use it in a suite, list the issues that a review should find"
            ));
        }
        ui::result_text(&format!("{}\n", imported.place.display()))?;
    }
    Ok(())
}

/// The suite that the user named, or the default suite.
fn suite_choice(args: &SuiteArgs, environment: &Environment) -> Result<SuiteChoice, Failure> {
    let in_folder = |path: &PathBuf| environment.folder.join(path);
    let place = match &args.suite {
        Some(place) => in_folder(place),
        None => environment.folder.join(DEFAULT_SUITE),
    };
    if args.suite.is_none() && !place.is_dir() {
        return Err(Failure::usage(format!("`{DEFAULT_SUITE}` does not exist here"))
            .hint("name the suite as an argument; `crh eval import` creates cases from commits"));
    }
    let globs = match &args.case_list {
        Some(file) => case_list(&in_folder(file))?,
        None => args.cases.clone(),
    };
    Ok(SuiteChoice { place, globs, repos: args.repos.as_ref().map(in_folder) })
}

/// Ids or globs of a case list, one per line.
fn case_list(file: &Path) -> Result<Vec<String>, Failure> {
    let text = String::from_utf8_lossy(&input::bytes(file)?).into_owned();
    let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default().trim());
    let globs: Vec<String> = lines.filter(|line| !line.is_empty()).map(str::to_owned).collect();
    match globs.is_empty() {
        true => Err(Failure::usage(format!("{} lists no case", input::display_name(file)))
            .hint("write one id or glob per line")),
        false => Ok(globs),
    }
}

fn print(sheet: &Sheet, format: EvalFormatArg) -> Result<(), Failure> {
    ui::result_text(&match format {
        EvalFormatArg::Text => render::text(sheet),
        EvalFormatArg::Markdown => render::markdown(sheet),
        EvalFormatArg::Json => stable_json(sheet).or_fail(FailureKind::Bug)?,
        EvalFormatArg::Html => {
            render::html(std::slice::from_ref(sheet), None).or_fail(FailureKind::Bug)?
        }
    })
}

fn print_comparison(
    comparison: &Comparison,
    sheets: &[Sheet],
    format: EvalFormatArg,
) -> Result<(), Failure> {
    ui::result_text(&match format {
        EvalFormatArg::Text => render::comparison_text(comparison),
        EvalFormatArg::Markdown => render::comparison_markdown(comparison),
        EvalFormatArg::Json => stable_json(comparison).or_fail(FailureKind::Bug)?,
        EvalFormatArg::Html => render::html(sheets, Some(comparison)).or_fail(FailureKind::Bug)?,
    })
}

/// Loads a stored evaluation by file or folder. If `rule` is given, scores it again by that rule.
fn stored(
    place: &Path,
    rule: Option<Rule>,
    environment: &Environment,
) -> Result<Evaluation, Failure> {
    load_evaluation(&environment.folder.join(place), rule, |path| {
        input::json(path, "an evaluation of crh")
    })
}

/// Exit code of the command: 0 if no case is missing, 3 if all are missing, 4 if some are missing.
/// A case is missing if its review failed or did not run.
fn exit_code<'a>(endings: impl Iterator<Item = &'a Ending>) -> ExitCode {
    let (missing, reviewed): (Vec<_>, Vec<_>) = endings.partition(|ending| is_missing(ending));
    ExitCode::from(match (missing.len(), reviewed.len()) {
        (0, _) => 0,
        (_, 0) => 3,
        (_, _) => 4,
    })
}
