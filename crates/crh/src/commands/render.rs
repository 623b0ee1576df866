//! `crh render`: converts a report to another format.

use std::path::Path;

use crate::cli::{FormatArg, RenderArgs, RenderOutputArgs};
use crate::config::environment::Environment;
use crate::config::keys::{RawSettings, Settings};
use crate::config::value::Color;
use crate::failure::{Failure, FailureKind, OrFail};
use crate::{config, input, ui};
use crh_git::Repository;
use crh_os::names::{as_repository_path, canonical};
use crh_pipeline::change_secrets::ChangeSecrets;
use crh_review::diff::Diff;
use crh_review::render;
use crh_review::render::{Colour, FileLinks, ListedFindings, TextStyle};
use crh_review::report::{Report, SCHEMA_VERSION};

pub(crate) fn run(args: RenderArgs, environment: &Environment) -> Result<(), Failure> {
    if args.diff.as_ref() == Some(&args.report) && args.report.as_os_str() == "-" {
        return Err(Failure::usage("standard input can be read only once")
            .hint("pass the report or the diff as a file"));
    }
    let name = input::display_name(&args.report);
    let hint = "pass a report of `crh review --format json` or `crh merge`; `crh schema report` prints the format";
    let report: Report =
        input::json(&args.report, "a crh report").map_err(|failure| failure.hint(hint))?;
    if report.schema_version != SCHEMA_VERSION {
        return Err(Failure::usage(format!(
            "{name} has schema_version {}; this version of crh reads {SCHEMA_VERSION}",
            report.schema_version
        ))
        .hint("create the report again with this version"));
    }
    if let Some(problem) = report.location_problem() {
        return Err(Failure::usage(format!("{name}: {problem}")).hint(hint));
    }
    let diff = args.diff.as_deref().map(input::diff).transpose()?;
    print_report(&report, diff.as_ref(), args.output, environment)
}

/// Input that only some formats need.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct RenderContext<'a> {
    /// The reviewed diff, for formats that show code.
    pub(crate) diff: Option<&'a Diff>,
    /// Checkout with the reviewed files, for links.
    pub(crate) checkout: Option<&'a Path>,
    /// Which findings the text format lists.
    pub(crate) listed: ListedFindings,
}

/// Which findings to list, by the flag `--all`.
pub(crate) fn listed_findings(all: bool) -> ListedFindings {
    if all { ListedFindings::All } else { ListedFindings::Published }
}

/// Prints a report. Only the user's own settings apply, so no repository config is read.
pub(crate) fn print_report(
    report: &Report,
    diff: Option<&Diff>,
    output: RenderOutputArgs,
    environment: &Environment,
) -> Result<(), Failure> {
    let mut flags = RawSettings::default();
    output.display.set(&mut flags);
    let settings = config::load(environment, None, flags)?;
    let listed = listed_findings(output.all);
    let context = RenderContext { diff, listed, ..RenderContext::default() };
    let text = render_report(report, context, output.format, &settings, environment)?;
    print_rendered(&text, output.format)
}

/// Writes a rendered report to standard output.
pub(crate) fn print_rendered(text: &str, format: FormatArg) -> Result<(), Failure> {
    match format {
        FormatArg::Annotations => ui::result_commands(text),
        FormatArg::Text
        | FormatArg::Json
        | FormatArg::Markdown
        | FormatArg::Sarif
        | FormatArg::CodeQuality
        | FormatArg::Envelope
        | FormatArg::Comment
        | FormatArg::Quickfix
        | FormatArg::Html => ui::result_text(text),
    }
}

/// Renders a report for standard output.
pub(crate) fn render_report(
    report: &Report,
    context: RenderContext<'_>,
    format: FormatArg,
    settings: &Settings,
    environment: &Environment,
) -> Result<String, Failure> {
    Ok(match format {
        FormatArg::Text => {
            let supports_styles = ui::stdout_supports_styles(environment);
            let colour = choose_colour(settings.color.value, supports_styles);
            let links = choose_links(colour, supports_styles, context.checkout);
            let style =
                TextStyle { colour, links, listed: context.listed, width: ui::stdout_columns() };
            render::text(report, &style)
        }
        FormatArg::Json => render::json(report).or_fail(FailureKind::Bug)?,
        FormatArg::Markdown => render::markdown(report),
        FormatArg::Sarif => render::sarif(report).or_fail(FailureKind::Bug)?,
        FormatArg::CodeQuality => render::code_quality(report).or_fail(FailureKind::Bug)?,
        FormatArg::Envelope => render::envelope(report),
        FormatArg::Comment => render::comment(report, settings.instance.value.as_str()),
        FormatArg::Quickfix => {
            render::quickfix(report, context.diff, &folder_in_repository(environment))
        }
        FormatArg::Annotations => render::annotations(report),
        FormatArg::Html => {
            // Mask secrets in the diff, as in the report.
            let diff = context.diff.map(|diff| ChangeSecrets::from_diff(diff).mask_diff(diff));
            render::html(report, diff.as_ref()).or_fail(FailureKind::Bug)?
        }
    })
}

/// The current folder, relative to the root of its repository. Empty outside a repository.
pub(crate) fn folder_in_repository(environment: &Environment) -> String {
    let repository = Repository::discover(&environment.folder).ok();
    let root = repository.and_then(|repository| repository.work_tree);
    let folder = canonical(&environment.folder).ok();
    let relative = root.zip(folder).and_then(|(root, folder)| {
        let path = folder.strip_prefix(root).ok()?;
        Some(as_repository_path(path).unwrap_or_else(|| path.to_string_lossy()).into_owned())
    });
    relative.unwrap_or_default()
}

fn choose_colour(choice: Color, supports_styles: bool) -> Colour {
    match (choice, supports_styles) {
        (Color::Always, _) | (Color::Auto, true) => Colour::On,
        (Color::Never, _) | (Color::Auto, false) => Colour::Off,
    }
}

/// Links to files, only on a terminal with colours.
fn choose_links(colour: Colour, supports_styles: bool, checkout: Option<&Path>) -> FileLinks {
    match (colour, checkout) {
        (Colour::On, Some(checkout)) if supports_styles => ui::links(checkout),
        (Colour::On | Colour::Off, _) => FileLinks::Off,
    }
}
