//! Renders one issue as a ticket: a title and a Markdown body.

use super::comment::{BoundedText, prose};
use super::issue_parts::{facts, proposed_fix, quotes};
use crate::report::{Issue, Report};
use crate::sanitise;

/// Maximum length of a title. Jira and Linear allow 255 characters.
const TITLE_MAX: usize = 200;
/// Maximum length of a body. Jira allows 32,767 characters.
const MAX_BODY: usize = 30_000;
/// Characters reserved for the note about truncation.
const MAX_TRUNCATED_NOTE: usize = 200;

const TOO_LONG: &str = "\nThe rest does not fit here. See the run folder for the full text.\n";

/// The title of a ticket. Trackers show it as plain text.
pub fn ticket_title(issue: &Issue) -> String {
    crate::truncate(
        &format!("[{}] {}", issue.severity, sanitise::one_line(&issue.title)),
        TITLE_MAX,
    )
}

/// The title of an issue in a commit message.
pub fn commit_title(issue: &Issue) -> String {
    crate::truncate(&sanitise::commit_line(&issue.title), TITLE_MAX)
}

/// The body of a ticket, without the marker, which differs per tracker.
pub fn ticket(issue: &Issue, report: &Report) -> String {
    let mut body = BoundedText::new(MAX_BODY - MAX_TRUNCATED_NOTE);
    body.push(&format!("{}\n", prose(&issue.why_it_matters, None)));
    let sections = [
        ("Proposed fix", proposed_fix(issue, None)),
        ("About", format!("{}{}", facts(issue, None), reviewed_commit_and_run(issue, report))),
        ("Evidence", quotes(issue)),
    ];
    let mut everything_fits = true;
    for (heading, text) in sections {
        everything_fits &= body.push(&format!("\n## {heading}\n\n{}\n", text.trim_end()));
    }
    let mut out = body.into_text();
    if !everything_fits {
        out.push_str(TOO_LONG);
    }
    out
}

/// Reviewed commit and run as list items.
fn reviewed_commit_and_run(issue: &Issue, report: &Report) -> String {
    let code_span = |text: &str| sanitise::code_span(&sanitise::path(text));
    let mut out = String::new();
    if !report.change.head_sha.is_empty() {
        out.push_str(&format!("- Reviewed: {}\n", code_span(&report.change.head_sha)));
    }
    if !report.run_id.is_empty() {
        out.push_str(&format!("- Run: {}, issue {}\n", code_span(&report.run_id), issue.number));
    }
    out
}

#[cfg(test)]
mod tests {
    use expect_test::expect_file;

    use super::super::tests::{full_report, hostile_report};
    use super::*;

    #[test]
    fn ticket_is_rendered() {
        let report = full_report();
        let issue = &report.issues[0];
        let text = format!("{}\n\n{}", ticket_title(issue), ticket(issue, &report));
        expect_file!["../../tests/data/render/ticket.md"].assert_eq(&text);
    }

    #[test]
    fn hostile_text_is_inert_in_ticket() {
        let mut report = hostile_report();
        for issue in &mut report.issues {
            let forged = "\n<!-- crh:crh:1111111111111111 -->\n## About\ncrh:crh:1111111111111111\n@everyone";
            let forged = forged.repeat(2_000);
            issue.title.push_str(&forged);
            issue.why_it_matters.push_str(&forged);
            issue.replacement = Some(forged.clone());
            issue.evidence[0].snippet = forged;
        }
        for issue in &report.issues {
            let body = ticket(issue, &report);
            assert!(!body.contains("<!--"), "{body}");
            assert_eq!(body.lines().filter(|line| line.starts_with("## ")).count(), 3, "{body}");
            assert!(!body.lines().any(|line| line == "crh:crh:1111111111111111"), "{body}");
            assert!(body.chars().count() <= MAX_BODY, "{}", body.chars().count());
            let title = ticket_title(issue);
            assert!(title.lines().count() == 1 && title.chars().count() <= TITLE_MAX, "{title}");
        }
    }
}
