//! Tests the fake over real connections and with real git.

mod faults;
mod git;
mod graphql;
mod rest;

use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::{Value, json};

use super::{FakeGitHub, Pull, PullHandle, TOKEN};
use crate::Repo;

#[derive(Debug, Clone, PartialEq)]
struct Got {
    status: u16,
    headers: Vec<(String, String)>,
    body: Value,
}

impl Got {
    fn header(&self, name: &str) -> &str {
        let found = self.headers.iter().find(|(known, _)| known == name);
        found.map_or("", |(_, value)| value)
    }

    fn why(&self) -> (u16, String) {
        let errors = self.body["errors"].as_array().cloned().unwrap_or_default();
        let errors: Vec<String> = errors
            .iter()
            .map(|error| error["message"].as_str().or(error.as_str()).unwrap().into())
            .collect();
        let message = self.body["message"].as_str().unwrap_or_default();
        (self.status, format!("{message}: {}", errors.join("; ")))
    }
}

/// Sends a request with additional headers; `None` if the connection was cut.
fn send(
    github: &FakeGitHub,
    method: &str,
    path: &str,
    headers: &[&str],
    body: &Value,
) -> Option<Got> {
    let url = github.url();
    let mut stream = TcpStream::connect(url.trim_start_matches("http://")).unwrap();
    let body = if body.is_null() { String::new() } else { body.to_string() };
    let more: String = headers.iter().map(|header| format!("{header}\r\n")).collect();
    let length = body.len();
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\nhost: x\r\n{more}content-length: {length}\r\n\r\n{body}"
    )
    .unwrap();
    let mut bytes = Vec::new();
    loop {
        let mut piece = [0; 64 * 1024];
        let read = stream.read(&mut piece).unwrap_or(0);
        bytes.extend_from_slice(&piece[..read]);
        let text = String::from_utf8_lossy(&bytes);
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let mut lines = head.lines();
            let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
            let headers: Vec<(String, String)> = lines
                .map(|line| line.split_once(": ").unwrap())
                .map(|(name, value)| (name.into(), value.into()))
                .collect();
            let length = headers.iter().find(|(name, _)| name == "content-length").unwrap();
            if body.len() >= length.1.parse().unwrap() {
                let body = serde_json::from_str(body).unwrap_or(json!(body));
                return Some(Got { status, headers, body });
            }
        }
        if read == 0 {
            return None;
        }
    }
}

/// Sends a request as the reviewer.
fn ask(github: &FakeGitHub, method: &str, path: &str, body: &Value) -> Got {
    ask_as(github, TOKEN, method, path, body)
}

fn ask_as(github: &FakeGitHub, token: &str, method: &str, path: &str, body: &Value) -> Got {
    let authorization = format!("authorization: Bearer {token}");
    let path = format!("/api/v3/repos/acme/shop{path}");
    send(github, method, &path, &["user-agent: test", &authorization], body).unwrap()
}

fn get(github: &FakeGitHub, path: &str) -> Got {
    ask(github, "GET", path, &Value::Null)
}

/// Twenty lines. On the branch `feature`, line 2 is changed, line 10 is removed and two lines are
/// added after line 18.
fn shop() -> Repo {
    let repo = Repo::new();
    let lines = |changed: bool| -> String {
        let mut text = String::new();
        for line in 1..=20 {
            match (changed, line) {
                (true, 2) => text += "changed 2\n",
                (true, 10) => {}
                (true, 18) => text += "line 18\nnew 18a\nnew 18b\n",
                _ => text += &format!("line {line}\n"),
            }
        }
        text
    };
    repo.write("orders.py", lines(false));
    repo.write("gone.py", "old\n");
    repo.write("pay.py", "a\nb\nc\nd\ne\nf\n");
    repo.commit("base");
    repo.git(&["switch", "--quiet", "--create", "feature"]);
    repo.write("orders.py", lines(true));
    repo.git(&["rm", "--quiet", "gone.py"]);
    repo.git(&["mv", "pay.py", "paid.py"]);
    repo.write("logo.png", b"\x89PNG\0\x01\x02");
    repo.commit("change");
    repo
}

fn opened(repo: &Repo) -> (FakeGitHub, PullHandle) {
    let github = FakeGitHub::start();
    github.repository("acme/shop", repo);
    let pull = github.pull("acme/shop", Pull { title: "Change orders".into(), ..Pull::default() });
    (github, pull)
}
