//! Finds the base of a change: the right branch of the right remote, up to date.
//!
//! A stale or wrong base adds unrelated changes to the review. Therefore an unknown or ambiguous
//! base is an error and never guessed.

use std::collections::BTreeSet;

use gix::bstr::ByteSlice;

use crate::process::GitError;
use crate::remote::{MissingError, NetworkMode, RemoteBranches};
use crate::repository::{MAIN_BRANCH_NAMES, Remote, Repository};
use crate::store::Store;

/// What the caller knows about the base.
#[derive(Debug, Clone, Copy)]
pub struct BaseRequest<'a> {
    /// Base branch, from the forge or a setting.
    pub branch: Option<&'a str>,
    /// Target repository as `host/owner/name`, if a forge names it.
    pub repository: Option<&'a str>,
    /// Name of the reviewed branch, which cannot be its own base.
    pub reviewed_branch: Option<&'a str>,
    /// Whether remotes may be contacted.
    pub network: NetworkMode,
}

/// The base of a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Base {
    /// Merge base of the change.
    pub commit: String,
    /// Branch name, such as `main`.
    pub branch: String,
    /// Tip of the branch.
    pub tip: String,
    /// Remote of the branch; `None` for a local branch.
    pub remote: Option<String>,
    /// Number of other merge bases that are equally good.
    pub other_merge_bases: usize,
    /// Whether crh found the base by the user's own branches, or as the only remote, because the
    /// names and settings of the remotes do not tell where it is.
    pub is_by_own_branch: bool,
}

/// Why no base was found.
#[derive(Debug, thiserror::Error)]
pub enum BaseError {
    /// The requested base branch does not exist.
    #[error(
        "Unable to resolve PR base branch {0} locally. Fetch the base branch and rerun so the review scope stays aligned with the PR."
    )]
    NoSuchBranch(String),
    /// No branch qualifies.
    #[error("cannot determine the base of `{head}`: {reason}")]
    Unresolvable {
        /// Reviewed branch or commit.
        head: String,
        /// Reason.
        reason: String,
    },
    /// There is no remote, and the only branch that qualifies is the reviewed one.
    #[error(
        "there is nothing to compare `{0}` with: the repository has no remote and no other main branch"
    )]
    OwnBase(String),
    /// Several branches qualify equally.
    #[error("the base is ambiguous: {} are equally near", .0.join(" and "))]
    Ambiguous(Vec<String>),
    /// Any of several remotes could have the base.
    #[error(
        "cannot determine the base: no remote is called `origin` or `upstream`, and no local main branch tracks one of `{}`",
        .0.join("`, `")
    )]
    SeveralRemotes(Vec<String>),
    /// No common history.
    #[error("`{base}` and `{head}` have no commit in common")]
    Unrelated {
        /// The base.
        base: String,
        /// Reviewed branch or commit.
        head: String,
    },
    /// A remote could not be reached.
    #[error("cannot reach the remote `{remote}` to update the base")]
    Remote {
        /// Name of the remote.
        remote: String,
        /// Cause.
        source: GitError,
    },
    /// The clone is too shallow.
    #[error(transparent)]
    MissingObjects(#[from] MissingError),
    /// Git failed.
    #[error(transparent)]
    Git(#[from] GitError),
}

/// A branch that could be the base.
#[derive(Debug, Clone)]
struct BaseCandidate {
    remote: Option<String>,
    branch: String,
    tip: String,
}

impl Base {
    /// Name as users write it: `origin/main`, `main`.
    pub fn display_name(&self) -> String {
        branch_display_name(self.remote.as_deref(), &self.branch)
    }
}

/// Finds the base of a commit. If online, first refreshes remote branches and deepens shallow
/// clones.
pub fn find_base(store: &Store, head: &str, request: &BaseRequest<'_>) -> Result<Base, BaseError> {
    let remotes = store.repository().remotes()?;
    let mut candidates = Vec::new();
    let names = branch_names(request);
    let reviewed = request.reviewed_branch;
    let known_remotes = base_remotes(&remotes, request.repository);
    let is_by_own_branch = known_remotes.is_none() && !remotes.is_empty();
    let base_remotes = match known_remotes {
        Some(remotes) => remotes,
        None => match tracked_remotes(store.repository(), &remotes, &names, reviewed) {
            BaseOwner::Remotes(remotes) => remotes,
            BaseOwner::LocalBranch => Vec::new(),
            BaseOwner::Unknown => {
                let names = remotes.iter().map(|remote| remote.name.clone()).collect();
                return Err(BaseError::SeveralRemotes(names));
            }
        },
    };
    for remote in base_remotes {
        candidates.extend(remote_candidates(store, remote, request)?);
    }
    // If the caller named a repository that is not a remote, a local branch cannot replace it.
    if candidates.is_empty() && request.repository.is_none() {
        candidates = local_candidates(store, request);
    }
    let Some(first) = candidates.first() else {
        return Err(match request.branch {
            Some(branch) => BaseError::NoSuchBranch(branch.to_owned()),
            None => unresolvable(head, request, &remotes),
        });
    };
    for candidate in &candidates {
        match request.network {
            NetworkMode::Online => deepen(store, candidate, head, &remotes)?,
            NetworkMode::Offline if store.merge_base_is_known(&candidate.tip, head)? => {}
            NetworkMode::Offline => {
                let name = branch_display_name(candidate.remote.as_deref(), &candidate.branch);
                let head = request.reviewed_branch.unwrap_or(head).to_owned();
                return Err(BaseError::MissingObjects(MissingError::MergeBase(name, head)));
            }
        }
    }
    let first = first.clone();
    let base = nearest_candidate(store, head, candidates)?.ok_or_else(|| BaseError::Unrelated {
        base: branch_display_name(first.remote.as_deref(), &first.branch),
        head: request.reviewed_branch.unwrap_or(head).to_owned(),
    })?;
    Ok(Base { is_by_own_branch, ..base })
}

/// Refreshes a remote branch, such as `origin/main`. Returns its current commit.
pub fn refresh_branch(
    store: &Store,
    remote: &str,
    branch: &str,
) -> Result<Option<String>, BaseError> {
    let remote_error = |source| BaseError::Remote { remote: remote.to_owned(), source };
    let advertised = store.remote_branches(remote, &[branch]).map_err(remote_error)?;
    let Some(tip) = advertised.branches.get(branch) else { return Ok(None) };
    store.refresh(remote, branch, tip).map_err(remote_error)?;
    Ok(Some(tip.clone()))
}

/// Remotes that may contain the base. `None` if their names and settings do not tell.
///
/// If the target repository is known, only its remote counts, because a fork's branch of the same
/// name is usually behind. Otherwise it is the remote that `gh` has set, or else `origin` and
/// `upstream`.
pub(crate) fn base_remotes<'a>(
    remotes: &'a [Remote],
    repository: Option<&str>,
) -> Option<Vec<&'a Remote>> {
    if let Some(repository) = repository {
        let is_target = |remote: &&Remote| is_repository(&remote.url, repository);
        return Some(remotes.iter().find(is_target).into_iter().collect());
    }
    if let Some(base) = remotes.iter().find(|remote| remote.is_base) {
        return Some(vec![base]);
    }
    let known = ["origin", "upstream"].into_iter();
    let known = known.filter_map(|name| remotes.iter().find(|remote| remote.name == name));
    let known: Vec<&Remote> = known.collect();
    (!known.is_empty()).then_some(known)
}

/// Where the base is if [`base_remotes`] does not tell.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum BaseOwner<'a> {
    /// The remotes that the user's main branches track, or the only remote.
    Remotes(Vec<&'a Remote>),
    /// The user's main branch tracks no remote.
    LocalBranch,
    /// There are several remotes, and no local main branch other than the reviewed one.
    Unknown,
}

/// Finds the remotes that the user's branches with these names track. The author of a change cannot
/// influence this: a fetch neither creates a local branch nor sets what it tracks. The reviewed
/// branch counts only if there is no other, because it may be a contributor's.
pub(crate) fn tracked_remotes<'a>(
    repository: &Repository,
    remotes: &'a [Remote],
    names: &[&str],
    reviewed_branch: Option<&str>,
) -> BaseOwner<'a> {
    if remotes.is_empty() {
        return BaseOwner::Remotes(Vec::new());
    }
    let local: Vec<&str> =
        repository.branch_tips(names).into_iter().map(|(name, _)| name).collect();
    let others: Vec<&str> =
        local.iter().filter(|name| reviewed_branch != Some(**name)).copied().collect();
    let main_branches = if others.is_empty() { &local } else { &others };
    let tracked: BTreeSet<String> =
        main_branches.iter().filter_map(|name| repository.tracked_remote(name)).collect();
    let tracked: Vec<&Remote> =
        remotes.iter().filter(|remote| tracked.contains(&remote.name)).collect();
    match remotes {
        _ if !tracked.is_empty() => BaseOwner::Remotes(tracked),
        _ if !others.is_empty() => BaseOwner::LocalBranch,
        [_] => BaseOwner::Remotes(remotes.iter().collect()),
        [..] => BaseOwner::Unknown,
    }
}

/// Whether a URL has the host and path of this repository.
fn is_repository(url: &str, repository: &str) -> bool {
    let Ok(url) = gix::url::parse(url.as_bytes().as_bstr()) else { return false };
    let path = url.path.to_string();
    let path = path.trim_matches('/');
    let path = path.strip_suffix(".git").unwrap_or(path);
    let host_and_path = format!("{}/{path}", url.host().unwrap_or_default());
    host_and_path.trim_start_matches('/').eq_ignore_ascii_case(repository.trim_matches('/'))
}

/// Branches of a remote that could be the base.
fn remote_candidates(
    store: &Store,
    remote: &Remote,
    request: &BaseRequest<'_>,
) -> Result<Vec<BaseCandidate>, BaseError> {
    let names = branch_names(request);
    let advertised = match request.network {
        NetworkMode::Online => ask_remote(store, remote, &names)?,
        NetworkMode::Offline => last_fetched(store, remote, &names),
    };
    let mut candidates = Vec::new();
    // The remote's default branch takes precedence over common names.
    let default = advertised.default.filter(|_| request.branch.is_none());
    let names = default.as_deref().map_or(names, |name| vec![name]);
    for name in names {
        if let Some(tip) = advertised.branches.get(name) {
            let remote = Some(remote.name.clone());
            candidates.push(BaseCandidate { remote, branch: name.to_owned(), tip: tip.clone() });
        }
    }
    if request.network == NetworkMode::Online {
        for candidate in &candidates {
            store
                .refresh(&remote.name, &candidate.branch, &candidate.tip)
                .map_err(|source| BaseError::Remote { remote: remote.name.clone(), source })?;
        }
    }
    Ok(candidates)
}

/// Possible names of the base branch.
fn branch_names<'a>(request: &BaseRequest<'a>) -> Vec<&'a str> {
    request.branch.map_or_else(|| MAIN_BRANCH_NAMES.to_vec(), |branch| vec![branch])
}

/// Current branches of a remote.
fn ask_remote(store: &Store, remote: &Remote, names: &[&str]) -> Result<RemoteBranches, BaseError> {
    let remote_error = |source| BaseError::Remote { remote: remote.name.clone(), source };
    let advertised = store.remote_branches(&remote.name, names).map_err(remote_error)?;
    match &advertised.default {
        // The default branch has another name, so ask for its commit too.
        Some(default) if !advertised.branches.contains_key(default) => {
            let mut all_names = names.to_vec();
            all_names.push(default);
            store.remote_branches(&remote.name, &all_names).map_err(remote_error)
        }
        Some(_) | None => Ok(advertised),
    }
}

/// Branches of a remote at the last fetch.
fn last_fetched(store: &Store, remote: &Remote, names: &[&str]) -> RemoteBranches {
    let repository = store.repository();
    let prefix = format!("refs/remotes/{}/", remote.name);
    let default = repository.symbolic_target(&format!("{prefix}HEAD"));
    let default = default.and_then(|name| name.strip_prefix(&prefix).map(str::to_owned));
    let names = names.iter().copied().chain(default.as_deref());
    let tip = |name: &str| repository.commit(&format!("{prefix}{name}"));
    let branches = names.filter_map(|name| Some((name.to_owned(), tip(name)?))).collect();
    RemoteBranches { default, branches }
}

/// Local branches that could be the base, if no branch of a remote could.
fn local_candidates(store: &Store, request: &BaseRequest<'_>) -> Vec<BaseCandidate> {
    let mut names = branch_names(request);
    names.retain(|name| request.reviewed_branch != Some(name));
    let tips = store.repository().branch_tips(&names).into_iter();
    tips.map(|(name, tip)| BaseCandidate { remote: None, branch: name.to_owned(), tip }).collect()
}

fn deepen(
    store: &Store,
    candidate: &BaseCandidate,
    head: &str,
    remotes: &[Remote],
) -> Result<(), BaseError> {
    let Some(remote) = candidate.remote.as_deref().or(remotes.first().map(|r| r.name.as_str()))
    else {
        return Ok(());
    };
    let remote_error = |source| BaseError::Remote { remote: remote.to_owned(), source };
    store.deepen(remote, &candidate.tip, head).map_err(remote_error)
}

/// The candidate with the latest merge base. The merge base of an outdated branch, such as a fork's
/// copy, is earlier.
fn nearest_candidate(
    store: &Store,
    head: &str,
    candidates: Vec<BaseCandidate>,
) -> Result<Option<Base>, BaseError> {
    let mut bases = Vec::new();
    for BaseCandidate { remote, branch, tip } in candidates {
        let mut commits = store.bare().merge_bases(&tip, head)?.into_iter();
        if let Some(commit) = commits.next() {
            bases.push(Base {
                commit,
                branch,
                tip,
                remote,
                other_merge_bases: commits.len(),
                is_by_own_branch: false,
            });
        }
    }
    for base in &bases {
        let mut is_nearest = true;
        for other in &bases {
            is_nearest &= store.bare().is_ancestor(&other.commit, &base.commit)?;
        }
        if is_nearest {
            return Ok(Some(base.clone()));
        }
    }
    match bases.as_slice() {
        [] => Ok(None),
        bases => Err(BaseError::Ambiguous(
            bases.iter().map(|base| format!("`{}`", base.display_name())).collect(),
        )),
    }
}

fn unresolvable(head: &str, request: &BaseRequest<'_>, remotes: &[Remote]) -> BaseError {
    let names = MAIN_BRANCH_NAMES.join("`, `");
    let reason = match (remotes, request.reviewed_branch) {
        ([], Some(name)) if MAIN_BRANCH_NAMES.contains(&name) => {
            return BaseError::OwnBase(name.to_owned());
        }
        ([], _) => format!("there is no remote and no branch named `{names}`"),
        (_, _) if request.network == NetworkMode::Offline => {
            format!("no remote branch `{names}` was fetched, and crh is offline")
        }
        (_, _) => format!("the remotes have neither a default branch nor `{names}`"),
    };
    BaseError::Unresolvable { head: request.reviewed_branch.unwrap_or(head).to_owned(), reason }
}

fn branch_display_name(remote: Option<&str>, branch: &str) -> String {
    remote.map_or_else(|| branch.to_owned(), |remote| format!("{remote}/{branch}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn url_matches_repository_by_host_and_path() {
        let matching = [
            "https://github.com/owner/name",
            "https://github.com/owner/name.git",
            "https://token@GitHub.com/Owner/Name/",
            "git@github.com:owner/name.git",
            "ssh://git@github.com:22/owner/name.git",
        ];
        let different = [
            "https://github.com/owner/name-fork",
            "https://github.com/me/owner/name",
            "https://evil.example/github.com/owner/name",
            "https://github.com.evil.example/owner/name",
            "https://github.com/fork/name",
            "/srv/github.com/owner/name",
            "",
        ];
        for url in matching {
            assert!(is_repository(url, "github.com/owner/name"), "{url}");
        }
        for url in different {
            assert!(!is_repository(url, "github.com/owner/name"), "{url}");
        }
    }
}
