//! Ruby definitions and imports.

use super::{Definition, EnclosingScope, InnerFunctions, NodeRole, Site};

pub(super) fn find(site: &Site<'_, '_>) -> Option<NodeRole> {
    let definition = match site.kind {
        "method" => Definition::callable(site.name()?),
        "singleton_method" => {
            let method = Definition::method(site.name()?);
            match site.field("object") {
                Some(object) if object.kind() != "self" => {
                    method.qualified_by(&site.normalized_text(object)?, ".")
                }
                _ => method,
            }
        }
        "class" => Definition::type_(site.name()?),
        "module" => module_definition(site.name()?),
        "singleton_class" => return Some(EnclosingScope::anonymous_type()),
        "assignment" => return class_made_by_call(site).map(Definition::into_role),
        _ => return None,
    };
    Some(definition.into_role())
}

pub(super) fn is_import(site: &Site<'_, '_>) -> bool {
    let is_load_method =
        |name| matches!(name, "require" | "require_relative" | "load" | "autoload");
    site.kind == "call"
        && site.field("receiver").is_none()
        && site.field("method").is_some_and(|method| is_load_method(site.text_of(method)))
}

/// Functions of a Ruby module are methods.
fn module_definition(name: String) -> Definition {
    Definition { inner_functions: InnerFunctions::AreMethods, ..Definition::module(name) }
}

/// `Point = Struct.new(:x, :y) do … end` and similar.
fn class_made_by_call(site: &Site<'_, '_>) -> Option<Definition> {
    let name = site.field("left").filter(|left| left.kind() == "constant")?;
    let call = site.field("right").filter(|right| right.kind() == "call")?;
    let receiver = site.text_of(call.child_by_field_name("receiver")?);
    let method = site.text_of(call.child_by_field_name("method")?);
    match (receiver, method) {
        ("Struct" | "Class", "new") | ("Data", "define") => {
            Some(Definition::type_(site.normalized_text(name)?))
        }
        ("Module", "new") => Some(module_definition(site.normalized_text(name)?)),
        _ => None,
    }
}
