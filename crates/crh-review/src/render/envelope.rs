//! The headless envelope for programs that call crh. Its wording is fixed, because callers parse
//! it.

use super::{
    counted_hidden_lines, coverage_gaps, fate_counts, issue_remarks, requirement_state,
    reviewer_with_reason, reviewers_or_disagreement, scope_line, verdict_label,
    warnings_beside_failures,
};
use crate::finding::{AutofixClass, Finding, Member, Owner, Side};
use crate::grade::effective_severity;
use crate::merge::min_confidence;
use crate::report::{DropCause, DroppedFinding, Fate, Issue, Plan, Report, Status};
use crate::sanitise::{one_line, path};
use crate::verdict::{counted_hidden, plural};

/// Explains the labels in brackets, which the format prescribes.
const LABELS: &str = "Labels: safe_auto is a safe fix, gated_auto a fix that changes behaviour, manual has no ready replacement (a model, an agent or a person writes the fix), advisory needs no fix. Run the tests after the fix of a finding with needs-verification. The label after the arrow says who handles the finding: review-fixer is `crh fix`, downstream-resolver is the developer or agent who reads this, human is a person, release is the person who deploys";

/// The line for a review that could not start. `reason` ends with a period.
pub fn failure_line(reason: &str) -> String {
    format!("Review failed (headless mode). Reason: {}\n", one_line(reason))
}

/// The envelope of a review.
pub fn envelope(report: &Report) -> String {
    format!("{}\nReview complete\n", body(report, "complete"))
}

/// The envelope of a stopped review, without the final "Review complete" line that callers wait
/// for.
pub fn stopped_envelope(report: &Report) -> String {
    body(report, "stopped")
}

fn body(report: &Report, outcome: &str) -> String {
    let first_line = match report.all_reviewers_failed() {
        Some(reviewers) => format!(
            "Code review degraded (headless mode). Reason: 0 of {reviewers} reviewers returned results.\n"
        ),
        None => format!("Code review {outcome} (headless mode).\n"),
    };
    // Findings of static checks follow the line. Without any, only the verdict with its reason does.
    let has_issues = !report.issues.is_empty() || !report.pre_existing.is_empty();
    if report.all_reviewers_failed().is_some() && !has_issues {
        return format!("{first_line}\n{}\n", verdict_line(report));
    }
    let mut sections = vec![first_line, header(report)];
    sections.push(safe_fixes(report));
    sections.extend(finding_sections(report));
    sections.extend(list_sections(report));
    sections.join("\n")
}

/// Numbers of applied `safe_auto` fixes: those that fixed their finding, then the others. In
/// interactive mode other classes may be fixed, too.
fn safe_fixes(report: &Report) -> String {
    let issues = report.all_issues().filter(|issue| report.fix_of(issue.number).is_some());
    let issues = issues.filter(|issue| issue.autofix_class == AutofixClass::SafeAuto);
    let (fixed, open): (Vec<&Issue>, Vec<&Issue>) =
        issues.partition(|issue| report.is_fixed(issue.number));
    let more = match open.len() {
        0 => String::new(),
        1 => "Applied 1 more safe_auto fix, but its finding is still open.\n".to_owned(),
        count => {
            format!("Applied {count} more safe_auto fixes, but their findings are still open.\n")
        }
    };
    // The fixed wording has the plural for one, too.
    format!("Applied {} safe_auto fixes.\n{more}", fixed.len())
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
        verdict_line(report),
    ];
    if !report.artifact.is_empty() {
        lines.push(format!("Artifact: {}", one_line(&report.artifact)));
    }
    lines.iter().map(|line| format!("{}\n", line.trim_end())).collect()
}

/// The verdict. A label that is not just the verdict is followed by the reason.
fn verdict_line(report: &Report) -> String {
    let label = verdict_label(report);
    match label == report.verdict.to_string() {
        true => format!("Verdict: {label}"),
        false => format!("Verdict: {label}: {}", one_line(&report.verdict_reason)),
    }
}

/// Groups of findings, in output order.
#[derive(PartialEq, Eq, Clone, Copy)]
enum FindingGroup {
    GatedAuto,
    Manual,
    Advisory,
}

fn group(issue: &Issue) -> FindingGroup {
    match (issue.autofix_class, issue.owner) {
        // Deployment items are not code fixes, regardless of their class.
        (_, Owner::Release) | (AutofixClass::Advisory, _) => FindingGroup::Advisory,
        // A safe fix that was not applied is still a concrete fix.
        (AutofixClass::SafeAuto | AutofixClass::GatedAuto, _) => FindingGroup::GatedAuto,
        (AutofixClass::Manual, _) => FindingGroup::Manual,
    }
}

fn finding_sections(report: &Report) -> Vec<String> {
    let mut sections = Vec::new();
    for (group_shown, heading) in [
        (
            FindingGroup::GatedAuto,
            "Gated-auto findings (concrete fix, changes behavior/contracts):\n\n",
        ),
        (FindingGroup::Manual, "Manual findings (actionable, needs handoff):\n\n"),
        (FindingGroup::Advisory, "Advisory findings (report-only):\n\n"),
    ] {
        // The caller works on these findings, so the limit on issues does not apply.
        let issues = report.open_issues().filter(|issue| group(issue) == group_shown);
        let items = issues.map(|issue| finding(report, issue));
        sections.extend(match group_shown {
            FindingGroup::Advisory => section(heading, items.chain(unpublished_advisory(report))),
            FindingGroup::GatedAuto | FindingGroup::Manual => section(heading, items),
        });
    }
    let pre_existing = report.pre_existing.iter().map(|issue| finding(report, issue));
    sections.extend(section("Pre-existing issues:\n", pre_existing));
    sections
}

fn section(heading: &str, items: impl Iterator<Item = String>) -> Option<String> {
    let items: Vec<String> = items.collect();
    (!items.is_empty()).then(|| format!("{heading}{}", items.join("\n")))
}

/// Advisory findings that are not published. The envelope has them, since it is not posted.
fn unpublished_advisory(report: &Report) -> impl Iterator<Item = String> {
    let dropped = report.suppressed.iter().filter(|dropped| is_unpublished_advisory(dropped));
    dropped.filter_map(|dropped| dropped.member.as_ref()).map(|member| {
        let Finding { severity, autofix_class, owner, file, title, .. } = &member.finding;
        let line = member.finding.line_start.map(|line| format!(":{line}")).unwrap_or_default();
        format!(
            "[{severity}][{autofix_class} -> {owner}] File: {}{line} -- {} ({}, confidence {})\n  Why: {}\n",
            path(file),
            one_line(title),
            one_line(&member.reviewer),
            member.finding.confidence,
            join_lines(&member.finding.why_it_matters),
        )
    })
}

fn is_unpublished_advisory(dropped: &DroppedFinding) -> bool {
    dropped.cause == Some(DropCause::Advisory)
}

fn finding(report: &Report, issue: &Issue) -> String {
    let verification = if issue.requires_verification { "[needs-verification]" } else { "" };
    let removed_note = if issue.location.side == Side::Old { " [removed line]" } else { "" };
    let mut out = format!(
        "[{}][{} -> {}]{verification} File: {}:{} -- {}{removed_note} ({}, confidence {})\n",
        issue.severity,
        issue.autofix_class,
        issue.owner,
        path(&issue.location.file),
        issue.location.line_start,
        one_line(&issue.title),
        one_line(&reviewers_or_disagreement(issue)),
        issue.confidence,
    );
    let mut push_field = |label: &str, text: &str| {
        out.push_str(&format!("  {label}: {}\n", join_lines(text)));
    };
    if has_details(issue) {
        push_field("Why", &issue.why_it_matters);
    }
    match issue.suggested_fix.as_ref().or(issue.replacement.as_ref()) {
        Some(fix) => push_field("Suggested fix", fix),
        None if group(issue) == FindingGroup::GatedAuto && !issue.pre_existing => {
            push_field("Suggested fix", "none");
        }
        None => {}
    }
    if group(issue) != FindingGroup::Advisory && !issue.pre_existing {
        for quote in &issue.evidence {
            push_field("Evidence", &quote.snippet);
        }
    }
    for remark in issue_remarks(issue) {
        push_field("Remark", &remark);
    }
    // Only open findings have sections.
    if let Some(fix) = report.fix_of(issue.number) {
        let why = report.fix_note(fix).trim_start_matches("; ");
        push_field("Remark", &format!("A fix is applied, but the finding is still open: {why}"));
    }
    out
}

/// Whether a reviewer explained the issue. Without an explanation, the field repeats the title.
fn has_details(issue: &Issue) -> bool {
    issue.why_it_matters != issue.title
}

/// Joins lines, because no field may start a line that looks like another field.
fn join_lines(text: &str) -> String {
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

/// Requirements of the plan, under "Coverage" because the fixed wording has no section for them.
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

/// Whether a finding is hidden for another reason than the confidence of its reviewer: the model
/// run that selects issues disagrees.
fn is_improbable(dropped: &DroppedFinding) -> bool {
    let is_sure = |member: &Member| {
        let severity = effective_severity(member);
        member.finding.confidence >= min_confidence(severity)
    };
    dropped.fate == Fate::BelowGate
        && (dropped.cause == Some(DropCause::Improbable)
            || dropped.member.as_ref().is_some_and(is_sure))
}

fn coverage(report: &Report) -> Vec<String> {
    let mut items = Vec::new();
    let mut fates = report.fates();
    if let Some(count) = fates.remove(&Fate::BelowGate) {
        let improbable_count =
            report.suppressed.iter().filter(|dropped| is_improbable(dropped)).count();
        let unsure_count = count.saturating_sub(improbable_count);
        if unsure_count > 0 {
            items.push(format!(
                "Suppressed: {} below 0.60 confidence (P0 at 0.50+ retained)",
                plural(unsure_count, "finding")
            ));
        }
        // The line above has a fixed wording, which is false for these.
        if improbable_count > 0 {
            items.push(format!(
                "Not shown: {} that maintainers would probably not agree with",
                plural(improbable_count, "finding")
            ));
        }
    }
    if !report.scope.untracked.is_empty() {
        let names: Vec<String> = report.scope.untracked.iter().map(|name| path(name)).collect();
        items.push(format!("Untracked files excluded: {}", names.join(", ")));
    }
    let failed_names: Vec<&str> =
        report.failed_reviewers().map(|reviewer| reviewer.name.as_str()).collect();
    if !failed_names.is_empty() {
        items.push(format!("Failed reviewers: {}", failed_names.join(", ")));
    }
    // The wording of the line above is fixed, so the reasons have their own lines.
    let reasons = report.failures().into_iter().filter(|(_, note)| !note.is_empty());
    items.extend(reasons.map(|(failed, note)| format!("Failure of {failed}: {note}")));
    items.extend(report.plan.iter().flat_map(requirements));
    fates.remove(&Fate::Merged);
    // The envelope lists the issues over the limit. A reviewer may have dropped further findings.
    if let Some(count) = fates.get_mut(&Fate::OverCap) {
        *count = report.hidden_open_findings().filter(|it| it.fate == Fate::OverCap).count();
    }
    let listed = report.suppressed.iter().filter(|dropped| is_unpublished_advisory(dropped));
    if let Some(count) = fates.get_mut(&Fate::Minor) {
        *count -= listed.count();
    }
    if let Some(count) = fates.get_mut(&Fate::Dismissed) {
        *count = report.dismissed_issues();
    }
    fates.retain(|_, count| *count > 0);
    if !fates.is_empty() {
        items.push(format!("Not shown: {}", fate_counts(&fates)));
    }
    // The issues over the limit are listed above.
    let mut counted = counted_hidden(report);
    counted.retain(|hidden| !hidden.is_over_cap());
    items.extend(counted_hidden_lines(&counted));
    let listed_issues = report.open_issues().chain(&report.pre_existing);
    let count = listed_issues.filter(|issue| !has_details(issue)).count();
    if count > 0 {
        let verb = if count == 1 { "has" } else { "have" };
        items.push(format!("Details missing: {} {verb} no explanation", plural(count, "finding")));
    }
    items.extend(coverage_gaps(report));
    match report.status {
        Status::Ok | Status::Degraded => {}
        Status::Truncated | Status::Error => items.push(format!("Status: {}", report.status)),
    }
    // The envelope lists the issues over the limit, too.
    let warnings = warnings_beside_failures(report, report.warnings.iter());
    items.extend(warnings.iter().map(|warning| format!("Warning: {warning}")));
    if report.open_issues().next().is_some() {
        items.push(LABELS.to_owned());
    }
    items.dedup();
    items
}
