//! What a repository is called, the same in every clone of it, and where it is served.

use gix::bstr::ByteSlice;

use crate::base::chosen;
use crate::{Git, GitError, Remote, Repository};

/// Where a repository is served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The host, with its port if that is an unusual one for the web.
    pub host: String,
    /// `owner/name`.
    pub name: String,
}

/// A branch of a clone, as the host knows it that it is pushed to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pushed {
    /// Where it is pushed to.
    pub place: Place,
    /// What it is called there.
    pub branch: String,
}

impl Remote {
    /// Where it is served; none if its address does not say.
    pub fn place(&self) -> Option<Place> {
        served(&self.url)
    }
}

/// Where the repositories are that this is a clone of: first the one that changes are proposed to.
pub fn places(repository: &Repository) -> Result<Vec<Place>, GitError> {
    let remotes = repository.remotes()?;
    let mut chosen = chosen(&remotes, None);
    // In a clone of a fork, `origin` is the fork.
    chosen.sort_by_key(|remote| remote.name != "upstream");
    let others = remotes.iter().filter(|remote| !chosen.contains(remote));
    let mut places: Vec<Place> = Vec::new();
    for place in chosen.iter().copied().chain(others).filter_map(Remote::place) {
        if !places.contains(&place) {
            places.push(place);
        }
    }
    Ok(places)
}

/// What the branch that is checked out is called elsewhere: the one that it follows, or else one of the same name on
/// `origin`. None on a detached head, and without a remote that says where it is.
pub fn pushed(repository: &Repository) -> Result<Option<Pushed>, GitError> {
    let Some(branch) = repository.branch() else { return Ok(None) };
    let remotes = repository.remotes()?;
    let followed = repository.upstream(&branch).unwrap_or_default();
    let follows = remotes.iter().find_map(|remote| {
        let branch = followed.strip_prefix(&format!("refs/remotes/{}/", remote.name))?;
        Some((remote, branch.to_owned()))
    });
    let origin = remotes.iter().find(|remote| remote.name == "origin").or(remotes.first());
    let found = follows.or(origin.map(|remote| (remote, branch)));
    Ok(found.and_then(|(remote, branch)| Some(Pushed { place: remote.place()?, branch })))
}

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

/// The host and the name of a remote that has both.
fn served(url: &str) -> Option<Place> {
    let name = named(url).filter(|name| name.contains('/'))?;
    let url = gix::url::parse(url.as_bytes().as_bstr()).ok()?;
    let host = url.host()?.to_ascii_lowercase();
    let is_web = matches!(url.scheme, gix::url::Scheme::Http | gix::url::Scheme::Https);
    Some(match url.port.filter(|_| is_web) {
        Some(port) => Place { host: format!("{host}:{port}"), name },
        None => Place { host, name },
    })
}

#[cfg(test)]
mod tests {
    use super::{Place, named, served};

    #[test]
    fn a_remote_is_served_by_a_host() {
        let place = |host: &str, name: &str| Place { host: host.to_owned(), name: name.to_owned() };
        for (url, expected) in [
            ("https://GitHub.com/o/r.git", Some(place("github.com", "o/r"))),
            ("http://127.0.0.1:8080/o/r.git", Some(place("127.0.0.1:8080", "o/r"))),
            ("ssh://git@ghe.example:2222/o/r", Some(place("ghe.example", "o/r"))),
            ("git@github.com:o/r.git", Some(place("github.com", "o/r"))),
            ("https://host/alone", None),
            ("/srv/git/o/r.git", None),
        ] {
            assert_eq!(served(url), expected, "{url}");
        }
    }

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
