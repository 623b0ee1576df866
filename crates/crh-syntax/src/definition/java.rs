//! Java definitions.

use super::{Definition, EnclosingScope, NodeRole, Site};

pub(super) fn find(site: &Site<'_, '_>) -> Option<NodeRole> {
    let definition = match site.kind {
        "class_declaration"
        | "interface_declaration"
        | "enum_declaration"
        | "record_declaration"
        | "annotation_type_declaration" => Definition::type_(site.name()?),
        "method_declaration"
        | "constructor_declaration"
        | "compact_constructor_declaration"
        | "annotation_type_element_declaration" => Definition::callable(site.name()?),
        // An enum constant with a body is an anonymous class. Its name is the prefix of the names
        // of its methods.
        "enum_constant" if site.field("body").is_some() => {
            return Some(EnclosingScope::methods(site.name()?));
        }
        "class_body" if site.ancestor_kind(1) == "object_creation_expression" => {
            return Some(EnclosingScope::anonymous_type());
        }
        _ => return None,
    };
    Some(definition.into_role())
}
