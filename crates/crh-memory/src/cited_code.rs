//! Finds cited code again in a later version of the files.

use std::collections::{BTreeMap, BTreeSet};

/// Minimum length in bytes at which a block is compared on its own. A shorter block, such as a
/// closing bracket, is compared together with the lines before and after it.
const DISTINCT_BYTES: usize = 8;
/// Lines before and after a block that show whether it is still in its place.
const CONTEXT_LINES: usize = 3;

/// Texts of files, by path.
pub type FileTexts = BTreeMap<String, String>;

/// What happened to cited code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CodeChange {
    /// The code and the lines next to it are unchanged.
    Same,
    /// The code is unchanged, and lines next to it changed.
    SameInNewContext,
    /// Only white space, line breaks, quotation marks, trailing commas or names changed.
    Reformatted,
    /// The same code is in another place or file.
    Moved,
    /// Its file is gone, and the code with it.
    FileDeleted,
    /// The code changed.
    Changed,
    /// The old text is not known, or has no code at the cited lines.
    Unknown,
}

/// Finds out what happened to the code that these lines of `file` had in `before`. `after` has the
/// later version of the files.
pub(crate) fn compare_cited_code(
    file: &str,
    lines: (u32, u32),
    before: &FileTexts,
    after: &FileTexts,
) -> CodeChange {
    let Some(old_text) = before.get(file) else { return CodeChange::Unknown };
    let old = CodeLines::new(old_text);
    let Some(block) = old.block(lines) else { return CodeChange::Unknown };
    let Some(new_text) = after.get(file) else {
        return match is_in_another_file(file, &old, block, before, after) {
            true => CodeChange::Moved,
            false => CodeChange::FileDeleted,
        };
    };
    let new = CodeLines::new(new_text);
    let places = new.places(old.texts(block));
    let context = old.context(block);
    let kept = |start: &usize| {
        let here = new.context(Block { start: *start, len: block.len });
        context.is_empty() || !context.is_disjoint(&here)
    };
    if let Some(start) = places.iter().copied().find(|start| kept(start)) {
        let here = new.context(Block { start, len: block.len });
        return match here == context {
            true => CodeChange::Same,
            false => CodeChange::SameInNewContext,
        };
    }
    if !places.is_empty() && places.len() >= old.places(old.texts(block)).len() {
        return CodeChange::Moved;
    }
    if is_reformatted(&old, block, &new) || is_renamed(&old, block, &new) {
        return CodeChange::Reformatted;
    }
    match is_in_another_file(file, &old, block, before, after) {
        true => CodeChange::Moved,
        false => CodeChange::Changed,
    }
}

/// Lines of code without comments and blank lines.
struct CodeLines<'a> {
    /// Line numbers, from 1.
    numbers: Vec<u32>,
    texts: Vec<&'a str>,
}

/// A range of code lines, by index.
#[derive(Clone, Copy)]
struct Block {
    start: usize,
    len: usize,
}

impl<'a> CodeLines<'a> {
    fn new(text: &'a str) -> Self {
        let lines = (1..).zip(text.lines().map(without_comment));
        let (numbers, texts) = lines.filter(|(_, text)| !text.is_empty()).unzip();
        Self { numbers, texts }
    }

    /// The code at some line numbers, with one line before and after if it is short. `None` if
    /// there is no code.
    fn block(&self, (first, last): (u32, u32)) -> Option<Block> {
        let start = self.numbers.partition_point(|number| *number < first);
        let end = self.numbers.partition_point(|number| *number <= last);
        if start >= end {
            return None;
        }
        let visible: usize = self.texts[start..end].iter().map(|text| text.len()).sum();
        if visible >= DISTINCT_BYTES {
            return Some(Block { start, len: end - start });
        }
        let start = start.saturating_sub(1);
        let end = (end + 1).min(self.texts.len());
        Some(Block { start, len: end - start })
    }

    fn texts(&self, block: Block) -> &[&'a str] {
        &self.texts[block.start..block.start + block.len]
    }

    /// Indexes at which a block starts.
    fn places(&self, block: &[&str]) -> Vec<usize> {
        let windows = self.texts.windows(block.len()).enumerate();
        windows.filter(|(_, window)| *window == block).map(|(index, _)| index).collect()
    }

    /// Tokens of the file, without the lines of a block if one is given.
    fn token_set(&self, without: Option<Block>) -> BTreeSet<&'a str> {
        let is_outside = |index: usize| {
            without.is_none_or(|block| index < block.start || index >= block.start + block.len)
        };
        let lines = self.texts.iter().enumerate().filter(|(index, _)| is_outside(*index));
        lines.flat_map(|(_, line)| tokens(line)).collect()
    }

    /// Lines around a block that identify its place. Lines without a letter or digit do not count.
    fn context(&self, block: Block) -> BTreeSet<&'a str> {
        let before = &self.texts[block.start.saturating_sub(CONTEXT_LINES)..block.start];
        let end = block.start + block.len;
        let after = &self.texts[end..(end + CONTEXT_LINES).min(self.texts.len())];
        let has_word = |line: &&&str| line.chars().any(char::is_alphanumeric);
        before.iter().chain(after).filter(has_word).copied().collect()
    }
}

/// A line without its comment and the white space around it. A comment starts the line or follows
/// white space, so web addresses in strings stay.
fn without_comment(line: &str) -> &str {
    let line = line.trim();
    let starts = ["//", "# ", "-- ", "/*", "* "];
    if line == "#" || line == "*" || starts.iter().any(|start| line.starts_with(start)) {
        return "";
    }
    let ends = [" //", " # ", "\t//", "\t# "].iter().filter_map(|mark| line.find(mark));
    ends.min().map_or(line, |end| line[..end].trim_end())
}

/// Whether the new text contains the characters of the block as often as the old one, apart from
/// white space, the kind of quotation marks, and commas before a closing bracket.
fn is_reformatted(old: &CodeLines<'_>, block: Block, new: &CodeLines<'_>) -> bool {
    let quote = dense(&old.texts(block).concat());
    let count = |lines: &CodeLines<'_>| dense(&lines.texts.concat()).matches(&quote).count();
    !quote.is_empty() && count(new) >= count(old)
}

/// Text without white space, without commas before closing brackets, and with one kind of quotation
/// marks.
fn dense(text: &str) -> String {
    let mut dense = String::with_capacity(text.len());
    for char in text.chars().filter(|char| !char.is_whitespace()) {
        if ")]}".contains(char) && dense.ends_with(',') {
            dense.pop();
        }
        dense.push(if char == '\'' { '"' } else { char });
    }
    dense
}

/// Whether names changed and nothing else: the old names are gone from the file, and the new names
/// are new in it. Each name has to occur outside of the block, too. Otherwise the code may call
/// something else now.
fn is_renamed(old: &CodeLines<'_>, block: Block, new: &CodeLines<'_>) -> bool {
    let quoted: Vec<Vec<&str>> = old.texts(block).iter().map(|line| tokens(line)).collect();
    let (old_names, new_names) = (old.token_set(None), new.token_set(None));
    let old_outside = old.token_set(Some(block));
    let is_rename = |(start, window): (usize, &[&str])| {
        let new_outside = new.token_set(Some(Block { start, len: block.len }));
        let is_same_name = |new_token: &str, old_token: &str| {
            new_token == old_token
                || is_name(new_token)
                    && is_name(old_token)
                    && !new_names.contains(old_token)
                    && !old_names.contains(new_token)
                    && old_outside.contains(old_token)
                    && new_outside.contains(new_token)
        };
        window.iter().zip(&quoted).all(|(line, quoted)| {
            let line = tokens(line);
            line.len() == quoted.len()
                && line.iter().zip(quoted).all(|(new, old)| is_same_name(new, old))
        })
    };
    new.texts.windows(block.len).enumerate().any(is_rename)
}

fn is_name(token: &str) -> bool {
    token.starts_with(|char: char| char.is_alphabetic() || char == '_')
}

/// Names and numbers as whole words, other characters one by one.
fn tokens(line: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    let mut rest = line.trim();
    while let Some(first) = rest.chars().next() {
        let is_word = |char: char| char.is_alphanumeric() || char == '_';
        let end = match is_word(first) {
            true => rest.find(|char| !is_word(char)).unwrap_or(rest.len()),
            false => first.len_utf8(),
        };
        tokens.push(&rest[..end]);
        rest = rest[end..].trim_start();
    }
    tokens
}

/// Whether another file has the code more often than before.
fn is_in_another_file(
    file: &str,
    old: &CodeLines<'_>,
    block: Block,
    before: &FileTexts,
    after: &FileTexts,
) -> bool {
    let quote = dense(&old.texts(block).concat());
    let count = |text: &str| dense(&CodeLines::new(text).texts.concat()).matches(&quote).count();
    after
        .iter()
        .filter(|(path, _)| *path != file)
        .any(|(path, text)| count(text) > before.get(path).map_or(0, |old_text| count(old_text)))
}
