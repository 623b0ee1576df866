//! Specialised reviewers as data: one Markdown file each, with front matter (when it runs, what it
//! may report) and a prompt.

mod catalogue;
mod own;
mod reviewer_file;
mod trigger;

use std::fmt;

pub use catalogue::ReviewerCatalogue;
pub use own::own_reviewers;
use serde::{Deserialize, Serialize};
pub use trigger::Trigger;

use crate::facts::{ChangeFact, ChangeFacts};
use crh_review::finding::{AutofixClass, Category, Owner, Severity};

/// A specialised reviewer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reviewer {
    /// Unique name, in settings, runs and reports.
    pub name: String,
    /// Alternative names.
    pub aliases: Vec<String>,
    /// What it looks at, in one line for people.
    pub lens: String,
    /// Its role in the default team.
    pub role: PanelRole,
    /// Whether it runs on every change with `--depth full`.
    pub in_full: bool,
    /// Triggers. One that fires is enough.
    pub when: Vec<Trigger>,
    /// Further condition, in words. The scout (a model) decides whether it holds. Empty if there is
    /// none.
    pub soft: String,
    /// Strength of its model.
    pub tier: ModelTier,
    /// Usual category of its findings.
    pub category: Category,
    /// Default route of its findings.
    pub route: Route,
    /// Maximum severity of its findings in its own family of categories. crh lowers more severe
    /// ones.
    pub max_severity: Severity,
    /// Maximum number of findings per run.
    pub cap: usize,
    /// Kind of its answer.
    pub returns: Returns,
    /// Extra material that it gets.
    pub given: Vec<ExtraMaterial>,
    /// Facts that it needs. One of them is enough. If none holds, the reviewer never runs. With an
    /// empty list, it needs no fact.
    pub needs: Vec<ChangeFact>,
    /// Prompt.
    pub prompt: String,
    /// Where it comes from.
    pub origin: ReviewerOrigin,
}

/// Role of a built-in reviewer in the default team. Reviewers of the repository always run if their
/// conditions hold.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PanelRole {
    /// Looks for every kind of defect.
    Finder,
    /// Looks for one kind of defect. At most two run in the default team.
    #[default]
    Specialist,
    /// The combined reviewer of tests, documentation, rules and idiom.
    Upkeep,
    /// Reviews a part of what the combined reviewer covers.
    UpkeepPart,
    /// Runs only in the full team or by name.
    Extra,
}

/// Strength of a reviewer's model.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelTier {
    /// The strongest model, for problems that are costly to miss and hard to see.
    Strong,
    /// The default model, enough for a narrow focus.
    #[default]
    Mid,
}

/// Route of findings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Route {
    /// Whether a fix may be applied without asking.
    pub class: AutofixClass,
    /// Who acts next.
    pub owner: Owner,
}

/// Kind of a reviewer's answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Returns {
    /// Findings, which are merged with those of other reviewers.
    #[default]
    Findings,
    /// Notes, which have their own section in the report.
    Notes(NotesSection),
}

/// Report sections with notes of reviewers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NotesSection {
    /// Lessons from earlier problems.
    Learnings,
    /// Features that users have and agents lack.
    AgentNative,
    /// Whether the schema matches the migrations.
    SchemaDrift,
    /// Steps before, during and after the deployment.
    Deployment,
}

/// Extra material for a reviewer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExtraMaterial {
    /// Paths of standards files.
    Standards,
    /// Solutions of earlier problems.
    Solutions,
    /// Comments on the change.
    Comments,
    /// Paths of migrations and schema files.
    Migrations,
}

/// Where a reviewer comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReviewerOrigin {
    /// Built into crh.
    BuiltIn,
    /// A file of the repository.
    Repository(String),
}

/// The file of a reviewer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReviewerFile {
    /// Path from the repository root.
    pub path: String,
    /// Contents.
    pub bytes: Vec<u8>,
}

impl Reviewer {
    /// Why the facts of a change trigger this reviewer. None if they do not.
    pub fn triggered_by(&self, facts: &ChangeFacts) -> Option<String> {
        self.when.iter().find_map(|trigger| trigger.fires(facts))
    }

    /// Whether a name is its name, an alias or the short form of an alias, ignoring case.
    pub fn has_name(&self, name: &str) -> bool {
        let mut names = std::iter::once(&self.name).chain(&self.aliases);
        names.any(|known| {
            known.eq_ignore_ascii_case(name) || short_name(known).eq_ignore_ascii_case(name)
        })
    }
}

/// An alias without its prefix and suffix: `kieran-python` for `ce-kieran-python-reviewer`.
fn short_name(name: &str) -> &str {
    name.strip_prefix("ce-").map_or(name, |short| short.strip_suffix("-reviewer").unwrap_or(short))
}

impl fmt::Display for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} -> {}", self.class, self.owner)
    }
}

impl fmt::Display for ModelTier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

impl fmt::Display for NotesSection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

impl fmt::Display for ReviewerOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BuiltIn => f.write_str("built in"),
            Self::Repository(path) => write!(f, "`{path}`"),
        }
    }
}

#[cfg(test)]
mod tests;
