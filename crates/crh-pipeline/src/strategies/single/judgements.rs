//! Applies the answer of the second round: judgements on the findings of the draft, and new findings.
//! No I/O.

use super::answer::{FindingJudgement, SecondAnswer};
use super::doubts::{RecheckCandidate, malformed_id};
use crate::report_repair::FindingName;
use crate::runs::{CheckedFinding, RunRecord};
use crh_review::finding::{Confidence, Finding, Member, Severity};
use crh_review::report::{DroppedFinding, Fate};
use crh_review::{Judgement, JudgementResult};

/// Minimum confidence of a confirmed finding. The report hides issues with less confidence, unless
/// they are a P0.
const CONFIRMED_MIN: Confidence = Confidence::thousandths(600);

/// Applies the answer. A candidate without a judgement is unsure.
pub(super) fn apply_second_answer(
    record: &mut RunRecord,
    candidates: &[RecheckCandidate],
    mut second: SecondAnswer,
) {
    let new_names: Vec<FindingName> =
        second.parsed.members.iter().map(FindingName::from_member).collect();
    settle_malformed(record, &mut second, &new_names);
    let (mut refutations, mut repaired) = (Vec::new(), Vec::new());
    for candidate in candidates {
        let Some(member) = record.members.get_mut(candidate.index) else { continue };
        let answer = second.judgements.remove(&candidate.id);
        if candidate.has_thin_evidence() && new_names.contains(&FindingName::from_member(member)) {
            repaired.push(candidate.index);
            continue;
        }
        let mut judgement = match &answer {
            Some(judged) => judged.judgement.clone(),
            None => Judgement::new(
                JudgementResult::Unsure,
                "the second round gave no verdict".to_owned(),
            ),
        };
        let old_confidence = member.finding.confidence;
        let corrected_confidence = answer.and_then(|judged| judged.confidence);
        let new_confidence =
            adjusted_confidence(&member.finding, judgement.result, corrected_confidence);
        if new_confidence != old_confidence {
            let reason = &judgement.reason;
            judgement.reason =
                format!("{reason} (confidence {old_confidence} -> {new_confidence})");
            member.finding.confidence = new_confidence;
        }
        match judgement.result {
            JudgementResult::Refuted => refutations.push((candidate.index, judgement.reason)),
            JudgementResult::Confirmed | JudgementResult::Unsure | JudgementResult::Failed => {
                let finding = member.finding.clone();
                record.checked.push(CheckedFinding { finding, judgement });
            }
        }
    }
    remove_members(record, refutations, &repaired);
    record.members.extend(second.parsed.members);
    record.dropped.extend(second.parsed.dropped);
    add_new(&mut record.residual_risks, second.parsed.residual_risks);
    add_new(&mut record.testing_gaps, second.parsed.testing_gaps);
    if !second.parsed.summary.trim().is_empty() {
        record.summary = second.parsed.summary;
    }
    record.notes.extend(second.notes);
}

/// The confidence after the second round. A confirmed finding gets at least the confidence that it
/// needs for the report. An unsure judgement never lowers the confidence of a P0 or P1.
fn adjusted_confidence(
    finding: &Finding,
    result: JudgementResult,
    corrected_confidence: Option<Confidence>,
) -> Confidence {
    let old_confidence = finding.confidence;
    let is_urgent = finding.severity <= Severity::P1;
    match (result, corrected_confidence) {
        (JudgementResult::Confirmed, None) => old_confidence.max(CONFIRMED_MIN),
        (JudgementResult::Confirmed, Some(now)) if is_urgent => now.max(CONFIRMED_MIN),
        (JudgementResult::Unsure | JudgementResult::Failed, Some(now)) if is_urgent => {
            now.max(old_confidence)
        }
        (
            JudgementResult::Confirmed
            | JudgementResult::Refuted
            | JudgementResult::Unsure
            | JudgementResult::Failed,
            _,
        ) => corrected_confidence.unwrap_or(old_confidence),
    }
}

/// Malformed findings of the draft, in the order of their ids.
pub(super) fn malformed_findings(
    dropped: &[DroppedFinding],
) -> impl Iterator<Item = &DroppedFinding> {
    dropped.iter().filter(|dropped| dropped.fate == Fate::Malformed)
}

/// Removes malformed findings that the second answer repairs, and drops those that it refutes.
fn settle_malformed(record: &mut RunRecord, second: &mut SecondAnswer, new_names: &[FindingName]) {
    let mut malformed_count = 0;
    record.dropped.retain_mut(|dropped| {
        if dropped.fate != Fate::Malformed {
            return true;
        }
        let answer = second.judgements.remove(&malformed_id(malformed_count));
        malformed_count += 1;
        if let Some(FindingJudgement { judgement, .. }) = answer
            && judgement.result == JudgementResult::Refuted
        {
            dropped.fate = Fate::Refuted;
            dropped.reason = judgement.reason;
            return true;
        }
        !new_names.contains(&FindingName::from_dropped(dropped))
    });
}

/// Drops refuted findings, by index, and removes those that the second answer reports again.
fn remove_members(record: &mut RunRecord, refutations: Vec<(usize, String)>, repaired: &[usize]) {
    let mut kept_members: Vec<Member> = Vec::new();
    for (index, member) in std::mem::take(&mut record.members).into_iter().enumerate() {
        if repaired.contains(&index) {
            continue;
        }
        match refutations.iter().find(|(refuted, _)| *refuted == index) {
            None => kept_members.push(member),
            Some((_, reason)) => {
                record.dropped.push(DroppedFinding::new(member, Fate::Refuted, reason.clone()));
            }
        }
    }
    record.members = kept_members;
}

fn add_new(texts: &mut Vec<String>, from: Vec<String>) {
    for text in from {
        if !texts.contains(&text) {
            texts.push(text);
        }
    }
}

#[cfg(test)]
mod tests;
