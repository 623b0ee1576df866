//! Bare repositories owned by crh: the private store, or an unpacked bundle.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use crate::objects::{EMPTY_TREE, Objects};
use crate::process::{Git, GitError};
use crate::read_error::{DEPTH_MAX, ReadError};

/// Diff options. They make the output independent of the user's settings and of the objects in the
/// clone.
pub const DIFF_OPTIONS: &[&str] = &[
    "-U10",
    "-M",
    "--full-index",
    "--diff-algorithm=histogram",
    "--src-prefix=a/",
    "--dst-prefix=b/",
    "--no-color",
    "--no-ext-diff",
    "--no-textconv",
];

/// Maximum size of a diff. Reading one needs about 16 times its size in memory.
pub const DIFF_BYTES_MAX: u64 = 32 << 20;

/// Maximum number of files in a diff.
const CHANGED_FILES_MAX: u64 = 200_000;

/// A bare repository owned by crh.
#[derive(Debug, Clone)]
pub struct BareRepository {
    folder: PathBuf,
    /// Shared by all clones, because opening the index of a long history is slow.
    objects: Arc<OnceLock<Objects>>,
}

impl PartialEq for BareRepository {
    fn eq(&self, other: &Self) -> bool {
        self.folder == other.folder
    }
}

impl Eq for BareRepository {}

impl BareRepository {
    /// The repository in this folder.
    pub fn new(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), objects: Arc::default() }
    }

    /// Git in this repository, without the user's refs, settings and attributes.
    pub fn git(&self) -> Git {
        Git::with_git_dir(&self.folder)
    }

    /// Folder of the repository.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Objects of the repository, readable without a process. They include objects that are written
    /// later.
    pub fn objects(&self) -> Result<Objects, ReadError> {
        if let Some(objects) = self.objects.get() {
            return Ok(objects.clone());
        }
        let objects = Objects::open(&self.folder)?;
        Ok(self.objects.get_or_init(|| objects).clone())
    }

    /// Whether the repository contains a commit.
    pub fn has(&self, id: &str) -> bool {
        // Git also knows short ids and other names, and follows tags. For a missing commit it is
        // asked in vain, but that is rare: a fetch or an error follows.
        self.objects().is_ok_and(|objects| objects.parents(id).is_ok())
            || self.git().run(["cat-file", "-e", &format!("{id}^{{commit}}")]).is_ok()
    }

    /// Merge bases of two commits, sorted. Empty if no common ancestor is known here; several after
    /// criss-cross merges.
    pub fn merge_bases(&self, one: &str, other: &str) -> Result<Vec<String>, GitError> {
        match self.git().text(["merge-base", "--all", "--end-of-options", one, other]) {
            Ok(output) => {
                let mut commits: Vec<String> = output.lines().map(str::to_owned).collect();
                commits.sort_unstable();
                Ok(commits)
            }
            Err(GitError::Failed { code: Some(1), .. }) => Ok(Vec::new()),
            Err(error) => Err(error),
        }
    }

    /// The first of the sorted merge bases, so that the result is deterministic.
    pub fn merge_base(&self, one: &str, other: &str) -> Result<Option<String>, GitError> {
        Ok(self.merge_bases(one, other)?.into_iter().next())
    }

    /// Whether a commit is an ancestor of another.
    pub fn is_ancestor(&self, ancestor: &str, descendant: &str) -> Result<bool, GitError> {
        match self.git().run(["merge-base", "--is-ancestor", ancestor, descendant]) {
            Ok(_) => Ok(true),
            Err(GitError::Failed { code: Some(1), .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Diff between two trees or commits.
    pub fn diff(&self, base: &str, head: &str) -> Result<Vec<u8>, GitError> {
        match self.objects().and_then(|objects| objects.count_changes(base, head)) {
            Ok(count) if count <= CHANGED_FILES_MAX => {}
            Ok(_) | Err(ReadError::TooManyFiles(_)) => {
                return Err(GitError::TooManyFiles { max: CHANGED_FILES_MAX });
            }
            Err(ReadError::TooDeep(_)) => return Err(GitError::TooDeep { max: DEPTH_MAX }),
            // Git explains other errors better.
            Err(_) => {}
        }
        let mut args = vec!["diff"];
        args.extend(DIFF_OPTIONS);
        args.extend(["--end-of-options", base, head, "--"]);
        self.git().with_output_max(DIFF_BYTES_MAX).run(args)
    }

    /// Paths that differ between two trees or commits. A renamed file counts as two paths.
    pub fn changed_paths(&self, base: &str, head: &str) -> Result<Vec<Vec<u8>>, GitError> {
        let args = ["diff-tree", "-r", "-z", "--name-only", "--no-renames", "--end-of-options"];
        let output = self.git().run(args.into_iter().chain([base, head, "--"]))?;
        let paths = output.split(|byte| *byte == 0).filter(|path| !path.is_empty());
        Ok(paths.map(<[u8]>::to_vec).collect())
    }

    /// First parent of a commit, even if the repository lacks the parent; the empty tree for a root
    /// commit.
    pub fn parent(&self, commit: &str) -> Result<String, ReadError> {
        let parents = self.objects()?.parents(commit)?;
        Ok(parents.into_iter().next().unwrap_or_else(|| EMPTY_TREE.to_owned()))
    }

    /// Whether the history is shallow.
    pub fn is_shallow(&self) -> bool {
        !self.boundary().is_empty()
    }

    /// Commits whose parents are missing because of a shallow clone or fetch.
    pub(crate) fn boundary(&self) -> BTreeSet<String> {
        read_lines(&self.folder.join("shallow"))
    }
}

/// Lines of a file; empty if it cannot be read.
pub(crate) fn read_lines(path: &Path) -> BTreeSet<String> {
    let text = fs::read_to_string(path).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}
