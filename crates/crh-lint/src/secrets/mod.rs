//! Credentials in added lines.
//!
//! A false finding is worse here than a missed one, so placeholders, references, hashes and samples
//! are skipped. No finding contains the credential. Only [`values`] returns credentials, for the
//! code that masks output.

mod checksum;
mod plausible;
mod private_key;
mod rules;

use std::ops::Range;

use aho_corasick::AhoCorasick;
use private_key::LinesAfterChange;
use rules::SecretFormat;

use crate::findings::{FINDINGS_MAX, FindingDraft};
use crate::{
    AddedLine, ChangeView, ChangedFile, LintRule, Project, StaticFinding, StaticOutput, paths,
};
use crh_review::finding::{Confidence, Owner, Severity};

/// Replacement for a masked credential.
const MASK: &str = "****";
/// Bytes of a long line that are shown on each side of a credential.
const CONTEXT_BYTES: usize = 80;

const WHY: &str = "Everybody who can read this branch, its history or a build of it can use the credential. Removing the \
     line later does not undo the leak.";
const FIX: &str = "Revoke the credential now: each reader of the branch knows it. Then take it out of the change and out \
     of the branch's history, and read it from the environment or a secret store.";

/// One rule per format.
pub(crate) const RULES: &[LintRule] = &rules::ALL;

/// A credential in a line.
#[derive(Debug, Clone, PartialEq, Eq)]
struct SecretMatch {
    rule: &'static LintRule,
    /// Kind of credential, for people: `GitHub token`.
    description: &'static str,
    severity: Severity,
    confidence: Confidence,
    /// Range of the value in the line.
    range: Range<usize>,
    /// Range to mask: the value, and the values of overlapping matches.
    mask: Range<usize>,
    /// Bytes at the start of the value that may be shown: the vendor's prefix.
    visible_bytes: usize,
}

/// Which matches count as credentials.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Strictness {
    /// All formats, including values that are suspicious only because of their name or context.
    Normal,
    /// Only unambiguous formats, because generated files contain many harmless values with
    /// suspicious names.
    FormatsOnly,
}

/// Finds credentials in added lines.
pub fn review(files: &[ChangedFile], project: Option<&dyn Project>) -> StaticOutput {
    find_secrets(files, project, Strictness::Normal)
}

/// Finds credentials in files that are excluded from review, such as generated and vendored files.
/// Only unambiguous formats count.
pub fn review_excluded(files: &[ChangedFile], project: Option<&dyn Project>) -> StaticOutput {
    find_secrets(files, project, Strictness::FormatsOnly)
}

fn find_secrets(
    files: &[ChangedFile],
    project: Option<&dyn Project>,
    strictness: Strictness,
) -> StaticOutput {
    let mut output = StaticOutput::default();
    let mut omitted_count = 0_usize;
    for_each_match(files, project, strictness, |file, line, hits| {
        for hit in hits {
            if output.findings.len() == FINDINGS_MAX {
                omitted_count += 1;
                continue;
            }
            output.findings.push(finding(files, file, line, hits, hit));
        }
    });
    if omitted_count > 0 {
        output.notes.push(format!("{omitted_count} more credentials are not listed"));
    }
    output
}

/// The credentials themselves, sorted, for masking output.
pub fn values(files: &[ChangedFile]) -> Vec<String> {
    let mut values = Vec::new();
    for_each_match(files, None, Strictness::Normal, |file, line, hits| {
        for hit in hits {
            let value = String::from_utf8_lossy(&line.text[hit.range.clone()]);
            values.push(value.into_owned());
            values.extend(private_key::key_rows(file, line.number, hit));
        }
    });
    values.extend(files.iter().flat_map(private_key::rows_without_header));
    values.retain(|value| !value.is_empty());
    values.sort();
    values.dedup();
    values
}

/// Masks the credentials that a change adds, because linters quote them.
#[derive(Debug)]
pub(crate) struct CredentialMask(Option<AhoCorasick>);

impl CredentialMask {
    pub(crate) fn for_change(change: &ChangeView<'_>) -> Self {
        let values = values(change.all_files);
        Self(AhoCorasick::new(&values).ok().filter(|_| !values.is_empty()))
    }

    pub(crate) fn apply(&self, text: &str) -> String {
        let matches = self.0.iter().flat_map(|search| search.find_overlapping_iter(text));
        let mut ranges: Vec<Range<usize>> = matches.map(|it| it.range()).collect();
        ranges.sort_by_key(|range| range.start);
        let (mut output, mut masked_end) = (String::new(), 0);
        for range in ranges {
            if range.start >= masked_end {
                output.push_str(&text[masked_end..range.start]);
                output.push_str(MASK);
            }
            masked_end = masked_end.max(range.end);
        }
        output + &text[masked_end..]
    }

    pub(crate) fn matches(&self, text: &str) -> bool {
        self.0.as_ref().is_some_and(|search| search.is_match(text))
    }
}

fn for_each_match<'a>(
    files: &'a [ChangedFile],
    project: Option<&dyn Project>,
    strictness: Strictness,
    mut on_matches: impl FnMut(&'a ChangedFile, &'a AddedLine, &[SecretMatch]),
) {
    let is_stopped = || project.is_some_and(Project::is_stopped);
    for file in files.iter().take_while(|_| !is_stopped()) {
        let strictness =
            if paths::is_lock(&file.path) { Strictness::FormatsOnly } else { strictness };
        let new_file = LinesAfterChange::new(file, project);
        for (index, line) in file.added.iter().enumerate() {
            let hits = line_matches(file, index, &new_file, strictness);
            if !hits.is_empty() {
                on_matches(file, line, &hits);
            }
        }
    }
}

/// The credentials of an added line from left to right, without overlaps.
fn line_matches(
    file: &ChangedFile,
    index: usize,
    new_file: &LinesAfterChange<'_>,
    strictness: Strictness,
) -> Vec<SecretMatch> {
    let text = &file.added[index].text;
    let candidates = rules::candidates(text).filter(|format| match strictness {
        Strictness::Normal => true,
        Strictness::FormatsOnly => format.is_unambiguous(),
    });
    let mut hits: Vec<SecretMatch> =
        candidates.flat_map(|format| format.find_matches(&file.path, text)).collect();
    hits.extend(private_key::find_match(file, index, new_file));
    hits.sort_by_key(|hit| hit.range.start);
    let mut merged: Vec<SecretMatch> = Vec::new();
    // A more severe match takes precedence over a less severe one, then a longer match over a
    // shorter one. Known formats are more severe than guesses.
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
    // If a removed line has the same value, the change only moves the credential. A sample that
    // becomes part of the program is new.
    let is_in_use = paths::is_in_use(&file.path);
    let origins = files.iter().filter(|origin| {
        !is_in_use || paths::is_in_use(origin.old_path.as_deref().unwrap_or(&origin.path))
    });
    let mut removed = origins.flat_map(|origin| &origin.removed);
    let was_removed = !value.is_empty() && removed.any(|line| contains(line, value));
    let draft =
        FindingDraft::new(hit.rule, &file.path, line.number, &mask_line(&line.text, hits, hit));
    let draft = draft.with_text(format!("{} in the code", hit.description), WHY, FIX);
    let (severity, confidence) = (hit.severity, hit.confidence);
    FindingDraft { severity, confidence, owner: Owner::Human, pre_existing: was_removed, ..draft }
        .into_finding()
}

fn contains(text: &[u8], value: &[u8]) -> bool {
    memchr::memmem::find(text, value).is_some()
}

/// The line with all credentials masked. Of a long line, only the part around one match.
fn mask_line(text: &[u8], hits: &[SecretMatch], center: &SecretMatch) -> String {
    let window = center.range.start.saturating_sub(CONTEXT_BYTES)
        ..(center.range.end + CONTEXT_BYTES).min(text.len());
    let window = if text.len() <= 2 * CONTEXT_BYTES { 0..text.len() } else { window };
    let mut output = Vec::new();
    let mut from = window.start;
    for hit in hits.iter().filter(|hit| hit.mask.end > window.start && hit.mask.start < window.end)
    {
        let visible_bytes = if hit.mask.start == hit.range.start {
            hit.visible_bytes.min(hit.range.len())
        } else {
            0
        };
        if hit.mask.start >= from {
            output.extend_from_slice(&text[from..hit.mask.start + visible_bytes]);
        }
        output.extend_from_slice(MASK.as_bytes());
        from = hit.mask.end;
    }
    output.extend_from_slice(text.get(from..window.end).unwrap_or_default());
    String::from_utf8_lossy(&output).trim().to_owned()
}

impl SecretFormat {
    fn find_matches(&self, path: &str, text: &[u8]) -> Vec<SecretMatch> {
        let mut hits = Vec::new();
        for captures in self.pattern.iter().flat_map(|it| it.captures_iter(text)) {
            let Some(value) = captures.name("value").or_else(|| captures.get(0)) else { continue };
            let rating = self.judge(path, text, &captures, value.as_bytes());
            let Some((severity, confidence)) = rating else { continue };
            hits.push(SecretMatch {
                rule: self.rule,
                description: self.description,
                severity,
                confidence,
                range: value.range(),
                mask: value.range(),
                visible_bytes: self.visible_prefix,
            });
        }
        hits
    }
}

#[cfg(test)]
mod tests;
