//! Searches all files of a revision for a regular expression, on every core, in a stable order.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::sinks::Bytes;
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder};

use crate::database::{Handle, parsed};
use crate::glob::Globs;
use crate::objects::{Entry, Objects, ReadError};

/// A pattern that needs more memory than this was built to be slow.
const PATTERN_SIZE_MAX: usize = 10 << 20;
/// How many files a thread takes at a time: enough to keep them apart, few enough to end together.
const CHUNK: usize = 32;
/// A line that is longer than this was not written by hand; its beginning is kept.
pub const LINE_BYTES_MAX: usize = 64 << 10;
/// Git looks at so many bytes to tell whether a file is binary.
const BINARY_BYTES: usize = 8_000;

/// What to look for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query {
    /// What a line has to have in it.
    pub pattern: Pattern,
    /// Which files: `*.rs`, `src/**`; all if left out. A pattern without a slash matches names anywhere.
    pub glob: Option<String>,
    /// Whether `a` finds `A`.
    pub ignore_case: bool,
    /// How many matches are returned at the most; the rest is counted.
    pub max_matches: usize,
}

/// What a line has to have in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pattern {
    /// Something that a regular expression matches, without backtracking.
    Regex(String),
    /// A text, word for word.
    Literal(String),
}

/// A line that matches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Match {
    /// The file's path, as bytes.
    pub path: Vec<u8>,
    /// The line, 1-based.
    pub line: u64,
    /// The line's text without its newline, as bytes.
    pub text: Vec<u8>,
}

/// What a search found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Found {
    /// The first matches, by path and line.
    pub matches: Vec<Match>,
    /// How many there are in all.
    pub total: u64,
    /// How many files were searched.
    pub files: usize,
    /// Files that could not be searched, with the reason.
    pub unread: Vec<(Vec<u8>, ReadError)>,
}

/// Why nothing was searched.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SearchError {
    /// The pattern is none.
    #[error("the pattern cannot be used: {0}")]
    Pattern(String),
    /// The glob is none.
    #[error("the glob cannot be used: {0}")]
    Glob(String),
    /// The glob matches no file of the revision.
    #[error("no file of this revision matches `{0}`")]
    NoFile(String),
    /// The search was stopped.
    #[error("the search was stopped")]
    Stopped,
    /// The revision cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
}

/// Searches those files of a revision that `is_wanted` takes, by their paths. `stop` ends it early.
pub fn search(
    objects: &Objects,
    revision: &str,
    query: &Query,
    is_wanted: &dyn Fn(&[u8]) -> bool,
    stop: &AtomicBool,
) -> Result<Found, SearchError> {
    let matcher = matcher(query)?;
    let globs = query.glob.as_deref().map(|glob| Globs::new([glob])).transpose();
    let globs = globs.map_err(|error| SearchError::Glob(error.message))?;
    let mut files = objects.files(revision)?;
    files.retain(|entry| {
        entry.kind.is_file()
            && globs.as_ref().is_none_or(|globs| globs.is_match(&entry.path))
            && is_wanted(&entry.path)
    });
    if let (true, Some(glob)) = (files.is_empty(), &query.glob) {
        return Err(SearchError::NoFile(glob.clone()));
    }
    let (next, kept) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let parts = Mutex::new(Vec::new());
    let threads =
        std::thread::available_parallelism().map_or(1, usize::from).min(files.len() / CHUNK + 1);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            let mut worker = Worker::new(objects, &matcher, stop);
            let (files, next, kept, parts) = (&files, &next, &kept, &parts);
            scope.spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    let start = next.fetch_add(CHUNK, Ordering::Relaxed);
                    let Some(chunk) = files.get(start..files.len().min(start + CHUNK)) else {
                        break;
                    };
                    if chunk.is_empty() {
                        break;
                    }
                    // All that was searched so far comes before this.
                    let is_full = kept.load(Ordering::Relaxed) >= query.max_matches;
                    let part = worker.search(chunk, if is_full { 0 } else { query.max_matches });
                    kept.fetch_add(part.matches.len(), Ordering::Relaxed);
                    if let Ok(mut parts) = parts.lock() {
                        parts.push((start, part));
                    }
                }
            });
        }
    });
    if stop.load(Ordering::Relaxed) {
        return Err(SearchError::Stopped);
    }
    let mut parts = parts.into_inner().unwrap_or_default();
    parts.sort_by_key(|(start, _)| *start);
    let mut found = Found { files: files.len(), ..Found::default() };
    for (_, part) in parts {
        let room = query.max_matches - found.matches.len();
        found.matches.extend(part.matches.into_iter().take(room));
        found.total += part.total;
        found.unread.extend(part.unread);
    }
    Ok(found)
}

/// What one thread searches with.
struct Worker<'a> {
    handle: Handle,
    searcher: Searcher,
    matcher: &'a RegexMatcher,
    stop: &'a AtomicBool,
}

impl<'a> Worker<'a> {
    fn new(objects: &Objects, matcher: &'a RegexMatcher, stop: &'a AtomicBool) -> Self {
        // What is binary is told from the beginning of a file, as git does it.
        let searcher = SearcherBuilder::new()
            .binary_detection(BinaryDetection::none())
            // Lines are those of the file, byte for byte.
            .bom_sniffing(false)
            .line_number(true)
            .build();
        Self { handle: objects.handle(), searcher, matcher, stop }
    }

    /// Searches files; keeps so many matches and counts all.
    fn search(&mut self, files: &[Entry], max: usize) -> Found {
        let mut found = Found::default();
        for file in files {
            if self.stop.load(Ordering::Relaxed) {
                break;
            }
            let name = String::from_utf8_lossy(&file.path);
            match parsed(&file.id).and_then(|id| self.handle.blob(&name, id)) {
                Ok(text) => self.search_file(file, &text, max, &mut found),
                Err(error) => found.unread.push((file.path.clone(), error)),
            }
        }
        found
    }

    fn search_file(&mut self, file: &Entry, text: &[u8], max: usize, found: &mut Found) {
        if text[..text.len().min(BINARY_BYTES)].contains(&0) {
            return;
        }
        let stop = self.stop;
        let sink = Bytes(|line, text| {
            found.total += 1;
            // No part can contribute more than the whole may have.
            if found.matches.len() < max {
                let text = text.strip_suffix(b"\n").unwrap_or(text);
                let text = text[..text.len().min(LINE_BYTES_MAX)].to_vec();
                found.matches.push(Match { path: file.path.clone(), line, text });
            }
            Ok(!stop.load(Ordering::Relaxed))
        });
        // Reading from memory cannot fail, and the sink never does.
        drop(self.searcher.search_slice(self.matcher, text, sink));
    }
}

fn matcher(query: &Query) -> Result<RegexMatcher, SearchError> {
    let (text, is_literal) = match &query.pattern {
        Pattern::Regex(text) => (text, false),
        Pattern::Literal(text) => (text, true),
    };
    RegexMatcherBuilder::new()
        .fixed_strings(is_literal)
        .case_insensitive(query.ignore_case)
        .line_terminator(Some(b'\n'))
        .size_limit(PATTERN_SIZE_MAX)
        .dfa_size_limit(PATTERN_SIZE_MAX)
        .build(text)
        .map_err(|error| {
            // The engine draws the pattern over several lines; its last one says what is wrong.
            let text = error.to_string();
            let reason = text.trim().lines().last().unwrap_or_default();
            SearchError::Pattern(reason.trim_start_matches("error: ").to_owned())
        })
}
