//! Words and signs without which built-in rules find nothing, so that most rules need not be held against most texts.
//!
//! One of them is in the pattern of a rule, in an anchored expression for a name, or is the keyword of a kind of node, in each of its alternatives: what
//! the rule matches has it, letter by letter.

use crate::source::Source;
use crate::touched::assigns_itself;

/// Rules, by their name in reports, and the words of which one has to be there as a whole. What has no letters is a sign, wherever it stands.
#[rustfmt::skip]
pub(super) const WORDS: [(&str, &[&str]); 23] = [
    ("patterns/literal-identity", &["is"]),
    ("patterns/assert-tuple", &["assert"]),
    ("patterns/raise-not-implemented", &["NotImplemented"]),
    ("patterns/raise-literal", &["raise"]),
    ("patterns/finally-return", &["finally"]),
    ("patterns/in-place-result", &["sort", "reverse", "shuffle"]),
    ("patterns/unused-result", &[
        "lower", "upper", "strip", "lstrip", "rstrip", "casefold", "capitalize", "swapcase", "removeprefix", "removesuffix", "splitlines", "replace",
    ]),
    ("patterns/yaml-load", &["yaml"]),
    ("patterns/shell-injection", &["subprocess", "system", "popen"]),
    ("patterns/tls-not-verified", &["verify", "_create_unverified_context"]),
    ("patterns/mktemp", &["mktemp"]),
    ("patterns/duplicate-key", &["{"]),
    ("patterns/except-or", &["except"]),
    ("patterns/type-is-no-string", &["type", "isinstance"]),
    ("patterns/self-comparison", &["==", "<", ">", "is"]),
    ("patterns/same-operands", &["and", "or"]),
    ("patterns/same-condition", &["elif"]),
    ("patterns/mutable-default", &[
        "append", "extend", "insert", "update", "add", "setdefault", "pop", "remove", "clear", "[", "+=", "del",
    ]),
    ("patterns/or-literal", &["or"]),
    ("patterns/nan-comparison", &["nan", "NaN", "NAN"]),
    ("patterns/length-below-zero", &["len"]),
    ("patterns/sql-injection", &["execute", "executemany", "raw", "executescript", "read_sql", "read_sql_query", "text"]),
    ("patterns/eval-of-value", &["eval"]),
];

/// Whether a built-in rule of Python may find something in a text.
pub(super) fn may_find(id: &str, source: &Source<'_>) -> bool {
    if id == "patterns/self-assignment" {
        return assigns_itself(source.text);
    }
    let words = WORDS.iter().find(|(rule, _)| *rule == id);
    words.is_none_or(|(_, words)| words.iter().any(|word| has(source.text, word)))
}

/// Whether a word stands in a text by itself, or a sign anywhere. A digit may end right before a word.
fn has(text: &str, word: &str) -> bool {
    let text = text.as_bytes();
    let is_sign = !word.bytes().any(|it| it.is_ascii_alphabetic());
    let is_letter = |byte: &u8| byte.is_ascii_alphabetic() || *byte == b'_';
    let mut places = memchr::memmem::find_iter(text, word);
    places.any(|at| {
        let before = at.checked_sub(1).and_then(|at| text.get(at));
        let after = text.get(at + word.len());
        let is_part = before.is_some_and(is_letter)
            || after.is_some_and(|it| is_letter(it) || it.is_ascii_digit());
        is_sign || !is_part
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_stands_by_itself_and_a_sign_anywhere() {
        for text in ["or", "a or b", "1or 2", "(a)or(b)", "for x in y or z"] {
            assert!(has(text, "or"), "{text}");
        }
        for text in ["for", "order", "_or", "or_", "or1", ""] {
            assert!(!has(text, "or"), "{text}");
        }
        assert!(has("a<b", "<"));
    }
}
