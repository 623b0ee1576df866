//! Renders an evaluation as Markdown, for a pull request comment or a documentation page.

use super::brief;
use super::brief::brief;
use super::sections::{Body, Group, Section, Table, about, sections};
use super::trouble::{alarm, runs_line, troubles};
use crate::eval::Sheet;
use crate::sanitise;

/// The evaluation as Markdown.
pub fn markdown(sheet: &Sheet) -> String {
    let mut parts = vec![header(sheet)];
    parts.extend(not_reviewed(sheet));
    parts.extend(sections(sheet).iter().map(shown));
    parts.join("\n")
}

fn header(sheet: &Sheet) -> String {
    let facts = about(sheet);
    let facts: Vec<String> =
        facts.iter().map(|(name, value)| format!("**{name}** {}", prose(value))).collect();
    format!("## Evaluation\n\n{}\n\n{}\n", facts.join(" · "), runs_line(&sheet.scores.runs))
}

fn not_reviewed(sheet: &Sheet) -> Option<String> {
    let alarm = alarm(&sheet.scores.runs)?;
    let (named, more) = troubles(&sheet.evaluation);
    let mut out = format!("> **{alarm}**\n>\n");
    for trouble in named {
        let run = trouble.run.map(|run| format!(" ({run})")).unwrap_or_default();
        let case = sanitise::code_span(&brief(trouble.case));
        out.push_str(&format!(
            "> - {}: {case}{run}: {}\n",
            trouble.state,
            prose(&brief::text(trouble.why))
        ));
    }
    if more > 0 {
        out.push_str(&format!("> - and {more} more\n"));
    }
    Some(out)
}

/// A section with its title.
fn shown(section: &Section) -> String {
    let mut parts: Vec<String> = vec![format!("### {}\n", section.title)];
    parts.extend(section.says.iter().map(|sentence| format!("{sentence}\n")));
    parts.extend(section.body.iter().map(|body| match body {
        Body::Table(of) => table(of),
        Body::Facts(facts) => {
            let rows: String =
                facts.iter().map(|(name, value)| format!("| {name} | {value} |\n")).collect();
            format!("| What | Figure |\n|---|---:|\n{rows}")
        }
        Body::Groups(of) => groups(of),
    }));
    parts.join("\n")
}

/// Names are left-aligned, numbers right-aligned.
pub(super) fn table(table: &Table) -> String {
    let rule = format!("|---|{}", "---:|".repeat(table.columns.len().saturating_sub(1)));
    let mut out = format!("| {} |\n{rule}\n", table.columns.join(" | "));
    for row in &table.rows {
        out.push_str(&format!("| {} | {} |\n", cell(&row.name), row.cells.join(" | ")));
    }
    out
}

fn groups(groups: &[Group]) -> String {
    let mut out = "| By | | Matched | Recall |\n|---|---|---:|---:|\n".to_owned();
    for group in groups {
        for (at, part) in group.parts.iter().enumerate() {
            let by = if at == 0 { group.by } else { "" };
            let name = cell(&part.name);
            out.push_str(&format!("| {by} | {name} | {} | {} |\n", part.matched, part.recall));
        }
    }
    out
}

/// Untrusted text in a paragraph.
pub(super) fn prose(text: &str) -> String {
    sanitise::markdown(text, None)
}

/// Untrusted text in a cell. Plain words and number ranges need no escaping.
fn cell(text: &str) -> String {
    let words = |char: char| char.is_ascii_alphanumeric() || " _".contains(char);
    let range = |char: char| char.is_ascii_digit() || ".–".contains(char);
    match text.chars().all(words) || text.chars().all(range) {
        true => text.to_owned(),
        false => sanitise::cell(text, None),
    }
}
