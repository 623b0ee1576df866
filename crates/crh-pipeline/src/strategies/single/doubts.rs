//! Which findings of a draft are looked at again, and why: the triggers of the second round.

use serde_json::{Value, json};

use super::answer::{ContextRequest, LookTool};
use crh_review::Merged;
use crh_review::finding::{Category, Confidence, Member, Severity};
use crh_review::report::{Dropped, Fate};

/// Below this a finding is looked at again: the agent specification's number.
const UNSURE_BELOW: Confidence = Confidence::thousandths(650);

/// Below this a P0 or P1 is worth a stronger model: the agent specification's number.
const ESCALATED_BELOW: Confidence = Confidence::thousandths(600);

/// Why a finding is looked at again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Doubt {
    /// The reviewer is not sure of it.
    LowConfidence(Confidence),
    /// Its quotes do not hold, and why.
    ThinEvidence(String),
    /// It may be about code that the change does not show.
    CrossFile,
    /// It is severe, and nobody else will look at it.
    Severe,
}

/// A finding that is looked at again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Candidate {
    /// What it is called in the second round.
    pub(super) id: String,
    /// Its place among the findings of the draft.
    pub(super) at: usize,
    /// Why.
    pub(super) doubts: Vec<Doubt>,
}

/// Whether issues are looked at by a fresh run after this one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Validation {
    /// They are.
    Follows,
    /// There is no call left for it: the second round is all the validation there is.
    IsTheRound,
}

/// The findings to look at again, the most severe first. `thin` says of each finding why its quotes do not hold;
/// `is_changed` whether a path is part of the change.
pub(super) fn candidates(
    members: &[Member],
    thin: &[Option<String>],
    requests: &[ContextRequest],
    is_changed: impl Fn(&str) -> bool,
    validation: Validation,
) -> Vec<Candidate> {
    let doubts_of = |at: usize, member: &Member| {
        let finding = &member.finding;
        let low =
            (finding.confidence < UNSURE_BELOW).then_some(Doubt::LowConfidence(finding.confidence));
        let thin = thin.get(at).cloned().flatten().map(Doubt::ThinEvidence);
        let mut own = requests.iter().filter(|request| request.for_finding == Some(at));
        let across = finding.category == Category::ApiContract
            || own.any(|request| looks_elsewhere(request, &is_changed));
        let severe = validation == Validation::IsTheRound && finding.severity <= Severity::P1;
        let across = across.then_some(Doubt::CrossFile);
        let severe = severe.then_some(Doubt::Severe);
        [low, thin, across, severe].into_iter().flatten().collect::<Vec<_>>()
    };
    let mut candidates: Vec<(Severity, usize, Vec<Doubt>)> = members
        .iter()
        .enumerate()
        .map(|(at, member)| (member.finding.severity, at, doubts_of(at, member)))
        .filter(|(_, _, doubts)| !doubts.is_empty())
        .collect();
    candidates.sort_by_key(|(severity, at, _)| (*severity, *at));
    let named = (1..).zip(candidates);
    named
        .map(|(number, (_, at, doubts))| Candidate { id: format!("F{number}"), at, doubts })
        .collect()
}

/// Whether a draft suspects something beyond the change that it has no finding for.
pub(super) fn suspects_elsewhere(
    requests: &[ContextRequest],
    is_changed: impl Fn(&str) -> bool,
) -> bool {
    let mut open = requests.iter().filter(|request| request.for_finding.is_none());
    open.any(|request| looks_elsewhere(request, &is_changed))
}

/// Whether a stronger model should look.
pub(super) fn is_escalated(members: &[Member]) -> bool {
    members.iter().any(|member| {
        let finding = &member.finding;
        finding.severity <= Severity::P1 && finding.confidence < ESCALATED_BELOW
    })
}

/// Why the quotes of a finding do not hold, from merging it alone; none if they do.
pub(super) fn thin_evidence(merged: Merged) -> Option<String> {
    let is_thin = |dropped: &Dropped| matches!(dropped.fate, Fate::Unsupported | Fate::Malformed);
    merged.dropped.into_iter().find(is_thin).map(|dropped| dropped.reason)
}

/// A search is always for what the change does not show.
fn looks_elsewhere(request: &ContextRequest, is_changed: &impl Fn(&str) -> bool) -> bool {
    match request.tool {
        LookTool::SearchCode => true,
        LookTool::ReadFile | LookTool::RunRuff | LookTool::GetFunctionContext => {
            request.arguments.path.as_deref().is_some_and(|path| !is_changed(path))
        }
    }
}

impl Doubt {
    /// For the model.
    fn sentence(&self) -> String {
        match self {
            Self::LowConfidence(confidence) => format!("your confidence was only {confidence}"),
            Self::ThinEvidence(why) => format!(
                "{why}; if the finding stands, say `unsure` here and report it anew in `findings` with a verbatim quote"
            ),
            Self::CrossFile => "it may depend on code outside of the change".to_owned(),
            Self::Severe => "it is severe, and nobody will look at it after you".to_owned(),
        }
    }
}

impl Candidate {
    /// The finding as the second round is shown it.
    pub(super) fn shown(&self, members: &[Member]) -> Value {
        let doubts: Vec<String> = self.doubts.iter().map(Doubt::sentence).collect();
        let finding = members.get(self.at).map(|member| &member.finding);
        json!({ "id": self.id, "finding": finding, "doubts": doubts })
    }
}

#[cfg(test)]
mod tests;
