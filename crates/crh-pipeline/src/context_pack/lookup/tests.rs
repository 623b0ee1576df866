//! Lookups with an empty, a partial and a full word index.

use std::fmt::Debug;

use super::*;
use crh_git::BareRepository;
use crh_testkit::Repo;

/// `probe` is on more lines than a search returns. `noted` and `loaded` are in many files, but
/// mostly in comments and imports. The names are used in the folders `a` and `z`.
fn repo() -> Repo {
    let repo = Repo::new();
    repo.write("a/far.py", "probe(3)\nattach(3)\nnoted(3)\nloaded(3)\n");
    repo.write("a/menu.py", "cafe\u{301}_menu = configure(1 < 2)\n");
    for number in 100..160 {
        let many_files = if number < 120 { "# noted\nfrom a import loaded\n" } else { "" };
        let text = format!("probe({number})\nprobe(configure)\n{many_files}");
        repo.write(&format!("b/file_{number}.py"), text);
    }
    repo.write("z/main.py", "attach(1)\nprobe(1)\nnoted(1)\nloaded(1)\n");
    repo.commit("names");
    repo
}

/// Compares the result of a lookup whose searches return at most 50 lines, for each state of the
/// index.
fn check<T: Debug + PartialEq>(look_up: impl Fn(&CodeLookup<'_>) -> T, expected: &T) {
    let repo = repo();
    let head = repo.id("HEAD");
    for (indexed_until, indexed_files) in [("", 0), ("b/file_150.py", 51), ("~", 62)] {
        let bare = BareRepository::new(&repo.path().join(".git"));
        let revisions = Revisions::new(bare, &head, &head).unwrap();
        let ctx = ToolContext::new().with_repository(move || Ok(revisions));
        let lookup = CodeLookup { max_matches: 50, ..CodeLookup::new(&ctx).unwrap() };
        let is_indexed = |path: &[u8]| path < indexed_until.as_bytes();
        lookup.run_query(SearchQuery::for_words(["probe"]), &is_indexed);
        let files = lookup.first_files(&BTreeSet::from(["probe"]), 100);
        assert_eq!(files.get("probe").map_or(0, Vec::len), indexed_files);
        assert_eq!(&look_up(&lookup), expected, "{indexed_files} indexed files");
    }
}

#[test]
fn near_uses_do_not_depend_on_the_word_index() {
    let names = ["attach", "loaded", "noted", "probe"];
    let folders = BTreeMap::from(names.map(|name| (name, BTreeSet::from(["z"]))));
    let near_uses = |lookup: &CodeLookup<'_>| {
        let uses = lookup.near_uses(&folders, 4).into_iter().map(|(name, uses)| {
            let sites = uses.sites.iter().map(|site| format!("{}:{}", site.path, site.line));
            (name, uses.is_common, sites.collect::<Vec<_>>().join(" "))
        });
        uses.collect::<Vec<_>>()
    };
    let expected = [
        ("attach", false, "a/far.py:2 z/main.py:1"),
        ("loaded", false, "a/far.py:4 z/main.py:4"),
        ("noted", false, "a/far.py:3 z/main.py:3"),
        ("probe", true, "z/main.py:2"),
    ];
    let expected = expected.map(|(name, is_common, sites)| {
        let (name, sites) = (name.to_owned(), sites.to_owned());
        (name, is_common, sites)
    });
    check(near_uses, &expected.to_vec());
}

#[test]
fn copies_do_not_depend_on_the_word_index() {
    // The search takes the combining accent for a part of a word.
    let line = "cafe\u{301}_menu = configure(1 < 2)".to_owned();
    let copies = |lookup: &CodeLookup<'_>| {
        let copies = lookup.copies([&line].into_iter()).into_values().flatten();
        copies.map(|site| site.path).collect::<Vec<_>>()
    };
    check(copies, &vec!["a/menu.py".to_owned()]);
}
