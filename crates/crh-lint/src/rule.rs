//! Rules: the things that static reviewers can find, with all about them that does not depend on the place.

use crh_review::finding::{Category, Confidence, Severity};

/// One thing that a static reviewer can find.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rule {
    /// Its name, the reviewer's before it: `leftovers/debugger`. Ignore comments, baselines and SARIF go by it.
    pub id: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// What kind of trouble it is.
    pub category: Category,
    /// How sure it is.
    pub confidence: Confidence,
    /// What it finds, in a line, for the list of rules.
    pub finds: &'static str,
    /// The names under which other tools know it, so that the ignore comments written for those count: `no-debugger`, `T100`.
    pub also: &'static [&'static str],
}

/// All rules that are built in, by reviewer.
pub fn rules() -> impl Iterator<Item = &'static Rule> {
    [
        crate::secrets::RULES,
        crate::syntax::RULES,
        crate::references::RULES,
        crate::leftovers::RULES,
        crate::workflows::RULES,
        crate::consistency::RULES,
        crate::patterns::rules(),
        crate::injection::RULES,
    ]
    .into_iter()
    .flatten()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_rule_has_a_name_of_its_own_that_begins_with_its_reviewer() {
        let ids: BTreeSet<&str> = rules().map(|rule| rule.id).collect();
        assert_eq!(ids.len(), rules().count());
        for id in ids {
            let reviewer = id.split('/').next().unwrap();
            assert!(crate::REVIEWERS.contains(&reviewer), "{id}");
        }
    }
}
