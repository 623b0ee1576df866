//! Every tool on a real workspace: replies, and errors for bad input.

use std::fs::File;
use std::time::Duration;

use expect_test::{ExpectFile, expect, expect_file};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::samples::{EDGE, comment, contents, one_round, write_and_open};
use crh_pipeline::tools::{ToolContext, ToolError, ToolLimits, call, call_with_limits, catalogue};
use crh_pipeline::workspace::WorkspaceContents;
use crh_review::stable_json;

fn tool_context(contents: &WorkspaceContents) -> (TempDir, ToolContext) {
    let (folder, workspace) = write_and_open(contents);
    (folder, ToolContext::new().with_workspace(workspace))
}

/// The reply, or the error with its kind.
fn render(ctx: &ToolContext, name: &str, arguments: &str) -> String {
    match call(name, arguments, ctx) {
        Ok(reply) => reply,
        Err(ToolError::TellModel(message)) => format!("to the model: {message}"),
        Err(ToolError::Abort(message)) => format!("abort: {message}"),
    }
}

/// Runs calls on the sample workspace, one per line, and compares the transcript.
fn check(calls: &str, expected: ExpectFile) {
    let (_folder, ctx) = tool_context(&contents());
    let mut transcript = String::new();
    for call in calls.trim().lines().map(str::trim) {
        let (name, arguments) = call.split_once(' ').unwrap_or((call, ""));
        let reply = render(&ctx, name, arguments);
        transcript.push_str(&format!("$ {call}\n{}\n\n", reply.trim_end()));
    }
    expected.assert_eq(&transcript);
}

#[test]
fn catalogue_matches_the_golden_file() {
    expect_file!["../data/tools/catalogue.json"].assert_eq(&stable_json(&catalogue()).unwrap());
}

#[test]
fn unknown_tool_suggests_similar_names() {
    let (_folder, ctx) = tool_context(&contents());
    expect!["to the model: there is no tool `diff_list`; did you mean `diff_list_files`, `diff_map_line`, `repo_ls`?"].assert_eq(&render(&ctx, "diff_list", "{}"));
}

#[test]
fn tools_that_only_compute_need_no_workspace() {
    let ctx = ToolContext::new();
    assert_eq!(render(&ctx, "calc", r#"{"expression": "6 * 7"}"#), "42");
    expect!["abort: this tool needs a workspace, and there is none"].assert_eq(&render(
        &ctx,
        "mp_metadata",
        "{}",
    ));
}

#[test]
fn read_shows_lines_of_a_file() {
    check(
        r#"
        read {"path": "description.md"}
        read {"path": "./agent//AGENTS.md"}
        read {"path": "preview-diffs/latest/diff/numbered.diff", "offset": 2, "limit": 3}
        read {"path": "description.md", "offset": 4}
        read {"path": "description.md", "offset": 5}
        read {"path": "agent"}
        read {"path": "src/a.rs"}
        read {"path": "description.md/x"}
        read {"path": "description.md", "limit": 0}
        read {}
        "#,
        expect_file!["../data/tools/read.txt"],
    );
}

#[test]
fn grep_finds_lines() {
    check(
        r#"
        grep {"pattern": "capital", "path": "metadata.json"}
        grep {"pattern": "CAPITAL", "ignoreCase": true, "glob": "*.json"}
        grep {"pattern": "f.x", "literal": true, "path": "preview-diffs/latest"}
        grep {"pattern": "^\\+", "path": "preview-diffs/9/diff/raw.diff", "context": 1}
        grep {"pattern": ".", "path": "preview-diffs/9/diff/raw.diff", "limit": 2}
        grep {"pattern": "nowhere"}
        grep {"pattern": "("}
        grep {"pattern": "(?=x)"}
        grep {"pattern": "a\nb"}
        grep {"pattern": "((x{1000}){1000}){1000}"}
        grep {"pattern": "x", "glob": "*.py"}
        grep {"pattern": "x", "glob": "[a"}
        grep {"pattern": "x", "path": "missing"}
        "#,
        expect_file!["../data/tools/grep.txt"],
    );
}

#[test]
fn grep_cuts_long_lines_and_handles_slow_patterns() {
    let line = format!("+{}", "a".repeat(100_000));
    let diff = format!("diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -0,0 +1 @@\n{line}\n");
    let (_folder, ctx) = tool_context(&one_round(diff));
    let reply = render(
        &ctx,
        "grep",
        r#"{"pattern": "^\\+(a+)+$", "path": "preview-diffs/1/diff/raw.diff"}"#,
    );
    let expected = format!("preview-diffs/1/diff/raw.diff:5: +{}… [99501 more]\n", "a".repeat(499));
    assert_eq!(reply, expected);
    let none =
        render(&ctx, "grep", r#"{"pattern": "(a*)*b$", "path": "preview-diffs/1/diff/raw.diff"}"#);
    assert_eq!(none, "[no line matches `(a*)*b$` in 1 file(s)]\n");
}

#[test]
fn find_and_ls_list_existing_entries() {
    check(
        r#"
        find {"pattern": "AGENTS.md"}
        find {"pattern": "preview-diffs/*/comments/inline/*.json"}
        find {"pattern": "*", "path": "agent", "limit": 2}
        find {"pattern": "rules/*", "path": "agent"}
        find {"pattern": "*.py"}
        find {"pattern": "{a"}
        find {"pattern": "*", "path": "ci.json"}
        ls {}
        ls {"path": "preview-diffs"}
        ls {"path": "preview-diffs/latest", "limit": 1}
        ls {"path": "agent/skills"}
        ls {"path": "ci.json"}
        "#,
        expect_file!["../data/tools/find-ls.txt"],
    );
}

#[test]
fn glob_with_trailing_slash_matches_a_folder() {
    let (_folder, ctx) = tool_context(&contents());
    let reply = render(&ctx, "find", r#"{"pattern": "agent/"}"#);
    assert!(reply.contains("agent/AGENTS.md\n"), "{reply}");
}

#[test]
fn metadata_describes_the_change() {
    check(
        r#"
        mp_metadata {}
        mp_metadata {"x": 1}
        preview_diffs_list
        agent_files_list {}
        agent_files_list []
        "#,
        expect_file!["../data/tools/change.txt"],
    );
}

#[test]
fn diff_list_files_lists_files() {
    check(
        r#"
        diff_list_files {"previewDiffId": 9}
        diff_list_files {"start": 4, "end": 5}
        diff_list_files {"previewDiffId": "../9"}
        diff_list_files {"previewDiffId": true}
        diff_list_files {"start": 100}
        "#,
        expect_file!["../data/tools/diff_list_files.txt"],
    );
}

#[test]
fn diff_get_file_shows_a_file() {
    check(
        r#"
        diff_get_file {"path": "src/a.rs", "previewDiffId": "9"}
        diff_get_file {"path": "config", "previewDiffId": 9}
        diff_get_file {"path": "\"caf\\303\\251.txt\""}
        diff_get_file {"path": "copy_src.txt"}
        diff_get_file {"path": "src/mod.tx"}
        diff_get_file {"path": "../../metadata.json"}
        "#,
        expect_file!["../data/tools/diff_get_file.txt"],
    );
}

#[test]
fn listed_files_can_be_requested() {
    // The last path is not UTF-8; the one before is named like a folder of its predecessor.
    let odd = b"diff --git a/x b/x\nold mode 100644\nnew mode 100755\n\
        diff --git a/x/patch b/x/patch\nold mode 100644\nnew mode 100755\n\
        diff --git \"a/\\377\\\"\\n\" \"b/\\377\\\"\\n\"\nold mode 100644\nnew mode 100755\n";
    let (_folder, ctx) = tool_context(&one_round([EDGE, odd].concat()));
    let listed: Value =
        serde_json::from_str(&call("diff_list_files", "{}", &ctx).unwrap()).unwrap();
    let files = listed["files"].as_array().unwrap();
    assert_eq!(listed["total"], files.len());
    assert_eq!(files.last().unwrap()["path"], r#""\377\"\n""#);
    for file in files {
        let arguments = json!({ "path": file["path"] }).to_string();
        let reply: Value =
            serde_json::from_str(&call("diff_get_file", &arguments, &ctx).unwrap()).unwrap();
        for field in ["path", "oldPath", "status", "additions", "deletions"] {
            assert_eq!(reply["meta"][field], file[field]);
        }
        let marked: Value =
            serde_json::from_str(&call("mark_file_reviewed", &arguments, &ctx).unwrap()).unwrap();
        assert_eq!(marked["path"], file["path"]);
    }
}

#[test]
fn numbered_lines_are_shown_page_by_page() {
    check(
        r#"
        diff_numbered {"start": 5, "end": 8, "previewDiffId": 9}
        diff_numbered {"start": 21, "previewDiffId": 9}
        diff_numbered {"start": 8, "end": 5}
        diff_numbered {"start": 1000}
        diff_numbered {"start": 0}
        "#,
        expect_file!["../data/tools/diff_numbered.txt"],
    );
}

#[test]
fn empty_diff_has_no_lines() {
    let (_folder, ctx) = tool_context(&one_round(""));
    expect!["to the model: the diff is empty"].assert_eq(&render(&ctx, "diff_numbered", "{}"));
    expect!["to the model: there are 0 files, so none from 1 on"].assert_eq(&render(
        &ctx,
        "diff_list_files",
        r#"{"start": 1}"#,
    ));
}

#[test]
fn numbered_diff_shows_500_lines_by_default() {
    let diff =
        format!("diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -0,0 +1,700 @@\n{}", "+x\n".repeat(700));
    let (_folder, ctx) = tool_context(&one_round(diff));
    let mut actual = String::new();
    let mut start = 1;
    loop {
        let reply = call("diff_numbered", &json!({ "start": start }).to_string(), &ctx).unwrap();
        let reply: Value = serde_json::from_str(&reply).unwrap();
        assert_eq!(reply["totalLines"], 704);
        actual.push_str(reply["content"].as_str().unwrap());
        start = reply["end"].as_u64().unwrap() + 1;
        if reply["truncated"] == false {
            break;
        }
        assert_eq!(start, 501);
    }
    assert_eq!(actual.lines().count(), 704);
    assert!(actual.ends_with("704  +x\n"));
}

#[test]
fn diff_lines_map_to_file_lines() {
    check(
        r#"
        diff_map_line {"diffLine": 21}
        diff_map_line {"diffLine": 22, "path": "café.txt"}
        diff_map_line {"diffLine": 30}
        diff_map_line {"diffLine": 22, "path": "added.txt"}
        diff_map_line {"diffLine": 1}
        diff_map_line {"diffLine": 5000}
        diff_map_line {"diffLine": "7"}
        "#,
        expect_file!["../data/tools/diff_map_line.txt"],
    );
}

#[test]
fn comments_are_shown_with_their_round_and_line() {
    check(
        r#"
        comments_general {}
        comments_general {"previewDiffId": 3}
        comments_inline {"line": 22}
        comments_inline {"line": 8, "previewDiffId": "9"}
        comments_inline {"line": 9}
        comments_inline {"line": "22"}
        "#,
        expect_file!["../data/tools/comments.txt"],
    );
}

#[test]
fn only_files_of_the_change_can_be_marked() {
    check(
        r#"
        mark_file_reviewed {"path": "src/mod.txt"}
        mark_file_reviewed {"path": "copy_src.txt"}
        mark_file_reviewed {"path": "pure_rename.txt"}
        mark_file_reviewed {"path": "/etc/passwd"}
        "#,
        expect_file!["../data/tools/mark_file_reviewed.txt"],
    );
}

#[test]
fn function_context_has_imports() {
    let python = "import os\n\nclass A:\n    def run(self):\n        pass\n\nclass B:\n    def run(self):\n        return os.name\n";
    let nim = "proc greet(name: string) =\n  echo name\n";
    let mut calls = String::new();
    for (name, language, text) in [
        ("B.run", "python", python),
        ("run", "Python", python),
        ("rnu", "python", python),
        ("x", "python", ""),
        ("greet", "nim", nim),
    ] {
        let arguments =
            json!({ "function_name": name, "language": language, "file_content": text });
        calls.push_str(&format!("get_function_context {arguments}\n"));
    }
    calls.push_str(r#"get_function_context {"file_content": "", "function_name": "x"}"#);
    check(&calls, expect_file!["../data/tools/get_function_context.txt"]);
}

/// A change that is too long for every reply.
fn large() -> WorkspaceContents {
    let mut diff = String::new();
    for file in 0..700 {
        let path = format!("src/{}/file{file}.rs", "a_folder_with_a_long_name_".repeat(5));
        diff.push_str(&format!(
            "diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n@@ -1 +1 @@\n-old\n+new\n"
        ));
    }
    diff.push_str("diff --git a/big b/big\n--- a/big\n+++ b/big\n@@ -0,0 +1,20000 @@\n");
    diff.push_str(&"+a line of some length\n".repeat(20_000));
    let mut contents = one_round(diff);
    contents.metadata.body = "words of a description\n".repeat(10_000);
    contents.rounds[0]
        .general
        .extend((0..500).map(|at| comment(&at.to_string(), &"talk ".repeat(200))));
    contents
}

#[test]
fn long_replies_are_cut_between_rows() {
    let (_folder, ctx) = tool_context(&large());
    for (name, arguments) in [
        ("mp_metadata", "{}"),
        ("diff_list_files", "{}"),
        ("diff_get_file", r#"{"path": "big"}"#),
        ("diff_numbered", r#"{"end": 20000}"#),
        ("comments_general", "{}"),
        ("read", r#"{"path": "preview-diffs/1/diff/raw.diff", "limit": 50000}"#),
        ("grep", r#"{"pattern": "line", "limit": 50000}"#),
        ("find", r#"{"pattern": "*", "limit": 50000}"#),
        ("ls", r#"{"path": "preview-diffs/1/diff/files", "limit": 50000}"#),
    ] {
        let reply = call(name, arguments, &ctx).unwrap();
        let chars = reply.chars().count();
        assert!((70_000..=80_000).contains(&chars), "{name}: {chars}");
        let (kept_text, notice) = reply.rsplit_once('\n').unwrap();
        let number = notice.strip_prefix("[TRUNCATED: ").and_then(|rest| {
            rest.strip_suffix(
                " chars omitted — paginate with start/end params or narrow the request]",
            )
        });
        assert!(number.unwrap().parse::<usize>().unwrap() > 0, "{name}");
        if kept_text.starts_with('{') {
            let value: Value = serde_json::from_str(kept_text).unwrap();
            let shown =
                ["shown", "shownLines", "end"].iter().find_map(|field| value[field].as_u64());
            let total = ["total", "totalLines"].iter().find_map(|field| value[field].as_u64());
            assert!(shown < total || value["bodyTruncated"] == true, "{name}");
        } else {
            assert!(kept_text.lines().last().unwrap().len() < 300, "{name} is cut at a line");
        }
    }
}

#[test]
fn truncated_diff_page_states_its_end() {
    let (_folder, ctx) = tool_context(&large());
    let reply = call("diff_numbered", r#"{"start": 4301, "end": 24000}"#, &ctx).unwrap();
    let value: Value = serde_json::from_str(reply.rsplit_once('\n').unwrap().0).unwrap();
    let last = value["content"].as_str().unwrap().lines().last().unwrap();
    assert!(last.starts_with(&format!("{}  +a line", value["end"])), "{last}");
    assert_eq!(value["truncated"], true);
}

#[test]
fn slow_call_times_out() {
    let (_folder, ctx) = tool_context(&contents());
    // Another process holds the lock for marking files.
    let other = File::open(ctx.workspace().unwrap().folder().join("metadata.json")).unwrap();
    other.lock().unwrap();
    let arguments = r#"{"path": "src/mod.txt"}"#;
    let limits = ToolLimits { time: Duration::from_millis(30), ..ToolLimits::USUAL };
    let reply = call_with_limits(limits, "mark_file_reviewed", arguments, &ctx);
    let expected = "tool mark_file_reviewed timed out after 30ms".to_owned();
    assert_eq!(reply, Err(ToolError::TellModel(expected)));
    drop(other);
    assert!(call("mark_file_reviewed", arguments, &ctx).is_ok());
}

#[test]
fn run_ruff_skips_other_languages() {
    check(
        r#"
        run_ruff {"file_content": "import os\n", "filename": "shop/orders.py"}
        run_ruff {"file_content": "fn main() {}\n", "filename": "src/main.rs"}
        run_ruff {"file_content": "x"}
        "#,
        expect_file!["../data/tools/run_ruff.txt"],
    );
}
