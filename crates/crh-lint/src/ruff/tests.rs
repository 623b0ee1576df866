//! Parsing of ruff's output, and misbehaving programs. A script replaces ruff.

use std::fs;
use std::os::unix::fs::{OpenOptionsExt, symlink};
use std::path::Path;

use expect_test::{Expect, expect};
use tempfile::TempDir;

use super::*;

/// A folder with a `ruff` that runs this script.
fn folder(script: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let stand_in = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/ruff");
    symlink(stand_in, folder.path().join("ruff")).unwrap();
    fs::write(folder.path().join("script"), script).unwrap();
    folder
}

/// Longer than any test takes.
const LONG: Duration = Duration::from_secs(60);

/// A `ruff` that runs this script, with the programs that scripts need.
fn ruff(script: &str) -> (TempDir, Ruff) {
    let folder = folder(script);
    let path = std::env::join_paths([folder.path(), Path::new("/bin"), Path::new("/usr/bin")]);
    let ruff = Ruff::find(&path.unwrap(), LONG).unwrap();
    assert!(ruff.program.starts_with(folder.path()));
    (folder, ruff)
}

fn format_result(result: Result<Vec<RuffFinding>, RuffError>) -> String {
    let findings = match result {
        Ok(findings) => findings,
        Err(error) => return error.to_string(),
    };
    let line = |it: &RuffFinding| format!("{} {} {}\n", it.line, it.rule, it.message);
    findings.iter().map(line).collect()
}

fn check(script: &str, text: &[u8], expected: Expect) {
    let (_folder, ruff) = ruff(script);
    expected.assert_eq(&format_result(ruff.findings("shop/orders.py", text)));
}

/// A finding as ruff prints it.
fn finding_json(rule: &str, row: u32) -> String {
    format!(
        r#"{{"code": {rule}, "message": "m", "location": {{"row": {row}, "column": 3}}, "fix": null, "url": "https://x"}}"#
    )
}

#[test]
fn findings_are_sorted_by_line() {
    let (b, a) = (finding_json("\"F821\"", 2), finding_json("\"B006\"", 1));
    check(
        &format!("echo '[{b}, {a}]'"),
        b"first\nsecond\n",
        expect![[r#"
            1 B006 m
            2 F821 m
        "#]],
    );
    check("echo '[]'", b"x\n", expect![""]);
}

#[test]
fn finding_without_code_is_a_syntax_error() {
    check(
        &format!("echo '[{}, {}]'", finding_json("null", 9), finding_json("null", 0)),
        b"def f(:\n",
        expect![[r#"
            1 invalid-syntax m
            1 invalid-syntax m
        "#]],
    );
    check(
        &format!("echo '[{}]'", finding_json("null", 1)),
        b"",
        expect![[r#"
            1 invalid-syntax m
        "#]],
    );
}

#[test]
fn ruff_gets_only_file_name_and_text() {
    let (_folder, ruff) = ruff(r#"(echo "$@"; ls -A; cat; env | grep -c HOME) >&2; exit 3"#);
    let output = format_result(ruff.findings("../--fix/a b.py", b"text\n"));
    expect!["`ruff` failed: check --isolated --no-cache --exit-zero --output-format=json --select=E9,F,B,PLE,PLW,S,ASYNC,BLE,DTZ,PERF,RUF --stdin-filename=a b.py - text 0"]
        .assert_eq(&output);
}

#[test]
fn misbehaving_ruff_gives_a_specific_error() {
    check("echo hello", b"", expect!["the output of `ruff` is not understood"]);
    check("echo '{}'", b"", expect!["the output of `ruff` is not understood"]);
    check("echo oh no >&2; exit 1", b"", expect!["`ruff` failed: oh no"]);
    check("exit 2", b"", expect!["`ruff` failed: it said nothing"]);
    check("kill -9 $$", b"", expect!["`ruff` failed: it said nothing"]);
    check("echo '[]'", b"\xff\xfe", expect!["the file is not UTF-8"]);
    let long = "printf 'no %.0s' $(seq 500) >&2; exit 1";
    let (_folder, ruff) = ruff(long);
    assert_eq!(
        format_result(ruff.findings("a.py", b"")).chars().count(),
        "`ruff` failed: ".len() + 301
    );
}

#[test]
fn hanging_ruff_is_killed() {
    for script in ["sleep 1000", "sleep 1000 & sleep 1000", "exec >&- 2>&-; sleep 1000"] {
        let (_folder, mut ruff) = ruff(script);
        ruff.limits.time = Duration::from_millis(50);
        let output = format_result(ruff.findings("a.py", b""));
        assert_eq!(output, "`ruff` did not finish within 0 seconds", "{script}");
    }
}

/// Waits until no process reads from a named pipe. A killed process may take a moment to exit.
fn wait_until_unread(pipe: &Path) {
    let is_read = || {
        let nonblocking = rustix::fs::OFlags::NONBLOCK.bits() as i32;
        fs::OpenOptions::new().write(true).custom_flags(nonblocking).open(pipe).is_ok()
    };
    let began = std::time::Instant::now();
    while is_read() {
        assert!(began.elapsed() < Duration::from_secs(60), "a process is still running");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn children_are_killed_on_timeout() {
    let script = r#"cd "${0%/*}"; mkfifo pipe; cat pipe & yes"#;
    let (folder, mut ruff) = ruff(script);
    ruff.limits.output = 1_000_000;
    expect!["`ruff` printed more than 1000000 bytes"]
        .assert_eq(&format_result(ruff.findings("a.py", b"")));
    wait_until_unread(&folder.path().join("pipe"));
}

#[test]
fn children_are_killed_after_success() {
    // The pipe can be opened for writing only after the other side has opened it.
    let script = r#"cd "${0%/*}"; mkfifo pipe; sleep 1000 < pipe > pipe.out 2>&1 & : > pipe; echo '[]'; exit 0"#;
    let (folder, ruff) = ruff(script);
    expect![""].assert_eq(&format_result(ruff.findings("a.py", b"")));
    wait_until_unread(&folder.path().join("pipe"));
}

#[test]
fn endless_output_is_stopped() {
    let (_folder, mut ruff) = ruff("yes");
    ruff.limits.output = 1_000;
    expect!["`ruff` printed more than 1000 bytes"]
        .assert_eq(&format_result(ruff.findings("a.py", b"")));
}

#[test]
fn unread_stdin_is_not_an_error() {
    check("echo '[]'", &vec![b'x'; 1 << 20], expect![""]);
}

#[test]
fn introduced_returns_only_new_findings() {
    // Reports every line with an `x`.
    let script = r#"grep -n x | sed 's/:.*//' | while read n; do
        printf '%s{"code": "F1", "message": "m", "location": {"row": %s}}' "$sep" "$n"; sep=,
    done > out; echo "[$(cat out)]""#;
    let (_folder, ruff) = ruff(script);
    let introduced = |old: Option<&str>, new: &str| {
        format_result(ruff.introduced("a.py", old.map(str::as_bytes), new.as_bytes()))
    };
    expect![[r#"
        1 F1 m
        3 F1 m
    "#]]
    .assert_eq(&introduced(None, "x = 1\ny\n  x = 2\n"));
    expect![[r#"
        4 F1 m
    "#]]
    .assert_eq(&introduced(Some("x  =  1\n\tx = 2"), "y\n  x = 2\nx = 1\nx = 3\nz\n"));
    expect![""].assert_eq(&introduced(Some("x"), "y"));
}

#[test]
fn findings_do_not_quote_the_line() {
    let findings: Vec<String> = (0..500).map(|_| finding_json("\"F1\"", 1)).collect();
    let (_folder, ruff) = ruff(&format!("echo '[{}]'", findings.join(",")));
    let line = "x ".repeat(500_000);
    let findings = ruff.introduced("a.py", Some(b"y"), line.as_bytes()).unwrap();
    assert_eq!(findings.len(), 500);
    let owned =
        findings.iter().map(|RuffFinding { rule, line: _, message }| rule.len() + message.len());
    assert_eq!(owned.sum::<usize>(), 500 * "F1m".len());
    assert_eq!(ruff.introduced("a.py", Some(line.as_bytes()), line.trim().as_bytes()).unwrap(), []);
}

#[test]
fn ruff_must_be_executable_in_an_absolute_folder() {
    let find = |path: &str| Ruff::find(OsStr::new(path), LONG).map(|ruff| ruff.program);
    let (right, wrong) = (folder(""), tempfile::tempdir().unwrap());
    fs::write(wrong.path().join("ruff"), "#!/bin/sh").unwrap();
    let none = tempfile::tempdir().unwrap();
    fs::create_dir(none.path().join("ruff")).unwrap();
    let [right, wrong, none] = [&right, &wrong, &none].map(|it| it.path().display().to_string());
    assert_eq!(
        find(&format!(":.:bin:/nowhere:{wrong}:{none}:{right}")),
        Some(Path::new(&right).join("ruff"))
    );
    assert_eq!(find(&format!("{wrong}:{none}")), None);
    assert_eq!(find(""), None);
}
