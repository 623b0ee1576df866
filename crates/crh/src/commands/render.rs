//! `crh render`: a report in another form.

use crh_review::render;
use crh_review::render::Colour;
use crh_review::report::Report;
use crh_review::report::SCHEMA_VERSION;

use crate::cli::FormatArg;
use crate::cli::RenderArgs;
use crate::cli::ShownArgs;
use crate::config;
use crate::config::environment::Environment;
use crate::config::keys::RawSettings;
use crate::config::value::Color;
use crate::failure::Failure;
use crate::failure::Kind;
use crate::failure::OrFail;
use crate::input;
use crate::ui;

pub(crate) fn run(args: RenderArgs, environment: &Environment) -> Result<(), Failure> {
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
    show(&report, args.shown, environment)
}

/// Prints a report as the user wants to see it. How that is, is for the user to say and for no repository, so
/// none is looked for.
pub(crate) fn show(
    report: &Report,
    shown: ShownArgs,
    environment: &Environment,
) -> Result<(), Failure> {
    let mut flags = RawSettings::default();
    shown.look.set(&mut flags);
    let settings = config::load(environment, None, flags)?;
    let text = match shown.format {
        FormatArg::Text => render::text(report, colour(settings.color.value), &render::Links::Off),
        FormatArg::Json => render::json(report).or_fail(Kind::Bug)?,
        FormatArg::Markdown => render::markdown(report),
        FormatArg::Sarif => render::sarif(report).or_fail(Kind::Bug)?,
        FormatArg::Envelope => render::envelope(report),
        FormatArg::Comment => render::comment(report, settings.instance.value.as_str()),
        FormatArg::Quickfix => render::quickfix(report),
    };
    ui::result_text(&text)
}

fn colour(wanted: Color) -> Colour {
    let on = match wanted {
        Color::Always => true,
        Color::Never => false,
        Color::Auto => ui::shows_to_person(),
    };
    if on { Colour::On } else { Colour::Off }
}
