//! Repository tools with unusual names and histories.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;

use serde_json::{Value, json};

use crh_git::BareRepository;
use crh_pipeline::revisions::Revisions;
use crh_pipeline::tools::{ToolContext, ToolError, call};
use crh_testkit::Repo;

/// Tool context for the change between two commits.
fn tool_context(repo: &Repo, base: &str, head: &str) -> ToolContext {
    let bare = BareRepository::new(&repo.path().join(".git"));
    let revisions = Revisions::new(bare, &repo.id(base), &repo.id(head)).unwrap();
    ToolContext::new().with_repository(move || Ok(revisions))
}

fn text_reply(ctx: &ToolContext, tool: &str, arguments: &Value) -> String {
    call(tool, &arguments.to_string(), ctx).unwrap()
}

fn reply(ctx: &ToolContext, tool: &str, arguments: &Value) -> Value {
    serde_json::from_str(&text_reply(ctx, tool, arguments)).unwrap()
}

fn refusal(ctx: &ToolContext, tool: &str, arguments: &Value) -> String {
    match call(tool, &arguments.to_string(), ctx).unwrap_err() {
        ToolError::TellModel(message) => message,
        ToolError::Abort(message) => format!("abort: {message}"),
    }
}

#[test]
fn long_line_ends_with_the_number_of_missing_characters() {
    let repo = Repo::new();
    repo.commit("base");
    repo.write("big.js", "x".repeat(200_000));
    repo.commit("a long line");
    let ctx = tool_context(&repo, "HEAD~1", "HEAD");
    let read = text_reply(&ctx, "repo_read", &json!({ "path": "big.js" }));
    assert!(read.ends_with("x… [cut: 198000 more characters]\n"), "{read}");
}

#[test]
fn quoted_path_can_be_requested() {
    let repo = Repo::new();
    repo.commit("base");
    let folder = repo.path().join(OsStr::from_bytes(b"d\xff"));
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("a.py"), "x = 1\n").unwrap();
    repo.write("\"b\"", "with quotes\n");
    repo.write("b", "without\n");
    repo.commit("odd names");
    let ctx = tool_context(&repo, "HEAD~1", "HEAD");
    let listed = reply(&ctx, "repo_ls", &json!({}));
    assert_eq!(listed["entries"][2]["path"], r#""d\377""#);
    let listed = reply(&ctx, "repo_ls", &json!({ "path": r#""d\377""# }));
    assert_eq!(listed["entries"][0]["path"], "a.py");
    let path = r#""d\377/a.py""#;
    let found = text_reply(&ctx, "repo_grep", &json!({ "pattern": "x = 1" }));
    assert_eq!(found, format!("{path}:1: x = 1\n"));
    let read = text_reply(&ctx, "repo_read", &json!({ "path": path }));
    assert_eq!(read, format!("{path} at head, lines 1-1 of 1:\n    1  x = 1\n"));
    assert_eq!(reply(&ctx, "repo_stat", &json!({ "path": path }))["size"], 6);
    assert_eq!(reply(&ctx, "read_file", &json!({ "path": path }))["language"], "python");
    // An existing file with quotes in its name wins.
    let read = text_reply(&ctx, "repo_read", &json!({ "path": "\"b\"" }));
    assert!(read.ends_with("    1  with quotes\n"), "{read}");
    assert_eq!(
        refusal(&ctx, "repo_log", &json!({ "path": path })),
        r#"the history of `"d\377/a.py"` cannot be read: it is not UTF-8"#
    );
}

#[test]
fn blame_shows_the_unquoted_original_path() {
    let repo = Repo::new();
    repo.write("ü \"a\"\t.txt", "one\ntwo\nthree\n");
    repo.commit("base");
    fs::rename(repo.path().join("ü \"a\"\t.txt"), repo.path().join("b.txt")).unwrap();
    repo.commit("renamed");
    let ctx = tool_context(&repo, "HEAD~1", "HEAD");
    let blamed = reply(&ctx, "repo_blame", &json!({ "path": "b.txt", "startLine": 1 }));
    assert_eq!(blamed["lines"][0]["originalPath"], "ü \"a\"\t.txt");
}

#[test]
fn log_rejects_paths_outside_the_repository() {
    let repo = Repo::new();
    repo.commit("base");
    repo.write("a.txt", "1\n");
    repo.commit("change");
    let ctx = tool_context(&repo, "HEAD~1", "HEAD");
    for path in ["/etc/passwd", "../a.txt", "."] {
        let says = refusal(&ctx, "repo_log", &json!({ "path": path }));
        assert_eq!(says, refusal(&ctx, "repo_read", &json!({ "path": path })));
    }
}

#[test]
fn boundary_commit_is_marked_or_older() {
    let repo = Repo::new();
    repo.write("a.txt", "1\n");
    repo.commit("the first");
    for number in 0..50 {
        repo.commit(&format!("older {number}"));
    }
    repo.write("a.txt", "2\n");
    repo.commit("change");
    let ctx = tool_context(&repo, "HEAD~1", "HEAD");
    let log = |arguments: Value| reply(&ctx, "repo_log", &arguments)["commits"].clone();
    let of_path = log(json!({ "path": "a.txt" }));
    let rows: Vec<_> = of_path.as_array().unwrap().iter().collect();
    let shown: Vec<_> = rows.iter().map(|row| (&row["subject"], &row["orOlder"])).collect();
    assert_eq!(shown, [(&json!("change"), &Value::Null), (&json!("older 0"), &Value::Bool(true))]);
    let all = log(json!({ "limit": 100 }));
    assert_eq!(all.as_array().unwrap().len(), 51);
    assert!(all.as_array().unwrap().iter().all(|row| row["orOlder"].is_null()));
}

#[test]
fn path_suggestion_works_with_many_files() {
    let repo = Repo::new();
    let file = |number| (format!("a/{number:020}.rs"), String::new());
    repo.import((0..6_000).map(file).chain([("zz/target.rs".to_owned(), String::new())]));
    let ctx = tool_context(&repo, "main", "main");
    let says = refusal(&ctx, "repo_read", &json!({ "path": "zz/tagret.rs" }));
    let expected = "there is no `zz/tagret.rs` at this revision; did you mean `zz/target.rs`, ";
    assert!(says.starts_with(expected), "{says}");
}
