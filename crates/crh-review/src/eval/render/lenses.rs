//! Table of the reviewers of a panel.

use super::brief::{brief, first};
use super::figures::UNDEFINED;
use super::sections::{Body, PARTS_MAX, Row, Section, Table};
use crate::eval::ReviewerCounts;
use crate::render::html::with_thousands;

/// Contribution of each reviewer; `None` without a panel.
pub(super) fn lenses(reviewers: &[ReviewerCounts]) -> Option<Section> {
    let (shown, more) = first(reviewers, PARTS_MAX);
    let rows = shown.iter().map(|of| {
        let (category, own) = match of.category {
            Some(category) => {
                (category.to_string(), format!("{}/{}", of.own.matched, of.own.expected))
            }
            None => (UNDEFINED.to_owned(), UNDEFINED.to_owned()),
        };
        let wrong = of.duplicates.saturating_add(of.known_bad);
        let counts = [of.others, wrong, of.on_clean, of.unlabelled, of.on_twins];
        let counts = counts.iter().map(|number| with_thousands(u64::from(*number)));
        Row { name: brief(&of.name), cells: [category, own].into_iter().chain(counts).collect() }
    });
    let mut says = vec![
        "Matched of the expected issues of its category, and how many others; wrong is what is known to be so, and a second \
         report of one issue. A report of several reviewers counts for each of them."
            .to_owned(),
    ];
    if more > 0 {
        says.push(format!("{more} more are only in the JSON output."));
    }
    (!reviewers.is_empty()).then(|| Section {
        id: "reviewers",
        short: "Reviewers",
        title: "Contribution per reviewer",
        says,
        body: vec![Body::Table(Table {
            columns: vec![
                "Reviewer",
                "Category",
                "Matched",
                "Others",
                "Wrong",
                "On clean",
                "Unlabelled",
                "On twins",
            ],
            rows: rows.collect(),
        })],
    })
}
