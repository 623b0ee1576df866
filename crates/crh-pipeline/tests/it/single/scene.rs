//! A review by `single` that is about to begin, and what models say in it.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::samples::{one_round, opened};
use crh_agent::{Contents as Logged, Ledger};
use crh_git::{Bare, Globs};
use crh_llm::{
    Abilities, Endpoint, Live, Model, ModelFacts, Money, Network, Price, Rates, Redactor, Wire,
};
use crh_pipeline::checks::CheckTerms;
use crh_pipeline::context::Context;
use crh_pipeline::events::Event;
use crh_pipeline::journal::Journal;
use crh_pipeline::office::Office;
use crh_pipeline::plan::{Assignment, plan};
use crh_pipeline::prompts::Prompts;
use crh_pipeline::revisions::Revisions;
use crh_pipeline::runs::RunRecord;
use crh_pipeline::scope::{DiffAlone, Rules, scope};
use crh_pipeline::strategies::single;
use crh_pipeline::subject::Subject;
use crh_pipeline::terms::{Allowance, Crew, PanelTerms, Profile, PromptOverrides, Terms};
use crh_pipeline::tools::Bench;
use crh_review::diff::Diff;
use crh_review::report;
use crh_review::report::{Mode, Strategy};
use crh_review::verdict::Asked;
use crh_testkit::fake_model::{Read, Scripted, calls};
use crh_testkit::{FakeModel, Repo};

pub(super) const SUBMIT: &str = "submit_review_result";
/// The line of the change that findings quote.
pub(super) const BAD: &str = "return total(order) / order.discount";

/// A change of one file, whose function is longer than what the diff shows of it, and a file beside it.
pub(super) fn shop() -> Repo {
    let body: String = (1..=30).map(|number| format!("    step_{number} = {number}\n")).collect();
    let orders = |last: &str| format!("def price(order):\n{body}    {last}\n");
    let repo = Repo::new();
    repo.write("shop/orders.py", orders("return total(order)"));
    let lines: String = (1..=300).map(|number| format!("LIMIT_{number} = {number}\n")).collect();
    repo.write("shop/limits.py", lines);
    repo.commit("base");
    repo.write("shop/orders.py", orders(BAD));
    repo.commit("change");
    repo
}

/// A review that is about to begin.
pub(super) struct Stage {
    pub(super) office: Office,
    assignment: Assignment,
    pub(super) events: Arc<Mutex<Vec<Event>>>,
    _folders: (Repo, TempDir),
}

pub(super) fn facts() -> ModelFacts {
    // What a million tokens cost: 40 cents to read, 1.60 to write.
    let input = Money::cents(40).per_million();
    let rates = Rates { input, cache_read: input, cache_write: input, output: input.times(4) };
    ModelFacts {
        context: 200_000,
        max_output: 16_000,
        price: Some(Price { rates, long: None }),
        abilities: Abilities { tools: true, schema: true },
    }
}

pub(super) fn model(fake: &FakeModel, name: &str) -> Model {
    let url = fake.url().parse().unwrap();
    let endpoint = Endpoint { wire: Wire::OpenAiChat, url, key: None, model: name.to_owned() };
    let live = Live::new(endpoint, &Network::default()).unwrap();
    Model::live(format!("openai:{name}"), facts(), live)
}

impl Stage {
    pub(super) fn new(repo: Repo, fake: &FakeModel, allowance: Allowance) -> Self {
        let (base, head) = (repo.id("HEAD~1"), repo.id("HEAD"));
        let raw = repo.git(&["diff", "-U10", "-M", "--full-index", "--no-color", &base, &head]);
        let diff = Diff::read(raw.clone());
        let (folder, workspace) = opened(&one_round(raw));
        let none = Globs::default;
        let rules =
            Rules { exclude: none(), include: none(), generated: none(), max_file_bytes: 1 << 20 };
        let bare = Bare::new(&repo.path().join(".git"));
        let open = move || Ok(Revisions::new(bare, &base, &head).unwrap());
        let subject = Subject {
            bench: Bench::new().with_workspace(workspace).with_repository(open),
            scope: scope(&diff, &DiffAlone, &rules),
            diff: Arc::new(diff),
            change: report::Change::default(),
            untracked: Vec::new(),
            notes: Vec::new(),
            since: None,
        };
        let terms = Terms {
            strategy: Strategy::Single,
            asked: Asked::Review,
            mode: Mode::ReportOnly,
            allowance,
            language: String::new(),
            side_by_side: 4,
            overrides: PromptOverrides::default(),
            panel: PanelTerms::default(),
        };
        let plan = plan(&subject, Strategy::Single, &CheckTerms::default(), &Context::default());
        let assignment = plan.assignments.into_iter().find(|it| it.name == "single").unwrap();
        let [reviewer, escalation] = ["mini", "strong"].map(|name| model(fake, name));
        let events = Arc::new(Mutex::new(Vec::new()));
        let office = Office {
            prompts: Arc::new(Prompts::new(&subject, &terms, facts().context)),
            subject: Arc::new(subject),
            crew: Crew { cheap: reviewer.clone(), reviewer, escalation },
            ledger: Ledger::open(terms.allowance.budget()),
            terms: Arc::new(terms),
            found: crh_pipeline::found_by_code::FoundByCode::nothing(),
            journal: journal(Vec::new(), &events),
            seed: 7,
        };
        Self { office, assignment, events, _folders: (repo, folder) }
    }

    pub(super) fn quick(fake: &FakeModel) -> Self {
        Self::new(shop(), fake, Profile::Quick.allowance())
    }

    pub(super) fn standard(fake: &FakeModel) -> Self {
        Self::new(shop(), fake, Profile::Standard.allowance())
    }

    pub(super) async fn run(&self) -> RunRecord {
        let runs = single(&self.office, &self.assignment).await;
        let [record] = runs.records.as_slice() else { panic!("{runs:?}") };
        record.clone()
    }

    /// The events, as short lines.
    pub(super) fn told(&self) -> Vec<String> {
        let events = self.events.lock().unwrap();
        let line = |event: &Event| match event {
            Event::RunStarted { run, files, .. } => Some(format!("{run} begins, {files} files")),
            Event::RunEnded { run, findings, failure, .. } => Some(format!(
                "{run} ends, {findings} findings {}",
                failure.as_deref().unwrap_or("")
            )),
            Event::ToolCalled { run, tool, about } => Some(format!("{run} {tool} {about}")),
            Event::FileReviewed { path } => Some(format!("reviewed {path}")),
            Event::StageStarted { .. }
            | Event::StageEnded { .. }
            | Event::Planned { .. }
            | Event::TeamChosen { .. }
            | Event::Refused { .. }
            | Event::Spent { .. }
            | Event::Warning { .. } => None,
        };
        events.iter().filter_map(line).map(|line| line.trim_end().to_owned()).collect()
    }
}

pub(super) fn journal(earlier: Vec<RunRecord>, events: &Arc<Mutex<Vec<Event>>>) -> Journal {
    let events = Arc::clone(events);
    let listen = move |event: &Event| events.lock().unwrap().push(event.clone());
    Journal::open(None, Redactor::default(), Logged::Withheld, earlier, listen)
}

pub(super) fn finding(title: &str, severity: &str, confidence: f64) -> Value {
    json!({
        "title": title,
        "severity": severity,
        "category": "bug",
        "file": "shop/orders.py",
        "line_start": 32,
        "confidence": confidence,
        "evidence": [{ "snippet": BAD }],
        "why_it_matters": "An order without a discount divides by zero.",
        "autofix_class": "manual",
        "owner": "human",
        "requires_verification": true,
        "pre_existing": false,
    })
}

pub(super) fn result(findings: &[Value]) -> Value {
    json!({ "findings": findings, "summary": "One division." })
}

pub(super) fn submits(value: Value) -> Scripted {
    calls(SUBMIT, value)
}

pub(super) fn with(mut value: Value, field: &str, content: Value) -> Value {
    value[field] = content;
    value
}

pub(super) fn verdict(id: &str, word: &str) -> Value {
    json!({ "id": id, "verdict": word, "reason": "line 32 shows it" })
}

/// Everything that our side said in the last request of a caller.
pub(super) fn said_to(fake: &FakeModel, caller: &str) -> String {
    let requests = fake.requests();
    let last = requests.iter().rev().find(|asked| asked.caller == caller).unwrap();
    let texts = last.read().into_iter().filter_map(|read| match read {
        Read::User(text) | Read::Result(text) => Some(text),
        Read::Tool(_) | Read::System(_) | Read::Said(_) | Read::Thought(_) | Read::Call { .. } => {
            None
        }
    });
    texts.collect::<Vec<_>>().join("\n")
}

pub(super) fn titles(record: &RunRecord) -> Vec<&str> {
    record.members.iter().map(|member| member.finding.title.as_str()).collect()
}
