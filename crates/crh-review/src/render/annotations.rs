//! One command an issue, as GitHub Actions reads them from a log: `::error file=…,line=…::text`.
//!
//! Whatever a line of a log begins with may be a command to the runner. So nothing here is printed as it is: what would
//! end a property or a line is encoded, and every line is one command of ours.

use super::verdict_words;
use crate::clean::{one_line, path};
use crate::finding::{Severity, Side};
use crate::report::{Issue, Report};
use crate::verdict::Verdict;

/// The issues as annotations, the worst first, and one for the verdict if the change should not be merged as it is.
pub fn annotations(report: &Report) -> String {
    let verdict = match report.verdict {
        Verdict::NotReady | Verdict::ReadyWithFixes | Verdict::Incomplete => Some(verdict(report)),
        Verdict::ReadyToMerge | Verdict::ChecksPassed => None,
    };
    // A step shows ten of a kind: what matters most comes first.
    verdict.into_iter().chain(report.issues.iter().map(annotation)).collect()
}

fn verdict(report: &Report) -> String {
    let kind = match report.verdict {
        Verdict::NotReady => "error",
        Verdict::ReadyWithFixes | Verdict::Incomplete => "warning",
        Verdict::ReadyToMerge | Verdict::ChecksPassed => "notice",
    };
    let title = format!("crh: {}", verdict_words(report));
    format!("::{kind} title={}::{}\n", property(&title), data(&one_line(&report.verdict_reason)))
}

fn annotation(issue: &Issue) -> String {
    let kind = match issue.severity {
        Severity::P0 | Severity::P1 => "error",
        Severity::P2 => "warning",
        Severity::P3 => "notice",
    };
    let place = &issue.location;
    let file = property(&path(&place.file));
    // Lines count in the file as it is now, so a removed one has none.
    let (lines, removed) = match place.side {
        Side::New => {
            let end = place.line_end.max(place.line_start);
            (format!(",line={},endLine={end}", place.line_start), String::new())
        }
        Side::Old => (String::new(), format!(" (removed line {})", place.line_start)),
    };
    let title = format!("{} {}", issue.severity, one_line(&issue.title));
    let text = format!("{}{removed}", one_line(&issue.why_it_matters));
    format!("::{kind} file={file}{lines},title={}::{}\n", property(&title), data(&text))
}

/// Text behind the second `::`.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// Text between the two.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
