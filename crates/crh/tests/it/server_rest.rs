//! `crh serve` without a GitHub App, with a fake GitLab or Gitea and a fake model: deliveries lead to
//! posted reviews.

use std::net::TcpListener;

use serde_json::{Value, json};

use crate::review::with_key;
use crate::server::comments::{HEAD, QUESTION, RIGHT, WRONG, reviewer};
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
    repo: Repo,
    _user: User,
}

/// Where the branch of the change is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Branch {
    Own,
    Fork,
}

impl RestServer {
    /// A change that gives a file this content.
    fn start(dialect: Dialect, branch: Branch, head: &str, model: &FakeModel) -> Self {
        let (name, repository) = match dialect {
            Dialect::GitLab => ("gitlab", "acme/web/shop"),
            Dialect::Gitea => ("gitea", "acme/shop"),
        };
        let repo = Repo::from_fixture("\n//- shop/orders.py\ndef total(items):\n    return 0\n");
        repo.git(&["checkout", "--quiet", "-b", "feature"]);
        repo.write("shop/orders.py", head);
        repo.commit("totals");
        let (forge, user) = (FakeForge::start_below(dialect, "/forge"), User::new());
        forge.repository(repository, &repo).member(repository, "ann", 30);
        let source = match branch {
            Branch::Own => String::new(),
            Branch::Fork => "mallory/shop".to_owned(),
        };
        if branch == Branch::Fork {
            forge.fork(&source, repository, &repo);
        }
        let change = forge.change(repository, Change { source, ..Change::default() });
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
        let scenario = Self { dialect, forge, change, port, server, repo, _user: user };
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

    /// The event of a comment. On a line, GitLab says so.
    fn comment_event(
        &self,
        id: u64,
        author: &str,
        body: &str,
        kind: Option<&str>,
    ) -> (&'static str, Value) {
        let (number, repository) = (self.change.number, &self.change.repository);
        match self.dialect {
            Dialect::GitLab => (
                "Note Hook",
                json!({
                    "object_kind": "note", "user": { "username": author },
                    "project": { "path_with_namespace": repository },
                    "object_attributes": { "id": id, "note": body, "action": "create", "type": kind },
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

    /// Texts of the server on lines.
    fn own_line_comments(&self) -> Vec<String> {
        let threads = self.forge.threads(&self.change).into_iter();
        let mut own: Vec<_> = threads
            .flat_map(|thread| thread.comments)
            .filter(|comment| comment.author == REVIEWER)
            .collect();
        own.sort_by_key(|comment| comment.id);
        own.into_iter().map(|comment| comment.body).collect()
    }

    /// Delivers the event of a comment twice, and waits until it is handled.
    fn deliver_comment(&self, id: u64, author: &str, body: &str, kind: Option<&str>) {
        let (event, payload) = self.comment_event(id, author, body, kind);
        for delivery in ["first", "again"] {
            assert_eq!(self.deliver(event, &format!("c-{id}-{delivery}"), &payload), 202);
            self.wait_for_quiet();
        }
    }

    /// Comments in the conversation, and returns the new answers there.
    fn command(&self, author: &str, body: &str) -> Vec<String> {
        let before = self.own_comments().len();
        let id = self.forge.comment(&self.change, author, body);
        self.deliver_comment(id, author, body, None);
        self.own_comments().split_off(before)
    }

    /// Replies to the first comment on a line, and returns the new answers on lines.
    fn reply(&self, author: &str, body: &str) -> Vec<String> {
        let before = self.own_line_comments().len();
        let thread = self.forge.threads(&self.change).swap_remove(0).id;
        let id = self.forge.reply(&self.change, &thread, author, body);
        self.deliver_comment(id, author, body, Some("DiffNote"));
        self.own_line_comments().split_off(before)
    }

    fn review(&self) {
        let (event, payload) = self.open_event();
        assert_eq!(self.deliver(event, "d-1", &payload), 202);
        wait_until("the review is posted", || !self.own_comments().is_empty());
        self.wait_for_quiet();
    }

    fn stop(self) {
        self.server.terminate();
        let output = self.server.end();
        assert_eq!(output.code, 0, "{}", output.shown());
        assert!(!output.stderr.contains(TOKEN) && !output.stderr.contains(SECRET));
        assert_eq!(self.forge.surprises(), Vec::<String>::new());
    }
}

/// A delivery leads to one posted review. Replies of a person with write access are answered once; a
/// refuted issue is withdrawn.
fn check_replies(dialect: Dialect) {
    let model = reviewer();
    let scenario = RestServer::start(dialect, Branch::Own, HEAD, &model);
    let (event, payload) = scenario.open_event();
    let statuses: Vec<u16> = (0..3).map(|_| scenario.deliver(event, "d-1", &payload)).collect();
    assert_eq!(statuses, [202, 200, 200]);
    wait_until("the review is posted", || !scenario.own_comments().is_empty());
    scenario.wait_for_quiet();
    assert_eq!(scenario.own_comments().len(), 1);
    assert_eq!(scenario.forge.threads(&scenario.change).len(), 1);
    // A person with write access asks about the first issue; a stranger gets no answer.
    assert_eq!(scenario.command("eve", "/crh explain 1"), Vec::<String>::new());
    let answers = scenario.command("ann", "/crh explain 1");
    assert_eq!(answers.len(), 1, "{answers:?}");
    assert!(answers[0].contains("**Issue 1 ("), "{answers:?}");
    assert!(scenario.get("/reviews/1/report").contains("orders.py"));
    let asked = || model.requests().iter().filter(|it| it.caller == "answer").count();
    assert_eq!(scenario.reply("eve", RIGHT), Vec::<String>::new());
    assert_eq!(asked(), 0, "strangers spend nothing");
    for (text, expected) in [
        (QUESTION, "Every invoice is wrong."),
        (WRONG, "crh checked this issue again and stands by it."),
        (RIGHT, "crh withdraws this issue."),
    ] {
        let answers = scenario.reply("ann", text);
        assert_eq!(answers.len(), 1, "{answers:?}");
        assert!(answers[0].contains(expected), "{answers:?}");
    }
    assert_eq!(asked(), 3);
    // The forge also delivers crh's own answer, which needs no answer.
    let last = scenario.forge.threads(&scenario.change).into_iter().flat_map(|it| it.comments);
    let last = last.filter(|comment| comment.author == REVIEWER).max_by_key(|comment| comment.id);
    let last = last.unwrap();
    scenario.deliver_comment(last.id, REVIEWER, &last.body, Some("DiffNote"));
    assert_eq!(asked(), 3);
    // Only GitLab's API can resolve a conversation.
    let is_resolved = scenario.forge.threads(&scenario.change)[0].resolved;
    assert_eq!(is_resolved, dialect == Dialect::GitLab);
    // Later reviews do not report the issue again.
    scenario.command("ann", "/crh review full");
    let explained = scenario.command("ann", "/crh explain 1");
    assert!(explained[0].starts_with("The last report has no issue 1."), "{explained:?}");
    scenario.stop();
}

#[test]
fn gitlab_delivery_and_replies_are_handled_once() {
    check_replies(Dialect::GitLab);
}

#[test]
fn gitea_delivery_and_replies_are_handled_once() {
    check_replies(Dialect::Gitea);
}

/// A fix is committed once to a branch of the repository, with the line ends of the file.
fn check_fix(dialect: Dialect) {
    let head = HEAD.replace('\n', "\r\n");
    let model = reviewer();
    let scenario = RestServer::start(dialect, Branch::Own, &head, &model);
    scenario.review();
    let before = scenario.forge.head(&scenario.change);
    assert_eq!(scenario.command("eve", "/crh fix 1"), Vec::<String>::new());
    assert_eq!(scenario.forge.head(&scenario.change), before);
    let answers = scenario.command("ann", "/crh fix 1");
    let head = scenario.forge.head(&scenario.change);
    assert_eq!(answers.len(), 1, "{answers:?}");
    assert!(answers[0].starts_with(&format!("Fixed issue 1 in {head}.")), "{answers:?}");
    let git = |args: &[&str]| String::from_utf8(scenario.repo.git(args)).unwrap();
    assert_eq!(git(&["rev-parse", &format!("{head}^")]).trim(), before);
    let file = git(&["show", &format!("{head}:shop/orders.py")]);
    assert_eq!(file, "def total(items):\r\n    return sum(items)\r\n");
    let answers = scenario.command("ann", "/crh fix 1");
    assert!(answers[0].starts_with("The branch moved since the last review"), "{answers:?}");
    scenario.stop();
}

#[test]
fn gitlab_fix_is_committed_once() {
    check_fix(Dialect::GitLab);
}

#[test]
fn gitea_fix_is_committed_once() {
    check_fix(Dialect::Gitea);
}

/// crh cannot commit to the branch of a fork.
#[test]
fn fix_of_a_fork_is_suggested_at_gitlab_and_shown_at_gitea() {
    for dialect in [Dialect::GitLab, Dialect::Gitea] {
        let model = reviewer();
        let scenario = RestServer::start(dialect, Branch::Fork, HEAD, &model);
        scenario.command("ann", "/crh review");
        let (head, before) =
            (scenario.forge.head(&scenario.change), scenario.own_line_comments().len());
        let answers = scenario.command("ann", "/crh fix 1");
        let suggested = scenario.own_line_comments().split_off(before);
        match dialect {
            Dialect::GitLab => {
                assert_eq!(answers, Vec::<String>::new(), "the suggestion is the answer");
                assert_eq!(suggested.len(), 1, "{suggested:?}");
                let code = "```suggestion:-0+0\n    return sum(items)\n```";
                assert!(suggested[0].contains(code), "{suggested:?}");
            }
            Dialect::Gitea => {
                assert_eq!(suggested, Vec::<String>::new());
                assert!(answers[0].contains("return sum(items)"), "{answers:?}");
            }
        }
        assert_eq!(scenario.forge.head(&scenario.change), head);
        scenario.stop();
    }
}
