//! The `panel` strategy: the chosen reviewers look at the change in parallel.
//!
//! Invariant: every assignment becomes a record, and merging starts after all have ended. A
//! rate-limited reviewer waits and is queued again, if the wait fits into the time left. The order
//! in which reviewers end does not matter.

mod gates;
pub(crate) mod part_prompts;
mod parts;
mod prompt_cache;
mod requirements_run;
mod reviewer_run;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

pub(crate) use reviewer_run::{reviewer_shortage, shortest_brief, tool_access};
use tokio::sync::{AcquireError, Semaphore, SemaphorePermit};
use tokio::task::JoinSet;

use self::part_prompts::part_prompts;
use self::prompt_cache::{CacheTicket, PromptCacheGate};
use self::reviewer_run::{ReviewerRun, RunAttempt};
use crate::assignment::Assignment;
use crate::context::PanelContext;
use crate::events::ReviewEvent;
use crate::prompts::Prompts;
use crate::requirements;
use crate::requirements::RequirementsDoc;
use crate::review_context::ReviewContext;
use crate::reviewers::{ModelTier, Reviewer};
use crate::runs::{RunEnd, RunRecord, RunResults};
use crh_review::report::CoverageState;

/// Runs the assignments of a panel, including the check of requirements.
pub async fn panel(
    ctx: &ReviewContext,
    assignments: &[Assignment],
    context: &PanelContext,
) -> RunResults {
    let panel = Arc::new(PanelRun::new(ctx, context));
    let mut records: Vec<Option<RunRecord>> = vec![None; assignments.len()];
    let mut running = JoinSet::new();
    for (index, assignment) in assignments.iter().enumerate() {
        if let Some(completed_run) = completed_record(ctx, assignment) {
            records[index] = Some(completed_run);
        } else if assignment.name == requirements::REVIEWER
            && let Some(document) = context.document.clone()
        {
            let (panel, assignment) = (panel.clone(), assignment.clone());
            let ticket = panel.judge_ticket();
            running.spawn(async move {
                (index, panel.judge_requirements(&assignment, &document, ticket).await)
            });
        } else if let Some(reviewer_run) = panel.schedule(assignment) {
            let panel = panel.clone();
            running.spawn(async move { (index, panel.run_reviewer(reviewer_run).await) });
        }
    }
    // A task that panics leaves its record empty. Dropping this future aborts all tasks.
    while let Some(joined) = running.join_next().await {
        if let Ok((index, record)) = joined {
            records[index] = Some(record);
        }
    }
    let pairs = records.into_iter().zip(assignments);
    let all_records =
        pairs.map(|(record, assignment)| record.unwrap_or_else(|| panicked_record(assignment)));
    RunResults { records: all_records.collect(), notes: Vec::new() }
}

/// The record of an earlier attempt, so that a resumed review does not pay for it again.
fn completed_record(ctx: &ReviewContext, assignment: &Assignment) -> Option<RunRecord> {
    let is_done =
        |run: &&RunRecord| run.assignment == *assignment && run.ended == RunEnd::Completed;
    ctx.journal.completed_runs().iter().find(is_done).cloned()
}

fn panicked_record(assignment: &Assignment) -> RunRecord {
    RunRecord::failed(assignment.clone(), "crashed (a bug in crh)")
}

/// State shared by all reviewers of a panel.
#[derive(Debug)]
struct PanelRun {
    ctx: ReviewContext,
    context: PanelContext,
    /// Shared prompt prefixes, one per part.
    prompts: Vec<Arc<Prompts>>,
    /// Limits parallel runs.
    permits: Semaphore,
    /// Number of permits, in use or not.
    parallel_runs: AtomicUsize,
    cache_gate: PromptCacheGate,
    /// Files that were announced as reviewed.
    announced_files: Mutex<BTreeSet<String>>,
}

impl PanelRun {
    fn new(ctx: &ReviewContext, context: &PanelContext) -> Self {
        let (change, options) = (&ctx.change, &ctx.options);
        let prompts =
            part_prompts(change, options, ctx.models.min_context(), context, &ctx.prompts);
        let parallel_runs = ctx.options.max_parallel.max(1);
        Self {
            permits: Semaphore::new(parallel_runs),
            parallel_runs: AtomicUsize::new(parallel_runs),
            cache_gate: PromptCacheGate::default(),
            announced_files: Mutex::default(),
            ctx: ctx.clone(),
            context: context.clone(),
            prompts,
        }
    }

    /// The run for an assignment. None if its reviewer is not in the team.
    fn schedule(&self, assignment: &Assignment) -> Option<ReviewerRun> {
        let reviewer: &Reviewer = self.context.team.get(&assignment.reviewer)?;
        let part = self.context.part_of(assignment);
        let prompts = self.prompts.get(part).or(self.prompts.first())?.clone();
        let model = self.ctx.models.for_tier(self.ctx.options.panel.tier(reviewer)).clone();
        let ticket = self.cache_gate.ticket(model.name(), part);
        Some(ReviewerRun {
            assignment: assignment.clone(),
            reviewer: reviewer.clone(),
            intent: self.context.intent.text.clone(),
            others: self.context.others(reviewer),
            extra_material: self.context.extra_material_for(reviewer),
            prompts,
            model,
            cache_ticket: ticket,
        })
    }

    /// Runs a reviewer until it returns, fails or is cancelled.
    async fn run_reviewer(&self, reviewer_run: ReviewerRun) -> RunRecord {
        let mut record = RunRecord::new(reviewer_run.assignment.clone());
        loop {
            // Unless this run starts first, wait until the vendor's cache has the prompt prefix.
            reviewer_run.cache_ticket.wait().await;
            // The semaphore is never closed, so this always returns a permit.
            let permit = self.permits.acquire().await;
            if self.ctx.journal.cancel().is_cancelled() {
                record = cancelled_record(record);
                break;
            }
            let attempt = reviewer_run::run_attempt(&self.ctx, &reviewer_run, record).await;
            match attempt {
                RunAttempt::Ended(ended) => {
                    record = ended;
                    break;
                }
                RunAttempt::RateLimited(record_so_far, wait) => {
                    record = record_so_far;
                    self.reduce_parallelism(permit);
                    self.ctx.wait_for_capacity(&reviewer_run.assignment.name, wait).await;
                }
            }
        }
        self.announce_reviewed_files(&record);
        self.ctx.finish_run(&record);
        record
    }

    /// Judges the requirements, within the limit on parallel runs.
    async fn judge_requirements(
        &self,
        assignment: &Assignment,
        document: &RequirementsDoc,
        ticket: Option<CacheTicket>,
    ) -> RunRecord {
        if let Some(ticket) = &ticket {
            ticket.wait().await;
        }
        requirements_run::judge_requirements(&self.ctx, assignment, document, &self.permits).await
    }

    /// The cache ticket of the requirements run. None if there are several parts: then the run does
    /// not share the prefix of the reviewers.
    fn judge_ticket(&self) -> Option<CacheTicket> {
        let model = self.ctx.models.for_tier(ModelTier::Strong).name();
        (self.prompts.len() == 1).then(|| self.cache_gate.ticket(model, 0))
    }

    /// Removes a permit for the rest of the review, since the vendor reported too many parallel
    /// requests. The last permit stays.
    fn reduce_parallelism(&self, permit: Result<SemaphorePermit<'_>, AcquireError>) {
        let decrement = |permits: usize| permits.checked_sub(1).filter(|permits| *permits > 0);
        let is_reduced =
            self.parallel_runs.fetch_update(Ordering::SeqCst, Ordering::SeqCst, decrement).is_ok();
        if is_reduced && let Ok(permit) = permit {
            permit.forget();
        }
    }

    fn announce_reviewed_files(&self, record: &RunRecord) {
        let reviewed_files =
            record.coverage.iter().filter(|file| file.state == CoverageState::Reviewed);
        for file in reviewed_files {
            let mut announced_files =
                self.announced_files.lock().unwrap_or_else(PoisonError::into_inner);
            if announced_files.insert(file.path.clone()) {
                drop(announced_files);
                self.ctx.journal.emit(ReviewEvent::FileReviewed { path: file.path.clone() });
            }
        }
    }
}

/// A cancelled run, with its usage so far.
fn cancelled_record(record: RunRecord) -> RunRecord {
    let RunRecord { assignment, totals, models, model_ms, took_ms, .. } = record;
    RunRecord { totals, models, model_ms, took_ms, ..RunRecord::cancelled(assignment) }
}
