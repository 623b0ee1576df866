//! The baseline: the findings that static checks have when a repository adopts crh. crh reports
//! only newer findings.
//!
//! Invariant: a baseline contains hashes of lines, but no code and no secrets. It contains no
//! findings about prompt injection, since [`Baseline::from_tree`] does not run that check.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

use serde::{Deserialize, Serialize};

use super::options::{CheckOptions, SuppressionOrigin};
use super::revision_project::RevisionProject;
use super::rules::patterns_at;
use super::sarif::record_from_tool;
use super::{changed_file, record_from_run};
use crate::revisions::Revisions;
use crate::runs::RunRecord;
use crate::scope::Scope;
use crh_lint::sarif::SarifComparison;
use crh_lint::{ChangeView, ChangedFile, Project, fold_whitespace, sarif};
use crh_review::diff::Diff;
use crh_review::finding::{Member, Side};
use crh_review::identity::content_id;
use crh_review::stable_json;

/// Path of a repository's baseline.
pub const BASELINE: &str = ".crh/baseline.json";

/// Format version. Increased when older readers would misread the file.
const SCHEMA_VERSION: u32 = 1;
/// Hex digits of a line hash: enough to distinguish the lines of a file. A person who reads the
/// baseline can check a guess of a whole line, but cannot compute a line from its hash.
const HASH_CHARS: usize = 16;

/// Prefix of the names of rules for credentials. A baseline entry that the change itself adds does
/// not suppress findings of these rules.
pub(super) const SECRETS_PREFIX: &str = "secrets/";

/// Known findings, with the number of findings for each entry.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Baseline {
    entries: BTreeMap<BaselineEntry, u32>,
}

/// Identity of a finding in a baseline.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct BaselineEntry {
    file: String,
    rule: String,
    line_hash: String,
}

/// Why a file is not a valid baseline.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BaselineError {
    /// The file is not JSON, or does not have the fields of a baseline.
    #[error("it is not a baseline: {0}")]
    InvalidFormat(String),
    /// A newer crh wrote the file.
    #[error("it has schema version {0}, but this crh reads up to {SCHEMA_VERSION}; upgrade crh")]
    TooNew(u32),
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct BaselineFile {
    schema_version: u32,
    findings: Vec<BaselineFileEntry>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct BaselineFileEntry {
    rule: String,
    file: String,
    /// Start of the hash of the line, after [`fold_whitespace`].
    #[serde(rename = "line")]
    line_hash: String,
    count: u32,
}

impl Baseline {
    /// Parses a baseline file.
    pub fn parse(bytes: &[u8]) -> Result<Self, BaselineError> {
        let value: serde_json::Value = serde_json::from_slice(bytes)
            .map_err(|error| BaselineError::InvalidFormat(error.to_string()))?;
        let version = value.get("schema_version").and_then(serde_json::Value::as_u64);
        if let Some(version) = version.filter(|version| *version > u64::from(SCHEMA_VERSION)) {
            return Err(BaselineError::TooNew(u32::try_from(version).unwrap_or(u32::MAX)));
        }
        let parsed: BaselineFile = serde_json::from_value(value)
            .map_err(|error| BaselineError::InvalidFormat(error.to_string()))?;
        let mut entries = BTreeMap::new();
        for BaselineFileEntry { rule, file, line_hash, count } in parsed.findings {
            let entry = BaselineEntry { file, rule, line_hash };
            let sum: &mut u32 = entries.entry(entry).or_default();
            *sum = sum.saturating_add(count);
        }
        Ok(Self { entries })
    }

    /// Formats the baseline file. Output is sorted and deterministic.
    pub fn to_json(&self) -> serde_json::Result<String> {
        let findings = self.entries.iter().map(|(entry, count)| BaselineFileEntry {
            rule: entry.rule.clone(),
            file: entry.file.clone(),
            line_hash: entry.line_hash.clone(),
            count: *count,
        });
        stable_json(&BaselineFile { schema_version: SCHEMA_VERSION, findings: findings.collect() })
    }

    /// Number of findings by rule.
    pub fn by_rule(&self) -> BTreeMap<&str, u32> {
        let mut counts: BTreeMap<&str, u32> = BTreeMap::new();
        for (entry, count) in &self.entries {
            *counts.entry(&entry.rule).or_default() += count;
        }
        counts
    }

    /// Runs the built-in checks and the repository's own rules on a whole tree, and imports SARIF
    /// files, as if every file were new. Returns the baseline and notes for the user: problems of
    /// the repository's rules, and notes and failures of the checks.
    ///
    /// `diff` is the diff from the empty tree. Installed analysers do not run here, since they
    /// report only new findings in every review.
    pub fn from_tree(
        diff: &Diff,
        scope: &Scope,
        revisions: &Revisions,
        options: &CheckOptions,
        stop: &AtomicBool,
    ) -> (Self, Vec<String>) {
        let files = scope.files.iter().zip(diff.files()).filter(|(file, _)| file.decision.is_in());
        let files: Vec<ChangedFile> = files.map(|(_, file)| changed_file(diff, file)).collect();
        let project = RevisionProject::new(revisions, stop);
        let (patterns, rule_notes) = patterns_at(revisions, "head");
        let mut records = Vec::new();
        // One file at a time, since a check limits its findings per change.
        for file in &files {
            let single_file = std::slice::from_ref(file);
            let change = ChangeView::new(single_file, &files, Some(&project));
            let runs = crh_lint::review(&change, &patterns);
            records.extend(runs.into_iter().map(|run| record_from_run(run, None)));
        }
        let change = ChangeView::new(&files, &files, Some(&project));
        let tool_runs = sarif::review(&options.sarif, SarifComparison::Everything, &change);
        records.extend(tool_runs.into_iter().map(record_from_tool));
        let options = CheckOptions { baseline: None, ..options.clone() };
        // Findings suppressed by a comment or setting need no entry.
        super::suppress::suppress(&mut records, &files, Some(&project), &options);
        let rule_notes = rule_notes.iter().map(|note| format!("patterns: {note}"));
        (
            Self::from_records(&records, &project),
            rule_notes.chain(distinct_notes(&records)).collect(),
        )
    }

    fn from_records(records: &[RunRecord], project: &dyn Project) -> Self {
        let mut members: Vec<&Member> = records.iter().flat_map(|record| &record.members).collect();
        members.sort();
        members.dedup();
        let mut texts: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        let mut entries: BTreeMap<BaselineEntry, u32> = BTreeMap::new();
        for member in members {
            let Some(rule) = &member.rule else { continue };
            let finding = &member.finding;
            let lines = texts.entry(&finding.file).or_insert_with(|| {
                let bytes = project.file(Side::New, &finding.file).ok().flatten();
                let bytes = bytes.unwrap_or_default();
                let text = String::from_utf8_lossy(&bytes);
                text.lines().map(str::to_owned).collect()
            });
            let index = finding.line_start.and_then(|line| usize::try_from(line.get() - 1).ok());
            let line = index.and_then(|index| lines.get(index));
            let line = line.map(String::as_str).unwrap_or_default();
            *entries.entry(BaselineEntry::new(rule, &finding.file, line)).or_default() += 1;
        }
        Self { entries }
    }
}

/// Notes and failures of all runs, without repetitions.
fn distinct_notes(records: &[RunRecord]) -> Vec<String> {
    let mut notes: Vec<String> = Vec::new();
    for record in records {
        for note in &record.notes {
            let note = format!("{}: {note}", record.assignment.name);
            if !notes.contains(&note) {
                notes.push(note);
            }
        }
        if let Some(why) = record.ended.failure() {
            notes.push(format!("{} failed: {why}", record.assignment.name));
        }
    }
    notes
}

/// Entries of a baseline, with how often findings can still claim each of them.
pub(super) struct BaselineClaims {
    unclaimed: BTreeMap<BaselineEntry, ClaimsLeft>,
}

/// How often an entry can still be claimed.
#[derive(Default)]
struct ClaimsLeft {
    /// Claims of entries that existed before the change.
    existing: u32,
    added_by_change: u32,
}

impl BaselineClaims {
    /// `old_baseline` is the baseline before the change. `None` if the change does not touch it.
    pub(super) fn new(baseline: &Baseline, old_baseline: Option<&Baseline>) -> Self {
        let unclaimed = baseline.entries.iter().map(|(entry, count)| {
            let existing = match old_baseline {
                Some(old) => old.entries.get(entry).map_or(0, |old_count| *old_count.min(count)),
                None => *count,
            };
            (entry.clone(), ClaimsLeft { existing, added_by_change: count - existing })
        });
        Self { unclaimed: unclaimed.collect() }
    }

    /// Claims an entry for a finding and returns where the entry comes from. Each entry can be
    /// claimed as often as its count says, also by a finding in a renamed file. An entry that the
    /// change itself adds never suppresses a credential.
    pub(super) fn claim(
        &mut self,
        rule: &str,
        file: &str,
        old_path: Option<&str>,
        line: &str,
    ) -> Option<SuppressionOrigin> {
        let paths = [Some(file), old_path.filter(|old_path| *old_path != file)];
        paths.into_iter().flatten().find_map(|path| {
            match self.unclaimed.get_mut(&BaselineEntry::new(rule, path, line))? {
                ClaimsLeft { existing: existing @ 1.., .. } => {
                    *existing -= 1;
                    Some(SuppressionOrigin::Before)
                }
                ClaimsLeft { added_by_change: added @ 1.., .. }
                    if !rule.starts_with(SECRETS_PREFIX) =>
                {
                    *added -= 1;
                    Some(SuppressionOrigin::ThisChange)
                }
                ClaimsLeft { .. } => None,
            }
        })
    }
}

impl BaselineEntry {
    fn new(rule: &str, file: &str, line: &str) -> Self {
        let mut hash = content_id(fold_whitespace(line).as_bytes());
        hash.truncate(HASH_CHARS);
        Self { file: file.to_owned(), rule: rule.to_owned(), line_hash: hash }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entry_can_be_claimed_as_often_as_counted() {
        let mut baseline = Baseline::default();
        baseline.entries.insert(BaselineEntry::new("leftovers/debugger", "a.js", "debugger;"), 2);
        let mut unclaimed = BaselineClaims::new(&baseline, None);
        let mut claims = |file: &str, old_path: Option<&str>, line: &str| {
            unclaimed.claim("leftovers/debugger", file, old_path, line).is_some()
        };
        assert!(claims("a.js", None, "    debugger;"));
        assert!(!claims("a.js", None, "debugger; // again"));
        assert!(!claims("b.js", None, "debugger;"));
        assert!(claims("b.js", Some("a.js"), "debugger;"), "renamed");
        assert!(!claims("a.js", None, "debugger;"), "a third one");
    }

    #[test]
    fn entries_added_by_the_change_never_suppress_secrets() {
        let counts = [("leftovers/debugger", 2), ("secrets/key", 2), ("secrets/new", 1)];
        let mut baseline = Baseline::default();
        baseline
            .entries
            .extend(counts.map(|(rule, count)| (BaselineEntry::new(rule, "a.js", "x"), count)));
        let mut old_baseline = Baseline::default();
        old_baseline.entries.insert(BaselineEntry::new("leftovers/debugger", "a.js", "x"), 1);
        old_baseline.entries.insert(BaselineEntry::new("secrets/key", "a.js", "x"), 1);
        let mut unclaimed = BaselineClaims::new(&baseline, Some(&old_baseline));
        let mut claims = |rule: &str| unclaimed.claim(rule, "a.js", None, "x");
        assert_eq!(claims("leftovers/debugger"), Some(SuppressionOrigin::Before));
        assert_eq!(claims("leftovers/debugger"), Some(SuppressionOrigin::ThisChange));
        assert_eq!(claims("leftovers/debugger"), None);
        assert_eq!(claims("secrets/key"), Some(SuppressionOrigin::Before));
        assert_eq!(claims("secrets/key"), None);
        assert_eq!(claims("secrets/new"), None);
    }

    #[test]
    fn baseline_file_is_deterministic_and_has_no_code() {
        let mut baseline = Baseline::default();
        baseline.entries.insert(BaselineEntry::new("secrets/credential", "b.py", "key = 'abc'"), 1);
        baseline.entries.insert(BaselineEntry::new("leftovers/debugger", "a.js", "debugger;"), 2);
        let json = baseline.to_json().unwrap();
        expect_test::expect![[r#"
            {
              "findings": [
                {
                  "count": 2,
                  "file": "a.js",
                  "line": "9312a1adbbf0a4c0",
                  "rule": "leftovers/debugger"
                },
                {
                  "count": 1,
                  "file": "b.py",
                  "line": "044acaf4613e81cf",
                  "rule": "secrets/credential"
                }
              ],
              "schema_version": 1
            }
        "#]]
        .assert_eq(&json);
        assert_eq!(Baseline::parse(json.as_bytes()), Ok(baseline));
    }

    #[test]
    fn invalid_baseline_is_rejected_with_a_reason() {
        let check = |text: &str, expected: expect_test::Expect| {
            expected.assert_eq(&Baseline::parse(text.as_bytes()).unwrap_err().to_string());
        };
        check(
            "{",
            expect_test::expect![
                "it is not a baseline: EOF while parsing an object at line 1 column 1"
            ],
        );
        check(
            r#"{"schema_version": 1}"#,
            expect_test::expect!["it is not a baseline: missing field `findings`"],
        );
        check(
            r#"{"schema_version": 2, "rows": []}"#,
            expect_test::expect![
                "it has schema version 2, but this crh reads up to 1; upgrade crh"
            ],
        );
    }
}
