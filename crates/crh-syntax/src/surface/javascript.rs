//! JavaScript and TypeScript: exports, other top-level names, and imports.

use tree_sitter::Node;

use super::{
    CallSignature, Declaration, DeclarationKind, ImportedItem, ModuleImport, Parameter, Surface,
    children, line_range, node_text, unquoted,
};
use crate::parse::source;
use crate::{Language, SyntaxTree};

pub(super) fn surface(syntax_tree: &SyntaxTree<'_>) -> Surface {
    let text = syntax_tree.text();
    let mut surface = Surface::default();
    let is_typed = syntax_tree.language() != Language::JavaScript;
    let mut is_es_module = false;
    for node in children(syntax_tree.tree().root_node()) {
        let imports_before = surface.imports.len();
        is_es_module |= matches!(node.kind(), "export_statement" | "import_statement");
        match node.kind() {
            "export_statement" => add_export(&mut surface, text, node, is_typed),
            "import_statement" => add_import(&mut surface, text, node),
            _ => add_own_declarations(&mut surface, text, node, is_typed),
        }
        for import in &mut surface.imports[imports_before..] {
            import.statement = line_range(&node);
        }
    }
    add_common_js(&mut surface, syntax_tree, is_es_module);
    if text.contains("require(") || text.contains("import(") {
        surface.imports.extend(loaded_modules(syntax_tree));
    }
    // With overloads, or a type beside a function, a name does not identify one signature.
    let mut names: Vec<(&str, bool)> =
        surface.declarations.iter().map(|it| (it.name.as_str(), it.is_exported)).collect();
    names.sort_unstable();
    let duplicate_names: Vec<String> = names
        .windows(2)
        .filter(|pair| pair[0] == pair[1])
        .map(|pair| pair[0].0.to_owned())
        .collect();
    for declaration in &mut surface.declarations {
        if duplicate_names.binary_search(&declaration.name).is_ok() {
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
        add_required_modules(surface, text, node);
    }
}

/// Names of a declaration.
fn declared_names(text: &str, node: Node<'_>, is_typed: bool) -> Vec<Declaration> {
    let name = node.child_by_field_name("name");
    let declare = |kind| name.map(|name| Declaration::new(&name, text, kind)).into_iter().collect();
    match node.kind() {
        "function_declaration" | "generator_function_declaration" => {
            let call_signature = is_typed.then(|| signature(text, node)).flatten();
            let declarations: Vec<Declaration> = declare(DeclarationKind::Function);
            declarations
                .into_iter()
                .map(|it| Declaration { signature: call_signature.clone(), ..it })
                .collect()
        }
        "function_signature" => declare(DeclarationKind::Function),
        "class_declaration"
        | "abstract_class_declaration"
        | "interface_declaration"
        | "type_alias_declaration"
        | "enum_declaration" => declare(DeclarationKind::Type),
        "internal_module" | "module" => declare(DeclarationKind::Module),
        "import_alias" => children(node)
            .first()
            .map(|it| Declaration::new(it, text, DeclarationKind::Reexport))
            .into_iter()
            .collect(),
        "expression_statement" | "ambient_declaration" => {
            let inner_declarations = children(node).into_iter().filter(|child| {
                child.kind() == "internal_module" || node.kind() == "ambient_declaration"
            });
            inner_declarations
                .filter(|it| it.kind() != "ambient_declaration")
                .flat_map(|it| declared_names(text, it, is_typed))
                .collect()
        }
        "lexical_declaration" | "variable_declaration" => children(node)
            .into_iter()
            .filter(|it| it.kind() == "variable_declarator")
            .flat_map(|it| variable_declarations(text, it, is_typed))
            .collect(),
        _ => Vec::new(),
    }
}

fn variable_declarations(text: &str, declarator: Node<'_>, is_typed: bool) -> Vec<Declaration> {
    let Some(name) = declarator.child_by_field_name("name") else { return Vec::new() };
    let value = declarator.child_by_field_name("value");
    let function = value.filter(|value| {
        matches!(value.kind(), "arrow_function" | "function_expression")
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
    let mut worklist = vec![pattern];
    while let Some(node) = worklist.pop() {
        match node.kind() {
            "identifier" | "shorthand_property_identifier_pattern" => {
                declarations.push(Declaration::new(&node, text, DeclarationKind::Value));
            }
            "pair_pattern" => worklist.extend(node.child_by_field_name("value")),
            "assignment_pattern" | "object_assignment_pattern" => {
                worklist.extend(node.child_by_field_name("left"));
            }
            _ => worklist.extend(children(node)),
        }
    }
    declarations
}

fn signature(text: &str, function: Node<'_>) -> Option<CallSignature> {
    let mut call_signature = CallSignature::default();
    let Some(parameters) = function.child_by_field_name("parameters") else {
        // `x => …`
        let name = function.child_by_field_name("parameter")?;
        call_signature.parameters.push(Parameter::positional(source(&name, text), false));
        return Some(call_signature);
    };
    for node in children(parameters) {
        let pattern = node.child_by_field_name("pattern").unwrap_or(node);
        match (node.kind(), pattern.kind()) {
            ("comment", _) | (_, "this") => {}
            (_, "rest_pattern") => call_signature.has_rest = true,
            ("required_parameter" | "optional_parameter", _) => {
                let type_text = node_text(node.child_by_field_name("type"), text);
                // A parameter that may be void is optional.
                let is_void =
                    type_text.trim_start_matches(':').split('|').any(|it| it.trim() == "void");
                let is_required = node.kind() == "required_parameter"
                    && node.child_by_field_name("value").is_none()
                    && !is_void;
                let name = source(&pattern, text);
                call_signature.parameters.push(Parameter::positional(name, is_required));
            }
            _ => return None,
        }
    }
    Some(call_signature)
}

fn add_export(surface: &mut Surface, text: &str, node: Node<'_>, is_typed: bool) {
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
            declarations = vec![Declaration { signature, ..declaration.named("default") }];
        }
        surface.declarations.extend(declarations);
        return;
    }
    if node.child_by_field_name("value").is_some() || is_default(node) {
        let declaration = Declaration::new(&node, text, DeclarationKind::Value);
        surface.declarations.push(declaration.named("default"));
        return;
    }
    let Some(clause) = parts.iter().find(|it| it.kind() == "export_clause") else {
        let namespace_export = parts.iter().find(|it| it.kind() == "namespace_export");
        match (namespace_export.and_then(|it| it.named_child(0)), module) {
            (Some(name), Some(module)) => {
                surface.declarations.push(Declaration::new(&name, text, DeclarationKind::Reexport));
                surface.imports.push(reexport(module, ImportedItem::Module, &node));
            }
            (None, Some(module)) => {
                surface.imports.push(reexport(module, ImportedItem::All, &node));
            }
            // `export = x`, `export as namespace x`.
            (_, None) => surface.has_hidden_names = true,
        }
        return;
    };
    for specifier in children(*clause).iter().filter(|it| it.kind() == "export_specifier") {
        let Some(name) = specifier.child_by_field_name("name") else { continue };
        let exported_name = specifier.child_by_field_name("alias").unwrap_or(name);
        let declaration = Declaration::new(&exported_name, text, DeclarationKind::Reexport);
        surface.declarations.push(declaration.named(&unquoted(&exported_name, text)));
        let Some(module) = &module else { continue };
        let item = ImportedItem::Name(unquoted(&name, text));
        surface.imports.push(reexport(module.clone(), item, specifier));
    }
}

fn is_default(export: Node<'_>) -> bool {
    export.children(&mut export.walk()).any(|it| it.kind() == "default")
}

fn reexport(module: String, item: ImportedItem, node: &Node<'_>) -> ModuleImport {
    ModuleImport { is_reexported: true, ..ModuleImport::new(module, item, None, node) }
}

/// Adds the imports of an `import` statement.
fn add_import(surface: &mut Surface, text: &str, node: Node<'_>) {
    let parts = children(node);
    if let Some(clause) = parts.iter().find(|it| it.kind() == "import_require_clause") {
        surface.imports.push(import_of_require_clause(text, node, *clause));
        return;
    }
    let Some(module) = node.child_by_field_name("source").map(|it| unquoted(&it, text)) else {
        return;
    };
    let Some(clause) = parts.iter().find(|it| it.kind() == "import_clause") else {
        // `import "module"`.
        surface.imports.push(ModuleImport::new(module, ImportedItem::Module, None, &node));
        return;
    };
    for part in children(*clause) {
        surface.imports.extend(imports_of_clause_part(text, &module, part));
    }
}

/// `import local = require("module")`.
fn import_of_require_clause(text: &str, node: Node<'_>, clause: Node<'_>) -> ModuleImport {
    let module = clause.child_by_field_name("source").map(|it| unquoted(&it, text));
    let local_name = clause.named_child(0).map(|it| source(&it, text).to_owned());
    ModuleImport::new(module.unwrap_or_default(), ImportedItem::Module, local_name, &node)
}

/// Imports of one part of a clause: of `a`, `* as b` or `{ c }` in `import a, { c } from "module"`.
fn imports_of_clause_part(text: &str, module: &str, part: Node<'_>) -> Vec<ModuleImport> {
    let word = |node: Node<'_>| source(&node, text).to_owned();
    let new_import =
        |item, local_name| ModuleImport::new(module.to_owned(), item, local_name, &part);
    match part.kind() {
        "identifier" => {
            vec![new_import(ImportedItem::Name("default".to_owned()), Some(word(part)))]
        }
        "namespace_import" => {
            vec![new_import(ImportedItem::Module, part.named_child(0).map(word))]
        }
        "named_imports" => {
            let imports = named_imports(text, module, part);
            // `import {} from "module"` loads the module.
            if imports.is_empty() { vec![new_import(ImportedItem::Module, None)] } else { imports }
        }
        _ => Vec::new(),
    }
}

/// Imports of the names in braces.
fn named_imports(text: &str, module: &str, list: Node<'_>) -> Vec<ModuleImport> {
    let specifiers = children(list).into_iter().filter(|it| it.kind() == "import_specifier");
    let import = |specifier: Node<'_>| {
        let name = specifier.child_by_field_name("name")?;
        let local_name = specifier.child_by_field_name("alias").unwrap_or(name);
        let item = ImportedItem::Name(unquoted(&name, text));
        let local_name = Some(source(&local_name, text).to_owned());
        Some(ModuleImport::new(module.to_owned(), item, local_name, &specifier))
    };
    specifiers.filter_map(import).collect()
}

/// Adds modules required by a top-level declaration.
fn add_required_modules(surface: &mut Surface, text: &str, declaration: Node<'_>) {
    for declarator in children(declaration) {
        let value = declarator.child_by_field_name("value");
        let Some((module, member)) = value.and_then(|it| parse_require(text, it)) else { continue };
        let Some(name) = declarator.child_by_field_name("name") else { continue };
        let word = |node: Node<'_>| source(&node, text).to_owned();
        let mut add_import = |item, local_name, node: Node<'_>| {
            surface.imports.push(ModuleImport::new(module.clone(), item, Some(local_name), &node));
        };
        match (name.kind(), member) {
            ("identifier", Some(member)) => {
                add_import(ImportedItem::Name(member), word(name), declarator);
            }
            ("identifier", None) => add_import(ImportedItem::Module, word(name), declarator),
            ("object_pattern", None) => {
                for property in children(name) {
                    match property.kind() {
                        "shorthand_property_identifier_pattern" => {
                            let name = word(property);
                            add_import(ImportedItem::Name(name.clone()), name, property);
                        }
                        "pair_pattern" => {
                            let (key, value) = (
                                property.child_by_field_name("key"),
                                property.child_by_field_name("value"),
                            );
                            if let (Some(key), Some(value)) = (key, value) {
                                add_import(ImportedItem::Name(word(key)), word(value), property);
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
fn parse_require(text: &str, node: Node<'_>) -> Option<(String, Option<String>)> {
    if node.kind() == "member_expression" {
        let (module, _) =
            parse_require(text, node.child_by_field_name("object")?).filter(|it| it.1.is_none())?;
        return Some((module, Some(node_text(node.child_by_field_name("property"), text))));
    }
    let is_require = node.kind() == "call_expression"
        && node.child_by_field_name("function").is_some_and(|it| source(&it, text) == "require");
    let module = node.child_by_field_name("arguments").filter(|_| is_require)?.named_child(0)?;
    (module.kind() == "string").then(|| (unquoted(&module, text), None))
}

/// Modules loaded by calls anywhere: `require("./x")`, `import("./x")`.
fn loaded_modules(syntax_tree: &SyntaxTree<'_>) -> Vec<ModuleImport> {
    let text = syntax_tree.text();
    let mut cursor = syntax_tree.tree().walk();
    let mut imports = Vec::new();
    // For each ancestor, whether failures inside are expected.
    let mut guard_stack: Vec<bool> = Vec::new();
    loop {
        let node = cursor.node();
        let is_guarded = guard_stack.last().is_some_and(|it| *it);
        if node.kind() == "call_expression"
            && let Some(module) = loaded_module(text, node)
        {
            let import = ModuleImport::new(module, ImportedItem::Module, None, &node);
            imports.push(ModuleImport { is_guarded, ..import });
        }
        if cursor.goto_first_child() {
            guard_stack.push(is_guarded || may_fail(text, node));
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return imports;
            }
            guard_stack.pop();
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
#[rustfmt::skip]
const MAY_FAIL: [&str; 9] = [
    "catch", "mock", "doMock", "expect", "throw", "throws", "throwsAsync", "rejects", "allSettled",
];

/// Whether loading a module inside this node may fail: the code expects a failure, or loads the
/// module conditionally.
fn may_fail(text: &str, node: Node<'_>) -> bool {
    match node.kind() {
        "try_statement" | "catch_clause" | "if_statement" | "ternary_expression"
        | "binary_expression" | "switch_statement" => true,
        "call_expression" => {
            let function = node.child_by_field_name("function");
            let function_field = |field| function.and_then(|it| it.child_by_field_name(field));
            let owner =
                function_field("object").filter(|it| it.kind() == "identifier").or(function);
            let owner = owner.filter(|it| it.kind() == "identifier");
            let owner = owner.map_or("", |it| source(&it, text));
            let method = function_field("property").map_or("", |it| source(&it, text));
            // The second argument of `then` handles a failure.
            let argument_count =
                || node.child_by_field_name("arguments").map_or(0, |it| children(it).len());
            MAY_FAIL.contains(&method)
                || MAY_FAIL.contains(&owner)
                || owner.starts_with("assert")
                || method == "then" && argument_count() > 1
        }
        _ => false,
    }
}

/// Adds the exports of a CommonJS module: one object literal, or one assignment per name. Any other
/// use of `exports` counts as hidden names.
fn add_common_js(surface: &mut Surface, syntax_tree: &SyntaxTree<'_>, is_es_module: bool) {
    let text = syntax_tree.text();
    if !text.contains("exports") {
        return;
    }
    let mut export_count = 0;
    for node in children(syntax_tree.tree().root_node()) {
        let Some(assignment) = node.named_child(0).filter(|expression| {
            node.kind() == "expression_statement" && expression.kind() == "assignment_expression"
        }) else {
            continue;
        };
        let target: String = node_text(assignment.child_by_field_name("left"), text);
        let right = assignment.child_by_field_name("right");
        if target == "module.exports" {
            export_count += 1;
            match right.filter(|it| it.kind() == "object") {
                Some(object) => add_object_members(surface, text, object),
                None => surface.has_hidden_names = true,
            }
        } else if let Some(name) =
            target.strip_prefix("module.exports.").or(target.strip_prefix("exports."))
        {
            export_count += 1;
            let declaration = Declaration::new(&assignment, text, DeclarationKind::Value);
            surface.declarations.push(declaration.named(name));
        }
    }
    if export_count == 0 && is_es_module {
        return;
    }
    // A default import gets the whole object.
    let default_export =
        Declaration::new(&syntax_tree.tree().root_node(), text, DeclarationKind::Reexport);
    surface.declarations.push(Declaration { line: 1, ..default_export.named("default") });
    surface.has_hidden_names |= text.matches("exports").count() > export_count;
}

fn add_object_members(surface: &mut Surface, text: &str, object: Node<'_>) {
    for property in children(object) {
        let name = match property.kind() {
            "shorthand_property_identifier" => Some(property),
            "pair" => property.child_by_field_name("key"),
            "method_definition" => property.child_by_field_name("name"),
            "comment" => None,
            _ => {
                surface.has_hidden_names = true;
                None
            }
        };
        let declaration = name.map(|name| Declaration::new(&name, text, DeclarationKind::Value));
        surface.declarations.extend(declaration.map(|declaration| Declaration {
            name: declaration.name.trim_matches(['"', '\'']).to_owned(),
            ..declaration
        }));
    }
}
