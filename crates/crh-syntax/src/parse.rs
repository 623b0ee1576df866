//! From text to a tree within bounds: size, work, and what a grammar's own scanner cannot survive.
//!
//! Invariant: the same text always gives the same answer; `work.rs` says why.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tree_sitter::{Node, ParseOptions, ParseState, Parser, Tree};

use crate::work::{ERROR_WEIGHT_MAX, Work};
use crate::{Language, hazard};

/// The largest text that is parsed, in bytes. Hand-written files end well below it. A tree takes up to 400
/// bytes for a byte of text when every byte is a token, so this also bounds memory, to less than half a
/// gigabyte; text made to hurt that gets past `hazard.rs` has been seen to take twice that.
pub const TEXT_MAX: usize = 1024 * 1024;

/// The parser is fed in pieces of this many bytes, so that scanning far ahead shows up as reads.
const PIECE: usize = 4096;

/// How long a parse without errors may take: a release build needs a tenth of it.
const QUICK: Duration = Duration::from_millis(20);
const QUICK_PER_KILOBYTE: Duration = Duration::from_millis(2);

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

/// What the errors of some texts may cost together. Only they make a parse dear: a text without any costs what its size
/// says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Allowance(u64);

impl Default for Allowance {
    /// What one text may cost.
    fn default() -> Self {
        Self(ERROR_WEIGHT_MAX)
    }
}

/// A text with its tree: parsed once, asked for whatever is of interest.
#[derive(Debug)]
pub struct Parsed<'t> {
    language: Language,
    text: &'t str,
    tree: Tree,
}

impl<'t> Parsed<'t> {
    /// Parses a text.
    pub fn new(language: Language, text: &'t str) -> Result<Self, NotParsed> {
        Self::within(language, text, &mut Allowance::default())
    }

    /// Parses one of several texts that together may cost only so much.
    pub fn within(
        language: Language,
        text: &'t str,
        allowance: &mut Allowance,
    ) -> Result<Self, NotParsed> {
        Ok(Self { language, text, tree: tree(language, text, allowance)? })
    }

    /// The language it was parsed as.
    pub fn language(&self) -> Language {
        self.language
    }

    /// The text.
    pub fn text(&self) -> &'t str {
        self.text
    }

    /// The tree, for engines that work on trees. Its last nodes can end one byte behind the text.
    pub fn tree(&self) -> &Tree {
        &self.tree
    }
}

/// Why a text is not even given to the parser, which one look over it tells; none if it is.
pub fn refusal(language: Language, text: &str) -> Option<NotParsed> {
    if text.len() > TEXT_MAX {
        return Some(NotParsed::TooLarge { bytes: text.len() });
    }
    hazard::check(language, text).err().map(NotParsed::Hazard)
}

/// The tree of a text. Its last nodes can end one byte behind the text; see [`hazard::end`].
fn tree(language: Language, text: &str, allowance: &mut Allowance) -> Result<Tree, NotParsed> {
    if let Some(refusal) = refusal(language, text) {
        return Err(refusal);
    }
    let mut parser = Parser::new();
    parser.set_language(&language.grammar()).map_err(|_| NotParsed::Grammar)?;
    // Only errors make a parse dear beyond its steps and reads, and only the log tells how many there are. Most texts
    // have none, so that the log is written only if they do.
    let quick = attempt(&mut parser, language, text, Errors::End(Instant::now()), allowance);
    if let Some(tree) = quick {
        return Ok(tree);
    }
    parser.reset();
    let counted = attempt(&mut parser, language, text, Errors::AreCounted, allowance);
    counted.ok_or(NotParsed::TooMuchWork)
}

/// What errors in a text do to an attempt to parse it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Errors {
    /// It is given up as soon as they show, or if it takes longer than a text without errors does, from a moment on. It then
    /// begins anew and counts: how fast a machine is decides how long an answer takes, never what it is.
    End(Instant),
    AreCounted,
}

/// A tree within what a text may cost.
fn attempt(
    parser: &mut Parser,
    language: Language,
    text: &str,
    errors: Errors,
    allowance: &mut Allowance,
) -> Option<Tree> {
    let work = Arc::new(Work::allowed_for(text.len(), allowance.0));
    if errors == Errors::AreCounted {
        let log = Arc::clone(&work);
        parser.set_logger(Some(Box::new(move |_, message| log.note(message))));
    }
    let mut read = |offset: usize, _| {
        work.read(offset);
        let rest = text.as_bytes().get(offset..).unwrap_or_default();
        if offset == text.len() {
            return hazard::end(language, text);
        }
        &rest[..rest.len().min(PIECE)]
    };
    let mut step = |state: &ParseState| match errors {
        Errors::End(began) if state.has_error() || is_slow(began, text) => ControlFlow::Break(()),
        Errors::End(_) | Errors::AreCounted => work.step(),
    };
    let options = ParseOptions::new().progress_callback(&mut step);
    let tree = parser.parse_with_options(&mut read, None, Some(options));
    allowance.0 = allowance.0.saturating_sub(work.error_weight());
    // It may have been finished between two steps, at a price that nobody should get used to. Errors may have come and gone
    // between two steps, too: without the log they were not counted.
    let is_whole = |tree: &Tree| errors == Errors::AreCounted || !tree.root_node().has_error();
    tree.filter(|tree| !work.is_spent() && is_whole(tree))
}

/// Whether an attempt takes longer than a text of this size does without errors, even on a machine that is busy.
fn is_slow(began: Instant, text: &str) -> bool {
    began.elapsed()
        > QUICK + QUICK_PER_KILOBYTE * u32::try_from(text.len() / 1024).unwrap_or(u32::MAX)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_share_an_allowance_share_its_bound() {
        let mut allowance = Allowance(50);
        let text = format!("{}x = = 1\n", "x = 1\n".repeat(2_000));
        let mut parsed = 0;
        while Parsed::within(Language::Python, &text, &mut allowance).is_ok() {
            parsed += 1;
            assert!(parsed < 50, "{allowance:?}");
        }
        assert!(parsed > 0, "{allowance:?}");
        assert_eq!(allowance, Allowance(0));
        // What has no error costs nothing.
        assert!(Parsed::within(Language::Python, "x = 1\n", &mut allowance).is_ok());
        assert!(Parsed::new(Language::Python, &text).is_ok());
    }
}
