//! What an analyser said about a line, in the words of a finding.

use crate::fold::folded;
use crate::found::Found;
use crate::{Change, secrets};
use crh_review::finding::{Category, Confidence, Owner, Severity};

/// What a title has at the most.
const TITLE_CHARS: usize = 100;
/// What is told of a long message.
const MESSAGE_CHARS: usize = 600;

/// What stands for a credential.
const MASKED: &str = "****";

/// The credentials that a change adds, so that no text goes on with one in it.
#[derive(Debug, Default)]
pub(super) struct Mask(Vec<String>);

impl Mask {
    pub(super) fn of(change: &Change<'_>) -> Self {
        let mut values = secrets::values(change.all);
        // One may be a part of another.
        values.sort_by_key(|value| std::cmp::Reverse(value.len()));
        Self(values)
    }

    pub(super) fn text(&self, text: &str) -> String {
        let mask = |text: String, value: &String| match text.contains(value) {
            true => text.replace(value, MASKED),
            false => text,
        };
        self.0.iter().fold(text.to_owned(), mask)
    }
}

/// What an analyser said about a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Said {
    /// The file, as it was printed.
    pub(super) path: String,
    pub(super) line: u32,
    /// The rule, as the analyser names it.
    pub(super) rule: String,
    pub(super) message: String,
    pub(super) severity: Severity,
    pub(super) category: Category,
    pub(super) confidence: Confidence,
    /// What comes of it; empty if the message says it.
    pub(super) why: String,
}

impl Said {
    /// As a finding, with the text of its line.
    pub(super) fn found(self, analyser: &str, line: &str) -> Found {
        let message = folded(&self.message);
        let title = cut(message.trim_end_matches('.'), TITLE_CHARS);
        let told = cut(&message, MESSAGE_CHARS);
        let told = if told.ends_with(['.', '…', '!', '?']) { told } else { format!("{told}.") };
        let why = match self.why.is_empty() {
            true => format!("{told} ({analyser} {})", self.rule),
            false => format!("{} {analyser} says: {told} ({})", self.why, self.rule),
        };
        Found {
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

fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most - 1) {
        Some((end, last)) if end + last.len_utf8() < text.len() => format!("{}…", &text[..end]),
        Some(_) | None => text.to_owned(),
    }
}
