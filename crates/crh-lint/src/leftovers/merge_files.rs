//! Files that a merge or a patch leaves behind.

use super::MERGE_FILE;
use crate::file_context::FileContext;
use crate::findings::FindingDraft;
use crate::{ChangedFile, paths};
use crh_review::finding::Side;

/// Parts of the file names that `git mergetool` uses.
const VERSIONS: [&str; 4] = ["BACKUP", "BASE", "LOCAL", "REMOTE"];

/// Path of the file from which a merge or patch made this new file, judged by the new file's name.
pub(super) fn original(file: &ChangedFile) -> Option<String> {
    if file.old_path.is_some() || paths::is_sample(&file.path) {
        return None;
    }
    let (folder, name) = match file.path.rsplit_once('/') {
        Some((folder, name)) => (format!("{folder}/"), name),
        None => (String::new(), file.path.as_str()),
    };
    let name = name
        .strip_suffix(".orig")
        .or_else(|| name.strip_suffix(".rej"))
        .map_or_else(|| merge_tool_original(name), |name| Some(name.to_owned()))?;
    (!name.is_empty()).then(|| format!("{folder}{name}"))
}

/// `a.py` for `a_BASE_1234.py` or `a.BASE.1234.py`.
fn merge_tool_original(name: &str) -> Option<String> {
    for version in VERSIONS {
        for separator in ['_', '.'] {
            let Some((stem, rest)) = name.split_once(&format!("{separator}{version}{separator}"))
            else {
                continue;
            };
            let extension = rest.trim_start_matches(|letter: char| letter.is_ascii_digit());
            if extension.len() < rest.len() && (extension.is_empty() || extension.starts_with('.'))
            {
                return Some(format!("{stem}{extension}"));
            }
        }
    }
    None
}

/// Reports the file if the original file exists as well, or if it is a `.rej` file.
pub(super) fn find(ctx: &FileContext<'_>) -> Option<FindingDraft> {
    let original = original(ctx.file)?;
    let exists = |side| {
        let paths = ctx.change.project.map(|project| project.paths(side));
        paths.is_some_and(|paths| {
            paths.is_ok_and(|paths| {
                paths.binary_search_by(|path| path.as_str().cmp(&original)).is_ok()
            })
        })
    };
    // Only a failed patch writes a `.rej` file.
    let is_leftover = ctx.file.path.ends_with(".rej") || exists(Side::New) || exists(Side::Old);
    let new = ctx.new.as_ref()?;
    (is_leftover && !new.text.is_empty()).then(|| {
        FindingDraft::new(&MERGE_FILE, new.path, 1, new.line(1)).with_text(
            "A merge or a patch left this file behind",
            format!("A tool wrote it beside `{original}` during a merge or while applying a patch. Nothing uses it."),
            "Delete the file. Check first that its content is in the other file.",
        )
    })
}
