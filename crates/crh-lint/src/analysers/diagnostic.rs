//! A diagnostic of an analyser and its conversion into a finding.

use crate::findings::FindingDraft;
use crate::whitespace::fold_whitespace;
use crate::{ChangeView, secrets};
use crh_review::finding::{Category, Confidence, Owner, Severity};

const TITLE_CHARS: usize = 100;
const MESSAGE_CHARS: usize = 600;

/// Replacement for a masked credential.
const MASK_TEXT: &str = "****";

/// Masks the credentials that a change adds.
#[derive(Debug, Default)]
pub(super) struct SecretMask(Vec<String>);

impl SecretMask {
    pub(super) fn for_change(change: &ChangeView<'_>) -> Self {
        let mut values = secrets::values(change.all_files);
        // One value may be part of another: replace the longest first.
        values.sort_by_key(|value| std::cmp::Reverse(value.len()));
        Self(values)
    }

    pub(super) fn apply(&self, text: &str) -> String {
        let mask = |text: String, value: &String| match text.contains(value) {
            true => text.replace(value, MASK_TEXT),
            false => text,
        };
        self.0.iter().fold(text.to_owned(), mask)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Diagnostic {
    /// The path as printed.
    pub(super) path: String,
    pub(super) line: u32,
    /// The analyser's own rule name.
    pub(super) rule: String,
    pub(super) message: String,
    pub(super) severity: Severity,
    pub(super) category: Category,
    pub(super) confidence: Confidence,
    /// The consequence; empty if the message states it.
    pub(super) why: String,
}

impl Diagnostic {
    /// `line` is the text of the diagnostic's line.
    pub(super) fn into_draft(self, analyser: &str, line: &str) -> FindingDraft {
        let message = fold_whitespace(&self.message);
        let title = truncate(message.trim_end_matches('.'), TITLE_CHARS);
        let text = truncate(&message, MESSAGE_CHARS);
        let text = if text.ends_with(['.', '…', '!', '?']) { text } else { format!("{text}.") };
        let why = match self.why.is_empty() {
            true => format!("{text} ({analyser} {})", self.rule),
            false => format!("{} {analyser}: {text} ({})", self.why, self.rule),
        };
        FindingDraft {
            rule: format!("{analyser}/{}", self.rule),
            file: self.path,
            line: self.line,
            side: None,
            end: None,
            severity: self.severity,
            category: self.category,
            confidence: self.confidence,
            title,
            why,
            owner: Owner::DownstreamResolver,
            fix: String::new(),
            replacement: None,
            snippet: line.trim_end().to_owned(),
            witnesses: Vec::new(),
            pre_existing: false,
        }
    }
}

fn truncate(text: &str, max_chars: usize) -> String {
    match text.char_indices().nth(max_chars - 1) {
        Some((end, last)) if end + last.len_utf8() < text.len() => format!("{}…", &text[..end]),
        Some(_) | None => text.to_owned(),
    }
}
