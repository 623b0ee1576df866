//! Solutions of earlier problems: the files in `docs/solutions` that match a change, found by
//! keywords.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use crate::agent_files::{DANGLING, InstructionEntry, RevisionTree};
use crate::change_under_review::ChangeUnderReview;
use crate::code_reader::CodeReader;
use crate::front_matter;
use crate::text::cut;
use crh_lint::name_words;
use crh_review::finding::Side;

/// Folder of the solutions.
const FOLDER: &str = "docs/solutions";
/// A file that is included for every change, if it exists.
const CRITICAL_PATTERNS: &str = "docs/solutions/patterns/critical-patterns.md";
/// Maximum number of files to search. If there are more, the last ones by path are searched. Names
/// often start with a date, so these are mostly the newest.
const FILES_MAX: usize = 500;
/// Maximum size of a solution.
const FILE_MAX: u64 = 64 << 10;
/// Number of best matches, in addition to the critical patterns.
const BEST_MAX: usize = 5;
/// Maximum characters of a solution in the prompt.
const TEXT_CHARS_MAX: usize = 4_000;
/// Minimum score of a match, such as one word in the front matter, or four words in the text.
const SCORE_MIN: u32 = 4;
/// Minimum length of a keyword.
const WORD_CHARS_MIN: usize = 3;
/// Maximum number of keywords of a change.
const KEYWORDS_MAX: usize = 400;
/// Maximum number of changed files that are parsed for symbol names.
const PARSED_MAX: usize = 30;

/// Weight of a word in the front matter or title.
const FRONT_MATTER_WEIGHT: u32 = 5;
/// Weight of a word in the path.
const PATH_WEIGHT: u32 = 3;
/// Weight of a word in the text.
const TEXT_WEIGHT: u32 = 1;

/// Words without meaning for the search.
#[rustfmt::skip]
const STOP_WORDS: &[&str] = &[
    "add", "all", "and", "app", "are", "but", "can", "change", "changes", "code", "docs", "file", "files", "fix", "fixes", "for",
    "from", "get", "has", "index", "into", "its", "lib", "main", "make", "mod", "new", "not", "now", "old", "one", "out", "pkg",
    "remove", "set", "src", "that", "the", "this", "update", "use", "uses", "was", "when", "with",
];

/// The solution of an earlier problem.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Solution {
    /// Path from the repository root.
    pub path: String,
    /// Title.
    pub title: String,
    /// Text, truncated.
    pub text: String,
}

#[derive(Debug, Clone)]
struct SolutionFile {
    path: String,
    text: String,
}

/// Front matter of a solution. The keys differ between projects.
#[derive(Debug, Default, Deserialize)]
#[serde(transparent)]
struct SolutionFrontMatter(BTreeMap<String, FrontMatterField>);

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum FrontMatterField {
    Word(String),
    List(Vec<String>),
    Other(serde::de::IgnoredAny),
}

/// The solutions for a change: critical patterns first, then the best matches. The second value has
/// notes on files that could not be read. `intent` is the stated purpose of the change.
pub fn solutions_for(change: &ChangeUnderReview, intent: &str) -> (Vec<Solution>, Vec<String>) {
    let Ok(revisions) = change.tool_context.repository() else { return Default::default() };
    let Some(revision) = revisions.resolve(Some(change.instructions_revision())) else {
        return Default::default();
    };
    let tree = RevisionTree { objects: revisions.objects(), revision };
    let paths = paths(&tree);
    if paths.is_empty() {
        return Default::default();
    }
    let mut notes = Vec::new();
    let mut files = Vec::new();
    for path in paths {
        match read_solution(&tree, &path) {
            Ok(text) => files.push(SolutionFile { path, text }),
            Err(why) => notes.push(format!("`{path}` was not searched: {why}")),
        }
    }
    (best_matches(&files, &keywords(change, intent)), notes)
}

/// Paths of the solutions, at most [`FILES_MAX`], and the critical patterns.
pub(crate) fn paths(tree: &RevisionTree<'_>) -> Vec<String> {
    // A folder that cannot be listed counts as empty.
    let paths = tree.files_below(FOLDER).unwrap_or_default();
    let paths = paths.into_iter().filter_map(|path| String::from_utf8(path).ok());
    let is_solution = |path: &String| path.ends_with(".md") && !path.ends_with("/README.md");
    let mut paths: Vec<String> = paths.filter(is_solution).collect();
    let excess = paths.len().saturating_sub(FILES_MAX);
    let drops_critical_patterns = paths.iter().take(excess).any(|path| path == CRITICAL_PATTERNS);
    paths.drain(..excess);
    paths.extend(Some(CRITICAL_PATTERNS.to_owned()).filter(|_| drops_critical_patterns));
    paths
}

fn read_solution(tree: &RevisionTree<'_>, path: &str) -> Result<String, String> {
    let entry = tree.find_file(path.as_bytes()).map_err(|why| why.to_string())?;
    let InstructionEntry::File { target, size } = entry else { return Err(DANGLING.to_owned()) };
    if size > FILE_MAX {
        return Err(format!("it has {size} bytes, more than {FILE_MAX}"));
    }
    let bytes = tree.objects.file(tree.revision, target).map_err(|why| why.to_string())?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Keywords of a change: from its paths, changed symbols and intent.
fn keywords(change: &ChangeUnderReview, intent: &str) -> BTreeSet<String> {
    let mut keywords: BTreeSet<String> = words(intent).collect();
    let code = CodeReader::new(change);
    for (index, (file, diff)) in change.files().enumerate() {
        let path = file.path.shown();
        let stem = path.rsplit_once('.').map_or(&*path, |(stem, _)| stem);
        keywords.extend(words(stem));
        let symbols = (index < PARSED_MAX).then(|| code.symbols(Side::New, &path)).flatten();
        for symbol in symbols.iter().flat_map(|symbols| symbols.all()) {
            let is_changed = diff.hunks.iter().any(|hunk| {
                let end = hunk.new.start.saturating_add(hunk.new.len);
                symbol.start < end && hunk.new.start <= symbol.end
            });
            if is_changed {
                keywords.extend(words(&symbol.name));
            }
        }
        if keywords.len() > KEYWORDS_MAX {
            break;
        }
    }
    keywords.into_iter().take(KEYWORDS_MAX).collect()
}

/// Keywords of a text.
fn words(text: &str) -> impl Iterator<Item = String> {
    let is_keyword = |word: &String| {
        word.chars().count() >= WORD_CHARS_MIN && !STOP_WORDS.contains(&word.as_str())
    };
    name_words(text).filter(is_keyword)
}

/// The critical patterns and the best other matches. Ties are sorted by path.
fn best_matches(files: &[SolutionFile], keywords: &BTreeSet<String>) -> Vec<Solution> {
    let (critical, others): (Vec<&SolutionFile>, Vec<&SolutionFile>) =
        files.iter().partition(|file| file.path == CRITICAL_PATTERNS);
    let indexed: Vec<(&SolutionFile, BTreeMap<String, u32>)> =
        others.into_iter().map(|file| (file, word_weights(file))).collect();
    let is_common = |word: &&String| {
        let count = indexed.iter().filter(|(_, words)| words.contains_key(*word)).count();
        // Words that most solutions contain do not help to choose. With fewer than four files, crh
        // cannot tell which words are common.
        indexed.len() >= 4 && count * 2 > indexed.len()
    };
    let distinctive: Vec<&String> = keywords.iter().filter(|word| !is_common(word)).collect();
    let score = |words: &BTreeMap<String, u32>| -> u32 {
        distinctive.iter().filter_map(|word| words.get(*word)).sum()
    };
    let mut scored: Vec<(u32, &SolutionFile)> =
        indexed.iter().map(|(file, words)| (score(words), *file)).collect();
    scored.retain(|(score, _)| *score >= SCORE_MIN);
    scored.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.path.cmp(&b.1.path)));
    let best = scored.into_iter().take(BEST_MAX).map(|(_, file)| file);
    critical.into_iter().chain(best).map(to_solution).collect()
}

fn word_weights(file: &SolutionFile) -> BTreeMap<String, u32> {
    let (front_matter, body) = split_front_matter(&file.text);
    let mut weights = BTreeMap::new();
    let mut weigh = |text: &str, weight: u32| {
        for word in words(text) {
            let highest = weights.entry(word).or_insert(weight);
            *highest = weight.max(*highest);
        }
    };
    weigh(body, TEXT_WEIGHT);
    weigh(heading(body).unwrap_or_default(), FRONT_MATTER_WEIGHT);
    weigh(file.path.trim_start_matches(FOLDER).trim_end_matches(".md"), PATH_WEIGHT);
    for field in front_matter.0.values() {
        match field {
            FrontMatterField::Word(word) => weigh(word, FRONT_MATTER_WEIGHT),
            FrontMatterField::List(words) => {
                words.iter().for_each(|word| weigh(word, FRONT_MATTER_WEIGHT));
            }
            FrontMatterField::Other(_) => {}
        }
    }
    weights
}

/// Splits off the front matter. Front matter with invalid YAML counts as empty.
fn split_front_matter(text: &str) -> (SolutionFrontMatter, &str) {
    match front_matter::split(text) {
        Ok((yaml, body)) => (front_matter::parse_yaml(yaml).unwrap_or_default(), body),
        Err(_) => (SolutionFrontMatter::default(), text),
    }
}

/// The first heading.
fn heading(body: &str) -> Option<&str> {
    body.lines().find_map(|line| line.strip_prefix("# ")).map(str::trim)
}

fn to_solution(file: &SolutionFile) -> Solution {
    let (front_matter, body) = split_front_matter(&file.text);
    let stated_title = match front_matter.0.get("title") {
        Some(FrontMatterField::Word(title)) => Some(title.trim().to_owned()),
        Some(FrontMatterField::List(_) | FrontMatterField::Other(_)) | None => None,
    };
    let title =
        stated_title.or_else(|| heading(body).map(str::to_owned)).filter(|title| !title.is_empty());
    Solution {
        path: file.path.clone(),
        title: title.unwrap_or_else(|| file.path.clone()),
        text: cut(file.text.trim(), TEXT_CHARS_MAX),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use expect_test::{Expect, expect};

    use super::*;
    use crh_git::Objects;
    use crh_testkit::Repo;

    fn check(files: &[(&str, &str)], keywords: &str, expected: Expect) {
        let solution_file = |(path, text): &(&str, &str)| SolutionFile {
            path: format!("{FOLDER}/{path}"),
            text: (*text).to_owned(),
        };
        let solution_files: Vec<SolutionFile> = files.iter().map(solution_file).collect();
        let matches = best_matches(&solution_files, &words(keywords).collect());
        let lines = matches.iter().map(|it| format!("{} | {}\n", it.path, it.title));
        expected.assert_eq(&lines.collect::<String>());
    }

    const FILES: &[(&str, &str)] = &[
        (
            "db/lock-timeouts.md",
            "---\ntitle: Lock timeouts in orders\ntags: [postgres, locking]\n---\nOrders waited.\n",
        ),
        (
            "db/pool.md",
            "---\ntitle: The pool ran dry\nmodule: Billing\nsymptoms: [timeouts at noon]\n---\nBilling.\n",
        ),
        (
            "ui/flicker.md",
            "# A list that flickers\n\nThe orders list is drawn twice; billing too; postgres is not to blame.\n",
        ),
        ("odd.md", "---\ntitle: [\n---\n# Orders that were lost\nbilling\n"),
    ];

    #[test]
    fn front_matter_weighs_more_than_text() {
        check(
            FILES,
            "billing timeouts",
            expect![[r#"
                docs/solutions/db/lock-timeouts.md | Lock timeouts in orders
                docs/solutions/db/pool.md | The pool ran dry
            "#]],
        );
        check(
            FILES,
            "Use postgres for the queue",
            expect![[r#"
                docs/solutions/db/lock-timeouts.md | Lock timeouts in orders
            "#]],
        );
    }

    #[test]
    fn unrelated_and_ubiquitous_words_find_nothing() {
        check(FILES, "translations", expect![""]);
        check(FILES, "orders the", expect![""]);
    }

    #[test]
    fn critical_patterns_always_come_first() {
        let files = [FILES, &[("patterns/critical-patterns.md", "Never again.\n")]].concat();
        check(
            &files,
            "pool",
            expect![[r#"
                docs/solutions/patterns/critical-patterns.md | docs/solutions/patterns/critical-patterns.md
                docs/solutions/db/pool.md | The pool ran dry
            "#]],
        );
    }

    #[test]
    fn five_best_are_taken_and_ties_sorted_by_path() {
        let files: Vec<(String, String)> = (0..8)
            .map(|at| {
                (
                    format!("{at}.md"),
                    format!(
                        "---\ntags: [tag{at}, cache]\n---\n{}",
                        if at < 4 { "" } else { "queue" }
                    ),
                )
            })
            .collect();
        let mut files: Vec<(&str, &str)> =
            files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
        files.extend((0..9).map(|_| ("other.md", "nothing")));
        check(
            &files,
            "cache queue",
            expect![[r#"
                docs/solutions/4.md | docs/solutions/4.md
                docs/solutions/5.md | docs/solutions/5.md
                docs/solutions/6.md | docs/solutions/6.md
                docs/solutions/7.md | docs/solutions/7.md
                docs/solutions/0.md | docs/solutions/0.md
            "#]],
        );
    }

    #[test]
    fn symlink_is_followed_inside_the_repository() {
        let repo = Repo::from_fixture("//- notes/a.md\nText.\n//- docs/solutions/b.md\nB.\n");
        for (name, target) in [("a.md", "../../notes/a.md"), ("gone.md", "../../gone.md")] {
            symlink(target, repo.path().join(FOLDER).join(name)).unwrap();
        }
        repo.commit("links");
        let objects = Objects::open(&repo.path().join(".git")).unwrap();
        let tree = RevisionTree { objects: &objects, revision: &repo.id("HEAD") };
        let read = |name: &str| read_solution(&tree, &format!("{FOLDER}/{name}"));
        assert_eq!(read("a.md"), Ok("Text.\n".to_owned()));
        assert_eq!(read("gone.md"), Err(DANGLING.to_owned()));
    }

    #[test]
    fn long_solution_is_truncated() {
        let text = "x".repeat(TEXT_CHARS_MAX + 1);
        let long = SolutionFile { path: CRITICAL_PATTERNS.to_owned(), text };
        let matches = best_matches(&[long], &BTreeSet::new());
        assert_eq!(matches[0].text.chars().count(), TEXT_CHARS_MAX + 1);
        assert!(matches[0].text.ends_with('…'));
    }
}
