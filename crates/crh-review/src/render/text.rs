//! The report for a terminal of 80 columns, with or without colour.

use std::path::PathBuf;

use super::{
    coverage_gaps, fates_line, place, reported_by, requirement_state, scope_line, second_look,
};
use crate::clean::{one_line, path, visible};
use crate::finding::{Severity, Side};
use crate::report::{Issue, Report};
use crate::verdict::Verdict;
use crate::width;
use crate::width::cut;

/// What fits a terminal nobody has widened.
const WIDTH: usize = 80;
/// How far the text of an issue stands in.
const INDENT: &str = "    ";
/// A quote longer than this is cut: the file is at hand.
const QUOTE_LINES: usize = 6;

/// Whether the terminal shows colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Colour {
    /// ANSI colours.
    On,
    /// Plain text.
    Off,
}

/// Whether places in the code can be clicked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Links {
    /// They cannot: it is not known where the files are, or the reader is no terminal.
    Off,
    /// They are links to the files of a folder on a machine.
    Under {
        /// The machine, so that a terminal which looks at it from elsewhere does not open files of its own.
        host: String,
        /// The folder, absolute.
        root: PathBuf,
    },
}

/// The looks this page needs, as the parameters of an ANSI escape.
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

impl Links {
    /// A text that leads to a line of a file, as OSC 8 has it. The line is the fragment: kitty, iTerm2 and VS Code go there,
    /// others open the file.
    fn link(&self, file: &str, line: u32, text: &str) -> String {
        let Self::Under { host, root } = self else { return text.to_owned() };
        let root = root.as_os_str().as_encoded_bytes();
        let root = root.strip_suffix(b"/").unwrap_or(root);
        let path = format!("{}/{}", percent_encoded(root), percent_encoded(file.as_bytes()));
        let host = percent_encoded(host.as_bytes());
        format!("\u{1b}]8;;file://{host}{path}#{line}\u{1b}\\{text}\u{1b}]8;;\u{1b}\\")
    }
}

/// A path for an address: everything but what is plain in every address is written in hexadecimal.
fn percent_encoded(path: &[u8]) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-._~".contains(&byte);
    let encoded =
        |byte: u8| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    path.iter().map(|byte| encoded(*byte)).collect()
}

/// The report for a terminal.
pub fn text(report: &Report, colour: Colour, links: &Links) -> String {
    let mut out = String::new();
    out.push_str(&wrapped("Scope:  ", "        ", &scope_line(report)));
    if !report.intent.is_empty() {
        out.push_str(&wrapped("Intent: ", "        ", &one_line(&report.intent)));
    }
    let summary = visible(&report.summary);
    if !summary.trim().is_empty() {
        out.push('\n');
    }
    for line in summary.lines().filter(|line| !line.trim().is_empty()) {
        out.push_str(&wrapped("", "  ", &one_line(line)));
    }
    out.push('\n');
    for item in &report.issues {
        out.push_str(&issue(item, report.is_fixed(item.number), colour, links));
        out.push('\n');
    }
    for (title, items) in lists(report) {
        out.push_str(&colour.paint(Style::Bold, title));
        out.push('\n');
        for item in items {
            out.push_str(&wrapped("  - ", "    ", &item));
        }
        out.push('\n');
    }
    out.push_str(&verdict(report, colour));
    out
}

fn issue(issue: &Issue, fixed: bool, colour: Colour, links: &Links) -> String {
    let severity = match issue.severity {
        Severity::P0 | Severity::P1 => Style::Red,
        Severity::P2 => Style::Yellow,
        Severity::P3 => Style::Blue,
    };
    let label = format!("{} {}", issue.number, issue.severity);
    let fixed = if fixed { " (fixed)" } else { "" };
    let place = colour.paint(Style::Bold, &place(issue));
    let place = match issue.location.side {
        Side::New => links.link(&issue.location.file, issue.location.line_start, &place),
        // The line is not there any more, and perhaps the file is not.
        Side::Old => place,
    };
    let mut out = format!("{} {place}{fixed}\n", colour.paint(severity, &label));
    out.push_str(&wrapped(INDENT, INDENT, &one_line(&issue.title)));
    let quote = visible(&issue.evidence_snippet);
    let lines: Vec<&str> = quote.lines().collect();
    for line in lines.iter().take(QUOTE_LINES) {
        let line = format!("| {}", cut(line, WIDTH - INDENT.len() - 2));
        out.push_str(&format!("{INDENT}{}\n", colour.paint(Style::Dim, &line)));
    }
    if lines.len() > QUOTE_LINES {
        let more = format!("| … {} more lines", lines.len() - QUOTE_LINES);
        out.push_str(&format!("{INDENT}{}\n", colour.paint(Style::Dim, &more)));
    }
    out.push_str(&wrapped(INDENT, INDENT, &one_line(&issue.why_it_matters)));
    if let Some(fix) = &issue.suggested_fix {
        out.push_str(&wrapped("    Fix: ", "         ", &one_line(fix)));
    }
    if let (None, Some(text)) = (&issue.suggested_fix, &issue.replacement) {
        out.push_str(&wrapped("    Replace with: ", INDENT, &one_line(text)));
    }
    let looked = second_look(issue.validation).map(|said| format!("; {said}"));
    let about = format!(
        "{}; by {}; confidence {}{}; {} -> {}",
        issue.category,
        one_line(&reported_by(issue)),
        issue.confidence,
        looked.unwrap_or_default(),
        issue.autofix_class,
        issue.owner
    );
    for line in wrapped(INDENT, INDENT, &about).lines() {
        out.push_str(&colour.paint(Style::Dim, line));
        out.push('\n');
    }
    out
}

/// The lists below the issues; empty ones are left out.
fn lists(report: &Report) -> Vec<(&'static str, Vec<String>)> {
    let lines = |items: &[String]| items.iter().map(|item| one_line(item)).collect::<Vec<_>>();
    let pre_existing = report.pre_existing.iter().map(|issue| {
        format!("{} {} {}: {}", issue.number, issue.severity, place(issue), issue.title)
    });
    let notes = &report.notes;
    let mut lists = vec![
        ("Requirements", requirements(report)),
        ("Was there before", pre_existing.map(|line| one_line(&line)).collect()),
        ("Residual risks", lines(&report.residual_risks)),
        ("Testing gaps", lines(&report.testing_gaps)),
        ("Learnings", lines(&notes.learnings)),
        ("Agent-native gaps", lines(&notes.agent_native_gaps)),
        ("Schema drift", lines(&notes.schema_drift)),
        ("Deployment", lines(&notes.deployment)),
        ("Coverage", coverage(report)),
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
    items.extend(fates_line(report).map(|fates| format!("findings not shown: {fates}")));
    for row in report.failed_reviewers() {
        items.push(one_line(&format!("failed reviewer {}: {}", row.name, row.note)));
    }
    for file in &report.scope.untracked {
        items.push(format!("untracked, not reviewed: {}", path(file)));
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
    let line = wrapped("", "  ", &format!("{word}: {}", one_line(&report.verdict_reason)));
    // The colour goes on after wrapping, which counts what is seen.
    line.replacen(&word, &colour.paint(style, &word), 1)
}

/// Text wrapped for the page; the first line starts with one prefix, the others with another.
fn wrapped(first: &str, others: &str, text: &str) -> String {
    width::wrapped(first, others, text, WIDTH)
}
