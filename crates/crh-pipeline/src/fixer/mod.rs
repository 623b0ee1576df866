//! One fixer: a model that repairs issues of a review in a tree of its own. What it changed comes back as edits, and nothing is
//! applied here.
//!
//! Invariants: a fixer writes the files of its errand and nothing else, or nothing of it is taken; what it says is done and did
//! not change is not done.

#[path = "sandbox.rs"]
mod desk;
#[path = "file_edit.rs"]
mod edit;
#[path = "task.rs"]
mod errand;
mod report;
mod splice;
#[path = "accept.rs"]
mod taken;
mod tools;

use std::collections::BTreeMap;
use std::sync::Arc;

pub use edit::FileEdit;
pub use errand::Errand;
use serde::Serialize;
use serde_json::json;

use self::desk::Desk;
use self::report::{Asked, ReportRepairs, Reported};
use self::taken::taken;
use self::tools::{FixerTools, fixer_tools};
use crate::events::Event;
use crate::office::Office;
use crate::plan::TURN_TOKENS;
use crate::prompts;
use crate::runs::{RunEnd, RunRecord, milliseconds};
use crate::tools::session;
use crh_agent::{Limits, Outcome, Purpose, Run, Submit, Task, drive};
use crh_git::WorkTree;

/// Turns of one fixer: a look, an edit and a look at it for each of a dozen issues, several at a time, and the report.
const TURNS: u32 = 40;
/// Calls of tools: a handful for each of twenty issues.
const TOOL_CALLS: u32 = 120;
/// Tokens over all turns, so that one that runs away does not take everything; the ledger has the say about all together.
const TOKENS: u64 = 2_000_000;

/// What came of an errand.
#[derive(Debug, Clone, PartialEq)]
pub struct Repair {
    /// What is to be changed, by path.
    pub edits: Vec<FileEdit>,
    /// What became of each issue, by its number.
    pub told: BTreeMap<u32, Told>,
    /// The run.
    pub record: RunRecord,
}

/// What became of an issue, in one sentence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Told {
    /// It is repaired.
    Done(String),
    /// It is not.
    NotDone(String),
}

/// What is taken of a run.
struct Taken {
    edits: Vec<FileEdit>,
    told: BTreeMap<u32, Told>,
    notes: Vec<String>,
}

/// Lets a fixer work on an errand in a tree that has what was reviewed. The tree is not to be used for anything else afterwards.
pub async fn repair(office: &Office, errand: &Errand, tree: &WorkTree) -> Repair {
    let assignment = errand.assignment();
    let name = assignment.name.clone();
    let (run, label) = (name.clone(), errand.label());
    office.journal.tell(Event::RunStarted { run, label, files: errand.files.len() });
    let desk = Arc::new(Desk::new(tree, &errand.files));
    // Not the cheap model: a fix that breaks something costs more than it saves.
    let model = &office.crew.escalation;
    let task = Task {
        caller: name.clone(),
        conversation: errand.conversation(office, &desk),
        tools: fixer_tools(),
        submit: submit(errand, &desk),
        purpose: Purpose::Work,
        max_output_tokens: TURN_TOKENS,
        temperature: None,
        effort: None,
    };
    let limits = Limits {
        turns: TURNS,
        tool_calls: TOOL_CALLS,
        tokens: TOKENS,
        money: office.terms.allowance.money,
        wall: office.time_left(),
    };
    let means = office.means(&name, model, FixerTools::new(office, &name, desk.clone()));
    let driven = Box::pin(drive(Run::new(task, limits, model.facts()), &means)).await;
    let refused = desk.close();
    let mut record = RunRecord::begun(assignment);
    record.book(&driven, model.name());
    record.took_ms = milliseconds(driven.took);
    record.limited = driven.ended.limited;
    record.ended = RunEnd::of(&driven.ended.outcome);
    record.notes.extend(refusals(&refused));
    let brought = match driven.ended.outcome {
        Outcome::Answered(reported) => taken(errand, reported, tree.differences()),
        Outcome::NoAnswer
        | Outcome::BadAnswer(_)
        | Outcome::Stuck
        | Outcome::OutOfBudget(_)
        | Outcome::ContextFull
        | Outcome::Model(_)
        | Outcome::Aborted(_)
        | Outcome::Cancelled => Err(record.ended.failure().unwrap_or_default().to_owned()),
    };
    let Taken { edits, told, notes } = brought.unwrap_or_else(|why| {
        let told = format!("the fixer failed: {why}");
        if record.ended == RunEnd::Completed {
            record.ended = RunEnd::Failed(why);
        }
        errand.nothing_done(&told)
    });
    record.notes.extend(notes);
    let prompt_version = prompts::fixer::version(&fixer_tools());
    record.answer = json!({ "told": told, "prompt_version": prompt_version });
    office.ended(&record);
    Repair { edits, told, record }
}

/// How a fixer reports.
fn submit(errand: &Errand, desk: &Arc<Desk>) -> Submit<BTreeMap<u32, Reported>> {
    let files = |(number, file): (u32, &str)| (number, file.to_owned());
    let asked = Asked { issues: errand.places().map(files).collect(), files: errand.files.clone() };
    let desk = desk.clone();
    Submit::new(session::spec::<ReportRepairs>(), move |value| {
        report::read(value, &asked, &desk.changed())
    })
}

/// What was refused, in a sentence for the report.
fn refusals(refused: &[String]) -> Option<String> {
    let first = refused.first()?;
    let times = match refused.len() {
        1 => "one call of the fixer was refused".to_owned(),
        count => format!("{count} calls of the fixer were refused, the first"),
    };
    Some(format!("{times}: {first}"))
}
