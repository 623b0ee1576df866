//! Takes in what the second round brings: verdicts on the findings of the draft, and new findings. Pure.

use super::answer::Second;
use super::doubts::Candidate;
use crate::runs::{Checked, RunRecord};
use crh_review::finding::{Confidence, Finding, Member, Severity};
use crh_review::report::{Dropped, Fate};
use crh_review::{Judged, Judgement};

/// The least confidence in what was confirmed: that of the gate.
const CONFIRMED: Confidence = Confidence::thousandths(600);

/// Takes in what the second round said. Every candidate is judged: one of which nothing was said is undecided.
pub(super) fn take_in(record: &mut RunRecord, candidates: &[Candidate], mut second: Second) {
    let mut refuted = Vec::new();
    for candidate in candidates {
        let Some(member) = record.members.get_mut(candidate.at) else { continue };
        let said = second.said.remove(&candidate.id);
        let mut judgement = match &said {
            Some(said) => said.judgement.clone(),
            None => Judgement {
                result: Judged::Unsure,
                reason: "the second round said nothing of it".to_owned(),
            },
        };
        let before = member.finding.confidence;
        let corrected = said.and_then(|said| said.confidence);
        let after = confidence(&member.finding, judgement.result, corrected);
        if after != before {
            let reason = &judgement.reason;
            judgement.reason = format!("{reason} (confidence {before} -> {after})");
            member.finding.confidence = after;
        }
        match judgement.result {
            Judged::Refuted => refuted.push((candidate.at, judgement.reason)),
            Judged::Confirmed | Judged::Unsure | Judged::Failed => {
                let finding = member.finding.clone();
                record.checked.push(Checked { finding, judgement });
            }
        }
    }
    set_aside(record, refuted);
    record.members.extend(second.parsed.members);
    record.set_aside.extend(second.parsed.set_aside);
    add_new(&mut record.residual_risks, second.parsed.residual_risks);
    add_new(&mut record.testing_gaps, second.parsed.testing_gaps);
    if !second.parsed.summary.trim().is_empty() {
        record.summary = second.parsed.summary;
    }
    record.notes.extend(second.notes);
}

/// How sure the reviewer is after the second round. What was confirmed meets the gate: to drop it for the doubt that it was
/// looked at for would make looking again useless. And whoever cannot tell does not lose a P0 or P1 by saying so.
fn confidence(finding: &Finding, result: Judged, corrected: Option<Confidence>) -> Confidence {
    let before = finding.confidence;
    let is_urgent = finding.severity <= Severity::P1;
    match (result, corrected) {
        (Judged::Confirmed, None) => before.max(CONFIRMED),
        (Judged::Confirmed, Some(now)) if is_urgent => now.max(CONFIRMED),
        (Judged::Unsure | Judged::Failed, Some(now)) if is_urgent => now.max(before),
        (Judged::Confirmed | Judged::Refuted | Judged::Unsure | Judged::Failed, _) => {
            corrected.unwrap_or(before)
        }
    }
}

/// Sets findings aside by their places.
fn set_aside(record: &mut RunRecord, refuted: Vec<(usize, String)>) {
    let mut kept: Vec<Member> = Vec::new();
    for (at, member) in std::mem::take(&mut record.members).into_iter().enumerate() {
        match refuted.iter().find(|(refuted, _)| *refuted == at) {
            None => kept.push(member),
            Some((_, reason)) => record.set_aside.push(Dropped {
                fate: Fate::Refuted,
                reason: reason.clone(),
                into: None,
                reviewer: member.reviewer.clone(),
                member: Some(member),
                raw: None,
            }),
        }
    }
    record.members = kept;
}

fn add_new(to: &mut Vec<String>, from: Vec<String>) {
    for text in from {
        if !to.contains(&text) {
            to.push(text);
        }
    }
}

#[cfg(test)]
mod tests;
