//! The files to distribute, with their sizes. Large files are split into pieces.

use std::collections::HashMap;

use crate::assignment::{Assignment, DiffPart};
use crate::change_under_review::ChangeUnderReview;
use crate::plan::parts::{PART_CHARS, parts_of};
use crh_review::diff::{Diff, FileDiff, RepoPath};

/// Files to distribute, in diff order.
#[derive(Debug)]
pub(super) struct DelegateFiles {
    files: Vec<DelegateFile>,
    /// Indexes by old and new path.
    names: HashMap<String, usize>,
    /// Maximum diff bytes per scope, as for one piece of a file.
    pub(super) max_scope_bytes: usize,
}

#[derive(Debug)]
pub(super) struct DelegateFile {
    /// The path after the change.
    pub(super) path: String,
    /// The path before, if it differs.
    old_path: Option<String>,
    /// Lines added and removed.
    pub(super) changed_lines: u64,
    /// The whole file as one piece, or several pieces.
    pub(super) pieces: Vec<FilePiece>,
}

/// The unit that is assigned to one sub-agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FilePiece {
    pub(super) part: DiffPart,
    /// Size of its diff in bytes.
    pub(super) size: usize,
}

impl DelegateFiles {
    pub(super) fn from_assignment(change: &ChangeUnderReview, assignment: &Assignment) -> Self {
        // A file that changes its type is in the diff twice: removed and added.
        let mut entries: HashMap<String, Vec<&FileDiff>> = HashMap::new();
        for (_, file) in change.files() {
            entries.entry(file.path.shown().into_owned()).or_default().push(file);
        }
        let paths: Vec<String> = assignment.parts.iter().map(|part| part.path.clone()).collect();
        let mut files: Vec<DelegateFile> = Vec::new();
        for part in parts_of(change, &paths) {
            let entries = entries.get(&part.path).map(Vec::as_slice).unwrap_or_default();
            let size = entries.iter().map(|file| part_size(&change.diff, file, &part)).sum();
            let piece = FilePiece { part, size };
            match files.last_mut().filter(|file| file.path == piece.part.path) {
                Some(file) => file.pieces.push(piece),
                None => files.push(DelegateFile::new(entries, piece)),
            }
        }
        Self::new(files, PART_CHARS)
    }

    fn new(files: Vec<DelegateFile>, max_scope_bytes: usize) -> Self {
        let mut names = HashMap::new();
        let by_path = files.iter().map(|file| Some(&file.path)).enumerate();
        // A current path takes precedence over an old path of another file.
        let by_old_path = files.iter().map(|file| file.old_path.as_ref()).enumerate();
        for (index, name) in by_path.chain(by_old_path) {
            if let Some(name) = name {
                names.entry(name.clone()).or_insert(index);
            }
        }
        Self { files, names, max_scope_bytes }
    }

    /// Files in diff order.
    pub(super) fn iter(&self) -> impl Iterator<Item = &DelegateFile> {
        self.files.iter()
    }

    pub(super) fn get(&self, index: usize) -> Option<&DelegateFile> {
        self.files.get(index)
    }

    /// The index of a file by its path, git-quoted path or old path.
    pub(super) fn find(&self, name: &str) -> Option<usize> {
        let name = name.strip_prefix("./").unwrap_or(name);
        let unquoted = || RepoPath::from_quoted(name.as_bytes());
        let index_of = |name: &str| self.names.get(name).copied();
        index_of(name).or_else(|| index_of(&unquoted()?.shown()))
    }
}

impl DelegateFile {
    /// A file with its first piece, from its diff entries.
    fn new(entries: &[&FileDiff], piece: FilePiece) -> Self {
        let changed_lines =
            |file: &&FileDiff| u64::from(file.additions) + u64::from(file.deletions);
        let old_path = entries.iter().find_map(|file| file.old_path.as_ref());
        Self {
            path: piece.part.path.clone(),
            old_path: old_path.map(|old| old.shown().into_owned()),
            changed_lines: entries.iter().map(changed_lines).sum(),
            pieces: vec![piece],
        }
    }
}

/// Diff bytes within a part.
fn part_size(diff: &Diff, file: &FileDiff, part: &DiffPart) -> usize {
    let patch = diff.patch(file);
    let Some((first, last)) = part.diff_lines else { return patch.len() };
    let lines = (file.first_line()..).zip(patch.split_inclusive(|byte| *byte == b'\n'));
    let lines_of_part = lines.filter(|(number, _)| (first..=last).contains(number));
    lines_of_part.map(|(_, line)| line.len()).sum()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::prompts::sample;

    /// Parses lines of `path changed size`. Several sizes make a file in pieces of 100 lines.
    pub(in super::super) fn files(text: &str, max_scope_bytes: usize) -> DelegateFiles {
        let file = |line: &str| {
            let mut words = line.split_whitespace();
            let path = words.next().unwrap().to_owned();
            let changed = words.next().unwrap().parse().unwrap();
            let sizes: Vec<usize> = words.map(|word| word.parse().unwrap()).collect();
            let count = sizes.len();
            let piece = |(at, size): (usize, &usize)| {
                let first = u32::try_from(at).unwrap() * 100 + 1;
                let diff_lines = (count > 1).then_some((first, first + 99));
                FilePiece { part: DiffPart { path: path.clone(), diff_lines }, size: *size }
            };
            let pieces = sizes.iter().enumerate().map(piece).collect();
            DelegateFile { path: path.clone(), old_path: None, changed_lines: changed, pieces }
        };
        DelegateFiles::new(
            text.trim().lines().map(|line| file(line.trim())).collect(),
            max_scope_bytes,
        )
    }
    #[test]
    fn files_are_found_by_old_new_and_quoted_path() {
        let (_folder, change) = sample::change_under_review(&sample::contents(sample::DIFF));
        let paths = ["shop/orders.py", "package-lock.json", "shop/test_new.py"];
        let assignment = Assignment {
            name: "orchestrator".to_owned(),
            reviewer: "orchestrator".to_owned(),
            label: String::new(),
            why: String::new(),
            focus: String::new(),
            parts: paths.map(DiffPart::whole).to_vec(),
        };
        let files = DelegateFiles::from_assignment(&change, &assignment);
        let summaries: Vec<(&str, u64, usize)> = files
            .iter()
            .map(|file| (file.path.as_str(), file.changed_lines, file.pieces.len()))
            .collect();
        // The lock file is not under review.
        assert_eq!(summaries, [("shop/orders.py", 2, 1), ("shop/test_new.py", 1, 1)]);
        let names =
            ["shop/test_new.py", "./shop/test_new.py", "\"shop/test_new.py\"", "shop/old.py"];
        assert_eq!(names.map(|name| files.find(name)), [Some(1); 4]);
        let others = ["package-lock.json", "", "shop", "/shop/orders.py", "a/../shop/orders.py"];
        assert_eq!(others.map(|name| files.find(name)), [None; 5]);
    }
}
