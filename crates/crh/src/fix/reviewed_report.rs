//! The report of a fixed run as if nothing was fixed: for an undo, and for a pull request, which does
//! not have the fixes.

use std::collections::BTreeSet;

use super::REVIEWED;
use crh_pipeline::assemble::recount_summary;
use crh_pipeline::run_folder::RunFolder;
use crh_review::report::{Issue, Report};
use crh_review::verdict::{CommandKind, is_actionable};
use crh_review::{Location, refresh_verdict, set_other_places};

/// The stored copy of the report from before the fixes, with the current statistics, which include
/// the cost of the fixes, and with what reviews of the fixes found out about the reviewed change. If
/// there is no copy, the current report without its list of fixes.
pub(crate) fn report_before_fixes(
    folder: Option<&RunFolder>,
    report: Report,
    command: CommandKind,
) -> Report {
    let mut before = match folder.map(|folder| folder.read::<Report>(REVIEWED)) {
        Some(Ok(reviewed)) => with_later_findings(reviewed, report),
        Some(Err(_)) | None => Report { applied_fixes: Vec::new(), ..report },
    };
    refresh_verdict(&mut before, command);
    recount_summary(&mut before);
    before
}

/// Adds what later reviews found out about the reviewed change: higher severities, and the findings
/// in files that no fix changed.
fn with_later_findings(mut reviewed: Report, report: Report) -> Report {
    let fixed: BTreeSet<&String> = report.applied_fixes.iter().flat_map(|fix| &fix.files).collect();
    let is_reviewed = |file: &String| !fixed.contains(file);
    for issue in reviewed.issues.iter_mut().chain(&mut reviewed.over_cap) {
        if let Some(later) = report.issue(issue.number) {
            raise(issue, later);
        }
    }
    let is_known = |issue: &Issue, known: &Issue| {
        issue.number == known.number || issue.dedupe_key == known.dedupe_key
    };
    for issue in report.issues.iter().filter(|issue| is_reviewed(&issue.location.file)) {
        if reviewed.all_issues().any(|known| is_known(issue, known)) {
            continue;
        }
        reviewed.pre_existing.retain(|known| !is_known(issue, known));
        let mut issue = issue.clone();
        let places = issue.other_places.iter().filter(|place| is_reviewed(&place.file));
        let places: Vec<Location> = places.cloned().collect();
        set_other_places(&mut issue, places);
        reviewed.issues.push(issue);
    }
    // The verdict counts some of them.
    for hidden in &report.suppressed {
        let file = hidden.member.as_ref().map(|member| &member.finding.file);
        if file.is_some_and(is_reviewed) && !reviewed.suppressed.contains(hidden) {
            reviewed.suppressed.push(hidden.clone());
        }
    }
    Report { stats: report.stats, ..reviewed }
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

#[cfg(test)]
mod tests {
    use super::super::edits::tests::issue;
    use super::*;
    use crh_review::finding::Severity;
    use crh_review::report::AppliedFix;

    #[test]
    fn later_findings_about_the_reviewed_change_stay_after_an_undo() {
        let at = |number: u32, file: &str, severity: Severity| {
            let mut issue = issue(number, (3, 3), "a", None);
            issue.location.file = file.to_owned();
            issue.dedupe_key = format!("{number:016x}");
            Issue { severity, ..issue }
        };
        let reviewed = Report {
            issues: vec![at(1, "fixed.py", Severity::P2), at(2, "other.py", Severity::P2)],
            pre_existing: vec![at(3, "other.py", Severity::P2)],
            ..Report::default()
        };
        // Issue 4 was pre-existing as number 3. Issue 5 is in fixed code.
        let grown = Issue {
            dedupe_key: format!("{:016x}", 3),
            other_places: vec![at(1, "fixed.py", Severity::P2).location],
            ..at(4, "other.py", Severity::P0)
        };
        let moved = Issue { title: "moved".to_owned(), ..at(1, "fixed.py", Severity::P1) };
        let fix =
            AppliedFix { number: 1, files: vec!["fixed.py".to_owned()], ..AppliedFix::default() };
        let report = Report {
            issues: vec![
                moved,
                at(2, "other.py", Severity::P2),
                grown.clone(),
                at(5, "fixed.py", Severity::P0),
            ],
            applied_fixes: vec![fix],
            ..Report::default()
        };
        let expected = Report {
            issues: vec![
                at(1, "fixed.py", Severity::P1),
                at(2, "other.py", Severity::P2),
                Issue { other_places: Vec::new(), ..grown },
            ],
            ..Report::default()
        };
        let mut found = with_later_findings(reviewed, report);
        // The text names the places.
        found.issues[2].description = expected.issues[2].description.clone();
        assert_eq!(found, expected);
    }
}
