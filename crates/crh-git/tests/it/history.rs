//! History and blame from a complete clone, a shallow clone and a bundle.

use expect_test::expect;
use tempfile::TempDir;

use crh_git::{
    BaseRequest, BlameLine, ChangeHistory, HISTORY_BEFORE_BASE, HiddenVariables, NetworkMode,
    Repository, Store, find_base,
};
use crh_testkit::Repo;

/// More commits than reviewers see, and a branch with two.
fn repo() -> Repo {
    let repo = Repo::new();
    for number in 0..HISTORY_BEFORE_BASE + 10 {
        repo.write("a.txt", (0..=number).map(|n| format!("{n}\n")).collect::<String>());
        repo.commit(&format!("commit {number}"));
    }
    repo.git(&["switch", "--quiet", "--create", "feature"]);
    repo.git(&["mv", "a.txt", "b.txt"]);
    repo.commit("move\n\nwith a body\nof two lines");
    let text = std::fs::read_to_string(repo.path().join("b.txt")).unwrap();
    repo.write("b.txt", format!("new\n{text}"));
    repo.commit("add");
    repo
}

fn open(repo: &Repo) -> (TempDir, Store, ChangeHistory) {
    let folder = TempDir::new().unwrap();
    let repository = Repository::discover(repo.path()).unwrap();
    let store = Store::open(folder.path(), &repository, HiddenVariables::default()).unwrap();
    let request = BaseRequest {
        branch: None,
        repository: None,
        reviewed_branch: None,
        network: NetworkMode::Online,
    };
    let head = repo.id("HEAD");
    let base = find_base(&store, &head, &request).unwrap();
    let history = ChangeHistory::load(store.bare(), &base.commit, &head).unwrap();
    (folder, store, history)
}

fn history_text(store: &Store, history: &ChangeHistory, head: &str) -> String {
    let log = store.bare().log(history, head, "b.txt").unwrap();
    let log = log.iter().map(|commit| format!("{}: {:?}\n", commit.subject, commit.body));
    let blame = store.bare().blame(history, head, "b.txt", (1, 12)).unwrap();
    let subject = |blamed: &BlameLine| {
        let commits = store.bare().commits(std::slice::from_ref(&blamed.commit)).unwrap();
        let path = String::from_utf8_lossy(&blamed.original_path).into_owned();
        let older = if blamed.may_be_older { " or older" } else { "" };
        let original = blamed.original_line;
        format!("{} {}{older} {path}:{original}\n", blamed.line, commits[0].subject)
    };
    log.chain(blame.iter().map(subject)).collect()
}

#[test]
fn history_is_the_same_in_complete_and_shallow_clones() {
    let repo = repo();
    let head = repo.id("HEAD");
    let full_clone = repo.cloned(&["--branch=feature"]);
    let shallow = repo.cloned(&["--branch=feature", "--depth=1"]);
    repo.git(&["switch", "--quiet", "main"]);
    let (_one, store, history) = open(&full_clone);
    assert_eq!(
        (history.change_commits.len(), history.base_commits.len()),
        (2, HISTORY_BEFORE_BASE)
    );
    let answer = history_text(&store, &history, &head);
    expect![[r#"
        add: ""
        move: "with a body\nof two lines"
        1 add b.txt:1
        2 commit 10 or older a.txt:1
        3 commit 10 or older a.txt:2
        4 commit 10 or older a.txt:3
        5 commit 10 or older a.txt:4
        6 commit 10 or older a.txt:5
        7 commit 10 or older a.txt:6
        8 commit 10 or older a.txt:7
        9 commit 10 or older a.txt:8
        10 commit 10 or older a.txt:9
        11 commit 10 or older a.txt:10
        12 commit 10 or older a.txt:11
    "#]]
    .assert_eq(&answer);
    let (_two, store, from_shallow) = open(&shallow);
    assert_eq!(from_shallow, history);
    assert_eq!(history_text(&store, &from_shallow, &head), answer);
}
