//! A file that may use removed symbols, and the uses in it that break.

use std::collections::BTreeSet;
use std::rc::Rc;

use super::removed::{RemovalKind, RemovedSymbol};
use super::repo_index::SourceFile;
use crate::ChangedFile;
use crh_syntax::{NameUse, UseRole};

/// A line that breaks because of the change.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct BrokenUse {
    pub(super) path: String,
    pub(super) line: u32,
    pub(super) text: String,
}

/// A file that may use a removed symbol.
pub(super) struct UsingFile<'a> {
    pub(super) path: &'a str,
    /// Path before the change.
    pub(super) old_path: &'a str,
    pub(super) source: Rc<SourceFile>,
    /// The file's part of the diff; `None` if the change does not touch the file.
    pub(super) changed_file: Option<&'a ChangedFile>,
}

impl UsingFile<'_> {
    pub(super) fn adds(&self, line: u32) -> bool {
        self.changed_file.is_some_and(|it| it.adds(line))
    }

    pub(super) fn broken_use(&self, line: u32) -> BrokenUse {
        BrokenUse { path: self.path.to_owned(), line, text: self.source.line(line).to_owned() }
    }

    pub(super) fn uses_of(&self, name: &str, qualifier: &str) -> impl Iterator<Item = &NameUse> {
        let uses = self.source.uses.iter();
        uses.filter(move |it| it.name == name && it.qualifier == qualifier)
    }

    /// Whether a name is bound nowhere in the file except by its import.
    pub(super) fn is_unbound(&self, name: &str) -> bool {
        let first = name.split(['.', ':']).next().unwrap_or(name);
        !self.uses_of(first, "").any(|it| it.role == UseRole::Bound)
    }

    /// Whether the removal of `symbol`, or its new signature, breaks this use. A call breaks if the
    /// new signature rejects it, and the old one accepted it or the change adds it.
    pub(super) fn breaks_use(&self, symbol: &RemovedSymbol<'_>, name_use: &NameUse) -> bool {
        match (&symbol.kind, &name_use.role) {
            (RemovalKind::Name, UseRole::Read | UseRole::Called(_)) => true,
            (RemovalKind::Signature { before, after, .. }, UseRole::Called(arguments)) => {
                !after.accepts(arguments) && (before.accepts(arguments) || self.adds(name_use.line))
            }
            _ => false,
        }
    }

    /// The uses that the removal of `symbol` breaks.
    pub(super) fn filter_broken<'u>(
        &self,
        symbol: &RemovedSymbol<'_>,
        uses: impl Iterator<Item = &'u NameUse>,
    ) -> BTreeSet<BrokenUse> {
        uses.filter(|it| self.breaks_use(symbol, it)).map(|it| self.broken_use(it.line)).collect()
    }
}
