//! Deleted tests whose code under test stays.

use std::collections::{HashMap, HashSet};

use super::{RepoReader, split_path};
use crate::file_context::FileFindings;
use crate::findings::FindingDraft;
use crate::whitespace::fold_whitespace;
use crate::{ChangeView, ChangedFile, LintRule, paths};
use crh_review::finding::{Category, Confidence, Severity, Side};

pub(super) const TEST_DELETED: LintRule = LintRule {
    id: "consistency/test-deleted",
    severity: Severity::P2,
    category: Category::Testing,
    confidence: Confidence::thousandths(800),
    summary: "a deleted test file whose subject stays",
    aliases: &[],
};

/// Maximum findings. If there are more, none is reported: the change probably replaces a test suite
/// on purpose.
const DELETED_MAX: usize = 5;
/// Minimum length of a significant line. Shorter lines are brackets or `end`: they do not identify
/// moved text.
const SIGNIFICANT_CHARS_MIN: usize = 10;

/// Reports deleted tests whose subjects stay.
pub(super) fn check(change: &ChangeView<'_>, repository: &RepoReader<'_>) -> FileFindings {
    let deleted: Vec<(&ChangedFile, TestName)> = change
        .files
        .iter()
        .filter(|file| file.is_deleted && file.has_lines)
        .filter_map(|file| Some((file, TestName::from_path(&file.path)?)))
        .collect();
    if deleted.is_empty() {
        return FileFindings::default();
    }
    // By name only: a test may be rewritten in another language.
    let new_test_stems: HashSet<String> = change
        .all_files
        .iter()
        .filter(|file| file.old_path.as_deref() != Some(file.path.as_str()))
        .filter_map(|file| Some(TestName::from_path(file.new_path()?)?.stem))
        .collect();
    let mut remaining_files = RemainingFiles::new(repository.paths(Side::New));
    let added_lines = added_lines(change);
    let changed_files: HashMap<&str, &ChangedFile> =
        change.all_files.iter().map(|file| (file.path.as_str(), file)).collect();
    let mut findings = Vec::new();
    for (file, test) in deleted {
        if findings.len() > DELETED_MAX {
            break;
        }
        if new_test_stems.contains(&test.stem) || has_moved(file, &added_lines) {
            continue;
        }
        let Some(subject) = remaining_files.untested_subject(&file.path, &test) else { continue };
        findings.extend(finding(file, subject, changed_files.get(subject).copied(), repository));
    }
    if findings.len() > DELETED_MAX {
        let note = format!(
            "more than {DELETED_MAX} test files are deleted while their subjects stay; not listed, because that is probably intended"
        );
        return FileFindings { notes: vec![note], ..FileFindings::default() };
    }
    FileFindings { findings, ..FileFindings::default() }
}

/// What a test file tests, by its name: the subject's stem and the extensions it may have.
#[derive(Debug, Clone, PartialEq, Eq)]
struct TestName {
    stem: String,
    extensions: &'static [&'static str],
}

const JVM: &[&str] = &["java", "kt", "groovy", "scala"];
const SCRIPTS: &[&str] = &["ts", "tsx", "js", "jsx", "mts", "mjs", "cts", "cjs", "vue", "svelte"];

impl TestName {
    /// Parses a test file's path by the conventions of its language. `None` if it is not a test.
    fn from_path(path: &str) -> Option<Self> {
        let (folder, name) = split_path(path);
        let (stem, extension) = name.rsplit_once('.')?;
        let strip_affix = |starts: &[&str], ends: &[&str]| {
            let start = starts.iter().find_map(|it| stem.strip_prefix(it));
            start.or_else(|| ends.iter().find_map(|it| stem.strip_suffix(it)))
        };
        let (stem, extensions): (Option<&str>, &'static [&'static str]) = match extension {
            "py" => (strip_affix(&["test_"], &["_test"]), &["py"]),
            "go" => (strip_affix(&[], &["_test"]), &["go"]),
            "rb" => (strip_affix(&["test_", "spec_"], &["_spec", "_test"]), &["rb"]),
            "java" => (strip_affix(&[], &["Test", "Tests"]), JVM),
            "kt" => (strip_affix(&[], &["Test", "Tests"]), JVM),
            "cs" => (strip_affix(&[], &["Test", "Tests"]), &["cs"]),
            "php" => (strip_affix(&[], &["Test"]), &["php"]),
            _ if SCRIPTS.contains(&extension) => {
                let in_tests = folder.ends_with("__tests__/").then_some(stem);
                (strip_affix(&[], &[".test", ".spec", "-test", "_test"]).or(in_tests), SCRIPTS)
            }
            _ => return None,
        };
        let stem = stem.filter(|stem| !stem.is_empty())?.to_owned();
        Some(Self { stem, extensions })
    }
}

/// The files that exist after the change, by their stems, and the tests among them, by the stems of
/// their subjects. Builds each [`SubjectIndex`] once.
struct RemainingFiles<'p> {
    files: HashMap<&'p str, Vec<&'p str>>,
    tests: HashMap<String, Vec<&'p str>>,
    indexes: HashMap<(String, &'static [&'static str]), SubjectIndex<'p>>,
}

impl<'p> RemainingFiles<'p> {
    fn new(paths: &'p [String]) -> Self {
        let mut files: HashMap<&str, Vec<&str>> = HashMap::new();
        let mut tests: HashMap<String, Vec<&str>> = HashMap::new();
        for path in paths {
            let stem = split_path(path).1.rsplit_once('.').map(|(stem, _)| stem);
            files.entry(stem.unwrap_or_default()).or_default().push(path);
            if let Some(test) = TestName::from_path(path) {
                tests.entry(test.stem).or_default().push(path);
            }
        }
        Self { files, tests, indexes: HashMap::new() }
    }

    /// The subject of a deleted test, if no other test covers it.
    fn untested_subject(&mut self, test_path: &str, test: &TestName) -> Option<&'p str> {
        let key = (test.stem.clone(), test.extensions);
        let index = self.indexes.entry(key).or_insert_with(|| {
            let files = self.files.get(test.stem.as_str()).map(Vec::as_slice).unwrap_or_default();
            let tests = self.tests.get(&test.stem).map(Vec::as_slice).unwrap_or_default();
            SubjectIndex::new(test.extensions, files, tests)
        });
        let subject = index.subject(test_path)?;
        // The subject must be in the folder that contains the test folder, or below.
        let is_near = subject.starts_with(paths::folder_above_tests(split_path(test_path).0));
        (is_near && !index.tested.contains(subject)).then_some(subject)
    }
}

/// Possible subjects with one stem and one language family. A map value is `None` if several files
/// have the same key.
struct SubjectIndex<'p> {
    is_go: bool,
    by_folder: HashMap<&'p str, Option<&'p str>>,
    /// By trailing folders of any number: `models` and `app/models` for `app/models/`.
    by_last_folders: HashMap<&'p str, Option<&'p str>>,
    files: Vec<&'p str>,
    /// Files that still have a test.
    tested: HashSet<&'p str>,
}

impl<'p> SubjectIndex<'p> {
    fn new(extensions: &'static [&'static str], paths: &[&'p str], tests: &[&'p str]) -> Self {
        let has_extension = |path: &&str| {
            path.rsplit('.').next().is_some_and(|extension| extensions.contains(&extension))
        };
        let files: Vec<&str> = paths
            .iter()
            .copied()
            .filter(has_extension)
            .filter(|path| TestName::from_path(path).is_none() && !is_support(path))
            .collect();
        let (mut by_folder, mut by_last_folders) = (HashMap::new(), HashMap::new());
        for path in &files {
            let folder = split_path(path).0;
            let mark_ambiguous = |known: &mut Option<&'p str>| *known = None;
            by_folder.entry(folder).and_modify(mark_ambiguous).or_insert(Some(*path));
            for suffix in last_folders(folder) {
                by_last_folders.entry(suffix).and_modify(mark_ambiguous).or_insert(Some(*path));
            }
        }
        let mut index = Self {
            is_go: extensions == ["go"],
            by_folder,
            by_last_folders,
            files,
            tested: HashSet::new(),
        };
        index.tested = tests.iter().filter_map(|test| index.subject(test)).collect();
        index
    }

    /// The subject of a test, if it is unambiguous.
    fn subject(&self, test_path: &str) -> Option<&'p str> {
        let (folder, _) = split_path(test_path);
        let parent = folder.strip_suffix("__tests__/").or_else(|| folder.strip_suffix("tests/"));
        if let Some(same_folder_file) = self.by_folder.get(folder) {
            return *same_folder_file;
        }
        if self.is_go {
            return None;
        }
        if let Some(parent_folder_file) = parent.and_then(|up| self.by_folder.get(up)) {
            return *parent_folder_file;
        }
        match self.files.as_slice() {
            [one] => Some(one),
            // Prefer the file whose folder is most like the test's: `app/models/` for
            // `spec/models/`.
            _ => *last_folders(folder).find_map(|last| self.by_last_folders.get(last))?,
        }
    }
}

/// The trailing parts of a folder path, from the whole path to the last folder.
fn last_folders(folder: &str) -> impl Iterator<Item = &str> {
    let folder = folder.trim_end_matches('/');
    let suffixes = folder.match_indices('/').map(move |(at, _)| &folder[at + 1..]);
    std::iter::once(folder).chain(suffixes)
}

/// Whether a file is a test helper or vendored: such files are not test subjects.
fn is_support(path: &str) -> bool {
    paths::is_in_test_folder(path) || paths::is_vendored(path)
}

/// Significant lines that the change adds anywhere.
fn added_lines(change: &ChangeView<'_>) -> HashSet<String> {
    let lines = change.all_files.iter().flat_map(|file| &file.added);
    lines.filter_map(|line| significant_line(&line.text)).collect()
}

fn significant_line(line: &[u8]) -> Option<String> {
    let line = fold_whitespace(&String::from_utf8_lossy(line));
    (line.chars().count() >= SIGNIFICANT_CHARS_MIN).then_some(line)
}

/// Whether the change adds at least a third of a deleted file's significant lines elsewhere.
fn has_moved(file: &ChangedFile, added_lines: &HashSet<String>) -> bool {
    let lines: Vec<String> =
        file.removed.iter().filter_map(|line| significant_line(line)).collect();
    let moved_count = lines.iter().filter(|line| added_lines.contains(*line)).count();
    moved_count * 3 >= lines.len()
}

#[rustfmt::skip]
const TEST_STARTS: [&str; 9] = [
    "def test", "func Test", "it(", "it ", "test(", "describe", "@Test", "public void", "class ",
];

fn finding(
    file: &ChangedFile,
    subject: &str,
    subject_change: Option<&ChangedFile>,
    repository: &RepoReader<'_>,
) -> Option<FindingDraft> {
    if !repository.has(Side::Old, subject) {
        return None;
    }
    // If the subject shrinks, the change may remove the code that the test covered.
    if subject_change.is_some_and(|it| it.removed.len() > it.added.len()) {
        return None;
    }
    let text = repository.text(Side::Old, &file.path)?;
    let is_test_line = |line: &str| {
        let line = line.trim_start();
        TEST_STARTS.iter().any(|it| line.starts_with(it))
    };
    let lines =
        || (1..).zip(text.lines()).filter(|(_, line)| line.trim().len() >= SIGNIFICANT_CHARS_MIN);
    let (number, line) = lines().find(|(_, line)| is_test_line(line)).or_else(|| lines().next())?;
    let subject_text = repository.text(Side::New, subject)?;
    let mut draft = FindingDraft::new(&TEST_DELETED, &file.path, number, line).with_text(
        format!("Tests of `{}` are deleted while it stays", split_path(subject).1),
        format!(
            "`{subject}` still exists after this change, and no other test file is named after it. If it breaks, no test fails."
        ),
        "Keep the tests, or name in the description what covers the file now.",
    );
    draft.side = Some(Side::Old);
    let first_line = (1..)
        .zip(subject_text.lines())
        .find(|(_, line)| line.trim().len() >= SIGNIFICANT_CHARS_MIN);
    draft
        .witnesses
        .extend(first_line.map(|(number, line)| (subject.to_owned(), number, line.to_owned())));
    Some(draft)
}
