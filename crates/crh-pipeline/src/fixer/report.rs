//! The report of a fixer: whether each issue is repaired.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::IssueOutcome;
use crate::text::{cut, one_line};
use crate::tools::session;
use crate::tools::session::SessionTool;

/// Maximum characters of a sentence. Most sentences are less than half as long.
const SENTENCE_CHARS: usize = 400;

/// Reports what became of every issue, and ends your work: call it once, last, alone, after all edits. Only fixers may call this.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct ReportRepairs {
    /// One entry for each number.
    pub(super) repairs: Vec<IssueRepair>,
}

/// What became of one issue.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct IssueRepair {
    /// The number of the issue.
    pub(super) number: u32,
    /// `done` or `not_done`.
    pub(super) outcome: RepairOutcome,
    /// What was changed, or why nothing was, in one sentence for the author of the code.
    pub(super) sentence: String,
    /// Files besides the issue's own that were changed for it.
    #[serde(default)]
    pub(super) files: Vec<String>,
}

/// Whether an issue is repaired.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum RepairOutcome {
    /// Your edits remove it.
    Done,
    /// They do not.
    NotDone,
}

impl SessionTool for ReportRepairs {
    const NAME: &'static str = "report_repairs";
}

/// Parsed report about one issue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct ReportedRepair {
    #[serde(rename = "told")]
    pub(super) outcome: IssueOutcome,
    /// Files that may be changed for the issue: those of its places and those in the report.
    pub(super) files: BTreeSet<String>,
    /// The files that the report names, without that of the issue's location.
    #[serde(skip)]
    pub(super) named: BTreeSet<String>,
}

/// Issues and files of the task, to check a report against.
#[derive(Debug, Clone)]
pub(super) struct ReportExpectations {
    /// Files of the places of each issue, that of its location first, by issue number.
    pub(super) issues: BTreeMap<u32, Vec<String>>,
    /// Files that the fixer may write.
    pub(super) files: BTreeSet<String>,
}

/// Parses a report. The error is a sentence for the model. If an issue is done, each file in
/// `changed` must belong to an issue that is done. The report must also answer the other issues in
/// these files, since an edit may be for one of them.
pub(super) fn parse_report(
    value: Value,
    expectations: &ReportExpectations,
    changed: &BTreeSet<String>,
) -> Result<BTreeMap<u32, ReportedRepair>, String> {
    let ReportRepairs { repairs } = session::parse_arguments(value)?;
    let is_known = |repair: &IssueRepair| expectations.issues.contains_key(&repair.number);
    let answers_an_issue = repairs.iter().any(is_known);
    let mut reported = BTreeMap::new();
    for IssueRepair { number, outcome, sentence, files } in repairs {
        let Some(issue_files) = expectations.issues.get(&number) else {
            // Models also report issues that crh has fixed itself.
            if answers_an_issue {
                continue;
            }
            let numbers: Vec<String> = expectations.issues.keys().map(u32::to_string).collect();
            return Err(format!("there is no issue {number}; there are {}.", numbers.join(", ")));
        };
        let sentence = cut(&one_line(&sentence), SENTENCE_CHARS);
        if sentence.is_empty() {
            return Err(format!("the sentence about issue {number} is empty."));
        }
        if let Some(foreign_file) = files.iter().find(|file| !expectations.files.contains(*file)) {
            let foreign_file = cut(&one_line(foreign_file), SENTENCE_CHARS);
            return Err(format!(
                "`{foreign_file}`, named for issue {number}, is none of your files."
            ));
        }
        let issue_outcome = match outcome {
            RepairOutcome::Done => IssueOutcome::Done(sentence),
            RepairOutcome::NotDone => IssueOutcome::NotDone(sentence),
        };
        let is_other = |file: &String| Some(file) != issue_files.first();
        let named: BTreeSet<String> = files.into_iter().filter(is_other).collect();
        let files = named.iter().chain(issue_files).cloned().collect();
        let repair = ReportedRepair { outcome: issue_outcome, files, named };
        if reported.insert(number, repair).is_some() {
            return Err(format!("issue {number} is answered twice; give one entry for each."));
        }
    }
    let done_repairs: Vec<&ReportedRepair> = reported
        .values()
        .filter(|repair| matches!(repair.outcome, IssueOutcome::Done(_)))
        .collect();
    let belongs_to_no_issue =
        |path: &&String| !done_repairs.iter().any(|repair| repair.files.contains(*path));
    let unanswered =
        expectations.issues.iter().filter(|(number, _)| !reported.contains_key(*number));
    let mut unanswered_files =
        unanswered.flat_map(|(number, files)| files.iter().map(move |file| (number, file)));
    if let Some((number, file)) = unanswered_files.find(|(_, file)| changed.contains(*file))
        && !done_repairs.is_empty()
    {
        return Err(format!(
            "`{file}` is changed, and issue {number} in it is not answered; give one entry for each."
        ));
    }
    match changed.iter().find(belongs_to_no_issue) {
        // If no issue is done, crh rejects all changes later.
        Some(path) if !done_repairs.is_empty() => Err(format!(
            "`{path}` is changed and belongs to no issue that is done: name it in the `files` of the \
             one that it is for, or put it back as it was."
        )),
        Some(_) | None => Ok(reported),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use serde_json::json;

    use super::*;

    fn check(repairs: Value, changed: &[&str], expected: Expect) {
        let issues = [(1, vec!["a.py".to_owned()]), (2, vec!["b.py".to_owned()])].into();
        check_issues(issues, repairs, changed, expected);
    }

    fn check_issues(
        issues: BTreeMap<u32, Vec<String>>,
        repairs: Value,
        changed: &[&str],
        expected: Expect,
    ) {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let expectations = ReportExpectations { issues, files: names(&["a.py", "b.py", "c.py"]) };
        let actual =
            match parse_report(json!({ "repairs": repairs }), &expectations, &names(changed)) {
                Ok(reported) => reported
                    .iter()
                    .map(|(number, it)| format!("{number} {:?} {:?}\n", it.outcome, it.files))
                    .collect(),
                Err(message) => message,
            };
        expected.assert_eq(&actual);
    }

    fn entry(number: u32, outcome: &str) -> Value {
        json!({ "number": number, "outcome": outcome, "sentence": "The guard\nis there." })
    }

    #[test]
    fn report_has_one_outcome_per_issue() {
        check(
            json!([entry(2, "not_done"), entry(1, "done")]),
            &["a.py"],
            expect![[r#"
            1 Done("The guard is there.") {"a.py"}
            2 NotDone("The guard is there.") {"b.py"}
        "#]],
        );
    }

    #[test]
    fn unknown_fields_of_a_report_are_ignored() {
        let mut extended = entry(1, "done");
        extended["confidence"] = json!(0.9);
        check(
            json!([extended]),
            &["a.py"],
            expect![[r#"
            1 Done("The guard is there.") {"a.py"}
        "#]],
        );
    }

    #[test]
    fn entry_of_another_issue_is_ignored() {
        check(
            json!([entry(1, "done"), entry(3, "done")]),
            &["a.py"],
            expect![[r#"
            1 Done("The guard is there.") {"a.py"}
        "#]],
        );
    }

    #[test]
    fn invalid_report_is_rejected_with_a_reason() {
        check(json!([entry(3, "done")]), &[], expect!["there is no issue 3; there are 1, 2."]);
        check(
            json!([entry(1, "done"), entry(1, "not_done")]),
            &[],
            expect!["issue 1 is answered twice; give one entry for each."],
        );
        check(
            json!([entry(1, "maybe")]),
            &[],
            expect![
                "the argument `repairs[0].outcome` cannot be used: unknown variant `maybe`, expected `done` or `not_done`"
            ],
        );
        let empty = json!([{ "number": 1, "outcome": "done", "sentence": " " }]);
        check(empty, &[], expect!["the sentence about issue 1 is empty."]);
        let other = json!([{ "number": 1, "outcome": "done", "sentence": "x", "files": ["d.py"] }]);
        check(other, &[], expect!["`d.py`, named for issue 1, is none of your files."]);
    }

    #[test]
    fn every_issue_of_a_changed_file_is_answered() {
        let check_missing = |changed: &[&str], expected| {
            check(json!([entry(1, "done")]), changed, expected);
        };
        check_missing(
            &["a.py"],
            expect![[r#"
            1 Done("The guard is there.") {"a.py"}
        "#]],
        );
        check_missing(
            &["a.py", "b.py"],
            expect![
                "`b.py` is changed, and issue 2 in it is not answered; give one entry for each."
            ],
        );
    }

    #[test]
    fn file_of_another_place_belongs_to_the_issue() {
        let issues = BTreeMap::from([(1, vec!["a.py".to_owned(), "b.py".to_owned()])]);
        let expected = expect![[r#"
            1 Done("The guard is there.") {"a.py", "b.py"}
        "#]];
        check_issues(issues, json!([entry(1, "done")]), &["a.py", "b.py"], expected);
    }

    #[test]
    fn changed_file_must_belong_to_a_repaired_issue() {
        check(
            json!([entry(1, "done")]),
            &["a.py", "c.py"],
            expect![
                "`c.py` is changed and belongs to no issue that is done: name it in the `files` of the one that it is for, or put it back as it was."
            ],
        );
        check(
            json!([entry(1, "done"), entry(2, "not_done")]),
            &["b.py"],
            expect![
                "`b.py` is changed and belongs to no issue that is done: name it in the `files` of the one that it is for, or put it back as it was."
            ],
        );
        let named = json!([{ "number": 1, "outcome": "done", "sentence": "x", "files": ["c.py"] }]);
        check(
            named,
            &["a.py", "c.py"],
            expect![[r#"
            1 Done("x") {"a.py", "c.py"}
        "#]],
        );
        // No issue is done, so crh rejects all changes later.
        check(
            json!([entry(1, "not_done")]),
            &["a.py"],
            expect![[r#"
            1 NotDone("The guard is there.") {"a.py"}
        "#]],
        );
    }
}
