//! Which change is meant, and `crh prepare`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::flags::{CacheFlags, GitFlags, ScopeFlags};

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
    #[command(flatten)]
    pub(crate) cache: CacheFlags,
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
#[derive(Debug, Default, Args)]
pub(crate) struct TargetArgs {
    /// A branch, a commit, a range `A..B`, a pull request (its address, `OWNER/NAME#N`, or `N` inside a clone), or a merge
    /// proposal of Launchpad (its address); the current branch with all that is not committed if left out. The words `base:REF` and `mode:MODE` are taken too
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
    /// With the current branch, do not look for its pull request
    #[arg(long)]
    pub(crate) no_pr: bool,
    /// The commit that must be the head of the pull request: nothing is done if it has another by now
    #[arg(long, value_name = "SHA")]
    pub(crate) head: Option<String>,
    /// Take a pull request that the settings `github.*` would leave alone in CI or where something is posted
    #[arg(long)]
    pub(crate) no_skip: bool,
    /// Of a pull request, take only the files that changed since the last complete review by crh; what was open in the others
    /// stays open. Everything, where that review does not match
    #[arg(long)]
    pub(crate) since_last: bool,
    /// Whether the review asks, changes or keeps anything, and how it answers; `crh prepare` only fails as it says
    #[arg(long, value_enum, value_name = "MODE")]
    pub(crate) mode: Vec<ModeArg>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ModeArg {
    /// For people: at a terminal, it fixes what is safe to fix and asks what to do with the rest (default)
    Interactive,
    /// It fixes what is safe to fix and reviews that again, and asks nothing
    Autofix,
    /// It only reports, and keeps no run folder
    ReportOnly,
    /// For programs: it fixes what is safe to fix once, asks nothing and answers with an envelope
    Headless,
}
