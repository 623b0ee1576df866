//! What fixes stand on: the checkout that was reviewed, if it still is what was reviewed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::journal;
use super::journal::{Locked, MARKER, MARKER_DRAFT, NotApplied, Recovered, UNDISTURBED};
use crate::commands::review::Begun;
use crate::commands::store;
use crate::config::environment::Environment;
use crate::failure::{Failure, Kind, OrFail};
use crh_git::{Bare, ChangedFile, Repository, Snapshot};
use crh_pipeline::fixer::FileEdit;
use crh_pipeline::run_folder::{NotWritten, RunFolder};
use crh_pipeline::target::CheckedOut;
use crh_review::report::AppliedFix;

/// Where a run keeps the commits that issues were found on which a later round has found.
const FOUND_ON: &str = "stages/found-on.json";
/// What the transcripts of fixers are called, before their numbers.
const FIXER: &str = "fixer";
/// Nobody sends that many after one review.
const FIXERS_MAX: u32 = 1_000;
/// Where the journals of a run lie.
pub(super) const FIXES: &str = "fixes";

const ELSEWHERE: &str = "what was reviewed is not the current checkout";
const WITH_MORE: &str =
    "the checkout has changes that are not committed, and its branch was reviewed without them";
const ONLY_A_DIFF: &str = "only a diff was reviewed";
const NOT_KEPT: &str = "nothing is kept of this review, so that a fix could not be taken back";

/// The checkout that was reviewed.
pub(super) struct Ground<'b> {
    pub(super) begun: &'b Begun,
    root: &'b Path,
    run: &'b RunFolder,
    pub(super) bare: &'b Bare,
    /// The commit of the private store that was reviewed.
    pub(super) reviewed: &'b str,
    /// The commits that issues were found on which a later round has found, by their numbers.
    found_on: BTreeMap<u32, String>,
    /// The commit that the checkout is like now: with the fixes of this run that stand in it.
    pub(super) now: String,
    /// The files in which that commit has more than fixes: what somebody had changed in them before.
    edited: BTreeSet<String>,
}

/// What fixes begin with: what the checkout is like, with what somebody has changed since in the files of the fixes.
#[derive(Debug)]
pub(super) struct Start {
    /// All that as a commit of the private store.
    pub(super) commit: String,
    /// The files that were changed.
    pub(super) edited: BTreeSet<String>,
    /// Those that cannot be fixed, and why.
    pub(super) barred: BTreeMap<String, String>,
}

impl<'b> Ground<'b> {
    /// What was reviewed, if that is a checkout; or why nothing can be fixed, in a sentence.
    pub(super) fn of(begun: &'b Begun) -> Result<Self, String> {
        let apart = match begun.checked_out {
            CheckedOut::WithMore => WITH_MORE,
            CheckedOut::AsReviewed | CheckedOut::No => ELSEWHERE,
        };
        let root = begun.checkout.as_deref().ok_or(apart)?;
        let (bare, reviewed) = begun.files.as_ref().ok_or(ONLY_A_DIFF)?;
        let run = begun.place.folder().ok_or(NOT_KEPT)?;
        let standing = journal::standing(&fixes_of(run)).map_err(|why| why.to_string())?;
        let journals = standing.values().map(|(_, journal)| journal);
        let edited = journals.flat_map(|journal| journal.edited.iter().cloned()).collect();
        let last = standing.into_values().next_back().and_then(|(_, journal)| journal.after);
        let now = last.unwrap_or_else(|| reviewed.clone());
        if !bare.has(&now) {
            let lost = "what the checkout is like after the last fix is not in the store any more";
            return Err(lost.to_owned());
        }
        let found_on = found_on(run);
        Ok(Self { begun, root, run, bare, reviewed, found_on, now, edited })
    }

    pub(super) fn run(&self) -> &RunFolder {
        self.run
    }

    /// Which fixer of this run is the next one, from 1.
    pub(super) fn next_fixer(&self) -> u32 {
        let is_new = |number: &u32| {
            let name = format!("transcripts/{FIXER}-{number}.jsonl");
            !self.run.path().join(name).exists()
        };
        (1..=FIXERS_MAX).find(is_new).unwrap_or(FIXERS_MAX)
    }

    /// The commit that an issue was found on.
    pub(super) fn found_on(&self, number: u32) -> &str {
        self.found_on.get(&number).map_or(self.reviewed, String::as_str)
    }

    pub(super) fn fixes(&self) -> PathBuf {
        fixes_of(self.run)
    }

    /// The checkout, if nobody else works on it and nothing in it is half done.
    pub(super) fn locked(&self) -> Result<Locked, String> {
        let locked = Locked::take(self.root).map_err(|why| why.to_string())?;
        recovered(&locked, self.root).map_err(|why| why.to_string())?;
        Ok(locked)
    }

    /// What fixes of these files begin with.
    pub(super) fn start(
        &self,
        checkout: &Locked,
        paths: &BTreeSet<&str>,
    ) -> Result<Start, Failure> {
        let objects = self.bare.objects().or_fail(Kind::Outside)?;
        let (mut edited, mut barred) = (BTreeMap::new(), BTreeMap::new());
        for path in paths {
            let known = objects.file_if_any(&self.now, path.as_bytes());
            let known = known.map_err(|why| why.to_string());
            let working = checkout.bytes(path).map_err(|why| why.to_string());
            match known.and_then(|known| Ok((known, working?))) {
                Err(why) => drop(barred.insert((*path).to_owned(), why)),
                Ok((known, working)) if is_same(working.as_deref(), known.as_deref()) => {}
                Ok((known, working)) => {
                    let kept = working.map(|working| as_kept(working, known.as_deref()));
                    edited.insert((*path).to_owned(), kept);
                }
            }
        }
        let commit = match edited.is_empty() {
            true => self.now.clone(),
            false => {
                let files: Vec<ChangedFile<'_>> =
                    edited.iter().map(|(path, kept)| (path.as_str(), kept.as_deref())).collect();
                self.bare.amended(&self.now, &files).or_fail(Kind::Outside)?
            }
        };
        Ok(Start { commit, edited: edited.into_keys().collect(), barred })
    }

    /// The files that are not as they were reviewed, over all that git knows of, but for what this run has fixed.
    pub(super) fn moved(&self, checkout: &Locked) -> Result<BTreeSet<String>, Failure> {
        let repository = Repository::discover(self.root).or_fail(Kind::Outside)?;
        let store = store::open(&self.begun.settings, &repository)?;
        let snapshot = store.snapshot(Snapshot::Tracked, Some(&self.now));
        let snapshot = snapshot.map_err(store::failed)?;
        store.release().map_err(store::failed)?;
        let mut moved = self.edited.clone();
        let objects = self.bare.objects().or_fail(Kind::Outside)?;
        for path in self.bare.changed_paths(&self.now, &snapshot).or_fail(Kind::Outside)? {
            let path = String::from_utf8_lossy(&path).into_owned();
            // What git does not know here may be there all the same: it was untracked when it was reviewed, or a fix has made it.
            let known = objects.file_if_any(&self.now, path.as_bytes());
            match (known, checkout.bytes(&path)) {
                (Ok(known), Ok(working)) if is_same(working.as_deref(), known.as_deref()) => {}
                (Ok(_) | Err(_), Ok(_) | Err(_)) => drop(moved.insert(path)),
            }
        }
        Ok(moved)
    }

    /// The edits that lead from what a checkout is like to a commit; the files have to be as they are in the first one.
    pub(super) fn edits(
        &self,
        checkout: &Locked,
        (from, to): (&str, &str),
        paths: &BTreeSet<String>,
        fixes: &[AppliedFix],
    ) -> Result<Vec<FileEdit>, String> {
        let objects = self.bare.objects().map_err(|why| why.to_string())?;
        let mut edits = Vec::new();
        for path in paths {
            let at = |commit: &str| objects.file_if_any(commit, path.as_bytes());
            let before = at(from).map_err(|why| why.to_string())?;
            let after = at(to).map_err(|why| why.to_string())?;
            let working = checkout.bytes(path).map_err(|why| why.to_string())?;
            let issues = fixes.iter().filter(|fix| fix.files.contains(path));
            let issues = issues.map(|fix| fix.number).collect();
            let edit = FileEdit { path: path.clone(), before, after, issues };
            edits.push(in_checkout(edit, working)?);
        }
        Ok(edits)
    }
}

/// That a tree is not the one that was reviewed, in a sentence without its period.
pub(super) fn moved_words(moved: &BTreeSet<String>) -> Option<String> {
    let first = moved.first()?;
    let more = match moved.len() - 1 {
        0 => String::new(),
        1 => " and 1 more file".to_owned(),
        more => format!(" and {more} more files"),
    };
    Some(format!(
        "what a fixer does goes only into the tree that was reviewed, and `{first}`{more} changed since: put that away, or review again"
    ))
}

pub(crate) fn fixes_of(run: &RunFolder) -> PathBuf {
    run.path().join(FIXES)
}

/// The commits that issues were found on which a later look has found, by their numbers.
pub(crate) fn found_on(run: &RunFolder) -> BTreeMap<u32, String> {
    run.read(FOUND_ON).unwrap_or_default()
}

/// Keeps that issues were found on a commit.
pub(crate) fn keep_found_on(
    run: &RunFolder,
    numbers: &[u32],
    commit: &str,
) -> Result<(), NotWritten> {
    let mut found_on = found_on(run);
    found_on.extend(numbers.iter().map(|number| (*number, commit.to_owned())));
    run.store_as_it_is(FOUND_ON, &found_on)
}

/// Forgets all of that, for a run whose issues get new numbers.
pub(crate) fn forget_found_on(run: &RunFolder) -> Result<(), NotWritten> {
    let none = BTreeMap::<u32, String>::new();
    match run.read::<BTreeMap<u32, String>>(FOUND_ON) {
        Ok(found_on) if found_on != none => run.store_as_it_is(FOUND_ON, &none),
        Ok(_) | Err(_) => Ok(()),
    }
}

/// Whether a file as it lies there is one that is known. Git may have given it other line ends.
fn is_same(working: Option<&[u8]>, known: Option<&[u8]>) -> bool {
    working == known || working.is_some() && working == known.map(with_crlf).as_deref()
}

/// A file as it lies there with the line ends that git would keep of it.
fn as_kept(working: Vec<u8>, known: Option<&[u8]>) -> Vec<u8> {
    let mut kept = Vec::with_capacity(working.len());
    for line in working.split_inclusive(|byte| *byte == b'\n') {
        match line.strip_suffix(b"\r\n") {
            Some(bare) => kept.extend([bare, b"\n"].concat()),
            None => kept.extend_from_slice(line),
        }
    }
    let is_given = known.is_some_and(|known| !known.contains(&b'\r'));
    if is_given && with_crlf(&kept) == working { kept } else { working }
}

/// An edit of the reviewed file as one of the file as it lies there. Git may have given it other line ends.
fn in_checkout(edit: FileEdit, working: Option<Vec<u8>>) -> Result<FileEdit, String> {
    if working == edit.before {
        return Ok(edit);
    }
    let crlf = |bytes: &Option<Vec<u8>>| bytes.as_deref().map(with_crlf);
    if working.is_some() && working == crlf(&edit.before) {
        let after = crlf(&edit.after);
        return Ok(FileEdit { before: working, after, ..edit });
    }
    Err(NotApplied::Changed { path: edit.path }.to_string())
}

/// A text with the line ends that git gives it on request.
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

/// What was found of an earlier fix in the checkout that the user is in.
pub(crate) enum Recovery {
    /// Nothing that was half done.
    Nothing,
    /// Something, which was rolled back.
    RolledBack(Recovered),
    /// Something that cannot be rolled back, or not now.
    Not(NotApplied),
}

/// Whether an earlier crh was interrupted in the checkout that the user is in.
pub(crate) fn is_interrupted(environment: &Environment) -> bool {
    interrupted(environment).is_some()
}

/// The root of the checkout that the user is in, if an earlier crh was interrupted there.
fn interrupted(environment: &Environment) -> Option<PathBuf> {
    // Whoever needs the repository says what is wrong with it.
    let root = Repository::discover(&environment.folder).ok()?.work_tree?;
    [MARKER, MARKER_DRAFT].iter().any(|name| root.join(name).exists()).then_some(root)
}

/// Rolls back what an earlier crh was interrupted in, if the user is in a checkout.
pub(crate) fn recover(environment: &Environment) -> Recovery {
    let Some(root) = interrupted(environment) else { return Recovery::Nothing };
    let recovered = Locked::take(&root).and_then(|locked| recovered(&locked, &root));
    match recovered {
        Ok(None) => Recovery::Nothing,
        Ok(Some(recovered)) => Recovery::RolledBack(recovered),
        Err(why) => Recovery::Not(why),
    }
}

/// A marker that came with the repository was not written by crh.
fn recovered(locked: &Locked, root: &Path) -> Result<Option<Recovered>, NotApplied> {
    for (path, is_there) in
        [(MARKER, locked.is_between()?), (MARKER_DRAFT, locked.has_draft_of_marker()?)]
    {
        let tracks = |repository: Repository| repository.tracks(path);
        if is_there && !matches!(Repository::discover(root).map(tracks), Ok(Ok(false))) {
            let (path, why) = (path.to_owned(), "is part of this repository".to_owned());
            return Err(NotApplied::Place { path, why });
        }
    }
    locked.recover(UNDISTURBED)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edit(before: &str, after: &str) -> FileEdit {
        let bytes = |text: &str| Some(text.as_bytes().to_vec());
        let (path, issues) = ("a".to_owned(), BTreeSet::from([1]));
        FileEdit { path, before: bytes(before), after: bytes(after), issues }
    }

    #[test]
    fn what_somebody_has_changed_is_kept_with_the_line_ends_of_git() {
        let check = |working: &str, known: &str, expected: &str| {
            let kept = as_kept(working.as_bytes().to_vec(), Some(known.as_bytes()));
            assert_eq!(String::from_utf8(kept).unwrap(), expected, "{working:?}");
        };
        check("a\r\nB\r\n", "a\nb\n", "a\nB\n");
        check("a\r\nB\n", "a\nb\n", "a\r\nB\n");
        check("a\r\nB\r\n", "a\r\nb\r\n", "a\r\nB\r\n");
        check("a\nB", "a\nb", "a\nB");
        assert_eq!(as_kept(b"a\r\n".to_vec(), None), b"a\r\n");
    }

    #[test]
    fn an_edit_fits_a_file_as_it_was_reviewed_whatever_line_ends_git_gave_it() {
        let check = |working: &str, expected: Result<FileEdit, &str>| {
            let found = in_checkout(edit("a\nb\n", "a\nB\n"), Some(working.as_bytes().to_vec()));
            assert_eq!(found, expected.map_err(str::to_owned), "{working:?}");
        };
        check("a\nb\n", Ok(edit("a\nb\n", "a\nB\n")));
        check("a\r\nb\r\n", Ok(edit("a\r\nb\r\n", "a\r\nB\r\n")));
        let changed = Err("`a` is not as it was when it was reviewed");
        check("a\r\nb\n", changed.clone());
        check("a\nb", changed.clone());
        check("", changed);
    }
}
