//! Tests of token estimates: the counted prefix plus an estimate of the rest.

use std::time::Duration;

use super::script::{Case, case};
use crate::{EstimatedRequest, RunStep, ToolOutcome};
use crh_llm::{
    Abilities, CallArguments, ModelError, ModelReply, StopCause, TokenUsage, ToolCall, Turn,
    TurnPart, estimated_tokens,
};

/// The first question, counted at 200 tokens, and the second.
fn two_questions(case: &Case) -> [EstimatedRequest; 2] {
    let mut run = case.run();
    let RunStep::Ask(first) = run.next(Duration::ZERO) else { panic!("{run:?}") };
    let call = r#"{"answer": null, "calls": [{"name": "read", "arguments": {"path": "a"}}]}"#;
    let turn = Turn { parts: vec![TurnPart::Text(call.to_owned())] };
    let usage = Some(TokenUsage { input: 200, output: 1, ..TokenUsage::default() });
    run.on_reply(ModelReply { turn, stop: StopCause::Done, usage, served: None });
    let RunStep::CallTools(_) = run.next(Duration::ZERO) else { panic!("{run:?}") };
    run.on_tool_results(vec![ToolOutcome::Answered("text".to_owned())]);
    let RunStep::Ask(second) = run.next(Duration::ZERO) else { panic!("{run:?}") };
    [first, second]
}

#[test]
fn only_the_uncounted_part_is_estimated() {
    let case = case()
        .facts(|facts| facts.abilities = Abilities { tools: false, schema: true, effort: false });
    let [first, second] = two_questions(&case);
    let estimates = [&first, &second].map(|ask| estimated_tokens(&ask.request));
    assert_eq!([first.input, second.input], [estimates[0], 200 + estimates[1] - estimates[0]]);
    // The last turn has its own schema, so its prefix is not counted.
    let [_, last_turn] = two_questions(&case.limits(|limits| limits.turns = 2));
    assert_eq!(last_turn.input, estimated_tokens(&last_turn.request));
}

#[test]
fn changed_protocol_discards_the_count() {
    let mut run = case().run();
    run.next(Duration::ZERO);
    let turn = Turn::text("Well.");
    let usage = Some(TokenUsage { input: 10, output: 1, ..TokenUsage::default() });
    run.on_reply(ModelReply { turn, stop: StopCause::Done, usage, served: None });
    run.next(Duration::ZERO);
    run.on_failure(ModelError::BadRequest { message: "unknown field `tools`".to_owned() });
    let RunStep::Ask(ask) = run.next(Duration::ZERO) else { panic!("{run:?}") };
    assert_eq!(ask.input, estimated_tokens(&ask.request));
}

/// Failure, or doubt, of a run whose task has 9,000 words and whose replies have these input counts.
fn end_after(counts: &[u64]) -> Option<String> {
    end_with_task(&"word ".repeat(9_000), counts)
}

fn end_with_task(task: &str, counts: &[u64]) -> Option<String> {
    end_of_case(&case(), task, counts)
}

fn end_of_case(case: &Case, task: &str, counts: &[u64]) -> Option<String> {
    let mut run = case.run_with_task(task);
    for (index, count) in counts.iter().enumerate() {
        let RunStep::Ask(_) = run.next(Duration::ZERO) else { panic!("{run:?}") };
        let arguments = serde_json::json!({ "path": index.to_string() });
        let call = ToolCall {
            id: format!("c{index}"),
            name: "read".to_owned(),
            arguments: CallArguments::Json(arguments),
            signatures: Vec::new(),
        };
        let turn = Turn { parts: vec![TurnPart::Call(call)] };
        let usage = Some(TokenUsage { input: *count, output: 1, ..TokenUsage::default() });
        run.on_reply(ModelReply { turn, stop: StopCause::Calls, usage, served: None });
        if let RunStep::CallTools(_) = run.next(Duration::ZERO) {
            run.on_tool_results(vec![ToolOutcome::Answered("text".to_owned())]);
        }
    }
    match run.next(Duration::ZERO) {
        RunStep::Stop(end) => end.outcome.failure(),
        RunStep::Ask(_) | RunStep::CallTools(_) => {
            run.doubtful_count().map(|count| format!("warning: {count}"))
        }
    }
}

#[test]
fn run_fails_if_the_server_reads_a_part_of_the_prompt() {
    let failure = end_after(&[4_060]).unwrap();
    assert!(failure.contains("read only 4060 of at least 902"), "{failure}");
    assert!(failure.contains("OLLAMA_CONTEXT_LENGTH"), "{failure}");
    // `o200k_base` makes 10,200 tokens of this code, and the server read a third.
    let code = "if (a[i] != b->c.d) { return -1; }\n".repeat(600);
    let failure = end_with_task(&code, &[3_400]).unwrap();
    assert!(failure.contains("read only 3400 of at least 96"), "{failure}");
    // The shorter the part, the clearer the cut.
    for count in [1, 12, 512, 1_000, 5_900] {
        let failure = end_after(&[count]).unwrap();
        assert!(failure.contains(&format!("read only {count} of at least 902")), "{failure}");
    }
}

#[test]
fn doubtful_counts_are_noted() {
    for count in [6_100, 8_400] {
        let doubt = end_after(&[count]).unwrap();
        let start = format!("warning: the server counted {count} prompt tokens, and crh sent at");
        assert!(doubt.starts_with(&start), "{doubt}");
    }
}

#[test]
fn tools_count_as_a_part_of_the_prompt() {
    // 5,000 words of the task, 3,000 of a tool, and 20 more.
    let mut case = case();
    case.tools[0].description = "word ".repeat(3_000);
    let check = |count: u64, expected: Option<&str>| {
        let end = end_of_case(&case, &"word ".repeat(5_000), &[count]);
        let start = end.as_deref().map(|end| end.split(' ').take(4).collect::<Vec<_>>().join(" "));
        assert_eq!(start.as_deref(), expected, "{count}");
    };
    check(4_060, Some("the server read only"));
    // The server may have left out the tools, or cut the prompt.
    check(4_400, Some("warning: the server counted"));
    check(7_400, Some("warning: the server counted"));
    check(7_600, None);
}

#[test]
fn same_count_of_a_longer_request_shows_a_cut() {
    let doubt = end_after(&[9_500, 9_500]).unwrap();
    let start = "warning: the server counted 9500 prompt tokens, as for the shorter request before";
    assert!(doubt.starts_with(start), "{doubt}");
    assert_eq!(end_after(&[9_500, 9_501, 9_510]), None);
    // Without the cached tokens, two requests may have the same count.
    assert_eq!(end_after(&[9_500, 40, 40]), None);
}

#[test]
fn context_length_as_a_count_shows_a_cut() {
    let check = |words: usize, count: u64, is_doubtful: bool| {
        let end = end_with_task(&"word ".repeat(words), &[count]);
        let expected =
            format!("warning: the server counted {count} prompt tokens, which is a usual");
        assert_eq!(
            end.is_some_and(|end| end.starts_with(&expected)),
            is_doubtful,
            "{words} {count}"
        );
    };
    check(8_000, 8_192, true);
    check(8_000, 8_193, false);
    check(6_000, 8_192, false);
    check(1_000, 1_024, false);
}

#[test]
fn honest_counts_never_fail_a_run() {
    for count in [8_600, 9_100, 20_000] {
        assert_eq!(end_after(&[count, count + 10]), None, "{count}");
    }
    // The server does not count cached tokens.
    assert_eq!(end_after(&[9_100, 1_500, 40]), None);
    assert_eq!(end_after(&[0]), None);
}
