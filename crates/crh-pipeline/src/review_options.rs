//! Options of a review: strategy, budget, language, panel. None of them comes from the change under
//! review.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::reviewers::{ModelTier, Reviewer};
use crate::team::{Depth, PanelSelection};
use crh_agent::Budget;
use crh_llm::{Model, Money};
use crh_review::PublishRules;
use crh_review::finding::{Confidence, Severity};
use crh_review::report::{ReviewMode, Strategy};
use crh_review::verdict::CommandKind;

/// Minimum context in tokens for the review of a small change: the instructions of a reviewer, the
/// tool that answers, and an answer. A test reviews with this context.
pub const MIN_CONTEXT: u64 = 7_168;

/// Options of a review. Stored with the run, so that a resumed review uses the same ones.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReviewOptions {
    /// How the change is divided among reviewers.
    pub strategy: Strategy,
    /// Whether this is a review or only static checks.
    #[serde(rename = "asked")]
    pub command: CommandKind,
    /// Whether crh may edit the working tree.
    pub mode: ReviewMode,
    /// Limits on calls, tokens, time and money.
    #[serde(rename = "allowance")]
    pub budget: ReviewBudget,
    /// Which issues are published. Used if an editor ran.
    #[serde(default = "default_publish_rules")]
    pub publish: PublishRules,
    /// The language that reviewers write in, by its own or its English name. Empty means English.
    pub language: String,
    /// Maximum number of runs in parallel.
    #[serde(rename = "side_by_side")]
    pub max_parallel: usize,
    /// User prompts that replace built-in ones.
    pub overrides: PromptOverrides,
    /// Options of the `panel` strategy.
    #[serde(default)]
    pub panel: PanelOptions,
}

/// Default threshold and minimum severity, chosen by measurement.
pub const DEFAULT_PUBLISH_RULES: PublishRules =
    PublishRules { threshold: Confidence::thousandths(500), min_severity: Severity::P2 };

fn default_publish_rules() -> PublishRules {
    DEFAULT_PUBLISH_RULES
}

/// Options of the `panel` strategy: which reviewers run, and which requirements apply.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PanelOptions {
    /// How many reviewers to choose.
    pub depth: Depth,
    /// Names from `--reviewers`: only these run.
    pub only: Option<Vec<String>>,
    /// Names of disabled reviewers.
    pub off: Vec<String>,
    /// Model tiers by reviewer name. They override the tier in the reviewer's file.
    pub tiers: BTreeMap<String, ModelTier>,
    /// The requirements document from `--plan`.
    pub plan: Option<RequirementsFile>,
    /// Untracked files in the plans folder of the user's checkout.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub untracked_plans: Vec<RequirementsFile>,
    /// Ids of requirements that need not be met.
    pub waived: Vec<String>,
}

/// A requirements document of the user.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequirementsFile {
    /// Its path, relative to the repository root if it lies inside.
    pub path: String,
    /// Its contents.
    pub text: String,
}

impl PanelOptions {
    /// The selection criteria for the team.
    pub fn selection(&self) -> PanelSelection {
        PanelSelection {
            depth: self.depth,
            only: self.only.clone(),
            off: self.off.clone(),
            tiered: self.tiers.keys().cloned().collect(),
        }
    }

    /// The model tier of a reviewer.
    pub fn tier(&self, reviewer: &Reviewer) -> ModelTier {
        let tier_override = self.tiers.iter().find(|(name, _)| reviewer.has_name(name));
        tier_override.map_or(reviewer.tier, |(_, tier)| *tier)
    }
}

/// User prompts. Their text is part of `prompt_version`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PromptOverrides {
    /// Replaces the rules that every agent gets.
    pub system: Option<String>,
    /// Replaces the instructions on how to review.
    pub reviewer: Option<String>,
}

/// Limits of a review: the numbers of a profile, some of them possibly overridden.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReviewBudget {
    /// The profile and its overrides, such as `standard` or `quick+llm_calls=3`. Part of the review
    /// id.
    pub name: String,
    /// Maximum number of model calls.
    pub llm_calls: u32,
    /// Maximum number of tool calls.
    pub tool_calls: u32,
    /// Maximum number of input tokens.
    pub input_tokens: u64,
    /// How many issues validation checks at most.
    pub verify: usize,
    /// How many issues the report shows at most.
    pub issues: usize,
    /// Wall-clock time from the start to the report.
    pub wall: Duration,
    /// Maximum cost of all calls.
    pub money: Money,
}

/// The budget profiles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Profile {
    /// Two model calls within a minute.
    Quick,
    /// For everyday changes.
    Standard,
    /// For critical changes.
    Deep,
}

/// The models of a review, by role.
#[derive(Debug, Clone)]
pub struct ModelSet {
    /// Reviews the change.
    pub reviewer: Model,
    /// Answers small questions.
    pub cheap: Model,
    /// The stronger model: `strong` reviewers and validation.
    pub escalation: Model,
    /// Decides which findings are published. May be of another vendor.
    pub editor: Model,
}

impl Profile {
    /// The name that users type.
    pub fn name(self) -> &'static str {
        match self {
            Self::Quick => "quick",
            Self::Standard => "standard",
            Self::Deep => "deep",
        }
    }

    /// The limits of this profile.
    pub fn budget(self) -> ReviewBudget {
        let (llm_calls, tool_calls, input_tokens, verify, issues, seconds, cents) = match self {
            Self::Quick => (2, 3, 120_000, 5, 5, 60, 50),
            Self::Standard => (200, 2_000, 4_000_000, 20, 5, 900, 200),
            Self::Deep => (800, 8_000, 20_000_000, 60, 10, 3_600, 1_000),
        };
        ReviewBudget {
            name: self.name().to_owned(),
            llm_calls,
            tool_calls,
            input_tokens,
            verify,
            issues,
            wall: Duration::from_secs(seconds),
            money: Money::cents(cents),
        }
    }
}

impl ReviewBudget {
    /// Whether the budget allows at most two model calls: one of a reviewer and one of the editor.
    /// Then no call is left in which a model could read results of tools.
    pub(crate) fn has_two_calls(&self) -> bool {
        self.llm_calls <= 2
    }

    /// The part of the budget that the ledger enforces.
    pub fn ledger_budget(&self) -> Budget {
        Budget {
            llm_calls: self.llm_calls,
            tool_calls: self.tool_calls,
            input_tokens: self.input_tokens,
            wall: self.wall,
            money: self.money,
        }
    }
}

impl ModelSet {
    /// One model for all roles.
    pub fn uniform(model: Model) -> Self {
        let [reviewer, cheap, escalation] = [&model, &model, &model].map(Model::clone);
        Self { reviewer, cheap, escalation, editor: model }
    }

    /// The smallest context window of the models that get the whole change, in tokens.
    pub fn min_context(&self) -> u64 {
        let models = [&self.reviewer, &self.escalation, &self.editor];
        models.map(|model| model.facts().context).into_iter().min().unwrap_or_default()
    }

    /// The models of all roles.
    pub fn roles(&self) -> [&Model; 4] {
        [&self.reviewer, &self.cheap, &self.escalation, &self.editor]
    }

    /// The model for a tier.
    pub(crate) fn for_tier(&self, tier: ModelTier) -> &Model {
        match tier {
            ModelTier::Strong => &self.escalation,
            ModelTier::Mid => &self.reviewer,
        }
    }

    /// The model for small questions about the whole change: the cheap one if its context is at
    /// least as large as [`Self::min_context`], else the reviewer.
    pub(crate) fn small_or_reviewer(&self) -> &Model {
        let prompt_fits = self.cheap.facts().context >= self.min_context();
        if prompt_fits { &self.cheap } else { &self.reviewer }
    }

    /// The model names, sorted, deduplicated and joined by `+`. Part of the review id.
    pub fn names(&self) -> String {
        let mut names = self.roles().map(Model::name);
        names.sort_unstable();
        let mut names = names.to_vec();
        names.dedup();
        names.join("+")
    }
}
