//! The parts of SARIF 2.1.0 that are read, and what they say by default.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

use crate::REVIEWERS;

/// More results than this were never meant for people.
const RESULTS_MAX: usize = 100_000;
/// What code-scanning services take, uncompressed, many times over.
const BYTES_MAX: usize = 256 << 20;
/// A name of a tool or rule that is longer is not one.
const NAME_CHARS: usize = 100;

/// Why a file cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SarifError {
    /// It is no JSON, or has not the shape of a log.
    #[error("it is not SARIF: {0}")]
    NotSarif(String),
    /// It is another version.
    #[error("it is SARIF `{0}`, and only `2.1.0` is read")]
    Version(String),
    /// It is too large.
    #[error("it has {0} bytes, more than the {BYTES_MAX} that are read")]
    TooLarge(usize),
}

/// A file, read.
#[derive(Debug, Clone)]
pub(super) struct Log {
    pub(super) runs: Vec<ToolRun>,
}

/// What one run of a tool says.
#[derive(Debug, Clone)]
pub(super) struct ToolRun {
    pub(super) name: String,
    rules: BTreeMap<String, RuleFacts>,
    in_order: Vec<String>,
    pub(super) bases: BTreeMap<String, ArtifactLocation>,
    pub(super) artifacts: Vec<Artifact>,
    pub(super) columns_are_characters: bool,
    pub(super) results: Vec<SarifResult>,
    /// How many results were not read because there are too many.
    pub(super) more: usize,
    /// How many have not the shape of one.
    pub(super) malformed: usize,
    /// The messages that all rules share.
    shared: BTreeMap<String, Text>,
}

#[derive(Debug, Deserialize)]
struct Top {
    version: String,
    runs: Vec<Run>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Run {
    tool: Tool,
    #[serde(default)]
    original_uri_base_ids: BTreeMap<String, ArtifactLocation>,
    #[serde(default)]
    artifacts: Vec<Artifact>,
    #[serde(default)]
    column_kind: String,
    /// Null, or missing, if the tool did not run to its end.
    #[serde(default)]
    results: Option<Vec<Row>>,
}

/// What one tool wrote wrong about one result costs that result alone.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Row {
    Result(Box<SarifResult>),
    Malformed(IgnoredAny),
}

#[derive(Debug, Deserialize)]
struct Tool {
    driver: Component,
    #[serde(default)]
    extensions: Vec<Component>,
}

#[derive(Debug, Deserialize)]
struct Component {
    #[serde(default)]
    name: String,
    #[serde(default)]
    rules: Vec<RuleFacts>,
    #[serde(default, rename = "globalMessageStrings")]
    shared: BTreeMap<String, Text>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct RuleFacts {
    id: String,
    pub(super) short_description: Text,
    message_strings: BTreeMap<String, Text>,
    default_configuration: Configuration,
    properties: Value,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct Configuration {
    level: String,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Text {
    pub(super) text: String,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct SarifResult {
    rule_id: String,
    rule_index: Option<i64>,
    rule: RuleReference,
    level: String,
    kind: String,
    pub(super) message: Message,
    pub(super) locations: Vec<Location>,
    suppressions: Vec<SuppressionFacts>,
    baseline_state: String,
    pub(super) fixes: Vec<Fix>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct RuleReference {
    id: String,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Message {
    pub(super) text: String,
    pub(super) markdown: String,
    pub(super) id: String,
    pub(super) arguments: Vec<String>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Location {
    pub(super) physical_location: PhysicalLocation,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct PhysicalLocation {
    pub(super) artifact_location: ArtifactLocation,
    pub(super) region: Option<Region>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct ArtifactLocation {
    pub(super) uri: String,
    pub(super) uri_base_id: String,
    pub(super) index: Option<i64>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Artifact {
    pub(super) location: ArtifactLocation,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Region {
    pub(super) start_line: Option<u32>,
    pub(super) end_line: Option<u32>,
    pub(super) start_column: Option<u32>,
    pub(super) end_column: Option<u32>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct SuppressionFacts {
    kind: String,
    status: String,
    justification: String,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Fix {
    pub(super) description: Text,
    pub(super) artifact_changes: Vec<ArtifactChange>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct ArtifactChange {
    pub(super) artifact_location: ArtifactLocation,
    pub(super) replacements: Vec<Replacement>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Replacement {
    pub(super) deleted_region: Region,
    pub(super) inserted_content: Text,
}

impl Log {
    pub(super) fn read(bytes: &[u8]) -> Result<Self, SarifError> {
        if bytes.len() > BYTES_MAX {
            return Err(SarifError::TooLarge(bytes.len()));
        }
        // A mark at the start is common on Windows.
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        let top: Top = serde_json::from_slice(bytes)
            .map_err(|error| SarifError::NotSarif(words(&error.to_string())))?;
        if top.version != "2.1.0" {
            return Err(SarifError::Version(words(&top.version)));
        }
        Ok(Self { runs: top.runs.into_iter().map(ToolRun::of).collect() })
    }
}

/// A short text on one line.
fn words(text: &str) -> String {
    text.chars().map(|it| if it.is_control() { ' ' } else { it }).take(2 * NAME_CHARS).collect()
}

impl ToolRun {
    fn of(run: Run) -> Self {
        let Run { tool, original_uri_base_ids, artifacts, column_kind, results } = run;
        let in_order = tool.driver.rules.iter().map(|rule| rule.id.clone()).collect();
        let all = tool.extensions.into_iter().flat_map(|it| it.rules).chain(tool.driver.rules);
        let rows = results.unwrap_or_default();
        let more = rows.len().saturating_sub(RESULTS_MAX);
        let (mut results, mut malformed) = (Vec::new(), 0);
        for row in rows.into_iter().take(RESULTS_MAX) {
            match row {
                Row::Result(result) => results.push(*result),
                Row::Malformed(_) => malformed += 1,
            }
        }
        Self {
            name: tool.driver.name,
            rules: all.map(|rule| (rule.id.clone(), rule)).collect(),
            in_order,
            bases: original_uri_base_ids,
            artifacts,
            columns_are_characters: column_kind == "unicodeCodePoints",
            results,
            more,
            malformed,
            shared: tool.driver.shared,
        }
    }

    /// The tool's name as a part of ours. One that is called like a reviewer that is built in is not that reviewer: what holds
    /// for its rules does not hold for the tool's.
    pub(super) fn slug(&self) -> String {
        let mut slug = String::new();
        for char in self.name.chars().take(NAME_CHARS) {
            if char.is_ascii_alphanumeric() {
                slug.push(char.to_ascii_lowercase());
            } else if !slug.is_empty() && !slug.ends_with('-') {
                slug.push('-');
            }
        }
        match slug.trim_end_matches('-') {
            "" => "tool".to_owned(),
            slug if REVIEWERS.contains(&slug) => format!("{slug}-tool"),
            slug => slug.to_owned(),
        }
    }

    /// The rule of a result with the tool before it: `codeql/js/xss`.
    pub(super) fn rule_id(&self, result: &SarifResult) -> String {
        let id = self.plain_id(result);
        let is_plain = |char: &char| !char.is_whitespace() && !char.is_control() && *char != '`';
        let id: String = id.chars().filter(is_plain).take(NAME_CHARS).collect();
        let id = if id.is_empty() { "result" } else { id.as_str() };
        format!("{}/{id}", self.slug())
    }

    fn plain_id<'a>(&'a self, result: &'a SarifResult) -> &'a str {
        let by_index = || {
            let at = usize::try_from(result.rule_index?).ok()?;
            self.in_order.get(at).map(String::as_str)
        };
        [&result.rule_id, &result.rule.id]
            .into_iter()
            .find(|id| !id.is_empty())
            .map(String::as_str)
            .or_else(by_index)
            .unwrap_or_default()
    }

    pub(super) fn facts(&self, result: &SarifResult) -> Option<&RuleFacts> {
        let id = self.plain_id(result);
        // The id of a result can be finer than that of its rule: `CA1000/1`.
        let coarser = || id.rsplit_once('/').and_then(|(id, _)| self.rules.get(id));
        self.rules.get(id).or_else(coarser)
    }

    /// The message that a result names instead of saying it.
    pub(super) fn named(&self, result: &SarifResult) -> Option<&str> {
        let id = &result.message.id;
        let own = self.facts(result).and_then(|rule| rule.message_strings.get(id));
        own.or_else(|| self.shared.get(id)).map(|it| it.text.as_str())
    }

    pub(super) fn level<'a>(&'a self, result: &'a SarifResult) -> &'a str {
        if !result.level.is_empty() {
            return &result.level;
        }
        self.facts(result).map_or("", |rule| rule.default_configuration.level.as_str())
    }

    /// How bad it is for security, from 0 to 10.
    pub(super) fn security_severity(&self, result: &SarifResult) -> Option<f64> {
        match self.facts(result)?.properties.get("security-severity")? {
            Value::String(text) => text.trim().parse().ok(),
            Value::Number(number) => number.as_f64(),
            _ => None,
        }
    }

    pub(super) fn tags(&self, result: &SarifResult) -> Vec<&str> {
        let tags = self.facts(result).and_then(|rule| rule.properties.get("tags"));
        let tags = tags.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        tags.iter().filter_map(Value::as_str).collect()
    }
}

impl SarifResult {
    /// Whether it is a problem that its own baseline does not know.
    pub(super) fn is_problem(&self) -> bool {
        (self.kind.is_empty() || self.kind == "fail")
            && !matches!(self.baseline_state.as_str(), "unchanged" | "absent")
    }

    /// Why it counts as suppressed by the file itself.
    pub(super) fn suppressed(&self) -> Option<String> {
        let all_count =
            self.suppressions.iter().all(|it| it.status.is_empty() || it.status == "accepted");
        let first = self.suppressions.first().filter(|_| all_count)?;
        let kind = if first.kind == "inSource" { "in the source" } else { "outside the source" };
        let why = words(&first.justification);
        let why = if why.is_empty() { String::new() } else { format!(": {why}") };
        Some(format!("suppressed {kind}, as its SARIF file says{why}"))
    }
}
