//! The command line: every word, flag and help text of it.

use std::path::PathBuf;

use clap::Args;
use clap::Parser;
use clap::Subcommand;
use clap::ValueEnum;

/// Reviews a proposed code change and tells its author, with evidence, what is wrong with it.
#[derive(Debug, Parser)]
#[command(name = "crh", version, arg_required_else_help = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Number, map or list a unified diff read from standard input
    #[command(subcommand)]
    Diff(DiffCommand),
    /// Merge what reviewers returned into one report: issues, and the fate of every other finding
    Merge(MergeArgs),
    /// Show a report in another form
    Render(RenderArgs),
    /// Print the JSON Schema of something crh reads or writes
    Schema(SchemaArgs),
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
    /// Whether text has colours
    #[arg(long, value_enum, default_value_t = ColorArg::Auto)]
    pub(crate) color: ColorArg,
    /// The name of this installation, for the markers in comments
    #[arg(long, value_name = "NAME", default_value = "crh", value_parser = instance_name)]
    pub(crate) instance: String,
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
pub(crate) enum ColorArg {
    /// On a terminal, unless `NO_COLOR` is set
    Auto,
    /// Always
    Always,
    /// Never
    Never,
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

/// An instance name enters an HTML comment: nothing in it may end one.
fn instance_name(name: &str) -> Result<String, String> {
    let plain = |char: char| char.is_ascii_alphanumeric() || matches!(char, '_' | '.');
    if !name.is_empty()
        && name.len() <= 64
        && name.chars().all(|c| plain(c) || c == '-')
        && !name.contains("--")
    {
        Ok(name.to_owned())
    } else {
        Err("use letters, digits, `.`, `_` and single `-`, at most 64 of them".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        super::Cli::command().debug_assert();
    }

    #[test]
    fn an_instance_name_cannot_end_a_comment() {
        for bad in ["", "a-->", "a--b", "a b", "ä", "a\n"] {
            assert!(super::instance_name(bad).is_err(), "{bad:?}");
        }
        assert!(super::instance_name("team-a_1.2").is_ok());
    }
}
