//! Packs a change into one file: its workspace and a git bundle with all objects that the tools
//! read. The file can be reviewed without the repository and without a token. Output is
//! deterministic.

use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Component, Path, PathBuf};
use std::{fmt, fs, io};

use tempfile::TempDir;

use crate::dismissals::ForgeDismissal;
use crate::incremental::PreviousReviewLookup;
use crate::workspace;
use crate::workspace::{Workspace, WorkspaceContents, WorkspaceError};
use crh_git::{BareRepository, BundleError};
use crh_os::files::{create_name_link, is_name_link, read_name_link, set_mode_of};
use crh_os::names::canonical;
use crh_review::identity::is_commit_id;
use crh_review::stable_json;

/// Folder of the workspace in the archive.
const WORKSPACE: &str = "workspace";
/// Git bundle. Absent if the change is only a diff.
const BUNDLE: &str = "objects.bundle";
/// Data about the previous review, for incremental reviews.
const PREVIOUS_REVIEW: &str = "last.json";
/// Dismissed issues. Present exactly if the change is proposed at a forge.
const DISMISSED: &str = "dismissed.json";
/// Settings of the target branch.
const SETTINGS: &str = "crh.toml";
/// Baseline of the target branch.
const BASELINE: &str = "baseline.json";
/// Lessons of the target branch.
const LESSONS: &str = "lessons.toml";
/// Id of the commit at the tip of the target branch. Its `.gitattributes` are among the objects.
const TIP: &str = "tip";
/// Maximum size of each file next to the workspace, except the bundle. Baselines are the largest of
/// these files.
const EXTRA_FILE_MAX: u64 = 64 << 20;
/// First bytes of every archive: the name of the workspace folder, which is the first entry.
const ARCHIVE_PREFIX: &[u8] = b"workspace\0";
/// The only symlink that `unpack` accepts.
const LATEST: &str = "workspace/preview-diffs/latest";
/// A tar archive ends with this many zero bytes. If they are missing, it was truncated.
const END_LEN: usize = 1024;
/// Maximum number of entries. The archive of a change with 100,000 files has 300,000 entries.
const ENTRIES_MAX: usize = 2_000_000;

/// Archive contents besides the workspace.
#[derive(Debug, Clone, Default)]
pub struct PackExtras {
    /// Git bundle with the objects of the change. `None` for a diff.
    pub bundle: Option<Vec<u8>>,
    /// Previous review of the pull request, for an incremental review.
    pub previous_review: Option<PreviousReviewLookup>,
    /// Policy of the target branch. `None` if the change is not proposed at a forge.
    pub policy: Option<BranchPolicy>,
}

/// Review policy of the repository's maintainers. Authors of a change cannot influence it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BranchPolicy {
    /// Issues that maintainers dismissed at the forge.
    pub dismissed: Vec<ForgeDismissal>,
    /// Settings file of the target branch.
    pub settings: Option<Vec<u8>>,
    /// Baseline file of the target branch.
    pub baseline: Option<Vec<u8>>,
    /// Lessons file of the target branch.
    pub lessons: Option<Vec<u8>>,
    /// Tip of the target branch. Its attributes mark files as generated or vendored.
    pub tip: Option<String>,
}

/// An unpacked change. Its temporary folder is deleted on drop.
#[derive(Debug)]
pub struct PackedChange {
    folder: TempDir,
    has_objects: bool,
}

/// Why an archive could not be written or opened.
#[derive(Debug, thiserror::Error)]
pub enum PackError {
    /// Reading or writing a file failed.
    #[error("{doing} `{path}`", path = path.display())]
    Io {
        /// Step that failed.
        doing: PackStep,
        /// File or folder.
        path: PathBuf,
        /// Error from the operating system.
        source: io::Error,
    },
    /// The file is not a packed change.
    #[error("`{file}` is not an archive of `crh prepare --pack`: {reason}", file = file.display())]
    Invalid {
        /// File or entry.
        file: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The workspace is invalid.
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
    /// The git bundle cannot be written or read.
    #[error(transparent)]
    Bundle(#[from] BundleError),
}

/// Step that an I/O error interrupted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PackStep {
    /// Reading the workspace to pack.
    ReadingWorkspace,
    /// Writing the archive.
    WritingArchive,
    /// Reading the archive.
    ReadingArchive,
    /// Creating or using the temporary folder.
    Unpacking,
}

impl fmt::Display for PackStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ReadingWorkspace => "cannot read the workspace",
            Self::WritingArchive => "cannot write the archive",
            Self::ReadingArchive => "cannot read the archive",
            Self::Unpacking => "cannot unpack the archive to a temporary folder",
        })
    }
}

impl PackStep {
    /// Returns a function that wraps an I/O error.
    fn error_for(self, path: &Path) -> impl Fn(io::Error) -> PackError {
        move |source| PackError::Io { doing: self, path: path.to_owned(), source }
    }
}

/// Packs a workspace and its extras into a file. Replaces the file atomically.
pub fn pack(workspace: &Path, extras: &PackExtras, file: &Path) -> Result<(), PackError> {
    let file = &replaceable_file(file)?;
    let writing = PackStep::WritingArchive.error_for(file);
    let parent = file.parent().filter(|parent| !parent.as_os_str().is_empty());
    let parent = parent.unwrap_or(Path::new("."));
    // Checked here, since the next error would name a temporary file.
    fs::metadata(parent).map_err(&writing)?;
    let temp_file = tempfile::NamedTempFile::new_in(parent).map_err(&writing)?;
    let mut archive = tar::Builder::new(BufWriter::new(temp_file));
    append_folder(&mut archive, file, workspace, Path::new(WORKSPACE))?;
    let PackExtras { bundle, previous_review, policy } = extras;
    let previous_review = previous_review.as_ref().map(stable_json).transpose();
    let previous_review =
        previous_review.map_err(|error| writing(error.into()))?.map(String::into_bytes);
    let dismissed = policy.as_ref().map(|policy| stable_json(&policy.dismissed)).transpose();
    let dismissed = dismissed.map_err(|error| writing(error.into()))?.map(String::into_bytes);
    let policy = policy.as_ref();
    let tip = policy.and_then(|policy| policy.tip.clone()).map(String::into_bytes);
    for (name, bytes) in [
        (PREVIOUS_REVIEW, previous_review.as_ref()),
        (DISMISSED, dismissed.as_ref()),
        (SETTINGS, policy.and_then(|policy| policy.settings.as_ref())),
        (BASELINE, policy.and_then(|policy| policy.baseline.as_ref())),
        (LESSONS, policy.and_then(|policy| policy.lessons.as_ref())),
        (TIP, tip.as_ref()),
        (BUNDLE, bundle.as_ref()),
    ] {
        let Some(bytes) = bytes else { continue };
        let mut header = header(tar::EntryType::Regular, bytes.len() as u64);
        archive.append_data(&mut header, name, bytes.as_slice()).map_err(&writing)?;
    }
    let writer = archive.into_inner().map_err(&writing)?;
    let temp_file = writer.into_inner().map_err(|error| writing(error.into_error()))?;
    make_world_readable(temp_file.as_file()).map_err(&writing)?;
    temp_file.persist(file).map_err(|error| writing(error.error))?;
    Ok(())
}

/// Resolves the path to write. Only another packed change may be overwritten.
fn replaceable_file(file: &Path) -> Result<PathBuf, PackError> {
    let Ok(existing) = canonical(file) else {
        // The file does not exist, or is a dangling link, which is replaced.
        return Ok(file.to_owned());
    };
    let is_packed_change = |file: &Path| -> io::Result<bool> {
        let mut bytes = Vec::new();
        File::open(file)?.take(ARCHIVE_PREFIX.len() as u64).read_to_end(&mut bytes)?;
        Ok(bytes == ARCHIVE_PREFIX)
    };
    if existing.is_file() && is_packed_change(&existing).unwrap_or(false) {
        return Ok(existing);
    }
    let reason = "the file exists, and crh does not overwrite it".to_owned();
    Err(PackError::Invalid { file: existing, reason })
}

/// Packs a change whose workspace is not on disk. Writes the workspace to a temporary folder.
pub fn pack_contents(
    contents: &WorkspaceContents,
    extras: &PackExtras,
    file: &Path,
) -> Result<(), PackError> {
    let folder = temp_folder(file)?;
    let workspace = folder.path().join(WORKSPACE);
    workspace::write_workspace(contents, &workspace)?;
    pack(&workspace, extras, file)
}

fn temp_folder(file: &Path) -> Result<TempDir, PackError> {
    TempDir::new().map_err(PackStep::Unpacking.error_for(file))
}

/// Appends a folder recursively, sorted by name. `file` is the archive, for error messages.
fn append_folder(
    archive: &mut tar::Builder<impl Write>,
    file: &Path,
    folder: &Path,
    name: &Path,
) -> Result<(), PackError> {
    let writing = PackStep::WritingArchive.error_for(file);
    let mut entry = header(tar::EntryType::Directory, 0);
    archive.append_data(&mut entry, name, io::empty()).map_err(&writing)?;
    let entries = fs::read_dir(folder).and_then(Iterator::collect::<io::Result<Vec<_>>>);
    let mut entries = entries.map_err(PackStep::ReadingWorkspace.error_for(folder))?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let (path, name) = (entry.path(), name.join(entry.file_name()));
        let reading = PackStep::ReadingWorkspace.error_for(&path);
        let kind = entry.file_type().map_err(&reading)?;
        if kind.is_dir() {
            append_folder(archive, file, &path, &name)?;
        } else if name == Path::new(LATEST) && is_name_link(kind) {
            let target = read_name_link(&path).map_err(&reading)?;
            let mut header = header(tar::EntryType::Symlink, 0);
            archive.append_link(&mut header, &name, target).map_err(&writing)?;
        } else if kind.is_symlink() {
            // The target may lie outside the workspace. `unpack` refuses the link.
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

/// A header without owner and time. This makes the output deterministic.
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

/// Makes the archive readable for all users. Temporary files are private, but a packed change is
/// meant to be shared.
fn make_world_readable(file: &File) -> io::Result<()> {
    set_mode_of(file, 0o644)
}

impl PackedChange {
    /// Opens a packed change.
    pub fn open(file: &Path) -> Result<Self, PackError> {
        let folder = temp_folder(file)?;
        let archive = File::open(file).map_err(PackStep::ReadingArchive.error_for(file))?;
        let unpacked =
            check_complete(&archive).and_then(|()| unpack(BufReader::new(archive), folder.path()));
        unpacked.map_err(|reason| PackError::Invalid {
            file: file.to_owned(),
            reason: reason.to_string(),
        })?;
        let bundle = folder.path().join(BUNDLE);
        let has_objects = bundle.exists();
        if has_objects {
            let objects = folder.path().join("objects");
            fs::create_dir(&objects).map_err(PackStep::Unpacking.error_for(file))?;
            let bytes = fs::read(&bundle).map_err(PackStep::Unpacking.error_for(file))?;
            crh_git::unbundle(&bytes, &objects)?;
        }
        let packed = Self { folder, has_objects };
        let has_commits = |workspace: Workspace| {
            let round = workspace.latest();
            round.is_some_and(|round| round.base_rev.is_some() && round.head_rev.is_some())
        };
        // crh reviews a change without git objects as a diff, and reviewers find less. Reject an
        // archive that lost its objects, so that the user notices.
        if !has_objects && packed.workspace().is_ok_and(has_commits) {
            let reason = "its git objects are missing".to_owned();
            return Err(PackError::Invalid { file: file.to_owned(), reason });
        }
        Ok(packed)
    }

    /// Opens the workspace.
    pub fn workspace(&self) -> Result<Workspace, WorkspaceError> {
        Workspace::open(&self.folder.path().join(WORKSPACE))
    }

    /// The previous review. `None` if the review is not incremental.
    pub fn previous_review(&self) -> Result<Option<PreviousReviewLookup>, PackError> {
        let Some(bytes) = self.extra_file(PREVIOUS_REVIEW)? else { return Ok(None) };
        let lookup = serde_json::from_slice(&bytes);
        lookup.map(Some).map_err(|_| {
            invalid_part(PREVIOUS_REVIEW, "its data about the previous review is invalid")
        })
    }

    /// Policy of the target branch. `None` if the change is not proposed at a forge.
    pub fn policy(&self) -> Result<Option<BranchPolicy>, PackError> {
        let Some(dismissed) = self.extra_file(DISMISSED)? else { return Ok(None) };
        let dismissed = serde_json::from_slice(&dismissed)
            .map_err(|_| invalid_part(DISMISSED, "its list of dismissed issues is invalid"))?;
        let (settings, baseline) = (self.extra_file(SETTINGS)?, self.extra_file(BASELINE)?);
        let tip = self.extra_file(TIP)?.map(String::from_utf8).transpose();
        let tip = tip.ok().filter(|tip| tip.as_deref().is_none_or(is_commit_id));
        let tip = tip.ok_or_else(|| invalid_part(TIP, "its commit hash is invalid"))?;
        let lessons = self.extra_file(LESSONS)?;
        Ok(Some(BranchPolicy { dismissed, settings, baseline, lessons, tip }))
    }

    /// Reads a file next to the workspace, if it exists.
    fn extra_file(&self, name: &str) -> Result<Option<Vec<u8>>, PackError> {
        let path = self.folder.path().join(name);
        match fs::metadata(&path) {
            Ok(metadata) if metadata.len() > EXTRA_FILE_MAX => {
                Err(invalid_part(name, "it is too large"))
            }
            Ok(_) => fs::read(&path).map(Some).map_err(PackStep::Unpacking.error_for(&path)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(PackStep::Unpacking.error_for(&path)(error)),
        }
    }

    /// The objects. `None` if the change is only a diff.
    pub fn objects(&self) -> Option<BareRepository> {
        self.has_objects.then(|| BareRepository::new(&self.folder.path().join("objects")))
    }
}

fn invalid_part(name: &str, reason: &str) -> PackError {
    PackError::Invalid { file: PathBuf::from(name), reason: reason.to_owned() }
}

/// Rejects truncated archives. An archive that is cut off between two entries would otherwise look
/// like a smaller change.
fn check_complete(mut archive: &File) -> io::Result<()> {
    let truncated = || io::Error::other("the file is cut off, or is another kind of file");
    let mut end = [1; END_LEN];
    let length = archive.seek(SeekFrom::End(0))?;
    archive.seek(SeekFrom::Start(length.checked_sub(END_LEN as u64).ok_or_else(truncated)?))?;
    archive.read_exact(&mut end)?;
    archive.rewind()?;
    if end == [0; END_LEN] { Ok(()) } else { Err(truncated()) }
}

/// Unpacks an archive. Rejects every entry that crh does not write.
fn unpack(archive: impl Read, folder: &Path) -> io::Result<()> {
    let mut archive = tar::Archive::new(archive);
    let mut count = 0;
    for entry in archive.entries()? {
        // The library's error would quote arbitrary bytes of the file.
        let mut entry =
            entry.map_err(|_| io::Error::other("it is not a tar archive, or it is damaged"))?;
        count += 1;
        let name = entry.path()?.into_owned();
        let refusal = |why: &str| io::Error::other(format!("{why} `{}`", name.display()));
        let is_inside = name.components().all(|part| matches!(part, Component::Normal(_)));
        let extra_names =
            [BUNDLE, PREVIOUS_REVIEW, DISMISSED, SETTINGS, BASELINE, LESSONS, TIP].map(Path::new);
        let is_known = extra_names.contains(&name.as_path()) || name.starts_with(WORKSPACE);
        if !is_inside || !is_known || count > ENTRIES_MAX {
            return Err(refusal("unexpected entry"));
        }
        let path = folder.join(&name);
        match entry.header().entry_type() {
            tar::EntryType::Directory => fs::create_dir(&path)?,
            tar::EntryType::Regular => {
                io::copy(&mut entry, &mut File::create_new(&path)?)?;
            }
            tar::EntryType::Symlink if name == Path::new(LATEST) => {
                let target = entry.link_name()?.ok_or_else(|| refusal("unexpected link"))?;
                let mut parts = target.components();
                match (parts.next(), parts.next()) {
                    (Some(Component::Normal(_)), None) => create_name_link(&target, &path)?,
                    _ => return Err(refusal("link out of the archive:")),
                }
            }
            _ => return Err(refusal("unexpected entry")),
        }
    }
    if count == 0 {
        return Err(io::Error::other("it is empty"));
    }
    Ok(())
}
