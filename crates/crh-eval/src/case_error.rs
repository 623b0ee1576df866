//! Errors in a case. The caller adds the location.

use std::fmt::Display;

use crh_pipeline::failure::Failure;

/// Longest quote of a case in a message, in characters. Longer ones are shortened.
const SHOWN_MAX: usize = 120;

/// An error in a case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CaseError {
    message: String,
    hint: Option<String>,
}

impl CaseError {
    /// `message` names the key and the problem.
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), hint: None }
    }

    pub(crate) fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    /// Adds the location and turns the error into a failure.
    pub(crate) fn at(self, place: impl Display) -> Failure {
        let failure = Failure::usage(format!("{place}: {}", self.message));
        match self.hint {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    }
}

/// Quotes a part of a case on one line, shortened.
pub(crate) fn shown(text: &str) -> String {
    let text = crh_review::one_line(text);
    match text.char_indices().nth(SHOWN_MAX) {
        Some((end, _)) => format!("{} …", &text[..end]),
        None => text,
    }
}

/// Formats a list: `a`, `b`, `c`.
pub(crate) fn listed<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    let words = words.into_iter().map(|word| format!("`{word}`"));
    words.collect::<Vec<_>>().join(", ")
}

/// The known word that is most similar to `word`.
pub(crate) fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word: String = word.chars().take(SHOWN_MAX).collect();
    known.into_iter().min_by_key(|known| strsim::osa_distance(&word, known))
}

/// Whether `word` is probably a typo of `known`: at most one edit per three letters, rounded up.
pub(crate) fn is_slip(word: &str, known: &str) -> bool {
    strsim::osa_distance(word, known) <= word.chars().count().div_ceil(3)
}
