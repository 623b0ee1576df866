//! Characters that hide text from people or display it in another order than programs read it.

use super::normalized_text::is_invisible;
use crate::paths;
use crh_syntax::Language;

/// Minimum length of a run of zero-width characters that carries a message. Normal text has at most
/// three in a row.
const RUN_MIN: usize = 4;
/// Minimum zero-width characters inside English words of one line. So many are put there on
/// purpose, to break word matching.
const INSIDE_WORDS_MIN: usize = 3;

/// Maximum line length for the check of the writing direction. Longer lines are tables or
/// generated.
const LINE_CHARS_MAX: usize = 1_000;

/// Code extensions, beside the languages that crh parses.
#[rustfmt::skip]
const CODE_EXTENSIONS: [&str; 27] = [
    "sh", "bash", "zsh", "sql", "lua", "pl", "pm", "r", "scala", "dart", "ex", "exs", "erl", "hs", "ml",
    "clj", "tf", "ps1", "bat", "css", "scss", "vue", "svelte", "zig", "nim", "groovy", "gradle",
];
const TRANSLATION_EXTENSIONS: [&str; 9] =
    ["po", "pot", "xlf", "xliff", "arb", "strings", "resx", "ftl", "properties"];
const TRANSLATION_FOLDERS: [&str; 9] =
    ["locale", "locales", "i18n", "l10n", "lang", "langs", "translations", "translation", "intl"];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum UnicodeTrick {
    /// Invisible text.
    Invisible,
    /// Text displayed in another order than it is read.
    Reordered,
}

/// The kind of text a line belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LineContext {
    /// Code: the order of characters matters.
    Code,
    /// A translation: direction marks are normal.
    Translation,
    /// Anything else.
    Prose,
    /// A file name.
    Name,
}

impl LineContext {
    pub(super) fn from_path(path: &str) -> Self {
        let extension = paths::extension(path);
        let is_code =
            Language::from_path(path).is_some() || CODE_EXTENSIONS.contains(&extension.as_str());
        let is_translation = TRANSLATION_EXTENSIONS.contains(&extension.as_str())
            || path
                .to_ascii_lowercase()
                .split('/')
                .any(|folder| TRANSLATION_FOLDERS.contains(&folder));
        match (is_code, is_translation) {
            (true, _) => Self::Code,
            (false, true) => Self::Translation,
            (false, false) => Self::Prose,
        }
    }
}

pub(super) fn find_trick(line: &str, context: LineContext) -> Option<UnicodeTrick> {
    if line.is_ascii() {
        return None;
    }
    if has_tags(line)
        || has_zero_width_run(line)
        || splits_words(line)
        || has_blank_letter(line, context)
    {
        return Some(UnicodeTrick::Invisible);
    }
    is_reordered(line, context).then_some(UnicodeTrick::Reordered)
}

/// A line with invisible characters escaped.
pub(super) fn escape_invisible(line: &str) -> String {
    let mut output = String::with_capacity(line.len());
    for char in line.chars() {
        let is_accent = ('\u{0300}'..='\u{036F}').contains(&char) && char != '\u{034F}';
        if is_invisible(char) && !is_accent || char.is_control() && char != '\t' {
            output.extend(char.escape_unicode());
        } else {
            output.push(char);
        }
    }
    output
}

/// Whether a line has Unicode tag characters, which repeat ASCII invisibly. Tags after a black flag
/// belong to a flag emoji and do not count.
fn has_tags(line: &str) -> bool {
    let mut in_flag = false;
    for char in line.chars() {
        match char {
            '\u{1F3F4}' => in_flag = true,
            '\u{E0020}'..='\u{E007E}' if in_flag => {}
            '\u{E007F}' if in_flag => in_flag = false,
            '\u{E0000}'..='\u{E007F}' => return true,
            _ => in_flag = false,
        }
    }
    false
}

fn has_no_width(char: char) -> bool {
    matches!(char,
        '\u{200B}'..='\u{200F}' | '\u{2060}'..='\u{2064}' | '\u{FEFF}' | '\u{180E}' | '\u{00AD}' | '\u{034F}'
        | '\u{FE00}'..='\u{FE0F}' | '\u{E0100}'..='\u{E01EF}')
}

fn has_zero_width_run(line: &str) -> bool {
    let mut run = 0;
    for char in line.chars() {
        run = if has_no_width(char) { run + 1 } else { 0 };
        if run == RUN_MIN {
            return true;
        }
    }
    false
}

fn splits_words(line: &str) -> bool {
    let mut count = 0;
    let mut previous = ' ';
    let mut follows_letter = false;
    for char in line.chars() {
        if has_no_width(char) && char != '\u{00AD}' {
            follows_letter = previous.is_ascii_alphabetic();
            continue;
        }
        count += usize::from(follows_letter && char.is_ascii_alphabetic());
        (follows_letter, previous) = (false, char);
    }
    count >= INSIDE_WORDS_MIN
}

/// Whether code without Korean text has an unquoted invisible Korean letter. Such a letter can be a
/// variable name.
fn has_blank_letter(line: &str, context: LineContext) -> bool {
    let is_blank = |char: char| matches!(char, '\u{3164}' | '\u{FFA0}' | '\u{115F}' | '\u{1160}');
    let is_korean = |char: char| {
        !is_blank(char)
            && matches!(char, '\u{1100}'..='\u{11FF}' | '\u{3130}'..='\u{318F}' | '\u{AC00}'..='\u{D7AF}')
    };
    let is_quote = |char: &char| matches!(char, '"' | '\'' | '`');
    let is_quoted = |offset: usize, blank: char| {
        let char_before = line[..offset].chars().next_back();
        char_before.is_some_and(|char| is_quote(&char))
            && line[offset + blank.len_utf8()..].chars().next().is_some_and(|char| is_quote(&char))
    };
    let is_unquoted_blank =
        |(offset, char): (usize, char)| is_blank(char) && !is_quoted(offset, char);
    context == LineContext::Code
        && line.char_indices().any(is_unquoted_blank)
        && !line.chars().any(is_korean)
}

/// Whether direction marks display a line in another order than it is read. Marks that the context
/// explains do not count: in translations any; in code closed ones, if the line has right-to-left
/// text; in prose all but overrides, and overrides too if the line has right-to-left text.
fn is_reordered(line: &str, context: LineContext) -> bool {
    let is_override = |char: char| matches!(char, '\u{202D}' | '\u{202E}');
    let is_opening = |char: char| {
        matches!(char, '\u{202A}' | '\u{202B}' | '\u{2066}'..='\u{2068}') || is_override(char)
    };
    let is_closing = |char: char| matches!(char, '\u{202C}' | '\u{2069}');
    let has_rtl_text = line.chars().any(
        |char| matches!(char, '\u{0590}'..='\u{08FF}' | '\u{FB1D}'..='\u{FDFF}' | '\u{FE70}'..='\u{FEFC}'),
    );
    if line.chars().nth(LINE_CHARS_MAX).is_some() {
        return false;
    }
    let count =
        |predicate: &dyn Fn(char) -> bool| line.chars().filter(|char| predicate(*char)).count();
    match context {
        LineContext::Name => count(&is_opening) > 0,
        LineContext::Translation => false,
        LineContext::Prose => !has_rtl_text && count(&is_override) > 0,
        LineContext::Code if has_rtl_text => count(&is_opening) > count(&is_closing),
        LineContext::Code => count(&is_opening) > 0,
    }
}
