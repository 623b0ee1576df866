//! The parts of SARIF 2.1.0 that crh reads, with their defaults.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

use crate::REVIEWERS;

/// Maximum results read per run. A file with more is not meant for people.
const RESULTS_MAX: usize = 100_000;
/// Maximum bytes of a SARIF file: many times what code-scanning services accept.
const BYTES_MAX: usize = 256 << 20;
/// Maximum characters of the name of a tool or rule. Longer names are cut.
const NAME_CHARS: usize = 100;

/// Why a file cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SarifReadError {
    /// Not JSON, or not a SARIF log.
    #[error("not a SARIF file: {0}")]
    NotSarif(String),
    /// An unsupported version.
    #[error("SARIF version `{0}` is not supported (only `2.1.0`)")]
    Version(String),
    /// Too large, in bytes.
    #[error("the file has {0} bytes, the limit is {BYTES_MAX}")]
    TooLarge(usize),
}

#[derive(Debug, Clone)]
pub(super) struct SarifLog {
    pub(super) runs: Vec<ToolRun>,
}

#[derive(Debug, Clone)]
pub(super) struct ToolRun {
    pub(super) name: String,
    rules: BTreeMap<String, SarifRule>,
    driver_rule_ids: Vec<String>,
    pub(super) bases: BTreeMap<String, ArtifactLocation>,
    pub(super) artifacts: Vec<Artifact>,
    pub(super) columns_are_characters: bool,
    pub(super) results: Vec<SarifResult>,
    /// Number of results over [`RESULTS_MAX`], which are not read.
    pub(super) results_over_limit: usize,
    /// Number of malformed results, which are skipped.
    pub(super) malformed_results: usize,
    /// Messages shared by all rules.
    shared_messages: BTreeMap<String, SarifText>,
}

#[derive(Debug, Deserialize)]
struct RawLog {
    version: String,
    runs: Vec<RawRun>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawRun {
    tool: SarifTool,
    #[serde(default)]
    original_uri_base_ids: BTreeMap<String, ArtifactLocation>,
    #[serde(default)]
    artifacts: Vec<Artifact>,
    #[serde(default)]
    column_kind: String,
    /// Null or missing if the tool did not finish its run.
    #[serde(default)]
    results: Option<Vec<RawResult>>,
}

/// A result that may be malformed, so that one malformed result does not invalidate the others.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum RawResult {
    Result(Box<SarifResult>),
    Malformed(IgnoredAny),
}

#[derive(Debug, Deserialize)]
struct SarifTool {
    driver: ToolComponent,
    #[serde(default)]
    extensions: Vec<ToolComponent>,
}

#[derive(Debug, Deserialize)]
struct ToolComponent {
    #[serde(default)]
    name: String,
    #[serde(default)]
    rules: Vec<SarifRule>,
    #[serde(default, rename = "globalMessageStrings")]
    shared_messages: BTreeMap<String, SarifText>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct SarifRule {
    id: String,
    pub(super) short_description: SarifText,
    message_strings: BTreeMap<String, SarifText>,
    default_configuration: RuleConfiguration,
    properties: Value,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct RuleConfiguration {
    level: String,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct SarifText {
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
    pub(super) message: SarifMessage,
    pub(super) locations: Vec<SarifLocation>,
    suppressions: Vec<SarifSuppression>,
    baseline_state: String,
    pub(super) fixes: Vec<SarifFix>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct RuleReference {
    id: String,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct SarifMessage {
    pub(super) text: String,
    pub(super) markdown: String,
    pub(super) id: String,
    pub(super) arguments: Vec<String>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct SarifLocation {
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
struct SarifSuppression {
    kind: String,
    status: String,
    justification: String,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct SarifFix {
    pub(super) description: SarifText,
    pub(super) artifact_changes: Vec<ArtifactChange>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct ArtifactChange {
    pub(super) artifact_location: ArtifactLocation,
    pub(super) replacements: Vec<SarifReplacement>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct SarifReplacement {
    pub(super) deleted_region: Region,
    pub(super) inserted_content: SarifText,
}

impl SarifLog {
    pub(super) fn read(bytes: &[u8]) -> Result<Self, SarifReadError> {
        if bytes.len() > BYTES_MAX {
            return Err(SarifReadError::TooLarge(bytes.len()));
        }
        // Windows tools often write a byte order mark.
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        let log: RawLog = serde_json::from_slice(bytes)
            .map_err(|error| SarifReadError::NotSarif(one_line(&error.to_string())))?;
        if log.version != "2.1.0" {
            return Err(SarifReadError::Version(one_line(&log.version)));
        }
        Ok(Self { runs: log.runs.into_iter().map(ToolRun::from_raw).collect() })
    }
}

/// The start of a text on one line, at most twice [`NAME_CHARS`] long.
fn one_line(text: &str) -> String {
    text.chars().map(|it| if it.is_control() { ' ' } else { it }).take(2 * NAME_CHARS).collect()
}

impl ToolRun {
    fn from_raw(run: RawRun) -> Self {
        let RawRun { tool, original_uri_base_ids, artifacts, column_kind, results } = run;
        let driver_rule_ids = tool.driver.rules.iter().map(|rule| rule.id.clone()).collect();
        let rules = tool.extensions.into_iter().flat_map(|it| it.rules).chain(tool.driver.rules);
        let raw_results = results.unwrap_or_default();
        let results_over_limit = raw_results.len().saturating_sub(RESULTS_MAX);
        let (mut results, mut malformed_results) = (Vec::new(), 0);
        for raw_result in raw_results.into_iter().take(RESULTS_MAX) {
            match raw_result {
                RawResult::Result(result) => results.push(*result),
                RawResult::Malformed(_) => malformed_results += 1,
            }
        }
        Self {
            name: tool.driver.name,
            rules: rules.map(|rule| (rule.id.clone(), rule)).collect(),
            driver_rule_ids,
            bases: original_uri_base_ids,
            artifacts,
            columns_are_characters: column_kind == "unicodeCodePoints",
            results,
            results_over_limit,
            malformed_results,
            shared_messages: tool.driver.shared_messages,
        }
    }

    /// The tool's name as a rule prefix. If a built-in reviewer has the same name, the tool's name
    /// gets a suffix.
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

    /// The rule id with the tool's prefix: `codeql/js/xss`.
    pub(super) fn rule_id(&self, result: &SarifResult) -> String {
        let id = self.raw_rule_id(result);
        let is_plain = |char: &char| !char.is_whitespace() && !char.is_control() && *char != '`';
        let id: String = id.chars().filter(is_plain).take(NAME_CHARS).collect();
        let id = if id.is_empty() { "result" } else { id.as_str() };
        format!("{}/{id}", self.slug())
    }

    fn raw_rule_id<'a>(&'a self, result: &'a SarifResult) -> &'a str {
        let by_index = || {
            let at = usize::try_from(result.rule_index?).ok()?;
            self.driver_rule_ids.get(at).map(String::as_str)
        };
        [&result.rule_id, &result.rule.id]
            .into_iter()
            .find(|id| !id.is_empty())
            .map(String::as_str)
            .or_else(by_index)
            .unwrap_or_default()
    }

    pub(super) fn rule(&self, result: &SarifResult) -> Option<&SarifRule> {
        let id = self.raw_rule_id(result);
        // The id of a result can be more specific than the id of its rule: `CA1000/1` belongs to
        // `CA1000`.
        let general_rule = || id.rsplit_once('/').and_then(|(id, _)| self.rules.get(id));
        self.rules.get(id).or_else(general_rule)
    }

    /// The message that a result refers to by id.
    pub(super) fn message_by_id(&self, result: &SarifResult) -> Option<&str> {
        let id = &result.message.id;
        let rule_message = self.rule(result).and_then(|rule| rule.message_strings.get(id));
        rule_message.or_else(|| self.shared_messages.get(id)).map(|it| it.text.as_str())
    }

    pub(super) fn level<'a>(&'a self, result: &'a SarifResult) -> &'a str {
        if !result.level.is_empty() {
            return &result.level;
        }
        self.rule(result).map_or("", |rule| rule.default_configuration.level.as_str())
    }

    /// Security severity from 0 to 10.
    pub(super) fn security_severity(&self, result: &SarifResult) -> Option<f64> {
        match self.rule(result)?.properties.get("security-severity")? {
            Value::String(text) => text.trim().parse().ok(),
            Value::Number(number) => number.as_f64(),
            _ => None,
        }
    }

    pub(super) fn tags(&self, result: &SarifResult) -> Vec<&str> {
        let tags = self.rule(result).and_then(|rule| rule.properties.get("tags"));
        let tags = tags.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        tags.iter().filter_map(Value::as_str).collect()
    }
}

impl SarifResult {
    /// Whether the result is a problem that is not in the baseline recorded in the SARIF file.
    pub(super) fn is_problem(&self) -> bool {
        (self.kind.is_empty() || self.kind == "fail")
            && !matches!(self.baseline_state.as_str(), "unchanged" | "absent")
    }

    /// The reason, if the SARIF file suppresses the result.
    pub(super) fn suppression_reason(&self) -> Option<String> {
        let all_accepted =
            self.suppressions.iter().all(|it| it.status.is_empty() || it.status == "accepted");
        let first = self.suppressions.first().filter(|_| all_accepted)?;
        let kind = if first.kind == "inSource" { "in the source" } else { "outside the source" };
        let why = one_line(&first.justification);
        let why = if why.is_empty() { String::new() } else { format!(": {why}") };
        Some(format!("the SARIF file marks it as suppressed {kind}{why}"))
    }
}
