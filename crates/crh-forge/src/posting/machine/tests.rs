//! After a failure at any write, posting again reaches the same final state.

use std::collections::BTreeSet;

use super::*;
use crate::forges::github::post::GitHubRules;
use crate::posting::AllowedVotes;
use crate::posting::tests_support::{InMemoryGitHub, ReviewFixture, fresh};
use crh_testkit::tries_case;

/// More steps than any posting of these tests takes.
const STEPS_MAX: usize = 200;

/// Failure at one of the writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    None,
    /// The answer is lost; the write is not applied.
    CutBefore,
    /// The answer is lost; the write is applied.
    CutAfter,
    /// The program ends before the write.
    KilledBefore,
    /// The program ends after the write and before the answer.
    KilledAfter,
    /// A server error.
    Failed,
    /// Missing permission.
    Forbidden,
}

const FAULTS: [Fault; 6] = [
    Fault::CutBefore,
    Fault::CutAfter,
    Fault::KilledBefore,
    Fault::KilledAfter,
    Fault::Failed,
    Fault::Forbidden,
];

/// Posts a review. Returns the outcome, unless the program was killed, and the number of writes.
fn post(
    review: &ReviewFixture,
    memory: &mut InMemoryGitHub,
    fault_at: impl Fn(usize) -> Fault,
) -> (Option<PostingOutcome>, usize) {
    let mut machine = PostingMachine::new(&GitHubRules, review.posting());
    let mut writes = 0;
    for _ in 0..STEPS_MAX {
        let write = match machine.next() {
            PostingStep::Read { .. } => {
                machine.record_state(memory.proposal_state.clone());
                continue;
            }
            PostingStep::Done(outcome) => return (Some(outcome), writes),
            PostingStep::Write(write) => write,
        };
        let fault = fault_at(writes);
        writes += 1;
        let answer = match fault {
            Fault::None => memory.write(&write),
            Fault::CutBefore => WriteAnswer::Unconfirmed("the connection broke".to_owned()),
            Fault::CutAfter => {
                memory.write(&write);
                WriteAnswer::Unconfirmed("the connection broke".to_owned())
            }
            Fault::KilledBefore => return (None, writes),
            Fault::KilledAfter => {
                memory.write(&write);
                return (None, writes);
            }
            Fault::Failed => WriteAnswer::Failed("GitHub is down".to_owned()),
            Fault::Forbidden => WriteAnswer::Forbidden("a permission is missing".to_owned()),
        };
        machine.record_answer(answer);
    }
    panic!("a posting does not end");
}

fn memory(bad: &[u64]) -> InMemoryGitHub {
    let mut memory = InMemoryGitHub::new(fresh());
    post(&ReviewFixture::new(&[3, 10, 90]), &mut memory, |_| Fault::None);
    for thread in &mut memory.proposal_state.threads {
        if thread.line == Some(90) {
            thread.outdated = true;
            thread.line = None;
        }
    }
    memory.proposal_state.properties.head = "h2".to_owned();
    memory.bad_lines = bad.iter().copied().collect::<BTreeSet<_>>();
    memory
}

fn review(lines: &[u32]) -> ReviewFixture {
    let mut review = ReviewFixture::new(lines);
    review.report.change.head_sha = "h2".to_owned();
    review.options.resolve_outdated = true;
    review.options.votes = AllowedVotes { request_changes: true, approve: true };
    review
}

fn post_without_faults(
    review: &ReviewFixture,
    before: &InMemoryGitHub,
) -> (InMemoryGitHub, PostingOutcome, usize) {
    let mut memory = before.clone();
    let (outcome, writes) = post(review, &mut memory, |_| Fault::None);
    (memory, outcome.unwrap(), writes)
}

/// Posts a review with issues on these lines with a fault at a write, and then again. GitHub refuses
/// comments on lines 17 and 33. `is_tried` selects faults by the write and by the fault's index.
fn check_faults(lines: &[u32], is_tried: impl Fn(usize, usize) -> bool) {
    let review = review(lines);
    let before = memory(&[17, 33]);
    let (expected, outcome, writes) = post_without_faults(&review, &before);
    assert!(outcome.is_complete() && writes > 10, "{writes} {outcome:?}");
    for (choice, fault) in FAULTS.into_iter().enumerate() {
        for at in (0..writes).filter(|at| is_tried(*at, choice)) {
            let mut memory = before.clone();
            post(&review, &mut memory, |write| if write == at { fault } else { Fault::None });
            let (outcome, _) = post(&review, &mut memory, |_| Fault::None);
            assert!(outcome.unwrap().is_complete(), "{fault:?} at {at}");
            assert_eq!(memory.visible_content(), expected.visible_content(), "{fault:?} at {at}");
            let (_, writes) = post(&review, &mut memory, |_| Fault::None);
            assert_eq!(writes, 0, "{fault:?} at {at}: a third posting has nothing to do");
        }
    }
}

#[test]
fn fault_at_any_write_then_repost_gives_same_state() {
    check_faults(&[10, 11, 12, 13, 17, 20, 21, 33, 150], |_, _| true);
    // More comments than one batch takes. Each case plans sixty comments a dozen times.
    let lines: Vec<u32> = (10..=70).chain([150]).collect();
    check_faults(&lines, |at, choice| tries_case(at, choice, FAULTS.len()));
}

#[test]
fn lost_answer_is_resolved_in_same_posting() {
    let review = review(&[10, 20, 30]);
    let before = memory(&[]);
    let (expected, _, writes) = post_without_faults(&review, &before);
    for fault in [Fault::CutBefore, Fault::CutAfter] {
        for at in 0..writes {
            let mut memory = before.clone();
            let (outcome, _) =
                post(&review, &mut memory, |write| if write == at { fault } else { Fault::None });
            assert!(outcome.unwrap().is_complete(), "{fault:?} at {at}");
            assert_eq!(memory.visible_content(), expected.visible_content(), "{fault:?} at {at}");
        }
    }
}

#[test]
fn one_bad_position_moves_one_issue_to_summary() {
    let lines: Vec<u32> = (11..=50).collect();
    let review = review(&lines);
    let (memory, outcome, writes) = post_without_faults(&review, &memory(&[17]));
    assert!(writes < 16, "{writes}");
    let count_issues = |delivery: &ItemDelivery| {
        let matches = |receipt: &&PostingReceipt| {
            matches!(receipt.item, PostedItem::Issue { .. }) && receipt.delivery == *delivery
        };
        outcome.receipts.iter().filter(matches).count()
    };
    assert_eq!(count_issues(&ItemDelivery::Posted), 39);
    let why = "only in the summary: GitHub refused a comment on its line";
    assert_eq!(count_issues(&ItemDelivery::Skipped(why.to_owned())), 1);
    let summary = &memory.proposal_state.comments[0].body;
    assert!(summary.contains("<summary>7. P1: Trouble 17</summary>"), "{summary}");
}

#[test]
fn other_refusals_do_not_split_the_review() {
    let check = |state: &str, expected: &[&str]| {
        let review = review(&[20, 30]);
        let mut memory = memory(&[]);
        memory.refused_states.insert(state.to_owned(), "not permitted".to_owned());
        let (outcome, writes) = post(&review, &mut memory, |_| Fault::None);
        let outcome = outcome.unwrap();
        let deliveries: Vec<String> =
            outcome.receipts.iter().map(|receipt| format!("{:?}", receipt.delivery)).collect();
        assert_eq!(deliveries, expected, "{state}");
        assert!(writes <= 5, "{writes}");
        assert!(!memory.proposal_state.comments[0].body.contains("GitHub refused"));
    };
    check(
        "CHANGES_REQUESTED",
        &["Posted", "Posted", "Skipped(\"not permitted\")", "Updated", "Updated"],
    );
    let summary = "Skipped(\"only in the summary: not permitted\")";
    check("COMMENTED", &[summary, summary, "Skipped(\"not permitted\")", "Updated", "Updated"]);
}

#[test]
fn moved_head_after_refusal_stops_posting() {
    let review = review(&[10, 20]);
    let mut proposal_state = memory(&[]).proposal_state;
    for answer in
        [WriteAnswer::Refused("gone".to_owned()), WriteAnswer::Misplaced("line".to_owned())]
    {
        let mut machine = PostingMachine::new(&GitHubRules, review.posting());
        proposal_state.properties.head = "h2".to_owned();
        machine.record_state(proposal_state.clone());
        machine.record_answer(answer);
        assert_eq!(machine.next(), PostingStep::Read { reread: 0 });
        proposal_state.properties.head = "h3".to_owned();
        machine.record_state(proposal_state.clone());
        let PostingStep::Done(outcome) = machine.next() else { panic!("it goes on") };
        assert!(matches!(outcome.refusal, Some(PostingRefusal::HeadMoved { .. })), "{outcome:?}");
    }
}

#[test]
fn missing_review_permission_moves_all_to_summary() {
    let review = review(&[10, 20, 30]);
    let mut memory = memory(&[]);
    let (outcome, writes) =
        post(&review, &mut memory, |write| if write == 0 { Fault::Forbidden } else { Fault::None });
    let outcome = outcome.unwrap();
    assert_eq!(writes, 3, "the review, the summary, the outdated conversation");
    assert_eq!(outcome.notes, ["no inline comments were posted: a permission is missing"]);
    let summary = &memory.proposal_state.comments[0].body;
    assert!(
        summary.contains("No inline comments were posted: a permission is missing."),
        "{summary}"
    );
    assert_eq!(summary.matches("<details>").count(), 2, "{summary}");
    assert_eq!(memory.proposal_state.threads.len(), 3);
}

#[test]
fn posting_ends_if_all_positions_are_refused() {
    let lines: Vec<u32> = (11..=80).collect();
    let bad_lines: Vec<u64> = (1..=100).collect();
    let (memory, outcome, writes) = post_without_faults(&review(&lines), &memory(&bad_lines));
    assert!(writes < 60, "{writes}");
    assert!(outcome.is_complete(), "{outcome:?}");
    assert_eq!(memory.proposal_state.comments[0].body.matches("<details>").count(), 70);
}

#[test]
fn posting_fails_if_no_write_is_answered() {
    let mut memory = memory(&[]);
    let (outcome, writes) = post(&review(&[10, 20]), &mut memory, |_| Fault::CutBefore);
    let outcome = outcome.unwrap();
    assert!(!outcome.is_complete() && writes <= 6, "{writes} {outcome:?}");
    let has_failed = |item: &PostedItem| {
        let receipt = outcome.receipts.iter().find(|receipt| receipt.item == *item);
        matches!(receipt.map(|receipt| &receipt.delivery), Some(ItemDelivery::Failed(_)))
    };
    assert!(has_failed(&PostedItem::Summary), "{outcome:?}");
    assert!(
        has_failed(&PostedItem::Issue { number: 2, key: format!("{:016x}", 20) }),
        "{outcome:?}"
    );
}

#[test]
fn moved_head_while_posting_stops_posting() {
    let review = review(&[10, 20]);
    let mut machine = PostingMachine::new(&GitHubRules, review.posting());
    let mut proposal_state = memory(&[]).proposal_state;
    machine.record_state(proposal_state.clone());
    machine.record_answer(WriteAnswer::Unconfirmed("the connection broke".to_owned()));
    proposal_state.properties.head = "h3".to_owned();
    machine.record_state(proposal_state);
    let PostingStep::Done(outcome) = machine.next() else { panic!("it goes on") };
    assert!(matches!(outcome.refusal, Some(PostingRefusal::HeadMoved { .. })), "{outcome:?}");
}

/// Posts with a lost answer to write number `lost_answer`. The write becomes visible at reread
/// number `visible_at`.
fn post_with_lag(
    lost_answer: usize,
    visible_at: u32,
) -> (InMemoryGitHub, PostingOutcome, Vec<u32>) {
    let review = review(&[10, 20, 30]);
    let mut memory = memory(&[]);
    let mut before = memory.proposal_state.clone();
    let mut machine = PostingMachine::new(&GitHubRules, review.posting());
    let (mut writes, mut rereads) = (0, Vec::new());
    for _ in 0..STEPS_MAX {
        match machine.next() {
            PostingStep::Read { reread } if reread > 0 && reread < visible_at => {
                rereads.push(reread);
                machine.record_state(before.clone());
            }
            PostingStep::Read { reread } => {
                rereads.push(reread);
                machine.record_state(memory.proposal_state.clone());
            }
            PostingStep::Done(outcome) => return (memory, outcome, rereads),
            PostingStep::Write(write) => {
                if writes == lost_answer {
                    before = memory.proposal_state.clone();
                }
                let answer = memory.write(&write);
                let is_lost = writes == lost_answer;
                writes += 1;
                machine.record_answer(if is_lost {
                    WriteAnswer::Unconfirmed("cut".to_owned())
                } else {
                    answer
                });
            }
        }
    }
    panic!("a posting does not end");
}

#[test]
fn late_visible_write_is_not_repeated() {
    let (expected, _, writes) = post_without_faults(&review(&[10, 20, 30]), &memory(&[]));
    for lost_answer in 0..writes {
        let (memory, outcome, rereads) = post_with_lag(lost_answer, 2);
        assert!(outcome.is_complete(), "write {lost_answer}: {outcome:?}");
        assert_eq!(memory.visible_content(), expected.visible_content(), "write {lost_answer}");
        assert!(rereads.len() <= 3, "write {lost_answer}: {rereads:?}");
    }
    let (memory, _, rereads) = post_with_lag(0, 2);
    assert_eq!(rereads, [0, 1, 2]);
    assert_eq!((memory.proposal_state.threads.len(), memory.proposal_state.comments.len()), (5, 1));
}

#[test]
fn posting_fails_if_state_keeps_changing() {
    let review = review(&[10, 20, 30]);
    let before = memory(&[]);
    let mut machine = PostingMachine::new(&GitHubRules, review.posting());
    machine.record_state(before.proposal_state.clone());
    machine.record_answer(WriteAnswer::Unconfirmed("the connection broke".to_owned()));
    for reread in 1..=REREADS_MAX {
        assert_eq!(machine.next(), PostingStep::Read { reread });
        let mut proposal_state = before.proposal_state.clone();
        proposal_state.comments[0].body = format!("{}\n{reread}", proposal_state.comments[0].body);
        proposal_state.threads.truncate(3 - usize::try_from(reread).unwrap());
        machine.record_state(proposal_state);
    }
    let PostingStep::Done(outcome) = machine.next() else { panic!("it goes on") };
    assert!(!outcome.is_complete(), "{outcome:?}");
}

#[test]
fn unconfirmed_write_fails_if_state_is_unreadable() {
    let review = review(&[10, 20, 150]);
    let mut memory = memory(&[]);
    let mut machine = PostingMachine::new(&GitHubRules, review.posting());
    machine.record_state(memory.proposal_state.clone());
    for _ in ["the comments", "the vote"] {
        let PostingStep::Write(write) = machine.next() else { panic!("nothing to write") };
        machine.record_answer(memory.write(&write));
    }
    machine.record_answer(WriteAnswer::Unconfirmed("the connection broke".to_owned()));
    assert_eq!(machine.next(), PostingStep::Read { reread: 1 });
    machine.record_read_failure("GitHub is down");
    let PostingStep::Done(outcome) = machine.next() else { panic!("it goes on") };
    let has_failed = |item: &PostingReceipt| matches!(item.delivery, ItemDelivery::Failed(_));
    let failed_items: Vec<&PostedItem> = outcome
        .receipts
        .iter()
        .filter(|receipt| has_failed(receipt))
        .map(|receipt| &receipt.item)
        .collect();
    assert_eq!(
        failed_items.len(),
        3,
        "the summary, the issue in it, the conversation: {failed_items:?}"
    );
    assert!(failed_items.contains(&&PostedItem::Summary), "{failed_items:?}");
}

#[test]
fn posting_stopped_after_submit_is_incomplete() {
    let review = ReviewFixture::new(&[10]);
    let mut memory = InMemoryGitHub::new(fresh());
    post(&review, &mut memory, |write| if write == 0 { Fault::None } else { Fault::KilledBefore });
    memory.unsubmit();
    let mut machine = PostingMachine::new(&GitHubRules, review.posting());
    machine.record_state(memory.proposal_state.clone());
    let PostingStep::Write(write) = machine.next() else { panic!("nothing to write") };
    machine.record_answer(memory.write(&write));
    assert_eq!(machine.next(), PostingStep::Read { reread: 1 });
    machine.record_read_failure("GitHub is down");
    let PostingStep::Done(outcome) = machine.next() else { panic!("it goes on") };
    assert!(!outcome.is_complete(), "{outcome:?}");
    let (outcome, _) = post(&review, &mut memory, |_| Fault::None);
    assert!(outcome.unwrap().is_complete());
    assert_eq!((memory.proposal_state.threads.len(), memory.proposal_state.comments.len()), (1, 1));
}
