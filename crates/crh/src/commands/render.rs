//! `crh render`: a report in another form.

use crh_review::render;
use crh_review::render::Colour;
use crh_review::report::Report;
use crh_review::report::SCHEMA_VERSION;

use crate::cli::ColorArg;
use crate::cli::FormatArg;
use crate::cli::RenderArgs;
use crate::cli::ShownArgs;
use crate::config;
use crate::failure::Failure;
use crate::failure::Kind;
use crate::failure::OrFail;
use crate::input;
use crate::ui;

pub(crate) fn run(args: &RenderArgs) -> Result<(), Failure> {
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
    show(&report, &args.shown)
}

/// Prints a report as the user wants to see it.
pub(crate) fn show(report: &Report, shown: &ShownArgs) -> Result<(), Failure> {
    let text = match shown.format {
        FormatArg::Text => render::text(report, colour(shown.color)),
        FormatArg::Json => render::json(report).or_fail(Kind::Bug)?,
        FormatArg::Markdown => render::markdown(report),
        FormatArg::Sarif => render::sarif(report).or_fail(Kind::Bug)?,
        FormatArg::Envelope => render::envelope(report),
        FormatArg::Comment => render::comment(report, &shown.instance),
        FormatArg::Quickfix => render::quickfix(report),
    };
    ui::result_text(&text)
}

fn colour(wanted: ColorArg) -> Colour {
    let on = match wanted {
        ColorArg::Always => true,
        ColorArg::Never => false,
        ColorArg::Auto => ui::shows_to_person() && !config::no_color(),
    };
    if on { Colour::On } else { Colour::Off }
}
