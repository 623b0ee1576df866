//! Swift definitions. Properties and subscripts belong to their type.

use super::{Definition, EnclosingScope, NodeRole, Site};

pub(super) fn find(site: &Site<'_, '_>) -> Option<NodeRole> {
    let definition = match site.kind {
        "class_declaration" => {
            let keyword = site.field("declaration_kind").map(|keyword| site.text_of(keyword));
            let name = site.name()?;
            if keyword == Some("extension") {
                let type_name = name.split('<').next().unwrap_or(&name).trim();
                return Some(EnclosingScope::methods(type_name.to_owned()));
            }
            Definition::type_(name)
        }
        "protocol_declaration" | "typealias_declaration" => Definition::type_(site.name()?),
        "function_declaration" | "protocol_function_declaration" => {
            // The field `name` is also the result type, and operators have no such field.
            Definition::callable(site.normalized_text(site.child_after("func")?)?)
        }
        "init_declaration" => Definition::callable("init".to_owned()),
        "deinit_declaration" => Definition::callable("deinit".to_owned()),
        _ => return None,
    };
    Some(definition.into_role())
}
