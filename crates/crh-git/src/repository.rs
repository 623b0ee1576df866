//! The user's repository. No function in this file writes to it.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::File;
use std::io::{ErrorKind, Read as _};
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::{fs, thread};

use gix::bstr::ByteSlice as _;

use crate::process::{Git, GitError, MIN_VERSION, MIN_VERSION_PARTIAL};
use crate::variables::checkouts_around;
use crh_os::names::{canonical, os_str};

/// Common names of the main branch.
pub(crate) const MAIN_BRANCH_NAMES: &[&str] = &["main", "master", "develop", "trunk"];
/// Name of git's folder in a checkout.
const GIT_DIR: &str = ".git";
/// Branch name that git writes into `HEAD` if it keeps refs in reftables. No branch has this name.
const NO_BRANCH: &str = ".invalid";
/// Maximum bytes of a configuration file that crh itself looks at. Git reads a longer one.
const CONFIG_MAX: u64 = 1 << 20;

/// The user's repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repository {
    /// Root of the checkout; `None` in a bare repository.
    pub work_tree: Option<PathBuf>,
    /// Git folder of this checkout, with `HEAD` and the index.
    pub git_dir: PathBuf,
    /// Git folder shared by all worktrees: objects, refs and configuration.
    pub common_dir: PathBuf,
    /// The index of the checkout, unless the caller set another one.
    pub index: PathBuf,
    /// Paths that crh writes and that do not belong to the checkout.
    pub excluded: Vec<PathBuf>,
}

/// A remote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remote {
    /// Name.
    pub name: String,
    /// Fetch URL.
    pub url: String,
    /// Whether `gh` has set this remote as the target of pull requests.
    pub is_base: bool,
}

/// Why a repository could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Not inside a repository.
    #[error("`{0}` is not inside a git repository")]
    NotARepository(PathBuf),
    /// The repository is unusable.
    #[error("cannot open the repository `{folder}`: {message}", folder = folder.display())]
    Damaged {
        /// The folder.
        folder: PathBuf,
        /// Cause.
        message: String,
    },
    /// A bare repository inside a checkout, which may have been committed there.
    #[error(
        "`{bare}` is a bare repository inside the checkout `{checkout}`; crh does not trust its settings",
        bare = bare.display(), checkout = checkout.display()
    )]
    BareInCheckout {
        /// Folder of the bare repository.
        bare: PathBuf,
        /// Root of the checkout around it.
        checkout: PathBuf,
    },
    /// Git refuses the repository because of its owner.
    #[error("git refuses to work in this repository: {0}")]
    NotTrusted(String),
    /// Unsupported object format.
    #[error("the repository uses the `{0}` object format; crh supports only `sha1`")]
    ObjectFormat(String),
    /// Git failed.
    #[error(transparent)]
    Git(#[from] GitError),
}

impl Repository {
    /// Finds the repository that contains a folder. Starts no process.
    pub fn discover(folder: &Path) -> Result<Self, OpenError> {
        let repository = Self::locate(folder)?;
        let Self { git_dir, work_tree, .. } = &repository;
        match checkout_around_bare(git_dir, work_tree.as_deref()) {
            Some(checkout) => Err(OpenError::BareInCheckout { bare: git_dir.clone(), checkout }),
            None => Ok(repository),
        }
    }

    /// Like [`Self::discover`], but accepts a bare repository inside a checkout. For repositories
    /// that crh has created.
    pub(crate) fn locate(folder: &Path) -> Result<Self, OpenError> {
        let not_a_repository = || OpenError::NotARepository(folder.to_owned());
        let start = canonical(folder).map_err(|_| not_a_repository())?;
        let (git_dir, work_tree) = match start.join(".git") {
            // At the root of an ordinary checkout, skip the search.
            git_dir if git_dir.is_dir() && git_dir.join("HEAD").is_file() => {
                (git_dir, Some(start.clone()))
            }
            _ => {
                let location = gix::discover::upwards(&start);
                let location = location.map_err(|error| discover_error(folder, &start, &error))?;
                location.0.into_repository_and_work_tree_directories()
            }
        };
        let git_dir = canonical(git_dir).map_err(|_| not_a_repository())?;
        let work_tree = work_tree.map(canonical).transpose().map_err(|_| not_a_repository())?;
        // A linked worktree points to the shared folder.
        let common_dir = match fs::read(git_dir.join("commondir")) {
            Ok(bytes) => match os_str(without_line_break(&bytes)) {
                Ok(path) => git_dir.join(path),
                Err(_) => return Err(not_a_repository()),
            },
            Err(_) => git_dir.clone(),
        };
        let common_dir = canonical(common_dir).map_err(|_| not_a_repository())?;
        // As in git, there is no checkout inside the git folder.
        let work_tree = work_tree.filter(|_| !start.starts_with(&git_dir));
        let index = git_dir.join("index");
        Ok(Self { work_tree, git_dir, common_dir, index, excluded: Vec::new() })
    }

    /// Checks the git version, and that git trusts this repository. Returns its [`Self::promisor`].
    pub(crate) fn check(&self) -> Result<Option<String>, OpenError> {
        // The user's settings decide which repositories are trusted.
        let git = Git::in_folder(self.folder()).with_user_settings();
        let promisor = self.promisor();
        let min_version = if promisor.is_some() { MIN_VERSION_PARTIAL } else { MIN_VERSION };
        let args = ["rev-parse", "--show-object-format", "--is-bare-repository"];
        let args = args.into_iter().chain(["--is-inside-work-tree", "--show-prefix"]);
        let (version, output) = thread::scope(|scope| {
            let version = scope.spawn(|| git.check_version(min_version));
            let output = git.text(args);
            (version.join().unwrap_or_else(|panic| resume_unwind(panic)), output)
        });
        version?;
        let output = output.map_err(|error| open_error(self.folder(), error))?;
        let answers: Vec<&str> = output.lines().collect();
        match answers.as_slice() {
            // A hostile `core.worktree` would make git read another folder.
            ["sha1", "false", is_inside, prefix @ ..]
                if self.work_tree.is_some() && (*is_inside == "false" || !prefix.is_empty()) =>
            {
                let message =
                    "git uses another folder as the working tree; see the setting `core.worktree`";
                let (folder, message) = (self.folder().to_owned(), message.to_owned());
                Err(OpenError::Damaged { folder, message })
            }
            ["sha1", ..] => Ok(promisor),
            _ => Err(OpenError::ObjectFormat(
                answers.first().copied().unwrap_or_default().to_owned(),
            )),
        }
    }

    /// Git in this repository, for read-only commands without locks.
    pub(crate) fn git(&self) -> Git {
        Git::in_folder(self.folder()).with_setting("safe.directory=*")
    }

    /// Folder in which git runs.
    pub(crate) fn folder(&self) -> &Path {
        self.work_tree.as_deref().unwrap_or(&self.git_dir)
    }

    /// Current branch; `None` for a detached HEAD.
    pub fn branch(&self) -> Option<String> {
        let head = fs::read_to_string(self.git_dir.join("HEAD")).unwrap_or_default();
        let branch = head.strip_prefix("ref: refs/heads/").map(str::trim_end);
        // A branch can be a symbolic ref to another branch, and only git can read refs that are not
        // in files.
        let is_plain = |name: &&str| {
            let file = fs::read_to_string(self.common_dir.join("refs/heads").join(name));
            *name != NO_BRANCH && !file.is_ok_and(|text| text.starts_with("ref:"))
        };
        if let Some(branch) = branch.filter(is_plain) {
            return Some(branch.to_owned());
        }
        self.git().text(["symbolic-ref", "--quiet", "--short", "HEAD"]).ok()
    }

    /// Resolves a commit by any name.
    pub fn commit(&self, name: &str) -> Option<String> {
        let revision = commit_revision(name);
        let args = ["rev-parse", "--verify", "--quiet", "--end-of-options", &revision];
        self.git().text(args).ok().filter(|id| !id.is_empty())
    }

    /// The local branches of these names that exist, with their commits.
    pub(crate) fn branch_tips<'a>(&self, names: &[&'a str]) -> Vec<(&'a str, String)> {
        let revision = |name: &&str| format!("refs/heads/{name}^{{commit}}\n");
        let input: String = names.iter().map(revision).collect();
        let args = ["cat-file", "--batch-check=%(objectname)"];
        let output = self.git().run_with_input(args, input.as_bytes()).unwrap_or_default();
        let output = String::from_utf8_lossy(&output);
        let tips = names.iter().zip(output.lines()).filter(|(_, line)| !line.contains(' '));
        tips.map(|(name, tip)| (*name, tip.to_owned())).collect()
    }

    /// Full names of the tag, branch and remote branch with this name, if they name different
    /// commits. Git would use the tag, and fetching a fork may add any tag.
    pub fn ambiguous_refs(&self, name: &str) -> Result<Vec<String>, GitError> {
        let kinds = ["refs/tags/", "refs/heads/", "refs/remotes/"];
        let names = kinds.map(|kind| format!("{kind}{name}"));
        let format = "--format=%(refname)".to_owned();
        let output =
            self.git().text([&["for-each-ref".to_owned(), format], &names[..]].concat())?;
        // A name also matches the refs below it.
        let refs: Vec<String> = output
            .lines()
            .filter(|line| names.iter().any(|name| name == line))
            .map(str::to_owned)
            .collect();
        if refs.len() < 2 {
            return Ok(Vec::new());
        }
        let commits: BTreeSet<Option<String>> = refs.iter().map(|name| self.commit(name)).collect();
        Ok(if commits.len() > 1 { refs } else { Vec::new() })
    }

    /// The commit of a local branch, if the name can mean nothing else: no other ref, revision or
    /// file of git. `None` also if git must decide.
    pub fn plain_branch(&self, name: &str) -> Option<String> {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./".contains(&byte);
        let is_commit_id = name.len() == 40 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
        // Git keeps refs such as `HEAD` next to its folder `refs`.
        let is_root_ref = !name.bytes().any(|byte| byte.is_ascii_lowercase());
        let is_file = [&self.git_dir, &self.common_dir].iter().any(|it| it.join(name).exists());
        if is_commit_id || is_root_ref || is_file || !name.bytes().all(is_plain) {
            return None;
        }
        let branch = format!("refs/heads/{name}");
        let others = ["refs/", "refs/tags/", "refs/remotes/"].map(|kind| format!("{kind}{name}"));
        let remote_head = format!("refs/remotes/{name}/HEAD");
        let mut args =
            vec!["for-each-ref", "--format=%(refname) %(objecttype) %(objectname)%(symref)"];
        args.extend([&branch, &remote_head].into_iter().chain(&others).map(String::as_str));
        let output = self.git().text(args).ok()?;
        let mut refs = output.lines().filter_map(|line| line.split_once(' '));
        if refs.clone().any(|(name, _)| name == remote_head || others.iter().any(|it| it == name)) {
            return None;
        }
        let (_, target) = refs.find(|(name, _)| *name == branch)?;
        let id = target.strip_prefix("commit ")?;
        // A symbolic ref has the name of its target after the id.
        (id.len() == 40).then(|| id.to_owned())
    }

    /// Current commit; `None` before the first commit. An unreadable commit is an error.
    pub fn head(&self) -> Result<Option<String>, GitError> {
        if let Some(id) = self.commit("HEAD") {
            return Ok(Some(id));
        }
        // Before the first commit, the ref that `HEAD` names does not exist. If it exists, its
        // commit is missing.
        let has_name = self.git().run(["rev-parse", "--verify", "--quiet", "HEAD"]).is_ok();
        // Git does not print the name of a ref that it cannot read.
        let head = fs::read_to_string(self.git_dir.join("HEAD")).unwrap_or_default();
        let branch = head.strip_prefix("ref: ").map(str::trim_end);
        let has_file = branch.is_some_and(|name| self.common_dir.join(name).exists());
        if has_name || has_file {
            let (command, code) = ("rev-parse".to_owned(), None);
            let message = "cannot read the commit of `HEAD`".to_owned();
            return Err(GitError::Failed { command, code, message });
        }
        Ok(None)
    }

    /// Full name of a ref, such as `refs/heads/main`; `None` if it is not a ref.
    pub fn full_name(&self, name: &str) -> Option<String> {
        let args = ["rev-parse", "--symbolic-full-name", "--verify", "--quiet", "--end-of-options"];
        self.git()
            .text(args.into_iter().chain([name]))
            .ok()
            .filter(|name| name.starts_with("refs/"))
    }

    /// Target of a symbolic ref, such as `refs/remotes/origin/HEAD`.
    pub(crate) fn symbolic_target(&self, name: &str) -> Option<String> {
        self.git().text(["symbolic-ref", "--quiet", name]).ok()
    }

    /// Possible target branches: the remotes' default branches as last fetched, and common names.
    pub fn default_branches(&self) -> Vec<String> {
        let args = ["for-each-ref", "--format=%(symref:lstrip=3)", "refs/remotes/*/HEAD"];
        let output = self.git().text(args).unwrap_or_default();
        let remote_defaults = output.lines().filter(|name| !name.is_empty());
        remote_defaults.chain(MAIN_BRANCH_NAMES.iter().copied()).map(str::to_owned).collect()
    }

    /// Upstream ref of a local branch, such as `refs/remotes/origin/main`.
    pub fn upstream(&self, branch: &str) -> Option<String> {
        let pattern = format!("refs/heads/{branch}");
        let args = ["for-each-ref", "--format=%(upstream)", "--end-of-options", &pattern];
        self.git().text(args).ok().filter(|name| !name.is_empty())
    }

    /// Remotes, sorted by name.
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

    /// Folder of hooks that the user's git uses instead of the repository's own.
    pub fn foreign_hooks(&self) -> Option<String> {
        let arguments = ["config", "--show-origin", "--get-all", "core.hooksPath"];
        let values = self.git().with_user_settings().text(arguments).ok()?;
        // crh itself switches hooks off, on git's command line.
        let values = values.lines().filter_map(|line| line.split_once('\t'));
        let mut values = values.filter(|(origin, _)| !origin.starts_with("command line"));
        values.next_back().map(|(_, folder)| folder.to_owned())
    }

    /// Remote that a local branch tracks.
    pub(crate) fn tracked_remote(&self, branch: &str) -> Option<String> {
        self.git().text(["config", "--get", &format!("branch.{branch}.remote")]).ok()
    }

    /// Remote with the objects that a partial clone omits.
    pub(crate) fn promisor(&self) -> Option<String> {
        let files = [self.common_dir.join("config"), self.git_dir.join("config.worktree")];
        if !files.iter().any(|file| may_name_promisor(file)) {
            return None;
        }
        let output = self.git().text(["config", "--get-regexp", r"^remote\..*\.promisor$"]).ok()?;
        let line = output.lines().find(|line| line.ends_with(" true"))?;
        let name = line.strip_prefix("remote.")?.strip_suffix(".promisor true")?;
        Some(name.to_owned())
    }

    /// Untracked files that are not ignored, sorted.
    pub fn untracked(&self) -> Result<Vec<Vec<u8>>, GitError> {
        if self.work_tree.is_none() {
            return Ok(Vec::new());
        }
        let args = ["ls-files", "-z", "--others", "--exclude-standard", "--", ":/"];
        let args = args.map(OsString::from).into_iter().chain(self.exclude_patterns());
        let output = self.git().with_user_settings().run(args)?;
        Ok(split_names(&output))
    }

    /// Path patterns that exclude the files of crh (`excluded`) from the checkout.
    pub(crate) fn exclude_patterns(&self) -> impl Iterator<Item = OsString> {
        let path_in_checkout =
            |path: &PathBuf| Some(path.strip_prefix(self.work_tree.as_ref()?).ok()?.to_owned());
        self.excluded
            .iter()
            .filter_map(path_in_checkout)
            .filter(|path| !path.as_os_str().is_empty())
            .map(|path| {
                let mut pattern = OsString::from(":(top,exclude,literal)");
                pattern.push(path);
                pattern
            })
    }

    /// Whether git tracks a file at or below a path.
    pub fn tracks(&self, path: &str) -> Result<bool, GitError> {
        let pattern = format!(":(top,literal){path}");
        Ok(!self.git().run(["ls-files", "-z", "--", &pattern])?.is_empty())
    }

    /// Whether git tracks this path itself: a file, symlink or submodule.
    pub fn tracks_exactly(&self, path: &str) -> Result<bool, GitError> {
        let pattern = format!(":(top,literal){path}");
        let output = self.git().run(["ls-files", "-z", "--full-name", "--", &pattern])?;
        Ok(output.split(|byte| *byte == 0).any(|name| name == path.as_bytes()))
    }

    /// Whether one of the revisions has a file or folder at a path. Unknown revisions do not count.
    pub fn has_path_at(&self, revisions: &[String], path: &str) -> bool {
        if path.contains('\n') {
            return false;
        }
        let input: String =
            revisions.iter().map(|revision| format!("{revision}:{path}\n")).collect();
        let args = ["cat-file", "--batch-check=%(objecttype)"];
        let output = self.git().run_with_input(args, input.as_bytes()).unwrap_or_default();
        let mut types = output.split(|byte| *byte == b'\n');
        types.any(|name| matches!(name, b"blob" | b"tree" | b"commit"))
    }

    /// Files with unresolved conflicts, sorted.
    pub fn unmerged(&self) -> Result<Vec<Vec<u8>>, GitError> {
        // `git diff` would refresh and write the index.
        let output = self.git().run(["ls-files", "-z", "--unmerged"])?;
        let path_start =
            |line: &[u8]| line.iter().position(|byte| *byte == b'\t').map(|tab| tab + 1);
        let lines = output.split(|byte| *byte == 0);
        let paths = lines.filter_map(|line| Some(line[path_start(line)?..].to_vec()));
        let paths: BTreeSet<Vec<u8>> = paths.collect();
        Ok(paths.into_iter().collect())
    }
}

/// A revision for the commit that `name` leads to, for example through a tag.
pub(crate) fn commit_revision(name: &str) -> String {
    // `:/text` extends to the end, so a suffix would be part of the text. It names a commit.
    if name.starts_with(":/") { name.to_owned() } else { format!("{name}^{{commit}}") }
}

/// A path as git writes it into a file. Blanks at its end belong to the path.
fn without_line_break(mut path: &[u8]) -> &[u8] {
    while let [start @ .., b'\n' | b'\r'] = path {
        path = start;
    }
    path
}

/// Whether a configuration file, or a file that it includes, may name a promisor. This saves a git
/// process for almost all repositories.
fn may_name_promisor(config: &Path) -> bool {
    let mut text = Vec::new();
    let read = File::open(config).and_then(|file| file.take(CONFIG_MAX).read_to_end(&mut text));
    let is_cut = text.len() as u64 == CONFIG_MAX;
    text.make_ascii_lowercase();
    match read {
        Err(error) if error.kind() == ErrorKind::NotFound => false,
        Ok(_) if !is_cut => ["promisor", "include"].iter().any(|word| text.contains_str(word)),
        Ok(_) | Err(_) => true,
    }
}

fn split_names(output: &[u8]) -> Vec<Vec<u8>> {
    let names = output.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    let mut names: Vec<Vec<u8>> = names.map(<[u8]>::to_vec).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// The checkout around a bare repository, if there is one. Folders in `.git` do not count as bare
/// repositories, as with git's setting `safe.bareRepository=explicit`.
fn checkout_around_bare(git_dir: &Path, work_tree: Option<&Path>) -> Option<PathBuf> {
    let is_bare = work_tree.is_none_or(|root| !root.join(GIT_DIR).exists());
    if !is_bare || git_dir.components().any(|part| part.as_os_str() == GIT_DIR) {
        return None;
    }
    checkouts_around(git_dir.parent()?).into_iter().next()
}

fn discover_error(folder: &Path, start: &Path, error: &impl ToString) -> OpenError {
    match start.ancestors().map(|folder| folder.join(".git")).find(|folder| folder.exists()) {
        Some(folder) => OpenError::Damaged { folder, message: error.to_string() },
        None => OpenError::NotARepository(folder.to_owned()),
    }
}

fn open_error(folder: &Path, error: GitError) -> OpenError {
    match error {
        GitError::Failed { message, .. } if message.contains("dubious ownership") => {
            OpenError::NotTrusted(message)
        }
        GitError::Failed { message, .. } => {
            OpenError::Damaged { folder: folder.to_owned(), message }
        }
        GitError::NotInstalled
        | GitError::TooOld { .. }
        | GitError::TimedOut { .. }
        | GitError::TooMuchOutput { .. }
        | GitError::TooManyFiles { .. }
        | GitError::TooDeep { .. }
        | GitError::OutOfMemory { .. }
        | GitError::Io { .. } => OpenError::Git(error),
    }
}
