//! Writes `case.toml`. The same case always gives the same text, with keys in reading order.

use crate::case::Case;
use crate::checked::DRAFT;
use crh_review::eval::{Expected, KnownBad, Span};
use crh_review::finding::Side;

/// Title and body of a change or of its twin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ChangeWords {
    pub(super) title: String,
    pub(super) body: String,
}

/// Text of the `case.toml`. `removed` lists the paths that the change deletes.
pub(super) fn case_file(case: &Case, removed: &[&str], twin: Option<&ChangeWords>) -> String {
    let mut text = String::new();
    words(&mut text, &case.title, &case.body);
    text += &format!("language = {}\n", string(&case.language));
    if !case.licence.is_empty() {
        text += &format!("licence = {}\n", string(&case.licence));
    }
    if let Some(of) = &case.twin_of {
        text += &format!("twin_of = {}\n", string(of));
    }
    if !removed.is_empty() {
        text += &format!("removed = {}\n", list(removed.iter().copied()));
    }
    if case.is_draft {
        text += "# Draft: no labels yet. Add an `[[expected]]` for each defect, then remove the next line.\n";
        text += "draft = true\n";
    }
    case.expected.iter().for_each(|issue| expected(&mut text, issue));
    case.known_bad.iter().for_each(|bad| known_bad(&mut text, bad));
    if let Some(ChangeWords { title, body }) = twin {
        text += "\n[twin]\n";
        words(&mut text, title, body);
    }
    text
}

fn words(text: &mut String, title: &str, body: &str) {
    *text += &format!("title = {}\n", string(title));
    if !body.trim().is_empty() {
        *text += &format!("body = {}\n", paragraph(body));
    }
}

fn expected(text: &mut String, issue: &Expected) {
    let Expected { spans, category, severity, description, keywords, omission, on_twin: _ } = issue;
    let mut spans = spans.iter();
    if category.is_none() || spans.len() == 0 {
        *text += "\n[[comment]]\n";
        spans.next().into_iter().for_each(|span| place(text, span));
        *text += &format!("severity = {}\n", string(&severity.to_string()));
        *text += &format!("text = {}\n", string(description));
        return;
    }
    *text += "\n[[expected]]\n";
    spans.next().into_iter().for_each(|span| place(text, span));
    if description.starts_with(DRAFT) {
        *text +=
            "# Edit this: what is wrong, category, severity, and whether these lines show it.\n";
    }
    if let Some(category) = category {
        *text += &format!("category = {}\n", string(&category.to_string()));
    }
    *text += &format!("severity = {}\n", string(&severity.to_string()));
    *text += &format!("description = {}\n", string(description));
    if !keywords.is_empty() {
        *text += &format!("keywords = {}\n", list(keywords.iter().map(String::as_str)));
    }
    if *omission {
        *text += "omission = true\n";
    }
    if spans.len() > 0 {
        *text += "also = [\n";
        spans.for_each(|span| *text += &format!("    {{ {} }},\n", keys(span).join(", ")));
        *text += "]\n";
    }
}

fn known_bad(text: &mut String, bad: &KnownBad) {
    *text += "\n[[known_bad]]\n";
    place(text, &bad.span);
    *text += &format!("description = {}\n", string(&bad.description));
}

fn place(text: &mut String, span: &Span) {
    keys(span).iter().for_each(|key| *text += &format!("{key}\n"));
}

fn keys(span: &Span) -> Vec<String> {
    let mut keys = vec![
        format!("file = {}", string(span.file())),
        format!("line_start = {}", span.line_start()),
        format!("line_end = {}", span.line_end()),
    ];
    match span.side() {
        Side::New => {}
        Side::Old => keys.push("side = \"old\"".to_owned()),
    }
    keys
}

fn list<'a>(words: impl Iterator<Item = &'a str>) -> String {
    format!("[{}]", words.map(string).collect::<Vec<_>>().join(", "))
}

/// A one-line TOML string.
fn string(text: &str) -> String {
    format!("\"{}\"", escaped(text).replace('\n', "\\n").replace('"', "\\\""))
}

/// A multi-line TOML string, with a final newline, which crh removes when it reads the case.
fn paragraph(text: &str) -> String {
    // Escape the second of two quotes, so that three quotes never end the string early.
    let text = escaped(text.trim_end()).replace("\"\"", "\"\\\"");
    format!("\"\"\"\n{text}\n\"\"\"")
}

/// Escapes everything that TOML does not accept literally, except newlines and quotes.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '\\' => out.push_str("\\\\"),
            '\n' => out.push('\n'),
            '\t' => out.push_str("\\t"),
            _ if char.is_control() => out.push_str(&format!("\\u{:04X}", u32::from(char))),
            _ => out.push(char),
        }
    }
    out
}

#[cfg(test)]
mod tests;
