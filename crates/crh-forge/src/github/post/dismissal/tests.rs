//! Which replies dismiss an issue, and whose.

use super::*;
use crate::github::{Association, GitHubUser, InlineThread};

#[test]
fn phrase_with_optional_reason_dismisses() {
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
        assert!(is_dismissal(said), "{said}");
    }
}

#[test]
fn other_replies_do_not_dismiss() {
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
        "won't fix, unless users complain",
        "not a bug since when?",
    ] {
        assert!(!is_dismissal(said), "{said}");
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

fn standing(thread: InlineThread) -> PullRequestState {
    let mut pull_state = PullRequestState { threads: vec![thread], ..PullRequestState::default() };
    pull_state.viewer = GitHubUser { id: 1, login: "reviewer[bot]".to_owned() };
    pull_state.pull.author = Some(GitHubUser { id: 2, login: "author".to_owned() });
    pull_state
}

fn check(pull_state: &PullRequestState, expected: Option<(&str, DismissalMethod, bool)>) {
    let found = dismissals(pull_state, "crh");
    let found = found.first().map(|it| (it.by.as_str(), it.method, it.is_effective));
    assert_eq!(found, expected);
}

#[test]
fn only_trusted_roles_dismiss_effectively() {
    let no = |author, association| reply(author, association, "not a bug");
    check(
        &standing(thread(vec![no("a", Association::Member)])),
        Some(("a", DismissalMethod::Reply, true)),
    );
    check(
        &standing(thread(vec![no("a", Association::Contributor)])),
        Some(("a", DismissalMethod::Reply, false)),
    );
    check(
        &standing(thread(vec![no("author", Association::Stranger)])),
        Some(("author", DismissalMethod::Reply, true)),
    );
    let mut fork = standing(thread(vec![no("author", Association::Contributor)]));
    fork.pull.from_fork = true;
    check(&fork, Some(("author", DismissalMethod::Reply, false)));
    let both = vec![no("a", Association::Stranger), no("b", Association::Owner)];
    check(&standing(thread(both)), Some(("b", DismissalMethod::Reply, true)));
}

#[test]
fn bots_and_foreign_threads_are_ignored() {
    let bot = InlineComment { by_bot: true, ..reply("a", Association::Member, "not a bug") };
    check(&standing(thread(vec![bot])), None);
    let mut foreign = thread(vec![reply("a", Association::Owner, "not a bug")]);
    foreign.comments[0].ours = false;
    check(&standing(foreign), None);
    let ours = thread(vec![reply("a", Association::Owner, "not a bug")]);
    assert_eq!(dismissals(&standing(ours), "other"), vec![]);
}

#[test]
fn person_on_our_account_can_dismiss() {
    let mut by_us = reply("reviewer", Association::Owner, "won't fix");
    by_us.ours = true;
    check(&standing(thread(vec![by_us])), Some(("reviewer", DismissalMethod::Reply, true)));
}

#[test]
fn resolving_dismisses_only_by_person_without_code_change() {
    let resolved = |by: &str, outdated| {
        let resolved_by = Some(by.to_owned());
        standing(InlineThread { resolved: true, resolved_by, outdated, ..thread(vec![]) })
    };
    check(&resolved("a", false), Some(("a", DismissalMethod::Resolved, true)));
    check(&resolved("a", true), None);
    check(&resolved("reviewer[bot]", false), None);
    check(&resolved("reviewer", false), None);
    check(&resolved("other[bot]", false), None);
    check(&resolved("author", false), Some(("author", DismissalMethod::Resolved, true)));
    let mut fork = resolved("author", false);
    fork.pull.from_fork = true;
    check(&fork, Some(("author", DismissalMethod::Resolved, false)));
    check(&standing(InlineThread { resolved: true, ..thread(vec![]) }), None);
}
