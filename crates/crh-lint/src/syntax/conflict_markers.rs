//! Merge conflicts that were committed with their markers.

use std::ops::Range;

use tree_sitter::Point;

use super::{CONFLICT_MARKER, data};
use crate::found::Found;
use crate::look::{Look, Looked};
use crate::source::Source;
use crate::{ChangedFile, paths};
use crh_syntax::Language;

/// A conflict is as long as what two people wrote about one thing.
const LINES_MAX: u32 = 2_000;
/// A file with more was never looked at by anybody; the first ones tell, and each costs a look at the tree.
const CONFLICTS_MAX: usize = 100;

/// What a line is in a conflict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Marker {
    Begin,
    /// What stands before the version that both have changed.
    Base,
    Between,
    End,
}

/// Whether the change adds a line that begins like a conflict.
pub(super) fn may_be_in(file: &ChangedFile) -> bool {
    file.added.iter().any(|line| marker(&line.text).is_some())
}

/// The conflicts that the change adds.
pub(super) fn conflicts(look: &Look<'_>) -> Looked {
    let Some(new) = &look.new else { return Looked::default() };
    let mut all = spans(look.file);
    if all.is_empty() || is_about_conflicts(look) {
        return Looked::default();
    }
    let more = all.len().saturating_sub(CONFLICTS_MAX);
    all.truncate(CONFLICTS_MAX);
    let path = new.path;
    let note = (more > 0).then(|| format!("{more} more conflicts in `{path}` are not listed"));
    let samples = if paths::is_document(path) { samples(new) } else { Vec::new() };
    let is_sample = |line: u32| samples.iter().any(|sample| sample.contains(&line));
    let conflicts =
        all.into_iter().filter(|span| !is_sample(span.0) && !is_shown(look, new, *span));
    let found = conflicts.map(|(first, last)| {
        let it = Found::new(&CONFLICT_MARKER, path, first, new.line(first)).saying(
            "A merge conflict was left in the file",
            "The markers of a merge conflict are part of the file, and both versions stand in it. Whatever reads the file \
             fails, or takes the markers for content.",
            "Decide for one of the versions, or bring them together, and take the markers out.",
        );
        Found { end: Some(last), ..it }
    });
    Looked { found: found.collect(), notes: note.into_iter().collect() }
}

/// What a line is. Seven signs, and then the end or a blank: what goes on is a drawing.
fn marker(line: &[u8]) -> Option<Marker> {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let marker = match line.first()? {
        b'<' => Marker::Begin,
        b'|' => Marker::Base,
        b'=' => Marker::Between,
        b'>' => Marker::End,
        _ => return None,
    };
    let sign = line[0];
    let (signs, rest) = line.split_at_checked(7)?;
    let goes_on = match (marker, rest) {
        (Marker::Between, rest) => !rest.is_empty(),
        (Marker::Begin | Marker::Base | Marker::End, rest) => !matches!(rest, [b' ', _, ..]),
    };
    (signs.iter().all(|it| *it == sign) && !goes_on).then_some(marker)
}

/// The first and the last line of each conflict. A line between the versions belongs to an underlined heading as well;
/// it takes one of the others to make a conflict. One of those alone is enough where a program reads the file.
fn spans(file: &ChangedFile) -> Vec<(u32, u32)> {
    let is_read_by_programs =
        Language::of_path(&file.path).is_some() || data::Format::of_path(&file.path).is_some();
    let mut spans: Vec<(u32, u32)> = Vec::new();
    // Whether the last span is still open, and where the line between the versions is.
    let (mut is_open, mut between) = (false, None);
    for line in &file.added {
        let number = line.number;
        match marker(&line.text) {
            None => {}
            Some(Marker::Begin) => {
                if is_open && between.is_none() && !is_read_by_programs {
                    spans.pop();
                }
                spans.push((number, number));
                (is_open, between) = (true, None);
            }
            Some(Marker::Base) if is_open => extend(&mut spans, number, is_open),
            Some(Marker::Base) if is_read_by_programs => {
                spans.push((number, number));
                (is_open, between) = (true, None);
            }
            Some(Marker::Base) => {}
            Some(Marker::Between) => {
                between = Some(number);
                extend(&mut spans, number, is_open);
            }
            Some(Marker::End) if is_open => {
                extend(&mut spans, number, is_open);
                // Begun and ended.
                (is_open, between) = (false, None);
            }
            Some(Marker::End) => {
                let near = between.take().filter(|it| number.abs_diff(*it) <= LINES_MAX);
                let alone = is_read_by_programs.then_some(number);
                spans.extend(near.or(alone).map(|first| (first, number)));
            }
        }
    }
    if is_open && between.is_none() && !is_read_by_programs {
        spans.pop();
    }
    spans
}

/// Moves the end of an open span.
fn extend(spans: &mut [(u32, u32)], number: u32, is_open: bool) {
    if let Some(last) = spans.last_mut().filter(|_| is_open) {
        last.1 = number;
    }
}

/// Whether the file had conflicts before, or is there to have one.
fn is_about_conflicts(look: &Look<'_>) -> bool {
    let had = look.old.as_ref().is_some_and(|old| {
        old.lines().iter().any(|line| marker(line.as_bytes()) == Some(Marker::Begin))
    });
    let path = look.file.path.to_ascii_lowercase();
    had || path.contains("conflict")
        || paths::is_sample(&path) && (look.file.before.is_none() || path.contains("merge"))
}

/// Whether the lines stand in a string or a comment that the change writes. In one that was there, a merge left them.
fn is_shown(look: &Look<'_>, new: &Source<'_>, (first, last): (u32, u32)) -> bool {
    let Some(Ok(parsed)) = new.parsed() else { return false };
    let row = |line: u32| usize::try_from(line).unwrap_or(usize::MAX).saturating_sub(1);
    let (from, to) = (Point::new(row(first), 0), Point::new(row(last), 0));
    let mut node = parsed.tree().root_node().descendant_for_point_range(from, to);
    while let Some(inner) = node {
        let kind = inner.kind();
        let is_text = ["string", "comment", "heredoc", "raw_text", "template"]
            .into_iter()
            .any(|part| kind.contains(part));
        let begins = u32::try_from(inner.start_position().row + 1).unwrap_or(u32::MAX);
        if is_text && begins < first && look.file.adds(begins) {
            return true;
        }
        node = inner.parent();
    }
    false
}

/// The lines of a document that stand between two fences. A block that is only indented cannot hold a marker, which
/// stands at the start of its line. What is never closed is a slip, and no sample.
fn samples(new: &Source<'_>) -> Vec<Range<u32>> {
    let is_asciidoc = matches!(paths::extension(new.path).as_str(), "adoc" | "asciidoc" | "asc");
    let mut samples = Vec::new();
    let mut open: Option<(u32, Fence)> = None;
    for (number, line) in (1..).zip(new.lines()) {
        let Some(fence) = Fence::of(line, is_asciidoc) else { continue };
        match &open {
            None if fence.may_open => open = Some((number, fence)),
            Some((first, opened)) if fence.closes(opened) => {
                samples.push(*first..number);
                open = None;
            }
            None | Some(_) => {}
        }
    }
    samples
}

/// A line that begins or ends a sample in a document.
struct Fence {
    sign: char,
    signs: usize,
    may_open: bool,
    may_close: bool,
}

impl Fence {
    fn of(line: &str, is_asciidoc: bool) -> Option<Self> {
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

    fn closes(&self, opened: &Self) -> bool {
        self.may_close && self.sign == opened.sign && self.signs >= opened.signs
    }
}
