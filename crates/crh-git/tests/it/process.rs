//! Running git.

use tempfile::TempDir;

use crh_git::{Git, GitError, HiddenVariables, Repository, SnapshotScope, Store};
use crh_testkit::Repo;

#[test]
fn git_error_message_is_included() {
    let repo = Repo::new();
    let error = Git::in_folder(repo.path()).text(["rev-parse", "--verify", "nothing"]).unwrap_err();
    let GitError::Failed { command, code, message } = error else { panic!("{error}") };
    assert_eq!((command.as_str(), code), ("rev-parse", Some(128)));
    assert_eq!(message, "fatal: Needed a single revision");
}

/// A command that leaves the file `trap-NAME` and then runs `then`.
fn trap(repo: &Repo, name: &str, then: &str) -> String {
    format!("touch {}/trap-{name}; {then}", repo.path().display())
}

fn started_programs(repo: &Repo) -> Vec<String> {
    let names = std::fs::read_dir(repo.path()).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| name.starts_with("trap-")).collect();
    names.sort();
    names
}

#[test]
fn hooks_and_external_programs_do_not_run() {
    let repo = Repo::from_fixture("//- a.txt\none\n//- head\n//- a.txt\ntwo\n");
    repo.git(&["config", "core.fsmonitor", &trap(&repo, "fsmonitor", "true")]);
    repo.git(&["config", "diff.external", &trap(&repo, "external", "true")]);
    repo.git(&["config", "diff.x.textconv", &trap(&repo, "textconv", "cat")]);
    repo.write(".git/info/attributes", "*.md diff=x\n");
    repo.write("a.md", "one\n");
    repo.write(
        ".git/hooks/post-index-change",
        format!("#!/bin/sh\n{}\n", trap(&repo, "hook", "true")),
    );
    let hook = repo.path().join(".git/hooks/post-index-change");
    std::fs::set_permissions(hook, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    // Without the pinned settings, git runs each program.
    repo.git(&["add", "--all"]);
    repo.git(&["diff", "HEAD~1", "HEAD"]);
    repo.git(&["diff", "--cached", "--no-ext-diff", "HEAD"]);
    let all = ["trap-external", "trap-fsmonitor", "trap-hook", "trap-textconv"];
    assert_eq!(started_programs(&repo), all);
    for name in all {
        std::fs::remove_file(repo.path().join(name)).unwrap();
    }
    let repository = Repository::discover(repo.path()).unwrap();
    let folder = TempDir::new().unwrap();
    let store = Store::open(folder.path(), &repository, HiddenVariables::default()).unwrap();
    let head = repo.id("HEAD");
    let snapshot = store.snapshot(SnapshotScope::WithUntracked, Some(&head)).unwrap();
    store.bare().diff(&repo.id("HEAD~1"), &head).unwrap();
    store.bare().diff(&head, &snapshot).unwrap();
    repository.untracked().unwrap();
    assert!(started_programs(&repo).is_empty(), "{:?}", started_programs(&repo));
}
