//! Splits Markdown into entries: headings, list items, table rows, paragraph lines. Skips front
//! matter, and code, quotes and comments, which only show examples.

use std::ops::Range;

use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use crate::text::one_line;

/// An entry of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct MarkdownEntry {
    pub(super) kind: EntryKind,
    /// Its text on one line, without emphasis. For a row, the first cell.
    pub(super) text: String,
    pub(super) line: u32,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum EntryKind {
    Heading(HeadingLevel),
    /// A list item: its nesting depth, and whether its checkbox is ticked, if it has one.
    Item {
        depth: usize,
        done: Option<bool>,
    },
    /// A table row, with all cells except the first.
    Row(Vec<String>),
    /// A line of a paragraph outside lists.
    Line,
}

/// The entries in document order.
pub(super) fn parse_entries(text: &str) -> Vec<MarkdownEntry> {
    let options = Options::ENABLE_TABLES
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_YAML_STYLE_METADATA_BLOCKS;
    let line_ends = text.match_indices('\n').map(|(offset, _)| offset).collect();
    let mut reader = EntryReader { line_ends, ..EntryReader::default() };
    for (event, range) in Parser::new_ext(text, options).into_offset_iter() {
        reader.handle_event(event, range);
    }
    reader.flush();
    reader.entries
}

#[derive(Default)]
struct EntryReader {
    entries: Vec<MarkdownEntry>,
    /// Offsets of the line ends.
    line_ends: Vec<usize>,
    current_entry: Option<MarkdownEntry>,
    /// Nesting depth of lists.
    list_depth: usize,
    /// Nesting depth of skipped blocks.
    skip_depth: usize,
    /// Cells of the current row.
    cells: Vec<String>,
    in_table_head: bool,
}

impl EntryReader {
    fn handle_event(&mut self, event: Event<'_>, Range { start: at, end }: Range<usize>) {
        match event {
            Event::Start(tag) => self.start(tag, at),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => self.push_text(&text),
            Event::Code(code) => self.push_text(&format!("`{code}`")),
            Event::SoftBreak | Event::HardBreak => self.next_line(end),
            Event::TaskListMarker(is_done) => {
                if let Some(MarkdownEntry { kind: EntryKind::Item { done, .. }, .. }) =
                    &mut self.current_entry
                {
                    *done = Some(is_done);
                }
            }
            _ => {}
        }
    }

    fn start(&mut self, tag: Tag<'_>, at: usize) {
        match tag {
            Tag::CodeBlock(_) | Tag::HtmlBlock | Tag::BlockQuote(_) | Tag::MetadataBlock(_) => {
                self.flush();
                self.skip_depth += 1;
            }
            Tag::Heading { level, .. } => self.begin(EntryKind::Heading(level), at),
            Tag::List(_) => {
                self.flush();
                self.list_depth += 1;
            }
            Tag::Item => self.begin(EntryKind::Item { depth: self.list_depth, done: None }, at),
            Tag::Paragraph if self.list_depth == 0 => self.begin(EntryKind::Line, at),
            // The first paragraph of an item is its text. Further paragraphs only explain it, so
            // they are skipped.
            Tag::Paragraph if self.has_text() => self.flush(),
            Tag::Table(_) => self.flush(),
            Tag::TableHead => self.in_table_head = true,
            Tag::TableRow => self.begin(EntryKind::Row(Vec::new()), at),
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::CodeBlock
            | TagEnd::HtmlBlock
            | TagEnd::BlockQuote(_)
            | TagEnd::MetadataBlock(_) => self.skip_depth -= 1,
            TagEnd::Heading(_) | TagEnd::Item => self.flush(),
            TagEnd::List(_) => {
                self.flush();
                self.list_depth -= 1;
            }
            TagEnd::Paragraph if self.list_depth == 0 => self.flush(),
            TagEnd::TableHead => self.in_table_head = false,
            TagEnd::TableCell if !self.in_table_head => {
                let text = self.current_entry.as_mut().map(|row| std::mem::take(&mut row.text));
                self.cells.push(one_line(&text.unwrap_or_default()));
            }
            TagEnd::TableRow => self.end_row(),
            _ => {}
        }
    }

    fn end_row(&mut self) {
        let mut cells = std::mem::take(&mut self.cells).into_iter();
        if let Some(row) = &mut self.current_entry {
            row.text = cells.next().unwrap_or_default();
            row.kind = EntryKind::Row(cells.collect());
        }
        self.flush();
    }

    fn begin(&mut self, kind: EntryKind, at: usize) {
        self.flush();
        if self.skip_depth == 0 {
            let line = self.line(at);
            self.current_entry = Some(MarkdownEntry { kind, text: String::new(), line });
        }
    }

    /// The line number of an offset. Like in git, a lone carriage return does not end a line.
    fn line(&self, offset: usize) -> u32 {
        let line = self.line_ends.partition_point(|end| *end < offset) + 1;
        u32::try_from(line).unwrap_or(u32::MAX)
    }

    fn has_text(&self) -> bool {
        self.current_entry.as_ref().is_some_and(|entry| !entry.text.is_empty())
    }

    fn push_text(&mut self, text: &str) {
        if let Some(entry) = self.current_entry.as_mut().filter(|_| self.skip_depth == 0) {
            entry.text.push_str(text);
        }
    }

    /// Each line of a paragraph is an entry, since people write `R1: …` line by line.
    fn next_line(&mut self, offset: usize) {
        match &mut self.current_entry {
            Some(MarkdownEntry { kind: EntryKind::Line, .. }) => {
                let line = self.line(offset);
                self.flush();
                self.current_entry =
                    Some(MarkdownEntry { kind: EntryKind::Line, text: String::new(), line });
            }
            Some(entry) => entry.text.push(' '),
            None => {}
        }
    }

    fn flush(&mut self) {
        if let Some(mut entry) = self.current_entry.take() {
            entry.text = one_line(&entry.text);
            if !entry.text.is_empty() {
                self.entries.push(entry);
            }
        }
    }
}
