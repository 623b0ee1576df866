//! `crh eval`.

use std::num::{NonZeroU16, NonZeroU32, NonZeroUsize};
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::flags::{
    BudgetFlags, ReviewEffortFlags, RoleFlags, VerbosityFlags, parse_dollars, parse_repository,
};
use super::learning::OutcomeJudgeArgs;
use super::plumbing::ListFormatArg;
use crate::config::key::SourcedValue;
use crate::config::keys::RawSettings;
use crate::config::review::StrategyChoice;
use crh_eval::REPEATS_MAX;
use crh_eval::import::ImportArgs;
use crh_llm::Money;
use crh_review::eval::Rule;

#[derive(Debug, Subcommand)]
pub(crate) enum EvalCommand {
    /// Review every case of a suite and score the reviews; a case is a change with the issues that
    /// a review should find
    Run(Box<EvalRunArgs>),
    /// Like `run`, but exit with code 1 if a score is worse than in an earlier evaluation (the
    /// baseline)
    Gate(Box<EvalGateArgs>),
    /// Compare two evaluations: which differences are significant, and which cases changed between
    /// found and missed
    Compare(EvalCompareArgs),
    /// Show a stored evaluation in any format, or score it again with another rule for what counts
    /// as found (`--match`)
    Show(EvalShowArgs),
    /// Score the findings of another tool on the cases of a suite
    Score(EvalScoreArgs),
    /// Create cases from commits, from bug fixes (crh reverses the fix), from two folders or from a
    /// JSON Lines file
    Import(Box<ImportArgs>),
    /// Review the last commits of a repository and count the findings
    Noise(Box<EvalNoiseArgs>),
    /// Test how well crh detects whether people fixed, rejected or ignored an issue, on examples
    /// with known answers
    Outcomes(EvalOutcomesArgs),
    /// Learn from past reviews how likely maintainers are to act on an issue, and measure how
    /// accurate these predictions are
    Calibrate(EvalCalibrateArgs),
}

#[derive(Debug, Args)]
pub(crate) struct EvalOutcomesArgs {
    /// File with examples and their answers (default: the examples that ship with crh)
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) judge: OutcomeJudgeArgs,
}

#[derive(Debug, Args)]
pub(crate) struct EvalCalibrateArgs {
    /// Stored evaluations to learn from, written by `crh eval run --out`
    #[arg(value_name = "EVALUATION")]
    pub(crate) evaluations: Vec<PathBuf>,
    /// Also learn from the outcome of the issues that crh posted to this repository
    #[arg(long, value_name = "OWNER/NAME", value_parser = parse_repository)]
    pub(crate) repo: Option<String>,
    /// Use the result in later reviews of the repository `--repo`, but only if it predicts better
    /// than the built-in estimate
    #[arg(long, requires = "repo")]
    pub(crate) save: bool,
    /// Output format
    #[arg(long, value_enum, default_value_t = ListFormatArg::Text)]
    pub(crate) format: ListFormatArg,
}

/// The cases to evaluate.
#[derive(Debug, Clone, Args)]
pub(crate) struct SuiteArgs {
    /// The suite: a folder with cases or JSON Lines files, a single case, or a single JSON Lines
    /// file (default: `eval/suite`)
    #[arg(value_name = "SUITE")]
    pub(crate) suite: Option<PathBuf>,
    /// Use only cases whose id matches this glob, and their twins; repeatable. The twin `ID~twin` is
    /// the same change in reverse: it removes the bug, so a review should report nothing
    #[arg(long = "case", value_name = "GLOB")]
    pub(crate) cases: Vec<String>,
    /// Use only the cases that this file lists: one id or glob per line, `#` starts a comment
    #[arg(long, value_name = "FILE", conflicts_with = "cases")]
    pub(crate) case_list: Option<PathBuf>,
    /// Folder that contains a clone `OWNER/NAME` of each repository that a case refers to
    #[arg(long, value_name = "DIR")]
    pub(crate) repos: Option<PathBuf>,
}

/// How to review the cases.
#[derive(Debug, Clone, Args)]
pub(crate) struct EvalReviewArgs {
    /// Who reviews the change; overrides the setting `review.strategy`
    #[arg(long, value_enum, value_name = "STRATEGY")]
    pub(crate) strategy: Option<ArmChoice>,
    #[command(flatten)]
    pub(crate) effort: ReviewEffortFlags,
    /// Run only these reviewers, comma-separated. If you do not also give `--case`, crh leaves out
    /// cases with bugs of a category that none of these reviewers covers
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) reviewers: Vec<String>,
    #[command(flatten)]
    pub(crate) model: RoleFlags,
    /// Record every model exchange to this file, for `--model replay:FILE`; ignores cached reviews
    #[arg(long, value_name = "FILE")]
    pub(crate) record: Option<PathBuf>,
    /// Review each change N times, because the answers of models vary
    #[arg(long, value_name = "N", default_value = "1", value_parser = parse_repeats, allow_negative_numbers = true)]
    pub(crate) repeat: NonZeroU32,
    /// Maximum number of changes to review at the same time (default: one per CPU core);
    /// `--side-by-side` limits the reviewers of each change
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) jobs: Option<NonZeroUsize>,
    /// Ignore cached reviews
    #[arg(long)]
    pub(crate) fresh: bool,
    /// Maximum cost of all reviews together, in US dollars; crh skips reviews that could exceed it
    #[arg(long, value_name = "USD", default_value = "10", value_parser = parse_dollars, allow_negative_numbers = true)]
    pub(crate) max_total_cost: Money,
    #[command(flatten)]
    pub(crate) verbosity: VerbosityFlags,
    // Keep this last: its heading applies to all flags after it.
    #[command(flatten)]
    pub(crate) budget: BudgetFlags,
}

impl EvalReviewArgs {
    /// Copies the strategy and its effort to the settings of the command line.
    pub(crate) fn set_strategy(&self, raw: &mut RawSettings) {
        self.effort.clone().set(raw);
        let strategy = self.strategy.map(ArmChoice::strategy);
        raw.review_strategy = strategy.map(|value| SourcedValue::from_flag("--strategy", value));
    }
}

/// A strategy of crh, or the model alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ArmChoice {
    /// Several specialised reviewers, chosen for the change, work in parallel
    Panel,
    /// One reviewer for the whole change, then a model call that decides which issues to show
    Single,
    /// An orchestrator divides the files among sub-agents that work in parallel
    Delegate,
    /// Static checks only, no model
    Static,
    /// For comparison: the model with the diff and tools, but without crh's prompts, merging and
    /// selection of findings
    Bare,
}

impl ArmChoice {
    /// All arms, in the order in which the gate checks them.
    pub(crate) const ALL: [Self; 5] =
        [Self::Static, Self::Single, Self::Delegate, Self::Panel, Self::Bare];

    /// The strategy whose settings and budget apply.
    pub(crate) fn strategy(self) -> StrategyChoice {
        match self {
            Self::Panel => StrategyChoice::Panel,
            // The model alone reviews like a single reviewer, with the same limits.
            Self::Single | Self::Bare => StrategyChoice::Single,
            Self::Delegate => StrategyChoice::Delegate,
            Self::Static => StrategyChoice::Static,
        }
    }

    /// Name as users type it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Panel => "panel",
            Self::Single => "single",
            Self::Delegate => "delegate",
            Self::Static => "static",
            Self::Bare => "bare",
        }
    }
}

#[derive(Debug, Clone, Args)]
pub(crate) struct MatchArgs {
    /// When a finding counts as an expected issue
    #[arg(long = "match", value_enum, value_name = "RULE")]
    rule: Option<RuleArg>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum RuleArg {
    /// Same file, same category, at most 3 lines apart (default)
    Category,
    /// Same file, related category (such as `bug` and `logic`), at most 3 lines apart
    Family,
    /// Same file, at most 3 lines apart
    FileLine,
    /// Same file, similar wording
    Text,
}

impl MatchArgs {
    pub(crate) fn rule(&self) -> Option<Rule> {
        self.rule.map(|rule| match rule {
            RuleArg::Category => Rule::Category,
            RuleArg::Family => Rule::Family,
            RuleArg::FileLine => Rule::FileLine,
            RuleArg::Text => Rule::Text,
        })
    }
}

#[derive(Debug, Args)]
pub(crate) struct EvalRunArgs {
    #[command(flatten)]
    pub(crate) suite: SuiteArgs,
    #[command(flatten)]
    pub(crate) match_args: MatchArgs,
    /// Let this model decide which findings match which expected issues. crh also prints how often
    /// it makes the same decision as the rule `text` of `--match`
    #[arg(long, value_name = "MODEL", conflicts_with = "rule")]
    pub(crate) judge: Option<String>,
    /// Folder for the evaluation and its HTML page (default: a new folder in `.crh/evals`)
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Output format
    #[arg(long, value_enum, default_value_t = EvalFormatArg::Text)]
    pub(crate) format: EvalFormatArg,
    #[command(flatten)]
    pub(crate) review: EvalReviewArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum EvalFormatArg {
    /// Text for a terminal
    Text,
    /// Markdown for a pull request comment
    Markdown,
    /// The evaluation with all numbers, as JSON
    Json,
    /// A self-contained HTML page
    Html,
}

#[derive(Debug, Args)]
pub(crate) struct EvalGateArgs {
    #[command(flatten)]
    pub(crate) suite: SuiteArgs,
    /// File with the baseline, written by `--write-baseline` or `crh eval run`. Default:
    /// `eval/baselines/STRATEGY.json`; without `--strategy`, every such file. With the default, crh
    /// also uses the recorded answers `eval/recordings/STRATEGY.jsonl` and the case list
    /// `eval/cases/STRATEGY.txt` if they exist
    #[arg(long, value_name = "FILE")]
    pub(crate) baseline: Option<PathBuf>,
    /// Compare this stored evaluation with the baseline instead of running reviews; needs
    /// `--baseline`
    #[arg(long, value_name = "EVAL", requires = "baseline", conflicts_with_all = ["suite", "cases", "case_list", "write_baseline"])]
    pub(crate) result: Option<PathBuf>,
    /// Write the result as the new baseline instead of comparing it with the old one
    #[arg(long)]
    pub(crate) write_baseline: bool,
    #[command(flatten)]
    pub(crate) match_args: MatchArgs,
    #[command(flatten)]
    pub(crate) review: EvalReviewArgs,
}

#[derive(Debug, Args)]
pub(crate) struct EvalCompareArgs {
    /// First evaluation: an `eval.json` file or its folder
    #[arg(value_name = "BEFORE")]
    pub(crate) before: PathBuf,
    /// Second evaluation
    #[arg(value_name = "AFTER")]
    pub(crate) after: PathBuf,
    #[command(flatten)]
    pub(crate) match_args: MatchArgs,
    /// Output format
    #[arg(long, value_enum, default_value_t = EvalFormatArg::Text)]
    pub(crate) format: EvalFormatArg,
}

#[derive(Debug, Args)]
pub(crate) struct EvalShowArgs {
    /// An `eval.json` file or its folder; the HTML page shows several evaluations side by side
    #[arg(value_name = "EVAL", required = true)]
    pub(crate) evaluations: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) match_args: MatchArgs,
    /// Output format
    #[arg(long, value_enum, default_value_t = EvalFormatArg::Text)]
    pub(crate) format: EvalFormatArg,
}

#[derive(Debug, Args)]
pub(crate) struct EvalScoreArgs {
    /// Findings of the tool: a JSON array or JSON Lines of `{case, file, line, text}`, with an
    /// optional `category`; `-` reads standard input
    #[arg(value_name = "RESULTS")]
    pub(crate) results: PathBuf,
    #[command(flatten)]
    pub(crate) suite: SuiteArgs,
    /// Name of the tool
    #[arg(long, value_name = "NAME")]
    pub(crate) name: String,
    /// Count twins as reviewed by the tool even if it reported nothing about them. The twin
    /// `ID~twin` is the same change in reverse: it removes the bug, so a review should report
    /// nothing
    #[arg(long)]
    pub(crate) with_twins: bool,
    #[command(flatten)]
    pub(crate) match_args: MatchArgs,
    /// Folder for the evaluation and its HTML page (default: not stored)
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Output format
    #[arg(long, value_enum, default_value_t = EvalFormatArg::Text)]
    pub(crate) format: EvalFormatArg,
}

#[derive(Debug, Args)]
// The shared help of `--reviewers` mentions cases, and this command has none.
#[command(mut_arg("reviewers", |arg| arg.help("Run only these reviewers, comma-separated")))]
pub(crate) struct EvalNoiseArgs {
    /// Path of the repository
    #[arg(value_name = "REPO", default_value = ".")]
    pub(crate) repo: PathBuf,
    /// Number of non-merge commits to review, counted back from HEAD
    #[arg(long, value_name = "N", default_value = "100", allow_negative_numbers = true)]
    pub(crate) last: NonZeroU16,
    /// Number of random findings to print for manual inspection
    #[arg(long, value_name = "N", default_value = "20", allow_negative_numbers = true)]
    pub(crate) sample: usize,
    /// Random seed of the sample
    #[arg(long, value_name = "N", default_value = "1", allow_negative_numbers = true)]
    pub(crate) seed: u64,
    /// Output format
    #[arg(long, value_enum, default_value_t = NoiseFormatArg::Text)]
    pub(crate) format: NoiseFormatArg,
    #[command(flatten)]
    pub(crate) review: EvalReviewArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum NoiseFormatArg {
    /// Text for a terminal
    Text,
    /// Markdown; the sample is a table with a column for your verdicts
    Markdown,
    /// JSON
    Json,
}

fn parse_repeats(text: &str) -> Result<NonZeroU32, String> {
    let repeats = text.parse().ok().filter(|repeats: &NonZeroU32| repeats.get() <= REPEATS_MAX);
    repeats.ok_or_else(|| format!("expected a number from 1 to {REPEATS_MAX}"))
}
