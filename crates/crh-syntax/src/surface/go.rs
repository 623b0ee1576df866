//! Go: what a file adds to its package, and which packages it imports.

use tree_sitter::Node;

use super::{
    Given, Offer, OfferKind, Parameter, Shape, Surface, Take, Taken, children, line, lines,
    unquoted, words,
};
use crate::Parsed;
use crate::parse::source;

pub(super) fn surface(parsed: &Parsed<'_>) -> Surface {
    let text = parsed.text();
    let mut surface = Surface { is_open: text.contains("import \"C\""), ..Surface::default() };
    let mut waiting = children(parsed.tree().root_node());
    while let Some(node) = waiting.pop() {
        let mut cursor = node.walk();
        let kind = match node.kind() {
            "package_clause" => {
                surface.package = node.named_child(0).map(|it| source(&it, text).to_owned());
                continue;
            }
            "import_declaration" | "import_spec_list" | "const_declaration" | "var_declaration"
            | "var_spec_list" | "type_declaration" => {
                waiting.extend(children(node));
                continue;
            }
            "import_spec" => {
                surface.takes.extend(import(text, node));
                continue;
            }
            "function_declaration" => OfferKind::Function,
            "type_spec" | "type_alias" => OfferKind::Type,
            "const_spec" | "var_spec" => OfferKind::Value,
            _ => continue,
        };
        let shape = node.child_by_field_name("parameters").map(|it| shape(text, it));
        let names = node.children_by_field_name("name", &mut cursor);
        for name in names.filter(Node::is_named) {
            let offer = Offer::new(&name, text, kind);
            let is_exported = offer.name.chars().next().is_some_and(char::is_uppercase);
            if !matches!(offer.name.as_str(), "_" | "init" | "main") {
                surface.offers.push(Offer { is_exported, shape: shape.clone(), ..offer });
            }
        }
    }
    surface
}

fn import(text: &str, spec: Node<'_>) -> Option<Take> {
    let module = unquoted(&spec.child_by_field_name("path")?, text);
    let local = spec.child_by_field_name("name").map(|it| source(&it, text).to_owned());
    let what = if local.as_deref() == Some(".") { Taken::All } else { Taken::Module };
    Some(Take {
        module,
        what,
        local,
        line: line(&spec),
        statement: lines(&spec),
        is_guarded: false,
        is_passed_on: false,
    })
}

fn shape(text: &str, parameters: Node<'_>) -> Shape {
    let mut shape = Shape::default();
    for node in children(parameters) {
        match node.kind() {
            "variadic_parameter_declaration" => shape.has_rest = true,
            "parameter_declaration" => {
                let mut cursor = node.walk();
                let names = node.children_by_field_name("name", &mut cursor).filter(Node::is_named);
                let mut names: Vec<String> = names.map(|it| words(Some(it), text)).collect();
                if names.is_empty() {
                    names.push(String::new());
                }
                shape.parameters.extend(names.into_iter().map(|name| Parameter {
                    name,
                    is_required: true,
                    given: Given::ByPlace,
                }));
            }
            _ => {}
        }
    }
    shape
}
