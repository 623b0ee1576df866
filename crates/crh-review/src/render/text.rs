//! Renders the report for a terminal of 80 columns.

use std::path::PathBuf;

use super::{
    coverage_gaps, fate_label, hidden_findings, location_label, next_step, reported_by,
    requirement_state, scope_line, validation_label,
};
use crate::finding::{Member, Severity, Side};
use crate::report::{Fate, Issue, Report};
use crate::sanitise::{escape_invisible, one_line, path};
use crate::verdict::Verdict;
use crate::width;
use crate::width::truncate;

/// Default terminal width.
const WIDTH: usize = 80;
const INDENT: &str = "    ";
/// Maximum number of quoted lines.
const MAX_QUOTE_LINES: usize = 6;

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
fn percent_encode(path: &[u8]) -> String {
    let is_unreserved = |byte: u8| byte.is_ascii_alphanumeric() || b"/-._~".contains(&byte);
    let encode = |byte: u8| {
        if is_unreserved(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }
    };
    path.iter().map(|byte| encode(*byte)).collect()
}

/// Which findings a text lists.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ListedFindings {
    /// Published issues only.
    #[default]
    Published,
    /// Also findings that are not published, with the reason.
    All,
}

/// The report as text for a terminal.
pub fn text(report: &Report, colour: Colour, links: &FileLinks, listed: ListedFindings) -> String {
    let mut out = String::new();
    out.push_str(&wrap("Scope:  ", "        ", &scope_line(report)));
    if !report.intent.is_empty() {
        out.push_str(&wrap("Intent: ", "        ", &one_line(&report.intent)));
    }
    let summary = escape_invisible(&report.summary);
    if !summary.trim().is_empty() {
        out.push('\n');
    }
    for line in summary.lines().filter(|line| !line.trim().is_empty()) {
        out.push_str(&wrap("", "  ", &one_line(line)));
    }
    out.push('\n');
    for item in &report.issues {
        out.push_str(&issue(item, report.is_fixed(item.number), colour, links));
        out.push('\n');
    }
    for (title, items) in unpublished(report, listed).into_iter().chain(lists(report)) {
        out.push_str(&colour.paint(Style::Bold, title));
        out.push('\n');
        for item in items {
            out.push_str(&wrap("  - ", "    ", &item));
        }
        out.push('\n');
    }
    out.push_str(&verdict(report, colour));
    out
}

fn issue(issue: &Issue, fixed: bool, colour: Colour, links: &FileLinks) -> String {
    let severity_style = match issue.severity {
        Severity::P0 | Severity::P1 => Style::Red,
        Severity::P2 => Style::Yellow,
        Severity::P3 => Style::Blue,
    };
    let label = format!("{} {}", issue.number, issue.severity);
    let suffix = if fixed { " (fixed)" } else { "" };
    let location = colour.paint(Style::Bold, &location_label(issue));
    let location = match issue.location.side {
        Side::New => links.link(&issue.location.file, issue.location.line_start, &location),
        // The line, and perhaps the file, no longer exists.
        Side::Old => location,
    };
    let mut out = format!("{} {location}{suffix}\n", colour.paint(severity_style, &label));
    out.push_str(&wrap(INDENT, INDENT, &one_line(&issue.title)));
    let quote = escape_invisible(&issue.evidence_snippet);
    let lines: Vec<&str> = quote.lines().collect();
    for line in lines.iter().take(MAX_QUOTE_LINES) {
        let line = format!("| {}", truncate(line, WIDTH - INDENT.len() - 2));
        out.push_str(&format!("{INDENT}{}\n", colour.paint(Style::Dim, &line)));
    }
    if lines.len() > MAX_QUOTE_LINES {
        let note = format!("| … {} more lines", lines.len() - MAX_QUOTE_LINES);
        out.push_str(&format!("{INDENT}{}\n", colour.paint(Style::Dim, &note)));
    }
    out.push_str(&wrap(INDENT, INDENT, &one_line(&issue.why_it_matters)));
    if let Some(fix) = &issue.suggested_fix {
        out.push_str(&wrap("    Fix: ", "         ", &one_line(fix)));
    }
    if let (None, Some(text)) = (&issue.suggested_fix, &issue.replacement) {
        out.push_str(&wrap("    Replace with: ", INDENT, &one_line(text)));
    }
    let mut details = vec![
        issue.category.to_string(),
        format!("found by {}", one_line(&reported_by(issue))),
        match issue.probability {
            Some(probability) => format!("probability {probability}"),
            None => format!("confidence {}", issue.confidence),
        },
    ];
    details.extend(validation_label(issue.validation).map(str::to_owned));
    details.extend((!fixed).then(|| next_step(issue)));
    for line in wrap(INDENT, INDENT, &details.join("; ")).lines() {
        out.push_str(&colour.paint(Style::Dim, line));
        out.push('\n');
    }
    out
}

/// The list of findings that are not published. None if there are none or they are not asked for.
fn unpublished(report: &Report, listed: ListedFindings) -> Option<(&'static str, Vec<String>)> {
    // A merged finding is shown as part of its issue.
    let hidden = report.suppressed.iter().filter(|dropped| dropped.fate != Fate::Merged);
    let rows: Vec<String> = hidden
        .map(|dropped| {
            let (fate, reviewer) = (fate_label(dropped.fate), &dropped.reviewer);
            let claim = dropped.member.as_ref().map(|Member { finding, .. }| {
                let line = finding.line_start.map(|line| format!(":{line}")).unwrap_or_default();
                format!("{} {}{line}: {}", finding.severity, finding.file, finding.title)
            });
            let claim = claim.unwrap_or_else(|| "a finding that crh could not read".to_owned());
            one_line(&format!("{claim} ({fate}: {}; by {reviewer})", dropped.reason))
        })
        .collect();
    (listed == ListedFindings::All && !rows.is_empty()).then_some(("Not published", rows))
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
        ("Pre-existing issues", pre_existing.map(|line| one_line(&line)).collect()),
        ("Residual risks", lines(&report.residual_risks)),
        ("Testing gaps", lines(&report.testing_gaps)),
        ("Learnings", lines(&notes.learnings)),
        ("Agent-native gaps", lines(&notes.agent_native_gaps)),
        ("Schema drift", lines(&notes.schema_drift)),
        ("Deployment", lines(&notes.deployment)),
        ("Review coverage", coverage(report)),
    ];
    lists.retain(|(_, items)| !items.is_empty());
    lists
}

fn requirements(report: &Report) -> Vec<String> {
    let requirements = report.plan.iter().flat_map(|plan| &plan.requirements);
    requirements
        .map(|requirement| {
            let state = requirement_state(requirement);
            one_line(&format!("{} {state}: {}", requirement.id, requirement.text))
        })
        .collect()
}

fn coverage(report: &Report) -> Vec<String> {
    let mut items = Vec::new();
    items.extend(hidden_findings(report));
    for reviewer in report.failed_reviewers() {
        items.push(one_line(&format!("reviewer {} failed: {}", reviewer.name, reviewer.note)));
    }
    for file in &report.scope.untracked {
        items.push(format!("untracked file, not reviewed: {}", path(file)));
    }
    items.extend(coverage_gaps(report));
    items.extend(report.warnings.iter().map(|warning| one_line(warning)));
    items
}

fn verdict(report: &Report, colour: Colour) -> String {
    let style = match report.verdict {
        Verdict::NotReady => Style::Red,
        Verdict::ReadyWithFixes | Verdict::Incomplete => Style::Yellow,
        Verdict::ReadyToMerge | Verdict::ChecksPassed => Style::Green,
    };
    let word = report.verdict.to_string();
    let line = wrap("", "  ", &format!("{word}: {}", one_line(&report.verdict_reason)));
    // Colour after wrapping, which counts visible characters.
    line.replacen(&word, &colour.paint(style, &word), 1)
}

fn wrap(first_prefix: &str, other_prefix: &str, text: &str) -> String {
    width::wrap(first_prefix, other_prefix, text, WIDTH)
}
