//! `crh ask`: one question to a model, for debugging; with a workspace, a whole agent run over its tools.

use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use serde_json::{Value, json};

use super::desk::Desk;
use super::models::Models;
use super::{desk, models, tool};
use crate::cli::{AskArgs, AskLimits};
use crate::config::environment::Environment;
use crate::config::keys::RawSettings;
use crate::failure::{Failure, Kind, OrFail};
use crate::{config, input, ui};
use crh_agent::{
    Budget, Contents, Driven, Ended, Limits, NoTools, Outcome, Purpose, Run, Submit, Task,
    Transcript, Unanswered,
};
use crh_llm::{Cache, Conversation, Model, OutputForm, Request, Stop, ToolSpec};
use crh_pipeline::tools::{BenchTools, ToolError};

/// Who asks, in transcripts and in the vendor's logs.
const CALLER: &str = "ask";

pub(crate) fn run(args: AskArgs, environment: &Environment) -> Result<(), Failure> {
    let request = request(&args)?;
    let mut flags = RawSettings::default();
    args.model.clone().set(&mut flags)?;
    let settings = config::load(environment, None, flags)?;
    let models = Models::new(&settings, environment)?;
    let name = models.roles(&settings)?.reviewer;
    let tools = args.workspace.as_deref().map(|folder| tools(&args, folder, environment));
    let tools = tools.transpose()?;
    let transcript = transcript(&args, &models, environment)?;
    // Last, since it may replace a recording that is there.
    let model = models.open(&name, args.record.as_deref())?;
    let asked = model.clone();
    let answered = match tools {
        Some(tools) => with_tools(&args, request.conversation, model, transcript, tools),
        None => alone(&args, request, model, transcript),
    };
    models::warn_of_recording(&asked);
    // The one thing that a model could print which is nobody's to read.
    answer(&models.redactor().redact(&answered?))
}

fn request(args: &AskArgs) -> Result<Request, Failure> {
    let prompt = match args.prompt.as_str() {
        "-" => String::from_utf8(input::bytes(Path::new("-"))?).map_err(|_| {
            Failure::usage("the question is not UTF-8").hint("a model reads text alone")
        })?,
        given => given.to_owned(),
    };
    if prompt.trim().is_empty() {
        return Err(Failure::usage("the question is empty").hint("`crh ask \"Is 7 prime?\"`"));
    }
    let mut conversation = Conversation::new(args.system.as_str());
    conversation.say(prompt, Cache::Unmarked);
    let mut request = Request::new(conversation, args.limits.max_output.get());
    if let Some(file) = &args.schema {
        let hint = "it is a JSON object, such as `{\"type\": \"object\", \"properties\": {}}`";
        let schema = input::json(file, "a JSON Schema").map_err(|failure| failure.hint(hint))?;
        request.output = OutputForm::Schema { name: "answer".to_owned(), schema };
    }
    Ok(request)
}

/// The tools over a workspace. Its repository is opened now: nobody wants to pay for finding out that it is another.
fn tools(args: &AskArgs, folder: &Path, environment: &Environment) -> Result<BenchTools, Failure> {
    let not_opened = tool::NotOpened::default();
    let bench = tool::on_folder(folder, args.repo.as_deref(), environment, &not_opened)?;
    match bench.repository() {
        // A change that is only a diff has none; its tools say so.
        Ok(_) | Err(ToolError::TellModel(_)) => Ok(BenchTools::new(bench)),
        Err(ToolError::Abort(message)) => {
            let failure = not_opened.lock().ok().and_then(|mut failure| failure.take());
            Err(failure
                .unwrap_or_else(|| Failure::new(Kind::Outside, anyhow::anyhow!("{message}"))))
        }
    }
}

fn transcript(
    args: &AskArgs,
    models: &Models<'_>,
    environment: &Environment,
) -> Result<Transcript, Failure> {
    let Some(file) = &args.transcript else { return Ok(Transcript::none()) };
    let shown = file.display();
    let path = environment.folder.join(file);
    if path.symlink_metadata().is_ok() || args.record.as_ref() == Some(file) {
        return Err(Failure::usage(format!(
            "the transcript needs a file of its own: `{shown}` is taken"
        ))
        .hint("name a file that is not there yet"));
    }
    let contents = if args.log_content { Contents::Full } else { Contents::Withheld };
    Transcript::to(&path, models.redactor(), contents)
        .with_context(|| format!("writing the transcript `{shown}`"))
        .or_fail(Kind::Usage)
        .map_err(|failure| failure.hint("name a file in a folder that is there and can be written"))
}

/// A question without tools: the answer is whatever the model says.
fn alone(
    args: &AskArgs,
    request: Request,
    model: Model,
    transcript: Transcript,
) -> Result<String, Failure> {
    let desk = Desk::open(model, budget(&args.limits), NoTools, transcript)?;
    let asked = desk.wait(desk.ask(CALLER, request));
    desk.say_account();
    let reply = asked.map_err(desk::unanswered)?;
    let said = reply.turn.said();
    match &reply.stop {
        Stop::Done | Stop::Calls => {}
        Stop::Length => ui::warn("the answer was cut off; `--max-output` allows for more"),
        Stop::Other(reason) => {
            ui::warn(&format!("the model stopped for a reason of its own: {reason}"));
        }
    }
    if said.trim().is_empty() {
        return Err(Failure::new(Kind::Outside, anyhow::anyhow!("the model said nothing"))
            .hint("ask again, or allow for more with `--max-output`"));
    }
    if args.schema.is_some() && serde_json::from_str::<Value>(&said).is_err() {
        ui::warn("the answer is not JSON: the model's server does not hold it to the schema");
    }
    Ok(said)
}

/// A question with tools: the model looks around and submits its answer.
fn with_tools(
    args: &AskArgs,
    conversation: Conversation,
    model: Model,
    transcript: Transcript,
    tools: BenchTools,
) -> Result<String, Failure> {
    let task = Task {
        caller: CALLER.to_owned(),
        conversation,
        tools: BenchTools::specs(),
        submit: submit(),
        purpose: Purpose::Work,
        max_output_tokens: args.limits.max_output.get(),
        temperature: None,
        effort: None,
    };
    let run = Run::new(task, limits(&args.limits), model.facts());
    let desk = Desk::open(model, budget(&args.limits), tools, transcript)?;
    let Driven { ended: Ended { outcome, limited }, .. } = desk.drive(run);
    desk.say_account();
    let why = outcome.failure().unwrap_or_default();
    match outcome {
        Outcome::Answered(said) => {
            if let Some(limit) = limited {
                ui::warn(&format!("a limit was reached ({limit}): the answer may be incomplete"));
            }
            Ok(said)
        }
        Outcome::Model(error) => Err(desk::unanswered(Unanswered::Model(error))),
        Outcome::OutOfBudget(limit) => Err(desk::unanswered(Unanswered::Limit(limit))),
        Outcome::Aborted(_)
        | Outcome::NoAnswer
        | Outcome::BadAnswer(_)
        | Outcome::Stuck
        | Outcome::ContextFull
        | Outcome::Cancelled => Err(Failure::new(Kind::Outside, anyhow::anyhow!("{why}"))
            .hint("`--transcript FILE --log-content` writes down what was said")),
    }
}

fn submit() -> Submit<String> {
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
    Submit::new(spec, |value| match &value["text"] {
        Value::String(text) => Ok(text.clone()),
        _ => Err("`text` is missing: it is the answer, as a string".to_owned()),
    })
}

/// Prints an answer. A person's terminal is not for a model to act on.
fn answer(said: &str) -> Result<(), Failure> {
    let mut said = if ui::shows_to_person() { crh_review::visible(said) } else { said.to_owned() };
    if !said.ends_with('\n') {
        said.push('\n');
    }
    ui::result_text(&said)
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

fn limits(limits: &AskLimits) -> Limits {
    Limits {
        turns: limits.max_turns.get(),
        tool_calls: limits.max_tool_calls,
        tokens: u64::MAX,
        money: limits.max_cost,
        wall: Duration::from_secs(limits.max_seconds.get().into()),
    }
}
