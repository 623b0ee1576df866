//! `crh prepare`: what is refused, in which words, and that nothing is written then.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;

use expect_test::{Expect, expect};

use crate::prepare::{files, work_in_progress};
use crate::user::{User, assert_same, tree};
use crh_testkit::Repo;

/// Checks what is printed for words and flags that are refused before anything is looked up.
fn check(target: &[&str], expected: &Expect) {
    let repo = work_in_progress();
    check_in(&repo, target, expected);
}

/// Checks what is printed in a repository in which a target is refused, and that nothing is written.
fn check_in(repo: &Repo, target: &[&str], expected: &Expect) {
    let user = User::new();
    let out = user.path("out");
    let args = [&["prepare", "--out", out.to_str().unwrap()], target].concat();
    expected.assert_eq(&user.refused(repo, &args));
    assert!(!out.exists());
}

#[test]
fn what_cannot_be_combined_is_refused_in_the_words_of_the_specification() {
    check(
        &["mode:autofix", "mode:headless"],
        &expect![[r#"
            exit 2
            error: Review failed (headless mode). Reason: conflicting mode flags — mode:autofix and mode:headless cannot be combined.
            ---
        "#]],
    );
    check(
        &["--mode", "autofix", "mode:report-only"],
        &expect![[r#"
            exit 2
            error: Review failed. Reason: conflicting mode flags — mode:autofix and mode:report-only cannot be combined.
            ---
        "#]],
    );
    let base_and_target = expect![[r#"
        exit 2
        error: Cannot use base: with a PR number or branch target — base: implies the current checkout is already the correct branch. Pass base: alone, or pass the target alone and let scope detection resolve the base.
        ---
    "#]];
    check(&["work", "base:main"], &base_and_target);
    check(&["--base", "main", "12"], &base_and_target);
    check(
        &["mode:headless", "no-such-branch"],
        &expect![[r#"
            exit 2
            error: there is no branch or commit `no-such-branch`
            hint: `git branch --all` lists branches; fetch it if it is new
            ---
        "#]],
    );
    check(
        &["mode:headless", "work..work"],
        &expect![[r#"
            exit 2
            error: Review failed (headless mode). Reason: no diff scope detected. Re-invoke with a branch name, PR number, or base:<ref>.
            hint: there is nothing to review: `work` is the same as `work`
            ---
        "#]],
    );
    check(
        &["--staged", "--include-untracked"],
        &expect![[r#"
            exit 2
            error: `--include-untracked` is for the current branch alone
            hint: leave it out; `git add` stages a new file
            ---
        "#]],
    );
    check(
        &["--staged", "--commit", "HEAD"],
        &expect![[r#"
            exit 2
            error: `--staged` and `--commit` cannot be combined: each says what is to be reviewed
            ---
        "#]],
    );
}

#[test]
fn names_that_stand_for_nothing_are_said_to() {
    let unknown = expect![[r#"
        exit 2
        error: there is no branch or commit `nowhere`
        hint: `git branch --all` lists branches; fetch it if it is new
        ---
    "#]];
    let targets: [&[&str]; 5] = [
        &["nowhere"],
        &["base:nowhere"],
        &["--commit", "nowhere"],
        &["nowhere..work"],
        &["..nowhere"],
    ];
    let repo = work_in_progress();
    for target in targets {
        check_in(&repo, target, &unknown);
    }
    check_in(
        &repo,
        &["--", "--output=stolen"],
        &expect![[r#"
            exit 2
            error: `--output=stolen` is not the name of a branch or commit
            ---
        "#]],
    );
    check_in(
        &repo,
        &["work..work"],
        &expect![[r#"
            exit 2
            error: there is nothing to review: `work` is the same as `work`
            hint: `--base REF` names another base, `--commit SHA` takes one commit, `--include-untracked` takes new files
            ---
        "#]],
    );
}

#[test]
fn a_repository_without_a_commit_has_no_branch_to_review() {
    let repo = Repo::new();
    check_in(
        &repo,
        &[],
        &expect![[r#"
            exit 2
            error: the branch has no commit yet
            hint: `--uncommitted` takes what is there
            ---
        "#]],
    );
    check_in(
        &repo,
        &["--uncommitted"],
        &expect![[r#"
            exit 2
            error: there is nothing to review: there is no file yet
            hint: `--base REF` names another base, `--commit SHA` takes one commit, `--include-untracked` takes new files
            ---
        "#]],
    );
    repo.write("new.md", "new\n");
    let output = User::new().prepared(repo.path(), &["--uncommitted"], "out");
    assert_eq!(files(&output), "anew");
}

#[test]
fn outside_of_a_repository_there_is_nothing_to_review() {
    let user = User::new();
    let args = ["prepare", "--out", "out"];
    let shown = user.crh(&user.path(""), &args).run().shown();
    let shown = shown.replace(user.path("").to_str().unwrap().trim_end_matches('/'), "HOME");
    expect![[r#"
        exit 2
        error: `HOME` is not inside a git repository
        hint: go into one, or hand in a diff with `--diff FILE`
        ---
    "#]]
    .assert_eq(&shown);
}

#[test]
fn a_base_that_is_missing_or_not_clear_is_not_guessed() {
    let repo = work_in_progress();
    repo.git(&["branch", "--move", "main", "elsewhere"]);
    check_in(
        &repo,
        &[],
        &expect![[r#"
            exit 2
            error: cannot tell what `work` is to be compared with: there is no remote, and no branch called `main`, `master`, `develop`, `trunk`
            hint: `--base REF` says it, or `base.branch` in `crh.toml`
            ---
        "#]],
    );
    repo.git(&["stash", "--quiet"]);
    for name in ["main", "master"] {
        repo.git(&["switch", "--quiet", "--create", name, "elsewhere"]);
        repo.write("only.md", name);
        repo.git(&["add", "only.md"]);
        repo.git(&["commit", "--quiet", "--message", name]);
    }
    repo.git(&["switch", "--quiet", "work"]);
    repo.git(&["merge", "--quiet", "--strategy=ours", "--no-edit", "main"]);
    repo.git(&["merge", "--quiet", "--strategy=ours", "--no-edit", "master"]);
    check_in(
        &repo,
        &["mode:report-only"],
        &expect![[r#"
            exit 2
            error: cannot tell what this is to be compared with: `main` and `master` are equally near
            hint: `--base REF` says it, or `base.branch` in `crh.toml`
            ---
        "#]],
    );
    repo.write("crh.toml", "[base]\nbranch = \"gone\"\n");
    check_in(
        &repo,
        &["work"],
        &expect![[r#"
            exit 2
            error: Unable to resolve PR base branch gone locally. Fetch the base branch and rerun so the review scope stays aligned with the PR.
            hint: `--base REF` says it, or `base.branch` in `crh.toml`
            ---
        "#]],
    );
}

#[test]
fn conflicts_cannot_be_staged_and_are_seen_with_their_markers() {
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
            error: there are conflicts that are not resolved: a.md
            hint: resolve them, or take `--uncommitted`
            ---
        "#]],
    );
    let user = User::new();
    user.prepared(repo.path(), &["--uncommitted"], "out");
    let diff = fs::read_to_string(user.path("out/preview-diffs/1/diff/raw.diff")).unwrap();
    assert!(diff.contains("+<<<<<<< HEAD\n"), "{diff}");
}

#[test]
fn a_damaged_object_is_an_error_that_names_it() {
    for name in ["HEAD", "HEAD^{tree}", "HEAD:second.md", "main^{tree}", "main:kept.md"] {
        let repo = work_in_progress();
        let id = String::from_utf8(repo.git(&["rev-parse", name])).unwrap();
        let id = id.trim();
        let object = repo.path().join(".git/objects").join(&id[..2]).join(&id[2..]);
        let bytes = fs::read(&object).unwrap();
        fs::remove_file(&object).unwrap();
        fs::write(&object, &bytes[..bytes.len() / 2]).unwrap();
        let user = User::new();
        let out = user.path("out");
        // What the change does not touch is noticed when everything is packed.
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
            assert!(output.stderr.contains("hint: `git fsck`"), "{output:?}");
        }
    }
}

#[test]
fn what_is_no_diff_is_refused() {
    let repo = Repo::new();
    let user = User::new();
    for bytes in [&b""[..], b"\n\n", b"hello\nworld\n", b"\0\xff\xfe", b"diff --git\n@@ -1 +1 @@\n"]
    {
        let args = ["prepare", "--diff", "-", "--out", "out"];
        let output = user.crh(repo.path(), &args).stdin(bytes).run();
        let expected =
            "error: the diff has no file in it\nhint: `git diff` and `git show` print one\n";
        assert_eq!(
            (output.code, output.stderr.as_str()),
            (2, expected),
            "{}",
            bytes.escape_ascii()
        );
    }
    check_in(
        &repo,
        &["--diff", "nowhere.diff"],
        &expect![[r#"
            exit 2
            error: reading `nowhere.diff`: No such file or directory (os error 2)
            hint: check the path; `-` reads standard input
            ---
        "#]],
    );
}

#[test]
fn a_folder_that_holds_something_else_is_left_alone() {
    let repo = work_in_progress();
    let user = User::new();
    user.write("mine/notes.md", "mine\n");
    user.write("a-file", "mine\n");
    user.prepared(repo.path(), &[], "mixed");
    user.write("mixed/mine.md", "mine\n");
    symlink(user.path("mine"), user.path("link")).unwrap();
    for (name, why) in [
        ("mine", "`notes.md` is in it, which is no part of a workspace"),
        ("mixed", "`mine.md` is in it, which is no part of a workspace"),
        ("a-file", "it is a file, not a folder"),
        ("link", "it is a symbolic link; name the folder itself"),
    ] {
        let before = tree(&user.path(""));
        let out = user.path(name);
        let args = ["prepare", "--out", out.to_str().unwrap()];
        let output = user.crh(repo.path(), &args).run();
        let expected = format!(
            "error: `{}` is left as it is: {why}\nhint: name a new folder, or one that `crh prepare` wrote\n",
            out.display()
        );
        assert!(output.stderr.ends_with(&expected), "{name}: {}", output.stderr);
        assert_eq!((output.code, output.stdout.as_str()), (2, ""), "{name}");
        let without_store = |mut tree: BTreeMap<String, String>| {
            tree.retain(|name, _| !name.starts_with("store"));
            tree
        };
        assert_same(&without_store(before), &without_store(tree(&user.path(""))), name);
    }
    // The repository itself is something else too.
    let own = user.crh(repo.path(), &["prepare", "--out", "."]).run();
    assert_eq!(own.code, 2, "{own:?}");
    assert!(repo.path().join("kept.md").exists());
}

#[test]
fn an_archive_that_cannot_be_written_is_an_error() {
    let repo = work_in_progress();
    let user = User::new();
    fs::create_dir(user.path("folder")).unwrap();
    let folder = user.path("folder");
    let args = ["prepare", "work", "--pack", folder.to_str().unwrap()];
    expect![[r#"
        exit 2
        error: `HOME/folder` is not a packed change: it is there already, and is something else
        ---
    "#]]
    .assert_eq(&user.refused(&repo, &args));
    assert_eq!(tree(&folder).len(), 1, "nothing is left in it");
}

#[test]
fn an_archive_replaces_another_archive_and_nothing_else() {
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
fn a_head_that_cannot_be_read_is_not_a_branch_without_a_commit() {
    let repo = work_in_progress();
    let user = User::new();
    let branch = String::from_utf8(repo.git(&["symbolic-ref", "HEAD"])).unwrap();
    fs::write(repo.path().join(".git").join(branch.trim()), "junk\n").unwrap();
    let args = ["prepare", "--uncommitted", "--out", "out"];
    let output = user.crh(repo.path(), &args).run();
    assert_eq!(output.code, 3, "{}", output.shown());
    assert!(output.stderr.contains("the commit that `HEAD` names cannot be read"), "{output:?}");
}
