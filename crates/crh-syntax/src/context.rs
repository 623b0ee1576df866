//! One function with its text and the imports of its file.

use crate::{ImportList, Language, Symbol, SymbolKind, guess, outline};

/// A definition and the imports of its file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FunctionContext {
    /// Name of the definition; with qualifiers unless the definition was guessed.
    pub name: String,
    /// Text of all lines of the definition. Callers shorten it for prompts.
    pub definition: String,
    /// Imports of the file, in order, within [`crate::IMPORTS_MAX`] and
    /// [`crate::IMPORT_BYTES_MAX`].
    pub imports: Vec<String>,
    /// Number of imports beyond these limits.
    pub omitted_imports: u32,
    /// First line, 1-based.
    pub start_line: u32,
    /// Last line, inclusive.
    pub end_line: u32,
    /// Number of other definitions that match the name.
    pub other_matches: u32,
    /// Whether the definition was guessed from keywords, indentation and braces, without a syntax
    /// tree.
    pub heuristic: bool,
}

/// Finds a function by name (`method`, `Class.method`; see [`crate::Symbols::find_by_name`]), with
/// the imports of its file.
///
/// Prefers functions and methods over types, types over modules, and then the first match. Guesses
/// if there is no grammar, if the text cannot be parsed, or if the name is missing in a tree with
/// errors or omitted symbols.
pub fn function_context(
    language: Option<Language>,
    text: &str,
    function_name: &str,
) -> Option<FunctionContext> {
    let trimmed_name = function_name.trim().trim_end_matches("()");
    let Some(Ok(outline)) = language.map(|language| outline::parse_outline(language, text)) else {
        return guess_context(text, trimmed_name);
    };
    let mut matches = outline.symbols.find_by_name(function_name);
    if matches.is_empty() {
        matches = outline.symbols.find_by_name(trimmed_name);
    }
    // Stable sort: the first of a kind stays first.
    matches.sort_by_key(|symbol| preference(symbol));
    let Some(symbol) = matches.first() else {
        let is_complete = !outline.symbols.has_errors() && outline.symbols.omitted() == 0;
        return if is_complete { None } else { guess_context(text, trimmed_name) };
    };
    Some(FunctionContext {
        name: symbol.name.clone(),
        definition: line_range_text(text, symbol.start, symbol.end),
        imports: import_texts(&outline.imports),
        omitted_imports: outline.imports.omitted(),
        start_line: symbol.start,
        end_line: symbol.end,
        other_matches: saturating_u32(matches.len() - 1),
        heuristic: false,
    })
}

fn guess_context(text: &str, name: &str) -> Option<FunctionContext> {
    let spans = guess::fallback_spans(text);
    let exact_matches: Vec<_> = spans.iter().filter(|span| span.name == name).collect();
    let matches = match exact_matches.is_empty() {
        true => spans.iter().filter(|span| last_part(&span.name) == last_part(name)).collect(),
        false => exact_matches,
    };
    let span = matches.first()?;
    let imports = guess::imports(text);
    Some(FunctionContext {
        name: span.name.clone(),
        definition: line_range_text(text, span.start, span.end),
        imports: import_texts(&imports),
        omitted_imports: imports.omitted(),
        start_line: span.start,
        end_line: span.end,
        other_matches: saturating_u32(matches.len() - 1),
        heuristic: true,
    })
}

fn preference(symbol: &Symbol) -> u8 {
    match symbol.kind {
        SymbolKind::Function | SymbolKind::Method => 0,
        SymbolKind::Type => 1,
        SymbolKind::Module => 2,
    }
}

fn last_part(name: &str) -> &str {
    name.rsplit(['.', ':', '\\', '#']).next().unwrap_or(name)
}

fn import_texts(imports: &ImportList) -> Vec<String> {
    imports.all().iter().map(|import| import.text.clone()).collect()
}

/// Lines 1-based and inclusive, without the final newline.
fn line_range_text(text: &str, first: u32, last: u32) -> String {
    let lines_before = first.saturating_sub(1) as usize;
    let line_count = (last.saturating_sub(first) as usize).saturating_add(1);
    let lines: String = text.split_inclusive('\n').skip(lines_before).take(line_count).collect();
    lines.trim_end_matches(['\n', '\r']).to_owned()
}

fn saturating_u32(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
