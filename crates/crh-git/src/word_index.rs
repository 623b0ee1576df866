//! Which words a file contains, by blob id, and which lines may define them. A search skips files
//! that lack a word of its pattern.
//!
//! Invariants:
//! - The index only saves reading. Callers give the same result with and without it.
//! - A damaged index file is ignored, and a later search replaces it.
//! - A word is a run of ASCII letters, digits and underscores. Long words are stored as overlapping
//!   pieces, so that each of their short parts is within one piece.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use gix::ObjectId;

use crate::database::parse_id;
use crate::definition_words::{LineWord, definition_words, shown_line};
use crate::objects::PathEntry;
use crate::store_files;

/// Name of the index file in crh's store.
const FILE_NAME: &str = "crh-words";
/// First bytes of an index file, with the version of its format.
const MAGIC: &[u8; 8] = b"crhword2";
/// Minimum length of an indexed word.
pub(crate) const WORD_BYTES_MIN: usize = 3;
/// Maximum length of a part of a word to look up.
pub(crate) const PART_BYTES_MAX: usize = 64;
/// Longer words are split into pieces of this length.
const PIECE_BYTES: usize = 128;
/// Distance of pieces. They overlap by the length of a part.
const PIECE_DISTANCE: usize = PIECE_BYTES - PART_BYTES_MAX;
/// Bytes of a blob id and the end of a range.
const ROW_BYTES: usize = 20 + 8;
/// A file with more bytes of words is indexed without them: it is never ruled out, and read for
/// definitions.
const FILE_BYTES_MAX: usize = 2 << 20;
/// Maximum items of all files, 96 MB. Further files are not indexed.
const ITEMS_MAX: usize = 24 << 20;
/// Maximum bytes of all different words.
const TEXT_BYTES_MAX: usize = 48 << 20;
/// Minimum new files for saving the index. Fewer are not worth a write: the next search reads them
/// again.
const NEW_FILES_MIN: usize = 50;

/// Bits of an item that are the number of a word.
const NUMBER: u32 = (1 << FLAG_SHIFT) - 1;
/// Item of a file that is indexed without its words.
const ANY_WORD: u32 = NUMBER;
/// Position of the flags in an item.
const FLAG_SHIFT: u32 = 29;
/// The line assigns the word.
const IS_VALUE: u8 = 1;
/// The line may define the word.
const IS_DEFINED: u8 = 2;
/// The item is a line number. The words of the line follow.
const IS_LINE: u8 = 4;

/// The word index of a repository. Loaded by the first search for words.
#[derive(Debug)]
pub(crate) struct WordIndex {
    /// `None` outside of crh's store: the index then lives as long as the process.
    path: Option<PathBuf>,
    files: Mutex<Option<Arc<IndexedFiles>>>,
}

/// Words by blob id.
#[derive(Debug, Clone, Default)]
pub(crate) struct IndexedFiles {
    /// Different words, each with a line end. The number of a word is the number of its line.
    text: Vec<u8>,
    /// For each file the numbers of its words, then the lines that may define a word.
    /// Little-endian, as in the index file.
    items: Vec<[u8; 4]>,
    /// For each file, the range of its items.
    ranges: HashMap<ObjectId, Range<usize>>,
}

/// New files of a search, for the index.
#[derive(Debug, Default)]
pub(crate) struct NewFiles {
    /// Items of files as lines: the flags, and a word or line number.
    waiting: Vec<(ObjectId, Vec<u8>)>,
    builder: Option<IndexBuilder>,
    /// Number of files that a full index has no room for.
    left_out: usize,
}

/// Adds files to an index.
#[derive(Debug)]
struct IndexBuilder {
    files: IndexedFiles,
    numbers: HashMap<Box<[u8]>, u32>,
}

impl WordIndex {
    pub(crate) fn new(git_dir: &Path) -> Self {
        let path = store_files::is_store(git_dir).then(|| git_dir.join(FILE_NAME));
        Self { path, files: Mutex::default() }
    }

    /// All indexed files.
    pub(crate) fn files(&self) -> Arc<IndexedFiles> {
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        let load = || self.path.as_deref().and_then(|path| load(path).ok()).unwrap_or_default();
        Arc::clone(files.get_or_insert_with(|| Arc::new(load())))
    }

    /// Adds files to the index that a search of `all_files` used, and writes it if enough files are
    /// new. A full index is emptied if most of its files are of other revisions.
    pub(crate) fn add(&self, new_files: NewFiles, used: &IndexedFiles, all_files: &[PathEntry]) {
        let files = match new_files.builder {
            Some(mut builder) => {
                new_files.waiting.iter().for_each(|(id, lines)| builder.add(*id, lines));
                builder.files
            }
            None if new_files.left_out >= NEW_FILES_MIN => {
                let ids = all_files.iter().filter_map(|file| parse_id(&file.id).ok());
                if ids.filter(|id| used.contains(id)).count() > used.ranges.len() / 2 {
                    return;
                }
                IndexedFiles::default()
            }
            None => return,
        };
        if let Some(path) = &self.path {
            // Without a saved index, searches are only slower.
            drop(save(path, &files));
        }
        *self.files.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(files));
    }
}

impl NewFiles {
    /// Adds a file that `used` lacks.
    pub(crate) fn push(&mut self, used: &IndexedFiles, id: ObjectId, lines: Vec<u8>) {
        if used.is_full() {
            self.left_out += 1;
            return;
        }
        self.waiting.push((id, lines));
        if self.waiting.len() >= NEW_FILES_MIN {
            let builder = self.builder.get_or_insert_with(|| IndexBuilder::new(used.clone()));
            self.waiting.drain(..).for_each(|(id, lines)| builder.add(id, &lines));
        }
    }
}

impl IndexedFiles {
    pub(crate) fn contains(&self, id: &ObjectId) -> bool {
        self.ranges.contains_key(id)
    }

    fn items(&self, id: &ObjectId) -> Option<&[[u8; 4]]> {
        self.items.get(self.ranges.get(id)?.clone())
    }

    fn is_full(&self) -> bool {
        self.items.len() > ITEMS_MAX || self.text.len() > TEXT_BYTES_MAX
    }

    fn words(&self) -> impl Iterator<Item = &[u8]> {
        self.text.split(|byte| *byte == b'\n')
    }

    /// For each word, whether it is wanted.
    pub(crate) fn words_where(&self, is_wanted: impl FnMut(&[u8]) -> bool) -> Vec<bool> {
        self.words().map(is_wanted).collect()
    }

    /// For each word, the name that equals it.
    pub(crate) fn names<'n>(&self, names: &BTreeSet<&'n str>) -> Vec<Option<&'n str>> {
        let names: HashMap<&[u8], &str> = names.iter().map(|it| (it.as_bytes(), *it)).collect();
        self.words().map(|word| names.get(word).copied()).collect()
    }

    /// Whether the file is indexed and has no word of one of the sets.
    pub(crate) fn rules_out(&self, id: &ObjectId, required: &[Vec<bool>]) -> bool {
        self.items(id).is_some_and(|items| {
            let has_one = |set: &Vec<bool>| {
                let words = items.iter().take_while(|item| flags(item) == 0).map(number);
                let mut words = words.filter(|word| *word == ANY_WORD || is_in(set, *word));
                words.next().is_some()
            };
            !required.iter().all(has_one)
        })
    }

    /// Words of a file that are among `names`. None for a file without indexed words.
    pub(crate) fn names_in<'n>(
        &self,
        id: &ObjectId,
        names: &[Option<&'n str>],
    ) -> impl Iterator<Item = &'n str> {
        let items = self.items(id).unwrap_or_default().iter();
        let words = items.take_while(|item| flags(item) == 0).map(number);
        words.filter_map(|word| names.get(word as usize).copied().flatten())
    }

    /// Lines of a file that may define a word, with the words that are among `names`. `None` if the
    /// file must be read.
    pub(crate) fn definition_lines<'n>(
        &self,
        id: &ObjectId,
        names: &[Option<&'n str>],
    ) -> Option<impl Iterator<Item = (u32, Vec<LineWord<'n>>)>> {
        let items = self.items(id).filter(|items| items.first().map(number) != Some(ANY_WORD))?;
        let start = items.iter().position(|item| flags(item) == IS_LINE).unwrap_or(items.len());
        let lines = items[start..].chunk_by(|_, next| flags(next) != IS_LINE);
        Some(lines.filter_map(|line| line.split_first()).map(|(line, words)| {
            let name = |item: &[u8; 4]| names.get(number(item) as usize).copied().flatten();
            let is_defined = |item: &[u8; 4]| flags(item) & IS_DEFINED != 0;
            let words = words.iter().filter_map(|item| {
                let is_value = flags(item) & IS_VALUE != 0;
                Some(LineWord { text: name(item)?, is_defined: is_defined(item), is_value })
            });
            (number(line), words.collect())
        }))
    }
}

#[cfg(test)]
impl IndexedFiles {
    /// An index of one file.
    pub(crate) fn with_file(text: &[u8]) -> (Self, ObjectId) {
        let (mut builder, id) =
            (IndexBuilder::new(Self::default()), ObjectId::null(gix::hash::Kind::Sha1));
        builder.add(id, &item_lines(text));
        (builder.files, id)
    }
}

impl IndexBuilder {
    fn new(files: IndexedFiles) -> Self {
        let numbers = files.words().filter(|word| !word.is_empty()).map(Box::from).zip(0..);
        Self { numbers: numbers.collect(), files }
    }

    fn add(&mut self, id: ObjectId, lines: &[u8]) {
        let Self { files, numbers } = self;
        if files.is_full() || files.contains(&id) {
            return;
        }
        let start = files.items.len();
        for line in lines.split(|byte| *byte == b'\n') {
            let Some((flags, word)) = line.split_first() else { continue };
            let next = numbers.len() as u32;
            let number = match numbers.get(word) {
                _ if *flags == IS_LINE => {
                    str::from_utf8(word).map_or(0, |it| it.parse().unwrap_or(0))
                }
                _ if word.is_empty() => ANY_WORD,
                Some(number) => *number,
                None => {
                    numbers.insert(word.into(), next);
                    files.text.extend_from_slice(word);
                    files.text.push(b'\n');
                    next
                }
            };
            files.items.push((number | u32::from(*flags) << FLAG_SHIFT).to_le_bytes());
        }
        files.ranges.insert(id, start..files.items.len());
    }
}

fn number(item: &[u8; 4]) -> u32 {
    u32::from_le_bytes(*item) & NUMBER
}

fn flags(item: &[u8; 4]) -> u8 {
    item[3] >> (FLAG_SHIFT - 24)
}

fn is_in(set: &[bool], number: u32) -> bool {
    set.get(number as usize).is_some_and(|is_in| *is_in)
}

pub(crate) fn is_word_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Different words of a text, then the lines that may define a word. One item per line.
pub(crate) fn item_lines(text: &[u8]) -> Vec<u8> {
    let mut lines = Vec::new();
    let push = |lines: &mut Vec<u8>, flags: u8, word: &[u8]| {
        lines.push(flags);
        lines.extend_from_slice(word);
        lines.push(b'\n');
    };
    let mut known = HashSet::new();
    let words = text.split(|byte| !is_word_byte(*byte));
    for word in words.filter(|word| word.len() >= WORD_BYTES_MIN) {
        let piece_starts = 0..word.len().saturating_sub(PIECE_BYTES - PIECE_DISTANCE).max(1);
        for start in piece_starts.step_by(PIECE_DISTANCE) {
            let piece = &word[start..word.len().min(start + PIECE_BYTES)];
            if lines.len() < FILE_BYTES_MAX && known.insert(piece) {
                push(&mut lines, 0, piece);
            }
        }
    }
    for (number, line) in (1..).zip(text.split(|byte| *byte == b'\n')) {
        let line = shown_line(line);
        let words = definition_words(&line);
        if lines.len() >= FILE_BYTES_MAX {
            return vec![0];
        }
        if !words.is_empty() {
            push(&mut lines, IS_LINE, u32::to_string(&number).as_bytes());
        }
        for LineWord { text, is_defined, is_value } in words {
            let flags = (u8::from(is_defined) * IS_DEFINED) | (u8::from(is_value) * IS_VALUE);
            push(&mut lines, flags, text.as_bytes());
        }
    }
    lines
}

/// For each text, its longest word. `None` if the index
/// cannot rule out files without one of these texts.
pub(crate) fn longest_words(texts: &[String]) -> Option<HashSet<&[u8]>> {
    fn longest_word(text: &String) -> Option<&[u8]> {
        let words = text.as_bytes().split(|byte| !is_word_byte(*byte));
        words.max_by_key(|word| word.len()).filter(|word| word.len() >= WORD_BYTES_MIN).map(cut)
    }
    texts.iter().map(longest_word).collect()
}

pub(crate) fn cut(word: &[u8]) -> &[u8] {
    &word[..word.len().min(PART_BYTES_MAX)]
}

/// Writes magic bytes, a checksum of the rest, the lengths of the three parts, and the parts: all
/// words, each file with the end of its range, and the items.
fn save(path: &Path, files: &IndexedFiles) -> io::Result<()> {
    let mut ranges: Vec<(&ObjectId, &Range<usize>)> = files.ranges.iter().collect();
    ranges.sort_unstable_by_key(|(_, range)| (range.end, range.start));
    let mut rows = Vec::with_capacity(ranges.len() * ROW_BYTES);
    for (id, range) in &ranges {
        rows.extend_from_slice(id.as_slice());
        rows.extend_from_slice(&(range.end as u64).to_le_bytes());
    }
    let lengths = [files.text.len(), ranges.len(), files.items.len()];
    let lengths = lengths.map(|length| (length as u64).to_le_bytes());
    let parts = [lengths.as_flattened(), &files.text, &rows, files.items.as_flattened()];
    let mut checksum = crc32fast::Hasher::new();
    parts.iter().for_each(|part| checksum.update(part));
    let folder = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(MAGIC)?;
    file.write_all(&checksum.finalize().to_le_bytes())?;
    parts.iter().try_for_each(|part| file.write_all(part))?;
    file.persist(path)?;
    Ok(())
}

fn load(path: &Path) -> io::Result<IndexedFiles> {
    let mut file = File::open(path)?;
    let (mut magic, mut expected_checksum, mut lengths) = ([0; 8], [0; 4], [[0; 8]; 3]);
    for part in [magic.as_mut_slice(), &mut expected_checksum, lengths.as_flattened_mut()] {
        file.read_exact(part)?;
    }
    let [text_length, row_count, item_count] = lengths.map(u64::from_le_bytes);
    let size =
        [text_length, row_count.saturating_mul(ROW_BYTES as u64), item_count.saturating_mul(4), 36];
    let size = size.into_iter().fold(0, u64::saturating_add);
    if magic != *MAGIC || size != file.metadata()?.len() {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut text = vec![0; text_length as usize];
    let mut rows = vec![[0; ROW_BYTES]; row_count as usize];
    let mut items = vec![[0; 4]; item_count as usize];
    let mut checksum = crc32fast::Hasher::new();
    checksum.update(lengths.as_flattened());
    for part in [text.as_mut_slice(), rows.as_flattened_mut(), items.as_flattened_mut()] {
        file.read_exact(part)?;
        checksum.update(part);
    }
    if checksum.finalize() != u32::from_le_bytes(expected_checksum) {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut start = 0;
    let ranges = rows.iter().filter_map(|row| {
        let (id, end) = row.split_first_chunk::<20>()?;
        let end = u64::from_le_bytes(end.try_into().ok()?) as usize;
        Some((ObjectId::from(*id), std::mem::replace(&mut start, end)..end))
    });
    let ranges = ranges.collect();
    Ok(IndexedFiles { text, items, ranges })
}
