//! Tools never read outside of the workspace: neither requests of a model nor contents of the folder
//! lead out of it.

use std::fs;
use std::os::unix::fs::symlink;

use expect_test::{Expect, expect};
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{Config, TestRunner};
use serde_json::json;

use crate::samples::{contents, write_and_open};
use crh_pipeline::tools::{ToolContext, ToolError, call};

#[test]
fn every_tool_rejects_paths_outside() {
    let (folder, workspace) = write_and_open(&contents());
    fs::write(folder.path().join("secret.txt"), "the secret word").unwrap();
    let absolute = folder.path().join("secret.txt").to_str().unwrap().to_owned();
    let ctx = ToolContext::new().with_workspace(workspace);
    for path in [
        "../secret.txt",
        "agent/../../secret.txt",
        "preview-diffs/latest/../../../secret.txt",
        "./../secret.txt",
        "..",
        "~/secret.txt",
        "~root/.ssh/id_rsa",
        "/etc/hostname",
        "//etc/hostname",
        "secret.txt\0",
        &absolute,
    ] {
        for (name, arguments) in [
            ("read", json!({ "path": path })),
            ("ls", json!({ "path": path })),
            ("find", json!({ "pattern": "*", "path": path })),
            ("grep", json!({ "pattern": "secret|.", "path": path })),
            ("diff_get_file", json!({ "path": path })),
            ("mark_file_reviewed", json!({ "path": path })),
        ] {
            let reply = call(name, &arguments.to_string(), &ctx);
            let Err(ToolError::TellModel(message)) = reply else {
                panic!("{name} {path}: {reply:?}")
            };
            assert!(!message.contains("secret word"), "{name} {path}: {message}");
        }
    }
    // A glob does not leave the folder either.
    for pattern in ["../*", "/etc/*", "**/secret.txt", "../**"] {
        let reply = call("find", &json!({ "pattern": pattern }).to_string(), &ctx);
        assert!(matches!(reply, Err(ToolError::TellModel(_))), "{pattern}: {reply:?}");
    }
}

fn check(name: &str, arguments: &str, expected: Expect) {
    let (folder, workspace) = write_and_open(&contents());
    fs::create_dir(folder.path().join("outside")).unwrap();
    fs::write(folder.path().join("outside/secret.txt"), "the secret word").unwrap();
    let root = workspace.folder().to_owned();
    symlink("../outside", root.join("folder")).unwrap();
    symlink("../outside/secret.txt", root.join("file")).unwrap();
    symlink("metadata.json", root.join("harmless")).unwrap();
    symlink("../../outside", root.join("agent/deep")).unwrap();
    let ctx = ToolContext::new().with_workspace(workspace);
    let reply = match call(name, arguments, &ctx) {
        Ok(reply) => reply,
        Err(error) => error.to_string(),
    };
    assert!(!reply.contains("secret word"), "{reply}");
    expected.assert_eq(&reply);
}

#[test]
fn symlinks_are_listed_but_not_followed() {
    check(
        "read",
        r#"{"path": "file"}"#,
        expect!["`file` is a symbolic link, which is not followed"],
    );
    check(
        "read",
        r#"{"path": "folder/secret.txt"}"#,
        expect!["`folder` is a symbolic link, which is not followed"],
    );
    check(
        "read",
        r#"{"path": "harmless"}"#,
        expect!["`harmless` is a symbolic link, which is not followed"],
    );
    check(
        "read",
        r#"{"path": "agent/deep/secret.txt"}"#,
        expect!["`agent/deep` is a symbolic link, which is not followed"],
    );
    check(
        "ls",
        r#"{"path": "folder"}"#,
        expect!["`folder` is a symbolic link, which is not followed"],
    );
    check(
        "ls",
        r#"{"path": "agent"}"#,
        expect![[r#"
        AGENTS.md
        deep -> ../../outside
        nested/
        rules/
        skills/
    "#]],
    );
    check(
        "find",
        r#"{"pattern": "secret*"}"#,
        expect!["nothing in the workspace matches `secret*`"],
    );
    check(
        "grep",
        r#"{"pattern": "secret"}"#,
        expect![[r#"
            [no line matches `secret` in 59 file(s)]
        "#]],
    );
    check(
        "agent_files_list",
        "{}",
        expect!["the workspace is damaged: `agent/deep` is a symbolic link, or lies behind one"],
    );
}

#[test]
fn symlink_created_later_is_not_followed() {
    let (folder, workspace) = write_and_open(&contents());
    fs::write(folder.path().join("secret.txt"), "the secret word").unwrap();
    let root = workspace.folder().to_owned();
    let ctx = ToolContext::new().with_workspace(workspace);
    fs::remove_file(root.join("preview-diffs/latest")).unwrap();
    symlink("../..", root.join("preview-diffs/latest")).unwrap();
    fs::remove_file(root.join("preview-diffs/10/diff/raw.diff")).unwrap();
    symlink("../../../../secret.txt", root.join("preview-diffs/10/diff/raw.diff")).unwrap();
    for (name, arguments) in [
        ("read", json!({ "path": "preview-diffs/latest/secret.txt" })),
        ("ls", json!({ "path": "preview-diffs/latest" })),
        ("diff_numbered", json!({})),
        ("diff_list_files", json!({})),
    ] {
        let reply = call(name, &arguments.to_string(), &ctx);
        let message = reply.unwrap_err().to_string();
        assert!(message.contains("symbolic link"), "{name}: {message}");
    }
}

#[test]
fn hostile_paths_stay_in_the_folder() {
    let (folder, workspace) = write_and_open(&contents());
    fs::write(folder.path().join("secret.txt"), "the secret word").unwrap();
    let root = workspace.folder().to_owned();
    symlink("..", root.join("up")).unwrap();
    symlink("/", root.join("agent/top")).unwrap();
    symlink("../../secret.txt", root.join("preview-diffs/10/link")).unwrap();
    let parts = select(vec![
        "",
        ".",
        "..",
        "~",
        "/",
        "up",
        "top",
        "link",
        "agent",
        "preview-diffs",
        "latest",
        "10",
        "9",
        "diff",
        "raw.diff",
        "metadata.json",
        "secret.txt",
        "etc",
        "hostname",
        "\0",
        "C:",
        "\\",
        "...",
    ]);
    let config = Config { cases: 2_000, failure_persistence: None, ..Config::default() };
    let mut runner = TestRunner::new(config);
    runner
        .run(&prop::collection::vec(parts, 0..6), |parts| {
            let path = parts.join("/");
            if let Ok(inside) = workspace.look_up(&path) {
                let real = fs::canonicalize(&inside.path).unwrap();
                prop_assert_eq!(&real, &root.join(&inside.workspace_path), "{}", path);
                prop_assert!(real.starts_with(&root), "{}", path);
            }
            Ok(())
        })
        .unwrap();
    for path in ["preview-diffs/latest/diff", "./agent/", "preview-diffs/10//meta.json"] {
        assert!(workspace.look_up(path).is_ok(), "{path}");
    }
}
