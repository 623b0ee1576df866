//! The report as one page for a browser. It loads nothing, runs nothing, and every text in it is data.
//!
//! Invariant: the template escapes what it is given, and it is given only text that was made visible before.

mod excerpt;
mod issue;
pub(crate) mod prose;

use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use minijinja::{Environment, UndefinedBehavior, Value};
use serde::Serialize;

use self::issue::{IssueView, severity_word};
use self::prose::{Piece, Prose, paragraphs, prose, proses};
use super::{requirement_state, scope_line, word};
use crate::clean::{one_line, path};
use crate::diff::Diff;
use crate::finding::Severity;
use crate::report::{
    CoverageState, Dropped, Fate, Issue, Report, RequirementState, RunOutcome, Status,
};
use crate::verdict::Verdict;

/// The name decides that the template escapes.
const NAME: &str = "page.html";
const TEMPLATE: &str = include_str!("html/page.html");
/// What all pages look like.
const LOOK: &str = include_str!("html/look.css");
/// The most findings of one fate, and the most files, that are listed. A browser takes more, a reader does not; the JSON has all.
const LISTED_MAX: usize = 500;

/// The page could not be made: the template is broken, which a test would have shown.
#[derive(Debug, thiserror::Error)]
#[error("the page cannot be made")]
pub struct PageError(#[from] minijinja::Error);

/// The report as one page for a browser; with the diff, each issue stands beside its code.
pub fn html(report: &Report, diff: Option<&Diff>) -> Result<String, PageError> {
    page(TEMPLATE, Page::of(report, diff))
}

/// A page of a template and what it is given. The template escapes that, and finds our looks as `look`.
pub(crate) fn page(template: &str, given: impl Serialize) -> Result<String, PageError> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    let lines = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build()?;
    environment.set_syntax(lines);
    environment.add_global("look", Value::from_safe_string(LOOK.to_owned()));
    environment.add_template(NAME, template)?;
    let mut page = environment.get_template(NAME)?.render(Serde(given))?;
    page.push('\n');
    Ok(page)
}

/// What the template is given. Every text is visible; a prose is one that may hold code.
#[derive(Serialize)]
struct Page {
    title: String,
    verdict: String,
    mood: &'static str,
    reason: Prose,
    summary: Vec<Prose>,
    url: Option<String>,
    facts: Vec<Fact>,
    warnings: Vec<Prose>,
    counts: Vec<Count>,
    fix_order: Vec<u32>,
    issues: Vec<IssueView>,
    pre_existing: Vec<IssueView>,
    requirements: Vec<RequirementView>,
    lists: Vec<List>,
    fates: Vec<FateView>,
    coverage: Vec<CoverageView>,
    coverage_line: String,
    coverage_more: usize,
    reviewers: Vec<ReviewerView>,
    spent: Vec<Fact>,
    about: Vec<Fact>,
}

#[derive(Serialize)]
struct Fact {
    name: &'static str,
    value: String,
}

#[derive(Serialize)]
struct Count {
    severity: String,
    count: usize,
    word: &'static str,
}

#[derive(Serialize)]
struct RequirementView {
    id: String,
    text: Prose,
    state: String,
    mood: &'static str,
    evidence: Prose,
}

#[derive(Serialize)]
struct List {
    title: &'static str,
    items: Vec<Prose>,
}

#[derive(Serialize)]
struct FateView {
    fate: String,
    meaning: &'static str,
    count: usize,
    items: Vec<DroppedView>,
    more: usize,
}

#[derive(Serialize)]
struct DroppedView {
    title: Prose,
    place: String,
    reviewer: String,
    reason: Prose,
}

#[derive(Serialize)]
struct CoverageView {
    path: String,
    state: &'static str,
    mood: &'static str,
    reason: Prose,
}

#[derive(Serialize)]
struct ReviewerView {
    name: String,
    why: Prose,
    outcome: &'static str,
    mood: &'static str,
    note: Prose,
}

impl Page {
    fn of(report: &Report, diff: Option<&Diff>) -> Self {
        let change = &report.change;
        let title =
            if change.title.is_empty() { scope_line(report) } else { one_line(&change.title) };
        let issues = |issues: &[Issue]| {
            issues.iter().map(|issue| IssueView::of(issue, report, diff)).collect::<Vec<_>>()
        };
        Self {
            title,
            verdict: report.verdict.to_string(),
            mood: match report.verdict {
                Verdict::NotReady => "bad",
                Verdict::ReadyWithFixes | Verdict::Incomplete => "fair",
                Verdict::ReadyToMerge | Verdict::ChecksPassed => "good",
            },
            reason: prose(&report.verdict_reason),
            summary: paragraphs(&report.summary),
            url: safe_url(&change.url),
            facts: change_facts(report),
            warnings: proses(&report.warnings),
            counts: counts(report),
            fix_order: report.fix_order.clone(),
            issues: issues(&report.issues),
            pre_existing: issues(&report.pre_existing),
            requirements: requirements(report),
            lists: lists(report),
            fates: fates(report),
            coverage: coverage(report).take(LISTED_MAX).collect(),
            coverage_line: coverage_line(report),
            coverage_more: report.coverage.len().saturating_sub(LISTED_MAX),
            reviewers: reviewers(report),
            spent: spent(report),
            about: about(report),
        }
    }
}

fn fact(name: &'static str, value: &str) -> Fact {
    Fact { name, value: one_line(value) }
}

/// An address that a reader may follow: plain, and on the web.
fn safe_url(url: &str) -> Option<String> {
    let plain = |char: char| char.is_ascii_alphanumeric() || "/-._~:?=%+#".contains(char);
    (url.starts_with("https://") && url.chars().all(plain)).then(|| url.to_owned())
}

fn change_facts(report: &Report) -> Vec<Fact> {
    let change = &report.change;
    let revision = |name: &str, sha: &str| {
        let sha: String = sha.chars().take(12).collect();
        [name, &sha]
            .iter()
            .filter(|part| !part.is_empty())
            .copied()
            .collect::<Vec<_>>()
            .join(" at ")
    };
    let status = match report.status {
        Status::Ok => "",
        Status::Degraded => "a reviewer failed",
        Status::Truncated => "ended early",
        Status::Error => "nothing was reviewed",
    };
    let mut facts = vec![
        fact("Scope", &scope_line(report)),
        fact("Intent", &report.intent),
        fact("Author", &change.author),
        fact("Base", &revision(&change.base_ref, &change.base_sha)),
        fact("Head", &revision(&change.head_ref, &change.head_sha)),
        fact("State", status),
    ];
    facts.retain(|fact| !fact.value.is_empty());
    facts
}

fn counts(report: &Report) -> Vec<Count> {
    let severities = [Severity::P0, Severity::P1, Severity::P2, Severity::P3];
    let count = |severity: Severity| Count {
        severity: severity.to_string(),
        count: report.issues.iter().filter(|issue| issue.severity == severity).count(),
        word: severity_word(severity),
    };
    severities.map(count).into_iter().collect()
}

fn requirements(report: &Report) -> Vec<RequirementView> {
    let requirements = report.plan.iter().flat_map(|plan| &plan.requirements);
    let view = |requirement: &crate::report::Requirement| {
        let mood = match requirement.state {
            RequirementState::Met => "good",
            RequirementState::PartiallyAddressed | RequirementState::NotJudged => "fair",
            RequirementState::NotAddressed if requirement.waived => "fair",
            RequirementState::NotAddressed => "bad",
        };
        RequirementView {
            id: one_line(&requirement.id),
            text: prose(&requirement.text),
            state: requirement_state(requirement),
            mood,
            evidence: prose(&requirement.evidence),
        }
    };
    requirements.map(view).collect()
}

/// The lists below the issues; empty ones are left out.
fn lists(report: &Report) -> Vec<List> {
    let notes = &report.notes;
    let fixes = report.applied_fixes.iter();
    let fixes = fixes.map(|fix| prose(&format!("#{}: {}", fix.number, fix.description)));
    let untracked = report.scope.untracked.iter();
    let untracked = untracked.map(|file| vec![Piece { text: path(file), code: true }]);
    let mut lists = vec![
        List { title: "Applied fixes", items: fixes.collect() },
        List { title: "Residual risks", items: proses(&report.residual_risks) },
        List { title: "Testing gaps", items: proses(&report.testing_gaps) },
        List { title: "Learnings", items: proses(&notes.learnings) },
        List { title: "Agent-native gaps", items: proses(&notes.agent_native_gaps) },
        List { title: "Schema drift", items: proses(&notes.schema_drift) },
        List { title: "Deployment", items: proses(&notes.deployment) },
        List { title: "Untracked files, not reviewed", items: untracked.collect() },
    ];
    lists.retain(|list| !list.items.is_empty());
    lists
}

fn fates(report: &Report) -> Vec<FateView> {
    let view = |(fate, count): (Fate, usize)| {
        let of_fate = report.suppressed.iter().filter(|dropped| dropped.fate == fate);
        FateView {
            fate: word(fate),
            meaning: meaning(fate),
            count,
            items: of_fate.take(LISTED_MAX).map(DroppedView::of).collect(),
            more: count.saturating_sub(LISTED_MAX),
        }
    };
    report.fates().into_iter().map(view).collect()
}

fn meaning(fate: Fate) -> &'static str {
    match fate {
        Fate::Kept => "shown as an issue",
        Fate::Merged => "says what another one says",
        Fate::Malformed => "its shape is wrong",
        Fate::Nit => "too small to show",
        Fate::Unsupported => "its quote is not in the code",
        Fate::PreExisting => "the change did not bring it in",
        Fate::Refuted => "a check showed that it is not so",
        Fate::BelowGate => "nobody was sure enough",
        Fate::Softened => "became a testing gap or a residual risk",
        Fate::Suppressed => "silenced by an ignore comment, a baseline or a setting",
        Fate::Dismissed => "a person said no to it, earlier",
        Fate::ProtectedPath => "asks to remove what must stay",
        Fate::OverCap => "there were enough others before it",
    }
}

impl DroppedView {
    fn of(dropped: &Dropped) -> Self {
        let finding = dropped.member.as_ref().map(|member| &member.finding);
        Self {
            title: finding.map(|finding| prose(&finding.title)).unwrap_or_default(),
            place: finding.map(|finding| path(&finding.file)).unwrap_or_default(),
            reviewer: one_line(&dropped.reviewer),
            reason: prose(&dropped.reason),
        }
    }
}

/// The files of the change: first those that were not wholly reviewed.
fn coverage(report: &Report) -> impl Iterator<Item = CoverageView> {
    let (whole, gaps): (Vec<_>, Vec<_>) =
        report.coverage.iter().partition(|file| file.state == CoverageState::Reviewed);
    gaps.into_iter().chain(whole).map(|file| {
        let (state, mood) = match file.state {
            CoverageState::Reviewed => ("reviewed", "good"),
            CoverageState::Truncated => ("partly reviewed", "bad"),
            CoverageState::NotReviewed => ("not reviewed", "bad"),
            CoverageState::OutOfScope => ("out of scope", "fair"),
            CoverageState::ReviewedBefore => ("reviewed before", "good"),
        };
        CoverageView { path: path(&file.path), state, mood, reason: prose(&file.reason) }
    })
}

fn coverage_line(report: &Report) -> String {
    let reviewed = report.coverage.iter().filter(|file| file.state == CoverageState::Reviewed);
    format!("{} of {} files reviewed", reviewed.count(), report.coverage.len())
}

fn reviewers(report: &Report) -> Vec<ReviewerView> {
    let rows = report.reviewers.iter().map(|row| {
        let (outcome, mood) = match row.outcome {
            RunOutcome::Completed => ("completed", "good"),
            RunOutcome::Failed => ("failed", "bad"),
        };
        ReviewerView {
            name: one_line(&row.name),
            why: prose(&row.why),
            outcome,
            mood,
            note: prose(&row.note),
        }
    });
    rows.collect()
}

fn spent(report: &Report) -> Vec<Fact> {
    let stats = &report.stats;
    let tokens = &stats.tokens_used;
    let seconds = |decimal: crate::report::Decimal| format!("{:.1} s", decimal.0 as f64 / 1e6);
    vec![
        fact("Cost", &format!("{:.4} USD", stats.cost_usd.0 as f64 / 1e6)),
        fact("Time", &seconds(stats.latency_seconds_e2e)),
        fact("Model time", &seconds(stats.latency_seconds_llm)),
        fact("Model calls", &grouped(stats.llm_calls.into())),
        fact("Tool calls", &grouped(stats.tool_calls.into())),
        fact("Tokens read", &grouped(tokens.input)),
        fact("Tokens cached", &grouped(tokens.cached)),
        fact("Tokens written", &grouped(tokens.output)),
    ]
}

/// A number with its thousands apart.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

fn about(report: &Report) -> Vec<Fact> {
    let mut facts = vec![
        fact("Strategy", &report.strategy.to_string()),
        fact("Mode", &report.mode.to_string()),
        fact("Models", &report.model_used),
        fact("Repository", &report.change.repo),
        fact("Review", &report.review_id),
        fact("Run", &report.run_id),
        fact("Run folder", &report.artifact),
    ];
    facts.retain(|fact| !fact.value.is_empty());
    facts
}
