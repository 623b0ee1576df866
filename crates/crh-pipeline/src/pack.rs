//! A change in one file: its workspace and a git bundle with everything that the tools read, so that it can be
//! reviewed where there is no repository and no token. The same change gives the same bytes.

use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::symlink;
use std::path::{Component, Path, PathBuf};
use std::{fmt, fs, io};

use tempfile::TempDir;

use crate::dismissed::SaidNo;
use crate::since::Last;
use crate::workspace;
use crate::workspace::{Contents, Workspace, WorkspaceError};
use crh_git::{Bare, BundleError};
use crh_review::identity::is_commit;
use crh_review::stable_json;

/// Where the workspace is in the archive.
const WORKSPACE: &str = "workspace";
/// Where the git bundle is. A change that is only a diff has none.
const BUNDLE: &str = "objects.bundle";
/// Where what is known about the last review is, if that was asked for.
const LAST: &str = "last.json";
/// Where the issues are that were dismissed. Only what is proposed at a forge has it, and then always.
const DISMISSED: &str = "dismissed.json";
/// Where the settings of the branch are that the change is proposed to.
const SETTINGS: &str = "crh.toml";
/// Where the baseline of that branch is.
const BASELINE: &str = "baseline.json";
/// Where the name of the tip of that branch is: its attributes are among the objects.
const TIP: &str = "tip";
/// What one of these has at the most: as much as a baseline may have.
const BESIDE_MAX: u64 = 64 << 20;
/// How every archive begins: with the folder of the workspace.
const BEGINNING: &[u8] = b"workspace\0";
/// The one link of a workspace.
const LATEST: &str = "workspace/preview-diffs/latest";
/// Every archive ends with as many bytes of zero. Where they are missing, it was cut off.
const END_LEN: usize = 1024;
/// An archive with more entries than this was not made by crh: a diff of 100,000 files has 300,000.
const ENTRIES_MAX: usize = 2_000_000;

/// What goes into an archive besides the workspace.
#[derive(Debug, Clone, Default)]
pub struct Besides {
    /// The objects of the change, as a git bundle; none of a mere diff.
    pub bundle: Option<Vec<u8>>,
    /// What is known about the last review of its pull request, if only what changed since is to be reviewed.
    pub last: Option<Last>,
    /// What those say who decide about the repository; none of what is not proposed at a forge.
    pub decided: Option<Decided>,
}

/// What those who decide about a repository say about reviews of what is proposed to it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Decided {
    /// The issues that somebody said no to, and who that was.
    pub dismissed: Vec<SaidNo>,
    /// The settings of the branch that the change is proposed to.
    pub settings: Option<Vec<u8>>,
    /// The baseline of that branch.
    pub baseline: Option<Vec<u8>>,
    /// The tip of that branch, whose attributes say which files are reviewed.
    pub tip: Option<String>,
}

/// A change that was packed, laid out in a folder that is gone when this is.
#[derive(Debug)]
pub struct Packed {
    folder: TempDir,
    has_objects: bool,
}

/// Why an archive could not be written or opened.
#[derive(Debug, thiserror::Error)]
pub enum PackError {
    /// A file could not be read or written.
    #[error("{doing} `{path}`", path = path.display())]
    Io {
        /// What was being done.
        doing: Doing,
        /// With which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It is not an archive of ours.
    #[error("`{file}` is not a packed change: {reason}", file = file.display())]
    NotOurs {
        /// The file.
        file: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// Its workspace is not one.
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
    /// Its objects cannot be packed or unpacked.
    #[error(transparent)]
    Bundle(#[from] BundleError),
}

/// What was being done when a file could not be read or written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Doing {
    /// Reading the workspace that is packed.
    ReadingWorkspace,
    /// Writing the archive.
    WritingArchive,
    /// Reading the archive.
    ReadingArchive,
    /// Making a temporary folder, or using it.
    LayingOut,
}

impl fmt::Display for Doing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ReadingWorkspace => "reading the workspace",
            Self::WritingArchive => "writing the packed change",
            Self::ReadingArchive => "reading the packed change",
            Self::LayingOut => "using a temporary folder for the packed change",
        })
    }
}

impl Doing {
    /// Turns what the system says into an error about a file.
    fn with(self, path: &Path) -> impl Fn(io::Error) -> PackError {
        move |source| PackError::Io { doing: self, path: path.to_owned(), source }
    }
}

/// Packs a workspace that was written, and the objects of its change if there are any, into a file.
///
/// The file is put in its place when it is whole.
pub fn pack(workspace: &Path, besides: &Besides, file: &Path) -> Result<(), PackError> {
    let file = &replaceable(file)?;
    let writing = Doing::WritingArchive.with(file);
    let parent = file.parent().filter(|parent| !parent.as_os_str().is_empty());
    let parent = parent.unwrap_or(Path::new("."));
    fs::create_dir_all(parent).map_err(&writing)?;
    let new = tempfile::NamedTempFile::new_in(parent).map_err(&writing)?;
    let mut archive = tar::Builder::new(BufWriter::new(new));
    append_folder(&mut archive, file, workspace, Path::new(WORKSPACE))?;
    let Besides { bundle, last, decided } = besides;
    let last = last.as_ref().map(stable_json).transpose();
    let last = last.map_err(|error| writing(error.into()))?.map(String::into_bytes);
    let dismissed = decided.as_ref().map(|decided| stable_json(&decided.dismissed)).transpose();
    let dismissed = dismissed.map_err(|error| writing(error.into()))?.map(String::into_bytes);
    let decided = decided.as_ref();
    let tip = decided.and_then(|decided| decided.tip.clone()).map(String::into_bytes);
    for (name, bytes) in [
        (LAST, last.as_ref()),
        (DISMISSED, dismissed.as_ref()),
        (SETTINGS, decided.and_then(|decided| decided.settings.as_ref())),
        (BASELINE, decided.and_then(|decided| decided.baseline.as_ref())),
        (TIP, tip.as_ref()),
        (BUNDLE, bundle.as_ref()),
    ] {
        let Some(bytes) = bytes else { continue };
        let mut header = header(tar::EntryType::Regular, bytes.len() as u64);
        archive.append_data(&mut header, name, bytes.as_slice()).map_err(&writing)?;
    }
    let writer = archive.into_inner().map_err(&writing)?;
    let new = writer.into_inner().map_err(|error| writing(error.into_error()))?;
    readable_by_others(new.as_file()).map_err(&writing)?;
    new.persist(file).map_err(|error| writing(error.error))?;
    Ok(())
}

/// The file that a name stands for, if it may be replaced: only another packed change may.
fn replaceable(file: &Path) -> Result<PathBuf, PackError> {
    let Ok(there) = fs::canonicalize(file) else {
        // Nothing is there, or a link that leads nowhere: it is replaced itself.
        return Ok(file.to_owned());
    };
    let begins = |file: &Path| -> io::Result<bool> {
        let mut bytes = Vec::new();
        File::open(file)?.take(BEGINNING.len() as u64).read_to_end(&mut bytes)?;
        Ok(bytes == BEGINNING)
    };
    if there.is_file() && begins(&there).unwrap_or(false) {
        return Ok(there);
    }
    let reason = "it is there already, and is something else".to_owned();
    Err(PackError::NotOurs { file: there, reason })
}

/// Packs a change without leaving its workspace anywhere.
pub fn pack_contents(contents: &Contents, besides: &Besides, file: &Path) -> Result<(), PackError> {
    let folder = temporary(file)?;
    let workspace = folder.path().join(WORKSPACE);
    workspace::write(contents, &workspace)?;
    pack(&workspace, besides, file)
}

fn temporary(file: &Path) -> Result<TempDir, PackError> {
    TempDir::new().map_err(Doing::LayingOut.with(file))
}

/// Appends a folder and all that is in it, sorted by name, to the archive that becomes `file`.
fn append_folder(
    archive: &mut tar::Builder<impl Write>,
    file: &Path,
    folder: &Path,
    name: &Path,
) -> Result<(), PackError> {
    let writing = Doing::WritingArchive.with(file);
    let mut entry = header(tar::EntryType::Directory, 0);
    archive.append_data(&mut entry, name, io::empty()).map_err(&writing)?;
    let entries = fs::read_dir(folder).and_then(Iterator::collect::<io::Result<Vec<_>>>);
    let mut entries = entries.map_err(Doing::ReadingWorkspace.with(folder))?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let (path, name) = (entry.path(), name.join(entry.file_name()));
        let reading = Doing::ReadingWorkspace.with(&path);
        let kind = entry.file_type().map_err(&reading)?;
        if kind.is_dir() {
            append_folder(archive, file, &path, &name)?;
        } else if kind.is_symlink() {
            let target = fs::read_link(&path).map_err(&reading)?;
            let mut header = header(tar::EntryType::Symlink, 0);
            archive.append_link(&mut header, &name, target).map_err(&writing)?;
        } else {
            let bytes = fs::read(&path).map_err(&reading)?;
            let mut header = header(tar::EntryType::Regular, bytes.len() as u64);
            archive.append_data(&mut header, &name, bytes.as_slice()).map_err(&writing)?;
        }
    }
    Ok(())
}

/// A header that says nothing about who wrote the entry, and when.
fn header(kind: tar::EntryType, size: u64) -> tar::Header {
    let mut header = tar::Header::new_gnu();
    header.set_entry_type(kind);
    header.set_size(size);
    header.set_mode(if kind == tar::EntryType::Regular { 0o644 } else { 0o755 });
    header.set_mtime(0);
    header.set_uid(0);
    header.set_gid(0);
    header
}

/// A temporary file is its owner's alone; a packed change is handed on.
fn readable_by_others(file: &File) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    file.set_permissions(fs::Permissions::from_mode(0o644))
}

impl Packed {
    /// Opens a packed change.
    pub fn open(file: &Path) -> Result<Self, PackError> {
        let folder = temporary(file)?;
        let archive = File::open(file).map_err(Doing::ReadingArchive.with(file))?;
        let laid_out =
            is_whole(&archive).and_then(|()| lay_out(BufReader::new(archive), folder.path()));
        laid_out.map_err(|reason| PackError::NotOurs {
            file: file.to_owned(),
            reason: reason.to_string(),
        })?;
        let bundle = folder.path().join(BUNDLE);
        let has_objects = bundle.exists();
        if has_objects {
            let objects = folder.path().join("objects");
            fs::create_dir(&objects).map_err(Doing::LayingOut.with(file))?;
            let bytes = fs::read(&bundle).map_err(Doing::LayingOut.with(file))?;
            crh_git::unbundle(&bytes, &objects)?;
        }
        let packed = Self { folder, has_objects };
        let is_of_commits = |workspace: Workspace| {
            let round = workspace.latest();
            round.is_some_and(|round| round.base_rev.is_some() && round.head_rev.is_some())
        };
        // Without them it would look like a diff alone, about which less can be found.
        if !has_objects && packed.workspace().is_ok_and(is_of_commits) {
            let reason = "it has no objects".to_owned();
            return Err(PackError::NotOurs { file: file.to_owned(), reason });
        }
        Ok(packed)
    }

    /// Its workspace.
    pub fn workspace(&self) -> Result<Workspace, WorkspaceError> {
        Workspace::open(&self.folder.path().join(WORKSPACE))
    }

    /// What is known about the last review; none if everything is to be reviewed.
    pub fn last(&self) -> Result<Option<Last>, PackError> {
        let Some(bytes) = self.beside(LAST)? else { return Ok(None) };
        let last = serde_json::from_slice(&bytes);
        last.map(Some).map_err(|_| not_ours(LAST, "it does not say what was reviewed before"))
    }

    /// What those say who decide about the repository; none if the change is not proposed at a forge.
    pub fn decided(&self) -> Result<Option<Decided>, PackError> {
        let Some(dismissed) = self.beside(DISMISSED)? else { return Ok(None) };
        let dismissed = serde_json::from_slice(&dismissed)
            .map_err(|_| not_ours(DISMISSED, "it does not say what was dismissed"))?;
        let (settings, baseline) = (self.beside(SETTINGS)?, self.beside(BASELINE)?);
        let tip = self.beside(TIP)?.map(String::from_utf8).transpose();
        let tip = tip.ok().filter(|tip| tip.as_deref().is_none_or(is_commit));
        let tip = tip.ok_or_else(|| not_ours(TIP, "it is not the name of a commit"))?;
        Ok(Some(Decided { dismissed, settings, baseline, tip }))
    }

    /// A file beside the workspace; none if there is none.
    fn beside(&self, name: &str) -> Result<Option<Vec<u8>>, PackError> {
        let path = self.folder.path().join(name);
        match fs::metadata(&path) {
            Ok(facts) if facts.len() > BESIDE_MAX => Err(not_ours(name, "it is too large")),
            Ok(_) => fs::read(&path).map(Some).map_err(Doing::LayingOut.with(&path)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Doing::LayingOut.with(&path)(error)),
        }
    }

    /// Its objects; none if it is only a diff.
    pub fn objects(&self) -> Option<Bare> {
        self.has_objects.then(|| Bare::new(&self.folder.path().join("objects")))
    }
}

/// Says that a part of an archive is none of ours.
fn not_ours(name: &str, reason: &str) -> PackError {
    PackError::NotOurs { file: PathBuf::from(name), reason: reason.to_owned() }
}

/// Looks whether an archive goes on to its end: one that was cut between two entries looks like a smaller change.
fn is_whole(mut archive: &File) -> io::Result<()> {
    let cut = || io::Error::other("it is empty, or its end is missing");
    let mut end = [1; END_LEN];
    let length = archive.seek(SeekFrom::End(0))?;
    archive.seek(SeekFrom::Start(length.checked_sub(END_LEN as u64).ok_or_else(cut)?))?;
    archive.read_exact(&mut end)?;
    archive.rewind()?;
    if end == [0; END_LEN] { Ok(()) } else { Err(cut()) }
}

/// Lays the entries of an archive out in a folder. Only what crh writes is taken: whatever else is in the archive
/// makes it none of ours.
fn lay_out(archive: impl Read, folder: &Path) -> io::Result<()> {
    let mut archive = tar::Archive::new(archive);
    let mut count = 0;
    for entry in archive.entries()? {
        // What the library says quotes the bytes it could not read, whatever they are.
        let mut entry = entry.map_err(|_| io::Error::other("it is no tar archive, or damaged"))?;
        count += 1;
        let name = entry.path()?.into_owned();
        let refused = |why: &str| io::Error::other(format!("{why} `{}`", name.display()));
        let plain = name.components().all(|part| matches!(part, Component::Normal(_)));
        let beside = [BUNDLE, LAST, DISMISSED, SETTINGS, BASELINE, TIP].map(Path::new);
        let ours = beside.contains(&name.as_path()) || name.starts_with(WORKSPACE);
        if !plain || !ours || count > ENTRIES_MAX {
            return Err(refused("it has an entry"));
        }
        let path = folder.join(&name);
        match entry.header().entry_type() {
            tar::EntryType::Directory => fs::create_dir(&path)?,
            tar::EntryType::Regular => {
                io::copy(&mut entry, &mut File::create_new(&path)?)?;
            }
            tar::EntryType::Symlink if name == Path::new(LATEST) => {
                let target = entry.link_name()?.ok_or_else(|| refused("it has a link"))?;
                let mut parts = target.components();
                match (parts.next(), parts.next()) {
                    (Some(Component::Normal(_)), None) => symlink(&target, &path)?,
                    _ => return Err(refused("it has a link that leads out of it,")),
                }
            }
            _ => return Err(refused("it has an entry")),
        }
    }
    if count == 0 {
        return Err(io::Error::other("nothing is in it"));
    }
    Ok(())
}
