//! Settings of fixing: the command that says whether a tree still works.

use std::ffi::OsStr;

use serde_json::json;
use toml::Spanned;
use toml::de::DeValue;

use super::value::{Place, Value, Wrong, mistyped};

/// No command line that somebody writes has more words.
const WORDS_MAX: usize = 256;

/// A program and its arguments, with no shell between; empty if there is none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct CommandLine(pub(crate) Vec<String>);

impl CommandLine {
    /// From one text: a JSON list, or words with spaces between.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let words = match text.trim_start().starts_with('[') {
            true => serde_json::from_str(text)
                .map_err(|_| "takes a list of texts, such as `[\"make\", \"check\"]`")?,
            false => text.split_whitespace().map(str::to_owned).collect(),
        };
        Self::of(words)
    }

    fn of(words: Vec<String>) -> Result<Self, String> {
        match words.first() {
            None => return Err("names no program".to_owned()),
            Some(first) if first.is_empty() => return Err("names no program".to_owned()),
            Some(_) => {}
        }
        if words.len() > WORDS_MAX {
            return Err(format!("has more than {WORDS_MAX} words"));
        }
        match words.iter().any(|word| word.contains('\0')) {
            true => Err("has a zero byte in it".to_owned()),
            false => Ok(Self(words)),
        }
    }

    /// The program and its arguments; none if there is none.
    pub(crate) fn split(&self) -> Option<(&str, &[String])> {
        self.0.split_first().map(|(program, args)| (program.as_str(), args))
    }
}

impl Value for CommandLine {
    type Written = Vec<String>;
    const WANTED: &'static str = "a program and its arguments, as a list";

    fn from_toml(value: &Spanned<DeValue<'_>>, _: Place<'_>) -> Result<Self, Wrong> {
        let list = value.get_ref().as_array().ok_or_else(|| mistyped::<Self>(value))?;
        let words = list.iter().map(|item| item.get_ref().as_str().map(str::to_owned));
        let words: Option<Vec<String>> = words.collect();
        let words = words.ok_or_else(|| mistyped::<Self>(value))?;
        Self::of(words).map_err(|message| Wrong { at: value.span(), message })
    }

    fn from_variable(value: &OsStr, _: Place<'_>) -> Result<Self, Wrong> {
        let wrong = |message: String| Wrong { at: 0..0, message };
        let text = value.to_str().ok_or_else(|| wrong("is not UTF-8".to_owned()))?;
        Self::parse(text).map_err(wrong)
    }

    fn json(&self) -> serde_json::Value {
        json!(self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_line_is_a_list_or_words() {
        let words = |words: &[&str]| Ok(CommandLine(words.iter().map(|it| (*it).into()).collect()));
        assert_eq!(CommandLine::parse("make  check"), words(&["make", "check"]));
        assert_eq!(CommandLine::parse(r#"["sh", "-c", "a b"]"#), words(&["sh", "-c", "a b"]));
        for (text, expected) in [
            ("  ", "names no program"),
            ("[]", "names no program"),
            (r#"["", "a"]"#, "names no program"),
            ("[1]", "takes a list of texts, such as `[\"make\", \"check\"]`"),
            (r#"["a", "b\u0000"]"#, "has a zero byte in it"),
        ] {
            assert_eq!(CommandLine::parse(text), Err(expected.to_owned()), "{text}");
        }
    }
}
