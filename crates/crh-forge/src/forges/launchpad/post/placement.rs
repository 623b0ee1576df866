//! Places each issue on a line of Launchpad's diff or in the summary.
//!
//! Launchpad compares the merge result with the target branch. If the target has moved, line
//! numbers differ from the reviewed diff. Conflicts add lines with conflict markers. Therefore crh
//! matches lines by their text.

use std::collections::{BTreeMap, BTreeSet};

use super::PROFILE;
use crate::forges::launchpad::diff_rows::DiffRows;
use crate::posting::ProposalState;
use crh_review::Location;
use crh_review::diff::{Diff, DiffLine, FileDiff};
use crh_review::finding::Side;
use crh_review::report::{Issue, Report};

/// Where an issue is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum MergeProposalPlacement {
    /// In an earlier comment.
    Existing,
    /// On this row of Launchpad's diff, see `DiffRows`.
    Row(u32),
    /// Only in the summary, with the reason.
    Summary(&'static str),
}

/// One side of a file in a diff. For each line of the file: its line number in the diff and its
/// text.
struct DiffSideLines<'d> {
    lines: BTreeMap<u32, (u32, &'d [u8])>,
}

/// Places each issue. `posted_keys` has the keys of issues in earlier comments.
pub(super) fn place_issues(
    report: &Report,
    reviewed: &Diff,
    proposal_state: &ProposalState,
    posted_keys: &BTreeSet<String>,
) -> Vec<MergeProposalPlacement> {
    let latest_diff = proposal_state
        .row_diff
        .as_ref()
        .filter(|latest_diff| latest_diff.head == proposal_state.properties.head);
    let diff =
        latest_diff.map(|latest| (Diff::read(latest.diff.clone()), DiffRows::new(&latest.diff)));
    let mut inline_count = 0;
    let placement = |issue: &Issue| {
        if posted_keys.contains(&issue.dedupe_key) {
            return MergeProposalPlacement::Existing;
        }
        let Some((diff, rows)) = &diff else {
            return MergeProposalPlacement::Summary("Launchpad has no diff for this head");
        };
        match find_line(diff, reviewed, &issue.location).and_then(|line| rows.row(line)) {
            Some(_) if inline_count >= PROFILE.inline_max => {
                MergeProposalPlacement::Summary("limit of inline comments reached")
            }
            Some(row) => {
                inline_count += 1;
                MergeProposalPlacement::Row(row)
            }
            None => {
                MergeProposalPlacement::Summary("Launchpad's diff does not show the reviewed line")
            }
        }
    };
    report.issues.iter().map(placement).collect()
}

/// Line of Launchpad's diff that shows the first line of an issue, or else the last.
fn find_line(diff: &Diff, reviewed: &Diff, location: &Location) -> Option<u32> {
    let (launchpad_lines, reviewed) =
        (DiffSideLines::new(diff, location)?, DiffSideLines::new(reviewed, location)?);
    [location.line_start, location.line_end]
        .into_iter()
        .find_map(|line| launchpad_lines.diff_line(line, &reviewed))
}

impl<'d> DiffSideLines<'d> {
    fn new(diff: &'d Diff, location: &Location) -> Option<Self> {
        let lines = find_file(diff, location)?.hunks.iter().flat_map(|hunk| diff.lines(hunk));
        let entry = |line: DiffLine<'d>| {
            let file_line = match location.side {
                Side::New => line.new,
                Side::Old => line.old,
            };
            (file_line > 0).then(|| (file_line, (line.number, line.text())))
        };
        Some(Self { lines: lines.filter_map(entry).collect() })
    }

    fn text(&self, line: u32) -> Option<&'d [u8]> {
        self.lines.get(&line).map(|(_, text)| *text)
    }

    /// The line of this diff that shows a line of the reviewed file. It has the same line number if
    /// the texts of that line and of its neighbours are equal; otherwise it is the only line with
    /// the text.
    fn diff_line(&self, line: u32, reviewed: &Self) -> Option<u32> {
        let text = reviewed.text(line)?;
        let has_same_text = |line: u32| match (self.text(line), reviewed.text(line)) {
            (Some(launchpad_text), Some(reviewed)) => launchpad_text == reviewed,
            // One of the diffs does not show the line, so there is nothing to compare.
            (None, _) | (_, None) => true,
        };
        let neighbours = [line.saturating_sub(1), line.saturating_add(1)];
        if let Some((number, launchpad_text)) = self.lines.get(&line)
            && *launchpad_text == text
            && neighbours.into_iter().all(has_same_text)
        {
            return Some(*number);
        }
        let mut equal_lines =
            self.lines.values().filter(|(_, launchpad_text)| *launchpad_text == text);
        match (equal_lines.next(), equal_lines.next()) {
            (Some((number, _)), None) => Some(*number),
            (None, _) | (Some(_), Some(_)) => None,
        }
    }
}

/// The file with the path of a location, or else, on the old side, the file that had the path
/// before a rename.
fn find_file<'d>(diff: &'d Diff, location: &Location) -> Option<&'d FileDiff> {
    let has_path = |file: &&FileDiff| file.path.shown() == location.file;
    let had_path = |file: &&FileDiff| {
        let old_path = file.old_path.as_ref().filter(|_| location.side == Side::Old);
        old_path.is_some_and(|path| path.shown() == location.file)
    };
    let files = diff.files();
    files.iter().find(has_path).or_else(|| files.iter().find(had_path))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A diff of one file with one hunk.
    fn diff(header: &str, lines: &[&str]) -> Diff {
        let lines = lines.join("\n");
        Diff::read(format!("diff --git a/a.rs b/a.rs\n--- a/a.rs\n+++ b/a.rs\n{header}\n{lines}\n"))
    }

    fn location(file: &str, side: Side, line: u32) -> Location {
        Location { file: file.to_owned(), side, line_start: line, line_end: line }
    }

    /// Launchpad's line for a reviewed line, with its number.
    fn find_text(launchpad: &Diff, reviewed: &Diff, location: &Location) -> Option<String> {
        let number = find_line(launchpad, reviewed, location)?;
        let raw = String::from_utf8_lossy(launchpad.raw());
        Some(format!("{number} {}", raw.lines().nth(number as usize - 1).unwrap()))
    }

    #[test]
    fn line_is_found_after_inserted_lines() {
        let reviewed =
            diff("@@ -1,4 +1,5 @@", &[" fn a() {", "-old();", "+new();", "+}", " }", " x"]);
        let moved = diff("@@ -2,4 +2,5 @@", &[" fn a() {", "-old();", "+new();", "+}", " }", " x"]);
        let find = |side, line| find_text(&moved, &reviewed, &location("a.rs", side, line));
        assert_eq!(find(Side::New, 2).as_deref(), Some("7 +new();"));
        assert_eq!(find(Side::Old, 2).as_deref(), Some("6 -old();"));
        assert_eq!(find(Side::New, 5).as_deref(), Some("10  x"));
        // Two lines match. The number alone would give the wrong one.
        assert_eq!(find(Side::New, 4), None);
        assert_eq!(find(Side::New, 3), None);
        // That line was not reviewed.
        assert_eq!(find(Side::New, 6), None);
    }

    #[test]
    fn duplicate_text_is_found_by_number_if_unmoved() {
        let lines = [" {", "+}", "+}", "+}", " x"];
        let reviewed = diff("@@ -1,2 +1,5 @@", &lines);
        // A diff with less context.
        let shorter = diff("@@ -1,1 +1,4 @@", &lines[..4]);
        for (launchpad, line) in [(&reviewed, 2), (&reviewed, 3), (&reviewed, 4), (&shorter, 4)] {
            let expected = format!("{} +}}", line + 4);
            let text = find_text(launchpad, &reviewed, &location("a.rs", Side::New, line));
            assert_eq!(text.as_deref(), Some(&*expected));
        }
    }

    #[test]
    fn line_is_found_in_file_with_conflict_markers() {
        let reviewed = diff("@@ -1,2 +1,3 @@", &[" one", "-two", "+ours();", "+again();"]);
        let conflict = diff(
            "@@ -1,3 +1,8 @@",
            &[
                " one",
                "+<<<<<<< main",
                " theirs();",
                " again();",
                "+=======",
                "+ours();",
                "+again();",
                "+>>>>>>> feature",
            ],
        );
        let find = |line| find_text(&conflict, &reviewed, &location("a.rs", Side::New, line));
        assert_eq!(find(1).as_deref(), Some("5  one"));
        assert_eq!(find(2).as_deref(), Some("10 +ours();"));
        assert_eq!(find(3), None, "the target branch has the same line");
    }

    #[test]
    fn removed_line_is_found_in_renamed_file() {
        let renamed = |from: &str, to: &str, line: &str| {
            format!(
                "diff --git a/{from} b/{to}\nsimilarity index 90%\nrename from {from}\nrename to {to}\n--- a/{from}\n+++ b/{to}\n@@ -1,2 +1,1 @@\n same\n-{line}\n"
            )
        };
        let both = renamed("n", "m", "gone") + &renamed("o", "n", "gone");
        let both = Diff::read(both.into_bytes());
        let line = |diff: &Diff, file: &str| find_line(diff, &both, &location(file, Side::Old, 2));
        assert_eq!((line(&both, "m"), line(&both, "n")), (Some(9), Some(18)));
        assert_eq!(line(&both, "o"), Some(18), "nothing has this name now");
        let one = Diff::read(renamed("n", "m", "gone").into_bytes());
        assert_eq!(find_line(&one, &one, &location("n", Side::New, 1)), None);
    }
}
