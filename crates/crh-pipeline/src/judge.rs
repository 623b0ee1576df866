//! The judge of an evaluation: a model decides which reports describe which expected issues.
//!
//! The judge sees places and texts, but not the authors of the reports. crh rejects answers with
//! numbers that do not exist.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::prompts::{fence, judge};
use crate::review_context::RETRY;
use crate::text::{cut, one_line};
use crate::tools::session;
use crate::tools::session::SessionTool;
use crh_agent::{
    AgentRun, AgentTask, Budget, CallPurpose, CancelToken, FinishedRun, Ledger, NoTools,
    ProgressListener, RunContext, RunLimits, SubmitTool, TOOL_TIMEOUT, Transcript, drive,
};
use crh_llm::{Conversation, Model, Money};
use crh_review::eval::{Expected, Reported, Span};
use crh_review::finding::Side;

/// One answer and two corrections, plus one spare turn.
const TURNS: u32 = 4;
/// Maximum tokens per turn: a few hundred for the answer, the rest for models that reason first.
const OUTPUT_TOKENS: u32 = 8_000;
/// Timeout per question, retries included.
const WALL: Duration = Duration::from_secs(300);
/// Maximum characters of one text. Most texts have at most four sentences.
const TEXT_CHARS: usize = 4_000;
/// Maximum characters of a title: three times that of a finding, since other tools write longer
/// ones.
const TITLE_CHARS: usize = 300;

/// Expected issues of a case and the reports of one run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JudgeQuestion {
    /// Number of the question, for the vendor's logs.
    number: usize,
    expected: Vec<String>,
    reports: Vec<String>,
}

/// Pairs of (expected issue, report), both counted from 0, sorted.
pub type DefectMatches = Vec<(usize, usize)>;

/// Answer to a question.
#[derive(Debug, Clone, PartialEq)]
pub struct JudgeAnswer {
    /// The matches, or why there is no answer.
    pub pairs: Result<DefectMatches, String>,
    /// Cost of the question, also without an answer.
    pub cost: Money,
}

/// A judge model.
#[derive(Debug, Clone)]
pub struct EvalJudge {
    /// The model to ask.
    pub model: Model,
    /// Maximum cost of all questions.
    pub money: Money,
    /// Maximum number of questions in parallel.
    pub max_parallel: usize,
    /// Seed for retry jitter.
    pub retry_seed: u64,
}

/// Reports which reports describe which known defects, and ends the work: call it once, with every such pair. No pair is a good
/// answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields, rename = "ReportPairs")]
struct ReportMatches {
    /// Every pair of a report and a known defect that it describes. Empty is a good answer.
    pairs: Vec<DefectMatch>,
}

/// A report that describes a known defect.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields, rename = "Pair")]
struct DefectMatch {
    /// The number of the known defect.
    defect: u32,
    /// The number of the report.
    report: u32,
}

impl SessionTool for ReportMatches {
    const NAME: &'static str = "report_pairs";
}

impl JudgeQuestion {
    /// A question about a run of a case. None if either list is empty.
    pub fn new(number: usize, expected: &[Expected], reported: &[Reported]) -> Option<Self> {
        let defects = expected.iter().map(|issue| defect_text(issue, place_texts(&issue.spans)));
        Self::from_texts(number, defects.collect(), reported)
    }

    /// A question about a run on a twin: a copy of the case without the defects. Do reports
    /// describe the defects anyway? The judge gets the corresponding places in the twin. The
    /// question does not say that the code is a twin.
    pub fn for_twin(number: usize, expected: &[Expected], reported: &[Reported]) -> Option<Self> {
        let defects = expected.iter().map(|issue| {
            let places = match issue.on_twin.as_slice() {
                // The lines in the twin are unknown, but the files are not.
                [] => issue.spans.iter().map(|span| one_line(span.file())).collect(),
                spans => place_texts(spans),
            };
            defect_text(issue, places)
        });
        Self::from_texts(number, defects.collect(), reported)
    }

    fn from_texts(number: usize, expected: Vec<String>, reported: &[Reported]) -> Option<Self> {
        let is_complete = !expected.is_empty() && !reported.is_empty();
        is_complete.then(|| Self {
            number,
            expected,
            reports: reported.iter().map(report_text).collect(),
        })
    }

    /// The text that the judge reads. It does not depend on the number.
    pub fn text(&self) -> String {
        format!("{}\n\n{}", self.defects(), self.numbered_reports())
    }

    /// Number of expected issues and of reports.
    pub fn size(&self) -> (usize, usize) {
        (self.expected.len(), self.reports.len())
    }

    fn defects(&self) -> String {
        numbered_fences("Defect", "defect", &self.expected)
    }

    fn numbered_reports(&self) -> String {
        numbered_fences("Report", "report", &self.reports)
    }

    pub(crate) fn conversation(&self) -> Conversation {
        judge::conversation(self.defects(), self.numbered_reports())
    }

    fn submit(&self) -> SubmitTool<DefectMatches> {
        let (defects, reports) = self.size();
        SubmitTool::new(session::tool_spec::<ReportMatches>(), move |value| {
            parse_matches(value, defects, reports)
        })
    }
}

/// The judge's system prompt, for people who read the verdicts.
pub fn brief() -> String {
    judge::brief()
}

/// Hash of the judge's prompt and tool.
pub fn version() -> String {
    judge::version(&session::tool_spec::<ReportMatches>())
}

impl EvalJudge {
    /// Asks all questions. Calls `answered` with the index and the answer as each one ends.
    pub async fn ask(
        &self,
        questions: Vec<JudgeQuestion>,
        mut answered: impl FnMut(usize, JudgeAnswer),
    ) {
        let run_context = Arc::new(self.run_context(questions.len()));
        let permits = Arc::new(Semaphore::new(self.max_parallel.max(1)));
        let mut unanswered: BTreeSet<usize> = (0..questions.len()).collect();
        let mut tasks = JoinSet::new();
        for (index, question) in questions.into_iter().enumerate() {
            let (run_context, permits, money) = (run_context.clone(), permits.clone(), self.money);
            tasks.spawn(async move {
                let _permit = permits.acquire().await;
                (index, judge_question(&question, &run_context, money).await)
            });
        }
        // Dropping this future aborts all tasks.
        while let Some(joined) = tasks.join_next().await {
            if let Ok((index, answer)) = joined {
                unanswered.remove(&index);
                answered(index, answer);
            }
        }
        for index in unanswered {
            let why = "the judge crashed (a bug in crh)".to_owned();
            answered(index, JudgeAnswer { pairs: Err(why), cost: Money::ZERO });
        }
    }

    fn run_context(&self, questions: usize) -> RunContext<NoTools> {
        let questions = u32::try_from(questions).unwrap_or(u32::MAX);
        let budget = Budget {
            llm_calls: questions.saturating_mul(TURNS),
            tool_calls: 0,
            input_tokens: u64::MAX,
            // Each question has its own timeout.
            wall: Duration::MAX,
            money: self.money,
        };
        RunContext {
            model: self.model.clone(),
            ledger: Ledger::open(budget),
            toolbox: Arc::new(NoTools),
            tool_timeout: TOOL_TIMEOUT,
            transcript: Transcript::disabled(),
            retry: RETRY,
            seed: self.retry_seed,
            cancel: CancelToken::new(),
            progress_listener: ProgressListener::silent(),
        }
    }
}

async fn judge_question(
    question: &JudgeQuestion,
    run_context: &RunContext<NoTools>,
    money: Money,
) -> JudgeAnswer {
    let task = AgentTask {
        caller: format!("judge-{}", question.number),
        conversation: question.conversation(),
        tools: Vec::new(),
        submit: question.submit(),
        // Only calls of this purpose may use the whole budget. Others leave a part to validation.
        purpose: CallPurpose::Validation,
        max_output_tokens: OUTPUT_TOKENS,
        temperature: None,
        effort: run_context.model.effort(),
    };
    let limits = RunLimits { turns: TURNS, tool_calls: 0, tokens: u64::MAX, money, wall: WALL };
    let FinishedRun { end: ended, totals, .. } =
        drive(AgentRun::new(task, limits, run_context.model.facts()), run_context).await;
    JudgeAnswer { pairs: ended.outcome.into_answer(), cost: totals.money }
}

/// The matches of an answer, or an error for the model.
fn parse_matches(value: Value, defects: usize, reports: usize) -> Result<DefectMatches, String> {
    let answer: ReportMatches = session::parse_arguments(value)?;
    let mut pairs = BTreeSet::new();
    for DefectMatch { defect, report } in answer.pairs {
        pairs.insert((index("defect", defect, defects)?, index("report", report, reports)?));
    }
    Ok(pairs.into_iter().collect())
}

/// Converts a number counted from 1 into an index.
fn index(kind: &str, number: u32, count: usize) -> Result<usize, String> {
    let index = usize::try_from(number).ok().and_then(|number| number.checked_sub(1));
    index.filter(|index| *index < count).ok_or_else(|| match count {
        1 => format!("there is no {kind} {number}; there is only {kind} 1"),
        _ => format!("there is no {kind} {number}; they are numbered from 1 to {count}"),
    })
}

/// Numbered texts, each in its own fence, so that no text can imitate another.
fn numbered_fences(word: &str, kind: &str, texts: &[String]) -> String {
    let numbered = (1..).zip(texts);
    let fences = numbered.map(|(number, text)| format!("{word} {number}:\n{}", fence(kind, text)));
    fences.collect::<Vec<_>>().join("\n\n")
}

/// An expected issue: place and description.
fn defect_text(expected: &Expected, places: Vec<String>) -> String {
    let place = if places.is_empty() { "unknown".to_owned() } else { places.join("; ") };
    format!("place: {place}\n{}", visible_text(&expected.description))
}

/// A report: place and text, without its author, confidence or severity.
fn report_text(reported: &Reported) -> String {
    let title = cut(&one_line(&reported.title), TITLE_CHARS);
    format!("place: {}\n{title}\n{}", place_text(&reported.span), visible_text(&reported.text))
}

fn place_texts(spans: &[Span]) -> Vec<String> {
    spans.iter().map(place_text).collect()
}

fn place_text(span: &Span) -> String {
    let file = one_line(span.file());
    let side = match span.side() {
        Side::Old => " before the change",
        Side::New => "",
    };
    match (span.line_start(), span.line_end()) {
        (first, last) if first == last => format!("{file} line {first}{side}"),
        (first, last) => format!("{file} lines {first} to {last}{side}"),
    }
}

fn visible_text(text: &str) -> String {
    cut(crh_review::escape_invisible(text).trim(), TEXT_CHARS)
}

#[cfg(test)]
pub(crate) mod sample;
#[cfg(test)]
mod tests;
