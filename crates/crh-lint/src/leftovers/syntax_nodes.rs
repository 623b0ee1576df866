//! What trees of different languages have in common: nodes, their texts, and calls with a name.

use tree_sitter::{Node, Tree};

use crate::source::Source;

/// Where a walk over a tree is. To ask a node itself for its parent costs a search from the root.
#[derive(Debug, Clone, Copy)]
pub(super) struct Here<'t> {
    pub(super) node: Node<'t>,
    pub(super) parent: Option<Node<'t>>,
}

/// Every node of a tree, parents first.
pub(super) fn nodes<'t>(tree: &'t Tree) -> impl Iterator<Item = Node<'t>> {
    nodes_in_parents(tree).map(|here| here.node)
}

/// Every node of a tree with its parent, parents first.
pub(super) fn nodes_in_parents<'t>(tree: &'t Tree) -> impl Iterator<Item = Here<'t>> {
    let mut cursor = tree.walk();
    let mut parents: Vec<Node<'t>> = Vec::new();
    let mut next = Some(tree.root_node());
    std::iter::from_fn(move || {
        let node = next?;
        let here = Here { node, parent: parents.last().copied() };
        next = None;
        if cursor.goto_first_child() {
            parents.push(node);
            next = Some(cursor.node());
            return Some(here);
        }
        loop {
            if cursor.goto_next_sibling() {
                next = Some(cursor.node());
                return Some(here);
            }
            if !cursor.goto_parent() {
                return Some(here);
            }
            parents.pop();
        }
    })
}

/// The text of a node.
pub(super) fn text<'t>(node: Node<'_>, source: &Source<'t>) -> &'t str {
    let end = node.end_byte().min(source.text.len());
    source.text.get(node.start_byte()..end).unwrap_or_default()
}

/// The line of a node, counted from 1.
pub(super) fn line(node: Node<'_>) -> u32 {
    u32::try_from(node.start_position().row).unwrap_or(u32::MAX).saturating_add(1)
}

/// The children that are more than signs.
pub(super) fn parts<'t>(node: Node<'t>) -> Vec<Node<'t>> {
    let mut cursor = node.walk();
    node.named_children(&mut cursor).filter(|child| !child.kind().contains("comment")).collect()
}

/// The line of a node with other text in the place of the node, which is on one line.
pub(super) fn line_with(node: Node<'_>, text: &str, source: &Source<'_>) -> Option<String> {
    let (start, end) = (node.start_position(), node.end_position());
    let whole = source.line(line(node));
    let (before, after) = (whole.get(..start.column)?, whole.get(end.column..)?);
    (start.row == end.row).then(|| format!("{before}{text}{after}"))
}

/// The names of a call such as `test.describe.only('…', …)` in JavaScript, the first one first, and where they stand.
pub(super) fn chain<'t>(callee: Node<'t>) -> Vec<Node<'t>> {
    /// Nobody chains more.
    const NAMES_MAX: usize = 8;
    let mut names = Vec::new();
    let mut node = Some(callee);
    while let Some(here) = node.filter(|_| names.len() < NAMES_MAX) {
        node = match here.kind() {
            "identifier" => {
                names.push(here);
                names.reverse();
                return names;
            }
            "member_expression" => {
                names.extend(here.child_by_field_name("property"));
                here.child_by_field_name("object")
            }
            // `it.each(table)('…', …)`
            "call_expression" => here.child_by_field_name("function"),
            _ => None,
        };
    }
    Vec::new()
}

/// Whether the arguments of a call in JavaScript are those of a test: what it is called, and what it does.
pub(super) fn are_of_test(arguments: Node<'_>) -> bool {
    let arguments = parts(arguments);
    let is_text = |node: &Node<'_>| matches!(node.kind(), "string" | "template_string");
    let is_function = |node: &Node<'_>| {
        matches!(node.kind(), "arrow_function" | "function_expression" | "function")
    };
    arguments.iter().any(is_function) || arguments.len() > 1 && is_text(&arguments[0])
}
