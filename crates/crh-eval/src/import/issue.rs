//! Expected issue of a reversed fix, at the lines that the fix touched.

use super::ImportIssueArgs;
use crate::checked::DRAFT;
use crh_pipeline::scope::FileRole;
use crh_review::diff::{Diff, FileDiff, LineKind};
use crh_review::eval::{Expected, Span};
use crh_review::finding::{Category, Severity, Side};

/// A changed place.
#[derive(Debug, Clone, PartialEq, Eq)]
struct ChangedPlace {
    span: Span,
    what: PlaceChange,
}

/// Kind of change at a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PlaceChange {
    /// The change writes lines.
    Writes,
    /// The change only removes lines. The place is the line before them.
    RemovesLines,
    /// The change deletes the file. The place is on the old side.
    DeletesFile,
}

/// The expected issue of a change that reintroduces a bug. `roles` has the roles of the diff's
/// files. `None` if no line can show the bug.
pub(super) fn of_fix(diff: &Diff, roles: &[FileRole], args: &ImportIssueArgs) -> Option<Expected> {
    let touched = |wanted: &dyn Fn(FileRole) -> bool| -> Vec<ChangedPlace> {
        let files = diff.files().iter().zip(roles).filter(|(_, role)| wanted(**role));
        files.flat_map(|(file, _)| blocks(diff, file)).collect()
    };
    // A fix often changes its test, too, but the bug is not there.
    let mut places = touched(&|role| role == FileRole::Executable);
    if places.is_empty() {
        places = touched(&|_| true);
    }
    if places.iter().any(|place| place.what != PlaceChange::DeletesFile) {
        places.retain(|place| place.what != PlaceChange::DeletesFile);
    }
    if places.is_empty() {
        return None;
    }
    let draft = || format!("{DRAFT} what goes wrong with which input, and why");
    Some(Expected {
        category: Some(args.category.unwrap_or(Category::Bug)),
        severity: args.severity.unwrap_or(Severity::P2),
        description: args.description.clone().unwrap_or_else(draft),
        keywords: Vec::new(),
        omission: places.iter().all(|place| place.what != PlaceChange::Writes),
        spans: places.into_iter().map(|place| place.span).collect(),
        on_twin: Vec::new(),
    })
}

/// Blocks of changed lines of a file, each with the place that shows it.
fn blocks(diff: &Diff, file: &FileDiff) -> Vec<ChangedPlace> {
    let mut places = Vec::new();
    let (mut removed, mut added) = (Vec::new(), Vec::new());
    for hunk in &file.hunks {
        for line in diff.lines(hunk) {
            match line.kind {
                LineKind::Removed => removed.push(line.old),
                LineKind::Added => added.push(line.new),
                LineKind::Remark => {}
                LineKind::Context => places.extend(block(diff, file, &mut removed, &mut added)),
            }
        }
        places.extend(block(diff, file, &mut removed, &mut added));
    }
    places
}

/// Place of a finished block of changed lines.
fn block(
    diff: &Diff,
    file: &FileDiff,
    removed: &mut Vec<u32>,
    added: &mut Vec<u32>,
) -> Option<ChangedPlace> {
    let (removed, added) = (std::mem::take(removed), std::mem::take(added));
    let path = file.path.shown();
    if let (Some(first), Some(last)) = (added.first(), added.last()) {
        let span = Span::new(&path, *first, *last, Side::New)?;
        return Some(ChangedPlace { span, what: PlaceChange::Writes });
    }
    let lines = (*removed.first()?, *removed.last()?);
    let (side, (first, last), what) = match diff.counterpart(file, Side::Old, lines) {
        Some(before) => (Side::New, before, PlaceChange::RemovesLines),
        None => (Side::Old, lines, PlaceChange::DeletesFile),
    };
    Some(ChangedPlace { span: Span::new(&path, first, last, side)?, what })
}
