use expect_test::{Expect, expect};
use tempfile::TempDir;

use super::*;
use crate::case::Files;
use crh_git::BareRepository;
use crh_review::eval::KnownBad;
use crh_review::finding::{Category, Severity};
use crh_testkit::{Fixture, Repo};

/// A case from a fixture, with an expected issue at each place, such as `new a.py 2-3`.
fn case(fixture: &str, places: &[&str]) -> Case {
    let fixture = Fixture::parse(fixture);
    let base: Files =
        fixture.base.into_iter().map(|(path, text)| (path, text.into_bytes())).collect();
    let mut head = base.clone();
    for (path, text) in fixture.head {
        match text {
            Some(text) => drop(head.insert(path, text.into_bytes())),
            None => drop(head.remove(&path)),
        }
    }
    let expected = places.iter().map(|place| Expected {
        spans: vec![span(place)],
        category: Some(Category::Bug),
        severity: Severity::P1,
        description: "d".to_owned(),
        keywords: Vec::new(),
        omission: false,
        on_twin: Vec::new(),
    });
    Case {
        id: "x".to_owned(),
        title: "Title".to_owned(),
        body: "Body\nof two lines.".to_owned(),
        language: "python".to_owned(),
        licence: String::new(),
        twin_of: None,
        source: CaseSource::Files { base, head },
        expected: expected.collect(),
        known_bad: Vec::new(),
        is_draft: false,
    }
}

fn span(place: &str) -> Span {
    let mut words = place.split(' ');
    let side = if words.next() == Some("old") { Side::Old } else { Side::New };
    let file = words.next().unwrap();
    let (first, last) = words.next().unwrap().split_once('-').unwrap();
    Span::new(file, first.parse().unwrap(), last.parse().unwrap(), side).unwrap()
}

fn shown(spans: &[Span]) -> String {
    let shown = spans.iter().map(|span| {
        format!("{} {} {}-{}", span.side(), span.file(), span.line_start(), span.line_end())
    });
    shown.collect::<Vec<_>>().join(", ")
}

/// Lays out a case and its twin; shows where each issue would be on the twin.
fn check(fixture: &str, places: &[&str], expected: Expect) {
    let case = case(fixture, places);
    let twin = case.twin("Back".to_owned(), String::new()).unwrap();
    let folder = TempDir::new().unwrap();
    let ready = write_cases(&[case, twin], folder.path(), None).unwrap();
    let mut text = String::new();
    for issue in &ready[0].labels.expected {
        text += &format!("{} | {}\n", shown(&issue.spans), shown(&issue.on_twin));
    }
    expected.assert_eq(&text);
    assert_eq!(ready[0].labels.lines, ready[1].labels.lines);
}

const CHANGE: &str = "
    //- a.py
    one
    two
    three
    four
    five
    //- other.py
    other
    //- old/name.py
    1
    2
    3
    4
    5
    6
    7
    8
    9
    //- gone.py
    gone
    //- head
    //- a.py
    one
    TWO
    2
    three
    four
    inserted
    five
    //- new/name.py
    1
    2
    3
    4
    5
    SIX
    7
    8
    9
    //- old/name.py (deleted)
    //- gone.py (deleted)
    //- added.py
    new
    ";

#[test]
fn twin_places_are_mapped_on_both_sides() {
    check(
        CHANGE,
        &[
            "new a.py 2-2",
            "new a.py 6-6",
            "new a.py 4-4",
            "new a.py 3-6",
            "old a.py 2-2",
            "new other.py 1-1",
            "new new/name.py 6-6",
            "old old/name.py 6-6",
            "old gone.py 1-1",
            "new added.py 1-1",
        ],
        expect![[r#"
            new a.py 2-2 | old a.py 2-2, new a.py 2-2
            new a.py 6-6 | new a.py 4-4, old a.py 6-6
            new a.py 4-4 | new a.py 3-3, old a.py 4-4
            new a.py 3-6 | new a.py 2-4, old a.py 3-6
            old a.py 2-2 | new a.py 2-2, old a.py 2-3
            new other.py 1-1 | old other.py 1-1, new other.py 1-1
            new new/name.py 6-6 | old new/name.py 6-6, new new/name.py 6-6, old old/name.py 6-6, new old/name.py 6-6
            old old/name.py 6-6 | old new/name.py 6-6, new new/name.py 6-6, old old/name.py 6-6, new old/name.py 6-6
            old gone.py 1-1 | new gone.py 1-1
            new added.py 1-1 | old added.py 1-1
        "#]],
    );
}

#[test]
fn case_becomes_a_commit_with_message_and_size() {
    let mut first = case(CHANGE, &["new a.py 2-2"]);
    let span = span("new a.py 1-1");
    first.known_bad.push(KnownBad { span, description: "k".to_owned() });
    let second = Case { id: "y".to_owned(), body: String::new(), ..case(CHANGE, &[]) };
    let folder = TempDir::new().unwrap();
    let ready = write_cases(&[first.clone(), second], folder.path(), None).unwrap();
    let labels = Labels {
        id: "x".to_owned(),
        language: "python".to_owned(),
        lines: 8,
        twin_of: None,
        // Without a twin there are no places on it.
        expected: first.expected,
        known_bad: first.known_bad,
    };
    assert_eq!(ready[0].labels, labels);
    let bare = BareRepository::new(folder.path());
    let words = |ready: &ReadyCase| {
        let commits = bare.commits(&[ready.head.clone().unwrap()]).unwrap();
        (commits[0].subject.clone(), commits[0].body.clone())
    };
    let owned = |title: &str, body: &str| (title.to_owned(), body.to_owned());
    assert_eq!(words(&ready[0]), owned("Title", "Body\nof two lines."));
    assert_eq!(words(&ready[1]), owned("Title", ""));
}

fn commits(repo: &str, base: &str, head: &str, diff: &[u8]) -> Case {
    let source = CaseSource::Commits {
        clone: None,
        repo: repo.to_owned(),
        base: base.to_owned(),
        head: head.to_owned(),
        diff: diff.to_vec(),
    };
    Case { source, ..case(CHANGE, &[]) }
}

#[test]
fn clones_are_found_in_common_layouts() {
    let repo = Repo::from_fixture(CHANGE);
    let (base, head) = (repo.id("HEAD~1"), repo.id("HEAD"));
    let diff = repo.git(&["diff", "-M", "-U10", "--full-index", &base, &head]);
    for place in ["owner/name", "owner/name.git", "owner+name", "owner+name/repo", "name"] {
        let clones = TempDir::new().unwrap();
        let target = clones.path().join(place).display().to_string();
        repo.git(&["clone", "--quiet", "--bare", ".", &target]);
        let folder = TempDir::new().unwrap();
        let case = commits("owner/name", &base, &head, b"");
        let ready = write_cases(&[case], folder.path(), Some(clones.path())).unwrap();
        assert_eq!(ready[0].diff.raw(), diff, "{place}");
        assert_eq!(ready[0].not_found, None);
        let log = BareRepository::new(folder.path()).git();
        let head = ready[0].head.clone().unwrap();
        assert_eq!(log.text(["log", "--format=%s", &head]).unwrap(), "Title\nInitial commit");
    }
}

#[test]
fn missing_repository_leaves_only_the_diff() {
    let repo = Repo::from_fixture(CHANGE);
    let (base, head) = (repo.id("HEAD~1"), repo.id("HEAD"));
    let diff = b"--- a/a\n+++ b/a\n@@ -1 +1,2 @@\n 1\n+2\n";
    let clones = TempDir::new().unwrap();
    let target = clones.path().join("name").display().to_string();
    repo.git(&["clone", "--quiet", ".", &target]);
    let gone = "1".repeat(40);
    let cases = [
        commits("owner/name", &base, &gone, diff),
        commits("owner/other", &gone, &head, diff),
        Case { source: CaseSource::Diff(diff.to_vec()), ..case(CHANGE, &[]) },
        commits("owner/name", &base, &head, diff),
    ];
    let folder = TempDir::new().unwrap();
    let ready = write_cases(&cases, folder.path(), Some(clones.path())).unwrap();
    let found: Vec<_> = ready
        .iter()
        .map(|case| (case.head.is_some(), case.not_found.as_deref(), case.labels.lines))
        .collect();
    assert_eq!(
        found,
        [
            (false, Some("owner/name"), 1),
            (false, Some("owner/other"), 1),
            (false, None, 1),
            (true, None, 8)
        ]
    );
}

#[test]
fn case_without_a_change_is_refused() {
    let refused = |case: Case, repos: Option<&Path>| {
        let folder = TempDir::new().unwrap();
        let failure = write_cases(&[case], folder.path(), repos).unwrap_err();
        format!("{}\n{}\n", failure.error, failure.hint.unwrap())
    };
    let repo = Repo::from_fixture(CHANGE);
    let head = repo.id("HEAD");
    let (gone, parent) = ("1".repeat(40), repo.path().parent().unwrap());
    let name = repo.path().file_name().unwrap().to_str().unwrap();
    let text = refused(commits("o/r", &gone, &gone, b""), None)
        + &refused(commits(name, &head, &head, b""), Some(parent));
    expect![[r#"
        the case `x`: the commits of `o/r` are not available, and the case has no diff
        put a clone beside the `case.toml` as `repo`, or pass a folder with clones named `owner/name`
        the case `x`: base and head are equal
        remove the case
    "#]]
    .assert_eq(&text);
}
