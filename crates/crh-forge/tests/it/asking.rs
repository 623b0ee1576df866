//! The HTTP client: retries, cache, waits and errors.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use expect_test::expect;
use serde_json::{Value, json};

use crate::scene::{QUICK, Scene};
use crh_forge::github::{
    GitHubClient, GitHubClientConfig, GitHubCredentials, GitHubHost, ReplyCache, TIMEOUTS,
};
use crh_forge::posting::Verb;
use crh_forge::{ForgeError, ForgeRetryPolicy};
use crh_http::{NetworkSettings, Timeouts};
use crh_testkit::fake_github::{Fault, FaultKind, Permission, TOKEN};

const PULL: &str = "/repos/acme/shop/pulls/2";
const COMMENTS: &str = "/repos/acme/shop/issues/2/comments";

async fn pull_number(client: &GitHubClient) -> Result<u64, ForgeError> {
    let pull: Value = client.get_json(PULL).await?;
    Ok(pull["number"].as_u64().unwrap())
}

#[tokio::test]
async fn reads_are_retried_until_answered() {
    for how in [
        FaultKind::StatusBefore(502),
        FaultKind::StatusBefore(500),
        FaultKind::CutBefore,
        FaultKind::NotModified,
        FaultKind::SecondaryLimit { retry_after: None },
        FaultKind::SecondaryLimit { retry_after: Some(0) },
        FaultKind::PrimaryLimit { resets_in: 0 },
    ] {
        let scene = Scene::new();
        scene.github.fail(Fault::on("GET", "*", how.clone()).times(2));
        assert_eq!(pull_number(&scene.client()).await, Ok(2), "{how:?}");
        assert_eq!(scene.github.requests().len(), 3, "{how:?}");
    }
}

#[tokio::test]
async fn retries_end_with_a_reason() {
    let mut lines = String::new();
    for (how, times) in [
        (FaultKind::StatusBefore(503), 3),
        (FaultKind::CutBefore, 3),
        (FaultKind::SecondaryLimit { retry_after: Some(0) }, 3),
        (FaultKind::SecondaryLimit { retry_after: Some(60) }, 1),
        (FaultKind::PrimaryLimit { resets_in: 3_000 }, 1),
    ] {
        let scene = Scene::new();
        scene.github.fail(Fault::on("GET", "*", how.clone()).times(9));
        let error = pull_number(&scene.client()).await.unwrap_err();
        assert_eq!(scene.github.requests().len(), times, "{how:?}");
        lines += &format!("{error}\n").replace(scene.host().name(), "HOST");
    }
    expect![[r#"
        `HOST` answers with server errors: status 503 (Service Unavailable)
        cannot reach `HOST`: connection closed before message completed
        rate limited by `HOST`
        rate limited by `HOST`; retry in 60 seconds
        rate limited by `HOST`; retry in 50 minutes
    "#]]
    .assert_eq(&lines);
}

#[tokio::test]
async fn writes_are_repeated_only_if_nothing_happened() {
    let mut lines = String::new();
    for how in [
        FaultKind::StatusBefore(502),
        FaultKind::StatusAfter(502),
        FaultKind::StatusAfter(503),
        FaultKind::CutBefore,
        FaultKind::CutAfter,
        FaultKind::SecondaryLimit { retry_after: Some(0) },
        FaultKind::StatusBefore(422),
    ] {
        let scene = Scene::new();
        scene.github.fail(Fault::on_write(1, how.clone()));
        let result = scene.client().write(Verb::Post, COMMENTS, &json!({ "body": "hello" })).await;
        let message = match result {
            Ok(comment) => format!("posted: {}", comment["body"]),
            Err(error) => error.to_string(),
        };
        let comment_count = scene.github.comments(&scene.pull).len();
        let write_count = scene.github.writes_received();
        lines += &format!("{how:?}: {write_count} sent, {comment_count} there\n    {message}\n");
    }
    expect![[r#"
        StatusBefore(502): 1 sent, 0 there
            cannot tell whether `POST /repos/acme/shop/issues/2/comments` was applied: Server Error
        StatusAfter(502): 1 sent, 1 there
            cannot tell whether `POST /repos/acme/shop/issues/2/comments` was applied: Server Error
        StatusAfter(503): 1 sent, 1 there
            cannot tell whether `POST /repos/acme/shop/issues/2/comments` was applied: Server Error
        CutBefore: 1 sent, 0 there
            cannot tell whether `POST /repos/acme/shop/issues/2/comments` was applied: connection closed before message completed
        CutAfter: 1 sent, 1 there
            cannot tell whether `POST /repos/acme/shop/issues/2/comments` was applied: connection closed before message completed
        SecondaryLimit { retry_after: Some(0) }: 2 sent, 1 there
            posted: "hello"
        StatusBefore(422): 1 sent, 0 there
            `POST /repos/acme/shop/issues/2/comments` was rejected with status 422: Server Error
    "#]].assert_eq(&lines);
}

#[tokio::test]
async fn mutations_are_writes_and_queries_are_reads() {
    let scene = Scene::new();
    let thread = scene.github.thread(&scene.pull, "ben", ("orders.py", 5), "Why?");
    let client = scene.client();
    scene.github.fail(Fault::on("POST", "/api/graphql", FaultKind::StatusAfter(502)));
    let data: Value = client.graphql("query { viewer { login } }", &json!({})).await.unwrap();
    assert_eq!(data, json!({ "viewer": { "login": "crh-reviewer" } }));
    let resolve = "mutation($id: ID!) { resolveReviewThread(input: { threadId: $id }) { thread { isResolved } } }";
    scene.github.fail(Fault::on("POST", "/api/graphql", FaultKind::StatusAfter(502)));
    let error = client.graphql::<Value>(resolve, &json!({ "id": thread })).await.unwrap_err();
    assert!(matches!(error, ForgeError::Ambiguous { .. }), "{error}");
    assert!(scene.github.threads(&scene.pull)[0].resolved, "it was applied all the same");
    let error = client.graphql::<Value>(resolve, &json!({ "id": "PRRT_0" })).await.unwrap_err();
    assert!(matches!(error, ForgeError::NotFound { .. }), "{error}");
}

#[tokio::test]
async fn unchanged_reply_comes_from_cache() {
    let scene = Scene::new();
    let folder = tempfile::tempdir().unwrap();
    let client = |token: &str| {
        let cache = ReplyCache::in_folder(folder.path().join("forge"));
        scene.client_with(cache, GitHubCredentials::Token(token.into()))
    };
    let status = || scene.github.requests().last().unwrap().status;
    assert_eq!(pull_number(&client(TOKEN)).await, Ok(2));
    assert_eq!(status(), Some(200));
    assert_eq!(pull_number(&client(TOKEN)).await, Ok(2));
    assert_eq!(status(), Some(304), "another process of the same account");
    scene.github.token("ghp_other", "ben", &Permission::ALL);
    assert_eq!(pull_number(&client("ghp_other")).await, Ok(2));
    assert_eq!(status(), Some(200), "another account knows nothing of it");
    assert_eq!(pull_number(&scene.client()).await, Ok(2));
    assert_eq!(status(), Some(200), "without a cache nothing is known");
    scene.github.close(&scene.pull);
    let closed: Value = client(TOKEN).get_json(PULL).await.unwrap();
    assert_eq!((status(), closed["state"].as_str()), (Some(200), Some("closed")));
    scene.github.fail(Fault::on("GET", "*", FaultKind::NewEtag));
    assert_eq!(pull_number(&client(TOKEN)).await, Ok(2));
    assert_eq!(status(), Some(200), "a new name for the same answer");
    for entry in std::fs::read_dir(folder.path().join("forge")).unwrap() {
        let cache_file = std::fs::read(entry.unwrap().path()).unwrap();
        let cache_file = String::from_utf8_lossy(&cache_file);
        assert!(!cache_file.contains(TOKEN) && !cache_file.contains("ghp_other"));
    }
}

#[tokio::test]
async fn requests_have_user_agent_and_api_version() {
    let scene = Scene::new();
    let client = scene.client();
    pull_number(&client).await.unwrap();
    let request = scene.github.requests().pop().unwrap();
    let header = |name: &str| request.header(name).unwrap_or_default().to_owned();
    assert_eq!(header("accept"), "application/vnd.github+json");
    assert_eq!(header("x-github-api-version"), "2022-11-28");
    assert!(header("user-agent").starts_with("crh/"));
    assert_eq!(header("authorization"), format!("Bearer {TOKEN}"));
    assert_eq!(scene.github.surprises(), Vec::<String>::new());
    let limits = client.limits();
    assert_eq!((limits[0].resource.as_str(), limits[0].limit), ("core", 5_000));
    assert!(limits[0].remaining < 5_000);
}

#[tokio::test]
async fn permission_errors_are_distinguished() {
    let scene = Scene::new();
    scene.github.token("ghp_poor", "ben", &[Permission::Contents]);
    let mut lines = String::new();
    for (token, path) in [
        ("ghp_unknown", PULL),
        ("ghp_poor", PULL),
        (TOKEN, "/repos/acme/shop/pulls/77"),
        (TOKEN, "/repos/acme/other/pulls/1"),
    ] {
        let client =
            scene.client_with(ReplyCache::disabled(), GitHubCredentials::Token(token.into()));
        let error = client.get_json::<Value>(path).await.unwrap_err();
        assert!(!format!("{error} {error:?} {client:?}").contains(token));
        lines += &format!("{error}\n").replace(scene.host().name(), "HOST");
    }
    expect![[r#"
        `HOST` rejected the credentials: Bad credentials
        the token does not permit `GET /repos/acme/shop/pulls/2`: Resource not accessible by personal access token
        `GET /repos/acme/shop/pulls/77` failed: not found, or the token cannot see it
        `GET /repos/acme/other/pulls/1` failed: not found, or the token cannot see it
    "#]].assert_eq(&lines);
}

#[tokio::test]
async fn pages_are_read_in_order() {
    for count in [0_usize, 1, 100, 101, 1_234] {
        let scene = Scene::new();
        for number in 0..count {
            scene.github.comment(&scene.pull, "ben", &number.to_string());
        }
        let list = scene.client().pages::<Vec<Value>>(COMMENTS).await.unwrap();
        let bodies: Vec<String> = list
            .pages
            .iter()
            .flatten()
            .map(|comment| comment["body"].as_str().unwrap().to_owned())
            .collect();
        assert_eq!(bodies, (0..count).map(|number| number.to_string()).collect::<Vec<_>>());
        assert_eq!(scene.github.requests().len(), count.div_ceil(100).max(1));
        assert_eq!(scene.github.surprises(), Vec::<String>::new());
    }
}

#[tokio::test]
async fn grown_list_is_read_past_cached_full_page() {
    let scene = Scene::new();
    let folder = tempfile::tempdir().unwrap();
    let count_comments = async || {
        let cache = ReplyCache::in_folder(folder.path().to_owned());
        let client = scene.client_with(cache, GitHubCredentials::Token(TOKEN.into()));
        let list = client.pages::<Vec<Value>>(COMMENTS).await.unwrap();
        list.pages.iter().map(Vec::len).sum::<usize>()
    };
    for number in 0..100 {
        scene.github.comment(&scene.pull, "ben", &number.to_string());
    }
    assert_eq!(count_comments().await, 100);
    scene.github.comment(&scene.pull, "ben", "the next one");
    assert_eq!(count_comments().await, 101);
    assert_eq!(count_comments().await, 101);
    assert!(scene.requests().iter().any(|request| request.ends_with(" 304")));
}

#[tokio::test]
async fn unchanged_full_page_may_have_a_successor() {
    let full = format!("[{}]", vec!["1"; 100].join(","));
    let etag = "etag: \"1\"\r\n";
    let answers = vec![
        reply("200 OK", etag, &full),
        // "Not modified" without a `Link` header.
        format!("HTTP/1.1 304 Not Modified\r\n{etag}connection: close\r\n\r\n"),
        reply("200 OK", etag, "[2]"),
    ];
    let folder = tempfile::tempdir().unwrap();
    let cache = ReplyCache::in_folder(folder.path().to_owned());
    let client = client_with(scripted_host(answers), cache, Timeouts::default());
    for expected in [100, 101] {
        let list = client.pages::<Vec<u64>>("/x").await.unwrap();
        assert_eq!(list.pages.concat().len(), expected);
    }
}

#[tokio::test]
async fn endless_reply_times_out() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let host =
        GitHubHost::from_server_url(&format!("http://{}", listener.local_addr().unwrap())).unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            std::thread::spawn(move || {
                // Read the request before replying.
                assert!(stream.read(&mut [0; 4096]).unwrap() > 0);
                let head = b"HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n";
                let mut result = stream.write_all(head);
                while result.is_ok() {
                    std::thread::sleep(Duration::from_millis(50));
                    result = stream.write_all(b"1");
                }
            });
        }
    });
    // Far longer than the pauses of the server, so that a slow machine does not look like silence.
    let timeouts = Timeouts { idle: Duration::from_secs(1), ..Timeouts::default() };
    let client = client_with(host, ReplyCache::disabled(), timeouts);
    let error = client.get_json::<Value>("/x").await.unwrap_err().to_string();
    assert!(error.contains("no complete reply after 3"), "{error}");
}

/// Number of announced waits.
static ANNOUNCEMENTS: AtomicUsize = AtomicUsize::new(0);

#[tokio::test]
async fn silent_host_times_out() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let host =
        GitHubHost::from_server_url(&format!("http://{}", listener.local_addr().unwrap())).unwrap();
    let timeouts = Timeouts { first_byte: Duration::from_millis(50), ..TIMEOUTS };
    let client = client_with(host, ReplyCache::disabled(), timeouts);
    client.on_wait(|_| {
        ANNOUNCEMENTS.fetch_add(1, Ordering::Relaxed);
    });
    let error = client.get_json::<Value>("/x").await.unwrap_err().to_string();
    assert!(error.ends_with("`: no data for 0.05 s"), "{error}");
    assert_eq!(ANNOUNCEMENTS.load(Ordering::Relaxed), 1);
}

#[test]
fn client_gives_up_silent_host_within_two_minutes() {
    let ForgeRetryPolicy { attempts, first_wait, .. } = ForgeRetryPolicy::default();
    let waits = first_wait * ((1 << (attempts - 1)) - 1);
    assert!(TIMEOUTS.first_byte * attempts + waits <= Duration::from_secs(120));
}

#[tokio::test]
async fn graphql_secondary_limit_is_waited_out() {
    let limited = r#"{"message":"You have exceeded a secondary rate limit."}"#;
    let data = r#"{"data":{"a":1}}"#;
    let answers = vec![reply("200 OK", "retry-after: 0\r\n", limited), reply("200 OK", "", data)];
    let client = client_for(scripted_host(answers));
    let data: Value = client.graphql("query { a }", &json!({})).await.unwrap();
    assert_eq!(data, json!({ "a": 1 }));
}

#[tokio::test]
async fn sufficient_permission_is_named() {
    let body = r#"{"message":"Resource not accessible by integration"}"#;
    let permissions = "x-accepted-github-permissions: pull_requests=read\r\n";
    let answer = reply("403 Forbidden", permissions, body);
    let error = client_for(scripted_host(vec![answer])).get_json::<Value>("/x").await.unwrap_err();
    expect!["the token does not permit `GET /x`: Resource not accessible by integration; it needs `pull_requests=read`"].assert_eq(&error.to_string());
}

/// A server that sends one reply per connection, in order.
fn scripted_host(answers: Vec<String>) -> GitHubHost {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let host =
        GitHubHost::from_server_url(&format!("http://{}", listener.local_addr().unwrap())).unwrap();
    std::thread::spawn(move || {
        for answer in answers {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = [0; 4096];
            assert!(stream.read(&mut request).unwrap() > 0);
            stream.write_all(answer.as_bytes()).unwrap();
        }
    });
    host
}

fn client_for(host: GitHubHost) -> GitHubClient {
    client_with(host, ReplyCache::disabled(), Timeouts::default())
}

fn client_with(host: GitHubHost, cache: ReplyCache, timeouts: Timeouts) -> GitHubClient {
    let credentials = GitHubCredentials::Token(TOKEN.into());
    let now = || std::time::SystemTime::UNIX_EPOCH;
    let config = GitHubClientConfig { host, credentials, cache, retry: QUICK, now, seed: 1 };
    let network = NetworkSettings { timeouts, ..NetworkSettings::default() };
    GitHubClient::new(&network, config).unwrap()
}

/// A reply with these headers, each with its line end, and this body.
fn reply(status: &str, headers: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 {status}\r\n{headers}content-length: {length}\r\nconnection: close\r\n\r\n{body}"
    )
}

#[tokio::test]
async fn token_goes_only_to_its_own_host() {
    let other_host = TcpListener::bind("127.0.0.1:0").unwrap();
    let other_url = format!("http://{}/api/v3/x", other_host.local_addr().unwrap());
    let moved = reply("301 Moved", &format!("location: {other_url}\r\n"), "[]");
    let error = client_for(scripted_host(vec![moved])).get_json::<Value>("/x").await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "`GET /x` was rejected with status 301: it redirects to another host"
    );
    let next = reply("200 OK", &format!("link: <{other_url}?page=2>; rel=\"next\"\r\n"), "[]");
    let list = client_for(scripted_host(vec![next])).pages::<Vec<Value>>("/x").await.unwrap();
    assert_eq!(list.completeness, crh_forge::github::PageCompleteness::Truncated);
    other_host.set_nonblocking(true).unwrap();
    assert!(other_host.accept().is_err(), "no request arrived");
}

#[tokio::test]
async fn moved_repository_is_followed_on_same_host() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let host = GitHubHost::from_server_url(&address).unwrap();
    let server = std::thread::spawn(move || {
        let mut paths = Vec::new();
        for answer in [
            reply(
                "301 Moved",
                &format!("location: {address}/api/v3/repositories/1/pulls/2\r\n"),
                "",
            ),
            reply("200 OK", "", "{\"a\":1}"),
        ] {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = [0; 4096];
            let length = stream.read(&mut request).unwrap();
            let head = String::from_utf8_lossy(&request[..length]).into_owned();
            paths.push(head.lines().next().unwrap().to_owned());
            stream.write_all(answer.as_bytes()).unwrap();
        }
        paths
    });
    let data: Value = client_for(host).get_json("/repos/o/old/pulls/2").await.unwrap();
    assert_eq!(data, json!({ "a": 1 }));
    assert_eq!(
        server.join().unwrap(),
        ["GET /api/v3/repos/o/old/pulls/2 HTTP/1.1", "GET /api/v3/repositories/1/pulls/2 HTTP/1.1"]
    );
}

#[tokio::test]
async fn malformed_replies_are_reported() {
    let mut lines = String::new();
    let cut_reply =
        "HTTP/1.1 200 OK\r\ncontent-length: 99\r\nconnection: close\r\n\r\n{".to_owned();
    for answers in [
        vec![reply("200 OK", "", "<html>")],
        vec![reply("200 OK", "", "")],
        vec![cut_reply.clone(), cut_reply.clone(), cut_reply],
        vec!["SSH-2.0\r\n".to_owned(); 3],
    ] {
        let host = scripted_host(answers);
        let name = host.name().to_owned();
        let error = client_for(host).get_json::<Vec<u64>>("/x").await.unwrap_err();
        lines += &format!("{error}\n").replace(&name, "HOST");
    }
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let host = GitHubHost::from_server_url(&format!("http://{closed}")).unwrap();
    let client = client_for(host);
    for error in [
        client.get_json::<Value>("/x").await.unwrap_err(),
        client.write(Verb::Post, "/x", &json!({})).await.unwrap_err(),
    ] {
        lines += &format!("{error}\n").replace(client.host().name(), "HOST");
    }
    expect![[r#"
        cannot parse the reply to `GET /x`: expected value at line 1 column 1
        cannot parse the reply to `GET /x`: EOF while parsing a value at line 1 column 0
        cannot reach `HOST`: end of file before message length reached
        cannot reach `HOST`: invalid HTTP version parsed
        cannot reach `HOST`: Connection refused (os error 111)
        cannot reach `HOST`: Connection refused (os error 111)
    "#]]
    .assert_eq(&lines);
}
