//! Words with a separator between all letters: `i g n o r e`, also one letter per line.

use std::sync::LazyLock;

use regex::{Regex, RegexBuilder};

use super::normalized_text::NormalizedText;

/// Minimum number of letters in a row.
const LETTERS_MIN: usize = 10;
/// Maximum bytes between two letters: a line break, a comment sign and blanks.
const GAP_BYTES_MAX: usize = 6;

/// Instructions without the blanks between words.
static INSTRUCTION: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let pattern = "(?:ignore|disregard|forget|override)[a-z]{0,20}(?:instruction|prompt|guideline|rules)\
        |approve(?:this|the|it|all|every|pr|my)\
        |(?:report|raise|return|flag)(?:nothing|no(?:issue|finding|problem|bug)|anempty)\
        |(?:say|reply|answer|respond)[a-z]{0,8}lgtm\
        |(?:donot|dont|never)(?:report|flag|mention)\
        |(?:ai|llm|code)review|languagemodel|readytomerge";
    RegexBuilder::new(pattern).unicode(false).build().ok()
});

/// Offsets of spaced instructions in a text.
pub(super) fn spaced_instructions(text: &NormalizedText) -> Vec<usize> {
    let Some(instruction) = INSTRUCTION.as_ref() else { return Vec::new() };
    let runs = letter_runs(text.text.as_bytes());
    runs.into_iter()
        .filter(|(_, letters)| instruction.is_match(letters))
        .map(|(offset, _)| offset)
        .collect()
}

/// Runs of single letters, each with the offset of its first letter.
fn letter_runs(text: &[u8]) -> Vec<(usize, String)> {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte >= 0x80;
    let (mut runs, mut letters, mut start, mut gap) = (Vec::new(), String::new(), 0, 0);
    let mut flush = |start: usize, letters: &mut String| {
        if letters.len() >= LETTERS_MIN {
            runs.push((start, std::mem::take(letters)));
        }
        letters.clear();
    };
    let mut offset = 0;
    while offset < text.len() {
        let length = text[offset..].iter().take_while(|byte| is_word(**byte)).count();
        match length {
            0 => gap += 1,
            1 if text[offset].is_ascii_alphabetic() && gap <= GAP_BYTES_MAX => {
                if letters.is_empty() {
                    start = offset;
                }
                letters.push(char::from(text[offset]));
                gap = 0;
            }
            _ => {
                flush(start, &mut letters);
                gap = 0;
            }
        }
        if gap > GAP_BYTES_MAX {
            flush(start, &mut letters);
        }
        offset += length.max(1);
    }
    flush(start, &mut letters);
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_single_letters_form_a_run() {
        let check = |text: &str, expected: &[(usize, &str)]| {
            let runs = letter_runs(text.as_bytes());
            let runs: Vec<(usize, &str)> =
                runs.iter().map(|(start, letters)| (*start, letters.as_str())).collect();
            assert_eq!(runs, expected, "{text}");
        };
        check("so: a p p r o v e  t h i s", &[(4, "approvethis")]);
        check("a-p-p-r-o-v-e\n# t-h-i-s", &[(0, "approvethis")]);
        check("a, b, c, d, e, f, g, h in i, j", &[]);
        assert!(INSTRUCTION.is_some());
    }
}
