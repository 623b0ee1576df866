//! Renders the report for a terminal.

use std::path::PathBuf;

use super::{
    FIXED_SUFFIX, HiddenCounts, NextStep, counted_hidden_lines, coverage_gaps, fate_label,
    is_residual, location_label, next_step_in, note_on_quote, places_note, quote_place,
    remarks_after_quote, reported_by, requirement_state, residual_step, scope_line, team,
    unfixable_note, unjudged_reason, validation_label, warnings_beside_failures,
};
use crate::finding::{Member, Severity, Side};
use crate::report::{Fate, Issue, Report};
use crate::sanitise::{escape_invisible, one_line, path};
use crate::verdict::{Verdict, counted_hidden};
use crate::width;
use crate::width::truncate;

/// Width of a text that no terminal shows.
const DEFAULT_WIDTH: usize = 80;
/// Minimum width. In a narrower window, lines wrap twice.
const MIN_WIDTH: usize = 20;
const INDENT: &str = "    ";
/// Maximum number of quoted lines.
const MAX_QUOTE_LINES: usize = 6;
/// Maximum number of lines of a replacement. `crh show --format json` has the rest.
const MAX_REPLACEMENT_LINES: usize = 20;

/// Whether to use colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Colour {
    /// ANSI colours.
    On,
    /// Plain text.
    Off,
}

/// Whether locations are links.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileLinks {
    /// No links: the files are not available, or the output is not a terminal.
    Off,
    /// Links to files in a folder.
    Folder {
        /// Host name, so that a remote terminal does not open its own files.
        host: String,
        /// Absolute path of the folder.
        root: PathBuf,
    },
}

/// Styles, as parameters of an ANSI escape.
#[derive(Clone, Copy)]
enum Style {
    Bold,
    Dim,
    Red,
    Yellow,
    Blue,
    Green,
}

impl Colour {
    fn paint(self, style: Style, text: &str) -> String {
        let code = match style {
            Style::Bold => "1",
            Style::Dim => "2",
            Style::Red => "1;31",
            Style::Yellow => "33",
            Style::Blue => "34",
            Style::Green => "32",
        };
        match self {
            Self::On => format!("\u{1b}[{code}m{text}\u{1b}[0m"),
            Self::Off => text.to_owned(),
        }
    }
}

impl FileLinks {
    /// An OSC 8 link to a line of a file. The fragment is the line: kitty, iTerm2 and VS Code jump
    /// to it, others open the file.
    fn link(&self, file: &str, line: u32, text: &str) -> String {
        let Self::Folder { host, root } = self else { return text.to_owned() };
        let root = root.as_os_str().as_encoded_bytes();
        let root = root.strip_suffix(b"/").unwrap_or(root);
        let path = format!("{}/{}", percent_encode(root), percent_encode(file.as_bytes()));
        let host = percent_encode(host.as_bytes());
        format!("\u{1b}]8;;file://{host}{path}#{line}\u{1b}\\{text}\u{1b}]8;;\u{1b}\\")
    }
}

/// Percent-encodes a path.
pub(super) fn percent_encode(path: &[u8]) -> String {
    let is_unreserved = |byte: u8| byte.is_ascii_alphanumeric() || b"/-._~".contains(&byte);
    let encode = |byte: u8| {
        if is_unreserved(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }
    };
    path.iter().map(|byte| encode(*byte)).collect()
}

/// Which findings a text lists.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ListedFindings {
    /// Issues only.
    #[default]
    Published,
    /// Also findings that are not shown, with the reason.
    All,
}

/// How a text looks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextStyle {
    /// Whether to use colours.
    pub colour: Colour,
    /// Whether locations are links.
    pub links: FileLinks,
    /// Which findings the text lists.
    pub listed: ListedFindings,
    /// Width of the window, in columns.
    pub width: usize,
}

impl Default for TextStyle {
    /// Plain text for a file.
    fn default() -> Self {
        Self {
            colour: Colour::Off,
            links: FileLinks::Off,
            listed: ListedFindings::Published,
            width: DEFAULT_WIDTH,
        }
    }
}

impl TextStyle {
    fn wrap(&self, first_prefix: &str, other_prefix: &str, text: &str) -> String {
        width::wrap(first_prefix, other_prefix, text, self.width.max(MIN_WIDTH))
    }

    /// Dimmed lines, each after a mark. Lines beyond the maximum are only counted.
    fn marked_lines(&self, mark: &str, lines: &[&str], max_lines: usize) -> String {
        let mut rows: Vec<String> =
            lines.iter().take(max_lines).map(|line| format!("{mark} {line}")).collect();
        if lines.len() > max_lines {
            rows.push(format!("{mark} … {} more lines", lines.len() - max_lines));
        }
        let paint = |row: &String| format!("{INDENT}{}\n", self.colour.paint(Style::Dim, row));
        rows.iter().map(paint).collect()
    }
}

/// The report as text for a terminal.
pub fn text(report: &Report, style: &TextStyle) -> String {
    let mut out = String::new();
    out.push_str(&style.wrap("Scope:  ", "        ", &scope_line(report)));
    if !report.intent.is_empty() {
        out.push_str(&style.wrap("Intent: ", "        ", &one_line(&report.intent)));
    }
    let team = team(report);
    if !team.is_empty() {
        out.push_str("Reviewers:\n");
    }
    for (name, why) in &team {
        let line = if why.is_empty() { name.clone() } else { format!("{name}: {why}") };
        out.push_str(&style.wrap("  - ", INDENT, &one_line(&line)));
    }
    let summary = escape_invisible(&report.summary);
    if !summary.trim().is_empty() {
        out.push('\n');
    }
    for line in summary.lines().filter(|line| !line.trim().is_empty()) {
        out.push_str(&style.wrap("", "  ", &one_line(line)));
    }
    out.push('\n');
    for item in &report.issues {
        out.push_str(&issue(item, &next_step_in(report, item), style));
        out.push('\n');
    }
    for (title, items) in unpublished(report, style.listed).into_iter().chain(lists(report)) {
        for line in style.wrap("", "", title).lines() {
            out.push_str(&style.colour.paint(Style::Bold, line));
            out.push('\n');
        }
        for item in items {
            out.push_str(&style.wrap("  - ", INDENT, &item));
        }
        out.push('\n');
    }
    out.push_str(&verdict(report, style));
    out
}

fn issue(issue: &Issue, next_step: &NextStep, style: &TextStyle) -> String {
    let colour = style.colour;
    let severity_style = match issue.severity {
        Severity::P0 | Severity::P1 => Style::Red,
        Severity::P2 => Style::Yellow,
        Severity::P3 => Style::Blue,
    };
    let label = format!("{} {}", issue.number, issue.severity);
    let suffix = if *next_step == NextStep::Fixed { FIXED_SUFFIX } else { "" };
    let location = colour.paint(Style::Bold, &location_label(issue));
    let location = match issue.location.side {
        Side::New => style.links.link(&issue.location.file, issue.location.line_start, &location),
        // The line, and perhaps the file, no longer exists.
        Side::Old => location,
    };
    let mut out = format!("{} {location}{suffix}\n", colour.paint(severity_style, &label));
    out.push_str(&style.wrap(INDENT, INDENT, &one_line(&issue.title)));
    let quote = escape_invisible(&issue.evidence_snippet);
    let max_columns = style.width.max(MIN_WIDTH) - INDENT.len() - 2;
    let lines: Vec<String> = quote.lines().map(|line| truncate(line, max_columns)).collect();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    if let Some(place) = quote_place(issue) {
        out.push_str(&style.wrap(INDENT, INDENT, &format!("At {place}:")));
    }
    out.push_str(&style.marked_lines("|", &lines, MAX_QUOTE_LINES));
    if let Some(note) = note_on_quote(issue) {
        out.push_str(&style.wrap(INDENT, INDENT, note));
    }
    out.push_str(&style.wrap(INDENT, INDENT, &one_line(&issue.why_it_matters)));
    if let Some(fix) = &issue.suggested_fix {
        out.push_str(&style.wrap("    Fix: ", "         ", &one_line(fix)));
    }
    out.push_str(&replacement(issue, style));
    for remark in remarks_after_quote(issue) {
        out.push_str(&style.wrap(INDENT, INDENT, &one_line(&remark)));
    }
    let mut details = vec![
        format!("category {}", issue.category),
        format!("found by {}", one_line(&reported_by(issue))),
        format!("confidence {}", issue.confidence),
    ];
    let agreement = |probability| format!("probability that maintainers agree {probability}");
    details.extend(issue.probability.map(agreement));
    details.extend(validation_label(issue.validation).map(str::to_owned));
    if *next_step != NextStep::Fixed {
        details.push(next_step.to_string());
    }
    for line in style.wrap(INDENT, INDENT, &details.join("; ")).lines() {
        out.push_str(&colour.paint(Style::Dim, line));
        out.push('\n');
    }
    out
}

/// The exact new text for the cited lines. Long lines stay whole, so that they can be copied.
fn replacement(issue: &Issue, style: &TextStyle) -> String {
    let Some(text) = &issue.replacement else { return String::new() };
    let location = &issue.location;
    let lines = match location.line_end.saturating_sub(location.line_start) {
        0 => format!("line {}", location.line_start),
        _ => format!("lines {} to {}", location.line_start, location.line_end),
    };
    let text = escape_invisible(text);
    if text.is_empty() {
        return style.wrap(INDENT, INDENT, &format!("Delete {lines}."));
    }
    let new_lines: Vec<&str> = text.lines().collect();
    let marked_lines = style.marked_lines("+", &new_lines, MAX_REPLACEMENT_LINES);
    let heading = style.wrap(INDENT, INDENT, &format!("Replace {lines} with:"));
    format!("{heading}{marked_lines}")
}

/// The list of findings that are not shown. Reviewers with the same finding share a row. `None` if
/// there are none, or if `listed` excludes them.
fn unpublished(report: &Report, listed: ListedFindings) -> Option<(&'static str, Vec<String>)> {
    let mut rows: Vec<(String, Vec<&str>)> = Vec::new();
    // A merged finding is shown as part of its issue.
    for dropped in report.suppressed.iter().filter(|dropped| dropped.fate != Fate::Merged) {
        let claim = dropped.member.as_ref().map(|Member { finding, .. }| {
            let line = finding.line_start.map(|line| format!(":{line}")).unwrap_or_default();
            format!("{} {}{line}: {}", finding.severity, finding.file, finding.title)
        });
        let claim = claim.unwrap_or_else(|| "a finding that crh could not read".to_owned());
        let row = format!("{claim} ({}: {}", fate_label(dropped.fate), dropped.reason);
        match rows.last_mut() {
            Some((last, reviewers)) if *last == row => reviewers.push(&dropped.reviewer),
            Some(_) | None => rows.push((row, vec![&dropped.reviewer])),
        }
    }
    let line = |(row, reviewers): &(String, Vec<&str>)| {
        one_line(&format!("{row}; reported by {})", reviewers.join(", ")))
    };
    let rows: Vec<String> = rows.iter().map(line).collect();
    (listed == ListedFindings::All && !rows.is_empty()).then_some(("Findings not shown", rows))
}

/// Lists below the issues, without empty ones.
fn lists(report: &Report) -> Vec<(&'static str, Vec<String>)> {
    let lines = |items: &[String]| items.iter().map(|item| one_line(item)).collect::<Vec<_>>();
    let pre_existing = report.pre_existing.iter().map(|issue| {
        format!("{} {} {}: {}", issue.number, issue.severity, location_label(issue), issue.title)
    });
    let notes = &report.notes;
    let mut lists = vec![
        ("Requirements", requirements(report)),
        ("Applied fixes", applied_fixes(report)),
        ("Open work", residual_work(report)),
        ("Pre-existing issues", pre_existing.map(|line| one_line(&line)).collect()),
        ("Remaining risks", lines(&report.residual_risks)),
        ("Missing tests", lines(&report.testing_gaps)),
        ("Lessons from past problems", lines(&notes.learnings)),
        ("Actions that agents cannot perform", lines(&notes.agent_native_gaps)),
        ("Schema drift", lines(&notes.schema_drift)),
        ("Deployment", lines(&notes.deployment)),
        ("Review coverage", coverage(report)),
    ];
    lists.retain(|(_, items)| !items.is_empty());
    lists.iter_mut().for_each(|(_, items)| items.dedup());
    lists
}

fn requirements(report: &Report) -> Vec<String> {
    let requirements = report.plan.iter().flat_map(|plan| &plan.requirements);
    requirements
        .map(|requirement| {
            let state = requirement_state(requirement);
            let reason = unjudged_reason(requirement);
            one_line(&format!("{} {state}: {}{reason}", requirement.id, requirement.text))
        })
        .collect()
}

fn applied_fixes(report: &Report) -> Vec<String> {
    let fixes = report.applied_fixes.iter().map(|fix| {
        let (number, note) = (fix.number, report.fix_note(fix));
        one_line(&format!("{number}: {} ({}){note}", fix.description, fix.files.join(", ")))
    });
    fixes.chain(places_note(report)).collect()
}

/// Open issues that need work, with the next step.
fn residual_work(report: &Report) -> Vec<String> {
    let residual = report.issues.iter().filter(|issue| is_residual(report, issue));
    let line = |issue: &Issue| {
        let (number, severity, step) = (issue.number, issue.severity, residual_step(report, issue));
        format!("{number} {severity} {}: {step}", location_label(issue))
    };
    residual.map(line).chain(unfixable_note(report).map(str::to_owned)).collect()
}

fn coverage(report: &Report) -> Vec<String> {
    let mut items = Vec::new();
    items.extend(HiddenCounts::new(report).with_reasons());
    items.extend(counted_hidden_lines(&counted_hidden(report)));
    let failures = report.failures().into_iter();
    items.extend(failures.map(|(failed, note)| one_line(&format!("{failed} failed: {note}"))));
    for file in &report.scope.untracked {
        items.push(format!("untracked file, not reviewed: {}", path(file)));
    }
    items.extend(coverage_gaps(report));
    let warnings = warnings_beside_failures(report, report.all_warnings());
    items.extend(warnings.iter().map(|warning| one_line(warning)));
    items
}

fn verdict(report: &Report, style: &TextStyle) -> String {
    let verdict_style = match report.verdict {
        Verdict::NotReady => Style::Red,
        Verdict::ReadyWithFixes | Verdict::Incomplete => Style::Yellow,
        Verdict::ReadyToMerge | Verdict::ChecksPassed => Style::Green,
    };
    let word = report.verdict.to_string();
    let line = style.wrap("", "  ", &format!("{word}: {}", one_line(&report.verdict_reason)));
    // Colour after wrapping, which counts visible characters.
    let mut out = line.replacen(&word, &style.colour.paint(verdict_style, &word), 1);
    // An order needs at least two issues.
    if report.fix_order.len() > 1 {
        let numbers: Vec<String> = report.fix_order.iter().map(ToString::to_string).collect();
        let order = format!("Fix in this order: {}", numbers.join(", "));
        out.push_str(&style.wrap("", "  ", &order));
    }
    out
}
