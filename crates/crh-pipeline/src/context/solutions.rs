//! What the project learned before: the files in `docs/solutions` that have most to do with a change, found by words.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use super::instructing_end;
use crate::agent_files::Tree;
use crate::code::Code;
use crate::reviewers::front;
use crate::subject::Subject;
use crate::text::cut;
use crh_lint::words_of;
use crh_review::finding::Side;

/// Where a project keeps them.
const FOLDER: &str = "docs/solutions";
/// What every change is held against, where there is such a file.
const CRITICAL: &str = "docs/solutions/patterns/critical-patterns.md";
/// More files than this are an archive that nobody searches by words; the last by name are mostly the newest.
const FILES_MAX: usize = 500;
/// A solution is a page or two; what is longer is something else.
const FILE_MAX: u64 = 64 << 10;
/// So many of the best, besides the critical one.
const BEST: usize = 5;
/// What a reviewer reads of one: front matter, the problem and the solution of most.
const TEXT_CHARS_MAX: usize = 4_000;
/// One word in the front matter, or a few in the text. Less is chance.
const SCORE_MIN: u32 = 4;
/// Shorter words mean too much.
const WORD_CHARS_MIN: usize = 3;
/// More words than a change of many files has that a person would name.
const KEYWORDS_MAX: usize = 400;
/// As many files are parsed for the names of what they define.
const PARSED_MAX: usize = 30;

/// How much a word counts in the title, the tags or another field of the front matter.
const IN_FRONT: u32 = 5;
/// In the path.
const IN_PATH: u32 = 3;
/// In the text.
const IN_BODY: u32 = 1;

/// Words that say nothing about what something is.
#[rustfmt::skip]
const STOP_WORDS: &[&str] = &[
    "add", "all", "and", "app", "are", "but", "can", "change", "changes", "code", "docs", "file", "files", "fix", "fixes", "for",
    "from", "get", "has", "index", "into", "its", "lib", "main", "make", "mod", "new", "not", "now", "old", "one", "out", "pkg",
    "remove", "set", "src", "that", "the", "this", "update", "use", "uses", "was", "when", "with",
];

/// A solution of an earlier problem.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Solution {
    /// Its path from the root of the repository.
    pub path: String,
    /// What it is called.
    pub title: String,
    /// What it says, as much as a reviewer reads of it.
    pub text: String,
}

/// A file of solutions, as it was read.
#[derive(Debug, Clone)]
struct Written {
    path: String,
    text: String,
}

/// The front matter of a solution, as far as it tells what it is about. Every project has other keys.
#[derive(Debug, Default, Deserialize)]
#[serde(transparent)]
struct About(BTreeMap<String, Field>);

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Field {
    Word(String),
    List(Vec<String>),
    Other(serde::de::IgnoredAny),
}

/// The solutions that have most to do with a change: the critical patterns, where a project has them, and then the best, the best
/// first; and a sentence about what could not be read. `intent` is what the change says of itself.
pub fn solutions_for(subject: &Subject, intent: &str) -> (Vec<Solution>, Vec<String>) {
    let Ok(revisions) = subject.bench.repository() else { return Default::default() };
    let Some(revision) = revisions.named(Some(instructing_end(subject))) else {
        return Default::default();
    };
    let tree = Tree { objects: revisions.objects(), revision };
    let paths = paths(&tree);
    if paths.is_empty() {
        return Default::default();
    }
    let mut notes = Vec::new();
    let mut written = Vec::new();
    for path in paths {
        match read(&tree, &path) {
            Ok(text) => written.push(Written { path, text }),
            Err(why) => notes.push(format!("`{path}` was not searched: {why}")),
        }
    }
    (best(&written, &keywords(subject, intent)), notes)
}

/// The paths of the solutions, sorted.
pub(crate) fn paths(tree: &Tree<'_>) -> Vec<String> {
    // Where nothing can be listed there is nothing to search.
    let paths = tree.below(FOLDER).unwrap_or_default();
    let paths = paths.into_iter().filter_map(|path| String::from_utf8(path).ok());
    let is_one = |path: &String| path.ends_with(".md") && !path.ends_with("/README.md");
    let mut paths: Vec<String> = paths.filter(is_one).collect();
    let over = paths.len().saturating_sub(FILES_MAX);
    let critical = paths.iter().take(over).any(|path| path == CRITICAL);
    paths.drain(..over);
    paths.extend(Some(CRITICAL.to_owned()).filter(|_| critical));
    paths
}

fn read(tree: &Tree<'_>, path: &str) -> Result<String, String> {
    let size = tree.stat(path.as_bytes()).map_err(|why| why.to_string())?.map_or(0, |it| it.1);
    if size > FILE_MAX {
        return Err(format!("it has {size} bytes, more than {FILE_MAX}"));
    }
    let bytes = tree.objects.file(tree.revision, path).map_err(|why| why.to_string())?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The words that a change is about: of its paths, of what it changes by name, and of what it says of itself.
fn keywords(subject: &Subject, intent: &str) -> BTreeSet<String> {
    let mut found: BTreeSet<String> = words(intent).collect();
    let code = Code::of(subject);
    for (at, (file, diff)) in subject.files().enumerate() {
        let path = file.path.shown();
        let stem = path.rsplit_once('.').map_or(&*path, |(stem, _)| stem);
        found.extend(words(stem));
        let symbols = (at < PARSED_MAX).then(|| code.symbols(Side::New, &path)).flatten();
        for symbol in symbols.iter().flat_map(|symbols| symbols.all()) {
            let is_touched = diff.hunks.iter().any(|hunk| {
                let end = hunk.new.start.saturating_add(hunk.new.len);
                symbol.start < end && hunk.new.start <= symbol.end
            });
            if is_touched {
                found.extend(words(&symbol.name));
            }
        }
        if found.len() > KEYWORDS_MAX {
            break;
        }
    }
    found.into_iter().take(KEYWORDS_MAX).collect()
}

/// The words of a text that may say what it is about.
fn words(text: &str) -> impl Iterator<Item = String> {
    let is_one = |word: &String| {
        word.chars().count() >= WORD_CHARS_MIN && !STOP_WORDS.contains(&word.as_str())
    };
    words_of(text).filter(is_one)
}

/// The critical patterns, and the best of the others; of two that are as good, the first by path.
fn best(written: &[Written], keywords: &BTreeSet<String>) -> Vec<Solution> {
    let (critical, others): (Vec<&Written>, Vec<&Written>) =
        written.iter().partition(|it| it.path == CRITICAL);
    let indexed: Vec<(&Written, BTreeMap<String, u32>)> =
        others.into_iter().map(|it| (it, weighed(it))).collect();
    let is_everywhere = |word: &&String| {
        let count = indexed.iter().filter(|(_, words)| words.contains_key(*word)).count();
        // What most of them say tells none from another.
        indexed.len() >= 4 && count * 2 > indexed.len()
    };
    let telling: Vec<&String> = keywords.iter().filter(|word| !is_everywhere(word)).collect();
    let score = |words: &BTreeMap<String, u32>| -> u32 {
        telling.iter().filter_map(|word| words.get(*word)).sum()
    };
    let mut scored: Vec<(u32, &Written)> =
        indexed.iter().map(|(it, words)| (score(words), *it)).collect();
    scored.retain(|(score, _)| *score >= SCORE_MIN);
    scored.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.path.cmp(&b.1.path)));
    let best = scored.into_iter().take(BEST).map(|(_, it)| it);
    critical.into_iter().chain(best).map(solution).collect()
}

/// The words of a solution, each with how much it counts.
fn weighed(written: &Written) -> BTreeMap<String, u32> {
    let (about, body) = about(&written.text);
    let mut weights = BTreeMap::new();
    let mut weigh = |text: &str, weight: u32| {
        for word in words(text) {
            let known = weights.entry(word).or_insert(weight);
            *known = weight.max(*known);
        }
    };
    weigh(body, IN_BODY);
    weigh(heading(body).unwrap_or_default(), IN_FRONT);
    weigh(written.path.trim_start_matches(FOLDER).trim_end_matches(".md"), IN_PATH);
    for field in about.0.values() {
        match field {
            Field::Word(word) => weigh(word, IN_FRONT),
            Field::List(words) => words.iter().for_each(|word| weigh(word, IN_FRONT)),
            Field::Other(_) => {}
        }
    }
    weights
}

/// The front matter of a solution, and its text. What is not in order counts as text.
fn about(text: &str) -> (About, &str) {
    match front::split(text) {
        Ok((about, body)) => (front::yaml(about).unwrap_or_default(), body),
        Err(_) => (About::default(), text),
    }
}

/// What a solution without front matter is called.
fn heading(body: &str) -> Option<&str> {
    body.lines().find_map(|line| line.strip_prefix("# ")).map(str::trim)
}

fn solution(written: &Written) -> Solution {
    let (about, body) = about(&written.text);
    let titled = match about.0.get("title") {
        Some(Field::Word(title)) => Some(title.trim().to_owned()),
        Some(Field::List(_) | Field::Other(_)) | None => None,
    };
    let title =
        titled.or_else(|| heading(body).map(str::to_owned)).filter(|title| !title.is_empty());
    Solution {
        path: written.path.clone(),
        title: title.unwrap_or_else(|| written.path.clone()),
        text: cut(written.text.trim(), TEXT_CHARS_MAX),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(files: &[(&str, &str)], keywords: &str, expected: Expect) {
        let written = |(path, text): &(&str, &str)| Written {
            path: format!("{FOLDER}/{path}"),
            text: (*text).to_owned(),
        };
        let written: Vec<Written> = files.iter().map(written).collect();
        let found = best(&written, &words(keywords).collect());
        let lines = found.iter().map(|it| format!("{} | {}\n", it.path, it.title));
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
    fn front_matter_counts_more_than_the_text() {
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
    fn what_has_nothing_to_do_with_the_change_or_is_everywhere_is_not_found() {
        check(FILES, "translations", expect![""]);
        check(FILES, "orders the", expect![""]);
    }

    #[test]
    fn critical_patterns_come_first_whatever_the_change_is() {
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
    fn the_best_five_are_taken_and_the_rest_go_by_path() {
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
    fn a_long_one_is_cut() {
        let text = "x".repeat(TEXT_CHARS_MAX + 1);
        let long = Written { path: CRITICAL.to_owned(), text };
        let found = best(&[long], &BTreeSet::new());
        assert_eq!(found[0].text.chars().count(), TEXT_CHARS_MAX + 1);
        assert!(found[0].text.ends_with('…'));
    }
}
