//! `crh prepare`: errors, and that nothing is written.

use std::fs;

use expect_test::{Expect, expect};

use crate::prepare::{files, work_in_progress};
use crate::user::{User, tree};
use crh_testkit::Repo;

/// Checks the error for a target in a repository, and that nothing is written.
fn check_in(repo: &Repo, target: &[&str], expected: &Expect) {
    let user = User::new();
    let out = user.path("out");
    let args = [&["prepare", "--out", out.to_str().unwrap()], target].concat();
    expected.assert_eq(&user.refused(repo, &args));
    assert!(!out.exists());
}

#[test]
fn impossible_targets_are_rejected() {
    let repo = work_in_progress();
    let check = |target: &[&str], expected: &Expect| check_in(&repo, target, expected);
    check(
        &["mode:autofix", "mode:headless"],
        &expect![[r#"
            exit 2
            error: Review failed (headless mode). Reason: conflicting mode flags — mode:autofix and mode:headless cannot be combined.
            ---
        "#]],
    );
    check(
        &["--staged", "--include-untracked"],
        &expect![[r#"
            exit 2
            error: `--include-untracked` works only for the current branch
            hint: remove it, or stage new files with `git add`
            ---
        "#]],
    );
    check(
        &["--staged", "nowhere.py"],
        &expect![[r#"
            exit 2
            error: no branch, commit or path named `nowhere.py`
            hint: if the name exists only on the remote, run `git fetch`; `git branch --all` lists all branches; write a deleted path after `--`
            ---
        "#]],
    );
}

#[test]
fn unknown_revisions_are_errors() {
    let unknown = expect![[r#"
        exit 2
        error: no branch or commit named `nowhere`
        hint: if the name exists only on the remote, run `git fetch`; `git branch --all` lists all branches
        ---
    "#]];
    let targets: [&[&str]; 4] =
        [&["base:nowhere"], &["--commit", "nowhere"], &["nowhere..work"], &["..nowhere"]];
    let repo = work_in_progress();
    for target in targets {
        check_in(&repo, target, &unknown);
    }
    for target in ["HEAD~50", "HEAD~50..work"] {
        check_in(
            &repo,
            &[target],
            &expect![[r#"
                exit 2
                error: `HEAD` has no ancestor `HEAD~50`: its history has fewer commits
                hint: name a commit that `git log` lists
                ---
            "#]],
        );
    }
}

#[test]
fn repository_without_commit_is_an_error() {
    let repo = Repo::new();
    check_in(
        &repo,
        &[],
        &expect![[r#"
            exit 2
            error: the current branch has no commits yet
            hint: review uncommitted files with `--uncommitted`
            ---
        "#]],
    );
    check_in(
        &repo,
        &["--uncommitted"],
        &expect![[r#"
            exit 2
            error: nothing to review: there are no files yet
            hint: name a base with `--base REF`, review one commit with `--commit SHA`, or add new files with `--include-untracked`
            ---
        "#]],
    );
    repo.write("new.md", "new\n");
    let output = User::new().prepared(repo.path(), &["--uncommitted"], "out");
    assert_eq!(files(&output), "anew");
}

#[test]
fn outside_of_repository_is_an_error() {
    let user = User::new();
    let args = ["prepare", "--out", "out"];
    let shown = user.crh(&user.path(""), &args).run().shown();
    let shown = shown.replace(user.path("").to_str().unwrap().trim_end_matches('/'), "HOME");
    expect![[r#"
        exit 2
        error: `HOME` is not inside a git repository
        hint: run this command inside a repository; to review or check a diff file without one, pass `--diff FILE` to `crh review` or `crh check`
        ---
    "#]]
    .assert_eq(&shown);
}

#[test]
fn main_without_remote_has_only_uncommitted_changes() {
    let repo = Repo::new();
    repo.write("kept.md", "kept\n");
    repo.commit("base");
    // Only `main`, `master` and such can be a base that crh finds by itself.
    repo.git(&["branch", "orders"]);
    repo.write("new.md", "new\n");
    check_in(
        &repo,
        &[],
        &expect![[r#"
            exit 2
            error: nothing to review: `main` has no uncommitted changes, and there is nothing to compare it with: the repository has no remote and no other main branch
            hint: name a base with `--base REF`, review one commit with `--commit SHA`, or add new files with `--include-untracked`
            ---
        "#]],
    );
    let headless =
        User::new().crh(repo.path(), &["review", "mode:headless", "--strategy", "static"]);
    let stdout = headless.run().stdout;
    assert!(stdout.contains("Reason: nothing to review: `main` has no uncommitted"), "{stdout}");
    repo.write("kept.md", "changed\n");
    let user = User::new();
    assert_eq!(files(&user.prepared(repo.path(), &[], "out")), "mkept");
    let output = user.prepared(repo.path(), &["--include-untracked"], "out");
    assert_eq!(files(&output), "mkept anew");
}

#[test]
fn missing_base_is_an_error() {
    let repo = work_in_progress();
    repo.git(&["branch", "--move", "main", "elsewhere"]);
    check_in(
        &repo,
        &[],
        &expect![[r#"
            exit 2
            error: cannot determine the base of `work`: there is no remote and no branch named `main`, `master`, `develop`, `trunk`
            hint: name a base with `--base REF`, with `CRH_BASE`, or with `base.branch` in your own settings; `--uncommitted` needs no base
            ---
        "#]],
    );
}

#[test]
fn merge_conflicts_are_errors_unless_uncommitted() {
    let repo = Repo::from_fixture("//- a.md\none\n");
    repo.git(&["switch", "--quiet", "--create", "work"]);
    repo.write("a.md", "two\n");
    repo.commit("two");
    repo.git(&["switch", "--quiet", "main"]);
    repo.write("a.md", "three\n");
    repo.commit("three");
    repo.git(&["switch", "--quiet", "work"]);
    repo.git_or_nothing(&["merge", "--quiet", "main"]);
    check_in(
        &repo,
        &["--staged"],
        &expect![[r#"
            exit 2
            error: unresolved conflicts in a.md; resolve and stage them first
            hint: resolve the conflicts, or pass `--uncommitted`
            ---
        "#]],
    );
    let user = User::new();
    user.prepared(repo.path(), &["--uncommitted"], "out");
    let diff = fs::read_to_string(user.path("out/preview-diffs/1/diff/raw.diff")).unwrap();
    assert!(diff.contains("+<<<<<<< HEAD\n"), "{diff}");
}

#[test]
fn tag_cannot_take_the_place_of_a_branch() {
    let repo = work_in_progress();
    repo.git(&["tag", "main", "work"]);
    let expected = expect![[r#"
        exit 2
        error: `main` is the name of different commits: refs/heads/main, refs/tags/main
        hint: write the full name of the ref, or delete the tag
        ---
    "#]];
    check_in(&repo, &["main..work"], &expected);
    check_in(&repo, &["--base", "main"], &expected);
    let user = User::new();
    user.prepared(repo.path(), &["refs/heads/main..work"], "out");
}

#[test]
fn damaged_object_error_names_it() {
    for name in ["HEAD", "HEAD:second.md", "main:kept.md"] {
        let repo = work_in_progress();
        let id = String::from_utf8(repo.git(&["rev-parse", name])).unwrap();
        let id = id.trim();
        let object = repo.path().join(".git/objects").join(&id[..2]).join(&id[2..]);
        let bytes = fs::read(&object).unwrap();
        fs::remove_file(&object).unwrap();
        fs::write(&object, &bytes[..bytes.len() / 2]).unwrap();
        let user = User::new();
        let out = user.path("out");
        // Damage in unchanged files is detected when packing.
        let pack = user.path("packed.tar");
        let places = ["--out", out.to_str().unwrap(), "--pack", pack.to_str().unwrap()];
        let args = [&["prepare"], &places[..], &["main..work"]].concat();
        let output = user.crh(repo.path(), &args).run();
        assert!([2, 3].contains(&output.code), "{name}: {output:?}");
        assert!(output.stderr.starts_with("error: "), "{name}: {output:?}");
        assert_eq!(output.stdout, "", "{name}");
        assert!(!pack.exists(), "{name}");
        if name == "HEAD:second.md" {
            assert_eq!(output.code, 3);
            assert!(output.stderr.contains(id), "{output:?}");
            assert!(output.stderr.contains("hint: run `git fsck`"), "{output:?}");
        }
    }
}

#[test]
fn input_that_is_no_diff_is_rejected() {
    let repo = Repo::new();
    let user = User::new();
    for bytes in [&b"hello\nworld\n"[..], b"\0\xff\xfe", b"diff --git\n@@ -1 +1 @@\n"] {
        let args = ["prepare", "--diff", "-", "--out", "out"];
        let output = user.crh(repo.path(), &args).stdin(bytes).run();
        let expected = "error: the text contains no git diff and no unified diff\nhint: pass the output of `git diff`, `git show` or `diff -u`\n";
        assert_eq!(
            (output.code, output.stderr.as_str()),
            (2, expected),
            "{}",
            bytes.escape_ascii()
        );
    }
}

#[test]
fn unwritable_archive_is_an_error() {
    let repo = work_in_progress();
    let user = User::new();
    fs::create_dir(user.path("folder")).unwrap();
    let folder = user.path("folder");
    let args = ["prepare", "work", "--pack", folder.to_str().unwrap()];
    expect![[r#"
        exit 2
        error: `HOME/folder` is not an archive of `crh prepare --pack`: the file exists, and crh does not overwrite it
        ---
    "#]]
    .assert_eq(&user.refused(&repo, &args));
    assert_eq!(tree(&folder).len(), 1, "nothing is left in it");
    let missing = user.path("missing/change.tar");
    expect![[r#"
        exit 2
        error: the folder `HOME/missing` does not exist
        hint: create the folder, or name a file in another one
        ---
    "#]]
    .assert_eq(&user.refused(&repo, &["prepare", "work", "--pack", missing.to_str().unwrap()]));
    assert!(!user.path("missing").exists());
}

#[test]
fn archive_replaces_only_archives() {
    let repo = work_in_progress();
    let user = User::new();
    user.write("notes.txt", "dear to me\n");
    for place in [user.path("notes.txt"), repo.path().join(".git/config"), "/dev/null".into()] {
        let args = ["prepare", "work", "--pack", place.to_str().unwrap()];
        let output = user.crh(repo.path(), &args).run();
        assert_eq!(output.code, 2, "{}", output.shown());
    }
    assert_eq!(fs::read_to_string(user.path("notes.txt")).unwrap(), "dear to me\n");
    repo.git(&["status"]);
    let pack = user.path("packed.tar");
    let args = ["prepare", "work", "--pack", pack.to_str().unwrap()];
    for _ in 0..2 {
        let output = user.crh(repo.path(), &args).run();
        assert_eq!(output.code, 0, "{}", output.shown());
    }
}

#[test]
fn unreadable_head_is_not_an_unborn_branch() {
    let repo = work_in_progress();
    let user = User::new();
    let branch = String::from_utf8(repo.git(&["symbolic-ref", "HEAD"])).unwrap();
    fs::write(repo.path().join(".git").join(branch.trim()), "junk\n").unwrap();
    let args = ["prepare", "--uncommitted", "--out", "out"];
    let output = user.crh(repo.path(), &args).run();
    assert_eq!(output.code, 3, "{}", output.shown());
    assert!(output.stderr.contains("cannot read the commit of `HEAD`"), "{output:?}");
}
