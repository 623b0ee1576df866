//! `panel`: the reviewers that were chosen for a change look at it side by side, each through its lens.
//!
//! Invariant: every assignment ends as a row, and nothing is merged before all have. A vendor that turns a reviewer away is
//! waited for; the reviewer goes to the end of the queue and is never dropped. Which of them ends first is of no consequence.

mod gates;
#[path = "requirements_run.rs"]
mod judging;
#[path = "reviewer_run.rs"]
mod lens;
mod parts;
#[path = "prompt_cache.rs"]
mod warmth;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use parts::signatures;
use tokio::sync::{AcquireError, Semaphore, SemaphorePermit};
use tokio::task::JoinSet;

use self::lens::{Seat, Sitting};
use self::warmth::{Place, Warmth};
use crate::context::Context;
use crate::events::Event;
use crate::office::Office;
use crate::plan::Assignment;
use crate::prompts::{ChangePart, Prompts};
use crate::requirements;
use crate::requirements::PlanDocument;
use crate::reviewers::{Reviewer, Tier};
use crate::runs::{RunEnd, RunRecord, Runs};
use crate::subject::Subject;
use crate::terms::Terms;
use crh_review::report::CoverageState;

/// Carries out the assignments of a panel, and the judging of a plan's requirements if there is one.
pub async fn panel(office: &Office, assignments: &[Assignment], context: &Context) -> Runs {
    let shared = Arc::new(Shared::new(office, context));
    let mut records: Vec<Option<RunRecord>> = vec![None; assignments.len()];
    let mut running = JoinSet::new();
    for (at, assignment) in assignments.iter().enumerate() {
        if let Some(done) = earlier(office, assignment) {
            records[at] = Some(done);
        } else if assignment.name == requirements::REVIEWER
            && let Some(document) = context.document.clone()
        {
            let (shared, assignment) = (shared.clone(), assignment.clone());
            let warmth = shared.judges_place();
            running.spawn(async move { (at, shared.judged(&assignment, &document, warmth).await) });
        } else if let Some(seat) = shared.seat(assignment) {
            let shared = shared.clone();
            running.spawn(async move { (at, shared.seated(seat).await) });
        }
    }
    // A task that panics leaves its place empty; a dropped future aborts them all.
    while let Some(joined) = running.join_next().await {
        if let Ok((at, record)) = joined {
            records[at] = Some(record);
        }
    }
    let rows = records.into_iter().zip(assignments);
    let rows = rows.map(|(record, assignment)| record.unwrap_or_else(|| broken(assignment)));
    Runs { records: rows.collect(), notes: Vec::new() }
}

/// What an earlier attempt at the review brought of an assignment: nobody pays for it twice.
fn earlier(office: &Office, assignment: &Assignment) -> Option<RunRecord> {
    let is_done =
        |run: &&RunRecord| run.assignment == *assignment && run.ended == RunEnd::Completed;
    office.journal.earlier().iter().find(is_done).cloned()
}

fn broken(assignment: &Assignment) -> RunRecord {
    RunRecord::failed(assignment.clone(), "it broke down, which is a bug in crh")
}

/// The beginnings of the conversations of a panel, one for each part of the change.
pub(crate) fn prompts_of_parts(
    subject: &Subject,
    terms: &Terms,
    room: u64,
    context: &Context,
    whole: &Arc<Prompts>,
) -> Vec<Arc<Prompts>> {
    let (parts, count) = (&context.parts, context.parts.len());
    if count <= 1 {
        return vec![whole.clone()];
    }
    (1..)
        .zip(parts)
        .map(|(number, own)| {
            let signatures = signatures(subject, own);
            let part = ChangePart { number, count, parts: own.clone(), signatures };
            Arc::new(Prompts::of_part(subject, terms, room, &part))
        })
        .collect()
}

/// What all reviewers of a panel share.
#[derive(Debug)]
struct Shared {
    office: Office,
    context: Context,
    /// The beginnings of their conversations, one for each part of the change.
    prompts: Vec<Arc<Prompts>>,
    /// A place for each run that may be under way.
    places: Semaphore,
    /// How many places there are, taken or not.
    wide: AtomicUsize,
    warmth: Warmth,
    /// The files of which it was told that somebody is done with them.
    told: Mutex<BTreeSet<String>>,
}

impl Shared {
    fn new(office: &Office, context: &Context) -> Self {
        let (subject, terms) = (&office.subject, &office.terms);
        let prompts =
            prompts_of_parts(subject, terms, office.crew.context(), context, &office.prompts);
        let wide = office.terms.side_by_side.max(1);
        Self {
            places: Semaphore::new(wide),
            wide: AtomicUsize::new(wide),
            warmth: Warmth::default(),
            told: Mutex::default(),
            office: office.clone(),
            context: context.clone(),
            prompts,
        }
    }

    /// Who sits where; none for an assignment of nobody in the team.
    fn seat(&self, assignment: &Assignment) -> Option<Seat> {
        let reviewer: &Reviewer = self.context.team.get(&assignment.reviewer)?;
        let part = self.context.part_of(assignment);
        let prompts = self.prompts.get(part).or(self.prompts.first())?.clone();
        let model = self.office.crew.of_tier(self.office.terms.panel.tier(reviewer)).clone();
        let warmth = self.warmth.join(model.name(), part);
        Some(Seat {
            assignment: assignment.clone(),
            reviewer: reviewer.clone(),
            intent: self.context.intent.text.clone(),
            given: self.context.given_to(reviewer),
            prompts,
            model,
            warmth,
        })
    }

    /// Lets a reviewer look at its part until it has returned, or cannot.
    async fn seated(&self, seat: Seat) -> RunRecord {
        let mut record = RunRecord::begun(seat.assignment.clone());
        loop {
            // Whoever follows is served from the vendor's cache once the first of them was read.
            seat.warmth.wait().await;
            // Nobody closes the places, so that there is always one in the end.
            let place = self.places.acquire().await;
            if self.office.journal.cancel().is_cancelled() {
                record = stopped(record);
                break;
            }
            let sitting = lens::sit(&self.office, &seat, record).await;
            match sitting {
                Sitting::Ended(ended) => {
                    record = ended;
                    break;
                }
                Sitting::TurnedAway(so_far, wait) => {
                    record = so_far;
                    self.narrow(place);
                    self.office.wait(&seat.assignment.name, wait).await;
                }
            }
        }
        self.tell_reviewed(&record);
        self.office.ended(&record);
        record
    }

    /// Judges a plan, in a place like everybody else.
    async fn judged(
        &self,
        assignment: &Assignment,
        document: &PlanDocument,
        warmth: Option<Place>,
    ) -> RunRecord {
        if let Some(warmth) = &warmth {
            warmth.wait().await;
        }
        judging::judged(&self.office, assignment, document, &self.places).await
    }

    /// The place of whoever judges the plan: it reads what the others read, if that is one part.
    fn judges_place(&self) -> Option<Place> {
        let model = self.office.crew.of_tier(Tier::Strong).name();
        (self.prompts.len() == 1).then(|| self.warmth.join(model, 0))
    }

    /// Takes a place away for good, unless it is the last: the vendor has said that there are too many of us.
    fn narrow(&self, place: Result<SemaphorePermit<'_>, AcquireError>) {
        let less = |places: usize| places.checked_sub(1).filter(|places| *places > 0);
        let is_narrowed = self.wide.fetch_update(Ordering::SeqCst, Ordering::SeqCst, less).is_ok();
        if is_narrowed && let Ok(place) = place {
            place.forget();
        }
    }

    fn tell_reviewed(&self, record: &RunRecord) {
        let done = record.coverage.iter().filter(|file| file.state == CoverageState::Reviewed);
        for file in done {
            let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
            if told.insert(file.path.clone()) {
                drop(told);
                self.office.journal.tell(Event::FileReviewed { path: file.path.clone() });
            }
        }
    }
}

/// A run that was stopped before it returned, with what it has used so far.
fn stopped(record: RunRecord) -> RunRecord {
    let RunRecord { assignment, totals, models, model_ms, took_ms, .. } = record;
    RunRecord { totals, models, model_ms, took_ms, ..RunRecord::stopped(assignment) }
}
