//! Places each issue on a line of Launchpad's diff or in the summary.
//!
//! Launchpad compares the merge result with the target branch. When the target has moved, line
//! numbers differ from the reviewed diff, and conflicts add markers. Lines are therefore matched by
//! their text.

use std::collections::{BTreeMap, BTreeSet};

use crate::launchpad::MergeProposalState;
use crate::launchpad::diff_rows::DiffRows;
use crh_review::Location;
use crh_review::diff::{Diff, DiffLine, FileDiff};
use crh_review::finding::Side;
use crh_review::report::{Issue, Report};

/// Most inline comments. All of them are sent in one mail.
const INLINE_MAX: usize = 200;

/// Where an issue is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum MergeProposalPlacement {
    /// In an earlier comment.
    Existing,
    /// On this row of Launchpad's diff.
    Line(u32),
    /// Only in the summary, with the reason.
    Summary(&'static str),
}

/// One side of a file in a diff: number and text in the diff, by line of the file.
struct DiffSideLines<'d> {
    lines: BTreeMap<u32, (u32, &'d [u8])>,
}

/// Places each issue. `said` has the keys of issues in earlier comments.
pub(super) fn place_issues(
    report: &Report,
    reviewed: &Diff,
    proposal_state: &MergeProposalState,
    said: &BTreeSet<String>,
) -> Vec<MergeProposalPlacement> {
    let round = proposal_state
        .latest_diff
        .as_ref()
        .filter(|round| round.head == proposal_state.proposal.head);
    let diff = round.map(|round| (Diff::read(round.diff.clone()), DiffRows::new(&round.diff)));
    let mut beside_lines = 0;
    let place = |issue: &Issue| {
        if said.contains(&issue.dedupe_key) {
            return MergeProposalPlacement::Existing;
        }
        let Some((diff, rows)) = &diff else {
            return MergeProposalPlacement::Summary("Launchpad has no diff for this head");
        };
        match find_line(diff, reviewed, &issue.location).and_then(|line| rows.row(line)) {
            Some(_) if beside_lines >= INLINE_MAX => {
                MergeProposalPlacement::Summary("limit of inline comments reached")
            }
            Some(row) => {
                beside_lines += 1;
                MergeProposalPlacement::Line(row)
            }
            None => {
                MergeProposalPlacement::Summary("Launchpad's diff does not show the reviewed line")
            }
        }
    };
    report.issues.iter().map(place).collect()
}

/// Line of Launchpad's diff that shows the first or last line of an issue.
fn find_line(diff: &Diff, reviewed: &Diff, place: &Location) -> Option<u32> {
    let (here, reviewed) = (DiffSideLines::new(diff, place)?, DiffSideLines::new(reviewed, place)?);
    [place.line_start, place.line_end].into_iter().find_map(|line| here.diff_line(line, &reviewed))
}

impl<'d> DiffSideLines<'d> {
    fn new(diff: &'d Diff, place: &Location) -> Option<Self> {
        let lines = find_file(diff, place)?.hunks.iter().flat_map(|hunk| diff.lines(hunk));
        let row = |line: DiffLine<'d>| {
            let at = match place.side {
                Side::New => line.new,
                Side::Old => line.old,
            };
            (at > 0).then(|| (at, (line.number, line.text())))
        };
        Some(Self { lines: lines.filter_map(row).collect() })
    }

    fn text(&self, line: u32) -> Option<&'d [u8]> {
        self.lines.get(&line).map(|(_, text)| *text)
    }

    /// Line of this diff that shows a reviewed line: the same number if it and its neighbours have
    /// the same text, otherwise the only line with the same text.
    fn diff_line(&self, line: u32, reviewed: &Self) -> Option<u32> {
        let text = reviewed.text(line)?;
        let is_same = |line: u32| match (self.text(line), reviewed.text(line)) {
            (Some(here), Some(reviewed)) => here == reviewed,
            // Outside the diff: nothing to compare.
            (None, _) | (_, None) => true,
        };
        let around = [line.saturating_sub(1), line.saturating_add(1)];
        if let Some((number, here)) = self.lines.get(&line)
            && *here == text
            && around.into_iter().all(is_same)
        {
            return Some(*number);
        }
        let mut same = self.lines.values().filter(|(_, here)| *here == text);
        match (same.next(), same.next()) {
            (Some((number, _)), None) => Some(*number),
            (None, _) | (Some(_), Some(_)) => None,
        }
    }
}

/// The file with this path, or else the file that had it before a rename.
fn find_file<'d>(diff: &'d Diff, place: &Location) -> Option<&'d FileDiff> {
    let is_now = |file: &&FileDiff| file.path.shown() == place.file;
    let was = |file: &&FileDiff| {
        let before = file.old_path.as_ref().filter(|_| place.side == Side::Old);
        before.is_some_and(|path| path.shown() == place.file)
    };
    let files = diff.files();
    files.iter().find(is_now).or_else(|| files.iter().find(was))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A diff of one file with one hunk.
    fn diff(header: &str, lines: &[&str]) -> Diff {
        let lines = lines.join("\n");
        Diff::read(format!("diff --git a/a.rs b/a.rs\n--- a/a.rs\n+++ b/a.rs\n{header}\n{lines}\n"))
    }

    fn at(file: &str, side: Side, line: u32) -> Location {
        Location { file: file.to_owned(), side, line_start: line, line_end: line }
    }

    /// Launchpad's line for a reviewed line, with its number.
    fn found(launchpad: &Diff, reviewed: &Diff, place: &Location) -> Option<String> {
        let number = find_line(launchpad, reviewed, place)?;
        let raw = String::from_utf8_lossy(launchpad.raw());
        Some(format!("{number} {}", raw.lines().nth(number as usize - 1).unwrap()))
    }

    #[test]
    fn line_is_found_after_inserted_lines() {
        let reviewed =
            diff("@@ -1,4 +1,5 @@", &[" fn a() {", "-old();", "+new();", "+}", " }", " x"]);
        let moved = diff("@@ -2,4 +2,5 @@", &[" fn a() {", "-old();", "+new();", "+}", " }", " x"]);
        let found = |side, line| found(&moved, &reviewed, &at("a.rs", side, line));
        assert_eq!(found(Side::New, 2).as_deref(), Some("7 +new();"));
        assert_eq!(found(Side::Old, 2).as_deref(), Some("6 -old();"));
        assert_eq!(found(Side::New, 5).as_deref(), Some("10  x"));
        // Two lines match. The number alone would give the wrong one.
        assert_eq!(found(Side::New, 4), None);
        assert_eq!(found(Side::New, 3), None);
        // That line was not reviewed.
        assert_eq!(found(Side::New, 6), None);
    }

    #[test]
    fn duplicate_text_is_found_by_number_if_unmoved() {
        let lines = [" {", "+}", "+}", "+}", " x"];
        let reviewed = diff("@@ -1,2 +1,5 @@", &lines);
        // A diff with less context.
        let shorter = diff("@@ -1,1 +1,4 @@", &lines[..4]);
        for (launchpad, line) in [(&reviewed, 2), (&reviewed, 3), (&reviewed, 4), (&shorter, 4)] {
            let expected = format!("{} +}}", line + 4);
            let found = found(launchpad, &reviewed, &at("a.rs", Side::New, line));
            assert_eq!(found.as_deref(), Some(&*expected));
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
        let found = |line| found(&conflict, &reviewed, &at("a.rs", Side::New, line));
        assert_eq!(found(1).as_deref(), Some("5  one"));
        assert_eq!(found(2).as_deref(), Some("10 +ours();"));
        assert_eq!(found(3), None, "the branch that it is proposed to has it as well");
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
        let line = |diff: &Diff, file: &str| find_line(diff, &both, &at(file, Side::Old, 2));
        assert_eq!((line(&both, "m"), line(&both, "n")), (Some(9), Some(18)));
        assert_eq!(line(&both, "o"), Some(18), "nothing has this name now");
        let one = Diff::read(renamed("n", "m", "gone").into_bytes());
        assert_eq!(find_line(&one, &one, &at("n", Side::New, 1)), None);
    }
}
