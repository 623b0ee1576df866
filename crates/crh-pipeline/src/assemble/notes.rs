//! Notes of reviewers, by section of the report.

use crate::context::PanelContext;
use crate::reviewers::{NotesSection, Returns};
use crate::runs::{RunEnd, RunRecord};
use crh_review::report::ReviewerNotes;

/// Shown if the schema reviewer ran and found nothing.
const NO_DRIFT: &str = "no drift: every change of the schema comes from a migration of this change";

/// Notes of a panel. Each section is in the order of `records`.
pub(super) fn notes(context: &PanelContext, records: &[&RunRecord]) -> ReviewerNotes {
    let mut notes = ReviewerNotes::default();
    for record in records {
        let reviewer = context.team.get(&record.assignment.reviewer);
        let Some(Returns::Notes(section)) = reviewer.map(|reviewer| reviewer.returns) else {
            continue;
        };
        let entries: Vec<String> =
            serde_json::from_value(record.answer.clone()).unwrap_or_default();
        let section_notes = match section {
            NotesSection::Learnings => &mut notes.learnings,
            NotesSection::AgentNative => &mut notes.agent_native_gaps,
            NotesSection::SchemaDrift => &mut notes.schema_drift,
            NotesSection::Deployment => &mut notes.deployment,
        };
        for note in entries {
            if !section_notes.contains(&note) {
                section_notes.push(note);
            }
        }
    }
    // Without this note the reader could not tell whether the schema was checked.
    let is_schema_run = |record: &&&RunRecord| {
        let reviewer = context.team.get(&record.assignment.reviewer);
        reviewer
            .is_some_and(|reviewer| reviewer.returns == Returns::Notes(NotesSection::SchemaDrift))
    };
    let mut schema_runs = records.iter().filter(is_schema_run).peekable();
    let is_schema_checked =
        schema_runs.peek().is_some() && schema_runs.all(|run| run.ended == RunEnd::Completed);
    if is_schema_checked && notes.schema_drift.is_empty() {
        notes.schema_drift.push(NO_DRIFT.to_owned());
    }
    notes
}
