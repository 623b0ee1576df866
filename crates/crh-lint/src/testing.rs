//! Changes for tests, from one string. The files before the change come first, each after a line
//! `//- PATH`. The changed files follow after a line `//- head`:
//!
//! ```text
//! //- kept.py
//! x = 1
//! //- old.py
//! y = 1
//! //- gone.py
//! z = 1
//! //- head
//! //- kept.py
//! x = 2
//! //- new.py from old.py
//! y = 1
//! //- gone.py deleted
//! //- tool.py from vendor/tool.py, now in use
//! w = 1
//! ```

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::file_context::{FileContext, FileFindings, FileReviewer};
use crate::source::SourceText;
use crate::{
    AddedLine, ChangeView, ChangedFile, Project, SearchHit, SearchHits, changed_statements,
};
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
        let used_names = header.strip_suffix(", now in use");
        let names = used_names.unwrap_or(header);
        let (path, from) = names.split_once(" from ").unwrap_or((names, names));
        if from != path {
            after.remove(from);
        }
        let old = before.get(from).map(|old| (from, old.as_str()));
        let in_diff = changed(path, old, text);
        self.files.push(match used_names {
            Some(_) => {
                ChangedFile { in_diff: Some(Box::new(in_diff)), ..changed(path, None, text) }
            }
            None => in_diff,
        });
        after.insert(path.to_owned(), text.to_owned());
    }

    /// Makes a file unreadable.
    pub(crate) fn with_unreadable(mut self, path: &str) -> Self {
        self.unreadable.push(path.to_owned());
        self
    }

    /// How often files were read.
    pub(crate) fn reads(&self) -> usize {
        self.reads.load(Ordering::Relaxed)
    }

    /// Calls a function with the change.
    pub(crate) fn with<T>(&self, check: impl FnOnce(&ChangeView<'_>) -> T) -> T {
        check(&ChangeView::new(&self.files, &self.files, Some(self)))
    }

    /// The findings of a reviewer as `path:line rule: title`.
    pub(crate) fn findings_of(&self, reviewer: &dyn FileReviewer) -> Vec<String> {
        format_findings(&self.file_findings_of(reviewer))
    }

    /// The findings of a reviewer that does not know the touched text.
    pub(crate) fn findings_of_whole_files(&self, reviewer: &dyn FileReviewer) -> Vec<String> {
        format_findings(&self.review_files(reviewer, TouchedText::Unknown))
    }

    pub(crate) fn file_findings_of(&self, reviewer: &dyn FileReviewer) -> Vec<FileFindings> {
        self.review_files(reviewer, TouchedText::Known)
    }

    fn review_files(&self, reviewer: &dyn FileReviewer, knows: TouchedText) -> Vec<FileFindings> {
        self.with(|change| {
            let files = change.files.iter().filter(|file| {
                file.new_path().is_some() && reviewer.handles(file, change.language(file))
            });
            files
                .map(|file| {
                    let source = |side: usize, path: &'_ str| self.sides[side].get_key_value(path);
                    let old = file.old_path.as_deref().and_then(|path| source(0, path));
                    let new = source(1, &file.path);
                    let [old, new] =
                        [old, new].map(|it| it.map(|(path, text)| SourceText::new(path, text)));
                    let touched_text = old.as_ref().zip(new.as_ref()).and_then(|(old, new)| {
                        let (cache, texts) = (&change.statements, [old.text, new.text]);
                        changed_statements::touched_text(cache, new.path, old.path, texts)
                    });
                    let touched_text = touched_text.filter(|_| knows == TouchedText::Known);
                    let language = new.as_ref().and_then(|new| new.language);
                    let touched_text = touched_text
                        .as_deref()
                        .map(|text| SourceText::with_language(&file.path, text, language));
                    reviewer.review(&FileContext { change, file, old, new, touched_text })
                })
                .collect()
        })
    }
}

/// Whether a reviewer knows the touched text of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TouchedText {
    Known,
    Unknown,
}

fn format_findings(file_findings: &[FileFindings]) -> Vec<String> {
    let findings = file_findings.iter().flat_map(|it| &it.findings);
    findings.map(|it| format!("{}:{} {}: {}", it.file, it.line, it.rule, it.title)).collect()
}

fn sections(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.split("//- ").skip(1).map(|section| section.split_once('\n').unwrap_or((section, "")))
}

/// A simple diff: common lines at the start and at the end are unchanged.
fn changed(path: &str, old: Option<(&str, &str)>, new: &str) -> ChangedFile {
    let old_lines: Vec<&str> = old.map(|(_, old)| old.lines().collect()).unwrap_or_default();
    let new_lines: Vec<&str> = new.lines().collect();
    let common_start = old_lines.iter().zip(&new_lines).take_while(|(a, b)| a == b).count();
    let common_end =
        old_lines.iter().rev().zip(new_lines.iter().rev()).take_while(|(a, b)| a == b).count();
    let common_end =
        common_end.min(new_lines.len() - common_start).min(old_lines.len() - common_start);
    let added =
        (1..).zip(&new_lines).skip(common_start).take(new_lines.len() - common_start - common_end);
    let removed =
        old_lines.iter().skip(common_start).take(old_lines.len() - common_start - common_end);
    ChangedFile {
        path: path.to_owned(),
        old_path: old.map(|(path, _)| path.to_owned()),
        is_deleted: false,
        has_lines: true,
        added: added
            .map(|(number, line)| AddedLine { number, text: line.as_bytes().to_vec() })
            .collect(),
        removed_line_numbers: (1..)
            .skip(common_start)
            .take(old_lines.len() - common_start - common_end)
            .collect(),
        removed: removed.map(|line| line.as_bytes().to_vec()).collect(),
        unchanged: Vec::new(),
        in_diff: None,
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

    fn search(&self, side: Side, words: &[&str], max_hits: usize) -> Result<SearchHits, String> {
        let is_letter = |it: char| it.is_alphanumeric() || it == '_';
        let has = |line: &str| line.split(|it| !is_letter(it)).any(|word| words.contains(&word));
        let mut lines = Vec::new();
        for (path, text) in &self.sides[index(side)] {
            let hits = (1..).zip(text.lines()).filter(|(_, line)| has(line));
            lines.extend(hits.map(|(line, text)| SearchHit {
                path: path.clone(),
                line,
                text: text.to_owned(),
            }));
        }
        let is_complete = lines.len() <= max_hits;
        lines.truncate(max_hits);
        Ok(SearchHits { lines, is_complete })
    }
}

fn index(side: Side) -> usize {
    match side {
        Side::Old => 0,
        Side::New => 1,
    }
}
