//! JavaScript and TypeScript: what a module exports, what else it names at its outermost level, and what it imports or requires.

use tree_sitter::Node;

use super::{
    Given, Offer, OfferKind, Parameter, Shape, Surface, Take, Taken, children, line, lines,
    unquoted, words,
};
use crate::parse::source;
use crate::{Language, Parsed};

pub(super) fn surface(parsed: &Parsed<'_>) -> Surface {
    let text = parsed.text();
    let mut surface = Surface::default();
    let is_typed = parsed.language() != Language::JavaScript;
    let mut is_standard = false;
    for node in children(parsed.tree().root_node()) {
        let before = surface.takes.len();
        is_standard |= matches!(node.kind(), "export_statement" | "import_statement");
        match node.kind() {
            "export_statement" => export(&mut surface, text, node, is_typed),
            "import_statement" => import(&mut surface, text, node),
            _ => own(&mut surface, text, node, is_typed),
        }
        for take in &mut surface.takes[before..] {
            take.statement = lines(&node);
        }
    }
    common_js(&mut surface, parsed, is_standard);
    if text.contains("require(") || text.contains("import(") {
        surface.takes.extend(loaded(parsed));
    }
    // Overloads, and a type beside a function: which shape a call has is not told by the name.
    let mut names: Vec<(&str, bool)> =
        surface.offers.iter().map(|it| (it.name.as_str(), it.is_exported)).collect();
    names.sort_unstable();
    let twice: Vec<String> = names
        .windows(2)
        .filter(|pair| pair[0] == pair[1])
        .map(|pair| pair[0].0.to_owned())
        .collect();
    for offer in &mut surface.offers {
        if twice.binary_search(&offer.name).is_ok() {
            offer.shape = None;
        }
    }
    surface
}

/// What a statement that is no export names.
fn own(surface: &mut Surface, text: &str, node: Node<'_>, is_typed: bool) {
    let mut offers = declared(text, node, is_typed);
    offers.iter_mut().for_each(|it| it.is_exported = false);
    surface.offers.extend(offers);
    if matches!(node.kind(), "lexical_declaration" | "variable_declaration") {
        required(surface, text, node);
    }
}

/// The names that a declaration gives.
fn declared(text: &str, node: Node<'_>, is_typed: bool) -> Vec<Offer> {
    let name = node.child_by_field_name("name");
    let offer = |kind| name.map(|name| Offer::new(&name, text, kind)).into_iter().collect();
    match node.kind() {
        "function_declaration" | "generator_function_declaration" => {
            let shape = is_typed.then(|| shape(text, node)).flatten();
            let offers: Vec<Offer> = offer(OfferKind::Function);
            offers.into_iter().map(|it| Offer { shape: shape.clone(), ..it }).collect()
        }
        "function_signature" => offer(OfferKind::Function),
        "class_declaration"
        | "abstract_class_declaration"
        | "interface_declaration"
        | "type_alias_declaration"
        | "enum_declaration" => offer(OfferKind::Type),
        "internal_module" | "module" => offer(OfferKind::Module),
        "import_alias" => children(node)
            .first()
            .map(|it| Offer::new(it, text, OfferKind::PassedOn))
            .into_iter()
            .collect(),
        "expression_statement" | "ambient_declaration" => {
            let inner = children(node).into_iter().filter(|it| {
                it.kind() == "internal_module" || node.kind() == "ambient_declaration"
            });
            inner
                .filter(|it| it.kind() != "ambient_declaration")
                .flat_map(|it| declared(text, it, is_typed))
                .collect()
        }
        "lexical_declaration" | "variable_declaration" => children(node)
            .into_iter()
            .filter(|it| it.kind() == "variable_declarator")
            .flat_map(|it| variables(text, it, is_typed))
            .collect(),
        _ => Vec::new(),
    }
}

fn variables(text: &str, declarator: Node<'_>, is_typed: bool) -> Vec<Offer> {
    let Some(name) = declarator.child_by_field_name("name") else { return Vec::new() };
    let value = declarator.child_by_field_name("value");
    let function = value.filter(|it| {
        matches!(it.kind(), "arrow_function" | "function_expression")
            && declarator.child_by_field_name("type").is_none()
    });
    if name.kind() == "identifier" {
        let kind = if function.is_some() { OfferKind::Function } else { OfferKind::Value };
        let shape = function.filter(|_| is_typed).and_then(|it| shape(text, it));
        return vec![Offer { shape, ..Offer::new(&name, text, kind) }];
    }
    pattern_names(text, name)
}

/// The names that a pattern binds.
fn pattern_names(text: &str, pattern: Node<'_>) -> Vec<Offer> {
    let mut offers = Vec::new();
    let mut waiting = vec![pattern];
    while let Some(node) = waiting.pop() {
        match node.kind() {
            "identifier" | "shorthand_property_identifier_pattern" => {
                offers.push(Offer::new(&node, text, OfferKind::Value));
            }
            "pair_pattern" => waiting.extend(node.child_by_field_name("value")),
            "assignment_pattern" | "object_assignment_pattern" => {
                waiting.extend(node.child_by_field_name("left"));
            }
            _ => waiting.extend(children(node)),
        }
    }
    offers
}

fn shape(text: &str, function: Node<'_>) -> Option<Shape> {
    let mut shape = Shape::default();
    let Some(parameters) = function.child_by_field_name("parameters") else {
        // `x => …`
        let name = function.child_by_field_name("parameter")?;
        let name = source(&name, text).to_owned();
        shape.parameters.push(Parameter { name, is_required: false, given: Given::ByPlace });
        return Some(shape);
    };
    for node in children(parameters) {
        let pattern = node.child_by_field_name("pattern").unwrap_or(node);
        match (node.kind(), pattern.kind()) {
            ("comment", _) | (_, "this") => {}
            (_, "rest_pattern") => shape.has_rest = true,
            ("required_parameter" | "optional_parameter", _) => {
                let typed = words(node.child_by_field_name("type"), text);
                // What may be void need not be given.
                let is_void =
                    typed.trim_start_matches(':').split('|').any(|it| it.trim() == "void");
                let is_required = node.kind() == "required_parameter"
                    && node.child_by_field_name("value").is_none()
                    && !is_void;
                let name = source(&pattern, text).to_owned();
                shape.parameters.push(Parameter { name, is_required, given: Given::ByPlace });
            }
            _ => return None,
        }
    }
    Some(shape)
}

fn export(surface: &mut Surface, text: &str, node: Node<'_>, is_typed: bool) {
    let parts = children(node);
    let module = node.child_by_field_name("source").map(|it| unquoted(&it, text));
    if let Some(declaration) = node.child_by_field_name("declaration") {
        let mut offers = declared(text, declaration, is_typed);
        if is_default(node) {
            let mut local = offers.clone();
            local.iter_mut().for_each(|it| it.is_exported = false);
            surface.offers.extend(local);
            let offer = Offer::new(&node, text, OfferKind::Value);
            let shape = offers.first().and_then(|it| it.shape.clone());
            offers = vec![Offer { name: "default".to_owned(), shape, ..offer }];
        }
        surface.offers.extend(offers);
        return;
    }
    if node.child_by_field_name("value").is_some() || is_default(node) {
        let offer = Offer::new(&node, text, OfferKind::Value);
        surface.offers.push(Offer { name: "default".to_owned(), ..offer });
        return;
    }
    let Some(clause) = parts.iter().find(|it| it.kind() == "export_clause") else {
        let named = parts.iter().find(|it| it.kind() == "namespace_export");
        match (named.and_then(|it| it.named_child(0)), module) {
            (Some(name), Some(module)) => {
                surface.offers.push(Offer::new(&name, text, OfferKind::PassedOn));
                surface.takes.push(take(module, Taken::Module, None, &node, Passed::On));
            }
            (None, Some(module)) => {
                surface.takes.push(take(module, Taken::All, None, &node, Passed::On));
            }
            // `export = x`, `export as namespace x`.
            (_, None) => surface.is_open = true,
        }
        return;
    };
    for specifier in children(*clause).iter().filter(|it| it.kind() == "export_specifier") {
        let Some(name) = specifier.child_by_field_name("name") else { continue };
        let shown = specifier.child_by_field_name("alias").unwrap_or(name);
        let offer = Offer::new(&shown, text, OfferKind::PassedOn);
        surface.offers.push(Offer { name: unquoted(&shown, text), ..offer });
        let Some(module) = &module else { continue };
        let what = Taken::Name(unquoted(&name, text));
        surface.takes.push(take(module.clone(), what, None, specifier, Passed::On));
    }
}

fn is_default(export: Node<'_>) -> bool {
    export.children(&mut export.walk()).any(|it| it.kind() == "default")
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Passed {
    On,
    Not,
}

fn take(module: String, what: Taken, local: Option<String>, at: &Node<'_>, passed: Passed) -> Take {
    Take {
        module,
        what,
        local,
        line: line(at),
        statement: lines(at),
        is_guarded: false,
        is_passed_on: passed == Passed::On,
    }
}

fn import(surface: &mut Surface, text: &str, node: Node<'_>) {
    let parts = children(node);
    if let Some(clause) = parts.iter().find(|it| it.kind() == "import_require_clause") {
        let module = clause.child_by_field_name("source").map(|it| unquoted(&it, text));
        let local = clause.named_child(0).map(|it| source(&it, text).to_owned());
        let module = module.unwrap_or_default();
        surface.takes.push(take(module, Taken::Module, local, &node, Passed::Not));
        return;
    }
    let Some(module) = node.child_by_field_name("source").map(|it| unquoted(&it, text)) else {
        return;
    };
    let Some(clause) = parts.iter().find(|it| it.kind() == "import_clause") else {
        surface.takes.push(take(module, Taken::Module, None, &node, Passed::Not));
        return;
    };
    for part in children(*clause) {
        let word = |node: Node<'_>| source(&node, text).to_owned();
        match part.kind() {
            "identifier" => {
                let what = Taken::Name("default".to_owned());
                surface.takes.push(take(
                    module.clone(),
                    what,
                    Some(word(part)),
                    &part,
                    Passed::Not,
                ));
            }
            "namespace_import" => {
                let local = part.named_child(0).map(word);
                surface.takes.push(take(module.clone(), Taken::Module, local, &part, Passed::Not));
            }
            "named_imports" => {
                let before = surface.takes.len();
                for it in children(part).into_iter().filter(|it| it.kind() == "import_specifier") {
                    let Some(name) = it.child_by_field_name("name") else { continue };
                    let local = it.child_by_field_name("alias").unwrap_or(name);
                    let what = Taken::Name(unquoted(&name, text));
                    surface.takes.push(take(
                        module.clone(),
                        what,
                        Some(word(local)),
                        &it,
                        Passed::Not,
                    ));
                }
                if surface.takes.len() == before {
                    surface.takes.push(take(
                        module.clone(),
                        Taken::Module,
                        None,
                        &part,
                        Passed::Not,
                    ));
                }
            }
            _ => {}
        }
    }
}

/// What a declaration at the outermost level requires.
fn required(surface: &mut Surface, text: &str, declaration: Node<'_>) {
    for declarator in children(declaration) {
        let value = declarator.child_by_field_name("value");
        let Some((module, member)) = value.and_then(|it| require(text, it)) else { continue };
        let Some(name) = declarator.child_by_field_name("name") else { continue };
        let word = |node: Node<'_>| source(&node, text).to_owned();
        let mut push = |what, local, at: Node<'_>| {
            surface.takes.push(take(module.clone(), what, Some(local), &at, Passed::Not));
        };
        match (name.kind(), member) {
            ("identifier", Some(member)) => push(Taken::Name(member), word(name), declarator),
            ("identifier", None) => push(Taken::Module, word(name), declarator),
            ("object_pattern", None) => {
                for it in children(name) {
                    match it.kind() {
                        "shorthand_property_identifier_pattern" => {
                            push(Taken::Name(word(it)), word(it), it);
                        }
                        "pair_pattern" => {
                            let (key, value) =
                                (it.child_by_field_name("key"), it.child_by_field_name("value"));
                            if let (Some(key), Some(value)) = (key, value) {
                                push(Taken::Name(word(key)), word(value), it);
                            }
                        }
                        // One with a default may well be missing.
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }
}

/// The module of `require("x")`, and the name of `require("x").name`.
fn require(text: &str, node: Node<'_>) -> Option<(String, Option<String>)> {
    if node.kind() == "member_expression" {
        let (module, _) =
            require(text, node.child_by_field_name("object")?).filter(|it| it.1.is_none())?;
        return Some((module, Some(words(node.child_by_field_name("property"), text))));
    }
    let is_require = node.kind() == "call_expression"
        && node.child_by_field_name("function").is_some_and(|it| source(&it, text) == "require");
    let module = node.child_by_field_name("arguments").filter(|_| is_require)?.named_child(0)?;
    (module.kind() == "string").then(|| (unquoted(&module, text), None))
}

/// The modules that are loaded by calls, wherever they stand: `require("./x")`, `import("./x")`.
fn loaded(parsed: &Parsed<'_>) -> Vec<Take> {
    let text = parsed.text();
    let mut cursor = parsed.tree().walk();
    let mut takes = Vec::new();
    // For each node around, whether what is inside may fail.
    let mut around: Vec<bool> = Vec::new();
    loop {
        let node = cursor.node();
        let is_guarded = around.last().is_some_and(|it| *it);
        if node.kind() == "call_expression"
            && let Some(module) = module_of(text, node)
        {
            let mut take = take(module, Taken::Module, None, &node, Passed::Not);
            take.is_guarded = is_guarded;
            takes.push(take);
        }
        if cursor.goto_first_child() {
            around.push(is_guarded || may_fail(text, node));
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return takes;
            }
            around.pop();
        }
    }
}

/// The module that a call loads.
fn module_of(text: &str, call: Node<'_>) -> Option<String> {
    let function = call.child_by_field_name("function")?;
    if !matches!(source(&function, text), "require" | "import") {
        return None;
    }
    let module = call.child_by_field_name("arguments")?.named_child(0)?;
    (module.kind() == "string").then(|| unquoted(&module, text))
}

/// Functions and methods of which what they are given, or called on, may fail.
const MAY_FAIL: [&str; 9] = [
    "catch",
    "mock",
    "doMock",
    "expect",
    "throw",
    "throws",
    "throwsAsync",
    "rejects",
    "allSettled",
];

/// Whether a text expects that what is inside may fail, or loads it only under a condition.
fn may_fail(text: &str, node: Node<'_>) -> bool {
    match node.kind() {
        "try_statement" | "catch_clause" | "if_statement" | "ternary_expression"
        | "binary_expression" | "switch_statement" => true,
        "call_expression" => {
            let function = node.child_by_field_name("function");
            let part = |field| function.and_then(|it| it.child_by_field_name(field));
            let owner = part("object").filter(|it| it.kind() == "identifier").or(function);
            let owner = owner.filter(|it| it.kind() == "identifier");
            let owner = owner.map_or("", |it| source(&it, text));
            let method = part("property").map_or("", |it| source(&it, text));
            // The second of them is told of a failure.
            let handlers =
                || node.child_by_field_name("arguments").map_or(0, |it| children(it).len());
            MAY_FAIL.contains(&method)
                || MAY_FAIL.contains(&owner)
                || owner.starts_with("assert")
                || method == "then" && handlers() > 1
        }
        _ => false,
    }
}

/// What a module of the older kind offers: one literal, or one assignment for each name. Anything else cannot be seen.
fn common_js(surface: &mut Surface, parsed: &Parsed<'_>, is_standard: bool) {
    let text = parsed.text();
    if !text.contains("exports") {
        return;
    }
    let mut listed = 0;
    for node in children(parsed.tree().root_node()) {
        let Some(assignment) = node.named_child(0).filter(|it| {
            node.kind() == "expression_statement" && it.kind() == "assignment_expression"
        }) else {
            continue;
        };
        let left: String = words(assignment.child_by_field_name("left"), text);
        let right = assignment.child_by_field_name("right");
        if left == "module.exports" {
            listed += 1;
            match right.filter(|it| it.kind() == "object") {
                Some(object) => members(surface, text, object),
                None => surface.is_open = true,
            }
        } else if let Some(name) =
            left.strip_prefix("module.exports.").or(left.strip_prefix("exports."))
        {
            listed += 1;
            let offer = Offer::new(&assignment, text, OfferKind::Value);
            surface.offers.push(Offer { name: name.to_owned(), ..offer });
        }
    }
    if listed == 0 && is_standard {
        return;
    }
    // All of it together is what others get if they ask for no name.
    let whole = Offer::new(&parsed.tree().root_node(), text, OfferKind::PassedOn);
    surface.offers.push(Offer { name: "default".to_owned(), line: 1, ..whole });
    surface.is_open |= text.matches("exports").count() > listed;
}

fn members(surface: &mut Surface, text: &str, object: Node<'_>) {
    for it in children(object) {
        let name = match it.kind() {
            "shorthand_property_identifier" => Some(it),
            "pair" => it.child_by_field_name("key"),
            "method_definition" => it.child_by_field_name("name"),
            "comment" => None,
            _ => {
                surface.is_open = true;
                None
            }
        };
        let offer = name.map(|name| Offer::new(&name, text, OfferKind::Value));
        surface.offers.extend(
            offer.map(|it| Offer { name: it.name.trim_matches(['"', '\'']).to_owned(), ..it }),
        );
    }
}
