//! Runs a review: one runtime, one ledger, one progress display.

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::time::Duration;

use super::super::interrupts::InterruptGuard;
use super::super::limits::WorkTime;
use super::super::{dismiss, learning, models};
use super::model_flags;
use super::outcome::ReviewEnding;
use super::session::ReviewSession;
use crate::config::environment::Environment;
use crate::failure::{Failure, FailureKind, OrFail};
use crate::ui;
use crate::ui::Verbosity;
use crate::ui::progress::ProgressDisplay;
use crate::ui::questions::TerminalPrompt;
use crh_agent::{Ledger, TranscriptDetail, UsageTotals};
use crh_pipeline::change_under_review::ChangeUnderReview;
use crh_pipeline::events::{ReviewEvent, Stage};
use crh_pipeline::journal::ReviewJournal;
use crh_pipeline::pipeline::{ReviewInputs, ReviewOutput};
use crh_pipeline::run_folder::{FileWriteError, RunFolder, Timestamp};
use crh_pipeline::runs::RunRecord;
use crh_pipeline::{context, pipeline};
use crh_review::report::Report;

/// Minimum time of a review without models. The repeated review of fixes starts late and needs it.
const REPEATED_REVIEW_TIME: Duration = Duration::from_secs(60);

/// Warning at the first Ctrl-C.
const STOPPING: &str =
    "stopping; findings so far are reported (press Ctrl-C again to quit at once)";

/// Interval of cost updates in the progress display.
const SPENT_EVERY: Duration = Duration::from_millis(250);

/// A review to run, with its run folder and earlier results.
struct ReviewWork<'b> {
    subject: &'b ChangeUnderReview,
    folder: Option<RunFolder>,
    earlier: Vec<RunRecord>,
    spent: UsageTotals,
    /// Asks the user for the purpose of the change.
    person: Option<context::IntentPrompt>,
}

/// A review that ended.
pub(super) struct EndedReview {
    pub(super) report: Report,
    pub(super) end: ReviewEnding,
    /// Errors while storing parts of the run.
    pub(super) write_problems: Vec<String>,
}

/// Runs a review until it ends or the user stops it, and stores the result.
pub(super) fn review(
    session: &ReviewSession,
    person: Option<&TerminalPrompt>,
    verbosity: Verbosity,
    environment: &Environment,
) -> Result<EndedReview, Failure> {
    let work = ReviewWork {
        subject: &session.subject,
        folder: session.place.folder().cloned(),
        earlier: session.earlier.runs.clone(),
        spent: session.earlier.spent,
        person: person.map(|_| context::IntentPrompt::new(ask_purpose)),
    };
    let ended = run_pipeline(session, work, verbosity, environment)?;
    if let Some(model_set) = &session.model_set {
        models::warn_if_recording_failed(&model_set.reviewer);
    }
    Ok(ended)
}

/// Reviews the change with its fixes, with the same options and the remaining budget.
pub(super) fn review_fixes_again(
    session: &ReviewSession,
    subject: &ChangeUnderReview,
    folder: &RunFolder,
    spent: UsageTotals,
    verbosity: Verbosity,
    environment: &Environment,
) -> Result<EndedReview, Failure> {
    let (work_folder, earlier) = (Some(folder.clone()), Vec::new());
    let work = ReviewWork { subject, folder: work_folder, earlier, spent, person: None };
    let mut ended = run_pipeline(session, work, verbosity, environment)?;
    if ended.end == ReviewEnding::Finished
        && let Err(problem) = complete(folder, environment)
    {
        ended.write_problems.push(problem.to_string());
    }
    Ok(ended)
}

/// Stores that the run of this folder has ended now.
pub(super) fn complete(
    folder: &RunFolder,
    environment: &Environment,
) -> Result<(), FileWriteError> {
    folder.complete(Timestamp::from_system_time(environment.now()))
}

fn run_pipeline(
    session: &ReviewSession,
    work: ReviewWork<'_>,
    verbosity: Verbosity,
    environment: &Environment,
) -> Result<EndedReview, Failure> {
    let ReviewWork { subject, folder, earlier, spent, person } = work;
    let progress = ProgressDisplay::new(verbosity, environment);
    let journal = ReviewJournal::open(
        folder,
        session.redactor.clone(),
        if session.log_content { TranscriptDetail::Full } else { TranscriptDetail::LengthsOnly },
        earlier,
        progress.listener(),
    );
    let stopping_journal = journal.clone();
    let interrupts = InterruptGuard::watch(move || {
        stopping_journal.cancel().cancel();
        stopping_journal.emit(ReviewEvent::Warning { text: STOPPING.to_owned() });
    })?;
    journal.stage(Stage::Target, || subject.report_change.clone());
    journal.stage(Stage::Scope, || subject.scope.clone());
    let mut remembered =
        dismiss::load_past_decisions(&session.settings, &subject.report_change.repo)?;
    for dismissal in &session.dismissed {
        dismissal.remember(&mut remembered);
    }
    // With models, the ledger limits the time.
    let time_left = session.terms.budget.wall.saturating_sub(session.since.elapsed());
    let time_left = time_left.max(REPEATED_REVIEW_TIME);
    let _time = session.model_set.is_none().then(|| WorkTime::start(time_left));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.or_fail(FailureKind::External)?;
    let reviewed = runtime.block_on(async {
        let ledger = Ledger::resume(session.terms.budget.ledger_budget(), spent);
        let review = ReviewInputs {
            change: Arc::new(subject.clone()),
            options: Arc::new(session.terms.clone()),
            checks: Arc::new(session.checks.clone()),
            models: session.model_set.clone(),
            needs_model_flag: !model_flags(&session.settings).is_empty(),
            ledger: ledger.clone(),
            remembered,
            calibration: learning::calibration(
                &subject.report_change.repo,
                session.model_set.as_ref(),
                &session.settings,
            ),
            min_severity: session.settings.review_min_severity.value.severity(),
            intent_prompt: person,
            test_command: session.test_command.clone(),
            journal: journal.clone(),
            run_id: session.place.run_id(),
            // Random, so that rate-limited runs do not retry at the same time.
            retry_seed: RandomState::new().hash_one(()),
            started: session.since,
        };
        tokio::select! {
            reviewed = pipeline::run_review(review) => reviewed,
            never = report_cost(&ledger, &journal) => match never {},
        }
    });
    // Abandoned tools end by themselves.
    runtime.shutdown_background();
    progress.end();
    let ReviewOutput { report, records, funnel: _ } = reviewed;
    let end = match journal.cancel().is_cancelled() {
        true => ReviewEnding::Interrupted,
        false => ReviewEnding::Finished,
    };
    journal.finish(&report, &records);
    // Keep the guard until here: a Ctrl-C before the report is stored would lose the report.
    drop(interrupts);
    Ok(EndedReview { report, end, write_problems: journal.write_problems() })
}

fn ask_purpose(doubt: &str) -> Option<String> {
    ui::prompt_line(&format!(
        "What is the primary goal of these changes? ({doubt})\nOne sentence is enough; every reviewer gets it. Press Enter to go on without."
    ))
}

/// Reports the cost whenever it changes.
async fn report_cost(ledger: &Ledger, journal: &ReviewJournal) -> std::convert::Infallible {
    let mut reported = UsageTotals::default();
    loop {
        let totals = ledger.spent();
        if totals != reported {
            journal.emit(ReviewEvent::Spent { totals });
            reported = totals;
        }
        tokio::time::sleep(SPENT_EVERY).await;
    }
}
