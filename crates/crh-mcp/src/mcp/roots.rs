//! Decides which repository a call may use: only one inside the roots of the client.

use std::fs;
use std::path::{Path, PathBuf};

use crh_os::names::canonical;

use url::Url;

/// Maximum size of a `.git` file. git writes one line.
const GIT_FILE_MAX: u64 = 8 << 10;

/// Folders that the client opened, canonical.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Roots(Vec<PathBuf>);

/// Why there is no repository for a call.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub(crate) enum RootError {
    #[error(
        "the client opened no folder; open the folder of a git repository in it, or start `crh mcp --root DIR`"
    )]
    NoRoot,
    #[error("the client opened several folders; name one of them as `repository`: {0}")]
    SeveralRoots(String),
    #[error("`{0}` does not exist or is not a folder")]
    NoFolder(String),
    #[error("`{0}` is outside of the folders that the client opened; crh does not read it")]
    Outside(String),
    #[error("`{0}` is not in a git repository; name the folder of a checkout as `repository`")]
    NoRepository(String),
    #[error(
        "the repository `{0}` reaches outside of the folders that the client opened; open its root folder"
    )]
    RepositoryOutside(String),
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
            (Some(named), roots) => {
                // An outside path gets the same answer whether it exists or not.
                let path = roots[0].join(named);
                let outside = || RootError::Outside(named.to_owned());
                match canonical(&path) {
                    Ok(path) if !self.contains(&path) => return Err(outside()),
                    Ok(path) if path.is_dir() => path,
                    Ok(_) => return Err(RootError::NoFolder(named.to_owned())),
                    Err(_) if !self.names_inside(&path) => return Err(outside()),
                    Err(_) => return Err(RootError::NoFolder(named.to_owned())),
                }
            }
        };
        let shown = || folder.display().to_string();
        let top = folder.ancestors().find(|folder| folder.join(".git").symlink_metadata().is_ok());
        let top = top.ok_or_else(|| RootError::NoRepository(shown()))?;
        let is_inside = self.contains(top) && self.has_own_git_dir(top);
        is_inside
            .then(|| top.to_owned())
            .ok_or_else(|| RootError::RepositoryOutside(top.display().to_string()))
    }

    /// Whether a canonical path is inside a root.
    pub(crate) fn contains(&self, path: &Path) -> bool {
        self.0.iter().any(|root| path.starts_with(root))
    }

    /// Whether a path that does not exist would be inside a root.
    fn names_inside(&self, path: &Path) -> bool {
        let has_parent_steps = path.components().any(|part| part.as_os_str() == "..");
        !has_parent_steps && self.0.iter().any(|root| path.starts_with(root))
    }

    /// Whether the `.git` of a checkout is inside the roots, or belongs to a linked worktree that
    /// git itself registered. A `.git` file of a hostile folder could name any repository.
    fn has_own_git_dir(&self, top: &Path) -> bool {
        let dot_git = top.join(".git");
        let Ok(real_dot_git) = canonical(&dot_git) else { return false };
        if real_dot_git.is_dir() {
            return self.contains(&real_dot_git);
        }
        let read = |file: &Path| {
            let is_short = fs::metadata(file).is_ok_and(|data| data.len() <= GIT_FILE_MAX);
            is_short.then(|| fs::read_to_string(file).ok()).flatten()
        };
        let Some(text) = read(&dot_git) else { return false };
        let Some(named) = text.trim_end().strip_prefix("gitdir: ") else { return false };
        let Ok(git_dir) = canonical(top.join(named)) else { return false };
        let registered = read(&git_dir.join("gitdir"));
        let registered = registered.and_then(|path| canonical(path.trim_end()).ok());
        self.contains(&git_dir) || registered == Some(real_dot_git)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_repositories_inside_the_roots_are_allowed() {
        let folder = tempfile::tempdir().unwrap();
        let base = fs::canonicalize(folder.path()).unwrap();
        for path in ["open/repo/.git", "open/repo/sub", "open/plain", "secret/.git", "open/linked"]
        {
            fs::create_dir_all(base.join(path)).unwrap();
        }
        std::os::unix::fs::symlink(base.join("secret"), base.join("open/link")).unwrap();
        let secret_git = base.join("secret/.git");
        fs::write(base.join("open/linked/.git"), format!("gitdir: {}\n", secret_git.display()))
            .unwrap();
        let roots = Roots::new([base.join("open")]);
        let shown = |path: &str| base.join(path).display().to_string();
        let repo = base.join("open/repo");
        assert_eq!(roots.repository(Some("repo")), Ok(repo.clone()));
        assert_eq!(roots.repository(Some("repo/sub")), Ok(repo.clone()));
        assert_eq!(roots.repository(repo.to_str()), Ok(repo.clone()));
        for outside in ["../secret", "link", "/", "../none", "/none"] {
            let error = RootError::Outside(outside.to_owned());
            assert_eq!(roots.repository(Some(outside)), Err(error));
        }
        assert_eq!(roots.repository(Some("none")), Err(RootError::NoFolder("none".to_owned())));
        let plain = shown("open/plain");
        assert_eq!(roots.repository(Some("plain")), Err(RootError::NoRepository(plain)));
        let linked = RootError::RepositoryOutside(shown("open/linked"));
        assert_eq!(roots.repository(Some("linked")), Err(linked));
        // A subfolder as root does not open the whole repository.
        let sub = Roots::new([repo.join("sub")]);
        let above = RootError::RepositoryOutside(shown("open/repo"));
        assert_eq!(sub.repository(None), Err(above));
        assert_eq!(Roots::new([base.join("none")]).repository(None), Err(RootError::NoRoot));
        let two = Roots::new([repo.clone(), base.join("open/plain")]);
        assert!(matches!(two.repository(None), Err(RootError::SeveralRoots(_))));
        // git registers a linked worktree in its repository.
        let worktree = base.join("secret/.git/worktrees/linked");
        fs::create_dir_all(&worktree).unwrap();
        fs::write(base.join("open/linked/.git"), format!("gitdir: {}\n", worktree.display()))
            .unwrap();
        fs::write(worktree.join("gitdir"), shown("open/linked/.git") + "\n").unwrap();
        assert_eq!(roots.repository(Some("linked")), Ok(base.join("open/linked")));
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
