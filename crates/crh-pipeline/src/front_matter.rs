//! Front matter: YAML keys between two `---` lines at the top of a file.

use serde::de::DeserializeOwned;

/// Maximum number of YAML values. The file may be hostile, and a real one has fewer than a hundred.
const VALUES_MAX: usize = 2_000;
/// Maximum YAML depth. The deepest value of a reviewer's keys is a word in a list in a trigger.
const DEPTH_MAX: usize = 8;

/// Splits a text into front matter and body. The front matter includes its opening line, so that
/// line numbers in errors match the file.
pub(crate) fn split(text: &str) -> Result<(&str, &str), String> {
    let missing_front_matter =
        || "it has no front matter: write the keys between two `---` lines at the top".to_owned();
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut lines = text.split_inclusive('\n');
    let first =
        lines.next().filter(|line| line.trim_end() == "---").ok_or_else(missing_front_matter)?;
    let mut offset = first.len();
    for line in lines {
        if line.trim_end() == "---" {
            return Ok((&text[..offset], &text[offset + line.len()..]));
        }
        offset += line.len();
    }
    Err("its front matter is not closed: add a `---` line after the keys".to_owned())
}

/// Parses untrusted YAML within limits. The error completes a sentence.
pub(crate) fn parse_yaml<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    let budget = serde_saphyr::budget! { max_nodes: VALUES_MAX, max_depth: DEPTH_MAX };
    let options = serde_saphyr::options! { budget: budget };
    serde_saphyr::from_str_with_options(text, options).map_err(|error| {
        let error = error.without_snippet().to_string();
        format!("its front matter is invalid: {}", error.lines().next().unwrap_or_default())
    })
}
