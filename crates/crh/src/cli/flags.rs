//! Flags that stand over settings, and those that several commands share.

use std::num::NonZeroU64;
use std::path::PathBuf;

use anyhow::Context;
use clap::Args;
use tempfile::TempDir;

use crate::config::analysers::AnalysersChoice;
use crate::config::fix::CommandLine;
use crate::config::key::Given;
use crate::config::keys::RawSettings;
use crate::config::models::ModelChoice;
use crate::config::panel::DepthChoice;
use crate::config::review::{BudgetChoice, FailOn, Language, MinSeverity, StrategyChoice};
use crate::config::value::{Color, Folder, Glob, Globs, InstanceName};
use crate::failure::{Failure, Kind, OrFail};
use crate::ui::Verbosity;
use crh_llm::Money;

/// Flags over the settings that say how things look.
#[derive(Debug, Clone, Args)]
pub(crate) struct LookFlags {
    /// Whether text has colours, over the setting `color`
    #[arg(long, value_enum, value_name = "WHEN")]
    color: Option<Color>,
    /// The name of this installation for the markers in comments, over the setting `instance`
    #[arg(long, value_name = "NAME", value_parser = InstanceName::parse)]
    instance: Option<InstanceName>,
}

impl LookFlags {
    /// Puts what was given into the settings of the flags.
    pub(crate) fn set(self, raw: &mut RawSettings) {
        raw.color = self.color.map(|color| Given::by_flag("--color", color));
        raw.instance = self.instance.map(|name| Given::by_flag("--instance", name));
    }
}

/// Flags over the settings that say what is reviewed.
#[derive(Debug, Args)]
pub(crate) struct ScopeFlags {
    /// Files that are not reviewed, besides those of the setting `scope.exclude`; can be given again
    #[arg(long, value_name = "GLOB", value_parser = Glob::parse)]
    exclude: Vec<Glob>,
}

impl ScopeFlags {
    /// Puts what was given into the settings of the flags.
    pub(crate) fn set(self, raw: &mut RawSettings) {
        let globs = Some(self.exclude).filter(|globs| !globs.is_empty());
        raw.scope_exclude = globs.map(|globs| Given::by_flag("--exclude", Globs(globs)));
    }
}

/// Flags over the settings that say what is run on a change besides crh's own checks.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct AnalyserFlags {
    /// Whether analysers that are installed are run, over the setting `checks.analysers`
    #[arg(long, value_enum, value_name = "WHEN")]
    analysers: Option<AnalysersChoice>,
}

impl AnalyserFlags {
    /// As if this had been chosen.
    pub(crate) fn chosen(choice: AnalysersChoice) -> Self {
        Self { analysers: Some(choice) }
    }

    /// Puts what was given into the settings of the flags.
    pub(crate) fn set(self, raw: &mut RawSettings) {
        raw.checks_analysers = self.analysers.map(|value| Given::by_flag("--analysers", value));
    }
}

/// Flags over the settings that say how a fix is checked.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct FixFlags {
    /// The command that says whether a fixed tree still works, over the setting `fix.verify`: words, or a JSON list
    #[arg(long, value_name = "COMMAND", value_parser = CommandLine::parse)]
    verify: Option<CommandLine>,
    /// How long it may take
    #[arg(long, value_name = "SECONDS")]
    verify_seconds: Option<NonZeroU64>,
}

impl FixFlags {
    /// Puts what was given into the settings of the flags.
    pub(crate) fn set(self, raw: &mut RawSettings) {
        raw.fix_verify = self.verify.map(|value| Given::by_flag("--verify", value));
        raw.fix_verify_seconds =
            self.verify_seconds.map(|value| Given::by_flag("--verify-seconds", value));
    }
}

/// What other tools say.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct SarifFlags {
    /// What another tool says about this change, as SARIF 2.1.0; can be given again
    #[arg(long, value_name = "FILE")]
    pub(crate) sarif: Vec<PathBuf>,
    /// What it said before the change: only what is new since then counts; can be given again
    #[arg(long, value_name = "FILE", requires = "sarif")]
    pub(crate) sarif_base: Vec<PathBuf>,
}

/// Flags over the settings of git.
#[derive(Debug, Args)]
pub(crate) struct GitFlags {
    /// Never talk to a remote
    #[arg(long)]
    offline: bool,
}

impl GitFlags {
    /// Puts what was given into the settings of the flags.
    pub(crate) fn set(self, raw: &mut RawSettings) {
        raw.git_offline = self.offline.then(|| Given::by_flag("--offline", true));
    }
}

/// Whether anything is kept that another review could use.
#[derive(Debug, Clone, Copy, Default, Args)]
pub(crate) struct CacheFlags {
    /// Keep neither what is fetched nor what a forge answers, and use nothing that was kept
    #[arg(long)]
    pub(crate) no_cache: bool,
}

impl CacheFlags {
    /// The folder that stands in for the store, if nothing is to be kept. It is gone when this is.
    pub(crate) fn passing(self, raw: &mut RawSettings) -> Result<Option<TempDir>, Failure> {
        if !self.no_cache {
            return Ok(None);
        }
        let folder = tempfile::tempdir().context("making a temporary folder");
        let folder = folder.or_fail(Kind::Outside)?;
        let path = Folder::At(folder.path().to_owned());
        raw.store_folder = Some(Given::by_flag("--no-cache", path));
        Ok(Some(folder))
    }
}

/// What may be written to where a change is proposed.
#[derive(Debug, Clone, Copy, Default, Args)]
pub(crate) struct PostFlags {
    /// Request changes if the verdict asks for fixes, instead of only commenting
    #[arg(long)]
    pub(crate) request_changes: bool,
    /// Approve if the verdict is `Ready to merge`, instead of only commenting
    #[arg(long)]
    pub(crate) allow_approve: bool,
    /// Resolve own conversations whose code has changed, whose issue is gone and to which nobody replied
    #[arg(long)]
    pub(crate) resolve_outdated: bool,
    /// Print every write as JSON, and make none
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// Flags over the settings that say which model is asked.
#[derive(Debug, Clone, Args)]
pub(crate) struct ModelFlags {
    /// The model, over the setting `model.reviewer`: `PROVIDER:MODEL`, with `@URL` for a server of your own, or
    /// `replay:FILE` for a recording
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,
}

impl ModelFlags {
    /// As if this model had been named.
    pub(crate) fn named(model: String) -> Self {
        Self { model: Some(model) }
    }

    /// Puts what was given into the settings of the flags.
    ///
    /// The name is read here and not with the command line, which would repeat a wrong one: its address may have a
    /// password.
    pub(crate) fn set(self, raw: &mut RawSettings) -> Result<(), Failure> {
        let model = self.model.as_deref().map(ModelChoice::parse).transpose();
        let model = model.map_err(|why| {
            Failure::usage(why).hint("`crh model list` shows providers and models")
        })?;
        raw.model_reviewer = model.map(|model| Given::by_flag("--model", model));
        Ok(())
    }
}

/// Flags over the settings that say how a change is reviewed.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct ReviewFlags {
    #[command(flatten)]
    pub(crate) how: HowFlags,
    #[command(flatten)]
    pub(crate) verdict: VerdictFlags,
}

impl ReviewFlags {
    /// Puts what was given into the settings of the flags.
    pub(crate) fn set(self, raw: &mut RawSettings) {
        self.how.set(raw);
        self.verdict.set(raw);
    }
}

/// Flags over the settings that say who reviews a change and how far.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct HowFlags {
    /// How the change is divided among reviewers, over the setting `review.strategy`
    #[arg(long, value_enum, value_name = "STRATEGY")]
    strategy: Option<StrategyChoice>,
    /// How many reviewers of a panel the change is worth, over the setting `review.depth`
    #[arg(long, value_enum, value_name = "DEPTH")]
    depth: Option<DepthChoice>,
    /// How far the review may go, over the setting `review.budget`
    #[arg(long, value_enum, value_name = "PROFILE")]
    budget: Option<BudgetChoice>,
    /// The language that reviewers write in
    #[arg(long, value_name = "LANGUAGE", value_parser = Language::parse)]
    lang: Option<Language>,
    /// The most model runs at the same time
    #[arg(long, value_name = "N")]
    side_by_side: Option<NonZeroU64>,
}

impl HowFlags {
    /// Puts what was given into the settings of the flags.
    pub(crate) fn set(self, raw: &mut RawSettings) {
        raw.review_strategy = self.strategy.map(|value| Given::by_flag("--strategy", value));
        raw.review_depth = self.depth.map(|value| Given::by_flag("--depth", value));
        raw.review_budget = self.budget.map(|value| Given::by_flag("--budget", value));
        raw.review_language = self.lang.map(|value| Given::by_flag("--lang", value));
        raw.review_side_by_side =
            self.side_by_side.map(|value| Given::by_flag("--side-by-side", value));
    }
}

/// Flags over the settings that say what issues count for.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct VerdictFlags {
    /// From which severity on an issue makes the command end with exit code 1
    #[arg(long, value_enum, value_name = "SEVERITY")]
    fail_on: Option<FailOn>,
    /// The mildest severity that is shown
    #[arg(long, value_enum, value_name = "SEVERITY")]
    min_severity: Option<MinSeverity>,
}

impl VerdictFlags {
    /// Puts what was given into the settings of the flags.
    pub(crate) fn set(self, raw: &mut RawSettings) {
        raw.review_fail_on = self.fail_on.map(|value| Given::by_flag("--fail-on", value));
        raw.review_min_severity =
            self.min_severity.map(|value| Given::by_flag("--min-severity", value));
    }
}

/// How much a report of checks shows.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct ShownFlags {
    /// Issues that the report shows; SARIF has all that programs found
    #[arg(long, value_name = "N")]
    max_issues: Option<NonZeroU64>,
}

impl ShownFlags {
    /// Puts what was given into the settings of the flags.
    pub(crate) fn set(self, raw: &mut RawSettings) {
        raw.budget_issues = self.max_issues.map(|n| Given::by_flag("--max-issues", Some(n)));
    }
}

/// Flags over single limits of the budget.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Limits, over those of the budget")]
pub(crate) struct BudgetFlags {
    /// What all calls of models may cost, in US dollars
    #[arg(long, value_name = "USD", value_parser = dollars)]
    max_cost: Option<Money>,
    /// Calls of models
    #[arg(long, value_name = "N")]
    max_llm_calls: Option<NonZeroU64>,
    /// Calls of tools
    #[arg(long, value_name = "N")]
    max_tool_calls: Option<NonZeroU64>,
    /// Tokens that models read
    #[arg(long, value_name = "N")]
    max_input_tokens: Option<NonZeroU64>,
    /// How long the review may take
    #[arg(long, value_name = "SECONDS")]
    max_seconds: Option<NonZeroU64>,
    /// Issues that are looked at a second time
    #[arg(long, value_name = "N")]
    max_verify: Option<NonZeroU64>,
    /// Issues that the report shows
    #[arg(long, value_name = "N")]
    max_issues: Option<NonZeroU64>,
}

impl BudgetFlags {
    /// Puts what was given into the settings of the flags.
    pub(crate) fn set(self, raw: &mut RawSettings) {
        let number = |flag, given: Option<NonZeroU64>| given.map(|n| Given::by_flag(flag, Some(n)));
        raw.budget_usd = self.max_cost.map(|usd| Given::by_flag("--max-cost", Some(usd)));
        raw.budget_llm_calls = number("--max-llm-calls", self.max_llm_calls);
        raw.budget_tool_calls = number("--max-tool-calls", self.max_tool_calls);
        raw.budget_input_tokens = number("--max-input-tokens", self.max_input_tokens);
        raw.budget_seconds = number("--max-seconds", self.max_seconds);
        raw.budget_verify = number("--max-verify", self.max_verify);
        raw.budget_issues = number("--max-issues", self.max_issues);
    }
}

/// Flags that say how much is told while a command is at work.
#[derive(Debug, Clone, Copy, Default, Args)]
pub(crate) struct TalkFlags {
    /// Say nothing but errors
    #[arg(short, long, conflicts_with_all = ["verbose", "debug"])]
    quiet: bool,
    /// Say what each run does, and each call of a tool
    #[arg(short, long, conflicts_with = "debug")]
    verbose: bool,
    /// Print everything that happens as lines of JSON, on standard error
    #[arg(long)]
    debug: bool,
}

impl TalkFlags {
    /// How much the user wants to be told.
    pub(crate) fn verbosity(self) -> Verbosity {
        match self {
            Self { quiet: true, .. } => Verbosity::Quiet,
            Self { debug: true, .. } => Verbosity::Debug,
            Self { verbose: true, .. } => Verbosity::Verbose,
            Self { quiet: false, debug: false, verbose: false } => Verbosity::Usual,
        }
    }
}

pub(super) fn dollars(text: &str) -> Result<Money, String> {
    let amount = text.parse().ok().and_then(Money::dollars);
    amount.ok_or_else(|| "give an amount in US dollars, such as `0.50`".to_owned())
}
