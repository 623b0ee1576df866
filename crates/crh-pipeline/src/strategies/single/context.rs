//! Selected context: for each changed file the lines around its changes, widened to the functions they stand in.
//!
//! Pure and the same for the same input. The files with the most changed lines come first; what does not fit into the
//! budget is left out and named.

use std::cmp::Reverse;
use std::ops::RangeInclusive;

use crate::prompts::fence;
use crate::text::numbered_line;
use crh_llm::text_tokens;
use crh_review::diff::{Diff, FileChange, FileDiff, LineKind};
use crh_syntax::{Language, SymbolKind, fallback_spans, symbols};

/// How many lines are shown before and after a changed one: the agent specification's number.
const AROUND: u32 = 20;
/// A longer function is not shown whole: two screens of code are what a reader holds in mind.
const FUNCTION_LINES: u32 = 200;
/// How much of the head of such a function is shown: its name and its arguments.
const HEAD_LINES: u32 = 3;
/// How much of a line is shown: what is longer was written by a program.
const LINE_CHARS: usize = 500;
/// What the fences say of what is in them.
const KIND: &str = "context";
/// Stands where lines are left out.
const GAP: &str = "    …\n";
/// How many files are named in a note.
const NAMED: usize = 5;

/// A changed file, as far as choosing needs to know it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ChangedFile {
    /// Its path after the change.
    pub(super) path: String,
    /// How many lines were added and removed.
    changed: u64,
    /// The changed lines, counted after the change; a removed line is where it was.
    touched: Vec<u32>,
    /// The lines that the diff shows, if it was shown whole.
    in_diff: Vec<RangeInclusive<u32>>,
}

/// How much of a file's diff the reviewer is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DiffShown {
    /// All of it.
    Whole,
    /// A part, or nothing.
    NotWhole,
}

/// What was chosen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Selected {
    /// The pieces, each in a fence; empty if the diff shows everything there is to see.
    pub(super) text: String,
    /// What did not fit.
    pub(super) notes: Vec<String>,
}

impl ChangedFile {
    /// A file of a diff; none if there is nothing after the change that the diff does not show.
    pub(super) fn of(diff: &Diff, file: &FileDiff, shown: DiffShown) -> Option<Self> {
        match (file.change, shown) {
            (FileChange::Deleted, _) | (FileChange::Added, DiffShown::Whole) => return None,
            (
                FileChange::Added | FileChange::Modified | FileChange::Renamed | FileChange::Copied,
                _,
            ) => {}
        }
        let spans = file.hunks.iter().map(|hunk| hunk.new).filter(|span| span.len > 0);
        let spans = spans.map(|span| span.start..=span.start.saturating_add(span.len - 1));
        Some(Self {
            path: file.path.shown().into_owned(),
            changed: u64::from(file.additions) + u64::from(file.deletions),
            touched: touched(diff, file),
            in_diff: match shown {
                DiffShown::Whole => spans.collect(),
                DiffShown::NotWhole => Vec::new(),
            },
        })
    }
}

/// Chooses within a budget of tokens. `head` gives the text of a file after the change, if there is one to read.
pub(super) fn selected(
    mut files: Vec<ChangedFile>,
    budget: u64,
    head: impl Fn(&str) -> Option<String>,
) -> Selected {
    // The sort is stable: equals stay in the order of the diff.
    files.sort_by_key(|file| Reverse(file.changed));
    let mut pieces = Vec::new();
    let mut left_out = Vec::new();
    let mut left = budget;
    for file in files {
        let Some(text) = head(&file.path) else { continue };
        let (piece, missing) = fitting(&file, &text, left);
        if let Some(piece) = piece {
            // One more for the newline between two pieces.
            left = left.saturating_sub(text_tokens(&piece) + 1);
            pieces.push(piece);
        }
        if missing > 0 {
            left_out.push(file.path);
        }
    }
    Selected { text: pieces.join("\n"), notes: note(&left_out).into_iter().collect() }
}

/// The changed lines, counted after the change.
fn touched(diff: &Diff, file: &FileDiff) -> Vec<u32> {
    let mut touched = Vec::new();
    for hunk in &file.hunks {
        let mut next = hunk.new.start.max(1);
        for line in diff.lines(hunk) {
            match line.kind {
                LineKind::Added => touched.push(line.new),
                LineKind::Removed => touched.push(next),
                LineKind::Context | LineKind::Remark => {}
            }
            if line.kind.in_new() {
                next = line.new.saturating_add(1);
            }
        }
    }
    touched.sort_unstable();
    touched.dedup();
    touched
}

/// As many of a file's places as fit, in a fence, and how many do not.
fn fitting(file: &ChangedFile, text: &str, budget: u64) -> (Option<String>, usize) {
    let lines: Vec<&str> = text.lines().collect();
    let places = places(file, text, u32::try_from(lines.len()).unwrap_or(u32::MAX));
    let mut body = format!("{}\n", file.path);
    let mut tokens = text_tokens(&fence(KIND, &body));
    let mut shown = 0;
    for place in &places {
        let gap = if shown > 0 { GAP } else { "" };
        let piece = format!("{gap}{}", numbered(&lines, place.clone()));
        tokens = tokens.saturating_add(text_tokens(&piece));
        if tokens > budget {
            break;
        }
        body.push_str(&piece);
        shown += 1;
    }
    ((shown > 0).then(|| fence(KIND, &body)), places.len() - shown)
}

/// The lines to show, in order, none twice.
fn places(file: &ChangedFile, text: &str, total: u32) -> Vec<RangeInclusive<u32>> {
    let functions = functions(Language::of_path(&file.path), text);
    let mut ranges = Vec::new();
    for line in file.touched.iter().map(|line| (*line).min(total)).filter(|line| *line > 0) {
        let (mut first, mut last) =
            (line.saturating_sub(AROUND).max(1), line.saturating_add(AROUND).min(total));
        // Sorted by their starts, outer before inner: the last one around the line is the innermost.
        let around = functions.iter().rev().find(|span| span.contains(&line));
        match around.map(|span| (*span.start(), (*span.end()).min(total))) {
            Some((start, end)) if end.saturating_sub(start) < FUNCTION_LINES => {
                (first, last) = (first.min(start), last.max(end));
            }
            Some((start, _)) => ranges.push(start..=(start + HEAD_LINES - 1).min(total)),
            None => {}
        }
        ranges.push(first..=last);
    }
    let mut merged = merged(ranges);
    merged.retain(|range| !file.in_diff.iter().any(|shown| is_inside(range, shown)));
    merged
}

/// The lines of each function, parsed or else guessed.
fn functions(language: Option<Language>, text: &str) -> Vec<RangeInclusive<u32>> {
    match language.map(|language| symbols(language, text)) {
        Some(Ok(symbols)) => {
            let functions = symbols.all().iter().filter(|symbol| match symbol.kind {
                SymbolKind::Function | SymbolKind::Method => true,
                SymbolKind::Type | SymbolKind::Module => false,
            });
            functions.map(|symbol| symbol.start..=symbol.end).collect()
        }
        Some(Err(_)) | None => {
            let mut spans: Vec<_> =
                fallback_spans(text).into_iter().map(|span| span.start..=span.end).collect();
            spans.sort_by_key(|span| (*span.start(), Reverse(*span.end())));
            spans
        }
    }
}

/// Ranges in order, those that touch each other as one.
fn merged(mut ranges: Vec<RangeInclusive<u32>>) -> Vec<RangeInclusive<u32>> {
    ranges.sort_by_key(|range| (*range.start(), *range.end()));
    let mut merged: Vec<RangeInclusive<u32>> = Vec::new();
    for range in ranges {
        match merged.last_mut() {
            Some(last) if *range.start() <= last.end().saturating_add(1) => {
                *last = *last.start()..=*last.end().max(range.end());
            }
            Some(_) | None => merged.push(range),
        }
    }
    merged
}

fn is_inside(inner: &RangeInclusive<u32>, outer: &RangeInclusive<u32>) -> bool {
    outer.contains(inner.start()) && outer.contains(inner.end())
}

/// Lines with their numbers.
pub(super) fn numbered(lines: &[&str], place: RangeInclusive<u32>) -> String {
    let mut out = String::new();
    for number in place {
        let line = (number as usize).checked_sub(1).and_then(|at| lines.get(at));
        let Some(line) = line else { break };
        out.push_str(&numbered_line(number, line, LINE_CHARS));
    }
    out
}

fn note(left_out: &[String]) -> Option<String> {
    let named: Vec<String> = left_out.iter().take(NAMED).map(|path| format!("`{path}`")).collect();
    let more = match left_out.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    (!named.is_empty()).then(|| {
        let named = named.join(", ");
        format!(
            "the token budget had no room for all of the code around the changes in {named}{more}"
        )
    })
}

#[cfg(test)]
mod tests;
