//! Go definitions.

use tree_sitter::Node;

use super::{Definition, NodeRole, Site, child_of};

pub(super) fn find(site: &Site<'_, '_>) -> Option<NodeRole> {
    let definition = match site.kind {
        "function_declaration" => Definition::callable(site.name()?),
        "method_declaration" => {
            let method = Definition::method(site.name()?);
            match site.field("receiver").and_then(|receiver| receiver_type(site, receiver)) {
                Some(receiver) => method.qualified_by(&receiver, "."),
                None => method,
            }
        }
        // A method of an interface.
        "method_elem" => Definition::method(site.name()?),
        "type_spec" | "type_alias" => {
            // Outside `type ( … )`, the definition also covers the keyword `type` in the parent
            // node.
            let is_in_group = site.ancestor(1)?.node.child(1)?.kind() == "(";
            let parent_levels = usize::from(!is_in_group);
            Definition::type_(site.name()?).including_parents(parent_levels)
        }
        _ => return None,
    };
    Some(definition.into_role())
}

/// The type name in `(s *Store[T])`.
fn receiver_type(site: &Site<'_, '_>, receiver: Node<'_>) -> Option<String> {
    let mut node = child_of(receiver, "parameter_declaration")?.child_by_field_name("type")?;
    loop {
        node = match node.kind() {
            "generic_type" => node.child_by_field_name("type")?,
            "pointer_type" | "parenthesized_type" => node.named_child(0)?,
            _ => return site.normalized_text(node),
        }
    }
}
