use std::fs;
use std::path::Path;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use expect_test::expect;
use secrecy::SecretString;
use serde_json::json;
use tempfile::TempDir;

use super::*;
use crate::{
    Abilities, CacheMark, CallArguments, Conversation, Effort, FailureCost, Message, ModelRequest,
    OutputForm, Price, Redactor, StopCause, Thinking, TokenUsage, ToolCall, ToolChoice, ToolResult,
    ToolSpec, Turn, TurnPart, UserText,
};

fn facts() -> ModelFacts {
    ModelFacts {
        context: 1000,
        max_output: 100,
        price: Some(Price::free()),
        abilities: Abilities { tools: true, schema: false, effort: false },
    }
}

fn request(text: &str) -> ModelRequest {
    let mut conversation = Conversation::new("be\nbrief");
    conversation.push_user("the change", CacheMark::Breakpoint);
    conversation.push_user(text, CacheMark::Unmarked);
    let tool = |name: &str| ToolSpec {
        name: name.to_owned(),
        description: format!("Runs {name}."),
        schema: json!({ "type": "object", "properties": {} }),
    };
    ModelRequest { tools: vec![tool("read"), tool("grep")], ..ModelRequest::new(conversation, 100) }
}

fn text_reply(text: &str) -> ModelReply {
    let usage = Some(TokenUsage { input: 10, output: 2, ..TokenUsage::default() });
    ModelReply { turn: Turn::text(text), stop: StopCause::Done, usage, served: None }
}

fn overloaded(message: &str) -> ModelError {
    let retry_after = Some(Duration::from_millis(1500));
    ModelError::Overloaded { retry_after, message: message.to_owned() }
}

fn record(recorder: &Recorder, question: &str, answer: Result<ModelReply, ModelError>) {
    recorder.record("openai:gpt", &facts(), &request(question), &answer);
}

/// A temporary folder with a cassette.
struct TempCassette {
    folder: TempDir,
}

impl TempCassette {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    fn path(&self) -> std::path::PathBuf {
        self.folder.path().join("run.jsonl")
    }

    fn record(&self, exchanges: &[(ModelRequest, Result<ModelReply, ModelError>)]) {
        let recorder = self.recorder();
        for (request, answer) in exchanges {
            recorder.record("openai:gpt", &facts(), request, answer);
        }
        assert_eq!(recorder.finish().unwrap(), exchanges.len() as u64);
    }

    fn recorder(&self) -> Recorder {
        self.try_recorder().unwrap()
    }

    fn try_recorder(&self) -> std::io::Result<Recorder> {
        Recorder::create(&self.path(), Redactor::default())
    }

    /// Why the file cannot be recorded to, without the temporary folder name.
    fn recorder_error(&self) -> String {
        let error = self.try_recorder().unwrap_err().to_string();
        error.replace(&self.folder.path().display().to_string(), "")
    }

    fn play(&self) -> Cassette {
        Cassette::load(&self.path(), Redactor::default()).unwrap()
    }

    /// The load error, without the temporary folder name.
    fn load_error(&self) -> String {
        let error = Cassette::load(&self.path(), Redactor::default()).unwrap_err();
        error.to_string().replace(&self.folder.path().display().to_string(), "")
    }
}

#[test]
fn answer_is_found_by_content_in_any_order() {
    let temp_cassette = TempCassette::new();
    temp_cassette.record(&[
        (request("first"), Ok(text_reply("one"))),
        (request("second"), Err(overloaded("later"))),
        (request("second"), Ok(text_reply("two"))),
    ]);
    let cassette = temp_cassette.play();
    assert_eq!(cassette.model(), ("openai:gpt", &facts()));
    assert_eq!(cassette.answer(&request("second")), Err(overloaded("later")));
    assert_eq!(cassette.answer(&request("first")), Ok(text_reply("one")));
    assert_eq!(cassette.answer(&request("second")), Ok(text_reply("two")));
    assert_eq!(cassette.answer(&request("second")), Ok(text_reply("two")), "the last one again");
    assert_eq!(cassette.warning(), None);
}

#[test]
fn all_message_kinds_round_trip() {
    let call = ToolCall {
        id: "c1".to_owned(),
        name: "read".to_owned(),
        arguments: CallArguments::Json(json!({ "z": 1.5, "a": [null, "\u{1f600}\n"] })),
        signatures: vec!["sig".to_owned()],
    };
    let broken =
        ToolCall { arguments: CallArguments::Malformed("{\"a\":".to_owned()), ..call.clone() };
    let parts = vec![
        TurnPart::Thinking(Thinking::Readable { text: Some("hm".to_owned()), signature: None }),
        TurnPart::Thinking(Thinking::Sealed(json!({ "data": "x", "b": 1 }))),
        TurnPart::Text("let me see".to_owned()),
        TurnPart::Call(call),
        TurnPart::Call(broken),
    ];
    let reply = ModelReply {
        turn: Turn { parts },
        stop: StopCause::Other("odd".to_owned()),
        usage: None,
        served: None,
    };
    let mut model_request = request("go on");
    let result = ToolResult { call_id: "c1".into(), name: "read".into(), text: "\t1\r\n".into() };
    model_request.conversation.messages.push(Message::Assistant(reply.turn.clone()));
    model_request.conversation.messages.push(Message::Results(vec![result]));
    model_request.tool_choice = ToolChoice::Named("read".to_owned());
    model_request.output =
        OutputForm::Schema { name: "out".into(), schema: json!({ "b": 1, "a": 2 }) };
    model_request.temperature = Some(0.1);
    model_request.effort = Some(Effort::High);
    let error = ModelError::Transport { message: "gone".to_owned(), spent: FailureCost::Unknown };
    let temp_cassette = TempCassette::new();
    temp_cassette.record(&[
        (model_request.clone(), Ok(reply.clone())),
        (model_request.clone(), Err(error.clone())),
    ]);
    let cassette = temp_cassette.play();
    // Field order is not part of a question.
    model_request.output =
        OutputForm::Schema { name: "out".into(), schema: json!({ "a": 2, "b": 1 }) };
    assert_eq!(cassette.answer(&model_request), Ok(reply));
    assert_eq!(cassette.answer(&model_request), Err(error));
}

/// Checks where a question differs from the most similar recorded one.
fn check_difference(change: impl FnOnce(&mut ModelRequest), expected: &str) {
    let temp_cassette = TempCassette::new();
    let other = ModelRequest::new(Conversation::new("another agent"), 7);
    let long = request(&format!("line one\nline two {}\nline three", "x".repeat(200)));
    let answer = || Ok(text_reply("yes"));
    temp_cassette.record(&[
        (other, answer()),
        (request("elsewhere"), answer()),
        (long.clone(), answer()),
    ]);
    let mut model_request = long;
    change(&mut model_request);
    let Err(ModelError::NotRecorded { message }) = temp_cassette.play().answer(&model_request)
    else {
        panic!("it was answered");
    };
    let start = "the recording has no answer to this question; the most similar of its 3 questions differs in ";
    assert_eq!(message.strip_prefix(start), Some(expected));
}

fn user_prompt(request: &mut ModelRequest, index: usize) -> &mut UserText {
    match &mut request.conversation.messages[index] {
        Message::User(prompt) => prompt,
        Message::Assistant(_) | Message::Results(_) => panic!("no message of ours"),
    }
}

#[test]
fn mismatch_shows_both_versions_of_a_line() {
    let edit = |asked: &mut ModelRequest| {
        let text = &mut user_prompt(asked, 1).text;
        *text = text.replace("xx\nline", "xy\nline");
    };
    let versions = r#"message 2, `user.text`, line 2: recorded …"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", asked …"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxy""#;
    check_difference(edit, versions);
    check_difference(
        |asked| user_prompt(asked, 1).text.push_str("\nline four"),
        r#"message 2, `user.text`, line 4: recorded nothing, asked "line four""#,
    );
}

#[test]
fn mismatch_names_what_differs() {
    check_difference(
        |asked| asked.conversation.system.push_str(", please"),
        r#"the system prompt, line 2: recorded "brief", asked "brief, please""#,
    );
    check_difference(
        |asked| asked.tools[1].description = "Searches.".to_owned(),
        r#"the tools, `grep.description`: recorded "Runs grep.", asked "Searches.""#,
    );
    check_difference(
        |asked| asked.tools.truncate(1),
        r#"the tools, `grep.description`: recorded "Runs grep.", asked nothing"#,
    );
    check_difference(
        |asked| {
            asked.max_output_tokens = 200;
            asked.temperature = Some(0.2);
            asked.effort = Some(Effort::Low);
            asked.tool_choice = ToolChoice::Required;
            asked.output = OutputForm::Schema { name: "out".to_owned(), schema: json!({}) };
        },
        r#"`effort`: recorded "null", asked "low"; in `max_output_tokens`: recorded "100", asked "200"; in `output`: recorded "text", asked "schema.name: out"; in `temperature`: recorded "null", asked "0.2"; in `tool_choice`: recorded "auto", asked "required""#,
    );
    check_difference(
        |asked| asked.conversation.push_user("and now?", CacheMark::Unmarked),
        "the number of messages: recorded 2, asked 3",
    );
    check_difference(
        |asked| asked.conversation.messages[0] = Message::Assistant(Turn::text("the change")),
        r#"message 1: recorded "user.cache: breakpoint", asked "assistant.parts.1.text: the change""#,
    );
    check_difference(
        |asked| user_prompt(asked, 0).cache = CacheMark::Unmarked,
        r#"message 1, `user.cache`: recorded "breakpoint", asked "unmarked""#,
    );
}

#[test]
fn key_like_text_is_recorded_but_not_shown_in_errors() {
    let token = "ghp_abcdefghijklmnopqrst0123456789";
    let call = ToolCall {
        id: "c1".to_owned(),
        name: "grep".to_owned(),
        arguments: CallArguments::Json(json!({ "pattern": token, "api-key": "abc" })),
        signatures: Vec::new(),
    };
    let turn = Turn { parts: vec![TurnPart::Call(call)] };
    let reply = ModelReply { turn, stop: StopCause::Calls, usage: None, served: None };
    let temp_cassette = TempCassette::new();
    let token_request = |token: &str| request(&format!("is {token} a token?"));
    temp_cassette.record(&[(token_request(token), Ok(reply.clone()))]);
    assert_eq!(temp_cassette.play().answer(&token_request(token)), Ok(reply));
    let missed = |model_request: ModelRequest| {
        temp_cassette.play().answer(&model_request).unwrap_err().to_string()
    };
    expect!["the recording has no answer to this question; the most similar of its 1 questions differs in message 2, within text that looks like a key"]
    .assert_eq(&missed(token_request(&token.replace('9', "8"))));
    expect![[r#"the recording has no answer to this question; the most similar of its 1 questions differs in message 2, `user.text`: recorded "is [redacted] a token?", asked "is [redacted] one?""#]].assert_eq(&missed(request(&format!("is {token} one?"))));
}

#[test]
fn shared_messages_are_stored_once() {
    let temp_cassette = TempCassette::new();
    let mut model_request = request(&"a long task\n".repeat(1000));
    let mut exchanges = Vec::new();
    for turn in 0..20 {
        let reply = text_reply(&format!("turn {turn} {}", "r".repeat(500)));
        exchanges.push((model_request.clone(), Ok(reply.clone())));
        model_request.conversation.messages.push(Message::Assistant(reply.turn));
        model_request
            .conversation
            .push_user(format!("result {turn} {}", "s".repeat(500)), CacheMark::Unmarked);
    }
    temp_cassette.record(&exchanges);
    let request_bytes: usize = serde_json::to_string(&model_request).unwrap().len();
    let written = fs::metadata(temp_cassette.path()).unwrap().len() as usize;
    assert!(written < 2 * request_bytes + 20 * 1500, "{written} bytes for {request_bytes}");
    let cassette = temp_cassette.play();
    for (request, answer) in exchanges {
        assert_eq!(cassette.answer(&request), answer);
    }
}

#[test]
fn parallel_callers_do_not_mix_their_lines() {
    let temp_cassette = TempCassette::new();
    let recorder = temp_cassette.recorder();
    std::thread::scope(|scope| {
        for caller in 0..8 {
            let recorder = &recorder;
            scope.spawn(move || {
                for turn in 0..20 {
                    let question = format!("{} of {caller}", turn % 5);
                    record(recorder, &question, Ok(text_reply(&format!("{turn}"))));
                }
            });
        }
    });
    assert_eq!(recorder.finish().unwrap(), 160);
    let cassette = temp_cassette.play();
    for (caller, turn) in [(0, 0), (7, 4)] {
        let model_request = request(&format!("{turn} of {caller}"));
        let answers: Vec<_> =
            (0..4).map(|_| cassette.answer(&model_request).unwrap().turn.full_text()).collect();
        assert_eq!(answers, [turn, turn + 5, turn + 10, turn + 15].map(|n| n.to_string()));
    }
}

#[test]
fn crash_loses_only_the_last_exchange() {
    let temp_cassette = TempCassette::new();
    temp_cassette.record(&[
        (request("first"), Ok(text_reply("one"))),
        (request("second"), Ok(text_reply("two"))),
    ]);
    let full_file = fs::read(temp_cassette.path()).unwrap();
    let newline = |byte: &u8| *byte == b'\n';
    let end_of_first = full_file.len()
        - 1
        - full_file[..full_file.len() - 1].iter().rev().position(newline).unwrap();
    for length in [end_of_first, end_of_first + 1, full_file.len() - 40, full_file.len() - 2] {
        fs::write(temp_cassette.path(), &full_file[..length]).unwrap();
        let cassette = temp_cassette.play();
        assert_eq!(cassette.answer(&request("first")), Ok(text_reply("one")), "cut at {length}");
        assert!(cassette.answer(&request("second")).is_err(), "cut at {length}");
        assert_eq!(cassette.warning().is_some(), length > end_of_first, "cut at {length}");
    }
    fs::write(temp_cassette.path(), &full_file[..full_file.len() - 1]).unwrap();
    assert_eq!(
        temp_cassette.play().answer(&request("second")),
        Ok(text_reply("two")),
        "only the line's end is lost"
    );
    fs::write(temp_cassette.path(), [&full_file[..full_file.len() - 9], b"\n"].concat()).unwrap();
    expect!["skipped the incomplete last line 10: it is not a valid cassette line: EOF while parsing a string at line 1 column 316"].assert_eq(temp_cassette.play().warning().unwrap());
}

#[test]
fn damage_is_reported_with_its_line() {
    let temp_cassette = TempCassette::new();
    temp_cassette.record(&[
        (request("first"), Ok(text_reply("one"))),
        (request("second"), Ok(text_reply("two"))),
    ]);
    let full_text = fs::read_to_string(temp_cassette.path()).unwrap();
    let damaged = |damage: &dyn Fn(&mut Vec<String>)| {
        let mut lines: Vec<String> = full_text.lines().map(str::to_owned).collect();
        damage(&mut lines);
        fs::write(temp_cassette.path(), lines.join("\n") + "\n").unwrap();
        temp_cassette.load_error() + "\n"
    };
    let errors = [
        damaged(&|lines| lines[3].truncate(20)),
        damaged(&|lines| lines[2] = lines[2].replace("brief", "long")),
        damaged(&|lines| lines[2] = String::new()),
        damaged(&|lines| {
            lines.remove(2);
        }),
        damaged(&|lines| lines.truncate(1)),
        damaged(&|lines| lines[0] = lines[0].replace('1', "2")),
        damaged(&|lines| lines[0] = "{}".to_owned()),
        damaged(&Vec::clear),
    ];
    expect![[r#"
        line 4 of the recording `/run.jsonl` is damaged: it is not a valid cassette line: EOF while parsing a string at line 1 column 20
        line 3 of the recording `/run.jsonl` is damaged: its content was modified
        line 3 of the recording `/run.jsonl` is damaged: it is not a valid cassette line: EOF while parsing a value at line 1 column 0
        line 7 of the recording `/run.jsonl` is damaged: it refers to a missing piece
        the recording `/run.jsonl` is empty
        the recording `/run.jsonl` has format version 2; crh reads version 1
        `/run.jsonl` is not a recording of crh
        `/run.jsonl` is not a recording of crh
    "#]].assert_eq(&errors.concat());
    fs::remove_file(temp_cassette.path()).unwrap();
    expect!["cannot read the recording `/run.jsonl`"].assert_eq(&temp_cassette.load_error());
}

#[test]
fn only_a_cassette_is_replaced() {
    let temp_cassette = TempCassette::new();
    fs::write(temp_cassette.path(), "notes of mine\n").unwrap();
    expect!["the file exists and is not a recording of crh; it was not changed"]
        .assert_eq(&temp_cassette.recorder_error());
    assert_eq!(fs::read_to_string(temp_cassette.path()).unwrap(), "notes of mine\n");
    fs::write(temp_cassette.path(), "").unwrap();
    temp_cassette.record(&[
        (request("first"), Ok(text_reply("one"))),
        (request("second"), Ok(text_reply("two"))),
    ]);
    temp_cassette.record(&[(request("third"), Ok(text_reply("three")))]);
    assert!(temp_cassette.play().answer(&request("first")).is_err());
    assert!(Recorder::create(temp_cassette.folder.path(), Redactor::default()).is_err());
}

fn name() -> String {
    "run.jsonl".to_owned()
}

/// File names in the folder, and the answer to `first`.
fn folder_and_answer(place: &TempCassette) -> (Vec<String>, Result<ModelReply, ModelError>) {
    let names = fs::read_dir(place.folder.path()).unwrap();
    let mut names: Vec<_> =
        names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    (names, place.play().answer(&request("first")))
}

#[test]
fn old_cassette_stays_until_the_first_answer() {
    let temp_cassette = TempCassette::new();
    temp_cassette.record(&[(request("first"), Ok(text_reply("one")))]);
    let old = fs::read(temp_cassette.path()).unwrap();

    let recorder = temp_cassette.recorder();
    record(&recorder, "first", Err(overloaded("later")));
    assert_eq!(recorder.finish().unwrap(), 0);
    assert_eq!(
        folder_and_answer(&temp_cassette),
        (vec![name(), name() + ".recording"], Ok(text_reply("one")))
    );
    drop(recorder);
    assert_eq!(folder_and_answer(&temp_cassette), (vec![name()], Ok(text_reply("one"))));
    assert_eq!(fs::read(temp_cassette.path()).unwrap(), old);

    let recorder = temp_cassette.recorder();
    record(&recorder, "first", Err(overloaded("later")));
    record(&recorder, "second", Ok(text_reply("two")));
    // Already replaced, so that a crash loses nothing.
    assert_eq!(folder_and_answer(&temp_cassette), (vec![name()], Err(overloaded("later"))));
    record(&recorder, "third", Ok(text_reply("three")));
    assert_eq!(recorder.finish().unwrap(), 3);
    assert_eq!(temp_cassette.play().answer(&request("third")), Ok(text_reply("three")));
    drop(recorder);
    assert_eq!(folder_and_answer(&temp_cassette), (vec![name()], Err(overloaded("later"))));
}

#[test]
fn new_cassette_keeps_recorded_errors() {
    let temp_cassette = TempCassette::new();
    temp_cassette.record(&[(request("first"), Err(overloaded("later")))]);
    assert_eq!(folder_and_answer(&temp_cassette), (vec![name()], Err(overloaded("later"))));
}

#[test]
fn leftover_temporary_file_is_reused() {
    let temp_cassette = TempCassette::new();
    let beside = temp_cassette.folder.path().join("run.jsonl.recording");
    temp_cassette.record(&[(request("first"), Ok(text_reply("one")))]);
    fs::copy(temp_cassette.path(), &beside).unwrap();
    temp_cassette.record(&[(request("first"), Ok(text_reply("two")))]);
    assert_eq!(folder_and_answer(&temp_cassette), (vec![name()], Ok(text_reply("two"))));
    fs::write(&beside, "notes of mine\n").unwrap();
    let message = temp_cassette.recorder_error();
    expect!["cannot write `/run.jsonl.recording`: the file exists and is not a recording of crh; it was not changed"].assert_eq(&message);
    assert_eq!(fs::read_to_string(&beside).unwrap(), "notes of mine\n");
    assert_eq!(temp_cassette.play().answer(&request("first")), Ok(text_reply("two")));
}

#[test]
fn cassette_of_other_version_is_not_replaced() {
    let temp_cassette = TempCassette::new();
    let newer = "{\"format\":\"crh-cassette\",\"version\":2}\n";
    fs::write(temp_cassette.path(), newer).unwrap();
    expect!["it is a recording of version 2, and crh writes version 1; the file was not changed"]
        .assert_eq(&temp_cassette.recorder_error());
    assert_eq!(fs::read_to_string(temp_cassette.path()).unwrap(), newer);
}

#[test]
fn answers_are_kept_if_replacing_fails() {
    let temp_cassette = TempCassette::new();
    let beside = temp_cassette.folder.path().join("run.jsonl.recording");
    temp_cassette.record(&[(request("first"), Ok(text_reply("one")))]);
    let recorder = temp_cassette.recorder();
    fs::remove_file(temp_cassette.path()).unwrap();
    fs::create_dir(temp_cassette.path()).unwrap();
    record(&recorder, "first", Ok(text_reply("two")));
    record(&recorder, "second", Ok(text_reply("three")));
    let message = recorder.finish().unwrap_err().to_string();
    assert!(message.contains("run.jsonl.recording`: "), "{message}");
    drop(recorder);
    let cassette = Cassette::load(&beside, Redactor::default()).unwrap();
    assert_eq!(cassette.answer(&request("first")), Ok(text_reply("two")));
    assert_eq!(cassette.answer(&request("second")), Ok(text_reply("three")));
}

#[cfg(unix)]
#[test]
fn symlink_and_permissions_are_preserved() {
    use std::os::unix::fs::PermissionsExt;
    let temp_cassette = TempCassette::new();
    let target_file = temp_cassette.folder.path().join("kept.jsonl");
    std::os::unix::fs::symlink(&target_file, temp_cassette.path()).unwrap();
    temp_cassette.record(&[(request("first"), Ok(text_reply("one")))]);
    fs::set_permissions(&target_file, fs::Permissions::from_mode(0o600)).unwrap();
    temp_cassette.record(&[(request("first"), Ok(text_reply("two")))]);
    assert!(fs::symlink_metadata(temp_cassette.path()).unwrap().is_symlink());
    assert_eq!(fs::metadata(&target_file).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(temp_cassette.play().answer(&request("first")), Ok(text_reply("two")));
}

#[test]
fn second_recorder_cannot_write_to_a_locked_file() {
    for is_replaced in [false, true] {
        let temp_cassette = TempCassette::new();
        if is_replaced {
            temp_cassette.record(&[(request("first"), Ok(text_reply("old")))]);
        }
        let first = temp_cassette.recorder();
        assert_eq!(temp_cassette.recorder_error(), "another process is recording to it");
        record(&first, "first", Ok(text_reply("one")));
        assert_eq!(temp_cassette.recorder_error(), "another process is recording to it");
        record(&first, "second", Ok(text_reply("two")));
        drop(first);
        assert_eq!(folder_and_answer(&temp_cassette), (vec![name()], Ok(text_reply("one"))));
        assert_eq!(temp_cassette.play().answer(&request("second")), Ok(text_reply("two")));
        temp_cassette.recorder();
    }
}

#[cfg(unix)]
#[test]
fn special_file_is_neither_loaded_nor_replaced() {
    let error = Recorder::create(Path::new("/dev/null"), Redactor::default()).unwrap_err();
    expect!["it is not a regular file"].assert_eq(&error.to_string());
    let folder = tempfile::tempdir().unwrap();
    for path in [Path::new("/dev/null"), Path::new("/dev/zero"), folder.path()] {
        let error = Cassette::load(path, Redactor::default()).unwrap_err();
        let source = std::error::Error::source(&error).unwrap().to_string();
        assert_eq!(source, "it is not a regular file", "{}", path.display());
    }
}

#[test]
fn not_recorded_error_is_not_recorded() {
    let temp_cassette = TempCassette::new();
    let recorder = temp_cassette.recorder();
    let lacking = Err(ModelError::NotRecorded { message: String::new() });
    record(&recorder, "first", lacking);
    assert_eq!(recorder.finish().unwrap(), 0);
    drop(recorder);
    expect!["the recording `/run.jsonl` is empty"].assert_eq(&temp_cassette.load_error());
}

/// Asserts that no 12 characters of the key are in the file, plain or in base64.
fn assert_no_trace(path: &Path, key: &str) {
    let written = fs::read_to_string(path).unwrap();
    for run in key.as_bytes().windows(12) {
        let run = str::from_utf8(run).unwrap();
        assert!(!written.contains(run), "{run}");
    }
    for before in ["", "x", "xy"] {
        let encoded = STANDARD.encode(format!("{before}{key}"));
        for run in encoded.as_bytes()[4..encoded.len() - 4].windows(16) {
            assert!(!written.contains(str::from_utf8(run).unwrap()), "base64 after {before:?}");
        }
    }
}

#[test]
fn keys_are_masked_and_the_replay_still_matches() {
    let key = "Zq7Lw2mPx4vTb8nRc1sYd6hFg3jUe5aKo9Xi";
    let (first, second) = key.split_at(key.len() / 2);
    let leaks = [
        key.to_owned(),
        format!("{first}\n + \"{second}\""),
        STANDARD.encode(key),
        STANDARD.encode(format!("u:{key}")),
        STANDARD.encode(format!("Bearer {key}")),
        format!("Authorization: Bearer {key}"),
    ];
    let redactor = || Redactor::new([&SecretString::from(key)]);
    let temp_cassette = TempCassette::new();
    let recorder = Recorder::create(&temp_cassette.path(), redactor()).unwrap();
    let mut model_requests = Vec::new();
    for leak in &leaks {
        let mut request = request(leak);
        request.conversation.system.push_str(leak);
        request.tools[0].description.push_str(leak);
        request.tools[0].schema = json!({ leak: { "enum": [leak] } });
        request.tool_choice = ToolChoice::Named(leak.clone());
        let call = ToolCall {
            id: leak.clone(),
            name: leak.clone(),
            arguments: CallArguments::Json(json!({ leak: leak })),
            signatures: vec![leak.clone()],
        };
        let result = ToolResult { call_id: leak.clone(), name: leak.clone(), text: leak.clone() };
        let sealed = TurnPart::Thinking(Thinking::Sealed(json!([leak])));
        let turn = Turn { parts: vec![sealed, TurnPart::Text(leak.clone()), TurnPart::Call(call)] };
        request.conversation.messages.push(Message::Assistant(turn.clone()));
        request.conversation.messages.push(Message::Results(vec![result]));
        let reply =
            ModelReply { turn, stop: StopCause::Other(leak.clone()), usage: None, served: None };
        recorder.record(leak, &facts(), &request, &Ok(reply));
        recorder.record(leak, &facts(), &request, &Err(overloaded(leak)));
        model_requests.push(request);
    }
    assert_eq!(recorder.finish().unwrap(), 12);
    assert_no_trace(&temp_cassette.path(), key);
    let cassette = Cassette::load(&temp_cassette.path(), redactor()).unwrap();
    for request in &model_requests {
        assert!(cassette.answer(request).is_ok());
        assert!(matches!(cassette.answer(request), Err(ModelError::Overloaded { .. })));
    }
    let Err(miss) = cassette.answer(&request(&format!("another {key}"))) else {
        panic!("answered")
    };
    assert!(!miss.to_string().contains(first) && !miss.to_string().contains(second), "{miss}");
}
