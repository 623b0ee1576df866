//! File operations in a checkout. No path leads outside, through a symlink or into `.git`, and no
//! file is ever half written.

#[cfg_attr(unix, path = "tree/unix.rs")]
#[cfg_attr(windows, path = "tree/windows.rs")]
mod system;

use std::fmt;

pub(super) use self::system::{CheckoutTree, refusal};

/// Git's folder. Compared without case, because some file systems ignore it.
const GIT: &str = ".git";

/// A relative path inside the checkout.
#[derive(Debug, Clone, Copy)]
pub(super) struct InsidePath<'p> {
    path: &'p str,
}

/// The file at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FileSnapshot {
    pub(super) bytes: Vec<u8>,
    pub(super) mode: u32,
    pub(super) owner: (u32, u32),
}

impl fmt::Display for InsidePath<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.path)
    }
}

impl<'p> InsidePath<'p> {
    /// Checks a path. The error is the end of a sentence.
    pub(super) fn new(path: &'p str) -> Result<Self, &'static str> {
        if path.starts_with('"') {
            return Err("has a name that is not UTF-8");
        }
        for part in path.split('/') {
            match part {
                "" | "." | ".." => return Err("is not inside the checkout"),
                part if part.eq_ignore_ascii_case(GIT) => return Err("belongs to git"),
                _ => {}
            }
        }
        Ok(Self { path })
    }

    /// The parent folder; empty for the root.
    fn folder(self) -> &'p str {
        self.path.rsplit_once('/').map_or("", |(folder, _)| folder)
    }

    /// Path of another name in the same folder.
    pub(super) fn beside(self, name: &str) -> String {
        match self.folder() {
            "" => name.to_owned(),
            folder => format!("{folder}/{name}"),
        }
    }
}
