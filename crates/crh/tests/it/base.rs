//! Detection of the base branch in typical clones.

use crate::user::{User, summary};
use crh_testkit::Repo;

/// A repository whose main branch has two commits.
fn upstream() -> Repo {
    let repo = Repo::new();
    for text in ["one\n", "two\n"] {
        repo.write("main.md", text);
        repo.commit(text.trim());
    }
    repo
}

/// Starts a branch with one commit in a clone.
fn work(clone: &Repo) {
    clone.git(&["switch", "--quiet", "--create", "feature"]);
    clone.write("work.md", "work\n");
    clone.commit("work");
}

#[test]
fn named_base_is_taken_as_it_is_in_the_clone() {
    let upstream = upstream();
    let clone = upstream.cloned(&[]);
    let fetched = clone.id("origin/main");
    upstream.write("main.md", "three\n");
    let three = upstream.commit("three");
    clone.git(&["fetch", "--quiet", "origin", &three]);
    clone.git(&["switch", "--quiet", "--detach", "FETCH_HEAD"]);
    work(&clone);
    let user = User::new();
    let remote = user.prepared(clone.path(), &["base:origin/main"], "out");
    assert_eq!((&summary(&remote)["baseRev"], remote.stderr.as_str()), (&fetched.into(), ""));
    clone.git(&["fetch", "--quiet", "origin"]);
    let local = user.prepared(clone.path(), &["--base", "main"], "out");
    assert_eq!(summary(&local)["baseRev"], clone.id("main"));
    let note = "note: `main` is behind `origin/main`; pass `--base origin/main` to compare with the newer commit\n";
    assert_eq!(local.stderr, note);
}

#[test]
fn commit_is_found_by_its_message() {
    let repo = upstream();
    work(&repo);
    let user = User::new();
    let output = user.prepared(repo.path(), &["--base", ":/one", ":/work"], "out");
    assert_eq!(summary(&output)["baseRev"], repo.id("main~1"));
    assert_eq!(summary(&output)["headRev"], repo.id("feature"));
    let range = user.prepared(repo.path(), &[":/two..:/work"], "out");
    assert_eq!(summary(&range)["baseRev"], repo.id("main"));
    let args = ["prepare", "--out", "out", ":/three"];
    assert!(user.refused(&repo, &args).contains("no branch, commit or path named `:/three`"));
}

/// A clone whose remote cannot be reached, with work on a branch.
fn unreachable_clone(options: &[&str]) -> Repo {
    let clone = upstream().cloned(options);
    work(&clone);
    clone.git(&["remote", "set-url", "origin", "file:///nowhere/at/all"]);
    clone
}

#[test]
fn unreachable_remote_gives_a_stale_base_and_one_warning() {
    let clone = unreachable_clone(&[]);
    let user = User::new();
    let stale = "note: cannot reach the remote `origin` to update the base; crh uses what was fetched before, so the base may be stale\n";
    for target in [&[][..], &["feature"]] {
        let output = user.prepared(clone.path(), target, "out");
        assert_eq!(summary(&output)["baseRev"], clone.id("origin/main"), "{target:?}");
        assert_eq!(output.stderr, stale, "{target:?}");
    }
    for args in [&["check"][..], &["reviewers"], &["review", "--strategy", "static"]] {
        let output = user.crh(clone.path(), args).run();
        assert!(matches!(output.code, 0 | 4), "{}", output.shown());
        assert_eq!(output.stderr.matches("may be stale").count(), 1, "{}", output.shown());
    }
    for target in
        [&["base:origin/main"][..], &["HEAD~1..HEAD"], &["main...feature"], &["--offline"]]
    {
        let output = user.prepared(clone.path(), target, "out");
        assert_eq!(output.stderr, "", "{target:?}");
    }
}

#[test]
fn missing_base_branch_names_the_setting() {
    let upstream = upstream();
    let clone = upstream.cloned(&[]);
    work(&clone);
    let user = User::new();
    let output = user.crh(clone.path(), &["check"]).env("CRH_BASE", "relase").run();
    let expected = "error: there is no branch `relase`, which `CRH_BASE` sets as the base branch\n\
                    hint: correct the setting `base.branch`, fetch the branch, or pass `--base REF`\n";
    assert_eq!((output.code, output.stderr.as_str()), (2, expected));
}

#[test]
fn unreachable_remote_never_fetched_gives_the_local_base_or_an_error() {
    let clone = unreachable_clone(&[]);
    clone.git(&["update-ref", "-d", "refs/remotes/origin/main"]);
    let user = User::new();
    let output = user.prepared(clone.path(), &[], "out");
    let stale = "note: cannot reach the remote `origin` to update the base; crh compares with the local branch `main`, so the base may be stale\n";
    assert_eq!(output.stderr, stale);
    // Without a local branch there is no base at all.
    clone.git(&["branch", "--delete", "--force", "main"]);
    let output = user.crh(clone.path(), &["check"]).run();
    assert_eq!(output.code, 3, "{output:?}");
    let says = "error: cannot reach the remote `origin` to update the base: ";
    assert!(output.stderr.starts_with(says), "{output:?}");
    assert!(
        output.stderr.ends_with("or name a base in this clone with `--base REF`\n"),
        "{output:?}"
    );
}

/// A clone of depth 1 with the branches `main` and `feature`, which diverged.
fn diverged_shallow_clone() -> Repo {
    let upstream = upstream();
    upstream.git(&["branch", "old"]);
    upstream.git(&["switch", "--quiet", "--create", "feature"]);
    upstream.write("work.md", "work\n");
    upstream.commit("work");
    upstream.git(&["switch", "--quiet", "main"]);
    upstream.write("main.md", "three\n");
    upstream.commit("three");
    let options = ["--depth=1", "--no-single-branch", "--branch=feature"];
    upstream.cloned(&options)
}

#[test]
fn shallow_clone_without_the_merge_base_is_an_error_offline() {
    let clone = diverged_shallow_clone();
    let user = User::new();
    let args = ["prepare", "--base", "origin/main", "--offline", "--out", "out"];
    assert_eq!(
        user.refused(&clone, &args),
        "exit 3\nerror: this shallow clone does not contain the merge base of `origin/main` and `HEAD`\n\
         hint: remove `--offline`, or fetch the commits with git\n---\n"
    );
}

#[test]
fn unreachable_remote_is_named_with_what_the_clone_lacks() {
    let clone = diverged_shallow_clone();
    clone.git(&["remote", "set-url", "origin", "file:///nowhere/at/all"]);
    let user = User::new();
    let refused = |args: &[&str]| {
        let output = user.crh(clone.path(), &[&["check"], args].concat()).run();
        assert_eq!(output.code, 3, "{output:?}");
        // Git's own message depends on its version.
        let error = output.stderr.lines().next().unwrap_or_default();
        let start = error.split(": `git").next().unwrap_or_default();
        let hint = output.stderr.lines().last().unwrap_or_default();
        format!("{start}\n{hint}")
    };
    let unshallow = "hint: run `git fetch --unshallow` when the remote answers";
    let no_remote = "cannot reach the remote `origin` to complete this shallow clone";
    let merge_base = "error: this shallow clone does not contain the merge base of";
    assert_eq!(
        refused(&["--base", "origin/main"]),
        format!("{merge_base} `origin/main` and `HEAD`: {no_remote}\n{unshallow}")
    );
    assert_eq!(
        refused(&["HEAD~1..HEAD"]),
        format!("error: the commit `HEAD~1` is not in this clone: {no_remote}\n{unshallow}")
    );
    assert_eq!(
        refused(&[]),
        format!(
            "{merge_base} `origin/main` and `feature`: cannot reach the remote `origin` to update the base\n{unshallow}"
        )
    );
    clone.git(&["remote", "remove", "origin"]);
    assert_eq!(
        refused(&["HEAD~1..HEAD"]),
        "error: the commit `HEAD~1` is not in this clone\n\
         hint: add the remote of this clone, or fetch the commits with git"
    );
}

#[test]
fn commit_of_shallow_clone_has_no_stale_base() {
    let upstream = upstream();
    upstream.write("next.md", "next\n");
    upstream.commit("next");
    let clone = upstream.cloned(&["--depth=2"]);
    clone.git(&["remote", "set-url", "origin", "file:///nowhere/at/all"]);
    let output = User::new().crh(clone.path(), &["check", "--commit", "HEAD"]).run();
    assert_eq!(output.code, 0, "{}", output.shown());
    let note = "cannot reach the remote `origin` to complete this shallow clone; crh uses what was fetched before, so the history before the change may be incomplete\n";
    assert!(output.stderr.contains(note), "{}", output.shown());
    assert!(!output.shown().contains("stale"), "{}", output.shown());
}

#[test]
fn partial_clone_of_unreachable_remote_gets_a_true_hint() {
    let upstream = upstream();
    upstream.git(&["config", "uploadpack.allowFilter", "true"]);
    work(&upstream);
    let clone = upstream.cloned(&["--filter=blob:none", "--branch=main"]);
    clone.git(&["remote", "set-url", "origin", "file:///nowhere/at/all"]);
    let output = User::new().crh(clone.path(), &["check", "main..origin/feature"]).run();
    assert_eq!(output.code, 3, "{output:?}");
    assert!(output.stderr.contains("of the change are not in this clone: "), "{output:?}");
    assert!(output.stderr.ends_with("hint: run crh again when the remote answers\n"), "{output:?}");
}

#[test]
fn revision_that_a_shallow_clone_lacks_is_not_read_from_another_branch() {
    let upstream = upstream();
    work(&upstream);
    upstream.write("work.md", "more work\n");
    upstream.commit("more work");
    // The default branch is `main`, and the clone has `feature`.
    upstream.git(&["switch", "--quiet", "main"]);
    let clone = upstream.cloned(&["--depth=1", "--no-single-branch", "--branch=feature"]);
    let user = User::new();
    let output = user.prepared(clone.path(), &["HEAD~1..HEAD"], "out");
    assert_eq!(summary(&output)["baseRev"], upstream.id("feature~1"));
    assert_eq!(summary(&output)["headRev"], upstream.id("feature"));
    let fresh = User::new();
    let args = ["prepare", "--offline", "--out", "out", "HEAD~1..HEAD"];
    let refused = fresh.refused(&clone, &args);
    assert!(
        refused.starts_with("exit 3\nerror: the commit `HEAD~1` is not in this clone"),
        "{refused}"
    );
}

#[test]
fn full_name_selects_a_tag_or_a_branch() {
    let repo = upstream();
    repo.git(&["branch", "both", "main"]);
    repo.git(&["tag", "both", "main~1"]);
    work(&repo);
    for (range, base) in [("tags/both..HEAD", "main~1"), ("heads/both..HEAD", "main")] {
        let output = User::new().prepared(repo.path(), &[range], "out");
        assert_eq!(summary(&output)["baseRev"], repo.id(base), "{range}");
    }
}
