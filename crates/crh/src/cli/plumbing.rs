//! The parts of a review as commands: `crh tool`, `crh diff`, `crh merge`, `crh render`, `crh schema`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::flags::LookFlags;

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
    /// The diff that was reviewed, for forms that show code: `html`
    #[arg(long, value_name = "FILE")]
    pub(crate) diff: Option<PathBuf>,
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
    /// One workflow command an issue, for the log of GitHub Actions
    Annotations,
    /// One page for a browser, which loads nothing from elsewhere
    Html,
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

fn reviewer_name(name: &str) -> Result<String, String> {
    if name.trim().is_empty() { Err("give a name".to_owned()) } else { Ok(name.to_owned()) }
}
