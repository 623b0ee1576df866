//! Reviewers with a lens, as data: one Markdown file each, with front matter that says when it is asked and what it may say, and
//! the prompt behind it.

mod catalogue;
#[path = "front_matter.rs"]
pub(crate) mod front;
mod own;
mod trigger;

use std::fmt;

pub use catalogue::Catalogue;
pub use own::own_reviewers;
use serde::{Deserialize, Serialize};
pub use trigger::Trigger;

use crate::facts::{Fact, Facts};
use crh_review::finding::{AutofixClass, Category, Owner, Severity};

/// A lens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reviewer {
    /// Names it everywhere: in settings, runs, reports.
    pub name: String,
    /// Other names that are taken for it.
    pub aliases: Vec<String>,
    /// What it looks at, in a line for people.
    pub lens: String,
    /// Whether it runs on every change when the whole panel is asked for.
    pub in_full: bool,
    /// What of a change asks for it: any of these.
    pub when: Vec<Trigger>,
    /// What else asks for it, in words for a model that reads the change; empty if nothing does.
    pub soft: String,
    /// How strong its model is.
    pub tier: Tier,
    /// What its findings mostly are.
    pub category: Category,
    /// Where its findings go unless it says otherwise.
    pub route: Route,
    /// A finding of it that is graded worse is graded down to this.
    pub max_severity: Severity,
    /// The most findings of one run.
    pub cap: usize,
    /// What it gives back.
    pub returns: Returns,
    /// What it is given besides the change.
    pub given: Vec<Given>,
    /// What has to be known of a change for it to have something to look at, whoever asks for it: any of these.
    pub needs: Vec<Fact>,
    /// What it is told.
    pub prompt: String,
    /// Who wrote it.
    pub origin: ReviewerOrigin,
}

/// How strong a model a reviewer asks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tier {
    /// The strongest: for what is costly to miss and hard to see.
    Strong,
    /// The one between: enough for a narrow lens.
    #[default]
    Mid,
}

/// Where findings go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Route {
    /// Whether a fix may be applied without asking.
    pub class: AutofixClass,
    /// Who acts next.
    pub owner: Owner,
}

/// What a reviewer gives back.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Returns {
    /// Findings, which are merged with those of others.
    #[default]
    Findings,
    /// A text, which has a section of its own in the report.
    Notes(Section),
}

/// The sections of a report that hold the texts of reviewers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Section {
    /// What was learned before.
    Learnings,
    /// What users can do and agents cannot.
    AgentNative,
    /// Whether the schema has what the migrations make, and nothing else.
    SchemaDrift,
    /// What to do before, during and after the roll-out.
    Deployment,
}

/// What a reviewer is given besides the change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Given {
    /// Where the standards are that the project wrote down.
    Standards,
    /// Solutions of earlier problems that may have to do with the change.
    Solutions,
    /// What people said about the change.
    Comments,
    /// The migrations of the change, and the schema.
    Migrations,
}

/// Who wrote a reviewer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReviewerOrigin {
    /// It comes with crh.
    BuiltIn,
    /// The repository; the file.
    Repository(String),
}

/// A file of a reviewer, as it was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReviewerFile {
    /// Its path from the root of the repository.
    pub path: String,
    /// What stands in it.
    pub bytes: Vec<u8>,
}

impl Reviewer {
    /// Why the facts of a change ask for it; none if they do not.
    pub fn asked_by(&self, facts: &Facts) -> Option<String> {
        self.when.iter().find_map(|trigger| trigger.fires(facts))
    }

    /// Whether a name is its own or an alias, in any case.
    pub fn is_called(&self, name: &str) -> bool {
        let mut names = std::iter::once(&self.name).chain(&self.aliases);
        names.any(|known| known.eq_ignore_ascii_case(name))
    }
}

impl fmt::Display for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} -> {}", self.class, self.owner)
    }
}

impl fmt::Display for Tier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

impl fmt::Display for Section {
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
