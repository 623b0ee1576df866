//! Many reviews of the same kind, side by side: each is kept as it ends, none is done twice, and all of them have one bill.

use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::ThreadId;

use anyhow::Context;

use super::super::interrupts::Interrupts;
use super::super::models;
use super::super::models::Models;
use super::super::review::quiet::{Quiet, Subject};
use super::super::review::terms;
use super::lenses::Lenses;
use crate::cli::{EvalReviewArgs, PanelArgs, PromptArgs};
use crate::config::environment::Environment;
use crate::config::keys::{RawSettings, Settings};
use crate::eval::purse::Purse;
use crate::eval::rows::{KeptRows, Row, RowKey, Use};
use crate::eval::side_by_side::side_by_side;
use crate::failure::{Failure, Kind, OrFail};
use crate::ui::Verbosity;
use crate::ui::rows::{Before, Rows};
use crate::{config, input, ui};
use crh_agent::Cancel;
use crh_llm::{ModelName, Money, Recorder};
use crh_pipeline::prompts::Prompts;
use crh_pipeline::terms::Crew;
use crh_review::eval::{CaseRun, Effort, Ending, Reported};
use crh_review::identity::content_id;
use crh_review::report::{Mode, Report, Status, Strategy};
use crh_review::verdict::{Asked, is_incomplete};

/// Where rows are kept, beside the private stores.
const ROWS: &str = "eval-rows";
/// More threads than this only wait for each other, or for a vendor that turns them away.
const JOBS_MAX: usize = 64;
/// Told to the user at the first Ctrl-C.
const STOPPING: &str = "stopping: what has ended is kept; Ctrl-C again ends at once";
/// Told to the user at the end of what was stopped.
const GO_ON: &str = "the same command goes on with what is left";

/// How changes are reviewed.
pub(super) struct Reviews {
    quiet: Quiet,
    rows: KeptRows,
    models: Vec<String>,
    prompt_version: String,
    build: String,
    /// None if nobody has to be paid.
    purse: Option<Purse>,
    max_total_cost: Money,
    jobs: usize,
    verbosity: Verbosity,
}

/// A change to be reviewed.
#[derive(Debug, Clone)]
pub(super) struct Task {
    pub(super) subject: Subject,
    /// Names all of it that a reviewer can see.
    pub(super) change: String,
}

/// How many reviews came to their end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// All that were to be done.
    Finished,
    /// Not all: somebody stopped it.
    Interrupted,
}

/// What stops everything that is under way.
#[derive(Default)]
struct Stop {
    is_set: AtomicBool,
    /// By the thread that each is on.
    under_way: Mutex<HashMap<ThreadId, Cancel>>,
}

impl Reviews {
    /// Finds out how changes are reviewed. Nothing is asked of a model.
    pub(super) fn open(
        args: &EvalReviewArgs,
        lenses: &Lenses,
        environment: &Environment,
    ) -> Result<Self, Failure> {
        let mut flags = RawSettings::default();
        args.how.clone().set(&mut flags);
        args.model.clone().set(&mut flags)?;
        args.budget.clone().set(&mut flags);
        lenses.set(&mut flags)?;
        let settings = config::load(environment, None, flags)?;
        let prompts = PromptArgs::default();
        let panel = PanelArgs::default();
        let mut terms = terms::terms(&settings, Asked::Review, Mode::ReportOnly, &panel, &prompts)?;
        // By the names of the catalogue, so that an alias finds the rows of its reviewer.
        terms.panel.only = lenses.names();
        lenses.warn_of_notes();
        let known = Models::new(&settings, environment)?;
        let (crew, models, is_paid) = match terms.strategy {
            Strategy::Static => (None, Vec::new(), false),
            Strategy::Single | Strategy::Delegate | Strategy::Panel => {
                if known.are_none(&settings) {
                    // Falling back would give the numbers of something else.
                    return Err(Failure::usage("no model is configured").hint(
                        "name one with `--model`, or take `--strategy static`, which needs none",
                    ));
                }
                let (names, is_paid) = named(&known, &settings, environment)?;
                (Some(known.crew(&settings, args.record.as_deref())?), names, is_paid)
            }
        };
        let rows = kept_rows(args, &settings, environment)?;
        let jobs = args.jobs.map_or_else(cores, NonZeroUsize::get).min(JOBS_MAX);
        Ok(Self {
            prompt_version: Prompts::version(&terms.overrides),
            build: environment.build(),
            purse: is_paid.then(|| Purse::new(args.max_total_cost)),
            max_total_cost: args.max_total_cost,
            verbosity: args.talk.verbosity(),
            quiet: Quiet {
                terms: Arc::new(terms),
                crew,
                redactor: known.redactor(),
                min_severity: settings.review_min_severity.value.severity(),
            },
            rows,
            models,
            jobs,
        })
    }

    /// How the changes are divided among reviewers.
    pub(super) fn strategy(&self) -> Strategy {
        self.quiet.terms.strategy
    }

    /// The reviewers that were asked for; none if nobody named any.
    pub(super) fn reviewers(&self) -> &[String] {
        self.quiet.terms.panel.only.as_deref().unwrap_or_default()
    }

    /// The profile of each review, with whatever was set over it.
    pub(super) fn budget(&self) -> &str {
        &self.quiet.terms.allowance.name
    }

    /// The models, sorted and joined; empty if none is asked.
    pub(super) fn model(&self) -> String {
        self.quiet.crew.as_ref().map(Crew::names).unwrap_or_default()
    }

    /// Names the prompts; empty if no model is asked.
    pub(super) fn prompt_version(&self) -> &str {
        if self.quiet.crew.is_some() { &self.prompt_version } else { "" }
    }

    /// Whether chance has no part in it. Which of several recorded answers a repeat gets is a matter of chance.
    pub(super) fn is_repeatable(&self, repeats: u32) -> bool {
        self.quiet.crew.is_none() || (self.purse.is_none() && repeats == 1)
    }

    /// What is left of what the whole evaluation may cost.
    pub(super) fn left(&self) -> Money {
        self.purse.as_ref().map_or(self.max_total_cost, Purse::left)
    }

    /// Where exchanges with models are written down, if they are.
    pub(super) fn recorder(&self) -> Option<Arc<Recorder>> {
        self.quiet.crew.as_ref()?.reviewer.recorder()
    }

    /// Reviews changes of the repository of `there`, each so many times. `ended` gets each row as it ends, with the number of its
    /// task and of its repeat, and says it in a line.
    pub(super) fn carry_out(
        &self,
        tasks: &[Task],
        repeats: u32,
        there: &Environment,
        environment: &Environment,
        mut ended: impl FnMut(usize, u32, Row) -> String,
    ) -> Result<End, Failure> {
        let reviews = tasks.len().saturating_mul(usize::try_from(repeats).unwrap_or(usize::MAX));
        let nth = |number: usize| {
            let repeat = u32::try_from(number / tasks.len()).unwrap_or(u32::MAX);
            (number % tasks.len(), repeat + 1)
        };
        let stop = Arc::new(Stop::default());
        let stopped = stop.clone();
        let interrupts = Interrupts::watch(move || {
            stopped.stop();
            ui::note(STOPPING);
        })?;
        self.say_cost((0..reviews).map(nth).map(|(task, repeat)| (&tasks[task], repeat)));
        let mut shown = Rows::new(reviews, self.verbosity, environment);
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
                shown.ended(&line, before);
            },
        );
        drop(shown);
        drop(interrupts);
        if let Some(crew) = &self.quiet.crew {
            models::warn_of_recording(&crew.reviewer);
        }
        if stop.is_set.load(Ordering::Relaxed) {
            ui::note(GO_ON);
            return Ok(End::Interrupted);
        }
        Ok(End::Finished)
    }

    /// Says what all reviews that are still to be made can cost at worst, before they do.
    fn say_cost<'a>(&self, all: impl Iterator<Item = (&'a Task, u32)>) {
        if self.purse.is_none() {
            return;
        }
        let is_kept =
            |(task, repeat)| self.name(task, repeat).is_ok_and(|name| self.rows.has(&name));
        let (kept, open): (Vec<_>, Vec<_>) = all.partition(|asked| is_kept(*asked));
        if !kept.is_empty() {
            ui::note(&format!("{} reviews were made before and are not made again", kept.len()));
        }
        let reviews = open.len();
        let each = self.quiet.terms.allowance.money;
        let all = Money::dollars(each.as_dollars() * reviews as f64).unwrap_or(self.max_total_cost);
        let most = all.min(self.max_total_cost);
        ui::note(&format!("{reviews} reviews at {each} at most, and {most} at most in all"));
    }

    /// The row of a task: one that is there, or a new one. Nothing if everything was stopped.
    fn row(
        &self,
        task: &Task,
        repeat: u32,
        there: &Environment,
        environment: &Environment,
        stop: &Stop,
    ) -> Option<(Row, Before)> {
        if stop.is_set.load(Ordering::Relaxed) {
            return None;
        }
        let name = match self.name(task, repeat) {
            Ok(name) => name,
            Err(error) => return Some((failed(&error.to_string()), Before::No)),
        };
        if let Some(row) = self.rows.find(&name, environment.now()) {
            return Some((row, Before::Yes));
        }
        // Another process may be at work on the same one: what it makes is taken, and not paid for twice.
        let _alone = self.rows.alone(&name);
        if let Some(row) = self.rows.find(&name, environment.now()) {
            return Some((row, Before::Yes));
        }
        let reserved = match &self.purse {
            None => None,
            Some(purse) => match purse.reserve(self.quiet.terms.allowance.money) {
                Some(reserved) => Some(reserved),
                None => {
                    let why = "`--max-total-cost` leaves no room for it".to_owned();
                    return Some((without_report(Ending::NotRun(why)), Before::No));
                }
            },
        };
        let row = self.reviewed(task, repeat, there, stop);
        if let Some(reserved) = reserved {
            reserved.settle(row.run.effort.cost_usd.0);
        }
        // What was stopped in the middle says nothing about the reviewer.
        if stop.is_set.load(Ordering::Relaxed) {
            return None;
        }
        if is_lasting(&row)
            && let Err(error) = self.rows.keep(&name, &row)
        {
            ui::warn(&format!("a row could not be kept, and would be reviewed again: {error}"));
        }
        Some((row, Before::No))
    }

    fn name(&self, task: &Task, repeat: u32) -> Result<String, serde_json::Error> {
        let facts = self.quiet.crew.iter().flat_map(|crew| {
            [&crew.reviewer, &crew.cheap, &crew.escalation].map(|model| model.facts().clone())
        });
        KeptRows::name(&RowKey {
            build: &self.build,
            change: &task.change,
            terms: &self.quiet.terms,
            prompt_version: &self.prompt_version,
            models: &self.models,
            facts: facts.collect(),
            min_severity: self.quiet.min_severity,
            repeat,
        })
    }

    fn reviewed(&self, task: &Task, repeat: u32, there: &Environment, stop: &Stop) -> Row {
        let begun = |cancel| stop.add(cancel);
        match self.quiet.review(&task.subject, repeat.into(), there, begun) {
            Ok(report) => {
                let asked = self.quiet.terms.asked;
                Row { run: case_run(&report, asked), report: Some(report) }
            }
            Err(failure) => failed(&format!("{:#}", failure.error)),
        }
    }
}

impl Stop {
    fn stop(&self) {
        self.is_set.store(true, Ordering::Relaxed);
        for cancel in self.under_way.lock().unwrap_or_else(PoisonError::into_inner).values() {
            cancel.cancel();
        }
    }

    /// A review begins on this thread, in the place of the one before.
    fn add(&self, cancel: Cancel) {
        let mut under_way = self.under_way.lock().unwrap_or_else(PoisonError::into_inner);
        under_way.insert(std::thread::current().id(), cancel.clone());
        drop(under_way);
        // It may have been stopped just before.
        if self.is_set.load(Ordering::Relaxed) {
            cancel.cancel();
        }
    }
}

/// The models by name and recordings by content, and whether somebody has to be paid.
fn named(
    models: &Models<'_>,
    settings: &Settings,
    environment: &Environment,
) -> Result<(Vec<String>, bool), Failure> {
    let roles = models.roles(settings)?;
    let mut is_paid = false;
    let mut names = Vec::new();
    for name in [roles.reviewer, roles.cheap, roles.escalation] {
        is_paid |= self::is_paid(&name);
        names.push(identity(&name, environment)?);
    }
    Ok((names, is_paid))
}

/// Whether somebody has to be paid for asking a model.
pub(super) fn is_paid(name: &ModelName) -> bool {
    match name {
        ModelName::Live(_) => true,
        ModelName::Replay(_) => false,
    }
}

/// What says that a model is the same: its name, of a recording the content.
pub(super) fn identity(name: &ModelName, environment: &Environment) -> Result<String, Failure> {
    Ok(match name {
        ModelName::Live(live) => live.to_string(),
        ModelName::Replay(file) => content_id(&input::bytes(&environment.folder.join(file))?),
    })
}

/// Where rows are kept.
pub(super) fn kept_rows(
    args: &EvalReviewArgs,
    settings: &Settings,
    environment: &Environment,
) -> Result<KeptRows, Failure> {
    let folder = settings.store_folder.value.path()?.join(ROWS);
    // A recording has to have every exchange in it.
    let is_made_anew = args.fresh || args.record.is_some();
    let use_of = if is_made_anew { Use::Replaced } else { Use::Taken };
    KeptRows::open(folder.clone(), use_of, environment.now())
        .with_context(|| format!("keeping rows in `{}`", folder.display()))
        .or_fail(Kind::Usage)
        .map_err(|failure| {
            failure.hint("`store.folder` in your config or `CRH_STORE` names another folder")
        })
}

/// What scoring needs of a report.
fn case_run(report: &Report, asked: Asked) -> CaseRun {
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
        reported: report.issues.iter().filter_map(Reported::of).collect(),
        judged: None,
        verdict: report.verdict.to_string(),
        summary: said.join("\n"),
        effort: Effort {
            cost_usd: stats.cost_usd,
            tokens: stats.tokens_used,
            llm_calls: stats.llm_calls,
            latency_ms: stats.latency_seconds_e2e.0 / 1_000,
        },
    }
}

/// Why a change was not reviewed, or not wholly: what a failed reviewer says says more than the verdict.
fn why(report: &Report) -> String {
    let failed = report.failed_reviewers().find(|row| !row.note.is_empty());
    failed
        .map_or_else(|| report.verdict_reason.clone(), |row| format!("{}: {}", row.name, row.note))
}

/// Whether a review would say the same again, but for chance. One in which a model could not be asked would not.
fn is_lasting(row: &Row) -> bool {
    let is_whole = |report: &Report| match report.status {
        Status::Ok | Status::Truncated => true,
        Status::Degraded | Status::Error => false,
    };
    row.report.as_ref().is_some_and(is_whole)
}

fn failed(why: &str) -> Row {
    without_report(Ending::Failed(why.to_owned()))
}

fn without_report(ending: Ending) -> Row {
    let run = CaseRun {
        ending,
        reported: Vec::new(),
        judged: None,
        verdict: String::new(),
        summary: String::new(),
        effort: Effort::default(),
    };
    Row { run, report: None }
}

/// How many threads can be at work at the same time.
pub(super) fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, NonZeroUsize::get)
}
