//! The two pinned ends of a change, as the tools read them.

use crh_git::{Bare, EMPTY_TREE, History, LogError, Objects, ReadError};

/// The base and the head of a change in a repository.
#[derive(Debug)]
pub struct Revisions {
    bare: Bare,
    objects: Objects,
    base: String,
    head: String,
}

impl Revisions {
    /// The ends of a change whose objects are all in one place.
    pub fn new(bare: Bare, base: &str, head: &str) -> Result<Self, ReadError> {
        let objects = bare.objects()?;
        // What is not there is found out now, not in the middle of a review.
        for end in [base, head].into_iter().filter(|end| *end != EMPTY_TREE) {
            if !objects.has(end) {
                return Err(ReadError::NoCommit(end.to_owned()));
            }
        }
        Ok(Self { bare, objects, base: base.to_owned(), head: head.to_owned() })
    }

    /// The commit that a name stands for: `base`, `head`, or the beginning of the one or the other's hash.
    /// None for anything else: nothing else is pinned.
    pub fn named(&self, name: Option<&str>) -> Option<&str> {
        let by_hash = |name: &str| {
            let ends = [&self.head, &self.base].into_iter().map(String::as_str);
            ends.into_iter().find(|end| name.len() >= 7 && end.starts_with(name))
        };
        match name {
            None | Some("head" | "HEAD") => Some(&self.head),
            Some("base") => Some(&self.base),
            Some(other) => by_hash(other),
        }
    }

    /// The objects of both.
    pub fn objects(&self) -> &Objects {
        &self.objects
    }

    /// The repository they are in.
    pub fn bare(&self) -> &Bare {
        &self.bare
    }

    /// The commits around the change.
    pub fn history(&self) -> Result<History, LogError> {
        History::of(&self.bare, &self.base, &self.head)
    }
}
