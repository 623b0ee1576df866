//! Signatures of the other parts of a large change. They show the reviewer of one part which code
//! exists in the others.

use std::collections::BTreeSet;

use crate::assignment::DiffPart;
use crate::change_under_review::ChangeUnderReview;
use crate::code_reader::CodeReader;
use crate::context_pack::{own_name, touched_lines};
use crate::text::cut;
use crh_review::diff::FileDiff;
use crh_review::finding::Side;
use crh_syntax::SymbolKind;

/// Maximum characters of signatures: an eighth of the diff of a part.
const SIGNATURES_CHARS: usize = 15_000;
/// The signatures may take one character per this many tokens of the model's context. The context
/// pack has the same limit.
const SIGNATURES_DIVISOR: u64 = 4;
/// Maximum characters of a signature.
const LINE_CHARS: usize = 200;

/// A declaration outside of a part. Declarations are sorted by their fields.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Declaration {
    /// Whether the change does not touch it.
    is_unchanged: bool,
    /// Whether the part does not name it.
    is_unnamed: bool,
    /// Position among all declarations, in diff order.
    position: usize,
    /// Path and first line.
    text: String,
}

/// Functions and types of the changed files outside this part, one per line, as declared at head.
/// Declarations that the change touches come first, and among equals those that the part names.
pub(crate) fn signatures(
    change: &ChangeUnderReview,
    context_tokens: u64,
    own_parts: &[DiffPart],
) -> String {
    let max_chars = usize::try_from(context_tokens / SIGNATURES_DIVISOR);
    let max_chars = max_chars.unwrap_or(SIGNATURES_CHARS).min(SIGNATURES_CHARS);
    let code = CodeReader::new(change);
    let own_texts = own_parts.iter().filter_map(|part| code.text(Side::New, &part.path));
    let own_texts: Vec<String> = own_texts.collect();
    let words = own_texts.iter().flat_map(|text| {
        text.split(|char: char| !char.is_alphanumeric() && char != '_')
            .filter(|word| word.len() > 2)
    });
    let own_words: BTreeSet<&str> = words.collect();
    let mut declarations = Vec::new();
    for (scope, file) in change.files() {
        let path = scope.path.shown();
        if !own_parts.iter().any(|part| part.path == path) {
            add_declarations(change, &code, (&path, file), &own_words, &mut declarations);
        }
    }
    declarations.sort();
    let (mut text, mut left_out_count) = (String::new(), 0_usize);
    for declaration in declarations {
        if left_out_count == 0 && text.len() + declaration.text.len() <= max_chars {
            text.push_str(&declaration.text);
        } else {
            left_out_count += 1;
        }
    }
    if left_out_count > 0 {
        text.push_str(&format!("[{left_out_count} more]\n"));
    }
    text
}

/// Adds the functions and types of a file.
fn add_declarations(
    change: &ChangeUnderReview,
    code: &CodeReader<'_>,
    (path, file): (&str, &FileDiff),
    own_words: &BTreeSet<&str>,
    declarations: &mut Vec<Declaration>,
) {
    let Some(symbols) = code.symbols(Side::New, path) else { return };
    let Some(text) = code.text(Side::New, path) else { return };
    let lines: Vec<&str> = text.lines().collect();
    let touched_lines = touched_lines(&change.diff, file);
    for symbol in symbols.all() {
        match symbol.kind {
            SymbolKind::Function | SymbolKind::Method | SymbolKind::Type => {}
            SymbolKind::Module => continue,
        }
        let index = usize::try_from(symbol.start).ok().and_then(|line| line.checked_sub(1));
        let Some(line) = index.and_then(|index| lines.get(index)) else { continue };
        let is_changed =
            touched_lines.iter().any(|line| (symbol.start..=symbol.end).contains(line));
        let is_named = own_words.contains(own_name(&symbol.name));
        declarations.push(Declaration {
            is_unchanged: !is_changed,
            is_unnamed: !is_named,
            position: declarations.len(),
            text: format!("{path}: {}\n", cut(line.trim(), LINE_CHARS)),
        });
    }
}
