//! What fixes stand on: the checkout that was reviewed, if it still is what was reviewed.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::path::Path;
use std::path::PathBuf;

use crh_git::Bare;
use crh_git::EMPTY_TREE;
use crh_git::OpenError;
use crh_git::Repository;
use crh_pipeline::fixer::FileEdit;
use crh_pipeline::run_folder::NotWritten;
use crh_pipeline::run_folder::RunFolder;
use crh_review::report::AppliedFix;

use super::journal;
use super::journal::Locked;
use super::journal::MARKER;
use super::journal::NotApplied;
use super::journal::Recovered;
use super::journal::UNDISTURBED;
use crate::commands::review::Begun;
use crate::config::environment::Environment;

/// Where a run keeps the commits that issues were found on which a later round has found.
const FOUND_ON: &str = "stages/found-on.json";
/// What the transcripts of fixers are called, before their numbers.
const FIXER: &str = "fixer";
/// Nobody sends that many after one review.
const FIXERS_MAX: u32 = 1_000;
/// Where the journals of a run lie.
const FIXES: &str = "fixes";

const ELSEWHERE: &str = "what was reviewed is not the current checkout";
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
}

impl<'b> Ground<'b> {
    /// What was reviewed, if that is a checkout; or why nothing can be fixed, in a sentence.
    pub(super) fn of(begun: &'b Begun) -> Result<Self, String> {
        let root = begun.checkout.as_deref().ok_or(ELSEWHERE)?;
        let (bare, reviewed) = begun.files.as_ref().ok_or(ONLY_A_DIFF)?;
        let run = begun.place.folder().ok_or(NOT_KEPT)?;
        let standing = journal::standing(&fixes_of(run)).map_err(|why| why.to_string())?;
        let last = standing.into_values().next_back().and_then(|(_, journal)| journal.after);
        let now = last.unwrap_or_else(|| reviewed.clone());
        if !bare.has(&now) {
            let lost = "what the checkout is like after the last fix is not in the store any more";
            return Err(lost.to_owned());
        }
        let found_on = run.read(FOUND_ON).unwrap_or_default();
        Ok(Self { begun, root, run, bare, reviewed, found_on, now })
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

    /// The checkout, if nobody else works on it, nothing in it is half done, and it is on the commit that was reviewed.
    pub(super) fn locked(&self) -> Result<Locked, String> {
        let locked = Locked::take(self.root).map_err(|why| why.to_string())?;
        recovered(&locked, self.root).map_err(|why| why.to_string())?;
        self.is_on_commit()?;
        Ok(locked)
    }

    /// The edits that lead from the checkout as it is to a commit; the files have to be as they were reviewed.
    pub(super) fn edits(
        &self,
        checkout: &Locked,
        commit: &str,
        paths: &BTreeSet<String>,
        fixes: &[AppliedFix],
    ) -> Result<Vec<FileEdit>, String> {
        let objects = self.bare.objects().map_err(|why| why.to_string())?;
        let mut edits = Vec::new();
        for path in paths {
            let at = |commit: &str| objects.file_if_any(commit, path.as_bytes());
            let before = at(&self.now).map_err(|why| why.to_string())?;
            let after = at(commit).map_err(|why| why.to_string())?;
            let working = checkout.bytes(path).map_err(|why| why.to_string())?;
            let issues = fixes.iter().filter(|fix| fix.files.contains(path));
            let issues = issues.map(|fix| fix.number).collect();
            let edit = FileEdit { path: path.clone(), before, after, issues };
            edits.push(in_checkout(edit, working)?);
        }
        Ok(edits)
    }

    /// Whether `HEAD` is what it was, or has the tree that was reviewed: somebody may have committed that since.
    fn is_on_commit(&self) -> Result<(), String> {
        let repository = Repository::discover(self.root).map_err(|why| why.to_string())?;
        let head = repository.head().map_err(|why| why.to_string())?;
        let expected = match self.begun.subject.change.head_sha == *self.reviewed {
            true => self.reviewed.to_owned(),
            // What is not committed stands on the commit that was checked out.
            false => self.bare.parent(self.reviewed).map_err(|why| why.to_string())?,
        };
        let head = head.unwrap_or_else(|| EMPTY_TREE.to_owned());
        let tree = |commit: &str| self.bare.tree(commit).ok();
        if head == expected || tree(&head).is_some_and(|it| tree(self.reviewed) == Some(it)) {
            return Ok(());
        }
        let short = |commit: &str| commit.chars().take(12).collect::<String>();
        Err(format!(
            "`HEAD` was `{}` when the checkout was reviewed, and is `{}`",
            short(&expected),
            short(&head)
        ))
    }
}

pub(crate) fn fixes_of(run: &RunFolder) -> PathBuf {
    run.path().join(FIXES)
}

/// What the checkout is like with the last fix of a run in it, as a commit of the private store; none if there is none.
pub(crate) fn standing_commit(run: &RunFolder) -> Option<String> {
    let standing = journal::standing(&fixes_of(run)).ok()?;
    standing.into_values().next_back().and_then(|(_, journal)| journal.after)
}

/// Keeps that issues were found on a commit.
pub(crate) fn keep_found_on(
    run: &RunFolder,
    numbers: &[u32],
    commit: &str,
) -> Result<(), NotWritten> {
    let mut found_on: BTreeMap<u32, String> = run.read(FOUND_ON).unwrap_or_default();
    found_on.extend(numbers.iter().map(|number| (*number, commit.to_owned())));
    run.store_as_it_is(FOUND_ON, &found_on)
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
    RolledBack(Vec<String>),
    /// Something that cannot be rolled back, or not now.
    Not(NotApplied),
}

/// Rolls back what an earlier crh was interrupted in, if the user is in a checkout.
pub(crate) fn recover(environment: &Environment) -> Recovery {
    let root = match Repository::discover(&environment.folder) {
        Ok(Repository { work_tree: Some(root), .. }) => root,
        Ok(_) | Err(OpenError::NotARepository(_)) => return Recovery::Nothing,
        // Whoever needs the repository says what is wrong with it.
        Err(_) => return Recovery::Nothing,
    };
    if !root.join(MARKER).exists() {
        return Recovery::Nothing;
    }
    let recovered = Locked::take(&root).and_then(|locked| recovered(&locked, &root));
    match recovered {
        Ok(None) => Recovery::Nothing,
        Ok(Some(Recovered { files })) => Recovery::RolledBack(files),
        Err(why) => Recovery::Not(why),
    }
}

/// A marker that came with the repository was not written by crh.
fn recovered(locked: &Locked, root: &Path) -> Result<Option<Recovered>, NotApplied> {
    if locked.is_between()? {
        let tracked = Repository::discover(root).ok().map(|repository| repository.tracks(MARKER));
        if !matches!(tracked, Some(Ok(false))) {
            let (path, why) = (MARKER.to_owned(), "is part of this repository".to_owned());
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
