//! A change before a panel, the words in which a fake model is scripted, and a report in a few lines.

use std::sync::{Arc, Mutex};
use std::time::Instant;

use expect_test::Expect;
use serde_json::{Value, json};

use crate::samples::{one_round, opened};
use crate::staged;
use crh_agent::{Contents as Logged, Ledger};
use crh_git::{Bare, Globs};
use crh_llm::{Abilities, Endpoint, Live, Model, ModelFacts, Network, Price, Redactor, Wire};
use crh_pipeline::checks::CheckTerms;
use crh_pipeline::context::Person;
use crh_pipeline::events::Event;
use crh_pipeline::journal::Journal;
use crh_pipeline::pipeline;
use crh_pipeline::pipeline::{Review, Reviewed};
use crh_pipeline::plan::is_static;
use crh_pipeline::revisions::Revisions;
use crh_pipeline::runs::RunRecord;
use crh_pipeline::scope::{DiffAlone, Rules, scope};
use crh_pipeline::subject::Subject;
use crh_pipeline::terms::{Crew, Terms};
use crh_pipeline::tools::Bench;
use crh_pipeline::workspace::Contents;
use crh_review::finding::Severity;
use crh_review::report::{CoverageState, Dropped, Issue, Report, RunOutcome, Strategy};
use crh_review::{Remembered, report};
use crh_testkit::fake_model::{Asked, Read, Scripted, calls, decided};
use crh_testkit::{FakeModel, Repo};

/// A function that divides now.
pub(super) const CART: &str = "
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

/// Tokens that fit into the models of most tests.
const CONTEXT: u64 = 200_000;

/// A review that is about to begin, and what is unusual about it.
pub(super) struct Scene {
    repo: Repo,
    /// What the workspace says about the change besides its diff.
    pub(super) told: Contents,
    pub(super) terms: Terms,
    /// The runs that an earlier attempt completed.
    pub(super) earlier: Vec<RunRecord>,
    /// The tokens that fit into every model.
    pub(super) context: u64,
    pub(super) events: Arc<Mutex<Vec<Event>>>,
    /// Whoever can be asked.
    pub(super) person: Option<Person>,
}

impl Scene {
    pub(super) fn new(fixture: &str) -> Self {
        Self::of(Repo::from_fixture(fixture))
    }

    /// The change of a repository's last commit.
    pub(super) fn of(repo: Repo) -> Self {
        let diff = repo.git(&["diff", "-U10", "-M", "--full-index", "HEAD~1", "HEAD"]);
        let mut told = one_round(diff);
        told.metadata.title = "Average price of an order".to_owned();
        Self {
            repo,
            told,
            terms: staged::terms(Strategy::Panel),
            earlier: Vec::new(),
            context: CONTEXT,
            events: Arc::default(),
            person: None,
        }
    }

    /// These reviewers and no others: nobody is asked who else is needed.
    pub(super) fn by(mut self, names: &[&str]) -> Self {
        self.terms.panel.only = Some(names.iter().map(|name| (*name).to_owned()).collect());
        self
    }

    /// Something else about it.
    pub(super) fn but(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    /// Reviews.
    pub(super) async fn review(&self, fake: &FakeModel) -> Reviewed {
        let (_folder, workspace) = opened(&self.told);
        let diff = workspace.diff("1").unwrap();
        let (base, head) = (self.repo.id("HEAD~1"), self.repo.id("HEAD"));
        let bare = Bare::new(&self.repo.path().join(".git"));
        let open = move || Ok(Revisions::new(bare, &base, &head).unwrap());
        let none = Globs::default;
        let rules =
            Rules { exclude: none(), include: none(), generated: none(), max_file_bytes: 1 << 20 };
        let subject = Subject {
            bench: Bench::new().with_workspace(workspace).with_repository(open),
            scope: scope(&diff, &DiffAlone, &rules),
            diff,
            change: report::Change::default(),
            untracked: Vec::new(),
            notes: Vec::new(),
            since: None,
        };
        let events = self.events.clone();
        let listen = move |event: &Event| events.lock().unwrap().push(event.clone());
        let (earlier, logged) = (self.earlier.clone(), Logged::Withheld);
        let model = |name: &str| model(fake, name, self.context);
        let [cheap, reviewer, escalation] = ["cheap", "mid", "strong"].map(model);
        let review = Review {
            subject: Arc::new(subject),
            checks: Arc::new(CheckTerms::default()),
            crew: Some(Crew { reviewer, cheap, escalation }),
            ledger: Ledger::open(self.terms.allowance.budget()),
            terms: Arc::new(self.terms.clone()),
            remembered: Remembered::default(),
            min_severity: Severity::P3,
            person: self.person.clone(),
            journal: Journal::open(None, Redactor::default(), logged, earlier, listen),
            run_id: "run".to_owned(),
            seed: 7,
            since: Instant::now(),
        };
        Box::pin(pipeline::review(review)).await
    }

    /// Reviews, and compares what came of it with a few lines.
    pub(super) async fn check(&self, model: &FakeModel, expected: Expect) -> Reviewed {
        let reviewed = self.review(model).await;
        expected.assert_eq(&shown(&reviewed.report));
        reviewed
    }
}

fn model(fake: &FakeModel, name: &str, context: u64) -> Model {
    let (wire, url) = (Wire::OpenAiChat, fake.url().parse().unwrap());
    let endpoint = Endpoint { wire, url, key: None, model: name.to_owned() };
    let abilities = Abilities { tools: true, schema: true };
    let facts = ModelFacts { context, max_output: 16_000, price: Some(Price::free()), abilities };
    Model::live(format!("openai:{name}"), facts, Live::new(endpoint, &Network::default()).unwrap())
}

/// What a report says, as far as a panel decides about it.
pub(super) fn shown(report: &Report) -> String {
    let mut lines = vec![format!("{:?}: {}", report.verdict, report.verdict_reason)];
    for row in report.reviewers.iter().filter(|row| !is_static(&row.name)) {
        let note = match row.outcome {
            RunOutcome::Completed => String::new(),
            RunOutcome::Failed => format!(": {}", row.note),
        };
        lines.push(format!("  {} ({}) {:?}{note}", row.name, row.why, row.outcome));
    }
    lines.extend(report.issues.iter().map(issue));
    lines.extend(report.pre_existing.iter().map(|it| format!("before: {}", issue(it))));
    for Dropped { fate, reason, reviewer, member, .. } in &report.suppressed {
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

/// The names of those who judged the change, each with the reason.
pub(super) fn team(report: &Report) -> String {
    let rows = report.reviewers.iter().filter(|row| !is_static(&row.name));
    rows.map(|row| format!("{}: {}\n", row.name, row.why)).collect()
}

/// What a caller was told for itself: the end of its first prompt.
pub(super) fn told(model: &FakeModel, caller: &str) -> String {
    let requests = model.requests();
    let first = requests.iter().find(|asked| asked.caller == caller);
    let first = first.unwrap_or_else(|| panic!("`{caller}` was not asked"));
    last_said(first)
}

/// What a caller was told last.
pub(super) fn last_said(asked: &Asked) -> String {
    let said = asked.read().into_iter().rev().find_map(|read| match read {
        Read::User(text) => Some(text),
        Read::Tool(_)
        | Read::System(_)
        | Read::Said(_)
        | Read::Thought(_)
        | Read::Call { .. }
        | Read::Result(_) => None,
    });
    said.unwrap()
}

/// What stands in a text between the fences of a kind, each block for itself.
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

/// The scout answers: what the change is for, and whom it needs besides, each with the reason.
pub(super) fn scouts(intent: &str, reviewers: &[(&str, &str)]) -> Scripted {
    let reviewers = reviewers.iter().map(|(name, why)| json!({ "name": name, "why": why }));
    let reviewers: Vec<Value> = reviewers.collect();
    calls("report_scout", json!({ "intent": intent, "reviewers": reviewers }))
}

/// A reviewer reports findings.
pub(super) fn reports(findings: &[Value]) -> Scripted {
    calls("report_findings", json!({ "findings": findings, "summary": "Looked at it." }))
}

/// A reviewer that returns notes reports them.
pub(super) fn notes(notes: &[&str]) -> Scripted {
    calls("report_notes", json!({ "notes": notes }))
}

/// Whoever judges the plan says of each id what stands beside it.
pub(super) fn judges(states: &[(&str, &str)]) -> Scripted {
    let row = |(id, state): &(&str, &str)| json!({ "id": id, "state": state, "evidence": "shop/cart.py:3 shows it" });
    calls(
        "report_requirements",
        json!({ "requirements": states.iter().map(row).collect::<Vec<_>>() }),
    )
}

/// A check confirms all that it is asked about.
pub(super) fn confirms() -> Scripted {
    decided(|asked| {
        let text = last_said(asked);
        let ids = text.lines().filter_map(|line| line.strip_prefix("id: "));
        let check = |id| json!({ "id": id, "verdict": "confirmed", "reason": "Line 3 shows it." });
        calls("report_checks", json!({ "checks": ids.map(check).collect::<Vec<_>>() }))
    })
}

/// A finding on the line that divides.
pub(super) fn divides(severity: &str, confidence: f64, title: &str) -> Value {
    finding(severity, confidence, title, "shop/cart.py:3", "return sum(lines) / count")
}

/// A finding at `PATH:LINE` that quotes its line, in all else such that it is kept.
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

/// A value with some fields set over its own.
pub(super) fn with(mut value: Value, fields: Value) -> Value {
    for (name, field) in fields.as_object().unwrap() {
        value[name.as_str()] = field.clone();
    }
    value
}
