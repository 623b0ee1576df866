//! The diffs that issues were found in: that of the review, and those of the looks at what was fixed. None has a secret in it.

use std::collections::BTreeMap;

use crate::commands::review::Begun;
use crate::fix;
use crh_git::Bare;
use crh_pipeline::credentials::Credentials;
use crh_review::diff::Diff;

/// The diffs that the issues of a report were found in.
pub(super) struct Diffs {
    reviewed: Diff,
    /// The commits that issues were found on which a later look has found, by their numbers.
    found_on: BTreeMap<u32, String>,
    /// The diffs of those commits.
    later: BTreeMap<String, Diff>,
}

impl Diffs {
    /// Those of a review as it is now.
    pub(super) fn of(begun: &Begun) -> Self {
        let found_on = begun.place.folder().map(fix::found_on).unwrap_or_default();
        let base = &begun.subject.change.base_sha;
        let later = found_on.values().filter_map(|commit| {
            let (bare, _) = begun.files.as_ref()?;
            Some((commit.clone(), hidden(&diff(bare, base, commit)?)))
        });
        Self { later: later.collect(), found_on, ..Self::only(&begun.subject.diff) }
    }

    /// The diff of a review that has not looked again.
    pub(super) fn only(reviewed: &Diff) -> Self {
        let (found_on, later) = (BTreeMap::new(), BTreeMap::new());
        Self { reviewed: hidden(reviewed), found_on, later }
    }

    /// The one that an issue was found in; none if that cannot be read any more. Another one has other lines in its place.
    pub(super) fn of_issue(&self, number: u32) -> Option<&Diff> {
        match self.found_on.get(&number) {
            None => Some(&self.reviewed),
            Some(commit) => self.later.get(commit),
        }
    }
}

fn diff(bare: &Bare, base: &str, commit: &str) -> Option<Diff> {
    bare.diff(base, commit).ok().map(Diff::read)
}

fn hidden(diff: &Diff) -> Diff {
    Credentials::of(diff).hidden_in(diff)
}
