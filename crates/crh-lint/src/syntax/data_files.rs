//! JSON, YAML and TOML files that are not valid.

use granit_parser::{ErrorKind, Parser};
use serde::de::IgnoredAny;

use super::{INVALID_JSON, INVALID_TOML, INVALID_YAML, blame};
use crate::file_context::FileContext;
use crate::findings::FindingDraft;
use crate::source::SourceText;
use crate::{LintRule, paths};
use crh_syntax::TEXT_MAX;

/// Why a parser gives up.
const TOO_DEEP: &str = "its values are nested too deeply";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DataFormat {
    Json,
    /// JSON with comments and trailing commas.
    LooseJson,
    Yaml,
    Toml,
}

/// A parser error.
#[derive(Debug, Clone, PartialEq, Eq)]
struct DataError {
    line: u32,
    message: String,
}

/// Result of parsing a data file.
#[derive(Debug, Clone, PartialEq, Eq)]
enum DataParse {
    Valid,
    Invalid(DataError),
    /// The parser gave up before the end, for this reason.
    Unfinished(String),
}

/// Result of checking a data file.
pub(super) enum DataCheck {
    NoFinding,
    NotChecked(String),
    Broken(FindingDraft),
}

impl DataFormat {
    /// The format of a file, by its name.
    pub(super) fn from_path(path: &str) -> Option<Self> {
        let name = path.rsplit('/').next().unwrap_or(path).to_ascii_lowercase();
        match paths::extension(&name).as_str() {
            "jsonc" | "code-workspace" => Some(Self::LooseJson),
            "json" if is_loose_json(path, &name) => Some(Self::LooseJson),
            "json" | "geojson" | "webmanifest" | "topojson" | "jsonld" => Some(Self::Json),
            "yml" | "yaml" => Some(Self::Yaml),
            "toml" => Some(Self::Toml),
            _ => None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Json | Self::LooseJson => "JSON",
            Self::Yaml => "YAML",
            Self::Toml => "TOML",
        }
    }

    fn rule(self) -> &'static LintRule {
        match self {
            Self::Json | Self::LooseJson => &INVALID_JSON,
            Self::Yaml => &INVALID_YAML,
            Self::Toml => &INVALID_TOML,
        }
    }

    fn parse(self, text: &str) -> DataParse {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        match self {
            Self::Json => parse_json(text),
            Self::LooseJson => parse_json(&to_strict_json(text)),
            Self::Yaml => parse_yaml(text),
            Self::Toml => parse_toml(text),
        }
    }
}

/// Checks a data file.
pub(super) fn check(ctx: &FileContext<'_>) -> DataCheck {
    let Some(new) = &ctx.new else { return DataCheck::NoFinding };
    let Some(format) = DataFormat::from_path(new.path) else { return DataCheck::NoFinding };
    if new.text.len() > TEXT_MAX {
        return DataCheck::NotChecked(format!("it has more than {TEXT_MAX} bytes"));
    }
    let old = ctx.old.as_ref().map(|old| old.text);
    if old.is_some_and(|old| old.len() > TEXT_MAX)
        || new.text.trim().is_empty()
        || is_intentionally_invalid(new.path, old)
        || has_template(ctx)
    {
        return DataCheck::NoFinding;
    }
    match format.parse(new.text) {
        DataParse::Valid => DataCheck::NoFinding,
        DataParse::Unfinished(why) => DataCheck::NotChecked(why),
        DataParse::Invalid(error) => {
            finding(ctx, new, format, &error).map_or(DataCheck::NoFinding, DataCheck::Broken)
        }
    }
}

/// Reports a data file that the change breaks.
fn finding(
    ctx: &FileContext<'_>,
    new: &SourceText<'_>,
    format: DataFormat,
    error: &DataError,
) -> Option<FindingDraft> {
    let old = ctx.old.as_ref().map(|old| old.text);
    if format == DataFormat::Json && is_valid_with_comments(new) {
        return None;
    }
    let is_invalid = |text: &str| matches!(format.parse(text), DataParse::Invalid(_));
    match old {
        None if ctx.file.old_path.is_some()
            || paths::is_sample(new.path)
            || error.is_at_second_value() && is_value_stream(new.text) =>
        {
            return None;
        }
        None => {}
        Some(old) if is_invalid(old) || old.trim().is_empty() => return None,
        Some(_) => {}
    }
    let line = blame::blamed_line(ctx, error.line, |text| Some(!is_invalid(text)));
    let line = line.clamp(1, u32::try_from(new.lines().len()).unwrap_or(u32::MAX).max(1));
    let name = format.name();
    let state = match old {
        None => format!("This new file is not valid {name}: a"),
        Some(_) => "The file was valid before this change. Now a".to_owned(),
    };
    let why = format!(
        "{state} parser stops at line {} ({}). Programs that load the file fail.",
        error.line, error.message
    );
    let draft = FindingDraft::new(format.rule(), new.path, line, new.line(line));
    Some(draft.with_text(format!("The file is not valid {name}"), why, "Correct the syntax here."))
}

impl DataError {
    /// Whether the parser fails after the first JSON value.
    fn is_at_second_value(&self) -> bool {
        self.message.starts_with("trailing characters")
    }
}

/// Whether a text consists of JSON values. Files with one value per line are a format of their own.
fn is_value_stream(text: &str) -> bool {
    let text = to_strict_json(text);
    let mut values = serde_json::Deserializer::from_str(&text).into_iter::<IgnoredAny>();
    values.all(|value| value.is_ok())
}

/// Whether a JSON file contains comments and is otherwise valid. Then the program that reads the
/// file accepts comments, unless the program is known to be strict.
fn is_valid_with_comments(new: &SourceText<'_>) -> bool {
    #[rustfmt::skip]
    const STRICT: [&str; 6] = [
        "package.json", "package-lock.json", "npm-shrinkwrap.json", "composer.json", "bower.json", ".mcp.json",
    ];
    let name = new.path.rsplit('/').next().unwrap_or(new.path).to_ascii_lowercase();
    let is_strict = STRICT.contains(&name.as_str()) || paths::extension(&name) != "json";
    let has_comment = || {
        let blanked = to_strict_json(new.text);
        let pairs = new.text.bytes().zip(blanked.bytes());
        pairs.into_iter().any(|(original, blanked_byte)| original == b'/' && blanked_byte == b' ')
    };
    !is_strict && DataFormat::LooseJson.parse(new.text) == DataParse::Valid && has_comment()
}

/// Whether the program that reads this JSON file accepts comments.
fn is_loose_json(path: &str, name: &str) -> bool {
    const FOLDERS: [&str; 5] = [".vscode", ".devcontainer", ".zed", ".cursor", ".fleet"];
    #[rustfmt::skip]
    const NAMES: [&str; 7] = [
        "angular.json", "firebase.json", "global.json", "launchsettings.json", "nx.json", "rush.json",
        "wrangler.json",
    ];
    #[rustfmt::skip]
    const STEMS: [&str; 13] = [
        "appsettings", "cspell", "pyrightconfig", "tsconfig", "jsconfig", "devcontainer", "deno", "tslint", "typedoc",
        "api-extractor", "biome", "turbo", "renovate",
    ];
    path.split('/').any(|folder| FOLDERS.contains(&folder))
        || name.starts_with('.') && name != ".mcp.json"
        || NAMES.contains(&name)
        || STEMS.iter().any(|stem| name.starts_with(stem))
        || name.contains("eslintrc")
        || name.contains("tsconfig")
        || name.contains("language-configuration")
        || name.ends_with(".sublime-settings")
}

/// Whether a file is invalid on purpose, or a template.
fn is_intentionally_invalid(path: &str, old: Option<&str>) -> bool {
    let path = path.to_ascii_lowercase();
    let path_contains = |words: &[&str]| words.iter().any(|word| path.contains(word));
    path_contains(&["invalid", "malformed", "broken", "corrupt"])
        || old.is_none()
            && path_contains(&["bad", "error", "template", "{{", "cookiecutter", "skeleton"])
}

/// Whether the change adds template syntax. A file that had template syntax before was not valid
/// then, so it is not reported anyway.
fn has_template(ctx: &FileContext<'_>) -> bool {
    ctx.file.added.iter().any(|line| {
        let line = String::from_utf8_lossy(&line.text);
        line.contains("{%")
            || line.contains("<%")
            || line.contains("{{{")
            || has_template_braces(&line)
    })
}

/// Whether a line contains `{{ … }}` outside of quotes, and not `${{ … }}`, which is plain text in
/// YAML.
fn has_template_braces(line: &str) -> bool {
    let mut quote = None;
    let mut previous = [' ', ' '];
    for letter in line.chars() {
        match quote {
            Some(opening_quote) if opening_quote == letter => quote = None,
            Some(_) => {}
            None if matches!(letter, '"' | '\'') => quote = Some(letter),
            None if letter == '{' && previous[1] == '{' && previous[0] != '$' => {
                return line.contains("}}");
            }
            None => {}
        }
        previous = [previous[1], letter];
    }
    false
}

/// Parses JSON of any depth: the parser skips ignored values without recursion.
fn parse_json(text: &str) -> DataParse {
    let Err(why) = serde_json::from_str::<IgnoredAny>(text) else { return DataParse::Valid };
    let message = why.to_string();
    let message =
        message.rsplit_once(" at line ").map_or(message.as_str(), |(text, _)| text).to_owned();
    let line = u32::try_from(why.line()).unwrap_or(u32::MAX);
    DataParse::Invalid(DataError { line, message })
}

/// JSON with blanks in place of comments and trailing commas, so that lines keep their length.
fn to_strict_json(text: &str) -> String {
    let mut bytes = text.as_bytes().to_vec();
    let (mut offset, mut last_comma) = (0, None);
    while let Some(byte) = bytes.get(offset).copied() {
        let next = bytes.get(offset + 1).copied();
        match (byte, next) {
            (b'"', _) => {
                offset = end_of_string(&bytes, offset);
                last_comma = None;
                continue;
            }
            (b'/', Some(b'/' | b'*')) => {
                let end = end_of_comment(&bytes, offset);
                for byte in bytes[offset..end].iter_mut().filter(|byte| **byte != b'\n') {
                    *byte = b' ';
                }
                offset = end;
                continue;
            }
            (b',', _) => last_comma = Some(offset),
            (b'}' | b']', _) => {
                if let Some(comma) = last_comma.take() {
                    bytes[comma] = b' ';
                }
            }
            (byte, _) if byte.is_ascii_whitespace() => {}
            _ => last_comma = None,
        }
        offset += 1;
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The end of the string that starts at `start`. A line end also ends the string, since strings
/// cannot span lines.
fn end_of_string(bytes: &[u8], start: usize) -> usize {
    let mut offset = start + 1;
    while let Some(byte) = bytes.get(offset) {
        match byte {
            b'\\' => offset += 2,
            b'"' | b'\n' => return offset + 1,
            _ => offset += 1,
        }
    }
    bytes.len()
}

fn end_of_comment(bytes: &[u8], start: usize) -> usize {
    let rest = &bytes[start + 2..];
    let end = match bytes[start + 1] {
        b'/' => memchr::memchr(b'\n', rest),
        _ => memchr::memmem::find(rest, b"*/").map(|end| end + 2),
    };
    end.map_or(bytes.len(), |end| start + 2 + end)
}

fn parse_yaml(text: &str) -> DataParse {
    let Some(why) = Parser::new_from_str(text).find_map(Result::err) else {
        return DataParse::Valid;
    };
    let line = u32::try_from(why.marker().line()).unwrap_or(u32::MAX);
    match why.kind() {
        ErrorKind::RecursionLimitExceeded => DataParse::Unfinished(TOO_DEEP.to_owned()),
        // Whether these are errors depends on the program that reads the file.
        ErrorKind::UndeclaredTagHandle
        | ErrorKind::UnsupportedYamlMajorVersion
        | ErrorKind::BomInsideDocument => {
            DataParse::Unfinished(format!("the parser stopped at line {line}: {}", why.info()))
        }
        _ => DataParse::Invalid(DataError { line, message: why.info() }),
    }
}

fn parse_toml(text: &str) -> DataParse {
    let Err(why) = toml::from_str::<toml::Table>(text) else { return DataParse::Valid };
    // The parser has no kind for this error, only two messages.
    if why.message().contains("recursion") {
        return DataParse::Unfinished(TOO_DEEP.to_owned());
    }
    let start = why.span().map_or(0, |span| span.start).min(text.len());
    let lines = memchr::memchr_iter(b'\n', &text.as_bytes()[..start]).count();
    let message = why.message().lines().next().unwrap_or_default().to_owned();
    let line = u32::try_from(lines).unwrap_or(u32::MAX).saturating_add(1);
    DataParse::Invalid(DataError { line, message })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_comments_and_commas_are_blanked_in_place() {
        let text = "{ // a\n \"b//\": [1, /* c\n */ ], \"\\\",]\": 2,\n}";
        let expected = "{     \n \"b//\": [1      \n    ], \"\\\",]\": 2 \n}";
        assert_eq!(to_strict_json(text), expected);
        assert_eq!(to_strict_json("{\"a"), "{\"a");
        assert_eq!(to_strict_json("/*"), "  ");
    }

    #[test]
    fn deep_value_is_not_called_invalid() {
        let unfinished = DataParse::Unfinished(TOO_DEEP.to_owned());
        for depth in [300, 50_000] {
            let value = format!("{}1{}", "[".repeat(depth), "]".repeat(depth));
            assert_eq!(DataFormat::Json.parse(&value), DataParse::Valid);
            assert_eq!(DataFormat::Yaml.parse(&format!("a: {value}\n")), unfinished);
            assert_eq!(DataFormat::Toml.parse(&format!("a = {value}\n")), unfinished);
            let key = vec!["a"; depth].join(".");
            assert_eq!(DataFormat::Toml.parse(&format!("{key} = 1\n")), unfinished);
        }
    }
}
