//! Converts a ticket body from Markdown to the Atlassian Document Format.
//!
//! The format treats text literally, so Markdown escapes are removed.

use serde_json::{Value, json};

/// The document of a ticket, with the marker as its last paragraph.
pub(super) fn document(body: &str, marker: &str) -> Value {
    let mut content = Vec::new();
    let mut lines = body.lines();
    while let Some(line) = lines.next() {
        let text = line.trim();
        let ticks = text.len() - text.trim_start_matches('`').len();
        if ticks >= 3 {
            let fence = "`".repeat(ticks);
            let code: Vec<&str> = lines.by_ref().take_while(|line| line.trim() != fence).collect();
            content.push(code_block(&code, &text[ticks..]));
        } else if let Some(heading) = text.strip_prefix("## ") {
            content.push(
                json!({ "type": "heading", "attrs": { "level": 2 }, "content": [text_node(heading)] }),
            );
        } else if let Some(item) = text.strip_prefix("- ") {
            content.push(paragraph(&format!("• {item}")));
        } else if !text.is_empty() {
            content.push(paragraph(text));
        }
    }
    content.push(paragraph(marker));
    json!({ "type": "doc", "version": 1, "content": content })
}

/// Whether a text node of the document equals this text.
pub(super) fn has_text(document: &Value, text: &str) -> bool {
    match document {
        Value::Object(node) => {
            node.get("text")
                .and_then(Value::as_str)
                .is_some_and(|node_text| node_text.trim() == text)
                || node.get("content").is_some_and(|content| has_text(content, text))
        }
        Value::Array(nodes) => nodes.iter().any(|node| has_text(node, text)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

fn paragraph(text: &str) -> Value {
    json!({ "type": "paragraph", "content": [text_node(text)] })
}

/// A code block without the two spaces that indent it in Markdown. The format does not allow empty
/// text nodes.
fn code_block(lines: &[&str], language: &str) -> Value {
    let lines: Vec<&str> =
        lines.iter().map(|line| line.strip_prefix("  ").unwrap_or(line)).collect();
    let text = without_zero_width(&lines.join("\n"));
    let mut block = json!({ "type": "codeBlock" });
    if !language.is_empty() {
        block["attrs"] = json!({ "language": language });
    }
    if !text.is_empty() {
        block["content"] = json!([{ "type": "text", "text": text }]);
    }
    block
}

/// A text node, without Markdown escapes.
fn text_node(text: &str) -> Value {
    let mut unescaped = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(char) = chars.next() {
        match char {
            '\\' if chars.peek().is_some_and(char::is_ascii_punctuation) => {}
            _ => unescaped.push(char),
        }
    }
    let unescaped = unescaped.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
    json!({ "type": "text", "text": without_zero_width(&unescaped) })
}

fn without_zero_width(text: &str) -> String {
    text.replace('\u{200b}', "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markdown_escapes_are_removed() {
        let body = "It \\[fails\\] at a &lt;b&gt; @\u{200b}ann.\n\n## Evidence\n\n- `a.rs:1`\n\n  ````rust\n    let a = 1;\n  ```\n\n  ````\n";
        let text = |text: &str| json!({ "type": "text", "text": text });
        let paragraph = |words: &str| json!({ "type": "paragraph", "content": [text(words)] });
        let expected = json!({ "type": "doc", "version": 1, "content": [
            paragraph("It [fails] at a <b> @ann."),
            { "type": "heading", "attrs": { "level": 2 }, "content": [text("Evidence")] },
            paragraph("• `a.rs:1`"),
            { "type": "codeBlock", "attrs": { "language": "rust" }, "content": [text("  let a = 1;\n```\n")] },
            paragraph("crh:crh:1"),
        ]});
        let doc = document(body, "crh:crh:1");
        assert_eq!(doc, expected);
        assert!(has_text(&doc, "crh:crh:1") && !has_text(&doc, "crh:crh"));
    }

    #[test]
    fn document_has_no_empty_text() {
        let doc = document("```\n```\n\n\n", "m");
        assert_eq!(
            doc["content"],
            json!([{ "type": "codeBlock" }, { "type": "paragraph", "content": [{ "type": "text", "text": "m" }] }])
        );
    }
}
