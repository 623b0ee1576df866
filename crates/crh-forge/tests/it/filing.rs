//! Filing tickets once, with and without faults.

use std::sync::{Arc, Mutex};

use expect_test::expect;
use serde_json::{Value, json};

use crate::scene::{INSTANCE, Scene};
use crh_forge::github::{GitHubCredentials, ReplyCache, Repo};
use crh_forge::tracker::{
    FiledTicket, GitHubIssues, GitHubProgramCall, Jira, JiraAccount, Linear, LinearAccount,
    TrackerError, TrackerSetupError, TrackerTicket,
};
use crh_http::NetworkSettings;
use crh_review::stable_json_line;
use crh_testkit::fake_github::{Fault, FaultKind, Permission, REVIEWER, TOKEN};
use crh_testkit::fake_trackers::{
    FakeTicket, FakeTracker, JIRA_EMAIL, JIRA_TOKEN, LINEAR_KEY, PROJECT, TrackerFault,
};

const KEY: &str = "0f8540e5ced1e896";
const MARKER: &str = "<!-- crh:crh:0f8540e5ced1e896 -->";
const VISIBLE_MARKER: &str = "crh:crh:0f8540e5ced1e896";

fn ticket() -> TrackerTicket {
    TrackerTicket {
        title: "[P1] Orders are paid twice".to_owned(),
        body: "Customers pay twice.\n\n## Evidence\n\n- `orders.py:5`\n\n  ```python\n  line five\n  ```\n".to_owned(),
        labels: vec!["P1".to_owned()],
        dedupe_key: KEY.to_owned(),
        instance: INSTANCE.to_owned(),
    }
}

fn issues(scene: &Scene) -> GitHubIssues {
    issues_with(scene, TOKEN)
}

fn issues_with(scene: &Scene, token: &str) -> GitHubIssues {
    let client = scene.client_with(ReplyCache::disabled(), GitHubCredentials::Token(token.into()));
    GitHubIssues::with_client(client, Repo::parse("acme/shop").unwrap())
}

/// Tickets of our account: number, title, labels, and last line of the body.
fn filed(scene: &Scene) -> Vec<String> {
    let issues =
        scene.github.issues("acme/shop").into_iter().filter(|issue| issue.author == REVIEWER);
    let lines = issues.map(|issue| {
        let last = issue.body.lines().next_back().unwrap_or_default().to_owned();
        format!("{} {} {:?} {last}", issue.number, issue.title, issue.labels)
    });
    lines.collect()
}

fn linear(fake: &FakeTracker, key: &str, team: &str) -> Linear {
    let account =
        LinearAccount { base: fake.url().parse().unwrap(), key: key.into(), team: team.to_owned() };
    Linear::new(&NetworkSettings::default(), account).unwrap()
}

fn jira(fake: &FakeTracker, token: &str, project: &str) -> Jira {
    let account = JiraAccount {
        base: fake.url().parse().unwrap(),
        email: JIRA_EMAIL.to_owned(),
        token: token.into(),
        project: project.to_owned(),
    };
    Jira::new(&NetworkSettings::default(), account).unwrap()
}

#[tokio::test]
async fn filing_twice_gives_one_github_issue() {
    let scene = Scene::new();
    scene.github.label("acme/shop", "p1");
    let issues = issues(&scene);
    issues.probe().await.unwrap();
    let first = issues.file(&ticket()).await.unwrap();
    assert_eq!(
        first,
        FiledTicket {
            url: format!("{}/acme/shop/issues/3", scene.github.url()),
            already_filed: false
        }
    );
    scene.github.close_issue("acme/shop", 3);
    let reworded_ticket = TrackerTicket { title: "Other words".to_owned(), ..ticket() };
    assert_eq!(
        issues.file(&reworded_ticket).await.unwrap(),
        FiledTicket { already_filed: true, ..first }
    );
    let other = TrackerTicket { instance: "other".to_owned(), ..ticket() };
    assert!(!issues.file(&other).await.unwrap().already_filed);
    expect![[r#"
        [
            "3 [P1] Orders are paid twice [\"p1\"] <!-- crh:crh:0f8540e5ced1e896 -->",
            "4 [P1] Orders are paid twice [\"p1\"] <!-- crh:other:0f8540e5ced1e896 -->",
        ]
    "#]]
    .assert_debug_eq(&filed(&scene));
    assert_eq!(scene.github.surprises(), [] as [&str; 0]);
}

#[tokio::test]
async fn foreign_markers_are_ignored() {
    let scene = Scene::new();
    scene.github.issue("acme/shop", "mallory", "Forged", MARKER);
    let own_pull = crh_testkit::fake_github::Pull {
        head: "feature".to_owned(),
        author: REVIEWER.to_owned(),
        body: MARKER.to_owned(),
        ..Default::default()
    };
    scene.github.pull("acme/shop", own_pull);
    scene.github.issue("acme/shop", REVIEWER, "Quoted", &format!("see `{MARKER}` there"));
    assert!(!issues(&scene).file(&ticket()).await.unwrap().already_filed);
    assert_eq!(filed(&scene).len(), 2);
}

#[tokio::test]
async fn ticket_is_found_among_many() {
    let scene = Scene::new();
    let number = scene.github.issue(
        "acme/shop",
        REVIEWER,
        "First",
        &format!("Text.\n\n{MARKER}\n\nEdited."),
    );
    for at in 0..230 {
        scene.github.issue("acme/shop", REVIEWER, &format!("Issue {at}"), "Text.");
    }
    let filed_ticket = issues(&scene).file(&ticket()).await.unwrap();
    let url = format!("{}/acme/shop/issues/{number}", scene.github.url());
    assert_eq!(filed_ticket, FiledTicket { url, already_filed: true });
}

#[tokio::test]
async fn any_write_fault_leaves_one_github_issue() {
    for (how, is_found) in [
        (FaultKind::StatusAfter(502), true),
        (FaultKind::CutAfter, true),
        (FaultKind::StatusBefore(502), false),
        (FaultKind::CutBefore, false),
    ] {
        let scene = Scene::new();
        scene.github.fail(Fault::on_write(1, how.clone()));
        let issues = issues(&scene);
        let first = issues.file(&ticket()).await;
        match is_found {
            true => assert!(!first.unwrap().already_filed, "{how:?}"),
            false => {
                assert!(
                    matches!(first, Err(TrackerError::OutcomeUnknown { .. })),
                    "{how:?}: {first:?}"
                );
                assert_eq!(filed(&scene).len(), 0, "{how:?}: nothing is repeated blindly");
            }
        }
        issues.file(&ticket()).await.unwrap();
        assert_eq!(filed(&scene).len(), 1, "{how:?}");
    }
}

#[tokio::test]
async fn refused_and_missing_labels_are_left_out() {
    for how in [FaultKind::StatusBefore(422), FaultKind::StatusBefore(403)] {
        let scene = Scene::new();
        scene.github.label("acme/shop", "P1");
        scene.github.fail(Fault::on_write(1, how));
        issues(&scene).file(&ticket()).await.unwrap();
        assert_eq!(filed(&scene), [format!("3 [P1] Orders are paid twice [] {MARKER}")]);
    }
    let scene = Scene::new();
    issues(&scene).file(&ticket()).await.unwrap();
    assert_eq!(filed(&scene), [format!("3 [P1] Orders are paid twice [] {MARKER}")]);
}

#[tokio::test]
async fn github_failures_are_explained() {
    let mut messages = String::new();
    let mut add_message = |case_name: &str, error: TrackerError| {
        messages.push_str(&format!("{case_name}: {error}\n"));
    };
    let scene = Scene::new();
    let bad = issues_with(&scene, "ghp_unknown");
    add_message("a bad token", bad.file(&ticket()).await.unwrap_err());
    scene.github.token("ghp_reader", "reader", &[Permission::ReadIssues]);
    let reader = issues_with(&scene, "ghp_reader");
    add_message("a token that reads", reader.file(&ticket()).await.unwrap_err());
    scene.github.disable_issues("acme/shop");
    add_message("no issues, looked at", issues(&scene).probe().await.unwrap_err());
    add_message("no issues, filed", issues(&scene).file(&ticket()).await.unwrap_err());
    expect![[r#"
        a bad token: GitHub rejected the key: Bad credentials
        a token that reads: GitHub refused: Resource not accessible by personal access token
        no issues, looked at: the issue list of `acme/shop` was not found: missing, disabled, or not visible with this key
        no issues, filed: the issue list of `acme/shop` was not found: missing, disabled, or not visible with this key
    "#]].assert_eq(&messages);
    assert_eq!(filed(&scene).len(), 0);
}

#[tokio::test]
async fn filing_twice_gives_one_linear_or_jira_ticket() {
    let (at_linear, at_jira) = (FakeTracker::linear(), FakeTracker::jira());
    at_linear.label("P1");
    for fake in [&at_linear, &at_jira] {
        // Another account's ticket, and one that only quotes the marker.
        let body = if std::ptr::eq(fake, &at_linear) {
            VISIBLE_MARKER.to_owned()
        } else {
            r#"{"type":"doc","content":[]}"#.to_owned()
        };
        fake.add(FakeTicket {
            title: "Theirs".to_owned(),
            body,
            labels: Vec::new(),
            is_foreign: true,
        });
        let quoted = format!("see {VISIBLE_MARKER} there");
        fake.add(FakeTicket {
            title: "Quoted".to_owned(),
            body: quoted,
            labels: Vec::new(),
            is_foreign: false,
        });
    }
    let linear = linear(&at_linear, LINEAR_KEY, PROJECT);
    linear.probe().await.unwrap();
    let first = linear.file(&ticket()).await.unwrap();
    assert_eq!(
        first,
        FiledTicket {
            url: "https://linear.app/shop/issue/SHOP-3".to_owned(),
            already_filed: false
        }
    );
    assert_eq!(linear.file(&ticket()).await.unwrap(), FiledTicket { already_filed: true, ..first });
    let jira = jira(&at_jira, JIRA_TOKEN, PROJECT);
    jira.probe().await.unwrap();
    let first = jira.file(&ticket()).await.unwrap();
    assert_eq!(
        first,
        FiledTicket { url: format!("{}/browse/SHOP-3", at_jira.url()), already_filed: false }
    );
    assert_eq!(jira.file(&ticket()).await.unwrap(), FiledTicket { already_filed: true, ..first });
    expect![[r#"
        [
            FakeTicket {
                title: "[P1] Orders are paid twice",
                body: "Customers pay twice.\n\n## Evidence\n\n- `orders.py:5`\n\n  ```python\n  line five\n  ```\n\ncrh:crh:0f8540e5ced1e896\n",
                labels: [
                    "P1",
                ],
                is_foreign: false,
            },
            FakeTicket {
                title: "[P1] Orders are paid twice",
                body: "{\"content\":[{\"content\":[{\"text\":\"Customers pay twice.\",\"type\":\"text\"}],\"type\":\"paragraph\"},{\"attrs\":{\"level\":2},\"content\":[{\"text\":\"Evidence\",\"type\":\"text\"}],\"type\":\"heading\"},{\"content\":[{\"text\":\"• `orders.py:5`\",\"type\":\"text\"}],\"type\":\"paragraph\"},{\"attrs\":{\"language\":\"python\"},\"content\":[{\"text\":\"line five\",\"type\":\"text\"}],\"type\":\"codeBlock\"},{\"content\":[{\"text\":\"crh:crh:0f8540e5ced1e896\",\"type\":\"text\"}],\"type\":\"paragraph\"}],\"type\":\"doc\",\"version\":1}\n",
                labels: [
                    "crh-crh-0f8540e5ced1e896",
                ],
                is_foreign: false,
            },
        ]
    "#]].assert_debug_eq(&[at_linear.tickets().remove(2), sorted(at_jira.tickets().remove(2))]);
    for fake in [&at_linear, &at_jira] {
        assert_eq!(fake.tickets().len(), 3);
        assert_eq!(fake.surprises(), [] as [&str; 0]);
    }
}

/// Sorts the keys of a Jira ticket, whose order depends on features of other crates.
fn sorted(ticket: FakeTicket) -> FakeTicket {
    let body: Value = serde_json::from_str(&ticket.body).unwrap();
    FakeTicket { body: stable_json_line(&body).unwrap(), ..ticket }
}

#[tokio::test]
async fn any_write_fault_leaves_one_linear_or_jira_ticket() {
    for (fault, is_found) in [
        (TrackerFault::StatusAfter(503), true),
        (TrackerFault::CutAfter, true),
        (TrackerFault::StatusBefore(503), false),
        (TrackerFault::CutBefore, false),
    ] {
        let (at_linear, at_jira) = (FakeTracker::linear(), FakeTracker::jira());
        at_linear.fail(fault);
        at_jira.fail(fault);
        let linear = linear(&at_linear, LINEAR_KEY, PROJECT);
        let jira = jira(&at_jira, JIRA_TOKEN, PROJECT);
        let results = [linear.file(&ticket()).await, jira.file(&ticket()).await];
        for first in results {
            match is_found {
                true => assert!(!first.unwrap().already_filed, "{fault:?}"),
                false => {
                    assert!(matches!(first, Err(TrackerError::OutcomeUnknown { .. })), "{first:?}");
                }
            }
        }
        linear.file(&ticket()).await.unwrap();
        jira.file(&ticket()).await.unwrap();
        for fake in [&at_linear, &at_jira] {
            assert_eq!(fake.tickets().len(), 1, "{fault:?}");
        }
    }
}

#[tokio::test]
async fn ticket_without_refused_labels_is_still_found() {
    let (at_linear, at_jira) = (FakeTracker::linear(), FakeTracker::jira());
    at_linear.label("P1");
    for fake in [&at_linear, &at_jira] {
        fake.refuse_labels();
    }
    for _ in 0..2 {
        linear(&at_linear, LINEAR_KEY, PROJECT).file(&ticket()).await.unwrap();
        jira(&at_jira, JIRA_TOKEN, PROJECT).file(&ticket()).await.unwrap();
    }
    for fake in [&at_linear, &at_jira] {
        let labels: Vec<Vec<String>> =
            fake.tickets().into_iter().map(|ticket| ticket.labels).collect();
        assert_eq!(labels, [Vec::<String>::new()]);
    }
}

#[tokio::test]
async fn linear_and_jira_failures_hide_the_key() {
    let (at_linear, at_jira) = (FakeTracker::linear(), FakeTracker::jira());
    let mut messages = String::new();
    let mut add_message = |case_name: &str, error: TrackerError| {
        messages.push_str(&format!("{case_name}: {error}\n"));
    };
    add_message(
        "a bad key",
        linear(&at_linear, "lin_bad", PROJECT).file(&ticket()).await.unwrap_err(),
    );
    add_message("a bad token", jira(&at_jira, "bad", PROJECT).file(&ticket()).await.unwrap_err());
    add_message("no such team", linear(&at_linear, LINEAR_KEY, "NONE").probe().await.unwrap_err());
    add_message(
        "no such team",
        linear(&at_linear, LINEAR_KEY, "NONE").file(&ticket()).await.unwrap_err(),
    );
    add_message("no such project", jira(&at_jira, JIRA_TOKEN, "NONE").probe().await.unwrap_err());
    at_jira.fail(TrackerFault::StatusBefore(429));
    add_message("too much", jira(&at_jira, JIRA_TOKEN, PROJECT).file(&ticket()).await.unwrap_err());
    at_jira.fail(TrackerFault::StatusBefore(307));
    add_message(
        "elsewhere",
        jira(&at_jira, JIRA_TOKEN, PROJECT).file(&ticket()).await.unwrap_err(),
    );
    at_jira.fail(TrackerFault::StatusBefore(400));
    at_jira.fail(TrackerFault::StatusBefore(400));
    add_message("refused", jira(&at_jira, JIRA_TOKEN, PROJECT).file(&ticket()).await.unwrap_err());
    expect![[r#"
        a bad key: Linear rejected the key: Authentication required
        a bad token: Jira rejected the key: Client must be authenticated
        no such team: the team `NONE` at Linear was not found: missing, disabled, or not visible with this key
        no such team: the team `NONE` at Linear was not found: missing, disabled, or not visible with this key
        no such project: the project `NONE` at Jira was not found: missing, disabled, or not visible with this key
        too much: cannot reach Jira: rate limited
        elsewhere: cannot reach Jira: it redirects to another address
        refused: Jira refused: Something went wrong
    "#]].assert_eq(&messages);
    assert_eq!(at_linear.tickets().len() + at_jira.tickets().len(), 0);
}

#[test]
fn key_needs_https_and_no_line_break() {
    let new = |base: &str, key: &str| {
        let account = LinearAccount {
            base: base.parse().unwrap(),
            key: key.into(),
            team: PROJECT.to_owned(),
        };
        Linear::new(&NetworkSettings::default(), account).map(|_| ())
    };
    assert_eq!(new("https://api.linear.app", "key"), Ok(()));
    assert_eq!(new("http://api.linear.app", "key"), Err(TrackerSetupError::NotHttps));
    for key in ["", "a b", "a\r\nx-y: z", "é"] {
        assert_eq!(new("https://api.linear.app", key), Err(TrackerSetupError::Key), "{key}");
    }
}

#[tokio::test]
async fn quoted_marker_is_not_taken_for_a_ticket() {
    let (at_linear, at_jira, scene) = (FakeTracker::linear(), FakeTracker::jira(), Scene::new());
    let linear = linear(&at_linear, LINEAR_KEY, PROJECT);
    let jira = jira(&at_jira, JIRA_TOKEN, PROJECT);
    let github = issues(&scene);
    // Bodies contain HTML comments only inside code: texts are cleaned earlier.
    let body = format!(
        "{VISIBLE_MARKER}\n\n- `a.py:1`\n\n  ```\n  {VISIBLE_MARKER}\n  ```\n\n`{MARKER}`\n"
    );
    let quoting = TrackerTicket { dedupe_key: "1111111111111111".to_owned(), body, ..ticket() };
    for ticket in [quoting, ticket()] {
        assert!(!linear.file(&ticket).await.unwrap().already_filed);
        assert!(!jira.file(&ticket).await.unwrap().already_filed);
        assert!(!github.file(&ticket).await.unwrap().already_filed);
    }
}

/// Calls of the external program, in order.
#[tokio::test]
async fn external_program_files_like_own_client() {
    let calls: Arc<Mutex<Vec<GitHubProgramCall>>> = Arc::default();
    let created_issues: Arc<Mutex<Vec<Value>>> = Arc::default();
    let (program_calls, program_issues) = (calls.clone(), created_issues.clone());
    let program = move |call: &GitHubProgramCall| {
        program_calls.lock().unwrap().push(call.clone());
        let mut created_issues = program_issues.lock().unwrap();
        match call {
            GitHubProgramCall::Query(_) => {
                Ok(json!({ "data": { "viewer": { "login": "app[bot]", "databaseId": 7 } } }))
            }
            GitHubProgramCall::Get(path) if path.ends_with("/labels/P1") => {
                Ok(json!({ "name": "P1" }))
            }
            GitHubProgramCall::Get(_) => Ok(Value::from(created_issues.clone())),
            GitHubProgramCall::Post(_, body) => {
                let url = "https://github.com/acme/shop/issues/1";
                created_issues
                    .push(json!({ "html_url": url, "body": body["body"], "user": { "id": 7 } }));
                Ok(created_issues[0].clone())
            }
        }
    };
    let repo = Repo::parse("acme/shop").unwrap();
    let issues = GitHubIssues::with_program(Box::new(program), repo);
    let url = "https://github.com/acme/shop/issues/1".to_owned();
    assert_eq!(
        issues.file(&ticket()).await,
        Ok(FiledTicket { url: url.clone(), already_filed: false })
    );
    assert_eq!(issues.file(&ticket()).await, Ok(FiledTicket { url, already_filed: true }));
    assert_eq!(created_issues.lock().unwrap().len(), 1);
    let line = |call: &GitHubProgramCall| match call {
        GitHubProgramCall::Post(path, body) => {
            format!("POST {path} {}", stable_json_line(body).unwrap())
        }
        GitHubProgramCall::Get(path) => format!("GET {path}\n"),
        GitHubProgramCall::Query(query) => format!("{query}\n"),
    };
    let call_lines: String = calls.lock().unwrap().iter().map(line).collect();
    expect![[r#"
        query { viewer { login databaseId } }
        GET /repos/acme/shop/issues?state=all&sort=created&direction=desc&creator=app%5Bbot%5D&per_page=100&page=1
        GET /repos/acme/shop/labels/P1
        POST /repos/acme/shop/issues {"body":"Customers pay twice.\n\n## Evidence\n\n- `orders.py:5`\n\n  ```python\n  line five\n  ```\n\n<!-- crh:crh:0f8540e5ced1e896 -->\n","labels":["P1"],"title":"[P1] Orders are paid twice"}
        query { viewer { login databaseId } }
        GET /repos/acme/shop/issues?state=all&sort=created&direction=desc&creator=app%5Bbot%5D&per_page=100&page=1
    "#]].assert_eq(&call_lines);
}
