use expect_test::{Expect, expect};
use serde_json::json;

use super::*;
use crh_llm::{Cache, Request, ToolResult, Turn, estimated_tokens};

/// A conversation of a task and turns that think, say, and get two results each.
fn conversation(turns: usize) -> Conversation {
    let mut conversation = Conversation::new("rules ".repeat(100));
    conversation.say("task ".repeat(100), Cache::Breakpoint);
    // Results that stand in the task belong to it.
    let result = |length: usize| ToolResult {
        call_id: "c".to_owned(),
        name: "read".to_owned(),
        text: "r".repeat(length),
    };
    conversation.messages.push(Message::Results(vec![result(1_000)]));
    for _ in 0..turns {
        let said = Thinking::Said { text: Some("t".repeat(400)), signature: Some("s".repeat(100)) };
        let parts = vec![
            Part::Thinking(said),
            Part::Thinking(Thinking::Sealed(json!("sealed"))),
            Part::Text("text".to_owned()),
        ];
        conversation.messages.push(Message::Assistant(Turn { parts }));
        conversation.messages.push(Message::Results(vec![result(1_000), result(20)]));
    }
    conversation.say("Go on.", Cache::Unmarked);
    conversation
}

fn check(turns: usize, needed: u64, expected: Expect) {
    let mut conversation = conversation(turns);
    let before = conversation.clone();
    let trimmed = trim(&mut conversation, 2, needed);
    assert_eq!(conversation.system, before.system);
    let tokens = |conversation: Conversation| estimated_tokens(&Request::new(conversation, 1));
    let less = tokens(before) - tokens(conversation.clone());
    // What is counted around a thought is not reckoned as freed.
    assert!((trimmed.freed..trimmed.freed + 100).contains(&less), "{} of {less}", trimmed.freed);
    let mut shown = format!(
        "taken out {:?}\n",
        trimmed.places.iter().map(|place| (place.message, place.result)).collect::<Vec<_>>()
    );
    for message in &conversation.messages {
        shown += &match message {
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
    expected.assert_eq(&shown);
}

#[test]
fn the_oldest_results_go_first_and_only_as_many_as_needed() {
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
fn then_thoughts_go_but_neither_the_task_nor_the_last_turn() {
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
fn what_is_trimmed_stays_so() {
    let mut conversation = conversation(3);
    trim(&mut conversation, 2, u64::MAX);
    let once = conversation.clone();
    assert_eq!(trim(&mut conversation, 2, u64::MAX), Trimmed::default());
    assert_eq!(conversation, once);
}

#[test]
fn a_count_of_the_vendor_corrects_our_estimates() {
    let mut gauge = Gauge::default();
    assert_eq!((gauge.tokens(100), gauge.estimate(100)), (100, 100));
    gauge.counted(1_000, 400);
    assert_eq!((gauge.tokens(1_000), gauge.tokens(1_200)), (400, 600));
    assert_eq!(gauge.estimate(400), 1_000);
    assert_eq!((gauge.at_most(900), gauge.at_most(1_000), gauge.at_most(1_200)), (900, 400, 600));
    gauge.changed();
    assert_eq!((gauge.tokens(500), gauge.tokens(1_500)), (200, 600));
    assert_eq!(
        (gauge.at_most(500), gauge.at_most(1_500)),
        (500, 1_500),
        "what is safe, not likely"
    );
    gauge.counted(500, 0);
    assert_eq!(gauge.tokens(500), 200, "a count of nothing is none");
}

#[test]
fn text_is_taken_for_more_tokens_than_it_has() {
    assert_eq!([text_tokens(""), text_tokens("abc"), text_tokens("héé")], [0, 2, 5]);
}
