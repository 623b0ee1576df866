//! Definitions and imports in tree-sitter-c-sharp's trees. Properties, indexers and events are part of their
//! type.

use super::{Definition, Found, Site};

pub(super) fn find(site: &Site<'_, '_>) -> Option<Found> {
    let definition = match site.kind {
        "class_declaration"
        | "struct_declaration"
        | "interface_declaration"
        | "enum_declaration"
        | "record_declaration"
        | "delegate_declaration" => Definition::of_type(site.name()?),
        "namespace_declaration" => Definition::module(site.name()?),
        "method_declaration" => {
            let method = Definition::callable(site.name()?);
            match site.child("explicit_interface_specifier").and_then(|node| site.words(node)) {
                Some(interface) => method.behind(interface.trim_end_matches('.'), "."),
                None => method,
            }
        }
        "constructor_declaration" | "local_function_statement" => {
            Definition::callable(site.name()?)
        }
        "destructor_declaration" => Definition::callable(format!("~{}", site.name()?)),
        "operator_declaration" => {
            let operator = site.field("operator")?;
            Definition::callable(format!("operator {}", site.words(operator)?))
        }
        "conversion_operator_declaration" => {
            let target = site.field("type")?;
            Definition::callable(format!("operator {}", site.words(target)?))
        }
        _ => return None,
    };
    Some(definition.found())
}

pub(super) fn is_import(site: &Site<'_, '_>) -> bool {
    matches!(site.kind, "using_directive" | "extern_alias_directive")
}
