//! What a fixer reports in the end: of every issue, whether it is repaired.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Told;
use crate::text::{cut, one_line};
use crate::tools::session;
use crate::tools::session::SessionTool;

/// A sentence has seldom half as many characters; more is an essay.
const SENTENCE_CHARS: usize = 400;

/// Reports what became of every issue, and ends your work: call it once, last, alone, after all edits. Only fixers may call this.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ReportRepairs {
    /// One entry for each number.
    pub(super) repairs: Vec<IssueRepair>,
}

/// What became of one issue.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
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

/// What was reported about one issue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Reported {
    pub(super) told: Told,
    /// The files that were changed for it, as far as was said: its own, and those that it names.
    pub(super) files: BTreeSet<String>,
}

/// What a report is held against.
#[derive(Debug, Clone)]
pub(super) struct Asked {
    /// The issues by number, each with its file.
    pub(super) issues: BTreeMap<u32, String>,
    /// The files that may be written.
    pub(super) files: BTreeSet<String>,
}

/// Reads a report, or says in a sentence for the model what is wrong with it. `changed` are the files that are not as they were:
/// each belongs to an issue that is done, or nobody knows what it is for.
pub(super) fn read(
    value: Value,
    asked: &Asked,
    changed: &BTreeSet<String>,
) -> Result<BTreeMap<u32, Reported>, String> {
    let ReportRepairs { repairs } = session::read(value)?;
    let mut reported = BTreeMap::new();
    for IssueRepair { number, outcome, sentence, files } in repairs {
        let Some(own) = asked.issues.get(&number) else {
            let known: Vec<String> = asked.issues.keys().map(u32::to_string).collect();
            return Err(format!("there is no issue {number}; there are {}.", known.join(", ")));
        };
        let sentence = cut(&one_line(&sentence), SENTENCE_CHARS);
        if sentence.is_empty() {
            return Err(format!("the sentence about issue {number} is empty."));
        }
        if let Some(other) = files.iter().find(|file| !asked.files.contains(*file)) {
            let other = cut(&one_line(other), SENTENCE_CHARS);
            return Err(format!("`{other}`, named for issue {number}, is none of your files."));
        }
        let told = match outcome {
            RepairOutcome::Done => Told::Done(sentence),
            RepairOutcome::NotDone => Told::NotDone(sentence),
        };
        let files = files.into_iter().chain([own.clone()]).collect();
        if reported.insert(number, Reported { told, files }).is_some() {
            return Err(format!("issue {number} stands there twice; give one entry for each."));
        }
    }
    let done: Vec<&Reported> =
        reported.values().filter(|it| matches!(it.told, Told::Done(_))).collect();
    let is_for_nothing = |path: &&String| !done.iter().any(|it| it.files.contains(*path));
    match changed.iter().find(is_for_nothing) {
        // Where nothing is done nothing is taken, whatever was tried.
        Some(path) if !done.is_empty() => Err(format!(
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
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let issues = [(1, "a.py".to_owned()), (2, "b.py".to_owned())].into();
        let asked = Asked { issues, files: names(&["a.py", "b.py", "c.py"]) };
        let shown = match read(json!({ "repairs": repairs }), &asked, &names(changed)) {
            Ok(reported) => reported
                .iter()
                .map(|(number, it)| format!("{number} {:?} {:?}\n", it.told, it.files))
                .collect(),
            Err(told) => told,
        };
        expected.assert_eq(&shown);
    }

    fn entry(number: u32, outcome: &str) -> Value {
        json!({ "number": number, "outcome": outcome, "sentence": "The guard\nis there." })
    }

    #[test]
    fn every_issue_is_done_or_not_in_one_line() {
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
    fn what_is_wrong_with_a_report_is_said() {
        check(json!([entry(3, "done")]), &[], expect!["there is no issue 3; there are 1, 2."]);
        check(
            json!([entry(1, "done"), entry(1, "not_done")]),
            &[],
            expect!["issue 1 stands there twice; give one entry for each."],
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
    fn a_file_that_was_changed_for_nothing_is_named_or_put_back() {
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
        // Nothing of it is taken.
        check(
            json!([entry(1, "not_done")]),
            &["a.py"],
            expect![[r#"
            1 NotDone("The guard is there.") {"a.py"}
        "#]],
        );
    }
}
