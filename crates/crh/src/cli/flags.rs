//! Flags that override settings, and flags that several commands share.

use std::num::NonZeroU64;
use std::path::PathBuf;

use anyhow::Context;
use clap::Args;
use tempfile::TempDir;

use crate::config::analysers::AnalysersChoice;
use crate::config::fix::VerifyCommand;
use crate::config::key::SourcedValue;
use crate::config::keys::RawSettings;
use crate::config::models::{EffortChoice, ModelChoice, RoleEfforts};
use crate::config::panel::DepthChoice;
use crate::config::review::{
    BudgetChoice, FailOn, MinSeverity, Probability, ReviewLanguage, StrategyChoice,
};
use crate::config::value::{Color, FolderSetting, GlobList, GlobPattern, InstanceName};
use crate::failure::{Failure, FailureKind, OrFail};
use crate::ui::Verbosity;
use crh_llm::Money;

/// Flags for the look of the output.
#[derive(Debug, Clone, Args)]
pub(crate) struct DisplayFlags {
    /// When to use colours; overrides the setting `color`
    #[arg(long, value_enum, value_name = "WHEN")]
    color: Option<Color>,
    /// Name of this crh installation, by which crh recognises its own comments; overrides the
    /// setting `instance`
    #[arg(long, value_name = "NAME", value_parser = InstanceName::parse)]
    instance: Option<InstanceName>,
}

impl DisplayFlags {
    /// Copies the given flags to the settings of the command line.
    pub(crate) fn set(self, raw: &mut RawSettings) {
        raw.color = self.color.map(|color| SourcedValue::from_flag("--color", color));
        raw.instance = self.instance.map(|name| SourcedValue::from_flag("--instance", name));
    }
}

/// Flags that select files.
#[derive(Debug, Args)]
pub(crate) struct ScopeFlags {
    /// Do not review files that match this glob, in addition to `scope.exclude`; repeatable
    #[arg(long, value_name = "GLOB", value_parser = GlobPattern::parse)]
    exclude: Vec<GlobPattern>,
    /// Exit with code 4 if crh left out a change of a vendored, generated or lock file, of a
    /// submodule or of a file mode. By default, that counts only if crh reviewed no file at all.
    /// New code that is left out always counts
    #[arg(long)]
    strict: bool,
}

impl ScopeFlags {
    /// Copies the given flags to the settings of the command line.
    pub(crate) fn set(self, raw: &mut RawSettings) {
        let globs = Some(self.exclude).filter(|globs| !globs.is_empty());
        raw.scope_exclude =
            globs.map(|globs| SourcedValue::from_flag("--exclude", GlobList(globs)));
        raw.scope_strict = self.strict.then(|| SourcedValue::from_flag("--strict", true));
    }
}

/// Flags for linters.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct AnalyserFlags {
    /// Whether to run installed linters (ruff, eslint, shellcheck, semgrep, tsc); overrides the
    /// setting `checks.analysers`
    #[arg(long, value_enum, value_name = "WHEN")]
    analysers: Option<AnalysersChoice>,
}

impl AnalyserFlags {
    /// The flag as if the user had passed this choice.
    pub(crate) fn with_choice(choice: AnalysersChoice) -> Self {
        Self { analysers: Some(choice) }
    }

    /// Copies the given flags to the settings of the command line.
    pub(crate) fn set(self, raw: &mut RawSettings) {
        raw.checks_analysers =
            self.analysers.map(|value| SourcedValue::from_flag("--analysers", value));
    }
}

/// Flags for checking fixes.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct FixFlags {
    /// Command that tests each fix, such as "cargo test" or, as a JSON list, ["cargo", "test"]; crh
    /// drops a fix that makes it fail; overrides `fix.verify` (in the file, only the list form is
    /// allowed)
    #[arg(long, value_name = "COMMAND", value_parser = parse_verify_command)]
    verify: Option<VerifyCommand>,
    /// Time limit for one run of the `--verify` command
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true)]
    verify_seconds: Option<NonZeroU64>,
}

impl FixFlags {
    /// Copies the given flags to the settings of the command line.
    pub(crate) fn set(self, raw: &mut RawSettings) {
        raw.fix_verify = self.verify.map(|value| SourcedValue::from_flag("--verify", value));
        raw.fix_verify_seconds =
            self.verify_seconds.map(|value| SourcedValue::from_flag("--verify-seconds", value));
    }
}

/// Findings of other tools.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct SarifFlags {
    /// SARIF 2.1.0 file with another tool's results for this change; repeatable
    #[arg(long, value_name = "FILE")]
    pub(crate) sarif: Vec<PathBuf>,
    /// SARIF file from before the change; results that are also in it are ignored; repeatable
    #[arg(long, value_name = "FILE", requires = "sarif")]
    pub(crate) sarif_base: Vec<PathBuf>,
}

/// Flags for git.
#[derive(Debug, Args)]
pub(crate) struct GitFlags {
    /// Do not fetch from git remotes
    #[arg(long)]
    offline: bool,
}

impl GitFlags {
    /// Copies the given flags to the settings of the command line.
    pub(crate) fn set(self, raw: &mut RawSettings) {
        raw.git_offline = self.offline.then(|| SourcedValue::from_flag("--offline", true));
    }
}

/// Whether to use the cache.
#[derive(Debug, Clone, Copy, Default, Args)]
pub(crate) struct CacheFlags {
    /// Neither read nor write cached git objects and cached answers of GitHub and Launchpad
    #[arg(long)]
    pub(crate) no_cache: bool,
}

impl CacheFlags {
    /// With `--no-cache`, replaces the store folder by a temporary one, which is deleted on drop.
    pub(crate) fn temporary_store(self, raw: &mut RawSettings) -> Result<Option<TempDir>, Failure> {
        if !self.no_cache {
            return Ok(None);
        }
        let folder = tempfile::tempdir().context("cannot create a temporary folder");
        let folder = folder.or_fail(FailureKind::External)?;
        let path = FolderSetting::At(folder.path().to_owned());
        raw.store_folder = Some(SourcedValue::from_flag("--no-cache", path));
        Ok(Some(folder))
    }
}

/// What crh may post to a forge.
#[derive(Debug, Clone, Copy, Default, Args)]
pub(crate) struct PostFlags {
    /// With a `--sink` such as `github`: request changes of the pull request if the verdict is `Not
    /// ready` or `Ready with fixes`, instead of only commenting
    #[arg(long)]
    pub(crate) request_changes: bool,
    /// With a `--sink` such as `github`: approve the pull request if the verdict is `Ready to
    /// merge`, instead of only commenting
    #[arg(long)]
    pub(crate) allow_approve: bool,
    /// Resolve crh's own review threads if the code changed, the issue is gone and the thread has
    /// no replies
    #[arg(long)]
    pub(crate) resolve_outdated: bool,
    /// Post nothing; print what crh would post, as JSON
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// Flag for the model.
#[derive(Debug, Clone, Args)]
pub(crate) struct ModelFlags {
    /// Model for all tasks: `PROVIDER:MODEL`, `PROVIDER:MODEL@URL` for your own server, or
    /// `replay:FILE` for recorded answers; overrides the settings `model.reviewer`, `model.cheap`,
    /// `model.escalation` and `model.editor`
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,
}

impl ModelFlags {
    /// The flag as if the user had passed this model.
    pub(crate) fn with_model(model: String) -> Self {
        Self { model: Some(model) }
    }

    /// Copies the given flags to the settings of the command line. The model gets every role, so
    /// that no code goes to a configured model that the user did not name here.
    pub(crate) fn set(self, raw: &mut RawSettings) -> Result<(), Failure> {
        let model = model_flag("--model", self.model)?;
        raw.model_reviewer.clone_from(&model);
        raw.model_cheap.clone_from(&model);
        raw.model_escalation.clone_from(&model);
        raw.model_editor = model;
        Ok(())
    }
}

/// Flags for the models of a review, by role.
#[derive(Debug, Clone, Args)]
pub(crate) struct RoleFlags {
    #[command(flatten)]
    model: ModelFlags,
    /// Model for small tasks, such as choosing reviewers; overrides `--model` and the setting
    /// `model.cheap`
    #[arg(long, value_name = "MODEL")]
    cheap_model: Option<String>,
    /// Model for reviewers with difficult topics, such as `security`, for second checks of findings
    /// and for writing fixes; overrides `--model` and the setting `model.escalation`
    #[arg(long, value_name = "MODEL")]
    escalation_model: Option<String>,
    /// Model that decides which issues the report shows; overrides `--model` and the setting
    /// `model.editor`
    #[arg(long, value_name = "MODEL")]
    editor_model: Option<String>,
    /// How much all models reason before they answer; overrides the settings `model.effort` and
    /// `model.efforts`
    #[arg(long, value_enum, value_name = "EFFORT")]
    effort: Option<EffortChoice>,
}

impl RoleFlags {
    /// Uses this model for all roles unless the user named one.
    pub(crate) fn set_default_model(&mut self, model: String) {
        self.model.model.get_or_insert(model);
    }

    /// Copies the given flags to the settings of the command line.
    pub(crate) fn set(self, raw: &mut RawSettings) -> Result<(), Failure> {
        self.model.set(raw)?;
        let roles = [
            (&mut raw.model_cheap, "--cheap-model", self.cheap_model),
            (&mut raw.model_escalation, "--escalation-model", self.escalation_model),
            (&mut raw.model_editor, "--editor-model", self.editor_model),
        ];
        for (setting, flag, name) in roles {
            if let Some(model) = model_flag(flag, name)? {
                *setting = Some(model);
            }
        }
        let efforts =
            self.effort.map(|_| SourcedValue::from_flag("--effort", RoleEfforts::default()));
        raw.model_efforts = efforts;
        raw.model_effort = self.effort.map(|effort| SourcedValue::from_flag("--effort", effort));
        Ok(())
    }
}

/// Parses a model name here instead of in clap, because clap's error would print the name, and its
/// URL may contain a password.
fn model_flag(
    flag: &'static str,
    name: Option<String>,
) -> Result<Option<SourcedValue<ModelChoice>>, Failure> {
    let model = name.as_deref().map(ModelChoice::parse).transpose();
    let model = model.map_err(|error| {
        Failure::usage(error).hint("`crh model list` shows providers and models")
    })?;
    Ok(model.map(|model| SourcedValue::from_flag(flag, model)))
}

/// Flags for a review.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct ReviewFlags {
    #[command(flatten)]
    pub(crate) strategy: StrategyFlags,
    #[command(flatten)]
    pub(crate) verdict: VerdictFlags,
}

impl ReviewFlags {
    /// Copies the given flags to the settings of the command line.
    pub(crate) fn set(self, raw: &mut RawSettings) {
        self.strategy.set(raw);
        self.verdict.set(raw);
    }
}

/// Flags for who reviews and how much effort they spend.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct StrategyFlags {
    /// Who reviews the change; overrides the setting `review.strategy`
    #[arg(long, value_enum, value_name = "STRATEGY")]
    strategy: Option<StrategyChoice>,
    #[command(flatten)]
    effort: ReviewEffortFlags,
}

/// Flags for how much effort reviewers spend.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct ReviewEffortFlags {
    /// How many reviewers to run; overrides the setting `review.depth`
    #[arg(long, value_enum, value_name = "DEPTH")]
    depth: Option<DepthChoice>,
    /// Limits on calls, time and cost; overrides the setting `review.budget`
    #[arg(long, value_enum, value_name = "PROFILE")]
    budget: Option<BudgetChoice>,
    /// Language of the report's findings, such as `German`
    #[arg(long, value_name = "LANGUAGE", value_parser = ReviewLanguage::parse)]
    lang: Option<ReviewLanguage>,
    /// Maximum number of reviewers that run at the same time
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    side_by_side: Option<NonZeroU64>,
    /// Show an issue only if its probability is at least P, from 0 to 1. A model estimates the
    /// probability that the maintainers agree with the issue. Overrides the setting
    /// `review.threshold` (default: 0.5)
    #[arg(long, value_name = "P", allow_negative_numbers = true)]
    threshold: Option<Probability>,
}

impl StrategyFlags {
    /// Copies the given flags to the settings of the command line.
    pub(crate) fn set(self, raw: &mut RawSettings) {
        raw.review_strategy =
            self.strategy.map(|value| SourcedValue::from_flag("--strategy", value));
        self.effort.set(raw);
    }
}

impl ReviewEffortFlags {
    /// Uses this profile of limits unless the user gave one.
    pub(crate) fn set_default_budget(&mut self, budget: BudgetChoice) {
        self.budget.get_or_insert(budget);
    }

    /// Copies the given flags to the settings of the command line.
    pub(crate) fn set(self, raw: &mut RawSettings) {
        raw.review_depth = self.depth.map(|value| SourcedValue::from_flag("--depth", value));
        raw.review_budget = self.budget.map(|value| SourcedValue::from_flag("--budget", value));
        raw.review_language = self.lang.map(|value| SourcedValue::from_flag("--lang", value));
        raw.review_side_by_side =
            self.side_by_side.map(|value| SourcedValue::from_flag("--side-by-side", value));
        raw.review_threshold =
            self.threshold.map(|value| SourcedValue::from_flag("--threshold", value));
    }
}

/// Flags for severities.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct VerdictFlags {
    /// Exit with code 1 if there is an issue of this severity or worse; overrides the setting
    /// `review.fail_on` (default: `P1`)
    #[arg(long, value_enum, value_name = "SEVERITY")]
    fail_on: Option<FailOn>,
    /// Hide issues that are less severe than this; overrides the setting `review.min_severity`
    /// (default: `P2`; without a model, `P3`)
    #[arg(long, value_enum, value_name = "SEVERITY")]
    min_severity: Option<MinSeverity>,
}

impl VerdictFlags {
    /// Copies the given flags to the settings of the command line.
    pub(crate) fn set(self, raw: &mut RawSettings) {
        raw.review_fail_on = self.fail_on.map(|value| SourcedValue::from_flag("--fail-on", value));
        raw.review_min_severity =
            self.min_severity.map(|value| SourcedValue::from_flag("--min-severity", value));
    }
}

/// Flag for the length of a `crh check` report.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct IssueLimitFlags {
    /// Maximum number of issues to show; SARIF output contains all findings
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    max_issues: Option<NonZeroU64>,
}

impl IssueLimitFlags {
    /// Copies the given flags to the settings of the command line.
    pub(crate) fn set(self, raw: &mut RawSettings) {
        raw.review_max_comments =
            self.max_issues.map(|n| SourcedValue::from_flag("--max-issues", Some(n)));
    }
}

/// Flags for single limits of the budget.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Limits (override --budget)")]
pub(crate) struct BudgetFlags {
    /// Maximum cost of the model calls of one review, in US dollars
    #[arg(long, value_name = "USD", value_parser = parse_dollars, allow_negative_numbers = true)]
    max_cost: Option<Money>,
    /// Maximum number of model calls
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    max_llm_calls: Option<NonZeroU64>,
    /// Maximum number of tool calls
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    max_tool_calls: Option<NonZeroU64>,
    /// Maximum number of input tokens
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    max_input_tokens: Option<NonZeroU64>,
    /// Maximum time for the review
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true)]
    max_seconds: Option<NonZeroU64>,
    /// Maximum number of issues that a second model run confirms or refutes before the report shows
    /// them
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    max_verify: Option<NonZeroU64>,
    /// Maximum number of issues found by models to show: every P0 first, then the most probable
    /// ones. Issues found by static checks do not count
    #[arg(long, value_name = "N", alias = "max-issues", allow_negative_numbers = true)]
    max_comments: Option<NonZeroU64>,
}

impl BudgetFlags {
    /// Copies the given flags to the settings of the command line.
    pub(crate) fn set(self, raw: &mut RawSettings) {
        let number =
            |flag, value: Option<NonZeroU64>| value.map(|n| SourcedValue::from_flag(flag, Some(n)));
        raw.budget_usd = self.max_cost.map(|usd| SourcedValue::from_flag("--max-cost", Some(usd)));
        raw.budget_llm_calls = number("--max-llm-calls", self.max_llm_calls);
        raw.budget_tool_calls = number("--max-tool-calls", self.max_tool_calls);
        raw.budget_input_tokens = number("--max-input-tokens", self.max_input_tokens);
        raw.budget_seconds = number("--max-seconds", self.max_seconds);
        raw.budget_verify = number("--max-verify", self.max_verify);
        raw.review_max_comments = number("--max-comments", self.max_comments);
    }
}

/// Flags for progress output.
#[derive(Debug, Clone, Copy, Default, Args)]
pub(crate) struct VerbosityFlags {
    /// Print no progress and no warnings, only the result and errors
    #[arg(short, long, conflicts_with_all = ["verbose", "debug"])]
    quiet: bool,
    /// Print more details about the progress
    #[arg(short, long, conflicts_with = "debug")]
    verbose: bool,
    /// Print every event as a JSON line on standard error
    #[arg(long)]
    debug: bool,
}

impl VerbosityFlags {
    pub(crate) fn verbosity(self) -> Verbosity {
        match self {
            Self { quiet: true, .. } => Verbosity::Quiet,
            Self { debug: true, .. } => Verbosity::Debug,
            Self { verbose: true, .. } => Verbosity::Verbose,
            Self { quiet: false, debug: false, verbose: false } => Verbosity::Normal,
        }
    }
}

fn parse_verify_command(text: &str) -> Result<VerifyCommand, String> {
    VerifyCommand::parse(text).map_err(|reason| format!("the command {reason}"))
}

/// Parses the name of a repository as `crh stats` prints it.
pub(super) fn parse_repository(text: &str) -> Result<String, String> {
    let is_part = |part: &str| !part.is_empty() && !part.contains([' ', ':', '#', '\\']);
    let is_name = text.split('/').all(is_part) && !text.contains(char::is_control);
    match is_name {
        true => Ok(text.to_owned()),
        false => Err("expected the name of a repository, such as `octo/shop`".to_owned()),
    }
}

pub(super) fn parse_dollars(text: &str) -> Result<Money, String> {
    let amount = text.parse().ok().and_then(Money::dollars);
    amount.ok_or_else(|| "expected an amount in US dollars, such as `0.50`".to_owned())
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use expect_test::{Expect, expect};

    use super::*;

    #[test]
    fn names_of_repositories_have_no_empty_parts() {
        let hash = "0123456789abcdef0123456789abcdef01234567";
        for name in ["octo/shop", "group/sub/shop", "project", hash] {
            assert_eq!(parse_repository(name).as_deref(), Ok(name));
        }
        for name in ["", "/", "octo/", "https://github.com/octo/shop", "octo shop", "octo/shop#1"] {
            assert!(parse_repository(name).is_err(), "{name}");
        }
    }

    #[derive(Parser)]
    struct RoleCommand {
        #[command(flatten)]
        roles: RoleFlags,
    }

    fn check(args: &[&str], expected: Expect) {
        let mut raw = RawSettings::default();
        RoleCommand::parse_from([&["crh"], args].concat()).roles.set(&mut raw).unwrap();
        let roles = [
            ("reviewer", &raw.model_reviewer),
            ("cheap", &raw.model_cheap),
            ("escalation", &raw.model_escalation),
            ("editor", &raw.model_editor),
        ];
        let line = |(role, setting): (&str, &Option<SourcedValue<ModelChoice>>)| match setting {
            Some(SourcedValue { value: ModelChoice::Named(name), origin }) => {
                format!("{role}: {name} ({origin})\n")
            }
            Some(_) | None => format!("{role}: not set\n"),
        };
        expected.assert_eq(&roles.map(line).concat());
    }

    #[test]
    fn model_flag_sets_every_role_without_its_own_flag() {
        check(
            &["--model", "openai:a"],
            expect![[r#"
                reviewer: openai:a (--model)
                cheap: openai:a (--model)
                escalation: openai:a (--model)
                editor: openai:a (--model)
            "#]],
        );
        check(
            &[
                "--editor-model",
                "anthropic:b",
                "--model",
                "replay:tape",
                "--cheap-model",
                "gemini:c",
            ],
            expect![[r#"
                reviewer: replay:tape (--model)
                cheap: gemini:c (--cheap-model)
                escalation: replay:tape (--model)
                editor: anthropic:b (--editor-model)
            "#]],
        );
        check(
            &["--escalation-model", "openai:d"],
            expect![[r#"
                reviewer: not set
                cheap: not set
                escalation: openai:d (--escalation-model)
                editor: not set
            "#]],
        );
    }
}
