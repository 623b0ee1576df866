//! Credentials in added lines.
//!
//! Precision over recall: placeholders, lookups, hashes and samples are skipped. No finding
//! contains the value. Only [`values`] returns credentials, so that output can be masked.

mod checksum;
mod plausible;
mod private_key;
mod rules;

use std::ops::Range;

use rules::SecretFormat;

use crate::findings::{FINDINGS_MAX, FindingDraft};
use crate::{AddedLine, ChangedFile, LintRule, StaticFinding, StaticOutput, paths};
use crh_review::finding::{Confidence, Owner, Severity};

/// Replacement for a masked credential.
const MASK: &str = "****";
/// How much of a long line is shown on each side of a credential.
const AROUND: usize = 80;

const WHY: &str = "Everybody who can read this branch, its history or a build of it can use the credential. Taking the line out \
     later does not take it back.";
const FIX: &str = "Revoke the credential now: each reader of the branch knows it. Then take it out of the change and out \
     of the branch's history, and read it from the environment or a secret store.";

/// One rule per format.
pub(crate) const RULES: &[LintRule] = &rules::ALL;

/// A credential in a line.
#[derive(Debug, Clone, PartialEq, Eq)]
struct SecretMatch {
    rule: &'static LintRule,
    /// What it is, for people.
    description: &'static str,
    severity: Severity,
    confidence: Confidence,
    /// Range of the value in the line.
    range: Range<usize>,
    /// Range to mask: the value and overlapping matches of other rules.
    mask: Range<usize>,
    /// How many bytes of the value may be shown.
    shown: usize,
}

/// What counts as a credential.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Strictness {
    /// Also values that only their name or place makes suspicious.
    Normal,
    /// Only unambiguous formats: generated files contain many values under suspicious names.
    FormatsOnly,
}

/// Finds credentials in added lines.
pub fn review(files: &[ChangedFile]) -> StaticOutput {
    find_secrets(files, Strictness::Normal)
}

/// Finds credentials in files that are excluded from review, such as generated and vendored ones.
/// Only unambiguous formats count.
pub fn review_excluded(files: &[ChangedFile]) -> StaticOutput {
    find_secrets(files, Strictness::FormatsOnly)
}

fn find_secrets(files: &[ChangedFile], care: Strictness) -> StaticOutput {
    let mut returned = StaticOutput::default();
    let mut left_out = 0_usize;
    for_each_match(files, care, |file, line, hits| {
        for hit in hits {
            if returned.findings.len() == FINDINGS_MAX {
                left_out += 1;
                continue;
            }
            returned.findings.push(finding(files, file, line, hits, hit));
        }
    });
    if left_out > 0 {
        returned.notes.push(format!("{left_out} more credentials are not listed"));
    }
    returned
}

/// The credentials themselves, sorted, for masking output.
pub fn values(files: &[ChangedFile]) -> Vec<String> {
    let mut values = Vec::new();
    for_each_match(files, Strictness::Normal, |file, line, hits| {
        for hit in hits {
            let value = String::from_utf8_lossy(&line.text[hit.range.clone()]);
            values.push(value.into_owned());
            values.extend(private_key::key_rows(file, line.number, hit));
        }
    });
    values.extend(files.iter().flat_map(private_key::rows_without_heading));
    values.retain(|value| !value.is_empty());
    values.sort();
    values.dedup();
    values
}

fn for_each_match<'a>(
    files: &'a [ChangedFile],
    care: Strictness,
    mut act: impl FnMut(&'a ChangedFile, &'a AddedLine, &[SecretMatch]),
) {
    for file in files {
        let care = if paths::is_lock(&file.path) { Strictness::FormatsOnly } else { care };
        for (at, line) in file.added.iter().enumerate() {
            let hits = line_matches(file, at, care);
            if !hits.is_empty() {
                act(file, line, &hits);
            }
        }
    }
}

/// The credentials of a line from left to right, without overlaps.
fn line_matches(file: &ChangedFile, at: usize, care: Strictness) -> Vec<SecretMatch> {
    let text = &file.added[at].text;
    let candidates = rules::candidates(text).filter(|form| match care {
        Strictness::Normal => true,
        Strictness::FormatsOnly => form.is_unambiguous(),
    });
    let mut hits: Vec<SecretMatch> =
        candidates.flat_map(|form| form.find_matches(&file.path, text)).collect();
    hits.extend(private_key::find_match(file, at));
    hits.sort_by_key(|hit| hit.range.start);
    let mut merged: Vec<SecretMatch> = Vec::new();
    // A known format takes precedence over a guess, and a longer match over a shorter one.
    let rank = |hit: &SecretMatch| (hit.severity, std::cmp::Reverse(hit.range.len()));
    for hit in hits {
        let Some(last) = merged.last_mut().filter(|last| hit.range.start < last.mask.end) else {
            merged.push(hit);
            continue;
        };
        let mask = last.mask.start..last.mask.end.max(hit.mask.end);
        if rank(&hit) < rank(last) {
            *last = hit;
        }
        last.mask = mask;
    }
    merged
}

fn finding(
    files: &[ChangedFile],
    file: &ChangedFile,
    line: &AddedLine,
    hits: &[SecretMatch],
    hit: &SecretMatch,
) -> StaticFinding {
    let value = &line.text[hit.range.clone()];
    let mut removed = files.iter().flat_map(|file| &file.removed);
    // A moved line is removed in one place and added in another.
    let was_there = !value.is_empty() && removed.any(|line| contains(line, value));
    let found =
        FindingDraft::new(hit.rule, &file.path, line.number, &mask_line(&line.text, hits, hit));
    let found = found.with_text(format!("{} in the code", hit.description), WHY, FIX);
    let (severity, confidence) = (hit.severity, hit.confidence);
    FindingDraft { severity, confidence, owner: Owner::Human, pre_existing: was_there, ..found }
        .into_finding()
}

fn contains(text: &[u8], value: &[u8]) -> bool {
    memchr::memmem::find(text, value).is_some()
}

/// A line, or the part around a match if it is long, with all credentials masked.
fn mask_line(text: &[u8], hits: &[SecretMatch], around: &SecretMatch) -> String {
    let window =
        around.range.start.saturating_sub(AROUND)..(around.range.end + AROUND).min(text.len());
    let window = if text.len() <= 2 * AROUND { 0..text.len() } else { window };
    let mut shown = Vec::new();
    let mut from = window.start;
    for hit in hits.iter().filter(|hit| hit.mask.end > window.start && hit.mask.start < window.end)
    {
        let beginning =
            if hit.mask.start == hit.range.start { hit.shown.min(hit.range.len()) } else { 0 };
        if hit.mask.start >= from {
            shown.extend_from_slice(&text[from..hit.mask.start + beginning]);
        }
        shown.extend_from_slice(MASK.as_bytes());
        from = hit.mask.end;
    }
    shown.extend_from_slice(text.get(from..window.end).unwrap_or_default());
    String::from_utf8_lossy(&shown).trim().to_owned()
}

impl SecretFormat {
    fn find_matches(&self, path: &str, text: &[u8]) -> Vec<SecretMatch> {
        let mut hits = Vec::new();
        for captures in self.pattern.iter().flat_map(|it| it.captures_iter(text)) {
            let Some(value) = captures.name("value").or_else(|| captures.get(0)) else { continue };
            let judged = self.judge(path, text, &captures, value.as_bytes());
            let Some((severity, confidence)) = judged else { continue };
            hits.push(SecretMatch {
                rule: self.rule,
                description: self.description,
                severity,
                confidence,
                range: value.range(),
                mask: value.range(),
                shown: self.visible_prefix,
            });
        }
        hits
    }
}

#[cfg(test)]
mod tests;
