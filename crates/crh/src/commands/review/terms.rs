//! Turns settings and flags into review options.

use std::num::NonZeroU64;
use std::path::Path;
use std::time::Duration;

use crate::cli::{PanelArgs, PromptArgs};
use crate::config::key::{SettingOrigin, SourcedValue};
use crate::config::keys::{RawSettings, Settings};
use crate::config::review::BudgetChoice;
use crate::failure::Failure;
use crate::input;
use crh_llm::Money;
use crh_pipeline::review_options::{
    DEFAULT_PUBLISH_RULES, PanelOptions, PromptOverrides, ReviewBudget, ReviewOptions,
};
use crh_review::PublishRules;
use crh_review::report::{ReviewMode, Strategy};
use crh_review::verdict::CommandKind;

/// Maximum number of issues that `crh check` shows by default.
const CHECK_ISSUES_MAX: usize = 15;

/// Maximum length of a prompt file, in characters. A longer file is probably not a prompt.
const PROMPT_MAX: usize = 100_000;

pub(crate) fn terms(
    settings: &Settings,
    command: CommandKind,
    mode: ReviewMode,
    panel: &PanelArgs,
    prompts: &PromptArgs,
) -> Result<ReviewOptions, Failure> {
    let strategy = match command {
        CommandKind::Checks => Strategy::Static,
        CommandKind::Review => strategy(settings),
    };
    Ok(ReviewOptions {
        strategy,
        // A review with the strategy `static` is the same as `crh check`.
        command: if strategy == Strategy::Static { CommandKind::Checks } else { command },
        mode,
        budget: match strategy {
            Strategy::Static => static_budget(settings),
            Strategy::Panel | Strategy::Single | Strategy::Delegate => allowance(settings),
        },
        publish: publish_rules(settings),
        language: settings.review_language.value.as_str().to_owned(),
        max_parallel: count(settings.review_side_by_side.value.get()),
        overrides: PromptOverrides {
            system: prompts.system_prompt.as_deref().map(prompt).transpose()?,
            reviewer: prompts.reviewer_prompt.as_deref().map(prompt).transpose()?,
        },
        panel: panel_options(settings, panel),
    })
}

/// Panel options from the settings and the command line.
pub(super) fn panel_options(settings: &Settings, args: &PanelArgs) -> PanelOptions {
    let only: Vec<String> = args.reviewers.iter().map(|name| name.trim().to_owned()).collect();
    PanelOptions {
        depth: settings.review_depth.value.depth(),
        only: Some(only).filter(|names| !names.is_empty()),
        off: settings.reviewers_off.value.0.clone(),
        tiers: settings.model_tiers.value.0.clone(),
        plan: None,
        untracked_plans: Vec::new(),
        waived: args.waive.iter().map(|id| id.trim().to_uppercase()).collect(),
    }
}

/// The budget of static checks. Their reports show more issues by default.
fn static_budget(settings: &Settings) -> ReviewBudget {
    let budget = allowance(settings);
    match settings.review_max_comments.value {
        Some(_) => budget,
        None => ReviewBudget { issues: CHECK_ISSUES_MAX, ..budget },
    }
}

/// Which issues are published. A minimum severity that the user set replaces the default.
fn publish_rules(settings: &Settings) -> PublishRules {
    let is_set = settings.review_min_severity.origins != [SettingOrigin::Default];
    PublishRules {
        threshold: settings.review_threshold.value.value(),
        min_severity: if is_set {
            settings.review_min_severity.value.severity()
        } else {
            DEFAULT_PUBLISH_RULES.min_severity
        },
    }
}

/// The strategy of the settings. If the user set none, the budget `quick` selects `single`, because
/// its two model calls are too few for a panel or an orchestrator.
pub(crate) fn strategy(settings: &Settings) -> Strategy {
    let is_chosen = settings.review_strategy.origins != [SettingOrigin::Default];
    match settings.review_budget.value {
        BudgetChoice::Quick if !is_chosen => Strategy::Single,
        BudgetChoice::Quick | BudgetChoice::Standard | BudgetChoice::Deep => {
            settings.review_strategy.value.strategy()
        }
    }
}

/// The setting that selects the strategy, with its origin, such as
/// `` `review.strategy` of config.toml:5 ``.
pub(super) fn strategy_setting(settings: &Settings) -> String {
    let is_chosen = settings.review_strategy.origins != [SettingOrigin::Default];
    let (name, origins) = match is_chosen {
        true => ("review.strategy", &settings.review_strategy.origins),
        false => ("review.budget", &settings.review_budget.origins),
    };
    let origins: Vec<String> = origins.iter().map(ToString::to_string).collect();
    format!("`{name}` of {}", origins.join(", "))
}

/// The budget of the profile, with limits that were set separately.
fn allowance(settings: &Settings) -> ReviewBudget {
    let limits = LimitOverrides {
        llm_calls: settings.budget_llm_calls.value,
        tool_calls: settings.budget_tool_calls.value,
        input_tokens: settings.budget_input_tokens.value,
        verify: settings.budget_verify.value,
        issues: settings.review_max_comments.value,
        seconds: settings.budget_seconds.value,
        usd: settings.budget_usd.value,
    };
    limits.apply_to(settings.review_budget.value.profile().budget())
}

/// The cost limit of a review.
pub(crate) fn money_limit(settings: &Settings) -> Money {
    allowance(settings).money
}

/// The time limit of a review.
pub(crate) fn time_limit(settings: &Settings) -> Duration {
    allowance(settings).wall
}

/// The stored options of a resumed review, with limits from the command line.
pub(super) fn with_limits_from(stored: ReviewOptions, flags: &RawSettings) -> ReviewOptions {
    let side_by_side = flags.review_side_by_side.as_ref().map(|flag| count(flag.value.get()));
    ReviewOptions {
        max_parallel: side_by_side.unwrap_or(stored.max_parallel),
        budget: resumed_budget(stored.budget, flags),
        ..stored
    }
}

/// The budget of a resumed review, for both attempts together. It keeps its name, which is part of
/// the review id.
fn resumed_budget(stored: ReviewBudget, flags: &RawSettings) -> ReviewBudget {
    let limit = |flag: &Option<SourcedValue<Option<NonZeroU64>>>| flag.as_ref()?.value;
    let limits = LimitOverrides {
        llm_calls: limit(&flags.budget_llm_calls),
        tool_calls: limit(&flags.budget_tool_calls),
        input_tokens: limit(&flags.budget_input_tokens),
        verify: limit(&flags.budget_verify),
        issues: limit(&flags.review_max_comments),
        seconds: limit(&flags.budget_seconds),
        usd: flags.budget_usd.as_ref().and_then(|flag| flag.value),
    };
    let name = stored.name.clone();
    let profile = flags.review_budget.as_ref().map(|flag| flag.value.profile().budget());
    ReviewBudget { name, ..limits.apply_to(profile.unwrap_or(stored)) }
}

/// Limits that were set separately.
struct LimitOverrides {
    llm_calls: Option<NonZeroU64>,
    tool_calls: Option<NonZeroU64>,
    input_tokens: Option<NonZeroU64>,
    verify: Option<NonZeroU64>,
    issues: Option<NonZeroU64>,
    seconds: Option<NonZeroU64>,
    usd: Option<Money>,
}

impl LimitOverrides {
    /// Applies these limits to a budget.
    fn apply_to(self, mut allowance: ReviewBudget) -> ReviewBudget {
        let mut name = allowance.name.clone();
        let mut set = |key: &str, limit: Option<NonZeroU64>| {
            let number = limit?.get();
            name += &format!("+{key}={number}");
            Some(number)
        };
        let small = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
        if let Some(calls) = set("llm_calls", self.llm_calls) {
            allowance.llm_calls = small(calls);
        }
        if let Some(calls) = set("tool_calls", self.tool_calls) {
            allowance.tool_calls = small(calls);
        }
        if let Some(tokens) = set("input_tokens", self.input_tokens) {
            allowance.input_tokens = tokens;
        }
        if let Some(issues) = set("verify", self.verify) {
            allowance.verify = count(issues);
        }
        if let Some(issues) = set("issues", self.issues) {
            allowance.issues = count(issues);
        }
        if let Some(seconds) = set("seconds", self.seconds) {
            allowance.wall = Duration::from_secs(seconds);
        }
        if let Some(money) = self.usd {
            name += &format!("+usd={}", money.as_dollars());
            allowance.money = money;
        }
        ReviewBudget { name, ..allowance }
    }
}

/// Converts a count, and saturates.
fn count(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

fn prompt(file: &Path) -> Result<String, Failure> {
    let hint = "a prompt is a text file, such as those in `crates/crh-pipeline/prompts` of crh's source code";
    let bytes = input::bytes(file)?;
    let text = String::from_utf8(bytes).map_err(|_| {
        Failure::usage(format!("{} is not UTF-8", input::display_name(file))).hint(hint)
    })?;
    if text.trim().is_empty() {
        return Err(Failure::usage(format!("{} is empty", input::display_name(file))).hint(hint));
    }
    if text.chars().count() > PROMPT_MAX {
        let name = input::display_name(file);
        let why = format!("{name} has more than {PROMPT_MAX} characters");
        return Err(Failure::usage(why).hint(hint));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crh_pipeline::review_options::{PanelOptions, Profile};

    fn from_flag<T>(value: T) -> Option<SourcedValue<T>> {
        Some(SourcedValue::from_flag("--flag", value))
    }

    #[test]
    fn separate_limit_is_part_of_the_budget_name() {
        let limits = LimitOverrides {
            llm_calls: NonZeroU64::new(7),
            tool_calls: None,
            input_tokens: None,
            verify: None,
            issues: None,
            seconds: NonZeroU64::new(90),
            usd: Some(Money::cents(20)),
        };
        let standard = Profile::Standard.budget();
        let set = limits.apply_to(standard.clone());
        let expected = ReviewBudget {
            name: "standard+llm_calls=7+seconds=90+usd=0.2".to_owned(),
            llm_calls: 7,
            wall: Duration::from_secs(90),
            money: Money::cents(20),
            ..standard
        };
        assert_eq!(set, expected);
    }

    #[test]
    fn resumed_review_has_new_limits_and_old_name() {
        let began = ReviewOptions {
            publish: DEFAULT_PUBLISH_RULES,
            strategy: Strategy::Delegate,
            command: CommandKind::Review,
            mode: ReviewMode::Headless,
            budget: Profile::Quick.budget(),
            language: String::new(),
            max_parallel: 8,
            overrides: PromptOverrides::default(),
            panel: PanelOptions::default(),
        };
        assert_eq!(with_limits_from(began.clone(), &RawSettings::default()), began);
        let flags = RawSettings {
            review_budget: from_flag(BudgetChoice::Deep),
            budget_usd: from_flag(Some(Money::cents(300))),
            review_side_by_side: NonZeroU64::new(2).and_then(from_flag),
            ..RawSettings::default()
        };
        let name = began.budget.name.clone();
        let allowance = ReviewBudget { name, money: Money::cents(300), ..Profile::Deep.budget() };
        let expected = ReviewOptions { budget: allowance, max_parallel: 2, ..began.clone() };
        assert_eq!(with_limits_from(began, &flags), expected);
    }
}
