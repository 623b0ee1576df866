//! Words of a line that it may define, in any language. A parser confirms definitions later.

use std::borrow::Cow;

/// Longer lines of a result are truncated.
pub const LINE_BYTES_MAX: usize = 64 << 10;
/// Words that start a definition in one of the languages.
#[rustfmt::skip]
const DEFINITION_WORDS: &[&str] = &[
    "def", "class", "func", "fn", "fun", "function", "interface", "struct", "enum", "type", "trait",
    "module", "object", "const", "static", "let", "var", "val", "protocol", "record", "extension",
];
/// Maximum characters between such a word and a name.
const GAP_CHARS_MAX: usize = 60;

/// A word of a line that may define a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LineWord<'t> {
    pub(crate) text: &'t str,
    /// Whether the line may define this word.
    pub(crate) is_defined: bool,
    /// Whether the line assigns this word.
    pub(crate) is_value: bool,
}

/// The start of a long line. Invalid UTF-8 is replaced.
pub(crate) fn shown_line(line: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(&line[..line.len().min(LINE_BYTES_MAX)])
}

/// All words of a line that may define one of them. Empty for other lines.
pub(crate) fn definition_words(line: &str) -> Vec<LineWord<'_>> {
    let shape = line.contains('(').then(|| LineShape::new(line));
    let (mut words, mut end, mut next_close) = (Vec::new(), 0, 0);
    let (mut first_start, mut keyword_end) = (0, None);
    while let Some(start) = line[end..].find(is_word).map(|at| end + at) {
        let rest = &line[start..];
        let text = &rest[..rest.find(|char| !is_word(char)).unwrap_or(rest.len())];
        let gap = &line[end..start];
        end = start + text.len();
        if words.is_empty() {
            first_start = start;
        }
        let is_first = match words.as_slice() {
            [] => true,
            [LineWord { text: "export", .. }] => gap.chars().all(char::is_whitespace),
            _ => false,
        };
        let is_defined = keyword_end.is_some_and(|end| is_short_gap(&line[end..start]))
            || shape.as_ref().is_some_and(|it| it.is_function(start, end, &mut next_close))
            || is_first && is_outer_indent(&line[..first_start]) && is_assigned(&line[end..]);
        words.push(LineWord { text, is_defined, is_value: false });
        if DEFINITION_WORDS.contains(&text) {
            keyword_end = Some(end);
        }
    }
    if !words.iter().any(|word| word.is_defined) {
        return Vec::new();
    }
    let value = defined_value(line);
    words.iter_mut().for_each(|word| word.is_value = value == Some(word.text));
    words
}

pub(crate) fn is_word(char: char) -> bool {
    char.is_alphanumeric() || char == '_'
}

/// What decides whether a line may define a function without a word before its name.
struct LineShape<'t> {
    line: &'t str,
    /// End of the start of the line that has only words, spaces and signs of types and annotations.
    types_end: usize,
    /// End of the start of the line that has only words and spaces.
    words_end: usize,
    last_semicolon: Option<usize>,
}

impl<'t> LineShape<'t> {
    fn new(line: &'t str) -> Self {
        let is_plain = |char: char| is_word(char) || char.is_whitespace();
        let end_of = |signs: &str| {
            let end = line.find(|char| !is_plain(char) && !signs.contains(char));
            end.unwrap_or(line.len())
        };
        let last_semicolon = line.rfind(';');
        Self { line, types_end: end_of("@<>[],.?*&:"), words_end: end_of(""), last_semicolon }
    }

    /// Whether the word between two offsets may be the name of a function.
    fn is_function(&self, start: usize, end: usize, next_close: &mut usize) -> bool {
        let rest = &self.line[end..];
        // `Result name(`, `async name(`.
        let is_method = |next_close: &mut usize| {
            let after_spaces = self.line.len() - rest.trim_start().len();
            let open = self.parenthesis(after_spaces, next_close);
            open.is_some_and(|open| self.last_semicolon.is_none_or(|semicolon| semicolon < open))
        };
        // Methods of an interface in TypeScript: `name(): Result;`.
        let is_signature = |next_close: &mut usize| {
            let open = self.parenthesis(end + usize::from(rest.starts_with('?')), next_close);
            let parameters = open.and_then(|open| self.line[open..].trim_end().strip_suffix(';'));
            let mut after_parameters = parameters.iter().flat_map(|it| it.split(')').skip(1));
            after_parameters.any(|after| after.trim_start().starts_with(':'))
        };
        start <= self.types_end && is_method(next_close)
            || start <= self.words_end && is_signature(next_close)
    }

    /// Offset of the opening parenthesis at an offset, or after the type parameters there.
    /// `next_close` has the last `>` that was found, so that each is searched once.
    fn parenthesis(&self, at: usize, next_close: &mut usize) -> Option<usize> {
        let mut open = at;
        if self.line[at..].starts_with('<') {
            if *next_close < at {
                *next_close = self.line[at..].find('>').map_or(self.line.len(), |close| at + close);
            }
            open = *next_close + 1;
        }
        (self.line.as_bytes().get(open) == Some(&b'(')).then_some(open)
    }
}

fn is_short_gap(gap: &str) -> bool {
    gap.len() <= GAP_CHARS_MAX * char::MAX.len_utf8()
        && gap.chars().count() <= GAP_CHARS_MAX
        && !gap.contains(['=', ';'])
}

/// Whether the indentation is that of a definition outside of functions.
fn is_outer_indent(indent: &str) -> bool {
    indent == "\t" || indent.len() <= 4 && indent.bytes().all(|byte| byte == b' ')
}

/// Whether the text after a name assigns it.
fn is_assigned(after_name: &str) -> bool {
    let rest = after_name.trim_start();
    let value = match rest.strip_prefix(':') {
        Some(rest) => rest.split_once('=').map(|(_, value)| value),
        None => rest.strip_prefix('='),
    };
    value.is_some_and(|value| !value.is_empty() && !value.starts_with(['=', '>']))
}

/// The name that a line defines as a value: `NAME = 1`, `const name = `.
fn defined_value(line: &str) -> Option<&str> {
    let (left, right) = line.split_once('=')?;
    if right.starts_with(['=', '>']) || left.contains(['(', '[', '{', '"', '\'']) {
        return None;
    }
    let left =
        left.split_once(':').map_or(left, |(name, _)| name).trim_end_matches(['!', '<', '+']);
    let name = left.split_whitespace().last()?;
    let qualifiers = left.split_whitespace().rev().skip(1);
    let are_words = qualifiers.into_iter().all(|word| {
        matches!(
            word,
            "const"
                | "static"
                | "let"
                | "var"
                | "val"
                | "export"
                | "pub"
                | "public"
                | "private"
                | "protected"
                | "final"
                | "readonly"
                | "mut"
                | "type"
                | "declare"
                | "internal"
        ) || word.starts_with(char::is_uppercase)
            || matches!(word, "int" | "long" | "boolean" | "bool" | "string" | "double" | "float")
    });
    are_words.then_some(name)
}

#[cfg(test)]
mod tests;
