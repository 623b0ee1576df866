//! Collects everything that goes into the workspace of a change.

mod discussion;
mod line_match;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use self::discussion::Discussion;
use crate::agent_files::read_agent_files;
use crate::resolve::{EarlierRound, PinnedChange, ProposedChange, round_with_head};
use crate::workspace::{
    ChangeMetadata, CiCheck, CiStatus, CommitEntry, LinkedIssueEntry, VoteEntry, WorkspaceContents,
    WorkspaceRound,
};
use crh_forge::{ChangeProposal, ProposalKind};
use crh_git::{Objects, ReadError};
use crh_review::diff::{Diff, RepoPath};

/// Id of the first round. A round is one version of a change. A local change has only one round.
const FIRST_ROUND: &str = "1";

/// Id of a round that Launchpad has not numbered yet.
const NEW_ROUND: &str = "new";

/// Workspace contents of a change, and warnings for the user.
pub fn workspace_contents(
    mut change: PinnedChange,
    objects: Option<&Objects>,
) -> Result<(WorkspaceContents, Vec<String>), ReadError> {
    let proposed = change.proposed.take();
    let paths: Vec<&RepoPath> = change.diff.files().iter().map(|file| &file.path).collect();
    // The author of a local change reviews it, so the instruction files of its head apply. A
    // proposed change may come from anyone, so those of the target branch apply. The diff shows how
    // the change edits them.
    let instructions_commit = match &proposed {
        Some(proposed) => Some(&proposed.target_tip),
        None => change.head.as_ref(),
    };
    let agent_files = match (objects, instructions_commit) {
        (Some(objects), Some(revision)) => read_agent_files(objects, revision, &paths)?,
        (None, _) | (_, None) => Default::default(),
    };
    let commits = change.commits.iter().map(|commit| CommitEntry {
        id: commit.id.clone(),
        author: commit.author.clone(),
        date: commit.authored.clone(),
        subject: commit.subject.clone(),
        body: commit.body.clone(),
    });
    let commits = commits.collect();
    let metadata = metadata(&change, proposed.as_deref());
    let (ci, linked_issues) = proposed.as_deref().map(checks_and_issues).unwrap_or_default();
    let rounds = match proposed {
        Some(proposed) => build_rounds(change, *proposed),
        None => vec![WorkspaceRound {
            created_at: change.created_at,
            ..round_without_comments(FIRST_ROUND.to_owned(), change.base, change.head, change.diff)
        }],
    };
    let contents = WorkspaceContents {
        metadata,
        ci,
        commits,
        linked_issues,
        instructions: agent_files.files,
        context: Vec::new(),
        rounds,
    };
    Ok((contents, agent_files.notes))
}

fn metadata(change: &PinnedChange, proposed: Option<&ProposedChange>) -> ChangeMetadata {
    let non_empty = |text: &String| Some(text.clone()).filter(|text| !text.is_empty());
    let local = ChangeMetadata {
        title: change.title.clone(),
        body: change.body.clone(),
        author: non_empty(&change.author),
        source_git_path: non_empty(&change.source),
        target_git_path: non_empty(&change.target),
        base_rev: change.base.clone(),
        head_rev: change.head.clone(),
        ..ChangeMetadata::default()
    };
    match proposed {
        None => local,
        Some(ProposedChange { proposal, .. }) => ChangeMetadata {
            url: proposal.url.clone(),
            source_repository: repository_name(proposal, || proposal.source.repo.clone()),
            target_repository: repository_name(proposal, || Some(proposal.repo.clone())),
            draft: proposal.draft,
            state: non_empty(&proposal.state),
            labels: proposal.labels.clone(),
            votes: proposal.votes.iter().map(vote).collect(),
            ..local
        },
    }
}

/// Repository name for the metadata. None for a pull or merge request, since its URL contains the
/// name.
fn repository_name(
    proposal: &ChangeProposal,
    repository: impl FnOnce() -> Option<String>,
) -> Option<String> {
    match proposal.kind {
        ProposalKind::PullRequest | ProposalKind::MergeRequest => None,
        ProposalKind::MergeProposal => repository(),
    }
}

fn vote(vote: &crh_forge::ReviewVote) -> VoteEntry {
    VoteEntry { by: vote.by.clone(), vote: vote.word.clone() }
}

/// CI status and linked issues.
fn checks_and_issues(proposed: &ProposedChange) -> (CiStatus, Vec<LinkedIssueEntry>) {
    let checks = proposed.proposal.checks.iter().map(|check| CiCheck {
        name: check.name.clone(),
        state: check.state.clone(),
        url: check.url.clone(),
        summary: check.summary.clone(),
    });
    let issues = proposed.proposal.linked_issues.iter().map(|issue| LinkedIssueEntry {
        id: issue.id.clone(),
        title: issue.title.clone(),
        body: issue.body.clone(),
        url: issue.url.clone(),
    });
    (CiStatus { checks: checks.collect() }, issues.collect())
}

/// All rounds, oldest first. The last is under review.
fn build_rounds(change: PinnedChange, proposed: ProposedChange) -> Vec<WorkspaceRound> {
    let reviews_proposed_head = proposed.is_head(change.head.as_deref());
    let ProposedChange { proposal, earlier, .. } = proposed;
    let forge_round = round_with_head(&proposal, change.head.as_deref());
    let discussion = match comment_scope(&proposal) {
        CommentScope::PerProposal => Discussion::from_forge(&proposal.comments, &proposal.threads),
        CommentScope::PerRound => forge_round
            .map(|round| Discussion::from_round_on_diff(round, &change.diff))
            .unwrap_or_default(),
    };
    let id =
        forge_round.map_or_else(|| next_round_id(&proposal, &earlier), |round| round.id.clone());
    let forge_date = forge_round.and_then(|round| round.created_at.clone());
    // The round under review is the newest, even if the clocks of the forge and of the authors
    // disagree. Uncommitted work has no date and sorts last.
    let created_at = change.created_at.map(|committed| {
        let earlier_dates = earlier.iter().filter_map(|round| round.created_at.clone());
        earlier_dates.fold(forge_date.unwrap_or(committed), Ord::max)
    });
    let proposed_round = earlier.iter().find(|round| round.head == proposal.source.commit);
    let inline = match (reviews_proposed_head, proposed_round) {
        (true, _) => discussion.inline_comments(&change.diff, |_| true),
        // Comments refer to lines of the diff at the proposal's head, and another head is under
        // review. In a file with the same patch in both diffs, these lines are the same.
        (false, Some(round)) => discussion
            .inline_comments(&change.diff, changed_the_same_way(&round.diff, &change.diff)),
        (false, None) => Default::default(),
    };
    let latest = WorkspaceRound {
        created_at,
        general: discussion.general.clone(),
        threads: discussion.threads.clone(),
        inline,
        ..round_without_comments(id, change.base, change.head, change.diff)
    };
    let earlier = earlier.into_iter().map(|round| earlier_round(round, &proposal, &discussion));
    let mut rounds: Vec<WorkspaceRound> = earlier.collect();
    rounds.push(latest);
    rounds
}

/// An earlier round with its comments.
fn earlier_round(
    round: EarlierRound,
    proposal: &ChangeProposal,
    discussion: &Discussion,
) -> WorkspaceRound {
    let EarlierRound { id, created_at, base, head, diff } = round;
    match comment_scope(proposal) {
        CommentScope::PerRound => {
            let forge_round = proposal.rounds.iter().find(|round| round.id == id);
            let discussion = forge_round.map(Discussion::from_round).unwrap_or_default();
            let inline = discussion.inline_comments(&diff, |_| true);
            let Discussion { general, threads, .. } = discussion;
            let round = round_without_comments(id, base, Some(head), diff);
            WorkspaceRound { created_at, general, threads, inline, ..round }
        }
        CommentScope::PerProposal => {
            let inline = match head == proposal.source.commit {
                true => discussion.inline_comments(&diff, |_| true),
                false => Default::default(),
            };
            WorkspaceRound {
                created_at,
                inline,
                ..round_without_comments(id, base, Some(head), diff)
            }
        }
    }
}

/// Where a forge stores comments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CommentScope {
    /// With the proposal. Inline comments belong to the round of the proposal's head, the others to
    /// the round under review.
    PerProposal,
    PerRound,
}

fn comment_scope(proposal: &ChangeProposal) -> CommentScope {
    match proposal.kind {
        ProposalKind::PullRequest | ProposalKind::MergeRequest => CommentScope::PerProposal,
        // Launchpad has not created a round yet.
        ProposalKind::MergeProposal if proposal.rounds.is_empty() => CommentScope::PerProposal,
        ProposalKind::MergeProposal => CommentScope::PerRound,
    }
}

fn round_without_comments(
    id: String,
    base_rev: Option<String>,
    head_rev: Option<String>,
    diff: Diff,
) -> WorkspaceRound {
    WorkspaceRound {
        id,
        created_at: None,
        base_rev,
        head_rev,
        diff: Arc::new(diff),
        general: Vec::new(),
        threads: Vec::new(),
        inline: Default::default(),
    }
}

/// Id of a round that the forge does not know: the next number, or [`NEW_ROUND`] if the forge
/// assigns the numbers.
fn next_round_id(proposal: &ChangeProposal, earlier: &[EarlierRound]) -> String {
    match proposal.kind {
        ProposalKind::PullRequest | ProposalKind::MergeRequest => {
            let numbers = earlier.iter().filter_map(|round| round.id.parse::<u64>().ok());
            let next = |last: u64| last.saturating_add(1).to_string();
            numbers.max().map_or_else(|| FIRST_ROUND.to_owned(), next)
        }
        ProposalKind::MergeProposal => NEW_ROUND.to_owned(),
    }
}

/// A predicate: whether both diffs have the same patch for a file.
fn changed_the_same_way<'a>(other: &'a Diff, diff: &'a Diff) -> impl Fn(&RepoPath) -> bool + 'a {
    let patches = |diff: &'a Diff| -> std::collections::HashMap<&'a RepoPath, &'a [u8]> {
        diff.files().iter().map(|file| (&file.path, diff.patch(file))).collect()
    };
    let (patches, other_patches) = (patches(diff), patches(other));
    move |path| patches.contains_key(path) && patches.get(path) == other_patches.get(path)
}
