//! Tests of the plans for merge proposals.

use expect_test::expect;
use serde_json::{Value, json};

use super::*;
use crate::posting::tests_support::self_suppressed_report;
use crate::posting::{
    AllowedVotes, ForgeUser, InlineComment, InlineThread, PostedItem, PostingOptions,
    PostingRefusal, PostingSkip, ProposalComment, ProposalProperties, ReviewBasis, RowDiff, plan,
};
use crh_review::diff::Diff;
use crh_review::report::Report;
use crh_review::verdict::Verdict;

const DIFF: &str =
    "diff --git a/a.rs b/a.rs\n--- a/a.rs\n+++ b/a.rs\n@@ -1,2 +1,3 @@\n one\n+two\n-old\n+three\n";

fn report(locations: &[(&str, &str, u32)]) -> Report {
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
    report.issues = (1..).zip(locations).map(issue).collect();
    report
}

fn row_diff(head: &str) -> RowDiff {
    RowDiff { id: 7, head: head.to_owned(), diff: DIFF.into(), has_drafts: false }
}

fn approving(approve: bool) -> PostingOptions {
    let votes = AllowedVotes { approve, ..AllowedVotes::default() };
    PostingOptions { votes, ..PostingOptions::default() }
}

fn open_proposal() -> ProposalState {
    ProposalState {
        viewer: Some(ForgeUser::named("us")),
        properties: ProposalProperties {
            repo: "~acme/shop/+git/shop".to_owned(),
            number: 12,
            api_path: "~ann/shop/+git/shop/+merge/12".to_owned(),
            head: "h1".to_owned(),
            author: Some(ForgeUser::named("ann")),
            open: true,
            status: "Needs review".to_owned(),
            ..ProposalProperties::default()
        },
        row_diff: Some(row_diff("h1")),
        ..ProposalState::default()
    }
}

fn make_plan(report: &Report, proposal_state: &ProposalState) -> PostingSteps {
    make_plan_with(report, proposal_state, PostingOptions::default())
}

fn make_plan_with(
    report: &Report,
    proposal_state: &ProposalState,
    options: PostingOptions,
) -> PostingSteps {
    let mask = |text: &str| text.replace("hunter2", "***");
    make_masked_plan(report, proposal_state, options, &mask)
}

fn make_masked_plan(
    report: &Report,
    proposal_state: &ProposalState,
    options: PostingOptions,
    mask: &(dyn Fn(&str) -> String + Sync),
) -> PostingSteps {
    let posting = ReviewPosting {
        report,
        diff: &Diff::read(DIFF),
        head_lines: &|_| None,
        mask,
        instance: "crh",
        web: "",
        basis: &ReviewBasis::default(),
        carried_issues: None,
        options,
    };
    plan(&LaunchpadRules, &posting, proposal_state)
}

fn argument(plan: &PostingSteps, name: &str) -> Value {
    plan.writes[0].request.body[name].clone()
}

/// State after a plan is applied.
fn apply(plan: &PostingSteps, mut proposal_state: ProposalState) -> ProposalState {
    let content = argument(plan, "content").as_str().unwrap().to_owned();
    let author = proposal_state.viewer.clone();
    let vote = argument(plan, "vote").as_str().map(str::to_owned);
    proposal_state.comments.push(ProposalComment {
        author,
        body: content,
        vote,
        ..ProposalComment::default()
    });
    let inline = argument(plan, "inline_comments");
    for (line, text) in inline.as_object().into_iter().flatten() {
        let body = text.as_str().unwrap().to_owned();
        proposal_state.threads.push(InlineThread {
            line: line.parse().ok(),
            comments: vec![InlineComment { ours: true, body, ..InlineComment::default() }],
            ..InlineThread::default()
        });
    }
    proposal_state
}

#[test]
fn inline_comments_use_rows_of_launchpads_diff() {
    let report =
        report(&[("a.rs", "new", 2), ("a.rs", "old", 2), ("a.rs", "new", 9), ("a.rs", "new", 2)]);
    let plan = make_plan(&report, &open_proposal());
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
    let mut proposal_state = open_proposal();
    let latest_diff = proposal_state.row_diff.as_mut().unwrap();
    let text = String::from_utf8(latest_diff.diff.clone()).unwrap();
    // The form feed is in the hunk header, so that the file's lines stay the same.
    latest_diff.diff = text.replacen(" @@\n", " @@ \u{c}f\n", 1).into_bytes();
    let plan = make_plan(&report(&[("a.rs", "new", 2)]), &proposal_state);
    let inline = argument(&plan, "inline_comments");
    let lines: Vec<&String> = inline.as_object().unwrap().keys().collect();
    assert_eq!(lines, ["7"], "{}", String::from_utf8_lossy(&proposal_state.row_diff.unwrap().diff));
}

#[test]
fn posting_twice_changes_nothing() {
    let first = report(&[("a.rs", "new", 2), ("b.rs", "new", 9)]);
    let posted = apply(&make_plan(&first, &open_proposal()), open_proposal());
    assert_eq!(make_plan(&first, &posted).writes, vec![], "the same run");
    let same_review = Report { review_id: "fedcba9876543210".to_owned(), ..first.clone() };
    assert_eq!(make_plan(&same_review, &posted).writes, vec![], "the same words");
    let mut next = report(&[("a.rs", "new", 2), ("b.rs", "new", 9), ("a.rs", "new", 3)]);
    next.review_id = "fedcba9876543210".to_owned();
    next.change.head_sha = "h2".to_owned();
    let mut moved = posted.clone();
    moved.properties.head = "h2".to_owned();
    moved.row_diff.as_mut().unwrap().head = "h2".to_owned();
    let plan = make_plan(&next, &moved);
    assert_eq!(argument(&plan, "inline_comments").as_object().unwrap().len(), 1);
    assert_eq!(argument(&plan, "content").as_str().unwrap().matches("Customers").count(), 0);
    assert_eq!(make_plan(&next, &apply(&plan, moved)).writes, vec![]);
    // Texts of other accounts and other instances do not count, even with valid markers.
    let mut forged = posted;
    for comment in &mut forged.comments {
        comment.author = Some(ForgeUser::named("mallory"));
    }
    for thread in &mut forged.threads {
        thread.comments[0].ours = false;
    }
    assert_eq!(make_plan(&first, &forged), make_plan(&first, &open_proposal()));
}

#[test]
fn diff_of_another_head_gets_no_inline_comments() {
    let report = report(&[("a.rs", "new", 2)]);
    for row_diff in [None, Some(row_diff("h0"))] {
        let plan = make_plan(&report, &ProposalState { row_diff, ..open_proposal() });
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
        let proposal_state =
            ProposalState { viewer: Some(ForgeUser::named(viewer)), ..open_proposal() };
        let plan = make_plan_with(report, &proposal_state, approving(approve));
        argument(&plan, "vote").as_str().map(str::to_owned)
    };
    for (verdict, with_option, without_option) in [
        (Verdict::NotReady, Some("Needs Fixing"), Some("Needs Fixing")),
        (Verdict::ReadyWithFixes, Some("Needs Fixing"), Some("Needs Fixing")),
        (Verdict::Incomplete, Some("Abstain"), Some("Abstain")),
        (Verdict::ChecksPassed, Some("Abstain"), Some("Abstain")),
        (Verdict::ReadyToMerge, Some("Approve"), None),
    ] {
        report.verdict = verdict;
        assert_eq!(vote(&report, true, "us").as_deref(), with_option);
        assert_eq!(vote(&report, false, "us").as_deref(), without_option);
    }
    assert_eq!(vote(&report, true, "ann"), None, "an author cannot approve the own proposal");
}

#[test]
fn wrong_head_proposal_or_status_is_refused() {
    let report = report(&[("a.rs", "new", 2)]);
    let refusal_after = |change: fn(&mut ProposalState)| {
        let mut proposal_state = open_proposal();
        change(&mut proposal_state);
        let plan = make_plan(&report, &proposal_state);
        assert_eq!(plan.writes, vec![]);
        plan.refusal.unwrap().to_string()
    };
    let lines = [
        refusal_after(|state| state.properties.head = "h2".to_owned()),
        refusal_after(|state| state.properties.number = 13),
        refusal_after(|state| {
            state.properties.open = false;
            state.properties.status = "Merged".to_owned();
        }),
        refusal_after(|state| state.incomplete_lists = vec!["comments".to_owned()]),
        refusal_after(|state| state.viewer = None),
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
    let plan = make_plan(&report, &open_proposal());
    assert!(!format!("{:?}", plan.writes).contains("hunter2"));
    let many: Vec<(&str, &str, u32)> = (0..2_000).map(|line| ("b.rs", "new", 100 + line)).collect();
    let report = self::report(&many);
    let plan = make_plan(&report, &open_proposal());
    let content = argument(&plan, "content").as_str().unwrap().to_owned();
    assert!(content.chars().count() <= 50_000, "{}", content.chars().count());
    let posted = apply(&plan, open_proposal());
    assert_eq!(make_plan(&report, &posted).writes, vec![], "its markers are whole");
    assert!(plan.writes[0].deliveries().iter().any(|(item, _)| *item == PostedItem::Summary));
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
    let plan = make_plan(&report, &open_proposal());
    let content = argument(&plan, "content").as_str().unwrap().to_owned();
    assert!(content.chars().count() <= 50_000, "{}", content.chars().count());
    let has_no_space = |skip: &PostingSkip| skip.to_string() == "no space left in the summary";
    let omitted_count = plan.skipped.iter().filter(|(_, skip)| has_no_space(skip)).count();
    let listed_count = plan.skipped.len() - omitted_count;
    assert_eq!((listed_count > 50, listed_count + omitted_count), (true, 1_000));
    assert!(content.contains(&format!("  and {omitted_count} more (no space here)\n")));
    let posted = apply(&plan, open_proposal());
    assert_eq!(make_plan(&report, &posted).writes, vec![], "the same again says nothing new");
    // The next review posts the rest, and nothing again.
    report.issues.truncate(listed_count + 11);
    let next = make_plan(&report, &posted);
    let is_in_summary =
        |(_, skip): &&(PostedItem, PostingSkip)| matches!(skip, PostingSkip::InSummary { .. });
    assert_eq!(next.skipped.iter().filter(is_in_summary).count(), 10, "{:?}", next.skipped);
    assert_eq!(argument(&next, "inline_comments"), Value::Null);
}

#[test]
fn changed_result_is_posted_again() {
    let mut first = report(&[("a.rs", "new", 2)]);
    first.verdict = Verdict::Incomplete;
    let after_first = apply(&make_plan(&first, &open_proposal()), open_proposal());
    let mut complete_report = report(&[("a.rs", "new", 2), ("a.rs", "new", 3)]);
    complete_report.verdict = Verdict::NotReady;
    let plan = make_plan(&complete_report, &after_first);
    assert_eq!(argument(&plan, "vote"), "Needs Fixing");
    assert_eq!(argument(&plan, "inline_comments").as_object().unwrap().len(), 1, "the new one");
    let after_second = apply(&plan, after_first);
    assert_eq!(make_plan(&complete_report, &after_second).writes, vec![]);
    // Another review in between makes no difference.
    let other_review = Report { review_id: "fedcba9876543210".to_owned(), ..report(&[]) };
    let after_other = apply(&make_plan(&other_review, &after_second), after_second.clone());
    assert_eq!(make_plan(&complete_report, &after_other).writes, vec![]);
    let clean_report = Report { verdict: Verdict::ReadyToMerge, ..report(&[]) };
    let posted = apply(&make_plan(&clean_report, &open_proposal()), open_proposal());
    assert_eq!(make_plan(&clean_report, &posted).writes, vec![]);
    let approving_plan = make_plan_with(&clean_report, &posted, approving(true));
    assert_eq!(argument(&approving_plan, "vote"), "Approve");
    // A change that suppresses a finding about itself is not approved.
    let hostile_report = self_suppressed_report(clean_report);
    let options = approving(true);
    let hostile_plan = make_plan_with(&hostile_report, &open_proposal(), options);
    assert_ne!(argument(&hostile_plan, "vote"), "Approve");
}

#[test]
fn own_vote_is_updated_and_persons_vote_kept() {
    let open_report = report(&[("a.rs", "new", 2)]);
    let after_vote = apply(&make_plan(&open_report, &open_proposal()), open_proposal());
    let mut fixed_report = Report { verdict: Verdict::ReadyToMerge, ..report(&[]) };
    fixed_report.review_id = "fedcba9876543210".to_owned();
    let plan = make_plan(&fixed_report, &after_vote);
    assert_eq!(argument(&plan, "vote"), "Abstain");
    let after_abstention = apply(&plan, after_vote.clone());
    assert_eq!(make_plan(&fixed_report, &after_abstention).writes, vec![]);
    let repeated_report =
        Report { review_id: "00112233445566aa".to_owned(), ..open_report.clone() };
    assert_eq!(argument(&make_plan(&repeated_report, &after_abstention), "vote"), "Needs Fixing");
    // A vote of another instance stays.
    let mut other_instance = after_vote.clone();
    other_instance.comments[0].body =
        other_instance.comments[0].body.replace("crh:crh:", "crh:two:");
    assert_eq!(argument(&make_plan(&fixed_report, &other_instance), "vote"), Value::Null);
    assert_eq!(argument(&make_plan(&open_report, &other_instance), "vote"), "Needs Fixing");
    let comment = |author: &str, vote: Option<&str>| ProposalComment {
        author: Some(ForgeUser::named(author)),
        vote: vote.map(str::to_owned),
        body: "Fine.".to_owned(),
        ..ProposalComment::default()
    };
    for (comments, expected) in [
        (vec![comment("us", Some("Approve"))], Value::Null),
        (vec![comment("us", Some("Needs Fixing")), comment("us", None)], Value::Null),
        (vec![comment("ann", Some("Approve")), comment("us", None)], json!("Needs Fixing")),
    ] {
        let proposal_state = ProposalState { comments, ..open_proposal() };
        let plan = make_plan(&open_report, &proposal_state);
        assert_eq!(argument(&plan, "vote"), expected);
        assert_eq!(plan.notes.is_empty(), !expected.is_null(), "{:?}", plan.notes);
        assert_eq!(make_plan(&open_report, &apply(&plan, proposal_state)).writes, vec![]);
    }
}

#[test]
fn unmaskable_report_is_not_posted() {
    let mut report = report(&[("a.rs", "new", 2)]);
    let mask = |text: &str| text.replace("bug", "***");
    let plan = make_masked_plan(&report, &open_proposal(), PostingOptions::default(), &mask);
    assert_eq!(plan.refusal, Some(PostingRefusal::Unmaskable));
    report.change.repo = "~hunter2/shop".to_owned();
    let refusal = make_plan(&report, &open_proposal()).refusal.unwrap().to_string();
    assert!(refusal.contains("`~***/shop/+merge/12`"), "{refusal}");
}
