//! Renders an evaluation for a terminal of 100 columns, without colours.

use super::brief::brief;
use super::sections::{Body, Group, Section, Table, about, sections};
use super::trouble::{alarm, runs_line, troubles};
use crate::eval::Sheet;
use crate::{columns, truncate};

/// Line width. Tables with intervals need more than 80 columns.
const WIDTH: usize = 100;
const INDENT: &str = "  ";
const GAP: &str = "  ";
/// Minimum width of a name. Narrower tables are cut on the right instead.
const NAME_MIN: usize = 8;

/// A table as text.
pub fn text(sheet: &Sheet) -> String {
    let mut out = header(sheet);
    out.push_str(&not_reviewed(sheet));
    for section in sections(sheet) {
        out.push('\n');
        out.push_str(&shown(&section));
    }
    out
}

fn header(sheet: &Sheet) -> String {
    let facts: Vec<String> =
        about(sheet).iter().map(|(name, value)| format!("{name} {value}")).collect();
    let mut out = wrapped(&facts, " · ", "", INDENT);
    out.push_str(&sentence(&runs_line(&sheet.scores.runs)));
    out
}

fn not_reviewed(sheet: &Sheet) -> String {
    let Some(alarm) = alarm(&sheet.scores.runs) else { return String::new() };
    let (named, more) = troubles(&sheet.evaluation);
    let mut out = format!("\n!! {}\n", alarm.to_uppercase());
    for trouble in named {
        let run = trouble.run.map(|run| format!(" ({run})")).unwrap_or_default();
        let what =
            format!("{:<10}  {}{run}: {}", trouble.state, brief(trouble.case), brief(trouble.why));
        out.push_str(&line(INDENT, &what));
    }
    if more > 0 {
        out.push_str(&line(INDENT, &format!("and {more} more")));
    }
    out
}

/// A section with its title.
pub(super) fn shown(section: &Section) -> String {
    let mut out = format!("{}\n", section.title);
    for sentence in &section.says {
        let words: Vec<String> = sentence.split(' ').map(str::to_owned).collect();
        out.push_str(&wrapped(&words, " ", INDENT, INDENT));
    }
    for (at, body) in section.body.iter().enumerate() {
        if at > 0 {
            out.push('\n');
        }
        out.push_str(&match body {
            Body::Table(of) => table(of),
            Body::Facts(facts) => list(facts),
            Body::Groups(of) => groups(of),
        });
    }
    out
}

/// Names are left-aligned and shortened if needed, numbers right-aligned.
pub(super) fn table(table: &Table) -> String {
    let heads = table.columns.iter().skip(1).enumerate();
    let widths: Vec<usize> = heads
        .map(|(at, head)| {
            let cells = table.rows.iter().filter_map(|row| row.cells.get(at));
            cells.map(|cell| columns(cell)).chain([columns(head)]).max().unwrap_or(0)
        })
        .collect();
    let names = table.rows.iter().map(|row| columns(&row.name));
    let head = table.columns.first().copied().unwrap_or_default();
    let taken: usize = widths.iter().map(|width| width + GAP.len()).sum::<usize>() + INDENT.len();
    let room = WIDTH.saturating_sub(taken).max(NAME_MIN);
    let name_width = names.chain([columns(head)]).max().unwrap_or(0).min(room);
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
    for of in &table.rows {
        out.push_str(&row(&of.name, &mut of.cells.iter().map(String::as_str)));
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

fn groups(groups: &[Group]) -> String {
    let width = groups.iter().map(|group| columns(group.by)).max().unwrap_or(0);
    let indent = format!("{INDENT}{}{GAP}", " ".repeat(width));
    let mut out = String::new();
    for group in groups {
        let parts = group.parts.iter();
        let parts = parts.map(|part| format!("{} {} ({})", part.name, part.matched, part.recall));
        let pad = " ".repeat(width - columns(group.by));
        let first = format!("{INDENT}{}{pad}{GAP}", group.by);
        out.push_str(&wrapped(&parts.collect::<Vec<_>>(), " · ", &first, &indent));
    }
    out
}

/// Wraps a fixed sentence.
pub(super) fn sentence(text: &str) -> String {
    let words: Vec<String> = text.split(' ').map(str::to_owned).collect();
    wrapped(&words, " ", "", "")
}

/// Wraps pieces; a piece longer than a line is truncated.
fn wrapped(pieces: &[String], between: &str, first: &str, others: &str) -> String {
    let mut out = String::new();
    let mut current = first.to_owned();
    let mut is_empty = true;
    for piece in pieces {
        let room = WIDTH - columns(others).max(columns(first));
        let piece = truncate(piece, room);
        let needed = columns(&current) + columns(between) + columns(&piece);
        if !is_empty && needed > WIDTH {
            out.push_str(current.trim_end());
            out.push('\n');
            current = others.to_owned();
            is_empty = true;
        }
        if !is_empty {
            current.push_str(between);
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
