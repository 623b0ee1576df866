//! Finds what a change is compared with: the right branch of the right remote, as it is now.
//!
//! A stale or wrong base turns a small change into a large one with other people's work in it, so what is
//! unknown or ambiguous is an error, never a guess.

use gix::bstr::ByteSlice;

use crate::process::GitError;
use crate::remote::{Advertised, MissingError, Network};
use crate::repository::Remote;
use crate::store::Store;

/// What the main branch is called where nobody says.
pub(crate) const COMMON_NAMES: &[&str] = &["main", "master", "develop", "trunk"];

/// What is known about the base before looking.
#[derive(Debug, Clone, Copy)]
pub struct Wanted<'a> {
    /// The branch, from the forge or from a setting.
    pub branch: Option<&'a str>,
    /// The repository that the change was proposed to, as `host/owner/name`, if a forge says so.
    pub repository: Option<&'a str>,
    /// The branch under review, if it has a name: no local branch is its own base.
    pub under_review: Option<&'a str>,
    /// Whether remotes may be asked.
    pub network: Network,
}

/// The base of a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Base {
    /// The commit from which the change parts.
    pub commit: String,
    /// The branch, such as `main`.
    pub branch: String,
    /// The tip of that branch.
    pub tip: String,
    /// Where the branch is; none for a local one.
    pub remote: Option<String>,
    /// How many commits there are from which the change parts just as well.
    pub others: usize,
}

/// Why there is no base.
#[derive(Debug, thiserror::Error)]
pub enum BaseError {
    /// The forge or a setting names a branch that is nowhere.
    #[error(
        "Unable to resolve PR base branch {0} locally. Fetch the base branch and rerun so the review scope stays aligned with the PR."
    )]
    NoSuchBranch(String),
    /// No branch looks like a base.
    #[error("cannot tell what `{head}` is to be compared with: {reason}")]
    Unresolvable {
        /// What is under review.
        head: String,
        /// What was tried.
        reason: String,
    },
    /// Several do, and they do not agree.
    #[error("cannot tell what this is to be compared with: {} are equally near", .0.join(" and "))]
    Ambiguous(Vec<String>),
    /// The histories never meet.
    #[error("`{base}` and `{head}` have no commit in common")]
    Unrelated {
        /// The base.
        base: String,
        /// What is under review.
        head: String,
    },
    /// A remote could not be asked.
    #[error("asking the remote `{remote}` for the current state of the base")]
    Remote {
        /// Which.
        remote: String,
        /// Why.
        source: GitError,
    },
    /// The clone does not reach back far enough.
    #[error(transparent)]
    Missing(#[from] MissingError),
    /// Git failed.
    #[error(transparent)]
    Git(#[from] GitError),
}

/// A branch that could be the base.
#[derive(Debug, Clone)]
struct Candidate {
    remote: Option<String>,
    branch: String,
    tip: String,
}

impl Base {
    /// Its name as people write it: `origin/main`, `main`.
    pub fn shown(&self) -> String {
        shown(self.remote.as_deref(), &self.branch)
    }
}

/// Finds the base of a commit. Branches of remotes are refreshed first, and shallow clones deepened.
pub fn base(store: &Store, head: &str, wanted: &Wanted<'_>) -> Result<Base, BaseError> {
    let remotes = store.repository().remotes()?;
    let mut candidates = Vec::new();
    for remote in chosen(&remotes, wanted.repository) {
        candidates.extend(of_remote(store, remote, wanted)?);
    }
    // A branch of that name here says nothing about a repository that was named and is none of the remotes.
    if candidates.is_empty() && wanted.repository.is_none() {
        candidates = local(store, wanted);
    }
    let Some(first) = candidates.first() else {
        return Err(match wanted.branch {
            Some(branch) => BaseError::NoSuchBranch(branch.to_owned()),
            None => unresolvable(head, wanted, &remotes),
        });
    };
    for candidate in &candidates {
        match wanted.network {
            Network::Online => deepen(store, candidate, head, &remotes)?,
            Network::Offline if store.parting_is_known(&candidate.tip, head)? => {}
            Network::Offline => {
                let name = shown(candidate.remote.as_deref(), &candidate.branch);
                let head = wanted.under_review.unwrap_or(head).to_owned();
                return Err(BaseError::Missing(MissingError::Parting(name, head)));
            }
        }
    }
    let first = first.clone();
    nearest(store, head, candidates)?.ok_or_else(|| BaseError::Unrelated {
        base: shown(first.remote.as_deref(), &first.branch),
        head: wanted.under_review.unwrap_or(head).to_owned(),
    })
}

/// Refreshes a branch that was named with its remote, such as `origin/main`; its commit now.
pub fn refreshed(store: &Store, remote: &str, branch: &str) -> Result<Option<String>, BaseError> {
    let asked = |source| BaseError::Remote { remote: remote.to_owned(), source };
    let advertised = store.advertised(remote, &[branch]).map_err(asked)?;
    let Some(tip) = advertised.branches.get(branch) else { return Ok(None) };
    store.refresh(remote, branch, tip).map_err(asked)?;
    Ok(Some(tip.clone()))
}

/// The remotes in which the base may be.
///
/// If the repository that the change goes to is known, only that one counts: a fork has a branch of the same name,
/// and it is usually behind. Otherwise `origin`, and `upstream` beside it as forks call their parent; or all, if none
/// has such a name.
pub(crate) fn chosen<'a>(remotes: &'a [Remote], repository: Option<&str>) -> Vec<&'a Remote> {
    if let Some(repository) = repository {
        return remotes
            .iter()
            .filter(|remote| is_repository(&remote.url, repository))
            .take(1)
            .collect();
    }
    if let Some(base) = remotes.iter().find(|remote| remote.is_base) {
        return vec![base];
    }
    let named = |name: &str| remotes.iter().find(|remote| remote.name == name);
    match (named("origin"), named("upstream"), remotes) {
        (None, None, all) => all.iter().collect(),
        (origin, upstream, _) => origin.into_iter().chain(upstream).collect(),
    }
}

/// Whether an address is that of a repository: the same host and the same path, not merely the same words.
fn is_repository(url: &str, repository: &str) -> bool {
    let Ok(url) = gix::url::parse(url.as_bytes().as_bstr()) else { return false };
    let path = url.path.to_string();
    let path = path.trim_matches('/');
    let path = path.strip_suffix(".git").unwrap_or(path);
    let found = format!("{}/{path}", url.host().unwrap_or_default());
    found.trim_start_matches('/').eq_ignore_ascii_case(repository.trim_matches('/'))
}

/// The branches of a remote that could be the base.
fn of_remote(
    store: &Store,
    remote: &Remote,
    wanted: &Wanted<'_>,
) -> Result<Vec<Candidate>, BaseError> {
    let names = names(wanted);
    let advertised = match wanted.network {
        Network::Online => asked(store, remote, &names)?,
        Network::Offline => remembered(store, remote, &names),
    };
    let mut found = Vec::new();
    // The remote's own word comes before any list of names.
    let default = advertised.default.filter(|_| wanted.branch.is_none());
    let names = default.as_deref().map_or(names, |name| vec![name]);
    for name in names {
        if let Some(tip) = advertised.branches.get(name) {
            let remote = Some(remote.name.clone());
            found.push(Candidate { remote, branch: name.to_owned(), tip: tip.clone() });
        }
    }
    if wanted.network == Network::Online {
        for candidate in &found {
            store
                .refresh(&remote.name, &candidate.branch, &candidate.tip)
                .map_err(|source| BaseError::Remote { remote: remote.name.clone(), source })?;
        }
    }
    Ok(found)
}

/// What the base may be called.
fn names<'a>(wanted: &Wanted<'a>) -> Vec<&'a str> {
    wanted.branch.map_or_else(|| COMMON_NAMES.to_vec(), |branch| vec![branch])
}

/// What a remote says now.
fn asked(store: &Store, remote: &Remote, names: &[&str]) -> Result<Advertised, BaseError> {
    let failed = |source| BaseError::Remote { remote: remote.name.clone(), source };
    let advertised = store.advertised(&remote.name, names).map_err(failed)?;
    match &advertised.default {
        // It is called something else than what was asked for, so its commit is not known yet.
        Some(default) if !advertised.branches.contains_key(default) => {
            let mut all = names.to_vec();
            all.push(default);
            store.advertised(&remote.name, &all).map_err(failed)
        }
        Some(_) | None => Ok(advertised),
    }
}

/// What a remote said when it was last fetched.
fn remembered(store: &Store, remote: &Remote, names: &[&str]) -> Advertised {
    let repository = store.repository();
    let prefix = format!("refs/remotes/{}/", remote.name);
    let default = repository.symbolic(&format!("{prefix}HEAD"));
    let default = default.and_then(|name| name.strip_prefix(&prefix).map(str::to_owned));
    let names = names.iter().copied().chain(default.as_deref());
    let tip = |name: &str| repository.commit(&format!("{prefix}{name}"));
    let branches = names.filter_map(|name| Some((name.to_owned(), tip(name)?))).collect();
    Advertised { default, branches }
}

/// Local branches that could be the base, where there is no remote.
fn local(store: &Store, wanted: &Wanted<'_>) -> Vec<Candidate> {
    names(wanted)
        .into_iter()
        .filter(|name| wanted.under_review != Some(name))
        .filter_map(|name| {
            let tip = store.repository().commit(&format!("refs/heads/{name}"))?;
            Some(Candidate { remote: None, branch: name.to_owned(), tip })
        })
        .collect()
}

fn deepen(
    store: &Store,
    candidate: &Candidate,
    head: &str,
    remotes: &[Remote],
) -> Result<(), BaseError> {
    let Some(remote) = candidate.remote.as_deref().or(remotes.first().map(|r| r.name.as_str()))
    else {
        return Ok(());
    };
    let failed = |source| BaseError::Remote { remote: remote.to_owned(), source };
    store.deepen(remote, &candidate.tip, head).map_err(failed)
}

/// The candidate from which the head parted last. The one that is merely behind (a fork's copy of a branch, a release
/// branch under a development branch) parted from it earlier.
fn nearest(
    store: &Store,
    head: &str,
    candidates: Vec<Candidate>,
) -> Result<Option<Base>, BaseError> {
    let mut partings = Vec::new();
    for Candidate { remote, branch, tip } in candidates {
        let mut commits = store.bare().merge_bases(&tip, head)?.into_iter();
        if let Some(commit) = commits.next() {
            partings.push(Base { commit, branch, tip, remote, others: commits.len() });
        }
    }
    for base in &partings {
        let mut is_nearest = true;
        for other in &partings {
            is_nearest &= store.bare().is_ancestor(&other.commit, &base.commit)?;
        }
        if is_nearest {
            return Ok(Some(base.clone()));
        }
    }
    match partings.as_slice() {
        [] => Ok(None),
        all => Err(BaseError::Ambiguous(
            all.iter().map(|base| format!("`{}`", base.shown())).collect(),
        )),
    }
}

fn unresolvable(head: &str, wanted: &Wanted<'_>, remotes: &[Remote]) -> BaseError {
    let names = COMMON_NAMES.join("`, `");
    let reason = match (remotes, wanted.under_review) {
        ([], Some(name)) if COMMON_NAMES.contains(&name) => {
            format!("there is no remote, and `{name}` cannot be its own base")
        }
        ([], _) => format!("there is no remote, and no branch called `{names}`"),
        (_, _) if wanted.network == Network::Offline => {
            format!("no branch `{names}` of a remote is known here, and it was not asked (offline)")
        }
        (_, _) => format!("the remotes name no default branch, and have no `{names}`"),
    };
    BaseError::Unresolvable { head: wanted.under_review.unwrap_or(head).to_owned(), reason }
}

fn shown(remote: Option<&str>, branch: &str) -> String {
    remote.map_or_else(|| branch.to_owned(), |remote| format!("{remote}/{branch}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_a_repository_only_if_host_and_path_are_the_same() {
        let same = [
            "https://github.com/owner/name",
            "https://github.com/owner/name.git",
            "https://token@GitHub.com/Owner/Name/",
            "git@github.com:owner/name.git",
            "ssh://git@github.com:22/owner/name.git",
        ];
        let other = [
            "https://github.com/owner/name-fork",
            "https://github.com/me/owner/name",
            "https://evil.example/github.com/owner/name",
            "https://github.com.evil.example/owner/name",
            "https://github.com/fork/name",
            "/srv/github.com/owner/name",
            "",
        ];
        for url in same {
            assert!(is_repository(url, "github.com/owner/name"), "{url}");
        }
        for url in other {
            assert!(!is_repository(url, "github.com/owner/name"), "{url}");
        }
    }
}
