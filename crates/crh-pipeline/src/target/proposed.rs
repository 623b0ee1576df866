//! A change from what a forge says about it: the commits that it names, compared with the tip that it names.

use crh_forge::Proposal;
use crh_forge::Round;
use crh_git::Address;
use crh_git::BaseError;
use crh_git::GitError;
use crh_git::MissingError;
use crh_git::Network;
use crh_git::Pin;
use crh_git::Store;
use crh_review::diff::Diff;
use crh_review::identity::is_commit;

use super::Change;
use super::Ends;
use super::Lookup;
use super::TargetError;
use super::complete;
use super::criss_cross;
use super::described;
use super::with_checkout;
use crate::asked::Target;

/// How many rounds before the current one are shown: reviewers look at what became of the last few, and each costs a diff.
const EARLIER_MAX: usize = 5;

/// The forge's word for a change that is still proposed.
const OPEN: &str = "open";

/// What a forge knows about a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proposed {
    /// What it says.
    pub proposal: Proposal,
    /// The tip of the branch that it is proposed to: what its author must not decide comes from there.
    pub tip: String,
    /// What was proposed before, oldest first.
    pub earlier: Vec<Earlier>,
    /// What of it is looked at.
    pub under_review: UnderReview,
}

/// A round before the one under review.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Earlier {
    /// Its id.
    pub id: String,
    /// When the forge saw it or, if it does not say, when it was committed.
    pub created_at: Option<String>,
    /// The commit it starts from.
    pub base: String,
    /// The commit it ends with.
    pub head: String,
    /// What it changes.
    pub diff: Diff,
}

/// What of a proposed change is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnderReview {
    /// What is proposed; with what was done here since, if the branch that is checked out goes on from it.
    Proposed,
    /// The checkout, whatever was proposed of it.
    Checkout,
}

impl Proposed {
    /// Whether the commit under review is the one that is proposed, and not one of the user's own on top of it.
    pub fn is_head(&self, head: Option<&str>) -> bool {
        head == Some(self.proposal.source.commit.as_str())
    }
}

/// Pins a proposed change. Its commits come from `address`, the repository that it is proposed to, which also has those of
/// forks.
pub fn proposed(
    store: &Store,
    proposal: Proposal,
    address: &Address,
    under_review: UnderReview,
    lookup: &Lookup<'_>,
) -> Result<Change, TargetError> {
    let (tip, head) = (proposal.target.commit.clone(), proposal.source.commit.clone());
    if let Some(other) = [&tip, &head].into_iter().find(|commit| !is_commit(commit)) {
        return Err(TargetError::NoSuchName(other.clone()));
    }
    bring(store, &proposal, address, lookup)?;
    let local = local_tip(store, &proposal, under_review)?;
    let base = parting(store, address, &tip, local.as_deref().unwrap_or(&head), lookup)?;
    let (pinned, under_review) = match &local {
        Some(tip) => (with_checkout(store, tip, lookup)?, UnderReview::Checkout),
        None => (head.clone(), UnderReview::Proposed),
    };
    let mut notes = criss_cross(base.others);
    notes.extend(local.as_deref().and_then(|local| beside(store, &head, local, &pinned)));
    notes.extend(proposal.notes.iter().cloned());
    let ends = Ends {
        dirty: local.as_ref().is_some_and(|tip| *tip != pinned),
        base: base.commit,
        head: pinned,
        source: format!("refs/heads/{}", proposal.source.branch),
        target: format!("refs/heads/{}", proposal.target.branch),
        notes,
    };
    if store.is_partial() {
        complete(store, &ends, Some(&tip), lookup)?;
    }
    let looked_at = match local {
        Some(_) => Target::CurrentBranch,
        None => Target::PullRequest(proposal.number.clone()),
    };
    let mut change = described(store, ends, &looked_at, lookup)?;
    change.title.clone_from(&proposal.title);
    change.body.clone_from(&proposal.body);
    change.author = proposal.author.clone().unwrap_or_default();
    let earlier = earlier(store, &proposal, address, lookup, &mut change)?;
    change.proposed = Some(Box::new(Proposed { proposal, tip, earlier, under_review }));
    Ok(change)
}

/// Fetches both ends, unless they are here.
fn bring(
    store: &Store,
    proposal: &Proposal,
    address: &Address,
    lookup: &Lookup<'_>,
) -> Result<(), TargetError> {
    let of_target = format!("refs/heads/{}", proposal.target.branch);
    let of_source = format!("refs/pull/{}/head", proposal.number);
    let pins = [
        Pin { commit: &proposal.target.commit, by: Some(&of_target) },
        Pin { commit: &proposal.source.commit, by: Some(&of_source) },
    ];
    match lookup.network {
        Network::Online => {
            store.fetch_pins(address, &pins).map_err(|error| not_fetched(error, address))
        }
        Network::Offline => match pins.iter().find(|pin| !store.bare().has(pin.commit)) {
            Some(pin) => Err(MissingError::Commit(pin.commit.to_owned()).into()),
            None => Ok(()),
        },
    }
}

fn not_fetched(error: MissingError, address: &Address) -> TargetError {
    match error {
        MissingError::Git(source) => forge(source, address),
        other => other.into(),
    }
}

fn forge(source: GitError, address: &Address) -> TargetError {
    TargetError::Forge { url: address.url().to_owned(), source }
}

/// The commit of the checkout that is under review; none if what is proposed is, as it is.
fn local_tip(
    store: &Store,
    proposal: &Proposal,
    under_review: UnderReview,
) -> Result<Option<String>, TargetError> {
    let repository = store.repository();
    if repository.work_tree.is_none() {
        return Ok(None);
    }
    let Some(tip) = repository.head()? else { return Ok(None) };
    Ok(match under_review {
        UnderReview::Checkout => Some(tip),
        // What was merged is in every later checkout, which does not go on from it.
        UnderReview::Proposed if proposal.state != OPEN => None,
        // Whoever works on it is on a branch. What CI checks out is on none: often a merge of both ends, made for trying it.
        UnderReview::Proposed if repository.branch().is_none() => None,
        UnderReview::Proposed => {
            let goes_on = store.bare().is_ancestor(&proposal.source.commit, &tip)?;
            goes_on.then_some(tip)
        }
    })
}

/// What the reader must know about a checkout that is not what is proposed.
fn beside(store: &Store, head: &str, local: &str, under_review: &str) -> Option<String> {
    let short = |commit: &str| commit.get(..12).unwrap_or(commit).to_owned();
    if under_review == head {
        return None;
    }
    let goes_on = store.bare().is_ancestor(head, local).unwrap_or(false);
    Some(if goes_on {
        format!(
            "the review has what was done here since the head of the pull request, `{}`",
            short(head)
        )
    } else {
        format!(
            "the checkout is reviewed, which does not go on from the head of the pull request, `{}`",
            short(head)
        )
    })
}

/// Where two histories part.
struct Parting {
    commit: String,
    others: usize,
}

fn parting(
    store: &Store,
    address: &Address,
    tip: &str,
    head: &str,
    lookup: &Lookup<'_>,
) -> Result<Parting, TargetError> {
    if lookup.network == Network::Online {
        store.deepen_by(address, tip, head).map_err(|source| forge(source, address))?;
    }
    if !store.parting_is_known(tip, head)? {
        return Err(MissingError::Parting(tip.to_owned(), head.to_owned()).into());
    }
    let mut partings = store.bare().merge_bases(tip, head)?.into_iter();
    let unrelated = || BaseError::Unrelated { base: tip.to_owned(), head: head.to_owned() };
    let commit = partings.next().ok_or_else(unrelated)?;
    Ok(Parting { commit, others: partings.len() })
}

/// The rounds before the one under review, as far as their commits can still be had. Those that cannot are noted.
fn earlier(
    store: &Store,
    proposal: &Proposal,
    address: &Address,
    lookup: &Lookup<'_>,
    change: &mut Change,
) -> Result<Vec<Earlier>, TargetError> {
    let is_before = |round: &&Round| Some(&round.head) != change.head.as_ref();
    let rounds: Vec<&Round> = proposal.rounds.iter().filter(is_before).collect();
    let left_out = rounds.len().saturating_sub(EARLIER_MAX);
    if left_out > 0 {
        change.notes.push(format!(
            "{left_out} earlier rounds are left out: the last {EARLIER_MAX} are looked at"
        ));
    }
    let mut shown = Vec::new();
    for round in &rounds[left_out..] {
        match of_round(store, proposal, address, round, lookup) {
            Ok(Some(earlier)) => shown.push(earlier),
            Ok(None) => {}
            // People rebase, and what nobody refers to any more may be gone.
            Err(error) => change.notes.push(format!(
                "round {} with the head `{}` is left out: {error}",
                round.id, round.head
            )),
        }
    }
    Ok(shown)
}

/// A round; none if it changes nothing.
fn of_round(
    store: &Store,
    proposal: &Proposal,
    address: &Address,
    round: &Round,
    lookup: &Lookup<'_>,
) -> Result<Option<Earlier>, TargetError> {
    let tip = round.target.as_deref().unwrap_or(&proposal.target.commit);
    let pins = [tip, &round.head].map(|commit| Pin { commit, by: None });
    if let Some(pin) = pins.iter().find(|pin| !is_commit(pin.commit)) {
        return Err(TargetError::NoSuchName(pin.commit.to_owned()));
    }
    if lookup.network == Network::Online {
        store.fetch_pins(address, &pins).map_err(|error| not_fetched(error, address))?;
    }
    if let Some(pin) = pins.iter().find(|pin| !store.bare().has(pin.commit)) {
        return Err(MissingError::Commit(pin.commit.to_owned()).into());
    }
    let base = parting(store, address, tip, &round.head, lookup)?.commit;
    if store.is_partial() {
        store.complete(&[&base, &round.head], lookup.network)?;
    }
    let diff = Diff::read(store.bare().diff(&base, &round.head)?);
    if diff.files().is_empty() {
        return Ok(None);
    }
    let (id, head) = (round.id.clone(), round.head.clone());
    let created_at = match &round.created_at {
        Some(seen) => Some(seen.clone()),
        None => store.bare().commits(std::slice::from_ref(&head))?.pop().map(|it| it.committed),
    };
    Ok(Some(Earlier { id, created_at, base, head, diff }))
}
