//! A reviewed change with issues, a working tree, and repairs as short texts.

use std::sync::{Arc, Mutex};

use expect_test::Expect;
use serde_json::{Value, json};

use crate::test_change::{TestChange, options};
use crh_git::{BareRepository, TempCheckout};
use crh_pipeline::consolidate::consolidate;
use crh_pipeline::events::ReviewEvent;
use crh_pipeline::fixer::{FileEdit, FixTask, FixerResult, IssueOutcome, repair};
use crh_pipeline::review_context::ReviewContext;
use crh_pipeline::review_options::ReviewOptions;
use crh_review::PastDecisions;
use crh_review::report::{Issue, Strategy};
use crh_testkit::fake_model::{PromptPart, ScriptedReply, calls};
use crh_testkit::{FakeModel, Repo};

/// Two files with a defect each, and an unrelated one.
pub(super) const CART: &str = "
    //- cart.py
    def total(lines):
        return sum(lines)
    //- label.py
    def label(line):
        return line
    //- other.py
    SECRET = 1
    //- head
    //- cart.py
    def total(lines):
        count = len(lines)
        return sum(lines) / count
    //- label.py
    def label(line):
        return line.strip()
";

/// One issue in each of the two files.
pub(super) const ISSUES: &str = r#"
    a cart.py:3 P1 0.9 "An empty order divides by zero" why="An order without a line fails."
    a label.py:2 P2 0.9 "A line without a name fails"
"#;

/// The repair of the first issue.
pub(super) const OLD: &str = "    return sum(lines) / count\n";
pub(super) const NEW: &str = "    return sum(lines) / count if count else 0\n";

/// A fixer that is ready to run.
pub(super) struct Scene {
    pub(super) fix_task: FixTask,
    pub(super) tree: TempCheckout,
    pub(super) context: ReviewContext,
    pub(super) events: Arc<Mutex<Vec<ReviewEvent>>>,
    // Keeps the repository and the workspace alive.
    _staged: TestChange,
}

impl Scene {
    /// The change of `CART` with both issues; their files may be written.
    pub(super) fn new(model: &FakeModel) -> Self {
        Self::from_repo(model, Repo::from_fixture(CART), ISSUES)
    }

    /// The last commit of a repository, with issues from a table.
    pub(super) fn from_repo(model: &FakeModel, repo: Repo, table: &str) -> Self {
        Self::with_options(model, repo, table, |_| {})
    }

    /// The same with other options.
    pub(super) fn with_options(
        model: &FakeModel,
        repo: Repo,
        table: &str,
        change: impl FnOnce(&mut ReviewOptions),
    ) -> Self {
        let bare = BareRepository::new(&repo.path().join(".git"));
        let tree = TempCheckout::create(&bare, &repo.id("HEAD")).unwrap();
        let test_change = TestChange::from_repo(repo);
        let merged = consolidate(
            test_change.members(table),
            &test_change.subject,
            &PastDecisions::default(),
        );
        let numbered = |(number, issue): (u32, Issue)| Issue { number, ..issue };
        let issues: Vec<Issue> = (1..).zip(merged.issues).map(numbered).collect();
        let files = issues.iter().map(|issue| issue.location.file.clone()).collect();
        let mut terms = options(Strategy::Delegate);
        change(&mut terms);
        let (context, events) = test_change.review_context(model, terms, Vec::new());
        let fix_task = FixTask { round: 1, issues, files };
        Self { fix_task, tree, context, events, _staged: test_change }
    }

    /// Sets the files that may be written.
    pub(super) fn with_files(mut self, files: &[&str]) -> Self {
        self.fix_task.files = files.iter().map(|file| (*file).to_owned()).collect();
        self
    }

    pub(super) async fn repair(&self) -> FixerResult {
        Box::pin(repair(&self.context, &self.fix_task, &self.tree)).await
    }

    /// Runs the fixer and compares the result.
    pub(super) async fn check(&self, expected: Expect) -> FixerResult {
        let repair = self.repair().await;
        expected.assert_eq(&render(&repair));
        repair
    }

    /// Messages of refused calls.
    pub(super) fn refusals(&self) -> String {
        let events = self.events.lock().unwrap();
        let messages = events.iter().filter_map(|event| match event {
            ReviewEvent::Refused { message, .. } => Some(format!("{message}\n")),
            _ => None,
        });
        messages.collect()
    }
}

/// `cart.py` before and after the usual edit, as [`render`] prints texts.
const DIVIDES: &str =
    r#""def total(lines):\n    count = len(lines)\n    return sum(lines) / count\n""#;
const FIXED: &str = r#""def total(lines):\n    count = len(lines)\n    return sum(lines) / count if count else 0\n""#;

/// Outcome of each issue, the edits, and the run.
pub(super) fn render(repair: &FixerResult) -> String {
    let mut actual = String::new();
    for (number, told) in &repair.outcomes {
        let (word, sentence) = match told {
            IssueOutcome::Done(sentence) => ("done", sentence),
            IssueOutcome::NotDone(sentence) => ("not done", sentence),
            IssueOutcome::NotTried(sentence) => ("not tried", sentence),
        };
        actual += &format!("#{number} {word}: {sentence}\n");
    }
    for FileEdit { path, before, after, issues } in &repair.edits {
        let text = |bytes: &Option<Vec<u8>>| {
            bytes
                .as_ref()
                .map_or("-".to_owned(), |bytes| format!("{:?}", String::from_utf8_lossy(bytes)))
        };
        let (before, after) = (text(before), text(after));
        actual += &match (before.as_str(), after.as_str()) {
            (DIVIDES, FIXED) => format!("{path} for {issues:?}: OLD is NEW\n"),
            _ => format!("{path} for {issues:?}\n  {before}\n  {after}\n"),
        };
    }
    let record = &repair.record;
    actual += &format!("{} {:?}", record.assignment.name, record.ended);
    if let Some(limit) = record.limited {
        actual += &format!(" limited by {limit}");
    }
    actual += "\n";
    actual + &record.notes.iter().map(|note| format!("! {note}\n")).collect::<String>()
}

/// An `edit_file` call.
pub(super) fn edit(path: &str, old: &str, new: &str) -> ScriptedReply {
    calls("edit_file", json!({ "path": path, "old": old, "new": new }))
}

/// A report: issue numbers and outcomes.
pub(super) fn reports(outcomes: &[(u32, &str)]) -> ScriptedReply {
    let row = |(number, outcome): &(u32, &str)| json!({ "number": number, "outcome": outcome, "sentence": format!("It is {outcome}.") });
    let repairs: Vec<Value> = outcomes.iter().map(row).collect();
    calls("report_repairs", json!({ "repairs": repairs }))
}

/// Tool replies in the last request, one block each.
pub(super) fn tool_replies(model: &FakeModel) -> String {
    let requests = model.requests();
    let read = requests.last().unwrap().prompt_parts();
    let results = read.into_iter().filter_map(|read| match read {
        PromptPart::Result(text) => Some(format!("{}\n", text.trim_end())),
        _ => None,
    });
    results.collect()
}
