//! The command line: every word, flag and help text of it.

use std::num::NonZeroU32;
use std::path::PathBuf;

use clap::Args;
use clap::Parser;
use clap::Subcommand;
use clap::ValueEnum;
use crh_llm::Money;

use crate::config::key::Given;
use crate::config::keys::RawSettings;
use crate::config::models::ModelChoice;
use crate::config::value::Color;
use crate::config::value::Glob;
use crate::config::value::Globs;
use crate::config::value::InstanceName;
use crate::failure::Failure;

/// Reviews a proposed code change and tells its author, with evidence, what is wrong with it.
#[derive(Debug, Parser)]
#[command(name = "crh", version, arg_required_else_help = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
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
}

#[derive(Debug, Args)]
pub(crate) struct PrepareArgs {
    #[command(flatten)]
    pub(crate) target: TargetArgs,
    #[command(flatten)]
    pub(crate) places: PlaceArgs,
    #[command(flatten)]
    pub(crate) scope: ScopeFlags,
    #[command(flatten)]
    pub(crate) git: GitFlags,
}

/// Where it is written.
#[derive(Debug, Args)]
#[group(required = true, multiple = true)]
pub(crate) struct PlaceArgs {
    /// The folder to write; one that was written before is replaced
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// The archive to write: the same, and every object that the tools read
    #[arg(long, value_name = "FILE")]
    pub(crate) pack: Option<PathBuf>,
}

/// What is to be reviewed.
#[derive(Debug, Args)]
pub(crate) struct TargetArgs {
    /// A branch, a commit, or a range `A..B`; the current branch with all that is not committed if left out. The
    /// words `base:REF` and `mode:MODE` are taken too
    #[arg(value_name = "TARGET")]
    pub(crate) words: Vec<String>,
    /// Compare the current branch with this, instead of finding its base
    #[arg(long, value_name = "REF")]
    pub(crate) base: Option<String>,
    /// Take what is not committed, with files that git does not know yet
    #[arg(long)]
    pub(crate) uncommitted: bool,
    /// Take what is staged
    #[arg(long)]
    pub(crate) staged: bool,
    /// Take one commit
    #[arg(long, value_name = "SHA")]
    pub(crate) commit: Option<String>,
    /// Take a diff; `-` for standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) diff: Option<PathBuf>,
    /// With the current branch, take files that git does not know yet
    #[arg(long)]
    pub(crate) include_untracked: bool,
    /// How the review is to go on; here it only shapes what is said when there is nothing to review
    #[arg(long, value_enum, value_name = "MODE")]
    pub(crate) mode: Option<ModeArg>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ModeArg {
    /// It asks
    Interactive,
    /// It applies what is safe, and asks nothing
    Autofix,
    /// It only reports
    ReportOnly,
    /// For programs: it asks nothing and answers with an envelope
    Headless,
}

#[derive(Debug, Args)]
pub(crate) struct ToolArgs {
    /// The tool, such as `repo_grep`
    #[arg(required_unless_present = "list")]
    pub(crate) name: Option<String>,
    /// Its arguments as a JSON object; `-` reads them from standard input
    #[arg(default_value = "{}", value_name = "JSON")]
    pub(crate) arguments: String,
    /// Print every tool with its words and the schema of its arguments, as JSON
    #[arg(long, exclusive = true)]
    pub(crate) list: bool,
    /// The workspace that `crh prepare --out` wrote
    #[arg(long, value_name = "DIR", conflicts_with = "packed")]
    pub(crate) workspace: Option<PathBuf>,
    /// The archive that `crh prepare --pack` wrote
    #[arg(long, value_name = "FILE")]
    pub(crate) packed: Option<PathBuf>,
    /// The repository of the workspace (default: the one you are in)
    #[arg(long, value_name = "DIR", conflicts_with = "packed")]
    pub(crate) repo: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum DiffCommand {
    /// Print every line with its number and two spaces before it
    Number,
    /// Print which line of the diff is which line of which file, as JSON
    Map(MapArgs),
    /// Print the files of the diff as a JSON array
    Files,
}

#[derive(Debug, Args)]
pub(crate) struct MapArgs {
    /// Look up one place: a line of the diff (`42`) or of a file (`src/a.rs:10`); the answer has its line in
    /// the old and in the new file
    pub(crate) place: Option<String>,
    /// The side on which `PATH:LINE` counts
    #[arg(long, value_enum, default_value_t = SideArg::New)]
    pub(crate) side: SideArg,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SideArg {
    /// The file after the change
    New,
    /// The file before the change
    Old,
}

#[derive(Debug, Args)]
pub(crate) struct MergeArgs {
    /// Files with what reviewers returned: JSON, an array of it, or one JSON a line; `-` for standard input
    #[arg(required = true, value_name = "RETURN")]
    pub(crate) returns: Vec<PathBuf>,
    /// The diff that was reviewed; `-` for standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) diff: PathBuf,
    /// The shape of the returns
    #[arg(long, value_enum, default_value_t = DialectArg::Native)]
    pub(crate) dialect: DialectArg,
    /// The reviewer's name, over the one in the returns (default: theirs, or the file's name)
    #[arg(long, value_name = "NAME", value_parser = reviewer_name)]
    pub(crate) reviewer: Option<String>,
    /// A folder with the files after the change, so that quotes outside the diff can be checked
    #[arg(long, value_name = "DIR")]
    pub(crate) new: Option<PathBuf>,
    /// A folder with the files before the change
    #[arg(long, value_name = "DIR")]
    pub(crate) old: Option<PathBuf>,
    /// Answers of a model: `{"same": [PAIR_ID], "judgements": {DEDUPE_KEY: {"result": "confirmed"}}}`
    #[arg(long, value_name = "FILE")]
    pub(crate) answers: Option<PathBuf>,
    /// How many issues the report shows at the most
    #[arg(long, value_name = "N", default_value_t = 15)]
    pub(crate) max_issues: usize,
    /// Count a return that cannot be read as a failed reviewer instead of stopping
    #[arg(long)]
    pub(crate) keep_going: bool,
    #[command(flatten)]
    pub(crate) shown: ShownArgs,
}

#[derive(Debug, Args)]
pub(crate) struct RenderArgs {
    /// The report, as `crh merge` prints it; standard input if left out
    #[arg(default_value = "-", value_name = "REPORT")]
    pub(crate) report: PathBuf,
    #[command(flatten)]
    pub(crate) shown: ShownArgs,
}

/// How a report is shown.
#[derive(Debug, Args)]
pub(crate) struct ShownArgs {
    /// The form of the report
    #[arg(long, value_enum, default_value_t = FormatArg::Json)]
    pub(crate) format: FormatArg,
    #[command(flatten)]
    pub(crate) look: LookFlags,
}

/// Flags over the settings that say how things look.
#[derive(Debug, Args)]
pub(crate) struct LookFlags {
    /// Whether text has colours, over the setting `color`
    #[arg(long, value_enum, value_name = "WHEN")]
    color: Option<Color>,
    /// The name of this installation for the markers in comments, over the setting `instance`
    #[arg(long, value_name = "NAME", value_parser = InstanceName::parse)]
    instance: Option<InstanceName>,
}

/// Flags over the settings that say what is reviewed.
#[derive(Debug, Args)]
pub(crate) struct ScopeFlags {
    /// Files that are not reviewed, besides those of the setting `scope.exclude`; can be given again
    #[arg(long, value_name = "GLOB", value_parser = Glob::parse)]
    exclude: Vec<Glob>,
}

/// Flags over the settings of git.
#[derive(Debug, Args)]
pub(crate) struct GitFlags {
    /// Never talk to a remote
    #[arg(long)]
    offline: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FormatArg {
    /// For a terminal
    Text,
    /// The report itself
    Json,
    /// Pipe tables by severity
    Markdown,
    /// SARIF 2.1.0, for code scanning
    Sarif,
    /// The text that programs read in headless mode
    Envelope,
    /// The body of a GitHub comment
    Comment,
    /// One line an issue, for editors
    Quickfix,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DialectArg {
    /// crh's own
    Native,
    /// CRH: severity, path, numbered-diff line, comment
    Crh,
    /// The agent specification's `ReviewResult`
    Agent,
    /// ce-code-review, compact or full
    Ce,
}

#[derive(Debug, Args)]
pub(crate) struct SchemaArgs {
    /// Which schema
    #[arg(value_parser = clap::builder::PossibleValuesParser::new(crh_review::schema::NAMES))]
    pub(crate) name: String,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Print every value in effect, with where it comes from
    Show(ConfigShowArgs),
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

#[derive(Debug, Subcommand)]
pub(crate) enum ModelCommand {
    /// Print the providers, whether their keys are there, and the known models with their prices
    List(ModelListArgs),
    /// Ask a model a few short questions and say what works: text, streaming, tools, schema, caching
    Check(ModelCheckArgs),
}

#[derive(Debug, Args)]
pub(crate) struct ModelListArgs {
    /// The form of the answer
    #[arg(long, value_enum, default_value_t = ListingArg::Text)]
    pub(crate) format: ListingArg,
}

#[derive(Debug, Args)]
pub(crate) struct ModelCheckArgs {
    /// The model: `PROVIDER:MODEL`, with `@URL` for a server of your own
    #[arg(value_name = "MODEL")]
    pub(crate) model: String,
    /// The form of the answer
    #[arg(long, value_enum, default_value_t = ListingArg::Text)]
    pub(crate) format: ListingArg,
    /// Write every exchange to this file, to be replayed with `replay:FILE`
    #[arg(long, value_name = "FILE")]
    pub(crate) record: Option<PathBuf>,
    /// What all questions together may cost, in US dollars
    #[arg(long, value_name = "USD", default_value = "0.10", value_parser = dollars)]
    pub(crate) max_cost: Money,
}

#[derive(Debug, Args)]
pub(crate) struct AskArgs {
    /// The question; `-` reads it from standard input
    #[arg(value_name = "PROMPT")]
    pub(crate) prompt: String,
    #[command(flatten)]
    pub(crate) model: ModelFlags,
    /// Write every exchange with the model to this file, to be replayed with `replay:FILE`
    #[arg(long, value_name = "FILE")]
    pub(crate) record: Option<PathBuf>,
    /// The rules that the model is given before the question
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub(crate) system: String,
    /// Ask for JSON of the JSON Schema in this file
    #[arg(long, value_name = "FILE", conflicts_with = "workspace")]
    pub(crate) schema: Option<PathBuf>,
    /// Give the model the read-only tools over this workspace, which `crh prepare --out` wrote
    #[arg(long, value_name = "DIR")]
    pub(crate) workspace: Option<PathBuf>,
    /// The repository of the workspace (default: the one you are in)
    #[arg(long, value_name = "DIR", requires = "workspace")]
    pub(crate) repo: Option<PathBuf>,
    /// Write what happens to this file, as it happens: who was asked, what it cost, how long texts were
    #[arg(long, value_name = "FILE")]
    pub(crate) transcript: Option<PathBuf>,
    /// Write the texts too: prompts, answers, and what tools read
    #[arg(long, requires = "transcript")]
    pub(crate) log_content: bool,
    #[command(flatten)]
    pub(crate) limits: AskLimits,
}

/// How far an answer may go.
#[derive(Debug, Args)]
pub(crate) struct AskLimits {
    /// The most tokens that one turn of the model may have
    #[arg(long, value_name = "TOKENS", default_value = "4000")]
    pub(crate) max_output: NonZeroU32,
    /// How often the model may be asked
    #[arg(long, value_name = "N", default_value = "20")]
    pub(crate) max_turns: NonZeroU32,
    /// How many tools it may call
    #[arg(long, value_name = "N", default_value_t = 60)]
    pub(crate) max_tool_calls: u32,
    /// What it may cost, in US dollars
    #[arg(long, value_name = "USD", default_value = "0.50", value_parser = dollars)]
    pub(crate) max_cost: Money,
    /// How long it may take, in seconds
    #[arg(long, value_name = "SECONDS", default_value = "300")]
    pub(crate) max_seconds: NonZeroU32,
}

/// Flags over the settings that say which model is asked.
#[derive(Debug, Clone, Args)]
pub(crate) struct ModelFlags {
    /// The model, over the setting `model.reviewer`: `PROVIDER:MODEL`, with `@URL` for a server of your own, or
    /// `replay:FILE` for a recording
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,
}

impl ModelFlags {
    /// Puts what was given into the settings of the flags.
    ///
    /// The name is read here and not with the command line, which would repeat a wrong one: its address may have a
    /// password.
    pub(crate) fn set(self, raw: &mut RawSettings) -> Result<(), Failure> {
        let model = self.model.as_deref().map(ModelChoice::parse).transpose();
        let model = model.map_err(|why| {
            Failure::usage(why).hint("`crh model list` shows providers and models")
        })?;
        raw.model_reviewer = model.map(|model| Given::by_flag("--model", model));
        Ok(())
    }
}

impl LookFlags {
    /// Puts what was given into the settings of the flags.
    pub(crate) fn set(self, raw: &mut RawSettings) {
        raw.color = self.color.map(|color| Given::by_flag("--color", color));
        raw.instance = self.instance.map(|name| Given::by_flag("--instance", name));
    }
}

impl ScopeFlags {
    /// Puts what was given into the settings of the flags.
    pub(crate) fn set(self, raw: &mut RawSettings) {
        let globs = Some(self.exclude).filter(|globs| !globs.is_empty());
        raw.scope_exclude = globs.map(|globs| Given::by_flag("--exclude", Globs(globs)));
    }
}

impl GitFlags {
    /// Puts what was given into the settings of the flags.
    pub(crate) fn set(self, raw: &mut RawSettings) {
        raw.git_offline = self.offline.then(|| Given::by_flag("--offline", true));
    }
}

fn dollars(text: &str) -> Result<Money, String> {
    let amount = text.parse().ok().and_then(Money::dollars);
    amount.ok_or_else(|| "give an amount in US dollars, such as `0.50`".to_owned())
}

fn reviewer_name(name: &str) -> Result<String, String> {
    if name.trim().is_empty() { Err("give a name".to_owned()) } else { Ok(name.to_owned()) }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        super::Cli::command().debug_assert();
    }
}
