//! Java: the types of a file, their methods and constructors, and its imports.

use std::collections::HashMap;

use tree_sitter::Node;

use super::{
    Given, Offer, OfferKind, Parameter, Shape, Surface, Take, Taken, children, line, lines, words,
};
use crate::Parsed;
use crate::parse::source;

pub(super) fn surface(parsed: &Parsed<'_>) -> Surface {
    let text = parsed.text();
    // Lombok writes constructors and methods that no text shows.
    let mut surface = Surface { is_open: text.contains("lombok"), ..Surface::default() };
    let mut waiting: Vec<(Node<'_>, String)> =
        children(parsed.tree().root_node()).into_iter().map(|it| (it, String::new())).collect();
    while let Some((node, within)) = waiting.pop() {
        match node.kind() {
            "package_declaration" => {
                let name = children(node).into_iter().find(|it| it.kind().ends_with("identifier"));
                surface.package = name.map(|it| source(&it, text).to_owned());
            }
            "import_declaration" => surface.takes.extend(import(text, node)),
            "class_declaration"
            | "interface_declaration"
            | "enum_declaration"
            | "record_declaration"
            | "annotation_type_declaration" => {
                let Some(name) = node.child_by_field_name("name") else { continue };
                let own = source(&name, text);
                let inside =
                    if within.is_empty() { own.to_owned() } else { format!("{within}.{own}") };
                surface.offers.push(Offer { within, ..type_offer(text, node, name) });
                let body = node.child_by_field_name("body").map(children).unwrap_or_default();
                let deeper = body
                    .iter()
                    .filter(|it| it.kind() == "enum_body_declarations")
                    .flat_map(|it| children(*it));
                waiting.extend(body.iter().copied().chain(deeper).map(|it| (it, inside.clone())));
            }
            "method_declaration" => {
                let Some(name) = node.child_by_field_name("name") else { continue };
                let shape = node.child_by_field_name("parameters").map(|it| shape(text, it));
                surface.offers.push(Offer {
                    within,
                    shape,
                    ..Offer::new(&name, text, OfferKind::Function)
                });
            }
            "field_declaration" | "constant_declaration" => {
                let mut cursor = node.walk();
                let names = node.children_by_field_name("declarator", &mut cursor);
                for name in names.filter_map(|it| it.child_by_field_name("name")) {
                    surface.offers.push(Offer {
                        within: within.clone(),
                        ..Offer::new(&name, text, OfferKind::Value)
                    });
                }
            }
            "enum_constant" => {
                let Some(name) = node.child_by_field_name("name") else { continue };
                surface.offers.push(Offer { within, ..Offer::new(&name, text, OfferKind::Value) });
            }
            _ => {}
        }
    }
    without_overloads(&mut surface);
    surface
}

/// Which of several a call means is not told by the name.
fn without_overloads(surface: &mut Surface) {
    let mut counts: HashMap<(String, String), usize> = HashMap::new();
    for offer in &surface.offers {
        *counts.entry((offer.within.clone(), offer.name.clone())).or_default() += 1;
    }
    for offer in &mut surface.offers {
        if counts.get(&(offer.within.clone(), offer.name.clone())).is_some_and(|count| *count > 1) {
            offer.shape = None;
        }
    }
}

fn type_offer(text: &str, node: Node<'_>, name: Node<'_>) -> Offer {
    let kind = match (node.kind(), node.child_by_field_name("interfaces")) {
        ("class_declaration", None) => OfferKind::Type,
        ("class_declaration", Some(_)) => OfferKind::Implementer,
        ("enum_declaration", None) => OfferKind::Enumeration,
        _ => OfferKind::OpenType,
    };
    let superclass = node.child_by_field_name("superclass").and_then(|it| it.named_child(0));
    let extends = superclass.map(|it| match it.kind() {
        "generic_type" => words(it.named_child(0), text),
        _ => source(&it, text).to_owned(),
    });
    let body = node.child_by_field_name("body").map(children).unwrap_or_default();
    let mut constructors = body.iter().filter(|it| it.kind() == "constructor_declaration");
    let shape = match (constructors.next(), constructors.next()) {
        (Some(only), None) if node.kind() == "class_declaration" => {
            only.child_by_field_name("parameters").map(|it| shape(text, it))
        }
        (None, _) if node.kind() == "record_declaration" => {
            node.child_by_field_name("parameters").map(|it| shape(text, it))
        }
        _ => None,
    };
    Offer { shape, extends, ..Offer::new(&name, text, kind) }
}

fn shape(text: &str, parameters: Node<'_>) -> Shape {
    let mut shape = Shape::default();
    for node in children(parameters) {
        match node.kind() {
            "formal_parameter" => shape.parameters.push(Parameter {
                name: words(node.child_by_field_name("name"), text),
                is_required: true,
                given: Given::ByPlace,
            }),
            "spread_parameter" => shape.has_rest = true,
            _ => {}
        }
    }
    shape
}

fn import(text: &str, node: Node<'_>) -> Option<Take> {
    let path = children(node).into_iter().find(|it| it.kind().ends_with("identifier"))?;
    let path: String = source(&path, text).split_whitespace().collect();
    let is_all = children(node).iter().any(|it| it.kind() == "asterisk");
    let (module, name) = path.rsplit_once('.')?;
    let take = |module: &str, what, local| Take {
        module: module.to_owned(),
        what,
        local,
        line: line(&node),
        statement: lines(&node),
        is_guarded: false,
        is_passed_on: false,
    };
    Some(match is_all {
        true => take(&path, Taken::All, None),
        false => take(module, Taken::Name(name.to_owned()), Some(name.to_owned())),
    })
}
