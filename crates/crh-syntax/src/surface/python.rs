//! Python: imports and top-level names, including names that are bound only under a condition.

use std::collections::BTreeSet;

use tree_sitter::Node;

use super::{
    ArgumentStyle, CallSignature, Declaration, DeclarationKind, ImportedItem, ModuleImport,
    Parameter, Surface, children, line_range, node_text, start_line, unquoted,
};
use crate::SyntaxTree;
use crate::parse::source;

/// Code that creates names at run time.
#[rustfmt::skip]
const NAME_MAKERS: [&str; 8] = [
    "globals()[", "globals().", "sys.modules[__name__]", "\nexec(", "vars()[", "vars().update", "locals()[", "setattr(sys.modules",
];

#[derive(Clone, Copy)]
struct StatementContext<'k> {
    /// Whether the statement is outside of functions and classes.
    is_outermost: bool,
    /// Whether the code expects that an import may fail.
    is_guarded: bool,
    /// Decorators that keep the parameters of a function.
    transparent_decorators: &'k BTreeSet<String>,
}

pub(super) fn surface(syntax_tree: &SyntaxTree<'_>) -> Surface {
    let text = syntax_tree.text();
    let mut surface = Surface {
        has_hidden_names: NAME_MAKERS.iter().any(|word| text.contains(word)),
        ..Surface::default()
    };
    let root = syntax_tree.tree().root_node();
    let decorators = transparent_decorators(text, root);
    let context = StatementContext {
        is_outermost: true,
        is_guarded: false,
        transparent_decorators: &decorators,
    };
    let mut worklist = vec![(root, context)];
    while let Some((node, context)) = worklist.pop() {
        worklist.extend(add_statement(&mut surface, text, node, context));
    }
    // An imported or assigned `__getattr__` may define any name.
    let mut declarations = surface.declarations.iter();
    surface.has_hidden_names |=
        declarations.any(|it| it.name == "__getattr__" && it.kind != DeclarationKind::Function);
    if text.contains(":=") {
        surface.declarations.extend(walrus_names(syntax_tree));
    }
    surface
}

/// Names bound by `:=` outside of functions and classes.
fn walrus_names(syntax_tree: &SyntaxTree<'_>) -> Vec<Declaration> {
    let mut cursor = syntax_tree.tree().walk();
    let mut declarations = Vec::new();
    loop {
        let node = cursor.node();
        let name = node.child_by_field_name("name").filter(|_| node.kind() == "named_expression");
        declarations.extend(
            name.map(|it| Declaration::new(&it, syntax_tree.text(), DeclarationKind::Value)),
        );
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
    let known_decorators = [
        ("functools", ["cache", "lru_cache"]),
        ("contextlib", ["contextmanager", "asynccontextmanager"]),
    ];
    let mut transparent_names = BTreeSet::new();
    for node in children(root) {
        let mut cursor = node.walk();
        let names = node.children_by_field_name("name", &mut cursor);
        let names: Vec<&str> = names.map(|it| source(&it, text)).collect();
        let source_module = node_text(node.child_by_field_name("module_name"), text);
        for (module, decorators) in known_decorators {
            let imports_module = node.kind() == "import_statement" && names.contains(&module);
            let imports_names = node.kind() == "import_from_statement" && source_module == module;
            for decorator in decorators {
                transparent_names.extend(imports_module.then(|| format!("{module}.{decorator}")));
                transparent_names.extend(
                    (imports_names && names.contains(&decorator)).then(|| decorator.to_owned()),
                );
            }
        }
    }
    transparent_names
}

/// Whether all decorators keep the parameters.
fn keeps_signature(text: &str, definition: Node<'_>, transparent_names: &BTreeSet<String>) -> bool {
    let decorators = children(definition).into_iter().filter(|it| it.kind() == "decorator");
    decorators.into_iter().filter_map(|it| it.named_child(0)).all(|expression| {
        let name = expression.child_by_field_name("function").unwrap_or(expression);
        transparent_names.contains(source(&name, text))
    })
}

/// Names that a module's `__getattr__` provides. `None` unless the function only compares its
/// parameter with literals and raises an exception at its end.
fn getattr_names(text: &str, function: Node<'_>) -> Option<Vec<Declaration>> {
    let parameters = children(function.child_by_field_name("parameters")?);
    let [parameter] = parameters.as_slice() else { return None };
    let parameter_name = match parameter.kind() {
        "identifier" => source(parameter, text),
        "typed_parameter" => source(&parameter.named_child(0)?, text),
        _ => return None,
    };
    let body = function.child_by_field_name("body")?;
    let mut worklist = children(body);
    worklist.last().filter(|it| it.kind() == "raise_statement")?;
    let mut names = Vec::new();
    while let Some(node) = worklist.pop() {
        let is_parameter =
            |it: &Node<'_>| it.kind() == "identifier" && source(it, text) == parameter_name;
        match node.kind() {
            "raise_statement" => {}
            "call" if node_text(node.child_by_field_name("function"), text).ends_with("warn") => {}
            "comparison_operator" if children(node).iter().any(is_parameter) => {
                let operator = node_text(node.child_by_field_name("operators"), text);
                let parts = children(node);
                let [left, right] = parts.as_slice() else { return None };
                let literal = if is_parameter(left) { right } else { left };
                let literals = match (operator.as_str(), literal.kind()) {
                    ("==", "string") => vec![*literal],
                    ("in", "tuple" | "list" | "set") if is_parameter(left) => children(*literal),
                    _ => return None,
                };
                for literal in literals {
                    (literal.kind() == "string").then_some(())?;
                    let declaration = Declaration::new(&literal, text, DeclarationKind::Value);
                    names.push(Declaration { name: unquoted(&literal, text), ..declaration });
                }
            }
            _ if is_parameter(&node) => return None,
            _ => worklist.extend(children(node)),
        }
    }
    Some(names)
}

/// Adds the names and imports of one statement. Returns the statements inside the statement.
fn add_statement<'t, 'k>(
    surface: &mut Surface,
    text: &str,
    node: Node<'t>,
    context: StatementContext<'k>,
) -> Vec<(Node<'t>, StatementContext<'k>)> {
    match node.kind() {
        "expression_statement"
        | "type_alias_statement"
        | "global_statement"
        | "import_statement"
        | "import_from_statement" => {
            add_simple_statement(surface, text, node, context);
            Vec::new()
        }
        "decorated_definition" => add_decorated_definition(surface, text, node, context),
        "function_definition" | "class_definition" => {
            if context.is_outermost {
                add_definition(surface, text, node);
            }
            let body = node.child_by_field_name("body");
            let context = StatementContext { is_outermost: false, ..context };
            body.map(|body| (body, context)).into_iter().collect()
        }
        _ => match add_compound_statement(surface, text, node, context) {
            Some(context) => children(node).into_iter().map(|it| (it, context)).collect(),
            None => Vec::new(),
        },
    }
}

/// Adds a statement that contains no other statements.
fn add_simple_statement(
    surface: &mut Surface,
    text: &str,
    node: Node<'_>,
    context: StatementContext<'_>,
) {
    match node.kind() {
        "expression_statement" => {
            for expression in children(node) {
                add_assigned_names(surface, text, expression, context);
            }
        }
        "type_alias_statement" => {
            add_pattern_names(surface, text, node.child_by_field_name("left"), context);
        }
        "global_statement" => {
            let names = children(node);
            surface
                .declarations
                .extend(names.iter().map(|it| Declaration::new(it, text, DeclarationKind::Value)));
        }
        "import_statement" | "import_from_statement" => add_imports(surface, text, node, context),
        _ => {}
    }
}

/// Adds the names that a compound statement or clause binds. Returns the context of the statements
/// inside; `None` for other nodes.
fn add_compound_statement<'k>(
    surface: &mut Surface,
    text: &str,
    node: Node<'_>,
    context: StatementContext<'k>,
) -> Option<StatementContext<'k>> {
    match node.kind() {
        "module" | "block" | "elif_clause" | "else_clause" | "finally_clause" | "if_statement"
        | "while_statement" | "match_statement" => Some(context),
        "case_clause" => {
            add_names_in_patterns(surface, text, node, context, "case_pattern");
            Some(context)
        }
        "except_clause" | "except_group_clause" => {
            add_names_in_patterns(surface, text, node, context, "as_pattern_target");
            Some(context)
        }
        "try_statement" => Some(StatementContext { is_guarded: true, ..context }),
        "with_statement" => {
            let head = source(&node, text).lines().next().unwrap_or_default();
            let is_guarded =
                context.is_guarded || head.contains("suppress") || head.contains("raises");
            add_names_in_patterns(surface, text, node, context, "as_pattern_target");
            Some(StatementContext { is_guarded, ..context })
        }
        "for_statement" => {
            add_pattern_names(surface, text, node.child_by_field_name("left"), context);
            Some(context)
        }
        _ => None,
    }
}

/// Adds a definition with decorators. Drops its signature unless all decorators keep the
/// parameters. Returns the statements inside the definition.
fn add_decorated_definition<'t, 'k>(
    surface: &mut Surface,
    text: &str,
    node: Node<'t>,
    context: StatementContext<'k>,
) -> Vec<(Node<'t>, StatementContext<'k>)> {
    let Some(definition) = node.child_by_field_name("definition") else { return Vec::new() };
    let declarations_before = surface.declarations.len();
    let inner_statements = add_statement(surface, text, definition, context);
    if !keeps_signature(text, node, context.transparent_decorators) {
        for declaration in surface.declarations.iter_mut().skip(declarations_before) {
            declaration.signature = None;
        }
    }
    inner_statements
}

fn add_assigned_names(
    surface: &mut Surface,
    text: &str,
    node: Node<'_>,
    context: StatementContext<'_>,
) {
    let mut value = Some(node);
    while let Some(node) = value.take() {
        if matches!(node.kind(), "assignment" | "augmented_assignment") {
            add_pattern_names(surface, text, node.child_by_field_name("left"), context);
            value = node.child_by_field_name("right");
        }
    }
}

/// Adds the names in a pattern.
fn add_pattern_names(
    surface: &mut Surface,
    text: &str,
    pattern: Option<Node<'_>>,
    context: StatementContext<'_>,
) {
    let mut worklist: Vec<Node<'_>> = pattern.into_iter().collect();
    while let Some(node) = worklist.pop() {
        match node.kind() {
            "identifier" if context.is_outermost => {
                surface.declarations.push(Declaration::new(&node, text, DeclarationKind::Value));
            }
            "attribute" | "subscript" | "call" => {}
            _ => worklist.extend(children(node)),
        }
    }
}

/// Adds the names in all patterns of a kind, except in blocks.
fn add_names_in_patterns(
    surface: &mut Surface,
    text: &str,
    node: Node<'_>,
    context: StatementContext<'_>,
    kind: &str,
) {
    let mut worklist = children(node);
    while let Some(node) = worklist.pop() {
        if node.kind() == kind {
            add_pattern_names(surface, text, Some(node), context);
        } else if node.kind() != "block" {
            worklist.extend(children(node));
        }
    }
}

fn add_definition(surface: &mut Surface, text: &str, node: Node<'_>) {
    surface.declarations.extend(definition_declaration(text, node));
    if node_text(node.child_by_field_name("name"), text) == "__getattr__" {
        let attribute_names = getattr_names(text, node);
        surface.has_hidden_names |= attribute_names.is_none();
        surface.declarations.extend(attribute_names.into_iter().flatten());
    }
}

fn definition_declaration(text: &str, node: Node<'_>) -> Option<Declaration> {
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
    let call_signature = (!has_bases).then(|| constructor_signature(text, node)).flatten();
    Some(Declaration { signature: call_signature, ..Declaration::new(&name, text, kind) })
}

/// Constructor signature of a class without base classes.
fn constructor_signature(text: &str, class: Node<'_>) -> Option<CallSignature> {
    let body = class.child_by_field_name("body")?;
    let name_of = |it: &Node<'_>| node_text(it.child_by_field_name("name"), text);
    let statements = children(body);
    let has_plain_constructor = statements.iter().all(|statement| {
        !(name_of(statement) == "__new__"
            || statement.kind() == "if_statement"
            || statement.kind() == "decorated_definition" && {
                let definition = statement.child_by_field_name("definition");
                definition.is_some_and(|it| matches!(name_of(&it).as_str(), "__init__" | "__new__"))
            })
    });
    let mut initializers = statements
        .iter()
        .filter(|it| it.kind() == "function_definition" && name_of(it) == "__init__");
    let (first, second) = (initializers.next()?, initializers.next());
    if !has_plain_constructor || second.is_some() {
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
    let mut style = ArgumentStyle::Either;
    for node in children(parameters) {
        let name = node.child_by_field_name("name").or_else(|| node.named_child(0));
        let parameter =
            |name: &str, is_required| Parameter { name: name.to_owned(), is_required, style };
        match node.kind() {
            "identifier" => call_signature.parameters.push(parameter(source(&node, text), true)),
            "typed_parameter" => match name.map(|it| (it.kind(), it)) {
                Some(("identifier", identifier)) => {
                    call_signature.parameters.push(parameter(source(&identifier, text), true));
                }
                Some(("list_splat_pattern", _)) => {
                    call_signature.has_rest = true;
                    style = ArgumentStyle::Keyword;
                }
                Some(("dictionary_splat_pattern", _)) => call_signature.has_named_rest = true,
                Some(_) | None => return None,
            },
            "default_parameter" | "typed_default_parameter" => {
                call_signature.parameters.push(parameter(&node_text(name, text), false));
            }
            "list_splat_pattern" => {
                call_signature.has_rest = true;
                style = ArgumentStyle::Keyword;
            }
            "dictionary_splat_pattern" => call_signature.has_named_rest = true,
            "keyword_separator" => style = ArgumentStyle::Keyword,
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

fn add_imports(surface: &mut Surface, text: &str, node: Node<'_>, context: StatementContext<'_>) {
    let module = node_text(node.child_by_field_name("module_name"), text);
    let is_from = node.kind() == "import_from_statement";
    let mut cursor = node.walk();
    let names: Vec<Node<'_>> = node.children_by_field_name("name", &mut cursor).collect();
    let new_import = |module: String, item, local_name, name_node: &Node<'_>| ModuleImport {
        module: module.split_whitespace().collect(),
        item,
        local_name,
        line: start_line(name_node),
        statement: line_range(&node),
        is_guarded: context.is_guarded,
        is_reexported: context.is_outermost,
    };
    if children(node).iter().any(|it| it.kind() == "wildcard_import") {
        surface.imports.push(new_import(module, ImportedItem::All, None, &node));
        return;
    }
    for name in names {
        let alias = name.child_by_field_name("alias").map(|it| source(&it, text).to_owned());
        let path = name.child_by_field_name("name").unwrap_or(name);
        let path: String = source(&path, text).split_whitespace().collect();
        let first_part = path.split('.').next().unwrap_or_default().to_owned();
        let bound_name = alias.clone().unwrap_or_else(|| first_part.clone());
        if context.is_outermost {
            let declaration = Declaration::new(&name, text, DeclarationKind::Reexport);
            surface.declarations.push(Declaration { name: bound_name.clone(), ..declaration });
        }
        if is_from {
            let item = ImportedItem::Name(path);
            surface.imports.push(new_import(module.clone(), item, Some(bound_name), &name));
        } else {
            // `import a.b` binds `a`, which leads to `a.b`.
            let local_name = alias.unwrap_or_else(|| path.clone());
            surface.imports.push(new_import(path, ImportedItem::Module, Some(local_name), &name));
        }
    }
}
