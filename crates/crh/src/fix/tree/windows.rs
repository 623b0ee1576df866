//! Windows: crh changes no checkout, because the standard library has no operations relative to an
//! open folder. Without them, another program could lead a write out of the checkout by a link.

use std::fs::File;
use std::io;
use std::path::Path;

use super::{FileSnapshot, InsidePath};

/// The end of a sentence.
const NOT_SUPPORTED: &str = "crh cannot change files on Windows yet";

/// Why crh changes no checkout on this system.
pub(in crate::fix) fn refusal() -> Option<&'static str> {
    Some(NOT_SUPPORTED)
}

/// A checkout that crh can change: there is none.
#[derive(Debug)]
pub(in crate::fix) enum CheckoutTree {}

impl CheckoutTree {
    pub(in crate::fix) fn open(_: &Path) -> io::Result<Self> {
        Err(io::Error::new(io::ErrorKind::Unsupported, NOT_SUPPORTED))
    }

    pub(in crate::fix) fn path(&self) -> &Path {
        match *self {}
    }

    pub(in crate::fix) fn root(&self) -> &File {
        match *self {}
    }

    pub(in crate::fix) fn read(&self, _: InsidePath<'_>) -> io::Result<Option<FileSnapshot>> {
        match *self {}
    }

    pub(in crate::fix) fn missing_folders(&self, _: InsidePath<'_>) -> io::Result<Vec<String>> {
        match *self {}
    }

    pub(in crate::fix) fn make_folder(&self, _: InsidePath<'_>) -> io::Result<()> {
        match *self {}
    }

    pub(in crate::fix) fn remove_empty_folder(&self, _: InsidePath<'_>) -> io::Result<()> {
        match *self {}
    }

    pub(in crate::fix) fn remove(&self, _: InsidePath<'_>) -> io::Result<()> {
        match *self {}
    }

    pub(in crate::fix) fn create(&self, _: InsidePath<'_>) -> io::Result<File> {
        match *self {}
    }

    pub(in crate::fix) fn create_private(&self, _: InsidePath<'_>) -> io::Result<File> {
        match *self {}
    }

    pub(in crate::fix) fn rename(&self, _: InsidePath<'_>, _: InsidePath<'_>) -> io::Result<()> {
        match *self {}
    }

    pub(in crate::fix) fn rename_to_new(
        &self,
        _: InsidePath<'_>,
        _: InsidePath<'_>,
    ) -> io::Result<()> {
        match *self {}
    }

    pub(in crate::fix) fn exchange(&self, _: InsidePath<'_>, _: InsidePath<'_>) -> io::Result<()> {
        match *self {}
    }

    pub(in crate::fix) fn set_owner(&self, _: &File, _: (u32, u32)) -> io::Result<()> {
        match *self {}
    }
}
