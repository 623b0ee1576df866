//! PHP definitions and imports.

use super::{Definition, EnclosingScope, NodeRole, Site};

pub(super) fn find(site: &Site<'_, '_>) -> Option<NodeRole> {
    let definition = match site.kind {
        "function_definition" | "method_declaration" => Definition::callable(site.name()?),
        "class_declaration"
        | "interface_declaration"
        | "trait_declaration"
        | "enum_declaration" => Definition::type_(site.name()?),
        // A namespace without a body applies to the rest of the file and is not nested.
        "namespace_definition" if site.field("body").is_some() => Definition::module(site.name()?),
        "anonymous_class" => return Some(EnclosingScope::anonymous_type()),
        _ => return None,
    };
    Some(definition.into_role())
}

pub(super) fn is_import(site: &Site<'_, '_>) -> bool {
    match site.kind {
        "namespace_use_declaration" => true,
        "include_expression"
        | "include_once_expression"
        | "require_expression"
        | "require_once_expression" => site.ancestor_kind(1) == "expression_statement",
        _ => false,
    }
}
