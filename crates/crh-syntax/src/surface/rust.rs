//! Rust: items of a file and its inline modules, and `use` declarations.

use tree_sitter::Node;

use super::{
    CallSignature, Declaration, DeclarationKind, ImportedItem, ModuleImport, Parameter, Surface,
    children, line_range, node_text, start_line,
};
use crate::SyntaxTree;
use crate::parse::source;

pub(super) fn surface(syntax_tree: &SyntaxTree<'_>) -> Surface {
    let text = syntax_tree.text();
    // A module with `#[path]` is in a file of another name.
    let path_attributes = text.lines().map(str::trim).filter(|it| it.starts_with("#[path"));
    let macro_texts: Vec<String> = path_attributes.map(str::to_owned).collect();
    let mut surface =
        Surface { has_hidden_names: !macro_texts.is_empty(), macro_texts, ..Surface::default() };
    let mut worklist = vec![(syntax_tree.tree().root_node(), String::new())];
    while let Some((scope, container)) = worklist.pop() {
        let mut is_conditional = false;
        for node in children(scope) {
            if matches!(node.kind(), "attribute_item" | "inner_attribute_item") {
                is_conditional |= source(&node, text).contains("cfg");
                continue;
            }
            if node.kind().ends_with("comment") {
                continue;
            }
            add_item(&mut surface, text, node, &container, is_conditional);
            add_members(&mut surface, text, node, &container, is_conditional);
            if let (true, Some(body)) =
                (node.kind() == "mod_item", node.child_by_field_name("body"))
            {
                let name = node_text(node.child_by_field_name("name"), text);
                let inner_container =
                    if container.is_empty() { name } else { format!("{container}::{name}") };
                worklist.push((body, inner_container));
            }
            is_conditional = false;
        }
    }
    surface
}

fn add_item(
    surface: &mut Surface,
    text: &str,
    node: Node<'_>,
    container: &str,
    is_conditional: bool,
) {
    let kind = match node.kind() {
        "function_item" | "function_signature_item" => DeclarationKind::Function,
        "struct_item" | "enum_item" | "union_item" | "trait_item" | "type_item" => {
            DeclarationKind::Type
        }
        "const_item" | "static_item" | "macro_definition" => DeclarationKind::Value,
        "mod_item" if node.child_by_field_name("body").is_none() => {
            // A module in its own file exists if the file does.
            let name = node_text(node.child_by_field_name("name"), text);
            let item = ImportedItem::Name(name.clone());
            let import = ModuleImport {
                is_guarded: is_conditional,
                is_reexported: true,
                ..ModuleImport::new("self".to_owned(), item, Some(name), &node)
            };
            return push_import(surface, container, import);
        }
        "mod_item" => DeclarationKind::Module,
        "use_declaration" => return add_imports(surface, text, node, container, is_conditional),
        "macro_invocation" | "expression_statement" | "foreign_mod_item" => {
            surface.has_hidden_names = true;
            surface.macro_texts.push(source(&node, text).to_owned());
            return;
        }
        _ => return,
    };
    let name = node.child_by_field_name("alias").or_else(|| node.child_by_field_name("name"));
    let Some(name) = name else { return };
    let parameters = node.child_by_field_name("parameters").filter(|_| !is_conditional);
    let call_signature = parameters.and_then(|it| signature(text, it));
    surface.declarations.push(Declaration {
        container: container.to_owned(),
        signature: call_signature,
        ..Declaration::new(&name, text, kind)
    });
}

/// Members of a type: enum variants, and functions and constants of an inherent `impl`. Their
/// container is `Type.`; no module path has a dot.
fn add_members(
    surface: &mut Surface,
    text: &str,
    node: Node<'_>,
    container: &str,
    is_conditional: bool,
) {
    let name = match node.kind() {
        "enum_item" => node.child_by_field_name("name"),
        "impl_item" if node.child_by_field_name("trait").is_none() => {
            let owner = node.child_by_field_name("type");
            owner.map(|it| it.child_by_field_name("type").unwrap_or(it))
        }
        _ => return,
    };
    // Members of types in inline modules are left out.
    let (Some(name), Some(body), "") = (name, node.child_by_field_name("body"), container) else {
        return;
    };
    let mut has_cfg = false;
    for member in children(body) {
        if member.kind() == "attribute_item" {
            has_cfg |= source(&member, text).contains("cfg");
            continue;
        }
        if member.kind().ends_with("_comment") {
            continue;
        }
        let is_conditional = std::mem::take(&mut has_cfg) || is_conditional;
        let kind = match member.kind() {
            "enum_variant" | "const_item" => DeclarationKind::Value,
            "function_item" => DeclarationKind::Function,
            _ => continue,
        };
        let Some(member_name) = member.child_by_field_name("name") else { continue };
        let parameters = member.child_by_field_name("parameters").filter(|_| !is_conditional);
        let member_container = format!("{}.", source(&name, text));
        let call_signature = parameters.filter(|_| kind == DeclarationKind::Function);
        let call_signature = call_signature.and_then(|it| signature(text, it));
        surface.declarations.push(Declaration {
            container: member_container,
            signature: call_signature,
            ..Declaration::new(&member_name, text, kind)
        });
    }
}

fn signature(text: &str, parameters: Node<'_>) -> Option<CallSignature> {
    let mut call_signature = CallSignature::default();
    for node in children(parameters) {
        match node.kind() {
            "parameter" => {
                let name = node_text(node.child_by_field_name("pattern"), text);
                call_signature.parameters.push(Parameter::positional(&name, true));
            }
            "line_comment" | "block_comment" => {}
            _ => return None,
        }
    }
    Some(call_signature)
}

/// Adds one import per name of a `use` tree.
fn add_imports(
    surface: &mut Surface,
    text: &str,
    node: Node<'_>,
    container: &str,
    is_conditional: bool,
) {
    let statement = line_range(&node);
    let is_reexported = children(node).iter().any(|it| it.kind() == "visibility_modifier");
    let mut worklist: Vec<(Node<'_>, String)> =
        node.child_by_field_name("argument").map(|it| (it, String::new())).into_iter().collect();
    while let Some((node, prefix)) = worklist.pop() {
        let join = |path: &str| match prefix.is_empty() {
            true => path.to_owned(),
            false => format!("{prefix}::{path}"),
        };
        let (path, alias) = match node.kind() {
            "use_list" => {
                worklist.extend(children(node).into_iter().map(|it| (it, prefix.clone())));
                continue;
            }
            "scoped_use_list" => {
                let path = join(&node_text(node.child_by_field_name("path"), text));
                worklist.extend(node.child_by_field_name("list").map(|it| (it, path)));
                continue;
            }
            "use_wildcard" => {
                let path = join(&node_text(node.named_child(0), text));
                push_import(
                    surface,
                    container,
                    ModuleImport {
                        module: path,
                        item: ImportedItem::All,
                        local_name: None,
                        line: start_line(&node),
                        statement,
                        is_guarded: is_conditional,
                        is_reexported,
                    },
                );
                continue;
            }
            "use_as_clause" => {
                let alias = node_text(node.child_by_field_name("alias"), text);
                (join(&node_text(node.child_by_field_name("path"), text)), Some(alias))
            }
            "self" => (prefix.clone(), None),
            "line_comment" | "block_comment" => continue,
            _ => (join(source(&node, text)), None),
        };
        let path: String = path.split_whitespace().collect();
        let (module, name) = path.rsplit_once("::").unwrap_or(("", &path));
        let local_name = alias.unwrap_or_else(|| name.to_owned());
        let declaration = Declaration::new(&node, text, DeclarationKind::Reexport);
        surface.declarations.push(Declaration {
            name: local_name.clone(),
            container: container.to_owned(),
            ..declaration
        });
        let item = ImportedItem::Name(name.to_owned());
        push_import(
            surface,
            container,
            ModuleImport {
                module: module.to_owned(),
                item,
                local_name: Some(local_name),
                line: start_line(&node),
                statement,
                is_guarded: is_conditional,
                is_reexported,
            },
        );
    }
}

/// Adds an import. In an inline module, keeps a path that starts with `crate`, and rewrites a path
/// that leaves the module through `super`, so that it is relative to the file. Drops other paths
/// there, and rewritten imports of all names.
fn push_import(surface: &mut Surface, container: &str, mut import: ModuleImport) {
    let mut depth = if container.is_empty() { 0 } else { container.split("::").count() };
    let first_segment = |path: &str| path.split("::").next().unwrap_or_default().to_owned();
    if depth > 0 && first_segment(&import.module) != "crate" {
        while depth > 0 {
            if first_segment(&import.module) != "super" {
                return;
            }
            import.module = import.module["super".len()..].trim_start_matches("::").to_owned();
            depth -= 1;
        }
        if first_segment(&import.module) != "super" {
            import.module = match import.module.is_empty() {
                true => "self".to_owned(),
                false => format!("self::{}", import.module),
            };
        }
        if import.item == ImportedItem::All {
            return;
        }
        import.is_reexported = false;
    }
    surface.imports.push(import);
}
