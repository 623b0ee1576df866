//! The answer to an editor's request without a script: publish every finding as its reviewer graded
//! it.

use serde_json::{Value, json};

use super::request::FakeRequest;
use super::script::{ScriptedReply, calls};

/// Caller in the requests of an editor.
const CALLER: &str = "editor";

/// Publishes every finding. Findings that may be the same are one group. `None` for other callers,
/// and if the request has no findings.
pub fn publish_all(request: &FakeRequest) -> Option<ScriptedReply> {
    if request.caller != CALLER {
        return None;
    }
    let mut texts = Vec::new();
    collect_texts(&request.body, &mut texts);
    let findings = texts.into_iter().rfind(|text| text.contains("\nF1 by "))?;
    let mut groups: Vec<(Vec<String>, String)> = Vec::new();
    let mut lines = findings.lines().peekable();
    while let Some(line) = lines.next() {
        let Some((id, grade)) = line.split_once(" by ").filter(|(id, _)| is_id(id)) else {
            continue;
        };
        let alike = lines.peek().and_then(|next| next.strip_prefix("may be the same as "));
        let group = alike.and_then(|first| {
            groups.iter_mut().find(|(ids, _)| ids.iter().any(|known| known == first))
        });
        match group {
            Some((ids, _)) => ids.push(id.to_owned()),
            None => {
                let severity = grade.split([' ', ',']).find(|word| is_severity(word))?;
                groups.push((vec![id.to_owned()], severity.to_owned()));
            }
        }
    }
    let groups: Vec<Value> = groups
        .iter()
        .map(|(ids, severity)| {
            json!({ "findings": ids, "verdict": "publish", "probability": 0.9, "severity": severity })
        })
        .collect();
    Some(calls("report_edit", json!({ "groups": groups })))
}

fn is_id(text: &str) -> bool {
    text.strip_prefix('F').is_some_and(|digits| digits.parse::<u32>().is_ok())
}

fn is_severity(word: &str) -> bool {
    matches!(word, "P0" | "P1" | "P2" | "P3")
}

fn collect_texts<'a>(value: &'a Value, texts: &mut Vec<&'a str>) {
    match value {
        Value::String(text) => texts.push(text),
        Value::Array(values) => values.iter().for_each(|value| collect_texts(value, texts)),
        Value::Object(fields) => fields.values().for_each(|value| collect_texts(value, texts)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
