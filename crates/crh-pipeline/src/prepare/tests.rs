//! Comments are attached to the right lines and rounds.

use super::*;
use crate::resolve::{ReviewedHead, from_diff};
use crh_forge::{
    BranchEnd, ChangeProposal, DiffSpot, DiscussionComment, DiscussionThread,
    ProposalRound as Pushed,
};
use crh_review::finding::Side;

/// Renames `old.py` to `a.py` and adds a line to `b.py`.
const DIFF: &str = "\
diff --git a/old.py b/a.py
similarity index 50%
rename from old.py
rename to a.py
--- a/old.py
+++ b/a.py
@@ -1,2 +1,2 @@
 kept
-before
+after
diff --git a/b.py b/b.py
--- a/b.py
+++ b/b.py
@@ -1 +1,2 @@
 kept
+more
";

fn thread(id: &str, file: &str, side: Side, line: u32) -> DiscussionThread {
    let comment = DiscussionComment {
        id: id.to_owned(),
        author: None,
        created_at: None,
        content: id.to_owned(),
    };
    DiscussionThread {
        id: id.to_owned(),
        spot: Some(DiffSpot { file: file.to_owned(), side, line }),
        file: file.to_owned(),
        resolved: false,
        outdated: false,
        comments: vec![comment],
    }
}

/// A GitHub change with this head; `head` is the proposed one.
fn change(
    head: &str,
    diff: &str,
    threads: Vec<DiscussionThread>,
    earlier: Vec<EarlierRound>,
) -> PinnedChange {
    let round = |id: &str, head: &str, at: &str| Pushed {
        id: id.to_owned(),
        target: None,
        head: head.to_owned(),
        created_at: Some(at.to_owned()),
        ..Pushed::default()
    };
    let proposal = ChangeProposal {
        threads,
        source: BranchEnd { commit: "head".to_owned(), ..BranchEnd::default() },
        rounds: vec![round("1", "first", "2026-01-02"), round("2", "head", "2026-01-01")],
        ..ChangeProposal::default()
    };
    let reviewed_head = ReviewedHead::Proposed;
    let proposed = ProposedChange { proposal, target_tip: String::new(), earlier, reviewed_head };
    PinnedChange {
        head: Some(head.to_owned()),
        created_at: Some("2025-12-31".to_owned()),
        proposed: Some(Box::new(proposed)),
        ..from_diff(diff.as_bytes().to_vec()).unwrap()
    }
}

fn earlier(id: &str, head: &str, at: &str, diff: &str) -> EarlierRound {
    EarlierRound {
        id: id.to_owned(),
        created_at: Some(at.to_owned()),
        base: Some(String::new()),
        head: head.to_owned(),
        diff: Diff::read(diff.as_bytes().to_vec()),
    }
}

/// Every round: id, date, and comments by line.
fn round_lines(change: PinnedChange) -> Vec<String> {
    let (contents, _) = workspace_contents(change, None).unwrap();
    let row = |round: &WorkspaceRound| {
        let inline = round.inline.iter().map(|(line, comments)| {
            let ids: Vec<&str> = comments.iter().map(|comment| comment.id.as_str()).collect();
            format!(" {line}:{}", ids.join("+"))
        });
        let at = round.created_at.clone().unwrap_or_default();
        format!("{} {at} threads:{}{}", round.id, round.threads.len(), inline.collect::<String>())
    };
    contents.rounds.iter().map(row).collect()
}

#[test]
fn threads_map_to_lines_on_both_sides() {
    let threads = vec![
        thread("added", "a.py", Side::New, 2),
        thread("removed", "old.py", Side::Old, 2),
        thread("by-new-name", "a.py", Side::Old, 2),
        thread("context", "b.py", Side::New, 1),
        thread("outside", "b.py", Side::New, 99),
        thread("no-file", "c.py", Side::New, 1),
        DiscussionThread { spot: None, ..thread("gone", "b.py", Side::New, 1) },
    ];
    assert_eq!(
        round_lines(change("head", DIFF, threads, Vec::new())),
        ["2 2026-01-01 threads:7 9:removed+by-new-name 10:added 15:context"]
    );
}

#[test]
fn reviewed_round_is_last_despite_wrong_clocks() {
    let first = earlier("1", "first", "2026-01-02", DIFF);
    assert_eq!(
        round_lines(change("head", DIFF, Vec::new(), vec![first])),
        ["1 2026-01-02 threads:0", "2 2026-01-02 threads:0"]
    );
}

#[test]
fn uncommitted_round_has_no_date() {
    let proposed = earlier("2", "head", "2026-01-01", DIFF);
    let local =
        PinnedChange { created_at: None, ..change("local", DIFF, Vec::new(), vec![proposed]) };
    assert_eq!(round_lines(local), ["2 2026-01-01 threads:0", "3  threads:0"]);
}

#[test]
fn with_local_commits_threads_map_only_in_unchanged_files() {
    let threads = || vec![thread("a", "a.py", Side::New, 2), thread("b", "b.py", Side::New, 2)];
    let local = DIFF.replace("+more", "+much more");
    let proposed = earlier("2", "head", "2026-01-01", DIFF);
    assert_eq!(
        round_lines(change("local", &local, threads(), vec![proposed])),
        ["2 2026-01-01 threads:0 10:a 16:b", "3 2026-01-01 threads:2 10:a"]
    );
    assert_eq!(
        round_lines(change("local", &local, threads(), Vec::new())),
        ["1 2025-12-31 threads:2"],
        "without the proposed diff the lines are unknown"
    );
}

/// A Launchpad change with this head.
fn change_in_rounds(head: &str, earlier: Vec<EarlierRound>) -> PinnedChange {
    let mut change = change(head, DIFF, Vec::new(), earlier);
    let threads = [thread("then", "b.py", Side::New, 2), thread("now", "a.py", Side::New, 2)];
    let proposal = &mut change.proposed.as_mut().unwrap().proposal;
    proposal.kind = ProposalKind::MergeProposal;
    for ((round, id), thread) in proposal.rounds.iter_mut().zip(["7", "9"]).zip(threads) {
        round.id = id.to_owned();
        round.diff = Some(DIFF.as_bytes().to_vec());
        round.threads = vec![thread];
    }
    change
}

#[test]
fn comments_stay_with_their_round() {
    let first = || earlier("7", "first", "2026-01-01", DIFF);
    assert_eq!(
        round_lines(change_in_rounds("head", vec![first()])),
        ["7 2026-01-01 threads:1 16:then", "9 2026-01-01 threads:1 10:now"]
    );
    let second = earlier("9", "head", "2026-01-01", DIFF);
    assert_eq!(
        round_lines(change_in_rounds("newer", vec![first(), second])),
        [
            "7 2026-01-01 threads:1 16:then",
            "9 2026-01-01 threads:1 10:now",
            "new 2026-01-01 threads:0"
        ],
        "no number that the forge may give to another"
    );
}

#[test]
fn comment_on_merge_diff_is_matched_by_line_content() {
    let mut change = change_in_rounds("head", Vec::new());
    let round = &mut change.proposed.as_mut().unwrap().proposal.rounds[1];
    // The target branch gained a line, a conflict, and a file with the old name of a renamed one.
    let merged = DIFF.replace("@@ -1,2 +1,2 @@\n kept", "@@ -8,3 +8,3 @@\n new\n kept").replace(
        "@@ -1 +1,2 @@\n kept\n+more\n",
        "@@ -1,2 +1,5 @@\n kept\n+<<<<<<< a\n theirs\n+=======\n+more\n+>>>>>>> b\n",
    );
    round.diff = Some(merged.into_bytes());
    round.threads = vec![
        thread("target", "a.py", Side::New, 8),
        thread("context", "a.py", Side::New, 9),
        thread("added", "a.py", Side::New, 10),
        thread("removed", "old.py", Side::Old, 10),
        thread("marker", "b.py", Side::New, 2),
        thread("more", "b.py", Side::New, 5),
    ];
    let (contents, _) = workspace_contents(change, None).unwrap();
    let round = contents.rounds.last().unwrap();
    let at = |number: u32| round.inline.get(&number).map(|comments| comments[0].id.as_str());
    let lines: Vec<_> = round.inline.keys().map(|number| (*number, at(*number).unwrap())).collect();
    assert_eq!(lines, [(8, "context"), (9, "removed"), (10, "added"), (16, "more")]);
    let lines: Vec<_> = round.threads.iter().map(|thread| (&*thread.id, thread.line)).collect();
    let expected = [
        ("target", None),
        ("context", Some(1)),
        ("added", Some(2)),
        ("removed", Some(2)),
        ("marker", None),
        ("more", Some(2)),
    ];
    assert_eq!(lines, expected);
}

#[test]
fn comments_before_the_first_round_are_kept() {
    let mut change = change("head", DIFF, Vec::new(), Vec::new());
    let proposal = &mut change.proposed.as_mut().unwrap().proposal;
    proposal.kind = ProposalKind::MergeProposal;
    proposal.rounds.clear();
    proposal.comments = thread("early", "a.py", Side::New, 1).comments;
    let (contents, _) = workspace_contents(change, None).unwrap();
    let [round] = &contents.rounds[..] else { panic!("{}", contents.rounds.len()) };
    assert_eq!((&*round.id, &*round.general[0].content), (NEW_ROUND, "early"));
}
