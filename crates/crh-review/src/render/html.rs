//! Renders the report as one self-contained HTML page without scripts.
//!
//! Invariant: the template escapes all values, and invisible characters are escaped before.

mod excerpt;
mod issue;
pub(crate) mod prose;

use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use minijinja::{Environment, UndefinedBehavior, Value};
use serde::Serialize;
use serde_json::{Value as JsonValue, json};

use self::issue::IssueView;
use self::prose::{Prose, ProsePiece, paragraphs, prose, prose_list};
use super::{
    fate_label, requirement_state, reviewer_reason, scope_line, unfixable_note,
    warnings_beside_failures,
};
use crate::diff::Diff;
use crate::finding::Severity;
use crate::report::{
    CoverageState, DroppedFinding, Fate, Issue, Report, Requirement, RequirementState, RunOutcome,
    Status,
};
use crate::sanitise::{one_line, path};
use crate::verdict::{Verdict, missing_review};

/// The extension enables HTML escaping in minijinja.
const NAME: &str = "page.html";
const TEMPLATE: &str = include_str!("html/page.html");
/// Style sheet of all pages.
const STYLE_SHEET: &str = include_str!("html/look.css");
/// Limit on listed findings per group and on listed files. The JSON report has all.
const MAX_LISTED: usize = 500;

/// The template is invalid. Tests catch this.
#[derive(Debug, thiserror::Error)]
#[error("cannot render the HTML page")]
pub struct PageError(#[from] minijinja::Error);

/// The report as an HTML page. With a diff, each issue is shown next to its code.
pub fn html(report: &Report, diff: Option<&Diff>) -> Result<String, PageError> {
    render_page(TEMPLATE, ReportPage::new(report, diff))
}

/// Renders a template. Values are escaped; the style sheet is available as `look`.
pub(crate) fn render_page(template: &str, values: impl Serialize) -> Result<String, PageError> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build()?;
    environment.set_syntax(syntax);
    environment.add_global("look", Value::from_safe_string(STYLE_SHEET.to_owned()));
    environment.add_template(NAME, template)?;
    let mut page = environment.get_template(NAME)?.render(Serde(values))?;
    page.push('\n');
    Ok(page)
}

/// Values of the template. `Prose` values may contain code spans, and `mood` is the CSS class of a
/// colour: `good`, `fair` or `bad`.
#[derive(Serialize)]
struct ReportPage {
    title: String,
    verdict: String,
    mood: &'static str,
    reason: Prose,
    summary: Vec<Prose>,
    url: Option<String>,
    facts: Vec<LabelledValue>,
    warnings: Vec<Prose>,
    counts: Vec<JsonValue>,
    fix_order: Vec<u32>,
    issues: Vec<IssueView>,
    pre_existing: Vec<IssueView>,
    requirements: Vec<JsonValue>,
    lists: Vec<JsonValue>,
    fates: Vec<JsonValue>,
    coverage: Vec<JsonValue>,
    coverage_line: String,
    coverage_more: usize,
    reviewers: Vec<JsonValue>,
    spent: Vec<LabelledValue>,
    about: Vec<LabelledValue>,
}

#[derive(Serialize)]
struct LabelledValue {
    name: &'static str,
    value: String,
}

impl ReportPage {
    fn new(report: &Report, diff: Option<&Diff>) -> Self {
        let change = &report.change;
        let title =
            if change.title.is_empty() { scope_line(report) } else { one_line(&change.title) };
        let issues = |issues: &[Issue]| {
            issues.iter().map(|issue| IssueView::new(issue, report, diff)).collect::<Vec<_>>()
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
            facts: change_values(report),
            warnings: warnings(report),
            counts: counts(report),
            fix_order: report.fix_order.clone(),
            issues: issues(&report.issues),
            pre_existing: issues(&report.pre_existing),
            requirements: requirements(report),
            lists: lists(report),
            fates: fates(report),
            coverage: coverage(report).take(MAX_LISTED).collect(),
            coverage_line: coverage_line(report),
            coverage_more: report.coverage.len().saturating_sub(MAX_LISTED),
            reviewers: reviewers(report),
            spent: cost_values(report),
            about: run_values(report),
        }
    }
}

fn warnings(report: &Report) -> Vec<Prose> {
    let mut warnings = warnings_beside_failures(report, report.all_warnings());
    warnings.extend(unfixable_note(report).map(str::to_owned));
    warnings.dedup();
    prose_list(&warnings)
}

fn labelled_value(name: &'static str, value: &str) -> LabelledValue {
    LabelledValue { name, value: one_line(value) }
}

/// The URL if it is an `https` URL with safe characters only.
fn safe_url(url: &str) -> Option<String> {
    let is_safe = |char: char| char.is_ascii_alphanumeric() || "/-._~:?=%+#".contains(char);
    (url.starts_with("https://") && url.chars().all(is_safe)).then(|| url.to_owned())
}

fn change_values(report: &Report) -> Vec<LabelledValue> {
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
        Status::Truncated => "incomplete",
        Status::Error => missing_review(report),
    };
    let mut facts = vec![
        labelled_value("Scope", &scope_line(report)),
        labelled_value("Intent", &report.intent),
        labelled_value("Author", &change.author),
        labelled_value("Base", &revision(&change.base_ref, &change.base_sha)),
        labelled_value("Head", &revision(&change.head_ref, &change.head_sha)),
        labelled_value("Status", status),
    ];
    facts.retain(|fact| !fact.value.is_empty());
    facts
}

fn counts(report: &Report) -> Vec<JsonValue> {
    let severities = [Severity::P0, Severity::P1, Severity::P2, Severity::P3];
    let count = |severity: Severity| {
        let count = report.issues.iter().filter(|issue| issue.severity == severity).count();
        let word = match severity {
            Severity::P0 => "critical",
            Severity::P1 => "high",
            Severity::P2 => "moderate",
            Severity::P3 => "low",
        };
        json!({ "severity": severity, "count": count, "word": word })
    };
    severities.map(count).to_vec()
}

fn requirements(report: &Report) -> Vec<JsonValue> {
    let requirements = report.plan.iter().flat_map(|plan| &plan.requirements);
    let view = |requirement: &Requirement| {
        let mood = match requirement.state {
            RequirementState::Met => "good",
            RequirementState::PartiallyAddressed | RequirementState::NotJudged => "fair",
            RequirementState::NotAddressed if requirement.waived => "fair",
            RequirementState::NotAddressed => "bad",
        };
        json!({
            "id": one_line(&requirement.id),
            "text": prose(&requirement.text),
            "state": requirement_state(requirement),
            "mood": mood,
            "evidence": prose(&requirement.evidence),
        })
    };
    requirements.map(view).collect()
}

/// Lists below the issues, without empty ones.
fn lists(report: &Report) -> Vec<JsonValue> {
    let notes = &report.notes;
    let fixes = report.applied_fixes.iter();
    let fixes = fixes
        .map(|fix| prose(&format!("#{}: {}{}", fix.number, fix.description, report.fix_note(fix))));
    let untracked = report.scope.untracked.iter();
    let untracked = untracked.map(|file| vec![ProsePiece { text: path(file), code: true }]);
    let lists = [
        ("Applied fixes", fixes.collect()),
        ("Remaining risks", prose_list(&report.residual_risks)),
        ("Missing tests", prose_list(&report.testing_gaps)),
        ("Lessons from past problems", prose_list(&notes.learnings)),
        ("Actions that agents cannot perform", prose_list(&notes.agent_native_gaps)),
        ("Schema drift", prose_list(&notes.schema_drift)),
        ("Deployment", prose_list(&notes.deployment)),
        ("Untracked files, not reviewed", untracked.collect()),
    ];
    let lists = lists.into_iter().filter(|(_, items)| !items.is_empty());
    lists.map(|(title, items)| json!({ "title": title, "items": items })).collect()
}

fn fates(report: &Report) -> Vec<JsonValue> {
    let view = |(fate, count): (Fate, usize)| {
        let findings = report.suppressed.iter().filter(|dropped| dropped.fate == fate);
        json!({
            "fate": fate_label(fate),
            "meaning": fate_meaning(fate),
            "count": count,
            "items": findings.take(MAX_LISTED).map(dropped_view).collect::<Vec<_>>(),
            "more": count.saturating_sub(MAX_LISTED),
        })
    };
    report.fates().into_iter().map(view).collect()
}

fn fate_meaning(fate: Fate) -> &'static str {
    match fate {
        Fate::Kept => "shown as an issue",
        Fate::Merged => "says the same as another finding",
        Fate::Minor => "true, but not severe enough for the report",
        Fate::Malformed => "crh could not read the reviewer's answer",
        Fate::Nit => "the reviewer calls it a nitpick",
        Fate::Unsupported => "the quoted code does not exist",
        Fate::PreExisting => "not caused by this change",
        Fate::Refuted => "a second model run disproved it",
        Fate::BelowGate => "the confidence, or the probability that maintainers agree, is too low",
        Fate::Softened => "listed under missing tests or remaining risks",
        Fate::Suppressed => "by an ignore comment, the baseline or a setting",
        Fate::Dismissed => "by a person",
        Fate::Lesson => "a lesson of the maintainers hides it",
        Fate::ProtectedPath => "asks to remove a protected document",
        Fate::OverCap => "there are too many issues to show",
        Fate::OutsidePaths => "about a file outside the paths under review",
    }
}

fn dropped_view(dropped: &DroppedFinding) -> JsonValue {
    let finding = dropped.member.as_ref().map(|member| &member.finding);
    json!({
        "title": finding.map(|finding| prose(&finding.title)).unwrap_or_default(),
        "place": finding.map(|finding| path(&finding.file)).unwrap_or_default(),
        "reviewer": one_line(&dropped.reviewer),
        "reason": prose(&dropped.reason),
    })
}

/// Files of the change; those that were not fully reviewed come first.
fn coverage(report: &Report) -> impl Iterator<Item = JsonValue> {
    let (fully_reviewed, gaps): (Vec<_>, Vec<_>) =
        report.coverage.iter().partition(|file| file.state == CoverageState::Reviewed);
    gaps.into_iter().chain(fully_reviewed).map(|file| {
        let (state, mood) = match file.state {
            CoverageState::Reviewed => ("reviewed", "good"),
            CoverageState::Truncated => ("partly reviewed", "bad"),
            CoverageState::NotReviewed => ("not reviewed", "bad"),
            CoverageState::OutOfScope => ("out of scope", "fair"),
            CoverageState::ReviewedBefore => ("reviewed before", "good"),
        };
        let (path, reason) = (path(&file.path), prose(&file.reason));
        json!({ "path": path, "state": state, "mood": mood, "reason": reason })
    })
}

fn coverage_line(report: &Report) -> String {
    let reviewed = report.coverage.iter().filter(|file| file.state == CoverageState::Reviewed);
    format!("{} of {} files reviewed", reviewed.count(), report.coverage.len())
}

fn reviewers(report: &Report) -> Vec<JsonValue> {
    let views = report.reviewers.iter().map(|reviewer| {
        let (outcome, mood) = match reviewer.outcome {
            RunOutcome::Completed => ("completed", "good"),
            RunOutcome::Failed => ("failed", "bad"),
        };
        json!({
            "name": one_line(&reviewer.name),
            "why": prose(&reviewer_reason(&reviewer.name, &reviewer.why)),
            "outcome": outcome,
            "mood": mood,
            "note": prose(&reviewer.note),
        })
    });
    views.collect()
}

fn cost_values(report: &Report) -> Vec<LabelledValue> {
    let stats = &report.stats;
    let tokens = &stats.tokens_used;
    let seconds = |decimal: crate::report::Decimal| format!("{:.1} s", decimal.0 as f64 / 1e6);
    vec![
        labelled_value("Cost", &format!("{:.4} USD", stats.cost_usd.0 as f64 / 1e6)),
        labelled_value("Time", &seconds(stats.latency_seconds_e2e)),
        labelled_value("Model time", &seconds(stats.latency_seconds_llm)),
        labelled_value("Model calls", &with_thousands(stats.llm_calls.into())),
        labelled_value("Tool calls", &with_thousands(stats.tool_calls.into())),
        labelled_value("Input tokens", &with_thousands(tokens.input)),
        labelled_value("Cached input tokens", &with_thousands(tokens.cached)),
        labelled_value("Output tokens", &with_thousands(tokens.output)),
    ]
}

/// Formats a number with thousands separators.
pub(crate) fn with_thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A local repository is known only by the hash of its first commit.
fn repository_label(report: &Report) -> &'static str {
    if report.change.url.is_empty() { "First commit of the repository" } else { "Repository" }
}

fn run_values(report: &Report) -> Vec<LabelledValue> {
    let mut facts = vec![
        labelled_value("Strategy", &report.strategy.to_string()),
        labelled_value("Mode", &report.mode.to_string()),
        labelled_value("Models", &report.model_used),
        labelled_value(repository_label(report), &report.change.repo),
        labelled_value("Review id", &report.review_id),
        labelled_value("Run id", &report.run_id),
        labelled_value("Run folder", &report.artifact),
    ];
    facts.retain(|fact| !fact.value.is_empty());
    facts
}
