//! Decides which findings of a draft are checked again in the second round, and why.

use serde_json::{Value, json};

use super::answer::{ContextRequest, LookTool};
use crh_review::finding::{Category, Confidence, Member, Severity};
use crh_review::report::DroppedFinding;

/// Findings below this confidence are checked again. The agent specification prescribes the number.
const UNSURE_BELOW: Confidence = Confidence::thousandths(650);

/// A P0 or P1 below this confidence goes to the stronger model. The agent specification prescribes
/// the number.
const ESCALATED_BELOW: Confidence = Confidence::thousandths(600);

/// Why a finding is checked again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Doubt {
    /// Its confidence is low.
    LowConfidence(Confidence),
    /// Its quotes do not match the code, for this reason.
    ThinEvidence(String),
    /// It may depend on code outside the change.
    CrossFile,
    /// It is severe, and no validation follows.
    Severe,
}

/// A finding that is checked again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RecheckCandidate {
    /// Its id in the second round.
    pub(super) id: String,
    /// Its index among the findings of the draft.
    pub(super) index: usize,
    /// Reasons for the check.
    pub(super) doubts: Vec<Doubt>,
}

/// Whether a validation run follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LaterValidation {
    /// A validation run follows.
    Follows,
    /// No call is left: the second round is the only validation.
    OnlyThisRound,
}

/// Findings to check again, the most severe first. `evidence_problems` says for each finding why
/// its quotes do not match. `is_changed` says whether a path is part of the change.
pub(super) fn candidates(
    members: &[Member],
    evidence_problems: &[Option<String>],
    requests: &[ContextRequest],
    is_changed: impl Fn(&str) -> bool,
    validation: LaterValidation,
) -> Vec<RecheckCandidate> {
    let doubts_of = |index: usize, member: &Member| {
        let finding = &member.finding;
        let low_confidence =
            (finding.confidence < UNSURE_BELOW).then_some(Doubt::LowConfidence(finding.confidence));
        let thin_evidence =
            evidence_problems.get(index).cloned().flatten().map(Doubt::ThinEvidence);
        let mut own_requests = requests.iter().filter(|request| request.for_finding == Some(index));
        let is_cross_file = finding.category == Category::ApiContract
            || own_requests.any(|request| looks_elsewhere(request, &is_changed));
        let is_severe =
            validation == LaterValidation::OnlyThisRound && finding.severity <= Severity::P1;
        let cross_file = is_cross_file.then_some(Doubt::CrossFile);
        let severity_doubt = is_severe.then_some(Doubt::Severe);
        [low_confidence, thin_evidence, cross_file, severity_doubt]
            .into_iter()
            .flatten()
            .collect::<Vec<_>>()
    };
    let mut candidates: Vec<(Severity, usize, Vec<Doubt>)> = members
        .iter()
        .enumerate()
        .map(|(index, member)| (member.finding.severity, index, doubts_of(index, member)))
        .filter(|(_, _, doubts)| !doubts.is_empty())
        .collect();
    candidates.sort_by_key(|(severity, index, _)| (*severity, *index));
    let numbered_candidates = (1..).zip(candidates);
    numbered_candidates
        .map(|(number, (_, index, doubts))| RecheckCandidate {
            id: format!("F{number}"),
            index,
            doubts,
        })
        .collect()
}

/// Whether a draft suspects a problem outside the change without a finding for it.
pub(super) fn suspects_elsewhere(
    requests: &[ContextRequest],
    is_changed: impl Fn(&str) -> bool,
) -> bool {
    let mut requests_without_finding =
        requests.iter().filter(|request| request.for_finding.is_none());
    requests_without_finding.any(|request| looks_elsewhere(request, &is_changed))
}

/// Whether the stronger model should check the findings.
pub(super) fn needs_escalation(members: &[Member]) -> bool {
    members.iter().any(|member| {
        let finding = &member.finding;
        finding.severity <= Severity::P1 && finding.confidence < ESCALATED_BELOW
    })
}

/// Id of a malformed finding in the second round, by its index among them.
pub(super) fn malformed_id(index: usize) -> String {
    format!("M{}", index + 1)
}

/// A malformed finding, as the prompt of the second round shows it.
pub(super) fn malformed_json(index: usize, dropped: &DroppedFinding) -> Value {
    let reason = &dropped.reason;
    let doubt = format!("{reason}; if the finding stands, report it anew in `findings`, corrected");
    json!({ "id": malformed_id(index), "finding": dropped.raw, "doubts": [doubt] })
}

/// Whether a request looks outside the change. A search always does.
fn looks_elsewhere(request: &ContextRequest, is_changed: &impl Fn(&str) -> bool) -> bool {
    match request.tool {
        LookTool::SearchCode => true,
        LookTool::ReadFile | LookTool::RunRuff | LookTool::GetFunctionContext => {
            request.arguments.path.as_deref().is_some_and(|path| !is_changed(path))
        }
    }
}

impl Doubt {
    /// The reason, as the model reads it.
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

impl RecheckCandidate {
    /// Whether the quotes of the finding do not match.
    pub(super) fn has_thin_evidence(&self) -> bool {
        self.doubts.iter().any(|doubt| matches!(doubt, Doubt::ThinEvidence(_)))
    }

    /// The finding, as the prompt of the second round shows it.
    pub(super) fn to_json(&self, members: &[Member]) -> Value {
        let doubts: Vec<String> = self.doubts.iter().map(Doubt::sentence).collect();
        let finding = members.get(self.index).map(|member| &member.finding);
        json!({ "id": self.id, "finding": finding, "doubts": doubts })
    }
}

#[cfg(test)]
mod tests;
