//! What a tool answers, and how it is cut to size: text at the end of a line, JSON between two rows, so that what
//! comes before the notice is still JSON and says itself how much it shows.

use std::fmt;

use serde::Serialize;
use serde_json::Value;

use super::ToolError;
use crh_review::stable_json;

/// Room for the notice with the largest number in it, and for a newline before it.
const NOTICE_ROOM: usize = 120;

/// A row that is too long for a reply by itself has its texts cut to one of these lengths. Each is a fraction of
/// the one before, so that few are tried.
const TEXT_LENGTHS: [usize; 6] = [40_000, 10_000, 2_500, 600, 150, 30];

/// The answer of a tool.
pub struct Reply(Body);

enum Body {
    Text(String),
    Rows(usize, Box<dyn Fn(usize) -> Value + Send>),
}

impl Reply {
    /// Text for the model as it is. If it is too long, its first lines stay.
    pub fn text(text: String) -> Self {
        Self(Body::Text(text))
    }

    /// A value as stable JSON.
    pub fn json<T: Serialize + ?Sized>(value: &T) -> Result<Self, ToolError> {
        let value = to_value(value)?;
        Ok(Self(Body::Rows(0, Box::new(move |_| value.clone()))))
    }

    /// JSON with a list in it. `show` gives the value with the first so many rows, and a word in it on how many
    /// there are: if all are too long together, fewer stay.
    pub fn rows(total: usize, show: impl Fn(usize) -> Value + Send + 'static) -> Self {
        Self(Body::Rows(total, Box::new(show)))
    }

    /// JSON with one long text in it. `show` gives the value with the text, or with its first lines.
    pub fn lines(text: String, show: impl Fn(&str) -> Value + Send + 'static) -> Self {
        let mut ends: Vec<usize> = text.match_indices('\n').map(|(at, _)| at + 1).collect();
        if ends.last() != Some(&text.len()) && !text.is_empty() {
            ends.push(text.len());
        }
        let end = move |lines: usize| lines.checked_sub(1).map_or(0, |last| ends[last]);
        Self::rows(text.lines().count(), move |lines| show(&text[..end(lines)]))
    }

    /// The reply as text of at most so many characters.
    pub(super) fn within(self, limit: usize) -> Result<String, ToolError> {
        let room = limit.saturating_sub(NOTICE_ROOM);
        match self.0 {
            Body::Text(text) if text.chars().count() <= limit => Ok(text),
            Body::Text(text) => {
                let kept = first_lines(&text, room);
                Ok(with_notice(kept, text.chars().count()))
            }
            Body::Rows(total, show) => {
                let whole = shown(&show(total))?;
                if whole.chars().count() <= limit {
                    return Ok(whole);
                }
                let omitted_from = whole.chars().count();
                drop(whole);
                Ok(with_notice(&most_rows(total, omitted_from, &show, room)?, omitted_from))
            }
        }
    }
}

impl fmt::Debug for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Body::Text(text) => f.debug_tuple("Text").field(text).finish(),
            Body::Rows(total, show) => {
                f.debug_tuple("Rows").field(total).field(&show(*total)).finish()
            }
        }
    }
}

/// A value of ours as JSON; failing is a bug.
pub(super) fn to_value<T: Serialize + ?Sized>(value: &T) -> Result<Value, ToolError> {
    serde_json::to_value(value)
        .map_err(|error| ToolError::Abort(format!("the reply is not JSON: {error}")))
}

fn shown(value: &Value) -> Result<String, ToolError> {
    stable_json(value).map_err(|error| ToolError::Abort(format!("the reply is not JSON: {error}")))
}

fn with_notice(kept: &str, whole: usize) -> String {
    let omitted = whole.saturating_sub(kept.chars().count());
    let newline = if kept.is_empty() || kept.ends_with('\n') { "" } else { "\n" };
    format!(
        "{kept}{newline}[TRUNCATED: {omitted} chars omitted — paginate with start/end params or narrow the request]"
    )
}

/// The JSON with as many rows as fit. At least one is shown, if need be with its texts cut.
fn most_rows(
    total: usize,
    whole: usize,
    show: &dyn Fn(usize) -> Value,
    room: usize,
) -> Result<String, ToolError> {
    let (mut fits, mut too_many) = ((0, String::new()), total);
    // Rows are mostly of a kind, so the length says how many will fit; what is left after that is halved.
    let mut guess = (total as u128 * room as u128 / whole.max(1) as u128) as usize;
    while fits.0 + 1 < too_many {
        let rows = guess.clamp(fits.0 + 1, too_many - 1);
        let text = shown(&show(rows))?;
        if text.chars().count() <= room {
            fits = (rows, text);
            // The next guess is a little more than this, so that a good first guess ends the search soon.
            guess = (rows + rows / 64 + 1).min(usize::midpoint(rows, too_many));
        } else {
            too_many = rows;
            guess = (rows - rows / 64).max(usize::midpoint(fits.0, rows));
        }
    }
    if fits.0 > 0 {
        return Ok(fits.1);
    }
    for rows in [total.min(1), 0] {
        for length in TEXT_LENGTHS {
            let text = shown(&clipped(show(rows), length))?;
            if text.chars().count() <= room {
                return Ok(text);
            }
        }
    }
    Ok("{}\n".to_owned())
}

/// The value with every text in it cut to so many characters.
fn clipped(value: Value, length: usize) -> Value {
    match value {
        Value::String(text) => match text.char_indices().nth(length) {
            Some((end, _)) => Value::String(format!("{}… [cut]", &text[..end])),
            None => Value::String(text),
        },
        Value::Array(items) => items.into_iter().map(|item| clipped(item, length)).collect(),
        Value::Object(fields) => Value::Object(
            fields.into_iter().map(|(name, value)| (name, clipped(value, length))).collect(),
        ),
        Value::Null | Value::Bool(_) | Value::Number(_) => value,
    }
}

/// The first lines of a text that have at most so many characters together. A line that is longer than that by
/// itself is cut on a character.
pub(super) fn first_lines(text: &str, chars: usize) -> &str {
    let Some((end, _)) = text.char_indices().nth(chars) else { return text };
    let line = text[..end].rfind('\n').map_or(0, |at| at + 1);
    let rest = text[line..].find('\n').map_or(text.len(), |at| line + at);
    if text[line..rest].chars().nth(chars).is_some() { &text[..end] } else { &text[..line] }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn list(rows: Vec<String>) -> Reply {
        Reply::rows(
            rows.len(),
            move |shown| json!({ "rows": rows[..shown], "shown": shown, "total": rows.len() }),
        )
    }

    /// The part before the notice, and the number in the notice.
    fn parts(text: &str) -> (&str, usize) {
        let at = text.rfind("[TRUNCATED: ").unwrap();
        let number = text[at + 12..].split(' ').next().unwrap();
        (&text[..at], number.parse().unwrap())
    }

    #[test]
    fn text_is_cut_at_a_line() {
        let text = "one line\n".repeat(100);
        assert_eq!(Reply::text(text.clone()).within(900).unwrap(), text);
        let cut = Reply::text(text).within(899).unwrap();
        let (kept, omitted) = parts(&cut);
        assert_eq!((kept, omitted), ("one line\n".repeat(86).as_str(), 900 - 86 * 9));
    }

    #[test]
    fn a_line_that_is_too_long_alone_is_cut_on_a_character() {
        let cut = Reply::text(format!("short\n{}\nend\n", "é".repeat(1000))).within(220).unwrap();
        let (kept, omitted) = parts(&cut);
        assert_eq!(kept, format!("short\n{}\n", "é".repeat(94)));
        assert_eq!(omitted, 1011 - 100);
    }

    #[test]
    fn a_list_loses_whole_rows() {
        let rows: Vec<_> = (0..1000).map(|at| format!("row {at}")).collect();
        let cut = list(rows.clone()).within(1_000).unwrap();
        let value: Value = serde_json::from_str(parts(&cut).0).unwrap();
        let shown = value["shown"].as_u64().unwrap() as usize;
        assert_eq!(value["rows"], json!(rows[..shown]));
        assert_eq!(value["total"], 1000);
        // One more would not have fitted.
        let more = json!({ "rows": rows[..=shown], "shown": shown + 1, "total": 1000 });
        assert!(stable_json(&more).unwrap().chars().count() > 1_000 - NOTICE_ROOM);
        assert!(cut.chars().count() <= 1_000);
    }

    #[test]
    fn a_row_that_is_too_long_alone_is_shown_in_part() {
        let cut = list(vec!["x".repeat(5_000), "y".to_owned()]).within(1_000).unwrap();
        let value: Value = serde_json::from_str(parts(&cut).0).unwrap();
        assert_eq!(value["rows"], json!([format!("{}… [cut]", "x".repeat(600))]));
    }

    #[test]
    fn a_long_text_in_json_loses_lines() {
        let reply = Reply::lines(
            "a \"quoted\" line\n".repeat(100),
            |text| json!({ "content": text, "end": text.lines().count() }),
        );
        let cut = reply.within(500).unwrap();
        let value: Value = serde_json::from_str(parts(&cut).0).unwrap();
        let end = value["end"].as_u64().unwrap() as usize;
        assert_eq!(value["content"], "a \"quoted\" line\n".repeat(end));
        assert!(end > 10, "{cut}");
    }

    proptest! {
        #[test]
        fn no_reply_is_longer_than_the_limit_and_json_stays_json(
            rows in prop::collection::vec("[a-z\\n\"é\u{1}]{0,60}", 0..60),
            limit in 250_usize..2_000,
        ) {
            let text = Reply::text(rows.concat()).within(limit).unwrap();
            prop_assert!(text.chars().count() <= limit);
            let whole = list(rows.clone()).within(usize::MAX).unwrap();
            let reply = list(rows).within(limit).unwrap();
            prop_assert!(reply.chars().count() <= limit);
            if reply != whole {
                let (json, omitted) = parts(&reply);
                prop_assert!(serde_json::from_str::<Value>(json).is_ok(), "{json}");
                prop_assert_eq!(whole.chars().count() - omitted, json.chars().count());
            }
        }

        #[test]
        fn first_lines_are_a_prefix_that_is_short_enough(text in "[ab\\né]{0,80}", chars in 0_usize..90) {
            let kept = first_lines(&text, chars);
            prop_assert!(text.starts_with(kept));
            prop_assert!(kept.chars().count() <= chars);
        }
    }
}
