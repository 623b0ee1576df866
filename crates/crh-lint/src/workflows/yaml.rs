//! YAML values with their positions, so that findings have a line.

use std::fmt;

use serde::de::{Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_saphyr::Spanned;

/// Maximum values per file. The longest known workflows have some ten thousand.
const VALUES_MAX: usize = 50_000;
/// Maximum nesting, because the parser is recursive. Workflows nest about ten levels deep.
const DEPTH_MAX: usize = 32;

/// A value with its first line and its byte range.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct YamlNode {
    pub(super) value: YamlValue,
    pub(super) line: u32,
    /// Start and end in bytes; both equal if unknown.
    pub(super) bytes: (usize, usize),
}

/// Numbers, booleans and null are kept as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum YamlValue {
    Scalar(String),
    List(Vec<YamlNode>),
    Map(Vec<(YamlKey, YamlNode)>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct YamlKey {
    pub(super) name: String,
    pub(super) line: u32,
}

impl YamlNode {
    /// Parses a text. The error is a sentence.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let budget = serde_saphyr::budget! { max_nodes: VALUES_MAX, max_depth: DEPTH_MAX };
        let options = serde_saphyr::options! { budget: budget };
        let result: Result<LocatedNode, _> = serde_saphyr::from_str_with_options(text, options);
        result.map(|located| located.0).map_err(|why| why.without_snippet().to_string())
    }

    /// The value of a key of a map.
    pub(super) fn get(&self, name: &str) -> Option<&Self> {
        self.entry(name).map(|(_, value)| value)
    }

    pub(super) fn entry(&self, name: &str) -> Option<(&YamlKey, &Self)> {
        self.entries().iter().find(|(key, _)| key.name == name).map(|(key, value)| (key, value))
    }

    /// The entries of a map; empty for other values.
    pub(super) fn entries(&self) -> &[(YamlKey, Self)] {
        match &self.value {
            YamlValue::Map(entries) => entries,
            YamlValue::Scalar(_) | YamlValue::List(_) => &[],
        }
    }

    /// The values of a list; empty for other values.
    pub(super) fn list(&self) -> &[Self] {
        match &self.value {
            YamlValue::List(values) => values,
            YamlValue::Scalar(_) | YamlValue::Map(_) => &[],
        }
    }

    /// The text of a scalar.
    pub(super) fn scalar(&self) -> Option<&str> {
        match &self.value {
            YamlValue::Scalar(word) => Some(word),
            YamlValue::List(_) | YamlValue::Map(_) => None,
        }
    }
}

struct LocatedNode(YamlNode);

impl<'de> Deserialize<'de> for LocatedNode {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let spanned = Spanned::<YamlValue>::deserialize(deserializer)?;
        let (line, bytes) = location(&spanned.defined);
        Ok(Self(YamlNode { value: spanned.value, line, bytes }))
    }
}

fn location(location: &serde_saphyr::Location) -> (u32, (usize, usize)) {
    let span = location.span();
    let to_usize = |at: Option<u64>| at.and_then(|at| usize::try_from(at).ok()).unwrap_or_default();
    let start = to_usize(span.byte_offset());
    let line = u32::try_from(location.line()).unwrap_or(u32::MAX);
    (line, (start, start + to_usize(span.byte_len())))
}

impl<'de> Deserialize<'de> for YamlValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(YamlVisitor)
    }
}

struct YamlVisitor;

impl<'de> Visitor<'de> for YamlVisitor {
    type Value = YamlValue;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<YamlValue, E> {
        Ok(YamlValue::Scalar(value.to_string()))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<YamlValue, E> {
        Ok(YamlValue::Scalar(value.to_string()))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<YamlValue, E> {
        Ok(YamlValue::Scalar(value.to_string()))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<YamlValue, E> {
        Ok(YamlValue::Scalar(value.to_string()))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<YamlValue, E> {
        Ok(YamlValue::Scalar(value.to_owned()))
    }

    fn visit_unit<E: Error>(self) -> Result<YamlValue, E> {
        Ok(YamlValue::Scalar(String::new()))
    }

    fn visit_none<E: Error>(self) -> Result<YamlValue, E> {
        self.visit_unit()
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<YamlValue, D::Error> {
        YamlValue::deserialize(deserializer)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<YamlValue, A::Error> {
        let mut values = Vec::new();
        while let Some(LocatedNode(node)) = access.next_element()? {
            values.push(node);
        }
        Ok(YamlValue::List(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<YamlValue, A::Error> {
        let mut entries = Vec::new();
        while let Some(key) = access.next_key::<Spanned<String>>()? {
            let (line, _) = location(&key.defined);
            let LocatedNode(node) = access.next_value()?;
            entries.push((YamlKey { name: key.value, line }, node));
        }
        Ok(YamlValue::Map(entries))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_has_its_position() {
        let text = "on: [push, pull_request]\njobs:\n  a:\n    steps:\n      - run: |\n          one\n          two ü\n      - run: 'x''y'\n        if: true\n      - &b\n        run: >-\n          z\n          q\n        # c\n      - *b\n    n: 012\n    e:\n    u: >\n      more\n";
        let node = YamlNode::parse(text).unwrap();
        let mut shown = String::new();
        let mut open = vec![("", &node)];
        while let Some((name, node)) = open.pop() {
            let raw = &text[node.bytes.0..node.bytes.1];
            match &node.value {
                YamlValue::Scalar(word) => {
                    shown += &format!("{name} {}: {word:?} {raw:?}\n", node.line);
                }
                YamlValue::List(values) => {
                    open.extend(values.iter().rev().map(|value| ("-", value)));
                }
                YamlValue::Map(entries) => {
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
