//! What is wrong with a case, in words for whoever wrote it, before it is known where that is written.

use std::fmt::Display;

use crate::failure::Failure;
use crate::ui;

/// Longer pieces of a case are cut in messages: what matters is around them.
const SHOWN_MAX: usize = 120;

/// Something that is wrong with a case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Wrong {
    message: String,
    hint: Option<String>,
}

impl Wrong {
    /// What is wrong: the key, and what about it.
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), hint: None }
    }

    /// Adds what to do about it.
    pub(crate) fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    /// The failure to read what stands in `place`.
    pub(crate) fn at(self, place: impl Display) -> Failure {
        let failure = Failure::usage(format!("{place}: {}", self.message));
        match self.hint {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    }
}

/// A piece of a case inside a message: on one line, and not all of a long one.
pub(crate) fn shown(text: &str) -> String {
    let text = ui::on_one_line(text);
    match text.char_indices().nth(SHOWN_MAX) {
        Some((end, _)) => format!("{} …", &text[..end]),
        None => text,
    }
}

/// A list of words as it is written: `a`, `b`, `c`.
pub(crate) fn listed<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    let words = words.into_iter().map(|word| format!("`{word}`"));
    words.collect::<Vec<_>>().join(", ")
}

/// The word that is most like one that is not known; none if there is no word at all.
pub(crate) fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word: String = word.chars().take(SHOWN_MAX).collect();
    known.into_iter().min_by_key(|known| strsim::osa_distance(&word, known))
}

/// Whether a word may be meant by one that is not known: one slip in three letters is a slip, more is another word.
pub(crate) fn is_slip(word: &str, known: &str) -> bool {
    strsim::osa_distance(word, known) <= word.chars().count().div_ceil(3)
}
