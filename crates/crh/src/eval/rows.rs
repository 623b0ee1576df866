//! Rows that were done before, found again by the content of everything that went into them. So a run that was killed goes on,
//! and what has not changed is not reviewed again.

use std::fs::File;
use std::io::Read as _;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};
use std::{fs, io};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crh_llm::ModelFacts;
use crh_pipeline::run_folder::write_whole;
use crh_pipeline::terms::Terms;
use crh_review::eval::CaseRun;
use crh_review::finding::Severity;
use crh_review::identity::content_id;
use crh_review::report::Report;
use crh_review::stable_json_line;

/// Rows that nobody has asked for in this time are deleted: every build has rows of its own.
const KEPT: Duration = Duration::from_secs(30 * 24 * 3_600);
/// The largest row that is read again. A report with ten thousand findings has a tenth of this.
const ROW_MAX: u64 = 64 << 20;

/// What came of one review of a case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Row {
    /// For scoring.
    pub(crate) run: CaseRun,
    /// The report; none if the review failed.
    pub(crate) report: Option<Report>,
}

/// Everything that decides what a review says, but for chance.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct RowKey<'a> {
    /// The program: another build may review differently.
    pub(crate) build: &'a str,
    /// The change: a case by its content, or a commit.
    pub(crate) change: &'a str,
    pub(crate) terms: &'a Terms,
    pub(crate) prompt_version: &'a str,
    /// The models by name, recordings by content.
    pub(crate) models: &'a [String],
    /// What is taken for known about them: prompts and budgets follow it.
    pub(crate) facts: Vec<ModelFacts>,
    pub(crate) min_severity: Severity,
    pub(crate) repeat: u32,
}

/// Where rows are kept.
#[derive(Debug)]
pub(crate) struct KeptRows {
    folder: PathBuf,
    use_of: Use,
}

/// What rows that are there are good for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Use {
    /// They are taken instead of reviewing again.
    Taken,
    /// They are replaced.
    Replaced,
}

impl KeptRows {
    /// Rows in a folder, which is made if it is not there. Old ones are deleted.
    pub(crate) fn open(folder: PathBuf, use_of: Use, now: SystemTime) -> io::Result<Self> {
        fs::create_dir_all(&folder)?;
        let rows = Self { folder, use_of };
        rows.delete_older_than(now.checked_sub(KEPT).unwrap_or(SystemTime::UNIX_EPOCH))?;
        Ok(rows)
    }

    /// The name of a row: everything that decides what stands in it, as a hash.
    pub(crate) fn name(key: &impl Serialize) -> Result<String, serde_json::Error> {
        Ok(content_id(stable_json_line(key)?.as_bytes())[..40].to_owned())
    }

    /// The row of a name, if it is there and whole.
    pub(crate) fn find<T: DeserializeOwned>(&self, name: &str, now: SystemTime) -> Option<T> {
        if self.use_of == Use::Replaced {
            return None;
        }
        let path = self.path(name);
        let mut bytes = Vec::new();
        let read = File::open(&path).ok()?.take(ROW_MAX + 1).read_to_end(&mut bytes).ok()?;
        if u64::try_from(read).unwrap_or(u64::MAX) > ROW_MAX {
            return None;
        }
        // What is used stays; a file system that does not let us say so only makes it older.
        File::options().append(true).open(&path).and_then(|file| file.set_modified(now)).ok();
        serde_json::from_slice(&bytes).ok()
    }

    /// Whether there is a row of a name.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.use_of == Use::Taken && self.path(name).is_file()
    }

    /// Waits until no other process makes the row of a name, and keeps others from it until the file is dropped. Without one,
    /// two may make the same: that costs something, and breaks nothing.
    pub(crate) fn alone(&self, name: &str) -> Option<File> {
        let file = File::create(self.folder.join(format!("{name}.lock"))).ok()?;
        file.lock().ok()?;
        Some(file)
    }

    /// Keeps a row.
    pub(crate) fn keep(&self, name: &str, row: &impl Serialize) -> io::Result<()> {
        write_whole(&self.path(name), stable_json_line(row)?.as_bytes())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.json"))
    }

    fn delete_older_than(&self, limit: SystemTime) -> io::Result<()> {
        for entry in fs::read_dir(&self.folder)? {
            let entry = entry?;
            // Somebody else may have deleted it meanwhile.
            let Ok(found) = entry.metadata() else { continue };
            if found.is_file() && found.modified()? < limit {
                fs::remove_file(entry.path()).or_else(gone)?;
            }
        }
        Ok(())
    }
}

fn gone(error: io::Error) -> io::Result<()> {
    if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: SystemTime = SystemTime::UNIX_EPOCH;

    fn rows(folder: &std::path::Path, use_of: Use) -> KeptRows {
        KeptRows::open(folder.to_owned(), use_of, SystemTime::UNIX_EPOCH + KEPT * 2).unwrap()
    }

    #[test]
    fn a_row_is_found_again_unless_it_is_old_damaged_or_to_be_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let name = KeptRows::name(&("a", 1)).unwrap();
        assert_ne!(name, KeptRows::name(&("a", 2)).unwrap());
        let kept = rows(folder.path(), Use::Taken);
        kept.keep(&name, &vec![1, 2]).unwrap();
        assert_eq!(kept.find(&name, NOW + KEPT * 2), Some(vec![1, 2]));
        assert!(kept.has(&name) && !kept.has("other"));
        assert_eq!(rows(folder.path(), Use::Replaced).find::<Vec<i32>>(&name, NOW), None);
        fs::write(kept.path("damaged"), "[1,").unwrap();
        assert_eq!(kept.find::<Vec<i32>>("damaged", NOW), None);
        // Used long ago, it is gone when rows are opened the next time.
        assert_eq!(kept.find(&name, NOW), Some(vec![1, 2]));
        assert!(!rows(folder.path(), Use::Taken).has(&name));
    }

    #[test]
    fn only_one_at_a_time_makes_a_row() {
        let folder = tempfile::tempdir().unwrap();
        let kept = rows(folder.path(), Use::Taken);
        let alone = kept.alone("row").unwrap();
        let other = File::open(folder.path().join("row.lock")).unwrap();
        assert!(other.try_lock().is_err());
        drop(alone);
        assert!(other.try_lock().is_ok());
    }
}
