//! Errors of run folders.

use std::io;
use std::path::PathBuf;

/// A file could not be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write `{name}` to the run folder: {why}")]
pub struct FileWriteError {
    /// Name in the run folder.
    pub name: String,
    /// Error from the operating system.
    pub why: io::Error,
}

/// Why a run cannot be found or read.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// There are no runs.
    #[error("no runs in `{}`", .0.display())]
    NoRuns(PathBuf),
    /// The requested name is empty.
    #[error("the name of the run is empty")]
    EmptyName,
    /// No run matches.
    #[error("no run `{wanted}` in `{}`", .runs.display())]
    Unknown {
        /// Requested run.
        wanted: String,
        /// Folder that was searched.
        runs: PathBuf,
    },
    /// Several runs match.
    #[error("`{wanted}` is ambiguous: {}", .names.join(" or "))]
    Ambiguous {
        /// Requested run.
        wanted: String,
        /// Some of the matching runs, in backticks, and the number of the others.
        names: Vec<String>,
    },
    /// The path is not the folder of a run.
    #[error("`{}` is not a run folder: {why}", .path.display())]
    Foreign {
        /// Path of the folder.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// The folder has no valid stamp.
    #[error("crh did not create the run `{0}` on this machine")]
    Unstamped(String),
    /// The run did not get as far as writing this file.
    #[error("the run `{run}` is incomplete: it has no `{name}`")]
    Unfinished {
        /// Name of the run.
        run: String,
        /// Missing file.
        name: String,
    },
    /// A file cannot be read or has the wrong format.
    #[error("cannot read `{name}` of the run `{run}`: {why}")]
    Damaged {
        /// Name of the run.
        run: String,
        /// Name of the file.
        name: String,
        /// What is wrong with it.
        why: String,
    },
    /// Another process is working on the run.
    #[error("the run `{0}` is in use by another process")]
    InUse(String),
    /// An I/O error.
    #[error("`{}`: {why}", .path.display())]
    Disk {
        /// Path of the file or folder.
        path: PathBuf,
        /// Error from the operating system.
        why: io::Error,
    },
}
