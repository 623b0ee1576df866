//! Scripted faults.

use std::time::Duration;

use serde_json::json;

use super::super::{FakeGitHub, Fault, FaultKind, HoldPoint, TOKEN};
use super::{Got, get, opened, send, shop};

fn comment(github: &FakeGitHub, text: &str) -> Option<Got> {
    let path = "/api/v3/repos/acme/shop/issues/1/comments";
    let authorization = format!("authorization: Bearer {TOKEN}");
    send(github, "POST", path, &["user-agent: x", &authorization], &json!({ "body": text }))
}

#[test]
fn write_fails_before_or_after_applying() {
    for (how, status, applied) in [
        (FaultKind::StatusBefore(502), Some(502), false),
        (FaultKind::StatusAfter(502), Some(502), true),
        (FaultKind::CutBefore, None, false),
        (FaultKind::CutAfter, None, true),
        (FaultKind::SecondaryLimit { retry_after: Some(7) }, Some(403), false),
        (FaultKind::PrimaryLimit { resets_in: 60 }, Some(403), false),
        (FaultKind::NotModified, Some(304), false),
    ] {
        let (github, pull) = opened(&shop());
        github.fail(Fault::on_write(2, how.clone()));
        assert_eq!(comment(&github, "one").unwrap().status, 201);
        let second = comment(&github, "two");
        assert_eq!(second.map(|got| got.status), status, "{how:?}");
        assert_eq!(comment(&github, "three").unwrap().status, 201);
        let texts: Vec<_> =
            github.comments(&pull).into_iter().map(|comment| comment.body).collect();
        let expected: &[&str] = if applied { &["one", "two", "three"] } else { &["one", "three"] };
        assert_eq!(texts, expected, "{how:?}");
        assert_eq!(github.writes().len(), expected.len());
    }
}

#[test]
fn rate_limits_have_retry_times() {
    let (github, _) = opened(&shop());
    github.fail(Fault::on("GET", "*/pulls/1", FaultKind::SecondaryLimit { retry_after: Some(7) }));
    github.fail(Fault::on("GET", "*/pulls/1", FaultKind::PrimaryLimit { resets_in: 60 }));
    let secondary = get(&github, "/pulls/1");
    assert_eq!((secondary.status, secondary.header("retry-after")), (403, "7"));
    let primary = get(&github, "/pulls/1");
    assert_eq!((primary.status, primary.header("x-ratelimit-remaining")), (403, "0"));
    assert_eq!(get(&github, "/pulls/1").status, 200);
    github.fail(Fault::on("POST", "/api/graphql", FaultKind::PrimaryLimit { resets_in: 60 }));
    let body = json!({ "query": "{ viewer { login } }" });
    let authorization = format!("authorization: Bearer {TOKEN}");
    let headers = ["user-agent: x", &authorization];
    let got = send(&github, "POST", "/api/graphql", &headers, &body).unwrap();
    assert_eq!((got.status, &got.body["errors"][0]["type"]), (200, &json!("RATE_LIMITED")));
}

#[test]
fn write_is_held_until_released() {
    for (moment, applied) in [(HoldPoint::Before, false), (HoldPoint::After, true)] {
        let (github, pull) = opened(&shop());
        let hold = github.hold_write(1, moment);
        std::thread::scope(|scope| {
            let sent = scope.spawn(|| comment(&github, "held"));
            assert!(hold.wait(Duration::from_secs(60)));
            assert_eq!(github.comments(&pull).len(), usize::from(applied));
            hold.release();
            assert_eq!(sent.join().unwrap().map(|got| got.status), applied.then_some(201));
        });
        assert_eq!(github.comments(&pull).len(), usize::from(applied), "{moment:?}");
        assert_eq!(comment(&github, "free").unwrap().status, 201);
    }
}

#[test]
fn dropping_the_fake_releases_held_writes() {
    let (github, _) = opened(&shop());
    let hold = github.hold_write(1, HoldPoint::After);
    let url = github.url();
    let sent = std::thread::spawn(move || {
        use std::io::{Read, Write};
        let mut stream = std::net::TcpStream::connect(url.trim_start_matches("http://")).unwrap();
        let head = format!(
            "POST /api/v3/repos/acme/shop/issues/1/comments HTTP/1.1\r\nuser-agent: x\r\nauthorization: token {TOKEN}"
        );
        write!(stream, "{head}\r\ncontent-length: 15\r\n\r\n{{\"body\":\"text\"}}").unwrap();
        let mut rest = Vec::new();
        stream.read_to_end(&mut rest).map(|_| rest.len())
    });
    assert!(hold.wait(Duration::from_secs(60)));
    drop(github);
    assert!(sent.join().is_ok());
}
