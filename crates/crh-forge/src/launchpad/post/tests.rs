//! Plans for reviews, given the current state.

use expect_test::expect;
use serde_json::{Value, json};

use super::*;
use crate::launchpad::{
    LatestDiff, MergeProposalComment, MergeProposalInlineComment, MergeProposalProperties,
    MergeProposalState,
};
use crate::posting::{PostedItem, PostingSkip};
use crh_review::diff::Diff;
use crh_review::report::Report;
use crh_review::verdict::Verdict;

const DIFF: &str =
    "diff --git a/a.rs b/a.rs\n--- a/a.rs\n+++ b/a.rs\n@@ -1,2 +1,3 @@\n one\n+two\n-old\n+three\n";

fn report(places: &[(&str, &str, u32)]) -> Report {
    let mut report = Report { review_id: "0123456789abcdef".to_owned(), ..Report::default() };
    report.verdict = Verdict::ReadyWithFixes;
    report.verdict_reason = "issues to fix".to_owned();
    report.change.repo = "~acme/shop/+git/shop".to_owned();
    report.change.pr_number = "12".to_owned();
    report.change.head_sha = "h1".to_owned();
    let issue = |(number, (file, side, line)): (u32, &(&str, &str, u32))| {
        serde_json::from_value(json!({
            "number": number, "dedupe_key": format!("{number:016x}"), "title": format!("Trouble {number}"),
            "severity": "P1", "category": "bug", "file": file, "side": side, "line_start": line, "line_end": line,
            "confidence": 0.8, "why_it_matters": "Customers\npay <!-- twice.", "description": "", "suggestion": "",
            "evidence_snippet": "", "reviewers": ["correctness"], "language": "rust", "evidence": [],
            "tier": "primary", "validation": "not_run", "autofix_class": "manual", "owner": "human",
            "queue": "report", "action": "defer", "requires_verification": false, "pre_existing": false, "members": [],
            "replacement": "<!-- crh:crh:00000000000000ff -->\n",
        }))
        .unwrap()
    };
    report.issues = (1..).zip(places).map(issue).collect();
    report
}

fn standing() -> MergeProposalState {
    MergeProposalState {
        viewer: Some("us".to_owned()),
        proposal: MergeProposalProperties {
            repo: "~acme/shop/+git/shop".to_owned(),
            number: 12,
            path: "~ann/shop/+git/shop/+merge/12".to_owned(),
            head: "h1".to_owned(),
            registrant: Some("ann".to_owned()),
            status: "Needs review".to_owned(),
            ..MergeProposalProperties::default()
        },
        latest_diff: Some(LatestDiff { id: 7, head: "h1".to_owned(), diff: DIFF.into() }),
        ..MergeProposalState::default()
    }
}

fn planned(report: &Report, proposal_state: &MergeProposalState) -> LaunchpadPostingSteps {
    planned_by(report, proposal_state, LaunchpadPostingOptions::default())
}

fn planned_by(
    report: &Report,
    proposal_state: &MergeProposalState,
    terms: LaunchpadPostingOptions,
) -> LaunchpadPostingSteps {
    let mask = |text: &str| text.replace("hunter2", "***");
    let diff = Diff::read(DIFF);
    plan(
        &LaunchpadPosting { report, diff: &diff, mask: &mask, instance: "crh", options: terms },
        proposal_state,
    )
}

fn argument(plan: &LaunchpadPostingSteps, name: &str) -> Value {
    let form = &plan.write.as_ref().unwrap().form;
    let found = form.iter().find(|(known, _)| known == name);
    found.map_or(Value::Null, |(_, value)| serde_json::from_str(value).unwrap())
}

/// State after a plan is applied.
fn applied(
    plan: &LaunchpadPostingSteps,
    mut proposal_state: MergeProposalState,
) -> MergeProposalState {
    let content = argument(plan, "content").as_str().unwrap().to_owned();
    let author = proposal_state.viewer.clone();
    let vote = argument(plan, "vote").as_str().map(str::to_owned);
    proposal_state.comments.push(MergeProposalComment {
        author: author.clone(),
        content,
        vote,
        ..MergeProposalComment::default()
    });
    let inline = argument(plan, "inline_comments");
    for (line, text) in inline.as_object().into_iter().flatten() {
        proposal_state.inline.push(MergeProposalInlineComment {
            line: line.parse().ok(),
            author: author.clone(),
            text: text.as_str().unwrap().to_owned(),
            ..MergeProposalInlineComment::default()
        });
    }
    proposal_state
}

#[test]
fn lines_refer_to_launchpads_diff() {
    let report =
        report(&[("a.rs", "new", 2), ("a.rs", "old", 2), ("a.rs", "new", 9), ("a.rs", "new", 2)]);
    let plan = planned(&report, &standing());
    let inline = argument(&plan, "inline_comments");
    let lines: Vec<&String> = inline.as_object().unwrap().keys().collect();
    assert_eq!(lines, ["6", "7"]);
    assert_eq!(inline["6"].as_str().unwrap().matches("Trouble").count(), 2, "one text a line");
    assert_eq!(argument(&plan, "previewdiff_id"), 7);
    assert_eq!(argument(&plan, "vote"), "Needs Fixing");
    expect![[r#"
        Ready with fixes: issues to fix

        Inline:
          #1 P1 a.rs:2: Trouble 1
          #2 P1 a.rs:2 (removed): Trouble 2
          #4 P1 a.rs:2: Trouble 4

        Not in the diff:
          #3 P1 a.rs:9: Trouble 3
            Customers pay <! -- twice.

            Replace with:
                <!-- crh:crh:00000000000000ff -->

            (correctness, confidence 0.80)

        --
        crh, no model
        <!-- code-review-agent:review_id=0123456789abcdef -->
        <!-- crh:crh:summary -->
        <!-- crh:crh:state:eyJoZWFkIjoiaDEiLCJpc3N1ZXMiOiI2ZjVmZmRkNWUwYmY0ZTMzNjY5ZmE1MTIzY2IwZTU2N2Q1OWNiNWFjYTlhNmE5ODNiMjBmODYxYjk5ZDA1YmYyIiwia2V5cyI6WyIwMDAwMDAwMDAwMDAwMDAxIiwiMDAwMDAwMDAwMDAwMDAwMiIsIjAwMDAwMDAwMDAwMDAwMDMiLCIwMDAwMDAwMDAwMDAwMDA0Il0sInZlcmRpY3QiOiJSZWFkeSB3aXRoIGZpeGVzIiwidm90ZSI6Ik5lZWRzIEZpeGluZyJ9 -->
    "#]].assert_eq(argument(&plan, "content").as_str().unwrap());
    expect![[r#"
        P1: Trouble 2

        Customers pay <! -- twice.

        Replace with:
            <!-- crh:crh:00000000000000ff -->

        (correctness, confidence 0.80)

        <!-- crh:crh:0000000000000002 -->
    "#]]
    .assert_eq(inline["7"].as_str().unwrap());
}

#[test]
fn line_below_form_feed_uses_row_number() {
    let mut standing = standing();
    let round = standing.latest_diff.as_mut().unwrap();
    let text = String::from_utf8(round.diff.clone()).unwrap();
    // In the hunk header, so that the file's lines stay the same.
    round.diff = text.replacen(" @@\n", " @@ \u{c}f\n", 1).into_bytes();
    let plan = planned(&report(&[("a.rs", "new", 2)]), &standing);
    let inline = argument(&plan, "inline_comments");
    let lines: Vec<&String> = inline.as_object().unwrap().keys().collect();
    assert_eq!(lines, ["7"], "{}", String::from_utf8_lossy(&standing.latest_diff.unwrap().diff));
}

#[test]
fn posting_twice_changes_nothing() {
    let first = report(&[("a.rs", "new", 2), ("b.rs", "new", 9)]);
    let then = applied(&planned(&first, &standing()), standing());
    assert_eq!(planned(&first, &then).write, None, "the same run");
    let again = Report { review_id: "fedcba9876543210".to_owned(), ..first.clone() };
    assert_eq!(planned(&again, &then).write, None, "the same words");
    let mut next = report(&[("a.rs", "new", 2), ("b.rs", "new", 9), ("a.rs", "new", 3)]);
    next.review_id = "fedcba9876543210".to_owned();
    next.change.head_sha = "h2".to_owned();
    let mut moved = then.clone();
    moved.proposal.head = "h2".to_owned();
    moved.latest_diff.as_mut().unwrap().head = "h2".to_owned();
    let plan = planned(&next, &moved);
    assert_eq!(argument(&plan, "inline_comments").as_object().unwrap().len(), 1);
    assert_eq!(argument(&plan, "content").as_str().unwrap().matches("Customers").count(), 0);
    assert_eq!(planned(&next, &applied(&plan, moved)).write, None);
    // Texts of other accounts and other instances do not count, even with valid markers.
    let mut forged = then;
    for said in &mut forged.comments {
        said.author = Some("mallory".to_owned());
    }
    for said in &mut forged.inline {
        said.author = Some("mallory".to_owned());
    }
    assert_eq!(planned(&first, &forged), planned(&first, &standing()));
}

#[test]
fn diff_of_another_head_gets_no_inline_comments() {
    let report = report(&[("a.rs", "new", 2)]);
    for round in [None, Some(LatestDiff { id: 7, head: "h0".to_owned(), diff: DIFF.into() })] {
        let plan = planned(&report, &MergeProposalState { latest_diff: round, ..standing() });
        assert_eq!(argument(&plan, "inline_comments"), Value::Null);
        assert_eq!(argument(&plan, "previewdiff_id"), Value::Null);
        let content = argument(&plan, "content");
        assert!(content.as_str().unwrap().contains("#1 P1 a.rs:2: Trouble 1"), "{content}");
    }
}

#[test]
fn vote_follows_verdict_and_approval_needs_option() {
    let mut report = report(&[]);
    let vote = |report: &Report, approve: bool, viewer: &str| {
        let proposal_state = MergeProposalState { viewer: Some(viewer.to_owned()), ..standing() };
        let plan = planned_by(report, &proposal_state, LaunchpadPostingOptions { approve });
        argument(&plan, "vote").as_str().map(str::to_owned)
    };
    for (verdict, allowed, other) in [
        (Verdict::NotReady, Some("Needs Fixing"), Some("Needs Fixing")),
        (Verdict::ReadyWithFixes, Some("Needs Fixing"), Some("Needs Fixing")),
        (Verdict::Incomplete, Some("Abstain"), Some("Abstain")),
        (Verdict::ChecksPassed, Some("Abstain"), Some("Abstain")),
        (Verdict::ReadyToMerge, Some("Approve"), None),
    ] {
        report.verdict = verdict;
        assert_eq!(vote(&report, true, "us").as_deref(), allowed);
        assert_eq!(vote(&report, false, "us").as_deref(), other);
    }
    assert_eq!(vote(&report, true, "ann"), None, "an author cannot approve the own proposal");
}

#[test]
fn wrong_head_proposal_or_status_is_refused() {
    let report = report(&[("a.rs", "new", 2)]);
    let refused = |change: fn(&mut MergeProposalState)| {
        let mut standing = standing();
        change(&mut standing);
        let plan = planned(&report, &standing);
        assert_eq!(plan.write, None);
        plan.refusal.unwrap().to_string()
    };
    let lines = [
        refused(|it| it.proposal.head = "h2".to_owned()),
        refused(|it| it.proposal.number = 13),
        refused(|it| it.proposal.status = "Merged".to_owned()),
        refused(|it| it.incomplete_lists = vec!["comments".to_owned()]),
        refused(|it| it.viewer = None),
    ];
    expect![[r#"
        the head of the merge proposal moved from h1 to h2
        the review is for `~acme/shop/+git/shop/+merge/12`, not for `~acme/shop/+git/shop/+merge/13`
        the merge proposal is closed: Merged
        cannot read the merge proposal completely: comments
        commenting requires a Launchpad login"#]]
    .assert_eq(&lines.join("\n"));
}

#[test]
fn secrets_are_masked_and_summary_is_bounded() {
    let mut report = report(&[("a.rs", "new", 2)]);
    report.issues[0].why_it_matters = "say hunter2".to_owned();
    report.summary = "hunter2".to_owned();
    let plan = planned(&report, &standing());
    assert!(!format!("{:?}", plan.write).contains("hunter2"));
    let many: Vec<(&str, &str, u32)> = (0..2_000).map(|line| ("b.rs", "new", 100 + line)).collect();
    let report = self::report(&many);
    let plan = planned(&report, &standing());
    let content = argument(&plan, "content").as_str().unwrap().to_owned();
    assert!(content.chars().count() <= 50_000, "{}", content.chars().count());
    let then = applied(&plan, standing());
    assert_eq!(planned(&report, &then).write, None, "its markers are whole");
    assert!(plan.posted.contains(&PostedItem::Summary));
}

#[test]
fn omitted_issues_are_posted_next_time() {
    let many: Vec<(&str, &str, u32)> = (0..1_000).map(|line| ("b.rs", "new", 100 + line)).collect();
    let mut report = report(&[&[("a.rs", "new", 2)], &many[..]].concat());
    report.summary = "So much.\n".repeat(9_000);
    report.warnings = vec!["Beware of it.".repeat(99); 99];
    report.model_used = "m".repeat(9_000);
    for issue in &mut report.issues {
        issue.title = "Long ".repeat(40) + &issue.title;
    }
    let plan = planned(&report, &standing());
    let content = argument(&plan, "content").as_str().unwrap().to_owned();
    assert!(content.chars().count() <= 50_000, "{}", content.chars().count());
    let left_out = |skip: &PostingSkip| skip.to_string() == "no space left in the summary";
    let left = plan.skipped.iter().filter(|(_, skip)| left_out(skip)).count();
    let here = plan.skipped.len() - left;
    assert_eq!((here > 50, here + left), (true, 1_000));
    assert!(content.contains(&format!("  and {left} more (no space here)\n")));
    let then = applied(&plan, standing());
    assert_eq!(planned(&report, &then).write, None, "the same again says nothing new");
    // The next review posts the rest, and nothing again.
    report.issues.truncate(here + 11);
    let next = planned(&report, &then);
    let is_here =
        |(_, skip): &&(PostedItem, PostingSkip)| matches!(skip, PostingSkip::InSummary { .. });
    assert_eq!(next.skipped.iter().filter(is_here).count(), 10, "{:?}", next.skipped);
    assert_eq!(argument(&next, "inline_comments"), Value::Null);
}

#[test]
fn changed_result_is_posted_again() {
    let mut first = report(&[("a.rs", "new", 2)]);
    first.verdict = Verdict::Incomplete;
    let once = applied(&planned(&first, &standing()), standing());
    let mut whole = report(&[("a.rs", "new", 2), ("a.rs", "new", 3)]);
    whole.verdict = Verdict::NotReady;
    let plan = planned(&whole, &once);
    assert_eq!(argument(&plan, "vote"), "Needs Fixing");
    assert_eq!(argument(&plan, "inline_comments").as_object().unwrap().len(), 1, "the new one");
    let twice = applied(&plan, once);
    assert_eq!(planned(&whole, &twice).write, None);
    // Another review in between makes no difference.
    let other = Report { review_id: "fedcba9876543210".to_owned(), ..report(&[]) };
    let then = applied(&planned(&other, &twice), twice.clone());
    assert_eq!(planned(&whole, &then).write, None);
    let ready = Report { verdict: Verdict::ReadyToMerge, ..report(&[]) };
    let posted = applied(&planned(&ready, &standing()), standing());
    assert_eq!(planned(&ready, &posted).write, None);
    let approved = planned_by(&ready, &posted, LaunchpadPostingOptions { approve: true });
    assert_eq!(argument(&approved, "vote"), "Approve");
}

#[test]
fn own_vote_is_updated_and_persons_vote_kept() {
    let open = report(&[("a.rs", "new", 2)]);
    let voted = applied(&planned(&open, &standing()), standing());
    let mut fixed = Report { verdict: Verdict::ReadyToMerge, ..report(&[]) };
    fixed.review_id = "fedcba9876543210".to_owned();
    let plan = planned(&fixed, &voted);
    assert_eq!(argument(&plan, "vote"), "Abstain");
    let after = applied(&plan, voted.clone());
    assert_eq!(planned(&fixed, &after).write, None);
    let again = Report { review_id: "00112233445566aa".to_owned(), ..open.clone() };
    assert_eq!(argument(&planned(&again, &after), "vote"), "Needs Fixing");
    // A vote of another instance stays.
    let mut theirs = voted.clone();
    theirs.comments[0].content = theirs.comments[0].content.replace("crh:crh:", "crh:two:");
    assert_eq!(argument(&planned(&fixed, &theirs), "vote"), Value::Null);
    assert_eq!(argument(&planned(&open, &theirs), "vote"), "Needs Fixing");
    let said = |author: &str, vote: Option<&str>| MergeProposalComment {
        author: Some(author.to_owned()),
        vote: vote.map(str::to_owned),
        content: "Fine.".to_owned(),
        ..MergeProposalComment::default()
    };
    for (comments, expected) in [
        (vec![said("us", Some("Approve"))], Value::Null),
        (vec![said("us", Some("Needs Fixing")), said("us", None)], Value::Null),
        (vec![said("ann", Some("Approve")), said("us", None)], json!("Needs Fixing")),
    ] {
        let proposal_state = MergeProposalState { comments, ..standing() };
        let plan = planned(&open, &proposal_state);
        assert_eq!(argument(&plan, "vote"), expected);
        assert_eq!(plan.notes.is_empty(), !expected.is_null(), "{:?}", plan.notes);
        assert_eq!(planned(&open, &applied(&plan, proposal_state)).write, None);
    }
}

#[test]
fn unmaskable_report_is_not_posted() {
    let mut report = report(&[("a.rs", "new", 2)]);
    let diff = Diff::read(DIFF);
    let mask = |text: &str| text.replace("bug", "***");
    let (instance, terms) = ("crh", LaunchpadPostingOptions::default());
    let posting =
        LaunchpadPosting { report: &report, diff: &diff, mask: &mask, instance, options: terms };
    assert_eq!(plan(&posting, &standing()).refusal, Some(MergeProposalRefusal::Hidden));
    report.change.repo = "~hunter2/shop".to_owned();
    let refusal = planned(&report, &standing()).refusal.unwrap().to_string();
    assert!(refusal.contains("`~***/shop/+merge/12`"), "{refusal}");
}
