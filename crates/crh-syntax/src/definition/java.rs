//! Definitions in tree-sitter-java's trees.

use super::{Definition, Found, Scope, Site};

pub(super) fn find(site: &Site<'_, '_>) -> Option<Found> {
    let definition = match site.kind {
        "class_declaration"
        | "interface_declaration"
        | "enum_declaration"
        | "record_declaration"
        | "annotation_type_declaration" => Definition::of_type(site.name()?),
        "method_declaration"
        | "constructor_declaration"
        | "compact_constructor_declaration"
        | "annotation_type_element_declaration" => Definition::callable(site.name()?),
        // A constant with a body is a class of its own; its methods are behind its name.
        "enum_constant" if site.field("body").is_some() => {
            return Some(Scope::of_methods(site.name()?));
        }
        "class_body" if site.kind_above(1) == "object_creation_expression" => {
            return Some(Scope::nameless());
        }
        _ => return None,
    };
    Some(definition.found())
}
