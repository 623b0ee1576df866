//! Words without which built-in rules find nothing, so that most rules need not be held against most texts.
//!
//! A word is in the pattern of a rule, or in the anchored expression for a name, in each of its alternatives: what the rule matches has it, letter by
//! letter. Rules about kinds of nodes that are rare need none.

use crate::source::Source;

/// Rules, by their name in reports, and the words of which one has to be there.
#[rustfmt::skip]
pub(super) const WORDS: [(&str, &[&str]); 9] = [
    ("patterns/in-place-result", &["sort", "reverse", "shuffle"]),
    ("patterns/unused-result", &["lower", "upper", "strip", "casefold", "capitalize", "swapcase", "remove", "splitlines", "replace"]),
    ("patterns/yaml-load", &["yaml"]),
    ("patterns/shell-injection", &["subprocess", "system", "popen"]),
    ("patterns/tls-not-verified", &["verify", "_create_unverified_context"]),
    ("patterns/mktemp", &["mktemp"]),
    ("patterns/type-is-no-string", &["type", "isinstance"]),
    ("patterns/nan-comparison", &["nan", "NaN", "NAN"]),
    ("patterns/length-below-zero", &["len"]),
];

/// Whether a built-in rule of Python may find something in a text.
pub(super) fn may_find(id: &str, source: &Source<'_>) -> bool {
    let words = WORDS.iter().find(|(rule, _)| *rule == id);
    words.is_none_or(|(_, words)| source.has_one_of(words))
}
