//! Finds lines that may define a name, in all files of a revision.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::database::parse_id;
use crate::definition_words::{LineWord, definition_words, shown_line};
use crate::objects::{Objects, PathEntry};
use crate::search::{SearchError, in_parallel, is_binary, read_words};
use crate::word_index::NewFiles;

/// A line that may define one of the requested names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DefinitionLine {
    /// Path of the file, as bytes.
    pub path: Vec<u8>,
    /// Line number, 1-based.
    pub line: u32,
    /// All requested names that the line contains.
    pub names: BTreeSet<String>,
    /// The name that the line assigns: `NAME = 1`, `const name = `.
    pub value: Option<String>,
}

impl DefinitionLine {
    /// `None` if the line defines none of the words, which are those of the request.
    fn new(path: &[u8], line: u32, words: &[LineWord<'_>]) -> Option<Self> {
        words.iter().any(|word| word.is_defined).then(|| Self {
            path: path.to_vec(),
            line,
            names: words.iter().map(|word| word.text.to_owned()).collect(),
            value: words.iter().find(|word| word.is_value).map(|word| word.text.to_owned()),
        })
    }
}

/// Lines that may define one of the names, in files of a revision that `accepts_path` accepts. The
/// first `max_lines` of them, by path and line. `stop` cancels the search.
pub fn find_definitions(
    objects: &Objects,
    revision: &str,
    names: &BTreeSet<&str>,
    max_lines: usize,
    accepts_path: &dyn Fn(&[u8]) -> bool,
    stop: &AtomicBool,
) -> Result<Vec<DefinitionLine>, SearchError> {
    let all_files = objects.shared_files(revision)?;
    let is_accepted = |file: &&PathEntry| file.kind.is_file() && accepts_path(&file.path);
    let files: Vec<&PathEntry> = all_files.iter().filter(is_accepted).collect();
    let indexed_files = objects.word_index().files();
    let indexed_names = indexed_files.names(names);
    let (new_files, line_count) = (Mutex::new(NewFiles::default()), AtomicUsize::new(0));
    let new_worker =
        || {
            let handle = objects.handle();
            let (indexed_files, indexed_names, new_files) =
                (&indexed_files, &indexed_names, &new_files);
            let line_count = &line_count;
            move |chunk: &[&PathEntry]| {
                // All chunks taken so far come before this one, so their lines come first.
                if line_count.load(Ordering::Relaxed) >= max_lines {
                    return None;
                }
                let mut lines = Vec::new();
                for file in chunk {
                    let Ok(id) = parse_id(&file.id) else { continue };
                    if let Some(found) = indexed_files.definition_lines(&id, indexed_names) {
                        lines.extend(found.filter_map(|(line, words)| {
                            DefinitionLine::new(&file.path, line, &words)
                        }));
                    } else if let Ok(text) = handle.blob("", id) {
                        read_words(indexed_files, new_files, id, &text);
                        lines.extend(definitions_in(&file.path, &text, names));
                    }
                }
                line_count.fetch_add(lines.len(), Ordering::Relaxed);
                Some(lines)
            }
        };
    let chunks = in_parallel(&files, stop, new_worker);
    if stop.load(Ordering::Relaxed) {
        return Err(SearchError::Stopped);
    }
    let new_files = new_files.into_inner().unwrap_or_default();
    objects.word_index().add(new_files, &indexed_files, &all_files);
    Ok(chunks.into_iter().flatten().take(max_lines).collect())
}

fn definitions_in(path: &[u8], text: &[u8], names: &BTreeSet<&str>) -> Vec<DefinitionLine> {
    if is_binary(text) {
        return Vec::new();
    }
    let lines = (1..).zip(text.split(|byte| *byte == b'\n'));
    let definition = |(number, line): (u32, &[u8])| {
        let line = shown_line(line);
        let mut words = definition_words(&line);
        words.retain(|word| names.contains(word.text));
        DefinitionLine::new(path, number, &words)
    };
    lines.filter_map(definition).collect()
}
