//! The context pack as files of the workspace: an index and one file per kind of item.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::{ContextPack, ItemKind, PackItem, PackSpace};
use crate::change_under_review::ChangeUnderReview;
use crate::prompts::group_files_for_workspace;
use crate::workspace::ContextFile;
use crh_review::stable_json;

/// Maximum characters of all files: ten times what a prompt shows.
const FILES_CHARS: usize = 400_000;
/// Maximum parts of a large change. Each part needs several searches.
const PARTS_MAX: usize = 10;

/// An entry of `context/index.json`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct IndexEntry<'a> {
    /// The changed file that the item belongs to.
    changed_path: &'a str,
    /// Name of the file with the code. None if the code does not fit.
    file: Option<&'static str>,
    /// First line of the item in this file.
    line: Option<usize>,
    title: &'a str,
}

/// The files of `context/`. A large change has the packs of its first parts.
pub fn context_files(change: &ChangeUnderReview) -> serde_json::Result<Vec<ContextFile>> {
    let mut items: Vec<PackItem> = Vec::new();
    for parts in group_files_for_workspace(change).iter().take(PARTS_MAX) {
        let is_wanted = |path: &str| parts.iter().any(|part| part.path == path);
        items.extend(ContextPack::build(change, &is_wanted).items);
    }
    // Several parts can need the same code.
    let mut known = BTreeSet::new();
    items.retain(|item| known.insert((item.title.clone(), item.text.clone())));
    items.sort_by_key(|item| item.kind);
    let chars: usize = items.iter().map(|item| item.render().len()).sum();
    let mut space = PackSpace::new(FILES_CHARS);
    // Text and number of its lines, by kind.
    let mut texts: BTreeMap<ItemKind, (String, usize)> = BTreeMap::new();
    let mut index = Vec::new();
    for item in &items {
        let fits = chars <= FILES_CHARS || space.try_take(item);
        let entry = fits.then(|| {
            let (text, lines) = texts.entry(item.kind).or_default();
            let (first_line, rendered) = (*lines + 1, item.render());
            *lines += rendered.lines().count();
            text.push_str(&rendered);
            (item.kind.file_name(), first_line)
        });
        let PackItem { changed_path, title, .. } = item;
        let (file, line) = entry.unzip();
        index.push(IndexEntry { changed_path, file, line, title });
    }
    let mut files = vec![ContextFile { name: "index.json", text: stable_json(&index)? }];
    let texts = texts.into_iter();
    files.extend(texts.map(|(kind, (text, _))| ContextFile { name: kind.file_name(), text }));
    Ok(files)
}

impl ItemKind {
    fn file_name(self) -> &'static str {
        match self {
            Self::ChangedFunction => "changed-functions.txt",
            Self::RemovedSymbolUse => "removed-symbol-uses.txt",
            Self::Definition => "definitions.txt",
            Self::Use => "uses.txt",
            Self::SameName => "same-names.txt",
            Self::RemovedLineCopy => "removed-line-copies.txt",
            Self::Test => "tests.txt",
        }
    }
}
