//! Where a review is carried out: one runtime, one ledger, one listener.

use std::hash::BuildHasher;
use std::hash::RandomState;
use std::sync::Arc;
use std::time::Duration;

use crh_agent::Contents;
use crh_agent::Ledger;
use crh_agent::Totals;
use crh_pipeline::context::Person;
use crh_pipeline::events::Event;
use crh_pipeline::events::Stage;
use crh_pipeline::journal::Journal;
use crh_pipeline::pipeline;
use crh_pipeline::pipeline::Review;
use crh_pipeline::pipeline::Reviewed;
use crh_pipeline::run_folder::Completion;
use crh_pipeline::run_folder::Stamp;
use crh_review::report::Mode;
use crh_review::report::Report;

use super::super::dismiss;
use super::super::interrupts::Interrupts;
use super::super::models;
use super::begin::Begun;
use super::outcome::End;
use crate::config::environment::Environment;
use crate::failure::Failure;
use crate::failure::Kind;
use crate::failure::OrFail;
use crate::ui;
use crate::ui::Verbosity;
use crate::ui::progress::Progress;

/// Told to the user at the first Ctrl-C.
const STOPPING: &str = "stopping: what was found so far is reported; Ctrl-C again ends at once";

/// How often whoever shows the progress is told what was spent.
const SPENT_EVERY: Duration = Duration::from_millis(250);

/// Carries out a review to its end, or to where the user stopped it, and keeps what came of it.
pub(super) fn review(
    begun: &Begun,
    verbosity: Verbosity,
    environment: &Environment,
) -> Result<(Report, End), Failure> {
    let progress = Progress::new(verbosity, environment);
    let journal = Journal::open(
        begun.place.folder().cloned(),
        begun.redactor.clone(),
        if begun.log_content { Contents::Full } else { Contents::Withheld },
        begun.earlier.runs.clone(),
        progress.listener(),
    );
    let stopped = journal.clone();
    let interrupts = Interrupts::watch(move || {
        stopped.cancel().cancel();
        stopped.tell(Event::Warning { text: STOPPING.to_owned() });
    })?;
    journal.stage(Stage::Target, || begun.subject.change.clone());
    journal.stage(Stage::Scope, || begun.subject.scope.clone());
    let mut remembered = dismiss::remembered(&begun.settings, &begun.subject.change.repo)?;
    for said_no in &begun.dismissed {
        said_no.remember(&mut remembered);
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.or_fail(Kind::Outside)?;
    let reviewed = runtime.block_on(async {
        let budget = begun.terms.allowance.budget();
        let ledger = Ledger::resumed(budget, begun.earlier.spent);
        let review = Review {
            subject: Arc::new(begun.subject.clone()),
            terms: Arc::new(begun.terms.clone()),
            checks: Arc::new(begun.checks.clone()),
            crew: begun.crew.clone(),
            ledger: ledger.clone(),
            remembered,
            min_severity: begun.settings.review_min_severity.value.severity(),
            person: person(begun, verbosity, environment),
            journal: journal.clone(),
            run_id: begun.place.run_id(),
            // Runs that were turned away together must not come back together.
            seed: RandomState::new().hash_one(()),
            since: begun.since,
        };
        tokio::select! {
            reviewed = pipeline::review(review) => reviewed,
            never = tell_spending(&ledger, &journal) => match never {},
        }
    });
    // Tools that nobody waits for any more end by themselves.
    runtime.shutdown_background();
    progress.end();
    let Reviewed { report, records } = reviewed;
    let (end, completion) = match journal.cancel().is_cancelled() {
        true => (End::Interrupted, Completion::Stopped),
        false => (End::Finished, Completion::At(Stamp::of(environment.now()))),
    };
    journal.finish(&report, &records, completion);
    // Not before: until the report is stored, whoever presses Ctrl-C would lose it.
    drop(interrupts);
    if let Some(crew) = &begun.crew {
        models::warn_of_recording(&crew.reviewer);
    }
    Ok((report, end))
}

/// Whoever is asked what the change is for: somebody who has asked for a review and waits for it.
fn person(begun: &Begun, verbosity: Verbosity, environment: &Environment) -> Option<Person> {
    let wants_questions = match (begun.terms.mode, verbosity) {
        (Mode::Interactive, Verbosity::Usual | Verbosity::Verbose) => true,
        (Mode::Interactive, Verbosity::Quiet | Verbosity::Debug)
        | (Mode::Autofix | Mode::ReportOnly | Mode::Headless, _) => false,
    };
    let asks = wants_questions && ui::is_somebody_there(environment);
    asks.then(|| Person::new(|doubt| ui::line_from_person(&format!("What is the change for? ({doubt})\nA sentence is enough; every reviewer is told. Enter alone goes on without."))))
}

/// Tells what was spent whenever that has changed.
async fn tell_spending(ledger: &Ledger, journal: &Journal) -> std::convert::Infallible {
    let mut told = Totals::default();
    loop {
        let totals = ledger.spent();
        if totals != told {
            journal.tell(Event::Spent { totals });
            told = totals;
        }
        tokio::time::sleep(SPENT_EVERY).await;
    }
}
