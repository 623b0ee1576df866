//! Rules of static reviewers, independent of where they match.

use crh_review::finding::{Category, Confidence, Severity};

/// A rule of a static reviewer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LintRule {
    /// Id with the reviewer's name first: `leftovers/debugger`. Used by ignore comments, baselines
    /// and SARIF.
    pub id: &'static str,
    /// Severity.
    pub severity: Severity,
    /// Category.
    pub category: Category,
    /// Confidence.
    pub confidence: Confidence,
    /// One-line summary for the list of rules.
    pub summary: &'static str,
    /// Names of the rule in other tools, so that their ignore comments count: `no-debugger`,
    /// `T100`.
    pub aliases: &'static [&'static str],
}

/// Rules that are constants, by reviewer. The reviewer `patterns` reads its rules from files.
const TABLES: [&[LintRule]; 7] = [
    crate::secrets::RULES,
    crate::syntax::RULES,
    crate::references::RULES,
    crate::leftovers::RULES,
    crate::workflows::RULES,
    crate::consistency::RULES,
    crate::injection::RULES,
];

/// All built-in rules, by reviewer.
pub fn rules() -> impl Iterator<Item = &'static LintRule> {
    let [before @ .., injection] = TABLES;
    before.into_iter().flatten().chain(crate::patterns::rules()).chain(injection)
}

/// The built-in rule with an id. Parses no other rule.
pub(crate) fn find_rule(id: &str) -> Option<&'static LintRule> {
    let constant = TABLES.into_iter().flatten().find(|rule| rule.id == id);
    constant.or_else(|| crate::patterns::rule(id))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn rule_ids_are_unique_and_start_with_the_reviewer() {
        let ids: BTreeSet<&str> = rules().map(|rule| rule.id).collect();
        assert_eq!(ids.len(), rules().count());
        for id in ids {
            let reviewer = id.split('/').next().unwrap();
            assert!(crate::REVIEWERS.contains(&reviewer), "{id}");
        }
    }
}
