//! Python: what a module binds at its outermost level, under whatever condition, and what it imports.

use std::collections::BTreeSet;

use tree_sitter::Node;

use super::{
    Given, Offer, OfferKind, Parameter, Shape, Surface, Take, Taken, children, line, lines,
    unquoted, words,
};
use crate::Parsed;
use crate::parse::source;

/// Words that make names while the module runs.
const MAKES_NAMES: [&str; 8] = [
    "globals()[",
    "globals().",
    "sys.modules[__name__]",
    "
exec(",
    "vars()[",
    "vars().update",
    "locals()[",
    "setattr(sys.modules",
];

/// Where a statement stands.
#[derive(Clone, Copy)]
struct Place<'k> {
    is_outermost: bool,
    is_guarded: bool,
    /// The decorators that leave the parameters of a function as they are.
    keepers: &'k BTreeSet<String>,
}

pub(super) fn surface(parsed: &Parsed<'_>) -> Surface {
    let text = parsed.text();
    let mut surface = Surface {
        is_open: MAKES_NAMES.iter().any(|word| text.contains(word)),
        ..Surface::default()
    };
    let root = parsed.tree().root_node();
    let keepers = keepers(text, root);
    let mut waiting =
        vec![(root, Place { is_outermost: true, is_guarded: false, keepers: &keepers })];
    while let Some((node, place)) = waiting.pop() {
        for inner in statement(&mut surface, text, node, place) {
            waiting.push(inner);
        }
    }
    // One that is written elsewhere answers for whatever it likes.
    let mut offers = surface.offers.iter();
    surface.is_open |= offers.any(|it| it.name == "__getattr__" && it.kind != OfferKind::Function);
    if text.contains(":=") {
        surface.offers.extend(named(parsed));
    }
    surface
}

/// The names that expressions give in passing, wherever they stand outside of functions.
fn named(parsed: &Parsed<'_>) -> Vec<Offer> {
    let mut cursor = parsed.tree().walk();
    let mut offers = Vec::new();
    loop {
        let node = cursor.node();
        let name = node.child_by_field_name("name").filter(|_| node.kind() == "named_expression");
        offers.extend(name.map(|it| Offer::new(&it, parsed.text(), OfferKind::Value)));
        let is_scope = matches!(node.kind(), "function_definition" | "class_definition" | "lambda");
        if !is_scope && cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return offers;
            }
        }
    }
}

/// The decorators of a text, as it writes them, that leave the parameters of a function as they are.
fn keepers(text: &str, root: Node<'_>) -> BTreeSet<String> {
    let known = [
        ("functools", ["cache", "lru_cache"]),
        ("contextlib", ["contextmanager", "asynccontextmanager"]),
    ];
    let mut keepers = BTreeSet::new();
    for node in children(root) {
        let mut cursor = node.walk();
        let names = node.children_by_field_name("name", &mut cursor);
        let names: Vec<&str> = names.map(|it| source(&it, text)).collect();
        let from = words(node.child_by_field_name("module_name"), text);
        for (module, decorators) in known {
            let is_whole = node.kind() == "import_statement" && names.contains(&module);
            let is_from = node.kind() == "import_from_statement" && from == module;
            for it in decorators {
                keepers.extend(is_whole.then(|| format!("{module}.{it}")));
                keepers.extend((is_from && names.contains(&it)).then(|| it.to_owned()));
            }
        }
    }
    keepers
}

/// Whether what is decorated is called as it is written.
fn keeps_shape(text: &str, decorated: Node<'_>, keepers: &BTreeSet<String>) -> bool {
    let decorators = children(decorated).into_iter().filter(|it| it.kind() == "decorator");
    decorators.into_iter().filter_map(|it| it.named_child(0)).all(|it| {
        let name = it.child_by_field_name("function").unwrap_or(it);
        keepers.contains(source(&name, text))
    })
}

/// The names for which a module's `__getattr__` has an answer; none if they cannot be told. It holds what it is asked for against
/// literals alone, and fails at its end.
fn answers(text: &str, function: Node<'_>) -> Option<Vec<Offer>> {
    let parameters = children(function.child_by_field_name("parameters")?);
    let [parameter] = parameters.as_slice() else { return None };
    let asked = match parameter.kind() {
        "identifier" => source(parameter, text),
        "typed_parameter" => source(&parameter.named_child(0)?, text),
        _ => return None,
    };
    let body = function.child_by_field_name("body")?;
    let mut waiting = children(body);
    waiting.last().filter(|it| it.kind() == "raise_statement")?;
    let mut names = Vec::new();
    while let Some(node) = waiting.pop() {
        let is_asked = |it: &Node<'_>| it.kind() == "identifier" && source(it, text) == asked;
        match node.kind() {
            "raise_statement" => {}
            "call" if words(node.child_by_field_name("function"), text).ends_with("warn") => {}
            "comparison_operator" if children(node).iter().any(is_asked) => {
                let operator = words(node.child_by_field_name("operators"), text);
                let parts = children(node);
                let [left, right] = parts.as_slice() else { return None };
                let literal = if is_asked(left) { right } else { left };
                let literals = match (operator.as_str(), literal.kind()) {
                    ("==", "string") => vec![*literal],
                    ("in", "tuple" | "list" | "set") if is_asked(left) => children(*literal),
                    _ => return None,
                };
                for it in literals {
                    (it.kind() == "string").then_some(())?;
                    let offer = Offer::new(&it, text, OfferKind::Value);
                    names.push(Offer { name: unquoted(&it, text), ..offer });
                }
            }
            _ if is_asked(&node) => return None,
            _ => waiting.extend(children(node)),
        }
    }
    Some(names)
}

/// Takes in one statement and gives back the statements inside it.
fn statement<'t, 'k>(
    surface: &mut Surface,
    text: &str,
    node: Node<'t>,
    place: Place<'k>,
) -> Vec<(Node<'t>, Place<'k>)> {
    let inner = |place: Place<'k>| children(node).into_iter().map(|it| (it, place)).collect();
    match node.kind() {
        "module" | "block" | "elif_clause" | "else_clause" | "finally_clause" | "if_statement"
        | "while_statement" | "match_statement" => inner(place),
        "case_clause" => {
            bind_all(surface, text, node, place, "case_pattern");
            inner(place)
        }
        "except_clause" | "except_group_clause" => {
            bind_all(surface, text, node, place, "as_pattern_target");
            inner(place)
        }
        "try_statement" => inner(Place { is_guarded: true, ..place }),
        "with_statement" => {
            let head = source(&node, text).lines().next().unwrap_or_default();
            let is_guarded =
                place.is_guarded || head.contains("suppress") || head.contains("raises");
            bind_all(surface, text, node, place, "as_pattern_target");
            inner(Place { is_guarded, ..place })
        }
        "for_statement" => {
            bind(surface, text, node.child_by_field_name("left"), place);
            inner(place)
        }
        "expression_statement" => {
            for it in children(node) {
                assignments(surface, text, it, place);
            }
            Vec::new()
        }
        "type_alias_statement" => {
            bind(surface, text, node.child_by_field_name("left"), place);
            Vec::new()
        }
        "global_statement" => {
            let names = children(node);
            surface.offers.extend(names.iter().map(|it| Offer::new(it, text, OfferKind::Value)));
            Vec::new()
        }
        "import_statement" | "import_from_statement" => {
            import(surface, text, node, place);
            Vec::new()
        }
        "decorated_definition" => {
            let definition = node.child_by_field_name("definition");
            let before = surface.offers.len();
            let inner = definition
                .map(|definition| statement(surface, text, definition, place))
                .unwrap_or_default();
            // What another decorator leaves of a definition is not known.
            let skip = if keeps_shape(text, node, place.keepers) { usize::MAX } else { before };
            for offer in surface.offers.iter_mut().skip(skip) {
                offer.shape = None;
            }
            inner
        }
        "function_definition" | "class_definition" => {
            if place.is_outermost {
                define(surface, text, node);
            }
            let body = node.child_by_field_name("body");
            let place = Place { is_outermost: false, ..place };
            body.map(|body| (body, place)).into_iter().collect()
        }
        _ => Vec::new(),
    }
}

fn assignments(surface: &mut Surface, text: &str, node: Node<'_>, place: Place<'_>) {
    let mut next = Some(node);
    while let Some(node) = next.take() {
        if matches!(node.kind(), "assignment" | "augmented_assignment") {
            bind(surface, text, node.child_by_field_name("left"), place);
            next = node.child_by_field_name("right");
        }
    }
}

/// The names in a pattern.
fn bind(surface: &mut Surface, text: &str, pattern: Option<Node<'_>>, place: Place<'_>) {
    let mut waiting: Vec<Node<'_>> = pattern.into_iter().collect();
    while let Some(node) = waiting.pop() {
        match node.kind() {
            "identifier" if place.is_outermost => {
                surface.offers.push(Offer::new(&node, text, OfferKind::Value));
            }
            "attribute" | "subscript" | "call" => {}
            _ => waiting.extend(children(node)),
        }
    }
}

/// The names in all patterns of a kind that are directly inside, whatever brackets are around them.
fn bind_all(surface: &mut Surface, text: &str, node: Node<'_>, place: Place<'_>, kind: &str) {
    let mut waiting = children(node);
    while let Some(node) = waiting.pop() {
        if node.kind() == kind {
            bind(surface, text, Some(node), place);
        } else if node.kind() != "block" {
            waiting.extend(children(node));
        }
    }
}

fn define(surface: &mut Surface, text: &str, node: Node<'_>) {
    surface.offers.extend(definition(text, node));
    if words(node.child_by_field_name("name"), text) == "__getattr__" {
        let answers = answers(text, node);
        surface.is_open |= answers.is_none();
        surface.offers.extend(answers.into_iter().flatten());
    }
}

fn definition(text: &str, node: Node<'_>) -> Option<Offer> {
    let name = node.child_by_field_name("name")?;
    if node.kind() == "function_definition" {
        let shape = node.child_by_field_name("parameters").and_then(|it| shape(text, it));
        return Some(Offer { shape, ..Offer::new(&name, text, OfferKind::Function) });
    }
    let has_bases = node
        .child_by_field_name("superclasses")
        .is_some_and(|it| children(it).iter().any(|base| source(base, text) != "object"));
    let kind = if has_bases { OfferKind::OpenType } else { OfferKind::Type };
    let shape = (!has_bases).then(|| constructor(text, node)).flatten();
    Some(Offer { shape, ..Offer::new(&name, text, kind) })
}

/// What a class without bases is called with.
fn constructor(text: &str, class: Node<'_>) -> Option<Shape> {
    let body = class.child_by_field_name("body")?;
    let name = |it: &Node<'_>| words(it.child_by_field_name("name"), text);
    let methods = children(body);
    let is_plain = methods.iter().all(|it| {
        !(name(it) == "__new__"
            || it.kind() == "if_statement"
            || it.kind() == "decorated_definition" && {
                let inner = it.child_by_field_name("definition");
                inner.is_some_and(|it| matches!(name(&it).as_str(), "__init__" | "__new__"))
            })
    });
    let mut own =
        methods.iter().filter(|it| it.kind() == "function_definition" && name(it) == "__init__");
    let (first, second) = (own.next()?, own.next());
    if !is_plain || second.is_some() {
        return None;
    }
    let mut shape = shape(text, first.child_by_field_name("parameters")?)?;
    if shape.parameters.is_empty() {
        return None;
    }
    shape.parameters.remove(0);
    Some(shape)
}

fn shape(text: &str, parameters: Node<'_>) -> Option<Shape> {
    let mut shape = Shape::default();
    let mut given = Given::ByEither;
    for node in children(parameters) {
        let name = node.child_by_field_name("name").or_else(|| node.named_child(0));
        let parameter =
            |name: &str, is_required| Parameter { name: name.to_owned(), is_required, given };
        match node.kind() {
            "identifier" => shape.parameters.push(parameter(source(&node, text), true)),
            "typed_parameter" => match name.map(|it| (it.kind(), it)) {
                Some(("identifier", it)) => {
                    shape.parameters.push(parameter(source(&it, text), true));
                }
                Some(("list_splat_pattern", _)) => {
                    shape.has_rest = true;
                    given = Given::ByName;
                }
                Some(("dictionary_splat_pattern", _)) => shape.has_named_rest = true,
                Some(_) | None => return None,
            },
            "default_parameter" | "typed_default_parameter" => {
                shape.parameters.push(parameter(&words(name, text), false));
            }
            "list_splat_pattern" => {
                shape.has_rest = true;
                given = Given::ByName;
            }
            "dictionary_splat_pattern" => shape.has_named_rest = true,
            "keyword_separator" => given = Given::ByName,
            "positional_separator" => {
                shape.parameters.iter_mut().for_each(|it| it.given = Given::ByPlace);
            }
            "comment" => {}
            _ => return None,
        }
    }
    Some(shape)
}

fn import(surface: &mut Surface, text: &str, node: Node<'_>, place: Place<'_>) {
    let module = words(node.child_by_field_name("module_name"), text);
    let is_from = node.kind() == "import_from_statement";
    let mut cursor = node.walk();
    let names: Vec<Node<'_>> = node.children_by_field_name("name", &mut cursor).collect();
    let take = |module: String, what, local, at: &Node<'_>| Take {
        module: module.split_whitespace().collect(),
        what,
        local,
        line: line(at),
        statement: lines(&node),
        is_guarded: place.is_guarded,
        is_passed_on: place.is_outermost,
    };
    if children(node).iter().any(|it| it.kind() == "wildcard_import") {
        surface.takes.push(take(module, Taken::All, None, &node));
        return;
    }
    for name in names {
        let alias = name.child_by_field_name("alias").map(|it| source(&it, text).to_owned());
        let path = name.child_by_field_name("name").unwrap_or(name);
        let path: String = source(&path, text).split_whitespace().collect();
        let first = path.split('.').next().unwrap_or_default().to_owned();
        let bound = alias.clone().unwrap_or_else(|| first.clone());
        if place.is_outermost {
            let offer = Offer::new(&name, text, OfferKind::PassedOn);
            surface.offers.push(Offer { name: bound.clone(), ..offer });
        }
        if is_from {
            surface.takes.push(take(module.clone(), Taken::Name(path), Some(bound), &name));
        } else {
            // `import a.b` binds `a`, and `a.b` is how it is reached.
            let local = alias.unwrap_or_else(|| path.clone());
            surface.takes.push(take(path, Taken::Module, Some(local), &name));
        }
    }
}
