//! Search, compared with `git grep`.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};

use crh_git::{
    DefinitionLine, LINE_BYTES_MAX, Objects, SearchError, SearchPattern, SearchQuery, SearchResult,
    files_with_words, find_definitions, search,
};
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

fn query(pattern: &str) -> SearchQuery {
    SearchQuery::new(SearchPattern::Regex(pattern.to_owned()))
}

fn run_search(repo: &Repo, head: &str, query: &SearchQuery) -> Result<SearchResult, SearchError> {
    let objects = Objects::open(&repo.path().join(".git")).unwrap();
    search(&objects, head, query, &|_| true, &AtomicBool::new(false))
}

/// Formatted like `git grep -n`, without the revision.
fn result_text(result: &SearchResult) -> String {
    let line = |path: &[u8], number: u64, text: &[u8]| {
        format!("{}:{number}:{}\n", String::from_utf8_lossy(path), String::from_utf8_lossy(text))
    };
    result.matches.iter().map(|m| line(&m.path, m.line, &m.text)).collect()
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
        let result = run_search(&repo, &head, &query(pattern)).unwrap();
        assert_eq!(result_text(&result), expected, "{pattern}");
        assert_eq!(result.total, u64::try_from(result.matches.len()).unwrap());
    }
}

#[test]
fn limited_search_counts_all_matches() {
    let (repo, head) = repo();
    let all = run_search(&repo, &head, &query("fn name")).unwrap();
    let some =
        run_search(&repo, &head, &SearchQuery { max_matches: 10, ..query("fn name") }).unwrap();
    assert_eq!((some.matches.len(), some.total), (10, all.total));
    assert_eq!(some.matches, all.matches[..10]);
}

#[test]
fn file_filter_selects_files() {
    let (repo, head) = repo();
    let files = |glob: &str| {
        let query = SearchQuery { glob: Some(glob.to_owned()), ..query("call") };
        run_search(&repo, &head, &query).map(|result| result.files)
    };
    assert_eq!(files("*.md").unwrap(), 1);
    assert_eq!(files("src/module_3/*").unwrap(), 17);
    assert_eq!(files("src/**/file_1?.rs").unwrap(), 10);
    assert_eq!(files("file_7.rs").unwrap(), 1);
    assert_eq!(files("*.py").unwrap_err().to_string(), "no file of this revision matches `*.py`");
    assert!(matches!(files("a{b"), Err(SearchError::Glob(_))));
}

#[test]
fn invalid_pattern_is_reported_and_hostile_one_is_fast() {
    let (repo, head) = repo();
    let error = run_search(&repo, &head, &query("call(")).unwrap_err();
    assert!(matches!(error, SearchError::Pattern(_)), "{error}");
    assert!(run_search(&repo, &head, &query("(a+)+(b+)+c{1,1000}{1,1000}{1,1000}")).is_err());
    // Exponential for backtracking engines.
    assert_eq!(run_search(&repo, &head, &query("^(([a-z])+.)+[A-Z]([a-z])+$")).unwrap().total, 0);
}

#[test]
fn a_stopped_search_stops() {
    let (repo, head) = repo();
    let objects = Objects::open(&repo.path().join(".git")).unwrap();
    let stop = AtomicBool::new(false);
    // After listing the files, before reading any.
    let is_wanted = |_: &[u8]| {
        stop.store(true, Ordering::Relaxed);
        true
    };
    let stopped = search(&objects, &head, &query("fn"), &is_wanted, &stop);
    assert_eq!(stopped, Err(SearchError::Stopped));
}

#[test]
fn long_line_is_cut_off() {
    let repo = Repo::new();
    repo.write("long.txt", "x".repeat(1 << 20));
    let head = repo.commit("long");
    let result = run_search(&repo, &head, &query("x")).unwrap();
    assert_eq!((result.total, result.matches[0].text.len()), (1, LINE_BYTES_MAX));
}

#[test]
fn first_files_of_a_word_come_from_the_index() {
    let (repo, head) = repo();
    let objects = Objects::open(&repo.path().join(".git")).unwrap();
    let is_rust = |path: &[u8]| path.ends_with(b".rs");
    let first_files = |max_files| {
        let words = BTreeSet::from(["call", "name_8_1", "absent_word"]);
        let files = files_with_words(&objects, &head, &words, max_files, &is_rust).unwrap();
        let files = files.into_iter().map(|(word, paths)| {
            let paths = paths.into_iter().map(|path| String::from_utf8(path).unwrap());
            (word, paths.collect::<Vec<_>>())
        });
        files.collect::<Vec<_>>()
    };
    assert!(first_files(2).is_empty());
    let query = SearchQuery::for_words(["call"]);
    search(&objects, &head, &query, &|_| true, &AtomicBool::new(false)).unwrap();
    let path = |file: u8| format!("src/module_{}/file_{file}.rs", file % 7);
    let expected = [("call", vec![path(0), path(105)]), ("name_8_1", vec![path(8)])];
    assert_eq!(first_files(2), expected);
}

#[test]
fn state_of_word_index_does_not_change_results() {
    let (repo, first) = repo();
    for file in 0..200 {
        repo.write(&format!("more/{file}.txt"), format!("only_{file} shared ünder_{file}"));
    }
    let second = repo.commit("more files");
    let git_dir = repo.path().join(".git");
    let index = git_dir.join("crh-words");
    let words = ["only_7", "call", "ünder_3", "name_3_7", "docs/read", "me", "CALL", "absent_word"];
    let queries = words.map(|word| SearchQuery::for_words([word, "only_199"]));
    let check = || {
        for (word, query) in words.iter().zip(&queries) {
            for head in [&first, &second] {
                let git = ["-c", "core.quotePath=false", "grep", "-n", "-I", "-w", "-F"];
                let git = [git.as_slice(), &["-e", word, "-e", "only_199", head]].concat();
                let expected = String::from_utf8(repo.git_or_nothing(&git)).unwrap();
                let expected = expected.replace(&format!("{head}:"), "");
                let result = run_search(&repo, head, query).unwrap();
                assert_eq!(result_text(&result), expected, "{word}");
            }
        }
        for pattern in ["nder_3", "only_1[0-9] .*nder", "(name_3_7|ALL)\\(", "absent_word", "m"] {
            let git =
                ["-c", "core.quotePath=false", "grep", "-n", "-I", "-E", "-e", pattern, &second];
            let expected = String::from_utf8(repo.git_or_nothing(&git)).unwrap();
            let result = run_search(&repo, &second, &query(pattern)).unwrap();
            assert_eq!(
                result_text(&result),
                expected.replace(&format!("{second}:"), ""),
                "{pattern}"
            );
        }
        let objects = Objects::open(&git_dir).unwrap();
        let names = BTreeSet::from(["name_3_7", "only_7", "call"]);
        let find = |max_lines| {
            let stop = AtomicBool::new(false);
            find_definitions(&objects, &second, &names, max_lines, &|_| true, &stop).unwrap()
        };
        let lines = find(usize::MAX);
        assert_eq!(lines.len(), 120 * 50 + 3);
        let has_two = lines.iter().filter(|line| line.names.len() == 2);
        let line = DefinitionLine {
            path: b"src/module_3/file_3.rs".to_vec(),
            line: 8,
            names: ["call", "name_3_7"].map(str::to_owned).into(),
            value: None,
        };
        assert_eq!(has_two.collect::<Vec<_>>(), [&line]);
        assert_eq!(find(70), lines[..70]);
    };
    check();
    assert!(!index.exists(), "crh writes nothing into a repository of the user");
    std::fs::write(git_dir.join("crh.lock"), "").unwrap();
    check();
    let saved = std::fs::read(&index).unwrap();
    check();
    assert_eq!(std::fs::read(&index).unwrap(), saved, "all files were indexed");
    let mut damaged = saved.clone();
    damaged[saved.len() / 2] ^= 1;
    for content in [&damaged, &saved[..saved.len() / 3], b""] {
        std::fs::write(&index, content).unwrap();
        check();
        assert_ne!(std::fs::read(&index).unwrap(), content);
    }
}

#[test]
fn word_search_skips_files_that_the_index_rules_out() {
    let (repo, head) = repo();
    let objects = Objects::open(&repo.path().join(".git")).unwrap();
    let count = |word: &str| {
        let query = SearchQuery::for_words([word]);
        let result = search(&objects, &head, &query, &|_| true, &AtomicBool::new(false)).unwrap();
        (result.total, result.unreadable_files.len())
    };
    assert_eq!(count("name_3_7"), (1, 0));
    let blob = repo.git(&["rev-parse", &format!("{head}:docs/read me.md")]);
    let blob = String::from_utf8(blob).unwrap();
    let (folder, file) = blob.trim().split_at(2);
    std::fs::remove_file(repo.path().join(".git/objects").join(folder).join(file)).unwrap();
    assert_eq!(count("name_3_7"), (1, 0), "the missing file is not read");
    assert_eq!(count("CALL").1, 1, "it is read if it may match");
}
