//! Texts and locations of findings: at the removed symbol, with the remaining uses as evidence.

use std::collections::{BTreeSet, HashMap};

use super::path_index::parent_folder;
use super::removed::{RemovalKind, RemovedSymbol};
use super::repo_index::RepoIndex;
use super::rules::{ARITY, MISSING_IMPORT, REMOVED};
use super::suspects::LanguageFamily;
use super::using_file::BrokenUse;
use crate::change::LineFate;
use crate::findings::FindingDraft;
use crate::{ChangedFile, LintRule, source};
use crh_review::finding::Side;
use crh_syntax::{ImportedItem, ModuleImport};

/// Maximum uses quoted as evidence. Five show the pattern and keep the report short.
const WITNESSES_MAX: usize = 5;

/// Maximum uses named in the explanation. The others are only counted.
const LISTED_USES_MAX: usize = 3;

/// The finding for a removed symbol and its remaining uses.
pub(super) fn removal_finding(
    repo: &RepoIndex<'_>,
    changed_files: &HashMap<&str, &ChangedFile>,
    symbol: &RemovedSymbol<'_>,
    uses: &BTreeSet<BrokenUse>,
) -> FindingDraft {
    let draft = match symbol.kind {
        RemovalKind::Name | RemovalKind::Module => draft_at_removal(repo, &REMOVED, symbol),
        RemovalKind::Signature { .. } => {
            // Report at a call that the change itself adds, if there is one.
            let is_added = |broken_use: &&BrokenUse| {
                changed_files
                    .get(broken_use.path.as_str())
                    .is_some_and(|file| file.adds(broken_use.line))
            };
            match uses.iter().find(is_added) {
                Some(broken_use) => {
                    FindingDraft::new(&ARITY, &broken_use.path, broken_use.line, &broken_use.text)
                }
                None => draft_at_removal(repo, &ARITY, symbol),
            }
        }
    };
    let draft = FindingDraft { witnesses: witnesses(uses), ..draft };
    let count = count_uses(uses);
    let path = match (&symbol.kind, symbol.family) {
        (RemovalKind::Module, LanguageFamily::Go) => parent_folder(symbol.path),
        _ => symbol.path,
    };
    let name = &symbol.name;
    let listing = list_uses(uses);
    let (title, why, fix) = match &symbol.kind {
        RemovalKind::Name => (
            format!("`{name}` is gone, and {count} still use it"),
            format!(
                "The change takes `{name}` out of `{path}`, and nothing else there has that name. It is still used at {listing}. Such a use fails when the code is built, or when that line runs."
            ),
            format!("Keep `{name}`, or change every place that uses it."),
        ),
        RemovalKind::Module => removed_file_text(path, uses),
        RemovalKind::Signature { .. } => (
            match uses.len() {
                1 => format!("1 call of `{name}` does not match its new parameters"),
                count => format!("{count} calls of `{name}` do not match its new parameters"),
            },
            format!(
                "The change alters the parameters of `{name}` in `{path}`. The arguments do not match at {listing}. Such a call fails."
            ),
            format!("Change the calls, or let `{name}` accept these arguments."),
        ),
    };
    let title = match uses.len() {
        1 => title.replace("still use ", "still uses "),
        _ => title,
    };
    draft.with_text(title, why, fix)
}

/// Title, explanation and fix for a removed file.
fn removed_file_text(path: &str, uses: &BTreeSet<BrokenUse>) -> (String, String, String) {
    let (count, listing) = (count_uses(uses), list_uses(uses));
    let (import, consequence) = match uses.len() {
        1 => ("imports", "That import fails"),
        _ => ("import", "Those imports fail"),
    };
    (
        format!("`{path}` is gone, and {count} still {import} it"),
        format!(
            "The change deletes or moves `{path}`. It is still imported from there at {listing}. {consequence}."
        ),
        format!("Keep `{path}`, or change every import of it."),
    )
}

fn witnesses(uses: &BTreeSet<BrokenUse>) -> Vec<(String, u32, String)> {
    let quoted_uses = uses.iter().take(WITNESSES_MAX);
    quoted_uses.map(|it| (it.path.clone(), it.line, it.text.clone())).collect()
}

fn count_uses(uses: &BTreeSet<BrokenUse>) -> String {
    match uses.len() {
        1 => "1 place".to_owned(),
        count => format!("{count} places"),
    }
}

/// Lists the first uses and counts the others.
fn list_uses(uses: &BTreeSet<BrokenUse>) -> String {
    let listing = uses.iter().take(LISTED_USES_MAX).map(|it| format!("`{}:{}`", it.path, it.line));
    let listing = listing.collect::<Vec<String>>().join(", ");
    match uses.len().saturating_sub(LISTED_USES_MAX) {
        0 => listing,
        more => format!("{listing} and {more} more"),
    }
}

/// A draft at the new signature; for a removed file, at its first line; for a removed name, at the
/// line that replaces its line, or else at the removed line.
fn draft_at_removal(
    repo: &RepoIndex<'_>,
    rule: &LintRule,
    symbol: &RemovedSymbol<'_>,
) -> FindingDraft {
    match symbol.kind {
        RemovalKind::Signature { line, .. } => draft_at(repo, rule, symbol.file, line),
        RemovalKind::Module => draft_at_first_line(repo, rule, symbol.file),
        RemovalKind::Name => draft_in_place_of(repo, rule, symbol.file, symbol.line),
    }
}

/// A draft at the first non-empty line of a file: in the old text if the file is deleted, else in
/// the new text.
fn draft_at_first_line(repo: &RepoIndex<'_>, rule: &LintRule, file: &ChangedFile) -> FindingDraft {
    let side = if file.is_deleted { Side::Old } else { Side::New };
    let text = repo.text(side, &file.path).unwrap_or_default();
    let first_line = (1..).zip(text.lines()).find(|(_, it)| !it.trim().is_empty());
    let (line, text) = first_line.unwrap_or((1, ""));
    FindingDraft {
        side: file.is_deleted.then_some(side),
        ..FindingDraft::new(rule, &file.path, line, text)
    }
}

/// A draft at the line that replaces an old line, or at the old line if nothing replaces it.
pub(super) fn draft_in_place_of(
    repo: &RepoIndex<'_>,
    rule: &LintRule,
    file: &ChangedFile,
    line: u32,
) -> FindingDraft {
    match file.line_fate(line) {
        LineFate::Replaced(line) | LineFate::Kept(line) if !file.is_deleted => {
            draft_at(repo, rule, file, line)
        }
        LineFate::Replaced(_) | LineFate::Kept(_) | LineFate::Removed => {
            let old_path = file.old_path.as_deref().unwrap_or(&file.path);
            let text = repo.text(Side::Old, old_path).unwrap_or_default();
            // A finding names a moved file by its new path, even if it is about the old text.
            let draft = FindingDraft::new(rule, &file.path, line, source::line(&text, line));
            FindingDraft { side: Some(Side::Old), ..draft }
        }
    }
}

fn draft_at(repo: &RepoIndex<'_>, rule: &LintRule, file: &ChangedFile, line: u32) -> FindingDraft {
    let text = repo.text(Side::New, &file.path).unwrap_or_default();
    FindingDraft::new(rule, &file.path, line, source::line(&text, line))
}

/// Whether a line of Rust declares a module.
pub(super) fn is_module_declaration(line: &str) -> bool {
    let line = line.trim_start();
    let after_visibility =
        line.strip_prefix("pub").map(|it| it.split_once(')').map_or(it, |(_, it)| it));
    after_visibility.unwrap_or(line).trim_start().starts_with("mod ")
}

/// The finding for an import that does not resolve.
pub(super) fn missing_import_finding(
    file: &ChangedFile,
    import: &ModuleImport,
    module_path: Option<&str>,
    line: u32,
    text: &str,
) -> FindingDraft {
    let module = &import.module;
    let (title, why) = match (&import.item, module_path) {
        (ImportedItem::Name(name), _) if module == "self" && is_module_declaration(text) => (
            format!("`mod {name}` is declared, but its file does not exist"),
            format!(
                "Neither `{name}.rs` nor `{name}/mod.rs` exists where this module would be. The crate does not compile."
            ),
        ),
        (ImportedItem::Name(name), Some(path)) => (
            format!("`{name}` is imported, but `{path}` does not have it"),
            format!(
                "`{path}` neither defines nor re-exports `{name}`. The import fails when it runs."
            ),
        ),
        (ImportedItem::Name(name), None)
            if LanguageFamily::from_path(&file.path) == Some(LanguageFamily::Java) =>
        {
            (
                format!("`{name}` is imported, but `{module}` does not have it"),
                format!(
                    "The package `{module}` is in this repository and has no `{name}`. The import does not compile."
                ),
            )
        }
        (ImportedItem::Name(_) | ImportedItem::Module | ImportedItem::All, _) => (
            format!("`{module}` is imported, but there is no such module"),
            format!(
                "No file of this repository matches `{module}` from here. The import fails when it runs."
            ),
        ),
    };
    FindingDraft::new(&MISSING_IMPORT, &file.path, line, text).with_text(
        title,
        why,
        "Import something that exists, or add what is missing.",
    )
}
