//! Splits a text into its outermost statements, and a statement into those one level deeper, from
//! lines and brackets only. Splitting is a hundred times as fast as parsing.
//!
//! Invariant: each part parses alone as it does in the whole text. If that is in doubt, there is no
//! result.

use std::ops::Range;

use crate::Language;

/// Keywords that continue the statement above at the same indentation.
const CLAUSES: [&str; 4] = ["else", "elif", "except", "finally"];

/// Outermost statements in order, each from its first line to the start of the next. Text before
/// the first statement belongs to the first statement; comments and blank lines belong to the
/// statement above. `None` if statements cannot be determined without a syntax tree, as in most
/// languages.
pub fn outermost_statements(language: Language, text: &str) -> Option<Vec<Range<usize>>> {
    if is_line_based(language) { python_statements(text.as_bytes()) } else { None }
}

/// Statements one level inside of a statement. The gaps between these statements are the lines that
/// introduce them. `None` if there are none, if the indentation is inconsistent, or if statements
/// cannot be determined without a syntax tree.
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
    let mut statements: Vec<Range<usize>> = Vec::new();
    // Indentation of the statement, and of the current block.
    let (mut outer_indentation, mut block_indentation): (Option<&[u8]>, Option<&[u8]>) =
        (None, None);
    let (mut follows_decorator, mut may_open_block) = (false, false);
    let mut offset = 0;
    while offset < text.len() {
        let LogicalLine { end, last_code_byte } = logical_line(text, offset)?;
        let line = &text[offset..end];
        let (indentation, code) =
            line.split_at(line.iter().take_while(|it| is_blank(**it)).count());
        let is_code = !matches!(code.first(), None | Some(b'\n' | b'#'));
        let statement_indentation =
            if is_code { *outer_indentation.get_or_insert(indentation) } else { indentation };
        if is_code && indentation == statement_indentation {
            (block_indentation, follows_decorator, may_open_block) =
                (None, false, last_code_byte == Some(b':'));
        } else if is_code {
            let expected = *block_indentation.get_or_insert(indentation);
            let is_deeper = indentation.len() > statement_indentation.len()
                && indentation.starts_with(statement_indentation);
            if !may_open_block || !is_deeper || !indentation.starts_with(expected) {
                return None;
            }
            if indentation == expected && !follows_decorator && !is_clause(code) {
                statements.push(offset..offset);
            }
            if indentation == expected {
                follows_decorator = code.starts_with(b"@");
            }
        }
        // Blank lines and comments belong to the statement above.
        match statements.last_mut() {
            Some(last_statement) if block_indentation.is_some() => last_statement.end = end,
            Some(_) | None => {}
        }
        offset = end;
    }
    (!statements.is_empty()).then_some(statements)
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

fn python_statements(text: &[u8]) -> Option<Vec<Range<usize>>> {
    // The grammar treats other line endings and whitespace specially.
    let is_unsupported = |byte: &u8| matches!(byte, b'\r' | b'\x0b' | b'\x0c' | 0);
    if text.starts_with(b"\xef\xbb\xbf") || text.iter().any(is_unsupported) {
        return None;
    }
    let mut starts: Vec<usize> = Vec::new();
    let mut offset = 0;
    // A decorator belongs to the following statement.
    let mut follows_decorator = false;
    while offset < text.len() {
        let line = &text[offset..];
        match line.first() {
            Some(b'\n' | b'#') => {}
            Some(b' ' | b'\t') => {
                let code = line.iter().find(|byte| !matches!(byte, b' ' | b'\t'));
                // An indented first line is an error, or continues something unseen.
                if starts.is_empty() && !matches!(code, None | Some(b'\n' | b'#')) {
                    return None;
                }
            }
            _ if follows_decorator || is_clause(line) => {
                starts.last()?;
                follows_decorator = line.starts_with(b"@");
            }
            _ => {
                starts.push(if starts.is_empty() { 0 } else { offset });
                follows_decorator = line.starts_with(b"@");
            }
        }
        offset = logical_line(text, offset)?.end;
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
    last_code_byte: Option<u8>,
}

fn logical_line(text: &[u8], line_start: usize) -> Option<LogicalLine> {
    let mut closing_brackets: Vec<u8> = Vec::new();
    let (mut offset, mut last_code_byte) = (line_start, None);
    while let Some(byte) = text.get(offset) {
        if !matches!(byte, b' ' | b'\t' | b'\n' | b'#') {
            last_code_byte = Some(*byte);
        }
        match byte {
            b'\n' if closing_brackets.is_empty() => {
                return Some(LogicalLine { end: offset + 1, last_code_byte });
            }
            b'#' => {
                offset = line_end(text, offset);
                continue;
            }
            b'(' => closing_brackets.push(b')'),
            b'[' => closing_brackets.push(b']'),
            b'{' => closing_brackets.push(b'}'),
            b')' | b']' | b'}' if closing_brackets.pop() != Some(*byte) => return None,
            b'"' | b'\'' => {
                offset = string_end(text, line_start, offset)?;
                continue;
            }
            // Outside of strings only a line end can be escaped.
            b'\\' if text.get(offset + 1) != Some(&b'\n') => return None,
            b'\\' => offset += 1,
            _ => {}
        }
        offset += 1;
    }
    closing_brackets.is_empty().then_some(LogicalLine { end: text.len(), last_code_byte })
}

fn line_end(text: &[u8], from: usize) -> usize {
    text[from..].iter().position(|byte| *byte == b'\n').map_or(text.len(), |end| from + end)
}

/// End of the string that starts at `quote_index`; `None` if the string is unterminated or contains
/// interpolated code that cannot be skipped.
fn string_end(text: &[u8], line_start: usize, quote_index: usize) -> Option<usize> {
    let quote_byte = text[quote_index];
    let is_triple_quoted = text[quote_index..].starts_with(&[quote_byte; 3]);
    let prefix =
        text[line_start..quote_index].iter().rev().take_while(|byte| byte.is_ascii_alphabetic());
    let is_interpolated = prefix.clone().any(|byte| b"fFtT".contains(byte)) && prefix.count() <= 2;
    let mut offset = quote_index + if is_triple_quoted { 3 } else { 1 };
    let mut braces = 0_usize;
    while let Some(byte) = text.get(offset) {
        match byte {
            b'{' if is_interpolated && braces == 0 && text.get(offset + 1) == Some(&b'{') => {
                offset += 1;
            }
            b'{' if is_interpolated => braces += 1,
            b'}' if is_interpolated => braces = braces.saturating_sub(1),
            // Within interpolated code, only simple strings are skipped. Other strings, comments
            // and escapes are rare.
            b'"' | b'\'' | b'#' | b'\\' | b'\n' if braces > 0 => {
                if !matches!(byte, b'"' | b'\'') || *byte == quote_byte {
                    return None;
                }
                offset += simple_string(&text[offset..], quote_byte)?;
                continue;
            }
            // Whether the backslash escapes the brace depends on more context.
            b'\\' if is_interpolated && text.get(offset + 1) == Some(&b'{') => return None,
            b'\\' => offset += 1,
            b'\n' if !is_triple_quoted => return None,
            byte if *byte == quote_byte && !is_triple_quoted => return Some(offset + 1),
            byte if *byte == quote_byte && text[offset..].starts_with(&[quote_byte; 3]) => {
                return Some(offset + 3);
            }
            _ => {}
        }
        offset += 1;
    }
    None
}

/// Length of a simple string within interpolated code; `None` if it contains anything special.
fn simple_string(text: &[u8], outer_quote: u8) -> Option<usize> {
    let (quote, rest) = text.split_first()?;
    let end = rest.iter().position(|byte| {
        byte == quote || *byte == outer_quote || matches!(byte, b'\\' | b'\n' | b'{' | b'}' | b'#')
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
        #[rustfmt::skip]
        let texts = [
            "  a = 1\n", "a = (1\n", "a = 1)\n", "a = (1]\n", "a = 'b\n", "a = '''b\n", "a = \\ b\n", "a = f\"{b[\"c\"]}\"\n",
            "a = f\"{b['}']}\"\n", "a = f'{b!r\n}'\n", "a = f'\\{b}'\n", "a = 1\r\n", "\u{feff}a = 1\n", "else:\n    a\n",
        ];
        for text in texts {
            assert_eq!(check(text), None, "{text:?}");
        }
        assert_eq!(outermost_statements(Language::Go, "package a\n"), None);
        assert_eq!(inner_statements(Language::Go, "func a() {\n\tb()\n}\n"), None);
    }
}
