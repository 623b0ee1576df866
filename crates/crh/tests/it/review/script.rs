//! What a fake model is told to say in a review, in the words of a review.

use serde_json::{Value, json};

use crh_testkit::fake_model::{Asked, Read, Scripted, calls, calls_all, decided};

/// The orchestrator gives out scopes: what each is called, and its files.
pub(crate) fn delegates(scopes: &[(&str, &[&str])]) -> Scripted {
    let scopes = scopes.iter().map(|(scope, files)| json!({ "scope": scope, "files": files }));
    calls("delegate_review", json!({ "scopes": scopes.collect::<Vec<_>>() }))
}

/// A sub-agent is done with files.
pub(crate) fn marks(files: &[&str]) -> Scripted {
    calls_all(files.iter().map(|path| ("mark_file_reviewed", json!({ "path": path }))))
}

/// A sub-agent reports.
pub(crate) fn reports(findings: &[Value]) -> Scripted {
    calls("report_findings", json!({ "findings": findings, "summary": "Looked at all of it." }))
}

/// A sub-agent does all of its work: it marks, and it reports.
pub(crate) fn works(files: &[&str], findings: &[Value]) -> [Scripted; 2] {
    [marks(files), reports(findings)]
}

/// The orchestrator submits: what it keeps, and what it drops for which reason.
pub(crate) fn submits(keep: &[&str], drop: &[(&str, &str)]) -> Scripted {
    let drop = drop.iter().map(|(id, reason)| json!({ "id": id, "reason": reason }));
    let drop: Vec<_> = drop.collect();
    let summary = "The change rewrites how orders are added up.";
    calls("submit_review", json!({ "keep": keep, "drop": drop, "summary": summary }))
}

/// The one reviewer of `single` answers.
pub(crate) fn answers(findings: &[Value]) -> Scripted {
    answers_with(findings, json!({}))
}

/// The one reviewer of `single` answers, and has more to say.
pub(crate) fn answers_with(findings: &[Value], more: Value) -> Scripted {
    let answer = json!({ "findings": findings, "summary": "Looked at all of it." });
    calls("submit_review_result", with(answer, more))
}

/// A check confirms all that it is asked about.
pub(crate) fn confirms() -> Scripted {
    judges(&[])
}

/// A check says of these titles what stands beside them, and confirms the rest.
pub(crate) fn judges(verdicts: &[(&'static str, &'static str)]) -> Scripted {
    let verdicts = verdicts.to_vec();
    decided(move |asked| {
        let check = |(id, title): (String, String)| {
            let said = verdicts.iter().find(|(known, _)| *known == title);
            let verdict = said.map_or("confirmed", |(_, verdict)| *verdict);
            json!({ "id": id, "verdict": verdict, "reason": "The cited line shows it." })
        };
        let checks: Vec<_> = claims(asked).into_iter().map(check).collect();
        calls("report_checks", json!({ "checks": checks }))
    })
}

/// The ids and the titles of the claims that a check is asked about.
fn claims(asked: &Asked) -> Vec<(String, String)> {
    let text = asked.read().into_iter().rev().find_map(|read| match read {
        Read::User(text) => Some(text),
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

/// A finding at `PATH:LINE` that quotes a line, in all else such that it is kept.
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

/// A value with some fields set over its own.
pub(crate) fn with(mut value: Value, fields: Value) -> Value {
    for (name, field) in fields.as_object().unwrap() {
        value[name.as_str()] = field.clone();
    }
    value
}
