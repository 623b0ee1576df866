//! Ruby: constants, singleton methods, and files required by path.

use tree_sitter::Node;

use super::{
    ArgumentStyle, CallSignature, Declaration, DeclarationKind, ImportedItem, ModuleImport,
    Parameter, Surface, children, line, lines, node_text, unquoted,
};
use crate::SyntaxTree;
use crate::parse::source;

/// Words that create constants at run time.
const CONSTANT_MAKERS: [&str; 2] = ["const_set", "const_missing"];

/// Words that create methods.
const METHOD_MAKERS: [&str; 5] =
    ["class_eval", "instance_eval", "define_singleton_method", "define_method", "class_exec"];

pub(super) fn surface(parsed: &SyntaxTree<'_>) -> Surface {
    let text = parsed.text();
    let mut surface = Surface {
        has_hidden_names: CONSTANT_MAKERS.iter().any(|word| text.contains(word)),
        ..Surface::default()
    };
    let mut waiting = vec![(parsed.tree().root_node(), String::new(), false)];
    while let Some((node, within, is_guarded)) = waiting.pop() {
        match node.kind() {
            "class" | "module" => {
                let Some(name) = node.child_by_field_name("name") else { continue };
                let path: String = source(&name, text).split_whitespace().collect();
                let path = path.trim_start_matches("::");
                let whole =
                    if within.is_empty() { path.to_owned() } else { format!("{within}::{path}") };
                let (around, own) = whole.rsplit_once("::").unwrap_or(("", &whole));
                let kind = declaration_kind(text, node);
                let declaration = Declaration::new(&name, text, kind);
                surface.declarations.push(Declaration {
                    name: own.to_owned(),
                    within: around.to_owned(),
                    ..declaration
                });
                let body = node.child_by_field_name("body");
                waiting.extend(body.map(|it| (it, whole.clone(), is_guarded)));
            }
            "assignment" => {
                let left = node.child_by_field_name("left").filter(|it| it.kind() == "constant");
                let declaration =
                    left.map(|it| Declaration::new(&it, text, DeclarationKind::Value));
                surface
                    .declarations
                    .extend(declaration.map(|it| Declaration { within: within.clone(), ..it }));
            }
            "singleton_method" => {
                let own = node_text(node.child_by_field_name("object"), text) == "self";
                let name = node.child_by_field_name("name").filter(|_| own);
                let declaration =
                    name.map(|it| Declaration::new(&it, text, DeclarationKind::Function));
                let call_signature = signature(text, node.child_by_field_name("parameters"));
                surface.declarations.extend(declaration.map(|it| Declaration {
                    within,
                    signature: call_signature,
                    ..it
                }));
            }
            // A method can require files, but declares nothing.
            "method" => {
                waiting.extend(node.child_by_field_name("body").map(|it| (it, within, is_guarded)));
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
                waiting.extend(parts.into_iter().map(|it| (it, within.clone(), is_guarded)));
            }
        }
    }
    surface
}

/// A type is open if it inherits or if calls may create members.
fn declaration_kind(text: &str, node: Node<'_>) -> DeclarationKind {
    let body = node.child_by_field_name("body").map(children).unwrap_or_default();
    let plain = [
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
    let is_plain = |it: &Node<'_>| match it.kind() {
        "call" => plain.contains(&node_text(it.child_by_field_name("method"), text).as_str()),
        "identifier" => plain.contains(&source(it, text)),
        "singleton_class" | "if" | "unless" | "begin" => false,
        _ => true,
    };
    let inherits = node.child_by_field_name("superclass").is_some()
        || METHOD_MAKERS.iter().any(|word| text.contains(word));
    match inherits || !body.iter().all(is_plain) {
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
        let name = source(&name, text).to_owned();
        call_signature.parameters.push(Parameter {
            name,
            is_required,
            style: ArgumentStyle::Positional,
        });
    }
    // Only the number of required arguments matters.
    call_signature.parameters.sort_by_key(|it| !it.is_required);
    Some(call_signature)
}

fn required_file(text: &str, call: Node<'_>) -> Option<ModuleImport> {
    let is_near = node_text(call.child_by_field_name("method"), text) == "require_relative";
    let argument = call.child_by_field_name("arguments").filter(|_| is_near)?.named_child(0)?;
    let is_plain = argument.kind() == "string" && !source(&argument, text).contains("#{");
    is_plain.then(|| ModuleImport {
        module: unquoted(&argument, text),
        item: ImportedItem::Module,
        local_name: None,
        line: line(&call),
        statement: lines(&call),
        is_guarded: false,
        is_reexported: false,
    })
}
