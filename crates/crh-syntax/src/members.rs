//! Members of classes and calls of own methods, in Python, JavaScript and TypeScript.

use std::collections::BTreeSet;

use tree_sitter::Node;

use crate::parse::{one_based, source};
use crate::{Language, SyntaxTree};

/// Members of a class.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClassMembers {
    /// Name of the class.
    pub name: String,
    /// Methods, and functions inside of them, with their lines, 1-based.
    pub methods: Vec<(String, u32)>,
    /// All possible own names: methods, fields, parameters in TypeScript, and all assigned names.
    pub names: BTreeSet<String>,
    /// Calls on `self` or `this` with their lines, 1-based.
    pub calls: Vec<(String, u32)>,
    /// Whether the class may have more members, for example inherited ones.
    pub has_hidden_members: bool,
}

impl SyntaxTree<'_> {
    /// Classes of the text, outer ones first. Empty if the language is not Python, JavaScript or
    /// TypeScript.
    pub fn classes(&self) -> Vec<ClassMembers> {
        let is_supported = matches!(
            self.language(),
            Language::Python | Language::JavaScript | Language::TypeScript | Language::Tsx
        );
        let mut classes: Vec<ClassMembers> = Vec::new();
        if !is_supported {
            return classes;
        }
        let mut open_classes: Vec<usize> = Vec::new();
        let mut cursor = self.tree().walk();
        loop {
            let node = cursor.node();
            if is_class(&node) {
                open_classes.push(classes.len());
                classes.push(new_class(&node, self.text()));
            } else if let Some(index) = open_classes.last() {
                add_member(&mut classes[*index], &node, self.text());
            }
            if cursor.goto_first_child() {
                continue;
            }
            loop {
                if is_class(&cursor.node()) {
                    open_classes.pop();
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

fn new_class(node: &Node<'_>, text: &str) -> ClassMembers {
    let name = node.child_by_field_name("name").map(|it| source(&it, text).to_owned());
    let is_decorated = node.parent().is_some_and(|it| it.kind() == "decorated_definition");
    let inherits = node.named_children(&mut node.walk()).any(|child| {
        child.kind() == "class_heritage"
            || child.kind() == "decorator"
            || child.kind() == "argument_list"
                && source(&child, text) != "(object)"
                && source(&child, text) != "()"
    });
    ClassMembers {
        name: name.unwrap_or_default(),
        has_hidden_members: inherits || is_decorated || node.kind() == "abstract_class_declaration",
        ..ClassMembers::default()
    }
}

fn add_member(class: &mut ClassMembers, node: &Node<'_>, text: &str) {
    let text_of = |node: Option<Node<'_>>| node.map(|it| source(&it, text).to_owned());
    match node.kind() {
        "function_definition" | "method_definition" => {
            let line = one_based(node.start_position().row);
            let name = text_of(node.child_by_field_name("name")).unwrap_or_default();
            class.has_hidden_members |= matches!(name.as_str(), "__getattr__" | "__getattribute__");
            class.names.insert(name.clone());
            class.methods.push((name, line));
        }
        // Every name that the class assigns may be a field.
        "assignment" | "assignment_expression" => {
            let target = node.child_by_field_name("left");
            let name = target.and_then(|member| {
                member
                    .child_by_field_name("attribute")
                    .or_else(|| member.child_by_field_name("property"))
            });
            class.names.extend(text_of(name.or(target)));
        }
        "public_field_definition"
        | "field_definition"
        | "method_signature"
        | "abstract_method_signature" => {
            let name =
                node.child_by_field_name("name").or_else(|| node.child_by_field_name("property"));
            class.names.extend(text_of(name));
        }
        "required_parameter" | "optional_parameter" => {
            class.names.extend(text_of(node.child_by_field_name("pattern")));
        }
        "call" | "call_expression" => {
            let Some(function) = node.child_by_field_name("function") else { return };
            let owner = text_of(function.child_by_field_name("object")).unwrap_or_default();
            class.has_hidden_members |=
                matches!(source(&function, text), "setattr" | "Object.assign");
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
