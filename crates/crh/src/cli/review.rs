//! `crh review`, `crh check`, `crh baseline`, `crh reviewers` and `crh demo`.

use std::num::NonZeroU64;
use std::path::PathBuf;

use clap::Args;

use super::flags::{
    AnalyserFlags, BudgetFlags, CacheFlags, DisplayFlags, FixFlags, GitFlags, IssueLimitFlags,
    PostFlags, ReviewFlags, RoleFlags, SarifFlags, ScopeFlags, VerbosityFlags, VerdictFlags,
};
use super::plumbing::{FormatArg, ListFormatArg};
use super::target::TargetArgs;
use crate::config::key::SourcedValue;
use crate::config::keys::RawSettings;
use crate::config::panel::DepthChoice;

#[derive(Debug, Args)]
pub(crate) struct ReviewArgs {
    #[command(flatten)]
    pub(crate) target: TargetArgs,
    /// File with the title and the description of the change, if it has no pull request: text with
    /// the title on the first line, or JSON with `title` and `body`; `-` reads standard input
    #[arg(long, value_name = "FILE", conflicts_with_all = ["workspace", "packed", "resume"])]
    pub(crate) description: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) workspace: WorkspaceArgs,
    /// Print the planned reviewers, the expected cost and the limits, then exit without reviewing
    #[arg(long, conflicts_with = "resume")]
    pub(crate) estimate: bool,
    /// Keep running: run the static checks on every save. When you have stopped saving for a while,
    /// review the change with models, unless the diff is the same as in their last review
    ///
    /// The setting `watch.quiet_seconds` says how long crh waits after a save, and
    /// `watch.max_usd_per_day` limits the cost. Press Ctrl-C to stop.
    #[arg(long, conflicts_with_all = NOT_WATCHED)]
    pub(crate) watch: bool,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    #[command(flatten)]
    pub(crate) review: ReviewFlags,
    #[command(flatten)]
    pub(crate) panel: PanelArgs,
    #[command(flatten)]
    pub(crate) model: RoleFlags,
    #[command(flatten)]
    pub(crate) prompts: PromptArgs,
    #[command(flatten)]
    pub(crate) trust: TrustArgs,
    #[command(flatten)]
    pub(crate) analysers: AnalyserFlags,
    #[command(flatten)]
    pub(crate) sarif: SarifFlags,
    #[command(flatten)]
    pub(crate) scope: ScopeFlags,
    #[command(flatten)]
    pub(crate) git: GitFlags,
    #[command(flatten)]
    pub(crate) cache: CacheFlags,
    #[command(flatten)]
    pub(crate) fix: FixFlags,
    #[command(flatten)]
    pub(crate) display: DisplayFlags,
    // Keep this last: its heading applies to all flags after it.
    #[command(flatten)]
    pub(crate) budget: BudgetFlags,
}

/// A prepared change, or an interrupted review.
#[derive(Debug, Default, Args)]
pub(crate) struct WorkspaceArgs {
    /// Review a workspace written by `crh prepare --out`
    #[arg(long, value_name = "DIR", conflicts_with_all = TARGET_ARGS)]
    pub(crate) workspace: Option<PathBuf>,
    /// Review an archive written by `crh prepare --pack`
    #[arg(long, value_name = "FILE", conflicts_with_all = TARGET_ARGS, conflicts_with_all = ["workspace", "repo"])]
    pub(crate) packed: Option<PathBuf>,
    /// Repository that `--workspace` or `--resume` belongs to (default: the current one)
    #[arg(long, value_name = "DIR")]
    pub(crate) repo: Option<PathBuf>,
    /// Continue this interrupted review; reviewers that finished do not run again
    #[arg(long, value_name = "RUN", conflicts_with_all = TARGET_ARGS, conflicts_with = "workspace")]
    pub(crate) resume: Option<String>,
    /// Dismissed issues as a JSON object from keys to reasons, for `crh serve`
    #[arg(long, value_name = "FILE", requires = "packed", conflicts_with = "resume", hide = true)]
    pub(crate) dismissals: Option<PathBuf>,
}

/// Names of the arguments that select a change.
const TARGET_ARGS: [&str; 10] = [
    "words",
    "base",
    "uncommitted",
    "staged",
    "commit",
    "diff",
    "include_untracked",
    "no_pr",
    "head",
    "no_skip",
];

/// Names of the arguments that `--watch` rejects. They select another change than the checkout, are
/// for a single report, post the review, or edit files.
const NOT_WATCHED: [&str; 22] = [
    "all",
    "allow_approve",
    "commit",
    "description",
    "diff",
    "dry_run",
    "estimate",
    "format",
    "head",
    "mode",
    "no_cache",
    "no_skip",
    "packed",
    "record",
    "request_changes",
    "resolve_outdated",
    "resume",
    "run_dir",
    "since_last",
    "sink",
    "staged",
    "workspace",
];

/// Reviewers, and the plan to check the change against.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct PanelArgs {
    /// Run only these reviewers, comma-separated; `crh reviewers` lists the names
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) reviewers: Vec<String>,
    /// Plan document (Markdown); crh checks whether the change meets its requirements
    #[arg(long, value_name = "FILE")]
    pub(crate) plan: Option<String>,
    /// Requirement of the `--plan` document to ignore, such as `R3`; repeatable
    #[arg(long, value_name = "ID", value_delimiter = ',')]
    pub(crate) waive: Vec<String>,
    /// The same as `--side-by-side`
    #[arg(long, value_name = "N", conflicts_with = "side_by_side", allow_negative_numbers = true)]
    pub(crate) jobs: Option<NonZeroU64>,
}

impl PanelArgs {
    /// Copies the given flags to the settings of the command line.
    pub(crate) fn set(&self, raw: &mut RawSettings) {
        if let Some(jobs) = self.jobs {
            raw.review_side_by_side = Some(SourcedValue::from_flag("--jobs", jobs));
        }
    }
}

/// Whether the user trusts the change. A repository cannot set it.
#[derive(Debug, Clone, Copy, Default, Args)]
pub(crate) struct TrustArgs {
    /// Trust this change: linters load configuration and plugins from it (still in the sandbox), the
    /// command of `fix.verify` runs without the sandbox, and a model may propose tests for the
    /// command of `verify.test`
    #[arg(long)]
    pub(crate) trust: bool,
}

/// Output of a review.
#[derive(Debug, Args)]
pub(crate) struct OutputArgs {
    /// Output format on standard output (default: `text`, in headless mode `envelope`)
    #[arg(long, value_enum)]
    pub(crate) format: Option<FormatArg>,
    /// Also list findings that the report leaves out, with the reason (text format only)
    #[arg(long)]
    pub(crate) all: bool,
    /// Also send the report to: `file:PATH`, `github` (pull request review), `github-comment`
    /// (single comment), `github-check` (check run), `github-sarif` (code scanning alerts),
    /// `launchpad` (comment with a vote), or a destination on another code host, which `crh post
    /// --help` lists. `stdout` prints the full report as one line of JSON instead of the report in
    /// `--format`. Repeatable
    #[arg(long, value_name = "SINK")]
    pub(crate) sink: Vec<String>,
    /// Folder for stored reviews (default: `.crh/runs` in the root of the checkout)
    #[arg(long, value_name = "DIR")]
    pub(crate) run_dir: Option<PathBuf>,
    /// Exit with code 0 instead of 4 if parts of the change were not reviewed
    #[arg(long)]
    pub(crate) allow_incomplete: bool,
    #[command(flatten)]
    pub(crate) post: PostFlags,
    #[command(flatten)]
    pub(crate) verbosity: VerbosityFlags,
}

impl OutputArgs {
    /// A report on standard output and no other sink.
    pub(crate) fn with_format(format: FormatArg) -> Self {
        Self {
            all: false,
            format: Some(format),
            sink: Vec::new(),
            run_dir: None,
            allow_incomplete: false,
            post: PostFlags::default(),
            verbosity: VerbosityFlags::default(),
        }
    }
}

/// Prompts and transcripts. A repository cannot set these.
#[derive(Debug, Default, Args)]
pub(crate) struct PromptArgs {
    /// File with a system prompt that replaces the built-in one in all model calls
    #[arg(long, value_name = "FILE")]
    pub(crate) system_prompt: Option<PathBuf>,
    /// File with instructions that replace the part of the prompt that tells reviewers how to
    /// review
    #[arg(long, value_name = "FILE")]
    pub(crate) reviewer_prompt: Option<PathBuf>,
    /// Record every model exchange to this file, for `--model replay:FILE`
    #[arg(long, value_name = "FILE")]
    pub(crate) record: Option<PathBuf>,
    /// Store prompts, answers and tool results with the review, too, not only their lengths and
    /// costs
    #[arg(long)]
    pub(crate) log_content: bool,
}

#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    #[command(flatten)]
    pub(crate) target: TargetArgs,
    #[command(flatten)]
    pub(crate) workspace: WorkspaceArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    #[command(flatten)]
    pub(crate) verdict: VerdictFlags,
    #[command(flatten)]
    pub(crate) issue_limit: IssueLimitFlags,
    #[command(flatten)]
    pub(crate) trust: TrustArgs,
    #[command(flatten)]
    pub(crate) analysers: AnalyserFlags,
    #[command(flatten)]
    pub(crate) sarif: SarifFlags,
    #[command(flatten)]
    pub(crate) scope: ScopeFlags,
    #[command(flatten)]
    pub(crate) git: GitFlags,
    #[command(flatten)]
    pub(crate) cache: CacheFlags,
    #[command(flatten)]
    pub(crate) display: DisplayFlags,
}

#[derive(Debug, Args)]
pub(crate) struct BaselineArgs {
    /// File to write (default: `.crh/baseline.json` in the root of the checkout). Commit this file
    /// and merge it into the base branch: `crh check` reads it there
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// SARIF 2.1.0 file with another tool's results for the checkout; repeatable
    #[arg(long, value_name = "FILE")]
    pub(crate) sarif: Vec<PathBuf>,
}

impl BaselineArgs {
    pub(crate) fn sarif_flags(&self) -> SarifFlags {
        SarifFlags { sarif: self.sarif.clone(), sarif_base: Vec::new() }
    }
}

#[derive(Debug, Args)]
pub(crate) struct ReviewersArgs {
    #[command(flatten)]
    pub(crate) target: TargetArgs,
    /// Output format
    #[arg(long, value_enum, default_value_t = ListFormatArg::Text)]
    pub(crate) format: ListFormatArg,
    /// How many reviewers to run; overrides the setting `review.depth`
    #[arg(long, value_enum, value_name = "DEPTH")]
    pub(crate) depth: Option<DepthChoice>,
    #[command(flatten)]
    pub(crate) scope: ScopeFlags,
    #[command(flatten)]
    pub(crate) git: GitFlags,
    #[command(flatten)]
    pub(crate) display: DisplayFlags,
}

#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    /// Output format
    #[arg(long, value_enum, default_value_t = FormatArg::Text)]
    pub(crate) format: FormatArg,
    /// Keep the example repository and the stored review in this new folder
    #[arg(long, value_name = "DIR")]
    pub(crate) keep: Option<PathBuf>,
    /// Ask this model instead of replaying the recording
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// Record the exchange with that model to this file
    #[arg(long, value_name = "FILE", requires = "model")]
    pub(crate) record: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) display: DisplayFlags,
}
