//! Commands for stored runs: `crh show`, `crh runs`, `crh dismiss`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::flags::DisplayFlags;
use super::plumbing::{FormatArg, ListFormatArg};

#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// The stored review: the name of its run folder in `.crh/runs`, a unique prefix of that name,
    /// or the path of the folder (default: the newest)
    #[arg(value_name = "RUN")]
    pub(crate) run: Option<String>,
    /// List all stored reviews instead, in the format `text` or `json`
    #[arg(long, conflicts_with = "run")]
    pub(crate) list: bool,
    /// Output format
    #[arg(long, value_enum, default_value_t = FormatArg::Text)]
    pub(crate) format: FormatArg,
    /// Also list findings that the report leaves out, with the reason (text format only)
    #[arg(long)]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(crate) display: DisplayFlags,
    #[command(flatten)]
    pub(crate) runs: RunDirFlag,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct RunDirFlag {
    /// Folder of stored reviews (default: `.crh/runs` in the root of the checkout)
    #[arg(long, value_name = "DIR")]
    pub(crate) run_dir: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum RunsCommand {
    /// List all stored reviews with verdict, number of issues and cost
    List(RunsListArgs),
    /// Delete old stored reviews; without options, all but the newest 20
    Prune(RunsPruneArgs),
}

#[derive(Debug, Args)]
pub(crate) struct RunsListArgs {
    /// Output format
    #[arg(long, value_enum, default_value_t = ListFormatArg::Text)]
    pub(crate) format: ListFormatArg,
    #[command(flatten)]
    pub(crate) runs: RunDirFlag,
}

#[derive(Debug, Args)]
pub(crate) struct RunsPruneArgs {
    /// Keep this many of the newest reviews
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) keep: Option<usize>,
    /// Delete reviews older than this many days. The default rule (keep the newest 20) then does
    /// not apply; with `--keep N`, crh never deletes the newest N
    #[arg(long, value_name = "DAYS", allow_negative_numbers = true)]
    pub(crate) older_than: Option<u32>,
    /// Only print which reviews crh would delete
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) runs: RunDirFlag,
}

#[derive(Debug, Args)]
pub(crate) struct DismissArgs {
    /// The issue: `3` for issue 3 of the newest review, or `RUN#3` with the name of another run
    /// folder; with `--undo`, also the key that `--list` prints
    #[arg(value_name = "ISSUE", required_unless_present = "list")]
    pub(crate) issue: Option<String>,
    /// Why you dismiss it
    #[arg(value_name = "REASON", conflicts_with = "undo")]
    pub(crate) reason: Vec<String>,
    /// List dismissed issues of all repositories
    #[arg(long, conflicts_with_all = ["issue", "undo"])]
    pub(crate) list: bool,
    /// Undo a dismissal
    #[arg(long)]
    pub(crate) undo: bool,
    /// Output format of the list
    #[arg(long, value_enum, default_value_t = ListFormatArg::Text, requires = "list")]
    pub(crate) format: ListFormatArg,
    #[command(flatten)]
    pub(crate) runs: RunDirFlag,
}
