//! All reviewers there are: those that come with crh, in the order in which they are listed everywhere, and the repository's own
//! behind them.

use std::sync::LazyLock;

use super::front::FILE_MAX;
use super::{Returns, Reviewer, ReviewerFile, ReviewerOrigin, front};
use crate::plan::{ORCHESTRATOR, SINGLE, SUB_AGENT, is_static};
use crh_review::identity::content_id;

/// Names of runs that are nobody's lens.
const RUNS: [&str; 5] = ["scout", "requirements", "pairs", SINGLE, ORCHESTRATOR];
/// What the names of runs begin with that are nobody's lens.
const RUNS_BEGIN: [&str; 2] = [SUB_AGENT, "validate"];

/// The files that come with crh, by their names, in the order of the catalogue.
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
];

static BUILT_IN: LazyLock<Catalogue> = LazyLock::new(|| {
    let read =
        |(_, text): &(&str, &str)| front::reviewer(text.as_bytes(), ReviewerOrigin::BuiltIn).ok();
    // A test reads every file, so that none is left out here.
    Catalogue { reviewers: FILES.iter().filter_map(read).collect() }
});

/// Reviewers by their names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Catalogue {
    reviewers: Vec<Reviewer>,
}

impl Catalogue {
    /// Those that come with crh.
    pub fn built_in() -> &'static Self {
        &BUILT_IN
    }

    /// The same with a repository's own behind them by name, and a sentence about each file that cannot be used.
    pub fn with(mut self, files: &[ReviewerFile]) -> (Self, Vec<String>) {
        let mut notes = Vec::new();
        let mut own: Vec<Reviewer> = Vec::new();
        for file in files {
            let read =
                own_reviewer(file).and_then(|reviewer| match taken(&self, &own, &reviewer) {
                    Some(why) => Err(why),
                    None => Ok(reviewer),
                });
            match read {
                Ok(reviewer) => own.push(reviewer),
                Err(why) => notes.push(format!("the reviewer `{}` is not used: {why}", file.path)),
            }
        }
        own.sort_by(|a, b| a.name.cmp(&b.name));
        self.reviewers.extend(own);
        (self, notes)
    }

    /// A reviewer by its name or an alias. What stands before a colon says whose name it is, and does not count.
    pub fn get(&self, name: &str) -> Option<&Reviewer> {
        let name = name.rsplit(':').next().unwrap_or(name).trim();
        self.reviewers.iter().find(|reviewer| reviewer.is_called(name))
    }

    /// Names what all of them are and say together.
    pub fn version(&self) -> String {
        content_id(format!("{:?}", self.reviewers).as_bytes())
    }

    /// All of them, in the order of the catalogue.
    pub fn reviewers(&self) -> &[Reviewer] {
        &self.reviewers
    }
}

/// A reviewer of the repository, which may not do everything that ours may. The error is half a sentence.
fn own_reviewer(file: &ReviewerFile) -> Result<Reviewer, String> {
    if file.bytes.len() as u64 > FILE_MAX {
        let bytes = file.bytes.len();
        return Err(format!("it has {bytes} bytes: make it shorter than {FILE_MAX}"));
    }
    let reviewer = front::reviewer(&file.bytes, ReviewerOrigin::Repository(file.path.clone()))?;
    if reviewer.in_full {
        return Err("`always` is for reviewers that come with crh: say by `when` or `soft` what asks for it".to_owned());
    }
    match reviewer.returns {
        Returns::Findings => Ok(reviewer),
        Returns::Notes(section) => Err(format!(
            "`returns: {section}` is for the reviewer that comes with crh: write `returns: findings`"
        )),
    }
}

/// Why a reviewer cannot have its names, if it cannot.
fn taken(built_in: &Catalogue, own: &[Reviewer], reviewer: &Reviewer) -> Option<String> {
    let names = std::iter::once(&reviewer.name).chain(&reviewer.aliases);
    names.into_iter().find_map(|name| {
        let is_run = RUNS.contains(&name.as_str())
            || RUNS_BEGIN.iter().any(|start| name.starts_with(start))
            || is_static(name);
        let by = built_in.reviewers.iter().chain(own).find(|it| it.is_called(name));
        match by {
            Some(by) => Some(format!(
                "`{name}` is the name of a reviewer already ({}): give it another one",
                by.origin
            )),
            None if is_run => {
                Some(format!("`{name}` is what crh calls something else: give it another name"))
            }
            None if !front::is_name(name) => {
                Some(format!("`{name}` is no name: use small letters, digits and hyphens"))
            }
            None => None,
        }
    })
}
