//! `crh diff number|map|files`: what a diff says, for scripts and for people who debug a review.

use std::path::Path;

use crh_review::diff::Diff;
use crh_review::diff::MappedLine;
use crh_review::diff::Place;
use crh_review::finding::Side;
use crh_review::schema::FileMeta;
use crh_review::schema::FileRow;
use crh_review::stable_json;
use crh_review::stable_json_line;
use serde::Serialize;

use crate::cli::DiffCommand;
use crate::cli::MapArgs;
use crate::cli::SideArg;
use crate::failure::Failure;
use crate::failure::Kind;
use crate::failure::OrFail;
use crate::input;
use crate::ui;

/// The answer to one lookup, whichever way it went.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Looked {
    diff_line: u32,
    path: String,
    #[serde(flatten)]
    place: Place,
}

pub(crate) fn run(command: DiffCommand) -> Result<(), Failure> {
    let diff = input::diff(Path::new("-"))?;
    match command {
        DiffCommand::Number => number(&diff),
        DiffCommand::Files => files(&diff),
        DiffCommand::Map(MapArgs { place: None, .. }) => map(&diff),
        DiffCommand::Map(MapArgs { place: Some(place), side }) => look_up(&diff, &place, side),
    }
}

/// Line by line, so that the numbered text is never in memory as a whole.
fn number(diff: &Diff) -> Result<(), Failure> {
    ui::result(|out| {
        for (number, line) in diff.numbered() {
            write!(out, "{number}  ")?;
            out.write_all(line)?;
        }
        Ok(())
    })
}

fn files(diff: &Diff) -> Result<(), Failure> {
    let rows: Vec<FileRow> = diff.files().iter().map(FileRow::of).collect();
    ui::result_text(&stable_json(&rows).or_fail(Kind::Bug)?)
}

fn map(diff: &Diff) -> Result<(), Failure> {
    let meta = |file| FileMeta { row: FileRow::of(file), line_map: diff.line_map(file) };
    let metas: Vec<FileMeta> = diff.files().iter().map(meta).collect();
    ui::result_text(&stable_json(&metas).or_fail(Kind::Bug)?)
}

fn look_up(diff: &Diff, place: &str, side: SideArg) -> Result<(), Failure> {
    let (path, line) = if let Ok(number) = place.parse() {
        let (file, line) = diff.locate(number).ok_or_else(|| {
            Failure::usage(format!("line {number} of the diff is not inside a hunk"))
                .hint("`crh diff number` shows the numbers")
        })?;
        (file.path.shown().into_owned(), line)
    } else {
        let (path, line) = place
            .rsplit_once(':')
            .and_then(|(path, line)| Some((path, line.parse().ok()?)))
            .ok_or_else(|| {
                Failure::usage(format!("`{place}` is neither a line number nor `PATH:LINE`"))
                    .hint("write `42` for a line of the diff, `src/a.rs:10` for a line of a file")
            })?;
        (path.to_owned(), in_file(diff, path, line, side)?)
    };
    let looked = Looked { diff_line: line.number, path, place: line.place() };
    ui::result_text(&stable_json_line(&looked).or_fail(Kind::Bug)?)
}

fn in_file(diff: &Diff, path: &str, line: u32, side: SideArg) -> Result<MappedLine, Failure> {
    let side = match side {
        SideArg::New => Side::New,
        SideArg::Old => Side::Old,
    };
    let file = diff.file(path).ok_or_else(|| {
        Failure::usage(format!("`{path}` is not in the diff"))
            .hint("`crh diff files` lists the files")
    })?;
    let map = diff.line_map(file);
    map.number_of(side, line).and_then(|number| map.get(number)).copied().ok_or_else(|| {
        Failure::usage(format!("the diff does not show line {line} of `{path}` on the {side} side"))
            .hint("only lines inside hunks are mapped; `--side old` counts in the old file")
    })
}
