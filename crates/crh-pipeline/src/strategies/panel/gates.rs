//! What a reviewer's report has to pass, whatever the reviewer was told: a finding says what to do, is graded within the lens, and
//! there are not too many of them.

use std::cmp::Reverse;

use crate::reviewers::Reviewer;
use crate::text::{count, cut, one_line};
use crh_review::Parsed;
use crh_review::finding::{AutofixClass, Finding, Owner, Severity};
use crh_review::report::{Dropped, Fate};

/// How advice begins that leaves the work to the reader.
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

/// The longest note of a reviewer, in characters: three sentences.
const NOTE_CHARS: usize = 800;

/// How many titles are named in a sentence.
const NAMED_MAX: usize = 5;

/// What is said to a reviewer whose findings only ask to consider something; none if there are no such.
pub(super) fn sent_back(parsed: &Parsed) -> Option<String> {
    let vague: Vec<&str> = parsed
        .members
        .iter()
        .filter(|member| is_vague(&member.finding))
        .map(|member| member.finding.title.as_str())
        .collect();
    let named: Vec<String> =
        vague.iter().take(NAMED_MAX).map(|title| format!("`{}`", one_line(title))).collect();
    (!vague.is_empty()).then(|| {
        format!(
            "these findings ask the reader to consider something instead of saying what fails and what to change: {}. Name the failing case and the change in `suggested_fix`, or leave them out; then report everything again.",
            named.join(", ")
        )
    })
}

/// A finding whose only advice is to think about it.
fn is_vague(finding: &Finding) -> bool {
    let begins = |text: &str| {
        let text = text.trim_start().to_lowercase();
        VAGUE.iter().any(|start| text.starts_with(start))
    };
    let advice = finding.suggested_fix.as_deref().unwrap_or(&finding.why_it_matters);
    finding.replacement.is_none() && (begins(advice) || begins(&finding.title))
}

/// What is left of a report, and what was done to it.
pub(super) fn passed(mut parsed: Parsed, reviewer: &Reviewer) -> (Parsed, Vec<String>) {
    let (mut vague, mut graded_down) = (0, 0);
    for member in &mut parsed.members {
        let finding = &mut member.finding;
        if is_vague(finding) {
            vague += 1;
            finding.owner = Owner::Human;
            // How a sentence begins does not make a blocker harmless.
            if finding.severity <= Severity::P1 {
                finding.autofix_class = AutofixClass::Manual;
            } else {
                finding.severity = Severity::P3;
                finding.autofix_class = AutofixClass::Advisory;
            }
        }
        // What is not of its kind is somebody else's, and reported only since it is grave.
        let is_own = finding.category.family() == reviewer.category.family();
        if is_own && finding.severity < reviewer.max_severity {
            graded_down += 1;
            finding.severity = reviewer.max_severity;
        }
    }
    let mut notes = Vec::new();
    if vague > 0 {
        let findings = count(vague, "finding");
        notes.push(format!("{findings} without a concrete action left to people"));
    }
    if graded_down > 0 {
        let (findings, most) = (count(graded_down, "finding"), reviewer.max_severity);
        notes.push(format!("{findings} graded down to {most}, the worst that this lens gives"));
    }
    capped(&mut parsed, reviewer);
    (parsed, notes)
}

/// Keeps the worst and surest findings of a report, as many as the lens may have.
fn capped(parsed: &mut Parsed, reviewer: &Reviewer) {
    if parsed.members.len() <= reviewer.cap {
        return;
    }
    parsed.members.sort_by_cached_key(|member| {
        let Finding { severity, confidence, .. } = member.finding;
        (severity, Reverse(confidence), member.clone())
    });
    for member in parsed.members.split_off(reviewer.cap) {
        parsed.set_aside.push(Dropped {
            fate: Fate::OverCap,
            reason: format!("`{}` may report {}", reviewer.name, reviewer.cap),
            into: None,
            reviewer: reviewer.name.clone(),
            member: Some(member),
            raw: None,
        });
    }
}

/// The notes of a reviewer, each on one line and not too long, and what was left out.
pub(super) fn notes(notes: Vec<String>, reviewer: &Reviewer) -> (Vec<String>, Vec<String>) {
    let notes: Vec<String> = notes
        .iter()
        .map(|note| cut(&one_line(note), NOTE_CHARS))
        .filter(|note| !note.is_empty())
        .collect();
    let more = notes.len().saturating_sub(reviewer.cap);
    let said = (more > 0)
        .then(|| format!("{} left out: it may write {}", count(more, "note"), reviewer.cap));
    (notes.into_iter().take(reviewer.cap).collect(), said.into_iter().collect())
}
