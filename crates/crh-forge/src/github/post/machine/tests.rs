//! Whatever goes wrong at whichever write: posting again ends in the state that it would have ended in.

use std::collections::BTreeSet;

use super::super::Votes;
use super::super::tests_support::{Memory, Review, fresh};
use super::*;

/// More steps than any posting of these tests takes.
const STEPS_MAX: usize = 200;

/// What goes wrong at one of the writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    /// Nothing.
    None,
    /// The answer is lost; the write is not applied.
    CutBefore,
    /// The answer is lost; the write is applied.
    CutAfter,
    /// The program ends before the write.
    KilledBefore,
    /// The program ends after the write and before the answer.
    KilledAfter,
    /// GitHub is not able to.
    Failed,
    /// We may not.
    Forbidden,
}

/// Posts a review; the outcome unless the program was killed, and how many writes were sent.
fn post(
    review: &Review,
    memory: &mut Memory,
    fault_at: impl Fn(usize) -> Fault,
) -> (Option<Outcome>, usize) {
    let mut carrying = Carrying::new(review.posting());
    let mut writes = 0;
    for _ in 0..STEPS_MAX {
        let write = match carrying.next() {
            Step::Read { .. } => {
                carrying.read(memory.standing.clone());
                continue;
            }
            Step::Done(outcome) => return (Some(outcome), writes),
            Step::Write(write) => write,
        };
        let fault = fault_at(writes);
        writes += 1;
        let answer = match fault {
            Fault::None => memory.write(&write),
            Fault::CutBefore => Answer::Unsure("the connection broke".to_owned()),
            Fault::CutAfter => {
                memory.write(&write);
                Answer::Unsure("the connection broke".to_owned())
            }
            Fault::KilledBefore => return (None, writes),
            Fault::KilledAfter => {
                memory.write(&write);
                return (None, writes);
            }
            Fault::Failed => Answer::Failed("GitHub is down".to_owned()),
            Fault::Forbidden => Answer::Forbidden("a permission is missing".to_owned()),
        };
        carrying.answered(answer);
    }
    panic!("a posting does not end");
}

fn memory(bad: &[u64]) -> Memory {
    let mut memory = Memory::new(fresh());
    post(&Review::new(&[3, 10, 90]), &mut memory, |_| Fault::None);
    for thread in &mut memory.standing.threads {
        if thread.line == Some(90) {
            thread.outdated = true;
            thread.line = None;
        }
    }
    memory.standing.pull.head = "h2".to_owned();
    memory.bad_lines = bad.iter().copied().collect::<BTreeSet<_>>();
    memory
}

fn review(lines: &[u32]) -> Review {
    let mut review = Review::new(lines);
    review.report.change.head_sha = "h2".to_owned();
    review.terms.resolve_outdated = true;
    review.terms.votes = Votes { request_changes: true, approve: true };
    review
}

fn clean(review: &Review, before: &Memory) -> (Memory, Outcome, usize) {
    let mut memory = before.clone();
    let (outcome, writes) = post(review, &mut memory, |_| Fault::None);
    (memory, outcome.unwrap(), writes)
}

#[test]
fn a_fault_at_any_write_and_a_second_posting_end_in_the_same_state() {
    let lines: Vec<u32> = (10..=70).chain([150]).collect();
    let review = review(&lines);
    let before = memory(&[17, 33]);
    let (expected, outcome, writes) = clean(&review, &before);
    assert!(outcome.is_complete() && writes > 10, "{writes} {outcome:?}");
    for fault in [
        Fault::CutBefore,
        Fault::CutAfter,
        Fault::KilledBefore,
        Fault::KilledAfter,
        Fault::Failed,
        Fault::Forbidden,
    ] {
        for at in 0..writes {
            let mut memory = before.clone();
            post(&review, &mut memory, |write| if write == at { fault } else { Fault::None });
            let (outcome, _) = post(&review, &mut memory, |_| Fault::None);
            assert!(outcome.unwrap().is_complete(), "{fault:?} at {at}");
            assert_eq!(memory.seen(), expected.seen(), "{fault:?} at {at}");
            let (_, writes) = post(&review, &mut memory, |_| Fault::None);
            assert_eq!(writes, 0, "{fault:?} at {at}: a third posting has nothing to do");
        }
    }
}

#[test]
fn a_lost_answer_is_settled_in_the_same_posting() {
    let review = review(&[10, 20, 30]);
    let before = memory(&[]);
    let (expected, _, writes) = clean(&review, &before);
    for fault in [Fault::CutBefore, Fault::CutAfter] {
        for at in 0..writes {
            let mut memory = before.clone();
            let (outcome, _) =
                post(&review, &mut memory, |write| if write == at { fault } else { Fault::None });
            assert!(outcome.unwrap().is_complete(), "{fault:?} at {at}");
            assert_eq!(memory.seen(), expected.seen(), "{fault:?} at {at}");
        }
    }
}

#[test]
fn one_bad_place_among_forty_goes_to_the_summary_and_the_others_onto_their_lines() {
    let lines: Vec<u32> = (11..=50).collect();
    let review = review(&lines);
    let (memory, outcome, writes) = clean(&review, &memory(&[17]));
    assert!(writes < 16, "{writes}");
    let of = |delivery: &Delivery| {
        let is = |receipt: &&Receipt| {
            matches!(receipt.item, Item::Issue { .. }) && receipt.delivery == *delivery
        };
        outcome.receipts.iter().filter(is).count()
    };
    assert_eq!(of(&Delivery::Posted), 39);
    let why = "it is in the summary: GitHub refused a comment on its line";
    assert_eq!(of(&Delivery::Skipped(why.to_owned())), 1);
    let summary = &memory.standing.comments[0].body;
    assert!(summary.contains("<summary>7. P1: Trouble 17</summary>"), "{summary}");
}

#[test]
fn a_refusal_that_is_not_about_places_costs_no_comment_its_line() {
    let check = |state: &str, expected: &[&str]| {
        let review = review(&[20, 30]);
        let mut memory = memory(&[]);
        memory.refuses.insert(state.to_owned(), "not permitted".to_owned());
        let (outcome, writes) = post(&review, &mut memory, |_| Fault::None);
        let outcome = outcome.unwrap();
        let shown: Vec<String> =
            outcome.receipts.iter().map(|it| format!("{:?}", it.delivery)).collect();
        assert_eq!(shown, expected, "{state}");
        assert!(writes <= 5, "{writes}");
        assert!(!memory.standing.comments[0].body.contains("GitHub refused"));
    };
    check(
        "CHANGES_REQUESTED",
        &["Posted", "Posted", "Skipped(\"not permitted\")", "Updated", "Updated"],
    );
    let summary = "Skipped(\"it is in the summary: not permitted\")";
    check("COMMENTED", &[summary, summary, "Skipped(\"not permitted\")", "Updated", "Updated"]);
}

#[test]
fn a_head_that_moved_before_a_refusal_ends_it() {
    let review = review(&[10, 20]);
    let mut standing = memory(&[]).standing;
    for answer in [Answer::Refused("gone".to_owned()), Answer::Misplaced("line".to_owned())] {
        let mut carrying = Carrying::new(review.posting());
        standing.pull.head = "h2".to_owned();
        carrying.read(standing.clone());
        carrying.answered(answer);
        assert_eq!(carrying.next(), Step::Read { look: 0 });
        standing.pull.head = "h3".to_owned();
        carrying.read(standing.clone());
        let Step::Done(outcome) = carrying.next() else { panic!("it goes on") };
        assert!(matches!(outcome.refusal, Some(Refusal::HeadMoved { .. })), "{outcome:?}");
    }
}

#[test]
fn without_the_permission_for_reviews_everything_is_in_the_summary() {
    let review = review(&[10, 20, 30]);
    let mut memory = memory(&[]);
    let (outcome, writes) =
        post(&review, &mut memory, |write| if write == 0 { Fault::Forbidden } else { Fault::None });
    let outcome = outcome.unwrap();
    assert_eq!(writes, 3, "the review, the summary, the outdated conversation");
    assert_eq!(outcome.notes, ["no comments on lines were posted: a permission is missing"]);
    let summary = &memory.standing.comments[0].body;
    assert!(
        summary.contains("No comments on lines were posted: a permission is missing."),
        "{summary}"
    );
    assert_eq!(summary.matches("<details>").count(), 2, "{summary}");
    assert_eq!(memory.standing.threads.len(), 3);
}

#[test]
fn a_github_that_refuses_everything_is_not_asked_without_end() {
    let lines: Vec<u32> = (11..=80).collect();
    let all: Vec<u64> = (1..=100).collect();
    let (memory, outcome, writes) = clean(&review(&lines), &memory(&all));
    assert!(writes < 60, "{writes}");
    assert!(outcome.is_complete(), "{outcome:?}");
    assert_eq!(memory.standing.comments[0].body.matches("<details>").count(), 70);
}

#[test]
fn a_github_that_never_answers_is_given_up_and_nothing_counts_as_posted() {
    let mut memory = memory(&[]);
    let (outcome, writes) = post(&review(&[10, 20]), &mut memory, |_| Fault::CutBefore);
    let outcome = outcome.unwrap();
    assert!(!outcome.is_complete() && writes <= 6, "{writes} {outcome:?}");
    let failed = |item: &Item| {
        let found = outcome.receipts.iter().find(|receipt| receipt.item == *item);
        matches!(found.map(|it| &it.delivery), Some(Delivery::Failed(_)))
    };
    assert!(failed(&Item::Summary), "{outcome:?}");
    assert!(failed(&Item::Issue { number: 2, key: format!("{:016x}", 20) }), "{outcome:?}");
}

#[test]
fn a_head_that_moves_while_posting_ends_it() {
    let review = review(&[10, 20]);
    let mut carrying = Carrying::new(review.posting());
    let mut standing = memory(&[]).standing;
    carrying.read(standing.clone());
    carrying.answered(Answer::Unsure("the connection broke".to_owned()));
    standing.pull.head = "h3".to_owned();
    carrying.read(standing);
    let Step::Done(outcome) = carrying.next() else { panic!("it goes on") };
    assert!(matches!(outcome.refusal, Some(Refusal::HeadMoved { .. })), "{outcome:?}");
}

/// Posts with the answer to the `cut`th write lost; what it wrote is shown by the `shown`th look after it and not before.
fn post_with_lag(cut: usize, shown: u32) -> (Memory, Outcome, Vec<u32>) {
    let review = review(&[10, 20, 30]);
    let mut memory = memory(&[]);
    let mut before = memory.standing.clone();
    let mut carrying = Carrying::new(review.posting());
    let (mut writes, mut looks) = (0, Vec::new());
    for _ in 0..STEPS_MAX {
        match carrying.next() {
            Step::Read { look } if look > 0 && look < shown => {
                looks.push(look);
                carrying.read(before.clone());
            }
            Step::Read { look } => {
                looks.push(look);
                carrying.read(memory.standing.clone());
            }
            Step::Done(outcome) => return (memory, outcome, looks),
            Step::Write(write) => {
                if writes == cut {
                    before = memory.standing.clone();
                }
                let answer = memory.write(&write);
                let is_cut = writes == cut;
                writes += 1;
                carrying.answered(if is_cut { Answer::Unsure("cut".to_owned()) } else { answer });
            }
        }
    }
    panic!("a posting does not end");
}

#[test]
fn a_github_that_shows_a_write_late_does_not_get_it_twice() {
    let (expected, _, writes) = clean(&review(&[10, 20, 30]), &memory(&[]));
    for cut in 0..writes {
        let (memory, outcome, looks) = post_with_lag(cut, 2);
        assert!(outcome.is_complete(), "write {cut}: {outcome:?}");
        assert_eq!(memory.seen(), expected.seen(), "write {cut}");
        assert!(looks.len() <= 3, "write {cut}: {looks:?}");
    }
    let (memory, _, looks) = post_with_lag(0, 2);
    assert_eq!(looks, [0, 1, 2]);
    assert_eq!((memory.standing.threads.len(), memory.standing.comments.len()), (5, 1));
}

#[test]
fn a_github_that_says_something_else_at_each_look_is_given_up() {
    let review = review(&[10, 20, 30]);
    let before = memory(&[]);
    let mut carrying = Carrying::new(review.posting());
    carrying.read(before.standing.clone());
    carrying.answered(Answer::Unsure("the connection broke".to_owned()));
    for look in 1..=LOOKS_MAX {
        assert_eq!(carrying.next(), Step::Read { look });
        let mut standing = before.standing.clone();
        standing.comments[0].body = format!("{}\n{look}", standing.comments[0].body);
        standing.threads.truncate(3 - usize::try_from(look).unwrap());
        carrying.read(standing);
    }
    let Step::Done(outcome) = carrying.next() else { panic!("it goes on") };
    assert!(!outcome.is_complete(), "{outcome:?}");
}

#[test]
fn what_was_left_open_and_cannot_be_looked_at_has_failed() {
    let review = review(&[10, 20, 150]);
    let mut memory = memory(&[]);
    let mut carrying = Carrying::new(review.posting());
    carrying.read(memory.standing.clone());
    for _ in ["the comments", "the vote"] {
        let Step::Write(write) = carrying.next() else { panic!("nothing to write") };
        carrying.answered(memory.write(&write));
    }
    carrying.answered(Answer::Unsure("the connection broke".to_owned()));
    assert_eq!(carrying.next(), Step::Read { look: 1 });
    carrying.unreadable("GitHub is down");
    let Step::Done(outcome) = carrying.next() else { panic!("it goes on") };
    let failed = |item: &Receipt| matches!(item.delivery, Delivery::Failed(_));
    let failed: Vec<&Item> =
        outcome.receipts.iter().filter(|it| failed(it)).map(|it| &it.item).collect();
    assert_eq!(failed.len(), 3, "the summary, the issue in it, the conversation: {failed:?}");
    assert!(failed.contains(&&Item::Summary), "{failed:?}");
}

#[test]
fn a_posting_that_ends_after_a_submission_is_not_complete() {
    let review = Review::new(&[10]);
    let mut memory = Memory::new(fresh());
    post(&review, &mut memory, |write| if write == 0 { Fault::None } else { Fault::KilledBefore });
    memory.unsubmit();
    let mut carrying = Carrying::new(review.posting());
    carrying.read(memory.standing.clone());
    let Step::Write(write) = carrying.next() else { panic!("nothing to write") };
    carrying.answered(memory.write(&write));
    assert_eq!(carrying.next(), Step::Read { look: 1 });
    carrying.unreadable("GitHub is down");
    let Step::Done(outcome) = carrying.next() else { panic!("it goes on") };
    assert!(!outcome.is_complete(), "{outcome:?}");
    let (outcome, _) = post(&review, &mut memory, |_| Fault::None);
    assert!(outcome.unwrap().is_complete());
    assert_eq!((memory.standing.threads.len(), memory.standing.comments.len()), (1, 1));
}
