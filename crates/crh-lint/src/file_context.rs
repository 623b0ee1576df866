//! One file of the change with both texts, each parsed at most once for all reviewers.

use std::collections::HashMap;

use crate::findings::FindingDraft;
use crate::source::SourceText;
use crate::whitespace::fold_whitespace;
use crate::{ChangeView, ChangedFile};
use crh_syntax::Language;

/// A changed file with its texts. Invalid UTF-8 is replaced, as in the diff.
pub(crate) struct FileContext<'a> {
    pub(crate) change: &'a ChangeView<'a>,
    pub(crate) file: &'a ChangedFile,
    /// The text before the change.
    pub(crate) old: Option<SourceText<'a>>,
    /// The text after the change.
    pub(crate) new: Option<SourceText<'a>>,
    /// The new text with only the statements that the change touches, if crh can tell statements
    /// apart. If a check finds nothing in this text and needs no other context, the change
    /// introduces no finding.
    pub(crate) touched_text: Option<SourceText<'a>>,
}

/// Findings and notes of a reviewer for one file.
#[derive(Debug, Default)]
pub(crate) struct FileFindings {
    pub(crate) findings: Vec<FindingDraft>,
    /// Notes for the report: what was left out, and why.
    pub(crate) notes: Vec<String>,
    /// Why the reviewer did not check all of the file. None if it did.
    pub(crate) abort_reason: Option<String>,
}

/// A reviewer that checks one file at a time.
pub(crate) trait FileReviewer: Sync {
    fn name(&self) -> &'static str;

    /// Whether the reviewer checks such a file. `language` is `None` if crh has no grammar for it.
    fn handles(&self, file: &ChangedFile, language: Option<Language>) -> bool;

    fn review(&self, ctx: &FileContext<'_>) -> FileFindings;
}

impl FileContext<'_> {
    /// Findings in the new text that are neither in the old text nor on a moved line. If the old
    /// text has a finding of the same rule on a line with the same text (ignoring white space), one
    /// such finding in the new text is not new. Empty without a new text.
    pub(crate) fn new_findings(
        &self,
        find: impl Fn(&SourceText<'_>) -> Vec<FindingDraft>,
    ) -> Vec<FindingDraft> {
        let Some(new) = &self.new else { return Vec::new() };
        let findings = find(new);
        if findings.is_empty() {
            return findings;
        }
        let mut old_counts: HashMap<(String, String), usize> = HashMap::new();
        if let Some(old) = &self.old {
            for finding in find(old) {
                *old_counts
                    .entry((finding.rule, fold_whitespace(old.line(finding.line))))
                    .or_default() += 1;
            }
        }
        let mut was_in_old_text = |finding: &FindingDraft| {
            let count = old_counts
                .get_mut(&(finding.rule.clone(), fold_whitespace(new.line(finding.line))));
            count.filter(|count| **count > 0).map(|count| *count -= 1).is_some()
        };
        // Match unchanged lines before added ones.
        let match_flags: Vec<bool> =
            findings.iter().map(|it| !self.file.adds(it.line) && was_in_old_text(it)).collect();
        let mut introduced = Vec::new();
        for (finding, was_matched) in findings.into_iter().zip(match_flags) {
            if !was_matched
                && !was_in_old_text(&finding)
                && !self.change.is_moved_line(new.path, finding.line)
            {
                introduced.push(finding);
            }
        }
        introduced
    }
}
