//! The line with which a finished review ends.

use super::words;
use crh_review::finding::Severity;
use crh_review::report::{Fate, Report};

/// Verdict, counts, cost, time, and where the run folder is.
pub(super) fn closing_line(report: &Report) -> String {
    let mut parts = vec![counts(report)];
    // What was merged is shown, in the issue that it was merged into.
    let hidden = report.suppressed.iter().filter(|dropped| dropped.fate != Fate::Merged).count();
    if hidden > 0 {
        parts.push(format!("{} not shown", words::count(hidden, "finding", "findings")));
    }
    let stats = &report.stats;
    parts.push(super::dollars(stats.cost_usd));
    parts.push(words::took(stats.latency_seconds_e2e.0 / 1_000));
    if !report.artifact.is_empty() {
        parts.push(crh_review::visible(&report.artifact).replace('\n', "\\n"));
    }
    format!("{}: {}", report.verdict, parts.join(" · "))
}

/// How many issues of each severity are open; those that were fixed count as that.
fn counts(report: &Report) -> String {
    let open = |severity| {
        let issues = report.issues.iter().filter(|issue| issue.severity == severity);
        issues.filter(|issue| !report.is_fixed(issue.number)).count()
    };
    let severities = [Severity::P0, Severity::P1, Severity::P2, Severity::P3];
    let counts = severities.map(|severity| (severity, open(severity)));
    let shown: Vec<String> = counts
        .iter()
        .filter(|(_, count)| *count > 0)
        .map(|(severity, count)| format!("{count} {severity}"))
        .collect();
    let shown = if shown.is_empty() { "no issues".to_owned() } else { shown.join(", ") };
    match report.applied_fixes.len() {
        0 => shown,
        fixed => format!("{shown}, {fixed} fixed"),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    fn report() -> Report {
        let json = include_str!("../../../crh-review/tests/data/render/report.json");
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn a_finished_review_ends_with_one_line() {
        let mut report = report();
        expect!["Not ready: 1 P0, 1 P1, 1 P3, 1 fixed · 2 findings not shown · 0.12 USD · 0 ms · .crh/runs/20260101-000000_0123456789abcdef/"].assert_eq(&closing_line(&report));
        report.stats.latency_seconds_e2e = crh_review::report::Decimal(83_200_000);
        report.artifact = "/tmp/a\nb\u{1b}[2J".to_owned();
        report.applied_fixes.clear();
        report.suppressed.clear();
        expect![[r#"Not ready: 1 P0, 1 P1, 1 P2, 1 P3 · 0.12 USD · 83 s · /tmp/a\nb\u{1b}[2J"#]]
            .assert_eq(&closing_line(&report));
        expect!["Incomplete: no issues · 0.00 USD · 0 ms"]
            .assert_eq(&closing_line(&Report::default()));
    }
}
