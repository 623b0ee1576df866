//! Which replies dismiss an issue, and whose.

use super::*;
use crate::posting::{Association, ForgeUser, InlineThread};

#[test]
fn phrase_with_optional_reason_dismisses() {
    for reply in [
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
        assert!(is_dismissal(reply), "{reply}");
    }
}

#[test]
fn other_replies_do_not_dismiss() {
    for reply in [
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
        assert!(!is_dismissal(reply), "{reply}");
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

fn pull_with_thread(thread: InlineThread) -> ProposalState {
    let mut proposal_state = ProposalState { threads: vec![thread], ..ProposalState::default() };
    proposal_state.viewer = Some(ForgeUser::new(1, "reviewer[bot]"));
    proposal_state.properties.author = Some(ForgeUser::new(2, "author"));
    proposal_state
}

fn check(proposal_state: &ProposalState, expected: Option<(&str, DismissalMethod, bool)>) {
    let dismissals = dismissals(proposal_state, "crh");
    let first_dismissal = dismissals
        .first()
        .map(|dismissal| (dismissal.by.as_str(), dismissal.method, dismissal.is_effective));
    assert_eq!(first_dismissal, expected);
}

#[test]
fn only_trusted_roles_dismiss_effectively() {
    let dismissal_by = |author, association| reply(author, association, "not a bug");
    check(
        &pull_with_thread(thread(vec![dismissal_by("a", Association::Member)])),
        Some(("a", DismissalMethod::Reply, true)),
    );
    check(
        &pull_with_thread(thread(vec![dismissal_by("a", Association::Contributor)])),
        Some(("a", DismissalMethod::Reply, false)),
    );
    check(
        &pull_with_thread(thread(vec![dismissal_by("author", Association::Stranger)])),
        Some(("author", DismissalMethod::Reply, true)),
    );
    for (association, is_effective) in [
        (Association::Contributor, false),
        (Association::Collaborator, false),
        (Association::Member, false),
        (Association::Owner, true),
    ] {
        let mut fork = pull_with_thread(thread(vec![dismissal_by("author", association)]));
        fork.properties.from_fork = true;
        check(&fork, Some(("author", DismissalMethod::Reply, is_effective)));
    }
    let two_replies =
        vec![dismissal_by("a", Association::Stranger), dismissal_by("b", Association::Owner)];
    check(&pull_with_thread(thread(two_replies)), Some(("b", DismissalMethod::Reply, true)));
}

#[test]
fn bots_and_foreign_threads_are_ignored() {
    let bot = InlineComment { by_bot: true, ..reply("a", Association::Member, "not a bug") };
    check(&pull_with_thread(thread(vec![bot])), None);
    let mut foreign = thread(vec![reply("a", Association::Owner, "not a bug")]);
    foreign.comments[0].ours = false;
    check(&pull_with_thread(foreign), None);
    let own_thread = thread(vec![reply("a", Association::Owner, "not a bug")]);
    assert_eq!(dismissals(&pull_with_thread(own_thread), "other"), vec![]);
}

#[test]
fn person_on_our_account_can_dismiss() {
    let mut own_reply = reply("reviewer", Association::Owner, "won't fix");
    own_reply.ours = true;
    check(
        &pull_with_thread(thread(vec![own_reply])),
        Some(("reviewer", DismissalMethod::Reply, true)),
    );
}

/// Only the last line of a comment can be the mark of an answer.
#[test]
fn person_on_our_account_can_quote_an_answer() {
    let mark = "<!-- crh answer 7 -->";
    let quoting = format!("> crh stands by it. {mark}\n> {mark}\n\nwon't fix");
    for (text, is_person) in [(quoting, true), (format!("won't fix\n\n{mark}\n"), false)] {
        let own = InlineComment { ours: true, ..reply("reviewer", Association::Owner, &text) };
        let expected = is_person.then_some(("reviewer", DismissalMethod::Reply, true));
        check(&pull_with_thread(thread(vec![own])), expected);
    }
}

#[test]
fn resolving_dismisses_only_by_person_without_code_change() {
    let pull_resolved_by = |by: &str, outdated| {
        let resolved_by = Some(by.to_owned());
        pull_with_thread(InlineThread { resolved: true, resolved_by, outdated, ..thread(vec![]) })
    };
    check(&pull_resolved_by("a", false), Some(("a", DismissalMethod::Resolved, true)));
    check(&pull_resolved_by("a", true), None);
    check(&pull_resolved_by("reviewer[bot]", false), None);
    check(&pull_resolved_by("reviewer", false), None);
    check(&pull_resolved_by("other[bot]", false), None);
    check(&pull_resolved_by("author", false), Some(("author", DismissalMethod::Resolved, true)));
    let mut fork = pull_resolved_by("author", false);
    fork.properties.from_fork = true;
    check(&fork, Some(("author", DismissalMethod::Resolved, false)));
    check(&pull_with_thread(InlineThread { resolved: true, ..thread(vec![]) }), None);
}

#[test]
fn reason_is_what_follows_the_phrase() {
    for (reply, reason) in [
        ("won't fix", ""),
        ("won`t fix: costs more than it brings", "costs more than it brings"),
        ("Won’t fix.", ""),
        ("Not a bug: the lock is held.", "the lock is held."),
        ("false positive -- see the caller", "see the caller"),
        ("> The list may be empty.\n\nNot a bug, it has one entry.", "it has one entry."),
        ("  **False positive**: see above", "see above"),
        ("not a bug (the caller checks)", "the caller checks"),
        ("/crh dismiss the caller holds the lock", "the caller holds the lock"),
    ] {
        assert_eq!(words_after_phrase(reply), reason, "{reply}");
    }
}

#[test]
fn only_replies_of_maintainers_and_the_author_are_heard() {
    let replies = vec![
        reply("stranger", Association::Stranger, "by design: trust me"),
        reply("stranger", Association::Stranger, "This is wrong."),
        reply("member", Association::Member, "This cannot happen."),
    ];
    let state = pull_with_thread(thread(replies));
    let heard = receptions(&state, "crh");
    let replies: Vec<&str> = heard.iter().flat_map(|it| &it.replies).map(String::as_str).collect();
    assert_eq!(replies, ["This cannot happen."]);
    assert!(heard.iter().all(|it| it.dismissal.is_none()), "{heard:?}");
    let by_member = reply("member", Association::Member, "by design: it is checked before");
    let heard = receptions(&pull_with_thread(thread(vec![by_member])), "crh");
    let dismissal = heard[0].dismissal.as_ref().unwrap();
    assert!(dismissal.by_maintainer);
    assert_eq!(dismissal.words, "it is checked before");
}
