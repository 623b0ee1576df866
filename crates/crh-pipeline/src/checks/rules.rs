//! Reads the repository's own rules from git objects at one revision.

use super::ChangeOrigin;
use crate::repo_config::RepoConfigFolder;
use crate::revisions::Revisions;
use crate::workspace::RoundEntry;
use crh_lint::{PatternRules, RuleFile};

const FOLDER: RepoConfigFolder = RepoConfigFolder {
    path: ".crh/rules",
    item: "rule",
    extensions: &[".yml", ".yaml"],
    // crh matches every changed file against all rules. A project with more rules should use a
    // separate tool.
    files_max: 100,
    // The rule parser has its own, lower limit.
    file_max: 1 << 20,
};

/// Rules for a change, and a note about each unusable one. Without a rules folder, only built-in
/// rules apply.
pub(super) fn patterns_for_change(
    revisions: &Revisions,
    work: ChangeOrigin,
    round: Option<&RoundEntry>,
) -> (PatternRules, Vec<String>) {
    patterns_at(revisions, work.config_revision(round))
}

/// Rules at one end of a change: `base` or `head`.
pub(super) fn patterns_at(
    revisions: &Revisions,
    revision_name: &str,
) -> (PatternRules, Vec<String>) {
    let (files, mut notes) = FOLDER.read(revisions, revision_name);
    let files: Vec<RuleFile> =
        files.into_iter().map(|(path, text)| RuleFile { path, text }).collect();
    let (patterns, rule_notes) = match files.is_empty() {
        true => Default::default(),
        false => PatternRules::from_files(&files),
    };
    notes.extend(rule_notes);
    (patterns, notes)
}
