//! Table of the reviewers of a panel.

use super::brief::{short_line, split_listed};
use super::figures::UNDEFINED;
use super::sections::{GROUPS_MAX, Section, TableRow, table};
use crate::eval::ReviewerCounts;
use crate::render::html::with_thousands;

/// Contribution of each reviewer; `None` without a panel.
pub(super) fn reviewers_section(reviewers: &[ReviewerCounts]) -> Option<Section> {
    let (listed, omitted) = split_listed(reviewers, GROUPS_MAX);
    let rows = listed.iter().map(|reviewer| {
        let (category, own_matches) = match reviewer.category {
            Some(category) => (
                category.to_string(),
                format!("{}/{}", reviewer.own.matched, reviewer.own.expected),
            ),
            None => (UNDEFINED.to_owned(), UNDEFINED.to_owned()),
        };
        let wrong_reports = reviewer.duplicates.saturating_add(reviewer.known_bad);
        let counts = [
            reviewer.others,
            wrong_reports,
            reviewer.on_clean,
            reviewer.unlabelled,
            reviewer.on_twins,
        ];
        let counts = counts.iter().map(|number| with_thousands(u64::from(*number)));
        TableRow {
            name: short_line(&reviewer.name),
            cells: [category, own_matches].into_iter().chain(counts).collect(),
        }
    });
    let mut says = vec![
        "Matched: found and expected issues in the category of the reviewer. Others: matches in other categories. \
         Wrong: duplicates and reports known to be wrong. On clean, on reversed: reports on changes without bugs. A report of several reviewers counts for each of them."
            .to_owned(),
    ];
    if omitted > 0 {
        says.push(format!("{omitted} more are only in the JSON output."));
    }
    (!reviewers.is_empty()).then(|| Section {
        id: "reviewers",
        short: "Reviewers",
        title: "Contribution per reviewer",
        says,
        body: vec![table(
            &[
                "Reviewer",
                "Category",
                "Matched",
                "Others",
                "Wrong",
                "On clean",
                "Unlabelled",
                "On reversed",
            ],
            rows,
        )],
    })
}
