//! Text normalization: undoes tricks with characters and keeps the line of every position.
//!
//! Invariant: normalization decides nothing. It only makes texts comparable.

/// Text in plain lower-case letters: full-width and mathematical letters and look-alikes of other
/// alphabets replaced, invisible characters removed. Punctuation is kept.
#[derive(Debug, Default)]
pub(super) struct NormalizedText {
    pub(super) text: String,
    lines: LineOffsets,
}

/// The words of a text, separated by one sign: a blank, a comma, a colon, `\n` where a new thought
/// may begin, or `.` where a sentence ends. Non-Latin letters and underscores inside words are `~`.
#[derive(Debug, Default)]
pub(super) struct NormalizedWords {
    pub(super) text: String,
    lines: LineOffsets,
}

/// How `_` between letters is treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Underscore {
    /// The underscore joins words into one, as in identifiers.
    Joins,
    /// The underscore separates words, like a blank.
    Separates,
}

/// Line starts: offset in the text, and line number.
#[derive(Debug, Clone, Default)]
pub(super) struct LineOffsets(Vec<(usize, u32)>);

impl LineOffsets {
    pub(super) fn push(&mut self, start: usize, line: u32) {
        self.0.push((start, line));
    }

    pub(super) fn line_at(&self, offset: usize) -> u32 {
        let end = self.0.partition_point(|(start, _)| *start <= offset);
        self.0.get(end.saturating_sub(1)).map_or(1, |(_, line)| *line)
    }
}

impl NormalizedText {
    /// Normalizes consecutive lines.
    pub(super) fn from_lines<'a>(lines: impl IntoIterator<Item = (u32, &'a str)>) -> Self {
        let mut normalized_text = Self::default();
        for (number, line) in lines {
            if !normalized_text.text.is_empty() {
                normalized_text.text.push('\n');
            }
            normalized_text.lines.push(normalized_text.text.len(), number);
            normalized_text.push(line);
        }
        normalized_text
    }

    fn push(&mut self, line: &str) {
        if line.is_ascii() && memchr::memchr3(b'&', b'%', b'\\', line.as_bytes()).is_none() {
            self.text.push_str(line);
            let start = self.text.len() - line.len();
            self.text[start..].make_ascii_lowercase();
            return;
        }
        let mut rest = line;
        while let Some(char) = rest.chars().next() {
            let (char, length) = escaped_char(rest).unwrap_or((char, char.len_utf8()));
            rest = &rest[length..];
            if !is_invisible(char) {
                self.text.extend(plain_letter(char).to_lowercase().map(without_accent));
            }
        }
    }

    /// The line of a text offset.
    pub(super) fn line(&self, offset: usize) -> u32 {
        self.lines.line_at(offset)
    }

    /// The words of a part of the text.
    pub(super) fn words(&self, from: usize, to: usize, underscore: Underscore) -> NormalizedWords {
        let mut words = NormalizedWords::default();
        let mut last_leader = None;
        let mut offset = from;
        for line in self.text.get(from..to).unwrap_or_default().split('\n') {
            // A new thought may begin after an empty line, or where the leading punctuation, such
            // as `//` or `-`, changes.
            let leader = leader(line);
            if line.trim().is_empty()
                || last_leader.is_some_and(|leader_above| leader_above != leader)
            {
                words.separate('\n');
            } else {
                words.separate(' ');
            }
            last_leader = Some(leader);
            words.lines.push(words.text.len(), self.line(offset));
            words.push_words(line, underscore);
            offset += line.len() + 1;
        }
        words.text.truncate(words.text.trim_end_matches([' ', '\n', ',']).len());
        words
    }

    pub(super) fn all_words(&self, underscore: Underscore) -> NormalizedWords {
        self.words(0, self.text.len(), underscore)
    }
}

impl NormalizedWords {
    /// The line of a text offset.
    pub(super) fn line(&self, offset: usize) -> u32 {
        self.lines.line_at(offset)
    }

    /// The words with digits replaced by the letters that they look like. None if no word mixes
    /// digits and letters.
    pub(super) fn with_digits_as_letters(&self) -> Option<Self> {
        let is_word = |byte: &u8| byte.is_ascii_alphanumeric();
        let mut bytes = self.text.clone().into_bytes();
        let mut has_mixed_word = false;
        for word in bytes.chunk_by_mut(|one, next| is_word(one) == is_word(next)) {
            if word.iter().any(u8::is_ascii_digit) && word.iter().any(u8::is_ascii_alphabetic) {
                has_mixed_word = true;
                word.iter_mut().for_each(|byte| *byte = letter_for_digit(*byte));
            }
        }
        let text = String::from_utf8(bytes).ok().filter(|_| has_mixed_word)?;
        Some(Self { text, lines: self.lines.clone() })
    }

    fn push_words(&mut self, line: &str, underscore: Underscore) {
        let mut chars = line.chars().peekable();
        let mut previous = ' ';
        while let Some(char) = chars.next() {
            let next = chars.peek().copied().unwrap_or(' ');
            match char {
                'a'..='z' | '0'..='9' => self.text.push(char),
                '_' if previous.is_alphanumeric() && next.is_alphanumeric() => match underscore {
                    Underscore::Joins => self.text.push('~'),
                    Underscore::Separates => self.separate(' '),
                },
                // A word with an apostrophe is one word.
                '\'' | '\u{2019}' if previous.is_alphanumeric() && next.is_alphanumeric() => {}
                '.' if previous == '.' || next == '.' => self.separate(' '),
                '.' | '!' | '?' | '\u{3002}' if !next.is_alphanumeric() && next != '/' => {
                    self.separate('.');
                }
                // A mention: `@name` becomes the word `at~name`.
                '@' if !previous.is_alphanumeric() && next.is_alphanumeric() => {
                    self.separate(' ');
                    self.text.push_str("at~");
                }
                ':' => self.separate(':'),
                ',' => self.separate(','),
                '"' | '`' | '(' | ')' | '[' | ']' | '{' | '}' | '<' | '>' | ';' | '|' => {
                    self.separate('\n');
                }
                char if char.is_alphanumeric() => self.text.push('~'),
                _ => self.separate(' '),
            }
            previous = char;
        }
    }

    /// Adds a separator, or replaces the last separator by a stronger one. From weak to strong:
    /// blank, comma, new line, colon, full stop.
    fn separate(&mut self, sign: char) {
        let rank = |sign: char| " ,\n:.".find(sign);
        match self.text.chars().next_back() {
            None => {}
            Some(last_char) if rank(last_char).is_none() => self.text.push(sign),
            Some(last_char) if rank(last_char) < rank(sign) => {
                self.text.pop();
                self.text.push(sign);
            }
            Some(_) => {}
        }
    }
}

fn letter_for_digit(byte: u8) -> u8 {
    match byte {
        b'0' => b'o',
        b'1' => b'i',
        b'3' => b'e',
        b'4' => b'a',
        b'5' => b's',
        b'7' => b't',
        other => other,
    }
}

/// Punctuation before the first word of a line, such as `//` or `-`.
fn leader(line: &str) -> &str {
    let line = line.trim_start();
    let end = line.find(|char: char| char.is_alphanumeric()).unwrap_or(line.len());
    line[..end].trim_end()
}

/// Parses an escaped character: an HTML reference, a percent code or an escape sequence of a
/// string. Returns the character and the length. The escape `\n` becomes `;`, which separates
/// thoughts.
fn escaped_char(text: &str) -> Option<(char, usize)> {
    // Enough for `&#x10FFFF;` with leading zeros.
    const LONGEST: usize = 12;
    let hex = |digits: &str| u32::from_str_radix(digits, 16).ok().and_then(char::from_u32);
    let is_printable = |char: &char| matches!(char, ' '..='~');
    match text.as_bytes() {
        [b'&', b'#', ..] => {
            let digits = &text[2..];
            let end = digits.bytes().take(LONGEST).position(|byte| byte == b';')?;
            let digits = &digits[..end];
            let char = match digits.strip_prefix(['x', 'X']) {
                Some(digits) => hex(digits)?,
                None => digits.parse().ok().and_then(char::from_u32)?,
            };
            Some((char, end + 3))
        }
        [b'&', ..] if text.starts_with("&nbsp;") => Some((' ', "&nbsp;".len())),
        [b'%', ..] => Some((hex(text.get(1..3)?).filter(is_printable)?, 3)),
        [b'\\', b'x', ..] => Some((hex(text.get(2..4)?).filter(is_printable)?, 4)),
        [b'\\', b'u', ..] => Some((hex(text.get(2..6)?)?, 6)),
        [b'\\', b'n', ..] => Some((';', 2)),
        [b'\\', b't' | b'r', ..] => Some((' ', 2)),
        _ => None,
    }
}

/// Whether a character has no visible width. Combining accents count as invisible.
pub(super) fn is_invisible(char: char) -> bool {
    matches!(char,
        '\u{00AD}' | '\u{034F}' | '\u{061C}' | '\u{115F}' | '\u{1160}' | '\u{17B4}' | '\u{17B5}' | '\u{180B}'..='\u{180F}'
        | '\u{200B}'..='\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2060}'..='\u{206F}' | '\u{3164}' | '\u{FE00}'..='\u{FE0F}'
        | '\u{FEFF}' | '\u{FFA0}' | '\u{FFF9}'..='\u{FFFB}' | '\u{1D173}'..='\u{1D17A}' | '\u{E0000}'..='\u{E0FFF}'
        // Combining accents.
        | '\u{0300}'..='\u{034E}' | '\u{0350}'..='\u{036F}')
}

/// The plain letter that a character looks like.
fn plain_letter(char: char) -> char {
    let code = u32::from(char);
    let letter =
        |first: u8, index: u32| char::from(first + u8::try_from(index).unwrap_or_default());
    match code {
        // Full-width letters and punctuation.
        0xFF01..=0xFF5E => char::from_u32(code - 0xFEE0).unwrap_or(char),
        0x3000 | 0x00A0 | 0x2000..=0x200A | 0x202F | 0x205F => ' ',
        // Circled letters.
        0x24B6..=0x24CF => letter(b'a', code - 0x24B6),
        0x24D0..=0x24E9 => letter(b'a', code - 0x24D0),
        // Mathematical letters and digits: consecutive alphabets of 52 letters.
        0x1D400..=0x1D6A3 => letter(b'a', (code - 0x1D400) % 26),
        0x1D7CE..=0x1D7FF => letter(b'0', (code - 0x1D7CE) % 10),
        // Letters in squares and flags.
        0x1F130..=0x1F149 => letter(b'a', code - 0x1F130),
        0x1F150..=0x1F169 => letter(b'a', code - 0x1F150),
        0x1F170..=0x1F189 => letter(b'a', code - 0x1F170),
        0x1F1E6..=0x1F1FF => letter(b'a', code - 0x1F1E6),
        _ => look_alike(char),
    }
}

/// The Latin letter that a letter of another alphabet, a small capital or a superscript looks like.
#[rustfmt::skip]
fn look_alike(char: char) -> char {
    match char {
        'а' | 'А' | 'α' | 'Α' | 'ᴀ' | 'ᵃ' | 'Ꭺ' => 'a',
        'В' | 'Β' | 'ʙ' | 'ᵇ' | 'Ᏼ' => 'b',
        'с' | 'С' | 'ϲ' | 'ᴄ' | 'ᶜ' | 'Ꮯ' => 'c',
        'ԁ' | 'ᴅ' | 'ᵈ' | 'Ꭰ' => 'd',
        'е' | 'Е' | 'Ε' | 'ё' | 'ᴇ' | 'ᵉ' | 'Ꭼ' => 'e',
        'ꜰ' | 'ᶠ' => 'f',
        'ɡ' | 'ɢ' | 'ᵍ' | 'ց' | 'Ꮐ' => 'g',
        'һ' | 'Н' | 'Η' | 'ʜ' | 'ʰ' | 'հ' | 'Ꮋ' => 'h',
        'і' | 'І' | 'ι' | 'Ι' | 'ı' | 'ɪ' | 'ⁱ' | 'Ꭵ' => 'i',
        'ј' | 'Ј' | 'ᴊ' | 'ʲ' | 'Ꭻ' => 'j',
        'К' | 'Κ' | 'к' | 'κ' | 'ᴋ' | 'ᵏ' | 'Ꮶ' => 'k',
        'ӏ' | 'Ӏ' | 'ʟ' | 'ˡ' | 'Ꮮ' => 'l',
        'М' | 'Μ' | 'ᴍ' | 'ᵐ' | 'Ꮇ' => 'm',
        'Ν' | 'ɴ' | 'ⁿ' | 'ո' => 'n',
        'о' | 'О' | 'ο' | 'Ο' | 'ᴏ' | 'ᵒ' | 'օ' | 'Ꮎ' => 'o',
        'р' | 'Р' | 'ρ' | 'Ρ' | 'ᴘ' | 'ᵖ' | 'Ꮲ' => 'p',
        'ʀ' | 'ʳ' | 'Ꮢ' => 'r',
        'ѕ' | 'Ѕ' | 'ꜱ' | 'ˢ' | 'Ꮪ' => 's',
        'Т' | 'Τ' | 'т' | 'τ' | 'ᴛ' | 'ᵗ' | 'Ꭲ' => 't',
        'υ' | 'ᴜ' | 'ᵘ' | 'ս' => 'u',
        'ν' | 'ᴠ' | 'ᵛ' | 'Ꮩ' => 'v',
        'ԝ' | 'ᴡ' | 'ʷ' | 'Ꮃ' => 'w',
        'х' | 'Х' | 'Χ' | 'χ' | 'ˣ' => 'x',
        'у' | 'У' | 'Υ' | 'γ' | 'ʏ' | 'ʸ' | 'Ꮍ' => 'y',
        'Ζ' | 'ᴢ' | 'ᶻ' | 'Ꮓ' => 'z',
        other => other,
    }
}

/// A Latin letter in lower case without its accent.
#[rustfmt::skip]
fn without_accent(char: char) -> char {
    match char {
        'à'..='å' | 'ā' | 'ă' | 'ą' | 'ǎ' => 'a',
        'ç' | 'ć' | 'ĉ' | 'ċ' | 'č' => 'c',
        'ď' | 'đ' => 'd',
        'è'..='ë' | 'ē' | 'ĕ' | 'ė' | 'ę' | 'ě' => 'e',
        'ĝ' | 'ğ' | 'ġ' | 'ģ' => 'g',
        'ĥ' | 'ħ' => 'h',
        'ì'..='ï' | 'ĩ' | 'ī' | 'ĭ' | 'į' | 'ǐ' => 'i',
        'ķ' => 'k',
        'ĺ' | 'ļ' | 'ľ' | 'ł' => 'l',
        'ñ' | 'ń' | 'ņ' | 'ň' => 'n',
        'ò'..='ö' | 'ø' | 'ō' | 'ŏ' | 'ő' | 'ǒ' => 'o',
        'ŕ' | 'ŗ' | 'ř' => 'r',
        'ś' | 'ŝ' | 'ş' | 'š' | 'ș' => 's',
        'ţ' | 'ť' | 'ț' => 't',
        'ù'..='ü' | 'ũ' | 'ū' | 'ŭ' | 'ů' | 'ű' | 'ų' | 'ǔ' => 'u',
        'ŵ' => 'w',
        'ý' | 'ÿ' | 'ŷ' => 'y',
        'ź' | 'ż' | 'ž' => 'z',
        other => other,
    }
}
