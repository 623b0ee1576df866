//! Review: assignments are carried out. Reviewers that need no model begin first and work while models are waited
//! for; a run that fails is a row.

use std::sync::Arc;
use std::time::Duration;

use crh_review::report::Strategy;

use crate::checks::checks;
use crate::code::Code;
use crate::journal::Journal;
use crate::office::Office;
use crate::plan::Assignment;
use crate::plan::Plan;
use crate::plan::STATIC;
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
    office: Option<&Office>,
    journal: &Journal,
) -> Runs {
    // They compute while models are waited for.
    let (records, more) =
        tokio::join!(checked(plan, subject.clone(), journal), Box::pin(asked(plan, office)));
    let mut runs = Runs { records, notes: Vec::new() };
    runs.records.extend(more.records);
    runs.notes.extend(more.notes);
    runs
}

/// The runs that need no model. They cost nothing and are mostly done in a moment, so that whoever stops the review has
/// them in the report; what takes longer is not waited for.
async fn checked(plan: &Plan, subject: Arc<Subject>, journal: &Journal) -> Vec<RunRecord> {
    let looked_at = subject.clone();
    let mut work = tokio::task::spawn_blocking(move || checks(&looked_at));
    let done = tokio::select! {
        done = &mut work => Some(done),
        () = journal.cancel().cancelled() => tokio::time::timeout(STOPPED_WAIT, work).await.ok(),
    };
    let is_static = |assignment: &&Assignment| STATIC.contains(&assignment.name.as_str());
    let planned = plan.assignments.iter().filter(is_static).cloned();
    let records: Vec<RunRecord> = match done {
        Some(Ok(records)) => records,
        Some(Err(_)) => {
            planned.map(|it| RunRecord::failed(it, "it broke down: a bug in crh")).collect()
        }
        None => planned.map(RunRecord::stopped).collect(),
    };
    for record in &records {
        journal.ended(record);
    }
    // Findings are held against these files next. Nobody waits for it: what is not parsed by then is parsed there.
    drop(tokio::task::spawn_blocking(move || Code::of(&subject).parse_ahead()));
    records
}

/// The runs that ask a model.
async fn asked(plan: &Plan, office: Option<&Office>) -> Runs {
    let asks_a_model = |it: &&Assignment| !STATIC.contains(&it.name.as_str());
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
