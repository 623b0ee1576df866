//! Definitions by language, with one file per grammar.
//!
//! Each file is a `match` over node kinds.
//!
//! A definition is a function or module with a name and a body, or a type with a name. A member
//! that a type declares without a body (interface, trait, abstract class, protocol) counts too. A
//! forward declaration (a prototype, an overload signature) does not.
//!
//! The lines of a definition start at the first attribute, annotation or decorator, or else at the
//! first modifier or keyword (`export`, `template <…>`, `const` of `const f = …`). They end at the
//! closing brace, `end` or last statement. Comments before the definition are excluded, including
//! documentation; comments between an attribute and the rest are included.

mod c;
mod csharp;
mod go;
mod java;
mod javascript;
mod kotlin;
mod php;
mod python;
mod ruby;
mod rust;
mod swift;

use tree_sitter::Node;

use crate::outline::NAME_MAX;
use crate::parse::{one_based, source};
use crate::{Language, SymbolKind};

/// Bytes read for a name, more than the longest name that is kept.
const NAME_BYTES_READ_MAX: usize = 4 * NAME_MAX;

/// A node on the path from the root.
pub(crate) struct Frame<'t> {
    node: Node<'t>,
    kind: &'t str,
    /// Row of the first attribute that precedes the node as a sibling.
    first_attribute_row: Option<usize>,
}

/// A node and its ancestors.
pub(crate) struct Site<'a, 't> {
    node: Node<'t>,
    kind: &'t str,
    ancestors: &'a [Frame<'t>],
    text: &'t str,
}

/// Role of a node.
pub(crate) enum NodeRole {
    Nothing,
    Definition(Definition),
    /// A scope that only qualifies the definitions inside: an `impl`, an extension, an object.
    Scope(EnclosingScope),
}

/// A definition, not yet qualified by its scopes.
pub(crate) struct Definition {
    /// Name with its own qualifiers (`Type::method`).
    pub(crate) name: String,
    /// Length in bytes of the name without qualifiers.
    pub(crate) own_name_len: usize,
    pub(crate) kind: DefinitionKind,
    pub(crate) inner_functions: InnerFunctions,
    pub(crate) qualification: Qualification,
    /// Number of parent nodes that belong to the definition (`const` around `f = () => {}`).
    pub(crate) parent_levels: usize,
}

/// A scope that is not a definition.
pub(crate) struct EnclosingScope {
    /// Qualifier of the names inside; may be empty.
    pub(crate) name: String,
    pub(crate) inner_functions: InnerFunctions,
}

/// Kind of a definition, judged by the node alone.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum DefinitionKind {
    /// A function or method, depending on its scope.
    Callable,
    /// Always a method.
    Method,
    Type,
    Module,
}

/// Kind of the functions directly inside.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum InnerFunctions {
    AreFunctions,
    AreMethods,
}

/// Whether a name is qualified by its scopes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Qualification {
    Nested,
    /// Names of C and of macros have file scope.
    Flat,
}

pub(crate) fn node_role(language: Language, site: &Site<'_, '_>) -> NodeRole {
    // Skip tokens, which are most of a tree.
    if !site.node.is_named() {
        return NodeRole::Nothing;
    }
    let role = match language {
        Language::Python => python::find(site),
        Language::JavaScript | Language::TypeScript | Language::Tsx => javascript::find(site),
        Language::Rust => rust::find(site),
        Language::Go => go::find(site),
        Language::Java => java::find(site),
        Language::Ruby => ruby::find(site),
        Language::C => c::find(site, Qualification::Flat),
        Language::Cpp => c::find(site, Qualification::Nested),
        Language::CSharp => csharp::find(site),
        Language::Php => php::find(site),
        Language::Kotlin => kotlin::find(site),
        Language::Swift => swift::find(site),
    };
    role.unwrap_or(NodeRole::Nothing)
}

/// Whether a node is an import.
pub(crate) fn is_import(language: Language, site: &Site<'_, '_>) -> bool {
    if !site.node.is_named() {
        return false;
    }
    match language {
        Language::Python => python::is_import(site),
        Language::JavaScript | Language::TypeScript | Language::Tsx => javascript::is_import(site),
        Language::Rust => rust::is_import(site),
        Language::Go | Language::Java | Language::Swift => site.kind == "import_declaration",
        Language::Ruby => ruby::is_import(site),
        Language::C | Language::Cpp => c::is_import(site),
        Language::CSharp => csharp::is_import(site),
        Language::Php => php::is_import(site),
        Language::Kotlin => site.kind == "import",
    }
}

/// Separator between a scope and a name.
pub(crate) fn separator(
    language: Language,
    outer: Option<SymbolKind>,
    inner: SymbolKind,
) -> &'static str {
    match language {
        Language::Rust | Language::C | Language::Cpp => "::",
        Language::Ruby => match inner {
            SymbolKind::Type | SymbolKind::Module => "::",
            SymbolKind::Function | SymbolKind::Method => ".",
        },
        Language::Php => match outer {
            Some(SymbolKind::Module) => "\\",
            Some(SymbolKind::Type | SymbolKind::Function | SymbolKind::Method) | None => "::",
        },
        Language::Python
        | Language::JavaScript
        | Language::TypeScript
        | Language::Tsx
        | Language::Go
        | Language::Java
        | Language::CSharp
        | Language::Kotlin
        | Language::Swift => ".",
    }
}

/// First and last line of a definition, with attributes and wrappers.
pub(crate) fn definition_lines(
    language: Language,
    frames: &[Frame<'_>],
    definition: &Definition,
    text: &str,
) -> (u32, u32) {
    let mut frame_index = frames.len().saturating_sub(1 + definition.parent_levels);
    while frame_index > 0 && is_wrapper(language, frames[frame_index - 1].kind) {
        frame_index -= 1;
    }
    let Some(frame) = frames.get(frame_index) else { return (1, 1) };
    let start = frame.first_attribute_row.unwrap_or(frame.node.start_position().row);
    (one_based(start), last_line(&frame.node, text))
}

/// Line of the last non-blank byte of a node. Some nodes include the newline after their text.
pub(crate) fn last_line(node: &Node<'_>, text: &str) -> u32 {
    let node_text = source(node, text);
    let trailing_blanks = &node_text[node_text.trim_end().len()..];
    let newlines = trailing_blanks.bytes().filter(|byte| *byte == b'\n').count();
    let padding_rows = usize::from(node.end_byte() > text.len());
    one_based(node.end_position().row.saturating_sub(newlines + padding_rows))
}

/// Whether a node of this kind only adds a prefix to the definition inside.
fn is_wrapper(language: Language, kind: &str) -> bool {
    match language {
        Language::Python => kind == "decorated_definition",
        Language::JavaScript | Language::TypeScript | Language::Tsx => {
            matches!(kind, "export_statement" | "ambient_declaration")
        }
        Language::Cpp => kind == "template_declaration",
        Language::Rust
        | Language::Go
        | Language::Java
        | Language::Ruby
        | Language::C
        | Language::CSharp
        | Language::Php
        | Language::Kotlin
        | Language::Swift => false,
    }
}

/// Whether a node is an attribute that precedes its item as a sibling.
fn is_attribute(language: Language, kind: &str) -> bool {
    match language {
        Language::Rust => kind == "attribute_item",
        Language::JavaScript | Language::TypeScript | Language::Tsx => kind == "decorator",
        // Here attributes are children.
        Language::Python
        | Language::Go
        | Language::Java
        | Language::Ruby
        | Language::C
        | Language::Cpp
        | Language::CSharp
        | Language::Php
        | Language::Kotlin
        | Language::Swift => false,
    }
}

impl<'t> Frame<'t> {
    pub(crate) fn new(node: Node<'t>, first_attribute_row: Option<usize>) -> Self {
        Self { node, kind: node.kind(), first_attribute_row }
    }

    /// Row of the first attribute of the next sibling. Comments may be in between.
    pub(crate) fn attributes_for_next(&self, language: Language) -> Option<usize> {
        if is_attribute(language, self.kind) {
            return self.first_attribute_row.or(Some(self.node.start_position().row));
        }
        self.first_attribute_row.filter(|_| self.node.is_extra())
    }
}

impl<'a, 't> Site<'a, 't> {
    pub(crate) fn new(frames: &'a [Frame<'t>], text: &'t str) -> Option<Self> {
        let (frame, ancestors) = frames.split_last()?;
        Some(Self { node: frame.node, kind: frame.kind, ancestors, text })
    }

    pub(crate) fn node(&self) -> Node<'t> {
        self.node
    }

    /// Kind of an ancestor; empty above the root.
    fn ancestor_kind(&self, levels: usize) -> &'t str {
        self.ancestor(levels).map_or("", |frame| frame.kind)
    }

    fn ancestor(&self, levels: usize) -> Option<&Frame<'t>> {
        self.ancestors.get(self.ancestors.len().checked_sub(levels)?)
    }

    fn field(&self, name: &str) -> Option<Node<'t>> {
        self.node.child_by_field_name(name)
    }

    /// Text of the `name` field; `None` if missing or empty.
    fn name(&self) -> Option<String> {
        self.normalized_text(self.field("name")?)
    }

    /// Text with normalised whitespace, cut off far beyond the length of a name; `None` if empty.
    fn normalized_text(&self, node: Node<'_>) -> Option<String> {
        let text = self.text_of(node);
        let text = &text[..text.floor_char_boundary(NAME_BYTES_READ_MAX)];
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        Some(words).filter(|words| !words.is_empty())
    }

    fn text_of(&self, node: Node<'_>) -> &'t str {
        source(&node, self.text)
    }

    fn child(&self, kind: &str) -> Option<Node<'t>> {
        child_of(self.node, kind)
    }

    /// The child after the first child of a kind. `Node::next_sibling` would search from the root.
    fn child_after(&self, kind: &str) -> Option<Node<'t>> {
        let mut cursor = self.node.walk();
        self.node.children(&mut cursor).skip_while(|child| child.kind() != kind).nth(1)
    }
}

impl Definition {
    fn new(name: String, kind: DefinitionKind, inner_functions: InnerFunctions) -> Self {
        let own_name_len = name.len();
        Self {
            name,
            own_name_len,
            kind,
            inner_functions,
            qualification: Qualification::Nested,
            parent_levels: 0,
        }
    }

    /// A function, or a method within a type.
    fn callable(name: String) -> Self {
        Self::new(name, DefinitionKind::Callable, InnerFunctions::AreFunctions)
    }

    fn method(name: String) -> Self {
        Self::new(name, DefinitionKind::Method, InnerFunctions::AreFunctions)
    }

    /// A type, whose functions are methods.
    fn type_(name: String) -> Self {
        Self::new(name, DefinitionKind::Type, InnerFunctions::AreMethods)
    }

    /// A module, whose functions are not methods.
    fn module(name: String) -> Self {
        Self::new(name, DefinitionKind::Module, InnerFunctions::AreFunctions)
    }

    /// Adds qualifiers before the name.
    fn qualified_by(mut self, qualifiers: &str, separator: &str) -> Self {
        self.name = format!("{qualifiers}{separator}{}", self.name);
        self
    }

    /// Includes parent nodes in the definition.
    fn including_parents(mut self, levels: usize) -> Self {
        self.parent_levels = levels;
        self
    }

    fn into_role(self) -> NodeRole {
        NodeRole::Definition(self)
    }
}

impl EnclosingScope {
    /// A scope whose functions are methods of this type.
    fn methods(name: String) -> NodeRole {
        NodeRole::Scope(Self { name, inner_functions: InnerFunctions::AreMethods })
    }

    /// An unnamed scope with plain functions.
    fn functions() -> NodeRole {
        NodeRole::Scope(Self { name: String::new(), inner_functions: InnerFunctions::AreFunctions })
    }

    /// An unnamed type.
    fn anonymous_type() -> NodeRole {
        Self::methods(String::new())
    }
}

/// The first child of a kind.
fn child_of<'t>(node: Node<'t>, kind: &str) -> Option<Node<'t>> {
    let mut cursor = node.walk();
    node.children(&mut cursor).find(|child| child.kind() == kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_are_cut_off() {
        // Without the limit, nested names would take quadratic time.
        let text = "é".repeat(NAME_BYTES_READ_MAX);
        let syntax_tree = crate::SyntaxTree::new(Language::Python, &text).unwrap();
        let tree = syntax_tree.tree();
        let frames = [Frame::new(tree.root_node(), None)];
        let words = Site::new(&frames, &text).unwrap().normalized_text(tree.root_node()).unwrap();
        assert_eq!(words.len(), NAME_BYTES_READ_MAX);
    }
}
