//! Python errors that the grammar accepts: inconsistent indentation, and statements outside of a
//! function or loop.
//!
//! The grammar's scanner accepts any indentation.

use tree_sitter::Node;

use super::{PROBLEMS_MAX, SyntaxProblem, SyntaxProblemKind};
use crate::SyntaxTree;
use crate::parse::one_based;

/// Functions, loops and blocks around a node.
#[derive(Debug, Clone, Copy)]
struct BlockContext<'t> {
    is_in_function: bool,
    is_in_loop: bool,
    /// Whether the parent is a block.
    is_in_block: bool,
    /// Indentation of that block; `None` before its first statement.
    indentation: Option<&'t str>,
    /// Indentation of the statement that owns the block.
    outer_indentation: &'t str,
}

/// Problems of a text without grammar errors.
pub(super) fn problems(syntax_tree: &SyntaxTree<'_>) -> Vec<SyntaxProblem> {
    let mut problems = Vec::new();
    let has_yield = syntax_tree.text().contains("yield");
    let mut cursor = syntax_tree.tree().walk();
    let mut contexts = vec![BlockContext {
        is_in_function: false,
        is_in_loop: false,
        is_in_block: false,
        indentation: None,
        outer_indentation: "",
    }];
    loop {
        let node = cursor.node();
        let Some(mut context) = contexts.last().copied() else { return problems };
        if let Some(reason) = rejection(&node, &mut context, syntax_tree.text()) {
            let line = one_based(node.start_position().row);
            problems.push(SyntaxProblem {
                start: line,
                end: line,
                kind: SyntaxProblemKind::Rejected(reason),
            });
            if problems.len() == PROBLEMS_MAX {
                return problems;
            }
        }
        // The first statement of a block sets its indentation.
        if let Some(innermost) = contexts.last_mut() {
            innermost.indentation = context.indentation;
        }
        if may_hold_problems(&node, context, has_yield) && cursor.goto_first_child() {
            contexts.push(child_context(&node, context));
            continue;
        }
        while !cursor.goto_next_sibling() {
            contexts.pop();
            if !cursor.goto_parent() {
                return problems;
            }
        }
    }
}

/// Statements without blocks, and expressions.
#[rustfmt::skip]
const EXPRESSIONS: [&str; 18] = [
    "expression_statement", "return_statement", "assert_statement", "raise_statement", "delete_statement", "import_statement",
    "import_from_statement", "decorator", "parameters", "argument_list", "call", "attribute", "subscript", "comparison_operator",
    "boolean_operator", "binary_operator", "not_operator", "string",
];

/// Whether a node can contain problems. Expressions contain no statements, and `yield` in an
/// expression is wrong only outside of functions.
fn may_hold_problems(node: &Node<'_>, context: BlockContext<'_>, has_yield: bool) -> bool {
    has_yield && !context.is_in_function || !EXPRESSIONS.contains(&node.kind())
}

/// Context of the children of a node.
fn child_context<'t>(node: &Node<'_>, parent_context: BlockContext<'t>) -> BlockContext<'t> {
    let context = BlockContext { is_in_block: false, ..parent_context };
    match node.kind() {
        "module" => BlockContext { is_in_block: true, indentation: Some(""), ..context },
        "block" => BlockContext {
            is_in_block: true,
            indentation: None,
            outer_indentation: context.indentation.unwrap_or(context.outer_indentation),
            ..context
        },
        "function_definition" | "lambda" => {
            BlockContext { is_in_function: true, is_in_loop: false, ..context }
        }
        "class_definition" => BlockContext { is_in_function: false, is_in_loop: false, ..context },
        "for_statement" | "while_statement" => BlockContext { is_in_loop: true, ..context },
        _ => context,
    }
}

/// Why Python rejects a node. Records the indentation of the first statement of a block.
fn rejection<'t>(
    node: &Node<'_>,
    context: &mut BlockContext<'t>,
    text: &'t str,
) -> Option<&'static str> {
    match node.kind() {
        "return_statement" if !context.is_in_function => {
            return Some("`return` stands outside of a function");
        }
        "yield" if !context.is_in_function && node.is_named() => {
            return Some("`yield` stands outside of a function");
        }
        "break_statement" if !context.is_in_loop => {
            return Some("`break` stands outside of a loop");
        }
        "continue_statement" if !context.is_in_loop => {
            return Some("`continue` stands outside of a loop");
        }
        "block" if has_no_statement(node) => return Some("a block has no statement"),
        "elif_clause"
        | "else_clause"
        | "except_clause"
        | "except_group_clause"
        | "finally_clause" => {
            let indentation = indentation_of(node, text)?;
            let expected = context.indentation.unwrap_or(context.outer_indentation);
            return (indentation != expected).then_some(BAD_INDENTATION);
        }
        _ => {}
    }
    if !context.is_in_block || !node.is_named() || node.kind() == "comment" {
        return None;
    }
    let indentation = indentation_of(node, text)?;
    match context.indentation {
        Some(expected) => (indentation != expected).then_some(BAD_INDENTATION),
        None => {
            context.indentation = Some(indentation);
            let is_deeper = indentation.len() > context.outer_indentation.len()
                && indentation.starts_with(context.outer_indentation);
            (!is_deeper).then_some("a block is not indented")
        }
    }
}

const BAD_INDENTATION: &str = "the line is not indented like its block";

fn has_no_statement(block: &Node<'_>) -> bool {
    let mut cursor = block.walk();
    !block.children(&mut cursor).any(|child| child.is_named() && child.kind() != "comment")
}

/// Indentation of a node. `None` if the node is not first on its line, or the line continues
/// another.
fn indentation_of<'t>(node: &Node<'_>, text: &'t str) -> Option<&'t str> {
    let text_before = text.get(..node.start_byte())?;
    let line_start = text_before.rfind(['\n', '\r']).map_or(0, |end| end + 1);
    let indentation = text_before[line_start..].trim_start_matches(['\u{c}', '\u{feff}']);
    let is_joined = text_before[..line_start].trim_end_matches(['\r', '\n']).ends_with('\\');
    (!is_joined && indentation.bytes().all(|byte| matches!(byte, b' ' | b'\t')))
        .then_some(indentation)
}
