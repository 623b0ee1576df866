//! Remote branches, and objects of a change that are missing locally. Everything is fetched into
//! the private store.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::address::FetchAddress;
use crate::history::HISTORY_BEFORE_BASE;
use crate::process::GitError;
use crate::store::Store;

/// Depths for deepening a shallow clone step by step. The last step fetches everything.
pub(crate) const DEPTHS: &[&str] = &["--depth=128", "--depth=1024", "--unshallow"];
/// Time limit for listing remote branches, which is one short request. If the remote does not
/// answer in time, a local review continues with what was fetched before.
const LIST_LIMIT: Duration = Duration::from_secs(20);
/// Maximum number of fetches to complete a partial clone. Each fetch gets one level of trees.
const ROUNDS_MAX: usize = 256;

/// Whether remotes may be contacted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NetworkMode {
    /// Remotes may be contacted.
    Online,
    /// Only local objects are used.
    Offline,
}

/// Source of a fetch.
#[derive(Debug, Clone, Copy)]
pub(crate) enum FetchSource<'a> {
    /// A remote of the user's repository, with its settings.
    Remote(&'a str),
    /// A URL with credentials.
    Address(&'a FetchAddress),
}

/// Branches of a remote.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct RemoteBranches {
    /// Default branch.
    pub(crate) default: Option<String>,
    /// Requested branches that exist, with their commits.
    pub(crate) branches: BTreeMap<String, String>,
}

/// Why required objects are missing.
#[derive(Debug, thiserror::Error)]
pub enum MissingError {
    /// Git failed.
    #[error(transparent)]
    Git(#[from] GitError),
    /// A commit is missing.
    #[error("the commit `{0}` is not in this clone")]
    Commit(String),
    /// The merge base is missing.
    #[error("this shallow clone does not contain the merge base of `{0}` and `{1}`")]
    MergeBase(String, String),
    /// A forge no longer has a commit.
    #[error("`{url}` no longer has the commit `{commit}`")]
    Gone {
        /// URL of the forge.
        url: String,
        /// The commit.
        commit: String,
    },
    /// Objects are missing, and remotes may not be contacted.
    #[error("{count} objects of the change are not in this clone")]
    Objects {
        /// Number of objects.
        count: usize,
    },
    /// A remote did not send requested objects.
    #[error("the remote `{remote}` did not send {count} objects of the change")]
    NotSent {
        /// Name of the remote.
        remote: String,
        /// Number of objects.
        count: usize,
    },
}

impl Store {
    /// Asks a remote for its default branch and some branches.
    pub(crate) fn remote_branches(
        &self,
        remote: &str,
        branches: &[&str],
    ) -> Result<RemoteBranches, GitError> {
        let names = branches.iter().map(|name| format!("refs/heads/{name}"));
        let mut args: Vec<String> =
            ["ls-remote", "--symref", "--", remote, "HEAD"].map(str::to_owned).into();
        args.extend(names);
        let mut advertised = RemoteBranches::default();
        for line in self.remote_git()?.with_limit(LIST_LIMIT).text(&args)?.lines() {
            let Some((value, name)) = line.split_once('\t') else { continue };
            match (value.strip_prefix("ref: refs/heads/"), name.strip_prefix("refs/heads/")) {
                (Some(branch), _) if name == "HEAD" => advertised.default = Some(branch.to_owned()),
                // `ls-remote` patterns also match the end of longer names.
                (None, Some(branch)) if branches.contains(&branch) => {
                    advertised.branches.insert(branch.to_owned(), value.to_owned());
                }
                _ => {}
            }
        }
        Ok(advertised)
    }

    /// Fetches a remote branch unless the store has its commit.
    pub fn refresh(&self, remote: &str, branch: &str, commit: &str) -> Result<(), GitError> {
        if self.bare().has(commit) {
            return Ok(());
        }
        // Without a depth, a shallow clone would fetch the whole history.
        let depth = (!self.bare().boundary().is_empty()).then_some(DEPTHS[0]);
        self.fetch(FetchSource::Remote(remote), depth, &[refspec(remote, branch)])
    }

    /// Fetches a commit by id, if the remote allows it.
    pub fn fetch_commit(&self, remote: &str, commit: &str) -> Result<(), GitError> {
        let depth = (!self.bare().boundary().is_empty()).then_some(DEPTHS[0]);
        self.fetch(FetchSource::Remote(remote), depth, &[commit.to_owned()])
    }

    pub(crate) fn fetch(
        &self,
        source: FetchSource<'_>,
        depth: Option<&str>,
        refspecs: &[String],
    ) -> Result<(), GitError> {
        let (git, remote_or_url) = match source {
            FetchSource::Remote(name) => (self.remote_git()?, name),
            FetchSource::Address(address) => (self.address_git(address)?, address.url()),
        };
        let mut args = vec!["fetch", "--quiet", "--no-tags", "--no-write-fetch-head"];
        args.extend(depth);
        args.extend(["--", remote_or_url]);
        args.extend(refspecs.iter().map(String::as_str));
        git.run(args).map(drop)
    }

    /// Deepens a shallow clone until the merge base of two commits and some commits before it are
    /// known.
    pub fn deepen(&self, remote: &str, base: &str, head: &str) -> Result<(), GitError> {
        self.deepen_from(FetchSource::Remote(remote), base, head)
    }

    pub(crate) fn deepen_from(
        &self,
        source: FetchSource<'_>,
        base: &str,
        head: &str,
    ) -> Result<(), GitError> {
        self.deepen_until_known(base, head, |depth, boundary| {
            // The remote knows the boundary even if `head` was never pushed.
            let mut refspecs: Vec<String> = boundary.into_iter().collect();
            if self.commit(base).is_some() {
                refspecs.push(base.to_owned());
            }
            self.fetch(source, Some(depth), &refspecs)
        })
    }

    /// Calls `step` with increasing depths until the merge base of two commits and some commits
    /// before it are known.
    pub(crate) fn deepen_until_known(
        &self,
        base: &str,
        head: &str,
        step: impl Fn(&str, BTreeSet<String>) -> Result<(), GitError>,
    ) -> Result<(), GitError> {
        for depth in DEPTHS {
            let boundary = self.bare().boundary();
            if boundary.is_empty() || !self.reaches_boundary(&boundary, base, head)? {
                return Ok(());
            }
            step(depth, boundary)?;
        }
        Ok(())
    }

    /// Whether the merge base of two commits is certain: no path from either reaches the shallow
    /// boundary before a common commit.
    pub fn merge_base_is_known(&self, base: &str, head: &str) -> Result<bool, GitError> {
        let boundary = self.bare().boundary();
        if boundary.is_empty() {
            return Ok(true);
        }
        let unshared_commits = self.bare().git().text(["rev-list", &format!("{base}...{head}")])?;
        Ok(!unshared_commits.lines().any(|commit| boundary.contains(commit)))
    }

    /// Whether missing commits could change the merge base, the commits of the change, or the
    /// visible history.
    fn reaches_boundary(
        &self,
        boundary: &BTreeSet<String>,
        base: &str,
        head: &str,
    ) -> Result<bool, GitError> {
        if !self.merge_base_is_known(base, head)? {
            return Ok(true);
        }
        let Some(merge_base) = self.bare().merge_base(base, head)? else { return Ok(true) };
        let limit = (HISTORY_BEFORE_BASE - 1).to_string();
        let history = self.bare().git().text(["rev-list", "-n", &limit, &merge_base])?;
        Ok(history.lines().any(|commit| boundary.contains(commit)))
    }

    /// Whether the user's clone is partial.
    pub fn is_partial(&self) -> bool {
        self.promisor().is_some()
    }

    /// Fetches all trees and blobs of some commits that a partial clone omits, so that a review
    /// does not have to fetch anything.
    pub fn fetch_missing(
        &self,
        commits: &[&str],
        network: NetworkMode,
    ) -> Result<(), MissingError> {
        let Some(remote) = self.promisor().map(str::to_owned) else { return Ok(()) };
        let mut last_count = usize::MAX;
        for _ in 0..ROUNDS_MAX {
            let missing = self.missing_objects(commits)?;
            if missing.is_empty() {
                return Ok(());
            }
            let count = missing.len();
            if network == NetworkMode::Offline {
                return Err(MissingError::Objects { count });
            }
            let previous_count = last_count;
            last_count = count;
            // A fetch without progress will not succeed when repeated.
            if previous_count == count {
                return Err(MissingError::NotSent { remote, count });
            }
            self.backfill(&remote, &missing)?;
        }
        Err(MissingError::NotSent { remote, count: last_count })
    }

    /// Missing objects of the trees of some commits.
    pub(crate) fn missing_objects(&self, commits: &[&str]) -> Result<Vec<String>, GitError> {
        let args = ["rev-list", "--objects", "--no-walk", "--missing=print", "--stdin"];
        let list: String = commits.iter().map(|id| format!("{id}\n")).collect();
        let output = self.bare().git().run_with_input(args, list.as_bytes())?;
        let output = String::from_utf8_lossy(&output);
        Ok(output.lines().filter_map(|line| line.strip_prefix('?')).map(str::to_owned).collect())
    }

    fn backfill(&self, remote: &str, objects: &[String]) -> Result<(), GitError> {
        let args = [
            "fetch",
            "--quiet",
            "--no-tags",
            "--no-write-fetch-head",
            "--filter=blob:none",
            "--stdin",
            "--",
            remote,
        ];
        let list: String = objects.iter().map(|id| format!("{id}\n")).collect();
        // Skip negotiation, because only the listed objects are wanted.
        let git = self.remote_git()?.with_setting("fetch.negotiationAlgorithm=noop");
        git.run_with_input(args, list.as_bytes()).map(drop)
    }
}

fn refspec(remote: &str, branch: &str) -> String {
    format!("+refs/heads/{branch}:refs/remotes/{remote}/{branch}")
}
