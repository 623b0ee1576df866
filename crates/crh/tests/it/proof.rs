//! Proof by execution: the editor proposes a test, and crh runs it on both sides of the change.

use std::fs;
use std::io::ErrorKind;
use std::net::TcpListener;
use std::os::unix::net::UnixDatagram;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::hostile::{can_sandbox, sandboxed_cargo};
use crate::review::script::{answers, confirms, finding, with};
use crate::review::{runs, with_model};
use crate::user::{User, tree};
use crh_testkit::fake_model::calls;
use crh_testkit::{FakeModel, Output, Repo, skip_test};

const PYTHON: &str = "/usr/bin/python3";

const SHOP: &str = "
    //- shop/orders.py
    def total(items):
        return sum(items)
    //- head
    //- shop/orders.py
    def total(items):
        return sum(items) / len(items)
    ";

const TEST: &str = "\
import sys
sys.path.insert(0, '.')
from shop.orders import total
assert total([2, 2]) == 4, 'the total is %s' % total([2, 2])
";

const CRATE: &str = "
    //- Cargo.toml
    [package]
    name = \"shop\"
    edition = \"2024\"
    //- src/lib.rs
    pub fn total(items: &[u32]) -> u32 {
        items.iter().sum()
    }
    //- head
    //- src/lib.rs
    pub fn total(items: &[u32]) -> u32 {
        items.iter().skip(1).sum()
    }
    ";

const CRATE_TEST: &str = "\
#[test]
fn total_adds_all_items() {
    assert_eq!(shop::total(&[2, 2]), 4);
}
";

/// A user with a test command, and a repository with a change.
struct Scene {
    user: User,
    repo: Repo,
    path: String,
}

impl Scene {
    fn new(fixture: &str, command: &[&str]) -> Self {
        let user = User::new();
        let config = format!("[verify]\ntest = {}\n", json!(command));
        user.write(".config/crh/config.toml", &config);
        let path = "/usr/bin:/bin".to_owned();
        Self { user, repo: Repo::from_fixture(fixture), path }
    }

    fn python() -> Option<Self> {
        let test = "proof by a Python test";
        if !PathBuf::from(PYTHON).exists() {
            skip_test(test, &format!("{PYTHON} is missing"));
            return None;
        }
        can_sandbox(test).then(|| Self::new(SHOP, &[PYTHON, "{test}"]))
    }

    /// Reviews the change with a model that finds the defect and proposes this test for it.
    fn review(&self, found: Value, path: &str, test: &str, args: &[&str]) -> (FakeModel, Output) {
        let edit = json!({ "groups": [{
            "findings": ["F1"], "verdict": "publish", "probability": 0.9, "severity": "P1",
            "test": { "path": path, "content": test },
        }] });
        let model = FakeModel::start()
            .on("single", [answers(&[found])])
            .on("editor", [calls("report_edit", edit)])
            .on("validate-1", [confirms()]);
        let review = ["review", "--strategy", "single", "--base", "HEAD~1", "--no-pr"];
        let program = self.user.crh(self.repo.path(), &[&review, args].concat());
        let output = with_model(program, &model).env("PATH", &self.path).run();
        assert!(output.code < 2, "{}", output.shown());
        (model, output)
    }

    fn stored(&self, name: &str) -> Value {
        let run = runs(&self.repo.path().join(".crh/runs")).pop().unwrap();
        let bytes = fs::read(run.join(name)).unwrap_or_else(|_| b"null".to_vec());
        serde_json::from_slice(&bytes).unwrap()
    }

    fn proof(&self) -> Value {
        self.stored("review.json")["issues"][0]["proof"].clone()
    }
}

fn mean() -> Value {
    let quote = "return sum(items) / len(items)";
    let found = finding("P1", "The total is divided by the count", "shop/orders.py:2", quote);
    with(found, json!({ "replacement": "    return sum(items)" }))
}

#[test]
fn python_test_proves_a_defect_and_comes_with_its_fix() {
    let Some(scene) = Scene::python() else { return };
    let path = "tests/test_total.py";
    let (model, output) = scene.review(mean(), path, TEST, &["--trust"]);
    let proof = scene.proof();
    assert_eq!((&proof["path"], &proof["content"]), (&json!(path), &json!(TEST)));
    assert_eq!(proof["command"], format!("{PYTHON} {{test}}"));
    let sentence = format!(
        "Proof: the test `{path}` passes before the change and fails with it (`{PYTHON} {{test}}`): AssertionError: the total is 2.0"
    );
    let shown = output.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(shown.contains(&sentence), "{}", output.shown());
    let asked = model.requests().into_iter().find(|asked| asked.caller == "editor").unwrap();
    assert!(asked.body.to_string().contains("# Tests that prove a defect"));
    // The checkout has the test only after a fix.
    assert!(!scene.repo.path().join(path).exists());
    let fixed = scene.user.crh(scene.repo.path(), &["fix", "--issue", "1"]).run();
    assert_eq!(fixed.code, 0, "{}", fixed.shown());
    assert_eq!(fs::read_to_string(scene.repo.path().join(path)).unwrap(), TEST);
    let applied = &scene.stored("review.json")["applied_fixes"][0]["files"];
    assert_eq!(applied, &json!(["shop/orders.py", path]));
    let undone = scene.user.crh(scene.repo.path(), &["fix", "--undo"]).run();
    assert_eq!(undone.code, 0, "{}", undone.shown());
    assert!(!scene.repo.path().join(path).exists());
}

#[test]
fn rust_test_of_a_whole_suite_proves_a_defect() {
    let Some(cargo) = sandboxed_cargo("proof by a Rust test") else { return };
    let mut scene = Scene::new(CRATE, &["cargo", "test", "--offline", "--quiet"]);
    // The installed `cargo` may be a shim, which does not work in the sandbox.
    scene.path = format!("{}:{}", cargo.parent().unwrap().display(), scene.path);
    let found =
        finding("P1", "The first item is left out", "src/lib.rs:2", "items.iter().skip(1).sum()");
    scene.review(found, "tests/total_test.rs", CRATE_TEST, &["--trust"]);
    let proof = scene.proof();
    let output = proof["output"].as_str().unwrap_or_default();
    assert!(output.contains("total_adds_all_items"), "{}", scene.stored("stages/proof.json"));
}

#[test]
fn test_that_proves_nothing_stays_in_the_run_folder() {
    let Some(scene) = Scene::python() else { return };
    for (path, test, reason) in [
        ("tests/test_total.py", "", "it passes with the change"),
        ("tests/test_total.py", "raise SystemExit(1)\n", "the command fails before the change: "),
        ("shop/orders.py", TEST, "its path is not that of a test file"),
        (".git/hooks/test.py", TEST, "its path is not a plain path inside the repository"),
    ] {
        let (_, output) = scene.review(mean(), path, test, &["--trust"]);
        assert_eq!(scene.proof(), Value::Null, "{path}");
        assert!(!output.shown().contains("Proof"), "{}", output.shown());
        let expected = json!([{
            "issue": scene.stored("review.json")["issues"][0]["dedupe_key"],
            "test": { "path": path, "content": test },
            "result": { "not_proved": reason },
        }]);
        assert_eq!(scene.stored("stages/proof.json"), expected);
    }
}

#[test]
fn editor_proposes_no_test_for_an_untrusted_change() {
    let Some(scene) = Scene::python() else { return };
    let (model, _) = scene.review(mean(), "tests/test_total.py", TEST, &[]);
    assert_eq!((scene.proof(), scene.stored("stages/proof.json")), (Value::Null, Value::Null));
    let asked = model.requests().into_iter().find(|asked| asked.caller == "editor").unwrap();
    let tools = asked.body["tools"].to_string();
    assert!(tools.contains("report_edit") && !tools.contains("content of the file"), "{tools}");
    assert!(!asked.body.to_string().contains("Tests that prove"));
}

#[test]
fn proposed_test_cannot_escape_the_sandbox() {
    let Some(scene) = Scene::python() else { return };
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("canary"), "canary").unwrap();
    scene.user.write("secret", "open sesame");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let sockets = tempfile::tempdir().unwrap();
    let datagram = UnixDatagram::bind(sockets.path().join("datagram")).unwrap();
    datagram.set_nonblocking(true).unwrap();
    let test = format!(
        r#"
import os, socket, subprocess, sys
outside, checkout, home = {:?}, {:?}, {:?}
escapes = []
def attempt(name, action):
    try:
        action()
        escapes.append(name)
    except (OSError, subprocess.SubprocessError):
        pass
def write_through_link():
    os.symlink(outside + '/canary', 'link')
    open('link', 'a').write('x')
attempt('create', lambda: open(outside + '/created', 'w'))
attempt('change', lambda: open(checkout + '/shop/orders.py', 'a').write('x'))
attempt('link', write_through_link)
attempt('remove', lambda: os.remove(outside + '/canary'))
attempt('read', lambda: print(open(home + '/secret').read()))
attempt('list', lambda: os.listdir(home))
attempt('connect', lambda: socket.create_connection(('127.0.0.1', {}), 5))
attempt('child', lambda: subprocess.run(['touch', outside + '/created'], check=True, stderr=-3))
# The kernel ignores the address: the packet goes to the other end of the pair.
pair = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
pair[0].sendmsg([b'x'], [], 0, {:?})
attempt('signal', lambda: os.kill({}, 0))
print('home is', os.environ['HOME'] != home, 'variables', sorted(os.environ))
print('escapes:', escapes)
{TEST}"#,
        outside.path(),
        scene.repo.path(),
        scene.user.path(""),
        listener.local_addr().unwrap().port(),
        sockets.path().join("datagram"),
        std::process::id(),
    );
    let before = (tree(outside.path()), scene.repo.git(&["status", "--porcelain"]));
    let (_, output) = scene.review(mean(), "tests/test_total.py", &test, &["--trust"]);
    let proof = scene.proof();
    let printed = proof["output"].as_str().unwrap_or_default();
    assert!(printed.contains("escapes: []\n"), "{}", scene.stored("stages/proof.json"));
    assert!(printed.contains("home is True variables ['HOME', 'LANG', "), "{printed}");
    assert!(!printed.contains("sesame"), "{}", output.shown());
    assert_eq!((tree(outside.path()), scene.repo.git(&["status", "--porcelain"])), before);
    assert_eq!(listener.accept().unwrap_err().kind(), ErrorKind::WouldBlock);
    assert_eq!(datagram.recv(&mut [0]).unwrap_err().kind(), ErrorKind::WouldBlock);
}
