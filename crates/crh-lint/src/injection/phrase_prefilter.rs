//! Prefilter for phrases: the words that a text must contain for a phrase to match, derived from
//! the phrase's pattern. Most texts are rejected without running a regular expression.

use aho_corasick::{AhoCorasick, AhoCorasickKind};

/// Minimum length of a required word. Shorter ones occur in most texts.
const LETTERS_MIN: usize = 3;

/// Words of which a text must contain at least one.
type WordChoice<'p> = Vec<&'p str>;

/// Finds the required words of all phrases in one pass.
#[derive(Debug)]
pub(super) struct PhrasePrefilter {
    words: Option<AhoCorasick>,
    /// For each word: the index of its phrase, and the bit of the [`WordChoice`] with the word.
    word_bits: Vec<(usize, u32)>,
    /// For each phrase: the bits of all its word choices.
    required_bits: Vec<u32>,
}

impl PhrasePrefilter {
    /// Word choices beyond 32 per phrase are ignored.
    pub(super) fn from_patterns(patterns: impl Iterator<Item = &'static str>) -> Self {
        let (mut words, mut word_bits, mut required_bits) = (Vec::new(), Vec::new(), Vec::new());
        for (phrase, pattern) in patterns.enumerate() {
            let mut bits = 0;
            for (bit, choice) in (0..u32::BITS).zip(required_words(pattern)) {
                bits |= 1 << bit;
                word_bits.extend(choice.iter().map(|_| (phrase, 1 << bit)));
                words.extend(choice);
            }
            required_bits.push(bits);
        }
        // Building a DFA takes longer than its faster search saves.
        let words = AhoCorasick::builder().kind(Some(AhoCorasickKind::ContiguousNFA)).build(words);
        Self { words: words.ok(), word_bits, required_bits }
    }

    /// Phrases that may match a text, in order. Errs on the side of including a phrase.
    pub(super) fn candidates(&self, text: &str) -> Vec<usize> {
        let Some(words) = &self.words else { return (0..self.required_bits.len()).collect() };
        let mut missing_bits = self.required_bits.clone();
        for word in words.find_overlapping_iter(text) {
            let (phrase, bit) = self.word_bits[word.pattern().as_usize()];
            missing_bits[phrase] &= !bit;
        }
        (0..missing_bits.len()).filter(|phrase| missing_bits[*phrase] == 0).collect()
    }
}

/// Required words of a pattern: one of each list.
fn required_words(pattern: &str) -> Vec<WordChoice<'_>> {
    PatternReader { pattern, offset: 0 }.parse_choice()
}

/// Reads a pattern from left to right. Anything but letters and groups is treated as a wildcard.
struct PatternReader<'p> {
    pattern: &'p str,
    offset: usize,
}

impl<'p> PatternReader<'p> {
    /// Reads up to the end of a group or pattern. A text has to match only one of several
    /// alternatives, so they give one choice, with words of every alternative.
    fn parse_choice(&mut self) -> Vec<WordChoice<'p>> {
        let mut alternatives = vec![self.parse_sequence()];
        while self.consume('|') {
            alternatives.push(self.parse_sequence());
        }
        if alternatives.len() == 1 {
            return alternatives.remove(0);
        }
        let shortest = |parts: &WordChoice<'p>| parts.iter().map(|it| it.len()).min().unwrap_or(0);
        let longest_words = alternatives
            .into_iter()
            .map(|alternative| alternative.into_iter().max_by_key(shortest));
        let requirements: Option<Vec<WordChoice<'p>>> = longest_words.collect();
        requirements.into_iter().map(|all| all.concat()).collect()
    }

    fn parse_sequence(&mut self) -> Vec<WordChoice<'p>> {
        let mut requirements = Vec::new();
        let mut word = self.offset..self.offset;
        while let Some(sign) = self.peek().filter(|it| !matches!(it, '|' | ')')) {
            self.offset += sign.len_utf8();
            let mut inner = Vec::new();
            let is_letter = matches!(sign, 'a'..='z' | '0'..='9' | '~');
            match sign {
                '(' => {
                    inner = self.parse_choice();
                    self.consume(')');
                }
                '[' => self.skip_past(']'),
                '\\' => self.offset += self.peek().map_or(0, char::len_utf8),
                _ => {}
            }
            let is_optional = self.is_optional();
            if is_letter && !is_optional {
                word.end = self.offset;
                self.skip_count();
                if self.offset == word.end {
                    continue;
                }
            }
            requirements.extend(self.long_word(word));
            if !is_optional {
                requirements.extend(inner);
            }
            self.skip_count();
            word = self.offset..self.offset;
        }
        requirements.extend(self.long_word(word));
        requirements
    }

    fn long_word(&self, word: std::ops::Range<usize>) -> Option<WordChoice<'p>> {
        (word.len() >= LETTERS_MIN).then(|| vec![&self.pattern[word]])
    }

    fn peek(&self) -> Option<char> {
        self.pattern[self.offset..].chars().next()
    }

    fn consume(&mut self, sign: char) -> bool {
        let is_next = self.peek() == Some(sign);
        self.offset += usize::from(is_next) * sign.len_utf8();
        is_next
    }

    fn skip_past(&mut self, sign: char) {
        let rest = &self.pattern[self.offset..];
        self.offset += rest.find(sign).map_or(rest.len(), |at| at + sign.len_utf8());
    }

    /// Whether the part just read is optional.
    fn is_optional(&self) -> bool {
        let rest = &self.pattern[self.offset..];
        ["?", "*", "{0"].iter().any(|it| rest.starts_with(it))
    }

    /// Skips a repetition count.
    fn skip_count(&mut self) {
        if self.consume('{') {
            self.skip_past('}');
        }
        while self.peek().is_some_and(|it| matches!(it, '?' | '*' | '+')) {
            self.offset += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn required_words_are_one_per_mandatory_group() {
        let check = |pattern, expected: &[&[&str]]| {
            assert_eq!(required_words(pattern), expected, "{pattern}");
        };
        check("approve it", &[&["approve"]]);
        check(
            "(ignore|forget) (FILL ){0,3}your (W )?(rules|prompts?)",
            &[&["ignore", "forget"], &["your"], &["rules", "prompt"]],
        );
        check("STARTapprove( now)? this|vulnerabilit(y|ies)", &[&["approve", "vulnerabilit"]]);
        check(
            "ignor[ei]?ren (do not|never) (ok|nothing)",
            &[&["ignor"], &["ren"], &["not", "never"]],
        );
        // If one alternative has no useful word, the others are useless too.
        check("(say|no) lgtm", &[&["lgtm"]]);
        check("(a|W )+[.\n]|\\z", &[]);
    }
}
