//! Ruby: constants with what is around them, methods that belong to a constant, and files that are required by their place.

use tree_sitter::Node;

use super::{
    Given, Offer, OfferKind, Parameter, Shape, Surface, Take, Taken, children, line, lines,
    unquoted, words,
};
use crate::Parsed;
use crate::parse::source;

/// Words that make constants while the text runs.
const MAKES_NAMES: [&str; 2] = ["const_set", "const_missing"];

/// Words that make methods.
const MAKES_METHODS: [&str; 5] =
    ["class_eval", "instance_eval", "define_singleton_method", "define_method", "class_exec"];

pub(super) fn surface(parsed: &Parsed<'_>) -> Surface {
    let text = parsed.text();
    let mut surface = Surface {
        is_open: MAKES_NAMES.iter().any(|word| text.contains(word)),
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
                let kind = kind(text, node);
                let offer = Offer::new(&name, text, kind);
                surface.offers.push(Offer {
                    name: own.to_owned(),
                    within: around.to_owned(),
                    ..offer
                });
                let body = node.child_by_field_name("body");
                waiting.extend(body.map(|it| (it, whole.clone(), is_guarded)));
            }
            "assignment" => {
                let left = node.child_by_field_name("left").filter(|it| it.kind() == "constant");
                let offer = left.map(|it| Offer::new(&it, text, OfferKind::Value));
                surface.offers.extend(offer.map(|it| Offer { within: within.clone(), ..it }));
            }
            "singleton_method" => {
                let own = words(node.child_by_field_name("object"), text) == "self";
                let name = node.child_by_field_name("name").filter(|_| own);
                let offer = name.map(|it| Offer::new(&it, text, OfferKind::Function));
                let shape = shape(text, node.child_by_field_name("parameters"));
                surface.offers.extend(offer.map(|it| Offer { within, shape, ..it }));
            }
            // Inside of a method a file can be required, and nothing can be offered.
            "method" => {
                waiting.extend(node.child_by_field_name("body").map(|it| (it, within, is_guarded)));
            }
            "call" => {
                surface.takes.extend(required(text, node).map(|it| Take { is_guarded, ..it }));
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

/// Whether all that a class or module has is what its body shows: nothing inherited, nothing made by calls.
fn kind(text: &str, node: Node<'_>) -> OfferKind {
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
        "call" => plain.contains(&words(it.child_by_field_name("method"), text).as_str()),
        "identifier" => plain.contains(&source(it, text)),
        "singleton_class" | "if" | "unless" | "begin" => false,
        _ => true,
    };
    let inherits = node.child_by_field_name("superclass").is_some()
        || MAKES_METHODS.iter().any(|word| text.contains(word));
    match inherits || !body.iter().all(is_plain) {
        true => OfferKind::OpenType,
        false => OfferKind::Type,
    }
}

/// What a method is called with; none if anything is given by name, since that may be written as a hash.
fn shape(text: &str, parameters: Option<Node<'_>>) -> Option<Shape> {
    let mut shape = Shape::default();
    for node in parameters.map(children).unwrap_or_default() {
        let is_required = match node.kind() {
            "identifier" | "destructured_parameter" => true,
            "optional_parameter" => false,
            "splat_parameter" => {
                shape.has_rest = true;
                continue;
            }
            "block_parameter" | "comment" => continue,
            _ => return None,
        };
        let name = node.child_by_field_name("name").unwrap_or(node);
        let name = source(&name, text).to_owned();
        shape.parameters.push(Parameter { name, is_required, given: Given::ByPlace });
    }
    // Which of several is meant by which argument does not matter, but how many have to be given does.
    shape.parameters.sort_by_key(|it| !it.is_required);
    Some(shape)
}

fn required(text: &str, call: Node<'_>) -> Option<Take> {
    let is_near = words(call.child_by_field_name("method"), text) == "require_relative";
    let argument = call.child_by_field_name("arguments").filter(|_| is_near)?.named_child(0)?;
    let is_plain = argument.kind() == "string" && !source(&argument, text).contains("#{");
    is_plain.then(|| Take {
        module: unquoted(&argument, text),
        what: Taken::Module,
        local: None,
        line: line(&call),
        statement: lines(&call),
        is_guarded: false,
        is_passed_on: false,
    })
}
