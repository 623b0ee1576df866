//! The fake model echoes the key in every form, and crh must not leak it.

use std::fs;
use std::sync::Arc;

use serde_json::json;

use crate::setup;
use crate::setup::KEY;
use crh_agent::{AgentOutcome, AgentRun, RunLimits, drive};
use crh_llm::{Recorder, Redactor};
use crh_testkit::FakeModel;
use crh_testkit::fake_model::{ScriptedReply, bad_key, bad_request, calls, fails_with, says};

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Base64 of the key at a byte offset, without the characters that its neighbours influence.
fn base64(offset: usize) -> String {
    let bytes: Vec<u8> = vec![b'-'; offset].into_iter().chain(KEY.bytes()).collect();
    let bits = bytes.iter().flat_map(|byte| (0..8).rev().map(move |bit| byte >> bit & 1));
    let bits: Vec<u8> = bits.collect();
    let letters = bits.chunks_exact(6).map(|bits| {
        let index = bits.iter().fold(0, |index, bit| index << 1 | usize::from(*bit));
        char::from(ALPHABET[index])
    });
    letters.skip((offset * 8).div_ceil(6)).collect()
}

/// The key, its halves, and its base64 at every alignment.
fn secret_forms() -> Vec<String> {
    let (left, right) = KEY.split_at(KEY.len() / 2);
    let mut needles: Vec<String> = (0..3).map(base64).collect();
    needles.extend([KEY, left, right].map(str::to_owned));
    needles
}

#[track_caller]
fn assert_no_secret(what: &str, text: &str) {
    assert!(!text.is_empty(), "{what} is empty, so it proves nothing");
    for needle in secret_forms() {
        assert!(!text.contains(&needle), "`{needle}` in {what}:\n{text}");
    }
}

/// Executes one run with these replies. Returns its transcript, error text and debug output.
async fn traces(replies: Vec<ScriptedReply>) -> Vec<(&'static str, String)> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("alice.jsonl");
    let fake = FakeModel::start().on("alice", replies);
    let mut context = setup::run_context(&fake.url(), setup::TOOLS);
    context.transcript = setup::transcript(&path);
    context.retry.max_attempts = 1;
    let cassette = folder.path().join("alice.cassette");
    let recorder = Arc::new(Recorder::create(&cassette, Redactor::new([&setup::key()])).unwrap());
    context.model = context.model.with_recorder(recorder.clone());
    let limits = RunLimits { turns: 9, ..setup::limits() };
    let driven =
        drive(AgentRun::new(setup::task("alice"), limits, context.model.facts()), &context).await;
    assert_eq!(driven.transcript_error, None);
    let sent = &fake.requests()[0].headers;
    assert!(sent.iter().any(|(_, value)| value.contains(KEY)), "the key is used");
    recorder.finish().unwrap();
    let mut traces = vec![
        ("the cassette", fs::read_to_string(&cassette).unwrap()),
        ("the transcript", fs::read_to_string(&path).unwrap()),
        ("what a run is driven with", format!("{context:?}")),
        ("the ledger", format!("{:?}", context.ledger)),
        ("the model", format!("{:?}", context.model)),
        ("an endpoint", format!("{:?}", setup::endpoint(&fake.url()))),
    ];
    if let AgentOutcome::Model(error) = &driven.end.outcome {
        traces.push(("an error", error.to_string()));
        traces.push(("an error's insides", format!("{error:?} {:?}", driven.end)));
    }
    traces
}

#[tokio::test]
async fn no_key_in_transcripts_errors_or_debug_output() {
    let halves = KEY.split_at(KEY.len() / 2);
    let encoded: Vec<String> = (0..3).map(base64).collect();
    let submits = || calls("submit", json!({ "verdict": "fine" }));
    let replies = vec![
        says(format!("your key is {KEY}, I see"))
            .pieces(9)
            .and_calls("leak", json!({ "text": KEY })),
        says(halves.0).and_says(halves.1).and_calls("echo", json!({ "text": halves.0 })),
        says(encoded.join(" ")).pieces(5).and_calls("panic", json!({ "text": halves.1 })),
        calls("echo", json!({ "text": encoded[1], KEY: KEY })).thinking(KEY, "signed"),
        submits(),
    ];
    let message = format!("Incorrect API key provided: {KEY} ({})", encoded.join(", "));
    let failing = [
        bad_key(),
        bad_request(message.clone()),
        fails_with(418, json!({ "error": { "message": message } })),
        says("hm").then(bad_request(message.clone())),
    ];
    let mut errors = 0;
    for replies in failing.map(|reply| vec![reply]).into_iter().chain([replies]) {
        for (trace_name, text) in traces(replies).await {
            errors += usize::from(trace_name == "an error");
            assert_no_secret(trace_name, &text);
        }
    }
    assert_eq!(errors, 4, "each failure was seen");
}

#[test]
fn base64_of_the_key_is_correct() {
    // `printf %s 'sk-proj-9fQ2…' | base64`, without its last letter and padding.
    assert!(base64(0).starts_with("c2stcHJvai05ZlEyeExt"), "{}", base64(0));
}
