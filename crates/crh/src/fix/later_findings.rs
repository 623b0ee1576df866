//! Adds what a review of fixes found in code that no fix wrote to the stored report from before the
//! fixes. An undo, a revert with git and a pull request do not have the fixes, but they have this code.

use std::collections::BTreeSet;
use std::iter;
use std::num::NonZeroU32;

use super::found_on::REVIEWED;
use super::surroundings::{changed, changes_lines, lines_after, moved_by};
use crate::commands::review::session::ReviewSession;
use crh_pipeline::assemble::recount_summary;
use crh_pipeline::run_folder::{FileWriteError, RunFolder};
use crh_review::diff::Diff;
use crh_review::finding::{Finding, Owner, Side};
use crh_review::report::{Action, DroppedFinding, Issue, Queue, Report};
use crh_review::verdict::is_actionable;
use crh_review::{Location, narrow_to_places, refresh_verdict, set_other_places};

/// What a report contained before a review of its fixes.
pub(crate) struct EarlierFindings {
    /// Numbers of its issues.
    issues: BTreeSet<u32>,
    /// Number of its dropped findings.
    dropped: usize,
}

impl EarlierFindings {
    pub(crate) fn new(report: &Report) -> Self {
        let issues = report.all_issues().chain(&report.pre_existing);
        let dropped = report.suppressed.len();
        Self { issues: issues.map(|issue| issue.number).collect(), dropped }
    }
}

/// Adds the findings of a review of the fixes to the stored report from before them, and withdraws
/// the proposed fixes of issues that it found again. `undo` is the diff from the code with the fixes
/// to the reviewed code.
pub(crate) fn keep_later_findings(
    session: &ReviewSession,
    run: &RunFolder,
    undo: &Diff,
    report: &Report,
    earlier: &EarlierFindings,
    found_again: &[u32],
) -> Result<(), FileWriteError> {
    // Without this report, an undo keeps the current issues.
    let Ok(mut reviewed) = run.read::<Report>(REVIEWED) else { return Ok(()) };
    let fixes = FixDiff { undo, change: &session.subject.diff };
    fixes.add_later_findings(&mut reviewed, report, earlier);
    let issues = reviewed.issues.iter_mut().chain(&mut reviewed.over_cap);
    issues.filter(|issue| found_again.contains(&issue.number)).for_each(withdraw_fix);
    refresh_verdict(&mut reviewed, session.terms.command);
    recount_summary(&mut reviewed);
    run.store(REVIEWED, &reviewed)
}

/// Gives an issue the severity of a later review if that is more urgent, and makes it actionable if
/// that review does.
pub(crate) fn raise(issue: &mut Issue, later: &Issue) {
    if later.severity < issue.severity {
        (issue.severity, issue.validation) = (later.severity, later.validation);
    }
    if is_actionable(later) && !is_actionable(issue) {
        (issue.autofix_class, issue.owner) = (later.autofix_class, later.owner);
        (issue.queue, issue.action) = (later.queue, later.action);
        issue.requires_verification |= later.requires_verification;
    }
}

/// Withdraws the proposed fix of an issue that was found again after it: crh would apply the same fix
/// once more.
fn withdraw_fix(issue: &mut Issue) {
    issue.replacement = None;
    if issue.action == Action::Apply {
        issue.action = Action::Defer;
    }
    if issue.queue == Queue::Fixer {
        (issue.owner, issue.queue) = (Owner::DownstreamResolver, Queue::Residual);
    }
}

/// What fixes changed.
#[derive(Clone, Copy)]
struct FixDiff<'d> {
    /// Diff from the code with the fixes to the reviewed code.
    undo: &'d Diff,
    /// The reviewed change.
    change: &'d Diff,
}

impl FixDiff<'_> {
    fn add_later_findings(self, reviewed: &mut Report, report: &Report, earlier: &EarlierFindings) {
        for issue in reviewed.issues.iter_mut().chain(&mut reviewed.over_cap) {
            if let Some(later) = report.issue(issue.number) {
                raise(issue, later);
            }
        }
        let is_new = |issue: &&Issue| !earlier.issues.contains(&issue.number);
        for issue in report.all_issues().filter(is_new).filter_map(|it| self.before(it)) {
            // The repeated review does not count this issue as pre-existing any more.
            reviewed.pre_existing.retain(|known| known.dedupe_key != issue.dedupe_key);
            reviewed.issues.push(issue);
        }
        let old = report.pre_existing.iter().filter(is_new).filter_map(|it| self.before(it));
        reviewed.pre_existing.extend(old);
        let dropped = report.suppressed.iter().skip(earlier.dropped);
        for dropped in dropped.filter_map(|it| self.dropped_before(it)) {
            let is_of_report = dropped
                .into
                .as_ref()
                .is_none_or(|key| reviewed.all_issues().any(|issue| issue.dedupe_key == *key));
            if is_of_report && !reviewed.suppressed.contains(&dropped) {
                reviewed.suppressed.push(dropped);
            }
        }
    }

    /// An issue of the fixed code at its places in the reviewed code. `None` if fixes wrote all of
    /// them.
    fn before(self, issue: &Issue) -> Option<Issue> {
        let places = iter::once(&issue.location).chain(&issue.other_places);
        let places: Vec<Location> = places.filter(|it| !self.is_written(it)).cloned().collect();
        let (first, others) = places.split_first()?;
        let mut issue = issue.clone();
        if issue.location == *first {
            set_other_places(&mut issue, others.to_vec());
        } else {
            narrow_to_places(&mut issue, &places);
        }
        if changes_lines(self.undo, &first.file, (first.line_start, first.line_end)) {
            issue.replacement = None;
        }
        issue.evidence = moved_by(&issue, self.undo).evidence;
        issue.location = self.moved(first);
        set_other_places(&mut issue, others.iter().map(|place| self.moved(place)).collect());
        for member in &mut issue.members {
            self.move_finding(&mut member.finding);
        }
        Some(issue)
    }

    /// A dropped finding of the fixed code, as [`Self::before`].
    fn dropped_before(self, dropped: &DroppedFinding) -> Option<DroppedFinding> {
        let mut dropped = dropped.clone();
        if let Some(finding) = dropped.member.as_mut().map(|member| &mut member.finding) {
            if place(finding).is_some_and(|place| self.is_written(&place)) {
                return None;
            }
            self.move_finding(finding);
        }
        Some(dropped)
    }

    fn move_finding(self, finding: &mut Finding) {
        let moved = |file: &str, lines: (u32, u32)| {
            let (start, end) = lines_after(self.undo, file, lines);
            NonZeroU32::new(start).zip(NonZeroU32::new(end))
        };
        let side = finding.side.unwrap_or_default();
        for quote in &mut finding.evidence {
            let file = quote.file.as_ref().unwrap_or(&finding.file);
            if let Some(line) = quote.line.filter(|_| quote.side.unwrap_or(side) == Side::New)
                && let Some((line, _)) = moved(file, (line.get(), line.get()))
            {
                quote.line = Some(line);
            }
        }
        if let Some(place) = place(finding).filter(|_| side == Side::New)
            && let Some((start, end)) = moved(&place.file, (place.line_start, place.line_end))
        {
            finding.line_start = Some(start);
            finding.line_end = finding.line_end.map(|_| end);
        }
    }

    /// The lines of a place that no fix wrote, where they are in the reviewed code.
    fn moved(self, place: &Location) -> Location {
        let Location { file, side, line_start, line_end } = place;
        let mut lines = (*line_start..=*line_end).filter(|line| !self.has_line(file, *line));
        let first = lines.next().filter(|_| *side == Side::New);
        let Some(first) = first else { return place.clone() };
        let last = lines.next_back().unwrap_or(first);
        let at = |line| lines_after(self.undo, file, (line, line)).0;
        Location { line_start: at(first), line_end: at(last), ..place.clone() }
    }

    /// Whether fixes wrote all lines of a place in the fixed code.
    fn is_written(self, place: &Location) -> bool {
        let Location { file, side, line_start, line_end } = place;
        match side {
            Side::New => (*line_start..=*line_end).all(|line| self.has_line(file, line)),
            // These lines are missing because of the change, or because of a fix.
            Side::Old => {
                !changed(self.undo, file).is_empty()
                    && !changes_lines(self.change, file, (*line_start, *line_end))
            }
        }
    }

    /// Whether a fix wrote a line of the fixed code.
    fn has_line(self, file: &str, line: u32) -> bool {
        let at = usize::try_from(line).unwrap_or(usize::MAX).saturating_sub(1);
        changed(self.undo, file).iter().any(|it| (it.at..it.at + it.were).contains(&at))
    }
}

/// The lines that a finding cites.
fn place(finding: &Finding) -> Option<Location> {
    let start = finding.line_start?;
    Some(Location {
        file: finding.file.clone(),
        side: finding.side.unwrap_or_default(),
        line_start: start.get(),
        line_end: finding.line_end.unwrap_or(start).get(),
    })
}

#[cfg(test)]
mod tests {
    use super::super::edits::tests::issue;
    use super::*;
    use crh_review::finding::Severity;

    #[test]
    fn issue_outside_the_lines_of_fixes_has_its_reviewed_place() {
        // A fix replaced line 2 by three lines.
        let undo = "\
diff --git a/a.py b/a.py
--- a/a.py
+++ b/a.py
@@ -1,6 +1,4 @@
 one
-2
-2.3
-2.5
+two
 three
 four
";
        let undo = Diff::read(undo.as_bytes().to_vec());
        let fixes = FixDiff { undo: &undo, change: &Diff::read(Vec::new()) };
        let check = |lines, expected: Option<((u32, u32), bool)>| {
            let found = fixes.before(&issue(1, lines, "a", Some("b")));
            let shown = found.map(|it| {
                ((it.location.line_start, it.location.line_end), it.replacement.is_some())
            });
            assert_eq!(shown, expected, "{lines:?}");
        };
        check((6, 6), Some(((4, 4), true)));
        check((2, 4), None);
        check((3, 3), None);
        // A part of these lines was reviewed.
        check((1, 3), Some(((1, 1), false)));
        check((4, 5), Some(((3, 3), false)));
    }

    #[test]
    fn report_from_before_the_fixes_gets_later_findings() {
        let at = |number: u32, line: u32, severity| Issue {
            severity,
            dedupe_key: format!("{number:016x}"),
            ..issue(number, (line, line), "a", None)
        };
        let undo = "diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -1,2 +1 @@\n-one\n two\n";
        let undo = Diff::read(undo.as_bytes().to_vec());
        let fixes = FixDiff { undo: &undo, change: &Diff::read(Vec::new()) };
        let first = at(1, 1, Severity::P2);
        let old = at(2, 7, Severity::P3);
        let mut reviewed = Report {
            issues: vec![first.clone()],
            pre_existing: vec![old.clone()],
            ..Report::default()
        };
        let earlier = EarlierFindings::new(&reviewed);
        let raised = Issue { severity: Severity::P0, ..first };
        // Issue 2 is number 3 now. Issue 4 is in the line of the fix.
        let grown = Issue { dedupe_key: old.dedupe_key, ..at(3, 8, Severity::P1) };
        let issues = vec![raised.clone(), grown.clone(), at(4, 1, Severity::P0)];
        let report = Report { issues, ..Report::default() };
        fixes.add_later_findings(&mut reviewed, &report, &earlier);
        let kept: Vec<(u32, Severity, u32)> = reviewed
            .issues
            .iter()
            .map(|it| (it.number, it.severity, it.location.line_start))
            .collect();
        assert_eq!(kept, [(1, Severity::P0, 1), (3, Severity::P1, 7)]);
        assert_eq!(reviewed.pre_existing, []);
    }
}
