//! The base and head commits of a change, for tools to read from.

use crh_git::{BareRepository, ChangeHistory, EMPTY_TREE, LogError, Objects, ReadError};

/// Base and head of a change in a repository.
#[derive(Debug)]
pub struct Revisions {
    bare: BareRepository,
    objects: Objects,
    base: String,
    head: String,
}

impl Revisions {
    /// Opens both commits. Fails if one is missing.
    pub fn new(bare: BareRepository, base: &str, head: &str) -> Result<Self, ReadError> {
        let objects = bare.objects()?;
        // Report a missing commit now, not in the middle of a review.
        for commit in [base, head].into_iter().filter(|commit| *commit != EMPTY_TREE) {
            if !objects.has(commit) {
                return Err(ReadError::NoCommit(commit.to_owned()));
            }
        }
        Ok(Self { bare, objects, base: base.to_owned(), head: head.to_owned() })
    }

    /// Resolves `base`, `head`, or seven or more first digits of one of their hashes. No name means
    /// `head`. Returns `None` for anything else.
    pub fn resolve(&self, name: Option<&str>) -> Option<&str> {
        let by_hash = |name: &str| {
            let commits = [&self.head, &self.base].into_iter().map(String::as_str);
            commits.into_iter().find(|commit| name.len() >= 7 && commit.starts_with(name))
        };
        match name {
            None | Some("head" | "HEAD") => Some(&self.head),
            Some("base") => Some(&self.base),
            Some(other) => by_hash(other),
        }
    }

    /// Objects of both commits.
    pub fn objects(&self) -> &Objects {
        &self.objects
    }

    /// Repository of the objects.
    pub fn bare(&self) -> &BareRepository {
        &self.bare
    }

    /// Commits of the change and some before it.
    pub fn history(&self) -> Result<ChangeHistory, LogError> {
        ChangeHistory::load(&self.bare, &self.base, &self.head)
    }
}
