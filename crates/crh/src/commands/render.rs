//! `crh render`: a report in another form.

use std::path::Path;

use crate::cli::{FormatArg, RenderArgs, ShownArgs};
use crate::config::environment::Environment;
use crate::config::keys::{RawSettings, Settings};
use crate::config::value::Color;
use crate::failure::{Failure, Kind, OrFail};
use crate::{config, input, ui};
use crh_pipeline::credentials::Credentials;
use crh_review::diff::Diff;
use crh_review::render;
use crh_review::render::{Colour, Links};
use crh_review::report::{Report, SCHEMA_VERSION};

pub(crate) fn run(args: RenderArgs, environment: &Environment) -> Result<(), Failure> {
    if args.diff.as_ref() == Some(&args.report) && args.report.as_os_str() == "-" {
        return Err(Failure::usage("standard input can be read only once")
            .hint("give the report or the diff as a file"));
    }
    let name = input::name(&args.report);
    let hint = "give it what `crh merge` printed; `crh schema report` prints the shape";
    let report: Report =
        input::json(&args.report, "a report of crh").map_err(|failure| failure.hint(hint))?;
    if report.schema_version != SCHEMA_VERSION {
        return Err(Failure::usage(format!(
            "{name} has schema_version {}, and this crh reads {SCHEMA_VERSION}",
            report.schema_version
        ))
        .hint("give it what `crh merge` of this version printed"));
    }
    if let Some(problem) = report.problem() {
        return Err(Failure::usage(format!("{name}: {problem}")).hint(hint));
    }
    let diff = args.diff.as_deref().map(input::diff).transpose()?;
    show(&report, diff.as_ref(), args.shown, environment)
}

/// What some forms of a report make use of besides it.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Beside<'a> {
    /// The diff that was reviewed, for forms that show code.
    pub(crate) diff: Option<&'a Diff>,
    /// The checkout that has the reviewed files, for places that can be clicked.
    pub(crate) checkout: Option<&'a Path>,
}

/// Prints a report as the user wants to see it. How that is, is for the user to say and for no repository, so
/// none is looked for.
pub(crate) fn show(
    report: &Report,
    diff: Option<&Diff>,
    shown: ShownArgs,
    environment: &Environment,
) -> Result<(), Failure> {
    let mut flags = RawSettings::default();
    shown.look.set(&mut flags);
    let settings = config::load(environment, None, flags)?;
    let beside = Beside { diff, ..Beside::default() };
    ui::result_text(&rendered(report, beside, shown.format, &settings, environment)?)
}

/// A report in a form, for standard output.
pub(crate) fn rendered(
    report: &Report,
    beside: Beside<'_>,
    format: FormatArg,
    settings: &Settings,
    environment: &Environment,
) -> Result<String, Failure> {
    Ok(match format {
        FormatArg::Text => {
            let has_more = ui::shows_more_than_text(environment);
            let colour = colour(settings.color.value, has_more);
            render::text(report, colour, &links(colour, has_more, beside.checkout))
        }
        FormatArg::Json => render::json(report).or_fail(Kind::Bug)?,
        FormatArg::Markdown => render::markdown(report),
        FormatArg::Sarif => render::sarif(report).or_fail(Kind::Bug)?,
        FormatArg::Envelope => render::envelope(report),
        FormatArg::Comment => render::comment(report, settings.instance.value.as_str()),
        FormatArg::Quickfix => render::quickfix(report),
        FormatArg::Annotations => render::annotations(report),
        FormatArg::Html => {
            // The report masks what is secret in a change; its diff must not show it.
            let diff = beside.diff.map(|diff| Credentials::of(diff).hidden_in(diff));
            render::html(report, diff.as_ref()).or_fail(Kind::Bug)?
        }
    })
}

fn colour(wanted: Color, has_more: bool) -> Colour {
    match (wanted, has_more) {
        (Color::Always, _) | (Color::Auto, true) => Colour::On,
        (Color::Never, _) | (Color::Auto, false) => Colour::Off,
    }
}

/// Links are for a person at a terminal, whatever was asked of colours; one that shows no colours shows no links either.
fn links(colour: Colour, has_more: bool, checkout: Option<&Path>) -> Links {
    match (colour, checkout) {
        (Colour::On, Some(checkout)) if has_more => ui::links(checkout),
        (Colour::On | Colour::Off, _) => Links::Off,
    }
}
