//! The files that a review divides, each with its size; one that is too large for one reviewer comes in pieces.

use std::collections::HashMap;

use crate::plan::{Assignment, PART_CHARS, Part, parts_of};
use crate::subject::Subject;
use crh_review::diff::{Diff, FileDiff, RepoPath};

/// The files to divide, in the order of the diff.
#[derive(Debug)]
pub(super) struct Files {
    files: Vec<File>,
    /// Their places, by every name that they go by.
    names: HashMap<String, usize>,
    /// How many bytes of diff one scope takes: as many as a piece of a file may have.
    pub(super) room: usize,
}

/// One file.
#[derive(Debug)]
pub(super) struct File {
    /// The path after the change.
    pub(super) path: String,
    /// The path before, if it was another.
    old_path: Option<String>,
    /// Lines added and removed.
    pub(super) changed: u64,
    /// The file as one piece, or what it was cut into.
    pub(super) pieces: Vec<Piece>,
}

/// What is given to one reviewer as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) part: Part,
    /// How many bytes its diff has.
    pub(super) size: usize,
}

impl Files {
    /// The files of an assignment.
    pub(super) fn of(subject: &Subject, assignment: &Assignment) -> Self {
        // A file that changes its type is twice in the diff: removed and added again.
        let mut entries: HashMap<String, Vec<&FileDiff>> = HashMap::new();
        for (_, file) in subject.files() {
            entries.entry(file.path.shown().into_owned()).or_default().push(file);
        }
        let paths: Vec<String> = assignment.parts.iter().map(|part| part.path.clone()).collect();
        let mut files: Vec<File> = Vec::new();
        for part in parts_of(subject, &paths) {
            let entries = entries.get(&part.path).map(Vec::as_slice).unwrap_or_default();
            let size = entries.iter().map(|file| size(&subject.diff, file, &part)).sum();
            let piece = Piece { part, size };
            match files.last_mut().filter(|file| file.path == piece.part.path) {
                Some(file) => file.pieces.push(piece),
                None => files.push(File::new(entries, piece)),
            }
        }
        Self::new(files, PART_CHARS)
    }

    fn new(files: Vec<File>, room: usize) -> Self {
        let mut names = HashMap::new();
        let by_path = files.iter().map(|file| Some(&file.path)).enumerate();
        // A path that a file has now is stronger than one that another file had.
        let by_old_path = files.iter().map(|file| file.old_path.as_ref()).enumerate();
        for (at, name) in by_path.chain(by_old_path) {
            if let Some(name) = name {
                names.entry(name.clone()).or_insert(at);
            }
        }
        Self { files, names, room }
    }

    /// The files, in the order of the diff.
    pub(super) fn iter(&self) -> impl Iterator<Item = &File> {
        self.files.iter()
    }

    /// A file by its place in that order.
    pub(super) fn get(&self, at: usize) -> Option<&File> {
        self.files.get(at)
    }

    /// The place of a file that is called by its path, by how git quotes it, or by the path it had.
    pub(super) fn named(&self, name: &str) -> Option<usize> {
        let name = name.strip_prefix("./").unwrap_or(name);
        let unquoted = || RepoPath::unquoted(name.as_bytes());
        let known = |name: &str| self.names.get(name).copied();
        known(name).or_else(|| known(&unquoted()?.shown()))
    }
}

impl File {
    /// A file from its entries in the diff, with its first piece.
    fn new(entries: &[&FileDiff], piece: Piece) -> Self {
        let changed = |file: &&FileDiff| u64::from(file.additions) + u64::from(file.deletions);
        let old_path = entries.iter().find_map(|file| file.old_path.as_ref());
        Self {
            path: piece.part.path.clone(),
            old_path: old_path.map(|old| old.shown().into_owned()),
            changed: entries.iter().map(changed).sum(),
            pieces: vec![piece],
        }
    }
}

/// How many bytes of a file's diff are in a part of it.
fn size(diff: &Diff, file: &FileDiff, part: &Part) -> usize {
    let patch = diff.patch(file);
    let Some((first, last)) = part.diff_lines else { return patch.len() };
    let lines = (file.first_line()..).zip(patch.split_inclusive(|byte| *byte == b'\n'));
    let within = lines.filter(|(number, _)| (first..=last).contains(number));
    within.map(|(_, line)| line.len()).sum()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::prompts::sample;

    /// Files from lines of `path changed size`; more than one size is a file in pieces of 100 lines.
    pub(in super::super) fn files(text: &str, room: usize) -> Files {
        let file = |line: &str| {
            let mut words = line.split_whitespace();
            let path = words.next().unwrap().to_owned();
            let changed = words.next().unwrap().parse().unwrap();
            let sizes: Vec<usize> = words.map(|word| word.parse().unwrap()).collect();
            let count = sizes.len();
            let piece = |(at, size): (usize, &usize)| {
                let first = u32::try_from(at).unwrap() * 100 + 1;
                let diff_lines = (count > 1).then_some((first, first + 99));
                Piece { part: Part { path: path.clone(), diff_lines }, size: *size }
            };
            let pieces = sizes.iter().enumerate().map(piece).collect();
            File { path: path.clone(), old_path: None, changed, pieces }
        };
        Files::new(text.trim().lines().map(|line| file(line.trim())).collect(), room)
    }
    #[test]
    fn files_are_known_by_every_name_they_go_by() {
        let (_folder, subject) = sample::subject(&sample::contents(sample::DIFF));
        let paths = ["shop/orders.py", "package-lock.json", "shop/test_new.py"];
        let assignment = Assignment {
            name: "orchestrator".to_owned(),
            reviewer: "orchestrator".to_owned(),
            label: String::new(),
            why: String::new(),
            focus: String::new(),
            parts: paths.map(Part::whole).to_vec(),
        };
        let files = Files::of(&subject, &assignment);
        let known: Vec<(&str, u64, usize)> = files
            .iter()
            .map(|file| (file.path.as_str(), file.changed, file.pieces.len()))
            .collect();
        // The lock file is not under review.
        assert_eq!(known, [("shop/orders.py", 2, 1), ("shop/test_new.py", 1, 1)]);
        let names =
            ["shop/test_new.py", "./shop/test_new.py", "\"shop/test_new.py\"", "shop/old.py"];
        assert_eq!(names.map(|name| files.named(name)), [Some(1); 4]);
        let others = ["package-lock.json", "", "shop", "/shop/orders.py", "a/../shop/orders.py"];
        assert_eq!(others.map(|name| files.named(name)), [None; 5]);
    }
}
