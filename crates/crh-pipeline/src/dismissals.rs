//! Issues that the user dismissed. crh does not report them again in the repository.
//!
//! Stored in the user's state folder, not in the repository: otherwise a change could suppress
//! findings about itself.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{ErrorKind, Read as _};
use std::path::{Path, PathBuf};
use std::{fs, io};

use serde::{Deserialize, Serialize};

use crate::run_folder::write_atomic;
use crh_os::files;
use crh_review::identity::content_id;
use crh_review::{DismissedIssue, PastDecisions, stable_json};

/// Format version. Increased when older readers would misread the file.
const VERSION: u32 = 1;
/// Subfolder of the state folder.
const FOLDER: &str = "dismissed";
/// Maximum size of the file, enough for ten thousand dismissals.
const FILE_MAX: u64 = 16 << 20;

/// An issue that a maintainer dismissed at the forge.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForgeDismissal {
    /// Key of the issue at that time.
    pub dedupe_key: String,
    /// Who dismissed it, and where.
    pub reason: String,
    /// The issue itself. crh recognises it by its text if its line was rewritten and its key
    /// changed.
    pub about: Option<DismissedIssue>,
}

impl ForgeDismissal {
    /// Adds this dismissal to the past decisions.
    pub fn remember(&self, decisions: &mut PastDecisions) {
        decisions.dismissed.insert(self.dedupe_key.clone(), self.reason.clone());
        decisions.rewritten.extend(self.about.clone());
    }
}

/// Dismissals of one repository, by `dedupe_key`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Dismissals {
    entries: BTreeMap<String, LocalDismissal>,
}

/// An issue that the user dismissed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LocalDismissal {
    /// Reason in the user's words; may be empty.
    pub reason: String,
    /// Title of the issue, for people.
    pub title: String,
    /// Location, for people: `src/a.rs:12`.
    pub place: String,
    /// Run and issue number: `20261115T123726Z_0123456789abcdef#3`.
    pub run: String,
    /// When it was dismissed.
    pub at: String,
}

/// Why dismissals cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum DismissalsError {
    /// The file has another format or version.
    #[error("`{}` is not a valid list of dismissals: {why}", .path.display())]
    Damaged {
        /// Path of the file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// An I/O error.
    #[error("`{}`: {why}", .path.display())]
    Disk {
        /// Path of the file or folder.
        path: PathBuf,
        /// Error from the operating system.
        why: io::Error,
    },
}

/// File format.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct DismissalsFile {
    version: u32,
    /// Repository, for people. The file name is its hash.
    repo: String,
    dismissed: BTreeMap<String, LocalDismissal>,
}

/// Path of a repository's dismissals. `repo` is its name in the report: `owner/name`, or the hash
/// of the root commit.
pub fn dismissals_path(state: &Path, repo: &str) -> PathBuf {
    let name = content_id(repo.as_bytes());
    state.join(FOLDER).join(format!("{}.json", &name[..32]))
}

/// Loads all lists of a state folder, sorted by repository.
pub fn load_all(state: &Path) -> Result<Vec<(String, Dismissals)>, DismissalsError> {
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
        if let Some(file) = if is_list { read_file(&path)? } else { None } {
            lists.push((file.repo, Dismissals { entries: file.dismissed }));
        }
    }
    lists.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(lists)
}

impl Dismissals {
    /// Loads a list. Empty if the file does not exist.
    pub fn load(path: &Path) -> Result<Self, DismissalsError> {
        Ok(Self { entries: read_file(path)?.map(|file| file.dismissed).unwrap_or_default() })
    }

    /// Reads, changes and writes the dismissals of a repository under a lock.
    pub fn update<T>(
        state: &Path,
        repo: &str,
        change: impl FnOnce(&mut Self) -> T,
    ) -> Result<T, DismissalsError> {
        let path = dismissals_path(state, repo);
        let disk_error = |why| DismissalsError::Disk { path: path.clone(), why };
        let folder = path.parent().unwrap_or(state);
        files::create_private_folder(folder).map_err(disk_error)?;
        // A lock on the file would be lost when the file is replaced, so the folder is locked.
        let lock = files::open_folder_lock(folder).map_err(disk_error)?;
        lock.lock().map_err(disk_error)?;
        let before = Self::load(&path)?;
        let mut after = before.clone();
        let result = change(&mut after);
        if after != before {
            let file = DismissalsFile {
                version: VERSION,
                repo: repo.to_owned(),
                dismissed: after.entries,
            };
            let text = stable_json(&file).map_err(|error| disk_error(error.into()))?;
            write_atomic(&path, text.as_bytes()).map_err(disk_error)?;
        }
        Ok(result)
    }

    /// Dismisses an issue. Returns the previous dismissal, if any.
    pub fn add(&mut self, key: &str, dismissal: LocalDismissal) -> Option<LocalDismissal> {
        self.entries.insert(key.to_owned(), dismissal)
    }

    /// Removes a dismissal and returns it.
    pub fn remove(&mut self, key: &str) -> Option<LocalDismissal> {
        self.entries.remove(key)
    }

    /// Dismissals by key.
    pub fn entries(&self) -> &BTreeMap<String, LocalDismissal> {
        &self.entries
    }

    /// Reasons by key, for the merge of findings.
    pub fn into_reasons(self) -> BTreeMap<String, String> {
        let reason = |dismissal: LocalDismissal| match dismissal.reason.as_str() {
            "" => match dismissal.run.rsplit_once('#') {
                Some((run, number)) => format!("as issue {number} of run {run}"),
                None => dismissal.run,
            },
            _ => dismissal.reason,
        };
        self.entries.into_iter().map(|(key, dismissal)| (key, reason(dismissal))).collect()
    }
}

fn read_file(path: &Path) -> Result<Option<DismissalsFile>, DismissalsError> {
    let damaged_error = |why: String| DismissalsError::Damaged { path: path.to_owned(), why };
    let mut bytes = Vec::new();
    let opened_file = File::open(path);
    match opened_file.and_then(|file| file.take(FILE_MAX + 1).read_to_end(&mut bytes)) {
        Ok(size) if size as u64 > FILE_MAX => {
            return Err(damaged_error("it is too large".to_owned()));
        }
        Ok(_) => {}
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(why) => return Err(DismissalsError::Disk { path: path.to_owned(), why }),
    }
    let file: DismissalsFile =
        serde_json::from_slice(&bytes).map_err(|error| damaged_error(error.to_string()))?;
    match file.version {
        VERSION => Ok(Some(file)),
        other => {
            Err(damaged_error(format!("it has version {other}, but this crh reads {VERSION}")))
        }
    }
}
