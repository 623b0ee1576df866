//! The stored result of a tool on every case of a suite.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::case::{Labels, Span};
use super::funnel::Funnel;
use super::matching::Rule;
use crate::finding::{Category, Confidence, Severity};
use crate::place::Location;
use crate::report::{Decimal, Issue, TokensUsed};

/// Version of the stored format. The version rises when old readers would misread new files.
pub const SCHEMA_VERSION: u32 = 1;

/// Maximum reports per run. Matching takes cubic time in the number of reports.
pub const REPORTS_MAX: usize = 1_000;

/// Result of a tool on a suite.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evaluation {
    /// Version of this format.
    pub schema_version: u32,
    /// What was evaluated.
    pub about: About,
    /// Rule that decides which reports match expected issues.
    pub rule: Rule,
    /// Number of repeats per case.
    pub repeats: u32,
    /// The judge, a model that decides which reports match expected issues; none if no model
    /// judged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judged_by: Option<JudgedBy>,
    /// Cases, sorted by id.
    pub cases: Vec<CaseRuns>,
}

/// What was evaluated, on which suite.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct About {
    /// Name of the tool; for crh with its version.
    pub tool: String,
    /// Name of the suite.
    pub suite: String,
    /// Hash of the suite.
    pub suite_hash: String,
    /// Review strategy; empty for another tool.
    pub strategy: String,
    /// Reviewers selected by the user; empty if none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reviewers: Vec<String>,
    /// Focus of each reviewer of the panel; empty without a panel.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub lenses: BTreeMap<String, Category>,
    /// Models; empty if there are none.
    pub model: String,
    /// Budget per review.
    pub budget: String,
    /// Hash of the prompts.
    pub prompt_version: String,
    /// Whether the result is deterministic: no model, or a replayed recording.
    pub is_repeatable: bool,
}

/// The judge of an evaluation. Its reliability is part of the scores.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JudgedBy {
    /// The model.
    pub model: String,
    /// Hash of the judge's prompt.
    pub prompt: String,
    /// System prompt of the judge.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub brief: String,
    /// Cost.
    pub cost_usd: Decimal,
    /// Questions without an answer of the judge; their reports are matched by text.
    pub unanswered: u32,
}

/// A case and its runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CaseRuns {
    /// Labels of the case.
    pub labels: Labels,
    /// Title.
    pub title: String,
    /// One run per repeat.
    pub runs: Vec<CaseRun>,
}

/// One review of a case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CaseRun {
    /// How the run ended.
    pub ending: Ending,
    /// Reports.
    pub reported: Vec<Reported>,
    /// Matches found by the judge, as (expected, reported); absent without a judge. For a twin, the
    /// issues are those of its case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judged: Option<Vec<(usize, usize)>>,
    /// Verdict of the report; empty for another tool.
    #[serde(default)]
    pub verdict: String,
    /// Summary and warnings of the report.
    #[serde(default)]
    pub summary: String,
    /// Cost and time.
    #[serde(default)]
    pub effort: Effort,
    /// Findings and issues before publication; absent if they are unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub funnel: Option<Funnel>,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "ended", content = "why")]
pub enum Ending {
    /// The change was reviewed.
    Reviewed,
    /// Only a part was reviewed, with the reason.
    Incomplete(String),
    /// The review failed, with the reason. A failed run counts as a review without findings.
    Failed(String),
    /// The run was not started, with the reason. Such a run does not count.
    NotRun(String),
}

/// Cost and time of a review.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Effort {
    /// Cost in US dollars.
    pub cost_usd: Decimal,
    /// Tokens of all calls.
    pub tokens: TokensUsed,
    /// Model calls.
    pub llm_calls: u32,
    /// Milliseconds from start to report.
    pub latency_ms: u64,
}

/// One report of a tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reported {
    /// Place.
    #[serde(flatten)]
    pub span: Span,
    /// Further places of the same problem.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<Span>,
    /// Title.
    pub title: String,
    /// Description; may be empty.
    #[serde(default)]
    pub text: String,
    /// Quote; may be empty.
    #[serde(default)]
    pub evidence: String,
    /// Category.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub category: Option<Category>,
    /// Severity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub severity: Option<Severity>,
    /// Confidence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence: Option<Confidence>,
    /// Stable id across runs; empty if the tool has none.
    #[serde(default)]
    pub key: String,
    /// Names of the reviewers.
    #[serde(default)]
    pub reviewers: Vec<String>,
}

impl About {
    /// Display name: the tool and its settings.
    pub fn name(&self) -> String {
        let reviewers = self.reviewers.join(",");
        let parts = [&self.tool, &self.strategy, &reviewers, &self.model];
        let parts: Vec<&str> =
            parts.into_iter().map(String::as_str).filter(|word| !word.is_empty()).collect();
        parts.join(" ")
    }
}

impl CaseRun {
    /// A run with these reports, without anything else.
    pub fn new(ending: Ending, reported: Vec<Reported>) -> Self {
        Self {
            ending,
            reported,
            judged: None,
            verdict: String::new(),
            summary: String::new(),
            effort: Effort::default(),
            funnel: None,
        }
    }
}

impl Ending {
    /// Whether the run was started.
    pub(super) fn is_started(&self) -> bool {
        match self {
            Self::Reviewed | Self::Incomplete(_) | Self::Failed(_) => true,
            Self::NotRun(_) => false,
        }
    }
}

impl Reported {
    /// A report with a place and a title only.
    pub fn new(span: Span, title: impl Into<String>) -> Self {
        Self {
            span,
            also: Vec::new(),
            title: title.into(),
            text: String::new(),
            evidence: String::new(),
            category: None,
            severity: None,
            confidence: None,
            key: String::new(),
            reviewers: Vec::new(),
        }
    }

    /// All places of the report, the main one first.
    pub(super) fn places(&self) -> impl Iterator<Item = &Span> {
        std::iter::once(&self.span).chain(&self.also)
    }

    /// A report from an issue; `None` if its place is invalid.
    pub fn from_issue(issue: &Issue) -> Option<Self> {
        let span = |location: &Location| {
            Span::new(&location.file, location.line_start, location.line_end, location.side)
        };
        Some(Self {
            span: span(&issue.location)?,
            also: issue.other_places.iter().filter_map(span).collect(),
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
