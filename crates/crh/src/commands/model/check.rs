//! `crh model check`: tests the features that crh needs with a few short questions.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use serde::Serialize;
use serde_json::{Value, json};

use crate::cli::{ListFormatArg, ModelCheckArgs};
use crate::commands::model_client::ModelClient;
use crate::commands::models::{ModelResolver, ServerContext};
use crate::commands::{model_client, models};
use crate::config::environment::Environment;
use crate::config::keys::RawSettings;
use crate::failure::{Failure, FailureKind, OrFail};
use crate::{config, ui};
use crh_agent::{Budget, NoTools, QuestionError, Transcript};
use crh_llm::{
    CacheMark, CallArguments, Conversation, Message, ModelError, ModelName, ModelRequest, Money,
    OutputForm, Price, ReplyProgress, TokenUsage, ToolChoice, ToolResult, ToolSpec,
};
use crh_pipeline::review_options::MIN_CONTEXT;
use crh_review::stable_json;

/// Maximum output tokens of an answer: enough for a sentence, even if the model thinks first.
const ANSWER_TOKENS: u32 = 2_000;
/// Maximum model calls: six questions, plus retries.
const CALLS_MAX: u32 = 40;
/// Time limit for all questions; local models are slow.
const TIME_MAX: Duration = Duration::from_secs(600);
/// Time without output of the model after which crh prints that it waits. Local models read a short
/// prompt in less time.
const WAIT_NOTE_DELAY: Duration = Duration::from_secs(20);
/// Caller name in vendor logs.
const CALLER: &str = "check";
/// Lines of the prompt that tests caching: about 5,000 tokens. Vendors cache prompts from 1,024 or
/// 4,096 tokens on.
const CACHED_LINES: usize = 400;
/// Context length in the suggested entry of the config, as in [`LARGER_CONTEXT`].
const SUGGESTED_CONTEXT: u64 = 32_768;
/// Hint for too small a context.
const LARGER_CONTEXT: &str = "give it a larger context: `OLLAMA_CONTEXT_LENGTH=32768 ollama serve`, `lms load MODEL --context-length 32768` or `llama-server -c 32768`";
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
    let (model, first_context) = models.open_with_context(&name, args.record.as_deref())?;
    let pieces = Arc::new(AtomicU32::new(0));
    let counter = pieces.clone();
    let client = ModelClient::open(model, budget(args.max_cost), NoTools, Transcript::disabled())?
        .with_progress(move |progress| match progress {
            ReplyProgress::Text(_) | ReplyProgress::Thought(_) => {
                counter.fetch_add(1, Ordering::Relaxed);
            }
            ReplyProgress::Started => {}
        });
    let checks = client.block_on(async {
        tokio::select! {
            checks = checks(&client, &pieces) => checks,
            never = announce_waits(&pieces) => match never {},
        }
    });
    let checks = checks.map_err(model_client::model_failure);
    models::warn_if_recording_failed(client.model());
    let mut checks = checks.inspect_err(|_| client.print_usage())?;
    let redactor = models.redactor();
    for row in &mut checks {
        row.observation = redactor.redact(&row.observation).into_owned();
    }
    let facts = client.model().facts();
    let context = match (&name, first_context) {
        // Ollama does not report the length later either.
        (_, Some(assumed @ ServerContext::Assumed(_))) => Some(assumed),
        // LM Studio chooses the context length at the first question.
        (ModelName::Live(_), _) => {
            models.open_with_context(&name, None).ok().and_then(|(_, context)| context)
        }
        (ModelName::Replay(_), _) => None,
    };
    let context = context.unwrap_or(ServerContext::Told(facts.context));
    let price = match facts.price.as_ref() == Some(&Price::free()) {
        true => CallPrice::Free,
        false => CallPrice::Charged,
    };
    let checked = ModelCheckReport {
        model: client.model().name().to_owned(),
        conclusion: conclusion(&checks, context, price, &name),
        checks,
        cost_usd: client.spent().as_dollars(),
    };
    ui::result_text(&match args.format {
        ListFormatArg::Text => report_text(&checked, client.spent()),
        ListFormatArg::Json => stable_json(&checked).or_fail(FailureKind::Bug)?,
    })?;
    let Some((problem, hint)) = problem_and_hint(&checked.checks, context) else {
        return Ok(());
    };
    let error = anyhow::anyhow!("`{}` {problem}", checked.model);
    Err(Failure::new(FailureKind::External, error).hint(hint))
}

/// Why crh cannot review with the model, and what to do; `None` if it can.
fn problem_and_hint(
    checks: &[ModelCheckRow],
    context: ServerContext,
) -> Option<(&'static str, &'static str)> {
    let works = |name: &str| works(checks, name);
    match (works("text"), works("tools") || works("schema")) {
        (true, _) if context.tokens() < MIN_CONTEXT => Some(match context {
            ServerContext::Told(_) | ServerContext::BelowConfigured { .. } => {
                ("has too small a context for reviews", LARGER_CONTEXT)
            }
            ServerContext::Assumed(_) => (
                "may have too small a context for reviews",
                "set `context` in your config to the length that `ollama ps` or Ollama's log shows",
            ),
        }),
        (true, true) => None,
        (true, false) => Some(("is too weak for reviews", "use another model")),
        (false, _) => Some(("gave an empty answer", "use another model")),
    }
}

/// Prints a note whenever the model has sent nothing for a while.
async fn announce_waits(pieces: &AtomicU32) -> Infallible {
    let mut seen = pieces.load(Ordering::Relaxed);
    loop {
        tokio::time::sleep(WAIT_NOTE_DELAY).await;
        let now = pieces.load(Ordering::Relaxed);
        if now == seen {
            let seconds = WAIT_NOTE_DELAY.as_secs();
            ui::note(&format!("the model has sent nothing for {seconds} s; crh waits"));
        }
        seen = now;
    }
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
    checks.push(row("tools", unless_server_failed(tool_round(client).await)?));
    announce("schema");
    checks.push(row("schema", unless_server_failed(schema(client).await)?));
    announce("caching");
    checks.push(row("caching", unless_server_failed(caching(client).await)?));
    Ok(checks)
}

/// Asks a plain question. An error ends the command, because no further test would work.
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
                    "the server reports no token counts, so crh counts the maximum for every call"
                        .to_owned(),
                ),
            },
        ),
    ])
}

/// Why a test failed.
enum CheckProblem {
    /// The model answered, but not as the test requires.
    Observed(String),
    Question(QuestionError),
}

impl From<QuestionError> for CheckProblem {
    fn from(error: QuestionError) -> Self {
        Self::Question(error)
    }
}

/// The result of a test. If the server did not answer, the test says nothing about the model, and
/// the error ends the check.
fn unless_server_failed(
    result: Result<String, CheckProblem>,
) -> Result<Result<String, String>, QuestionError> {
    match result {
        Ok(observation) => Ok(Ok(observation)),
        Err(CheckProblem::Observed(observation)) => Ok(Err(observation)),
        Err(CheckProblem::Question(
            error @ QuestionError::Model(
                ModelError::NoServer { .. }
                | ModelError::Transport { .. }
                | ModelError::CutStream { .. }
                | ModelError::RateLimited { .. }
                | ModelError::Overloaded { .. }
                | ModelError::Loading { .. }
                | ModelError::Stalled { .. }
                | ModelError::Broken { .. },
            ),
        )) => Err(error),
        Err(CheckProblem::Question(error)) => Ok(Err(error.to_string())),
    }
}

/// Tests a tool call, its result, and an answer that uses it.
async fn tool_round(client: &ModelClient) -> Result<String, CheckProblem> {
    let observed = |text: String| Err(CheckProblem::Observed(text));
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
    let reply = client.ask(CALLER, request.clone()).await?;
    let (turn, form) = match crh_agent::call_in_text(&reply, &request.tools) {
        Some(turn) if reply.turn.calls().next().is_none() => (turn, "wrote a call of"),
        Some(_) | None => (reply.turn.clone(), "called"),
    };
    let Some(call) = turn.calls().next().cloned() else {
        return observed(format!("the model called no tool: {}", excerpt(&turn.full_text())));
    };
    match &call.arguments {
        CallArguments::Json(arguments) if arguments["city"].is_string() => {}
        CallArguments::Json(arguments) => {
            return observed(format!("the model called the tool with {arguments}"));
        }
        CallArguments::Malformed(text) => {
            return observed(format!("the tool arguments are not JSON: {}", excerpt(text)));
        }
    }
    request.conversation.messages.push(Message::Assistant(turn.clone()));
    let results = turn.calls().map(|call| ToolResult {
        call_id: call.id.clone(),
        name: call.name.clone(),
        text: "-7 degrees".to_owned(),
    });
    request.conversation.messages.push(Message::Results(results.collect()));
    request.tool_choice = ToolChoice::Auto;
    let reply = client.ask(CALLER, request).await?;
    let answer = reply.turn.full_text();
    if answer.contains('7') {
        Ok(format!("{form} the tool and used its result: {}", excerpt(&answer)))
    } else {
        observed(format!("the answer ignores the tool result: {}", excerpt(&answer)))
    }
}

async fn schema(client: &ModelClient) -> Result<String, CheckProblem> {
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
    let answer = client.ask(CALLER, request).await?.turn.full_text();
    match serde_json::from_str::<Value>(&answer) {
        Ok(value) if value["capital"].is_string() && value["letters"].is_i64() => {
            Ok(excerpt(&answer))
        }
        Ok(_) | Err(_) => {
            let text = format!("does not match the schema: {}", excerpt(&answer));
            Err(CheckProblem::Observed(text))
        }
    }
}

/// Sends the same long prefix twice and checks whether the vendor reports cached tokens.
async fn caching(client: &ModelClient) -> Result<String, CheckProblem> {
    let long_prefix: String = (0..CACHED_LINES)
        .map(|line| format!("{line}: the quick brown fox jumps over the dog\n"))
        .collect();
    let request = |question: &str| {
        let mut conversation = Conversation::new(SYSTEM);
        conversation.push_user(long_prefix.as_str(), CacheMark::Breakpoint);
        conversation.push_user(question, CacheMark::Unmarked);
        ModelRequest::new(conversation, ANSWER_TOKENS)
    };
    client.ask(CALLER, request("Answer with the word one.")).await?;
    match client.ask(CALLER, request("Answer with the word two.")).await?.usage {
        Some(usage) if usage.cache_read > 0 => Ok(format!(
            "{} of {} tokens read from the vendor's cache",
            usage.cache_read, usage.input
        )),
        Some(_) | None => {
            let text = "the server reported no cached tokens for the second call";
            Err(CheckProblem::Observed(text.to_owned()))
        }
    }
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

/// Whether calls of the model cost money.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CallPrice {
    Charged,
    Free,
}

/// What the results mean for reviews with this model.
fn conclusion(
    checks: &[ModelCheckRow],
    context: ServerContext,
    price: CallPrice,
    name: &ModelName,
) -> String {
    let works = |name: &str| works(checks, name);
    if works("text") && context.tokens() < MIN_CONTEXT {
        return match context {
            ServerContext::Told(tokens) => format!(
                "crh cannot review with this model: its context has {tokens} tokens, and a review needs at least {MIN_CONTEXT}."
            ),
            ServerContext::BelowConfigured { told, configured } => format!(
                "crh cannot review with this model: its context has {told} tokens on the server, although your config says {configured}, and a review needs at least {MIN_CONTEXT}."
            ),
            ServerContext::Assumed(tokens) => format!(
                "crh cannot tell whether it can review with this model: Ollama does not tell its context length, crh assumed {tokens} tokens, and a review needs at least {MIN_CONTEXT}. If it is larger, add to your config:\n{}",
                model_entry(name, &format!("context = {SUGGESTED_CONTEXT}"))
            ),
        };
    }
    let mut sentences = vec![match (works("text"), works("tools"), works("schema")) {
        (false, _, _) => "crh cannot review with this model: it gives no answer.".to_owned(),
        (true, true, _) => "crh can review with this model.".to_owned(),
        (true, false, true) => format!(
            "crh can review with this model, but without tool calls the reviews are weaker. Add to your config:\n{}",
            model_entry(name, "tools = false")
        ),
        (true, false, false) => {
            "This model is too weak for reviews: neither tool calls nor JSON answers work."
                .to_owned()
        }
    }];
    if works("text") {
        sentences.extend(context_sentences(context));
    }
    if works("text") && !works("usage") && price == CallPrice::Charged {
        sentences.push("Costs are estimates, since the server counts no tokens.".to_owned());
    }
    if works("text") && !works("caching") && price == CallPrice::Charged {
        sentences.push("Long reviews cost more, since the server caches no prompts.".to_owned());
    }
    sentences.join("\n")
}

/// What a context that is large enough for a review means for it.
fn context_sentences(context: ServerContext) -> impl Iterator<Item = String> {
    let contradiction = match context {
        ServerContext::BelowConfigured { told, configured } => Some(format!(
            "The server's context has {told} tokens, although your config says {configured}."
        )),
        ServerContext::Told(_) | ServerContext::Assumed(_) => None,
    };
    let tokens = context.tokens();
    let limit = (tokens < SUGGESTED_CONTEXT).then(|| {
        format!("Its context of {tokens} tokens is enough for small changes; larger ones need {SUGGESTED_CONTEXT}.")
    });
    contradiction.into_iter().chain(limit)
}

/// The entry of the model in the config, with one setting.
fn model_entry(name: &ModelName, setting: &str) -> String {
    let key = match name {
        ModelName::Live(live) => format!("{}:{}", live.provider, live.model),
        ModelName::Replay(_) => name.to_string(),
    };
    // A JSON string is a TOML string, too.
    format!("  [models.{}]\n  {setting}", Value::String(key))
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn conclusion_depends_on_the_context() {
        let checks = ["text", "tools", "schema", "usage"].map(|name| row(name, Ok(String::new())));
        let name: ModelName = "ollama:m".parse().unwrap();
        let conclusion = |context| conclusion(&checks, context, CallPrice::Free, &name);
        let first_line = |tokens| {
            let told = conclusion(ServerContext::Told(tokens));
            told.lines().next().unwrap().to_owned()
        };
        let assumed = conclusion(ServerContext::Assumed(4_096));
        assert!(assumed.contains("crh assumed 4096 tokens"), "{assumed}");
        assert!(assumed.ends_with("\n  [models.\"ollama:m\"]\n  context = 32768"), "{assumed}");
        assert_eq!(first_line(MIN_CONTEXT), "crh can review with this model.");
        let configured = 65_536;
        expect![[r#"
            crh can review with this model.
            The server's context has 8192 tokens, although your config says 65536.
            Its context of 8192 tokens is enough for small changes; larger ones need 32768."#]]
        .assert_eq(&conclusion(ServerContext::BelowConfigured { told: 8_192, configured }));
        let enough = conclusion(ServerContext::Told(SUGGESTED_CONTEXT));
        assert_eq!(enough, "crh can review with this model.");
        assert_eq!(
            first_line(2_048),
            format!(
                "crh cannot review with this model: its context has 2048 tokens, and a review needs at least {MIN_CONTEXT}."
            )
        );
    }
}
