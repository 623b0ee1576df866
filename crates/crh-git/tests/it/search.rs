//! Search, held against `git grep`.

use std::sync::atomic::{AtomicBool, Ordering};

use crh_git::{Found, LINE_BYTES_MAX, Objects, Pattern, Query, SearchError, search};
use crh_testkit::Repo;

fn repo() -> (Repo, String) {
    let repo = Repo::new();
    for file in 0..120 {
        let text: String =
            (0..50).map(|line| format!("fn name_{file}_{line}() {{ call({line}); }}\n")).collect();
        repo.write(&format!("src/module_{}/file_{file}.rs", file % 7), text);
    }
    repo.write("docs/read me.md", "call(me)\r\nCALL(me)\n");
    repo.write("image.bin", b"call(\0)");
    repo.write("ümlaut.txt", "call(ü)\nno newline at the end: call(1)");
    let head = repo.commit("x");
    (repo, head)
}

fn query(pattern: &str) -> Query {
    Query {
        pattern: Pattern::Regex(pattern.to_owned()),
        glob: None,
        ignore_case: false,
        max_matches: 100_000,
    }
}

fn found(repo: &Repo, head: &str, query: &Query) -> Result<Found, SearchError> {
    let objects = Objects::open(&repo.path().join(".git")).unwrap();
    search(&objects, head, query, &|_| true, &AtomicBool::new(false))
}

/// As `git grep -n` prints it, without the revision.
fn printed(found: &Found) -> String {
    let line = |path: &[u8], number: u64, text: &[u8]| {
        format!("{}:{number}:{}\n", String::from_utf8_lossy(path), String::from_utf8_lossy(text))
    };
    found.matches.iter().map(|m| line(&m.path, m.line, &m.text)).collect()
}

#[test]
fn search_finds_what_git_finds_in_the_same_order() {
    let (repo, head) = repo();
    for pattern in [
        "call\\(4[0-9]\\)",
        "^fn name_1_",
        "call\\(me\\)",
        "(name_3_7|name_9_9)\\(",
        "nothing like this",
        "[[:upper:]]{4}",
        "ü",
        "\\}$",
        "fn",
        "call\\(1\\)$",
    ] {
        let git = ["-c", "core.quotePath=false", "grep", "-n", "-I", "-E", "-e", pattern, &head];
        let expected = repo.git_or_nothing(&git);
        let expected = String::from_utf8_lossy(&expected).replace(&format!("{head}:"), "");
        let found = found(&repo, &head, &query(pattern)).unwrap();
        assert_eq!(printed(&found), expected, "{pattern}");
        assert_eq!(found.total, u64::try_from(found.matches.len()).unwrap());
    }
}

#[test]
fn a_capped_search_says_how_many_there_are() {
    let (repo, head) = repo();
    let all = found(&repo, &head, &query("fn name")).unwrap();
    let some = found(&repo, &head, &Query { max_matches: 10, ..query("fn name") }).unwrap();
    assert_eq!((some.matches.len(), some.total), (10, all.total));
    assert_eq!(some.matches, all.matches[..10]);
}

#[test]
fn a_glob_is_a_glob() {
    let (repo, head) = repo();
    let files = |glob: &str| {
        let query = Query { glob: Some(glob.to_owned()), ..query("call") };
        found(&repo, &head, &query).map(|found| found.files)
    };
    assert_eq!(files("*.md").unwrap(), 1);
    assert_eq!(files("src/module_3/*").unwrap(), 17);
    assert_eq!(files("src/**/file_1?.rs").unwrap(), 10);
    assert_eq!(files("file_7.rs").unwrap(), 1);
    assert_eq!(files("*.py").unwrap_err().to_string(), "no file of this revision matches `*.py`");
    assert!(matches!(files("a{b"), Err(SearchError::Glob(_))));
}

#[test]
fn a_pattern_that_cannot_be_used_is_said_and_one_built_to_be_slow_is_not_slow() {
    let (repo, head) = repo();
    let refused = found(&repo, &head, &query("call(")).unwrap_err();
    assert!(matches!(refused, SearchError::Pattern(_)), "{refused}");
    assert!(found(&repo, &head, &query("(a+)+(b+)+c{1,1000}{1,1000}{1,1000}")).is_err());
    // Exponential for engines that backtrack.
    assert_eq!(found(&repo, &head, &query("^(([a-z])+.)+[A-Z]([a-z])+$")).unwrap().total, 0);
}

#[test]
fn a_stopped_search_stops() {
    let (repo, head) = repo();
    let objects = Objects::open(&repo.path().join(".git")).unwrap();
    let stop = AtomicBool::new(false);
    // In the middle of it: after the list of files, before any is read.
    let is_wanted = |_: &[u8]| {
        stop.store(true, Ordering::Relaxed);
        true
    };
    let stopped = search(&objects, &head, &query("fn"), &is_wanted, &stop);
    assert_eq!(stopped, Err(SearchError::Stopped));
}

#[test]
fn a_line_of_any_length_is_kept_in_part() {
    let repo = Repo::new();
    repo.write("long.txt", "x".repeat(1 << 20));
    let head = repo.commit("long");
    let found = found(&repo, &head, &query("x")).unwrap();
    assert_eq!((found.total, found.matches[0].text.len()), (1, LINE_BYTES_MAX));
}
