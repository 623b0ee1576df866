//! Reads the first few objects of a process from packs, without loading whole indexes.
//!
//! When the object database opens an index, it validates the whole file, which is slow for a long
//! history. This file reads only the bytes on the way to one entry. It leaves everything unusual or
//! broken to the object database.

use std::cmp::Ordering;
use std::fs::File;
use std::io::ErrorKind;
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

use crate::read_error::MAX_BLOB_BYTES;
use crh_os::files::read_exact_at;

/// Maximum number of objects read by this file. Reading one file of a commit takes about ten. For
/// many more, the object database is faster because of its caches.
const READS_MAX: usize = 32;
/// Maximum number of packs. Each one stays open and is searched in turn, so with more packs the
/// object database is faster.
const PACKS_MAX: usize = 32;

/// Start of a version 2 index.
const MAGIC: &[u8] = b"\xfftOc\0\0\0\x02";
const HASH_BYTES: u64 = 20;
/// Bytes before the first hash: magic and fan-out table.
const HEADER_BYTES: u64 = 8 + 256 * 4;
/// Flag of an offset that is an index into the table of large offsets.
const IS_LARGE: u32 = 1 << 31;

/// Packs and loose objects of a repository and its alternates.
pub(crate) struct Packs {
    packs: Vec<Pack>,
    loose: Vec<loose::Store>,
    reads_left: AtomicUsize,
}

impl Packs {
    /// Opens the packs; `None` if anything is unusual.
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
        let options = loose::Options {
            alloc_limit_bytes: Some(MAX_BLOB_BYTES as usize),
            ..Default::default()
        };
        let store = |folder| loose::Store::at_opts(folder, gix::hash::Kind::Sha1, options);
        let loose = folders.into_iter().map(store).collect();
        Some(Self { packs, loose, reads_left: AtomicUsize::new(READS_MAX) })
    }

    /// Reads an object; `None` if the object database must look for it.
    pub(crate) fn find(&self, id: &ObjectId, out: &mut Vec<u8>) -> Option<Kind> {
        if !self.take_read() {
            return None;
        }
        let packed_kind = self.packs.iter().find_map(|pack| pack.find(id, out));
        let loose_kind =
            || self.loose.iter().find_map(|store| Some(store.try_find(id, out).ok()??.kind));
        packed_kind.or_else(loose_kind)
    }

    /// Whether a pack or loose file contains an object. `false` is not final: the object database
    /// must look for the object.
    pub(crate) fn has(&self, id: &ObjectId) -> bool {
        self.take_read()
            && (self.packs.iter().any(|pack| matches!(pack.offset(id), Ok(Some(_))))
                || self.loose.iter().any(|store| store.contains(id)))
    }

    fn take_read(&self) -> bool {
        self.reads_left.fetch_update(Relaxed, Relaxed, |reads| reads.checked_sub(1)).is_ok()
    }
}

/// Index files of an object folder.
fn indexes(objects: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(objects.join("pack")) {
        // Without packs the folder may not exist.
        Err(error) if error.kind() == ErrorKind::NotFound && objects.is_dir() => return Ok(vec![]),
        entries => entries?,
    };
    let paths = entries.map(|entry| entry.map(|entry| entry.path()));
    let is_index = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "idx");
    paths.filter(|path| path.as_ref().map_or(true, is_index)).collect()
}

struct Pack {
    index: File,
    /// Fan-out table: for each first byte, the number of hashes up to it.
    fan: [u32; 256],
    /// Number of large offsets.
    large_offset_count: u64,
    path: PathBuf,
    /// The pack file; `None` if it cannot be opened.
    data: OnceLock<Option<data::File>>,
}

impl Pack {
    fn open(path: PathBuf) -> io::Result<Self> {
        let index = File::open(&path)?;
        let header: [u8; HEADER_BYTES as usize] = read_at(&index, 0)?;
        let (magic, table) = header.split_at(MAGIC.len());
        let mut fan = [0; 256];
        for (count, bytes) in fan.iter_mut().zip(table.as_chunks().0) {
            *count = u32::from_be_bytes(*bytes);
        }
        // Each object has a hash, a checksum and an offset. Two hashes end the file.
        let min_bytes = HEADER_BYTES + (HASH_BYTES + 4 + 4) * u64::from(fan[255]) + 2 * HASH_BYTES;
        let large_offset_count = index.metadata()?.len().checked_sub(min_bytes);
        let large_offset_count =
            large_offset_count.filter(|bytes| bytes % 8 == 0).map(|bytes| bytes / 8);
        match large_offset_count.filter(|large_offset_count| *large_offset_count <= fan[255].into())
        {
            Some(large_offset_count) if magic == MAGIC && fan.is_sorted() => {
                Ok(Self { index, fan, large_offset_count, path, data: OnceLock::new() })
            }
            _ => Err(ErrorKind::InvalidData.into()),
        }
    }

    fn find(&self, id: &oid, out: &mut Vec<u8>) -> Option<Kind> {
        let offset = self.offset(id).ok()??;
        let open = || data::File::at(self.path.with_extension("pack"), gix::hash::Kind::Sha1).ok();
        let limit_allocation =
            |data: data::File| data.with_alloc_limit_bytes(Some(MAX_BLOB_BYTES as usize));
        let data = self.data.get_or_init(|| open().map(limit_allocation)).as_ref()?;
        let base = |id: &oid, _: &mut Vec<u8>| match self.offset(id) {
            Ok(Some(offset)) => data.entry(offset).map(|entry| Some(ResolvedBase::InPack(entry))),
            Ok(None) | Err(_) => Ok(None),
        };
        let entry = data.entry(offset).ok()?;
        let outcome = data.decode_entry(entry, out, &mut Inflate::default(), &base, &mut Never);
        outcome.ok().map(|outcome| outcome.kind)
    }

    /// Offset of an object in the pack.
    fn offset(&self, id: &oid) -> io::Result<Option<u64>> {
        let first_byte = usize::from(id.first_byte());
        let mut low = first_byte.checked_sub(1).map_or(0, |previous_byte| self.fan[previous_byte]);
        let mut high = self.fan[first_byte];
        while low < high {
            let middle = low + (high - low) / 2;
            let hash: [u8; HASH_BYTES as usize] =
                read_at(&self.index, HEADER_BYTES + HASH_BYTES * u64::from(middle))?;
            match hash.as_slice().cmp(id.as_bytes()) {
                Ordering::Less => low = middle + 1,
                Ordering::Greater => high = middle,
                Ordering::Equal => return self.offset_at(middle.into()).map(Some),
            }
        }
        Ok(None)
    }

    fn offset_at(&self, position: u64) -> io::Result<u64> {
        let count = u64::from(self.fan[255]);
        let offsets = HEADER_BYTES + (HASH_BYTES + 4) * count;
        let offset = u32::from_be_bytes(read_at(&self.index, offsets + 4 * position)?);
        if offset & IS_LARGE == 0 {
            return Ok(offset.into());
        }
        let index = u64::from(offset & !IS_LARGE);
        if index >= self.large_offset_count {
            return Err(ErrorKind::InvalidData.into());
        }
        read_at(&self.index, offsets + 4 * count + 8 * index).map(u64::from_be_bytes)
    }
}

fn read_at<const COUNT: usize>(file: &File, offset: u64) -> io::Result<[u8; COUNT]> {
    let mut bytes = [0; COUNT];
    read_exact_at(file, &mut bytes, offset)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests;
