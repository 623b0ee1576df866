//! Reads a merge proposal with concurrent requests. A request waits only if it depends on an
//! earlier reply.

mod convert;
mod wire;

use futures_util::{StreamExt, stream};
use url::form_urlencoded;
use wire::{Bug, Comment, GitRef, InlineComment, Merge, Person, PreviewDiff, Report, Vote};

use super::merge_proposal_ref::is_plain;
use super::{Collection, CollectionCompleteness, LaunchpadClient, MergeProposalRef};
use crate::http::message;
use crate::http::message::NO_SECRET;
use crate::http::sender::CONCURRENT_MAX;
use crate::posting::ProposalState;
use crate::{ChangeProposal, ForgeError};
use crh_review::identity::is_commit_id;

/// Maximum number of rounds to read, newest first. A round is a preview diff with its inline
/// comments. Each costs three requests: the diff, the redirect to its text, and the comments.
const ROUNDS_MAX: usize = 40;

/// Maximum bytes of diffs to keep, newest rounds first, so that a hostile proposal cannot fill the
/// memory.
const DIFF_BYTES_MAX: usize = 64 << 20;

/// Maximum bytes of inline comments to keep, newest rounds first, so that a hostile proposal cannot
/// fill the memory.
const COMMENT_BYTES_MAX: usize = 64 << 20;

/// All replies, before conversion.
#[derive(Default)]
struct RawMergeProposal {
    merge: Merge,
    source: ProposalTip,
    target: ProposalTip,
    rounds: Vec<RawRound>,
    comments: Vec<Comment>,
    votes: Vec<Vote>,
    bugs: Vec<Bug>,
    reports: Vec<Report>,
    viewer: Option<String>,
    /// Sentences about parts that crh could not read, for the reviewers and the user.
    notes: Vec<String>,
    /// Names of incomplete lists that posting depends on.
    incomplete_lists: Vec<String>,
}

/// Rounds, oldest first, with notes about missing parts.
struct RawRounds {
    rounds: Vec<RawRound>,
    notes: Vec<String>,
    incomplete_lists: Vec<String>,
}

/// Source or target branch.
#[derive(Default)]
struct ProposalTip {
    /// Unique name of the repository.
    repository: String,
    /// Branch name without `refs/heads/`.
    branch: String,
    /// Commit at the tip; `None` if the branch is gone.
    commit: Option<String>,
}

/// A preview diff with its inline comments.
struct RawRound {
    diff: PreviewDiff,
    number: u64,
    diff_text: Option<Vec<u8>>,
    inline_comments: Vec<InlineComment>,
}

/// Reads a merge proposal: the proposal for the review, and the state for posting.
pub async fn merge_proposal(
    client: &LaunchpadClient,
    proposal_ref: &MergeProposalRef,
) -> Result<(ChangeProposal, ProposalState), ForgeError> {
    let path = proposal_ref.path();
    let comments_path = format!("{path}/all_comments");
    let votes_path = format!("{path}/votes");
    let bugs_path = format!("{path}/bugs");
    let (proposal, rounds, comments, votes, bugs, viewer) = tokio::join!(
        read_proposal_and_tips(client, &path),
        read_rounds(client, &path),
        client.collection::<Comment>(&comments_path),
        client.collection::<Vote>(&votes_path),
        client.collection::<Bug>(&bugs_path),
        viewer(client),
    );
    // The order decides which error is reported: a missing proposal first.
    let mut raw = proposal?;
    raw.viewer = viewer?;
    let RawRounds { rounds, notes, incomplete_lists } = rounds?;
    raw.rounds = rounds;
    raw.notes.extend(notes);
    raw.incomplete_lists.extend(incomplete_lists);
    let Collection { entries, completeness } = comments?;
    raw.comments = entries;
    if completeness == CollectionCompleteness::Truncated {
        raw.notes.push("There are more comments than crh reads.".to_owned());
        raw.incomplete_lists.push("comments".to_owned());
    }
    raw.votes = list_or_note("votes", votes, &mut raw.notes);
    raw.bugs = list_or_note("bugs", bugs, &mut raw.notes);
    check_tips(&path, &raw)?;
    Ok(convert::convert(proposal_ref, raw))
}

/// Fails if a branch is gone and there is no diff to fall back on.
fn check_tips(path: &str, raw: &RawMergeProposal) -> Result<(), ForgeError> {
    let tips = [("source", &raw.source), ("target", &raw.target)];
    let missing_tip = tips.into_iter().find(|(_, tip)| tip.commit.is_none());
    match missing_tip.filter(|_| raw.rounds.is_empty()) {
        None => Ok(()),
        Some((name, tip)) => {
            let branch = message::single_line(&tip.branch, NO_SECRET);
            let message =
                format!("its {name} branch `{branch}` is gone and Launchpad has no diff of it");
            Err(ForgeError::unreadable(format!("GET {path}"), message))
        }
    }
}

/// Name of the account; `None` if anonymous.
pub async fn viewer(client: &LaunchpadClient) -> Result<Option<String>, ForgeError> {
    if client.is_anonymous() {
        return Ok(None);
    }
    let person: Person = client.get_json("people/+me").await?;
    Ok(Some(person.name))
}

/// Reads the proposal, then its branch tips and status reports.
async fn read_proposal_and_tips(
    client: &LaunchpadClient,
    path: &str,
) -> Result<RawMergeProposal, ForgeError> {
    let merge: Merge = client.get_json(path).await?;
    let request_name = format!("GET {path}");
    let unreadable = |message: &str| ForgeError::unreadable(&request_name, message);
    let (Some(source), Some(target)) =
        (&merge.source_git_repository_link, &merge.target_git_repository_link)
    else {
        return Err(ForgeError::Bazaar { request: request_name });
    };
    // Compares only the number, because the path before it changes when a person or repository is
    // renamed.
    let number = path.rsplit('/').next();
    if client.own_path(path, &merge.self_link)?.rsplit('/').next() != number {
        return Err(unreadable("it is another merge proposal"));
    }
    let repository = |link: &str| {
        let name = client.own_path(path, link)?;
        match name.split('/').all(is_plain) {
            true => Ok(name),
            false => Err(unreadable("it has an invalid repository name")),
        }
    };
    let (source, target) = (repository(source)?, repository(target)?);
    let branch = |path: &Option<String>| {
        let path = path.as_deref().unwrap_or_default();
        path.strip_prefix("refs/heads/").unwrap_or(path).to_owned()
    };
    let (source_branch, target_branch) =
        (branch(&merge.source_git_path), branch(&merge.target_git_path));
    let mut notes = Vec::new();
    let (head, base) = tokio::join!(
        read_tip(client, &source, &source_branch),
        read_tip(client, &target, &target_branch)
    );
    let (head, base) =
        (tip_or_note("source", head, &mut notes)?, tip_or_note("target", base, &mut notes)?);
    let reports = match &head {
        Some(commit) => {
            let path = format!("{source}?ws.op=getStatusReports&commit_sha1={commit}");
            list_or_note("status reports", client.collection(&path).await, &mut notes)
        }
        None => Vec::new(),
    };
    Ok(RawMergeProposal {
        merge,
        source: ProposalTip { repository: source, branch: source_branch, commit: head },
        target: ProposalTip { repository: target, branch: target_branch, commit: base },
        reports,
        notes,
        ..RawMergeProposal::default()
    })
}

/// Commit at the tip of a branch.
async fn read_tip(
    client: &LaunchpadClient,
    repository: &str,
    branch: &str,
) -> Result<String, ForgeError> {
    let segments = branch.split('/').map(|segment| {
        form_urlencoded::byte_serialize(segment.as_bytes()).collect::<String>().replace('+', "%20")
    });
    let branch = segments.collect::<Vec<_>>().join("/");
    let path = format!("{repository}/+ref/{branch}");
    let git_ref: GitRef = client.get_json(&path).await?;
    match is_commit_id(&git_ref.commit_sha1) {
        true => Ok(git_ref.commit_sha1),
        false => Err(ForgeError::unreadable(format!("GET {path}"), "it has no commit")),
    }
}

/// The tip, or a note if the branch is gone: people delete merged branches.
fn tip_or_note(
    branch_role: &str,
    tip: Result<String, ForgeError>,
    notes: &mut Vec<String>,
) -> Result<Option<String>, ForgeError> {
    match tip {
        Ok(commit) => Ok(Some(commit)),
        Err(ForgeError::NotFound { .. }) => {
            notes.push(format!("The {branch_role} branch is gone; crh uses the last diff."));
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// Reads the rounds, oldest first, with diffs and inline comments.
async fn read_rounds(client: &LaunchpadClient, path: &str) -> Result<RawRounds, ForgeError> {
    let list = client.collection::<PreviewDiff>(&format!("{path}/preview_diffs")).await?;
    let (mut notes, mut incomplete_lists) = (Vec::new(), Vec::new());
    if list.completeness == CollectionCompleteness::Truncated {
        notes.push("There are more preview diffs than crh reads.".to_owned());
        incomplete_lists.push("preview diffs".to_owned());
    }
    let mut diffs: Vec<(u64, PreviewDiff)> = Vec::new();
    for diff in list.entries {
        match diff.number().filter(|_| is_commit_id(&diff.source_revision_id)) {
            Some(number) => diffs.push((number, diff)),
            None => {
                notes.push("Skipped a preview diff without a number or a commit.".to_owned());
            }
        }
    }
    diffs.sort_by(|one, other| (&one.1.date_created, one.0).cmp(&(&other.1.date_created, other.0)));
    let skipped_count = diffs.len().saturating_sub(ROUNDS_MAX);
    if skipped_count > 0 {
        notes.push(format!(
            "Skipped the {skipped_count} oldest rounds; crh reads the last {ROUNDS_MAX}."
        ));
    }
    let newest = diffs.split_off(skipped_count);
    // In a fixed order, newest first, so that the same rounds are skipped on every read.
    let newest_first = stream::iter(newest.into_iter().rev());
    let mut round_reads = newest_first
        .map(|(number, diff)| read_round(client, path, number, diff))
        .buffered(CONCURRENT_MAX);
    let mut budget = RoundBudget { diff_bytes: DIFF_BYTES_MAX, comment_bytes: COMMENT_BYTES_MAX };
    let mut rounds = Vec::new();
    while let Some(round_read) = round_reads.next().await {
        let (mut round, note) = round_read?;
        notes.extend(note);
        if !budget.take_diff(&round) {
            round.diff_text = None;
            notes.push(format!("Skipped the diff of round {}: too large.", round.number));
        }
        if !budget.take_comments(&round) {
            round.inline_comments.clear();
            let list_name = format!("inline comments of round {}", round.number);
            notes.push(format!("Skipped {list_name}: too large."));
            incomplete_lists.push(list_name);
        }
        rounds.push(round);
    }
    rounds.reverse();
    Ok(RawRounds { rounds, notes, incomplete_lists })
}

/// Bytes that rounds may still use. If a round does not fit, no older round is kept either, even if
/// it is smaller.
struct RoundBudget {
    diff_bytes: usize,
    comment_bytes: usize,
}

impl RoundBudget {
    fn take_diff(&mut self, round: &RawRound) -> bool {
        let Some(text) = &round.diff_text else { return true };
        let remaining = self.diff_bytes.checked_sub(text.len());
        self.diff_bytes = remaining.unwrap_or_default();
        remaining.is_some()
    }

    fn take_comments(&mut self, round: &RawRound) -> bool {
        let sizes = round.inline_comments.iter().map(InlineComment::size);
        let remaining = self.comment_bytes.checked_sub(sizes.sum());
        self.comment_bytes = remaining.unwrap_or_default();
        remaining.is_some()
    }
}

/// Reads one round. If the diff cannot be read, the result is a note, because crh can make the diff
/// with git. Posting depends on the comments, so a failure to read them is an error.
async fn read_round(
    client: &LaunchpadClient,
    path: &str,
    number: u64,
    diff: PreviewDiff,
) -> Result<(RawRound, Option<String>), ForgeError> {
    let comments_path = format!("{path}?ws.op=getInlineComments&previewdiff_id={number}");
    let text = async {
        let Some(link) = &diff.diff_text_link else { return Ok(None) };
        let link = client.own_path(path, link)?;
        client.text(&link).await.map(Some)
    };
    let (text, inline) = tokio::join!(text, client.get_json::<Vec<InlineComment>>(&comments_path));
    let (text, note) = match text {
        Ok(text) => (text, None),
        Err(error) => (None, Some(format!("Cannot read the diff of round {number}: {error}."))),
    };
    Ok((RawRound { diff, number, diff_text: text, inline_comments: inline? }, note))
}

/// A list that a review can do without. An error becomes a note.
fn list_or_note<T>(
    list_name: &str,
    list: Result<Collection<T>, ForgeError>,
    notes: &mut Vec<String>,
) -> Vec<T> {
    match list {
        Ok(Collection { entries, completeness }) => {
            if completeness == CollectionCompleteness::Truncated {
                notes.push(format!("There are more {list_name} than crh reads."));
            }
            entries
        }
        Err(error) => {
            notes.push(format!("Cannot read the {list_name}: {error}."));
            Vec::new()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn oversized_round_uses_up_the_budget() {
        let round = |diff_bytes: Option<usize>, comment_bytes: usize| {
            let filler = |bytes: usize| vec![b'x'; bytes];
            let comment =
                InlineComment { text: "x".repeat(comment_bytes), ..InlineComment::default() };
            let inline = if comment_bytes == 0 { Vec::new() } else { vec![comment] };
            RawRound {
                diff: PreviewDiff::default(),
                number: 1,
                diff_text: diff_bytes.map(filler),
                inline_comments: inline,
            }
        };
        let mut budget =
            RoundBudget { diff_bytes: 10, comment_bytes: 2 * InlineComment::default().size() + 10 };
        let mut fits = |round: RawRound| (budget.take_diff(&round), budget.take_comments(&round));
        assert_eq!(fits(round(Some(9), 9)), (true, true));
        assert_eq!(fits(round(Some(2), 2)), (false, false));
        assert_eq!(fits(round(Some(1), 1)), (false, false));
        assert_eq!(fits(round(None, 0)), (true, true), "nothing needs no room");
    }
}
