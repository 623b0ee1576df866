//! One issue as a comment on the lines that it is about.

use super::comment::{Body, COMMENT_MAX, prose};
use super::{doubt, reported_by};
use crate::clean;
use crate::identity::issue_marker;
use crate::report::Issue;

/// Room for the title, the last lines and the marker, whatever stands between them.
const ENDS_MAX: usize = 4_096;

/// How the exact new text of an issue is offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Offer {
    /// As a block that the forge applies at a click. Whoever asks for it has checked that it applies.
    Button,
    /// As code to look at.
    Shown,
}

/// The comment. Its first line holds the title ([`title_of`]), its last the marker.
pub fn inline(issue: &Issue, instance: &str, links: Option<&str>, offer: Offer) -> String {
    let mut body = Body::new(COMMENT_MAX - ENDS_MAX);
    body.push(&format!("**{}** {}\n", issue.severity, shown_title(issue, links)));
    body.push(&format!("\n{}\n", prose(&issue.why_it_matters, links)));
    if let Some(fix) = &issue.suggested_fix {
        body.push_or(&format!("\n**Fix:** {}\n", prose(fix, links)), FIX_TOO_LONG);
    }
    if let Some(text) = &issue.replacement {
        let block = match offer {
            Offer::Button => format!("\n```suggestion\n{}\n```\n", text.trim_end_matches('\n')),
            Offer::Shown => {
                format!("\n**Replace with:**\n{}\n", clean::code_block(text, &issue.language))
            }
        };
        body.push_or(&block, FIX_TOO_LONG);
    }
    if let Some(doubt) = doubt(issue) {
        body.push(&format!("\n**Note:** {doubt}\n"));
    }
    let by = prose(&reported_by(issue), links);
    let mut out = body.into_text();
    out.push_str(&format!("\n<sub>{by}, confidence {}</sub>\n", issue.confidence));
    out.push_str(&format!("\n{}\n", issue_marker(instance, &issue.dedupe_key)));
    out
}

const FIX_TOO_LONG: &str = "\nThe proposed fix is too long to be shown here.\n";

/// An issue's title as it stands in its comment.
pub fn shown_title(issue: &Issue, links: Option<&str>) -> String {
    prose(&issue.title, links)
}

/// The title in the first line of an inline comment, as it was cleaned for it.
pub fn title_of(body: &str) -> Option<&str> {
    let line = body.lines().next()?.strip_prefix("**P")?;
    line.get(1..)?.strip_prefix("** ").map(str::trim)
}
