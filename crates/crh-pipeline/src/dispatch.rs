//! Review: assignments are carried out. Reviewers that need no model begin first and work while models are waited
//! for; a run that fails is a row.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinHandle;

use crate::checks::{CheckTerms, checks, external, is_analyser};
use crate::code::Code;
use crate::context::Context;
use crate::journal::Journal;
use crate::office::Office;
use crate::plan::{Assignment, Plan, is_static};
use crate::runs::{RunRecord, Runs};
use crate::strategies::{delegate, panel, single};
use crate::subject::Subject;
use crh_review::report::Strategy;

/// How long a review that was stopped waits for what costs nothing: as long as a tool may take.
const STOPPED_WAIT: Duration = Duration::from_secs(10);

/// How long analysers are waited for: a little more than the slowest of them may take for both sides of a change.
const ANALYSERS_WAIT: Duration = Duration::from_secs(420);

/// Carries out a plan. Without an office only what needs no model is done.
pub async fn dispatch(
    plan: &Plan,
    subject: &Arc<Subject>,
    checks: &Arc<CheckTerms>,
    office: Option<&Office>,
    journal: &Journal,
    context: &Context,
) -> Runs {
    // They compute while models are waited for.
    let (records, more) = tokio::join!(
        checked(plan, subject, checks, journal, office),
        Box::pin(asked(plan, office, context))
    );
    let mut runs = Runs { records, notes: Vec::new() };
    runs.notes.extend(office.and_then(|office| office.found.not_told()));
    runs.records.extend(more.records);
    runs.notes.extend(more.notes);
    runs
}

/// The runs that need no model. They cost nothing and are mostly done in a moment, so that whoever stops the review has
/// them in the report; what takes longer is not waited for. Analysers of others cost nobody else anything, however slow they are.
async fn checked(
    plan: &Plan,
    subject: &Arc<Subject>,
    terms: &Arc<CheckTerms>,
    journal: &Journal,
    office: Option<&Office>,
) -> Vec<RunRecord> {
    let needs_none = plan.assignments.iter().filter(|it| is_static(&it.name)).cloned();
    let (others, own): (Vec<_>, Vec<_>) = needs_none.partition(|it| is_analyser(&it.name));
    let (looked_at, with) = (subject.clone(), terms.clone());
    let work = tokio::task::spawn_blocking(move || checks(&looked_at, &with));
    let built_in = async {
        let mut records = ended(work, own, journal, None).await;
        // Where only checks were asked for, one that saw nothing was not carried out: no change passes by absence.
        if plan.strategy == Strategy::Static {
            records.iter_mut().for_each(RunRecord::fail_if_nothing_was_seen);
        }
        if let Some(office) = office {
            office.found.add(&records);
        }
        records.iter().for_each(|record| journal.ended(record));
        records
    };
    let (looked_at, with) = (subject.clone(), terms.clone());
    let work = tokio::task::spawn_blocking(move || external(&looked_at, &with));
    let (mut records, more) =
        tokio::join!(built_in, ended(work, others, journal, Some(ANALYSERS_WAIT)));
    if let Some(office) = office {
        office.found.settle(&more);
    }
    more.iter().for_each(|record| journal.ended(record));
    records.extend(more);
    // Findings are held against these files next. Nobody waits for it: what is not parsed by then is parsed there.
    let subject = subject.clone();
    drop(tokio::task::spawn_blocking(move || Code::of(&subject).parse_ahead()));
    records
}

/// What came of some runs; a row for each that was planned where they broke down, were stopped, or took longer than `most`.
async fn ended(
    mut work: JoinHandle<Vec<RunRecord>>,
    planned: Vec<Assignment>,
    journal: &Journal,
    most: Option<Duration>,
) -> Vec<RunRecord> {
    let too_long = async {
        match most {
            Some(most) => tokio::time::sleep(most).await,
            None => std::future::pending().await,
        }
    };
    let failed =
        |why: &str| planned.iter().map(|it| RunRecord::failed(it.clone(), why)).collect::<Vec<_>>();
    let done = tokio::select! {
        done = &mut work => Some(done),
        () = too_long => return failed("it did not end in time"),
        () = journal.cancel().cancelled() => tokio::time::timeout(STOPPED_WAIT, work).await.ok(),
    };
    match done {
        Some(Ok(records)) => records,
        Some(Err(_)) => failed("it broke down: a bug in crh"),
        None => planned.into_iter().map(RunRecord::stopped).collect(),
    }
}

/// The runs that ask a model.
async fn asked(plan: &Plan, office: Option<&Office>, context: &Context) -> Runs {
    let asks_a_model = |it: &&Assignment| !is_static(&it.name);
    let assignments: Vec<Assignment> =
        plan.assignments.iter().filter(asks_a_model).cloned().collect();
    let Some((office, first)) = office.zip(assignments.first()) else { return Runs::default() };
    let mut runs = match plan.strategy {
        Strategy::Single => single(office, first).await,
        Strategy::Delegate => delegate(office, first).await,
        Strategy::Panel => panel(office, &assignments, context).await,
        Strategy::Static => Runs::default(),
    };
    runs.notes.splice(0..0, office.prompts.notes().iter().cloned());
    runs
}
