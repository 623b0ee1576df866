//! Plans for reviews, and that nothing is written twice.

use std::collections::BTreeSet;

use expect_test::expect_file;
use proptest::prelude::*;

use super::*;
use crate::forges::github::post::GitHubRules;
use crate::posting::tests_support::{
    InMemoryGitHub, ReviewFixture, SHOWN_LINES, fresh, issue, self_suppressed_report,
};
use crate::posting::{
    AllowedVotes, Association, ForgeRequest, ForgeUser, InlineComment, PostedItem, PostingOptions,
    PostingSkip, WriteAnswer, last_saved_review, plan,
};
use crh_review::finding::Severity;
use crh_review::report::Issue;
use crh_testkit::runs_all_cases;

/// Names of the planned writes.
fn write_names(plan: &PostingSteps) -> Vec<String> {
    let key = |item: &PostedItem| match item {
        PostedItem::Issue { number, .. } => number.to_string(),
        PostedItem::Vote { .. }
        | PostedItem::Draft { .. }
        | PostedItem::Summary
        | PostedItem::Thread { .. }
        | PostedItem::CheckRun
        | PostedItem::CodeScanning => "?".to_owned(),
    };
    let write = |write: &PostingWrite| match &write.kind {
        WriteKind::Review { comments, .. } => {
            let issues: Vec<String> = comments.iter().map(|comment| key(&comment.item)).collect();
            format!("review {}", issues.join(","))
        }
        WriteKind::Vote { event, .. } => format!("vote {event}"),
        WriteKind::Withdraw { id, .. } => format!("withdraw {id}"),
        WriteKind::Submit { id } => format!("submit {id}"),
        WriteKind::NewSummary { .. } => "new summary".to_owned(),
        WriteKind::Summary { id, .. } => format!("summary {id}"),
        WriteKind::Resolve { node_id } => format!("resolve {node_id}"),
        WriteKind::WholeReview { .. } => panic!("GitHub has no such write"),
    };
    plan.writes.iter().map(write).collect()
}

/// Writes of a plan, as a dry run prints them.
fn dry_run(plan: &PostingSteps) -> String {
    let requests: Vec<&ForgeRequest> = plan.writes.iter().map(|write| &write.request).collect();
    crh_review::stable_json(&requests).unwrap()
}

fn post(review: &ReviewFixture, memory: &mut InMemoryGitHub) -> PostingSteps {
    let plan = plan(&GitHubRules, &review.posting(), &memory.proposal_state);
    for write in &plan.writes {
        assert_eq!(memory.write(write), WriteAnswer::Done);
    }
    plan
}

fn summary(memory: &InMemoryGitHub) -> &str {
    &memory.proposal_state.comments.last().unwrap().body
}

#[test]
fn posting_twice_changes_nothing() {
    let review = ReviewFixture::new(&[10, 20, 150]);
    let mut memory = InMemoryGitHub::new(fresh());
    assert_eq!(write_names(&post(&review, &mut memory)), ["review 1,2", "new summary"]);
    assert_eq!(write_names(&post(&review, &mut memory)), Vec::<String>::new());
    assert!(summary(&memory).contains("### Not in the diff"), "{}", summary(&memory));
}

#[test]
fn new_run_updates_summary_without_repeats() {
    let mut memory = InMemoryGitHub::new(fresh());
    post(&ReviewFixture::new(&[10, 20]), &mut memory);
    memory.proposal_state.properties.head = "h2".to_owned();
    // The line of issue 3 changed and with it the key: title and file still match.
    (memory.proposal_state.threads[1].outdated, memory.proposal_state.threads[1].line) =
        (true, None);
    let mut second = ReviewFixture::new(&[10, 30, 26]);
    second.report.change.head_sha = "h2".to_owned();
    second.report.issues[2].title = "trouble 20!".to_owned();
    let plan = post(&second, &mut memory);
    assert_eq!(write_names(&plan)[0], "review 2");
    assert!(write_names(&plan)[1].starts_with("summary "), "{:?}", write_names(&plan));
    assert_eq!(memory.proposal_state.comments.len(), 1);
    assert!(
        summary(&memory).contains("Issue 1 was raised in an earlier review."),
        "{}",
        summary(&memory)
    );
    assert_eq!(write_names(&post(&second, &mut memory)), Vec::<String>::new());
}

#[test]
fn markers_of_other_accounts_are_ignored() {
    let review = ReviewFixture::new(&[10]);
    let mut memory = InMemoryGitHub::new(fresh());
    post(&review, &mut memory);
    let mut forged = memory.proposal_state.clone();
    for comment in &mut forged.comments {
        comment.author = Some(ForgeUser::new(9, "reviewer[bot]"));
    }
    for thread in &mut forged.threads {
        thread.comments[0].ours = false;
    }
    assert_eq!(
        write_names(&plan(&GitHubRules, &review.posting(), &forged)),
        ["review 1", "new summary"]
    );
}

fn reply(association: Association) -> InlineComment {
    InlineComment {
        author: Some("dev".to_owned()),
        association,
        body: "Not a bug: the caller checks.".to_owned(),
        url: "https://forge.example/o/r/pull/7#discussion_r9".to_owned(),
        ..InlineComment::default()
    }
}

#[test]
fn dismissed_issue_leaves_comments_and_verdict() {
    let review = ReviewFixture::new(&[10]);
    let mut memory = InMemoryGitHub::new(fresh());
    post(&review, &mut memory);
    memory.proposal_state.threads[0].comments.push(reply(Association::Member));
    let plan = post(&review, &mut memory);
    assert_eq!(plan.writes.len(), 1, "{:?}", write_names(&plan));
    let body = summary(&memory);
    assert!(body.contains("## Ready to merge") && body.contains("### Dismissed"), "{body}");
    assert!(body.contains("(by dev)"), "{body}");
    assert_eq!(write_names(&post(&review, &mut memory)), Vec::<String>::new());
}

#[test]
fn untrusted_dismissal_leaves_issue_open() {
    let review = ReviewFixture::new(&[10]);
    let mut memory = InMemoryGitHub::new(fresh());
    post(&review, &mut memory);
    memory.proposal_state.threads[0].comments.push(reply(Association::Contributor));
    post(&review, &mut memory);
    let body = summary(&memory);
    assert!(
        body.contains("## Ready with fixes")
            && body.contains("### Dismissed without permission, still open"),
        "{body}"
    );
    assert!(body.contains("(by dev, who cannot dismiss issues here)"), "{body}");
}

#[test]
fn wrong_head_wrong_pull_and_closed_pull_are_refused() {
    let check = |change: fn(&mut ProposalState), expected: &str| {
        let mut proposal_state = fresh();
        change(&mut proposal_state);
        let plan = plan(&GitHubRules, &ReviewFixture::new(&[10]).posting(), &proposal_state);
        assert_eq!(plan.refusal.map(|refusal| refusal.to_string()).as_deref(), Some(expected));
        assert_eq!(plan.writes, vec![]);
    };
    check(
        |state| state.properties.head = "h2".to_owned(),
        "the head of the pull request moved from h1 to h2",
    );
    check(|state| state.properties.number = 8, "the review is for `o/r#7`, not for `o/r#8`");
    check(
        |state| state.properties.repo = "x/r".to_owned(),
        "the review is for `o/r#7`, not for `x/r#7`",
    );
    check(|state| state.properties.open = false, "the pull request is closed");
    let mut proposal_state = fresh();
    proposal_state.properties.repo = "O/R".to_owned();
    assert_eq!(
        plan(&GitHubRules, &ReviewFixture::new(&[10]).posting(), &proposal_state).refusal,
        None
    );
}

#[test]
fn vote_is_cast_once_and_never_on_own_pull() {
    let votes = AllowedVotes { request_changes: true, approve: true };
    let mut review = ReviewFixture::new(&[10]);
    assert_eq!(write_names(&plan(&GitHubRules, &review.posting(), &fresh()))[0], "review 1");
    review.options.votes = votes;
    let mut memory = InMemoryGitHub::new(fresh());
    assert_eq!(
        write_names(&post(&review, &mut memory)),
        ["review 1", "vote REQUEST_CHANGES", "new summary"]
    );
    assert_eq!(write_names(&post(&review, &mut memory)), Vec::<String>::new());
    let mut clean_review = ReviewFixture::new(&[]);
    clean_review.options.votes = AllowedVotes { request_changes: true, approve: false };
    let plan_without = plan(&GitHubRules, &clean_review.posting(), &memory.proposal_state);
    assert_eq!(plan_without.writes.len(), 1);
    assert!(plan_without.writes[0].request.body.to_string().contains("still requests changes"));
    clean_review.options.votes = votes;
    let plan_with = post(&clean_review, &mut memory);
    assert_eq!(write_names(&plan_with)[0], "vote APPROVE");
    assert!(!summary(&memory).contains("still requests changes"));
    assert_eq!(write_names(&post(&clean_review, &mut memory)), Vec::<String>::new());
    let mut own_pull = fresh();
    own_pull.properties.author = own_pull.viewer.clone();
    assert_eq!(write_names(&plan(&GitHubRules, &review.posting(), &own_pull))[0], "review 1");
    let mut incomplete = ReviewFixture::new(&[]);
    incomplete.options.votes = votes;
    incomplete.report.verdict = crh_review::verdict::Verdict::Incomplete;
    assert_eq!(write_names(&plan(&GitHubRules, &incomplete.posting(), &fresh())), ["new summary"]);
}

#[test]
fn only_outdated_unanswered_gone_threads_are_resolved() {
    let mut memory = InMemoryGitHub::new(fresh());
    post(&ReviewFixture::new(&[10, 20, 30, 40]), &mut memory);
    let threads = &mut memory.proposal_state.threads;
    for thread in &mut threads[..3] {
        thread.outdated = true;
        thread.line = None;
    }
    threads[1]
        .comments
        .push(InlineComment { body: "hm".to_owned(), ..reply(Association::Stranger) });
    let ids: Vec<String> = threads.iter().map(|thread| thread.node_id.clone()).collect();
    let mut review = ReviewFixture::new(&[30]);
    review.report.review_id = "1111111111111111".to_owned();
    let resolves = |review: &ReviewFixture| {
        let plan = plan(&GitHubRules, &review.posting(), &memory.proposal_state);
        write_names(&plan)
            .into_iter()
            .filter(|name| name.starts_with("resolve"))
            .collect::<Vec<_>>()
    };
    assert_eq!(resolves(&review), Vec::<String>::new());
    review.options.resolve_outdated = true;
    assert_eq!(resolves(&review), [format!("resolve {}", ids[0])]);
    let mut partial = ReviewFixture::new(&[30]);
    partial.options.resolve_outdated = true;
    partial.report.status = crh_review::report::Status::Truncated;
    assert_eq!(resolves(&partial), Vec::<String>::new());
    let plan = post(&review, &mut memory);
    assert_eq!(plan.writes.len(), 2);
    assert_eq!(write_names(&post(&review, &mut memory)), Vec::<String>::new());
}

#[test]
fn comment_only_puts_everything_in_summary() {
    let mut review = ReviewFixture::new(&[10, 150]);
    review.options.comment_only = true;
    let mut memory = InMemoryGitHub::new(fresh());
    assert_eq!(write_names(&post(&review, &mut memory)), ["new summary"]);
    assert_eq!(summary(&memory).matches("<details>").count(), 2);
    assert_eq!(write_names(&post(&review, &mut memory)), Vec::<String>::new());
}

#[test]
fn review_has_at_most_fifty_comments() {
    let lines: Vec<u32> = (1..=99).collect();
    let plan = plan(&GitHubRules, &ReviewFixture::new(&lines).posting(), &fresh());
    let counts: Vec<usize> = plan
        .writes
        .iter()
        .filter_map(|write| write.request.body["comments"].as_array().map(Vec::len))
        .collect();
    assert_eq!(counts, [50, 49]);
}

#[test]
fn issues_over_the_inline_limit_go_to_summary() {
    let mut review = ReviewFixture::new(&[]);
    let numbers = 1..=u32::try_from(GitHubRules.profile().inline_max).unwrap() + 3;
    let numbered = |number: u32| Issue {
        dedupe_key: format!("{number:016x}"),
        title: format!("Trouble no. {number}"),
        ..issue(number, number % SHOWN_LINES + 1)
    };
    review.report.issues = numbers.map(numbered).collect();
    let check_summary = |memory: &InMemoryGitHub| {
        assert_eq!(memory.proposal_state.threads.len(), GitHubRules.profile().inline_max);
        let text = summary(memory);
        let remark = "Only the 500 most urgent issues have inline comments; 3 more are only in this summary.";
        assert!(text.contains(remark), "{text}");
        assert!(text.contains("### Without an inline comment"), "{text}");
        for number in 501..=503 {
            assert_eq!(text.matches(&format!("Trouble no. {number}<")).count(), 1, "{text}");
        }
        text.to_owned()
    };
    let mut memory = InMemoryGitHub::new(fresh());
    post(&review, &mut memory);
    let text = check_summary(&memory);
    assert_eq!(write_names(&post(&review, &mut memory)), Vec::<String>::new());
    // Texts of an interrupted posting count, too.
    let mut memory = InMemoryGitHub::new(fresh());
    for write in plan(&GitHubRules, &review.posting(), &memory.proposal_state).writes.iter().take(3)
    {
        memory.write(write);
    }
    assert_eq!(memory.proposal_state.threads.len(), 150);
    post(&review, &mut memory);
    assert_eq!(check_summary(&memory), text);
}

#[test]
fn secrets_are_masked_and_never_suggested() {
    let mut review = ReviewFixture::new(&[10, 20]);
    review.report.issues[0].why_it_matters = "The password hunter2 is logged.".to_owned();
    review.report.issues[0].replacement = Some("    login(\"hunter2\");".to_owned());
    review.report.issues[1].replacement = Some("    line(20)?;".to_owned());
    let requests = dry_run(&plan(&GitHubRules, &review.posting(), &fresh()));
    assert!(!requests.contains("hunter2") && requests.contains("The password ***"), "{requests}");
    assert_eq!(requests.matches("```suggestion").count(), 1, "{requests}");
}

/// A review and a pull request with an example of each kind of issue and thread.
fn varied_case() -> (ReviewFixture, ProposalState) {
    let mut memory = InMemoryGitHub::new(fresh());
    post(&ReviewFixture::new(&[10, 60, 70, 80]), &mut memory);
    memory.proposal_state.threads[1].comments.push(reply(Association::Member));
    memory.proposal_state.threads[2].comments.push(reply(Association::Stranger));
    memory.proposal_state.properties.head = "h2222222222".to_owned();
    let mut review = ReviewFixture::new(&[10, 20, 70, 150]);
    review.report.change.head_sha = "h2222222222".to_owned();
    review.report.summary = "Orders are paid in one step.".to_owned();
    review.report.warnings = vec!["the budget ended before 1 check".to_owned()];
    let long_issue = &mut review.report.issues[1];
    long_issue.title = "Cards are logged for @everyone at https://evil.example/x | wide".to_owned();
    long_issue.location.line_end = 21;
    long_issue.suggested_fix = Some("Log the last four digits.".to_owned());
    long_issue.replacement = Some("    line(last_four(20));\n    line(21);\n".to_owned());
    long_issue.reviewers = vec!["correctness".to_owned(), "security".to_owned()];
    (review, memory.proposal_state)
}

#[test]
fn dry_run_shows_every_write() {
    let (review, proposal_state) = varied_case();
    let plan = plan(&GitHubRules, &review.posting(), &proposal_state);
    expect_file!["../../../tests/data/post/dry_run.json"].assert_eq(&dry_run(&plan));
    let inline = plan.writes[0].request.body["comments"][0]["body"].as_str().unwrap();
    expect_file!["../../../tests/data/post/inline.md"].assert_eq(inline);
    let summary = plan.writes[1].request.body["body"].as_str().unwrap();
    expect_file!["../../../tests/data/post/summary.md"].assert_eq(summary);
}

proptest! {
    // Each case plans four times for up to seventy issues.
    #![proptest_config(ProptestConfig::with_cases(if runs_all_cases() { 48 } else { 16 }))]

    /// From any state and after any prefix of the writes, planning until nothing is left reaches
    /// the same final state.
    #[test]
    fn any_interrupted_plan_converges(
        first in proptest::collection::btree_set(1_u32..130, 0..70),
        second in proptest::collection::btree_set(1_u32..130, 0..70),
        stop in 0_usize..5,
        (request_changes, approve, resolve_outdated) in any::<(bool, bool, bool)>(),
        outdated in any::<u64>(),
    ) {
        let lines = |set: &BTreeSet<u32>| set.iter().copied().collect::<Vec<_>>();
        let mut memory = InMemoryGitHub::new(fresh());
        post(&ReviewFixture::new(&lines(&first)), &mut memory);
        for (index, thread) in memory.proposal_state.threads.iter_mut().enumerate() {
            if outdated >> (index % 64) & 1 == 1 {
                thread.outdated = true;
                thread.line = None;
            }
        }
        memory.proposal_state.properties.head = "h2".to_owned();
        let mut review = ReviewFixture::new(&lines(&second));
        review.report.change.head_sha = "h2".to_owned();
        review.options = PostingOptions { votes: AllowedVotes { request_changes, approve }, resolve_outdated, comment_only: false };
        let mut uninterrupted = memory.clone();
        post(&review, &mut uninterrupted);
        prop_assert_eq!(write_names(&plan(&GitHubRules, &review.posting(), &uninterrupted.proposal_state)), Vec::<String>::new());
        let first_plan = plan(&GitHubRules, &review.posting(), &memory.proposal_state);
        for write in first_plan.writes.iter().take(stop) {
            memory.write(write);
        }
        post(&review, &mut memory);
        prop_assert_eq!(memory.visible_content(), uninterrupted.visible_content());
        prop_assert_eq!(write_names(&plan(&GitHubRules, &review.posting(), &memory.proposal_state)), Vec::<String>::new());
    }
}

#[test]
fn same_titles_nearby_keep_separate_threads() {
    let mut review = ReviewFixture::new(&[10, 11]);
    for issue in &mut review.report.issues {
        issue.title = "Same words".to_owned();
    }
    let mut memory = InMemoryGitHub::new(fresh());
    post(&review, &mut memory);
    assert_eq!(memory.proposal_state.threads.len(), 2);
    review.report.issues.push(issue(3, 12));
    review.report.issues[2].title = "Same words".to_owned();
    assert_eq!(
        write_names(&plan(&GitHubRules, &review.posting(), &memory.proposal_state))[0],
        "review 3"
    );
}

#[test]
fn dismissal_survives_edit_of_the_line() {
    let mut memory = InMemoryGitHub::new(fresh());
    let mut first = ReviewFixture::new(&[20, 60]);
    for issue in &mut first.report.issues {
        issue.title = "`x < y` fails & @ann pays".to_owned();
    }
    post(&first, &mut memory);
    memory.proposal_state.threads[1].comments.push(reply(Association::Member));
    for thread in &mut memory.proposal_state.threads {
        (thread.outdated, thread.line) = (true, None);
    }
    let check = |line: u32, severity: &str, expected: &[&str]| {
        let mut second = ReviewFixture::new(&[line]);
        second.report.issues[0].title.clone_from(&first.report.issues[0].title);
        second.report.issues[0].severity =
            serde_json::from_value(serde_json::json!(severity)).unwrap();
        second.options.resolve_outdated = true;
        let plan = plan(&GitHubRules, &second.posting(), &memory.proposal_state);
        let skipped: Vec<String> = plan.skipped.iter().map(|(_, why)| why.to_string()).collect();
        assert_eq!(skipped, expected, "line {line}");
        let has_review = write_names(&plan)[0].starts_with("review");
        assert_eq!(has_review, expected.is_empty(), "{:?}", write_names(&plan));
    };
    // The reply belongs to the nearer issue.
    check(57, "P2", &["dismissed by dev"]);
    check(25, "P1", &["already posted"]);
    // The author may have replaced the dismissed line by malware with the same title.
    check(57, "P1", &[]);
    check(57, "P0", &[]);
}

#[test]
fn thread_of_hidden_issue_is_not_resolved() {
    let mut memory = InMemoryGitHub::new(fresh());
    let mut first = ReviewFixture::new(&[20]);
    first.report.issues[0].title = "a < b, says @ann with hunter2".to_owned();
    post(&first, &mut memory);
    (memory.proposal_state.threads[0].outdated, memory.proposal_state.threads[0].line) =
        (true, None);
    let mut second = ReviewFixture::new(&[]);
    second.options.resolve_outdated = true;
    let resolves = |review: &ReviewFixture| {
        write_names(&plan(&GitHubRules, &review.posting(), &memory.proposal_state))
            .iter()
            .any(|name| name.starts_with("resolve"))
    };
    assert!(resolves(&second));
    second.report.pre_existing.push(issue(1, 50));
    second.report.pre_existing[0].title.clone_from(&first.report.issues[0].title);
    assert!(!resolves(&second));
}

#[test]
fn thread_of_an_earlier_version_is_resolved_if_its_issue_is_no_longer_posted() {
    let mut memory = InMemoryGitHub::new(fresh());
    let mut first = ReviewFixture::new(&[20, 30]);
    first.report.issues[0].severity = Severity::P2;
    post(&first, &mut memory);
    let ids: Vec<String> =
        memory.proposal_state.threads.iter().map(|thread| thread.node_id.clone()).collect();
    let mut second = ReviewFixture::new(&[]);
    second.options.resolve_outdated = true;
    second.report.over_cap = std::mem::take(&mut first.report.issues);
    let resolves = |review: &ReviewFixture| {
        let plan = plan(&GitHubRules, &review.posting(), &memory.proposal_state);
        let names = write_names(&plan).into_iter();
        names.filter(|name| name.starts_with("resolve")).collect::<Vec<_>>()
    };
    assert_eq!(resolves(&second), Vec::<String>::new());
    second.basis.prompt_version = "newer".to_owned();
    // The P1 issue stays open, and so does its thread.
    assert_eq!(resolves(&second), [format!("resolve {}", ids[0])]);
}

#[test]
fn next_review_does_not_build_on_suppressed_findings() {
    let is_complete = |review: &ReviewFixture| {
        let mut memory = InMemoryGitHub::new(fresh());
        post(review, &mut memory);
        let posting = review.posting();
        last_saved_review(&memory.proposal_state, posting.instance).unwrap().complete
    };
    let mut review = ReviewFixture::new(&[]);
    assert!(is_complete(&review));
    review.report = self_suppressed_report(review.report);
    assert!(!is_complete(&review));
}

#[test]
fn change_that_suppresses_findings_is_not_approved() {
    let mut review = ReviewFixture::new(&[]);
    review.options.votes = AllowedVotes { request_changes: true, approve: true };
    let mut memory = InMemoryGitHub::new(fresh());
    let mut hostile = ReviewFixture::new(&[]);
    hostile.options.votes = review.options.votes;
    hostile.report = self_suppressed_report(hostile.report);
    let hostile_plan = plan(&GitHubRules, &hostile.posting(), &fresh());
    assert_eq!(write_names(&hostile_plan), ["new summary"]);
    let is_vote = |(item, _): &(PostedItem, PostingSkip)| matches!(item, PostedItem::Vote { .. });
    assert!(hostile_plan.skipped.iter().any(is_vote), "{:?}", hostile_plan.skipped);
    // An approval of an earlier round does not stand.
    assert_eq!(write_names(&post(&review, &mut memory))[0], "vote APPROVE");
    let id = memory.proposal_state.reviews[0].id;
    let names = write_names(&plan(&GitHubRules, &hostile.posting(), &memory.proposal_state));
    assert!(names.contains(&format!("withdraw {id}")), "{names:?}");
}

#[test]
fn stale_approval_is_dismissed() {
    let mut clean_review = ReviewFixture::new(&[]);
    clean_review.options.votes = AllowedVotes { request_changes: false, approve: true };
    let mut memory = InMemoryGitHub::new(fresh());
    post(&clean_review, &mut memory);
    let id = memory.proposal_state.reviews[0].id;
    // crh does not repeat an approval that was dismissed at this head.
    let mut dismissed = memory.clone();
    dismissed.proposal_state.reviews[0].state = "DISMISSED".to_owned();
    assert_eq!(
        write_names(&plan(&GitHubRules, &clean_review.posting(), &dismissed.proposal_state)),
        Vec::<String>::new()
    );
    // Another program with the same account approved, too.
    memory.proposal_state.reviews[0].body = format!("{}\n", memory.proposal_state.reviews[0].body);
    let mut foreign = memory.proposal_state.reviews[0].clone();
    (foreign.id, foreign.body) = (id + 1, "LGTM".to_owned());
    memory.proposal_state.reviews.push(foreign);
    let mut review_with_issue = ReviewFixture::new(&[10]);
    review_with_issue.options.votes.request_changes = true;
    assert_eq!(
        write_names(&plan(&GitHubRules, &review_with_issue.posting(), &memory.proposal_state))[1],
        "vote REQUEST_CHANGES"
    );
    review_with_issue.options.votes.request_changes = false;
    let mut comment_only = ReviewFixture::new(&[10]);
    comment_only.options.comment_only = true;
    let plan_without_review = plan(&GitHubRules, &comment_only.posting(), &memory.proposal_state);
    assert!(
        plan_without_review.writes[0].request.body.to_string().contains("still approves"),
        "{plan_without_review:?}"
    );
    let plan = post(&review_with_issue, &mut memory);
    assert_eq!(write_names(&plan)[..2], ["review 1".to_owned(), format!("withdraw {id}")]);
    assert!(!summary(&memory).contains("still approves"));
    assert_eq!(write_names(&post(&review_with_issue, &mut memory)), Vec::<String>::new());
}

#[test]
fn incomplete_read_refuses_posting() {
    let proposal_state = ProposalState { incomplete_lists: vec!["comments".to_owned()], ..fresh() };
    let plan = plan(&GitHubRules, &ReviewFixture::new(&[10]).posting(), &proposal_state);
    let expected = "cannot read the pull request completely: comments";
    assert_eq!(plan.refusal.map(|refusal| refusal.to_string()).as_deref(), Some(expected));
    assert_eq!(plan.writes, vec![]);
}

#[test]
fn own_pending_review_is_submitted() {
    let review = ReviewFixture::new(&[10]);
    let mut memory = InMemoryGitHub::new(fresh());
    post(&review, &mut memory);
    memory.unsubmit();
    let id = memory.proposal_state.reviews[0].id;
    assert_eq!(write_names(&post(&review, &mut memory)), [format!("submit {id}")]);
    assert_eq!(write_names(&post(&review, &mut memory)), Vec::<String>::new());
    memory.unsubmit();
    memory.proposal_state.reviews[0].body = "My own thoughts".to_owned();
    let plan = plan(&GitHubRules, &review.posting(), &memory.proposal_state);
    assert_eq!((plan.refusal, plan.writes), (Some(PostingRefusal::Unsubmitted), vec![]));
}

#[test]
fn unmaskable_report_is_not_posted() {
    let review = ReviewFixture::new(&[10]);
    let mask = |text: &str| text.replace("bug", "***");
    let posting = ReviewPosting { mask: &mask, ..review.posting() };
    let plan = plan(&GitHubRules, &posting, &fresh());
    assert_eq!((plan.refusal, plan.writes.len()), (Some(PostingRefusal::Unmaskable), 0));
}
