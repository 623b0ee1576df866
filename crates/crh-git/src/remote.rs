//! What comes from remotes: which branches they have, and the objects of a change that are missing here.
//! Everything goes into the private store.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::address::Address;
use crate::history::HISTORY_BEFORE_BASE;
use crate::process::GitError;
use crate::store::Store;

/// How deep a shallow clone is made, step by step, until the two histories meet. After the last, whole.
pub(crate) const DEPTHS: &[&str] = &["--depth=128", "--depth=1024", "--unshallow"];
/// A remote that takes longer to say which branches it has will not say it at all.
const ASK_LIMIT: Duration = Duration::from_secs(60);
/// A partial clone may lack trees in trees: each round brings one level. No real tree is this deep.
const ROUNDS_MAX: usize = 256;

/// Whether remotes may be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Network {
    /// Yes.
    Online,
    /// No: what is not here is not there.
    Offline,
}

/// Where a fetch goes.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Origin<'a> {
    /// A remote of the user's repository, by its name, with the settings that it has there.
    Remote(&'a str),
    /// An address, with what opens it.
    Address(&'a Address),
}

/// What a remote says about its branches.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Advertised {
    /// The branch it shows to whoever does not name one.
    pub(crate) default: Option<String>,
    /// The branches that were asked for and exist, with their commits.
    pub(crate) branches: BTreeMap<String, String>,
}

/// Why what is missing could not be had.
#[derive(Debug, thiserror::Error)]
pub enum MissingError {
    /// Git failed.
    #[error(transparent)]
    Git(#[from] GitError),
    /// A commit is missing.
    #[error("the commit `{0}` is not in this clone")]
    Commit(String),
    /// Where two histories part is missing.
    #[error("this clone is shallow, and does not reach back to where `{0}` and `{1}` part")]
    Parting(String, String),
    /// A forge has named a commit, and does not have it any more.
    #[error("`{url}` does not have the commit `{commit}` any more")]
    Gone {
        /// Where it was fetched from.
        url: String,
        /// The commit.
        commit: String,
    },
    /// Objects are missing, and nobody may be asked for them.
    #[error("{count} objects of the change are not in this clone")]
    Objects {
        /// How many.
        count: usize,
    },
    /// A remote was asked and did not give what it must have.
    #[error("the remote `{remote}` did not send {count} objects of the change")]
    NotSent {
        /// Which.
        remote: String,
        /// How many.
        count: usize,
    },
}

impl Store {
    /// Asks a remote for its default branch and for some branches by name.
    pub(crate) fn advertised(
        &self,
        remote: &str,
        branches: &[&str],
    ) -> Result<Advertised, GitError> {
        let names = branches.iter().map(|name| format!("refs/heads/{name}"));
        let mut args: Vec<String> =
            ["ls-remote", "--symref", "--", remote, "HEAD"].map(str::to_owned).into();
        args.extend(names);
        let mut advertised = Advertised::default();
        for line in self.remote_git()?.with_limit(ASK_LIMIT).text(&args)?.lines() {
            let Some((value, name)) = line.split_once('\t') else { continue };
            match (value.strip_prefix("ref: refs/heads/"), name.strip_prefix("refs/heads/")) {
                (Some(branch), _) if name == "HEAD" => advertised.default = Some(branch.to_owned()),
                // A pattern also matches the end of a longer name; only what was asked for counts.
                (None, Some(branch)) if branches.contains(&branch) => {
                    advertised.branches.insert(branch.to_owned(), value.to_owned());
                }
                _ => {}
            }
        }
        Ok(advertised)
    }

    /// Fetches a branch of a remote unless its commit is here already.
    pub fn refresh(&self, remote: &str, branch: &str, commit: &str) -> Result<(), GitError> {
        if self.bare().has(commit) {
            return Ok(());
        }
        // Without a depth, a shallow clone would get the branch's history down to its first commit.
        let depth = (!self.bare().boundary().is_empty()).then_some(DEPTHS[0]);
        self.fetch(Origin::Remote(remote), depth, &[refspec(remote, branch)])
    }

    /// Fetches a commit by its full name, if the remote allows that.
    pub fn fetch_commit(&self, remote: &str, commit: &str) -> Result<(), GitError> {
        let depth = (!self.bare().boundary().is_empty()).then_some(DEPTHS[0]);
        self.fetch(Origin::Remote(remote), depth, &[commit.to_owned()])
    }

    pub(crate) fn fetch(
        &self,
        origin: Origin<'_>,
        depth: Option<&str>,
        what: &[String],
    ) -> Result<(), GitError> {
        let (git, place) = match origin {
            Origin::Remote(name) => (self.remote_git()?, name),
            Origin::Address(address) => (self.address_git(address)?, address.url()),
        };
        let mut args = vec!["fetch", "--quiet", "--no-tags", "--no-write-fetch-head"];
        args.extend(depth);
        args.extend(["--", place]);
        args.extend(what.iter().map(String::as_str));
        git.run(args).map(drop)
    }

    /// Makes a shallow clone deep enough to know where two histories part, and what came shortly before.
    /// Does nothing in a whole clone.
    pub fn deepen(&self, remote: &str, base: &str, head: &str) -> Result<(), GitError> {
        self.deepen_from(Origin::Remote(remote), base, head)
    }

    pub(crate) fn deepen_from(
        &self,
        origin: Origin<'_>,
        base: &str,
        head: &str,
    ) -> Result<(), GitError> {
        self.deepened(base, head, |depth, boundary| {
            // The ends of what is here, which the remote knows, whether or not `head` was ever pushed.
            let mut wanted: Vec<String> = boundary.into_iter().collect();
            if self.commit(base).is_some() {
                wanted.push(base.to_owned());
            }
            self.fetch(origin, Some(depth), &wanted)
        })
    }

    /// Takes one step after another, each deeper and told where what is here ends, until it is known where two commits part.
    pub(crate) fn deepened(
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

    /// Whether the merge base of two commits is sure: no way from either leads to where a shallow clone ends
    /// before it is common to both.
    pub fn parting_is_known(&self, base: &str, head: &str) -> Result<bool, GitError> {
        let boundary = self.bare().boundary();
        if boundary.is_empty() {
            return Ok(true);
        }
        let apart = self.bare().git().text(["rev-list", &format!("{base}...{head}")])?;
        Ok(!apart.lines().any(|commit| boundary.contains(commit)))
    }

    /// Whether what is missing could change the merge base of two commits, the commits between them, or the
    /// history that reviewers see.
    fn reaches_boundary(
        &self,
        boundary: &BTreeSet<String>,
        base: &str,
        head: &str,
    ) -> Result<bool, GitError> {
        if !self.parting_is_known(base, head)? {
            return Ok(true);
        }
        let Some(parting) = self.bare().merge_base(base, head)? else { return Ok(true) };
        let limit = (HISTORY_BEFORE_BASE - 1).to_string();
        let before = self.bare().git().text(["rev-list", "-n", &limit, &parting])?;
        Ok(before.lines().any(|commit| boundary.contains(commit)))
    }

    /// Whether the user's clone left objects out on purpose.
    pub fn is_partial(&self) -> bool {
        self.repository().promisor().is_some()
    }

    /// Fetches what a partial clone left out of some commits: every tree and every blob. Nothing is fetched
    /// later, in the middle of a review.
    pub fn complete(&self, commits: &[&str], network: Network) -> Result<(), MissingError> {
        let Some(remote) = self.repository().promisor() else { return Ok(()) };
        let mut last = usize::MAX;
        for _ in 0..ROUNDS_MAX {
            let missing = self.missing(commits)?;
            if missing.is_empty() {
                return Ok(());
            }
            let count = missing.len();
            if network == Network::Offline {
                return Err(MissingError::Objects { count });
            }
            let known = last;
            last = count;
            // A round that brought nothing will not bring more when it is repeated.
            if known == count {
                return Err(MissingError::NotSent { remote, count });
            }
            self.backfill(&remote, &missing)?;
        }
        Err(MissingError::NotSent { remote, count: last })
    }

    /// Objects of the trees of some commits that are not here.
    pub(crate) fn missing(&self, commits: &[&str]) -> Result<Vec<String>, GitError> {
        let args = ["rev-list", "--objects", "--no-walk", "--missing=print", "--stdin"];
        let list: String = commits.iter().map(|id| format!("{id}\n")).collect();
        let printed = self.bare().git().run_with_input(args, list.as_bytes())?;
        let printed = String::from_utf8_lossy(&printed);
        Ok(printed.lines().filter_map(|line| line.strip_prefix('?')).map(str::to_owned).collect())
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
        // Nothing is told of what is here: the objects asked for by name are all that is wanted.
        let git = self.remote_git()?.with_setting("fetch.negotiationAlgorithm=noop");
        git.run_with_input(args, list.as_bytes()).map(drop)
    }
}

fn refspec(remote: &str, branch: &str) -> String {
    format!("+refs/heads/{branch}:refs/remotes/{remote}/{branch}")
}
