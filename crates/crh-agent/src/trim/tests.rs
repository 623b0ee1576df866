use expect_test::{Expect, expect};
use serde_json::json;

use super::*;
use crh_llm::{CacheMark, ModelRequest, ToolResult, Turn, estimated_tokens};

/// A task and turns with thoughts, text and two results each.
fn conversation(turns: usize) -> Conversation {
    let mut conversation = Conversation::new("rules ".repeat(100));
    conversation.push_user("task ".repeat(100), CacheMark::Breakpoint);
    // Results within the task belong to it.
    let result = |length: usize| ToolResult {
        call_id: "c".to_owned(),
        name: "read".to_owned(),
        text: "r".repeat(length),
    };
    conversation.messages.push(Message::Results(vec![result(1_000)]));
    for _ in 0..turns {
        let thinking =
            Thinking::Readable { text: Some("t".repeat(400)), signature: Some("s".repeat(100)) };
        let parts = vec![
            TurnPart::Thinking(thinking),
            TurnPart::Thinking(Thinking::Sealed(json!("sealed"))),
            TurnPart::Text("text".to_owned()),
        ];
        conversation.messages.push(Message::Assistant(Turn { parts }));
        conversation.messages.push(Message::Results(vec![result(1_000), result(20)]));
    }
    conversation.push_user("Go on.", CacheMark::Unmarked);
    conversation
}

fn check(turns: usize, needed: u64, expected: Expect) {
    let mut conversation = conversation(turns);
    let before = conversation.clone();
    let trimmed = trim(&mut conversation, 2, needed);
    assert_eq!(conversation.system, before.system);
    let tokens = |conversation: Conversation| estimated_tokens(&ModelRequest::new(conversation, 1));
    let less = tokens(before) - tokens(conversation.clone());
    // The overhead of a thought does not count as freed.
    assert!(
        (trimmed.freed_tokens..trimmed.freed_tokens + 100).contains(&less),
        "{} of {less}",
        trimmed.freed_tokens
    );
    let mut report = format!(
        "taken out {:?}\n",
        trimmed
            .positions
            .iter()
            .map(|position| (position.message, position.result))
            .collect::<Vec<_>>()
    );
    for message in &conversation.messages {
        report += &match message {
            Message::User(text) => format!("user {}\n", text.text.len()),
            Message::Results(results) => results
                .iter()
                .map(|result| {
                    format!(
                        "result {}\n",
                        result
                            .text
                            .chars()
                            .take(90)
                            .collect::<String>()
                            .replace(&"r".repeat(80), "…")
                    )
                })
                .collect(),
            Message::Assistant(turn) => format!("turn of {} parts\n", turn.parts.len()),
        };
    }
    expected.assert_eq(&report);
}

#[test]
fn oldest_results_are_trimmed_first() {
    check(
        3,
        100,
        expect![[r#"
        taken out [(3, 0)]
        user 500
        result …rrrrrrrrrr
        turn of 3 parts
        result [1000 characters from `read` were taken out to make room. Call it again if you need them.]
        result rrrrrrrrrrrrrrrrrrrr
        turn of 3 parts
        result …rrrrrrrrrr
        result rrrrrrrrrrrrrrrrrrrr
        turn of 3 parts
        result …rrrrrrrrrr
        result rrrrrrrrrrrrrrrrrrrr
        user 6
    "#]],
    );
}

#[test]
fn task_and_last_turn_are_never_trimmed() {
    check(
        3,
        1_000,
        expect![[r#"
        taken out [(3, 0), (5, 0)]
        user 500
        result …rrrrrrrrrr
        turn of 2 parts
        result [1000 characters from `read` were taken out to make room. Call it again if you need them.]
        result rrrrrrrrrrrrrrrrrrrr
        turn of 3 parts
        result [1000 characters from `read` were taken out to make room. Call it again if you need them.]
        result rrrrrrrrrrrrrrrrrrrr
        turn of 3 parts
        result …rrrrrrrrrr
        result rrrrrrrrrrrrrrrrrrrr
        user 6
    "#]],
    );
    check(
        3,
        u64::MAX,
        expect![[r#"
        taken out [(3, 0), (5, 0)]
        user 500
        result …rrrrrrrrrr
        turn of 2 parts
        result [1000 characters from `read` were taken out to make room. Call it again if you need them.]
        result rrrrrrrrrrrrrrrrrrrr
        turn of 2 parts
        result [1000 characters from `read` were taken out to make room. Call it again if you need them.]
        result rrrrrrrrrrrrrrrrrrrr
        turn of 3 parts
        result …rrrrrrrrrr
        result rrrrrrrrrrrrrrrrrrrr
        user 6
    "#]],
    );
    check(
        1,
        u64::MAX,
        expect![[r#"
        taken out []
        user 500
        result …rrrrrrrrrr
        turn of 3 parts
        result …rrrrrrrrrr
        result rrrrrrrrrrrrrrrrrrrr
        user 6
    "#]],
    );
}

#[test]
fn trimming_twice_changes_nothing() {
    let mut conversation = conversation(3);
    trim(&mut conversation, 2, u64::MAX);
    let once = conversation.clone();
    assert_eq!(trim(&mut conversation, 2, u64::MAX), TrimResult::default());
    assert_eq!(conversation, once);
}

#[test]
fn vendor_count_corrects_estimates() {
    let mut gauge = TokenEstimator::default();
    assert_eq!((gauge.tokens(100), gauge.estimate(60)), (60, 100));
    gauge.record_count(1_000, 400);
    assert_eq!((gauge.tokens(1_000), gauge.tokens(1_200)), (400, 500));
    assert_eq!(gauge.estimate(400), 1_000);
    assert_eq!(
        (gauge.upper_bound(900), gauge.upper_bound(1_000), gauge.upper_bound(1_200)),
        (900, 400, 600)
    );
    gauge.invalidate_prefix();
    assert_eq!((gauge.tokens(500), gauge.tokens(1_500)), (200, 600));
    assert_eq!(
        (gauge.upper_bound(500), gauge.upper_bound(1_500)),
        (500, 1_500),
        "what is safe, not likely"
    );
    gauge.record_count(500, 0);
    assert_eq!(gauge.tokens(500), 200, "a count of nothing is none");
}

#[test]
fn results_of_a_turn_share_the_room() {
    let result = |text: String| ToolResult { call_id: "c".into(), name: "read".into(), text };
    let mut results =
        [result("a\n".repeat(50)), result("b\n".repeat(5_000)), result("c\n".repeat(400))];
    cut_results(&mut results, 2_000);
    let lengths = results.each_ref().map(|result| result.text.len());
    assert_eq!(lengths[0], 100, "short results stay");
    assert_eq!(lengths[2], 800, "the longest result is cut first");
    let cut_text = &results[1].text;
    assert!(cut_text.starts_with("b\nb\n") && cut_text.len() < 1_300, "{}", cut_text.len());
    assert!(cut_text.ends_with(
        "[cut: the whole result has 10000 characters. Ask for fewer or smaller pieces in one turn.]\n"
    ));
    let before = results.clone();
    cut_results(&mut results, 10_000);
    assert_eq!(results, before);
}

#[test]
fn estimate_exceeds_actual_tokens() {
    assert_eq!([text_tokens(""), text_tokens("abc"), text_tokens("héé")], [0, 2, 5]);
}
