//! The three foreign return formats and their mapping to findings.

use std::num::NonZeroU32;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{ReturnError, ReviewerReturn, deserialize};
use crate::evidence::Needle;
use crate::finding::{
    AutofixClass, Category, Confidence, Evidence, Finding, Member, Owner, Proof, Severity,
};
use crate::shape::shorten_title;

/// Confidence of findings in dialects without one.
const DEFAULT_CONFIDENCE: Confidence = Confidence::thousandths(750);

/// A sub-agent's return in CRH.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "crh_return")]
pub(crate) struct CrhReturn {
    #[schemars(with = "Vec<CrhFinding>")]
    findings: Vec<Value>,
    #[serde(default)]
    summary: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct CrhFinding {
    severity: CrhSeverity,
    path: String,
    /// A line of `numbered.diff`.
    line: NonZeroU32,
    comment: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum CrhSeverity {
    Blocker,
    Major,
    Minor,
    Info,
    Nit,
}

/// The agent spec's `ReviewResult`, as far as a merge needs it.
#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "agent_return")]
pub(crate) struct AgentReturn {
    #[schemars(with = "Vec<AgentIssue>")]
    issues: Vec<Value>,
    #[serde(default)]
    summary: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct AgentIssue {
    file: String,
    line_start: NonZeroU32,
    #[serde(default)]
    line_end: Option<NonZeroU32>,
    severity: AgentSeverity,
    category: Category,
    description: String,
    #[serde(default)]
    suggestion: Option<String>,
    evidence_snippet: String,
    confidence: Confidence,
    /// Not used: identities are computed here.
    #[serde(default, rename = "dedupe_key")]
    _dedupe_key: Option<String>,
    /// Not used: the file's name tells.
    #[serde(default, rename = "language")]
    _language: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum AgentSeverity {
    Critical,
    High,
    Medium,
    Low,
}

/// A persona's return in ce-code-review, compact or full.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "ce_return")]
pub(crate) struct CeReturn {
    reviewer: String,
    #[schemars(with = "Vec<CeFinding>")]
    findings: Vec<Value>,
    residual_risks: Vec<String>,
    testing_gaps: Vec<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct CeFinding {
    title: String,
    severity: Severity,
    file: String,
    line: NonZeroU32,
    confidence: Confidence,
    autofix_class: AutofixClass,
    owner: Owner,
    requires_verification: bool,
    pre_existing: bool,
    #[serde(default)]
    suggested_fix: Option<String>,
    /// Only in the full form.
    #[serde(default)]
    why_it_matters: Option<String>,
    /// Only in the full form: sentences with quotes in backticks.
    #[serde(default)]
    evidence: Vec<String>,
}

pub(super) fn parse_crh(value: Value, reviewer: &str) -> Result<ReviewerReturn, ReturnError> {
    let crh_return: CrhReturn = deserialize(value)?;
    let mut parsed = empty_return(reviewer, crh_return.summary);
    parsed.add_findings(crh_return.findings, |value, reviewer| {
        let finding: CrhFinding = deserialize(value)?;
        let severity = match finding.severity {
            CrhSeverity::Blocker => Severity::P0,
            CrhSeverity::Major => Severity::P1,
            CrhSeverity::Minor => Severity::P2,
            CrhSeverity::Info => Severity::P3,
            CrhSeverity::Nit => return Ok(None),
        };
        let finding = Finding {
            diff_line: Some(finding.line),
            line_start: None,
            ..default_finding(severity, Category::Bug, finding.path, finding.comment)
        };
        Ok(Some(new_member(reviewer, Proof::CitedLine, finding)))
    })?;
    Ok(parsed)
}

pub(super) fn parse_agent(value: Value, reviewer: &str) -> Result<ReviewerReturn, ReturnError> {
    let agent_return: AgentReturn = deserialize(value)?;
    let mut parsed = empty_return(reviewer, agent_return.summary);
    parsed.add_findings(agent_return.issues, |value, reviewer| {
        let issue: AgentIssue = deserialize(value)?;
        let severity = match issue.severity {
            AgentSeverity::Critical => Severity::P0,
            AgentSeverity::High => Severity::P1,
            AgentSeverity::Medium => Severity::P2,
            AgentSeverity::Low => Severity::P3,
        };
        let finding = Finding {
            line_start: Some(issue.line_start),
            line_end: issue.line_end,
            confidence: issue.confidence,
            evidence: vec![evidence_from(issue.evidence_snippet)],
            suggested_fix: issue.suggestion.filter(|text| !text.trim().is_empty()),
            ..default_finding(severity, issue.category, issue.file, issue.description)
        };
        Ok(Some(new_member(reviewer, Proof::Quotes, finding)))
    })?;
    Ok(parsed)
}

pub(super) fn parse_ce(value: Value) -> Result<ReviewerReturn, ReturnError> {
    let ce_return: CeReturn = deserialize(value)?;
    let mut parsed = ReviewerReturn {
        residual_risks: ce_return.residual_risks,
        testing_gaps: ce_return.testing_gaps,
        ..empty_return(&ce_return.reviewer, String::new())
    };
    parsed.add_findings(ce_return.findings, |value, reviewer| {
        let finding: CeFinding = deserialize(value)?;
        let evidence: Vec<_> =
            finding.evidence.iter().flat_map(|text| quotes_in(text)).map(evidence_from).collect();
        let proof = if evidence.is_empty() { Proof::CitedLine } else { Proof::Quotes };
        let effect = finding.why_it_matters.unwrap_or_else(|| finding.title.clone());
        let finding = Finding {
            title: finding.title,
            why_it_matters: effect.clone(),
            line_start: Some(finding.line),
            confidence: finding.confidence,
            evidence,
            suggested_fix: finding.suggested_fix,
            autofix_class: finding.autofix_class,
            owner: finding.owner,
            requires_verification: finding.requires_verification,
            pre_existing: finding.pre_existing,
            ..default_finding(
                finding.severity,
                category_for_reviewer(reviewer),
                finding.file,
                effect,
            )
        };
        Ok(Some(new_member(reviewer, proof, finding)))
    })?;
    Ok(parsed)
}

/// A finding with default values: it has to be fixed by hand.
fn default_finding(severity: Severity, category: Category, file: String, text: String) -> Finding {
    let (title, rest) = split_title(&text);
    let why_it_matters = if rest.is_empty() { text.clone() } else { rest.to_owned() };
    Finding {
        title,
        severity,
        category,
        file,
        line_start: None,
        line_end: None,
        side: None,
        diff_line: None,
        confidence: DEFAULT_CONFIDENCE,
        evidence: Vec::new(),
        why_it_matters,
        suggested_fix: None,
        replacement: None,
        autofix_class: AutofixClass::Manual,
        owner: Owner::DownstreamResolver,
        requires_verification: false,
        pre_existing: false,
    }
}

fn new_member(reviewer: &str, proof: Proof, finding: Finding) -> Member {
    Member { proof, ..Member::new(reviewer, finding) }
}

fn empty_return(reviewer: &str, summary: String) -> ReviewerReturn {
    ReviewerReturn {
        reviewer: reviewer.to_owned(),
        members: Vec::new(),
        dropped: Vec::new(),
        residual_risks: Vec::new(),
        testing_gaps: Vec::new(),
        summary,
    }
}

fn evidence_from(snippet: String) -> Evidence {
    Evidence { file: None, line: None, side: None, snippet }
}

/// Splits a comment into a title (its first sentence, shortened) and the rest.
fn split_title(text: &str) -> (String, &str) {
    let text = text.trim();
    let end = text.find('\n').unwrap_or(text.len());
    // A sentence ends before an upper-case letter, so not after `i.e. the`.
    let starts_sentence = |offset: &usize| text[*offset + 2..].starts_with(char::is_uppercase);
    let sentence_end =
        text[..end].match_indices(". ").map(|(offset, _)| offset).find(starts_sentence);
    let (sentence, rest) = text.split_at(sentence_end.map_or(end, |offset| offset + 1));
    let sentence = sentence.trim_end_matches('.');
    let title = shorten_title(sentence);
    if title == sentence { (title, rest.trim_start()) } else { (title, text) }
}

/// Quotes in a sentence of evidence: backtick spans that are long enough. A short name like
/// `status` is a mention, not a quote.
fn quotes_in(text: &str) -> Vec<String> {
    let spans = text.split('`').skip(1).step_by(2);
    spans.filter(|span| Needle::new(span).is_some()).map(str::to_owned).collect()
}

/// ce-code-review has no categories, so the persona decides.
fn category_for_reviewer(reviewer: &str) -> Category {
    let persona = reviewer.trim_start_matches("ce-").trim_end_matches("-reviewer");
    match persona {
        "security" => Category::Security,
        "performance" => Category::Performance,
        "testing" => Category::Testing,
        "maintainability" | "kieran-rails" | "kieran-python" | "kieran-typescript"
        | "dhh-rails" => Category::Maintainability,
        "project-standards" => Category::Standards,
        "api-contract" | "cli-readiness" => Category::ApiContract,
        "data-migrations" => Category::Data,
        "reliability" => Category::ErrorHandling,
        "julik-frontend-races" => Category::Concurrency,
        _ => Category::Bug,
    }
}
