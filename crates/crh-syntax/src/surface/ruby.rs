//! Ruby: constants, singleton methods, and files required by path.

use tree_sitter::Node;

use super::{
    CallSignature, Declaration, DeclarationKind, ImportedItem, ModuleImport, Parameter, Surface,
    children, node_text, unquoted,
};
use crate::SyntaxTree;
use crate::parse::source;

/// Methods that create constants at run time.
const CONSTANT_MAKERS: [&str; 2] = ["const_set", "const_missing"];

/// Methods that create methods at run time.
const METHOD_MAKERS: [&str; 5] =
    ["class_eval", "instance_eval", "define_singleton_method", "define_method", "class_exec"];

pub(super) fn surface(syntax_tree: &SyntaxTree<'_>) -> Surface {
    let text = syntax_tree.text();
    let mut surface = Surface {
        has_hidden_names: CONSTANT_MAKERS.iter().any(|word| text.contains(word)),
        ..Surface::default()
    };
    let mut worklist = vec![(syntax_tree.tree().root_node(), String::new(), false)];
    while let Some((node, container, is_guarded)) = worklist.pop() {
        match node.kind() {
            "class" | "module" => {
                let Some(name) = node.child_by_field_name("name") else { continue };
                let path: String = source(&name, text).split_whitespace().collect();
                let path = path.trim_start_matches("::");
                let full_path = if container.is_empty() {
                    path.to_owned()
                } else {
                    format!("{container}::{path}")
                };
                let (outer_path, own_name) =
                    full_path.rsplit_once("::").unwrap_or(("", &full_path));
                let kind = declaration_kind(text, node);
                let declaration = Declaration::new(&name, text, kind);
                surface.declarations.push(Declaration {
                    name: own_name.to_owned(),
                    container: outer_path.to_owned(),
                    ..declaration
                });
                let body = node.child_by_field_name("body");
                worklist.extend(body.map(|it| (it, full_path.clone(), is_guarded)));
            }
            "assignment" => {
                let left = node.child_by_field_name("left").filter(|it| it.kind() == "constant");
                let declaration =
                    left.map(|it| Declaration::new(&it, text, DeclarationKind::Value));
                surface.declarations.extend(
                    declaration.map(|it| Declaration { container: container.clone(), ..it }),
                );
            }
            "singleton_method" => {
                let is_on_self = node_text(node.child_by_field_name("object"), text) == "self";
                let name = node.child_by_field_name("name").filter(|_| is_on_self);
                let declaration =
                    name.map(|it| Declaration::new(&it, text, DeclarationKind::Function));
                let call_signature = signature(text, node.child_by_field_name("parameters"));
                surface.declarations.extend(declaration.map(|declaration| Declaration {
                    container,
                    signature: call_signature,
                    ..declaration
                }));
            }
            // A method can require files, but declares nothing.
            "method" => {
                worklist
                    .extend(node.child_by_field_name("body").map(|it| (it, container, is_guarded)));
            }
            "call" => {
                surface
                    .imports
                    .extend(required_file(text, node).map(|it| ModuleImport { is_guarded, ..it }));
            }
            _ => {
                let parts = children(node);
                let is_guarded = is_guarded
                    || node.kind() == "rescue_modifier"
                    || parts.iter().any(|it| it.kind() == "rescue");
                worklist.extend(parts.into_iter().map(|it| (it, container.clone(), is_guarded)));
            }
        }
    }
    surface
}

/// A type is open if it inherits or if calls may create members.
fn declaration_kind(text: &str, node: Node<'_>) -> DeclarationKind {
    let body = node.child_by_field_name("body").map(children).unwrap_or_default();
    let harmless_calls = [
        "private_constant",
        "private",
        "public",
        "protected",
        "private_class_method",
        "attr_reader",
        "attr_accessor",
        "attr_writer",
        "require",
        "require_relative",
    ];
    let creates_no_members = |statement: &Node<'_>| match statement.kind() {
        "call" => harmless_calls
            .contains(&node_text(statement.child_by_field_name("method"), text).as_str()),
        "identifier" => harmless_calls.contains(&source(statement, text)),
        "singleton_class" | "if" | "unless" | "begin" => false,
        _ => true,
    };
    let inherits = node.child_by_field_name("superclass").is_some()
        || METHOD_MAKERS.iter().any(|word| text.contains(word));
    match inherits || !body.iter().all(creates_no_members) {
        true => DeclarationKind::OpenType,
        false => DeclarationKind::Type,
    }
}

/// Signature of a method; `None` with keyword parameters, because callers may pass a hash.
fn signature(text: &str, parameters: Option<Node<'_>>) -> Option<CallSignature> {
    let mut call_signature = CallSignature::default();
    for node in parameters.map(children).unwrap_or_default() {
        let is_required = match node.kind() {
            "identifier" | "destructured_parameter" => true,
            "optional_parameter" => false,
            "splat_parameter" => {
                call_signature.has_rest = true;
                continue;
            }
            "block_parameter" | "comment" => continue,
            _ => return None,
        };
        let name = node.child_by_field_name("name").unwrap_or(node);
        let parameter = Parameter::positional(source(&name, text), is_required);
        call_signature.parameters.push(parameter);
    }
    // Only the number of required arguments matters.
    call_signature.parameters.sort_by_key(|it| !it.is_required);
    Some(call_signature)
}

fn required_file(text: &str, call: Node<'_>) -> Option<ModuleImport> {
    let is_relative = node_text(call.child_by_field_name("method"), text) == "require_relative";
    let argument = call.child_by_field_name("arguments").filter(|_| is_relative)?.named_child(0)?;
    let is_literal = argument.kind() == "string" && !source(&argument, text).contains("#{");
    let module = is_literal.then(|| unquoted(&argument, text))?;
    Some(ModuleImport::new(module, ImportedItem::Module, None, &call))
}
