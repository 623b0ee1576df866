//! Helpers for syntax trees of all languages: nodes, their texts, and named calls.

use tree_sitter::{Node, Tree};

use crate::source::{SourceText, line_number};

/// A node with its parent. `Node::parent` is slow: it searches from the root.
#[derive(Debug, Clone, Copy)]
pub(super) struct NodeWithParent<'t> {
    pub(super) node: Node<'t>,
    pub(super) parent: Option<Node<'t>>,
}

/// Every node of a tree, parents first.
pub(super) fn nodes<'t>(tree: &'t Tree) -> impl Iterator<Item = Node<'t>> {
    nodes_with_parents(tree).map(|entry| entry.node)
}

/// Every node of a tree with its parent, parents first.
pub(super) fn nodes_with_parents<'t>(tree: &'t Tree) -> impl Iterator<Item = NodeWithParent<'t>> {
    let mut cursor = tree.walk();
    let mut parents: Vec<Node<'t>> = Vec::new();
    let mut next = Some(tree.root_node());
    std::iter::from_fn(move || {
        let node = next?;
        let entry = NodeWithParent { node, parent: parents.last().copied() };
        next = None;
        if cursor.goto_first_child() {
            parents.push(node);
            next = Some(cursor.node());
            return Some(entry);
        }
        loop {
            if cursor.goto_next_sibling() {
                next = Some(cursor.node());
                return Some(entry);
            }
            if !cursor.goto_parent() {
                return Some(entry);
            }
            parents.pop();
        }
    })
}

pub(super) fn node_text<'t>(node: Node<'_>, source: &SourceText<'t>) -> &'t str {
    let end = node.end_byte().min(source.text.len());
    source.text.get(node.start_byte()..end).unwrap_or_default()
}

/// The line of a node, 1-based.
pub(super) fn node_line(node: Node<'_>) -> u32 {
    line_number(node.start_position().row)
}

/// The named children of a node, without comments.
pub(super) fn named_children<'t>(node: Node<'t>) -> Vec<Node<'t>> {
    let mut cursor = node.walk();
    node.named_children(&mut cursor).filter(|child| !child.kind().contains("comment")).collect()
}

/// The line of a single-line node with the node replaced by other text.
pub(super) fn line_with(node: Node<'_>, text: &str, source: &SourceText<'_>) -> Option<String> {
    let (start, end) = (node.start_position(), node.end_position());
    let line_text = source.line(node_line(node));
    let (before, after) = (line_text.get(..start.column)?, line_text.get(end.column..)?);
    (start.row == end.row).then(|| format!("{before}{text}{after}"))
}

/// The names in a JavaScript callee such as `test.describe.only`, in order.
pub(super) fn callee_names<'t>(callee: Node<'t>) -> Vec<Node<'t>> {
    /// Maximum names in a chain. Longer chains are not test calls.
    const NAMES_MAX: usize = 8;
    let mut names = Vec::new();
    let mut node = Some(callee);
    while let Some(callee) = node.filter(|_| names.len() < NAMES_MAX) {
        node = match callee.kind() {
            "identifier" => {
                names.push(callee);
                names.reverse();
                return names;
            }
            "member_expression" => {
                names.extend(callee.child_by_field_name("property"));
                callee.child_by_field_name("object")
            }
            // `it.each(table)('…', …)`
            "call_expression" => callee.child_by_field_name("function"),
            _ => None,
        };
    }
    Vec::new()
}

/// Whether JavaScript call arguments are those of a test: a function, or a title and more.
pub(super) fn is_test_call(arguments: Node<'_>) -> bool {
    let arguments = named_children(arguments);
    let is_text = |node: &Node<'_>| matches!(node.kind(), "string" | "template_string");
    let is_function = |node: &Node<'_>| {
        matches!(node.kind(), "arrow_function" | "function_expression" | "function")
    };
    arguments.iter().any(is_function) || arguments.len() > 1 && is_text(&arguments[0])
}
