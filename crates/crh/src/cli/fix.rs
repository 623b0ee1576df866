//! `crh fix`.

use clap::Args;

use super::flags::{AnalyserFlags, FixFlags, LookFlags, ModelFlags};
use super::review::TrustArgs;
use super::runs::RunDirFlag;

#[derive(Debug, Args)]
pub(crate) struct FixArgs {
    /// The run: its name, the beginning of it, or the path of its folder; the newest if left out
    #[arg(value_name = "RUN")]
    pub(crate) run: Option<String>,
    /// Fix the issue of this number, whatever its class; can be given again (default: all that are safe to fix without asking)
    #[arg(long, value_name = "N", value_delimiter = ',')]
    pub(crate) issue: Vec<u32>,
    /// Print what would change as a patch, and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Take back everything that was fixed after this run
    #[arg(long, value_name = "RUN", conflicts_with_all = ["run", "issue", "dry_run"])]
    pub(crate) undo: Option<String>,
    #[command(flatten)]
    pub(crate) fix: FixFlags,
    #[command(flatten)]
    pub(crate) trust: TrustArgs,
    #[command(flatten)]
    pub(crate) model: ModelFlags,
    #[command(flatten)]
    pub(crate) analysers: AnalyserFlags,
    #[command(flatten)]
    pub(crate) place: RunDirFlag,
    #[command(flatten)]
    pub(crate) look: LookFlags,
}
