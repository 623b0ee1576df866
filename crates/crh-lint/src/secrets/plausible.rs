//! Decides whether text in the format of a credential is a credential. Most such text is a
//! placeholder, a reference, a hash or a sample.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::paths;

/// Minimum entropy of a vendor key, in bits per byte. Hand-written values are below it. Random
/// hexadecimal digits have about 3.6, other random letters more.
const KEY_ENTROPY_MIN: f64 = 3.0;
/// The same for a key of at most [`SHORT_KEY_BYTES_MAX`], which is too short for high entropy.
const SHORT_KEY_ENTROPY_MIN: f64 = 2.6;
const SHORT_KEY_BYTES_MAX: usize = 24;
/// Minimum entropy of a value that is suspicious only because of its name. Identifiers and words
/// reach 3.3.
const VALUE_ENTROPY_MIN: f64 = 3.5;
/// Minimum bytes of a password. Shorter values are placeholders.
const PASSWORD_BYTES_MIN: usize = 6;
/// Minimum bytes of a random value. The entropy of shorter values says little.
const VALUE_BYTES_MIN: usize = 16;

/// Words that people write in place of a credential.
#[rustfmt::skip]
const PLACEHOLDERS: [&str; 34] = [
    "example", "sample", "dummy", "fake", "mock", "test", "placeholder", "changeme", "change_me", "change-me",
    "change-this", "your", "xxxx", "redacted", "replace", "insert", "todo", "fixme", "notreal", "not-real",
    "not_real", "foobar", "deadbeef", "lorem", "default", "secret", "passw", "s3cr3t", "hunter2", "letmein",
    "undefined", "localhost", "invalid", "demo",
];

/// Text that shows that a value is interpolated or shortened.
const INTERPOLATIONS: [&str; 12] =
    ["${", "{{", "$(", "#{", "%(", "%s", "<", ">", "...", "***", "{}", "\u{2026}"];

/// Words in a name that say that the value itself is not a secret.
#[rustfmt::skip]
const NON_SECRET_NAMES: [&str; 52] = [
    "audience", "issuer", "name", "type", "url", "uri", "path", "file", "field", "label", "hint", "prompt",
    "regex", "pattern", "format", "prefix", "suffix", "header", "hash", "digest", "checksum", "public",
    "message", "error", "help", "description", "title", "length", "column", "param", "variable", "env",
    "kind", "class", "selector", "css", "html", "algorithm", "policy", "reset", "endpoint", "expir", "scope",
    "csrf", "xsrf", "count", "limit", "index", "version", "ref", "arn", "_id",
];

/// The published key of the Azure storage emulator.
const AZURE_EMULATOR: &str =
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";

/// Whether a value in a vendor's format is random. The vendor's prefix (`prefix_length` bytes) may
/// be a placeholder word, so it is ignored when placeholders are searched.
pub(super) fn is_key(value: &[u8], prefix_length: usize) -> bool {
    let entropy_min =
        if value.len() <= SHORT_KEY_BYTES_MAX { SHORT_KEY_ENTROPY_MIN } else { KEY_ENTROPY_MIN };
    let after_prefix = value.get(prefix_length..).unwrap_or_default();
    !is_placeholder(after_prefix)
        && value != AZURE_EMULATOR.as_bytes()
        && entropy(value) >= entropy_min
}

/// Whether a password in a URL is real.
pub(super) fn is_password_in_url(path: &str, user: &[u8], password: &[u8], host: &[u8]) -> bool {
    let host = String::from_utf8_lossy(host).to_ascii_lowercase();
    password.len() >= PASSWORD_BYTES_MIN
        && password != user
        && !password.starts_with(b"$")
        && !password.starts_with(b"%")
        && !password.contains(&b'{')
        && !password.iter().all(u8::is_ascii_digit)
        && !is_common_password(password)
        && !is_made_of_placeholders(password)
        && is_real_host(&host)
        && (!paths::is_sample_or_document(path) || is_machine_read_text(path))
}

/// Whether a password in a field of its own is real and not a reference. A value of letters only
/// counts as a password.
pub(super) fn is_password_in_field(path: &str, user: &[u8], value: &[u8], host: &[u8]) -> bool {
    !has_reference_syntax(value) && is_password_in_url(path, user, value, host)
}

/// Whether the text after this part of a line is inside quotes.
pub(super) fn is_quoted(before: &[u8]) -> bool {
    let is_open = |quote| memchr::memchr_iter(quote, before).count() % 2 == 1;
    [b'"', b'\'', b'`'].into_iter().any(is_open)
}

/// Whether a value is random, in a file that is not a sample.
pub(super) fn is_random_secret(path: &str, value: &[u8]) -> bool {
    !paths::is_sample_or_document(path)
        && !is_placeholder(value)
        && !is_reference(value)
        && is_random(value)
}

/// Whether a JWT is not one of the samples in tutorials.
pub(super) fn is_signed_token(path: &str, value: &[u8]) -> bool {
    let payload = value.split(|byte| *byte == b'.').nth(1).unwrap_or_default();
    // The payload may be cut, so decode only complete groups of four letters.
    let payload = &payload[..payload.len() / 4 * 4];
    let payload = URL_SAFE_NO_PAD.decode(payload).unwrap_or_default();
    let claims = String::from_utf8_lossy(&payload).to_ascii_lowercase();
    let is_sample = ["1234567890", "john", "jane", "example", "\"test", "\"foo", "\"some"]
        .into_iter()
        .any(|word| claims.contains(word));
    claims.starts_with('{') && !is_sample && !paths::is_sample_or_document(path)
}

/// Whether a value is a secret, judged by its name, its line and its randomness.
pub(super) fn is_named_secret(path: &str, text: &[u8], name: &[u8], value: &[u8]) -> bool {
    let name = String::from_utf8_lossy(name).to_ascii_lowercase();
    let is_password = name.contains("pass") || name.ends_with("pwd");
    !paths::is_sample_or_document(path)
        && !name.ends_with("id")
        && !NON_SECRET_NAMES.into_iter().any(|word| name.contains(word))
        && !is_placeholder(value)
        && !is_reference(value)
        && !is_hash_line(text)
        && (is_random(value) || is_password && is_complex_password(value))
}

/// Whether a text file is read by programs, such as `requirements.txt`, not by people.
pub(super) fn is_machine_read_text(path: &str) -> bool {
    #[rustfmt::skip]
    const FOR_PEOPLE: [&str; 18] = [
        "readme", "changelog", "changes", "license", "licence", "notice", "news", "history", "authors", "install",
        "todo", "contributing", "copying", "notes", "help", "usage", "faq", "guide",
    ];
    let name = path.rsplit('/').next().unwrap_or(path);
    paths::extension(path) == "txt"
        && !paths::is_sample(path)
        && !path.split('/').any(|part| matches!(part, "docs" | "doc" | "documentation"))
        && !paths::name_words(name).any(|word| FOR_PEOPLE.contains(&word.as_str()))
}

fn is_placeholder(value: &[u8]) -> bool {
    let value = String::from_utf8_lossy(value).to_ascii_lowercase();
    PLACEHOLDERS.into_iter().any(|word| value.contains(word))
        || INTERPOLATIONS.into_iter().any(|sign| value.contains(sign))
        || has_run(value.as_bytes())
}

/// Whether a password consists only of placeholder words. A real password in a URL may contain such
/// a word among others.
fn is_made_of_placeholders(value: &[u8]) -> bool {
    /// Maximum other letters and digits in a made-up password: `mypassword12` has two.
    const OTHER_CHARS_MAX: usize = 3;
    #[rustfmt::skip]
    const WORDS: [&str; 16] = [
        "password", "p4ssw0rd", "p@ss", "p4ss", "pass", "word", "user", "here", "the", "my", "some", "token", "api",
        "key", "access", "auth",
    ];
    let mut value = String::from_utf8_lossy(value).to_ascii_lowercase();
    if INTERPOLATIONS.into_iter().any(|sign| value.contains(sign)) || has_run(value.as_bytes()) {
        return true;
    }
    for word in WORDS.into_iter().chain(PLACEHOLDERS) {
        value = value.replace(word, "");
    }
    value.bytes().filter(u8::is_ascii_alphanumeric).count() <= OTHER_CHARS_MAX
}

/// Whether a value has the same byte five times in a row, or seven bytes that count up, such as
/// `1234567`.
fn has_run(value: &[u8]) -> bool {
    let (mut same, mut rising) = (1, 1);
    for pair in value.windows(2) {
        same = if pair[0] == pair[1] { same + 1 } else { 1 };
        rising = if pair[0].checked_add(1) == Some(pair[1]) { rising + 1 } else { 1 };
        if same == 5 || rising == 7 {
            return true;
        }
    }
    false
}

#[rustfmt::skip]
const COMMON_PASSWORDS: [&str; 15] = [
    "postgres", "mysql", "mariadb", "mongodb", "rabbitmq", "redis", "root", "admin", "guest", "qwerty", "username", "user_pw",
    "userpass", "dbpass", "db_pass",
];

fn is_common_password(value: &[u8]) -> bool {
    COMMON_PASSWORDS.contains(&String::from_utf8_lossy(value).to_ascii_lowercase().as_str())
}

/// First parts of hosts that are placeholders.
const SAMPLE_HOSTS: [&str; 9] =
    ["host", "hostname", "server", "domain", "127", "0", "localhost", "foo", "bar"];
const SAMPLE_ADDRESSES: [&str; 6] =
    ["host.docker.internal", "domain.com", "server.com", "host.com", "foo.com", "bar.com"];

fn is_real_host(host: &str) -> bool {
    let first = host.split('.').next().unwrap_or(host);
    let last = host.rsplit('.').next().unwrap_or(host);
    host.contains('.')
        && !host.contains("example")
        && !SAMPLE_HOSTS.contains(&first)
        && !matches!(last, "test" | "local" | "localhost" | "invalid" | "localdomain")
        && !SAMPLE_ADDRESSES.contains(&host)
}

/// Whether a value is a reference: a variable, a path, a URL, or words joined by dots or dashes.
fn is_reference(value: &[u8]) -> bool {
    has_reference_syntax(value)
        || value.iter().all(|byte| byte.is_ascii_alphabetic() || *byte == b'_')
}

/// Whether the punctuation of a value makes it a reference. A single word is not a reference here.
fn has_reference_syntax(value: &[u8]) -> bool {
    let value = String::from_utf8_lossy(value);
    let is_words = |separator: char| {
        value.contains(separator)
            && value
                .split(separator)
                .all(|part| part.bytes().all(|byte| byte.is_ascii_alphabetic() || byte == b'_'))
    };
    let starts_like_reference =
        value.starts_with(['$', '%', '@', '&', '#', '!']) && !is_strong(value.as_bytes());
    starts_like_reference
        || value.starts_with(['/', '.', '~'])
        || value.contains("://")
        || value.contains("::")
        || value.contains("->")
        || value.contains('(')
        || value.contains('\\')
        || ['.', '-', '/', ':'].into_iter().any(is_words)
}

/// Whether a value that starts with a sign is a password rather than a variable: it has all kinds
/// of characters, including signs that no variable contains. A second dollar marks a password hash.
fn is_strong(value: &[u8]) -> bool {
    /// Minimum bytes of a strong password. Shorter values may be variables.
    const STRONG_BYTES_MIN: usize = 10;
    let Some((first, rest)) = value.split_first() else { return false };
    let has = |is: fn(&u8) -> bool| rest.iter().any(is);
    value.len() >= STRONG_BYTES_MIN
        && has(u8::is_ascii_lowercase)
        && has(u8::is_ascii_uppercase)
        && has(u8::is_ascii_digit)
        && has(|byte| b"!@#^&*+=?".contains(byte))
        && !(*first == b'$' && rest.contains(&b'$'))
}

fn is_hash_line(text: &[u8]) -> bool {
    let text = String::from_utf8_lossy(text).to_ascii_lowercase();
    ["sha1", "sha256", "sha384", "sha512", "md5", "integrity", "checksum", "fingerprint"]
        .into_iter()
        .any(|word| text.contains(word))
}

/// Whether a value is long, has letters and digits, and has high entropy.
fn is_random(value: &[u8]) -> bool {
    value.len() >= VALUE_BYTES_MIN
        && value.iter().any(u8::is_ascii_digit)
        && value.iter().any(u8::is_ascii_alphabetic)
        && entropy(value) >= VALUE_ENTROPY_MIN.min(entropy_cap(value))
}

/// The entropy that is enough for hexadecimal digits and UUIDs. Random values of this kind may have
/// less than [`VALUE_ENTROPY_MIN`].
fn entropy_cap(value: &[u8]) -> f64 {
    let is_hex = |byte: &u8| byte.is_ascii_hexdigit() || *byte == b'-';
    if value.iter().all(is_hex) { 3.0 } else { f64::INFINITY }
}

/// Whether a value mixes lower-case letters, upper-case letters, digits and signs. Three of these
/// kinds are enough if the value has a digit and at least ten bytes.
fn is_complex_password(value: &[u8]) -> bool {
    let has = |is: fn(&u8) -> bool| usize::from(value.iter().any(is));
    let kinds = has(u8::is_ascii_lowercase)
        + has(u8::is_ascii_uppercase)
        + has(u8::is_ascii_digit)
        + has(u8::is_ascii_punctuation);
    kinds == 4 || kinds == 3 && value.len() >= 10 && value.iter().any(u8::is_ascii_digit)
}

/// Shannon entropy in bits per byte.
fn entropy(value: &[u8]) -> f64 {
    let mut counts: BTreeMap<u8, u32> = BTreeMap::new();
    for byte in value {
        *counts.entry(*byte).or_default() += 1;
    }
    let length = f64::from(u32::try_from(value.len()).unwrap_or(u32::MAX));
    -counts
        .values()
        .map(|count| f64::from(*count) / length)
        .map(|share| share * share.log2())
        .sum::<f64>()
}
