use std::fs;

use expect_test::{Expect, expect};
use secrecy::SecretString;
use serde_json::Value;

use super::*;
use crate::{Basis, Purpose};
use crh_llm::{Arguments, Cache, Money, Stop, Turn, Usage};

const MODEL: &str = "openai:gpt-4.1-mini";
const WORST: Cost = Cost {
    usage: Usage { input: 40, cache_read: 0, cache_written: 0, output: 100 },
    money: Money::cents(3),
    basis: Basis::Worst,
};
const LEFT: Budget = Budget {
    llm_calls: 9,
    tool_calls: 8,
    input_tokens: 700,
    wall: Duration::from_secs(6),
    money: Money::cents(5),
};

fn settled(attempt: Attempt, milliseconds: u64, cost: Option<Cost>) -> Settlement {
    Settlement { attempt, took: Duration::from_millis(milliseconds), cost, left: LEFT }
}

fn attempt(turn: u32, number: u32) -> Attempt {
    Attempt { turn, number }
}

/// A run of three questions: the second is tried twice, before the third the first result is trimmed.
fn run(transcript: &Transcript) {
    let mut pen = Pen::new(transcript, "alice", Instant::now());
    let mut conversation = Conversation::new("the rules");
    conversation.say("the task", Cache::Breakpoint);
    let ask = |conversation: &Conversation, purpose| {
        Ask::new(Request::new(conversation.clone(), 100), purpose)
    };
    let limits = Limits {
        turns: 9,
        tool_calls: 8,
        tokens: 7_000,
        money: Money::cents(6),
        wall: Duration::from_secs(5),
    };
    pen.started(MODEL, &limits, &conversation);

    let first = ask(&conversation, Purpose::Work);
    pen.asked(attempt(1, 1), &first, MODEL, Some(WORST));
    let usage = Usage { input: 30, cache_read: 10, cache_written: 0, output: 4 };
    let cost = Cost { usage, money: Money::cents(2), basis: Basis::Counted };
    let served = Some("gpt-4.1-mini-2025-04-14".to_owned());
    let reply = Reply { turn: Turn::text("hm"), stop: Stop::Calls, usage: Some(usage), served };
    pen.replied(&settled(attempt(1, 1), 120, Some(cost)), &reply);
    pen.keep(first.request);

    let call = ToolCall {
        id: "c1".to_owned(),
        name: "read".to_owned(),
        arguments: Arguments::Json(json!({ "path": "key-of-the-house" })),
        signatures: Vec::new(),
    };
    pen.tool_call(&call);
    pen.tool_result(&call, Duration::from_millis(3), &ToolOutcome::Answered("long".to_owned()));

    conversation.messages.push(Message::Assistant(reply.turn));
    conversation.say("long", Cache::Unmarked);
    let second = ask(&conversation, Purpose::Work);
    pen.asked(attempt(2, 1), &second, MODEL, Some(WORST));
    let wait = Some(Duration::from_secs(2));
    pen.failed(&settled(attempt(2, 1), 0, None), "key-of-the-house is no key", wait);
    pen.asked(attempt(2, 2), &second, MODEL, Some(WORST));
    pen.failed(&settled(attempt(2, 2), 0, Some(cost)), "overloaded", None);
    pen.keep(second.request);

    conversation.messages.pop();
    conversation.say("short", Cache::Unmarked);
    conversation.say("answer", Cache::Unmarked);
    pen.asked(attempt(3, 1), &ask(&conversation, Purpose::Grace), MODEL, Some(WORST));
    pen.refused(attempt(3, 1), Limit::Money);
    let ended: Ended<()> =
        Ended { outcome: Outcome::OutOfBudget(Limit::Money), limited: Some(Limit::Money) };
    let mut totals = Totals::default();
    totals.add(cost);
    pen.ended(&ended, &totals);
}

#[track_caller]
fn check(contents: Contents, expected: Expect) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("alice.jsonl");
    let redactor = Redactor::new([&SecretString::from("key-of-the-house")]);
    let transcript = Transcript::to(&path, redactor, contents).unwrap();
    run(&transcript);
    assert_eq!(transcript.error(), None);
    let text = fs::read_to_string(&path).unwrap();
    let shown = text.lines().map(|line| {
        let mut line: Value = serde_json::from_str(line).unwrap();
        let fields = line.as_object_mut().unwrap();
        assert_eq!(fields.remove("caller"), Some(json!("alice")));
        assert!(fields.remove("at_ms").unwrap().is_u64());
        let event = fields.remove("event").unwrap();
        let hash = fields.remove("prompt_sha256").map_or("", |_| " prompt_sha256");
        format!("{}{hash} {line}\n", event.as_str().unwrap())
    });
    expected.assert_eq(&shown.collect::<String>());
}

#[test]
fn everything_is_written_once_without_secrets() {
    check(
        Contents::Full,
        expect![[r#"
            started prompt_sha256 {"model":"openai:gpt-4.1-mini","limits":{"turns":9,"tool_calls":8,"tokens":7000,"usd":0.06,"wall_ms":5000}}
            asked {"turn":1,"attempt":1,"purpose":"work","model":"openai:gpt-4.1-mini","worst":{"usage":{"input":40,"cache_read":0,"cache_written":0,"output":100},"usd":0.03,"basis":"worst"},"messages":1,"added":{"messages":[{"user":{"text":"the task","cache":"breakpoint"}}],"system":"the rules","tools":[]},"tool_choice":"auto","max_output_tokens":100,"output":"text"}
            replied {"turn":1,"attempt":1,"ms":120,"cost":{"usage":{"input":30,"cache_read":10,"cache_written":0,"output":4},"usd":0.02,"basis":"counted"},"left":{"llm_calls":9,"tool_calls":8,"input_tokens":700,"usd":0.05,"wall_ms":6000},"stop":"calls","served":"gpt-4.1-mini-2025-04-14","content":{"parts":[{"text":"hm"}]}}
            tool_call {"id":"c1","name":"read","content":{"json":{"path":"[redacted]"}}}
            tool_result {"id":"c1","name":"read","ms":3,"content":{"answered":"long"}}
            asked {"turn":2,"attempt":1,"purpose":"work","model":"openai:gpt-4.1-mini","worst":{"usage":{"input":40,"cache_read":0,"cache_written":0,"output":100},"usd":0.03,"basis":"worst"},"messages":3,"added":{"messages":[{"assistant":{"parts":[{"text":"hm"}]}},{"user":{"text":"long","cache":"unmarked"}}]},"tool_choice":"auto","max_output_tokens":100,"output":"text"}
            failed {"turn":2,"attempt":1,"ms":0,"cost":null,"left":{"llm_calls":9,"tool_calls":8,"input_tokens":700,"usd":0.05,"wall_ms":6000},"error":"[redacted] is no key","retry_after_ms":2000}
            asked {"turn":2,"attempt":2,"purpose":"work","model":"openai:gpt-4.1-mini","worst":{"usage":{"input":40,"cache_read":0,"cache_written":0,"output":100},"usd":0.03,"basis":"worst"},"messages":3}
            failed {"turn":2,"attempt":2,"ms":0,"cost":{"usage":{"input":30,"cache_read":10,"cache_written":0,"output":4},"usd":0.02,"basis":"counted"},"left":{"llm_calls":9,"tool_calls":8,"input_tokens":700,"usd":0.05,"wall_ms":6000},"error":"overloaded","retry_after_ms":null}
            trimmed {"messages":[2],"content":[{"user":{"text":"short","cache":"unmarked"}}]}
            asked {"turn":3,"attempt":1,"purpose":"grace","model":"openai:gpt-4.1-mini","worst":{"usage":{"input":40,"cache_read":0,"cache_written":0,"output":100},"usd":0.03,"basis":"worst"},"messages":4,"added":{"messages":[{"user":{"text":"answer","cache":"unmarked"}}]},"tool_choice":"auto","max_output_tokens":100,"output":"text"}
            refused {"turn":3,"attempt":1,"limit":"money"}
            ended {"outcome":"out_of_budget","detail":null,"limited":"money","llm_calls":1,"guessed_calls":0,"tool_calls":0,"usage":{"input":30,"cache_read":10,"cache_written":0,"output":4},"usd":0.02}
        "#]],
    );
}

#[test]
fn contents_that_are_withheld_leave_their_lengths() {
    check(
        Contents::Withheld,
        expect![[r#"
            started prompt_sha256 {"model":"openai:gpt-4.1-mini","limits":{"turns":9,"tool_calls":8,"tokens":7000,"usd":0.06,"wall_ms":5000}}
            asked {"turn":1,"attempt":1,"purpose":"work","model":"openai:gpt-4.1-mini","worst":{"usage":{"input":40,"cache_read":0,"cache_written":0,"output":100},"usd":0.03,"basis":"worst"},"messages":1,"added":{"messages":[{"user":{"text":"<8 bytes>","cache":"<10 bytes>"}}],"system":"<9 bytes>","tools":[]},"tool_choice":"auto","max_output_tokens":100,"output":"text"}
            replied {"turn":1,"attempt":1,"ms":120,"cost":{"usage":{"input":30,"cache_read":10,"cache_written":0,"output":4},"usd":0.02,"basis":"counted"},"left":{"llm_calls":9,"tool_calls":8,"input_tokens":700,"usd":0.05,"wall_ms":6000},"stop":"calls","served":"gpt-4.1-mini-2025-04-14","content":{"parts":[{"text":"<2 bytes>"}]}}
            tool_call {"id":"c1","name":"read","content":{"json":{"path":"<16 bytes>"}}}
            tool_result {"id":"c1","name":"read","ms":3,"content":{"answered":"<4 bytes>"}}
            asked {"turn":2,"attempt":1,"purpose":"work","model":"openai:gpt-4.1-mini","worst":{"usage":{"input":40,"cache_read":0,"cache_written":0,"output":100},"usd":0.03,"basis":"worst"},"messages":3,"added":{"messages":[{"assistant":{"parts":[{"text":"<2 bytes>"}]}},{"user":{"text":"<4 bytes>","cache":"<8 bytes>"}}]},"tool_choice":"auto","max_output_tokens":100,"output":"text"}
            failed {"turn":2,"attempt":1,"ms":0,"cost":null,"left":{"llm_calls":9,"tool_calls":8,"input_tokens":700,"usd":0.05,"wall_ms":6000},"error":"[redacted] is no key","retry_after_ms":2000}
            asked {"turn":2,"attempt":2,"purpose":"work","model":"openai:gpt-4.1-mini","worst":{"usage":{"input":40,"cache_read":0,"cache_written":0,"output":100},"usd":0.03,"basis":"worst"},"messages":3}
            failed {"turn":2,"attempt":2,"ms":0,"cost":{"usage":{"input":30,"cache_read":10,"cache_written":0,"output":4},"usd":0.02,"basis":"counted"},"left":{"llm_calls":9,"tool_calls":8,"input_tokens":700,"usd":0.05,"wall_ms":6000},"error":"overloaded","retry_after_ms":null}
            trimmed {"messages":[2],"content":[{"user":{"text":"<5 bytes>","cache":"<8 bytes>"}}]}
            asked {"turn":3,"attempt":1,"purpose":"grace","model":"openai:gpt-4.1-mini","worst":{"usage":{"input":40,"cache_read":0,"cache_written":0,"output":100},"usd":0.03,"basis":"worst"},"messages":4,"added":{"messages":[{"user":{"text":"<6 bytes>","cache":"<8 bytes>"}}]},"tool_choice":"auto","max_output_tokens":100,"output":"text"}
            refused {"turn":3,"attempt":1,"limit":"money"}
            ended {"outcome":"out_of_budget","detail":null,"limited":"money","llm_calls":1,"guessed_calls":0,"tool_calls":0,"usage":{"input":30,"cache_read":10,"cache_written":0,"output":4},"usd":0.02}
        "#]],
    );
}

#[test]
fn the_hash_of_the_prompt_tells_prompts_apart() {
    let hashes = ["a", "a", "b"].map(|rules| hash(&Conversation::new(rules)));
    assert_eq!(hashes[0], hashes[1]);
    assert_ne!(hashes[0], hashes[2]);
    assert_eq!(hashes[0].len(), 64);
}

/// The events of what is written, each on a line.
fn events(contents: Contents, write: impl FnOnce(&Transcript)) -> Vec<Value> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("alice.jsonl");
    write(&Transcript::to(&path, Redactor::default(), contents).unwrap());
    let text = fs::read_to_string(&path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn what_was_never_asked_is_written_with_the_next_question_and_rules_that_change_are_written_again()
{
    let events = events(Contents::Full, |transcript| {
        let mut pen = Pen::new(transcript, "alice", Instant::now());
        let mut conversation = Conversation::new("the rules");
        conversation.say("the task", Cache::Unmarked);
        let ask = |conversation: &Conversation| {
            Ask::new(Request::new(conversation.clone(), 100), Purpose::Work)
        };
        pen.asked(attempt(1, 1), &ask(&conversation), MODEL, None);
        pen.keep(ask(&conversation).request);
        conversation.say("go on", Cache::Unmarked);
        pen.refused(attempt(2, 1), Limit::Money);
        pen.keep(ask(&conversation).request);
        conversation.say("the last turn", Cache::Unmarked);
        conversation.system += " in words";
        pen.asked(attempt(3, 1), &ask(&conversation), MODEL, None);
    });
    let said = |text: &str| json!({ "user": { "text": text, "cache": "unmarked" } });
    let added = json!({ "messages": [said("go on"), said("the last turn")], "system": "the rules in words" });
    assert_eq!(events[2]["added"], added);
}

#[test]
fn what_is_wrong_with_an_answer_is_withheld_too() {
    let detail = |contents| {
        let events = events(contents, |transcript| {
            let outcome: Outcome<()> = Outcome::BadAnswer("`let x` is no title".to_owned());
            let ended = Ended { outcome, limited: None };
            Pen::new(transcript, "alice", Instant::now()).ended(&ended, &Totals::default());
        });
        events[0]["detail"].clone()
    };
    assert_eq!(detail(Contents::Full), "`let x` is no title");
    assert_eq!(detail(Contents::Withheld), "<19 bytes>");
}

#[test]
fn a_file_is_appended_to_and_half_a_line_is_ended_first() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("alice.jsonl");
    for (before, after) in [("before\n", "before\n{"), ("{\"ev", "{\"ev\n{")] {
        fs::write(&path, before).unwrap();
        run(&Transcript::to(&path, Redactor::default(), Contents::Full).unwrap());
        assert!(fs::read_to_string(&path).unwrap().starts_with(after));
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_disk_that_is_full_is_remembered_and_ends_nothing() {
    let transcript =
        Transcript::to(Path::new("/dev/full"), Redactor::default(), Contents::Full).unwrap();
    run(&transcript);
    assert!(transcript.error().unwrap().contains("No space"));
}

#[test]
fn nothing_is_written_where_nobody_asked_for_it() {
    let transcript = Transcript::none();
    run(&transcript);
    assert_eq!(transcript.error(), None);
}
