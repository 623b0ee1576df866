//! What a text must have in it for a phrase to stand there, read off the pattern of the phrase: most texts have too little of any, and need no expression.

use aho_corasick::{AhoCorasick, AhoCorasickKind};

/// A shorter part stands in most texts.
const LETTERS_MIN: usize = 3;

/// Parts of which a text has one.
type OneOf<'p> = Vec<&'p str>;

/// What the texts of several phrases must have, looked for at once.
#[derive(Debug)]
pub(super) struct Needed {
    words: Option<AhoCorasick>,
    /// What each word is one of: the phrase, and which of the things it needs.
    needs: Vec<(usize, u32)>,
    /// All that each phrase needs, a bit each.
    all: Vec<u32>,
}

impl Needed {
    /// What these patterns need. What a phrase needs beyond 32 things is not asked for.
    pub(super) fn of(patterns: impl Iterator<Item = &'static str>) -> Self {
        let (mut words, mut needs, mut all) = (Vec::new(), Vec::new(), Vec::new());
        for (phrase, pattern) in patterns.enumerate() {
            let mut bits = 0;
            for (at, one_of) in (0..u32::BITS).zip(needed(pattern)) {
                bits |= 1 << at;
                needs.extend(one_of.iter().map(|_| (phrase, 1 << at)));
                words.extend(one_of);
            }
            all.push(bits);
        }
        // Few words in few bytes: a table of all steps would take longer to make than it saves.
        let words = AhoCorasick::builder().kind(Some(AhoCorasickKind::ContiguousNFA)).build(words);
        Self { words: words.ok(), needs, all }
    }

    /// The phrases that may stand in a text, in their order. In doubt, that is all of them.
    pub(super) fn candidates(&self, text: &str) -> Vec<usize> {
        let Some(words) = &self.words else { return (0..self.all.len()).collect() };
        let mut left = self.all.clone();
        for word in words.find_overlapping_iter(text) {
            let (phrase, need) = self.needs[word.pattern().as_usize()];
            left[phrase] &= !need;
        }
        (0..left.len()).filter(|phrase| left[*phrase] == 0).collect()
    }
}

/// What a text must have: one of each.
fn needed(pattern: &str) -> Vec<OneOf<'_>> {
    Reader { pattern, at: 0 }.choice()
}

/// Reads a pattern from left to right. Whatever is neither a letter nor a group stands for something else than itself.
struct Reader<'p> {
    pattern: &'p str,
    at: usize,
}

impl<'p> Reader<'p> {
    /// Up to the bracket that ends a group, or the end: of several ways one is taken, so that one part of each must be enough.
    fn choice(&mut self) -> Vec<OneOf<'p>> {
        let mut ways = vec![self.sequence()];
        while self.takes('|') {
            ways.push(self.sequence());
        }
        if ways.len() == 1 {
            return ways.remove(0);
        }
        let shortest = |parts: &OneOf<'p>| parts.iter().map(|it| it.len()).min().unwrap_or(0);
        let best = ways.into_iter().map(|way| way.into_iter().max_by_key(shortest));
        let all: Option<Vec<OneOf<'p>>> = best.collect();
        all.into_iter().map(|all| all.concat()).collect()
    }

    fn sequence(&mut self) -> Vec<OneOf<'p>> {
        let mut needed = Vec::new();
        let mut word = self.at..self.at;
        while let Some(sign) = self.next().filter(|it| !matches!(it, '|' | ')')) {
            self.at += sign.len_utf8();
            let mut inner = Vec::new();
            let is_letter = matches!(sign, 'a'..='z' | '0'..='9' | '~');
            match sign {
                '(' => {
                    inner = self.choice();
                    self.takes(')');
                }
                '[' => self.skip_behind(']'),
                '\\' => self.at += self.next().map_or(0, char::len_utf8),
                _ => {}
            }
            let is_optional = self.is_optional();
            if is_letter && !is_optional {
                word.end = self.at;
                self.skip_count();
                if self.at == word.end {
                    continue;
                }
            }
            needed.extend(self.part(word));
            if !is_optional {
                needed.extend(inner);
            }
            self.skip_count();
            word = self.at..self.at;
        }
        needed.extend(self.part(word));
        needed
    }

    fn part(&self, word: std::ops::Range<usize>) -> Option<OneOf<'p>> {
        (word.len() >= LETTERS_MIN).then(|| vec![&self.pattern[word]])
    }

    fn next(&self) -> Option<char> {
        self.pattern[self.at..].chars().next()
    }

    fn takes(&mut self, sign: char) -> bool {
        let is_next = self.next() == Some(sign);
        self.at += usize::from(is_next) * sign.len_utf8();
        is_next
    }

    fn skip_behind(&mut self, sign: char) {
        let rest = &self.pattern[self.at..];
        self.at += rest.find(sign).map_or(rest.len(), |at| at + sign.len_utf8());
    }

    /// Whether what was just read need not be there.
    fn is_optional(&self) -> bool {
        let rest = &self.pattern[self.at..];
        ["?", "*", "{0"].iter().any(|it| rest.starts_with(it))
    }

    /// Passes over how often something may be there.
    fn skip_count(&mut self) {
        if self.takes('{') {
            self.skip_behind('}');
        }
        while self.next().is_some_and(|it| matches!(it, '?' | '*' | '+')) {
            self.at += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_needed_is_one_part_of_each_group_that_must_be_there() {
        let check =
            |pattern, expected: &[&[&str]]| assert_eq!(needed(pattern), expected, "{pattern}");
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
        // A way without a part that tells anything makes the others worth nothing.
        check("(say|no) lgtm", &[&["lgtm"]]);
        check("(a|W )+[.\n]|\\z", &[]);
    }
}
