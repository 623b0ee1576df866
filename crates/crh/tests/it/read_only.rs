//! crh never modifies the user's repository: bytes, modes and times stay the same.

use std::fs;
use std::fs::File;
use std::path::Path;
use std::time::SystemTime;

use crate::tool::CALLS;
use crate::user::{User, assert_same, tree_with_times};
use crh_testkit::Repo;

/// A repository with new commits since it was cloned, so that there is something to fetch.
fn upstream() -> Repo {
    let repo = Repo::new();
    repo.git(&["config", "uploadpack.allowFilter", "true"]);
    for n in 1..5 {
        repo.write("src/lib.rs", format!("fn number() -> u32 {{\n    {n}\n}}\n"));
        repo.commit(&format!("number {n}"));
    }
    repo.git(&["switch", "--quiet", "--create", "feature"]);
    repo.write("src/lib.rs", "fn number() -> u32 {\n    40 + 2\n}\n");
    repo.commit("the answer");
    repo.git(&["switch", "--quiet", "main"]);
    repo
}

/// Work in progress of every kind.
fn dirty(clone: &Repo) {
    clone.git(&["switch", "--quiet", "--create", "work"]);
    clone.write("committed.md", "1\n");
    clone.commit("work");
    clone.write("staged.md", "2\n");
    clone.git(&["add", "staged.md"]);
    // A stale timestamp in the index, so that git wants to refresh the index.
    let same = File::options().append(true).open(clone.path().join("committed.md")).unwrap();
    same.set_modified(SystemTime::UNIX_EPOCH).unwrap();
    clone.write("src/lib.rs", "fn number() {}\n");
    clone.write("untracked.md", "3\n");
}

/// Adds commits to the upstream repository.
fn go_on(upstream: &Repo) {
    upstream.write("later.md", "later\n");
    upstream.commit("later");
    upstream.git(&["branch", "unheard-of", "feature"]);
}

#[test]
fn targets_do_not_modify_the_repository() {
    let upstream = upstream();
    let clones = [
        ("whole", upstream.cloned(&[])),
        ("shallow", upstream.cloned(&["--depth=1", "--no-single-branch"])),
        ("partial", upstream.cloned(&["--filter=blob:none"])),
    ];
    for (_, clone) in &clones {
        dirty(clone);
    }
    go_on(&upstream);
    for (kind, clone) in &clones {
        let user = User::new();
        let pack = user.path("packed.tar");
        let targets: &[&[&str]] = &[
            &[],
            &["--include-untracked"],
            &["--uncommitted"],
            &["--staged"],
            &["--commit", "HEAD"],
            &["--base", "origin/main"],
            &["base:main"],
            &["origin/main...HEAD"],
            &["feature"],
            &["unheard-of"],
            &["--pack", pack.to_str().unwrap()],
            &["--offline", "--uncommitted"],
        ];
        let before = tree_with_times(clone.path());
        // The shallow clone gets all of them.
        let step = if *kind == "shallow" { 1 } else { 4 };
        for target in targets.iter().step_by(step) {
            user.prepared(clone.path(), target, "out");
            let after = tree_with_times(clone.path());
            assert_same(&before, &after, &format!("{kind} {target:?}"));
        }
        let refused = [&["prepare", "--out", "out", "no-such-branch"][..], &["prepare", "5"]];
        for args in refused {
            assert_eq!(user.crh(clone.path(), args).run().code, 2, "{args:?}");
        }
        assert_same(&before, &tree_with_times(clone.path()), kind);
        let status = clone.git(&["--no-optional-locks", "status", "--porcelain"]);
        let status = String::from_utf8(status).unwrap();
        assert_eq!(status, " M src/lib.rs\nA  staged.md\n?? untracked.md\n", "{kind}");
    }
}

#[test]
fn tools_do_not_modify_repository_or_archive() {
    let upstream = upstream();
    let clone = upstream.cloned(&["--depth=1", "--no-single-branch"]);
    dirty(&clone);
    go_on(&upstream);
    let user = User::new();
    let (out, pack) = (user.path("out"), user.path("packed.tar"));
    user.prepared(clone.path(), &["--pack", pack.to_str().unwrap()], "out");
    let packed = fs::read(&pack).unwrap();
    let before = tree_with_times(clone.path());
    // Those that read git objects, and the one that writes.
    let may_write = |name: &str| name.starts_with("repo_") || name == "mark_file_reviewed";
    for (name, arguments) in CALLS.iter().filter(|(name, _)| may_write(name)) {
        let call = ["tool", name, arguments];
        let with = |option: &str, place: &Path| {
            let args = [&call[..], &[option, place.to_str().unwrap()]].concat();
            user.crh(clone.path(), &args).run()
        };
        with("--workspace", &out);
        if *name == "mark_file_reviewed" {
            with("--packed", &pack);
        }
        assert_same(&before, &tree_with_times(clone.path()), name);
    }
    assert!(packed == fs::read(&pack).unwrap());
}

#[test]
fn review_writes_only_its_run_folder() {
    let upstream = upstream();
    let clone = upstream.cloned(&["--depth=1", "--no-single-branch"]);
    dirty(&clone);
    go_on(&upstream);
    let user = User::new();
    let before = tree_with_times(clone.path());
    let mut runs = 0;
    for (args, code, runs_made) in [
        (&["check"][..], 0, 1),
        (&["check", "--uncommitted"], 0, 1),
        (&["check", "feature"], 0, 1),
        (&["review", "--staged"], 4, 1),
        (&["review", "--mode", "report-only"], 4, 0),
        (&["review", "--estimate"], 0, 0),
        (&["review", "no-such-branch"], 2, 0),
        (&["show"], 0, 0),
        (&["runs", "list"], 0, 0),
        (&["doctor"], 0, 0),
    ] {
        let output = user.crh(clone.path(), args).run();
        assert_eq!(output.code, code, "{args:?}: {}", output.shown());
        runs += runs_made;
        let mut after = tree_with_times(clone.path());
        let is_run =
            |name: &str| name.strip_prefix(".crh/runs/").is_some_and(|name| !name.contains('/'));
        assert_eq!(after.keys().filter(|name| is_run(name)).count(), runs, "{args:?}");
        after.retain(|name, _| name != ".crh" && !name.starts_with(".crh/"));
        // Creating `.crh` changes the time of its parent folder.
        after.insert(String::new(), before[""].clone());
        assert_same(&before, &after, &format!("{args:?}"));
    }
    let status = clone.git(&["--no-optional-locks", "status", "--porcelain"]);
    let status = String::from_utf8(status).unwrap();
    assert_eq!(status, " M src/lib.rs\nA  staged.md\n?? untracked.md\n");
}

#[test]
fn submodules_and_worktrees_are_not_modified() {
    let upstream = upstream();
    let repo = Repo::new();
    let url = upstream.url();
    repo.write("a.md", "a\n");
    repo.commit("base");
    repo.git(&["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", &url, "sub"]);
    repo.commit("a submodule");
    repo.git(&["switch", "--quiet", "--create", "feature"]);
    repo.write("sub/src/lib.rs", "changed in the submodule\n");
    let user = User::new();
    let linked = user.path("linked");
    repo.git(&["worktree", "add", "--quiet", "-b", "linked", linked.to_str().unwrap()]);
    fs::write(linked.join("a.md"), "b\n").unwrap();
    let before = (tree_with_times(repo.path()), tree_with_times(&linked));
    user.prepared(&linked, &["--uncommitted"], "out");
    user.prepared(repo.path(), &["--commit", "HEAD"], "out");
    let nothing = user.crh(repo.path(), &["prepare", "--uncommitted", "--out", "out"]).run();
    assert_eq!(nothing.code, 2, "what is inside a submodule is not a change here: {nothing:?}");
    assert_same(&before.0, &tree_with_times(repo.path()), "main worktree");
    assert_same(&before.1, &tree_with_times(&linked), "linked worktree");
}
