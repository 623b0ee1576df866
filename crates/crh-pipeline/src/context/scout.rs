//! The scout: one cheap model call before the team is chosen. It states the intent of the change
//! and suggests further reviewers.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::Intent;
use super::intent::INTENT_CHARS;
use crate::assignment::Assignment;
use crate::model_question::{ModelQuestion, ask};
use crate::review_context::ReviewContext;
use crate::reviewers::Reviewer;
use crate::runs::RunRecord;
use crate::team::ScoutSuggestion;
use crate::text::{cut, one_line};
use crate::tools::session::{ReportScout, parse_arguments};
use crate::workspace::LinkedIssueEntry;
use crh_agent::CallPurpose;
use crh_llm::Conversation;

const RUN_NAME: &str = "scout";

/// One answer and two corrections.
const TURNS: u32 = 3;
/// Model calls that the scout leaves to a reviewer and the editor.
const RESERVED_CALLS: u32 = 2;
/// An intent and a few names; the rest is for models that reason first.
const OUTPUT_TOKENS: u32 = 4_000;
/// Maximum wait for rate limits. After that time the review starts without an answer of the scout.
const MAX_WAIT: Duration = Duration::from_secs(60);
/// Maximum characters of a reason to add a reviewer, and of a doubt about the intent.
const WHY_CHARS: usize = 160;
/// Maximum characters of the body of a linked issue.
const ISSUE_CHARS: usize = 1_500;
/// Maximum number of linked issues in the prompt.
const ISSUES_MAX: usize = 5;

/// What to do with unknown reviewer names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum UnlistedNames {
    Refused,
    Ignored,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ScoutAnswer {
    pub(super) intent: Intent,
    pub(super) reviewers: Vec<ScoutSuggestion>,
}

/// Asks the scout. The answer is None if the call fails.
pub(super) async fn ask_scout(
    ctx: &ReviewContext,
    candidates: &[&Reviewer],
) -> (Option<ScoutAnswer>, RunRecord) {
    let names: Vec<String> = candidates.iter().map(|reviewer| reviewer.name.clone()).collect();
    let calls = ctx.options.budget.llm_calls.saturating_sub(RESERVED_CALLS);
    let question = ModelQuestion {
        assignment: assignment(ctx),
        model: ctx.models.small_or_reviewer(),
        conversation: conversation(ctx, candidates),
        tools: Vec::new(),
        purpose: CallPurpose::Work,
        turns: TURNS.min(calls),
        tool_calls: 0,
        enough_results: None,
        output_tokens: OUTPUT_TOKENS,
        role_phrase: "for the scout",
        max_wait: MAX_WAIT,
        permits: None,
    };
    let already_refused = AtomicBool::new(false);
    let parse = move |value| {
        let report = parse_arguments::<ReportScout>(value)?;
        // The model gets one chance to correct unknown names. After that, crh ignores them and uses
        // the rest of the answer.
        let refused_before = already_refused.swap(true, Ordering::Relaxed);
        validate_answer(
            report,
            &names,
            if refused_before { UnlistedNames::Ignored } else { UnlistedNames::Refused },
        )
    };
    let (report, record) = ask::<ReportScout, _>(ctx, question, parse).await;
    (report.map(|report| to_answer(report, candidates)), record)
}

fn assignment(ctx: &ReviewContext) -> Assignment {
    Assignment {
        name: RUN_NAME.to_owned(),
        reviewer: RUN_NAME.to_owned(),
        label: String::new(),
        why: String::new(),
        focus: String::new(),
        parts: crate::plan::parts::whole_files(&ctx.change),
    }
}

fn conversation(ctx: &ReviewContext, candidates: &[&Reviewer]) -> Conversation {
    let issues = ctx
        .change
        .workspace()
        .ok()
        .and_then(|workspace| workspace.bytes("linked-issues.json").ok());
    let issues: Vec<LinkedIssueEntry> =
        issues.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default();
    let issues: Vec<String> = issues
        .iter()
        .take(ISSUES_MAX)
        .map(|issue| {
            format!("{} {}\n{}\n", issue.id, one_line(&issue.title), cut(&issue.body, ISSUE_CHARS))
        })
        .collect();
    let candidates: String = candidates
        .iter()
        .map(|reviewer| {
            format!(
                "{}: {}; if {}\n",
                reviewer.name,
                one_line(&reviewer.lens),
                one_line(&reviewer.soft)
            )
        })
        .collect();
    ctx.prompts.scout_conversation(&issues.join("\n"), &candidates)
}

/// Refuses an empty intent. With [`UnlistedNames::Refused`], also refuses unknown names, since a
/// typo would lose a reviewer.
fn validate_answer(
    report: ReportScout,
    names: &[String],
    unlisted: UnlistedNames,
) -> Result<ReportScout, String> {
    if report.intent.trim().is_empty() {
        return Err("`intent` is empty: say in two or three sentences what the change is for, or in `doubt` what is unclear about it".to_owned());
    }
    if names.is_empty() {
        // The scout was asked for the intent alone.
        return Ok(ReportScout { reviewers: Vec::new(), ..report });
    }
    let unknown = report.reviewers.iter().find(|suggestion| !names.contains(&suggestion.name));
    match unknown.filter(|_| unlisted == UnlistedNames::Refused) {
        Some(suggestion) => Err(format!(
            "there is no reviewer `{}` to add; the names are {}",
            one_line(&suggestion.name),
            names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
        )),
        None => Ok(report),
    }
}

fn to_answer(report: ReportScout, candidates: &[&Reviewer]) -> ScoutAnswer {
    let reviewers = candidates.iter().filter_map(|reviewer| {
        let suggestion =
            report.reviewers.iter().find(|suggestion| suggestion.name == reviewer.name)?;
        let why = cut(&one_line(&suggestion.why), WHY_CHARS);
        Some(ScoutSuggestion { name: reviewer.name.clone(), why })
    });
    let intent = Intent {
        text: cut(&one_line(&report.intent), INTENT_CHARS),
        doubt: report
            .doubt
            .map(|doubt| cut(&one_line(&doubt), WHY_CHARS))
            .filter(|doubt| !doubt.is_empty()),
    };
    ScoutAnswer { reviewers: reviewers.collect(), intent }
}
