//! `crh review`, `crh check` and `crh demo`.

use std::num::NonZeroU64;
use std::path::PathBuf;

use clap::Args;

use super::ListingArg;
use super::change::TargetArgs;
use super::flags::{
    AnalyserFlags, BudgetFlags, CacheFlags, FixFlags, GitFlags, LookFlags, ModelFlags, PostFlags,
    ReviewFlags, SarifFlags, ScopeFlags, ShownFlags, TalkFlags, VerdictFlags,
};
use super::parts::FormatArg;
use crate::config::key::Given;
use crate::config::keys::RawSettings;
use crate::config::panel::DepthChoice;

#[derive(Debug, Args)]
pub(crate) struct ReviewArgs {
    #[command(flatten)]
    pub(crate) target: TargetArgs,
    #[command(flatten)]
    pub(crate) prepared: PreparedArgs,
    /// Print who would look at what and what it can cost at worst, and stop
    #[arg(long, conflicts_with = "resume")]
    pub(crate) estimate: bool,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    #[command(flatten)]
    pub(crate) review: ReviewFlags,
    #[command(flatten)]
    pub(crate) panel: PanelArgs,
    #[command(flatten)]
    pub(crate) model: ModelFlags,
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
    pub(crate) look: LookFlags,
    // Last: its heading is that of all that follows.
    #[command(flatten)]
    pub(crate) budget: BudgetFlags,
}

/// A change that was prepared, or a review that was begun.
#[derive(Debug, Default, Args)]
pub(crate) struct PreparedArgs {
    /// Review the workspace that `crh prepare --out` wrote
    #[arg(long, value_name = "DIR", conflicts_with_all = TARGETS)]
    pub(crate) workspace: Option<PathBuf>,
    /// Review the archive that `crh prepare --pack` wrote
    #[arg(long, value_name = "FILE", conflicts_with_all = TARGETS, conflicts_with_all = ["workspace", "repo"])]
    pub(crate) packed: Option<PathBuf>,
    /// The repository of the workspace or of the run (default: the one you are in)
    #[arg(long, value_name = "DIR")]
    pub(crate) repo: Option<PathBuf>,
    /// Go on with a review that was interrupted: what has ended is not paid for again
    #[arg(long, value_name = "RUN", conflicts_with_all = TARGETS, conflicts_with = "workspace")]
    pub(crate) resume: Option<String>,
}

/// What says which change is meant, by the names of its arguments.
const TARGETS: [&str; 10] = [
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

/// Who is on a panel, and what the change is held against.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct PanelArgs {
    /// These reviewers of the panel and no others, by name, with commas between; `crh reviewers` lists them
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) reviewers: Vec<String>,
    /// The plan whose requirements the change has to meet: a file of the repository, or beside it
    #[arg(long, value_name = "FILE")]
    pub(crate) plan: Option<String>,
    /// A requirement of the plan that need not be met, such as `R3`; can be given again
    #[arg(long, value_name = "ID", value_delimiter = ',')]
    pub(crate) waive: Vec<String>,
    /// The same as `--side-by-side`
    #[arg(long, value_name = "N", conflicts_with = "side_by_side")]
    pub(crate) jobs: Option<NonZeroU64>,
}

impl PanelArgs {
    /// Puts what is a setting into the settings of the flags.
    pub(crate) fn set(&self, raw: &mut RawSettings) {
        if let Some(jobs) = self.jobs {
            raw.review_side_by_side = Some(Given::by_flag("--jobs", jobs));
        }
    }
}

/// Whom the user trusts. No repository can set it.
#[derive(Debug, Clone, Copy, Default, Args)]
pub(crate) struct TrustArgs {
    /// Trust this change: analysers that are installed may use its configuration and plugins, in the sandbox
    #[arg(long)]
    pub(crate) trust: bool,
}

/// What is printed and where it goes besides.
#[derive(Debug, Args)]
pub(crate) struct OutputArgs {
    /// What standard output carries (default: text; in headless mode the envelope)
    #[arg(long, value_enum)]
    pub(crate) format: Option<FormatArg>,
    /// Where the report goes besides: `file:PATH`, `github` (a review of the pull request), `github-comment` (one comment
    /// on it), `github-check` (a check run with annotations), `github-sarif` (alerts of code scanning), `launchpad` (one comment on
    /// the merge proposal, with a vote), or `stdout` for one JSON
    /// line instead of `--format`; can be given again
    #[arg(long, value_name = "SINK")]
    pub(crate) sink: Vec<String>,
    /// Where run folders are kept (default: `.crh/runs` at the root of the checkout)
    #[arg(long, value_name = "DIR")]
    pub(crate) run_dir: Option<PathBuf>,
    /// Count a review that is incomplete as done
    #[arg(long)]
    pub(crate) allow_incomplete: bool,
    #[command(flatten)]
    pub(crate) post: PostFlags,
    #[command(flatten)]
    pub(crate) talk: TalkFlags,
}

impl OutputArgs {
    /// A report on standard output, and nothing besides.
    pub(crate) fn shown_as(format: FormatArg) -> Self {
        Self {
            format: Some(format),
            sink: Vec::new(),
            run_dir: None,
            allow_incomplete: false,
            post: PostFlags::default(),
            talk: TalkFlags::default(),
        }
    }
}

/// What models are told, and what is written down of it. No repository can set these.
#[derive(Debug, Default, Args)]
pub(crate) struct PromptArgs {
    /// Rules for all agents, instead of the built-in ones
    #[arg(long, value_name = "FILE")]
    pub(crate) system_prompt: Option<PathBuf>,
    /// How reviewers review, instead of the built-in rubric
    #[arg(long, value_name = "FILE")]
    pub(crate) reviewer_prompt: Option<PathBuf>,
    /// Write every exchange with models to this file, to be replayed with `--model replay:FILE`
    #[arg(long, value_name = "FILE")]
    pub(crate) record: Option<PathBuf>,
    /// Write prompts, answers and what tools read into the transcripts of the run folder
    #[arg(long)]
    pub(crate) log_content: bool,
}

#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    #[command(flatten)]
    pub(crate) target: TargetArgs,
    #[command(flatten)]
    pub(crate) prepared: PreparedArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    #[command(flatten)]
    pub(crate) verdict: VerdictFlags,
    #[command(flatten)]
    pub(crate) shown: ShownFlags,
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
    pub(crate) look: LookFlags,
}

#[derive(Debug, Args)]
pub(crate) struct BaselineArgs {
    /// Where it is written (default: `.crh/baseline.json` at the root of the checkout, where `crh check` reads it)
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// What another tool says about the tree, as SARIF 2.1.0; can be given again
    #[arg(long, value_name = "FILE")]
    pub(crate) sarif: Vec<PathBuf>,
}

impl BaselineArgs {
    /// The files of other tools.
    pub(crate) fn sarif_flags(&self) -> SarifFlags {
        SarifFlags { sarif: self.sarif.clone(), sarif_base: Vec::new() }
    }
}

#[derive(Debug, Args)]
pub(crate) struct ReviewersArgs {
    #[command(flatten)]
    pub(crate) target: TargetArgs,
    /// The form of the answer
    #[arg(long, value_enum, default_value_t = ListingArg::Text)]
    pub(crate) format: ListingArg,
    /// How many reviewers the change is worth, over the setting `review.depth`
    #[arg(long, value_enum, value_name = "DEPTH")]
    pub(crate) depth: Option<DepthChoice>,
    #[command(flatten)]
    pub(crate) scope: ScopeFlags,
    #[command(flatten)]
    pub(crate) git: GitFlags,
    #[command(flatten)]
    pub(crate) look: LookFlags,
}

#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    /// What standard output carries
    #[arg(long, value_enum, default_value_t = FormatArg::Text)]
    pub(crate) format: FormatArg,
    /// Keep the repository and the run folder, in this folder
    #[arg(long, value_name = "DIR")]
    pub(crate) keep: Option<PathBuf>,
    /// Ask this model instead of playing the recording
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// Record what it says
    #[arg(long, value_name = "FILE", requires = "model")]
    pub(crate) record: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) look: LookFlags,
}
