//! What was meant to be taken out again: focused and skipped tests, debugger statements, files that a merge left.
//!
//! All of it is found in the tree, never in strings and comments. Passwords in addresses are found by `secrets`.

#[path = "syntax_nodes.rs"]
mod calls;
#[path = "debugger_statements.rs"]
mod debugger;
#[path = "focused_tests.rs"]
mod focused;
#[path = "merge_files.rs"]
mod merge_file;
#[path = "skipped_tests.rs"]
mod skipped;

use crate::look::{Look, Looked, Reviewer};
use crate::{ChangedFile, Rule, paths};
use crh_review::finding::{Category, Confidence, Severity};
use crh_syntax::Language;

/// What is looked for.
pub(crate) const RULES: &[Rule] = &[FOCUSED_TEST, SKIPPED_TEST, DEBUGGER, MERGE_FILE];

const FOCUSED_TEST: Rule = Rule {
    id: "leftovers/focused-test",
    severity: Severity::P1,
    category: Category::Testing,
    confidence: Confidence::thousandths(950),
    finds: "a test that keeps all others from running",
    also: &[
        "jest/no-focused-tests",
        "vitest/no-focused-tests",
        "mocha/no-exclusive-tests",
        "playwright/no-focused-test",
        "jasmine/no-focused-tests",
        "no-only-tests/no-only-tests",
        "no-only-tests",
        "RSpec/Focus",
        "ginkgolinter",
    ],
};

const SKIPPED_TEST: Rule = Rule {
    id: "leftovers/skipped-test",
    severity: Severity::P3,
    category: Category::Testing,
    confidence: Confidence::thousandths(800),
    finds: "a test that ran before the change and is skipped after it, without a word why",
    also: &[
        "jest/no-disabled-tests",
        "vitest/no-disabled-tests",
        "mocha/no-skipped-tests",
        "mocha/no-pending-tests",
        "playwright/no-skipped-test",
        "clippy::ignore_without_reason",
        "RSpec/PendingWithoutReason",
    ],
};

const DEBUGGER: Rule = Rule {
    id: "leftovers/debugger",
    severity: Severity::P1,
    category: Category::Bug,
    confidence: Confidence::thousandths(950),
    finds: "a statement that stops the program in a debugger, or prints for one",
    also: &[
        "no-debugger",
        "T100",
        "debug-statements",
        "forgotten-debug-statement",
        "clippy::dbg_macro",
        "dbg_macro",
        "Lint/Debugger",
    ],
};

const MERGE_FILE: Rule = Rule {
    id: "leftovers/merge-file",
    severity: Severity::P2,
    category: Category::Maintainability,
    confidence: Confidence::thousandths(900),
    finds: "a file that a merge or a patch left behind",
    also: &[],
};

/// The reviewer.
pub(crate) struct Leftovers;

impl Reviewer for Leftovers {
    fn name(&self) -> &'static str {
        "leftovers"
    }

    fn wants(&self, file: &ChangedFile) -> bool {
        Language::of_path(&file.path).is_some() || merge_file::original(file).is_some()
    }

    fn look(&self, look: &Look<'_>) -> Looked {
        let mut looked = Looked::default();
        looked.found.extend(merge_file::left(look));
        if paths::is_fixture(&look.file.path) || look.file.added.is_empty() {
            return looked;
        }
        looked.found.extend(look.introduced(focused::tests));
        looked.found.extend(look.introduced(debugger::statements));
        looked.found.extend(skipped::tests(look));
        looked.found.retain(|found| look.file.adds(found.line));
        looked.found.sort_by_key(|found| found.line);
        looked
    }
}

#[cfg(test)]
mod tests;
