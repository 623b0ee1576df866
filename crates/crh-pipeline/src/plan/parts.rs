//! Parts of a change: files, and pieces of files that are too large for one reviewer.

use super::Part;
use crate::subject::Subject;
use crh_review::diff::{Diff, FileDiff};

/// The most characters of one file's diff that a reviewer should read: some 45,000 tokens, two replies of a tool. What comes
/// after more than that is read with less care, and small contexts do not hold it.
pub(crate) const PART_CHARS: usize = 150_000;

/// The parts that make up these files, in the order of the diff. A file whose diff is too large for one reviewer becomes
/// several parts, cut between hunks where that can be. A path that is not under review has no part.
pub fn parts_of(subject: &Subject, paths: &[String]) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    for (scope, file) in subject.files() {
        let path = scope.path.shown();
        if !paths.iter().any(|asked| *asked == path) {
            continue;
        }
        if subject.diff.patch(file).len() <= PART_CHARS {
            let part = Part::whole(path);
            // A file that changes its type is in the diff twice.
            if parts.last() != Some(&part) {
                parts.push(part);
            }
            continue;
        }
        let pieces = pieces(&subject.diff, file, PART_CHARS);
        parts.extend(
            pieces
                .into_iter()
                .map(|lines| Part { path: path.to_string(), diff_lines: Some(lines) }),
        );
    }
    parts
}

/// The lines of a file's diff in pieces of at most so many bytes, each from its first line to its last. A piece ends before a
/// hunk if that leaves it at least half full, else between two lines; a line is never cut.
pub(crate) fn pieces(diff: &Diff, file: &FileDiff, most: usize) -> Vec<(u32, u32)> {
    let hunks: Vec<u32> = file.hunks.iter().map(|hunk| hunk.first_line).collect();
    let lines = diff.patch(file).split_inclusive(|byte| *byte == b'\n');
    let mut pieces = Vec::new();
    let (mut first, mut size) = (file.first_line(), 0);
    let mut last = first;
    // The last hunk that begins inside the piece, and how large the piece was there.
    let mut hunk: Option<(u32, usize)> = None;
    for (number, line) in (file.first_line()..).zip(lines) {
        if hunks.binary_search(&number).is_ok() {
            hunk = Some((number, size));
        }
        while size > 0 && size + line.len() > most {
            let between = hunk.take().filter(|(_, before)| before * 2 >= most);
            let (cut, before) = between.unwrap_or((number, size));
            pieces.push((first, cut - 1));
            (first, size) = (cut, size - before);
        }
        size += line.len();
        last = number;
    }
    pieces.push((first, last));
    pieces
}
