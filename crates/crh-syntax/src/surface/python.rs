//! Python: top-level names, under any condition, and imports.

use std::collections::BTreeSet;

use tree_sitter::Node;

use super::{
    ArgumentStyle, CallSignature, Declaration, DeclarationKind, ImportedItem, ModuleImport,
    Parameter, Surface, children, line, lines, node_text, unquoted,
};
use crate::SyntaxTree;
use crate::parse::source;

/// Words that create names at run time.
const NAME_MAKERS: [&str; 8] = [
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

#[derive(Clone, Copy)]
struct StatementContext<'k> {
    is_outermost: bool,
    is_guarded: bool,
    /// Decorators that keep the parameters of a function.
    transparent_decorators: &'k BTreeSet<String>,
}

pub(super) fn surface(parsed: &SyntaxTree<'_>) -> Surface {
    let text = parsed.text();
    let mut surface = Surface {
        has_hidden_names: NAME_MAKERS.iter().any(|word| text.contains(word)),
        ..Surface::default()
    };
    let root = parsed.tree().root_node();
    let decorators = transparent_decorators(text, root);
    let mut waiting = vec![(
        root,
        StatementContext {
            is_outermost: true,
            is_guarded: false,
            transparent_decorators: &decorators,
        },
    )];
    while let Some((node, place)) = waiting.pop() {
        for inner in statement(&mut surface, text, node, place) {
            waiting.push(inner);
        }
    }
    // An imported `__getattr__` may define any name.
    let mut declarations = surface.declarations.iter();
    surface.has_hidden_names |=
        declarations.any(|it| it.name == "__getattr__" && it.kind != DeclarationKind::Function);
    if text.contains(":=") {
        surface.declarations.extend(walrus_names(parsed));
    }
    surface
}

/// Names bound by `:=` outside of functions.
fn walrus_names(parsed: &SyntaxTree<'_>) -> Vec<Declaration> {
    let mut cursor = parsed.tree().walk();
    let mut declarations = Vec::new();
    loop {
        let node = cursor.node();
        let name = node.child_by_field_name("name").filter(|_| node.kind() == "named_expression");
        declarations
            .extend(name.map(|it| Declaration::new(&it, parsed.text(), DeclarationKind::Value)));
        let is_scope = matches!(node.kind(), "function_definition" | "class_definition" | "lambda");
        if !is_scope && cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return declarations;
            }
        }
    }
}

/// Decorators, as written, that keep the parameters of a function.
fn transparent_decorators(text: &str, root: Node<'_>) -> BTreeSet<String> {
    let known = [
        ("functools", ["cache", "lru_cache"]),
        ("contextlib", ["contextmanager", "asynccontextmanager"]),
    ];
    let mut transparent = BTreeSet::new();
    for node in children(root) {
        let mut cursor = node.walk();
        let names = node.children_by_field_name("name", &mut cursor);
        let names: Vec<&str> = names.map(|it| source(&it, text)).collect();
        let from = node_text(node.child_by_field_name("module_name"), text);
        for (module, decorators) in known {
            let is_whole = node.kind() == "import_statement" && names.contains(&module);
            let is_from = node.kind() == "import_from_statement" && from == module;
            for it in decorators {
                transparent.extend(is_whole.then(|| format!("{module}.{it}")));
                transparent.extend((is_from && names.contains(&it)).then(|| it.to_owned()));
            }
        }
    }
    transparent
}

/// Whether all decorators keep the parameters.
fn keeps_signature(text: &str, decorated: Node<'_>, transparent: &BTreeSet<String>) -> bool {
    let decorators = children(decorated).into_iter().filter(|it| it.kind() == "decorator");
    decorators.into_iter().filter_map(|it| it.named_child(0)).all(|it| {
        let name = it.child_by_field_name("function").unwrap_or(it);
        transparent.contains(source(&name, text))
    })
}

/// Names that a module's `__getattr__` provides; `None` unless it only compares with literals and
/// raises at its end.
fn getattr_names(text: &str, function: Node<'_>) -> Option<Vec<Declaration>> {
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
            "call" if node_text(node.child_by_field_name("function"), text).ends_with("warn") => {}
            "comparison_operator" if children(node).iter().any(is_asked) => {
                let operator = node_text(node.child_by_field_name("operators"), text);
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
                    let declaration = Declaration::new(&it, text, DeclarationKind::Value);
                    names.push(Declaration { name: unquoted(&it, text), ..declaration });
                }
            }
            _ if is_asked(&node) => return None,
            _ => waiting.extend(children(node)),
        }
    }
    Some(names)
}

/// Adds one statement. Returns the statements inside it.
#[expect(clippy::too_many_lines, reason = "one branch per kind of statement")]
fn statement<'t, 'k>(
    surface: &mut Surface,
    text: &str,
    node: Node<'t>,
    context: StatementContext<'k>,
) -> Vec<(Node<'t>, StatementContext<'k>)> {
    let inner = |context: StatementContext<'k>| {
        children(node).into_iter().map(|it| (it, context)).collect()
    };
    match node.kind() {
        "module" | "block" | "elif_clause" | "else_clause" | "finally_clause" | "if_statement"
        | "while_statement" | "match_statement" => inner(context),
        "case_clause" => {
            bind_all(surface, text, node, context, "case_pattern");
            inner(context)
        }
        "except_clause" | "except_group_clause" => {
            bind_all(surface, text, node, context, "as_pattern_target");
            inner(context)
        }
        "try_statement" => inner(StatementContext { is_guarded: true, ..context }),
        "with_statement" => {
            let head = source(&node, text).lines().next().unwrap_or_default();
            let is_guarded =
                context.is_guarded || head.contains("suppress") || head.contains("raises");
            bind_all(surface, text, node, context, "as_pattern_target");
            inner(StatementContext { is_guarded, ..context })
        }
        "for_statement" => {
            bind(surface, text, node.child_by_field_name("left"), context);
            inner(context)
        }
        "expression_statement" => {
            for it in children(node) {
                assignments(surface, text, it, context);
            }
            Vec::new()
        }
        "type_alias_statement" => {
            bind(surface, text, node.child_by_field_name("left"), context);
            Vec::new()
        }
        "global_statement" => {
            let names = children(node);
            surface
                .declarations
                .extend(names.iter().map(|it| Declaration::new(it, text, DeclarationKind::Value)));
            Vec::new()
        }
        "import_statement" | "import_from_statement" => {
            import(surface, text, node, context);
            Vec::new()
        }
        "decorated_definition" => {
            let definition = node.child_by_field_name("definition");
            let before = surface.declarations.len();
            let inner = definition
                .map(|definition| statement(surface, text, definition, context))
                .unwrap_or_default();
            // Other decorators may change the signature.
            let skip = if keeps_signature(text, node, context.transparent_decorators) {
                usize::MAX
            } else {
                before
            };
            for declaration in surface.declarations.iter_mut().skip(skip) {
                declaration.signature = None;
            }
            inner
        }
        "function_definition" | "class_definition" => {
            if context.is_outermost {
                define(surface, text, node);
            }
            let body = node.child_by_field_name("body");
            let context = StatementContext { is_outermost: false, ..context };
            body.map(|body| (body, context)).into_iter().collect()
        }
        _ => Vec::new(),
    }
}

fn assignments(surface: &mut Surface, text: &str, node: Node<'_>, context: StatementContext<'_>) {
    let mut next = Some(node);
    while let Some(node) = next.take() {
        if matches!(node.kind(), "assignment" | "augmented_assignment") {
            bind(surface, text, node.child_by_field_name("left"), context);
            next = node.child_by_field_name("right");
        }
    }
}

/// Adds the names in a pattern.
fn bind(
    surface: &mut Surface,
    text: &str,
    pattern: Option<Node<'_>>,
    context: StatementContext<'_>,
) {
    let mut waiting: Vec<Node<'_>> = pattern.into_iter().collect();
    while let Some(node) = waiting.pop() {
        match node.kind() {
            "identifier" if context.is_outermost => {
                surface.declarations.push(Declaration::new(&node, text, DeclarationKind::Value));
            }
            "attribute" | "subscript" | "call" => {}
            _ => waiting.extend(children(node)),
        }
    }
}

/// Adds the names in all direct patterns of a kind.
fn bind_all(
    surface: &mut Surface,
    text: &str,
    node: Node<'_>,
    context: StatementContext<'_>,
    kind: &str,
) {
    let mut waiting = children(node);
    while let Some(node) = waiting.pop() {
        if node.kind() == kind {
            bind(surface, text, Some(node), context);
        } else if node.kind() != "block" {
            waiting.extend(children(node));
        }
    }
}

fn define(surface: &mut Surface, text: &str, node: Node<'_>) {
    surface.declarations.extend(definition(text, node));
    if node_text(node.child_by_field_name("name"), text) == "__getattr__" {
        let answers = getattr_names(text, node);
        surface.has_hidden_names |= answers.is_none();
        surface.declarations.extend(answers.into_iter().flatten());
    }
}

fn definition(text: &str, node: Node<'_>) -> Option<Declaration> {
    let name = node.child_by_field_name("name")?;
    if node.kind() == "function_definition" {
        let call_signature =
            node.child_by_field_name("parameters").and_then(|it| signature(text, it));
        return Some(Declaration {
            signature: call_signature,
            ..Declaration::new(&name, text, DeclarationKind::Function)
        });
    }
    let has_bases = node
        .child_by_field_name("superclasses")
        .is_some_and(|it| children(it).iter().any(|base| source(base, text) != "object"));
    let kind = if has_bases { DeclarationKind::OpenType } else { DeclarationKind::Type };
    let call_signature = (!has_bases).then(|| constructor(text, node)).flatten();
    Some(Declaration { signature: call_signature, ..Declaration::new(&name, text, kind) })
}

/// Constructor signature of a class without base classes.
fn constructor(text: &str, class: Node<'_>) -> Option<CallSignature> {
    let body = class.child_by_field_name("body")?;
    let name = |it: &Node<'_>| node_text(it.child_by_field_name("name"), text);
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
    let mut call_signature = signature(text, first.child_by_field_name("parameters")?)?;
    if call_signature.parameters.is_empty() {
        return None;
    }
    call_signature.parameters.remove(0);
    Some(call_signature)
}

fn signature(text: &str, parameters: Node<'_>) -> Option<CallSignature> {
    let mut call_signature = CallSignature::default();
    let mut given = ArgumentStyle::Either;
    for node in children(parameters) {
        let name = node.child_by_field_name("name").or_else(|| node.named_child(0));
        let parameter = |name: &str, is_required| Parameter {
            name: name.to_owned(),
            is_required,
            style: given,
        };
        match node.kind() {
            "identifier" => call_signature.parameters.push(parameter(source(&node, text), true)),
            "typed_parameter" => match name.map(|it| (it.kind(), it)) {
                Some(("identifier", it)) => {
                    call_signature.parameters.push(parameter(source(&it, text), true));
                }
                Some(("list_splat_pattern", _)) => {
                    call_signature.has_rest = true;
                    given = ArgumentStyle::Keyword;
                }
                Some(("dictionary_splat_pattern", _)) => call_signature.has_named_rest = true,
                Some(_) | None => return None,
            },
            "default_parameter" | "typed_default_parameter" => {
                call_signature.parameters.push(parameter(&node_text(name, text), false));
            }
            "list_splat_pattern" => {
                call_signature.has_rest = true;
                given = ArgumentStyle::Keyword;
            }
            "dictionary_splat_pattern" => call_signature.has_named_rest = true,
            "keyword_separator" => given = ArgumentStyle::Keyword,
            "positional_separator" => {
                call_signature
                    .parameters
                    .iter_mut()
                    .for_each(|it| it.style = ArgumentStyle::Positional);
            }
            "comment" => {}
            _ => return None,
        }
    }
    Some(call_signature)
}

fn import(surface: &mut Surface, text: &str, node: Node<'_>, context: StatementContext<'_>) {
    let module = node_text(node.child_by_field_name("module_name"), text);
    let is_from = node.kind() == "import_from_statement";
    let mut cursor = node.walk();
    let names: Vec<Node<'_>> = node.children_by_field_name("name", &mut cursor).collect();
    let import_of = |module: String, what, local, at: &Node<'_>| ModuleImport {
        module: module.split_whitespace().collect(),
        item: what,
        local_name: local,
        line: line(at),
        statement: lines(&node),
        is_guarded: context.is_guarded,
        is_reexported: context.is_outermost,
    };
    if children(node).iter().any(|it| it.kind() == "wildcard_import") {
        surface.imports.push(import_of(module, ImportedItem::All, None, &node));
        return;
    }
    for name in names {
        let alias = name.child_by_field_name("alias").map(|it| source(&it, text).to_owned());
        let path = name.child_by_field_name("name").unwrap_or(name);
        let path: String = source(&path, text).split_whitespace().collect();
        let first = path.split('.').next().unwrap_or_default().to_owned();
        let bound = alias.clone().unwrap_or_else(|| first.clone());
        if context.is_outermost {
            let declaration = Declaration::new(&name, text, DeclarationKind::Reexport);
            surface.declarations.push(Declaration { name: bound.clone(), ..declaration });
        }
        if is_from {
            surface.imports.push(import_of(
                module.clone(),
                ImportedItem::Name(path),
                Some(bound),
                &name,
            ));
        } else {
            // `import a.b` binds `a`, which leads to `a.b`.
            let local = alias.unwrap_or_else(|| path.clone());
            surface.imports.push(import_of(path, ImportedItem::Module, Some(local), &name));
        }
    }
}
