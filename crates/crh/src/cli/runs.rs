//! What is done with stored runs: `crh show`, `crh runs`, `crh dismiss`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::ListingArg;
use super::flags::LookFlags;
use super::parts::FormatArg;

#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// The run: its name, the beginning of it, or the path of its folder; the newest if left out
    #[arg(value_name = "RUN")]
    pub(crate) run: Option<String>,
    /// List all runs instead, as text or JSON
    #[arg(long, conflicts_with = "run")]
    pub(crate) list: bool,
    /// The form in which it is shown
    #[arg(long, value_enum, default_value_t = FormatArg::Text)]
    pub(crate) format: FormatArg,
    #[command(flatten)]
    pub(crate) look: LookFlags,
    #[command(flatten)]
    pub(crate) place: RunDirFlag,
}

/// Where runs lie.
#[derive(Debug, Clone, Args)]
pub(crate) struct RunDirFlag {
    /// The folder of the runs, instead of `.crh/runs` in the root of the checkout
    #[arg(long, value_name = "DIR")]
    pub(crate) run_dir: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum RunsCommand {
    /// Print every run with its verdict, its issues, and what it cost
    List(RunsListArgs),
    /// Delete old runs; the newest 20 stay if nothing else is said
    Prune(RunsPruneArgs),
}

#[derive(Debug, Args)]
pub(crate) struct RunsListArgs {
    /// The form of the answer
    #[arg(long, value_enum, default_value_t = ListingArg::Text)]
    pub(crate) format: ListingArg,
    #[command(flatten)]
    pub(crate) place: RunDirFlag,
}

#[derive(Debug, Args)]
pub(crate) struct RunsPruneArgs {
    /// Leave this many of the newest runs alone
    #[arg(long, value_name = "N")]
    pub(crate) keep: Option<usize>,
    /// Delete only runs that are older than this many days
    #[arg(long, value_name = "DAYS")]
    pub(crate) older_than: Option<u32>,
    /// Only say which ones would go
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) place: RunDirFlag,
}

#[derive(Debug, Args)]
pub(crate) struct DismissArgs {
    /// The issue: `RUN#3`, or `3` for one of the newest run; with `--undo` also its key
    #[arg(value_name = "ISSUE", required_unless_present = "list")]
    pub(crate) issue: Option<String>,
    /// Why, in your words
    #[arg(value_name = "REASON", conflicts_with = "undo")]
    pub(crate) reason: Vec<String>,
    /// List what was dismissed, in all repositories
    #[arg(long, conflicts_with_all = ["issue", "undo"])]
    pub(crate) list: bool,
    /// Take a dismissal back
    #[arg(long)]
    pub(crate) undo: bool,
    /// The form of the list
    #[arg(long, value_enum, default_value_t = ListingArg::Text, requires = "list")]
    pub(crate) format: ListingArg,
    #[command(flatten)]
    pub(crate) place: RunDirFlag,
}
