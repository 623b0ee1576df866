//! `crh post`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::flags::{CacheFlags, DisplayFlags, PostFlags, VerbosityFlags};
use super::runs::RunDirFlag;
use crh_pipeline::sinks::{ForgeSink, GitHubPostKind};

#[derive(Debug, Args)]
pub(crate) struct PostArgs {
    /// The run: its name, a unique prefix, the path of its folder or of a `review.json` (default:
    /// the newest run)
    #[arg(value_name = "RUN")]
    pub(crate) run: Option<String>,
    /// The reviewed diff, if RUN is only a `review.json`
    #[arg(long, value_name = "FILE")]
    pub(crate) diff: Option<PathBuf>,
    /// Repository to post to, with `HOST/` in front if it is not on github.com (default: the
    /// repository of the CI event, `GITHUB_REPOSITORY`)
    #[arg(long, value_name = "[HOST/]OWNER/NAME")]
    pub(crate) repo: Option<String>,
    /// Pull request to post to (default: the one in the CI event, `GITHUB_EVENT_PATH`)
    #[arg(long, value_name = "N")]
    pub(crate) pr: Option<u64>,
    /// URL of the Launchpad merge proposal to post to, with `--sink launchpad`
    #[arg(long, value_name = "URL", conflicts_with_all = ["repo", "pr"])]
    pub(crate) proposal: Option<String>,
    /// The reviewed head commit; crh posts nothing if the head has moved (default: the head in the CI
    /// event)
    #[arg(long, value_name = "SHA")]
    pub(crate) head: Option<String>,
    /// Where and how to post; repeatable
    #[arg(long, value_enum, default_values_t = [PostSink::Github])]
    pub(crate) sink: Vec<PostSink>,
    #[command(flatten)]
    pub(crate) post: PostFlags,
    #[command(flatten)]
    pub(crate) runs: RunDirFlag,
    #[command(flatten)]
    pub(crate) cache: CacheFlags,
    #[command(flatten)]
    pub(crate) display: DisplayFlags,
    #[command(flatten)]
    pub(crate) verbosity: VerbosityFlags,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PostSink {
    /// A GitHub review: a summary, and comments on lines
    Github,
    /// A single GitHub comment; needs fewer permissions
    GithubComment,
    /// A check run with annotations; needs a token of GitHub Actions or of a GitHub App
    GithubCheck,
    /// Code scanning alerts
    GithubSarif,
    /// A Launchpad comment with a summary, a vote and inline comments
    Launchpad,
}

impl PostSink {
    pub(crate) fn destination(self) -> ForgeSink {
        match self {
            Self::Github => ForgeSink::GitHub(GitHubPostKind::Review),
            Self::GithubComment => ForgeSink::GitHub(GitHubPostKind::Comment),
            Self::GithubCheck => ForgeSink::GitHub(GitHubPostKind::CheckRun),
            Self::GithubSarif => ForgeSink::GitHub(GitHubPostKind::CodeScanning),
            Self::Launchpad => ForgeSink::Launchpad,
        }
    }
}
