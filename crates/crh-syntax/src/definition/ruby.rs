//! Ruby definitions and imports.

use super::{Definition, EnclosingScope, InnerFunctions, NodeRole, Site};

pub(super) fn find(site: &Site<'_, '_>) -> Option<NodeRole> {
    let definition = match site.kind {
        "method" => Definition::callable(site.name()?),
        "singleton_method" => {
            let method = Definition::method(site.name()?);
            match site.field("object") {
                Some(object) if object.kind() != "self" => {
                    method.qualified_by(&site.words(object)?, ".")
                }
                _ => method,
            }
        }
        "class" => Definition::type_(site.name()?),
        "module" => module(site.name()?),
        "singleton_class" => return Some(EnclosingScope::anonymous_type()),
        "assignment" => return class_made_by_call(site).map(Definition::into_role),
        _ => return None,
    };
    Some(definition.into_role())
}

pub(super) fn is_import(site: &Site<'_, '_>) -> bool {
    let is_loading = |name| matches!(name, "require" | "require_relative" | "load" | "autoload");
    site.kind == "call"
        && site.field("receiver").is_none()
        && site.field("method").is_some_and(|method| is_loading(site.text_of(method)))
}

/// Functions of a Ruby module are methods.
fn module(name: String) -> Definition {
    Definition { inner: InnerFunctions::AreMethods, ..Definition::module(name) }
}

/// `Point = Struct.new(:x, :y) do … end` and similar.
fn class_made_by_call(site: &Site<'_, '_>) -> Option<Definition> {
    let name = site.field("left").filter(|left| left.kind() == "constant")?;
    let call = site.field("right").filter(|right| right.kind() == "call")?;
    let receiver = site.text_of(call.child_by_field_name("receiver")?);
    let method = site.text_of(call.child_by_field_name("method")?);
    match (receiver, method) {
        ("Struct" | "Class", "new") | ("Data", "define") => {
            Some(Definition::type_(site.words(name)?))
        }
        ("Module", "new") => Some(module(site.words(name)?)),
        _ => None,
    }
}
