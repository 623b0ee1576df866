//! Finds names in code with their qualifier and call arguments.
//!
//! This module gives more detail than `mentions.rs`, which supports more languages.

mod in_macro;

use std::collections::BTreeSet;

use tree_sitter::Node;

use crate::parse::{one_based, source};
use crate::surface::Arguments;
use crate::{Language, SyntaxTree};

/// Maximum number of uses per text.
pub const USES_MAX: usize = 20_000;

/// A name in code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NameUse {
    /// The name without qualifiers.
    pub name: String,
    /// Qualifier as written, `a.b` or `a::b`; empty if there is none, `?` if it is not a plain
    /// path.
    pub qualifier: String,
    /// Line, 1-based.
    pub line: u32,
    /// Role of the name.
    pub role: UseRole,
}

/// Role of a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UseRole {
    /// Bound, or probably bound: a definition, parameter or variable.
    Bound,
    /// A key, a label or a macro token, which may have nothing to do with a declaration of this
    /// name.
    Key,
    /// Part of an import or export.
    Imported,
    /// Assigned or deleted as a member: `a.name = 1`.
    Written,
    /// Its value or type is used.
    Read,
    /// Called with these arguments.
    Called(Arguments),
}

impl SyntaxTree<'_> {
    /// Uses of these names in code, in source order; at most [`USES_MAX`].
    pub fn uses(&self, names: &BTreeSet<&str>) -> Vec<NameUse> {
        let text = self.text();
        let mut cursor = self.tree().walk();
        let mut ancestors: Vec<PathStep<'_>> = Vec::new();
        let mut uses = Vec::new();
        loop {
            let node = cursor.node();
            let step = (node, cursor.field_name());
            let is_leaf = node.child_count() == 0;
            if is_leaf && is_name(&node) && names.contains(source(&node, text)) {
                ancestors.push(step);
                let mut name_use = classify_use(self.language(), text, &ancestors);
                ancestors.pop();
                if self.language() == Language::Rust && name_use.role == UseRole::Key {
                    let macro_use = in_macro::macro_use(text, &ancestors, &cursor);
                    (name_use.qualifier, name_use.role) =
                        macro_use.unwrap_or((name_use.qualifier, name_use.role));
                }
                uses.push(name_use);
            }
            if uses.len() == USES_MAX {
                return uses;
            }
            if cursor.goto_first_child() {
                ancestors.push(step);
                continue;
            }
            while !cursor.goto_next_sibling() {
                if !cursor.goto_parent() {
                    return uses;
                }
                ancestors.pop();
            }
        }
    }
}

/// A node on the path from the root, and the field of its parent that holds it.
type PathStep<'t> = (Node<'t>, Option<&'t str>);

fn is_name(node: &Node<'_>) -> bool {
    let kind = node.kind();
    node.is_named()
        && (kind.ends_with("identifier")
            || kind.ends_with("identifier_pattern")
            || kind == "constant")
}

/// Classifies the leaf at the end of the path.
fn classify_use(language: Language, text: &str, path: &[PathStep<'_>]) -> NameUse {
    let (leaf, _) = path[path.len() - 1];
    let mut index = path.len() - 1;
    let mut qualifier = String::new();
    // If the leaf is the last name of a member expression, the role is that of the expression.
    if let Some((parent, _)) = index.checked_sub(1).and_then(|up| path.get(up))
        && let Some(owner) = owner(parent, path[index].1)
    {
        qualifier = source(&owner, text).split_whitespace().collect();
        if !qualifier.chars().all(|it| it.is_alphanumeric() || matches!(it, '_' | '.' | ':' | '$'))
        {
            qualifier = "?".to_owned();
        }
        index -= 1;
    }
    let role = role(language, text, path, index, qualifier.is_empty());
    NameUse {
        name: source(&leaf, text).to_owned(),
        qualifier,
        line: one_based(leaf.start_position().row),
        role,
    }
}

/// The owner `a` in the member expression `a.b`. `None` if `parent` is no member expression, or if
/// `field` is not that of `b`.
fn owner<'t>(parent: &Node<'t>, field: Option<&str>) -> Option<Node<'t>> {
    let (name_field, owner_field) = match parent.kind() {
        "attribute" => ("attribute", "object"),
        "member_expression" => ("property", "object"),
        "nested_type_identifier" | "nested_identifier" => ("name", "module"),
        "selector_expression" => ("field", "operand"),
        "qualified_type" => ("name", "package"),
        "scoped_identifier" | "scoped_type_identifier" => ("name", "path"),
        "field_expression" => ("field", "value"),
        "field_access" => ("field", "object"),
        "method_invocation" => ("name", "object"),
        "scope_resolution" => ("name", "scope"),
        "call" => ("method", "receiver"),
        _ => return None,
    };
    let field = field.or_else(|| (parent.kind() == "nested_identifier").then_some("name"));
    (field == Some(name_field)).then(|| parent.child_by_field_name(owner_field)).flatten()
}

fn role(
    language: Language,
    text: &str,
    path: &[PathStep<'_>],
    index: usize,
    is_unqualified: bool,
) -> UseRole {
    let (node, field) = path[index];
    let leaf = path[path.len() - 1].0;
    let ancestors = &path[..index];
    if ancestors.iter().any(|(it, _)| is_import(it.kind())) {
        return UseRole::Imported;
    }
    if ancestors.iter().any(|(it, _)| it.kind() == "token_tree") {
        return UseRole::Key;
    }
    // In Java and Ruby, the call and the member expression are one node.
    if !is_unqualified && matches!(node.kind(), "method_invocation" | "call") {
        return call_role(language, text, node);
    }
    let Some((parent, parent_field)) = ancestors.last().copied() else { return UseRole::Read };
    if !is_unqualified {
        let is_target = field == Some("left") && parent.kind().contains("assignment");
        let is_deleted = parent.kind() == "delete_statement";
        if is_target || is_deleted {
            return UseRole::Written;
        }
    }
    if let Some(role) = enclosing_call(language, text, ancestors, field) {
        return role;
    }
    if !is_unqualified {
        return UseRole::Read;
    }
    if is_key(&leaf, parent.kind(), field) {
        return UseRole::Key;
    }
    if binds_name(&node, field, parent, parent_field, ancestors) {
        return UseRole::Bound;
    }
    UseRole::Read
}

#[rustfmt::skip]
const IMPORTS: [&str; 6] = [
    "use_declaration", "export_clause", "package_clause", "package_declaration", "future_import_statement", "aliased_import",
];

fn is_import(kind: &str) -> bool {
    kind.starts_with("import_") && kind != "import_alias" || IMPORTS.contains(&kind)
}

/// Role of a name or member expression that is called; `None` if its parent is not a call.
fn enclosing_call(
    language: Language,
    text: &str,
    ancestors: &[PathStep<'_>],
    field: Option<&str>,
) -> Option<UseRole> {
    let (parent, parent_field) = ancestors.last()?;
    if parent.kind() == "generic_function" {
        return enclosing_call(language, text, &ancestors[..ancestors.len() - 1], *parent_field);
    }
    let is_function = match parent.kind() {
        "call" => matches!(field, Some("function" | "method")),
        "call_expression" => field == Some("function"),
        "new_expression" => field == Some("constructor"),
        "method_invocation" => field == Some("name"),
        "object_creation_expression" => field == Some("type"),
        _ => false,
    };
    is_function.then(|| call_role(language, text, *parent))
}

/// Arguments that may stand for any number of arguments.
#[rustfmt::skip]
const OPEN_ARGUMENTS: [&str; 9] = [
    "list_splat", "dictionary_splat", "spread_element", "splat_argument", "hash_splat_argument", "block_argument",
    "forward_argument", "variadic_argument", "pair",
];

fn call_role(language: Language, text: &str, call: Node<'_>) -> UseRole {
    let mut call_arguments = Arguments::default();
    let Some(arguments) = call.child_by_field_name("arguments") else {
        // `new X`, and Ruby calls without arguments.
        return UseRole::Called(call_arguments);
    };
    if !matches!(arguments.kind(), "argument_list" | "arguments") {
        call_arguments.may_have_more = true;
        return UseRole::Called(call_arguments);
    }
    let children: Vec<Node<'_>> = arguments.named_children(&mut arguments.walk()).collect();
    let argument_nodes: Vec<&Node<'_>> = children
        .iter()
        .filter(|it| !it.kind().contains("comment") && it.kind() != "attribute_item")
        .collect();
    for argument in &argument_nodes {
        match argument.kind() {
            kind if OPEN_ARGUMENTS.contains(&kind) => call_arguments.may_have_more = true,
            "keyword_argument" => {
                let name = argument.child_by_field_name("name");
                call_arguments.names.extend(name.map(|name| source(&name, text).to_owned()));
            }
            _ => call_arguments.positional += 1,
        }
    }
    // In Go a call with several results can supply all arguments.
    let is_spread = arguments.children(&mut arguments.walk()).any(|it| it.kind() == "...");
    if language == Language::Go
        && (is_spread || argument_nodes.len() == 1 && argument_nodes[0].kind() == "call_expression")
    {
        call_arguments.may_have_more = true;
    }
    UseRole::Called(call_arguments)
}

#[rustfmt::skip]
const KEYS: [&str; 6] = [
    "property_identifier", "private_property_identifier", "field_identifier", "label_name", "statement_identifier",
    "shorthand_field_identifier",
];

fn is_key(leaf: &Node<'_>, parent: &str, field: Option<&str>) -> bool {
    KEYS.contains(&leaf.kind())
        || parent == "keyword_argument" && field == Some("name")
        || parent == "element_value_pair" && field == Some("key")
        || matches!(parent, "literal_element" | "keyed_element" | "labeled_statement")
}

/// Whether the node binds its name: declares, defines or assigns the name.
fn binds_name(
    node: &Node<'_>,
    field: Option<&str>,
    parent: Node<'_>,
    parent_field: Option<&str>,
    ancestors: &[PathStep<'_>],
) -> bool {
    const FIELDS: [&str; 6] = ["name", "declarator", "pattern", "alias", "parameter", "left"];
    const VALUE_FIELDS: [&str; 8] =
        ["type", "value", "return_type", "default_value", "right", "result", "trait", "body"];
    #[rustfmt::skip]
    const NON_BINDING_PARENTS: [&str; 9] = [
        "generic_type", "struct_expression", "annotation", "marker_annotation", "decorator", "binary_expression", "binary_operator",
        "boolean_operator", "comparison_operator",
    ];
    #[rustfmt::skip]
    const NAME_LISTS: [&str; 5] = [
        "global_statement", "nonlocal_statement", "as_pattern_target", "exception_variable", "block_parameters",
    ];
    #[rustfmt::skip]
    const PATTERNS: [&str; 7] = [
        "pattern_list", "tuple_pattern", "list_pattern", "object_pattern", "array_pattern", "case_pattern", "left_assignment_list",
    ];
    let kind = parent.kind();
    // JSX elements, generic types, annotations and operators do not bind the names in them.
    if kind.starts_with("jsx") || NON_BINDING_PARENTS.contains(&kind) {
        return false;
    }
    let is_binding_kind = |kind: &str| kind.contains("parameter") || kind.contains("pattern");
    let is_value_or_type = field.is_some_and(|field| VALUE_FIELDS.contains(&field));
    field.is_some_and(|field| FIELDS.contains(&field))
        || is_binding_kind(node.kind())
        || !is_value_or_type && (is_binding_kind(kind) || kind.contains("declarat"))
        || NAME_LISTS.contains(&kind)
        || !is_value_or_type
            && ancestors.iter().rev().take(4).any(|(it, _)| PATTERNS.contains(&it.kind()))
        // One of several names on the left: `a, b := …`.
        || kind.ends_with("list") && parent_field == Some("left")
        || kind == "catch_clause"
}
