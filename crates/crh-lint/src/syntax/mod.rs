//! Files that a change breaks: conflicts that were left in, data that no reader takes, code that no longer parses.
//!
//! One finding a file, the most telling one: what stands in a conflict does not parse either.

mod blame;
#[path = "data_files.rs"]
mod data;
#[path = "code.rs"]
mod grammar;
#[path = "conflict_markers.rs"]
mod markers;

use crate::look::{Look, Looked, Reviewer};
use crate::{ChangedFile, Rule};
use crh_review::finding::{Category, Confidence, Severity};
use crh_syntax::{Language, TEXT_MAX};

/// What is looked for.
pub(crate) const RULES: &[Rule] =
    &[DOES_NOT_PARSE, CONFLICT_MARKER, INVALID_JSON, INVALID_YAML, INVALID_TOML];

const DOES_NOT_PARSE: Rule = Rule {
    id: "syntax/does-not-parse",
    severity: Severity::P1,
    category: Category::Bug,
    confidence: Confidence::thousandths(900),
    finds: "a file that parsed before the change, or is new, and does not parse after it",
    also: &["E999", "invalid-syntax", "Lint/Syntax"],
};

const CONFLICT_MARKER: Rule = Rule {
    id: "syntax/conflict-marker",
    severity: Severity::P1,
    category: Category::Bug,
    confidence: Confidence::thousandths(980),
    finds: "a merge conflict that was committed with its markers",
    also: &["check-merge-conflict", "merge-conflict"],
};

const INVALID_JSON: Rule = Rule {
    id: "syntax/invalid-json",
    severity: Severity::P1,
    category: Category::Bug,
    confidence: Confidence::thousandths(950),
    finds: "a JSON file that was valid before the change, or is new, and is not after it",
    also: &["check-json"],
};

const INVALID_YAML: Rule = Rule {
    id: "syntax/invalid-yaml",
    severity: Severity::P1,
    category: Category::Bug,
    confidence: Confidence::thousandths(900),
    finds: "a YAML file that was valid before the change, or is new, and is not after it",
    also: &["check-yaml"],
};

const INVALID_TOML: Rule = Rule {
    id: "syntax/invalid-toml",
    severity: Severity::P1,
    category: Category::Bug,
    confidence: Confidence::thousandths(950),
    finds: "a TOML file that was valid before the change, or is new, and is not after it",
    also: &["check-toml"],
};

/// The reviewer.
pub(crate) struct Syntax;

impl Reviewer for Syntax {
    fn name(&self) -> &'static str {
        "syntax"
    }

    fn wants(&self, file: &ChangedFile) -> bool {
        Language::of_path(&file.path).is_some()
            || data::Format::of_path(&file.path).is_some()
            || markers::may_be_in(file)
    }

    fn look(&self, look: &Look<'_>) -> Looked {
        let mut looked = markers::conflicts(look);
        if looked.found.is_empty() {
            looked.found.extend(data::invalid(look));
        }
        if data::is_too_large(look) {
            looked.notes.push(format!(
                "the syntax of `{}` was not checked: it has more than {TEXT_MAX} bytes",
                look.file.path
            ));
        }
        if looked.found.is_empty() {
            match grammar::broken(look) {
                grammar::Broken::No => {}
                grammar::Broken::Unknown(why) => looked
                    .notes
                    .push(format!("the syntax of `{}` was not checked: {why}", look.file.path)),
                grammar::Broken::Yes(found) => looked.found.push(found),
            }
        }
        looked
    }
}

#[cfg(test)]
mod tests;
