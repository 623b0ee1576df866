//! Weak findings about tests and upkeep that nobody else shares: a line among the testing gaps or the residual risks
//! instead of an issue.

use std::collections::BTreeSet;

use crate::finding::{AutofixClass, Category, Confidence, Member, Origin, Severity};
use crate::report::Issue;
use crate::words::normal_title;

/// Who is less sure than this has not named both the input and the effect.
const FIRM: Confidence = Confidence::thousandths(750);
/// How many words may stand between `no` and `test`: `no unit or integration test`.
const WORDS_BETWEEN: usize = 3;

/// The list of a report that takes a finding in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum QuietPlace {
    TestingGaps,
    ResidualRisks,
}

/// The folders of which is said already that tests are missing.
#[derive(Debug, Default)]
pub(crate) struct Untested {
    folders: BTreeSet<String>,
}

/// Where an issue goes that is too weak to be one, and why it is; none if it stays.
pub(crate) fn weak(issue: &Issue) -> Option<(QuietPlace, String)> {
    let place = quiet_place(issue)?;
    if issue.autofix_class == AutofixClass::Advisory {
        return Some((place, "one reviewer, who sees nothing to do".to_owned()));
    }
    let is_unsure = issue.confidence < FIRM;
    is_unsure.then(|| (place, format!("one reviewer, confidence {}", issue.confidence.value())))
}

impl Untested {
    /// Where an issue goes that says once more of a folder that it has no tests; none if it stays. Issues are given in the
    /// order of their urgency: the first of a folder speaks for the others.
    pub(crate) fn again(&mut self, issue: &Issue) -> Option<(QuietPlace, String)> {
        let folder = issue.location.file.rsplit_once('/').map_or("", |(folder, _)| folder);
        if issue.category != Category::Testing || !misses_tests(&issue.title) {
            return None;
        }
        let is_first = self.folders.insert(folder.to_owned());
        let place = quiet_place(issue).filter(|_| !is_first)?;
        Some((place, "another issue says that tests are missing in this folder".to_owned()))
    }
}

/// The list that an issue may become a line of; none if it has to stay an issue however weak it is.
fn quiet_place(issue: &Issue) -> Option<QuietPlace> {
    let place = match issue.category {
        Category::Testing => QuietPlace::TestingGaps,
        Category::Maintainability => QuietPlace::ResidualRisks,
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
    let is_mild = match issue.severity {
        Severity::P0 | Severity::P1 => false,
        Severity::P2 | Severity::P3 => true,
    };
    let voices: BTreeSet<&str> = issue.members.iter().map(Member::voice).collect();
    // Who also calls it something else, such as a bug, is heard.
    let is_soft = |member: &Member| {
        member.origin == Origin::Model && member.finding.category == issue.category
    };
    let all_soft = issue.members.iter().all(is_soft);
    (is_mild && all_soft && voices.len() == 1 && !issue.pre_existing).then_some(place)
}

/// Whether a title says that tests are missing, and not that a test is wrong.
fn misses_tests(title: &str) -> bool {
    let title = normal_title(title);
    let words: Vec<&str> = title.split(' ').collect();
    let is_test = |word: &&str| matches!(*word, "test" | "tests" | "coverage");
    let lacks = |at: usize| {
        let after = &words[at + 1..];
        match words[at] {
            "untested" => true,
            "no" | "missing" | "without" | "lack" | "lacks" | "lacking" => {
                after.iter().take(WORDS_BETWEEN + 1).any(is_test)
            }
            "not" | "never" => matches!(after.first(), Some(&"tested" | &"covered")),
            "test" | "tests" => matches!(after, ["missing", ..] | ["is" | "are", "missing", ..]),
            _ => false,
        }
    };
    (0..words.len()).any(lacks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_test_is_told_from_a_wrong_one() {
        for title in [
            "No test covers refunds",
            "Missing unit and integration tests",
            "`refund` has no coverage",
            "Refunds are untested",
            "The error path is not covered",
            "Tests are missing for refunds",
            "refund() lacks a test",
        ] {
            assert!(misses_tests(title), "{title}");
        }
        for title in [
            "Test asserts nothing",
            "The test does not check the sum",
            "Test passes without a server",
            "The test never fails",
            "",
        ] {
            assert!(!misses_tests(title), "{title}");
        }
    }
}
