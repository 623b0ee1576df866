//! Converts the results of second looks at findings into judgements on issues.

use std::collections::BTreeMap;

use crate::runs::CheckedFinding;
use crh_review::finding::Finding;
use crh_review::report::Issue;
use crh_review::{Judgement, JudgementResult};

/// Judgements by `dedupe_key`.
///
/// One confirmation keeps an issue. All of its findings must be refuted to refute it, or be
/// undecided to leave it undecided.
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

/// Combines the judgements on the findings of one issue. None if the issue must be checked.
fn combine(judgements: &[&[&Judgement]]) -> Option<Judgement> {
    let all = || judgements.iter().copied().flatten().copied();
    let first =
        |result: JudgementResult| all().find(|judgement| judgement.result == result).cloned();
    let every = |wanted: &dyn Fn(JudgementResult) -> bool| {
        judgements.iter().all(|of_one| {
            !of_one.is_empty() && of_one.iter().all(|judgement| wanted(judgement.result))
        })
    };
    if let Some(confirmed) = first(JudgementResult::Confirmed) {
        return Some(confirmed);
    }
    if every(&|result| result == JudgementResult::Refuted) {
        return first(JudgementResult::Refuted);
    }
    if every(&|result| matches!(result, JudgementResult::Refuted | JudgementResult::Unsure)) {
        return first(JudgementResult::Unsure);
    }
    first(JudgementResult::Failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(judgements: &[&[JudgementResult]], expected: Option<JudgementResult>) {
        let judgement = |result| Judgement { result, reason: String::new() };
        let judgements: Vec<Vec<Judgement>> = judgements
            .iter()
            .map(|of_one| of_one.iter().copied().map(judgement).collect())
            .collect();
        let judgements: Vec<Vec<&Judgement>> =
            judgements.iter().map(|of_one| of_one.iter().collect()).collect();
        let said: Vec<&[&Judgement]> = judgements.iter().map(Vec::as_slice).collect();
        assert_eq!(combine(&said).map(|judgement| judgement.result), expected, "{said:?}");
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
