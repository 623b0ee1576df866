//! Renders an evaluation as Markdown, for a pull request comment or a documentation page.

use super::brief;
use super::brief::short_line;
use super::run_problems::{listed_problems, problem_counts, runs_line};
use super::sections::{RecallGroup, Section, SectionBody, SectionTable, header_facts, sections};
use crate::eval::Sheet;
use crate::sanitise;

/// The evaluation as Markdown.
pub fn markdown(sheet: &Sheet) -> String {
    let mut parts = vec![header(sheet)];
    parts.extend(not_reviewed(sheet));
    parts.extend(sections(sheet).iter().map(section_markdown));
    parts.join("\n")
}

fn header(sheet: &Sheet) -> String {
    let facts = header_facts(sheet);
    let facts: Vec<String> =
        facts.iter().map(|(name, value)| format!("**{name}** {}", prose(value))).collect();
    format!("## Evaluation\n\n{}\n\n{}\n", facts.join(" · "), runs_line(&sheet.scores.runs))
}

fn not_reviewed(sheet: &Sheet) -> Option<String> {
    let alarm = problem_counts(&sheet.scores.runs)?;
    let (problems, omitted) = listed_problems(&sheet.evaluation);
    let mut out = format!("> **{alarm}**\n>\n");
    for problem in problems {
        let run = problem.run.map(|run| format!(" ({run})")).unwrap_or_default();
        let case = sanitise::code_span(&short_line(problem.case));
        out.push_str(&format!(
            "> - {}: {case}{run}: {}\n",
            problem.state,
            prose(&brief::text(problem.reason))
        ));
    }
    if omitted > 0 {
        out.push_str(&format!("> - and {omitted} more\n"));
    }
    Some(out)
}

/// A section with its title.
fn section_markdown(section: &Section) -> String {
    let mut parts: Vec<String> = vec![format!("### {}\n", section.title)];
    parts.extend(section.says.iter().map(|sentence| format!("{sentence}\n")));
    parts.extend(section.body.iter().map(|body| match body {
        SectionBody::Table(body_table) => table(body_table),
        SectionBody::Facts(facts) => {
            let rows: String =
                facts.iter().map(|(name, value)| format!("| {name} | {value} |\n")).collect();
            format!("| What | Figure |\n|---|---:|\n{rows}")
        }
        SectionBody::Groups(recall_groups) => groups(recall_groups),
    }));
    parts.join("\n")
}

/// Names are left-aligned, numbers right-aligned.
pub(super) fn table(table: &SectionTable) -> String {
    let rule = format!("|---|{}", "---:|".repeat(table.columns.len().saturating_sub(1)));
    let mut out = format!("| {} |\n{rule}\n", table.columns.join(" | "));
    for row in &table.rows {
        out.push_str(&format!("| {} | {} |\n", cell(&row.name), row.cells.join(" | ")));
    }
    out
}

fn groups(groups: &[RecallGroup]) -> String {
    let mut out = "| By | | Matched | Recall |\n|---|---|---:|---:|\n".to_owned();
    for group in groups {
        for (index, part) in group.parts.iter().enumerate() {
            let group_name = if index == 0 { group.by } else { "" };
            let name = cell(&part.name);
            out.push_str(&format!(
                "| {group_name} | {name} | {} | {} |\n",
                part.matched, part.recall
            ));
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
    let is_word_char = |char: char| char.is_ascii_alphanumeric() || " _".contains(char);
    let is_range_char = |char: char| char.is_ascii_digit() || ".–".contains(char);
    match text.chars().all(is_word_char) || text.chars().all(is_range_char) {
        true => text.to_owned(),
        false => sanitise::cell(text, None),
    }
}
