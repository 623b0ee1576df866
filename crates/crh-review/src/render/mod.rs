//! Ways to show a report. Each is a pure function of it.

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

pub use annotations::annotations;
pub use comment::{COMMENT_MAX, Entry, List, Posted, Shown, comment, links_into, summary};
pub use envelope::{envelope, failure, stopped_envelope};
pub use html::{PageError, html};
pub use inline::{Offer, inline, shown_title, title_of};
pub use markdown::markdown;
pub use quickfix::quickfix;
pub use sarif::sarif;
pub use text::{Colour, Links, text};
pub use ticket::{ticket, ticket_title};
pub use todo::{todo, todo_key, todo_name};

use crate::report::{Fate, Issue, Report, Requirement, RequirementState, ReviewerRow, Validation};
use crate::stable_json;

/// The whole report as stable JSON: what every other form is made from.
pub fn json(report: &Report) -> serde_json::Result<String> {
    stable_json(report)
}

/// How much was reviewed, in one line.
fn scope_line(report: &Report) -> String {
    let scope = &report.scope;
    if !scope.line.is_empty() {
        return crate::clean::one_line(&scope.line);
    }
    let files =
        if scope.files == 1 { "1 file".to_owned() } else { format!("{} files", scope.files) };
    format!("{files}, +{} -{}", scope.additions, scope.deletions)
}

/// What became of the findings that are not shown, in words: `2 unsupported, 1 refuted`.
fn fates_line(report: &Report) -> Option<String> {
    let mut fates = report.fates();
    // What was merged is shown, in the issue that it was merged into.
    fates.remove(&Fate::Merged);
    let shown: Vec<String> =
        fates.iter().map(|(fate, count)| format!("{count} {}", word(*fate))).collect();
    (!shown.is_empty()).then(|| shown.join(", "))
}

/// The verdict for readers that know three words; a fourth state says why it borrows one of them.
fn verdict_words(report: &Report) -> String {
    let word = report.verdict.of_three();
    let own = report.verdict.to_string();
    if word == own { own } else { format!("{word} ({})", own.to_lowercase()) }
}

fn word(fate: Fate) -> String {
    fate.to_string().replace('_', " ")
}

/// A reviewer with the reason it was chosen, if it needed one.
fn reviewer_with_reason(row: &ReviewerRow) -> String {
    let name = crate::clean::one_line(&row.name);
    if row.why.is_empty() { name } else { format!("{name} ({})", crate::clean::one_line(&row.why)) }
}

/// Where an issue is, on one line.
fn place(issue: &Issue) -> String {
    crate::clean::path(&issue.location.to_string())
}

/// What a reader should know about the second look at an issue that is not as it should be.
fn doubt(issue: &Issue) -> Option<&'static str> {
    match issue.validation {
        Validation::Unsure | Validation::Degraded => second_look(issue.validation),
        Validation::NotRun | Validation::ByCode | Validation::Confirmed => None,
    }
}

/// Who reported an issue; where they disagreed, how.
fn reviewer_column(issue: &Issue) -> String {
    issue.disagreement.clone().unwrap_or_else(|| issue.reviewers.join(", "))
}

/// Who reported an issue, and by which rule: whoever wants to ignore it has to name that.
fn reported_by(issue: &Issue) -> String {
    let rule = issue.rule.as_ref().map(|rule| format!(", rule {rule}")).unwrap_or_default();
    format!("{}{rule}", reviewer_column(issue))
}

/// What the check of an issue said, as it stands in a sentence; none if nobody asked.
fn second_look(validation: Validation) -> Option<&'static str> {
    Some(match validation {
        Validation::NotRun => return None,
        Validation::ByCode => "found by a program",
        Validation::Confirmed => "confirmed by a second look",
        Validation::Unsure => "a second look could not decide",
        Validation::Degraded => "the second look failed",
    })
}

/// Whether a change has what a requirement asks for, in words: `not addressed, waived`.
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

/// The files that were left out or not wholly reviewed, with the reason, in the order of the report.
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
        let path = crate::clean::path(&file.path);
        let reason = crate::clean::one_line(&file.reason);
        Some(if reason.is_empty() {
            format!("{path}: {state}")
        } else {
            format!("{path}: {state} ({reason})")
        })
    })
}

#[cfg(test)]
mod tests;
