//! JavaScript and TypeScript: exports, other top-level names, and imports.

use tree_sitter::Node;

use super::{
    ArgumentStyle, CallSignature, Declaration, DeclarationKind, ImportedItem, ModuleImport,
    Parameter, Surface, children, line, lines, node_text, unquoted,
};
use crate::parse::source;
use crate::{Language, SyntaxTree};

pub(super) fn surface(parsed: &SyntaxTree<'_>) -> Surface {
    let text = parsed.text();
    let mut surface = Surface::default();
    let is_typed = parsed.language() != Language::JavaScript;
    let mut is_standard = false;
    for node in children(parsed.tree().root_node()) {
        let before = surface.imports.len();
        is_standard |= matches!(node.kind(), "export_statement" | "import_statement");
        match node.kind() {
            "export_statement" => export(&mut surface, text, node, is_typed),
            "import_statement" => import(&mut surface, text, node),
            _ => add_own_declarations(&mut surface, text, node, is_typed),
        }
        for import in &mut surface.imports[before..] {
            import.statement = lines(&node);
        }
    }
    add_common_js(&mut surface, parsed, is_standard);
    if text.contains("require(") || text.contains("import(") {
        surface.imports.extend(loaded_modules(parsed));
    }
    // With overloads, or a type beside a function, a name does not identify one signature.
    let mut names: Vec<(&str, bool)> =
        surface.declarations.iter().map(|it| (it.name.as_str(), it.is_exported)).collect();
    names.sort_unstable();
    let twice: Vec<String> = names
        .windows(2)
        .filter(|pair| pair[0] == pair[1])
        .map(|pair| pair[0].0.to_owned())
        .collect();
    for declaration in &mut surface.declarations {
        if twice.binary_search(&declaration.name).is_ok() {
            declaration.signature = None;
        }
    }
    surface
}

/// Adds names declared by a statement that is not an export.
fn add_own_declarations(surface: &mut Surface, text: &str, node: Node<'_>, is_typed: bool) {
    let mut declarations = declared_names(text, node, is_typed);
    declarations.iter_mut().for_each(|it| it.is_exported = false);
    surface.declarations.extend(declarations);
    if matches!(node.kind(), "lexical_declaration" | "variable_declaration") {
        add_required(surface, text, node);
    }
}

/// Names of a declaration.
fn declared_names(text: &str, node: Node<'_>, is_typed: bool) -> Vec<Declaration> {
    let name = node.child_by_field_name("name");
    let declaration =
        |kind| name.map(|name| Declaration::new(&name, text, kind)).into_iter().collect();
    match node.kind() {
        "function_declaration" | "generator_function_declaration" => {
            let call_signature = is_typed.then(|| signature(text, node)).flatten();
            let declarations: Vec<Declaration> = declaration(DeclarationKind::Function);
            declarations
                .into_iter()
                .map(|it| Declaration { signature: call_signature.clone(), ..it })
                .collect()
        }
        "function_signature" => declaration(DeclarationKind::Function),
        "class_declaration"
        | "abstract_class_declaration"
        | "interface_declaration"
        | "type_alias_declaration"
        | "enum_declaration" => declaration(DeclarationKind::Type),
        "internal_module" | "module" => declaration(DeclarationKind::Module),
        "import_alias" => children(node)
            .first()
            .map(|it| Declaration::new(it, text, DeclarationKind::Reexport))
            .into_iter()
            .collect(),
        "expression_statement" | "ambient_declaration" => {
            let inner = children(node).into_iter().filter(|it| {
                it.kind() == "internal_module" || node.kind() == "ambient_declaration"
            });
            inner
                .filter(|it| it.kind() != "ambient_declaration")
                .flat_map(|it| declared_names(text, it, is_typed))
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

fn variables(text: &str, declarator: Node<'_>, is_typed: bool) -> Vec<Declaration> {
    let Some(name) = declarator.child_by_field_name("name") else { return Vec::new() };
    let value = declarator.child_by_field_name("value");
    let function = value.filter(|it| {
        matches!(it.kind(), "arrow_function" | "function_expression")
            && declarator.child_by_field_name("type").is_none()
    });
    if name.kind() == "identifier" {
        let kind =
            if function.is_some() { DeclarationKind::Function } else { DeclarationKind::Value };
        let signature = function.filter(|_| is_typed).and_then(|it| signature(text, it));
        return vec![Declaration { signature, ..Declaration::new(&name, text, kind) }];
    }
    pattern_names(text, name)
}

/// Names bound by a pattern.
fn pattern_names(text: &str, pattern: Node<'_>) -> Vec<Declaration> {
    let mut declarations = Vec::new();
    let mut waiting = vec![pattern];
    while let Some(node) = waiting.pop() {
        match node.kind() {
            "identifier" | "shorthand_property_identifier_pattern" => {
                declarations.push(Declaration::new(&node, text, DeclarationKind::Value));
            }
            "pair_pattern" => waiting.extend(node.child_by_field_name("value")),
            "assignment_pattern" | "object_assignment_pattern" => {
                waiting.extend(node.child_by_field_name("left"));
            }
            _ => waiting.extend(children(node)),
        }
    }
    declarations
}

fn signature(text: &str, function: Node<'_>) -> Option<CallSignature> {
    let mut call_signature = CallSignature::default();
    let Some(parameters) = function.child_by_field_name("parameters") else {
        // `x => …`
        let name = function.child_by_field_name("parameter")?;
        let name = source(&name, text).to_owned();
        call_signature.parameters.push(Parameter {
            name,
            is_required: false,
            style: ArgumentStyle::Positional,
        });
        return Some(call_signature);
    };
    for node in children(parameters) {
        let pattern = node.child_by_field_name("pattern").unwrap_or(node);
        match (node.kind(), pattern.kind()) {
            ("comment", _) | (_, "this") => {}
            (_, "rest_pattern") => call_signature.has_rest = true,
            ("required_parameter" | "optional_parameter", _) => {
                let typed = node_text(node.child_by_field_name("type"), text);
                // A parameter that may be void is optional.
                let is_void =
                    typed.trim_start_matches(':').split('|').any(|it| it.trim() == "void");
                let is_required = node.kind() == "required_parameter"
                    && node.child_by_field_name("value").is_none()
                    && !is_void;
                let name = source(&pattern, text).to_owned();
                call_signature.parameters.push(Parameter {
                    name,
                    is_required,
                    style: ArgumentStyle::Positional,
                });
            }
            _ => return None,
        }
    }
    Some(call_signature)
}

fn export(surface: &mut Surface, text: &str, node: Node<'_>, is_typed: bool) {
    let parts = children(node);
    let module = node.child_by_field_name("source").map(|it| unquoted(&it, text));
    if let Some(declaration) = node.child_by_field_name("declaration") {
        let mut declarations = declared_names(text, declaration, is_typed);
        if is_default(node) {
            let mut local = declarations.clone();
            local.iter_mut().for_each(|it| it.is_exported = false);
            surface.declarations.extend(local);
            let declaration = Declaration::new(&node, text, DeclarationKind::Value);
            let signature = declarations.first().and_then(|it| it.signature.clone());
            declarations =
                vec![Declaration { name: "default".to_owned(), signature, ..declaration }];
        }
        surface.declarations.extend(declarations);
        return;
    }
    if node.child_by_field_name("value").is_some() || is_default(node) {
        let declaration = Declaration::new(&node, text, DeclarationKind::Value);
        surface.declarations.push(Declaration { name: "default".to_owned(), ..declaration });
        return;
    }
    let Some(clause) = parts.iter().find(|it| it.kind() == "export_clause") else {
        let named = parts.iter().find(|it| it.kind() == "namespace_export");
        match (named.and_then(|it| it.named_child(0)), module) {
            (Some(name), Some(module)) => {
                surface.declarations.push(Declaration::new(&name, text, DeclarationKind::Reexport));
                surface.imports.push(module_import(
                    module,
                    ImportedItem::Module,
                    None,
                    &node,
                    Reexported::Yes,
                ));
            }
            (None, Some(module)) => {
                surface.imports.push(module_import(
                    module,
                    ImportedItem::All,
                    None,
                    &node,
                    Reexported::Yes,
                ));
            }
            // `export = x`, `export as namespace x`.
            (_, None) => surface.has_hidden_names = true,
        }
        return;
    };
    for specifier in children(*clause).iter().filter(|it| it.kind() == "export_specifier") {
        let Some(name) = specifier.child_by_field_name("name") else { continue };
        let shown = specifier.child_by_field_name("alias").unwrap_or(name);
        let declaration = Declaration::new(&shown, text, DeclarationKind::Reexport);
        surface.declarations.push(Declaration { name: unquoted(&shown, text), ..declaration });
        let Some(module) = &module else { continue };
        let what = ImportedItem::Name(unquoted(&name, text));
        surface.imports.push(module_import(module.clone(), what, None, specifier, Reexported::Yes));
    }
}

fn is_default(export: Node<'_>) -> bool {
    export.children(&mut export.walk()).any(|it| it.kind() == "default")
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Reexported {
    Yes,
    No,
}

fn module_import(
    module: String,
    what: ImportedItem,
    local: Option<String>,
    at: &Node<'_>,
    passed: Reexported,
) -> ModuleImport {
    ModuleImport {
        module,
        item: what,
        local_name: local,
        line: line(at),
        statement: lines(at),
        is_guarded: false,
        is_reexported: passed == Reexported::Yes,
    }
}

#[expect(clippy::too_many_lines, reason = "one branch per form of import")]
fn import(surface: &mut Surface, text: &str, node: Node<'_>) {
    let parts = children(node);
    if let Some(clause) = parts.iter().find(|it| it.kind() == "import_require_clause") {
        let module = clause.child_by_field_name("source").map(|it| unquoted(&it, text));
        let local = clause.named_child(0).map(|it| source(&it, text).to_owned());
        let module = module.unwrap_or_default();
        surface.imports.push(module_import(
            module,
            ImportedItem::Module,
            local,
            &node,
            Reexported::No,
        ));
        return;
    }
    let Some(module) = node.child_by_field_name("source").map(|it| unquoted(&it, text)) else {
        return;
    };
    let Some(clause) = parts.iter().find(|it| it.kind() == "import_clause") else {
        surface.imports.push(module_import(
            module,
            ImportedItem::Module,
            None,
            &node,
            Reexported::No,
        ));
        return;
    };
    for part in children(*clause) {
        let word = |node: Node<'_>| source(&node, text).to_owned();
        match part.kind() {
            "identifier" => {
                let what = ImportedItem::Name("default".to_owned());
                surface.imports.push(module_import(
                    module.clone(),
                    what,
                    Some(word(part)),
                    &part,
                    Reexported::No,
                ));
            }
            "namespace_import" => {
                let local = part.named_child(0).map(word);
                surface.imports.push(module_import(
                    module.clone(),
                    ImportedItem::Module,
                    local,
                    &part,
                    Reexported::No,
                ));
            }
            "named_imports" => {
                let before = surface.imports.len();
                for it in children(part).into_iter().filter(|it| it.kind() == "import_specifier") {
                    let Some(name) = it.child_by_field_name("name") else { continue };
                    let local = it.child_by_field_name("alias").unwrap_or(name);
                    let what = ImportedItem::Name(unquoted(&name, text));
                    surface.imports.push(module_import(
                        module.clone(),
                        what,
                        Some(word(local)),
                        &it,
                        Reexported::No,
                    ));
                }
                if surface.imports.len() == before {
                    surface.imports.push(module_import(
                        module.clone(),
                        ImportedItem::Module,
                        None,
                        &part,
                        Reexported::No,
                    ));
                }
            }
            _ => {}
        }
    }
}

/// Adds modules required by a top-level declaration.
fn add_required(surface: &mut Surface, text: &str, declaration: Node<'_>) {
    for declarator in children(declaration) {
        let value = declarator.child_by_field_name("value");
        let Some((module, member)) = value.and_then(|it| require(text, it)) else { continue };
        let Some(name) = declarator.child_by_field_name("name") else { continue };
        let word = |node: Node<'_>| source(&node, text).to_owned();
        let mut push = |what, local, at: Node<'_>| {
            surface.imports.push(module_import(
                module.clone(),
                what,
                Some(local),
                &at,
                Reexported::No,
            ));
        };
        match (name.kind(), member) {
            ("identifier", Some(member)) => {
                push(ImportedItem::Name(member), word(name), declarator);
            }
            ("identifier", None) => push(ImportedItem::Module, word(name), declarator),
            ("object_pattern", None) => {
                for it in children(name) {
                    match it.kind() {
                        "shorthand_property_identifier_pattern" => {
                            push(ImportedItem::Name(word(it)), word(it), it);
                        }
                        "pair_pattern" => {
                            let (key, value) =
                                (it.child_by_field_name("key"), it.child_by_field_name("value"));
                            if let (Some(key), Some(value)) = (key, value) {
                                push(ImportedItem::Name(word(key)), word(value), it);
                            }
                        }
                        // A name with a default may be missing.
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }
}

/// Module of `require("x")`, and name of `require("x").name`.
fn require(text: &str, node: Node<'_>) -> Option<(String, Option<String>)> {
    if node.kind() == "member_expression" {
        let (module, _) =
            require(text, node.child_by_field_name("object")?).filter(|it| it.1.is_none())?;
        return Some((module, Some(node_text(node.child_by_field_name("property"), text))));
    }
    let is_require = node.kind() == "call_expression"
        && node.child_by_field_name("function").is_some_and(|it| source(&it, text) == "require");
    let module = node.child_by_field_name("arguments").filter(|_| is_require)?.named_child(0)?;
    (module.kind() == "string").then(|| (unquoted(&module, text), None))
}

/// Modules loaded by calls anywhere: `require("./x")`, `import("./x")`.
fn loaded_modules(parsed: &SyntaxTree<'_>) -> Vec<ModuleImport> {
    let text = parsed.text();
    let mut cursor = parsed.tree().walk();
    let mut takes = Vec::new();
    // For each ancestor, whether failures inside are expected.
    let mut around: Vec<bool> = Vec::new();
    loop {
        let node = cursor.node();
        let is_guarded = around.last().is_some_and(|it| *it);
        if node.kind() == "call_expression"
            && let Some(module) = loaded_module(text, node)
        {
            let mut import =
                module_import(module, ImportedItem::Module, None, &node, Reexported::No);
            import.is_guarded = is_guarded;
            takes.push(import);
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

/// Module that a call loads.
fn loaded_module(text: &str, call: Node<'_>) -> Option<String> {
    let function = call.child_by_field_name("function")?;
    if !matches!(source(&function, text), "require" | "import") {
        return None;
    }
    let module = call.child_by_field_name("arguments")?.named_child(0)?;
    (module.kind() == "string").then(|| unquoted(&module, text))
}

/// Functions and methods whose argument or receiver may fail.
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

/// Whether the code expects a failure inside, or loads it conditionally.
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
            // The second argument handles a failure.
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

/// Adds the exports of a CommonJS module: one literal, or one assignment per name. Anything else is
/// hidden.
fn add_common_js(surface: &mut Surface, parsed: &SyntaxTree<'_>, is_standard: bool) {
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
        let left: String = node_text(assignment.child_by_field_name("left"), text);
        let right = assignment.child_by_field_name("right");
        if left == "module.exports" {
            listed += 1;
            match right.filter(|it| it.kind() == "object") {
                Some(object) => members(surface, text, object),
                None => surface.has_hidden_names = true,
            }
        } else if let Some(name) =
            left.strip_prefix("module.exports.").or(left.strip_prefix("exports."))
        {
            listed += 1;
            let declaration = Declaration::new(&assignment, text, DeclarationKind::Value);
            surface.declarations.push(Declaration { name: name.to_owned(), ..declaration });
        }
    }
    if listed == 0 && is_standard {
        return;
    }
    // An import without a name gets the whole object.
    let whole = Declaration::new(&parsed.tree().root_node(), text, DeclarationKind::Reexport);
    surface.declarations.push(Declaration { name: "default".to_owned(), line: 1, ..whole });
    surface.has_hidden_names |= text.matches("exports").count() > listed;
}

fn members(surface: &mut Surface, text: &str, object: Node<'_>) {
    for it in children(object) {
        let name = match it.kind() {
            "shorthand_property_identifier" => Some(it),
            "pair" => it.child_by_field_name("key"),
            "method_definition" => it.child_by_field_name("name"),
            "comment" => None,
            _ => {
                surface.has_hidden_names = true;
                None
            }
        };
        let declaration = name.map(|name| Declaration::new(&name, text, DeclarationKind::Value));
        surface.declarations.extend(
            declaration
                .map(|it| Declaration { name: it.name.trim_matches(['"', '\'']).to_owned(), ..it }),
        );
    }
}
