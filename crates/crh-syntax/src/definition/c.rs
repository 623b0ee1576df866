//! C and C++ definitions and imports. Prototypes and member declarations define nothing, and macros
//! are not expanded.

use tree_sitter::Node;

use super::{Definition, NodeRole, Qualification, Site};

pub(super) fn find(site: &Site<'_, '_>, qualification: Qualification) -> Option<NodeRole> {
    let definition = match site.kind {
        "function_definition" => function_definition(site)?,
        "preproc_function_def" => {
            let function = Definition::callable(site.name()?);
            return Some(Definition { qualification: Qualification::Flat, ..function }.into_role());
        }
        "struct_specifier" | "class_specifier" | "union_specifier" | "enum_specifier" => {
            site.field("body")?;
            let path = qualified_name(site, site.field("name")?)?;
            // `typedef struct point { … } point;` is one definition, that of the `typedef`.
            if path.qualifiers.is_empty()
                && enclosing_typedef_name(site) == Some(path.name.as_str())
            {
                return None;
            }
            path.qualify(Definition::type_)
        }
        "type_definition" => Definition::type_(typedef_name(site, site.node)?.to_owned()),
        "alias_declaration" | "concept_definition" => Definition::type_(site.name()?),
        // An unnamed namespace does not qualify names.
        "namespace_definition" => Definition::module(namespace_name(&site.name()?)),
        _ => return None,
    };
    Some(Definition { qualification, ..definition }.into_role())
}

pub(super) fn is_import(site: &Site<'_, '_>) -> bool {
    matches!(site.kind, "preproc_include" | "using_declaration")
}

/// Qualifiers and name of a declarator: `a::B` and `f` of `*a::B::f(int)`.
struct QualifiedName {
    qualifiers: String,
    name: String,
}

impl QualifiedName {
    fn qualify(self, define: fn(String) -> Definition) -> Definition {
        let definition = define(self.name);
        match self.qualifiers.as_str() {
            "" => definition,
            qualifiers => definition.qualified_by(qualifiers, "::"),
        }
    }
}

fn function_definition(site: &Site<'_, '_>) -> Option<Definition> {
    let declarator = innermost_declarator(site.field("declarator")?)?;
    let path = qualified_name(site, declarator.name)?;
    // A macro call with a block looks like a definition without parameters. A conversion operator
    // has its parameters in its name.
    if !declarator.has_parameters && !path.name.starts_with("operator ") {
        return None;
    }
    // Outside of a class, a qualifier is nearly always the name of a class.
    let is_qualified = !path.qualifiers.is_empty();
    Some(path.qualify(if is_qualified { Definition::method } else { Definition::callable }))
}

struct Declarator<'t> {
    name: Node<'t>,
    has_parameters: bool,
}

/// Strips stars, brackets and parameters from a declarator.
fn innermost_declarator(declarator: Node<'_>) -> Option<Declarator<'_>> {
    let mut node = declarator;
    let mut has_parameters = false;
    loop {
        match node.kind() {
            "function_declarator" => has_parameters = true,
            "pointer_declarator"
            | "reference_declarator"
            | "parenthesized_declarator"
            | "array_declarator"
            | "attributed_declarator" => {}
            _ => return Some(Declarator { name: node, has_parameters }),
        }
        node = match node.child_by_field_name("declarator") {
            Some(inner) => inner,
            None => {
                let mut cursor = node.walk();
                node.named_children(&mut cursor).find(is_declarator)?
            }
        };
    }
}

fn is_declarator(node: &Node<'_>) -> bool {
    let kind = node.kind();
    kind.ends_with("declarator") || kind.ends_with("identifier") || kind.ends_with("_name")
}

/// Qualifiers and name, without template arguments.
fn qualified_name(site: &Site<'_, '_>, mut node: Node<'_>) -> Option<QualifiedName> {
    let mut qualifiers: Vec<String> = Vec::new();
    loop {
        match node.kind() {
            "qualified_identifier" => {
                if let Some(scope) = node.child_by_field_name("scope") {
                    qualifiers.push(site.normalized_text(strip_template_arguments(scope))?);
                }
                node = node.child_by_field_name("name")?;
            }
            "operator_cast" => {
                return Some(QualifiedName {
                    qualifiers: qualifiers.join("::"),
                    name: conversion_operator_name(site, node)?,
                });
            }
            "operator_name" => {
                let name = operator_name(&site.normalized_text(node)?);
                return Some(QualifiedName { qualifiers: qualifiers.join("::"), name });
            }
            _ => {
                let name = site.normalized_text(strip_template_arguments(node))?.replace("~ ", "~");
                return Some(QualifiedName { qualifiers: qualifiers.join("::"), name });
            }
        }
    }
}

/// `a::v1` of `a::inline v1`.
fn namespace_name(text: &str) -> String {
    let parts = text.split("::").filter_map(|part| part.split_whitespace().last());
    parts.collect::<Vec<_>>().join("::")
}

/// The name in `Name<Arguments>`.
fn strip_template_arguments(node: Node<'_>) -> Node<'_> {
    match node.kind() {
        "template_type" | "template_function" | "template_method" => {
            node.child_by_field_name("name").unwrap_or(node)
        }
        _ => node,
    }
}

/// `operator bool`, from a conversion.
fn conversion_operator_name(site: &Site<'_, '_>, node: Node<'_>) -> Option<String> {
    Some(format!("operator {}", site.normalized_text(node.child_by_field_name("type")?)?))
}

/// Normalises `operator==` and `operator new`.
fn operator_name(text: &str) -> String {
    let symbol = text.trim_start_matches("operator").trim_start();
    let is_word = symbol.starts_with(|first: char| first.is_alphabetic() || first == '_');
    if is_word {
        format!("operator {symbol}")
    } else {
        format!("operator{}", symbol.replace(' ', ""))
    }
}

fn enclosing_typedef_name<'t>(site: &Site<'_, 't>) -> Option<&'t str> {
    let typedef = site.ancestor(1).filter(|frame| frame.kind == "type_definition")?;
    typedef_name(site, typedef.node)
}

/// The first name of a `typedef`.
fn typedef_name<'t>(site: &Site<'_, 't>, typedef: Node<'t>) -> Option<&'t str> {
    let name = innermost_declarator(typedef.child_by_field_name("declarator")?)?.name;
    Some(site.text_of(name)).filter(|name| !name.is_empty())
}
