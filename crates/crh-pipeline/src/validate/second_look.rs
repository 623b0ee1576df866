//! Converts the results of earlier checks into judgements on issues. An issue that is carried over
//! from the last review was validated there.

use std::collections::BTreeMap;

use crate::runs::CheckedFinding;
use crh_review::finding::Finding;
use crh_review::report::Issue;
use crh_review::{Judgement, JudgementResult};

/// Judgements by `dedupe_key`.
///
/// - If a finding of an issue is confirmed, the issue is confirmed.
/// - Otherwise, if every finding is refuted, the issue is refuted.
/// - Otherwise, if every finding is refuted or unsure, the issue is unsure.
/// - Otherwise, if a check failed, the result is that failure.
/// - Otherwise, the issue gets no judgement.
pub(super) fn judgements(
    issues: &[Issue],
    checked: &[CheckedFinding],
) -> BTreeMap<String, Judgement> {
    // Findings are compared as a whole: they have no ids.
    let mut by_finding: BTreeMap<&Finding, Vec<&Judgement>> = BTreeMap::new();
    for checked in checked {
        by_finding.entry(&checked.finding).or_default().push(&checked.judgement);
    }
    let judged = issues.iter().filter_map(|issue| {
        let judgements: Vec<&[&Judgement]> = issue
            .members
            .iter()
            .map(|member| by_finding.get(&member.finding).map_or(&[][..], Vec::as_slice))
            .collect();
        Some((issue.dedupe_key.clone(), combine(&judgements)?))
    });
    judged.collect()
}

/// Combines the judgements on the findings of one issue. `None` if they are not enough, so that an
/// independent run must validate the issue.
fn combine(judgements: &[&[&Judgement]]) -> Option<Judgement> {
    let all_judgements = || judgements.iter().copied().flatten().copied();
    let first = |result: JudgementResult| {
        all_judgements().find(|judgement| judgement.result == result).cloned()
    };
    let each_finding = |is_accepted: &dyn Fn(JudgementResult) -> bool| {
        judgements.iter().all(|finding_judgements| {
            !finding_judgements.is_empty()
                && finding_judgements.iter().all(|judgement| is_accepted(judgement.result))
        })
    };
    if let Some(confirmed) = first(JudgementResult::Confirmed) {
        return Some(confirmed);
    }
    if each_finding(&|result| result == JudgementResult::Refuted) {
        return first(JudgementResult::Refuted);
    }
    if each_finding(&|result| matches!(result, JudgementResult::Refuted | JudgementResult::Unsure))
    {
        return first(JudgementResult::Unsure);
    }
    first(JudgementResult::Failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(judgements: &[&[JudgementResult]], expected: Option<JudgementResult>) {
        let judgement = |result| Judgement::new(result, String::new());
        let judgements: Vec<Vec<Judgement>> = judgements
            .iter()
            .map(|of_one| of_one.iter().copied().map(judgement).collect())
            .collect();
        let judgements: Vec<Vec<&Judgement>> =
            judgements.iter().map(|of_one| of_one.iter().collect()).collect();
        let slices: Vec<&[&Judgement]> = judgements.iter().map(Vec::as_slice).collect();
        assert_eq!(combine(&slices).map(|judgement| judgement.result), expected, "{slices:?}");
    }

    #[test]
    fn one_confirms_and_all_must_refute() {
        use JudgementResult::{Confirmed, Failed, Refuted, Unsure};
        check(&[&[]], None);
        check(&[&[Refuted]], Some(Refuted));
        check(&[&[Refuted], &[]], None);
        check(&[&[Refuted], &[Refuted]], Some(Refuted));
        check(&[&[Refuted], &[Confirmed]], Some(Confirmed));
        check(&[&[Refuted, Confirmed]], Some(Confirmed));
        check(&[&[Confirmed], &[]], Some(Confirmed));
        check(&[&[Refuted], &[Unsure]], Some(Unsure));
        check(&[&[Unsure], &[]], None);
        check(&[&[Failed]], Some(Failed));
        check(&[&[Failed], &[Refuted]], Some(Failed));
    }
}
