use std::fs;
use std::path::Path;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use expect_test::{Expect, expect};
use secrecy::SecretString;
use serde_json::json;
use tempfile::TempDir;

use super::*;
use crate::{
    Abilities, Arguments, Cache, Conversation, Effort, Message, OutputForm, Part, Price, Redactor,
    Request, Spent, Stop, Thinking, ToolCall, ToolChoice, ToolResult, ToolSpec, Turn, Usage,
};

fn facts() -> ModelFacts {
    ModelFacts {
        context: 1000,
        max_output: 100,
        price: Some(Price::free()),
        abilities: Abilities { tools: true, schema: false },
    }
}

fn request(text: &str) -> Request {
    let mut conversation = Conversation::new("be\nbrief");
    conversation.say("the change", Cache::Breakpoint);
    conversation.say(text, Cache::Unmarked);
    let tool = |name: &str| ToolSpec {
        name: name.to_owned(),
        description: format!("Runs {name}."),
        schema: json!({ "type": "object", "properties": {} }),
    };
    Request { tools: vec![tool("read"), tool("grep")], ..Request::new(conversation, 100) }
}

fn says(text: &str) -> Reply {
    let usage = Some(Usage { input: 10, output: 2, ..Usage::default() });
    Reply { turn: Turn::text(text), stop: Stop::Done, usage, served: None }
}

fn overloaded(message: &str) -> ModelError {
    let retry_after = Some(Duration::from_millis(1500));
    ModelError::Overloaded { retry_after, message: message.to_owned() }
}

/// A folder and the place of a cassette in it.
struct Place {
    folder: TempDir,
}

impl Place {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    fn path(&self) -> std::path::PathBuf {
        self.folder.path().join("run.jsonl")
    }

    fn record(&self, exchanges: &[(Request, Result<Reply, ModelError>)]) {
        let recorder = Recorder::create(&self.path(), Redactor::default()).unwrap();
        for (request, answer) in exchanges {
            recorder.record("openai:gpt", &facts(), request, answer);
        }
        assert_eq!(recorder.finish().unwrap(), exchanges.len() as u64);
    }

    fn play(&self) -> Cassette {
        Cassette::read(&self.path(), Redactor::default()).unwrap()
    }

    /// The error that names the place, without the folder that is another each time.
    fn refused(&self) -> String {
        let error = Cassette::read(&self.path(), Redactor::default()).unwrap_err();
        error.to_string().replace(&self.folder.path().display().to_string(), "")
    }
}

#[test]
fn an_answer_is_found_by_the_question_and_not_by_the_order() {
    let place = Place::new();
    place.record(&[
        (request("first"), Ok(says("one"))),
        (request("second"), Err(overloaded("later"))),
        (request("second"), Ok(says("two"))),
    ]);
    let cassette = place.play();
    assert_eq!(cassette.model(), ("openai:gpt", &facts()));
    assert_eq!(cassette.answer(&request("second")), Err(overloaded("later")));
    assert_eq!(cassette.answer(&request("first")), Ok(says("one")));
    assert_eq!(cassette.answer(&request("second")), Ok(says("two")));
    assert_eq!(cassette.answer(&request("second")), Ok(says("two")), "the last one again");
    assert_eq!(cassette.note(), None);
}

#[test]
fn everything_that_can_be_said_comes_back_as_it_was() {
    let call = ToolCall {
        id: "c1".to_owned(),
        name: "read".to_owned(),
        arguments: Arguments::Json(json!({ "z": 1.5, "a": [null, "\u{1f600}\n"] })),
        signatures: vec!["sig".to_owned()],
    };
    let broken = ToolCall { arguments: Arguments::Malformed("{\"a\":".to_owned()), ..call.clone() };
    let parts = vec![
        Part::Thinking(Thinking::Said { text: Some("hm".to_owned()), signature: None }),
        Part::Thinking(Thinking::Sealed(json!({ "data": "x", "b": 1 }))),
        Part::Text("let me see".to_owned()),
        Part::Call(call),
        Part::Call(broken),
    ];
    let reply = Reply {
        turn: Turn { parts },
        stop: Stop::Other("odd".to_owned()),
        usage: None,
        served: None,
    };
    let mut asked = request("go on");
    let result = ToolResult { call_id: "c1".into(), name: "read".into(), text: "\t1\r\n".into() };
    asked.conversation.messages.push(Message::Assistant(reply.turn.clone()));
    asked.conversation.messages.push(Message::Results(vec![result]));
    asked.tool_choice = ToolChoice::Named("read".to_owned());
    asked.output = OutputForm::Schema { name: "out".into(), schema: json!({ "b": 1, "a": 2 }) };
    asked.temperature = Some(0.1);
    asked.effort = Some(Effort::High);
    let error = ModelError::Transport { message: "gone".to_owned(), spent: Spent::Unknown };
    let place = Place::new();
    place.record(&[(asked.clone(), Ok(reply.clone())), (asked.clone(), Err(error.clone()))]);
    let cassette = place.play();
    // The order of fields is not part of a question.
    asked.output = OutputForm::Schema { name: "out".into(), schema: json!({ "a": 2, "b": 1 }) };
    assert_eq!(cassette.answer(&asked), Ok(reply));
    assert_eq!(cassette.answer(&asked), Err(error));
}

/// What is said of a question that differs from the recorded ones.
fn check_difference(change: impl FnOnce(&mut Request), expected: Expect) {
    let place = Place::new();
    let other = Request::new(Conversation::new("another agent"), 7);
    let long = request(&format!("line one\nline two {}\nline three", "x".repeat(200)));
    let answer = || Ok(says("yes"));
    place.record(&[(other, answer()), (request("elsewhere"), answer()), (long.clone(), answer())]);
    let mut asked = long;
    change(&mut asked);
    let Err(ModelError::NotRecorded { message }) = place.play().answer(&asked) else {
        panic!("it was answered");
    };
    expected.assert_eq(&message);
}

fn user_text(request: &mut Request, index: usize) -> &mut String {
    match &mut request.conversation.messages[index] {
        Message::User(said) => &mut said.text,
        Message::Assistant(_) | Message::Results(_) => panic!("no message of ours"),
    }
}

#[test]
fn a_changed_line_of_a_message_is_shown_with_both_versions() {
    check_difference(
        |asked| *user_text(asked, 1) = user_text(asked, 1).replace("xx\nline", "xy\nline"),
        expect![[r#"
            the recording has no answer to this question; the nearest of its 3 differs
              in message 2, `user.text`, line 2: recorded …"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", asked …"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxy""#]],
    );
    check_difference(
        |asked| user_text(asked, 1).push_str("\nline four"),
        expect![[r#"
            the recording has no answer to this question; the nearest of its 3 differs
              in message 2, `user.text`, line 4: recorded nothing, asked "line four""#]],
    );
}

#[test]
fn a_changed_system_prompt_tool_or_setting_is_named() {
    check_difference(
        |asked| asked.conversation.system.push_str(", please"),
        expect![[r#"
        the recording has no answer to this question; the nearest of its 3 differs
          in the system prompt, line 2: recorded "brief", asked "brief, please""#]],
    );
    check_difference(
        |asked| asked.tools[1].description = "Searches.".to_owned(),
        expect![[r#"
            the recording has no answer to this question; the nearest of its 3 differs
              in the tools, `grep.description`: recorded "Runs grep.", asked "Searches.""#]],
    );
    check_difference(
        |asked| {
            asked.tools.remove(1);
        },
        expect![[r#"
            the recording has no answer to this question; the nearest of its 3 differs
              in the tools, `grep.description`: recorded "Runs grep.", asked nothing"#]],
    );
    check_difference(
        |asked| {
            asked.max_output_tokens = 200;
            asked.temperature = Some(0.2);
            asked.effort = Some(Effort::Low);
            asked.tool_choice = ToolChoice::Required;
            asked.output = OutputForm::Schema { name: "out".to_owned(), schema: json!({}) };
        },
        expect![[r#"
            the recording has no answer to this question; the nearest of its 3 differs
              in `effort`: recorded "null", asked "low"
              in `max_output_tokens`: recorded "100", asked "200"
              in `output`: recorded "text", asked "schema.name: out"
              in `temperature`: recorded "null", asked "0.2"
              in `tool_choice`: recorded "auto", asked "required""#]],
    );
}

#[test]
fn what_looks_like_a_key_is_part_of_the_question_and_the_answer_and_of_no_error() {
    let token = "ghp_abcdefghijklmnopqrst0123456789";
    let call = ToolCall {
        id: "c1".to_owned(),
        name: "grep".to_owned(),
        arguments: Arguments::Json(json!({ "pattern": token, "api-key": "abc" })),
        signatures: Vec::new(),
    };
    let turn = Turn { parts: vec![Part::Call(call)] };
    let reply = Reply { turn, stop: Stop::Calls, usage: None, served: None };
    let place = Place::new();
    let asked = |token: &str| request(&format!("is {token} a token?"));
    place.record(&[(asked(token), Ok(reply.clone()))]);
    assert_eq!(place.play().answer(&asked(token)), Ok(reply));
    let missed = |asked: Request| place.play().answer(&asked).unwrap_err().to_string();
    expect![[r#"
        the recording has no answer to this question; the nearest of its 1 differs
          in message 2, in what looks like a key"#]]
    .assert_eq(&missed(asked(&token.replace('9', "8"))));
    expect![[r#"
        the recording has no answer to this question; the nearest of its 1 differs
          in message 2, `user.text`: recorded "is [redacted] a token?", asked "is [redacted] one?""#]].assert_eq(&missed(request(&format!("is {token} one?"))));
}

#[test]
fn a_further_or_another_kind_of_message_is_named() {
    check_difference(
        |asked| asked.conversation.say("and now?", Cache::Unmarked),
        expect![[r#"
        the recording has no answer to this question; the nearest of its 3 differs
          in the number of messages: recorded 2, asked 3"#]],
    );
    check_difference(
        |asked| asked.conversation.messages[0] = Message::Assistant(Turn::text("the change")),
        expect![[r#"
            the recording has no answer to this question; the nearest of its 3 differs
              in message 1: recorded "user.cache: breakpoint", asked "assistant.parts.1.text: the change""#]],
    );
    check_difference(
        |asked| match &mut asked.conversation.messages[0] {
            Message::User(said) => said.cache = Cache::Unmarked,
            Message::Assistant(_) | Message::Results(_) => panic!("no message of ours"),
        },
        expect![[r#"
            the recording has no answer to this question; the nearest of its 3 differs
              in message 1, `user.cache`: recorded "breakpoint", asked "unmarked""#]],
    );
}

#[test]
fn a_run_does_not_write_its_beginning_with_every_turn() {
    let place = Place::new();
    let mut asked = request(&"a long task\n".repeat(1000));
    let mut exchanges = Vec::new();
    for turn in 0..20 {
        let reply = says(&format!("turn {turn} {}", "r".repeat(500)));
        exchanges.push((asked.clone(), Ok(reply.clone())));
        asked.conversation.messages.push(Message::Assistant(reply.turn));
        asked.conversation.say(format!("result {turn} {}", "s".repeat(500)), Cache::Unmarked);
    }
    place.record(&exchanges);
    let said: usize = serde_json::to_string(&asked).unwrap().len();
    let written = fs::metadata(place.path()).unwrap().len() as usize;
    assert!(written < 2 * said + 20 * 1500, "{written} bytes for {said}");
    let cassette = place.play();
    for (request, answer) in exchanges {
        assert_eq!(cassette.answer(&request), answer);
    }
}

#[test]
fn parallel_callers_do_not_mix_their_lines() {
    let place = Place::new();
    let recorder = Recorder::create(&place.path(), Redactor::default()).unwrap();
    std::thread::scope(|scope| {
        for caller in 0..8 {
            let recorder = &recorder;
            scope.spawn(move || {
                for turn in 0..20 {
                    let asked = request(&format!("{} of {caller}", turn % 5));
                    recorder.record("openai:gpt", &facts(), &asked, &Ok(says(&format!("{turn}"))));
                }
            });
        }
    });
    assert_eq!(recorder.finish().unwrap(), 160);
    let cassette = place.play();
    for (caller, turn) in [(0, 0), (7, 4)] {
        let asked = request(&format!("{turn} of {caller}"));
        let answers: Vec<_> =
            (0..4).map(|_| cassette.answer(&asked).unwrap().turn.said()).collect();
        assert_eq!(answers, [turn, turn + 5, turn + 10, turn + 15].map(|n| n.to_string()));
    }
}

#[test]
fn a_crash_loses_the_exchange_in_flight_and_no_other() {
    let place = Place::new();
    place.record(&[(request("first"), Ok(says("one"))), (request("second"), Ok(says("two")))]);
    let whole = fs::read(place.path()).unwrap();
    let newline = |byte: &u8| *byte == b'\n';
    let end_of_first =
        whole.len() - 1 - whole[..whole.len() - 1].iter().rev().position(newline).unwrap();
    for cut in [end_of_first, end_of_first + 1, whole.len() - 40, whole.len() - 2] {
        fs::write(place.path(), &whole[..cut]).unwrap();
        let cassette = place.play();
        assert_eq!(cassette.answer(&request("first")), Ok(says("one")), "cut at {cut}");
        assert!(cassette.answer(&request("second")).is_err(), "cut at {cut}");
        assert_eq!(cassette.note().is_some(), cut > end_of_first, "cut at {cut}");
    }
    fs::write(place.path(), &whole[..whole.len() - 1]).unwrap();
    assert_eq!(
        place.play().answer(&request("second")),
        Ok(says("two")),
        "only the line's end is lost"
    );
    fs::write(place.path(), [&whole[..whole.len() - 9], b"\n"].concat()).unwrap();
    expect!["line 10, the last one, is left out: it cannot be read as JSON of the format: EOF while parsing a string at line 1 column 316"].assert_eq(place.play().note().unwrap());
}

#[test]
fn any_other_damage_is_told_with_its_line() {
    let place = Place::new();
    place.record(&[(request("first"), Ok(says("one"))), (request("second"), Ok(says("two")))]);
    let whole = fs::read_to_string(place.path()).unwrap();
    let damaged = |damage: &dyn Fn(&mut Vec<String>)| {
        let mut lines: Vec<String> = whole.lines().map(str::to_owned).collect();
        damage(&mut lines);
        fs::write(place.path(), lines.join("\n") + "\n").unwrap();
        place.refused() + "\n"
    };
    let shown = [
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
        line 4 of the cassette `/run.jsonl` is damaged: it cannot be read as JSON of the format: EOF while parsing a string at line 1 column 20
        line 3 of the cassette `/run.jsonl` is damaged: its content has been changed
        line 3 of the cassette `/run.jsonl` is damaged: it cannot be read as JSON of the format: EOF while parsing a value at line 1 column 0
        line 7 of the cassette `/run.jsonl` is damaged: it names a piece that does not stand before it
        the cassette `/run.jsonl` has no exchange in it
        the cassette `/run.jsonl` has version 2 of the format; version 1 can be read
        `/run.jsonl` is no cassette
        `/run.jsonl` is no cassette
    "#]].assert_eq(&shown.concat());
    fs::remove_file(place.path()).unwrap();
    expect!["the cassette `/run.jsonl` cannot be read"].assert_eq(&place.refused());
}

#[test]
fn only_a_cassette_is_replaced() {
    let place = Place::new();
    fs::write(place.path(), "notes of mine\n").unwrap();
    let refused = Recorder::create(&place.path(), Redactor::default()).unwrap_err();
    expect!["the file exists and is no cassette; it is left as it is"]
        .assert_eq(&refused.to_string());
    assert_eq!(fs::read_to_string(place.path()).unwrap(), "notes of mine\n");
    fs::write(place.path(), "").unwrap();
    place.record(&[(request("first"), Ok(says("one"))), (request("second"), Ok(says("two")))]);
    place.record(&[(request("third"), Ok(says("three")))]);
    assert!(place.play().answer(&request("first")).is_err());
    assert!(Recorder::create(place.folder.path(), Redactor::default()).is_err());
}

/// The names of the files in the folder, and what the cassette answers to `first`.
fn standing(place: &Place) -> (Vec<String>, Result<Reply, ModelError>) {
    let names = fs::read_dir(place.folder.path()).unwrap();
    let mut names: Vec<_> =
        names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    (names, place.play().answer(&request("first")))
}

#[test]
fn a_recording_stays_until_the_next_one_has_an_answer() {
    let place = Place::new();
    let name = || "run.jsonl".to_owned();
    place.record(&[(request("first"), Ok(says("one")))]);
    let old = fs::read(place.path()).unwrap();

    let recorder = Recorder::create(&place.path(), Redactor::default()).unwrap();
    recorder.record("openai:gpt", &facts(), &request("first"), &Err(overloaded("later")));
    assert_eq!(recorder.finish().unwrap(), 0);
    assert_eq!(standing(&place), (vec![name(), name() + ".recording"], Ok(says("one"))));
    drop(recorder);
    assert_eq!(standing(&place), (vec![name()], Ok(says("one"))));
    assert_eq!(fs::read(place.path()).unwrap(), old);

    let recorder = Recorder::create(&place.path(), Redactor::default()).unwrap();
    recorder.record("openai:gpt", &facts(), &request("first"), &Err(overloaded("later")));
    recorder.record("openai:gpt", &facts(), &request("second"), &Ok(says("two")));
    // Not at the end: a crash from here on loses nothing.
    assert_eq!(standing(&place), (vec![name()], Err(overloaded("later"))));
    recorder.record("openai:gpt", &facts(), &request("third"), &Ok(says("three")));
    assert_eq!(recorder.finish().unwrap(), 3);
    assert_eq!(place.play().answer(&request("third")), Ok(says("three")));
    drop(recorder);
    assert_eq!(standing(&place), (vec![name()], Err(overloaded("later"))));
}

#[test]
fn where_nothing_stood_errors_are_a_recording_too() {
    let place = Place::new();
    place.record(&[(request("first"), Err(overloaded("later")))]);
    assert_eq!(standing(&place), (vec!["run.jsonl".to_owned()], Err(overloaded("later"))));
}

#[test]
fn what_a_crash_left_beside_a_cassette_is_taken_over_and_nothing_else_is() {
    let place = Place::new();
    let beside = place.folder.path().join("run.jsonl.recording");
    place.record(&[(request("first"), Ok(says("one")))]);
    fs::copy(place.path(), &beside).unwrap();
    place.record(&[(request("first"), Ok(says("two")))]);
    assert_eq!(standing(&place), (vec!["run.jsonl".to_owned()], Ok(says("two"))));
    fs::write(&beside, "notes of mine\n").unwrap();
    let refused = Recorder::create(&place.path(), Redactor::default()).unwrap_err();
    let refused = refused.to_string().replace(&place.folder.path().display().to_string(), "");
    expect!["`/run.jsonl.recording` cannot be written: the file exists and is no cassette; it is left as it is"].assert_eq(&refused);
    assert_eq!(fs::read_to_string(&beside).unwrap(), "notes of mine\n");
    assert_eq!(place.play().answer(&request("first")), Ok(says("two")));
}

#[test]
fn a_cassette_of_another_version_is_not_replaced() {
    let place = Place::new();
    let newer = "{\"format\":\"crh-cassette\",\"version\":2}\n";
    fs::write(place.path(), newer).unwrap();
    let refused = Recorder::create(&place.path(), Redactor::default()).unwrap_err();
    expect!["it is a cassette of version 2 of the format, and version 1 can be written; it is left as it is"].assert_eq(&refused.to_string());
    assert_eq!(fs::read_to_string(place.path()).unwrap(), newer);
}

#[test]
fn answers_are_kept_where_the_older_cassette_cannot_be_replaced() {
    let place = Place::new();
    let beside = place.folder.path().join("run.jsonl.recording");
    place.record(&[(request("first"), Ok(says("one")))]);
    let recorder = Recorder::create(&place.path(), Redactor::default()).unwrap();
    fs::remove_file(place.path()).unwrap();
    fs::create_dir(place.path()).unwrap();
    recorder.record("openai:gpt", &facts(), &request("first"), &Ok(says("two")));
    recorder.record("openai:gpt", &facts(), &request("second"), &Ok(says("three")));
    let told = recorder.finish().unwrap_err().to_string();
    assert!(told.contains("run.jsonl.recording`: "), "{told}");
    drop(recorder);
    let cassette = Cassette::read(&beside, Redactor::default()).unwrap();
    assert_eq!(cassette.answer(&request("first")), Ok(says("two")));
    assert_eq!(cassette.answer(&request("second")), Ok(says("three")));
}

#[cfg(unix)]
#[test]
fn a_link_and_the_permissions_outlast_a_new_recording() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new();
    let kept = place.folder.path().join("kept.jsonl");
    std::os::unix::fs::symlink(&kept, place.path()).unwrap();
    place.record(&[(request("first"), Ok(says("one")))]);
    fs::set_permissions(&kept, fs::Permissions::from_mode(0o600)).unwrap();
    place.record(&[(request("first"), Ok(says("two")))]);
    assert!(fs::symlink_metadata(place.path()).unwrap().is_symlink());
    assert_eq!(fs::metadata(&kept).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(place.play().answer(&request("first")), Ok(says("two")));
}

#[test]
fn two_recorders_do_not_replace_one_file() {
    let place = Place::new();
    place.record(&[(request("first"), Ok(says("one")))]);
    let busy = || Recorder::create(&place.path(), Redactor::default()).unwrap_err().to_string();
    let first = Recorder::create(&place.path(), Redactor::default()).unwrap();
    expect!["something else is recording to it"].assert_eq(&busy());
    first.record("openai:gpt", &facts(), &request("first"), &Ok(says("two")));
    expect!["something else is recording to it"].assert_eq(&busy());
    drop(first);
    assert_eq!(standing(&place), (vec!["run.jsonl".to_owned()], Ok(says("two"))));
}

#[test]
fn two_recorders_do_not_write_to_one_file() {
    let place = Place::new();
    let first = Recorder::create(&place.path(), Redactor::default()).unwrap();
    first.record("openai:gpt", &facts(), &request("first"), &Ok(says("one")));
    let second = Recorder::create(&place.path(), Redactor::default()).unwrap_err();
    expect!["something else is recording to it"].assert_eq(&second.to_string());
    first.record("openai:gpt", &facts(), &request("second"), &Ok(says("two")));
    drop(first);
    assert_eq!(place.play().answer(&request("first")), Ok(says("one")));
    assert_eq!(place.play().answer(&request("second")), Ok(says("two")));
    Recorder::create(&place.path(), Redactor::default()).unwrap();
}

#[cfg(unix)]
#[test]
fn what_is_no_file_is_not_recorded_to() {
    let device = Path::new("/dev/null");
    let refused = Recorder::create(device, Redactor::default()).unwrap_err();
    expect!["it is no regular file"].assert_eq(&refused.to_string());
}

#[cfg(unix)]
#[test]
fn what_is_no_file_is_not_played() {
    let folder = tempfile::tempdir().unwrap();
    for path in [Path::new("/dev/null"), Path::new("/dev/zero"), folder.path()] {
        let refused = Cassette::read(path, Redactor::default()).unwrap_err();
        let source = std::error::Error::source(&refused).unwrap().to_string();
        assert_eq!(source, "it is no regular file", "{}", path.display());
    }
}

#[test]
fn what_another_recording_lacks_is_no_answer() {
    let place = Place::new();
    let recorder = Recorder::create(&place.path(), Redactor::default()).unwrap();
    let lacking = Err(ModelError::NotRecorded { message: String::new() });
    recorder.record("openai:gpt", &facts(), &request("first"), &lacking);
    assert_eq!(recorder.finish().unwrap(), 0);
    drop(recorder);
    expect!["the cassette `/run.jsonl` has no exchange in it"].assert_eq(&place.refused());
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_told_at_the_end() {
    let mut recorder = Recorder::create(&Place::new().path(), Redactor::default()).unwrap();
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    recorder.replace_file(full);
    recorder.record("openai:gpt", &facts(), &request("first"), &Ok(says("one")));
    recorder.record("openai:gpt", &facts(), &request("first"), &Ok(says("one")));
    assert_eq!(recorder.finish().unwrap_err().kind(), std::io::ErrorKind::StorageFull);
}

/// No run of twelve characters of the key stands in the file, plain or in base64.
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
fn no_key_is_written_whole_split_or_encoded_and_the_replay_still_matches() {
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
    let place = Place::new();
    let recorder = Recorder::create(&place.path(), redactor()).unwrap();
    let mut asked = Vec::new();
    for leak in &leaks {
        let mut request = request(leak);
        request.conversation.system.push_str(leak);
        request.tools[0].description.push_str(leak);
        request.tools[0].schema = json!({ leak: { "enum": [leak] } });
        request.tool_choice = ToolChoice::Named(leak.clone());
        let call = ToolCall {
            id: leak.clone(),
            name: leak.clone(),
            arguments: Arguments::Json(json!({ leak: leak })),
            signatures: vec![leak.clone()],
        };
        let result = ToolResult { call_id: leak.clone(), name: leak.clone(), text: leak.clone() };
        let sealed = Part::Thinking(Thinking::Sealed(json!([leak])));
        let turn = Turn { parts: vec![sealed, Part::Text(leak.clone()), Part::Call(call)] };
        request.conversation.messages.push(Message::Assistant(turn.clone()));
        request.conversation.messages.push(Message::Results(vec![result]));
        let reply = Reply { turn, stop: Stop::Other(leak.clone()), usage: None, served: None };
        recorder.record(leak, &facts(), &request, &Ok(reply));
        recorder.record(leak, &facts(), &request, &Err(overloaded(leak)));
        asked.push(request);
    }
    assert_eq!(recorder.finish().unwrap(), 12);
    assert_no_trace(&place.path(), key);
    let cassette = Cassette::read(&place.path(), redactor()).unwrap();
    for request in &asked {
        assert!(cassette.answer(request).is_ok());
        assert!(matches!(cassette.answer(request), Err(ModelError::Overloaded { .. })));
    }
    let Err(miss) = cassette.answer(&request(&format!("another {key}"))) else {
        panic!("answered")
    };
    assert!(!miss.to_string().contains(first) && !miss.to_string().contains(second), "{miss}");
}
