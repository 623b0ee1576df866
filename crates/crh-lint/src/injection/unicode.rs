//! Characters that hide text from people, or show it in another order than programs read it.

use super::folded::is_invisible;
use crate::paths;
use crh_syntax::Language;

/// So many characters without width in a row carry a message. Writing uses one; sloppy writing two or three.
const RUN_MIN: usize = 4;
/// So many of them inside English words of one line keep words from being found.
const INSIDE_WORDS_MIN: usize = 3;

/// Nobody reads a line that is longer: it is a table, or was made by a program.
const READ_CHARS_MAX: usize = 1_000;

/// Endings of programs, beside those whose language is parsed.
#[rustfmt::skip]
const CODE_EXTENSIONS: [&str; 27] = [
    "sh", "bash", "zsh", "sql", "lua", "pl", "pm", "r", "scala", "dart", "ex", "exs", "erl", "hs", "ml",
    "clj", "tf", "ps1", "bat", "css", "scss", "vue", "svelte", "zig", "nim", "groovy", "gradle",
];
const TRANSLATION_EXTENSIONS: [&str; 9] =
    ["po", "pot", "xlf", "xliff", "arb", "strings", "resx", "ftl", "properties"];
const TRANSLATION_FOLDERS: [&str; 9] =
    ["locale", "locales", "i18n", "l10n", "lang", "langs", "translations", "translation", "intl"];

/// A trick with characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trick {
    /// Text that nobody sees.
    Invisible,
    /// Text that is shown in another order than it is read.
    Reordered,
}

/// What a line is part of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Script {
    /// A program: order matters to the character.
    Code,
    /// A translation: full of characters that turn the direction.
    Translation,
    /// Anything else.
    Prose,
    /// The name of a file.
    Name,
}

impl Script {
    /// What the lines of a file are part of.
    pub(super) fn of_file(path: &str) -> Self {
        let extension = paths::extension(path);
        let is_code =
            Language::of_path(path).is_some() || CODE_EXTENSIONS.contains(&extension.as_str());
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

/// The trick that a line plays, if it plays one.
pub(super) fn trick(line: &str, script: Script) -> Option<Trick> {
    if line.is_ascii() {
        return None;
    }
    if has_tags(line) || has_run(line) || splits_words(line) || has_blank_letter(line, script) {
        return Some(Trick::Invisible);
    }
    is_reordered(line, script).then_some(Trick::Reordered)
}

/// A line with what cannot be seen written out.
pub(super) fn visible(line: &str) -> String {
    let mut shown = String::with_capacity(line.len());
    for char in line.chars() {
        let is_accent = ('\u{0300}'..='\u{036F}').contains(&char) && char != '\u{034F}';
        if is_invisible(char) && !is_accent || char.is_control() && char != '\t' {
            shown.extend(char.escape_unicode());
        } else {
            shown.push(char);
        }
    }
    shown
}

/// Characters that repeat ASCII and show nothing. Some flags are written with them, behind a black flag.
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

fn has_run(line: &str) -> bool {
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
    let mut before = ' ';
    let mut pending = false;
    for char in line.chars() {
        if has_no_width(char) && char != '\u{00AD}' {
            pending = before.is_ascii_alphabetic();
            continue;
        }
        count += usize::from(pending && char.is_ascii_alphabetic());
        (pending, before) = (false, char);
    }
    count >= INSIDE_WORDS_MIN
}

/// A letter of Korean that shows nothing can be the name of a variable.
fn has_blank_letter(line: &str, script: Script) -> bool {
    let is_blank = |char: char| matches!(char, '\u{3164}' | '\u{FFA0}' | '\u{115F}' | '\u{1160}');
    let is_korean = |char: char| {
        !is_blank(char)
            && matches!(char, '\u{1100}'..='\u{11FF}' | '\u{3130}'..='\u{318F}' | '\u{AC00}'..='\u{D7AF}')
    };
    let is_quote = |char: &char| matches!(char, '"' | '\'' | '`');
    let is_quoted = |at: usize, blank: char| {
        let before = line[..at].chars().next_back();
        before.is_some_and(|char| is_quote(&char))
            && line[at + blank.len_utf8()..].chars().next().is_some_and(|char| is_quote(&char))
    };
    let is_loose = |(at, char): (usize, char)| is_blank(char) && !is_quoted(at, char);
    script == Script::Code && line.char_indices().any(is_loose) && !line.chars().any(is_korean)
}

/// Whether the order is turned where nothing is written from right to left, or not turned back in code.
fn is_reordered(line: &str, script: Script) -> bool {
    let is_override = |char: char| matches!(char, '\u{202D}' | '\u{202E}');
    let is_opening = |char: char| {
        matches!(char, '\u{202A}' | '\u{202B}' | '\u{2066}'..='\u{2068}') || is_override(char)
    };
    let is_closing = |char: char| matches!(char, '\u{202C}' | '\u{2069}');
    let from_right = line.chars().any(
        |char| matches!(char, '\u{0590}'..='\u{08FF}' | '\u{FB1D}'..='\u{FDFF}' | '\u{FE70}'..='\u{FEFC}'),
    );
    if line.chars().nth(READ_CHARS_MAX).is_some() {
        return false;
    }
    let count = |is: &dyn Fn(char) -> bool| line.chars().filter(|char| is(*char)).count();
    match script {
        Script::Name => count(&is_opening) > 0,
        Script::Translation => false,
        Script::Prose => !from_right && count(&is_override) > 0,
        Script::Code if from_right => count(&is_opening) > count(&is_closing),
        Script::Code => count(&is_opening) > 0,
    }
}
