//! Files and folders of a commit.

use crh_git::{Objects, PathEntryKind, ReadError};
use crh_testkit::Repo;

fn repo() -> (Repo, String, String) {
    let repo = Repo::from_fixture(
        "
        //- src/a.rs
        fn a() {}
        //- src/deep/b.rs
        fn b() {}
        //- top.txt
        one
        two
        //- head
        //- src/a.rs
        fn changed() {}
        //- top.txt (deleted)
        ",
    );
    let sha =
        |name: &str| String::from_utf8(repo.git(&["rev-parse", name])).unwrap().trim().to_owned();
    let (base, head) = (sha("HEAD~1"), sha("HEAD"));
    (repo, base, head)
}

#[test]
fn files_are_read_at_any_revision_without_a_checkout() {
    let (repo, base, head) = repo();
    // The checkout does not matter.
    repo.write("src/a.rs", "half edited");
    let objects = Objects::open(&repo.path().join(".git")).unwrap();
    assert_eq!(objects.file(&base, "src/a.rs").unwrap(), b"fn a() {}\n");
    assert_eq!(objects.file(&head, "src/a.rs").unwrap(), b"fn changed() {}\n");
    assert_eq!(objects.file(&head, "top.txt"), Err(ReadError::NoEntry("top.txt".to_owned())));
    let (entry, size) = objects.stat(&base, "top.txt").unwrap();
    assert_eq!((entry.kind, size), (PathEntryKind::File, 8));
}

#[test]
fn folders_are_listed_in_byte_order() {
    let (repo, base, _) = repo();
    let objects = Objects::open(&repo.path().join(".git")).unwrap();
    let names = |path: &str| -> Vec<String> {
        let entries = objects.folder(&base, path).unwrap();
        entries.iter().map(|entry| String::from_utf8_lossy(&entry.path).into_owned()).collect()
    };
    assert_eq!(names(""), ["src", "top.txt"]);
    assert_eq!(names("src/"), ["src/a.rs", "src/deep"]);
    let files: Vec<_> = objects.files(&base).unwrap().into_iter().map(|entry| entry.path).collect();
    assert_eq!(files, [&b"src/a.rs"[..], b"src/deep/b.rs", b"top.txt"]);
}

#[test]
fn paths_outside_the_tree_are_rejected() {
    let (repo, base, _) = repo();
    repo.write("secret", "do not read");
    let objects = Objects::open(&repo.path().join(".git")).unwrap();
    for path in
        ["../secret", "/etc/passwd", "src/../../secret", "src//a.rs", "./top.txt", "a\0b", "/"]
    {
        assert_eq!(objects.file(&base, path), Err(ReadError::BadPath(path.to_owned())), "{path}");
    }
    assert_eq!(objects.file(&base, "secret"), Err(ReadError::NoEntry("secret".to_owned())));
    let kind = objects.file(&base, "src").unwrap_err().to_string();
    assert_eq!(kind, "`src` is a folder, not a file");
    let revision = objects.file("0123456789012345678901234567890123456789", "a").unwrap_err();
    assert_eq!(
        revision.to_string(),
        "there is no commit `0123456789012345678901234567890123456789`"
    );
    assert!(objects.file("HEAD", "a").is_err(), "revisions are pinned: only full ids are read");
}

#[test]
fn symlink_is_read_as_its_target_path() {
    let repo = Repo::new();
    std::os::unix::fs::symlink("/etc/passwd", repo.path().join("link")).unwrap();
    let head = repo.commit("x");
    let objects = Objects::open(&repo.path().join(".git")).unwrap();
    assert_eq!(objects.file(&head, "link").unwrap(), b"/etc/passwd");
    assert_eq!(objects.stat(&head, "link").unwrap().0.kind, PathEntryKind::Link);
}

#[test]
fn damaged_index_is_an_error_unless_object_is_elsewhere() {
    let (repo, base, _) = repo();
    repo.git(&["repack", "-a", "-q"]);
    let pack = repo.path().join(".git/objects/pack");
    let names = std::fs::read_dir(pack).unwrap().map(|entry| entry.unwrap().path());
    let index = names.into_iter().find(|path| path.extension().is_some_and(|end| end == "idx"));
    let index = index.unwrap();
    let bytes = std::fs::read(&index).unwrap();
    std::fs::remove_file(&index).unwrap();
    std::fs::write(&index, &bytes[..bytes.len() / 2]).unwrap();
    let read = || Objects::open(&repo.path().join(".git"))?.file(&base, "src/a.rs");
    assert_eq!(read().unwrap(), b"fn a() {}\n");
    for folder in std::fs::read_dir(repo.path().join(".git/objects")).unwrap() {
        let folder = folder.unwrap().path();
        if folder.file_name().unwrap().len() == 2 {
            std::fs::remove_dir_all(folder).unwrap();
        }
    }
    assert_eq!(read(), Err(ReadError::NoCommit(base.clone())));
}

#[test]
fn cached_folders_belong_to_their_revision() {
    let repo = Repo::new();
    let path = |file: usize| format!("src/file_{file}");
    // Each folder fits into the cache, but not both.
    repo.import((0..10_000).map(|file| (path(file), format!("base {file}"))));
    repo.import([(path(7), "head 7".to_owned())]);
    let (base, head) = (repo.id("main~1"), repo.id("main"));
    let objects = Objects::open(&repo.path().join(".git")).unwrap();
    // More than the first reads, which use another code path.
    for file in (0..50).map(|read| read % 10) {
        let read = |revision: &str| {
            String::from_utf8(objects.file(revision, path(file)).unwrap()).unwrap()
        };
        let name = if file == 7 { "head" } else { "base" };
        assert_eq!(read(&base), format!("base {file}"));
        assert_eq!(read(&head), format!("{name} {file}"));
    }
}

/// A tree whose folders share subfolders has more paths than any list can hold.
#[test]
fn tree_bomb_is_not_listed() {
    let repo = Repo::new();
    repo.write("a", "a\n");
    repo.commit("first");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap().trim().to_owned();
    let mut tree = text(repo.git(&["rev-parse", "HEAD^{tree}"]));
    for _ in 0..40 {
        let id: Vec<u8> = (0..40)
            .step_by(2)
            .map(|at| u8::from_str_radix(&tree[at..at + 2], 16).unwrap())
            .collect();
        let bytes = [b"40000 a\0".as_slice(), &id, b"40000 b\0", &id].concat();
        std::fs::write(repo.path().join("tree"), bytes).unwrap();
        tree = text(repo.git(&["hash-object", "-t", "tree", "-w", "tree"]));
    }
    let objects = Objects::open(&repo.path().join(".git")).unwrap();
    for _ in 0..2 {
        assert_eq!(objects.files(&tree), Err(ReadError::TooManyFiles(tree.clone())));
    }
}
