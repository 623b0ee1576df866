//! Agreement of the judge with the text rule on the same pairs.

use std::collections::BTreeSet;

use super::Agreement;
use super::graded::GradedCase;
use crate::eval::bootstrap::rounded;
use crate::eval::matching::{Rule, matching_pairs};

/// Numbers of pairs by answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Votes {
    both: u64,
    judge_alone: u64,
    text_alone: u64,
    neither: u64,
}

/// Agreement over every pair that the judge answered.
pub(super) fn agreement(cases: &[&GradedCase<'_>]) -> Agreement {
    let mut votes = Votes::default();
    for case in cases {
        let labels = &case.case.labels;
        for run in &case.runs {
            let Some(judged) = &run.run.judged else { continue };
            let pairs = (labels.expected.len() * run.reported.len()) as u64;
            let is_valid = |(expected, reported): &&(usize, usize)| {
                *expected < labels.expected.len() && *reported < run.reported.len()
            };
            let by_judge: BTreeSet<_> = judged.iter().filter(is_valid).copied().collect();
            let by_text = match run.is_reviewed() {
                true => matching_pairs(labels, run.run, Rule::Text),
                false => BTreeSet::new(),
            };
            let both = by_judge.intersection(&by_text).count() as u64;
            let [judge_alone, text_alone] =
                [by_judge.len(), by_text.len()].map(|pair_count| pair_count as u64 - both);
            votes.both += both;
            votes.judge_alone += judge_alone;
            votes.text_alone += text_alone;
            votes.neither += pairs - both - judge_alone - text_alone;
        }
    }
    votes.agreement()
}

impl Votes {
    fn agreement(self) -> Agreement {
        let Self { both, judge_alone, text_alone, neither } = self;
        let pairs = both + judge_alone + text_alone + neither;
        Agreement {
            pairs,
            judge_alone,
            text_alone,
            agreed: both + neither,
            kappa: self.kappa().map(rounded),
        }
    }

    /// Cohen's kappa. `None` if chance agreement is complete, as without pairs or if both give one
    /// and the same answer for every pair.
    fn kappa(self) -> Option<f64> {
        let [both, judge_alone, text_alone, neither] =
            [self.both, self.judge_alone, self.text_alone, self.neither].map(i128::from);
        let pairs = both + judge_alone + text_alone + neither;
        // `observed` and `by_chance` are scaled by the square of the number of pairs.
        let observed = pairs * (both + neither);
        let by_chance = (both + judge_alone) * (both + text_alone)
            + (neither + judge_alone) * (neither + text_alone);
        let possible = pairs * pairs - by_chance;
        (possible > 0).then(|| (observed - by_chance) as f64 / possible as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eval::scores::graded::grade_cases;
    use crate::eval::tests_support::evaluation;

    /// Counts of the usual table: both, judge alone, text alone, neither.
    fn check(counts: [u64; 4], kappa: Option<f64>) {
        let [both, judge_alone, text_alone, neither] = counts;
        let votes = Votes { both, judge_alone, text_alone, neither };
        assert_eq!(votes.agreement().kappa, kappa, "{counts:?}");
    }

    #[test]
    fn kappa_equals_hand_calculation() {
        // 35 of 50 agree, chance explains half: (0.7 - 0.5) / (1 - 0.5).
        check([20, 5, 10, 15], Some(0.4));
        check([10, 0, 0, 10], Some(1.0));
        check([0, 10, 10, 0], Some(-1.0));
        check([25, 25, 25, 25], Some(0.0));
        // 96 of 100 agree, chance explains 0.9216 + 0.0016: (0.96 - 0.9232) / 0.0768.
        check([2, 2, 2, 94], Some(0.479167));
        check([u64::from(u32::MAX), 0, 0, u64::from(u32::MAX)], Some(1.0));
    }

    #[test]
    fn kappa_is_undefined_if_chance_agreement_is_one() {
        check([0, 0, 0, 0], None);
        check([0, 0, 0, 7], None);
        check([7, 0, 0, 0], None);
        check([0, 3, 0, 7], Some(0.0));
    }

    fn check_table(table: &str, expected: Agreement) {
        let evaluation = evaluation(Rule::Judge, table);
        let graded = grade_cases(&evaluation, Rule::Judge);
        assert_eq!(agreement(&graded.iter().collect::<Vec<_>>()), expected);
    }

    #[test]
    fn only_judged_pairs_are_counted() {
        // The judge matches two of 2 · 3 + 2 · 1 pairs; the texts have no words in common. Invalid
        // pairs, repeated pairs and failed runs do not count.
        check_table(
            r#"
            case a
            expect f:10 "the loop never ends"
            expect f:50 "the file stays open"
            run
            report f:10 "one"
            report f:10 "two"
            report f:10 "three"
            judged 0-1 1-1 1-1 7-0 0-9
            run
            report f:10 "one"
            run
            report f:10 "one"
            judged
            run failed
            report f:10 "one"
            judged 0-0
            "#,
            Agreement { pairs: 8, judge_alone: 2, text_alone: 0, agreed: 6, kappa: Some(0.0) },
        );
    }

    #[test]
    fn agreement_compares_judge_with_text_rule() {
        check_table(
            r#"
            case a
            expect f:10 "the loop never ends"
            report f:90 "the loop never ends"
            report g:10 "the loop never ends"
            judged 0-0
            "#,
            Agreement { pairs: 2, agreed: 2, kappa: Some(1.0), ..Agreement::default() },
        );
    }
}
