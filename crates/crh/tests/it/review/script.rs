//! Scripted answers of a fake model.

use serde_json::{Value, json};

use crh_testkit::fake_model::{FakeRequest, PromptPart, ScriptedReply, calls, calls_all, computed};

/// The orchestrator delegates scopes: name and files.
pub(crate) fn delegates(scopes: &[(&str, &[&str])]) -> ScriptedReply {
    let scopes = scopes.iter().map(|(scope, files)| json!({ "scope": scope, "files": files }));
    calls("delegate_review", json!({ "scopes": scopes.collect::<Vec<_>>() }))
}

/// A sub-agent marks files as reviewed.
pub(crate) fn marks(files: &[&str]) -> ScriptedReply {
    calls_all(files.iter().map(|path| ("mark_file_reviewed", json!({ "path": path }))))
}

/// A sub-agent reports findings.
pub(crate) fn reports(findings: &[Value]) -> ScriptedReply {
    calls("report_findings", json!({ "findings": findings, "summary": "Looked at all of it." }))
}

/// A sub-agent marks files and reports findings.
pub(crate) fn works(files: &[&str], findings: &[Value]) -> [ScriptedReply; 2] {
    [marks(files), reports(findings)]
}

/// The orchestrator submits: kept ids, and dropped ids with reasons.
pub(crate) fn submits(keep: &[&str], drop: &[(&str, &str)]) -> ScriptedReply {
    let drop = drop.iter().map(|(id, reason)| json!({ "id": id, "reason": reason }));
    let drop: Vec<_> = drop.collect();
    let summary = "The change rewrites how orders are added up.";
    calls("submit_review", json!({ "keep": keep, "drop": drop, "summary": summary }))
}

/// The reviewer of `single` answers with findings.
pub(crate) fn answers(findings: &[Value]) -> ScriptedReply {
    reports(findings)
}

/// A verification run confirms all claims.
pub(crate) fn confirms() -> ScriptedReply {
    judges(&[])
}

/// A verification run gives these results by title, and confirms the rest.
pub(crate) fn judges(verdicts: &[(&'static str, &'static str)]) -> ScriptedReply {
    let verdicts = verdicts.to_vec();
    computed(move |asked| {
        let check = |(id, title): (String, String)| {
            let said = verdicts.iter().find(|(known, _)| *known == title);
            let verdict = said.map_or("confirmed", |(_, verdict)| *verdict);
            json!({ "id": id, "verdict": verdict, "reason": "The cited line shows it." })
        };
        let checks: Vec<_> = claims(asked).into_iter().map(check).collect();
        calls("report_checks", json!({ "checks": checks }))
    })
}

/// The answer of a verification run that confirms the claims of this request.
pub(crate) fn confirms_all(asked: &FakeRequest) -> ScriptedReply {
    let check =
        |(id, _)| json!({ "id": id, "verdict": "confirmed", "reason": "The line shows it." });
    let checks: Vec<Value> = claims(asked).into_iter().map(check).collect();
    calls("report_checks", json!({ "checks": checks }))
}

/// Ids and titles of the claims to verify.
fn claims(asked: &FakeRequest) -> Vec<(String, String)> {
    let text = asked.prompt_parts().into_iter().rev().find_map(|read| match read {
        PromptPart::User(text) => Some(text),
        _ => None,
    });
    let text = text.unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    let pairs = lines.windows(2).filter_map(|pair| {
        let (id, title) = (pair[0].strip_prefix("id: ")?, pair[1].strip_prefix("claim: ")?);
        Some((id.to_owned(), title.to_owned()))
    });
    pairs.collect()
}

/// A valid finding at `PATH:LINE` that quotes a line.
pub(crate) fn finding(severity: &str, title: &str, place: &str, quote: &str) -> Value {
    let (file, line) = place.rsplit_once(':').unwrap();
    let line: u32 = line.parse().unwrap();
    json!({
        "title": title,
        "severity": severity,
        "category": "bug",
        "file": file,
        "line_start": line,
        "confidence": 0.75,
        "evidence": [{ "file": file, "line": line, "side": "new", "snippet": quote }],
        "why_it_matters": format!("{title}: an order of two items shows it."),
        "autofix_class": "manual",
        "owner": "human",
        "requires_verification": false,
        "pre_existing": false,
    })
}

/// A JSON object with some fields replaced.
pub(crate) fn with(mut value: Value, fields: Value) -> Value {
    for (name, field) in fields.as_object().unwrap() {
        value[name.as_str()] = field.clone();
    }
    value
}
