//! Serves a fake GitLab (argument `gitlab`) or Gitea (argument `gitea`) with one proposed change until
//! standard input ends, for `scripts/check-gitlab-fake`, `scripts/check-gitea-fake` and
//! `scripts/check-forge-apis`. Addresses and commits are on standard output, as one line of JSON. At
//! the end, all exchanges are written to the file in the second argument, one JSON value a line.

#![expect(clippy::unwrap_used, reason = "a program for scripts")]

use std::io::{Read, Write};

use serde_json::json;

use crh_testkit::fake_forge::{Change, Dialect, TOKEN};
use crh_testkit::{FakeForge, Repo};

fn main() {
    let dialect = match std::env::args().nth(1).as_deref() {
        Some("gitea") => Dialect::Gitea,
        _ => Dialect::GitLab,
    };
    let repo = Repo::new();
    repo.write("orders.py", "one\ntwo\nthree\n");
    repo.commit("base");
    repo.git(&["switch", "--quiet", "-c", "feature"]);
    repo.write("orders.py", "one\n2\nthree\n");
    repo.commit("change");
    let forge = FakeForge::start(dialect);
    forge.repository("acme/shop", &repo);
    let change = forge.change("acme/shop", Change::default());
    for number in 0..120 {
        forge.comment(&change, "ben", &format!("comment {number}"));
    }
    forge.pipeline(&change, &[("unit", "failed"), ("lint", "success")]);
    forge.closes_issue(&change, 3, "Totals are wrong", "They are zero.");
    let known = json!({
        "url": forge.url(), "token": TOKEN, "project": "acme/shop", "number": change.number,
        "head": forge.head(&change), "base": repo.id("main"),
    });
    let mut out = std::io::stdout();
    writeln!(out, "{known}").unwrap();
    out.flush().unwrap();
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
    let Some(file) = std::env::args().nth(2) else { return };
    let mut file = std::fs::File::create(file).unwrap();
    for exchange in forge.requests() {
        let line = json!({
            "method": exchange.method, "path": exchange.path, "query": exchange.query,
            "body": exchange.body, "status": exchange.status, "reply": exchange.reply,
        });
        writeln!(file, "{line}").unwrap();
    }
}
