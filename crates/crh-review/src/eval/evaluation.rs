//! What a tool said about every case of a suite, with everything that is needed to score it: the stored form.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::case::{Labels, Span};
use super::matching::Rule;
use crate::finding::{Category, Confidence, Severity};
use crate::report::{Decimal, Issue, Tokens};

/// The version of the stored form. It rises when a reader of the old form would misread the new one.
pub const SCHEMA_VERSION: u32 = 1;

/// The most reports of one run. Nobody reads more, and assigning them to what is expected takes time in the third power.
pub const REPORTS_MAX: usize = 1_000;

/// A tool on a suite.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evaluation {
    /// The version of this form.
    pub schema_version: u32,
    /// What was evaluated, and on what.
    pub about: About,
    /// When a report counts as a report of an expected issue.
    pub rule: Rule,
    /// How often every case was reviewed.
    pub repeats: u32,
    /// The judge, if one was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judged_by: Option<JudgedBy>,
    /// The cases, sorted by id.
    pub cases: Vec<CaseRuns>,
}

/// What was evaluated, and on what.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct About {
    /// The tool: `crh` and its version, or whatever another tool is called.
    pub tool: String,
    /// The name of the suite.
    pub suite: String,
    /// Names the contents of the suite, by a hash.
    pub suite_hash: String,
    /// How the reviews were done; empty for another tool.
    pub strategy: String,
    /// The reviewers of the panel that were asked for; empty if nobody named any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reviewers: Vec<String>,
    /// What each reviewer of the panel looks for; empty if there was no panel.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub lenses: BTreeMap<String, Category>,
    /// Who was asked; empty if nobody was.
    pub model: String,
    /// The budget of each review.
    pub budget: String,
    /// Names the prompts, by a hash.
    pub prompt_version: String,
    /// Whether chance had no part in it: no model was asked, or a recording was played.
    pub is_repeatable: bool,
}

/// The judge of an evaluation. How far it can be trusted is no part of it: that follows from what it said, and is counted with the scores.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JudgedBy {
    /// The model.
    pub model: String,
    /// Names its prompt, by a hash.
    pub prompt: String,
    /// What it cost.
    pub cost_usd: Decimal,
    /// Cases that it did not answer for; these are matched by text.
    pub unanswered: u32,
}

/// A case, and what was said about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CaseRuns {
    /// What is known about it.
    pub labels: Labels,
    /// Its title, for people.
    pub title: String,
    /// One run for every repeat.
    pub runs: Vec<CaseRun>,
}

/// One review of a case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CaseRun {
    /// How it ended.
    pub ending: Ending,
    /// What was reported.
    pub reported: Vec<Reported>,
    /// Which reports the judge found to be about which expected issue, as (expected, reported); none if it was not asked. For a twin
    /// these are the issues of its case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judged: Option<Vec<(usize, usize)>>,
    /// The verdict of the report; empty for another tool.
    #[serde(default)]
    pub verdict: String,
    /// What the report says in a few sentences, and its warnings.
    #[serde(default)]
    pub summary: String,
    /// What it took.
    #[serde(default)]
    pub effort: Effort,
}

/// How a review ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "ended", content = "why")]
pub enum Ending {
    /// The change was reviewed.
    Reviewed,
    /// Only a part of it was, and why.
    Incomplete(String),
    /// Nothing was, and why. It counts as a review that found nothing.
    Failed(String),
    /// It was never begun, and why. It does not count.
    NotRun(String),
}

/// What a review took.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Effort {
    /// Money, in US dollars.
    pub cost_usd: Decimal,
    /// Tokens of all calls.
    pub tokens: Tokens,
    /// Calls of a model.
    pub llm_calls: u32,
    /// From the start to the report, in milliseconds.
    pub latency_ms: u64,
}

/// What a tool reports.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reported {
    /// Where.
    #[serde(flatten)]
    pub span: Span,
    /// In one line.
    pub title: String,
    /// In more words; may be empty.
    #[serde(default)]
    pub text: String,
    /// What is quoted; may be empty.
    #[serde(default)]
    pub evidence: String,
    /// What kind of trouble it is said to be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub category: Option<Category>,
    /// How bad it is said to be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub severity: Option<Severity>,
    /// How sure the tool is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence: Option<Confidence>,
    /// Names the issue across runs; empty if the tool has no such name.
    #[serde(default)]
    pub key: String,
    /// Who reported it.
    #[serde(default)]
    pub reviewers: Vec<String>,
}

impl About {
    /// What an evaluation is called: the tool, and how it was used.
    pub fn name(&self) -> String {
        let reviewers = self.reviewers.join(",");
        let words = [&self.tool, &self.strategy, &reviewers, &self.model];
        let words: Vec<&str> =
            words.into_iter().map(String::as_str).filter(|word| !word.is_empty()).collect();
        words.join(" ")
    }
}

impl Ending {
    /// Whether somebody at least tried.
    pub(super) fn is_begun(&self) -> bool {
        match self {
            Self::Reviewed | Self::Incomplete(_) | Self::Failed(_) => true,
            Self::NotRun(_) => false,
        }
    }
}

impl Reported {
    /// An issue of a report.
    pub fn of(issue: &Issue) -> Option<Self> {
        let place = &issue.location;
        Some(Self {
            span: Span::new(&place.file, place.line_start, place.line_end, place.side)?,
            title: issue.title.clone(),
            text: issue.description.clone(),
            evidence: issue.evidence_snippet.clone(),
            category: Some(issue.category),
            severity: Some(issue.severity),
            confidence: Some(issue.confidence),
            key: issue.dedupe_key.clone(),
            reviewers: issue.reviewers.clone(),
        })
    }
}
