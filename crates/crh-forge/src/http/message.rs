//! Formats texts of a server as one line of limited length, for error messages.

use secrecy::{ExposeSecret, SecretString};

/// Longest message, in characters. Error sentences of forges have up to 200 characters, lists of
/// errors more.
pub(crate) const MESSAGE_MAX: usize = 500;

/// Text that replaces a token.
pub(crate) const MASK: &str = "[redacted]";

/// Argument for texts that cannot contain a token.
pub(crate) const NO_SECRET: Option<&SecretString> = None;

/// Joins a text to one line of limited length and masks the token.
pub(crate) fn single_line(text: &str, token: Option<&SecretString>) -> String {
    let masked = match token.map(ExposeSecret::expose_secret).filter(|token| !token.is_empty()) {
        Some(token) => text.replace(token, MASK),
        None => text.to_owned(),
    };
    let words = masked.split(|char: char| char.is_whitespace() || char.is_control());
    let line = words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
    // Callers put the text into the middle of a sentence.
    let line = line.trim_end_matches('.');
    match line.char_indices().nth(MESSAGE_MAX) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}
