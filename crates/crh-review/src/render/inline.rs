//! Renders one issue as an inline comment.

use super::comment::{BoundedText, COMMENT_MAX, proof_block, prose};
use super::{issue_remarks, reported_by, validation_note};
use crate::identity::issue_marker;
use crate::report::Issue;
use crate::sanitise;

/// How to show the replacement of an issue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SuggestionStyle {
    /// As a suggestion block that the forge can apply. The caller must check that it applies.
    SuggestionBlock,
    /// As a suggestion block of GitLab, which says how many lines above the commented line it
    /// replaces. The caller must check that it applies.
    RelativeSuggestion {
        /// Number of lines above the commented line.
        lines_above: u32,
    },
    /// As a plain code block.
    CodeBlock,
}

/// The comment. The first line has the title ([`title_in_comment`]), the last line the marker.
pub fn inline(
    issue: &Issue,
    instance: &str,
    links: Option<&str>,
    suggestion_style: SuggestionStyle,
) -> String {
    let reporters = prose(&reported_by(issue), links);
    // The marker, by which crh recognises its own comment, must fit.
    let end = format!(
        "\n<sub>Reported by {reporters}, confidence {}</sub>\n\n{}\n",
        issue.confidence,
        issue_marker(instance, &issue.dedupe_key)
    );
    let mut body = BoundedText::new(COMMENT_MAX.saturating_sub(end.chars().count()));
    body.push(&format!("**{}** {}\n", issue.severity, comment_title(issue, links)));
    body.push(&format!("\n{}\n", prose(&issue.why_it_matters, links)));
    for remark in issue_remarks(issue) {
        body.push_or(&format!("\n{}\n", prose(&remark, links)), "");
    }
    if let Some(fix) = &issue.suggested_fix {
        body.push_or(&format!("\n**Fix:** {}\n", prose(fix, links)), FIX_TOO_LONG);
    }
    if let Some(text) = &issue.replacement {
        let block = match suggestion_style {
            SuggestionStyle::SuggestionBlock => {
                format!("\n```suggestion\n{}\n```\n", text.trim_end_matches('\n'))
            }
            SuggestionStyle::RelativeSuggestion { lines_above } => {
                let text = text.trim_end_matches('\n');
                format!("\n```suggestion:-{lines_above}+0\n{text}\n```\n")
            }
            SuggestionStyle::CodeBlock => {
                format!("\n**Replace with:**\n{}\n", sanitise::code_block(text, &issue.language))
            }
        };
        body.push_or(&block, FIX_TOO_LONG);
    }
    if let Some(block) = proof_block(issue) {
        body.push_or(&block, "");
    }
    if let Some(note) = validation_note(issue) {
        body.push(&format!("\n**Note:** {note}\n"));
    }
    body.into_text() + &end
}

const FIX_TOO_LONG: &str = "\nThe proposed fix is too long to show here.\n";

/// The title of an issue as shown in its comment.
pub fn comment_title(issue: &Issue, links: Option<&str>) -> String {
    prose(&issue.title, links)
}

/// Untrusted text from a change, escaped as a part of one line of a comment.
pub fn comment_line(text: &str) -> String {
    prose(&sanitise::one_line(text), None)
}

/// The title in the first line of an inline comment, in its escaped form.
pub fn title_in_comment(body: &str) -> Option<&str> {
    let line = body.lines().next()?.strip_prefix("**P")?;
    line.get(1..)?.strip_prefix("** ").map(str::trim)
}
