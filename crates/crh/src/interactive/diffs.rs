//! The diffs in which crh found issues: the reviewed diff, the diffs of repeated reviews after
//! fixes, and the diff of the fixed tree. crh masks the credentials in all diffs that it shows.

use std::collections::BTreeMap;

use crate::commands::review::session::ReviewSession;
use crate::fix;
use crate::fix::{AppliedFixes, found_on};
use crh_git::BareRepository;
use crh_pipeline::change_secrets::ChangeSecrets;
use crh_review::diff::Diff;
use crh_review::finding::Side;
use crh_review::report::Issue;

pub(super) struct Diffs {
    reviewed: Diff,
    /// Commits that later issues were found on, by issue number.
    found_on: BTreeMap<u32, String>,
    /// Diffs of these commits.
    later: BTreeMap<String, Diff>,
    /// Diff of the tree with the fixes, and the difference to the reviewed code.
    fixed: Option<(Diff, Diff)>,
}

impl Diffs {
    /// Reads the diffs of a review and of the repeated reviews of its fixes.
    pub(super) fn load(session: &ReviewSession) -> Self {
        let found_on = session.place.folder().map(found_on::found_on).unwrap_or_default();
        let base = &session.subject.report_change.base_sha;
        let later = found_on.values().filter_map(|commit| {
            let (bare, _) = session.files.as_ref()?;
            Some((commit.clone(), masked(&diff(bare, base, commit)?)))
        });
        let fixed = session.files.as_ref().and_then(|(bare, reviewed)| {
            let applied = AppliedFixes::load(session.place.folder()?).ok()?;
            let now = applied.commit()?;
            Some((masked(&diff(bare, base, now)?), diff(bare, reviewed, now)?))
        });
        Self { later: later.collect(), found_on, fixed, ..Self::only(&session.subject.diff) }
    }

    /// The diff of a review without fixes.
    pub(super) fn only(reviewed: &Diff) -> Self {
        let (found_on, later) = (BTreeMap::new(), BTreeMap::new());
        Self { reviewed: masked(reviewed), found_on, later, fixed: None }
    }

    /// The diff of the tree with the fixes.
    pub(super) fn tree(&self) -> Option<&Diff> {
        self.fixed.as_ref().map(|(tree, _)| tree)
    }

    /// An issue of the reviewed code at its place in the fixed tree. `None` without fixes, for an
    /// issue that a repeated review found, and for one about removed lines.
    pub(super) fn in_tree(&self, issue: &Issue) -> Option<Issue> {
        let (_, since) = self.fixed.as_ref()?;
        if self.found_on.contains_key(&issue.number) || issue.location.side == Side::Old {
            return None;
        }
        let mut moved = issue.clone();
        let (start, end) = (issue.location.line_start, issue.location.line_end);
        (moved.location.line_start, moved.location.line_end) =
            fix::lines_after(since, &issue.location.file, (start, end));
        // The quotes are of the reviewed code.
        moved.evidence.clear();
        Some(moved)
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

fn masked(diff: &Diff) -> Diff {
    ChangeSecrets::from_diff(diff).mask_diff(diff)
}
