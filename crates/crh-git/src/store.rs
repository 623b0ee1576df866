//! The private object store, with the user's repository as an alternate. Fetches, snapshots and
//! diffs happen here, so that the user's `.git` is never written. Of the user's configuration, only
//! filters and what fetching needs have an effect.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::{fs, io};

use crate::bare::{BareRepository, read_lines};
use crate::process::{Git, GitError, MIN_VERSION};
use crate::repository::{OpenError, Repository, commit_revision};
use crate::store_files::{LOCK, copy_with_time, lock_store, quote_alternate, remove_if_exists};
use crate::variables::HiddenVariables;
use crh_os::files;
use crh_os::names::{canonical, os_str};

/// Author and committer of the commits that crh creates. Because the date is fixed, equal trees,
/// parents and messages give equal commit ids.
pub(crate) const SNAPSHOT_IDENTITY: &[(&str, &str)] = &[
    ("GIT_AUTHOR_NAME", "crh"),
    ("GIT_AUTHOR_EMAIL", "crh@localhost"),
    ("GIT_AUTHOR_DATE", "@0 +0000"),
    ("GIT_COMMITTER_NAME", "crh"),
    ("GIT_COMMITTER_EMAIL", "crh@localhost"),
    ("GIT_COMMITTER_DATE", "@0 +0000"),
];

/// Attributes by which git converts more than line ends when it adds a file.
const CONVERTING_ATTRIBUTES: &[&str] = &["ident", "working-tree-encoding", "filter"];

/// Prefixes of settings for remotes, in lower case as git lists them.
const REMOTE_SETTINGS: &[&str] = &[
    "remote.",
    "url.",
    "credential.",
    "http.",
    "https.",
    "ssh.",
    "protocol.",
    "core.sshcommand",
    "core.gitproxy",
    "core.askpass",
];

/// File with the shallow boundary of the user's clone when the store was last opened.
const USER_BOUNDARY_FILE: &str = "crh-users-boundary";

/// Message of snapshot commits.
pub const SNAPSHOT_SUBJECT: &str = "Uncommitted changes";

/// Private store of one repository.
#[derive(Debug)]
pub struct Store {
    bare: BareRepository,
    /// The user's repository, or the store itself if standalone.
    repository: Repository,
    /// Remote with the objects that the user's partial clone omits.
    promisor: Option<String>,
    /// Variables hidden from the user's filters and credential helpers.
    hidden_variables: HiddenVariables,
    /// Locked until [`Store::release`], so that parallel crh processes prepare the store one after
    /// the other.
    lock: File,
}

/// Why the store cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The folder could not be written.
    #[error("cannot write the object store `{folder}`")]
    Io {
        /// Folder of the store.
        folder: PathBuf,
        /// Cause.
        source: io::Error,
    },
    /// The repository cannot be used.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// Git failed.
    #[error(transparent)]
    Git(#[from] GitError),
}

/// Uncommitted changes that a snapshot includes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SnapshotScope {
    /// Staged changes.
    Staged,
    /// All changes of tracked files.
    Tracked,
    /// All changes of tracked files, and untracked files that are not ignored.
    WithUntracked,
}

impl Store {
    /// Opens or creates the store of a repository. Waits for another crh that prepares the same
    /// store.
    pub fn open(
        folder: &Path,
        repository: &Repository,
        hidden_variables: HiddenVariables,
    ) -> Result<Self, StoreError> {
        let io = |source| StoreError::Io { folder: folder.to_owned(), source };
        let promisor = repository.check()?;
        fs::create_dir_all(folder.join("objects/info")).map_err(io)?;
        let lock = lock_store(folder).map_err(io)?;
        let (bare, repository) = (BareRepository::new(folder), repository.clone());
        let store = Self { bare, repository, promisor, hidden_variables, lock };
        store.initialise()?;
        Ok(store)
    }

    /// Opens or creates a store without a local clone. It is its own repository, without checkout,
    /// branch or remote.
    pub fn open_standalone(folder: &Path) -> Result<Self, StoreError> {
        let io = |source| StoreError::Io { folder: folder.to_owned(), source };
        fs::create_dir_all(folder).map_err(io)?;
        let lock = lock_store(folder).map_err(io)?;
        let bare = BareRepository::new(folder);
        Git::in_folder(folder).check_version(MIN_VERSION)?;
        init_bare(&bare)?;
        let repository = Repository::locate(folder)?;
        // A standalone store runs no user programs, so no variable must be hidden.
        let hidden_variables = HiddenVariables::default();
        let promisor = repository.promisor();
        Ok(Self { bare, repository, promisor, hidden_variables, lock })
    }

    /// Deletes the content of a store if it is damaged. Returns whether it was. The store contains
    /// only what crh can fetch or create again.
    pub fn delete_if_damaged(folder: &Path) -> Result<bool, StoreError> {
        let io = |source| StoreError::Io { folder: folder.to_owned(), source };
        if !folder.is_dir() {
            return Ok(false);
        }
        let lock = lock_store(folder).map_err(io)?;
        if !is_damaged(folder).map_err(io)? {
            return Ok(false);
        }
        for entry in fs::read_dir(folder).map_err(io)? {
            let entry = entry.map_err(io)?;
            let is_folder = entry.file_type().map_err(io)?.is_dir();
            let removed = match is_folder {
                true => fs::remove_dir_all(entry.path()),
                false if entry.file_name() == LOCK => Ok(()),
                false => fs::remove_file(entry.path()),
            };
            removed.map_err(io)?;
        }
        files::unlock(&lock).map_err(io)?;
        Ok(true)
    }

    /// Whether there is no local clone.
    pub(crate) fn is_standalone(&self) -> bool {
        let store_folder = canonical(self.bare.folder());
        store_folder.is_ok_and(|store_folder| store_folder == self.repository.common_dir)
    }

    /// Creates the bare repository and its link to the user's objects.
    fn initialise(&self) -> Result<(), StoreError> {
        init_bare(&self.bare)?;
        let user_objects = self.repository.common_dir.join("objects");
        let mut alternates = quote_alternate(&user_objects).into_encoded_bytes();
        alternates.push(b'\n');
        self.replace_file("objects/info/alternates", &alternates)?;
        if let Some(remote) = &self.promisor {
            // Missing objects are expected until they are fetched.
            self.bare.git().run(["config", "core.repositoryFormatVersion", "1"])?;
            self.bare.git().run(["config", "extensions.partialClone", remote])?;
        }
        self.update_shallow_boundary()
    }

    /// Unlocks the store. Resolved commits stay readable.
    pub fn release(&self) -> Result<(), StoreError> {
        files::unlock(&self.lock)
            .map_err(|source| StoreError::Io { folder: self.bare.folder().to_owned(), source })
    }

    /// Git for the user's remotes: its `GIT_DIR` is the store, with the remotes' names and
    /// settings.
    ///
    /// Settings are read in the user's repository, because some apply only to its folder. They are
    /// passed in the environment, because some are secret.
    pub(crate) fn remote_git(&self) -> Result<Git, GitError> {
        let config_list =
            self.repository.git().with_user_settings().run(["config", "--list", "-z"])?;
        let mut git = Git::in_folder(self.repository.folder())
            .with_variable("GIT_DIR", self.bare.folder())
            .with_network(&self.hidden_variables);
        let mut count = 0;
        for setting in config_list.split(|byte| *byte == 0) {
            let end = setting.iter().position(|byte| *byte == b'\n').unwrap_or(setting.len());
            let (key, value) = (&setting[..end], setting.get(end + 1..).unwrap_or(b"true"));
            if !REMOTE_SETTINGS.iter().any(|prefix| key.starts_with(prefix.as_bytes())) {
                continue;
            }
            // Windows cannot pass a setting that is not Unicode.
            let (Ok(key), Ok(value)) = (os_str(key), os_str(value)) else { continue };
            git = git
                .with_variable(format!("GIT_CONFIG_KEY_{count}"), key)
                .with_variable(format!("GIT_CONFIG_VALUE_{count}"), value);
            count += 1;
        }
        Ok(git.with_variable("GIT_CONFIG_COUNT", count.to_string()))
    }

    /// The underlying bare repository.
    pub fn bare(&self) -> &BareRepository {
        &self.bare
    }

    /// Excludes files from snapshots and from the list of untracked files.
    pub fn exclude(&mut self, files: impl IntoIterator<Item = PathBuf>) {
        self.repository.excluded.extend(files);
    }

    /// Remote with the objects that the user's partial clone omits.
    pub(crate) fn promisor(&self) -> Option<&str> {
        self.promisor.as_deref()
    }

    /// The user's repository.
    pub fn repository(&self) -> &Repository {
        &self.repository
    }

    /// Resolves a commit of the user's repository or of the store.
    pub fn commit(&self, name: &str) -> Option<String> {
        let revision = commit_revision(name);
        let args = ["rev-parse", "--verify", "--quiet", "--end-of-options", &revision];
        let in_store = || self.bare.git().text(args).ok().filter(|id| !id.is_empty());
        self.repository.commit(name).or_else(in_store)
    }

    /// Commits uncommitted changes to the store and returns the commit: `parent` if there are none.
    /// Works on a copy of the user's index, so that the user's index is not written.
    pub fn snapshot(
        &self,
        scope: SnapshotScope,
        parent: Option<&str>,
    ) -> Result<String, StoreError> {
        let io = |source| StoreError::Io { folder: self.bare.folder().to_owned(), source };
        let index = self.bare.folder().join("snapshot-index");
        // A killed crh may have left this lock. The store is locked, so no process uses it.
        remove_if_exists(&self.bare.folder().join("snapshot-index.lock")).map_err(io)?;
        match copy_with_time(&self.repository.index, &index) {
            Ok(()) => {}
            // A repository without commits and staged files has no index.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                remove_if_exists(&index).map_err(io)?;
            }
            Err(error) => return Err(io(error)),
        }
        let tree = self.write_tree(&index, scope, parent);
        remove_if_exists(&index).map_err(io)?;
        let tree = tree?;
        if let Some(parent) = parent
            && self.bare.git().text(["rev-parse", &format!("{parent}^{{tree}}")])? == tree
        {
            return Ok(parent.to_owned());
        }
        let mut args = vec!["commit-tree", &tree, "-m", SNAPSHOT_SUBJECT];
        args.extend(parent.iter().flat_map(|parent| ["-p", parent]));
        let git = SNAPSHOT_IDENTITY
            .iter()
            .fold(self.bare.git(), |git, (name, value)| git.with_variable(name, value));
        Ok(git.text(args)?)
    }

    fn write_tree(
        &self,
        index: &Path,
        scope: SnapshotScope,
        parent: Option<&str>,
    ) -> Result<String, GitError> {
        // Git LFS writes a cache of large files. Keep it out of the user's repository.
        let mut large_files = OsString::from("lfs.storage=");
        large_files.push(self.bare.folder().join("lfs"));
        let git = self
            .repository
            .git()
            .with_filters(&self.hidden_variables)
            .with_setting(large_files)
            .with_variable("GIT_INDEX_FILE", index)
            .with_variable("GIT_OBJECT_DIRECTORY", self.bare.folder().join("objects"))
            .with_variable(
                "GIT_ALTERNATE_OBJECT_DIRECTORIES",
                quote_alternate(&self.repository.common_dir.join("objects")),
            );
        let add_option = match scope {
            SnapshotScope::Staged => None,
            SnapshotScope::Tracked => Some("--update"),
            SnapshotScope::WithUntracked => Some("--all"),
        };
        if let Some(add_option) = add_option
            && self.is_dirty(&git, scope)?
        {
            let args = ["add", add_option, "--", ":/"].map(OsString::from);
            let added = git.run(args.into_iter().chain(self.repository.exclude_patterns()));
            // `git add --update` fails if the index is empty, because no file matches `:/`.
            if let Err(error) = added
                && !git.run(["ls-files", "-z"])?.is_empty()
            {
                return Err(error);
            }
            if let Some(parent) = parent {
                self.keep_committed_bytes(&git, parent)?;
            }
        }
        git.text(["write-tree"])
    }

    /// Restores the committed bytes of files that differ in the index only because of the
    /// attributes of the checkout. Such a file is unchanged: git would convert its committed bytes
    /// to the same content.
    fn keep_committed_bytes(&self, git: &Git, parent: &str) -> Result<(), GitError> {
        let args = ["diff-index", "--cached", "--no-renames", "--diff-filter=M", "-z", parent];
        let output = git.run(args)?;
        let fields: Vec<&[u8]> = output.split(|byte| *byte == 0).collect();
        let changes: Vec<(Vec<&[u8]>, &[u8])> = fields
            .chunks_exact(2)
            .map(|pair| (pair[0].split(|byte| *byte == b' ').collect(), pair[1]))
            .collect();
        let paths: Vec<u8> =
            changes.iter().flat_map(|(_, path)| [path, b"\0".as_slice()].concat()).collect();
        if paths.is_empty() {
            return Ok(());
        }
        let args = [&["check-attr", "-z", "--stdin"], CONVERTING_ATTRIBUTES].concat();
        let attributes = git.run_with_input(args, &paths)?;
        let attributes: Vec<&[u8]> = attributes.split(|byte| *byte == 0).collect();
        let converted: BTreeSet<&[u8]> = attributes
            .chunks_exact(3)
            .filter(|row| !matches!(row[2], b"unspecified" | b"unset"))
            .map(|row| row[0])
            .collect();
        let Some(objects) = self.bare.objects().ok().filter(|_| !converted.is_empty()) else {
            return Ok(());
        };
        let mut unchanged_entries = Vec::new();
        for (change, path) in changes.iter().filter(|(_, path)| converted.contains(path)) {
            let [_, mode, old_id, new_id, _] = change.as_slice() else { continue };
            // If the bytes cannot be read or converted, the file stays as it is in the index.
            let Ok(committed) = objects.file(parent, path) else { continue };
            let path_option = [b"--path=", *path].concat();
            let args = ["hash-object", "--stdin"].map(OsStr::new).into_iter();
            let Ok(path_option) = os_str(&path_option) else { continue };
            let args = args.chain([path_option]);
            let Ok(converted_id) = git.run_with_input(args, &committed) else { continue };
            if converted_id.trim_ascii_end() == *new_id {
                unchanged_entries.extend([*mode, b" ", *old_id, b"\t", *path, b"\0"].concat());
            }
        }
        if unchanged_entries.is_empty() {
            return Ok(());
        }
        git.run_with_input(["update-index", "-z", "--index-info"], &unchanged_entries).map(drop)
    }

    /// Whether the checkout differs from the index. A clean checkout needs no `git add`, which
    /// would change the modification times of object files.
    fn is_dirty(&self, git: &Git, scope: SnapshotScope) -> Result<bool, GitError> {
        // This command fails if a file has changed. The next one lists the changed files.
        match git.run(["update-index", "-q", "--refresh"]) {
            Ok(_) | Err(_) => {}
        }
        let lists = |args: &[&str]| -> Result<bool, GitError> {
            let args = args.iter().chain(&["--", ":/"]).map(OsString::from);
            Ok(!git.run(args.chain(self.repository.exclude_patterns()))?.is_empty())
        };
        Ok(lists(&["diff-files", "--name-only", "-z"])?
            || scope == SnapshotScope::WithUntracked
                && lists(&["ls-files", "-z", "--others", "--exclude-standard"])?)
    }

    /// Updates the shallow boundary: the user's boundary, except for commits that crh has deepened,
    /// plus the boundary of crh's own fetches.
    fn update_shallow_boundary(&self) -> Result<(), StoreError> {
        let user_boundary = read_lines(&self.repository.common_dir.join("shallow"));
        let last_user_boundary = read_lines(&self.bare.folder().join(USER_BOUNDARY_FILE));
        let mut boundary = self.bare.boundary();
        boundary.retain(|commit| {
            user_boundary.contains(commit) || !last_user_boundary.contains(commit)
        });
        // When git fetches the parents of a boundary commit, it removes the commit from the list.
        // To keep it removed, add only commits that are new in the user's boundary.
        boundary.extend(user_boundary.difference(&last_user_boundary).cloned());
        let lines = |commits: &BTreeSet<String>| -> String {
            commits.iter().map(|commit| format!("{commit}\n")).collect()
        };
        if boundary.is_empty() {
            let io = |source| StoreError::Io { folder: self.bare.folder().to_owned(), source };
            remove_if_exists(&self.bare.folder().join("shallow")).map_err(io)?;
        } else {
            self.replace_file("shallow", lines(&boundary).as_bytes())?;
        }
        self.replace_file(USER_BOUNDARY_FILE, lines(&user_boundary).as_bytes())
    }

    /// Replaces a file atomically.
    pub(crate) fn replace_file(&self, name: &str, bytes: &[u8]) -> Result<(), StoreError> {
        let io = |source| StoreError::Io { folder: self.bare.folder().to_owned(), source };
        let path = self.bare.folder().join(name);
        if fs::read(&path).is_ok_and(|existing| existing == bytes) {
            return Ok(());
        }
        let new_path = path.with_extension("new");
        fs::write(&new_path, bytes).and_then(|()| fs::rename(&new_path, &path)).map_err(io)
    }
}

/// Whether git cannot read a store, or an object that the store itself holds.
fn is_damaged(folder: &Path) -> io::Result<bool> {
    let git = BareRepository::new(folder).git();
    // A failure by crh's limits of time and memory says nothing about the store. Neither does an
    // unusual object, such as a commit without a mail address, which `fsck` reports as `error in
    // commit`.
    let is_failure = |message: &str| message.contains("error: ") || message.contains("fatal: ");
    let fails =
        |result| matches!(result, Err(GitError::Failed { message, .. }) if is_failure(&message));
    // Without `--full`, git checks only the loose objects of the store itself.
    if fails(git.run(["fsck", "--no-full", "--no-dangling"])) {
        return Ok(true);
    }
    let packs = match fs::read_dir(folder.join("objects/pack")) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        packs => packs?,
    };
    for file in packs {
        let file = file?.path();
        let is_index = file.extension().is_some_and(|extension| extension == "idx");
        if is_index && fails(git.run([OsStr::new("verify-pack"), file.as_os_str()])) {
            return Ok(true);
        }
    }
    Ok(false)
}

fn init_bare(bare: &BareRepository) -> Result<(), GitError> {
    if !bare.folder().join("HEAD").exists() {
        Git::in_folder(bare.folder()).run(["init", "--quiet", "--bare", "--template="])?;
    }
    Ok(())
}
