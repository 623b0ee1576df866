//! Searches all files of a revision in parallel, with results in a stable order.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use gix::ObjectId;
use grep_matcher::Matcher as _;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::sinks::Bytes;
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder};

use crate::database::{DatabaseHandle, parse_id};
use crate::definition_words::LINE_BYTES_MAX;
use crate::glob::PathGlobs;
use crate::objects::{Objects, PathEntry};
use crate::read_error::ReadError;
use crate::required_parts::required_parts;
use crate::word_index::{IndexedFiles, NewFiles, cut, item_lines, longest_words};

/// Memory limit of a compiled pattern.
const PATTERN_SIZE_MAX: usize = 10 << 20;
/// Files per work item of a thread. Enough to make taking an item cheap, few enough to balance the
/// load.
const CHUNK_FILES: usize = 32;
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
    /// One of these literal texts, with no letter, digit or underscore right before or after it.
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
    let all_files = objects.shared_files(revision)?;
    let files = files_to_search(&all_files, query, accepts_path)?;
    let word_filter = WordFilter::new(objects, query);
    let match_count = AtomicUsize::new(0);
    let start_time = Instant::now();
    let is_late = || query.time_limit.is_some_and(|limit| start_time.elapsed() > limit);
    let is_partial = AtomicBool::new(false);
    let chunk_results = in_parallel(&files, stop, || {
        let mut worker =
            SearchWorker::new(objects, (&matcher, filter.as_ref()), &word_filter, stop);
        let (is_late, is_partial, match_count) = (&is_late, &is_partial, &match_count);
        move |chunk: &[&PathEntry]| {
            if is_late() {
                is_partial.store(true, Ordering::Relaxed);
                return None;
            }
            // All chunks taken so far come before this one, so their matches come first.
            let is_full = match_count.load(Ordering::Relaxed) >= query.max_matches;
            let chunk_result = worker.search(chunk, if is_full { 0 } else { query.max_matches });
            match_count.fetch_add(chunk_result.matches.len(), Ordering::Relaxed);
            Some(chunk_result)
        }
    });
    if stop.load(Ordering::Relaxed) {
        return Err(SearchError::Stopped);
    }
    let is_partial = is_partial.into_inner();
    let mut result = SearchResult { files: files.len(), is_partial, ..SearchResult::default() };
    for chunk_result in chunk_results {
        let remaining_matches = query.max_matches - result.matches.len();
        result.matches.extend(chunk_result.matches.into_iter().take(remaining_matches));
        result.total += chunk_result.total;
        for (folder, count) in chunk_result.folders {
            *result.folders.entry(folder).or_default() += count;
        }
        result.unreadable_files.extend(chunk_result.unreadable_files);
    }
    let new_files = word_filter.new_files.into_inner().unwrap_or_default();
    if let Some(indexed_files) = &word_filter.indexed_files {
        objects.word_index().add(new_files, indexed_files, &all_files);
    }
    Ok(result)
}

/// For each word, the first files that contain it, at most `max_files`, among the files of a
/// revision that `accepts_path` accepts. Knows only files that earlier searches have indexed, so
/// callers may use it only to save reading.
pub fn files_with_words<'n>(
    objects: &Objects,
    revision: &str,
    words: &BTreeSet<&'n str>,
    max_files: usize,
    accepts_path: &dyn Fn(&[u8]) -> bool,
) -> Result<BTreeMap<&'n str, Vec<Vec<u8>>>, ReadError> {
    let all_files = objects.shared_files(revision)?;
    let indexed_files = objects.word_index().files();
    let names = indexed_files.names(words);
    let mut files_by_word: BTreeMap<&str, Vec<Vec<u8>>> = BTreeMap::new();
    for file in all_files.iter().filter(|file| file.kind.is_file() && accepts_path(&file.path)) {
        let Ok(id) = parse_id(&file.id) else { continue };
        for word in indexed_files.names_in(&id, &names) {
            let files = files_by_word.entry(word).or_default();
            if files.len() < max_files {
                files.push(file.path.clone());
            }
        }
    }
    Ok(files_by_word)
}

/// Calls a function with chunks of the files, on one thread per processor, until it returns `None`.
/// Returns its results in the order of the files.
pub(crate) fn in_parallel<R: Send, F: FnMut(&[&PathEntry]) -> Option<R> + Send>(
    files: &[&PathEntry],
    stop: &AtomicBool,
    new_worker: impl Fn() -> F,
) -> Vec<R> {
    let threads = std::thread::available_parallelism()
        .map_or(1, usize::from)
        .min(files.len() / CHUNK_FILES + 1);
    let (next_chunk, results) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..threads {
            let mut work = new_worker();
            let (next_chunk, results) = (&next_chunk, &results);
            scope.spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    let index = next_chunk.fetch_add(1, Ordering::Relaxed);
                    let chunk = files.chunks(CHUNK_FILES).nth(index);
                    let Some(result) = chunk.and_then(&mut work) else { break };
                    if let Ok(mut results) = results.lock() {
                        results.push((index, result));
                    }
                }
            });
        }
    });
    let mut results: Vec<(usize, R)> = results.into_inner().unwrap_or_default();
    results.sort_by_key(|(index, _)| *index);
    results.into_iter().map(|(_, result)| result).collect()
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
#[derive(Default)]
struct WordFilter {
    /// A file has no match if it has no word of one of these sets.
    required: Vec<Vec<bool>>,
    /// `None` if the index cannot rule out files for this query.
    indexed_files: Option<Arc<IndexedFiles>>,
    new_files: Mutex<NewFiles>,
    /// A search with a time limit adds no file to the index after this time.
    end_of_indexing: Option<Instant>,
}

impl WordFilter {
    fn new(objects: &Objects, query: &SearchQuery) -> Self {
        let pattern = match &query.pattern {
            SearchPattern::Words(words) if !query.ignore_case => {
                return longest_words(words).map_or_else(Self::default, |words| {
                    let files = objects.word_index().files();
                    let set = files.words_where(|word| words.contains(cut(word)));
                    Self::with_sets(vec![set], files, query)
                });
            }
            SearchPattern::Words(words) => {
                words.iter().map(|word| regex_syntax::escape(word)).collect::<Vec<_>>().join("|")
            }
            SearchPattern::Regex(pattern) => pattern.clone(),
            SearchPattern::Literal(text) => regex_syntax::escape(text),
        };
        let parts = required_parts(&pattern, query.ignore_case).into_iter();
        let parts = parts.map(|part| build_matcher(&SearchPattern::Regex(part), false));
        let parts: Vec<RegexMatcher> = parts.filter_map(Result::ok).collect();
        if parts.is_empty() {
            return Self::default();
        }
        let files = objects.word_index().files();
        let set =
            |part: &RegexMatcher| files.words_where(|word| part.is_match(word).unwrap_or(true));
        Self::with_sets(parts.iter().map(set).collect(), files, query)
    }

    fn with_sets(required: Vec<Vec<bool>>, files: Arc<IndexedFiles>, query: &SearchQuery) -> Self {
        let end_of_indexing = query.time_limit.map(|limit| Instant::now() + limit / 4);
        Self { required, indexed_files: Some(files), end_of_indexing, ..Self::default() }
    }

    /// Collects the words of a file that is not indexed yet.
    fn read_words(&self, id: ObjectId, text: &[u8]) {
        let Some(indexed_files) = &self.indexed_files else { return };
        if self.end_of_indexing.is_none_or(|end| Instant::now() < end) {
            read_words(indexed_files, &self.new_files, id, text);
        }
    }

    /// Whether the file cannot match.
    fn rules_out(&self, id: &ObjectId) -> bool {
        self.indexed_files.as_ref().is_some_and(|files| files.rules_out(id, &self.required))
    }
}

/// Collects the words of a file that is not indexed yet.
pub(crate) fn read_words(
    indexed_files: &IndexedFiles,
    new_files: &Mutex<NewFiles>,
    id: ObjectId,
    text: &[u8],
) {
    if indexed_files.contains(&id) {
        return;
    }
    let lines = if is_binary(text) { Vec::new() } else { item_lines(text) };
    if let Ok(mut new_files) = new_files.lock() {
        new_files.push(indexed_files, id, lines);
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
            if id.as_ref().is_ok_and(|id| self.word_filter.rules_out(id)) {
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
        if is_binary(text) {
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

/// Whether git treats the file as binary.
pub(crate) fn is_binary(text: &[u8]) -> bool {
    text[..text.len().min(BINARY_BYTES)].contains(&0)
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
