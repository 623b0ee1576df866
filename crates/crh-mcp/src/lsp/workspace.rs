//! A workspace folder of the editor, its checkout, and what crh knows about its issues.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;
use std::{fs, io};

use tokio::sync::Notify;

use crh_os::names::canonical;
use crh_review::report::{Issue, Report};

/// Folder of stored runs in a checkout.
const RUNS: &str = ".crh/runs";
const REPORT_FILE: &str = "review.json";
/// Largest file that is read from disk to place issues in it. A larger file gets diagnostics only
/// while it is open in the editor.
const FILE_MAX: u64 = 8 << 20;

/// Why a workspace folder has no diagnostics.
#[derive(Debug, thiserror::Error)]
pub(super) enum FolderProblem {
    /// The folder cannot be read.
    #[error("cannot read the folder `{}`: {why}", .folder.display())]
    Unreadable {
        /// The folder.
        folder: PathBuf,
        /// Error of the system.
        why: io::Error,
    },
    /// There is no repository.
    #[error("`{}` is not inside a git repository, so crh reports nothing there", .0.display())]
    NoRepository(PathBuf),
}

/// A workspace folder inside a checkout.
#[derive(Debug)]
pub(super) struct WorkspaceRoot {
    /// The folder, without symlinks. Files outside of it get no diagnostics.
    pub(super) folder: PathBuf,
    /// Root of the checkout, which may be above the folder.
    pub(super) checkout: PathBuf,
    /// Notified when a check is due: at the start, and when a file was saved.
    pub(super) saved: Notify,
    findings: Mutex<FolderFindings>,
}

/// Results of the newest child processes.
#[derive(Debug, Default)]
pub(super) struct FolderFindings {
    /// Report of the static checks.
    pub(super) check: Option<Report>,
    /// Report of the newest stored run.
    pub(super) run: Option<Report>,
    /// Keys of dismissed issues.
    pub(super) dismissed: BTreeSet<String>,
}

/// An issue, and the stored run that has it.
#[derive(Debug, Clone)]
pub(super) struct KnownIssue {
    pub(super) issue: Issue,
    /// Name of the newest stored run, if it has the issue.
    pub(super) run: Option<String>,
}

impl WorkspaceRoot {
    /// Finds the checkout of a workspace folder.
    pub(super) fn open(folder: &Path) -> Result<Self, FolderProblem> {
        let folder = canonical(folder)
            .map_err(|why| FolderProblem::Unreadable { folder: folder.to_owned(), why })?;
        let checkout = folder.ancestors().find(|path| path.join(".git").exists());
        let checkout = checkout.ok_or_else(|| FolderProblem::NoRepository(folder.clone()))?;
        let checkout = checkout.to_owned();
        Ok(Self { folder, checkout, saved: Notify::new(), findings: Mutex::default() })
    }

    /// Whether a path without symlinks is inside the workspace folder.
    pub(super) fn contains(&self, path: &Path) -> bool {
        path.starts_with(&self.folder)
    }

    /// Path of a file of a report, if it exists inside the workspace folder.
    pub(super) fn path_of(&self, file: &str) -> Option<PathBuf> {
        let path = canonical(self.checkout.join(file)).ok()?;
        self.contains(&path).then_some(path)
    }

    /// Name and time of the newest stored report.
    pub(super) fn newest_report(&self) -> Option<(String, SystemTime)> {
        let runs = self.checkout.join(RUNS);
        let names = fs::read_dir(&runs)
            .ok()?
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let name = names.filter(|name| runs.join(name).join(REPORT_FILE).exists()).max()?;
        let time =
            fs::metadata(runs.join(&name).join(REPORT_FILE)).and_then(|file| file.modified());
        Some((name, time.ok()?))
    }

    pub(super) fn findings(&self) -> MutexGuard<'_, FolderFindings> {
        self.findings.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All open issues. The check is newer than the stored run, so it replaces the run's issues
    /// from static checks.
    pub(super) fn issues(&self) -> Vec<KnownIssue> {
        let FolderFindings { check, run, dismissed } = &*self.findings();
        let run_name = run.as_ref().map(|run| run.run_id.clone());
        let in_run = |key: &str| {
            let mut issues = run.iter().flat_map(Report::all_issues);
            issues.any(|issue| issue.dedupe_key == key)
        };
        let checked = check.iter().flat_map(Report::all_issues).map(|issue| KnownIssue {
            issue: issue.clone(),
            run: run_name.clone().filter(|_| in_run(&issue.dedupe_key)),
        });
        let is_checked_again = |issue: &Issue| check.is_some() && issue.rule.is_some();
        let reviewed = run.iter().flat_map(Report::open_issues);
        let reviewed = reviewed.filter(|issue| !is_checked_again(issue));
        let reviewed =
            reviewed.map(|issue| KnownIssue { issue: issue.clone(), run: run_name.clone() });
        let issues = checked.chain(reviewed);
        issues.filter(|known| !dismissed.contains(&known.issue.dedupe_key)).collect()
    }

    /// The newest stored run, and the number of an issue in it.
    pub(super) fn number_in_run(&self, key: &str) -> Option<(String, u32)> {
        let findings = self.findings();
        let run = findings.run.as_ref()?;
        let issue = run.all_issues().find(|issue| issue.dedupe_key == key)?;
        Some((run.run_id.clone(), issue.number))
    }
}

/// Text of a file on disk, unless it is too large or no text.
pub(super) fn read_text(path: &Path) -> Option<String> {
    let size = fs::metadata(path).ok()?.len();
    if size > FILE_MAX { None } else { fs::read_to_string(path).ok() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crh_os::files::symlink;

    #[test]
    fn files_outside_the_folder_are_not_opened() {
        let place = tempfile::tempdir().unwrap();
        let checkout = place.path().join("checkout");
        fs::create_dir_all(checkout.join(".git")).unwrap();
        fs::create_dir_all(checkout.join("part")).unwrap();
        for file in ["secret", "checkout/a", "checkout/part/b"] {
            fs::write(place.path().join(file), "text").unwrap();
        }
        symlink(&place.path().join("secret"), &checkout.join("part/link")).unwrap();
        let root = WorkspaceRoot::open(&checkout.join("part")).unwrap();
        assert_eq!(root.checkout, fs::canonicalize(&checkout).unwrap());
        assert!(root.path_of("part/b").is_some());
        for outside in ["a", "part/link", "../secret", "part/../../secret", "part/missing"] {
            assert_eq!(root.path_of(outside), None, "{outside}");
        }
        let none = WorkspaceRoot::open(place.path()).unwrap_err();
        assert!(none.to_string().contains("is not inside a git repository"), "{none}");
    }
}
