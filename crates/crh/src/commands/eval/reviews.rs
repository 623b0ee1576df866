//! Runs many reviews in parallel with one shared budget. Each result is stored as it ends and is
//! not computed twice.

use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::ThreadId;
use std::time::Instant;

use anyhow::Context;

use super::super::interrupts::InterruptGuard;
use super::super::models;
use super::super::models::ModelResolver;
use super::super::review::quiet::{QuietReviewer, Subject};
use super::super::review::terms;
use super::evaluated_reviewers::EvaluatedReviewers;
use crate::cli::{ArmChoice, EvalReviewArgs, PanelArgs, PromptArgs};
use crate::config::environment::Environment;
use crate::config::keys::{RawSettings, Settings};
use crate::eval::eval_budget::EvalBudget;
use crate::eval::review_cache::{CachePolicy, CaseReview, ReviewCache, RowKey};
use crate::eval::side_by_side::side_by_side;
use crate::failure::{Failure, FailureKind, OrFail};
use crate::ui::Verbosity;
use crate::ui::task_progress::{AlreadyDone, TaskProgress};
use crate::{config, input, ui};
use crh_agent::CancelToken;
use crh_llm::{Model, ModelName, Money, Recorder};
use crh_pipeline::assemble::with_spending;
use crh_pipeline::bare;
use crh_pipeline::bare::BareOutcome;
use crh_pipeline::pipeline::ReviewOutput;
use crh_pipeline::prompts::Prompts;
use crh_pipeline::review_options::{ModelSet, PromptOverrides};
use crh_review::eval::{CaseRun, Effort, Ending, Reported};
use crh_review::identity::content_id;
use crh_review::report::{Report, ReviewMode, Stats, Status, Strategy};
use crh_review::verdict::{CommandKind, is_incomplete};

/// Folder of stored results (rows), beside the private stores.
const ROWS: &str = "eval-rows";
/// More threads would only wait for each other or hit rate limits.
const JOBS_MAX: usize = 64;
/// Shown at the first Ctrl-C.
const STOPPING: &str = "stopping; finished reviews are stored; press Ctrl-C again to end at once";
/// Shown after an interruption.
const GO_ON: &str = "run the same command again to continue";

/// Who reviews: a strategy of crh, or the model alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EvalArm {
    Strategy(Strategy),
    Bare,
}

impl EvalArm {
    /// Name as users type it.
    pub(super) fn name(self) -> String {
        match self {
            Self::Strategy(strategy) => strategy.to_string(),
            Self::Bare => ArmChoice::Bare.name().to_owned(),
        }
    }

    /// Hash of the prompts and tools; empty without a model.
    fn prompt_version(self, overrides: &PromptOverrides) -> String {
        match self {
            Self::Strategy(Strategy::Static) => String::new(),
            Self::Strategy(strategy) => Prompts::strategy_version(strategy, overrides),
            Self::Bare => bare::version(),
        }
    }
}

/// Settings and state of all reviews.
pub(super) struct ReviewBatch {
    arm: EvalArm,
    quiet: QuietReviewer,
    rows: ReviewCache,
    models: Vec<String>,
    /// The first recording that is replayed.
    recording: Option<PathBuf>,
    prompt_version: String,
    build: String,
    /// `None` if no model costs money.
    eval_budget: Option<EvalBudget>,
    max_total_cost: Money,
    jobs: usize,
    verbosity: Verbosity,
}

/// A change to review.
#[derive(Debug, Clone)]
pub(super) struct ReviewTask {
    pub(super) subject: Subject,
    /// Hash of everything that a reviewer can see.
    pub(super) change: String,
}

/// Whether all reviews finished.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EvalEnding {
    Finished,
    /// The user pressed Ctrl-C.
    Interrupted,
}

/// Cancels all running reviews.
#[derive(Default)]
struct StopHandle {
    is_set: AtomicBool,
    /// Running reviews, by thread.
    under_way: Mutex<HashMap<ThreadId, CancelToken>>,
}

/// The failure if a strategy needs a model and none is configured.
pub(super) fn no_model_failure() -> Failure {
    Failure::usage("no model is configured")
        .hint("pass one with `--model`, or use `--strategy static`, which needs none")
}

impl ReviewBatch {
    /// Resolves settings and models without calling a model. If the strategy needs a model and none
    /// is configured, fails with `no_model`.
    pub(super) fn open(
        args: &EvalReviewArgs,
        evaluated: &EvaluatedReviewers,
        environment: &Environment,
        no_model: impl FnOnce() -> Failure,
    ) -> Result<Self, Failure> {
        let mut flags = RawSettings::default();
        args.set_strategy(&mut flags);
        args.model.clone().set(&mut flags)?;
        args.budget.clone().set(&mut flags);
        evaluated.set(&mut flags)?;
        let settings = config::load(environment, None, flags)?;
        let prompts = PromptArgs::default();
        let panel = PanelArgs::default();
        let mut terms =
            terms::terms(&settings, CommandKind::Review, ReviewMode::ReportOnly, &panel, &prompts)?;
        // Canonical names, so that an alias finds the stored results.
        terms.panel.only = evaluated.names();
        evaluated.warn_of_notes();
        let arm = match args.strategy {
            Some(ArmChoice::Bare) => EvalArm::Bare,
            Some(_) | None => EvalArm::Strategy(terms.strategy),
        };
        let prompt_version = arm.prompt_version(&terms.overrides);
        let known = ModelResolver::new(&settings, environment)?.with_prompts(&prompt_version);
        let (model_set, models, recording, is_paid) = match terms.strategy {
            Strategy::Static => (None, Vec::new(), None, false),
            Strategy::Single | Strategy::Delegate | Strategy::Panel => {
                if known.has_no_model(&settings) {
                    // A fallback to static checks would measure something else.
                    return Err(no_model());
                }
                let (names, recording, is_paid) = named(&known, &settings, environment)?;
                let model_set = known.open_all(&settings, args.record.as_deref())?;
                (Some(model_set), names, recording, is_paid)
            }
        };
        let rows = kept_rows(args, &settings, environment)?;
        let jobs = args.jobs.map_or_else(cores, NonZeroUsize::get).min(JOBS_MAX);
        Ok(Self {
            arm,
            prompt_version,
            build: environment.build_id(),
            eval_budget: is_paid.then(|| EvalBudget::new(args.max_total_cost)),
            max_total_cost: args.max_total_cost,
            verbosity: args.verbosity.verbosity(),
            quiet: QuietReviewer {
                terms: Arc::new(terms),
                model_set,
                redactor: known.redactor(),
                min_severity: settings.review_min_severity.value.severity(),
            },
            rows,
            models,
            recording,
            jobs,
        })
    }

    pub(super) fn arm(&self) -> EvalArm {
        self.arm
    }

    /// Empty if the user named none.
    pub(super) fn reviewers(&self) -> &[String] {
        self.quiet.terms.panel.only.as_deref().unwrap_or_default()
    }

    /// Name of the budget profile with its overrides.
    pub(super) fn budget(&self) -> &str {
        &self.quiet.terms.budget.name
    }

    /// Model names, sorted and joined; empty for static reviews.
    pub(super) fn model(&self) -> String {
        self.quiet.model_set.as_ref().map(ModelSet::names).unwrap_or_default()
    }

    /// Empty for static reviews.
    pub(super) fn prompt_version(&self) -> &str {
        &self.prompt_version
    }

    pub(super) fn recording(&self) -> Option<&Path> {
        self.recording.as_deref()
    }

    /// Hash of the prompts of a recording that was made with other prompts.
    pub(super) fn outdated_prompts(&self) -> Option<String> {
        let mut roles = self.quiet.model_set.iter().flat_map(ModelSet::roles);
        let recorded = roles.find_map(|model| model.recorded_prompts())?;
        (recorded != self.prompt_version).then(|| recorded.to_owned())
    }

    /// Number of questions that the recordings could not answer.
    pub(super) fn unrecorded_count(&self) -> usize {
        let roles = self.quiet.model_set.iter().flat_map(ModelSet::roles);
        roles.map(Model::unrecorded_count).max().unwrap_or_default()
    }

    /// Whether results are deterministic. With repeats, chance decides which recorded answer each
    /// repeat gets.
    pub(super) fn is_repeatable(&self, repeats: u32) -> bool {
        self.quiet.model_set.is_none() || (self.eval_budget.is_none() && repeats == 1)
    }

    /// Remaining budget of the whole evaluation.
    pub(super) fn left(&self) -> Money {
        self.eval_budget.as_ref().map_or(self.max_total_cost, EvalBudget::left)
    }

    pub(super) fn recorder(&self) -> Option<Arc<Recorder>> {
        self.quiet.model_set.as_ref()?.reviewer.recorder()
    }

    /// Reviews each task the given number of times in the repository `there`. Calls `ended` with
    /// each result, its task number and its repeat; `ended` returns the progress line.
    pub(super) fn carry_out(
        &self,
        tasks: &[ReviewTask],
        repeats: u32,
        there: &Environment,
        environment: &Environment,
        mut ended: impl FnMut(usize, u32, CaseReview) -> String,
    ) -> Result<EvalEnding, Failure> {
        let reviews = tasks.len().saturating_mul(usize::try_from(repeats).unwrap_or(usize::MAX));
        let nth = |number: usize| {
            let repeat = u32::try_from(number / tasks.len()).unwrap_or(u32::MAX);
            (number % tasks.len(), repeat + 1)
        };
        let stop = Arc::new(StopHandle::default());
        let stopped = stop.clone();
        let interrupts = InterruptGuard::watch(move || {
            stopped.stop();
            ui::note(STOPPING);
        })?;
        self.say_cost((0..reviews).map(nth).map(|(task, repeat)| (&tasks[task], repeat)));
        let mut shown = TaskProgress::new(reviews, self.verbosity, environment);
        side_by_side(
            reviews,
            self.jobs,
            |number| {
                let (task, repeat) = nth(number);
                self.row(&tasks[task], repeat, there, environment, &stop)
            },
            |number, (row, before)| {
                let (task, repeat) = nth(number);
                let line = ended(task, repeat, row);
                shown.task_ended(&line, before);
            },
        );
        drop(shown);
        drop(interrupts);
        if let Some(model_set) = &self.quiet.model_set {
            models::warn_if_recording_failed(&model_set.reviewer);
        }
        if stop.is_set.load(Ordering::Relaxed) {
            ui::note(GO_ON);
            return Ok(EvalEnding::Interrupted);
        }
        Ok(EvalEnding::Finished)
    }

    /// Prints the worst-case cost of all remaining reviews.
    fn say_cost<'a>(&self, all: impl Iterator<Item = (&'a ReviewTask, u32)>) {
        if self.eval_budget.is_none() {
            return;
        }
        let is_kept =
            |(task, repeat)| self.name(task, repeat).is_ok_and(|name| self.rows.has(&name));
        let (kept, open): (Vec<_>, Vec<_>) = all.partition(|asked| is_kept(*asked));
        if !kept.is_empty() {
            ui::note(&format!("reusing {} stored reviews", kept.len()));
        }
        let reviews = open.len();
        let each = self.quiet.terms.budget.money;
        let all = Money::dollars(each.as_dollars() * reviews as f64).unwrap_or(self.max_total_cost);
        let most = all.min(self.max_total_cost);
        ui::note(&format!("{reviews} reviews, at most {each} each and {most} in total"));
    }

    /// Returns the stored result of a task, or reviews it. `None` after an interruption.
    fn row(
        &self,
        task: &ReviewTask,
        repeat: u32,
        there: &Environment,
        environment: &Environment,
        stop: &StopHandle,
    ) -> Option<(CaseReview, AlreadyDone)> {
        if stop.is_set.load(Ordering::Relaxed) {
            return None;
        }
        let name = match self.name(task, repeat) {
            Ok(name) => name,
            Err(error) => return Some((failed(&error.to_string()), AlreadyDone::No)),
        };
        if let Some(row) = self.rows.find(&name, environment.now()) {
            return Some((row, AlreadyDone::Yes));
        }
        // Another process may be reviewing the same task. Use its result instead of paying twice.
        let _alone = self.rows.alone(&name);
        if let Some(row) = self.rows.find(&name, environment.now()) {
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
            EvalArm::Strategy(_) => self.reviewed(task, repeat, there, stop),
            EvalArm::Bare => self.reviewed_bare(task, repeat, there, stop),
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
            ui::warn(&format!(
                "cannot store a result; the next evaluation reviews this case again: {error}"
            ));
        }
        Some((row, AlreadyDone::No))
    }

    fn name(&self, task: &ReviewTask, repeat: u32) -> Result<String, serde_json::Error> {
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

    fn reviewed(
        &self,
        task: &ReviewTask,
        repeat: u32,
        there: &Environment,
        stop: &StopHandle,
    ) -> CaseReview {
        let session = |cancel| stop.add(cancel);
        match self.quiet.review(&task.subject, repeat.into(), there, session) {
            Ok(ReviewOutput { report, funnel, .. }) => {
                let asked = self.quiet.terms.command;
                let run = CaseRun { funnel: Some(funnel), ..case_run(&report, asked) };
                CaseReview { run, report: Some(report) }
            }
            Err(failure) => failed(&format!("{:#}", failure.error)),
        }
    }

    /// A review by the model alone. It has no report.
    fn reviewed_bare(
        &self,
        task: &ReviewTask,
        repeat: u32,
        there: &Environment,
        stop: &StopHandle,
    ) -> CaseReview {
        let since = Instant::now();
        let session = |cancel| stop.add(cancel);
        match self.quiet.review_bare(&task.subject, repeat.into(), there, session) {
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
        for cancel in self.under_way.lock().unwrap_or_else(PoisonError::into_inner).values() {
            cancel.cancel();
        }
    }

    /// Registers the review that starts on this thread.
    fn add(&self, cancel: CancelToken) {
        let mut under_way = self.under_way.lock().unwrap_or_else(PoisonError::into_inner);
        under_way.insert(std::thread::current().id(), cancel.clone());
        drop(under_way);
        // The interruption may have come just before.
        if self.is_set.load(Ordering::Relaxed) {
            cancel.cancel();
        }
    }
}

/// Model identities, the first recording, and whether any model costs money.
fn named(
    models: &ModelResolver<'_>,
    settings: &Settings,
    environment: &Environment,
) -> Result<(Vec<String>, Option<PathBuf>, bool), Failure> {
    let roles = models.roles(settings)?;
    let mut is_paid = false;
    let mut recording = None;
    let mut names = Vec::new();
    for name in [roles.reviewer, roles.cheap, roles.escalation, roles.editor] {
        is_paid |= self::is_paid(&name);
        names.push(identity(&name, environment)?);
        if let ModelName::Replay(file) = name {
            recording.get_or_insert(file);
        }
    }
    Ok((names, recording, is_paid))
}

/// Whether calls of this model cost money.
pub(super) fn is_paid(name: &ModelName) -> bool {
    match name {
        ModelName::Live(_) => true,
        ModelName::Replay(_) => false,
    }
}

/// Name of a model; for a recording, its content hash.
pub(super) fn identity(name: &ModelName, environment: &Environment) -> Result<String, Failure> {
    Ok(match name {
        ModelName::Live(live) => live.to_string(),
        ModelName::Replay(file) => content_id(&input::bytes(&environment.folder.join(file))?),
    })
}

pub(super) fn kept_rows(
    args: &EvalReviewArgs,
    settings: &Settings,
    environment: &Environment,
) -> Result<ReviewCache, Failure> {
    let folder = settings.store_folder.value.path()?.join(ROWS);
    // A recording must contain every model call, so do not use stored results.
    let is_made_anew = args.fresh || args.record.is_some();
    let use_of = if is_made_anew { CachePolicy::Replaced } else { CachePolicy::Taken };
    ReviewCache::open(folder.clone(), use_of, environment.now())
        .with_context(|| format!("storing results in `{}`", folder.display()))
        .or_fail(FailureKind::Usage)
        .map_err(|failure| failure.hint("set another folder with `store.folder` or `CRH_STORE`"))
}

/// The parts of a report that scoring needs.
fn case_run(report: &Report, asked: CommandKind) -> CaseRun {
    let stats = &report.stats;
    let ending = match report.status {
        Status::Error => Ending::Failed(why(report)),
        Status::Degraded => Ending::Incomplete(why(report)),
        Status::Ok | Status::Truncated if is_incomplete(report, asked) => {
            Ending::Incomplete(why(report))
        }
        Status::Ok | Status::Truncated => Ending::Reviewed,
    };
    let said = std::iter::once(&report.summary).chain(&report.warnings);
    let said: Vec<&str> = said.map(String::as_str).filter(|text| !text.is_empty()).collect();
    CaseRun {
        ending,
        reported: report.issues.iter().filter_map(Reported::from_issue).collect(),
        judged: None,
        verdict: report.verdict.to_string(),
        summary: said.join("\n"),
        effort: Effort {
            cost_usd: stats.cost_usd,
            tokens: stats.tokens_used,
            llm_calls: stats.llm_calls,
            latency_ms: stats.latency_seconds_e2e.0 / 1_000,
        },
        funnel: None,
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
    let run = CaseRun {
        ending,
        reported: Vec::new(),
        judged: None,
        verdict: String::new(),
        summary: String::new(),
        effort: Effort::default(),
        funnel: None,
    };
    CaseReview { run, report: None }
}

pub(super) fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, NonZeroUsize::get)
}
