//! Committed merge conflict markers.

use std::ops::Range;

use tree_sitter::Point;

use super::{CONFLICT_MARKER, data_files};
use crate::file_context::{FileContext, FileFindings};
use crate::findings::FindingDraft;
use crate::source::SourceText;
use crate::{ChangedFile, paths};
use crh_syntax::Language;

/// Maximum lines from `=======` to `>>>>>>>` of one conflict.
const CONFLICT_LINES_MAX: u32 = 2_000;
/// Maximum conflicts listed per file; each requires a lookup in the tree.
const CONFLICTS_MAX: usize = 100;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ConflictMarker {
    Begin,
    /// Starts the common ancestor's version.
    Base,
    Separator,
    End,
}

/// Whether the change adds a line that looks like a conflict marker.
pub(super) fn may_have_conflict(file: &ChangedFile) -> bool {
    file.added.iter().any(|line| marker(&line.text).is_some())
}

/// Reports the conflicts that the change adds.
pub(super) fn conflicts(ctx: &FileContext<'_>) -> FileFindings {
    let Some(new) = &ctx.new else { return FileFindings::default() };
    let mut spans = conflict_spans(ctx.file);
    if spans.is_empty() || is_about_conflicts(ctx) {
        return FileFindings::default();
    }
    let omitted = spans.len().saturating_sub(CONFLICTS_MAX);
    spans.truncate(CONFLICTS_MAX);
    let path = new.path;
    let note =
        (omitted > 0).then(|| format!("{omitted} more conflicts in `{path}` are not listed"));
    let samples = if paths::is_document(path) { fenced_samples(new) } else { Vec::new() };
    let is_sample = |line: u32| samples.iter().any(|sample| sample.contains(&line));
    let reported_spans =
        spans.into_iter().filter(|span| !is_sample(span.0) && !is_in_new_text(ctx, new, *span));
    let findings = reported_spans.map(|(first, last)| {
        let draft = FindingDraft::new(&CONFLICT_MARKER, path, first, new.line(first)).with_text(
            "A merge conflict was left in the file",
            "The markers of a merge conflict are part of the file, and both versions stand in it. Programs that read \
             the file fail, or take the markers for content.",
            "Decide for one of the versions, or bring them together, and take the markers out.",
        );
        FindingDraft { end: Some(last), ..draft }
    });
    FileFindings {
        findings: findings.collect(),
        notes: note.into_iter().collect(),
        abort_reason: None,
    }
}

/// Parses a marker: `=======` alone, or seven other signs, a blank and text. Anything else is a
/// drawing.
fn marker(line: &[u8]) -> Option<ConflictMarker> {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let marker = match line.first()? {
        b'<' => ConflictMarker::Begin,
        b'|' => ConflictMarker::Base,
        b'=' => ConflictMarker::Separator,
        b'>' => ConflictMarker::End,
        _ => return None,
    };
    let sign = line[0];
    let (signs, rest) = line.split_at_checked(7)?;
    let has_other_text = match (marker, rest) {
        (ConflictMarker::Separator, rest) => !rest.is_empty(),
        (ConflictMarker::Begin | ConflictMarker::Base | ConflictMarker::End, rest) => {
            !matches!(rest, [b' ', _, ..])
        }
    };
    (signs.iter().all(|it| *it == sign) && !has_other_text).then_some(marker)
}

/// First and last line of each conflict. `=======` also underlines headings, so a conflict needs
/// another marker as well. In files that programs read, one marker other than `=======` is enough.
fn conflict_spans(file: &ChangedFile) -> Vec<(u32, u32)> {
    let is_read_by_programs = Language::from_path(&file.path).is_some()
        || data_files::DataFormat::from_path(&file.path).is_some();
    let mut spans: Vec<(u32, u32)> = Vec::new();
    // Whether the last span is open, and the line of its `=======`.
    let (mut is_open, mut separator_line) = (false, None);
    for line in &file.added {
        let number = line.number;
        match marker(&line.text) {
            None => {}
            Some(ConflictMarker::Begin) => {
                if is_open && separator_line.is_none() && !is_read_by_programs {
                    spans.pop();
                }
                spans.push((number, number));
                (is_open, separator_line) = (true, None);
            }
            Some(ConflictMarker::Base) if is_open => extend_last_span(&mut spans, number, is_open),
            Some(ConflictMarker::Base) if is_read_by_programs => {
                spans.push((number, number));
                (is_open, separator_line) = (true, None);
            }
            Some(ConflictMarker::Base) => {}
            Some(ConflictMarker::Separator) => {
                separator_line = Some(number);
                extend_last_span(&mut spans, number, is_open);
            }
            Some(ConflictMarker::End) if is_open => {
                extend_last_span(&mut spans, number, is_open);
                // The conflict is complete.
                (is_open, separator_line) = (false, None);
            }
            Some(ConflictMarker::End) => {
                let near_separator =
                    separator_line.take().filter(|it| number.abs_diff(*it) <= CONFLICT_LINES_MAX);
                let single_marker = is_read_by_programs.then_some(number);
                spans.extend(near_separator.or(single_marker).map(|first| (first, number)));
            }
        }
    }
    if is_open && separator_line.is_none() && !is_read_by_programs {
        spans.pop();
    }
    spans
}

fn extend_last_span(spans: &mut [(u32, u32)], number: u32, is_open: bool) {
    if let Some(last_span) = spans.last_mut().filter(|_| is_open) {
        last_span.1 = number;
    }
}

/// Whether the file contained conflicts before the change, or is about conflicts: by its path, or
/// as a new sample.
fn is_about_conflicts(ctx: &FileContext<'_>) -> bool {
    let had_conflict = ctx.old.as_ref().is_some_and(|old| {
        old.lines().iter().any(|line| marker(line.as_bytes()) == Some(ConflictMarker::Begin))
    });
    let path = ctx.file.path.to_ascii_lowercase();
    had_conflict
        || path.contains("conflict")
        || paths::is_sample(&path) && (ctx.file.old_path.is_none() || path.contains("merge"))
}

/// Whether the lines are in a string or comment that the change adds. In a string or comment that
/// existed before, a merge left the markers.
fn is_in_new_text(ctx: &FileContext<'_>, new: &SourceText<'_>, (first, last): (u32, u32)) -> bool {
    let Some(Ok(syntax_tree)) = new.syntax_tree() else { return false };
    let row = |line: u32| usize::try_from(line).unwrap_or(usize::MAX).saturating_sub(1);
    let (from, to) = (Point::new(row(first), 0), Point::new(row(last), 0));
    let mut node = syntax_tree.tree().root_node().descendant_for_point_range(from, to);
    while let Some(ancestor) = node {
        let kind = ancestor.kind();
        let is_text = ["string", "comment", "heredoc", "raw_text", "template"]
            .into_iter()
            .any(|part| kind.contains(part));
        let start_line = u32::try_from(ancestor.start_position().row + 1).unwrap_or(u32::MAX);
        if is_text && start_line < first && ctx.file.adds(start_line) {
            return true;
        }
        node = ancestor.parent();
    }
    false
}

/// Line ranges of fenced blocks in a document. An indented block cannot contain a marker, which
/// starts its line. Unclosed fences are ignored.
fn fenced_samples(new: &SourceText<'_>) -> Vec<Range<u32>> {
    let is_asciidoc = matches!(paths::extension(new.path).as_str(), "adoc" | "asciidoc" | "asc");
    let mut samples = Vec::new();
    let mut open_fence: Option<(u32, DocumentFence)> = None;
    for (number, line) in (1..).zip(new.lines()) {
        let Some(fence) = DocumentFence::parse(line, is_asciidoc) else { continue };
        match &open_fence {
            None if fence.may_open => open_fence = Some((number, fence)),
            Some((first, opening_fence)) if fence.closes(opening_fence) => {
                samples.push(*first..number);
                open_fence = None;
            }
            None | Some(_) => {}
        }
    }
    samples
}

/// A line that opens or closes a block in a document.
struct DocumentFence {
    sign: char,
    signs: usize,
    may_open: bool,
    may_close: bool,
}

impl DocumentFence {
    fn parse(line: &str, is_asciidoc: bool) -> Option<Self> {
        let line = line.trim();
        let sign = line.chars().next()?;
        let rest = line.trim_start_matches(sign);
        let signs = line.len() - rest.len();
        let may_close = rest.is_empty();
        let may_open = match sign {
            '`' => signs >= 3 && !rest.contains('`'),
            '~' => signs >= 3,
            '-' | '.' => is_asciidoc && signs >= 4 && may_close,
            _ => return None,
        };
        Some(Self { sign, signs, may_open, may_close })
    }

    fn closes(&self, opening_fence: &Self) -> bool {
        self.may_close && self.sign == opening_fence.sign && self.signs >= opening_fence.signs
    }
}
