//! Validates an evaluation read from a file.

use std::collections::{BTreeMap, BTreeSet};

use super::case::{LABELS_MAX, Labels};
use super::evaluation::{CaseRun, CaseRuns, Evaluation, REPORTS_MAX};
use crate::sanitise::one_line;

impl Evaluation {
    /// The first problem of an evaluation, which another program than crh may have written.
    pub fn problem(&self) -> Option<String> {
        let mut by_id: BTreeMap<&str, &Labels> = BTreeMap::new();
        for CaseRuns { labels, .. } in &self.cases {
            if by_id.insert(&labels.id, labels).is_some() {
                return Some(format!("there are two cases `{}`", one_line(&labels.id)));
            }
        }
        let mut cases_with_twin = BTreeSet::new();
        self.cases.iter().find_map(|case| {
            let problem = self.case_problem(case, &by_id, &mut cases_with_twin)?;
            Some(format!("case `{}` {problem}", one_line(&case.labels.id)))
        })
    }

    fn case_problem<'a>(
        &self,
        CaseRuns { labels, runs, .. }: &'a CaseRuns,
        by_id: &BTreeMap<&str, &'a Labels>,
        cases_with_twin: &mut BTreeSet<&'a str>,
    ) -> Option<String> {
        // The judge of a twin answers about the issues of its case.
        let judged_labels = match &labels.twin_of {
            None => labels,
            Some(case_id) => {
                let case_name = one_line(case_id);
                let Some(case) = by_id.get(case_id.as_str()) else {
                    return Some(format!("is the twin of `{case_name}`, which is not there"));
                };
                if case.twin_of.is_some() {
                    return Some(format!("is the twin of `{case_name}`, which is a twin itself"));
                }
                if !cases_with_twin.insert(case_id) {
                    return Some(format!("is the second twin of `{case_name}`"));
                }
                if !labels.expected.is_empty() {
                    return Some("is a twin, but has expected issues".to_owned());
                }
                case
            }
        };
        if runs.len() > usize::try_from(self.repeats).unwrap_or(usize::MAX) {
            let repeats = self.repeats;
            return Some(format!("has {} runs, though every case has {repeats}", runs.len()));
        }
        labels_problem(labels)
            .or_else(|| runs.iter().find_map(|run| run_problem(run, judged_labels.expected.len())))
    }
}

fn labels_problem(labels: &Labels) -> Option<String> {
    let Labels { expected, known_bad, .. } = labels;
    if expected.len() > LABELS_MAX || known_bad.len() > LABELS_MAX {
        return Some(format!("has more than {LABELS_MAX} labels of one kind"));
    }
    expected.iter().enumerate().find_map(|(index, issue)| match issue.spans.len() {
        0..=LABELS_MAX => None,
        _ => Some(format!("has more than {LABELS_MAX} places for expected issue {index}")),
    })
}

fn run_problem(run: &CaseRun, expected_count: usize) -> Option<String> {
    if run.reported.len() > REPORTS_MAX {
        return Some(format!("has a run with more than {REPORTS_MAX} reports"));
    }
    let funnel_len = run.funnel.as_ref().map_or(0, |funnel| funnel.reports.len());
    if funnel_len > REPORTS_MAX {
        return Some(format!("has a run with more than {REPORTS_MAX} findings"));
    }
    let judged_findings = run.funnel.as_ref().and_then(|funnel| funnel.judged.as_ref());
    judged_problem(run.judged.as_ref(), expected_count, run.reported.len())
        .or_else(|| judged_problem(judged_findings, expected_count, funnel_len))
}

/// The first pair of a judge with an index that does not exist.
fn judged_problem(
    judged: Option<&Vec<(usize, usize)>>,
    expected_count: usize,
    report_count: usize,
) -> Option<String> {
    let mut judged = judged.into_iter().flatten();
    let (issue, report) =
        judged.find(|(issue, report)| *issue >= expected_count || *report >= report_count)?;
    Some(format!("was judged about issue {issue} and report {report}, which are not both there"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eval::matching::Rule;
    use crate::eval::tests_support::evaluation;

    fn check(table: &str, problem: &str) {
        let problem = Some(problem.to_owned()).filter(|problem| !problem.is_empty());
        assert_eq!(evaluation(Rule::Category, table).problem(), problem);
    }

    #[test]
    fn valid_evaluation_has_no_problem() {
        check("", "");
        check(
            "
            case a
            expect f:1
            run
            report f:1
            report f:2
            judged 0-1
            run not-run
            case a~ twin of a
            report f:1
            judged 0-0
            ",
            "",
        );
    }

    #[test]
    fn duplicate_id_is_a_problem() {
        check("case a\ncase b\ncase a", "there are two cases `a`");
    }

    #[test]
    fn second_twin_of_a_case_is_a_problem() {
        check("case t twin of a", "case `t` is the twin of `a`, which is not there");
        check("case a twin of a", "case `a` is the twin of `a`, which is a twin itself");
        check(
            "case a\ncase b twin of a\ncase c twin of b",
            "case `c` is the twin of `b`, which is a twin itself",
        );
        check("case a\ncase t twin of a\ncase u twin of a", "case `u` is the second twin of `a`");
        check(
            "case a\ncase t twin of a\nexpect f:1",
            "case `t` is a twin, but has expected issues",
        );
    }

    #[test]
    fn issue_with_too_many_places_is_a_problem() {
        let mut evaluation = evaluation(Rule::Category, "case a\nexpect f:1\nexpect f:2");
        evaluation.cases[0].labels.expected[1].spans.clear();
        assert_eq!(evaluation.problem(), None);
        let places = vec!["f:1"; LABELS_MAX + 1].join(",");
        let too_many_places = "case `a` has more than 100 places for expected issue 0";
        check(&format!("case a\nexpect {places}"), too_many_places);
    }

    #[test]
    fn verdict_on_missing_report_is_a_problem() {
        let table = |judged: &str| format!("case a\nexpect f:1\nreport f:1\njudged 0-0 {judged}");
        let problem = "case `a` was judged about issue 1 and report 0, which are not both there";
        check(&table("1-0"), problem);
        let problem = "case `a` was judged about issue 0 and report 1, which are not both there";
        check(&table("0-1"), problem);
    }

    #[test]
    fn oversized_evaluation_is_a_problem() {
        let many =
            |line: &str, times: usize| format!("case a\n{}", format!("{line}\n").repeat(times));
        check(&many("expect f:1", LABELS_MAX), "");
        let too_many_labels = "case `a` has more than 100 labels of one kind";
        check(&many("expect f:1", LABELS_MAX + 1), too_many_labels);
        check(&many("bad f:1", LABELS_MAX + 1), too_many_labels);
        check(&many("report f:1", REPORTS_MAX), "");
        let too_many_reports = "case `a` has a run with more than 1000 reports";
        check(&many("report f:1", REPORTS_MAX + 1), too_many_reports);
    }

    #[test]
    fn more_runs_than_repeats_are_a_problem() {
        let mut evaluation = evaluation(Rule::Category, "case a\nrun\nrun");
        evaluation.repeats = 1;
        let problem = evaluation.problem();
        assert_eq!(problem.as_deref(), Some("case `a` has 2 runs, though every case has 1"));
    }
}
