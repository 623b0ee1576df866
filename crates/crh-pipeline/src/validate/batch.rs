//! Batches of issues for validation runs. A run sees the whole claim and the code, not the opinions
//! of other reviewers.

use std::collections::BTreeSet;

use super::excerpt::excerpt;
use crate::assignment::{Assignment, DiffPart};
use crate::code_reader::CodeReader;
use crate::prompts::fence;
use crate::text::cut;
use crh_review::diff::Diff;
use crh_review::report::Issue;
use crh_review::{Location, Quote};

/// Issues per run. Every run reads the diff, so few large batches cost less than many small ones.
const BATCH_SIZE: usize = 16;

/// Maximum characters of the issues of a run with several issues, about 40,000 tokens: the prompt
/// also contains the diff, and if it is too long for the model, none of the issues is validated.
const BATCH_CHARS: usize = 160_000;

/// Maximum characters of a quote outside the excerpt.
const QUOTE_CHARS: usize = 2_000;

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
    /// Splits issues into batches, in their order.
    pub(super) fn from_issues(issues: &[&Issue], code: &CodeReader<'_>, diff: &Diff) -> Vec<Self> {
        let mut batches: Vec<Vec<(&Issue, String)>> = Vec::new();
        let mut chars = 0;
        for issue in issues {
            let text = candidate_text(issue, code, diff);
            chars += text.len();
            match batches.last_mut() {
                Some(batch) if batch.len() < BATCH_SIZE && chars <= BATCH_CHARS => {
                    batch.push((issue, text));
                }
                _ => {
                    chars = text.len();
                    batches.push(vec![(issue, text)]);
                }
            }
        }
        (1..).zip(batches).map(|(number, batch)| Self::new(number, batch)).collect()
    }

    fn new(number: usize, candidates: Vec<(&Issue, String)>) -> Self {
        let (issues, candidates): (Vec<&Issue>, Vec<String>) = candidates.into_iter().unzip();
        let files: BTreeSet<&str> =
            issues.iter().map(|issue| issue.location.file.as_str()).collect();
        let keys: Vec<&str> = issues.iter().map(|issue| issue.dedupe_key.as_str()).collect();
        Self {
            assignment: Assignment {
                name: format!("validate-{number}"),
                reviewer: "validate".to_owned(),
                label: format!("checks {}", keys.join(" ")),
                why: String::new(),
                focus: String::new(),
                parts: files.into_iter().map(DiffPart::whole).collect(),
            },
            issues: issues.into_iter().cloned().collect(),
            candidates: candidates.join("\n"),
        }
    }

    pub(super) fn ids(&self) -> BTreeSet<String> {
        self.issues.iter().map(|issue| issue.dedupe_key.clone()).collect()
    }
}

/// One issue as a claim: title, category, claimed effect, place, code and quotes.
pub(super) fn candidate_text(issue: &Issue, code: &CodeReader<'_>, diff: &Diff) -> String {
    let mut text = format!(
        "id: {}\nclaim: {}\ncategory: {}\nclaimed effect: {}\nplace: {}\n",
        issue.dedupe_key,
        fold_whitespace(&issue.title),
        issue.category,
        fold_whitespace(&issue.why_it_matters),
        issue.location,
    );
    let excerpt = excerpt(&issue.location, code, diff);
    text += &format!("{}\n", fence("code", &excerpt.text));
    let is_shown = |quote: &&Quote| {
        quote.file == issue.location.file
            && quote.side == issue.location.side
            && excerpt.lines.contains(&quote.line)
    };
    for quote in issue.evidence.iter().filter(|quote| !is_shown(quote)) {
        let (file, side) = (quote.file.clone(), quote.side);
        let place = Location { file, side, line_start: quote.line, line_end: quote.line };
        let code = fence("code", &cut(&quote.snippet, QUOTE_CHARS));
        text += &format!("also cited: {place}\n{code}\n");
    }
    text
}

fn fold_whitespace(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
