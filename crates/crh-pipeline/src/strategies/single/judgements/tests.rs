use std::collections::BTreeMap;

use proptest::prelude::*;

use super::super::answer::FindingJudgement;
use super::super::sample::member;
use super::*;
use crate::plan::Assignment;
use crh_review::ReviewerReturn;
use crh_review::finding::Severity::{P1, P2};

fn record(titles: &[&str]) -> RunRecord {
    let assignment = Assignment {
        name: "single".to_owned(),
        reviewer: "single".to_owned(),
        label: String::new(),
        why: String::new(),
        focus: String::new(),
        parts: Vec::new(),
    };
    let members = titles.iter().map(|title| member(title, P1, 500)).collect();
    RunRecord { members, summary: "draft".to_owned(), ..RunRecord::new(assignment) }
}

fn candidates(places: &[usize]) -> Vec<RecheckCandidate> {
    let numbered = (1..).zip(places);
    numbered
        .map(|(id, at)| RecheckCandidate { id: format!("F{id}"), index: *at, doubts: Vec::new() })
        .collect()
}

fn judgement(result: JudgementResult, confidence: Option<u16>) -> FindingJudgement {
    let judgement = Judgement::new(result, "see line 3".to_owned());
    FindingJudgement { judgement, confidence: confidence.map(Confidence::thousandths) }
}

fn second_answer(
    judgements_by_id: impl IntoIterator<Item = (&'static str, FindingJudgement)>,
    new: &[&str],
) -> SecondAnswer {
    let parsed = ReviewerReturn {
        reviewer: "single".to_owned(),
        members: new.iter().map(|title| member(title, P1, 750)).collect(),
        dropped: Vec::new(),
        residual_risks: vec!["risk".to_owned()],
        testing_gaps: Vec::new(),
        summary: String::new(),
    };
    let judgements = judgements_by_id.into_iter().map(|(id, judgement)| (id.to_owned(), judgement));
    SecondAnswer { parsed, judgements: judgements.collect::<BTreeMap<_, _>>(), notes: Vec::new() }
}

fn titles(members: &[Member]) -> Vec<&str> {
    members.iter().map(|member| member.finding.title.as_str()).collect()
}

#[test]
fn refuted_findings_are_dropped_with_the_reason() {
    let mut record = record(&["a", "b", "c", "d"]);
    record.residual_risks.push("risk".to_owned());
    let answer = second_answer(
        [
            ("F1", judgement(JudgementResult::Refuted, Some(0))),
            ("F2", judgement(JudgementResult::Confirmed, Some(1000))),
        ],
        &["new"],
    );
    apply_second_answer(&mut record, &candidates(&[2, 0, 3]), answer);
    assert_eq!(titles(&record.members), ["a", "b", "d", "new"]);
    let [refuted] = record.dropped.as_slice() else { panic!("{:?}", record.dropped) };
    assert_eq!(refuted.fate, Fate::Refuted);
    assert_eq!(refuted.reason, "see line 3 (confidence 0.50 -> 0.00)");
    let checked: Vec<_> = record
        .checked
        .iter()
        .map(|it| (it.finding.title.as_str(), it.judgement.result, it.judgement.reason.as_str()))
        .collect();
    assert_eq!(
        checked,
        [
            ("a", JudgementResult::Confirmed, "see line 3 (confidence 0.50 -> 1.00)"),
            ("d", JudgementResult::Unsure, "the second round gave no verdict"),
        ]
    );
    // The checked finding equals the member, with its corrected confidence.
    assert_eq!(record.members[0].finding, record.checked[0].finding);
    assert_eq!(record.members[0].finding.confidence, Confidence::ONE);
    assert_eq!(record.residual_risks, ["risk"]);
    assert_eq!(record.summary, "draft", "an empty summary says nothing");
}

#[test]
fn confirmed_is_raised_and_unsure_never_lowers_severe() {
    let check = |severity, before, result, corrected: Option<u16>, expected| {
        let finding = member("a", severity, before).finding;
        let after = adjusted_confidence(&finding, result, corrected.map(Confidence::thousandths));
        let case = format!("{severity:?} {before} {result:?} {corrected:?}");
        assert_eq!(after, Confidence::thousandths(expected), "{case}");
    };
    check(P1, 500, JudgementResult::Confirmed, None, 600);
    check(P2, 500, JudgementResult::Confirmed, None, 600);
    check(P1, 900, JudgementResult::Confirmed, None, 900);
    check(P1, 500, JudgementResult::Confirmed, Some(300), 600);
    check(P2, 900, JudgementResult::Confirmed, Some(300), 300);
    check(P1, 500, JudgementResult::Confirmed, Some(1000), 1000);
    check(P1, 640, JudgementResult::Unsure, Some(250), 640);
    check(P1, 500, JudgementResult::Unsure, Some(640), 640);
    check(P2, 640, JudgementResult::Unsure, Some(250), 250);
    check(P1, 640, JudgementResult::Unsure, None, 640);
    check(P1, 640, JudgementResult::Refuted, Some(0), 0);
}

proptest! {
    #[test]
    fn no_finding_is_lost_or_invented(
        count in 1_usize..6,
        verdicts in prop::collection::btree_map("F[1-8]", (0_u8..3, prop::option::of(0_u16..=1000)), 0..8),
        new in 0_usize..3,
    ) {
        let names: Vec<String> = (0..count).map(|number| format!("f{number}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let mut record = record(&names);
        let places: Vec<usize> = (0..count).step_by(2).collect();
        let mut answer = second_answer([], &["n"].repeat(new));
        answer.judgements = verdicts.into_iter().map(|(id, (word, confidence))| {
            let result = [JudgementResult::Confirmed, JudgementResult::Refuted, JudgementResult::Unsure][usize::from(word)];
            (id, judgement(result, confidence))
        }).collect();
        apply_second_answer(&mut record, &candidates(&places), answer);
        prop_assert_eq!(record.members.len() + record.dropped.len(), count + new);
        prop_assert_eq!(record.checked.len() + record.dropped.len(), places.len());
        for checked in &record.checked {
            prop_assert!(record.members.iter().any(|member| member.finding == checked.finding));
        }
    }
}
