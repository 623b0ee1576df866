//! A review by `single` that is ready to run, and scripted answers.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::samples::{one_round, write_and_open};
use crh_agent::{Ledger, TranscriptDetail as Logged};
use crh_git::{BareRepository, PathGlobs};
use crh_llm::{
    Abilities, Endpoint, Model, ModelFacts, Money, NetworkSettings, Price, Rates, Redactor,
    VendorClient, Wire,
};
use crh_pipeline::change_under_review::ChangeUnderReview;
use crh_pipeline::checks::CheckOptions;
use crh_pipeline::context::PanelContext;
use crh_pipeline::events::ReviewEvent;
use crh_pipeline::journal::ReviewJournal;
use crh_pipeline::plan::{Assignment, plan};
use crh_pipeline::prompts::Prompts;
use crh_pipeline::review_context::ReviewContext;
use crh_pipeline::review_options::{
    ModelSet, PanelOptions, Profile, PromptOverrides, ReviewBudget, ReviewOptions,
};
use crh_pipeline::revisions::Revisions;
use crh_pipeline::runs::RunRecord;
use crh_pipeline::scope::{DiffOnly, ScopeRules, decide_scope};
use crh_pipeline::strategies::single;
use crh_pipeline::tools::ToolContext;
use crh_review::diff::Diff;
use crh_review::report;
use crh_review::report::{ReviewMode, Strategy};
use crh_review::verdict::CommandKind;
use crh_testkit::fake_model::{PromptPart, ScriptedReply, calls};
use crh_testkit::{FakeModel, Repo};

pub(super) const SUBMIT: &str = "submit_review_result";
/// The changed line that findings quote.
pub(super) const BAD: &str = "return total(order) / order.discount";

/// A change in a function that is longer than the diff shows, and another file.
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

/// A review that is ready to run.
pub(super) struct SingleScene {
    pub(super) context: ReviewContext,
    assignment: Assignment,
    pub(super) events: Arc<Mutex<Vec<ReviewEvent>>>,
    _folders: (Repo, TempDir),
}

pub(super) fn facts() -> ModelFacts {
    // A million tokens cost 40 cents to read and 1.60 dollars to write.
    let input = Money::cents(40).per_million();
    let rates = Rates { input, cache_read: input, cache_write: input, output: input.times(4) };
    ModelFacts {
        context: 200_000,
        max_output: 16_000,
        price: Some(Price { rates, long: None }),
        abilities: Abilities { tools: true, schema: true, effort: false },
    }
}

pub(super) fn model(fake: &FakeModel, name: &str) -> Model {
    let url = fake.url().parse().unwrap();
    let endpoint = Endpoint { wire: Wire::OpenAiChat, url, key: None, model: name.to_owned() };
    let live = VendorClient::new(endpoint, &NetworkSettings::default()).unwrap();
    Model::live(format!("openai:{name}"), facts(), live)
}

impl SingleScene {
    pub(super) fn new(repo: Repo, fake: &FakeModel, allowance: ReviewBudget) -> Self {
        let (base, head) = (repo.id("HEAD~1"), repo.id("HEAD"));
        let raw = repo.git(&["diff", "-U10", "-M", "--full-index", "--no-color", &base, &head]);
        let diff = Diff::read(raw.clone());
        let (folder, workspace) = write_and_open(&one_round(raw));
        let none = PathGlobs::default;
        let rules = ScopeRules {
            paths: PathGlobs::default(),
            exclude: none(),
            include: none(),
            generated: none(),
            max_file_bytes: 1 << 20,
            strict: false,
        };
        let bare = BareRepository::new(&repo.path().join(".git"));
        let open = move || Ok(Revisions::new(bare, &base, &head).unwrap());
        let subject = ChangeUnderReview {
            tool_context: ToolContext::new().with_workspace(workspace).with_repository(open),
            scope: decide_scope(&diff, &DiffOnly, &rules),
            diff: Arc::new(diff),
            report_change: report::ReviewedChange::default(),
            untracked: Vec::new(),
            notes: Vec::new(),
            incremental: None,
        };
        let terms = ReviewOptions {
            publish: crh_pipeline::review_options::DEFAULT_PUBLISH_RULES,
            strategy: Strategy::Single,
            command: CommandKind::Review,
            mode: ReviewMode::ReportOnly,
            budget: allowance,
            language: String::new(),
            max_parallel: 4,
            overrides: PromptOverrides::default(),
            panel: PanelOptions::default(),
        };
        let plan =
            plan(&subject, Strategy::Single, &CheckOptions::default(), &PanelContext::default());
        let assignment = plan.assignments.into_iter().find(|it| it.name == "single").unwrap();
        let [reviewer, escalation] = ["mini", "strong"].map(|name| model(fake, name));
        let events = Arc::new(Mutex::new(Vec::new()));
        let context = ReviewContext {
            prompts: Arc::new(Prompts::new(&subject, &terms, facts().context)),
            change: Arc::new(subject),
            models: ModelSet {
                cheap: reviewer.clone(),
                reviewer,
                editor: escalation.clone(),
                escalation,
            },
            ledger: Ledger::open(terms.budget.ledger_budget()),
            options: Arc::new(terms),
            static_findings: crh_pipeline::static_findings::StaticFindings::empty(),
            journal: journal(Vec::new(), &events),
            retry_seed: 7,
        };
        Self { context, assignment, events, _folders: (repo, folder) }
    }

    pub(super) fn quick(fake: &FakeModel) -> Self {
        Self::new(shop(), fake, Profile::Quick.budget())
    }

    pub(super) fn standard(fake: &FakeModel) -> Self {
        Self::new(shop(), fake, Profile::Standard.budget())
    }

    pub(super) async fn run(&self) -> RunRecord {
        let runs = single(&self.context, &self.assignment).await;
        let [record] = runs.records.as_slice() else { panic!("{runs:?}") };
        record.clone()
    }

    /// Events as short lines.
    pub(super) fn event_lines(&self) -> Vec<String> {
        let events = self.events.lock().unwrap();
        let line = |event: &ReviewEvent| match event {
            ReviewEvent::RunStarted { run, files, .. } => {
                Some(format!("{run} begins, {files} files"))
            }
            ReviewEvent::RunEnded { run, findings, failure, .. } => Some(format!(
                "{run} ends, {findings} findings {}",
                failure.as_deref().unwrap_or("")
            )),
            ReviewEvent::ToolCalled { run, tool, about } => Some(format!("{run} {tool} {about}")),
            ReviewEvent::FileReviewed { path } => Some(format!("reviewed {path}")),
            ReviewEvent::StageStarted { .. }
            | ReviewEvent::StageEnded { .. }
            | ReviewEvent::Planned { .. }
            | ReviewEvent::TeamChosen { .. }
            | ReviewEvent::Refused { .. }
            | ReviewEvent::Spent { .. }
            | ReviewEvent::Warning { .. } => None,
        };
        events.iter().filter_map(line).map(|line| line.trim_end().to_owned()).collect()
    }
}

pub(super) fn journal(
    earlier: Vec<RunRecord>,
    events: &Arc<Mutex<Vec<ReviewEvent>>>,
) -> ReviewJournal {
    let events = Arc::clone(events);
    let listen = move |event: &ReviewEvent| events.lock().unwrap().push(event.clone());
    ReviewJournal::open(None, Redactor::default(), Logged::LengthsOnly, earlier, listen)
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

pub(super) fn submits(value: Value) -> ScriptedReply {
    calls(SUBMIT, value)
}

pub(super) fn with(mut value: Value, field: &str, content: Value) -> Value {
    value[field] = content;
    value
}

pub(super) fn verdict(id: &str, word: &str) -> Value {
    json!({ "id": id, "verdict": word, "reason": "line 32 shows it" })
}

/// All text from crh in the last request of a caller.
pub(super) fn last_request_text(fake: &FakeModel, caller: &str) -> String {
    let requests = fake.requests();
    let last = requests.iter().rev().find(|asked| asked.caller == caller).unwrap();
    let texts = last.prompt_parts().into_iter().filter_map(|read| match read {
        PromptPart::User(text) | PromptPart::Result(text) => Some(text),
        PromptPart::Tool(_)
        | PromptPart::System(_)
        | PromptPart::Assistant(_)
        | PromptPart::Thought(_)
        | PromptPart::Call { .. } => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

pub(super) fn titles(record: &RunRecord) -> Vec<&str> {
    record.members.iter().map(|member| member.finding.title.as_str()).collect()
}
