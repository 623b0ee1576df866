//! JavaScript and TypeScript definitions and imports.
//!
//! A function or class is named by its declaration, or by the variable, property, field or
//! assignment that holds it. A function passed to a call (`useCallback(() => …)`) has no name.

use tree_sitter::Node;

use super::{Definition, EnclosingScope, NodeRole, Site};

/// Maximum parentheses and type assertions around a value.
const WRAPPERS_MAX: usize = 8;

/// Maximum levels above a signature to search for a `declare`.
const AMBIENT_LEVELS: usize = 8;

pub(super) fn find(site: &Site<'_, '_>) -> Option<NodeRole> {
    let definition = match site.kind {
        "function_declaration" | "generator_function_declaration" => {
            Definition::callable(site.name()?)
        }
        "arrow_function" => return Some(EnclosingScope::functions()),
        "function_expression" | "generator_function" => match site.name() {
            Some(name) if !is_named_by_parent(site) => Definition::callable(name),
            _ => return Some(EnclosingScope::functions()),
        },
        "class" | "class_declaration" | "abstract_class_declaration" => match site.name() {
            Some(name) if !is_named_by_parent(site) => Definition::type_(name),
            _ => return Some(EnclosingScope::anonymous_type()),
        },
        "method_definition" | "abstract_method_signature" => {
            Definition::method(property_name(site, site.field("name")?)?)
        }
        "method_signature" if matches!(site.ancestor_kind(1), "interface_body" | "object_type") => {
            Definition::method(property_name(site, site.field("name")?)?)
        }
        "function_signature" if is_ambient(site) => Definition::callable(site.name()?),
        "interface_declaration" | "type_alias_declaration" | "enum_declaration" => {
            Definition::type_(site.name()?)
        }
        "internal_module" | "module" => {
            let name = property_name(site, site.field("name")?)?;
            let in_statement = site.ancestor_kind(1) == "expression_statement";
            Definition::module(name).including_parents(usize::from(in_statement))
        }
        "variable_declarator" => return variable_role(site),
        "field_definition" => return member_role(site, site.field("property")?),
        "public_field_definition" => return member_role(site, site.field("name")?),
        "pair" => return member_role(site, site.field("key")?),
        "assignment_expression" => return assignment_role(site),
        _ => return None,
    };
    Some(definition.into_role())
}

pub(super) fn is_import(site: &Site<'_, '_>) -> bool {
    match site.kind {
        "import_statement" | "import_alias" => true,
        "lexical_declaration" | "variable_declaration" => site
            .child("variable_declarator")
            .and_then(|declarator| declarator.child_by_field_name("value"))
            .is_some_and(|value| is_require(site, value)),
        "expression_statement" => {
            site.node.named_child(0).is_some_and(|expression| is_require(site, expression))
        }
        _ => false,
    }
}

enum ValueKind {
    Function,
    Class,
    Object,
}

/// `const f = () => {}`. The definition includes `const` if `f` is the only variable of the
/// statement.
fn variable_role(site: &Site<'_, '_>) -> Option<NodeRole> {
    let name = site.field("name").filter(|name| name.kind() == "identifier")?;
    let name = site.normalized_text(name)?;
    let declaration = site.ancestor(1)?;
    let is_only_variable =
        declaration.kind.ends_with("_declaration") && declaration.node.named_child_count() == 1;
    let parent_levels = usize::from(is_only_variable);
    Some(match value_kind(site.field("value")?)? {
        ValueKind::Function => {
            Definition::callable(name).including_parents(parent_levels).into_role()
        }
        ValueKind::Class => Definition::type_(name).including_parents(parent_levels).into_role(),
        ValueKind::Object => EnclosingScope::methods(name),
    })
}

/// A class field or object property that holds a function, class or object.
fn member_role(site: &Site<'_, '_>, key: Node<'_>) -> Option<NodeRole> {
    let value = value_kind(site.field("value")?)?;
    let name = property_name(site, key)?;
    Some(match value {
        ValueKind::Function => Definition::method(name).into_role(),
        ValueKind::Class => Definition::type_(name).into_role(),
        ValueKind::Object => EnclosingScope::methods(name),
    })
}

/// `exports.f = () => {}`, `Type.prototype.f = function () {}` and similar.
fn assignment_role(site: &Site<'_, '_>) -> Option<NodeRole> {
    let value = value_kind(site.field("right")?)?;
    let target_node = site.field("left")?;
    let target = match target_node.kind() {
        "identifier" | "member_expression" => site.normalized_text(target_node)?.replace(' ', ""),
        _ => return None,
    };
    let exported_name = target
        .strip_prefix("module.exports")
        .or(target.strip_prefix("exports"))
        .filter(|rest| rest.is_empty() || rest.starts_with('.'))
        .map(|rest| rest.trim_start_matches('.'));
    let (qualifiers, name, is_prototype) = match exported_name {
        Some(name) => ("", name, false),
        None => match target.rsplit_once('.') {
            Some(("this", name)) => ("", name, false),
            Some((object, name)) => match object.strip_suffix(".prototype") {
                Some(type_name) => (type_name, name, true),
                None => (object, name, false),
            },
            None => ("", target.as_str(), false),
        },
    };
    let parent_levels = usize::from(site.ancestor_kind(1) == "expression_statement");
    let definition = match (value, name) {
        (ValueKind::Object, "prototype") => {
            return Some(EnclosingScope::methods(qualifiers.to_owned()));
        }
        (ValueKind::Object, name) => return Some(EnclosingScope::methods(name.to_owned())),
        (_, "") => return None,
        (ValueKind::Function, name) if is_prototype => Definition::method(name.to_owned()),
        (ValueKind::Function, name) => Definition::callable(name.to_owned()),
        (ValueKind::Class, name) => Definition::type_(name.to_owned()),
    };
    let definition = match qualifiers {
        "" => definition,
        qualifiers => definition.qualified_by(qualifiers, "."),
    };
    Some(definition.including_parents(parent_levels).into_role())
}

fn value_kind(node: Node<'_>) -> Option<ValueKind> {
    let mut node = node;
    for _ in 0..WRAPPERS_MAX {
        node = match node.kind() {
            "arrow_function" | "function_expression" | "generator_function" => {
                return Some(ValueKind::Function);
            }
            "class" => return Some(ValueKind::Class),
            "object" => return Some(ValueKind::Object),
            kind if is_wrapper(kind) => node.named_child(0)?,
            _ => return None,
        };
    }
    None
}

/// Whether an expression of this kind has the value of its first child.
fn is_wrapper(kind: &str) -> bool {
    matches!(
        kind,
        "parenthesized_expression"
            | "as_expression"
            | "satisfies_expression"
            | "non_null_expression"
    )
}

/// Whether a variable, property, field or assignment names a function or class.
fn is_named_by_parent(site: &Site<'_, '_>) -> bool {
    let parent_kind =
        (1..=WRAPPERS_MAX).map(|levels| site.ancestor_kind(levels)).find(|kind| !is_wrapper(kind));
    matches!(
        parent_kind,
        Some(
            "variable_declarator"
                | "field_definition"
                | "public_field_definition"
                | "pair"
                | "assignment_expression"
        )
    )
}

/// Whether a signature is in a `declare`, where no body follows.
fn is_ambient(site: &Site<'_, '_>) -> bool {
    (1..=AMBIENT_LEVELS).any(|levels| site.ancestor_kind(levels) == "ambient_declaration")
}

/// Property name without quotes. `[Symbol.iterator]` stays.
fn property_name(site: &Site<'_, '_>, node: Node<'_>) -> Option<String> {
    let name = site.normalized_text(node)?;
    if node.kind() != "string" {
        return Some(name);
    }
    Some(name.trim_matches(['"', '\'']).to_owned()).filter(|name| !name.is_empty())
}

/// Whether a value is `require(…)`, or a member or call of its result.
fn is_require(site: &Site<'_, '_>, node: Node<'_>) -> bool {
    let mut node = node;
    for _ in 0..WRAPPERS_MAX {
        let inner = match node.kind() {
            "call_expression" => {
                let function = node.child_by_field_name("function");
                if function.is_some_and(|function| site.text_of(function) == "require") {
                    return true;
                }
                function
            }
            "member_expression" => node.child_by_field_name("object"),
            _ => None,
        };
        match inner {
            Some(inner) => node = inner,
            None => return false,
        }
    }
    false
}
