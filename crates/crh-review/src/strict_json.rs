//! JSON that rejects duplicate keys. Most parsers keep the last value and silently lose the first.

use std::fmt;

use serde::de::{Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

/// A JSON value without duplicate keys.
#[derive(Debug, Clone, PartialEq)]
pub struct StrictJson(pub Value);

/// What is wrong with a JSON text, for people. serde_json says "ident" for `true`, `false` and
/// `null`.
pub fn json_problem(error: &serde_json::Error) -> String {
    error.to_string().replace("expected ident", "unexpected text")
}

struct StrictJsonVisitor;

impl<'de> Deserialize<'de> for StrictJson {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(StrictJsonVisitor).map(StrictJson)
    }
}

impl<'de> Visitor<'de> for StrictJsonVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E: Error>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(StrictJson(item)) = items.next_element()? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some((key, StrictJson(value))) = entries.next_entry::<String, StrictJson>()? {
            if map.contains_key(&key) {
                return Err(A::Error::custom(format!("the key `{key}` is given twice")));
            }
            map.insert(key, value);
        }
        Ok(Value::Object(map))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn duplicate_key_is_rejected_at_every_depth() {
        for text in [r#"{"a": 1, "a": 2}"#, r#"[{"b": {"a": [], "a": null}}]"#] {
            let error = serde_json::from_str::<StrictJson>(text).unwrap_err().to_string();
            assert!(error.starts_with("the key `a` is given twice"), "{error}");
        }
    }

    #[test]
    fn other_json_is_parsed_as_usual() {
        let text = r#"{"a": [1, -2, 3.5, "x", true, null], "b": {"a": {}}}"#;
        let StrictJson(value) = serde_json::from_str(text).unwrap();
        assert_eq!(value, serde_json::from_str::<Value>(text).unwrap());
    }
}
