//! Stage "edit": one run of the strong model, the editor, reads all findings of a review. It groups
//! them by root cause, checks them against the code, and says how probable it is that the
//! maintainers agree with each group.
//!
//! Invariants: every finding that the editor gets is in exactly one group, and the editor adds
//! none. If the run fails, the confidence of the reviewers decides, and the report says so.

mod answer;
pub(crate) mod material;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde::Serialize;

use self::answer::{complete_groups, parse_edit};
use self::material::Material;
use crate::assignment::{Assignment, ORCHESTRATOR, TURN_TOKENS};
use crate::change_under_review::ChangeUnderReview;
use crate::collect::ReviewFindings;
use crate::model_question::{ModelQuestion, ask};
use crate::prompts::{ENOUGH_RESULTS, ToolAccess};
use crate::proof::TestCommand;
use crate::review_context::ReviewContext;
use crate::runs::{RunRecord, RunResults};
use crate::text::plural;
use crate::tools::session::{ReportEdit, ReportTestedEdit, with_tested_edit};
use crate::validate::is_new;
use crh_agent::CallPurpose;
use crh_review::finding::{Category, Member, Severity};
use crh_review::identity::content_id;
use crh_review::report::{Issue, Strategy};
use crh_review::{
    EditedGroup, EditorJudgement, Judgement, JudgementResult, MergeResult, PublishRules,
};

/// Name of the editor's run.
pub(crate) const EDITOR: &str = "editor";

/// Maximum turns. Few are enough: the prompt contains the change, the findings and their code.
const TURNS: u32 = 4;
/// Maximum lookups.
const TOOL_CALLS: u32 = 30;
/// Maximum wait for rate limits. Without the editor a review has more and weaker comments.
const MAX_WAIT: Duration = Duration::from_secs(300);

/// Words for dangers that are seldom P3, in lower case.
const DANGERS: &[&str] = &[
    "bypass",
    "credential",
    "cross-site",
    "data loss",
    "deserialization",
    "injection",
    "password",
    "path traversal",
    "private key",
    "remote code execution",
    "secret",
    "ssrf",
    "xss",
];

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
    /// Keys of the issues that validation has to check: one per group that the editor would
    /// publish, one per group with a P0 or P1, one per group that may be graded too low, and every
    /// further P0 or P1 of a group, since the editor may group different defects. None if the
    /// editor gave no answer.
    pub fn undecided_issues(
        &self,
        merged: &MergeResult,
        rules: PublishRules,
    ) -> Option<BTreeSet<String>> {
        let is_undecided = |group: &&EditedGroup| {
            group.is_probable(rules) && group.severity <= rules.min_severity
                || is_urgent(group)
                || may_be_graded_too_low(group)
        };
        let groups = self.groups.as_ref()?;
        let lead_keys =
            groups.iter().filter(is_undecided).filter_map(|group| lead_issue(group, merged));
        let grouped: BTreeSet<&Member> = groups.iter().flat_map(|group| &group.members).collect();
        let is_urgent_part = |issue: &&Issue| {
            issue.severity <= Severity::P1
                && issue.members.iter().any(|member| grouped.contains(member))
        };
        let urgent_parts = merged.issues.iter().filter(is_urgent_part);
        let urgent_keys = urgent_parts.map(|issue| issue.dedupe_key.clone());
        Some(lead_keys.chain(urgent_keys).collect())
    }

    /// The editor's decisions as judgements on findings, for a budget without validation. A P0 or
    /// P1 that the editor refutes gets no judgement and stays open: one model alone must not close
    /// the issue.
    pub fn judgements(&self, rules: PublishRules) -> BTreeMap<Member, Judgement> {
        let judgement = |group: &EditedGroup| match &group.judgement {
            EditorJudgement::Probable(probability) if *probability >= rules.threshold => {
                let reason = "the editor confirms it".to_owned();
                Some(Judgement::new(JudgementResult::Confirmed, reason))
            }
            EditorJudgement::Probable(_) | EditorJudgement::Minor => None,
            EditorJudgement::Refuted(_) if is_urgent(group) => None,
            EditorJudgement::Refuted(reason) => {
                Some(Judgement::new(JudgementResult::Refuted, reason.clone()))
            }
        };
        let decided = self.groups.iter().flatten().filter(|group| !group.is_forgotten);
        decided
            .filter_map(|group| Some((group, judgement(group)?)))
            .flat_map(|(group, judgement)| {
                group.members.iter().map(move |member| (member.clone(), judgement.clone()))
            })
            .collect()
    }
}

/// Whether a group is P0 or P1, by the editor or by a reviewer.
fn is_urgent(group: &EditedGroup) -> bool {
    group.severity <= Severity::P1
        || group.members.iter().any(|member| member.finding.severity <= Severity::P1)
}

/// Whether a group is about security or data, or names a danger, and the editor does not refute it.
/// Its severity may be too low, such as P3 for an SQL injection. Validation can raise it.
fn may_be_graded_too_low(group: &EditedGroup) -> bool {
    let names_danger = |member: &Member| {
        let title = member.finding.title.to_lowercase();
        matches!(member.finding.category, Category::Security | Category::Data)
            || DANGERS.iter().any(|danger| title.contains(danger))
    };
    !matches!(group.judgement, EditorJudgement::Refuted(_))
        && group.members.iter().any(names_danger)
}

/// Key of the issue with the first finding of a group.
fn lead_issue(group: &EditedGroup, merged: &MergeResult) -> Option<String> {
    let lead = group.members.first()?;
    let issue = merged.issues.iter().find(|issue| issue.members.contains(lead))?;
    Some(issue.dedupe_key.clone())
}

/// Whether an editor decides what a review publishes.
pub(crate) fn has_editor(ctx: Option<&ReviewContext>) -> bool {
    ctx.is_some_and(|ctx| ctx.options.strategy != Strategy::Static)
}

/// Asks the editor about the findings of a review. Findings of static checks, of the check of
/// requirements and of earlier reviews are published without it. The editor may propose tests if
/// there is a command that runs them.
pub async fn edit(
    merged: &MergeResult,
    collected: &ReviewFindings,
    runs: &RunResults,
    change: &ChangeUnderReview,
    ctx: Option<&ReviewContext>,
    test_command: Option<&TestCommand>,
) -> EditOutcome {
    let Some(ctx) = ctx.filter(|ctx| has_editor(Some(ctx))) else { return EditOutcome::default() };
    let is_edited = |issue: &&Issue| issue.takes_second_look() && is_new(issue, collected);
    let issues: Vec<&Issue> = merged.issues.iter().filter(is_edited).collect();
    if issues.is_empty() {
        return EditOutcome { groups: Some(Vec::new()), ..EditOutcome::default() };
    }
    let members: Vec<Member> =
        issues.iter().flat_map(|issue| issue.members.iter().cloned()).collect();
    if ctx.options.strategy == Strategy::Delegate {
        let groups = orchestrator_groups(runs).map(|groups| complete_groups(groups, &members));
        let notes = forgotten_note(groups.as_deref()).into_iter().collect();
        return EditOutcome { groups, run: None, notes };
    }
    let material = Material::new(&issues, &collected.members, change, ctx.journal.cancel()).await;
    let (tools, turns) = match ctx.options.budget.has_two_calls() {
        true => (ToolAccess::NoTools, 1),
        false => (ToolAccess::Tools, TURNS),
    };
    let question = ModelQuestion {
        assignment: assignment(&material.findings),
        model: &ctx.models.editor,
        conversation: ctx.prompts.conversation(&ctx.prompts.editor(
            &material,
            tools,
            test_command.map(TestCommand::shown).as_deref(),
        )),
        tools: match tools {
            ToolAccess::Tools if test_command.is_some() => with_tested_edit(ctx.prompts.tools()),
            ToolAccess::Tools => ctx.prompts.tools(),
            ToolAccess::NoTools => Vec::new(),
        },
        purpose: CallPurpose::Validation,
        turns,
        tool_calls: TOOL_CALLS,
        enough_results: Some(ENOUGH_RESULTS),
        output_tokens: TURN_TOKENS,
        role_phrase: "for editing",
        max_wait: MAX_WAIT,
        permits: None,
    };
    let parse = parse_edit(members, turns > 1);
    let (groups, run) = match test_command {
        Some(_) => ask::<ReportTestedEdit, _>(ctx, question, parse).await,
        None => ask::<ReportEdit, _>(ctx, question, parse).await,
    };
    let notes = match &groups {
        Some(groups) => forgotten_note(Some(groups)).into_iter().collect(),
        None => vec![format!(
            "the model run that selects the issues to show failed ({}); crh selected them by the reviewers' confidence",
            run.ended.failure().unwrap_or("no answer")
        )],
    };
    EditOutcome { groups, run: Some(run), notes }
}

/// A note on the findings that the editor's answer does not mention. None if it mentions all.
fn forgotten_note(groups: Option<&[EditedGroup]>) -> Option<String> {
    let groups = groups?;
    let count = |groups: &mut dyn Iterator<Item = &EditedGroup>| -> usize {
        groups.map(|group| group.members.len()).sum()
    };
    let forgotten = count(&mut groups.iter().filter(|group| group.is_forgotten));
    let all = plural(count(&mut groups.iter()), "finding");
    (forgotten > 0).then(|| {
        format!(
            "the model run that selects the issues to show did not rate {forgotten} of {all}; the reviewers' confidence decides about them"
        )
    })
}

/// The groups of the orchestrator, which is the editor of `delegate`. None if it gave no answer.
fn orchestrator_groups(runs: &RunResults) -> Option<Vec<EditedGroup>> {
    let orchestrator = runs.records.iter().find(|run| run.assignment.name == ORCHESTRATOR)?;
    serde_json::from_value(orchestrator.answer.clone()).ok()
}

/// The assignment of the editor. Its label identifies the findings. If a resumed review has other
/// findings, it therefore asks the editor again.
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
