//! `--description FILE`: title and body of a change that has no pull request.

use std::path::Path;

use serde::Deserialize;

use crate::config::environment::Environment;
use crate::failure::Failure;
use crate::input;
use crh_pipeline::resolve::PinnedChange;

/// Largest description, in bytes. Forges limit bodies to 64 KiB.
const FILE_MAX: usize = 256 << 10;

/// Title and body of a change.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct TitleAndBody {
    pub(crate) title: String,
    #[serde(default)]
    pub(crate) body: String,
}

impl TitleAndBody {
    /// Reads a description from a file, or from standard input for `-`.
    pub(crate) fn load(file: &Path, environment: &Environment) -> Result<Self, Failure> {
        let file = match file == Path::new("-") {
            true => file.to_owned(),
            false => environment.folder.join(file),
        };
        let bytes = input::bytes(&file)?;
        Self::parse(&bytes).map_err(|problem| {
            Failure::usage(format!("{}: {problem}", input::display_name(&file))).hint(
                "write the title on the first line and the body below, or JSON with `title` and `body`",
            )
        })
    }

    /// Parses a JSON object with `title` and `body`, or text like a commit message.
    fn parse(bytes: &[u8]) -> Result<Self, String> {
        if bytes.len() > FILE_MAX {
            return Err(format!("the description is larger than {} KiB", FILE_MAX >> 10));
        }
        let text = std::str::from_utf8(bytes).map_err(|_| "the description is not UTF-8")?;
        let text = text.trim_start_matches('\u{feff}').trim();
        let description = if text.starts_with('{') {
            serde_json::from_str(text).map_err(|error| format!("invalid JSON: {error}"))?
        } else {
            let (title, body) = text.split_once('\n').unwrap_or((text, ""));
            Self { title: title.to_owned(), body: body.to_owned() }
        };
        let title = description.title.trim().to_owned();
        if title.is_empty() || title.chars().any(char::is_control) {
            return Err("the title must be one line of text".to_owned());
        }
        Ok(Self { title, body: description.body.trim().replace("\r\n", "\n") })
    }

    /// Replaces title and body of a change.
    pub(crate) fn apply(&self, change: &mut PinnedChange) {
        change.title.clone_from(&self.title);
        change.body.clone_from(&self.body);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Result<(&str, &str), &str>) {
        let parsed = TitleAndBody::parse(text.as_bytes());
        let parsed = parsed.as_ref().map(|it| (it.title.as_str(), it.body.as_str()));
        assert_eq!(parsed.map_err(String::as_str), expected, "{text:?}");
    }

    #[test]
    fn first_line_is_the_title_and_the_rest_the_body() {
        check("Round prices\n", Ok(("Round prices", "")));
        check(
            "\n Round prices \r\n\r\nTo cents.\r\nNot more.\n",
            Ok(("Round prices", "To cents.\nNot more.")),
        );
        check("\u{feff}Round prices\nTo cents.", Ok(("Round prices", "To cents.")));
    }

    #[test]
    fn json_object_has_title_and_body() {
        check(
            r#"{"title": "Round prices", "body": "To cents.", "number": 3}"#,
            Ok(("Round prices", "To cents.")),
        );
        check(r#"{"title": "Round prices"}"#, Ok(("Round prices", "")));
        check(
            r#"{"body": "To cents."}"#,
            Err("invalid JSON: missing field `title` at line 1 column 21"),
        );
    }

    #[test]
    fn description_without_a_title_is_refused() {
        check(" \n", Err("the title must be one line of text"));
        check(r#"{"title": "two\nlines"}"#, Err("the title must be one line of text"));
    }
}
