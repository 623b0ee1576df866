//! From the scopes that the orchestrator wants to those that sub-agents get: each file of the change in exactly one, none
//! of them too large.

use std::collections::{BTreeMap, BTreeSet};

use super::files::{File, Files, Piece};
use crate::plan::Part;
use crate::text::{cut, one_line};
use crate::tools::session::ScopeWanted;

/// A file with so many changed lines is a scope of its own: the number of the specification.
const OWN_SCOPE_LINES: u64 = 1_500;

/// The longest label, in characters: it stands in lines of the terminal.
const LABEL_MAX: usize = 60;

/// How many files are named in a sentence about several.
const NAMED_MAX: usize = 10;

/// What one sub-agent looks at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Scope {
    pub(super) label: String,
    /// Why there is such a scope; empty if the orchestrator wanted it.
    pub(super) why: String,
    pub(super) focus: String,
    pub(super) parts: Vec<Part>,
}

/// The work, divided.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Divided {
    pub(super) scopes: Vec<Scope>,
    /// Where this is not what was wanted, in sentences.
    pub(super) said: Vec<String>,
}

impl Files {
    /// The scopes that were wanted, and one or more for what was left out. What is `done` is in none.
    pub(super) fn divided(&self, wanted: &[ScopeWanted], done: &BTreeSet<Part>) -> Divided {
        let mut divided = Divided::default();
        // Which scope a file is in.
        let mut claimed: BTreeMap<usize, usize> = BTreeMap::new();
        for (number, scope) in wanted.iter().enumerate() {
            let label = label(scope);
            let mut own = BTreeSet::new();
            for at in self.wanted(scope, &label, &mut divided.said) {
                let first = *claimed.entry(at).or_insert(number);
                if first == number {
                    own.insert(at);
                    continue;
                }
                let (path, first) = (self.path(at), wanted.get(first).map(self::label));
                let first = first.unwrap_or_default();
                divided.said.push(format!("`{path}` of scope `{label}` stays in scope `{first}`"));
            }
            let made = Scope { label, why: String::new(), focus: focus(scope), parts: Vec::new() };
            self.split(&own, &made, done, &mut divided);
        }
        let left: BTreeSet<usize> =
            (0..self.iter().count()).filter(|at| !claimed.contains_key(at)).collect();
        let is_left = |at: &&usize| self.get(**at).is_some_and(|file| !is_done(file, done));
        let paths: Vec<&str> = left.iter().filter(is_left).map(|at| self.path(*at)).collect();
        if !paths.is_empty() && !wanted.is_empty() {
            divided.said.push(format!("in no scope, so they got one: {}", named(&paths)));
        }
        let (label, why) = match wanted {
            [] => ("all files", ""),
            [_, ..] => ("files in no scope", "no scope had them"),
        };
        let (label, why) = (label.to_owned(), why.to_owned());
        let made = Scope { label, why, focus: String::new(), parts: Vec::new() };
        self.split(&left, &made, done, &mut divided);
        let finished = self.iter().filter(|file| is_done(file, done));
        let finished: Vec<&str> = finished.map(|file| file.path.as_str()).collect();
        if !finished.is_empty() {
            let finished = named(&finished);
            divided.said.push(format!("reviewed in an earlier attempt, and not again: {finished}"));
        }
        divided
    }

    /// The scopes of a second delegation, whose files others have looked at already: a file may be in several.
    pub(super) fn confirming(&self, wanted: &[ScopeWanted]) -> Divided {
        let mut divided = Divided::default();
        for scope in wanted {
            let label = label(scope);
            let own: BTreeSet<usize> =
                self.wanted(scope, &label, &mut divided.said).into_iter().collect();
            let ids = scope.confirms.iter().flatten().map(String::as_str).collect::<Vec<_>>();
            let why = format!("to confirm {}", ids.join(", "));
            let made = Scope { label, why, focus: focus(scope), parts: Vec::new() };
            self.split(&own, &made, &BTreeSet::new(), &mut divided);
        }
        divided
    }

    /// The files that a scope names, and what is said about names that are none.
    fn wanted(&self, scope: &ScopeWanted, label: &str, said: &mut Vec<String>) -> Vec<usize> {
        let mut found = Vec::new();
        for name in &scope.files {
            match self.named(name) {
                Some(at) => found.push(at),
                None => {
                    let name = short(name);
                    said.push(format!("`{name}` of scope `{label}` is not a file under review"));
                }
            }
        }
        found
    }

    /// Makes as many scopes of some files as it takes, in the order of the diff.
    fn split(
        &self,
        files: &BTreeSet<usize>,
        made: &Scope,
        done: &BTreeSet<Part>,
        divided: &mut Divided,
    ) {
        let mut packed: Vec<(Vec<Part>, usize)> = Vec::new();
        let mut alone: Vec<Scope> = Vec::new();
        for file in files.iter().filter_map(|at| self.get(*at)) {
            let open: Vec<&Piece> =
                file.pieces.iter().filter(|piece| !done.contains(&piece.part)).collect();
            if is_large(file) {
                let name = short(file.path.rsplit('/').next().unwrap_or_default());
                let label = match files.len() {
                    1 => made.label.clone(),
                    _ => format!("{}: {name}", made.label),
                };
                let large = open.iter().map(|piece| {
                    let label = own_label(&label, file, &piece.part);
                    Scope { label, parts: vec![piece.part.clone()], ..made.clone() }
                });
                alone.extend(large);
                if !open.is_empty() && (files.len() > 1 || file.pieces.len() > 1) {
                    divided.said.push(about_large(file));
                }
                continue;
            }
            for piece in open {
                match packed.last_mut() {
                    Some((parts, size)) if *size + piece.size <= self.room => {
                        parts.push(piece.part.clone());
                        *size += piece.size;
                    }
                    Some(_) | None => packed.push((vec![piece.part.clone()], piece.size)),
                }
            }
        }
        let count = packed.len();
        if count > 1 {
            let label = &made.label;
            divided.said.push(format!(
                "scope `{label}` was too large for one sub-agent and became {count}"
            ));
        }
        for (at, (parts, _)) in packed.into_iter().enumerate() {
            let label = match count {
                1 => made.label.clone(),
                _ => format!("{} ({} of {count})", made.label, at + 1),
            };
            divided.scopes.push(Scope { label, parts, ..made.clone() });
        }
        divided.scopes.extend(alone);
    }

    fn path(&self, at: usize) -> &str {
        self.get(at).map_or("", |file| file.path.as_str())
    }
}

/// Whether a file is more than enough for one sub-agent.
fn is_large(file: &File) -> bool {
    file.changed >= OWN_SCOPE_LINES || file.pieces.len() > 1
}

fn is_done(file: &File, done: &BTreeSet<Part>) -> bool {
    file.pieces.iter().all(|piece| done.contains(&piece.part))
}

/// The label of a large file's scope, or of that for a piece of it.
fn own_label(label: &str, file: &File, part: &Part) -> String {
    match file.pieces.iter().position(|piece| piece.part == *part) {
        Some(at) if file.pieces.len() > 1 => {
            format!("{label} ({} of {})", at + 1, file.pieces.len())
        }
        Some(_) | None => label.to_owned(),
    }
}

fn about_large(file: &File) -> String {
    let (path, changed) = (&file.path, file.changed);
    match file.pieces.len() {
        1 => format!("`{path}` has {changed} changed lines and got a scope of its own"),
        pieces => format!("`{path}` has {changed} changed lines and was cut into {pieces} parts"),
    }
}

/// The label of a scope that the orchestrator wants: one line, not too long, never empty.
fn label(scope: &ScopeWanted) -> String {
    let label = short(&scope.scope);
    match (label.is_empty(), scope.files.first()) {
        (false, _) => label,
        (true, Some(file)) => short(file),
        (true, None) => "a scope".to_owned(),
    }
}

fn focus(scope: &ScopeWanted) -> String {
    scope.focus.as_deref().unwrap_or_default().trim().to_owned()
}

/// A text on one line, cut where it is too long to show.
pub(super) fn short(text: &str) -> String {
    cut(&one_line(text), LABEL_MAX)
}

/// Paths in a sentence.
pub(super) fn named(paths: &[&str]) -> String {
    let shown: Vec<String> = paths.iter().take(NAMED_MAX).map(|path| format!("`{path}`")).collect();
    match paths.len().saturating_sub(NAMED_MAX) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

#[cfg(test)]
mod tests;
