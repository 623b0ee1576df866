//! `crh review --watch`: runs `crh check` on every save, and `crh review` when the files have been
//! quiet for a while and the diff changed. Both run as child processes, at most one of each.

mod child_args;
mod day_budget;
mod schedule;

use std::collections::BTreeMap;
use std::fs::{File, TryLockError};
use std::path::Path;
use std::process::ExitCode;
use std::sync::mpsc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use anyhow::Context;

use self::child_args::ChildArgs;
use self::day_budget::{DayBudget, DayBudgetError};
use self::schedule::{Day, DiffId, ModelUse, Schedule, WatchStep};
use super::interrupts::InterruptGuard;
use super::models::ModelResolver;
use super::review::session::NO_MODEL;
use super::review::terms;
use super::{change_source, run_lookup, store};
use crate::cli::{FormatArg, TargetArgs};
use crate::config;
use crate::config::environment::Environment;
use crate::config::keys::{RawSettings, Settings};
use crate::failure::{Failure, FailureKind, OrFail};
use crate::ui;
use crh_git::{OpenError, Repository};
use crh_llm::Money;
use crh_mcp::program::{Invocation, Program, ProgramError, ProgramOutput, StopFlag};
use crh_os::files::create_private_folder;
use crh_pipeline::run_folder::{RunFolder, Timestamp};
use crh_pipeline::target_args::Target;
use crh_review::diff::Diff;
use crh_review::identity::content_id;
use crh_review::report::{CoverageState, FileCoverage, Report, Status, Strategy};

/// Minimum time between two reads of the state of the checkout.
const POLL_MIN: Duration = Duration::from_secs(1);
/// Pause between two reads, as a multiple of the time of a read. Reading a large checkout takes
/// long, and watching must take at most a twentieth of one core.
const POLL_SHARE: u32 = 20;
/// Longest sleep, so that the quiet time ends when it should.
const TICK: Duration = Duration::from_millis(200);
/// Time limit of a check.
const CHECK_LIMIT: Duration = Duration::from_secs(15 * 60);
/// Time that a review may need beyond its own limit, to print and store its report.
const REVIEW_EXTRA: Duration = Duration::from_secs(120);
/// Maximum files in the notes about files that a check left out.
const LEFT_OUT_MAX: usize = 5;
/// Longest wait for the end of stopped children. They are killed sooner.
const STOP_LIMIT: Duration = Duration::from_secs(30);

/// Event that wakes the watcher.
enum WatchEvent {
    /// Ctrl-C or SIGTERM.
    Stop,
    CheckEnded(Result<ProgramOutput, ProgramError>),
    ReviewEnded(ReviewEnd),
}

/// A review that ended.
struct ReviewEnd {
    diff: DiffId,
    /// Day and amount that were booked.
    booked: (Day, Money),
    /// The newest stored run before the review.
    run_before: Option<String>,
    result: Result<ProgramOutput, ProgramError>,
}

/// The running command.
struct Watcher<'e> {
    environment: &'e Environment,
    settings: Settings,
    repository: Repository,
    program: Program,
    args: ChildArgs,
    schedule: Schedule,
    budget: DayBudget,
    /// Limit of one review.
    review_limit: Money,
    review_time: Duration,
    stop: StopFlag,
    sender: Sender<WatchEvent>,
    /// Output of the newest check.
    last_check: Option<PrintedCheck>,
}

/// Output of a check, so that the next check prints only what is new.
#[derive(Default)]
struct PrintedCheck {
    /// Issues as lines for editors.
    text: String,
    /// Places and titles of the issues, by key.
    issues: BTreeMap<String, String>,
    /// Files that the check left out, or why there is nothing to review.
    notes: Vec<String>,
}

pub(super) fn run(
    target: TargetArgs,
    mut flags: RawSettings,
    environment: &Environment,
) -> Result<ExitCode, Failure> {
    require_checkout_target(target, &mut flags, environment)?;
    let settings = config::load(environment, None, flags)?;
    let repository = open_checkout(environment)?;
    let state = settings.state_folder.value.path()?.to_owned();
    let _lock = lock_checkout(&state, &repository)?;
    let args = ChildArgs::from_command_line(std::env::args_os());
    let args = args.ok_or_else(|| Failure::usage("the command line cannot be read again"))?;
    let program = environment.program.as_ref();
    let program = program.ok_or_else(|| Failure::usage("the program crh cannot be found"))?;
    let (sender, events) = mpsc::channel();
    let stop = StopFlag::default();
    let (stop_children, wake) = (stop.clone(), sender.clone());
    let _interrupts = InterruptGuard::watch(move || {
        stop_children.stop();
        // Fails if the command has just ended.
        wake.send(WatchEvent::Stop).unwrap_or_default();
    })?;
    let quiet = Duration::from_secs(settings.watch_quiet_seconds.value.get());
    let mut watcher = Watcher {
        schedule: Schedule::new(model_use(&settings, environment)?, quiet),
        budget: DayBudget::new(&state, settings.watch_max_usd_per_day.value),
        review_limit: terms::money_limit(&settings),
        review_time: terms::time_limit(&settings) + REVIEW_EXTRA,
        program: Program::new(program),
        environment,
        settings,
        repository,
        args,
        stop,
        sender,
        last_check: None,
    };
    let outcome = watcher.watch(&events);
    let ended = watcher.end_children(&events);
    outcome.and(ended).map(|()| ui::interrupted())
}

/// Fails unless the target is the checkout, which the user edits.
fn require_checkout_target(
    target: TargetArgs,
    flags: &mut RawSettings,
    environment: &Environment,
) -> Result<(), Failure> {
    let parsed_target = change_source::parse_target(target, flags, environment)?;
    if parsed_target.mode.is_some() {
        return Err(Failure::usage("`--watch` has no mode: it edits nothing and asks nothing")
            .hint("remove `mode:`; apply fixes with `crh fix`"));
    }
    match parsed_target.target {
        Target::CurrentBranch | Target::Against(_) | Target::Uncommitted => Ok(()),
        Target::Staged
        | Target::Commit(_)
        | Target::Range(_)
        | Target::Named(_)
        | Target::PullRequest(_)
        | Target::Diff(_) => Err(Failure::usage("`--watch` reviews only the current checkout")
            .hint("remove the target, or use `--base REF` or `--uncommitted`")),
    }
}

fn open_checkout(environment: &Environment) -> Result<Repository, Failure> {
    let repository = Repository::discover(&environment.folder).map_err(|error| match error {
        OpenError::NotARepository(_) => {
            Failure::new(FailureKind::Usage, error).hint("run it in the checkout to watch")
        }
        error => Failure::new(FailureKind::Usage, error),
    })?;
    match &repository.work_tree {
        Some(_) => Ok(repository),
        None => Err(Failure::usage("a bare repository has no files to watch")),
    }
}

/// Prevents a second watcher of the same checkout. The lock ends with the process.
fn lock_checkout(state: &Path, repository: &Repository) -> Result<File, Failure> {
    let folder = state.join(day_budget::FOLDER);
    let id = content_id(repository.git_dir.as_os_str().as_encoded_bytes());
    let path = folder.join(format!("{}.lock", &id[..32]));
    let created = create_private_folder(&folder);
    let file =
        created.and_then(|()| File::options().create(true).truncate(false).write(true).open(&path));
    let file = file.with_context(|| format!("cannot write `{}`", path.display()));
    let file = file.or_fail(FailureKind::External)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => {
            Err(Failure::usage("another `crh review --watch` runs in this checkout")
                .hint("end it with Ctrl-C in its terminal"))
        }
        Err(TryLockError::Error(error)) => Err(Failure::new(FailureKind::External, error)),
    }
}

/// Whether a model is configured and the strategy uses it. If not, prints the reason.
fn model_use(settings: &Settings, environment: &Environment) -> Result<ModelUse, Failure> {
    if terms::strategy(settings) == Strategy::Static {
        ui::note("the strategy is `static`, so crh only runs the static checks");
        return Ok(ModelUse::ChecksOnly);
    }
    if ModelResolver::new(settings, environment)?.has_no_model(settings) {
        ui::warn("no model is configured; running static checks only");
        ui::note(NO_MODEL);
        return Ok(ModelUse::ChecksOnly);
    }
    Ok(ModelUse::Reviews)
}

impl Watcher<'_> {
    /// Watches until Ctrl-C, or until nothing can be checked at all.
    fn watch(&mut self, events: &Receiver<WatchEvent>) -> Result<(), Failure> {
        let root = self.repository.work_tree.as_deref().unwrap_or(&self.repository.git_dir);
        let root = self.environment.display_path(root);
        ui::note(&format!("watching `{root}`; Ctrl-C ends it"));
        let mut next_poll = Instant::now();
        let mut is_known = false;
        loop {
            let now = Instant::now();
            if now >= next_poll {
                match self.repository.checkout_state() {
                    Ok(state) => self.schedule.observe(state, now),
                    // Another git command may be writing.
                    Err(error) if is_known => ui::detail(&format!("{error:#}")),
                    Err(error) => return Err(Failure::new(FailureKind::External, error)),
                }
                is_known = true;
                next_poll = Instant::now() + POLL_MIN.max(now.elapsed() * POLL_SHARE);
            }
            let day = self.today();
            while let Some(step) = self.schedule.next_step(Instant::now(), &day) {
                self.start(step, day.clone())?;
            }
            match events.recv_timeout(TICK) {
                Ok(WatchEvent::Stop) | Err(RecvTimeoutError::Disconnected) => return Ok(()),
                Ok(WatchEvent::CheckEnded(result)) => self.end_check(result)?,
                Ok(WatchEvent::ReviewEnded(end)) => self.end_review(end)?,
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    /// Stops the child processes, waits for their end, and prints the findings of an interrupted
    /// review.
    fn end_children(&mut self, events: &Receiver<WatchEvent>) -> Result<(), Failure> {
        self.stop.stop();
        let deadline = Instant::now() + STOP_LIMIT;
        while self.schedule.is_running() {
            match events.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(WatchEvent::Stop) => {}
                Ok(WatchEvent::CheckEnded(_)) => self.schedule.end_check(None),
                Ok(WatchEvent::ReviewEnded(end)) => self.end_review(end)?,
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return Ok(()),
            }
        }
        Ok(())
    }

    /// Starts a child process, which a thread waits for.
    fn start(&mut self, step: WatchStep, day: Day) -> Result<(), Failure> {
        match step {
            WatchStep::Check => self.spawn(self.args.check(), CHECK_LIMIT, WatchEvent::CheckEnded),
            WatchStep::Review(diff) => {
                let limit = self.review_limit;
                let reserved = self.budget.reserve(&day, limit).map_err(budget_failure)?;
                let Some(reserved) = reserved else {
                    ui::warn(&format!(
                        "today's budget ({}) is used up; crh runs only the static checks until midnight UTC",
                        self.settings.watch_max_usd_per_day.value
                    ));
                    ui::note("`watch.max_usd_per_day` in your config sets the budget");
                    self.schedule.refuse_review(day);
                    return Ok(());
                };
                ui::note(&format!("reviewing the change, for at most {reserved}"));
                let max_usd = (reserved < limit).then(|| reserved.as_dollars());
                let run_before = self.newest_run().map(|run| run.run_id());
                let booked = (day, reserved);
                let end = |result| {
                    WatchEvent::ReviewEnded(ReviewEnd { diff, booked, run_before, result })
                };
                self.spawn(self.args.review(max_usd), self.review_time, end)
            }
        }
    }

    fn spawn(
        &self,
        args: Vec<std::ffi::OsString>,
        time_limit: Duration,
        end: impl FnOnce(Result<ProgramOutput, ProgramError>) -> WatchEvent + Send + 'static,
    ) -> Result<(), Failure> {
        let call = Invocation::new(&self.environment.folder, args, time_limit);
        let (program, stop, sender) =
            (self.program.clone(), self.stop.clone(), self.sender.clone());
        let run = move || {
            let result = program.run(&call, &stop, ui::detail);
            // Fails if the command has ended.
            sender.send(end(result)).unwrap_or_default();
        };
        let thread = std::thread::Builder::new().name("child".to_owned()).spawn(run);
        thread.map(drop).or_fail(FailureKind::External)
    }

    fn end_check(&mut self, result: Result<ProgramOutput, ProgramError>) -> Result<(), Failure> {
        let is_first = self.last_check.is_none();
        let result = result.map_err(|error| Failure::new(FailureKind::External, error));
        let mut notes = result.as_ref().map(left_out_by_command).unwrap_or_default();
        let report = match result.and_then(|output| read_report(&output)) {
            Ok(report) => report,
            // A clean tree is no error: the user has not edited a file yet.
            Err(failure) if is_nothing_to_review(&failure) => {
                let note = format!("{:#}; crh waits for a change", failure.error);
                self.print_changes(PrintedCheck { notes: vec![note], ..PrintedCheck::default() })?;
                self.schedule.end_check(None);
                return Ok(());
            }
            // If the first check fails, the command line or the setup is wrong.
            Err(failure) if is_first => {
                self.schedule.end_check(None);
                return Err(failure);
            }
            Err(failure) => {
                ui::print_failure(&failure);
                self.schedule.end_check(None);
                return Ok(());
            }
        };
        let full_diff = self.diff(&report)?;
        let diff = full_diff.as_ref().map(|diff| diff_id(diff, &report));
        if is_first
            && let Some(diff) = &diff
            && self.is_reviewed(&report)
        {
            ui::note("the newest stored review covers this diff; crh reviews the next change");
            self.schedule.skip_review(diff.clone());
        }
        let text =
            crh_review::render::quickfix(&report, full_diff.as_ref(), &self.folder_in_checkout());
        notes.extend(left_out_of_scope(&report));
        let issues = report.all_issues().map(|issue| {
            let place = format!("{}:{}", issue.location.file, issue.location.line_start);
            (issue.dedupe_key.clone(), format!("{place}: {}", issue.title))
        });
        let issues = issues.collect();
        self.print_changes(PrintedCheck { text, issues, notes })?;
        ui::print_summary(&report);
        self.schedule.end_check(diff);
        Ok(())
    }

    /// Prints the issues and notes of a check if they changed, and the issues that are gone.
    fn print_changes(&mut self, check: PrintedCheck) -> Result<(), Failure> {
        let before = self.last_check.take().unwrap_or_default();
        if before.text != check.text {
            ui::result_text(&check.text)?;
        }
        for (key, issue) in &before.issues {
            if !check.issues.contains_key(key) {
                ui::note(&format!("gone: {}", crh_review::one_line(issue)));
            }
        }
        if before.notes != check.notes {
            check.notes.iter().for_each(|note| ui::note(note));
        }
        self.last_check = Some(check);
        Ok(())
    }

    fn end_review(&mut self, end: ReviewEnd) -> Result<(), Failure> {
        let ReviewEnd { diff, booked: (day, reserved), run_before, result } = end;
        self.schedule.end_review(diff);
        let report = match result {
            Ok(output) => read_report(&output),
            // A stopped review stores what it has found.
            Err(error) => self
                .newest_run()
                .filter(|run| run_before.as_ref() != Some(&run.run_id()))
                .and_then(|run| run.report().ok())
                .ok_or_else(|| Failure::new(FailureKind::External, error)),
        };
        let report = match report {
            Ok(report) => report,
            Err(failure) => {
                ui::print_failure(&failure);
                // A wrong setting ends a review before the first model call. Otherwise the cost is
                // unknown, and the booked money counts as spent.
                return match failure.kind {
                    FailureKind::Usage => {
                        let settled = self.budget.settle(&day, reserved, Money::ZERO);
                        settled.map_err(budget_failure)
                    }
                    FailureKind::External | FailureKind::Skipped | FailureKind::Bug => Ok(()),
                };
            }
        };
        let cost = Money::dollars(report.stats.cost_usd.0 as f64 / 1e6).unwrap_or(reserved);
        self.budget.settle(&day, reserved, cost).map_err(budget_failure)?;
        let context = super::render::RenderContext {
            checkout: self.repository.work_tree.as_deref(),
            ..super::render::RenderContext::default()
        };
        let text = super::render::render_report(
            &report,
            context,
            FormatArg::Text,
            &self.settings,
            self.environment,
        )?;
        ui::result_text(&text)?;
        ui::print_summary(&report);
        Ok(())
    }

    /// The diff of the change; none if there are no reviewed files.
    fn diff(&self, report: &Report) -> Result<Option<Diff>, Failure> {
        if report.files_reviewed.is_empty() {
            return Ok(None);
        }
        let folder = store::folder(&self.settings, &self.repository)?;
        let store = crh_git::BareRepository::new(&folder);
        let diff = store.diff(&report.change.base_sha, &report.change.head_sha);
        Ok(Some(Diff::read(diff.or_fail(FailureKind::External)?)))
    }

    /// Whether the newest stored run is a complete review of this change by models.
    fn is_reviewed(&self, check: &Report) -> bool {
        let report = self.newest_run().and_then(|run| run.report().ok());
        report.is_some_and(|report| {
            report.status == Status::Ok
                && !report.model_used.is_empty()
                && report.change.base_sha == check.change.base_sha
                && report.change.head_sha == check.change.head_sha
        })
    }

    fn newest_run(&self) -> Option<RunFolder> {
        let (default_folder, newest) = (None, None);
        run_lookup::own_run_folder(self.environment, default_folder, newest).ok()
    }

    /// The current folder, relative to the root of the checkout.
    fn folder_in_checkout(&self) -> String {
        super::render::folder_in_repository(self.environment)
    }

    fn today(&self) -> Day {
        let now = Timestamp::from_system_time(self.environment.now()).to_string();
        Day(now.split('T').next().unwrap_or_default().to_owned())
    }
}

/// Id of the diff of the reviewed files.
fn diff_id(diff: &Diff, report: &Report) -> DiffId {
    let reviewed = diff.files().iter().filter(|file| {
        let path = file.path.shown();
        report.files_reviewed.iter().any(|reviewed| *reviewed == path)
    });
    let bytes: Vec<u8> = reviewed.flat_map(|file| diff.patch(file)).copied().collect();
    DiffId(content_id(&bytes))
}

/// Whether a check failed only because nothing has changed yet.
fn is_nothing_to_review(failure: &Failure) -> bool {
    failure.kind == FailureKind::Usage
        && failure.error.to_string().starts_with("nothing to review: ")
}

/// Warnings of a check, such as the one about untracked files.
fn left_out_by_command(output: &ProgramOutput) -> Vec<String> {
    let message = output.message();
    let warnings = message.lines().filter_map(|line| line.strip_prefix("warning: "));
    warnings.map(str::to_owned).collect()
}

/// Files of the change that the check left out.
fn left_out_of_scope(report: &Report) -> Vec<String> {
    let is_left_out = |file: &&FileCoverage| match file.state {
        CoverageState::Reviewed | CoverageState::ReviewedBefore => false,
        CoverageState::Truncated | CoverageState::NotReviewed | CoverageState::OutOfScope => true,
    };
    let left_out: Vec<&FileCoverage> = report.coverage.iter().filter(is_left_out).collect();
    let more = left_out.len().saturating_sub(LEFT_OUT_MAX);
    let named = left_out.iter().take(LEFT_OUT_MAX);
    let named = named.map(|file| format!("not checked: `{}` ({})", file.path, file.reason));
    let more = (more > 0).then(|| format!("not checked: {more} more files"));
    named.chain(more).map(|note| crh_review::one_line(&note)).collect()
}

/// The report that a child process printed, or its error.
fn read_report(output: &ProgramOutput) -> Result<Report, Failure> {
    if let Ok(report) = serde_json::from_slice(&output.stdout) {
        return Ok(report);
    }
    let message = output.message();
    let line = |prefix: &str| message.lines().rev().find_map(|line| line.strip_prefix(prefix));
    let error = line("error: ").map_or_else(
        || {
            format!(
                "a child process of crh ended without a report: {}",
                crh_review::one_line(&message)
            )
        },
        str::to_owned,
    );
    let kind = match output.code {
        Some(2) => FailureKind::Usage,
        Some(4) => FailureKind::Skipped,
        Some(_) | None => FailureKind::External,
    };
    let failure = Failure::new(kind, anyhow::anyhow!("{error}"));
    Err(match line("hint: ") {
        Some(hint) => failure.hint(hint),
        None => failure,
    })
}

fn budget_failure(error: DayBudgetError) -> Failure {
    let (kind, hint) = match &error {
        DayBudgetError::Disk { .. } => (
            FailureKind::External,
            "set `state.folder` in your config to a folder that crh can write",
        ),
        DayBudgetError::Damaged { .. } => {
            (FailureKind::Usage, "delete the file; the day then begins with its full budget")
        }
    };
    Failure::new(kind, error).hint(hint)
}
