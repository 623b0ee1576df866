//! Where a text does not follow its grammar.

mod layout;

use tree_sitter::{Node, Tree};

use crate::parse::one_based;
use crate::{Language, NotParsed, Parsed};

/// The most problems kept of one text. One mistake makes a few; whoever wants to know whether there is any needs one.
pub const PROBLEMS_MAX: usize = 20;

/// What is wrong with a text, as far as its grammar tells. Grammars are wrong too: the table at the top of this crate
/// says where.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Problems {
    /// The places, in source order; at most [`PROBLEMS_MAX`]. None if the text parses.
    pub places: Vec<Problem>,
    /// A bracket that the text has more often than its partner, such as `{`. Then the text is wrong, whatever its grammar
    /// knows. Those in strings and comments are not counted, as far as the parser still knew where these were. None
    /// if the text parses.
    pub unpaired: Option<&'static str>,
}

/// A place where a text does not follow its grammar.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The first line that the parser could not make sense of, 1-based.
    pub start: u32,
    /// The last such line, inclusive. A bracket that nothing closes can make it the last line of the text.
    pub end: u32,
    /// What is wrong there.
    pub kind: ProblemKind,
}

/// What is wrong at a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProblemKind {
    /// Something is not there, which the grammar calls by this name, such as `)`.
    Missing(String),
    /// Something is there that has no place in the grammar.
    Unexpected,
    /// The grammar takes it and the language does not, for this reason: what the blanks of Python mean, and statements of Go outside
    /// of functions.
    Refused(&'static str),
}

/// What is wrong with a text.
pub fn problems(language: Language, text: &str) -> Result<Problems, NotParsed> {
    Ok(Parsed::new(language, text)?.problems())
}

impl Parsed<'_> {
    /// What is wrong with the text.
    pub fn problems(&self) -> Problems {
        let mut places = places(self.tree(), one_based(self.text().matches('\n').count()));
        if places.is_empty() && self.language() == Language::Python {
            places = layout::problems(self);
        } else if places.is_empty() && self.language() == Language::Go {
            places = statements_outside(self.tree());
        }
        let unpaired = if places.is_empty() { None } else { unpaired(self.tree()) };
        Problems { places, unpaired }
    }
}

fn places(tree: &Tree, lines: u32) -> Vec<Problem> {
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
        // What is inside an error is what the parser tried in its despair.
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

/// The grammar of Go takes statements anywhere, for snippets; a file has declarations alone.
fn statements_outside(tree: &Tree) -> Vec<Problem> {
    let root = tree.root_node();
    let mut cursor = root.walk();
    let outside = root.named_children(&mut cursor).filter(|it| it.kind().ends_with("_statement"));
    let problem = |it: Node<'_>| Problem {
        start: one_based(it.start_position().row),
        end: one_based(it.end_position().row),
        kind: ProblemKind::Refused("a statement stands outside of every function"),
    };
    outside.map(problem).take(PROBLEMS_MAX).collect()
}

fn problem(node: &Node<'_>, lines: u32) -> Option<Problem> {
    let kind = if node.is_missing() {
        ProblemKind::Missing(node.kind().to_owned())
    } else if node.is_error() {
        ProblemKind::Unexpected
    } else {
        return None;
    };
    let start = one_based(node.start_position().row).min(lines);
    let end = one_based(node.end_position().row).min(lines);
    Some(Problem { start, end: end.max(start), kind })
}

/// The first bracket that the tokens of a text have more often than its partner.
fn unpaired(tree: &Tree) -> Option<&'static str> {
    const PAIRS: [(&str, &str); 3] = [("(", ")"), ("[", "]"), ("{", "}")];
    let mut balance = [0_i64; PAIRS.len()];
    let mut cursor = tree.walk();
    loop {
        let token = cursor.node();
        let kind = if token.child_count() == 0 && !token.is_missing() { token.kind() } else { "" };
        for (count, (open, close)) in balance.iter_mut().zip(PAIRS) {
            *count += i64::from(opens(kind, open)) - i64::from(kind == close);
        }
        if cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                let counts = balance.iter().zip(PAIRS).find(|(count, _)| **count != 0);
                return counts.map(|(count, (open, close))| if *count > 0 { open } else { close });
            }
        }
    }
}

/// Whether a token opens a bracket: `{`, and also `${` or `#{` in a string, or `%w(`.
fn opens(token: &str, bracket: &str) -> bool {
    token.ends_with(bracket) && token.len() <= 3
}
