//! Which words a file contains, by blob id. A search for words skips files without them.
//!
//! Invariants:
//! - The index only rules files out. A search gives the same result with and without it.
//! - A damaged index file is ignored, and a later search replaces it.
//! - Words are runs of ASCII letters, digits and underscores, as 32-bit hashes. Two words with the
//!   same hash cost a needless read.

use std::collections::{HashMap, HashSet};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::{fs, io};

use gix::ObjectId;

use crate::store_files;

/// Name of the index file in crh's store.
const FILE_NAME: &str = "crh-words";
/// First bytes of an index file, with the version of its format.
const MAGIC: &[u8; 8] = b"crhword1";
/// Shorter words are not indexed.
const WORD_BYTES_MIN: usize = 3;
/// A file with more different words is not indexed.
const WORDS_PER_FILE_MAX: usize = 1 << 16;
/// Maximum number of words of all files, 96 MB. Further files are not indexed.
const WORDS_MAX: usize = 24 << 20;
/// Fewer new files are not worth a write: the next search indexes them again.
const NEW_FILES_MIN: usize = 200;

/// Words of a file: sorted hashes.
type FileWords = Arc<[u32]>;
/// Words by blob id.
pub(crate) type IndexedFiles = HashMap<ObjectId, FileWords>;

/// The word index of a repository. Loaded by the first search for words.
#[derive(Debug)]
pub(crate) struct WordIndex {
    /// `None` outside of crh's store: the index then lives as long as the process.
    path: Option<PathBuf>,
    state: Mutex<Option<IndexState>>,
}

#[derive(Debug, Default)]
struct IndexState {
    files: Arc<IndexedFiles>,
    word_count: usize,
    unsaved_files: usize,
}

impl WordIndex {
    pub(crate) fn new(git_dir: &Path) -> Self {
        let path = store_files::is_store(git_dir).then(|| git_dir.join(FILE_NAME));
        Self { path, state: Mutex::default() }
    }

    /// All indexed files.
    pub(crate) fn files(&self) -> Arc<IndexedFiles> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let state = state.get_or_insert_with(|| {
            let files = self.path.as_deref().and_then(|path| load(path).ok()).unwrap_or_default();
            let word_count = files.values().map(|words| words.len()).sum();
            IndexState { files: Arc::new(files), word_count, unsaved_files: 0 }
        });
        Arc::clone(&state.files)
    }

    /// Adds files and writes the index if enough of it is new. If the index is full, first removes
    /// the files that `current` does not return.
    pub(crate) fn add(
        &self,
        new_files: Vec<(ObjectId, Vec<u32>)>,
        current: &dyn Fn() -> HashSet<ObjectId>,
    ) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(state) = state.as_mut() else { return };
        let files = Arc::make_mut(&mut state.files);
        let new_words: usize = new_files.iter().map(|(_, words)| words.len()).sum();
        if state.word_count + new_words > WORDS_MAX {
            let current = current();
            files.retain(|id, _| current.contains(id));
            state.word_count = files.values().map(|words| words.len()).sum();
        }
        for (id, words) in new_files {
            if state.word_count + words.len() <= WORDS_MAX && !files.contains_key(&id) {
                state.word_count += words.len();
                state.unsaved_files += 1;
                files.insert(id, words.into());
            }
        }
        if let (Some(path), NEW_FILES_MIN..) = (&self.path, state.unsaved_files) {
            // Without a saved index, searches are only slower.
            drop(save(path, files));
            state.unsaved_files = 0;
        }
    }
}

/// Sorted hashes of the words of a text. `None` if there are too many.
pub(crate) fn hash_words(text: &[u8]) -> Option<Vec<u32>> {
    let mut hashes = Vec::with_capacity(text.len() / 8);
    let words = text.split(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_');
    hashes.extend(words.filter(|word| word.len() >= WORD_BYTES_MIN).map(hash_word));
    hashes.sort_unstable();
    hashes.dedup();
    (hashes.len() <= WORDS_PER_FILE_MAX).then_some(hashes)
}

/// For each text, the hash of its longest word. `None` if the index cannot rule out files without
/// one of these texts.
pub(crate) fn hash_longest_words(texts: &[String]) -> Option<Vec<u32>> {
    let longest_word = |text: &String| {
        let words = text.as_bytes().split(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_');
        words
            .max_by_key(|word| word.len())
            .filter(|word| word.len() >= WORD_BYTES_MIN)
            .map(hash_word)
    };
    texts.iter().map(longest_word).collect()
}

/// FNV-1a.
fn hash_word(word: &[u8]) -> u32 {
    word.iter().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193))
}

/// Writes magic bytes, a checksum of the rest, and for each file its id, the number of its words
/// and their hashes.
fn save(path: &Path, files: &IndexedFiles) -> io::Result<()> {
    let mut body = Vec::new();
    for (id, words) in files {
        body.extend_from_slice(id.as_slice());
        body.extend_from_slice(&u32::try_from(words.len()).unwrap_or_default().to_le_bytes());
        words.iter().for_each(|word| body.extend_from_slice(&word.to_le_bytes()));
    }
    let folder = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(MAGIC)?;
    file.write_all(&crc32fast::hash(&body).to_le_bytes())?;
    file.write_all(&body)?;
    file.persist(path)?;
    Ok(())
}

fn load(path: &Path) -> io::Result<IndexedFiles> {
    let bytes = fs::read(path)?;
    parse(&bytes).ok_or_else(|| io::ErrorKind::InvalidData.into())
}

fn parse(bytes: &[u8]) -> Option<IndexedFiles> {
    let (checksum, mut body) = bytes.strip_prefix(MAGIC)?.split_first_chunk()?;
    if crc32fast::hash(body) != u32::from_le_bytes(*checksum) {
        return None;
    }
    let mut files = IndexedFiles::new();
    while !body.is_empty() {
        let (id, rest) = body.split_first_chunk::<20>()?;
        let (count, rest) = rest.split_first_chunk()?;
        let size = usize::try_from(u32::from_le_bytes(*count)).ok()?.checked_mul(4)?;
        let (words, rest) = rest.split_at_checked(size)?;
        let (words, _) = words.as_chunks();
        files.insert(
            ObjectId::from(*id),
            words.iter().map(|word| u32::from_le_bytes(*word)).collect(),
        );
        body = rest;
    }
    Some(files)
}
