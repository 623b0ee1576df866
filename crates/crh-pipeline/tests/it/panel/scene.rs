//! A change before a panel, helpers to script a fake model, and reports as short texts.

use std::sync::{Arc, Mutex, OnceLock};
use std::time::Instant;

use expect_test::Expect;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::samples::{one_round, write_and_open};
use crate::test_change;
use crate::test_change::{fake_model, new_change, scope_rules};
use crh_agent::{CancelToken, Ledger, TranscriptDetail as Logged};
use crh_git::BareRepository;
use crh_llm::{Price, Redactor};
use crh_pipeline::assignment::is_static;
use crh_pipeline::change_under_review::ChangeUnderReview;
use crh_pipeline::checks::{ChangeOrigin, CheckOptions};
use crh_pipeline::consolidate::Calibration;
use crh_pipeline::context::{IntentPrompt, context_without_models};
use crh_pipeline::events::ReviewEvent;
use crh_pipeline::journal::ReviewJournal;
use crh_pipeline::pipeline;
use crh_pipeline::pipeline::{ReviewInputs, ReviewOutput};
use crh_pipeline::plan::{CostEstimate, estimate, plan};
use crh_pipeline::review_options::{ModelSet, ReviewOptions};
use crh_pipeline::revisions::Revisions;
use crh_pipeline::runs::RunRecord;
use crh_pipeline::scope::{DiffOnly, decide_scope};
use crh_pipeline::tools::ToolContext;
use crh_pipeline::workspace::WorkspaceContents;
use crh_review::PastDecisions;
use crh_review::finding::Severity;
use crh_review::report::{
    CoverageState, DroppedFinding, Issue, Report, ReviewerRow, RunOutcome, Strategy,
};
use crh_testkit::fake_model::{FakeRequest, PromptPart, ScriptedReply, calls, computed};
use crh_testkit::{FakeModel, Repo};

/// A function that now divides.
pub(crate) const CART: &str = "
    //- shop/cart.py
    def total(lines):
        return sum(lines)


    def label(line):
        return line.name
    //- head
    //- shop/cart.py
    def total(lines):
        count = len(lines)
        return sum(lines) / count


    def label(line):
        name = line.name
        return name.strip()
";

/// Adds a reviewer `passwords` of the repository, which only the scout can choose.
pub(super) fn with_own_reviewer(fixture: &str) -> String {
    let reviewer = "    //- .crh/reviewers/passwords.md
    ---
    name: passwords
    lens: where passwords go
    soft: the change reads or stores a password
    category: security
    ---
    You follow passwords.
";
    let head = "    //- head\n";
    format!("\n{reviewer}{}", fixture.trim_start_matches('\n'))
        .replace(head, &format!("{head}{reviewer}"))
}

/// Context size of the models in most tests.
const CONTEXT: u64 = 200_000;

/// A review that is ready to run.
pub(crate) struct Scene {
    repo: Repo,
    /// Workspace contents besides the diff.
    pub(super) contents: WorkspaceContents,
    pub(crate) terms: ReviewOptions,
    /// Runs that an earlier attempt completed.
    pub(super) earlier: Vec<RunRecord>,
    /// Context size of every model, in tokens.
    pub(super) context: u64,
    pub(super) events: Arc<Mutex<Vec<ReviewEvent>>>,
    /// The user who can be asked.
    pub(super) person: Option<IntentPrompt>,
    /// Fitted weights of the repository.
    pub(super) calibration: Option<Calibration>,
    /// Run at whose end the user stops the review.
    pub(super) stopped_after: Option<&'static str>,
}

impl Scene {
    pub(crate) fn new(fixture: &str) -> Self {
        Self::from_repo(Repo::from_fixture(fixture))
    }

    /// The last commit of a repository.
    pub(super) fn from_repo(repo: Repo) -> Self {
        let diff = repo.git(&["diff", "-U10", "-M", "--full-index", "HEAD~1", "HEAD"]);
        let mut contents = one_round(diff);
        contents.metadata.title = "Average price of an order".to_owned();
        Self {
            repo,
            contents,
            terms: test_change::options(Strategy::Panel),
            earlier: Vec::new(),
            context: CONTEXT,
            events: Arc::default(),
            person: None,
            calibration: None,
            stopped_after: None,
        }
    }

    /// Selects exactly these reviewers, without a scout.
    pub(super) fn with_reviewers(mut self, names: &[&str]) -> Self {
        self.terms.panel.only = Some(names.iter().map(|name| (*name).to_owned()).collect());
        self
    }

    /// Changes something else.
    pub(crate) fn with_change(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    /// The change in its own workspace, which lives as long as the folder.
    fn change(&self) -> (TempDir, ChangeUnderReview) {
        let (folder, workspace) = write_and_open(&self.contents);
        let diff = workspace.diff("1").unwrap();
        let (base, head) = (self.repo.id("HEAD~1"), self.repo.id("HEAD"));
        let bare = BareRepository::new(&self.repo.path().join(".git"));
        let open = move || Ok(Revisions::new(bare, &base, &head).unwrap());
        let ctx = ToolContext::new().with_workspace(workspace).with_repository(open);
        let scope = decide_scope(&diff, &DiffOnly, &scope_rules(&[]));
        (folder, new_change(ctx, scope, diff))
    }

    fn models(&self, fake: &FakeModel) -> ModelSet {
        let model = |name: &str| fake_model(fake, name, self.context, 16_000, Some(Price::free()));
        let [cheap, reviewer, escalation] = ["cheap", "mid", "strong"].map(model);
        ModelSet { reviewer, cheap, editor: escalation.clone(), escalation }
    }

    /// The estimate of the review.
    pub(super) fn estimate(&self, fake: &FakeModel) -> CostEstimate {
        let (_folder, change) = self.change();
        let (options, origin) = (&self.terms, ChangeOrigin::default());
        let context = context_without_models(&change, options, origin, self.context);
        let plan = plan(&change, options.strategy, &CheckOptions::default(), &context);
        estimate(&plan, &change, &self.models(fake), options, &context)
    }

    /// Runs the review.
    pub(crate) async fn review(&self, fake: &FakeModel) -> ReviewOutput {
        let (_folder, change) = self.change();
        let (events, stopped_after) = (self.events.clone(), self.stopped_after);
        let stop: Arc<OnceLock<CancelToken>> = Arc::default();
        let stopper = stop.clone();
        let listen = move |event: &ReviewEvent| {
            events.lock().unwrap().push(event.clone());
            if matches!(event, ReviewEvent::RunEnded { run, .. } if Some(run.as_str()) == stopped_after)
            {
                stopper.get().unwrap().cancel();
            }
        };
        let (earlier, logged) = (self.earlier.clone(), Logged::LengthsOnly);
        let journal = ReviewJournal::open(None, Redactor::default(), logged, earlier, listen);
        stop.set(journal.cancel().clone()).unwrap();
        let review = ReviewInputs {
            change: Arc::new(change),
            checks: Arc::new(CheckOptions::default()),
            models: Some(self.models(fake)),
            needs_model_flag: false,
            ledger: Ledger::open(self.terms.budget.ledger_budget()),
            options: Arc::new(self.terms.clone()),
            remembered: PastDecisions::default(),
            calibration: self.calibration.clone(),
            min_severity: Severity::P3,
            intent_prompt: self.person.clone(),
            test_command: None,
            journal,
            run_id: "run".to_owned(),
            retry_seed: 7,
            started: Instant::now(),
        };
        let reviewed = Box::pin(pipeline::run_review(review)).await;
        for name in self.terms.panel.only.iter().flatten() {
            let mut names = reviewed.report.reviewers.iter().map(|row| &row.name);
            assert!(names.any(|it| it == name), "{name}");
        }
        reviewed
    }

    /// Runs the review and compares the report.
    pub(super) async fn check(&self, model: &FakeModel, expected: Expect) -> ReviewOutput {
        let reviewed = self.review(model).await;
        expected.assert_eq(&render(&reviewed.report));
        reviewed
    }
}

/// The parts of a report that a panel decides. Named reviewers that completed are left out.
pub(crate) fn render(report: &Report) -> String {
    let mut lines = vec![format!("{:?}: {}", report.verdict, report.verdict_reason)];
    let is_expected = |row: &&ReviewerRow| {
        let is_named =
            row.why == "asked for by `--reviewers`" || row.why.starts_with("the strategy");
        is_static(&row.name) || is_named && row.outcome == RunOutcome::Completed
    };
    for row in report.reviewers.iter().filter(|row| !is_expected(row)) {
        let note = match row.outcome {
            RunOutcome::Completed => String::new(),
            RunOutcome::Failed => format!(": {}", row.note),
        };
        lines.push(format!("  {} ({}) {:?}{note}", row.name, row.why, row.outcome));
    }
    lines.extend(report.issues.iter().map(issue));
    lines.extend(report.pre_existing.iter().map(|it| format!("before: {}", issue(it))));
    for DroppedFinding { fate, reason, reviewer, member, .. } in &report.suppressed {
        let title = member.as_ref().map_or("-", |member| member.finding.title.as_str());
        lines.push(format!("{fate} {title} [{reviewer}]: {reason}"));
    }
    if let Some(plan) = &report.plan {
        lines.push(format!("plan {} ({:?})", plan.path, plan.plan_source));
        for it in &plan.requirements {
            let waived = if it.waived { " (waived)" } else { "" };
            lines.push(format!("  {} {:?}{waived} {}", it.id, it.state, it.evidence));
        }
    }
    let said = [
        ("learning", &report.notes.learnings),
        ("agents", &report.notes.agent_native_gaps),
        ("schema", &report.notes.schema_drift),
        ("deployment", &report.notes.deployment),
        ("gap", &report.testing_gaps),
        ("risk", &report.residual_risks),
    ];
    for (word, rows) in said {
        lines.extend(rows.iter().map(|row| format!("{word}: {row}")));
    }
    for file in report.coverage.iter().filter(|it| it.state != CoverageState::Reviewed) {
        lines.push(format!("{:?} {}: {}", file.state, file.path, file.reason));
    }
    lines.extend(report.warnings.iter().map(|warning| format!("! {warning}")));
    lines.iter().map(|line| format!("{}\n", line.trim_end())).collect()
}

fn issue(issue: &Issue) -> String {
    let Issue { number, severity, location, title, confidence, validation, .. } = issue;
    let (class, owner) = (issue.autofix_class, issue.owner);
    let disagreement = issue.disagreement.as_ref().map(|it| format!(" | {it}"));
    format!(
        "#{number} {severity} {location} {title} ({}, {validation:?}, {class} -> {owner}) by {}{}",
        confidence.value(),
        issue.reviewers.join(", "),
        disagreement.unwrap_or_default(),
    )
}

/// Names of the reviewers with the reasons.
pub(super) fn team(report: &Report) -> String {
    let rows = report.reviewers.iter().filter(|row| !is_static(&row.name));
    rows.map(|row| format!("{}: {}\n", row.name, row.why)).collect()
}

/// The end of a caller's first prompt, which is specific to it.
pub(super) fn prompt_end(model: &FakeModel, caller: &str) -> String {
    let requests = model.requests();
    let first = requests.iter().find(|asked| asked.caller == caller);
    let first = first.unwrap_or_else(|| panic!("`{caller}` was not asked"));
    last_message(first)
}

/// The last message to a caller.
pub(super) fn last_message(asked: &FakeRequest) -> String {
    let said = asked.prompt_parts().into_iter().rev().find_map(|read| match read {
        PromptPart::User(text) => Some(text),
        PromptPart::Tool(_)
        | PromptPart::System(_)
        | PromptPart::Assistant(_)
        | PromptPart::Thought(_)
        | PromptPart::Call { .. }
        | PromptPart::Result(_) => None,
    });
    said.unwrap()
}

/// The fenced blocks of a kind in a text.
pub(super) fn fenced(text: &str, kind: &str) -> String {
    let opening = format!("kind=\"{kind}\">");
    let mut inside = false;
    let mut found = String::new();
    for line in text.lines() {
        match inside {
            false if line.starts_with("<data-") && line.ends_with(&opening) => inside = true,
            true if line.starts_with("</") => inside = false,
            true => found += &format!("{line}\n"),
            false => {}
        }
    }
    found
}

/// A scout's answer: intent, and additional reviewers with reasons.
pub(super) fn scouts(intent: &str, reviewers: &[(&str, &str)]) -> ScriptedReply {
    let reviewers = reviewers.iter().map(|(name, why)| json!({ "name": name, "why": why }));
    let reviewers: Vec<Value> = reviewers.collect();
    calls("report_scout", json!({ "intent": intent, "reviewers": reviewers }))
}

/// A report of findings.
pub(super) fn reports(findings: &[Value]) -> ScriptedReply {
    calls("report_findings", json!({ "findings": findings, "summary": "Looked at it." }))
}

/// A report of notes.
pub(super) fn notes(notes: &[&str]) -> ScriptedReply {
    calls("report_notes", json!({ "notes": notes }))
}

/// A judgement of the plan, by id.
pub(super) fn judges(states: &[(&str, &str)]) -> ScriptedReply {
    let row = |(id, state): &(&str, &str)| json!({ "id": id, "state": state, "evidence": "shop/cart.py:3 shows it" });
    calls(
        "report_requirements",
        json!({ "requirements": states.iter().map(row).collect::<Vec<_>>() }),
    )
}

/// A validation that confirms everything.
pub(super) fn confirms() -> ScriptedReply {
    computed(|asked| {
        let text = last_message(asked);
        let ids = text.lines().filter_map(|line| line.strip_prefix("id: "));
        let check = |id| json!({ "id": id, "verdict": "confirmed", "reason": "Line 3 shows it." });
        calls("report_checks", json!({ "checks": ids.map(check).collect::<Vec<_>>() }))
    })
}

/// A finding on the line that divides.
pub(crate) fn divides(severity: &str, confidence: f64, title: &str) -> Value {
    finding(severity, confidence, title, "shop/cart.py:3", "return sum(lines) / count")
}

/// A valid finding at `PATH:LINE` that quotes its line.
pub(super) fn finding(
    severity: &str,
    confidence: f64,
    title: &str,
    place: &str,
    quote: &str,
) -> Value {
    let (file, line) = place.rsplit_once(':').unwrap();
    let line: u32 = line.parse().unwrap();
    json!({
        "title": title,
        "severity": severity,
        "category": "bug",
        "file": file,
        "line_start": line,
        "confidence": confidence,
        "evidence": [{ "file": file, "line": line, "side": "new", "snippet": quote }],
        "why_it_matters": format!("{title}: an order without a line shows it."),
        "suggested_fix": "Return 0 where there is no line.",
        "autofix_class": "manual",
        "owner": "downstream-resolver",
        "requires_verification": true,
        "pre_existing": false,
    })
}

/// A value with some fields replaced.
pub(super) fn with_fields(mut value: Value, fields: Value) -> Value {
    for (name, field) in fields.as_object().unwrap() {
        value[name.as_str()] = field.clone();
    }
    value
}
