//! Parts of words that every match of a regular expression contains.

use regex_syntax::ParserBuilder;
use regex_syntax::hir::Hir;
use regex_syntax::hir::literal::{ExtractKind, Extractor, Literal};

use crate::word_index::{PART_BYTES_MAX, WORD_BYTES_MIN, is_word_byte};

/// Patterns of parts of words. Every match contains a match of each of these patterns, within one
/// word. Empty if there are none, or if the regular expression is invalid.
pub(crate) fn required_parts(pattern: &str, ignore_case: bool) -> Vec<String> {
    let mut parser = ParserBuilder::new().utf8(false).case_insensitive(ignore_case).build();
    let Ok(hir) = parser.parse(&format!("(?:{pattern})")) else { return Vec::new() };
    let part_of_all = |kind| {
        let starts_or_ends = Extractor::new().kind(kind).extract(&hir);
        let parts: Option<Vec<Hir>> = starts_or_ends.literals()?.iter().map(longest_part).collect();
        Some(Hir::alternation(parts?).to_string())
    };
    let kinds = [ExtractKind::Prefix, ExtractKind::Suffix].into_iter();
    let mut parts: Vec<String> = kinds.filter_map(part_of_all).collect();
    parts.dedup();
    parts
}

fn longest_part(literal: &Literal) -> Option<Hir> {
    let words = literal.as_bytes().split(|byte| !is_word_byte(*byte));
    let part = words.max_by_key(|word| word.len()).filter(|word| word.len() >= WORD_BYTES_MIN)?;
    Some(Hir::literal(&part[..part.len().min(PART_BYTES_MAX)]))
}

#[cfg(test)]
mod tests;
