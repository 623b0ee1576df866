//! Definitions in tree-sitter-kotlin-ng's trees. Properties and their accessors are part of their type.

use super::{Definition, Found, Scope, Site};

pub(super) fn find(site: &Site<'_, '_>) -> Option<Found> {
    let definition = match site.kind {
        "class_declaration" | "object_declaration" => Definition::of_type(site.name()?),
        "companion_object" => {
            Definition::of_type(site.name().unwrap_or_else(|| "Companion".to_owned()))
        }
        "type_alias" => Definition::of_type(site.words(site.child("identifier")?)?),
        "function_declaration" => {
            let function = Definition::callable(site.name()?);
            match receiver(site) {
                Some(receiver) => function.behind(&receiver, "."),
                None => function,
            }
        }
        "secondary_constructor" => Definition::callable("constructor".to_owned()),
        // An entry with a body is a class of its own; its functions are behind its name.
        "enum_entry" if site.child("class_body").is_some() => {
            return Some(Scope::of_methods(site.words(site.child("identifier")?)?));
        }
        "object_literal" => return Some(Scope::nameless()),
        _ => return None,
    };
    Some(definition.found())
}

/// The type in `fun List<T>.second()`: what stands before the dot before the name.
fn receiver(site: &Site<'_, '_>) -> Option<String> {
    let name = site.field("name")?;
    let mut cursor = site.node.walk();
    let before: Vec<_> =
        site.node.children(&mut cursor).take_while(|child| child.id() != name.id()).collect();
    let [.., receiver, dot] = before.as_slice() else { return None };
    if dot.kind() != "." {
        return None;
    }
    let written = site.words(*receiver)?;
    let without_arguments = written.split('<').next().unwrap_or(&written);
    Some(without_arguments.trim_end_matches('?').trim().to_owned()).filter(|name| !name.is_empty())
}
