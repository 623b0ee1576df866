//! `crh stats` and `crh learn`.

use std::path::PathBuf;

use clap::Args;

use super::flags::{parse_dollars, parse_repository};
use super::plumbing::ListFormatArg;
use crh_llm::Money;

#[derive(Debug, Args)]
pub(crate) struct StatsArgs {
    /// Show only this repository (default: all)
    #[arg(long, value_name = "OWNER/NAME", value_parser = parse_repository)]
    pub(crate) repo: Option<String>,
    /// Show only this pull request of the repository
    #[arg(long, value_name = "N", requires = "repo", conflicts_with = "forget")]
    pub(crate) pr: Option<String>,
    /// Output format
    #[arg(long, value_enum, default_value_t = ListFormatArg::Text)]
    pub(crate) format: ListFormatArg,
    /// Also write an HTML page with charts to this file
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// First ask the code host, such as GitHub, what became of the posted issues
    #[arg(long)]
    pub(crate) refresh: bool,
    /// Count the review in this file as posted to the pull request
    #[arg(long, value_name = "FILE", hide = true, requires = "pr")]
    pub(crate) posted: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) judge: OutcomeJudgeArgs,
    /// Write all stored data about posted issues to this file, as JSON; `-` prints it
    #[arg(long, value_name = "FILE", conflicts_with = "html")]
    pub(crate) export: Option<PathBuf>,
    /// Delete what crh has learned on this machine: the data about posted issues, your own lessons
    /// (`crh learn --user`) and the results of `crh eval calibrate`
    #[arg(long, conflicts_with_all = ["html", "refresh", "export", "format"])]
    pub(crate) forget: bool,
}

/// A model that decides outcomes.
#[derive(Debug, Args)]
pub(crate) struct OutcomeJudgeArgs {
    /// If crh cannot tell what became of an issue, ask this model (default: crh uses its own best
    /// guess)
    #[arg(long, value_name = "MODEL")]
    pub(crate) judge: Option<String>,
    /// Maximum cost of all answers of `--judge`, in US dollars
    #[arg(long, value_name = "USD", default_value = "0.05", value_parser = parse_dollars, requires = "judge", allow_negative_numbers = true)]
    pub(crate) judge_cost: Money,
}

#[derive(Debug, Args)]
pub(crate) struct LearnArgs {
    /// Print the lessons and the proposals, and change nothing
    #[arg(long, conflicts_with_all = ["accept", "undo"])]
    pub(crate) list: bool,
    /// Accept this proposal without asking; repeatable
    #[arg(long, value_name = "ID", conflicts_with = "undo")]
    pub(crate) accept: Vec<String>,
    /// Remove this lesson
    #[arg(long, value_name = "ID")]
    pub(crate) undo: Option<String>,
    /// Change your own lessons, which only your reviews follow, instead of those in the
    /// repository's `.crh/lessons.toml`
    #[arg(long)]
    pub(crate) user: bool,
    /// Name of the person who confirms the lessons (default: the author name of git)
    #[arg(long, value_name = "NAME")]
    pub(crate) confirmed_by: Option<String>,
    /// Number of commits in which crh looks for code that was repaired several times
    #[arg(long, value_name = "N", default_value = "500", allow_negative_numbers = true)]
    pub(crate) commits: u32,
    /// Number of merged pull requests whose review comments crh reads from the code host, such as
    /// GitHub
    #[arg(long, value_name = "N", default_value = "20", allow_negative_numbers = true)]
    pub(crate) pull_requests: u32,
    /// Output format of `--list`
    #[arg(long, value_enum, default_value_t = ListFormatArg::Text, requires = "list")]
    pub(crate) format: ListFormatArg,
}
