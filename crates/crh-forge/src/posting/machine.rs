//! State machine for posting: returns the next step and receives its result.
//!
//! After an unconfirmed write (broken connection, missing reply) the machine reads the state and
//! plans again. It repeats a write only if the state shows that the forge did not apply it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::apply_write::apply;
use super::forge::REREADS_MAX;
use super::plan::plan_within;
use super::{
    ForgeRules, ItemDelivery, PlannedComment, PostedItem, PostingConstraints, PostingOutcome,
    PostingReceipt, PostingRefusal, PostingSkip, PostingSteps, PostingWrite, ProposalState,
    ReviewPosting, WriteKind,
};

/// Maximum number of unconfirmed writes. Reviews and votes have one count, all other writes
/// another. After that many, the forge is probably down.
const UNCONFIRMED_MAX: u32 = 3;
/// Maximum number of refused reviews that crh splits in halves. Fewer splits are enough to isolate
/// five bad positions among fifty. If more reviews are refused, bad positions are not the cause.
const REFUSED_MAX: u32 = 40;

/// State machine for posting a review.
pub struct PostingMachine<'a> {
    rules: &'a dyn ForgeRules,
    posting: ReviewPosting<'a>,
    phase: PostingPhase,
    proposal_state: ProposalState,
    constraints: PostingConstraints,
    writes: VecDeque<PostingWrite>,
    acknowledged: Vec<PostingWrite>,
    item_deliveries: BTreeMap<PostedItem, ItemDelivery>,
    skipped: Vec<(PostedItem, PostingSkip)>,
    notes: Vec<String>,
    refusal: Option<PostingRefusal>,
    unconfirmed: Option<UnconfirmedWrite>,
    /// The first refused review or vote and the forge's answer, until crh has read the state again.
    first_refusal: Option<(PostingWrite, WriteAnswer)>,
    /// Whether crh has read the state again after a refused review or vote. It does so only once.
    has_read_again: bool,
    unconfirmed_reviews: u32,
    unconfirmed_others: u32,
    refused_reviews: u32,
}

/// A write that the forge may or may not have applied.
struct UnconfirmedWrite {
    write: PostingWrite,
    why: String,
    /// Plan after the last read of the state.
    last_plan: Option<VecDeque<PostingWrite>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PostingPhase {
    /// Waits for the state. The number counts reads after an unconfirmed write or a submitted
    /// draft; 0 for other reads.
    Reading(u32),
    /// Waits for the answer to the first of the planned writes.
    Writing,
    /// Finished.
    Finished,
}

/// The next step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PostingStep {
    /// Read the state and call [`PostingMachine::record_state`].
    Read {
        /// Number of the read, on which the delay depends, as in `PostingDelays::rereads`; 0 for a
        /// read without delay.
        reread: u32,
    },
    /// Send this once and call [`PostingMachine::record_answer`].
    Write(PostingWrite),
    /// Finished, with this outcome.
    Done(PostingOutcome),
}

/// A forge's answer to a write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WriteAnswer {
    /// Applied.
    Done,
    /// Rejected because of a comment's position.
    Misplaced(String),
    /// Rejected for another reason.
    Refused(String),
    /// Not permitted, or not visible to this account.
    Forbidden(String),
    /// Unknown whether applied.
    Unconfirmed(String),
    /// Not applied, for another reason.
    Failed(String),
}

impl<'a> PostingMachine<'a> {
    /// Starts to post a review. The first step reads the state of the proposed change, which may
    /// have changed during the review.
    pub fn new(rules: &'a dyn ForgeRules, posting: ReviewPosting<'a>) -> Self {
        Self {
            rules,
            posting,
            phase: PostingPhase::Reading(0),
            proposal_state: ProposalState::default(),
            constraints: PostingConstraints::default(),
            writes: VecDeque::new(),
            acknowledged: Vec::new(),
            item_deliveries: BTreeMap::new(),
            skipped: Vec::new(),
            notes: Vec::new(),
            refusal: None,
            unconfirmed: None,
            first_refusal: None,
            has_read_again: false,
            unconfirmed_reviews: 0,
            unconfirmed_others: 0,
            refused_reviews: 0,
        }
    }

    /// The next step. Repeated calls return the same.
    pub fn next(&self) -> PostingStep {
        match (self.phase, self.writes.front()) {
            (PostingPhase::Reading(reread), _) => PostingStep::Read { reread },
            (PostingPhase::Writing, Some(write)) => PostingStep::Write(write.clone()),
            (PostingPhase::Writing | PostingPhase::Finished, _) => {
                PostingStep::Done(self.outcome())
            }
        }
    }

    /// Records the state that was read, and plans the writes again.
    pub fn record_state(&mut self, proposal_state: ProposalState) {
        self.proposal_state = proposal_state;
        for write in &self.acknowledged {
            apply(write, &mut self.proposal_state, self.posting.instance);
        }
        let phase = self.phase;
        self.plan();
        let (unconfirmed, refused_review) = (self.unconfirmed.take(), self.first_refusal.take());
        if self.refusal.is_some() {
            return;
        }
        if let Some(unconfirmed) = unconfirmed {
            self.resolve_unconfirmed(unconfirmed, phase);
        }
        if let Some((write, answer)) = refused_review
            && self.writes.front() == Some(&write)
        {
            self.record_answer(answer);
        }
    }

    /// Continues if the state shows whether the forge applied the unconfirmed write; otherwise
    /// reads again, and gives up after [`REREADS_MAX`] reads.
    fn resolve_unconfirmed(&mut self, unconfirmed: UnconfirmedWrite, phase: PostingPhase) {
        let items = |write: &PostingWrite| write.deliveries().into_iter().map(|(item, _)| item);
        let missing_items: BTreeSet<PostedItem> = self.writes.iter().flat_map(items).collect();
        let is_applied = !items(&unconfirmed.write).any(|item| missing_items.contains(&item));
        let repeats_writes = self.rules.profile().repeats_writes;
        let is_unchanged = unconfirmed.last_plan.as_ref() == Some(&self.writes);
        if is_applied && !repeats_writes {
            // No later plan lists the items as already posted, so record them here.
            self.item_deliveries.extend(unconfirmed.write.deliveries());
        }
        if is_applied || unconfirmed.write.is_idempotent() || (repeats_writes && is_unchanged) {
            return;
        }
        let rereads = match phase {
            PostingPhase::Reading(rereads) => rereads,
            PostingPhase::Writing | PostingPhase::Finished => 0,
        };
        if rereads >= REREADS_MAX {
            let why = match (repeats_writes, unconfirmed.last_plan) {
                (false, Some(_)) => format!("the comment did not appear after {}", unconfirmed.why),
                (true, _) | (false, None) => unconfirmed.why,
            };
            return self.give_up(&why);
        }
        self.unconfirmed =
            Some(UnconfirmedWrite { last_plan: Some(self.writes.clone()), ..unconfirmed });
        self.phase = PostingPhase::Reading(rereads + 1);
    }

    /// Records that the state could not be read. Ends the posting, unless a later read is the only
    /// way to learn whether an unconfirmed write was applied.
    pub fn record_read_failure(&mut self, why: &str) {
        let why = format!("cannot read the current state: {why}");
        if let (PostingPhase::Reading(rereads), Some(unconfirmed)) =
            (self.phase, &mut self.unconfirmed)
            && !self.rules.profile().repeats_writes
            && rereads < REREADS_MAX
        {
            // Only a later read can tell whether the write was applied.
            unconfirmed.why = why;
            self.phase = PostingPhase::Reading(rereads + 1);
            return;
        }
        if self.writes.is_empty() {
            // A pending review was submitted, and crh has not planned the summary yet.
            self.item_deliveries.insert(PostedItem::Summary, ItemDelivery::Failed(why.clone()));
        }
        self.give_up(&why);
    }

    /// Records the forge's answer to the current write.
    pub fn record_answer(&mut self, answer: WriteAnswer) {
        let Some(write) = self.writes.pop_front() else { return };
        let is_review = matches!(write.kind, WriteKind::Review { .. } | WriteKind::Vote { .. });
        let is_refusal = matches!(answer, WriteAnswer::Misplaced(_) | WriteAnswer::Refused(_));
        if is_review && is_refusal && !std::mem::replace(&mut self.has_read_again, true) {
            // The head may have moved, or the review may have been applied.
            self.writes.push_front(write.clone());
            self.first_refusal = Some((write, answer));
            self.phase = PostingPhase::Reading(0);
            return;
        }
        match (answer, &write.kind) {
            (WriteAnswer::Done, WriteKind::Submit { .. }) => {
                self.acknowledge(write);
                self.phase = PostingPhase::Reading(1);
            }
            (WriteAnswer::Done, _) => self.acknowledge(write),
            (WriteAnswer::Unconfirmed(why), WriteKind::Review { .. } | WriteKind::Vote { .. }) => {
                self.unconfirmed_reviews += 1;
                if self.unconfirmed_reviews >= UNCONFIRMED_MAX {
                    self.constraints.reason_for_no_review = Some(why.clone());
                }
                self.read_again(write, why);
            }
            (WriteAnswer::Unconfirmed(why), _) => {
                self.unconfirmed_others += 1;
                match self.unconfirmed_others < UNCONFIRMED_MAX {
                    true => self.read_again(write, why),
                    false => self.fail(&write, &why),
                }
            }
            (WriteAnswer::Misplaced(why), WriteKind::Review { .. }) => self.halve(write, why),
            (
                WriteAnswer::Misplaced(why)
                | WriteAnswer::Refused(why)
                | WriteAnswer::Forbidden(why)
                | WriteAnswer::Failed(why),
                kind,
            ) => match kind {
                WriteKind::Review { .. } => {
                    self.constraints.reason_for_no_review = Some(why);
                    self.plan();
                }
                WriteKind::Vote { .. } => {
                    self.constraints.reason_for_no_vote = Some(why);
                    self.plan();
                }
                WriteKind::Withdraw { .. }
                | WriteKind::Submit { .. }
                | WriteKind::NewSummary { .. }
                | WriteKind::Summary { .. }
                | WriteKind::Resolve { .. }
                | WriteKind::WholeReview { .. } => self.fail(&write, &why),
            },
        }
    }

    /// Makes reading the state the next step. If that fails, the write counts as failed.
    fn read_again(&mut self, write: PostingWrite, why: String) {
        self.writes.push_front(write.clone());
        self.unconfirmed = Some(UnconfirmedWrite { write, why, last_plan: None });
        self.phase = PostingPhase::Reading(1);
    }

    fn plan(&mut self) {
        let plan = plan_within(self.rules, &self.posting, &self.proposal_state, &self.constraints);
        let PostingSteps { refusal, writes, skipped, notes } = plan;
        self.phase = if refusal.is_some() { PostingPhase::Finished } else { PostingPhase::Writing };
        self.refusal = refusal;
        self.writes = writes.into();
        self.skipped = skipped;
        self.notes = notes;
    }

    fn acknowledge(&mut self, write: PostingWrite) {
        apply(&write, &mut self.proposal_state, self.posting.instance);
        self.item_deliveries.extend(write.deliveries());
        self.acknowledged.push(write);
    }

    /// Splits a refused review in halves until the refused comment is found.
    fn halve(&mut self, write: PostingWrite, why: String) {
        let WriteKind::Review { body, comments } = &write.kind else { return };
        self.refused_reviews += 1;
        if self.refused_reviews > REFUSED_MAX {
            self.constraints.reason_for_no_review = Some(why);
            return self.plan();
        }
        match comments.as_slice() {
            [PlannedComment { item: PostedItem::Issue { key, .. }, .. }] => {
                self.constraints.refused_keys.insert(key.clone());
            }
            [] | [_] => self.constraints.reason_for_no_review = Some(why),
            comments => {
                let (first, last) = comments.split_at(comments.len() / 2);
                for part in [last, first] {
                    let kind = WriteKind::Review { body: body.clone(), comments: part.to_vec() };
                    let write = PostingWrite::new(self.rules, kind, &self.proposal_state);
                    self.writes.push_front(write);
                }
                return;
            }
        }
        self.plan();
    }

    /// Records a failed write. Ends the posting, except after a failed withdrawal.
    fn fail(&mut self, write: &PostingWrite, why: &str) {
        match &write.kind {
            WriteKind::Resolve { .. } => {
                self.constraints.reason_for_no_resolving = Some(why.to_owned());
                let writes = self.writes.iter().chain([write]);
                for (item, _) in writes.flat_map(PostingWrite::deliveries) {
                    self.item_deliveries.insert(item, ItemDelivery::Failed(why.to_owned()));
                }
                self.phase = PostingPhase::Finished;
            }
            // crh posts the summary nevertheless. It mentions the approval that still stands.
            WriteKind::Withdraw { .. } => {
                self.constraints.reason_for_no_withdrawal = Some(why.to_owned());
                self.item_deliveries
                    .insert(PostedItem::withdrawal(), ItemDelivery::Failed(why.to_owned()));
                self.plan();
            }
            WriteKind::Review { .. }
            | WriteKind::Vote { .. }
            | WriteKind::Submit { .. }
            | WriteKind::NewSummary { .. }
            | WriteKind::Summary { .. }
            | WriteKind::WholeReview { .. } => {
                self.writes.push_front(write.clone());
                self.give_up(why);
            }
        }
    }

    /// Ends the posting. All remaining writes count as failed.
    fn give_up(&mut self, why: &str) {
        let failed_items: Vec<PostedItem> = self
            .writes
            .drain(..)
            .flat_map(|write| write.deliveries())
            .map(|(item, _)| item)
            .collect();
        let summary_failed = failed_items.contains(&PostedItem::Summary);
        for item in failed_items {
            self.item_deliveries.insert(item, ItemDelivery::Failed(why.to_owned()));
        }
        if summary_failed {
            let in_summary = |(item, skip): &(PostedItem, PostingSkip)| match skip {
                PostingSkip::InSummary { .. } => Some(item.clone()),
                PostingSkip::AlreadyPosted
                | PostingSkip::Dismissed { .. }
                | PostingSkip::NotPossible { .. } => None,
            };
            for item in self.skipped.iter().filter_map(in_summary).collect::<Vec<_>>() {
                self.item_deliveries.insert(item, ItemDelivery::Failed(why.to_owned()));
            }
        }
        self.phase = PostingPhase::Finished;
    }

    fn outcome(&self) -> PostingOutcome {
        let mut deliveries = self.item_deliveries.clone();
        for (item, why) in &self.skipped {
            deliveries
                .entry(item.clone())
                .or_insert_with(|| ItemDelivery::Skipped(why.to_string()));
        }
        let receipts = deliveries
            .into_iter()
            .map(|(item, delivery)| PostingReceipt { item, delivery })
            .collect();
        let notes = self.constraints.reason_for_no_review.iter();
        let notes = notes.map(|why| format!("no inline comments were posted: {why}"));
        let notes = self.notes.iter().cloned().chain(notes).collect();
        let url = self.rules.summary_url(&self.posting, &self.proposal_state);
        PostingOutcome {
            refusal: self.refusal.clone(),
            receipts,
            notes,
            url,
            receptions: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests;
