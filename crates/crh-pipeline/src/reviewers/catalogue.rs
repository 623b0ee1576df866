//! The catalogue of reviewers: built-in ones in their fixed order, then the repository's own.

use std::sync::LazyLock;

use super::reviewer_file::FILE_MAX;
use super::{PanelRole, Returns, Reviewer, ReviewerFile, ReviewerOrigin, reviewer_file};
use crate::assignment::{ORCHESTRATOR, SINGLE, SUB_AGENT, is_static};
use crate::edit::EDITOR;
use crh_review::identity::content_id;

/// Names that crh uses for its own runs, so no reviewer may have them.
const RESERVED_NAMES: [&str; 5] = ["scout", "requirements", EDITOR, SINGLE, ORCHESTRATOR];
/// Prefixes of names that crh uses for its own runs.
const RESERVED_PREFIXES: [&str; 2] = [SUB_AGENT, "validate"];

/// Embeds the built-in reviewer files, in catalogue order.
macro_rules! files {
    ($($name:literal),* $(,)?) => {
        [$(($name, include_str!(concat!("../../reviewers/", $name, ".md")))),*]
    };
}

pub(super) const FILES: &[(&str, &str)] = &files![
    "correctness",
    "testing",
    "maintainability",
    "project-standards",
    "agent-native",
    "learnings",
    "security",
    "performance",
    "api-contract",
    "data-migrations",
    "reliability",
    "adversarial",
    "cli-readiness",
    "previous-comments",
    "rails-way",
    "rails-clarity",
    "python",
    "typescript",
    "frontend-races",
    "schema-drift",
    "deployment",
    "concurrency",
    "docs-that-lie",
    "upkeep",
];

static BUILT_IN: LazyLock<ReviewerCatalogue> = LazyLock::new(|| {
    let parse = |(_, text): &(&str, &str)| {
        reviewer_file::parse_reviewer(text.as_bytes(), ReviewerOrigin::BuiltIn).ok()
    };
    // A test checks that every file parses.
    ReviewerCatalogue { reviewers: FILES.iter().filter_map(parse).collect() }
});

/// All reviewers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReviewerCatalogue {
    reviewers: Vec<Reviewer>,
}

impl ReviewerCatalogue {
    /// The built-in reviewers.
    pub fn built_in() -> &'static Self {
        &BUILT_IN
    }

    /// Adds the repository's own reviewers, sorted by name. Returns a note on each file that cannot
    /// be used.
    pub fn with_own_reviewers(mut self, files: &[ReviewerFile]) -> (Self, Vec<String>) {
        let mut notes = Vec::new();
        let mut own: Vec<Reviewer> = Vec::new();
        for file in files {
            let parsed = parse_own_reviewer(file).and_then(|reviewer| {
                match name_conflict(&self, &own, &reviewer) {
                    Some(why) => Err(why),
                    None => Ok(reviewer),
                }
            });
            match parsed {
                Ok(reviewer) => own.push(reviewer),
                Err(why) => notes.push(format!("the reviewer `{}` is not used: {why}", file.path)),
            }
        }
        own.sort_by(|a, b| a.name.cmp(&b.name));
        self.reviewers.extend(own);
        (self, notes)
    }

    /// A reviewer by name or alias. A prefix up to a colon is ignored.
    pub fn get(&self, name: &str) -> Option<&Reviewer> {
        let name = name.rsplit(':').next().unwrap_or(name).trim();
        self.reviewers.iter().find(|reviewer| reviewer.has_name(name))
    }

    /// Hash of all reviewers. It uses their `Debug` output, so renaming a struct or field of
    /// [`Reviewer`] changes `prompt_version`.
    pub fn version(&self) -> String {
        content_id(format!("{:?}", self.reviewers).as_bytes())
    }

    /// All reviewers, in catalogue order.
    pub fn reviewers(&self) -> &[Reviewer] {
        &self.reviewers
    }
}

/// Parses a reviewer of the repository, which may use fewer keys than built-in ones. The error
/// completes the sentence "the reviewer `FILE` is not used: …".
fn parse_own_reviewer(file: &ReviewerFile) -> Result<Reviewer, String> {
    if file.bytes.len() as u64 > FILE_MAX {
        let bytes = file.bytes.len();
        return Err(format!("it has {bytes} bytes: make it shorter than {FILE_MAX}"));
    }
    let reviewer =
        reviewer_file::parse_reviewer(&file.bytes, ReviewerOrigin::Repository(file.path.clone()))?;
    if reviewer.in_full {
        return Err("`always` is reserved for built-in reviewers: use `when` or `soft`".to_owned());
    }
    if reviewer.role != PanelRole::default() {
        return Err("`role` is reserved for built-in reviewers: leave it out".to_owned());
    }
    match reviewer.returns {
        Returns::Findings => Ok(reviewer),
        Returns::Notes(section) => Err(format!(
            "`returns: {section}` is reserved for the built-in reviewer: write `returns: findings`"
        )),
    }
}

/// Why a name or alias of the reviewer cannot be used.
fn name_conflict(
    built_in: &ReviewerCatalogue,
    own: &[Reviewer],
    reviewer: &Reviewer,
) -> Option<String> {
    let names = std::iter::once(&reviewer.name).chain(&reviewer.aliases);
    names.into_iter().find_map(|name| {
        let is_reserved = RESERVED_NAMES.contains(&name.as_str())
            || RESERVED_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
            || is_static(name);
        let namesake = built_in.reviewers.iter().chain(own).find(|other| other.has_name(name));
        match namesake {
            Some(other) => Some(format!(
                "the name `{name}` is taken by another reviewer ({}): choose another one",
                other.origin
            )),
            None if is_reserved => {
                Some(format!("the name `{name}` is reserved: choose another one"))
            }
            None if !reviewer_file::is_name(name) => Some(format!(
                "`{name}` is not a valid name: use lower-case letters, digits and hyphens"
            )),
            None => None,
        }
    })
}
