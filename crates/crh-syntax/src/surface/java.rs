//! Java: types with their methods and constructors, and imports.

use std::collections::HashMap;

use tree_sitter::Node;

use super::{
    CallSignature, Declaration, DeclarationKind, ImportedItem, ModuleImport, Parameter, Surface,
    children, node_text,
};
use crate::SyntaxTree;
use crate::parse::source;

pub(super) fn surface(syntax_tree: &SyntaxTree<'_>) -> Surface {
    let text = syntax_tree.text();
    // Lombok generates constructors and methods.
    let mut surface = Surface { has_hidden_names: text.contains("lombok"), ..Surface::default() };
    let mut worklist: Vec<(Node<'_>, String)> = children(syntax_tree.tree().root_node())
        .into_iter()
        .map(|it| (it, String::new()))
        .collect();
    while let Some((node, container)) = worklist.pop() {
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
                let own_name = source(&name, text);
                let inner_container = if container.is_empty() {
                    own_name.to_owned()
                } else {
                    format!("{container}.{own_name}")
                };
                surface
                    .declarations
                    .push(Declaration { container, ..type_declaration(text, node, name) });
                let body = node.child_by_field_name("body").map(children).unwrap_or_default();
                let enum_members = body
                    .iter()
                    .filter(|it| it.kind() == "enum_body_declarations")
                    .flat_map(|it| children(*it));
                worklist.extend(
                    body.iter()
                        .copied()
                        .chain(enum_members)
                        .map(|it| (it, inner_container.clone())),
                );
            }
            "method_declaration" => {
                let Some(name) = node.child_by_field_name("name") else { continue };
                let call_signature =
                    node.child_by_field_name("parameters").map(|it| signature(text, it));
                surface.declarations.push(Declaration {
                    container,
                    signature: call_signature,
                    ..Declaration::new(&name, text, DeclarationKind::Function)
                });
            }
            "field_declaration" | "constant_declaration" => {
                surface.declarations.extend(field_declarations(text, node, &container));
            }
            "enum_constant" => {
                let Some(name) = node.child_by_field_name("name") else { continue };
                surface.declarations.push(Declaration {
                    container,
                    ..Declaration::new(&name, text, DeclarationKind::Value)
                });
            }
            _ => {}
        }
    }
    drop_overloaded_signatures(&mut surface);
    surface
}

/// One declaration per name of a field.
fn field_declarations(text: &str, node: Node<'_>, container: &str) -> Vec<Declaration> {
    let mut cursor = node.walk();
    let declarators = node.children_by_field_name("declarator", &mut cursor);
    let names = declarators.filter_map(|declarator| declarator.child_by_field_name("name"));
    names
        .map(|name| Declaration {
            container: container.to_owned(),
            ..Declaration::new(&name, text, DeclarationKind::Value)
        })
        .collect()
}

/// Drops signatures of overloaded names, which do not identify one function.
fn drop_overloaded_signatures(surface: &mut Surface) {
    let mut counts: HashMap<(String, String), usize> = HashMap::new();
    for declaration in &surface.declarations {
        *counts.entry((declaration.container.clone(), declaration.name.clone())).or_default() += 1;
    }
    for declaration in &mut surface.declarations {
        let count = counts.get(&(declaration.container.clone(), declaration.name.clone()));
        if count.is_some_and(|count| *count > 1) {
            declaration.signature = None;
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
    let extends = superclass.map(|name| match name.kind() {
        "generic_type" => node_text(name.named_child(0), text),
        _ => source(&name, text).to_owned(),
    });
    let body = node.child_by_field_name("body").map(children).unwrap_or_default();
    let mut constructors = body.iter().filter(|it| it.kind() == "constructor_declaration");
    let call_signature = match (constructors.next(), constructors.next()) {
        (Some(constructor), None) if node.kind() == "class_declaration" => {
            constructor.child_by_field_name("parameters").map(|it| signature(text, it))
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
            "formal_parameter" => {
                let name = node_text(node.child_by_field_name("name"), text);
                call_signature.parameters.push(Parameter::positional(&name, true));
            }
            "spread_parameter" => call_signature.has_rest = true,
            _ => {}
        }
    }
    call_signature
}

fn import(text: &str, node: Node<'_>) -> Option<ModuleImport> {
    let path = children(node).into_iter().find(|it| it.kind().ends_with("identifier"))?;
    let path: String = source(&path, text).split_whitespace().collect();
    let is_wildcard = children(node).iter().any(|it| it.kind() == "asterisk");
    let (module, name) = path.rsplit_once('.')?;
    let new_import = |module: &str, item, local_name| {
        ModuleImport::new(module.to_owned(), item, local_name, &node)
    };
    Some(match is_wildcard {
        true => new_import(&path, ImportedItem::All, None),
        false => new_import(module, ImportedItem::Name(name.to_owned()), Some(name.to_owned())),
    })
}
