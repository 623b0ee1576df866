//! Deterministic JSON: sorted keys, two spaces of indent, a final newline.
//!
//! Integer keys come first, in numeric order, so that line maps read from top to bottom.

use std::io;
use std::ops::Range;

use serde::Serialize;
use serde_json::Serializer;
use serde_json::ser::Formatter;

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
    let mut out = Vec::new();
    value.serialize(&mut Serializer::with_formatter(&mut out, StableFormatter::new(layout)))?;
    out.push(b'\n');
    String::from_utf8(out).map_err(serde::ser::Error::custom)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum JsonLayout {
    Indented,
    OneLine,
}

/// Buffers each object and sorts its entries when it ends. Buffers hold only text, so a line map of
/// a million lines needs little more memory than its output.
struct StableFormatter {
    layout: JsonLayout,
    depth: usize,
    objects: Vec<OpenObject>,
    in_empty_array: bool,
}

/// An object that is still being written: its text so far and the ranges of its keys and values.
#[derive(Default)]
struct OpenObject {
    text: Vec<u8>,
    entries: Vec<(Range<usize>, Range<usize>)>,
    key_start: usize,
    value_start: usize,
}

/// Sort key of an object key. Integer keys sort first, by number; all others by bytes.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum SortKey<'a> {
    Number(u64),
    Text(&'a [u8]),
}

impl SortKey<'_> {
    fn from_key(key: &[u8]) -> SortKey<'_> {
        let inner = key.strip_prefix(b"\"").and_then(|key| key.strip_suffix(b"\"")).unwrap_or(key);
        let digits = std::str::from_utf8(inner).ok().filter(|text| {
            text.bytes().all(|byte| byte.is_ascii_digit())
                && (*text == "0" || !text.starts_with('0'))
        });
        match digits.and_then(|digits| digits.parse().ok()) {
            Some(number) => SortKey::Number(number),
            None => SortKey::Text(inner),
        }
    }
}

impl StableFormatter {
    fn new(layout: JsonLayout) -> Self {
        Self { layout, depth: 0, objects: Vec::new(), in_empty_array: false }
    }

    /// Writes to the innermost open object, or to the output if there is none.
    fn write_bytes<W: io::Write + ?Sized>(
        &mut self,
        writer: &mut W,
        bytes: &[u8],
    ) -> io::Result<()> {
        match self.objects.last_mut() {
            Some(object) => {
                object.text.extend_from_slice(bytes);
                Ok(())
            }
            None => writer.write_all(bytes),
        }
    }

    fn new_line<W: io::Write + ?Sized>(&mut self, writer: &mut W) -> io::Result<()> {
        if self.layout == JsonLayout::OneLine {
            return Ok(());
        }
        self.write_bytes(writer, b"\n")?;
        for _ in 0..self.depth {
            self.write_bytes(writer, b"  ")?;
        }
        Ok(())
    }
}

/// Whether a character could act on a terminal or hide from a reader. The escaped form is the same
/// JSON value.
fn must_escape(char: char) -> bool {
    char.is_control() || is_invisible(char)
}

/// Overrides the methods of `Formatter` for scalars, because the default methods would bypass the
/// buffers.
macro_rules! scalars {
    ($($name:ident: $type:ty),*) => {$(
        fn $name<W: io::Write + ?Sized>(&mut self, writer: &mut W, value: $type) -> io::Result<()> {
            self.write_bytes(writer, value.to_string().as_bytes())
        }
    )*};
}

impl Formatter for StableFormatter {
    scalars!(
        write_bool: bool, write_i8: i8, write_i16: i16, write_i32: i32, write_i64: i64,
        write_i128: i128, write_u8: u8, write_u16: u16, write_u32: u32, write_u64: u64,
        write_u128: u128
    );

    fn write_null<W: io::Write + ?Sized>(&mut self, writer: &mut W) -> io::Result<()> {
        self.write_bytes(writer, b"null")
    }

    fn write_f32<W: io::Write + ?Sized>(&mut self, writer: &mut W, value: f32) -> io::Result<()> {
        self.write_f64(writer, f64::from(value))
    }

    fn write_f64<W: io::Write + ?Sized>(&mut self, writer: &mut W, value: f64) -> io::Result<()> {
        // Use the shortest form of serde_json. It never calls this with a non-finite value.
        let text = serde_json::to_string(&value).map_err(io::Error::other)?;
        self.write_bytes(writer, text.as_bytes())
    }

    fn write_number_str<W: io::Write + ?Sized>(
        &mut self,
        writer: &mut W,
        value: &str,
    ) -> io::Result<()> {
        self.write_bytes(writer, value.as_bytes())
    }

    fn begin_string<W: io::Write + ?Sized>(&mut self, writer: &mut W) -> io::Result<()> {
        self.write_bytes(writer, b"\"")
    }

    fn end_string<W: io::Write + ?Sized>(&mut self, writer: &mut W) -> io::Result<()> {
        self.write_bytes(writer, b"\"")
    }

    fn write_string_fragment<W: io::Write + ?Sized>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        if !fragment.chars().any(must_escape) {
            return self.write_bytes(writer, fragment.as_bytes());
        }
        for char in fragment.chars() {
            let mut units = [0; 2];
            match must_escape(char) {
                false => self.write_bytes(writer, char.encode_utf8(&mut [0; 4]).as_bytes())?,
                true => {
                    for unit in char.encode_utf16(&mut units) {
                        self.write_bytes(writer, format!("\\u{unit:04x}").as_bytes())?;
                    }
                }
            }
        }
        Ok(())
    }

    fn write_char_escape<W: io::Write + ?Sized>(
        &mut self,
        writer: &mut W,
        escape: serde_json::ser::CharEscape,
    ) -> io::Result<()> {
        let mut text = Vec::new();
        serde_json::ser::CompactFormatter.write_char_escape(&mut text, escape)?;
        self.write_bytes(writer, &text)
    }

    fn write_raw_fragment<W: io::Write + ?Sized>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        self.write_bytes(writer, fragment.as_bytes())
    }

    fn begin_array<W: io::Write + ?Sized>(&mut self, writer: &mut W) -> io::Result<()> {
        self.depth += 1;
        self.in_empty_array = true;
        self.write_bytes(writer, b"[")
    }

    fn end_array<W: io::Write + ?Sized>(&mut self, writer: &mut W) -> io::Result<()> {
        self.depth -= 1;
        if !self.in_empty_array {
            self.new_line(writer)?;
        }
        self.in_empty_array = false;
        self.write_bytes(writer, b"]")
    }

    fn begin_array_value<W: io::Write + ?Sized>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> io::Result<()> {
        if !first {
            self.write_bytes(writer, b",")?;
        }
        self.new_line(writer)
    }

    fn end_array_value<W: io::Write + ?Sized>(&mut self, _: &mut W) -> io::Result<()> {
        self.in_empty_array = false;
        Ok(())
    }

    fn begin_object<W: io::Write + ?Sized>(&mut self, _: &mut W) -> io::Result<()> {
        self.depth += 1;
        self.objects.push(OpenObject::default());
        Ok(())
    }

    fn begin_object_key<W: io::Write + ?Sized>(&mut self, _: &mut W, _: bool) -> io::Result<()> {
        if let Some(object) = self.objects.last_mut() {
            object.key_start = object.text.len();
        }
        Ok(())
    }

    fn begin_object_value<W: io::Write + ?Sized>(&mut self, _: &mut W) -> io::Result<()> {
        if let Some(object) = self.objects.last_mut() {
            object.value_start = object.text.len();
        }
        Ok(())
    }

    fn end_object_value<W: io::Write + ?Sized>(&mut self, _: &mut W) -> io::Result<()> {
        self.in_empty_array = false;
        if let Some(object) = self.objects.last_mut() {
            let (key, value, end) = (object.key_start, object.value_start, object.text.len());
            object.entries.push((key..value, value..end));
        }
        Ok(())
    }

    fn end_object<W: io::Write + ?Sized>(&mut self, writer: &mut W) -> io::Result<()> {
        let object = self.objects.pop().unwrap_or_default();
        let mut entries = object.entries;
        entries.sort_by_cached_key(|(key, _)| SortKey::from_key(&object.text[key.clone()]));
        self.write_bytes(writer, b"{")?;
        for (index, (key, value)) in entries.iter().enumerate() {
            if index > 0 {
                self.write_bytes(writer, b",")?;
            }
            self.new_line(writer)?;
            self.write_bytes(writer, &object.text[key.clone()])?;
            self.write_bytes(
                writer,
                if self.layout == JsonLayout::Indented { b": " } else { b":" },
            )?;
            self.write_bytes(writer, &object.text[value.clone()])?;
        }
        self.depth -= 1;
        if !entries.is_empty() {
            self.new_line(writer)?;
        }
        self.write_bytes(writer, b"}")
    }
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
