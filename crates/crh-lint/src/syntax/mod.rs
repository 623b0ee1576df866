//! Files that the change breaks: committed conflicts, invalid data files, code that does not parse.
//!
//! Each file gets at most one kind of finding, the most specific one: a file with a conflict does
//! not parse either.

mod blame;
mod code;
mod conflict_markers;
mod data_files;

use crate::file_context::{FileContext, FileFindings, FileReviewer};
use crate::{ChangedFile, LintRule};
use crh_review::finding::{Category, Confidence, Severity};
use crh_syntax::Language;

pub(crate) const RULES: &[LintRule] =
    &[DOES_NOT_PARSE, CONFLICT_MARKER, INVALID_JSON, INVALID_YAML, INVALID_TOML];

const DOES_NOT_PARSE: LintRule = LintRule {
    id: "syntax/does-not-parse",
    severity: Severity::P1,
    category: Category::Bug,
    confidence: Confidence::thousandths(900),
    summary: "a file that does not parse after the change, and is new or parsed before",
    aliases: &["E999", "invalid-syntax", "Lint/Syntax"],
};

const CONFLICT_MARKER: LintRule = LintRule {
    id: "syntax/conflict-marker",
    severity: Severity::P1,
    category: Category::Bug,
    confidence: Confidence::thousandths(980),
    summary: "a committed merge conflict marker",
    aliases: &["check-merge-conflict", "merge-conflict"],
};

const INVALID_JSON: LintRule = LintRule {
    id: "syntax/invalid-json",
    severity: Severity::P1,
    category: Category::Bug,
    confidence: Confidence::thousandths(950),
    summary: "a JSON file that is not valid after the change, and is new or was valid before",
    aliases: &["check-json"],
};

const INVALID_YAML: LintRule = LintRule {
    id: "syntax/invalid-yaml",
    severity: Severity::P1,
    category: Category::Bug,
    confidence: Confidence::thousandths(900),
    summary: "a YAML file that is not valid after the change, and is new or was valid before",
    aliases: &["check-yaml"],
};

const INVALID_TOML: LintRule = LintRule {
    id: "syntax/invalid-toml",
    severity: Severity::P1,
    category: Category::Bug,
    confidence: Confidence::thousandths(950),
    summary: "a TOML file that is not valid after the change, and is new or was valid before",
    aliases: &["check-toml"],
};

/// The `syntax` reviewer.
pub(crate) struct SyntaxCheck;

impl FileReviewer for SyntaxCheck {
    fn name(&self) -> &'static str {
        "syntax"
    }

    fn handles(&self, file: &ChangedFile, language: Option<Language>) -> bool {
        language.is_some()
            || data_files::DataFormat::from_path(&file.path).is_some()
            || conflict_markers::may_have_conflict(file)
    }

    fn review(&self, ctx: &FileContext<'_>) -> FileFindings {
        let mut findings = conflict_markers::conflicts(ctx);
        let mut abort_reason = None;
        if findings.findings.is_empty() {
            match data_files::check(ctx) {
                data_files::DataCheck::NoFinding => {}
                data_files::DataCheck::NotChecked(why) => abort_reason = Some(why),
                data_files::DataCheck::Broken(finding) => findings.findings.push(finding),
            }
        }
        if findings.findings.is_empty() {
            match code::check(ctx) {
                code::ParseCheck::NoFinding => {}
                code::ParseCheck::NotChecked(why) => abort_reason = Some(why),
                code::ParseCheck::Broken(finding) => findings.findings.push(finding),
            }
        }
        if let Some(why) = &abort_reason {
            findings
                .notes
                .push(format!("the syntax of `{}` was not checked: {why}", ctx.file.path));
        }
        findings.abort_reason = abort_reason;
        findings
    }
}

#[cfg(test)]
mod tests;
