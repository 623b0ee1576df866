//! `crh serve --demo`: a posted review without an App, a key or network.

use std::net::TcpListener;

use crate::crh;
use crate::server::{request, wait_until};

fn get(port: u16, path: &str) -> String {
    let head = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
    request(port, &head)
}

#[test]
fn demo_posts_a_review_and_leaves_no_files() {
    let folder = tempfile::TempDir::new().unwrap();
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let listen = format!("127.0.0.1:{port}");
    let program = crh(&["serve", "--demo", "--listen", &listen, "--shutdown-seconds", "1"]);
    let server = program.env("TMPDIR", folder.path().to_str().unwrap()).start();
    wait_until("the review is done", || get(port, "/api/reviews").contains("\"Not ready\""));
    let page = get(port, "/reviews/1").replace("&#x2f;", "/");
    assert!(page.contains("Open the report"), "{page}");
    let (_, link) = page.split_once("http://127.0.0.1:").unwrap();
    let (forge, _) = link.split_once('/').unwrap();
    let pull = |number: u32| get(forge.parse().unwrap(), &format!("/demo/tickets/pull/{number}"));
    let reviewed = pull(1);
    assert!(reviewed.contains("The words of the search are joined into the SQL"), "{reviewed}");
    assert_eq!(reviewed.matches("<article><p><code>tickets").count(), 7, "{reviewed}");
    // A stranger's pull request waits.
    let waiting = pull(2);
    assert!(waiting.contains("a maintainer must ask for it"), "{waiting}");
    assert!(!waiting.contains("<article"), "{waiting}");
    server.terminate();
    let output = server.end();
    assert_eq!(output.code, 0, "{}", output.shown());
    assert!(output.stderr.contains("note: Ctrl-C ends the demo"), "{}", output.shown());
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}
