//! The reviewers to evaluate (`--reviewers`), and the cases for them.

use std::collections::{BTreeMap, BTreeSet};

use crate::case::Case;
use crate::host::EvalHost;
use crh_pipeline::failure::Failure;
use crh_pipeline::reviewers::{Returns, Reviewer, ReviewerCatalogue};
use crh_review::eval::Expected;
use crh_review::finding::Category;

/// Reviewers named by `--reviewers`, in catalogue order. If empty, each change gets its usual
/// panel.
#[derive(Debug, Clone, Default)]
pub struct EvaluatedReviewers {
    named: Vec<&'static Reviewer>,
}

impl EvaluatedReviewers {
    /// Ignores unknown names. Only built-in reviewers exist here, because every case is its own
    /// repository.
    pub fn new(names: &[String]) -> Self {
        let catalogue = ReviewerCatalogue::built_in();
        let named = names.iter().filter_map(|name| catalogue.get(name));
        let named: BTreeSet<&str> = named.map(|reviewer| reviewer.name.as_str()).collect();
        let all = catalogue.reviewers().iter();
        Self { named: all.filter(|reviewer| named.contains(reviewer.name.as_str())).collect() }
    }

    /// `None` if the user named no reviewers.
    pub fn names(&self) -> Option<Vec<String>> {
        let names: Vec<String> = self.named.iter().map(|it| it.name.clone()).collect();
        Some(names).filter(|names| !names.is_empty())
    }

    /// Warns about reviewers whose output is not scored.
    pub fn warn_of_notes(&self, host: &dyn EvalHost) {
        for reviewer in &self.named {
            match reviewer.returns {
                Returns::Findings => {}
                Returns::Notes(_) => {
                    host.warn(&format!("`{}` writes notes, which are not scored", reviewer.name));
                }
            }
        }
    }

    /// Keeps cases with issues of the reviewers' categories, their twins (the changes that undo them),
    /// and clean cases. Keeps all if no reviewer is named.
    pub(crate) fn choose(&self, cases: &mut Vec<Case>, host: &dyn EvalHost) -> Result<(), Failure> {
        if self.named.is_empty() {
            return Ok(());
        }
        let categories: BTreeSet<Category> = self.named.iter().map(|it| it.category).collect();
        let is_for_them = |case: &Case| {
            let expected = &case.expected;
            let is_theirs = |it: &Expected| it.category.is_some_and(|it| categories.contains(&it));
            expected.is_empty() || expected.iter().any(is_theirs)
        };
        let changes = cases.iter().filter(|case| case.twin_of.is_none() && is_for_them(case));
        let chosen: BTreeSet<String> = changes.map(|case| case.id.clone()).collect();
        cases.retain(|case| chosen.contains(case.twin_of.as_ref().unwrap_or(&case.id)));
        let shown: Vec<String> = categories.iter().map(|it| format!("`{it}`")).collect();
        let shown = shown.join(" or ");
        if cases.is_empty() {
            return Err(Failure::usage(format!(
                "no case has an issue in category {shown}, and no case is clean"
            ))
            .hint("pass `--case '*'` to use all cases"));
        }
        if cases.iter().all(|case| case.expected.is_empty()) {
            host.warn(&format!(
                "no case has an issue in category {shown}; the numbers show only false positives on clean cases"
            ));
        }
        Ok(())
    }
}

/// Category of each built-in reviewer that reports findings.
pub(crate) fn category_by_reviewer() -> BTreeMap<String, Category> {
    let reviewers = ReviewerCatalogue::built_in().reviewers().iter();
    let findings = reviewers.filter(|reviewer| match reviewer.returns {
        Returns::Findings => true,
        Returns::Notes(_) => false,
    });
    findings.map(|reviewer| (reviewer.name.clone(), reviewer.category)).collect()
}
