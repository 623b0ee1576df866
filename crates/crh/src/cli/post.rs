//! `crh post`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::flags::{CacheFlags, LookFlags, PostFlags, TalkFlags};
use super::runs::RunDirFlag;
use crh_pipeline::sinks::{PostAs, PostTo};

#[derive(Debug, Args)]
pub(crate) struct PostArgs {
    /// The run: its name, the beginning of it, the path of its folder, or the path of a `review.json` (default: the newest)
    #[arg(value_name = "RUN")]
    pub(crate) run: Option<String>,
    /// The diff that was reviewed, if only a `review.json` is given
    #[arg(long, value_name = "FILE")]
    pub(crate) diff: Option<PathBuf>,
    /// The repository to post to; `HOST/` if it is not at the usual one (default: `GITHUB_REPOSITORY`, with the event of CI)
    #[arg(long, value_name = "[HOST/]OWNER/NAME")]
    pub(crate) repo: Option<String>,
    /// The pull request to post to (default: the one of the event of CI, in `GITHUB_EVENT_PATH`)
    #[arg(long, value_name = "N")]
    pub(crate) pr: Option<u64>,
    /// The merge proposal at Launchpad to post to, with `--sink launchpad`: its address
    #[arg(long, value_name = "URL", conflicts_with_all = ["repo", "pr"])]
    pub(crate) proposal: Option<String>,
    /// The commit that must be the head of what is posted to (default: that of the event of CI)
    #[arg(long, value_name = "SHA")]
    pub(crate) head: Option<String>,
    /// How it is posted; may be given several times
    #[arg(long, value_enum, default_values_t = [PostSink::Github])]
    pub(crate) sink: Vec<PostSink>,
    #[command(flatten)]
    pub(crate) post: PostFlags,
    #[command(flatten)]
    pub(crate) place: RunDirFlag,
    #[command(flatten)]
    pub(crate) cache: CacheFlags,
    #[command(flatten)]
    pub(crate) look: LookFlags,
    #[command(flatten)]
    pub(crate) talk: TalkFlags,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PostSink {
    /// A review with comments on lines, and a summary
    Github,
    /// One comment, which needs fewer permissions
    GithubComment,
    /// A check run with annotations, which only a token of Actions or of an App can make
    GithubCheck,
    /// Alerts of code scanning
    GithubSarif,
    /// One comment on a merge proposal, with a summary, a vote and what goes beside lines
    Launchpad,
}

impl PostSink {
    /// Where it is posted.
    pub(crate) fn place(self) -> PostTo {
        match self {
            Self::Github => PostTo::GitHub(PostAs::Review),
            Self::GithubComment => PostTo::GitHub(PostAs::Comment),
            Self::GithubCheck => PostTo::GitHub(PostAs::CheckRun),
            Self::GithubSarif => PostTo::GitHub(PostAs::CodeScanning),
            Self::Launchpad => PostTo::Launchpad,
        }
    }
}
