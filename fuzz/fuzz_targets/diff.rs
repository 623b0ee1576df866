//! Parses arbitrary bytes as a diff and checks the invariants of the result.

#![no_main]

use libfuzzer_sys::fuzz_target;

use crh_review::diff::{Diff, FileDiff, LineMap, LineSpan, MappedLine, RepoPath};
use crh_review::finding::Side;

fuzz_target!(|bytes: &[u8]| {
    let diff = Diff::read(bytes);
    assert_eq!(diff.to_bytes(), bytes);
    let lines = count_lines(bytes);
    assert_eq!(count_lines(&diff.numbered_text()), lines);
    for file in diff.files() {
        check_hunks(&diff, file, lines);
        check_map(&diff, file);
        assert!(diff.patch(file).len() <= bytes.len());
        check_safe(&file.path);
        file.old_path.iter().for_each(check_safe);
    }
    check_safe(&RepoPath::new(bytes));
});

fn count_lines(text: &[u8]) -> usize {
    text.split_inclusive(|byte| *byte == b'\n').count()
}

/// Every hunk line is a line of the diff and within the range of its header.
fn check_hunks(diff: &Diff, file: &FileDiff, lines: usize) {
    let within = |span: LineSpan, line: u32| span.start <= line && line - span.start < span.len;
    for hunk in &file.hunks {
        assert!(file.first_line() < hunk.first_line);
        for line in diff.lines(hunk) {
            assert!(hunk.first_line < line.number && line.number as usize <= lines);
            assert_eq!(within(hunk.old, line.old), line.kind.in_old());
            assert_eq!(within(hunk.new, line.new), line.kind.in_new());
        }
    }
}

/// The line map agrees with `locate` and maps back from either file.
fn check_map(diff: &Diff, file: &FileDiff) {
    let map = diff.line_map(file);
    for line in map.lines() {
        let located = diff.locate(line.number);
        assert!(located.is_some_and(|(at, found)| std::ptr::eq(at, file) && found == *line));
        assert_eq!(map.get(line.number), Some(line));
        if line.kind.in_old() {
            check_way_back(&map, Side::Old, line.old, |line| line.old);
        }
        if line.kind.in_new() {
            check_way_back(&map, Side::New, line.new, |line| line.new);
        }
    }
}

/// Hunks of a forged diff may overlap, so mapping back may lead to another line of the diff, but
/// never to another line of the file.
fn check_way_back(map: &LineMap, side: Side, line: u32, line_in: fn(&MappedLine) -> u32) {
    let back = map.number_of(side, line).and_then(|number| map.get(number));
    assert_eq!(back.map(line_in), Some(line));
}

fn check_safe(path: &RepoPath) {
    let safe = path.folder_name();
    assert!(!matches!(safe.as_str(), "" | "." | ".."));
    assert!(!safe.contains(['/', '\0']));
    assert!(safe.len() <= 200);
}
