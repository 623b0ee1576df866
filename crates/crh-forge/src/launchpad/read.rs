//! Reads a merge proposal with concurrent requests. Only requests that depend on an earlier reply
//! wait.

mod convert;
mod wire;

use futures_util::{StreamExt, stream};
use url::form_urlencoded;
use wire::{Bug, Comment, GitRef, InlineComment, Merge, Person, PreviewDiff, Report, Vote};

use super::client::CONCURRENT_MAX;
use super::merge_proposal_ref::is_plain;
use super::{
    Collection, CollectionCompleteness, LaunchpadClient, MergeProposalRef, MergeProposalState,
};
use crate::http::message;
use crate::http::message::NO_SECRET;
use crate::{ChangeProposal, ForgeError};
use crh_review::identity::is_commit_id;

/// Most rounds to read, newest first. Each costs three requests.
const ROUNDS_MAX: usize = 40;

/// Most bytes of diffs to keep, newest rounds first, so that a hostile proposal cannot fill the
/// memory.
const DIFF_BYTES_MAX: usize = 64 << 20;

/// Most bytes of inline comments to keep, for the same reason.
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
    /// Parts that could not be read.
    notes: Vec<String>,
    /// Incomplete lists that posting depends on.
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
    /// Commit; `None` if the branch is gone.
    commit: Option<String>,
}

/// A preview diff with its inline comments.
struct RawRound {
    diff: PreviewDiff,
    number: u64,
    text: Option<Vec<u8>>,
    inline: Vec<InlineComment>,
}

/// Reads a merge proposal: the proposal for the review, and the state for posting.
pub async fn merge_proposal(
    client: &LaunchpadClient,
    proposal_ref: &MergeProposalRef,
) -> Result<(ChangeProposal, MergeProposalState), ForgeError> {
    let path = proposal_ref.path();
    let comments_path = format!("{path}/all_comments");
    let votes_path = format!("{path}/votes");
    let bugs_path = format!("{path}/bugs");
    let (ends, rounds, comments, votes, bugs, viewer) = tokio::join!(
        read_ends(client, &path),
        read_rounds(client, &path),
        client.collection::<Comment>(&comments_path),
        client.collection::<Vote>(&votes_path),
        client.collection::<Bug>(&bugs_path),
        viewer(client),
    );
    // The order decides which error is reported: a missing proposal first.
    let mut raw = ends?;
    raw.viewer = viewer?;
    let RawRounds { rounds, notes, incomplete_lists: unread } = rounds?;
    raw.rounds = rounds;
    raw.notes.extend(notes);
    raw.incomplete_lists.extend(unread);
    let Collection { entries, completeness: rest } = comments?;
    raw.comments = entries;
    if rest == CollectionCompleteness::Truncated {
        raw.notes.push("There are more comments than crh reads.".to_owned());
        raw.incomplete_lists.push("comments".to_owned());
    }
    raw.votes = list_or_note("votes", votes, &mut raw.notes);
    raw.bugs = list_or_note("bugs", bugs, &mut raw.notes);
    check_tips(&path, &raw)?;
    Ok(convert::convert(proposal_ref, raw))
}

/// Fails if a branch is gone and there is no diff to fall back on.
fn check_tips(path: &str, burst: &RawMergeProposal) -> Result<(), ForgeError> {
    let ends = [("source", &burst.source), ("target", &burst.target)];
    let gone = ends.into_iter().find(|(_, tip)| tip.commit.is_none());
    match gone.filter(|_| burst.rounds.is_empty()) {
        None => Ok(()),
        Some((which, tip)) => Err(ForgeError::Unreadable {
            request: format!("GET {path}"),
            message: format!(
                "its {which} branch `{}` is gone and Launchpad has no diff of it",
                message::single_line(&tip.branch, NO_SECRET)
            ),
        }),
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

/// Reads the proposal, then the parts that need its branches.
async fn read_ends(client: &LaunchpadClient, path: &str) -> Result<RawMergeProposal, ForgeError> {
    let merge: Merge = client.get_json(path).await?;
    let what = format!("GET {path}");
    let unreadable = |message: &str| ForgeError::Unreadable {
        request: what.clone(),
        message: message.to_owned(),
    };
    let (Some(source), Some(target)) =
        (&merge.source_git_repository_link, &merge.target_git_repository_link)
    else {
        return Err(ForgeError::Bazaar { request: what });
    };
    // The path before the number changes when a person or repository is renamed.
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
    let (from, into) = (branch(&merge.source_git_path), branch(&merge.target_git_path));
    let mut notes = Vec::new();
    let (head, base) =
        tokio::join!(read_tip(client, &source, &from), read_tip(client, &target, &into));
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
        source: ProposalTip { repository: source, branch: from, commit: head },
        target: ProposalTip { repository: target, branch: into, commit: base },
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
    let found: GitRef = client.get_json(&path).await?;
    match is_commit_id(&found.commit_sha1) {
        true => Ok(found.commit_sha1),
        false => Err(ForgeError::Unreadable {
            request: format!("GET {path}"),
            message: "it has no commit".to_owned(),
        }),
    }
}

/// Notes a missing branch: people delete merged branches.
fn tip_or_note(
    what: &str,
    tip: Result<String, ForgeError>,
    notes: &mut Vec<String>,
) -> Result<Option<String>, ForgeError> {
    match tip {
        Ok(commit) => Ok(Some(commit)),
        Err(ForgeError::NotFound { .. }) => {
            notes.push(format!("The {what} branch is gone; crh uses the last diff."));
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// Reads the rounds, oldest first, with diffs and inline comments.
async fn read_rounds(client: &LaunchpadClient, path: &str) -> Result<RawRounds, ForgeError> {
    let list = client.collection::<PreviewDiff>(&format!("{path}/preview_diffs")).await?;
    let (mut notes, mut unread) = (Vec::new(), Vec::new());
    if list.completeness == CollectionCompleteness::Truncated {
        notes.push("There are more preview diffs than crh reads.".to_owned());
        unread.push("preview diffs".to_owned());
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
    let left_out = diffs.len().saturating_sub(ROUNDS_MAX);
    if left_out > 0 {
        notes.push(format!(
            "Skipped the {left_out} oldest rounds; crh reads the last {ROUNDS_MAX}."
        ));
    }
    let last = diffs.split_off(left_out);
    // Newest first, so that truncation does not depend on timing.
    let newest_first = stream::iter(last.into_iter().rev());
    let mut read = newest_first
        .map(|(number, diff)| read_round(client, path, number, diff))
        .buffered(CONCURRENT_MAX);
    let mut room = RoundBudget { diff_bytes: DIFF_BYTES_MAX, comment_bytes: COMMENT_BYTES_MAX };
    let mut rounds = Vec::new();
    while let Some(read) = read.next().await {
        let (mut round, note) = read?;
        notes.extend(note);
        if !room.take_diff(&round) {
            round.text = None;
            notes.push(format!("Skipped the diff of round {}: too large.", round.number));
        }
        if !room.take_comments(&round) {
            round.inline.clear();
            let what = format!("inline comments of round {}", round.number);
            notes.push(format!("Skipped {what}: too large."));
            unread.push(what);
        }
        rounds.push(round);
    }
    rounds.reverse();
    Ok(RawRounds { rounds, notes, incomplete_lists: unread })
}

/// Remaining memory for rounds. A round that does not fit uses up the rest, so that no older round
/// is kept.
struct RoundBudget {
    diff_bytes: usize,
    comment_bytes: usize,
}

impl RoundBudget {
    fn take_diff(&mut self, round: &RawRound) -> bool {
        let Some(text) = &round.text else { return true };
        let left = self.diff_bytes.checked_sub(text.len());
        self.diff_bytes = left.unwrap_or_default();
        left.is_some()
    }

    fn take_comments(&mut self, round: &RawRound) -> bool {
        let sizes = round.inline.iter().map(InlineComment::size);
        let left = self.comment_bytes.checked_sub(sizes.sum());
        self.comment_bytes = left.unwrap_or_default();
        left.is_some()
    }
}

/// Reads one round. The diff is optional, because git has it, too. Posting depends on the comments.
async fn read_round(
    client: &LaunchpadClient,
    path: &str,
    number: u64,
    diff: PreviewDiff,
) -> Result<(RawRound, Option<String>), ForgeError> {
    let said = format!("{path}?ws.op=getInlineComments&previewdiff_id={number}");
    let text = async {
        let Some(link) = &diff.diff_text_link else { return Ok(None) };
        let link = client.own_path(path, link)?;
        client.text(&link).await.map(Some)
    };
    let (text, inline) = tokio::join!(text, client.get_json::<Vec<InlineComment>>(&said));
    let (text, note) = match text {
        Ok(text) => (text, None),
        Err(error) => (None, Some(format!("Cannot read the diff of round {number}: {error}."))),
    };
    Ok((RawRound { diff, number, text, inline: inline? }, note))
}

/// A list that a review can do without. Notes an error instead of returning it.
fn list_or_note<T>(
    what: &str,
    list: Result<Collection<T>, ForgeError>,
    notes: &mut Vec<String>,
) -> Vec<T> {
    match list {
        Ok(Collection { entries, completeness: rest }) => {
            if rest == CollectionCompleteness::Truncated {
                notes.push(format!("There are more {what} than crh reads."));
            }
            entries
        }
        Err(error) => {
            notes.push(format!("Cannot read the {what}: {error}."));
            Vec::new()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn oversized_round_uses_up_the_budget() {
        let round = |text: Option<usize>, said: usize| {
            let text_of = |bytes: usize| vec![b'x'; bytes];
            let comment = InlineComment { text: "x".repeat(said), ..InlineComment::default() };
            let inline = if said == 0 { Vec::new() } else { vec![comment] };
            RawRound { diff: PreviewDiff::default(), number: 1, text: text.map(text_of), inline }
        };
        let mut room =
            RoundBudget { diff_bytes: 10, comment_bytes: 2 * InlineComment::default().size() + 10 };
        let mut fits = |round: RawRound| (room.take_diff(&round), room.take_comments(&round));
        assert_eq!(fits(round(Some(9), 9)), (true, true));
        assert_eq!(fits(round(Some(2), 2)), (false, false));
        assert_eq!(fits(round(Some(1), 1)), (false, false));
        assert_eq!(fits(round(None, 0)), (true, true), "nothing needs no room");
    }
}
