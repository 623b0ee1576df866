//! What reviewers said that is no finding, in the sections of the report.

use crate::context::Context;
use crate::reviewers::{Returns, Section};
use crate::runs::{RunEnd, RunRecord};
use crh_review::report::Notes;

/// Said where the schema was looked at and nothing was found.
const NO_DRIFT: &str = "no drift: every change of the schema comes from a migration of this change";

/// The notes of a panel, each section in the order of its runs.
pub(super) fn notes(context: &Context, records: &[&RunRecord]) -> Notes {
    let mut notes = Notes::default();
    for record in records {
        let reviewer = context.team.get(&record.assignment.reviewer);
        let Some(Returns::Notes(section)) = reviewer.map(|reviewer| reviewer.returns) else {
            continue;
        };
        let said: Vec<String> = serde_json::from_value(record.answer.clone()).unwrap_or_default();
        let rows = match section {
            Section::Learnings => &mut notes.learnings,
            Section::AgentNative => &mut notes.agent_native_gaps,
            Section::SchemaDrift => &mut notes.schema_drift,
            Section::Deployment => &mut notes.deployment,
        };
        for note in said {
            if !rows.contains(&note) {
                rows.push(note);
            }
        }
    }
    // Silence would leave open whether anybody looked.
    let drift = |record: &&&RunRecord| {
        let reviewer = context.team.get(&record.assignment.reviewer);
        reviewer.is_some_and(|it| it.returns == Returns::Notes(Section::SchemaDrift))
    };
    let mut looked = records.iter().filter(drift).peekable();
    let is_looked_at = looked.peek().is_some() && looked.all(|it| it.ended == RunEnd::Completed);
    if is_looked_at && notes.schema_drift.is_empty() {
        notes.schema_drift.push(NO_DRIFT.to_owned());
    }
    notes
}
