//! One walk over a tree that collects definitions and imports.
//!
//! The walk keeps its own stack, because a tree can be as deep as its text is long.

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

pub(crate) fn tree_outline(syntax_tree: &SyntaxTree<'_>) -> Outline {
    let (language, tree) = (syntax_tree.language(), syntax_tree.tree());
    let mut walk = OutlineWalk::new(language, syntax_tree.text());
    let mut cursor = tree.walk();
    let mut frames = vec![Frame::new(cursor.node(), None)];
    loop {
        walk.enter(&frames);
        if cursor.goto_first_child() {
            frames.push(Frame::new(cursor.node(), None));
            continue;
        }
        loop {
            let Some(closed_frame) = frames.pop() else { return walk.finish(&tree.root_node()) };
            walk.leave(frames.len());
            if cursor.goto_next_sibling() {
                frames.push(Frame::new(cursor.node(), closed_frame.attributes_for_next(language)));
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
    open_scopes: Vec<OpenScope>,
    symbols: Vec<Symbol>,
    omitted: u32,
    imports: ImportList,
}

/// An enclosing definition or scope.
struct OpenScope {
    /// Number of frames (nodes on the path from the root) when the scope was opened.
    depth: usize,
    /// Qualified name of the scope; `None` if too long.
    prefix: Option<String>,
    kind: Option<SymbolKind>,
    inner_functions: InnerFunctions,
    in_function: bool,
}

impl<'t> OutlineWalk<'t> {
    fn new(language: Language, text: &'t str) -> Self {
        Self {
            language,
            text,
            open_scopes: Vec::new(),
            symbols: Vec::new(),
            omitted: 0,
            imports: ImportList::default(),
        }
    }

    fn enter(&mut self, frames: &[Frame<'t>]) {
        let Some(site) = Site::new(frames, self.text) else { return };
        let in_function = self.open_scopes.last().is_some_and(|scope| scope.in_function);
        if !in_function && definition::is_import(self.language, &site) {
            self.imports.push(ImportStatement::from_node(&site.node(), self.text));
        }
        match definition::node_role(self.language, &site) {
            NodeRole::Nothing => {}
            NodeRole::Scope(scope) => self.open_scope(frames.len(), scope),
            NodeRole::Definition(definition) => self.define(frames, &definition),
        }
    }

    fn leave(&mut self, depth: usize) {
        while self.open_scopes.last().is_some_and(|scope| scope.depth > depth) {
            self.open_scopes.pop();
        }
    }

    fn open_scope(&mut self, depth: usize, scope: EnclosingScope) {
        let prefix = self.qualified_name_in_scope(&scope.name, SymbolKind::Type);
        let outer_scope = self.open_scopes.last();
        let in_function = outer_scope.is_some_and(|outer| outer.in_function)
            || scope.inner_functions == InnerFunctions::AreFunctions;
        let kind = match scope.name.as_str() {
            "" => outer_scope.and_then(|outer| outer.kind),
            _ => Some(SymbolKind::Type),
        };
        self.open_scopes.push(OpenScope {
            depth,
            prefix,
            kind,
            inner_functions: scope.inner_functions,
            in_function,
        });
    }

    fn define(&mut self, frames: &[Frame<'t>], definition: &Definition) {
        let outer_scope = self.open_scopes.last();
        let kind = match (definition.kind, outer_scope.map(|outer| outer.inner_functions)) {
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
            SymbolKind::Type | SymbolKind::Module => {
                outer_scope.is_some_and(|outer| outer.in_function)
            }
        };
        let name = match definition.qualification {
            Qualification::Nested => self.qualified_name_in_scope(&definition.name, kind),
            Qualification::Flat => {
                Some(definition.name.clone()).filter(|name| name.len() <= NAME_MAX)
            }
        };
        match &name {
            Some(name) if self.symbols.len() < SYMBOLS_MAX => {
                let own_name_start = name.len().saturating_sub(definition.own_name_len);
                let (start, end) =
                    definition::definition_lines(self.language, frames, definition, self.text);
                self.symbols.push(Symbol::new(name.clone(), own_name_start, kind, start, end));
            }
            _ => self.omitted = self.omitted.saturating_add(1),
        }
        let (depth, inner_functions) = (frames.len(), definition.inner_functions);
        self.open_scopes.push(OpenScope {
            depth,
            prefix: name,
            kind: Some(kind),
            inner_functions,
            in_function,
        });
    }

    /// The name qualified by the open scopes; `None` if that is too long.
    fn qualified_name_in_scope(&self, name: &str, kind: SymbolKind) -> Option<String> {
        let Some(outer_scope) = self.open_scopes.last() else {
            return Some(name.to_owned()).filter(|name| name.len() <= NAME_MAX);
        };
        let prefix = outer_scope.prefix.as_deref()?;
        if prefix.is_empty() || name.is_empty() {
            return Some(format!("{prefix}{name}")).filter(|name| name.len() <= NAME_MAX);
        }
        let separator = definition::separator(self.language, outer_scope.kind, kind);
        if prefix.len() + separator.len() + name.len() > NAME_MAX {
            return None;
        }
        Some(format!("{prefix}{separator}{name}"))
    }

    fn finish(self, root: &Node<'_>) -> Outline {
        let symbols = Symbols::new(self.symbols, root.has_error(), self.omitted);
        Outline { symbols, imports: self.imports }
    }
}

impl ImportStatement {
    fn from_node(node: &Node<'_>, text: &str) -> Self {
        let statement_text = parse::source(node, text).trim_end();
        let start = one_based(node.start_position().row);
        Self {
            start,
            end: definition::last_line(node, text).max(start),
            text: statement_text.to_owned(),
        }
    }
}
