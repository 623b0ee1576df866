//! Texts and locations of findings: at the removed symbol, with the remaining uses as evidence.

use std::collections::{BTreeSet, HashMap};

use super::broken_uses::BrokenUse;
use super::removed::{RemovalKind, RemovedSymbol};
use super::repo_index::{RepoIndex, parent_folder};
use super::suspects::LanguageFamily;
use super::{ARITY, MISSING_IMPORT, REMOVED};
use crate::change::LineFate;
use crate::findings::FindingDraft;
use crate::{ChangedFile, source};
use crh_review::finding::Side;
use crh_syntax::{ImportedItem, ModuleImport};

/// Places quoted as evidence.
const WITNESSES_MAX: usize = 5;

/// Places named in the text.
const LISTED_MAX: usize = 3;

/// The finding for a removed symbol and its remaining uses.
pub(super) fn removal_finding(
    repo: &RepoIndex<'_>,
    changed: &HashMap<&str, &ChangedFile>,
    removed: &RemovedSymbol<'_>,
    places: &BTreeSet<BrokenUse>,
) -> FindingDraft {
    let found = match removed.what {
        RemovalKind::Name | RemovalKind::Module => draft_at_removal(repo, &REMOVED, removed),
        RemovalKind::Shape { .. } => {
            // Report at a call that the change itself adds, if there is one.
            let adds = |it: &&BrokenUse| {
                changed.get(it.path.as_str()).is_some_and(|file| file.adds(it.line))
            };
            match places.iter().find(adds) {
                Some(place) => FindingDraft::new(&ARITY, &place.path, place.line, &place.text),
                None => draft_at_removal(repo, &ARITY, removed),
            }
        }
    };
    let found = FindingDraft { witnesses: witnesses(places), ..found };
    let count = count_places(places);
    let path = match (&removed.what, removed.family) {
        (RemovalKind::Module, LanguageFamily::Go) => parent_folder(removed.path),
        _ => removed.path,
    };
    let name = &removed.name;
    let listed = list_places(places);
    let (title, why, fix) = match &removed.what {
        RemovalKind::Name => (
            format!("`{name}` is gone, and {count} still use it"),
            format!(
                "The change takes `{name}` out of `{path}`, and nothing else there has that name. It is still used at {listed}. That code fails as soon as it is built, imported or run."
            ),
            format!("Keep `{name}`, or change every place that uses it."),
        ),
        RemovalKind::Module => removed_file_text(path, places),
        RemovalKind::Shape { .. } => (
            format!("Calls of `{name}` do not match its new parameters: {count}"),
            format!(
                "The change gives `{name}` in `{path}` other parameters. The arguments do not match at {listed}. Such a call fails."
            ),
            format!("Change the calls, or let `{name}` accept these arguments."),
        ),
    };
    let title = match places.len() {
        1 => title.replace("still use ", "still uses "),
        _ => title,
    };
    found.with_text(title, why, fix)
}

/// Title, explanation and fix for a removed file.
fn removed_file_text(path: &str, places: &BTreeSet<BrokenUse>) -> (String, String, String) {
    let (count, listed) = (count_places(places), list_places(places));
    let (import, fails) = match places.len() {
        1 => ("imports", "That import fails"),
        _ => ("import", "Those imports fail"),
    };
    (
        format!("`{path}` is gone, and {count} still {import} it"),
        format!(
            "The change deletes or moves `{path}`. It is still imported from there at {listed}. {fails}."
        ),
        format!("Keep `{path}`, or change every import of it."),
    )
}

fn witnesses(places: &BTreeSet<BrokenUse>) -> Vec<(String, u32, String)> {
    let first = places.iter().take(WITNESSES_MAX);
    first.map(|it| (it.path.clone(), it.line, it.text.clone())).collect()
}

fn count_places(places: &BTreeSet<BrokenUse>) -> String {
    match places.len() {
        1 => "1 place".to_owned(),
        more => format!("{more} places"),
    }
}

/// The first places, and how many more there are.
fn list_places(places: &BTreeSet<BrokenUse>) -> String {
    let shown = places.iter().take(LISTED_MAX).map(|it| format!("`{}:{}`", it.path, it.line));
    let shown = shown.collect::<Vec<String>>().join(", ");
    match places.len().saturating_sub(LISTED_MAX) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// A draft at the new signature, at the replacing line, or on the removed line.
fn draft_at_removal(
    repo: &RepoIndex<'_>,
    rule: &crate::LintRule,
    removed: &RemovedSymbol<'_>,
) -> FindingDraft {
    match removed.what {
        RemovalKind::Shape { line, .. } => draft_at(repo, rule, removed.file, line),
        RemovalKind::Module => draft_at_first_line(repo, rule, removed.file),
        RemovalKind::Name => draft_in_place_of(repo, rule, removed.file, removed.line),
    }
}

/// A draft at the first non-empty line of a file, on the side where it exists.
fn draft_at_first_line(
    repo: &RepoIndex<'_>,
    rule: &crate::LintRule,
    file: &ChangedFile,
) -> FindingDraft {
    let side = if file.is_deleted { Side::Old } else { Side::New };
    let text = repo.project.file(side, &file.path).ok().flatten().and_then(source::text);
    let text = text.unwrap_or_default();
    let first = (1..).zip(text.lines()).find(|(_, it)| !it.trim().is_empty());
    let (line, text) = first.unwrap_or((1, ""));
    FindingDraft {
        side: file.is_deleted.then_some(side),
        ..FindingDraft::new(rule, &file.path, line, text)
    }
}

/// A draft at the line that replaces an old line.
pub(super) fn draft_in_place_of(
    repo: &RepoIndex<'_>,
    rule: &crate::LintRule,
    file: &ChangedFile,
    line: u32,
) -> FindingDraft {
    match file.line_fate(line) {
        LineFate::Replaced(line) | LineFate::Kept(line) if !file.is_deleted => {
            draft_at(repo, rule, file, line)
        }
        LineFate::Replaced(_) | LineFate::Kept(_) | LineFate::Removed => {
            let before = file.old_path.as_deref().unwrap_or(&file.path);
            let source = repo.source(Side::Old, before);
            let text = source.as_ref().map_or("", |it| it.line(line));
            // A moved file has its new path on both sides.
            FindingDraft {
                side: Some(Side::Old),
                ..FindingDraft::new(rule, &file.path, line, text)
            }
        }
    }
}

fn draft_at(
    repo: &RepoIndex<'_>,
    rule: &crate::LintRule,
    file: &ChangedFile,
    line: u32,
) -> FindingDraft {
    let source = repo.source(Side::New, &file.path);
    FindingDraft::new(rule, &file.path, line, source.as_ref().map_or("", |it| it.line(line)))
}

/// Whether a line of Rust declares a module.
pub(super) fn is_module_declaration(line: &str) -> bool {
    let line = line.trim_start();
    let shown = line.strip_prefix("pub").map(|it| it.split_once(')').map_or(it, |(_, it)| it));
    shown.unwrap_or(line).trim_start().starts_with("mod ")
}

/// The finding for an import that does not resolve.
pub(super) fn missing_import_finding(
    file: &ChangedFile,
    import: &ModuleImport,
    without: Option<&str>,
    line: u32,
    text: &str,
) -> FindingDraft {
    let module = &import.module;
    let (title, why) = match (&import.item, without) {
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
