//! A Markdown text as a row of entries: headings, items of lists, rows of tables, paragraphs. Code, quotes, comments and
//! front matter are not among them: what stands there is asked of nobody.

use std::ops::Range;

use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use crate::text::one_line;

/// A piece of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) shape: Shape,
    /// Its text on one line, without emphasis; of a row, that of its first cell.
    pub(super) text: String,
    pub(super) line: u32,
}

/// What kind of piece it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Shape {
    Heading(HeadingLevel),
    /// An item of a list: how many lists it is in, and whether its box is ticked, if it has one.
    Item {
        depth: usize,
        done: Option<bool>,
    },
    /// A row of a table, with the cells behind the first.
    Row(Vec<String>),
    /// A line of a paragraph that is in no list.
    Line,
}

/// The entries of a text, in its order.
pub(super) fn entries(text: &str) -> Vec<Entry> {
    let options = Options::ENABLE_TABLES
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_YAML_STYLE_METADATA_BLOCKS;
    let starts = text.match_indices('\n').map(|(at, _)| at).collect();
    let mut reading = Reading { starts, ..Reading::default() };
    for (event, range) in Parser::new_ext(text, options).into_offset_iter() {
        reading.take(event, range);
    }
    reading.flush();
    reading.entries
}

#[derive(Default)]
struct Reading {
    entries: Vec<Entry>,
    /// Where lines end.
    starts: Vec<usize>,
    /// The piece that is being read.
    open: Option<Entry>,
    /// How many lists are around it.
    depth: usize,
    /// How many blocks are around it that are not read.
    skipped: usize,
    /// The cells of the row so far.
    cells: Vec<String>,
    in_head: bool,
}

impl Reading {
    fn take(&mut self, event: Event<'_>, Range { start: at, end }: Range<usize>) {
        match event {
            Event::Start(tag) => self.start(tag, at),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => self.say(&text),
            Event::Code(code) => self.say(&format!("`{code}`")),
            Event::SoftBreak | Event::HardBreak => self.next_line(end),
            Event::TaskListMarker(is_done) => {
                if let Some(Entry { shape: Shape::Item { done, .. }, .. }) = &mut self.open {
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
                self.skipped += 1;
            }
            Tag::Heading { level, .. } => self.begin(Shape::Heading(level), at),
            Tag::List(_) => {
                self.flush();
                self.depth += 1;
            }
            Tag::Item => self.begin(Shape::Item { depth: self.depth, done: None }, at),
            Tag::Paragraph if self.depth == 0 => self.begin(Shape::Line, at),
            // The first paragraph of an item is its text, and what follows explains it.
            Tag::Paragraph if self.has_text() => self.flush(),
            Tag::Table(_) => self.flush(),
            Tag::TableHead => self.in_head = true,
            Tag::TableRow => self.begin(Shape::Row(Vec::new()), at),
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::CodeBlock
            | TagEnd::HtmlBlock
            | TagEnd::BlockQuote(_)
            | TagEnd::MetadataBlock(_) => self.skipped -= 1,
            TagEnd::Heading(_) | TagEnd::Item => self.flush(),
            TagEnd::List(_) => {
                self.flush();
                self.depth -= 1;
            }
            TagEnd::Paragraph if self.depth == 0 => self.flush(),
            TagEnd::TableHead => self.in_head = false,
            TagEnd::TableCell if !self.in_head => {
                let text = self.open.as_mut().map(|row| std::mem::take(&mut row.text));
                self.cells.push(one_line(&text.unwrap_or_default()));
            }
            TagEnd::TableRow => self.end_row(),
            _ => {}
        }
    }

    fn end_row(&mut self) {
        let mut cells = std::mem::take(&mut self.cells).into_iter();
        if let Some(row) = &mut self.open {
            row.text = cells.next().unwrap_or_default();
            row.shape = Shape::Row(cells.collect());
        }
        self.flush();
    }

    fn begin(&mut self, shape: Shape, at: usize) {
        self.flush();
        if self.skipped == 0 {
            let line = self.line(at);
            self.open = Some(Entry { shape, text: String::new(), line });
        }
    }

    /// The line that a place is on, as git counts lines: a lone carriage return ends none.
    fn line(&self, at: usize) -> u32 {
        let line = self.starts.partition_point(|end| *end < at) + 1;
        u32::try_from(line).unwrap_or(u32::MAX)
    }

    fn has_text(&self) -> bool {
        self.open.as_ref().is_some_and(|entry| !entry.text.is_empty())
    }

    fn say(&mut self, text: &str) {
        if let Some(entry) = self.open.as_mut().filter(|_| self.skipped == 0) {
            entry.text.push_str(text);
        }
    }

    /// A line of a paragraph is an entry of its own: people write `R1: …` line by line.
    fn next_line(&mut self, at: usize) {
        match &mut self.open {
            Some(Entry { shape: Shape::Line, .. }) => {
                let line = self.line(at);
                self.flush();
                self.open = Some(Entry { shape: Shape::Line, text: String::new(), line });
            }
            Some(entry) => entry.text.push(' '),
            None => {}
        }
    }

    fn flush(&mut self) {
        if let Some(mut entry) = self.open.take() {
            entry.text = one_line(&entry.text);
            if !entry.text.is_empty() {
                self.entries.push(entry);
            }
        }
    }
}
