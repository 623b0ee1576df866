//! Files that a merge or a patch leaves beside those it works on.

use super::MERGE_FILE;
use crate::found::Found;
use crate::look::Look;
use crate::{ChangedFile, paths};
use crh_review::finding::Side;

/// What Git's merge tool puts into the names of the versions that it shows.
const VERSIONS: [&str; 4] = ["BACKUP", "BASE", "LOCAL", "REMOTE"];

/// The file that a new file is a leftover of, as far as its name tells.
pub(super) fn original(file: &ChangedFile) -> Option<String> {
    if file.before.is_some() || paths::is_sample(&file.path) {
        return None;
    }
    let (folder, name) = match file.path.rsplit_once('/') {
        Some((folder, name)) => (format!("{folder}/"), name),
        None => (String::new(), file.path.as_str()),
    };
    let name = name
        .strip_suffix(".orig")
        .or_else(|| name.strip_suffix(".rej"))
        .map_or_else(|| version(name), |name| Some(name.to_owned()))?;
    (!name.is_empty()).then(|| format!("{folder}{name}"))
}

/// `a.py` of `a_BASE_1234.py` or `a.BASE.1234.py`.
fn version(name: &str) -> Option<String> {
    for version in VERSIONS {
        for sign in ['_', '.'] {
            let Some((stem, rest)) = name.split_once(&format!("{sign}{version}{sign}")) else {
                continue;
            };
            let after = rest.trim_start_matches(|letter: char| letter.is_ascii_digit());
            if after.len() < rest.len() && (after.is_empty() || after.starts_with('.')) {
                return Some(format!("{stem}{after}"));
            }
        }
    }
    None
}

/// The file itself, if it is a leftover: what it was made from is there as well.
pub(super) fn left(look: &Look<'_>) -> Option<Found> {
    let original = original(look.file)?;
    let is_there = |side| {
        let paths = look.change.project.map(|project| project.paths(side));
        paths.is_some_and(|paths| {
            paths.is_ok_and(|paths| {
                paths.binary_search_by(|path| path.as_str().cmp(&original)).is_ok()
            })
        })
    };
    // Nothing but a failed patch makes a `.rej`.
    let is_left = look.file.path.ends_with(".rej") || is_there(Side::New) || is_there(Side::Old);
    let new = look.new.as_ref()?;
    (is_left && !new.text.is_empty()).then(|| {
        Found::new(&MERGE_FILE, new.path, 1, new.line(1)).saying(
            "A merge or a patch left this file behind",
            format!("It is a copy or a rest that a tool wrote beside `{original}` while it merged or patched; nothing reads it."),
            "Delete the file, and see that what it holds has found its way into the other one.",
        )
    })
}
