//! Parses a requirements document: requirements and implementation units.

use std::collections::BTreeSet;

use pulldown_cmark::HeadingLevel;

use super::entries::{EntryKind, MarkdownEntry, parse_entries};
use super::{RequirementItem, RequirementsDoc};
use crate::text::cut;
use crh_review::report::PlanSource;

/// Maximum bytes of a document.
const BYTES_MAX: usize = 512 * 1024;
/// Maximum number of items that one run judges.
const ITEMS_MAX: usize = 60;
/// Maximum characters of an item: one paragraph.
const ITEM_CHARS: usize = 500;
/// Maximum digits of an id. Longer numbers are ticket numbers.
const DIGITS_MAX: usize = 3;

/// A section with items.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DocSection {
    Requirements,
    Units,
}

/// Parses a document. Also returns notes, such as on parts that were left out.
pub fn parse_document(
    path: &str,
    source: PlanSource,
    text: &str,
) -> (RequirementsDoc, Vec<String>) {
    let mut notes = Vec::new();
    let end = text.floor_char_boundary(BYTES_MAX);
    if end < text.len() {
        notes.push(format!("only the first {BYTES_MAX} bytes of the plan `{path}` were read"));
    }
    let (requirements, units) = split_sections(parse_entries(&text[..end]));
    let mut items = items(&requirements, DocSection::Requirements);
    items.extend(self::items(&units, DocSection::Units));
    let omitted_count = items.len().saturating_sub(ITEMS_MAX);
    if omitted_count > 0 {
        let total = items.len();
        notes.push(format!(
            "{omitted_count} of the {total} requirements of the plan `{path}` were not checked"
        ));
        items.truncate(ITEMS_MAX);
    }
    if items.is_empty() {
        notes.push(format!("crh checked nothing of the plan `{path}`: it has neither a section `Requirements` (`R1`, `R2` …) nor a section `Implementation Units` (`U1`, `U2` …)"));
    }
    (RequirementsDoc { path: path.to_owned(), source, items, omitted_count }, notes)
}

/// Entries of the sections on requirements, and entries of the sections on units.
fn split_sections(entries: Vec<MarkdownEntry>) -> (Vec<MarkdownEntry>, Vec<MarkdownEntry>) {
    let (mut requirements, mut units) = (Vec::new(), Vec::new());
    let mut open_sections: Vec<(HeadingLevel, DocSection)> = Vec::new();
    for entry in entries {
        if let EntryKind::Heading(level) = entry.kind {
            open_sections.retain(|(open_level, _)| *open_level < level);
            let parent_section = open_sections.last().map(|(_, section)| *section);
            // `Requirements` below a unit lists the requirements that the unit covers.
            match (section(&entry.text), parent_section) {
                (None, _) | (Some(DocSection::Requirements), Some(_)) => {}
                (Some(DocSection::Units), Some(DocSection::Units)) => {}
                (Some(new_section), _) => {
                    open_sections.push((level, new_section));
                    continue;
                }
            }
        }
        match open_sections.last() {
            Some((_, DocSection::Requirements)) => requirements.push(entry),
            Some((_, DocSection::Units)) => units.push(entry),
            None => {}
        }
    }
    (requirements, units)
}

/// The section that a heading starts, with or without a number: `3. Requirements Trace`.
fn section(heading: &str) -> Option<DocSection> {
    let words: Vec<String> = heading
        .split(|char: char| !char.is_alphanumeric())
        .filter(|word| word.chars().any(char::is_alphabetic))
        .map(str::to_lowercase)
        .collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["requirements"] | ["requirements", "trace"] => Some(DocSection::Requirements),
        ["implementation", "units"] => Some(DocSection::Units),
        _ => None,
    }
}

/// Items of a section: entries with an id, and units with a checkbox. If there are none, the
/// outermost list items count as items, or for units the headings. crh numbers them in order.
fn items(entries: &[MarkdownEntry], section: DocSection) -> Vec<RequirementItem> {
    let identified_items: Vec<(Option<String>, RequirementItem)> =
        (0..entries.len()).filter_map(|index| identified_item(entries, index, section)).collect();
    let raw_items = match identified_items.is_empty() {
        false => identified_items,
        true => unidentified_items(entries, section),
    };
    assign_ids(raw_items, section)
}

/// An entry with an id, or a unit with a checkbox.
fn identified_item(
    entries: &[MarkdownEntry],
    index: usize,
    section: DocSection,
) -> Option<(Option<String>, RequirementItem)> {
    let entry = &entries[index];
    let done = match entry.kind {
        EntryKind::Item { done, .. } => done,
        EntryKind::Heading(_) | EntryKind::Row(_) | EntryKind::Line => None,
    };
    let Some((id, rest)) = parse_id(&entry.text, section) else {
        let has_checkbox = section == DocSection::Units
            && matches!(entry.kind, EntryKind::Item { depth: 1, done: Some(_) });
        return has_checkbox.then(|| (None, item(&entry.text, entry.line, done)));
    };
    let text = match &entry.kind {
        EntryKind::Row(cells) => {
            let cells = cells.iter().map(String::as_str).chain([rest]);
            cells.filter(|cell| !cell.is_empty()).collect::<Vec<_>>().join("; ")
        }
        // `### R1` with the text on the next line.
        EntryKind::Heading(_) if rest.is_empty() => {
            let next_line = entries.get(index + 1).filter(|next| next.kind == EntryKind::Line);
            next_line.map(|next| next.text.clone()).unwrap_or_default()
        }
        EntryKind::Heading(_) | EntryKind::Item { .. } | EntryKind::Line => rest.to_owned(),
    };
    // An id without text cannot be judged.
    (!text.is_empty()).then(|| (Some(id), item(&text, entry.line, done)))
}

/// Items without ids. For units: the headings with the level of the first heading, if there is one.
/// Otherwise: items of the outermost lists. A heading in the section on requirements only groups
/// requirements.
fn unidentified_items(
    entries: &[MarkdownEntry],
    section: DocSection,
) -> Vec<(Option<String>, RequirementItem)> {
    let first_level = entries.iter().find_map(|entry| match (&entry.kind, section) {
        (EntryKind::Heading(level), DocSection::Units) => Some(*level),
        (
            EntryKind::Heading(_) | EntryKind::Item { .. } | EntryKind::Row(_) | EntryKind::Line,
            _,
        ) => None,
    });
    let is_item = |entry: &&MarkdownEntry| match (&entry.kind, first_level) {
        (EntryKind::Heading(level), Some(first)) => *level == first,
        (EntryKind::Item { depth: 1, .. }, None) => true,
        (
            EntryKind::Heading(_) | EntryKind::Item { .. } | EntryKind::Row(_) | EntryKind::Line,
            _,
        ) => false,
    };
    let item_entries = entries.iter().filter(is_item);
    item_entries
        .map(|entry| {
            let done = match entry.kind {
                EntryKind::Item { done, .. } => done,
                EntryKind::Heading(_) | EntryKind::Row(_) | EntryKind::Line => None,
            };
            (None, item(&entry.text, entry.line, done))
        })
        .collect()
}

fn item(text: &str, line: u32, done: Option<bool>) -> RequirementItem {
    RequirementItem { id: String::new(), text: cut(text, ITEM_CHARS), line, done }
}

/// Keeps the first entry per id. Entries without an id get the next free number.
fn assign_ids(
    raw_items: Vec<(Option<String>, RequirementItem)>,
    section: DocSection,
) -> Vec<RequirementItem> {
    let mut used_ids: BTreeSet<String> =
        raw_items.iter().filter_map(|(id, _)| id.clone()).collect();
    let mut emitted_ids = BTreeSet::new();
    let mut next_number = 1_usize;
    let mut items = Vec::new();
    for (id, item) in raw_items {
        let id = id.unwrap_or_else(|| {
            while !used_ids.insert(format!("{}{next_number}", section.letter())) {
                next_number += 1;
            }
            format!("{}{next_number}", section.letter())
        });
        if emitted_ids.insert(id.clone()) {
            items.push(RequirementItem { id, ..item });
        }
    }
    items
}

/// The id at the beginning of a text, and the rest: `R1. Charge once`, `[U2] Refund`, `Unit 3:
/// Log`.
fn parse_id(text: &str, section: DocSection) -> Option<(String, &str)> {
    let text = text.trim_start_matches(['[', '(']);
    let text_after_letter = match (section, text.strip_prefix(section.letter())) {
        (DocSection::Units, _) if text.starts_with("Unit ") => &text["Unit ".len()..],
        (_, Some(after)) => after,
        (_, None) => return None,
    };
    let digits = text_after_letter.len()
        - text_after_letter.trim_start_matches(|char: char| char.is_ascii_digit()).len();
    if !(1..=DIGITS_MAX).contains(&digits) {
        return None;
    }
    let (number, text_after_number) = text_after_letter.split_at(digits);
    let (part, text_after_id) = parse_sub_id(text_after_number);
    let separators: &[char] = &['.', ':', ')', ']', '-', '–', '—', '|'];
    let rest = text_after_id
        .trim_start_matches(|char: char| separators.contains(&char) || char.is_whitespace());
    // `R1xy` is a name; `R1, R2` and `R1-R4` are several ids.
    let is_end = text_after_id.is_empty() || rest.len() < text_after_id.len();
    let is_range = text_after_id.starts_with(['-', '–']) && rest.starts_with(section.letter());
    (is_end && !is_range).then(|| (format!("{}{number}{part}", section.letter()), rest))
}

/// The suffix of an id: `a` of `R1a`, `.2` of `R1.2`.
fn parse_sub_id(text: &str) -> (&str, &str) {
    let mut chars = text.chars();
    let is_end = |char: Option<char>| !char.is_some_and(char::is_alphanumeric);
    let length = match (chars.next(), chars.next()) {
        (Some('a'..='z'), next) if is_end(next) => 1,
        (Some('.'), Some('0'..='9')) if is_end(chars.next()) => 2,
        _ => 0,
    };
    text.split_at(length)
}

impl DocSection {
    fn letter(self) -> char {
        match self {
            Self::Requirements => 'R',
            Self::Units => 'U',
        }
    }
}

#[cfg(test)]
mod tests;
