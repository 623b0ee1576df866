//! Tools that agents can call. A tool is a type: its description and schema are derived from its
//! input type, and replies are truncated in one place.
//!
//! To add a tool, implement [`AgentTool`] and add a line to `TOOLS`.
//!
//! Invariants: no tool writes outside the workspace, uses the network, or starts a process other
//! than git (log and blame) and ruff (sandboxed). Every reply has a size limit. Every call has a
//! timeout, except for quick tools ([`AgentTool::IS_QUICK`]).

mod agent_spec;
mod arguments;
mod calc;
mod change;
mod comments;
mod context;
mod diff;
mod files;
mod function;
mod grep;
mod history;
mod read_only;
mod reply;
mod repo;
mod review_tools;
pub mod session;
mod similarity;
mod symbols;

use std::sync::atomic::Ordering;
use std::sync::mpsc;
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

pub(crate) use arguments::describe;
pub use context::ToolContext;
pub(crate) use read_only::ReadOnlyTools;
pub use reply::ToolReply;
pub use review_tools::ReviewTools;
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::workspace::{PathError, WorkspaceError};

/// Interval at which a waiting call checks for cancellation. People do not notice such a short
/// delay.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// A tool.
///
/// Implementations check [`ToolContext::stop`] wherever they may take long, access no path outside
/// the workspace and the repository, and are deterministic.
pub trait AgentTool {
    /// Name for the model.
    const NAME: &'static str;
    /// Whether the tool reads one small thing. It then runs on the calling thread; other tools get
    /// a thread that can be abandoned.
    const IS_QUICK: bool = false;
    /// Arguments. The doc comments of the type and its fields are shown to the model.
    type Input: DeserializeOwned + JsonSchema;
    /// Runs the tool.
    fn answer(input: Self::Input, ctx: &ToolContext) -> Result<ToolReply, ToolError>;
}

/// Why a call failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ToolError {
    /// The model can correct the error. It gets this text as the reply.
    #[error("{0}")]
    TellModel(String),
    /// The model cannot correct the error, so the run ends.
    #[error("{0}")]
    Abort(String),
}

/// A tool as shown to a model.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ToolDescription {
    /// Name.
    pub name: &'static str,
    /// Description.
    #[serde(rename = "words")]
    pub description: String,
    /// JSON Schema of the arguments.
    pub schema: Value,
}

/// Limits of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ToolLimits {
    /// Timeout of the call.
    pub time: Duration,
    /// Maximum length of a reply in characters, including the truncation notice.
    pub chars: usize,
}

impl ToolLimits {
    /// The usual limits. A model whose call takes more than ten seconds should ask for less. 80,000
    /// characters are about 20,000 tokens, so a context holds many replies.
    pub const USUAL: Self = Self { time: Duration::from_secs(10), chars: 80_000 };
}

/// A type-erased tool.
struct ToolEntry {
    name: &'static str,
    is_quick: bool,
    describe: fn() -> ToolDescription,
    answer: fn(Value, &ToolContext) -> Result<ToolReply, ToolError>,
}

const fn entry<T: AgentTool>() -> ToolEntry {
    ToolEntry {
        name: T::NAME,
        is_quick: T::IS_QUICK,
        describe: || {
            let (description, schema) = describe::<T::Input>();
            ToolDescription { name: T::NAME, description, schema }
        },
        answer: |value, ctx| T::answer(arguments::read(value)?, ctx),
    }
}

/// All tools, in the order in which models see them.
static TOOLS: &[ToolEntry] = &[
    entry::<files::ReadTool>(),
    entry::<grep::GrepTool>(),
    entry::<files::FindTool>(),
    entry::<files::LsTool>(),
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
    entry::<symbols::FindDefinition>(),
    entry::<symbols::FindCallers>(),
    entry::<symbols::FindImplementations>(),
    entry::<symbols::GetFunction>(),
    entry::<history::RepoLog>(),
    entry::<history::RepoBlame>(),
    entry::<agent_spec::ReadFile>(),
    entry::<agent_spec::SearchCode>(),
    entry::<agent_spec::RunRuff>(),
    entry::<function::GetFunctionContext>(),
    entry::<calc::Calc>(),
];

/// Descriptions of all tools, in a fixed order.
pub fn catalogue() -> Vec<ToolDescription> {
    TOOLS.iter().map(|tool| (tool.describe)()).collect()
}

/// Calls a tool with JSON arguments and returns the text for the model.
pub fn call(name: &str, arguments_json: &str, ctx: &ToolContext) -> Result<String, ToolError> {
    call_with_limits(ToolLimits::USUAL, name, arguments_json, ctx)
}

/// Calls a tool with other limits.
pub fn call_with_limits(
    limits: ToolLimits,
    name: &str,
    arguments_json: &str,
    ctx: &ToolContext,
) -> Result<String, ToolError> {
    let Some(tool) = TOOLS.iter().find(|tool| tool.name == name) else {
        return Err(unknown_tool(name));
    };
    let arguments = arguments::parse_object(arguments_json)?;
    let answer = tool.answer;
    if tool.is_quick && !ctx.is_cancelled() {
        return answer(arguments, ctx)?.render(limits.chars);
    }
    run_with_timeout(limits.time, tool.name, ctx, move |ctx| {
        answer(arguments, ctx)?.render(limits.chars)
    })
}

fn unknown_tool(name: &str) -> ToolError {
    let names = TOOLS.iter().map(|tool| tool.name);
    let similar = similarity::rank_by_similarity(name, names);
    let similar: Vec<_> = similar.iter().take(3).map(|name| format!("`{name}`")).collect();
    ToolError::TellModel(format!("there is no tool `{name}`; did you mean {}?", similar.join(", ")))
}

/// Runs the work on its own thread. On a timeout the caller continues at once. The stop flag then
/// tells the work to end.
fn run_with_timeout<T: Send + 'static>(
    limit: Duration,
    name: &str,
    ctx: &ToolContext,
    work: impl FnOnce(&ToolContext) -> Result<T, ToolError> + Send + 'static,
) -> Result<T, ToolError> {
    let call_ctx = ctx.for_one_call();
    let stop = call_ctx.stop_handle();
    let (sender, receiver) = mpsc::channel();
    let started = Instant::now();
    let spawned = std::thread::Builder::new().name(name.to_owned()).spawn(move || {
        // The receiver is gone after a timeout.
        drop(sender.send(work(&call_ctx)));
    });
    spawned.map_err(|error| ToolError::Abort(format!("tool {name} could not start: {error}")))?;
    loop {
        let time_left = limit.saturating_sub(started.elapsed());
        match receiver.recv_timeout(time_left.min(POLL_INTERVAL)) {
            Ok(result) => return result,
            Err(RecvTimeoutError::Disconnected) => {
                return Err(ToolError::Abort(format!("tool {name} broke down: this is a bug")));
            }
            Err(RecvTimeoutError::Timeout) if ctx.is_cancelled() => {
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

impl From<PathError> for ToolError {
    fn from(error: PathError) -> Self {
        let message = match &error {
            PathError::Missing(_) => format!(
                "{error}; `ls` and `find` show what there is, and the repository's files are read with `repo_read`"
            ),
            PathError::Absolute(_)
            | PathError::Home(_)
            | PathError::Parent(_)
            | PathError::Nul
            | PathError::Link(_)
            | PathError::Special(_) => error.to_string(),
        };
        Self::TellModel(message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reached only if the code is broken.
    const FOR_EVER: Duration = Duration::from_secs(60);

    /// Works until it is told to stop, and confirms that.
    fn tireless(stopped: mpsc::Sender<()>) -> impl FnOnce(&ToolContext) -> Result<(), ToolError> {
        move |ctx| {
            while ctx.check_stopped().is_ok() {
                std::hint::spin_loop();
            }
            stopped.send(()).unwrap();
            Ok(())
        }
    }

    #[test]
    fn timeout_returns_at_once_and_stops_the_work() {
        let ctx = ToolContext::new();
        let (stopped, has_stopped) = mpsc::channel();
        let reply = run_with_timeout(Duration::from_millis(30), "dig", &ctx, tireless(stopped));
        let expected = ToolError::TellModel("tool dig timed out after 30ms".to_owned());
        assert_eq!(reply, Err(expected));
        has_stopped.recv_timeout(FOR_EVER).unwrap();
        assert!(ctx.check_stopped().is_ok(), "the next call is not stopped");
    }

    #[test]
    fn cancelled_run_stops_its_calls() {
        let ctx = ToolContext::new();
        ctx.cancel();
        let (stopped, has_stopped) = mpsc::channel();
        let reply = run_with_timeout(FOR_EVER, "dig", &ctx, tireless(stopped));
        assert_eq!(reply, Err(ToolError::Abort("the run was stopped".to_owned())));
        has_stopped.recv_timeout(FOR_EVER).unwrap();
    }

    #[test]
    fn panicking_tool_ends_the_run_not_the_process() {
        let broken = |_: &ToolContext| -> Result<(), ToolError> { panic!("on purpose") };
        let reply = run_with_timeout(FOR_EVER, "dig", &ToolContext::new(), broken);
        let expected = ToolError::Abort("tool dig broke down: this is a bug".to_owned());
        assert_eq!(reply, Err(expected));
    }

    #[test]
    fn tools_have_unique_names_and_descriptions() {
        let mut names = Vec::new();
        let mut arguments = 0;
        for tool in catalogue() {
            assert!(tool.description.len() > 20, "{}", tool.name);
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
