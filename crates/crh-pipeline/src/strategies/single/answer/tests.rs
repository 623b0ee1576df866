use expect_test::expect_file;

use super::super::sample::{asked, member};
use super::*;
use crh_review::finding::Severity::P1;
use crh_review::report::Fate;

fn finding(title: &str) -> Value {
    json!(member(title, P1, 750).finding)
}

fn ids() -> Vec<String> {
    vec!["F1".to_owned(), "F2".to_owned()]
}

fn second(verdicts: Value, wrong: Wrong) -> Result<Second, String> {
    let value = json!({ "findings": [], "verdicts": verdicts, "summary": "" });
    read_second(value, "single", &ids(), wrong)
}

fn verdict(id: &str, word: &str) -> Value {
    json!({ "id": id, "verdict": word, "reason": format!("{word} it is") })
}

#[test]
fn the_tool_is_what_models_are_told() {
    let spec = submit_spec();
    let shown = json!({ "name": spec.name, "words": spec.description, "schema": spec.schema });
    expect_file!["../../../../tests/data/tools/submit_review_result.json"]
        .assert_eq(&crh_review::stable_json(&shown).unwrap());
}

#[test]
fn a_draft_is_read_and_a_finding_of_the_wrong_shape_costs_itself_alone() {
    let value = json!({
        "findings": [finding("a"), { "title": "no more than this" }, finding("b")],
        "context_requests": [asked("search_code", json!({ "query": "x" }), Some(2))],
        "residual_risks": ["r"],
        "testing_gaps": ["t"],
        "summary": "s",
    });
    let draft = read_draft(value, "single").unwrap();
    let titles: Vec<_> = draft.parsed.members.iter().map(|it| it.finding.title.as_str()).collect();
    assert_eq!(titles, ["a", "b"]);
    assert_eq!(draft.parsed.set_aside[0].fate, Fate::Malformed);
    let Parsed { residual_risks, testing_gaps, summary, .. } = &draft.parsed;
    assert_eq!(
        (residual_risks, testing_gaps, summary.as_str()),
        (&vec!["r".to_owned()], &vec!["t".to_owned()], "s")
    );
    // The third finding of the answer is the second of those that could be read.
    assert_eq!(draft.requests[0].for_finding, Some(1));
    assert_eq!(draft.notes, Vec::<String>::new());
}

#[test]
fn what_is_wrong_at_the_top_is_said_to_the_model() {
    let said = |value| read_draft(value, "single").unwrap_err();
    assert_eq!(said(json!([])), "expected a JSON object");
    assert_eq!(said(json!({ "findings": [] })), "the argument `summary` is missing");
    assert_eq!(said(json!({ "summary": "" })), "the argument `findings` is missing");
    assert!(
        said(json!({ "findings": [], "summary": "", "verdict": "approve" }))
            .starts_with("there is no argument `verdict`; there are `findings`, `verdicts`"),
    );
}

#[test]
fn requests_that_cannot_be_used_are_noted_and_cost_nothing_else() {
    let requests = [
        asked("rm", json!({}), None),
        asked("read_file", json!({ "path": "b.py", "shell": "x" }), None),
        asked("read_file", json!({ "path": "b.py" }), Some(1)),
        asked("read_file", json!({ "path": "c.py" }), Some(0)),
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
    assert_eq!(draft.notes[4], "more than 3 looks at other code were asked for");
}

#[test]
fn a_request_for_a_finding_that_could_not_be_read_is_not_taken_for_another() {
    let value = json!({
        "findings": [{}, finding("a")],
        "context_requests": [asked("read_file", json!({ "path": "b.py" }), Some(0))],
        "summary": "",
    });
    let draft = read_draft(value, "single").unwrap();
    assert_eq!(draft.requests, []);
    assert_eq!(draft.notes, ["`context_requests[0]`: finding 0 could not be read"]);
}

#[test]
fn verdicts_are_kept_by_id_and_two_that_contradict_each_other_decide_nothing() {
    let verdicts = json!([
        verdict("F2", "refuted"),
        verdict("F1", "confirmed"),
        verdict("F2", "refuted"),
        verdict("F1", "unsure")
    ]);
    let said = second(verdicts, Wrong::Refused).unwrap().said;
    let result = |id: &str| said[id].judgement.clone();
    assert_eq!(
        result("F2"),
        Judgement { result: Judged::Refuted, reason: "refuted it is".to_owned() }
    );
    let reason = "confirmed it is; but also: unsure it is".to_owned();
    assert_eq!(result("F1"), Judgement { result: Judged::Unsure, reason });
}

#[test]
fn an_id_that_nobody_gave_is_refused_or_set_aside_where_there_is_no_second_chance() {
    let verdicts = || json!([verdict("F9", "refuted"), { "id": "F1", "verdict": "maybe" }, verdict("F2", "unsure")]);
    let refused = second(verdicts(), Wrong::Refused).unwrap_err();
    assert!(
        refused.starts_with("there is no finding `F9`; there are `F1`, `F2`; `verdicts[1]`:"),
        "{refused}"
    );
    let taken = second(verdicts(), Wrong::SetAside).unwrap();
    assert_eq!(taken.said.keys().collect::<Vec<_>>(), ["F2"]);
    assert_eq!(taken.notes.len(), 2, "{:?}", taken.notes);
}
