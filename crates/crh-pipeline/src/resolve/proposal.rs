//! Resolves a pull request or merge proposal: fetches the commits that the forge names and compares
//! them.

use super::{
    PinnedChange, ResolveOptions, ResolvedRange, TargetError, build_change, criss_cross_note,
    fetch_missing_objects, snapshot_checkout,
};
use crate::target_args::Target;
use crh_forge::{ChangeProposal, ProposalRound};
use crh_git::{BaseError, FetchAddress, GitError, MissingError, NetworkMode, PinnedCommit, Store};
use crh_review::diff::Diff;
use crh_review::identity::is_commit_id;

/// Maximum number of earlier rounds for which crh fetches commits and computes a diff. A round is
/// one version of a proposed change. Rounds whose diff the forge sends do not count.
const EARLIER_ROUNDS_MAX: usize = 5;

/// A change that is proposed at a forge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProposedChange {
    /// Data from the forge.
    pub proposal: ChangeProposal,
    /// Tip of the target branch. Settings that the author must not control are read from here.
    pub target_tip: String,
    /// Earlier rounds, oldest first.
    pub earlier: Vec<EarlierRound>,
    /// Which head is under review.
    pub reviewed_head: ReviewedHead,
}

/// Repositories to fetch the commits from.
#[derive(Debug, Clone)]
pub struct ProposalRemotes {
    /// Repository of the target branch.
    pub target: FetchAddress,
    /// Repository of the head; may be the same as `target`.
    pub source: FetchAddress,
    /// Ref of the head in `source`.
    pub head_ref: String,
}

/// A round before the one under review.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EarlierRound {
    /// Round id.
    pub id: String,
    /// When the forge saw the round, or the date of its head commit. `None` if unknown.
    pub created_at: Option<String>,
    /// Commit that the round is compared with. `None` if unknown.
    pub base: Option<String>,
    /// Head commit of the round.
    pub head: String,
    /// Diff of the round.
    pub diff: Diff,
}

/// Which head of a proposed change is under review.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReviewedHead {
    /// The proposed head. If the checked-out branch is ahead of it, the local commits are included.
    Proposed,
    /// The checkout, even if it differs from the proposed head.
    Checkout,
}

impl ProposedChange {
    /// Whether the commit under review is the proposed head, without local commits on top.
    pub fn is_head(&self, head: Option<&str>) -> bool {
        head == Some(self.proposal.source.commit.as_str())
    }
}

impl ProposalRemotes {
    /// Fetches one commit of the target and one of the source; in one fetch if both are in the same
    /// repository.
    fn fetch(&self, store: &Store, pins: [PinnedCommit<'_>; 2]) -> Result<(), TargetError> {
        let fetch = |address: &FetchAddress, pins: &[PinnedCommit<'_>]| {
            store.fetch_pinned(address, pins).map_err(|error| fetch_error(error, address))
        };
        if self.is_same_repository() {
            return fetch(&self.target, &pins);
        }
        let [target_pin, source_pin] = pins;
        fetch(&self.target, &[target_pin])?;
        fetch(&self.source, &[source_pin])
    }

    /// Fetches enough history to find the merge base of the target's tip and `head`, a descendant
    /// of `fetched`.
    fn deepen(
        &self,
        store: &Store,
        tip: &str,
        fetched: &str,
        head: &str,
    ) -> Result<(), TargetError> {
        let result = match self.is_same_repository() {
            true => store.deepen_from_address(&self.target, tip, head),
            false => {
                let fetched = [(&self.source, fetched), (&self.target, tip)];
                store.deepen_from_two(fetched, tip, head)
            }
        };
        result.map_err(|source| forge_error(source, &self.target))
    }

    fn is_same_repository(&self) -> bool {
        self.target.url() == self.source.url()
    }
}

/// The newest round with this head. Launchpad may create another round when only the target
/// changes.
pub(crate) fn round_with_head<'p>(
    proposal: &'p ChangeProposal,
    head: Option<&str>,
) -> Option<&'p ProposalRound> {
    proposal.rounds.iter().rev().find(|round| Some(round.head.as_str()) == head)
}

/// Resolves a proposed change to fixed base and head commits.
pub fn resolve_proposal(
    store: &Store,
    proposal: ChangeProposal,
    remotes: &ProposalRemotes,
    under_review: ReviewedHead,
    options: &ResolveOptions<'_>,
) -> Result<PinnedChange, TargetError> {
    let (target_tip, head) = (proposal.target.commit.clone(), proposal.source.commit.clone());
    if let Some(invalid) = [&target_tip, &head].into_iter().find(|commit| !is_commit_id(commit)) {
        return Err(TargetError::NoSuchName(invalid.clone()));
    }
    fetch_ends(store, &proposal, remotes, options)?;
    let checkout_tip = local_tip(store, &proposal, under_review)?;
    let reviewed_tip = checkout_tip.as_deref().unwrap_or(&head);
    let base = merge_base(store, remotes, (&target_tip, &head), reviewed_tip, options)?;
    let (reviewed_commit, under_review) = match &checkout_tip {
        Some(tip) => (snapshot_checkout(store, tip, options)?, ReviewedHead::Checkout),
        None => (head.clone(), ReviewedHead::Proposed),
    };
    let mut notes = criss_cross_note(base.others);
    notes.extend(checkout_tip.as_deref().and_then(|checkout_tip| {
        local_commits_note(store, &proposal, checkout_tip, &reviewed_commit)
    }));
    notes.extend(proposal.notes.iter().cloned());
    let range = ResolvedRange {
        dirty: checkout_tip.as_ref().is_some_and(|tip| *tip != reviewed_commit),
        base: base.commit,
        head: reviewed_commit,
        source: format!("refs/heads/{}", proposal.source.branch),
        target: format!("refs/heads/{}", proposal.target.branch),
        notes,
    };
    if store.is_partial() {
        fetch_missing_objects(store, &range, Some(&target_tip), options)?;
    }
    let target = match checkout_tip {
        Some(_) => Target::CurrentBranch,
        None => Target::PullRequest(proposal.number.clone()),
    };
    let mut change = build_change(store, range, &target, options)?;
    change.title.clone_from(&proposal.title);
    change.body.clone_from(&proposal.body);
    change.author = proposal.author.clone().unwrap_or_default();
    let earlier = earlier_rounds(store, &proposal, remotes, options, &mut change)?;
    change.proposed = Some(Box::new(ProposedChange {
        proposal,
        target_tip,
        earlier,
        reviewed_head: under_review,
    }));
    Ok(change)
}

/// Fetches the tip of the target branch and the head. Offline, fails if one of them is missing.
fn fetch_ends(
    store: &Store,
    proposal: &ChangeProposal,
    remotes: &ProposalRemotes,
    options: &ResolveOptions<'_>,
) -> Result<(), TargetError> {
    let target_ref = format!("refs/heads/{}", proposal.target.branch);
    let pins = [
        PinnedCommit { commit: &proposal.target.commit, via_ref: Some(&target_ref) },
        PinnedCommit { commit: &proposal.source.commit, via_ref: Some(&remotes.head_ref) },
    ];
    match options.network {
        NetworkMode::Online => remotes.fetch(store, pins),
        NetworkMode::Offline => match pins.iter().find(|pin| !store.bare().has(pin.commit)) {
            Some(pin) => Err(MissingError::Commit(pin.commit.to_owned()).into()),
            None => Ok(()),
        },
    }
}

fn fetch_error(error: MissingError, address: &FetchAddress) -> TargetError {
    match error {
        MissingError::Git(source) => forge_error(source, address),
        other => other.into(),
    }
}

fn forge_error(source: GitError, address: &FetchAddress) -> TargetError {
    TargetError::Forge { url: address.url().to_owned(), source }
}

/// Commit of the checkout, if it is under review instead of the proposed head.
fn local_tip(
    store: &Store,
    proposal: &ChangeProposal,
    under_review: ReviewedHead,
) -> Result<Option<String>, TargetError> {
    let repository = store.repository();
    if repository.work_tree.is_none() {
        return Ok(None);
    }
    let Some(tip) = repository.head()? else { return Ok(None) };
    Ok(match under_review {
        ReviewedHead::Checkout => Some(tip),
        // The proposal is closed. If it was merged, every later checkout contains its head, so a
        // checkout that contains the head need not be a checkout of the proposal.
        ReviewedHead::Proposed if !proposal.open => None,
        // Authors work on a branch. CI checks out a detached head, often a test merge of the target
        // branch and the proposal.
        ReviewedHead::Proposed if repository.branch().is_none() => None,
        ReviewedHead::Proposed => {
            let contains_proposal = store.bare().is_ancestor(&proposal.source.commit, &tip)?;
            contains_proposal.then_some(tip)
        }
    })
}

/// Explains how the reviewed checkout differs from the proposed head.
fn local_commits_note(
    store: &Store,
    proposal: &ChangeProposal,
    checkout_tip: &str,
    under_review: &str,
) -> Option<String> {
    let (head, word) = (proposal.source.commit.as_str(), proposal.kind.word());
    let short = |commit: &str| commit.get(..12).unwrap_or(commit).to_owned();
    if under_review == head {
        return None;
    }
    let contains_head = store.bare().is_ancestor(head, checkout_tip).unwrap_or(false);
    Some(if contains_head {
        format!(
            "the review includes local changes on top of the head of the {word}, `{}`",
            short(head)
        )
    } else {
        format!(
            "crh reviews the checkout, which does not contain the head of the {word}, `{}`",
            short(head)
        )
    })
}

/// A merge base, and the number of other merge bases.
struct MergeBase {
    commit: String,
    others: usize,
}

fn merge_base(
    store: &Store,
    remotes: &ProposalRemotes,
    (tip, fetched): (&str, &str),
    head: &str,
    options: &ResolveOptions<'_>,
) -> Result<MergeBase, TargetError> {
    if options.network == NetworkMode::Online {
        remotes.deepen(store, tip, fetched, head)?;
    }
    if !store.merge_base_is_known(tip, head)? {
        return Err(MissingError::MergeBase(tip.to_owned(), head.to_owned()).into());
    }
    let mut merge_bases = store.bare().merge_bases(tip, head)?.into_iter();
    let unrelated = || BaseError::Unrelated { base: tip.to_owned(), head: head.to_owned() };
    let commit = merge_bases.next().ok_or_else(unrelated)?;
    Ok(MergeBase { commit, others: merge_bases.len() })
}

/// Loads the earlier rounds. Adds a note for each that cannot be loaded.
fn earlier_rounds(
    store: &Store,
    proposal: &ChangeProposal,
    remotes: &ProposalRemotes,
    options: &ResolveOptions<'_>,
    change: &mut PinnedChange,
) -> Result<Vec<EarlierRound>, TargetError> {
    let current = round_with_head(proposal, change.head.as_deref()).map(|round| round.id.as_str());
    let is_earlier = |round: &&ProposalRound| Some(round.id.as_str()) != current;
    let rounds: Vec<&ProposalRound> = proposal.rounds.iter().filter(is_earlier).collect();
    // The forge already sent the diffs of some rounds. Only the other rounds cost a fetch.
    let without_diff = rounds.iter().filter(|round| round.diff.is_none()).count();
    let mut left_out = without_diff.saturating_sub(EARLIER_ROUNDS_MAX);
    if left_out > 0 {
        change.notes.push(format!(
            "{left_out} earlier rounds are left out: reviewers see the last {EARLIER_ROUNDS_MAX}"
        ));
    }
    let mut loaded = Vec::new();
    for round in rounds {
        if round.diff.is_none() && left_out > 0 {
            left_out -= 1;
            continue;
        }
        match load_round(store, proposal, remotes, round, options) {
            Ok(earlier) => loaded.extend(earlier),
            // After a rebase, git may have deleted the old commits.
            Err(error) => {
                let (id, head) = (&round.id, &round.head);
                let result = match has_comments(round) {
                    true => {
                        loaded.push(round_with_diff(round, Vec::new()));
                        "has no diff"
                    }
                    false => "is left out",
                };
                change.notes.push(format!("round {id} with the head `{head}` {result}: {error}"));
            }
        }
    }
    Ok(loaded)
}

fn has_comments(round: &ProposalRound) -> bool {
    !round.comments.is_empty() || !round.threads.is_empty()
}

/// A round with a diff that crh does not compute. Comments refer to lines of the forge's diff, and
/// the commits of the round may exist only at the forge.
fn round_with_diff(round: &ProposalRound, text: Vec<u8>) -> EarlierRound {
    EarlierRound {
        id: round.id.clone(),
        created_at: round.created_at.clone(),
        base: round.target.clone(),
        head: round.head.clone(),
        diff: Diff::read(text),
    }
}

/// Loads a round. `None` if the round changes nothing and has no comments.
fn load_round(
    store: &Store,
    proposal: &ChangeProposal,
    remotes: &ProposalRemotes,
    round: &ProposalRound,
    options: &ResolveOptions<'_>,
) -> Result<Option<EarlierRound>, TargetError> {
    if let Some(text) = &round.diff {
        return Ok(Some(round_with_diff(round, text.clone())));
    }
    let tip = round.target.as_deref().unwrap_or(&proposal.target.commit);
    let pins = [tip, &round.head].map(|commit| PinnedCommit { commit, via_ref: None });
    if let Some(pin) = pins.iter().find(|pin| !is_commit_id(pin.commit)) {
        return Err(TargetError::NoSuchName(pin.commit.to_owned()));
    }
    if options.network == NetworkMode::Online {
        remotes.fetch(store, pins)?;
    }
    if let Some(pin) = pins.iter().find(|pin| !store.bare().has(pin.commit)) {
        return Err(MissingError::Commit(pin.commit.to_owned()).into());
    }
    let base = merge_base(store, remotes, (tip, &round.head), &round.head, options)?.commit;
    if store.is_partial() {
        store.fetch_missing(&[&base, &round.head], options.network)?;
    }
    let diff = Diff::read(store.bare().diff(&base, &round.head)?);
    if diff.files().is_empty() && !has_comments(round) {
        return Ok(None);
    }
    let (id, head) = (round.id.clone(), round.head.clone());
    let created_at = match &round.created_at {
        Some(date) => Some(date.clone()),
        None => {
            store.bare().commits(std::slice::from_ref(&head))?.pop().map(|commit| commit.committed)
        }
    };
    Ok(Some(EarlierRound { id, created_at, base: Some(base), head, diff }))
}
