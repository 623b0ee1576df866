//! What a host says, as one line of bounded length that can be shown. Pure.

use secrecy::{ExposeSecret, SecretString};

/// The longest message that is passed on, in characters: a forge's own sentences have up to 200, with a list of errors more.
pub(crate) const MESSAGE_MAX: usize = 500;

/// What stands in the place of a token.
pub(crate) const MASK: &str = "[redacted]";

/// For a text in which no token can be.
pub(crate) const NO_SECRET: Option<&SecretString> = None;

/// A text of a host's as one line of bounded length, without the token.
pub(crate) fn shown(text: &str, token: Option<&SecretString>) -> String {
    let masked = match token.map(ExposeSecret::expose_secret).filter(|token| !token.is_empty()) {
        Some(token) => text.replace(token, MASK),
        None => text.to_owned(),
    };
    let words = masked.split(|char: char| char.is_whitespace() || char.is_control());
    let line = words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
    // Their sentences stand inside of ours.
    let line = line.trim_end_matches('.');
    match line.char_indices().nth(MESSAGE_MAX) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}
