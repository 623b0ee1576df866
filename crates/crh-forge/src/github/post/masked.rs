//! A report with what must not be shown hidden, text by text, before anything of it leaves.

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
