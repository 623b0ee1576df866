//! Choosing: which reviewers look at a change, and why each does or does not.

use serde::ser::SerializeStruct;
use serde::{Deserialize, Serialize, Serializer};

use crate::facts::{Extent, Fact, Facts};
use crate::reviewers::{Catalogue, Returns, Reviewer};

/// Looks at every change.
pub const CORRECTNESS: &str = "correctness";
/// Looks at whatever guards other changes.
const ADVERSARIAL: &str = "adversarial";
/// Looks at what people read.
const DOCS: &str = "docs-that-lie";

const NOTHING: &str = "nothing in the change asks for it";
const OFF: &str = "switched off in `crh.toml`";

/// How many reviewers a change is worth.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Depth {
    /// One.
    Lite,
    /// As many as have something to look at.
    #[default]
    Auto,
    /// The whole panel.
    Full,
}

/// What the user wants.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wanted {
    /// How many reviewers.
    pub depth: Depth,
    /// These and no others; the names are known.
    pub only: Option<Vec<String>>,
    /// Those that are switched off in `crh.toml`.
    pub off: Vec<String>,
    /// Those that have a tier of their own in the settings.
    pub tiered: Vec<String>,
}

/// A reviewer that a model who read the change would ask.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scouted {
    /// The reviewer.
    pub name: String,
    /// Why.
    pub why: String,
}

/// Who looks at a change.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Team {
    /// Those that were chosen, in the order of the catalogue.
    pub chosen: Vec<Chosen>,
    /// The others, in the order of the catalogue.
    pub left_out: Vec<LeftOut>,
    /// What the reader should know about the choice.
    pub notes: Vec<String>,
}

/// A reviewer that looks at the change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chosen {
    /// The reviewer.
    pub reviewer: Reviewer,
    /// Why it was chosen.
    pub why: String,
}

/// A reviewer that does not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    /// Its name.
    pub name: String,
    /// Why not.
    pub why: String,
}

/// Chooses the reviewers of a change. A scout can only add, and only what has something to look at.
pub fn team(catalogue: &Catalogue, facts: &Facts, wanted: &Wanted, scouted: &[Scouted]) -> Team {
    let choice = Choice { catalogue, facts, wanted, scouted };
    let mut team = Team::default();
    for reviewer in catalogue.reviewers() {
        match choice.of(reviewer) {
            Ok(why) => team.chosen.push(Chosen { reviewer: reviewer.clone(), why }),
            Err(why) => team.left_out.push(LeftOut { name: reviewer.name.clone(), why }),
        }
    }
    team.notes.extend(choice.unguarded(&team));
    team.notes.extend(choice.in_vain("reviewers.off", &wanted.off));
    team.notes.extend(choice.in_vain("model.tiers", &wanted.tiered));
    let is_judged = team.chosen.iter().any(|it| it.reviewer.returns == Returns::Findings);
    if !is_judged && wanted.only.is_none() {
        team.fall_back(catalogue);
    }
    team
}

/// The names and reasons: what is stored of a choice.
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
    /// One of those that look at the change, by its name.
    pub fn get(&self, name: &str) -> Option<&Reviewer> {
        self.chosen.iter().map(|it| &it.reviewer).find(|reviewer| reviewer.name == name)
    }

    /// Lets the first reviewer of all look at a change that would have none.
    fn fall_back(&mut self, catalogue: &Catalogue) {
        let Some(reviewer) = catalogue.get(CORRECTNESS).cloned() else { return };
        self.left_out.retain(|it| it.name != reviewer.name);
        self.chosen.push(Chosen { reviewer, why: "nobody else is left".to_owned() });
        self.notes.push(format!(
            "every reviewer that this change would have is switched off in `crh.toml`; `{CORRECTNESS}` looks at it all the same"
        ));
    }
}

/// What a choice depends on.
struct Choice<'a> {
    catalogue: &'a Catalogue,
    facts: &'a Facts,
    wanted: &'a Wanted,
    scouted: &'a [Scouted],
}

impl Choice<'_> {
    /// Why a reviewer is chosen, or why not.
    fn of(&self, reviewer: &Reviewer) -> Result<String, String> {
        if let Some(only) = &self.wanted.only {
            return match self.names(only, reviewer) {
                true => Ok("asked for by `--reviewers`".to_owned()),
                false => Err("`--reviewers` names others".to_owned()),
            };
        }
        let why = self.by_depth(reviewer)?;
        match self.names(&self.wanted.off, reviewer) {
            true => Err(OFF.to_owned()),
            false => Ok(why),
        }
    }

    /// What to note if a setting names somebody who is not there.
    fn in_vain(&self, setting: &str, names: &[String]) -> Option<String> {
        let unknown = names.iter().filter(|name| self.catalogue.get(name).is_none());
        let unknown: Vec<String> = unknown.map(|name| format!("`{name}`")).collect();
        (!unknown.is_empty())
            .then(|| format!("`{setting}` names {}: there is no such reviewer", unknown.join(", ")))
    }

    /// What to note if a guard changes and nobody tries to get past it.
    fn unguarded(&self, team: &Team) -> Option<String> {
        let witness = self.facts.witness(Fact::Guard)?;
        let is_off = |it: &LeftOut| it.name == ADVERSARIAL && it.why == OFF;
        team.left_out.iter().any(is_off).then(|| {
            format!("{witness}, and `{ADVERSARIAL}`, which looks at such changes, is {OFF}")
        })
    }

    /// Whether one of some names is a reviewer's.
    fn names(&self, names: &[String], reviewer: &Reviewer) -> bool {
        let named =
            |name: &String| self.catalogue.get(name).is_some_and(|it| it.name == reviewer.name);
        names.iter().any(named)
    }

    fn by_depth(&self, reviewer: &Reviewer) -> Result<String, String> {
        let alone = match self.wanted.depth {
            Depth::Lite => Some((CORRECTNESS, "always", "`--depth lite` asks one reviewer")),
            Depth::Auto => self.small(),
            Depth::Full => None,
        };
        if let Some((only, why, why_not)) = alone {
            return match reviewer.name == only {
                true => Ok(why.to_owned()),
                false => Err(why_not.to_owned()),
            };
        }
        if let Some(missing) = self.missing(reviewer) {
            return Err(missing);
        }
        let by_code = match (self.always(reviewer), reviewer.asked_by(self.facts)) {
            (Some(why), _) => Some(why.to_owned()),
            (None, why) => why.or_else(|| self.guard(reviewer)),
        };
        let why = by_code.or_else(|| self.scouted_for(reviewer));
        why.ok_or_else(|| NOTHING.to_owned())
    }

    /// Who looks at a change that is worth one reviewer, why, and why no other.
    fn small(&self) -> Option<(&'static str, &'static str, &'static str)> {
        // What is small and wrong here is wrong for every change to come, or for the data.
        if self.facts.has(Fact::Guard) || self.facts.has(Fact::Migrations) {
            return None;
        }
        match self.facts.extent() {
            Extent::Prose => Some((
                DOCS,
                "only what people read changed",
                "only what people read changed, which is worth one reviewer",
            )),
            Extent::OneLine => {
                Some((CORRECTNESS, "always", "one line changed, which is worth one reviewer"))
            }
            Extent::More => None,
        }
    }

    fn always(&self, reviewer: &Reviewer) -> Option<&'static str> {
        let is_always = match self.wanted.depth {
            Depth::Full => reviewer.in_full || reviewer.name == CORRECTNESS,
            Depth::Lite | Depth::Auto => reviewer.name == CORRECTNESS,
        };
        is_always.then_some("always")
    }

    /// A change of a guard is always looked at by somebody who tries to get past it.
    fn guard(&self, reviewer: &Reviewer) -> Option<String> {
        let witness = self.facts.witness(Fact::Guard)?;
        (reviewer.name == ADVERSARIAL).then(|| witness.to_owned())
    }

    /// Why a reviewer would have nothing to look at, whoever asks for it.
    fn missing(&self, reviewer: &Reviewer) -> Option<String> {
        let needed = &reviewer.needs;
        let is_there = needed.is_empty() || needed.iter().any(|fact| self.facts.has(*fact));
        let lacks: Vec<&str> = needed.iter().map(|fact| fact.absence()).collect();
        (!is_there).then(|| lacks.join(" and "))
    }

    fn scouted_for(&self, reviewer: &Reviewer) -> Option<String> {
        let is_it = |scouted: &&Scouted| {
            self.catalogue.get(&scouted.name).is_some_and(|it| it.name == reviewer.name)
        };
        let why = self.scouted.iter().find(is_it).map(|scouted| scouted.why.trim())?;
        Some(if why.is_empty() { "the scout asks for it".to_owned() } else { why.to_owned() })
    }
}

#[cfg(test)]
mod tests;
