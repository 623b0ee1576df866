//! The headless envelope: the text that programs which call crh read. Its words are a contract.

use super::{
    coverage_gaps, requirement_state, reviewer_column, reviewer_with_reason, scope_line,
    verdict_words, word,
};
use crate::clean::{one_line, path};
use crate::finding::{AutofixClass, Owner, Side};
use crate::report::{Fate, Issue, Plan, Report, Status};

/// A review that could not start, in one line. `reason` ends with a period.
pub fn failure(reason: &str) -> String {
    format!("Review failed (headless mode). Reason: {}\n", one_line(reason))
}

/// The envelope of a review.
pub fn envelope(report: &Report) -> String {
    format!("{}\nReview complete\n", body(report, "complete"))
}

/// The same for a review that somebody has stopped, without the line by which whoever waits knows that it is complete.
pub fn stopped_envelope(report: &Report) -> String {
    body(report, "stopped")
}

fn body(report: &Report, how: &str) -> String {
    // Whoever returned something has to be heard, also if all the others failed.
    if let Some(reviewers) = report.came_to_nothing() {
        return format!(
            "Code review degraded (headless mode). Reason: 0 of {reviewers} reviewers returned results.\n"
        );
    }
    let mut sections = vec![format!("Code review {how} (headless mode).\n"), header(report)];
    // The plural is part of the contract, also for one.
    sections.push(format!("Applied {} safe_auto fixes.\n", safe_fixes(report)));
    sections.extend(finding_sections(report));
    sections.extend(list_sections(report));
    sections.join("\n")
}

/// How many issues were fixed that are safe to fix without asking: whoever was asked may have had others fixed too.
fn safe_fixes(report: &Report) -> usize {
    let fixed = report.issues.iter().filter(|issue| report.is_fixed(issue.number));
    fixed.filter(|issue| issue.autofix_class == AutofixClass::SafeAuto).count()
}

fn header(report: &Report) -> String {
    let reviewers: Vec<String> = report.reviewers.iter().map(reviewer_with_reason).collect();
    let mut lines = vec![
        format!("Scope: {}", scope_line(report)),
        format!(
            "Intent: {}",
            if report.intent.is_empty() { "not stated".into() } else { one_line(&report.intent) }
        ),
        format!("Reviewers: {}", reviewers.join(", ")),
        format!("Verdict: {}", verdict(report)),
    ];
    if !report.artifact.is_empty() {
        lines.push(format!("Artifact: {}", one_line(&report.artifact)));
    }
    lines.iter().map(|line| format!("{}\n", line.trim_end())).collect()
}

/// The three words stand alone; where one is borrowed, the reason stands behind it.
fn verdict(report: &Report) -> String {
    match report.verdict.of_three() == report.verdict.to_string() {
        true => verdict_words(report),
        false => format!("{}: {}", verdict_words(report), one_line(&report.verdict_reason)),
    }
}

/// The group of an issue, in the order in which groups are printed.
#[derive(PartialEq, Eq, Clone, Copy)]
enum Group {
    GatedAuto,
    Manual,
    Advisory,
}

fn group(issue: &Issue) -> Group {
    match (issue.autofix_class, issue.owner) {
        // Roll-out items are not code fixes, whatever their class.
        (_, Owner::Release) | (AutofixClass::Advisory, _) => Group::Advisory,
        // A safe fix that was not applied is still a concrete fix.
        (AutofixClass::SafeAuto | AutofixClass::GatedAuto, _) => Group::GatedAuto,
        (AutofixClass::Manual, _) => Group::Manual,
    }
}

fn finding_sections(report: &Report) -> Vec<String> {
    let mut sections = Vec::new();
    for (which, heading) in [
        (Group::GatedAuto, "Gated-auto findings (concrete fix, changes behavior/contracts):\n\n"),
        (Group::Manual, "Manual findings (actionable, needs handoff):\n\n"),
        (Group::Advisory, "Advisory findings (report-only):\n\n"),
    ] {
        let open = report.issues.iter().filter(|issue| !report.is_fixed(issue.number));
        let mut issues: Vec<&Issue> = open.filter(|issue| group(issue) == which).collect();
        issues.sort_by_key(|issue| issue.autofix_class != AutofixClass::SafeAuto);
        sections.extend(section(heading, issues.into_iter()));
    }
    sections.extend(section("Pre-existing issues:\n", report.pre_existing.iter()));
    sections
}

fn section<'a>(heading: &str, issues: impl Iterator<Item = &'a Issue>) -> Option<String> {
    let items: Vec<String> = issues.map(finding).collect();
    (!items.is_empty()).then(|| format!("{heading}{}", items.join("\n")))
}

fn finding(issue: &Issue) -> String {
    let verification = if issue.requires_verification { "[needs-verification]" } else { "" };
    let removed = if issue.location.side == Side::Old { " [removed line]" } else { "" };
    let mut out = format!(
        "[{}][{} -> {}]{verification} File: {}:{} -- {}{removed} ({}, confidence {})\n",
        issue.severity,
        issue.autofix_class,
        issue.owner,
        path(&issue.location.file),
        issue.location.line_start,
        one_line(&issue.title),
        one_line(&reviewer_column(issue)),
        issue.confidence,
    );
    let mut line = |label: &str, text: &str| {
        out.push_str(&format!("  {label}: {}\n", one_line_of_code(text)));
    };
    // A reviewer that gave no reason has its title here.
    if issue.why_it_matters != issue.title {
        line("Why", &issue.why_it_matters);
    }
    match issue.suggested_fix.as_ref().or(issue.replacement.as_ref()) {
        Some(fix) => line("Suggested fix", fix),
        None if group(issue) == Group::GatedAuto && !issue.pre_existing => {
            line("Suggested fix", "none");
        }
        None => {}
    }
    if group(issue) != Group::Advisory && !issue.pre_existing {
        for quote in &issue.evidence {
            line("Evidence", &quote.snippet);
        }
    }
    out
}

/// Several lines as one: a field of the envelope may not start a line that looks like another.
fn one_line_of_code(text: &str) -> String {
    let lines: Vec<String> = text.lines().map(one_line).filter(|line| !line.is_empty()).collect();
    lines.join(" ⏎ ")
}

fn list_sections(report: &Report) -> Vec<String> {
    let notes = &report.notes;
    let coverage = coverage(report);
    [
        ("Residual risks", &report.residual_risks),
        ("Learnings & Past Solutions", &notes.learnings),
        ("Agent-Native Gaps", &notes.agent_native_gaps),
        ("Schema Drift Check", &notes.schema_drift),
        ("Deployment Notes", &notes.deployment),
        ("Testing gaps", &report.testing_gaps),
        ("Coverage", &coverage),
    ]
    .into_iter()
    .filter(|(_, items)| !items.is_empty())
    .map(|(heading, items)| {
        let items: String = items.iter().map(|item| format!("- {}\n", one_line(item))).collect();
        format!("{heading}:\n{items}")
    })
    .collect()
}

/// What was held against the plan. The contract has no section for it; what is missing stands among the findings.
fn requirements(plan: &Plan) -> Vec<String> {
    let mut items = vec![format!("Plan: {} ({})", path(&plan.path), plan.plan_source)];
    items.extend(plan.requirements.iter().map(|requirement| {
        let evidence = match requirement.evidence.is_empty() {
            true => String::new(),
            false => format!(" ({})", requirement.evidence),
        };
        format!("Requirement {}: {}{evidence}", requirement.id, requirement_state(requirement))
    }));
    items
}

fn coverage(report: &Report) -> Vec<String> {
    let mut items = Vec::new();
    let mut fates = report.fates();
    if let Some(count) = fates.remove(&Fate::BelowGate) {
        items.push(format!(
            "Suppressed: {count} findings below 0.60 confidence (P0 at 0.50+ retained)"
        ));
    }
    if !report.scope.untracked.is_empty() {
        let names: Vec<String> = report.scope.untracked.iter().map(|name| path(name)).collect();
        items.push(format!("Untracked files excluded: {}", names.join(", ")));
    }
    let failed: Vec<&str> = report.failed_reviewers().map(|row| row.name.as_str()).collect();
    if !failed.is_empty() {
        items.push(format!("Failed reviewers: {}", failed.join(", ")));
    }
    items.extend(report.plan.iter().flat_map(requirements));
    fates.remove(&Fate::Merged);
    let others: Vec<String> =
        fates.iter().map(|(fate, count)| format!("{count} {}", word(*fate))).collect();
    if !others.is_empty() {
        items.push(format!("Not shown: {}", others.join(", ")));
    }
    items.extend(coverage_gaps(report));
    match report.status {
        Status::Ok | Status::Degraded => {}
        Status::Truncated | Status::Error => items.push(format!("Status: {}", report.status)),
    }
    items.extend(report.warnings.iter().map(|warning| format!("Warning: {warning}")));
    items
}
