//! `crh post`.

use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

use super::flags::{CacheFlags, DisplayFlags, PostFlags, VerbosityFlags};
use super::runs::RunDirFlag;
use crh_pipeline::sinks::{ForgeName, ForgeSink};

#[derive(Debug, Args)]
pub(crate) struct PostArgs {
    /// The stored review: the name of its run folder in `.crh/runs`, a unique prefix of that name,
    /// or the path of the folder or of a `review.json` (default: the newest)
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
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) pr: Option<u64>,
    #[arg(
        long, value_name = "URL", conflicts_with_all = ["repo", "pr"], help = proposal_help(),
    )]
    pub(crate) proposal: Option<String>,
    /// The reviewed head commit; crh posts nothing if the head has moved (default: the head in the
    /// CI event)
    #[arg(long, value_name = "SHA")]
    pub(crate) head: Option<String>,
    /// Where and how to post; repeatable
    #[arg(long, value_parser = sink_parser(), default_value = "github")]
    pub(crate) sink: Vec<ForgeSink>,
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

/// Parses the name of a forge sink. `--help` explains each.
fn sink_parser() -> impl TypedValueParser<Value = ForgeSink> {
    let names = ForgeSink::all().map(|sink| PossibleValue::new(sink.name()).help(sink.help()));
    PossibleValuesParser::new(names.collect::<Vec<_>>()).try_map(|name| {
        let sink = ForgeSink::all().find(|sink| sink.name() == name);
        sink.ok_or("unknown sink")
    })
}

fn proposal_help() -> String {
    let forges: Vec<&str> = ForgeName::all_rest().map(|forge| forge.profile().name).collect();
    let forges = forges.join(", ");
    format!(
        "URL of the merge request, pull request or merge proposal to post to; the sinks of {forges} and Launchpad need it"
    )
}
