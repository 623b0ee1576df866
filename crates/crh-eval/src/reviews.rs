//! Runs many reviews in parallel with one shared budget. Each result is stored when its review
//! ends, and a later evaluation reuses it.

use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::ThreadId;
use std::time::Instant;

use crate::eval_budget::EvalBudget;
use crate::host::{AlreadyDone, EvalHost};
use crate::parallel::run_parallel;
use crate::quiet_reviewer::QuietReviewer;
use crate::review_cache::{CaseReview, ReviewCache, RowKey};
use crh_agent::CancelToken;
use crh_llm::{Model, Money, Recorder};
use crh_pipeline::assemble::with_spending;
use crh_pipeline::bare;
use crh_pipeline::bare::BareOutcome;
use crh_pipeline::failure::Failure;
use crh_pipeline::pipeline::ReviewOutput;
use crh_pipeline::prompts::Prompts;
use crh_pipeline::resolve::PinnedChange;
use crh_pipeline::review_options::{ModelSet, PromptOverrides};
use crh_pipeline::target_args::Target;
use crh_review::eval::{CaseRun, Effort, Ending, Reported};
use crh_review::report::{Report, Stats, Status, Strategy};
use crh_review::verdict::{CommandKind, is_incomplete};

/// More threads would only wait for each other or hit rate limits.
const JOBS_MAX: usize = 64;
/// Shown after an interruption.
const CONTINUE_HINT: &str = "run the same command again to continue";

/// Who reviews: a strategy of crh, or the model alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EvalArm {
    /// A strategy of crh.
    Strategy(Strategy),
    /// The model alone.
    Bare,
}

impl EvalArm {
    /// Name as users type it.
    pub fn name(self) -> String {
        match self {
            Self::Strategy(strategy) => strategy.to_string(),
            Self::Bare => "bare".to_owned(),
        }
    }

    /// Hash of the prompts and tools; empty without a model.
    pub fn prompt_version(self, overrides: &PromptOverrides) -> String {
        match self {
            Self::Strategy(Strategy::Static) => String::new(),
            Self::Strategy(strategy) => Prompts::strategy_version(strategy, overrides),
            Self::Bare => bare::version(),
        }
    }
}

/// Settings and state of all reviews.
pub struct ReviewBatch {
    /// Who reviews.
    pub arm: EvalArm,
    /// Reviewers and options.
    pub quiet: QuietReviewer,
    /// Stored results.
    pub rows: ReviewCache,
    /// The model of each role: its name or, for a recording, the hash of its content.
    pub models: Vec<String>,
    /// The first recording that is replayed.
    pub recording: Option<PathBuf>,
    /// Hash of the prompts and tools; empty for static reviews.
    pub prompt_version: String,
    /// Identifies this build of crh.
    pub build: String,
    /// `None` if no model costs money.
    pub eval_budget: Option<EvalBudget>,
    /// Maximum cost of all reviews together.
    pub max_total_cost: Money,
    /// Number of reviews in parallel; `None` means one per core.
    pub jobs: Option<NonZeroUsize>,
}

/// A change to review.
#[derive(Debug, Clone)]
pub struct ReviewTask {
    /// The change.
    pub target: Target,
    /// Replaces the title and body of the commits.
    pub(crate) title_and_body: Option<(String, String)>,
    /// Hash of everything that a reviewer can see.
    pub(crate) change: String,
}

impl ReviewTask {
    /// Replaces title and body of the change, if the task has its own.
    pub fn replace_title_and_body(&self, change: &mut PinnedChange) {
        if let Some((title, body)) = &self.title_and_body {
            change.title.clone_from(title);
            change.body.clone_from(body);
        }
    }
}

/// Whether all reviews finished.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EvalEnding {
    /// All of them.
    Finished,
    /// The user pressed Ctrl-C.
    Interrupted,
}

/// Cancels all running reviews.
#[derive(Default)]
struct StopHandle {
    is_set: AtomicBool,
    /// Running reviews, by thread.
    running: Mutex<HashMap<ThreadId, CancelToken>>,
}

impl ReviewBatch {
    /// Reviewers that the user named. Empty if the user named none.
    pub fn reviewers(&self) -> &[String] {
        self.quiet.terms.panel.only.as_deref().unwrap_or_default()
    }

    /// Name of the budget profile with its overrides.
    pub fn budget(&self) -> &str {
        &self.quiet.terms.budget.name
    }

    /// Model names, sorted and joined; empty for static reviews.
    pub fn model(&self) -> String {
        self.quiet.model_set.as_ref().map(ModelSet::names).unwrap_or_default()
    }

    /// If a recording was made with other prompts than today's: the hash of its prompts.
    pub fn outdated_prompts(&self) -> Option<String> {
        let mut roles = self.quiet.model_set.iter().flat_map(ModelSet::roles);
        let recorded = roles.find_map(|model| model.recorded_prompts())?;
        (recorded != self.prompt_version).then(|| recorded.to_owned())
    }

    /// Number of questions that the recording could not answer. Roles that replay
    /// the same recording report the same number; of several recordings, the largest number counts.
    pub fn unrecorded_count(&self) -> usize {
        let roles = self.quiet.model_set.iter().flat_map(ModelSet::roles);
        roles.map(Model::unrecorded_count).max().unwrap_or_default()
    }

    /// Whether results are deterministic. With repeats, chance decides which recorded answer each
    /// repeat gets.
    pub fn is_repeatable(&self, repeats: u32) -> bool {
        self.quiet.model_set.is_none() || (self.eval_budget.is_none() && repeats == 1)
    }

    /// Remaining budget of the whole evaluation.
    pub fn left(&self) -> Money {
        self.eval_budget.as_ref().map_or(self.max_total_cost, EvalBudget::left)
    }

    /// The recorder of all exchanges, if the user asked for one.
    pub fn recorder(&self) -> Option<Arc<Recorder>> {
        self.quiet.model_set.as_ref()?.reviewer.recorder()
    }

    /// Reviews each task the given number of times. Calls `on_end` with each result, its task number
    /// and its repeat; `on_end` returns the progress line.
    pub(crate) fn carry_out(
        &self,
        tasks: &[ReviewTask],
        repeats: u32,
        host: &dyn EvalHost,
        mut on_end: impl FnMut(usize, u32, CaseReview) -> String,
    ) -> Result<EvalEnding, Failure> {
        let reviews = tasks.len().saturating_mul(usize::try_from(repeats).unwrap_or(usize::MAX));
        let nth = |number: usize| {
            let repeat = u32::try_from(number / tasks.len()).unwrap_or(u32::MAX);
            (number % tasks.len(), repeat + 1)
        };
        let stop = Arc::new(StopHandle::default());
        let stopped = stop.clone();
        let interrupts = host.on_interrupt(Box::new(move || stopped.stop()))?;
        self.note_cost((0..reviews).map(nth).map(|(task, repeat)| (&tasks[task], repeat)), host);
        let mut shown = host.show_progress(reviews);
        run_parallel(
            reviews,
            self.jobs.map_or_else(cores, NonZeroUsize::get).min(JOBS_MAX),
            |number| {
                let (task, repeat) = nth(number);
                self.find_or_review(&tasks[task], repeat, host, &stop)
            },
            |number, (row, already_done)| {
                let (task, repeat) = nth(number);
                let line = on_end(task, repeat, row);
                shown.task_ended(&line, already_done);
            },
        );
        drop(shown);
        drop(interrupts);
        if let Some(model_set) = &self.quiet.model_set {
            warn_if_recording_failed(&model_set.reviewer, host);
        }
        if stop.is_set.load(Ordering::Relaxed) {
            host.note(CONTINUE_HINT);
            return Ok(EvalEnding::Interrupted);
        }
        Ok(EvalEnding::Finished)
    }

    /// Prints the worst-case cost of all remaining reviews.
    fn note_cost<'a>(&self, all: impl Iterator<Item = (&'a ReviewTask, u32)>, host: &dyn EvalHost) {
        if self.eval_budget.is_none() {
            return;
        }
        let is_kept =
            |(task, repeat)| self.cache_key(task, repeat).is_ok_and(|key| self.rows.has(&key));
        let (kept, open): (Vec<_>, Vec<_>) = all.partition(|review| is_kept(*review));
        if !kept.is_empty() {
            host.note(&format!("reusing {} stored reviews", kept.len()));
        }
        let reviews = open.len();
        let each = self.quiet.terms.budget.money;
        let sum = Money::dollars(each.as_dollars() * reviews as f64).unwrap_or(self.max_total_cost);
        let most = sum.min(self.max_total_cost);
        host.note(&format!("{reviews} reviews, at most {each} each and {most} in total"));
    }

    /// Returns the stored result of a task, or reviews it. `None` after an interruption.
    fn find_or_review(
        &self,
        task: &ReviewTask,
        repeat: u32,
        host: &dyn EvalHost,
        stop: &StopHandle,
    ) -> Option<(CaseReview, AlreadyDone)> {
        if stop.is_set.load(Ordering::Relaxed) {
            return None;
        }
        let name = match self.cache_key(task, repeat) {
            Ok(name) => name,
            Err(error) => return Some((failed(&error.to_string()), AlreadyDone::No)),
        };
        if let Some(row) = self.rows.find(&name, host.now()) {
            return Some((row, AlreadyDone::Yes));
        }
        // Another process may be reviewing the same task. Use its result instead of paying twice.
        let _lock = self.rows.alone(&name);
        if let Some(row) = self.rows.find(&name, host.now()) {
            return Some((row, AlreadyDone::Yes));
        }
        let reserved = match &self.eval_budget {
            None => None,
            Some(eval_budget) => match eval_budget.reserve(self.quiet.terms.budget.money) {
                Some(reserved) => Some(reserved),
                None => {
                    let why = "skipped: `--max-total-cost` is used up".to_owned();
                    return Some((without_report(Ending::NotRun(why)), AlreadyDone::No));
                }
            },
        };
        let row = match self.arm {
            EvalArm::Strategy(_) => self.review(task, repeat, host, stop),
            EvalArm::Bare => self.review_bare(task, repeat, host, stop),
        };
        if let Some(reserved) = reserved {
            reserved.settle(row.run.effort.cost_usd.0);
        }
        // An interrupted review says nothing about the reviewer.
        if stop.is_set.load(Ordering::Relaxed) {
            return None;
        }
        if is_lasting(&row)
            && let Err(error) = self.rows.keep(&name, &row)
        {
            host.warn(&format!(
                "cannot store a result; the next evaluation reviews this case again: {error}"
            ));
        }
        Some((row, AlreadyDone::No))
    }

    fn cache_key(&self, task: &ReviewTask, repeat: u32) -> Result<String, serde_json::Error> {
        let facts =
            self.quiet.model_set.iter().flat_map(ModelSet::roles).map(|m| m.facts().clone());
        ReviewCache::name(&RowKey {
            build: &self.build,
            arm: &self.arm.name(),
            change: &task.change,
            terms: &self.quiet.terms,
            prompt_version: &self.prompt_version,
            models: &self.models,
            facts: facts.collect(),
            min_severity: self.quiet.min_severity,
            repeat,
        })
    }

    fn review(
        &self,
        task: &ReviewTask,
        repeat: u32,
        host: &dyn EvalHost,
        stop: &StopHandle,
    ) -> CaseReview {
        let on_start = |cancel| stop.add(cancel);
        match self.quiet.review(task, repeat.into(), host, on_start) {
            Ok(ReviewOutput { report, funnel, .. }) => {
                let command = self.quiet.terms.command;
                let run = CaseRun { funnel: Some(funnel), ..case_run(&report, command) };
                CaseReview { run, report: Some(report) }
            }
            Err(failure) => failed(&format!("{:#}", failure.error)),
        }
    }

    /// A review by the model alone. It has no report.
    fn review_bare(
        &self,
        task: &ReviewTask,
        repeat: u32,
        host: &dyn EvalHost,
        stop: &StopHandle,
    ) -> CaseReview {
        let since = Instant::now();
        let on_start = |cancel| stop.add(cancel);
        match self.quiet.review_bare(task, repeat.into(), host, on_start) {
            Ok(BareOutcome { comments, totals }) => {
                let stats = with_spending(Stats::default(), &totals);
                let effort = Effort {
                    cost_usd: stats.cost_usd,
                    tokens: stats.tokens_used,
                    llm_calls: stats.llm_calls,
                    latency_ms: u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX),
                };
                let (ending, reported) = match comments {
                    Ok(comments) => (Ending::Reviewed, comments),
                    Err(why) => (Ending::Failed(why), Vec::new()),
                };
                let row = without_report(ending);
                CaseReview { run: CaseRun { reported, effort, ..row.run }, ..row }
            }
            Err(failure) => failed(&format!("{:#}", failure.error)),
        }
    }
}

impl StopHandle {
    fn stop(&self) {
        self.is_set.store(true, Ordering::Relaxed);
        for cancel in self.running.lock().unwrap_or_else(PoisonError::into_inner).values() {
            cancel.cancel();
        }
    }

    /// Registers the review that starts on this thread.
    fn add(&self, cancel: CancelToken) {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        running.insert(std::thread::current().id(), cancel.clone());
        drop(running);
        // The interruption may have come just before.
        if self.is_set.load(Ordering::Relaxed) {
            cancel.cancel();
        }
    }
}

/// The parts of a report that scoring needs.
fn case_run(report: &Report, command: CommandKind) -> CaseRun {
    let stats = &report.stats;
    let ending = match report.status {
        Status::Error => Ending::Failed(why(report)),
        Status::Degraded => Ending::Incomplete(why(report)),
        Status::Ok | Status::Truncated if is_incomplete(report, command) => {
            Ending::Incomplete(why(report))
        }
        Status::Ok | Status::Truncated => Ending::Reviewed,
    };
    let texts = std::iter::once(&report.summary).chain(&report.warnings);
    let texts: Vec<&str> = texts.map(String::as_str).filter(|text| !text.is_empty()).collect();
    let reported = report.issues.iter().filter_map(Reported::from_issue).collect();
    CaseRun {
        verdict: report.verdict.to_string(),
        summary: texts.join("\n"),
        effort: Effort {
            cost_usd: stats.cost_usd,
            tokens: stats.tokens_used,
            llm_calls: stats.llm_calls,
            latency_ms: stats.latency_seconds_e2e.0 / 1_000,
        },
        ..CaseRun::new(ending, reported)
    }
}

/// Why a change was not reviewed completely. The message of a failed reviewer says more than the
/// verdict.
fn why(report: &Report) -> String {
    let failed = report.failed_reviewers().find(|row| !row.note.is_empty());
    failed
        .map_or_else(|| report.verdict_reason.clone(), |row| format!("{}: {}", row.name, row.note))
}

/// Whether a result can be stored. A failed model call may succeed next time.
fn is_lasting(row: &CaseReview) -> bool {
    let is_whole = |report: &Report| match report.status {
        Status::Ok | Status::Truncated => true,
        Status::Degraded | Status::Error => false,
    };
    match &row.report {
        Some(report) => is_whole(report),
        // The model alone writes no report.
        None => row.run.ending == Ending::Reviewed,
    }
}

fn failed(why: &str) -> CaseReview {
    without_report(Ending::Failed(why.to_owned()))
}

fn without_report(ending: Ending) -> CaseReview {
    let run = CaseRun::new(ending, Vec::new());
    CaseReview { run, report: None }
}

/// Warns if a recording misses exchanges.
pub(crate) fn warn_if_recording_failed(model: &Model, host: &dyn EvalHost) {
    if let Some(error) = model.recording_error() {
        host.warn(&format!("the recording is incomplete: {error}"));
    }
}

pub(crate) fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, NonZeroUsize::get)
}
