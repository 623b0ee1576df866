//! One issue as a ticket of a tracker: a title on one line, and a body in Markdown.

use super::comment::{Body, prose};
use super::issue_parts::{facts, proposed, quotes};
use crate::clean;
use crate::report::{Issue, Report};

/// As long a title as every tracker takes: Jira and Linear refuse more than 255 characters.
const TITLE_MAX: usize = 200;
/// As long a body as every tracker takes, with a mark at its end: Jira refuses more than 32,767 characters.
const BODY_MAX: usize = 30_000;
/// Room for the sentences that something is too long, whatever stands before them.
const LEFT_OUT_MAX: usize = 200;

const TOO_LONG: &str = "\nThe rest is too long to be shown here: the run folder has it.\n";

/// The title of a ticket. Trackers show it as plain text.
pub fn ticket_title(issue: &Issue) -> String {
    crate::cut(&format!("[{}] {}", issue.severity, clean::one_line(&issue.title)), TITLE_MAX)
}

/// The body of a ticket, without the mark by which it is found again: each tracker keeps another form of it.
pub fn ticket(issue: &Issue, report: &Report) -> String {
    let mut body = Body::new(BODY_MAX - LEFT_OUT_MAX);
    body.push(&format!("{}\n", prose(&issue.why_it_matters, None)));
    let sections = [
        ("Proposed fix", proposed(issue, None)),
        ("About", format!("{}{}", facts(issue, None), origin(issue, report))),
        ("Evidence", quotes(issue)),
    ];
    let mut is_whole = true;
    for (heading, text) in sections {
        is_whole &= body.push(&format!("\n## {heading}\n\n{}\n", text.trim_end()));
    }
    let mut out = body.into_text();
    if !is_whole {
        out.push_str(TOO_LONG);
    }
    out
}

/// Which commit was reviewed, and in which run, as items of a list.
fn origin(issue: &Issue, report: &Report) -> String {
    let shown = |text: &str| clean::code_span(&clean::path(text));
    let mut out = String::new();
    if !report.change.head_sha.is_empty() {
        out.push_str(&format!("- Reviewed: {}\n", shown(&report.change.head_sha)));
    }
    if !report.run_id.is_empty() {
        out.push_str(&format!("- Run: {}, issue {}\n", shown(&report.run_id), issue.number));
    }
    out
}

#[cfg(test)]
mod tests {
    use expect_test::expect_file;

    use super::super::tests::{full, hostile};
    use super::*;

    #[test]
    fn a_ticket_is_whole() {
        let report = full();
        let issue = &report.issues[0];
        let text = format!("{}\n\n{}", ticket_title(issue), ticket(issue, &report));
        expect_file!["../../tests/data/render/ticket.md"].assert_eq(&text);
    }

    #[test]
    fn no_text_forges_a_marker_or_a_heading_or_fills_a_tracker() {
        let mut report = hostile();
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
            assert!(body.chars().count() <= BODY_MAX, "{}", body.chars().count());
            let title = ticket_title(issue);
            assert!(title.lines().count() == 1 && title.chars().count() <= TITLE_MAX, "{title}");
        }
    }
}
