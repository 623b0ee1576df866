//! The named definitions of a text, and how to find one by line or by name.
//!
//! Invariant: symbols are in the order of their first lines, outer before inner; two of them are nested, apart,
//! or share the one line where the first ends and the second begins.

use crate::{Language, NotParsed, Parsed, outline};

/// A definition with a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Symbol {
    /// The name with the names of what is around it, joined as the language joins them: `Class.method`,
    /// `module::Type::method`, `App\Class::method`.
    pub name: String,
    /// What is defined.
    pub kind: SymbolKind,
    /// The first line, 1-based; attributes, annotations and decorators included, comments before them not.
    pub start: u32,
    /// The last line, inclusive.
    pub end: u32,
    own: usize,
}

/// What a symbol defines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SymbolKind {
    /// A function outside every type, or inside another function; a macro with parameters.
    Function,
    /// A function of a type, of an object, or of what a language has in their place.
    Method,
    /// A class, struct, enum, interface, trait, protocol or type alias.
    Type,
    /// A module or a namespace with a body.
    Module,
}

/// The symbols of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Symbols {
    list: Vec<Symbol>,
    has_errors: bool,
    left_out: u32,
}

/// All symbols of a text, in source order.
///
/// A text with syntax errors has the symbols that the parser could make out; [`Symbols::has_errors`] tells.
pub fn symbols(language: Language, text: &str) -> Result<Symbols, NotParsed> {
    Ok(outline::of(language, text)?.symbols)
}

impl Parsed<'_> {
    /// All symbols of the text, in source order.
    pub fn symbols(&self) -> Symbols {
        outline::of_parsed(self).symbols
    }
}

impl Symbol {
    pub(crate) fn new(name: String, own: usize, kind: SymbolKind, start: u32, end: u32) -> Self {
        let own = if name.is_char_boundary(own) { own } else { 0 };
        Self { name, kind, start, end: end.max(start), own }
    }

    /// Whether the name ends with this one, which has at least the whole own name in it.
    fn ends_with(&self, name: &str) -> bool {
        let Some(before) = self.name.strip_suffix(name) else { return false };
        before.len() <= self.own && (before.is_empty() || before.ends_with(['.', ':', '\\']))
    }

    /// The same for names in the common notation.
    fn ends_with_common(&self, name: &str) -> bool {
        let (around, own) = self.name.split_at(self.own);
        let (around, own) = (common(around), common(own));
        let Some(before) = name.strip_suffix(&own) else { return false };
        !own.is_empty() && around.ends_with(before) && {
            let rest = &around[..around.len() - before.len()];
            rest.is_empty() || rest.ends_with('.')
        }
    }
}

/// A name in the notation that all languages share here, so that `Type.method` finds `Type::method`, as
/// `Type#method` does, and a name finds itself in backticks.
fn common(name: &str) -> String {
    name.replace("::", ".").replace(['\\', '#'], ".").replace('`', "")
}

impl SymbolKind {
    /// The lower-case word for it.
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
        // The walk finds them in this order already, but for trees with errors in them.
        list.sort_by(|a, b| a.start.cmp(&b.start).then(b.end.cmp(&a.end)));
        Self { list, has_errors, left_out }
    }

    /// All of them, in source order.
    pub fn all(&self) -> &[Symbol] {
        &self.list
    }

    /// Whether the text had syntax errors, so that symbols may be missing or end too early or too late.
    pub fn has_errors(&self) -> bool {
        self.has_errors
    }

    /// How many definitions were left out: their names were too long, or there were too many of them.
    pub fn left_out(&self) -> u32 {
        self.left_out
    }

    /// The innermost symbol around a line. On a line where one ends and the next begins, the next.
    pub fn at(&self, line: u32) -> Option<&Symbol> {
        let after = self.list.partition_point(|symbol| symbol.start <= line);
        self.list[..after].iter().rev().find(|symbol| symbol.end >= line)
    }

    /// The symbols with this name: those that have it as their full name; if there are none, those whose name
    /// ends with it (`method`, `Class.method`); if there are none, those whose name does in the notation of
    /// another language (`Class.method` for `Class::method`, `Class#method` for either).
    pub fn named(&self, name: &str) -> Vec<&Symbol> {
        if name.is_empty() {
            return Vec::new();
        }
        let exact = self.that(|symbol| symbol.name == name);
        if !exact.is_empty() {
            return exact;
        }
        let ending = self.that(|symbol| symbol.ends_with(name));
        if !ending.is_empty() {
            return ending;
        }
        let name = common(name);
        self.that(|symbol| symbol.ends_with_common(&name))
    }

    fn that(&self, holds: impl Fn(&Symbol) -> bool) -> Vec<&Symbol> {
        self.list.iter().filter(|symbol| holds(symbol)).collect()
    }
}
