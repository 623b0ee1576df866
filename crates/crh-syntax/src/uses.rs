//! Where names stand in a text as code, each with what stands before it and what it is called with.
//!
//! It tells more than `mentions.rs` does, which is for many languages and for a first look.

mod in_macro;

use std::collections::BTreeSet;

use tree_sitter::Node;

use crate::parse::{one_based, source};
use crate::surface::Arguments;
use crate::{Language, Parsed};

/// The most uses kept of one text: whoever wants to know whether a name is used needs a few.
pub const USES_MAX: usize = 20_000;

/// A name in the code of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Use {
    /// The name, without what is around it.
    pub name: String,
    /// What it belongs to as it is written, `a.b` or `a::b`; empty if it stands alone.
    pub of: String,
    /// The line, 1-based.
    pub line: u32,
    /// What is done with it.
    pub role: UseRole,
}

/// What is done with a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UseRole {
    /// It is given to something: a definition, a parameter, a variable. In doubt it is this.
    Bound,
    /// It is a key, a label or a part of a macro, which need not mean anything by that name.
    Key,
    /// It is part of an import or an export.
    Taken,
    /// Something is assigned to it as a member of something else.
    Written,
    /// Its value or type is used.
    Read,
    /// It is called.
    Called(Arguments),
}

impl Parsed<'_> {
    /// The places where one of these names stands as code, in source order; at most [`USES_MAX`].
    pub fn uses(&self, names: &BTreeSet<&str>) -> Vec<Use> {
        let text = self.text();
        let mut cursor = self.tree().walk();
        let mut around: Vec<Step<'_>> = Vec::new();
        let mut uses = Vec::new();
        loop {
            let node = cursor.node();
            let frame = (node, cursor.field_name());
            let is_leaf = node.child_count() == 0;
            if is_leaf && is_name(&node) && names.contains(source(&node, text)) {
                around.push(frame);
                let mut it = used(self.language(), text, &around);
                around.pop();
                if self.language() == Language::Rust && it.role == UseRole::Key {
                    let known = in_macro::used(text, &around, &cursor);
                    (it.of, it.role) = known.unwrap_or((it.of, it.role));
                }
                uses.push(it);
            }
            if uses.len() == USES_MAX {
                return uses;
            }
            if cursor.goto_first_child() {
                around.push(frame);
                continue;
            }
            while !cursor.goto_next_sibling() {
                if !cursor.goto_parent() {
                    return uses;
                }
                around.pop();
            }
        }
    }
}

/// A node on the way from the root, and the field that it is in.
type Step<'t> = (Node<'t>, Option<&'t str>);

fn is_name(node: &Node<'_>) -> bool {
    let kind = node.kind();
    node.is_named()
        && (kind.ends_with("identifier")
            || kind.ends_with("identifier_pattern")
            || kind == "constant")
}

/// The path to a leaf ends with the leaf.
fn used(language: Language, text: &str, path: &[Step<'_>]) -> Use {
    let (leaf, _) = path[path.len() - 1];
    let mut at = path.len() - 1;
    let mut of = String::new();
    // The member expression that the leaf is the last part of.
    if let Some((parent, _)) = at.checked_sub(1).and_then(|up| path.get(up))
        && let Some(owner) = owner(parent, path[at].1)
    {
        of = source(&owner, text).split_whitespace().collect();
        if !of.chars().all(|it| it.is_alphanumeric() || matches!(it, '_' | '.' | ':' | '$')) {
            of = "?".to_owned();
        }
        at -= 1;
    }
    let role = role(language, text, path, at, of.is_empty());
    Use {
        name: source(&leaf, text).to_owned(),
        of,
        line: one_based(leaf.start_position().row),
        role,
    }
}

/// What the last part of a member expression belongs to.
fn owner<'t>(parent: &Node<'t>, field: Option<&str>) -> Option<Node<'t>> {
    let (last, owner) = match parent.kind() {
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
    (field == Some(last)).then(|| parent.child_by_field_name(owner)).flatten()
}

fn role(language: Language, text: &str, path: &[Step<'_>], at: usize, is_alone: bool) -> UseRole {
    let (node, field) = path[at];
    let leaf = path[path.len() - 1].0;
    let around = &path[..at];
    if around.iter().any(|(it, _)| is_import(it.kind())) {
        return UseRole::Taken;
    }
    if around.iter().any(|(it, _)| it.kind() == "token_tree") {
        return UseRole::Key;
    }
    // A method call is one node in Java and Ruby.
    let (node_or_call, call_field) = match node.kind() {
        "method_invocation" | "call" if !is_alone => return called(language, text, node),
        _ => (node, field),
    };
    let Some((parent, parent_field)) = around.last().copied() else { return UseRole::Read };
    if !is_alone {
        let is_target = call_field == Some("left") && parent.kind().contains("assignment");
        let is_deleted = parent.kind() == "delete_statement";
        if is_target || is_deleted {
            return UseRole::Written;
        }
    }
    if let Some(role) = call(language, text, around, call_field) {
        return role;
    }
    if !is_alone {
        return UseRole::Read;
    }
    if is_key(&leaf, parent.kind(), call_field) {
        return UseRole::Key;
    }
    if binds(&node_or_call, call_field, parent, parent_field, around) {
        return UseRole::Bound;
    }
    UseRole::Read
}

fn is_import(kind: &str) -> bool {
    kind.starts_with("import_") && kind != "import_alias"
        || matches!(
            kind,
            "use_declaration"
                | "export_clause"
                | "package_clause"
                | "package_declaration"
                | "future_import_statement"
                | "aliased_import"
        )
}

/// The call that a name or a member expression is the function of.
fn call(
    language: Language,
    text: &str,
    around: &[Step<'_>],
    field: Option<&str>,
) -> Option<UseRole> {
    let (parent, parent_field) = around.last()?;
    if parent.kind() == "generic_function" {
        return call(language, text, &around[..around.len() - 1], *parent_field);
    }
    let is_function = match parent.kind() {
        "call" => matches!(field, Some("function" | "method")),
        "call_expression" => field == Some("function"),
        "new_expression" => field == Some("constructor"),
        "method_invocation" => field == Some("name"),
        "object_creation_expression" => field == Some("type"),
        _ => false,
    };
    is_function.then(|| called(language, text, *parent))
}

fn called(language: Language, text: &str, call: Node<'_>) -> UseRole {
    let mut given = Arguments::default();
    let Some(arguments) = call.child_by_field_name("arguments") else {
        // `new X` and Ruby's calls without brackets.
        return UseRole::Called(given);
    };
    if !matches!(arguments.kind(), "argument_list" | "arguments") {
        given.is_open = true;
        return UseRole::Called(given);
    }
    let all: Vec<Node<'_>> = arguments.named_children(&mut arguments.walk()).collect();
    let all: Vec<&Node<'_>> = all
        .iter()
        .filter(|it| !it.kind().contains("comment") && it.kind() != "attribute_item")
        .collect();
    for it in &all {
        match it.kind() {
            "list_splat"
            | "dictionary_splat"
            | "spread_element"
            | "splat_argument"
            | "hash_splat_argument"
            | "block_argument"
            | "forward_argument"
            | "variadic_argument" => given.is_open = true,
            "keyword_argument" => {
                let name = it.child_by_field_name("name");
                given.names.extend(name.map(|name| source(&name, text).to_owned()));
            }
            "pair" => given.is_open = true,
            _ => given.places += 1,
        }
    }
    // A call with several results can be all arguments at once, in Go.
    let is_spread = arguments.children(&mut arguments.walk()).any(|it| it.kind() == "...");
    if language == Language::Go
        && (is_spread || all.len() == 1 && all[0].kind() == "call_expression")
    {
        given.is_open = true;
    }
    UseRole::Called(given)
}

fn is_key(leaf: &Node<'_>, parent: &str, field: Option<&str>) -> bool {
    matches!(
        leaf.kind(),
        "property_identifier"
            | "private_property_identifier"
            | "field_identifier"
            | "label_name"
            | "statement_identifier"
            | "shorthand_field_identifier"
    ) || parent == "keyword_argument" && field == Some("name")
        || parent == "literal_element"
        || parent == "keyed_element"
        || parent == "element_value_pair" && field == Some("key")
        || parent == "labeled_statement"
}

/// Whether a name is given to something here.
fn binds(
    node: &Node<'_>,
    field: Option<&str>,
    parent: Node<'_>,
    parent_field: Option<&str>,
    around: &[Step<'_>],
) -> bool {
    const FIELDS: [&str; 6] = ["name", "declarator", "pattern", "alias", "parameter", "left"];
    let kind = parent.kind();
    // An element of JSX and a type's arguments have names, too, which are used.
    if kind.starts_with("jsx")
        || kind == "generic_type"
        || kind == "struct_expression"
        || kind == "annotation"
        || kind == "marker_annotation"
        || kind == "decorator"
        || kind == "binary_expression"
        || kind == "binary_operator"
        || kind == "boolean_operator"
        || kind == "comparison_operator"
    {
        return false;
    }
    let is_bound = |kind: &str| kind.contains("parameter") || kind.contains("pattern");
    let is_used = matches!(
        field,
        Some(
            "type"
                | "value"
                | "return_type"
                | "default_value"
                | "right"
                | "result"
                | "trait"
                | "body"
        )
    );
    field.is_some_and(|field| FIELDS.contains(&field))
        || is_bound(node.kind())
        || !is_used && (is_bound(kind) || kind.contains("declarat"))
        || matches!(kind, "global_statement" | "nonlocal_statement" | "as_pattern_target" | "exception_variable" | "block_parameters")
        || !is_used && around.iter().rev().take(4).any(|(it, _)| matches!(it.kind(), "pattern_list" | "tuple_pattern" | "list_pattern" | "object_pattern" | "array_pattern" | "case_pattern" | "left_assignment_list"))
        // One of several on the left: `a, b := …`.
        || kind.ends_with("list") && parent_field == Some("left")
        || kind == "catch_clause"
}
