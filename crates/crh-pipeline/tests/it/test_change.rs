//! A change from a fixture, and findings about it as a table.

use std::num::NonZeroU32;
use std::sync::{Arc, Mutex};

use serde_json::json;
use tempfile::TempDir;

use crate::samples::{one_round, write_and_open};
use crh_agent::{Ledger, TranscriptDetail};
use crh_git::{BareRepository, PathGlobs};
use crh_llm::{
    Abilities, Endpoint, Model, ModelFacts, NetworkSettings, Price, Redactor, VendorClient, Wire,
};
use crh_pipeline::assignment::{Assignment, DiffPart};
use crh_pipeline::change_under_review::ChangeUnderReview;
use crh_pipeline::collect::ReviewFindings;
use crh_pipeline::events::ReviewEvent;
use crh_pipeline::journal::ReviewJournal;
use crh_pipeline::prompts::Prompts;
use crh_pipeline::review_context::ReviewContext;
use crh_pipeline::review_options::{
    ModelSet, PanelOptions, Profile, PromptOverrides, ReviewOptions,
};
use crh_pipeline::revisions::Revisions;
use crh_pipeline::runs::RunRecord;
use crh_pipeline::scope::{DiffOnly, Scope, ScopeRules, decide_scope};
use crh_pipeline::static_findings::StaticFindings;
use crh_pipeline::tools::ToolContext;
use crh_review::diff::Diff;
use crh_review::finding::{Finding, Member, Origin, Side};
use crh_review::report::{CoverageState, FileCoverage, ReviewMode, ReviewedChange, Strategy};
use crh_review::verdict::CommandKind;
use crh_testkit::{FakeModel, Repo};

/// A change in a real repository and workspace, which live as long as this value.
pub(crate) struct TestChange {
    pub(crate) subject: ChangeUnderReview,
    repo: Option<Repo>,
    _workspace: TempDir,
}

impl TestChange {
    /// The change of a fixture.
    pub(crate) fn new(fixture: &str) -> Self {
        Self::from_repo(Repo::from_fixture(fixture))
    }

    /// The last commit of a repository.
    pub(crate) fn from_repo(repo: Repo) -> Self {
        let (base, head) = (repo.id("HEAD~1"), repo.id("HEAD"));
        let diff = repo.git(&["diff", "-U10", "-M", "--full-index", "--no-color", &base, &head]);
        let bare = BareRepository::new(&repo.path().join(".git"));
        let revisions = Revisions::new(bare, &base, &head).unwrap();
        let (folder, workspace) = write_and_open(&one_round(diff));
        let ctx = ToolContext::new().with_workspace(workspace);
        let ctx = ctx.with_repository(move || Ok(revisions));
        Self { subject: change_under_review(ctx, &head), repo: Some(repo), _workspace: folder }
    }

    /// A change without a repository.
    pub(crate) fn from_diff(diff: &str) -> Self {
        let (folder, workspace) = write_and_open(&one_round(diff));
        let ctx = ToolContext::new().with_workspace(workspace);
        Self { subject: change_under_review(ctx, "abc"), repo: None, _workspace: folder }
    }

    /// A review context that uses this model for everything, and its events.
    pub(crate) fn review_context(
        &self,
        model: &FakeModel,
        terms: ReviewOptions,
        earlier: Vec<RunRecord>,
    ) -> (ReviewContext, Arc<Mutex<Vec<ReviewEvent>>>) {
        let crew =
            ModelSet::uniform(fake_model(model, "fake", 200_000, 10_000, Some(Price::free())));
        let events = Arc::new(Mutex::new(Vec::new()));
        let heard = events.clone();
        let listen = move |event: &ReviewEvent| heard.lock().unwrap().push(event.clone());
        let redactor = Redactor::default();
        let context = ReviewContext {
            prompts: Arc::new(Prompts::new(&self.subject, &terms, 200_000)),
            change: Arc::new(self.subject.clone()),
            ledger: Ledger::open(terms.budget.ledger_budget()),
            options: Arc::new(terms),
            models: crew,
            static_findings: StaticFindings::empty(),
            journal: ReviewJournal::open(
                None,
                redactor,
                TranscriptDetail::LengthsOnly,
                earlier,
                listen,
            ),
            retry_seed: 7,
        };
        (context, events)
    }

    /// Parses findings from a table. A row is `reviewer file:line severity confidence "title"`,
    /// then any of `quote="…"`, `why="…"`, `side=old`, `code`. Without `quote` it quotes its line.
    pub(crate) fn members(&self, table: &str) -> Vec<Member> {
        let rows = table.lines().map(str::trim).filter(|row| !row.is_empty());
        rows.map(|row| self.member(row)).collect()
    }

    /// Collected findings of a table.
    pub(crate) fn collected_findings(&self, table: &str) -> ReviewFindings {
        ReviewFindings { members: self.members(table), ..ReviewFindings::default() }
    }

    fn member(&self, row: &str) -> Member {
        let (head, rest) = row.split_once('"').unwrap();
        let (title, rest) = rest.split_once('"').unwrap();
        let [reviewer, place, severity, confidence] =
            head.split_whitespace().collect::<Vec<_>>().try_into().unwrap();
        let (file, line) = place.split_once(':').unwrap();
        let line: u32 = line.parse().unwrap();
        let option = |name: &str| {
            let (_, after) = rest.split_once(&format!("{name}=\""))?;
            Some(after.split_once('"').unwrap().0.replace("\\n", "\n"))
        };
        let side = if rest.contains("side=old") { Side::Old } else { Side::New };
        let own = || self.line(side, file, line).unwrap_or_else(|| panic!("no line: {row}"));
        let finding = Finding {
            title: title.to_owned(),
            file: file.to_owned(),
            line_start: NonZeroU32::new(line),
            side: Some(side),
            why_it_matters: option("why").unwrap_or_else(|| "It is wrong.".to_owned()),
            ..finding(severity, confidence.parse().unwrap(), &option("quote").unwrap_or_else(own))
        };
        let mut member = Member::new(reviewer, finding);
        if rest.contains(" code") {
            member.origin = Origin::Code;
        }
        member
    }

    fn line(&self, side: Side, file: &str, line: u32) -> Option<String> {
        let commit = match side {
            Side::Old => "HEAD~1",
            Side::New => "HEAD",
        };
        let text = self.repo.as_ref()?.git_or_nothing(&["show", &format!("{commit}:{file}")]);
        let text = String::from_utf8(text).unwrap();
        text.lines().nth(line as usize - 1).map(str::to_owned)
    }
}

fn change_under_review(ctx: ToolContext, head: &str) -> ChangeUnderReview {
    let diff = ctx.workspace().unwrap().diff("1").unwrap();
    let scope = decide_scope(&diff, &DiffOnly, &scope_rules(&["excluded/**"]));
    let report_change = ReviewedChange {
        repo: "o/r".to_owned(),
        head_sha: head.to_owned(),
        title: "A change".to_owned(),
        ..ReviewedChange::default()
    };
    let untracked = vec!["notes.txt".to_owned()];
    ChangeUnderReview { report_change, untracked, ..new_change(ctx, scope, diff) }
}

/// A change about which nothing else is known.
pub(crate) fn new_change(ctx: ToolContext, scope: Scope, diff: Arc<Diff>) -> ChangeUnderReview {
    ChangeUnderReview {
        tool_context: ctx,
        scope,
        diff,
        report_change: ReviewedChange::default(),
        untracked: Vec::new(),
        notes: Vec::new(),
        incremental: None,
        lessons: Arc::default(),
    }
}

/// Rules that exclude these paths and files over 1 MiB.
pub(crate) fn scope_rules(exclude: &[&str]) -> ScopeRules {
    ScopeRules {
        paths: PathGlobs::default(),
        exclude: PathGlobs::new(exclude.iter().copied()).unwrap(),
        include: PathGlobs::default(),
        generated: PathGlobs::default(),
        max_file_bytes: 1 << 20,
        strict: false,
    }
}

/// A model with all abilities, at a fake server.
pub(crate) fn fake_model(
    fake: &FakeModel,
    name: &str,
    context: u64,
    max_output: u64,
    price: Option<Price>,
) -> Model {
    let (wire, url) = (Wire::OpenAiChat, fake.url().parse().unwrap());
    let endpoint = Endpoint { wire, url, key: None, model: name.to_owned() };
    let abilities = Abilities { tools: true, schema: true, effort: false };
    let facts = ModelFacts { context, max_output, price, abilities };
    let client = VendorClient::new(endpoint, &NetworkSettings::default()).unwrap();
    Model::live(format!("openai:{name}"), facts, client)
}

/// A finding on the first line of `a.rs` with a quote.
pub(crate) fn finding(severity: &str, confidence: f64, quote: &str) -> Finding {
    serde_json::from_value(json!({
        "title": "Off by one", "severity": severity, "category": "bug", "file": "a.rs",
        "line_start": 1, "confidence": confidence, "evidence": [{ "snippet": quote }],
        "why_it_matters": "It is wrong.", "autofix_class": "manual",
        "owner": "downstream-resolver", "requires_verification": false, "pre_existing": false,
    }))
    .unwrap()
}

pub(crate) fn options(strategy: Strategy) -> ReviewOptions {
    ReviewOptions {
        strategy,
        publish: crh_pipeline::review_options::DEFAULT_PUBLISH_RULES,
        command: CommandKind::Review,
        mode: ReviewMode::ReportOnly,
        budget: Profile::Standard.budget(),
        language: String::new(),
        max_parallel: 4,
        overrides: PromptOverrides::default(),
        panel: PanelOptions::default(),
    }
}

/// A run that has reviewed these files.
pub(crate) fn run(name: &str, paths: &[&str]) -> RunRecord {
    let assignment = Assignment {
        name: name.to_owned(),
        reviewer: name.to_owned(),
        label: String::new(),
        why: String::new(),
        focus: String::new(),
        parts: paths.iter().map(|path| DiffPart::whole(*path)).collect(),
    };
    let reviewed = |path: &&str| FileCoverage {
        path: (*path).to_owned(),
        state: CoverageState::Reviewed,
        reason: String::new(),
    };
    RunRecord { coverage: paths.iter().map(reviewed).collect(), ..RunRecord::new(assignment) }
}
