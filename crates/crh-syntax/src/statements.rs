//! The outermost statements of a text, and those one level further in, told by its lines and brackets alone: a hundred times as fast as a tree.
//!
//! Invariant: in doubt there is no answer. Where there is one, each part parses by itself as it does in the whole: no string, no bracket and no
//! clause goes on from one to the next.

use std::ops::Range;

use crate::Language;

/// Words that continue the statement above them at its own indentation.
const CLAUSES: [&str; 4] = ["else", "elif", "except", "finally"];

/// Where the outermost statements of a text are, in order, each from the start of its first line to that of the next; what stands before the
/// first is part of it, and so are comments and empty lines of the one above them. None if that cannot be told without a tree, as in most
/// languages.
pub fn outermost_statements(language: Language, text: &str) -> Option<Vec<Range<usize>>> {
    if is_told_by_lines(language) { python(text.as_bytes()) } else { None }
}

/// Where the statements are that stand one level inside of one, each with what belongs to it as in [`outermost_statements`]; what is between them are
/// the lines that they stand under. None if it has none inside, or its lines are not indented as they should be, or it cannot be told.
pub fn inner_statements(language: Language, statement: &str) -> Option<Vec<Range<usize>>> {
    if is_told_by_lines(language) { inner_of_python(statement.as_bytes()) } else { None }
}

/// Whether lines and brackets tell where statements begin and end.
fn is_told_by_lines(language: Language) -> bool {
    match language {
        Language::Python => true,
        Language::JavaScript
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
        | Language::Kotlin
        | Language::Swift => false,
    }
}

fn inner_of_python(text: &[u8]) -> Option<Vec<Range<usize>>> {
    let mut inner: Vec<Range<usize>> = Vec::new();
    // The blanks of the statement itself, and of the block that is being read.
    let (mut outer, mut block): (Option<&[u8]>, Option<&[u8]>) = (None, None);
    let (mut is_decorated, mut may_open) = (false, false);
    let mut at = 0;
    while at < text.len() {
        let LogicalLine { end, last } = logical_line(text, at)?;
        let line = &text[at..end];
        let (blanks, code) = line.split_at(line.iter().take_while(|it| is_blank(**it)).count());
        let is_code = !matches!(code.first(), None | Some(b'\n' | b'#'));
        let own = if is_code { *outer.get_or_insert(blanks) } else { blanks };
        if is_code && blanks == own {
            (block, is_decorated, may_open) = (None, false, last == Some(b':'));
        } else if is_code {
            let expected = *block.get_or_insert(blanks);
            let is_deeper = blanks.len() > own.len() && blanks.starts_with(own);
            if !may_open || !is_deeper || !blanks.starts_with(expected) {
                return None;
            }
            if blanks == expected && !is_decorated && !is_clause(code) {
                inner.push(at..at);
            }
            if blanks == expected {
                is_decorated = code.starts_with(b"@");
            }
        }
        // Empty lines and comments belong to what is above them.
        match inner.last_mut() {
            Some(last) if block.is_some() => last.end = end,
            Some(_) | None => {}
        }
        at = end;
    }
    (!inner.is_empty()).then_some(inner)
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

fn python(text: &[u8]) -> Option<Vec<Range<usize>>> {
    // Line ends and blanks of other kinds are read by the grammar in its own way.
    let is_odd = |byte: &u8| matches!(byte, b'\r' | b'\x0b' | b'\x0c' | 0);
    if text.starts_with(b"\xef\xbb\xbf") || text.iter().any(is_odd) {
        return None;
    }
    let mut starts: Vec<usize> = Vec::new();
    let mut at = 0;
    // A decorator belongs to what comes after it.
    let mut is_decorated = false;
    while at < text.len() {
        let line = &text[at..];
        match line.first() {
            Some(b'\n' | b'#') => {}
            Some(b' ' | b'\t') => {
                let code = line.iter().find(|byte| !matches!(byte, b' ' | b'\t'));
                // A first line that is indented is an error, or the end of something that was not seen.
                if starts.is_empty() && !matches!(code, None | Some(b'\n' | b'#')) {
                    return None;
                }
            }
            _ if is_decorated || is_clause(line) => {
                starts.last()?;
                is_decorated = line.starts_with(b"@");
            }
            _ => {
                starts.push(if starts.is_empty() { 0 } else { at });
                is_decorated = line.starts_with(b"@");
            }
        }
        at = logical_line(text, at)?.end;
    }
    let ends = starts.iter().skip(1).copied().chain([text.len()]);
    Some(starts.iter().copied().zip(ends).map(|(start, end)| start..end).collect())
}

fn is_clause(line: &[u8]) -> bool {
    CLAUSES.iter().any(|word| {
        let rest = line.strip_prefix(word.as_bytes());
        rest.is_some_and(|rest| !rest.first().is_some_and(|it| is_of_name(*it)))
    })
}

fn is_of_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || !byte.is_ascii()
}

/// A line, with what its brackets, strings and backslashes join to it.
struct LogicalLine {
    /// Where the next one begins.
    end: usize,
    /// The last sign of its code.
    last: Option<u8>,
}

/// The line that begins here.
fn logical_line(text: &[u8], from: usize) -> Option<LogicalLine> {
    let mut open: Vec<u8> = Vec::new();
    let (mut at, mut last) = (from, None);
    while let Some(byte) = text.get(at) {
        if !matches!(byte, b' ' | b'\t' | b'\n' | b'#') {
            last = Some(*byte);
        }
        match byte {
            b'\n' if open.is_empty() => return Some(LogicalLine { end: at + 1, last }),
            b'#' => {
                at = line_end(text, at);
                continue;
            }
            b'(' => open.push(b')'),
            b'[' => open.push(b']'),
            b'{' => open.push(b'}'),
            b')' | b']' | b'}' if open.pop() != Some(*byte) => return None,
            b'"' | b'\'' => {
                at = string_end(text, from, at)?;
                continue;
            }
            // Only the end of a line can be escaped outside of strings.
            b'\\' if text.get(at + 1) != Some(&b'\n') => return None,
            b'\\' => at += 1,
            _ => {}
        }
        at += 1;
    }
    open.is_empty().then_some(LogicalLine { end: text.len(), last })
}

fn line_end(text: &[u8], from: usize) -> usize {
    text[from..].iter().position(|byte| *byte == b'\n').map_or(text.len(), |end| from + end)
}

/// Where a string ends whose first quote stands here; none if it does not, or has code in it that cannot be told from its text.
fn string_end(text: &[u8], from: usize, quote: usize) -> Option<usize> {
    let sign = text[quote];
    let is_long = text[quote..].starts_with(&[sign; 3]);
    let prefix = text[from..quote].iter().rev().take_while(|byte| byte.is_ascii_alphabetic());
    let has_code = prefix.clone().any(|byte| b"fFtT".contains(byte)) && prefix.count() <= 2;
    let mut at = quote + if is_long { 3 } else { 1 };
    let mut braces = 0_usize;
    while let Some(byte) = text.get(at) {
        match byte {
            b'{' if has_code && braces == 0 && text.get(at + 1) == Some(&b'{') => at += 1,
            b'{' if has_code => braces += 1,
            b'}' if has_code => braces = braces.saturating_sub(1),
            // Strings, comments and escapes in the code of a string are rare.
            b'"' | b'\'' | b'#' | b'\\' | b'\n' if braces > 0 => {
                if !matches!(byte, b'"' | b'\'') || *byte == sign {
                    return None;
                }
                at += simple_string(&text[at..], sign)?;
                continue;
            }
            // Whether it escapes a brace depends on more than its neighbour.
            b'\\' if has_code && text.get(at + 1) == Some(&b'{') => return None,
            b'\\' => at += 1,
            b'\n' if !is_long => return None,
            byte if *byte == sign && !is_long => return Some(at + 1),
            byte if *byte == sign && text[at..].starts_with(&[sign; 3]) => return Some(at + 3),
            _ => {}
        }
        at += 1;
    }
    None
}

/// The length of a string in the code of another that has the outer quotes; none if it has anything special in it.
fn simple_string(text: &[u8], outer: u8) -> Option<usize> {
    let (quote, rest) = text.split_first()?;
    let end = rest.iter().position(|byte| {
        byte == quote || *byte == outer || matches!(byte, b'\\' | b'\n' | b'{' | b'}' | b'#')
    })?;
    (rest[end] == *quote).then_some(end + 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str) -> Option<Vec<&str>> {
        let parts = outermost_statements(Language::Python, text)?;
        Some(parts.into_iter().map(|range| &text[range]).collect())
    }

    #[test]
    fn statements_end_where_the_next_one_begins() {
        let parts = [
            "# first\n\nimport a\n",
            "from b import (\nc,\n)\n\n",
            "@d(\nx)\n@e\n# why\ndef f():\n    '''\nno = 1\n'''\n# said\n    return \"}\"\n\n",
            "if x:\n    y\nelse:\n    z\n",
            "elsewhere = 1\n",
            "try:\n    a\nexcept (A,\nB):\n    b\nfinally:\n    c\n",
            "a = b \\\n+ c; d = [  # )\n1]\n",
            "e = f'{x[\"a\"]:>{w}} {{' + rf'''{y}\n'''\n",
            "g = 1",
        ];
        assert_eq!(check(&parts.concat()), Some(parts.to_vec()));
        assert_eq!(check(""), Some(vec![]));
    }

    #[test]
    fn inner_statements_stand_one_level_further_in() {
        let check = |text: &str| -> Option<Vec<String>> {
            let parts = inner_statements(Language::Python, text)?;
            Some(parts.into_iter().map(|range| text[range].to_owned()).collect())
        };
        let parts = [
            "# why\n@d\ndef f(\n    a,\n):\n    # said\n",
            "    \"\"\"A\nb.\n    \"\"\"\n",
            "    @e\n    # why\n    def g():\n        x\n\n",
            "    if a:\n        b\n    else:\n        c\n# said\n",
            "    return (a,\n  b)\n\n",
        ];
        assert_eq!(check(&parts.concat()).unwrap(), parts[1..]);
        let parts = ["  if a:  # why\n", "    b\n", "  elif c:\n", "\td\n", "\te\n", "  else: f\n"];
        assert_eq!(
            check(&parts.concat().replace('\t', "   ")).unwrap(),
            ["    b\n", "   d\n", "   e\n",]
        );
        for text in [
            "a = 1\n",
            "a = (\n    1)\n",
            "if a: b\n",
            // Not indented as one statement is.
            "if a:\n    b\n  c\n",
            "if a:\n    b\n\tc\n",
            "    if a:\n        b\n  c\n",
            "if a:\n    'b\n",
            "@a\n    def f():\n        b\n",
            "a = ':'\n    b\n",
        ] {
            assert_eq!(check(text), None, "{text:?}");
        }
    }

    #[test]
    fn in_doubt_there_is_no_answer() {
        for text in [
            "  a = 1\n",
            "a = (1\n",
            "a = 1)\n",
            "a = (1]\n",
            "a = 'b\n",
            "a = '''b\n",
            "a = \\ b\n",
            "a = f\"{b[\"c\"]}\"\n",
            "a = f\"{b['}']}\"\n",
            "a = f'{b!r\n}'\n",
            "a = f'\\{b}'\n",
            "a = 1\r\n",
            "\u{feff}a = 1\n",
            "else:\n    a\n",
        ] {
            assert_eq!(check(text), None, "{text:?}");
        }
        assert_eq!(outermost_statements(Language::Go, "package a\n"), None);
        assert_eq!(inner_statements(Language::Go, "func a() {\n\tb()\n}\n"), None);
    }
}
