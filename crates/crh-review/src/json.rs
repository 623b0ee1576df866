//! Deterministic JSON: sorted keys, two spaces of indent, a final newline.
//!
//! Integer keys come first, in numeric order, so that line maps read from top to bottom.

use serde::Serialize;

use crate::sanitise::is_invisible;

/// Serialises a value as deterministic JSON on several lines, with a final newline.
pub fn stable_json<T: Serialize + ?Sized>(value: &T) -> serde_json::Result<String> {
    write(value, JsonLayout::Indented)
}

/// Serialises a value as deterministic JSON on one line, with a final newline.
pub fn stable_json_line<T: Serialize + ?Sized>(value: &T) -> serde_json::Result<String> {
    write(value, JsonLayout::OneLine)
}

fn write<T: Serialize + ?Sized>(value: &T, layout: JsonLayout) -> serde_json::Result<String> {
    // Outside of strings, compact JSON has no character that must be escaped.
    let compact = escape_hidden(serde_json::to_string(value)?);
    let mut writer = StableWriter { layout, out: String::with_capacity(compact.len()) };
    writer.write_value(&compact, 0);
    writer.out.push('\n');
    Ok(writer.out)
}

/// Escapes characters that could act on a terminal or hide from a reader. The escaped form is the
/// same JSON value.
fn escape_hidden(json: String) -> String {
    let must_escape = |char: char| char.is_control() || is_invisible(char);
    if !json.chars().any(must_escape) {
        return json;
    }
    let mut out = String::with_capacity(json.len());
    for char in json.chars() {
        match must_escape(char) {
            true => {
                for unit in char.encode_utf16(&mut [0; 2]) {
                    out += &format!("\\u{unit:04x}");
                }
            }
            false => out.push(char),
        }
    }
    out
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum JsonLayout {
    Indented,
    OneLine,
}

/// Lays out compact JSON. It keeps positions in the text instead of values, so a line map of a
/// million lines needs little more memory than its output.
struct StableWriter {
    layout: JsonLayout,
    out: String,
}

/// Sort key of an object key. Integer keys sort first, by number; all others by bytes.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum SortKey<'a> {
    Number(u64),
    Text(&'a str),
}

impl SortKey<'_> {
    /// The sort key of a quoted key.
    fn from_key(key: &str) -> SortKey<'_> {
        let inner = key.trim_matches('"');
        let is_number = inner.bytes().all(|byte| byte.is_ascii_digit())
            && (inner == "0" || !inner.starts_with('0'));
        match inner.parse().ok().filter(|_| is_number) {
            Some(number) => SortKey::Number(number),
            None => SortKey::Text(&key[1..key.len() - 1]),
        }
    }
}

impl StableWriter {
    fn write_value(&mut self, json: &str, depth: usize) {
        match json.as_bytes().first() {
            Some(b'[') => self.write_items(split_items(json), ['[', ']'], depth),
            Some(b'{') => {
                let mut entries = split_items(json);
                entries.sort_by_cached_key(|entry| SortKey::from_key(&entry[..string_len(entry)]));
                self.write_items(entries, ['{', '}'], depth);
            }
            _ => self.out.push_str(json),
        }
    }

    /// Writes array items, or the entries of an object with their keys.
    fn write_items(&mut self, items: Vec<&str>, [open, close]: [char; 2], depth: usize) {
        self.out.push(open);
        for (index, item) in items.iter().enumerate() {
            if index > 0 {
                self.out.push(',');
            }
            self.new_line(depth + 1);
            let value_start = if open == '{' { string_len(item) + 1 } else { 0 };
            self.out.push_str(&item[..value_start]);
            if open == '{' && self.layout == JsonLayout::Indented {
                self.out.push(' ');
            }
            self.write_value(&item[value_start..], depth + 1);
        }
        if !items.is_empty() {
            self.new_line(depth);
        }
        self.out.push(close);
    }

    fn new_line(&mut self, depth: usize) {
        if self.layout == JsonLayout::Indented {
            self.out.push('\n');
            self.out.extend(std::iter::repeat_n("  ", depth));
        }
    }
}

/// The items of a compact array, or the entries of a compact object.
fn split_items(json: &str) -> Vec<&str> {
    let (mut items, mut depth, mut start, mut position) = (Vec::new(), 0, 1, 0);
    while let Some(byte) = json.as_bytes().get(position) {
        match byte {
            b'"' => position += string_len(&json[position..]) - 1,
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth -= 1,
            _ => {}
        }
        if (depth == 1 && *byte == b',' || depth == 0) && start < position {
            items.push(&json[start..position]);
            start = position + 1;
        }
        position += 1;
    }
    items
}

/// Length of the JSON string at the start of a text, with its quotes.
fn string_len(json: &str) -> usize {
    let mut is_escaped = false;
    let end = json.bytes().skip(1).position(|byte| {
        let is_end = byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        is_end
    });
    end.map_or(json.len(), |end| end + 2)
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use expect_test::{Expect, expect};
    use serde_json::json;

    use super::*;

    fn check(value: impl Serialize, expected: Expect) {
        let text = stable_json(&value).unwrap();
        expected.assert_eq(&text);
        // Both layouts must parse back to the same value.
        let value = serde_json::to_value(&value).unwrap();
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), value);
        let line = stable_json_line(&value).unwrap();
        assert_eq!(line.matches('\n').count(), 1);
        assert_eq!(serde_json::from_str::<serde_json::Value>(&line).unwrap(), value);
    }

    #[test]
    fn keys_are_sorted_at_every_depth() {
        check(
            json!({"b": 1, "a": [{"d": 4, "c": 3.5}, [], {}], "é": null}),
            expect![[r#"
                {
                  "a": [
                    {
                      "c": 3.5,
                      "d": 4
                    },
                    [],
                    {}
                  ],
                  "b": 1,
                  "é": null
                }
            "#]],
        );
    }

    #[test]
    fn integer_keys_come_first_in_numeric_order() {
        let map: HashMap<&str, u8> =
            [("10", 1), ("9", 2), ("a", 3), ("010", 4), ("-1", 5), ("0", 6)].into();
        check(
            map,
            expect![[r#"
                {
                  "0": 6,
                  "9": 2,
                  "10": 1,
                  "-1": 5,
                  "010": 4,
                  "a": 3
                }
            "#]],
        );
    }

    #[test]
    fn strings_are_escaped_as_in_json() {
        check(
            json!("tab\t quote\" newline\n \u{1}"),
            expect![[r#"
            "tab\t quote\" newline\n \u0001"
        "#]],
        );
    }

    #[test]
    fn terminal_control_characters_are_escaped() {
        check(
            json!({"\u{9b}31m": "a\u{202e}b\u{e0041}"}),
            expect![[r#"
            {
              "\u009b31m": "a\u202eb\udb40\udc41"
            }
        "#]],
        );
    }

    #[test]
    fn numeric_map_keys_become_strings() {
        let map: std::collections::BTreeMap<u32, &str> = [(10, "x"), (9, "y")].into();
        check(
            map,
            expect![[r#"
            {
              "9": "y",
              "10": "x"
            }
        "#]],
        );
    }
}
