//! What Python refuses although its grammar has no word for it: blanks at the start of lines that do not add up, and
//! statements that leave what they are not in.
//!
//! The grammar's scanner takes any indentation for the one that fits best.

use tree_sitter::Node;

use super::{PROBLEMS_MAX, Problem, ProblemKind};
use crate::Parsed;
use crate::parse::one_based;

/// What is around a node.
#[derive(Debug, Clone, Copy)]
struct Around<'t> {
    is_in_function: bool,
    is_in_loop: bool,
    /// Whether its parent is a block, and the blanks before the first statement of the block around it.
    is_in_block: bool,
    blanks: Option<&'t str>,
    /// The blanks before the statement that the block belongs to.
    outer: &'t str,
}

/// The problems of a text without errors.
pub(super) fn problems(parsed: &Parsed<'_>) -> Vec<Problem> {
    let mut problems = Vec::new();
    let has_yield = parsed.text().contains("yield");
    let mut cursor = parsed.tree().walk();
    let mut around = vec![Around {
        is_in_function: false,
        is_in_loop: false,
        is_in_block: false,
        blanks: None,
        outer: "",
    }];
    loop {
        let node = cursor.node();
        let Some(mut here) = around.last().copied() else { return problems };
        if let Some(why) = refused(&node, &mut here, parsed.text()) {
            let line = one_based(node.start_position().row);
            problems.push(Problem { start: line, end: line, kind: ProblemKind::Refused(why) });
            if problems.len() == PROBLEMS_MAX {
                return problems;
            }
        }
        // The first statement of a block says how the others begin.
        if let Some(last) = around.last_mut() {
            last.blanks = here.blanks;
        }
        if may_hold_problems(&node, here, has_yield) && cursor.goto_first_child() {
            around.push(inside(&node, here));
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

/// Whether something inside a node can be refused. Most nodes of a text are parts of expressions, which hold no statements: only a
/// `yield` counts there, and in a function it may stand anywhere.
fn may_hold_problems(node: &Node<'_>, here: Around<'_>, has_yield: bool) -> bool {
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

/// What is around the children of a node.
fn inside<'t>(node: &Node<'_>, here: Around<'t>) -> Around<'t> {
    let here = Around { is_in_block: false, ..here };
    match node.kind() {
        "module" => Around { is_in_block: true, blanks: Some(""), ..here },
        "block" => Around {
            is_in_block: true,
            blanks: None,
            outer: here.blanks.unwrap_or(here.outer),
            ..here
        },
        "function_definition" | "lambda" => {
            Around { is_in_function: true, is_in_loop: false, ..here }
        }
        "class_definition" => Around { is_in_function: false, is_in_loop: false, ..here },
        "for_statement" | "while_statement" => Around { is_in_loop: true, ..here },
        _ => here,
    }
}

/// Why Python refuses a node; and the blanks of its block, if it is the first statement there.
fn refused<'t>(node: &Node<'_>, here: &mut Around<'t>, text: &'t str) -> Option<&'static str> {
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
            return (blanks != expected).then_some(DOES_NOT_FIT);
        }
        _ => {}
    }
    if !here.is_in_block || !node.is_named() || node.kind() == "comment" {
        return None;
    }
    let blanks = blanks(node, text)?;
    match here.blanks {
        Some(expected) => (blanks != expected).then_some(DOES_NOT_FIT),
        None => {
            here.blanks = Some(blanks);
            let is_deeper = blanks.len() > here.outer.len() && blanks.starts_with(here.outer);
            (!is_deeper).then_some("a block is not indented")
        }
    }
}

const DOES_NOT_FIT: &str = "the line is not indented like its block";

fn is_empty(block: &Node<'_>) -> bool {
    let mut cursor = block.walk();
    !block.children(&mut cursor).any(|child| child.is_named() && child.kind() != "comment")
}

/// The blanks before a node that is the first on its line.
fn blanks<'t>(node: &Node<'_>, text: &'t str) -> Option<&'t str> {
    let before = text.get(..node.start_byte())?;
    let line = before.rfind(['\n', '\r']).map_or(0, |end| end + 1);
    let blanks = before[line..].trim_start_matches(['\u{c}', '\u{feff}']);
    let is_joined = before[..line].trim_end_matches(['\r', '\n']).ends_with('\\');
    (!is_joined && blanks.bytes().all(|byte| matches!(byte, b' ' | b'\t'))).then_some(blanks)
}
