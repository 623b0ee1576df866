//! One text of a file, with its tree once somebody has asked for it.

use std::cell::OnceCell;

use crh_syntax::{Language, NotParsed, Parsed};

/// One text of a file.
#[derive(Debug)]
pub(crate) struct Source<'t> {
    pub(crate) path: &'t str,
    pub(crate) text: &'t str,
    parsed: OnceCell<Option<Result<Parsed<'t>, NotParsed>>>,
    lines: OnceCell<Vec<&'t str>>,
}

impl<'t> Source<'t> {
    pub(crate) fn new(path: &'t str, text: &'t str) -> Self {
        Self { path, text, parsed: OnceCell::new(), lines: OnceCell::new() }
    }

    /// The text with its tree; none if its language has no grammar, an error if it was not parsed.
    pub(crate) fn parsed(&self) -> Option<Result<&Parsed<'t>, NotParsed>> {
        let parsed = self.parsed.get_or_init(|| {
            Language::of_path(self.path).map(|language| Parsed::new(language, self.text))
        });
        parsed.as_ref().map(|parsed| parsed.as_ref().map_err(|why| *why))
    }

    /// Whether one of these words stands somewhere in the text, be it in a comment: a cheap question before the tree is asked.
    pub(crate) fn has_one_of(&self, words: &[&str]) -> bool {
        let text = self.text.as_bytes();
        words.iter().any(|word| memchr::memmem::find(text, word.as_bytes()).is_some())
    }

    /// A line, counted from 1, without its line end; empty if there is none.
    pub(crate) fn line(&self, number: u32) -> &'t str {
        let at = usize::try_from(number).unwrap_or(usize::MAX).wrapping_sub(1);
        self.lines().get(at).copied().unwrap_or_default()
    }

    /// All lines, without their line ends.
    pub(crate) fn lines(&self) -> &[&'t str] {
        self.lines.get_or_init(|| self.text.lines().collect())
    }
}

/// Git looks for a zero byte in so many of the first ones to tell whether a file is a text.
const BINARY_BYTES: usize = 8_000;

/// The text of a file. What is not UTF-8 is replaced, as it is wherever the diff is shown; with a zero byte where git looks for
/// one, it is no text, and has no lines in the diff.
pub(crate) fn text(bytes: Vec<u8>) -> Option<String> {
    if memchr::memchr(0, &bytes[..bytes.len().min(BINARY_BYTES)]).is_some() {
        return String::from_utf8(bytes).ok();
    }
    Some(String::from_utf8_lossy(&bytes).into_owned())
}
