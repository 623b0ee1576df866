//! Chooses the reviewers of a panel, with a reason for each choice.

use serde::ser::SerializeStruct;
use serde::{Deserialize, Serialize, Serializer};

use crate::assignment::{SINGLE, is_static};
use crate::facts::{ChangeFact, ChangeFacts, Extent};
use crate::reviewers::{
    ModelTier, PanelRole, Returns, Reviewer, ReviewerCatalogue, ReviewerOrigin,
};

/// The first finder: a reviewer that looks for every kind of defect.
pub const CORRECTNESS: &str = "correctness";
/// The second finder. It also reviews changes to guards, such as CI or permission checks.
const ADVERSARIAL: &str = "adversarial";
/// The specialist for security.
const SECURITY: &str = "security";
/// The reviewer of documentation.
const DOCS: &str = "docs-that-lie";
/// The combined reviewer of tests, documentation, rules and idiom.
const UPKEEP: &str = "upkeep";

/// The reviewer of data that already exists.
const DATA_MIGRATIONS: &str = "data-migrations";

/// Specialists by importance. The default team has the first ones that the change calls for.
const SPECIALISTS: [&str; 7] = [
    SECURITY,
    DATA_MIGRATIONS,
    "concurrency",
    "frontend-races",
    "api-contract",
    "reliability",
    "performance",
];
/// Specialists of changes below [`LARGE_CHANGE_LINES`]. In measured reviews of such changes,
/// finders reported everything that a specialist reported. So only the specialists run whose
/// omission could cost the most, and only if a fact calls for them.
const SMALL_CHANGE_SPECIALISTS: [&str; 2] = [SECURITY, DATA_MIGRATIONS];
/// Number of changed lines of code from which a second finder pays for itself and every specialist
/// may run.
const LARGE_CHANGE_LINES: u64 = 600;
/// Number of changed lines of code from which a team may have a second specialist.
const SECOND_SPECIALIST_LINES: u64 = 1_000;

/// Why a reviewer without a matching trigger is skipped.
const NO_TRIGGER: &str = "nothing in the change calls for this reviewer";
/// Why `--depth full` skips the combined reviewer.
const DONE_BY_PARTS: &str = "the reviewers of `--depth full` cover it";
/// Minimum similarity of a name for a suggestion.
const SIMILAR: f64 = 0.75;

/// Why a reviewer in the list `reviewers.off` is skipped.
const DISABLED: &str = "disabled in `crh.toml`";

/// How large the team is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Depth {
    /// One finder.
    Lite,
    /// One or two finders, at most two specialists that the change calls for, and one reviewer of
    /// tests, documentation and idiom. For prose or one changed line, a single reviewer.
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
    /// Chosen reviewers.
    pub chosen: Vec<ChosenReviewer>,
    /// Skipped reviewers, in catalogue order.
    pub left_out: Vec<SkippedReviewer>,
    /// Notes for the reader.
    pub notes: Vec<String>,
    /// Whether this is the default team. It leaves out some reviewers whose triggers fire.
    pub(crate) is_narrowed: bool,
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

/// Chooses the reviewers of a change. The scout, a model that reads the change before the panel,
/// can add reviewers whose needs are met. It cannot remove any.
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
    team.is_narrowed = selector.is_narrowed();
    if team.is_narrowed {
        selector.narrow(&mut team);
    }
    team.notes.extend(selector.guard_note());
    team.notes.extend(unknown_names_note("reviewers.off", &selection.off, catalogue));
    team.notes.extend(unknown_names_note("model.tiers", &selection.tiered, catalogue));
    let has_findings =
        team.chosen.iter().any(|choice| choice.reviewer.returns == Returns::Findings);
    if !has_findings && selection.only.is_none() {
        team.add_fallback(catalogue);
    }
    team
}

/// A note if a setting names unknown reviewers. Names of static checks count as unknown here.
pub fn unknown_names_note(
    setting: &str,
    names: &[String],
    catalogue: &ReviewerCatalogue,
) -> Option<String> {
    let unknown: Vec<&String> = names.iter().filter(|name| catalogue.get(name).is_none()).collect();
    let first = unknown.first()?;
    let list: Vec<String> = unknown.iter().map(|name| format!("`{name}`")).collect();
    let similar = |name: &str| strsim::jaro_winkler(name, first);
    let known = catalogue.reviewers().iter().map(|reviewer| reviewer.name.as_str());
    let nearest = known.max_by(|a, b| similar(a).total_cmp(&similar(b)));
    let advice = if is_static(first) {
        format!("; `{first}` is a static check, use `checks.ignore`")
    } else {
        let nearest = nearest.filter(|name| similar(name) > SIMILAR);
        nearest.map(|name| format!("; did you mean `{name}`?")).unwrap_or_default()
    };
    Some(format!("`{setting}` names {}: there is no such reviewer{advice}", list.join(", ")))
}

/// Stores reviewers by name.
impl Serialize for Team {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let chosen =
            self.chosen.iter().map(|choice| (choice.reviewer.name.as_str(), choice.why.as_str()));
        let mut team = serializer.serialize_struct("Team", 3)?;
        team.serialize_field("chosen", &chosen.collect::<Vec<_>>())?;
        team.serialize_field("left_out", &self.left_out)?;
        team.serialize_field("notes", &self.notes)?;
        team.end()
    }
}

impl Team {
    /// The team of the strategy `single`: the first finder of a panel under another name, with
    /// `model.reviewer`.
    pub(crate) fn of_single() -> Self {
        let finder = ReviewerCatalogue::built_in().get(CORRECTNESS);
        let reviewer = finder.map(|finder| Reviewer {
            name: SINGLE.to_owned(),
            aliases: Vec::new(),
            tier: ModelTier::Mid,
            ..finder.clone()
        });
        let why = "the strategy is `single`".to_owned();
        let chosen =
            reviewer.into_iter().map(|reviewer| ChosenReviewer { reviewer, why: why.clone() });
        Self { chosen: chosen.collect(), ..Self::default() }
    }

    /// A chosen reviewer by name.
    pub fn get(&self, name: &str) -> Option<&Reviewer> {
        self.chosen.iter().map(|choice| &choice.reviewer).find(|reviewer| reviewer.name == name)
    }

    /// Adds [`CORRECTNESS`] to a team in which no reviewer returns findings.
    fn add_fallback(&mut self, catalogue: &ReviewerCatalogue) {
        let Some(reviewer) = catalogue.get(CORRECTNESS).cloned() else { return };
        self.left_out.retain(|skipped| skipped.name != reviewer.name);
        self.chosen.push(ChosenReviewer { reviewer, why: "no other reviewer is left".to_owned() });
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
            true => Err(DISABLED.to_owned()),
            false => Ok(why),
        }
    }

    /// Whether the team is reduced to the default one.
    fn is_narrowed(&self) -> bool {
        self.selection.only.is_none()
            && self.selection.depth == Depth::Auto
            && self.small_change_reviewer().is_none()
    }

    /// Reduces the reviewers that the change calls for to the default team.
    fn narrow(&self, team: &mut Team) {
        let mut specialists: Vec<&str> = team
            .chosen
            .iter()
            .map(|choice| choice.reviewer.name.as_str())
            .filter(|name| self.eligible_specialists().contains(name))
            .filter(|name| self.is_called_for(name) || !self.is_small() && self.is_suggested(name))
            .collect();
        specialists.sort_by_key(|name| SPECIALISTS.iter().position(|known| known == name));
        // Specialists that the change calls for come first. Suggestions of the scout fill the
        // remaining places.
        let (mut called_for, suggested): (Vec<&str>, Vec<&str>) =
            specialists.into_iter().partition(|name| self.is_called_for(name));
        called_for.truncate(self.specialists_max());
        let suggested_max = self.specialists_max().saturating_sub(called_for.len());
        let (suggested, surplus) = suggested.split_at(suggested_max.min(suggested.len()));
        let surplus_note = surplus_note(surplus);
        let specialists = called_for.iter().chain(suggested);
        let specialists: Vec<String> = specialists.map(|name| (*name).to_owned()).collect();
        team.notes.extend(surplus_note);
        let mut upkeep_reason = None;
        for choice in std::mem::take(&mut team.chosen) {
            match self.narrowing_reason(&choice.reviewer, &specialists) {
                None => team.chosen.push(choice),
                Some(why) => {
                    if choice.reviewer.role == PanelRole::UpkeepPart {
                        upkeep_reason.get_or_insert(choice.why);
                    }
                    team.left_out.push(SkippedReviewer { name: choice.reviewer.name, why });
                }
            }
        }
        let upkeep = self
            .catalogue
            .get(UPKEEP)
            .filter(|upkeep| !self.names_reviewer(&self.selection.off, upkeep));
        if let (Some(why), Some(upkeep)) = (upkeep_reason, upkeep) {
            team.left_out.retain(|skipped| skipped.name != UPKEEP);
            team.chosen.push(ChosenReviewer { reviewer: upkeep.clone(), why });
        }
        let has_upkeep = team.get(UPKEEP).is_some();
        for skipped in &mut team.left_out {
            let reviewer = self.catalogue.get(&skipped.name);
            if reviewer.is_some_and(|reviewer| self.is_untriggered(reviewer))
                && let Some(why) = self.untriggered_reason(&skipped.name, has_upkeep)
            {
                skipped.why = why;
            }
        }
        let position = |name: &str| {
            self.catalogue.reviewers().iter().position(|reviewer| reviewer.name == name)
        };
        team.chosen.sort_by_key(|choice| position(&choice.reviewer.name));
        team.left_out.sort_by_key(|skipped| position(&skipped.name));
    }

    /// Whether the change calls for a specialist, by a fact, a path or a language. Below
    /// [`LARGE_CHANGE_LINES`], only a fact counts. A word in the code is never enough: finders
    /// look at such lines too.
    fn is_called_for(&self, name: &str) -> bool {
        if name == SECURITY && self.facts.has(ChangeFact::InjectionRisk) {
            return true;
        }
        let triggers = self.catalogue.get(name).map(|reviewer| reviewer.when.as_slice());
        triggers
            .unwrap_or_default()
            .iter()
            .filter(|trigger| trigger.words.is_empty())
            .filter(|trigger| trigger.fact.is_some() || !self.is_small())
            .any(|trigger| trigger.fires(self.facts).is_some())
    }

    fn is_suggested(&self, name: &str) -> bool {
        self.suggestions.iter().any(|suggestion| {
            self.catalogue.get(&suggestion.name).is_some_and(|reviewer| reviewer.name == name)
        })
    }

    /// Why a reviewer is not in the default team. None if it is.
    fn narrowing_reason(&self, reviewer: &Reviewer, specialists: &[String]) -> Option<String> {
        if reviewer.origin != ReviewerOrigin::BuiltIn {
            return None;
        }
        match reviewer.role {
            PanelRole::Finder if reviewer.name != ADVERSARIAL || self.needs_second_finder() => None,
            PanelRole::Finder => Some("one general reviewer is enough for this change".to_owned()),
            PanelRole::Specialist if specialists.contains(&reviewer.name) => None,
            PanelRole::Specialist => {
                Some("other reviewers cover its topic; `--depth full` runs it, too".to_owned())
            }
            PanelRole::UpkeepPart => Some(format!(
                "`{UPKEEP}` covers its topic; `--depth full` runs it instead of `{UPKEEP}`"
            )),
            PanelRole::Upkeep => None,
            PanelRole::Extra => {
                Some("it runs only with `--depth full`, or if `--reviewers` names it".to_owned())
            }
        }
    }

    /// Why the default team lacks a reviewer that always runs with `--depth full`. None if the
    /// reviewer needs a trigger even then, or if no reviewer in the team covers its topic.
    fn untriggered_reason(&self, name: &str, has_upkeep: bool) -> Option<String> {
        let reviewer = self.catalogue.get(name).filter(|reviewer| reviewer.in_full)?;
        match reviewer.role {
            PanelRole::Extra => self.narrowing_reason(reviewer, &[]),
            PanelRole::UpkeepPart if has_upkeep => self.narrowing_reason(reviewer, &[]),
            PanelRole::UpkeepPart
            | PanelRole::Upkeep
            | PanelRole::Finder
            | PanelRole::Specialist => None,
        }
    }

    /// Whether the change is large enough for a second finder, or changes a guard that the security
    /// reviewer does not cover.
    fn needs_second_finder(&self) -> bool {
        !self.is_small() || self.facts.has(ChangeFact::Guard) && !self.is_covered_by_security()
    }

    fn is_covered_by_security(&self) -> bool {
        let security = self.catalogue.get(SECURITY);
        let is_enabled = |security| !self.names_reviewer(&self.selection.off, security);
        security.is_some_and(is_enabled) && self.is_called_for(SECURITY)
    }

    fn is_small(&self) -> bool {
        self.facts.lines() < LARGE_CHANGE_LINES
    }

    /// The specialists that may run, by importance.
    fn eligible_specialists(&self) -> &'static [&'static str] {
        if self.is_small() { &SMALL_CHANGE_SPECIALISTS } else { &SPECIALISTS }
    }

    fn specialists_max(&self) -> usize {
        if self.facts.lines() < SECOND_SPECIALIST_LINES { 1 } else { 2 }
    }

    /// A note if a guard changed and the adversarial reviewer is disabled.
    fn guard_note(&self) -> Option<String> {
        let witness = self.facts.witness(ChangeFact::Guard)?;
        let adversarial = self.catalogue.get(ADVERSARIAL)?;
        let is_disabled = self.selection.only.is_none()
            && self.names_reviewer(&self.selection.off, adversarial)
            && self.by_depth(adversarial).is_ok();
        is_disabled.then(|| {
            format!("{witness}, but `{ADVERSARIAL}`, the reviewer for such changes, is {DISABLED}")
        })
    }

    /// Whether one of the names or aliases denotes this reviewer.
    fn names_reviewer(&self, names: &[String], reviewer: &Reviewer) -> bool {
        names.iter().any(|name| self.denotes(name, reviewer))
    }

    /// Whether a name or alias denotes this reviewer.
    fn denotes(&self, name: &str, reviewer: &Reviewer) -> bool {
        self.catalogue.get(name).is_some_and(|found| found.name == reviewer.name)
    }

    /// Decides by `--depth`, and then by what the change touches.
    fn by_depth(&self, reviewer: &Reviewer) -> Result<String, String> {
        let single_reviewer = match self.selection.depth {
            Depth::Lite => Some((CORRECTNESS, "always", "`--depth lite` uses one reviewer")),
            Depth::Auto => self.small_change_reviewer(),
            Depth::Full => None,
        };
        if let Some((name, why, why_not)) = single_reviewer {
            return match reviewer.name == name {
                true => Ok(why.to_owned()),
                false => Err(why_not.to_owned()),
            };
        }
        if let Some(missing) = self.unmet_needs(reviewer) {
            return Err(missing);
        }
        let why = self.trigger_reason(reviewer);
        let is_combined = self.selection.depth == Depth::Full && reviewer.role == PanelRole::Upkeep;
        let why_not = if is_combined { DONE_BY_PARTS } else { NO_TRIGGER };
        why.ok_or_else(|| why_not.to_owned())
    }

    /// Why the change calls for a reviewer.
    fn trigger_reason(&self, reviewer: &Reviewer) -> Option<String> {
        let by_facts = match (self.always_reason(reviewer), reviewer.triggered_by(self.facts)) {
            (Some(why), _) => Some(why.to_owned()),
            (None, why) => {
                self.injection_reason(reviewer).or(why).or_else(|| self.guard_reason(reviewer))
            }
        };
        by_facts.or_else(|| self.scout_reason(reviewer))
    }

    /// Whether a reviewer could review something, but nothing in the change calls for it.
    fn is_untriggered(&self, reviewer: &Reviewer) -> bool {
        self.unmet_needs(reviewer).is_none() && self.trigger_reason(reviewer).is_none()
    }

    /// If one reviewer is enough for the change: its name, why it runs, and why the others do not.
    fn small_change_reviewer(&self) -> Option<(&'static str, &'static str, &'static str)> {
        // A mistake in a guard affects all later changes, one in a migration affects stored data,
        // and one line can open the system to attackers.
        let risks = [ChangeFact::Guard, ChangeFact::Migrations, ChangeFact::InjectionRisk];
        if risks.into_iter().any(|fact| self.facts.has(fact)) {
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

    /// A change to a guard calls for the adversarial reviewer.
    fn guard_reason(&self, reviewer: &Reviewer) -> Option<String> {
        let witness = self.facts.witness(ChangeFact::Guard)?;
        (reviewer.name == ADVERSARIAL).then(|| witness.to_owned())
    }

    /// The security reviewer always reviews lines on which text can become a command or a query.
    fn injection_reason(&self, reviewer: &Reviewer) -> Option<String> {
        let witness = self.facts.witness(ChangeFact::InjectionRisk)?;
        (reviewer.name == SECURITY).then(|| witness.to_owned())
    }

    /// Why the reviewer has nothing to review. None if its needs are met.
    fn unmet_needs(&self, reviewer: &Reviewer) -> Option<String> {
        let needs = &reviewer.needs;
        let are_met = needs.is_empty() || needs.iter().any(|fact| self.facts.has(*fact));
        let absences: Vec<&str> = needs.iter().map(|fact| fact.absence()).collect();
        (!are_met).then(|| absences.join(" and "))
    }

    fn scout_reason(&self, reviewer: &Reviewer) -> Option<String> {
        let mut suggestions = self.suggestions.iter();
        let suggestion = suggestions.find(|suggestion| self.denotes(&suggestion.name, reviewer))?;
        let why = suggestion.why.trim();
        Some(if why.is_empty() { "the scout asks for it".to_owned() } else { why.to_owned() })
    }
}

/// A note if the scout asks for more specialists than the default team may have.
fn surplus_note(surplus: &[&str]) -> Option<String> {
    let names: Vec<String> = surplus.iter().map(|name| format!("`{name}`")).collect();
    let names = (!names.is_empty()).then(|| names.join(", "))?;
    Some(format!(
        "the model that chooses reviewers also asked for {names}; `--depth full` runs all of them"
    ))
}

#[cfg(test)]
mod tests;
