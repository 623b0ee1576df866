//! What is written for a review, and that nothing is written twice.

use std::collections::BTreeSet;

use expect_test::expect_file;
use proptest::prelude::*;

use super::super::tests_support::{Memory, Review, SHOWN, fresh, issue};
use super::super::{INLINE_MAX, Terms, Votes};
use super::*;
use crate::github::{Account, Association, InlineComment};
use crh_review::report::Issue;

/// A plan in a few words.
fn shown(plan: &Plan) -> Vec<String> {
    let key = |item: &Item| match item {
        Item::Issue { number, .. } => number.to_string(),
        Item::Vote { .. }
        | Item::Draft { .. }
        | Item::Summary
        | Item::Thread { .. }
        | Item::CheckRun
        | Item::CodeScanning => "?".to_owned(),
    };
    let write = |write: &Write| match &write.what {
        What::Review { issues } => {
            format!("review {}", issues.iter().map(key).collect::<Vec<_>>().join(","))
        }
        What::Vote { event } => format!("vote {event}"),
        What::Withdraw { id } => format!("withdraw {id}"),
        What::Submit { id } => format!("submit {id}"),
        What::NewSummary => "new summary".to_owned(),
        What::Summary { id } => format!("summary {id}"),
        What::Resolve { node_id } => format!("resolve {node_id}"),
    };
    plan.writes.iter().map(write).collect()
}

/// Every write of a plan, as it is shown to a person.
fn dry_run(plan: &Plan) -> String {
    let requests: Vec<&Request> = plan.writes.iter().map(|write| &write.request).collect();
    crh_review::stable_json(&requests).unwrap()
}

fn posted(review: &Review, memory: &mut Memory) -> Plan {
    let plan = plan(&review.posting(), &memory.standing);
    for write in &plan.writes {
        assert_eq!(memory.write(write), super::super::carrying::Answer::Done);
    }
    plan
}

fn summary(memory: &Memory) -> &str {
    &memory.standing.comments.last().unwrap().body
}

#[test]
fn the_same_run_posted_twice_changes_nothing() {
    let review = Review::new(&[10, 20, 150]);
    let mut memory = Memory::new(fresh());
    assert_eq!(shown(&posted(&review, &mut memory)), ["review 1,2", "new summary"]);
    assert_eq!(shown(&posted(&review, &mut memory)), Vec::<String>::new());
    assert!(summary(&memory).contains("### Not on a line of the diff"), "{}", summary(&memory));
}

#[test]
fn a_new_run_repeats_nothing_and_changes_the_summary_in_place() {
    let mut memory = Memory::new(fresh());
    posted(&Review::new(&[10, 20]), &mut memory);
    memory.standing.pull.head = "h2".to_owned();
    // The line of issue 3 has another text by now, and with it another key: it is known by its title and file.
    (memory.standing.threads[1].outdated, memory.standing.threads[1].line) = (true, None);
    let mut second = Review::new(&[10, 30, 26]);
    second.report.change.head_sha = "h2".to_owned();
    second.report.issues[2].title = "trouble 20!".to_owned();
    let plan = posted(&second, &mut memory);
    assert_eq!(shown(&plan)[0], "review 2");
    assert!(shown(&plan)[1].starts_with("summary "), "{:?}", shown(&plan));
    assert_eq!(memory.standing.comments.len(), 1);
    assert!(
        summary(&memory).contains("Issue 1 was raised in an earlier review."),
        "{}",
        summary(&memory)
    );
    assert_eq!(shown(&posted(&second, &mut memory)), Vec::<String>::new());
}

#[test]
fn what_others_wrote_with_our_markers_counts_for_nothing() {
    let review = Review::new(&[10]);
    let mut memory = Memory::new(fresh());
    posted(&review, &mut memory);
    let mut forged = memory.standing.clone();
    for comment in &mut forged.comments {
        comment.author = Some(Account { id: 9, login: "reviewer[bot]".to_owned() });
    }
    for thread in &mut forged.threads {
        thread.comments[0].ours = false;
    }
    assert_eq!(shown(&plan(&review.posting(), &forged)), ["review 1", "new summary"]);
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
fn a_dismissed_issue_is_not_raised_again_and_is_out_of_the_verdict() {
    let review = Review::new(&[10]);
    let mut memory = Memory::new(fresh());
    posted(&review, &mut memory);
    memory.standing.threads[0].comments.push(reply(Association::Member));
    let plan = posted(&review, &mut memory);
    assert_eq!(plan.writes.len(), 1, "{:?}", shown(&plan));
    let body = summary(&memory);
    assert!(body.contains("## Ready to merge") && body.contains("### Dismissed"), "{body}");
    assert!(body.contains("(by dev)"), "{body}");
    assert_eq!(shown(&posted(&review, &mut memory)), Vec::<String>::new());
}

#[test]
fn the_word_of_somebody_who_does_not_decide_leaves_the_issue_open() {
    let review = Review::new(&[10]);
    let mut memory = Memory::new(fresh());
    posted(&review, &mut memory);
    memory.standing.threads[0].comments.push(reply(Association::Contributor));
    posted(&review, &mut memory);
    let body = summary(&memory);
    assert!(
        body.contains("## Ready with fixes") && body.contains("### Contradicted, and still open"),
        "{body}"
    );
    assert!(body.contains("(by dev, who does not decide about this repository)"), "{body}");
}

#[test]
fn another_head_another_pull_request_and_a_closed_one_are_refused() {
    let check = |change: fn(&mut Standing), expected: &str| {
        let mut standing = fresh();
        change(&mut standing);
        let plan = plan(&Review::new(&[10]).posting(), &standing);
        assert_eq!(plan.refusal.map(|it| it.to_string()).as_deref(), Some(expected));
        assert_eq!(plan.writes, vec![]);
    };
    check(
        |it| it.pull.head = "h2".to_owned(),
        "the review is about h1, and the head of the pull request is h2",
    );
    check(|it| it.pull.number = 8, "the review is about `o/r#7`, and this is `o/r#8`");
    check(|it| it.pull.repo = "x/r".to_owned(), "the review is about `o/r#7`, and this is `x/r#7`");
    check(|it| it.pull.open = false, "the pull request is closed");
    let mut standing = fresh();
    standing.pull.repo = "O/R".to_owned();
    assert_eq!(plan(&Review::new(&[10]).posting(), &standing).refusal, None);
}

#[test]
fn a_vote_is_cast_if_asked_for_once_and_never_on_ones_own() {
    let votes = Votes { request_changes: true, approve: true };
    let mut review = Review::new(&[10]);
    assert_eq!(shown(&plan(&review.posting(), &fresh()))[0], "review 1");
    review.terms.votes = votes;
    let mut memory = Memory::new(fresh());
    assert_eq!(
        shown(&posted(&review, &mut memory)),
        ["review 1", "vote REQUEST_CHANGES", "new summary"]
    );
    assert_eq!(shown(&posted(&review, &mut memory)), Vec::<String>::new());
    let mut good = Review::new(&[]);
    good.terms.votes = Votes { request_changes: true, approve: false };
    let plan_without = plan(&good.posting(), &memory.standing);
    assert_eq!(plan_without.writes.len(), 1);
    assert!(plan_without.writes[0].request.body.to_string().contains("still requests changes"));
    good.terms.votes = votes;
    let plan_with = posted(&good, &mut memory);
    assert_eq!(shown(&plan_with)[0], "vote APPROVE");
    assert!(!summary(&memory).contains("still requests changes"));
    assert_eq!(shown(&posted(&good, &mut memory)), Vec::<String>::new());
    let mut own = fresh();
    own.pull.author = Some(own.viewer.clone());
    assert_eq!(shown(&plan(&review.posting(), &own))[0], "review 1");
    let mut incomplete = Review::new(&[]);
    incomplete.terms.votes = votes;
    incomplete.report.verdict = crh_review::verdict::Verdict::Incomplete;
    assert_eq!(shown(&plan(&incomplete.posting(), &fresh())), ["new summary"]);
}

#[test]
fn own_threads_are_resolved_only_if_outdated_unanswered_and_gone() {
    let mut memory = Memory::new(fresh());
    posted(&Review::new(&[10, 20, 30, 40]), &mut memory);
    let threads = &mut memory.standing.threads;
    for thread in &mut threads[..3] {
        thread.outdated = true;
        thread.line = None;
    }
    threads[1]
        .comments
        .push(InlineComment { body: "hm".to_owned(), ..reply(Association::Stranger) });
    let ids: Vec<String> = threads.iter().map(|it| it.node_id.clone()).collect();
    let mut review = Review::new(&[30]);
    review.report.review_id = "1111111111111111".to_owned();
    let resolves = |review: &Review| {
        let plan = plan(&review.posting(), &memory.standing);
        shown(&plan).into_iter().filter(|it| it.starts_with("resolve")).collect::<Vec<_>>()
    };
    assert_eq!(resolves(&review), Vec::<String>::new());
    review.terms.resolve_outdated = true;
    assert_eq!(resolves(&review), [format!("resolve {}", ids[0])]);
    let mut partial = Review::new(&[30]);
    partial.terms.resolve_outdated = true;
    partial.report.status = crh_review::report::Status::Truncated;
    assert_eq!(resolves(&partial), Vec::<String>::new());
    let plan = posted(&review, &mut memory);
    assert_eq!(plan.writes.len(), 2);
    assert_eq!(shown(&posted(&review, &mut memory)), Vec::<String>::new());
}

#[test]
fn only_a_comment_has_everything_in_it() {
    let mut review = Review::new(&[10, 150]);
    review.terms.comment_only = true;
    let mut memory = Memory::new(fresh());
    assert_eq!(shown(&posted(&review, &mut memory)), ["new summary"]);
    assert_eq!(summary(&memory).matches("<details>").count(), 2);
    assert_eq!(shown(&posted(&review, &mut memory)), Vec::<String>::new());
}

#[test]
fn a_review_has_at_most_fifty_comments() {
    let lines: Vec<u32> = (1..=99).collect();
    let plan = plan(&Review::new(&lines).posting(), &fresh());
    let counts: Vec<usize> = plan
        .writes
        .iter()
        .filter_map(|it| it.request.body["comments"].as_array().map(Vec::len))
        .collect();
    assert_eq!(counts, [50, 49]);
}

#[test]
fn of_more_issues_than_anybody_reads_the_most_urgent_have_comments_and_the_others_are_in_the_summary()
 {
    let mut review = Review::new(&[]);
    let numbers = 1..=u32::try_from(INLINE_MAX).unwrap() + 3;
    let numbered = |number: u32| Issue {
        dedupe_key: format!("{number:016x}"),
        title: format!("Trouble no. {number}"),
        ..issue(number, number % SHOWN + 1)
    };
    review.report.issues = numbers.map(numbered).collect();
    let whole = |memory: &Memory| {
        assert_eq!(memory.standing.threads.len(), INLINE_MAX);
        let text = summary(memory);
        let said =
            "Only the 500 most urgent issues are shown beside their lines; 3 more are here alone.";
        assert!(text.contains(said), "{text}");
        assert!(text.contains("### Without a comment on a line"), "{text}");
        for number in 501..=503 {
            assert_eq!(text.matches(&format!("Trouble no. {number}<")).count(), 1, "{text}");
        }
        text.to_owned()
    };
    let mut memory = Memory::new(fresh());
    posted(&review, &mut memory);
    let text = whole(&memory);
    assert_eq!(shown(&posted(&review, &mut memory)), Vec::<String>::new());
    // What an interrupted posting has left counts as well.
    let mut memory = Memory::new(fresh());
    for write in plan(&review.posting(), &memory.standing).writes.iter().take(3) {
        memory.write(write);
    }
    assert_eq!(memory.standing.threads.len(), 150);
    posted(&review, &mut memory);
    assert_eq!(whole(&memory), text);
}

#[test]
fn what_must_be_hidden_is_hidden_and_is_in_no_suggestion() {
    let mut review = Review::new(&[10, 20]);
    review.report.issues[0].why_it_matters = "The password hunter2 is logged.".to_owned();
    review.report.issues[0].replacement = Some("    login(\"hunter2\");".to_owned());
    review.report.issues[1].replacement = Some("    line(20)?;".to_owned());
    let all = dry_run(&plan(&review.posting(), &fresh()));
    assert!(!all.contains("hunter2") && all.contains("The password ***"), "{all}");
    assert_eq!(all.matches("```suggestion").count(), 1, "{all}");
}

/// One of everything.
fn full() -> (Review, Standing) {
    let mut memory = Memory::new(fresh());
    posted(&Review::new(&[10, 60, 70, 80]), &mut memory);
    memory.standing.threads[1].comments.push(reply(Association::Member));
    memory.standing.threads[2].comments.push(reply(Association::Stranger));
    memory.standing.pull.head = "h2222222222".to_owned();
    let mut review = Review::new(&[10, 20, 70, 150]);
    review.report.change.head_sha = "h2222222222".to_owned();
    review.report.summary = "Orders are paid in one step.".to_owned();
    review.report.warnings = vec!["the budget ended before 1 check".to_owned()];
    let long = &mut review.report.issues[1];
    long.title = "Cards are logged for @everyone at https://evil.example/x | wide".to_owned();
    long.location.line_end = 21;
    long.suggested_fix = Some("Log the last four digits.".to_owned());
    long.replacement = Some("    line(last_four(20));\n    line(21);\n".to_owned());
    long.reviewers = vec!["correctness".to_owned(), "security".to_owned()];
    (review, memory.standing)
}

#[test]
fn a_dry_run_shows_every_write() {
    let (review, standing) = full();
    let plan = plan(&review.posting(), &standing);
    expect_file!["../../../../tests/data/post/dry_run.json"].assert_eq(&dry_run(&plan));
    let inline = plan.writes[0].request.body["comments"][0]["body"].as_str().unwrap();
    expect_file!["../../../../tests/data/post/inline.md"].assert_eq(inline);
    let summary = plan.writes[1].request.body["body"].as_str().unwrap();
    expect_file!["../../../../tests/data/post/summary.md"].assert_eq(summary);
}

proptest! {
    // Each case plans four times for up to seventy issues.
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Whatever stands, and however far a posting came: planning again until nothing is left ends in the same state.
    #[test]
    fn any_prefix_of_the_writes_and_the_rest_of_the_next_plan_are_the_whole(
        first in proptest::collection::btree_set(1_u32..130, 0..70),
        second in proptest::collection::btree_set(1_u32..130, 0..70),
        stop in 0_usize..5,
        (request_changes, approve, resolve_outdated) in any::<(bool, bool, bool)>(),
        outdated in any::<u64>(),
    ) {
        let lines = |set: &BTreeSet<u32>| set.iter().copied().collect::<Vec<_>>();
        let mut memory = Memory::new(fresh());
        posted(&Review::new(&lines(&first)), &mut memory);
        for (at, thread) in memory.standing.threads.iter_mut().enumerate() {
            if outdated >> (at % 64) & 1 == 1 {
                thread.outdated = true;
                thread.line = None;
            }
        }
        memory.standing.pull.head = "h2".to_owned();
        let mut review = Review::new(&lines(&second));
        review.report.change.head_sha = "h2".to_owned();
        review.terms = Terms { votes: Votes { request_changes, approve }, resolve_outdated, comment_only: false };
        let mut whole = memory.clone();
        posted(&review, &mut whole);
        prop_assert_eq!(shown(&plan(&review.posting(), &whole.standing)), Vec::<String>::new());
        let begun = plan(&review.posting(), &memory.standing);
        for write in begun.writes.iter().take(stop) {
            memory.write(write);
        }
        posted(&review, &mut memory);
        prop_assert_eq!(memory.seen(), whole.seen());
        prop_assert_eq!(shown(&plan(&review.posting(), &memory.standing)), Vec::<String>::new());
    }
}

#[test]
fn issues_that_share_a_title_nearby_stand_in_conversations_of_their_own() {
    let mut review = Review::new(&[10, 11]);
    for issue in &mut review.report.issues {
        issue.title = "Same words".to_owned();
    }
    let mut memory = Memory::new(fresh());
    posted(&review, &mut memory);
    assert_eq!(memory.standing.threads.len(), 2);
    review.report.issues.push(issue(3, 12));
    review.report.issues[2].title = "Same words".to_owned();
    assert_eq!(shown(&plan(&review.posting(), &memory.standing))[0], "review 3");
}

#[test]
fn a_no_outlives_the_line_that_it_was_said_about() {
    let mut memory = Memory::new(fresh());
    let mut first = Review::new(&[20, 60]);
    for issue in &mut first.report.issues {
        issue.title = "`x < y` fails & @ann pays".to_owned();
    }
    posted(&first, &mut memory);
    memory.standing.threads[1].comments.push(reply(Association::Member));
    for thread in &mut memory.standing.threads {
        (thread.outdated, thread.line) = (true, None);
    }
    let check = |line: u32, severity: &str, expected: &[&str]| {
        let mut second = Review::new(&[line]);
        second.report.issues[0].title.clone_from(&first.report.issues[0].title);
        second.report.issues[0].severity =
            serde_json::from_value(serde_json::json!(severity)).unwrap();
        second.terms.resolve_outdated = true;
        let plan = plan(&second.posting(), &memory.standing);
        let skipped: Vec<String> = plan.skipped.iter().map(|(_, why)| why.to_string()).collect();
        assert_eq!(skipped, expected, "line {line}");
        assert!(!shown(&plan)[0].starts_with("review"), "{:?}", shown(&plan));
    };
    // The nearer one is meant; the other has not been contradicted.
    check(57, "P1", &["dismissed by dev"]);
    check(25, "P1", &["it stands already"]);
    check(57, "P0", &["it stands already"]);
}

#[test]
fn a_conversation_whose_issue_was_only_held_back_is_not_resolved() {
    let mut memory = Memory::new(fresh());
    let mut first = Review::new(&[20]);
    first.report.issues[0].title = "a < b, says @ann with hunter2".to_owned();
    posted(&first, &mut memory);
    (memory.standing.threads[0].outdated, memory.standing.threads[0].line) = (true, None);
    let mut second = Review::new(&[]);
    second.terms.resolve_outdated = true;
    let resolves = |review: &Review| {
        shown(&plan(&review.posting(), &memory.standing)).iter().any(|it| it.starts_with("resolve"))
    };
    assert!(resolves(&second));
    second.report.pre_existing.push(issue(1, 50));
    second.report.pre_existing[0].title.clone_from(&first.report.issues[0].title);
    assert!(!resolves(&second));
}

#[test]
fn an_approval_is_withdrawn_when_the_verdict_falls_and_is_not_forced_upon_anybody() {
    let mut good = Review::new(&[]);
    good.terms.votes = Votes { request_changes: false, approve: true };
    let mut memory = Memory::new(fresh());
    posted(&good, &mut memory);
    let id = memory.standing.reviews[0].id;
    // Somebody has said no to it at this head.
    let mut dismissed = memory.clone();
    dismissed.standing.reviews[0].state = "DISMISSED".to_owned();
    assert_eq!(shown(&plan(&good.posting(), &dismissed.standing)), Vec::<String>::new());
    // Another program that uses the account has approved, too.
    memory.standing.reviews[0].body = format!("{}\n", memory.standing.reviews[0].body);
    let mut foreign = memory.standing.reviews[0].clone();
    (foreign.id, foreign.body) = (id + 1, "LGTM".to_owned());
    memory.standing.reviews.push(foreign);
    let mut bad = Review::new(&[10]);
    bad.terms.votes.request_changes = true;
    assert_eq!(shown(&plan(&bad.posting(), &memory.standing))[1], "vote REQUEST_CHANGES");
    bad.terms.votes.request_changes = false;
    let mut only = Review::new(&[10]);
    only.terms.comment_only = true;
    let only = plan(&only.posting(), &memory.standing);
    assert!(only.writes[0].request.body.to_string().contains("still approves"), "{only:?}");
    let plan = posted(&bad, &mut memory);
    assert_eq!(shown(&plan)[..2], ["review 1".to_owned(), format!("withdraw {id}")]);
    assert!(!summary(&memory).contains("still approves"));
    assert_eq!(shown(&posted(&bad, &mut memory)), Vec::<String>::new());
}

#[test]
fn what_is_not_wholly_read_is_not_posted_to() {
    let standing = Standing { unread: vec!["comments".to_owned()], ..fresh() };
    let plan = plan(&Review::new(&[10]).posting(), &standing);
    let expected = "not everything that stands on the pull request could be read: comments";
    assert_eq!(plan.refusal.map(|it| it.to_string()).as_deref(), Some(expected));
    assert_eq!(plan.writes, vec![]);
}

#[test]
fn a_review_that_was_begun_is_submitted_if_it_is_this_one() {
    let review = Review::new(&[10]);
    let mut memory = Memory::new(fresh());
    posted(&review, &mut memory);
    memory.unsubmit();
    let id = memory.standing.reviews[0].id;
    assert_eq!(shown(&posted(&review, &mut memory)), [format!("submit {id}")]);
    assert_eq!(shown(&posted(&review, &mut memory)), Vec::<String>::new());
    memory.unsubmit();
    memory.standing.reviews[0].body = "My own thoughts".to_owned();
    let other = plan(&review.posting(), &memory.standing);
    assert_eq!((other.refusal, other.writes), (Some(Refusal::Unsubmitted), vec![]));
}

#[test]
fn a_report_that_cannot_be_hidden_in_part_is_not_posted() {
    let review = Review::new(&[10]);
    let mask = |text: &str| text.replace("bug", "***");
    let posting = Posting { mask: &mask, ..review.posting() };
    let plan = plan(&posting, &fresh());
    assert_eq!((plan.refusal, plan.writes.len()), (Some(Refusal::Hidden), 0));
}
