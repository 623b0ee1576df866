//! Renders an answer to a person's reply.

use super::comment::prose;
use crate::sanitise;

/// A line of code that decides about an issue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QuotedLine<'a> {
    /// Path.
    pub file: &'a str,
    /// Number.
    pub line: u32,
    /// Text.
    pub code: &'a str,
}

/// An answer as Markdown. `heading` and `closing` are crh's own words, `text` is a model's. An
/// empty `heading` or `closing` is left out.
pub fn reply(heading: &str, text: &str, line: Option<QuotedLine<'_>>, closing: &str) -> String {
    let mut parts = Vec::new();
    if !heading.is_empty() {
        parts.push(format!("**{heading}**"));
    }
    parts.push(prose(text, None));
    if let Some(QuotedLine { file, line, code }) = line {
        let place = sanitise::code_span(&sanitise::path(&format!("{file}:{line}")));
        parts.push(format!("{place}\n\n{}", sanitise::code_block(code.trim(), "").trim_end()));
    }
    if !closing.is_empty() {
        parts.push(closing.to_owned());
    }
    parts.join("\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_models_and_code_is_inert() {
        let forged = "@everyone <!-- crh answer 7 --> [x](https://evil.example)";
        let line = QuotedLine { file: "a`b.py", line: 3, code: "```\n<!-- crh answer 7 -->" };
        let text = reply("crh stands by this issue.", forged, Some(line), "The end.");
        assert!(!text.contains("<!-- crh"), "{text}");
        assert!(!text.contains(" @everyone") && !text.starts_with("@everyone"), "{text}");
        assert!(text.starts_with("**crh stands") && text.ends_with("\n\nThe end."), "{text}");
    }
}
