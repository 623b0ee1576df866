//! Softens weak findings about tests and maintainability that only one reviewer reports: they
//! become lines of the testing gaps or residual risks instead of issues.

use std::collections::BTreeSet;

use crate::finding::{AutofixClass, Category, Confidence, Member, Origin, Severity};
use crate::report::Issue;
use crate::words::normalise_title;

/// Confidence of a finding that names both the input and the effect.
const FIRM_CONFIDENCE: Confidence = Confidence::thousandths(750);
/// Maximum number of words between `no` and `test`: `no unit or integration test`.
const MAX_WORDS_BETWEEN: usize = 3;

/// List of the report that receives a softened finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoteList {
    TestingGaps,
    ResidualRisks,
}

/// Folders that already have an issue about missing tests.
#[derive(Debug, Default)]
pub(crate) struct UntestedFolders {
    folders: BTreeSet<String>,
}

/// The list and the reason for an issue that is too weak; `None` if it stays an issue.
pub(crate) fn soften_weak(issue: &Issue) -> Option<(NoteList, String)> {
    let list = note_list(issue)?;
    if issue.autofix_class == AutofixClass::Advisory {
        return Some((list, "only one reviewer, marked as advisory".to_owned()));
    }
    let is_low_confidence = issue.confidence < FIRM_CONFIDENCE;
    is_low_confidence
        .then(|| (list, format!("only one reviewer, confidence {}", issue.confidence.value())))
}

impl UntestedFolders {
    /// The list and the reason for another issue about missing tests in the same folder; `None` if
    /// it stays. Issues must come in order of urgency: the first per folder stays.
    pub(crate) fn soften_repeat(&mut self, issue: &Issue) -> Option<(NoteList, String)> {
        let folder = issue.location.file.rsplit_once('/').map_or("", |(folder, _)| folder);
        if issue.category != Category::Testing || !reports_missing_tests(&issue.title) {
            return None;
        }
        let is_first = self.folders.insert(folder.to_owned());
        let list = note_list(issue).filter(|_| !is_first)?;
        Some((list, "another issue reports missing tests in this folder".to_owned()))
    }
}

/// The list that an issue may move to; `None` if it must stay an issue.
fn note_list(issue: &Issue) -> Option<NoteList> {
    let list = match issue.category {
        Category::Testing => NoteList::TestingGaps,
        Category::Maintainability => NoteList::ResidualRisks,
        Category::Security
        | Category::Bug
        | Category::ErrorHandling
        | Category::Performance
        | Category::Style
        | Category::Logic
        | Category::Concurrency
        | Category::ApiContract
        | Category::Data
        | Category::Standards
        | Category::Requirements => return None,
    };
    let is_minor = match issue.severity {
        Severity::P0 | Severity::P1 => false,
        Severity::P2 | Severity::P3 => true,
    };
    let voices: BTreeSet<&str> = issue.members.iter().map(Member::voice).collect();
    // A member with another category, such as a bug, keeps the issue.
    let is_softenable = |member: &Member| {
        member.origin == Origin::Model && member.finding.category == issue.category
    };
    let all_softenable = issue.members.iter().all(is_softenable);
    (is_minor && all_softenable && voices.len() == 1 && !issue.pre_existing).then_some(list)
}

/// Whether a title reports missing tests, as opposed to a wrong test.
fn reports_missing_tests(title: &str) -> bool {
    let title = normalise_title(title);
    let words: Vec<&str> = title.split(' ').collect();
    let is_test = |word: &&str| matches!(*word, "test" | "tests" | "coverage");
    let reports_missing_at = |index: usize| {
        let following = &words[index + 1..];
        match words[index] {
            "untested" => true,
            "no" | "missing" | "without" | "lack" | "lacks" | "lacking" => {
                following.iter().take(MAX_WORDS_BETWEEN + 1).any(is_test)
            }
            "not" | "never" => matches!(following.first(), Some(&"tested" | &"covered")),
            "test" | "tests" => {
                matches!(following, ["missing", ..] | ["is" | "are", "missing", ..])
            }
            _ => false,
        }
    };
    (0..words.len()).any(reports_missing_at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_test_differs_from_wrong_test() {
        for title in [
            "No test covers refunds",
            "Missing unit and integration tests",
            "`refund` has no coverage",
            "Refunds are untested",
            "The error path is not covered",
            "Tests are missing for refunds",
            "refund() lacks a test",
        ] {
            assert!(reports_missing_tests(title), "{title}");
        }
        for title in [
            "Test asserts nothing",
            "The test does not check the sum",
            "Test passes without a server",
            "The test never fails",
            "",
        ] {
            assert!(!reports_missing_tests(title), "{title}");
        }
    }
}
