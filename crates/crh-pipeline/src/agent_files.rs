//! The repository's instructions for agents, read from git objects at one revision.

use std::collections::{BTreeMap, BTreeSet};

use crate::workspace::AgentFile;
use crh_git::{Kind, Objects, ReadError};
use crh_review::diff::RepoPath;

/// The first of these is the one for the whole repository.
const MAIN_FILES: &[&str] = &["AGENTS.md", "CLAUDE.md", ".cursorrules"];
/// Where that one goes, under `agent/`.
pub(crate) const MAIN_PLACE: &str = "AGENTS.md";
/// These hold for the folder they lie in.
const NESTED_FILES: &[&str] = &["AGENTS.md", "CLAUDE.md"];
/// Single files that other tools read.
const SINGLE_FILES: &[&str] = &["REVIEW.md", ".github/copilot-instructions.md", ".clinerules"];
/// Folders of instructions: where they are, where they go, and how the names of files in them end.
const FOLDERS: &[(&str, &str, &[&str])] = &[
    (".cursor/rules", "rules", &[".md", ".mdc"]),
    (".clinerules", "rules", &[""]),
    (".crh/skills", "skills", &[".md"]),
];
/// A file of instructions that is larger than this would crowd the change itself out of a prompt.
const FILE_MAX: u64 = 256 << 10;
/// So would more files than this.
const FILES_MAX: usize = 200;
/// Where a link leads is a path, and no system takes a longer one.
const LINK_MAX: u64 = 4_096;

/// What was found, and what was left out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AgentFiles {
    /// The files, by their place under `agent/`.
    pub files: Vec<AgentFile>,
    /// Sentences about files that are too large or too many, and links that lead nowhere.
    pub notes: Vec<String>,
}

/// Reads the instructions that hold for some changed paths.
pub fn agent_files(
    objects: &Objects,
    revision: &str,
    changed: &[&RepoPath],
) -> Result<AgentFiles, ReadError> {
    let mut found = Found {
        tree: Tree { objects, revision },
        places: BTreeMap::new(),
        notes: Vec::new(),
        more: 0,
    };
    for name in MAIN_FILES {
        if found.add(name.as_bytes(), MAIN_PLACE.to_owned())? {
            break;
        }
    }
    // First those that keep their whole path as a name, so that no shorter name can take it from them.
    let single = SINGLE_FILES.iter().map(|path| path.as_bytes().to_vec());
    for path in nested(changed).into_iter().chain(single) {
        found.add(&path, nested_place(&path))?;
    }
    for &(folder, under, endings) in FOLDERS {
        found.add_folder(folder, under, endings)?;
    }
    if found.more > 0 {
        let more = found.more;
        found.notes.push(format!(
            "{more} more files of instructions are left out: at most {FILES_MAX} are looked at"
        ));
    }
    let files = found.places.into_iter().map(|(place, bytes)| AgentFile { place, bytes });
    Ok(AgentFiles { files: files.collect(), notes: found.notes })
}

/// Where the file for the whole repository lies at a revision; none if there is none.
pub(crate) fn main_path(objects: &Objects, revision: &str) -> Option<String> {
    let tree = Tree { objects, revision };
    let is_there = |name: &&&str| matches!(tree.file(name.as_bytes()), Ok(Looked::File { .. }));
    MAIN_FILES.iter().find(is_there).map(|name| (*name).to_owned())
}

/// Where instructions for the folders above changed files would be, but for the root.
pub(crate) fn nested(changed: &[&RepoPath]) -> BTreeSet<Vec<u8>> {
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

/// Where a file of instructions that keeps its path goes, under `agent/`.
pub(crate) fn nested_place(path: &[u8]) -> String {
    place("rules", path)
}

/// The place of a file under `agent/`.
fn place(under: &str, name: &[u8]) -> String {
    format!("{under}/{}", RepoPath::new(name).safe())
}

fn shown(path: &[u8]) -> String {
    RepoPath::new(path).shown().into_owned()
}

/// What was found so far.
struct Found<'a> {
    tree: Tree<'a>,
    places: BTreeMap<String, Vec<u8>>,
    notes: Vec<String>,
    /// How many files were not looked at.
    more: usize,
}

impl Found<'_> {
    /// Puts a file in its place, or says why not. Whether there is one that means something here.
    fn add(&mut self, path: &[u8], place: String) -> Result<bool, ReadError> {
        let (target, size) = match self.tree.file(path)? {
            Looked::File { target, size } => (target, size),
            Looked::LinkToNowhere => {
                self.leave_out(path, "it is a link that leads to no file of the repository");
                return Ok(false);
            }
            Looked::Nothing => return Ok(false),
        };
        if size > FILE_MAX {
            self.leave_out(path, &format!("it has {size} bytes, more than {FILE_MAX}"));
        } else if self.places.len() == FILES_MAX {
            self.more += 1;
        } else {
            let bytes = self.tree.objects.file(self.tree.revision, &target)?;
            self.places.insert(place, bytes);
        }
        Ok(true)
    }

    /// Adds the files of a folder, as far as there is room: those beyond are counted and not looked at.
    fn add_folder(&mut self, folder: &str, under: &str, endings: &[&str]) -> Result<(), ReadError> {
        // A link that may stand for a file was looked at as one.
        let is_link =
            self.tree.stat(folder.as_bytes())?.is_some_and(|(kind, _)| kind == Kind::Link);
        if is_link && !SINGLE_FILES.contains(&folder) {
            self.leave_out(folder.as_bytes(), "it is a link, not a folder");
        }
        let mut paths = self.tree.below(folder)?;
        paths.retain(|path| endings.iter().any(|ending| path.ends_with(ending.as_bytes())));
        let room = FILES_MAX - self.places.len();
        self.more += paths.len().saturating_sub(room);
        paths.truncate(room);
        for path in paths {
            let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or(&path);
            let short = place(under, name);
            let is_taken = self.places.contains_key(&short);
            self.add(&path, if is_taken { place(under, &path) } else { short })?;
        }
        Ok(())
    }

    fn leave_out(&mut self, path: &[u8], why: &str) {
        self.notes.push(format!("`{}` is left out of the instructions: {why}", shown(path)));
    }
}

/// What stands where instructions are looked for.
enum Looked {
    /// A file, maybe behind a link: where it is, and how large.
    File { target: Vec<u8>, size: u64 },
    /// A link to something else, or out of the repository.
    LinkToNowhere,
    /// Nothing, or something that is no file.
    Nothing,
}

/// One revision of the repository.
pub(crate) struct Tree<'a> {
    pub(crate) objects: &'a Objects,
    pub(crate) revision: &'a str,
}

impl Tree<'_> {
    /// Looks for a file, also behind one link that stays inside the repository.
    fn file(&self, path: &[u8]) -> Result<Looked, ReadError> {
        match self.stat(path)? {
            Some((Kind::File | Kind::Executable, size)) => {
                Ok(Looked::File { target: path.to_vec(), size })
            }
            Some((Kind::Link, size)) if size <= LINK_MAX => {
                let text = self.objects.file(self.revision, path)?;
                let Some(target) = linked(path, &text) else { return Ok(Looked::LinkToNowhere) };
                match self.stat(&target)? {
                    Some((kind, size)) if kind.is_file() => Ok(Looked::File { target, size }),
                    Some(_) | None => Ok(Looked::LinkToNowhere),
                }
            }
            Some((Kind::Link, _)) => Ok(Looked::LinkToNowhere),
            Some((Kind::Folder | Kind::Submodule, _)) | None => Ok(Looked::Nothing),
        }
    }

    /// Paths of files and links below a folder, sorted; none if there is no such folder. Nothing of them is read.
    pub(crate) fn below(&self, folder: &str) -> Result<Vec<Vec<u8>>, ReadError> {
        let mut paths = Vec::new();
        let mut folders = Vec::new();
        if let Some((Kind::Folder, _)) = self.stat(folder.as_bytes())? {
            folders.push(folder.as_bytes().to_vec());
        }
        while let Some(folder) = folders.pop() {
            for entry in self.objects.folder(self.revision, &folder)? {
                match entry.kind {
                    Kind::Folder => folders.push(entry.path),
                    Kind::File | Kind::Executable | Kind::Link => paths.push(entry.path),
                    // What is in it belongs to another repository.
                    Kind::Submodule => {}
                }
            }
        }
        paths.sort();
        Ok(paths)
    }

    /// What stands at a path, and its size.
    pub(crate) fn stat(&self, path: &[u8]) -> Result<Option<(Kind, u64)>, ReadError> {
        match self.objects.stat(self.revision, path) {
            Ok((entry, size)) => Ok(Some((entry.kind, size))),
            // A changed path may be one that no tree can hold, or lie under what is a file here.
            Err(ReadError::NoEntry(_) | ReadError::BadPath(_) | ReadError::OtherKind { .. }) => {
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }
}

/// Where a link leads, from the root of the repository; none if it leads out of it.
fn linked(path: &[u8], target: &[u8]) -> Option<Vec<u8>> {
    let mut parts: Vec<&[u8]> = path.split(|byte| *byte == b'/').collect();
    parts.pop();
    for part in target.split(|byte| *byte == b'/') {
        match part {
            b"." => {}
            // The first part of an absolute path is empty.
            b"" => return None,
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
    fn a_link_is_followed_inside_the_repository_and_nowhere_else() {
        let check = |path: &str, target: &str, expected: Option<&str>| {
            let found = linked(path.as_bytes(), target.as_bytes());
            assert_eq!(found.as_deref(), expected.map(str::as_bytes), "{path} {target}");
        };
        check("CLAUDE.md", "AGENTS.md", Some("AGENTS.md"));
        check("web/CLAUDE.md", "../AGENTS.md", Some("AGENTS.md"));
        check("CLAUDE.md", "../outside", None);
        check("CLAUDE.md", "/etc/passwd", None);
    }
}
