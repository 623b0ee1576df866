//! Review: assignments are carried out. Reviewers that need no model begin first and work while models are waited
//! for; a run that fails is a row.

use std::sync::Arc;
use std::time::Duration;

use crh_review::report::Strategy;

use crate::checks::CheckTerms;
use crate::checks::checks;
use crate::code::Code;
use crate::journal::Journal;
use crate::office::Office;
use crate::plan::Assignment;
use crate::plan::Plan;
use crate::plan::is_static;
use crate::runs::RunRecord;
use crate::runs::Runs;
use crate::strategies::delegate;
use crate::strategies::single;
use crate::subject::Subject;

/// How long a review that was stopped waits for what costs nothing: as long as a tool may take.
const STOPPED_WAIT: Duration = Duration::from_secs(10);

/// Carries out a plan. Without an office only what needs no model is done.
pub async fn dispatch(
    plan: &Plan,
    subject: &Arc<Subject>,
    checks: &Arc<CheckTerms>,
    office: Option<&Office>,
    journal: &Journal,
) -> Runs {
    // They compute while models are waited for.
    let (records, more) = tokio::join!(
        checked(plan, subject.clone(), checks.clone(), journal, office),
        Box::pin(asked(plan, office))
    );
    let mut runs = Runs { records, notes: Vec::new() };
    runs.records.extend(more.records);
    runs.notes.extend(more.notes);
    runs
}

/// The runs that need no model. They cost nothing and are mostly done in a moment, so that whoever stops the review has
/// them in the report; what takes longer is not waited for.
async fn checked(
    plan: &Plan,
    subject: Arc<Subject>,
    terms: Arc<CheckTerms>,
    journal: &Journal,
    office: Option<&Office>,
) -> Vec<RunRecord> {
    let looked_at = subject.clone();
    let mut work = tokio::task::spawn_blocking(move || checks(&looked_at, &terms));
    let done = tokio::select! {
        done = &mut work => Some(done),
        () = journal.cancel().cancelled() => tokio::time::timeout(STOPPED_WAIT, work).await.ok(),
    };
    let needs_none = |assignment: &&Assignment| is_static(&assignment.name);
    let planned = plan.assignments.iter().filter(needs_none).cloned();
    let mut records: Vec<RunRecord> = match done {
        Some(Ok(records)) => records,
        Some(Err(_)) => {
            planned.map(|it| RunRecord::failed(it, "it broke down: a bug in crh")).collect()
        }
        None => planned.map(RunRecord::stopped).collect(),
    };
    // Where only checks were asked for, one that saw nothing was not carried out: no change passes by absence.
    if plan.strategy == Strategy::Static {
        records.iter_mut().for_each(RunRecord::fail_if_nothing_was_seen);
    }
    if let Some(office) = office {
        office.found.settle(&records);
    }
    for record in &records {
        journal.ended(record);
    }
    // Findings are held against these files next. Nobody waits for it: what is not parsed by then is parsed there.
    drop(tokio::task::spawn_blocking(move || Code::of(&subject).parse_ahead()));
    records
}

/// The runs that ask a model.
async fn asked(plan: &Plan, office: Option<&Office>) -> Runs {
    let asks_a_model = |it: &&Assignment| !is_static(&it.name);
    let Some((office, assignment)) = office.zip(plan.assignments.iter().find(asks_a_model)) else {
        return Runs::default();
    };
    let mut runs = match plan.strategy {
        Strategy::Single => single(office, assignment).await,
        // The panel is not built yet; whoever asks for it is told so before they come here.
        Strategy::Delegate | Strategy::Panel => delegate(office, assignment).await,
        Strategy::Static => Runs::default(),
    };
    runs.notes.splice(0..0, office.prompts.notes().iter().cloned());
    runs
}
