//! Renders the report as Markdown: tables by severity, then sections in a fixed order.

use super::{
    HiddenCounts, counted_hidden_lines, coverage_gaps, is_residual, location_label, next_step_in,
    note_on_quote, places_note, quote_place, remarks_after_quote, reported_by, requirement_state,
    residual_step, scope_line, team, unfixable_note, validation_note, verdict_label,
    warnings_beside_failures,
};
use crate::finding::Severity;
use crate::report::{Issue, Report, RequirementState};
use crate::sanitise;
use crate::verdict::counted_hidden;

/// The report as Markdown.
pub fn markdown(report: &Report) -> String {
    let mut sections = vec![header(report)];
    sections.extend(severity_tables(report));
    sections.extend(requirements(report));
    sections.extend(bullets("Applied Fixes", applied_fixes(report)));
    sections.extend(residual_work(report));
    sections.extend(pre_existing(report));
    let notes = &report.notes;
    for (title, items) in [
        ("Learnings & Past Solutions", &notes.learnings),
        ("Agent-Native Gaps", &notes.agent_native_gaps),
        ("Schema Drift Check", &notes.schema_drift),
        ("Deployment Notes", &notes.deployment),
    ] {
        sections.extend(bullets(title, items.iter().map(|item| prose(item)).collect()));
    }
    sections.extend(bullets("Coverage", coverage(report)));
    sections.push(format!("---\n\n{}", verdict(report)));
    sections.join("\n")
}

fn prose(text: &str) -> String {
    sanitise::markdown(text, None)
}

fn cell(text: &str) -> String {
    sanitise::cell(text, None)
}

fn code_cell(text: &str) -> String {
    sanitise::code_span(text).replace('|', "\\|")
}

fn header(report: &Report) -> String {
    let mut out =
        format!("## Code Review Results\n\n**Scope:** {}<br>\n", prose(&scope_line(report)));
    if !report.intent.is_empty() {
        out.push_str(&format!("**Intent:** {}<br>\n", prose(&report.intent)));
    }
    let team = team(report);
    let reviewers = if team.is_empty() { " none\n" } else { "\n\n" };
    out.push_str(&format!("**Mode:** {}<br>\n**Reviewers:**{reviewers}", report.mode));
    for (name, why) in &team {
        let why = if why.is_empty() { String::new() } else { format!(" -- {}", prose(why)) };
        out.push_str(&format!("- {}{why}\n", prose(name)));
    }
    out
}

fn table(title: &str, columns: &[&str], rows: impl Iterator<Item = Vec<String>>) -> Option<String> {
    let rows: Vec<String> = rows.map(|cells| format!("| {} |\n", cells.join(" | "))).collect();
    if rows.is_empty() {
        return None;
    }
    let rule = "---|".repeat(columns.len());
    Some(format!("### {title}\n\n| {} |\n|{rule}\n{}", columns.join(" | "), rows.concat()))
}

fn bullets(title: &str, mut items: Vec<String>) -> Option<String> {
    items.dedup();
    let items: String = items.iter().map(|item| format!("- {item}\n")).collect();
    (!items.is_empty()).then(|| format!("### {title}\n\n{items}"))
}

fn severity_tables(report: &Report) -> Vec<String> {
    let columns = ["#", "File", "Issue", "Reviewer", "Confidence", "Fix"];
    [
        (Severity::P0, "P0 -- Critical"),
        (Severity::P1, "P1 -- High"),
        (Severity::P2, "P2 -- Moderate"),
        (Severity::P3, "P3 -- Low"),
    ]
    .into_iter()
    .filter_map(|(severity, title)| {
        let issues = report.issues.iter().filter(|issue| issue.severity == severity);
        table(title, &columns, issues.map(|issue| issue_row(report, issue)))
    })
    .collect()
}

fn issue_row(report: &Report, issue: &Issue) -> Vec<String> {
    vec![
        issue.number.to_string(),
        code_cell(&location_label(issue)),
        issue_cell(issue),
        cell(&reported_by(issue)),
        issue.confidence.to_string(),
        next_step_in(report, issue).to_string(),
    ]
}

/// Title, effect, quote and fix of an issue in one cell.
fn issue_cell(issue: &Issue) -> String {
    let mut lines = vec![format!("**{}**", cell(&issue.title)), cell(&issue.why_it_matters)];
    if !issue.evidence_snippet.is_empty() {
        let place = quote_place(issue).map(|place| format!("At {}: ", cell(&place)));
        lines.push(place.unwrap_or_default() + &code_cell(&issue.evidence_snippet));
    }
    lines.extend(note_on_quote(issue).map(str::to_owned));
    match (&issue.suggested_fix, &issue.replacement) {
        (Some(fix), _) => lines.push(format!("Fix: {}", cell(fix))),
        (None, Some(text)) => lines.push(format!("Replace with: {}", code_cell(text))),
        (None, None) => {}
    }
    lines.extend(remarks_after_quote(issue).iter().map(|remark| cell(remark)));
    lines.extend(validation_note(issue).map(|note| format!("Note: {note}")));
    lines.join("<br>")
}

fn requirements(report: &Report) -> Option<String> {
    let plan = report.plan.as_ref()?;
    let items = plan.requirements.iter().map(|requirement| {
        let mark = if requirement.state == RequirementState::Met { "x" } else { " " };
        let state = requirement_state(requirement);
        let evidence = match requirement.evidence.is_empty() {
            true => String::new(),
            false => format!(" ({})", prose(&requirement.evidence)),
        };
        let (id, text) = (prose(&requirement.id), prose(&requirement.text));
        format!("[{mark}] {id}: {text} -- {state}{evidence}")
    });
    let title = format!("Requirements Completeness ({} plan)", plan.plan_source);
    bullets(&title, items.collect())
}

fn applied_fixes(report: &Report) -> Vec<String> {
    report
        .applied_fixes
        .iter()
        .map(|fix| {
            let files: Vec<String> =
                fix.files.iter().map(|file| sanitise::code_span(file)).collect();
            let (what, note) = (prose(&fix.description), report.fix_note(fix));
            format!("{}: {what} ({}){note}", fix.number, files.join(", "))
        })
        .chain(places_note(report))
        .collect()
}

fn residual_work(report: &Report) -> Option<String> {
    let columns = ["#", "File", "Issue", "Next Step"];
    let residual = report.issues.iter().filter(|issue| is_residual(report, issue));
    let rows = residual.map(|issue| {
        vec![
            issue.number.to_string(),
            code_cell(&location_label(issue)),
            cell(&issue.title),
            cell(&residual_step(report, issue)),
        ]
    });
    let note = unfixable_note(report).map(|note| format!("\n{note}.\n")).unwrap_or_default();
    table("Residual Actionable Work", &columns, rows).map(|table| table + &note)
}

fn pre_existing(report: &Report) -> Option<String> {
    let rows = report.pre_existing.iter().map(|issue| {
        vec![
            issue.number.to_string(),
            code_cell(&location_label(issue)),
            cell(&issue.title),
            cell(&reported_by(issue)),
        ]
    });
    table("Pre-existing Issues", &["#", "File", "Issue", "Reviewer"], rows)
}

fn coverage(report: &Report) -> Vec<String> {
    let mut items = Vec::new();
    items.extend(HiddenCounts::new(report).with_reasons());
    let hidden_lines = counted_hidden_lines(&counted_hidden(report));
    items.extend(hidden_lines.iter().map(|line| prose(line)));
    let mut push_item = |label: &str, text: String| items.push(format!("{label}: {text}"));
    for risk in &report.residual_risks {
        push_item("Residual risk", prose(risk));
    }
    for gap in &report.testing_gaps {
        push_item("Testing gap", prose(gap));
    }
    for (failed, note) in report.failures() {
        let (kind, names) = failed.split_once(' ').unwrap_or(("", &failed));
        push_item(&format!("Failed {kind}"), format!("{} ({})", prose(names), prose(note)));
    }
    for file in &report.scope.untracked {
        push_item("Untracked file, not reviewed", sanitise::code_span(file));
    }
    for gap in coverage_gaps(report) {
        push_item("File", prose(&gap));
    }
    for warning in warnings_beside_failures(report, report.all_warnings()) {
        push_item("Warning", prose(&warning));
    }
    items
}

fn verdict(report: &Report) -> String {
    let mut out = format!("> **Verdict:** {}\n", verdict_label(report));
    if !report.verdict_reason.is_empty() {
        out.push_str(&format!(">\n> **Reasoning:** {}\n", prose(&report.verdict_reason)));
    }
    if !report.fix_order.is_empty() {
        let order: Vec<String> = report.fix_order.iter().map(u32::to_string).collect();
        out.push_str(&format!(">\n> **Fix order:** {}\n", order.join(", ")));
    }
    out
}
