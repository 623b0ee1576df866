//! Parses the ignore comments of the supported tools.

use crate::LintRule;

/// Maximum characters of a reason; longer reasons are cut.
const REASON_CHARS_MAX: usize = 200;
/// Maximum characters of another tool's comment in a message.
const EXCERPT_CHARS_MAX: usize = 80;
const CRH_IGNORE: &str = "crh:ignore";
/// Tools that have a `noqa` for a whole file.
const FILE_NOQA_TOOLS: [&str; 2] = ["ruff", "flake8"];
/// A range of all shellcheck codes.
const SHELLCHECK_CODES: &str = "SC0-SC99999";

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
    /// flake8, and ruff, which implements flake8's rules. Both use `noqa`.
    Flake8,
    /// eslint with its plugins.
    Eslint,
    Semgrep,
}

impl IgnoreTool {
    /// Whether this tool's form without rule names covers a built-in rule. semgrep's form covers
    /// all pattern rules; the other forms cover rules with an alias of their tool.
    pub(super) fn covers_rule(self, rule: &LintRule) -> bool {
        match self {
            Self::Flake8 => rule.aliases.iter().any(|name| is_flake8(name)),
            Self::Eslint => rule.aliases.iter().any(|name| is_eslint(name)),
            Self::Semgrep => rule.id.starts_with("patterns/"),
        }
    }

    /// Whether an ignore comment of this tool also covers findings of the tool with this name.
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
    let is_plugin_rule = name.contains('/') && name.starts_with(|it: char| !it.is_uppercase());
    is_plugin_rule
        || ["no-", "valid-"].iter().any(|word| name.starts_with(word))
        || matches!(name, "array-callback-return" | "use-isnan")
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum IgnoreForm {
    /// `crh:ignore RULE reason`.
    Crh { rule: String, reason: String },
    /// The form of another tool.
    Tool { scope: IgnoreScope, rules: IgnoredRules, excerpt: String },
}

/// The lines that the form of another tool covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum IgnoreScope {
    Line,
    /// The line of the comment and, if the comment is alone on the line, the next line.
    LineOrNext,
    /// The whole file, if the comment is alone on its line.
    File,
    /// The next shell command, or the whole file if no command precedes the comment.
    Command,
    NextLine,
    /// All lines up to the next `BlockEnd`.
    BlockStart,
    BlockEnd,
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

/// Parses the ignore forms in a comment. The text includes the comment signs.
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
    let start = find_word(line, CRH_IGNORE)?;
    let rest = strip_comment_end(&line[start + CRH_IGNORE.len()..]);
    let (rule, reason) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let reason: String = reason.trim().trim_start_matches([':', '-', '–', '—']).trim().to_owned();
    // Punctuation alone is not a reason.
    let has_words = reason.chars().any(char::is_alphanumeric);
    let reason = if has_words { truncate(&reason, REASON_CHARS_MAX) } else { String::new() };
    Some(IgnoreForm::Crh {
        rule: truncate(rule.trim_end_matches([':', ',']), EXCERPT_CHARS_MAX),
        reason,
    })
}

/// `# noqa`, `# noqa: T100, F401`, and for a whole file `# ruff: noqa`. A colon without codes has
/// no effect.
fn parse_noqa(line: &str) -> Option<IgnoreForm> {
    let lower = line.to_ascii_lowercase();
    let tool_of_file_noqa = |noqa_start: usize| {
        let text_before = lower[..noqa_start].trim_end().strip_suffix(':')?.trim_end();
        let tool = FILE_NOQA_TOOLS.iter().find(|tool| text_before.ends_with(**tool))?;
        text_before[..text_before.len() - tool.len()].trim_end().ends_with('#').then_some(*tool)
    };
    let noqa_start = lower.match_indices("noqa").map(|(at, _)| at).find(|at| {
        (line[..*at].trim_end().ends_with('#') || tool_of_file_noqa(*at).is_some())
            && !line[at + 4..].starts_with(|next: char| next.is_alphanumeric() || next == '_')
    })?;
    let rest = line[noqa_start + 4..].trim_start();
    let rules = match rest.strip_prefix(':') {
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
    if rules == IgnoredRules::These(Vec::new()) {
        return None;
    }
    let (scope, form) = match tool_of_file_noqa(noqa_start) {
        Some(tool) => (IgnoreScope::File, format!("# {tool}: noqa")),
        None => (IgnoreScope::Line, "# noqa".to_owned()),
    };
    Some(IgnoreForm::Tool { scope, excerpt: display_form(&form, &rules), rules })
}

/// `# shellcheck disable=SC2086,SC2115-SC2120`, possibly with other keys.
fn parse_shellcheck(line: &str) -> Option<IgnoreForm> {
    let rest = line.trim_start().strip_prefix('#')?.trim_start().strip_prefix("shellcheck")?;
    let keys = rest.strip_prefix(char::is_whitespace)?.split_whitespace();
    // Text after a second `#` is an explanation.
    let mut keys = keys.take_while(|key| !key.starts_with('#'));
    let codes = keys.find_map(|key| key.strip_prefix("disable="))?;
    let code_name = |code: &str| match code {
        "all" => SHELLCHECK_CODES.to_owned(),
        code if code.starts_with(|it: char| it.is_ascii_digit()) => format!("SC{code}"),
        code => code.to_owned(),
    };
    let names: Vec<String> = codes.split(',').filter(|it| !it.is_empty()).map(code_name).collect();
    let excerpt = truncate(&format!("# shellcheck disable={codes}"), EXCERPT_CHARS_MAX);
    let (scope, has_names) = (IgnoreScope::Command, !names.is_empty());
    has_names.then_some(IgnoreForm::Tool { scope, rules: IgnoredRules::These(names), excerpt })
}

/// Whether a code is in a range such as `SC2115-SC2120`.
pub(super) fn is_in_range(range: &str, code: &str) -> bool {
    let parse_number = |code: &str| -> Option<u32> {
        let digits = code.strip_prefix("SC").unwrap_or(code);
        digits.parse().ok()
    };
    let bounds =
        range.split_once('-').and_then(|(from, to)| Some(parse_number(from)?..=parse_number(to)?));
    let number = code.strip_prefix("SC").and_then(parse_number);
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
    let (word, start) = words.iter().find_map(|word| Some((*word, find_word(line, word)?)))?;
    let rest = strip_comment_end(&line[start + word.len()..]);
    let rules = match rest.strip_prefix(':') {
        None => IgnoredRules::AllOf(IgnoreTool::Semgrep),
        Some(ids) => parse_names(ids),
    };
    let (scope, excerpt) = (IgnoreScope::LineOrNext, display_form(word, &rules));
    Some(IgnoreForm::Tool { scope, rules, excerpt })
}

/// eslint's forms. Only a block comment can start or end a block.
fn parse_eslint(comment: &str, sign: CommentSign) -> Option<IgnoreForm> {
    if sign == CommentSign::Hash {
        return None;
    }
    let body = comment.trim_start_matches(['/', '*', '<', '!', '-', '{']).trim_start();
    let word = body.split(|char: char| char.is_whitespace() || char == '*').next()?;
    let rest = strip_comment_end(&body[word.len()..]);
    // Text after two dashes is an explanation.
    let rest = rest.split(" --").next().unwrap_or(rest).trim();
    let scope = match (word, sign) {
        ("eslint-disable-line", _) => IgnoreScope::Line,
        ("eslint-disable-next-line", _) => IgnoreScope::NextLine,
        ("eslint-disable", CommentSign::Block) => IgnoreScope::BlockStart,
        ("eslint-enable", CommentSign::Block) => IgnoreScope::BlockEnd,
        (_, _) => return None,
    };
    let rules = match rest.is_empty() || rest.starts_with("--") {
        true => IgnoredRules::AllOf(IgnoreTool::Eslint),
        false => parse_names(rest),
    };
    Some(IgnoreForm::Tool { scope, excerpt: display_form(word, &rules), rules })
}

fn parse_names(names: &str) -> IgnoredRules {
    let names = names.split(',').map(str::trim).filter(|name| !name.is_empty());
    IgnoredRules::These(names.map(str::to_owned).collect())
}

/// The position of an unquoted word: preceded only by a blank or a comment sign.
fn find_word(line: &str, word: &str) -> Option<usize> {
    let positions = line.match_indices(word).map(|(at, _)| at);
    let is_unquoted = |position: &usize| {
        let char_before = line[..*position].chars().next_back();
        let char_after = line[position + word.len()..].chars().next();
        char_before.is_none_or(|it| it.is_whitespace() || "#/*-;!".contains(it))
            && char_after.is_none_or(|it| it.is_whitespace() || ":*-".contains(it))
    };
    positions.into_iter().find(is_unquoted)
}

/// The rest of a comment without its closing sign.
fn strip_comment_end(text: &str) -> &str {
    let text = text.trim();
    ["*/", "-->", "*/}", "%>"].iter().find_map(|end| text.strip_suffix(end)).unwrap_or(text).trim()
}

fn display_form(form: &str, names: &IgnoredRules) -> String {
    match names {
        IgnoredRules::AllOf(_) => form.to_owned(),
        IgnoredRules::These(names) => {
            let colon = if form.starts_with("eslint") { "" } else { ":" };
            truncate(&format!("{form}{colon} {}", names.join(", ")), EXCERPT_CHARS_MAX)
        }
    }
}

pub(super) fn truncate(text: &str, max_chars: usize) -> String {
    match text.char_indices().nth(max_chars) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
