//! Syntax errors of a text.

mod layout;

use tree_sitter::{Node, Tree};

use crate::parse::one_based;
use crate::{Language, ParseError, SyntaxTree};

/// Maximum number of problems per text.
pub const PROBLEMS_MAX: usize = 20;

/// Syntax errors found by the grammar. Grammars have errors too; see the table in `lib.rs`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SyntaxProblems {
    /// Problems in source order; at most [`PROBLEMS_MAX`].
    pub list: Vec<SyntaxProblem>,
    /// A bracket without a partner, such as `{`. It shows that the error is in the text and not in
    /// the grammar. `None` if `list` is empty. Brackets in strings and comments do not count, as
    /// far as the parser recognises them.
    pub unpaired_bracket: Option<&'static str>,
}

/// A syntax error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyntaxProblem {
    /// First line, 1-based.
    pub start: u32,
    /// Last line, inclusive. If a bracket is not closed, this can be the last line of the text.
    pub end: u32,
    /// Kind of the error.
    pub kind: SyntaxProblemKind,
}

/// Kind of a syntax error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SyntaxProblemKind {
    /// A missing token, such as `)`.
    Missing(String),
    /// An unexpected token.
    Unexpected,
    /// Accepted by the grammar but not by the language, for this reason: for example wrong
    /// indentation in Python, or a statement outside of functions in Go.
    Rejected(&'static str),
}

/// Syntax errors of a text.
pub fn problems(language: Language, text: &str) -> Result<SyntaxProblems, ParseError> {
    Ok(SyntaxTree::new(language, text)?.problems())
}

impl SyntaxTree<'_> {
    /// Syntax errors of the text.
    pub fn problems(&self) -> SyntaxProblems {
        let mut list = find_problems(self.tree(), one_based(self.text().matches('\n').count()));
        if list.is_empty() && self.language() == Language::Python {
            list = layout::problems(self);
        } else if list.is_empty() && self.language() == Language::Go {
            list = statements_outside_functions(self.tree());
        }
        let unpaired = if list.is_empty() { None } else { unpaired_bracket(self.tree()) };
        SyntaxProblems { list, unpaired_bracket: unpaired }
    }
}

fn find_problems(tree: &Tree, lines: u32) -> Vec<SyntaxProblem> {
    let mut problems = Vec::new();
    let mut cursor = tree.walk();
    loop {
        let node = cursor.node();
        if let Some(problem) = problem(&node, lines) {
            problems.push(problem);
            if problems.len() == PROBLEMS_MAX {
                return problems;
            }
        }
        // Nodes inside an error are only the parser's attempts to recover.
        if node.has_error() && !node.is_error() && cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return problems;
            }
        }
    }
}

/// The Go grammar accepts statements anywhere, for snippets. A file has only declarations.
fn statements_outside_functions(tree: &Tree) -> Vec<SyntaxProblem> {
    let root = tree.root_node();
    let mut cursor = root.walk();
    let statements =
        root.named_children(&mut cursor).filter(|it| it.kind().ends_with("_statement"));
    let problem = |statement: Node<'_>| SyntaxProblem {
        start: one_based(statement.start_position().row),
        end: one_based(statement.end_position().row),
        kind: SyntaxProblemKind::Rejected("a statement stands outside of every function"),
    };
    statements.map(problem).take(PROBLEMS_MAX).collect()
}

fn problem(node: &Node<'_>, lines: u32) -> Option<SyntaxProblem> {
    let kind = if node.is_missing() {
        SyntaxProblemKind::Missing(node.kind().to_owned())
    } else if node.is_error() {
        SyntaxProblemKind::Unexpected
    } else {
        return None;
    };
    let start = one_based(node.start_position().row).min(lines);
    let end = one_based(node.end_position().row).min(lines);
    Some(SyntaxProblem { start, end: end.max(start), kind })
}

/// The first kind of bracket that occurs more often than its partner.
fn unpaired_bracket(tree: &Tree) -> Option<&'static str> {
    const PAIRS: [(&str, &str); 3] = [("(", ")"), ("[", "]"), ("{", "}")];
    let mut balance = [0_i64; PAIRS.len()];
    let mut cursor = tree.walk();
    loop {
        let token = cursor.node();
        let kind = if token.child_count() == 0 && !token.is_missing() { token.kind() } else { "" };
        for (count, (open, close)) in balance.iter_mut().zip(PAIRS) {
            *count += i64::from(opens_bracket(kind, open)) - i64::from(kind == close);
        }
        if cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                let unbalanced_pair = balance.iter().zip(PAIRS).find(|(count, _)| **count != 0);
                return unbalanced_pair
                    .map(|(count, (open, close))| if *count > 0 { open } else { close });
            }
        }
    }
}

/// Whether a token opens a bracket: `{`, also `${`, `#{` or `%w(`. The longest such token has three
/// bytes.
fn opens_bracket(token: &str, bracket: &str) -> bool {
    token.ends_with(bracket) && token.len() <= 3
}
