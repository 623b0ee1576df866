//! What a comment says: the forms in which findings are silenced.

use crate::Rule;

/// A reason is a sentence; what is longer is cut.
const REASON_CHARS: usize = 200;
/// What is shown of a comment of another tool: its form and a few names.
const BY_CHARS: usize = 80;
/// What stands before the rule and the reason.
const CRH: &str = "crh:ignore";
/// The tools that `noqa` can be said to about a whole file.
const WHOLE_FILE: [&str; 2] = ["ruff", "flake8"];
/// Every code of shellcheck, and nobody else's.
const ALL_OF_SHELLCHECK: &str = "SC0-SC99999";

/// Which rules a form is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Names {
    /// All that a tool has.
    AllOf(Tool),
    /// Those that other tools call so.
    These(Vec<String>),
}

/// A tool that has a form of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tool {
    /// What `noqa` is for: flake8, and ruff, which has its rules.
    Flake8,
    /// eslint with its plugins.
    Eslint,
    /// semgrep.
    Semgrep,
}

impl Tool {
    /// Whether a form of this tool that names no rule is about a rule of ours: one that goes by a name of the tool's, too, or is
    /// of the kind that the tool looks for.
    pub(super) fn has(self, rule: &Rule) -> bool {
        match self {
            Self::Flake8 => rule.also.iter().any(|name| is_flake8(name)),
            Self::Eslint => rule.also.iter().any(|name| is_eslint(name)),
            Self::Semgrep => rule.id.starts_with("patterns/"),
        }
    }

    /// Whether the findings of another tool are this one's.
    pub(super) fn is(self, tool: &str) -> bool {
        match self {
            Self::Flake8 => matches!(tool, "flake8" | "ruff" | "pycodestyle" | "pyflakes"),
            Self::Eslint => matches!(tool, "eslint" | "oxlint"),
            // Its editions have names of their own.
            Self::Semgrep => tool.starts_with("semgrep"),
        }
    }
}

/// Whether a name is a code as flake8 and ruff have them. Tools for other languages number theirs, too, mostly with four digits.
fn is_flake8(name: &str) -> bool {
    let letters = name.trim_end_matches(|digit: char| digit.is_ascii_digit());
    let digits = name.len() - letters.len();
    is_code(name) && (digits == 3 && letters != "G" || letters.starts_with("PL"))
}

/// Whether a name is one of eslint or of its plugins, which stand before a slash. Names of its core begin with a few words.
fn is_eslint(name: &str) -> bool {
    let is_of_plugin = name.contains('/') && name.starts_with(|it: char| !it.is_uppercase());
    is_of_plugin
        || ["no-", "valid-"].iter().any(|word| name.starts_with(word))
        || matches!(name, "array-callback-return" | "use-isnan")
}

/// One form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Form {
    /// `crh:ignore RULE reason`.
    Crh { rule: String, reason: String },
    /// It counts for the line of the comment.
    Line { names: Names, by: String },
    /// It counts for the line of the comment and, if that has nothing else, for the next.
    LineOrNext { names: Names, by: String },
    /// It counts for all lines, if its line has nothing else.
    File { names: Names, by: String },
    /// It counts for the command of a shell behind it, or for all lines if none stands before it.
    Command { names: Names, by: String },
    /// It counts for the next line.
    NextLine { names: Names, by: String },
    /// It counts from here on.
    Begins { names: Names, by: String },
    /// What began counts no more.
    Ends { names: Names },
}

/// What comments begin with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sign {
    /// `#`
    Hash,
    /// `/*`
    Block,
    /// Everything else.
    Other,
}

/// The forms in the text of a comment, its signs included.
pub(super) fn read(comment: &str, sign: Sign) -> Vec<Form> {
    let mut forms = Vec::new();
    for line in comment.lines() {
        forms.extend(crh(line));
        if sign == Sign::Hash {
            forms.extend(noqa(line).or_else(|| shellcheck(line)));
        }
        forms.extend(nosemgrep(line));
    }
    forms.extend(eslint(comment, sign));
    forms
}

fn crh(line: &str) -> Option<Form> {
    let at = word_at(line, CRH)?;
    let rest = without_end(&line[at + CRH.len()..]);
    let (rule, reason) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let reason: String = reason.trim().trim_start_matches([':', '-', '–', '—']).trim().to_owned();
    // A sign alone is no reason.
    let has_words = reason.chars().any(char::is_alphanumeric);
    let reason = if has_words { cut(&reason, REASON_CHARS) } else { String::new() };
    Some(Form::Crh { rule: cut(rule.trim_end_matches([':', ',']), BY_CHARS), reason })
}

/// `# noqa`, `# noqa: T100, F401`, and for a whole file `# ruff: noqa`. With a colon and no code behind it, it says nothing.
fn noqa(line: &str) -> Option<Form> {
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
        None => Names::AllOf(Tool::Flake8),
        Some(codes) => Names::These(
            codes
                .split([',', ' ', '\t'])
                .skip_while(|code| code.is_empty())
                .take_while(|code| code.is_empty() || is_code(code))
                .filter(|code| !code.is_empty())
                .map(str::to_owned)
                .collect(),
        ),
    };
    if names == Names::These(Vec::new()) {
        return None;
    }
    Some(match whole(at) {
        Some(tool) => Form::File { by: shown(&format!("# {tool}: noqa"), &names), names },
        None => Form::Line { by: shown("# noqa", &names), names },
    })
}

/// `# shellcheck disable=SC2086,SC2115-SC2120`, with other keys before or behind.
fn shellcheck(line: &str) -> Option<Form> {
    let rest = line.trim_start().strip_prefix('#')?.trim_start().strip_prefix("shellcheck")?;
    let keys = rest.strip_prefix(char::is_whitespace)?.split_whitespace();
    // What follows a second sign is for people.
    let mut keys = keys.take_while(|key| !key.starts_with('#'));
    let codes = keys.find_map(|key| key.strip_prefix("disable="))?;
    let name = |code: &str| match code {
        "all" => ALL_OF_SHELLCHECK.to_owned(),
        code if code.starts_with(|it: char| it.is_ascii_digit()) => format!("SC{code}"),
        code => code.to_owned(),
    };
    let names: Vec<String> = codes.split(',').filter(|it| !it.is_empty()).map(name).collect();
    let by = cut(&format!("# shellcheck disable={codes}"), BY_CHARS);
    (!names.is_empty()).then_some(Form::Command { names: Names::These(names), by })
}

/// Whether a code lies between two, as in `SC2115-SC2120`.
pub(super) fn is_between(range: &str, code: &str) -> bool {
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

fn nosemgrep(line: &str) -> Option<Form> {
    let words = ["nosemgrep", "nosem"];
    let (word, at) = words.iter().find_map(|word| Some((*word, word_at(line, word)?)))?;
    let rest = without_end(&line[at + word.len()..]);
    let names = match rest.strip_prefix(':') {
        None => Names::AllOf(Tool::Semgrep),
        Some(ids) => listed(ids),
    };
    Some(Form::LineOrNext { by: shown(word, &names), names })
}

/// The three forms of eslint. Only a block comment can begin or end a block.
fn eslint(comment: &str, sign: Sign) -> Option<Form> {
    if sign == Sign::Hash {
        return None;
    }
    let body = comment.trim_start_matches(['/', '*', '<', '!', '-', '{']).trim_start();
    let word = body.split(|char: char| char.is_whitespace() || char == '*').next()?;
    let rest = without_end(&body[word.len()..]);
    // What follows two dashes is for people.
    let rest = rest.split(" --").next().unwrap_or(rest).trim();
    let names = match rest.is_empty() || rest.starts_with("--") {
        true => Names::AllOf(Tool::Eslint),
        false => listed(rest),
    };
    let by = shown(word, &names);
    match (word, sign) {
        ("eslint-disable-line", _) => Some(Form::Line { names, by }),
        ("eslint-disable-next-line", _) => Some(Form::NextLine { names, by }),
        ("eslint-disable", Sign::Block) => Some(Form::Begins { names, by }),
        ("eslint-enable", Sign::Block) => Some(Form::Ends { names }),
        (_, _) => None,
    }
}

fn listed(names: &str) -> Names {
    let names = names.split(',').map(str::trim).filter(|name| !name.is_empty());
    Names::These(names.map(str::to_owned).collect())
}

/// Where a word begins that nothing but a blank or the comment's own sign stands before: not one that is quoted.
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

/// The rest of a comment without what closes it.
fn without_end(text: &str) -> &str {
    let text = text.trim();
    ["*/", "-->", "*/}", "%>"].iter().find_map(|end| text.strip_suffix(end)).unwrap_or(text).trim()
}

fn shown(form: &str, names: &Names) -> String {
    match names {
        Names::AllOf(_) => form.to_owned(),
        Names::These(names) => {
            let colon = if form.starts_with("eslint") { "" } else { ":" };
            cut(&format!("{form}{colon} {}", names.join(", ")), BY_CHARS)
        }
    }
}

pub(super) fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
