//! Folders on this machine: each installation has its own, so that no child reads the git objects
//! of another installation.

use std::path::{Path, PathBuf};

use crate::job::{InstallationId, Job};

/// Folder of all installations, inside the state folder.
pub(super) const INSTALLATIONS: &str = "installations";

/// Folders of one installation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstallationFolders {
    /// Root of the installation.
    pub root: PathBuf,
}

impl InstallationFolders {
    /// Folders of an installation at a forge.
    pub fn new(state: &Path, forge: &str, installation: InstallationId) -> Self {
        Self {
            root: state.join(INSTALLATIONS).join(folder_name(forge)).join(installation.to_string()),
        }
    }

    /// Git objects and cached answers of the forge.
    pub fn store(&self) -> PathBuf {
        self.root.join("store")
    }

    /// State of `crh`: the key with which it signs runs, and dismissals.
    pub fn state(&self) -> PathBuf {
        self.root.join("state")
    }

    /// Home folder of the children.
    pub fn home(&self) -> PathBuf {
        self.root.join("home")
    }

    /// Folders of the jobs.
    pub fn jobs(&self) -> PathBuf {
        self.root.join("jobs")
    }

    /// Folder of one job.
    pub fn job(&self, job: &Job) -> JobFolder {
        JobFolder { root: self.jobs().join(job.id.to_string()) }
    }
}

/// Folder of one job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobFolder {
    /// Root of the job.
    pub root: PathBuf,
}

impl JobFolder {
    /// The archive that `crh prepare` wrote completely.
    pub fn pack(&self) -> PathBuf {
        self.root.join("change.tar")
    }

    /// The archive while `crh prepare` writes it.
    pub fn unfinished_pack(&self) -> PathBuf {
        self.root.join("unfinished.tar")
    }

    /// Dismissed issues of the repository, for `crh review`.
    pub fn dismissals(&self) -> PathBuf {
        self.root.join("dismissals.json")
    }

    /// File with the id of the comment `/crh review full` to which the archive and the unposted
    /// runs belong.
    pub fn full_request(&self) -> PathBuf {
        self.root.join("full-request")
    }

    /// Run folders.
    pub fn runs(&self) -> PathBuf {
        self.root.join("runs")
    }

    /// File that exists if the review in a run folder is posted and its job is done. If the job
    /// runs again, it makes a new run.
    pub fn posted_mark(&self, run: &Path) -> PathBuf {
        self.root.join("posted").join(run.file_name().unwrap_or_default())
    }

    /// File that exists if the store of runs has a copy of a run folder.
    pub fn copied_mark(&self, run: &Path) -> PathBuf {
        self.root.join("copied").join(run.file_name().unwrap_or_default())
    }
}

/// A host name as the name of a folder. A forge cannot name a folder outside of the state folder.
pub(super) fn folder_name(forge: &str) -> String {
    let name: String = forge
        .chars()
        .map(|letter| if letter.is_ascii_alphanumeric() || letter == '-' { letter } else { '_' })
        .collect();
    if name.is_empty() { "_".to_owned() } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forge_name_cannot_leave_the_state_folder() {
        let folder =
            |forge| InstallationFolders::new(Path::new("/s"), forge, InstallationId(7)).root;
        assert_eq!(folder("github.com"), Path::new("/s/installations/github_com/7"));
        assert_eq!(folder("../.."), Path::new("/s/installations/_____/7"));
        assert_eq!(folder(""), Path::new("/s/installations/_/7"));
    }
}
