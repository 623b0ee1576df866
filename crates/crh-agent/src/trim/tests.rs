use expect_test::expect;
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

/// Trims a conversation. Returns the trimmed positions and what is left of each message.
fn trimmed(turns: usize, needed: u64) -> String {
    let mut conversation = conversation(turns);
    let before = conversation.clone();
    let trim_result = trim(&mut conversation, 2, needed);
    assert_eq!(conversation.system, before.system);
    let tokens = |conversation: Conversation| estimated_tokens(&ModelRequest::new(conversation, 1));
    let less = tokens(before) - tokens(conversation.clone());
    // The overhead of a thought does not count as freed.
    let freed = trim_result.freed_tokens;
    assert!((freed..freed + 100).contains(&less), "{freed} of {less}");
    let positions = trim_result.positions.iter().map(|place| (place.message, place.result));
    let stub = model_texts::trimmed_result("read", 1_000);
    let result_text = |result: &ToolResult| match result.text == stub {
        true => "stub".to_owned(),
        false => result.text.len().to_string(),
    };
    let messages = conversation.messages.iter().map(|message| match message {
        Message::User(text) => format!("user {}", text.text.len()),
        Message::Results(results) => {
            results.iter().map(result_text).collect::<Vec<_>>().join(" + ")
        }
        Message::Assistant(turn) => format!("{} parts", turn.parts.len()),
    });
    format!("{:?} {}", positions.collect::<Vec<_>>(), messages.collect::<Vec<_>>().join(", "))
}

#[test]
fn oldest_results_are_trimmed_first() {
    expect!["[(3, 0)] user 500, 1000, 3 parts, stub + 20, 3 parts, 1000 + 20, 3 parts, 1000 + 20, user 6"].assert_eq(&trimmed(3, 100));
}

#[test]
fn task_and_last_turn_are_never_trimmed() {
    expect!["[(3, 0), (5, 0)] user 500, 1000, 2 parts, stub + 20, 3 parts, stub + 20, 3 parts, 1000 + 20, user 6"].assert_eq(&trimmed(3, 1_000));
    expect!["[(3, 0), (5, 0)] user 500, 1000, 2 parts, stub + 20, 2 parts, stub + 20, 3 parts, 1000 + 20, user 6"].assert_eq(&trimmed(3, u64::MAX));
    expect!["[] user 500, 1000, 3 parts, 1000 + 20, user 6"].assert_eq(&trimmed(1, u64::MAX));
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
    let mut estimator = TokenEstimator::default();
    assert_eq!((estimator.tokens(100), estimator.estimate(60)), (60, 100));
    estimator.record_count(1_000, 400);
    assert_eq!((estimator.tokens(1_000), estimator.tokens(1_200)), (400, 500));
    assert_eq!(estimator.estimate(400), 1_000);
    assert_eq!(
        (estimator.upper_bound(900), estimator.upper_bound(1_000), estimator.upper_bound(1_200)),
        (900, 400, 600)
    );
    estimator.invalidate_prefix();
    assert_eq!((estimator.tokens(500), estimator.tokens(1_500)), (200, 600));
    assert_eq!(
        (estimator.upper_bound(500), estimator.upper_bound(1_500)),
        (500, 1_500),
        "what is safe, not likely"
    );
    estimator.record_count(500, 0);
    assert_eq!(estimator.tokens(500), 200, "a count of nothing is none");
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
fn cut_result_that_is_cut_again_keeps_the_whole_length() {
    let result = |text: String| ToolResult { call_id: "c".into(), name: "read".into(), text };
    let mut results = [result("b\n".repeat(5_000))];
    for max_chars in [4_000, 1_000, 0] {
        cut_results(&mut results, max_chars);
        let text = "b\n".repeat(max_chars / 2) + &model_texts::cut_result(10_000);
        assert_eq!(results[0].text, text);
    }
}

#[test]
fn result_that_is_little_too_long_is_not_cut() {
    let mut results =
        [ToolResult { call_id: "c".into(), name: "read".into(), text: "b".repeat(1_199) }];
    cut_results(&mut results, 1_000);
    assert_eq!(results[0].text.len(), 1_199, "a note would be as long");
}

#[test]
fn last_results_are_cut_by_the_missing_tokens() {
    let cut = |needed_tokens: u64, min_chars: usize| {
        let mut conversation = conversation(2);
        if let Some(Message::Results(results)) = conversation.messages.get_mut(5) {
            results[0].text = "r".repeat(10_000);
        }
        let freed_tokens = cut_last_results(&mut conversation, 2, needed_tokens, min_chars);
        let Message::Results(results) = &conversation.messages[5] else { panic!("no results") };
        (freed_tokens, results.iter().map(|result| result.text.len()).collect::<Vec<_>>())
    };
    let (freed_tokens, lengths) = cut(1_000, 0);
    assert!((900..=1_000).contains(&freed_tokens), "{freed_tokens}");
    assert!((8_000..8_100).contains(&lengths[0]) && lengths[1] == 20, "{lengths:?}");
    assert_eq!(cut(u64::MAX, 3_000).1, [2_980 + 91, 20]);
    // Without later results, the results of the task stay.
    let mut task = conversation(0);
    assert_eq!(cut_last_results(&mut task, 2, u64::MAX, 0), 0);
}

#[test]
fn estimate_exceeds_actual_tokens() {
    assert_eq!([text_tokens(""), text_tokens("abc"), text_tokens("héé")], [0, 2, 5]);
}
