//! Filing tickets: once, however often it is asked for and whatever goes wrong; and what is said when it does.

use std::sync::{Arc, Mutex};

use expect_test::expect;
use serde_json::{Value, json};

use crate::scene::{INSTANCE, Scene};
use crh_forge::github::{Cache, Credentials, Repo};
use crh_forge::tracker::{
    Asked, Filed, GitHubIssues, Jira, JiraAccount, Linear, LinearAccount, SetupError, Ticket,
    TrackerError,
};
use crh_http::Network;
use crh_review::stable_json_line;
use crh_testkit::fake_github::{Fault, How, Permission, REVIEWER, TOKEN};
use crh_testkit::fake_trackers::{
    FakeTicket, FakeTracker, JIRA_EMAIL, JIRA_TOKEN, LINEAR_KEY, PLACE, Trouble,
};

const KEY: &str = "0f8540e5ced1e896";
const MARKER: &str = "<!-- crh:crh:0f8540e5ced1e896 -->";
const MARK: &str = "crh:crh:0f8540e5ced1e896";

fn ticket() -> Ticket {
    Ticket {
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
    let client = scene.client_with(Cache::none(), Credentials::Token(token.into()));
    GitHubIssues::by_client(client, Repo::parse("acme/shop").unwrap())
}

/// What our account has filed: number, title, labels, and the last line of the body.
fn filed(scene: &Scene) -> Vec<String> {
    let issues =
        scene.github.issues("acme/shop").into_iter().filter(|issue| issue.author == REVIEWER);
    let shown = issues.map(|issue| {
        let last = issue.body.lines().next_back().unwrap_or_default().to_owned();
        format!("{} {} {:?} {last}", issue.number, issue.title, issue.labels)
    });
    shown.collect()
}

fn linear(fake: &FakeTracker, key: &str, team: &str) -> Linear {
    let account =
        LinearAccount { base: fake.url().parse().unwrap(), key: key.into(), team: team.to_owned() };
    Linear::new(&Network::default(), account).unwrap()
}

fn jira(fake: &FakeTracker, token: &str, project: &str) -> Jira {
    let account = JiraAccount {
        base: fake.url().parse().unwrap(),
        email: JIRA_EMAIL.to_owned(),
        token: token.into(),
        project: project.to_owned(),
    };
    Jira::new(&Network::default(), account).unwrap()
}

#[tokio::test]
async fn an_issue_that_is_filed_twice_is_one_at_github() {
    let scene = Scene::new();
    scene.github.label("acme/shop", "p1");
    let issues = issues(&scene);
    issues.probe().await.unwrap();
    let first = issues.file(&ticket()).await.unwrap();
    assert_eq!(
        first,
        Filed { url: format!("{}/acme/shop/issues/3", scene.github.url()), was_there: false }
    );
    scene.github.close_issue("acme/shop", 3);
    let again = Ticket { title: "Other words".to_owned(), ..ticket() };
    assert_eq!(issues.file(&again).await.unwrap(), Filed { was_there: true, ..first });
    let other = Ticket { instance: "other".to_owned(), ..ticket() };
    assert!(!issues.file(&other).await.unwrap().was_there);
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
async fn the_marker_of_somebody_else_and_of_a_pull_request_is_none() {
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
    assert!(!issues(&scene).file(&ticket()).await.unwrap().was_there);
    assert_eq!(filed(&scene).len(), 2);
}

#[tokio::test]
async fn a_ticket_among_many_is_found() {
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
    let found = issues(&scene).file(&ticket()).await.unwrap();
    let url = format!("{}/acme/shop/issues/{number}", scene.github.url());
    assert_eq!(found, Filed { url, was_there: true });
}

#[tokio::test]
async fn whatever_happens_to_a_write_at_github_there_is_one_ticket() {
    for (how, is_known) in [
        (How::StatusAfter(502), true),
        (How::CutAfter, true),
        (How::StatusBefore(502), false),
        (How::CutBefore, false),
    ] {
        let scene = Scene::new();
        scene.github.fail(Fault::on_write(1, how.clone()));
        let issues = issues(&scene);
        let first = issues.file(&ticket()).await;
        match is_known {
            true => assert!(!first.unwrap().was_there, "{how:?}"),
            false => {
                assert!(matches!(first, Err(TrackerError::Unknown { .. })), "{how:?}: {first:?}");
                assert_eq!(filed(&scene).len(), 0, "{how:?}: nothing is repeated blindly");
            }
        }
        issues.file(&ticket()).await.unwrap();
        assert_eq!(filed(&scene).len(), 1, "{how:?}");
    }
}

#[tokio::test]
async fn labels_that_are_refused_are_left_out_and_those_that_are_not_there_are_not_made() {
    for how in [How::StatusBefore(422), How::StatusBefore(403)] {
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
async fn why_github_has_no_ticket_is_said() {
    let mut said = String::new();
    let mut say = |what: &str, error: TrackerError| said.push_str(&format!("{what}: {error}\n"));
    let scene = Scene::new();
    let bad = issues_with(&scene, "ghp_nobody");
    say("a bad token", bad.file(&ticket()).await.unwrap_err());
    scene.github.token("ghp_reader", "reader", &[Permission::ReadIssues]);
    let reader = issues_with(&scene, "ghp_reader");
    say("a token that reads", reader.file(&ticket()).await.unwrap_err());
    scene.github.disable_issues("acme/shop");
    say("no issues, looked at", issues(&scene).probe().await.unwrap_err());
    say("no issues, filed", issues(&scene).file(&ticket()).await.unwrap_err());
    expect![[r#"
        a bad token: GitHub does not accept the key: Bad credentials
        a token that reads: GitHub refuses: Resource not accessible by personal access token
        no issues, looked at: the list of issues of `acme/shop` cannot be found: not there, switched off, or not for this key
        no issues, filed: the list of issues of `acme/shop` cannot be found: not there, switched off, or not for this key
    "#]].assert_eq(&said);
    assert_eq!(filed(&scene).len(), 0);
}

#[tokio::test]
async fn an_issue_that_is_filed_twice_is_one_at_linear_and_jira() {
    let (at_linear, at_jira) = (FakeTracker::linear(), FakeTracker::jira());
    at_linear.label("P1");
    for fake in [&at_linear, &at_jira] {
        // Somebody else's, and one that only quotes the mark.
        let body = if std::ptr::eq(fake, &at_linear) {
            MARK.to_owned()
        } else {
            r#"{"type":"doc","content":[]}"#.to_owned()
        };
        fake.add(FakeTicket {
            title: "Theirs".to_owned(),
            body,
            labels: Vec::new(),
            by_another: true,
        });
        let quoted = format!("see {MARK} there");
        fake.add(FakeTicket {
            title: "Quoted".to_owned(),
            body: quoted,
            labels: Vec::new(),
            by_another: false,
        });
    }
    let linear = linear(&at_linear, LINEAR_KEY, PLACE);
    linear.probe().await.unwrap();
    let first = linear.file(&ticket()).await.unwrap();
    assert_eq!(
        first,
        Filed { url: "https://linear.app/shop/issue/SHOP-3".to_owned(), was_there: false }
    );
    assert_eq!(linear.file(&ticket()).await.unwrap(), Filed { was_there: true, ..first });
    let jira = jira(&at_jira, JIRA_TOKEN, PLACE);
    jira.probe().await.unwrap();
    let first = jira.file(&ticket()).await.unwrap();
    assert_eq!(first, Filed { url: format!("{}/browse/SHOP-3", at_jira.url()), was_there: false });
    assert_eq!(jira.file(&ticket()).await.unwrap(), Filed { was_there: true, ..first });
    expect![[r#"
        [
            FakeTicket {
                title: "[P1] Orders are paid twice",
                body: "Customers pay twice.\n\n## Evidence\n\n- `orders.py:5`\n\n  ```python\n  line five\n  ```\n\ncrh:crh:0f8540e5ced1e896\n",
                labels: [
                    "P1",
                ],
                by_another: false,
            },
            FakeTicket {
                title: "[P1] Orders are paid twice",
                body: "{\"content\":[{\"content\":[{\"text\":\"Customers pay twice.\",\"type\":\"text\"}],\"type\":\"paragraph\"},{\"attrs\":{\"level\":2},\"content\":[{\"text\":\"Evidence\",\"type\":\"text\"}],\"type\":\"heading\"},{\"content\":[{\"text\":\"• `orders.py:5`\",\"type\":\"text\"}],\"type\":\"paragraph\"},{\"attrs\":{\"language\":\"python\"},\"content\":[{\"text\":\"line five\",\"type\":\"text\"}],\"type\":\"codeBlock\"},{\"content\":[{\"text\":\"crh:crh:0f8540e5ced1e896\",\"type\":\"text\"}],\"type\":\"paragraph\"}],\"type\":\"doc\",\"version\":1}\n",
                labels: [
                    "crh-crh-0f8540e5ced1e896",
                ],
                by_another: false,
            },
        ]
    "#]].assert_debug_eq(&[at_linear.tickets().remove(2), sorted(at_jira.tickets().remove(2))]);
    for fake in [&at_linear, &at_jira] {
        assert_eq!(fake.tickets().len(), 3);
        assert_eq!(fake.surprises(), [] as [&str; 0]);
    }
}

/// A ticket of Jira's with the keys of its text in one order: which one it was sent in depends on who else is compiled with it.
fn sorted(ticket: FakeTicket) -> FakeTicket {
    let body: Value = serde_json::from_str(&ticket.body).unwrap();
    FakeTicket { body: stable_json_line(&body).unwrap(), ..ticket }
}

#[tokio::test]
async fn whatever_happens_to_a_write_at_linear_and_jira_there_is_one_ticket() {
    for (trouble, is_known) in [
        (Trouble::StatusAfter(503), true),
        (Trouble::CutAfter, true),
        (Trouble::StatusBefore(503), false),
        (Trouble::CutBefore, false),
    ] {
        let (at_linear, at_jira) = (FakeTracker::linear(), FakeTracker::jira());
        at_linear.fail(trouble);
        at_jira.fail(trouble);
        let linear = linear(&at_linear, LINEAR_KEY, PLACE);
        let jira = jira(&at_jira, JIRA_TOKEN, PLACE);
        let tried = [linear.file(&ticket()).await, jira.file(&ticket()).await];
        for first in tried {
            match is_known {
                true => assert!(!first.unwrap().was_there, "{trouble:?}"),
                false => assert!(matches!(first, Err(TrackerError::Unknown { .. })), "{first:?}"),
            }
        }
        linear.file(&ticket()).await.unwrap();
        jira.file(&ticket()).await.unwrap();
        for fake in [&at_linear, &at_jira] {
            assert_eq!(fake.tickets().len(), 1, "{trouble:?}");
        }
    }
}

#[tokio::test]
async fn labels_that_linear_and_jira_refuse_are_left_out_and_the_ticket_is_still_found() {
    let (at_linear, at_jira) = (FakeTracker::linear(), FakeTracker::jira());
    at_linear.label("P1");
    for fake in [&at_linear, &at_jira] {
        fake.refuse_labels();
    }
    for _ in 0..2 {
        linear(&at_linear, LINEAR_KEY, PLACE).file(&ticket()).await.unwrap();
        jira(&at_jira, JIRA_TOKEN, PLACE).file(&ticket()).await.unwrap();
    }
    for fake in [&at_linear, &at_jira] {
        let labels: Vec<Vec<String>> =
            fake.tickets().into_iter().map(|ticket| ticket.labels).collect();
        assert_eq!(labels, [Vec::<String>::new()]);
    }
}

#[tokio::test]
async fn why_linear_and_jira_have_no_ticket_is_said_without_the_key() {
    let (at_linear, at_jira) = (FakeTracker::linear(), FakeTracker::jira());
    let mut said = String::new();
    let mut say = |what: &str, error: TrackerError| said.push_str(&format!("{what}: {error}\n"));
    say("a bad key", linear(&at_linear, "lin_bad", PLACE).file(&ticket()).await.unwrap_err());
    say("a bad token", jira(&at_jira, "bad", PLACE).file(&ticket()).await.unwrap_err());
    say("no such team", linear(&at_linear, LINEAR_KEY, "NONE").probe().await.unwrap_err());
    say("no such team", linear(&at_linear, LINEAR_KEY, "NONE").file(&ticket()).await.unwrap_err());
    say("no such project", jira(&at_jira, JIRA_TOKEN, "NONE").probe().await.unwrap_err());
    at_jira.fail(Trouble::StatusBefore(429));
    say("too much", jira(&at_jira, JIRA_TOKEN, PLACE).file(&ticket()).await.unwrap_err());
    at_jira.fail(Trouble::StatusBefore(307));
    say("elsewhere", jira(&at_jira, JIRA_TOKEN, PLACE).file(&ticket()).await.unwrap_err());
    at_jira.fail(Trouble::StatusBefore(400));
    at_jira.fail(Trouble::StatusBefore(400));
    say("refused", jira(&at_jira, JIRA_TOKEN, PLACE).file(&ticket()).await.unwrap_err());
    expect![[r#"
        a bad key: Linear does not accept the key: Authentication required
        a bad token: Jira does not accept the key: Client must be authenticated
        no such team: the team `NONE` at Linear cannot be found: not there, switched off, or not for this key
        no such team: the team `NONE` at Linear cannot be found: not there, switched off, or not for this key
        no such project: the project `NONE` at Jira cannot be found: not there, switched off, or not for this key
        too much: Jira could not be asked: it wants no more requests for now
        elsewhere: Jira could not be asked: it sends us to another address
        refused: Jira refuses: Something went wrong
    "#]].assert_eq(&said);
    assert_eq!(at_linear.tickets().len() + at_jira.tickets().len(), 0);
}

#[test]
fn a_key_goes_over_no_open_line_and_into_no_second_header() {
    let new = |base: &str, key: &str| {
        let account =
            LinearAccount { base: base.parse().unwrap(), key: key.into(), team: PLACE.to_owned() };
        Linear::new(&Network::default(), account).map(|_| ())
    };
    assert_eq!(new("https://api.linear.app", "key"), Ok(()));
    assert_eq!(new("http://api.linear.app", "key"), Err(SetupError::Plain));
    for key in ["", "a b", "a\r\nx-y: z", "é"] {
        assert_eq!(new("https://api.linear.app", key), Err(SetupError::Key), "{key}");
    }
}

#[tokio::test]
async fn a_text_that_quotes_the_mark_of_another_issue_does_not_stand_for_it() {
    let (at_linear, at_jira, scene) = (FakeTracker::linear(), FakeTracker::jira(), Scene::new());
    let linear = linear(&at_linear, LINEAR_KEY, PLACE);
    let jira = jira(&at_jira, JIRA_TOKEN, PLACE);
    let github = issues(&scene);
    // A comment of HTML stands in no body but inside of code: texts were cleaned before they came here.
    let body = format!("{MARK}\n\n- `a.py:1`\n\n  ```\n  {MARK}\n  ```\n\n`{MARKER}`\n");
    let quoting = Ticket { dedupe_key: "1111111111111111".to_owned(), body, ..ticket() };
    for ticket in [quoting, ticket()] {
        assert!(!linear.file(&ticket).await.unwrap().was_there);
        assert!(!jira.file(&ticket).await.unwrap().was_there);
        assert!(!github.file(&ticket).await.unwrap().was_there);
    }
}

/// What a program is asked for when it asks GitHub for us, in the order in which it is.
#[tokio::test]
async fn a_program_files_as_our_own_client_does() {
    let asked: Arc<Mutex<Vec<Asked>>> = Arc::default();
    let made: Arc<Mutex<Vec<Value>>> = Arc::default();
    let (log, shelf) = (asked.clone(), made.clone());
    let program = move |ask: &Asked| {
        log.lock().unwrap().push(ask.clone());
        let mut made = shelf.lock().unwrap();
        match ask {
            Asked::Query(_) => {
                Ok(json!({ "data": { "viewer": { "login": "app[bot]", "databaseId": 7 } } }))
            }
            Asked::Get(path) if path.ends_with("/labels/P1") => Ok(json!({ "name": "P1" })),
            Asked::Get(_) => Ok(Value::from(made.clone())),
            Asked::Post(_, body) => {
                let url = "https://github.com/acme/shop/issues/1";
                made.push(json!({ "html_url": url, "body": body["body"], "user": { "id": 7 } }));
                Ok(made[0].clone())
            }
        }
    };
    let repo = Repo::parse("acme/shop").unwrap();
    let issues = GitHubIssues::by_program(Box::new(program), repo);
    let url = "https://github.com/acme/shop/issues/1".to_owned();
    assert_eq!(issues.file(&ticket()).await, Ok(Filed { url: url.clone(), was_there: false }));
    assert_eq!(issues.file(&ticket()).await, Ok(Filed { url, was_there: true }));
    assert_eq!(made.lock().unwrap().len(), 1);
    let line = |asked: &Asked| match asked {
        Asked::Post(path, body) => format!("POST {path} {}", stable_json_line(body).unwrap()),
        Asked::Get(path) => format!("GET {path}\n"),
        Asked::Query(query) => format!("{query}\n"),
    };
    let asked: String = asked.lock().unwrap().iter().map(line).collect();
    expect![[r#"
        query { viewer { login databaseId } }
        GET /repos/acme/shop/issues?state=all&sort=created&direction=desc&creator=app%5Bbot%5D&per_page=100&page=1
        GET /repos/acme/shop/labels/P1
        POST /repos/acme/shop/issues {"body":"Customers pay twice.\n\n## Evidence\n\n- `orders.py:5`\n\n  ```python\n  line five\n  ```\n\n<!-- crh:crh:0f8540e5ced1e896 -->\n","labels":["P1"],"title":"[P1] Orders are paid twice"}
        query { viewer { login databaseId } }
        GET /repos/acme/shop/issues?state=all&sort=created&direction=desc&creator=app%5Bbot%5D&per_page=100&page=1
    "#]].assert_eq(&asked);
}
