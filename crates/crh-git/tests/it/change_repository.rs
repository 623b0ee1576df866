//! Many changes in one repository.

use std::collections::BTreeMap;
use std::path::Path;

use tempfile::TempDir;

use crh_git::{
    BareRepository, ChangeRepository, ChangeSpec, CommitContents, CommittedChange, Repository,
};
use crh_testkit::Repo;

type Files = BTreeMap<String, Vec<u8>>;

fn files(files: &[(&str, &[u8])]) -> Files {
    files.iter().map(|(path, bytes)| ((*path).to_owned(), bytes.to_vec())).collect()
}

fn change_spec<'a>(message: &str, base: &'a Files, head: &'a Files) -> ChangeSpec<'a> {
    let (base, head) = (CommitContents::Files(base), CommitContents::Files(head));
    ChangeSpec { message: message.to_owned(), base, head }
}

fn text(folder: &Path, args: &[&str]) -> String {
    BareRepository::new(folder).git().text(args).unwrap()
}

/// Names, bytes and changes that are hard for importers.
fn unusual_files() -> (Files, Files) {
    let base = files(&[
        ("plain.txt", b"a\nb\nc\n"),
        ("with \"quotes\" and \\ and\nnewline", b"1\n"),
        (" leading and trailing ", b"x"),
        ("moved/from.txt", b"one\ntwo\nthree\nfour\nfive\n"),
        ("bytes.bin", &[0, 159, 10, 255]),
        ("becomes", b"a file\n"),
        ("done", b"done\ncommit refs/heads/x\n"),
    ]);
    let mut head = base.clone();
    head.insert("plain.txt".into(), b"a\nB\nc".to_vec());
    head.insert("with \"quotes\" and \\ and\nnewline".into(), b"2\n".to_vec());
    let moved = head.remove("moved/from.txt").unwrap();
    head.insert("moved/to.txt".into(), moved);
    head.insert("bytes.bin".into(), vec![0, 1]);
    head.remove("becomes");
    head.insert("becomes/a/folder".into(), b"now\n".to_vec());
    head.insert("empty".into(), Vec::new());
    (base, head)
}

#[test]
fn change_is_two_commits_with_exactly_its_files() {
    let (base, head) = unusual_files();
    let folder = TempDir::new().unwrap();
    let layout = ChangeRepository::new(folder.path(), &[]).unwrap();
    let laid_out = layout.commit_changes(&[change_spec("Title\n\nBody.\n", &base, &head)]).unwrap();
    let [change] = laid_out.as_slice() else { panic!("{laid_out:?}") };
    let bare = BareRepository::new(folder.path());
    let objects = bare.objects().unwrap();
    for (commit, expected) in [(&change.base, &base), (&change.head, &head)] {
        let files: Files = objects
            .files(commit)
            .unwrap()
            .into_iter()
            .map(|entry| {
                let bytes = objects.file(commit, &entry.path).unwrap();
                (String::from_utf8(entry.path).unwrap(), bytes)
            })
            .collect();
        assert_eq!(&files, expected);
    }
    assert_eq!(bare.parent(&change.head).unwrap(), change.base);
    assert_eq!(text(folder.path(), &["rev-list", &change.head]).lines().count(), 2);
    assert_eq!(text(folder.path(), &["log", "-1", "--format=%s|%b", &change.head]), "Title|Body.");
    assert_eq!(change.diff, bare.diff(&change.base, &change.head).unwrap());
    assert!(!change.diff.is_empty());
    text(folder.path(), &["fsck", "--strict"]);
}

#[test]
fn equal_changes_have_equal_commit_ids() {
    let (base, head) = unusual_files();
    let change = change_spec("One", &base, &head);
    let back = change_spec("Two", &head, &base);
    let lay_out = |changes: &[ChangeSpec<'_>]| -> Vec<CommittedChange> {
        let folder = TempDir::new().unwrap();
        ChangeRepository::new(folder.path(), &[]).unwrap().commit_changes(changes).unwrap()
    };
    let one = lay_out(&[change.clone(), back.clone(), change.clone()]);
    let other = lay_out(&[back, change]);
    assert_eq!(one, [other[1].clone(), other[0].clone(), other[1].clone()]);
}

#[test]
fn branches_have_neutral_names() {
    let (base, head) = unusual_files();
    let folder = TempDir::new().unwrap();
    let layout = ChangeRepository::new(folder.path(), &[]).unwrap();
    let changes = [change_spec("One", &base, &head), change_spec("Two", &head, &base)];
    let laid_out = layout.commit_changes(&changes).unwrap();
    let refs = text(folder.path(), &["for-each-ref", "--format=%(refname)"]);
    assert_eq!(refs, "refs/heads/change-1\nrefs/heads/change-2\nrefs/heads/main");
    let log_text = |change: &CommittedChange| {
        let format = "--format=%an %ae %aI %cn %ce %cI";
        text(folder.path(), &["log", format, &change.head])
    };
    assert_eq!(log_text(&laid_out[0]), log_text(&laid_out[1]));
    assert_eq!(text(folder.path(), &["rev-parse", "HEAD"]).len(), 40);
    assert_eq!(text(folder.path(), &["ls-tree", "HEAD"]), "");
}

#[test]
fn empty_list_of_changes_is_accepted() {
    let folder = TempDir::new().unwrap();
    let layout = ChangeRepository::new(folder.path(), &[]).unwrap();
    assert_eq!(layout.trees(&[]).unwrap(), []);
    assert_eq!(layout.commit_changes(&[]).unwrap(), []);
    assert_eq!(text(folder.path(), &["rev-parse", "HEAD"]).len(), 40);
}

#[test]
fn trees_of_alternates_bring_no_history() {
    let repo = Repo::from_fixture(
        "
        //- a.txt
        one
        //- head
        //- a.txt
        two
        //- b/c.txt
        new
        ",
    );
    let (base, head) = (repo.id("HEAD~1"), repo.id("HEAD"));
    let folder = TempDir::new().unwrap();
    let alternate = Repository::discover(repo.path()).unwrap();
    let layout = ChangeRepository::new(folder.path(), &[alternate]).unwrap();
    let gone = "1".repeat(40);
    let pairs = [(head.as_str(), base.as_str()), (&gone, &head), (&base, &head)];
    let trees = layout.trees(&pairs).unwrap();
    assert_eq!(trees[1], None);
    let (before, after) = trees[0].clone().unwrap();
    assert_eq!(trees[2], Some((after.clone(), before.clone())));
    let (base, head) = (CommitContents::Tree(before), CommitContents::Tree(after));
    let change = ChangeSpec { message: "Back".to_owned(), base, head };
    let laid_out = layout.commit_changes(&[change]).unwrap();
    let log = text(folder.path(), &["log", "--format=%s", &laid_out[0].head]);
    assert_eq!(log, "Back\nInitial commit");
    let theirs = repo.git(&["diff", "-U10", "--full-index", "HEAD", "HEAD~1"]);
    assert_eq!(laid_out[0].diff, theirs);
}

#[test]
fn pairs_with_missing_files_are_dropped() {
    let repo = Repo::from_fixture(
        "
        //- a.txt
        one
        //- other.txt
        same
        //- head
        //- a.txt
        two
        ",
    );
    repo.git(&["config", "uploadpack.allowFilter", "true"]);
    let clone = repo.cloned(&["--bare", "--filter=blob:none"]);
    let folder = TempDir::new().unwrap();
    let alternate = Repository::discover(clone.path()).unwrap();
    let layout = ChangeRepository::new(folder.path(), &[alternate]).unwrap();
    let (base, head) = (repo.id("HEAD~1"), repo.id("HEAD"));
    assert_eq!(layout.trees(&[(&base, &head)]).unwrap(), [None]);
}
