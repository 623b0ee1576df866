//! Issues that one run looks at together, and what it is shown of them: the claim and the code, not the reviewer's reasons.

use std::collections::BTreeSet;

use super::excerpt::excerpt;
use crate::code::Code;
use crate::plan::{Assignment, Part};
use crate::prompts::fence;
use crh_review::Location;
use crh_review::diff::Diff;
use crh_review::report::Issue;

/// How many issues one run looks at: so many excerpts are read with care, and a dozen issues still take two runs side
/// by side and not twelve.
const BATCH: usize = 6;

/// How many quotes from other files are shown with an issue.
const ELSEWHERE_MAX: usize = 3;

/// The issues that one run looks at.
#[derive(Debug, Clone)]
pub(super) struct Batch {
    /// The run. Its label has the ids of the issues, so that the same batch is known again.
    pub(super) assignment: Assignment,
    pub(super) issues: Vec<Issue>,
    /// What it is shown.
    pub(super) candidates: String,
}

impl Batch {
    /// Issues in batches, the most urgent in the first.
    pub(super) fn all(issues: &[&Issue], code: &Code<'_>, diff: &Diff) -> Vec<Self> {
        let batches = issues.chunks(BATCH).enumerate();
        batches.map(|(at, issues)| Self::new(at + 1, issues, code, diff)).collect()
    }

    fn new(number: usize, issues: &[&Issue], code: &Code<'_>, diff: &Diff) -> Self {
        let files: BTreeSet<&str> = issues.iter().map(|it| it.location.file.as_str()).collect();
        let keys: Vec<&str> = issues.iter().map(|issue| issue.dedupe_key.as_str()).collect();
        let shown: Vec<String> = issues.iter().map(|issue| candidate(issue, code, diff)).collect();
        Self {
            assignment: Assignment {
                name: format!("validate-{number}"),
                reviewer: "validate".to_owned(),
                label: format!("checks {}", keys.join(" ")),
                why: String::new(),
                focus: String::new(),
                parts: files.into_iter().map(Part::whole).collect(),
            },
            issues: issues.iter().copied().cloned().collect(),
            candidates: shown.join("\n"),
        }
    }

    /// The ids of its issues.
    pub(super) fn ids(&self) -> BTreeSet<String> {
        self.issues.iter().map(|issue| issue.dedupe_key.clone()).collect()
    }
}

/// One issue as a claim: its title, the effect that is claimed, where, and the code there.
fn candidate(issue: &Issue, code: &Code<'_>, diff: &Diff) -> String {
    let mut text = format!(
        "id: {}\nclaim: {}\nclaimed effect: {}\nplace: {}\n",
        issue.dedupe_key,
        folded(&issue.title),
        folded(effect(&issue.why_it_matters)),
        issue.location,
    );
    text += &format!("{}\n", fence("code", &excerpt(&issue.location, code, diff)));
    let elsewhere = issue.evidence.iter().filter(|quote| quote.file != issue.location.file);
    for quote in elsewhere.take(ELSEWHERE_MAX) {
        let (file, side) = (quote.file.clone(), quote.side);
        let place = Location { file, side, line_start: quote.line, line_end: quote.line };
        text += &format!("also cited: {place}\n{}\n", fence("code", &quote.snippet));
    }
    text
}

/// The first sentence: findings say the observable effect first and the reasons behind it.
fn effect(why: &str) -> &str {
    let why = why.trim();
    let end = why.match_indices(['.', '!', '?', '\n']).find_map(|(at, sign)| {
        let rest = &why[at + sign.len()..];
        let ends = sign == "\n" || rest.is_empty() || rest.starts_with(char::is_whitespace);
        ends.then_some(at + sign.len())
    });
    why[..end.unwrap_or(why.len())].trim_end()
}

fn folded(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_what_a_reviewer_says_only_the_effect_is_shown() {
        let check = |why: &str, expected: &str| assert_eq!(effect(why), expected);
        check("Refunds fail. The sign is lost in line 3.", "Refunds fail.");
        check(" `a.b` is 1.5 too large! Since", "`a.b` is 1.5 too large!");
        check("No end", "No end");
        check("One\nTwo.", "One");
        check("", "");
    }
}
