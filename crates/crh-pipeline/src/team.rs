//! Chooses the reviewers of a panel, with a reason for each choice.

use serde::ser::SerializeStruct;
use serde::{Deserialize, Serialize, Serializer};

use crate::facts::{ChangeFact, ChangeFacts, Extent};
use crate::reviewers::{Returns, Reviewer, ReviewerCatalogue};

/// The reviewer that runs on every change.
pub const CORRECTNESS: &str = "correctness";
/// The reviewer of changes to guards, such as CI or permission checks.
const ADVERSARIAL: &str = "adversarial";
/// The reviewer of documentation.
const DOCS: &str = "docs-that-lie";

const NOTHING: &str = "no trigger matches the change";
const OFF: &str = "disabled in `crh.toml`";

/// How many reviewers a panel has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Depth {
    /// One reviewer.
    Lite,
    /// The reviewers that the facts of the change call for.
    #[default]
    Auto,
    /// All reviewers that have something to review.
    Full,
}

/// Selection criteria of the user.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PanelSelection {
    /// How many reviewers to choose.
    pub depth: Depth,
    /// Only these reviewers. The names are valid.
    pub only: Option<Vec<String>>,
    /// Reviewers disabled in `crh.toml`.
    pub off: Vec<String>,
    /// Reviewers with a model tier in the settings.
    pub tiered: Vec<String>,
}

/// A reviewer that the scout suggests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScoutSuggestion {
    /// Name of the reviewer.
    pub name: String,
    /// Reason for the suggestion.
    pub why: String,
}

/// The reviewers of a change.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Team {
    /// Chosen reviewers, in catalogue order.
    pub chosen: Vec<ChosenReviewer>,
    /// Skipped reviewers, in catalogue order.
    pub left_out: Vec<SkippedReviewer>,
    /// Notes for the reader.
    pub notes: Vec<String>,
}

/// A chosen reviewer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChosenReviewer {
    /// The reviewer.
    pub reviewer: Reviewer,
    /// Why it was chosen.
    pub why: String,
}

/// A skipped reviewer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SkippedReviewer {
    /// Its name.
    pub name: String,
    /// Why it was skipped.
    pub why: String,
}

/// Chooses the reviewers of a change. The scout can only add reviewers whose needs are met.
pub fn choose_team(
    catalogue: &ReviewerCatalogue,
    facts: &ChangeFacts,
    selection: &PanelSelection,
    suggestions: &[ScoutSuggestion],
) -> Team {
    let selector = TeamSelector { catalogue, facts, selection, suggestions };
    let mut team = Team::default();
    for reviewer in catalogue.reviewers() {
        match selector.decide(reviewer) {
            Ok(why) => team.chosen.push(ChosenReviewer { reviewer: reviewer.clone(), why }),
            Err(why) => team.left_out.push(SkippedReviewer { name: reviewer.name.clone(), why }),
        }
    }
    team.notes.extend(selector.guard_note(&team));
    team.notes.extend(selector.unknown_names_note("reviewers.off", &selection.off));
    team.notes.extend(selector.unknown_names_note("model.tiers", &selection.tiered));
    let is_judged = team.chosen.iter().any(|it| it.reviewer.returns == Returns::Findings);
    if !is_judged && selection.only.is_none() {
        team.fall_back(catalogue);
    }
    team
}

/// Stores names and reasons only.
impl Serialize for Team {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let chosen = self.chosen.iter().map(|it| (it.reviewer.name.as_str(), it.why.as_str()));
        let mut team = serializer.serialize_struct("Team", 3)?;
        team.serialize_field("chosen", &chosen.collect::<Vec<_>>())?;
        team.serialize_field("left_out", &self.left_out)?;
        team.serialize_field("notes", &self.notes)?;
        team.end()
    }
}

impl Team {
    /// A chosen reviewer by name.
    pub fn get(&self, name: &str) -> Option<&Reviewer> {
        self.chosen.iter().map(|it| &it.reviewer).find(|reviewer| reviewer.name == name)
    }

    /// Adds the default reviewer to a team without one that returns findings.
    fn fall_back(&mut self, catalogue: &ReviewerCatalogue) {
        let Some(reviewer) = catalogue.get(CORRECTNESS).cloned() else { return };
        self.left_out.retain(|it| it.name != reviewer.name);
        self.chosen.push(ChosenReviewer { reviewer, why: "nobody else is left".to_owned() });
        self.notes.push(format!(
            "all reviewers for this change are disabled in `crh.toml`; `{CORRECTNESS}` reviews it anyway"
        ));
    }
}

struct TeamSelector<'a> {
    catalogue: &'a ReviewerCatalogue,
    facts: &'a ChangeFacts,
    selection: &'a PanelSelection,
    suggestions: &'a [ScoutSuggestion],
}

impl TeamSelector<'_> {
    /// Why a reviewer is chosen (`Ok`) or skipped (`Err`).
    fn decide(&self, reviewer: &Reviewer) -> Result<String, String> {
        if let Some(only) = &self.selection.only {
            return match self.names_reviewer(only, reviewer) {
                true => Ok("asked for by `--reviewers`".to_owned()),
                false => Err("not named in `--reviewers`".to_owned()),
            };
        }
        let why = self.by_depth(reviewer)?;
        match self.names_reviewer(&self.selection.off, reviewer) {
            true => Err(OFF.to_owned()),
            false => Ok(why),
        }
    }

    /// A note if a setting names unknown reviewers.
    fn unknown_names_note(&self, setting: &str, names: &[String]) -> Option<String> {
        let unknown = names.iter().filter(|name| self.catalogue.get(name).is_none());
        let unknown: Vec<String> = unknown.map(|name| format!("`{name}`")).collect();
        (!unknown.is_empty())
            .then(|| format!("`{setting}` names {}: there is no such reviewer", unknown.join(", ")))
    }

    /// A note if a guard changed and the adversarial reviewer is disabled.
    fn guard_note(&self, team: &Team) -> Option<String> {
        let witness = self.facts.witness(ChangeFact::Guard)?;
        let is_off = |it: &SkippedReviewer| it.name == ADVERSARIAL && it.why == OFF;
        team.left_out.iter().any(is_off).then(|| {
            format!("{witness}, but `{ADVERSARIAL}`, the reviewer for such changes, is {OFF}")
        })
    }

    /// Whether one of the names or aliases denotes this reviewer.
    fn names_reviewer(&self, names: &[String], reviewer: &Reviewer) -> bool {
        let named =
            |name: &String| self.catalogue.get(name).is_some_and(|it| it.name == reviewer.name);
        names.iter().any(named)
    }

    fn by_depth(&self, reviewer: &Reviewer) -> Result<String, String> {
        let only_one = match self.selection.depth {
            Depth::Lite => Some((CORRECTNESS, "always", "`--depth lite` uses one reviewer")),
            Depth::Auto => self.small_change_reviewer(),
            Depth::Full => None,
        };
        if let Some((only, why, why_not)) = only_one {
            return match reviewer.name == only {
                true => Ok(why.to_owned()),
                false => Err(why_not.to_owned()),
            };
        }
        if let Some(missing) = self.unmet_needs(reviewer) {
            return Err(missing);
        }
        let by_code = match (self.always_reason(reviewer), reviewer.triggered_by(self.facts)) {
            (Some(why), _) => Some(why.to_owned()),
            (None, why) => why.or_else(|| self.guard_reason(reviewer)),
        };
        let why = by_code.or_else(|| self.scout_reason(reviewer));
        why.ok_or_else(|| NOTHING.to_owned())
    }

    /// For a change that needs one reviewer: its name, why it runs, and why the others do not.
    fn small_change_reviewer(&self) -> Option<(&'static str, &'static str, &'static str)> {
        // A small mistake here affects all later changes, or stored data.
        if self.facts.has(ChangeFact::Guard) || self.facts.has(ChangeFact::Migrations) {
            return None;
        }
        match self.facts.extent() {
            Extent::Prose => Some((
                DOCS,
                "only what people read changed",
                "only documentation or comments changed: one reviewer is enough",
            )),
            Extent::OneLine => {
                Some((CORRECTNESS, "always", "one line changed: one reviewer is enough"))
            }
            Extent::More => None,
        }
    }

    fn always_reason(&self, reviewer: &Reviewer) -> Option<&'static str> {
        let is_always = match self.selection.depth {
            Depth::Full => reviewer.in_full || reviewer.name == CORRECTNESS,
            Depth::Lite | Depth::Auto => reviewer.name == CORRECTNESS,
        };
        is_always.then_some("always")
    }

    /// The adversarial reviewer always reviews changes to guards.
    fn guard_reason(&self, reviewer: &Reviewer) -> Option<String> {
        let witness = self.facts.witness(ChangeFact::Guard)?;
        (reviewer.name == ADVERSARIAL).then(|| witness.to_owned())
    }

    /// Why the reviewer has nothing to review. None if its needs are met.
    fn unmet_needs(&self, reviewer: &Reviewer) -> Option<String> {
        let needed = &reviewer.needs;
        let is_there = needed.is_empty() || needed.iter().any(|fact| self.facts.has(*fact));
        let lacks: Vec<&str> = needed.iter().map(|fact| fact.absence()).collect();
        (!is_there).then(|| lacks.join(" and "))
    }

    fn scout_reason(&self, reviewer: &Reviewer) -> Option<String> {
        let is_it = |suggestion: &&ScoutSuggestion| {
            self.catalogue.get(&suggestion.name).is_some_and(|it| it.name == reviewer.name)
        };
        let why = self.suggestions.iter().find(is_it).map(|suggestion| suggestion.why.trim())?;
        Some(if why.is_empty() { "the scout asks for it".to_owned() } else { why.to_owned() })
    }
}

#[cfg(test)]
mod tests;
