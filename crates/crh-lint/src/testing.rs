//! A change for tests, from one string: files under `//- path`, those that the change touches again after `//- head`, a deleted one as
//! `//- path deleted`, a renamed one as `//- path from old-path`.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::look::{Look, Looked, Reviewer};
use crate::source::Source;
use crate::{AddedLine, Change, ChangedFile, HitLine, Hits, Project, touched};
use crh_review::finding::Side;

/// A repository before and after a change.
#[derive(Debug, Default)]
pub(crate) struct Fixture {
    sides: [BTreeMap<String, String>; 2],
    paths: [Vec<String>; 2],
    files: Vec<ChangedFile>,
    unreadable: Vec<String>,
    reads: AtomicUsize,
}

impl Fixture {
    pub(crate) fn new(text: &str) -> Self {
        let (base, head) = match text.split_once("//- head\n") {
            Some((base, head)) => (base, head),
            None => (text, ""),
        };
        let mut fixture = Self::default();
        for (path, text) in sections(base) {
            fixture.sides[0].insert(path.to_owned(), text.to_owned());
        }
        fixture.sides[1] = fixture.sides[0].clone();
        for (header, text) in sections(head) {
            fixture.change(header, text);
        }
        fixture.paths = [0, 1].map(|side| fixture.sides[side].keys().cloned().collect());
        fixture
    }

    fn change(&mut self, header: &str, text: &str) {
        let [before, after] = &mut self.sides;
        if let Some(path) = header.strip_suffix(" deleted") {
            let old = after.remove(path).unwrap();
            self.files
                .push(ChangedFile { is_deleted: true, ..changed(path, Some((path, &old)), "") });
            return;
        }
        let (path, from) = header.split_once(" from ").unwrap_or((header, header));
        if from != path {
            after.remove(from);
        }
        let old = before.get(from).map(|old| (from, old.as_str()));
        self.files.push(changed(path, old, text));
        after.insert(path.to_owned(), text.to_owned());
    }

    /// The same with a file that cannot be read.
    pub(crate) fn with_unreadable(mut self, path: &str) -> Self {
        self.unreadable.push(path.to_owned());
        self
    }

    /// How often a file was asked for.
    pub(crate) fn reads(&self) -> usize {
        self.reads.load(Ordering::Relaxed)
    }

    /// Does something with the change.
    pub(crate) fn with<T>(&self, act: impl FnOnce(&Change<'_>) -> T) -> T {
        act(&Change::new(&self.files, &self.files, Some(self)))
    }

    /// What a reviewer says about all files, as `path:line rule: title`.
    pub(crate) fn found_by(&self, reviewer: &dyn Reviewer) -> Vec<String> {
        shown(&self.looked_at_by(reviewer))
    }

    /// The same if nothing is known of which parts the change touches.
    pub(crate) fn found_in_whole_by(&self, reviewer: &dyn Reviewer) -> Vec<String> {
        shown(&self.looked_at(reviewer, Parts::Unknown))
    }

    pub(crate) fn looked_at_by(&self, reviewer: &dyn Reviewer) -> Vec<Looked> {
        self.looked_at(reviewer, Parts::Known)
    }

    fn looked_at(&self, reviewer: &dyn Reviewer, parts: Parts) -> Vec<Looked> {
        self.with(|change| {
            let files =
                change.files.iter().filter(|file| file.after().is_some() && reviewer.wants(file));
            files
                .map(|file| {
                    let source = |side: usize, path: &'_ str| self.sides[side].get_key_value(path);
                    let old = file.before.as_deref().and_then(|path| source(0, path));
                    let new = source(1, &file.path);
                    let [old, new] =
                        [old, new].map(|it| it.map(|(path, text)| Source::new(path, text)));
                    let part = old.as_ref().zip(new.as_ref()).and_then(|(old, new)| {
                        touched::text_of(new.path, old.path, [old.text, new.text])
                    });
                    let part = part.filter(|_| parts == Parts::Known);
                    let part = part.as_deref().map(|text| Source::new(&file.path, text));
                    reviewer.look(&Look { change, file, old, new, part })
                })
                .collect()
        })
    }
}

/// Whether a reviewer is told which parts of a text the change touches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Parts {
    Known,
    Unknown,
}

fn shown(all: &[Looked]) -> Vec<String> {
    let found = all.iter().flat_map(|it| &it.found);
    found.map(|it| format!("{}:{} {}: {}", it.file, it.line, it.rule, it.title)).collect()
}

fn sections(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.split("//- ").skip(1).map(|section| section.split_once('\n').unwrap_or((section, "")))
}

/// What is added and taken away is what differs, line by line from the start and from the end.
fn changed(path: &str, old: Option<(&str, &str)>, new: &str) -> ChangedFile {
    let before: Vec<&str> = old.map(|(_, old)| old.lines().collect()).unwrap_or_default();
    let after: Vec<&str> = new.lines().collect();
    let same = before.iter().zip(&after).take_while(|(a, b)| a == b).count();
    let behind = before.iter().rev().zip(after.iter().rev()).take_while(|(a, b)| a == b).count();
    let behind = behind.min(after.len() - same).min(before.len() - same);
    let added = (1..).zip(&after).skip(same).take(after.len() - same - behind);
    let removed = before.iter().skip(same).take(before.len() - same - behind);
    ChangedFile {
        path: path.to_owned(),
        before: old.map(|(path, _)| path.to_owned()),
        is_deleted: false,
        has_lines: true,
        added: added
            .map(|(number, line)| AddedLine { number, text: line.as_bytes().to_vec() })
            .collect(),
        removed_at: (1..).skip(same).take(before.len() - same - behind).collect(),
        removed: removed.map(|line| line.as_bytes().to_vec()).collect(),
    }
}

impl Project for Fixture {
    fn file(&self, side: Side, path: &str) -> Result<Option<Vec<u8>>, String> {
        self.reads.fetch_add(1, Ordering::Relaxed);
        match self.unreadable.iter().any(|it| it == path) {
            true => Err("it is broken".to_owned()),
            false => Ok(self.sides[index(side)].get(path).map(|text| text.as_bytes().to_vec())),
        }
    }

    fn paths(&self, side: Side) -> Result<&[String], String> {
        Ok(&self.paths[index(side)])
    }

    fn search(&self, side: Side, words: &[&str], most: usize) -> Result<Hits, String> {
        let is_letter = |it: char| it.is_alphanumeric() || it == '_';
        let has = |line: &str| line.split(|it| !is_letter(it)).any(|word| words.contains(&word));
        let mut lines = Vec::new();
        for (path, text) in &self.sides[index(side)] {
            let hits = (1..).zip(text.lines()).filter(|(_, line)| has(line));
            lines.extend(hits.map(|(line, text)| HitLine {
                path: path.clone(),
                line,
                text: text.to_owned(),
            }));
        }
        let is_all = lines.len() <= most;
        lines.truncate(most);
        Ok(Hits { lines, is_all })
    }
}

fn index(side: Side) -> usize {
    match side {
        Side::Old => 0,
        Side::New => 1,
    }
}
