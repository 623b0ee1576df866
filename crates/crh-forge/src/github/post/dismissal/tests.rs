//! What counts as a no, and whose.

use super::*;
use crate::github::{Account, Association, InlineThread};

#[test]
fn a_reply_says_no_if_it_begins_with_a_phrase_and_ends_or_explains() {
    for said in [
        "won't fix",
        "Won’t fix.",
        "WONTFIX",
        "Not a bug: the lock is held.",
        "False positive - see the caller",
        "false positive -- see the caller",
        "by design, the caller checks",
        "Intended!",
        "intentional",
        "works as intended. The test shows it.",
        "not an issue because the list is never empty",
        "as designed since 2019",
        "dismiss",
        "/crh dismiss",
        "/crh dismiss the caller holds the lock",
        "> The list may be empty.\n\nNot a bug.",
        "  **False positive**: see above",
        "not a bug (the caller checks)",
        "false positive, see https://forge.example/search?q=lock for the callers",
    ] {
        assert!(says_no(said), "{said}");
    }
}

#[test]
fn nothing_else_says_no() {
    for said in [
        "",
        "thanks",
        "Good catch, fixed.",
        "not a bug?",
        "Is this by design?",
        "won't fix, right?",
        "this is not a bug in our code, but in theirs",
        "This is intended",
        "I think it's a false positive",
        "not a bug in our code, but please fix it",
        "Not a bug, but ugly.",
        "By design. However, it is wrong.",
        "intended behaviour would be to fail",
        "intended-looking",
        "not an issue for us yet",
        "by designing it so we lose data",
        "won't fix it today",
        "dismissed by whom",
        "not a bug. Or is it?",
        "> won't fix\n\nThat is no answer.",
        "/crh dismissal",
        "by design\n\nbut thanks",
        "false positives are rare",
        "won't fix, unless somebody complains",
        "not a bug since when?",
    ] {
        assert!(!says_no(said), "{said}");
    }
}

fn thread(replies: Vec<InlineComment>) -> InlineThread {
    let first = InlineComment {
        ours: true,
        by_bot: true,
        body: "**P1** A title\n\nWhy.\n\n<!-- crh:crh:00112233445566aa -->\n".to_owned(),
        url: "https://forge.example/1".to_owned(),
        ..InlineComment::default()
    };
    InlineThread {
        comments: std::iter::once(first).chain(replies).collect(),
        ..InlineThread::default()
    }
}

fn reply(author: &str, association: Association, body: &str) -> InlineComment {
    InlineComment {
        author: Some(author.to_owned()),
        association,
        body: body.to_owned(),
        url: "https://forge.example/2".to_owned(),
        ..InlineComment::default()
    }
}

fn standing(thread: InlineThread) -> Standing {
    let mut standing = Standing { threads: vec![thread], ..Standing::default() };
    standing.viewer = Account { id: 1, login: "reviewer[bot]".to_owned() };
    standing.pull.author = Some(Account { id: 2, login: "author".to_owned() });
    standing
}

fn check(standing: &Standing, expected: Option<(&str, How, bool)>) {
    let found = dismissals(standing, "crh");
    let found = found.first().map(|it| (it.by.as_str(), it.how, it.decides));
    assert_eq!(found, expected);
}

#[test]
fn who_decides_is_not_who_says_so() {
    let no = |author, association| reply(author, association, "not a bug");
    check(&standing(thread(vec![no("a", Association::Member)])), Some(("a", How::Reply, true)));
    check(
        &standing(thread(vec![no("a", Association::Contributor)])),
        Some(("a", How::Reply, false)),
    );
    check(
        &standing(thread(vec![no("author", Association::Stranger)])),
        Some(("author", How::Reply, true)),
    );
    let mut fork = standing(thread(vec![no("author", Association::Contributor)]));
    fork.pull.from_fork = true;
    check(&fork, Some(("author", How::Reply, false)));
    let both = vec![no("a", Association::Stranger), no("b", Association::Owner)];
    check(&standing(thread(both)), Some(("b", How::Reply, true)));
}

#[test]
fn programs_and_conversations_of_others_count_for_nothing() {
    let bot = InlineComment { by_bot: true, ..reply("a", Association::Member, "not a bug") };
    check(&standing(thread(vec![bot])), None);
    let mut foreign = thread(vec![reply("a", Association::Owner, "not a bug")]);
    foreign.comments[0].ours = false;
    check(&standing(foreign), None);
    let ours = thread(vec![reply("a", Association::Owner, "not a bug")]);
    assert_eq!(dismissals(&standing(ours), "other"), vec![]);
}

#[test]
fn a_person_who_uses_our_account_is_heard() {
    let mut by_us = reply("reviewer", Association::Owner, "won't fix");
    by_us.ours = true;
    check(&standing(thread(vec![by_us])), Some(("reviewer", How::Reply, true)));
}

#[test]
fn resolving_says_no_only_if_a_person_does_it_and_the_code_is_as_it_was() {
    let resolved = |by: &str, outdated| {
        let resolved_by = Some(by.to_owned());
        standing(InlineThread { resolved: true, resolved_by, outdated, ..thread(vec![]) })
    };
    check(&resolved("a", false), Some(("a", How::Resolved, true)));
    check(&resolved("a", true), None);
    check(&resolved("reviewer[bot]", false), None);
    check(&resolved("reviewer", false), None);
    check(&resolved("other[bot]", false), None);
    check(&resolved("author", false), Some(("author", How::Resolved, true)));
    let mut fork = resolved("author", false);
    fork.pull.from_fork = true;
    check(&fork, Some(("author", How::Resolved, false)));
    check(&standing(InlineThread { resolved: true, ..thread(vec![]) }), None);
}
