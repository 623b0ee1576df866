//! Rust: the items of a file and of the modules inside it, and its `use` declarations.

use tree_sitter::Node;

use super::{
    Given, Offer, OfferKind, Parameter, Shape, Surface, Take, Taken, children, line, lines, words,
};
use crate::Parsed;
use crate::parse::source;

pub(super) fn surface(parsed: &Parsed<'_>) -> Surface {
    let text = parsed.text();
    // A file of another name is nowhere near where its module is looked for.
    let elsewhere = text.lines().map(str::trim).filter(|it| it.starts_with("#[path"));
    let makers: Vec<String> = elsewhere.map(str::to_owned).collect();
    let mut surface = Surface { is_open: !makers.is_empty(), makers, ..Surface::default() };
    let mut waiting = vec![(parsed.tree().root_node(), String::new())];
    while let Some((scope, within)) = waiting.pop() {
        let mut is_conditional = false;
        for node in children(scope) {
            if matches!(node.kind(), "attribute_item" | "inner_attribute_item") {
                is_conditional |= source(&node, text).contains("cfg");
                continue;
            }
            if node.kind().ends_with("comment") {
                continue;
            }
            item(&mut surface, text, node, &within, is_conditional);
            members(&mut surface, text, node, &within, is_conditional);
            if let (true, Some(body)) =
                (node.kind() == "mod_item", node.child_by_field_name("body"))
            {
                let name = words(node.child_by_field_name("name"), text);
                let inside = if within.is_empty() { name } else { format!("{within}::{name}") };
                waiting.push((body, inside));
            }
            is_conditional = false;
        }
    }
    surface
}

fn item(surface: &mut Surface, text: &str, node: Node<'_>, within: &str, is_conditional: bool) {
    let kind = match node.kind() {
        "function_item" | "function_signature_item" => OfferKind::Function,
        "struct_item" | "enum_item" | "union_item" | "trait_item" | "type_item" => OfferKind::Type,
        "const_item" | "static_item" | "macro_definition" => OfferKind::Value,
        "mod_item" if node.child_by_field_name("body").is_none() => {
            // A module in a file of its own: it is there if the file is.
            let name = words(node.child_by_field_name("name"), text);
            let take = Take {
                module: "self".to_owned(),
                what: Taken::Name(name.clone()),
                local: Some(name),
                line: line(&node),
                statement: lines(&node),
                is_guarded: is_conditional,
                is_passed_on: true,
            };
            return push(surface, within, take);
        }
        "mod_item" => OfferKind::Module,
        "use_declaration" => return import(surface, text, node, within, is_conditional),
        "macro_invocation" | "expression_statement" | "foreign_mod_item" => {
            surface.is_open = true;
            surface.makers.push(source(&node, text).to_owned());
            return;
        }
        _ => return,
    };
    let name = node.child_by_field_name("alias").or_else(|| node.child_by_field_name("name"));
    let Some(name) = name else { return };
    let parameters = node.child_by_field_name("parameters").filter(|_| !is_conditional);
    let shape = parameters.and_then(|it| shape(text, it));
    surface.offers.push(Offer {
        within: within.to_owned(),
        shape,
        ..Offer::new(&name, text, kind)
    });
}

/// What is reached through a type: the variants of an enum, functions and constants of a plain `impl`. Their place is `Type.`, since
/// no path of modules has a dot.
fn members(surface: &mut Surface, text: &str, node: Node<'_>, within: &str, is_conditional: bool) {
    let name = match node.kind() {
        "enum_item" => node.child_by_field_name("name"),
        "impl_item" if node.child_by_field_name("trait").is_none() => {
            let owner = node.child_by_field_name("type");
            owner.map(|it| it.child_by_field_name("type").unwrap_or(it))
        }
        _ => return,
    };
    // Only what others reach by a path of files is followed.
    let (Some(name), Some(body), "") = (name, node.child_by_field_name("body"), within) else {
        return;
    };
    let mut is_conditional = is_conditional;
    for member in children(body) {
        if member.kind() == "attribute_item" {
            is_conditional |= source(&member, text).contains("cfg");
            continue;
        }
        let kind = match member.kind() {
            "enum_variant" | "const_item" => OfferKind::Value,
            "function_item" => OfferKind::Function,
            _ => continue,
        };
        let Some(own) = member.child_by_field_name("name") else { continue };
        let parameters = member.child_by_field_name("parameters").filter(|_| !is_conditional);
        let within = format!("{}.", source(&name, text));
        let shape = parameters.filter(|_| kind == OfferKind::Function);
        let shape = shape.and_then(|it| self::shape(text, it));
        surface.offers.push(Offer { within, shape, ..Offer::new(&own, text, kind) });
    }
}

fn shape(text: &str, parameters: Node<'_>) -> Option<Shape> {
    let mut shape = Shape::default();
    for node in children(parameters) {
        match node.kind() {
            "parameter" => shape.parameters.push(Parameter {
                name: words(node.child_by_field_name("pattern"), text),
                is_required: true,
                given: Given::ByPlace,
            }),
            "line_comment" | "block_comment" => {}
            _ => return None,
        }
    }
    Some(shape)
}

/// A tree of names becomes one take for each.
fn import(surface: &mut Surface, text: &str, node: Node<'_>, within: &str, is_conditional: bool) {
    let statement = lines(&node);
    let is_passed_on = children(node).iter().any(|it| it.kind() == "visibility_modifier");
    let mut waiting: Vec<(Node<'_>, String)> =
        node.child_by_field_name("argument").map(|it| (it, String::new())).into_iter().collect();
    while let Some((node, before)) = waiting.pop() {
        let joined = |path: &str| match before.is_empty() {
            true => path.to_owned(),
            false => format!("{before}::{path}"),
        };
        let (path, alias) = match node.kind() {
            "use_list" => {
                waiting.extend(children(node).into_iter().map(|it| (it, before.clone())));
                continue;
            }
            "scoped_use_list" => {
                let path = joined(&words(node.child_by_field_name("path"), text));
                waiting.extend(node.child_by_field_name("list").map(|it| (it, path)));
                continue;
            }
            "use_wildcard" => {
                let path = joined(&words(node.named_child(0), text));
                push(
                    surface,
                    within,
                    Take {
                        module: path,
                        what: Taken::All,
                        local: None,
                        line: line(&node),
                        statement,
                        is_guarded: is_conditional,
                        is_passed_on,
                    },
                );
                continue;
            }
            "use_as_clause" => {
                let alias = words(node.child_by_field_name("alias"), text);
                (joined(&words(node.child_by_field_name("path"), text)), Some(alias))
            }
            "self" => (before.clone(), None),
            "line_comment" | "block_comment" => continue,
            _ => (joined(source(&node, text)), None),
        };
        let path: String = path.split_whitespace().collect();
        let (module, name) = path.rsplit_once("::").unwrap_or(("", &path));
        let local = alias.unwrap_or_else(|| name.to_owned());
        let offer = Offer::new(&node, text, OfferKind::PassedOn);
        surface.offers.push(Offer { name: local.clone(), within: within.to_owned(), ..offer });
        let what = Taken::Name(name.to_owned());
        push(
            surface,
            within,
            Take {
                module: module.to_owned(),
                what,
                local: Some(local),
                line: line(&node),
                statement,
                is_guarded: is_conditional,
                is_passed_on,
            },
        );
    }
}

/// Paths are kept as if they stood outside of the modules in the file; what cannot be said so is left out.
fn push(surface: &mut Surface, within: &str, mut take: Take) {
    let mut depth = if within.is_empty() { 0 } else { within.split("::").count() };
    if depth > 0 && !take.module.starts_with("crate") {
        while depth > 0 {
            let Some(rest) = take.module.strip_prefix("super") else { return };
            take.module = rest.trim_start_matches("::").to_owned();
            depth -= 1;
        }
        if !take.module.starts_with("super") {
            take.module = match take.module.is_empty() {
                true => "self".to_owned(),
                false => format!("self::{}", take.module),
            };
        }
        if take.what == Taken::All {
            return;
        }
        take.is_passed_on = false;
    }
    surface.takes.push(take);
}
