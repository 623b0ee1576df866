//! From a pinned change to everything that goes into its workspace.

#[path = "prepare/line_match.rs"]
mod same_line;
#[path = "prepare/discussion.rs"]
mod talk;

#[cfg(test)]
mod tests;

use self::talk::Talk;
use crate::agent_files::agent_files;
use crate::target::{Change, Earlier, Proposed, round_of};
use crate::workspace::{Check, Ci, Commit, Contents, LinkedIssue, Metadata, Round, Vote};
use crh_forge::{Proposal, ProposalKind};
use crh_git::{Objects, ReadError};
use crh_review::diff::{Diff, RepoPath};

/// The id of the only round of a change.
const FIRST: &str = "1";

/// The id of a round that a forge which gives out numbers has not numbered yet.
const NEW: &str = "new";

/// What goes into the workspace of a change, and what the user should know about it.
pub fn contents(
    mut change: Change,
    objects: Option<&Objects>,
) -> Result<(Contents, Vec<String>), ReadError> {
    let proposed = change.proposed.take();
    let paths: Vec<&RepoPath> = change.diff.files().iter().map(|file| &file.path).collect();
    // Locally the author and the reader are one, so the instructions are those of the change itself. What is proposed may
    // come from anybody: there they are those of the branch that it is proposed to, and the diff shows what it makes of them.
    let instructing = match &proposed {
        Some(proposed) => Some(&proposed.tip),
        None => change.head.as_ref(),
    };
    let agent = match (objects, instructing) {
        (Some(objects), Some(revision)) => agent_files(objects, revision, &paths)?,
        (None, _) | (_, None) => Default::default(),
    };
    let commits = change.commits.iter().map(|commit| Commit {
        id: commit.id.clone(),
        author: commit.author.clone(),
        date: commit.authored.clone(),
        subject: commit.subject.clone(),
        body: commit.body.clone(),
    });
    let commits = commits.collect();
    let metadata = metadata(&change, proposed.as_deref());
    let (ci, linked_issues) = proposed.as_deref().map(around).unwrap_or_default();
    let rounds = match proposed {
        Some(proposed) => rounds(change, *proposed),
        None => vec![Round {
            created_at: change.created_at,
            ..round(FIRST.to_owned(), change.base, change.head, change.diff)
        }],
    };
    let agent_notes = agent.notes;
    let contents = Contents { metadata, ci, commits, linked_issues, agent: agent.files, rounds };
    Ok((contents, agent_notes))
}

fn metadata(change: &Change, proposed: Option<&Proposed>) -> Metadata {
    let known = |text: &String| Some(text.clone()).filter(|text| !text.is_empty());
    let local = Metadata {
        title: change.title.clone(),
        body: change.body.clone(),
        author: known(&change.author),
        source_git_path: known(&change.source),
        target_git_path: known(&change.target),
        base_rev: change.base.clone(),
        head_rev: change.head.clone(),
        ..Metadata::default()
    };
    match proposed {
        None => local,
        Some(Proposed { proposal, .. }) => Metadata {
            url: proposal.url.clone(),
            source_repository: named_apart(proposal, || proposal.source.repo.clone()),
            target_repository: named_apart(proposal, || Some(proposal.repo.clone())),
            draft: proposal.draft,
            state: known(&proposal.state),
            labels: proposal.labels.clone(),
            votes: proposal.votes.iter().map(vote).collect(),
            ..local
        },
    }
}

/// A repository of a proposal whose address does not say both.
fn named_apart(proposal: &Proposal, repository: impl FnOnce() -> Option<String>) -> Option<String> {
    match proposal.kind {
        ProposalKind::PullRequest => None,
        ProposalKind::MergeProposal => repository(),
    }
}

fn vote(vote: &crh_forge::Vote) -> Vote {
    Vote { by: vote.by.clone(), vote: vote.word.clone() }
}

/// What its checks say, and the issues that it deals with.
fn around(proposed: &Proposed) -> (Ci, Vec<LinkedIssue>) {
    let checks = proposed.proposal.checks.iter().map(|check| Check {
        name: check.name.clone(),
        state: check.state.clone(),
        url: check.url.clone(),
        summary: check.summary.clone(),
    });
    let issues = proposed.proposal.linked_issues.iter().map(|issue| LinkedIssue {
        id: issue.id.clone(),
        title: issue.title.clone(),
        body: issue.body.clone(),
        url: issue.url.clone(),
    });
    (Ci { checks: checks.collect() }, issues.collect())
}

/// What was proposed one after another. The last is the one under review.
fn rounds(change: Change, proposed: Proposed) -> Vec<Round> {
    let is_head = proposed.is_head(change.head.as_deref());
    let Proposed { proposal, earlier, .. } = proposed;
    let known = round_of(&proposal, change.head.as_deref());
    let talk = match said_in(&proposal) {
        SaidIn::Whole => Talk::of(&proposal.comments, &proposal.threads),
        SaidIn::Rounds => {
            known.map(|round| Talk::in_round_on(round, &change.diff)).unwrap_or_default()
        }
    };
    let id = known.map_or_else(|| new_id(&proposal, &earlier), |round| round.id.clone());
    let seen = known.and_then(|round| round.created_at.clone());
    // Nothing is newer than what is under review, whatever the clocks of a forge and of its authors say. What is not
    // committed has no date, and comes last without one.
    let created_at = change.created_at.map(|committed| {
        let before = earlier.iter().filter_map(|round| round.created_at.clone());
        before.fold(seen.unwrap_or(committed), Ord::max)
    });
    let proposed_diff = earlier.iter().find(|round| round.head == proposal.source.commit);
    let inline = match (is_head, proposed_diff) {
        (true, _) => talk.inline(&change.diff, |_| true),
        // The lines that people spoke of are those of what is proposed. They are the same lines in a file that was left alone.
        (false, Some(round)) => talk.inline(&change.diff, same_as(&round.diff, &change.diff)),
        (false, None) => Default::default(),
    };
    let latest = Round {
        created_at,
        general: talk.general.clone(),
        threads: talk.threads.clone(),
        inline,
        ..round(id, change.base, change.head, change.diff)
    };
    let earlier = earlier.into_iter().map(|before| earlier_round(before, &proposal, &talk));
    let mut rounds: Vec<Round> = earlier.collect();
    rounds.push(latest);
    rounds
}

/// A round before the one under review, with what was said in it.
fn earlier_round(before: Earlier, proposal: &Proposal, talk: &Talk) -> Round {
    let Earlier { id, created_at, base, head, diff } = before;
    match said_in(proposal) {
        SaidIn::Rounds => {
            let own = proposal.rounds.iter().find(|round| round.id == id);
            let own = own.map(Talk::in_round).unwrap_or_default();
            let inline = own.inline(&diff, |_| true);
            let Talk { general, threads, .. } = own;
            let round = round(id, base, Some(head), diff);
            Round { created_at, general, threads, inline, ..round }
        }
        SaidIn::Whole => {
            let inline = match head == proposal.source.commit {
                true => talk.inline(&diff, |_| true),
                false => Default::default(),
            };
            Round { created_at, inline, ..round(id, base, Some(head), diff) }
        }
    }
}

/// Where a forge keeps what people said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SaidIn {
    /// With the proposal; it belongs to what is proposed now.
    Whole,
    /// With each round.
    Rounds,
}

fn said_in(proposal: &Proposal) -> SaidIn {
    match proposal.kind {
        ProposalKind::PullRequest => SaidIn::Whole,
        // There is no round yet that it could be kept with.
        ProposalKind::MergeProposal if proposal.rounds.is_empty() => SaidIn::Whole,
        ProposalKind::MergeProposal => SaidIn::Rounds,
    }
}

fn round(id: String, base_rev: Option<String>, head_rev: Option<String>, diff: Diff) -> Round {
    Round {
        id,
        created_at: None,
        base_rev,
        head_rev,
        diff,
        general: Vec::new(),
        threads: Vec::new(),
        inline: Default::default(),
    }
}

/// The id of a round that no forge knows: the next number where rounds are counted, and no number where a forge gives them out.
fn new_id(proposal: &Proposal, earlier: &[Earlier]) -> String {
    match proposal.kind {
        ProposalKind::PullRequest => {
            let numbers = earlier.iter().filter_map(|round| round.id.parse::<u64>().ok());
            let next = |last: u64| last.saturating_add(1).to_string();
            numbers.max().map_or_else(|| FIRST.to_owned(), next)
        }
        ProposalKind::MergeProposal => NEW.to_owned(),
    }
}

/// Whether a file of a diff is changed in the same way in another one.
fn same_as<'a>(other: &'a Diff, diff: &'a Diff) -> impl Fn(&RepoPath) -> bool + 'a {
    let patches = |diff: &'a Diff| -> std::collections::HashMap<&'a RepoPath, &'a [u8]> {
        diff.files().iter().map(|file| (&file.path, diff.patch(file))).collect()
    };
    let (here, there) = (patches(diff), patches(other));
    move |path| here.contains_key(path) && here.get(path) == there.get(path)
}
