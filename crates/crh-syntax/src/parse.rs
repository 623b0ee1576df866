//! From text to a tree within bounds: size, work, and what a grammar's own scanner cannot survive.
//!
//! Invariant: the same text always gives the same answer; `work.rs` says why.

use std::sync::Arc;

use tree_sitter::Node;
use tree_sitter::ParseOptions;
use tree_sitter::ParseState;
use tree_sitter::Parser;
use tree_sitter::Tree;

use crate::Language;
use crate::hazard;
use crate::work::Work;

/// The largest text that is parsed, in bytes. Hand-written files end well below it. A tree takes up to 400
/// bytes for a byte of text when every byte is a token, so this also bounds memory, to less than half a
/// gigabyte; text made to hurt that gets past `hazard.rs` has been seen to take twice that.
pub const TEXT_MAX: usize = 1024 * 1024;

/// The parser is fed in pieces of this many bytes, so that scanning far ahead shows up as reads.
const PIECE: usize = 4096;

/// Why there is no tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotParsed {
    /// The text has more than [`TEXT_MAX`] bytes.
    #[error("the text has {bytes} bytes, more than the {TEXT_MAX} that are parsed")]
    TooLarge {
        /// Its size.
        bytes: usize,
    },
    /// The parser was stopped because the text costs far more work than text of its size does.
    #[error("parsing was stopped: the text costs too much work")]
    TooMuchWork,
    /// The text would make the grammar's C code stop the whole process or take all its memory, so it never saw
    /// it.
    #[error("the text was not parsed: {0}")]
    Hazard(Hazard),
    /// The grammar and the parser do not fit together. A test shows that this does not happen.
    #[error("the grammar cannot be loaded")]
    Grammar,
}

/// What in a text would make a grammar's C code stop the process or take all its memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Hazard {
    /// Python: more different indentations than the scanner can keep.
    #[error("it has too many different indentations")]
    Indentations,
    /// Ruby: a heredoc's word, or the literals open at once, longer than the scanner can keep.
    #[error("its heredocs are too long or too deeply nested")]
    Heredocs,
    /// Languages with `<` for type arguments: too many in a row that nothing closes.
    #[error("it has too many `<` in a row without a `>`")]
    Angles,
    /// Any language: brackets inside brackets, far deeper than code goes.
    #[error("its brackets are nested too deeply")]
    Nesting,
}

/// The tree of a text. Its last nodes can end one byte behind the text; see [`hazard::end`].
pub(crate) fn tree(language: Language, text: &str) -> Result<Tree, NotParsed> {
    if text.len() > TEXT_MAX {
        return Err(NotParsed::TooLarge { bytes: text.len() });
    }
    hazard::check(language, text).map_err(NotParsed::Hazard)?;
    let mut parser = Parser::new();
    parser.set_language(&language.grammar()).map_err(|_| NotParsed::Grammar)?;
    let work = Arc::new(Work::allowed_for(text.len()));
    let log = Arc::clone(&work);
    parser.set_logger(Some(Box::new(move |_, message| log.note(message))));
    let mut read = |offset: usize, _| {
        work.read(offset);
        let rest = text.as_bytes().get(offset..).unwrap_or_default();
        if offset == text.len() {
            return hazard::end(language, text);
        }
        &rest[..rest.len().min(PIECE)]
    };
    let mut step = |_: &ParseState| work.step();
    let options = ParseOptions::new().progress_callback(&mut step);
    let tree = parser.parse_with_options(&mut read, None, Some(options));
    // It may have been finished between two steps, at a price that nobody should get used to.
    tree.filter(|_| !work.is_spent()).ok_or(NotParsed::TooMuchWork)
}

/// A row of tree-sitter's as people count.
pub(crate) fn one_based(zero_based: usize) -> u32 {
    u32::try_from(zero_based).unwrap_or(u32::MAX).saturating_add(1)
}

/// A node's text.
pub(crate) fn source<'t>(node: &Node<'_>, text: &'t str) -> &'t str {
    let end = node.end_byte().min(text.len());
    text.get(node.start_byte()..end).unwrap_or_default()
}
