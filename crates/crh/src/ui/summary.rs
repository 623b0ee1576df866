//! The last line of a review on standard error.

use crh_pipeline::text;
use crh_review::finding::Severity;
use crh_review::render::{HiddenCounts, marked_verdict};
use crh_review::report::Report;
use crh_review::verdict::counted_hidden;

/// Verdict, issue counts, cost, time, and the run folder.
pub(super) fn summary_line(report: &Report) -> String {
    let mut parts = vec![counts(report)];
    parts.extend(HiddenCounts::new(report).without_reasons());
    let stats = &report.stats;
    parts.push(super::dollars(stats.cost_usd));
    parts.push(text::duration(stats.latency_seconds_e2e.0 / 1_000));
    if !report.artifact.is_empty() {
        parts.push(crh_review::escape_invisible(&report.artifact).replace('\n', "\\n"));
    }
    format!("{} · {}", marked_verdict(report), parts.join(" · "))
}

/// Open issues by severity, hidden ones that the verdict counts, and the number of fixed ones.
fn counts(report: &Report) -> String {
    let open_count =
        |severity| report.shown_open_issues().filter(|issue| issue.severity == severity).count();
    let severities = [Severity::P0, Severity::P1, Severity::P2, Severity::P3];
    let counts = severities.map(|severity| (severity, open_count(severity)));
    let severity_counts: Vec<String> = counts
        .iter()
        .filter(|(_, count)| *count > 0)
        .map(|(severity, count)| format!("{count} {severity}"))
        .collect();
    let hidden_count = counted_hidden(report).len();
    let mut text = match (severity_counts.is_empty(), hidden_count) {
        (true, 0) => "no issues".to_owned(),
        (true, _) => "no issues shown".to_owned(),
        (false, _) => severity_counts.join(", "),
    };
    for (count, state) in [(hidden_count, "hidden"), (report.fixed_count(), "fixed")] {
        if count > 0 {
            text += &format!(", {count} {state}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;
    use crh_review::finding::AutofixClass;

    fn report() -> Report {
        let json = include_str!("../../../crh-review/tests/data/render/report.json");
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn summary_line_shows_verdict_counts_and_cost() {
        let mut report = report();
        expect!["Not ready (incomplete) · 1 P0, 1 P1, 1 P3, 1 hidden, 1 fixed · 2 findings left out · 0.12 USD · 0 ms · .crh/runs/20260101-000000_0123456789abcdef/"].assert_eq(&summary_line(&report));
        report.stats.latency_seconds_e2e = crh_review::report::Decimal(83_200_000);
        report.artifact = "/tmp/a\nb\u{1b}[2J".to_owned();
        report.applied_fixes.clear();
        report.suppressed.clear();
        expect![[r#"Not ready (incomplete) · 1 P0, 1 P1, 1 P2, 1 P3 · 0.12 USD · 83 s · /tmp/a\nb\u{1b}[2J"#]]
            .assert_eq(&summary_line(&report));
        report.issues.retain(|issue| issue.severity == Severity::P3);
        report.over_cap = report.issues.drain(..).collect();
        report.over_cap.iter_mut().for_each(|issue| issue.severity = Severity::P1);
        report.over_cap.iter_mut().for_each(|issue| issue.autofix_class = AutofixClass::Manual);
        expect![[r#"Not ready (incomplete) · no issues shown, 1 hidden · 0.12 USD · 83 s · /tmp/a\nb\u{1b}[2J"#]]
            .assert_eq(&summary_line(&report));
        expect!["Incomplete · no issues · 0.00 USD · 0 ms"]
            .assert_eq(&summary_line(&Report::default()));
    }
}
