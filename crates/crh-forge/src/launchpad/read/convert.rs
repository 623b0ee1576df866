//! Answers of Launchpad's made into our own values. Pure.

use std::collections::BTreeMap;

use super::super::rows::Rows;
use super::super::{InlineSaid, Name, ProposalState, Said, Standing, StandingRound};
use super::{Burst, RoundRead, Tip, wire};
use crate::asking::said;
use crate::asking::said::NO_SECRET;
use crate::{Check, End, LinkedIssue, Proposal, ProposalKind, Round, Spot, Thread};
use crh_review::diff::Diff;
use crh_review::finding::Side;

/// The line of what has none: Launchpad counts from one.
const NO_LINE: u32 = 0;

/// What a review needs to know, and what stands there, made of what came.
pub(super) fn converted(name: &Name, burst: Burst) -> (Proposal, Standing) {
    let Burst {
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
        mut unread,
    } = burst;
    // A vote stays when its comment is deleted.
    let votes = voted(&votes, &comments);
    comments.retain(|comment| comment.date_deleted.is_none());
    // Launchpad writes times so that their order is that of their texts.
    comments.sort_by(|one, other| {
        (&one.date_created, one.number()).cmp(&(&other.date_created, other.number()))
    });
    let last = rounds.last();
    let known = |tip: &Tip, of_last: Option<&String>| {
        tip.commit.clone().or_else(|| of_last.cloned()).unwrap_or_default()
    };
    let head = known(&source, last.map(|round| &round.diff.source_revision_id));
    let base = known(&target, last.map(|round| &round.diff.target_revision_id));
    notes.extend(age(last, &head).into_iter().chain(prerequisite(&merge)));
    notes.extend(last.and_then(conflicts));
    let is_unread = |last: &RoundRead| last.text.is_none() && last.diff.diff_text_link.is_some();
    if last.is_some_and(is_unread) {
        unread.push("the newest diff".to_owned());
    }
    let standing = Standing {
        viewer,
        proposal: state(name, &merge, &target, &head),
        round: last.and_then(standing_round),
        comments: comments.iter().map(said_of).collect(),
        inline: rounds.iter().flat_map(inline_said).collect(),
        unread,
    };
    let end = |tip: &Tip, commit: String| End {
        repo: Some(tip.repository.clone()),
        branch: tip.branch.clone(),
        commit,
        // Made here: an address that a host names could be any, and a password goes along with it.
        git_url: Some(name.service.git_url(&tip.repository)),
    };
    let rounds = talked(rounds, &comments);
    let proposal = Proposal {
        kind: ProposalKind::MergeProposal,
        url: name.url(),
        repo: target.repository.clone(),
        number: name.number.to_string(),
        title: title(&merge, &source, &target),
        body: merge.description.clone().or(merge.commit_message.clone()).unwrap_or_default(),
        author: standing.proposal.registrant.clone(),
        draft: merge.queue_status == "Work in progress",
        state: merge.queue_status.clone(),
        open: !standing.proposal.is_over(),
        labels: Vec::new(),
        source: end(&source, head),
        target: end(&target, base),
        checks: checks(reports),
        linked_issues: bugs.into_iter().map(linked).collect(),
        comments: worded(&comments).map(written).collect(),
        threads: current(&rounds),
        votes,
        rounds,
        notes,
    };
    (proposal, standing)
}

/// What decides whether anything is posted.
fn state(name: &Name, merge: &wire::Merge, target: &Tip, head: &str) -> ProposalState {
    // By its own address: a write is not sent on from the one that it had before somebody was renamed.
    let path = name.service.path_of(&merge.self_link);
    ProposalState {
        repo: target.repository.clone(),
        number: name.number,
        path: path.map_or_else(|| name.path(), str::to_owned),
        url: name.url(),
        head: head.to_owned(),
        registrant: wire::person(merge.registrant_link.as_deref()),
        status: merge.queue_status.clone(),
        private: merge.private,
    }
}

/// What is to be said about the age of the newest diff.
fn age(last: Option<&RoundRead>, head: &str) -> Option<String> {
    let said = match last {
        None => "Launchpad has made no diff of this proposal yet.",
        Some(last) if last.diff.source_revision_id != head => {
            "Launchpad's newest diff is older than the head of the branch."
        }
        Some(_) => return None,
    };
    Some(said.to_owned())
}

/// What is to be said about another branch that the proposal builds on. Launchpad leaves it out of its diffs.
fn prerequisite(merge: &wire::Merge) -> Option<String> {
    let path = merge.prerequisite_git_path.as_deref()?;
    let branch = path.strip_prefix("refs/heads/").unwrap_or(path);
    Some(format!(
        "The proposal builds on the branch `{branch}`, and what that changes is part of it until it is merged."
    ))
}

/// What is to be said about a merge that would not go through. Launchpad's diff has the markers of it, and ours has not.
fn conflicts(last: &RoundRead) -> Option<String> {
    let lines: Vec<&str> = last.diff.conflicts.as_deref()?.lines().map(str::trim).collect();
    let said = said::shown(&lines.join(", "), NO_SECRET);
    (!said.is_empty()).then(|| format!("Launchpad cannot merge the newest diff: {said}."))
}

fn standing_round(last: &RoundRead) -> Option<StandingRound> {
    let head = last.diff.source_revision_id.clone();
    Some(StandingRound { id: last.number, head, diff: last.text.clone()? })
}

fn said_of(comment: &wire::Comment) -> Said {
    Said {
        author: comment.author(),
        vote: comment.vote.clone(),
        content: comment.text().to_owned(),
        url: comment.web_link.clone().unwrap_or_default(),
    }
}

fn inline_said(round: &RoundRead) -> impl Iterator<Item = InlineSaid> {
    round.inline.iter().map(|comment| InlineSaid {
        line: comment.line_number.number(),
        author: comment.person.as_ref().and_then(wire::Who::name),
        created_at: comment.date.clone(),
        text: comment.text.clone(),
    })
}

/// Launchpad has no titles. The first line of what is to be committed is the best there is.
fn title(merge: &wire::Merge, source: &Tip, target: &Tip) -> String {
    let first = |text: &Option<String>| {
        let line = text.as_deref()?.lines().map(str::trim).find(|line| !line.is_empty())?;
        Some(line.to_owned())
    };
    first(&merge.commit_message).or_else(|| first(&merge.description)).unwrap_or_else(|| {
        let end = |tip: &Tip| format!("{}:{}", tip.repository, tip.branch);
        format!("Merge {} into {}", end(source), end(target))
    })
}

/// The rounds with what was said in each. What was said about the whole belongs to the round that was the newest one then, and
/// to the first if there was none yet.
fn talked(rounds: Vec<RoundRead>, comments: &[wire::Comment]) -> Vec<Round> {
    let begun: Vec<Option<String>> =
        rounds.iter().map(|round| round.diff.date_created.clone()).collect();
    let count = rounds.len();
    let mut talked: Vec<Round> = (1..)
        .zip(rounds)
        .map(|(number, round)| {
            let is_last = number == count;
            let threads = threads(&round, is_last);
            Round {
                id: round.number.to_string(),
                target: Some(round.diff.target_revision_id),
                head: round.diff.source_revision_id,
                created_at: round.diff.date_created,
                diff: round.text,
                comments: Vec::new(),
                threads,
            }
        })
        .collect();
    for comment in worded(comments) {
        let at = begun.iter().rposition(|date| *date <= comment.date_created).unwrap_or_default();
        if let Some(round) = talked.get_mut(at) {
            round.comments.push(written(comment));
        }
    }
    talked
}

/// The comments that say something. One without words only carries others about lines.
fn worded(comments: &[wire::Comment]) -> impl Iterator<Item = &wire::Comment> {
    comments.iter().filter(|comment| !comment.text().trim().is_empty())
}

fn written(comment: &wire::Comment) -> crate::Comment {
    crate::Comment {
        id: comment.number().to_string(),
        author: comment.author(),
        created_at: comment.date_created.clone(),
        content: comment.text().to_owned(),
    }
}

/// What was said about lines of a round, a conversation for each line. What has no line that Launchpad counts has a conversation of
/// its own, without a place.
fn threads(round: &RoundRead, is_last: bool) -> Vec<Thread> {
    let diff = round.text.as_deref().map(|text| (Diff::read(text), Rows::of(text)));
    let mut lines: BTreeMap<(u32, String), Vec<crate::Comment>> = BTreeMap::new();
    for (comment, said) in round.inline.iter().zip(inline_said(round)) {
        let key = match said.line {
            Some(line) => (line, line.to_string()),
            None => (NO_LINE, comment.line_number.key()),
        };
        let id = format!("{}:{}", round.number, key.1);
        let comments = lines.entry(key).or_default();
        comments.push(crate::Comment {
            id: format!("{id}:{}", comments.len() + 1),
            author: said.author,
            created_at: Some(said.created_at),
            content: said.text,
        });
    }
    let conversation = |((line, key), comments): ((u32, String), Vec<crate::Comment>)| {
        let shown = diff.as_ref().and_then(|(diff, rows)| Some((diff, rows.line(line)?)));
        let spot = shown.and_then(|(diff, line)| diff.locate(line)).map(|(file, mapped)| {
            let (side, line) = mapped.side();
            let before = file.old_path.as_ref().unwrap_or(&file.path);
            let path = match side {
                Side::Old => before,
                Side::New => &file.path,
            };
            Spot { file: path.shown().into_owned(), side, line }
        });
        let file = shown.and_then(|(diff, line)| diff.files().get(diff.file_at(line)?));
        Thread {
            id: format!("{}:{key}", round.number),
            spot,
            file: file.map(|file| file.path.shown().into_owned()).unwrap_or_default(),
            resolved: false,
            outdated: !is_last,
            comments,
        }
    };
    lines.into_iter().map(conversation).collect()
}

/// All conversations as they are on the current diff: the lines of earlier ones are not its lines.
fn current(rounds: &[Round]) -> Vec<Thread> {
    let threads = rounds.iter().flat_map(|round| round.threads.iter().cloned());
    let on_current = |thread: Thread| match thread.outdated {
        true => Thread { spot: None, ..thread },
        false => thread,
    };
    threads.map(on_current).collect()
}

/// How people voted: Launchpad keeps the last vote of each, with the comment that it came with.
fn voted(votes: &[wire::Vote], comments: &[wire::Comment]) -> Vec<crate::Vote> {
    let cast = votes.iter().filter_map(|vote| {
        let link = vote.comment_link.as_deref()?;
        let comment = comments.iter().find(|comment| comment.self_link == link)?;
        Some(crate::Vote {
            by: wire::person(vote.reviewer_link.as_deref())?,
            word: comment.vote.clone()?,
        })
    });
    let mut cast: Vec<crate::Vote> = cast.collect();
    cast.sort_by(|one, other| one.by.cmp(&other.by));
    cast
}

fn checks(reports: Vec<wire::Report>) -> Vec<Check> {
    let checks = reports.into_iter().map(|report| Check {
        name: report.title,
        state: report.result.unwrap_or_else(|| "Waiting".to_owned()),
        url: report.url,
        summary: report.result_summary,
    });
    let mut checks: Vec<Check> = checks.collect();
    checks.sort_by(|one, other| (&one.name, &one.url).cmp(&(&other.name, &other.url)));
    checks
}

fn linked(bug: wire::Bug) -> LinkedIssue {
    LinkedIssue {
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

    fn round(number: u64, date: &str) -> RoundRead {
        let date_created = Some(date.to_owned());
        let diff = wire::PreviewDiff { date_created, ..wire::PreviewDiff::default() };
        RoundRead { diff, number, text: None, inline: Vec::new() }
    }

    #[test]
    fn a_comment_is_in_the_round_that_was_the_newest_one_then() {
        let said = ["1 before", "2 in one", "4 at two", "5 in two", "6 "]
            .map(|text| comment(text.split(' ').next().unwrap(), text.split_once(' ').unwrap().1));
        let rounds = talked(vec![round(1, "2"), round(2, "4")], &said);
        let texts = |round: &Round| -> Vec<String> {
            round.comments.iter().map(|comment| comment.content.clone()).collect()
        };
        assert_eq!(texts(&rounds[0]), ["before", "in one"]);
        assert_eq!(texts(&rounds[1]), ["at two", "in two"]);
        assert_eq!(talked(Vec::new(), &said), []);
    }

    #[test]
    fn what_was_said_under_a_key_that_is_no_line_is_kept() {
        let said = |line_number: wire::Line, text: &str| {
            let text = text.to_owned();
            wire::InlineComment { line_number, text, ..wire::InlineComment::default() }
        };
        let key = |text: &str| wire::Line::Text(text.to_owned());
        let text = b"diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n".to_vec();
        let round = RoundRead {
            inline: vec![
                said(key("header"), "one"),
                said(key("6"), "two"),
                said(wire::Line::Number(6), "three"),
                said(key("header"), "four"),
                said(key("99999999999"), "five"),
            ],
            text: Some(text),
            ..round(7, "1")
        };
        let shown = |thread: Thread| {
            let said = thread.comments.iter().map(|it| format!("{} {}", it.id, it.content));
            let spot = thread.spot.map(|it| format!("{} {:?} {}", it.file, it.side, it.line));
            (thread.id, spot.unwrap_or_default(), said.collect::<Vec<_>>().join(", "))
        };
        let expected = [
            ("7:99999999999", "", "7:99999999999:1 five"),
            ("7:header", "", "7:header:1 one, 7:header:2 four"),
            ("7:6", "f New 1", "7:6:1 two, 7:6:2 three"),
        ];
        let is_last = true;
        let found: Vec<_> = threads(&round, is_last).into_iter().map(shown).collect();
        assert_eq!(found, expected.map(|it| (it.0.to_owned(), it.1.to_owned(), it.2.to_owned())));
    }

    #[test]
    fn a_vote_stays_when_its_comment_is_deleted_and_a_conflict_is_said() {
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
        let name = Name::parse(url, &super::super::super::Service::default()).unwrap();
        let (proposal, _) = converted(&name, Burst { comments, votes, rounds, ..Burst::default() });
        let approved = crate::Vote { by: "ben".to_owned(), word: "Approve".to_owned() };
        assert_eq!((proposal.votes, proposal.comments), (vec![approved], vec![]));
        assert_eq!(
            proposal.notes,
            ["Launchpad cannot merge the newest diff: Conflict in a.py, Conflict in b.py."]
        );
    }

    #[test]
    fn what_a_proposal_builds_on_is_said() {
        let on = |path: Option<&str>| {
            let prerequisite_git_path = path.map(str::to_owned);
            prerequisite(&wire::Merge { prerequisite_git_path, ..wire::Merge::default() })
        };
        assert_eq!(on(None), None);
        assert_eq!(
            on(Some("refs/heads/first")).as_deref(),
            Some(
                "The proposal builds on the branch `first`, and what that changes is part of it until it is merged."
            )
        );
    }

    #[test]
    fn a_title_is_the_first_line_that_there_is() {
        let titled = |message: Option<&str>, description: Option<&str>| {
            let merge = wire::Merge {
                commit_message: message.map(str::to_owned),
                description: description.map(str::to_owned),
                ..wire::Merge::default()
            };
            let tip = |branch: &str| Tip {
                repository: "~a/b/+git/c".to_owned(),
                branch: branch.to_owned(),
                commit: None,
            };
            title(&merge, &tip("fix"), &tip("main"))
        };
        assert_eq!(titled(Some("\n Fix it \n\nMore."), Some("Other")), "Fix it");
        assert_eq!(titled(None, Some("Other\nmore")), "Other");
        assert_eq!(titled(Some(" "), None), "Merge ~a/b/+git/c:fix into ~a/b/+git/c:main");
    }
}
