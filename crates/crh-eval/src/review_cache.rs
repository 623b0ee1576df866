//! Cache of reviews of cases, keyed by the content of all inputs. A killed evaluation resumes from
//! it, and crh does not review unchanged cases again. An entry is called a row.

use std::fs::File;
use std::io::Read as _;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};
use std::{fs, io};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crh_llm::ModelFacts;
use crh_pipeline::review_options::ReviewOptions;
use crh_pipeline::run_folder::write_atomic;
use crh_review::eval::CaseRun;
use crh_review::finding::Severity;
use crh_review::identity::content_id;
use crh_review::report::Report;
use crh_review::stable_json_line;

/// Rows that were not used for this long are deleted, because every build has its own rows.
const ROW_LIFETIME: Duration = Duration::from_secs(30 * 24 * 3_600);
/// Largest row that is read, in bytes. A report with ten thousand findings takes a tenth of this.
const ROW_MAX: u64 = 64 << 20;

/// Result of one review of a case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct CaseReview {
    /// Input of scoring.
    pub(crate) run: CaseRun,
    /// `None` if the review failed, or if the model alone reviewed.
    pub(crate) report: Option<Report>,
}

/// Everything that determines a review's result, except chance.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct RowKey<'a> {
    /// The build of crh: another build may review differently.
    pub(crate) build: &'a str,
    /// The strategy, or the model alone.
    pub(crate) arm: &'a str,
    /// Content hash of a case, or a commit.
    pub(crate) change: &'a str,
    pub(crate) terms: &'a ReviewOptions,
    pub(crate) prompt_version: &'a str,
    /// The model of each role: its name or, for a recording, the hash of its content.
    pub(crate) models: &'a [String],
    /// Model limits and prices, which determine prompts and budgets.
    pub(crate) facts: Vec<ModelFacts>,
    pub(crate) min_severity: Severity,
    pub(crate) repeat: u32,
}

/// The folder of stored results.
#[derive(Debug)]
pub struct ReviewCache {
    folder: PathBuf,
    policy: CachePolicy,
}

/// What to do with cached rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CachePolicy {
    /// Use them instead of reviewing again.
    Taken,
    /// Replace them.
    Replaced,
}

impl ReviewCache {
    /// Opens or creates the cache folder and deletes old rows.
    pub fn open(folder: PathBuf, policy: CachePolicy, now: SystemTime) -> io::Result<Self> {
        fs::create_dir_all(&folder)?;
        let rows = Self { folder, policy };
        rows.delete_older_than(now.checked_sub(ROW_LIFETIME).unwrap_or(SystemTime::UNIX_EPOCH))?;
        Ok(rows)
    }

    /// Hash of everything that determines a row.
    pub(crate) fn name(key: &impl Serialize) -> Result<String, serde_json::Error> {
        Ok(content_id(stable_json_line(key)?.as_bytes())[..40].to_owned())
    }

    /// Reads a row; `None` if it is missing or damaged.
    pub(crate) fn find<T: DeserializeOwned>(&self, name: &str, now: SystemTime) -> Option<T> {
        if self.policy == CachePolicy::Replaced {
            return None;
        }
        let path = self.path(name);
        let mut bytes = Vec::new();
        let read = File::open(&path).ok()?.take(ROW_MAX + 1).read_to_end(&mut bytes).ok()?;
        if u64::try_from(read).unwrap_or(u64::MAX) > ROW_MAX {
            return None;
        }
        // Mark the row as used. If the file system refuses, the row only expires earlier.
        File::options().append(true).open(&path).and_then(|file| file.set_modified(now)).ok();
        serde_json::from_slice(&bytes).ok()
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.policy == CachePolicy::Taken && self.path(name).is_file()
    }

    /// Locks a row: waits until no other process computes it, and blocks others until the file is
    /// dropped. Without the lock, two processes may compute the same row, which costs money but is
    /// harmless.
    pub(crate) fn alone(&self, name: &str) -> Option<File> {
        let file = File::create(self.folder.join(format!("{name}.lock"))).ok()?;
        file.lock().ok()?;
        Some(file)
    }

    pub(crate) fn keep(&self, name: &str, row: &impl Serialize) -> io::Result<()> {
        write_atomic(&self.path(name), stable_json_line(row)?.as_bytes())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.json"))
    }

    fn delete_older_than(&self, limit: SystemTime) -> io::Result<()> {
        for entry in fs::read_dir(&self.folder)? {
            let entry = entry?;
            // Another process may have deleted it meanwhile.
            let Ok(found) = entry.metadata() else { continue };
            if found.is_file() && found.modified()? < limit {
                fs::remove_file(entry.path()).or_else(ignore_missing)?;
            }
        }
        Ok(())
    }
}

fn ignore_missing(error: io::Error) -> io::Result<()> {
    if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: SystemTime = SystemTime::UNIX_EPOCH;

    fn rows(folder: &std::path::Path, policy: CachePolicy) -> ReviewCache {
        ReviewCache::open(folder.to_owned(), policy, SystemTime::UNIX_EPOCH + ROW_LIFETIME * 2)
            .unwrap()
    }

    #[test]
    fn row_is_reused_unless_old_damaged_or_fresh() {
        let folder = tempfile::tempdir().unwrap();
        let name = ReviewCache::name(&("a", 1)).unwrap();
        assert_ne!(name, ReviewCache::name(&("a", 2)).unwrap());
        let kept = rows(folder.path(), CachePolicy::Taken);
        kept.keep(&name, &vec![1, 2]).unwrap();
        assert_eq!(kept.find(&name, NOW + ROW_LIFETIME * 2), Some(vec![1, 2]));
        assert!(kept.has(&name) && !kept.has("other"));
        assert_eq!(rows(folder.path(), CachePolicy::Replaced).find::<Vec<i32>>(&name, NOW), None);
        fs::write(kept.path("damaged"), "[1,").unwrap();
        assert_eq!(kept.find::<Vec<i32>>("damaged", NOW), None);
        // A row that was last used long ago is deleted at the next opening.
        assert_eq!(kept.find(&name, NOW), Some(vec![1, 2]));
        assert!(!rows(folder.path(), CachePolicy::Taken).has(&name));
    }

    #[test]
    fn row_is_locked_while_it_is_made() {
        let folder = tempfile::tempdir().unwrap();
        let kept = rows(folder.path(), CachePolicy::Taken);
        let alone = kept.alone("row").unwrap();
        let other = File::open(folder.path().join("row.lock")).unwrap();
        assert!(other.try_lock().is_err());
        drop(alone);
        // A child process of another test holds the lock until it has started its program.
        other.lock().unwrap();
    }
}
