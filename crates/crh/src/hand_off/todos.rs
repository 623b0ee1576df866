//! Todo files: one for each issue that somebody has to work on later, in a folder of the checkout.
//!
//! An id is never given out twice: not when two runs write at once (a lock on the folder), and not after a todo was deleted (the
//! highest id is kept in the folder). What is there already is left as it is, whatever its status.

use std::collections::BTreeSet;
use std::fs::{File, Permissions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::{fs, io};

use anyhow::Context;

use crate::commands::review::Begun;
use crate::config::keys::Settings;
use crate::failure::{Failure, Kind, OrFail};
use crh_pipeline::run_folder::remove_drafts;
use crh_review::finding::{AutofixClass, Owner};
use crh_review::render;
use crh_review::report::{Issue, Report};

/// Where other programs wrote todos once. Nothing is written there; its ids are taken.
const LEGACY: &str = "todos";
/// The file in the folder that keeps the highest id that was ever given out.
const HIGHEST: &str = ".highest-id";
/// What a file is called while it is written.
const DRAFT: &str = ".crh-";
/// Files of a checkout are readable as others are; the umask may take from it.
const FILE_MODE: u32 = 0o644;
/// Front matter has a tenth of it.
const FRONT_MATTER_MAX: u64 = 4 << 10;
/// A hundred times what a project has. Beyond it nobody could say which ids are free.
const ENTRIES_MAX: usize = 100_000;
/// What has more digits is a date or a hash, and no id.
const DIGITS_MAX: usize = 9;
/// The last id of that many digits.
const ID_MAX: u64 = 999_999_999;

/// Writes a todo for every issue that is open, to be worked on, and not the reviewer's own to fix; the files that are new. Without
/// a checkout there is no folder for them.
pub(crate) fn write(
    begun: &Begun,
    report: &Report,
    settings: &Settings,
) -> Result<Vec<PathBuf>, Failure> {
    let Some(root) = &begun.checkout else { return Ok(Vec::new()) };
    let mask = |text: &str| begun.redactor.redact(text).into_owned();
    written(root, settings.todos_dir.value.path(), report, &mask)
}

/// The same, with everything that it depends on. `mask` takes secrets out of a text.
fn written(
    root: &Path,
    dir: &Path,
    report: &Report,
    mask: &dyn Fn(&str) -> String,
) -> Result<Vec<PathBuf>, Failure> {
    let issues: Vec<&Issue> = left_to_others(report).collect();
    if issues.is_empty() {
        return Ok(Vec::new());
    }
    let folder = made(root, dir)?;
    let failed = || format!("writing todos in `{}`", folder.display());
    let lock = File::open(&folder).with_context(failed).or_fail(Kind::Outside)?;
    lock.lock().with_context(failed).or_fail(Kind::Outside)?;
    remove_drafts(&folder).with_context(failed).or_fail(Kind::Outside)?;
    let mut taken = Taken::of(&folder, &root.join(LEGACY))?;
    let mut new = Vec::new();
    for issue in issues {
        if taken.keys.contains(&issue.dedupe_key) {
            continue;
        }
        let path = loop {
            let id = taken.next(&folder)?;
            let text = mask(&render::todo(issue, report, &id));
            let path = folder.join(render::todo_name(issue, &id));
            match put(&path, &text) {
                Ok(()) => break path,
                // Some other program has just taken the name, and the id with it.
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error).with_context(failed).or_fail(Kind::Outside),
            }
        };
        taken.keys.insert(issue.dedupe_key.clone());
        new.push(path);
    }
    Ok(new)
}

/// The issues that are open, ask for work, and are left to whoever works on what a review leaves.
fn left_to_others(report: &Report) -> impl Iterator<Item = &Issue> {
    let is_fixed =
        |issue: &Issue| report.applied_fixes.iter().any(|fix| fix.number == issue.number);
    report.issues.iter().filter(move |issue| {
        issue.owner == Owner::DownstreamResolver
            && issue.autofix_class != AutofixClass::Advisory
            && !issue.pre_existing
            && !is_fixed(issue)
    })
}

/// The folder inside the checkout, made if it is not there. A link on the way is the repository's, and may lead anywhere.
fn made(root: &Path, dir: &Path) -> Result<PathBuf, Failure> {
    let mut folder = root.to_owned();
    for part in dir {
        folder.push(part);
        match fs::create_dir(&folder) {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                let found = fs::symlink_metadata(&folder);
                if !found.is_ok_and(|found| found.is_dir()) {
                    let shown = folder.display();
                    return Err(Failure::usage(format!("`{shown}` is a link or a file"))
                        .hint("make it a folder, or name another with `dir` in `[todos]`"));
                }
            }
            Err(error) => {
                return Err(error)
                    .with_context(|| format!("making `{}`", folder.display()))
                    .or_fail(Kind::Outside);
            }
        }
    }
    Ok(folder)
}

/// What is there already.
#[derive(Debug, PartialEq, Eq)]
struct Taken {
    /// The highest id that was ever given out.
    highest: u64,
    /// The issues that have a todo.
    keys: BTreeSet<String>,
}

impl Taken {
    fn of(folder: &Path, legacy: &Path) -> Result<Self, Failure> {
        let mut taken = Self { highest: highest_before(folder)?, keys: BTreeSet::new() };
        for place in [folder, legacy] {
            taken
                .read(place)
                .with_context(|| format!("reading the todos in `{}`", place.display()))
                .or_fail(Kind::Outside)?;
        }
        Ok(taken)
    }

    fn read(&mut self, folder: &Path) -> io::Result<()> {
        let entries = match fs::read_dir(folder) {
            Ok(entries) => entries,
            Err(error)
                if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) =>
            {
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        for (at, entry) in entries.enumerate() {
            if at == ENTRIES_MAX {
                return Err(io::Error::other(format!("it has more than {ENTRIES_MAX} entries")));
            }
            let entry = entry?;
            let name = entry.file_name();
            let Some(id) = id_of(&name.to_string_lossy()) else { continue };
            self.highest = self.highest.max(id);
            // Nothing but a file has front matter, and to open some other things is to wait.
            if entry.file_type()?.is_file() {
                self.keys.extend(key_in(&entry.path())?);
            }
        }
        Ok(())
    }

    /// The next id. It counts as given out before anything has it, so that nobody has it a second time.
    fn next(&mut self, folder: &Path) -> Result<String, Failure> {
        if self.highest >= ID_MAX {
            return Err(Failure::usage(format!(
                "the todos in `{}` have no id left",
                folder.display()
            ))
            .hint(format!("rename the one whose name begins with {ID_MAX}")));
        }
        self.highest += 1;
        let path = folder.join(HIGHEST);
        let kept = draft(folder, &format!("{}\n", self.highest))
            .and_then(|file| file.persist(&path).map_err(|error| error.error));
        kept.with_context(|| format!("writing `{}`", path.display())).or_fail(Kind::Outside)?;
        Ok(format!("{:03}", self.highest))
    }
}

/// The id that a file is named by: the digits before its first dash.
fn id_of(name: &str) -> Option<u64> {
    let (digits, _) = name.split_once('-')?;
    let is_id = (1..=DIGITS_MAX).contains(&digits.len())
        && digits.bytes().all(|byte| byte.is_ascii_digit());
    digits.parse().ok().filter(|_| is_id)
}

/// The issue that a todo is about. One that was deleted meanwhile is about none.
fn key_in(path: &Path) -> io::Result<Option<String>> {
    let mut start = Vec::new();
    match File::open(path).and_then(|file| file.take(FRONT_MATTER_MAX).read_to_end(&mut start)) {
        Ok(_) => Ok(render::todo_key(&String::from_utf8_lossy(&start)).map(str::to_owned)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// The highest id that was kept; 0 if none was.
fn highest_before(folder: &Path) -> Result<u64, Failure> {
    let path = folder.join(HIGHEST);
    let mut text = String::new();
    let read = match fs::symlink_metadata(&path) {
        Ok(found) if found.is_file() => {
            File::open(&path).and_then(|file| file.take(FRONT_MATTER_MAX).read_to_string(&mut text))
        }
        Ok(_) => Err(io::Error::other("it is no file")),
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(0),
        Err(error) => Err(error),
    };
    let failed = || format!("reading `{}`", path.display());
    read.with_context(failed).or_fail(Kind::Outside)?;
    match text.trim().parse() {
        Ok(highest) if highest <= ID_MAX => Ok(highest),
        Ok(_) | Err(_) => Err(Failure::usage(format!("`{}` holds no id", path.display()))
            .hint("write the highest id that a todo ever had into it")),
    }
}

/// Puts a new file in its place in one step, unless something is there.
fn put(path: &Path, text: &str) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    draft(folder, text)?.persist_noclobber(path).map_err(|error| error.error)?;
    Ok(())
}

fn draft(folder: &Path, text: &str) -> io::Result<tempfile::NamedTempFile> {
    let everybody_reads = Permissions::from_mode(FILE_MODE);
    let mut file =
        tempfile::Builder::new().prefix(DRAFT).permissions(everybody_reads).tempfile_in(folder)?;
    file.write_all(text.as_bytes())?;
    Ok(file)
}

#[cfg(test)]
mod tests;
