//! Deliveries become jobs, exactly once.

use super::*;
use crate::job::{JobKind, JobState};

#[tokio::test]
async fn delivery_that_comes_ten_times_is_one_job() {
    let server = TestServer::start(TestSignIn::None).await;
    let payload = push("acme/shop", 12, HEAD, 1);
    let mut statuses = Vec::new();
    for _ in 0..10 {
        statuses.push(server.deliver("pull_request", "d-1", &payload).await);
    }
    assert_eq!(statuses, [vec![202], vec![200; 9]].concat());
    // Another delivery about the same head adds nothing either.
    assert_eq!(server.deliver("pull_request", "d-2", &payload).await, 202);
    let jobs = server.jobs().await;
    assert_eq!(jobs.len(), 1);
    assert_eq!((jobs[0].key.kind, jobs[0].key.head.as_str()), (JobKind::Review, HEAD));
    let installations = server.store.installations().await.unwrap();
    assert_eq!((installations.len(), installations[0].id.0), (1, 7));
    server.stop().await;
}

#[tokio::test]
async fn newer_push_supersedes_and_closing_cancels() {
    let server = TestServer::start(TestSignIn::None).await;
    let newer = HEAD.replace('1', "2");
    assert_eq!(server.deliver("pull_request", "d-1", &push("acme/shop", 12, HEAD, 1)).await, 202);
    assert_eq!(server.deliver("pull_request", "d-2", &push("acme/shop", 12, &newer, 2)).await, 202);
    // The first delivery, again and late.
    assert_eq!(server.deliver("pull_request", "d-3", &push("acme/shop", 12, HEAD, 1)).await, 202);
    let states = async || -> Vec<(char, JobState)> {
        let jobs = server.jobs().await;
        jobs.iter().map(|job| (job.key.head.chars().next().unwrap(), job.state)).collect()
    };
    assert_eq!(states().await, [('2', JobState::Waiting), ('1', JobState::Superseded)]);
    let mut closed = push("acme/shop", 12, &newer, 3);
    closed["action"] = json!("closed");
    assert_eq!(server.deliver("pull_request", "d-4", &closed).await, 202);
    assert_eq!(states().await, [('2', JobState::Superseded), ('1', JobState::Superseded)]);
    server.stop().await;
}

#[tokio::test]
async fn stranger_causes_a_notice_and_no_review() {
    let server = TestServer::start(TestSignIn::None).await;
    let mut payload = push("acme/shop", 12, HEAD, 1);
    payload["pull_request"]["author_association"] = json!("NONE");
    assert_eq!(server.deliver("pull_request", "d-1", &payload).await, 202);
    let jobs = server.jobs().await;
    assert_eq!(jobs.len(), 1);
    assert_eq!(jobs[0].key.kind, JobKind::Command);
    assert_eq!(jobs[0].payload, json!({ "task": "await-maintainer" }));
    server.stop().await;
}

#[tokio::test]
async fn refused_deliveries_leave_nothing() {
    let server = TestServer::start(TestSignIn::None).await;
    let body = push("acme/shop", 12, HEAD, 1).to_string();
    let signed = |body: &str| sign(&SecretString::from(SECRET), body.as_bytes());
    let named = [("x-github-event", "pull_request"), ("x-github-delivery", "d-1")];
    let other = sign(&SecretString::from("other"), body.as_bytes());
    assert_eq!(server.send_delivery(&named, &other, body.clone()).await, 401);
    assert_eq!(server.send_delivery(&named, "", body.clone()).await, 401);
    assert_eq!(server.send_delivery(&named, &signed(&body), format!("{body} ")).await, 401);
    let cut = body[..body.len() / 2].to_owned();
    assert_eq!(server.send_delivery(&named, &signed(&cut), cut).await, 400);
    let large = " ".repeat(30 << 20);
    assert_eq!(server.send_delivery(&named, &signed(&large), large).await, 413);
    assert_eq!(server.send_delivery(&named[..1], &signed(&body), body.clone()).await, 400);
    assert_eq!(server.send_delivery(&named[1..], &signed(&body), body.clone()).await, 400);
    let odd = [named[0], ("x-github-delivery", "'; DROP TABLE jobs --")];
    assert_eq!(server.send_delivery(&odd, &signed(&body), body.clone()).await, 400);
    let unknown = [("x-github-event", "star"), named[1]];
    assert_eq!(server.send_delivery(&unknown, &signed(&body), body.clone()).await, 202);
    assert_eq!(server.jobs().await, []);
    // None of them used up the id.
    assert_eq!(server.send_delivery(&named, &signed(&body), body).await, 202);
    assert_eq!(server.jobs().await.len(), 1);
    server.stop().await;
}

#[tokio::test]
async fn body_without_a_length_is_limited_too() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let server = TestServer::start(TestSignIn::None).await;
    let mut stream =
        tokio::net::TcpStream::connect(server.url.trim_start_matches("http://")).await.unwrap();
    let head = "POST /webhooks/github HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n";
    stream.write_all(head.as_bytes()).await.unwrap();
    let chunk = format!("100000\r\n{}\r\n", " ".repeat(1 << 20));
    let (mut reader, mut writer) = stream.into_split();
    // The server may close the connection in the middle.
    let sent = tokio::spawn(async move {
        for _ in 0..30 {
            if writer.write_all(chunk.as_bytes()).await.is_err() {
                break;
            }
        }
        writer
    });
    let mut answer = [0; 12];
    reader.read_exact(&mut answer).await.unwrap();
    assert_eq!(std::str::from_utf8(&answer).unwrap(), "HTTP/1.1 413");
    drop(sent.await.unwrap());
    server.stop().await;
}

#[tokio::test]
async fn delivery_is_accepted_again_after_the_database_failed() {
    let server = TestServer::start(TestSignIn::None).await;
    let payload = push("acme/shop", 12, HEAD, 1);
    server.store.close().await;
    assert_eq!(server.deliver("pull_request", "d-1", &payload).await, 503);
    assert_eq!(server.get("/readyz", "").await.0, 503);
    assert_eq!(server.get("/healthz", "").await.0, 200);
    let url = DatabaseUrl::Sqlite(server.folder.path().join("crh.db"));
    let store = Store::open(&url).await.unwrap();
    let settings = settings(&server.folder, SignIn::default(), None);
    let address = "127.0.0.1:0".parse().unwrap();
    let again = HttpServer::bind(address, store, access(&server.github), settings).await.unwrap();
    let url = format!("http://{}", again.address());
    let (stop, stopped) = oneshot::channel::<()>();
    let task = tokio::spawn(again.serve(async move { drop(stopped.await) }));
    let old = TestServer { url, ..server };
    assert_eq!(old.deliver("pull_request", "d-1", &payload).await, 202);
    drop(stop);
    task.await.unwrap();
    old.stop().await;
}

#[tokio::test]
async fn installation_comes_and_goes() {
    let server = TestServer::start(TestSignIn::None).await;
    let payload = |action: &str| {
        json!({
            "action": action, "installation": { "id": 7, "account": { "login": "acme" } },
            "repositories": [{ "full_name": "acme/shop", "private": true }, { "full_name": "acme/tools" }],
        })
    };
    assert_eq!(server.deliver("installation", "d-1", &payload("created")).await, 202);
    assert_eq!(server.get("/repositories", "").await.1.matches("/repositories/acme/").count(), 2);
    assert_eq!(server.jobs().await[0].key.kind, JobKind::Reconcile);
    server.deliver("pull_request", "d-2", &push("acme/shop", 12, HEAD, 1)).await;
    assert_eq!(server.deliver("installation", "d-3", &payload("deleted")).await, 202);
    assert!(server.store.installations().await.unwrap().is_empty());
    assert!(server.jobs().await.is_empty());
    server.stop().await;
}

#[tokio::test]
async fn slow_body_is_cut_off() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let (github, folder) = (FakeGitHub::start(), TempDir::new().unwrap());
    let url = DatabaseUrl::Sqlite(folder.path().join("crh.db"));
    let store = Store::open(&url).await.unwrap();
    let settings = settings(&folder, SignIn::default(), None);
    let (address, time) = ("127.0.0.1:0".parse().unwrap(), Duration::from_millis(200));
    let access = access(&github);
    let server = HttpServer::bind_with_body_time(address, store, access, settings, time).await;
    let server = server.unwrap();
    let address = server.address();
    let task = tokio::spawn(server.serve(std::future::pending()));
    for path in ["/webhooks/github", "/sign-in"] {
        let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
        let head =
            format!("POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-length: 9\r\n\r\n{{");
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut answer = [0; 12];
        stream.read_exact(&mut answer).await.unwrap();
        assert_eq!(std::str::from_utf8(&answer).unwrap(), "HTTP/1.1 408", "{path}");
    }
    task.abort();
}
