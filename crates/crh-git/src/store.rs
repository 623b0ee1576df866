//! A private object store with the user's repository as an alternate: what is fetched, what is snapshotted
//! and what is diffed happens here, so that the user's `.git` is never written and its configuration and
//! attributes never change what is printed.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::{fs, io};

use crate::bare::{Bare, listed};
use crate::process::{Git, GitError, OLDEST};
use crate::repository::{OpenError, Repository};
use crate::variables::Withheld;

/// Says who made a commit that holds what was not committed. The date is fixed: the same tree on the same
/// commit is the same commit, whenever it is looked at.
pub(crate) const SNAPSHOT_IDENTITY: &[(&str, &str)] = &[
    ("GIT_AUTHOR_NAME", "crh"),
    ("GIT_AUTHOR_EMAIL", "crh@localhost"),
    ("GIT_AUTHOR_DATE", "@0 +0000"),
    ("GIT_COMMITTER_NAME", "crh"),
    ("GIT_COMMITTER_EMAIL", "crh@localhost"),
    ("GIT_COMMITTER_DATE", "@0 +0000"),
];

/// How the names of settings begin that say how remotes are reached. They are in lower case, as git lists them.
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

/// Where the list of commits at which the user's clone ended is kept, as it was when the store was last opened.
const USERS_BOUNDARY: &str = "crh-users-boundary";

/// Locks of git in the folder of a store. The other ones are beside refs.
const LOCKS: &[&str] = &["shallow.lock", "packed-refs.lock", "config.lock"];

/// The message of such a commit.
pub const SNAPSHOT_SUBJECT: &str = "Uncommitted changes";

/// The private store of one repository.
#[derive(Debug)]
pub struct Store {
    bare: Bare,
    /// The user's repository; the store itself if there is none.
    repository: Repository,
    /// What the programs must not see that the user has set up for files and remotes.
    withheld: Withheld,
    /// Held as long as the store is prepared: two crh at once take turns.
    lock: File,
}

/// Why the store could not be used.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The folder could not be written.
    #[error("writing the object store `{folder}`")]
    Io {
        /// The store.
        folder: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The repository cannot be used.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// Git failed.
    #[error(transparent)]
    Git(#[from] GitError),
}

/// What of a checkout that was not committed is part of a snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Snapshot {
    /// What is staged.
    Staged,
    /// All tracked files as they lie there.
    Tracked,
    /// All tracked files, and those that are untracked and not ignored.
    WithUntracked,
}

impl Store {
    /// Opens the store of a repository in a folder of ours, and makes it if it is not there. Waits for
    /// another crh that prepares the same repository.
    pub fn open(
        folder: &Path,
        repository: &Repository,
        withheld: Withheld,
    ) -> Result<Self, StoreError> {
        let io = |source| StoreError::Io { folder: folder.to_owned(), source };
        repository.check()?;
        fs::create_dir_all(folder.join("objects/info")).map_err(io)?;
        let lock = locked(folder).map_err(io)?;
        let (bare, repository) = (Bare::new(folder), repository.clone());
        let store = Self { bare, repository, withheld, lock };
        store.initialise()?;
        Ok(store)
    }

    /// Opens the store of a repository that is elsewhere and has no clone here, and makes it if it is not there. It is
    /// its own repository: without a checkout, a branch or a remote.
    pub fn alone(folder: &Path) -> Result<Self, StoreError> {
        let io = |source| StoreError::Io { folder: folder.to_owned(), source };
        fs::create_dir_all(folder).map_err(io)?;
        let lock = locked(folder).map_err(io)?;
        let bare = Bare::new(folder);
        Git::in_folder(folder).version(OLDEST)?;
        make_bare(&bare)?;
        let repository = Repository::discover(folder)?;
        // Nothing that the user has set up is started for it.
        let withheld = Withheld::default();
        Ok(Self { bare, repository, withheld, lock })
    }

    /// Whether there is no clone behind it.
    pub(crate) fn is_alone(&self) -> bool {
        let own = fs::canonicalize(self.bare.folder());
        own.is_ok_and(|own| own == self.repository.common_dir)
    }

    /// Makes it a bare repository that sees the user's objects.
    fn initialise(&self) -> Result<(), StoreError> {
        make_bare(&self.bare)?;
        let theirs = self.repository.common_dir.join("objects");
        let mut alternates = quoted(&theirs).as_bytes().to_vec();
        alternates.push(b'\n');
        self.replace("objects/info/alternates", &alternates)?;
        if let Some(remote) = self.repository.promisor() {
            // Objects may be missing here too until they are fetched; that is not damage.
            self.bare.git().run(["config", "core.repositoryFormatVersion", "1"])?;
            self.bare.git().run(["config", "extensions.partialClone", &remote])?;
        }
        self.take_over_boundary()
    }

    /// Lets the next crh in. What is pinned by now stays as it is, so that reading goes on.
    pub fn release(&self) -> Result<(), StoreError> {
        self.lock
            .unlock()
            .map_err(|source| StoreError::Io { folder: self.bare.folder().to_owned(), source })
    }

    /// Git in the store for talking to the user's remotes, which are known by the names and settings they
    /// have in the user's repository.
    ///
    /// What holds for that repository is looked up there, since some of it may hold for its folder only, and
    /// handed on in the environment, since some of it may be secret.
    pub(crate) fn remote_git(&self) -> Result<Git, GitError> {
        let listed = self.repository.git().with_user_settings().run(["config", "--list", "-z"])?;
        let mut git = Git::in_folder(self.repository.folder())
            .with_variable("GIT_DIR", self.bare.folder())
            .with_network(&self.withheld);
        let mut count = 0;
        for setting in listed.split(|byte| *byte == 0) {
            let end = setting.iter().position(|byte| *byte == b'\n').unwrap_or(setting.len());
            let (key, value) = (&setting[..end], setting.get(end + 1..).unwrap_or(b"true"));
            if !REMOTE_SETTINGS.iter().any(|prefix| key.starts_with(prefix.as_bytes())) {
                continue;
            }
            git = git
                .with_variable(format!("GIT_CONFIG_KEY_{count}"), OsStr::from_bytes(key))
                .with_variable(format!("GIT_CONFIG_VALUE_{count}"), OsStr::from_bytes(value));
            count += 1;
        }
        Ok(git.with_variable("GIT_CONFIG_COUNT", count.to_string()))
    }

    /// The store as what it is on disk, for reading.
    pub fn bare(&self) -> &Bare {
        &self.bare
    }

    /// The repository it belongs to.
    pub fn repository(&self) -> &Repository {
        &self.repository
    }

    /// A commit of the user's repository or of the store, by any name; none if there is no such commit.
    pub fn commit(&self, name: &str) -> Option<String> {
        let wanted = format!("{name}^{{commit}}");
        let args = ["rev-parse", "--verify", "--quiet", "--end-of-options", &wanted];
        let here = || self.bare.git().text(args).ok().filter(|id| !id.is_empty());
        self.repository.commit(name).or_else(here)
    }

    /// Writes the checkout as it lies there into the store, as a commit on top of `parent`; `parent` itself if
    /// nothing differs from it.
    ///
    /// The user's index is copied and only the copy is changed.
    pub fn snapshot(&self, what: Snapshot, parent: Option<&str>) -> Result<String, StoreError> {
        let io = |source| StoreError::Io { folder: self.bare.folder().to_owned(), source };
        let index = self.bare.folder().join("snapshot-index");
        // Left by a crh that was ended half-way: whoever wrote it is gone, since the store is locked.
        remove(&self.bare.folder().join("snapshot-index.lock")).map_err(io)?;
        match copy_with_time(&self.repository.index, &index) {
            Ok(()) => {}
            // A repository without a commit and without anything staged has no index yet.
            Err(error) if error.kind() == io::ErrorKind::NotFound => remove(&index).map_err(io)?,
            Err(error) => return Err(io(error)),
        }
        let tree = self.tree_of(&index, what);
        remove(&index).map_err(io)?;
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

    fn tree_of(&self, index: &Path, what: Snapshot) -> Result<String, GitError> {
        // Git LFS keeps a copy of every large file that it looks at: in our folder, not in the user's.
        let mut large_files = OsString::from("lfs.storage=");
        large_files.push(self.bare.folder().join("lfs"));
        let git = self
            .repository
            .git()
            .with_filters(&self.withheld)
            .with_setting(large_files)
            .with_variable("GIT_INDEX_FILE", index)
            .with_variable("GIT_OBJECT_DIRECTORY", self.bare.folder().join("objects"))
            .with_variable(
                "GIT_ALTERNATE_OBJECT_DIRECTORIES",
                quoted(&self.repository.common_dir.join("objects")),
            );
        let all = match what {
            Snapshot::Staged => None,
            Snapshot::Tracked => Some("--update"),
            Snapshot::WithUntracked => Some("--all"),
        };
        if let Some(all) = all {
            let args = ["add", all, "--", ":/"].map(OsString::from);
            git.run(args.into_iter().chain(self.repository.without_ours()))?;
        }
        git.text(["write-tree"])
    }

    /// A shallow clone ends at commits whose parents are missing. The store has to know which: those where the
    /// user's clone ends, but for those that a fetch of ours has gone behind, and those where such a fetch ended.
    fn take_over_boundary(&self) -> Result<(), StoreError> {
        let users = listed(&self.repository.common_dir.join("shallow"));
        let users_before = listed(&self.bare.folder().join(USERS_BOUNDARY));
        let mut boundary = self.bare.boundary();
        boundary.retain(|commit| users.contains(commit) || !users_before.contains(commit));
        // What the user's clone had before and the store has no more, git took out when it fetched the parents.
        boundary.extend(users.difference(&users_before).cloned());
        let lines = |commits: &BTreeSet<String>| -> String {
            commits.iter().map(|commit| format!("{commit}\n")).collect()
        };
        if boundary.is_empty() {
            let io = |source| StoreError::Io { folder: self.bare.folder().to_owned(), source };
            remove(&self.bare.folder().join("shallow")).map_err(io)?;
        } else {
            self.replace("shallow", lines(&boundary).as_bytes())?;
        }
        self.replace(USERS_BOUNDARY, lines(&users).as_bytes())
    }

    /// Puts a whole file in the place of another, so that nobody sees half of it.
    fn replace(&self, name: &str, bytes: &[u8]) -> Result<(), StoreError> {
        let io = |source| StoreError::Io { folder: self.bare.folder().to_owned(), source };
        let path = self.bare.folder().join(name);
        if fs::read(&path).is_ok_and(|old| old == bytes) {
            return Ok(());
        }
        let new = path.with_extension("new");
        fs::write(&new, bytes).and_then(|()| fs::rename(&new, &path)).map_err(io)
    }
}

/// Waits until no other crh prepares a store, and takes away the locks that a git of one left which was ended half-way: whoever held
/// them is gone, since the store is locked. With one of them in its place, no later fetch would work.
fn locked(folder: &Path) -> io::Result<File> {
    let lock = File::create(folder.join("crh.lock"))?;
    lock.lock()?;
    for name in LOCKS {
        remove(&folder.join(name))?;
    }
    let mut left = vec![folder.join("refs")];
    while let Some(refs) = left.pop() {
        let entries = match fs::read_dir(&refs) {
            Ok(entries) => entries,
            // It is not made yet.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        };
        for entry in entries {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                left.push(entry.path());
            } else if entry.path().extension().is_some_and(|end| end == "lock") {
                // No ref is called so.
                remove(&entry.path())?;
            }
        }
    }
    Ok(lock)
}

/// Makes a folder a bare repository, unless it is one.
fn make_bare(bare: &Bare) -> Result<(), GitError> {
    if !bare.folder().join("HEAD").exists() {
        Git::in_folder(bare.folder()).run(["init", "--quiet", "--bare", "--template="])?;
    }
    Ok(())
}

/// Copies an index with the time it was written. Git looks into files that changed when the index did, since their
/// times do not tell; an index that seems younger would hide such a change.
fn copy_with_time(from: &Path, to: &Path) -> io::Result<()> {
    // A copy has the mode of its original, and that of a repository one may only read cannot be written to.
    remove(to)?;
    fs::copy(from, to)?;
    fs::set_permissions(to, fs::Permissions::from_mode(0o600))?;
    let written = fs::metadata(from)?.modified()?;
    File::options().write(true).open(to)?.set_modified(written)
}

/// Removes a file that may not be there.
fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// A path as git reads it in `alternates`: quoted if it could be misread.
pub(crate) fn quoted(path: &Path) -> OsString {
    let bytes = path.as_os_str().as_bytes();
    let plain = !bytes.starts_with(b"\"") && !bytes.starts_with(b"#");
    if plain && !bytes.iter().any(|byte| matches!(byte, b'\n' | b':')) {
        return path.as_os_str().to_owned();
    }
    let mut quoted = vec![b'"'];
    for byte in bytes {
        match byte {
            b'\n' => quoted.extend_from_slice(b"\\n"),
            b'"' | b'\\' => quoted.extend_from_slice(&[b'\\', *byte]),
            other => quoted.push(*other),
        }
    }
    quoted.push(b'"');
    OsStr::from_bytes(&quoted).to_owned()
}
