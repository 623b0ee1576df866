use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use proptest::prelude::*;
use serde_json::json;

use super::shapes::HEADERS;
use super::*;

/// Matches no known form, and contains characters that every encoding changes.
const KEY: &str = "q9/Zk2+Lw7\"mPx4vTb8nRc1sYd6hFg3jUe5a";

fn redactor() -> Redactor {
    Redactor::new([&SecretString::from(KEY)])
}

fn check(text: &str, expected: &str) {
    let redactor = redactor();
    assert_eq!(redactor.redact(text), expected, "{text}");
    assert_eq!(redactor.redact(expected), expected, "once more");
}

#[test]
fn known_key_is_masked_whole_and_in_halves() {
    check(&format!("key={KEY}, said twice: {KEY}"), "key=[redacted], said twice: [redacted]");
    let (first, second) = KEY.split_at(KEY.len() / 2);
    check(
        &format!("let a = '{first}';\nlet b = '{second}';"),
        "let a = '[redacted]';\nlet b = '[redacted]';",
    );
    check(&format!("{}…{}", &KEY[..12], &KEY[20..]), "[redacted]…[redacted]");
    check("a text without any", "a text without any");
}

#[test]
fn very_short_key_is_not_masked() {
    let any = Redactor::new(&["x", "key"].map(SecretString::from));
    assert_eq!(any.redact("except for the key x"), "except for the key x");
}

#[test]
fn short_fragments_of_a_key_are_not_masked() {
    check(&KEY[..11], &KEY[..11]);
    let short =
        Redactor::new([&SecretString::from("hunter2hunter3"), &SecretString::from("s3cr3t")]);
    assert_eq!(
        short.redact("hunter2, hunter, s3cr3t, s3cr3"),
        "[redacted], hunter, [redacted], s3cr3"
    );
}

#[test]
fn base64_is_masked_at_every_alignment() {
    for before in ["", "x", "xy", "Bearer ", "user:", "{\"key\":\""] {
        for after in ["", "z", "zz"] {
            let text = format!("{before}{KEY}{after}");
            for encoded in [STANDARD.encode(&text), URL_SAFE_NO_PAD.encode(&text)] {
                let redacted_text = redactor().redact(&format!("body {encoded} end")).into_owned();
                assert!(redacted_text.contains(MASK), "{redacted_text}");
                let rest = redacted_text.replace(MASK, "");
                let allowed = "body  end".len() + 2 * before.len() + 12;
                assert!(rest.len() <= allowed, "{rest}");
            }
        }
    }
    // The shortest masked fragment at each alignment, within other text.
    for before in ["", "x", "xy"] {
        let encoded = STANDARD.encode(format!("{before}{}zzz", &KEY[12..24]));
        let redacted_text = redactor().redact(&encoded).into_owned();
        assert!(
            redacted_text.contains(MASK) && redacted_text.len() <= MASK.len() + 9,
            "{redacted_text}"
        );
    }
}

#[test]
fn percent_and_json_encodings_are_masked() {
    let percent = "q9%2FZk2%2BLw7%22mPx4vTb8nRc1sYd6hFg3jUe5a";
    check(&format!("?key={percent}&x=1"), "?key=[redacted]&x=1");
    let lower = percent.replace("%2F", "%2f").replace("%2B", "%2b");
    check(&format!("?key={lower}&x=1"), "?key=[redacted]&x=1");
    check(&json!({ "key": KEY }).to_string(), r#"{"key":"[redacted]"}"#);
    check(&json!({ "key": KEY }).to_string().replace('/', "\\/"), r#"{"key":"[redacted]"}"#);
}

#[test]
fn hex_is_masked_whole_and_in_fragments() {
    let lower: String = KEY.bytes().map(|byte| format!("{byte:02x}")).collect();
    check(&format!("hex {lower}."), "hex [redacted].");
    check(&format!("hex {}.", lower.to_uppercase()), "hex [redacted].");
    check(&format!("{}\n{}", &lower[..34], &lower[34..]), "[redacted]\n[redacted]");
    check(&lower[..23], &lower[..23]);
}

#[test]
fn json_strings_are_masked() {
    let value = json!({ KEY: [1, true, null, { "text": format!("a {KEY}") }], "token": "plain" });
    let expected = json!({ MASK: [1, true, null, { "text": "a [redacted]" }], "token": "plain" });
    assert_eq!(redactor().redact_json(&value), expected);
    let headers = json!({ "Authorization": "Basic dXNlcjpwYXNz", "api-key": { "type": "string" } });
    let expected = json!({ "Authorization": MASK, "api-key": { "type": "string" } });
    assert_eq!(redactor().redact_json(&headers), expected);
    for header in HEADERS {
        check(&format!("{header}: abc"), &format!("{header}: [redacted]"));
    }
}

#[test]
fn common_token_forms_are_masked() {
    check("Authorization: Basic dXNlcjpwYXNz\r\nHost: a", "Authorization: [redacted]\r\nHost: a");
    check("x-api-key: short  ", "x-api-key: [redacted]  ");
    check(
        r#"{"authorization": "Token abc", "a": 1}"#,
        r#"{"authorization": "[redacted]", "a": 1}"#,
    );
    check(r#"\"api-key\": \"abc\""#, r#"\"api-key\": \"[redacted]\""#);
    check("curl -H 'bearer abc123def'", "curl -H 'bearer [redacted]'");
    check(
        "Bearer authentication is the bearer of news",
        "Bearer authentication is the bearer of news",
    );
    check(
        "sk-ant-api03-abcdefghijklmnop, task-list-of-the-whole-week",
        "[redacted], task-list-of-the-whole-week",
    );
    check("OPENAI=sk-proj-abcdefghijklmnop1234", "OPENAI=[redacted]");
    check("AIzaSyA1234567890abcdefghijklmnopqrstuv", "[redacted]");
    check("ghp_abcdefghijklmnopqrst0123456789, gho_abcdefghijklmnopqrst", "[redacted], [redacted]");
    check("github_pat_11ABCDEFG0abcdefghijkl", "[redacted]");
    check("AKIAIOSFODNN7EXAMPLE AKIAIOSFODNN7EXAMPLES", "[redacted] AKIAIOSFODNN7EXAMPLES");
    check("xoxb-1234567890-abc", "[redacted]");
}

#[test]
fn private_keys_are_masked_line_by_line() {
    check(
        "+-----BEGIN RSA PRIVATE KEY-----\n+MIIEow\n+Zm9v=\n+-----END RSA PRIVATE KEY-----\n+after",
        "+-----BEGIN RSA PRIVATE KEY-----\n[redacted]\n[redacted]\n+-----END RSA PRIVATE KEY-----\n+after",
    );
    check(
        r"-----BEGIN PRIVATE KEY-----\nMIIEow\n-----END PRIVATE KEY-----",
        "-----BEGIN PRIVATE KEY-----[redacted]-----END PRIVATE KEY-----",
    );
    check(
        "-----BEGIN PRIVATE KEY-----\nMIIEow\nZm9v",
        "-----BEGIN PRIVATE KEY-----\n[redacted]\n[redacted]",
    );
    check(
        "looks for -----BEGIN PRIVATE KEY----- and takes\nwhat follows, to the end",
        "looks for -----BEGIN PRIVATE KEY----- and takes\nwhat follows, to the end",
    );
    let public = "-----BEGIN PUBLIC KEY-----\nMIIB\n-----END PUBLIC KEY-----";
    check(public, public);
}

#[test]
fn multi_line_secret_keeps_its_lines() {
    let redactor = Redactor::new([&SecretString::from("first line of it\nsecond line of it")]);
    assert_eq!(
        redactor.redact("a first line of it\nsecond line of it b"),
        "a [redacted]\n[redacted] b"
    );
}

#[test]
fn placeholders_are_not_masked() {
    for secret in ["redacted", "[redacted]", "a", "dacted] and more of it"] {
        let redactor = Redactor::new([&SecretString::from(secret)]);
        let once = redactor.redact("[redacted] and more of it, a redacted word").into_owned();
        assert_eq!(redactor.redact(&once), once, "{secret}");
    }
}

#[test]
fn known_secrets_only_keeps_key_like_text() {
    let redactor = redactor().known_secrets_only();
    let looks = "Authorization: Basic dXNlcjpwYXNz, ghp_abcdefghijklmnopqrst0123456789, AKIAIOSFODNN7EXAMPLE\n\
        -----BEGIN PRIVATE KEY-----\nMIIEow\n-----END PRIVATE KEY-----";
    assert_eq!(redactor.redact(looks), looks);
    let (half, encoded) = (&KEY[..18], STANDARD.encode(KEY));
    let masked = redactor.redact_json(&json!({ "api-key": "abc", "x": [KEY, half, encoded] }));
    assert_eq!(masked["api-key"], "abc");
    assert_eq!((&masked["x"][0], &masked["x"][1]), (&json!(MASK), &json!(MASK)));
    assert!(masked["x"][2].as_str().unwrap().starts_with(MASK), "{masked}");
}

#[test]
fn debug_output_shows_no_secret() {
    assert_eq!(format!("{:?}", redactor()), "Redactor { .. }");
}

proptest! {
    #[test]
    fn redaction_is_idempotent_and_keeps_lines(pieces in prop::collection::vec(prop_oneof![
        "[a-zä\\[\\]\r\n ]{0,8}",
        Just(KEY.to_owned()),
        (0..KEY.len(), 0..KEY.len()).prop_map(|(a, b)| KEY[a.min(b)..a.max(b)].to_owned()),
        Just(STANDARD.encode(KEY)),
        Just(MASK.to_owned()),
        Just("sk-abcdefghijklmnop1".to_owned()),
        Just("Authorization: Bearer ".to_owned()),
        Just("-----BEGIN PRIVATE KEY-----\n".to_owned()),
        Just("-----END PRIVATE KEY-----".to_owned()),
        Just("AKIAIOSFODNN7EXAMPLE".to_owned()),
    ], 0..12)) {
        let text = pieces.concat();
        let once = redactor().redact(&text).into_owned();
        prop_assert_eq!(redactor().redact(&once), once.as_str());
        prop_assert_eq!(once.matches('\n').count(), text.matches('\n').count());
        for run in KEY.as_bytes().windows(12) {
            prop_assert!(!once.contains(str::from_utf8(run).unwrap()));
        }
    }
}
