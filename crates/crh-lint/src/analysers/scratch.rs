//! The folder that an analyser works in: one side of the change, as far as it is needed, and nothing else.

use std::fs::Permissions;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::{fs, io};

use tempfile::Builder;

use crate::Project;
use crh_review::finding::Side;

/// A repository with more files than this is not laid out: nobody waits for it.
const TREE_FILES_MAX: usize = 20_000;
/// Nor one with more bytes.
const TREE_BYTES_MAX: usize = 500_000_000;
/// The folder of modules, as node looks for it.
pub(super) const MODULES: &str = "node_modules";

/// A folder that is gone when this is.
#[derive(Debug)]
pub(super) struct Scratch {
    root: PathBuf,
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // Whoever wants to know why it is still there has called `remove` before.
        let _is_gone = remove(&self.root);
    }
}

impl Scratch {
    pub(super) fn new() -> io::Result<Self> {
        // Nobody else on this machine reads what is under review.
        let folder = Builder::new().permissions(Permissions::from_mode(0o700)).tempdir()?;
        // Analysers say where a file really is.
        let root = folder.path().canonicalize()?;
        fs::create_dir(root.join("tree"))?;
        let _kept = folder.keep();
        Ok(Self { root })
    }

    /// Removes it. Why it is still there, as a sentence; none if it is gone.
    pub(super) fn remove(self) -> Option<String> {
        let why = remove(&self.root).err()?;
        Some(format!("its folder `{}` could not be removed: {why}", self.root.display()))
    }

    /// All of it.
    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// The folder of the files.
    pub(super) fn tree(&self) -> PathBuf {
        self.root.join("tree")
    }

    /// Writes a file of the tree. Nobody else has been here, so that no link can lead out of it.
    pub(super) fn write(&self, path: &str, bytes: &[u8]) -> io::Result<()> {
        let is_plain = |part: &str| !matches!(part, "" | "." | "..") && !part.contains('\0');
        if !path.split('/').all(is_plain) {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "no path of a file"));
        }
        self.put(&self.tree().join(path), bytes)
    }

    /// Writes a file beside the tree.
    pub(super) fn write_beside(&self, name: &str, bytes: &[u8]) -> io::Result<PathBuf> {
        let file = self.root.join(name);
        self.put(&file, bytes)?;
        Ok(file)
    }

    fn put(&self, file: &Path, bytes: &[u8]) -> io::Result<()> {
        if let Some(folder) = file.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(file, bytes)
    }

    /// Lays out a whole side of the repository, links left out. The files that no disk has a name for, each with the reason; the error
    /// is a sentence.
    pub(super) fn lay_out(
        &self,
        project: &dyn Project,
        side: Side,
    ) -> Result<Vec<(String, String)>, String> {
        let paths = project.paths(side)?;
        if paths.len() > TREE_FILES_MAX {
            return Err(format!("the repository has more than {TREE_FILES_MAX} files"));
        }
        let mut left = TREE_BYTES_MAX;
        let mut left_out = Vec::new();
        for path in paths {
            let Some(bytes) = project.file(side, path)? else { continue };
            left = left
                .checked_sub(bytes.len())
                .ok_or_else(|| format!("the repository has more than {TREE_BYTES_MAX} bytes"))?;
            let written = self.write(path, &bytes);
            left_out.extend(written.err().map(|why| (path.clone(), why.to_string())));
        }
        Ok(left_out)
    }

    /// Puts the modules of a checkout into the tree, as links, where the tree has the folder and no modules of its own: those
    /// of the root, and of the folders above these files. The folders that the links lead to.
    pub(super) fn link_modules(
        &self,
        checkout: &Path,
        files: &[String],
    ) -> io::Result<Vec<PathBuf>> {
        let above = files.iter().flat_map(|file| Path::new(file).ancestors().skip(1));
        let mut folders: Vec<&Path> = above.chain([Path::new("")]).collect();
        folders.sort();
        folders.dedup();
        let mut linked = Vec::new();
        for folder in folders {
            let (from, to) = (checkout.join(folder).join(MODULES), self.tree().join(folder));
            let link = to.join(MODULES);
            let is_folder = fs::symlink_metadata(&from).is_ok_and(|it| it.is_dir());
            if is_folder && to.is_dir() && fs::symlink_metadata(&link).is_err() {
                symlink(&from, &link)?;
                linked.push(from);
            }
        }
        Ok(linked)
    }

    /// A path that an analyser has printed, as the repository knows it.
    pub(super) fn path_of(&self, printed: &str) -> String {
        let tree = self.tree();
        let path = Path::new(printed).strip_prefix(&tree).unwrap_or(Path::new(printed));
        let path = path.to_string_lossy();
        path.strip_prefix("./").unwrap_or(&path).to_owned()
    }
}

/// Removes a folder in which somebody may have left anything: folders that may not be opened, and folders in folders, deeper than a stack or the
/// longest path. Each folder is moved up to the root before it is emptied, so that nothing is ever deep.
fn remove(root: &Path) -> io::Result<()> {
    let mut left = vec![root.to_owned()];
    let mut number = 0_usize;
    while let Some(folder) = left.pop() {
        fs::set_permissions(&folder, Permissions::from_mode(0o700))?;
        let mut is_empty = true;
        for entry in fs::read_dir(&folder)? {
            let entry = entry?;
            if !entry.file_type()?.is_dir() {
                fs::remove_file(entry.path())?;
                continue;
            }
            is_empty = false;
            if folder == root {
                left.push(entry.path());
                continue;
            }
            // A folder that may not be written to cannot be moved.
            fs::set_permissions(entry.path(), Permissions::from_mode(0o700))?;
            loop {
                number += 1;
                let up = root.join(format!("{number}.moved"));
                if fs::symlink_metadata(&up).is_err() {
                    fs::rename(entry.path(), &up)?;
                    left.push(up);
                    break;
                }
            }
        }
        if folder != root {
            fs::remove_dir(&folder)?;
        } else if !is_empty {
            // Its folders are on the list behind it; it is the last to go.
            left.insert(0, folder);
        } else {
            fs::remove_dir(&folder)?;
        }
    }
    Ok(())
}
