//! `crh prepare`, and the arguments that select a change.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::flags::{CacheFlags, GitFlags, ScopeFlags};

#[derive(Debug, Args)]
pub(crate) struct PrepareArgs {
    #[command(flatten)]
    pub(crate) target: TargetArgs,
    #[command(flatten)]
    pub(crate) output: PrepareOutputArgs,
    #[command(flatten)]
    pub(crate) scope: ScopeFlags,
    #[command(flatten)]
    pub(crate) git: GitFlags,
    #[command(flatten)]
    pub(crate) cache: CacheFlags,
}

/// Output of `crh prepare`.
#[derive(Debug, Args)]
#[group(required = true, multiple = true)]
pub(crate) struct PrepareOutputArgs {
    /// Folder to write; crh replaces a folder that an earlier `crh prepare` wrote
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Archive to write: the same content as `--out`, plus the git objects that reviewers can read
    #[arg(long, value_name = "FILE")]
    pub(crate) pack: Option<PathBuf>,
}

/// The change to review.
#[derive(Debug, Default, Args)]
pub(crate) struct TargetArgs {
    /// What to review: a branch or commit (all changes since the base; `--commit` reviews one
    /// commit alone), a range `A..B`, a pull request (URL, `OWNER/NAME#N`, or `N` inside a clone),
    /// a GitLab merge request (URL, `GROUP/NAME!N`, or `!N` inside a clone) or the URL of a
    /// Launchpad merge proposal. Default: the current branch with staged and unstaged changes,
    /// without untracked files. You can also write `base:REF` for `--base REF`, `mode:MODE` for
    /// `--mode MODE` and, with `crh review`, `plan:FILE` for `--plan FILE`
    #[arg(value_name = "TARGET")]
    pub(crate) words: Vec<String>,
    /// Review only these files and folders. You can also give a path as TARGET if no branch or
    /// commit has that name
    #[arg(last = true, value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// Branch or commit to compare the current branch or the branch TARGET with (default: crh
    /// detects the base branch)
    #[arg(long, value_name = "REF")]
    pub(crate) base: Option<String>,
    /// Review uncommitted changes only, including untracked files
    #[arg(long)]
    pub(crate) uncommitted: bool,
    /// Review staged changes only
    #[arg(long)]
    pub(crate) staged: bool,
    /// Review one commit
    #[arg(long, value_name = "SHA")]
    pub(crate) commit: Option<String>,
    /// Review a diff file; `-` reads standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) diff: Option<PathBuf>,
    /// Include untracked files when reviewing the current branch
    #[arg(long)]
    pub(crate) include_untracked: bool,
    /// Do not look up the pull request of the current branch
    #[arg(long)]
    pub(crate) no_pr: bool,
    /// Expected head commit of the pull request; crh stops if the head has moved
    #[arg(long, value_name = "SHA")]
    pub(crate) head: Option<String>,
    /// Review a pull request even if a `github.*` setting says to skip it
    #[arg(long)]
    pub(crate) no_skip: bool,
    /// Review only the files that changed since the last complete crh review of this pull request;
    /// issues in other files stay open. If that review is missing or does not fit, crh reviews all
    /// files
    #[arg(long)]
    pub(crate) since_last: bool,
    /// Whether crh asks questions, edits files and stores the review. Default: crh stores the
    /// review and, at a terminal, asks before every edit; without a terminal, it asks nothing and
    /// edits nothing. `crh prepare` and `crh reviewers` ignore this option
    #[arg(long, value_enum, value_name = "MODE")]
    pub(crate) mode: Vec<ModeArg>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ModeArg {
    /// Like the default, but apply safe fixes before the first question
    Interactive,
    /// Without questions: apply safe fixes, review the result again, and write todo files for the
    /// issues that a developer or a coding agent can fix later (setting `todos.dir`)
    Autofix,
    /// Only print the report: no edits, no questions, no stored review
    ReportOnly,
    /// For scripts, without questions: apply safe fixes once, and print the report in the format
    /// `envelope`
    Headless,
}
