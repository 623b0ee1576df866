//! What the user has dismissed: issues that are never raised again in a repository.
//!
//! Kept in the user's own state folder and not in the repository, since a change could silence findings about itself.

#[cfg(test)]
#[path = "dismissals/tests.rs"]
mod tests;

use std::collections::BTreeMap;
use std::fs::{DirBuilder, File};
use std::io::{ErrorKind, Read as _};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::{fs, io};

use serde::{Deserialize, Serialize};

use crate::run_folder::write_whole;
use crh_review::identity::content_id;
use crh_review::{About, Remembered, stable_json};

/// The version of the file. It rises when a reader of the old form would misread the new one.
const VERSION: u32 = 1;
/// The folder of these files in the state folder.
const FOLDER: &str = "dismissed";
/// Ten thousand dismissals; nobody has dismissed more by hand.
const FILE_MAX: u64 = 16 << 20;

/// An issue that somebody said no to at the forge who decides about the repository.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SaidNo {
    /// What named it then.
    pub dedupe_key: String,
    /// Who said so, and where.
    pub reason: String,
    /// What it was about, if its line has been written anew since and its key is another one now.
    pub about: Option<About>,
}

impl SaidNo {
    /// Adds it to what is known.
    pub fn remember(&self, remembered: &mut Remembered) {
        remembered.dismissed.insert(self.dedupe_key.clone(), self.reason.clone());
        remembered.rewritten.extend(self.about.clone());
    }
}

/// What was dismissed in one repository, by `dedupe_key`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Dismissals {
    entries: BTreeMap<String, Dismissal>,
}

/// An issue that was dismissed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dismissal {
    /// Why, in the user's words; empty if nothing was said.
    pub reason: String,
    /// What it was called, for people.
    pub title: String,
    /// Where it was, for people: `src/a.rs:12`.
    pub place: String,
    /// The run and the number in it: `20261115T123726Z_0123456789abcdef#3`.
    pub run: String,
    /// When it was dismissed.
    pub at: String,
}

/// Why dismissals cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum DismissalsError {
    /// The file is not ours, or from another version.
    #[error("`{}` is not a list of dismissals: {why}", .path.display())]
    Damaged {
        /// Which file.
        path: PathBuf,
        /// Why.
        why: String,
    },
    /// The disk failed.
    #[error("`{}`: {why}", .path.display())]
    Disk {
        /// Where.
        path: PathBuf,
        /// Why.
        why: io::Error,
    },
}

/// The file as it is written.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Page {
    version: u32,
    /// The repository, for people: the file's name is its hash.
    repo: String,
    dismissed: BTreeMap<String, Dismissal>,
}

/// Where the dismissals of a repository are. `repo` is what the report calls it: `owner/name`, or the hash of the root
/// commit.
pub fn place(state: &Path, repo: &str) -> PathBuf {
    let name = content_id(repo.as_bytes());
    state.join(FOLDER).join(format!("{}.json", &name[..32]))
}

/// All lists in a state folder, with the names of their repositories, sorted by these.
pub fn all(state: &Path) -> Result<Vec<(String, Dismissals)>, DismissalsError> {
    let folder = state.join(FOLDER);
    let entries = match fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(why) => return Err(DismissalsError::Disk { path: folder, why }),
    };
    let mut lists = Vec::new();
    for entry in entries {
        let path = entry.map_err(|why| DismissalsError::Disk { path: folder.clone(), why })?.path();
        let is_list = path.extension().is_some_and(|end| end == "json");
        if let Some(page) = if is_list { read(&path)? } else { None } {
            lists.push((page.repo, Dismissals { entries: page.dismissed }));
        }
    }
    lists.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(lists)
}

impl Dismissals {
    /// What was dismissed, by the file it is in; nothing if there is none.
    pub fn read(path: &Path) -> Result<Self, DismissalsError> {
        Ok(Self { entries: read(path)?.map(|page| page.dismissed).unwrap_or_default() })
    }

    /// Reads the dismissals of a repository, changes them, and writes them, with no other process in between.
    pub fn change<T>(
        state: &Path,
        repo: &str,
        change: impl FnOnce(&mut Self) -> T,
    ) -> Result<T, DismissalsError> {
        let path = place(state, repo);
        let disk = |why| DismissalsError::Disk { path: path.clone(), why };
        let folder = path.parent().unwrap_or(state);
        DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(disk)?;
        // The file itself is replaced, so the lock is on the folder around it.
        let lock = File::open(folder).map_err(disk)?;
        lock.lock().map_err(disk)?;
        let before = Self::read(&path)?;
        let mut after = before.clone();
        let changed = change(&mut after);
        if after != before {
            let page = Page { version: VERSION, repo: repo.to_owned(), dismissed: after.entries };
            let text = stable_json(&page).map_err(|error| disk(error.into()))?;
            write_whole(&path, text.as_bytes()).map_err(disk)?;
        }
        Ok(changed)
    }

    /// Dismisses an issue; what was said of it before, if it was dismissed already.
    pub fn add(&mut self, key: &str, dismissal: Dismissal) -> Option<Dismissal> {
        self.entries.insert(key.to_owned(), dismissal)
    }

    /// Takes a dismissal back; none if the issue was not dismissed.
    pub fn remove(&mut self, key: &str) -> Option<Dismissal> {
        self.entries.remove(key)
    }

    /// The dismissals, by key.
    pub fn entries(&self) -> &BTreeMap<String, Dismissal> {
        &self.entries
    }

    /// The reasons by key, as merging takes them.
    pub fn into_remembered(self) -> BTreeMap<String, String> {
        let reason = |dismissal: Dismissal| match dismissal.reason.as_str() {
            "" => format!("dismissed as {}", dismissal.run),
            _ => dismissal.reason,
        };
        self.entries.into_iter().map(|(key, dismissal)| (key, reason(dismissal))).collect()
    }
}

fn read(path: &Path) -> Result<Option<Page>, DismissalsError> {
    let damaged = |why: String| DismissalsError::Damaged { path: path.to_owned(), why };
    let mut bytes = Vec::new();
    let opened = File::open(path);
    match opened.and_then(|file| file.take(FILE_MAX + 1).read_to_end(&mut bytes)) {
        Ok(size) if size as u64 > FILE_MAX => return Err(damaged("it is too large".to_owned())),
        Ok(_) => {}
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(why) => return Err(DismissalsError::Disk { path: path.to_owned(), why }),
    }
    let page: Page = serde_json::from_slice(&bytes).map_err(|error| damaged(error.to_string()))?;
    match page.version {
        VERSION => Ok(Some(page)),
        other => Err(damaged(format!("it has version {other}, and this crh reads {VERSION}"))),
    }
}
