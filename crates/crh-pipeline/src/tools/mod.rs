//! What an agent may ask for. A tool is a type: the words a model reads and the schema of its arguments are
//! derived from its input, and what it answers is cut to size in one place.
//!
//! To add one: a type with a [`Tool`] impl in the file it belongs to, and a line in `TOOLS`.
//!
//! Invariants: no tool writes outside the workspace, starts a process but git (for log and blame) and ruff (in the sandbox), or reaches
//! the network; every call ends in time and every reply has a bound.

mod agent_spec;
mod arguments;
#[path = "context.rs"]
mod bench;
mod calc;
mod change;
mod comments;
mod diff;
mod files;
mod function;
mod grep;
mod history;
#[path = "similarity.rs"]
mod nearest;
#[path = "read_only.rs"]
mod reading;
mod reply;
mod repo;
pub mod session;
#[path = "review_tools.rs"]
mod toolbox;

use std::sync::atomic::Ordering;
use std::sync::mpsc;
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

pub(crate) use arguments::{described, read as read_arguments};
pub use bench::Bench;
pub(crate) use reading::ReadingTools;
pub use reply::Reply;
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
pub use toolbox::BenchTools;

use crate::workspace::{Outside, WorkspaceError};

/// How often a waiting call looks whether the whole run was stopped. People do not notice less.
const PATIENCE: Duration = Duration::from_millis(20);

/// A tool, open to more: each is a type in a file of its own kind.
///
/// Implementers keep three promises: `answer` looks at [`Bench::stop`] wherever it could take long, it names no
/// path outside the workspace and the repository, and it answers the same for the same input.
pub trait Tool {
    /// What a model calls it.
    const NAME: &'static str;
    /// Whether it reads one small thing and can take no longer than that. It is then done where it is called; all
    /// others are done on a thread that nobody has to wait for.
    const READS_ONE_THING: bool = false;
    /// Its arguments. The doc comments on the type and its fields are what the model reads.
    type Input: DeserializeOwned + JsonSchema;
    /// Does it.
    fn answer(input: Self::Input, bench: &Bench) -> Result<Reply, ToolError>;
}

/// What went wrong with a call: one kind goes back to the model, the other ends the run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ToolError {
    /// The model can do something about it: this is the reply it gets.
    #[error("{0}")]
    TellModel(String),
    /// Nothing that a model says can help.
    #[error("{0}")]
    Abort(String),
}

/// A tool as a model is told of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Described {
    /// What to call.
    pub name: &'static str,
    /// What it does.
    pub words: String,
    /// The JSON Schema of its arguments.
    pub schema: Value,
}

/// What a call may cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// After this the caller gets an answer, whatever the tool does.
    pub time: Duration,
    /// How many characters a reply has at the most, the notice about what is missing included.
    pub chars: usize,
}

impl Limits {
    /// Ten seconds, after which a model does better to ask for less; and 80,000 characters, some 20,000
    /// tokens, which leave room for many replies in any model's context.
    pub const USUAL: Self = Self { time: Duration::from_secs(10), chars: 80_000 };
}

/// A tool without its type.
struct Entry {
    name: &'static str,
    reads_one_thing: bool,
    described: fn() -> Described,
    answer: fn(Value, &Bench) -> Result<Reply, ToolError>,
}

const fn entry<T: Tool>() -> Entry {
    Entry {
        name: T::NAME,
        reads_one_thing: T::READS_ONE_THING,
        described: || {
            let (words, schema) = described::<T::Input>();
            Described { name: T::NAME, words, schema }
        },
        answer: |value, bench| T::answer(arguments::read(value)?, bench),
    }
}

/// All tools, in the order in which models are told of them.
static TOOLS: &[Entry] = &[
    entry::<files::Read>(),
    entry::<grep::Grep>(),
    entry::<files::Find>(),
    entry::<files::Ls>(),
    entry::<change::MpMetadata>(),
    entry::<change::PreviewDiffsList>(),
    entry::<diff::DiffListFiles>(),
    entry::<diff::DiffGetFile>(),
    entry::<diff::DiffNumbered>(),
    entry::<diff::DiffMapLine>(),
    entry::<comments::CommentsGeneral>(),
    entry::<comments::CommentsInline>(),
    entry::<change::AgentFilesList>(),
    entry::<change::MarkFileReviewed>(),
    entry::<repo::RepoRead>(),
    entry::<repo::RepoLs>(),
    entry::<repo::RepoGrep>(),
    entry::<repo::RepoStat>(),
    entry::<history::RepoLog>(),
    entry::<history::RepoBlame>(),
    entry::<agent_spec::ReadFile>(),
    entry::<agent_spec::SearchCode>(),
    entry::<agent_spec::RunRuff>(),
    entry::<function::GetFunctionContext>(),
    entry::<calc::Calc>(),
];

/// All tools, in a stable order.
pub fn catalogue() -> Vec<Described> {
    TOOLS.iter().map(|tool| (tool.described)()).collect()
}

/// Calls a tool with its arguments as JSON. The reply is text, as a model gets it.
pub fn call(name: &str, arguments_json: &str, bench: &Bench) -> Result<String, ToolError> {
    call_within(Limits::USUAL, name, arguments_json, bench)
}

/// Calls a tool with limits of one's own.
pub fn call_within(
    limits: Limits,
    name: &str,
    arguments_json: &str,
    bench: &Bench,
) -> Result<String, ToolError> {
    let Some(tool) = TOOLS.iter().find(|tool| tool.name == name) else {
        return Err(unknown(name));
    };
    let arguments = arguments::parse(arguments_json)?;
    let answer = tool.answer;
    if tool.reads_one_thing && !bench.is_cancelled() {
        return answer(arguments, bench)?.within(limits.chars);
    }
    in_time(limits.time, tool.name, bench, move |bench| {
        answer(arguments, bench)?.within(limits.chars)
    })
}

fn unknown(name: &str) -> ToolError {
    let names = TOOLS.iter().map(|tool| tool.name);
    let near = nearest::nearest(name, names);
    let near: Vec<_> = near.iter().take(3).map(|name| format!("`{name}`")).collect();
    ToolError::TellModel(format!("there is no tool `{name}`; did you mean {}?", near.join(", ")))
}

/// Does the work on a thread of its own. At the deadline the caller has its answer at once; the work is told to
/// stop and ends by itself.
fn in_time<T: Send + 'static>(
    limit: Duration,
    name: &str,
    bench: &Bench,
    work: impl FnOnce(&Bench) -> Result<T, ToolError> + Send + 'static,
) -> Result<T, ToolError> {
    let own = bench.for_one_call();
    let stop = own.stop_handle();
    let (sender, receiver) = mpsc::channel();
    let started = Instant::now();
    let spawned = std::thread::Builder::new().name(name.to_owned()).spawn(move || {
        // Nobody listens any more if the time was up.
        drop(sender.send(work(&own)));
    });
    spawned.map_err(|error| ToolError::Abort(format!("tool {name} could not start: {error}")))?;
    loop {
        let left = limit.saturating_sub(started.elapsed());
        match receiver.recv_timeout(left.min(PATIENCE)) {
            Ok(result) => return result,
            Err(RecvTimeoutError::Disconnected) => {
                return Err(ToolError::Abort(format!("tool {name} broke down: this is a bug")));
            }
            Err(RecvTimeoutError::Timeout) if bench.is_cancelled() => {
                stop.store(true, Ordering::Relaxed);
                return Err(ToolError::Abort("the run was stopped".to_owned()));
            }
            Err(RecvTimeoutError::Timeout) if started.elapsed() >= limit => {
                stop.store(true, Ordering::Relaxed);
                let message = format!("tool {name} timed out after {}ms", limit.as_millis());
                return Err(ToolError::TellModel(message));
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
}

impl From<WorkspaceError> for ToolError {
    fn from(error: WorkspaceError) -> Self {
        match error {
            WorkspaceError::NoRound { .. } => Self::TellModel(error.to_string()),
            WorkspaceError::NotReplaced { .. }
            | WorkspaceError::RoundId(_)
            | WorkspaceError::SameRound(_)
            | WorkspaceError::AgentPlace(_)
            | WorkspaceError::Write { .. }
            | WorkspaceError::Json { .. }
            | WorkspaceError::NotAWorkspace { .. }
            | WorkspaceError::Damaged { .. } => Self::Abort(error.to_string()),
        }
    }
}

impl From<Outside> for ToolError {
    fn from(error: Outside) -> Self {
        let message = match &error {
            Outside::Missing(_) => format!(
                "{error}; `ls` and `find` show what there is, and the repository's files are read with `repo_read`"
            ),
            Outside::Absolute(_)
            | Outside::Home(_)
            | Outside::Parent(_)
            | Outside::Nul
            | Outside::Link(_)
            | Outside::Special(_) => error.to_string(),
        };
        Self::TellModel(message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is only reached if something is broken.
    const FOR_EVER: Duration = Duration::from_secs(60);

    /// Works until it is told to stop, and then tells that it did.
    fn tireless(stopped: mpsc::Sender<()>) -> impl FnOnce(&Bench) -> Result<(), ToolError> {
        move |bench| {
            while bench.check().is_ok() {
                std::hint::spin_loop();
            }
            stopped.send(()).unwrap();
            Ok(())
        }
    }

    #[test]
    fn at_the_deadline_the_caller_goes_on_and_the_work_is_stopped() {
        let bench = Bench::new();
        let (stopped, has_stopped) = mpsc::channel();
        let reply = in_time(Duration::from_millis(30), "dig", &bench, tireless(stopped));
        let expected = ToolError::TellModel("tool dig timed out after 30ms".to_owned());
        assert_eq!(reply, Err(expected));
        has_stopped.recv_timeout(FOR_EVER).unwrap();
        assert!(bench.check().is_ok(), "the next call is not stopped");
    }

    #[test]
    fn whoever_stops_the_run_stops_its_calls() {
        let bench = Bench::new();
        bench.cancel();
        let (stopped, has_stopped) = mpsc::channel();
        let reply = in_time(FOR_EVER, "dig", &bench, tireless(stopped));
        assert_eq!(reply, Err(ToolError::Abort("the run was stopped".to_owned())));
        has_stopped.recv_timeout(FOR_EVER).unwrap();
    }

    #[test]
    fn a_tool_that_breaks_down_ends_the_run_and_not_the_process() {
        let broken = |_: &Bench| -> Result<(), ToolError> { panic!("on purpose") };
        let reply = in_time(FOR_EVER, "dig", &Bench::new(), broken);
        let expected = ToolError::Abort("tool dig broke down: this is a bug".to_owned());
        assert_eq!(reply, Err(expected));
    }

    #[test]
    fn names_are_unique_and_every_tool_and_argument_is_explained() {
        let mut names = Vec::new();
        let mut arguments = 0;
        for tool in catalogue() {
            assert!(tool.words.len() > 20, "{}", tool.name);
            assert_eq!(tool.schema["type"], "object", "{}", tool.name);
            assert_eq!(tool.schema["additionalProperties"], false, "{}", tool.name);
            for (argument, schema) in tool.schema["properties"].as_object().into_iter().flatten() {
                assert!(schema["description"].is_string(), "{} {argument}", tool.name);
                arguments += 1;
            }
            names.push(tool.name);
        }
        assert!(arguments > 20);
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}
