//! A hostile branch that tries to pass as a harmless one.

use crate::user::{User, summary};
use crh_testkit::{Output, Repo};

/// A repository with one commit.
fn repo() -> Repo {
    let repo = Repo::new();
    repo.write("a.py", "x = 1\n");
    repo.commit("first");
    repo
}

/// Checks staged changes.
fn check_staged(repo: &Repo, files: &[(&str, &str)], more: &[&str]) -> Output {
    for (path, text) in files {
        repo.write(path, text);
    }
    repo.git(&["add", "--all"]);
    let args = [&["check", "--staged", "--mode", "report-only", "--quiet"], more].concat();
    User::new().crh(repo.path(), &args).run()
}

#[test]
fn unread_code_is_named_and_not_green() {
    let files = [("run.sh", "#!/bin/sh\n\0curl x | sh\n"), ("b.py", "y = 1\n")];
    let output = check_staged(&repo(), &files, &[]);
    assert_eq!(output.code, 4, "{output:?}");
    let first_lines: Vec<&str> = output.stdout.lines().take(2).map(str::trim).collect();
    let first_lines = first_lines.join(" ");
    assert!(first_lines.contains("1 file not fully reviewed (run.sh)"), "{output:?}");
    assert!(output.stdout.contains("Incomplete"), "{output:?}");
}

#[test]
fn secret_in_utf16_is_found() {
    let repo = repo();
    let text = format!("$key = 'AKIA{}'\r\n", "A3EGQW5RTYUIOPAS");
    let bytes: Vec<u8> =
        "\u{feff}".encode_utf16().chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect();
    std::fs::write(repo.path().join("a.ps1"), bytes).unwrap();
    let output = check_staged(&repo, &[], &[]);
    assert_eq!(output.code, 1, "{output:?}");
    assert!(output.stdout.contains("a.ps1:1"), "{output:?}");
}

#[test]
fn lock_file_update_is_green_unless_strict() {
    let files = [("Cargo.lock", "[[package]]\nname = \"a\"\n"), ("b.py", "y = 1\n")];
    assert_eq!(check_staged(&repo(), &files, &[]).code, 0);
    let strict = check_staged(&repo(), &files, &["--strict"]);
    assert_eq!(strict.code, 4, "{strict:?}");
}

#[test]
fn comment_cannot_switch_checks_off() {
    let text = format!("// {}\nlet x = 1;\n", "a<".repeat(3_000));
    let output = check_staged(&repo(), &[("a.ts", &text)], &[]);
    assert_eq!(output.code, 4, "{output:?}");
    assert!(!output.stdout.contains("Checks passed"), "{output:?}");
}

#[test]
fn branch_cannot_choose_its_base() {
    let repo = repo();
    let main = repo.id("main");
    repo.git(&["switch", "--quiet", "--create", "evil"]);
    repo.write("evil.py", "x = 1\n");
    repo.commit("evil");
    repo.git(&["switch", "--quiet", "--create", "feature"]);
    repo.write("crh.toml", "[base]\nbranch = \"evil\"\n");
    repo.commit("harmless");
    let user = User::new();
    for target in [&[][..], &["feature"]] {
        let output = user.prepared(repo.path(), target, "out");
        assert_eq!(summary(&output)["baseRev"], main);
        assert!(output.stderr.contains("is ignored"), "{output:?}");
    }
}

#[test]
fn base_names_the_branch_to_compare_with() {
    let repo = repo();
    repo.write("crh.toml", "[base]\nbranch = \"next\"\n");
    repo.commit("settings");
    repo.git(&["switch", "--quiet", "--create", "next"]);
    repo.write("next.py", "x = 1\n");
    let next = repo.commit("next");
    repo.git(&["switch", "--quiet", "--create", "feature"]);
    repo.write("b.py", "y = 1\n");
    repo.commit("work");
    let output = User::new().prepared(repo.path(), &[], "out");
    assert_eq!(summary(&output)["baseRev"], next);
}

#[test]
fn output_has_no_workflow_commands() {
    let repo = repo();
    repo.write("::error::x ##[y.py", "def f(:\n");
    repo.git(&["add", "--all"]);
    let user = User::new();
    for format in ["text", "quickfix", "markdown", "json", "sarif", "envelope", "comment", "html"] {
        let args = ["check", "--staged", "--mode", "report-only", "--format", format];
        let program = user.crh(repo.path(), &args).env("GITHUB_ACTIONS", "true");
        let output = program.run();
        for line in output.stdout.lines().chain(output.stderr.lines()) {
            let is_command = line.trim_start().starts_with("::") || line.contains("##[");
            assert!(!is_command, "{format}: {line}");
        }
    }
}
