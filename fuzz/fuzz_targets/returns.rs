//! Parses arbitrary bytes as a reviewer's return and merges the findings: no finding is lost, and
//! merging is idempotent.
//!
//! The first byte selects the dialect and the judgement of every issue; the rest is the return.

#![no_main]

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;

use crh_review::diff::Diff;
use crh_review::finding::{Member, Proof, Return};
use crh_review::report::Issue;
use crh_review::{
    Dialect, Judgement, JudgementResult, MergeResult, PastDecisions, Sources, apply_judgements,
    consolidate, parse_return,
};

/// The change that all returns refer to; the seeds quote it.
static SOURCES: LazyLock<Sources> =
    LazyLock::new(|| Sources::new(Diff::read(include_bytes!("returns.diff"))));

fuzz_target!(|bytes: &[u8]| {
    let Some((&choice, text)) = bytes.split_first() else { return };
    // As characters: `0` is native, `1` crh, `2` agent, `3` ce, all without a judgement.
    let dialects = [Dialect::Native, Dialect::Crh, Dialect::Agent, Dialect::Ce];
    let Ok(parsed) = parse_return(text, dialects[usize::from(choice % 4)], "fuzz") else { return };
    for member in parsed.members.iter().filter(|member| member.proof == Proof::Quotes) {
        check_native(member);
    }
    let judgement = match (choice / 4) % 6 {
        0 => None,
        1 => Some(JudgementResult::Confirmed),
        2 => Some(JudgementResult::Refuted),
        3 => Some(JudgementResult::Unsure),
        _ => Some(JudgementResult::Failed),
    };
    let judgement = judgement.map(|result| Judgement {
        result,
        reason: "so".to_owned(),
        probability: None,
        severity: None,
    });
    let apart = check_merge(parsed.members.clone(), judgement.as_ref(), &BTreeSet::new());
    let same = apart.candidate_pairs.into_iter().map(|pair| pair.id).collect();
    check_merge(parsed.members, judgement.as_ref(), &same);
});

/// A finding with evidence can be converted to the native dialect.
fn check_native(member: &Member) {
    let native = Return {
        reviewer: member.reviewer.clone(),
        findings: vec![member.finding.clone()],
        residual_risks: Vec::new(),
        testing_gaps: Vec::new(),
        summary: String::new(),
    };
    let text = serde_json::to_vec(&native).expect("a return is plain data");
    let parsed = parse_return(&text, Dialect::Native, "other").expect("our own shape");
    assert_eq!(parsed.dropped, []);
    assert_eq!(parsed.members, [member.clone()]);
}

fn check_merge(
    members: Vec<Member>,
    judgement: Option<&Judgement>,
    same: &BTreeSet<String>,
) -> MergeResult {
    let count = members.len();
    let merged = merge(members, judgement, same);
    assert_eq!(findings_in(&merged), count);
    let (mut members, unread) = merged.clone().flatten();
    assert_eq!(unread, []);
    // The order must not matter either.
    members.reverse();
    assert_eq!(merge(members, judgement, same), merged);
    merged
}

fn merge(
    members: Vec<Member>,
    judgement: Option<&Judgement>,
    same: &BTreeSet<String>,
) -> MergeResult {
    let merged = consolidate(members, &SOURCES, &PastDecisions::default(), same);
    let said = |issue: &Issue| Some((issue.dedupe_key.clone(), judgement?.clone()));
    let judgements: BTreeMap<_, _> = merged.issues.iter().filter_map(said).collect();
    apply_judgements(merged, &judgements)
}

fn findings_in(merged: &MergeResult) -> usize {
    let issues = merged.issues.iter().chain(&merged.pre_existing);
    issues.map(|issue| issue.members.len()).sum::<usize>() + merged.dropped.len()
}
