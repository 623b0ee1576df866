//! Named definitions of a text, with lookup by line and by name.
//!
//! Invariant: symbols are sorted by first line, outer before inner. Two symbols are nested,
//! disjoint, or share the line where one ends and the next begins.

use crate::{Language, ParseError, SyntaxTree, outline};

/// A named definition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Symbol {
    /// Qualified name in the notation of the language: `Class.method`, `module::Type::method`,
    /// `App\Class::method`.
    pub name: String,
    /// Kind of the definition.
    pub kind: SymbolKind,
    /// First line, 1-based. Includes attributes, annotations and decorators, but not comments
    /// before them.
    pub start: u32,
    /// Last line, inclusive.
    pub end: u32,
    /// Offset in `name` at which the name without qualifiers starts.
    own_name_start: usize,
}

/// Kind of a symbol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SymbolKind {
    /// A function outside of a type, or a macro that is called like a function.
    Function,
    /// A method of a type or object.
    Method,
    /// A class, struct, enum, interface, trait, protocol or type alias.
    Type,
    /// A module or a namespace with a body.
    Module,
}

/// Symbols of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Symbols {
    list: Vec<Symbol>,
    has_errors: bool,
    omitted: u32,
}

/// All symbols of a text, in source order.
///
/// With syntax errors some symbols may be missing; see [`Symbols::has_errors`].
pub fn symbols(language: Language, text: &str) -> Result<Symbols, ParseError> {
    Ok(outline::parse_outline(language, text)?.symbols)
}

impl SyntaxTree<'_> {
    /// All symbols of the text, in source order.
    pub fn symbols(&self) -> Symbols {
        outline::tree_outline(self).symbols
    }
}

impl Symbol {
    pub(crate) fn new(
        name: String,
        own_name_start: usize,
        kind: SymbolKind,
        start: u32,
        end: u32,
    ) -> Self {
        let own_name_start = if name.is_char_boundary(own_name_start) { own_name_start } else { 0 };
        Self { name, kind, start, end: end.max(start), own_name_start }
    }

    /// Whether the symbol's qualified name ends with `name`, and `name` contains at least the whole
    /// unqualified name.
    fn ends_with(&self, name: &str) -> bool {
        let Some(qualifiers) = self.name.strip_suffix(name) else { return false };
        qualifiers.len() <= self.own_name_start
            && (qualifiers.is_empty() || qualifiers.ends_with(['.', ':', '\\']))
    }

    /// Like `ends_with`, but compares in [`common_notation`].
    fn ends_with_common(&self, name: &str) -> bool {
        let (qualifiers, own_name) = self.name.split_at(self.own_name_start);
        let (qualifiers, own_name) = (common_notation(qualifiers), common_notation(own_name));
        let Some(given_qualifiers) = name.strip_suffix(&own_name) else { return false };
        !own_name.is_empty() && qualifiers.ends_with(given_qualifiers) && {
            let rest = &qualifiers[..qualifiers.len() - given_qualifiers.len()];
            rest.is_empty() || rest.ends_with('.')
        }
    }
}

/// Common notation of all languages: `Type.method` for `Type::method` and `Type#method`, without
/// backticks.
fn common_notation(name: &str) -> String {
    name.replace("::", ".").replace(['\\', '#'], ".").replace('`', "")
}

impl SymbolKind {
    /// Lower-case name of the kind.
    pub fn name(self) -> &'static str {
        match self {
            Self::Function => "function",
            Self::Method => "method",
            Self::Type => "type",
            Self::Module => "module",
        }
    }
}

impl Symbols {
    pub(crate) fn new(mut list: Vec<Symbol>, has_errors: bool, omitted: u32) -> Self {
        // Symbols arrive sorted, except from trees with errors.
        list.sort_by(|a, b| a.start.cmp(&b.start).then(b.end.cmp(&a.end)));
        Self { list, has_errors, omitted }
    }

    /// All symbols, in source order.
    pub fn all(&self) -> &[Symbol] {
        &self.list
    }

    /// Whether the text has syntax errors, so that symbols may be missing or have wrong ends.
    pub fn has_errors(&self) -> bool {
        self.has_errors
    }

    /// Number of definitions that were omitted because their names are too long or because there
    /// are too many definitions.
    pub fn omitted(&self) -> u32 {
        self.omitted
    }

    /// The innermost symbol at a line. On a line where one symbol ends and the next begins, the
    /// next one.
    pub fn symbol_at(&self, line: u32) -> Option<&Symbol> {
        let end = self.list.partition_point(|symbol| symbol.start <= line);
        self.list[..end].iter().rev().find(|symbol| symbol.end >= line)
    }

    /// Symbols with this full name. If there are none, symbols whose name ends with this name
    /// (`method`, `Class.method`). If there are none either, symbols that match in the notation of
    /// another language (`Class.method` for `Class::method`, `Class#method` for either).
    pub fn find_by_name(&self, name: &str) -> Vec<&Symbol> {
        if name.is_empty() {
            return Vec::new();
        }
        let exact_matches = self.filter(|symbol| symbol.name == name);
        if !exact_matches.is_empty() {
            return exact_matches;
        }
        let suffix_matches = self.filter(|symbol| symbol.ends_with(name));
        if !suffix_matches.is_empty() {
            return suffix_matches;
        }
        let name = common_notation(name);
        self.filter(|symbol| symbol.ends_with_common(&name))
    }

    fn filter(&self, predicate: impl Fn(&Symbol) -> bool) -> Vec<&Symbol> {
        self.list.iter().filter(|symbol| predicate(symbol)).collect()
    }
}
