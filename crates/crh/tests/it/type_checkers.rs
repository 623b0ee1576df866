//! Type checkers of trusted projects, run by the real program in the sandbox.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use serde_json::{Value, json};

use crate::hostile::{can_sandbox, sandboxed_cargo};
use crate::review::script::{answers, confirms, finding, with};
use crate::review::with_key;
use crate::user::User;
use crh_testkit::fake_model::calls;
use crh_testkit::{FakeModel, Repo};

/// Report of `crh check`.
fn report(user: &User, repo: &Repo, path: &str, flags: &[&str]) -> Value {
    let args = [&["check", "--base", "HEAD~1", "--no-pr", "--format", "json"], flags].concat();
    let program = user.crh(repo.path(), &args).env("PATH", path).env("CRH_ANALYSERS", "auto");
    let output = program.run();
    serde_json::from_str(&output.stdout).unwrap_or_else(|why| panic!("{why}: {}", output.shown()))
}

/// File, line, title and rule of each issue of `crh check`.
fn check(user: &User, repo: &Repo, path: &str, flags: &[&str]) -> Vec<String> {
    let report = report(user, repo, path, flags);
    let row = |issue: &Value| {
        let text = |name: &str| issue[name].as_str().unwrap_or_default();
        let rule = text("rule");
        format!("{}:{} {rule} {}", text("file"), issue["line_start"], text("title"))
    };
    let mut rows: Vec<String> = report["issues"].as_array().unwrap().iter().map(row).collect();
    rows.retain(|row| row.contains(" mypy/") || row.contains(" cargo-check/"));
    rows.sort();
    rows
}

#[test]
fn cargo_check_finds_a_caller_that_the_change_breaks() {
    let Some(cargo) = sandboxed_cargo("cargo check of a broken caller") else { return };
    let manifest = "[package]\nname = \"shop\"\nedition = \"2024\"\n";
    let base = format!(
        "//- Cargo.toml
{manifest}[features]
default = [\"all\"]
all = []
//- src/lib.rs
pub mod api;
#[cfg(feature = \"all\")]
pub mod orders;
//- src/api.rs
pub fn old() -> u32 {{ \"already broken\" }}
pub fn report() -> u32 {{ crate::orders::total(&[1]) }}
//- src/orders.rs
pub fn total(items: &[u32]) -> u32 {{ items.iter().sum() }}
"
    );
    let user = User::new();
    let path = format!("{}:/usr/bin:/bin", cargo.parent().unwrap().display());
    for (head, expected) in [
        (
            "//- src/orders.rs\npub fn total(items: &[u64]) -> u64 { items.iter().sum() }\n"
                .to_owned(),
            "src/api.rs:2 cargo-check/E0308 mismatched types: expected `u32`, found `u64`",
        ),
        ("//- src/orders.rs (deleted)\n".to_owned(), "src/lib.rs:3 cargo-check/E0583 "),
        (
            format!("//- Cargo.toml\n{manifest}[features]\nall = []\n"),
            "src/api.rs:2 cargo-check/E0433 ",
        ),
    ] {
        let repo = Repo::from_fixture(&format!("{base}//- head\n{head}"));
        assert_eq!(check(&user, &repo, &path, &[]), [""; 0]);
        let rows = check(&user, &repo, &path, &["--trust"]);
        assert!(rows.iter().any(|row| row.starts_with(expected)), "{head} {rows:?}");
        assert!(!rows.iter().any(|row| row.contains("api.rs:1")), "{rows:?}");
    }
}

#[test]
fn fix_that_breaks_an_untouched_caller_is_rejected() {
    let Some(cargo) = sandboxed_cargo("cargo check of a fix") else { return };
    let repo = Repo::from_fixture(
        "
        //- Cargo.toml
        [package]
        name = \"shop\"
        edition = \"2024\"
        //- src/lib.rs
        pub mod api;
        pub mod orders;
        //- src/api.rs
        pub fn report() -> u32 { crate::orders::total(&[1]) }
        //- src/orders.rs
        pub fn total(items: &[u32]) -> u32 { items.iter().sum() }
        //- head
        //- src/orders.rs
        pub fn total(items: &[u32]) -> u32 { items.iter().skip(1).sum() }
        ",
    );
    let user = User::new();
    let path = format!("{}:/usr/bin:/bin", cargo.parent().unwrap().display());
    let found = finding("P1", "The first item is left out", "src/orders.rs:1", "skip(1).sum()");
    let fixed =
        "pub fn total(items: &[u32]) -> u64 { items.iter().map(|it| u64::from(*it)).sum() }";
    let found = with(found, json!({ "replacement": fixed }));
    let edit = json!({ "groups": [{
        "findings": ["F1"], "verdict": "publish", "probability": 0.9, "severity": "P1",
    }] });
    let model = FakeModel::start()
        .on("single", [answers(&[found])])
        .on("editor", [calls("report_edit", edit)])
        .on("validate-1", [confirms()]);
    let args = ["review", "--strategy", "single", "--base", "HEAD~1", "--no-pr", "--trust"];
    let reviewed = with_key(user.crh(repo.path(), &args), &model).run();
    assert!(reviewed.code < 2, "{}", reviewed.shown());
    let fix = user.crh(repo.path(), &["fix", "--issue", "1", "--trust"]);
    let output = fix.env("PATH", &path).env("CRH_ANALYSERS", "auto").run();
    let why = "its fix fails a static check: mismatched types: expected `u32`, found `u64` (src/api.rs:1, `cargo-check/E0308`)";
    assert!(output.stderr.contains(why), "{}", output.shown());
    assert_eq!(output.code, 1, "{}", output.shown());
    assert_eq!(repo.git(&["status", "--porcelain"]), b"");
}

/// Names of the toolchains that check a project, and whether the report says that one is missing.
#[test]
fn cargo_check_uses_the_toolchain_of_the_project() {
    if !can_sandbox("cargo check with another toolchain") {
        return;
    }
    let user = User::new();
    let machine = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    let program = |path: &str, name: &str| {
        let error = format!("src/lib.rs:1:1: error[E0001]: checked by {name}");
        user.write(path, &format!("#!/bin/sh\necho '{error}'\nexit 1\n"));
        fs::set_permissions(user.path(path), fs::Permissions::from_mode(0o755)).unwrap();
    };
    for name in ["stable", "1.70"] {
        program(&format!(".rustup/toolchains/{name}-{machine}/bin/cargo"), name);
    }
    program("real/cargo", "real");
    program("shims/bin/rustup", "rustup");
    symlink("rustup", user.path("shims/bin/cargo")).unwrap();
    let settings = format!("default_toolchain = \"stable-{machine}\"\n");
    user.write(".rustup/settings.toml", &settings);
    for (file, folder, expected) in [
        ("", "shims/bin", Some("stable")),
        ("", "real", Some("real")),
        ("[toolchain]\nchannel = \"1.70\"\n", "shims/bin", Some("1.70")),
        ("[toolchain]\nchannel = \"1.70\"\n", "real", Some("1.70")),
        ("[toolchain]\nchannel = \"1.99\"\n", "shims/bin", None),
    ] {
        let file_name = if file.is_empty() { "other.toml" } else { "rust-toolchain.toml" };
        let repo = Repo::from_fixture(&format!(
            "//- Cargo.toml\n[package]\n//- {file_name}\n{file}//- src/lib.rs\n// old\n//- head\n//- src/lib.rs\n// new\n"
        ));
        let path = format!("{}:/usr/bin:/bin", user.path(folder).display());
        let row = |name| format!("src/lib.rs:1 cargo-check/E0001 checked by {name}");
        let expected_rows: Vec<String> = expected.map(row).into_iter().collect();
        assert_eq!(check(&user, &repo, &path, &["--trust"]), expected_rows, "{file} {folder}");
        let report = report(&user, &repo, &path, &["--trust"]).to_string();
        let why = "skipped: the project names the Rust toolchain `1.99`, which is not installed";
        assert_eq!(report.contains(why), expected.is_none(), "{file} {folder} {report}");
    }
}

/// Ends with 2 if it gets no file, as mypy does.
const FAKE_MYPY: &str = r#"#!/bin/sh
for file; do case $file in *.py) files="$files $file" ;; esac; done
[ -n "$files" ] || exit 2
grep -Hn bad $files | sed 's/:\([0-9]*\):.*/:\1: error: bad is bad  [no-bad]/'
exit 1
"#;

#[test]
fn mypy_reports_new_errors_of_a_trusted_project() {
    if !can_sandbox("mypy on a trusted project") {
        return;
    }
    let base = "//- mypy.ini\n[mypy]\n//- a.py\nold = bad(1)\n";
    let repo =
        Repo::from_fixture(&format!("{base}//- head\n//- a.py\nold = bad(1)\nnew = bad(2)\n"));
    let user = User::new();
    let tool = user.path("tools/mypy");
    user.write("tools/mypy", FAKE_MYPY);
    fs::set_permissions(&tool, fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:/usr/bin:/bin", tool.parent().unwrap().display());
    assert_eq!(check(&user, &repo, &path, &[]), [""; 0]);
    assert_eq!(check(&user, &repo, &path, &["--trust"]), ["a.py:2 mypy/no-bad bad is bad"]);
    // In a review, a type checker is a static check and no model reviewer.
    let model = FakeModel::answering(|_| answers(&[]));
    let args = ["review", "--base", "HEAD~1", "--no-pr", "--trust", "--strategy", "single"];
    let args = [&args[..], &["--mode", "report-only", "--format", "json"]].concat();
    let program = user.crh(repo.path(), &args).env("PATH", &path).env("CRH_ANALYSERS", "auto");
    let output = with_key(program, &model).run();
    let report: Value = serde_json::from_str(&output.stdout).unwrap();
    let reviewers = report["reviewers"].as_array().unwrap().iter();
    let mypy = reviewers.clone().find(|row| row["name"] == "mypy").unwrap();
    assert_eq!((&mypy["origin"], &mypy["outcome"]), (&json!("code"), &json!("completed")));
    assert_eq!(report["status"], "ok", "{}", output.shown());
    // A new file has no base to compare with.
    repo.write("n.py", "new = bad(3)\n");
    repo.commit("add a file");
    assert_eq!(check(&user, &repo, &path, &["--trust"]), ["n.py:1 mypy/no-bad bad is bad"]);
}
