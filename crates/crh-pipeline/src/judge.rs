//! The judge of an evaluation: a model decides which reports describe which expected issues.
//!
//! It is shown places and words, and nothing of who said them. What it answers is held against the numbers that there are, so
//! that the worst it can do is to be wrong.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::office::RETRY;
use crate::prompts::{fence, judge};
use crate::text::{cut, one_line};
use crate::tools::session;
use crate::tools::session::SessionTool;
use crh_agent::{
    Budget, Cancel, Driven, Ledger, Limits, Means, NoTools, Outcome, Purpose, Run, Submit,
    TOOL_TIME, Task, Transcript, Watch, drive,
};
use crh_llm::{Conversation, Model, Money};
use crh_review::eval::{Expected, Reported, Span};
use crh_review::finding::Side;

/// Times that it is asked one question: for an answer and for two repairs, with one to spare so that none of these is cut short.
const TURNS: u32 = 4;
/// The most tokens of one turn: a dozen pairs have a few hundred, the rest is for models that think first.
const OUTPUT_TOKENS: u32 = 8_000;
/// A vendor that has not answered in this time, attempts included, will not.
const WALL: Duration = Duration::from_secs(300);
/// How much is shown of one text. A report has at most four sentences; what is longer was not written to be read.
const TEXT_CHARS: usize = 4_000;
/// How much is shown of a title: three times what a finding may have, since other tools have other rules.
const TITLE_CHARS: usize = 300;

/// The expected issues of a case and what one run reported: what is compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// Numbers it among all questions, for the vendor's logs.
    number: usize,
    expected: Vec<String>,
    reports: Vec<String>,
}

/// Reports of a question that describe expected issues, as (expected, reported), both counted from 0, sorted.
pub type Pairs = Vec<(usize, usize)>;

/// What came of a question.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdict {
    /// The answer, or why there is none.
    pub pairs: Result<Pairs, String>,
    /// What it cost, also without an answer.
    pub cost: Money,
}

/// A model that judges.
#[derive(Debug, Clone)]
pub struct Judge {
    /// Who is asked.
    pub model: Model,
    /// What all questions together may cost.
    pub money: Money,
    /// How many questions are asked at the same time.
    pub side_by_side: usize,
    /// Where waits between attempts take their randomness from.
    pub seed: u64,
}

/// Reports which reports describe which known defects, and ends the work: call it once, with every such pair. No pair is a good
/// answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ReportPairs {
    /// Every pair of a report and a known defect that it describes. Empty is a good answer.
    pairs: Vec<Pair>,
}

/// A report that describes a known defect.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Pair {
    /// The number of the known defect.
    defect: u32,
    /// The number of the report.
    report: u32,
}

impl SessionTool for ReportPairs {
    const NAME: &'static str = "report_pairs";
}

impl Question {
    /// A question about a run of a case; none if there is nothing to decide.
    pub fn new(number: usize, expected: &[Expected], reported: &[Reported]) -> Option<Self> {
        let defects = expected.iter().map(|issue| defect(issue, places(&issue.spans)));
        Self::of(number, defects.collect(), reported)
    }

    /// A question about a run of a twin: whether it reports what is expected of the case, though it is not there. The judge is not told that
    /// this is a twin, only where the same code is in it.
    pub fn about_twin(number: usize, expected: &[Expected], reported: &[Reported]) -> Option<Self> {
        let defects = expected.iter().map(|issue| {
            let places = match issue.on_twin.as_slice() {
                // Which lines it would be is not known then, but the files are.
                [] => issue.spans.iter().map(|span| one_line(span.file())).collect(),
                spans => places(spans),
            };
            defect(issue, places)
        });
        Self::of(number, defects.collect(), reported)
    }

    fn of(number: usize, expected: Vec<String>, reported: &[Reported]) -> Option<Self> {
        let is_open = !expected.is_empty() && !reported.is_empty();
        is_open.then(|| Self { number, expected, reports: reported.iter().map(report).collect() })
    }

    /// All that the judge reads of it. The same contents have the same text, whatever the number.
    pub fn text(&self) -> String {
        format!("{}\n\n{}", self.defects(), self.listed_reports())
    }

    /// How many expected issues and how many reports it has.
    pub fn size(&self) -> (usize, usize) {
        (self.expected.len(), self.reports.len())
    }

    fn defects(&self) -> String {
        numbered("Defect", "defect", &self.expected)
    }

    fn listed_reports(&self) -> String {
        numbered("Report", "report", &self.reports)
    }

    pub(crate) fn conversation(&self) -> Conversation {
        judge::conversation(self.defects(), self.listed_reports())
    }

    fn submit(&self) -> Submit<Pairs> {
        let (defects, reports) = self.size();
        Submit::new(session::spec::<ReportPairs>(), move |value| pairs(value, defects, reports))
    }
}

/// Names what judges are told, by a hash.
pub fn version() -> String {
    judge::version(&session::spec::<ReportPairs>())
}

impl Judge {
    /// Asks all questions. `answered` is told what came of each, by its place among them, as they end.
    pub async fn ask(&self, questions: Vec<Question>, mut answered: impl FnMut(usize, Verdict)) {
        let means = Arc::new(self.means(questions.len()));
        let room = Arc::new(Semaphore::new(self.side_by_side.max(1)));
        let mut open: BTreeSet<usize> = (0..questions.len()).collect();
        let mut tasks = JoinSet::new();
        for (place, question) in questions.into_iter().enumerate() {
            let (means, room, money) = (means.clone(), room.clone(), self.money);
            tasks.spawn(async move {
                let _permit = room.acquire().await;
                (place, verdict(&question, &means, money).await)
            });
        }
        // A dropped future aborts them all.
        while let Some(joined) = tasks.join_next().await {
            if let Ok((place, verdict)) = joined {
                open.remove(&place);
                answered(place, verdict);
            }
        }
        for place in open {
            let why = "the judge broke down: this is a bug".to_owned();
            answered(place, Verdict { pairs: Err(why), cost: Money::ZERO });
        }
    }

    fn means(&self, questions: usize) -> Means<NoTools> {
        let questions = u32::try_from(questions).unwrap_or(u32::MAX);
        let budget = Budget {
            llm_calls: questions.saturating_mul(TURNS),
            tool_calls: 0,
            input_tokens: u64::MAX,
            // Each question has its own; how many there are is up to the suite.
            wall: Duration::MAX,
            money: self.money,
        };
        Means {
            model: self.model.clone(),
            ledger: Ledger::open(budget),
            toolbox: Arc::new(NoTools),
            tool_time: TOOL_TIME,
            transcript: Transcript::none(),
            retry: RETRY,
            seed: self.seed,
            cancel: Cancel::new(),
            watch: Watch::nobody(),
        }
    }
}

async fn verdict(question: &Question, means: &Means<NoTools>, money: Money) -> Verdict {
    let task = Task {
        caller: format!("judge-{}", question.number),
        conversation: question.conversation(),
        tools: Vec::new(),
        submit: question.submit(),
        // All of the money is for this: nothing is held back from it.
        purpose: Purpose::Validation,
        max_output_tokens: OUTPUT_TOKENS,
        temperature: None,
        effort: None,
    };
    let limits = Limits { turns: TURNS, tool_calls: 0, tokens: u64::MAX, money, wall: WALL };
    let Driven { ended, totals, .. } =
        drive(Run::new(task, limits, means.model.facts()), means).await;
    let failure = ended.outcome.failure().unwrap_or_default();
    let pairs = match ended.outcome {
        Outcome::Answered(pairs) => Ok(pairs),
        Outcome::NoAnswer
        | Outcome::BadAnswer(_)
        | Outcome::Stuck
        | Outcome::OutOfBudget(_)
        | Outcome::ContextFull
        | Outcome::Model(_)
        | Outcome::Aborted(_)
        | Outcome::Cancelled => Err(failure),
    };
    Verdict { pairs, cost: totals.money }
}

/// The pairs of an answer, or what is wrong with it.
fn pairs(value: Value, defects: usize, reports: usize) -> Result<Pairs, String> {
    let answer: ReportPairs = session::read(value)?;
    let mut pairs = BTreeSet::new();
    for Pair { defect, report } in answer.pairs {
        pairs.insert((index("defect", defect, defects)?, index("report", report, reports)?));
    }
    Ok(pairs.into_iter().collect())
}

/// The place of a number that counts from 1.
fn index(what: &str, number: u32, count: usize) -> Result<usize, String> {
    let index = usize::try_from(number).ok().and_then(|number| number.checked_sub(1));
    index.filter(|index| *index < count).ok_or_else(|| match count {
        1 => format!("there is no {what} {number}; there is only {what} 1"),
        _ => format!("there is no {what} {number}; they are numbered from 1 to {count}"),
    })
}

/// Texts in fences, each behind its number: what stands in one cannot pass for another.
fn numbered(word: &str, kind: &str, texts: &[String]) -> String {
    let each = texts.iter().enumerate();
    let each = each.map(|(at, text)| format!("{word} {}:\n{}", at + 1, fence(kind, text)));
    each.collect::<Vec<_>>().join("\n\n")
}

/// An expected issue: where, and what is wrong.
fn defect(expected: &Expected, places: Vec<String>) -> String {
    format!("place: {}\n{}", places.join("; "), shown(&expected.description))
}

/// A report: where, and what it says. Not who says it, how sure, and how grave it is called.
fn report(reported: &Reported) -> String {
    let title = cut(&one_line(&reported.title), TITLE_CHARS);
    format!("place: {}\n{title}\n{}", place(&reported.span), shown(&reported.text))
}

fn places(spans: &[Span]) -> Vec<String> {
    spans.iter().map(place).collect()
}

fn place(span: &Span) -> String {
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

fn shown(text: &str) -> String {
    cut(crh_review::visible(text).trim(), TEXT_CHARS)
}

#[cfg(test)]
pub(crate) mod sample;
#[cfg(test)]
mod tests;
