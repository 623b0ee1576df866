//! Splits a change into parts: files, and pieces of files that are too large for one reviewer.

use crate::assignment::DiffPart;
use crate::change_under_review::ChangeUnderReview;
use crh_review::diff::{Diff, FileDiff};

/// Maximum diff size of one part: about 45,000 tokens, or two tool replies. Models read longer
/// texts less carefully, and small contexts do not hold them.
pub(crate) const PART_CHARS: usize = 150_000;

/// Every file under review, in diff order. A file that changes its type is in the diff twice and
/// here once.
pub(crate) fn whole_files(change: &ChangeUnderReview) -> Vec<DiffPart> {
    let mut parts: Vec<DiffPart> = Vec::new();
    for (file, _) in change.files() {
        let part = DiffPart::whole(file.path.shown());
        if parts.last() != Some(&part) {
            parts.push(part);
        }
    }
    parts
}

/// Parts for these files, in diff order. A file that is too large is split, between hunks if
/// possible. Paths outside the scope are skipped.
pub(crate) fn parts_of(change: &ChangeUnderReview, paths: &[String]) -> Vec<DiffPart> {
    let mut parts: Vec<DiffPart> = Vec::new();
    for (scope, file) in change.files() {
        let path = scope.path.shown();
        if !paths.iter().any(|asked| *asked == path) {
            continue;
        }
        if change.diff.patch(file).len() <= PART_CHARS {
            let part = DiffPart::whole(path);
            // A file that changes its type is in the diff twice.
            if parts.last() != Some(&part) {
                parts.push(part);
            }
            continue;
        }
        let pieces = split_diff(&change.diff, file, PART_CHARS);
        parts.extend(
            pieces
                .into_iter()
                .map(|lines| DiffPart { path: path.to_string(), diff_lines: Some(lines) }),
        );
    }
    parts
}

/// Splits the diff of a file into line ranges of at most `max_bytes`. A longer line is a piece of
/// its own. A piece ends before a hunk if it is then at least half full. Otherwise it ends between
/// two lines of a hunk.
pub(crate) fn split_diff(diff: &Diff, file: &FileDiff, max_bytes: usize) -> Vec<(u32, u32)> {
    let hunks: Vec<u32> = file.hunks.iter().map(|hunk| hunk.first_line).collect();
    let lines = diff.patch(file).split_inclusive(|byte| *byte == b'\n');
    let mut pieces = Vec::new();
    let (mut first, mut size) = (file.first_line(), 0);
    let mut last = first;
    // First line of the last hunk that starts in this piece, and the bytes of the piece before it.
    let mut hunk: Option<(u32, usize)> = None;
    for (number, line) in (file.first_line()..).zip(lines) {
        if hunks.binary_search(&number).is_ok() {
            hunk = Some((number, size));
        }
        while size > 0 && size + line.len() > max_bytes {
            let cut_at_hunk = hunk.take().filter(|(_, bytes_before)| bytes_before * 2 >= max_bytes);
            let (next_first, cut_size) = cut_at_hunk.unwrap_or((number, size));
            pieces.push((first, next_first - 1));
            (first, size) = (next_first, size - cut_size);
        }
        size += line.len();
        last = number;
    }
    pieces.push((first, last));
    pieces
}
