//! Parses what reviewers return, in crh's own format or one of three other dialects.
//!
//! A *return* is the whole output of one reviewer. A return that cannot be parsed is an error that
//! tells the reviewer what to change. A finding that cannot be parsed is dropped with a reason; the
//! other findings are kept.

mod dialects;

pub(crate) use dialects::{AgentReturn, CeReturn, CrhReturn};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::finding::{Finding, Member};
use crate::report::{DroppedFinding, Fate};
use crate::shape::{
    repair_evidence, repair_numbers, repair_paths, repair_title, repair_words, shape_problems,
};
use crate::strict_json::StrictJson;

/// Limit on findings per return. More is a broken reviewer or an attack.
const MAX_FINDINGS: usize = 10_000;

/// Format of a return.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Dialect {
    /// crh's own format.
    #[default]
    Native,
    /// CRH: `{findings: [{severity, path, line, comment}], summary}`, `line` a line of
    /// `numbered.diff`.
    Crh,
    /// The agent spec's `ReviewResult`.
    Agent,
    /// ce-code-review, compact or full.
    Ce,
}

/// What a reviewer returned, parsed.
#[derive(Debug, Clone, PartialEq)]
pub struct ReviewerReturn {
    /// The reviewer's name.
    pub reviewer: String,
    /// Valid findings, each with the reviewer's name.
    pub members: Vec<Member>,
    /// Invalid findings and nitpicks.
    pub dropped: Vec<DroppedFinding>,
    /// Remaining risks.
    pub residual_risks: Vec<String>,
    /// Behaviour without tests.
    pub testing_gaps: Vec<String>,
    /// The reviewer's summary of its run.
    pub summary: String,
}

/// Why a return cannot be parsed. The message is for the reviewer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReturnError {
    /// Not JSON.
    #[error("this is not JSON: {0}; return one JSON object and nothing else")]
    NotJson(String),
    /// JSON with another structure.
    #[error("{0}")]
    Shape(String),
    /// Too many findings.
    #[error("{0} findings are more than {MAX_FINDINGS}; return the ones that matter")]
    TooMany(usize),
}

/// A return in crh's own format. Findings are parsed one by one.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NativeReturn {
    reviewer: String,
    findings: Vec<Value>,
    #[serde(default)]
    residual_risks: Vec<String>,
    #[serde(default)]
    testing_gaps: Vec<String>,
    #[serde(default)]
    summary: String,
}

/// Parses a return. `reviewer` is the name to use if the dialect has none.
pub fn parse_return(
    text: &[u8],
    dialect: Dialect,
    reviewer: &str,
) -> Result<ReviewerReturn, ReturnError> {
    let StrictJson(value) =
        serde_json::from_slice(text).map_err(|error| ReturnError::NotJson(error.to_string()))?;
    parse_return_value(value, dialect, reviewer)
}

/// Parses a return from a JSON value.
pub fn parse_return_value(
    value: Value,
    dialect: Dialect,
    reviewer: &str,
) -> Result<ReviewerReturn, ReturnError> {
    let parsed = match dialect {
        Dialect::Native => parse_native(value),
        Dialect::Crh => dialects::parse_crh(value, reviewer),
        Dialect::Agent => dialects::parse_agent(value, reviewer),
        Dialect::Ce => dialects::parse_ce(value),
    }?;
    if parsed.reviewer.trim().is_empty() {
        return Err(ReturnError::Shape("`reviewer` is empty: say who you are".to_owned()));
    }
    Ok(parsed)
}

fn parse_native(value: Value) -> Result<ReviewerReturn, ReturnError> {
    let native: NativeReturn = deserialize(value)?;
    let mut parsed = ReviewerReturn {
        members: Vec::new(),
        dropped: Vec::new(),
        reviewer: native.reviewer,
        residual_risks: native.residual_risks,
        testing_gaps: native.testing_gaps,
        summary: native.summary,
    };
    parsed.add_findings(native.findings, |mut value, reviewer| {
        if is_nit(&value) {
            return Ok(None);
        }
        repair_evidence(&mut value);
        repair_words(&mut value);
        Ok(Some(Member::new(reviewer, deserialize::<Finding>(value)?)))
    })?;
    Ok(parsed)
}

/// Whether a model calls its finding a nitpick, which is not a severity of crh.
fn is_nit(finding: &Value) -> bool {
    let severity = finding.get("severity").and_then(Value::as_str).unwrap_or_default();
    ["nit", "nitpick"].iter().any(|nit| severity.trim().eq_ignore_ascii_case(nit))
}

impl ReviewerReturn {
    /// Parses findings one by one into members or dropped findings. `parse_finding` returns `None`
    /// for a nitpick.
    fn add_findings(
        &mut self,
        findings: Vec<Value>,
        parse_finding: impl Fn(Value, &str) -> Result<Option<Member>, ReturnError>,
    ) -> Result<(), ReturnError> {
        if findings.len() > MAX_FINDINGS {
            return Err(ReturnError::TooMany(findings.len()));
        }
        for (index, raw) in findings.into_iter().enumerate() {
            let mut repaired = raw.clone();
            repair_numbers(&mut repaired);
            let (fate, reason) = match parse_finding(repaired, &self.reviewer) {
                Ok(Some(mut member)) => {
                    repair_title(&mut member.finding.title);
                    repair_paths(&mut member.finding);
                    let problems = shape_problems(&member);
                    if problems.is_empty() {
                        self.members.push(member);
                        continue;
                    }
                    (Fate::Malformed, format!("findings[{index}]: {}", problems.join("; ")))
                }
                Ok(None) => (Fate::Nit, "the reviewer calls it a nit".to_owned()),
                Err(error) => (Fate::Malformed, format!("findings[{index}]: {error}")),
            };
            let (reviewer, raw) = (self.reviewer.clone(), Some(raw));
            self.dropped.push(DroppedFinding {
                fate,
                reason,
                cause: None,
                into: None,
                open: None,
                validation: None,
                reviewer,
                member: None,
                raw,
            });
        }
        Ok(())
    }
}

/// Deserialises a value; the error names the field.
fn deserialize<T: DeserializeOwned>(value: Value) -> Result<T, ReturnError> {
    // serde would accept a list as the fields in order.
    let evidence = value.get("evidence").and_then(Value::as_array);
    if evidence.is_some_and(|entries| entries.iter().any(Value::is_array)) {
        return Err(ReturnError::Shape("`evidence`: expected JSON objects in it".to_owned()));
    }
    if !value.is_object() {
        return Err(ReturnError::Shape("expected a JSON object".to_owned()));
    }
    serde_path_to_error::deserialize(value).map_err(|error| {
        let path = error.path().to_string();
        let message = without_type_names(&error.into_inner().to_string());
        match path.as_str() {
            "." => ReturnError::Shape(message),
            _ => ReturnError::Shape(format!("`{path}`: {message}")),
        }
    })
}

/// Removes Rust type names from an error, because a model would try to follow them.
fn without_type_names(error: &str) -> String {
    error
        .replace("a nonzero u32", "a whole number from 1")
        .replace("struct Finding", "a JSON object")
        .replace("struct Evidence", "a JSON object")
        .replace("f64", "a number")
}

#[cfg(test)]
mod tests;
