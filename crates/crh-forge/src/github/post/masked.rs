//! A report with what must not be shown hidden, text by text, before anything of it leaves.

use crh_review::finding::Finding;
use crh_review::report::Issue;
use crh_review::report::Report;

/// Hides something in a text.
type Mask<'a> = &'a (dyn Fn(&str) -> String + Sync);

/// The report as it may be shown to everybody. A new text in which something had to be hidden is not one any more.
pub(super) fn masked(report: &Report, mask: Mask<'_>) -> Report {
    let mut report = report.clone();
    let hide = |text: &mut String| *text = mask(text);
    for text in [&mut report.verdict_reason, &mut report.summary, &mut report.model_used] {
        hide(text);
    }
    let lists = [&mut report.warnings, &mut report.residual_risks, &mut report.testing_gaps];
    lists.into_iter().flatten().for_each(hide);
    for issue in report.issues.iter_mut().chain(&mut report.pre_existing) {
        mask_issue(issue, mask);
    }
    // What a limit has cut off is shown by code scanning.
    for member in report.suppressed.iter_mut().filter_map(|dropped| dropped.member.as_mut()) {
        mask_finding(&mut member.finding, mask);
    }
    for requirement in report.plan.iter_mut().flat_map(|plan| &mut plan.requirements) {
        hide(&mut requirement.text);
    }
    for row in &mut report.reviewers {
        hide(&mut row.note);
    }
    for file in &mut report.coverage {
        hide(&mut file.reason);
    }
    report
}

fn mask_issue(issue: &mut Issue, mask: Mask<'_>) {
    let hide = |text: &mut String| *text = mask(text);
    for text in [&mut issue.title, &mut issue.why_it_matters, &mut issue.evidence_snippet] {
        hide(text);
    }
    issue.suggested_fix.iter_mut().for_each(hide);
    issue.evidence.iter_mut().for_each(|quote| hide(&mut quote.snippet));
    if issue.replacement.as_ref().is_some_and(|text| mask(text) != *text) {
        issue.replacement = None;
    }
}

fn mask_finding(finding: &mut Finding, mask: Mask<'_>) {
    let hide = |text: &mut String| *text = mask(text);
    for text in [&mut finding.title, &mut finding.why_it_matters] {
        hide(text);
    }
    finding.suggested_fix.iter_mut().for_each(hide);
    finding.evidence.iter_mut().for_each(|quote| hide(&mut quote.snippet));
    if finding.replacement.as_ref().is_some_and(|text| mask(text) != *text) {
        finding.replacement = None;
    }
}

#[cfg(test)]
mod tests {
    use crh_review::finding::Member;
    use crh_review::report::Dropped;
    use crh_review::report::Fate;

    use super::super::tests_support::Review;
    use super::*;

    #[test]
    fn what_a_limit_has_cut_off_is_masked_too() {
        let mut review = Review::new(&[]);
        let finding = serde_json::json!({
            "title": "hunter2", "severity": "P2", "category": "security", "file": "a.rs", "line_start": 1, "confidence": 1.0,
            "evidence": [{"file": "a.rs", "line": 1, "snippet": "hunter2"}], "why_it_matters": "hunter2", "suggested_fix": "hunter2",
            "replacement": "hunter2", "autofix_class": "manual", "owner": "human", "requires_verification": false, "pre_existing": false,
        });
        let member: Member =
            serde_json::from_value(serde_json::json!({"reviewer": "secrets", "finding": finding}))
                .unwrap();
        review.report.suppressed.push(Dropped {
            fate: Fate::OverCap,
            reason: String::new(),
            into: None,
            reviewer: "secrets".to_owned(),
            member: Some(member),
            raw: None,
        });
        let report = masked(&review.report, &|text| text.replace("hunter2", "[hidden]"));
        let text = crh_review::stable_json(&report).unwrap();
        assert!(text.contains("[hidden]") && !text.contains("hunter2"), "{text}");
    }
}
