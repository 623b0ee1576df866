//! Rejects texts that would kill the process. Some grammars have a C scanner that calls `abort` if
//! its state exceeds a fixed buffer, and some texts exhaust memory. Rust cannot catch either.
//!
//! Each check is one pass over the text.

use std::borrow::Cow;
use std::collections::{BTreeSet, VecDeque};

use crate::Language;
use crate::parse::Hazard;

/// Maximum distinct indentations of a Python text. tree-sitter-python 0.25.0 writes two bytes per
/// open indentation into a buffer of 1024, and one too many for odd counts, so it aborts at 510
/// open indentations. Open indentations are distinct, so there are at most as many as distinct
/// ones. The limit leaves a margin.
const INDENTATIONS_MAX: usize = 380;

/// Maximum bytes of a heredoc word. tree-sitter-ruby 0.23.1 stores the length of the word in one
/// byte and asserts it when reading. See
/// <https://github.com/tree-sitter/tree-sitter-ruby/issues/269>; the fix is not released.
const HEREDOC_WORD_MAX: usize = 255;

/// Maximum bytes of the Ruby scanner's state. Before tree-sitter-ruby 0.23.1 writes a heredoc into
/// its buffer of 1024 bytes, it checks for two bytes too few. Half of the buffer is more than real
/// code uses, and leaves a margin for the estimate of [`check_ruby_heredocs`].
const RUBY_STATE_MAX: usize = 512;

/// Scanner bytes of an open heredoc in addition to its word, and of an open literal.
const HEREDOC_BYTES: usize = 4;
const LITERAL_BYTES: usize = 5;

/// Maximum unclosed `<` in a statement. Until the statement ends, `a<a<a<…` can be a comparison or
/// a list of type arguments, and the parser keeps both readings. Memory grows quadratically: 900 MB
/// for 20 kB, in one step that cannot be stopped.
const ANGLES_MAX: usize = 256;

/// Maximum open brackets. They are expensive, especially with several readings: a megabyte of
/// `a<b,c>(` takes 1.5 GB. Real code is never this deep.
const NESTING_MAX: usize = 10_000;

/// Rejects texts that the language's parser cannot survive.
pub(crate) fn check(language: Language, text: &str) -> Result<(), Hazard> {
    check_nesting(text.as_bytes())?;
    match language {
        Language::Python => check_python_indentations(text.as_bytes()),
        Language::Ruby => check_ruby_heredocs(parser_text(language, text).as_bytes()),
        Language::JavaScript
        | Language::TypeScript
        | Language::Tsx
        | Language::Rust
        | Language::Go
        | Language::Java
        | Language::C
        | Language::Cpp
        | Language::CSharp
        | Language::Php
        | Language::Kotlin
        | Language::Swift => check_angles(text.as_bytes()),
    }
}

/// Bytes that the parser reads after the end of the text.
///
/// tree-sitter-kotlin-ng 1.1.0 looks for whitespace after an annotation beyond the end of the text,
/// and loops forever without it.
pub(crate) fn padding(language: Language, text: &str) -> &'static [u8] {
    match language {
        Language::Kotlin if !text.ends_with('\n') => b"\n",
        Language::Kotlin
        | Language::Python
        | Language::JavaScript
        | Language::TypeScript
        | Language::Tsx
        | Language::Rust
        | Language::Go
        | Language::Java
        | Language::Ruby
        | Language::C
        | Language::Cpp
        | Language::CSharp
        | Language::Php
        | Language::Swift => b"",
    }
}

/// The text that the parser reads, of the same length.
///
/// In Ruby, the word of a heredoc ends on its line. So `<<"` without a second quote on the line
/// starts no heredoc: it is mostly part of a string or comment. tree-sitter-ruby would search for
/// the quote on later lines, so the parser gets `< "`.
pub(crate) fn parser_text(language: Language, text: &str) -> Cow<'_, str> {
    let is_ruby = language == Language::Ruby;
    let marks: Vec<usize> = text
        .match_indices("<<")
        .filter(|_| is_ruby)
        .map(|(start, _)| start)
        .filter(|start| is_unclosed_heredoc_mark(&text.as_bytes()[*start..]))
        .collect();
    if marks.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut replaced = text.to_owned();
    for start in marks {
        replaced.replace_range(start + 1..start + 2, " ");
    }
    Cow::Owned(replaced)
}

/// Whether a text starts with the mark of a heredoc and a quote that the line does not close.
fn is_unclosed_heredoc_mark(text: &[u8]) -> bool {
    let mut rest = text.iter().skip(2).skip_while(|byte| matches!(byte, b'-' | b'~'));
    let Some(quote @ (b'\'' | b'"' | b'`')) = rest.next() else { return false };
    rest.take_while(|byte| **byte != b'\n').all(|byte| byte != quote)
}

/// Limits the open brackets. Counts those in strings and comments too, which are usually balanced.
fn check_nesting(text: &[u8]) -> Result<(), Hazard> {
    let (mut round, mut square, mut curly) = (0_usize, 0_usize, 0_usize);
    for byte in text {
        match byte {
            b'(' => round += 1,
            b')' => round = round.saturating_sub(1),
            b'[' => square += 1,
            b']' => square = square.saturating_sub(1),
            b'{' => curly += 1,
            b'}' => curly = curly.saturating_sub(1),
            _ => continue,
        }
        if round + square + curly > NESTING_MAX {
            return Err(Hazard::Nesting);
        }
    }
    Ok(())
}

/// Limits the unclosed `<` up to the end of a statement or block. Shift operators do not count.
fn check_angles(text: &[u8]) -> Result<(), Hazard> {
    let mut open_angles = 0_usize;
    let mut previous = b'\n';
    for byte in text {
        match byte {
            b'<' if previous == b'<' => open_angles = open_angles.saturating_sub(1),
            b'<' => open_angles += 1,
            b'>' => open_angles = open_angles.saturating_sub(1),
            b';' | b'{' | b'}' => open_angles = 0,
            _ => {}
        }
        if open_angles > ANGLES_MAX {
            return Err(Hazard::Angles);
        }
        previous = *byte;
    }
    Ok(())
}

/// Limits the distinct indentation widths, which it measures as the scanner does.
fn check_python_indentations(text: &[u8]) -> Result<(), Hazard> {
    let mut widths = BTreeSet::new();
    let mut offset = 0;
    while offset < text.len() {
        let (width, code_start) = indentation(text, offset);
        widths.insert(width);
        if widths.len() > INDENTATIONS_MAX {
            return Err(Hazard::Indentations);
        }
        let rest = text.get(code_start..).unwrap_or_default();
        offset = code_start
            + rest.iter().position(|byte| *byte == b'\n').map_or(rest.len(), |end| end + 1);
    }
    Ok(())
}

/// Width and end of the leading whitespace. A backslash joins the next line.
fn indentation(text: &[u8], mut offset: usize) -> (usize, usize) {
    let mut width = 0;
    while let Some(byte) = text.get(offset) {
        match (byte, text.get(offset + 1), text.get(offset + 2)) {
            (b' ', _, _) => width += 1,
            (b'\t', _, _) => width += 8,
            (b'\r' | b'\x0c' | b'\n', _, _) => width = 0,
            (b'\\', Some(b'\n'), _) => offset += 1,
            (b'\\', Some(b'\r'), Some(b'\n')) => offset += 2,
            _ => break,
        }
        offset += 1;
    }
    (width, offset)
}

/// Estimates the scanner's state from heredocs and braces, line by line. A heredoc counts as open
/// until the line that closes it, and a heredoc inside another until the end of the text. Every
/// brace counts as an interpolation with a literal.
fn check_ruby_heredocs(text: &[u8]) -> Result<(), Hazard> {
    let mut open_words: VecDeque<&[u8]> = VecDeque::new();
    let (mut open_bytes, mut nested_bytes, mut braces) = (0, 0, 0_usize);
    let mut offset = 0;
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        let start = offset;
        offset += line.len();
        if open_words.front().is_some_and(|word| line.trim_ascii() == *word) {
            open_bytes -= open_words.pop_front().map_or(0, |word| HEREDOC_BYTES + word.len());
            continue;
        }
        let in_body = !open_words.is_empty();
        for (column, byte) in line.iter().enumerate() {
            match byte {
                b'{' => braces += 1,
                b'}' => braces = braces.saturating_sub(1),
                b'<' => match heredoc_word(&text[start + column..]) {
                    Some(word) if word.len() > HEREDOC_WORD_MAX => return Err(Hazard::Heredocs),
                    Some(word) if in_body => nested_bytes += HEREDOC_BYTES + word.len(),
                    Some(word) => {
                        open_bytes += HEREDOC_BYTES + word.len();
                        open_words.push_back(word);
                    }
                    None => {}
                },
                _ => {}
            }
            let heredocs = open_bytes + nested_bytes;
            if heredocs > 0 && heredocs + braces * LITERAL_BYTES > RUBY_STATE_MAX {
                return Err(Hazard::Heredocs);
            }
        }
    }
    Ok(())
}

/// The word of a heredoc at the start of the text, cut off one byte after the maximum length.
fn heredoc_word(text: &[u8]) -> Option<&[u8]> {
    let rest = text.strip_prefix(b"<<")?;
    let rest = rest.strip_prefix(b"-").or(rest.strip_prefix(b"~")).unwrap_or(rest);
    let (quote, word) = match rest.split_first()? {
        (quote @ (b'\'' | b'"' | b'`'), rest) => (Some(*quote), rest),
        _ => (None, rest),
    };
    let is_in_word = |byte: &u8| match quote {
        Some(quote) => *byte != quote,
        None => byte.is_ascii_alphanumeric() || *byte == b'_' || *byte >= 0x80,
    };
    let end = word.iter().take(HEREDOC_WORD_MAX + 1).take_while(|byte| is_in_word(byte)).count();
    Some(&word[..end]).filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the result, and that the parser survives an accepted text.
    fn check_survival(language: Language, text: &str, expected: Result<(), Hazard>) {
        assert_eq!(check(language, text), expected);
        if let Err(hazard) = expected {
            assert_eq!(
                crate::symbols(language, text),
                Err(crate::ParseError::Hazard(hazard)),
                "the parser must not see it"
            );
        } else {
            assert!(crate::symbols(language, text).is_ok());
        }
    }

    #[test]
    fn long_heredoc_word_is_rejected() {
        let text = |letters: usize| {
            let word = "A".repeat(letters);
            format!("x = <<~{word}\n  text\n{word}\n")
        };
        check_survival(Language::Ruby, &text(255), Ok(()));
        check_survival(Language::Ruby, &text(256), Err(Hazard::Heredocs));
        check_survival(Language::Ruby, &text(300), Err(Hazard::Heredocs));
    }

    #[test]
    fn unclosed_quote_after_heredoc_mark_is_no_heredoc() {
        let text = format!("x = <<~\"SQL\n{}", "  some text\n".repeat(40));
        check_survival(Language::Ruby, &text, Ok(()));
        let text = format!("# <<<\"\nlog \"respond to #<<\"\n{}def f\nend\n", "  g h\n".repeat(90));
        check_survival(Language::Ruby, &text, Ok(()));
        assert!(!crate::symbols(Language::Ruby, &text).unwrap().has_errors());
    }

    #[test]
    fn many_closed_heredocs_are_accepted() {
        let text = "offence(<<~RUBY, <<~OUT)\n  a { b }\nRUBY\n  c\nOUT\n".repeat(500);
        check_survival(Language::Ruby, &text, Ok(()));
    }

    #[test]
    fn many_heredocs_on_one_line_are_rejected() {
        let text = format!("f({})\n", "<<A, ".repeat(150));
        check_survival(Language::Ruby, &text, Err(Hazard::Heredocs));
    }

    #[test]
    fn too_many_indentations_are_rejected() {
        let text = |steps: usize| {
            let step = |depth: usize| format!("{}if a:\n", " ".repeat(depth));
            (0..steps).map(step).collect::<String>()
        };
        check_survival(Language::Python, &text(380), Ok(()));
        check_survival(Language::Python, &text(381), Err(Hazard::Indentations));
        check_survival(Language::Python, &text(600), Err(Hazard::Indentations));
    }

    #[test]
    fn too_deep_brackets_are_rejected() {
        for language in Language::ALL {
            let text = "(".repeat(NESTING_MAX + 1);
            check_survival(language, &text, Err(Hazard::Nesting));
            assert_eq!(check(language, &text[1..]), Ok(()));
        }
        check_survival(Language::C, &"([{".repeat(4_000), Err(Hazard::Nesting));
        check_survival(Language::C, &"(]".repeat(NESTING_MAX + 1), Err(Hazard::Nesting));
        check_survival(Language::C, &"int a = (1);\n".repeat(NESTING_MAX + 1), Ok(()));
    }

    #[test]
    fn indentation_is_measured_across_joined_lines() {
        assert_eq!(indentation(b"  \t\\\r\n  x", 0), (12, 8));
        assert_eq!(indentation(b"  \r\n\n x", 0), (1, 6));
    }
}
