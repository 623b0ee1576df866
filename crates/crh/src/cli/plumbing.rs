//! Plumbing commands: `crh tool`, `crh diff`, `crh merge`, `crh render`, `crh schema`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

#[cfg(all(feature = "server", unix))]
use super::flags::BudgetFlags;
use super::flags::DisplayFlags;

#[derive(Debug, Args)]
pub(crate) struct ToolArgs {
    /// Name of the tool, such as `repo_grep`
    #[arg(required_unless_present = "list")]
    pub(crate) name: Option<String>,
    /// Arguments as a JSON object; `-` reads them from standard input
    #[arg(default_value = "{}", value_name = "JSON")]
    pub(crate) arguments: String,
    /// Print all tools with their descriptions and argument schemas, as JSON
    #[arg(long, exclusive = true)]
    pub(crate) list: bool,
    /// Workspace written by `crh prepare --out`
    #[arg(long, value_name = "DIR", conflicts_with = "packed")]
    pub(crate) workspace: Option<PathBuf>,
    /// Archive written by `crh prepare --pack`
    #[arg(long, value_name = "FILE")]
    pub(crate) packed: Option<PathBuf>,
    /// Repository of the workspace (default: the current one)
    #[arg(long, value_name = "DIR", conflicts_with = "packed")]
    pub(crate) repo: Option<PathBuf>,
}

/// Arguments of a command that this program does not have.
#[cfg(not(all(feature = "server", unix)))]
#[derive(Debug, Args)]
pub(crate) struct NoServerArgs {
    /// Ignored
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    _arguments: Vec<std::ffi::OsString>,
}

/// Input of an answer to a reply, which `crh serve` asks for.
#[cfg(all(feature = "server", unix))]
#[derive(Debug, Args)]
pub(crate) struct AnswerArgs {
    /// Archive written by `crh prepare --pack`
    #[arg(long, value_name = "FILE")]
    pub(crate) packed: PathBuf,
    /// The issue, as in the JSON report
    #[arg(long, value_name = "FILE")]
    pub(crate) issue: PathBuf,
    /// Text of the reply
    #[arg(long, value_name = "FILE")]
    pub(crate) reply: PathBuf,
    #[command(flatten)]
    pub(crate) budget: BudgetFlags,
}

/// A fix to check, which `crh serve` asks for.
#[cfg(all(feature = "server", unix))]
#[derive(Debug, Args)]
pub(crate) struct CheckFixArgs {
    /// Archive written by `crh prepare --pack`
    #[arg(long, value_name = "FILE")]
    pub(crate) packed: PathBuf,
    /// Path of the changed file in the repository
    #[arg(long)]
    pub(crate) path: String,
    /// File with the new text
    #[arg(long, value_name = "FILE")]
    pub(crate) text: PathBuf,
}

#[derive(Debug, Subcommand)]
pub(crate) enum DiffCommand {
    /// Read a diff from standard input and print it with a line number before each line
    Number,
    /// Read a diff from standard input and print the file and the line numbers of each diff line,
    /// as JSON
    Map(DiffMapArgs),
    /// Read a diff from standard input and print its files as a JSON array
    Files,
}

#[derive(Debug, Args)]
pub(crate) struct DiffMapArgs {
    /// Print the old and the new line number of only one line. Write `42` for line 42 of the diff,
    /// or `src/a.rs:10` for line 10 of a file
    pub(crate) place: Option<String>,
    /// Which file the line number in `PATH:LINE` counts
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
    /// Files with reviewer output: a JSON object, a JSON array or JSON Lines; `-` reads standard
    /// input
    #[arg(required = true, value_name = "REVIEWER_OUTPUT")]
    pub(crate) returns: Vec<PathBuf>,
    /// The reviewed diff; `-` reads standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) diff: PathBuf,
    /// JSON format of the reviewer output
    #[arg(long, value_enum, default_value_t = DialectArg::Native)]
    pub(crate) dialect: DialectArg,
    /// Reviewer name to use (default: the name in the file, or the file name)
    #[arg(long, value_name = "NAME", value_parser = parse_reviewer_name)]
    pub(crate) reviewer: Option<String>,
    /// Folder with the files after the change, in which crh looks for quoted code that is not in
    /// the diff
    #[arg(long, value_name = "DIR")]
    pub(crate) new: Option<PathBuf>,
    /// Folder with the files before the change
    #[arg(long, value_name = "DIR")]
    pub(crate) old: Option<PathBuf>,
    /// File with your decisions about duplicates and about issues that are not real
    ///
    /// Run `crh merge` once, decide which `candidate_pairs` of its report describe the same problem
    /// and which issues are real, then run it again with this file:
    ///
    /// `{"same": [PAIR_ID], "judgements": {DEDUPE_KEY: {"result": "confirmed"}}}`
    ///
    /// PAIR_ID is the `id` of a pair in `candidate_pairs`, and DEDUPE_KEY is the `dedupe_key` of an
    /// issue. Each result is `confirmed`, `refuted`, `unsure`, `no_verdict` (the check gave no answer)
    /// or `failed` (the check failed).
    #[arg(long, value_name = "FILE")]
    pub(crate) answers: Option<PathBuf>,
    /// Maximum number of issues to show
    #[arg(long, value_name = "N", default_value_t = 15, allow_negative_numbers = true)]
    pub(crate) max_issues: usize,
    /// If a file is unreadable, count its reviewer as failed and go on
    #[arg(long)]
    pub(crate) keep_going: bool,
    #[command(flatten)]
    pub(crate) output: RenderOutputArgs,
}

#[derive(Debug, Args)]
pub(crate) struct RenderArgs {
    /// JSON report of `crh review` or `crh merge`; `-` reads standard input
    #[arg(default_value = "-", value_name = "REPORT")]
    pub(crate) report: PathBuf,
    /// The reviewed diff, for formats that show code (`html`)
    #[arg(long, value_name = "FILE")]
    pub(crate) diff: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) output: RenderOutputArgs,
}

/// Format and look of a report.
#[derive(Debug, Args)]
pub(crate) struct RenderOutputArgs {
    /// Output format
    #[arg(long, value_enum, default_value_t = FormatArg::Json)]
    pub(crate) format: FormatArg,
    /// Also list findings that the report leaves out, with the reason (text format only)
    #[arg(long)]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(crate) display: DisplayFlags,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FormatArg {
    /// Text for a terminal
    Text,
    /// The full report as JSON
    Json,
    /// Markdown tables by severity
    Markdown,
    /// SARIF 2.1.0, for code scanning
    Sarif,
    /// GitLab Code Quality report
    CodeQuality,
    /// Plain text with fixed headings, for coding agents; `crh review --mode headless` prints it by
    /// default
    Envelope,
    /// Body of a GitHub comment
    Comment,
    /// One line per issue, for editors
    Quickfix,
    /// GitHub Actions workflow commands, one per issue
    Annotations,
    /// A self-contained HTML page
    Html,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ListFormatArg {
    /// Human-readable text
    Text,
    /// JSON
    Json,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DialectArg {
    /// The format of this version; see `crh schema return`
    Native,
    /// Short format of an early version of crh: `{"summary": TEXT, "findings": [{"severity":
    /// "major", "path": PATH, "line": N, "comment": TEXT}]}`; `line` is a line number as printed by
    /// `crh diff number`, and `path` may be left out
    Crh,
    /// One object, `ReviewResult`, with a summary and findings; see `crh schema return-agent`
    Agent,
    /// JSON of `ce-code-review`, a review skill for coding agents, in its compact or full form
    Ce,
}

#[derive(Debug, Args)]
pub(crate) struct SchemaArgs {
    /// Format: `report` is the JSON report, `diff-files` and `diff-map` are the output of `crh
    /// diff`, and the `return` formats are the output of one reviewer, which `crh merge` reads
    #[arg(value_parser = clap::builder::PossibleValuesParser::new(crh_review::schema::NAMES))]
    pub(crate) name: String,
}

fn parse_reviewer_name(name: &str) -> Result<String, String> {
    if name.trim().is_empty() { Err("the name is empty".to_owned()) } else { Ok(name.to_owned()) }
}
