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

/// Maximum bytes of a path. Longer paths are ignored.
const PATH_BYTES_MAX: usize = 200;

/// Qualifier and role of a name in a standard macro. `None` for other macros, and for a name
/// without a path, because the macro may bind it.
pub(super) fn macro_use(
    text: &str,
    ancestors: &[PathStep<'_>],
    cursor: &TreeCursor<'_>,
) -> Option<(String, UseRole)> {
    let mut macro_path = ancestors.iter().skip_while(|(it, _)| it.kind() != "macro_invocation");
    let name = macro_path.next().and_then(|(it, _)| it.child_by_field_name("macro"))?;
    // The arguments of a nested macro are unknown.
    let is_nested_macro = |offset: usize| text[..offset].ends_with('!');
    if !STANDARD_MACROS.contains(&source(&name, text))
        || macro_path.skip(1).any(|(it, _)| is_nested_macro(it.start_byte()))
    {
        return None;
    }
    let end = cursor.node().start_byte();
    let bytes = text.as_bytes().get(end.saturating_sub(PATH_BYTES_MAX)..end)?;
    let is_path = |it: &&u8| it.is_ascii_alphanumeric() || matches!(it, b'_' | b':');
    let length = bytes.iter().rev().take_while(is_path).count();
    let has_byte_before = length < bytes.len();
    let qualifier = text.get(end - length..end)?.strip_suffix("::")?;
    let is_complete =
        has_byte_before && qualifier.starts_with(|it: char| it.is_ascii_alphabetic() || it == '_');
    // `$crate::a` and `x.a::<b>` are not plain paths.
    let has_other_prefix = text[..end - length].ends_with(['$', '.', '#']);
    (is_complete && !has_other_prefix).then(|| (qualifier.to_owned(), role_in_macro(text, cursor)))
}

fn role_in_macro(text: &str, cursor: &TreeCursor<'_>) -> UseRole {
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
    let mut arguments = Arguments::default();
    let mut is_argument_start = true;
    let mut has_token = cursor.goto_first_child();
    while has_token {
        match cursor.node().kind() {
            "(" | ")" => {}
            "," => is_argument_start = true,
            // Commas in `|a, b|` and `<A, B>` do not separate arguments.
            "|" | "||" | "<" => arguments.may_have_more = true,
            _ => {
                arguments.positional += usize::from(is_argument_start);
                is_argument_start = false;
            }
        }
        has_token = cursor.goto_next_sibling();
    }
    arguments
}
