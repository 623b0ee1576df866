//! Gates: checks on a panel reviewer's report. Findings must be concrete, must not exceed the
//! reviewer's maximum severity, and must not be too many.

use std::cmp::Reverse;

use crate::change_under_review::ChangeUnderReview;
use crate::consolidate::check_findings;
use crate::reviewers::Reviewer;
use crate::text::{cut, one_line, plural};
use crh_review::ReviewerReturn;
use crh_review::finding::{AutofixClass, Finding, Member, Owner, Severity};
use crh_review::report::{DroppedFinding, Fate};

/// Beginnings of vague advice.
const VAGUE: [&str; 9] = [
    "consider ",
    "maybe ",
    "perhaps ",
    "you may want",
    "you might want",
    "it might be",
    "it may be worth",
    "think about",
    "double-check",
];

/// Maximum characters of a note: about three sentences.
const NOTE_CHARS: usize = 800;

/// The problem of a vague finding, for its reviewer. None if the finding is concrete.
pub(super) fn vague_problem(finding: &Finding) -> Option<&'static str> {
    is_vague(finding).then_some(
        "it asks the reader to consider something instead of saying what fails and what to change: name the failing case and the change in `suggested_fix`",
    )
}

/// Whether the finding only advises the reader to think about something.
fn is_vague(finding: &Finding) -> bool {
    let is_vague_text = |text: &str| {
        let text = text.trim_start().to_lowercase();
        VAGUE.iter().any(|start| text.starts_with(start))
    };
    let advice = finding.suggested_fix.as_deref().unwrap_or(&finding.why_it_matters);
    finding.replacement.is_none() && (is_vague_text(advice) || is_vague_text(&finding.title))
}

/// Applies all checks and returns the report with remarks on what changed. Findings over the
/// reviewer's cap are among the dropped ones, without a remark.
pub(super) fn apply_gates(
    mut parsed: ReviewerReturn,
    reviewer: &Reviewer,
    change: &ChangeUnderReview,
) -> (ReviewerReturn, Vec<String>) {
    let (mut vague_count, mut lowered_count) = (0, 0);
    for member in &mut parsed.members {
        let finding = &mut member.finding;
        if is_vague(finding) {
            vague_count += 1;
            finding.owner = Owner::Human;
            // Vague wording does not make a P0 or P1 harmless.
            if finding.severity <= Severity::P1 {
                finding.autofix_class = AutofixClass::Manual;
            } else {
                finding.severity = Severity::P3;
                finding.autofix_class = AutofixClass::Advisory;
            }
        }
        // A finding outside the reviewer's family of categories keeps its severity. `P0` is the
        // smallest value: smaller means more severe.
        let is_own_family = finding.category.family() == reviewer.category.family();
        if is_own_family && finding.severity < reviewer.max_severity {
            lowered_count += 1;
            finding.severity = reviewer.max_severity;
        }
    }
    let mut remarks = Vec::new();
    if vague_count > 0 {
        let findings = plural(vague_count, "finding");
        remarks.push(format!("no concrete fix is given for {findings}; assigned to humans"));
    }
    if lowered_count > 0 {
        let (findings, max_severity) = (plural(lowered_count, "finding"), reviewer.max_severity);
        remarks.push(format!("{findings} lowered to {max_severity}, the maximum of this reviewer"));
    }
    apply_cap(&mut parsed, reviewer, change);
    (parsed, remarks)
}

/// Keeps the most severe and most confident findings, up to the reviewer's cap. The verdict counts
/// findings over the cap, so those that the merge drops, such as one with an invented quote, are
/// left to the merge.
fn apply_cap(parsed: &mut ReviewerReturn, reviewer: &Reviewer, change: &ChangeUnderReview) {
    if parsed.members.len() <= reviewer.cap {
        return;
    }
    let checks = check_findings(&parsed.members, change);
    let mut accepted = Vec::new();
    for (member, check) in std::mem::take(&mut parsed.members).into_iter().zip(checks) {
        let list = if check.is_dropped { &mut parsed.members } else { &mut accepted };
        list.push(member);
    }
    accepted.sort_by_cached_key(|member: &Member| {
        let Finding { severity, confidence, .. } = member.finding;
        (severity, Reverse(confidence), member.clone())
    });
    let excess = accepted.split_off(reviewer.cap.min(accepted.len()));
    parsed.members.extend(accepted);
    for member in excess {
        let reason = format!("`{}` may report at most {} findings", reviewer.name, reviewer.cap);
        parsed.dropped.push(DroppedFinding::new(member, Fate::OverCap, reason));
    }
}

/// The reviewer's notes, each truncated and on one line, up to the reviewer's cap. The second value
/// has a remark of crh if it left notes out.
pub(super) fn bounded_notes(notes: Vec<String>, reviewer: &Reviewer) -> (Vec<String>, Vec<String>) {
    let notes: Vec<String> = notes
        .iter()
        .map(|note| cut(&one_line(note), NOTE_CHARS))
        .filter(|note| !note.is_empty())
        .collect();
    let left_out_count = notes.len().saturating_sub(reviewer.cap);
    let remark = (left_out_count > 0).then(|| {
        format!("{} left out: the limit is {}", plural(left_out_count, "note"), reviewer.cap)
    });
    (notes.into_iter().take(reviewer.cap).collect(), remark.into_iter().collect())
}
