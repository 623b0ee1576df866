//! The repository's own rules, read from git objects at one revision.

use super::Work;
use crate::own_files::Folder;
use crate::revisions::Revisions;
use crate::workspace::RoundRow;
use crh_lint::{Patterns, RuleFile};

/// Where a repository keeps its rules.
const FOLDER: Folder = Folder {
    path: ".crh/rules",
    what: "rule",
    endings: &[".yml", ".yaml"],
    // A set of rules with more files than this belongs into a tool of its own: every file of a change is held against all of them.
    files_max: 100,
    // What is larger is not read at all; the reader of rules has its own, lower bound.
    file_max: 1 << 20,
};

/// The rules of a change, and a sentence about each that cannot be used. A repository without a folder of rules has the built-in ones.
pub(super) fn patterns(
    revisions: &Revisions,
    work: Work,
    round: Option<&RoundRow>,
) -> (Patterns, Vec<String>) {
    patterns_at(revisions, work.own_end(round))
}

/// The rules at one end of a change: `base` or `head`.
pub(super) fn patterns_at(revisions: &Revisions, end: &str) -> (Patterns, Vec<String>) {
    let (files, mut notes) = FOLDER.read(revisions, end);
    let files: Vec<RuleFile> =
        files.into_iter().map(|(path, text)| RuleFile { path, text }).collect();
    let (patterns, unusable) = match files.is_empty() {
        true => Default::default(),
        false => Patterns::with(&files),
    };
    notes.extend(unusable);
    (patterns, notes)
}
