//! The diffs that issues were found in: the reviewed one, and those of repeated reviews after
//! fixes. Credentials are hidden in all of them.

use std::collections::BTreeMap;

use crate::commands::review::ReviewSession;
use crate::fix;
use crh_git::BareRepository;
use crh_pipeline::change_secrets::ChangeSecrets;
use crh_review::diff::Diff;

pub(super) struct Diffs {
    reviewed: Diff,
    /// Commits that later issues were found on, by issue number.
    found_on: BTreeMap<u32, String>,
    /// Diffs of these commits.
    later: BTreeMap<String, Diff>,
}

impl Diffs {
    /// Reads the diffs of a review and of its rounds.
    pub(super) fn load(session: &ReviewSession) -> Self {
        let found_on = session.place.folder().map(fix::found_on).unwrap_or_default();
        let base = &session.subject.report_change.base_sha;
        let later = found_on.values().filter_map(|commit| {
            let (bare, _) = session.files.as_ref()?;
            Some((commit.clone(), hidden(&diff(bare, base, commit)?)))
        });
        Self { later: later.collect(), found_on, ..Self::only(&session.subject.diff) }
    }

    /// The diff of a review without rounds.
    pub(super) fn only(reviewed: &Diff) -> Self {
        let (found_on, later) = (BTreeMap::new(), BTreeMap::new());
        Self { reviewed: hidden(reviewed), found_on, later }
    }

    /// The diff that an issue was found in. `None` if it cannot be read any more; line numbers of
    /// another diff would not match.
    pub(super) fn of_issue(&self, number: u32) -> Option<&Diff> {
        match self.found_on.get(&number) {
            None => Some(&self.reviewed),
            Some(commit) => self.later.get(commit),
        }
    }
}

fn diff(bare: &BareRepository, base: &str, commit: &str) -> Option<Diff> {
    bare.diff(base, commit).ok().map(Diff::read)
}

fn hidden(diff: &Diff) -> Diff {
    ChangeSecrets::from_diff(diff).mask_diff(diff)
}
