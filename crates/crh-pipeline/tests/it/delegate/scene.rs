//! A small shop under review, and helpers to script a fake model.

use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use expect_test::Expect;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::samples::{one_round, write_and_open};
use crate::test_change::{fake_model, new_change, scope_rules};
use crh_agent::{Budget, Ledger, TranscriptDetail};
use crh_git::BareRepository;
use crh_llm::{Price, Redactor};
use crh_pipeline::assignment::{Assignment, DiffPart};
use crh_pipeline::events::ReviewEvent;
use crh_pipeline::journal::ReviewJournal;
use crh_pipeline::prompts::Prompts;
use crh_pipeline::review_context::ReviewContext;
use crh_pipeline::review_options::{
    ModelSet, PanelOptions, Profile, PromptOverrides, ReviewOptions,
};
use crh_pipeline::revisions::Revisions;
use crh_pipeline::run_folder::RunFolder;
use crh_pipeline::runs::{RunRecord, RunResults};
use crh_pipeline::scope::{DiffOnly, ScopeRules, decide_scope};
use crh_pipeline::strategies::delegate;
use crh_pipeline::tools::ToolContext;
use crh_review::finding::Member;
use crh_review::report::{CoverageState, FileCoverage, ReviewMode, Strategy};
use crh_review::verdict::CommandKind;
use crh_testkit::fake_model::{FakeRequest, PromptPart, ScriptedReply, calls, calls_all};
use crh_testkit::{FakeModel, Repo};

/// Two modules with a changed line each, and a file that others import.
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

/// All files of the shop.
pub(crate) const ALL: &[&str] = &["shop/cart.py", "shop/mail.py", "shop/tax.py"];

/// A scope for each file of the shop.
pub(crate) const EACH: &[(&str, &[&str])] =
    &[("cart", &["shop/cart.py"]), ("mail", &["shop/mail.py"]), ("tax", &["shop/tax.py"])];

/// Two scopes.
pub(crate) const CART_AND_REST: &[(&str, &[&str])] =
    &[("cart", &["shop/cart.py"]), ("rest", &["shop/mail.py", "shop/tax.py"])];

/// A review that is ready to run.
pub(crate) struct Scene {
    pub(crate) context: ReviewContext,
    pub(crate) assignment: Assignment,
    pub(crate) events: Arc<Mutex<Vec<ReviewEvent>>>,
    _repo: Repo,
    _folder: TempDir,
}

/// Deviations from the defaults.
pub(crate) struct SceneOptions {
    pub(crate) side_by_side: usize,
    pub(crate) llm_calls: u32,
    pub(crate) context_tokens: u64,
    pub(crate) price: Option<Price>,
    pub(crate) earlier: Vec<RunRecord>,
    pub(crate) folder: Option<RunFolder>,
    /// Receives every event.
    pub(crate) listener: Box<dyn Fn(&ReviewEvent) + Send + Sync>,
}

impl Default for SceneOptions {
    fn default() -> Self {
        Self {
            side_by_side: 8,
            llm_calls: 200,
            context_tokens: 200_000,
            price: Some(Price::free()),
            earlier: Vec::new(),
            folder: None,
            listener: Box::new(|_| {}),
        }
    }
}

impl Scene {
    pub(crate) fn new(model: &FakeModel, repo: Repo, scene_options: SceneOptions) -> Self {
        let diff = repo.git(&["diff", "-U10", "-M", "--full-index", "HEAD~1", "HEAD"]);
        let (folder, workspace) = write_and_open(&one_round(diff));
        let diff = workspace.diff("1").unwrap();
        let bare = BareRepository::new(&repo.path().join(".git"));
        let revisions = Revisions::new(bare, &repo.id("HEAD~1"), &repo.id("HEAD")).unwrap();
        let ctx =
            ToolContext::new().with_workspace(workspace).with_repository(move || Ok(revisions));
        let rules = ScopeRules { max_file_bytes: u64::MAX, ..scope_rules(&[]) };
        let subject = new_change(ctx, decide_scope(&diff, &DiffOnly, &rules), diff);
        let assignment = Assignment {
            name: "orchestrator".to_owned(),
            reviewer: "orchestrator".to_owned(),
            label: String::new(),
            why: String::new(),
            focus: String::new(),
            parts: subject.files().map(|(file, _)| DiffPart::whole(file.path.shown())).collect(),
        };
        let terms = options(&scene_options);
        let events = Arc::new(Mutex::new(Vec::new()));
        let (heard, listener) = (events.clone(), scene_options.listener);
        let journal = ReviewJournal::open(
            scene_options.folder,
            Redactor::default(),
            TranscriptDetail::Full,
            scene_options.earlier,
            move |event: &ReviewEvent| {
                heard.lock().unwrap().push(event.clone());
                listener(event);
            },
        );
        let context_tokens = scene_options.context_tokens;
        let live = fake_model(model, "fake", context_tokens, 32_000, scene_options.price);
        let context = ReviewContext {
            prompts: Arc::new(Prompts::new(&subject, &terms, context_tokens)),
            change: Arc::new(subject),
            models: ModelSet::uniform(live),
            ledger: Ledger::open(Budget {
                llm_calls: scene_options.llm_calls,
                ..terms.budget.ledger_budget()
            }),
            options: Arc::new(terms),
            static_findings: crh_pipeline::static_findings::StaticFindings::empty(),
            journal,
            retry_seed: 7,
        };
        Self { context, assignment, events, _repo: repo, _folder: folder }
    }

    pub(crate) async fn run(&self) -> RunResults {
        delegate(&self.context, &self.assignment).await
    }

    /// Messages to models about broken rules, by run.
    pub(crate) fn refusals(&self) -> Vec<(String, String)> {
        let events = self.events.lock().unwrap();
        let refused = events.iter().filter_map(|event| match event {
            ReviewEvent::Refused { run, message } => Some((run.clone(), message.clone())),
            _ => None,
        });
        refused.collect()
    }

    /// Files marked as reviewed, sorted.
    pub(crate) fn reviewed(&self) -> Vec<String> {
        let events = self.events.lock().unwrap();
        let mut reviewed: Vec<String> = events
            .iter()
            .filter_map(|event| match event {
                ReviewEvent::FileReviewed { path } => Some(path.clone()),
                _ => None,
            })
            .collect();
        reviewed.sort();
        reviewed
    }
}

pub(crate) fn options(scene_options: &SceneOptions) -> ReviewOptions {
    ReviewOptions {
        strategy: Strategy::Delegate,
        publish: crh_pipeline::review_options::DEFAULT_PUBLISH_RULES,
        command: CommandKind::Review,
        mode: ReviewMode::ReportOnly,
        budget: Profile::Standard.budget(),
        language: String::new(),
        max_parallel: scene_options.side_by_side,
        overrides: PromptOverrides::default(),
        panel: PanelOptions::default(),
    }
}

pub(crate) fn shop() -> Repo {
    Repo::from_fixture(SHOP)
}

pub(crate) fn delegates(scopes: &[(&str, &[&str])]) -> ScriptedReply {
    let scope = |(scope, files): &(&str, &[&str])| json!({ "scope": scope, "files": files });
    calls("delegate_review", json!({ "scopes": scopes.iter().map(scope).collect::<Vec<_>>() }))
}

pub(crate) fn submits(keep: &[&str], drop: &[(&str, &str)]) -> ScriptedReply {
    calls("submit_review", submission(keep, drop))
}

pub(crate) fn submission(keep: &[&str], drop: &[(&str, &str)]) -> Value {
    let drop: Vec<Value> =
        drop.iter().map(|(id, reason)| json!({ "id": id, "reason": reason })).collect();
    json!({ "keep": keep, "drop": drop, "summary": "All looked at." })
}

pub(crate) fn marks(paths: &[&str]) -> ScriptedReply {
    calls_all(paths.iter().map(|path| ("mark_file_reviewed", json!({ "path": path }))))
}

pub(crate) fn reports(findings: &[Value]) -> ScriptedReply {
    calls("report_findings", json!({ "findings": findings, "summary": "Looked at it." }))
}

pub(crate) fn finding(severity: &str, file: &str, title: &str) -> Value {
    let (line, quote) = match file {
        "shop/mail.py" => (2, "return order.mail"),
        "shop/tax.py" => (1, "RATE = 0.19"),
        _ => (2, "return sum(lines) / len(lines)"),
    };
    json!({
        "title": title,
        "severity": severity,
        "category": "bug",
        "file": file,
        "line_start": line,
        "confidence": 0.75,
        "evidence": [{ "snippet": quote }],
        "why_it_matters": "An empty cart divides by zero.",
        "autofix_class": "manual",
        "owner": "downstream-resolver",
        "requires_verification": true,
        "pre_existing": false,
    })
}

/// Results of all runs, without times.
pub(crate) fn render(runs: &RunResults) -> String {
    let mut actual = String::new();
    for record in &runs.records {
        let RunRecord { assignment, ended, limited, .. } = record;
        let Assignment { name, label, why, .. } = assignment;
        let about: Vec<&str> =
            [label, why].into_iter().map(String::as_str).filter(|text| !text.is_empty()).collect();
        actual += &format!("{name} ({}): {ended:?}", about.join(", "));
        actual += &limited.map(|limit| format!(", limited by {limit}")).unwrap_or_default();
        actual += "\n";
        for Member { reviewer, finding, .. } in &record.members {
            actual += &format!("  {reviewer}: {} {}\n", finding.severity, finding.title);
        }
        for dropped in &record.dropped {
            actual += &format!("  {}: {}\n", dropped.fate, dropped.reason);
        }
        let (reviewed, others): (Vec<&FileCoverage>, Vec<&FileCoverage>) =
            record.coverage.iter().partition(|file| file.state == CoverageState::Reviewed);
        if !reviewed.is_empty() {
            let paths: Vec<&str> = reviewed.iter().map(|file| file.path.as_str()).collect();
            actual += &format!("  reviewed: {}\n", paths.join(" "));
        }
        for FileCoverage { path, state, reason } in others {
            actual += &format!("  {path} {state:?} {reason}\n");
        }
        for note in &record.notes {
            actual += &format!("  - {note}\n");
        }
    }
    for note in &runs.notes {
        actual += &format!("- {note}\n");
    }
    actual
}

/// Tool results for a caller, in order.
pub(crate) fn tool_results(model: &FakeModel, caller: &str) -> Vec<String> {
    let requests = model.requests();
    let last = requests.iter().rfind(|asked| asked.caller == caller).unwrap();
    let results = last.prompt_parts().into_iter().filter_map(|read| match read {
        PromptPart::Result(text) => Some(text),
        PromptPart::Tool(_)
        | PromptPart::System(_)
        | PromptPart::User(_)
        | PromptPart::Assistant(_)
        | PromptPart::Thought(_)
        | PromptPart::Call { .. } => None,
    });
    results.collect()
}

/// Reviews the shop with a scripted model.
pub(crate) async fn check(model: &FakeModel, expected: Expect) -> Scene {
    let scene = Scene::new(model, shop(), SceneOptions::default());
    let runs = scene.run().await;
    expected.assert_eq(&render(&runs));
    scene
}

/// Lets threads wait until enough of them have arrived.
#[derive(Default)]
pub(crate) struct Rendezvous {
    present: Mutex<usize>,
    changed: Condvar,
}

impl Rendezvous {
    /// Returns whether all arrived before a timeout.
    pub(crate) fn wait_for(&self, expected: usize) -> bool {
        let mut present = self.present.lock().unwrap();
        *present += 1;
        self.changed.notify_all();
        let patience = Duration::from_secs(60);
        let all = |present: &mut usize| *present < expected;
        !self.changed.wait_timeout_while(present, patience, all).unwrap().1.timed_out()
    }
}

/// A repository with `files` changed files, named `f0` and so on.
pub(crate) fn many_files(files: usize) -> Repo {
    let repo = Repo::new();
    for text in ["old\n", "new\n"] {
        for number in 0..files {
            repo.write(&format!("f{number}.txt"), text);
        }
        repo.commit(text.trim());
    }
    repo
}

pub(crate) fn slot(asked: &FakeRequest) -> usize {
    asked.caller.strip_prefix("sub-agent-").unwrap().parse().unwrap()
}
