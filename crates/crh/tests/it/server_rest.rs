//! `crh serve` without a GitHub App, with a fake GitLab or Gitea and a fake model: deliveries lead to
//! posted reviews.

use std::net::TcpListener;

use serde_json::{Value, json};

use crate::review::script::answers;
use crate::review::with_key;
use crate::server::{request, wait_until};
use crate::user::User;
use crh_server::webhook::signature::sign;
use crh_testkit::fake_forge::{Change, ChangeHandle, Dialect, REVIEWER, TOKEN};
use crh_testkit::{FakeForge, FakeModel, Repo, RunningProgram};

const SECRET: &str = "webhook secret";

/// A server, its forge, and an open change.
struct RestServer {
    dialect: Dialect,
    forge: FakeForge,
    change: ChangeHandle,
    port: u16,
    server: RunningProgram,
    /// The files of the server, and the branches of the forge.
    _files: (User, Repo),
}

impl RestServer {
    fn start(dialect: Dialect, name: &str, repository: &str, model: &FakeModel) -> Self {
        let repo = Repo::from_fixture("\n//- shop/orders.py\ndef total(items):\n    return 0\n");
        repo.git(&["checkout", "--quiet", "-b", "feature"]);
        repo.write(
            "shop/orders.py",
            "def total(items):\n<<<<<<< HEAD\n    return 1\n=======\n    return 2\n>>>>>>> other\n",
        );
        repo.commit("totals");
        let (forge, user) = (FakeForge::start_below(dialect, "/forge"), User::new());
        forge.repository(repository, &repo).member(repository, "ann", 30);
        let change = forge.change(repository, Change::default());
        user.write("token", TOKEN);
        user.write("secret", SECRET);
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let path = |name: &str| user.path(name).to_str().unwrap().to_owned();
        let args = [
            "serve".to_owned(),
            format!("--listen=127.0.0.1:{port}"),
            format!("--state={}", path("server")),
            format!("--forge={name}={}", forge.url()),
            format!("--forge-token={name}={}", path("token")),
            format!("--forge-secret={name}={}", path("secret")),
            "--shutdown-seconds=1".to_owned(),
        ];
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let program = with_key(user.crh(&user.path(""), &args), model);
        let server = program.env("CRH_STRATEGY", "single").start();
        let scenario = Self { dialect, forge, change, port, server, _files: (user, repo) };
        wait_until("the server answers", || scenario.get("/readyz").starts_with("HTTP/1.1 200"));
        scenario
    }

    fn get(&self, path: &str) -> String {
        let head = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
        request(self.port, &head)
    }

    /// Sends a delivery with the secret and returns the status.
    fn deliver(&self, event: &str, id: &str, payload: &Value) -> u16 {
        let body = payload.to_string();
        let (path, headers) = match self.dialect {
            Dialect::GitLab => (
                "gitlab",
                format!(
                    "x-gitlab-event: {event}\r\nx-gitlab-token: {SECRET}\r\nx-gitlab-event-uuid: {id}"
                ),
            ),
            Dialect::Gitea => {
                let signature = sign(&SECRET.into(), body.as_bytes()).replace("sha256=", "");
                let event = format!(
                    "x-gitea-event: {event}\r\nx-gitea-delivery: {id}\r\nx-gitea-signature: "
                );
                ("gitea", format!("{event}{signature}"))
            }
        };
        let head = format!(
            "POST /webhooks/{path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\
             content-type: application/json\r\n{headers}\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        let answer = request(self.port, &format!("{head}{body}"));
        answer.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0)
    }

    fn open_event(&self) -> (&'static str, Value) {
        let (head, number) = (self.forge.head(&self.change), self.change.number);
        let repository = &self.change.repository;
        match self.dialect {
            Dialect::GitLab => (
                "Merge Request Hook",
                json!({
                    "object_kind": "merge_request", "user": { "username": "author" },
                    "project": { "path_with_namespace": repository, "visibility_level": 0 },
                    "object_attributes": {
                        "iid": number, "state": "opened", "action": "open", "draft": false,
                        "source_project_id": 1, "target_project_id": 1,
                        "updated_at": "2026-01-02 03:04:05 UTC", "last_commit": { "id": head },
                    },
                }),
            ),
            Dialect::Gitea => (
                "pull_request",
                json!({
                    "action": "opened", "number": number, "sender": { "login": "author" },
                    "repository": { "full_name": repository, "private": true },
                    "pull_request": {
                        "number": number, "state": "open", "draft": false,
                        "updated_at": "2026-01-02T03:04:05Z",
                        "head": { "sha": head, "repo_id": 1 }, "base": { "repo_id": 1 },
                    },
                }),
            ),
        }
    }

    fn comment_event(&self, id: u64, author: &str, body: &str) -> (&'static str, Value) {
        let (number, repository) = (self.change.number, &self.change.repository);
        match self.dialect {
            Dialect::GitLab => (
                "Note Hook",
                json!({
                    "object_kind": "note", "user": { "username": author },
                    "project": { "path_with_namespace": repository },
                    "object_attributes": { "id": id, "note": body, "action": "create" },
                    "merge_request": { "iid": number, "state": "opened" },
                }),
            ),
            Dialect::Gitea => (
                "issue_comment",
                json!({
                    "action": "created", "is_pull": true, "repository": { "full_name": repository },
                    "issue": { "number": number, "state": "open" },
                    "comment": { "id": id, "body": body, "user": { "login": author } },
                }),
            ),
        }
    }

    /// Bodies of the server's comments.
    fn own_comments(&self) -> Vec<String> {
        let comments = self.forge.comments(&self.change).into_iter();
        comments.filter(|comment| comment.author == REVIEWER).map(|comment| comment.body).collect()
    }

    /// Waits until no job waits or runs.
    fn wait_for_quiet(&self) {
        wait_until("the queue is empty", || {
            let queue = self.get("/api/queue");
            queue.contains("\"waiting\":0") && queue.contains("\"running\":0")
        });
    }
}

fn check_server(dialect: Dialect, name: &str, repository: &str) {
    let model = FakeModel::answering(|_| answers(&[]));
    let scenario = RestServer::start(dialect, name, repository, &model);
    let (event, payload) = scenario.open_event();
    let statuses: Vec<u16> = (0..3).map(|_| scenario.deliver(event, "d-1", &payload)).collect();
    assert_eq!(statuses, [202, 200, 200]);
    wait_until("the review is posted", || !scenario.own_comments().is_empty());
    scenario.wait_for_quiet();
    assert_eq!(scenario.own_comments().len(), 1);
    assert_eq!(scenario.forge.threads(&scenario.change).len(), 1);
    assert!(!model.requests().is_empty());
    // A person with write access asks about the first issue; a stranger gets no answer.
    for (author, delivery) in [("eve", "d-2"), ("ann", "d-3")] {
        let id = scenario.forge.comment(&scenario.change, author, "/crh explain 1");
        let (event, payload) = scenario.comment_event(id, author, "/crh explain 1");
        assert_eq!(scenario.deliver(event, delivery, &payload), 202);
        scenario.wait_for_quiet();
    }
    let own = scenario.own_comments();
    assert_eq!(own.len(), 2, "{own:?}");
    assert!(own[1].contains("**Issue 1 ("), "{own:?}");
    assert!(scenario.get("/reviews/1/report").contains("orders.py"));
    scenario.server.terminate();
    let output = scenario.server.end();
    assert_eq!(output.code, 0, "{}", output.shown());
    assert!(!output.stderr.contains(TOKEN) && !output.stderr.contains(SECRET));
    assert_eq!(scenario.forge.surprises(), Vec::<String>::new());
}

#[test]
fn gitlab_delivery_leads_to_one_posted_review() {
    check_server(Dialect::GitLab, "gitlab", "acme/web/shop");
}

#[test]
fn gitea_delivery_leads_to_one_posted_review() {
    check_server(Dialect::Gitea, "gitea", "acme/shop");
}
