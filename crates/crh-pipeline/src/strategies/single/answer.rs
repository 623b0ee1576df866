//! What the reviewer of `single` answers with, in both of its calls: the tool it submits by, and how that is read.
//!
//! Both calls have the same tool, so that the second begins with the bytes of the first and the vendor's cache serves
//! them. The top of an answer must be right or the model is asked again; what is wrong further down costs that part alone.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::tools::{described, read_arguments};
use crh_llm::ToolSpec;
use crh_review::finding::{Confidence, Finding};
use crh_review::{Dialect, Judged, Judgement, Parsed, read_return};

/// The tool that submits.
const SUBMIT: &str = "submit_review_result";

/// How many looks at other code a draft may ask for: the agent specification's number of tool calls.
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
struct Verdict {
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

/// A first answer.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Draft {
    /// The findings and what goes with them.
    pub(super) parsed: Parsed,
    /// The looks at other code that it asks for. What they are for is a place among `parsed.members`.
    pub(super) requests: Vec<ContextRequest>,
    /// What was wrong with it and cost only a part.
    pub(super) notes: Vec<String>,
}

/// A second answer.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Second {
    /// New findings and what goes with them.
    pub(super) parsed: Parsed,
    /// What it says, by id. Ids that nobody gave are not in it.
    pub(super) said: BTreeMap<String, Said>,
    /// What was wrong with it and cost only a part.
    pub(super) notes: Vec<String>,
}

/// What was said of one finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Said {
    /// The verdict and its reason.
    pub(super) judgement: Judgement,
    /// The confidence that was corrected.
    pub(super) confidence: Option<Confidence>,
}

/// What happens to an answer whose verdicts are partly wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wrong {
    /// The model is told and asked again.
    Refused,
    /// They are not used: there is no call left to ask again.
    SetAside,
}

/// The tool that submits, as the model sees it.
pub(super) fn submit_spec() -> ToolSpec {
    /// A schema takes longer to derive than to copy, and every question is measured with it.
    static SPEC: LazyLock<ToolSpec> = LazyLock::new(|| {
        let (description, schema) = described::<ReviewResult<Finding, Verdict, ContextRequest>>();
        ToolSpec { name: SUBMIT.to_owned(), description, schema }
    });
    SPEC.clone()
}

/// Reads a first answer, or says to the model what is wrong with it.
pub(super) fn read_draft(value: Value, reviewer: &str) -> Result<Draft, String> {
    let mut result = top(value)?;
    let verdicts = std::mem::take(&mut result.verdicts);
    let asked = std::mem::take(&mut result.context_requests);
    let raw = result.findings.clone();
    let parsed = parsed(result, reviewer)?;
    let mut notes = Vec::new();
    if !verdicts.is_empty() {
        notes.push("verdicts on findings that nobody showed were not used".to_owned());
    }
    let mut requests = Vec::new();
    for (at, request) in asked.into_iter().enumerate() {
        if at >= REQUESTS_MAX {
            notes.push(format!("more than {REQUESTS_MAX} looks at other code were asked for"));
            break;
        }
        match part::<ContextRequest>(request).and_then(|request| placed(request, &raw, &parsed)) {
            Ok(request) => requests.push(request),
            Err(why) => notes.push(format!("`context_requests[{at}]`: {why}")),
        }
    }
    Ok(Draft { parsed, requests, notes })
}

/// Reads a second answer. `ids` are those that were given out.
pub(super) fn read_second(
    value: Value,
    reviewer: &str,
    ids: &[String],
    wrong: Wrong,
) -> Result<Second, String> {
    let mut result = top(value)?;
    let verdicts = std::mem::take(&mut result.verdicts);
    result.context_requests.clear();
    let mut said = BTreeMap::new();
    let mut problems = Vec::new();
    for (at, verdict) in verdicts.into_iter().enumerate() {
        match part::<Verdict>(verdict) {
            Ok(verdict) if ids.contains(&verdict.id) => hear(&mut said, verdict),
            Ok(verdict) => {
                let (id, known) = (verdict.id, ids.join("`, `"));
                problems.push(format!("there is no finding `{id}`; there are `{known}`"));
            }
            Err(why) => problems.push(format!("`verdicts[{at}]`: {why}")),
        }
    }
    let notes = match wrong {
        Wrong::Refused if !problems.is_empty() => return Err(problems.join("; ") + "."),
        Wrong::Refused | Wrong::SetAside => {
            problems.iter().map(|problem| format!("second round: {problem}")).collect()
        }
    };
    Ok(Second { parsed: parsed(result, reviewer)?, said, notes })
}

fn top(value: Value) -> Result<ReviewResult<Value, Value, Value>, String> {
    part(value)
}

fn part<T: DeserializeOwned>(value: Value) -> Result<T, String> {
    // A list would be taken for the fields in their order.
    if !value.is_object() {
        return Err("expected a JSON object".to_owned());
    }
    read_arguments(value).map_err(|error| error.to_string())
}

/// The findings, each with the right shape or set aside.
fn parsed(result: ReviewResult<Value, Value, Value>, reviewer: &str) -> Result<Parsed, String> {
    let ReviewResult { findings, residual_risks, testing_gaps, summary, .. } = result;
    let value = json!({
        "reviewer": reviewer,
        "findings": findings,
        "residual_risks": residual_risks,
        "testing_gaps": testing_gaps,
        "summary": summary,
    });
    read_return(value, Dialect::Native, reviewer).map_err(|error| error.to_string())
}

/// The request with its finding as a place among those that could be read.
fn placed(
    request: ContextRequest,
    raw: &[Value],
    parsed: &Parsed,
) -> Result<ContextRequest, String> {
    let Some(at) = request.for_finding else { return Ok(request) };
    // What could not be read is set aside as it came, so the others are those that are not there.
    let is_read =
        |value: &Value| !parsed.set_aside.iter().any(|dropped| dropped.raw.as_ref() == Some(value));
    match raw.get(at) {
        None => Err(format!("there is no finding {at}")),
        Some(value) if !is_read(value) => Err(format!("finding {at} could not be read")),
        Some(_) => {
            let before = raw[..at].iter().filter(|value| is_read(value)).count();
            Ok(ContextRequest { for_finding: Some(before), ..request })
        }
    }
}

/// Takes in a verdict. Two that contradict each other decide nothing.
fn hear(said: &mut BTreeMap<String, Said>, verdict: Verdict) {
    let result = match verdict.verdict {
        VerdictWord::Confirmed => Judged::Confirmed,
        VerdictWord::Refuted => Judged::Refuted,
        VerdictWord::Unsure => Judged::Unsure,
    };
    let judgement = Judgement { result, reason: verdict.reason };
    let new = Said { judgement, confidence: verdict.confidence };
    match said.get_mut(&verdict.id) {
        None => {
            said.insert(verdict.id, new);
        }
        Some(old) if old.judgement.result == new.judgement.result => {}
        Some(old) => {
            let reasons = format!("{}; but also: {}", old.judgement.reason, new.judgement.reason);
            let judgement = Judgement { result: Judged::Unsure, reason: reasons };
            *old = Said { judgement, confidence: None };
        }
    }
}

#[cfg(test)]
mod tests;
