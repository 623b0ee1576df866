//! Precision, recall and F1.

use super::tally::Tally;
use super::{CommentScores, Quality};
use crate::eval::bootstrap::ResampledCounts;

/// Quality of the reports.
pub(super) fn quality(resampled: &ResampledCounts<Tally>) -> Quality {
    let total = &resampled.total;
    Quality {
        expected: count(total.expected),
        reported: count(total.reported),
        matched: count(total.matched),
        duplicates: count(total.duplicates),
        known_bad: count(total.known_bad),
        on_clean: count(total.on_clean),
        unlabelled: count(total.unlabelled),
        clean_reported: count(total.clean_reported),
        precision: resampled.estimate(Tally::precision),
        precision_labelled: resampled.estimate(Tally::precision_labelled),
        recall: resampled.estimate(Tally::recall),
        f1: resampled.estimate(Tally::f1),
        findings_per_change: resampled.estimate(Tally::findings_per_change),
        clean_flagged: resampled.estimate(Tally::clean_flagged),
    }
}

/// Scores with the published comment as the unit.
pub(super) fn comment_scores(resampled: &ResampledCounts<Tally>) -> CommentScores {
    let total = &resampled.total;
    CommentScores {
        comments: count(total.reported),
        unmatched: count(total.unmatched),
        expected: count(total.expected),
        found: count(total.found),
        precision: resampled.estimate(Tally::comment_precision),
        recall: resampled.estimate(Tally::comment_recall),
        f1: resampled.estimate(Tally::comment_f1),
    }
}

/// A count as `u32`. Real counts are far below the maximum.
pub(super) fn count(count: u64) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eval::matching::Rule;
    use crate::eval::scores::score;
    use crate::eval::tests_support::evaluation;

    /// Comments, unmatched, expected, found.
    #[track_caller]
    fn check(rule: Rule, table: &str, counts: [u32; 4], f1: f64) {
        let scores = score(&evaluation(rule, table)).comments;
        let CommentScores { comments, unmatched, expected, found, .. } = scores;
        assert_eq!([comments, unmatched, expected, found], counts);
        assert_eq!(scores.f1.value, Some(f1));
    }

    #[test]
    fn one_comment_can_find_several_issues() {
        let table = "
            case a
            expect f:10
            expect g:50
            report f:10,g:51 bug
            report h:1 bug
            ";
        check(Rule::Category, table, [2, 1, 2, 2], 0.8);
    }

    #[test]
    fn second_comment_about_an_issue_is_not_wrong() {
        let table = "case a\nexpect f:10\nreport f:10 bug\nreport f:11 bug";
        check(Rule::Category, table, [2, 0, 1, 1], 1.0);
        assert_eq!(score(&evaluation(Rule::Category, table)).quality.duplicates, 1);
    }

    #[test]
    fn comment_without_a_place_is_matched_by_words_or_by_the_judge() {
        let table = r#"
            case a
            expect anywhere "The loop never ends."
            report f:1 "the loop never ends"
            judged
            "#;
        check(Rule::Text, table, [1, 0, 1, 1], 1.0);
        check(Rule::FileLine, table, [1, 1, 1, 0], 0.0);
        check(Rule::Judge, table, [1, 1, 1, 0], 0.0);
    }
}
