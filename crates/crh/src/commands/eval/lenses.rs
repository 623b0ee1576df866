//! The reviewers of a panel that an evaluation is about, and the cases that are for them.

use std::collections::{BTreeMap, BTreeSet};

use super::super::review::panel;
use crate::cli::EvalReviewArgs;
use crate::config::key::Given;
use crate::config::keys::RawSettings;
use crate::config::review::StrategyChoice;
use crate::eval::case::Case;
use crate::failure::Failure;
use crate::ui;
use crh_pipeline::reviewers::{Catalogue, Returns, Reviewer};
use crh_review::finding::Category;

/// The reviewers that `--reviewers` names, in the order of the catalogue. None: whoever each change asks for.
#[derive(Debug, Clone, Default)]
pub(super) struct Lenses {
    named: Vec<&'static Reviewer>,
}

impl Lenses {
    /// Those that were named. Every case is a repository of its own, so that only those that come with crh are known.
    pub(super) fn of(args: &EvalReviewArgs) -> Result<Self, Failure> {
        let catalogue = Catalogue::built_in();
        panel::are_known(&args.reviewers, catalogue)?;
        let named = args.reviewers.iter().filter_map(|name| catalogue.get(name));
        let named: BTreeSet<&str> = named.map(|reviewer| reviewer.name.as_str()).collect();
        let all = catalogue.reviewers().iter();
        Ok(Self { named: all.filter(|reviewer| named.contains(reviewer.name.as_str())).collect() })
    }

    /// Their names; none if nobody was named.
    pub(super) fn names(&self) -> Option<Vec<String>> {
        let names: Vec<String> = self.named.iter().map(|it| it.name.clone()).collect();
        Some(names).filter(|names| !names.is_empty())
    }

    /// Takes a panel where reviewers of one are named, whatever the files say; a flag that says otherwise is refused.
    pub(super) fn set(&self, flags: &mut RawSettings) -> Result<(), Failure> {
        if self.named.is_empty() {
            return Ok(());
        }
        match &flags.review_strategy {
            None => {
                flags.review_strategy = Some(Given::by_flag("--reviewers", StrategyChoice::Panel));
                Ok(())
            }
            Some(Given { value: StrategyChoice::Panel, .. }) => Ok(()),
            Some(Given {
                value: StrategyChoice::Single | StrategyChoice::Delegate | StrategyChoice::Static,
                ..
            }) => Err(Failure::usage("`--reviewers` is for a panel")
                .hint("leave `--strategy` out, or say `--strategy panel`")),
        }
    }

    /// Says so of those whose words no number counts.
    pub(super) fn warn_of_notes(&self) {
        for reviewer in &self.named {
            match reviewer.returns {
                Returns::Findings => {}
                Returns::Notes(_) => ui::warn(&format!(
                    "`{}` writes notes, which are in the reports and in no number",
                    reviewer.name
                )),
            }
        }
    }

    /// Keeps the cases with an issue of their categories, the twins of these, and those in which nothing is wrong. All, if nobody
    /// was named.
    pub(super) fn choose(&self, cases: &mut Vec<Case>) -> Result<(), Failure> {
        if self.named.is_empty() {
            return Ok(());
        }
        let categories: BTreeSet<Category> = self.named.iter().map(|it| it.category).collect();
        let is_for_them = |case: &Case| {
            let expected = &case.expected;
            expected.is_empty() || expected.iter().any(|it| categories.contains(&it.category))
        };
        let changes = cases.iter().filter(|case| case.twin_of.is_none() && is_for_them(case));
        let chosen: BTreeSet<String> = changes.map(|case| case.id.clone()).collect();
        cases.retain(|case| chosen.contains(case.twin_of.as_ref().unwrap_or(&case.id)));
        let shown: Vec<String> = categories.iter().map(|it| format!("`{it}`")).collect();
        let shown = shown.join(" or ");
        if cases.is_empty() {
            return Err(Failure::usage(format!(
                "no case has an issue of the category {shown}, and none is clean"
            ))
            .hint("`--case '*'` takes all"));
        }
        if cases.iter().all(|case| case.expected.is_empty()) {
            ui::warn(&format!(
                "no case has an issue of the category {shown}: this says only what is reported where nothing is wrong"
            ));
        }
        Ok(())
    }
}

/// What each reviewer that reports findings looks for.
pub(super) fn lenses() -> BTreeMap<String, Category> {
    let reviewers = Catalogue::built_in().reviewers().iter();
    let findings = reviewers.filter(|reviewer| match reviewer.returns {
        Returns::Findings => true,
        Returns::Notes(_) => false,
    });
    findings.map(|reviewer| (reviewer.name.clone(), reviewer.category)).collect()
}
