//! `crh tool`: all tools, with the same answers for folder and archive.

use expect_test::expect_file;
use serde_json::Value;

use crate::crh;
use crate::user::User;
use crh_testkit::Repo;

/// Calls of every tool, including rejected ones.
pub(crate) const CALLS: &[(&str, &str)] = &[
    ("read", r#"{"path": "metadata.json"}"#),
    ("read", r#"{"path": "preview-diffs/latest/diff/raw.diff", "offset": 3, "limit": 2}"#),
    ("read", r#"{"path": "../outside"}"#),
    ("grep", r#"{"pattern": "answer", "path": "preview-diffs", "context": 1}"#),
    ("grep", r#"{"pattern": "(", "literal": true, "glob": "*.diff", "limit": 1}"#),
    ("find", r#"{"pattern": "*.json"}"#),
    ("ls", "{}"),
    ("ls", r#"{"path": "agent"}"#),
    ("mp_metadata", "{}"),
    ("preview_diffs_list", "{}"),
    ("diff_list_files", "{}"),
    ("diff_list_files", r#"{"start": 2, "end": 2, "previewDiffId": 1}"#),
    ("diff_get_file", r#"{"path": "src/lib.rs"}"#),
    ("diff_get_file", r#"{"path": "nowhere"}"#),
    ("diff_numbered", r#"{"start": 2, "end": 9}"#),
    ("diff_map_line", r#"{"diffLine": 11}"#),
    ("diff_map_line", r#"{"diffLine": 11, "path": "src/lib.rs"}"#),
    ("comments_general", "{}"),
    ("comments_inline", r#"{"line": 9}"#),
    ("agent_files_list", "{}"),
    ("mark_file_reviewed", r#"{"path": "src/lib.rs"}"#),
    ("mark_file_reviewed", r#"{"path": "nowhere"}"#),
    ("repo_read", r#"{"path": "src/lib.rs"}"#),
    ("repo_read", r#"{"path": "src/lib.rs", "ref": "base", "startLine": 2, "endLine": 99}"#),
    ("repo_ls", "{}"),
    ("repo_ls", r#"{"path": "src", "ref": "base"}"#),
    ("repo_grep", r#"{"pattern": "fn \\w+"}"#),
    (
        "repo_grep",
        r#"{"pattern": "NUMBER", "ignoreCase": true, "pathGlob": "*.rs", "maxMatches": 1}"#,
    ),
    ("find_definition", r#"{"name": "number"}"#),
    ("find_callers", r#"{"name": "number"}"#),
    ("find_implementations", r#"{"name": "number"}"#),
    ("get_function", r#"{"path": "src/lib.rs", "line": 2}"#),
    ("repo_stat", r#"{"path": "src/lib.rs"}"#),
    ("repo_stat", r#"{"path": "src", "ref": "base"}"#),
    ("repo_log", "{}"),
    ("repo_log", r#"{"path": "src/lib.rs", "ref": "base", "limit": 2}"#),
    ("repo_blame", r#"{"path": "src/lib.rs", "startLine": 1, "endLine": 3}"#),
    ("repo_blame", r#"{"path": "src/lib.rs", "startLine": 1, "ref": "base"}"#),
    ("read_file", r#"{"path": "src/lib.rs"}"#),
    ("search_code", r#"{"query": "number", "language_filter": "rust"}"#),
    ("run_ruff", r#"{"file_content": "import os\n", "filename": "a.py"}"#),
    (
        "get_function_context",
        r#"{"file_content": "fn a() {}\n", "function_name": "a", "language": "rust"}"#,
    ),
    ("calc", r#"{"expression": "2 ^ 10 / 3"}"#),
];

/// A change with history, symlinks, agent instructions and binary content.
pub(crate) fn repository() -> Repo {
    let repo = Repo::from_fixture(
        "
        //- AGENTS.md
        Be kind.
        //- src/lib.rs
        fn number() -> u32 {
            1
        }
        //- docs/guide.md
        What number means.
        //- head
        //- src/lib.rs
        fn number() -> u32 {
            // the answer
            42
        }
        //- src/more.rs
        fn number_of_more() {}
        ",
    );
    repo.write("image.png", b"\x89PNG\0\0");
    repo.commit("an image");
    repo
}

#[test]
fn tool_list_matches_model_descriptions() {
    let output = crh(&["tool", "--list"]).run();
    expect_file!["../../../crh-pipeline/tests/data/tools/catalogue.json"].assert_eq(&output.stdout);
}

/// Calls tools on folder and archive of a target and compares the answers. Returns rejected calls.
fn refused_in_both(
    repo: &Repo,
    target: &[&str],
    calls: impl Iterator<Item = &'static (&'static str, &'static str)>,
) -> Vec<String> {
    let user = User::new();
    let (out, pack) = (user.path("out"), user.path("packed.tar"));
    let (out, pack) = (out.to_str().unwrap(), pack.to_str().unwrap());
    user.prepared(repo.path(), &[target, &["--pack", pack]].concat(), "out");
    // The archive works without a repository and a store.
    let elsewhere = User::new();
    let mut refused = Vec::new();
    for (name, arguments) in calls {
        let call = ["tool", name, arguments];
        let folder = user.crh(repo.path(), &[&call[..], &["--workspace", out]].concat()).run();
        let archive = [&call[..], &["--packed", pack]].concat();
        let archive = elsewhere.crh(&elsewhere.path(""), &archive).run();
        assert_eq!(folder, archive, "{target:?} {name} {arguments}");
        if folder.code != 0 {
            assert_eq!(folder.code, 2, "{target:?} {name}: {folder:?}");
            refused.push(format!("{name} {arguments}"));
        }
    }
    refused
}

#[test]
fn tools_answer_the_same_for_archive_and_folder() {
    let refused = refused_in_both(&repository(), &["HEAD~2..HEAD"], CALLS.iter());
    let expected = [
        r#"read {"path": "../outside"}"#,
        r#"diff_get_file {"path": "nowhere"}"#,
        r#"mark_file_reviewed {"path": "nowhere"}"#,
    ];
    assert_eq!(refused, expected, "so the rest of what was compared are answers");
    let list: Vec<Value> = serde_json::from_str(&crh(&["tool", "--list"]).run().stdout).unwrap();
    for tool in list {
        let name = tool["name"].as_str().unwrap();
        assert!(CALLS.iter().any(|(called, _)| *called == name), "no call of {name}");
    }
}

/// Calls that read a file, an entry of a folder, and the history.
fn calls_that_read_objects() -> impl Iterator<Item = &'static (&'static str, &'static str)> {
    let names = ["repo_read", "repo_stat", "repo_log"];
    CALLS.iter().filter(move |(name, _)| names.contains(name))
}

#[test]
fn tools_answer_the_same_for_first_commit_and_uncommitted() {
    let repo = repository();
    let first = refused_in_both(&repo, &["--commit", "HEAD~2"], calls_that_read_objects());
    assert!(first.contains(&r#"repo_stat {"path": "src", "ref": "base"}"#.to_owned()), "{first:?}");
    repo.write("src/lib.rs", "fn number() -> u32 {\n    // the answer\n    6 * 7\n}\n");
    repo.write("src/new.rs", "fn numberless() {}\n");
    let dirty = refused_in_both(&repo, &["--uncommitted"], calls_that_read_objects());
    assert_eq!(dirty, [""; 0]);
}
