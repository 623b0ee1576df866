//! The findings of the sub-agents, with ids, and the state of the delegation. Checks which
//! delegations and submissions are allowed.
//!
//! Invariant: no finding is lost. The orchestrator groups findings and says which are wrong; it
//! cannot add or remove one.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::scopes::short_label;
use crate::runs::RunRecord;
use crate::tools::session::{KeptGroup, ScopeWanted, SubmitReview};
use crh_review::finding::{Finding, Member, Severity};
use crh_review::{EditedGroup, EditorJudgement};

/// Maximum scopes in one call. Scopes that are too large are split in addition.
const SCOPES_MAX: usize = 64;

/// Maximum ids in a message.
const IDS_MAX: usize = 20;

/// Maximum characters of a reason for dropping a finding.
const REASON_MAX: usize = 500;

/// Findings of a review, by the number (slot) of the sub-agent.
#[derive(Debug, Default)]
pub(super) struct Board {
    records: BTreeMap<u32, RunRecord>,
    state: DelegationState,
    /// Findings that the orchestrator has seen and must decide about.
    shown_ids: BTreeSet<FindingId>,
}

/// Progress of the delegation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum DelegationState {
    /// Nothing was delegated yet.
    #[default]
    Never,
    /// The first delegation is running.
    First,
    /// The first delegation was answered.
    FirstAnswered,
    /// A second delegation was started, to confirm P0 findings.
    Second,
}

/// Purpose of a delegation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Delegation {
    /// Reviews every file once.
    First,
    /// Confirms P0 findings.
    Confirming,
}

/// Id of a finding: number (slot) of the sub-agent, and number of the finding in its report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct FindingId {
    pub(super) slot: u32,
    pub(super) number: usize,
}

/// Decisions of the orchestrator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OrchestratorSubmission {
    /// The findings by cause, as an editor groups them.
    pub(super) groups: Vec<EditedGroup>,
    pub(super) summary: String,
}

impl FindingId {
    fn parse(text: &str) -> Option<Self> {
        let (slot, number) = text.trim().split_once('.')?;
        Some(Self { slot: slot.parse().ok()?, number: number.parse().ok()? })
    }
}

impl fmt::Display for FindingId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.slot, self.number)
    }
}

impl Board {
    pub(super) fn state(&self) -> DelegationState {
        self.state
    }

    /// Which delegation these scopes would be, or an error for the model.
    pub(super) fn check_delegation(&self, scopes: &[ScopeWanted]) -> Result<Delegation, String> {
        if scopes.len() > SCOPES_MAX {
            let count = scopes.len();
            return Err(format!(
                "{count} scopes are too many: group files that belong together into {SCOPES_MAX} or fewer"
            ));
        }
        match self.state {
            DelegationState::Never => Ok(Delegation::First),
            DelegationState::FirstAnswered => {
                self.check_confirmation(scopes)?;
                Ok(Delegation::Confirming)
            }
            DelegationState::First => Err("delegate once: all scopes go into one call".to_owned()),
            DelegationState::Second => {
                let message = "there is no third delegation: decide about what was found with `submit_review`";
                Err(message.to_owned())
            }
        }
    }

    /// Records the start of a delegation.
    pub(super) fn begin(&mut self, delegation: Delegation) {
        self.state = match delegation {
            Delegation::First => DelegationState::First,
            Delegation::Confirming => DelegationState::Second,
        };
    }

    /// A second delegation may only confirm P0 findings.
    fn check_confirmation(&self, scopes: &[ScopeWanted]) -> Result<(), String> {
        let p0_ids: BTreeSet<FindingId> = self.shown_with_severity(Severity::P0).collect();
        if p0_ids.is_empty() {
            return Err(
                "the change has been delegated, and there is no P0 to confirm: call `submit_review`"
                    .to_owned(),
            );
        }
        let p0_list = id_list(&p0_ids);
        for scope in scopes {
            let label = short_label(&scope.scope);
            let confirms: Vec<&String> = scope.confirms.iter().flatten().collect();
            if confirms.is_empty() {
                return Err(format!(
                    "a second delegation only confirms P0 findings: say in `confirms` of scope `{label}` which ({p0_list}), or call `submit_review`"
                ));
            }
            let is_p0 = |id: &&String| FindingId::parse(id).is_some_and(|id| p0_ids.contains(&id));
            if let Some(invalid_id) = confirms.iter().find(|id| !is_p0(id)) {
                let invalid_id = short_label(invalid_id);
                return Err(format!("`{invalid_id}` is no P0 finding; these are: {p0_list}"));
            }
        }
        if scopes.is_empty() {
            return Err(format!("say in `scopes` which P0 is to be confirmed where: {p0_list}"));
        }
        Ok(())
    }

    /// Adds the record of a finished sub-agent.
    pub(super) fn add_record(&mut self, slot: u32, record: RunRecord) {
        self.records.insert(slot, record);
    }

    /// Records which findings the orchestrator has seen.
    pub(super) fn mark_answered(&mut self, shown_ids: impl IntoIterator<Item = FindingId>) {
        self.shown_ids.extend(shown_ids);
        if self.state == DelegationState::First {
            self.state = DelegationState::FirstAnswered;
        }
    }

    pub(super) fn records(&self) -> impl Iterator<Item = (u32, &RunRecord)> {
        self.records.iter().map(|(slot, record)| (*slot, record))
    }

    pub(super) fn finding(&self, id: FindingId) -> Option<&Finding> {
        Some(&self.member(id)?.finding)
    }

    fn member(&self, id: FindingId) -> Option<&Member> {
        self.records.get(&id.slot)?.members.get(id.number.checked_sub(1)?)
    }

    /// P0 findings that a scope should confirm.
    pub(super) fn findings_to_confirm(&self, scope: &ScopeWanted) -> Vec<(FindingId, &Finding)> {
        let ids = scope.confirms.iter().flatten().filter_map(|id| FindingId::parse(id));
        ids.filter_map(|id| Some((id, self.finding(id)?))).collect()
    }

    fn shown_with_severity(&self, severity: Severity) -> impl Iterator<Item = FindingId> {
        let has_severity = move |id: &FindingId| {
            self.finding(*id).is_some_and(|finding| finding.severity == severity)
        };
        self.shown_ids.iter().copied().filter(has_severity)
    }

    /// Parses a submission, or returns an error for the model. Every finding that was shown must be
    /// kept or dropped.
    pub(super) fn parse_submission(
        &self,
        submitted: &SubmitReview,
    ) -> Result<OrchestratorSubmission, String> {
        match self.state {
            DelegationState::Never | DelegationState::First => {
                return Err(
                    "nothing has been reviewed yet: call `delegate_review` first".to_owned()
                );
            }
            DelegationState::FirstAnswered | DelegationState::Second => {}
        }
        let parse_known_id =
            |id: &str| match FindingId::parse(id).filter(|id| self.shown_ids.contains(id)) {
                Some(id) => Ok(id),
                None => Err(format!(
                    "there is no finding `{}`; there are: {}",
                    short_label(id),
                    id_list(&self.shown_ids)
                )),
            };
        let mut kept_ids = BTreeSet::new();
        let mut groups = Vec::new();
        for group in &submitted.keep {
            let mut ids = Vec::new();
            for id in &group.findings {
                let id = parse_known_id(id)?;
                if !kept_ids.insert(id) {
                    return Err(format!("`{id}` is in more than one group of `keep`"));
                }
                ids.push(id);
            }
            groups.extend(self.kept_group(&ids, group));
        }
        let mut dropped_ids = BTreeSet::new();
        for decision in &submitted.drop {
            let id = parse_known_id(&decision.id)?;
            if kept_ids.contains(&id) {
                return Err(format!("`{id}` is in `keep` and in `drop`: decide on one"));
            }
            if decision.reason.trim().is_empty() {
                return Err(format!("say why `{id}` is dropped"));
            }
            let reason: String = decision.reason.trim().chars().take(REASON_MAX).collect();
            if dropped_ids.insert(id) {
                groups.extend(self.member(id).map(|member| EditedGroup {
                    judgement: EditorJudgement::Refuted(reason),
                    severity: member.finding.severity,
                    title: None,
                    text: None,
                    is_forgotten: false,
                    test: None,
                    members: vec![member.clone()],
                }));
            }
        }
        let is_decided = |id: &&FindingId| kept_ids.contains(id) || dropped_ids.contains(id);
        let missing_ids: BTreeSet<FindingId> =
            self.shown_ids.iter().filter(|id| !is_decided(id)).copied().collect();
        if !missing_ids.is_empty() {
            return Err(format!("neither in `keep` nor in `drop`: {}", id_list(&missing_ids)));
        }
        Ok(OrchestratorSubmission { groups, summary: submitted.summary.trim().to_owned() })
    }

    /// A group of findings. If the orchestrator gives no probability or severity, the values of the
    /// first finding count.
    fn kept_group(&self, ids: &[FindingId], group: &KeptGroup) -> Option<EditedGroup> {
        let members: Vec<Member> = ids.iter().filter_map(|id| self.member(*id)).cloned().collect();
        let first = &members.first()?.finding;
        Some(EditedGroup {
            judgement: EditorJudgement::Probable(group.probability.unwrap_or(first.confidence)),
            severity: group.severity.unwrap_or(first.severity),
            title: group.title.clone(),
            text: group.text.clone(),
            is_forgotten: false,
            test: None,
            members,
        })
    }

    /// Records in slot order.
    pub(super) fn into_records(self) -> Vec<RunRecord> {
        self.records.into_values().collect()
    }
}

/// Ids for a message.
fn id_list(ids: &BTreeSet<FindingId>) -> String {
    let first_ids: Vec<String> = ids.iter().take(IDS_MAX).map(FindingId::to_string).collect();
    match (first_ids.as_slice(), ids.len().saturating_sub(IDS_MAX)) {
        ([], _) => "none".to_owned(),
        (_, 0) => first_ids.join(", "),
        (_, more) => format!("{} and {more} more", first_ids.join(", ")),
    }
}

#[cfg(test)]
pub(super) mod tests;
