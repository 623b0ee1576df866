//! Symbols that the change removes: names, modules, and parameters that calls rely on.

use std::collections::BTreeSet;

use super::repo_index::{RepoIndex, parent_folder};
use super::suspects::{LanguageFamily, SuspectFile};
use crate::ChangedFile;
use crh_review::finding::Side;
use crh_syntax::{CallSignature, Surface};

/// A symbol that existed before the change and does not any more.
#[derive(Debug, Clone)]
pub(super) struct RemovedSymbol<'a> {
    pub(super) file: &'a ChangedFile,
    pub(super) family: LanguageFamily,
    /// Old path of the file.
    pub(super) path: &'a str,
    /// The name; for a module, the last part of its import path.
    pub(super) name: String,
    /// The type or module around it in the same file; usually empty.
    pub(super) within: String,
    /// Old line, 1-based.
    pub(super) line: u32,
    pub(super) what: RemovalKind,
}

#[derive(Debug, Clone)]
pub(super) enum RemovalKind {
    Name,
    /// The whole file.
    Module,
    /// Its parameters changed; `line` is the line of the new definition.
    Shape {
        before: CallSignature,
        after: CallSignature,
        line: u32,
    },
}

impl RemovedSymbol<'_> {
    /// The word that every use must contain.
    pub(super) fn search_word(&self) -> String {
        match self.name.as_str() {
            "default" if self.family == LanguageFamily::Script => module_stem(self.path),
            // Go code imports the folder, not the file.
            _ if self.family == LanguageFamily::Go && matches!(self.what, RemovalKind::Module) => {
                parent_folder(self.path).rsplit('/').next().unwrap_or_default().to_owned()
            }
            // `?` and `!` at the end of a Ruby method are not part of a word.
            name if self.family == LanguageFamily::Ruby => {
                name.trim_end_matches(['?', '!']).to_owned()
            }
            name => name.to_owned(),
        }
    }
}

pub(super) fn removed_symbols<'a>(
    repo: &RepoIndex<'_>,
    suspects: &[SuspectFile<'a>],
) -> Vec<RemovedSymbol<'a>> {
    let symbols =
        suspects.iter().filter(|it| it.may_remove_names).flat_map(|it| removed_in_file(repo, it));
    // Report a Go package once, even if it has several files.
    let mut packages = BTreeSet::new();
    symbols
        .filter(|it| {
            it.family != LanguageFamily::Go
                || !matches!(it.what, RemovalKind::Module)
                || packages.insert(parent_folder(it.path))
        })
        .collect()
}

fn removed_in_file<'a>(repo: &RepoIndex<'_>, suspect: &SuspectFile<'a>) -> Vec<RemovedSymbol<'a>> {
    let Some(path) = suspect.file.old_path.as_deref() else { return Vec::new() };
    let Some(before) = repo.source(Side::Old, path) else { return Vec::new() };
    let symbols = |name: &str, within: &str, line, what| RemovedSymbol {
        file: suspect.file,
        family: suspect.family,
        path,
        name: name.to_owned(),
        within: within.to_owned(),
        line,
        what,
    };
    let mut list = Vec::new();
    let stays = !suspect.file.is_deleted && suspect.file.path == path;
    if !stays {
        list.push(symbols(&module_stem(path), "", 1, RemovalKind::Module));
    }
    let after = repo.source(Side::New, &suspect.file.path);
    let after = match (&after, suspect.file.is_deleted) {
        (Some(after), false) => Some(&after.surface),
        (None, false) => return list,
        (_, true) => None,
    };
    if before.surface.has_errors || after.is_some_and(|it| it.has_errors) {
        return list;
    }
    for offer in &before.surface.declarations {
        let same =
            |it: &&crh_syntax::Declaration| it.name == offer.name && it.within == offer.within;
        let kept = after
            .into_iter()
            .flat_map(|it| &it.declarations)
            .find(|it| same(it) && it.is_exported >= offer.is_exported);
        if kept.is_none() {
            list.push(symbols(&offer.name, &offer.within, offer.line, RemovalKind::Name));
            continue;
        }
        let (Some(kept), Some(after)) = (kept, after) else { continue };
        if let (Some(old), Some(new)) = (&offer.signature, &kept.signature)
            && old != new
            && is_unique(&before.surface, offer)
            && is_unique(after, kept)
        {
            let what =
                RemovalKind::Shape { before: old.clone(), after: new.clone(), line: kept.line };
            list.push(symbols(&offer.name, &offer.within, offer.line, what));
        }
    }
    list.dedup_by(|a, b| {
        a.name == b.name
            && a.within == b.within
            && matches!((&a.what, &b.what), (RemovalKind::Name, RemovalKind::Name))
    });
    list
}

/// Whether the name is unique in the file.
fn is_unique(surface: &Surface, offer: &crh_syntax::Declaration) -> bool {
    let same = |it: &&crh_syntax::Declaration| {
        it.name == offer.name && it.within == offer.within && it.is_exported == offer.is_exported
    };
    surface.declarations.iter().filter(same).count() == 1
}

/// The last part of a module's import path: the file name, or the folder name for index files.
pub(super) fn module_stem(path: &str) -> String {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let stem = name.split('.').next().unwrap_or(name);
    match stem {
        "__init__" | "index" | "mod" => folder.rsplit('/').next().unwrap_or(folder).to_owned(),
        stem => stem.to_owned(),
    }
}
