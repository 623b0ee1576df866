//! The command line: every word, flag and help text of it.

#[path = "cli/target.rs"]
mod change;
mod eval;
mod fix;
mod flags;
mod import;
mod login;
mod model;
#[path = "cli/plumbing.rs"]
mod parts;
mod post;
mod review;
mod runs;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

pub(crate) use self::change::{ModeArg, PlaceArgs, PrepareArgs, TargetArgs};
pub(crate) use self::eval::{
    EvalCommand, EvalCompareArgs, EvalFormatArg, EvalGateArgs, EvalNoiseArgs, EvalReviewArgs,
    EvalRunArgs, EvalScoreArgs, EvalShowArgs, NoiseFormatArg, RuleArg, SuiteArgs,
};
pub(crate) use self::fix::FixArgs;
pub(crate) use self::flags::{
    AnalyserFlags, CacheFlags, FixFlags, ModelFlags, PostFlags, SarifFlags,
};
use self::flags::{BudgetFlags, GitFlags, LookFlags, ReviewFlags, ScopeFlags};
pub(crate) use self::import::{EvalImportArgs, ImportIssueArgs};
pub(crate) use self::login::{LoginArgs, LoginCommand, LogoutCommand, ServiceArg};
pub(crate) use self::model::{AskArgs, AskLimits, ModelCheckArgs, ModelCommand, ModelListArgs};
pub(crate) use self::parts::{
    DialectArg, DiffCommand, FormatArg, MapArgs, MergeArgs, RenderArgs, SchemaArgs, ShownArgs,
    SideArg, ToolArgs,
};
pub(crate) use self::post::PostArgs;
pub(crate) use self::review::{
    BaselineArgs, CheckArgs, DemoArgs, OutputArgs, PanelArgs, PreparedArgs, PromptArgs, ReviewArgs,
    ReviewersArgs, TrustArgs,
};
pub(crate) use self::runs::{DismissArgs, RunsCommand, RunsPruneArgs, ShowArgs};

/// Reviews a proposed code change and tells its author, with evidence, what is wrong with it.
#[derive(Debug, Parser)]
#[command(name = "crh", version, arg_required_else_help = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Review a change and say, with evidence, what is wrong with it
    Review(Box<ReviewArgs>),
    /// Fix what a review has found, in the checkout that was reviewed, or take fixes back
    Fix(Box<FixArgs>),
    /// Run the checks that need no model on a change
    Check(Box<CheckArgs>),
    /// List the reviewers of the panel, and why each would look at a change or not
    Reviewers(Box<ReviewersArgs>),
    /// Record what the checks say about the whole tree, so that only what comes later is raised
    Baseline(BaselineArgs),
    /// Review a small change that has real defects, without a key and without a network
    Demo(DemoArgs),
    /// Say what works here and what to do about the rest: git, settings, keys, sandbox
    Doctor(DoctorArgs),
    /// Write everything that reviewers see of a change into a folder or an archive
    Prepare(PrepareArgs),
    /// Call one of the tools that agents have, by hand
    Tool(ToolArgs),
    /// Number, map or list a unified diff read from standard input
    #[command(subcommand)]
    Diff(DiffCommand),
    /// Merge what reviewers returned into one report: issues, and the fate of every other finding
    Merge(MergeArgs),
    /// Show a report in another form
    Render(RenderArgs),
    /// Print the JSON Schema of something crh reads or writes
    Schema(SchemaArgs),
    /// Show the settings in effect, or print the JSON Schema of `crh.toml`
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Write a commented `crh.toml` into the root of the repository
    Init(InitArgs),
    /// Show which models can be asked and what they cost, or try one
    #[command(subcommand)]
    Model(ModelCommand),
    /// Ask a model one question, for debugging
    Ask(AskArgs),
    /// Say how good reviews are: run a suite of cases, compare, gate, measure noise
    #[command(subcommand)]
    Eval(EvalCommand),
    /// Show a stored run again, or list all of them
    Show(ShowArgs),
    /// List the stored runs, or delete old ones
    #[command(subcommand)]
    Runs(RunsCommand),
    /// Never raise an issue again in this repository
    Dismiss(DismissArgs),
    /// Post the review of a stored run to the pull request or the merge proposal that you name
    Post(Box<PostArgs>),
    /// Log in where reviews are posted
    #[command(subcommand)]
    Login(LoginCommand),
    /// Forget a login
    #[command(subcommand)]
    Logout(LogoutCommand),
    /// Print what makes a shell complete the words of crh
    Completions(CompletionsArgs),
    /// Print the manual page of crh, or write one for every command
    Man(ManArgs),
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Print every value in effect, with where it comes from
    Show(Box<ConfigShowArgs>),
    /// Print the JSON Schema of `crh.toml`, for editors
    Schema,
}

#[derive(Debug, Args)]
pub(crate) struct ConfigShowArgs {
    /// The form of the answer
    #[arg(long, value_enum, default_value_t = ListingArg::Text)]
    pub(crate) format: ListingArg,
    #[command(flatten)]
    pub(crate) scope: ScopeFlags,
    #[command(flatten)]
    pub(crate) git: GitFlags,
    #[command(flatten)]
    pub(crate) look: LookFlags,
    #[command(flatten)]
    pub(crate) model: ModelFlags,
    #[command(flatten)]
    pub(crate) review: ReviewFlags,
    #[command(flatten)]
    pub(crate) analysers: AnalyserFlags,
    #[command(flatten)]
    pub(crate) fix: FixFlags,
    #[command(flatten)]
    pub(crate) budget: BudgetFlags,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ListingArg {
    /// For people
    Text,
    /// For programs
    Json,
}

#[derive(Debug, Args)]
pub(crate) struct InitArgs {
    /// Replace the file that is there
    #[arg(long)]
    pub(crate) force: bool,
}

#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// The form of the answer
    #[arg(long, value_enum, default_value_t = ListingArg::Text)]
    pub(crate) format: ListingArg,
}

#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_enum, value_name = "SHELL")]
    pub(crate) shell: Shell,
}

#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// Write one page for every command into this folder, which is made if it is not there
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        super::Cli::command().debug_assert();
    }
}
