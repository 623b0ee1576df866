use std::fmt::Write as _;

use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::*;

/// Checks the texts of a snapshot (`⏎` is a line break). A line with `-> ` is what was extracted.
fn check(expected: Expect) {
    let mut report = String::new();
    for text in expected.data.lines().map(str::trim).filter(|line| !line.is_empty()) {
        if text.starts_with("-> ") {
            continue;
        }
        let object_text = match find_object(&text.replace('⏎', "\n"), &["answer", "calls"]) {
            Ok(ExtractedObject { object, completeness, .. }) => {
                format!("{completeness:?} {}", serde_json::to_string(&object).unwrap())
            }
            Err(error) => format!("none: {error}"),
        };
        writeln!(report, "{text}\n-> {object_text}").unwrap();
    }
    expected.assert_eq(&report);
}

#[test]
fn finds_object_in_fence_and_prose() {
    check(expect![[r#"
        {"answer": 1}
        -> Complete {"answer":1}
        ```json⏎{"answer": {"a": [1, 2]}}⏎```
        -> Complete {"answer":{"a":[1,2]}}
        Sure! With {braces} and { "quotes" } and it's done:⏎{"answer": "a } b"} Hope that helps {
        -> Complete {"answer":"a } b"}
        {"response": {"answer": 3}}
        -> Complete {"answer":3}
    "#]]);
}

#[test]
fn several_different_objects_with_known_key_are_ambiguous() {
    check(expect![[r#"
        {"answer": 1} no, better: {"answer": 2} as in {"path": "x"}
        -> none: several JSON objects in it have the keys `answer`, `calls`, and they differ: write one
        {"answer": 1} as I said: {"answer": 1}
        -> Complete {"answer":1}
        {"answer": 1} no, better: {"answer": 2
        -> Complete {"answer":1}
        {"answer": "draft {\"answer\": 9}"}
        -> Complete {"answer":"draft {\"answer\": 9}"}
    "#]]);
}

#[test]
fn small_mistakes_are_repaired() {
    check(expect![[r#"
        {"answer": [1, 2, ], }
        -> Complete {"answer":[1,2]}
        {"answer": "two⏎lines	and \'quotes\' and \d"}
        -> Complete {"answer":"two\nlines\tand \\'quotes\\' and \\d"}
        {"answer": "a, ] b"}
        -> Complete {"answer":"a, ] b"}
    "#]]);
}

#[test]
fn truncated_object_is_closed_without_its_last_entry() {
    check(expect![[r#"
        {"answer": {"text": "so far so go
        -> Truncated {"answer":{"text":"so far so go"}}
        {"answer": {"text": "x", "line
        -> Truncated {"answer":{"text":"x"}}
        {"answer": {"text": "x", "line":
        -> Truncated {"answer":{"text":"x"}}
        {"answer": {"text": "x", "line": 12
        -> Truncated {"answer":{"text":"x"}}
        {"answer": ["a", "b\
        -> Truncated {"answer":["a","b"]}
        {"answer": ["a", "b\u00e
        -> Truncated {"answer":["a","b"]}
        {"answer": [{"a": tru
        -> Truncated {"answer":[{}]}
        {"answer": 1,
        -> Truncated {"answer":1}
        {
        -> none: no JSON object in it has one of the keys `answer`, `calls`
    "#]]);
}

#[test]
fn error_names_the_missing_keys() {
    check(expect![[r#"
        I could not find anything.
        -> none: there is no JSON object in it
        {"path": "x"}
        -> none: no JSON object in it has one of the keys `answer`, `calls`
        {"answer": oops}
        -> none: the JSON is not valid: expected value at line 1 column 11
        {"answer": [1}
        -> none: the JSON is not valid: expected `,` or `]` at line 1 column 13
        {"answer": "\u12zz"}
        -> none: the JSON is not valid: invalid escape at line 1 column 17
    "#]]);
    let error = find_object("", &["a"]).unwrap_err().to_string();
    assert_eq!(error, "there is no JSON object in it");
}

#[test]
fn hostile_text_is_scanned_in_linear_time() {
    // With one pass per brace these would take minutes.
    for piece in ["{", "{\"", "{\"a\":", "{\"a\":{\"b\":[", "{\"a\":1]", "}{\"", "{ "] {
        let text = piece.repeat(200_000 / piece.len());
        assert!(find_object(&text, &["answer"]).is_err(), "{piece}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(512) })]

    #[test]
    fn arbitrary_text_does_not_panic(text in r#"[{}\[\]",:\\u a1é\n]{0,60}"#) {
        let result = find_object(&text, &["a"]);
        if let Ok(ExtractedObject { object, .. }) = result {
            prop_assert!(object.contains_key("a"));
        }
    }

    #[test]
    fn valid_object_round_trips_and_truncated_one_is_a_subset(
        value in "[a-z\"\\\\\n{}é,]{0,12}",
        before in "[a-z {]{0,12}",
        cut in 1_usize..30,
    ) {
        let full_object = serde_json::json!({ "answer": { "text": value, "list": [1, "x"] } });
        let json = full_object.to_string();
        let extracted = find_object(&format!("{before}\n{json}"), &["answer"]).unwrap();
        prop_assert_eq!(Value::Object(extracted.object), full_object);
        let end = (0..=json.len().saturating_sub(cut)).rev().find(|end| json.is_char_boundary(*end)).unwrap_or(0);
        if let Ok(found) = find_object(&json[..end], &["answer"]) {
            prop_assert_eq!(found.completeness, Completeness::Truncated);
            let text = found.object["answer"]["text"].as_str().unwrap_or_default();
            prop_assert!(value.starts_with(text), "{} of {}", text, value);
        }
    }
}
