//! Carries open issues of the previous review over into an incremental review.
//!
//! If runs of this review covered the whole file of an old issue, their results replace the issue.
//! Issues about requirements are not carried over either. For every other old issue, crh looks for
//! the quoted code: if the code still exists, the issue is carried over. If the code is gone, the
//! issue is dropped.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use crate::assemble::reviewed_files;
use crate::assignment::is_static;
use crate::change_under_review::ChangeUnderReview;
use crate::code_reader::CodeReader;
use crate::collect::ReviewFindings;
use crate::incremental::IncrementalReview;
use crate::requirements;
use crate::runs::{CheckedFinding, RunResults};
use crate::scope::short_commit;
use crh_forge::posting::OpenIssue;
use crh_review::diff::LineKind;
use crh_review::finding::{Evidence, Finding, Member, Origin, Severity, Side};
use crh_review::report::{DroppedFinding, Fate, Strategy, Validation};
use crh_review::{AGREEMENT_BONUS, Judgement, JudgementResult, Quote, normalise_title};

/// Reviewer of an issue whose stored reviewer names are missing or invalid.
const UNKNOWN_REVIEWER: &str = "earlier-review";
/// Maximum length of a reviewer name. Built-in ones have about 20 characters.
const NAME_MAX: usize = 64;
/// Minimum number of visible characters in a quote of one line. A shorter line, such as `}`, occurs
/// too often to identify a place. A quote of two or more lines has no minimum.
const VISIBLE_MIN: usize = 8;
/// Maximum bytes of a quote that is copied from the current code. If that code is longer, the
/// stored quote stays.
const SNIPPET_MAX: usize = 2_000;
/// Replaces a missing `why_it_matters`.
const MISSING_REASON: &str = "An earlier review found it; its comment says more.";

/// Adds the open issues of the previous review to the collected findings. Does nothing for a full
/// review.
pub(crate) fn carry_over(
    mut collected: ReviewFindings,
    change: &ChangeUnderReview,
    runs: &RunResults,
    strategy: Strategy,
) -> ReviewFindings {
    let Some(previous) = &change.incremental else { return collected };
    let reviewed = reviewed_files(change, runs, strategy);
    let mut locator = QuoteLocator {
        incremental: previous,
        change,
        code: CodeReader::new(change),
        cache: BTreeMap::new(),
    };
    let (mut carried, mut dropped) = (Vec::new(), Vec::new());
    // Every review judges the requirements again, so their issues are never carried over.
    let is_requirement_issue =
        |old: &OpenIssue| old.reviewers.iter().all(|name| name == requirements::REVIEWER);
    let needs_carry_over =
        |old: &&OpenIssue| !reviewed.contains(&old.location.file) && !is_requirement_issue(old);
    for old in previous.issues.iter().filter(needs_carry_over) {
        match locator.locate_issue(old) {
            Some(finding) => {
                let members = members(old, finding);
                let first = members.first().map(|member| &member.finding);
                let validated = first.and_then(|finding| earlier_validation(old, finding));
                collected.checked.extend(validated);
                collected.carried_findings.extend(first.cloned());
                collected.members.extend(members);
                carried.push(issue_label(old));
            }
            // This review has a finding with the same title in the same file. It replaces the old
            // issue, which therefore is not listed as dropped.
            None if is_reported_again(old, &collected.members) => {}
            None => {
                collected.dropped.push(dropped_issue(old, &previous.head));
                dropped.push(issue_label(old));
            }
        }
    }
    collected.members.sort();
    collected.carried_findings.sort();
    let head = short_commit(&previous.head);
    let note = |action: &str, issues: Vec<String>| {
        (!issues.is_empty())
            .then(|| format!("{action} from the review of `{head}`: {}", issues.join(", ")))
    };
    collected.notes.extend(note("carried over", carried));
    collected.notes.extend(note("no longer there", dropped));
    collected
}

fn issue_label(old: &OpenIssue) -> String {
    format!("{} ({})", old.title, old.location)
}

fn is_reported_again(old: &OpenIssue, members: &[Member]) -> bool {
    let title = normalise_title(&old.title);
    members.iter().any(|member| {
        member.finding.file == old.location.file && normalise_title(&member.finding.title) == title
    })
}

fn dropped_issue(old: &OpenIssue, head: &str) -> DroppedFinding {
    DroppedFinding {
        fate: Fate::Unsupported,
        reason: format!(
            "reported by the review of {}; the quoted code no longer exists",
            short_commit(head)
        ),
        cause: None,
        into: None,
        open: None,
        validation: None,
        reviewer: reviewer_names(old).swap_remove(0),
        member: Some(Member::new(
            reviewer_names(old).swap_remove(0),
            to_finding(old, 0, Vec::new()),
        )),
        raw: None,
    }
}

/// One finding per reviewer. The stored confidence of an issue with several reviewers includes the
/// bonus for agreement. Merging adds that bonus again, so this function subtracts it.
fn members(old: &OpenIssue, mut finding: Finding) -> Vec<Member> {
    let names = reviewer_names(old);
    if names.len() > 1 {
        finding.confidence = finding.confidence.lowered(AGREEMENT_BONUS);
    }
    let member = |name: String| {
        let origin = if is_static(&name) { Origin::Code } else { Origin::Model };
        let rule = old.rule.clone().filter(|_| origin == Origin::Code);
        Member { origin, rule, ..Member::new(name, finding.clone()) }
    };
    names.into_iter().map(member).collect()
}

/// Valid reviewer names, deduplicated. Never empty.
fn reviewer_names(old: &OpenIssue) -> Vec<String> {
    let is_valid_name = |name: &&String| {
        let is_name_char =
            |char: char| char.is_ascii_alphanumeric() || matches!(char, '-' | '_' | '.');
        (1..=NAME_MAX).contains(&name.len()) && name.chars().all(is_name_char)
    };
    let mut names: Vec<String> = old.reviewers.iter().filter(is_valid_name).cloned().collect();
    names.sort();
    names.dedup();
    if names.is_empty() {
        names.push(UNKNOWN_REVIEWER.to_owned());
    }
    names
}

/// The validation result of the earlier review. None if no model validated the issue there. Also
/// None for an unsure result on a P2 or P3: that result already lowered the stored confidence, and
/// applying it again would lower the confidence twice.
fn earlier_validation(old: &OpenIssue, finding: &Finding) -> Option<CheckedFinding> {
    let result = match old.validation {
        Validation::Confirmed => JudgementResult::Confirmed,
        Validation::Unsure if old.severity <= Severity::P1 => JudgementResult::Unsure,
        Validation::Unsure
        | Validation::NoVerdict
        | Validation::NotRun
        | Validation::ByCode
        | Validation::Degraded => {
            return None;
        }
    };
    let reason = "by the review that raised it".to_owned();
    Some(CheckedFinding { finding: finding.clone(), judgement: Judgement::new(result, reason) })
}

/// Converts an issue back into a finding, shifted by `line_offset` lines.
fn to_finding(old: &OpenIssue, line_offset: i64, evidence: Vec<Evidence>) -> Finding {
    let shifted_line = |line: u32| {
        let line = (i64::from(line) + line_offset).clamp(1, i64::from(u32::MAX));
        u32::try_from(line).ok().and_then(NonZeroU32::new)
    };
    let why = old.why.trim();
    Finding {
        title: old.title.clone(),
        severity: old.severity,
        category: old.category,
        file: old.location.file.clone(),
        line_start: shifted_line(old.location.line_start),
        line_end: shifted_line(old.location.line_end),
        side: Some(old.location.side),
        diff_line: None,
        confidence: old.confidence,
        evidence,
        why_it_matters: if why.is_empty() { MISSING_REASON } else { why }.to_owned(),
        suggested_fix: None,
        replacement: None,
        autofix_class: old.autofix_class,
        owner: old.owner,
        requires_verification: old.requires_verification,
        pre_existing: false,
    }
}

/// Lines of a file with their numbers.
type NumberedLines = Vec<(u32, String)>;

/// Finds stored quotes in the current code. Reads each file once.
struct QuoteLocator<'a> {
    incremental: &'a IncrementalReview,
    change: &'a ChangeUnderReview,
    code: CodeReader<'a>,
    cache: BTreeMap<(Side, String), NumberedLines>,
}

impl QuoteLocator<'_> {
    /// The issue as a finding, if its first quote still exists. An issue without quotes must be in
    /// an unchanged file.
    fn locate_issue(&mut self, old: &OpenIssue) -> Option<Finding> {
        let Some((first_quote, other_quotes)) = old.evidence.split_first() else {
            let file_is_unchanged = self.incremental.unchanged_files.contains(&old.location.file);
            return file_is_unchanged.then(|| to_finding(old, 0, Vec::new()));
        };
        let (line, first_evidence) = self.locate_quote(first_quote)?;
        let mut evidence = vec![first_evidence];
        evidence.extend(other_quotes.iter().filter_map(|quote| Some(self.locate_quote(quote)?.1)));
        Some(to_finding(old, i64::from(line) - i64::from(first_quote.line), evidence))
    }

    /// The line of a quote in the current code, with the complete lines there as evidence. If the
    /// quote occurs several times, the occurrence nearest to its old line counts.
    fn locate_quote(&mut self, quote: &Quote) -> Option<(u32, Evidence)> {
        let file_is_unchanged = self.incremental.unchanged_files.contains(&quote.file);
        let lines = self.lines(quote.side, &quote.file);
        let quoted_lines: Vec<String> = quote.snippet.lines().map(fold_whitespace).collect();
        let index = if file_is_unchanged {
            // The line number is still right. The text is not compared, since secrets in the stored
            // quote may be masked.
            lines.iter().position(|(number, _)| *number == quote.line)?
        } else {
            let matches_at = |index: &usize| {
                let found_lines = lines[*index..].iter().map(|(_, text)| fold_whitespace(text));
                index + quoted_lines.len() <= lines.len()
                    && quoted_lines
                        .iter()
                        .zip(found_lines)
                        .all(|(quoted_line, found_line)| found_line.contains(quoted_line))
            };
            let distance = |index: &usize| lines[*index].0.abs_diff(quote.line);
            (0..lines.len()).filter(matches_at).min_by_key(distance)?
        };
        let line = lines[index].0;
        let snippet = snippet_of(&lines[index..], quoted_lines.len())
            .unwrap_or_else(|| quote.snippet.clone());
        let evidence = Evidence {
            file: Some(quote.file.clone()),
            line: NonZeroU32::new(line),
            side: Some(quote.side),
            snippet,
        };
        Some((line, evidence))
    }

    /// New side: all lines of the file. Old side: the lines that the change removes.
    fn lines(&mut self, side: Side, path: &str) -> &NumberedLines {
        let (code, change) = (&self.code, self.change);
        self.cache.entry((side, path.to_owned())).or_insert_with(|| match side {
            Side::New => {
                let text = code.text(Side::New, path).unwrap_or_default();
                (1..).zip(text.lines().map(str::to_owned)).collect()
            }
            Side::Old => removed_lines(change, path),
        })
    }
}

fn removed_lines(change: &ChangeUnderReview, path: &str) -> NumberedLines {
    let files = change.diff.files().iter().filter(|file| file.path.shown() == path);
    let lines = files.flat_map(|file| &file.hunks).flat_map(|hunk| change.diff.lines(hunk));
    let removed = lines.filter(|line| line.kind == LineKind::Removed);
    removed.map(|line| (line.old, String::from_utf8_lossy(line.text()).into_owned())).collect()
}

/// The first `count` lines. A single line with fewer than [`VISIBLE_MIN`] visible characters gets
/// the next line too. None if the text is longer than [`SNIPPET_MAX`].
fn snippet_of(lines: &[(u32, String)], count: usize) -> Option<String> {
    let text = |count: usize| {
        let lines: Vec<&str> = lines.iter().take(count).map(|(_, text)| text.as_str()).collect();
        lines.join("\n")
    };
    let visible_chars = |text: &str| text.chars().filter(|char| !char.is_whitespace()).count();
    let count = count.max(1);
    let snippet = match text(count) {
        line if count == 1 && visible_chars(&line) < VISIBLE_MIN => text(2),
        lines => lines,
    };
    (snippet.len() <= SNIPPET_MAX).then_some(snippet)
}

fn fold_whitespace(line: &str) -> String {
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}
