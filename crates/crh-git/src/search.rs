//! Searches all files of a revision in parallel, with results in a stable order.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use gix::ObjectId;
use grep_matcher::Matcher as _;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::sinks::Bytes;
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder};

use crate::database::{DatabaseHandle, parse_id};
use crate::glob::PathGlobs;
use crate::objects::{Objects, PathEntry};
use crate::read_error::ReadError;
use crate::word_index::{IndexedFiles, hash_longest_words, hash_words};

/// Memory limit of a compiled pattern.
const PATTERN_SIZE_MAX: usize = 10 << 20;
/// Files per work item of a thread. Enough to make taking an item cheap, few enough to balance the
/// load.
const CHUNK_FILES: usize = 32;
/// Longer lines of a result are truncated.
pub const LINE_BYTES_MAX: usize = 64 << 10;
/// Bytes that git checks for NUL to detect binary files.
const BINARY_BYTES: usize = 8_000;

/// A search query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchQuery {
    /// Pattern of a matching line.
    pub pattern: SearchPattern,
    /// Regular expression that a matching line must match, too. Slow expressions belong here, since
    /// only lines that match `pattern` are tested.
    pub line_filter: Option<String>,
    /// File filter: `*.rs`, `src/**`. A pattern without a slash matches names anywhere.
    pub glob: Option<String>,
    /// Ignores case.
    pub ignore_case: bool,
    /// Maximum number of returned matches. Further matches are only counted.
    pub max_matches: usize,
    /// After this time the search returns what it has found.
    pub time_limit: Option<Duration>,
}

impl SearchQuery {
    /// A query for all matching lines, without limits.
    pub fn new(pattern: SearchPattern) -> Self {
        Self {
            pattern,
            line_filter: None,
            glob: None,
            ignore_case: false,
            max_matches: usize::MAX,
            time_limit: None,
        }
    }

    /// A query for lines that contain one of these texts as a whole word. Faster than a regular
    /// expression if the repository is searched again.
    pub fn for_words(words: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self::new(SearchPattern::Words(words.into_iter().map(Into::into).collect()))
    }
}

/// Pattern of a matching line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SearchPattern {
    /// Regular expression without backtracking.
    Regex(String),
    /// Literal text.
    Literal(String),
    /// One of these literal texts, with no letter, digit or underscore before and after it.
    Words(Vec<String>),
}

/// A matching line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineMatch {
    /// Path of the file, as bytes.
    pub path: Vec<u8>,
    /// Line number, 1-based.
    pub line: u64,
    /// Text of the line, as bytes.
    pub text: Vec<u8>,
}

/// Result of a search.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SearchResult {
    /// First matches, by path and line.
    pub matches: Vec<LineMatch>,
    /// Total number of matches.
    pub total: u64,
    /// Number of files that the query selects.
    pub files: usize,
    /// Number of matches by folder.
    pub folders: BTreeMap<Vec<u8>, u64>,
    /// Whether the time limit ended the search.
    pub is_partial: bool,
    /// Unreadable files, with the reason.
    pub unreadable_files: Vec<(Vec<u8>, ReadError)>,
}

/// Why a search failed. Models read these texts too.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SearchError {
    /// Invalid pattern.
    #[error("the pattern cannot be used: {0}")]
    Pattern(String),
    /// Invalid file filter.
    #[error("the glob cannot be used: {0}")]
    Glob(String),
    /// No file matches the filter.
    #[error("no file of this revision matches `{0}`")]
    NoFile(String),
    /// The search was stopped.
    #[error("the search was stopped")]
    Stopped,
    /// The revision cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
}

/// Searches the files of a revision that `accepts_path` accepts. `stop` cancels the search.
pub fn search(
    objects: &Objects,
    revision: &str,
    query: &SearchQuery,
    accepts_path: &dyn Fn(&[u8]) -> bool,
    stop: &AtomicBool,
) -> Result<SearchResult, SearchError> {
    let matcher = build_matcher(&query.pattern, query.ignore_case)?;
    let filter = query.line_filter.clone().map(SearchPattern::Regex);
    let filter = filter.map(|filter| build_matcher(&filter, query.ignore_case)).transpose()?;
    let files = objects.shared_files(revision)?;
    let files = files_to_search(&files, query, accepts_path)?;
    let word_filter = WordFilter::new(objects, query);
    let (next_file, match_count) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let chunk_results = Mutex::new(Vec::new());
    let threads = std::thread::available_parallelism()
        .map_or(1, usize::from)
        .min(files.len() / CHUNK_FILES + 1);
    let start_time = Instant::now();
    let is_late = || query.time_limit.is_some_and(|limit| start_time.elapsed() > limit);
    let is_partial = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            let mut worker =
                SearchWorker::new(objects, (&matcher, filter.as_ref()), &word_filter, stop);
            let (files, next_file, match_count, chunk_results) =
                (&files, &next_file, &match_count, &chunk_results);
            let (is_late, is_partial) = (&is_late, &is_partial);
            scope.spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    let start = next_file.fetch_add(CHUNK_FILES, Ordering::Relaxed);
                    let Some(chunk) = files.get(start..files.len().min(start + CHUNK_FILES)) else {
                        break;
                    };
                    if chunk.is_empty() {
                        break;
                    }
                    if is_late() {
                        is_partial.store(true, Ordering::Relaxed);
                        break;
                    }
                    // All chunks taken so far come before this one, so their matches come first.
                    let is_full = match_count.load(Ordering::Relaxed) >= query.max_matches;
                    let chunk_result =
                        worker.search(chunk, if is_full { 0 } else { query.max_matches });
                    match_count.fetch_add(chunk_result.matches.len(), Ordering::Relaxed);
                    if let Ok(mut chunk_results) = chunk_results.lock() {
                        chunk_results.push((start, chunk_result));
                    }
                }
            });
        }
    });
    if stop.load(Ordering::Relaxed) {
        return Err(SearchError::Stopped);
    }
    let mut chunk_results = chunk_results.into_inner().unwrap_or_default();
    chunk_results.sort_by_key(|(start, _)| *start);
    let is_partial = is_partial.into_inner();
    let mut result = SearchResult { files: files.len(), is_partial, ..SearchResult::default() };
    for (_, chunk_result) in chunk_results {
        let remaining_matches = query.max_matches - result.matches.len();
        result.matches.extend(chunk_result.matches.into_iter().take(remaining_matches));
        result.total += chunk_result.total;
        for (folder, count) in chunk_result.folders {
            *result.folders.entry(folder).or_default() += count;
        }
        result.unreadable_files.extend(chunk_result.unreadable_files);
    }
    let current = || files.iter().filter_map(|file| parse_id(&file.id).ok()).collect();
    objects.word_index().add(word_filter.into_new_files(), &current);
    Ok(result)
}

/// Files that the glob and `accepts_path` accept.
fn files_to_search<'f>(
    files: &'f [PathEntry],
    query: &SearchQuery,
    accepts_path: &dyn Fn(&[u8]) -> bool,
) -> Result<Vec<&'f PathEntry>, SearchError> {
    let globs = query.glob.as_deref().map(|glob| PathGlobs::new([glob])).transpose();
    let globs = globs.map_err(|error| SearchError::Glob(error.message))?;
    let is_selected = |entry: &&PathEntry| {
        entry.kind.is_file()
            && globs.as_ref().is_none_or(|globs| globs.is_match(&entry.path))
            && accepts_path(&entry.path)
    };
    let files: Vec<&PathEntry> = files.iter().filter(is_selected).collect();
    match &query.glob {
        Some(glob) if files.is_empty() => Err(SearchError::NoFile(glob.clone())),
        Some(_) | None => Ok(files),
    }
}

/// Rules out files by the word index.
struct WordFilter {
    /// Hashes of words. A file that contains none of these words has no match. `None` if the index
    /// cannot rule out files for this query.
    word_hashes: Option<Vec<u32>>,
    indexed_files: Arc<IndexedFiles>,
    new_files: Mutex<Vec<(ObjectId, Vec<u32>)>>,
}

impl WordFilter {
    fn new(objects: &Objects, query: &SearchQuery) -> Self {
        let word_hashes = match &query.pattern {
            SearchPattern::Words(words) if !query.ignore_case => hash_longest_words(words),
            SearchPattern::Words(_) | SearchPattern::Regex(_) | SearchPattern::Literal(_) => None,
        };
        let indexed_files = word_hashes.as_ref().map(|_| objects.word_index().files());
        let indexed_files = indexed_files.unwrap_or_default();
        Self { word_hashes, indexed_files, new_files: Mutex::default() }
    }

    /// Whether the file cannot match.
    fn rules_out(&self, id: ObjectId) -> bool {
        let words = self.indexed_files.get(&id);
        let has_none = |words: &Arc<[u32]>, word_hashes: &Vec<u32>| {
            word_hashes.iter().all(|word| words.binary_search(word).is_err())
        };
        words
            .zip(self.word_hashes.as_ref())
            .is_some_and(|(words, word_hashes)| has_none(words, word_hashes))
    }

    /// Collects the words of a file that is not indexed yet.
    fn read_words(&self, id: ObjectId, text: &[u8]) {
        if self.word_hashes.is_none() || self.indexed_files.contains_key(&id) {
            return;
        }
        if let (Some(words), Ok(mut new_files)) = (hash_words(text), self.new_files.lock()) {
            new_files.push((id, words));
        }
    }

    fn into_new_files(self) -> Vec<(ObjectId, Vec<u32>)> {
        self.new_files.into_inner().unwrap_or_default()
    }
}

struct SearchWorker<'a> {
    handle: DatabaseHandle,
    searcher: Searcher,
    matcher: &'a RegexMatcher,
    filter: Option<&'a RegexMatcher>,
    word_filter: &'a WordFilter,
    stop: &'a AtomicBool,
}

impl<'a> SearchWorker<'a> {
    fn new(
        objects: &Objects,
        (matcher, filter): (&'a RegexMatcher, Option<&'a RegexMatcher>),
        word_filter: &'a WordFilter,
        stop: &'a AtomicBool,
    ) -> Self {
        // `search_file` detects binary files like git.
        let searcher = SearcherBuilder::new()
            .binary_detection(BinaryDetection::none())
            // Without this, the searcher would convert files with a byte order mark.
            .bom_sniffing(false)
            .line_number(true)
            .build();
        Self { handle: objects.handle(), searcher, matcher, filter, word_filter, stop }
    }

    /// Searches files. Keeps up to `max_matches` matches and counts all.
    fn search(&mut self, files: &[&PathEntry], max_matches: usize) -> SearchResult {
        let mut result = SearchResult::default();
        for file in files {
            if self.stop.load(Ordering::Relaxed) {
                break;
            }
            let name = String::from_utf8_lossy(&file.path);
            let id = parse_id(&file.id);
            if id.as_ref().is_ok_and(|id| self.word_filter.rules_out(*id)) {
                continue;
            }
            match id.and_then(|id| Ok((id, self.handle.blob(&name, id)?))) {
                Ok((id, text)) => {
                    self.word_filter.read_words(id, &text);
                    self.search_file(file, &text, max_matches, &mut result);
                }
                Err(error) => result.unreadable_files.push((file.path.clone(), error)),
            }
        }
        result
    }

    fn search_file(
        &mut self,
        file: &PathEntry,
        text: &[u8],
        max_matches: usize,
        result: &mut SearchResult,
    ) {
        if text[..text.len().min(BINARY_BYTES)].contains(&0) {
            return;
        }
        let stop = self.stop;
        let matches_before = result.total;
        let filter = self.filter;
        let sink = Bytes(|line, text| {
            let text = text.strip_suffix(b"\n").unwrap_or(text);
            if filter.is_some_and(|filter| !filter.is_match(text).unwrap_or(false)) {
                return Ok(!stop.load(Ordering::Relaxed));
            }
            result.total += 1;
            // A chunk needs no more matches than the whole result.
            if result.matches.len() < max_matches {
                let text = text[..text.len().min(LINE_BYTES_MAX)].to_vec();
                result.matches.push(LineMatch { path: file.path.clone(), line, text });
            }
            Ok(!stop.load(Ordering::Relaxed))
        });
        // Searching memory cannot fail, and the sink never does.
        drop(self.searcher.search_slice(self.matcher, text, sink));
        if result.total > matches_before {
            let folder_end = file.path.iter().rposition(|byte| *byte == b'/').unwrap_or_default();
            let folder = file.path[..folder_end].to_vec();
            *result.folders.entry(folder).or_default() += result.total - matches_before;
        }
    }
}

fn build_matcher(pattern: &SearchPattern, ignore_case: bool) -> Result<RegexMatcher, SearchError> {
    let texts = match pattern {
        SearchPattern::Regex(text) | SearchPattern::Literal(text) => std::slice::from_ref(text),
        SearchPattern::Words(words) => words,
    };
    RegexMatcherBuilder::new()
        .fixed_strings(!matches!(pattern, SearchPattern::Regex(_)))
        .word(matches!(pattern, SearchPattern::Words(_)))
        .case_insensitive(ignore_case)
        .line_terminator(Some(b'\n'))
        .size_limit(PATTERN_SIZE_MAX)
        .dfa_size_limit(PATTERN_SIZE_MAX)
        .build_many(texts)
        .map_err(|error| {
            // The last line of the error states the reason.
            let text = error.to_string();
            let reason = text.trim().lines().last().unwrap_or_default();
            SearchError::Pattern(reason.trim_start_matches("error: ").to_owned())
        })
}
