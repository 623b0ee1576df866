//! Stage "edit": one run of the strong model, the editor, reads all findings of a panel. It groups
//! them by root cause, checks them against the code, and says how probable it is that the
//! maintainers agree with each group.
//!
//! Invariants: every finding is in exactly one group, and the editor adds none. If the run fails,
//! the confidence of the reviewers decides, and the report says so.

mod answer;
mod material;

use std::collections::BTreeSet;
use std::time::Duration;

use serde::Serialize;

use self::answer::parse_edit;
pub(crate) use self::material::Material;
use crate::change_under_review::ChangeUnderReview;
use crate::collect::ReviewFindings;
use crate::model_question::{ModelQuestion, ask};
use crate::plan::{Assignment, TURN_TOKENS};
use crate::review_context::ReviewContext;
use crate::runs::RunRecord;
use crate::tools::session::ReportEdit;
use crate::validate::is_new;
use crh_agent::CallPurpose;
use crh_review::finding::{Member, Severity};
use crh_review::identity::content_id;
use crh_review::report::{Issue, Strategy};
use crh_review::{EditedGroup, EditorJudgement, MergeResult, PublishRules};

/// Name of the editor's run.
pub(crate) const EDITOR: &str = "editor";

/// Maximum turns: the prompt contains the change, the findings and their code.
const TURNS: u32 = 4;
/// Maximum lookups.
const TOOL_CALLS: u32 = 30;
/// Maximum wait for rate limits. Without the editor a review has more and weaker comments.
const MAX_WAIT: Duration = Duration::from_secs(300);

/// Result of the stage.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct EditOutcome {
    /// The editor's groups. None if no editor ran or the run failed.
    pub groups: Option<Vec<EditedGroup>>,
    /// The editor's run.
    #[serde(skip)]
    pub run: Option<RunRecord>,
    /// Notes for the reader.
    pub notes: Vec<String>,
}

impl EditOutcome {
    /// Keys of the issues that validation has to check: one per group that is to be published, and
    /// one per group with a P0 or P1. None if the editor gave no answer.
    pub fn undecided_issues(
        &self,
        merged: &MergeResult,
        rules: PublishRules,
    ) -> Option<BTreeSet<String>> {
        let is_undecided = |group: &&EditedGroup| {
            let is_probable = matches!(
                group.judgement,
                EditorJudgement::Probable(probability) if probability >= rules.threshold
            );
            is_probable && group.severity <= rules.min_severity
                || group.severity <= Severity::P1
                || group.members.iter().any(|member| member.finding.severity <= Severity::P1)
        };
        let groups = self.groups.as_ref()?.iter().filter(is_undecided);
        let leads: Vec<&Member> = groups.filter_map(|group| group.members.first()).collect();
        let is_lead = |member: &Member| leads.contains(&member);
        let issues = merged.issues.iter().filter(|issue| issue.members.iter().any(is_lead));
        Some(issues.map(|issue| issue.dedupe_key.clone()).collect())
    }
}

/// Whether an editor decides what a review publishes.
pub(crate) fn has_editor(ctx: Option<&ReviewContext>) -> bool {
    ctx.is_some_and(|ctx| ctx.options.strategy == Strategy::Panel)
}

/// Asks the editor about the findings of a panel. Findings of static checks and of earlier reviews
/// are published without it.
pub async fn edit(
    merged: &MergeResult,
    collected: &ReviewFindings,
    change: &ChangeUnderReview,
    ctx: Option<&ReviewContext>,
) -> EditOutcome {
    let Some(ctx) = ctx.filter(|ctx| has_editor(Some(ctx))) else { return EditOutcome::default() };
    let is_edited = |issue: &&Issue| issue.takes_second_look() && is_new(issue, collected);
    let issues: Vec<&Issue> = merged.issues.iter().filter(is_edited).collect();
    if issues.is_empty() {
        return EditOutcome { groups: Some(Vec::new()), ..EditOutcome::default() };
    }
    let members: Vec<Member> =
        issues.iter().flat_map(|issue| issue.members.iter().cloned()).collect();
    let material = Material::new(&issues, change, ctx.journal.cancel()).await;
    let question = ModelQuestion {
        assignment: assignment(&material.findings),
        model: &ctx.models.editor,
        conversation: ctx.prompts.conversation(&ctx.prompts.editor(&material)),
        tools: ctx.prompts.tools(),
        purpose: CallPurpose::Validation,
        turns: TURNS,
        tool_calls: TOOL_CALLS,
        output_tokens: TURN_TOKENS,
        role_phrase: "for editing",
        max_wait: MAX_WAIT,
        permits: None,
    };
    let (groups, run) = ask::<ReportEdit, _>(ctx, question, parse_edit(members)).await;
    let notes = match &groups {
        Some(_) => Vec::new(),
        None => vec![format!(
            "the editor, a model run that selects the findings to publish, failed ({}); crh selected them by the reviewers' confidence",
            run.ended.failure().unwrap_or("no answer")
        )],
    };
    EditOutcome { groups, run: Some(run), notes }
}

/// The label identifies the findings, so that a resumed review asks again about other findings.
fn assignment(findings: &str) -> Assignment {
    Assignment {
        name: EDITOR.to_owned(),
        reviewer: EDITOR.to_owned(),
        label: format!("edits {}", content_id(findings.as_bytes())),
        why: String::new(),
        focus: String::new(),
        parts: Vec::new(),
    }
}
