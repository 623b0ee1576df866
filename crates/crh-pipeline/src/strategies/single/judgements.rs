//! Applies the answer of the second round: judgements on the findings of the draft, and new findings.
//! No I/O.

use super::answer::SecondAnswer;
use super::doubts::RecheckCandidate;
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
    let mut refutations = Vec::new();
    for candidate in candidates {
        let Some(member) = record.members.get_mut(candidate.index) else { continue };
        let answer = second.judgements.remove(&candidate.id);
        let mut judgement = match &answer {
            Some(judged) => judged.judgement.clone(),
            None => Judgement {
                result: JudgementResult::Unsure,
                reason: "the second round gave no verdict".to_owned(),
            },
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
    drop_refuted(record, refutations);
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

/// Drops findings by index.
fn drop_refuted(record: &mut RunRecord, refutations: Vec<(usize, String)>) {
    let mut kept_members: Vec<Member> = Vec::new();
    for (index, member) in std::mem::take(&mut record.members).into_iter().enumerate() {
        match refutations.iter().find(|(refuted, _)| *refuted == index) {
            None => kept_members.push(member),
            Some((_, reason)) => record.dropped.push(DroppedFinding {
                fate: Fate::Refuted,
                reason: reason.clone(),
                into: None,
                reviewer: member.reviewer.clone(),
                member: Some(member),
                raw: None,
            }),
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
