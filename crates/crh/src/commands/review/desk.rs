//! Where a review is carried out: one runtime, one ledger, one listener.

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::time::Duration;

use super::super::interrupts::Interrupts;
use super::super::{dismiss, models};
use super::begin::Begun;
use super::outcome::End;
use crate::config::environment::Environment;
use crate::failure::{Failure, Kind, OrFail};
use crate::ui;
use crate::ui::Verbosity;
use crate::ui::progress::Progress;
use crate::ui::questions::Person;
use crh_agent::{Contents, Ledger, Totals};
use crh_pipeline::events::{Event, Stage};
use crh_pipeline::journal::Journal;
use crh_pipeline::pipeline::{Review, Reviewed};
use crh_pipeline::run_folder::{Completion, RunFolder, Stamp};
use crh_pipeline::runs::RunRecord;
use crh_pipeline::subject::Subject;
use crh_pipeline::{context, pipeline};
use crh_review::report::Report;

/// Told to the user at the first Ctrl-C.
const STOPPING: &str = "stopping: what was found so far is reported; Ctrl-C again ends at once";

/// How often whoever shows the progress is told what was spent.
const SPENT_EVERY: Duration = Duration::from_millis(250);

/// What is reviewed, where that is written down, and what was done before.
struct Work<'b> {
    subject: &'b Subject,
    folder: Option<RunFolder>,
    earlier: Vec<RunRecord>,
    spent: Totals,
    /// Whoever can be asked what the change is for.
    person: Option<context::Person>,
}

/// Carries out a review to its end, or to where the user stopped it, and keeps what came of it.
pub(super) fn review(
    begun: &Begun,
    person: Option<&Person>,
    verbosity: Verbosity,
    environment: &Environment,
) -> Result<(Report, End), Failure> {
    let work = Work {
        subject: &begun.subject,
        folder: begun.place.folder().cloned(),
        earlier: begun.earlier.runs.clone(),
        spent: begun.earlier.spent,
        person: person.map(|_| context::Person::new(asked_for)),
    };
    let (report, end) = carried_out(begun, work, verbosity, environment)?;
    if let Some(crew) = &begun.crew {
        models::warn_of_recording(&crew.reviewer);
    }
    Ok((report, end))
}

/// Reviews something else on the same terms, within what the bill has left.
pub(super) fn look_again(
    begun: &Begun,
    subject: &Subject,
    folder: &RunFolder,
    spent: Totals,
    verbosity: Verbosity,
    environment: &Environment,
) -> Result<(Report, End), Failure> {
    let (folder, earlier) = (Some(folder.clone()), Vec::new());
    let work = Work { subject, folder, earlier, spent, person: None };
    carried_out(begun, work, verbosity, environment)
}

fn carried_out(
    begun: &Begun,
    work: Work<'_>,
    verbosity: Verbosity,
    environment: &Environment,
) -> Result<(Report, End), Failure> {
    let Work { subject, folder, earlier, spent, person } = work;
    let progress = Progress::new(verbosity, environment);
    let journal = Journal::open(
        folder,
        begun.redactor.clone(),
        if begun.log_content { Contents::Full } else { Contents::Withheld },
        earlier,
        progress.listener(),
    );
    let stopped = journal.clone();
    let interrupts = Interrupts::watch(move || {
        stopped.cancel().cancel();
        stopped.tell(Event::Warning { text: STOPPING.to_owned() });
    })?;
    journal.stage(Stage::Target, || subject.change.clone());
    journal.stage(Stage::Scope, || subject.scope.clone());
    let mut remembered = dismiss::remembered(&begun.settings, &subject.change.repo)?;
    for said_no in &begun.dismissed {
        said_no.remember(&mut remembered);
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.or_fail(Kind::Outside)?;
    let reviewed = runtime.block_on(async {
        let ledger = Ledger::resumed(begun.terms.allowance.budget(), spent);
        let review = Review {
            subject: Arc::new(subject.clone()),
            terms: Arc::new(begun.terms.clone()),
            checks: Arc::new(begun.checks.clone()),
            crew: begun.crew.clone(),
            ledger: ledger.clone(),
            remembered,
            min_severity: begun.settings.review_min_severity.value.severity(),
            person,
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
    Ok((report, end))
}

/// Asks what the change is for.
fn asked_for(doubt: &str) -> Option<String> {
    ui::line_from_person(&format!(
        "What is the primary goal of these changes? ({doubt})\nA sentence is enough; every reviewer is told. Enter alone goes on without."
    ))
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
