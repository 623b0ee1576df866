//! What can go wrong with run folders.

use std::io;
use std::path::PathBuf;

/// A file that could not be written.
#[derive(Debug, thiserror::Error)]
#[error("`{name}` of the run folder could not be written: {why}")]
pub struct NotWritten {
    /// Its name in the folder.
    pub name: String,
    /// Why.
    pub why: io::Error,
}

/// Why there is no such run, or nothing to be read from it.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// There are no runs at all.
    #[error("there are no runs in `{}`", .0.display())]
    NoRuns(PathBuf),
    /// None of the runs is the wanted one.
    #[error("there is no run `{wanted}` in `{}`", .runs.display())]
    Unknown {
        /// What was asked for.
        wanted: String,
        /// Where it was looked for.
        runs: PathBuf,
    },
    /// Several are.
    #[error("`{wanted}` may be {}", .names.join(" or "))]
    Ambiguous {
        /// What was asked for.
        wanted: String,
        /// Some of those that it may be, in backticks.
        names: Vec<String>,
    },
    /// A folder that crh did not write.
    #[error("`{}` is not the folder of a run: {why}", .path.display())]
    Foreign {
        /// Which.
        path: PathBuf,
        /// How one sees it.
        why: String,
    },
    /// The run did not come so far.
    #[error("the run `{run}` has no `{name}`: it did not come to its end")]
    Unfinished {
        /// Which run.
        run: String,
        /// The file that is missing.
        name: String,
    },
    /// A file that cannot be read, or is not what it should be.
    #[error("`{name}` of the run `{run}` cannot be read: {why}")]
    Damaged {
        /// Which run.
        run: String,
        /// The file.
        name: String,
        /// Why.
        why: String,
    },
    /// Another process is at work in it.
    #[error("the run `{0}` is still under way")]
    InUse(String),
    /// The disk failed.
    #[error("`{}`: {why}", .path.display())]
    Disk {
        /// Where.
        path: PathBuf,
        /// Why.
        why: io::Error,
    },
}
