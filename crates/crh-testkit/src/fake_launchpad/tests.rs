//! Tests the fake over real connections and with real git.

use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::{Value, json};

use super::*;
use crate::Repo;

const SHOP: &str = "~acme/shop/+git/shop";

#[derive(Debug)]
struct Got {
    status: u16,
    head: String,
    text: String,
}

impl Got {
    fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or(Value::Null)
    }

    fn location(&self) -> &str {
        let line = self.head.lines().find_map(|line| line.strip_prefix("location: "));
        line.unwrap_or_default()
    }
}

fn signed(token: &str, secret: &str) -> String {
    let encoded: String = secret.bytes().map(|byte| format!("%{byte:02X}")).collect();
    format!(
        "authorization: OAuth realm=\"x\", oauth_consumer_key=\"{CONSUMER}\", oauth_token=\"{token}\", \
         oauth_signature_method=\"PLAINTEXT\", oauth_signature=\"%26{encoded}\", oauth_timestamp=\"1\", oauth_nonce=\"2\""
    )
}

/// Sends a request and closes; `None` if the connection was cut.
fn send(url: &str, method: &str, path: &str, header: &str, body: &str) -> Option<Got> {
    let mut stream = TcpStream::connect(url.trim_start_matches("http://")).unwrap();
    let kind = "content-type: application/x-www-form-urlencoded";
    let length = body.len();
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\nhost: x\r\nuser-agent: test\r\n{kind}\r\n{header}\r\ncontent-length: {length}\r\n\r\n{body}"
    )
    .unwrap();
    let mut bytes = Vec::new();
    let mut piece = [0; 16 * 1024];
    loop {
        let read = stream.read(&mut piece).unwrap_or(0);
        bytes.extend_from_slice(&piece[..read]);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            if body.len() >= length.unwrap().parse().unwrap() {
                let status = head.split(' ').nth(1).unwrap().parse().unwrap();
                return Some(Got { status, head: head.to_owned(), text: body.to_owned() });
            }
        }
        if read == 0 {
            return None;
        }
    }
}

fn get(launchpad: &FakeLaunchpad, path: &str) -> Got {
    let header = signed(TOKEN, SECRET);
    send(&launchpad.url(), "GET", &format!("/devel/{path}"), &header, "").unwrap()
}

fn create(launchpad: &FakeLaunchpad, at: &MergeHandle, form: &str) -> Option<Got> {
    let path = format!("/devel/{at}");
    let form = format!("ws.op=createComment&{form}");
    send(&launchpad.url(), "POST", &path, &signed(TOKEN, SECRET), &form)
}

fn opened() -> (Repo, FakeLaunchpad, MergeHandle) {
    let repo = Repo::new();
    repo.write("a.py", "one\n");
    repo.commit("base");
    repo.git(&["switch", "--quiet", "-c", "feature"]);
    repo.write("a.py", "one\ntwo\n");
    repo.commit("change");
    let launchpad = FakeLaunchpad::start();
    launchpad.repository(SHOP, &repo);
    let at = launchpad.propose(Merge::default());
    (repo, launchpad, at)
}

#[test]
fn signature_must_match_its_token() {
    let (_repo, launchpad, _) = opened();
    let me = |header: &str| {
        let got = send(&launchpad.url(), "GET", "/devel/people/+me", header, "").unwrap();
        (got.status, got.text)
    };
    assert_eq!(me(&signed(TOKEN, SECRET)).0, 303);
    assert_eq!(me(&signed(TOKEN, "other")), (401, "Invalid signature.".to_owned()));
    assert_eq!(me(&signed("x", SECRET)), (401, "Unknown access token (x).".to_owned()));
    let other = signed(TOKEN, SECRET).replace("PLAINTEXT", "HMAC-SHA1");
    assert_eq!(me(&other).0, 400);
    assert_eq!(me(&signed("", "")).0, 401, "anonymous has no account");
    let anonymous = send(&launchpad.url(), "GET", &format!("/devel/{SHOP}"), "x: y", "").unwrap();
    assert_eq!(anonymous.status, 200);
}

#[test]
fn private_proposal_is_hidden_from_strangers() {
    let (_repo, launchpad, at) = opened();
    launchpad.make_private(SHOP);
    let path = format!("/devel/{at}");
    assert_eq!(send(&launchpad.url(), "GET", &path, "x: y", "").unwrap().status, 404);
    assert_eq!(get(&launchpad, &at.path).status, 200);
}

#[test]
fn diff_shows_merge_into_current_target() {
    let (repo, launchpad, at) = opened();
    let conflicts = || {
        let diffs = get(&launchpad, &format!("{at}/preview_diffs")).json();
        diffs["entries"][0]["conflicts"].as_str().unwrap().to_owned()
    };
    repo.git(&["switch", "--quiet", "main"]);
    repo.write("a.py", "zero\none\n");
    repo.commit("before it");
    launchpad.push(&at);
    let text = launchpad.diff_text(&at);
    assert!(text.ends_with("@@ -1,2 +1,3 @@\n zero\n one\n+two\n"), "{text}");
    assert_eq!(conflicts(), "");
    repo.write("a.py", "one\nthree\n");
    repo.commit("in the same place");
    launchpad.push(&at);
    let text = launchpad.diff_text(&at);
    let [target, source] = ["main", "feature"].map(|branch| repo.id(branch));
    let hunk = format!(
        "@@ -1,2 +1,6 @@\n one\n+<<<<<<< {target}\n three\n+=======\n+two\n+>>>>>>> {source}\n"
    );
    assert!(text.ends_with(&hunk), "{text}");
    assert_eq!(conflicts(), "Conflict in a.py\n");
}

#[test]
fn comment_is_applied_atomically() {
    let (_repo, launchpad, at) = opened();
    let id = launchpad.preview_diffs(&at)[0];
    let form = |line: &str| {
        format!(
            "content=%22hi%22&vote=Needs+Fixing&previewdiff_id={id}&inline_comments=%7B%22{line}%22%3A%22why%22%7D"
        )
    };
    assert_eq!(create(&launchpad, &at, &form("99")).unwrap().status, 400);
    assert_eq!(create(&launchpad, &at, "content=123").unwrap().status, 400, "a number");
    assert_eq!(create(&launchpad, &at, "vote=Maybe").unwrap().status, 400);
    assert_eq!(create(&launchpad, &at, "previewdiff_id=7").unwrap().status, 404);
    assert_eq!(launchpad.comments(&at), []);
    let got = create(&launchpad, &at, &form("7")).unwrap();
    assert_eq!((got.status, got.location().is_empty()), (201, false));
    assert_eq!(
        launchpad.render(&at),
        "merge proposal (Needs review) by ann, 1 preview diffs\n\n\
         comment by crh-reviewer, Needs Fixing\n    hi\n  on line 7 of diff 1:\n    why\n"
    );
    let path = format!("{at}?ws.op=getInlineComments&previewdiff_id={id}");
    let inline = get(&launchpad, &path).json();
    assert_eq!(
        (&inline[0]["line_number"], &inline[0]["person"]["name"]),
        (&json!("7"), &json!(REVIEWER))
    );
    let votes = get(&launchpad, &format!("{at}/votes")).json();
    assert_eq!(votes["total_size"], 1);
    assert_eq!(launchpad.surprises(), Vec::<String>::new());
}

#[test]
fn write_fails_before_or_after_applying() {
    for (how, status, applied) in [
        (LaunchpadFaultKind::StatusBefore(503), Some(503), false),
        (LaunchpadFaultKind::StatusAfter(503), Some(503), true),
        (LaunchpadFaultKind::CutBefore, None, false),
        (LaunchpadFaultKind::CutAfter, None, true),
    ] {
        let (_repo, launchpad, at) = opened();
        launchpad.fail(LaunchpadFault::on_write(1, how.clone()));
        let got = create(&launchpad, &at, "content=%22hi%22");
        assert_eq!(got.as_ref().map(|got| got.status), status, "{how:?}");
        assert!(got.is_none_or(|got| got.head.contains("x-lazr-oopsid: OOPS-fake1")));
        assert_eq!(launchpad.comments(&at).len(), usize::from(applied), "{how:?}");
        assert_eq!(launchpad.writes().len(), usize::from(applied), "{how:?}");
    }
}
