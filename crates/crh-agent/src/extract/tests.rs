use std::fmt::Write as _;

use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::*;

/// One text a line or, where it has several lines, a block; what was found in each.
fn check(texts: &[&str], expected: Expect) {
    let mut shown = String::new();
    for text in texts {
        let found = match object(text, &["answer", "calls"]) {
            Ok(Extracted { object, ending }) => {
                format!("{ending:?} {}", serde_json::to_string(&object).unwrap())
            }
            Err(error) => format!("none: {error}"),
        };
        writeln!(shown, "{}\n    {found}", text.replace('\n', "⏎")).unwrap();
    }
    expected.assert_eq(&shown);
}

#[test]
fn an_object_is_found_in_a_fence_and_in_prose() {
    check(
        &[
            r#"{"answer": 1}"#,
            "```json\n{\"answer\": {\"a\": [1, 2]}}\n```",
            "Sure! With {braces} and { \"quotes\" } and it's done:\n{\"answer\": \"a } b\"} Hope that helps {",
            r#"{"response": {"answer": 3}}"#,
        ],
        expect![[r#"
            {"answer": 1}
                Whole {"answer":1}
            ```json⏎{"answer": {"a": [1, 2]}}⏎```
                Whole {"answer":{"a":[1,2]}}
            Sure! With {braces} and { "quotes" } and it's done:⏎{"answer": "a } b"} Hope that helps {
                Whole {"answer":"a } b"}
            {"response": {"answer": 3}}
                Whole {"answer":3}
        "#]],
    );
}

#[test]
fn of_several_objects_the_last_complete_one_of_ours_counts() {
    check(
        &[
            r#"{"answer": 1} no, better: {"answer": 2} as in {"path": "x"}"#,
            r#"{"answer": 1} no, better: {"answer": 2"#,
            r#"{"answer": "draft {\"answer\": 9}"}"#,
        ],
        expect![[r#"
            {"answer": 1} no, better: {"answer": 2} as in {"path": "x"}
                Whole {"answer":2}
            {"answer": 1} no, better: {"answer": 2
                Whole {"answer":1}
            {"answer": "draft {\"answer\": 9}"}
                Whole {"answer":"draft {\"answer\": 9}"}
        "#]],
    );
}

#[test]
fn small_mistakes_are_mended() {
    check(
        &[
            r#"{"answer": [1, 2, ], }"#,
            "{\"answer\": \"two\nlines\tand \\'quotes\\' and \\d\"}",
            r#"{"answer": "a, ] b"}"#,
        ],
        expect![[r#"
            {"answer": [1, 2, ], }
                Whole {"answer":[1,2]}
            {"answer": "two⏎lines	and \'quotes\' and \d"}
                Whole {"answer":"two\nlines\tand \\'quotes\\' and \\d"}
            {"answer": "a, ] b"}
                Whole {"answer":"a, ] b"}
        "#]],
    );
}

#[test]
fn what_broke_off_is_closed_without_its_half_said_part() {
    check(
        &[
            r#"{"answer": {"text": "so far so go"#,
            r#"{"answer": {"text": "x", "line"#,
            r#"{"answer": {"text": "x", "line":"#,
            r#"{"answer": {"text": "x", "line": 12"#,
            r#"{"answer": ["a", "b\"#,
            r#"{"answer": ["a", "b\u00e"#,
            r#"{"answer": [{"a": tru"#,
            r#"{"answer": 1,"#,
            r#"{"#,
        ],
        expect![[r#"
            {"answer": {"text": "so far so go
                Cut {"answer":{"text":"so far so go"}}
            {"answer": {"text": "x", "line
                Cut {"answer":{"text":"x"}}
            {"answer": {"text": "x", "line":
                Cut {"answer":{"text":"x"}}
            {"answer": {"text": "x", "line": 12
                Cut {"answer":{"text":"x"}}
            {"answer": ["a", "b\
                Cut {"answer":["a","b"]}
            {"answer": ["a", "b\u00e
                Cut {"answer":["a","b"]}
            {"answer": [{"a": tru
                Cut {"answer":[{}]}
            {"answer": 1,
                Cut {"answer":1}
            {
                none: no JSON object in it has one of the keys `answer`, `calls`
        "#]],
    );
}

#[test]
fn what_is_no_object_of_ours_is_named() {
    check(
        &[
            "",
            "I could not find anything.",
            r#"{"path": "x"}"#,
            r#"{"answer": oops}"#,
            r#"{"answer": [1}"#,
            r#"{"answer": "\u12zz"}"#,
        ],
        expect![[r#"

                none: there is no JSON object in it
            I could not find anything.
                none: there is no JSON object in it
            {"path": "x"}
                none: no JSON object in it has one of the keys `answer`, `calls`
            {"answer": oops}
                none: the JSON is not valid: expected value at line 1 column 11
            {"answer": [1}
                none: the JSON is not valid: expected `,` or `]` at line 1 column 13
            {"answer": "\u12zz"}
                none: the JSON is not valid: invalid escape at line 1 column 17
        "#]],
    );
}

#[test]
fn text_made_to_be_slow_is_read_in_linear_time() {
    // With a pass per brace these would take minutes.
    for piece in ["{", "{\"", "{\"a\":", "{\"a\":{\"b\":[", "{\"a\":1]", "}{\"", "{ "] {
        let text = piece.repeat(200_000 / piece.len());
        assert!(object(&text, &["answer"]).is_err(), "{piece}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(512) })]

    #[test]
    fn no_text_breaks_it(text in r#"[{}\[\]",:\\u a1é\n]{0,60}"#) {
        let found = object(&text, &["a"]);
        if let Ok(Extracted { object, .. }) = found {
            prop_assert!(object.contains_key("a"));
        }
    }

    #[test]
    fn a_good_object_comes_back_as_it_was_and_cut_ones_are_part_of_it(
        value in "[a-z\"\\\\\n{}é,]{0,12}",
        before in "[a-z {]{0,12}",
        cut in 1_usize..30,
    ) {
        let whole = serde_json::json!({ "answer": { "text": value, "list": [1, "x"] } });
        let json = whole.to_string();
        let found = object(&format!("{before}\n{json}"), &["answer"]).unwrap();
        prop_assert_eq!(Value::Object(found.object), whole);
        let end = (0..=json.len().saturating_sub(cut)).rev().find(|end| json.is_char_boundary(*end)).unwrap_or(0);
        if let Ok(found) = object(&json[..end], &["answer"]) {
            prop_assert_eq!(found.ending, Ending::Cut);
            let text = found.object["answer"]["text"].as_str().unwrap_or_default();
            prop_assert!(value.starts_with(text), "{} of {}", text, value);
        }
    }
}
