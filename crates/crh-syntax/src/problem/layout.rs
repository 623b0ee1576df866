//! Python errors that the grammar accepts: inconsistent indentation, and statements outside of a
//! function or loop.
//!
//! The grammar's scanner accepts any indentation.

use tree_sitter::Node;

use super::{PROBLEMS_MAX, SyntaxProblem, SyntaxProblemKind};
use crate::SyntaxTree;
use crate::parse::one_based;

/// Context of a node.
#[derive(Debug, Clone, Copy)]
struct BlockContext<'t> {
    is_in_function: bool,
    is_in_loop: bool,
    /// Whether the parent is a block, and the indentation of that block.
    is_in_block: bool,
    blanks: Option<&'t str>,
    /// Indentation of the statement that owns the block.
    outer: &'t str,
}

/// Problems of a text without grammar errors.
pub(super) fn problems(parsed: &SyntaxTree<'_>) -> Vec<SyntaxProblem> {
    let mut problems = Vec::new();
    let has_yield = parsed.text().contains("yield");
    let mut cursor = parsed.tree().walk();
    let mut around = vec![BlockContext {
        is_in_function: false,
        is_in_loop: false,
        is_in_block: false,
        blanks: None,
        outer: "",
    }];
    loop {
        let node = cursor.node();
        let Some(mut here) = around.last().copied() else { return problems };
        if let Some(why) = rejection(&node, &mut here, parsed.text()) {
            let line = one_based(node.start_position().row);
            problems.push(SyntaxProblem {
                start: line,
                end: line,
                kind: SyntaxProblemKind::Rejected(why),
            });
            if problems.len() == PROBLEMS_MAX {
                return problems;
            }
        }
        // The first statement of a block sets its indentation.
        if let Some(last) = around.last_mut() {
            last.blanks = here.blanks;
        }
        if may_hold_problems(&node, here, has_yield) && cursor.goto_first_child() {
            around.push(child_context(&node, here));
            continue;
        }
        while !cursor.goto_next_sibling() {
            around.pop();
            if !cursor.goto_parent() {
                return problems;
            }
        }
    }
}

/// Whether a node can contain problems. Expressions contain no statements, and `yield` in them is
/// wrong only outside of functions.
fn may_hold_problems(node: &Node<'_>, here: BlockContext<'_>, has_yield: bool) -> bool {
    has_yield && !here.is_in_function
        || !matches!(
            node.kind(),
            "expression_statement"
                | "return_statement"
                | "assert_statement"
                | "raise_statement"
                | "delete_statement"
                | "import_statement"
                | "import_from_statement"
                | "decorator"
                | "parameters"
                | "argument_list"
                | "call"
                | "attribute"
                | "subscript"
                | "comparison_operator"
                | "boolean_operator"
                | "binary_operator"
                | "not_operator"
                | "string"
        )
}

/// Context of the children of a node.
fn child_context<'t>(node: &Node<'_>, here: BlockContext<'t>) -> BlockContext<'t> {
    let here = BlockContext { is_in_block: false, ..here };
    match node.kind() {
        "module" => BlockContext { is_in_block: true, blanks: Some(""), ..here },
        "block" => BlockContext {
            is_in_block: true,
            blanks: None,
            outer: here.blanks.unwrap_or(here.outer),
            ..here
        },
        "function_definition" | "lambda" => {
            BlockContext { is_in_function: true, is_in_loop: false, ..here }
        }
        "class_definition" => BlockContext { is_in_function: false, is_in_loop: false, ..here },
        "for_statement" | "while_statement" => BlockContext { is_in_loop: true, ..here },
        _ => here,
    }
}

/// Why Python rejects a node. Records the indentation of the first statement of a block.
fn rejection<'t>(
    node: &Node<'_>,
    here: &mut BlockContext<'t>,
    text: &'t str,
) -> Option<&'static str> {
    match node.kind() {
        "return_statement" if !here.is_in_function => {
            return Some("`return` stands outside of a function");
        }
        "yield" if !here.is_in_function && node.is_named() => {
            return Some("`yield` stands outside of a function");
        }
        "break_statement" if !here.is_in_loop => return Some("`break` stands outside of a loop"),
        "continue_statement" if !here.is_in_loop => {
            return Some("`continue` stands outside of a loop");
        }
        "block" if is_empty(node) => return Some("a block has no statement"),
        "elif_clause"
        | "else_clause"
        | "except_clause"
        | "except_group_clause"
        | "finally_clause" => {
            let blanks = blanks(node, text)?;
            let expected = here.blanks.unwrap_or(here.outer);
            return (blanks != expected).then_some(BAD_INDENTATION);
        }
        _ => {}
    }
    if !here.is_in_block || !node.is_named() || node.kind() == "comment" {
        return None;
    }
    let blanks = blanks(node, text)?;
    match here.blanks {
        Some(expected) => (blanks != expected).then_some(BAD_INDENTATION),
        None => {
            here.blanks = Some(blanks);
            let is_deeper = blanks.len() > here.outer.len() && blanks.starts_with(here.outer);
            (!is_deeper).then_some("a block is not indented")
        }
    }
}

const BAD_INDENTATION: &str = "the line is not indented like its block";

fn is_empty(block: &Node<'_>) -> bool {
    let mut cursor = block.walk();
    !block.children(&mut cursor).any(|child| child.is_named() && child.kind() != "comment")
}

/// Indentation of a node that is first on its line.
fn blanks<'t>(node: &Node<'_>, text: &'t str) -> Option<&'t str> {
    let before = text.get(..node.start_byte())?;
    let line = before.rfind(['\n', '\r']).map_or(0, |end| end + 1);
    let blanks = before[line..].trim_start_matches(['\u{c}', '\u{feff}']);
    let is_joined = before[..line].trim_end_matches(['\r', '\n']).ends_with('\\');
    (!is_joined && blanks.bytes().all(|byte| matches!(byte, b' ' | b'\t'))).then_some(blanks)
}
