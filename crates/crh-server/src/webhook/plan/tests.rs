use serde_json::{Value, json};

use super::*;

const HEAD: &str = "1111111111111111111111111111111111111111";

fn rules() -> WebhookRules {
    WebhookRules { strangers: StrangerPolicy::default(), label: "crh-review".to_owned() }
}

fn plan(event: &str, payload: &Value) -> Result<WebhookPlan, PayloadError> {
    plan_delivery(event, payload.to_string().as_bytes(), &rules())
}

fn change() -> ChangeName {
    ChangeName { installation: 7, repository: "acme/shop".to_owned(), number: 12 }
}

fn review() -> PlannedReview {
    PlannedReview {
        change: change(),
        head: HEAD.to_owned(),
        private: true,
        revision: Some(1_794_947_400_000),
    }
}

/// A `pull_request` event of a member, with other values for some fields.
fn pull_event(action: &str, changes: &[(&str, Value)]) -> Value {
    let mut payload = json!({
        "action": action, "number": 12,
        "pull_request": {
            "number": 12, "state": "open", "draft": false, "author_association": "MEMBER", "updated_at": "2026-11-17T20:30:00Z",
            "user": { "login": "ann", "type": "User" }, "labels": [],
            "head": { "sha": HEAD, "ref": "f", "repo": { "full_name": "Acme/shop" } },
        },
        "label": { "name": "CRH-review" },
        "repository": { "full_name": "acme/shop", "private": true },
        "installation": { "id": 7 }, "sender": { "login": "ann", "type": "User" },
    });
    for (pointer, value) in changes {
        *payload.pointer_mut(pointer).unwrap() = value.clone();
    }
    payload
}

fn comment_event(body: &str, changes: &[(&str, Value)]) -> Value {
    let mut payload = json!({
        "action": "created",
        "issue": { "number": 12, "state": "open", "pull_request": { "url": "x" } },
        "pull_request": pull_event("", &[])["pull_request"],
        "comment": {
            "id": 99, "body": body, "user": { "login": "ann", "type": "User" },
        },
        "repository": { "full_name": "acme/shop" }, "installation": { "id": 7 },
    });
    for (pointer, value) in changes {
        *payload.pointer_mut(pointer).unwrap() = value.clone();
    }
    payload
}

#[test]
fn push_of_a_member_is_reviewed() {
    for action in ["opened", "synchronize", "reopened", "ready_for_review", "labeled"] {
        let planned = plan("pull_request", &pull_event(action, &[]));
        assert_eq!(planned, Ok(WebhookPlan::Review(review())), "{action}");
    }
}

#[test]
fn push_of_a_stranger_waits_until_a_person_labels_it() {
    let strangers: [&[(&str, Value)]; 3] = [
        &[("/pull_request/author_association", json!("FIRST_TIME_CONTRIBUTOR"))],
        &[("/pull_request/head/repo/full_name", json!("mallory/shop"))],
        &[("/pull_request/head/repo", Value::Null)],
    ];
    for changes in strangers {
        for action in ["opened", "synchronize"] {
            let planned = plan("pull_request", &pull_event(action, changes));
            assert_eq!(planned, Ok(WebhookPlan::AwaitMaintainer(review())), "{changes:?}");
        }
        let planned = plan("pull_request", &pull_event("labeled", changes));
        assert_eq!(planned, Ok(WebhookPlan::Review(review())), "{changes:?}");
    }
    let by_bot = [("/sender", json!({ "login": "triage[bot]", "type": "Bot" }))];
    let planned = plan("pull_request", &pull_event("labeled", &by_bot));
    assert_eq!(planned, Ok(WebhookPlan::Ignore(IgnoreReason::Bot)));
    let other = [("/label/name", json!("bug"))];
    let planned = plan("pull_request", &pull_event("labeled", &other));
    assert_eq!(planned, Ok(WebhookPlan::Ignore(IgnoreReason::OtherLabel)));
}

#[test]
fn closed_and_draft_pull_requests_are_stopped_or_ignored() {
    for action in ["closed", "converted_to_draft"] {
        let planned = plan("pull_request", &pull_event(action, &[]));
        assert_eq!(planned, Ok(WebhookPlan::Stop(change())), "{action}");
    }
    for field in [("/pull_request/state", json!("closed")), ("/pull_request/draft", json!(true))] {
        for action in ["synchronize", "labeled"] {
            let planned = plan("pull_request", &pull_event(action, std::slice::from_ref(&field)));
            assert_eq!(planned, Ok(WebhookPlan::Ignore(IgnoreReason::NotReady)), "{field:?}");
        }
    }
}

#[test]
fn first_line_of_a_comment_of_a_person_is_a_command() {
    let comment = |place| CommentRef { id: 99, author: "ann".to_owned(), place };
    for (event, place) in [
        ("issue_comment", CommentPlace::Conversation),
        ("pull_request_review_comment", CommentPlace::Line),
    ] {
        let (change, comment) = (change(), comment(place));
        let command = Ok(CommentCommand::Review { full: false });
        let expected = WebhookPlan::Command(PlannedCommand { change, comment, command });
        assert_eq!(plan(event, &comment_event("/crh review", &[])), Ok(expected));
    }
    let other = Ok(WebhookPlan::Ignore(IgnoreReason::OtherComment));
    for event in ["issue_comment", "pull_request_review_comment"] {
        assert_eq!(plan(event, &comment_event("the caller checks it", &[])), other);
    }
}

#[test]
fn comments_of_bots_edits_and_closed_pull_requests_are_ignored() {
    for (field, value) in [
        ("/comment/user", json!({ "login": "crh[bot]", "type": "User" })),
        ("/comment/user", json!({ "login": "Copilot", "type": "Bot" })),
        ("/comment/user", Value::Null),
        ("/action", json!("edited")),
        ("/action", json!("deleted")),
    ] {
        for event in ["issue_comment", "pull_request_review_comment"] {
            let payload = comment_event("/crh review", &[(field, value.clone())]);
            let planned = plan(event, &payload).unwrap();
            assert!(matches!(planned, WebhookPlan::Ignore(_)), "{event} {field} {planned:?}");
        }
    }
    for (event, field, value) in [
        ("issue_comment", "/issue/state", json!("closed")),
        ("issue_comment", "/issue/pull_request", Value::Null),
        ("pull_request_review_comment", "/pull_request/state", json!("closed")),
    ] {
        let payload = comment_event("/crh review", &[(field, value)]);
        let ignored = WebhookPlan::Ignore(IgnoreReason::OtherComment);
        assert_eq!(plan(event, &payload), Ok(ignored), "{event} {field}");
    }
}

#[test]
fn reply_of_a_person_is_planned_and_dismiss_needs_no_number_there() {
    let reply = |body: &str| {
        let mut payload = comment_event(body, &[]);
        payload["comment"]["in_reply_to_id"] = json!(42);
        plan("pull_request_review_comment", &payload).unwrap()
    };
    let planned = |text: &str| {
        let comment = CommentRef { id: 99, author: "ann".to_owned(), place: CommentPlace::Line };
        let task = ReplyTask { comment, root: 42, text: text.to_owned() };
        WebhookPlan::Reply(PlannedReply { change: change(), task })
    };
    for text in [
        "the caller checks it",
        "> /crh review",
        "```\n/crh fix 1\n```",
        "/crh dismiss",
        "/crh dismiss it is intended",
    ] {
        assert_eq!(reply(text), planned(text), "{text}");
    }
    for text in ["/crh dismiss 3 it is intended", "/crh explain", "/crh fix 3"] {
        assert!(matches!(reply(text), WebhookPlan::Command(_)), "{text}");
    }
    let mut by_bot = comment_event("Are you sure?", &[]);
    by_bot["comment"]["in_reply_to_id"] = json!(42);
    by_bot["comment"]["user"] = json!({ "login": "other[bot]", "type": "Bot" });
    let ignored = WebhookPlan::Ignore(IgnoreReason::Bot);
    assert_eq!(plan("pull_request_review_comment", &by_bot), Ok(ignored));
    // GitHub delivers every edit. Only the first text counts.
    let mut edited = comment_event("the caller checks it", &[("/action", json!("edited"))]);
    edited["comment"]["in_reply_to_id"] = json!(42);
    let ignored = WebhookPlan::Ignore(IgnoreReason::OtherComment);
    assert_eq!(plan("pull_request_review_comment", &edited), Ok(ignored));
}

#[test]
fn quoted_text_and_code_are_no_command() {
    for body in [
        "> /crh review",
        "> quoted\n/crh review",
        "```\n/crh review\n```",
        "    /crh review",
        "`/crh review`",
        "<details>/crh review</details>",
        "thanks\n/crh review",
        "/crh\u{200b} review",
    ] {
        for event in ["issue_comment", "pull_request_review_comment"] {
            let planned = plan(event, &comment_event(body, &[])).unwrap();
            assert_eq!(planned, WebhookPlan::Ignore(IgnoreReason::OtherComment), "{body:?}");
        }
    }
}

#[test]
fn approval_of_a_strangers_push_does_not_hold_for_the_next_one() {
    let fork = ("/pull_request/head/repo/full_name", json!("mallory/shop"));
    let labelled = pull_event("labeled", std::slice::from_ref(&fork));
    assert_eq!(plan("pull_request", &labelled), Ok(WebhookPlan::Review(review())));
    // The label is still there.
    let next = "2222222222222222222222222222222222222222";
    let labels = ("/pull_request/labels", json!([{ "name": "crh-review" }]));
    let push = pull_event("synchronize", &[fork, labels, ("/pull_request/head/sha", json!(next))]);
    let waits = PlannedReview { head: next.to_owned(), ..review() };
    assert_eq!(plan("pull_request", &push), Ok(WebhookPlan::AwaitMaintainer(waits)));
}

#[test]
fn installations_come_and_go() {
    let payload = |action: &str| {
        json!({
            "action": action, "installation": { "id": 7, "account": { "login": "acme" } },
            "repositories": [{ "full_name": "acme/shop", "private": true }, { "full_name": "../x" }],
            "repositories_added": [{ "full_name": "acme/tools" }],
            "repositories_removed": [{ "full_name": "acme/old" }],
        })
    };
    let installation = |name: &str, private| PlannedInstallation {
        installation: 7,
        account: "acme".to_owned(),
        repositories: vec![(name.to_owned(), private)],
    };
    for (event, action, expected) in [
        ("installation", "created", WebhookPlan::Install(installation("acme/shop", true))),
        ("installation", "deleted", WebhookPlan::Uninstall { installation: 7 }),
        (
            "installation",
            "suspend",
            WebhookPlan::Suspend(PlannedInstallation {
                repositories: Vec::new(),
                ..installation("", false)
            }),
        ),
        (
            "installation_repositories",
            "added",
            WebhookPlan::Install(installation("acme/tools", false)),
        ),
        (
            "installation_repositories",
            "removed",
            WebhookPlan::RemoveRepositories(installation("acme/old", false)),
        ),
        ("installation", "other", WebhookPlan::Ignore(IgnoreReason::OtherEvent)),
    ] {
        assert_eq!(plan(event, &payload(action)), Ok(expected), "{event} {action}");
    }
}

#[test]
fn unusable_payload_is_explained() {
    let message = |event: &str, body: &str| {
        plan_delivery(event, body.as_bytes(), &rules()).unwrap_err().to_string()
    };
    let invalid = message("pull_request", "{\"action\": 7}");
    assert!(invalid.starts_with("the payload is not a valid `pull_request` event: "), "{invalid}");
    assert!(message("pull_request", "{\"action\"").contains("EOF"));
    let opened = "{\"action\": \"opened\"}";
    assert_eq!(message("pull_request", opened), "the payload has no `pull_request`");
    let without = |pointer: &str| {
        plan("pull_request", &pull_event("opened", &[(pointer, Value::Null)]))
            .unwrap_err()
            .to_string()
    };
    assert!(without("/installation").contains("send deliveries from the GitHub App"));
    assert_eq!(without("/repository"), "the payload has no `repository`");
    for (pointer, field) in [
        ("/repository/full_name", "repository.full_name"),
        ("/pull_request/head/sha", "pull_request.head.sha"),
    ] {
        for text in [
            "",
            "../..",
            "--upload-pack=x",
            "a/b/c",
            "ä/ö",
            "11111111111111111111111111111111111111-f",
        ] {
            let error = plan("pull_request", &pull_event("opened", &[(pointer, json!(text))]));
            let expected = format!("the payload has no `{field}`");
            assert_eq!(error.unwrap_err().to_string(), expected, "{text}");
        }
    }
    assert_eq!(
        plan_delivery("push", b"not JSON", &rules()),
        Ok(WebhookPlan::Ignore(IgnoreReason::OtherEvent))
    );
}
