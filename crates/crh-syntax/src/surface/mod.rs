//! API surface of a file: its declarations and imports, with one file per language.
//!
//! Invariant: every declared name is listed, or [`Surface::has_hidden_names`] is set.

mod go;
mod java;
mod javascript;
mod python;
mod ruby;
mod rust;

use tree_sitter::Node;

use crate::parse::{one_based, source};
use crate::{Language, SyntaxTree};

/// Declarations and imports of a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Surface {
    /// Top-level declarations, and in Java, Ruby and Rust those in types or modules, in no
    /// particular order.
    pub declarations: Vec<Declaration>,
    /// Imports; in Python, JavaScript and Ruby also those inside functions.
    pub imports: Vec<ModuleImport>,
    /// Declared package, in Go and Java.
    pub package: Option<String>,
    /// Whether the file may declare names that are not listed, because they are created at run time
    /// or by macros.
    pub has_hidden_names: bool,
    /// In Rust, texts that create such names: macro calls, `extern` blocks, and `#[path]`
    /// attributes of modules. Equal texts create equal names.
    pub macro_texts: Vec<String>,
    /// Whether the text has syntax errors.
    pub has_errors: bool,
}

/// A declared name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Declaration {
    /// Name as other files write it; `default` for the default export of a JavaScript file.
    pub name: String,
    /// Enclosing type or module in the same file, `Outer.Inner` or `Outer::Inner`; empty at the top
    /// level. In Rust a type ends with a dot.
    pub container: String,
    /// Line of the name, 1-based.
    pub line: u32,
    /// Kind of the declaration.
    pub kind: DeclarationKind,
    /// Whether other files can import the declaration. Always true except in Go, JavaScript and
    /// TypeScript.
    pub is_exported: bool,
    /// Signature, if every call of the name reaches this function with unchanged arguments.
    pub signature: Option<CallSignature>,
    /// Java superclass, as written.
    pub extends: Option<String>,
}

/// Kind of a declaration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeclarationKind {
    /// A function or method.
    Function,
    /// A class or other type.
    Type,
    /// A Java class with interfaces. It inherits constants and types from them, but no static
    /// functions.
    Implementer,
    /// A Java enum without interfaces. All its constants are listed, but not all functions: the
    /// compiler adds some.
    Enumeration,
    /// A type that may have hidden members, for example inherited ones.
    OpenType,
    /// A module inside the file.
    Module,
    /// A constant or variable.
    Value,
    /// An imported name, which other files may import from this file.
    Reexport,
}

/// Parameters of a callable.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CallSignature {
    /// Parameters without the receiver.
    pub parameters: Vec<Parameter>,
    /// Accepts any number of further positional arguments.
    pub has_rest: bool,
    /// Accepts any further keyword arguments.
    pub has_named_rest: bool,
}

/// A parameter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parameter {
    /// Name; may be empty.
    pub name: String,
    /// Whether an argument is required.
    pub is_required: bool,
    /// How the argument is passed.
    pub style: ArgumentStyle,
}

/// How an argument is passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArgumentStyle {
    /// By position.
    Positional,
    /// By name.
    Keyword,
    /// By position or name.
    Either,
}

/// An import.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModuleImport {
    /// Module as written, `..pkg.mod` or `./file`.
    pub module: String,
    /// Imported item.
    pub item: ImportedItem,
    /// Name of the imported item in this file, if it has one.
    pub local_name: Option<String>,
    /// Line of the name, or of the statement if it has no name, 1-based.
    pub line: u32,
    /// First and last line of the statement, 1-based.
    pub statement: (u32, u32),
    /// Whether the code expects that the import may fail. In JavaScript and Rust, also whether it
    /// imports only under a condition.
    pub is_guarded: bool,
    /// Whether other files can import the name from this file.
    pub is_reexported: bool,
}

/// What is imported from a module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ImportedItem {
    /// The module itself.
    Module,
    /// A single name.
    Name(String),
    /// All exported names.
    All,
}

/// Arguments of a call.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Arguments {
    /// Number of positional arguments.
    pub positional: usize,
    /// Names of keyword arguments.
    pub names: Vec<String>,
    /// Whether there may be more arguments: `*args`, `...rest`, a call with several results.
    pub may_have_more: bool,
}

impl SyntaxTree<'_> {
    /// API surface of the file; `None` for unsupported languages.
    pub fn surface(&self) -> Option<Surface> {
        let mut surface = match self.language() {
            Language::Python => python::surface(self),
            Language::JavaScript | Language::TypeScript | Language::Tsx => {
                javascript::surface(self)
            }
            Language::Go => go::surface(self),
            Language::Rust => rust::surface(self),
            Language::Java => java::surface(self),
            Language::Ruby => ruby::surface(self),
            Language::C
            | Language::Cpp
            | Language::CSharp
            | Language::Php
            | Language::Kotlin
            | Language::Swift => return None,
        };
        surface.has_errors = self.tree().root_node().has_error();
        Some(surface)
    }
}

impl CallSignature {
    /// Whether a call with these arguments can be valid.
    pub fn accepts(&self, arguments: &Arguments) -> bool {
        if arguments.may_have_more {
            return true;
        }
        let positional_max =
            self.parameters.iter().filter(|it| it.style != ArgumentStyle::Keyword).count();
        if arguments.positional > positional_max && !self.has_rest {
            return false;
        }
        let has_parameter = |name: &String| {
            self.parameters.iter().any(|parameter| {
                parameter.name == *name && parameter.style != ArgumentStyle::Positional
            })
        };
        if !self.has_named_rest && !arguments.names.iter().all(has_parameter) {
            return false;
        }
        let mut position = 0;
        self.parameters.iter().all(|parameter| {
            let is_given_by_position = parameter.style != ArgumentStyle::Keyword && {
                position += 1;
                position <= arguments.positional
            };
            !parameter.is_required
                || is_given_by_position
                || arguments.names.contains(&parameter.name)
        })
    }
}

impl ModuleImport {
    /// An unconditional import that other files cannot see.
    fn new(
        module: String,
        item: ImportedItem,
        local_name: Option<String>,
        node: &Node<'_>,
    ) -> Self {
        Self {
            module,
            item,
            local_name,
            line: start_line(node),
            statement: line_range(node),
            is_guarded: false,
            is_reexported: false,
        }
    }
}

impl Parameter {
    fn positional(name: &str, is_required: bool) -> Self {
        Self { name: name.to_owned(), is_required, style: ArgumentStyle::Positional }
    }
}

impl Declaration {
    /// Whether a Rust declaration is accessed through a type.
    pub fn is_associated(&self) -> bool {
        self.container.ends_with('.')
    }

    fn named(self, name: &str) -> Self {
        Self { name: name.to_owned(), ..self }
    }

    fn new(node: &Node<'_>, text: &str, kind: DeclarationKind) -> Self {
        Self {
            name: source(node, text).to_owned(),
            container: String::new(),
            line: start_line(node),
            kind,
            is_exported: true,
            signature: None,
            extends: None,
        }
    }
}

fn start_line(node: &Node<'_>) -> u32 {
    one_based(node.start_position().row)
}

fn line_range(node: &Node<'_>) -> (u32, u32) {
    (one_based(node.start_position().row), one_based(node.end_position().row))
}

fn children<'t>(node: Node<'t>) -> Vec<Node<'t>> {
    node.named_children(&mut node.walk()).collect()
}

fn node_text(node: Option<Node<'_>>, text: &str) -> String {
    node.map(|node| source(&node, text).to_owned()).unwrap_or_default()
}

/// String literal without quotes.
fn unquoted(node: &Node<'_>, text: &str) -> String {
    source(node, text).trim_matches(['"', '\'', '`']).to_owned()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::UseRole;

    /// Whether the last call of `f` is valid.
    fn fits(text: &str) -> bool {
        let syntax_tree = SyntaxTree::new(Language::Python, text).unwrap();
        let signature = syntax_tree
            .surface()
            .unwrap()
            .declarations
            .into_iter()
            .find_map(|it| it.signature)
            .unwrap();
        let uses = syntax_tree.uses(&BTreeSet::from(["f"]));
        let UseRole::Called(arguments) = &uses.last().unwrap().role else { panic!("{uses:?}") };
        signature.accepts(arguments)
    }

    #[test]
    fn call_must_match_the_signature() {
        let table = [
            ("def f(a, b=1): pass\nf(1)", true),
            ("def f(a, b=1): pass\nf(b=1)", false),
            ("def f(a, b=1): pass\nf(1, 2, 3)", false),
            ("def f(a, b=1): pass\nf(*x)", true),
            ("def f(a, *rest): pass\nf(1, 2, 3)", true),
            ("def f(a, *, key): pass\nf(1)", false),
            ("def f(a, *, key): pass\nf(1, key=2)", true),
            ("def f(a, /): pass\nf(a=1)", false),
            ("def f(a, **named): pass\nf(1, x=2)", true),
            ("def f(a: int): pass\nf(1, x=2)", false),
        ];
        for (text, expected) in table {
            assert_eq!(fits(text), expected, "{text}");
        }
    }
}
