//! Decides which repository a call may use: only one inside the roots of the client. A linked
//! worktree inside the roots may use its repository outside, because that repository lists it.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crh_os::names::canonical;

use url::Url;

/// Maximum size of `.git`, `HEAD`, `commondir`, `gitdir` and `alternates` files. git writes a line
/// or a few.
const GIT_FILE_MAX: u64 = 8 << 10;
/// Maximum entries of a git folder. git packs objects and refs long before.
const ENTRIES_MAX: usize = 1_000_000;
/// Entries of a git folder from which git commands show content. A folder counts with all that it
/// contains.
#[rustfmt::skip]
const SHOWN_NAMES: [&str; 10] = [
    "HEAD", "config", "config.worktree", "index", "info", "objects", "packed-refs", "refs", "reftable", "shallow",
];

/// Canonical paths of the folders that the client opened or the user named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Roots(Vec<PathBuf>);

/// Why there is no repository for a call.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub(crate) enum RootError {
    #[error(
        "the client has MCP roots but opened no folder; open the folder of a git repository in it, or start `crh mcp --root DIR`"
    )]
    NoRoot,
    #[error("the client opened several folders; name one of them as `repository`: {0}")]
    SeveralRoots(String),
    /// One message for all cases, so that a client cannot find out which outside paths exist.
    #[error("`{0}` is not a folder, or is outside of the folders that the client opened")]
    NotInside(String),
    #[error("`{0}` is not in a git repository; name the folder of a checkout as `repository`")]
    NoRepository(String),
    #[error("the client opened only a part of the repository `{0}`; open that folder")]
    PartOnly(String),
    /// One message for both cases, so that a client cannot find out which outside paths exist.
    #[error(
        "the git folder of `{0}` is damaged, or leads out of the folders that the client opened; open all folders of the repository"
    )]
    GitDir(String),
}

impl Roots {
    /// The folders that exist.
    pub(crate) fn new(folders: impl IntoIterator<Item = PathBuf>) -> Self {
        let folders = folders.into_iter().filter_map(|folder| canonical(folder).ok());
        Self(folders.filter(|folder| folder.is_dir()).collect())
    }

    /// The folders of `file://` URIs. Others are left out.
    pub(crate) fn from_uris<'a>(uris: impl IntoIterator<Item = &'a str>) -> Self {
        let folder = |uri: &str| Url::parse(uri).ok()?.to_file_path().ok();
        Self::new(uris.into_iter().filter_map(folder))
    }

    /// The root folder of the checkout that a call names. Without a name, it is the checkout of the
    /// only root.
    pub(crate) fn repository(&self, named: Option<&str>) -> Result<PathBuf, RootError> {
        let folder = match (named, self.0.as_slice()) {
            (_, []) => return Err(RootError::NoRoot),
            (None, [only]) => only.clone(),
            (None, several) => {
                let names: Vec<String> =
                    several.iter().map(|root| format!("`{}`", root.display())).collect();
                return Err(RootError::SeveralRoots(names.join(", ")));
            }
            (Some(named), [first, ..]) => canonical(first.join(named))
                .ok()
                .filter(|path| self.contains(path) && path.is_dir())
                .ok_or_else(|| RootError::NotInside(named.to_owned()))?,
        };
        let top = folder.ancestors().find(|folder| folder.join(".git").symlink_metadata().is_ok());
        let top = top.ok_or_else(|| RootError::NoRepository(folder.display().to_string()))?;
        let shown = top.display().to_string();
        if !self.contains(top) {
            return Err(RootError::PartOnly(shown));
        }
        match self.has_own_git_dir(top) {
            Some(true) => Ok(top.to_owned()),
            Some(false) | None => Err(RootError::GitDir(shown)),
        }
    }

    /// Whether a canonical path is inside a root.
    pub(crate) fn contains(&self, path: &Path) -> bool {
        self.0.iter().any(|root| path.starts_with(root))
    }

    /// Whether git reads the checkout's repository inside the roots, or the checkout is a linked
    /// worktree. A hostile folder can name any repository in its `.git`. `None` if a file that git
    /// needs cannot be read.
    fn has_own_git_dir(&self, top: &Path) -> Option<bool> {
        let dot_git = top.join(".git");
        let git_dir = match dot_git.is_dir() {
            true => canonical(&dot_git).ok()?,
            false => canonical(top.join(read_line(&dot_git)?.strip_prefix("gitdir: ")?)).ok()?,
        };
        if !self.contains(&git_dir) {
            // The repository of a linked worktree lists the path of its `.git` file.
            let listed = git_dir.join(read_line(&git_dir.join("gitdir"))?);
            let listed = canonical(listed.parent()?).ok()?.join(listed.file_name()?);
            return Some(listed == dot_git && dot_git.symlink_metadata().ok()?.is_file());
        }
        let common_dir = match git_dir.join("commondir") {
            file if file.exists() => canonical(git_dir.join(read_line(&file)?)).ok()?,
            _ => git_dir.clone(),
        };
        // git ignores an invalid folder, and searches for a repository in the folders above.
        if !is_head(&read_line(&git_dir.join("HEAD"))?)
            || !["objects", "refs"].iter().all(|name| common_dir.join(name).is_dir())
        {
            return None;
        }
        let shown = [&git_dir, &common_dir].into_iter().flat_map(|folder| {
            SHOWN_NAMES.iter().map(|name| folder.join(name)).filter(|path| path.exists())
        });
        let objects = object_folders(common_dir.join("objects"))?;
        self.contain_all(shown.chain(objects).collect())
    }

    /// Whether paths, and all that the folders among them contain, are inside the roots after
    /// following symlinks. `None` if there are too many, or one cannot be read.
    fn contain_all(&self, mut pending: Vec<PathBuf>) -> Option<bool> {
        let mut folders = BTreeSet::new();
        let mut entry_count = 0;
        while let Some(path) = pending.pop() {
            let path = match canonical(&path) {
                Ok(path) => path,
                // git removed it since its folder was read.
                Err(_) if fs::symlink_metadata(&path).is_err() => continue,
                Err(_) => return None,
            };
            if !self.contains(&path) {
                return Some(false);
            }
            if !path.is_dir() || !folders.insert(path.clone()) {
                continue;
            }
            for entry in fs::read_dir(&path).ok()? {
                let entry = entry.ok()?;
                entry_count += 1;
                if entry_count > ENTRIES_MAX {
                    return None;
                }
                if !entry.file_type().ok()?.is_file() {
                    pending.push(entry.path());
                }
            }
        }
        Some(true)
    }
}

/// Whether a text names a branch or a commit, as git demands for `HEAD`.
fn is_head(text: &str) -> bool {
    let is_branch = text.strip_prefix("ref: ").is_some_and(|name| name.starts_with("refs/"));
    is_branch || text.len() >= 40 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// A folder of objects, and those from which it borrows objects. `None` if one cannot be read.
fn object_folders(objects: PathBuf) -> Option<Vec<PathBuf>> {
    let mut folders = vec![canonical(objects).ok()?];
    let mut index = 0;
    while let Some(folder) = folders.get(index).cloned() {
        index += 1;
        let list = folder.join("info/alternates");
        let list = if list.exists() { read_short(&list)? } else { String::new() };
        for line in list.split('\n').filter(|line| !line.is_empty() && !line.starts_with('#')) {
            // git removes the quotes of a quoted line, and resolves `..` before it follows
            // symlinks. crh does neither, so it rejects such lines.
            if line.starts_with('"') || line.trim_start_matches("../").contains("..") {
                return None;
            }
            let borrowed = canonical(folder.join(line)).ok()?;
            if !folders.contains(&borrowed) {
                folders.push(borrowed);
            }
        }
    }
    Some(folders)
}

fn read_short(file: &Path) -> Option<String> {
    let is_short = |data: fs::Metadata| data.is_file() && data.len() <= GIT_FILE_MAX;
    let is_short = fs::metadata(file).is_ok_and(is_short);
    is_short.then(|| fs::read_to_string(file).ok()).flatten()
}

/// The only line of a short file. As in git, blanks at its end belong to the line.
fn read_line(file: &Path) -> Option<String> {
    read_short(file).map(|text| text.trim_end_matches(['\n', '\r']).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crh_os::files::symlink;

    /// Writes files below a folder. A text `-> path` makes a symlink, an empty one a folder.
    fn write(base: &Path, files: &[(&str, &str)]) {
        for (path, text) in files {
            let path = base.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            if path.is_dir() {
                fs::remove_dir_all(&path).unwrap();
            }
            match text.strip_prefix("-> ") {
                Some(target) => symlink(&base.join(target), &path).unwrap(),
                None if text.is_empty() => fs::create_dir(path).unwrap(),
                None => fs::write(path, text.replace("BASE", base.to_str().unwrap())).unwrap(),
            }
        }
    }

    /// The git folder of a repository.
    fn write_git(base: &Path, folder: &str) {
        let path = |name: &str| format!("{folder}/{name}");
        let (head, objects, refs) = (path("HEAD"), path("objects/info"), path("refs/heads"));
        write(base, &[(&head, "ref: refs/heads/main\n"), (&objects, ""), (&refs, "")]);
    }

    #[test]
    fn only_repositories_inside_the_roots_are_allowed() {
        let folder = tempfile::tempdir().unwrap();
        let base = fs::canonicalize(folder.path()).unwrap();
        for git_dir in ["open/repo/.git", "secret/.git"] {
            write_git(&base, git_dir);
        }
        let links = [("open/link", "-> secret"), ("open/dangling", "-> none")];
        write(&base, &[("open/repo/sub", ""), ("open/plain", ""), ("open/file", "text")]);
        write(&base, &links);
        let roots = Roots::new([base.join("open")]);
        let shown = |path: &str| base.join(path).display().to_string();
        let repo = base.join("open/repo");
        assert_eq!(roots.repository(Some("repo")), Ok(repo.clone()));
        assert_eq!(roots.repository(Some("repo/sub")), Ok(repo.clone()));
        assert_eq!(roots.repository(repo.to_str()), Ok(repo.clone()));
        // The answer does not tell which outside paths exist.
        for outside in
            ["../secret", "link", "/", "../none", "/none", "link/none", "dangling", "none", "file"]
        {
            let error = RootError::NotInside(outside.to_owned());
            assert_eq!(roots.repository(Some(outside)), Err(error));
        }
        let plain = shown("open/plain");
        assert_eq!(roots.repository(Some("plain")), Err(RootError::NoRepository(plain)));
        // A subfolder as root does not open the whole repository.
        let sub = Roots::new([repo.join("sub")]);
        assert_eq!(sub.repository(None), Err(RootError::PartOnly(shown("open/repo"))));
        assert_eq!(Roots::new([base.join("none")]).repository(None), Err(RootError::NoRoot));
        let two = Roots::new([repo.clone(), base.join("open/plain")]);
        assert!(matches!(two.repository(None), Err(RootError::SeveralRoots(_))));
    }

    #[test]
    fn hostile_git_folder_does_not_open_another_repository() {
        let check = |files: &[(&str, &str)]| {
            let folder = tempfile::tempdir().unwrap();
            let base = fs::canonicalize(folder.path()).unwrap();
            for git_dir in ["secret/.git", "open/other/.git", "open/a/.git"] {
                write_git(&base, git_dir);
            }
            // A linked worktree outside of the roots.
            write(
                &base,
                &[
                    ("secret/w/.git", "gitdir: BASE/secret/.git/worktrees/w\n"),
                    ("secret/.git/worktrees/w/HEAD", "ref: refs/heads/w\n"),
                    ("secret/.git/worktrees/w/commondir", "../..\n"),
                    ("secret/.git/worktrees/w/gitdir", "BASE/secret/w/.git\n"),
                ],
            );
            write(&base, files);
            let roots = Roots::new([base.join("open")]);
            let expected = Err(RootError::GitDir(base.join("open/a").display().to_string()));
            assert_eq!(roots.repository(Some("a")), expected, "{files:?}");
        };
        let alternates = "open/a/.git/objects/info/alternates";
        let long = format!("BASE/secret/.git{}", "\n".repeat(9_000));
        for file in [
            ("open/a/.git", "gitdir: BASE/secret/.git\n"),
            ("open/a/.git", "gitdir: BASE/secret/.git/worktrees/w\n"),
            ("open/a/.git", "-> secret/.git"),
            ("open/a/.git", "-> secret/w/.git"),
            ("open/a/.git/commondir", "BASE/secret/.git\n"),
            ("open/a/.git/commondir", "../../../secret/.git"),
            (alternates, "BASE/secret/.git/objects\n"),
            (alternates, "# a\n../../../../secret/.git/objects"),
            ("open/a/.git/objects", "-> secret/.git/objects"),
            ("open/a/.git/refs/heads", "-> secret/.git/refs/heads"),
            ("open/a/.git/index", "-> secret/.git/HEAD"),
            ("open/a/.git/HEAD", "nonsense"),
            ("open/a/.git/commondir", &long),
            ("open/a/.git/commondir", "none"),
            (alternates, "\"../../../../secret\""),
            (alternates, "info/../../../../../secret"),
        ] {
            check(&[file]);
        }
        let borrowed = "open/other/.git/objects/info/alternates";
        let chain =
            [(alternates, "BASE/open/other/.git/objects"), (borrowed, "BASE/secret/.git/objects")];
        check(&chain);
    }

    #[test]
    fn linked_worktree_may_use_its_repository() {
        let folder = tempfile::tempdir().unwrap();
        let base = fs::canonicalize(folder.path()).unwrap();
        write_git(&base, "main/.git");
        write(&base, &[("open/w/.git", "gitdir: BASE/main/.git/worktrees/w\n")]);
        for listed in ["BASE/open/w/.git\n", "../../../../open/w/.git\n"] {
            write(&base, &[("main/.git/worktrees/w/gitdir", listed)]);
            let roots = Roots::new([base.join("open")]);
            assert_eq!(roots.repository(Some("w")), Ok(base.join("open/w")), "{listed}");
        }
    }

    #[test]
    fn roots_are_file_uris() {
        let folder = tempfile::tempdir().unwrap();
        let spaced = folder.path().join("a b");
        fs::create_dir(&spaced).unwrap();
        let uri = format!("file://{}/a%20b", folder.path().display());
        let expected = Roots::new([spaced]);
        assert_eq!(Roots::from_uris([uri.as_str(), "https://a/b", "nonsense"]), expected);
    }
}
