//! YAML with the place of every value, so that what is found has a line.

use std::fmt;

use serde::de::{Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_saphyr::Spanned;

/// A workflow is written by hand; the longest known ones have some ten thousand values.
const VALUES_MAX: usize = 50_000;
/// Workflows nest about ten deep. The reader calls itself once for each level.
const DEPTH_MAX: usize = 32;

/// A value and the line it starts on, with the bytes of the text that it is written in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Node {
    pub(super) value: Value,
    pub(super) line: u32,
    /// Where it is written: start and end in bytes. The same twice if that is not known.
    pub(super) bytes: (usize, usize),
}

/// What a value is. Numbers, booleans and nothing are kept as words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Value {
    Word(String),
    List(Vec<Node>),
    Map(Vec<(Key, Node)>),
}

/// A key and its line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Key {
    pub(super) name: String,
    pub(super) line: u32,
}

impl Node {
    /// Reads a text; the error is a sentence.
    pub(super) fn read(text: &str) -> Result<Self, String> {
        let budget = serde_saphyr::budget! { max_nodes: VALUES_MAX, max_depth: DEPTH_MAX };
        let options = serde_saphyr::options! { budget: budget };
        let read: Result<Placed, _> = serde_saphyr::from_str_with_options(text, options);
        read.map(|placed| placed.0).map_err(|why| why.without_snippet().to_string())
    }

    /// The value under a key of a map.
    pub(super) fn get(&self, name: &str) -> Option<&Self> {
        self.entry(name).map(|(_, value)| value)
    }

    /// A key of a map with its value.
    pub(super) fn entry(&self, name: &str) -> Option<(&Key, &Self)> {
        self.entries().iter().find(|(key, _)| key.name == name).map(|(key, value)| (key, value))
    }

    /// The entries of a map; none of anything else.
    pub(super) fn entries(&self) -> &[(Key, Self)] {
        match &self.value {
            Value::Map(entries) => entries,
            Value::Word(_) | Value::List(_) => &[],
        }
    }

    /// The values of a list; none of anything else.
    pub(super) fn list(&self) -> &[Self] {
        match &self.value {
            Value::List(values) => values,
            Value::Word(_) | Value::Map(_) => &[],
        }
    }

    /// The text of a scalar.
    pub(super) fn word(&self) -> Option<&str> {
        match &self.value {
            Value::Word(word) => Some(word),
            Value::List(_) | Value::Map(_) => None,
        }
    }
}

struct Placed(Node);

impl<'de> Deserialize<'de> for Placed {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let spanned = Spanned::<Value>::deserialize(deserializer)?;
        let (line, bytes) = place(&spanned.defined);
        Ok(Self(Node { value: spanned.value, line, bytes }))
    }
}

fn place(location: &serde_saphyr::Location) -> (u32, (usize, usize)) {
    let span = location.span();
    let byte = |at: Option<u64>| at.and_then(|at| usize::try_from(at).ok()).unwrap_or_default();
    let start = byte(span.byte_offset());
    let line = u32::try_from(location.line()).unwrap_or(u32::MAX);
    (line, (start, start + byte(span.byte_len())))
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Values)
    }
}

struct Values;

impl<'de> Visitor<'de> for Values {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Word(value.to_string()))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Word(value.to_string()))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Word(value.to_string()))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Ok(Value::Word(value.to_string()))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        Ok(Value::Word(value.to_owned()))
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Word(String::new()))
    }

    fn visit_none<E: Error>(self) -> Result<Value, E> {
        self.visit_unit()
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        Value::deserialize(deserializer)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut values = Vec::new();
        while let Some(Placed(node)) = access.next_element()? {
            values.push(node);
        }
        Ok(Value::List(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut entries = Vec::new();
        while let Some(key) = access.next_key::<Spanned<String>>()? {
            let (line, _) = place(&key.defined);
            let Placed(node) = access.next_value()?;
            entries.push((Key { name: key.value, line }, node));
        }
        Ok(Value::Map(entries))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_has_its_place() {
        let text = "on: [push, pull_request]\njobs:\n  a:\n    steps:\n      - run: |\n          one\n          two ü\n      - run: 'x''y'\n        if: true\n      - &b\n        run: >-\n          z\n          q\n        # c\n      - *b\n    n: 012\n    e:\n    u: >\n      more\n";
        let node = Node::read(text).unwrap();
        let mut shown = String::new();
        let mut open = vec![("", &node)];
        while let Some((name, node)) = open.pop() {
            let raw = &text[node.bytes.0..node.bytes.1];
            match &node.value {
                Value::Word(word) => shown += &format!("{name} {}: {word:?} {raw:?}\n", node.line),
                Value::List(values) => open.extend(values.iter().rev().map(|value| ("-", value))),
                Value::Map(entries) => {
                    open.extend(
                        entries.iter().rev().map(|(key, value)| (key.name.as_str(), value)),
                    );
                }
            }
        }
        expect_test::expect![[r#"
            - 1: "push" "push"
            - 1: "pull_request" "pull_request"
            run 6: "one\ntwo ü\n" "one\n          two ü\n      "
            run 8: "x'y" "'x''y'"
            if 9: "true" "true"
            run 12: "z q" "z\n          q\n        "
            run 12: "z q" "z\n          q\n        "
            n 16: "12" "012"
            e 17: "" ""
            u 19: "more\n" "more\n"
        "#]]
        .assert_eq(&shown);
    }
}
