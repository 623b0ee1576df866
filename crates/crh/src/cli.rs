//! The command line: commands, flags and help texts.

mod eval;
mod fix;
mod flags;
mod learning;
mod login;
mod model;
mod plumbing;
mod post;
mod review;
mod runs;
#[cfg(all(feature = "server", unix))]
mod serve;
mod suggestions;
mod target;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

pub(crate) use self::eval::{
    ArmChoice, EvalCalibrateArgs, EvalCommand, EvalCompareArgs, EvalFormatArg, EvalGateArgs,
    EvalNoiseArgs, EvalOutcomesArgs, EvalReviewArgs, EvalRunArgs, EvalScoreArgs, EvalShowArgs,
    NoiseFormatArg, SuiteArgs,
};
pub(crate) use self::fix::{FixArgs, issue_digits};
pub(crate) use self::flags::{
    AnalyserFlags, CacheFlags, FixFlags, ModelFlags, PostFlags, SarifFlags,
};
use self::flags::{BudgetFlags, DisplayFlags, GitFlags, ReviewFlags, RoleFlags, ScopeFlags};
pub(crate) use self::learning::{LearnArgs, OutcomeJudgeArgs, StatsArgs};
pub(crate) use self::login::{LoginArgs, LoginCommand, LogoutCommand, ServiceArg};
pub(crate) use self::model::{AskArgs, AskLimits, ModelCheckArgs, ModelCommand, ModelListArgs};
#[cfg(not(all(feature = "server", unix)))]
use self::plumbing::NoServerArgs;
#[cfg(all(feature = "server", unix))]
pub(crate) use self::plumbing::{AnswerArgs, CheckFixArgs};
pub(crate) use self::plumbing::{
    DialectArg, DiffCommand, DiffMapArgs, FormatArg, ListFormatArg, MergeArgs, RenderArgs,
    RenderOutputArgs, SchemaArgs, SideArg, ToolArgs,
};
pub(crate) use self::post::PostArgs;
pub(crate) use self::review::{
    BaselineArgs, CheckArgs, DemoArgs, OutputArgs, PanelArgs, PromptArgs, ReviewArgs,
    ReviewersArgs, TrustArgs, WorkspaceArgs,
};
pub(crate) use self::runs::{DismissArgs, RunsCommand, RunsPruneArgs, ShowArgs};
#[cfg(all(feature = "server", unix))]
pub(crate) use self::serve::{
    AppArgs, LogFormatArg, RestForgeArgs, ServeArgs, ServeLimitArgs, ServeReviewArgs, SignInArgs,
    StrangersArg, WorkerArgs,
};
pub(crate) use self::suggestions::with_suggestions;
use self::suggestions::{DIFF_NOTE, LOGIN_NOTE};
pub(crate) use self::target::{ModeArg, PrepareArgs, PrepareOutputArgs, TargetArgs};

/// Review code changes before they are merged; every reported defect quotes the code
///
/// A finding is what one reviewer reports. An issue is one or more findings about the same problem.
#[derive(Debug, Parser)]
#[command(name = "crh", version, long_version = crate::version::version_text(), arg_required_else_help = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Review a change with language models and static checks, and print a report
    Review(Box<ReviewArgs>),
    /// Fix issues of the last review in your checkout, or undo earlier fixes
    Fix(Box<FixArgs>),
    /// Run only the static checks on a change; needs no model and no API key
    Check(Box<CheckArgs>),
    /// List the reviewers, and which of them would review this change
    Reviewers(Box<ReviewersArgs>),
    /// Store all current findings of the static checks, so that `crh check` reports only new ones
    Baseline(BaselineArgs),
    /// Review a built-in example change; needs no API key and no network
    Demo(DemoArgs),
    /// Check the setup: git, configuration, API keys, GitHub, Launchpad, sandbox, linters
    Doctor(DoctorArgs),
    /// Write everything that reviewers see of a change to a folder or an archive
    Prepare(PrepareArgs),
    /// Call one of the tools that reviewing models use, for debugging
    Tool(ToolArgs),
    /// Number the lines of a unified diff, map them to lines of files, or list its files
    #[command(subcommand, after_help = DIFF_NOTE)]
    Diff(DiffCommand),
    /// Merge the findings of several reviewers into one report
    ///
    /// The exit code is 0 even if the report has issues or is incomplete: read its verdict.
    Merge(MergeArgs),
    /// Convert a JSON report to another format
    Render(RenderArgs),
    /// Print the JSON Schema of a format that crh reads or writes
    Schema(SchemaArgs),
    /// Show the settings in effect, or print the JSON Schema of `crh.toml`
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Write a commented `crh.toml`, or set up a local model, a coding agent or a git hook
    Init(InitArgs),
    /// Run an MCP server on standard input and output, for coding agents
    Mcp(McpArgs),
    /// List models with their prices, or test one
    #[command(subcommand)]
    Model(ModelCommand),
    /// Ask a model one question, for debugging
    Ask(AskArgs),
    /// Measure how good reviews are: review test cases, score the results, compare scores
    #[command(subcommand)]
    Eval(EvalCommand),
    /// Show the report of a stored review, by default the newest
    Show(ShowArgs),
    /// List stored reviews, or delete old ones
    #[command(subcommand)]
    Runs(RunsCommand),
    /// Hide an issue in all reviews of this repository
    ///
    /// Later reviews do not show it again, and `crh show` leaves it out of stored reviews. This
    /// applies to all clones on this machine (crh recognises them by their first commit).
    Dismiss(DismissArgs),
    /// Show what became of the issues that crh posted: how many were fixed, rejected or ignored, by
    /// category and reviewer
    Stats(StatsArgs),
    /// Propose rules for later reviews (lessons), derived from dismissed issues, repaired code and
    /// review comments
    Learn(LearnArgs),
    /// Run a language server on standard input and output, for editors
    Lsp,
    /// Post the report of a stored review to a pull request or merge proposal
    Post(Box<PostArgs>),
    /// Run a server that reviews a team's pull requests and shows the reviews on a web page
    #[cfg(all(feature = "server", unix))]
    Serve(Box<ServeArgs>),
    /// Run reviews on this machine for a `crh serve` server; needs the same limit options as the
    /// server
    #[cfg(all(feature = "server", unix))]
    Worker(Box<WorkerArgs>),
    /// Say that this program has no server
    #[cfg(not(all(feature = "server", unix)))]
    #[command(hide = true, alias = "worker")]
    Serve(NoServerArgs),
    /// Answer a reply to an issue; `crh serve` uses it
    #[cfg(all(feature = "server", unix))]
    #[command(hide = true, name = "serve-answer")]
    Answer(Box<AnswerArgs>),
    /// Check a fix of a file with the static checks; `crh serve` uses it
    #[cfg(all(feature = "server", unix))]
    #[command(hide = true, name = "serve-check-fix")]
    CheckFix(Box<CheckFixArgs>),
    /// Log in to Launchpad
    #[command(subcommand, after_help = LOGIN_NOTE)]
    Login(LoginCommand),
    /// Delete the stored Launchpad login
    #[command(subcommand)]
    Logout(LogoutCommand),
    /// Print a shell completion script
    Completions(CompletionsArgs),
    /// Print the manual page of crh, or write the manual pages of all commands
    Man(ManArgs),
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Print the value of every setting and its source, such as a file or a flag
    Show(Box<ConfigShowArgs>),
    /// Print the JSON Schema of `crh.toml`, for editors
    Schema,
}

#[derive(Debug, Args)]
pub(crate) struct ConfigShowArgs {
    /// Output format
    #[arg(long, value_enum, default_value_t = ListFormatArg::Text)]
    pub(crate) format: ListFormatArg,
    #[command(flatten)]
    pub(crate) scope: ScopeFlags,
    #[command(flatten)]
    pub(crate) git: GitFlags,
    #[command(flatten)]
    pub(crate) display: DisplayFlags,
    #[command(flatten)]
    pub(crate) model: RoleFlags,
    #[command(flatten)]
    pub(crate) review: ReviewFlags,
    #[command(flatten)]
    pub(crate) analysers: AnalyserFlags,
    #[command(flatten)]
    pub(crate) fix: FixFlags,
    #[command(flatten)]
    pub(crate) budget: BudgetFlags,
}

#[derive(Debug, Args)]
pub(crate) struct InitArgs {
    /// Overwrite an existing `crh.toml`
    #[arg(long)]
    pub(crate) force: bool,
    /// Instead of writing `crh.toml`, configure crh for a model server that runs on this machine:
    /// Ollama, LM Studio or llama.cpp
    ///
    /// crh writes the configuration file in your home folder, and does not overwrite an existing
    /// one. Pass the URL of the server if it does not listen on its usual port.
    #[arg(long, value_name = "URL", num_args = 0..=1, conflicts_with = "force")]
    #[expect(clippy::option_option, reason = "the flag may have a value")]
    pub(crate) local: Option<Option<String>>,
    /// Instead of writing `crh.toml`, connect crh with this coding agent; repeatable
    ///
    /// crh shows the files, asks, and never overwrites a file.
    #[arg(long, value_enum, conflicts_with_all = ["force", "local"])]
    pub(crate) agent: Vec<AgentArg>,
    /// Instead of writing `crh.toml`, write a hook that runs the static checks; repeatable
    #[arg(long, value_enum, conflicts_with_all = ["force", "local"])]
    pub(crate) hook: Vec<HookArg>,
    /// Write the files of `--agent` and `--hook` without asking
    #[arg(long)]
    pub(crate) yes: bool,
}

/// Coding agents that crh can set up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum AgentArg {
    /// Claude Code: MCP server, command `/crh`, and a hook that checks the change when the agent
    /// stops
    Claude,
    /// Codex: MCP server, instructions in `AGENTS.md`
    Codex,
    /// Cursor: MCP server
    Cursor,
    /// VS Code: MCP server
    Vscode,
}

/// Git hooks that crh can set up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum HookArg {
    /// The `pre-push` hook of git
    PrePush,
    /// `lefthook.yml` for lefthook
    Lefthook,
}

#[derive(Debug, Args)]
pub(crate) struct McpArgs {
    /// Folder to use if the agent gives none (MCP `roots`). Default: the current folder; if the
    /// agent supports `roots` but has no folder open, crh uses no folder
    #[arg(long, value_name = "DIR")]
    pub(crate) root: Option<PathBuf>,
    /// Apply fixes without asking, for agents that cannot ask you
    #[arg(long)]
    pub(crate) allow_fixes: bool,
    /// Review with the agent's own model, without an API key; only for agents that support MCP
    /// `sampling` with tools
    #[arg(long)]
    pub(crate) client_model: bool,
}

#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// Output format
    #[arg(long, value_enum, default_value_t = ListFormatArg::Text)]
    pub(crate) format: ListFormatArg,
}

#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// Shell to generate the script for
    #[arg(value_enum, value_name = "SHELL")]
    pub(crate) shell: Shell,
}

#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// Write one page per command to this folder; crh creates it if necessary
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn command_line_definition_is_valid() {
        Cli::command().debug_assert();
    }
}
