//! The folder in which an analyser runs. Its subfolder `tree` has files of one side of the change.
//! Beside it are files for the analyser, such as its configuration.

use std::path::{Path, PathBuf};
use std::{fs, io};

use crate::Project;
use crh_os::files;
use crh_review::finding::Side;

/// Larger repositories are not written to disk: it would take too long.
const TREE_FILES_MAX: usize = 20_000;
const TREE_BYTES_MAX: usize = 500_000_000;
pub(super) const NODE_MODULES: &str = "node_modules";

/// A temporary folder, removed on drop.
#[derive(Debug)]
pub(super) struct Scratch {
    root: PathBuf,
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // Callers that need the error call `remove`.
        let _removal = remove(&self.root);
    }
}

impl Scratch {
    pub(super) fn new() -> io::Result<Self> {
        // Other users of the machine must not read the code under review.
        let folder = files::temp_builder(files::PRIVATE_FOLDER).tempdir()?;
        // Analysers print canonical paths.
        let root = folder.path().canonicalize()?;
        fs::create_dir(root.join("tree"))?;
        let _path = folder.keep();
        Ok(Self { root })
    }

    /// Removes the folder. Returns why that failed, as a sentence.
    pub(super) fn remove(self) -> Option<String> {
        let why = remove(&self.root).err()?;
        Some(format!("cannot remove the temporary folder `{}`: {why}", self.root.display()))
    }

    /// The whole scratch folder.
    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// The folder with the files of the change.
    pub(super) fn tree(&self) -> PathBuf {
        self.root.join("tree")
    }

    /// Writes a file of the tree. Other users cannot write to the folder, and crh creates symlinks
    /// only after it has written all files, so no symlink can lead out of the folder.
    pub(super) fn write(&self, path: &str, bytes: &[u8]) -> io::Result<()> {
        let is_plain = |part: &str| !matches!(part, "" | "." | "..") && !part.contains('\0');
        if !path.split('/').all(is_plain) {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a valid file path"));
        }
        self.write_file(&self.tree().join(path), bytes)
    }

    /// Writes a file beside the tree.
    pub(super) fn write_extra(&self, name: &str, bytes: &[u8]) -> io::Result<PathBuf> {
        let file = self.root.join(name);
        self.write_file(&file, bytes)?;
        Ok(file)
    }

    fn write_file(&self, file: &Path, bytes: &[u8]) -> io::Result<()> {
        if let Some(folder) = file.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(file, bytes)
    }

    /// Writes a whole side of the repository, without symlinks. Returns the files that it could not
    /// write, each with the reason. The error is a sentence.
    pub(super) fn write_tree(
        &self,
        project: &dyn Project,
        side: Side,
    ) -> Result<Vec<(String, String)>, String> {
        let paths = project.paths(side)?;
        if paths.len() > TREE_FILES_MAX {
            return Err(format!("the repository has more than {TREE_FILES_MAX} files"));
        }
        let mut bytes_left = TREE_BYTES_MAX;
        let mut rejected_files = Vec::new();
        for path in paths {
            let Some(bytes) = project.file(side, path)? else { continue };
            bytes_left = bytes_left
                .checked_sub(bytes.len())
                .ok_or_else(|| format!("the repository has more than {TREE_BYTES_MAX} bytes"))?;
            let written = self.write(path, &bytes);
            rejected_files.extend(written.err().map(|why| (path.clone(), why.to_string())));
        }
        Ok(rejected_files)
    }

    /// Links `node_modules` folders of a checkout into the tree: that in the root, and those in all
    /// folders above these files. Skips a folder that the tree lacks or that already has
    /// `node_modules` there. Returns the link targets.
    pub(super) fn link_modules(
        &self,
        checkout: &Path,
        files: &[String],
    ) -> io::Result<Vec<PathBuf>> {
        let parent_folders = files.iter().flat_map(|file| Path::new(file).ancestors().skip(1));
        let mut folders: Vec<&Path> = parent_folders.chain([Path::new("")]).collect();
        folders.sort();
        folders.dedup();
        let mut link_targets = Vec::new();
        for folder in folders {
            let (from, to) = (checkout.join(folder).join(NODE_MODULES), self.tree().join(folder));
            let link = to.join(NODE_MODULES);
            let is_folder = fs::symlink_metadata(&from).is_ok_and(|it| it.is_dir());
            if is_folder && to.is_dir() && fs::symlink_metadata(&link).is_err() {
                files::symlink(&from, &link)?;
                link_targets.push(from);
            }
        }
        Ok(link_targets)
    }

    /// Converts a path that an analyser printed into a repository path.
    pub(super) fn repo_path(&self, printed: &str) -> String {
        let tree = self.tree();
        let path = Path::new(printed).strip_prefix(&tree).unwrap_or(Path::new(printed));
        let path = path.to_string_lossy();
        path.strip_prefix("./").unwrap_or(&path).to_owned()
    }
}

/// Removes a folder with arbitrary contents, even unreadable folders, and folders nested too deep
/// for recursion or for a path. Moves each folder up to the root before emptying it, so that paths
/// stay short.
fn remove(root: &Path) -> io::Result<()> {
    let mut pending_folders = vec![root.to_owned()];
    let mut number = 0_usize;
    while let Some(folder) = pending_folders.pop() {
        files::set_mode(&folder, files::PRIVATE_FOLDER)?;
        let mut is_empty = true;
        for entry in fs::read_dir(&folder)? {
            let entry = entry?;
            if !entry.file_type()?.is_dir() {
                fs::remove_file(entry.path())?;
                continue;
            }
            is_empty = false;
            if folder == root {
                pending_folders.push(entry.path());
                continue;
            }
            // A folder without write permission cannot be moved.
            files::set_mode(&entry.path(), files::PRIVATE_FOLDER)?;
            loop {
                number += 1;
                let moved_path = root.join(format!("{number}.moved"));
                if fs::symlink_metadata(&moved_path).is_err() {
                    fs::rename(entry.path(), &moved_path)?;
                    pending_folders.push(moved_path);
                    break;
                }
            }
        }
        if folder != root {
            fs::remove_dir(&folder)?;
        } else if !is_empty {
            // The root goes back to the bottom of the stack, to be removed after its folders.
            pending_folders.insert(0, folder);
        } else {
            fs::remove_dir(&folder)?;
        }
    }
    Ok(())
}
