//! Converts Launchpad's replies to crh's types.

use std::collections::BTreeMap;

use super::super::MergeProposalRef;
use super::super::diff_rows::DiffRows;
use super::{ProposalTip, RawMergeProposal, RawRound, wire};
use crate::http::message;
use crate::http::message::NO_SECRET;
use crate::posting::{
    ForgeUser, InlineComment, InlineThread, ProposalComment, ProposalProperties, ProposalState,
    RowDiff,
};
use crate::{
    BranchEnd, ChangeProposal, DiffSpot, DiscussionThread, ForgeCheck, ForgeIssue, ProposalKind,
    ProposalRound,
};
use crh_review::diff::Diff;
use crh_review::finding::Side;

/// Stands for the row of a comment without a valid row. Launchpad counts rows from one.
const NO_ROW: u32 = 0;

/// Statuses of proposals that were merged, rejected or superseded.
const CLOSED: [&str; 3] = ["Merged", "Rejected", "Superseded"];

/// A comment on a row of a diff.
struct RowComment {
    /// `None` if Launchpad's key for the position is not a number.
    row: Option<u32>,
    /// Author, if known.
    author: Option<String>,
    created_at: String,
    text: String,
}

impl RowComment {
    /// A thread of one comment, for posting. Its `line` is a row of the diff, not a line of a file.
    fn into_thread(self, viewer: Option<&str>) -> InlineThread {
        let comment = InlineComment {
            ours: self.author.is_some() && self.author.as_deref() == viewer,
            author: self.author,
            created_at: self.created_at,
            body: self.text,
            ..InlineComment::default()
        };
        InlineThread { line: self.row, comments: vec![comment], ..InlineThread::default() }
    }
}

pub(super) fn convert(
    proposal_ref: &MergeProposalRef,
    raw: RawMergeProposal,
) -> (ChangeProposal, ProposalState) {
    let RawMergeProposal {
        merge,
        source,
        target,
        rounds,
        mut comments,
        votes,
        bugs,
        reports,
        viewer,
        mut notes,
        mut incomplete_lists,
    } = raw;
    // Before deleted comments are removed, because a vote still counts when its comment is deleted.
    let votes = latest_votes(&votes, &comments);
    comments.retain(|comment| comment.date_deleted.is_none());
    // Launchpad's time format sorts as text.
    comments.sort_by(|one, other| {
        (&one.date_created, one.number()).cmp(&(&other.date_created, other.number()))
    });
    let last_round = rounds.last();
    let commit_or_last = |tip: &ProposalTip, last_commit: Option<&String>| {
        tip.commit.clone().or_else(|| last_commit.cloned()).unwrap_or_default()
    };
    let head = commit_or_last(&source, last_round.map(|round| &round.diff.source_revision_id));
    let base = commit_or_last(&target, last_round.map(|round| &round.diff.target_revision_id));
    notes.extend(diff_age_note(last_round, &head).into_iter().chain(prerequisite_note(&merge)));
    notes.extend(last_round.and_then(conflict_note));
    let lacks_text =
        |round: &RawRound| round.diff_text.is_none() && round.diff.diff_text_link.is_some();
    if last_round.is_some_and(lacks_text) {
        incomplete_lists.push("newest diff".to_owned());
    }
    let proposal_state = ProposalState {
        threads: inline_threads(&rounds, viewer.as_deref()),
        viewer: viewer.map(ForgeUser::named),
        properties: proposal_properties(proposal_ref, &merge, &target, &head),
        row_diff: last_round.and_then(latest_diff),
        comments: comments.iter().map(to_comment).collect(),
        incomplete_lists,
        ..ProposalState::default()
    };
    let branch_end = |tip: &ProposalTip, commit: String| BranchEnd {
        repo: Some(tip.repository.clone()),
        branch: tip.branch.clone(),
        commit,
        // crh builds this address instead of taking it from a reply, which could name any host: git
        // may send a password there.
        git_url: Some(proposal_ref.service.git_url(&tip.repository)),
    };
    let rounds = convert_rounds(rounds, &comments);
    let proposal = ChangeProposal {
        kind: ProposalKind::MergeProposal,
        url: proposal_ref.url(),
        repo: target.repository.clone(),
        number: proposal_ref.number.to_string(),
        title: title(&merge, &source, &target),
        body: merge.description.clone().or(merge.commit_message.clone()).unwrap_or_default(),
        author: proposal_state.properties.author.as_ref().map(|author| author.login.clone()),
        draft: merge.queue_status == "Work in progress",
        state: merge.queue_status.clone(),
        open: proposal_state.properties.open,
        labels: Vec::new(),
        source: branch_end(&source, head),
        target: branch_end(&target, base),
        checks: checks(reports),
        linked_issues: bugs.into_iter().map(linked_bug).collect(),
        comments: non_empty(&comments).map(discussion_comment).collect(),
        threads: threads_on_latest_diff(&rounds),
        votes,
        rounds,
        notes,
    };
    (proposal, proposal_state)
}

fn proposal_properties(
    proposal_ref: &MergeProposalRef,
    merge: &wire::Merge,
    target: &ProposalTip,
    head: &str,
) -> ProposalProperties {
    // The path from the reply, because Launchpad does not redirect writes after a rename.
    let path = proposal_ref.service.api_path(&merge.self_link);
    ProposalProperties {
        repo: target.repository.clone(),
        number: proposal_ref.number,
        api_path: path.map_or_else(|| proposal_ref.path(), str::to_owned),
        url: proposal_ref.url(),
        head: head.to_owned(),
        author: wire::person_in_link(merge.registrant_link.as_deref()).map(ForgeUser::named),
        open: !CLOSED.contains(&merge.queue_status.as_str()),
        status: merge.queue_status.clone(),
        private: merge.private,
        ..ProposalProperties::default()
    }
}

fn diff_age_note(last_round: Option<&RawRound>, head: &str) -> Option<String> {
    let note = match last_round {
        None => "Launchpad has no diff of this proposal yet.",
        Some(round) if round.diff.source_revision_id != head => {
            "Launchpad's newest diff is older than the branch head."
        }
        Some(_) => return None,
    };
    Some(note.to_owned())
}

/// Note about the branch on which the proposal builds. Launchpad leaves the changes of that branch
/// out of its diffs.
fn prerequisite_note(merge: &wire::Merge) -> Option<String> {
    let path = merge.prerequisite_git_path.as_deref()?;
    let branch = path.strip_prefix("refs/heads/").unwrap_or(path);
    Some(format!(
        "The proposal builds on the branch `{branch}`; its changes count as part of the proposal until it is merged."
    ))
}

/// Note about the conflicts of the newest diff. Launchpad's diff shows conflict markers; the diff
/// that crh makes with git does not.
fn conflict_note(last_round: &RawRound) -> Option<String> {
    let lines: Vec<&str> = last_round.diff.conflicts.as_deref()?.lines().map(str::trim).collect();
    let conflicts = message::single_line(&lines.join(", "), NO_SECRET);
    (!conflicts.is_empty()).then(|| format!("Launchpad cannot merge the newest diff: {conflicts}."))
}

fn latest_diff(last_round: &RawRound) -> Option<RowDiff> {
    let head = last_round.diff.source_revision_id.clone();
    let (id, diff) = (last_round.number, last_round.diff_text.clone()?);
    Some(RowDiff { id, head, diff, has_drafts: false })
}

fn to_comment(comment: &wire::Comment) -> ProposalComment {
    ProposalComment {
        author: comment.author().map(ForgeUser::named),
        vote: comment.vote.clone(),
        body: comment.text().to_owned(),
        url: comment.web_link.clone().unwrap_or_default(),
        ..ProposalComment::default()
    }
}

fn inline_threads(rounds: &[RawRound], viewer: Option<&str>) -> Vec<InlineThread> {
    let comments = rounds.iter().flat_map(to_inline_comments);
    comments.map(|comment| comment.into_thread(viewer)).collect()
}

fn to_inline_comments(round: &RawRound) -> impl Iterator<Item = RowComment> {
    round.inline_comments.iter().map(|comment| RowComment {
        row: comment.line_number.number(),
        author: comment.person.as_ref().and_then(wire::PersonOrLink::name),
        created_at: comment.date.clone(),
        text: comment.text.clone(),
    })
}

/// Launchpad has no titles, so crh uses the first line of the commit message or of the description.
fn title(merge: &wire::Merge, source: &ProposalTip, target: &ProposalTip) -> String {
    let first_line = |text: &Option<String>| {
        let line = text.as_deref()?.lines().map(str::trim).find(|line| !line.is_empty())?;
        Some(line.to_owned())
    };
    first_line(&merge.commit_message).or_else(|| first_line(&merge.description)).unwrap_or_else(
        || {
            let full_name = |tip: &ProposalTip| format!("{}:{}", tip.repository, tip.branch);
            format!("Merge {} into {}", full_name(source), full_name(target))
        },
    )
}

/// Rounds with their comments. A general comment belongs to the round that was the newest when it
/// was written, or to the first round if it is older.
fn convert_rounds(rounds: Vec<RawRound>, comments: &[wire::Comment]) -> Vec<ProposalRound> {
    let start_dates: Vec<Option<String>> =
        rounds.iter().map(|round| round.diff.date_created.clone()).collect();
    let count = rounds.len();
    let mut proposal_rounds: Vec<ProposalRound> = (1..)
        .zip(rounds)
        .map(|(number, round)| {
            let is_last = number == count;
            let threads = threads(&round, is_last);
            ProposalRound {
                id: round.number.to_string(),
                target: Some(round.diff.target_revision_id),
                head: round.diff.source_revision_id,
                created_at: round.diff.date_created,
                diff: round.diff_text,
                comments: Vec::new(),
                threads,
            }
        })
        .collect();
    for comment in non_empty(comments) {
        let index =
            start_dates.iter().rposition(|date| *date <= comment.date_created).unwrap_or_default();
        if let Some(round) = proposal_rounds.get_mut(index) {
            round.comments.push(discussion_comment(comment));
        }
    }
    proposal_rounds
}

/// Comments with text. Comments without text only carry inline comments.
fn non_empty(comments: &[wire::Comment]) -> impl Iterator<Item = &wire::Comment> {
    comments.iter().filter(|comment| !comment.text().trim().is_empty())
}

fn discussion_comment(comment: &wire::Comment) -> crate::DiscussionComment {
    crate::DiscussionComment {
        id: comment.number().to_string(),
        author: comment.author(),
        created_at: comment.date_created.clone(),
        content: comment.text().to_owned(),
    }
}

/// Threads of a round, one per row of the diff. Comments without a valid row get a thread per key.
fn threads(round: &RawRound, is_last: bool) -> Vec<DiscussionThread> {
    let diff = round.diff_text.as_deref().map(|text| (Diff::read(text), DiffRows::new(text)));
    let mut comments_by_row: BTreeMap<(u32, String), Vec<crate::DiscussionComment>> =
        BTreeMap::new();
    for (raw_comment, inline_comment) in round.inline_comments.iter().zip(to_inline_comments(round))
    {
        let key = match inline_comment.row {
            Some(row) => (row, row.to_string()),
            None => (NO_ROW, raw_comment.line_number.key()),
        };
        let id = format!("{}:{}", round.number, key.1);
        let comments = comments_by_row.entry(key).or_default();
        comments.push(crate::DiscussionComment {
            id: format!("{id}:{}", comments.len() + 1),
            author: inline_comment.author,
            created_at: Some(inline_comment.created_at),
            content: inline_comment.text,
        });
    }
    let to_thread = |((row, key), comments): ((u32, String), Vec<crate::DiscussionComment>)| {
        let diff_and_line = diff.as_ref().and_then(|(diff, rows)| Some((diff, rows.line(row)?)));
        let spot =
            diff_and_line.and_then(|(diff, line)| diff.locate(line)).map(|(file, diff_line)| {
                let (side, line) = diff_line.side();
                let old_path = file.old_path.as_ref().unwrap_or(&file.path);
                let path = match side {
                    Side::Old => old_path,
                    Side::New => &file.path,
                };
                DiffSpot { file: path.shown().into_owned(), side, line }
            });
        let file = diff_and_line.and_then(|(diff, line)| diff.files().get(diff.file_at(line)?));
        DiscussionThread {
            id: format!("{}:{key}", round.number),
            spot,
            file: file.map(|file| file.path.shown().into_owned()).unwrap_or_default(),
            resolved: false,
            outdated: !is_last,
            comments,
        }
    };
    comments_by_row.into_iter().map(to_thread).collect()
}

/// Threads of all rounds. Threads of earlier rounds have no position in the latest diff.
fn threads_on_latest_diff(rounds: &[ProposalRound]) -> Vec<DiscussionThread> {
    let threads = rounds.iter().flat_map(|round| round.threads.iter().cloned());
    let without_old_spot = |thread: DiscussionThread| match thread.outdated {
        true => DiscussionThread { spot: None, ..thread },
        false => thread,
    };
    threads.map(without_old_spot).collect()
}

/// Latest vote of each account. Launchpad stores the word of a vote with a comment.
fn latest_votes(votes: &[wire::Vote], comments: &[wire::Comment]) -> Vec<crate::ReviewVote> {
    let latest = votes.iter().filter_map(|vote| {
        let link = vote.comment_link.as_deref()?;
        let comment = comments.iter().find(|comment| comment.self_link == link)?;
        Some(crate::ReviewVote {
            by: wire::person_in_link(vote.reviewer_link.as_deref())?,
            word: comment.vote.clone()?,
        })
    });
    let mut latest: Vec<crate::ReviewVote> = latest.collect();
    latest.sort_by(|one, other| one.by.cmp(&other.by));
    latest
}

fn checks(reports: Vec<wire::Report>) -> Vec<ForgeCheck> {
    let checks = reports.into_iter().map(|report| ForgeCheck {
        name: report.title,
        state: report.result.unwrap_or_else(|| "Waiting".to_owned()),
        url: report.url,
        summary: report.result_summary,
    });
    let mut checks: Vec<ForgeCheck> = checks.collect();
    checks.sort_by(|one, other| (&one.name, &one.url).cmp(&(&other.name, &other.url)));
    checks
}

fn linked_bug(bug: wire::Bug) -> ForgeIssue {
    ForgeIssue {
        id: format!("bug {}", bug.id),
        title: bug.title,
        body: bug.description.unwrap_or_default(),
        url: bug.web_link.unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn comment(date: &str, text: &str) -> wire::Comment {
        let (date, text) = (Some(date.to_owned()), Some(text.to_owned()));
        wire::Comment { date_created: date, content: text, ..wire::Comment::default() }
    }

    fn round(number: u64, date: &str) -> RawRound {
        let date_created = Some(date.to_owned());
        let diff = wire::PreviewDiff { date_created, ..wire::PreviewDiff::default() };
        RawRound { diff, number, diff_text: None, inline_comments: Vec::new() }
    }

    #[test]
    fn comment_belongs_to_newest_round_of_its_time() {
        let comments = ["1 before", "2 in one", "4 at two", "5 in two", "6 "]
            .map(|text| comment(text.split(' ').next().unwrap(), text.split_once(' ').unwrap().1));
        let rounds = convert_rounds(vec![round(1, "2"), round(2, "4")], &comments);
        let texts = |round: &ProposalRound| -> Vec<String> {
            round.comments.iter().map(|comment| comment.content.clone()).collect()
        };
        assert_eq!(texts(&rounds[0]), ["before", "in one"]);
        assert_eq!(texts(&rounds[1]), ["at two", "in two"]);
        assert_eq!(convert_rounds(Vec::new(), &comments), []);
    }

    #[test]
    fn comment_without_valid_line_is_kept() {
        let inline_comment = |line_number: wire::LineKey, text: &str| {
            let text = text.to_owned();
            wire::InlineComment { line_number, text, ..wire::InlineComment::default() }
        };
        let key = |text: &str| wire::LineKey::Text(text.to_owned());
        let text = b"diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n".to_vec();
        let round = RawRound {
            inline_comments: vec![
                inline_comment(key("header"), "one"),
                inline_comment(key("6"), "two"),
                inline_comment(wire::LineKey::Number(6), "three"),
                inline_comment(key("header"), "four"),
                inline_comment(key("99999999999"), "five"),
            ],
            diff_text: Some(text),
            ..round(7, "1")
        };
        let describe = |thread: DiscussionThread| {
            let comments = thread.comments.iter().map(|it| format!("{} {}", it.id, it.content));
            let spot = thread.spot.map(|it| format!("{} {:?} {}", it.file, it.side, it.line));
            (thread.id, spot.unwrap_or_default(), comments.collect::<Vec<_>>().join(", "))
        };
        let expected = [
            ("7:99999999999", "", "7:99999999999:1 five"),
            ("7:header", "", "7:header:1 one, 7:header:2 four"),
            ("7:6", "f New 1", "7:6:1 two, 7:6:2 three"),
        ];
        let is_last = true;
        let described: Vec<_> = threads(&round, is_last).into_iter().map(describe).collect();
        assert_eq!(
            described,
            expected.map(|it| (it.0.to_owned(), it.1.to_owned(), it.2.to_owned()))
        );
    }

    #[test]
    fn vote_survives_deleted_comment_and_conflict_is_noted() {
        let comment = wire::Comment {
            self_link: "x/comments/1".to_owned(),
            vote: Some("Approve".to_owned()),
            date_deleted: Some("2".to_owned()),
            ..comment("1", "gone")
        };
        let vote = wire::Vote {
            reviewer_link: Some("x/~ben".to_owned()),
            comment_link: Some("x/comments/1".to_owned()),
        };
        let mut last = round(1, "1");
        last.diff.conflicts = Some("Conflict in a.py\nConflict in b.py\n".to_owned());
        let (comments, votes, rounds) = (vec![comment], vec![vote], vec![last]);
        let url = "https://code.launchpad.net/~ann/shop/+git/shop/+merge/1";
        let name = MergeProposalRef::parse(url, &super::super::super::LaunchpadService::default())
            .unwrap();
        let (proposal, _) = convert(
            &name,
            RawMergeProposal { comments, votes, rounds, ..RawMergeProposal::default() },
        );
        let approved = crate::ReviewVote { by: "ben".to_owned(), word: "Approve".to_owned() };
        assert_eq!((proposal.votes, proposal.comments), (vec![approved], vec![]));
        assert_eq!(
            proposal.notes,
            ["Launchpad cannot merge the newest diff: Conflict in a.py, Conflict in b.py."]
        );
    }

    #[test]
    fn prerequisite_branch_is_noted() {
        let note_for = |path: Option<&str>| {
            let prerequisite_git_path = path.map(str::to_owned);
            prerequisite_note(&wire::Merge { prerequisite_git_path, ..wire::Merge::default() })
        };
        assert_eq!(note_for(None), None);
        assert_eq!(
            note_for(Some("refs/heads/first")).as_deref(),
            Some(
                "The proposal builds on the branch `first`; its changes count as part of the proposal until it is merged."
            )
        );
    }

    #[test]
    fn title_is_first_non_empty_line() {
        let title_for = |message: Option<&str>, description: Option<&str>| {
            let merge = wire::Merge {
                commit_message: message.map(str::to_owned),
                description: description.map(str::to_owned),
                ..wire::Merge::default()
            };
            let tip = |branch: &str| ProposalTip {
                repository: "~a/b/+git/c".to_owned(),
                branch: branch.to_owned(),
                commit: None,
            };
            title(&merge, &tip("fix"), &tip("main"))
        };
        assert_eq!(title_for(Some("\n Fix it \n\nMore."), Some("Other")), "Fix it");
        assert_eq!(title_for(None, Some("Other\nmore")), "Other");
        assert_eq!(title_for(Some(" "), None), "Merge ~a/b/+git/c:fix into ~a/b/+git/c:main");
    }
}
