use std::fs;

use expect_test::{Expect, expect};
use secrecy::SecretString;
use serde_json::Value;

use super::*;
use crate::{CallPurpose, CostBasis};
use crh_llm::{CacheMark, CallArguments, Money, StopCause, TokenUsage, Turn};

const MODEL: &str = "openai:gpt-4.1-mini";
const WORST: CallCost = CallCost {
    usage: TokenUsage { input: 40, cache_read: 0, cache_written: 0, output: 100 },
    money: Money::cents(3),
    basis: CostBasis::Worst,
};
const LEFT: Budget = Budget {
    llm_calls: 9,
    tool_calls: 8,
    input_tokens: 700,
    wall: Duration::from_secs(6),
    money: Money::cents(5),
};

fn attempt_summary(
    attempt: AskAttempt,
    milliseconds: u64,
    cost: Option<CallCost>,
) -> AttemptSummary {
    AttemptSummary {
        attempt,
        duration: Duration::from_millis(milliseconds),
        cost,
        remaining_budget: LEFT,
    }
}

fn attempt(turn: u32, number: u32) -> AskAttempt {
    AskAttempt { turn, number }
}

/// A run of three questions: the second is retried, and before the third the first result is
/// trimmed.
fn run(transcript: &Transcript) {
    let mut writer = TranscriptWriter::new(transcript, "alice", Instant::now());
    let mut conversation = Conversation::new("the rules");
    conversation.push_user("the task", CacheMark::Breakpoint);
    let ask = |conversation: &Conversation, purpose| {
        EstimatedRequest::new(ModelRequest::new(conversation.clone(), 100), purpose)
    };
    let limits = RunLimits {
        turns: 9,
        tool_calls: 8,
        tokens: 7_000,
        money: Money::cents(6),
        wall: Duration::from_secs(5),
    };
    writer.write_start(MODEL, &limits, &conversation);

    let first = ask(&conversation, CallPurpose::Work);
    writer.write_request(attempt(1, 1), &first, MODEL, Some(WORST));
    let usage = TokenUsage { input: 30, cache_read: 10, cache_written: 0, output: 4 };
    let cost = CallCost { usage, money: Money::cents(2), basis: CostBasis::Counted };
    let served = Some("gpt-4.1-mini-2025-04-14".to_owned());
    let reply =
        ModelReply { turn: Turn::text("hm"), stop: StopCause::Calls, usage: Some(usage), served };
    writer.write_reply(&attempt_summary(attempt(1, 1), 120, Some(cost)), &reply);
    writer.remember_request(first.request);

    let call = ToolCall {
        id: "c1".to_owned(),
        name: "read".to_owned(),
        arguments: CallArguments::Json(json!({ "path": "key-of-the-house" })),
        signatures: Vec::new(),
    };
    writer.write_tool_call(&call);
    writer.write_tool_result(
        &call,
        Duration::from_millis(3),
        &ToolOutcome::Answered("long".to_owned()),
    );

    conversation.messages.push(Message::Assistant(reply.turn));
    conversation.push_user("long", CacheMark::Unmarked);
    let second = ask(&conversation, CallPurpose::Work);
    writer.write_request(attempt(2, 1), &second, MODEL, Some(WORST));
    let wait = Some(Duration::from_secs(2));
    let bad_key = ModelError::BadKey { message: "key-of-the-house is no key".to_owned() };
    let failure = NoReplyCause::Model(&bad_key);
    writer.write_failure(&attempt_summary(attempt(2, 1), 0, None), failure, wait);
    writer.write_request(attempt(2, 2), &second, MODEL, Some(WORST));
    let failure = NoReplyCause::TimedOut;
    writer.write_failure(&attempt_summary(attempt(2, 2), 0, Some(cost)), failure, None);
    writer.remember_request(second.request);

    conversation.messages.pop();
    conversation.push_user("short", CacheMark::Unmarked);
    conversation.push_user("answer", CacheMark::Unmarked);
    writer.write_request(
        attempt(3, 1),
        &ask(&conversation, CallPurpose::LastTurn),
        MODEL,
        Some(WORST),
    );
    writer.write_limit_refusal(attempt(3, 1), LimitKind::Money);
    let run_end: AgentRunEnd<()> = AgentRunEnd {
        outcome: AgentOutcome::OutOfBudget(LimitKind::Money.into()),
        limit_reached: Some(LimitKind::Money),
    };
    let mut totals = UsageTotals::default();
    totals.add(cost);
    writer.write_end(&run_end, &totals);
}

#[track_caller]
fn check(contents: TranscriptDetail, expected: Expect) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("alice.jsonl");
    let redactor = Redactor::new([&SecretString::from("key-of-the-house")]);
    let transcript = Transcript::append_to(&path, redactor, contents).unwrap();
    run(&transcript);
    assert_eq!(transcript.error(), None);
    let text = fs::read_to_string(&path).unwrap();
    let events = text.lines().map(|line| {
        let mut line: Value = serde_json::from_str(line).unwrap();
        let fields = line.as_object_mut().unwrap();
        assert_eq!(fields.remove("caller"), Some(json!("alice")));
        assert!(fields.remove("at_ms").unwrap().is_u64());
        let event = fields.remove("event").unwrap();
        let hash = fields.remove("prompt_sha256").map_or("", |_| " prompt_sha256");
        format!("{}{hash} {line}\n", event.as_str().unwrap())
    });
    expected.assert_eq(&events.collect::<String>());
}

#[test]
fn full_transcript_contains_everything_but_secrets() {
    check(
        TranscriptDetail::Full,
        expect![[r#"
            started prompt_sha256 {"model":"openai:gpt-4.1-mini","limits":{"turns":9,"tool_calls":8,"tokens":7000,"usd":0.06,"wall_ms":5000}}
            asked {"turn":1,"attempt":1,"purpose":"work","model":"openai:gpt-4.1-mini","worst":{"usage":{"input":40,"cache_read":0,"cache_written":0,"output":100},"usd":0.03,"basis":"worst"},"messages":1,"added":{"messages":[{"user":{"text":"the task","cache":"breakpoint"}}],"system":"the rules","tools":[]},"tool_choice":"auto","max_output_tokens":100,"output":"text"}
            replied {"turn":1,"attempt":1,"ms":120,"cost":{"usage":{"input":30,"cache_read":10,"cache_written":0,"output":4},"usd":0.02,"basis":"counted"},"left":{"llm_calls":9,"tool_calls":8,"input_tokens":700,"usd":0.05,"wall_ms":6000},"stop":"calls","served":"gpt-4.1-mini-2025-04-14","content":{"parts":[{"text":"hm"}]}}
            tool_call {"id":"c1","name":"read","content":{"json":{"path":"[redacted]"}}}
            tool_result {"id":"c1","name":"read","ms":3,"content":{"answered":"long"}}
            asked {"turn":2,"attempt":1,"purpose":"work","model":"openai:gpt-4.1-mini","worst":{"usage":{"input":40,"cache_read":0,"cache_written":0,"output":100},"usd":0.03,"basis":"worst"},"messages":3,"added":{"messages":[{"assistant":{"parts":[{"text":"hm"}]}},{"user":{"text":"long","cache":"unmarked"}}]},"tool_choice":"auto","max_output_tokens":100,"output":"text"}
            failed {"turn":2,"attempt":1,"ms":0,"cost":null,"left":{"llm_calls":9,"tool_calls":8,"input_tokens":700,"usd":0.05,"wall_ms":6000},"error":"the API key was rejected: [redacted] is no key","retry_after_ms":2000}
            asked {"turn":2,"attempt":2,"purpose":"work","model":"openai:gpt-4.1-mini","worst":{"usage":{"input":40,"cache_read":0,"cache_written":0,"output":100},"usd":0.03,"basis":"worst"},"messages":3}
            failed {"turn":2,"attempt":2,"ms":0,"cost":{"usage":{"input":30,"cache_read":10,"cache_written":0,"output":4},"usd":0.02,"basis":"counted"},"left":{"llm_calls":9,"tool_calls":8,"input_tokens":700,"usd":0.05,"wall_ms":6000},"error":"timed out","retry_after_ms":null}
            trimmed {"messages":[2],"content":[{"user":{"text":"short","cache":"unmarked"}}]}
            asked {"turn":3,"attempt":1,"purpose":"grace","model":"openai:gpt-4.1-mini","worst":{"usage":{"input":40,"cache_read":0,"cache_written":0,"output":100},"usd":0.03,"basis":"worst"},"messages":4,"added":{"messages":[{"user":{"text":"answer","cache":"unmarked"}}]},"tool_choice":"auto","max_output_tokens":100,"output":"text"}
            refused {"turn":3,"attempt":1,"limit":"money"}
            ended {"outcome":"out_of_budget","detail":null,"limited":"money","llm_calls":1,"guessed_calls":0,"tool_calls":0,"usage":{"input":30,"cache_read":10,"cache_written":0,"output":4},"usd":0.02}
        "#]],
    );
}

#[test]
fn lengths_only_transcript_contains_no_texts() {
    check(
        TranscriptDetail::LengthsOnly,
        expect![[r#"
            started prompt_sha256 {"model":"openai:gpt-4.1-mini","limits":{"turns":9,"tool_calls":8,"tokens":7000,"usd":0.06,"wall_ms":5000}}
            asked {"turn":1,"attempt":1,"purpose":"work","model":"openai:gpt-4.1-mini","worst":{"usage":{"input":40,"cache_read":0,"cache_written":0,"output":100},"usd":0.03,"basis":"worst"},"messages":1,"added":{"messages":[{"user":{"text":"<8 bytes>","cache":"<10 bytes>"}}],"system":"<9 bytes>","tools":[]},"tool_choice":"auto","max_output_tokens":100,"output":"text"}
            replied {"turn":1,"attempt":1,"ms":120,"cost":{"usage":{"input":30,"cache_read":10,"cache_written":0,"output":4},"usd":0.02,"basis":"counted"},"left":{"llm_calls":9,"tool_calls":8,"input_tokens":700,"usd":0.05,"wall_ms":6000},"stop":"calls","served":"gpt-4.1-mini-2025-04-14","content":{"parts":[{"text":"<2 bytes>"}]}}
            tool_call {"id":"c1","name":"read","content":{"json":{"path":"<16 bytes>"}}}
            tool_result {"id":"c1","name":"read","ms":3,"content":{"answered":"<4 bytes>"}}
            asked {"turn":2,"attempt":1,"purpose":"work","model":"openai:gpt-4.1-mini","worst":{"usage":{"input":40,"cache_read":0,"cache_written":0,"output":100},"usd":0.03,"basis":"worst"},"messages":3,"added":{"messages":[{"assistant":{"parts":[{"text":"<2 bytes>"}]}},{"user":{"text":"<4 bytes>","cache":"<8 bytes>"}}]},"tool_choice":"auto","max_output_tokens":100,"output":"text"}
            failed {"turn":2,"attempt":1,"ms":0,"cost":null,"left":{"llm_calls":9,"tool_calls":8,"input_tokens":700,"usd":0.05,"wall_ms":6000},"error":"bad_key: <52 bytes>","retry_after_ms":2000}
            asked {"turn":2,"attempt":2,"purpose":"work","model":"openai:gpt-4.1-mini","worst":{"usage":{"input":40,"cache_read":0,"cache_written":0,"output":100},"usd":0.03,"basis":"worst"},"messages":3}
            failed {"turn":2,"attempt":2,"ms":0,"cost":{"usage":{"input":30,"cache_read":10,"cache_written":0,"output":4},"usd":0.02,"basis":"counted"},"left":{"llm_calls":9,"tool_calls":8,"input_tokens":700,"usd":0.05,"wall_ms":6000},"error":"timed out","retry_after_ms":null}
            trimmed {"messages":[2],"content":[{"user":{"text":"<5 bytes>","cache":"<8 bytes>"}}]}
            asked {"turn":3,"attempt":1,"purpose":"grace","model":"openai:gpt-4.1-mini","worst":{"usage":{"input":40,"cache_read":0,"cache_written":0,"output":100},"usd":0.03,"basis":"worst"},"messages":4,"added":{"messages":[{"user":{"text":"<6 bytes>","cache":"<8 bytes>"}}]},"tool_choice":"auto","max_output_tokens":100,"output":"text"}
            refused {"turn":3,"attempt":1,"limit":"money"}
            ended {"outcome":"out_of_budget","detail":null,"limited":"money","llm_calls":1,"guessed_calls":0,"tool_calls":0,"usage":{"input":30,"cache_read":10,"cache_written":0,"output":4},"usd":0.02}
        "#]],
    );
}

#[test]
fn prompt_hash_differs_between_prompts() {
    let hashes = ["a", "a", "b"].map(|rules| prompt_hash(&Conversation::new(rules)));
    assert_eq!(hashes[0], hashes[1]);
    assert_ne!(hashes[0], hashes[2]);
    assert_eq!(hashes[0].len(), 64);
}

/// The written events.
fn events(contents: TranscriptDetail, write: impl FnOnce(&Transcript)) -> Vec<Value> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("alice.jsonl");
    write(&Transcript::append_to(&path, Redactor::default(), contents).unwrap());
    let text = fs::read_to_string(&path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn changed_system_prompt_is_written_again() {
    let events = events(TranscriptDetail::Full, |transcript| {
        let mut writer = TranscriptWriter::new(transcript, "alice", Instant::now());
        let mut conversation = Conversation::new("the rules");
        conversation.push_user("the task", CacheMark::Unmarked);
        let ask = |conversation: &Conversation| {
            EstimatedRequest::new(ModelRequest::new(conversation.clone(), 100), CallPurpose::Work)
        };
        writer.write_request(attempt(1, 1), &ask(&conversation), MODEL, None);
        writer.remember_request(ask(&conversation).request);
        conversation.push_user("go on", CacheMark::Unmarked);
        writer.write_limit_refusal(attempt(2, 1), LimitKind::Money);
        writer.remember_request(ask(&conversation).request);
        conversation.push_user("the last turn", CacheMark::Unmarked);
        conversation.system += " in words";
        writer.write_request(attempt(3, 1), &ask(&conversation), MODEL, None);
    });
    let user_message = |text: &str| json!({ "user": { "text": text, "cache": "unmarked" } });
    let added = json!({ "messages": [user_message("go on"), user_message("the last turn")], "system": "the rules in words" });
    assert_eq!(events[2]["added"], added);
}

#[test]
fn errors_of_models_and_answers_are_reduced_to_lengths() {
    let detail = |contents, outcome: AgentOutcome<()>| {
        let events = events(contents, |transcript| {
            let run_end = AgentRunEnd { outcome, limit_reached: None };
            TranscriptWriter::new(transcript, "alice", Instant::now())
                .write_end(&run_end, &UsageTotals::default());
        });
        events[0]["detail"].clone()
    };
    let message = || "`let x` is no title".to_owned();
    let answer = || AgentOutcome::BadAnswer(message());
    assert_eq!(detail(TranscriptDetail::Full, answer()), "`let x` is no title");
    assert_eq!(detail(TranscriptDetail::LengthsOnly, answer()), "<19 bytes>");
    let model = || AgentOutcome::Model(ModelError::Refused { message: message() });
    let full = "the model refuses to answer: `let x` is no title";
    assert_eq!(detail(TranscriptDetail::Full, model()), full);
    assert_eq!(detail(TranscriptDetail::LengthsOnly, model()), "refused: <48 bytes>");
}

#[test]
fn append_terminates_an_incomplete_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("alice.jsonl");
    for (before, after) in [("before\n", "before\n{"), ("{\"ev", "{\"ev\n{")] {
        fs::write(&path, before).unwrap();
        run(&Transcript::append_to(&path, Redactor::default(), TranscriptDetail::Full).unwrap());
        assert!(fs::read_to_string(&path).unwrap().starts_with(after));
    }
}

#[cfg(target_os = "linux")]
#[test]
fn full_disk_is_reported_and_does_not_stop_the_run() {
    let transcript =
        Transcript::append_to(Path::new("/dev/full"), Redactor::default(), TranscriptDetail::Full)
            .unwrap();
    run(&transcript);
    assert!(transcript.error().unwrap().contains("No space"));
}

#[test]
fn disabled_transcript_writes_nothing() {
    let transcript = Transcript::disabled();
    run(&transcript);
    assert_eq!(transcript.error(), None);
}
