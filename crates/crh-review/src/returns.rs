//! What reviewers return, read in our own shape or in one of three others, mapped once, at the door.
//!
//! A return that cannot be read is an error with a sentence the reviewer can act on. A finding that cannot
//! be read in a good return is set aside with its fate; the others are not affected.

mod dialects;

pub(crate) use dialects::{AgentReturn, CeReturn, CrhReturn};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::check::shape_problems;
use crate::finding::{Finding, Member};
use crate::report::{Dropped, Fate};
use crate::strict::Strict;

/// No reviewer has so much to say; more is a broken reviewer or an attack.
const FINDINGS_MAX: usize = 10_000;

/// The shape of a return.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Dialect {
    /// Our own.
    #[default]
    Native,
    /// CRH: `{findings: [{severity, path, line, comment}], summary}`, `line` a line of `numbered.diff`.
    Crh,
    /// The agent spec's `ReviewResult`.
    Agent,
    /// ce-code-review, compact or full.
    Ce,
}

/// A return that was read.
#[derive(Debug, Clone, PartialEq)]
pub struct Parsed {
    /// The reviewer's name.
    pub reviewer: String,
    /// The findings that have the right shape.
    pub members: Vec<Member>,
    /// Those that do not, and nits.
    pub set_aside: Vec<Dropped>,
    /// Risks that remain.
    pub residual_risks: Vec<String>,
    /// Behaviour that no test covers.
    pub testing_gaps: Vec<String>,
    /// What the reviewer said about its run.
    pub summary: String,
}

/// Why a return cannot be read, in words for whoever wrote it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReturnError {
    /// It is not JSON at all.
    #[error("this is not JSON: {0}; return one JSON object and nothing else")]
    NotJson(String),
    /// It is JSON of another shape.
    #[error("{0}")]
    Shape(String),
    /// It has too many findings.
    #[error("{0} findings are more than {FINDINGS_MAX}; return the ones that matter")]
    TooMany(usize),
}

/// The top of a return in our own shape; the findings are read one by one.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NativeTop {
    reviewer: String,
    findings: Vec<Value>,
    #[serde(default)]
    residual_risks: Vec<String>,
    #[serde(default)]
    testing_gaps: Vec<String>,
    #[serde(default)]
    summary: String,
}

/// Reads a return. `reviewer` names the reviewer where the dialect does not.
pub fn parse_return(text: &[u8], dialect: Dialect, reviewer: &str) -> Result<Parsed, ReturnError> {
    let Strict(value) =
        serde_json::from_slice(text).map_err(|error| ReturnError::NotJson(error.to_string()))?;
    read_return(value, dialect, reviewer)
}

/// Reads a return that is JSON already.
pub fn read_return(value: Value, dialect: Dialect, reviewer: &str) -> Result<Parsed, ReturnError> {
    let parsed = match dialect {
        Dialect::Native => native(value),
        Dialect::Crh => dialects::crh(value, reviewer),
        Dialect::Agent => dialects::agent(value, reviewer),
        Dialect::Ce => dialects::ce(value),
    }?;
    if parsed.reviewer.trim().is_empty() {
        return Err(ReturnError::Shape("`reviewer` is empty: say who you are".to_owned()));
    }
    Ok(parsed)
}

fn native(value: Value) -> Result<Parsed, ReturnError> {
    let top: NativeTop = read(value)?;
    let mut parsed = Parsed {
        members: Vec::new(),
        set_aside: Vec::new(),
        reviewer: top.reviewer,
        residual_risks: top.residual_risks,
        testing_gaps: top.testing_gaps,
        summary: top.summary,
    };
    parsed.take_in(top.findings, |value, reviewer| {
        Ok(Some(Member::new(reviewer, read::<Finding>(value)?)))
    })?;
    Ok(parsed)
}

impl Parsed {
    /// Reads findings one by one; each ends as a member or set aside. `take` gives nothing for a nit.
    fn take_in(
        &mut self,
        findings: Vec<Value>,
        take: impl Fn(Value, &str) -> Result<Option<Member>, ReturnError>,
    ) -> Result<(), ReturnError> {
        if findings.len() > FINDINGS_MAX {
            return Err(ReturnError::TooMany(findings.len()));
        }
        for (at, raw) in findings.into_iter().enumerate() {
            let (fate, reason) = match take(raw.clone(), &self.reviewer) {
                Ok(Some(member)) => {
                    let problems = shape_problems(&member);
                    if problems.is_empty() {
                        self.members.push(member);
                        continue;
                    }
                    (Fate::Malformed, format!("findings[{at}]: {}", problems.join("; ")))
                }
                Ok(None) => (Fate::Nit, "the reviewer calls it a nit".to_owned()),
                Err(error) => (Fate::Malformed, format!("findings[{at}]: {error}")),
            };
            let (reviewer, raw) = (self.reviewer.clone(), Some(raw));
            self.set_aside.push(Dropped { fate, reason, into: None, reviewer, member: None, raw });
        }
        Ok(())
    }
}

/// Reads a value as a type; the error names the field.
fn read<T: DeserializeOwned>(value: Value) -> Result<T, ReturnError> {
    // A list would be taken for the fields in their order.
    let evidence = value.get("evidence").and_then(Value::as_array);
    if evidence.is_some_and(|pieces| pieces.iter().any(Value::is_array)) {
        return Err(ReturnError::Shape("`evidence`: expected JSON objects in it".to_owned()));
    }
    if !value.is_object() {
        return Err(ReturnError::Shape("expected a JSON object".to_owned()));
    }
    serde_path_to_error::deserialize(value).map_err(|error| {
        let path = error.path().to_string();
        let inner = in_plain_words(&error.into_inner().to_string());
        match path.as_str() {
            "." => ReturnError::Shape(inner),
            _ => ReturnError::Shape(format!("`{path}`: {inner}")),
        }
    })
}

/// An error without the names of our types, which a model would try to obey.
fn in_plain_words(error: &str) -> String {
    error
        .replace("a nonzero u32", "a whole number from 1")
        .replace("struct Finding", "a JSON object")
        .replace("struct Evidence", "a JSON object")
        .replace("f64", "a number")
}

#[cfg(test)]
mod tests;
