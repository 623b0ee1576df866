//! One function with what a reader needs to understand it: its text and the imports of its file.

use crate::{Imports, Language, Symbol, SymbolKind, guess, outline};

/// A definition and the imports of the file around it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FunctionContext {
    /// The name as the file gives it, qualified where it was parsed.
    pub name: String,
    /// The lines of the definition, as they stand in the file. As long as the definition is: what goes into
    /// a prompt has to be cut there.
    pub definition: String,
    /// The file's imports, in order, within [`crate::IMPORTS_MAX`] and [`crate::IMPORT_BYTES_MAX`].
    pub imports: Vec<String>,
    /// How many more imports the file has than those bounds let through.
    pub imports_left_out: u32,
    /// The first line, 1-based.
    pub start_line: u32,
    /// The last line, inclusive.
    pub end_line: u32,
    /// How many more definitions in the file answer to the name that was asked for.
    pub others: u32,
    /// Whether this is a guess by keywords, indentation and braces and not from a tree.
    pub heuristic: bool,
}

/// The function with this name (`method`, `Class.method`; see [`crate::Symbols::named`]), with its file's
/// imports.
///
/// Of several, a function or method before a type, and then the first. Guesses, and says so, if there is no
/// grammar, if the text could not be parsed, or if the name is not in the tree but may be in the text: it
/// has errors, or symbols that were left out.
pub fn function_context(
    language: Option<Language>,
    text: &str,
    function_name: &str,
) -> Option<FunctionContext> {
    let forgiven = function_name.trim().trim_end_matches("()");
    let Some(Ok(outline)) = language.map(|language| outline::of(language, text)) else {
        return guessed(text, forgiven);
    };
    let mut matches = outline.symbols.named(function_name);
    if matches.is_empty() {
        matches = outline.symbols.named(forgiven);
    }
    // Sorting is stable, so that the first of a kind stays the first.
    matches.sort_by_key(|symbol| preference(symbol));
    let Some(symbol) = matches.first() else {
        let is_complete = !outline.symbols.has_errors() && outline.symbols.left_out() == 0;
        return if is_complete { None } else { guessed(text, forgiven) };
    };
    Some(FunctionContext {
        name: symbol.name.clone(),
        definition: lines(text, symbol.start, symbol.end),
        imports: texts(&outline.imports),
        imports_left_out: outline.imports.left_out(),
        start_line: symbol.start,
        end_line: symbol.end,
        others: count(matches.len() - 1),
        heuristic: false,
    })
}

fn guessed(text: &str, name: &str) -> Option<FunctionContext> {
    let spans = guess::fallback_spans(text);
    let exact: Vec<_> = spans.iter().filter(|span| span.name == name).collect();
    let matches = match exact.is_empty() {
        true => spans.iter().filter(|span| last_part(&span.name) == last_part(name)).collect(),
        false => exact,
    };
    let span = matches.first()?;
    let imports = guess::imports(text);
    Some(FunctionContext {
        name: span.name.clone(),
        definition: lines(text, span.start, span.end),
        imports: texts(&imports),
        imports_left_out: imports.left_out(),
        start_line: span.start,
        end_line: span.end,
        others: count(matches.len() - 1),
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

fn texts(imports: &Imports) -> Vec<String> {
    imports.all().iter().map(|import| import.text.clone()).collect()
}

/// The lines from first to last, 1-based and inclusive, without the last one's newline.
fn lines(text: &str, first: u32, last: u32) -> String {
    let skipped = first.saturating_sub(1) as usize;
    let wanted = (last.saturating_sub(first) as usize).saturating_add(1);
    let lines: String = text.split_inclusive('\n').skip(skipped).take(wanted).collect();
    lines.trim_end_matches(['\n', '\r']).to_owned()
}

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
