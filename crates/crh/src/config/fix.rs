//! Settings for fixes: the verify command.

use std::ffi::OsStr;

use serde_json::json;
use toml::Spanned;
use toml::de::DeValue;

use super::value::{ConfigValue, PathContext, ValueError, type_mismatch};

/// Maximum words of a command: far more than people write.
const WORDS_MAX: usize = 256;

/// A program and its arguments, run without a shell; empty if not set.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct VerifyCommand(pub(crate) Vec<String>);

impl VerifyCommand {
    /// Parses a JSON list, or words separated by spaces.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let words = match text.trim_start().starts_with('[') {
            true => serde_json::from_str(text).map_err(
                |_| "is not a valid list; write `make check` or `[\"make\", \"check\"]`",
            )?,
            false => text.split_whitespace().map(str::to_owned).collect(),
        };
        Self::from_words(words)
    }

    fn from_words(words: Vec<String>) -> Result<Self, String> {
        match words.first() {
            None => return Err("is empty".to_owned()),
            Some(first) if first.is_empty() => return Err("has no program".to_owned()),
            Some(_) => {}
        }
        if words.len() > WORDS_MAX {
            return Err(format!("has more than {WORDS_MAX} words"));
        }
        match words.iter().any(|word| word.contains('\0')) {
            true => Err("contains a zero byte".to_owned()),
            false => Ok(Self(words)),
        }
    }

    /// The program and its arguments, if set.
    pub(crate) fn split(&self) -> Option<(&str, &[String])> {
        self.0.split_first().map(|(program, args)| (program.as_str(), args))
    }
}

impl ConfigValue for VerifyCommand {
    type TomlType = Vec<String>;
    const EXPECTED: &'static str = "a list of a program and its arguments";

    fn from_toml(value: &Spanned<DeValue<'_>>, _: PathContext<'_>) -> Result<Self, ValueError> {
        let list = value.get_ref().as_array().ok_or_else(|| type_mismatch::<Self>(value))?;
        let words = list.iter().map(|item| item.get_ref().as_str().map(str::to_owned));
        let words: Option<Vec<String>> = words.collect();
        let words = words.ok_or_else(|| ValueError {
            span: value.span(),
            message: "must contain only strings".to_owned(),
        })?;
        Self::from_words(words).map_err(|message| ValueError { span: value.span(), message })
    }

    fn from_variable(value: &OsStr, _: PathContext<'_>) -> Result<Self, ValueError> {
        let invalid_command = |message: String| ValueError { span: 0..0, message };
        let text = value.to_str().ok_or_else(|| invalid_command("is not UTF-8".to_owned()))?;
        Self::parse(text).map_err(invalid_command)
    }

    fn json(&self) -> serde_json::Value {
        json!(self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verify_command_is_a_list_or_words() {
        let words =
            |words: &[&str]| Ok(VerifyCommand(words.iter().map(|word| (*word).into()).collect()));
        assert_eq!(VerifyCommand::parse("make  check"), words(&["make", "check"]));
        assert_eq!(VerifyCommand::parse(r#"["sh", "-c", "a b"]"#), words(&["sh", "-c", "a b"]));
        for (text, expected) in [
            ("  ", "is empty"),
            ("[]", "is empty"),
            (r#"["", "a"]"#, "has no program"),
            ("[1]", "is not a valid list; write `make check` or `[\"make\", \"check\"]`"),
            (r#"["a", "b\u0000"]"#, "contains a zero byte"),
        ] {
            assert_eq!(VerifyCommand::parse(text), Err(expected.to_owned()), "{text}");
        }
    }
}
