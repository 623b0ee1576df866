//! Keywords that built-in Python rules need. With them, most rules are skipped for most texts.
//!
//! Each alternative of a rule contains one of the rule's keywords: in its pattern, in an anchored
//! regular expression for a name, or as the keyword of a node kind. So every text that the rule
//! matches contains one of the keywords.

use crate::changed_statements::assigns_itself;
use crate::source::SourceText;

/// Rule ids with their keywords. One of the keywords must occur in the text: as a whole word if it
/// has letters, otherwise anywhere.
#[rustfmt::skip]
pub(super) const RULE_KEYWORDS: [(&str, &[&str]); 23] = [
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

/// Whether a built-in Python rule may match a text.
pub(super) fn may_match(id: &str, source: &SourceText<'_>) -> bool {
    if id == "patterns/self-assignment" {
        return assigns_itself(source.text);
    }
    let words = RULE_KEYWORDS.iter().find(|(rule, _)| *rule == id);
    words.is_none_or(|(_, words)| words.iter().any(|word| contains_word(source.text, word)))
}

/// Whether a text contains a keyword: as a whole word, or anywhere if the keyword has no letters. A
/// digit may precede the word, as in `1or 2`.
fn contains_word(text: &str, word: &str) -> bool {
    let text = text.as_bytes();
    let is_sign = !word.bytes().any(|it| it.is_ascii_alphabetic());
    let is_letter = |byte: &u8| byte.is_ascii_alphabetic() || *byte == b'_';
    let mut offsets = memchr::memmem::find_iter(text, word);
    offsets.any(|at| {
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
    fn keyword_is_a_whole_word_and_sign_is_anywhere() {
        for text in ["or", "a or b", "1or 2", "(a)or(b)", "for x in y or z"] {
            assert!(contains_word(text, "or"), "{text}");
        }
        for text in ["for", "order", "_or", "or_", "or1", ""] {
            assert!(!contains_word(text, "or"), "{text}");
        }
        assert!(contains_word("a<b", "<"));
    }
}
