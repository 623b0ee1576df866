//! What the sub-agents brought, where the orchestrator can decide about it: findings with ids, and which delegation and
//! which submission is allowed.
//!
//! Invariant: what the sub-agents brought never leaves the board. The orchestrator can move a finding from `members` to
//! `set_aside` with a reason; it can neither add one nor lose one.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::scopes::short;
use crate::runs::RunRecord;
use crate::tools::session::{ScopeWanted, SubmitReview};
use crh_review::finding::{Finding, Severity};
use crh_review::report::{Dropped, Fate};

/// The most scopes in one call: a model that wants more has not grouped anything. What is too large is split besides.
const SCOPES_MAX: usize = 64;

/// How many ids are named in a sentence.
const IDS_MAX: usize = 20;

/// The longest reason for dropping a finding, in characters.
const REASON_MAX: usize = 500;

/// The findings of a review, by the slots of the sub-agents that brought them.
#[derive(Debug, Default)]
pub(super) struct Board {
    records: BTreeMap<u32, RunRecord>,
    delegated: Delegated,
    /// The ids that the orchestrator was told: those that it decides about.
    told: BTreeSet<Id>,
}

/// How often the work was delegated.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Delegated {
    /// Not yet.
    #[default]
    Never,
    /// The first is under way.
    First,
    /// The first has been answered.
    FirstAnswered,
    /// A second one, to confirm what the first brought.
    Second,
}

/// What work is given out for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Delegation {
    /// All files, each once.
    First,
    /// A P0 is looked at again.
    Confirming,
}

/// Names a finding: the slot of its sub-agent, and its number there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Id {
    pub(super) slot: u32,
    pub(super) number: usize,
}

/// What the orchestrator decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Submission {
    dropped: BTreeMap<Id, String>,
    pub(super) summary: String,
}

impl Id {
    fn read(text: &str) -> Option<Self> {
        let (slot, number) = text.trim().split_once('.')?;
        Some(Self { slot: slot.parse().ok()?, number: number.parse().ok()? })
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.slot, self.number)
    }
}

impl Board {
    /// How often the work was delegated.
    pub(super) fn delegated(&self) -> Delegated {
        self.delegated
    }

    /// Which delegation these scopes would be, if it is allowed; otherwise a sentence for the model.
    pub(super) fn may_delegate(&self, wanted: &[ScopeWanted]) -> Result<Delegation, String> {
        if wanted.len() > SCOPES_MAX {
            let count = wanted.len();
            return Err(format!(
                "{count} scopes are too many: group files that belong together into {SCOPES_MAX} or fewer"
            ));
        }
        match self.delegated {
            Delegated::Never => Ok(Delegation::First),
            Delegated::FirstAnswered => {
                self.may_confirm(wanted)?;
                Ok(Delegation::Confirming)
            }
            Delegated::First => Err("delegate once: all scopes go into one call".to_owned()),
            Delegated::Second => {
                let told = "there is no third delegation: decide about what was found with `submit_review`";
                Err(told.to_owned())
            }
        }
    }

    /// A delegation begins.
    pub(super) fn begin(&mut self, delegation: Delegation) {
        self.delegated = match delegation {
            Delegation::First => Delegated::First,
            Delegation::Confirming => Delegated::Second,
        };
    }

    /// A second delegation confirms P0 findings and does nothing else.
    fn may_confirm(&self, wanted: &[ScopeWanted]) -> Result<(), String> {
        let blockers: BTreeSet<Id> = self.told_with(Severity::P0).collect();
        if blockers.is_empty() {
            return Err(
                "the change has been delegated, and there is no P0 to confirm: call `submit_review`"
                    .to_owned(),
            );
        }
        let known = listed(&blockers);
        for scope in wanted {
            let label = short(&scope.scope);
            let confirms: Vec<&String> = scope.confirms.iter().flatten().collect();
            if confirms.is_empty() {
                return Err(format!(
                    "a second delegation only confirms P0 findings: say in `confirms` of scope `{label}` which ({known}), or call `submit_review`"
                ));
            }
            let is_blocker = |id: &&String| Id::read(id).is_some_and(|id| blockers.contains(&id));
            if let Some(other) = confirms.iter().find(|id| !is_blocker(id)) {
                let other = short(other);
                return Err(format!("`{other}` is no P0 finding; these are: {known}"));
            }
        }
        if wanted.is_empty() {
            return Err(format!("say in `scopes` which P0 is to be confirmed where: {known}"));
        }
        Ok(())
    }

    /// Takes in the run of a slot that has ended.
    pub(super) fn take(&mut self, slot: u32, record: RunRecord) {
        self.records.insert(slot, record);
    }

    /// The first delegation was answered with these findings.
    pub(super) fn answered(&mut self, told: impl IntoIterator<Item = Id>) {
        self.told.extend(told);
        if self.delegated == Delegated::First {
            self.delegated = Delegated::FirstAnswered;
        }
    }

    /// The runs, by their slots.
    pub(super) fn records(&self) -> impl Iterator<Item = (u32, &RunRecord)> {
        self.records.iter().map(|(slot, record)| (*slot, record))
    }

    /// A finding by its id.
    pub(super) fn finding(&self, id: Id) -> Option<&Finding> {
        let member = self.records.get(&id.slot)?.members.get(id.number.checked_sub(1)?)?;
        Some(&member.finding)
    }

    /// The P0 findings that a scope is to confirm.
    pub(super) fn confirmed_by(&self, scope: &ScopeWanted) -> Vec<(Id, &Finding)> {
        let ids = scope.confirms.iter().flatten().filter_map(|id| Id::read(id));
        ids.filter_map(|id| Some((id, self.finding(id)?))).collect()
    }

    fn told_with(&self, severity: Severity) -> impl Iterator<Item = Id> {
        let has =
            move |id: &Id| self.finding(*id).is_some_and(|finding| finding.severity == severity);
        self.told.iter().copied().filter(has)
    }

    /// Reads a submission: every finding that was told is kept or dropped, and nothing else. Otherwise a sentence for the
    /// model.
    pub(super) fn submission(&self, submitted: &SubmitReview) -> Result<Submission, String> {
        match self.delegated {
            Delegated::Never | Delegated::First => {
                return Err(
                    "nothing has been reviewed yet: call `delegate_review` first".to_owned()
                );
            }
            Delegated::FirstAnswered | Delegated::Second => {}
        }
        let known = |id: &str| match Id::read(id).filter(|id| self.told.contains(id)) {
            Some(id) => Ok(id),
            None => Err(format!(
                "there is no finding `{}`; there are: {}",
                short(id),
                listed(&self.told)
            )),
        };
        let kept: BTreeSet<Id> =
            submitted.keep.iter().map(|id| known(id)).collect::<Result<_, _>>()?;
        let mut dropped = BTreeMap::new();
        for wanted in &submitted.drop {
            let id = known(&wanted.id)?;
            if kept.contains(&id) {
                return Err(format!("`{id}` is in `keep` and in `drop`: decide on one"));
            }
            if wanted.reason.trim().is_empty() {
                return Err(format!("say why `{id}` is dropped"));
            }
            let reason = wanted.reason.trim().chars().take(REASON_MAX).collect();
            dropped.insert(id, reason);
        }
        let decided = |id: &&Id| kept.contains(id) || dropped.contains_key(id);
        let open: BTreeSet<Id> = self.told.iter().filter(|id| !decided(id)).copied().collect();
        if !open.is_empty() {
            return Err(format!("neither in `keep` nor in `drop`: {}", listed(&open)));
        }
        Ok(Submission { dropped, summary: submitted.summary.trim().to_owned() })
    }

    /// Carries a submission out; the slots whose runs are not what they were.
    pub(super) fn settle(&mut self, submission: &Submission) -> BTreeSet<u32> {
        let mut changed = BTreeSet::new();
        for (slot, record) in &mut self.records {
            let members = std::mem::take(&mut record.members);
            for (number, member) in (1..).zip(members) {
                let Some(reason) = submission.dropped.get(&Id { slot: *slot, number }) else {
                    record.members.push(member);
                    continue;
                };
                changed.insert(*slot);
                record.set_aside.push(Dropped {
                    fate: Fate::Refuted,
                    reason: format!("dropped by the orchestrator: {reason}"),
                    into: None,
                    reviewer: member.reviewer.clone(),
                    member: Some(member),
                    raw: None,
                });
            }
        }
        changed
    }

    /// The runs, in the order of their slots.
    pub(super) fn into_records(self) -> Vec<RunRecord> {
        self.records.into_values().collect()
    }
}

/// Ids in a sentence.
fn listed(ids: &BTreeSet<Id>) -> String {
    let shown: Vec<String> = ids.iter().take(IDS_MAX).map(Id::to_string).collect();
    match (shown.as_slice(), ids.len().saturating_sub(IDS_MAX)) {
        ([], _) => "none".to_owned(),
        (_, 0) => shown.join(", "),
        (_, more) => format!("{} and {more} more", shown.join(", ")),
    }
}

#[cfg(test)]
pub(super) mod tests;
