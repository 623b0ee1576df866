//! Fetches commits by id from a URL into crh's private store (`store.rs`).

use crate::address::FetchAddress;
use crate::process::GitError;
use crate::remote::{DEPTHS, FetchSource, MissingError};
use crate::store::Store;

/// Refs under which the store keeps fetched commits, so that the next fetch is incremental.
const REFS: &str = "refs/crh/";

/// A commit to fetch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PinnedCommit<'a> {
    /// Full commit id.
    pub commit: &'a str,
    /// A ref that contains the commit, such as `refs/pull/7/head`, for servers that do not serve
    /// commits by id.
    pub via_ref: Option<&'a str>,
}

impl Store {
    /// Fetches commits with all files. An empty or shallow store gets only the newest part of their
    /// history. Commits that the store already has are not fetched again.
    pub fn fetch_pinned(
        &self,
        address: &FetchAddress,
        pins: &[PinnedCommit<'_>],
    ) -> Result<(), MissingError> {
        let mut missing = Vec::new();
        for pin in pins {
            if !self.is_complete(pin.commit)? {
                missing.push(pin);
            }
        }
        if missing.is_empty() {
            return Ok(());
        }
        let depth = self.starts_shallow()?.then_some(DEPTHS[0]);
        let source = FetchSource::Address(address);
        let commit_refspecs: Vec<String> =
            missing.iter().map(|pin| pin.refspec(pin.commit)).collect();
        if let Err(error) = self.fetch(source, depth, &commit_refspecs) {
            let ref_refspecs: Vec<String> =
                missing.iter().filter_map(|pin| Some(pin.refspec(pin.via_ref?))).collect();
            // Try the refs if git failed, because the server may not serve commits by id. A timeout
            // is final.
            if ref_refspecs.is_empty() || !matches!(error, GitError::Failed { .. }) {
                return Err(error.into());
            }
            self.fetch(source, depth, &ref_refspecs).map_err(|_| error)?;
        }
        match missing.iter().find(|pin| !self.bare().has(pin.commit)) {
            None => Ok(()),
            Some(pin) => Err(MissingError::Gone {
                url: address.url().to_owned(),
                commit: pin.commit.to_owned(),
            }),
        }
    }

    /// Deepens the history until the merge base of two commits and some commits before it are
    /// known.
    pub fn deepen_from_address(
        &self,
        address: &FetchAddress,
        base: &str,
        head: &str,
    ) -> Result<(), GitError> {
        self.deepen_from(FetchSource::Address(address), base, head)
    }

    /// Like [`Store::deepen_from_address`], for commits from two URLs. Each URL is asked only for
    /// its own commit, because it may not have the other commit.
    pub fn deepen_from_two(
        &self,
        sources: [(&FetchAddress, &str); 2],
        base: &str,
        head: &str,
    ) -> Result<(), GitError> {
        self.deepen_until_known(base, head, |depth, _| {
            for (address, commit) in sources {
                // Git rejects `--unshallow` for a complete history.
                if self.bare().boundary().is_empty() {
                    return Ok(());
                }
                self.fetch(FetchSource::Address(address), Some(depth), &[commit.to_owned()])?;
            }
            Ok(())
        })
    }

    /// Whether the store has a commit and all its files. After an interrupted fetch, files may be
    /// missing. In a partial clone missing files are normal, and [`Store::fetch_missing`] fetches
    /// them.
    fn is_complete(&self, commit: &str) -> Result<bool, GitError> {
        let has_commit = self.bare().has(commit);
        Ok(has_commit && (self.is_partial() || self.missing_objects(&[commit])?.is_empty()))
    }

    /// Whether to fetch with limited depth: the store is shallow, or standalone and empty.
    fn starts_shallow(&self) -> Result<bool, GitError> {
        if self.bare().is_shallow() {
            return Ok(true);
        }
        let existing_ref = self.bare().git().text(["for-each-ref", "--count=1", REFS])?;
        Ok(self.is_standalone() && existing_ref.is_empty())
    }
}

impl PinnedCommit<'_> {
    /// Refspec that fetches `name`, the commit id or a ref, and stores the commit below [`REFS`].
    fn refspec(&self, name: &str) -> String {
        // A slash is escaped, because git cannot store both refs `a` and `a/b`.
        let ref_name = self.via_ref.unwrap_or(self.commit).replace('/', "%2F");
        format!("+{name}:{REFS}{ref_name}")
    }
}
