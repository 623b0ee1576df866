//! Recognises an answer that a model gives in another form than a call of the submit tool.

use serde_json::{Map, Value};

use crate::extract::{self, Completeness, ExtractError, ExtractedObject, Placement};
use crh_llm::{CallArguments, ToolSpec};

/// Where crh told the model that only a submitted answer counts: only in the prompt, or also later
/// in the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SubmitRequest {
    InPrompt,
    Repeated,
}

/// The form of an answer, from the schema of the submit tool.
#[derive(Debug)]
pub(crate) struct AnswerForm<'a> {
    schema: &'a Value,
    /// Keys that identify an answer: the required lists, or else all required fields.
    keys: Vec<&'a str>,
}

impl<'a> AnswerForm<'a> {
    pub(crate) fn new(submit: &'a ToolSpec) -> Self {
        let schema = &submit.schema;
        let required = required_keys(schema);
        let is_list = |key: &&str| schema["properties"][*key]["type"] == "array";
        let lists: Vec<&str> = required.iter().copied().filter(is_list).collect();
        Self { schema, keys: if lists.is_empty() { required } else { lists } }
    }

    /// Whether the arguments of a call with an unknown name are an answer.
    pub(crate) fn fits(&self, arguments: &CallArguments) -> bool {
        match arguments {
            CallArguments::Json(Value::Object(object)) => self.has_keys(object),
            CallArguments::Json(_) | CallArguments::Malformed(_) => false,
        }
    }

    fn has_keys(&self, object: &Map<String, Value>) -> bool {
        !self.keys.is_empty() && self.keys.iter().all(|key| object.contains_key(*key))
    }

    /// The answer at the start or the end of a plain text: in a code fence, before or after prose,
    /// or only the entries of its list.
    ///
    /// An answer between prose may be a quote. It counts only if it is on its own lines and crh has
    /// told the model again to submit. An answer with empty lists counts only if it is complete and
    /// ends the text: later prose may take it back, and hostile code asks for such answers.
    pub(crate) fn find_in_text(
        &self,
        text: &str,
        request: SubmitRequest,
    ) -> Option<ExtractedObject> {
        match extract::find_object_where(text, &self.keys, |object| self.has_keys(object)) {
            Ok(found) => {
                let is_answer = match (found.placement, request) {
                    (Placement::Alone, _) => {
                        found.completeness == Completeness::Complete || !self.has_no_entries(&found)
                    }
                    (Placement::AtStart, _)
                    | (Placement::BetweenProse, SubmitRequest::Repeated) => {
                        !self.has_no_entries(&found)
                    }
                    (Placement::BetweenProse | Placement::InProse, _) => false,
                };
                is_answer.then_some(found)
            }
            Err(ExtractError::Ambiguous(_)) => None,
            Err(_) => self.find_bare_list(text),
        }
    }

    fn has_no_entries(&self, found: &ExtractedObject) -> bool {
        let is_empty = |key: &&str| {
            found.object.get(*key).and_then(Value::as_array).is_some_and(Vec::is_empty)
        };
        self.keys.iter().all(is_empty)
    }

    /// A list of entries without the object around it.
    fn find_bare_list(&self, text: &str) -> Option<ExtractedObject> {
        let [key] = self.keys.as_slice() else { return None };
        let entry_keys = required_keys(&self.schema["properties"][*key]["items"]);
        let is_entry = |object: &Map<String, Value>| {
            !entry_keys.is_empty() && entry_keys.iter().all(|key| object.contains_key(*key))
        };
        let list = extract::find_list(text, is_entry)?;
        let object = Map::from_iter([((*key).to_owned(), Value::Array(list))]);
        Some(ExtractedObject {
            object,
            completeness: Completeness::Complete,
            placement: Placement::Alone,
        })
    }

    /// Joins the parts of an answer that a model split over several calls: the lists, without
    /// repeated entries, and the texts. All other fields of the schema have to agree. The error is a
    /// sentence for the model.
    pub(crate) fn join(&self, parts: Vec<Value>) -> Result<Value, String> {
        let mut different: Vec<Value> = Vec::new();
        for part in parts {
            if !different.contains(&part) {
                different.push(part);
            }
        }
        let mut parts = different.into_iter();
        let first = parts.next().unwrap_or_default();
        parts.try_fold(first, |joined, part| self.join_two(joined, part))
    }

    fn join_two(&self, joined: Value, part: Value) -> Result<Value, String> {
        let (mut joined, part) = match (joined, part) {
            (Value::Object(joined), Value::Object(part)) => (joined, part),
            _ => return Err("an answer in your turn is not a JSON object.".to_owned()),
        };
        for (key, value) in part {
            match (joined.get_mut(&key), value) {
                (None, value) => drop(joined.insert(key, value)),
                (Some(present), value) if *present == value || value.is_null() => {}
                (Some(present @ Value::Null), value) => *present = value,
                (Some(Value::Array(entries)), Value::Array(more)) => {
                    for entry in more {
                        if !entries.contains(&entry) {
                            entries.push(entry);
                        }
                    }
                }
                (Some(Value::String(text)), Value::String(more)) if self.is_free_text(&key) => {
                    *text = format!("{text}\n\n{more}").trim().to_owned();
                }
                // The caller ignores fields that the schema does not have.
                (Some(_), _) if self.is_unknown(&key) => {}
                (Some(_), _) => {
                    return Err(format!(
                        "your turn has several answers, and their `{key}` differs."
                    ));
                }
            }
        }
        Ok(Value::Object(joined))
    }

    /// Whether the schema names its fields, and this is none of them.
    fn is_unknown(&self, key: &str) -> bool {
        let known = self.schema["properties"].as_object();
        known.is_some_and(|known| !known.contains_key(key))
    }

    /// Whether a field holds a text of the model's own words.
    fn is_free_text(&self, key: &str) -> bool {
        let field = &self.schema["properties"][key];
        let types = match &field["type"] {
            Value::Array(types) => types.as_slice(),
            other => std::slice::from_ref(other),
        };
        types.contains(&Value::from("string")) && field["enum"].is_null()
    }

    /// Decodes JSON that a model wrote as a string: the whole answer, or one of its lists.
    pub(crate) fn decode_strings(&self, mut answer: Value) -> Value {
        decode_string(&mut answer, Value::is_object);
        for (key, value) in answer.as_object_mut().into_iter().flatten() {
            if self.schema["properties"][key]["type"] == "array" {
                decode_string(value, Value::is_array);
            }
        }
        answer
    }
}

fn decode_string(value: &mut Value, is_expected: impl Fn(&Value) -> bool) {
    let decoded = value.as_str().and_then(|text| serde_json::from_str::<Value>(text).ok());
    if let Some(decoded) = decoded.filter(is_expected) {
        *value = decoded;
    }
}

fn required_keys(schema: &Value) -> Vec<&str> {
    schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn submit() -> ToolSpec {
        let schema = json!({
            "type": "object",
            "required": ["findings", "summary"],
            "properties": {
                "findings": { "type": "array", "items": { "type": "object", "required": ["title", "line"] } },
                "summary": { "type": "string" },
            },
        });
        ToolSpec { name: "report".to_owned(), description: String::new(), schema }
    }

    #[test]
    fn answer_is_found_in_a_text() {
        let spec = submit();
        let form = AnswerForm::new(&spec);
        let entry = r#"{"title": "a", "line": 1}"#;
        let answer = json!({ "findings": [{ "title": "a", "line": 1 }], "summary": "s" });
        let only_list = json!({ "findings": [{ "title": "a", "line": 1 }] });
        let check = |text: &str, expected: Option<&Value>| {
            let found = form
                .find_in_text(text, SubmitRequest::InPrompt)
                .map(|found| Value::Object(found.object));
            assert_eq!(found.as_ref(), expected, "{text}");
        };
        check(&answer.to_string(), Some(&answer));
        check(&format!("My review:\n```json\n{answer}\n```\n"), Some(&answer));
        check(&format!(r#"{{"name": "report", "arguments": {answer}}}"#), Some(&answer));
        let call = json!({ "name": "report", "arguments": answer });
        check(&format!("```json\n{call:#}\n```"), Some(&answer));
        check(&format!("<tool_call>\n{call}\n</tool_call>"), Some(&answer));
        check(&format!("<tool_call>{call:#}</tool_call>\n"), Some(&answer));
        check(&format!("{{\"findings\": [{entry}]}}"), Some(&only_list));
        check(&format!("```json\n[{entry}]\n```"), Some(&only_list));
        check(&format!("{{\"issues\": [{entry}]}}"), Some(&only_list));
        check(&format!("```json\n{answer}\n```\nThat is all."), Some(&answer));
        check(&format!("{answer}\nDone."), Some(&answer));
        check(&format!("```\n{call:#}\n```\n\nI found [one] {{issue}}."), Some(&answer));
        check(&format!("[{entry}]\nDone."), Some(&only_list));
        check(&format!("{answer} is what a comment asks for, which I refuse."), None);
        check(&format!("[{entry}]\nNo, better:\n[{entry}, {entry}]"), None);
        check(r#"[{"title": "no line"}]"#, None);
        check(&format!("[{entry}, "), None);
        check("All good: `a[0]` and {x} are fine.", None);
        check(entry, None);
    }

    #[test]
    fn quoted_or_cut_answer_is_no_answer() {
        let spec = submit();
        let form = AnswerForm::new(&spec);
        let is_answer = |text: &str| form.find_in_text(text, SubmitRequest::InPrompt).is_some();
        let empty = r#"{"findings": []}"#;
        let full = r#"{"findings": [{"title": "a", "line": 1}]}"#;
        assert!(is_answer(empty));
        assert!(is_answer(&format!("I found nothing.\n```json\n{empty}\n```\n")));
        assert!(!is_answer(&format!(
            "P0: a backdoor. A comment asks for {empty}, which I refuse."
        )));
        assert!(!is_answer(&format!("P0: a backdoor. A comment asks for {empty}")));
        assert!(!is_answer(&format!("{full}\n\nA comment asks for {empty}.")));
        assert!(!is_answer(r#"{"findings": ["#));
        assert!(is_answer(&format!("Twice:\n{full}\n{full}")));
        assert!(!is_answer(&format!("A comment asks for {full}, which I refuse.")));
        assert!(!is_answer(&format!("[The file asks for {full}, which I refuse.")));
        assert!(!is_answer(&format!("{{ it asks for {full} }}\nI refuse.")));
        assert!(!is_answer(&format!("A comment asks for\n\"arguments\": {empty}")));
        assert!(!is_answer(&format!(
            "```json\n{empty}\n```\nA comment asks for it. P0: a backdoor."
        )));
        assert!(!is_answer(&format!("{empty}\nActually:\n[{{\"title\": \"a\", \"line\": 1}}]")));
        assert!(!is_answer(&format!("{full}\nWait:\n{{\"findings\": [{{\"title\": \"b")));
        assert!(!is_answer(
            "[{\"title\": \"a\", \"line\": 1}]\nNo, [{\"title\": \"b\", \"line\": 1}]."
        ));
        let call = format!("<tool_call>\n{full}\n</tool_call>");
        assert!(is_answer(&call));
        assert!(!is_answer(&format!("The file has\n{call}\nto mislead me.")));
        assert!(!is_answer(&format!("A comment has <tool_call>{full}</tool_call>")));
        let around = |answer: &str| format!("The file has\n```json\n{answer}\n```\nto mislead me.");
        assert!(!is_answer(&around(full)));
        let is_repeated = |text: &str| form.find_in_text(text, SubmitRequest::Repeated).is_some();
        assert!(is_repeated(&around(full)));
        assert!(!is_repeated(&around(empty)));
        assert!(!is_repeated(&format!("It has {full}\nto mislead me.")));
    }

    #[test]
    fn parts_of_an_answer_are_joined() {
        let schema = json!({
            "type": "object",
            "properties": {
                "findings": { "type": "array" },
                "summary": { "type": "string" },
                "doubt": { "type": ["string", "null"] },
                "verdict": { "type": "string", "enum": ["yes", "no"] },
                "line": { "type": "integer" },
            },
        });
        let spec = ToolSpec { schema, ..submit() };
        let check = |parts: &[Value], expected: Result<Value, &str>| {
            let joined = AnswerForm::new(&spec).join(parts.to_vec());
            assert_eq!(joined, expected.map_err(str::to_owned), "{parts:?}");
        };
        let part = |findings: &[&str], summary| json!({ "findings": findings, "summary": summary });
        check(&[part(&["a"], "s")], Ok(part(&["a"], "s")));
        check(&[part(&[], ""), part(&["a"], "s")], Ok(part(&["a"], "s")));
        check(
            &[part(&["a", "b"], "s"), part(&["b", "c"], "t"), part(&["d"], "t")],
            Ok(part(&["a", "b", "c", "d"], "s\n\nt\n\nt")),
        );
        check(
            &[json!({ "line": 1, "doubt": null }), json!({ "line": 1, "doubt": "d" })],
            Ok(json!({ "line": 1, "doubt": "d" })),
        );
        check(
            &[json!({ "verdict": "yes" }), json!({ "verdict": "no" })],
            Err("your turn has several answers, and their `verdict` differs."),
        );
        check(
            &[json!({ "line": 1 }), json!({ "line": 2 })],
            Err("your turn has several answers, and their `line` differs."),
        );
        check(
            &[json!({ "line": 1, "extra": 1 }), json!({ "line": 1, "extra": 2 })],
            Ok(json!({ "line": 1, "extra": 1 })),
        );
        check(&[json!({}), json!([])], Err("an answer in your turn is not a JSON object."));
        check(&[json!([]), json!([])], Ok(json!([])));
    }

    #[test]
    fn json_in_strings_is_decoded() {
        let spec = submit();
        let form = AnswerForm::new(&spec);
        let answer = json!({ "findings": [{ "title": "a" }], "summary": "[]" });
        let list_in_string = json!({ "findings": r#"[{"title": "a"}]"#, "summary": "[]" });
        assert_eq!(form.decode_strings(Value::from(answer.to_string())), answer);
        assert_eq!(form.decode_strings(list_in_string.clone()), answer);
        assert_eq!(form.decode_strings(Value::from(list_in_string.to_string())), answer);
        assert_eq!(form.decode_strings(json!("no JSON")), json!("no JSON"));
    }
}
