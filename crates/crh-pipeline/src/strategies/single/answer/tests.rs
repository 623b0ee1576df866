use expect_test::expect_file;

use super::super::sample::{member, raw_request};
use super::*;
use crh_review::finding::Severity::P1;
use crh_review::report::Fate;

fn finding(title: &str) -> Value {
    json!(member(title, P1, 750).finding)
}

fn ids() -> Vec<String> {
    vec!["F1".to_owned(), "F2".to_owned()]
}

fn parse_second(verdicts: Value, wrong: InvalidJudgements) -> Result<SecondAnswer, String> {
    let value = json!({ "findings": [], "verdicts": verdicts, "summary": "" });
    read_second(value, "single", &ids(), wrong)
}

fn verdict(id: &str, word: &str) -> Value {
    json!({ "id": id, "verdict": word, "reason": format!("{word} it is") })
}

#[test]
fn submit_tool_matches_its_golden() {
    let spec = submit_spec();
    let tool_json = json!({ "name": spec.name, "words": spec.description, "schema": spec.schema });
    expect_file!["../../../../tests/data/tools/submit_review_result.json"]
        .assert_eq(&crh_review::stable_json(&tool_json).unwrap());
}

#[test]
fn malformed_finding_is_dropped_alone() {
    let value = json!({
        "findings": [finding("a"), { "title": "no more than this" }, finding("b")],
        "context_requests": [raw_request("search_code", json!({ "query": "x" }), Some(2))],
        "residual_risks": ["r"],
        "testing_gaps": ["t"],
        "summary": "s",
    });
    let draft = read_draft(value, "single").unwrap();
    let titles: Vec<_> = draft.parsed.members.iter().map(|it| it.finding.title.as_str()).collect();
    assert_eq!(titles, ["a", "b"]);
    assert_eq!(draft.parsed.dropped[0].fate, Fate::Malformed);
    let ReviewerReturn { residual_risks, testing_gaps, summary, .. } = &draft.parsed;
    assert_eq!(
        (residual_risks, testing_gaps, summary.as_str()),
        (&vec!["r".to_owned()], &vec!["t".to_owned()], "s")
    );
    // The third raw finding is the second parsed one.
    assert_eq!(draft.requests[0].for_finding, Some(1));
    assert_eq!(draft.notes, Vec::<String>::new());
}

#[test]
fn top_level_errors_go_back_to_the_model() {
    let error_for = |value| read_draft(value, "single").unwrap_err();
    assert_eq!(error_for(json!([])), "expected a JSON object");
    assert_eq!(error_for(json!({ "findings": [] })), "the argument `summary` is missing");
    assert_eq!(error_for(json!({ "summary": "" })), "the argument `findings` is missing");
    assert!(
        error_for(json!({ "findings": [], "summary": "", "verdict": "approve" }))
            .starts_with("there is no argument `verdict`; there are `findings`, `verdicts`"),
    );
}

#[test]
fn invalid_requests_are_noted_and_dropped() {
    let requests = [
        raw_request("rm", json!({}), None),
        raw_request("read_file", json!({ "path": "b.py", "shell": "x" }), None),
        raw_request("read_file", json!({ "path": "b.py" }), Some(1)),
        raw_request("read_file", json!({ "path": "c.py" }), Some(0)),
    ];
    let value = json!({
        "findings": [finding("a")],
        "context_requests": requests,
        "verdicts": [verdict("F1", "confirmed")],
        "summary": "",
    });
    let draft = read_draft(value, "single").unwrap();
    assert_eq!(draft.parsed.members.len(), 1);
    assert_eq!(draft.requests, []);
    assert_eq!(draft.notes.len(), 5, "{:?}", draft.notes);
    assert!(draft.notes[3].ends_with("there is no finding 1"), "{:?}", draft.notes);
    assert_eq!(draft.notes[4], "more than 3 lookups were requested; the others are ignored");
}

#[test]
fn request_for_malformed_finding_is_dropped() {
    let value = json!({
        "findings": [{}, finding("a")],
        "context_requests": [raw_request("read_file", json!({ "path": "b.py" }), Some(0))],
        "summary": "",
    });
    let draft = read_draft(value, "single").unwrap();
    assert_eq!(draft.requests, []);
    assert_eq!(draft.notes, ["`context_requests[0]`: finding 0 could not be read"]);
}

#[test]
fn contradicting_judgements_are_unsure() {
    let verdicts = json!([
        verdict("F2", "refuted"),
        verdict("F1", "confirmed"),
        verdict("F2", "refuted"),
        verdict("F1", "unsure")
    ]);
    let judgements = parse_second(verdicts, InvalidJudgements::AskAgain).unwrap().judgements;
    let result = |id: &str| judgements[id].judgement.clone();
    assert_eq!(result("F2"), Judgement::new(JudgementResult::Refuted, "refuted it is".to_owned()));
    let reason = "confirmed it is; but also: unsure it is".to_owned();
    assert_eq!(result("F1"), Judgement::new(JudgementResult::Unsure, reason));
}

#[test]
fn unknown_id_is_refused_or_ignored_in_last_call() {
    let verdicts = || json!([verdict("F9", "refuted"), { "id": "F1", "verdict": "maybe" }, verdict("F2", "unsure")]);
    let refused = parse_second(verdicts(), InvalidJudgements::AskAgain).unwrap_err();
    assert!(
        refused.starts_with("there is no finding `F9`; there are `F1`, `F2`; `verdicts[1]`:"),
        "{refused}"
    );
    let taken = parse_second(verdicts(), InvalidJudgements::Ignore).unwrap();
    assert_eq!(taken.judgements.keys().collect::<Vec<_>>(), ["F2"]);
    assert_eq!(taken.notes.len(), 2, "{:?}", taken.notes);
}
