//! Batches of issues for validation runs. A run sees the claim and the code, not the reviewer's
//! reasons.

use std::collections::BTreeSet;

use super::excerpt::excerpt;
use crate::code_reader::CodeReader;
use crate::plan::{Assignment, DiffPart};
use crate::prompts::fence;
use crh_review::Location;
use crh_review::diff::Diff;
use crh_review::report::Issue;

/// Issues per run. Models read six excerpts with care, and a dozen issues take two runs instead of
/// twelve.
const BATCH_SIZE: usize = 6;

/// Maximum quotes from other files per issue.
const OTHER_QUOTES_MAX: usize = 3;

/// The issues of one validation run.
#[derive(Debug, Clone)]
pub(super) struct Batch {
    /// Assignment of the run. Its label contains the issue ids, so that a resumed review recognises
    /// the batch.
    pub(super) assignment: Assignment,
    pub(super) issues: Vec<Issue>,
    /// The issues as the prompt shows them.
    pub(super) candidates: String,
}

impl Batch {
    /// Splits issues into batches, the most urgent first.
    pub(super) fn from_issues(issues: &[&Issue], code: &CodeReader<'_>, diff: &Diff) -> Vec<Self> {
        let batches = issues.chunks(BATCH_SIZE).enumerate();
        batches.map(|(index, issues)| Self::new(index + 1, issues, code, diff)).collect()
    }

    fn new(number: usize, issues: &[&Issue], code: &CodeReader<'_>, diff: &Diff) -> Self {
        let files: BTreeSet<&str> =
            issues.iter().map(|issue| issue.location.file.as_str()).collect();
        let keys: Vec<&str> = issues.iter().map(|issue| issue.dedupe_key.as_str()).collect();
        let candidates: Vec<String> =
            issues.iter().map(|issue| candidate_text(issue, code, diff)).collect();
        Self {
            assignment: Assignment {
                name: format!("validate-{number}"),
                reviewer: "validate".to_owned(),
                label: format!("checks {}", keys.join(" ")),
                why: String::new(),
                focus: String::new(),
                parts: files.into_iter().map(DiffPart::whole).collect(),
            },
            issues: issues.iter().copied().cloned().collect(),
            candidates: candidates.join("\n"),
        }
    }

    pub(super) fn ids(&self) -> BTreeSet<String> {
        self.issues.iter().map(|issue| issue.dedupe_key.clone()).collect()
    }
}

/// One issue as a claim: title, claimed effect, place and code.
fn candidate_text(issue: &Issue, code: &CodeReader<'_>, diff: &Diff) -> String {
    let mut text = format!(
        "id: {}\nclaim: {}\nclaimed effect: {}\nplace: {}\n",
        issue.dedupe_key,
        fold_whitespace(&issue.title),
        fold_whitespace(first_sentence(&issue.why_it_matters)),
        issue.location,
    );
    text += &format!("{}\n", fence("code", &excerpt(&issue.location, code, diff)));
    let other_files = issue.evidence.iter().filter(|quote| quote.file != issue.location.file);
    for quote in other_files.take(OTHER_QUOTES_MAX) {
        let (file, side) = (quote.file.clone(), quote.side);
        let place = Location { file, side, line_start: quote.line, line_end: quote.line };
        text += &format!("also cited: {place}\n{}\n", fence("code", &quote.snippet));
    }
    text
}

/// The first sentence. Findings state the observable effect first and the reasons after it.
fn first_sentence(why: &str) -> &str {
    let why = why.trim();
    let end = why.match_indices(['.', '!', '?', '\n']).find_map(|(index, sign)| {
        let rest = &why[index + sign.len()..];
        let is_end = sign == "\n" || rest.is_empty() || rest.starts_with(char::is_whitespace);
        is_end.then_some(index + sign.len())
    });
    why[..end.unwrap_or(why.len())].trim_end()
}

fn fold_whitespace(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_first_sentence_is_shown() {
        let check = |why: &str, expected: &str| assert_eq!(first_sentence(why), expected);
        check("Refunds fail. The sign is lost in line 3.", "Refunds fail.");
        check(" `a.b` is 1.5 too large! Since", "`a.b` is 1.5 too large!");
        check("No end", "No end");
        check("One\nTwo.", "One");
        check("", "");
    }
}
