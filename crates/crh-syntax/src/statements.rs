//! Splits a text into its outermost statements, and a statement into those one level deeper, from
//! lines and brackets only. This is a hundred times as fast as parsing.
//!
//! Invariant: each part parses alone as it does in the whole text. In doubt there is no result.

use std::ops::Range;

use crate::Language;

/// Keywords that continue the statement above at the same indentation.
const CLAUSES: [&str; 4] = ["else", "elif", "except", "finally"];

/// Outermost statements in order, each from its first line to the start of the next. Leading text
/// belongs to the first, and comments and blank lines to the statement above. `None` if it cannot
/// be determined without a tree, as in most languages.
pub fn outermost_statements(language: Language, text: &str) -> Option<Vec<Range<usize>>> {
    if is_line_based(language) { python_statements(text.as_bytes()) } else { None }
}

/// Statements one level inside of a statement. The gaps between them are the lines that introduce
/// them. `None` if there are none, the indentation is inconsistent, or it cannot be determined.
pub fn inner_statements(language: Language, statement: &str) -> Option<Vec<Range<usize>>> {
    if is_line_based(language) { python_inner_statements(statement.as_bytes()) } else { None }
}

/// Whether lines and brackets determine statements.
fn is_line_based(language: Language) -> bool {
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

fn python_inner_statements(text: &[u8]) -> Option<Vec<Range<usize>>> {
    let mut inner: Vec<Range<usize>> = Vec::new();
    // Indentation of the statement, and of the current block.
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
        // Blank lines and comments belong to the statement above.
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

fn python_statements(text: &[u8]) -> Option<Vec<Range<usize>>> {
    // The grammar treats other line endings and whitespace specially.
    let is_odd = |byte: &u8| matches!(byte, b'\r' | b'\x0b' | b'\x0c' | 0);
    if text.starts_with(b"\xef\xbb\xbf") || text.iter().any(is_odd) {
        return None;
    }
    let mut starts: Vec<usize> = Vec::new();
    let mut at = 0;
    // A decorator belongs to the following statement.
    let mut is_decorated = false;
    while at < text.len() {
        let line = &text[at..];
        match line.first() {
            Some(b'\n' | b'#') => {}
            Some(b' ' | b'\t') => {
                let code = line.iter().find(|byte| !matches!(byte, b' ' | b'\t'));
                // An indented first line is an error, or continues something unseen.
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
        rest.is_some_and(|rest| !rest.first().is_some_and(|it| is_name_byte(*it)))
    })
}

fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || !byte.is_ascii()
}

/// A line with its continuation lines.
struct LogicalLine {
    /// Start of the next line.
    end: usize,
    /// Last character of code.
    last: Option<u8>,
}

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
            // Outside of strings only a line end can be escaped.
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

/// End of a string that starts here; `None` if it is unterminated or contains interpolated code
/// that cannot be skipped.
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
            // Strings, comments and escapes within interpolated code are rare.
            b'"' | b'\'' | b'#' | b'\\' | b'\n' if braces > 0 => {
                if !matches!(byte, b'"' | b'\'') || *byte == sign {
                    return None;
                }
                at += simple_string(&text[at..], sign)?;
                continue;
            }
            // Whether it escapes a brace depends on more context.
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

/// Length of a simple string within interpolated code; `None` if it contains anything special.
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
    fn inner_statements_are_one_level_deeper() {
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
            // Inconsistent indentation.
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
    fn ambiguous_text_has_no_result() {
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
