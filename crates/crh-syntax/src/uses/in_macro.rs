//! Names inside the macros of Rust's standard library, whose arguments are expressions although the tree shows only tokens.

use tree_sitter::TreeCursor;

use super::{Step, UseRole};
use crate::parse::source;
use crate::surface::Arguments;

/// Macros all of whose tokens stay what they are.
#[rustfmt::skip]
const PLAIN: [&str; 20] = [
    "assert", "assert_eq", "assert_ne", "dbg", "debug_assert", "debug_assert_eq", "debug_assert_ne", "eprint", "eprintln", "format",
    "format_args", "panic", "print", "println", "todo", "unimplemented", "unreachable", "vec", "write", "writeln",
];

/// A path that is longer is not looked at.
const PATH_BYTES_MAX: usize = 200;

/// The path before a name in such a macro and what is done with the name; none if it is in another, or has no path. Without one the name may
/// be that of anything that the macro binds.
pub(super) fn used(
    text: &str,
    around: &[Step<'_>],
    cursor: &TreeCursor<'_>,
) -> Option<(String, UseRole)> {
    let mut trees = around.iter().skip_while(|(it, _)| it.kind() != "macro_invocation");
    let name = trees.next().and_then(|(it, _)| it.child_by_field_name("macro"))?;
    // A macro inside is as good as any.
    let is_inner = |at: usize| text[..at].ends_with('!');
    if !PLAIN.contains(&source(&name, text))
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
        "token_tree" if source(&next, text).starts_with('(') => UseRole::Called(given(&mut cursor)),
        "!" | "::" => UseRole::Key,
        _ => UseRole::Read,
    }
}

/// What a list of tokens in brackets gives.
fn given(cursor: &mut TreeCursor<'_>) -> Arguments {
    let mut given = Arguments::default();
    let mut is_between = true;
    let mut goes_on = cursor.goto_first_child();
    while goes_on {
        match cursor.node().kind() {
            "(" | ")" => {}
            "," => is_between = true,
            // The commas of `|a, b|` and `<A, B>` part no arguments.
            "|" | "||" | "<" => given.is_open = true,
            _ => {
                given.places += usize::from(is_between);
                is_between = false;
            }
        }
        goes_on = cursor.goto_next_sibling();
    }
    given
}
