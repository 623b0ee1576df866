//! The rules of the reviewer `references`.

use crate::LintRule;
use crh_review::finding::{Category, Confidence, Severity};

pub(super) const REMOVED: LintRule = LintRule {
    id: "references/removed",
    severity: Severity::P1,
    category: Category::Bug,
    confidence: Confidence::thousandths(900),
    summary: "a removed or renamed name or module that other code still uses",
    aliases: &["F821", "no-undef", "TS2305"],
};

pub(super) const ARITY: LintRule = LintRule {
    id: "references/arity",
    severity: Severity::P1,
    category: Category::Bug,
    confidence: Confidence::thousandths(900),
    summary: "a call that does not match the changed parameters of its function",
    aliases: &["TS2554"],
};

pub(super) const MISSING_IMPORT: LintRule = LintRule {
    id: "references/missing-import",
    severity: Severity::P1,
    category: Category::Bug,
    confidence: Confidence::thousandths(900),
    summary: "an added import of a module or name that the repository does not have",
    aliases: &["TS2307", "import/no-unresolved", "import/named"],
};

pub(super) const CONFIG_KEY: LintRule = LintRule {
    id: "references/config-key",
    severity: Severity::P2,
    category: Category::Bug,
    confidence: Confidence::thousandths(800),
    summary: "a removed or renamed configuration key that code still reads and nothing else sets",
    aliases: &[],
};
