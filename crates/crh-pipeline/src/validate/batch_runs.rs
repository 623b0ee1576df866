//! The runs that look at issues again: a fresh one for each batch, all side by side.

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::batch::Batch;
use super::{answer, is_urgent, unchecked};
use crate::events::Event;
use crate::office::{Office, turned_away};
use crate::runs::{Checked, RunEnd, RunRecord, milliseconds};
use crate::text::count;
use crate::tools::ReadingTools;
use crate::tools::session::{ReportChecks, SessionTool};
use crh_agent::{Driven, Limits, Outcome, Purpose, Run, Task, drive};
use crh_llm::Model;
use crh_review::report::Strategy;
use crh_review::{Judged, Judgement};

/// Times that the model is asked about one batch: a look or two at each issue, several at a time, and the answer.
const TURNS: u32 = 10;

/// Tools that are called for one batch: four for each of its issues.
const TOOL_CALLS: u32 = 24;

/// The most tokens of one turn: six verdicts have a few hundred, the rest is for models that think first.
const OUTPUT_TOKENS: u32 = 8_000;

/// What came of one batch.
pub(super) struct BatchOutcome {
    pub(super) record: RunRecord,
    pub(super) judgements: BTreeMap<String, Judgement>,
    pub(super) note: Option<String>,
}

impl BatchOutcome {
    /// Whether the budget had no room for a look that nobody needs: mild issues are looked at again only if there is some.
    pub(super) fn is_needless(&self) -> bool {
        let was_prevented = self.record.limited.is_some() && self.record.totals.llm_calls == 0;
        was_prevented && self.note.is_none()
    }
}

/// Looks at all batches; what came of them in their order. A batch that an earlier attempt has looked at is not paid for
/// again.
pub(super) async fn outcomes(batches: Vec<Batch>, office: &Office) -> Vec<BatchOutcome> {
    let limits = limits(office, batches.len());
    let room = Arc::new(Semaphore::new(office.terms.side_by_side.max(1)));
    let mut tasks = JoinSet::new();
    let mut records: Vec<Option<RunRecord>> = Vec::new();
    for (at, batch) in batches.iter().enumerate() {
        let earlier = office.journal.earlier().iter().find(|record| answers(record, batch));
        records.push(earlier.cloned());
        if earlier.is_none() {
            let (batch, office, room) = (batch.clone(), office.clone(), room.clone());
            tasks.spawn(async move {
                let _permit = room.acquire().await;
                (at, carried_out(&batch, &office, limits).await)
            });
        }
    }
    // A task that panics leaves its place empty; a dropped future aborts them all.
    while let Some(joined) = tasks.join_next().await {
        if let Ok((at, record)) = joined {
            records[at] = Some(record);
        }
    }
    let broken = |batch: &Batch| {
        RunRecord::failed(batch.assignment.clone(), "the check broke down: this is a bug")
    };
    let each = batches.iter().zip(records);
    each.map(|(batch, record)| outcome(batch, record.unwrap_or_else(|| broken(batch)))).collect()
}

/// How far each of so many runs may go: the ledger bounds them together, and the calls that are left are shared so that
/// each run can come to an answer.
fn limits(office: &Office, runs: usize) -> Limits {
    let allowance = &office.terms.allowance;
    let left = allowance.llm_calls.saturating_sub(office.ledger.spent().llm_calls);
    let share = left / u32::try_from(runs.max(1)).unwrap_or(u32::MAX);
    Limits {
        turns: share.clamp(1, TURNS),
        tool_calls: TOOL_CALLS,
        tokens: allowance.input_tokens,
        money: allowance.money,
        wall: allowance.wall,
    }
}

/// Whether a run of an earlier attempt has looked at the same issues, as the same findings stated them.
fn answers(record: &RunRecord, batch: &Batch) -> bool {
    let speakers = batch.issues.iter().filter_map(|issue| issue.members.first());
    let shown: Vec<_> = speakers.map(|member| &member.finding).collect();
    let looked_at: Vec<_> = record.checked.iter().map(|checked| &checked.finding).collect();
    record.ended == RunEnd::Completed && record.assignment == batch.assignment && looked_at == shown
}

/// Asks a fresh run about a batch, and keeps what came of it.
async fn carried_out(batch: &Batch, office: &Office, limits: Limits) -> RunRecord {
    let run = batch.assignment.name.clone();
    // The ids in the label of the assignment say nothing to people.
    let label = count(batch.issues.len(), "issue");
    let files = batch.assignment.parts.len();
    office.journal.tell(Event::RunStarted { run: run.clone(), label, files });
    let model = checker(office);
    let mut so_far = RunRecord::begun(batch.assignment.clone());
    let driven = loop {
        let toolbox = ReadingTools::new(office, &run, "for checking claims", ReportChecks::NAME);
        let means = office.means(&run, model, toolbox);
        let asking = Run::new(task(batch, office), limits, model.facts());
        let driven = Box::pin(drive(asking, &means)).await;
        so_far.took_ms = so_far.took_ms.saturating_add(milliseconds(driven.took));
        so_far.book(&driven, model.name());
        // Nothing comes after it that would need the time.
        match turned_away(&driven.ended.outcome, office.time_left()) {
            Some(wait) if !office.journal.cancel().is_cancelled() => {
                office.wait(&run, wait).await;
            }
            Some(_) | None => break driven,
        }
    };
    let record = record(batch, &driven, so_far);
    office.ended(&record);
    record
}

fn task(batch: &Batch, office: &Office) -> Task<BTreeMap<String, Judgement>> {
    Task {
        caller: batch.assignment.name.clone(),
        conversation: office.prompts.conversation(&office.prompts.validate(&batch.candidates)),
        tools: office.prompts.tools(),
        submit: answer::submit(batch.ids()),
        purpose: Purpose::Validation,
        max_output_tokens: OUTPUT_TOKENS,
        temperature: None,
        effort: None,
    }
}

/// Who checks. Not the cheap model: a check that lets a blocker go costs more than it saves. The vendor's cache has the
/// beginning of the conversation for this model already.
fn checker(office: &Office) -> &Model {
    match office.terms.strategy {
        Strategy::Panel => &office.crew.escalation,
        Strategy::Single | Strategy::Delegate | Strategy::Static => &office.crew.reviewer,
    }
}

/// The run as it is stored: what it said of each issue stands in `checked`, under the finding that speaks for it.
fn record(
    batch: &Batch,
    driven: &Driven<BTreeMap<String, Judgement>>,
    so_far: RunRecord,
) -> RunRecord {
    let mut record = so_far;
    record.ended = RunEnd::of(&driven.ended.outcome);
    if let Outcome::Answered(judgements) = &driven.ended.outcome {
        let said = batch.issues.iter().filter_map(|issue| {
            let judgement = judgements.get(&issue.dedupe_key)?.clone();
            let finding = issue.members.first()?.finding.clone();
            Some(Checked { finding, judgement })
        });
        record.checked = said.collect();
    }
    record.limited = driven.ended.limited;
    record
}

/// What a record means for the issues of its batch.
fn outcome(batch: &Batch, record: RunRecord) -> BatchOutcome {
    let name = &record.assignment.name;
    let urgent = batch.issues.iter().filter(|issue| is_urgent(issue));
    let severe = urgent.clone().count();
    // Not asked is not failed: what the budget or the user prevented stays as it was.
    let was_asked = record.totals.llm_calls > 0;
    let (judgements, note) = match &record.ended {
        RunEnd::Completed => {
            let said = batch.issues.iter().filter_map(|issue| {
                let speaker = &issue.members.first()?.finding;
                let checked = record.checked.iter().find(|it| it.finding == *speaker)?;
                Some((issue.dedupe_key.clone(), checked.judgement.clone()))
            });
            (said.collect(), None)
        }
        RunEnd::Cancelled => (BTreeMap::new(), unchecked(severe, "the review was stopped")),
        RunEnd::Failed(why) if record.limited.is_some() && !was_asked => {
            (BTreeMap::new(), unchecked(severe, why))
        }
        RunEnd::Failed(why) => {
            let judgement =
                || Judgement { result: Judged::Failed, reason: format!("{name} failed: {why}") };
            let failed = urgent.map(|issue| (issue.dedupe_key.clone(), judgement())).collect();
            let issues = count(batch.issues.len(), "issue");
            let note = format!("{name} failed: {why}; {issues} not checked, {severe} P0 or P1");
            (failed, Some(note))
        }
    };
    BatchOutcome { judgements, note, record }
}
