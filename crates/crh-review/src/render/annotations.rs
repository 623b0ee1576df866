//! GitHub Actions annotations, one command per issue: `::error file=…,line=…::text`.
//!
//! The runner executes any log line that starts with a command. So all text is encoded, and every
//! line is exactly one command.

use super::marked_verdict;
use crate::finding::{Severity, Side};
use crate::report::{Issue, Report};
use crate::sanitise::{one_line, path};
use crate::verdict::Verdict;

/// Annotations for the open issues, most severe first, after one for the verdict if the change is not
/// ready.
pub fn annotations(report: &Report) -> String {
    let verdict = match report.verdict {
        Verdict::NotReady | Verdict::ReadyWithFixes | Verdict::Incomplete => Some(verdict(report)),
        Verdict::ReadyToMerge | Verdict::ChecksPassed => None,
    };
    // GitHub shows ten annotations per step and level, so the most important come first.
    verdict.into_iter().chain(report.shown_open_issues().map(annotation)).collect()
}

fn verdict(report: &Report) -> String {
    let kind = match report.verdict {
        Verdict::NotReady => "error",
        Verdict::ReadyWithFixes | Verdict::Incomplete => "warning",
        Verdict::ReadyToMerge | Verdict::ChecksPassed => "notice",
    };
    let title = format!("crh: {}", marked_verdict(report));
    format!(
        "::{kind} title={}::{}\n",
        encode_property(&title),
        encode_data(&one_line(&report.verdict_reason))
    )
}

fn annotation(issue: &Issue) -> String {
    let kind = match issue.severity {
        Severity::P0 | Severity::P1 => "error",
        Severity::P2 => "warning",
        Severity::P3 => "notice",
    };
    let location = &issue.location;
    let file = encode_property(&path(&location.file));
    // Lines refer to the new file, so a removed line has no number.
    let (lines, removed_note) = match location.side {
        Side::New => {
            let end = location.line_end.max(location.line_start);
            (format!(",line={},endLine={end}", location.line_start), String::new())
        }
        Side::Old => (String::new(), format!(" (removed line {})", location.line_start)),
    };
    let title = format!("{} {}", issue.severity, one_line(&issue.title));
    let text = format!("{}{removed_note}", one_line(&issue.why_it_matters));
    format!(
        "::{kind} file={file}{lines},title={}::{}\n",
        encode_property(&title),
        encode_data(&text)
    )
}

/// Encodes text after the second `::`.
fn encode_data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// Encodes a property value.
fn encode_property(text: &str) -> String {
    encode_data(text).replace(':', "%3A").replace(',', "%2C")
}
