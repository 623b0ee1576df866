//! Definitions and imports in tree-sitter-ruby's trees.

use super::{Definition, Found, Holds, Scope, Site};

pub(super) fn find(site: &Site<'_, '_>) -> Option<Found> {
    let definition = match site.kind {
        "method" => Definition::callable(site.name()?),
        "singleton_method" => {
            let method = Definition::method(site.name()?);
            match site.field("object") {
                Some(object) if object.kind() != "self" => method.behind(&site.words(object)?, "."),
                _ => method,
            }
        }
        "class" => Definition::of_type(site.name()?),
        "module" => module(site.name()?),
        "singleton_class" => return Some(Scope::nameless()),
        "assignment" => return class_made_by_call(site).map(Definition::found),
        _ => return None,
    };
    Some(definition.found())
}

pub(super) fn is_import(site: &Site<'_, '_>) -> bool {
    let is_loading = |name| matches!(name, "require" | "require_relative" | "load" | "autoload");
    site.kind == "call"
        && site.field("receiver").is_none()
        && site.field("method").is_some_and(|method| is_loading(site.text_of(method)))
}

/// A module's functions are called methods in Ruby, and are.
fn module(name: String) -> Definition {
    Definition { holds: Holds::Methods, ..Definition::module(name) }
}

/// `Point = Struct.new(:x, :y) do … end` and its like.
fn class_made_by_call(site: &Site<'_, '_>) -> Option<Definition> {
    let name = site.field("left").filter(|left| left.kind() == "constant")?;
    let call = site.field("right").filter(|right| right.kind() == "call")?;
    let receiver = site.text_of(call.child_by_field_name("receiver")?);
    let method = site.text_of(call.child_by_field_name("method")?);
    match (receiver, method) {
        ("Struct" | "Class", "new") | ("Data", "define") => {
            Some(Definition::of_type(site.words(name)?))
        }
        ("Module", "new") => Some(module(site.words(name)?)),
        _ => None,
    }
}
