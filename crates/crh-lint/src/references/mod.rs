//! References: names that the change removes or whose parameters it changes, while the rest of the
//! repository still uses them.
//!
//! There are four steps. `suspects.rs` selects files by the diff alone. `unused_removals.rs` drops
//! the files whose removed names no code uses. `removed.rs` finds the symbols that the remaining
//! files no longer have. `broken_uses.rs` finds where the rest of the repository still uses these
//! symbols. `repo_index.rs` caches parsed files, and `resolve.rs` resolves imports. If a step
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
mod removed;
mod repo_index;
mod resolve;
mod ruby;
mod rust;
mod suspects;
mod unused_removals;

use crate::findings::FindingDraft;
use crate::{ChangeView, LintRule, StaticOutput};
use crh_review::finding::{Category, Confidence, Severity};

pub(crate) const RULES: &[LintRule] = &[REMOVED, ARITY, MISSING_IMPORT, CONFIG_KEY];

const REMOVED: LintRule = LintRule {
    id: "references/removed",
    severity: Severity::P1,
    category: Category::Bug,
    confidence: Confidence::thousandths(900),
    summary: "a removed or renamed name or module that other code still uses",
    aliases: &["F821", "no-undef", "TS2305"],
};

const ARITY: LintRule = LintRule {
    id: "references/arity",
    severity: Severity::P1,
    category: Category::Bug,
    confidence: Confidence::thousandths(900),
    summary: "a call that does not match the changed parameters of its function",
    aliases: &["TS2554"],
};

const MISSING_IMPORT: LintRule = LintRule {
    id: "references/missing-import",
    severity: Severity::P1,
    category: Category::Bug,
    confidence: Confidence::thousandths(900),
    summary: "an added import of a module or name that the repository does not have",
    aliases: &["TS2307", "import/no-unresolved", "import/named"],
};

const CONFIG_KEY: LintRule = LintRule {
    id: "references/config-key",
    severity: Severity::P2,
    category: Category::Bug,
    confidence: Confidence::thousandths(800),
    summary: "a removed or renamed configuration key that code still reads and nothing else sets",
    aliases: &[],
};

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
