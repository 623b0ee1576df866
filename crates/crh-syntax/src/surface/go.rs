//! Go: package-level declarations and imports.

use tree_sitter::Node;

use super::{
    CallSignature, Declaration, DeclarationKind, ImportedItem, ModuleImport, Parameter, Surface,
    children, node_text, unquoted,
};
use crate::SyntaxTree;
use crate::parse::source;

pub(super) fn surface(syntax_tree: &SyntaxTree<'_>) -> Surface {
    let text = syntax_tree.text();
    let mut surface =
        Surface { has_hidden_names: text.contains("import \"C\""), ..Surface::default() };
    let mut worklist = children(syntax_tree.tree().root_node());
    while let Some(node) = worklist.pop() {
        let mut cursor = node.walk();
        let kind = match node.kind() {
            "package_clause" => {
                surface.package = node.named_child(0).map(|it| source(&it, text).to_owned());
                continue;
            }
            "import_declaration" | "import_spec_list" | "const_declaration" | "var_declaration"
            | "var_spec_list" | "type_declaration" => {
                worklist.extend(children(node));
                continue;
            }
            "import_spec" => {
                surface.imports.extend(import(text, node));
                continue;
            }
            "function_declaration" => DeclarationKind::Function,
            "type_spec" | "type_alias" => DeclarationKind::Type,
            "const_spec" | "var_spec" => DeclarationKind::Value,
            _ => continue,
        };
        let call_signature = node.child_by_field_name("parameters").map(|it| signature(text, it));
        let names = node.children_by_field_name("name", &mut cursor);
        for name in names.filter(Node::is_named) {
            let declaration = Declaration::new(&name, text, kind);
            let is_exported = declaration.name.chars().next().is_some_and(char::is_uppercase);
            if !matches!(declaration.name.as_str(), "_" | "init" | "main") {
                surface.declarations.push(Declaration {
                    is_exported,
                    signature: call_signature.clone(),
                    ..declaration
                });
            }
        }
    }
    surface
}

fn import(text: &str, spec: Node<'_>) -> Option<ModuleImport> {
    let module = unquoted(&spec.child_by_field_name("path")?, text);
    let local_name = spec.child_by_field_name("name").map(|it| source(&it, text).to_owned());
    let item =
        if local_name.as_deref() == Some(".") { ImportedItem::All } else { ImportedItem::Module };
    Some(ModuleImport::new(module, item, local_name, &spec))
}

fn signature(text: &str, parameters: Node<'_>) -> CallSignature {
    let mut call_signature = CallSignature::default();
    for node in children(parameters) {
        match node.kind() {
            "variadic_parameter_declaration" => call_signature.has_rest = true,
            "parameter_declaration" => {
                let mut cursor = node.walk();
                let names = node.children_by_field_name("name", &mut cursor).filter(Node::is_named);
                let mut names: Vec<String> = names.map(|it| node_text(Some(it), text)).collect();
                if names.is_empty() {
                    names.push(String::new());
                }
                let parameters = names.iter().map(|name| Parameter::positional(name, true));
                call_signature.parameters.extend(parameters);
            }
            _ => {}
        }
    }
    call_signature
}
