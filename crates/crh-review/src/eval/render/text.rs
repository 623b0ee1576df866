//! Renders an evaluation for a terminal of 100 columns, without colours.

use super::brief::short_line;
use super::run_problems::{listed_problems, problem_counts, runs_line};
use super::sections::{RecallGroup, Section, SectionBody, SectionTable, header_facts, sections};
use crate::eval::Sheet;
use crate::{columns, truncate, width};

/// Line width. Tables with intervals need more than 80 columns.
const WIDTH: usize = 100;
const INDENT: &str = "  ";
const GAP: &str = "  ";
/// Minimum width of a name. A table that is still too wide is cut on the right.
const NAME_MIN: usize = 8;

/// The evaluation as text.
pub fn text(sheet: &Sheet) -> String {
    let mut out = header(sheet);
    out.push_str(&not_reviewed(sheet));
    for section in sections(sheet) {
        out.push('\n');
        out.push_str(&section_text(&section));
    }
    out
}

fn header(sheet: &Sheet) -> String {
    let facts: Vec<String> =
        header_facts(sheet).iter().map(|(name, value)| format!("{name}: {value}")).collect();
    let mut out = wrap(&facts, " · ", "", INDENT);
    out.push_str(&sentence(&runs_line(&sheet.scores.runs)));
    out
}

fn not_reviewed(sheet: &Sheet) -> String {
    let Some(alarm) = problem_counts(&sheet.scores.runs) else { return String::new() };
    let (problems, omitted) = listed_problems(&sheet.evaluation);
    let mut out = format!("\n!! {}\n", alarm.to_uppercase());
    for problem in problems {
        let run = problem.run.map(|run| format!(" ({run})")).unwrap_or_default();
        let line_text = format!(
            "{:<10}  {}{run}: {}",
            problem.state,
            short_line(problem.case),
            short_line(problem.reason)
        );
        out.push_str(&line(INDENT, &line_text));
    }
    if omitted > 0 {
        out.push_str(&line(INDENT, &format!("and {omitted} more")));
    }
    out
}

/// A section with its title.
pub(super) fn section_text(section: &Section) -> String {
    let mut out = format!("{}\n", section.title);
    for sentence in &section.says {
        out.push_str(&width::wrap(INDENT, INDENT, sentence, WIDTH));
    }
    for (index, body) in section.body.iter().enumerate() {
        if index > 0 {
            out.push('\n');
        }
        out.push_str(&match body {
            SectionBody::Table(body_table) => table(body_table),
            SectionBody::Facts(facts) => list(facts),
            SectionBody::Groups(recall_groups) => groups(recall_groups),
        });
    }
    out
}

/// Names are left-aligned and shortened if needed, numbers right-aligned.
pub(super) fn table(table: &SectionTable) -> String {
    let heads = table.columns.iter().skip(1).enumerate();
    let widths: Vec<usize> = heads
        .map(|(index, head)| {
            let cells = table.rows.iter().filter_map(|row| row.cells.get(index));
            cells.map(|cell| columns(cell)).chain([columns(head)]).max().unwrap_or(0)
        })
        .collect();
    let names = table.rows.iter().map(|row| columns(&row.name));
    let head = table.columns.first().copied().unwrap_or_default();
    let cells_width: usize =
        widths.iter().map(|width| width + GAP.len()).sum::<usize>() + INDENT.len();
    let max_name_width = WIDTH.saturating_sub(cells_width).max(NAME_MIN);
    let name_width = names.chain([columns(head)]).max().unwrap_or(0).min(max_name_width);
    let row = |name: &str, cells: &mut dyn Iterator<Item = &str>| {
        let name = truncate(name, name_width);
        let mut out = format!("{name}{}", " ".repeat(name_width - columns(&name)));
        for (cell, width) in cells.zip(&widths) {
            let pad = " ".repeat(width.saturating_sub(columns(cell)));
            out.push_str(&format!("{GAP}{pad}{cell}"));
        }
        line(INDENT, &out)
    };
    let mut out = row(head, &mut table.columns.iter().skip(1).copied());
    for table_row in &table.rows {
        out.push_str(&row(&table_row.name, &mut table_row.cells.iter().map(String::as_str)));
    }
    out
}

fn list(facts: &[(&'static str, String)]) -> String {
    let width = facts.iter().map(|(name, _)| columns(name)).max().unwrap_or(0);
    facts
        .iter()
        .map(|(name, value)| {
            let pad = " ".repeat(width - columns(name));
            line(INDENT, &format!("{name}{pad}{GAP}{value}"))
        })
        .collect()
}

fn groups(groups: &[RecallGroup]) -> String {
    let width = groups.iter().map(|group| columns(group.by)).max().unwrap_or(0);
    let indent = format!("{INDENT}{}{GAP}", " ".repeat(width));
    let mut out = String::new();
    for group in groups {
        let parts = group.parts.iter();
        let parts = parts.map(|part| format!("{} {} ({})", part.name, part.matched, part.recall));
        let pad = " ".repeat(width - columns(group.by));
        let first = format!("{INDENT}{}{pad}{GAP}", group.by);
        out.push_str(&wrap(&parts.collect::<Vec<_>>(), " · ", &first, &indent));
    }
    out
}

/// Wraps a sentence of crh, which has no untrusted text.
pub(super) fn sentence(text: &str) -> String {
    width::wrap("", "", text, WIDTH)
}

/// Wraps pieces; a piece longer than a line is truncated.
fn wrap(pieces: &[String], separator: &str, first_prefix: &str, other_prefix: &str) -> String {
    let mut out = String::new();
    let mut current = first_prefix.to_owned();
    let mut is_empty = true;
    for piece in pieces {
        let max_piece_width = WIDTH - columns(other_prefix).max(columns(first_prefix));
        let piece = truncate(piece, max_piece_width);
        let needed_width = columns(&current) + columns(separator) + columns(&piece);
        if !is_empty && needed_width > WIDTH {
            out.push_str(current.trim_end());
            out.push('\n');
            current = other_prefix.to_owned();
            is_empty = true;
        }
        if !is_empty {
            current.push_str(separator);
        }
        current.push_str(&piece);
        is_empty = false;
    }
    out.push_str(current.trim_end());
    out.push('\n');
    out
}

/// Truncates a line.
pub(super) fn line(indent: &str, text: &str) -> String {
    format!("{}\n", truncate(&format!("{indent}{}", text.trim_end()), WIDTH))
}
