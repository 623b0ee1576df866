//! The user's repository: where it is and what it looks like. Nothing here writes to it.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::base::COMMON_NAMES;
use crate::process::{Git, GitError, OLDEST, OLDEST_FOR_PARTIAL};

/// The user's repository, found from a folder inside it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repository {
    /// The root of the checkout; none in a bare repository.
    pub work_tree: Option<PathBuf>,
    /// Its own git folder: HEAD and the index of this checkout.
    pub git_dir: PathBuf,
    /// The git folder that all its worktrees share: objects, refs and configuration.
    pub common_dir: PathBuf,
    /// The index: the checkout's own, unless somebody works with another one.
    pub index: PathBuf,
    /// Places that are no part of the checkout wherever they lie: what is written for a review.
    pub ours: Vec<PathBuf>,
}

/// A repository that this one is fetched from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remote {
    /// Its name.
    pub name: String,
    /// The address it is fetched from.
    pub url: String,
    /// Whether GitHub's own client was told that changes are proposed to this one.
    pub is_base: bool,
}

/// Why no repository could be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// There is none.
    #[error("`{0}` is not inside a git repository")]
    NotARepository(PathBuf),
    /// There is one, and it cannot be used.
    #[error("the repository `{folder}` cannot be opened: {message}", folder = folder.display())]
    Damaged {
        /// Where.
        folder: PathBuf,
        /// What was said.
        message: String,
    },
    /// Git knows it and will not touch it.
    #[error("git refuses to work in this repository: {0}")]
    NotTrusted(String),
    /// Its objects have other names than we can read.
    #[error("the repository uses `{0}` object names; only `sha1` can be read")]
    ObjectFormat(String),
    /// Git failed.
    #[error(transparent)]
    Git(#[from] GitError),
}

impl Repository {
    /// Finds the repository that a folder is in. Reads a few files; no process is started.
    pub fn discover(folder: &Path) -> Result<Self, OpenError> {
        let none = || OpenError::NotARepository(folder.to_owned());
        let start = fs::canonicalize(folder).map_err(|_| none())?;
        let (git_dir, work_tree) = match start.join(".git") {
            // The root of an ordinary checkout, where most people stand.
            git_dir if git_dir.is_dir() && git_dir.join("HEAD").is_file() => {
                (git_dir, Some(start.clone()))
            }
            _ => {
                let found = gix::discover::upwards(&start);
                let found = found.map_err(|error| not_found(folder, &start, &error))?;
                found.0.into_repository_and_work_tree_directories()
            }
        };
        let git_dir = fs::canonicalize(git_dir).map_err(|_| none())?;
        let work_tree = work_tree.map(fs::canonicalize).transpose().map_err(|_| none())?;
        // A linked worktree says where the rest is.
        let common_dir = match fs::read(git_dir.join("commondir")) {
            Ok(bytes) => git_dir.join(path(bytes.trim_ascii_end())),
            Err(_) => git_dir.clone(),
        };
        let common_dir = fs::canonicalize(common_dir).map_err(|_| none())?;
        // Whoever is inside the git folder is in no checkout, as git sees it.
        let work_tree = work_tree.filter(|_| !start.starts_with(&git_dir));
        let index = git_dir.join("index");
        Ok(Self { work_tree, git_dir, common_dir, index, ours: Vec::new() })
    }

    /// Asks git whether it is there and new enough, and whether it would touch this repository.
    pub(crate) fn check(&self) -> Result<(), OpenError> {
        // With the user's own settings, since they say whose repositories are trusted.
        let git = Git::in_folder(self.folder()).with_user_settings();
        let is_partial = self.promisor().is_some();
        git.version(if is_partial { OLDEST_FOR_PARTIAL } else { OLDEST })?;
        let args = ["rev-parse", "--show-object-format"];
        match git.text(args).map_err(|error| not_opened(self.folder(), error))?.as_str() {
            "sha1" => Ok(()),
            other => Err(OpenError::ObjectFormat(other.to_owned())),
        }
    }

    /// Git in this repository. For questions only: it never takes a lock, and nothing it is asked writes.
    pub(crate) fn git(&self) -> Git {
        Git::in_folder(self.folder()).with_setting("safe.directory=*")
    }

    /// Where git is run for this repository.
    pub(crate) fn folder(&self) -> &Path {
        self.work_tree.as_deref().unwrap_or(&self.git_dir)
    }

    /// The name of the branch that is checked out; none on a detached head.
    pub fn branch(&self) -> Option<String> {
        self.git().text(["symbolic-ref", "--quiet", "--short", "HEAD"]).ok()
    }

    /// A commit by any name that git knows; none if there is no such commit here.
    pub fn commit(&self, name: &str) -> Option<String> {
        let wanted = format!("{name}^{{commit}}");
        let args = ["rev-parse", "--verify", "--quiet", "--end-of-options", &wanted];
        self.git().text(args).ok().filter(|id| !id.is_empty())
    }

    /// The commit that is checked out; none if there is no commit yet. A commit that cannot be read is an error.
    pub fn head(&self) -> Result<Option<String>, GitError> {
        if let Some(id) = self.commit("HEAD") {
            return Ok(Some(id));
        }
        // A branch that was never committed to has no ref; one that has a ref has lost its commit.
        let has_name = self.git().run(["rev-parse", "--verify", "--quiet", "HEAD"]).is_ok();
        // Git itself does not say the name of a ref that it cannot read.
        let head = fs::read_to_string(self.git_dir.join("HEAD")).unwrap_or_default();
        let branch = head.strip_prefix("ref: ").map(str::trim_end);
        let has_file = branch.is_some_and(|name| self.common_dir.join(name).exists());
        if has_name || has_file {
            let (command, code) = ("rev-parse".to_owned(), None);
            let message = "the commit that `HEAD` names cannot be read".to_owned();
            return Err(GitError::Failed { command, code, message });
        }
        Ok(None)
    }

    /// The full name of the ref that a short name stands for, such as `refs/heads/main`; none for anything
    /// that is not the name of a ref.
    pub fn full_name(&self, name: &str) -> Option<String> {
        let args = ["rev-parse", "--symbolic-full-name", "--verify", "--quiet", "--end-of-options"];
        self.git()
            .text(args.into_iter().chain([name]))
            .ok()
            .filter(|name| name.starts_with("refs/"))
    }

    /// What a symbolic ref points to, such as `refs/remotes/origin/HEAD`.
    pub(crate) fn symbolic(&self, name: &str) -> Option<String> {
        self.git().text(["symbolic-ref", "--quiet", name]).ok()
    }

    /// The branches that changes may go to: what remotes say, as far as that is known here, which may be long ago; and what such a
    /// branch is mostly called.
    pub fn default_branches(&self) -> Vec<String> {
        let args = ["for-each-ref", "--format=%(symref:lstrip=3)", "refs/remotes/*/HEAD"];
        let printed = self.git().text(args).unwrap_or_default();
        let known = printed.lines().filter(|name| !name.is_empty());
        known.chain(COMMON_NAMES.iter().copied()).map(str::to_owned).collect()
    }

    /// The ref that a local branch follows, such as `refs/remotes/origin/main`.
    pub fn upstream(&self, branch: &str) -> Option<String> {
        let pattern = format!("refs/heads/{branch}");
        let args = ["for-each-ref", "--format=%(upstream)", "--end-of-options", &pattern];
        self.git().text(args).ok().filter(|name| !name.is_empty())
    }

    /// The remotes, in the order of their names.
    pub fn remotes(&self) -> Result<Vec<Remote>, GitError> {
        let names = self.git().text(["remote"])?;
        names
            .lines()
            .map(|name| {
                let url =
                    self.git().with_user_settings().text(["remote", "get-url", "--", name])?;
                let key = format!("remote.{name}.gh-resolved");
                let is_base = self.git().text(["config", "--get", &key]).is_ok_and(|v| v == "base");
                Ok(Remote { name: name.to_owned(), url, is_base })
            })
            .collect()
    }

    /// The remote that has what a partial clone left out; none in a whole clone.
    pub(crate) fn promisor(&self) -> Option<String> {
        let printed =
            self.git().text(["config", "--get-regexp", r"^remote\..*\.promisor$"]).ok()?;
        let first = printed.lines().find(|line| line.ends_with(" true"))?;
        let name = first.strip_prefix("remote.")?.strip_suffix(".promisor true")?;
        Some(name.to_owned())
    }

    /// Files that lie in the checkout and are neither tracked nor ignored, as bytes, sorted.
    pub fn untracked(&self) -> Result<Vec<Vec<u8>>, GitError> {
        if self.work_tree.is_none() {
            return Ok(Vec::new());
        }
        let args = ["ls-files", "-z", "--others", "--exclude-standard", "--", ":/"];
        let args = args.map(OsString::from).into_iter().chain(self.without_ours());
        let printed = self.git().with_user_settings().run(args)?;
        Ok(names(&printed))
    }

    /// Path patterns that leave out what is ours.
    pub(crate) fn without_ours(&self) -> impl Iterator<Item = OsString> {
        let inside =
            |path: &PathBuf| Some(path.strip_prefix(self.work_tree.as_ref()?).ok()?.to_owned());
        self.ours.iter().filter_map(inside).filter(|path| !path.as_os_str().is_empty()).map(
            |path| {
                let mut pattern = OsString::from(":(top,exclude,literal)");
                pattern.push(path);
                pattern
            },
        )
    }

    /// Whether git knows a file at a path from the root of the checkout, or below it.
    pub fn tracks(&self, path: &str) -> Result<bool, GitError> {
        let pattern = format!(":(top,literal){path}");
        Ok(!self.git().run(["ls-files", "-z", "--", &pattern])?.is_empty())
    }

    /// Files with conflicts that are not resolved, as bytes, sorted.
    pub fn unmerged(&self) -> Result<Vec<Vec<u8>>, GitError> {
        // Not `git diff`, which writes the index anew when only the time of a file has changed.
        let printed = self.git().run(["ls-files", "-z", "--unmerged"])?;
        let path = |line: &[u8]| line.iter().position(|byte| *byte == b'\t').map(|at| at + 1);
        let lines = printed.split(|byte| *byte == 0);
        let paths = lines.filter_map(|line| Some(line[path(line)?..].to_vec()));
        let paths: BTreeSet<Vec<u8>> = paths.collect();
        Ok(paths.into_iter().collect())
    }
}

fn names(printed: &[u8]) -> Vec<Vec<u8>> {
    let names = printed.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    let mut names: Vec<Vec<u8>> = names.map(<[u8]>::to_vec).collect();
    names.sort_unstable();
    names.dedup();
    names
}

fn path(bytes: &[u8]) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(bytes))
}

fn not_found(folder: &Path, start: &Path, error: &impl ToString) -> OpenError {
    match start.ancestors().map(|folder| folder.join(".git")).find(|folder| folder.exists()) {
        Some(folder) => OpenError::Damaged { folder, message: error.to_string() },
        None => OpenError::NotARepository(folder.to_owned()),
    }
}

fn not_opened(folder: &Path, error: GitError) -> OpenError {
    match error {
        GitError::Failed { message, .. } if message.contains("dubious ownership") => {
            OpenError::NotTrusted(message)
        }
        GitError::Failed { message, .. } => {
            OpenError::Damaged { folder: folder.to_owned(), message }
        }
        GitError::Missing
        | GitError::TooOld { .. }
        | GitError::TooSlow { .. }
        | GitError::Io { .. } => OpenError::Git(error),
    }
}
