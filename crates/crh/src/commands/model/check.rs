//! `crh model check`: tests the features that crh needs with a few short questions.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use serde::Serialize;
use serde_json::{Value, json};

use crate::cli::{ListFormatArg, ModelCheckArgs};
use crate::commands::model_client::ModelClient;
use crate::commands::models::ModelResolver;
use crate::commands::{model_client, models};
use crate::config::environment::Environment;
use crate::config::keys::RawSettings;
use crate::failure::{Failure, FailureKind, OrFail};
use crate::{config, ui};
use crh_agent::{Budget, NoTools, QuestionError, Transcript};
use crh_llm::{
    CacheMark, CallArguments, Conversation, Message, ModelName, ModelReply, ModelRequest, Money,
    OutputForm, ReplyProgress, TokenUsage, ToolChoice, ToolResult, ToolSpec,
};
use crh_pipeline::review_options::MIN_CONTEXT;
use crh_review::stable_json;

/// Enough for a sentence, even of a model that thinks first.
const ANSWER_TOKENS: u32 = 2_000;
/// Six questions, plus retries.
const CALLS_MAX: u32 = 40;
/// Time limit for all questions; local models are slow.
const TIME_MAX: Duration = Duration::from_secs(600);
/// Caller name in vendor logs.
const CALLER: &str = "check";
/// Vendors cache prompts from 1,024 or 4,096 tokens on; these lines are about 5,000 tokens.
const CACHED_LINES: usize = 400;
const SYSTEM: &str = "You are being tested. Do exactly what is asked, and nothing else.";

/// Result of one test.
#[derive(Serialize)]
struct ModelCheckRow {
    #[serde(rename = "what")]
    name: &'static str,
    works: bool,
    /// The model's answer or a measured value; if the test failed, the reason.
    #[serde(rename = "seen")]
    observation: String,
}

#[derive(Serialize)]
struct ModelCheckReport {
    model: String,
    checks: Vec<ModelCheckRow>,
    /// What the results mean for reviews.
    conclusion: String,
    cost_usd: f64,
}

pub(crate) fn run(args: &ModelCheckArgs, environment: &Environment) -> Result<(), Failure> {
    let settings = config::load(environment, None, RawSettings::default())?;
    let models = ModelResolver::new(&settings, environment)?;
    let name: ModelName = args
        .model
        .parse()
        .or_fail(FailureKind::Usage)
        .map_err(|failure| failure.hint("`crh model list` shows providers and models"))?;
    let model = models.open(&name, args.record.as_deref())?;
    let pieces = Arc::new(AtomicU32::new(0));
    let counter = pieces.clone();
    let client = ModelClient::open(model, budget(args.max_cost), NoTools, Transcript::disabled())?
        .with_progress(move |progress| match progress {
            ReplyProgress::Text(_) | ReplyProgress::Thought(_) => {
                counter.fetch_add(1, Ordering::Relaxed);
            }
            ReplyProgress::Started => {}
        });
    let checks = client.block_on(checks(&client, &pieces)).map_err(model_client::model_failure);
    models::warn_if_recording_failed(client.model());
    let mut checks = checks.inspect_err(|_| client.print_usage())?;
    let redactor = models.redactor();
    for row in &mut checks {
        row.observation = redactor.redact(&row.observation).into_owned();
    }
    // A local server tells its context length only after it has loaded the model for the questions.
    let context = models.open(&name, None)?.facts().context;
    let checked = ModelCheckReport {
        model: client.model().name().to_owned(),
        conclusion: conclusion(&checks, context),
        checks,
        cost_usd: client.spent().as_dollars(),
    };
    ui::result_text(&match args.format {
        ListFormatArg::Text => report_text(&checked, client.spent()),
        ListFormatArg::Json => stable_json(&checked).or_fail(FailureKind::Bug)?,
    })?;
    let works = |name: &str| works(&checked.checks, name);
    let is_large = context >= MIN_CONTEXT;
    let problem = match (works("text"), works("tools") || works("schema")) {
        (true, true) if is_large => return Ok(()),
        (true, true) => "has too small a context for reviews",
        (true, false) => "is too weak for reviews",
        (false, _) => "gave an empty answer",
    };
    let error = anyhow::anyhow!("`{}` {problem}", checked.model);
    Err(Failure::new(FailureKind::External, error).hint("use another model"))
}

async fn checks(
    client: &ModelClient,
    pieces: &AtomicU32,
) -> Result<Vec<ModelCheckRow>, QuestionError> {
    // A local model may take minutes.
    let announce = |test: &str| ui::note(&format!("testing {test}"));
    announce("text, streaming and usage");
    let mut checks = text_and_streaming(client, pieces).await?;
    announce("tools");
    checks.push(tools(client).await);
    announce("schema");
    checks.push(schema(client).await);
    announce("caching");
    checks.push(caching(client).await);
    Ok(checks)
}

/// An error at this plain question ends the command: no further test would work.
async fn text_and_streaming(
    client: &ModelClient,
    pieces: &AtomicU32,
) -> Result<Vec<ModelCheckRow>, QuestionError> {
    let question = "Count from one to ten in words, separated by commas.";
    let reply = client.ask(CALLER, request(question)).await?;
    let answer = reply.turn.full_text();
    let pieces = pieces.load(Ordering::Relaxed);
    Ok(vec![
        row(
            "text",
            if answer.is_empty() { Err("empty answer".to_owned()) } else { Ok(excerpt(&answer)) },
        ),
        row(
            "streaming",
            match pieces {
                0 | 1 => Err("the answer was not streamed".to_owned()),
                pieces => Ok(format!("{pieces} chunks")),
            },
        ),
        row(
            "usage",
            match reply.usage {
                Some(TokenUsage { input, output, .. }) => {
                    Ok(format!("{input} input tokens, {output} output tokens"))
                }
                None => Err(
                    "the vendor reports no token counts, so every call is charged at its maximum"
                        .to_owned(),
                ),
            },
        ),
    ])
}

/// Tests a tool call, its result, and an answer that uses it.
async fn tools(client: &ModelClient) -> ModelCheckRow {
    row("tools", tool_round(client).await)
}

async fn tool_round(client: &ModelClient) -> Result<String, String> {
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
        request("How warm is it in Oslo? Call the tool once, then answer with the number.");
    request.tools = vec![tool];
    request.tool_choice = ToolChoice::Required;
    let reply = client.ask(CALLER, request.clone()).await.map_err(|error| error.to_string())?;
    let Some(call) = reply.turn.calls().next().cloned() else {
        return Err(format!("the model called no tool: {}", excerpt(&reply.turn.full_text())));
    };
    match &call.arguments {
        CallArguments::Json(arguments) if arguments["city"].is_string() => {}
        CallArguments::Json(arguments) => {
            return Err(format!("the model called the tool with {arguments}"));
        }
        CallArguments::Malformed(text) => {
            return Err(format!("the tool arguments are not JSON: {}", excerpt(text)));
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
    let reply = client.ask(CALLER, request).await.map_err(|error| error.to_string())?;
    let answer = reply.turn.full_text();
    if answer.contains('7') {
        Ok(format!("called the tool and used its result: {}", excerpt(&answer)))
    } else {
        Err(format!("the answer ignores the tool result: {}", excerpt(&answer)))
    }
}

async fn schema(client: &ModelClient) -> ModelCheckRow {
    let mut request =
        request("Name the capital of Norway and how many letters its name has, as JSON.");
    request.output = OutputForm::Schema {
        name: "capital".to_owned(),
        schema: json!({
            "type": "object",
            "properties": { "capital": { "type": "string" }, "letters": { "type": "integer" } },
            "required": ["capital", "letters"],
            "additionalProperties": false,
        }),
    };
    let outcome = match client.ask(CALLER, request).await {
        Err(error) => Err(error.to_string()),
        Ok(reply) => {
            let answer = reply.turn.full_text();
            match serde_json::from_str::<Value>(&answer) {
                Ok(value) if value["capital"].is_string() && value["letters"].is_i64() => {
                    Ok(excerpt(&answer))
                }
                Ok(_) | Err(_) => Err(format!("does not match the schema: {}", excerpt(&answer))),
            }
        }
    };
    row("schema", outcome)
}

/// Sends the same long prefix twice and checks whether the vendor reports cached tokens.
async fn caching(client: &ModelClient) -> ModelCheckRow {
    let long_prefix: String = (0..CACHED_LINES)
        .map(|line| format!("{line}: the quick brown fox jumps over the dog\n"))
        .collect();
    let request = |question: &str| {
        let mut conversation = Conversation::new(SYSTEM);
        conversation.push_user(long_prefix.as_str(), CacheMark::Breakpoint);
        conversation.push_user(question, CacheMark::Unmarked);
        ModelRequest::new(conversation, ANSWER_TOKENS)
    };
    let two_requests = async {
        client.ask(CALLER, request("Answer with the word one.")).await?;
        client.ask(CALLER, request("Answer with the word two.")).await
    };
    let outcome = match two_requests.await {
        Err(error) => Err(error.to_string()),
        Ok(ModelReply { usage: Some(usage), .. }) if usage.cache_read > 0 => Ok(format!(
            "{} of {} tokens read from the vendor's cache",
            usage.cache_read, usage.input
        )),
        Ok(_) => Err("the second call read no tokens from the vendor's cache".to_owned()),
    };
    row("caching", outcome)
}

fn budget(money: Money) -> Budget {
    Budget { llm_calls: CALLS_MAX, tool_calls: 0, input_tokens: u64::MAX, wall: TIME_MAX, money }
}

fn request(question: &str) -> ModelRequest {
    let mut conversation = Conversation::new(SYSTEM);
    conversation.push_user(question, CacheMark::Unmarked);
    ModelRequest::new(conversation, ANSWER_TOKENS)
}

fn row(name: &'static str, outcome: Result<String, String>) -> ModelCheckRow {
    let works = outcome.is_ok();
    let (Ok(observation) | Err(observation)) = outcome;
    ModelCheckRow { name, works, observation }
}

/// The beginning of a reply, on one line.
fn excerpt(reply: &str) -> String {
    const SHOWN: usize = 60;
    let line = reply.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("`{}…`", &line[..end]),
        None => format!("`{line}`"),
    }
}

fn report_text(checked: &ModelCheckReport, spent: Money) -> String {
    let mut out = format!("{}\n", crh_review::escape_invisible(&checked.model));
    for ModelCheckRow { name, works, observation } in &checked.checks {
        let mark = if *works { "works" } else { "no" };
        out += &format!("  {name:10}  {mark:5}  {}\n", crh_review::escape_invisible(observation));
    }
    out + &format!("  cost: {spent}\n{}\n", checked.conclusion)
}

fn works(checks: &[ModelCheckRow], name: &str) -> bool {
    checks.iter().any(|row| row.name == name && row.works)
}

/// What the results mean for reviews with this model. `context` is its context length in tokens.
fn conclusion(checks: &[ModelCheckRow], context: u64) -> String {
    let works = |name: &str| works(checks, name);
    if works("text") && context < MIN_CONTEXT {
        return format!(
            "crh cannot review with this model: its context has {context} tokens, and a review needs at least {MIN_CONTEXT}.\nStart the server with a larger context."
        );
    }
    let mut sentences = vec![match (works("text"), works("tools"), works("schema")) {
        (false, _, _) => "crh cannot review with this model: it gives no answer.",
        (true, true, _) => "crh can review with this model.",
        (true, false, true) => {
            "crh can review with this model, but without native tool calls the reviews are weaker: set `tools = false` for it in `models`."
        }
        (true, false, false) => {
            "This model is too weak for reviews: neither tool calls nor JSON answers work."
        }
    }];
    if works("text") && !works("usage") {
        sentences.push("Costs are estimates, since the server counts no tokens.");
    }
    if works("text") && !works("caching") {
        sentences.push("Long reviews cost more, since the server caches no prompts.");
    }
    sentences.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_context_is_too_small_for_reviews() {
        let checks = ["text", "tools", "schema", "usage"].map(|name| row(name, Ok(String::new())));
        let first_line = |context| conclusion(&checks, context).lines().next().unwrap().to_owned();
        assert_eq!(first_line(MIN_CONTEXT), "crh can review with this model.");
        assert_eq!(
            first_line(2_048),
            format!(
                "crh cannot review with this model: its context has 2048 tokens, and a review needs at least {MIN_CONTEXT}."
            )
        );
    }
}
