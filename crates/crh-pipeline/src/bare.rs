//! The `bare` arm of an evaluation: the model reviews the change with the diff and the read-only
//! tools, without crh's prompts, reviewers, merge and editor. It shows what crh adds to the model.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::assignment::TURN_TOKENS;
use crate::change_under_review::ChangeUnderReview;
use crate::journal::ReviewJournal;
use crate::prompts::bare;
use crate::review_context::RETRY;
use crate::review_options::ReviewBudget;
use crate::text::cut;
use crate::tools::session::{MARK_TOOL, SessionTool, parse_arguments, tool_spec};
use crate::tools::{ReviewTools, ToolError};
use crh_agent::{
    AgentOutcome, AgentRun, AgentTask, CallPurpose, Ledger, ProgressListener, RunContext,
    RunLimits, SubmitTool, TOOL_TIMEOUT, UsageTotals, drive,
};
use crh_llm::{Model, ToolSpec};
use crh_review::eval::{REPORTS_MAX, Reported, Span};
use crh_review::finding::Side;

/// Name of the run.
const CALLER: &str = "bare";
/// Maximum turns: more than two dozen look-ups, one at a time, and the answer with two corrections.
const TURNS: u32 = 30;
/// Maximum tool calls.
const TOOL_CALLS: u32 = 60;
/// Maximum characters of the diff: about 100,000 tokens. The tools show the rest.
const DIFF_CHARS: usize = 400_000;
/// Maximum characters of diff per token of the model's context. A token has about four characters,
/// so the diff takes at most half of the context.
const CHARS_PER_TOKEN: u64 = 2;

/// Inputs of a bare review.
#[derive(Debug, Clone)]
pub struct BareReview {
    /// The change under review.
    pub change: Arc<ChangeUnderReview>,
    /// The model.
    pub model: Model,
    /// Limits of the review.
    pub budget: ReviewBudget,
    /// Holds the cancel token, and hides secrets.
    pub journal: ReviewJournal,
    /// Seed for retry jitter.
    pub retry_seed: u64,
}

/// Result of a bare review.
#[derive(Debug, Clone, PartialEq)]
pub struct BareOutcome {
    /// The comments, or why there are none.
    pub comments: Result<Vec<Reported>, String>,
    /// Usage.
    pub totals: UsageTotals,
}

/// Reports the comments that you would post, and ends the work: call it once, last. No comment is a good answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
struct ReportComments {
    /// The comments.
    comments: Vec<BareComment>,
}

/// A comment on the change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
struct BareComment {
    /// Path from the repository root.
    file: String,
    /// Line of the file after the change; before the change if the comment is about removed code.
    line: u32,
    /// What is wrong, in one line.
    title: String,
    /// Two to four sentences.
    body: String,
}

impl SessionTool for ReportComments {
    const NAME: &'static str = "report_comments";
}

/// Hash of the prompts and tools.
pub fn version() -> String {
    let tools: Vec<ToolSpec> = tools().chain([tool_spec::<ReportComments>()]).collect();
    bare::version(&tools)
}

impl BareReview {
    /// Asks the model.
    pub async fn run(self) -> Result<BareOutcome, ToolError> {
        let Self { change, model, budget, journal, retry_seed } = self;
        let max_chars = model.facts().context.saturating_mul(CHARS_PER_TOKEN);
        let max_chars = usize::try_from(max_chars).unwrap_or(usize::MAX).min(DIFF_CHARS);
        let diff = cut(&String::from_utf8_lossy(change.diff.raw()), max_chars);
        let task = AgentTask {
            caller: CALLER.to_owned(),
            conversation: bare::conversation(change.workspace()?.metadata(), &diff),
            tools: tools().collect(),
            submit: SubmitTool::new(tool_spec::<ReportComments>(), parse_comments),
            purpose: CallPurpose::Work,
            max_output_tokens: TURN_TOKENS,
            temperature: None,
            effort: model.effort(),
        };
        let limits = RunLimits {
            turns: TURNS,
            tool_calls: TOOL_CALLS,
            // The ledger limits the tokens.
            tokens: u64::MAX,
            money: budget.money,
            wall: budget.wall,
        };
        let context = RunContext {
            model: model.clone(),
            ledger: Ledger::open(budget.ledger_budget()),
            toolbox: Arc::new(ReviewTools::new(change.tool_context.clone())),
            tool_timeout: TOOL_TIMEOUT,
            transcript: journal.transcript(CALLER),
            retry: RETRY,
            seed: retry_seed,
            cancel: journal.cancel().clone(),
            progress_listener: ProgressListener::silent(),
        };
        let finished = drive(AgentRun::new(task, limits, model.facts()), &context).await;
        let failure = finished.end.outcome.failure().unwrap_or_default();
        let comments = match finished.end.outcome {
            AgentOutcome::Answered(comments) => Ok(comments),
            _ => Err(journal.redactor().redact(&failure).into_owned()),
        };
        Ok(BareOutcome { comments, totals: finished.totals })
    }
}

/// The review tools, without the one that marks files as reviewed.
fn tools() -> impl Iterator<Item = ToolSpec> {
    ReviewTools::specs().into_iter().filter(|tool| tool.name != MARK_TOOL)
}

/// The comments of an answer, or an error for the model.
fn parse_comments(value: Value) -> Result<Vec<Reported>, String> {
    let answer: ReportComments = parse_arguments(value)?;
    if answer.comments.len() > REPORTS_MAX {
        return Err(format!("report at most {REPORTS_MAX} comments."));
    }
    answer.comments.into_iter().map(reported).collect()
}

fn reported(comment: BareComment) -> Result<Reported, String> {
    let BareComment { file, line, title, body } = comment;
    let span = Span::new(&file, line, line, Side::New)
        .ok_or_else(|| "every comment needs a `file` and a `line` from 1 on.".to_owned())?;
    Ok(Reported {
        span,
        also: Vec::new(),
        title,
        text: body,
        evidence: String::new(),
        category: None,
        severity: None,
        confidence: None,
        key: String::new(),
        reviewers: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn comment_without_a_line_is_sent_back() {
        let comment = |line: u32| json!({ "comments": [{ "file": "a.py", "line": line, "title": "Wrong", "body": "Why." }] });
        let parsed = parse_comments(comment(3)).unwrap();
        assert_eq!((parsed[0].span.line_start(), parsed[0].text.as_str()), (3, "Why."));
        let error = parse_comments(comment(0)).unwrap_err();
        assert_eq!(error, "every comment needs a `file` and a `line` from 1 on.");
        assert_eq!(parse_comments(json!({ "comments": [] })), Ok(Vec::new()));
    }
}
