//! Compares the parser with git and with another parser, on generated edits.

use std::collections::BTreeMap;

use proptest::prelude::*;

use crh_review::diff::{Content, Diff, FileChange, FileDiff, LineKind};
use crh_review::finding::Side;
use crh_testkit::Repo;

/// Names that have broken diff parsers before.
const NAMES: &[&str] = &[
    "a/x.txt",
    "b/x.txt",
    "x b/y.txt",
    "with space.txt",
    "tab\there.txt",
    "quo\"te.txt",
    "ümlaut.txt",
    "back\\slash.txt",
    "plain.txt",
    "deep/er/file.rs",
];

/// Lines that have broken diff parsers before, and plain lines for context.
fn line() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        4 => "[a-c]{0,3}".prop_map(String::into_bytes),
        1 => prop::sample::select(vec![
            "-- sql", "++ plus", "--- a/x", "+++ b/x", "@@ -1 +1 @@", "diff --git a/x b/x", "\\ No newline",
            "", " ", "\r", "text\r",
        ]).prop_map(|text| text.as_bytes().to_vec()),
        1 => Just(vec![0xff, 0xfe, b'x']),
    ]
}

/// Text of a file, with or without a final newline.
fn text() -> impl Strategy<Value = Vec<u8>> {
    (prop::collection::vec(line(), 0..30), any::<bool>()).prop_map(|(lines, newline)| {
        let mut text = lines.join(&b'\n');
        if newline && !text.is_empty() {
            text.push(b'\n');
        }
        text
    })
}

type Tree = BTreeMap<&'static str, Vec<u8>>;

fn tree() -> impl Strategy<Value = Tree> {
    prop::collection::btree_map(prop::sample::select(NAMES), text(), 0..5)
}

/// A tree before and after edits, renames, deletions and additions.
fn trees() -> impl Strategy<Value = (Tree, Tree)> {
    (tree(), tree(), any::<u64>()).prop_map(|(old, mut new, seed)| {
        let mut seed = seed;
        let mut next = |bound: usize| {
            seed = seed
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            usize::try_from(seed >> 33).unwrap() % bound.max(1)
        };
        for (name, text) in &old {
            match next(4) {
                0 => {}
                1 => drop(new.insert(name, text.clone())),
                2 => drop(new.insert(NAMES[next(NAMES.len())], text.clone())),
                _ => {
                    let mut edited = text.clone();
                    let at = next(edited.len() + 1);
                    edited.splice(at..at, *b"edit\n");
                    new.insert(name, edited);
                }
            }
        }
        (old, new)
    })
}

fn commit(repo: &Repo, tree: &Tree) -> String {
    repo.git(&["rm", "-rq", "--ignore-unmatch", "."]);
    for (path, text) in tree {
        repo.write(path, text);
    }
    repo.commit("x")
}

/// Path, old path, and numbers of added and removed lines; no numbers for a binary file.
type Row = (Vec<u8>, Option<Vec<u8>>, Option<(u32, u32)>);

/// The rows of `git diff --numstat -z -M`.
fn numstat(output: &[u8]) -> Vec<Row> {
    let mut fields = output.split(|byte| *byte == 0);
    let mut rows = Vec::new();
    while let Some(field) = fields.next().filter(|field| !field.is_empty()) {
        let mut parts = field.splitn(3, |byte| *byte == b'\t');
        let mut number = || std::str::from_utf8(parts.next().unwrap()).unwrap().parse::<u32>().ok();
        let counts = number().zip(number());
        let path = parts.next().unwrap().to_vec();
        if path.is_empty() {
            let old = fields.next().unwrap().to_vec();
            rows.push((fields.next().unwrap().to_vec(), Some(old), counts));
        } else {
            rows.push((path, None, counts));
        }
    }
    rows
}

fn file_lines(text: &[u8]) -> Vec<&[u8]> {
    text.strip_suffix(b"\n").unwrap_or(text).split(|byte| *byte == b'\n').collect()
}

/// Checks that every hunk line equals the line of the file at its position.
fn assert_lines(diff: &Diff, file: &FileDiff, old: &Tree, new: &Tree) {
    let name = |path: &[u8]| std::str::from_utf8(path).unwrap().to_owned();
    let new_text = new.get(name(file.path.as_bytes()).as_str());
    let old_path = file.old_path.as_ref().unwrap_or(&file.path);
    let old_text = old.get(name(old_path.as_bytes()).as_str());
    for line in file.hunks.iter().flat_map(|hunk| diff.lines(hunk)) {
        let at = |text: Option<&Vec<u8>>, line: u32| {
            file_lines(text.unwrap())[usize::try_from(line - 1).unwrap()].to_vec()
        };
        if line.kind.in_new() {
            assert_eq!(line.text(), at(new_text, line.new));
        }
        if line.kind.in_old() {
            assert_eq!(line.text(), at(old_text, line.old));
        }
    }
}

/// Checks that applying the diff to the old file gives the new file, and that unchanged lines map
/// both ways.
fn assert_applied(diff: &Diff, file: &FileDiff, old: &Tree, new: &Tree) {
    let name = |path: &[u8]| std::str::from_utf8(path).unwrap().to_owned();
    let old_path = file.old_path.as_ref().unwrap_or(&file.path);
    let text =
        |tree: &Tree, path: &[u8]| tree.get(name(path).as_str()).cloned().unwrap_or_default();
    let new_text = match file.change {
        FileChange::Deleted => Vec::new(),
        _ => text(new, file.path.as_bytes()),
    };
    let old_text = match file.change {
        FileChange::Added => Vec::new(),
        _ => text(old, old_path.as_bytes()),
    };
    if file.content == Content::Text {
        assert_eq!(diff.apply(file, &old_text).unwrap(), new_text);
    }
    if matches!(file.change, FileChange::Added | FileChange::Deleted) {
        return;
    }
    let map = diff.line_map(file);
    let is_added = |line| {
        let number = map.number_of(Side::New, line);
        number.is_some_and(|number| map.get(number).unwrap().kind == LineKind::Added)
    };
    for (line, text) in (1_u32..).zip(file_lines(&new_text)) {
        let there = diff.counterpart(file, Side::New, (line, line));
        if is_added(line) || new_text.is_empty() || file.content != Content::Text {
            continue;
        }
        let (first, last) = there.unwrap();
        assert_eq!(file_lines(&old_text)[usize::try_from(first - 1).unwrap()], text);
        assert_eq!(diff.counterpart(file, Side::Old, (first, last)), Some((line, line)));
    }
}

proptest! {
    // Each case runs git half a dozen times.
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn parser_agrees_with_git((old, new) in trees(), context in 0_u32..5) {
        let repo = Repo::new();
        let (base, head) = (commit(&repo, &old), commit(&repo, &new));
        let context = format!("-U{context}");
        let text = repo.git(&["diff", "-M", "--full-index", &context, &base, &head]);
        let diff = Diff::read(text.clone());
        prop_assert_eq!(diff.problems(), &[]);
        prop_assert_eq!(&diff.to_bytes(), &text);
        // Every byte belongs to a file.
        let patches: Vec<u8> = diff.files().iter().flat_map(|file| diff.patch(file)).copied().collect();
        prop_assert_eq!(&patches, &text);
        let rows: Vec<_> = diff.files().iter().map(|file| {
            let counts = (file.content == Content::Text).then_some((file.additions, file.deletions));
            (file.path.as_bytes().to_vec(), file.old_path.as_ref().map(|p| p.as_bytes().to_vec()), counts)
        }).collect();
        prop_assert_eq!(rows, numstat(&repo.git(&["diff", "-M", "--numstat", "-z", &base, &head])));
        for file in diff.files() {
            assert_lines(&diff, file, &old, &new);
            assert_applied(&diff, file, &old, &new);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Another parser finds the same added and removed lines.
    #[test]
    fn parser_agrees_with_another_parser(old in text(), new in text()) {
        let patch = diffy::create_patch_bytes(&old, &new);
        let text = patch.to_bytes();
        let diff = Diff::read(text.clone());
        let ours: Vec<(LineKind, Vec<u8>)> = diff
            .files()
            .iter()
            .flat_map(|file| &file.hunks)
            .flat_map(|hunk| diff.lines(hunk))
            .filter(|line| line.kind != LineKind::Remark)
            .map(|line| (line.kind, line.text().to_vec()))
            .collect();
        let theirs: Vec<(LineKind, Vec<u8>)> = patch
            .hunks()
            .iter()
            .flat_map(diffy::Hunk::lines)
            .map(|line| {
                let (kind, text) = match line {
                    diffy::Line::Context(text) => (LineKind::Context, text),
                    diffy::Line::Insert(text) => (LineKind::Added, text),
                    diffy::Line::Delete(text) => (LineKind::Removed, text),
                };
                (kind, text.strip_suffix(b"\n").unwrap_or(text).to_vec())
            })
            .collect();
        prop_assert_eq!(ours, theirs);
        prop_assert_eq!(diff.to_bytes(), text);
    }

    /// Any input is kept completely, and all lookups stay consistent.
    #[test]
    fn any_lines_round_trip(lines in prop::collection::vec(line(), 0..40)) {
        let text = lines.join(&b'\n');
        let diff = Diff::read(text.clone());
        prop_assert_eq!(diff.to_bytes(), text);
        for file in diff.files() {
            for line in diff.line_map(file).lines() {
                prop_assert_eq!(diff.locate(line.number).map(|(_, line)| line), Some(*line));
            }
        }
    }
}
