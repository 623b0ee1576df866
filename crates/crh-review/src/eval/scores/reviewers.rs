//! Contribution of each reviewer of a panel.

use std::collections::{BTreeMap, BTreeSet};

use super::ReviewerCounts;
use super::graded::{GradedCase, GradedRun};
use crate::eval::evaluation::About;
use crate::finding::Category;

/// Requested reviewers and those with reports, by name. Empty without a panel, because other
/// strategies name reviewers by part of the change, not by focus.
pub(super) fn reviewers(about: &About, cases: &[GradedCase<'_>]) -> Vec<ReviewerCounts> {
    if about.lenses.is_empty() {
        return Vec::new();
    }
    let mut counts = CountsByReviewer::default();
    for name in &about.reviewers {
        counts.entry(name);
    }
    let mut expected: BTreeMap<Category, u32> = BTreeMap::new();
    for case in cases {
        for run in &case.runs {
            match case.is_twin() {
                true => counts.add_twin(run),
                false => counts.add(about, case, run),
            }
            for category in case.case.labels.expected.iter().filter_map(|issue| issue.category) {
                *expected.entry(category).or_default() += 1;
            }
        }
    }
    let rows = counts.by_name.into_iter().map(|(name, mut row)| {
        row.category = about.lenses.get(name).copied();
        let expected_count = row.category.and_then(|category| expected.get(&category));
        row.own.expected = expected_count.copied().unwrap_or_default();
        ReviewerCounts { name: name.to_owned(), ..row }
    });
    rows.collect()
}

/// Counts by reviewer.
#[derive(Default)]
struct CountsByReviewer<'a> {
    by_name: BTreeMap<&'a str, ReviewerCounts>,
}

impl<'a> CountsByReviewer<'a> {
    fn entry(&mut self, name: &'a str) -> &mut ReviewerCounts {
        self.by_name.entry(name).or_default()
    }

    /// Counts one report for each of its reviewers.
    fn count_report(
        &mut self,
        run: &GradedRun<'a>,
        report: usize,
        mut count: impl FnMut(&str, &mut ReviewerCounts),
    ) {
        let names: BTreeSet<&str> =
            run.reported[report].reviewers.iter().map(String::as_str).collect();
        for name in names {
            count(name, self.entry(name));
        }
    }

    fn add(&mut self, about: &About, case: &GradedCase<'a>, run: &GradedRun<'a>) {
        for (issue, report) in &run.classes.matched {
            let category = case.case.labels.expected[*issue].category;
            self.count_report(run, *report, |name, row| {
                match category.is_some() && about.lenses.get(name).copied() == category {
                    true => row.own.matched += 1,
                    false => row.others += 1,
                }
            });
        }
        for (_, report) in &run.classes.duplicates {
            self.count_report(run, *report, |_, row| row.duplicates += 1);
        }
        for (_, report) in &run.classes.known_bad {
            self.count_report(run, *report, |_, row| row.known_bad += 1);
        }
        for report in &run.classes.on_clean {
            self.count_report(run, *report, |_, row| row.on_clean += 1);
        }
        for report in &run.classes.unlabelled {
            self.count_report(run, *report, |_, row| row.unlabelled += 1);
        }
    }

    fn add_twin(&mut self, run: &GradedRun<'a>) {
        for report in 0..run.reported.len() {
            self.count_report(run, report, |_, row| row.on_twins += 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;
    use crate::eval::matching::Rule;
    use crate::eval::scores::graded::grade_cases;
    use crate::eval::tests_support::{evaluation, input_lines, snapshot_input};

    /// Compares the rows of a panel with the snapshot, for the evaluation that the snapshot's lines
    /// with `> ` describe. The first of these lines may name the rule and the requested reviewers.
    fn check(expected: Expect) {
        let input = snapshot_input(&expected);
        let (rule, names, table) = match input.strip_prefix("requested by ") {
            None => (Rule::Category, "", input.as_str()),
            Some(rest) => {
                let (line, table) = rest.split_once('\n').unwrap();
                let (rule, names) = line.split_once(": ").unwrap();
                (serde_json::from_value(rule.into()).unwrap(), names, table)
            }
        };
        let mut evaluation = evaluation(rule, table);
        let about = &mut evaluation.about;
        let names = names.split(',').filter(|name| !name.is_empty());
        about.reviewers = names.map(str::to_owned).collect();
        let lenses = [
            ("correctness", Category::Bug),
            ("security", Category::Security),
            ("testing", Category::Testing),
        ];
        about.lenses = lenses.map(|(name, category)| (name.to_owned(), category)).into();
        let rows = reviewers(&evaluation.about, &grade_cases(&evaluation, rule));
        expected.assert_eq(&(input_lines(&input) + &rows_text(&rows)));
    }

    fn rows_text(rows: &[ReviewerCounts]) -> String {
        let row = |row: &ReviewerCounts| {
            let category =
                row.category.map_or_else(|| "-".to_owned(), |category| category.to_string());
            format!(
                "{} {category} {}/{} others {} duplicates {} bad {} clean {} unlabelled {} twins {}\n",
                row.name,
                row.own.matched,
                row.own.expected,
                row.others,
                row.duplicates,
                row.known_bad,
                row.on_clean,
                row.unlabelled,
                row.on_twins
            )
        };
        rows.iter().map(row).collect()
    }

    #[test]
    fn each_report_is_counted_once_per_reviewer() {
        check(expect![[r#"
            > case a
            > expect f:1 security
            > expect f:50 bug
            > bad f:90
            > run
            > report f:1 security by=security
            > report f:2 security by=security
            > report f:50 bug by=security
            > report f:90 security by=security
            > report f:200 security by=security
            > case b
            > run
            > report f:1 security by=security
            > case a~ twin of a
            > run
            > report f:1 security by=security
            security security 1/1 others 1 duplicates 1 bad 1 clean 1 unlabelled 1 twins 1
        "#]]);
    }

    #[test]
    fn merged_report_counts_once_for_each_reviewer() {
        check(expect![[r#"
            > case a
            > expect f:1 security
            > run
            > report f:1 security by=correctness,security,security
            correctness bug 0/0 others 1 duplicates 0 bad 0 clean 0 unlabelled 0 twins 0
            security security 1/1 others 0 duplicates 0 bad 0 clean 0 unlabelled 0 twins 0
        "#]]);
    }

    #[test]
    fn requested_reviewers_and_static_checks_have_rows() {
        check(expect![[r#"
            > requested by category: security,testing
            > case a
            > expect f:1 security
            > expect f:50 security
            > run
            > report f:1 security by=secrets
            secrets - 0/0 others 1 duplicates 0 bad 0 clean 0 unlabelled 0 twins 0
            security security 0/2 others 0 duplicates 0 bad 0 clean 0 unlabelled 0 twins 0
            testing testing 0/0 others 0 duplicates 0 bad 0 clean 0 unlabelled 0 twins 0
        "#]]);
    }

    #[test]
    fn expected_issues_count_per_started_run_by_category() {
        // The rule `family` also matches a report `bug` with an expected `logic`. No reviewer has
        // that category here, so the match counts under `others`.
        check(expect![[r#"
            > requested by family: correctness
            > case a
            > expect f:1 logic
            > expect f:50 bug
            > run
            > report f:1 bug by=correctness
            > report f:50 logic by=correctness
            > run failed
            > report f:50 bug by=correctness
            > run not-run
            correctness bug 1/2 others 1 duplicates 0 bad 0 clean 0 unlabelled 0 twins 0
        "#]]);
    }

    #[test]
    fn evaluation_without_panel_has_no_rows() {
        let evaluation = evaluation(
            Rule::Category,
            "
            case a
            run
            report f:1 bug by=sub-agent-1
            report f:9 bug by=sub-agent-2
            ",
        );
        let rows = reviewers(&evaluation.about, &grade_cases(&evaluation, Rule::Category));
        assert_eq!(rows, []);
    }
}
