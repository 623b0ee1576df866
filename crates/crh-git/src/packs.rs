//! The first few objects that a process reads, found in packs without taking in whole indexes.
//!
//! The object database checks an index when it opens it, which in a repository with a long history takes as long as all
//! the rest of one call of a tool. Here only the places on the way to one entry are read. Whatever is missing, unusual or
//! broken is left to the object database, which also has the words for it.

use std::cmp::Ordering;
use std::fs::File;
use std::io::ErrorKind;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::{fs, io};

use gix::ObjectId;
use gix::hash::oid;
use gix::objs::Kind;
use gix::odb::pack::cache::Never;
use gix::odb::pack::data;
use gix::odb::pack::data::decode::entry::ResolvedBase;
use gix::odb::{alternate, loose};
use gix::zlib::Inflate;

use crate::database::BLOB_MAX;

/// How many objects are read so. A file with its commit and its folders takes about ten; after some more, what the
/// object database keeps between reads is worth its price.
const READS_MAX: usize = 32;
/// With more packs, each of which stays open, the object database does better.
const PACKS_MAX: usize = 32;

/// How an index of version 2 starts. Version 1 is from before 2008.
const MAGIC: &[u8] = b"\xfftOc\0\0\0\x02";
/// The bytes of a hash.
const HASH: u64 = 20;
/// The bytes before the first hash: the magic, and for each first byte of a hash how many do not come after it.
const HEAD: u64 = 8 + 256 * 4;
/// Set in an offset that stands in the table of large ones, at the place that the other bits tell.
const IS_LARGE: u32 = 1 << 31;

/// The packs and loose objects of a repository and its alternates.
pub(crate) struct Packs {
    packs: Vec<Pack>,
    loose: Vec<loose::Store>,
    left: AtomicUsize,
}

impl Packs {
    /// The packs of a folder of objects; none if there is anything about them that is not usual.
    pub(crate) fn open(objects: &Path) -> Option<Self> {
        let mut folders = vec![objects.to_owned()];
        folders.extend(alternate::resolve(objects.to_owned(), objects).ok()?);
        let mut packs = Vec::new();
        for folder in &folders {
            for index in indexes(folder).ok()? {
                packs.push(Pack::open(index).ok()?);
                if packs.len() > PACKS_MAX {
                    return None;
                }
            }
        }
        let options =
            loose::Options { alloc_limit_bytes: Some(BLOB_MAX as usize), ..Default::default() };
        let store = |folder| loose::Store::at_opts(folder, gix::hash::Kind::Sha1, options);
        let loose = folders.into_iter().map(store).collect();
        Some(Self { packs, loose, left: AtomicUsize::new(READS_MAX) })
    }

    /// Reads an object; none if somebody else has to look for it.
    pub(crate) fn find(&self, id: &ObjectId, out: &mut Vec<u8>) -> Option<Kind> {
        if !self.has_reads_left() {
            return None;
        }
        let packed = self.packs.iter().find_map(|pack| pack.find(id, out));
        let loose =
            || self.loose.iter().find_map(|store| Some(store.try_find(id, out).ok()??.kind));
        packed.or_else(loose)
    }

    /// Whether an object is here; if not, somebody else has to look for it.
    pub(crate) fn has(&self, id: &ObjectId) -> bool {
        self.has_reads_left()
            && (self.packs.iter().any(|pack| matches!(pack.offset(id), Ok(Some(_))))
                || self.loose.iter().any(|store| store.contains(id)))
    }

    fn has_reads_left(&self) -> bool {
        self.left.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1)).is_ok()
    }
}

/// The indexes in a folder of objects.
fn indexes(objects: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(objects.join("pack")) {
        // Where nothing was ever packed there need not be a folder for it.
        Err(error) if error.kind() == ErrorKind::NotFound && objects.is_dir() => return Ok(vec![]),
        entries => entries?,
    };
    let paths = entries.map(|entry| entry.map(|entry| entry.path()));
    let is_index = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "idx");
    paths.filter(|path| path.as_ref().map_or(true, is_index)).collect()
}

/// One pack and its index.
struct Pack {
    index: File,
    /// For each first byte of a hash, how many hashes do not come after it.
    fan: [u32; 256],
    /// How many offsets are in the table of large ones.
    large: u64,
    path: PathBuf,
    /// None if it cannot be opened.
    data: OnceLock<Option<data::File>>,
}

impl Pack {
    fn open(path: PathBuf) -> io::Result<Self> {
        let index = File::open(&path)?;
        let head: [u8; HEAD as usize] = bytes(&index, 0)?;
        let (magic, table) = head.split_at(MAGIC.len());
        let mut fan = [0; 256];
        for (count, bytes) in fan.iter_mut().zip(table.as_chunks().0) {
            *count = u32::from_be_bytes(*bytes);
        }
        // Each object has its hash, a checksum and an offset; two hashes end the file.
        let without_large = HEAD + (HASH + 4 + 4) * u64::from(fan[255]) + 2 * HASH;
        let large = index.metadata()?.len().checked_sub(without_large);
        let large = large.filter(|bytes| bytes % 8 == 0).map(|bytes| bytes / 8);
        match large.filter(|large| *large <= fan[255].into()) {
            Some(large) if magic == MAGIC && fan.is_sorted() => {
                Ok(Self { index, fan, large, path, data: OnceLock::new() })
            }
            _ => Err(ErrorKind::InvalidData.into()),
        }
    }

    fn find(&self, id: &oid, out: &mut Vec<u8>) -> Option<Kind> {
        let offset = self.offset(id).ok()??;
        let open = || data::File::at(self.path.with_extension("pack"), gix::hash::Kind::Sha1).ok();
        let limited = |data: data::File| data.with_alloc_limit_bytes(Some(BLOB_MAX as usize));
        let data = self.data.get_or_init(|| open().map(limited)).as_ref()?;
        let base = |id: &oid, _: &mut Vec<u8>| match self.offset(id) {
            Ok(Some(offset)) => data.entry(offset).map(|entry| Some(ResolvedBase::InPack(entry))),
            Ok(None) | Err(_) => Ok(None),
        };
        let entry = data.entry(offset).ok()?;
        let read = data.decode_entry(entry, out, &mut Inflate::default(), &base, &mut Never);
        read.ok().map(|outcome| outcome.kind)
    }

    /// Where in the pack an object starts; none if it is not in it.
    fn offset(&self, id: &oid) -> io::Result<Option<u64>> {
        let first = usize::from(id.first_byte());
        let mut from = first.checked_sub(1).map_or(0, |before| self.fan[before]);
        let mut to = self.fan[first];
        while from < to {
            let middle = from + (to - from) / 2;
            let hash: [u8; HASH as usize] = bytes(&self.index, HEAD + HASH * u64::from(middle))?;
            match hash.as_slice().cmp(id.as_bytes()) {
                Ordering::Less => from = middle + 1,
                Ordering::Greater => to = middle,
                Ordering::Equal => return self.offset_at(middle.into()).map(Some),
            }
        }
        Ok(None)
    }

    fn offset_at(&self, place: u64) -> io::Result<u64> {
        let count = u64::from(self.fan[255]);
        let offsets = HEAD + (HASH + 4) * count;
        let offset = u32::from_be_bytes(bytes(&self.index, offsets + 4 * place)?);
        if offset & IS_LARGE == 0 {
            return Ok(offset.into());
        }
        let place = u64::from(offset & !IS_LARGE);
        if place >= self.large {
            return Err(ErrorKind::InvalidData.into());
        }
        bytes(&self.index, offsets + 4 * count + 8 * place).map(u64::from_be_bytes)
    }
}

/// Some bytes of a file.
fn bytes<const COUNT: usize>(file: &File, at: u64) -> io::Result<[u8; COUNT]> {
    let mut bytes = [0; COUNT];
    file.read_exact_at(&mut bytes, at)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests;
