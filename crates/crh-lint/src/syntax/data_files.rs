//! JSON, YAML and TOML that no reader takes.

use granit_parser::{ErrorKind, Parser};
use serde::de::IgnoredAny;

use super::{INVALID_JSON, INVALID_TOML, INVALID_YAML, blame};
use crate::found::Found;
use crate::look::Look;
use crate::source::Source;
use crate::{Rule, paths};
use crh_syntax::{Language, TEXT_MAX};

/// A format of data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    Json,
    /// JSON with comments, and commas before closing brackets.
    LooseJson,
    Yaml,
    Toml,
}

/// What a reader has against a text.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Wrong {
    line: u32,
    what: String,
}

impl Format {
    /// The format of a file, by its name.
    pub(super) fn of_path(path: &str) -> Option<Self> {
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

    fn rule(self) -> &'static Rule {
        match self {
            Self::Json | Self::LooseJson => &INVALID_JSON,
            Self::Yaml => &INVALID_YAML,
            Self::Toml => &INVALID_TOML,
        }
    }

    /// What is wrong with a text, if anything is.
    fn wrong(self, text: &str) -> Option<Wrong> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        match self {
            Self::Json => json(text),
            Self::LooseJson => json(&strict(text)),
            Self::Yaml => yaml(text),
            Self::Toml => toml(text),
        }
    }
}

/// Whether a file of data is larger than what is read of one. Code is bounded by its parser.
pub(super) fn is_too_large(look: &Look<'_>) -> bool {
    let is_data = |path: &str| Format::of_path(path).is_some() && Language::of_path(path).is_none();
    look.new.as_ref().is_some_and(|new| is_data(new.path) && new.text.len() > TEXT_MAX)
}

/// What the change broke in a file of data.
pub(super) fn invalid(look: &Look<'_>) -> Option<Found> {
    let new = look.new.as_ref()?;
    let format = Format::of_path(new.path)?;
    let old = look.old.as_ref().map(|old| old.text);
    if new.text.len() > TEXT_MAX
        || old.is_some_and(|old| old.len() > TEXT_MAX)
        || new.text.trim().is_empty()
        || is_meant(new.path, old)
        || has_template(look)
    {
        return None;
    }
    let format = match (format, old) {
        // Nobody told yet how strict the readers of this file are.
        (Format::Json, None) => Format::LooseJson,
        (Format::Json | Format::LooseJson | Format::Yaml | Format::Toml, _) => format,
    };
    let wrong = format.wrong(new.text)?;
    if format == Format::Json && is_taken_with_comments(new) {
        return None;
    }
    match old {
        None if look.file.before.is_some() || paths::is_sample(new.path) || wrong.is_several() => {
            return None;
        }
        None => {}
        Some(old) if format.wrong(old).is_some() || old.trim().is_empty() => return None,
        Some(_) => {}
    }
    let line = blame::line(look, wrong.line, |text| Some(format.wrong(text).is_none()));
    let line = line.clamp(1, u32::try_from(new.lines().len()).unwrap_or(u32::MAX).max(1));
    let (name, state) =
        (format.name(), if old.is_some() { "was valid before this change" } else { "is new" });
    let why = format!(
        "The file {state}, and a reader of {name} now stops at line {}: {}. Whatever loads it fails.",
        wrong.line, wrong.what
    );
    let found = Found::new(format.rule(), new.path, line, new.line(line));
    Some(found.saying(format!("The file is not valid {name}"), why, "Correct the syntax here."))
}

impl Wrong {
    /// Whether there is one value after the other: each on a line of its own is a format too.
    fn is_several(&self) -> bool {
        self.what.starts_with("trailing characters")
    }
}

/// Whether there are comments in a text of JSON, and a reader that takes them finds nothing else. Somebody who writes one has
/// such a reader, unless it is known to be strict.
fn is_taken_with_comments(new: &Source<'_>) -> bool {
    const STRICT: [&str; 6] = [
        "package.json",
        "package-lock.json",
        "npm-shrinkwrap.json",
        "composer.json",
        "bower.json",
        ".mcp.json",
    ];
    let name = new.path.rsplit('/').next().unwrap_or(new.path).to_ascii_lowercase();
    let is_strict = STRICT.contains(&name.as_str()) || paths::extension(&name) != "json";
    let has_comment = || {
        let blanked = strict(new.text);
        let pairs = new.text.bytes().zip(blanked.bytes());
        pairs.into_iter().any(|(was, is)| was == b'/' && is == b' ')
    };
    !is_strict && Format::LooseJson.wrong(new.text).is_none() && has_comment()
}

/// Whether a file of JSON is read by a program that takes comments in it.
fn is_loose_json(path: &str, name: &str) -> bool {
    const FOLDERS: [&str; 5] = [".vscode", ".devcontainer", ".zed", ".cursor", ".fleet"];
    const NAMES: [&str; 7] = [
        "angular.json",
        "firebase.json",
        "global.json",
        "launchsettings.json",
        "nx.json",
        "rush.json",
        "wrangler.json",
    ];
    const STEMS: [&str; 13] = [
        "appsettings",
        "cspell",
        "pyrightconfig",
        "tsconfig",
        "jsconfig",
        "devcontainer",
        "deno",
        "tslint",
        "typedoc",
        "api-extractor",
        "biome",
        "turbo",
        "renovate",
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

/// Whether a file is there to be wrong, or to be filled in.
fn is_meant(path: &str, old: Option<&str>) -> bool {
    let path = path.to_ascii_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| path.contains(word));
    has(&["invalid", "malformed", "broken", "corrupt"])
        || old.is_none() && has(&["bad", "error", "template", "{{", "cookiecutter", "skeleton"])
}

/// Whether the change adds a line that a program fills in before anybody reads the file. Of a new file that is any line;
/// an old one that is a template was never valid.
fn has_template(look: &Look<'_>) -> bool {
    look.file.added.iter().any(|line| {
        let line = String::from_utf8_lossy(&line.text);
        line.contains("{%") || line.contains("<%") || line.contains("{{{") || has_braces(&line)
    })
}

/// Whether there is `{{ … }}` in a line, outside of quotes, and not `${{ … }}`, which is a word in YAML.
fn has_braces(line: &str) -> bool {
    let mut quote = None;
    let mut before = [' ', ' '];
    for letter in line.chars() {
        match quote {
            Some(open) if open == letter => quote = None,
            Some(_) => {}
            None if matches!(letter, '"' | '\'') => quote = Some(letter),
            None if letter == '{' && before[1] == '{' && before[0] != '$' => {
                return line.contains("}}");
            }
            None => {}
        }
        before = [before[1], letter];
    }
    false
}

fn json(text: &str) -> Option<Wrong> {
    let why = serde_json::from_str::<IgnoredAny>(text).err()?;
    let what = why.to_string();
    let what = what.rsplit_once(" at line ").map_or(what.as_str(), |(what, _)| what).to_owned();
    // Deep is not wrong.
    let line = u32::try_from(why.line()).unwrap_or(u32::MAX);
    (!what.starts_with("recursion limit")).then_some(Wrong { line, what })
}

/// A text of JSON without comments and without commas before closing brackets, line by line as long as before.
fn strict(text: &str) -> String {
    let mut bytes = text.as_bytes().to_vec();
    let (mut at, mut comma) = (0, None);
    while let Some(byte) = bytes.get(at).copied() {
        let next = bytes.get(at + 1).copied();
        match (byte, next) {
            (b'"', _) => {
                at = end_of_string(&bytes, at);
                comma = None;
                continue;
            }
            (b'/', Some(b'/' | b'*')) => {
                let end = end_of_comment(&bytes, at);
                for byte in bytes[at..end].iter_mut().filter(|byte| **byte != b'\n') {
                    *byte = b' ';
                }
                at = end;
                continue;
            }
            (b',', _) => comma = Some(at),
            (b'}' | b']', _) => {
                if let Some(comma) = comma.take() {
                    bytes[comma] = b' ';
                }
            }
            (byte, _) if byte.is_ascii_whitespace() => {}
            _ => comma = None,
        }
        at += 1;
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Where a string ends that begins here; a line ends it too, since it must not go on.
fn end_of_string(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'\\' => at += 2,
            b'"' | b'\n' => return at + 1,
            _ => at += 1,
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

fn yaml(text: &str) -> Option<Wrong> {
    let why = Parser::new_from_str(text).find_map(Result::err)?;
    let line = u32::try_from(why.marker().line()).unwrap_or(u32::MAX);
    // Bounds of this reader, and what is the business of those who make something of the text.
    let is_wrong = !matches!(
        why.kind(),
        ErrorKind::RecursionLimitExceeded
            | ErrorKind::UndeclaredTagHandle
            | ErrorKind::UnsupportedYamlMajorVersion
            | ErrorKind::BomInsideDocument
    );
    is_wrong.then(|| Wrong { line, what: why.info() })
}

fn toml(text: &str) -> Option<Wrong> {
    let why = toml::from_str::<toml::Table>(text).err()?;
    let start = why.span().map_or(0, |span| span.start).min(text.len());
    let lines = memchr::memchr_iter(b'\n', &text.as_bytes()[..start]).count();
    let what = why.message().lines().next().unwrap_or_default().to_owned();
    Some(Wrong { line: u32::try_from(lines).unwrap_or(u32::MAX).saturating_add(1), what })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_commas_are_taken_out_of_json_in_place() {
        let text = "{ // a\n \"b//\": [1, /* c\n */ ], \"\\\",]\": 2,\n}";
        let expected = "{     \n \"b//\": [1      \n    ], \"\\\",]\": 2 \n}";
        assert_eq!(strict(text), expected);
        assert_eq!(strict("{\"a"), "{\"a");
        assert_eq!(strict("/*"), "  ");
    }
}
