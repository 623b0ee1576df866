//! Parses the ignore comments of the supported tools.

use crate::LintRule;

/// Longer reasons are cut.
const REASON_CHARS: usize = 200;
/// How much of another tool's comment is shown.
const BY_CHARS: usize = 80;
const CRH: &str = "crh:ignore";
/// Tools that have a `noqa` for a whole file.
const WHOLE_FILE: [&str; 2] = ["ruff", "flake8"];
/// A range of all shellcheck codes.
const ALL_OF_SHELLCHECK: &str = "SC0-SC99999";

/// The rules that a form covers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum IgnoredRules {
    /// All rules of a tool.
    AllOf(IgnoreTool),
    /// Rules with these names.
    These(Vec<String>),
}

/// A tool with its own form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum IgnoreTool {
    /// `noqa`: flake8, and ruff, which has its rules.
    Flake8,
    /// eslint with its plugins.
    Eslint,
    /// semgrep.
    Semgrep,
}

impl IgnoreTool {
    /// Whether a form without rule names covers a built-in rule: one with an alias of this tool, or
    /// of the kind that the tool checks.
    pub(super) fn covers_rule(self, rule: &LintRule) -> bool {
        match self {
            Self::Flake8 => rule.aliases.iter().any(|name| is_flake8(name)),
            Self::Eslint => rule.aliases.iter().any(|name| is_eslint(name)),
            Self::Semgrep => rule.id.starts_with("patterns/"),
        }
    }

    /// Whether findings of another tool belong to this one.
    pub(super) fn covers_tool(self, tool: &str) -> bool {
        match self {
            Self::Flake8 => matches!(tool, "flake8" | "ruff" | "pycodestyle" | "pyflakes"),
            Self::Eslint => matches!(tool, "eslint" | "oxlint"),
            // semgrep's editions have their own names.
            Self::Semgrep => tool.starts_with("semgrep"),
        }
    }
}

/// Whether a name is a flake8 or ruff code. Other tools number their rules too, mostly with four
/// digits.
fn is_flake8(name: &str) -> bool {
    let letters = name.trim_end_matches(|digit: char| digit.is_ascii_digit());
    let digits = name.len() - letters.len();
    is_code(name) && (digits == 3 && letters != "G" || letters.starts_with("PL"))
}

/// Whether a name is a rule of eslint's core or of a plugin, which has a prefix and a slash.
fn is_eslint(name: &str) -> bool {
    let is_of_plugin = name.contains('/') && name.starts_with(|it: char| !it.is_uppercase());
    is_of_plugin
        || ["no-", "valid-"].iter().any(|word| name.starts_with(word))
        || matches!(name, "array-callback-return" | "use-isnan")
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum IgnoreForm {
    /// `crh:ignore RULE reason`.
    Crh { rule: String, reason: String },
    /// Covers the line of the comment.
    Line { names: IgnoredRules, by: String },
    /// Covers the line of the comment and, if it is alone there, the next line.
    LineOrNext { names: IgnoredRules, by: String },
    /// Covers the whole file, if the comment is alone on its line.
    File { names: IgnoredRules, by: String },
    /// Covers the next shell command, or the whole file if no command precedes it.
    Command { names: IgnoredRules, by: String },
    /// Covers the next line.
    NextLine { names: IgnoredRules, by: String },
    /// Covers everything from here on.
    BlockStart { names: IgnoredRules, by: String },
    /// Ends a block.
    BlockEnd { names: IgnoredRules },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CommentSign {
    /// `#`
    Hash,
    /// `/*`
    Block,
    /// Anything else.
    Other,
}

/// Parses the forms in a comment, including its signs.
pub(super) fn read(comment: &str, sign: CommentSign) -> Vec<IgnoreForm> {
    let mut forms = Vec::new();
    for line in comment.lines() {
        forms.extend(parse_crh_ignore(line));
        if sign == CommentSign::Hash {
            forms.extend(parse_noqa(line).or_else(|| parse_shellcheck(line)));
        }
        forms.extend(parse_nosemgrep(line));
    }
    forms.extend(parse_eslint(comment, sign));
    forms
}

fn parse_crh_ignore(line: &str) -> Option<IgnoreForm> {
    let at = word_at(line, CRH)?;
    let rest = without_end(&line[at + CRH.len()..]);
    let (rule, reason) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let reason: String = reason.trim().trim_start_matches([':', '-', '–', '—']).trim().to_owned();
    // A sign alone is not a reason.
    let has_words = reason.chars().any(char::is_alphanumeric);
    let reason = if has_words { truncate(&reason, REASON_CHARS) } else { String::new() };
    Some(IgnoreForm::Crh { rule: truncate(rule.trim_end_matches([':', ',']), BY_CHARS), reason })
}

/// `# noqa`, `# noqa: T100, F401`, and for a whole file `# ruff: noqa`. A colon without codes has
/// no effect.
fn parse_noqa(line: &str) -> Option<IgnoreForm> {
    let lower = line.to_ascii_lowercase();
    let whole = |at: usize| {
        let before = lower[..at].trim_end().strip_suffix(':')?.trim_end();
        let tool = WHOLE_FILE.iter().find(|tool| before.ends_with(**tool))?;
        before[..before.len() - tool.len()].trim_end().ends_with('#').then_some(*tool)
    };
    let at = lower.match_indices("noqa").map(|(at, _)| at).find(|at| {
        (line[..*at].trim_end().ends_with('#') || whole(*at).is_some())
            && !line[at + 4..].starts_with(|next: char| next.is_alphanumeric() || next == '_')
    })?;
    let rest = line[at + 4..].trim_start();
    let names = match rest.strip_prefix(':') {
        None => IgnoredRules::AllOf(IgnoreTool::Flake8),
        Some(codes) => IgnoredRules::These(
            codes
                .split([',', ' ', '\t'])
                .skip_while(|code| code.is_empty())
                .take_while(|code| code.is_empty() || is_code(code))
                .filter(|code| !code.is_empty())
                .map(str::to_owned)
                .collect(),
        ),
    };
    if names == IgnoredRules::These(Vec::new()) {
        return None;
    }
    Some(match whole(at) {
        Some(tool) => {
            IgnoreForm::File { by: display_form(&format!("# {tool}: noqa"), &names), names }
        }
        None => IgnoreForm::Line { by: display_form("# noqa", &names), names },
    })
}

/// `# shellcheck disable=SC2086,SC2115-SC2120`, possibly with other keys.
fn parse_shellcheck(line: &str) -> Option<IgnoreForm> {
    let rest = line.trim_start().strip_prefix('#')?.trim_start().strip_prefix("shellcheck")?;
    let keys = rest.strip_prefix(char::is_whitespace)?.split_whitespace();
    // Text after a second `#` is an explanation.
    let mut keys = keys.take_while(|key| !key.starts_with('#'));
    let codes = keys.find_map(|key| key.strip_prefix("disable="))?;
    let name = |code: &str| match code {
        "all" => ALL_OF_SHELLCHECK.to_owned(),
        code if code.starts_with(|it: char| it.is_ascii_digit()) => format!("SC{code}"),
        code => code.to_owned(),
    };
    let names: Vec<String> = codes.split(',').filter(|it| !it.is_empty()).map(name).collect();
    let by = truncate(&format!("# shellcheck disable={codes}"), BY_CHARS);
    (!names.is_empty()).then_some(IgnoreForm::Command { names: IgnoredRules::These(names), by })
}

/// Whether a code is in a range such as `SC2115-SC2120`.
pub(super) fn is_in_range(range: &str, code: &str) -> bool {
    let number = |code: &str| -> Option<u32> {
        let digits = code.strip_prefix("SC").unwrap_or(code);
        digits.parse().ok()
    };
    let bounds = range.split_once('-').and_then(|(from, to)| Some(number(from)?..=number(to)?));
    let number = code.strip_prefix("SC").and_then(number);
    bounds.zip(number).is_some_and(|(bounds, number)| bounds.contains(&number))
}

fn is_code(code: &str) -> bool {
    let digits = code.trim_start_matches(|letter: char| letter.is_ascii_alphabetic());
    digits.len() < code.len()
        && !digits.is_empty()
        && digits.chars().all(|digit| digit.is_ascii_digit())
}

fn parse_nosemgrep(line: &str) -> Option<IgnoreForm> {
    let words = ["nosemgrep", "nosem"];
    let (word, at) = words.iter().find_map(|word| Some((*word, word_at(line, word)?)))?;
    let rest = without_end(&line[at + word.len()..]);
    let names = match rest.strip_prefix(':') {
        None => IgnoredRules::AllOf(IgnoreTool::Semgrep),
        Some(ids) => parse_names(ids),
    };
    Some(IgnoreForm::LineOrNext { by: display_form(word, &names), names })
}

/// eslint's forms. Only a block comment can start or end a block.
fn parse_eslint(comment: &str, sign: CommentSign) -> Option<IgnoreForm> {
    if sign == CommentSign::Hash {
        return None;
    }
    let body = comment.trim_start_matches(['/', '*', '<', '!', '-', '{']).trim_start();
    let word = body.split(|char: char| char.is_whitespace() || char == '*').next()?;
    let rest = without_end(&body[word.len()..]);
    // Text after two dashes is an explanation.
    let rest = rest.split(" --").next().unwrap_or(rest).trim();
    let names = match rest.is_empty() || rest.starts_with("--") {
        true => IgnoredRules::AllOf(IgnoreTool::Eslint),
        false => parse_names(rest),
    };
    let by = display_form(word, &names);
    match (word, sign) {
        ("eslint-disable-line", _) => Some(IgnoreForm::Line { names, by }),
        ("eslint-disable-next-line", _) => Some(IgnoreForm::NextLine { names, by }),
        ("eslint-disable", CommentSign::Block) => Some(IgnoreForm::BlockStart { names, by }),
        ("eslint-enable", CommentSign::Block) => Some(IgnoreForm::BlockEnd { names }),
        (_, _) => None,
    }
}

fn parse_names(names: &str) -> IgnoredRules {
    let names = names.split(',').map(str::trim).filter(|name| !name.is_empty());
    IgnoredRules::These(names.map(str::to_owned).collect())
}

/// The position of an unquoted word: preceded only by a blank or a comment sign.
fn word_at(line: &str, word: &str) -> Option<usize> {
    let found = line.match_indices(word).map(|(at, _)| at);
    let is_free = |at: &usize| {
        let before = line[..*at].chars().next_back();
        let after = line[at + word.len()..].chars().next();
        before.is_none_or(|it| it.is_whitespace() || "#/*-;!".contains(it))
            && after.is_none_or(|it| it.is_whitespace() || ":*-".contains(it))
    };
    found.into_iter().find(is_free)
}

/// The rest of a comment without its closing sign.
fn without_end(text: &str) -> &str {
    let text = text.trim();
    ["*/", "-->", "*/}", "%>"].iter().find_map(|end| text.strip_suffix(end)).unwrap_or(text).trim()
}

fn display_form(form: &str, names: &IgnoredRules) -> String {
    match names {
        IgnoredRules::AllOf(_) => form.to_owned(),
        IgnoredRules::These(names) => {
            let colon = if form.starts_with("eslint") { "" } else { ":" };
            truncate(&format!("{form}{colon} {}", names.join(", ")), BY_CHARS)
        }
    }
}

pub(super) fn truncate(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
