//! A bare repository of ours that is read: the private store of a user's repository, or what came out of a
//! bundle.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::objects::{Objects, ReadError};
use crate::process::{Git, GitError};

/// Options with which every diff is printed. The same bytes from a checkout, a bare, a shallow or a partial
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

/// The tree without an entry: what stands before the first commit.
pub const EMPTY_TREE: &str = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";

/// A bare repository of ours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bare {
    folder: PathBuf,
}

impl Bare {
    /// The one in a folder.
    pub fn new(folder: &Path) -> Self {
        Self { folder: folder.to_owned() }
    }

    /// Git in it. It sees no refs, settings or attributes of the user.
    pub fn git(&self) -> Git {
        Git::with_git_dir(&self.folder)
    }

    /// Where it is.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Its objects, for reading without a process.
    pub fn objects(&self) -> Result<Objects, ReadError> {
        Objects::open(&self.folder)
    }

    /// Whether a commit is here.
    pub fn has(&self, id: &str) -> bool {
        self.git().run(["cat-file", "-e", &format!("{id}^{{commit}}")]).is_ok()
    }

    /// The commits from which two histories part, sorted: none if they have nothing in common as far as is known
    /// here, several after criss-cross merges.
    pub fn merge_bases(&self, one: &str, other: &str) -> Result<Vec<String>, GitError> {
        match self.git().text(["merge-base", "--all", "--end-of-options", one, other]) {
            Ok(printed) => {
                let mut commits: Vec<String> = printed.lines().map(str::to_owned).collect();
                commits.sort_unstable();
                Ok(commits)
            }
            Err(GitError::Failed { code: Some(1), .. }) => Ok(Vec::new()),
            Err(error) => Err(error),
        }
    }

    /// The one of them that is taken: each is as good, and the first is the same every time.
    pub fn merge_base(&self, one: &str, other: &str) -> Result<Option<String>, GitError> {
        Ok(self.merge_bases(one, other)?.into_iter().next())
    }

    /// Whether one commit is in the history of another.
    pub fn is_ancestor(&self, ancestor: &str, of: &str) -> Result<bool, GitError> {
        match self.git().run(["merge-base", "--is-ancestor", ancestor, of]) {
            Ok(_) => Ok(true),
            Err(GitError::Failed { code: Some(1), .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// The diff between two trees or commits.
    pub fn diff(&self, base: &str, head: &str) -> Result<Vec<u8>, GitError> {
        let mut args = vec!["diff"];
        args.extend(DIFF_OPTIONS);
        args.extend(["--end-of-options", base, head, "--"]);
        self.git().run(args)
    }

    /// The paths of all files that differ between two trees or commits, as bytes. One that was renamed is two of them.
    pub fn changed_paths(&self, base: &str, head: &str) -> Result<Vec<Vec<u8>>, GitError> {
        let args = ["diff-tree", "-r", "-z", "--name-only", "--no-renames", "--end-of-options"];
        let printed = self.git().run(args.into_iter().chain([base, head, "--"]))?;
        let paths = printed.split(|byte| *byte == 0).filter(|path| !path.is_empty());
        Ok(paths.map(<[u8]>::to_vec).collect())
    }

    /// The first parent of a commit, whether it is here or not; the empty tree if it has none.
    pub fn parent(&self, commit: &str) -> Result<String, ReadError> {
        let parents = self.objects()?.parents(commit)?;
        Ok(parents.into_iter().next().unwrap_or_else(|| EMPTY_TREE.to_owned()))
    }

    /// Whether its history ends somewhere.
    pub fn is_shallow(&self) -> bool {
        !self.boundary().is_empty()
    }

    /// Commits whose parents are missing here, since the user's clone or a fetch of ours was shallow.
    pub(crate) fn boundary(&self) -> BTreeSet<String> {
        listed(&self.folder.join("shallow"))
    }
}

/// The lines of a file; none if there is no such file.
pub(crate) fn listed(path: &Path) -> BTreeSet<String> {
    let text = fs::read_to_string(path).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}
