//! The tools that read the repository, on names and histories that are not the usual ones.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;

use serde_json::{Value, json};

use crh_git::Bare;
use crh_pipeline::revisions::Revisions;
use crh_pipeline::tools::{Bench, ToolError, call};
use crh_testkit::Repo;

/// A bench for the change between two commits.
fn bench(repo: &Repo, base: &str, head: &str) -> Bench {
    let bare = Bare::new(&repo.path().join(".git"));
    let revisions = Revisions::new(bare, &repo.id(base), &repo.id(head)).unwrap();
    Bench::new().with_repository(move || Ok(revisions))
}

fn reply(bench: &Bench, tool: &str, arguments: &Value) -> Value {
    serde_json::from_str(&call(tool, &arguments.to_string(), bench).unwrap()).unwrap()
}

fn refusal(bench: &Bench, tool: &str, arguments: &Value) -> String {
    match call(tool, &arguments.to_string(), bench).unwrap_err() {
        ToolError::TellModel(message) => message,
        ToolError::Abort(message) => format!("abort: {message}"),
    }
}

#[test]
fn a_name_that_is_shown_quoted_can_be_asked_for() {
    let repo = Repo::new();
    repo.commit("base");
    let folder = repo.path().join(OsStr::from_bytes(b"d\xff"));
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("a.py"), "x = 1\n").unwrap();
    repo.write("\"b\"", "with quotes\n");
    repo.write("b", "without\n");
    repo.commit("odd names");
    let bench = bench(&repo, "HEAD~1", "HEAD");
    let listed = reply(&bench, "repo_ls", &json!({}));
    assert_eq!(listed["entries"][2]["path"], r#""d\377""#);
    let listed = reply(&bench, "repo_ls", &json!({ "path": r#""d\377""# }));
    assert_eq!(listed["entries"][0]["path"], "a.py");
    let found = reply(&bench, "repo_grep", &json!({ "pattern": "x = 1" }));
    let path = &found["matches"][0]["path"];
    assert_eq!(path, r#""d\377/a.py""#);
    assert_eq!(reply(&bench, "repo_read", &json!({ "path": path }))["content"], "x = 1\n");
    assert_eq!(reply(&bench, "repo_stat", &json!({ "path": path }))["size"], 6);
    assert_eq!(reply(&bench, "read_file", &json!({ "path": path }))["language"], "python");
    // A file that has the quotes in its name is that one.
    let read = reply(&bench, "repo_read", &json!({ "path": "\"b\"" }));
    assert_eq!(read["content"], "with quotes\n");
    assert_eq!(
        refusal(&bench, "repo_log", &json!({ "path": path })),
        r#"the history of `"d\377/a.py"` cannot be read: it is not UTF-8"#
    );
}

#[test]
fn the_path_that_a_line_had_is_shown_as_it_is_and_not_as_git_quotes_it() {
    let repo = Repo::new();
    repo.write("ü \"a\"\t.txt", "one\ntwo\nthree\n");
    repo.commit("base");
    fs::rename(repo.path().join("ü \"a\"\t.txt"), repo.path().join("b.txt")).unwrap();
    repo.commit("renamed");
    let bench = bench(&repo, "HEAD~1", "HEAD");
    let blamed = reply(&bench, "repo_blame", &json!({ "path": "b.txt", "startLine": 1 }));
    assert_eq!(blamed["lines"][0]["originalPath"], "ü \"a\"\t.txt");
}

#[test]
fn the_log_of_a_path_is_asked_for_inside_the_repository() {
    let repo = Repo::new();
    repo.commit("base");
    repo.write("a.txt", "1\n");
    repo.commit("change");
    let bench = bench(&repo, "HEAD~1", "HEAD");
    for path in ["/etc/passwd", "../a.txt", "."] {
        let says = refusal(&bench, "repo_log", &json!({ "path": path }));
        assert_eq!(says, refusal(&bench, "repo_read", &json!({ "path": path })));
    }
}

#[test]
fn the_last_commit_of_the_history_is_not_taken_for_the_one_that_brought_a_path() {
    let repo = Repo::new();
    repo.write("a.txt", "1\n");
    repo.commit("the first");
    for number in 0..50 {
        repo.commit(&format!("older {number}"));
    }
    repo.write("a.txt", "2\n");
    repo.commit("change");
    let bench = bench(&repo, "HEAD~1", "HEAD");
    let log = |arguments: Value| reply(&bench, "repo_log", &arguments)["commits"].clone();
    let of_path = log(json!({ "path": "a.txt" }));
    let rows: Vec<_> = of_path.as_array().unwrap().iter().collect();
    let shown: Vec<_> = rows.iter().map(|row| (&row["subject"], &row["orOlder"])).collect();
    assert_eq!(shown, [(&json!("change"), &Value::Null), (&json!("older 0"), &Value::Bool(true))]);
    let all = log(json!({ "limit": 100 }));
    assert_eq!(all.as_array().unwrap().len(), 51);
    assert!(all.as_array().unwrap().iter().all(|row| row["orOlder"].is_null()));
}

#[test]
fn of_very_many_files_the_name_that_was_meant_is_still_found() {
    let repo = Repo::new();
    let file = |number| (format!("a/{number:020}.rs"), String::new());
    repo.import((0..6_000).map(file).chain([("zz/target.rs".to_owned(), String::new())]));
    let bench = bench(&repo, "main", "main");
    let says = refusal(&bench, "repo_read", &json!({ "path": "zz/tagret.rs" }));
    let expected = "there is no `zz/tagret.rs` at this revision; did you mean `zz/target.rs`, ";
    assert!(says.starts_with(expected), "{says}");
}
