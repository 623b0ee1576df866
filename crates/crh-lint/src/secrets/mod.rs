//! Credentials in added lines.
//!
//! Few and true: what looks like a credential and is a placeholder, a lookup, a hash or a sample is passed over. No
//! finding contains the value; what was found is given out by [`values`] alone, so that whoever writes can mask it.

mod checksum;
mod plausible;
mod private_key;
mod rules;

use std::ops::Range;

use rules::Form;

use crate::found::{Found, RETURNED_MAX};
use crate::{AddedLine, ChangedFile, Reported, Returned, Rule, paths};
use crh_review::finding::{Confidence, Owner, Severity};

/// What stands for what is not shown.
const MASK: &str = "****";
/// How much of a long line is shown on either side of a credential.
const AROUND: usize = 80;

const WHY: &str = "Everybody who can read this branch, its history or a build of it can use the credential. Taking the line out \
     later does not take it back.";
const FIX: &str = "Revoke the credential now: whoever can read the branch has it. Then take it out of the change and out \
     of the branch's history, and read it from the environment or a secret store.";

/// What is looked for: a rule for each format.
pub(crate) const RULES: &[Rule] = &rules::ALL;

/// A credential in a line.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Hit {
    rule: &'static Rule,
    /// What it is, for people.
    what: &'static str,
    severity: Severity,
    confidence: Confidence,
    /// Where its value stands in the line.
    range: Range<usize>,
    /// What is masked: the value, and what other rules took for one and overlaps it.
    mask: Range<usize>,
    /// How many bytes of the value may be shown.
    shown: usize,
}

/// What counts as a credential.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Care {
    /// Also what only its name or its place says to be one.
    Usual,
    /// What nothing else looks like: programs write many values under such names.
    FormsAlone,
}

/// Looks for credentials in the lines that files gain.
pub fn review(files: &[ChangedFile]) -> Returned {
    looked_for(files, Care::Usual)
}

/// The same in files that nobody reviews, since programs or others wrote them: only what is a credential by its form.
pub fn review_left_out(files: &[ChangedFile]) -> Returned {
    looked_for(files, Care::FormsAlone)
}

fn looked_for(files: &[ChangedFile], care: Care) -> Returned {
    let mut returned = Returned::default();
    let mut left_out = 0_usize;
    each(files, care, |file, line, hits| {
        for hit in hits {
            if returned.findings.len() == RETURNED_MAX {
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

/// The credentials themselves, sorted, so that they can be masked wherever something is written.
pub fn values(files: &[ChangedFile]) -> Vec<String> {
    let mut values = Vec::new();
    each(files, Care::Usual, |file, line, hits| {
        for hit in hits {
            let value = String::from_utf8_lossy(&line.text[hit.range.clone()]);
            values.push(value.into_owned());
            values.extend(private_key::body(file, line.number, hit));
        }
    });
    values.extend(files.iter().flat_map(private_key::rows_without_heading));
    values.retain(|value| !value.is_empty());
    values.sort();
    values.dedup();
    values
}

fn each<'a>(
    files: &'a [ChangedFile],
    care: Care,
    mut act: impl FnMut(&'a ChangedFile, &'a AddedLine, &[Hit]),
) {
    for file in files {
        let care = if paths::is_lock(&file.path) { Care::FormsAlone } else { care };
        for (at, line) in file.added.iter().enumerate() {
            let hits = hits(file, at, care);
            if !hits.is_empty() {
                act(file, line, &hits);
            }
        }
    }
}

/// The credentials of a line, from left to right, none inside another.
fn hits(file: &ChangedFile, at: usize, care: Care) -> Vec<Hit> {
    let text = &file.added[at].text;
    let candidates = rules::candidates(text).filter(|form| match care {
        Care::Usual => true,
        Care::FormsAlone => form.says_enough(),
    });
    let mut hits: Vec<Hit> = candidates.flat_map(|form| form.hits(&file.path, text)).collect();
    hits.extend(private_key::hit(file, at));
    hits.sort_by_key(|hit| hit.range.start);
    let mut kept: Vec<Hit> = Vec::new();
    // A rule that knows the format stands before one that guesses, and what is longer before what is in it.
    let rank = |hit: &Hit| (hit.severity, std::cmp::Reverse(hit.range.len()));
    for hit in hits {
        let Some(last) = kept.last_mut().filter(|last| hit.range.start < last.mask.end) else {
            kept.push(hit);
            continue;
        };
        let mask = last.mask.start..last.mask.end.max(hit.mask.end);
        if rank(&hit) < rank(last) {
            *last = hit;
        }
        last.mask = mask;
    }
    kept
}

fn finding(
    files: &[ChangedFile],
    file: &ChangedFile,
    line: &AddedLine,
    hits: &[Hit],
    hit: &Hit,
) -> Reported {
    let value = &line.text[hit.range.clone()];
    let mut removed = files.iter().flat_map(|file| &file.removed);
    // A line that moved is taken away at one place and added at another.
    let was_there = !value.is_empty() && removed.any(|line| contains(line, value));
    let found = Found::new(hit.rule, &file.path, line.number, &masked(&line.text, hits, hit));
    let found = found.saying(format!("{} in the code", hit.what), WHY, FIX);
    let (severity, confidence) = (hit.severity, hit.confidence);
    Found { severity, confidence, owner: Owner::Human, pre_existing: was_there, ..found }.reported()
}

fn contains(text: &[u8], value: &[u8]) -> bool {
    memchr::memmem::find(text, value).is_some()
}

/// A line, or what is around a hit if it is long, with all its credentials masked.
fn masked(text: &[u8], hits: &[Hit], around: &Hit) -> String {
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

impl Form {
    fn hits(&self, path: &str, text: &[u8]) -> Vec<Hit> {
        let mut hits = Vec::new();
        for captures in self.pattern.iter().flat_map(|it| it.captures_iter(text)) {
            let Some(value) = captures.name("value").or_else(|| captures.get(0)) else { continue };
            let judged = self.judged(path, text, &captures, value.as_bytes());
            let Some((severity, confidence)) = judged else { continue };
            hits.push(Hit {
                rule: self.rule,
                what: self.what,
                severity,
                confidence,
                range: value.range(),
                mask: value.range(),
                shown: self.shown,
            });
        }
        hits
    }
}

#[cfg(test)]
mod tests;
