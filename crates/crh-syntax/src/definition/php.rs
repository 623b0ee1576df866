//! Definitions and imports in tree-sitter-php's trees.

use super::{Definition, Found, Scope, Site};

pub(super) fn find(site: &Site<'_, '_>) -> Option<Found> {
    let definition = match site.kind {
        "function_definition" | "method_declaration" => Definition::callable(site.name()?),
        "class_declaration"
        | "interface_declaration"
        | "trait_declaration"
        | "enum_declaration" => Definition::of_type(site.name()?),
        // Without a body it names the rest of the file, which is no nesting.
        "namespace_definition" if site.field("body").is_some() => Definition::module(site.name()?),
        "anonymous_class" => return Some(Scope::nameless()),
        _ => return None,
    };
    Some(definition.found())
}

pub(super) fn is_import(site: &Site<'_, '_>) -> bool {
    match site.kind {
        "namespace_use_declaration" => true,
        "include_expression"
        | "include_once_expression"
        | "require_expression"
        | "require_once_expression" => site.kind_above(1) == "expression_statement",
        _ => false,
    }
}
