//! Reads the repository's instructions for agents from git objects at one revision.

use std::collections::{BTreeMap, BTreeSet};

use crate::workspace::AgentFile;
use crh_git::{Objects, PathEntryKind, ReadError};
use crh_review::diff::RepoPath;

/// Instructions for the whole repository. The first existing file is the main one.
const MAIN_FILES: &[&str] = &["AGENTS.md", CLAUDE_FILE, ".cursorrules"];
/// File that is also read if another file is the main one and has a different text.
const CLAUDE_FILE: &str = "CLAUDE.md";
/// Path of the main instructions under `agent/`, the workspace's folder of instructions.
pub(crate) const MAIN_PLACE: &str = "AGENTS.md";
/// Names of files with instructions for the folder that contains them.
const NESTED_FILES: &[&str] = &["AGENTS.md", CLAUDE_FILE];
/// Instruction files of other tools, at fixed paths.
const SINGLE_FILES: &[&str] = &["REVIEW.md", ".github/copilot-instructions.md", ".clinerules"];
/// Instruction folders: path, destination under `agent/`, and file name suffixes.
const FOLDERS: &[(&str, &str, &[&str])] = &[
    (".cursor/rules", "rules", &[".md", ".mdc"]),
    (".clinerules", "rules", &[""]),
    (".crh/skills", "skills", &[".md"]),
];
/// Maximum size of an instruction file. A larger file would fill the prompt.
const FILE_MAX: u64 = 256 << 10;
/// Maximum number of instruction files. More files would also fill the prompt.
const FILES_MAX: usize = 200;
/// Why a symlink that leads to no file of the repository is left out.
pub(crate) const DANGLING: &str = "it is a symlink that does not lead to a file of the repository";
/// Maximum bytes of a symlink target, as on Linux.
const LINK_MAX: u64 = 4_096;

/// Instruction files, and notes about files that crh left out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AgentFiles {
    /// Files, sorted by path under `agent/`.
    pub files: Vec<AgentFile>,
    /// Notes about large files, surplus files, symlinks that lead to no file, and symlinks in place
    /// of instruction folders.
    pub notes: Vec<String>,
}

/// Reads the instructions for the whole repository and for the folders above the changed paths.
pub fn read_agent_files(
    objects: &Objects,
    revision: &str,
    changed: &[&RepoPath],
) -> Result<AgentFiles, ReadError> {
    let mut collector = InstructionCollector {
        tree: RevisionTree { objects, revision },
        files: BTreeMap::new(),
        notes: Vec::new(),
        surplus_count: 0,
    };
    for name in MAIN_FILES {
        if let InstructionEntry::LinkToNowhere = collector.tree.find_file(name.as_bytes())? {
            collector.note_left_out(name.as_bytes(), DANGLING);
        }
    }
    for RootFile { path, place } in collector.tree.root_files()? {
        collector.add(path.as_bytes(), place)?;
    }
    // Files that keep their full path come first. Otherwise a file with a shortened name could take
    // the place of one of them.
    let single = SINGLE_FILES.iter().map(|path| path.as_bytes().to_vec());
    for path in nested_paths(changed).into_iter().chain(single) {
        collector.add(&path, nested_file_place(&path))?;
    }
    for &(folder, under, endings) in FOLDERS {
        collector.add_folder(folder, under, endings)?;
    }
    if collector.surplus_count > 0 {
        let surplus_count = collector.surplus_count;
        collector.notes.push(format!(
            "{surplus_count} more instruction files are left out: crh reads at most {FILES_MAX}"
        ));
    }
    let files = collector.files.into_iter().map(|(place, bytes)| AgentFile { place, bytes });
    Ok(AgentFiles { files: files.collect(), notes: collector.notes })
}

/// An instruction file in the root of the repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RootFile {
    pub(crate) path: &'static str,
    /// Path under `agent/`.
    pub(crate) place: String,
}

/// The main instructions at a revision, and `CLAUDE.md` too if its text differs. Empty if crh
/// cannot read them.
pub(crate) fn root_files(objects: &Objects, revision: &str) -> Vec<RootFile> {
    RevisionTree { objects, revision }.root_files().unwrap_or_default()
}

/// Possible paths of instructions in the folders above the changed files, without the root.
pub(crate) fn nested_paths(changed: &[&RepoPath]) -> BTreeSet<Vec<u8>> {
    let mut folders = BTreeSet::new();
    for path in changed {
        let mut folder = path.as_bytes();
        while let Some(slash) = folder.iter().rposition(|byte| *byte == b'/') {
            folder = &folder[..slash];
            if !folders.insert(folder) {
                break;
            }
        }
    }
    let names = |folder: &&[u8]| {
        let name = |name: &&str| [folder, b"/".as_slice(), name.as_bytes()].concat();
        NESTED_FILES.iter().map(name).collect::<Vec<_>>()
    };
    folders.iter().flat_map(names).collect()
}

/// Path under `agent/` of an instruction file that keeps its path.
pub(crate) fn nested_file_place(path: &[u8]) -> String {
    place("rules", path)
}

fn place(under: &str, name: &[u8]) -> String {
    format!("{under}/{}", RepoPath::new(name).folder_name())
}

fn display_path(path: &[u8]) -> String {
    RepoPath::new(path).shown().into_owned()
}

struct InstructionCollector<'a> {
    tree: RevisionTree<'a>,
    files: BTreeMap<String, Vec<u8>>,
    notes: Vec<String>,
    surplus_count: usize,
}

impl InstructionCollector<'_> {
    /// Adds a file if it exists. If crh leaves the file out, adds a note or counts it as surplus.
    fn add(&mut self, path: &[u8], place: String) -> Result<(), ReadError> {
        let (target, size) = match self.tree.find_file(path)? {
            InstructionEntry::File { target, size } => (target, size),
            InstructionEntry::LinkToNowhere => {
                self.note_left_out(path, DANGLING);
                return Ok(());
            }
            InstructionEntry::Nothing => return Ok(()),
        };
        if size > FILE_MAX {
            self.note_left_out(path, &format!("it has {size} bytes, more than {FILE_MAX}"));
        } else if self.files.len() == FILES_MAX {
            self.surplus_count += 1;
        } else {
            let bytes = self.tree.objects.file(self.tree.revision, &target)?;
            self.files.insert(place, bytes);
        }
        Ok(())
    }

    /// Adds the files of a folder up to the limit, and counts the rest.
    fn add_folder(&mut self, folder: &str, under: &str, endings: &[&str]) -> Result<(), ReadError> {
        // A symlink whose name is also in `SINGLE_FILES` was already handled as a file.
        let is_link =
            self.tree.stat(folder.as_bytes())?.is_some_and(|(kind, _)| kind == PathEntryKind::Link);
        if is_link && !SINGLE_FILES.contains(&folder) {
            self.note_left_out(folder.as_bytes(), "it is a symlink, not a folder");
        }
        let mut paths = self.tree.files_below(folder)?;
        paths.retain(|path| endings.iter().any(|ending| path.ends_with(ending.as_bytes())));
        let remaining = FILES_MAX - self.files.len();
        self.surplus_count += paths.len().saturating_sub(remaining);
        paths.truncate(remaining);
        for path in paths {
            let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or(&path);
            let short_place = place(under, name);
            let is_taken = self.files.contains_key(&short_place);
            self.add(&path, if is_taken { place(under, &path) } else { short_place })?;
        }
        Ok(())
    }

    fn note_left_out(&mut self, path: &[u8], why: &str) {
        self.notes.push(format!("instruction file `{}` is left out: {why}", display_path(path)));
    }
}

pub(crate) enum InstructionEntry {
    /// A file, possibly behind a symlink.
    File { target: Vec<u8>, size: u64 },
    /// A symlink that does not lead to a file of the repository.
    LinkToNowhere,
    /// No entry, a folder or a submodule.
    Nothing,
}

/// A repository at one revision.
pub(crate) struct RevisionTree<'a> {
    pub(crate) objects: &'a Objects,
    pub(crate) revision: &'a str,
}

impl RevisionTree<'_> {
    /// The main instructions, and `CLAUDE.md` too if its text differs.
    fn root_files(&self) -> Result<Vec<RootFile>, ReadError> {
        let mut main_file: Option<(Vec<u8>, u64)> = None;
        let mut files = Vec::new();
        for name in MAIN_FILES {
            let InstructionEntry::File { target, size } = self.find_file(name.as_bytes())? else {
                continue;
            };
            let Some(main_file) = &main_file else {
                main_file = Some((target, size));
                files.push(RootFile { path: name, place: MAIN_PLACE.to_owned() });
                continue;
            };
            if *name == CLAUDE_FILE && !self.is_same_text(main_file, &(target, size))? {
                files.push(RootFile { path: name, place: nested_file_place(name.as_bytes()) });
            }
        }
        Ok(files)
    }

    /// Whether two files, each with its size, are one file or have the same contents. Files that
    /// are too large to use are not compared.
    fn is_same_text(&self, a: &(Vec<u8>, u64), b: &(Vec<u8>, u64)) -> Result<bool, ReadError> {
        let ((a_path, a_size), (b_path, b_size)) = (a, b);
        if a_path == b_path || a_size != b_size || *a_size > FILE_MAX {
            return Ok(a_path == b_path);
        }
        let text = |path: &[u8]| self.objects.file(self.revision, path);
        Ok(text(a_path)? == text(b_path)?)
    }

    /// Finds a file. Follows one symlink within the repository.
    pub(crate) fn find_file(&self, path: &[u8]) -> Result<InstructionEntry, ReadError> {
        match self.stat(path)? {
            Some((PathEntryKind::File | PathEntryKind::Executable, size)) => {
                Ok(InstructionEntry::File { target: path.to_vec(), size })
            }
            Some((PathEntryKind::Link, size)) if size <= LINK_MAX => {
                let text = self.objects.file(self.revision, path)?;
                let Some(target) = resolve_link(path, &text) else {
                    return Ok(InstructionEntry::LinkToNowhere);
                };
                match self.stat(&target)? {
                    Some((kind, size)) if kind.is_file() => {
                        Ok(InstructionEntry::File { target, size })
                    }
                    Some(_) | None => Ok(InstructionEntry::LinkToNowhere),
                }
            }
            Some((PathEntryKind::Link, _)) => Ok(InstructionEntry::LinkToNowhere),
            Some((PathEntryKind::Folder | PathEntryKind::Submodule, _)) | None => {
                Ok(InstructionEntry::Nothing)
            }
        }
    }

    /// Sorted paths of files and symlinks below a folder. Empty if the folder does not exist.
    pub(crate) fn files_below(&self, folder: &str) -> Result<Vec<Vec<u8>>, ReadError> {
        let mut paths = Vec::new();
        let mut folders = Vec::new();
        if let Some((PathEntryKind::Folder, _)) = self.stat(folder.as_bytes())? {
            folders.push(folder.as_bytes().to_vec());
        }
        while let Some(folder) = folders.pop() {
            for entry in self.objects.folder(self.revision, &folder)? {
                match entry.kind {
                    PathEntryKind::Folder => folders.push(entry.path),
                    PathEntryKind::File | PathEntryKind::Executable | PathEntryKind::Link => {
                        paths.push(entry.path);
                    }
                    // Submodules belong to another repository.
                    PathEntryKind::Submodule => {}
                }
            }
        }
        paths.sort();
        Ok(paths)
    }

    /// Kind and size of the entry at a path.
    pub(crate) fn stat(&self, path: &[u8]) -> Result<Option<(PathEntryKind, u64)>, ReadError> {
        match self.objects.stat(self.revision, path) {
            Ok((entry, size)) => Ok(Some((entry.kind, size))),
            // A changed path may be invalid in a tree, or below a path that is a file here.
            Err(ReadError::NoEntry(_) | ReadError::BadPath(_) | ReadError::OtherKind { .. }) => {
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }
}

/// Resolves a symlink to a path from the repository root. `None` if it leads outside, or can only
/// lead to a folder.
fn resolve_link(path: &[u8], target: &[u8]) -> Option<Vec<u8>> {
    if target.starts_with(b"/") || target.ends_with(b"/") {
        return None;
    }
    let mut parts: Vec<&[u8]> = path.split(|byte| *byte == b'/').collect();
    parts.pop();
    for part in target.split(|byte| *byte == b'/') {
        match part {
            b"" | b"." => {}
            b".." => drop(parts.pop()?),
            name => parts.push(name),
        }
    }
    Some(parts.join(&b'/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symlinks_resolve_only_inside_the_repository() {
        let check = |path: &str, target: &str, expected: Option<&str>| {
            let actual = resolve_link(path.as_bytes(), target.as_bytes());
            assert_eq!(actual.as_deref(), expected.map(str::as_bytes), "{path} {target}");
        };
        check("CLAUDE.md", "AGENTS.md", Some("AGENTS.md"));
        check("web/CLAUDE.md", "../AGENTS.md", Some("AGENTS.md"));
        check("CLAUDE.md", "../outside", None);
        check("CLAUDE.md", "/etc/passwd", None);
        check("CLAUDE.md", "docs//AGENTS.md", Some("docs/AGENTS.md"));
        check("CLAUDE.md", "docs/AGENTS.md/", None);
    }
}
