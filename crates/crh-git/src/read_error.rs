//! Why an object cannot be read, and the limits of what crh reads.

/// Larger files are rejected, because a reviewer that reads them could exhaust the memory.
pub(crate) const MAX_BLOB_BYTES: u64 = 64 << 20;
/// Maximum number of files and folders of a tree that crh lists. The largest public repositories
/// have about 500,000 files. A tree with few objects can have any number of paths, because its
/// folders can share subfolders.
pub(crate) const FILES_MAX: usize = 1_000_000;
/// Maximum depth of folders. Git has a similar limit.
pub(crate) const DEPTH_MAX: usize = 500;

/// Why an object could not be read. Models read these texts too.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// Not a valid repository path.
    #[error("`{0}` is not a path inside the repository: write it from the root, without `..`")]
    BadPath(String),
    /// No such commit or tree.
    #[error("there is no commit `{0}`")]
    NoCommit(String),
    /// No such path.
    #[error("there is no `{0}` at this revision")]
    NoEntry(String),
    /// The path has another kind.
    #[error("`{path}` is a {actual}, not a {expected}")]
    OtherKind {
        /// The path.
        path: String,
        /// Actual kind.
        actual: &'static str,
        /// Expected kind.
        expected: &'static str,
    },
    /// The file is too large.
    #[error("`{path}` has {size} bytes, more than the {MAX_BLOB_BYTES} that are read")]
    TooLarge {
        /// The path.
        path: String,
        /// Size in bytes.
        size: u64,
    },
    /// The tree has too many files.
    #[error("`{0}` has more files than the {FILES_MAX} that crh lists, or too long paths")]
    TooManyFiles(String),
    /// A folder is too deep.
    #[error("`{0}` has folders that are more than {DEPTH_MAX} levels deep")]
    TooDeep(String),
    /// The repository is damaged.
    #[error("reading `{path}`: {message}")]
    Broken {
        /// Object that was read.
        path: String,
        /// Cause.
        message: String,
    },
}
