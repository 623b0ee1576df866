//! Issues that the user does not want to see: they stay in the report with a fate, and in the verdict.

use std::collections::BTreeSet;

use crh_review::finding::Severity;
use crh_review::report::{BELOW_MIN_SEVERITY, Dropped, Fate, Issue, Report};

/// The report without the issues below a severity. Its verdict was computed with them and stays: nothing turns better
/// because it is hidden.
pub fn below(mut report: Report, min: Severity) -> Report {
    let reason = format!("{BELOW_MIN_SEVERITY} {min}");
    let is_shown = |issue: &Issue| issue.severity <= min;
    let mut hidden = Vec::new();
    for list in [&mut report.issues, &mut report.pre_existing] {
        let (shown, rest): (Vec<_>, Vec<_>) = list.drain(..).partition(is_shown);
        *list = shown;
        hidden.extend(rest);
    }
    // What a limit has cut off would not be shown without it either.
    let is_below = |dropped: &&mut Dropped| {
        let severity = dropped.member.as_ref().map(|member| member.finding.severity);
        dropped.fate == Fate::OverCap && severity.is_some_and(|severity| severity > min)
    };
    for dropped in report.suppressed.iter_mut().filter(is_below) {
        dropped.fate = Fate::Suppressed;
        dropped.reason.clone_from(&reason);
    }
    let numbers: BTreeSet<u32> = hidden.iter().map(|issue| issue.number).collect();
    let keys: BTreeSet<&str> = hidden.iter().map(|issue| issue.dedupe_key.as_str()).collect();
    // What was merged into an issue that is not shown meets its fate.
    for dropped in &mut report.suppressed {
        let into_hidden = dropped.into.as_deref().is_some_and(|key| keys.contains(key));
        if dropped.fate == Fate::Merged && into_hidden {
            (dropped.fate, dropped.into) = (Fate::Suppressed, None);
            dropped.reason.clone_from(&reason);
        }
    }
    let first = hidden.iter().filter_map(|issue| issue.members.first());
    report.suppressed.extend(first.map(|member| Dropped {
        fate: Fate::Suppressed,
        reason: reason.clone(),
        into: None,
        reviewer: member.reviewer.clone(),
        member: Some(member.clone()),
        raw: None,
    }));
    report.suppressed.sort_by(|a, b| {
        let key = |dropped: &Dropped| (dropped.fate, dropped.reviewer.clone());
        key(a).cmp(&key(b)).then_with(|| (&a.member, &a.reason).cmp(&(&b.member, &b.reason)))
    });
    let queues = &mut report.queues;
    for list in [&mut report.fix_order, &mut queues.fixer, &mut queues.residual, &mut queues.report]
    {
        list.retain(|number| !numbers.contains(number));
    }
    report.warnings.extend(match hidden.len() {
        0 => None,
        1 => Some(format!("1 issue below {min} is not shown; the verdict counts it")),
        count => Some(format!("{count} issues below {min} are not shown; the verdict counts them")),
    });
    report
}
