//! The carrying out of a plan, as a value: says what to do next and is told what came of it.
//!
//! Whatever is left open (a connection that broke, an answer that never came) is settled by reading what stands and planning
//! again, never by writing a second time on a guess.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::applied::apply;
use super::plan::{Learned, Plan, Refusal, What, Write, plan_knowing};
use super::state::own_summary;
use super::{Outcome, Posting};
use crate::github::Standing;
use crate::posted::{Delivery, Item, Receipt, Skip};

/// How often one kind of write may be left open before it is given up: a GitHub that fails three times in a row is down.
const UNSURE_MAX: u32 = 3;
/// How often what stands is looked at after a write that was left open, before it is given up: GitHub may still be at work on it,
/// and what it has just written may not be known everywhere.
pub(super) const LOOKS_MAX: u32 = 3;
/// How many refused reviews are halved: five bad places among fifty need no more. Beyond that it is not about places.
const REFUSED_MAX: u32 = 40;

/// A plan that is being carried out.
pub struct Carrying<'a> {
    posting: Posting<'a>,
    phase: Phase,
    standing: Standing,
    learned: Learned,
    writes: VecDeque<Write>,
    acknowledged: Vec<Write>,
    done: BTreeMap<Item, Delivery>,
    skipped: Vec<(Item, Skip)>,
    refusal: Option<Refusal>,
    left_open: Option<LeftOpen>,
    /// The first review that was refused, and the answer, until what stands has been read again.
    turned_down: Option<(Write, Answer)>,
    has_read_again: bool,
    unsure_reviews: u32,
    unsure_others: u32,
    refused: u32,
}

/// A write of which nobody knows whether it was applied.
struct LeftOpen {
    write: Write,
    why: String,
    /// What was planned after the last look.
    planned: Option<VecDeque<Write>>,
}

/// What is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// What stands: the number of the look after a write that was left open, 0 if there is none.
    Reading(u32),
    /// The answer to the first write.
    Writing,
    /// Nothing.
    Over,
}

/// What is to be done next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// What stands is to be read, and [`Carrying::read`] to be told.
    Read {
        /// The number of the look after a write that was left open: the higher, the longer is waited before. 0 is at once.
        look: u32,
    },
    /// This is to be written once, and [`Carrying::answered`] to be told.
    Write(Write),
    /// Nothing: this is what became of it.
    Done(Outcome),
}

/// What GitHub said to a write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// It is applied.
    Done,
    /// It is not, since the place of a comment in it is wrong (422).
    Misplaced(String),
    /// It is not, since something else about it is wrong (422).
    Refused(String),
    /// It is not, since we may not (403, 404).
    Forbidden(String),
    /// It may be applied or not.
    Unsure(String),
    /// It is not, for another reason.
    Failed(String),
}

impl<'a> Carrying<'a> {
    /// Begins to post a review. The first step is to read what stands, for a review takes long.
    pub fn new(posting: Posting<'a>) -> Self {
        Self {
            posting,
            phase: Phase::Reading(0),
            standing: Standing::default(),
            learned: Learned::default(),
            writes: VecDeque::new(),
            acknowledged: Vec::new(),
            done: BTreeMap::new(),
            skipped: Vec::new(),
            refusal: None,
            left_open: None,
            turned_down: None,
            has_read_again: false,
            unsure_reviews: 0,
            unsure_others: 0,
            refused: 0,
        }
    }

    /// What is to be done next. Asking twice gives the same.
    pub fn next(&self) -> Step {
        match (self.phase, self.writes.front()) {
            (Phase::Reading(look), _) => Step::Read { look },
            (Phase::Writing, Some(write)) => Step::Write(write.clone()),
            (Phase::Writing | Phase::Over, _) => Step::Done(self.outcome()),
        }
    }

    /// Takes in what stands.
    pub fn read(&mut self, standing: Standing) {
        self.standing = standing;
        for write in &self.acknowledged {
            apply(write, &mut self.standing, self.posting.instance);
        }
        let phase = self.phase;
        self.plan();
        let (open, turned_down) = (self.left_open.take(), self.turned_down.take());
        if self.refusal.is_some() {
            return;
        }
        if let Some(open) = open {
            self.settle(open, phase);
        }
        if let Some((write, answer)) = turned_down
            && self.writes.front() == Some(&write)
        {
            self.answered(answer);
        }
    }

    /// Goes on with the plan if it is known what became of the write that was left open; otherwise has another look.
    fn settle(&mut self, open: LeftOpen, phase: Phase) {
        let items = |write: &Write| delivered(write).into_iter().map(|(item, _)| item);
        let missing: BTreeSet<Item> = self.writes.iter().flat_map(items).collect();
        let is_there = !items(&open.write).any(|item| missing.contains(&item));
        if is_there || is_harmless_twice(&open.write) || open.planned.as_ref() == Some(&self.writes)
        {
            return;
        }
        let looks = match phase {
            Phase::Reading(looks) => looks,
            Phase::Writing | Phase::Over => 0,
        };
        if looks >= LOOKS_MAX {
            return self.give_up(&open.why);
        }
        self.left_open = Some(LeftOpen { planned: Some(self.writes.clone()), ..open });
        self.phase = Phase::Reading(looks + 1);
    }

    /// Takes in that what stands could not be read: nothing more is written, since it is not known what is there.
    pub fn unreadable(&mut self, why: &str) {
        let why = format!("what stands could not be read: {why}");
        if self.writes.is_empty() {
            // Nothing has been planned since a review was submitted.
            self.done.insert(Item::Summary, Delivery::Failed(why.clone()));
        }
        self.give_up(&why);
    }

    /// Takes in what GitHub said to the write that was due.
    pub fn answered(&mut self, answer: Answer) {
        let Some(write) = self.writes.pop_front() else { return };
        let is_review = matches!(write.what, What::Review { .. } | What::Vote { .. });
        let is_refusal = matches!(answer, Answer::Misplaced(_) | Answer::Refused(_));
        if is_review && is_refusal && !std::mem::replace(&mut self.has_read_again, true) {
            // The head may have moved, and a review may have come to stand.
            self.writes.push_front(write.clone());
            self.turned_down = Some((write, answer));
            self.phase = Phase::Reading(0);
            return;
        }
        match (answer, &write.what) {
            (Answer::Done, What::Submit { .. }) => {
                self.acknowledge(write);
                self.phase = Phase::Reading(1);
            }
            (Answer::Done, _) => self.acknowledge(write),
            (Answer::Unsure(why), What::Review { .. } | What::Vote { .. }) => {
                self.unsure_reviews += 1;
                if self.unsure_reviews >= UNSURE_MAX {
                    self.learned.no_review = Some(why.clone());
                }
                self.look_again(write, why);
            }
            (Answer::Unsure(why), _) => {
                self.unsure_others += 1;
                match self.unsure_others < UNSURE_MAX {
                    true => self.look_again(write, why),
                    false => self.fail(&write, &why),
                }
            }
            (Answer::Misplaced(why), What::Review { .. }) => self.halve(write, why),
            (
                Answer::Refused(why) | Answer::Forbidden(why) | Answer::Failed(why),
                What::Review { .. },
            ) => {
                self.learned.no_review = Some(why);
                self.plan();
            }
            (
                Answer::Misplaced(why)
                | Answer::Refused(why)
                | Answer::Forbidden(why)
                | Answer::Failed(why),
                What::Vote { .. },
            ) => {
                self.learned.no_vote = Some(why);
                self.plan();
            }
            (
                Answer::Misplaced(why)
                | Answer::Refused(why)
                | Answer::Forbidden(why)
                | Answer::Failed(why),
                What::Withdraw { .. }
                | What::Submit { .. }
                | What::NewSummary
                | What::Summary { .. }
                | What::Resolve { .. },
            ) => self.fail(&write, &why),
        }
    }

    /// Has what stands read again before anything else. Should that fail, the write has, too.
    fn look_again(&mut self, write: Write, why: String) {
        self.writes.push_front(write.clone());
        self.left_open = Some(LeftOpen { write, why, planned: None });
        self.phase = Phase::Reading(1);
    }

    fn plan(&mut self) {
        let plan = plan_knowing(&self.posting, &self.standing, &self.learned);
        let Plan { refusal, writes, skipped } = plan;
        self.phase = if refusal.is_some() { Phase::Over } else { Phase::Writing };
        self.refusal = refusal;
        self.writes = writes.into();
        self.skipped = skipped;
    }

    fn acknowledge(&mut self, write: Write) {
        apply(&write, &mut self.standing, self.posting.instance);
        for (item, delivery) in delivered(&write) {
            self.done.insert(item, delivery);
        }
        self.acknowledged.push(write);
    }

    /// Posts a refused review in halves, until the one comment is found that is refused alone.
    fn halve(&mut self, write: Write, why: String) {
        let What::Review { issues } = &write.what else { return };
        self.refused += 1;
        if self.refused > REFUSED_MAX {
            self.learned.no_review = Some(why);
            return self.plan();
        }
        match issues.as_slice() {
            [Item::Issue { key, .. }] => {
                self.learned.refused.insert(key.clone());
            }
            [] | [_] => self.learned.no_review = Some(why),
            more => {
                let (first, last) = more.split_at(more.len() / 2);
                self.writes.push_front(part(&write, first.len(), last));
                self.writes.push_front(part(&write, 0, first));
                return;
            }
        }
        self.plan();
    }

    /// Notes that a write other than a review failed. Without the summary nothing else is done.
    fn fail(&mut self, write: &Write, why: &str) {
        match &write.what {
            What::Resolve { .. } => {
                self.learned.no_resolving = Some(why.to_owned());
                for (item, _) in self.writes.iter().chain([write]).flat_map(delivered) {
                    self.done.insert(item, Delivery::Failed(why.to_owned()));
                }
                self.phase = Phase::Over;
            }
            // The summary says so, and is posted all the same.
            What::Withdraw { .. } => {
                self.learned.no_withdrawing = Some(why.to_owned());
                self.done.insert(withdrawn(), Delivery::Failed(why.to_owned()));
                self.plan();
            }
            What::Review { .. }
            | What::Vote { .. }
            | What::Submit { .. }
            | What::NewSummary
            | What::Summary { .. } => {
                self.writes.push_front(write.clone());
                self.give_up(why);
            }
        }
    }

    /// Ends it: whatever was still to be written has failed.
    fn give_up(&mut self, why: &str) {
        let failed: Vec<Item> = self
            .writes
            .drain(..)
            .flat_map(|write| delivered(&write))
            .map(|(item, _)| item)
            .collect();
        let summary_failed = failed.contains(&Item::Summary);
        for item in failed {
            self.done.insert(item, Delivery::Failed(why.to_owned()));
        }
        if summary_failed {
            let in_summary = |(item, skip): &(Item, Skip)| match skip {
                Skip::InSummary { .. } => Some(item.clone()),
                Skip::Stands | Skip::Dismissed { .. } | Skip::Not { .. } => None,
            };
            for item in self.skipped.iter().filter_map(in_summary).collect::<Vec<_>>() {
                self.done.insert(item, Delivery::Failed(why.to_owned()));
            }
        }
        self.phase = Phase::Over;
    }

    fn outcome(&self) -> Outcome {
        let mut all = self.done.clone();
        for (item, why) in &self.skipped {
            all.entry(item.clone()).or_insert_with(|| Delivery::Skipped(why.to_string()));
        }
        let receipts = all.into_iter().map(|(item, delivery)| Receipt { item, delivery }).collect();
        let notes = self.learned.no_review.iter();
        let notes = notes.map(|why| format!("no comments on lines were posted: {why}")).collect();
        let url = own_summary(&self.standing, self.posting.instance).map(|own| own.url.clone());
        let url = url.filter(|url| !url.is_empty());
        Outcome { refusal: self.refusal.clone(), receipts, notes, url }
    }
}

/// What is there when a write is applied.
fn delivered(write: &Write) -> Vec<(Item, Delivery)> {
    match &write.what {
        What::Review { issues } => {
            issues.iter().cloned().map(|item| (item, Delivery::Posted)).collect()
        }
        What::Vote { event } => {
            vec![(Item::Vote { event: (*event).to_owned() }, Delivery::Posted)]
        }
        What::Withdraw { .. } => vec![(withdrawn(), Delivery::Updated)],
        What::Submit { id } => vec![(Item::Draft { id: *id }, Delivery::Posted)],
        What::NewSummary => vec![(Item::Summary, Delivery::Posted)],
        What::Summary { .. } => vec![(Item::Summary, Delivery::Updated)],
        What::Resolve { node_id } => {
            vec![(Item::Thread { node_id: node_id.clone() }, Delivery::Updated)]
        }
    }
}

/// The end of an own approval.
fn withdrawn() -> Item {
    Item::Vote { event: "DISMISS".to_owned() }
}

/// Whether a write that is made twice changes no more than one that is made once.
fn is_harmless_twice(write: &Write) -> bool {
    match &write.what {
        What::Review { .. } | What::Vote { .. } | What::NewSummary => false,
        What::Withdraw { .. }
        | What::Submit { .. }
        | What::Summary { .. }
        | What::Resolve { .. } => true,
    }
}

/// Some of the comments of a review, as a review.
fn part(write: &Write, from: usize, issues: &[Item]) -> Write {
    let mut write = write.clone();
    let body = &mut write.request.body;
    let comments = body["comments"].as_array().cloned().unwrap_or_default();
    body["comments"] = comments.into_iter().skip(from).take(issues.len()).collect();
    Write { what: What::Review { issues: issues.to_vec() }, ..write }
}

#[cfg(test)]
#[path = "machine/tests.rs"]
mod tests;
