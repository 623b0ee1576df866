//! `crh fix`.

use clap::Args;

use super::flags::{AnalyserFlags, DisplayFlags, FixFlags, RoleFlags};
use super::review::TrustArgs;
use super::runs::RunDirFlag;

#[derive(Debug, Args)]
pub(crate) struct FixArgs {
    /// The stored review: the name of its run folder in `.crh/runs`, a unique prefix of that name,
    /// or the path of the folder (default: the newest)
    #[arg(value_name = "RUN")]
    pub(crate) run: Option<String>,
    /// Fix the issue with this number, even if its fix is not marked as safe; repeatable (default:
    /// all issues with a safe fix)
    #[arg(long, value_name = "N", value_delimiter = ',')]
    pub(crate) issue: Vec<u32>,
    /// Print the fixes as a patch and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Undo the fixes of this stored review (default: the newest review with fixes)
    #[arg(long, value_name = "RUN", conflicts_with_all = ["run", "issue", "dry_run"])]
    pub(crate) undo: Option<Option<String>>,
    #[command(flatten)]
    pub(crate) fix: FixFlags,
    #[command(flatten)]
    pub(crate) trust: TrustArgs,
    #[command(flatten)]
    pub(crate) model: RoleFlags,
    #[command(flatten)]
    pub(crate) analysers: AnalyserFlags,
    #[command(flatten)]
    pub(crate) runs: RunDirFlag,
    #[command(flatten)]
    pub(crate) display: DisplayFlags,
}
