//! Selects context code: the lines around each change, extended to the enclosing function.
//!
//! Deterministic. Files with the most changed lines come first; files that do not fit into the
//! budget are named in a note.

use std::cmp::Reverse;
use std::ops::RangeInclusive;

use crate::prompts::fence;
use crate::text::numbered_line;
use crh_llm::text_tokens;
use crh_review::diff::{Diff, FileChange, FileDiff, LineKind};
use crh_syntax::{Language, SymbolKind, fallback_spans, symbols};

/// Lines before and after a changed line. The agent specification prescribes the number.
const LINES_AROUND: u32 = 20;
/// Maximum lines of a function that is shown completely.
const FUNCTION_LINES_MAX: u32 = 200;
/// Lines of the head of a long function: name and arguments.
const HEAD_LINES: u32 = 3;
/// Maximum characters of a line. Longer lines are cut, since they are mostly generated.
const LINE_CHARS: usize = 500;
/// Kind of the fences.
const FENCE_KIND: &str = "context";
/// Marks omitted lines.
const GAP: &str = "    …\n";
/// Maximum files in a note.
const NAMED_FILES_MAX: usize = 5;

/// A changed file, for the selection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ContextFile {
    /// Its path after the change.
    pub(super) path: String,
    /// Number of added and removed lines.
    change_size: u64,
    /// Changed lines at head. A removed line has the position where it was.
    changed_lines: Vec<u32>,
    /// Lines that the diff shows, if it is shown completely.
    diff_ranges: Vec<RangeInclusive<u32>>,
}

/// How much of a file's diff the prompt shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DiffShown {
    /// The whole diff.
    Whole,
    /// A part of the diff, or nothing.
    NotWhole,
}

/// Selected code.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct SelectedContext {
    /// Fenced pieces. Empty if the diff shows everything.
    pub(super) text: String,
    /// A note on files that did not fit.
    pub(super) notes: Vec<String>,
}

impl ContextFile {
    /// A file of the diff. None if the diff shows all of it.
    pub(super) fn from_diff(diff: &Diff, file: &FileDiff, diff_shown: DiffShown) -> Option<Self> {
        match (file.change, diff_shown) {
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
            change_size: u64::from(file.additions) + u64::from(file.deletions),
            changed_lines: touched_lines(diff, file),
            diff_ranges: match diff_shown {
                DiffShown::Whole => spans.collect(),
                DiffShown::NotWhole => Vec::new(),
            },
        })
    }
}

/// Selects context within a token budget. `head` returns the text of a file at head.
pub(super) fn select_context(
    mut files: Vec<ContextFile>,
    budget: u64,
    head: impl Fn(&str) -> Option<String>,
) -> SelectedContext {
    // The sort is stable: ties keep the diff order.
    files.sort_by_key(|file| Reverse(file.change_size));
    let mut pieces = Vec::new();
    let mut left_out_paths = Vec::new();
    let mut tokens_left = budget;
    for file in files {
        let Some(text) = head(&file.path) else { continue };
        let (piece, missing_ranges) = fit_file(&file, &text, tokens_left);
        if let Some(piece) = piece {
            // One more for the newline between two pieces.
            tokens_left = tokens_left.saturating_sub(text_tokens(&piece) + 1);
            pieces.push(piece);
        }
        if missing_ranges > 0 {
            left_out_paths.push(file.path);
        }
    }
    SelectedContext {
        text: pieces.join("\n"),
        notes: left_out_note(&left_out_paths).into_iter().collect(),
    }
}

/// Changed lines at head.
fn touched_lines(diff: &Diff, file: &FileDiff) -> Vec<u32> {
    let mut changed_lines = Vec::new();
    for hunk in &file.hunks {
        let mut next = hunk.new.start.max(1);
        for line in diff.lines(hunk) {
            match line.kind {
                LineKind::Added => changed_lines.push(line.new),
                LineKind::Removed => changed_lines.push(next),
                LineKind::Context | LineKind::Remark => {}
            }
            if line.kind.in_new() {
                next = line.new.saturating_add(1);
            }
        }
    }
    changed_lines.sort_unstable();
    changed_lines.dedup();
    changed_lines
}

/// The ranges of a file that fit into the budget, fenced, and the number of ranges that do not fit.
fn fit_file(file: &ContextFile, text: &str, budget: u64) -> (Option<String>, usize) {
    let lines: Vec<&str> = text.lines().collect();
    let ranges = context_ranges(file, text, u32::try_from(lines.len()).unwrap_or(u32::MAX));
    let mut body = format!("{}\n", file.path);
    let mut tokens = text_tokens(&fence(FENCE_KIND, &body));
    let mut shown_ranges = 0;
    for range in &ranges {
        let gap = if shown_ranges > 0 { GAP } else { "" };
        let piece = format!("{gap}{}", number_lines(&lines, range.clone()));
        tokens = tokens.saturating_add(text_tokens(&piece));
        if tokens > budget {
            break;
        }
        body.push_str(&piece);
        shown_ranges += 1;
    }
    ((shown_ranges > 0).then(|| fence(FENCE_KIND, &body)), ranges.len() - shown_ranges)
}

/// Line ranges to show, sorted and disjoint.
fn context_ranges(file: &ContextFile, text: &str, total: u32) -> Vec<RangeInclusive<u32>> {
    let functions = functions(Language::from_path(&file.path), text);
    let mut ranges = Vec::new();
    for line in file.changed_lines.iter().map(|line| (*line).min(total)).filter(|line| *line > 0) {
        let (mut first, mut last) = (
            line.saturating_sub(LINES_AROUND).max(1),
            line.saturating_add(LINES_AROUND).min(total),
        );
        // Sorted by start, outer before inner, so the last match is the innermost.
        let enclosing_function = functions.iter().rev().find(|span| span.contains(&line));
        match enclosing_function.map(|span| (*span.start(), (*span.end()).min(total))) {
            Some((start, end)) if end.saturating_sub(start) < FUNCTION_LINES_MAX => {
                (first, last) = (first.min(start), last.max(end));
            }
            Some((start, _)) => ranges.push(start..=(start + HEAD_LINES - 1).min(total)),
            None => {}
        }
        ranges.push(first..=last);
    }
    let mut merged = merge_ranges(ranges);
    merged.retain(|range| !file.diff_ranges.iter().any(|shown| is_inside(range, shown)));
    merged
}

/// Line ranges of functions, parsed or guessed.
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

/// Sorts ranges and merges adjacent ones.
fn merge_ranges(mut ranges: Vec<RangeInclusive<u32>>) -> Vec<RangeInclusive<u32>> {
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
pub(super) fn number_lines(lines: &[&str], range: RangeInclusive<u32>) -> String {
    let mut out = String::new();
    for number in range {
        let line = (number as usize).checked_sub(1).and_then(|index| lines.get(index));
        let Some(line) = line else { break };
        out.push_str(&numbered_line(number, line, LINE_CHARS));
    }
    out
}

fn left_out_note(left_out: &[String]) -> Option<String> {
    let quoted_paths: Vec<String> =
        left_out.iter().take(NAMED_FILES_MAX).map(|path| format!("`{path}`")).collect();
    let more = match left_out.len().saturating_sub(NAMED_FILES_MAX) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    (!quoted_paths.is_empty()).then(|| {
        let named = quoted_paths.join(", ");
        format!("the token budget is too small for all code around the changes in {named}{more}")
    })
}

#[cfg(test)]
mod tests;
