//! Names of a repository that are the same in every clone, and its hosts.

use std::fs;

use gix::bstr::ByteSlice;

use crate::base::{BaseOwner, base_remotes, tracked_remotes};
use crate::database::parse_id;
use crate::repository::MAIN_BRANCH_NAMES;
use crate::{Git, GitError, Remote, Repository, Store};

/// File in a store with the commit of `HEAD` and the first commit of its history.
const FIRST_COMMIT_FILE: &str = "crh-first-commit";

/// A repository on a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostedRepository {
    /// Host, with the port of an HTTP URL that names one.
    pub host: String,
    /// `owner/name`, or the whole path if it comes from [`hosted_paths`].
    pub name: String,
}

/// The remote branch that a local branch is pushed to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PushTarget {
    /// Target repository.
    pub repository: HostedRepository,
    /// Branch name there.
    pub branch: String,
}

impl Remote {
    /// The hosted repository, if the URL names one.
    pub fn hosted_repository(&self) -> Option<HostedRepository> {
        parse_hosted(&self.url)
    }
}

/// Hosted repositories of all remotes. The repository that changes are proposed to comes first.
pub fn hosted_repositories(repository: &Repository) -> Result<Vec<HostedRepository>, GitError> {
    let remotes = repository.remotes()?;
    let target_remotes = target_remotes(repository, &remotes);
    let others = remotes.iter().filter(|remote| !target_remotes.contains(remote));
    let mut repositories: Vec<HostedRepository> = Vec::new();
    for repository in
        target_remotes.iter().copied().chain(others).filter_map(Remote::hosted_repository)
    {
        if !repositories.contains(&repository) {
            repositories.push(repository);
        }
    }
    Ok(repositories)
}

/// Like [`hosted_repositories`], but each name is the whole path on the host: with all groups of
/// GitLab, and with the path of a server that is not at the root.
pub fn hosted_paths(repository: &Repository) -> Result<Vec<HostedRepository>, GitError> {
    let remotes = repository.remotes()?;
    let targets = target_remotes(repository, &remotes);
    let others = remotes.iter().filter(|remote| !targets.contains(remote));
    let all = targets.iter().copied().chain(others);
    Ok(all.filter_map(|remote| parse_hosted_path(&remote.url)).collect())
}

/// Remotes that changes are proposed to, best first. All remotes if nothing tells which ones.
fn target_remotes<'a>(repository: &Repository, remotes: &'a [Remote]) -> Vec<&'a Remote> {
    let mut targets = base_remotes(remotes, None).unwrap_or_else(|| {
        match tracked_remotes(
            repository,
            remotes,
            MAIN_BRANCH_NAMES,
            repository.branch().as_deref(),
        ) {
            BaseOwner::Remotes(remotes) => remotes,
            BaseOwner::LocalBranch | BaseOwner::Unknown => remotes.iter().collect(),
        }
    });
    // In a clone of a fork, `origin` is the fork.
    targets.sort_by_key(|remote| remote.name != "upstream");
    targets
}

/// Push target of the current branch: its upstream, or else the same name on `origin` or the first
/// remote. `None` for a detached HEAD or without a hosted remote.
pub fn push_target(repository: &Repository) -> Result<Option<PushTarget>, GitError> {
    let Some(branch) = repository.branch() else { return Ok(None) };
    let remotes = repository.remotes()?;
    if remotes.is_empty() {
        return Ok(None);
    }
    let upstream = repository.upstream(&branch).unwrap_or_default();
    let upstream_target = remotes.iter().find_map(|remote| {
        let branch = upstream.strip_prefix(&format!("refs/remotes/{}/", remote.name))?;
        Some((remote, branch.to_owned()))
    });
    let origin = remotes.iter().find(|remote| remote.name == "origin").or(remotes.first());
    let target = upstream_target.or(origin.map(|remote| (remote, branch)));
    Ok(target.and_then(|(remote, branch)| {
        Some(PushTarget { repository: remote.hosted_repository()?, branch })
    }))
}

/// `owner/name` of the target repository, or else the id of the first commit; empty if there is
/// neither.
pub fn repository_identity(repository: &Repository) -> Result<String, GitError> {
    Ok(target_name(repository)?.unwrap_or_else(|| first_commit(repository)))
}

impl Store {
    /// The [`repository_identity`] of the user's repository. Remembers the first commit, because
    /// git reads the whole history to find it.
    pub fn repository_identity(&self) -> Result<String, GitError> {
        let repository = self.repository();
        if let Some(name) = target_name(repository)? {
            return Ok(name);
        }
        // These files change where the history ends.
        let ends = ["shallow", "info/grafts"].map(|name| repository.common_dir.join(name));
        let head = repository.commit("HEAD").filter(|_| !ends.iter().any(|file| file.exists()));
        let Some(head) = head else { return Ok(first_commit(repository)) };
        let path = self.bare().folder().join(FIRST_COMMIT_FILE);
        let known = fs::read_to_string(path).unwrap_or_default();
        if let Some((known_head, first)) = known.trim_end().split_once(' ')
            && known_head == head
            && parse_id(first).is_ok()
        {
            return Ok(first.to_owned());
        }
        let first = first_commit(repository);
        // Without this file, the next call is only slower.
        drop(self.replace_file(FIRST_COMMIT_FILE, format!("{head} {first}\n").as_bytes()));
        Ok(first)
    }
}

/// `owner/name` of the target repository.
fn target_name(repository: &Repository) -> Result<Option<String>, GitError> {
    let remotes = repository.remotes()?;
    let remotes = target_remotes(repository, &remotes);
    Ok(remotes.into_iter().find_map(|remote| owner_and_name(&remote.url)))
}

/// Id of the first commit; empty in a repository without commits.
fn first_commit(repository: &Repository) -> String {
    let git = Git::with_git_dir(&repository.git_dir);
    let roots = git.text(["rev-list", "--max-parents=0", "HEAD"]).unwrap_or_default();
    roots.lines().last().unwrap_or_default().to_owned()
}

/// Last two parts of a remote's path, or its only part. `None` for a local path, because it means
/// nothing in other clones.
fn owner_and_name(url: &str) -> Option<String> {
    let url = gix::url::parse(url.as_bytes().as_bstr()).ok()?;
    url.host()?;
    let path = url.path.to_string();
    let path = repository_path(&path);
    let mut parts = path.rsplit('/').filter(|part| !part.is_empty());
    let (name, owner) = (parts.next()?, parts.next());
    Some(owner.map_or_else(|| name.to_owned(), |owner| format!("{owner}/{name}")))
}

fn parse_hosted(url: &str) -> Option<HostedRepository> {
    let name = owner_and_name(url).filter(|name| name.contains('/'))?;
    let url = gix::url::parse(url.as_bytes().as_bstr()).ok()?;
    let host = url.host()?.to_ascii_lowercase();
    let is_web = matches!(url.scheme, gix::url::Scheme::Http | gix::url::Scheme::Https);
    Some(match url.port.filter(|_| is_web) {
        Some(port) => HostedRepository { host: format!("{host}:{port}"), name },
        None => HostedRepository { host, name },
    })
}

fn parse_hosted_path(url: &str) -> Option<HostedRepository> {
    let HostedRepository { host, .. } = parse_hosted(url)?;
    let url = gix::url::parse(url.as_bytes().as_bstr()).ok()?;
    let name = repository_path(url.path.to_str().ok()?).to_owned();
    Some(HostedRepository { host, name })
}

/// The path of a remote's URL, without `.git` and without a query, which may contain a token.
fn repository_path(path: &str) -> &str {
    let path = path.split(['?', '#']).next().unwrap_or_default().trim_matches('/');
    path.strip_suffix(".git").unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::{HostedRepository, owner_and_name, parse_hosted, parse_hosted_path};

    #[test]
    fn remote_url_names_whole_path() {
        for (url, expected) in [
            ("https://gitlab.com/a/b/c.git", "gitlab.com a/b/c"),
            ("git@gitlab.com:a/b/c.git", "gitlab.com a/b/c"),
            ("http://127.0.0.1:8080/gitlab/a/b", "127.0.0.1:8080 gitlab/a/b"),
        ] {
            let HostedRepository { host, name } = parse_hosted_path(url).unwrap();
            assert_eq!(format!("{host} {name}"), expected);
        }
    }

    #[test]
    fn remote_url_names_host_and_repository() {
        let repository = |host: &str, name: &str| HostedRepository {
            host: host.to_owned(),
            name: name.to_owned(),
        };
        for (url, expected) in [
            ("https://GitHub.com/o/r.git", Some(repository("github.com", "o/r"))),
            ("http://127.0.0.1:8080/o/r.git", Some(repository("127.0.0.1:8080", "o/r"))),
            ("ssh://git@ghe.example:2222/o/r", Some(repository("ghe.example", "o/r"))),
            ("git@github.com:o/r.git", Some(repository("github.com", "o/r"))),
            ("https://host/alone", None),
            ("/srv/git/o/r.git", None),
        ] {
            assert_eq!(parse_hosted(url), expected, "{url}");
        }
    }

    #[test]
    fn remote_url_names_owner_and_name() {
        for (url, name) in [
            ("https://github.com/rust-lang/rust.git", Some("rust-lang/rust")),
            ("git@github.com:rust-lang/rust", Some("rust-lang/rust")),
            ("ssh://git@host:2222/group/sub/project.git/", Some("sub/project")),
            ("https://host/alone", Some("alone")),
            ("https://host/o/r.git?access_token=secret", Some("o/r")),
            ("/srv/git/project.git", None),
            ("file:///srv/git/project.git", None),
        ] {
            assert_eq!(owner_and_name(url).as_deref(), name, "{url}");
        }
    }
}
