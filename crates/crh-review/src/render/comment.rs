//! The body of a summary comment on GitHub: markers, verdict, a table, and the details folded away.

use super::coverage_gaps;
use super::doubt;
use super::fates_line;
use super::place;
use super::reported_by;
use crate::clean;
use crate::finding::Side;
use crate::identity::review_marker;
use crate::identity::summary_marker;
use crate::report::Issue;
use crate::report::Report;
use crate::report::RequirementState;

/// GitHub refuses longer bodies. It counts characters; bytes are never fewer.
pub const COMMENT_MAX: usize = 65_536;
/// How much of the summary and of the reason is shown before the table, in characters.
const SUMMARY_MAX: usize = 4_096;
/// How much the remarks after the details may take.
const REMARKS_MAX: usize = 8_192;
/// Kept free for the remarks, the line that says what does not fit, and the last line.
const TAIL_MAX: usize = REMARKS_MAX + 1_024;

/// As much of a model's name as the last line has room for.
const MODEL_SHOWN: usize = 100;

/// The comment. `instance` names the installation, so that two of them do not edit each other's.
pub fn comment(report: &Report, instance: &str) -> String {
    let host = host_of(&report.change.url);
    let mut head = format!("{}\n{}\n", review_marker(&report.review_id), summary_marker(instance));
    head.push_str(&format!(
        "## {}\n\n{}\n",
        report.verdict,
        clean::markdown(&capitalised(&cut(&report.verdict_reason)), host)
    ));
    if !report.summary.is_empty() {
        head.push_str(&format!("\n{}\n", clean::markdown(&cut(&report.summary), host)));
    }
    let room = COMMENT_MAX - TAIL_MAX;
    let mut body = head;
    add_table(&mut body, &report.issues, host, room);
    add_details(&mut body, &report.issues, host, room);
    body.push_str(&tail(report, host));
    body
}

fn add_table(body: &mut String, issues: &[Issue], host: Option<&str>, room: usize) {
    if issues.is_empty() {
        return;
    }
    body.push_str("\n| # | Severity | Where | Issue | Confidence |\n|---|---|---|---|---|\n");
    for (at, issue) in issues.iter().enumerate() {
        let row = format!(
            "| {} | {} | {} | {} | {} |\n",
            issue.number,
            issue.severity,
            clean::code_span(&place(issue)).replace('|', "\\|"),
            clean::cell(&issue.title, host),
            issue.confidence,
        );
        if body.len() + row.len() > room {
            let more = match issues.len() - at {
                1 => "1 more issue does".to_owned(),
                more => format!("{more} more issues do"),
            };
            body.push_str(&format!("\n{more} not fit here.\n"));
            return;
        }
        body.push_str(&row);
    }
}

/// Adds the details of every issue that there is room for: a long one must not hide the short ones after it.
fn add_details(body: &mut String, issues: &[Issue], host: Option<&str>, room: usize) {
    let mut left_out = 0;
    for issue in issues {
        let details = details(issue, host);
        if body.len() + details.len() > room {
            left_out += 1;
        } else {
            body.push_str(&details);
        }
    }
    if left_out > 0 {
        let issues = if left_out == 1 { "issue" } else { "issues" };
        body.push_str(&format!("\nThe details of {left_out} {issues} do not fit here.\n"));
    }
}

fn details(issue: &Issue, host: Option<&str>) -> String {
    let mut out = format!(
        "\n<details>\n<summary>{}. {}: {}</summary>\n\n{}\n",
        issue.number,
        issue.severity,
        clean::html(&issue.title),
        clean::markdown(&issue.why_it_matters, host),
    );
    for quote in &issue.evidence {
        let removed = if quote.side == Side::Old { " (removed)" } else { "" };
        let place =
            clean::code_span(&clean::path(&format!("{}:{}{removed}", quote.file, quote.line)));
        out.push_str(&format!(
            "\n{place}\n{}\n",
            clean::code_block(&quote.snippet, &issue.language)
        ));
    }
    if let Some(fix) = &issue.suggested_fix {
        out.push_str(&format!("\n**Fix:** {}\n", clean::markdown(fix, host)));
    }
    if let (None, Some(text)) = (&issue.suggested_fix, &issue.replacement) {
        out.push_str(&format!(
            "\n**Replace with:**\n{}\n",
            clean::code_block(text, &issue.language)
        ));
    }
    if let Some(doubt) = doubt(issue) {
        out.push_str(&format!("\n**Note:** {doubt}\n"));
    }
    let by = clean::markdown(&reported_by(issue), host);
    out.push_str(&format!(
        "\n{} -> {}, reported by {by}\n\n</details>\n",
        issue.autofix_class, issue.owner
    ));
    out
}

/// What else the reader should know: trouble that was there before, what nobody tested, what was not shown.
fn remarks(report: &Report, host: Option<&str>) -> Vec<String> {
    let prose = |text: &str| clean::markdown(text, host);
    let mut items: Vec<String> = Vec::new();
    for issue in &report.pre_existing {
        let place = clean::code_span(&place(issue));
        items.push(format!("Was there before: {} {place} {}", issue.severity, prose(&issue.title)));
    }
    for requirement in report.plan.iter().flat_map(|plan| &plan.requirements) {
        if requirement.state != RequirementState::Met && !requirement.waived {
            let (id, text) = (prose(&requirement.id), prose(&requirement.text));
            items.push(format!("The plan also asks for {id}: {text}"));
        }
    }
    items.extend(report.residual_risks.iter().map(|risk| format!("Risk: {}", prose(risk))));
    items.extend(report.testing_gaps.iter().map(|gap| format!("Not tested: {}", prose(gap))));
    items.extend(fates_line(report).map(|fates| format!("Findings not shown: {fates}")));
    for row in report.failed_reviewers() {
        items.push(format!("Failed reviewer {}: {}", prose(&row.name), prose(&row.note)));
    }
    items.extend(coverage_gaps(report).map(|gap| prose(&gap)));
    items.extend(report.warnings.iter().map(|warning| prose(warning)));
    items
}

fn tail(report: &Report, host: Option<&str>) -> String {
    let mut out = String::new();
    let items = remarks(report, host);
    for (at, item) in items.iter().enumerate() {
        let line = format!("{}- {item}\n", if at == 0 { "\n" } else { "" });
        if out.len() + line.len() > REMARKS_MAX {
            out.push_str(&format!("\n{} more remarks do not fit here.\n", items.len() - at));
            break;
        }
        out.push_str(&line);
    }
    let model = if report.model_used.is_empty() { "no model" } else { report.model_used.as_str() };
    let model: String = model.chars().take(MODEL_SHOWN).collect();
    let cost = report.stats.cost_usd.0 as f64 / 1e6;
    out.push_str(&format!(
        "\n<sub>crh, {}, {}, ${cost:.2}, review {}</sub>\n",
        report.strategy,
        clean::markdown(&model, None),
        clean::markdown(&report.review_id.chars().take(MODEL_SHOWN).collect::<String>(), None)
    ));
    out
}

/// As much of a text as the head has room for.
fn cut(text: &str) -> String {
    match text.char_indices().nth(SUMMARY_MAX) {
        Some((end, _)) => format!("{} …", &text[..end]),
        None => text.to_owned(),
    }
}

fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    let first = chars.next().map(char::to_uppercase);
    first.into_iter().flatten().chain(chars).collect()
}

/// The host of the change: links to it may stay links.
fn host_of(url: &str) -> Option<&str> {
    url.strip_prefix("https://")?.split('/').next().filter(|host| !host.is_empty())
}
