//! Tests of the judge's question and of its answer.

use expect_test::{Expect, expect};
use serde_json::json;

use super::sample::{expected, question, reported, span};
use super::*;

/// Parses an answer to a question with two defects and three reports.
fn check(answer: Value, expected: Expect) {
    let read = parse_matches(answer, 2, 3);
    expected.assert_eq(&read.map_or_else(|why| why, |pairs| format!("{pairs:?}")));
}

fn pair(defect: i64, report: i64) -> Value {
    json!({ "defect": defect, "report": report })
}

#[test]
fn matches_are_zero_based_sorted_and_unique() {
    check(json!({ "pairs": [] }), expect!["[]"]);
    check(
        json!({ "pairs": [pair(2, 3), pair(1, 3), pair(2, 1), pair(2, 3)] }),
        expect!["[(0, 2), (1, 0), (1, 2)]"],
    );
}

#[test]
fn unknown_number_is_refused() {
    check(
        json!({ "pairs": [pair(1, 1), pair(3, 1)] }),
        expect!["there is no defect 3; they are numbered from 1 to 2"],
    );
    check(
        json!({ "pairs": [pair(2, 0)] }),
        expect!["there is no report 0; they are numbered from 1 to 3"],
    );
    check(
        json!({ "pairs": [pair(1, 4_294_967_295)] }),
        expect!["there is no report 4294967295; they are numbered from 1 to 3"],
    );
    check(
        json!({ "pairs": [pair(1, -1)] }),
        expect![
            "the argument `pairs[0].report` is the number `-1`, but a whole number from 0 to 4294967295 is expected"
        ],
    );
    let alone = parse_matches(json!({ "pairs": [pair(1, 2)] }), 1, 1).unwrap_err();
    expect!["there is no report 2; there is only report 1"].assert_eq(&alone);
}

#[test]
fn unknown_fields_of_an_answer_are_ignored() {
    let matches = |pair: Value| parse_matches(json!({ "pairs": [pair] }), 1, 1);
    let extended = json!({ "defect": 1, "report": 1, "sure": true });
    assert_eq!(matches(extended), matches(pair(1, 1)));
    assert!(matches(pair(1, 1)).is_ok());
}

#[test]
fn malformed_answer_is_refused() {
    check(json!([]), expect!["the arguments are not a JSON object"]);
    check(json!({}), expect!["the argument `pairs` is missing"]);
}

#[test]
fn empty_side_makes_no_question() {
    let issue = expected(vec![span("a.py", 1, 1)], "wrong");
    let report = reported("a.py", 1, "wrong", "");
    assert_eq!(JudgeQuestion::new(1, &[], std::slice::from_ref(&report)), None);
    assert_eq!(JudgeQuestion::new(1, std::slice::from_ref(&issue), &[]), None);
    assert!(JudgeQuestion::new(1, &[issue], &[report]).is_some());
}

#[test]
fn twin_question_shows_places_in_the_twin() {
    let defect = Expected {
        on_twin: vec![span("b.py", 4, 4), span("b.py", 7, 9)],
        ..expected(vec![span("a.py", 1, 1)], "The sum is wrong.")
    };
    let unknown = expected(vec![span("a.py", 1, 1), span("c.py", 2, 2)], "The mean is wrong.");
    let report = reported("b.py", 4, "wrong", "");
    let question = JudgeQuestion::for_twin(1, &[defect, unknown], &[report]).unwrap();
    expect![[r#"
        place: b.py line 4; b.py lines 7 to 9
        The sum is wrong.

        place: a.py; c.py
        The mean is wrong."#]]
    .assert_eq(&question.expected.join("\n\n"));
}

#[test]
fn question_hides_author_and_labels() {
    let text = question().text();
    for hidden in ["sub-agent", "0.75", "P0", "P1", "security", "0123456789", "keyword", "quoted"] {
        assert!(!text.contains(hidden), "{hidden} in {text}");
    }
}

#[test]
fn long_texts_are_truncated() {
    let issue = expected(vec![span("a.py", 1, 1)], &"ä".repeat(TEXT_CHARS + 1));
    let report = reported("a.py", 1, &"t".repeat(TITLE_CHARS + 1), &"x".repeat(TEXT_CHARS + 1));
    let text = JudgeQuestion::new(1, &[issue], &[report]).unwrap().text();
    assert!(text.contains(&format!("\n{}…\n", "ä".repeat(TEXT_CHARS))));
    assert!(text.contains(&format!("\n{}…\n", "t".repeat(TITLE_CHARS))));
    assert!(text.contains(&format!("\n{}…\n", "x".repeat(TEXT_CHARS))));
}

#[test]
fn text_does_not_depend_on_the_number() {
    let other = JudgeQuestion { number: 2, ..question() };
    assert_eq!(other.text(), question().text());
}
