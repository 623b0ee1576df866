//! C# definitions and imports. Properties, indexers and events belong to their type.

use super::{Definition, NodeRole, Site};

pub(super) fn find(site: &Site<'_, '_>) -> Option<NodeRole> {
    let definition = match site.kind {
        "class_declaration"
        | "struct_declaration"
        | "interface_declaration"
        | "enum_declaration"
        | "record_declaration"
        | "delegate_declaration" => Definition::type_(site.name()?),
        "namespace_declaration" => Definition::module(site.name()?),
        "method_declaration" => {
            let method = Definition::callable(site.name()?);
            match site
                .child("explicit_interface_specifier")
                .and_then(|node| site.normalized_text(node))
            {
                Some(interface) => method.qualified_by(interface.trim_end_matches('.'), "."),
                None => method,
            }
        }
        "constructor_declaration" | "local_function_statement" => {
            Definition::callable(site.name()?)
        }
        "destructor_declaration" => Definition::callable(format!("~{}", site.name()?)),
        "operator_declaration" => {
            let operator = site.field("operator")?;
            Definition::callable(format!("operator {}", site.normalized_text(operator)?))
        }
        "conversion_operator_declaration" => {
            let target = site.field("type")?;
            Definition::callable(format!("operator {}", site.normalized_text(target)?))
        }
        _ => return None,
    };
    Some(definition.into_role())
}

pub(super) fn is_import(site: &Site<'_, '_>) -> bool {
    matches!(site.kind, "using_directive" | "extern_alias_directive")
}
