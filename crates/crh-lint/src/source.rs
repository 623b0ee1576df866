//! One text of a file, parsed on first use.

use std::cell::OnceCell;

use crh_syntax::{Language, ParseError, SyntaxTree};

#[derive(Debug)]
pub(crate) struct SourceText<'t> {
    pub(crate) path: &'t str,
    pub(crate) text: &'t str,
    /// `None` if crh has no grammar for the language.
    pub(crate) language: Option<Language>,
    syntax_tree: OnceCell<Option<Result<SyntaxTree<'t>, ParseError>>>,
    lines: OnceCell<Vec<&'t str>>,
}

impl<'t> SourceText<'t> {
    pub(crate) fn new(path: &'t str, text: &'t str) -> Self {
        Self::with_language(path, text, Language::of_file(path, text.as_bytes()))
    }

    /// For a part of a file, which may lack the first line that tells the language.
    pub(crate) fn with_language(path: &'t str, text: &'t str, language: Option<Language>) -> Self {
        Self { path, text, language, syntax_tree: OnceCell::new(), lines: OnceCell::new() }
    }

    /// The parsed text; `None` if crh has no grammar for its language, an error if parsing was
    /// refused.
    pub(crate) fn syntax_tree(&self) -> Option<Result<&SyntaxTree<'t>, ParseError>> {
        let cached_tree = self
            .syntax_tree
            .get_or_init(|| self.language.map(|language| SyntaxTree::new(language, self.text)));
        cached_tree.as_ref().map(|tree| tree.as_ref().map_err(|why| *why))
    }

    /// Why the text was not parsed, if a check needed its tree.
    pub(crate) fn parse_failure(&self) -> Option<ParseError> {
        self.syntax_tree.get()?.as_ref()?.as_ref().err().copied()
    }

    /// Whether the text contains one of these words anywhere: a cheap check before parsing.
    pub(crate) fn has_one_of(&self, words: &[&str]) -> bool {
        let text = self.text.as_bytes();
        words.iter().any(|word| memchr::memmem::find(text, word.as_bytes()).is_some())
    }

    /// A line (1-based) without its line end, or an empty string.
    pub(crate) fn line(&self, number: u32) -> &'t str {
        let index = usize::try_from(number).unwrap_or(usize::MAX).wrapping_sub(1);
        self.lines().get(index).copied().unwrap_or_default()
    }

    /// All lines, without their line ends.
    pub(crate) fn lines(&self) -> &[&'t str] {
        self.lines.get_or_init(|| self.text.lines().collect())
    }
}

/// The line number of a zero-based row.
pub(crate) fn line_number(row: usize) -> u32 {
    u32::try_from(row).unwrap_or(u32::MAX).saturating_add(1)
}

/// A line of a text (1-based) without its line end, or an empty string.
pub(crate) fn line(text: &str, number: u32) -> &str {
    let index = usize::try_from(number).unwrap_or(usize::MAX).wrapping_sub(1);
    text.lines().nth(index).unwrap_or_default()
}

/// How many bytes git checks for a zero byte to recognize a binary file.
const BINARY_BYTES: usize = 8_000;

/// The text of a file with invalid UTF-8 replaced, as in the diff. `None` for a file that git
/// treats as binary, unless it is UTF-8.
pub(crate) fn text(bytes: Vec<u8>) -> Option<String> {
    if memchr::memchr(0, &bytes[..bytes.len().min(BINARY_BYTES)]).is_some() {
        return String::from_utf8(bytes).ok();
    }
    let text = String::from_utf8(bytes);
    Some(text.unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
}
