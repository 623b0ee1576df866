//! Commits with changed files.

use crh_git::{AmendError, HiddenVariables, PathEntryKind, ReadError, Repository, Store};
use crh_testkit::Repo;

#[test]
fn amended_commit_changes_only_the_store() {
    let repo = Repo::new();
    for (path, text) in [("a.txt", "a\n"), ("b.sh", "b\n"), ("sub/gone", "c\n")] {
        repo.write(path, text);
    }
    repo.git(&["add", "--all"]);
    repo.git(&["update-index", "--chmod=+x", "b.sh"]);
    repo.git(&["commit", "--quiet", "--message", "base"]);
    let refs = repo.git(&["for-each-ref"]);
    let folder = tempfile::tempdir().unwrap();
    let repository = Repository::discover(repo.path()).unwrap();
    let store = Store::open(folder.path(), &repository, HiddenVariables::default()).unwrap();
    let (bare, head) = (store.bare(), repo.id("HEAD"));
    let files: [crh_git::AmendedFile<'_>; 4] = [
        ("a.txt", Some(b"A\r\n")),
        ("b.sh", Some(b"B\n")),
        ("sub/gone", None),
        ("new/d \"e\"\n", Some(b"")),
    ];
    let commit = bare.commit_with_changes(&head, &files).unwrap();
    assert_eq!(
        bare.commit_with_changes(&head, &files).unwrap(),
        commit,
        "the same files are the same commit"
    );
    let changed = bare.changed_paths(&head, &commit).unwrap();
    let paths = ["a.txt", "b.sh", "new/d \"e\"\n", "sub/gone"].map(|path| path.as_bytes().to_vec());
    assert_eq!(changed, paths);
    let objects = bare.objects().unwrap();
    assert_eq!(objects.file(&commit, "a.txt").unwrap(), b"A\r\n");
    assert_eq!(objects.file(&commit, "new/d \"e\"\n").unwrap(), b"");
    assert_eq!(objects.stat(&commit, "b.sh").unwrap().0.kind, PathEntryKind::Executable);
    assert_eq!(objects.file_if_any(&commit, "sub/gone").unwrap(), None);
    assert_eq!(bare.parent(&commit).unwrap(), head);
    assert_eq!(repo.git(&["for-each-ref"]), refs);
    assert!(repo.git_or_nothing(&["cat-file", "-t", &commit]).is_empty(), "it is not the user's");
}

#[test]
fn folder_cannot_be_replaced_by_a_file() {
    let repo = Repo::new();
    std::os::unix::fs::symlink("a", repo.path().join("link")).unwrap();
    repo.write("a", "a\n");
    let head = repo.commit("base");
    let folder = tempfile::tempdir().unwrap();
    let repository = Repository::discover(repo.path()).unwrap();
    let store = Store::open(folder.path(), &repository, HiddenVariables::default()).unwrap();
    let result = store.bare().commit_with_changes(&head, &[("link", Some(b"x"))]);
    assert!(
        matches!(result, Err(AmendError::Read(ReadError::OtherKind { actual: "link", .. }))),
        "{result:?}"
    );
}
