//! Names that the change takes away, or calls with other arguments, while the rest of the repository still goes by what was.
//!
//! Three steps: what the diff alone gives reason to look at (`reason.rs`); what the texts of those files have lost (`lost.rs`); where the
//! rest of the repository still uses it (`world.rs` knows the files, `modules.rs` what an import means). In doubt, silence.

#[path = "java.rs"]
mod classes;
#[path = "config_keys/mod.rs"]
mod config;
#[path = "ruby.rs"]
mod constants;
#[path = "rust.rs"]
mod crates;
mod globals;
#[path = "gitignore.rs"]
mod ignored;
#[path = "unused_removals.rs"]
mod kept;
#[path = "removed.rs"]
mod lost;
#[path = "methods.rs"]
mod members;
#[path = "missing_imports.rs"]
mod missing;
#[path = "resolve.rs"]
mod modules;
#[path = "go.rs"]
mod package;
#[path = "suspects.rs"]
mod reason;
#[path = "messages.rs"]
mod say;
#[path = "broken_uses.rs"]
mod uses;
#[path = "repo_index.rs"]
mod world;

use crate::found::Found;
use crate::{Change, Returned, Rule};
use crh_review::finding::{Category, Confidence, Severity};

/// What is looked for.
pub(crate) const RULES: &[Rule] = &[REMOVED, ARITY, MISSING_IMPORT, CONFIG_KEY];

const REMOVED: Rule = Rule {
    id: "references/removed",
    severity: Severity::P1,
    category: Category::Bug,
    confidence: Confidence::thousandths(900),
    finds: "a name or a module that the change removes or renames while other code still uses it",
    also: &["F821", "no-undef", "TS2305"],
};

const ARITY: Rule = Rule {
    id: "references/arity",
    severity: Severity::P1,
    category: Category::Bug,
    confidence: Confidence::thousandths(900),
    finds: "a call that does not fit the parameters of its function after the change",
    also: &["TS2554"],
};

const MISSING_IMPORT: Rule = Rule {
    id: "references/missing-import",
    severity: Severity::P1,
    category: Category::Bug,
    confidence: Confidence::thousandths(900),
    finds: "an import that the change adds, of a module or a name that this repository does not have",
    also: &["TS2307", "import/no-unresolved", "import/named"],
};

const CONFIG_KEY: Rule = Rule {
    id: "references/config-key",
    severity: Severity::P2,
    category: Category::Bug,
    confidence: Confidence::thousandths(800),
    finds: "a key of the configuration that the change removes or renames while code still reads it and nothing else sets it",
    also: &[],
};

/// Looks for uses of what is there no more.
pub(crate) fn review(change: &Change<'_>) -> Returned {
    let Some(project) = change.project else { return Returned::default() };
    let reasons = kept::worth_following(project, reason::reasons(change));
    let has_keys = config::has_reason(change);
    if reasons.is_empty() && !has_keys {
        return Returned::default();
    }
    let world = world::World::new(project);
    let mut found = Vec::new();
    let outcome = uses::broken(change, &world, &reasons, &mut found);
    members::broken(&world, &reasons, &mut found);
    let outcome = outcome.and_then(|()| config::broken(change, &world, &mut found));
    let mut notes = world.notes();
    notes.extend(outcome.err().map(|why| format!("references were not checked to the end: {why}")));
    found.sort_by(|a, b| (&a.file, a.line, &a.title).cmp(&(&b.file, b.line, &b.title)));
    found.dedup();
    Returned { findings: found.into_iter().map(Found::reported).collect(), notes }
}

#[cfg(test)]
mod tests;
