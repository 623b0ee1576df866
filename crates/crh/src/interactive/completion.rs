//! The completion report: the result for every issue, failures first.

use super::flow::Flow;
use super::next::Decision;
use super::words::counted;
use crh_review::one_line;
use crh_review::report::{CoverageState, Issue, Report};
use crh_review::wrap;

/// Prefix of a reason if all fixes were rejected. The report strips it, because its line says "not
/// applied" already.
const NOTHING_APPLIED: &str = "nothing was applied: ";

pub(super) fn text(report: &Report, flow: &Flow, columns: usize) -> String {
    let groups = Groups::new(report, flow);
    let mut out = String::from("\nReview completed.\n");
    for (name, lines) in groups.named() {
        if lines.is_empty() {
            continue;
        }
        out.push_str(&format!("\n{name}\n"));
        for line in lines {
            out.push_str(&wrap("  - ", "    ", line, columns));
        }
    }
    out.push('\n');
    out.push_str(&wrap("", "  ", &groups.counts(), columns));
    out.push_str(&wrap("", "  ", &coverage(report), columns));
    out.push_str(&verdict(report, columns));
    out
}

/// The current verdict.
pub(super) fn verdict(report: &Report, columns: usize) -> String {
    let verdict = format!("{}: {}", report.verdict, one_line(&report.verdict_reason));
    wrap("", "  ", &verdict, columns)
}

/// One line per issue, grouped by result.
#[derive(Default)]
struct Groups {
    failed: Vec<String>,
    applied: Vec<String>,
    /// Issues whose fix is in the tree and did not close them.
    still_open: Vec<String>,
    deferred: Vec<String>,
    skipped: Vec<String>,
    acknowledged: Vec<String>,
    dismissed: Vec<String>,
    /// Number of fixed issues.
    fixed: usize,
    /// Number of fixes in the tree that did not close their issue.
    ineffective_fixes: usize,
    /// Number of issues without a decision.
    left: usize,
}

impl Groups {
    fn new(report: &Report, flow: &Flow) -> Self {
        let fixed = report.fixed_count();
        let ineffective_fixes = report.applied_fixes.len() - fixed;
        let mut groups = Self { fixed, ineffective_fixes, ..Self::default() };
        let mut issues: Vec<&Issue> = report.all_issues().chain(&flow.dismissed).collect();
        issues.sort_by_key(|issue| issue.number);
        for issue in issues {
            groups.add(issue, report, flow);
        }
        groups
    }

    fn add(&mut self, issue: &Issue, report: &Report, flow: &Flow) {
        let title = one_line(&issue.title);
        let line = |what: &str| format!("#{} {} {title}: {what}", issue.number, issue.severity);
        let fix = report.fix_of(issue.number);
        if let Some(fix) = fix.filter(|fix| fix.outcome.is_done()) {
            let done = one_line(&fix.description);
            self.applied.push(line(if done.is_empty() { "fixed" } else { &done }));
            return;
        }
        let decision = flow.decided.get(&issue.number);
        let not_fixed = flow.not_fixed.get(&issue.number).map(|left| &left.why);
        // What happened before is shown next to the later decision.
        let before = match (fix, not_fixed) {
            (Some(fix), _) => Some(format!("its fix is applied{}", report.fix_note(fix))),
            // The second attempt failed like the first.
            (None, Some(why)) if decision == Some(&Decision::NotApplied(why.clone())) => None,
            (None, Some(why)) => Some(format!("safe fix failed: {}", one_line(why))),
            (None, None) => None,
        };
        let line = |what: &str| match &before {
            Some(before) => line(&format!("{what} ({before})")),
            None => line(what),
        };
        match decision {
            Some(Decision::NotApplied(why)) => {
                let why = one_line(why);
                let why = why.strip_prefix(NOTHING_APPLIED).unwrap_or(&why);
                self.failed.push(line(&format!("not applied: {why}")));
            }
            Some(Decision::NotFiled(why)) => {
                self.failed.push(line(&format!("no ticket, skipped: {}", one_line(why))));
            }
            Some(Decision::Deferred { url }) => {
                // A tracker may return no address.
                let place = one_line(url);
                self.deferred.push(line(if place.is_empty() { "ticket filed" } else { &place }));
            }
            Some(Decision::Skipped) if fix.is_some() => self.skipped.push(line("not tracked")),
            Some(Decision::Skipped) => self.skipped.push(line("not applied, not tracked")),
            Some(Decision::Acknowledged) => self.acknowledged.push(line("noted")),
            Some(Decision::Dismissed) => {
                let undo = format!("undo with `crh dismiss --undo {}`", issue.dedupe_key);
                self.dismissed.push(line(&undo));
            }
            Some(Decision::NotDismissed(why)) => {
                self.failed.push(line(&format!("not dismissed: {}", one_line(why))));
            }
            Some(Decision::Applied(_) | Decision::ToApply | Decision::ToDismiss) | None => {
                match (fix, &before) {
                    (Some(_), _) => self.still_open.push(line("left in the report")),
                    (None, Some(_)) => self.failed.push(line("left in the report")),
                    (None, None) => self.left += 1,
                }
            }
        }
    }

    fn named(&self) -> [(&'static str, &Vec<String>); 7] {
        [
            ("Failed", &self.failed),
            ("Applied", &self.applied),
            ("Applied, still open", &self.still_open),
            ("Deferred", &self.deferred),
            ("Skipped", &self.skipped),
            ("Acknowledged", &self.acknowledged),
            ("Dismissed", &self.dismissed),
        ]
    }

    /// The counts of all groups. "failed", "applied but still open", "dismissed" and "left" appear
    /// only if they are not zero.
    fn counts(&self) -> String {
        let mut counts = Vec::new();
        if !self.failed.is_empty() {
            counts.push(format!("{} failed", self.failed.len()));
        }
        counts.push(format!("{} applied", self.fixed));
        if self.ineffective_fixes > 0 {
            counts.push(format!("{} applied but still open", self.ineffective_fixes));
        }
        counts.extend([
            format!("{} deferred", self.deferred.len()),
            format!("{} skipped", self.skipped.len()),
            format!("{} acknowledged", self.acknowledged.len()),
        ]);
        if !self.dismissed.is_empty() {
            counts.push(format!("{} dismissed", self.dismissed.len()));
        }
        if self.left > 0 {
            counts.push(format!("{} left in the report", self.left));
        }
        counts.join(", ")
    }
}

fn coverage(report: &Report) -> String {
    let files = |wanted: &dyn Fn(CoverageState) -> bool| {
        report.coverage.iter().filter(|file| wanted(file.state)).count()
    };
    let reviewed = files(&|state| match state {
        CoverageState::Reviewed | CoverageState::ReviewedBefore => true,
        CoverageState::Truncated | CoverageState::NotReviewed | CoverageState::OutOfScope => false,
    });
    let partly = files(&|state| match state {
        CoverageState::Truncated | CoverageState::NotReviewed => true,
        CoverageState::Reviewed | CoverageState::ReviewedBefore | CoverageState::OutOfScope => {
            false
        }
    });
    let mut parts = vec![format!("{} reviewed", counted(reviewed, "file", "files"))];
    if partly > 0 {
        parts.push(format!("{partly} not fully"));
    }
    let failed = report.failed_reviewers().count();
    if failed > 0 {
        parts.push(counted(failed, "reviewer failed", "reviewers failed"));
    }
    format!("Coverage: {}", parts.join(", "))
}

#[cfg(test)]
mod tests;
