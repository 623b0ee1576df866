//! Java: types with their methods and constructors, and imports.

use std::collections::HashMap;

use tree_sitter::Node;

use super::{
    ArgumentStyle, CallSignature, Declaration, DeclarationKind, ImportedItem, ModuleImport,
    Parameter, Surface, children, line, lines, node_text,
};
use crate::SyntaxTree;
use crate::parse::source;

pub(super) fn surface(parsed: &SyntaxTree<'_>) -> Surface {
    let text = parsed.text();
    // Lombok generates constructors and methods.
    let mut surface = Surface { has_hidden_names: text.contains("lombok"), ..Surface::default() };
    let mut waiting: Vec<(Node<'_>, String)> =
        children(parsed.tree().root_node()).into_iter().map(|it| (it, String::new())).collect();
    while let Some((node, within)) = waiting.pop() {
        match node.kind() {
            "package_declaration" => {
                let name = children(node).into_iter().find(|it| it.kind().ends_with("identifier"));
                surface.package = name.map(|it| source(&it, text).to_owned());
            }
            "import_declaration" => surface.imports.extend(import(text, node)),
            "class_declaration"
            | "interface_declaration"
            | "enum_declaration"
            | "record_declaration"
            | "annotation_type_declaration" => {
                let Some(name) = node.child_by_field_name("name") else { continue };
                let own = source(&name, text);
                let inside =
                    if within.is_empty() { own.to_owned() } else { format!("{within}.{own}") };
                surface
                    .declarations
                    .push(Declaration { within, ..type_declaration(text, node, name) });
                let body = node.child_by_field_name("body").map(children).unwrap_or_default();
                let deeper = body
                    .iter()
                    .filter(|it| it.kind() == "enum_body_declarations")
                    .flat_map(|it| children(*it));
                waiting.extend(body.iter().copied().chain(deeper).map(|it| (it, inside.clone())));
            }
            "method_declaration" => {
                let Some(name) = node.child_by_field_name("name") else { continue };
                let call_signature =
                    node.child_by_field_name("parameters").map(|it| signature(text, it));
                surface.declarations.push(Declaration {
                    within,
                    signature: call_signature,
                    ..Declaration::new(&name, text, DeclarationKind::Function)
                });
            }
            "field_declaration" | "constant_declaration" => {
                let mut cursor = node.walk();
                let names = node.children_by_field_name("declarator", &mut cursor);
                for name in names.filter_map(|it| it.child_by_field_name("name")) {
                    surface.declarations.push(Declaration {
                        within: within.clone(),
                        ..Declaration::new(&name, text, DeclarationKind::Value)
                    });
                }
            }
            "enum_constant" => {
                let Some(name) = node.child_by_field_name("name") else { continue };
                surface.declarations.push(Declaration {
                    within,
                    ..Declaration::new(&name, text, DeclarationKind::Value)
                });
            }
            _ => {}
        }
    }
    drop_overloaded_signatures(&mut surface);
    surface
}

/// Drops signatures of overloaded names, which do not identify one function.
fn drop_overloaded_signatures(surface: &mut Surface) {
    let mut counts: HashMap<(String, String), usize> = HashMap::new();
    for offer in &surface.declarations {
        *counts.entry((offer.within.clone(), offer.name.clone())).or_default() += 1;
    }
    for offer in &mut surface.declarations {
        if counts.get(&(offer.within.clone(), offer.name.clone())).is_some_and(|count| *count > 1) {
            offer.signature = None;
        }
    }
}

fn type_declaration(text: &str, node: Node<'_>, name: Node<'_>) -> Declaration {
    let kind = match (node.kind(), node.child_by_field_name("interfaces")) {
        ("class_declaration", None) => DeclarationKind::Type,
        ("class_declaration", Some(_)) => DeclarationKind::Implementer,
        ("enum_declaration", None) => DeclarationKind::Enumeration,
        _ => DeclarationKind::OpenType,
    };
    let superclass = node.child_by_field_name("superclass").and_then(|it| it.named_child(0));
    let extends = superclass.map(|it| match it.kind() {
        "generic_type" => node_text(it.named_child(0), text),
        _ => source(&it, text).to_owned(),
    });
    let body = node.child_by_field_name("body").map(children).unwrap_or_default();
    let mut constructors = body.iter().filter(|it| it.kind() == "constructor_declaration");
    let call_signature = match (constructors.next(), constructors.next()) {
        (Some(only), None) if node.kind() == "class_declaration" => {
            only.child_by_field_name("parameters").map(|it| signature(text, it))
        }
        (None, _) if node.kind() == "record_declaration" => {
            node.child_by_field_name("parameters").map(|it| signature(text, it))
        }
        _ => None,
    };
    Declaration { signature: call_signature, extends, ..Declaration::new(&name, text, kind) }
}

fn signature(text: &str, parameters: Node<'_>) -> CallSignature {
    let mut call_signature = CallSignature::default();
    for node in children(parameters) {
        match node.kind() {
            "formal_parameter" => call_signature.parameters.push(Parameter {
                name: node_text(node.child_by_field_name("name"), text),
                is_required: true,
                style: ArgumentStyle::Positional,
            }),
            "spread_parameter" => call_signature.has_rest = true,
            _ => {}
        }
    }
    call_signature
}

fn import(text: &str, node: Node<'_>) -> Option<ModuleImport> {
    let path = children(node).into_iter().find(|it| it.kind().ends_with("identifier"))?;
    let path: String = source(&path, text).split_whitespace().collect();
    let is_all = children(node).iter().any(|it| it.kind() == "asterisk");
    let (module, name) = path.rsplit_once('.')?;
    let import_of = |module: &str, what, local| ModuleImport {
        module: module.to_owned(),
        item: what,
        local_name: local,
        line: line(&node),
        statement: lines(&node),
        is_guarded: false,
        is_reexported: false,
    };
    Some(match is_all {
        true => import_of(&path, ImportedItem::All, None),
        false => import_of(module, ImportedItem::Name(name.to_owned()), Some(name.to_owned())),
    })
}
