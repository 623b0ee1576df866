//! Commits of a store that are others with some files changed.

use crh_git::{AmendError, Kind, ReadError, Repository, Store, Withheld};
use crh_testkit::Repo;

#[test]
fn files_are_changed_made_and_removed_in_the_store_alone() {
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
    let store = Store::open(folder.path(), &repository, Withheld::default()).unwrap();
    let (bare, head) = (store.bare(), repo.id("HEAD"));
    let files: [crh_git::ChangedFile<'_>; 4] = [
        ("a.txt", Some(b"A\r\n")),
        ("b.sh", Some(b"B\n")),
        ("sub/gone", None),
        ("new/d \"e\"\n", Some(b"")),
    ];
    let commit = bare.amended(&head, &files).unwrap();
    assert_eq!(bare.amended(&head, &files).unwrap(), commit, "the same files are the same commit");
    let changed = bare.changed_paths(&head, &commit).unwrap();
    let paths = ["a.txt", "b.sh", "new/d \"e\"\n", "sub/gone"].map(|path| path.as_bytes().to_vec());
    assert_eq!(changed, paths);
    let objects = bare.objects().unwrap();
    assert_eq!(objects.file(&commit, "a.txt").unwrap(), b"A\r\n");
    assert_eq!(objects.file(&commit, "new/d \"e\"\n").unwrap(), b"");
    assert_eq!(objects.stat(&commit, "b.sh").unwrap().0.kind, Kind::Executable);
    assert_eq!(objects.file_if_any(&commit, "sub/gone").unwrap(), None);
    assert_eq!(bare.parent(&commit).unwrap(), head);
    assert_eq!(repo.git(&["for-each-ref"]), refs);
    assert!(repo.git_or_nothing(&["cat-file", "-t", &commit]).is_empty(), "it is not the user's");
}

#[test]
fn what_is_no_file_is_not_made_one() {
    let repo = Repo::new();
    std::os::unix::fs::symlink("a", repo.path().join("link")).unwrap();
    repo.write("a", "a\n");
    let head = repo.commit("base");
    let folder = tempfile::tempdir().unwrap();
    let repository = Repository::discover(repo.path()).unwrap();
    let store = Store::open(folder.path(), &repository, Withheld::default()).unwrap();
    let made = store.bare().amended(&head, &[("link", Some(b"x"))]);
    assert!(
        matches!(made, Err(AmendError::Read(ReadError::OtherKind { found: "link", .. }))),
        "{made:?}"
    );
}
