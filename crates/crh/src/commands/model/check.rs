//! `crh model check`: a few short questions to a model, and what works of what crh needs.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use serde::Serialize;
use serde_json::{Value, json};

use crate::cli::{ListingArg, ModelCheckArgs};
use crate::commands::desk::Desk;
use crate::commands::models::Models;
use crate::commands::{desk, models};
use crate::config::environment::Environment;
use crate::config::keys::RawSettings;
use crate::failure::{Failure, Kind, OrFail};
use crate::{config, ui};
use crh_agent::{Budget, NoTools, Transcript, Unanswered};
use crh_llm::{
    Arguments, Cache, Conversation, Message, ModelName, Money, OutputForm, Progress, Reply,
    Request, ToolChoice, ToolResult, ToolSpec, Usage,
};
use crh_review::stable_json;

/// Enough for a sentence, and for a model that thinks before it writes one.
const ANSWER_TOKENS: u32 = 2_000;
/// Six questions, one of them twice, and room for each to be asked again.
const CALLS_MAX: u32 = 40;
/// All questions together; a model on a laptop takes its time.
const TIME_MAX: Duration = Duration::from_secs(600);
/// Who asks, in the vendor's logs.
const CALLER: &str = "check";
/// Vendors remember prompts from 1,024 tokens on, some from 4,096 on; this is some 5,000.
const CACHED_LINES: usize = 400;
const SYSTEM: &str = "You are being tested. Do exactly what is asked, and nothing else.";

/// What was tried, and what came of it.
#[derive(Serialize)]
struct Row {
    what: &'static str,
    works: bool,
    /// What was seen, or what was missing.
    seen: String,
}

#[derive(Serialize)]
struct Checked {
    model: String,
    checks: Vec<Row>,
    cost_usd: f64,
}

pub(crate) fn run(args: &ModelCheckArgs, environment: &Environment) -> Result<(), Failure> {
    let settings = config::load(environment, None, RawSettings::default())?;
    let models = Models::new(&settings, environment)?;
    let name: ModelName = args
        .model
        .parse()
        .or_fail(Kind::Usage)
        .map_err(|failure| failure.hint("`crh model list` shows providers and models"))?;
    let model = models.open(&name, args.record.as_deref())?;
    let pieces = Arc::new(AtomicU32::new(0));
    let counted = pieces.clone();
    let desk = Desk::open(model, budget(args.max_cost), NoTools, Transcript::none())?.watched_by(
        move |progress| match progress {
            Progress::Text(_) | Progress::Thought(_) => {
                counted.fetch_add(1, Ordering::Relaxed);
            }
            Progress::Started => {}
        },
    );
    let checks = desk.wait(checks(&desk, &pieces)).map_err(desk::unanswered);
    models::warn_of_recording(desk.model());
    let mut checks = checks.inspect_err(|_| desk.say_account())?;
    let redactor = models.redactor();
    for row in &mut checks {
        row.seen = redactor.redact(&row.seen).into_owned();
    }
    let checked = Checked {
        model: desk.model().name().to_owned(),
        checks,
        cost_usd: desk.spent().as_dollars(),
    };
    ui::result_text(&match args.format {
        ListingArg::Text => shown(&checked, desk.spent()),
        ListingArg::Json => stable_json(&checked).or_fail(Kind::Bug)?,
    })
}

async fn checks(desk: &Desk, pieces: &AtomicU32) -> Result<Vec<Row>, Unanswered> {
    let mut checks = text_and_streaming(desk, pieces).await?;
    checks.extend([tools(desk).await, schema(desk).await, caching(desk).await]);
    Ok(checks)
}

/// A model that does not answer a plain question is not there, and nothing else is asked.
async fn text_and_streaming(desk: &Desk, pieces: &AtomicU32) -> Result<Vec<Row>, Unanswered> {
    let question = "Count from one to ten in words, separated by commas.";
    let reply = desk.ask(CALLER, asking(question)).await?;
    let said = reply.turn.said();
    let pieces = pieces.load(Ordering::Relaxed);
    Ok(vec![
        row(
            "text",
            if said.is_empty() { Err("it said nothing".to_owned()) } else { Ok(excerpt(&said)) },
        ),
        row(
            "streaming",
            match pieces {
                0 | 1 => Err("the answer came in one piece".to_owned()),
                pieces => Ok(format!("{pieces} pieces")),
            },
        ),
        row(
            "usage",
            match reply.usage {
                Some(Usage { input, output, .. }) => {
                    Ok(format!("{input} tokens read, {output} written"))
                }
                None => Err("the vendor does not count tokens; every call is booked at its worst"
                    .to_owned()),
            },
        ),
    ])
}

/// One call, its result, and an answer that uses it.
async fn tools(desk: &Desk) -> Row {
    row("tools", tool_round(desk).await)
}

async fn tool_round(desk: &Desk) -> Result<String, String> {
    let schema = json!({
        "type": "object",
        "properties": { "city": { "type": "string", "description": "The city" } },
        "required": ["city"],
        "additionalProperties": false,
    });
    let tool = ToolSpec {
        name: "read_thermometer".to_owned(),
        description: "Reads the temperature in a city.".to_owned(),
        schema,
    };
    let mut request =
        asking("How warm is it in Oslo? Call the tool once, then answer with the number.");
    request.tools = vec![tool];
    request.tool_choice = ToolChoice::Required;
    let reply = desk.ask(CALLER, request.clone()).await.map_err(|error| error.to_string())?;
    let Some(call) = reply.turn.calls().next().cloned() else {
        return Err(format!("it called none: {}", excerpt(&reply.turn.said())));
    };
    match &call.arguments {
        Arguments::Json(arguments) if arguments["city"].is_string() => {}
        Arguments::Json(arguments) => return Err(format!("it called with {arguments}")),
        Arguments::Malformed(text) => {
            return Err(format!("it called with no JSON: {}", excerpt(text)));
        }
    }
    request.conversation.messages.push(Message::Assistant(reply.turn.clone()));
    let results = reply.turn.calls().map(|call| ToolResult {
        call_id: call.id.clone(),
        name: call.name.clone(),
        text: "-7 degrees".to_owned(),
    });
    request.conversation.messages.push(Message::Results(results.collect()));
    request.tool_choice = ToolChoice::Auto;
    let reply = desk.ask(CALLER, request).await.map_err(|error| error.to_string())?;
    let said = reply.turn.said();
    if said.contains('7') {
        Ok(format!("a call and its result: {}", excerpt(&said)))
    } else {
        Err(format!("it does not use the result: {}", excerpt(&said)))
    }
}

async fn schema(desk: &Desk) -> Row {
    let mut request =
        asking("Name the capital of Norway and how many letters its name has, as JSON.");
    request.output = OutputForm::Schema {
        name: "capital".to_owned(),
        schema: json!({
            "type": "object",
            "properties": { "capital": { "type": "string" }, "letters": { "type": "integer" } },
            "required": ["capital", "letters"],
            "additionalProperties": false,
        }),
    };
    let outcome = match desk.ask(CALLER, request).await {
        Err(error) => Err(error.to_string()),
        Ok(reply) => {
            let said = reply.turn.said();
            match serde_json::from_str::<Value>(&said) {
                Ok(value) if value["capital"].is_string() && value["letters"].is_i64() => {
                    Ok(excerpt(&said))
                }
                Ok(_) | Err(_) => Err(format!("not of the schema: {}", excerpt(&said))),
            }
        }
    };
    row("schema", outcome)
}

/// The same long beginning twice: what the vendor counts as read from its cache the second time.
async fn caching(desk: &Desk) -> Row {
    let long: String = (0..CACHED_LINES)
        .map(|line| format!("{line}: the quick brown fox jumps over the dog\n"))
        .collect();
    let request = |question: &str| {
        let mut conversation = Conversation::new(SYSTEM);
        conversation.say(long.as_str(), Cache::Breakpoint);
        conversation.say(question, Cache::Unmarked);
        Request::new(conversation, ANSWER_TOKENS)
    };
    let both = async {
        desk.ask(CALLER, request("Answer with the word one.")).await?;
        desk.ask(CALLER, request("Answer with the word two.")).await
    };
    let outcome = match both.await {
        Err(error) => Err(error.to_string()),
        Ok(Reply { usage: Some(usage), .. }) if usage.cache_read > 0 => Ok(format!(
            "{} of {} tokens read from the vendor's cache",
            usage.cache_read, usage.input
        )),
        Ok(_) => Err("the second call read nothing from the vendor's cache".to_owned()),
    };
    row("caching", outcome)
}

fn budget(money: Money) -> Budget {
    Budget { llm_calls: CALLS_MAX, tool_calls: 0, input_tokens: u64::MAX, wall: TIME_MAX, money }
}

fn asking(question: &str) -> Request {
    let mut conversation = Conversation::new(SYSTEM);
    conversation.say(question, Cache::Unmarked);
    Request::new(conversation, ANSWER_TOKENS)
}

fn row(what: &'static str, outcome: Result<String, String>) -> Row {
    let works = outcome.is_ok();
    let (Ok(seen) | Err(seen)) = outcome;
    Row { what, works, seen }
}

/// The beginning of what a model said, on one line.
fn excerpt(said: &str) -> String {
    const SHOWN: usize = 60;
    let line = said.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("`{}…`", &line[..end]),
        None => format!("`{line}`"),
    }
}

fn shown(checked: &Checked, spent: Money) -> String {
    let mut out = format!("{}\n", crh_review::visible(&checked.model));
    for Row { what, works, seen } in &checked.checks {
        let mark = if *works { "works" } else { "no" };
        out += &format!("  {what:10}  {mark:5}  {}\n", crh_review::visible(seen));
    }
    out + &format!("  it cost {spent}\n")
}
