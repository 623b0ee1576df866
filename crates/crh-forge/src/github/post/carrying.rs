//! The carrying out of a plan, as a value: says what to do next and is told what came of it.
//!
//! Whatever is left open (a connection that broke, an answer that never came) is settled by reading what stands and planning
//! again, never by writing a second time on a guess.

use std::collections::BTreeMap;
use std::collections::VecDeque;

use super::Posting;
use super::applied::apply;
use super::plan::Learned;
use super::plan::Plan;
use super::plan::Refusal;
use super::plan::Skip;
use super::plan::What;
use super::plan::Write;
use super::plan::plan_knowing;
use super::receipt::Delivery;
use super::receipt::Item;
use super::receipt::Outcome;
use super::receipt::Receipt;
use crate::github::Standing;

/// How often one kind of write may be left open before it is given up: a GitHub that fails three times in a row is down.
const UNSURE_MAX: u32 = 3;
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
    unsure_reviews: u32,
    unsure_others: u32,
    refused: u32,
}

/// What is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// What stands.
    Reading,
    /// The answer to the first write.
    Writing,
    /// Nothing.
    Over,
}

/// What is to be done next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// What stands is to be read, and [`Carrying::read`] to be told.
    Read,
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
    /// It is not, since something in it is wrong (422).
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
            phase: Phase::Reading,
            standing: Standing::default(),
            learned: Learned::default(),
            writes: VecDeque::new(),
            acknowledged: Vec::new(),
            done: BTreeMap::new(),
            skipped: Vec::new(),
            refusal: None,
            unsure_reviews: 0,
            unsure_others: 0,
            refused: 0,
        }
    }

    /// What is to be done next. Asking twice gives the same.
    pub fn next(&self) -> Step {
        match (self.phase, self.writes.front()) {
            (Phase::Reading, _) => Step::Read,
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
        self.plan();
    }

    /// Takes in that what stands could not be read: nothing more is written, since it is not known what is there.
    pub fn unreadable(&mut self, why: &str) {
        self.give_up(&format!("what stands could not be read: {why}"));
    }

    /// Takes in what GitHub said to the write that was due.
    pub fn answered(&mut self, answer: Answer) {
        let Some(write) = self.writes.pop_front() else { return };
        match (answer, &write.what) {
            (Answer::Done, _) => self.acknowledge(write),
            (Answer::Unsure(why), What::Review { .. }) => {
                self.unsure_reviews += 1;
                if self.unsure_reviews >= UNSURE_MAX {
                    self.learned.no_review = Some(why);
                }
                self.look_again(write);
            }
            (Answer::Unsure(why), _) => {
                self.unsure_others += 1;
                match self.unsure_others < UNSURE_MAX {
                    true => self.look_again(write),
                    false => self.fail(&write, &why),
                }
            }
            (Answer::Refused(why), What::Review { .. }) => self.halve(write, why),
            (Answer::Forbidden(why) | Answer::Failed(why), What::Review { .. }) => {
                self.learned.no_review = Some(why);
                self.plan();
            }
            (
                Answer::Refused(why) | Answer::Forbidden(why) | Answer::Failed(why),
                What::NewSummary | What::Summary { .. } | What::Resolve { .. },
            ) => self.fail(&write, &why),
        }
    }

    /// Has what stands read again before anything else. Should that fail, the write has, too.
    fn look_again(&mut self, write: Write) {
        self.writes.push_front(write);
        self.phase = Phase::Reading;
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
        let What::Review { issues, vote } = &write.what else { return };
        self.refused += 1;
        if self.refused > REFUSED_MAX {
            self.learned.no_review = Some(why);
            return self.plan();
        }
        match issues.as_slice() {
            [] => self.learned.no_vote = Some(why),
            [Item::Issue { key, .. }] => {
                self.learned.refused.insert(key.clone());
            }
            [_] => self.learned.no_review = Some(why),
            more => {
                let (first, last) = more.split_at(more.len() / 2);
                let half = |from: usize, issues: &[Item], vote| part(&write, from, issues, vote);
                self.writes.push_front(half(first.len(), last, *vote));
                self.writes.push_front(half(0, first, None));
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
            What::Review { .. } | What::NewSummary | What::Summary { .. } => {
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
        Outcome { refusal: self.refusal.clone(), receipts, notes }
    }
}

/// What is there when a write is applied.
fn delivered(write: &Write) -> Vec<(Item, Delivery)> {
    match &write.what {
        What::Review { issues, vote } => {
            let vote = vote.map(|event| Item::Vote { event: event.to_owned() });
            issues.iter().cloned().chain(vote).map(|item| (item, Delivery::Posted)).collect()
        }
        What::NewSummary => vec![(Item::Summary, Delivery::Posted)],
        What::Summary { .. } => vec![(Item::Summary, Delivery::Updated)],
        What::Resolve { node_id } => {
            vec![(Item::Thread { node_id: node_id.clone() }, Delivery::Updated)]
        }
    }
}

/// Some of the comments of a review, as a review.
fn part(write: &Write, from: usize, issues: &[Item], vote: Option<&'static str>) -> Write {
    let mut write = write.clone();
    let body = &mut write.request.body;
    let comments = body["comments"].as_array().cloned().unwrap_or_default();
    body["comments"] = comments.into_iter().skip(from).take(issues.len()).collect();
    body["event"] = vote.unwrap_or("COMMENT").into();
    Write { what: What::Review { issues: issues.to_vec(), vote }, ..write }
}

#[cfg(test)]
mod tests;
