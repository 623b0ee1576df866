//! A small shop under review, and the words in which a fake model is scripted.

use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use expect_test::Expect;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::samples::{one_round, opened};
use crh_agent::{Budget, Contents, Ledger};
use crh_git::{Bare, Globs};
use crh_llm::{Abilities, Endpoint, Live, Model, ModelFacts, Network, Price, Redactor, Wire};
use crh_pipeline::events::Event;
use crh_pipeline::journal::Journal;
use crh_pipeline::office::Office;
use crh_pipeline::plan::{Assignment, Part};
use crh_pipeline::prompts::Prompts;
use crh_pipeline::revisions::Revisions;
use crh_pipeline::run_folder::RunFolder;
use crh_pipeline::runs::{RunRecord, Runs};
use crh_pipeline::scope;
use crh_pipeline::scope::{DiffAlone, Rules};
use crh_pipeline::strategies::delegate;
use crh_pipeline::subject::Subject;
use crh_pipeline::terms::{Crew, PanelTerms, Profile, PromptOverrides, Terms};
use crh_pipeline::tools::Bench;
use crh_review::finding::Member;
use crh_review::report;
use crh_review::report::{FileCoverage, Mode, Strategy};
use crh_review::verdict::Asked;
use crh_testkit::fake_model::{Read, Scripted, calls, calls_all};
use crh_testkit::{FakeModel, Repo, fake_model};

/// Two modules, each with a changed line, and a file that others import.
pub(crate) const SHOP: &str = "
    //- shop/cart.py
    def total(lines):
        return sum(lines)
    //- shop/mail.py
    def send(order):
        return order.mail()
    //- shop/tax.py
    RATE = 19
    //- head
    //- shop/cart.py
    def total(lines):
        return sum(lines) / len(lines)
    //- shop/mail.py
    def send(order):
        return order.mail
    //- shop/tax.py
    RATE = 0.19
";

/// A review that can be begun.
pub(crate) struct Scene {
    pub(crate) office: Office,
    pub(crate) assignment: Assignment,
    pub(crate) events: Arc<Mutex<Vec<Event>>>,
    _repo: Repo,
    _folder: TempDir,
}

/// What is not as usual about a review.
pub(crate) struct Unusual {
    pub(crate) side_by_side: usize,
    pub(crate) llm_calls: u32,
    pub(crate) price: Option<Price>,
    pub(crate) earlier: Vec<RunRecord>,
    pub(crate) folder: Option<RunFolder>,
    /// Hears every event.
    pub(crate) listener: Box<dyn Fn(&Event) + Send + Sync>,
}

impl Default for Unusual {
    fn default() -> Self {
        Self {
            side_by_side: 8,
            llm_calls: 200,
            price: Some(Price::free()),
            earlier: Vec::new(),
            folder: None,
            listener: Box::new(|_| {}),
        }
    }
}

impl Scene {
    pub(crate) fn new(model: &FakeModel, repo: Repo, unusual: Unusual) -> Self {
        let diff = repo.git(&["diff", "-U10", "-M", "--full-index", "HEAD~1", "HEAD"]);
        let (folder, workspace) = opened(&one_round(diff));
        let diff = workspace.diff("1").unwrap();
        let bare = Bare::new(&repo.path().join(".git"));
        let revisions = Revisions::new(bare, &repo.id("HEAD~1"), &repo.id("HEAD")).unwrap();
        let rules = Rules {
            exclude: Globs::default(),
            include: Globs::default(),
            generated: Globs::default(),
            max_file_bytes: u64::MAX,
        };
        let subject = Subject {
            bench: Bench::new().with_workspace(workspace).with_repository(move || Ok(revisions)),
            scope: scope::scope(&diff, &DiffAlone, &rules),
            diff,
            change: report::Change::default(),
            untracked: Vec::new(),
            notes: Vec::new(),
            since: None,
        };
        let assignment = Assignment {
            name: "orchestrator".to_owned(),
            reviewer: "orchestrator".to_owned(),
            label: String::new(),
            why: String::new(),
            focus: String::new(),
            parts: subject.files().map(|(file, _)| Part::whole(file.path.shown())).collect(),
        };
        let terms = terms(&unusual);
        let events = Arc::new(Mutex::new(Vec::new()));
        let (heard, listener) = (events.clone(), unusual.listener);
        let journal = Journal::open(
            unusual.folder,
            Redactor::default(),
            Contents::Full,
            unusual.earlier,
            move |event: &Event| {
                heard.lock().unwrap().push(event.clone());
                listener(event);
            },
        );
        let live = model_at(&model.url(), unusual.price);
        let office = Office {
            prompts: Arc::new(Prompts::new(&subject, &terms, 200_000)),
            subject: Arc::new(subject),
            crew: Crew { reviewer: live.clone(), cheap: live.clone(), escalation: live },
            ledger: Ledger::open(Budget {
                llm_calls: unusual.llm_calls,
                ..terms.allowance.budget()
            }),
            terms: Arc::new(terms),
            found: crh_pipeline::found_by_code::FoundByCode::nothing(),
            journal,
            seed: 7,
        };
        Self { office, assignment, events, _repo: repo, _folder: folder }
    }

    pub(crate) async fn run(&self) -> Runs {
        delegate(&self.office, &self.assignment).await
    }

    /// The sentences that models were told when they broke a rule, by the name of the run.
    pub(crate) fn refusals(&self) -> Vec<(String, String)> {
        let events = self.events.lock().unwrap();
        let refused = events.iter().filter_map(|event| match event {
            Event::Refused { run, told } => Some((run.clone(), told.clone())),
            _ => None,
        });
        refused.collect()
    }

    /// The files that were told to be done, sorted.
    pub(crate) fn reviewed(&self) -> Vec<String> {
        let events = self.events.lock().unwrap();
        let mut reviewed: Vec<String> = events
            .iter()
            .filter_map(|event| match event {
                Event::FileReviewed { path } => Some(path.clone()),
                _ => None,
            })
            .collect();
        reviewed.sort();
        reviewed
    }
}

pub(crate) fn terms(unusual: &Unusual) -> Terms {
    Terms {
        strategy: Strategy::Delegate,
        asked: Asked::Review,
        mode: Mode::ReportOnly,
        allowance: Profile::Standard.allowance(),
        language: String::new(),
        side_by_side: unusual.side_by_side,
        overrides: PromptOverrides::default(),
        panel: PanelTerms::default(),
    }
}

pub(crate) fn model_at(url: &str, price: Option<Price>) -> Model {
    let (wire, url) = (Wire::OpenAiChat, url.parse().unwrap());
    let endpoint = Endpoint { wire, url, key: None, model: "fake".to_owned() };
    let abilities = Abilities { tools: true, schema: true };
    let facts = ModelFacts { context: 200_000, max_output: 32_000, price, abilities };
    Model::live("openai:fake", facts, Live::new(endpoint, &Network::default()).unwrap())
}

pub(crate) fn shop() -> Repo {
    Repo::from_fixture(SHOP)
}

pub(crate) fn delegates(scopes: &[(&str, &[&str])]) -> Scripted {
    let scope = |(scope, files): &(&str, &[&str])| json!({ "scope": scope, "files": files });
    calls("delegate_review", json!({ "scopes": scopes.iter().map(scope).collect::<Vec<_>>() }))
}

pub(crate) fn submits(keep: &[&str], drop: &[(&str, &str)]) -> Scripted {
    calls("submit_review", submission(keep, drop))
}

pub(crate) fn submission(keep: &[&str], drop: &[(&str, &str)]) -> Value {
    let drop: Vec<Value> =
        drop.iter().map(|(id, reason)| json!({ "id": id, "reason": reason })).collect();
    json!({ "keep": keep, "drop": drop, "summary": "All looked at." })
}

pub(crate) fn marks(paths: &[&str]) -> Scripted {
    calls_all(paths.iter().map(|path| ("mark_file_reviewed", json!({ "path": path }))))
}

pub(crate) fn reports(findings: &[Value]) -> Scripted {
    calls("report_findings", json!({ "findings": findings, "summary": "Looked at it." }))
}

pub(crate) fn finding(severity: &str, file: &str, title: &str) -> Value {
    json!({
        "title": title,
        "severity": severity,
        "category": "bug",
        "file": file,
        "line_start": 2,
        "confidence": 0.75,
        "evidence": [{ "snippet": "return sum(lines) / len(lines)" }],
        "why_it_matters": "An empty cart divides by zero.",
        "autofix_class": "manual",
        "owner": "downstream-resolver",
        "requires_verification": true,
        "pre_existing": false,
    })
}

/// Everything that runs brought, but how long it took.
pub(crate) fn shown(runs: &Runs) -> String {
    let mut shown = String::new();
    for record in &runs.records {
        let RunRecord { assignment, ended, limited, .. } = record;
        let Assignment { name, label, why, .. } = assignment;
        let about: Vec<&str> =
            [label, why].into_iter().map(String::as_str).filter(|text| !text.is_empty()).collect();
        shown += &format!("{name} ({}): {ended:?}", about.join(", "));
        shown += &limited.map(|limit| format!(", limited by {limit}")).unwrap_or_default();
        shown += "\n";
        for Member { reviewer, finding, .. } in &record.members {
            shown += &format!("  {reviewer}: {} {}\n", finding.severity, finding.title);
        }
        for dropped in &record.set_aside {
            shown += &format!("  {}: {}\n", dropped.fate, dropped.reason);
        }
        for FileCoverage { path, state, reason } in &record.coverage {
            shown += format!("  {path} {state:?} {reason}").trim_end();
            shown += "\n";
        }
        for note in &record.notes {
            shown += &format!("  - {note}\n");
        }
    }
    for note in &runs.notes {
        shown += &format!("- {note}\n");
    }
    shown
}

/// What the tools answered to a caller, in order.
pub(crate) fn results(model: &FakeModel, caller: &str) -> Vec<String> {
    let requests = model.requests();
    let last = requests.iter().rfind(|asked| asked.caller == caller).unwrap();
    let results = last.read().into_iter().filter_map(|read| match read {
        Read::Result(text) => Some(text),
        Read::Tool(_)
        | Read::System(_)
        | Read::User(_)
        | Read::Said(_)
        | Read::Thought(_)
        | Read::Call { .. } => None,
    });
    results.collect()
}

/// Reviews the shop with a scripted model.
pub(crate) async fn check(model: &FakeModel, expected: Expect) -> Scene {
    let scene = Scene::new(model, shop(), Unusual::default());
    let runs = scene.run().await;
    expected.assert_eq(&shown(&runs));
    scene
}

/// Lets those who come wait until so many are there.
#[derive(Default)]
pub(crate) struct Meeting {
    present: Mutex<usize>,
    changed: Condvar,
}

impl Meeting {
    /// Whether all came. Nobody waits for ever for those who do not.
    pub(crate) fn wait_for(&self, expected: usize) -> bool {
        let mut present = self.present.lock().unwrap();
        *present += 1;
        self.changed.notify_all();
        let patience = Duration::from_secs(60);
        let all = |present: &mut usize| *present < expected;
        !self.changed.wait_timeout_while(present, patience, all).unwrap().1.timed_out()
    }
}

/// A repository with so many changed files, named `f0` and so on.
pub(crate) fn many(files: usize) -> Repo {
    let repo = Repo::new();
    for text in ["old\n", "new\n"] {
        for number in 0..files {
            repo.write(&format!("f{number}.txt"), text);
        }
        repo.commit(text.trim());
    }
    repo
}

pub(crate) fn slot(asked: &fake_model::Asked) -> usize {
    asked.caller.strip_prefix("sub-agent-").unwrap().parse().unwrap()
}
