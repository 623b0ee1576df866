//! The sentences of a report that code writes: its scope in a line, its warnings, its summary.

use std::collections::BTreeMap;

use super::{Assembly, is_reviewer, unique};
use crate::plan::{ORCHESTRATOR, SUB_AGENT};
use crate::runs::{RunEnd, RunRecord};
use crate::scope::{Decision, Reason, ScopeFile, short};
use crate::subject::Subject;
use crate::text::{count, one_line};
use crh_review::diff::FileStatus;
use crh_review::finding::Severity;
use crh_review::report::{CoverageState, Fate, Issue, Report};

/// How many characters of one run's summary are shown: a few sentences, not an essay.
const SUMMARY_CHARS: usize = 2_000;
/// How many files that nobody could look at are named in warnings; the coverage has all.
const NOT_LOOKED_AT_NAMED: usize = 20;

/// The scope in one line: `12 of 14 files, +120 -33; 2 left out (1 binary, 1 lock file); changed since 0123456789ab`.
pub(super) fn scope_line(subject: &Subject) -> String {
    let files = files_line(subject);
    match &subject.since {
        None => files,
        Some(since) => format!("{files}; changed since {}", short(&since.head)),
    }
}

fn files_line(subject: &Subject) -> String {
    let all = subject.diff.files();
    let (mut added, mut removed) = (0_u64, 0_u64);
    for (_, file) in subject.files() {
        added += u64::from(file.additions);
        removed += u64::from(file.deletions);
    }
    let mut why: BTreeMap<String, usize> = BTreeMap::new();
    for file in &subject.scope.files {
        match &file.decision {
            Decision::In => {}
            Decision::Out(reason) => *why.entry(spaced(reason.word())).or_default() += 1,
        }
    }
    let out: usize = why.values().sum();
    let files = count(all.len(), "file");
    let lines = format!("+{added} -{removed}");
    if out == 0 {
        return format!("{files}, {lines}");
    }
    let why: Vec<String> = why.iter().map(|(word, number)| format!("{number} {word}")).collect();
    format!("{} of {files}, {lines}; {out} left out ({})", all.len() - out, why.join(", "))
}

/// `lockFile` as people write it.
fn spaced(word: &str) -> String {
    let mut out = String::new();
    for char in word.chars() {
        if char.is_ascii_uppercase() {
            out.push(' ');
        }
        out.push(char.to_ascii_lowercase());
    }
    out
}

/// What the reader should know about the review itself, from its beginning to its end.
pub(super) fn warnings(assembly: &Assembly<'_>, records: &[&RunRecord]) -> Vec<String> {
    let mut all = assembly.subject.notes.clone();
    all.extend(assembly.subject.diff.problems().iter().map(|it| format!("the diff, {it}")));
    all.extend(not_looked_at(assembly.subject));
    all.extend_from_slice(&assembly.plan.notes);
    all.extend_from_slice(&assembly.collected.notes);
    let mut notes = assembly.runs.notes.clone();
    // The order in which runs ended is of no consequence.
    notes.sort();
    all.extend(notes);
    for record in records.iter().copied().chain(&assembly.validated.runs) {
        let name = &record.assignment.name;
        all.extend(record.notes.iter().map(|note| format!("{name}: {note}")));
        // What a run that did not return has met is why it did not.
        if let (RunEnd::Completed, Some(limit)) = (&record.ended, record.limited) {
            all.push(format!("{name} met its limit of {limit}: its work may be incomplete"));
        }
    }
    all.extend_from_slice(&assembly.validated.notes);
    let judges = records.iter().filter(|record| !is_reviewer(record));
    let not_judged = judges.filter_map(|record| record.ended.failure());
    all.extend(not_judged.map(|why| format!("the plan was not judged: {why}")));
    if let Some(doubt) = &assembly.context.intent.doubt {
        all.push(format!("what the change is for is not clear: {doubt}"));
    }
    all.extend_from_slice(&assembly.undecided);
    if assembly.merged.unlisted_pairs > 0 {
        let more = assembly.merged.unlisted_pairs;
        all.push(format!("{more} more pairs of issues may be one; they stay apart"));
    }
    all.extend_from_slice(&assembly.not_written);
    if assembly.interrupted {
        all.push("the review was stopped by the user: it is not complete".to_owned());
    }
    unique(all.iter())
}

/// Files that somebody may count on being reviewed, and nobody has: what is too large, code that is no text, and what says of
/// itself that it is generated.
fn not_looked_at(subject: &Subject) -> Vec<String> {
    let is_told = |file: &&ScopeFile| match &file.decision {
        Decision::Out(Reason::TooLarge { .. }) => true,
        Decision::Out(Reason::Binary) => file.language.is_some(),
        Decision::Out(Reason::GeneratedHeader { .. }) => is_new(file.status),
        Decision::Out(_) | Decision::In => false,
    };
    let told: Vec<&ScopeFile> = subject.scope.files.iter().filter(is_told).collect();
    let mut notes: Vec<String> = told
        .iter()
        .take(NOT_LOOKED_AT_NAMED)
        .filter_map(|file| match &file.decision {
            Decision::In => None,
            Decision::Out(reason) => {
                let is_own = matches!(reason, Reason::GeneratedHeader { .. });
                let own = if is_own { ", added by this change" } else { "" };
                let (path, why) = (file.path.shown(), reason.sentence());
                Some(format!("`{path}` was not reviewed: {why}{own}"))
            }
        })
        .collect();
    if let more @ 1.. = told.len().saturating_sub(NOT_LOOKED_AT_NAMED) {
        let were = if more == 1 { "file was" } else { "files were" };
        notes.push(format!("{more} more {were} not reviewed for such a reason"));
    }
    notes
}

fn is_new(status: FileStatus) -> bool {
    match status {
        FileStatus::Added | FileStatus::Copied => true,
        FileStatus::Deleted
        | FileStatus::Modified
        | FileStatus::Renamed
        | FileStatus::Binary
        | FileStatus::Mode => false,
    }
}

/// The review in a few sentences: what code counts, then what the runs say, the orchestrator before its sub-agents.
pub(super) fn summary(report: &Report, records: &[&RunRecord]) -> String {
    let mut paragraphs = vec![counts(report)];
    let said: Vec<&RunRecord> =
        records.iter().copied().filter(|record| !record.summary.trim().is_empty()).collect();
    for record in &said {
        // A line of its own would be taken for a line of ours.
        let text = cut(&one_line(&record.summary));
        paragraphs.push(format!("{}{text}", speaker(record, said.len())));
    }
    paragraphs.join("\n\n")
}

/// Counts anew in the first sentence of a summary, after something was done about the issues of its report.
pub fn recount(report: &mut Report) {
    let said = report.summary.split_once("\n\n").map(|(_, said)| format!("\n\n{said}"));
    report.summary = format!("{}{}", counts(report), said.unwrap_or_default());
}

fn speaker(record: &RunRecord, speakers: usize) -> String {
    let assignment = &record.assignment;
    match assignment.name.strip_prefix(SUB_AGENT) {
        Some(slot) => format!("[{slot}] {}: ", assignment.label),
        None if speakers == 1 || assignment.name == ORCHESTRATOR => String::new(),
        None => format!("{}: ", assignment.name),
    }
}

/// `3 issues (1 P0, 2 P1) in 12 reviewed files. 2 findings are not shown: 1 nit, 1 unsupported.`
fn counts(report: &Report) -> String {
    let reviewed = report.coverage.iter().filter(|it| it.state == CoverageState::Reviewed).count();
    let files = count(reviewed, "reviewed file");
    let mut text = match report.issues.len() {
        0 => format!("No issues in {files}"),
        issues => {
            format!("{}{} in {files}", count(issues, "issue"), by_severity(&report.issues))
        }
    };
    match report.applied_fixes.len() {
        0 => {}
        1 => text += ", of which 1 is fixed",
        fixed => text += &format!(", of which {fixed} are fixed"),
    }
    if !report.pre_existing.is_empty() {
        text += &format!("; {} from before the change", count(report.pre_existing.len(), "issue"));
    }
    text.push('.');
    let mut fates = report.fates();
    // What was merged is shown, in the issue that it was merged into.
    fates.remove(&Fate::Merged);
    let hidden: usize = fates.values().sum();
    if hidden > 0 {
        let each: Vec<String> = fates
            .iter()
            .map(|(fate, number)| format!("{number} {}", fate.to_string().replace('_', " ")))
            .collect();
        let verb = if hidden == 1 { "is" } else { "are" };
        text += &format!(" {} {verb} not shown: {}.", count(hidden, "finding"), each.join(", "));
    }
    text
}

fn by_severity(issues: &[Issue]) -> String {
    let mut counted: BTreeMap<Severity, usize> = BTreeMap::new();
    for issue in issues {
        *counted.entry(issue.severity).or_default() += 1;
    }
    let each: Vec<String> =
        counted.iter().map(|(severity, number)| format!("{number} {severity}")).collect();
    format!(" ({})", each.join(", "))
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(SUMMARY_CHARS) {
        Some((end, _)) => format!("{}… [cut]", &text[..end]),
        None => text.to_owned(),
    }
}
