//! What a plan asks for: the requirements and the units of work that its sections name.

use std::collections::BTreeSet;

use pulldown_cmark::HeadingLevel;

use super::entries::{Entry, Shape, entries};
use super::{PlanDocument, PlanItem};
use crate::text::cut;
use crh_review::report::PlanSource;

/// How much of a document is read. No plan that people follow is longer.
const BYTES_MAX: usize = 512 * 1024;
/// How many things one change is held against: what one run can judge with care.
const ITEMS_MAX: usize = 60;
/// How many characters of an item are read: a paragraph. The rest explains it.
const ITEM_CHARS: usize = 500;
/// How many digits a number has. More is a ticket of somebody's.
const DIGITS_MAX: usize = 3;

/// A section that asks for something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Section {
    Requirements,
    Units,
}

/// A plan as it stands in a text, and what of it could not be taken in.
pub fn document(path: &str, source: PlanSource, text: &str) -> (PlanDocument, Vec<String>) {
    let mut notes = Vec::new();
    let end = text.floor_char_boundary(BYTES_MAX);
    if end < text.len() {
        notes.push(format!("of the plan `{path}` only the first {BYTES_MAX} bytes were read"));
    }
    let (requirements, units) = in_sections(entries(&text[..end]));
    let mut items = items(&requirements, Section::Requirements);
    items.extend(self::items(&units, Section::Units));
    let more = items.len().saturating_sub(ITEMS_MAX);
    if more > 0 {
        let total = items.len();
        notes.push(format!(
            "{more} of the {total} things that the plan `{path}` asks for were not looked at"
        ));
        items.truncate(ITEMS_MAX);
    }
    if items.is_empty() {
        notes
            .push(format!("the plan `{path}` names neither requirements nor implementation units"));
    }
    (PlanDocument { path: path.to_owned(), source, items, more }, notes)
}

/// What stands in the sections about requirements, and in those about units.
fn in_sections(entries: Vec<Entry>) -> (Vec<Entry>, Vec<Entry>) {
    let (mut requirements, mut units) = (Vec::new(), Vec::new());
    let mut around: Vec<(HeadingLevel, Section)> = Vec::new();
    for entry in entries {
        if let Shape::Heading(level) = entry.shape {
            around.retain(|(open, _)| *open < level);
            let inside = around.last().map(|(_, section)| *section);
            // `Requirements` of one unit says which ones it is for.
            match (section(&entry.text), inside) {
                (None, _) | (Some(Section::Requirements), Some(_)) => {}
                (Some(Section::Units), Some(Section::Units)) => {}
                (Some(new), _) => {
                    around.push((level, new));
                    continue;
                }
            }
        }
        match around.last() {
            Some((_, Section::Requirements)) => requirements.push(entry),
            Some((_, Section::Units)) => units.push(entry),
            None => {}
        }
    }
    (requirements, units)
}

/// The section that a heading opens, whatever its number: `3. Requirements Trace`.
fn section(heading: &str) -> Option<Section> {
    let words: Vec<String> = heading
        .split(|char: char| !char.is_alphanumeric())
        .filter(|word| word.chars().any(char::is_alphabetic))
        .map(str::to_lowercase)
        .collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["requirements"] | ["requirements", "trace"] => Some(Section::Requirements),
        ["implementation", "units"] => Some(Section::Units),
        _ => None,
    }
}

/// What a section asks for. Those with an id count, and so do units with a box. If there are none, the outermost lists
/// are meant, and of units the headings if there are some: they are numbered in their order.
fn items(entries: &[Entry], section: Section) -> Vec<PlanItem> {
    let named: Vec<(Option<String>, PlanItem)> =
        (0..entries.len()).filter_map(|at| named(entries, at, section)).collect();
    let found = match named.is_empty() {
        false => named,
        true => unnamed(entries, section),
    };
    numbered(found, section)
}

/// An entry that is surely asked for.
fn named(entries: &[Entry], at: usize, section: Section) -> Option<(Option<String>, PlanItem)> {
    let entry = &entries[at];
    let done = match entry.shape {
        Shape::Item { done, .. } => done,
        Shape::Heading(_) | Shape::Row(_) | Shape::Line => None,
    };
    let Some((id, rest)) = identified(&entry.text, section) else {
        let is_box = section == Section::Units
            && matches!(entry.shape, Shape::Item { depth: 1, done: Some(_) });
        return is_box.then(|| (None, item(&entry.text, entry.line, done)));
    };
    let text = match &entry.shape {
        Shape::Row(cells) => {
            let cells = cells.iter().map(String::as_str).chain([rest]);
            cells.filter(|cell| !cell.is_empty()).collect::<Vec<_>>().join("; ")
        }
        // `### R1`, with what it asks for in the line below.
        Shape::Heading(_) if rest.is_empty() => {
            let below = entries.get(at + 1).filter(|next| next.shape == Shape::Line);
            below.map(|next| next.text.clone()).unwrap_or_default()
        }
        Shape::Heading(_) | Shape::Item { .. } | Shape::Line => rest.to_owned(),
    };
    // An id alone asks for nothing that anyone could look for.
    (!text.is_empty()).then(|| (Some(id), item(&text, entry.line, done)))
}

/// Headings of the level that comes first, or items of outermost lists. Headings among requirements only sort them.
fn unnamed(entries: &[Entry], section: Section) -> Vec<(Option<String>, PlanItem)> {
    let first = entries.iter().find_map(|entry| match (&entry.shape, section) {
        (Shape::Heading(level), Section::Units) => Some(*level),
        (Shape::Heading(_) | Shape::Item { .. } | Shape::Row(_) | Shape::Line, _) => None,
    });
    let is_meant = |entry: &&Entry| match (&entry.shape, first) {
        (Shape::Heading(level), Some(first)) => *level == first,
        (Shape::Item { depth: 1, .. }, None) => true,
        (Shape::Heading(_) | Shape::Item { .. } | Shape::Row(_) | Shape::Line, _) => false,
    };
    let meant = entries.iter().filter(is_meant);
    meant
        .map(|entry| {
            let done = match entry.shape {
                Shape::Item { done, .. } => done,
                Shape::Heading(_) | Shape::Row(_) | Shape::Line => None,
            };
            (None, item(&entry.text, entry.line, done))
        })
        .collect()
}

fn item(text: &str, line: u32, done: Option<bool>) -> PlanItem {
    PlanItem { id: String::new(), text: cut(text, ITEM_CHARS), line, done }
}

/// Each id once, where it first stands; what has none takes the next number that is free.
fn numbered(found: Vec<(Option<String>, PlanItem)>, section: Section) -> Vec<PlanItem> {
    let mut taken: BTreeSet<String> = found.iter().filter_map(|(id, _)| id.clone()).collect();
    let mut seen = BTreeSet::new();
    let mut next = 1_usize;
    let mut items = Vec::new();
    for (id, item) in found {
        let id = id.unwrap_or_else(|| {
            while !taken.insert(format!("{}{next}", section.letter())) {
                next += 1;
            }
            format!("{}{next}", section.letter())
        });
        if seen.insert(id.clone()) {
            items.push(PlanItem { id, ..item });
        }
    }
    items
}

/// The id that a text begins with, and what stands behind it: `R1. Charge once`, `[U2] Refund`, `Unit 3: Log`.
fn identified(text: &str, section: Section) -> Option<(String, &str)> {
    let text = text.trim_start_matches(['[', '(']);
    let after = match (section, text.strip_prefix(section.letter())) {
        (Section::Units, _) if text.starts_with("Unit ") => &text["Unit ".len()..],
        (_, Some(after)) => after,
        (_, None) => return None,
    };
    let digits = after.len() - after.trim_start_matches(|char: char| char.is_ascii_digit()).len();
    if !(1..=DIGITS_MAX).contains(&digits) {
        return None;
    }
    let (number, after) = after.split_at(digits);
    let (part, after) = part(after);
    let separators: &[char] = &['.', ':', ')', ']', '-', '–', '—', '|'];
    let rest =
        after.trim_start_matches(|char: char| separators.contains(&char) || char.is_whitespace());
    // `R1xy` is a name, `R1, R2` and `R1-R4` are several.
    let is_end = after.is_empty() || rest.len() < after.len();
    let is_range = after.starts_with(['-', '–']) && rest.starts_with(section.letter());
    (is_end && !is_range).then(|| (format!("{}{number}{part}", section.letter()), rest))
}

/// The part of a requirement that an id names: `a` of `R1a`, `.2` of `R1.2`.
fn part(after: &str) -> (&str, &str) {
    let mut chars = after.chars();
    let is_end = |char: Option<char>| !char.is_some_and(char::is_alphanumeric);
    let length = match (chars.next(), chars.next()) {
        (Some('a'..='z'), next) if is_end(next) => 1,
        (Some('.'), Some('0'..='9')) if is_end(chars.next()) => 2,
        _ => 0,
    };
    after.split_at(length)
}

impl Section {
    fn letter(self) -> char {
        match self {
            Self::Requirements => 'R',
            Self::Units => 'U',
        }
    }
}

#[cfg(test)]
mod tests;
