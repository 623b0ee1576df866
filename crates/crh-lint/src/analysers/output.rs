//! The output of an analyser, as JSON or as text for a message.

use serde::de::DeserializeOwned;

use crate::process::ProcessOutput;
use crate::whitespace::fold_whitespace;

/// How much of an analyser's stderr is quoted.
const STDERR_CHARS_MAX: usize = 300;

/// The start of an analyser's stderr, on one line.
pub(crate) fn stderr_summary(stderr: &[u8]) -> String {
    let text = fold_whitespace(&String::from_utf8_lossy(stderr));
    match text.char_indices().nth(STDERR_CHARS_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None if text.is_empty() => "it said nothing".to_owned(),
        None => text,
    }
}

/// Parses stdout as JSON. The error is a sentence.
pub(super) fn parse_json<T: DeserializeOwned>(output: &ProcessOutput) -> Result<T, String> {
    serde_json::from_slice(&output.stdout).map_err(|_| {
        format!("what it printed is not understood; it says: {}", stderr_summary(&output.stderr))
    })
}
