//! The body of a summary comment on GitHub: markers, verdict, a table, and the details folded away.

use super::coverage_gaps;
use super::fates_line;
use super::reviewer_column;
use crate::clean;
use crate::identity::review_marker;
use crate::identity::summary_marker;
use crate::report::Issue;
use crate::report::Report;

/// GitHub refuses longer bodies. It counts characters; bytes are never fewer.
pub const COMMENT_MAX: usize = 65_536;
/// Kept free for what comes after the details.
const TAIL_MAX: usize = 4_096;

/// The comment. `instance` names the installation, so that two of them do not edit each other's.
pub fn comment(report: &Report, instance: &str) -> String {
    let host = host_of(&report.change.url);
    let mut head = format!("{}\n{}\n", review_marker(&report.review_id), summary_marker(instance));
    head.push_str(&format!(
        "## {}\n\n{}\n",
        report.verdict,
        clean::markdown(&capitalised(&report.verdict_reason), host)
    ));
    if !report.summary.is_empty() {
        head.push_str(&format!("\n{}\n", clean::markdown(&report.summary, host)));
    }
    let tail = tail(report, host);
    let room = COMMENT_MAX.saturating_sub(TAIL_MAX.max(tail.len()));
    let mut body = head;
    add_table(&mut body, &report.issues, host, room);
    add_details(&mut body, &report.issues, host, room);
    body.push_str(&tail);
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
            clean::code_span(&issue.location.to_string()).replace('|', "\\|"),
            clean::cell(&issue.title, host),
            issue.confidence,
        );
        if body.len() + row.len() > room {
            body.push_str(&format!("\n{} more issues do not fit here.\n", issues.len() - at));
            return;
        }
        body.push_str(&row);
    }
}

fn add_details(body: &mut String, issues: &[Issue], host: Option<&str>, room: usize) {
    for (at, issue) in issues.iter().enumerate() {
        let details = details(issue, host);
        if body.len() + details.len() > room {
            body.push_str(&format!(
                "\nThe details of {} issues do not fit here.\n",
                issues.len() - at
            ));
            return;
        }
        body.push_str(&details);
    }
}

fn details(issue: &Issue, host: Option<&str>) -> String {
    let mut out = format!(
        "\n<details>\n<summary>{}. {}: {}</summary>\n\n{}\n",
        issue.number,
        issue.severity,
        escaped(&issue.title),
        clean::markdown(&issue.why_it_matters, host),
    );
    for quote in &issue.evidence {
        let place = clean::code_span(&format!("{}:{}", quote.file, quote.line));
        out.push_str(&format!(
            "\n{place}\n{}\n",
            clean::code_block(&quote.snippet, &issue.language)
        ));
    }
    if let Some(fix) = &issue.suggested_fix {
        out.push_str(&format!("\n**Fix:** {}\n", clean::markdown(fix, host)));
    }
    let by = clean::markdown(&reviewer_column(issue), host);
    out.push_str(&format!(
        "\n{} -> {}, reported by {by}\n\n</details>\n",
        issue.autofix_class, issue.owner
    ));
    out
}

/// Text inside an HTML element, where Markdown is not read.
fn escaped(text: &str) -> String {
    let text =
        clean::one_line(text).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    // A mention works inside HTML too, and an address may become a link.
    text.replace('@', "@\u{200b}").replace('#', "#\u{200b}").replace("://", ":\u{200b}//")
}

fn tail(report: &Report, host: Option<&str>) -> String {
    let mut items: Vec<String> = Vec::new();
    items.extend(fates_line(report).map(|fates| format!("Findings not shown: {fates}")));
    for row in report.failed_reviewers() {
        items.push(clean::markdown(&format!("Failed reviewer {}: {}", row.name, row.note), host));
    }
    items.extend(coverage_gaps(report).map(|gap| clean::markdown(&gap, host)));
    items.extend(report.warnings.iter().map(|warning| clean::markdown(warning, host)));
    let mut out = String::new();
    for (at, item) in items.iter().enumerate() {
        let line = format!("{}- {item}\n", if at == 0 { "\n" } else { "" });
        if out.len() + line.len() > TAIL_MAX - 200 {
            out.push_str(&format!("- and {} more remarks\n", items.len() - at));
            break;
        }
        out.push_str(&line);
    }
    let model = if report.model_used.is_empty() { "no model" } else { report.model_used.as_str() };
    let cost = report.stats.cost_usd.0 as f64 / 1e6;
    out.push_str(&format!(
        "\n<sub>crh, {}, {}, ${cost:.2}, review {}</sub>\n",
        report.strategy,
        escaped(model),
        escaped(&report.review_id)
    ));
    out
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
