//! Symbols that the change removes (names and modules), and functions whose parameters it changes.

use std::collections::BTreeSet;

use super::path_index::parent_folder;
use super::repo_index::RepoIndex;
use super::suspects::{LanguageFamily, SuspectFile};
use crate::ChangedFile;
use crh_review::finding::Side;
use crh_syntax::{CallSignature, Surface};

/// A symbol that existed before the change and no longer exists, or whose parameters changed.
#[derive(Debug, Clone)]
pub(super) struct RemovedSymbol<'a> {
    pub(super) file: &'a ChangedFile,
    pub(super) family: LanguageFamily,
    /// Old path of the file.
    pub(super) path: &'a str,
    /// The name of the symbol; for a module, the last part of its import path.
    pub(super) name: String,
    /// The type or inline module that contains the symbol; empty at the top level of the file. In
    /// Rust the name of a type ends with a dot.
    pub(super) container: String,
    /// Line in the old text, 1-based.
    pub(super) line: u32,
    pub(super) kind: RemovalKind,
}

#[derive(Debug, Clone)]
pub(super) enum RemovalKind {
    Name,
    /// The whole file is deleted or moved.
    Module,
    /// The parameters changed; `line` is the line of the new definition.
    Signature {
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
            _ if self.family == LanguageFamily::Go && matches!(self.kind, RemovalKind::Module) => {
                parent_folder(self.path).rsplit('/').next().unwrap_or_default().to_owned()
            }
            // `?` and `!` at the end of a Ruby method are not part of a word.
            name if self.family == LanguageFamily::Ruby => {
                name.trim_end_matches(['?', '!']).to_owned()
            }
            name => name.to_owned(),
        }
    }

    /// Whether a file with this text may use the symbol, so that parsing the file may be useful.
    pub(super) fn may_be_used_in(&self, text: &str) -> bool {
        // Java and Rust code names the type beside its member: `Type.name`, `Type::name`. A Java
        // import names the class, and so the file.
        let container = match self.family {
            LanguageFamily::Java if matches!(self.kind, RemovalKind::Module) => {
                Some(file_stem(self.path))
            }
            LanguageFamily::Java => self.container.rsplit('.').next(),
            LanguageFamily::Rust => self.container.strip_suffix('.'),
            LanguageFamily::Python
            | LanguageFamily::Script
            | LanguageFamily::Go
            | LanguageFamily::Ruby => None,
        };
        // A folder is imported as `.`, and a default export under any name.
        let needs_name = matches!(self.kind, RemovalKind::Name | RemovalKind::Signature { .. })
            && self.search_word() == self.name;
        container.is_none_or(|it| text.contains(it)) && (!needs_name || text.contains(&self.name))
    }
}

pub(super) fn removed_symbols<'a>(
    repo: &RepoIndex<'_>,
    suspects: &[SuspectFile<'a>],
) -> Vec<RemovedSymbol<'a>> {
    let symbols =
        suspects.iter().filter(|it| it.may_remove_names).flat_map(|it| removed_in_file(repo, it));
    // Report a removed Go package once, even if the package had several files.
    let mut packages = BTreeSet::new();
    symbols
        .filter(|symbol| {
            symbol.family != LanguageFamily::Go
                || !matches!(symbol.kind, RemovalKind::Module)
                || packages.insert(parent_folder(symbol.path))
        })
        .collect()
}

fn removed_in_file<'a>(repo: &RepoIndex<'_>, suspect: &SuspectFile<'a>) -> Vec<RemovedSymbol<'a>> {
    let Some(path) = suspect.file.old_path.as_deref() else { return Vec::new() };
    let Some(old_source) = repo.source(Side::Old, path) else { return Vec::new() };
    let symbol = |name: &str, container: &str, line, kind| RemovedSymbol {
        file: suspect.file,
        family: suspect.family,
        path,
        name: name.to_owned(),
        container: container.to_owned(),
        line,
        kind,
    };
    let mut symbols = Vec::new();
    let keeps_path = !suspect.file.is_deleted && suspect.file.path == path;
    if !keeps_path {
        symbols.push(symbol(&module_stem(path), "", 1, RemovalKind::Module));
    }
    let new_source = repo.source(Side::New, &suspect.file.path);
    let new_surface = match (&new_source, suspect.file.is_deleted) {
        (Some(new_source), false) => Some(&new_source.surface),
        (None, false) => return symbols,
        (_, true) => None,
    };
    if old_source.surface.has_errors || new_surface.is_some_and(|it| it.has_errors) {
        return symbols;
    }
    for declaration in &old_source.surface.declarations {
        let has_same_name = |other: &&crh_syntax::Declaration| {
            other.name == declaration.name && other.container == declaration.container
        };
        let remaining = new_surface
            .into_iter()
            .flat_map(|it| &it.declarations)
            .find(|it| has_same_name(it) && it.is_exported >= declaration.is_exported);
        if remaining.is_none() {
            symbols.push(symbol(
                &declaration.name,
                &declaration.container,
                declaration.line,
                RemovalKind::Name,
            ));
            continue;
        }
        let (Some(remaining), Some(new_surface)) = (remaining, new_surface) else { continue };
        if let (Some(old), Some(new)) = (&declaration.signature, &remaining.signature)
            && old != new
            && is_unique(&old_source.surface, declaration)
            && is_unique(new_surface, remaining)
        {
            let kind = RemovalKind::Signature {
                before: old.clone(),
                after: new.clone(),
                line: remaining.line,
            };
            symbols.push(symbol(&declaration.name, &declaration.container, declaration.line, kind));
        }
    }
    symbols.dedup_by(|a, b| {
        a.name == b.name
            && a.container == b.container
            && matches!((&a.kind, &b.kind), (RemovalKind::Name, RemovalKind::Name))
    });
    symbols
}

fn is_unique(surface: &Surface, declaration: &crh_syntax::Declaration) -> bool {
    let is_same = |other: &&crh_syntax::Declaration| {
        other.name == declaration.name
            && other.container == declaration.container
            && other.is_exported == declaration.is_exported
    };
    surface.declarations.iter().filter(is_same).count() == 1
}

/// The last part of a module's import path: the file name, or the folder name for index files.
pub(super) fn module_stem(path: &str) -> String {
    match file_stem(path) {
        "__init__" | "index" | "mod" => {
            let folder = parent_folder(path);
            folder.rsplit('/').next().unwrap_or(folder).to_owned()
        }
        stem => stem.to_owned(),
    }
}

/// The name of a file up to the first dot.
fn file_stem(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.split('.').next().unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn java_file_without_the_class_name_cannot_use_a_deleted_class() {
        let path = "src/p/Foo.java";
        let file =
            ChangedFile { path: path.to_owned(), is_deleted: true, ..ChangedFile::default() };
        let symbol = |name: &str, container: &str, kind| RemovedSymbol {
            file: &file,
            family: LanguageFamily::Java,
            path,
            name: name.to_owned(),
            container: container.to_owned(),
            line: 1,
            kind,
        };
        let symbols =
            [symbol("Foo", "", RemovalKind::Module), symbol("load", "Foo", RemovalKind::Name)];
        let uses = |text: &str| symbols.each_ref().map(|symbol| symbol.may_be_used_in(text));
        assert_eq!(uses("import p.Foo;\nclass Bar { Foo foo; }\n"), [true, false]);
        assert_eq!(uses("class Bar { void f() { Foo.load(); } }\n"), [true, true]);
        assert_eq!(uses("class Bar { void load() {} }\n"), [false, false]);
    }
}
