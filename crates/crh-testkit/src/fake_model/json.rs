//! Sorted JSON, so that the bytes do not depend on serde_json features.

use serde_json::Value;

/// The value as text, without spaces, keys in order.
pub(super) fn sorted(value: &Value) -> String {
    let mut text = String::new();
    write(value, &mut text);
    text
}

fn write(value: &Value, text: &mut String) {
    match value {
        Value::Array(items) => {
            text.push('[');
            for (number, item) in items.iter().enumerate() {
                separate(number, text);
                write(item, text);
            }
            text.push(']');
        }
        Value::Object(fields) => {
            let mut fields: Vec<(&String, &Value)> = fields.iter().collect();
            fields.sort_unstable_by_key(|(name, _)| *name);
            text.push('{');
            for (number, (name, field)) in fields.into_iter().enumerate() {
                separate(number, text);
                text.push_str(&Value::from(name.as_str()).to_string());
                text.push(':');
                write(field, text);
            }
            text.push('}');
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            text.push_str(&value.to_string());
        }
    }
}

fn separate(number: usize, text: &mut String) {
    if number > 0 {
        text.push(',');
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn keys_are_sorted_and_values_unchanged() {
        let value = json!({ "b": [1, { "d": null, "c\"": "é\n" }], "a": {}, "e": [] });
        assert_eq!(sorted(&value), r#"{"a":{},"b":[1,{"c\"":"é\n","d":null}],"e":[]}"#);
        assert_eq!(serde_json::from_str::<Value>(&sorted(&value)).unwrap(), value);
    }
}
