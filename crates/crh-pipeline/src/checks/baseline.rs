//! The baseline: what static reviewers said about a whole tree when crh was adopted, so that only what comes later is raised.
//!
//! Invariant: it holds no code and no secret, and nothing about texts that address the reviewer.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

use serde::{Deserialize, Serialize};

use super::project::Repository;
use super::rules::patterns_at;
use super::sarif::row;
use super::terms::{CheckTerms, Since};
use super::{changed_file, record_of};
use crate::revisions::Revisions;
use crate::runs::RunRecord;
use crate::scope::Scope;
use crh_lint::sarif::Compared;
use crh_lint::{Change, ChangedFile, Project, folded, sarif};
use crh_review::diff::Diff;
use crh_review::finding::{Member, Side};
use crh_review::identity::content_id;
use crh_review::stable_json;

/// Where the baseline of a repository is.
pub const BASELINE: &str = ".crh/baseline.json";

/// The version of the form. It rises when a reader of the old form would misread the new one.
const SCHEMA_VERSION: u32 = 1;
/// Enough of a hash to tell the lines of one file apart. Whoever guesses a whole line can tell that it was right.
const HASH_CHARS: usize = 16;

/// The reviewer of credentials: what a change says of its own is not enough for them.
pub(super) const WANTS_MORE: &str = "secrets/";

/// What was known.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Baseline {
    rows: BTreeMap<Row, u32>,
}

/// What names a finding in a baseline.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Row {
    file: String,
    rule: String,
    line: String,
}

/// A file that is no baseline.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BaselineError {
    /// It has another form.
    #[error("it is no baseline: {0}")]
    NotOne(String),
    /// A later crh wrote it.
    #[error("it has the form {0}, and this crh reads up to {SCHEMA_VERSION}")]
    TooNew(u32),
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    schema_version: u32,
    findings: Vec<WrittenRow>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenRow {
    rule: String,
    file: String,
    /// The hash of the line, white space aside.
    line: String,
    count: u32,
}

impl Baseline {
    /// Reads a file.
    pub fn read(bytes: &[u8]) -> Result<Self, BaselineError> {
        let value: serde_json::Value = serde_json::from_slice(bytes)
            .map_err(|error| BaselineError::NotOne(error.to_string()))?;
        let version = value.get("schema_version").and_then(serde_json::Value::as_u64);
        if let Some(version) = version.filter(|it| *it > u64::from(SCHEMA_VERSION)) {
            return Err(BaselineError::TooNew(u32::try_from(version).unwrap_or(u32::MAX)));
        }
        let written: Written = serde_json::from_value(value)
            .map_err(|error| BaselineError::NotOne(error.to_string()))?;
        let mut rows = BTreeMap::new();
        for WrittenRow { rule, file, line, count } in written.findings {
            let sum: &mut u32 = rows.entry(Row { file, rule, line }).or_default();
            *sum = sum.saturating_add(count);
        }
        Ok(Self { rows })
    }

    /// The file: sorted, one form for one value.
    pub fn json(&self) -> serde_json::Result<String> {
        let findings = self.rows.iter().map(|(row, count)| WrittenRow {
            rule: row.rule.clone(),
            file: row.file.clone(),
            line: row.line.clone(),
            count: *count,
        });
        stable_json(&Written { schema_version: SCHEMA_VERSION, findings: findings.collect() })
    }

    /// How many findings each rule has.
    pub fn by_rule(&self) -> BTreeMap<&str, u32> {
        let mut counted: BTreeMap<&str, u32> = BTreeMap::new();
        for (row, count) in &self.rows {
            *counted.entry(&row.rule).or_default() += count;
        }
        counted
    }

    /// What the built-in reviewers, the repository's own rules and files of other tools say about a whole tree, as if each file
    /// were new. `diff` adds the whole tree. Analysers that are installed are left out: what they said before is never new.
    pub fn of_tree(
        diff: &Diff,
        scope: &Scope,
        revisions: &Revisions,
        terms: &CheckTerms,
        stop: &AtomicBool,
    ) -> (Self, Vec<String>) {
        let files = scope.files.iter().zip(diff.files()).filter(|(file, _)| file.decision.is_in());
        let files: Vec<ChangedFile> = files.map(|(_, file)| changed_file(diff, file)).collect();
        let project = Repository::new(revisions, stop);
        let (patterns, about_rules) = patterns_at(revisions, "head");
        let mut records = Vec::new();
        // One file at a time, since a reviewer lists only so much of one change.
        for file in &files {
            let one = std::slice::from_ref(file);
            let change = Change::new(one, &files, Some(&project));
            let runs = crh_lint::review(&change, &patterns);
            records.extend(runs.into_iter().map(|run| record_of(run, None)));
        }
        let change = Change::new(&files, &files, Some(&project));
        let tools = sarif::review(&terms.sarif, Compared::WithNothing, &change);
        records.extend(tools.into_iter().map(row));
        let terms = CheckTerms { baseline: None, ..terms.clone() };
        // What a comment or a setting silences anyway needs no row.
        super::suppressed::suppress(&mut records, &files, Some(&project), &terms);
        let about_rules = about_rules.iter().map(|note| format!("patterns: {note}"));
        (Self::of_records(&records, &project), about_rules.chain(notes(&records)).collect())
    }

    fn of_records(records: &[RunRecord], project: &dyn Project) -> Self {
        let mut members: Vec<&Member> = records.iter().flat_map(|it| &it.members).collect();
        members.sort();
        members.dedup();
        let mut texts: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        let mut rows: BTreeMap<Row, u32> = BTreeMap::new();
        for member in members {
            let Some(rule) = &member.rule else { continue };
            let finding = &member.finding;
            let lines = texts.entry(&finding.file).or_insert_with(|| {
                let bytes = project.file(Side::New, &finding.file).ok().flatten();
                let bytes = bytes.unwrap_or_default();
                let text = String::from_utf8_lossy(&bytes);
                text.lines().map(str::to_owned).collect()
            });
            let at = finding.line_start.and_then(|line| usize::try_from(line.get() - 1).ok());
            let line = at.and_then(|at| lines.get(at)).map(String::as_str).unwrap_or_default();
            *rows.entry(Row::new(rule, &finding.file, line)).or_default() += 1;
        }
        Self { rows }
    }
}

/// What the reader should know, each once.
fn notes(records: &[RunRecord]) -> Vec<String> {
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

/// What is left of a baseline while findings claim its rows.
pub(super) struct Known {
    left: BTreeMap<Row, Left>,
}

/// How often a row can still be claimed.
#[derive(Default)]
struct Left {
    before: u32,
    brought: u32,
}

impl Known {
    /// `before` is the baseline as it was before the change; none if the change does not touch it.
    pub(super) fn of(baseline: &Baseline, before: Option<&Baseline>) -> Self {
        let left = baseline.rows.iter().map(|(row, count)| {
            let before =
                before.map_or(*count, |it| it.rows.get(row).map_or(0, |it| *it.min(count)));
            (row.clone(), Left { before, brought: count - before })
        });
        Self { left: left.collect() }
    }

    /// Since when a finding is known, if it is. Each row is claimed as often as it was counted; a file may have been renamed since.
    /// No change silences a credential by a row of its own.
    pub(super) fn claims(
        &mut self,
        rule: &str,
        file: &str,
        before: Option<&str>,
        line: &str,
    ) -> Option<Since> {
        let paths = [Some(file), before.filter(|before| *before != file)];
        paths.into_iter().flatten().find_map(|path| {
            match self.left.get_mut(&Row::new(rule, path, line))? {
                Left { before: before @ 1.., .. } => {
                    *before -= 1;
                    Some(Since::Before)
                }
                Left { brought: brought @ 1.., .. } if !rule.starts_with(WANTS_MORE) => {
                    *brought -= 1;
                    Some(Since::ThisChange)
                }
                Left { .. } => None,
            }
        })
    }
}

impl Row {
    fn new(rule: &str, file: &str, line: &str) -> Self {
        let mut hash = content_id(folded(line).as_bytes());
        hash.truncate(HASH_CHARS);
        Self { file: file.to_owned(), rule: rule.to_owned(), line: hash }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_claimed_as_often_as_it_was_counted_wherever_its_line_has_moved() {
        let mut baseline = Baseline::default();
        baseline.rows.insert(Row::new("leftovers/debugger", "a.js", "debugger;"), 2);
        let mut known = Known::of(&baseline, None);
        let mut claims = |file: &str, before: Option<&str>, line: &str| {
            known.claims("leftovers/debugger", file, before, line).is_some()
        };
        assert!(claims("a.js", None, "    debugger;"));
        assert!(!claims("a.js", None, "debugger; // again"));
        assert!(!claims("b.js", None, "debugger;"));
        assert!(claims("b.js", Some("a.js"), "debugger;"), "renamed");
        assert!(!claims("a.js", None, "debugger;"), "a third one");
    }

    #[test]
    fn rows_that_a_change_brings_along_count_as_such_and_never_for_credentials() {
        let rows = [("leftovers/debugger", 2), ("secrets/key", 2), ("secrets/new", 1)];
        let mut baseline = Baseline::default();
        baseline.rows.extend(rows.map(|(rule, count)| (Row::new(rule, "a.js", "x"), count)));
        let mut before = Baseline::default();
        before.rows.insert(Row::new("leftovers/debugger", "a.js", "x"), 1);
        before.rows.insert(Row::new("secrets/key", "a.js", "x"), 1);
        let mut known = Known::of(&baseline, Some(&before));
        let mut claims = |rule: &str| known.claims(rule, "a.js", None, "x");
        assert_eq!(claims("leftovers/debugger"), Some(Since::Before));
        assert_eq!(claims("leftovers/debugger"), Some(Since::ThisChange));
        assert_eq!(claims("leftovers/debugger"), None);
        assert_eq!(claims("secrets/key"), Some(Since::Before));
        assert_eq!(claims("secrets/key"), None);
        assert_eq!(claims("secrets/new"), None);
    }

    #[test]
    fn a_file_is_the_same_bytes_and_has_no_code() {
        let mut baseline = Baseline::default();
        baseline.rows.insert(Row::new("secrets/credential", "b.py", "key = 'abc'"), 1);
        baseline.rows.insert(Row::new("leftovers/debugger", "a.js", "debugger;"), 2);
        let json = baseline.json().unwrap();
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
        assert_eq!(Baseline::read(json.as_bytes()), Ok(baseline));
    }

    #[test]
    fn what_is_no_baseline_is_refused_in_a_sentence() {
        let check = |text: &str, expected: expect_test::Expect| {
            expected.assert_eq(&Baseline::read(text.as_bytes()).unwrap_err().to_string());
        };
        check(
            "{",
            expect_test::expect![
                "it is no baseline: EOF while parsing an object at line 1 column 1"
            ],
        );
        check(
            r#"{"schema_version": 1}"#,
            expect_test::expect!["it is no baseline: missing field `findings`"],
        );
        check(
            r#"{"schema_version": 2, "rows": []}"#,
            expect_test::expect!["it has the form 2, and this crh reads up to 1"],
        );
    }
}
