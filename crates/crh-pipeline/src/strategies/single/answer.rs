//! The answers of the `single` reviewer: the submit tool and how its arguments are parsed.
//!
//! Both calls use the same tool. So the second request starts with the same bytes, and the vendor's
//! prompt cache applies. Errors at the top level are sent back to the model. An error in a list
//! entry drops only that entry.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::tools::{describe, read_arguments};
use crh_llm::ToolSpec;
use crh_review::finding::{Confidence, Finding};
use crh_review::{Dialect, Judgement, JudgementResult, ReviewerReturn, parse_return_value};

/// Name of the submit tool.
const SUBMIT: &str = "submit_review_result";

/// Maximum lookups that a draft may request. The agent specification prescribes the number.
pub(super) const REQUESTS_MAX: usize = 3;

/// Submits the review. This ends your work.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ReviewResult<F, V, R> {
    /// What is wrong with the change. Empty is a good answer. In the second round: only what is new.
    findings: Vec<F>,
    /// In the second round only: what you say of each finding that you are shown, by its id.
    #[serde(default)]
    verdicts: Vec<V>,
    /// In the first round only: at most 3 looks at other code, for findings that you cannot judge without it.
    #[serde(default)]
    context_requests: Vec<R>,
    /// Risks that remain though nothing is provably wrong.
    #[serde(default)]
    residual_risks: Vec<String>,
    /// Behaviour of the change that no test covers.
    #[serde(default)]
    testing_gaps: Vec<String>,
    /// What you looked at and what you found, in a sentence or two. It comes last.
    summary: String,
}

/// A look at other code.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ContextRequest {
    /// Which tool.
    pub(super) tool: LookTool,
    /// What it is called with.
    pub(super) arguments: LookArguments,
    /// The finding it is for, by its place in `findings`, from 0. Leave it out for what you could not judge at all.
    pub(super) for_finding: Option<usize>,
    /// What you want to see there, in a sentence.
    #[serde(default)]
    pub(super) why: String,
}

/// The tools that a draft can ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum LookTool {
    /// A file, with `path`; `line` says around which line.
    ReadFile,
    /// All lines with a text in them, with `query`.
    SearchCode,
    /// A linter on a Python file, with `path`.
    RunRuff,
    /// One function with the imports of its file, with `path` and `function_name`.
    GetFunctionContext,
}

/// The arguments of a look; which ones are needed depends on the tool.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct LookArguments {
    /// A path from the root of the repository.
    pub(super) path: Option<String>,
    /// `head` or `base`; `head` if left out.
    #[serde(rename = "ref")]
    pub(super) revision: Option<String>,
    /// Around this line.
    pub(super) line: Option<u32>,
    /// A text to look for, word for word.
    pub(super) query: Option<String>,
    /// Only files in this language.
    pub(super) language_filter: Option<String>,
    /// The name of a function.
    pub(super) function_name: Option<String>,
}

/// What the second round says of a finding.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
// Models call a judgement a verdict. In crh, a verdict is on the whole change.
#[schemars(rename = "Verdict")]
struct FindingVerdict {
    /// The id of the finding.
    id: String,
    /// `confirmed` if it is real and the change brought it in, `refuted` if not, `unsure` if you cannot tell.
    verdict: VerdictWord,
    /// Why, in a sentence that names the code.
    reason: String,
    /// How sure you are of the finding now, if that has changed.
    confidence: Option<Confidence>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum VerdictWord {
    Confirmed,
    Refuted,
    Unsure,
}

/// Answer of the first call.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Draft {
    /// Findings, risks, gaps and summary.
    pub(super) parsed: ReviewerReturn,
    /// Requested lookups. `for_finding` is an index into `parsed.members`.
    pub(super) requests: Vec<ContextRequest>,
    /// Notes on entries that were dropped.
    pub(super) notes: Vec<String>,
}

/// Answer of the second call.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct SecondAnswer {
    /// New findings, risks, gaps and summary.
    pub(super) parsed: ReviewerReturn,
    /// Judgements by id. Unknown ids are excluded.
    pub(super) judgements: BTreeMap<String, FindingJudgement>,
    /// Notes on entries that were dropped.
    pub(super) notes: Vec<String>,
}

/// Judgement on one finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FindingJudgement {
    /// Result and reason.
    pub(super) judgement: Judgement,
    /// Corrected confidence.
    pub(super) confidence: Option<Confidence>,
}

/// What to do with an answer that has invalid judgements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum InvalidJudgements {
    /// Send the answer back to the model.
    AskAgain,
    /// Drop the invalid judgements, since no call is left.
    Ignore,
}

/// The submit tool, as the model sees it.
pub(crate) fn submit_spec() -> ToolSpec {
    /// Cached, since deriving a schema is slow and crh counts its tokens for every question.
    static SPEC: LazyLock<ToolSpec> = LazyLock::new(|| {
        let (description, schema) =
            describe::<ReviewResult<Finding, FindingVerdict, ContextRequest>>();
        ToolSpec { name: SUBMIT.to_owned(), description, schema }
    });
    SPEC.clone()
}

/// Parses a first answer, or returns an error for the model.
pub(super) fn read_draft(value: Value, reviewer: &str) -> Result<Draft, String> {
    let mut result = parse_top_level(value)?;
    let verdicts = std::mem::take(&mut result.verdicts);
    let raw_requests = std::mem::take(&mut result.context_requests);
    let raw_findings = result.findings.clone();
    let parsed = parse_findings(result, reviewer)?;
    let mut notes = Vec::new();
    if !verdicts.is_empty() {
        notes.push("verdicts in the first round were ignored".to_owned());
    }
    let mut requests = Vec::new();
    for (index, request) in raw_requests.into_iter().enumerate() {
        if index >= REQUESTS_MAX {
            notes.push(format!(
                "more than {REQUESTS_MAX} lookups were requested; the others are ignored"
            ));
            break;
        }
        match parse_object::<ContextRequest>(request)
            .and_then(|request| resolve_finding_index(request, &raw_findings, &parsed))
        {
            Ok(request) => requests.push(request),
            Err(why) => notes.push(format!("`context_requests[{index}]`: {why}")),
        }
    }
    Ok(Draft { parsed, requests, notes })
}

/// Parses a second answer. `ids` are the valid ids.
pub(super) fn read_second(
    value: Value,
    reviewer: &str,
    ids: &[String],
    invalid_judgements: InvalidJudgements,
) -> Result<SecondAnswer, String> {
    let mut result = parse_top_level(value)?;
    let verdicts = std::mem::take(&mut result.verdicts);
    result.context_requests.clear();
    let mut judgements = BTreeMap::new();
    let mut problems = Vec::new();
    for (index, verdict) in verdicts.into_iter().enumerate() {
        match parse_object::<FindingVerdict>(verdict) {
            Ok(verdict) if ids.contains(&verdict.id) => add_judgement(&mut judgements, verdict),
            Ok(verdict) => {
                let (id, known_ids) = (verdict.id, ids.join("`, `"));
                problems.push(format!("there is no finding `{id}`; there are `{known_ids}`"));
            }
            Err(why) => problems.push(format!("`verdicts[{index}]`: {why}")),
        }
    }
    let notes = match invalid_judgements {
        InvalidJudgements::AskAgain if !problems.is_empty() => {
            return Err(problems.join("; ") + ".");
        }
        InvalidJudgements::AskAgain | InvalidJudgements::Ignore => {
            problems.iter().map(|problem| format!("second round: {problem}")).collect()
        }
    };
    Ok(SecondAnswer { parsed: parse_findings(result, reviewer)?, judgements, notes })
}

fn parse_top_level(value: Value) -> Result<ReviewResult<Value, Value, Value>, String> {
    parse_object(value)
}

fn parse_object<T: DeserializeOwned>(value: Value) -> Result<T, String> {
    // Serde would accept a list as the fields in order.
    if !value.is_object() {
        return Err("expected a JSON object".to_owned());
    }
    read_arguments(value).map_err(|error| error.to_string())
}

/// Parses the findings. Malformed ones are dropped with a fate.
fn parse_findings(
    result: ReviewResult<Value, Value, Value>,
    reviewer: &str,
) -> Result<ReviewerReturn, String> {
    let ReviewResult { findings, residual_risks, testing_gaps, summary, .. } = result;
    let value = json!({
        "reviewer": reviewer,
        "findings": findings,
        "residual_risks": residual_risks,
        "testing_gaps": testing_gaps,
        "summary": summary,
    });
    parse_return_value(value, Dialect::Native, reviewer).map_err(|error| error.to_string())
}

/// Replaces the index of the raw finding by its index among the parsed findings.
fn resolve_finding_index(
    request: ContextRequest,
    raw_findings: &[Value],
    parsed: &ReviewerReturn,
) -> Result<ContextRequest, String> {
    let Some(index) = request.for_finding else { return Ok(request) };
    // Malformed findings are kept as raw values, which identifies them.
    let is_well_formed =
        |value: &Value| !parsed.dropped.iter().any(|dropped| dropped.raw.as_ref() == Some(value));
    match raw_findings.get(index) {
        None => Err(format!("there is no finding {index}")),
        Some(value) if !is_well_formed(value) => Err(format!("finding {index} could not be read")),
        Some(_) => {
            let parsed_index =
                raw_findings[..index].iter().filter(|value| is_well_formed(value)).count();
            Ok(ContextRequest { for_finding: Some(parsed_index), ..request })
        }
    }
}

/// Adds a judgement. Two contradicting judgements make the finding unsure.
fn add_judgement(judgements: &mut BTreeMap<String, FindingJudgement>, verdict: FindingVerdict) {
    let result = match verdict.verdict {
        VerdictWord::Confirmed => JudgementResult::Confirmed,
        VerdictWord::Refuted => JudgementResult::Refuted,
        VerdictWord::Unsure => JudgementResult::Unsure,
    };
    let judgement = Judgement::new(result, verdict.reason);
    let new_judgement = FindingJudgement { judgement, confidence: verdict.confidence };
    match judgements.get_mut(&verdict.id) {
        None => {
            judgements.insert(verdict.id, new_judgement);
        }
        Some(old) if old.judgement.result == new_judgement.judgement.result => {}
        Some(old) => {
            let reasons =
                format!("{}; but also: {}", old.judgement.reason, new_judgement.judgement.reason);
            let judgement = Judgement::new(JudgementResult::Unsure, reasons);
            *old = FindingJudgement { judgement, confidence: None };
        }
    }
}

#[cfg(test)]
mod tests;
