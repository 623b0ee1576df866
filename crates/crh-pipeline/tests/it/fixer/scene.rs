//! A reviewed change with issues, a tree to repair them in, and a repair in a few lines.

use std::sync::{Arc, Mutex};

use expect_test::Expect;
use serde_json::{Value, json};

use crate::staged::{Staged, terms};
use crh_git::{Bare, WorkTree};
use crh_pipeline::consolidate::consolidate;
use crh_pipeline::events::Event;
use crh_pipeline::fixer::{Errand, FileEdit, Repair, Told, repair};
use crh_pipeline::office::Office;
use crh_pipeline::terms::Terms;
use crh_review::Remembered;
use crh_review::report::{Issue, Strategy};
use crh_testkit::fake_model::{Read, Scripted, calls};
use crh_testkit::{FakeModel, Repo};

/// Two files with a defect each, and one that nobody asked about.
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

/// An issue in each of them.
pub(super) const ISSUES: &str = r#"
    a cart.py:3 P1 0.9 "An empty order divides by zero" why="An order without a line fails."
    a label.py:2 P2 0.9 "A line without a name fails"
"#;

/// The repair of the first.
pub(super) const OLD: &str = "    return sum(lines) / count\n";
pub(super) const NEW: &str = "    return sum(lines) / count if count else 0\n";

/// A fixer that is about to be sent.
pub(super) struct Scene {
    pub(super) errand: Errand,
    pub(super) tree: WorkTree,
    pub(super) office: Office,
    pub(super) events: Arc<Mutex<Vec<Event>>>,
    // They live as long as what is read from them.
    _staged: Staged,
}

impl Scene {
    /// The change of `CART` with both of its issues, of which the files may be written.
    pub(super) fn new(model: &FakeModel) -> Self {
        Self::of(model, Repo::from_fixture(CART), ISSUES)
    }

    /// The change of a repository's last commit, with issues from a table.
    pub(super) fn of(model: &FakeModel, repo: Repo, table: &str) -> Self {
        Self::on(model, repo, table, |_| {})
    }

    /// The same on other terms.
    pub(super) fn on(
        model: &FakeModel,
        repo: Repo,
        table: &str,
        change: impl FnOnce(&mut Terms),
    ) -> Self {
        let bare = Bare::new(&repo.path().join(".git"));
        let tree = WorkTree::of(&bare, &repo.id("HEAD")).unwrap();
        let staged = Staged::of(repo);
        let merged = consolidate(staged.members(table), &staged.subject, &Remembered::default());
        let numbered = |(number, issue): (u32, Issue)| Issue { number, ..issue };
        let issues: Vec<Issue> = (1..).zip(merged.issues).map(numbered).collect();
        let files = issues.iter().map(|issue| issue.location.file.clone()).collect();
        let mut terms = terms(Strategy::Delegate);
        change(&mut terms);
        let (office, events) = staged.office(model, terms, Vec::new());
        let errand = Errand { round: 1, issues, files };
        Self { errand, tree, office, events, _staged: staged }
    }

    /// The same where these files may be written.
    pub(super) fn with_files(mut self, files: &[&str]) -> Self {
        self.errand.files = files.iter().map(|file| (*file).to_owned()).collect();
        self
    }

    pub(super) async fn repair(&self) -> Repair {
        Box::pin(repair(&self.office, &self.errand, &self.tree)).await
    }

    /// Repairs, and compares what came of it with a few lines.
    pub(super) async fn check(&self, expected: Expect) -> Repair {
        let repair = self.repair().await;
        expected.assert_eq(&shown(&repair));
        repair
    }

    /// What the fixer was told when it was refused something.
    pub(super) fn refused(&self) -> String {
        let events = self.events.lock().unwrap();
        let told = events.iter().filter_map(|event| match event {
            Event::Refused { told, .. } => Some(format!("{told}\n")),
            _ => None,
        });
        told.collect()
    }
}

/// A repair: what became of each issue, the edits, and the run.
pub(super) fn shown(repair: &Repair) -> String {
    let mut shown = String::new();
    for (number, told) in &repair.told {
        let (word, sentence) = match told {
            Told::Done(sentence) => ("done", sentence),
            Told::NotDone(sentence) => ("not done", sentence),
        };
        shown += &format!("#{number} {word}: {sentence}\n");
    }
    for FileEdit { path, before, after, issues } in &repair.edits {
        let text = |bytes: &Option<Vec<u8>>| {
            bytes
                .as_ref()
                .map_or("-".to_owned(), |bytes| format!("{:?}", String::from_utf8_lossy(bytes)))
        };
        shown += &format!("{path} for {issues:?}\n  {}\n  {}\n", text(before), text(after));
    }
    let record = &repair.record;
    shown += &format!("{} {:?}", record.assignment.name, record.ended);
    if let Some(limit) = record.limited {
        shown += &format!(" limited by {limit}");
    }
    shown += "\n";
    shown + &record.notes.iter().map(|note| format!("! {note}\n")).collect::<String>()
}

/// An edit of the first file.
pub(super) fn edit(path: &str, old: &str, new: &str) -> Scripted {
    calls("edit_file", json!({ "path": path, "old": old, "new": new }))
}

/// The report about some issues: their numbers, and whether they are done.
pub(super) fn reports(outcomes: &[(u32, &str)]) -> Scripted {
    let row = |(number, outcome): &(u32, &str)| json!({ "number": number, "outcome": outcome, "sentence": format!("It is {outcome}.") });
    let repairs: Vec<Value> = outcomes.iter().map(row).collect();
    calls("report_repairs", json!({ "repairs": repairs }))
}

/// What tools answered, as the last request has it, a block each.
pub(super) fn answers(model: &FakeModel) -> String {
    let requests = model.requests();
    let read = requests.last().unwrap().read();
    let results = read.into_iter().filter_map(|read| match read {
        Read::Result(text) => Some(format!("{}\n", text.trim_end())),
        _ => None,
    });
    results.collect()
}
