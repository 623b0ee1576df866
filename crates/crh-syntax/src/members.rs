//! What classes have and what they call of themselves, in Python, JavaScript and TypeScript.

use std::collections::BTreeSet;

use tree_sitter::Node;

use crate::parse::{one_based, source};
use crate::{Language, Parsed};

/// A class as its text shows it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Class {
    /// Its name.
    pub name: String,
    /// Its methods, with their lines, 1-based.
    pub methods: Vec<(String, u32)>,
    /// Every name that it may have for itself: methods, fields, what is assigned to `self` or `this`.
    pub names: BTreeSet<String>,
    /// What it calls on `self` or `this`, with the lines, 1-based.
    pub calls: Vec<(String, u32)>,
    /// Whether it may have more than its text shows: it inherits, or something is done to it.
    pub is_open: bool,
}

impl Parsed<'_> {
    /// The classes of a text, outer ones first; none in other languages.
    pub fn classes(&self) -> Vec<Class> {
        let is_known = matches!(
            self.language(),
            Language::Python | Language::JavaScript | Language::TypeScript | Language::Tsx
        );
        let mut classes: Vec<Class> = Vec::new();
        if !is_known {
            return classes;
        }
        let mut around: Vec<usize> = Vec::new();
        let mut cursor = self.tree().walk();
        loop {
            let node = cursor.node();
            if is_class(&node) {
                around.push(classes.len());
                classes.push(class(&node, self.text()));
            } else if let Some(at) = around.last() {
                learn(&mut classes[*at], &node, self.text());
            }
            if cursor.goto_first_child() {
                continue;
            }
            loop {
                if is_class(&cursor.node()) {
                    around.pop();
                }
                if cursor.goto_next_sibling() {
                    break;
                }
                if !cursor.goto_parent() {
                    return classes;
                }
            }
        }
    }
}

fn is_class(node: &Node<'_>) -> bool {
    node.is_named()
        && matches!(
            node.kind(),
            "class_definition" | "class_declaration" | "abstract_class_declaration" | "class"
        )
}

fn class(node: &Node<'_>, text: &str) -> Class {
    let name = node.child_by_field_name("name").map(|it| source(&it, text).to_owned());
    let is_decorated = node.parent().is_some_and(|it| it.kind() == "decorated_definition");
    let inherits = node.named_children(&mut node.walk()).any(|it| {
        it.kind() == "class_heritage"
            || it.kind() == "decorator"
            || it.kind() == "argument_list"
                && source(&it, text) != "(object)"
                && source(&it, text) != "()"
    });
    Class {
        name: name.unwrap_or_default(),
        is_open: inherits || is_decorated || node.kind() == "abstract_class_declaration",
        ..Class::default()
    }
}

fn learn(class: &mut Class, node: &Node<'_>, text: &str) {
    let words = |node: Option<Node<'_>>| node.map(|it| source(&it, text).to_owned());
    match node.kind() {
        "function_definition" | "method_definition" => {
            let line = one_based(node.start_position().row);
            let name = words(node.child_by_field_name("name")).unwrap_or_default();
            class.is_open |= matches!(name.as_str(), "__getattr__" | "__getattribute__");
            class.names.insert(name.clone());
            class.methods.push((name, line));
        }
        // Whatever is bound inside may be a field.
        "assignment" | "assignment_expression" => {
            let left = node.child_by_field_name("left");
            let name = left.and_then(|it| {
                it.child_by_field_name("attribute").or_else(|| it.child_by_field_name("property"))
            });
            class.names.extend(words(name.or(left)));
        }
        "public_field_definition"
        | "field_definition"
        | "method_signature"
        | "abstract_method_signature" => {
            let name =
                node.child_by_field_name("name").or_else(|| node.child_by_field_name("property"));
            class.names.extend(words(name));
        }
        "required_parameter" | "optional_parameter" => {
            class.names.extend(words(node.child_by_field_name("pattern")));
        }
        "call" | "call_expression" => {
            let Some(function) = node.child_by_field_name("function") else { return };
            let owner = words(function.child_by_field_name("object")).unwrap_or_default();
            class.is_open |= matches!(source(&function, text), "setattr" | "Object.assign");
            let name = function
                .child_by_field_name("attribute")
                .or_else(|| function.child_by_field_name("property"));
            if let (Some(name), "self" | "this") = (name, owner.as_str()) {
                let line = one_based(name.start_position().row);
                class.calls.push((source(&name, text).to_owned(), line));
            }
        }
        _ => {}
    }
}
