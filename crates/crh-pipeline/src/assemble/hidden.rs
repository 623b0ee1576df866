//! Hides issues below a minimum severity. The report lists them as suppressed, and its verdict
//! counts them.

use std::collections::BTreeSet;

use crh_review::finding::Severity;
use crh_review::report::{BELOW_MINIMUM, DroppedFinding, Fate, Issue, Report};
use crh_review::verdict::{is_actionable, verdict};

/// Hides issues below a severity. The verdict was computed with them and does not change. Its reason
/// says how many of the issues are hidden.
pub fn hide_below(mut report: Report, min: Severity) -> Report {
    let reason = format!("{BELOW_MINIMUM} {min}");
    let is_shown = |issue: &Issue| issue.severity <= min;
    let mut hidden_issues = Vec::new();
    for list in [&mut report.issues, &mut report.pre_existing] {
        let (shown_issues, rest): (Vec<_>, Vec<_>) = list.drain(..).partition(is_shown);
        *list = shown_issues;
        hidden_issues.extend(rest);
    }
    let (over_cap, below): (Vec<_>, Vec<_>) = report.over_cap.drain(..).partition(is_shown);
    report.over_cap = over_cap;
    report.recount_over_cap();
    // If a finding that the cap dropped is also below the minimum, the minimum becomes its reason.
    for dropped in report.suppressed.iter_mut().filter(|it| it.fate == Fate::OverCap) {
        let Some(member) = &dropped.member else { continue };
        let mut issues = report.over_cap.iter().chain(&below);
        let issue = issues.find(|issue| issue.members.contains(member));
        let severity = issue.map_or(member.finding.severity, |issue| issue.severity);
        if severity > min {
            (dropped.fate, dropped.open) = (Fate::Suppressed, Some(severity));
            dropped.validation = issue.and_then(Issue::second_look);
            dropped.reason.clone_from(&reason);
        }
    }
    let hidden_numbers: BTreeSet<u32> =
        hidden_issues.iter().chain(&below).map(|issue| issue.number).collect();
    let hidden_keys: BTreeSet<&str> =
        hidden_issues.iter().map(|issue| issue.dedupe_key.as_str()).collect();
    // A finding merged into a hidden issue is hidden too.
    for dropped in &mut report.suppressed {
        let is_in_hidden_issue =
            dropped.into.as_deref().is_some_and(|key| hidden_keys.contains(key));
        if dropped.fate == Fate::Merged && is_in_hidden_issue {
            (dropped.fate, dropped.into) = (Fate::Suppressed, None);
            dropped.reason.clone_from(&reason);
        }
    }
    report.suppressed.extend(hidden_issues.iter().filter_map(|issue| {
        let member = issue.members.first()?.clone();
        let dropped = DroppedFinding::new(member, Fate::Suppressed, reason.clone());
        Some(dropped.still_open(issue.severity, issue.second_look()))
    }));
    report.suppressed.sort_by(|a, b| {
        let key = |dropped: &DroppedFinding| (dropped.fate, dropped.reviewer.clone());
        key(a).cmp(&key(b)).then_with(|| (&a.member, &a.reason).cmp(&(&b.member, &b.reason)))
    });
    let queues = &mut report.queues;
    for list in [&mut report.fix_order, &mut queues.fixer, &mut queues.residual, &mut queues.report]
    {
        list.retain(|number| !hidden_numbers.contains(number));
    }
    if hidden_issues.iter().any(is_actionable) {
        let (verdict, reason) = verdict(&report, report.command);
        if verdict == report.verdict {
            report.verdict_reason = reason;
        }
    }
    report.warnings.extend(match hidden_issues.len() {
        0 => None,
        1 => Some(format!("1 issue below {min} is not shown; the verdict counts it")),
        count => Some(format!("{count} issues below {min} are not shown; the verdict counts them")),
    });
    report
}
