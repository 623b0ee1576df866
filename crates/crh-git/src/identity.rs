//! What a repository is called, the same in every clone of it.

use crate::Git;
use crate::GitError;
use crate::Repository;
use crate::base::chosen;
use gix::bstr::ByteSlice;

/// `owner/name` of the repository that changes are proposed to or, without a remote that says it, the hash of the first
/// commit; empty if there is neither.
pub fn identity(repository: &Repository) -> Result<String, GitError> {
    let remotes = repository.remotes()?;
    let mut remotes = chosen(&remotes, None);
    // In a clone of a fork, `origin` is the fork.
    remotes.sort_by_key(|remote| remote.name != "upstream");
    if let Some(name) = remotes.into_iter().find_map(|remote| named(&remote.url)) {
        return Ok(name);
    }
    let git = Git::with_git_dir(&repository.git_dir);
    // A repository without a commit has no first one.
    let roots = git.text(["rev-list", "--max-parents=0", "HEAD"]).unwrap_or_default();
    Ok(roots.lines().last().unwrap_or_default().to_owned())
}

/// The last two parts of a remote's path. A folder of this machine names nothing that others know.
fn named(url: &str) -> Option<String> {
    let url = gix::url::parse(url.as_bytes().as_bstr()).ok()?;
    url.host()?;
    let path = url.path.to_string();
    let path = path.trim_matches('/');
    let path = path.strip_suffix(".git").unwrap_or(path);
    let mut parts = path.rsplit('/').filter(|part| !part.is_empty());
    let (name, owner) = (parts.next()?, parts.next());
    Some(owner.map_or_else(|| name.to_owned(), |owner| format!("{owner}/{name}")))
}

#[cfg(test)]
mod tests {
    use super::named;

    #[test]
    fn a_remote_is_called_by_its_owner_and_name() {
        for (url, name) in [
            ("https://github.com/rust-lang/rust.git", Some("rust-lang/rust")),
            ("git@github.com:rust-lang/rust", Some("rust-lang/rust")),
            ("ssh://git@host:2222/group/sub/project.git/", Some("sub/project")),
            ("https://host/alone", Some("alone")),
            ("/srv/git/project.git", None),
            ("file:///srv/git/project.git", None),
        ] {
            assert_eq!(named(url).as_deref(), name, "{url}");
        }
    }
}
