//! Python definitions and imports.

use super::{Definition, NodeRole, Site};

pub(super) fn find(site: &Site<'_, '_>) -> Option<NodeRole> {
    let definition = match site.kind {
        "function_definition" => Definition::callable(site.name()?),
        "class_definition" => Definition::type_(site.name()?),
        "type_alias_statement" => {
            let left_text = site.normalized_text(site.field("left")?)?;
            // `type Pair[T] = …`: the parameters are not part of the name.
            let name =
                left_text.split('[').next().map(str::trim).filter(|name| !name.is_empty())?;
            Definition::type_(name.to_owned())
        }
        _ => return None,
    };
    Some(definition.into_role())
}

pub(super) fn is_import(site: &Site<'_, '_>) -> bool {
    matches!(site.kind, "import_statement" | "import_from_statement" | "future_import_statement")
}
