//! The script language of these tests. A snapshot holds both sides: lines with `> ` are events for
//! the run, the other lines are its steps.
//!
//! An event answers one step. For a question: calls and text separated by ` ; ` (`read a`, `submit
//! done`, `"text"`), or `refused LIMIT`, `failed KIND`, `cancel`. For calls: one outcome each (`ok
//! TEXT`, `sorry TEXT`, `abort TEXT`). Prefixes set options: `cut` (stopped by length), `in=N`,
//! `out=N` (usage, also of a failure), `cost=CENTS`, `t=SECONDS` (duration of the step).
//!
//! A question lists what it adds to the conversation beyond the last events. `- ` marks an event
//! that the conversation lacks, and `~ ` a changed message.

use std::time::Duration;

use expect_test::Expect;
use serde_json::{Value, json};

use crate::{
    AgentRun, AgentTask, CallCost, CallPurpose, CostBasis, EstimatedRequest, LimitKind, RunLimits,
    RunStep, SubmitTool, ToolOutcome,
};
use crh_llm::{
    Abilities, CacheMark, CallArguments, Conversation, Message, ModelError, ModelFacts, ModelReply,
    ModelRequest, Money, OutputForm, Price, Rates, StopCause, Thinking, TokenUsage, ToolCall,
    ToolChoice, ToolSpec, Turn, TurnPart,
};

/// A run with generous limits and a model that can do everything.
pub(super) struct Case {
    pub(super) limits: RunLimits,
    pub(super) enough_results: Option<u32>,
    pub(super) facts: ModelFacts,
    pub(super) tools: Vec<ToolSpec>,
    pub(super) submit_schema: Value,
    /// Changes the submit tool.
    pub(super) submit_tool: fn(SubmitTool<String>) -> SubmitTool<String>,
}

pub(super) fn case() -> Case {
    let tool = |name: &str| {
        spec(name, json!({"type": "object", "properties": {"path": {"type": "string"}}}))
    };
    Case {
        limits: RunLimits {
            turns: 20,
            tool_calls: 20,
            tokens: 1_000_000,
            money: Money::cents(100),
            wall: Duration::from_secs(900),
        },
        enough_results: None,
        facts: ModelFacts {
            context: 100_000,
            max_output: 8_000,
            price: None,
            abilities: Abilities { tools: true, schema: true, effort: false },
        },
        tools: vec![tool("grep"), tool("read")],
        submit_schema: json!({"type": "object"}),
        submit_tool: |tool| tool,
    }
}

pub(super) fn spec(name: &str, schema: Value) -> ToolSpec {
    ToolSpec { name: name.to_owned(), description: format!("Does {name}."), schema }
}

impl Case {
    pub(super) fn limits(mut self, change: impl FnOnce(&mut RunLimits)) -> Self {
        change(&mut self.limits);
        self
    }

    pub(super) fn facts(mut self, change: impl FnOnce(&mut ModelFacts)) -> Self {
        change(&mut self.facts);
        self
    }

    /// One cent per thousand input or output tokens.
    pub(super) fn priced(self) -> Self {
        let token = Money::cents(1).per_million().times(1000);
        let rates = Rates { input: token, cache_read: token, cache_write: token, output: token };
        self.facts(|facts| facts.price = Some(Price { rates, long: None }))
    }

    pub(super) fn run(&self) -> AgentRun<String> {
        self.run_with_task("TASK")
    }

    pub(super) fn run_with_task(&self, task_text: &str) -> AgentRun<String> {
        let mut conversation = Conversation::new("RULES");
        conversation.push_user(task_text, CacheMark::Breakpoint);
        let submit = SubmitTool::new(spec("submit", self.submit_schema.clone()), read_answer);
        let task = AgentTask {
            caller: "tester".to_owned(),
            conversation,
            tools: self.tools.clone(),
            submit: (self.submit_tool)(submit),
            purpose: CallPurpose::Work,
            max_output_tokens: 1_000,
            temperature: None,
            effort: None,
        };
        AgentRun::new(task, self.limits, &self.facts).with_enough_results(self.enough_results)
    }

    /// Plays the events of a snapshot to the end of the run and compares the steps.
    pub(super) fn check(&self, expected: Expect) {
        let events = expected.data.lines().filter_map(|line| line.trim().strip_prefix("> "));
        let report = self.play(events);
        expected.assert_eq(&report);
    }

    pub(super) fn play<'a>(&self, events: impl IntoIterator<Item = &'a str>) -> String {
        let mut run = self.run();
        let mut report = StepReport::default();
        let mut elapsed = Duration::ZERO;
        for event in events {
            let step = run.next(elapsed);
            let again = format!("{:?}", run.next(elapsed));
            assert_eq!(format!("{step:?}"), again, "the same step without news");
            report.add_step(&step);
            report.text += &format!("> {event}\n");
            let (options, event) = line_options(event);
            elapsed += options.time;
            report.expect_messages(&step, event);
            feed_line(&mut run, &step, &options, event);
        }
        let step = run.next(elapsed);
        report.add_step(&step);
        let report = report.text;
        assert!(matches!(step, RunStep::Stop(_)), "the script ends before the run:\n{report}");
        report
    }
}

pub(super) fn read_answer(value: Value) -> Result<String, String> {
    let text = value.get("path").and_then(Value::as_str).map(str::to_owned);
    text.ok_or_else(|| "`path` is missing.".to_owned())
}

struct LineOptions {
    stop: StopCause,
    usage: Option<TokenUsage>,
    cost: Money,
    time: Duration,
}

/// Splits a line into its options and the rest.
fn line_options(mut line: &str) -> (LineOptions, &str) {
    let mut options = LineOptions {
        stop: StopCause::Done,
        usage: None,
        cost: Money::ZERO,
        time: Duration::from_secs(1),
    };
    while let Some((word, rest)) = line.split_once(' ') {
        let value = word.split_once('=').map(|(key, value)| (key, value.parse::<u64>().unwrap()));
        match value {
            Some(("in", input)) => options.usage.get_or_insert_default().input = input,
            Some(("out", output)) => options.usage.get_or_insert_default().output = output,
            Some(("cost", cents)) => options.cost = Money::cents(cents),
            Some(("t", seconds)) => options.time = Duration::from_secs(seconds),
            Some((other, _)) => panic!("{other}?"),
            None if word == "cut" => options.stop = StopCause::Length,
            None => break,
        }
        line = rest;
    }
    (options, line)
}

fn feed_line(
    run: &mut AgentRun<String>,
    step: &RunStep<String>,
    options: &LineOptions,
    line: &str,
) {
    if line == "cancel" {
        return run.cancel();
    }
    match step {
        RunStep::Ask(ask) => match line.split_once(' ') {
            Some(("refused", limit)) => run.on_refusal(parse_limit(limit)),
            Some(("failed", kind)) => {
                if let Some(usage) = options.usage {
                    run.record_cost(CallCost {
                        usage,
                        money: options.cost,
                        basis: CostBasis::Worst,
                    });
                }
                run.on_failure(error(kind));
            }
            _ => {
                let parts = line
                    .split(" ; ")
                    .enumerate()
                    .map(|(index, part)| parse_part(index, part))
                    .collect();
                let reply = ModelReply {
                    turn: Turn { parts },
                    stop: options.stop.clone(),
                    usage: options.usage,
                    served: None,
                };
                let output = ask.request.max_output_tokens.into();
                let worst = TokenUsage { input: ask.input, output, ..TokenUsage::default() };
                let (usage, basis) = match options.usage {
                    Some(usage) => (usage, CostBasis::Counted),
                    None => (worst, CostBasis::Worst),
                };
                run.record_cost(CallCost { usage, money: options.cost, basis });
                run.on_reply(reply);
            }
        },
        RunStep::CallTools(_) => run.on_tool_results(line.split(" ; ").map(outcome).collect()),
        RunStep::Stop(_) => panic!("the run has stopped before: {line}"),
    }
}

/// Parses `"text"` (`⏎` is a line break), `~thoughts`, `read a` (a path), `read !broken` (invalid JSON), `submit {}`
/// (JSON).
fn parse_part(index: usize, part: &str) -> TurnPart {
    if let Some(text) = part.strip_prefix('"') {
        return TurnPart::Text(text.trim_end_matches('"').replace('⏎', "\n"));
    }
    if let Some(text) = part.strip_prefix('~') {
        return TurnPart::Thinking(Thinking::Readable {
            text: Some(text.repeat(20)),
            signature: None,
        });
    }
    if part.starts_with("{\"") {
        return TurnPart::Text(part.to_owned());
    }
    let (name, arguments) = part.split_once(' ').unwrap_or((part, "{}"));
    let arguments = match arguments.strip_prefix('!') {
        Some(text) => CallArguments::Malformed(text.to_owned()),
        None if arguments.starts_with('{') => {
            CallArguments::Json(serde_json::from_str(arguments).unwrap())
        }
        None => CallArguments::Json(json!({ "path": arguments })),
    };
    // Ids repeat in every turn, as with vendors that send none.
    TurnPart::Call(ToolCall {
        id: format!("c{index}"),
        name: name.to_owned(),
        arguments,
        signatures: Vec::new(),
    })
}

fn outcome(text: &str) -> ToolOutcome {
    match text.split_once(' ') {
        Some(("ok", text)) => ToolOutcome::Answered(long(text)),
        Some(("changed", text)) => ToolOutcome::Changed(text.to_owned()),
        Some(("sorry", text)) => ToolOutcome::Failed(text.to_owned()),
        Some(("abort", text)) => ToolOutcome::Abort(text.to_owned()),
        _ => panic!("{text}?"),
    }
}

/// Expands `x*5000` to a long text.
fn long(text: &str) -> String {
    match text.split_once('*') {
        Some((text, times)) => text.repeat(times.parse().unwrap()),
        None => text.to_owned(),
    }
}

fn parse_limit(name: &str) -> LimitKind {
    serde_json::from_value(name.into()).unwrap()
}

fn error(kind: &str) -> ModelError {
    let (kind, message) = kind.split_once(": ").unwrap_or((kind, ""));
    let message = message.to_owned();
    match kind {
        "context" => ModelError::ContextFull { message },
        "request" => ModelError::BadRequest { message },
        "overloaded" => ModelError::Overloaded { retry_after: None, message },
        "key" => ModelError::BadKey { message },
        _ => panic!("{kind}?"),
    }
}

/// The printed steps of a run.
#[derive(Default)]
struct StepReport {
    text: String,
    /// Messages of the last question.
    printed_messages: Vec<Message>,
    /// Lines of the last events, which the next question repeats.
    expected_lines: Vec<String>,
}

impl StepReport {
    fn add_step(&mut self, step: &RunStep<String>) {
        match step {
            RunStep::Ask(ask) => self.add_question(ask),
            RunStep::CallTools(calls) => {
                let calls: Vec<_> = calls.iter().map(call_text).collect();
                self.text += &format!("call {}\n", calls.join("; "));
            }
            RunStep::Stop(end) => {
                let limited = end.limit_reached.map(|limit| format!(", limited by {limit:?}"));
                self.text += &format!("stop {:?}{}\n", end.outcome, limited.unwrap_or_default());
            }
        }
    }

    fn add_question(&mut self, ask: &EstimatedRequest) {
        self.text += &format!("ask {}\n", question_text(&ask.request, ask.purpose));
        let mut new_lines = String::new();
        let messages = &ask.request.conversation.messages;
        for (index, message) in messages.iter().enumerate() {
            let mark = match self.printed_messages.get(index) {
                Some(before) if before == message => continue,
                Some(_) => "~ ",
                None => "  ",
            };
            for line in message_lines(message) {
                match self.expected_lines.iter().position(|expected| *expected == line) {
                    Some(position) => drop(self.expected_lines.remove(position)),
                    None if index == 0 => {}
                    None => new_lines += &format!("  {mark}{line}\n"),
                }
            }
        }
        let lacking = self.expected_lines.drain(..).map(|line| format!("  - {line}\n"));
        self.text += &(lacking.collect::<String>() + &new_lines);
        self.printed_messages.clone_from(messages);
    }

    /// Remembers the lines that an event adds to the conversation.
    fn expect_messages(&mut self, step: &RunStep<String>, event: &str) {
        let is_reply =
            !["cancel", "refused ", "failed "].iter().any(|word| event.starts_with(word));
        let parts = event.split(" ; ").enumerate();
        match step {
            RunStep::Ask(_) if is_reply => {
                let part = |(index, part)| part_text(&parse_part(index, part));
                self.expected_lines.extend(parts.map(part));
            }
            RunStep::CallTools(calls) if is_reply => {
                let line = |((_, text), call): ((usize, &str), &ToolCall)| match outcome(text) {
                    ToolOutcome::Answered(text)
                    | ToolOutcome::Changed(text)
                    | ToolOutcome::Failed(text)
                    | ToolOutcome::Abort(text) => result_text(&call.id, &call.name, &text),
                };
                self.expected_lines.extend(parts.zip(calls).map(line));
            }
            RunStep::Ask(_) | RunStep::CallTools(_) | RunStep::Stop(_) => {}
        }
    }
}

fn question_text(request: &ModelRequest, purpose: CallPurpose) -> String {
    let choice = match &request.tool_choice {
        ToolChoice::Auto => String::new(),
        ToolChoice::Required => ", has to call".to_owned(),
        ToolChoice::Named(name) => format!(", has to {name}"),
    };
    let protocol = match (&request.output, request.tools.is_empty()) {
        (OutputForm::Schema { schema, .. }, _) => {
            let keys: Vec<_> =
                schema["properties"].as_object().unwrap().keys().map(String::as_str).collect();
            format!(" by schema ({})", keys.join(", "))
        }
        (OutputForm::Text, true) => " in words".to_owned(),
        (OutputForm::Text, false) => String::new(),
    };
    format!("{purpose:?}{choice}{protocol}")
}

fn call_text(call: &ToolCall) -> String {
    match &call.arguments {
        CallArguments::Json(value) => match value.get("path").and_then(Value::as_str) {
            Some(path) => format!("{} {path}", call.name),
            None => format!("{} {value}", call.name),
        },
        CallArguments::Malformed(text) => format!("{} !{text}", call.name),
    }
}

fn message_lines(message: &Message) -> Vec<String> {
    match message {
        Message::User(text) => vec![format!("user: {}", short(&text.text))],
        Message::Assistant(turn) => turn.parts.iter().map(part_text).collect(),
        Message::Results(results) => results
            .iter()
            .map(|result| result_text(&result.call_id, &result.name, &result.text))
            .collect(),
    }
}

fn result_text(call_id: &str, name: &str, text: &str) -> String {
    format!("{call_id} {name}: {}", short(text))
}

fn part_text(part: &TurnPart) -> String {
    match part {
        TurnPart::Text(text) => format!("model: {}", short(text)),
        TurnPart::Thinking(_) => "model thinks".to_owned(),
        TurnPart::Call(call) => format!("model calls {}: {}", call.id, call_text(call)),
    }
}

fn short(text: &str) -> String {
    let text = text.replace('\n', "⏎");
    match text.char_indices().nth(80) {
        Some((end, _)) => format!("{}… ({} characters)", &text[..end], text.chars().count()),
        None => text,
    }
}
