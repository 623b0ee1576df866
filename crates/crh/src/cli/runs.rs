//! Commands for stored runs: `crh show`, `crh runs`, `crh dismiss`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::ListFormatArg;
use super::flags::DisplayFlags;
use super::plumbing::FormatArg;

#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// The run: its name, a unique prefix of it, or the path of its folder (default: the newest
    /// run)
    #[arg(value_name = "RUN")]
    pub(crate) run: Option<String>,
    /// List all runs instead, as text or JSON
    #[arg(long, conflicts_with = "run")]
    pub(crate) list: bool,
    /// Output format
    #[arg(long, value_enum, default_value_t = FormatArg::Text)]
    pub(crate) format: FormatArg,
    /// List all findings, also those that are not published, with the reason (text format)
    #[arg(long)]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(crate) display: DisplayFlags,
    #[command(flatten)]
    pub(crate) runs: RunDirFlag,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct RunDirFlag {
    /// Folder of stored runs (default: `.crh/runs` in the root of the checkout)
    #[arg(long, value_name = "DIR")]
    pub(crate) run_dir: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum RunsCommand {
    /// List all runs with verdict, number of issues and cost
    List(RunsListArgs),
    /// Delete old runs; without options, all but the newest 20
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
    /// Keep this many of the newest runs
    #[arg(long, value_name = "N")]
    pub(crate) keep: Option<usize>,
    /// Delete runs older than this many days, even if they are among the newest 20; with `--keep N`,
    /// the newest N always stay
    #[arg(long, value_name = "DAYS")]
    pub(crate) older_than: Option<u32>,
    /// Only print which runs would be deleted
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) runs: RunDirFlag,
}

#[derive(Debug, Args)]
pub(crate) struct DismissArgs {
    /// The issue: `RUN#3`, or `3` for the newest run; with `--undo` also the key that `--list`
    /// prints
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
