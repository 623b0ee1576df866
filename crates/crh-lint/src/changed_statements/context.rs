//! Whether findings in a statement depend on the code around it. Such a statement is checked even
//! if it is unchanged.
//!
//! The functions look at words only, for Python only, and answer yes if they are unsure. They cover
//! the built-in pattern rules and the reviewer `syntax`. A test checks all rules with partial
//! changes of their examples.

/// Maximum bytes of a value that are searched for the assigned name. Longer values count as if they
/// contained it.
const VALUE_BYTES_MAX: usize = 200;

/// Whether a finding in a statement may depend on its context. Examples are a `return` in `finally`
/// and a self-assignment in a function.
pub(super) fn depends_on_context(statement: &str) -> bool {
    let code = statement.trim_start();
    let is_function = code.starts_with("def ") || code.starts_with("async def ");
    let mut words = statement.as_bytes().split(|byte| !is_name_byte(*byte));
    words.any(|word| is_context_word(word) || !is_function && is_jump_keyword(word))
        || assigns_itself(statement)
}

/// Whether a finding in a function header may depend on the body, as for a mutable default.
pub(super) fn depends_on_body(header: &str) -> bool {
    let has_default = header.contains("def ") && header.contains('=');
    has_default && ["[", "{", "list", "dict", "set"].iter().any(|it| header.contains(it))
}

/// Keywords that depend on an enclosing block. In a function, they depend on that function only.
fn is_jump_keyword(word: &[u8]) -> bool {
    matches!(word, b"return" | b"yield" | b"break" | b"continue" | b"case")
}

/// Words of pattern rules whose matches depend on the context.
fn is_context_word(word: &[u8]) -> bool {
    matches!(
        word,
        // `patterns/unused-result` does not apply where an exception is expected.
        b"lower" | b"upper" | b"strip" | b"lstrip" | b"rstrip" | b"casefold" | b"capitalize" | b"swapcase"
        | b"removeprefix" | b"removesuffix" | b"splitlines" | b"replace"
        // `patterns/tls-not-verified` does not apply inside a condition.
        | b"verify" | b"_create_unverified_context"
    )
}

/// Whether an assignment may have its target on the right-hand side, or the text has a continued
/// line. `patterns/self-assignment` needs this and applies only in functions.
pub(crate) fn assigns_itself(text: &str) -> bool {
    let text = text.as_bytes();
    let mut equals_signs = memchr::memchr_iter(b'=', text);
    let has_continued_line = memchr::memmem::find(text, b"\\\n").is_some();
    has_continued_line
        || equals_signs.any(|offset| {
            let before = text[..offset].trim_ascii_end();
            let length = before.iter().rev().take_while(|it| is_name_byte(**it)).count();
            let name = &before[before.len() - length..];
            let after = &text[offset + 1..text.len().min(offset + 1 + VALUE_BYTES_MAX)];
            let end = memchr::memchr(b'\n', after);
            let value = &after[..end.unwrap_or(after.len())];
            let is_long = end.is_none() && after.len() == VALUE_BYTES_MAX;
            !name.is_empty()
                && (is_long || value.split(|it| !is_name_byte(*it)).any(|word| word == name))
        })
}

fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || !byte.is_ascii()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_statements_depend_on_context() {
        #[rustfmt::skip]
        let dependent = [
            "return", "if x:\n    return 1", "(yield x)", "case 1:\n    f()", "name.strip()", "get(url, verify=False)",
            "self.x = self.x", "if y: a[0].b = a[0].b", "x = \\\n  x",
        ];
        for it in dependent {
            assert!(depends_on_context(it), "{it}");
        }
        for it in
            ["total = 0", "f(returned)", "for x in xs:\n    y = f(x)", "a == b", "\"\"\"A.\"\"\""]
        {
            assert!(!depends_on_context(it), "{it}");
        }
    }

    #[test]
    fn only_mutable_default_depends_on_body() {
        assert!(depends_on_body("def f(x, seen=[]):\n"));
        assert!(depends_on_body("    async def f(self, *, seen: dict = dict()):\n"));
        assert!(!depends_on_body("def f(x, *, label=\"net\"):\n"));
        assert!(!depends_on_body("if x == [1]:\n"));
    }
}
