//! `crh serve` with real workers, a fake GitHub and a fake model: signed deliveries lead to posted
//! reviews.

pub(crate) mod comments;

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::review::script::answers;
use crate::review::with_key;
use crate::user::User;
use crh_server::webhook::signature::sign;
use crh_testkit::fake_github::{APP_KEY, Permission, Pull, PullHandle};
use crh_testkit::fake_model::bad_key;
use crh_testkit::{FakeGitHub, FakeModel, Repo, RunningProgram};

const NAME: &str = "acme/shop";
const SECRET: &str = "webhook secret";

/// A file with a conflict that a static check finds.
const CONFLICT: &str =
    "def total(items):\n<<<<<<< HEAD\n    return 1\n=======\n    return 2\n>>>>>>> other\n";

/// Longest wait for a review on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// A server, its forge, and a pull request of a member.
struct ServerScenario {
    github: FakeGitHub,
    repo: Repo,
    pull: PullHandle,
    installation: u64,
    port: u16,
    server: Option<RunningProgram>,
    user: User,
}

impl ServerScenario {
    fn start(model: &FakeModel) -> Self {
        Self::start_with(model, CONFLICT, &Permission::ALL, None)
    }

    /// A pull request that gives a file this content, from the repository or from a fork.
    fn start_with(
        model: &FakeModel,
        head: &str,
        permissions: &[Permission],
        fork: Option<&str>,
    ) -> Self {
        Self::start_with_workers(model, head, permissions, fork, 2)
    }

    fn start_with_workers(
        model: &FakeModel,
        head: &str,
        permissions: &[Permission],
        fork: Option<&str>,
        workers: u32,
    ) -> Self {
        let repo = Repo::from_fixture("\n//- shop/orders.py\ndef total(items):\n    return 0\n");
        repo.git(&["checkout", "--quiet", "-b", "feature"]);
        repo.write("shop/orders.py", head);
        repo.commit("totals");
        let (github, user) = (FakeGitHub::start(), User::new());
        github.repository(NAME, &repo).association(NAME, "author", "MEMBER");
        let pull = match fork {
            None => github.pull(NAME, Pull::default()),
            Some(owner) => {
                github.fork(&format!("{owner}/shop"), NAME, &repo);
                let (head, author) = (format!("{owner}:feature"), owner.to_owned());
                github.pull(NAME, Pull { head, author, ..Pull::default() })
            }
        };
        let app = github.app("crh", "acme", permissions);
        user.write("key.pem", APP_KEY);
        user.write("secret", SECRET);
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let installation = github.installation(app);
        let scenario = Self { github, repo, pull, installation, port, server: None, user };
        let server = scenario.serve(model, app, workers);
        let scenario = Self { server: Some(server), ..scenario };
        wait_until("the server answers", || scenario.get("/readyz").starts_with("HTTP/1.1 200"));
        scenario
    }

    fn serve(&self, model: &FakeModel, app: u64, workers: u32) -> RunningProgram {
        let path = |name: &str| self.user.path(name).to_str().unwrap().to_owned();
        let args = [
            "serve".to_owned(),
            format!("--listen=127.0.0.1:{}", self.port),
            format!("--state={}", path("server")),
            format!("--app-id={app}"),
            format!("--app-key={}", path("key.pem")),
            format!("--webhook-secret={}", path("secret")),
            "--shutdown-seconds=1".to_owned(),
            format!("--workers={workers}"),
        ];
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let program = with_key(self.user.crh(&self.user.path(""), &args), model);
        let program = program.envs(&self.github.environment_without());
        // Operators name a model, also for the steps that have no key.
        program.env("CRH_STRATEGY", "single").env("CRH_MODEL", "openai:gpt-5.4-mini").start()
    }

    fn get(&self, path: &str) -> String {
        request(
            self.port,
            &format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n"),
        )
    }

    /// Sends a signed delivery and returns the status.
    fn deliver(&self, event: &str, id: &str, payload: &Value) -> u16 {
        let body = payload.to_string();
        let signature = sign(&SECRET.into(), body.as_bytes());
        let head = format!(
            "POST /webhooks/github HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\
             content-type: application/json\r\nx-github-event: {event}\r\nx-github-delivery: {id}\r\n\
             x-hub-signature-256: {signature}\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        let answer = request(self.port, &format!("{head}{body}"));
        answer.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0)
    }

    fn push_event(&self, second: u32) -> Value {
        json!({
            "action": "synchronize", "number": self.pull.number,
            "pull_request": {
                "number": self.pull.number, "state": "open", "draft": false,
                "author_association": "MEMBER", "updated_at": format!("2026-11-17T20:30:{second:02}Z"),
                "head": { "sha": self.github.head(&self.pull), "repo": { "full_name": NAME } },
            },
            "repository": { "full_name": NAME, "private": false },
            "installation": { "id": self.installation },
            "sender": { "login": "author", "type": "User" },
        })
    }

    fn comment_event(&self, id: u64, author: &str, body: &str) -> Value {
        json!({
            "action": "created",
            "issue": { "number": self.pull.number, "state": "open", "pull_request": {} },
            "comment": { "id": id, "body": body, "user": { "login": author, "type": "User" } },
            "repository": { "full_name": NAME }, "installation": { "id": self.installation },
        })
    }

    /// Waits until no job waits or runs.
    fn wait_for_quiet(&self) {
        wait_until("the queue is empty", || {
            let queue = self.get("/api/queue");
            queue.contains("\"waiting\":0") && queue.contains("\"running\":0")
        });
    }

    /// Asks the server to stop and returns its log.
    fn stop(mut self) -> String {
        let server = self.server.take().unwrap();
        server.terminate();
        let output = server.end();
        assert_eq!(output.code, 0, "{}", output.shown());
        assert_eq!(self.github.surprises(), Vec::<String>::new());
        assert!(!output.stderr.contains("PRIVATE KEY") && !output.stderr.contains(SECRET));
        output.stderr
    }
}

pub(crate) fn request(port: u16, text: &str) -> String {
    let Ok(mut stream) = TcpStream::connect(("127.0.0.1", port)) else { return String::new() };
    let mut answer = String::new();
    // A server that just starts or stops may close the connection.
    if stream.write_all(text.as_bytes()).is_ok() {
        drop(stream.read_to_string(&mut answer));
    }
    answer
}

pub(crate) fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < PATIENCE, "waited too long until {what}");
        thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn signed_delivery_leads_to_one_posted_review() {
    let model = FakeModel::answering(|_| answers(&[]));
    let scenario = ServerScenario::start(&model);
    let event = scenario.push_event(1);
    let statuses: Vec<u16> =
        (0..10).map(|_| scenario.deliver("pull_request", "d-1", &event)).collect();
    assert_eq!(statuses, [vec![202], vec![200; 9]].concat());
    wait_until("the review is posted", || !scenario.github.comments(&scenario.pull).is_empty());
    scenario.wait_for_quiet();
    assert_eq!(scenario.deliver("pull_request", "d-2", &event), 202);
    scenario.wait_for_quiet();
    let comments = scenario.github.comments(&scenario.pull);
    assert_eq!(comments.len(), 1, "{comments:?}");
    assert_eq!(comments[0].author, "crh[bot]");
    assert_eq!(scenario.github.reviews(&scenario.pull).len(), 1);
    let page = scenario.get("/reviews/1");
    assert!(page.contains("Open the report"), "{page}");
    assert!(scenario.get("/reviews/1/report").contains("orders.py"));
    // When the pull request is closed, the page shows what became of its issues.
    let page_of_repository = || scenario.get(&format!("/repositories/{NAME}"));
    assert!(page_of_repository().contains("crh decides this when"), "{}", page_of_repository());
    scenario.github.close(&scenario.pull);
    let mut closed = scenario.push_event(2);
    closed["action"] = json!("closed");
    closed["pull_request"]["state"] = json!("closed");
    assert_eq!(scenario.deliver("pull_request", "d-3", &closed), 202);
    wait_until("the outcome is shown", || page_of_repository().contains("ignored: 1"));
    assert!(page_of_repository().contains("Share acted on"), "{}", page_of_repository());
    scenario.stop();
}

#[test]
fn revoked_model_key_is_shown_and_the_review_follows_when_it_works_again() {
    let revoked = Arc::new(AtomicBool::new(true));
    let is_revoked = revoked.clone();
    let model = FakeModel::answering(move |_| {
        if is_revoked.load(Ordering::Relaxed) { bad_key() } else { answers(&[]) }
    });
    let scenario = ServerScenario::start(&model);
    assert_eq!(scenario.deliver("pull_request", "d-1", &scenario.push_event(1)), 202);
    let reason = "review: reviewer single: ";
    wait_until("the page says why", || scenario.get("/").contains(reason));
    let page = scenario.get("/");
    assert!(page.contains("key") && !page.contains(crate::review::KEY), "{page}");
    assert_eq!(scenario.github.comments(&scenario.pull).len(), 0);
    revoked.store(false, Ordering::Relaxed);
    wait_until("the review is posted", || !scenario.github.comments(&scenario.pull).is_empty());
    scenario.wait_for_quiet();
    assert_eq!(scenario.github.reviews(&scenario.pull).len(), 1);
    scenario.stop();
}

#[test]
fn commands_of_people_with_write_access_are_carried_out_once() {
    let model = FakeModel::answering(|_| answers(&[]));
    let scenario = ServerScenario::start(&model);
    scenario.github.role(NAME, "ann", "write").role(NAME, "eve", "read");
    let write = |author: &str, body: &str, delivery: &str| {
        let id = scenario.github.comment(&scenario.pull, author, body);
        let event = scenario.comment_event(id, author, body);
        assert_eq!(scenario.deliver("issue_comment", delivery, &event), 202);
        scenario.wait_for_quiet();
        (id, event)
    };
    let answers = || -> Vec<String> {
        let comments = scenario.github.comments(&scenario.pull);
        let own = comments.into_iter().filter(|comment| comment.author == "crh[bot]");
        own.map(|comment| comment.body).collect()
    };
    // A stranger gets no review and no answer.
    write("eve", "/crh review", "d-1");
    assert!(answers().is_empty() && scenario.github.reactions(NAME).is_empty());
    let (id, event) = write("ann", "/crh review", "d-2");
    assert_eq!(scenario.github.reactions(NAME), [(id, "+1".to_owned())]);
    assert_eq!(answers().len(), 1, "the summary of the review");
    assert_eq!(scenario.deliver("issue_comment", "d-3", &event), 202);
    scenario.wait_for_quiet();
    assert_eq!(answers().len(), 1);
    write("ann", "/crh explain 1", "d-4");
    assert!(
        answers()[1].contains("**Issue 1 (") && answers()[1].contains("<<<<<<< HEAD"),
        "{:?}",
        answers()
    );
    write("ann", "/crh explain 99", "d-5");
    assert!(answers()[2].starts_with("The last report has no issue 99."));
    write("ann", "/crh hlep", "d-6");
    assert!(answers()[3].starts_with("this is not a command of crh."));
    write("ann", "/crh dismiss 1 --list is fine", "d-7");
    assert!(answers()[4].starts_with("Later reviews hide issue 1: "), "{:?}", answers());
    write("ann", "/crh pause", "d-8");
    assert_eq!(scenario.github.reactions(NAME).len(), 2);
    assert!(scenario.get("/audit").contains("crh dismiss"));
    scenario.stop();
}

/// A maintainer who read the first report dismisses its issue 1 while the second review runs. There,
/// issue 1 is another one.
#[test]
fn dismissal_by_number_is_refused_after_a_newer_review() {
    let (gate, is_held) = (Arc::new((Mutex::new(true), Condvar::new())), AtomicBool::new(false));
    let is_held = Arc::new(is_held);
    let (held, holds) = (gate.clone(), is_held.clone());
    let model = FakeModel::answering(move |_| {
        let (is_closed, changed) = &*held;
        if holds.load(Ordering::Relaxed) {
            let is_closed = is_closed.lock().unwrap();
            drop(changed.wait_timeout_while(is_closed, PATIENCE, |is_closed| *is_closed));
        }
        answers(&[])
    });
    // The only worker runs the command after the review.
    let scenario = ServerScenario::start_with_workers(&model, CONFLICT, &Permission::ALL, None, 1);
    scenario.github.role(NAME, "ann", "write");
    let own_comments = || -> Vec<String> {
        let comments = scenario.github.comments(&scenario.pull).into_iter();
        comments.filter(|it| it.author == "crh[bot]").map(|it| it.body).collect()
    };
    assert_eq!(scenario.deliver("pull_request", "d-1", &scenario.push_event(1)), 202);
    wait_until("the first review is posted", || !own_comments().is_empty());
    scenario.wait_for_quiet();
    is_held.store(true, Ordering::Relaxed);
    let asked_before = model.requests().len();
    scenario.repo.git(&["checkout", "--quiet", "feature"]);
    scenario.repo.write("aaa.py", CONFLICT);
    scenario.repo.commit("another conflict, in front of the first");
    scenario.github.push(&scenario.pull);
    assert_eq!(scenario.deliver("pull_request", "d-2", &scenario.push_event(2)), 202);
    wait_until("the second review runs", || model.requests().len() > asked_before);
    let dismissal = "/crh dismiss 1 a false alarm";
    let id = scenario.github.comment(&scenario.pull, "ann", dismissal);
    let event = scenario.comment_event(id, "ann", dismissal);
    assert_eq!(scenario.deliver("issue_comment", "d-3", &event), 202);
    *gate.0.lock().unwrap() = false;
    gate.1.notify_all();
    wait_until("crh answers", || own_comments().len() == 2);
    scenario.wait_for_quiet();
    let comments = own_comments();
    assert!(comments[0].contains("aaa.py"), "the second report is posted: {comments:?}");
    assert!(comments[1].starts_with("There is a newer review than"), "{comments:?}");
    scenario.stop();
}

#[test]
fn wrong_set_up_is_explained() {
    let user = User::new();
    user.write("key.pem", "nonsense");
    let run = |args: &[&str]| {
        let output = user.crh(&user.path(""), &[&["serve"], args].concat()).run();
        assert_eq!(output.code, 2, "{}", output.shown());
        output.stderr
    };
    assert!(run(&[]).contains("hint: for GitHub, set `--app-id` or `CRH_GITHUB_APP_ID`"));
    assert!(run(&["--app-id", "1"]).contains("name a file with `--app-key`"));
    let error = run(&["--app-id", "1", "--app-key", "key.pem"]);
    assert!(error.contains("invalid GitHub App key"), "{error}");
    user.write("key.pem", APP_KEY);
    user.write("secret", SECRET);
    let common = ["--app-id", "1", "--app-key", "key.pem", "--webhook-secret", "secret"];
    let open = run(&[&common[..], &["--listen", "0.0.0.0:0"]].concat());
    assert!(open.contains("would be open to everyone") && open.contains("--page-token"), "{open}");
    let missing = run(&["--app-id", "1", "--app-key", "key.pem", "--webhook-secret", "none"]);
    assert!(missing.contains("cannot read the secret in"), "{missing}");
    assert!(missing.contains("hint: `--webhook-secret` names a file"), "{missing}");
    let database = run(&[&common[..], &["--database", "foo"]].concat());
    assert!(database.contains("hint: such as `sqlite:"), "{database}");
}
