//! Kotlin definitions. Properties and accessors belong to their type.

use super::{Definition, EnclosingScope, NodeRole, Site};

pub(super) fn find(site: &Site<'_, '_>) -> Option<NodeRole> {
    let definition = match site.kind {
        "class_declaration" | "object_declaration" => Definition::type_(site.name()?),
        "companion_object" => {
            Definition::type_(site.name().unwrap_or_else(|| "Companion".to_owned()))
        }
        "type_alias" => Definition::type_(site.normalized_text(site.child("identifier")?)?),
        "function_declaration" => {
            let function = Definition::callable(site.name()?);
            match receiver(site) {
                Some(receiver) => function.qualified_by(&receiver, "."),
                None => function,
            }
        }
        "secondary_constructor" => Definition::callable("constructor".to_owned()),
        // An enum entry with a body is an anonymous class. Its name is the prefix of the names of
        // its functions.
        "enum_entry" if site.child("class_body").is_some() => {
            return Some(EnclosingScope::methods(site.normalized_text(site.child("identifier")?)?));
        }
        "object_literal" => return Some(EnclosingScope::anonymous_type()),
        _ => return None,
    };
    Some(definition.into_role())
}

/// The receiver type in `fun List<T>.second()`.
fn receiver(site: &Site<'_, '_>) -> Option<String> {
    let name = site.field("name")?;
    let mut cursor = site.node.walk();
    let children_before_name: Vec<_> =
        site.node.children(&mut cursor).take_while(|child| child.id() != name.id()).collect();
    let [.., receiver, dot] = children_before_name.as_slice() else { return None };
    if dot.kind() != "." {
        return None;
    }
    let receiver_text = site.normalized_text(*receiver)?;
    let type_name = receiver_text.split('<').next().unwrap_or(&receiver_text);
    Some(type_name.trim_end_matches('?').trim().to_owned()).filter(|name| !name.is_empty())
}
