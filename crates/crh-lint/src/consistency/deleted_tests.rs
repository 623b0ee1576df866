//! Tests that are deleted while what they test stays.

use std::collections::{HashMap, HashSet};

use super::{Repository, split};
use crate::fold::folded;
use crate::found::Found;
use crate::look::Looked;
use crate::{Change, ChangedFile, Rule, paths};
use crh_review::finding::{Category, Confidence, Severity, Side};

pub(super) const TEST_DELETED: Rule = Rule {
    id: "consistency/test-deleted",
    severity: Severity::P2,
    category: Category::Testing,
    confidence: Confidence::thousandths(800),
    finds: "a test file that is deleted while the file it tests stays",
    also: &[],
};

/// Whoever deletes more test files than this at once has moved or replaced a suite, and knows it.
const DELETED_MAX: usize = 5;
/// A shorter line is a bracket or an `end`: it tells nothing about where a text went.
const TELLING_CHARS: usize = 10;

/// Deleted tests whose subjects stay.
pub(super) fn found(change: &Change<'_>, repository: &Repository<'_>) -> Looked {
    let deleted: Vec<(&ChangedFile, Test)> = change
        .files
        .iter()
        .filter(|file| file.is_deleted && file.has_lines)
        .filter_map(|file| Some((file, Test::of(&file.path)?)))
        .collect();
    if deleted.is_empty() {
        return Looked::default();
    }
    // By name alone: a test may be written anew in another language.
    let written: HashSet<String> = change
        .all
        .iter()
        .filter(|file| file.before.as_deref() != Some(file.path.as_str()))
        .filter_map(|file| Some(Test::of(file.after()?)?.stem))
        .collect();
    let mut rest = Rest::new(repository.paths(Side::New));
    let arrived = arrived(change);
    let changed: HashMap<&str, &ChangedFile> =
        change.all.iter().map(|file| (file.path.as_str(), file)).collect();
    let mut found = Vec::new();
    for (file, test) in deleted {
        if found.len() > DELETED_MAX {
            break;
        }
        if written.contains(&test.stem) || has_moved(file, &arrived) {
            continue;
        }
        let Some(subject) = rest.untested(&file.path, &test) else { continue };
        found.extend(left(file, subject, changed.get(subject).copied(), repository));
    }
    if found.len() > DELETED_MAX {
        let note = format!(
            "more than {DELETED_MAX} test files are deleted while what they test stays; so many are not an oversight"
        );
        return Looked { found: Vec::new(), notes: vec![note] };
    }
    Looked { found, notes: Vec::new() }
}

/// What a test is for, as its name says: a stem, and the ending of the files it may be in.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Test {
    stem: String,
    family: &'static [&'static str],
}

const JVM: &[&str] = &["java", "kt", "groovy", "scala"];
const SCRIPTS: &[&str] = &["ts", "tsx", "js", "jsx", "mts", "mjs", "cts", "cjs", "vue", "svelte"];

impl Test {
    /// The test that a file is by the conventions of its language; none if it is no test.
    fn of(path: &str) -> Option<Self> {
        let (folder, name) = split(path);
        let (stem, extension) = name.rsplit_once('.')?;
        let cut = |starts: &[&str], ends: &[&str]| {
            let start = starts.iter().find_map(|it| stem.strip_prefix(it));
            start.or_else(|| ends.iter().find_map(|it| stem.strip_suffix(it)))
        };
        let (stem, family): (Option<&str>, &'static [&'static str]) = match extension {
            "py" => (cut(&["test_"], &["_test"]), &["py"]),
            "go" => (cut(&[], &["_test"]), &["go"]),
            "rb" => (cut(&["test_", "spec_"], &["_spec", "_test"]), &["rb"]),
            "java" => (cut(&[], &["Test", "Tests"]), JVM),
            "kt" => (cut(&[], &["Test", "Tests"]), JVM),
            "cs" => (cut(&[], &["Test", "Tests"]), &["cs"]),
            "php" => (cut(&[], &["Test"]), &["php"]),
            _ if SCRIPTS.contains(&extension) => {
                let in_tests = folder.ends_with("__tests__/").then_some(stem);
                (cut(&[], &[".test", ".spec", "-test", "_test"]).or(in_tests), SCRIPTS)
            }
            _ => return None,
        };
        let stem = stem.filter(|stem| !stem.is_empty())?.to_owned();
        Some(Self { stem, family })
    }
}

/// What stays: files and tests by the stems of their names. What a stem has is sorted once, however many tests of it are deleted.
struct Rest<'p> {
    files: HashMap<&'p str, Vec<&'p str>>,
    tests: HashMap<String, Vec<&'p str>>,
    sorted: HashMap<(String, &'static [&'static str]), Namesakes<'p>>,
}

impl<'p> Rest<'p> {
    fn new(paths: &'p [String]) -> Self {
        let mut files: HashMap<&str, Vec<&str>> = HashMap::new();
        let mut tests: HashMap<String, Vec<&str>> = HashMap::new();
        for path in paths {
            let stem = split(path).1.rsplit_once('.').map(|(stem, _)| stem);
            files.entry(stem.unwrap_or_default()).or_default().push(path);
            if let Some(test) = Test::of(path) {
                tests.entry(test.stem).or_default().push(path);
            }
        }
        Self { files, tests, sorted: HashMap::new() }
    }

    /// The file that a deleted test was for, if no other test is for it.
    fn untested(&mut self, test_path: &str, test: &Test) -> Option<&'p str> {
        let key = (test.stem.clone(), test.family);
        let namesakes = self.sorted.entry(key).or_insert_with(|| {
            let files = self.files.get(test.stem.as_str()).map(Vec::as_slice).unwrap_or_default();
            let tests = self.tests.get(&test.stem).map(Vec::as_slice).unwrap_or_default();
            Namesakes::new(test.family, files, tests)
        });
        let subject = namesakes.subject(test_path)?;
        // Not of another package beside it.
        let is_near = subject.starts_with(paths::above_tests(split(test_path).0));
        (is_near && !namesakes.tested.contains(subject)).then_some(subject)
    }
}

/// The files of one stem and one family of languages that may be what a test is for. Each map has the only file, or none where there
/// are several.
struct Namesakes<'p> {
    is_go: bool,
    by_folder: HashMap<&'p str, Option<&'p str>>,
    /// By the last folders, of any number: `models` and `app/models` for `app/models/`.
    by_last_folders: HashMap<&'p str, Option<&'p str>>,
    files: Vec<&'p str>,
    /// Those for which a test stays.
    tested: HashSet<&'p str>,
}

impl<'p> Namesakes<'p> {
    fn new(family: &'static [&'static str], paths: &[&'p str], tests: &[&'p str]) -> Self {
        let is_of_family = |path: &&str| {
            path.rsplit('.').next().is_some_and(|extension| family.contains(&extension))
        };
        let files: Vec<&str> = paths
            .iter()
            .copied()
            .filter(is_of_family)
            .filter(|path| Test::of(path).is_none() && !is_support(path))
            .collect();
        let (mut by_folder, mut by_last_folders) = (HashMap::new(), HashMap::new());
        for path in &files {
            let folder = split(path).0;
            let only = |known: &mut Option<&'p str>| *known = None;
            by_folder.entry(folder).and_modify(only).or_insert(Some(*path));
            for last in last_folders(folder) {
                by_last_folders.entry(last).and_modify(only).or_insert(Some(*path));
            }
        }
        let mut namesakes = Self {
            is_go: family == ["go"],
            by_folder,
            by_last_folders,
            files,
            tested: HashSet::new(),
        };
        namesakes.tested = tests.iter().filter_map(|test| namesakes.subject(test)).collect();
        namesakes
    }

    /// The file that a test is for, if there is exactly one that it can be.
    fn subject(&self, test_path: &str) -> Option<&'p str> {
        let (folder, _) = split(test_path);
        let up = folder.strip_suffix("__tests__/").or_else(|| folder.strip_suffix("tests/"));
        if let Some(beside) = self.by_folder.get(folder) {
            return *beside;
        }
        if self.is_go {
            return None;
        }
        if let Some(above) = up.and_then(|up| self.by_folder.get(up)) {
            return *above;
        }
        match self.files.as_slice() {
            [one] => Some(one),
            // Those whose folder is most like the test's: `app/models/` to `spec/models/`.
            _ => *last_folders(folder).find_map(|last| self.by_last_folders.get(last))?,
        }
    }
}

/// The last folders of a path, from all of them to the last alone.
fn last_folders(folder: &str) -> impl Iterator<Item = &str> {
    let folder = folder.trim_end_matches('/');
    let inner = folder.match_indices('/').map(move |(at, _)| &folder[at + 1..]);
    std::iter::once(folder).chain(inner)
}

/// Whether a file supports tests, or is somebody else's: it is not what they are for.
fn is_support(path: &str) -> bool {
    paths::is_beside_tests(path) || paths::is_vendored(path)
}

/// The telling lines that the change adds anywhere, with how often.
fn arrived(change: &Change<'_>) -> HashMap<String, usize> {
    let mut arrived = HashMap::new();
    for line in change.all.iter().flat_map(|file| &file.added) {
        if let Some(line) = telling(&line.text) {
            *arrived.entry(line).or_insert(0) += 1;
        }
    }
    arrived
}

fn telling(line: &[u8]) -> Option<String> {
    let line = folded(&String::from_utf8_lossy(line));
    (line.chars().count() >= TELLING_CHARS).then_some(line)
}

/// Whether a third of a deleted file's lines, or more, turn up elsewhere.
fn has_moved(file: &ChangedFile, arrived: &HashMap<String, usize>) -> bool {
    let lines: Vec<String> = file.removed.iter().filter_map(|line| telling(line)).collect();
    let moved = lines.iter().filter(|line| arrived.contains_key(*line)).count();
    moved * 3 >= lines.len()
}

fn left(
    file: &ChangedFile,
    subject: &str,
    changed: Option<&ChangedFile>,
    repository: &Repository<'_>,
) -> Option<Found> {
    if !repository.has(Side::Old, subject) {
        return None;
    }
    // What is taken out of the subject needs no test any more.
    if changed.is_some_and(|it| it.removed.len() > it.added.len()) {
        return None;
    }
    let text = repository.text(Side::Old, &file.path)?;
    let is_test_line = |line: &str| {
        let line = line.trim_start();
        [
            "def test",
            "func Test",
            "it(",
            "it ",
            "test(",
            "describe",
            "@Test",
            "public void",
            "class ",
        ]
        .iter()
        .any(|it| line.starts_with(it))
    };
    let lines = || (1..).zip(text.lines()).filter(|(_, line)| line.trim().len() >= TELLING_CHARS);
    let (number, line) = lines().find(|(_, line)| is_test_line(line)).or_else(|| lines().next())?;
    let shown = repository.text(Side::New, subject)?;
    let mut found = Found::new(&TEST_DELETED, &file.path, number, line).saying(
        format!("The tests of `{}` are deleted and it stays", split(subject).1),
        format!(
            "`{subject}` is still there after this change, and no other test file by its name. Nothing notices any more when it breaks."
        ),
        "Keep the tests, or say in the description what covers the file now.",
    );
    found.side = Some(Side::Old);
    let first = (1..).zip(shown.lines()).find(|(_, line)| line.trim().len() >= TELLING_CHARS);
    found
        .witnesses
        .extend(first.map(|(number, line)| (subject.to_owned(), number, line.to_owned())));
    Some(found)
}
