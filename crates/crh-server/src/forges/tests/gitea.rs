use serde_json::{Value, json};

use crate::forges::plan_event;
use crate::queue::StrangerPolicy;
use crate::webhook::plan::{IgnoreReason, WebhookPlan, WebhookRules};
use crh_forge::forges::gitea::Gitea;
use crh_forge::rest::RestServing;

const HEAD: &str = "1111111111111111111111111111111111111111";

fn plan(event: &str, payload: &Value) -> WebhookPlan {
    let rules =
        WebhookRules { strangers: StrangerPolicy::NeedApproval, label: "crh-review".to_owned() };
    let event = Gitea.read_event(event, payload.to_string().as_bytes()).unwrap();
    plan_event(event, &rules).unwrap()
}

fn hook(action: &str, pull: &Value) -> Value {
    let mut hook = json!({
        "action": action, "number": 7, "sender": { "login": "ann" },
        "repository": { "full_name": "acme/shop", "private": true },
        "pull_request": {
            "number": 7, "state": "open", "draft": false, "labels": null,
            "head": { "sha": HEAD, "repo_id": 5 }, "base": { "sha": HEAD, "repo_id": 5 },
            "updated_at": "2026-01-02T03:04:05Z",
        },
    });
    for (name, value) in pull.as_object().unwrap() {
        hook["pull_request"][name] = value.clone();
    }
    hook
}

fn word(payload: &Value) -> String {
    match plan("pull_request", payload) {
        WebhookPlan::Review(review) => {
            assert_eq!((review.head.as_str(), review.private), (HEAD, true));
            assert_eq!((review.change.number, review.revision), (7, Some(1_767_323_045_000)));
            "review".to_owned()
        }
        WebhookPlan::AwaitMaintainer(_) => "wait".to_owned(),
        WebhookPlan::Stop(_) => "stop".to_owned(),
        WebhookPlan::Ignore(reason) => reason.word().to_owned(),
        other => format!("{other:?}"),
    }
}

#[test]
fn pull_request_events_lead_to_reviews_and_stops() {
    let fork = json!({ "head": { "sha": HEAD, "repo_id": 9 } });
    let gone = json!({ "head": { "sha": HEAD, "repo_id": null } });
    let labelled =
        json!({ "head": { "sha": HEAD, "repo_id": 9 }, "labels": [{ "name": "crh-review" }] });
    for (action, pull, expected) in [
        ("opened", json!({}), "review"),
        ("reopened", json!({}), "review"),
        ("synchronized", json!({}), "review"),
        ("edited", json!({}), "review"),
        ("edited", json!({ "draft": true }), "stop"),
        ("closed", json!({ "state": "closed" }), "stop"),
        ("opened", json!({ "draft": true }), "closed or draft"),
        ("assigned", json!({}), "other event"),
        ("opened", fork.clone(), "wait"),
        ("opened", gone, "wait"),
        ("label_updated", labelled.clone(), "review"),
        ("label_updated", fork, "other label"),
        ("synchronized", labelled.clone(), "wait"),
    ] {
        assert_eq!(word(&hook(action, &pull)), expected, "{action} {pull}");
    }
    // Newer versions name the new labels.
    let mut other_label = hook("label_updated", &labelled);
    other_label["changes"] = json!({ "added_labels": [{ "name": "bug" }] });
    assert_eq!(word(&other_label), "other label");
    let mut by_bot = hook("label_updated", &labelled);
    by_bot["sender"]["login"] = json!("gitea-actions");
    assert_eq!(word(&by_bot), "written by a bot");
}

#[test]
fn only_new_comments_on_pull_requests_are_commands() {
    let comment = |action: &str, is_pull: bool, body: &str| {
        plan(
            "issue_comment",
            &json!({
                "action": action, "is_pull": is_pull, "issue": { "number": 7, "state": "open" },
                "comment": { "id": 31, "body": body, "user": { "login": "ann" } },
                "repository": { "full_name": "acme/shop" }, "sender": { "login": "ann" },
            }),
        )
    };
    let is_command = |plan: WebhookPlan| {
        matches!(plan, WebhookPlan::Command(command)
            if command.comment.id == 31 && command.comment.author == "ann" && command.change.number == 7)
    };
    assert!(is_command(comment("created", true, "/crh review")));
    assert!(!is_command(comment("edited", true, "/crh review")));
    assert!(!is_command(comment("created", false, "/crh review")));
    assert!(!is_command(comment("created", true, "Please /crh review")));
    let other = plan("pull_request_comment", &json!({}));
    assert_eq!(other, WebhookPlan::Ignore(IgnoreReason::OtherEvent));
}
