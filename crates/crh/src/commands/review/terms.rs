//! From the settings to the terms of a review.

use std::num::NonZeroU64;
use std::path::Path;
use std::time::Duration;

use super::panel;
use crate::cli::{PanelArgs, PromptArgs};
use crate::config::key::{Given, Origin};
use crate::config::keys::{RawSettings, Settings};
use crate::config::review::BudgetChoice;
use crate::failure::Failure;
use crate::input;
use crh_llm::Money;
use crh_pipeline::terms::{Allowance, PromptOverrides, Terms};
use crh_review::report::{Mode, Strategy};
use crh_review::verdict::Asked;

/// A prompt has a few thousand characters; more is another kind of file.
const PROMPT_MAX: usize = 100_000;

/// The terms that the settings and the command line make together.
pub(crate) fn terms(
    settings: &Settings,
    asked: Asked,
    mode: Mode,
    panel: &PanelArgs,
    prompts: &PromptArgs,
) -> Result<Terms, Failure> {
    let strategy = match asked {
        Asked::Checks => Strategy::Static,
        Asked::Review => strategy(settings),
    };
    Ok(Terms {
        strategy,
        // Whoever asks for the static strategy by name asks for checks.
        asked: if strategy == Strategy::Static { Asked::Checks } else { asked },
        mode,
        allowance: allowance(settings),
        language: settings.review_language.value.as_str().to_owned(),
        side_by_side: count(settings.review_side_by_side.value.get()),
        overrides: PromptOverrides {
            system: prompts.system_prompt.as_deref().map(prompt).transpose()?,
            reviewer: prompts.reviewer_prompt.as_deref().map(prompt).transpose()?,
        },
        panel: panel::terms(settings, panel),
    })
}

/// The strategy that was chosen. With `quick` it is `single` unless someone chose: neither a panel nor an orchestrator comes to anything in two calls.
fn strategy(settings: &Settings) -> Strategy {
    let is_chosen = settings.review_strategy.origins != [Origin::BuiltIn];
    match settings.review_budget.value {
        BudgetChoice::Quick if !is_chosen => Strategy::Single,
        BudgetChoice::Quick | BudgetChoice::Standard | BudgetChoice::Deep => {
            settings.review_strategy.value.strategy()
        }
    }
}

/// The profile's numbers, and those that were set over them.
fn allowance(settings: &Settings) -> Allowance {
    let limits = Limits {
        llm_calls: settings.budget_llm_calls.value,
        tool_calls: settings.budget_tool_calls.value,
        input_tokens: settings.budget_input_tokens.value,
        verify: settings.budget_verify.value,
        issues: settings.budget_issues.value,
        seconds: settings.budget_seconds.value,
        usd: settings.budget_usd.value,
    };
    limits.over(settings.review_budget.value.profile().allowance())
}

/// The terms of a review that goes on: those it began with, but for the limits that are given now.
pub(super) fn raised(began: Terms, flags: &RawSettings) -> Terms {
    let given = flags.review_side_by_side.as_ref().map(|given| count(given.value.get()));
    Terms {
        side_by_side: given.unwrap_or(began.side_by_side),
        allowance: raised_allowance(began.allowance, flags),
        ..began
    }
}

/// What a review that goes on may use in all. It keeps its name, which is part of its identity.
fn raised_allowance(allowed: Allowance, flags: &RawSettings) -> Allowance {
    let limit = |given: &Option<Given<Option<NonZeroU64>>>| given.as_ref()?.value;
    let limits = Limits {
        llm_calls: limit(&flags.budget_llm_calls),
        tool_calls: limit(&flags.budget_tool_calls),
        input_tokens: limit(&flags.budget_input_tokens),
        verify: limit(&flags.budget_verify),
        issues: limit(&flags.budget_issues),
        seconds: limit(&flags.budget_seconds),
        usd: flags.budget_usd.as_ref().and_then(|given| given.value),
    };
    let name = allowed.name.clone();
    let profile = flags.review_budget.as_ref().map(|given| given.value.profile().allowance());
    Allowance { name, ..limits.over(profile.unwrap_or(allowed)) }
}

/// Limits that are set alone.
struct Limits {
    llm_calls: Option<NonZeroU64>,
    tool_calls: Option<NonZeroU64>,
    input_tokens: Option<NonZeroU64>,
    verify: Option<NonZeroU64>,
    issues: Option<NonZeroU64>,
    seconds: Option<NonZeroU64>,
    usd: Option<Money>,
}

impl Limits {
    /// An allowance with these limits instead of its own.
    fn over(self, mut allowance: Allowance) -> Allowance {
        let mut name = allowance.name.clone();
        let mut set = |key: &str, given: Option<NonZeroU64>| {
            let number = given?.get();
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
        Allowance { name, ..allowance }
    }
}

/// A number that memory bounds anyway.
fn count(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

fn prompt(file: &Path) -> Result<String, Failure> {
    let hint =
        "a prompt is a text file, such as the built-in ones under `crates/crh-pipeline/prompts`";
    let bytes = input::bytes(file)?;
    let text = String::from_utf8(bytes)
        .map_err(|_| Failure::usage(format!("{} is not UTF-8", input::name(file))).hint(hint))?;
    if text.trim().is_empty() {
        return Err(Failure::usage(format!("{} is empty", input::name(file))).hint(hint));
    }
    if text.chars().count() > PROMPT_MAX {
        let name = input::name(file);
        let why = format!("{name} has more than {PROMPT_MAX} characters");
        return Err(Failure::usage(why).hint(hint));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crh_pipeline::terms::{PanelTerms, Profile};

    fn given<T>(value: T) -> Option<Given<T>> {
        Some(Given::by_flag("--flag", value))
    }

    #[test]
    fn a_limit_that_is_set_alone_is_part_of_the_name() {
        let limits = Limits {
            llm_calls: NonZeroU64::new(7),
            tool_calls: None,
            input_tokens: None,
            verify: None,
            issues: None,
            seconds: NonZeroU64::new(90),
            usd: Some(Money::cents(20)),
        };
        let standard = Profile::Standard.allowance();
        let set = limits.over(standard.clone());
        let expected = Allowance {
            name: "standard+llm_calls=7+seconds=90+usd=0.2".to_owned(),
            llm_calls: 7,
            wall: Duration::from_secs(90),
            money: Money::cents(20),
            ..standard
        };
        assert_eq!(set, expected);
    }

    #[test]
    fn a_review_that_goes_on_has_the_limits_of_now_and_the_name_of_then() {
        let began = Terms {
            strategy: Strategy::Delegate,
            asked: Asked::Review,
            mode: Mode::Headless,
            allowance: Profile::Quick.allowance(),
            language: String::new(),
            side_by_side: 8,
            overrides: PromptOverrides::default(),
            panel: PanelTerms::default(),
        };
        assert_eq!(raised(began.clone(), &RawSettings::default()), began);
        let flags = RawSettings {
            review_budget: given(BudgetChoice::Deep),
            budget_usd: given(Some(Money::cents(300))),
            review_side_by_side: NonZeroU64::new(2).and_then(given),
            ..RawSettings::default()
        };
        let name = began.allowance.name.clone();
        let allowance = Allowance { name, money: Money::cents(300), ..Profile::Deep.allowance() };
        let expected = Terms { allowance, side_by_side: 2, ..began.clone() };
        assert_eq!(raised(began, &flags), expected);
    }
}
