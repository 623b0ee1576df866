//! Whether what is around a statement matters to what is said about it: then it is looked at wherever it stands, though it is the same as before.
//!
//! It goes by words, for Python alone, and says yes where it need not. What it goes by is in the built-in rules and in `syntax`; a test holds all
//! rules against parts of changes to their examples.

/// What is assigned is rarely longer, and is not looked through for each of many signs on a line: it counts as if the name stood there.
const VALUE_BYTES_MAX: usize = 200;

/// Whether something may be said about a statement because of what it stands in: a `return` in `finally`, a name that is assigned to itself in a
/// function.
pub(super) fn matters(statement: &str) -> bool {
    let code = statement.trim_start();
    let is_function = code.starts_with("def ") || code.starts_with("async def ");
    let mut words = statement.as_bytes().split(|byte| !is_of_name(*byte));
    words.any(|word| is_about(word) || !is_function && leaves(word)) || assigns_itself(statement)
}

/// Whether something may be said about the first lines of a statement because of what stands inside of it: a default that all calls share.
pub(super) fn reaches_inside(header: &str) -> bool {
    let has_default = header.contains("def ") && header.contains('=');
    has_default && ["[", "{", "list", "dict", "set"].iter().any(|it| header.contains(it))
}

/// Words of statements that leave what they are in, and are told where they may. From a function they do not get out.
fn leaves(word: &[u8]) -> bool {
    matches!(word, b"return" | b"yield" | b"break" | b"continue" | b"case")
}

/// Words of statements that say nothing by themselves.
fn is_about(word: &[u8]) -> bool {
    matches!(
        word,
        // `patterns/unused-result`, which an expected exception excuses.
        b"lower" | b"upper" | b"strip" | b"lstrip" | b"rstrip" | b"casefold" | b"capitalize" | b"swapcase"
        | b"removeprefix" | b"removesuffix" | b"splitlines" | b"replace"
        // `patterns/tls-not-verified`, which a condition excuses.
        | b"verify" | b"_create_unverified_context"
    )
}

/// Whether a name that is assigned to stands behind the sign as well, or on a line that is joined to its own. `patterns/self-assignment` holds in
/// functions alone.
pub(crate) fn assigns_itself(text: &str) -> bool {
    let text = text.as_bytes();
    let mut signs = memchr::memchr_iter(b'=', text);
    let is_joined = memchr::memmem::find(text, b"\\\n").is_some();
    is_joined
        || signs.any(|at| {
            let before = text[..at].trim_ascii_end();
            let length = before.iter().rev().take_while(|it| is_of_name(**it)).count();
            let name = &before[before.len() - length..];
            let after = &text[at + 1..text.len().min(at + 1 + VALUE_BYTES_MAX)];
            let end = memchr::memchr(b'\n', after);
            let value = &after[..end.unwrap_or(after.len())];
            let is_long = end.is_none() && after.len() == VALUE_BYTES_MAX;
            !name.is_empty()
                && (is_long || value.split(|it| !is_of_name(*it)).any(|word| word == name))
        })
}

fn is_of_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || !byte.is_ascii()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_around_matters_to_few_statements() {
        for it in [
            "return",
            "if x:\n    return 1",
            "(yield x)",
            "case 1:\n    f()",
            "name.strip()",
            "get(url, verify=False)",
            "self.x = self.x",
            "if y: a[0].b = a[0].b",
            "x = \\\n  x",
        ] {
            assert!(matters(it), "{it}");
        }
        for it in
            ["total = 0", "f(returned)", "for x in xs:\n    y = f(x)", "a == b", "\"\"\"A.\"\"\""]
        {
            assert!(!matters(it), "{it}");
        }
    }

    #[test]
    fn only_a_default_that_can_change_reaches_inside() {
        assert!(reaches_inside("def f(x, seen=[]):\n"));
        assert!(reaches_inside("    async def f(self, *, seen: dict = dict()):\n"));
        assert!(!reaches_inside("def f(x, *, label=\"net\"):\n"));
        assert!(!reaches_inside("if x == [1]:\n"));
    }
}
