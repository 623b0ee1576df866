//! Parses text within limits on size, work, and what grammars can survive.
//!
//! Invariant: the same text always gives the same result; see `work_budget.rs`.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tree_sitter::{Node, ParseOptions, ParseState, Parser, Tree};

use crate::work_budget::{ERROR_WEIGHT_MAX, WorkBudget};
use crate::{Language, hazard};

/// Maximum text size in bytes. A tree takes up to 400 bytes per byte of text, so the limit keeps
/// memory below half a gigabyte. Hostile text that passes the checks of `hazard.rs` may take twice
/// as much.
pub const TEXT_MAX: usize = 1024 * 1024;

/// Bytes handed to the parser per read. With small pieces, a scanner that looks far ahead needs
/// many reads, and the work budget counts them.
const READ_BYTES: usize = 4096;

/// Time limit of the fast path, which parses without counting errors: a base, and an amount per
/// kilobyte of text. A release build needs a tenth of both.
const FAST_PATH_BASE: Duration = Duration::from_millis(20);
const FAST_PATH_PER_KILOBYTE: Duration = Duration::from_millis(2);

/// Why a text could not be parsed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    /// The text exceeds [`TEXT_MAX`].
    #[error("the text has {bytes} bytes, more than the {TEXT_MAX} that are parsed")]
    TooLarge {
        /// Size in bytes.
        bytes: usize,
    },
    /// The text exceeds the work budget for its size.
    #[error("parsing was stopped: the text costs too much work")]
    TooMuchWork,
    /// The text would make the grammar's C code kill the process or exhaust memory.
    #[error("the text was not parsed: {0}")]
    Hazard(Hazard),
    /// The grammar is incompatible with the parser. A test checks that this never happens.
    #[error("the grammar cannot be loaded")]
    Grammar,
}

/// Why a text would kill the process or exhaust memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Hazard {
    /// Python: too many different indentations.
    #[error("it has too many different indentations")]
    Indentations,
    /// Ruby: a heredoc word, or the open literals, are too long.
    #[error("its heredocs are too long or too deeply nested")]
    Heredocs,
    /// All languages except Python and Ruby: too many unclosed `<`.
    #[error("it has too many `<` in a row without a `>`")]
    Angles,
    /// All languages: brackets nested too deeply.
    #[error("its brackets are nested too deeply")]
    Nesting,
}

/// Error budget shared by several texts. Only syntax errors make parsing expensive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ErrorAllowance(u64);

impl Default for ErrorAllowance {
    /// The budget of one text.
    fn default() -> Self {
        Self(ERROR_WEIGHT_MAX)
    }
}

/// A parsed text.
#[derive(Debug)]
pub struct SyntaxTree<'t> {
    language: Language,
    text: &'t str,
    tree: Tree,
}

impl<'t> SyntaxTree<'t> {
    /// Parses a text.
    pub fn new(language: Language, text: &'t str) -> Result<Self, ParseError> {
        Self::with_allowance(language, text, &mut ErrorAllowance::default())
    }

    /// Parses one of several texts that share an error budget.
    pub fn with_allowance(
        language: Language,
        text: &'t str,
        allowance: &mut ErrorAllowance,
    ) -> Result<Self, ParseError> {
        Ok(Self { language, text, tree: parse_tree(language, text, allowance)? })
    }

    /// Language of the text.
    pub fn language(&self) -> Language {
        self.language
    }

    /// The text.
    pub fn text(&self) -> &'t str {
        self.text
    }

    /// The tree-sitter tree. Its last nodes can end one byte after the text.
    pub fn tree(&self) -> &Tree {
        &self.tree
    }
}

/// Why a text is rejected before parsing, if it is.
pub fn refusal(language: Language, text: &str) -> Option<ParseError> {
    if text.len() > TEXT_MAX {
        return Some(ParseError::TooLarge { bytes: text.len() });
    }
    hazard::check(language, text).err().map(ParseError::Hazard)
}

/// Parses a text. The last nodes can end one byte after the text; see [`hazard::padding`].
fn parse_tree(
    language: Language,
    text: &str,
    allowance: &mut ErrorAllowance,
) -> Result<Tree, ParseError> {
    if let Some(refusal) = refusal(language, text) {
        return Err(refusal);
    }
    let text = &*hazard::parser_text(language, text);
    let mut parser = Parser::new();
    parser.set_language(&language.grammar()).map_err(|_| ParseError::Grammar)?;
    // Only errors make parsing expensive, and only the parser's log reveals their number. Most
    // texts have no errors, so first try without the slow log.
    let fast_tree = parse_within_limits(
        &mut parser,
        language,
        text,
        ErrorHandling::Abort(Instant::now()),
        allowance,
    );
    if let Some(tree) = fast_tree {
        return Ok(tree);
    }
    parser.reset();
    let tree = parse_within_limits(&mut parser, language, text, ErrorHandling::Count, allowance);
    tree.ok_or(ParseError::TooMuchWork)
}

/// What to do about syntax errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ErrorHandling {
    /// Abort at the first error, or if parsing takes longer than an error-free text needs, measured
    /// from this start time. The caller then parses again with `Count`, so the speed of the machine
    /// never affects the result.
    Abort(Instant),
    Count,
}

/// Parses within the limits.
fn parse_within_limits(
    parser: &mut Parser,
    language: Language,
    text: &str,
    errors: ErrorHandling,
    allowance: &mut ErrorAllowance,
) -> Option<Tree> {
    let budget = Arc::new(WorkBudget::for_text(text.len(), allowance.0));
    if errors == ErrorHandling::Count {
        let log_budget = Arc::clone(&budget);
        parser.set_logger(Some(Box::new(move |_, message| log_budget.count_log_line(message))));
    }
    let mut read = |offset: usize, _| {
        budget.count_read(offset);
        let rest = text.as_bytes().get(offset..).unwrap_or_default();
        if offset == text.len() {
            return hazard::padding(language, text);
        }
        &rest[..rest.len().min(READ_BYTES)]
    };
    let mut step = |state: &ParseState| match errors {
        ErrorHandling::Abort(start) if state.has_error() || is_slow(start, text) => {
            ControlFlow::Break(())
        }
        ErrorHandling::Abort(_) | ErrorHandling::Count => budget.count_steps(),
    };
    let options = ParseOptions::new().progress_callback(&mut step);
    let tree = parser.parse_with_options(&mut read, None, Some(options));
    allowance.0 = allowance.0.saturating_sub(budget.error_weight());
    // The parser may have finished between two checks although the budget was exceeded. Without the
    // log, errors were not counted, so a tree with errors is discarded.
    let is_reliable = |tree: &Tree| errors == ErrorHandling::Count || !tree.root_node().has_error();
    tree.filter(|tree| !budget.is_exceeded() && is_reliable(tree))
}

/// Whether parsing takes longer than for an error-free text on a busy machine.
fn is_slow(start: Instant, text: &str) -> bool {
    start.elapsed()
        > FAST_PATH_BASE
            + FAST_PATH_PER_KILOBYTE * u32::try_from(text.len() / 1024).unwrap_or(u32::MAX)
}

/// Converts a zero-based row to a line number.
pub(crate) fn one_based(zero_based: usize) -> u32 {
    u32::try_from(zero_based).unwrap_or(u32::MAX).saturating_add(1)
}

pub(crate) fn source<'t>(node: &Node<'_>, text: &'t str) -> &'t str {
    let end = node.end_byte().min(text.len());
    text.get(node.start_byte()..end).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_error_allowance_limits_all_texts() {
        let mut allowance = ErrorAllowance(50);
        let text = format!("{}x = = 1\n", "x = 1\n".repeat(2_000));
        let mut parsed_count = 0;
        while SyntaxTree::with_allowance(Language::Python, &text, &mut allowance).is_ok() {
            parsed_count += 1;
            assert!(parsed_count < 50, "{allowance:?}");
        }
        assert!(parsed_count > 0, "{allowance:?}");
        assert_eq!(allowance, ErrorAllowance(0));
        // A text without errors costs nothing.
        assert!(SyntaxTree::with_allowance(Language::Python, "x = 1\n", &mut allowance).is_ok());
        assert!(SyntaxTree::new(Language::Python, &text).is_ok());
    }
}
