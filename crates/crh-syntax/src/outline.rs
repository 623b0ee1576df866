//! One walk over a tree that finds its definitions and its imports.
//!
//! The walk keeps its own stack: a tree can be as deep as its text is long.

use tree_sitter::Node;

use crate::definition::{Definition, Found, Frame, Holds, Kind, Names, Scope, Site};
use crate::parse::one_based;
use crate::{
    Import, Imports, Language, NotParsed, Parsed, Symbol, SymbolKind, Symbols, definition, parse,
};

/// The longest qualified name that is kept, in bytes. The longest in the standard libraries of our languages
/// are below two hundred.
pub(crate) const NAME_MAX: usize = 512;

/// The most symbols kept of one text: with names of full length these are 32 MiB.
const SYMBOLS_MAX: usize = 65_536;

/// What one walk finds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Outline {
    pub(crate) symbols: Symbols,
    pub(crate) imports: Imports,
}

/// Parses a text and walks its tree.
pub(crate) fn of(language: Language, text: &str) -> Result<Outline, NotParsed> {
    Ok(of_parsed(&Parsed::new(language, text)?))
}

/// Walks the tree of a text.
pub(crate) fn of_parsed(parsed: &Parsed<'_>) -> Outline {
    let (language, tree) = (parsed.language(), parsed.tree());
    let mut walk = Walk::new(language, parsed.text());
    let mut cursor = tree.walk();
    let mut frames = vec![Frame::new(cursor.node(), None)];
    loop {
        walk.enter(&frames);
        if cursor.goto_first_child() {
            frames.push(Frame::new(cursor.node(), None));
            continue;
        }
        loop {
            let Some(left) = frames.pop() else { return walk.finish(&tree.root_node()) };
            walk.leave(frames.len());
            if cursor.goto_next_sibling() {
                frames.push(Frame::new(cursor.node(), left.attributes_for_next(language)));
                break;
            }
            if !cursor.goto_parent() {
                return walk.finish(&tree.root_node());
            }
        }
    }
}

struct Walk<'t> {
    language: Language,
    text: &'t str,
    open: Vec<Open>,
    symbols: Vec<Symbol>,
    left_out: u32,
    imports: Imports,
}

/// A definition or a scope that the walk is inside of.
struct Open {
    /// How many frames are around its node.
    depth: usize,
    /// The qualified name that goes before the names inside; `None` where it got too long to keep.
    prefix: Option<String>,
    kind: Option<SymbolKind>,
    holds: Holds,
    in_function: bool,
}

impl<'t> Walk<'t> {
    fn new(language: Language, text: &'t str) -> Self {
        Self {
            language,
            text,
            open: Vec::new(),
            symbols: Vec::new(),
            left_out: 0,
            imports: Imports::default(),
        }
    }

    fn enter(&mut self, frames: &[Frame<'t>]) {
        let Some(site) = Site::new(frames, self.text) else { return };
        let in_function = self.open.last().is_some_and(|open| open.in_function);
        if !in_function && definition::is_import(self.language, &site) {
            self.imports.push(Import::of(&site.node(), self.text));
        }
        match definition::find(self.language, &site) {
            Found::Nothing => {}
            Found::Scope(scope) => self.open_scope(frames.len(), scope),
            Found::Definition(found) => self.define(frames, &found),
        }
    }

    fn leave(&mut self, depth: usize) {
        while self.open.last().is_some_and(|open| open.depth > depth) {
            self.open.pop();
        }
    }

    fn open_scope(&mut self, depth: usize, scope: Scope) {
        let prefix = self.qualified(&scope.name, SymbolKind::Type);
        let outer = self.open.last();
        let in_function =
            outer.is_some_and(|open| open.in_function) || scope.holds == Holds::Functions;
        let kind = match scope.name.as_str() {
            "" => outer.and_then(|open| open.kind),
            _ => Some(SymbolKind::Type),
        };
        self.open.push(Open { depth, prefix, kind, holds: scope.holds, in_function });
    }

    fn define(&mut self, frames: &[Frame<'t>], found: &Definition) {
        let outer = self.open.last();
        let kind = match (found.kind, outer.map(|open| open.holds)) {
            (Kind::Callable, Some(Holds::Methods)) | (Kind::Method, _) => SymbolKind::Method,
            (Kind::Callable, Some(Holds::Functions) | None) => SymbolKind::Function,
            (Kind::Type, _) => SymbolKind::Type,
            (Kind::Module, _) => SymbolKind::Module,
        };
        let in_function = match kind {
            SymbolKind::Function | SymbolKind::Method => true,
            SymbolKind::Type | SymbolKind::Module => outer.is_some_and(|open| open.in_function),
        };
        let name = match found.names {
            Names::Nested => self.qualified(&found.name, kind),
            Names::Flat => Some(found.name.clone()).filter(|name| name.len() <= NAME_MAX),
        };
        match &name {
            Some(name) if self.symbols.len() < SYMBOLS_MAX => {
                let own = name.len().saturating_sub(found.own_len);
                let (start, end) = definition::lines(self.language, frames, found, self.text);
                self.symbols.push(Symbol::new(name.clone(), own, kind, start, end));
            }
            _ => self.left_out = self.left_out.saturating_add(1),
        }
        let (depth, holds) = (frames.len(), found.holds);
        self.open.push(Open { depth, prefix: name, kind: Some(kind), holds, in_function });
    }

    /// A name behind the names around it, unless that gets too long.
    fn qualified(&self, name: &str, kind: SymbolKind) -> Option<String> {
        let Some(outer) = self.open.last() else {
            return Some(name.to_owned()).filter(|name| name.len() <= NAME_MAX);
        };
        let prefix = outer.prefix.as_deref()?;
        if prefix.is_empty() || name.is_empty() {
            return Some(format!("{prefix}{name}")).filter(|name| name.len() <= NAME_MAX);
        }
        let separator = definition::separator(self.language, outer.kind, kind);
        if prefix.len() + separator.len() + name.len() > NAME_MAX {
            return None;
        }
        Some(format!("{prefix}{separator}{name}"))
    }

    fn finish(self, root: &Node<'_>) -> Outline {
        let symbols = Symbols::new(self.symbols, root.has_error(), self.left_out);
        Outline { symbols, imports: self.imports }
    }
}

impl Import {
    fn of(node: &Node<'_>, text: &str) -> Self {
        let verbatim = parse::source(node, text).trim_end();
        let start = one_based(node.start_position().row);
        Self { start, end: definition::last_line(node, text).max(start), text: verbatim.to_owned() }
    }
}
