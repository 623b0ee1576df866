//! `crh prepare`: contents of each target.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use expect_test::{Expect, expect};
use serde_json::Value;

use crate::user::{User, assert_same, summary, tree};
use crh_testkit::{Output, Repo};

/// A branch with two commits, and work in progress of every kind.
pub(crate) fn work_in_progress() -> Repo {
    let repo = Repo::new();
    repo.write("kept.md", "kept\n");
    repo.write("unstaged.md", "as it was\n");
    repo.write(".gitignore", "*.log\n");
    repo.commit("base");
    repo.git(&["switch", "--quiet", "--create", "work"]);
    repo.write("first.md", "1\n");
    repo.commit("first");
    repo.write("second.md", "2\n");
    repo.commit("second");
    repo.write("staged.md", "3\n");
    repo.git(&["add", "staged.md"]);
    repo.write("unstaged.md", "as it is\n");
    repo.write("untracked.md", "4\n");
    repo.write("ignored.log", "5\n");
    repo
}

/// The files of a change, with their status.
pub(crate) fn files(output: &Output) -> String {
    let summary = summary(output);
    let files = summary["scope"]["files"].as_array().unwrap().iter();
    let shown = files.map(|file| {
        let status = file["status"].as_str().unwrap();
        format!("{}{}", &status[..1], file["path"].as_str().unwrap().trim_end_matches(".md"))
    });
    shown.collect::<Vec<_>>().join(" ")
}

#[test]
fn each_target_includes_the_right_files() {
    let repo = work_in_progress();
    let user = User::new();
    let check = |target: &[&str], expected: &str, left_out: &[&str]| {
        let output = user.prepared(repo.path(), target, "out");
        assert_eq!(files(&output), expected, "{target:?}");
        assert_eq!(summary(&output)["untracked"], Value::from(left_out), "{target:?}");
        let first = output.stderr.lines().next().unwrap_or_default();
        let says = "warning: not reviewed because untracked: `untracked.md`";
        assert_eq!(first.starts_with(says), !left_out.is_empty(), "{target:?}: {}", output.stderr);
    };
    let untracked = &["untracked.md"][..];
    check(&[], "afirst asecond astaged munstaged", untracked);
    check(&["--include-untracked"], "afirst asecond astaged munstaged auntracked", &[]);
    check(&["--base", "main"], "afirst asecond astaged munstaged", untracked);
    check(&["base:HEAD~1"], "asecond astaged munstaged", untracked);
    check(&["base:HEAD", "--include-untracked"], "astaged munstaged auntracked", &[]);
    check(&["--uncommitted"], "astaged munstaged auntracked", &[]);
    check(&["--staged"], "astaged", untracked);
    check(&["--commit", "HEAD"], "asecond", &[]);
    check(&["--commit", "main"], "a.gitignore akept aunstaged", &[]);
    check(&["main..work"], "afirst asecond", &[]);
    check(&["HEAD~1.."], "asecond", &[]);
    check(&["work"], "afirst asecond", &[]);
    check(&["HEAD"], "afirst asecond", &[]);
    check(&["work..main"], "dfirst dsecond", &[]);
    check(&["--exclude", "f*.md", "work"], "afirst asecond", &[]);
}

#[test]
fn working_tree_is_used_instead_of_the_index() {
    let upstream = Repo::from_fixture(
        "
        //- src/a.md
        a
        //- docs/b.md
        b
        //- c.md
        c
        ",
    );
    let clone = upstream.cloned(&[]);
    let check = |what: &str, target: &[&str], expected: &str| {
        let output = User::new().prepared(clone.path(), target, "out");
        assert_eq!(files(&output), expected, "{what}");
    };
    clone.write("src/a.md", "changed\n");
    clone.git(&["sparse-checkout", "set", "--cone", "--sparse-index", "src"]);
    assert!(!clone.path().join("docs").exists());
    check("what is not checked out is not deleted", &[], "msrc/a");
    check("what is not checked out is not deleted", &["--uncommitted"], "msrc/a");
    clone.git(&["sparse-checkout", "disable"]);
    clone.git(&["update-index", "--split-index"]);
    check("a split index", &[], "msrc/a");
    clone.write("new.md", "new\n");
    clone.git(&["add", "--intent-to-add", "new.md"]);
    check("a file that will be added", &[], "anew msrc/a");
    clone.write(".git/index.lock", "");
    check("another git is at work", &[], "anew msrc/a");
    fs::remove_file(clone.path().join(".git/index.lock")).unwrap();
    fs::remove_file(clone.path().join("c.md")).unwrap();
    symlink("src", clone.path().join("c.md")).unwrap();
    check("a file becomes a link", &[], "dc ac anew msrc/a");
}

#[test]
fn parallel_prepares_do_not_conflict() {
    let repo = work_in_progress();
    let user = User::new();
    let targets = [&["--uncommitted"][..], &["--staged"], &["work"], &[]];
    std::thread::scope(|scope| {
        for (number, target) in targets.iter().enumerate() {
            let (user, repo) = (&user, &repo);
            scope.spawn(move || user.prepared(repo.path(), target, &format!("together {number}")));
        }
    });
    for (number, target) in targets.iter().enumerate() {
        user.prepared(repo.path(), target, "alone");
        let together = tree(&user.path(&format!("together {number}")));
        assert_same(&tree(&user.path("alone")), &together, &format!("{target:?}"));
    }
}

#[test]
fn two_dot_range_warns_about_reverted_commits() {
    let repo = work_in_progress();
    repo.git(&["stash", "--quiet"]);
    repo.git(&["switch", "--quiet", "main"]);
    repo.write("meanwhile.md", "6\n");
    repo.git(&["add", "meanwhile.md"]);
    repo.git(&["commit", "--quiet", "--message", "meanwhile"]);
    let user = User::new();
    let two = user.prepared(repo.path(), &["main..work"], "out");
    assert_eq!(files(&two), "afirst dmeanwhile asecond");
    let note = "note: `work` lacks commits of `main`, so they appear as removals; use `main...work` to leave them out\n";
    assert_eq!(two.stderr, note);
    let three = user.prepared(repo.path(), &["main...work"], "out");
    assert_eq!((files(&three).as_str(), three.stderr.as_str()), ("afirst asecond", ""));
}

#[test]
fn edits_after_snapshot_are_ignored() {
    let repo = work_in_progress();
    let user = User::new();
    user.prepared(repo.path(), &["--include-untracked"], "out");
    repo.write("unstaged.md", "as it will be\n");
    repo.write("untracked.md", "replaced\n");
    repo.git(&["reset", "--quiet"]);
    fs::remove_file(repo.path().join("staged.md")).unwrap();
    let out = user.path("out");
    let read = |path: &str| {
        let arguments = format!(r#"{{"path": "{path}"}}"#);
        let args = ["tool", "repo_read", &arguments, "--workspace", out.to_str().unwrap()];
        user.crh(repo.path(), &args).run().stdout
    };
    let text = |path: &str, line: &str| format!("{path} at head, lines 1-1 of 1:\n    1  {line}\n");
    assert_eq!(read("unstaged.md"), text("unstaged.md", "as it is"));
    assert_eq!(read("untracked.md"), text("untracked.md", "4"));
    assert_eq!(read("staged.md"), text("staged.md", "3"));
    assert_eq!(read("second.md"), text("second.md", "2"));
}

#[test]
fn diff_file_needs_no_repository() {
    let repo = work_in_progress();
    let diff = repo.git(&["diff", "main", "work"]);
    let user = User::new();
    let (out, pack) = (user.path("out"), user.path("packed.tar"));
    let places = ["--out", out.to_str().unwrap(), "--pack", pack.to_str().unwrap()];
    let args = [&["prepare", "--diff", "-"], &places[..]].concat();
    let output = user.crh(&user.path(""), &args).stdin(diff.clone()).run();
    assert_eq!((output.code, files(&output).as_str()), (0, "afirst asecond"), "{output:?}");
    assert_eq!(fs::read(out.join("preview-diffs/1/diff/raw.diff")).unwrap(), diff);
    for place in [["--workspace", places[1]], ["--packed", places[3]]] {
        let list = [&["tool", "diff_list_files"], &place[..]].concat();
        assert_eq!(user.crh(&user.path(""), &list).run().code, 0, "{place:?}");
        let read = [&["tool", "repo_read", r#"{"path": "first.md"}"#], &place[..]].concat();
        let refused = user.crh(&user.path(""), &read).run();
        assert_eq!(refused.code, 2, "{place:?}: {refused:?}");
        let says = "error: the change is only a diff: there is no repository to read from\n";
        assert!(refused.stderr.starts_with(says), "{place:?}: {refused:?}");
    }
}

/// The diff, piped into `crh prepare` in a repository. Returns the summary and the notes.
fn prepare_diff(repo: &Repo, diff: &str) -> (Value, String) {
    let user = User::new();
    let out = user.path("out");
    let args = ["prepare", "--diff", "-", "--out", out.to_str().unwrap()];
    let output = user.crh(repo.path(), &args).stdin(diff.as_bytes()).run();
    assert_eq!(output.code, 0, "{}", output.shown());
    (summary(&output), output.stderr)
}

#[test]
fn diff_of_the_checkout_has_the_files_of_the_repository() {
    let repo = Repo::new();
    repo.write("a.py", "one = 1\ntwo = 2\nthree = 3\n");
    repo.write("logo.png", "\0one");
    repo.commit("first");
    repo.write("a.py", "one = 1\ntwo = 22\nthree = 3\n");
    repo.write("logo.png", "\0two");
    repo.commit("second");
    repo.write("a.py", "one = 1\ntwo = 22\nthree = 33\n");
    let git_diff =
        |args: &[&str]| String::from_utf8(repo.git(&[&["diff"], args].concat())).unwrap();
    let is_resolved = |diff: &str| {
        let (summary, notes) = prepare_diff(&repo, diff);
        assert_eq!(summary["headRev"].is_null(), notes.contains("does not match"), "{notes}");
        !summary["headRev"].is_null()
    };
    for args in [&["HEAD~1"][..], &["HEAD~1", "HEAD"], &["HEAD"], &["-U0", "HEAD~1"]] {
        assert!(is_resolved(&git_diff(args)), "{args:?}");
    }
    let diff = git_diff(&[]);
    assert!(!is_resolved(&diff.replace("@@ -1,3 +1,3 @@", "@@ -41,3 +41,3 @@")));
    assert!(!is_resolved(&diff.replace("three", "four")));
    repo.git(&["checkout", "--quiet", "--", "a.py"]);
    assert!(is_resolved(&diff), "a patch for the last commit");
}

#[test]
fn partly_committed_diff_does_not_match_the_checkout() {
    let repo = Repo::new();
    for path in ["a.py", "b.py"] {
        repo.write(path, "def a():\n    return 1\n");
    }
    repo.commit("first");
    repo.write("a.py", "def a():\n    return 1\n\ndef x(:\n");
    repo.commit("second");
    repo.write("b.py", "def a():\n    return 1\n# b\n");
    let diffs = [&["HEAD~1"][..], &["-U0", "HEAD~1"]]
        .map(|args| String::from_utf8(repo.git(&[&["diff"], args].concat())).unwrap());
    repo.git(&["checkout", "--quiet", "--", "b.py"]);
    for diff in diffs {
        let (summary, notes) = prepare_diff(&repo, &diff);
        assert!(summary["headRev"].is_null(), "{diff}");
        assert!(notes.contains("the diff does not match this checkout"), "{diff}{notes}");
    }
}

#[test]
fn diff_with_any_prefixes_matches_the_checkout() {
    let repo = Repo::new();
    for path in ["top.py", "src/a.py", "src/old name.py"] {
        repo.write(path, "one = 1\ntwo = 2\nthree = 3\n");
    }
    repo.commit("first");
    repo.write("top.py", "one = 1\ntwo = 22\nthree = 3\n");
    repo.write("src/a.py", "one = 1\ntwo = 22\nthree = 3\n");
    repo.git(&["mv", "src/old name.py", "src/new name.py"]);
    repo.write("src/new name.py", "one = 1\ntwo = 2\nthree = 33\n");
    for prefixes in [&["--no-prefix"][..], &["--src-prefix=i/", "--dst-prefix=w/"]] {
        let diff = repo.git(&[&["diff", "-M", "HEAD"], prefixes].concat());
        let (summary, notes) = prepare_diff(&repo, &String::from_utf8(diff).unwrap());
        assert!(!summary["headRev"].is_null(), "{prefixes:?}: {notes}");
    }
}

#[test]
fn plain_diff_has_the_folders_in_which_its_files_exist() {
    let repo = Repo::new();
    repo.write("src/a.py", "one = 1\n");
    repo.commit("first");
    repo.write("src/a.py", "one = 2\n");
    for name in ["src/a.py", "./src/a.py", "project/src/a.py", "/home/me/project/src/a.py"] {
        let diff = format!(
            "--- {name}\t2026-01-01 00:00:00\n+++ {name}\t2026-01-02 00:00:00\n\
             @@ -1 +1 @@\n-one = 1\n+one = 2\n"
        );
        let (summary, notes) = prepare_diff(&repo, &diff);
        assert!(!summary["headRev"].is_null(), "{name}: {notes}");
    }
}

#[test]
fn paths_restrict_the_scope() {
    let repo = Repo::new();
    repo.write("README.md", "text\n");
    repo.commit("first");
    repo.git(&["switch", "--quiet", "--create", "work"]);
    for path in ["services/a/x.py", "services/ab/x.py", "services/b/y [1].py", "top.py"] {
        repo.write(path, "import os\n");
    }
    repo.commit("second");
    repo.git(&["branch", "services/ab"]);
    let user = User::new();
    let in_scope = |folder: &str, args: &[&str]| {
        let output = user.prepared(&repo.path().join(folder), args, "out");
        let scope = summary(&output)["scope"].clone();
        let files = scope["files"].as_array().unwrap().iter();
        let files = files.filter(|file| file["decision"]["is"] == "in");
        files.map(|file| file["path"].as_str().unwrap().to_owned()).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(in_scope("", &["services/a"]), "services/a/x.py");
    assert_eq!(in_scope("", &["--", "services/a", "top.py"]), "services/a/x.py top.py");
    assert_eq!(in_scope("", &["main..work", "--", "services/b/y [1].py"]), "services/b/y [1].py");
    assert_eq!(in_scope("services/b", &["../a/"]), "services/a/x.py");
    assert_eq!(in_scope("services", &["."]).matches("services/").count(), 3);
    // A revision takes precedence, as in git.
    assert_eq!(in_scope("", &["services/ab", "--base", "main"]).split(".py").count(), 5);
    // Paths that the change deletes.
    repo.git(&["rm", "--quiet", "-r", "services/a", "top.py"]);
    assert_eq!(in_scope("", &["--staged", "top.py"]), "top.py");
    assert_eq!(in_scope("services", &["--staged", "../services/a"]), "services/a/x.py");
    repo.git(&["commit", "--quiet", "--message", "third"]);
    assert_eq!(in_scope("", &["work~1..work", "top.py"]), "top.py");
    for commit in ["HEAD^!", "HEAD^-", "work^-1"] {
        assert_eq!(in_scope("", &[commit, "top.py"]), "top.py", "{commit}");
    }
    assert_eq!(in_scope("", &["main^!"]), "README.md", "the first commit has no parent");
    assert_eq!(in_scope("", &["--commit", "HEAD", "top.py"]), "top.py");
    repo.git(&["reset", "--quiet", "--hard", "HEAD~1"]);
    let partly = user.prepared(repo.path(), &["--", "top.py", "services/c", "README.md"], "out");
    let warning = "the change does not contain `services/c`, `README.md`";
    assert_eq!(partly.stderr, format!("warning: {warning}\n"));
    assert_eq!(summary(&partly)["notes"][0], warning);
    let outside = user.crh(repo.path(), &["check", "--", "../other"]).run();
    assert_eq!(outside.code, 2, "{}", outside.shown());
    assert!(outside.stderr.contains("is outside the repository"), "{}", outside.shown());
    let unmatched = expect![[r#"
        exit 2
        error: nothing to review: the change does not contain `services/c`, `README.md`
        hint: the change has `services/a/x.py`, `services/ab/x.py`, `services/b/y [1].py`, `top.py`; name one of these, or a folder with one
        ---
    "#]];
    for command in ["check", "review"] {
        let output = user.crh(repo.path(), &[command, "--", "services/c", "README.md"]).run();
        unmatched.assert_eq(&output.shown());
    }
}

#[test]
fn configured_folder_without_changes_gives_no_warning() {
    let repo = Repo::new();
    repo.write("README.md", "text\n");
    repo.commit("first");
    repo.git(&["switch", "--quiet", "--create", "work"]);
    repo.write("src/x.py", "x = 1\n");
    repo.commit("second");
    let user = User::new();
    user.write(".config/crh/config.toml", "[scope]\npaths = [\"docs/\", \"src/\"]\n");
    let output = user.prepared(repo.path(), &[], "out");
    assert_eq!(output.stderr, "");
}

#[test]
fn unknown_path_gets_a_suggestion_from_the_current_folder() {
    let repo = Repo::new();
    repo.write("README.md", "text\n");
    repo.write("services/a/x.py", "x = 1\n");
    repo.commit("first");
    repo.git(&["switch", "--quiet", "--create", "work"]);
    repo.write("services/a/x.py", "x = 2\n");
    repo.commit("second");
    let user = User::new();
    let check = |folder: &str, args: &[&str], expected: Expect| {
        let output = user.crh(&repo.path().join(folder), args).run();
        expected.assert_eq(&output.shown());
    };
    check(
        "",
        &["check", "a"],
        expect![[r#"
            exit 2
            error: no branch, commit or path named `a`
            hint: if the name exists only on the remote, run `git fetch`; `git branch --all` lists all branches; write a deleted path after `--`
            ---
        "#]],
    );
    check(
        "",
        &["check", "a/x.py"],
        expect![[r#"
            exit 2
            error: no branch, commit or path named `a/x.py` (did you mean the path `services/a/x.py`?)
            hint: if the name exists only on the remote, run `git fetch`; `git branch --all` lists all branches; write a deleted path after `--`
            ---
        "#]],
    );
    check(
        "services",
        &["check", "--", "services/a", "../README.md"],
        expect![[r#"
            exit 2
            error: nothing to review: the change does not contain `services/a` (did you mean the path `a`?), `../README.md`
            hint: the change has `a/x.py`; name one of these, or a folder with one
            ---
        "#]],
    );
}

#[test]
fn quickfix_paths_are_relative_to_the_current_folder() {
    let repo = Repo::new();
    repo.write("services/a/x.py", "x = 1\n");
    repo.commit("first");
    repo.write("services/a/x.py", "x = 1\nbreakpoint()\n");
    let user = User::new();
    for (folder, start) in [("", "services/a/x.py:2:"), ("services/a", "x.py:2:")] {
        let args = ["check", "--uncommitted", "--format", "quickfix", "--fail-on", "never"];
        let output = user.crh(&repo.path().join(folder), &args).run();
        assert!(output.stdout.starts_with(start), "{}", output.shown());
    }
}

#[test]
fn detached_head_is_named_by_its_commit() {
    let repo = work_in_progress();
    repo.git(&["switch", "--quiet", "--detach"]);
    let output = User::new().prepared(repo.path(), &[], "out");
    assert_eq!(files(&output), "afirst asecond astaged munstaged");
    assert_eq!(summary(&output)["sourceGitPath"], repo.id("HEAD"));
    assert_eq!(summary(&output)["targetGitPath"], "refs/heads/main");
}

#[test]
fn repository_path_may_contain_any_characters() {
    let home = Repo::new();
    let folder = home.path().join("mein Ordner/日本 \"x\" 'y' #%:\\é");
    fs::create_dir_all(&folder).unwrap();
    let repo = work_in_progress();
    let place: PathBuf = folder.join("clone");
    repo.git(&["clone", "--quiet", &repo.url(), place.to_str().unwrap()]);
    fs::write(place.join("new ümläut.md"), "new\n").unwrap();
    let user = User::new();
    let output = user.prepared(&place, &["base:origin/main", "--include-untracked"], "out");
    assert_eq!(files(&output), "afirst anew ümläut asecond");
    let (out, pack) = (folder.join("out"), folder.join("packed.tar"));
    let (out, pack) = (out.to_str().unwrap(), pack.to_str().unwrap());
    let output =
        user.crh(&place, &["prepare", "--uncommitted", "--out", out, "--pack", pack]).run();
    assert_eq!(output.code, 0, "{output:?}");
    for place_of in [["--workspace", out], ["--packed", pack]] {
        let args = [&["tool", "repo_read", r#"{"path": "new ümläut.md"}"#], &place_of[..]].concat();
        let output = user.crh(&place, &args).run();
        assert!(output.stdout.ends_with("    1  new\n"), "{output:?}");
    }
}

#[test]
fn diff_paths_cannot_escape_the_workspace() {
    let user = User::new();
    let diff = "diff --git a/../../escape b/../../escape\n--- a/../../escape\n+++ b/../../escape\n@@ -1 +1 @@\n-a\n+b\n\
        diff --git a//etc/x b//etc/x\n--- a//etc/x\n+++ b//etc/x\n@@ -1 +1 @@\n-a\n+b\n";
    let args = ["prepare", "--diff", "-", "--out", "deep/er/out"];
    let output = user.crh(&user.path(""), &args).stdin(diff).run();
    assert_eq!(output.code, 0, "{output:?}");
    let names: Vec<String> = tree(&user.path("")).into_keys().collect();
    let strays = names.iter().filter(|name| !name.is_empty() && !name.starts_with("deep"));
    assert_eq!(strays.count(), 0, "{names:?}");
    assert!(names.iter().any(|name| name.ends_with("files/..%2F..%2Fescape/patch")), "{names:?}");
}

#[test]
fn output_in_checkout_is_not_reviewed_next_time() {
    let repo = Repo::from_fixture("//- a.md\na\n");
    repo.write("new.md", "new\n");
    let user = User::new();
    let args = ["prepare", "--uncommitted", "--out", "ws", "--pack", "ws.tar"];
    let first = user.crh(repo.path(), &args).run();
    let second = user.crh(repo.path(), &args).run();
    assert_eq!((first.code, &first.stdout), (0, &second.stdout), "{}", second.shown());
}

#[test]
fn scope_rules_come_from_before_the_change() {
    let repo = Repo::from_fixture("//- a.md\na\n//- crh.toml\n[scope]\nexclude = [\"b.md\"]\n");
    repo.git(&["switch", "--quiet", "--create", "feature"]);
    repo.write("crh.toml", "[scope]\nexclude = [\"c.md\"]\n");
    repo.write("b.md", "b\n");
    repo.write("c.md", "c\n");
    repo.commit("feature");
    let user = User::new();
    let here = user.prepared(repo.path(), &["feature"], "out");
    repo.git(&["switch", "--quiet", "main"]);
    let elsewhere = user.prepared(repo.path(), &["feature"], "out");
    assert_eq!(here.stdout, elsewhere.stdout);
    let files = summary(&here)["scope"]["files"].clone();
    let out = files.as_array().unwrap().iter().filter(|file| file["decision"]["is"] == "out");
    assert_eq!(out.map(|file| file["path"].clone()).collect::<Vec<_>>(), ["b.md"]);
}

#[test]
fn hook_uses_the_index_of_the_commit() {
    let repo = Repo::from_fixture("//- a.md\na\n");
    repo.write("a.md", "changed\n");
    let user = User::new();
    // State during the hooks of `git commit --all`.
    fs::copy(repo.path().join(".git/index"), repo.path().join(".git/next-index")).unwrap();
    let with_index = |args: &[&str]| {
        let index = repo.path().join(".git/next-index");
        user.crh(repo.path(), args).env("GIT_INDEX_FILE", index.to_str().unwrap()).run()
    };
    let out = user.path("out");
    let args = ["prepare", "--staged", "--out", out.to_str().unwrap()];
    assert_eq!(with_index(&args).code, 2, "nothing is staged in it yet");
    repo.git(&["add", "a.md"]);
    fs::rename(repo.path().join(".git/index"), repo.path().join(".git/next-index")).unwrap();
    let output = with_index(&args);
    assert_eq!(output.code, 0, "{}", output.shown());
    let files = &summary(&output)["scope"]["files"];
    assert_eq!((&files[0]["path"], &files[0]["status"]), (&"a.md".into(), &"modified".into()));
}
