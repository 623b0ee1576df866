//! `crh diff`.

use expect_test::expect;

use crate::{crh, read};

const DIFF: &str = "diff --git a/old name.rs b/new name.rs\nsimilarity index 80%\nrename from old name.rs\n\
    rename to new name.rs\n--- a/old name.rs\t\n+++ b/new name.rs\t\n@@ -9,2 +9,3 @@ fn f() {\n a\n-b\n+c\n+d\n";

#[test]
fn commands_print_numbers_files_and_the_line_map() {
    let text = read("examples/shop/change.diff");
    let numbered: String =
        (1..).zip(text.lines()).map(|(n, line)| format!("{n}  {line}\n")).collect();
    assert_eq!(
        crh(&["diff", "number"]).stdin(text).run().shown(),
        format!("exit 0\n---\n{numbered}")
    );
    expect![[r#"
        exit 0
        ---
        [
          {
            "additions": 2,
            "deletions": 1,
            "oldPath": "old name.rs",
            "path": "new name.rs",
            "status": "renamed"
          }
        ]
    "#]]
    .assert_eq(&crh(&["diff", "files"]).stdin(DIFF).run().shown());
    expect![[r#"
        exit 0
        ---
        [
          {
            "additions": 2,
            "deletions": 1,
            "lineMap": {
              "8": {
                "fileLine": 9,
                "side": "context"
              },
              "9": {
                "fileLine": 10,
                "side": "before"
              },
              "10": {
                "fileLine": 10,
                "side": "after"
              },
              "11": {
                "fileLine": 11,
                "side": "after"
              }
            },
            "oldPath": "old name.rs",
            "path": "new name.rs",
            "status": "renamed"
          }
        ]
    "#]]
    .assert_eq(&crh(&["diff", "map"]).stdin(DIFF).run().shown());
}

#[test]
fn map_looks_up_one_line_both_ways() {
    expect![[r#"
        exit 0
        ---
        {"diffLine":11,"fileLine":11,"newLine":11,"oldLine":null,"path":"new name.rs","side":"after"}
    "#]]
    .assert_eq(&crh(&["diff", "map", "11"]).stdin(DIFF).run().shown());
    expect![[r#"
        exit 0
        ---
        {"diffLine":10,"fileLine":10,"newLine":10,"oldLine":null,"path":"new name.rs","side":"after"}
    "#]]
    .assert_eq(&crh(&["diff", "map", "new name.rs:10"]).stdin(DIFF).run().shown());
    expect![[r#"
        exit 0
        ---
        {"diffLine":9,"fileLine":10,"newLine":null,"oldLine":10,"path":"new name.rs","side":"before"}
    "#]]
    .assert_eq(&crh(&["diff", "map", "--side", "old", "new name.rs:10"]).stdin(DIFF).run().shown());
}

#[test]
fn wrong_input_gets_a_hint_or_a_warning() {
    expect![[r#"
        exit 2
        error: line 7 of the diff is not inside a hunk
        hint: `crh diff number` shows line numbers
        ---
    "#]]
    .assert_eq(&crh(&["diff", "map", "7"]).stdin(DIFF).run().shown());
    expect![[r#"
        exit 2
        error: the diff does not contain line 99 of `new name.rs` on the new side
        hint: only lines inside hunks are mapped; use `--side old` for lines of the old file
        ---
    "#]]
    .assert_eq(&crh(&["diff", "map", "new name.rs:99"]).stdin(DIFF).run().shown());
    expect![[r#"
        exit 2
        error: `gone.rs` is not in the diff
        hint: `crh diff files` lists the files
        ---
    "#]]
    .assert_eq(&crh(&["diff", "map", "gone.rs:1"]).stdin(DIFF).run().shown());
    expect![[r#"
        exit 2
        error: `hello` is neither a line number nor `PATH:LINE`
        hint: write `42` for a line of the diff, `src/a.rs:10` for a line of a file
        ---
    "#]]
    .assert_eq(&crh(&["diff", "map", "hello"]).stdin(DIFF).run().shown());
    expect![[r#"
        exit 0
        ---
        []
    "#]]
    .assert_eq(&crh(&["diff", "files"]).run().shown());
    expect![[r#"
        exit 2
        error: standard input: the text contains no git diff and no unified diff
        hint: pass the output of `git diff`, `git show` or `diff -u`
        ---
    "#]]
    .assert_eq(&crh(&["diff", "files"]).stdin("Shall I compare thee\n").run().shown());
    let coloured = DIFF.replace("@@ -", "\x1b[36m@@ -");
    expect![[r#"
        exit 2
        error: standard input: the diff is coloured: its lines start with escape sequences of a terminal
        hint: write the diff with `git diff --no-color`
        ---
    "#]]
    .assert_eq(&crh(&["diff", "files"]).stdin(coloured).run().shown());
}

#[test]
fn closed_pipe_is_not_an_error() {
    let part = read("examples/shop/change.diff");
    let text: String = (0..2_000).map(|n| part.replace("shop/", &format!("shop{n}/"))).collect();
    let script = "\"$0\" diff number | head -n 1; echo \"${PIPESTATUS[0]}\"";
    let program = crh_testkit::Program::new("bash", &crate::root());
    let output = program.args(["-c", script, env!("CARGO_BIN_EXE_crh")]).stdin(text).run();
    assert_eq!(output.shown(), "exit 0\n---\n1  diff --git a/shop0/mail.py b/shop0/mail.py\n0\n");
}
