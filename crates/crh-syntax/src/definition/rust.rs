//! Rust definitions and imports. Macro calls are not parsed as items.

use tree_sitter::Node;

use super::{Definition, EnclosingScope, NodeRole, Site};

pub(super) fn find(site: &Site<'_, '_>) -> Option<NodeRole> {
    let definition = match site.kind {
        "function_item" | "macro_definition" => Definition::callable(site.name()?),
        // In an `extern` block, a signature declares a function that is defined elsewhere.
        "function_signature_item" if site.ancestor_kind(2) == "trait_item" => {
            Definition::callable(site.name()?)
        }
        "struct_item" | "enum_item" | "union_item" | "trait_item" => {
            Definition::type_(site.name()?)
        }
        // Associated types belong to their trait or `impl`.
        "type_item" if !matches!(site.ancestor_kind(2), "impl_item" | "trait_item") => {
            Definition::type_(site.name()?)
        }
        "mod_item" if site.field("body").is_some() => Definition::module(site.name()?),
        "impl_item" => return Some(EnclosingScope::methods(self_type(site, site.field("type")?)?)),
        _ => return None,
    };
    Some(definition.into_role())
}

pub(super) fn is_import(site: &Site<'_, '_>) -> bool {
    matches!(site.kind, "use_declaration" | "extern_crate_declaration")
}

/// The type of an `impl`, without references and parameters.
fn self_type(site: &Site<'_, '_>, mut node: Node<'_>) -> Option<String> {
    loop {
        node = match node.kind() {
            "generic_type" | "reference_type" => node.child_by_field_name("type")?,
            _ => return site.normalized_text(node),
        }
    }
}
