//! The reviewed checkout, and whether its files changed since the review.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::path::{Path, PathBuf};

use super::found_on::{REVIEWED, found_on};
use super::interrupted_fix::recovered;
use super::journal::{ApplyError, LockedCheckout};
use super::outcome::SkippedIssue;
use super::{journal, tree};
use crate::commands::review::session::ReviewSession;
use crate::commands::store;
use crate::failure::{Failure, FailureKind, OrFail};
use crh_git::{AmendedFile, BareRepository, Repository, SnapshotScope};
use crh_pipeline::fixer::FileEdit;
use crh_pipeline::resolve::CheckoutMatch;
use crh_pipeline::run_folder::RunFolder;
use crh_review::diff::Diff;
use crh_review::report::{AppliedFix, Issue, Report};

/// Prefix of fixer transcripts.
const FIXER: &str = "fixer";
/// Maximum number of fixer runs per review.
const FIXERS_MAX: u32 = 1_000;
/// Folder of the journals in a run folder.
pub(super) const FIXES: &str = "fixes";

/// Why no issue of a review can be fixed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum FixObstacle {
    #[error("the reviewed change is not the current checkout")]
    NotCheckedOut,
    #[error("the checkout has uncommitted changes, and its branch was reviewed without them")]
    UnreviewedChanges,
    #[error("only a diff was reviewed")]
    OnlyADiff,
    #[error("this review is not stored, so crh could not undo the fixes")]
    NotStored,
    #[error("the stored state after the last fix is missing")]
    LostState,
    #[error("{0}")]
    Unsupported(&'static str),
    #[error("{0}")]
    Journal(String),
}

pub(super) struct ReviewedCheckout<'b> {
    pub(super) session: &'b ReviewSession,
    root: &'b Path,
    run: &'b RunFolder,
    pub(super) bare: &'b BareRepository,
    /// The reviewed commit in the private store.
    pub(super) reviewed: &'b str,
    /// Commits that issues of later rounds were found on, by issue number.
    found_on: BTreeMap<u32, String>,
    /// Commit with the reviewed tree and the applied fixes of this run.
    pub(super) now: String,
    /// Files in which `now` also contains edits of the user.
    edited: BTreeSet<String>,
}

/// Starting point of a fix pass: the checkout with the user's edits in the files to fix.
#[derive(Debug)]
pub(super) struct FixStart {
    /// This state as a commit of the private store.
    pub(super) commit: String,
    /// Files that the user has edited.
    pub(super) edited: BTreeSet<String>,
    /// Files that cannot be fixed, with the reason.
    pub(super) barred: BTreeMap<String, FixWriteFailure>,
}

/// Why crh cannot write a fix.
#[derive(Debug)]
pub(super) struct FixWriteFailure {
    /// The reason, without a period.
    pub(super) why: String,
    /// The path that crh may not write, so that the same fix would fail again.
    refused_path: Option<String>,
}

impl FixWriteFailure {
    fn new(why: impl Display) -> Self {
        Self { why: why.to_string(), refused_path: None }
    }

    /// Whether crh may not write one of these files.
    pub(super) fn refuses(&self, files: &[String]) -> bool {
        self.refused_path.as_ref().is_some_and(|path| files.contains(path))
    }

    /// The issue as skipped, if this failure is about its file.
    pub(super) fn skipped(&self, number: u32) -> SkippedIssue {
        match self.refused_path {
            Some(_) => SkippedIssue::rejected(number, &self.why),
            None => SkippedIssue::new(number, &self.why),
        }
    }
}

impl From<ApplyError> for FixWriteFailure {
    fn from(error: ApplyError) -> Self {
        let why = error.to_string();
        match error {
            ApplyError::Place { path, .. } => Self { why, refused_path: Some(path) },
            ApplyError::Busy
            | ApplyError::Changed { .. }
            | ApplyError::Edited { .. }
            | ApplyError::Between { .. }
            | ApplyError::Elsewhere { .. }
            | ApplyError::Io { .. }
            | ApplyError::Stuck { .. }
            | ApplyError::Lost { .. }
            | ApplyError::Unread { .. } => Self { why, refused_path: None },
        }
    }
}

impl<'b> ReviewedCheckout<'b> {
    /// Opens the reviewed checkout.
    pub(super) fn open(session: &'b ReviewSession) -> Result<Self, FixObstacle> {
        if let Some(refusal) = tree::refusal() {
            return Err(FixObstacle::Unsupported(refusal));
        }
        let no_checkout = match session.checked_out {
            CheckoutMatch::WithUnreviewedChanges => FixObstacle::UnreviewedChanges,
            CheckoutMatch::AsReviewed | CheckoutMatch::Different => FixObstacle::NotCheckedOut,
        };
        let root = session.checkout.as_deref().ok_or(no_checkout)?;
        let (bare, reviewed) = session.files.as_ref().ok_or(FixObstacle::OnlyADiff)?;
        let run = session.place.folder().ok_or(FixObstacle::NotStored)?;
        let applied_fixes = journal::applied_fixes(&fixes_of(run))
            .map_err(|why| FixObstacle::Journal(why.to_string()))?;
        let journals = applied_fixes.values().map(|(_, journal)| journal);
        let edited = journals.flat_map(|journal| journal.edited.iter().cloned()).collect();
        let last = applied_fixes.into_values().next_back().and_then(|(_, journal)| journal.after);
        let now = last.unwrap_or_else(|| reviewed.clone());
        if !bare.has(&now) {
            return Err(FixObstacle::LostState);
        }
        let found_on = found_on(run);
        Ok(Self { session, root, run, bare, reviewed, found_on, now, edited })
    }

    pub(super) fn run(&self) -> &RunFolder {
        self.run
    }

    pub(super) fn root(&self) -> &Path {
        self.root
    }

    /// Number of the next fixer run, from 1.
    pub(super) fn next_fixer(&self) -> u32 {
        let is_new = |number: &u32| {
            let name = format!("transcripts/{FIXER}-{number}.jsonl");
            !self.run.path().join(name).exists()
        };
        (1..=FIXERS_MAX).find(is_new).unwrap_or(FIXERS_MAX)
    }

    /// Takes the issues that have their reviewed places and quotes again. A dry run does not store
    /// which ones.
    pub(super) fn take_restored_issues(&mut self, report: &Report) {
        let Ok(reviewed) = self.run.read::<Report>(REVIEWED) else { return };
        let is_restored = |number: u32| {
            let issues = report.issue(number).zip(reviewed.issue(number));
            issues.is_some_and(|(issue, first)| {
                (&issue.location, &issue.evidence) == (&first.location, &first.evidence)
            })
        };
        self.found_on.retain(|number, _| !is_restored(*number));
    }

    pub(super) fn found_on(&self, number: u32) -> &str {
        self.found_on.get(&number).map_or(self.reviewed, String::as_str)
    }

    /// The diffs to a commit with fixes, by the commits that these issues were found on.
    pub(super) fn diffs_to(
        &self,
        issues: &[&Issue],
        commit: &str,
    ) -> Result<BTreeMap<&str, Diff>, Failure> {
        let mut diffs = BTreeMap::new();
        for issue in issues {
            if let Entry::Vacant(entry) = diffs.entry(self.found_on(issue.number)) {
                let diff = self.bare.diff(entry.key(), commit).or_fail(FailureKind::External)?;
                entry.insert(Diff::read(diff));
            }
        }
        Ok(diffs)
    }

    pub(super) fn fixes(&self) -> PathBuf {
        fixes_of(self.run)
    }

    /// Locks the checkout and rolls back an interrupted fix.
    pub(super) fn locked(&self) -> Result<LockedCheckout, String> {
        let locked =
            LockedCheckout::take(self.root, self.run.stamp_key()).map_err(|why| why.to_string())?;
        recovered(&locked, self.root).map_err(|why| why.to_string())?;
        Ok(locked)
    }

    /// Takes the files that are as they were reviewed, although a fix of this run changed them: the
    /// user has reverted the fix.
    pub(super) fn take_reverted_files(&mut self, checkout: &LockedCheckout) -> Result<(), Failure> {
        let objects = self.bare.objects().or_fail(FailureKind::External)?;
        let mut reverted = BTreeMap::new();
        for path in
            self.bare.changed_paths(self.reviewed, &self.now).or_fail(FailureKind::External)?
        {
            let path = String::from_utf8_lossy(&path).into_owned();
            let known = |commit: &str| objects.file_if_any(commit, path.as_bytes());
            // crh cannot fix a file that it cannot read.
            if let (Ok(reviewed), Ok(fixed), Ok(working)) =
                (known(self.reviewed), known(&self.now), checkout.bytes(&path))
                && is_same(working.as_deref(), reviewed.as_deref())
                && !is_same(working.as_deref(), fixed.as_deref())
            {
                reverted.insert(path, reviewed);
            }
        }
        if !reverted.is_empty() {
            let files: Vec<AmendedFile<'_>> =
                reverted.iter().map(|(path, bytes)| (path.as_str(), bytes.as_deref())).collect();
            self.now =
                self.bare.commit_with_changes(&self.now, &files).or_fail(FailureKind::External)?;
            self.edited.retain(|path| !reverted.contains_key(path));
        }
        Ok(())
    }

    /// The starting point for fixes of these files.
    pub(super) fn start(
        &self,
        checkout: &LockedCheckout,
        paths: &BTreeSet<&str>,
    ) -> Result<FixStart, Failure> {
        let objects = self.bare.objects().or_fail(FailureKind::External)?;
        let (mut edited, mut barred) = (BTreeMap::new(), BTreeMap::new());
        for path in paths {
            let known = objects.file_if_any(&self.now, path.as_bytes());
            let known = known.map_err(FixWriteFailure::new);
            let working = checkout.bytes(path).map_err(FixWriteFailure::from);
            match known.and_then(|known| Ok((known, working?))) {
                Err(failure) => drop(barred.insert((*path).to_owned(), failure)),
                Ok((known, working)) if is_same(working.as_deref(), known.as_deref()) => {}
                Ok((known, working)) => {
                    let kept =
                        working.map(|working| with_stored_line_endings(working, known.as_deref()));
                    edited.insert((*path).to_owned(), kept);
                }
            }
        }
        let commit = match edited.is_empty() {
            true => self.now.clone(),
            false => {
                let files: Vec<AmendedFile<'_>> =
                    edited.iter().map(|(path, kept)| (path.as_str(), kept.as_deref())).collect();
                self.bare.commit_with_changes(&self.now, &files).or_fail(FailureKind::External)?
            }
        };
        Ok(FixStart { commit, edited: edited.into_keys().collect(), barred })
    }

    /// Tracked files that differ from the reviewed state, apart from fixes of this run.
    pub(super) fn edited_since_review(
        &self,
        checkout: &LockedCheckout,
    ) -> Result<BTreeSet<String>, Failure> {
        let repository = Repository::discover(self.root).or_fail(FailureKind::External)?;
        let store = store::open(&self.session.settings, &repository)?;
        let snapshot = store.snapshot(SnapshotScope::Tracked, Some(&self.now));
        let snapshot = snapshot.map_err(store::store_failure)?;
        store.release().map_err(store::store_failure)?;
        let mut moved = self.edited.clone();
        let objects = self.bare.objects().or_fail(FailureKind::External)?;
        for path in self.bare.changed_paths(&self.now, &snapshot).or_fail(FailureKind::External)? {
            let path = String::from_utf8_lossy(&path).into_owned();
            // A file may exist although git does not track it: because it was untracked at the time
            // of the review, or because a fix created it.
            let known = objects.file_if_any(&self.now, path.as_bytes());
            match (known, checkout.bytes(&path)) {
                (Ok(known), Ok(working)) if is_same(working.as_deref(), known.as_deref()) => {}
                (Ok(_) | Err(_), Ok(_) | Err(_)) => drop(moved.insert(path)),
            }
        }
        Ok(moved)
    }

    /// The edits between two commits. The files of the checkout must match the first one.
    pub(super) fn edits(
        &self,
        checkout: &LockedCheckout,
        (from, to): (&str, &str),
        paths: &BTreeSet<String>,
        fixes: &[AppliedFix],
    ) -> Result<Vec<FileEdit>, FixWriteFailure> {
        let objects = self.bare.objects().map_err(FixWriteFailure::new)?;
        let mut edits = Vec::new();
        for path in paths {
            let at = |commit: &str| objects.file_if_any(commit, path.as_bytes());
            let before = at(from).map_err(FixWriteFailure::new)?;
            let after = at(to).map_err(FixWriteFailure::new)?;
            let working = checkout.bytes(path)?;
            let issues = fixes.iter().filter(|fix| fix.files.contains(path));
            let issues = issues.map(|fix| fix.number).collect();
            let edit = FileEdit { path: path.clone(), before, after, issues };
            edits.push(adapt_line_endings(edit, working).map_err(FixWriteFailure::new)?);
        }
        Ok(edits)
    }
}

/// Why fixer work cannot be applied, without a period. `None` if no file changed.
pub(super) fn reason_if_edited(moved: &BTreeSet<String>) -> Option<String> {
    let first = moved.first()?;
    let more = match moved.len() - 1 {
        0 => String::new(),
        1 => " and 1 more file".to_owned(),
        more => format!(" and {more} more files"),
    };
    Some(format!(
        "the fixer needs the reviewed files, but `{first}`{more} changed since; undo these edits or review again"
    ))
}

pub(crate) fn fixes_of(run: &RunFolder) -> PathBuf {
    run.path().join(FIXES)
}

/// Compares a file of the checkout with a stored one. Git may have converted its line endings.
pub(super) fn is_same(working: Option<&[u8]>, known: Option<&[u8]>) -> bool {
    working == known || working.is_some() && working == known.map(with_crlf).as_deref()
}

/// A file of the checkout with the line endings that git would store.
fn with_stored_line_endings(working: Vec<u8>, known: Option<&[u8]>) -> Vec<u8> {
    let mut kept = Vec::with_capacity(working.len());
    for line in working.split_inclusive(|byte| *byte == b'\n') {
        match line.strip_suffix(b"\r\n") {
            Some(bare) => kept.extend([bare, b"\n"].concat()),
            None => kept.extend_from_slice(line),
        }
    }
    let is_lf_only = known.is_some_and(|known| !known.contains(&b'\r'));
    if is_lf_only && with_crlf(&kept) == working { kept } else { working }
}

/// Adapts an edit of the reviewed file to the checkout, where git may have converted line endings.
fn adapt_line_endings(edit: FileEdit, working: Option<Vec<u8>>) -> Result<FileEdit, String> {
    if working == edit.before {
        return Ok(edit);
    }
    let crlf = |bytes: &Option<Vec<u8>>| bytes.as_deref().map(with_crlf);
    if working.is_some() && working == crlf(&edit.before) {
        let after = crlf(&edit.after);
        return Ok(FileEdit { before: working, after, ..edit });
    }
    Err(ApplyError::Changed { path: edit.path }.to_string())
}

/// Converts line endings to CRLF.
pub(crate) fn with_crlf(bytes: &[u8]) -> Vec<u8> {
    let mut with = Vec::with_capacity(bytes.len());
    let mut last = 0;
    for byte in bytes {
        if *byte == b'\n' && last != b'\r' {
            with.push(b'\r');
        }
        with.push(*byte);
        last = *byte;
    }
    with
}

#[cfg(test)]
mod tests {
    use super::super::journal::MARKER;
    use super::*;

    #[test]
    fn only_issues_with_the_refused_path_are_rejected() {
        let files = ["a.py", "b.py"].map(str::to_owned);
        let check = |error: ApplyError, expected: [bool; 2]| {
            let failure = FixWriteFailure::from(error);
            let found = [0, 1].map(|at: usize| failure.refuses(&files[at..=at]));
            assert_eq!(found, expected, "{failure:?}");
        };
        let place = |path: &str| ApplyError::Place {
            path: path.to_owned(),
            why: "cannot be changed".to_owned(),
        };
        check(place("b.py"), [false, true]);
        // Another process is fixing the checkout, or the user has edited the file. The same fix may
        // be possible later.
        check(place(MARKER), [false, false]);
        check(ApplyError::Changed { path: "a.py".to_owned() }, [false, false]);
    }

    fn edit(before: &str, after: &str) -> FileEdit {
        let bytes = |text: &str| Some(text.as_bytes().to_vec());
        let (path, issues) = ("a".to_owned(), BTreeSet::from([1]));
        FileEdit { path, before: bytes(before), after: bytes(after), issues }
    }

    #[test]
    fn user_edits_keep_the_line_endings_of_git() {
        let check = |working: &str, known: &str, expected: &str| {
            let kept =
                with_stored_line_endings(working.as_bytes().to_vec(), Some(known.as_bytes()));
            assert_eq!(String::from_utf8(kept).unwrap(), expected, "{working:?}");
        };
        check("a\r\nB\r\n", "a\nb\n", "a\nB\n");
        check("a\r\nB\n", "a\nb\n", "a\r\nB\n");
        check("a\r\nB\r\n", "a\r\nb\r\n", "a\r\nB\r\n");
        check("a\nB", "a\nb", "a\nB");
        assert_eq!(with_stored_line_endings(b"a\r\n".to_vec(), None), b"a\r\n");
    }

    #[test]
    fn edit_applies_to_converted_line_endings() {
        let check = |working: &str, expected: Result<FileEdit, &str>| {
            let found =
                adapt_line_endings(edit("a\nb\n", "a\nB\n"), Some(working.as_bytes().to_vec()));
            assert_eq!(found, expected.map_err(str::to_owned), "{working:?}");
        };
        check("a\nb\n", Ok(edit("a\nb\n", "a\nB\n")));
        check("a\r\nb\r\n", Ok(edit("a\r\nb\r\n", "a\r\nB\r\n")));
        let changed = Err("`a` changed since the review");
        check("a\r\nb\n", changed.clone());
        check("a\nb", changed.clone());
        check("", changed);
    }
}
