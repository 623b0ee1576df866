//! Models that answer as real ones do: with the right findings, but not in the ideal form.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

use super::count::Tokens;
use super::editor::publish_all;
use super::request::{FakeRequest, PromptPart};
use super::script::{ScriptedReply, calls, calls_all, says, says_nothing};

/// Delay of a late answer: longer than any step of crh, shorter than a test may wait.
const LATE: Duration = Duration::from_millis(300);

/// Prompt tokens that a server with a tiny context reads. No real server has a smaller context.
const CUT_TOKENS: u64 = 1024;

/// Name of the first sub-agent, and the id of its first finding.
const FIRST_SUB_AGENT: &str = "sub-agent-1";
const FINDING_ID: &str = "1.1";

/// How a reviewing model behaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Behaviour {
    /// Several tool calls in one turn, then the answer.
    SeveralCalls,
    /// The answer is JSON in a Markdown fence.
    FencedAnswer,
    /// The same tool call in three turns, then the answer.
    RepeatedCalls,
    /// A title of several hundred characters.
    LongTitle,
    /// A quote of a part of the line.
    ShortQuote,
    /// Fields that the schema does not have.
    ExtraFields,
    /// A list of steps in prose, then the answer.
    NumberedSteps,
    /// An answer after a while.
    Late,
    /// An empty answer, then the right one.
    EmptyFirst,
    /// Only empty answers.
    AlwaysEmpty,
    /// Only prose.
    OnlyProse,
    /// The server cuts the prompt and says so in its token counts.
    TruncatedPrompt,
}

impl Behaviour {
    /// All behaviours.
    pub const ALL: [Self; 12] = [
        Self::SeveralCalls,
        Self::FencedAnswer,
        Self::RepeatedCalls,
        Self::LongTitle,
        Self::ShortQuote,
        Self::ExtraFields,
        Self::NumberedSteps,
        Self::Late,
        Self::EmptyFirst,
        Self::AlwaysEmpty,
        Self::OnlyProse,
        Self::TruncatedPrompt,
    ];

    /// Whether the model gives a usable answer in the end.
    pub fn answers(self) -> bool {
        !matches!(self, Self::AlwaysEmpty | Self::OnlyProse | Self::TruncatedPrompt)
    }
}

/// A model that finds one issue in the first review of a change, in every role of crh.
#[derive(Debug)]
pub struct BehavingModel {
    behaviour: Behaviour,
    /// The finding, with an ideal quote.
    finding: Value,
    /// Number of answers so far. Each answer has a title of its own.
    answer_count: AtomicUsize,
    /// Titles of the findings in all answers that no later answer replaced.
    titles: Mutex<Vec<String>>,
}

impl BehavingModel {
    /// A model with this finding.
    pub fn new(behaviour: Behaviour, finding: Value) -> Self {
        Self { behaviour, finding, answer_count: AtomicUsize::new(0), titles: Mutex::default() }
    }

    /// Fails unless a JSON report has each sent finding exactly once: as a member of an issue, or
    /// dropped. crh cuts long titles, so only their start counts.
    ///
    /// # Panics
    ///
    /// If a finding is lost or appears twice.
    pub fn assert_one_fate_each(&self, report: &Value, what: &str) {
        let rows = |name: &str| report[name].as_array().cloned().unwrap_or_default();
        let issues = ["issues", "over_cap", "pre_existing"].into_iter().flat_map(rows);
        let members = issues.flat_map(|issue| issue["members"].as_array().cloned().unwrap());
        let members = members.map(|member| member["finding"]["title"].clone());
        // A duplicate is a member of its issue, too.
        let dropped = rows("suppressed").into_iter().filter(|dropped| dropped["into"].is_null());
        let dropped = dropped.map(|dropped| match &dropped["member"] {
            Value::Null => dropped["raw"]["title"].clone(),
            member => member["finding"]["title"].clone(),
        });
        let reported: Vec<Value> = members.chain(dropped).collect();
        for title in self.titles.lock().unwrap().iter() {
            let start: String = title.chars().take(40).collect();
            let is_same = |it: &&Value| it.as_str().is_some_and(|it| it.starts_with(&start));
            let fates = reported.iter().filter(is_same).count();
            assert_eq!(fates, 1, "{title:?} in {reported:?}: {what}");
        }
    }

    /// The answer to a request.
    pub fn answer(&self, request: &FakeRequest) -> ScriptedReply {
        if let Some(reply) = publish_all(request) {
            return reply;
        }
        let parts = request.prompt_parts();
        let results = parts.iter().filter(|part| matches!(part, PromptPart::Result(_))).count();
        match (request.caller.as_str(), submit_tool(&parts)) {
            ("orchestrator", _) => self.orchestrate(&parts),
            ("single", _) => {
                let turn = Turn { results, marks: false, reads: false };
                self.review("submit_review_result", &parts, turn)
            }
            (_, "report_checks") => confirm(&parts),
            (_, tool @ "report_scout") => {
                calls(tool, json!({ "intent": "Orders have a mean.", "reviewers": [] }))
            }
            (_, tool @ "report_requirements") => calls(tool, json!({ "requirements": [] })),
            (_, tool @ "report_notes") => calls(tool, json!({ "notes": [] })),
            // The orchestrator delegates only the file of the finding. Other sub-agents get the
            // other files.
            (caller, tool) if caller.starts_with("sub-agent") && caller != FIRST_SUB_AGENT => {
                calls(tool, json!({ "findings": [], "summary": "Looked at it." }))
            }
            (caller, tool) => {
                let marks = caller == FIRST_SUB_AGENT;
                let tools = request.body["tools"].to_string();
                let reads = tools.contains("\"repo_read\"") && tool == "report_findings";
                self.review(tool, &parts, Turn { results, marks, reads })
            }
        }
    }

    fn orchestrate(&self, parts: &[PromptPart]) -> ScriptedReply {
        let results = parts.iter().filter_map(|part| match part {
            PromptPart::Result(text) => Some(text.as_str()),
            _ => None,
        });
        let results: Vec<&str> = results.collect();
        let file = self.finding["file"].clone();
        if results.is_empty() {
            let scope = json!({ "scope": "orders", "files": [file] });
            return calls("delegate_review", json!({ "scopes": [scope] }));
        }
        // Only the first sub-agent reports a finding, and at most one.
        let is_reported = results.iter().any(|text| text.contains(FINDING_ID));
        let ids: Vec<&str> = is_reported.then_some(FINDING_ID).into_iter().collect();
        calls("submit_review", json!({ "keep": ids, "drop": [], "summary": "Looked at it." }))
    }

    /// The answer of a reviewer.
    fn review(&self, submit: &str, parts: &[PromptPart], turn: Turn) -> ScriptedReply {
        let Turn { results, marks, reads } = turn;
        let file = self.finding["file"].as_str().unwrap_or_default().to_owned();
        let spoke = parts.iter().any(|part| matches!(part, PromptPart::Assistant(_)));
        let look = || ("repo_read", json!({ "path": file }));
        let mark = || ("mark_file_reviewed", json!({ "path": file }));
        match self.behaviour {
            Behaviour::AlwaysEmpty => return says_nothing(),
            Behaviour::OnlyProse => return says("The change looks fine to me. Ship it!"),
            Behaviour::TruncatedPrompt => {
                let usage = Tokens { input: CUT_TOKENS, output: 20, ..Tokens::default() };
                let reply = match marks && results == 0 {
                    true => calls_all([mark()]),
                    false => calls(submit, json!({ "findings": [], "summary": "Nothing." })),
                };
                return reply.usage(usage);
            }
            Behaviour::SeveralCalls if reads && results == 0 => {
                let listed = [look(), ("repo_ls", json!({ "path": "." }))];
                return calls_all(listed.into_iter().chain(marks.then(mark)));
            }
            Behaviour::RepeatedCalls if reads && results < 3 => {
                return calls_all([look()].into_iter().chain((marks && results == 0).then(mark)));
            }
            Behaviour::NumberedSteps if results == 0 && !spoke => {
                return says("1. I read the diff.\n2. I look for bugs.\n3. I report them.");
            }
            Behaviour::EmptyFirst if results == 0 && !spoke && !reminded(parts) => {
                return says_nothing();
            }
            _ => {}
        }
        if marks && results == 0 {
            return calls_all([mark()]);
        }
        // crh refused the answers so far, so this one replaces them.
        let said = |part: &PromptPart| match part {
            PromptPart::Assistant(text) | PromptPart::Call { arguments: text, .. } => text.clone(),
            _ => String::new(),
        };
        let said: String = parts.iter().map(said).collect();
        self.titles.lock().unwrap().retain(|title| !said.contains(title));
        let answer = json!({ "findings": [self.next_finding()], "summary": "Looked at it." });
        match self.behaviour {
            Behaviour::FencedAnswer => says(format!("Here it is:\n\n```json\n{answer:#}\n```\n")),
            Behaviour::Late => calls(submit, answer).delayed(LATE),
            Behaviour::ExtraFields => {
                let mut answer = answer;
                answer["mood"] = json!("good");
                calls(submit, answer)
            }
            _ => calls(submit, answer),
        }
    }

    /// The finding with a title of its own.
    fn next_finding(&self) -> Value {
        let mut titles = self.titles.lock().unwrap();
        let mut finding = self.finding.clone();
        let number = self.answer_count.fetch_add(1, Ordering::SeqCst) + 1;
        let mut title =
            format!("{} ({number})", self.finding["title"].as_str().unwrap_or_default());
        match self.behaviour {
            Behaviour::LongTitle => title += &" and then it goes on and on".repeat(20),
            Behaviour::ShortQuote => {
                let quote = finding["evidence"][0]["snippet"].as_str().unwrap_or_default();
                let half: String = quote.chars().take(quote.chars().count() * 2 / 3).collect();
                finding["evidence"][0]["snippet"] = json!(half);
            }
            Behaviour::ExtraFields => {
                finding["cwe"] = json!("CWE-369");
                finding["evidence"][0]["comment"] = json!("this line");
            }
            _ => {}
        }
        finding["title"] = json!(title);
        titles.push(title);
        finding
    }
}

/// Where a reviewer is in its work.
#[derive(Debug, Clone, Copy)]
struct Turn {
    /// Number of tool results so far.
    results: usize,
    /// Whether it must mark files as reviewed.
    marks: bool,
    /// Whether it can read files.
    reads: bool,
}

/// The tool that the last instructions ask for. All agents of a review see the same tools.
fn submit_tool(parts: &[PromptPart]) -> &'static str {
    const TOOLS: [&str; 5] =
        ["report_scout", "report_requirements", "report_notes", "report_checks", "report_findings"];
    let asked = parts.iter().rev().find_map(|part| match part {
        PromptPart::User(text) => TOOLS.into_iter().find(|tool| text.contains(tool)),
        _ => None,
    });
    asked.unwrap_or("report_findings")
}

/// Whether the last user message is a reminder of crh and not the task.
fn reminded(parts: &[PromptPart]) -> bool {
    let users = parts.iter().filter(|part| matches!(part, PromptPart::User(_))).count();
    let last = parts.iter().rev().find_map(|part| match part {
        PromptPart::User(text) => Some(text.len()),
        _ => None,
    });
    users > 1 && last.is_some_and(|length| length < 500)
}

/// Confirms every claim of a validation.
fn confirm(parts: &[PromptPart]) -> ScriptedReply {
    let text = parts.iter().rev().find_map(|part| match part {
        PromptPart::User(text) => Some(text.as_str()),
        _ => None,
    });
    let ids = text.unwrap_or_default().lines().filter_map(|line| line.strip_prefix("id: "));
    let check = |id| json!({ "id": id, "verdict": "confirmed", "reason": "The line shows it." });
    calls("report_checks", json!({ "checks": ids.map(check).collect::<Vec<_>>() }))
}
