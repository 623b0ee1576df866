//! Renderings of a report. Each is a pure function.

mod annotations;
mod comment;
mod envelope;
pub(crate) mod html;
mod inline;
mod issue_parts;
mod markdown;
mod quickfix;
mod sarif;
mod text;
mod ticket;
mod todo;

use std::collections::BTreeMap;

pub use annotations::annotations;
pub use comment::{
    COMMENT_MAX, IssueDisplay, SummaryEntry, SummaryList, SummaryOptions, comment,
    repo_link_prefix, summary,
};
pub use envelope::{envelope, failure_line, stopped_envelope};
pub use html::{PageError, html};
pub use inline::{SuggestionStyle, comment_title, inline, title_in_comment};
pub use markdown::markdown;
pub use quickfix::quickfix;
pub use sarif::sarif;
pub use text::{Colour, FileLinks, ListedFindings, text};
pub use ticket::{ticket, ticket_title};
pub use todo::{todo, todo_key, todo_name};

use crate::finding::{AutofixClass, Owner};
use crate::report::{Fate, Issue, Report, Requirement, RequirementState, ReviewerRow, Validation};
use crate::stable_json;
use crate::verdict::plural;

/// The report as deterministic JSON.
pub fn json(report: &Report) -> serde_json::Result<String> {
    stable_json(report)
}

/// The scope on one line.
fn scope_line(report: &Report) -> String {
    let scope = &report.scope;
    if !scope.line.is_empty() {
        return crate::sanitise::one_line(&scope.line);
    }
    let files =
        if scope.files == 1 { "1 file".to_owned() } else { format!("{} files", scope.files) };
    format!("{files}, +{} -{}", scope.additions, scope.deletions)
}

/// Number of hidden findings with the reasons: `2 findings not shown (1 refuted, 1 low
/// confidence)`.
pub fn hidden_findings(report: &Report) -> Option<String> {
    let mut fates = report.fates();
    // A merged finding is shown as part of its issue.
    fates.remove(&Fate::Merged);
    let total: usize = fates.values().sum();
    let reasons = match fates.iter().next() {
        Some((fate, _)) if fates.len() == 1 => fate_label(*fate).to_owned(),
        Some(_) | None => fate_counts(&fates),
    };
    (total > 0).then(|| format!("{} not shown ({reasons})", plural(total, "finding")))
}

/// How many findings have each fate: `1 refuted, 2 low confidence`.
fn fate_counts(fates: &BTreeMap<Fate, usize>) -> String {
    let counts = fates.iter().map(|(fate, count)| format!("{count} {}", fate_label(*fate)));
    counts.collect::<Vec<_>>().join(", ")
}

/// The verdict as one of three labels, with the real verdict in parentheses if it differs.
fn verdict_label(report: &Report) -> String {
    let label = report.verdict.three_state_label();
    let exact_label = report.verdict.to_string();
    if label == exact_label {
        exact_label
    } else {
        format!("{label} ({})", exact_label.to_lowercase())
    }
}

/// Why a finding is not shown.
fn fate_label(fate: Fate) -> &'static str {
    match fate {
        Fate::Kept => "shown",
        Fate::Merged => "duplicate",
        Fate::Minor => "minor",
        Fate::Malformed => "invalid format",
        Fate::Nit => "nitpick",
        Fate::Unsupported => "quote not found",
        Fate::PreExisting => "pre-existing",
        Fate::Refuted => "refuted",
        Fate::BelowGate => "too uncertain",
        Fate::Softened => "listed as a gap or risk",
        Fate::Suppressed => "suppressed",
        Fate::Dismissed => "dismissed",
        Fate::ProtectedPath => "protected document",
        Fate::OverCap => "over the limit",
    }
}

/// What the reader can do about an issue, such as `fix by hand`.
fn next_step(issue: &Issue) -> String {
    let number = issue.number;
    match (issue.autofix_class, issue.owner) {
        (_, Owner::Release) => "handle it when you release".to_owned(),
        (AutofixClass::Advisory, _) => "no action needed".to_owned(),
        (_, Owner::Human) => "crh cannot fix this; a person must".to_owned(),
        (AutofixClass::SafeAuto, Owner::ReviewFixer) => "`crh fix` can fix this".to_owned(),
        (AutofixClass::SafeAuto, Owner::DownstreamResolver) => {
            format!("`crh fix --issue {number}` can fix this")
        }
        (AutofixClass::GatedAuto, _) => {
            format!(
                "`crh fix --issue {number}` can fix this; the fix changes behaviour, so check the result"
            )
        }
        (AutofixClass::Manual, _) => "fix by hand".to_owned(),
    }
}

/// A reviewer with the reason why it was chosen.
fn reviewer_with_reason(reviewer: &ReviewerRow) -> String {
    let name = crate::sanitise::one_line(&reviewer.name);
    if reviewer.why.is_empty() {
        name
    } else {
        format!("{name} ({})", crate::sanitise::one_line(&reviewer.why))
    }
}

/// The location of an issue on one line.
fn location_label(issue: &Issue) -> String {
    crate::sanitise::path(&issue.location.to_string())
}

/// A note if the second look was unsure or failed.
fn validation_note(issue: &Issue) -> Option<&'static str> {
    match issue.validation {
        Validation::Unsure | Validation::Degraded => validation_label(issue.validation),
        Validation::NotRun | Validation::ByCode | Validation::Confirmed => None,
    }
}

/// The reviewers of an issue, or their disagreement.
fn reviewers_or_disagreement(issue: &Issue) -> String {
    issue.disagreement.clone().unwrap_or_else(|| issue.reviewers.join(", "))
}

/// The reviewers of an issue and the rule, which an ignore comment needs.
fn reported_by(issue: &Issue) -> String {
    let rule = issue.rule.as_ref().map(|rule| format!(", rule {rule}")).unwrap_or_default();
    format!("{}{rule}", reviewers_or_disagreement(issue))
}

/// Result of the second look; `None` if there was none.
fn validation_label(validation: Validation) -> Option<&'static str> {
    Some(match validation {
        Validation::NotRun => return None,
        Validation::ByCode => "static check",
        Validation::Confirmed => "confirmed by a second model run",
        Validation::Unsure => "a second look could not decide",
        Validation::Degraded => "the second look failed",
    })
}

/// State of a requirement: `not addressed, waived`.
fn requirement_state(requirement: &Requirement) -> String {
    let state = match requirement.state {
        RequirementState::Met => "met",
        RequirementState::PartiallyAddressed => "partially addressed",
        RequirementState::NotAddressed => "not addressed",
        RequirementState::NotJudged => "not judged",
    };
    let waived = if requirement.waived { ", waived" } else { "" };
    format!("{state}{waived}")
}

/// Files that were skipped or not fully reviewed, with the reason, in report order.
fn coverage_gaps(report: &Report) -> impl Iterator<Item = String> {
    use crate::report::CoverageState;
    report.coverage.iter().filter_map(|file| {
        let state = match file.state {
            CoverageState::Reviewed => return None,
            CoverageState::Truncated => "partly reviewed",
            CoverageState::NotReviewed => "not reviewed",
            CoverageState::OutOfScope => "out of scope",
            CoverageState::ReviewedBefore => "reviewed before",
        };
        let path = crate::sanitise::path(&file.path);
        let reason = crate::sanitise::one_line(&file.reason);
        Some(if reason.is_empty() {
            format!("{path}: {state}")
        } else {
            format!("{path}: {state} ({reason})")
        })
    })
}

#[cfg(test)]
mod tests;
