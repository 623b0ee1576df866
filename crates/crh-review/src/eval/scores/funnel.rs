//! The funnel: findings, issues and comments at each step of the reviews.

use super::graded::GradedCase;
use crate::eval::bootstrap::count;
use crate::eval::funnel::{Funnel, FunnelCounts, FunnelStep};
use crate::eval::matching::Rule;

/// Counts over all runs, the published comments last. Empty if no run has a funnel.
pub(super) fn funnel_counts(cases: &[&GradedCase<'_>], rule: Rule) -> Vec<FunnelCounts> {
    let runs = || cases.iter().flat_map(|case| case.runs.iter().map(move |run| (case, run)));
    if !runs().any(|(_, run)| run.run.funnel.is_some()) {
        return Vec::new();
    }
    let steps = FunnelStep::ALL.into_iter().map(Some).chain([None]);
    let mut rows: Vec<FunnelCounts> =
        steps.map(|step| FunnelCounts { step, reports: 0, found: 0, expected: 0 }).collect();
    for (case, run) in runs() {
        let labels = &case.case.labels;
        let count_steps = |funnel: &Funnel| funnel.counts(labels, run.run, rule);
        let funnel = run.run.funnel.as_ref().filter(|_| run.is_reviewed());
        let mut counts = funnel.map(count_steps).unwrap_or_default();
        counts.resize(FunnelStep::ALL.len(), (0, 0));
        counts.push((count(run.reported.len()), count(run.comments.found)));
        for (row, (reports, found)) in rows.iter_mut().zip(counts) {
            row.reports += reports;
            row.found += found;
            row.expected += count(labels.expected.len());
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;
    use crate::eval::scores::graded::grade_cases;
    use crate::eval::tests_support::evaluation;

    fn rows_text(rule: Rule, table: &str) -> String {
        let evaluation = evaluation(rule, table);
        let graded = grade_cases(&evaluation, rule);
        let rows = funnel_counts(&graded.iter().collect::<Vec<_>>(), rule);
        let row = |row: &FunnelCounts| {
            let FunnelCounts { step, reports, found, expected } = row;
            let step = step.map_or_else(|| "Published".to_owned(), |step| format!("{step:?}"));
            format!("{step} {reports} found {found}/{expected}\n")
        };
        rows.iter().map(row).collect()
    }

    #[test]
    fn each_step_counts_its_findings_and_what_they_find() {
        expect![[r#"
                Raised 4 found 2/3
                Shape 3 found 1/3
                Evidence 3 found 1/3
                Merged 2 found 1/3
                Edited 1 found 2/3
                Published 1 found 2/3
            "#]]
        .assert_eq(&rows_text(
            Rule::Category,
            "
            case a
            expect f:10
            expect f:50
            expect f:90
            finding f:10 bug at=raised
            finding f:50 bug at=raised,shape,evidence
            finding f:51 bug at=raised,shape,evidence,merged
            finding f:50,f:90 bug at=edited
            finding f:200 bug at=raised,shape,evidence,merged
            report f:50,f:90 bug
            case b
            run failed
            finding f:1 at=raised
            ",
        ));
    }

    #[test]
    fn judge_decides_about_findings_and_published_ones_once() {
        expect![[r#"
                Raised 2 found 2/2
                Shape 2 found 2/2
                Evidence 1 found 1/2
                Merged 1 found 1/2
                Edited 1 found 1/2
                Published 1 found 1/2
            "#]]
        .assert_eq(&rows_text(
            Rule::Judge,
            r#"
            case a
            expect anywhere "The loop never ends."
            expect anywhere "The file stays open."
            report f:1 "Endless"
            judged 0-0
            finding f:1 "Endless" at=raised,shape,evidence,merged,edited
            finding f:9 "Leak" at=raised,shape
            judged-findings 1-1
            "#,
        ));
    }

    #[test]
    fn other_tool_has_no_funnel() {
        assert_eq!(rows_text(Rule::Category, "case a\nexpect f:1\nreport f:1 bug"), "");
    }
}
