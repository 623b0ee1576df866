//! `crh diff number|map|files`: shows how crh reads a diff, for scripts and debugging.

use std::io::Write;
use std::path::Path;

use serde::Serialize;

use crate::cli::{DiffCommand, DiffMapArgs, SideArg};
use crate::failure::{Failure, FailureKind, OrFail};
use crate::{input, ui};
use crh_review::diff::{Diff, FileDiff, LineMapEntry, MappedLine};
use crh_review::finding::Side;
use crh_review::schema::{FileMeta, FileRow};
use crh_review::{stable_json, stable_json_line};

/// Result of a line lookup.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct LineLookup {
    diff_line: u32,
    path: String,
    #[serde(flatten)]
    entry: LineMapEntry,
    old_line: Option<u32>,
    new_line: Option<u32>,
}

pub(crate) fn run(command: DiffCommand) -> Result<(), Failure> {
    let diff = input::diff(Path::new("-"))?;
    match command {
        DiffCommand::Number => number(&diff),
        DiffCommand::Files => files(&diff),
        DiffCommand::Map(DiffMapArgs { place: None, .. }) => map(&diff),
        DiffCommand::Map(DiffMapArgs { place: Some(place), side }) => look_up(&diff, &place, side),
    }
}

/// Writes line by line, to keep memory low.
fn number(diff: &Diff) -> Result<(), Failure> {
    ui::result(|out| {
        for (number, line) in diff.numbered_lines() {
            write!(out, "{number}  ")?;
            out.write_all(line)?;
        }
        Ok(())
    })
}

fn files(diff: &Diff) -> Result<(), Failure> {
    let rows: Vec<FileRow> = diff.files().iter().map(FileRow::from_file).collect();
    ui::result_text(&stable_json(&rows).or_fail(FailureKind::Bug)?)
}

/// Writes file by file, to keep memory low.
fn map(diff: &Diff) -> Result<(), Failure> {
    let mut json_error = None;
    ui::result(|out| {
        for (index, file) in diff.files().iter().enumerate() {
            let meta = FileMeta { row: FileRow::from_file(file), line_map: diff.line_map(file) };
            out.write_all(if index == 0 { b"[\n" } else { b",\n" })?;
            match stable_json(&meta) {
                Ok(text) => write_indented(out, &text)?,
                Err(error) => json_error = Some(error),
            }
        }
        out.write_all(if diff.files().is_empty() { b"[]\n" } else { b"\n]\n" })
    })?;
    json_error.map_or(Ok(()), Err).or_fail(FailureKind::Bug)
}

/// Writes a list element with two blanks of indentation and without its last newline.
fn write_indented(out: &mut dyn Write, text: &str) -> std::io::Result<()> {
    for (index, line) in text.lines().enumerate() {
        out.write_all(if index == 0 { b"  " } else { b"\n  " })?;
        out.write_all(line.as_bytes())?;
    }
    Ok(())
}

fn look_up(diff: &Diff, position: &str, side: SideArg) -> Result<(), Failure> {
    let (path, line) = if let Ok(number) = position.parse() {
        let (file, line) = diff.locate(number).ok_or_else(|| {
            Failure::usage(format!("line {number} of the diff is not inside a hunk"))
                .hint("`crh diff number` shows line numbers")
        })?;
        (file.path.shown().into_owned(), line)
    } else {
        let (path, line) = position
            .rsplit_once(':')
            .and_then(|(path, line)| Some((path, line.parse().ok()?)))
            .ok_or_else(|| {
                Failure::usage(format!("`{position}` is neither a line number nor `PATH:LINE`"))
                    .hint("write `42` for a line of the diff, `src/a.rs:10` for a line of a file")
            })?;
        (path.to_owned(), find_line(diff, path, line, side)?)
    };
    let nonzero = |file_line: u32| Some(file_line).filter(|line| *line > 0);
    let lookup = LineLookup {
        diff_line: line.number,
        path,
        entry: line.entry(),
        old_line: nonzero(line.old),
        new_line: nonzero(line.new),
    };
    ui::result_text(&stable_json_line(&lookup).or_fail(FailureKind::Bug)?)
}

fn find_line(diff: &Diff, path: &str, line: u32, side: SideArg) -> Result<MappedLine, Failure> {
    let side = match side {
        SideArg::New => Side::New,
        SideArg::Old => Side::Old,
    };
    // A file that changes its type occurs twice; a renamed file has another old path.
    let has_path = |file: &&FileDiff| {
        let old_path = file.old_path.as_ref().filter(|_| side == Side::Old).unwrap_or(&file.path);
        file.path.shown() == path || old_path.shown() == path
    };
    let mut files = diff.files().iter().filter(has_path).peekable();
    if files.peek().is_none() {
        return Err(Failure::usage(format!("`{path}` is not in the diff"))
            .hint("`crh diff files` lists the files"));
    }
    let mapped_line = files.find_map(|file| {
        let map = diff.line_map(file);
        map.number_of(side, line).and_then(|number| map.get(number)).copied()
    });
    mapped_line.ok_or_else(|| {
        Failure::usage(format!(
            "the diff does not contain line {line} of `{path}` on the {side} side"
        ))
        .hint("only lines inside hunks are mapped; use `--side old` for lines of the old file")
    })
}
