//! What in a tree defines something, by language: one file for each grammar, and what they share.
//!
//! A grammar's file is a `match` over the kinds of its nodes.
//!
//! What is a definition: a function or a module with a name and a body, and a type with a name. A member that
//! a type declares without a body (interface, trait, abstract class, protocol) is one too, because it is
//! defined nowhere else; a forward declaration of something defined elsewhere (a prototype, an overload's
//! signature) is none.
//!
//! Which lines are its own, in every language: from its first attribute, annotation or decorator, or else
//! from its first modifier or keyword (`export`, `template <…>`, `const` of `const f = …`), to its closing
//! brace, `end` or last statement. Comments before it, documentation included, are outside; comments between
//! an attribute and the rest are inside.

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

/// How much of a node's text is read for a name: more than any name that is kept, so that a cut one is not.
const WORDS_MAX: usize = 4 * NAME_MAX;

/// A node on the way from the root.
pub(crate) struct Frame<'t> {
    node: Node<'t>,
    kind: &'t str,
    /// The row of the first attribute that stands before the node as its sibling.
    attributes: Option<usize>,
}

/// A node and the nodes around it.
pub(crate) struct Site<'a, 't> {
    node: Node<'t>,
    kind: &'t str,
    around: &'a [Frame<'t>],
    text: &'t str,
}

/// What a node is to us.
pub(crate) enum Found {
    /// Nothing by itself.
    Nothing,
    /// A definition.
    Definition(Definition),
    /// Something that only says where the definitions inside belong: an `impl`, an extension, an object.
    Scope(Scope),
}

/// A definition, before the names around it are known.
pub(crate) struct Definition {
    /// The name, with qualifiers of its own (`Type::method`) if it has them.
    pub(crate) name: String,
    /// How many bytes at the end of the name are the name proper.
    pub(crate) own_len: usize,
    pub(crate) kind: Kind,
    pub(crate) holds: Holds,
    pub(crate) names: Names,
    /// How many nodes around it belong to it (`const` around `f = () => {}`).
    pub(crate) levels_up: usize,
}

/// A scope that is no definition.
pub(crate) struct Scope {
    /// What it adds to the names inside; empty for nothing.
    pub(crate) name: String,
    pub(crate) holds: Holds,
}

/// What is defined, as far as the node alone can tell.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A function or a method, depending on what it stands in.
    Callable,
    /// A method wherever it stands.
    Method,
    Type,
    Module,
}

/// What the functions directly inside are.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Holds {
    Functions,
    Methods,
}

/// Whether a name is qualified by what is around it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Names {
    Nested,
    /// C's names and macros' names are the file's, wherever they stand.
    Flat,
}

/// What a node is in its language.
pub(crate) fn find(language: Language, site: &Site<'_, '_>) -> Found {
    // Tokens define nothing, and they are most of a tree.
    if !site.node.is_named() {
        return Found::Nothing;
    }
    let found = match language {
        Language::Python => python::find(site),
        Language::JavaScript | Language::TypeScript | Language::Tsx => javascript::find(site),
        Language::Rust => rust::find(site),
        Language::Go => go::find(site),
        Language::Java => java::find(site),
        Language::Ruby => ruby::find(site),
        Language::C => c::find(site, Names::Flat),
        Language::Cpp => c::find(site, Names::Nested),
        Language::CSharp => csharp::find(site),
        Language::Php => php::find(site),
        Language::Kotlin => kotlin::find(site),
        Language::Swift => swift::find(site),
    };
    found.unwrap_or(Found::Nothing)
}

/// Whether a node takes something in from another file.
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

/// What stands between the name of something and the name of what is in it.
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

/// The first and the last line of a definition, with its attributes and with what wraps it.
pub(crate) fn lines(
    language: Language,
    frames: &[Frame<'_>],
    found: &Definition,
    text: &str,
) -> (u32, u32) {
    let mut whole = frames.len().saturating_sub(1 + found.levels_up);
    while whole > 0 && is_wrapper(language, frames[whole - 1].kind) {
        whole -= 1;
    }
    let Some(frame) = frames.get(whole) else { return (1, 1) };
    let start = frame.attributes.unwrap_or(frame.node.start_position().row);
    (one_based(start), last_line(&frame.node, text))
}

/// The line of the last byte of a node that is not blank. Some nodes end with the newline after them.
pub(crate) fn last_line(node: &Node<'_>, text: &str) -> u32 {
    let inside = source(node, text);
    let blank = &inside[inside.trim_end().len()..];
    let newlines = blank.bytes().filter(|byte| *byte == b'\n').count();
    let behind = usize::from(node.end_byte() > text.len());
    one_based(node.end_position().row.saturating_sub(newlines + behind))
}

/// Whether a node of this kind only adds something in front of the one definition in it.
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

/// Whether a node of this kind is an attribute that stands before what it belongs to, as its sibling.
fn is_attribute(language: Language, kind: &str) -> bool {
    match language {
        Language::Rust => kind == "attribute_item",
        Language::JavaScript | Language::TypeScript | Language::Tsx => kind == "decorator",
        // Attributes are children of what they belong to.
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
    pub(crate) fn new(node: Node<'t>, attributes: Option<usize>) -> Self {
        Self { node, kind: node.kind(), attributes }
    }

    /// The first row of attributes that the next sibling has before it. Comments may stand between.
    pub(crate) fn attributes_for_next(&self, language: Language) -> Option<usize> {
        if is_attribute(language, self.kind) {
            return self.attributes.or(Some(self.node.start_position().row));
        }
        self.attributes.filter(|_| self.node.is_extra())
    }
}

impl<'a, 't> Site<'a, 't> {
    pub(crate) fn new(frames: &'a [Frame<'t>], text: &'t str) -> Option<Self> {
        let (here, around) = frames.split_last()?;
        Some(Self { node: here.node, kind: here.kind, around, text })
    }

    pub(crate) fn node(&self) -> Node<'t> {
        self.node
    }

    /// The kind of the node around this one, or around that, and so on; empty above the root.
    fn kind_above(&self, levels: usize) -> &'t str {
        self.above(levels).map_or("", |frame| frame.kind)
    }

    fn above(&self, levels: usize) -> Option<&Frame<'t>> {
        self.around.get(self.around.len().checked_sub(levels)?)
    }

    fn field(&self, name: &str) -> Option<Node<'t>> {
        self.node.child_by_field_name(name)
    }

    /// The words of the field `name`; `None` if it is absent, or stands there only by the parser's grace.
    fn name(&self) -> Option<String> {
        self.words(self.field("name")?)
    }

    /// A node's text on one line, blanks made single; `None` if there is nothing in it. What is far too long
    /// for a name is cut short: names can hold code with names in it.
    fn words(&self, node: Node<'_>) -> Option<String> {
        let text = self.text_of(node);
        let text = &text[..text.floor_char_boundary(WORDS_MAX)];
        let mut words = String::new();
        for word in text.split_whitespace() {
            if !words.is_empty() {
                words.push(' ');
            }
            words.push_str(word);
        }
        Some(words).filter(|words| !words.is_empty())
    }

    /// A node's text as it is; empty if it has none.
    fn text_of(&self, node: Node<'_>) -> &'t str {
        source(&node, self.text)
    }

    /// The first child of a kind.
    fn child(&self, kind: &str) -> Option<Node<'t>> {
        child_of(self.node, kind)
    }

    /// The child after the first of a kind. A node's own way to its sibling goes by the root.
    fn child_after(&self, kind: &str) -> Option<Node<'t>> {
        let mut cursor = self.node.walk();
        self.node.children(&mut cursor).skip_while(|child| child.kind() != kind).nth(1)
    }
}

impl Definition {
    fn new(name: String, kind: Kind, holds: Holds) -> Self {
        let own_len = name.len();
        Self { name, own_len, kind, holds, names: Names::Nested, levels_up: 0 }
    }

    /// A function, or a method if it stands in a type.
    fn callable(name: String) -> Self {
        Self::new(name, Kind::Callable, Holds::Functions)
    }

    /// A method, whatever it stands in.
    fn method(name: String) -> Self {
        Self::new(name, Kind::Method, Holds::Functions)
    }

    /// A type; the functions in it are methods.
    fn of_type(name: String) -> Self {
        Self::new(name, Kind::Type, Holds::Methods)
    }

    /// A module; the functions in it are functions.
    fn module(name: String) -> Self {
        Self::new(name, Kind::Module, Holds::Functions)
    }

    /// The same, with qualifiers of its own before the name.
    fn behind(mut self, qualifiers: &str, separator: &str) -> Self {
        self.name = format!("{qualifiers}{separator}{}", self.name);
        self
    }

    /// The same, with nodes around it that belong to it.
    fn up(mut self, levels: usize) -> Self {
        self.levels_up = levels;
        self
    }

    fn found(self) -> Found {
        Found::Definition(self)
    }
}

impl Scope {
    /// A scope whose functions are methods of the one named.
    fn of_methods(name: String) -> Found {
        Found::Scope(Self { name, holds: Holds::Methods })
    }

    /// The inside of something without a name whose functions are plain functions.
    fn of_functions() -> Found {
        Found::Scope(Self { name: String::new(), holds: Holds::Functions })
    }

    /// The inside of a type without a name.
    fn nameless() -> Found {
        Self::of_methods(String::new())
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
    fn names_are_read_only_so_far() {
        // Without the cut, names inside names would cost the square of the text.
        let text = "é".repeat(WORDS_MAX);
        let parsed = crate::Parsed::new(Language::Python, &text).unwrap();
        let tree = parsed.tree();
        let frames = [Frame::new(tree.root_node(), None)];
        let words = Site::new(&frames, &text).unwrap().words(tree.root_node()).unwrap();
        assert_eq!(words.len(), WORDS_MAX);
    }
}
