//! On what terms a change is reviewed: how, how far, in which language. Nothing here is read from the change.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::reviewers::{Reviewer, Tier};
use crate::team::{Depth, Wanted};
use crh_agent::Budget;
use crh_llm::{Model, Money};
use crh_review::report::{Mode, Strategy};
use crh_review::verdict::Asked;

/// On what terms a change is reviewed. Stored with the run, so that resuming goes on in the same way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Terms {
    /// How the change is divided among reviewers.
    pub strategy: Strategy,
    /// Whether a review was asked for, or only checks.
    pub asked: Asked,
    /// Who may change the tree.
    pub mode: Mode,
    /// How far it may go.
    pub allowance: Allowance,
    /// The language that reviewers write in, as its speakers or English call it; English if empty.
    pub language: String,
    /// The most runs at the same time.
    pub side_by_side: usize,
    /// Prompts of the user's own, over the built-in ones.
    pub overrides: PromptOverrides,
    /// Who is on a panel, and what the change is held against.
    #[serde(default)]
    pub panel: PanelTerms,
}

/// Who is on a panel, and what the change is held against.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PanelTerms {
    /// How many reviewers.
    pub depth: Depth,
    /// These reviewers and no others.
    pub only: Option<Vec<String>>,
    /// Those that are switched off.
    pub off: Vec<String>,
    /// How strong the models of some reviewers are, over what their files say.
    pub tiers: BTreeMap<String, Tier>,
    /// The plan that was named, read.
    pub plan: Option<GivenPlan>,
    /// The requirements of a plan that need not be met.
    pub waived: Vec<String>,
}

/// A plan that the user named.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GivenPlan {
    /// Where it lies, from the root of the repository if it is in it.
    pub path: String,
    /// What stands in it.
    pub text: String,
}

impl PanelTerms {
    /// Who is wanted.
    pub fn wanted(&self) -> Wanted {
        Wanted {
            depth: self.depth,
            only: self.only.clone(),
            off: self.off.clone(),
            tiered: self.tiers.keys().cloned().collect(),
        }
    }

    /// How strong the model of a reviewer is.
    pub fn tier(&self, reviewer: &Reviewer) -> Tier {
        let named = self.tiers.iter().find(|(name, _)| reviewer.is_called(name));
        named.map_or(reviewer.tier, |(_, tier)| *tier)
    }
}

/// Prompts of the user's own. Their text is part of `prompt_version`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PromptOverrides {
    /// Instead of the rules that every agent is given.
    pub system: Option<String>,
    /// Instead of what a reviewer is told about how to review.
    pub reviewer: Option<String>,
}

/// How far a review may go: a profile's numbers, or some of them set alone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Allowance {
    /// The profile with whatever was set over it, such as `standard` or `quick+llm_calls=3`: part of the review's id.
    pub name: String,
    /// Calls of models.
    pub llm_calls: u32,
    /// Calls of tools.
    pub tool_calls: u32,
    /// Tokens that models read.
    pub input_tokens: u64,
    /// How many findings are checked by a second run.
    pub verify: usize,
    /// How many issues the report shows.
    pub issues: usize,
    /// From the start to the report.
    pub wall: Duration,
    /// What all calls cost together.
    pub money: Money,
}

/// The three profiles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Profile {
    /// The agent specification's numbers.
    Quick,
    /// For everyday changes.
    Standard,
    /// For what must not go wrong.
    Deep,
}

/// Which model does what.
#[derive(Debug, Clone)]
pub struct Crew {
    /// Reviews.
    pub reviewer: Model,
    /// Does what needs little thought.
    pub cheap: Model,
    /// Looks again at what the reviewer was unsure of.
    pub escalation: Model,
}

impl Profile {
    /// Its name, as it is typed.
    pub fn name(self) -> &'static str {
        match self {
            Self::Quick => "quick",
            Self::Standard => "standard",
            Self::Deep => "deep",
        }
    }

    /// Its numbers.
    pub fn allowance(self) -> Allowance {
        let (llm_calls, tool_calls, input_tokens, verify, issues, seconds, cents) = match self {
            Self::Quick => (2, 3, 120_000, 5, 15, 60, 50),
            Self::Standard => (200, 2_000, 4_000_000, 20, 15, 900, 200),
            Self::Deep => (800, 8_000, 20_000_000, 60, 30, 3_600, 1_000),
        };
        Allowance {
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

impl Allowance {
    /// What the ledger keeps to.
    pub fn budget(&self) -> Budget {
        Budget {
            llm_calls: self.llm_calls,
            tool_calls: self.tool_calls,
            input_tokens: self.input_tokens,
            wall: self.wall,
            money: self.money,
        }
    }
}

impl Crew {
    /// The smallest context of those who read the change, in tokens.
    pub fn context(&self) -> u64 {
        self.reviewer.facts().context.min(self.escalation.facts().context)
    }

    /// Who reviews with so much judgement.
    pub(crate) fn of_tier(&self, tier: Tier) -> &Model {
        match tier {
            Tier::Strong => &self.escalation,
            Tier::Mid => &self.reviewer,
        }
    }

    /// Who is asked something small about the whole change: the cheap model, if it has room for what all are told.
    pub(crate) fn small(&self) -> &Model {
        let has_room = self.cheap.facts().context >= self.context();
        if has_room { &self.cheap } else { &self.reviewer }
    }

    /// The names of the models, sorted and without repetition, joined by `+`: part of the review's id.
    pub fn names(&self) -> String {
        let mut names = [&self.reviewer, &self.cheap, &self.escalation].map(Model::name);
        names.sort_unstable();
        let mut names = names.to_vec();
        names.dedup();
        names.join("+")
    }
}
