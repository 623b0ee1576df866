//! A change from what a forge says about it: the commits that it names, compared with the tip that it names.

use super::{Change, Ends, Lookup, TargetError, complete, criss_cross, described, with_checkout};
use crate::asked::Target;
use crh_forge::{Proposal, Round};
use crh_git::{Address, BaseError, GitError, MissingError, Network, Pin, Store};
use crh_review::diff::Diff;
use crh_review::identity::is_commit;

/// How many rounds before the current one are shown: reviewers look at what became of the last few, and each costs a diff.
const EARLIER_MAX: usize = 5;

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

/// Where the commits of a proposed change are fetched from.
#[derive(Debug, Clone)]
pub struct Origins {
    /// The repository that it is proposed to.
    pub target: Address,
    /// The one that has its head: the same, or another.
    pub source: Address,
    /// The ref there that leads to its head.
    pub head_ref: String,
}

/// A round before the one under review.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Earlier {
    /// Its id.
    pub id: String,
    /// When the forge saw it or, if it does not say, when it was committed.
    pub created_at: Option<String>,
    /// The commit it starts from; none if that is not known.
    pub base: Option<String>,
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

impl Origins {
    /// Fetches a commit of the target and one of the source, at once if one repository has both.
    fn fetch(&self, store: &Store, pins: [Pin<'_>; 2]) -> Result<(), TargetError> {
        let fetch = |address: &Address, pins: &[Pin<'_>]| {
            store.fetch_pins(address, pins).map_err(|error| not_fetched(error, address))
        };
        if self.is_one() {
            return fetch(&self.target, &pins);
        }
        let [of_target, of_source] = pins;
        fetch(&self.target, &[of_target])?;
        fetch(&self.source, &[of_source])
    }

    /// Makes the history deep enough to know where the tip of the target parts from `head`, which goes back to what was fetched
    /// from the source.
    fn deepen(
        &self,
        store: &Store,
        tip: &str,
        fetched: &str,
        head: &str,
    ) -> Result<(), TargetError> {
        let deepened = match self.is_one() {
            true => store.deepen_by(&self.target, tip, head),
            false => {
                let fetched = [(&self.source, fetched), (&self.target, tip)];
                store.deepen_apart(fetched, tip, head)
            }
        };
        deepened.map_err(|source| forge(source, &self.target))
    }

    fn is_one(&self) -> bool {
        self.target.url() == self.source.url()
    }
}

/// The round that has a commit for its head; the newest one, since a forge may make another when only the target has changed.
pub(crate) fn round_of<'p>(proposal: &'p Proposal, head: Option<&str>) -> Option<&'p Round> {
    proposal.rounds.iter().rev().find(|round| Some(round.head.as_str()) == head)
}

/// Pins a proposed change, with commits from where they are.
pub fn proposed(
    store: &Store,
    proposal: Proposal,
    origins: &Origins,
    under_review: UnderReview,
    lookup: &Lookup<'_>,
) -> Result<Change, TargetError> {
    let (tip, head) = (proposal.target.commit.clone(), proposal.source.commit.clone());
    if let Some(other) = [&tip, &head].into_iter().find(|commit| !is_commit(commit)) {
        return Err(TargetError::NoSuchName(other.clone()));
    }
    bring(store, &proposal, origins, lookup)?;
    let local = local_tip(store, &proposal, under_review)?;
    let under = local.as_deref().unwrap_or(&head);
    let base = parting(store, origins, (&tip, &head), under, lookup)?;
    let (pinned, under_review) = match &local {
        Some(tip) => (with_checkout(store, tip, lookup)?, UnderReview::Checkout),
        None => (head.clone(), UnderReview::Proposed),
    };
    let mut notes = criss_cross(base.others);
    notes.extend(local.as_deref().and_then(|local| beside(store, &proposal, local, &pinned)));
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
    let earlier = earlier(store, &proposal, origins, lookup, &mut change)?;
    change.proposed = Some(Box::new(Proposed { proposal, tip, earlier, under_review }));
    Ok(change)
}

/// Fetches both ends, unless they are here.
fn bring(
    store: &Store,
    proposal: &Proposal,
    origins: &Origins,
    lookup: &Lookup<'_>,
) -> Result<(), TargetError> {
    let of_target = format!("refs/heads/{}", proposal.target.branch);
    let pins = [
        Pin { commit: &proposal.target.commit, by: Some(&of_target) },
        Pin { commit: &proposal.source.commit, by: Some(&origins.head_ref) },
    ];
    match lookup.network {
        Network::Online => origins.fetch(store, pins),
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
        UnderReview::Proposed if !proposal.open => None,
        // Whoever works on it is on a branch. What CI checks out is on none: often a merge of both ends, made for trying it.
        UnderReview::Proposed if repository.branch().is_none() => None,
        UnderReview::Proposed => {
            let goes_on = store.bare().is_ancestor(&proposal.source.commit, &tip)?;
            goes_on.then_some(tip)
        }
    })
}

/// What the reader must know about a checkout that is not what is proposed.
fn beside(store: &Store, proposal: &Proposal, local: &str, under_review: &str) -> Option<String> {
    let (head, word) = (proposal.source.commit.as_str(), proposal.kind.word());
    let short = |commit: &str| commit.get(..12).unwrap_or(commit).to_owned();
    if under_review == head {
        return None;
    }
    let goes_on = store.bare().is_ancestor(head, local).unwrap_or(false);
    Some(if goes_on {
        format!("the review has what was done here since the head of the {word}, `{}`", short(head))
    } else {
        format!(
            "the checkout is reviewed, which does not go on from the head of the {word}, `{}`",
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
    origins: &Origins,
    (tip, fetched): (&str, &str),
    head: &str,
    lookup: &Lookup<'_>,
) -> Result<Parting, TargetError> {
    if lookup.network == Network::Online {
        origins.deepen(store, tip, fetched, head)?;
    }
    if !store.parting_is_known(tip, head)? {
        return Err(MissingError::Parting(tip.to_owned(), head.to_owned()).into());
    }
    let mut partings = store.bare().merge_bases(tip, head)?.into_iter();
    let unrelated = || BaseError::Unrelated { base: tip.to_owned(), head: head.to_owned() };
    let commit = partings.next().ok_or_else(unrelated)?;
    Ok(Parting { commit, others: partings.len() })
}

/// The rounds before the one under review, as far as they can still be had. Those that cannot are noted.
fn earlier(
    store: &Store,
    proposal: &Proposal,
    origins: &Origins,
    lookup: &Lookup<'_>,
    change: &mut Change,
) -> Result<Vec<Earlier>, TargetError> {
    let current = round_of(proposal, change.head.as_deref()).map(|round| round.id.as_str());
    let is_before = |round: &&Round| Some(round.id.as_str()) != current;
    let rounds: Vec<&Round> = proposal.rounds.iter().filter(is_before).collect();
    // A diff that came with the rest costs nothing more.
    let costly = rounds.iter().filter(|round| round.diff.is_none()).count();
    let mut left_out = costly.saturating_sub(EARLIER_MAX);
    if left_out > 0 {
        change.notes.push(format!(
            "{left_out} earlier rounds are left out: the last {EARLIER_MAX} are looked at"
        ));
    }
    let mut shown = Vec::new();
    for round in rounds {
        if round.diff.is_none() && left_out > 0 {
            left_out -= 1;
            continue;
        }
        match of_round(store, proposal, origins, round, lookup) {
            Ok(earlier) => shown.extend(earlier),
            // People rebase, and what nobody refers to any more may be gone.
            Err(error) => {
                let (id, head) = (&round.id, &round.head);
                let what = match was_talked_about(round) {
                    true => {
                        shown.push(of_text(round, Vec::new()));
                        "has no diff"
                    }
                    false => "is left out",
                };
                change.notes.push(format!("round {id} with the head `{head}` {what}: {error}"));
            }
        }
    }
    Ok(shown)
}

/// Whether people said something that would be lost with a round.
fn was_talked_about(round: &Round) -> bool {
    !round.comments.is_empty() || !round.threads.is_empty()
}

/// A round as the forge shows it: these are the lines that people spoke of, and its commits may be gone here and not there.
fn of_text(round: &Round, text: Vec<u8>) -> Earlier {
    Earlier {
        id: round.id.clone(),
        created_at: round.created_at.clone(),
        base: round.target.clone(),
        head: round.head.clone(),
        diff: Diff::read(text),
    }
}

/// A round; none if it changes nothing, and nobody spoke of it.
fn of_round(
    store: &Store,
    proposal: &Proposal,
    origins: &Origins,
    round: &Round,
    lookup: &Lookup<'_>,
) -> Result<Option<Earlier>, TargetError> {
    if let Some(text) = &round.diff {
        return Ok(Some(of_text(round, text.clone())));
    }
    let tip = round.target.as_deref().unwrap_or(&proposal.target.commit);
    let pins = [tip, &round.head].map(|commit| Pin { commit, by: None });
    if let Some(pin) = pins.iter().find(|pin| !is_commit(pin.commit)) {
        return Err(TargetError::NoSuchName(pin.commit.to_owned()));
    }
    if lookup.network == Network::Online {
        origins.fetch(store, pins)?;
    }
    if let Some(pin) = pins.iter().find(|pin| !store.bare().has(pin.commit)) {
        return Err(MissingError::Commit(pin.commit.to_owned()).into());
    }
    let base = parting(store, origins, (tip, &round.head), &round.head, lookup)?.commit;
    if store.is_partial() {
        store.complete(&[&base, &round.head], lookup.network)?;
    }
    let diff = Diff::read(store.bare().diff(&base, &round.head)?);
    if diff.files().is_empty() && !was_talked_about(round) {
        return Ok(None);
    }
    let (id, head) = (round.id.clone(), round.head.clone());
    let created_at = match &round.created_at {
        Some(seen) => Some(seen.clone()),
        None => store.bare().commits(std::slice::from_ref(&head))?.pop().map(|it| it.committed),
    };
    Ok(Some(Earlier { id, created_at, base: Some(base), head, diff }))
}
