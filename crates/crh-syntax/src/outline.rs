//! One walk over a tree that collects definitions and imports.
//!
//! It keeps its own stack, because a tree can be as deep as its text is long.

use tree_sitter::Node;

use crate::definition::{
    Definition, DefinitionKind, EnclosingScope, Frame, InnerFunctions, NodeRole, Qualification,
    Site,
};
use crate::parse::one_based;
use crate::{
    ImportList, ImportStatement, Language, ParseError, Symbol, SymbolKind, Symbols, SyntaxTree,
    definition, parse,
};

/// Maximum length of a qualified name in bytes. Names in standard libraries have fewer than 200.
pub(crate) const NAME_MAX: usize = 512;

/// Maximum number of symbols per text, 32 MiB with names of full length.
const SYMBOLS_MAX: usize = 65_536;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Outline {
    pub(crate) symbols: Symbols,
    pub(crate) imports: ImportList,
}

pub(crate) fn parse_outline(language: Language, text: &str) -> Result<Outline, ParseError> {
    Ok(tree_outline(&SyntaxTree::new(language, text)?))
}

pub(crate) fn tree_outline(parsed: &SyntaxTree<'_>) -> Outline {
    let (language, tree) = (parsed.language(), parsed.tree());
    let mut walk = OutlineWalk::new(language, parsed.text());
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

struct OutlineWalk<'t> {
    language: Language,
    text: &'t str,
    open: Vec<OpenScope>,
    symbols: Vec<Symbol>,
    left_out: u32,
    imports: ImportList,
}

/// An enclosing definition or scope.
struct OpenScope {
    /// Number of frames around its node.
    depth: usize,
    /// Qualified name of the scope; `None` if too long.
    prefix: Option<String>,
    kind: Option<SymbolKind>,
    inner: InnerFunctions,
    in_function: bool,
}

impl<'t> OutlineWalk<'t> {
    fn new(language: Language, text: &'t str) -> Self {
        Self {
            language,
            text,
            open: Vec::new(),
            symbols: Vec::new(),
            left_out: 0,
            imports: ImportList::default(),
        }
    }

    fn enter(&mut self, frames: &[Frame<'t>]) {
        let Some(site) = Site::new(frames, self.text) else { return };
        let in_function = self.open.last().is_some_and(|open| open.in_function);
        if !in_function && definition::is_import(self.language, &site) {
            self.imports.push(ImportStatement::from_node(&site.node(), self.text));
        }
        match definition::node_role(self.language, &site) {
            NodeRole::Nothing => {}
            NodeRole::Scope(scope) => self.open_scope(frames.len(), scope),
            NodeRole::Definition(found) => self.define(frames, &found),
        }
    }

    fn leave(&mut self, depth: usize) {
        while self.open.last().is_some_and(|open| open.depth > depth) {
            self.open.pop();
        }
    }

    fn open_scope(&mut self, depth: usize, scope: EnclosingScope) {
        let prefix = self.qualified(&scope.name, SymbolKind::Type);
        let outer = self.open.last();
        let in_function = outer.is_some_and(|open| open.in_function)
            || scope.inner == InnerFunctions::AreFunctions;
        let kind = match scope.name.as_str() {
            "" => outer.and_then(|open| open.kind),
            _ => Some(SymbolKind::Type),
        };
        self.open.push(OpenScope { depth, prefix, kind, inner: scope.inner, in_function });
    }

    fn define(&mut self, frames: &[Frame<'t>], found: &Definition) {
        let outer = self.open.last();
        let kind = match (found.kind, outer.map(|open| open.inner)) {
            (DefinitionKind::Callable, Some(InnerFunctions::AreMethods))
            | (DefinitionKind::Method, _) => SymbolKind::Method,
            (DefinitionKind::Callable, Some(InnerFunctions::AreFunctions) | None) => {
                SymbolKind::Function
            }
            (DefinitionKind::Type, _) => SymbolKind::Type,
            (DefinitionKind::Module, _) => SymbolKind::Module,
        };
        let in_function = match kind {
            SymbolKind::Function | SymbolKind::Method => true,
            SymbolKind::Type | SymbolKind::Module => outer.is_some_and(|open| open.in_function),
        };
        let name = match found.qualification {
            Qualification::Nested => self.qualified(&found.name, kind),
            Qualification::Flat => Some(found.name.clone()).filter(|name| name.len() <= NAME_MAX),
        };
        match &name {
            Some(name) if self.symbols.len() < SYMBOLS_MAX => {
                let own = name.len().saturating_sub(found.own_len);
                let (start, end) = definition::lines(self.language, frames, found, self.text);
                self.symbols.push(Symbol::new(name.clone(), own, kind, start, end));
            }
            _ => self.left_out = self.left_out.saturating_add(1),
        }
        let (depth, holds) = (frames.len(), found.inner);
        self.open.push(OpenScope {
            depth,
            prefix: name,
            kind: Some(kind),
            inner: holds,
            in_function,
        });
    }

    /// Qualifies a name, unless it gets too long.
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

impl ImportStatement {
    fn from_node(node: &Node<'_>, text: &str) -> Self {
        let verbatim = parse::source(node, text).trim_end();
        let start = one_based(node.start_position().row);
        Self { start, end: definition::last_line(node, text).max(start), text: verbatim.to_owned() }
    }
}
