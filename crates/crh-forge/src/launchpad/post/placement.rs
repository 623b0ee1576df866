//! Where each issue goes: beside a line of Launchpad's own diff, or into the summary. Pure.
//!
//! Launchpad compares what a merge would give with the branch that is proposed to. When that branch has moved, the lines have other
//! numbers than in the diff that was reviewed, and a conflict puts markers between them: so a line is known by its text.

use std::collections::{BTreeMap, BTreeSet};

use crate::launchpad::Standing;
use crate::launchpad::rows::Rows;
use crh_review::Location;
use crh_review::diff::{Diff, DiffLine, FileDiff};
use crh_review::finding::Side;
use crh_review::report::{Issue, Report};

/// The most issues that are shown beside their lines; nobody reads more, and all of them are one mail.
const INLINE_MAX: usize = 200;

/// Where an issue goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Place {
    /// It was said before, and stands.
    Stands,
    /// Beside this line of Launchpad's diff, as Launchpad counts.
    Line(u32),
    /// Into the summary, and why.
    Summary(&'static str),
}

/// One side of a file, as far as a diff shows it: each line by its number in the file, with its number in the diff and its text.
struct Shown<'d> {
    lines: BTreeMap<u32, (u32, &'d [u8])>,
}

/// Where each issue goes, given the diff that was reviewed and the keys of what was said before.
pub(super) fn places(
    report: &Report,
    reviewed: &Diff,
    standing: &Standing,
    said: &BTreeSet<String>,
) -> Vec<Place> {
    let round = standing.round.as_ref().filter(|round| round.head == standing.proposal.head);
    let diff = round.map(|round| (Diff::read(round.diff.clone()), Rows::of(&round.diff)));
    let mut beside_lines = 0;
    let place = |issue: &Issue| {
        if said.contains(&issue.dedupe_key) {
            return Place::Stands;
        }
        let Some((diff, rows)) = &diff else {
            return Place::Summary("Launchpad has no diff of this head");
        };
        match line_of(diff, reviewed, &issue.location).and_then(|line| rows.row(line)) {
            Some(_) if beside_lines >= INLINE_MAX => {
                Place::Summary("so many more urgent ones have comments that nobody reads more")
            }
            Some(row) => {
                beside_lines += 1;
                Place::Line(row)
            }
            None => Place::Summary("Launchpad's diff does not show its line as it was reviewed"),
        }
    };
    report.issues.iter().map(place).collect()
}

/// The line of Launchpad's own diff that shows the first line of an issue, or its last; none if that cannot be told.
fn line_of(diff: &Diff, reviewed: &Diff, place: &Location) -> Option<u32> {
    let (here, reviewed) = (Shown::of(diff, place)?, Shown::of(reviewed, place)?);
    [place.line_start, place.line_end].into_iter().find_map(|line| here.number_of(line, &reviewed))
}

impl<'d> Shown<'d> {
    fn of(diff: &'d Diff, place: &Location) -> Option<Self> {
        let lines = file_of(diff, place)?.hunks.iter().flat_map(|hunk| diff.lines(hunk));
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

    /// The number in this diff of a line that was reviewed: the same one, if it and those around it say the same, and else the only
    /// one that says the same.
    fn number_of(&self, line: u32, reviewed: &Self) -> Option<u32> {
        let text = reviewed.text(line)?;
        let is_same = |line: u32| match (self.text(line), reviewed.text(line)) {
            (Some(here), Some(reviewed)) => here == reviewed,
            // A diff that ends here says nothing about it.
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

/// The file of a place: the one that has its name now, and only if there is none the one that had it.
fn file_of<'d>(diff: &'d Diff, place: &Location) -> Option<&'d FileDiff> {
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

    /// The text of the line of Launchpad's diff that a line of the reviewed one is shown at, with its number.
    fn found(launchpad: &Diff, reviewed: &Diff, place: &Location) -> Option<String> {
        let number = line_of(launchpad, reviewed, place)?;
        let raw = String::from_utf8_lossy(launchpad.raw());
        Some(format!("{number} {}", raw.lines().nth(number as usize - 1).unwrap()))
    }

    #[test]
    fn a_line_is_found_where_other_lines_have_come_before_it() {
        let reviewed =
            diff("@@ -1,4 +1,5 @@", &[" fn a() {", "-old();", "+new();", "+}", " }", " x"]);
        let moved = diff("@@ -2,4 +2,5 @@", &[" fn a() {", "-old();", "+new();", "+}", " }", " x"]);
        let found = |side, line| found(&moved, &reviewed, &at("a.rs", side, line));
        assert_eq!(found(Side::New, 2).as_deref(), Some("7 +new();"));
        assert_eq!(found(Side::Old, 2).as_deref(), Some("6 -old();"));
        assert_eq!(found(Side::New, 5).as_deref(), Some("10  x"));
        // There are two of it. By its number alone the second one would be taken for the first.
        assert_eq!(found(Side::New, 4), None);
        assert_eq!(found(Side::New, 3), None);
        // Nothing was reviewed there, whatever Launchpad shows.
        assert_eq!(found(Side::New, 6), None);
    }

    #[test]
    fn a_text_that_is_there_twice_is_known_by_its_number_if_nothing_has_moved() {
        let lines = [" {", "+}", "+}", "+}", " x"];
        let reviewed = diff("@@ -1,2 +1,5 @@", &lines);
        // One that shows less of what is around it.
        let shorter = diff("@@ -1,1 +1,4 @@", &lines[..4]);
        for (launchpad, line) in [(&reviewed, 2), (&reviewed, 3), (&reviewed, 4), (&shorter, 4)] {
            let expected = format!("{} +}}", line + 4);
            let found = found(launchpad, &reviewed, &at("a.rs", Side::New, line));
            assert_eq!(found.as_deref(), Some(&*expected));
        }
    }

    #[test]
    fn a_file_with_a_conflict_has_markers_between_its_lines() {
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
    fn a_removed_line_is_looked_for_in_the_file_that_has_its_name_now() {
        let renamed = |from: &str, to: &str, line: &str| {
            format!(
                "diff --git a/{from} b/{to}\nsimilarity index 90%\nrename from {from}\nrename to {to}\n--- a/{from}\n+++ b/{to}\n@@ -1,2 +1,1 @@\n same\n-{line}\n"
            )
        };
        let both = renamed("n", "m", "gone") + &renamed("o", "n", "gone");
        let both = Diff::read(both.into_bytes());
        let line = |diff: &Diff, file: &str| line_of(diff, &both, &at(file, Side::Old, 2));
        assert_eq!((line(&both, "m"), line(&both, "n")), (Some(9), Some(18)));
        assert_eq!(line(&both, "o"), Some(18), "nothing has this name now");
        let one = Diff::read(renamed("n", "m", "gone").into_bytes());
        assert_eq!(line_of(&one, &one, &at("n", Side::New, 1)), None);
    }
}
