//! Names inside macros of Rust's standard library, whose arguments are expressions although the
//! tree has only tokens.

use tree_sitter::TreeCursor;

use super::{PathStep, UseRole};
use crate::parse::source;
use crate::surface::Arguments;

/// Macros whose tokens are ordinary expressions.
#[rustfmt::skip]
const STANDARD_MACROS: [&str; 20] = [
    "assert", "assert_eq", "assert_ne", "dbg", "debug_assert", "debug_assert_eq", "debug_assert_ne", "eprint", "eprintln", "format",
    "format_args", "panic", "print", "println", "todo", "unimplemented", "unreachable", "vec", "write", "writeln",
];

/// Longer paths are ignored.
const PATH_BYTES_MAX: usize = 200;

/// Qualifier and role of a name in such a macro; `None` without a path, because the macro may bind
/// an unqualified name.
pub(super) fn macro_use(
    text: &str,
    around: &[PathStep<'_>],
    cursor: &TreeCursor<'_>,
) -> Option<(String, UseRole)> {
    let mut trees = around.iter().skip_while(|(it, _)| it.kind() != "macro_invocation");
    let name = trees.next().and_then(|(it, _)| it.child_by_field_name("macro"))?;
    // Nested macros are unknown.
    let is_inner = |at: usize| text[..at].ends_with('!');
    if !STANDARD_MACROS.contains(&source(&name, text))
        || trees.skip(1).any(|(it, _)| is_inner(it.start_byte()))
    {
        return None;
    }
    let end = cursor.node().start_byte();
    let bytes = text.as_bytes().get(end.saturating_sub(PATH_BYTES_MAX)..end)?;
    let is_path = |it: &&u8| it.is_ascii_alphanumeric() || matches!(it, b'_' | b':');
    let length = bytes.iter().rev().take_while(is_path).count();
    let before = length < bytes.len();
    let of = text.get(end - length..end)?.strip_suffix("::")?;
    let is_whole = before && of.starts_with(|it: char| it.is_ascii_alphabetic() || it == '_');
    // `$crate::a` and `x.a::<b>` are something else.
    let is_other = text[..end - length].ends_with(['$', '.', '#']);
    (is_whole && !is_other).then(|| (of.to_owned(), role(text, cursor)))
}

fn role(text: &str, cursor: &TreeCursor<'_>) -> UseRole {
    let mut cursor = cursor.clone();
    if !cursor.goto_next_sibling() {
        return UseRole::Read;
    }
    let next = cursor.node();
    match next.kind() {
        "token_tree" if source(&next, text).starts_with('(') => {
            UseRole::Called(macro_arguments(&mut cursor))
        }
        "!" | "::" => UseRole::Key,
        _ => UseRole::Read,
    }
}

/// Arguments of a parenthesised token list.
fn macro_arguments(cursor: &mut TreeCursor<'_>) -> Arguments {
    let mut given = Arguments::default();
    let mut is_between = true;
    let mut goes_on = cursor.goto_first_child();
    while goes_on {
        match cursor.node().kind() {
            "(" | ")" => {}
            "," => is_between = true,
            // Commas in `|a, b|` and `<A, B>` do not separate arguments.
            "|" | "||" | "<" => given.is_open = true,
            _ => {
                given.positional += usize::from(is_between);
                is_between = false;
            }
        }
        goes_on = cursor.goto_next_sibling();
    }
    given
}
