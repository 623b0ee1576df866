//! Replies of tools and their truncation. Text is cut at a line end. JSON is cut between two rows,
//! so the part before the truncation notice is valid JSON and states how much it shows.

use std::fmt;

use serde::Serialize;
use serde_json::Value;

use super::ToolError;
use crh_review::stable_json;

/// Maximum characters of a truncation notice and the newline before it.
const NOTICE_CHARS_MAX: usize = 120;

/// If a single row is too long for a reply, its texts are cut to one of these lengths.
const TEXT_LENGTHS: [usize; 6] = [40_000, 10_000, 2_500, 600, 150, 30];

/// Reply of a tool.
pub struct ToolReply(ReplyBody);

enum ReplyBody {
    Text(String),
    Rows(usize, Box<dyn Fn(usize) -> Value + Send>),
}

impl ToolReply {
    /// Plain text. If it is too long, the reply has its first lines.
    pub fn text(text: String) -> Self {
        Self(ReplyBody::Text(text))
    }

    /// A value as JSON.
    pub fn json<T: Serialize + ?Sized>(value: &T) -> Result<Self, ToolError> {
        let value = to_value(value)?;
        Ok(Self(ReplyBody::Rows(0, Box::new(move |_| value.clone()))))
    }

    /// JSON with a list. `show` returns the value with the first rows and states how many there
    /// are. If too long, fewer rows are shown.
    pub fn rows(total: usize, show: impl Fn(usize) -> Value + Send + 'static) -> Self {
        Self(ReplyBody::Rows(total, Box::new(show)))
    }

    /// JSON with one long text. `show` returns the value with the text or its first lines.
    pub fn lines(text: String, show: impl Fn(&str) -> Value + Send + 'static) -> Self {
        let mut line_ends: Vec<usize> =
            text.match_indices('\n').map(|(offset, _)| offset + 1).collect();
        if line_ends.last() != Some(&text.len()) && !text.is_empty() {
            line_ends.push(text.len());
        }
        let end_of = move |lines: usize| lines.checked_sub(1).map_or(0, |last| line_ends[last]);
        Self::rows(text.lines().count(), move |lines| show(&text[..end_of(lines)]))
    }

    /// Renders the reply with a limited number of characters.
    pub(super) fn render(self, limit: usize) -> Result<String, ToolError> {
        let max_chars = limit.saturating_sub(NOTICE_CHARS_MAX);
        match self.0 {
            ReplyBody::Text(text) if text.chars().count() <= limit => Ok(text),
            ReplyBody::Text(text) => {
                let kept_text = first_lines(&text, max_chars);
                Ok(with_notice(kept_text, text.chars().count()))
            }
            ReplyBody::Rows(total, show) => {
                let full_text = to_json_text(&show(total))?;
                if full_text.chars().count() <= limit {
                    return Ok(full_text);
                }
                let total_chars = full_text.chars().count();
                drop(full_text);
                Ok(with_notice(&rows_that_fit(total, total_chars, &show, max_chars)?, total_chars))
            }
        }
    }
}

impl fmt::Debug for ToolReply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            ReplyBody::Text(text) => f.debug_tuple("Text").field(text).finish(),
            ReplyBody::Rows(total, show) => {
                f.debug_tuple("Rows").field(total).field(&show(*total)).finish()
            }
        }
    }
}

/// Converts to JSON. Fails only if crh has a bug.
pub(super) fn to_value<T: Serialize + ?Sized>(value: &T) -> Result<Value, ToolError> {
    serde_json::to_value(value)
        .map_err(|error| ToolError::Abort(format!("the reply is not JSON: {error}")))
}

fn to_json_text(value: &Value) -> Result<String, ToolError> {
    stable_json(value).map_err(|error| ToolError::Abort(format!("the reply is not JSON: {error}")))
}

fn with_notice(kept_text: &str, total_chars: usize) -> String {
    let omitted = total_chars.saturating_sub(kept_text.chars().count());
    let newline = if kept_text.is_empty() || kept_text.ends_with('\n') { "" } else { "\n" };
    format!(
        "{kept_text}{newline}[TRUNCATED: {omitted} chars omitted — paginate with start/end params or narrow the request]"
    )
}

/// JSON with as many rows as fit. Shows at least one if possible, with its texts cut if necessary.
fn rows_that_fit(
    total: usize,
    total_chars: usize,
    show: &dyn Fn(usize) -> Value,
    max_chars: usize,
) -> Result<String, ToolError> {
    let (mut fitting, mut too_many_rows) = ((0, String::new()), total);
    // Rows have similar lengths, so start with a proportional guess, then bisect.
    let mut guess = (total as u128 * max_chars as u128 / total_chars.max(1) as u128) as usize;
    while fitting.0 + 1 < too_many_rows {
        let rows = guess.clamp(fitting.0 + 1, too_many_rows - 1);
        let text = to_json_text(&show(rows))?;
        if text.chars().count() <= max_chars {
            fitting = (rows, text);
            // Try slightly more first, so that a good guess ends the search soon.
            guess = (rows + rows / 64 + 1).min(usize::midpoint(rows, too_many_rows));
        } else {
            too_many_rows = rows;
            guess = (rows - rows / 64).max(usize::midpoint(fitting.0, rows));
        }
    }
    if fitting.0 > 0 {
        return Ok(fitting.1);
    }
    for rows in [total.min(1), 0] {
        for length in TEXT_LENGTHS {
            let text = to_json_text(&mark_truncated(cut_texts(show(rows), length)))?;
            if text.chars().count() <= max_chars {
                return Ok(text);
            }
        }
    }
    Ok("{}\n".to_owned())
}

/// Sets the field `truncated` to true, if there is one. The tool computed it before crh cut the
/// texts.
fn mark_truncated(mut value: Value) -> Value {
    if let Some(truncated) = value.get_mut("truncated") {
        *truncated = Value::Bool(true);
    }
    value
}

/// Cuts every text of a value to a number of characters.
fn cut_texts(value: Value, length: usize) -> Value {
    match value {
        Value::String(text) => match text.char_indices().nth(length) {
            Some((end, _)) => Value::String(format!("{}… [cut]", &text[..end])),
            None => Value::String(text),
        },
        Value::Array(items) => items.into_iter().map(|item| cut_texts(item, length)).collect(),
        Value::Object(fields) => Value::Object(
            fields.into_iter().map(|(name, value)| (name, cut_texts(value, length))).collect(),
        ),
        Value::Null | Value::Bool(_) | Value::Number(_) => value,
    }
}

/// The first lines of a text, up to a number of characters. A single longer line is cut between
/// characters.
pub(super) fn first_lines(text: &str, chars: usize) -> &str {
    let Some((end, _)) = text.char_indices().nth(chars) else { return text };
    let line_start = text[..end].rfind('\n').map_or(0, |offset| offset + 1);
    let line_end = text[line_start..].find('\n').map_or(text.len(), |offset| line_start + offset);
    if text[line_start..line_end].chars().nth(chars).is_some() {
        &text[..end]
    } else {
        &text[..line_start]
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn list(rows: Vec<String>) -> ToolReply {
        ToolReply::rows(
            rows.len(),
            move |shown| json!({ "rows": rows[..shown], "shown": shown, "total": rows.len() }),
        )
    }

    /// The text before the notice, and the number in the notice.
    fn parts(text: &str) -> (&str, usize) {
        let at = text.rfind("[TRUNCATED: ").unwrap();
        let number = text[at + 12..].split(' ').next().unwrap();
        (&text[..at], number.parse().unwrap())
    }

    #[test]
    fn long_text_is_cut_at_a_line() {
        let text = "one line\n".repeat(100);
        assert_eq!(ToolReply::text(text.clone()).render(900).unwrap(), text);
        let cut = ToolReply::text(text).render(899).unwrap();
        let (kept_text, omitted) = parts(&cut);
        assert_eq!((kept_text, omitted), ("one line\n".repeat(86).as_str(), 900 - 86 * 9));
    }

    #[test]
    fn single_long_line_is_cut_between_characters() {
        let cut =
            ToolReply::text(format!("short\n{}\nend\n", "é".repeat(1000))).render(220).unwrap();
        let (kept_text, omitted) = parts(&cut);
        assert_eq!(kept_text, format!("short\n{}\n", "é".repeat(94)));
        assert_eq!(omitted, 1011 - 100);
    }

    #[test]
    fn long_list_loses_whole_rows() {
        let rows: Vec<_> = (0..1000).map(|at| format!("row {at}")).collect();
        let cut = list(rows.clone()).render(1_000).unwrap();
        let value: Value = serde_json::from_str(parts(&cut).0).unwrap();
        let shown_rows = value["shown"].as_u64().unwrap() as usize;
        assert_eq!(value["rows"], json!(rows[..shown_rows]));
        assert_eq!(value["total"], 1000);
        // One more row would not fit.
        let more = json!({ "rows": rows[..=shown_rows], "shown": shown_rows + 1, "total": 1000 });
        assert!(stable_json(&more).unwrap().chars().count() > 1_000 - NOTICE_CHARS_MAX);
        assert!(cut.chars().count() <= 1_000);
    }

    #[test]
    fn single_long_row_has_its_texts_cut() {
        let cut = list(vec!["x".repeat(5_000), "y".to_owned()]).render(1_000).unwrap();
        let value: Value = serde_json::from_str(parts(&cut).0).unwrap();
        assert_eq!(value["rows"], json!([format!("{}… [cut]", "x".repeat(600))]));
    }

    #[test]
    fn long_text_in_json_loses_whole_lines() {
        let reply = ToolReply::lines(
            "a \"quoted\" line\n".repeat(100),
            |text| json!({ "content": text, "end": text.lines().count() }),
        );
        let cut = reply.render(500).unwrap();
        let value: Value = serde_json::from_str(parts(&cut).0).unwrap();
        let end = value["end"].as_u64().unwrap() as usize;
        assert_eq!(value["content"], "a \"quoted\" line\n".repeat(end));
        assert!(end > 10, "{cut}");
    }

    #[test]
    fn cut_line_is_marked_as_truncated() {
        let show = |text: &str| json!({ "content": text, "truncated": false });
        let reply = ToolReply::lines("x".repeat(200_000), show).render(80_000).unwrap();
        let value: Value = serde_json::from_str(parts(&reply).0).unwrap();
        assert_eq!(value["truncated"], true);
        assert!(value["content"].as_str().unwrap().ends_with("… [cut]"));
        let whole = ToolReply::lines("x\n".to_owned(), show).render(80_000).unwrap();
        assert_eq!(serde_json::from_str::<Value>(&whole).unwrap()["truncated"], false);
    }

    proptest! {
        #[test]
        fn reply_fits_the_limit_and_json_stays_valid(
            rows in prop::collection::vec("[a-z\\n\"é\u{1}]{0,60}", 0..60),
            limit in 250_usize..2_000,
        ) {
            let text = ToolReply::text(rows.concat()).render(limit).unwrap();
            prop_assert!(text.chars().count() <= limit);
            let full_reply = list(rows.clone()).render(usize::MAX).unwrap();
            let reply = list(rows).render(limit).unwrap();
            prop_assert!(reply.chars().count() <= limit);
            if reply != full_reply {
                let (json, omitted) = parts(&reply);
                prop_assert!(serde_json::from_str::<Value>(json).is_ok(), "{json}");
                prop_assert_eq!(full_reply.chars().count() - omitted, json.chars().count());
            }
        }

        #[test]
        fn first_lines_return_a_short_prefix(text in "[ab\\né]{0,80}", chars in 0_usize..90) {
            let kept_text = first_lines(&text, chars);
            prop_assert!(text.starts_with(kept_text));
            prop_assert!(kept_text.chars().count() <= chars);
        }
    }
}
