//! `crh eval`.

use std::num::{NonZeroU16, NonZeroU32, NonZeroUsize};
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::flags::{BudgetFlags, HowFlags, ModelFlags, TalkFlags, dollars};
use super::import::EvalImportArgs;
use crate::eval::REPEATS_MAX;
use crh_llm::Money;
use crh_review::eval::Rule;

#[derive(Debug, Subcommand)]
pub(crate) enum EvalCommand {
    /// Review every case of a suite and say how good the reviews are
    Run(Box<EvalRunArgs>),
    /// Do the same, and fail if something has become worse than a baseline
    Gate(Box<EvalGateArgs>),
    /// Say which differences between two evaluations are real, and which cases flipped
    Compare(EvalCompareArgs),
    /// Show a stored evaluation again, in another form or by another rule
    Show(EvalShowArgs),
    /// Score what another tool said about the cases of a suite
    Score(EvalScoreArgs),
    /// Make cases of commits, of fixes to be reversed, of two folders, or of another format
    Import(Box<EvalImportArgs>),
    /// Review the last commits of a repository and say how often something is reported
    Noise(Box<EvalNoiseArgs>),
}

/// The cases.
#[derive(Debug, Clone, Args)]
pub(crate) struct SuiteArgs {
    /// The suite: a folder of cases or of files of JSON lines, or one such case or file (default: `eval/suite`)
    #[arg(value_name = "SUITE")]
    pub(crate) suite: Option<PathBuf>,
    /// Take only cases whose id matches; can be given again. A case and its twin come together
    #[arg(long = "case", value_name = "GLOB")]
    pub(crate) cases: Vec<String>,
    /// Where the repositories are that cases name, as `OWNER/NAME`
    #[arg(long, value_name = "DIR")]
    pub(crate) repos: Option<PathBuf>,
}

/// How the cases are reviewed.
#[derive(Debug, Clone, Args)]
pub(crate) struct EvalReviewArgs {
    #[command(flatten)]
    pub(crate) how: HowFlags,
    /// These reviewers of the panel and no others, by name, with commas between; of a suite only the cases of their categories and
    /// those in which nothing is wrong are taken, unless `--case` names some
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) reviewers: Vec<String>,
    #[command(flatten)]
    pub(crate) model: ModelFlags,
    /// Write every exchange with models to this file, to be replayed with `--model replay:FILE`; everything is reviewed again
    #[arg(long, value_name = "FILE")]
    pub(crate) record: Option<PathBuf>,
    /// Review every case so often, since models vary
    #[arg(long, value_name = "N", default_value = "1", value_parser = repeats)]
    pub(crate) repeat: NonZeroU32,
    /// Review so many cases at the same time (default: one for each core)
    #[arg(long, value_name = "N")]
    pub(crate) jobs: Option<NonZeroUsize>,
    /// Review everything again, also what was reviewed in the same way before
    #[arg(long)]
    pub(crate) fresh: bool,
    /// What this command may spend on models, in US dollars; what no longer fits is not reviewed
    #[arg(long, value_name = "USD", default_value = "10", value_parser = dollars)]
    pub(crate) max_total_cost: Money,
    #[command(flatten)]
    pub(crate) talk: TalkFlags,
    // Last: its heading is that of all that follows.
    #[command(flatten)]
    pub(crate) budget: BudgetFlags,
}

/// When a report counts as a report of an expected issue.
#[derive(Debug, Clone, Args)]
pub(crate) struct MatchArgs {
    /// When a report counts as a report of an expected issue
    #[arg(long = "match", value_enum, value_name = "RULE")]
    pub(crate) rule: Option<RuleArg>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum RuleArg {
    /// Same file, same category, lines at most 3 apart (the default)
    Category,
    /// Same file, same family of categories, lines at most 3 apart
    Family,
    /// Same file, lines at most 3 apart
    FileLine,
    /// Same file, and words that say the same
    Text,
}

impl RuleArg {
    pub(crate) fn rule(self) -> Rule {
        match self {
            Self::Category => Rule::Category,
            Self::Family => Rule::Family,
            Self::FileLine => Rule::FileLine,
            Self::Text => Rule::Text,
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct EvalRunArgs {
    #[command(flatten)]
    pub(crate) suite: SuiteArgs,
    #[command(flatten)]
    pub(crate) matched: MatchArgs,
    /// Ask this model which reports are about which expected issues; its agreement with the text matcher is stated
    #[arg(long, value_name = "MODEL", conflicts_with = "rule")]
    pub(crate) judge: Option<String>,
    /// Where the evaluation is kept, with its page (default: a new folder in `.crh/evals`)
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// What standard output carries
    #[arg(long, value_enum, default_value_t = EvalFormatArg::Text)]
    pub(crate) format: EvalFormatArg,
    #[command(flatten)]
    pub(crate) review: EvalReviewArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum EvalFormatArg {
    /// For a terminal
    Text,
    /// For a comment on a pull request
    Markdown,
    /// The evaluation itself, with its numbers
    Json,
    /// One page for a browser, which loads nothing from elsewhere
    Html,
}

#[derive(Debug, Args)]
pub(crate) struct EvalGateArgs {
    #[command(flatten)]
    pub(crate) suite: SuiteArgs,
    /// The evaluation that must not become worse: what `--write-baseline` or `crh eval run` wrote
    #[arg(long, value_name = "FILE")]
    pub(crate) baseline: PathBuf,
    /// Hold this stored evaluation against the baseline instead of reviewing
    #[arg(long, value_name = "EVAL", conflicts_with_all = ["suite", "cases", "write_baseline"])]
    pub(crate) result: Option<PathBuf>,
    /// Write the baseline anew instead of holding against it
    #[arg(long)]
    pub(crate) write_baseline: bool,
    #[command(flatten)]
    pub(crate) matched: MatchArgs,
    #[command(flatten)]
    pub(crate) review: EvalReviewArgs,
}

#[derive(Debug, Args)]
pub(crate) struct EvalCompareArgs {
    /// The first evaluation: an `eval.json`, or the folder it is in
    #[arg(value_name = "BEFORE")]
    pub(crate) before: PathBuf,
    /// The second one
    #[arg(value_name = "AFTER")]
    pub(crate) after: PathBuf,
    #[command(flatten)]
    pub(crate) matched: MatchArgs,
    /// What standard output carries
    #[arg(long, value_enum, default_value_t = EvalFormatArg::Text)]
    pub(crate) format: EvalFormatArg,
}

#[derive(Debug, Args)]
pub(crate) struct EvalShowArgs {
    /// An `eval.json`, or the folder it is in; further ones are shown beside it in the page
    #[arg(value_name = "EVAL", required = true)]
    pub(crate) evaluations: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) matched: MatchArgs,
    /// What standard output carries
    #[arg(long, value_enum, default_value_t = EvalFormatArg::Text)]
    pub(crate) format: EvalFormatArg,
}

#[derive(Debug, Args)]
pub(crate) struct EvalScoreArgs {
    /// What the tool said: a JSON array or JSON lines of `{case, file, line, text}`; `-` for standard input
    #[arg(value_name = "RESULTS")]
    pub(crate) results: PathBuf,
    #[command(flatten)]
    pub(crate) suite: SuiteArgs,
    /// What the tool is called
    #[arg(long, value_name = "NAME")]
    pub(crate) name: String,
    /// The tool was asked about the twins too, `ID~twin`, also if it said nothing about any of them
    #[arg(long)]
    pub(crate) with_twins: bool,
    #[command(flatten)]
    pub(crate) matched: MatchArgs,
    /// Where the evaluation is kept, with its page (default: nowhere)
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// What standard output carries
    #[arg(long, value_enum, default_value_t = EvalFormatArg::Text)]
    pub(crate) format: EvalFormatArg,
}

#[derive(Debug, Args)]
pub(crate) struct EvalNoiseArgs {
    /// The repository
    #[arg(value_name = "REPO", default_value = ".")]
    pub(crate) repo: PathBuf,
    /// So many commits that are no merges, back from HEAD
    #[arg(long, value_name = "N", default_value = "100")]
    pub(crate) last: NonZeroU16,
    /// Show so many of the findings, chosen by chance, to be read
    #[arg(long, value_name = "N", default_value = "20")]
    pub(crate) sample: usize,
    /// What the choice depends on
    #[arg(long, value_name = "N", default_value = "1")]
    pub(crate) seed: u64,
    /// What standard output carries
    #[arg(long, value_enum, default_value_t = NoiseFormatArg::Text)]
    pub(crate) format: NoiseFormatArg,
    #[command(flatten)]
    pub(crate) review: EvalReviewArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum NoiseFormatArg {
    /// For a terminal
    Text,
    /// With a table of the sample in which verdicts can be written
    Markdown,
    /// For programs
    Json,
}

fn repeats(text: &str) -> Result<NonZeroU32, String> {
    let repeats = text.parse().ok().filter(|repeats: &NonZeroU32| repeats.get() <= REPEATS_MAX);
    repeats.ok_or_else(|| format!("give a number from 1 to {REPEATS_MAX}"))
}
