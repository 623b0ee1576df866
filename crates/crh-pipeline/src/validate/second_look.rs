//! What a second look inside a run said of findings, as judgements on the issues that they became.

use std::collections::BTreeMap;

use crate::runs::Checked;
use crh_review::finding::Finding;
use crh_review::report::Issue;
use crh_review::{Judged, Judgement};

/// The judgements that second looks add up to, by `dedupe_key`.
///
/// One confirmation is enough to keep an issue. It takes all its findings to refute it, or to leave it undecided: what
/// one reviewer took back another may still stand by.
pub(super) fn judgements(issues: &[Issue], checked: &[Checked]) -> BTreeMap<String, Judgement> {
    // Findings are compared as a whole: they have no ids.
    let mut by_finding: BTreeMap<&Finding, Vec<&Judgement>> = BTreeMap::new();
    for checked in checked {
        by_finding.entry(&checked.finding).or_default().push(&checked.judgement);
    }
    let judged = issues.iter().filter_map(|issue| {
        let said: Vec<&[&Judgement]> = issue
            .members
            .iter()
            .map(|member| by_finding.get(&member.finding).map_or(&[][..], Vec::as_slice))
            .collect();
        Some((issue.dedupe_key.clone(), together(&said)?))
    });
    judged.collect()
}

/// What judgements on the findings of one issue add up to; none if somebody has to look at it.
fn together(said: &[&[&Judgement]]) -> Option<Judgement> {
    let all = || said.iter().copied().flatten().copied();
    let first = |result: Judged| all().find(|judgement| judgement.result == result).cloned();
    let every = |wanted: &dyn Fn(Judged) -> bool| {
        said.iter().all(|of_one| {
            !of_one.is_empty() && of_one.iter().all(|judgement| wanted(judgement.result))
        })
    };
    if let Some(confirmed) = first(Judged::Confirmed) {
        return Some(confirmed);
    }
    if every(&|result| result == Judged::Refuted) {
        return first(Judged::Refuted);
    }
    if every(&|result| matches!(result, Judged::Refuted | Judged::Unsure)) {
        return first(Judged::Unsure);
    }
    first(Judged::Failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(said: &[&[Judged]], expected: Option<Judged>) {
        let judgement = |result| Judgement { result, reason: String::new() };
        let said: Vec<Vec<Judgement>> =
            said.iter().map(|of_one| of_one.iter().copied().map(judgement).collect()).collect();
        let said: Vec<Vec<&Judgement>> =
            said.iter().map(|of_one| of_one.iter().collect()).collect();
        let said: Vec<&[&Judgement]> = said.iter().map(Vec::as_slice).collect();
        assert_eq!(together(&said).map(|judgement| judgement.result), expected, "{said:?}");
    }

    #[test]
    fn it_takes_all_findings_to_refute_an_issue_and_one_to_confirm_it() {
        use Judged::{Confirmed, Failed, Refuted, Unsure};
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
