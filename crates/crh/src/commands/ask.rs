//! `crh ask`: asks a model one question, for debugging. With a workspace, the model can use the
//! review tools.

use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use serde_json::{Value, json};

use super::model_client::ModelClient;
use super::models::ModelResolver;
use super::{model_client, models, tool};
use crate::cli::{AskArgs, AskLimits};
use crate::config::environment::Environment;
use crate::config::keys::RawSettings;
use crate::failure::{Failure, FailureKind, OrFail};
use crate::{config, input, ui};
use crh_agent::{
    AgentOutcome, AgentRun, AgentRunEnd, AgentTask, Budget, CallPurpose, FinishedRun, NoTools,
    QuestionError, RunLimits, SubmitTool, Transcript, TranscriptDetail,
};
use crh_llm::{CacheMark, Conversation, Model, ModelRequest, OutputForm, StopCause, ToolSpec};
use crh_pipeline::tools::{ReviewTools, ToolError};

/// Caller name in transcripts and vendor logs.
const CALLER: &str = "ask";

pub(crate) fn run(args: AskArgs, environment: &Environment) -> Result<(), Failure> {
    let request = request(&args)?;
    let mut flags = RawSettings::default();
    args.model.clone().set(&mut flags)?;
    let settings = config::load(environment, None, flags)?;
    let models = ModelResolver::new(&settings, environment)?;
    let name = models.roles(&settings)?.reviewer;
    let tools = args.workspace.as_deref().map(|folder| tools(&args, folder, environment));
    let tools = tools.transpose()?;
    let transcript = transcript(&args, &models, environment)?;
    // Open the model last, because this may overwrite an existing recording.
    let model = models.open(&name, args.record.as_deref())?;
    let recorded_model = model.clone();
    let answer = match tools {
        Some(tools) => ask_with_tools(&args, request.conversation, model, transcript, tools),
        None => ask_without_tools(&args, request, model, transcript),
    };
    models::warn_if_recording_failed(&recorded_model);
    // The answer may contain an API key or token.
    print_answer(&models.redactor().redact(&answer?))
}

fn request(args: &AskArgs) -> Result<ModelRequest, Failure> {
    let prompt = match args.prompt.as_str() {
        "-" => String::from_utf8(input::bytes(Path::new("-"))?)
            .map_err(|_| Failure::usage("the question is not UTF-8").hint("pass UTF-8 text"))?,
        text => text.to_owned(),
    };
    if prompt.trim().is_empty() {
        return Err(
            Failure::usage("the question is empty").hint("example: `crh ask \"Is 7 prime?\"`")
        );
    }
    let mut conversation = Conversation::new(args.system.as_str());
    conversation.push_user(prompt, CacheMark::Unmarked);
    let mut request = ModelRequest::new(conversation, args.limits.max_output.get());
    if let Some(file) = &args.schema {
        let hint =
            "a schema is a JSON object, such as `{\"type\": \"object\", \"properties\": {}}`";
        let schema = input::json(file, "a JSON Schema").map_err(|failure| failure.hint(hint))?;
        request.output = OutputForm::Schema { name: "answer".to_owned(), schema };
    }
    Ok(request)
}

/// The tools over a workspace. Opens the repository now, so that crh reports a wrong repository
/// before the model costs money.
fn tools(args: &AskArgs, folder: &Path, environment: &Environment) -> Result<ReviewTools, Failure> {
    let open_failure = tool::OpenFailure::default();
    let context =
        tool::context_for_workspace(folder, args.repo.as_deref(), environment, &open_failure)?;
    match context.repository() {
        // A workspace made from a diff has no repository; the tools tell the model.
        Ok(_) | Err(ToolError::TellModel(_)) => Ok(ReviewTools::new(context)),
        Err(ToolError::Abort(message)) => {
            let failure = open_failure.lock().ok().and_then(|mut failure| failure.take());
            Err(failure.unwrap_or_else(|| {
                Failure::new(FailureKind::External, anyhow::anyhow!("{message}"))
            }))
        }
    }
}

fn transcript(
    args: &AskArgs,
    models: &ModelResolver<'_>,
    environment: &Environment,
) -> Result<Transcript, Failure> {
    let Some(file) = &args.transcript else { return Ok(Transcript::disabled()) };
    let file_name = file.display();
    let path = environment.folder.join(file);
    if path.symlink_metadata().is_ok() || args.record.as_ref() == Some(file) {
        return Err(Failure::usage(format!(
            "cannot write the transcript to `{file_name}`: the file already exists or is also the recording"
        ))
        .hint("name a new file"));
    }
    let detail =
        if args.log_content { TranscriptDetail::Full } else { TranscriptDetail::LengthsOnly };
    Transcript::append_to(&path, models.redactor(), detail)
        .with_context(|| format!("cannot write the transcript `{file_name}`"))
        .or_fail(FailureKind::Usage)
        .map_err(|failure| failure.hint("name a file in an existing, writable folder"))
}

/// Asks without tools; the reply is the answer.
fn ask_without_tools(
    args: &AskArgs,
    request: ModelRequest,
    model: Model,
    transcript: Transcript,
) -> Result<String, Failure> {
    let client = ModelClient::open(model, budget(&args.limits), NoTools, transcript)?;
    let reply = client.block_on(client.ask(CALLER, request));
    client.print_usage();
    let reply = reply.map_err(model_client::model_failure)?;
    let answer = reply.turn.full_text();
    match &reply.stop {
        StopCause::Done | StopCause::Calls => {}
        StopCause::Length => ui::warn("the answer was cut off; raise `--max-output`"),
        StopCause::Other(reason) => {
            ui::warn(&format!("the model stopped early: {reason}"));
        }
    }
    if answer.trim().is_empty() {
        return Err(Failure::new(
            FailureKind::External,
            anyhow::anyhow!("the model returned an empty answer"),
        )
        .hint("try again, or raise `--max-output`"));
    }
    if args.schema.is_some() && serde_json::from_str::<Value>(&answer).is_err() {
        ui::warn("the answer is not JSON: this server does not enforce the schema");
    }
    Ok(answer)
}

/// Asks with tools; the model submits its answer with a tool call.
fn ask_with_tools(
    args: &AskArgs,
    conversation: Conversation,
    model: Model,
    transcript: Transcript,
    tools: ReviewTools,
) -> Result<String, Failure> {
    let task = AgentTask {
        caller: CALLER.to_owned(),
        conversation,
        tools: ReviewTools::specs(),
        submit: answer_tool(),
        purpose: CallPurpose::Work,
        max_output_tokens: args.limits.max_output.get(),
        temperature: None,
        effort: None,
    };
    let run = AgentRun::new(task, limits(&args.limits), model.facts());
    let client = ModelClient::open(model, budget(&args.limits), tools, transcript)?;
    let FinishedRun { end: AgentRunEnd { outcome, limit_reached }, .. } = client.drive(run);
    client.print_usage();
    let reason = outcome.failure().unwrap_or_default();
    match outcome {
        AgentOutcome::Answered(answer) => {
            if let Some(limit) = limit_reached {
                ui::warn(&format!("limit reached ({limit}): the answer may be incomplete"));
            }
            Ok(answer)
        }
        AgentOutcome::Model(error) => Err(model_client::model_failure(QuestionError::Model(error))),
        AgentOutcome::OutOfBudget(refusal) => {
            Err(model_client::model_failure(QuestionError::Limit(refusal.limit)))
        }
        AgentOutcome::Aborted(_)
        | AgentOutcome::NoAnswer
        | AgentOutcome::BadAnswer(_)
        | AgentOutcome::Stuck
        | AgentOutcome::ContextFull(_)
        | AgentOutcome::Cancelled => {
            Err(Failure::new(FailureKind::External, anyhow::anyhow!("{reason}"))
                .hint("`--transcript FILE --log-content` logs the conversation"))
        }
    }
}

fn answer_tool() -> SubmitTool<String> {
    let spec = ToolSpec {
        name: "answer".to_owned(),
        description: "Gives the answer to the question. Call it once, when you are done."
            .to_owned(),
        schema: json!({
            "type": "object",
            "properties": { "text": { "type": "string", "description": "The whole answer" } },
            "required": ["text"],
            "additionalProperties": false,
        }),
    };
    SubmitTool::new(spec, |value| match &value["text"] {
        Value::String(text) => Ok(text.clone()),
        _ => Err("`text` is missing: it is the answer, as a string".to_owned()),
    })
}

/// Prints the answer. On a terminal, control characters are escaped.
fn print_answer(answer: &str) -> Result<(), Failure> {
    let mut text = if ui::stdout_is_terminal() {
        crh_review::escape_invisible(answer)
    } else {
        answer.to_owned()
    };
    if !text.ends_with('\n') {
        text.push('\n');
    }
    ui::result_text(&text)
}

fn budget(limits: &AskLimits) -> Budget {
    Budget {
        llm_calls: limits.max_turns.get(),
        tool_calls: limits.max_tool_calls,
        input_tokens: u64::MAX,
        wall: Duration::from_secs(limits.max_seconds.get().into()),
        money: limits.max_cost,
    }
}

fn limits(limits: &AskLimits) -> RunLimits {
    RunLimits {
        turns: limits.max_turns.get(),
        tool_calls: limits.max_tool_calls,
        tokens: u64::MAX,
        money: limits.max_cost,
        wall: Duration::from_secs(limits.max_seconds.get().into()),
    }
}
