//! Writing a workspace and reading it back.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;

use expect_test::{Expect, expect, expect_file};
use tempfile::TempDir;

use crate::samples::{EDGE, SMALL, contents, one_round, round, tree, write_and_open};
use crh_pipeline::workspace;
use crh_pipeline::workspace::{AgentFile, Workspace, WorkspaceContents, WorkspaceError};
use crh_review::diff::Diff;
use crh_testkit::Program;

#[test]
fn tree_matches_the_golden_file() {
    let (_folder, workspace) = write_and_open(&contents());
    let tree = tree(workspace.folder());
    expect_file!["../data/workspace.txt"].assert_eq(&tree);
    let raw = fs::read(workspace.folder().join("preview-diffs/10/diff/raw.diff")).unwrap();
    assert_eq!(raw, EDGE);
}

#[test]
fn writes_are_deterministic_and_replace_a_workspace() {
    let folder = TempDir::new().unwrap();
    let (once, again) = (folder.path().join("once"), folder.path().join("deep/er/again"));
    workspace::write_workspace(&contents(), &once).unwrap();
    // Removes round 77 and the mark.
    let mut other = contents();
    other.rounds.push(round("77", None, SMALL));
    workspace::write_workspace(&other, &again).unwrap();
    Workspace::open(&again).unwrap().mark_reviewed("src/a.rs").unwrap();
    assert!(again.join("reviewed.json").exists());
    workspace::write_workspace(&contents(), &again).unwrap();
    assert_eq!(tree(&once), tree(&again));
    let names = |path: &Path| fs::read_dir(path).unwrap().count();
    assert_eq!((names(folder.path()), names(again.parent().unwrap())), (2, 1), "nothing is left");
}

/// The umask is per process, so the golden test runs in a child process.
#[test]
fn the_tree_is_the_same_under_any_umask() {
    let exe = std::env::current_exe().unwrap();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    for umask in ["000", "027", "077"] {
        let script = format!("umask {umask}; exec \"$0\" --exact \"$1\"");
        let test = "workspace::tree_matches_the_golden_file";
        let args = [OsStr::new("-c"), OsStr::new(&script), exe.as_os_str(), OsStr::new(test)];
        let output = Program::new("sh", folder)
            .args(args)
            .env("CARGO_MANIFEST_DIR", env!("CARGO_MANIFEST_DIR"))
            .run();
        assert!(output.stdout.contains("1 passed"), "{umask}: {}", output.shown());
    }
}

/// Error of writing to `out`, without the temporary path. Checks that nothing was changed.
fn check_refused(prepare: impl Fn(&Path), out: &str, expected: &str) {
    let folder = TempDir::new().unwrap();
    prepare(folder.path());
    let before = tree(folder.path());
    let error = workspace::write_workspace(&contents(), &folder.path().join(out)).unwrap_err();
    let real = fs::canonicalize(folder.path()).unwrap();
    let error = error.to_string().replace(real.to_str().unwrap(), "TMP");
    assert_eq!(error.replace(folder.path().to_str().unwrap(), "TMP"), expected);
    assert_eq!(tree(folder.path()), before);
}

#[test]
fn foreign_folder_is_not_replaced() {
    let write = |path: &'static str| {
        move |folder: &Path| {
            let path = folder.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "mine").unwrap();
        }
    };
    let foreign = |path: &str, file: &str| {
        format!(
            "crh does not replace `TMP/{path}`: it contains `{file}`, which is not part of a workspace"
        )
    };
    check_refused(write("home/thesis.tex"), "home", &foreign("home", "thesis.tex"));
    let incomplete = "crh does not replace `TMP/home`: it is not empty, and not a workspace: `preview-diffs/index.json` is missing";
    check_refused(write("home/metadata.json"), "home", incomplete);
    let noted = |folder: &Path| {
        workspace::write_workspace(&contents(), &folder.join("ws")).unwrap();
        fs::write(folder.join("ws/notes.txt"), "mine").unwrap();
    };
    check_refused(noted, "ws", &foreign("ws", "notes.txt"));
    let file = "crh does not replace `TMP/a.txt`: it is a file, not a folder";
    check_refused(write("a.txt"), "a.txt", file);
    let below = "cannot write `TMP/a.txt/ws`: Not a directory (os error 20)";
    check_refused(write("a.txt"), "a.txt/ws", below);
    let link = |folder: &Path| {
        workspace::write_workspace(&contents(), &folder.join("real")).unwrap();
        std::os::unix::fs::symlink("real", folder.join("link")).unwrap();
    };
    for out in ["link", "link/"] {
        let expected = "crh does not replace `TMP/link`: it is a symlink; name the folder itself";
        check_refused(link, out, expected);
    }
}

#[test]
fn empty_folder_is_replaced() {
    let folder = TempDir::new().unwrap();
    workspace::write_workspace(&contents(), folder.path()).unwrap();
    assert_eq!(Workspace::open(folder.path()).unwrap().rounds().len(), 2);
}

#[test]
fn failed_write_keeps_the_old_workspace() {
    let folder = TempDir::new().unwrap();
    let out = folder.path().join("ws");
    workspace::write_workspace(&contents(), &out).unwrap();
    let before = tree(folder.path());
    // The second file needs a folder in the place of the first file.
    let mut clash = contents();
    let file = |place: &str| AgentFile { place: place.to_owned(), bytes: Vec::new() };
    clash.instructions = vec![file("x"), file("x/y")];
    let error = workspace::write_workspace(&clash, &out).unwrap_err();
    let real = fs::canonicalize(&out).unwrap();
    let error = error.to_string().replace(real.to_str().unwrap(), "WS");
    assert_eq!(error, "cannot write `WS/agent/x`: File exists (os error 17)");
    assert_eq!(tree(folder.path()), before);
}

fn check_contents(change: impl Fn(&mut WorkspaceContents), expected: &str) {
    let folder = TempDir::new().unwrap();
    let mut contents = contents();
    change(&mut contents);
    let error = workspace::write_workspace(&contents, &folder.path().join("ws")).unwrap_err();
    assert_eq!(error.to_string(), expected);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn names_outside_the_folder_are_rejected() {
    let id = |id: &'static str| {
        move |contents: &mut WorkspaceContents| contents.rounds[0].id = id.to_owned()
    };
    for bad in ["", "..", "a/b", "latest", ".x", "index.json", "é"] {
        check_contents(
            id(bad),
            &format!(
                "`{bad}` is not a valid round id: use up to 100 letters, digits, `.`, `_` and `-`"
            ),
        );
    }
    check_contents(id("9"), "two rounds have the id `9`");
    let place = |place: &'static str| {
        move |contents: &mut WorkspaceContents| contents.instructions[2].place = place.to_owned()
    };
    for bad in ["", "/etc/x", "../x", "a//b", "a/./b", "rules", "Rules/Style.md", "a\0b", "a\\b"] {
        check_contents(
            place(bad),
            &format!("`{bad}` is not a valid path below `agent`, or it is already used"),
        );
    }
}

#[test]
fn workspace_round_trips() {
    let contents = contents();
    let (_folder, workspace) = write_and_open(&contents);
    assert_eq!(workspace.metadata(), &contents.metadata);
    let ids: Vec<_> = workspace.rounds().iter().map(|round| round.id.as_str()).collect();
    assert_eq!(ids, ["9", "10"], "numbers are compared as numbers");
    assert_eq!(workspace.latest().unwrap().id, "10");
    assert_eq!(*workspace.diff("10").unwrap(), Diff::read(EDGE));
    assert_eq!(workspace.general_comments("9").unwrap(), contents.rounds[1].general);
    assert_eq!(workspace.inline_comments("10").unwrap(), contents.rounds[0].inline);
    assert_eq!(
        workspace.instruction_files().unwrap(),
        ["AGENTS.md", "nested/src/AGENTS.md", "rules/style.md"]
    );
    expect!["there is no round `3`; there are `9`, `10`"]
        .assert_eq(&workspace.diff("3").unwrap_err().to_string());
}

#[test]
fn workspace_without_rounds_is_valid() {
    let mut contents = one_round(SMALL);
    contents.rounds.clear();
    let (_folder, workspace) = write_and_open(&contents);
    assert_eq!(workspace.latest(), None);
    assert!(!workspace.folder().join("preview-diffs/latest").exists());
}

/// Errors of opening and reading after each change: `remove PATH`, `write PATH TEXT` or
/// `link PATH TARGET`.
fn check_damaged(changes: &[&str], expected: Expect) {
    let mut actual = String::new();
    for change in changes {
        let folder = TempDir::new().unwrap();
        let out = folder.path().join("ws");
        workspace::write_workspace(&contents(), &out).unwrap();
        fs::write(folder.path().join("secret"), "secret").unwrap();
        let words: Vec<&str> = change.splitn(3, ' ').collect();
        match words.as_slice() {
            ["remove", path] => fs::remove_file(out.join(path)).unwrap(),
            ["write", path, text] => fs::write(out.join(path), text).unwrap(),
            ["link", path, target] => {
                let path = out.join(path);
                if path.is_dir() && !path.is_symlink() {
                    fs::remove_dir_all(&path).unwrap();
                } else if path.is_symlink() || path.exists() {
                    fs::remove_file(&path).unwrap();
                }
                std::os::unix::fs::symlink(target, path).unwrap();
            }
            _ => panic!("{change}"),
        }
        let read = || -> Result<(), WorkspaceError> {
            let workspace = Workspace::open(&out)?;
            for id in ["9", "10"] {
                workspace.diff(id)?;
                workspace.general_comments(id)?;
                workspace.inline_comments(id)?;
            }
            workspace.instruction_files()?;
            workspace.reviewed().map(drop)
        };
        let error = read().unwrap_err().to_string();
        assert!(!error.contains("secret"), "{error}");
        actual += &format!("{}\n", error.replace(out.to_str().unwrap(), "WS"));
    }
    expected.assert_eq(&actual.replace("the workspace is damaged: ", "damaged: "));
}

#[test]
fn missing_or_edited_file_is_named() {
    check_damaged(
        &[
            "remove metadata.json",
            "remove preview-diffs/9/meta.json",
            "remove preview-diffs/9/diff/raw.diff",
            "remove preview-diffs/latest",
            "remove preview-diffs/9/comments/general.json",
            "write metadata.json {",
            r#"write metadata.json {"url": 5}"#,
            r#"write metadata.json {"url": "", "url": ""}"#,
            "write preview-diffs/index.json []",
            "write preview-diffs/10/comments/inline/x.json []",
            "write reviewed.json {}",
            r#"write preview-diffs/index.json [{"id": "..", "createdAt": null, "baseRev": null, "headRev": null, "isLatest": true}]"#,
        ],
        expect![[r#"
            `WS` is not a workspace: there is no `metadata.json` in the workspace
            damaged: `preview-diffs/9/meta.json` is missing
            damaged: `preview-diffs/9/diff/raw.diff` is missing
            damaged: `preview-diffs/latest` is not a link to the latest round
            damaged: `preview-diffs/9/comments/general.json` is missing
            damaged: `metadata.json` is not JSON: EOF while parsing an object at line 1 column 1
            damaged: `metadata.json` has the wrong format: url: invalid type: integer `5`, expected a string
            damaged: `metadata.json` is not JSON: the key `url` is given twice at line 1 column 22
            damaged: `preview-diffs/latest` is not a link to the latest round
            damaged: `preview-diffs/10/comments/inline/x.json` is not named after a line number
            damaged: `reviewed.json` has the wrong format: invalid type: map, expected a sequence
            damaged: `preview-diffs/index.json` has a round with the invalid id `..`
        "#]],
    );
}

#[test]
fn symlinks_are_not_followed() {
    check_damaged(
        &[
            "link metadata.json ../secret",
            "link preview-diffs /etc",
            "link preview-diffs/latest ../../secret",
            "link preview-diffs/latest 9",
            "link preview-diffs/9/diff/raw.diff ../../../../secret",
            "link preview-diffs/9/comments/general.json /etc/hostname",
            "link preview-diffs/9/comments/inline /etc",
            "link agent/rules /etc",
            "link reviewed.json ../secret",
        ],
        expect![[r#"
            `WS` is not a workspace: `metadata.json` is a symbolic link, which is not followed
            `WS` is not a workspace: `preview-diffs` is a symbolic link, which is not followed
            damaged: `preview-diffs/latest` is not a link to the latest round
            damaged: `preview-diffs/latest` is not a link to the latest round
            damaged: `preview-diffs/9/diff/raw.diff` is a symbolic link, or lies behind one
            damaged: `preview-diffs/9/comments/general.json` is a symbolic link, or lies behind one
            damaged: `preview-diffs/9/comments/inline` is a symbolic link, or lies behind one
            damaged: `agent/rules` is a symbolic link, or lies behind one
            damaged: `reviewed.json` is a symbolic link, or lies behind one
        "#]],
    );
}

#[test]
fn concurrent_marks_are_all_kept() {
    let (_folder, workspace) = write_and_open(&contents());
    // A leftover of a killed process, and a symlink as a trap.
    std::os::unix::fs::symlink("metadata.json", workspace.folder().join("reviewed.json.new"))
        .unwrap();
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let workspace = &workspace;
            scope.spawn(move || {
                let own = Workspace::open(workspace.folder()).unwrap();
                for at in 0..10 {
                    let marked = own.mark_reviewed(&format!("{thread}-{at}")).unwrap();
                    assert!(!marked.was_marked);
                }
            });
        }
    });
    let marks = (0..8).flat_map(|thread| (0..10).map(move |at| format!("{thread}-{at}")));
    assert_eq!(workspace.reviewed().unwrap(), marks.collect::<Vec<_>>());
    assert!(workspace.mark_reviewed("3-3").unwrap().was_marked);
    Workspace::open(workspace.folder()).unwrap();
}
