//! Turns the scopes that the orchestrator requests into those that sub-agents get: each file, or
//! each part of a large file, in exactly one scope, none too large. Scopes that confirm findings
//! may repeat files.

use std::collections::{BTreeMap, BTreeSet};

use super::files::{DelegateFile, DelegateFiles, FilePiece};
use crate::assignment::DiffPart;
use crate::text::{cut, one_line};
use crate::tools::session::ScopeWanted;

/// A file with this many changed lines gets its own scope. The specification of a harness with
/// sub-agents prescribes the number.
const OWN_SCOPE_LINES: u64 = 1_500;

/// Maximum characters of a label. It is shown in the terminal.
const LABEL_MAX: usize = 60;

/// Maximum number of files that a note lists.
const NAMED_MAX: usize = 10;

/// Scope of one sub-agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct AgentScope {
    pub(super) label: String,
    /// Why the scope exists: to confirm findings, or because no requested scope had its files.
    /// Otherwise empty.
    pub(super) why: String,
    pub(super) focus: String,
    pub(super) parts: Vec<DiffPart>,
}

/// The division of the files into scopes.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ScopeDivision {
    pub(super) scopes: Vec<AgentScope>,
    /// Differences from the request, as sentences.
    pub(super) notes: Vec<String>,
}

impl DelegateFiles {
    /// Builds the requested scopes, and further scopes for files that no requested scope contains.
    /// Skips parts that an earlier attempt reviewed (`done_parts`).
    pub(super) fn divide(
        &self,
        requested: &[ScopeWanted],
        done_parts: &BTreeSet<DiffPart>,
    ) -> ScopeDivision {
        let mut division = ScopeDivision::default();
        // Scope of each file, by index.
        let mut scope_by_file: BTreeMap<usize, usize> = BTreeMap::new();
        for (number, scope) in requested.iter().enumerate() {
            let label = label(scope);
            let mut own_files = BTreeSet::new();
            for file_index in self.resolve_files(scope, &label, &mut division.notes) {
                let first_scope = *scope_by_file.entry(file_index).or_insert(number);
                if first_scope == number {
                    own_files.insert(file_index);
                    continue;
                }
                let (path, first) =
                    (self.path(file_index), requested.get(first_scope).map(self::label));
                let first = first.unwrap_or_default();
                division
                    .notes
                    .push(format!("`{path}` of scope `{label}` stays in scope `{first}`"));
            }
            let template =
                AgentScope { label, why: String::new(), focus: focus(scope), parts: Vec::new() };
            self.split(&own_files, &template, done_parts, &mut division);
        }
        let unassigned_files: BTreeSet<usize> = (0..self.iter().count())
            .filter(|file_index| !scope_by_file.contains_key(file_index))
            .collect();
        let has_open_part = |file_index: &&usize| {
            self.get(**file_index).is_some_and(|file| !is_done(file, done_parts))
        };
        let paths: Vec<&str> = unassigned_files
            .iter()
            .filter(has_open_part)
            .map(|file_index| self.path(*file_index))
            .collect();
        if !paths.is_empty() && !requested.is_empty() {
            division.notes.push(format!("in no scope, so they got one: {}", path_list(&paths)));
        }
        let (label, why) = match requested {
            [] => ("all files", ""),
            [_, ..] => ("files in no scope", "no scope had them"),
        };
        let (label, why) = (label.to_owned(), why.to_owned());
        let template = AgentScope { label, why, focus: String::new(), parts: Vec::new() };
        self.split(&unassigned_files, &template, done_parts, &mut division);
        let finished_paths = self.iter().filter(|file| is_done(file, done_parts));
        let finished_paths: Vec<&str> = finished_paths.map(|file| file.path.as_str()).collect();
        if !finished_paths.is_empty() {
            let finished_paths = path_list(&finished_paths);
            division
                .notes
                .push(format!("reviewed in an earlier attempt, and not again: {finished_paths}"));
        }
        division
    }

    /// Builds the scopes of a second delegation. A file may be in several of them.
    pub(super) fn divide_for_confirmation(&self, requested: &[ScopeWanted]) -> ScopeDivision {
        let mut division = ScopeDivision::default();
        for scope in requested {
            let label = label(scope);
            let own_files: BTreeSet<usize> =
                self.resolve_files(scope, &label, &mut division.notes).into_iter().collect();
            let ids = scope.confirms.iter().flatten().map(String::as_str).collect::<Vec<_>>();
            let why = format!("to confirm {}", ids.join(", "));
            let template = AgentScope { label, why, focus: focus(scope), parts: Vec::new() };
            self.split(&own_files, &template, &BTreeSet::new(), &mut division);
        }
        division
    }

    /// Files that a scope names. Adds a note for unknown names.
    fn resolve_files(
        &self,
        scope: &ScopeWanted,
        label: &str,
        notes: &mut Vec<String>,
    ) -> Vec<usize> {
        let mut file_indexes = Vec::new();
        for name in &scope.files {
            match self.find(name) {
                Some(index) => file_indexes.push(index),
                None => {
                    let name = short_label(name);
                    notes.push(format!("`{name}` of scope `{label}` is not a file under review"));
                }
            }
        }
        file_indexes
    }

    /// Splits files into as many scopes as needed, in diff order.
    fn split(
        &self,
        files: &BTreeSet<usize>,
        template: &AgentScope,
        done_parts: &BTreeSet<DiffPart>,
        division: &mut ScopeDivision,
    ) {
        let mut part_groups: Vec<(Vec<DiffPart>, usize)> = Vec::new();
        let mut large_scopes: Vec<AgentScope> = Vec::new();
        for file in files.iter().filter_map(|index| self.get(*index)) {
            let open_pieces: Vec<&FilePiece> =
                file.pieces.iter().filter(|piece| !done_parts.contains(&piece.part)).collect();
            if is_large(file) {
                let name = short_label(file.path.rsplit('/').next().unwrap_or_default());
                let label = match files.len() {
                    1 => template.label.clone(),
                    _ => format!("{}: {name}", template.label),
                };
                let piece_scopes = open_pieces.iter().map(|piece| {
                    let label = piece_label(&label, file, &piece.part);
                    AgentScope { label, parts: vec![piece.part.clone()], ..template.clone() }
                });
                large_scopes.extend(piece_scopes);
                if !open_pieces.is_empty() && (files.len() > 1 || file.pieces.len() > 1) {
                    division.notes.push(large_file_note(file));
                }
                continue;
            }
            for piece in open_pieces {
                match part_groups.last_mut() {
                    Some((parts, size)) if *size + piece.size <= self.max_scope_bytes => {
                        parts.push(piece.part.clone());
                        *size += piece.size;
                    }
                    Some(_) | None => part_groups.push((vec![piece.part.clone()], piece.size)),
                }
            }
        }
        let count = part_groups.len();
        if count > 1 {
            let label = &template.label;
            division.notes.push(format!(
                "scope `{label}` was too large for one sub-agent and became {count}"
            ));
        }
        for (index, (parts, _)) in part_groups.into_iter().enumerate() {
            let label = match count {
                1 => template.label.clone(),
                _ => format!("{} ({} of {count})", template.label, index + 1),
            };
            division.scopes.push(AgentScope { label, parts, ..template.clone() });
        }
        division.scopes.extend(large_scopes);
    }

    fn path(&self, index: usize) -> &str {
        self.get(index).map_or("", |file| file.path.as_str())
    }
}

/// Whether a file needs its own scope.
fn is_large(file: &DelegateFile) -> bool {
    file.changed_lines >= OWN_SCOPE_LINES || file.pieces.len() > 1
}

fn is_done(file: &DelegateFile, done_parts: &BTreeSet<DiffPart>) -> bool {
    file.pieces.iter().all(|piece| done_parts.contains(&piece.part))
}

/// Label for the scope of a large file or one of its pieces.
fn piece_label(label: &str, file: &DelegateFile, part: &DiffPart) -> String {
    match file.pieces.iter().position(|piece| piece.part == *part) {
        Some(index) if file.pieces.len() > 1 => {
            format!("{label} ({} of {})", index + 1, file.pieces.len())
        }
        Some(_) | None => label.to_owned(),
    }
}

fn large_file_note(file: &DelegateFile) -> String {
    let (path, changed) = (&file.path, file.changed_lines);
    match file.pieces.len() {
        1 => format!("`{path}` has {changed} changed lines and got a scope of its own"),
        pieces => format!("`{path}` has {changed} changed lines and was cut into {pieces} parts"),
    }
}

/// Label of a requested scope: one short line, never empty.
fn label(scope: &ScopeWanted) -> String {
    let label = short_label(&scope.scope);
    match (label.is_empty(), scope.files.first()) {
        (false, _) => label,
        (true, Some(file)) => short_label(file),
        (true, None) => "a scope".to_owned(),
    }
}

fn focus(scope: &ScopeWanted) -> String {
    scope.focus.as_deref().unwrap_or_default().trim().to_owned()
}

/// The text on one line, truncated.
pub(super) fn short_label(text: &str) -> String {
    cut(&one_line(text), LABEL_MAX)
}

/// Paths for a message.
pub(super) fn path_list(paths: &[&str]) -> String {
    let quoted_paths: Vec<String> =
        paths.iter().take(NAMED_MAX).map(|path| format!("`{path}`")).collect();
    match paths.len().saturating_sub(NAMED_MAX) {
        0 => quoted_paths.join(", "),
        more => format!("{} and {more} more", quoted_paths.join(", ")),
    }
}

#[cfg(test)]
mod tests;
