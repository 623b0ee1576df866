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
    own: usize,
}

/// Kind of a symbol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SymbolKind {
    /// A function outside of a type, or a macro with parameters.
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
    left_out: u32,
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
    pub(crate) fn new(name: String, own: usize, kind: SymbolKind, start: u32, end: u32) -> Self {
        let own = if name.is_char_boundary(own) { own } else { 0 };
        Self { name, kind, start, end: end.max(start), own }
    }

    /// Whether the name ends with this one, which must include the whole own name.
    fn ends_with(&self, name: &str) -> bool {
        let Some(before) = self.name.strip_suffix(name) else { return false };
        before.len() <= self.own && (before.is_empty() || before.ends_with(['.', ':', '\\']))
    }

    /// Like `ends_with`, in common notation.
    fn ends_with_common(&self, name: &str) -> bool {
        let (around, own) = self.name.split_at(self.own);
        let (around, own) = (common_notation(around), common_notation(own));
        let Some(before) = name.strip_suffix(&own) else { return false };
        !own.is_empty() && around.ends_with(before) && {
            let rest = &around[..around.len() - before.len()];
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
    pub(crate) fn new(mut list: Vec<Symbol>, has_errors: bool, left_out: u32) -> Self {
        // Already sorted, except for trees with errors.
        list.sort_by(|a, b| a.start.cmp(&b.start).then(b.end.cmp(&a.end)));
        Self { list, has_errors, left_out }
    }

    /// All symbols, in source order.
    pub fn all(&self) -> &[Symbol] {
        &self.list
    }

    /// Whether the text has syntax errors, so that symbols may be missing or have wrong ends.
    pub fn has_errors(&self) -> bool {
        self.has_errors
    }

    /// Number of omitted definitions: names too long, or too many of them.
    pub fn omitted(&self) -> u32 {
        self.left_out
    }

    /// The innermost symbol at a line. Where one ends and the next begins, the next.
    pub fn at(&self, line: u32) -> Option<&Symbol> {
        let after = self.list.partition_point(|symbol| symbol.start <= line);
        self.list[..after].iter().rev().find(|symbol| symbol.end >= line)
    }

    /// Symbols with this full name; or else those whose name ends with it (`method`,
    /// `Class.method`); or else those that match in the notation of another language
    /// (`Class.method` for `Class::method`, `Class#method` for either).
    pub fn named(&self, name: &str) -> Vec<&Symbol> {
        if name.is_empty() {
            return Vec::new();
        }
        let exact = self.filter(|symbol| symbol.name == name);
        if !exact.is_empty() {
            return exact;
        }
        let ending = self.filter(|symbol| symbol.ends_with(name));
        if !ending.is_empty() {
            return ending;
        }
        let name = common_notation(name);
        self.filter(|symbol| symbol.ends_with_common(&name))
    }

    fn filter(&self, holds: impl Fn(&Symbol) -> bool) -> Vec<&Symbol> {
        self.list.iter().filter(|symbol| holds(symbol)).collect()
    }
}
