//! Recall by kind of issue.

use std::collections::BTreeMap;

use super::graded::{GradedCase, GradedRun};
use super::{RecallBy, Share};
use crate::eval::bootstrap::count;
use crate::eval::case::Labels;
use crate::eval::matching::{Rule, classify_reports};

/// Size classes of a change: maximum lines and name.
const SIZES: [(u32, &str); 4] =
    [(10, "1–10"), (50, "11–50"), (200, "51–200"), (u32::MAX, "over 200")];

/// Name of the group of issues without a category.
const UNKNOWN: &str = "unknown";

/// Recall by severity, category, language, size and kind, over all runs.
pub(super) fn recall_by(cases: &[&GradedCase<'_>]) -> RecallBy {
    let mut recall = RecallBy::default();
    let mut sizes: BTreeMap<u32, Share> = BTreeMap::new();
    for case in cases {
        let labels = &case.case.labels;
        let mut size_limits = SIZES.iter().map(|(max_lines, _)| *max_lines);
        let size = size_limits.find(|max_lines| labels.lines <= *max_lines);
        for (issue_index, issue) in labels.expected.iter().enumerate() {
            let kind = if issue.omission { "omission" } else { "present" };
            let category =
                issue.category.map_or_else(|| UNKNOWN.to_owned(), |category| category.to_string());
            let shares = [
                recall.severity.entry(issue.severity.to_string()).or_default(),
                recall.category.entry(category).or_default(),
                recall.language.entry(labels.language.clone()).or_default(),
                recall.kind.entry(kind.to_owned()).or_default(),
                sizes.entry(size.unwrap_or(u32::MAX)).or_default(),
            ];
            for share in shares {
                for run in &case.runs {
                    let is_matched =
                        run.classes.matched.iter().any(|(issue, _)| *issue == issue_index);
                    share.expected += 1;
                    share.matched += u32::from(is_matched);
                }
            }
        }
    }
    let runs =
        || cases.iter().flat_map(|case| case.runs.iter().map(|run| (&case.case.labels, run)));
    recall.missed = runs().map(|(_, run)| count(run.classes.missed.len())).sum();
    recall.misnamed = runs().map(|(labels, run)| count_misnamed(labels, run)).sum();
    let size_entry =
        |(max_lines, name): &(u32, &str)| Some(((*name).to_owned(), *sizes.get(max_lines)?));
    recall.size = SIZES.iter().filter_map(size_entry).collect();
    recall
}

/// Number of missed issues with a report at their place.
fn count_misnamed(labels: &Labels, run: &GradedRun<'_>) -> u32 {
    if run.classes.missed.is_empty() || run.reported.is_empty() {
        return 0;
    }
    let by_place = classify_reports(labels, run.run, Rule::FileLine);
    let has_report = |issue: &&usize| by_place.matched.iter().any(|(matched, _)| matched == *issue);
    count(run.classes.missed.iter().filter(has_report).count())
}
