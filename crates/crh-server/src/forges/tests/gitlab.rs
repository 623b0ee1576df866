use serde_json::{Value, json};

use crate::forges::plan_event;
use crate::queue::StrangerPolicy;
use crate::webhook::plan::{IgnoreReason, PayloadError, WebhookPlan, WebhookRules};
use crh_forge::forges::gitlab::GitLab;
use crh_forge::rest::RestServing;

const HEAD: &str = "1111111111111111111111111111111111111111";

fn plan(event: &str, payload: &Value) -> Result<WebhookPlan, PayloadError> {
    let rules =
        WebhookRules { strangers: StrangerPolicy::NeedApproval, label: "crh-review".to_owned() };
    let event = GitLab.read_event(event, payload.to_string().as_bytes()).unwrap();
    plan_event(event, &rules)
}

fn hook(attributes: &Value, changes: &Value) -> Value {
    let mut hook = json!({
        "object_kind": "merge_request", "user": { "username": "ann" },
        "project": { "path_with_namespace": "acme/web/shop", "visibility_level": 0 },
        "object_attributes": {
            "iid": 7, "state": "opened", "action": "update", "draft": false,
            "source_project_id": 5, "target_project_id": 5,
            "updated_at": "2026-01-02 03:04:05 UTC", "last_commit": { "id": HEAD },
        },
        "changes": changes,
    });
    for (name, value) in attributes.as_object().unwrap() {
        hook["object_attributes"][name] = value.clone();
    }
    hook
}

/// A word for a plan, and the details of a review.
fn word(attributes: Value, changes: Value) -> String {
    match plan("Merge Request Hook", &hook(&attributes, &changes)).unwrap() {
        WebhookPlan::Review(review) => {
            assert_eq!((review.head.as_str(), review.private), (HEAD, true));
            assert_eq!(review.change.repository, "acme/web/shop");
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
fn merge_request_events_lead_to_reviews_and_stops() {
    let labels = |previous: &[&str], current: &[&str]| {
        let list =
            |names: &[&str]| names.iter().map(|it| json!({ "title": it })).collect::<Value>();
        json!({ "labels": { "previous": list(previous), "current": list(current) } })
    };
    let fork = 9;
    for (attributes, changes, expected) in [
        (json!({ "action": "open" }), json!({}), "review"),
        (json!({ "action": "reopen" }), json!({}), "review"),
        (json!({ "oldrev": HEAD }), json!({}), "review"),
        (json!({}), json!({ "draft": { "previous": true, "current": false } }), "review"),
        (json!({ "draft": true }), json!({ "draft": { "current": true } }), "stop"),
        (json!({ "action": "close", "state": "closed" }), json!({}), "stop"),
        (json!({ "action": "merge", "state": "merged" }), json!({}), "stop"),
        (json!({ "action": "open", "draft": true }), json!({}), "closed or draft"),
        (json!({ "action": "open", "work_in_progress": null }), json!({}), "review"),
        (json!({}), json!({ "title": { "current": "x" } }), "other event"),
        (json!({ "action": "approved" }), json!({}), "other event"),
        (json!({ "action": "open", "source_project_id": fork }), json!({}), "wait"),
        (json!({ "action": "open", "source_project_id": null }), json!({}), "wait"),
        (json!({ "source_project_id": fork }), labels(&[], &["CRH-review"]), "review"),
        (
            json!({ "source_project_id": fork }),
            labels(&["crh-review"], &["crh-review", "x"]),
            "other label",
        ),
        (json!({ "source_project_id": fork, "oldrev": HEAD }), labels(&[], &[]), "wait"),
    ] {
        let mut attributes = attributes;
        if attributes["work_in_progress"].is_null() {
            attributes.as_object_mut().unwrap().remove("work_in_progress");
        }
        let shown = format!("{attributes} {changes}");
        assert_eq!(word(attributes, changes), expected, "{shown}");
    }
}

#[test]
fn labels_of_bots_and_hostile_names_are_refused() {
    let mut labelled = hook(
        &json!({ "source_project_id": 9 }),
        &json!({ "labels": { "previous": [], "current": [{ "title": "crh-review" }] } }),
    );
    for bot in ["project_5_bot_0a1b2c", "service_account_group_5_0a1b2c"] {
        labelled["user"]["username"] = json!(bot);
        let plan_labelled = plan("Merge Request Hook", &labelled);
        assert_eq!(plan_labelled, Ok(WebhookPlan::Ignore(IgnoreReason::Bot)), "{bot}");
    }
    for name in ["shop", "acme/../shop", "acme/shop?x", "acme//shop", "a b/c", ""] {
        let mut hostile = hook(&json!({ "action": "open" }), &json!({}));
        hostile["project"]["path_with_namespace"] = json!(name);
        assert!(plan("Merge Request Hook", &hostile).is_err(), "{name}");
    }
    for head in ["", "main", "--upload-pack=x", &HEAD[1..]] {
        let hostile = hook(&json!({ "action": "open", "last_commit": { "id": head } }), &json!({}));
        assert!(plan("Merge Request Hook", &hostile).is_err(), "{head}");
    }
    assert_eq!(plan("Push Hook", &json!({})), Ok(WebhookPlan::Ignore(IgnoreReason::OtherEvent)));
}

#[test]
fn only_new_comments_on_merge_requests_are_commands() {
    let note = |attributes: Value| {
        let mut hook = json!({
            "object_kind": "note", "user": { "username": "ann" },
            "project": { "path_with_namespace": "acme/shop" },
            "object_attributes": { "id": 31, "note": "/crh review", "noteable_type": "MergeRequest" },
            "merge_request": { "iid": 7, "state": "opened" },
        });
        for (name, value) in attributes.as_object().unwrap() {
            hook["object_attributes"][name] = value.clone();
        }
        hook
    };
    let is_command = |hook: &Value| {
        matches!(plan("Note Hook", hook).unwrap(), WebhookPlan::Command(command)
            if command.comment.id == 31 && command.comment.author == "ann" && command.change.number == 7)
    };
    assert!(is_command(&note(json!({}))));
    assert!(is_command(&note(json!({ "action": "create", "type": "DiffNote" }))));
    assert!(!is_command(&note(json!({ "action": "update" }))));
    assert!(!is_command(&note(json!({ "system": true }))));
    assert!(!is_command(&note(json!({ "note": "> /crh review" }))));
    let mut closed = note(json!({}));
    closed["merge_request"]["state"] = json!("merged");
    assert!(!is_command(&closed));
    let mut on_issue = note(json!({}));
    on_issue.as_object_mut().unwrap().remove("merge_request");
    assert!(!is_command(&on_issue));
}
