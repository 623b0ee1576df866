//! References: names that the change removes or whose parameters it changes, while the rest of the
//! repository still uses them.
//!
//! There are four steps. `suspects.rs` selects files by the diff alone. `unused_removals.rs` drops
//! those of them whose removed names no code uses. In the other selected files, `removed.rs` finds
//! the symbols that the change removes. `broken_uses.rs` finds where the repository still uses
//! these symbols. `repo_index.rs` caches parsed files, and `resolve.rs` resolves imports. If a step
//! cannot decide, nothing is reported.

mod broken_uses;
mod config_keys;
mod gitignore;
mod globals;
mod go;
mod java;
mod messages;
mod methods;
mod missing_imports;
mod path_index;
mod removed;
mod repo_index;
mod resolution;
mod resolve;
mod ruby;
mod rules;
mod rust;
mod rust_crates;
mod suspects;
mod unused_removals;
mod using_file;

use self::rules::{ARITY, CONFIG_KEY, MISSING_IMPORT, REMOVED};
use crate::findings::FindingDraft;
use crate::{ChangeView, LintRule, StaticOutput};

pub(crate) const RULES: &[LintRule] = &[REMOVED, ARITY, MISSING_IMPORT, CONFIG_KEY];

pub(crate) fn review(change: &ChangeView<'_>) -> StaticOutput {
    let Some(project) = change.project else { return StaticOutput::default() };
    let suspects = suspects::suspect_files(change);
    let suspects = unused_removals::drop_files_without_uses(project, &change.statements, suspects);
    let has_keys = config_keys::may_remove_keys(change);
    if suspects.is_empty() && !has_keys {
        return StaticOutput::default();
    }
    let repo = repo_index::RepoIndex::new(project);
    let mut findings = Vec::new();
    let outcome = broken_uses::find_broken_uses(change, &repo, &suspects, &mut findings);
    methods::find_removed_methods(&repo, &suspects, &mut findings);
    let outcome =
        outcome.and_then(|()| config_keys::find_removed_keys(change, &repo, &mut findings));
    let mut notes = repo.notes();
    notes.extend(outcome.err().map(|why| format!("references were not fully checked: {why}")));
    findings.sort_by(|a, b| (&a.file, a.line, &a.title).cmp(&(&b.file, b.line, &b.title)));
    findings.dedup();
    StaticOutput { findings: findings.into_iter().map(FindingDraft::into_finding).collect(), notes }
}

#[cfg(test)]
mod tests;
