//! What a text offers to others and takes from them, in the languages whose rules for that are known here: one file each.
//!
//! Invariant: a name that the text may offer is listed, or [`Surface::is_open`] says that the list cannot be trusted to be whole.

mod go;
mod java;
mod javascript;
mod python;
mod ruby;
mod rust;

use tree_sitter::Node;

use crate::parse::{one_based, source};
use crate::{Language, Parsed};

/// What a text offers to others and takes from them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Surface {
    /// The names that it defines at its outermost level, in no particular order.
    pub offers: Vec<Offer>,
    /// What it takes from elsewhere, also inside functions.
    pub takes: Vec<Take>,
    /// The package that it says it belongs to, in Go and Java.
    pub package: Option<String>,
    /// Whether it may offer names that cannot be seen: they are made while it runs, or by macros.
    pub is_open: bool,
    /// The texts of what in Rust makes such names: macros, and modules in files of another name. The same text makes the same names.
    pub makers: Vec<String>,
    /// Whether it has syntax errors.
    pub has_errors: bool,
}

/// A name that a text defines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offer {
    /// The name as others write it: `default` for what JavaScript exports without a name.
    pub name: String,
    /// The type or module around it in the same text, `Outer.Inner`; empty at the outermost level. In Rust a type has a dot behind it.
    pub within: String,
    /// The line of its name, 1-based.
    pub line: u32,
    /// What it is.
    pub kind: OfferKind,
    /// Whether other files can take it.
    pub is_exported: bool,
    /// What it is called with, if it is called and nothing stands in between.
    pub shape: Option<Shape>,
    /// The class of Java that it inherits from, as it is written.
    pub extends: Option<String>,
}

/// What is defined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OfferKind {
    /// A function, or a method that belongs to no object.
    Function,
    /// A class, or another type.
    Type,
    /// A class of Java that takes constants and types, but no functions, from interfaces.
    Implementer,
    /// An enumeration of Java that inherits nothing: all of its constants are there, and functions that cannot be seen.
    Enumeration,
    /// A type that may have members which cannot be seen: it inherits, or something writes into it.
    OpenType,
    /// A module inside the text.
    Module,
    /// A constant or a variable.
    Value,
    /// Something that was taken from elsewhere and can be taken from here.
    PassedOn,
}

/// What something is called with.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Shape {
    /// Its parameters, without the one for the object.
    pub parameters: Vec<Parameter>,
    /// Whether it takes any number of arguments more.
    pub has_rest: bool,
    /// Whether it takes any named arguments more.
    pub has_named_rest: bool,
}

/// A parameter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parameter {
    /// Its name; empty if it has none.
    pub name: String,
    /// Whether it has to be given.
    pub is_required: bool,
    /// How it is given.
    pub given: Given,
}

/// How an argument is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Given {
    /// By its place among the others.
    ByPlace,
    /// By its name.
    ByName,
    /// By either.
    ByEither,
}

/// Something that a text takes from elsewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Take {
    /// The module as it is written, `..pkg.mod` or `./file`.
    pub module: String,
    /// What is taken.
    pub what: Taken,
    /// The name that it has here; none if it has none.
    pub local: Option<String>,
    /// The line of the name, or of the statement, 1-based.
    pub line: u32,
    /// The first and the last line of the whole statement, 1-based.
    pub statement: (u32, u32),
    /// Whether the text expects that it may fail.
    pub is_guarded: bool,
    /// Whether others can take it from here.
    pub is_passed_on: bool,
}

/// What is taken from a module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Taken {
    /// The module itself.
    Module,
    /// One name.
    Name(String),
    /// All that it offers.
    All,
}

/// What a call gives.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Arguments {
    /// How many are given by place.
    pub places: usize,
    /// The names of those given by name.
    pub names: Vec<String>,
    /// Whether it gives more than can be counted: `*args`, `...rest`, a call with several results.
    pub is_open: bool,
}

impl Parsed<'_> {
    /// What the text offers and takes; none in a language whose rules are not known here.
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

impl Shape {
    /// Whether a call with these arguments is one that it takes.
    pub fn takes(&self, arguments: &Arguments) -> bool {
        if arguments.is_open {
            return true;
        }
        let by_place = self.parameters.iter().filter(|it| it.given != Given::ByName).count();
        if arguments.places > by_place && !self.has_rest {
            return false;
        }
        let named = |name: &String| {
            self.parameters.iter().any(|it| it.name == *name && it.given != Given::ByPlace)
        };
        if !self.has_named_rest && !arguments.names.iter().all(named) {
            return false;
        }
        let mut place = 0;
        self.parameters.iter().all(|it| {
            let by_place = it.given != Given::ByName && {
                place += 1;
                place <= arguments.places
            };
            !it.is_required || by_place || arguments.names.contains(&it.name)
        })
    }
}

impl Offer {
    /// Whether it is reached through a type alone, in Rust.
    pub fn is_associated(&self) -> bool {
        self.within.ends_with('.')
    }

    fn new(node: &Node<'_>, text: &str, kind: OfferKind) -> Self {
        Self {
            name: source(node, text).to_owned(),
            within: String::new(),
            line: line(node),
            kind,
            is_exported: true,
            shape: None,
            extends: None,
        }
    }
}

fn line(node: &Node<'_>) -> u32 {
    one_based(node.start_position().row)
}

/// The first and the last line of a node.
fn lines(node: &Node<'_>) -> (u32, u32) {
    (one_based(node.start_position().row), one_based(node.end_position().row))
}

/// The named children of a node.
fn children<'t>(node: Node<'t>) -> Vec<Node<'t>> {
    node.named_children(&mut node.walk()).collect()
}

fn words(node: Option<Node<'_>>, text: &str) -> String {
    node.map(|node| source(&node, text).to_owned()).unwrap_or_default()
}

/// The text of a string literal without its quotes.
fn unquoted(node: &Node<'_>, text: &str) -> String {
    source(node, text).trim_matches(['"', '\'', '`']).to_owned()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::UseRole;

    /// Whether the last call of `f` fits its definition.
    fn fits(text: &str) -> bool {
        let parsed = Parsed::new(Language::Python, text).unwrap();
        let shape = parsed.surface().unwrap().offers.into_iter().find_map(|it| it.shape).unwrap();
        let uses = parsed.uses(&BTreeSet::from(["f"]));
        let UseRole::Called(given) = &uses.last().unwrap().role else { panic!("{uses:?}") };
        shape.takes(given)
    }

    #[test]
    fn a_call_fits_if_all_that_is_needed_is_given_and_nothing_else() {
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
