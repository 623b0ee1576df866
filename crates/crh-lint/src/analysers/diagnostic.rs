//! Diagnostics of analysers and their conversion into findings.

use std::collections::BTreeSet;

use crate::findings::FindingDraft;
use crate::whitespace::fold_whitespace;
use crh_review::finding::{Category, Confidence, Severity};

const TITLE_CHARS: usize = 100;
const MESSAGE_CHARS: usize = 600;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Diagnostic {
    /// The path as the analyser prints it, until `analyse_side` makes it a repository path.
    pub(super) path: String,
    pub(super) line: u32,
    /// The analyser's own rule name.
    pub(super) rule: String,
    pub(super) message: String,
    pub(super) severity: Severity,
    pub(super) category: Category,
    pub(super) confidence: Confidence,
    /// The consequence of the problem. May be empty.
    pub(super) why: String,
}

/// Diagnostics in the output of an analyser.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct AnalyserReport {
    pub(super) diagnostics: Vec<Diagnostic>,
    /// Paths, as printed, of files that the analyser could not parse and therefore did not check.
    pub(super) unparsed_files: Vec<String>,
}

/// Diagnostics of one side of the change.
#[derive(Debug, Default)]
pub(super) struct SideDiagnostics {
    pub(super) diagnostics: Vec<Diagnostic>,
    /// Files that could not be given to the analyser, each with the reason.
    pub(super) unread_files: Vec<(String, String)>,
    /// Files that the analyser could not parse.
    pub(super) unparsed_files: BTreeSet<String>,
    /// Files that made the analyser fail, each with the reason.
    pub(super) failed_files: Vec<(String, String)>,
    /// Why the scratch folder could not be removed, as a sentence.
    pub(super) cleanup_error: Option<String>,
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
        let rule = format!("{analyser}/{}", self.rule);
        let rating = (self.severity, self.category, self.confidence);
        FindingDraft::with_rating(rule, rating, &self.path, self.line, line)
            .with_text(title, why, "")
    }
}

fn truncate(text: &str, max_chars: usize) -> String {
    match text.char_indices().nth(max_chars - 1) {
        Some((end, last)) if end + last.len_utf8() < text.len() => format!("{}…", &text[..end]),
        Some(_) | None => text.to_owned(),
    }
}
