//! Tokens of chat templates. A model may take the text after one for a turn of its conversation.
//!
//! Code about models contains such tokens, too. So in a file, a token counts only before a sentence
//! about the result of a review. In other texts, the sentence must be about a review.

use std::sync::LazyLock;

use regex::bytes::Regex;

use super::phrases::TextOrigin;
use crate::lazy_option::bytes_regex;

/// Maximum bytes of a turn to look at.
const TURN_BYTES_MAX: usize = 240;
/// Minimum number of words that make a sentence.
const WORDS_MIN: usize = 2;

/// Special tokens of models, in lower case. Only text about models contains them.
const SPECIAL_TOKENS: &str = r"<\|(?:im_start|im_end|system|user|assistant|start_header_id|end_header_id|eot_id|begin_of_text|end_of_text|endoftext|start|end|message|channel)\|>|\[/?inst\]|<</?sys>>|<(?:start|end)_of_turn>";
/// Headings and tags that open a turn. Documents contain them for other reasons.
const TURN_TAGS: &str = r"</?(?:system|assistant)(?:_prompt)?>|(?m:^)[#/*\t\x20-]*###\s*(?:system|instructions?|response|assistant)\s*:";
/// Words about the result of a review.
const RESULT_WORDS: &str = r"\b(?:approve (?:it|this|the|all|every)|lgtm|no (?:issues|problems|bugs|findings|vulnerabilities)|findings are|without findings|ready to merge|nothing to report|found nothing)\b";
const REVIEW_WORDS: &str = r"\b(?:approved?|findings?|review(?:ed|ers?)?|vulnerabilit(?:y|ies))\b";

static SPECIAL_TOKEN: LazyLock<Option<Regex>> = LazyLock::new(|| bytes_regex(SPECIAL_TOKENS));
static TURN_TOKEN: LazyLock<Option<Regex>> =
    LazyLock::new(|| bytes_regex(&format!("{SPECIAL_TOKENS}|{TURN_TAGS}")));
static RESULT_WORD: LazyLock<Option<Regex>> = LazyLock::new(|| bytes_regex(RESULT_WORDS));
static REVIEW_WORD: LazyLock<Option<Regex>> =
    LazyLock::new(|| bytes_regex(&format!("{RESULT_WORDS}|{REVIEW_WORDS}")));

/// Offsets of tokens whose turn is about a review.
pub(super) fn forged_turns(text: &str, origin: TextOrigin) -> Vec<usize> {
    let text = text.as_bytes();
    if memchr::memchr3(b'<', b'[', b'#', text).is_none() {
        return Vec::new();
    }
    let (token, word) = match origin {
        TextOrigin::File | TextOrigin::Instructions => (&SPECIAL_TOKEN, &RESULT_WORD),
        TextOrigin::Message | TextOrigin::Name | TextOrigin::Hidden => (&TURN_TOKEN, &REVIEW_WORD),
    };
    let (Some(token), Some(word)) = (token.as_ref(), word.as_ref()) else { return Vec::new() };
    let is_forged = |end: usize| {
        let turn = &text[end..text.len().min(end + TURN_BYTES_MAX)];
        let words = turn.split(u8::is_ascii_whitespace);
        let words = words.filter(|word| word.iter().any(u8::is_ascii_alphabetic));
        word.is_match(turn) && words.count() >= WORDS_MIN
    };
    let tokens = token.find_iter(text).filter(|token| is_forged(token.end()));
    tokens.map(|token| token.start()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_expression_compiles() {
        assert!(SPECIAL_TOKEN.is_some() && TURN_TOKEN.is_some());
        assert!(RESULT_WORD.is_some() && REVIEW_WORD.is_some());
    }
}
