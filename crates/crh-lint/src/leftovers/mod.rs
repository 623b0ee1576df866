//! Leftovers of development: focused and skipped tests, debugger statements, merge files.
//!
//! All but merge files are found in the syntax tree, never in strings and comments.

mod debugger_statements;
mod focused_tests;
mod merge_files;
mod skipped_tests;
mod syntax_nodes;

use crate::file_context::{FileContext, FileFindings, FileReviewer};
use crate::{ChangedFile, LintRule, paths};
use crh_review::finding::{Category, Confidence, Severity};
use crh_syntax::Language;

pub(crate) const RULES: &[LintRule] = &[FOCUSED_TEST, SKIPPED_TEST, DEBUGGER, MERGE_FILE];

#[rustfmt::skip]
const FOCUSED_TEST: LintRule = LintRule {
    id: "leftovers/focused-test",
    severity: Severity::P1,
    category: Category::Testing,
    confidence: Confidence::thousandths(950),
    summary: "a focused test, which keeps other tests from running",
    aliases: &[
        "jest/no-focused-tests", "vitest/no-focused-tests", "mocha/no-exclusive-tests", "playwright/no-focused-test",
        "jasmine/no-focused-tests", "no-only-tests/no-only-tests", "no-only-tests", "RSpec/Focus", "ginkgolinter",
    ],
};

#[rustfmt::skip]
const SKIPPED_TEST: LintRule = LintRule {
    id: "leftovers/skipped-test",
    severity: Severity::P3,
    category: Category::Testing,
    confidence: Confidence::thousandths(800),
    summary: "a test that ran before the change and is now skipped without a reason",
    aliases: &[
        "jest/no-disabled-tests", "vitest/no-disabled-tests", "mocha/no-skipped-tests", "mocha/no-pending-tests",
        "playwright/no-skipped-test", "clippy::ignore_without_reason", "RSpec/PendingWithoutReason",
    ],
};

#[rustfmt::skip]
const DEBUGGER: LintRule = LintRule {
    id: "leftovers/debugger",
    severity: Severity::P1,
    category: Category::Bug,
    confidence: Confidence::thousandths(950),
    summary: "a debugger statement",
    aliases: &[
        "no-debugger", "T100", "debug-statements", "forgotten-debug-statement", "clippy::dbg_macro", "dbg_macro", "Lint/Debugger",
    ],
};

const MERGE_FILE: LintRule = LintRule {
    id: "leftovers/merge-file",
    severity: Severity::P2,
    category: Category::Maintainability,
    confidence: Confidence::thousandths(900),
    summary: "a file that a merge or a patch left behind",
    aliases: &[],
};

/// The `leftovers` reviewer.
pub(crate) struct LeftoverCheck;

impl FileReviewer for LeftoverCheck {
    fn name(&self) -> &'static str {
        "leftovers"
    }

    fn handles(&self, file: &ChangedFile, language: Option<Language>) -> bool {
        language.is_some() || merge_files::original(file).is_some()
    }

    fn review(&self, ctx: &FileContext<'_>) -> FileFindings {
        let mut findings = FileFindings::default();
        findings.findings.extend(merge_files::find(ctx));
        if paths::is_fixture(&ctx.file.path) || ctx.file.added.is_empty() {
            return findings;
        }
        findings.findings.extend(ctx.new_findings(focused_tests::find_tests));
        findings.findings.extend(ctx.new_findings(debugger_statements::find_statements));
        findings.findings.extend(skipped_tests::find_tests(ctx));
        findings.findings.retain(|finding| ctx.file.adds(finding.line));
        findings.findings.sort_by_key(|finding| finding.line);
        findings
    }
}

#[cfg(test)]
mod tests;
