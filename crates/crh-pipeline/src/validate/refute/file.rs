//! One file of the tree, parsed: what it defines, what it imports, and where names stand in it.

use std::collections::BTreeSet;

use super::module::{bound, comes_from};
use super::{meets, own};
use crh_review::Location;
use crh_syntax::{
    Import, Imports, Language, Mention, MentionRole, Symbol, SymbolKind, Symbols, imports,
    mentions, symbols,
};

/// A file that parses without an error, so that what is not found in it is not there.
pub(super) struct ParsedFile {
    path: String,
    text: String,
    language: Language,
    pub(super) symbols: Symbols,
    imports: Imports,
    mentions: Vec<Mention>,
}

impl ParsedFile {
    /// The file, if it is in a language that is known and parses as a whole.
    pub(super) fn of(path: &str, text: String, names: &BTreeSet<&str>) -> Option<Self> {
        let language = Language::of_path(path)?;
        let symbols = symbols(language, &text).ok()?;
        let imports = imports(language, &text).ok()?;
        if symbols.has_errors() || symbols.left_out() > 0 || imports.left_out() > 0 {
            return None;
        }
        let mentions = mentions(language, &text, names).ok()?;
        Some(Self { path: path.to_owned(), text, language, symbols, imports, mentions })
    }

    /// Everything in it that is called so.
    pub(super) fn definitions_of(&self, name: &str) -> impl Iterator<Item = &Symbol> {
        self.symbols.all().iter().filter(move |symbol| own(&symbol.name) == name)
    }

    /// The one thing of that name, if the place is in it.
    pub(super) fn defined_at(&self, name: &str, place: &Location) -> Option<&Symbol> {
        let written = name.replace("::", ".");
        let mut all = self.definitions_of(own(name)).filter(|symbol| match symbol.kind {
            SymbolKind::Function | SymbolKind::Method | SymbolKind::Type => true,
            SymbolKind::Module => false,
        });
        let only = all.next()?;
        let is_named = !written.contains('.') || only.name.replace("::", ".") == written;
        let is_at = meets(only.start, only.end, place);
        (all.next().is_none() && is_named && is_at).then_some(only)
    }

    pub(super) fn mentions_of(&self, name: &str) -> impl Iterator<Item = &Mention> {
        self.mentions.iter().filter(move |mention| mention.name == name)
    }

    /// The place where a name is used on its own, among the cited lines.
    pub(super) fn used_at(&self, name: &str, place: &Location) -> Option<&Mention> {
        self.mentions_of(name).find(|mention| {
            let is_use = matches!(mention.role, MentionRole::Called | MentionRole::Read);
            is_use && meets(mention.line, mention.line, place)
        })
    }

    /// Whether something else in the file may have the name: a variable, a parameter, another definition.
    pub(super) fn names_another(&self, name: &str, but: Option<&Symbol>) -> bool {
        let is_own = |line: u32| but.is_some_and(|it| (it.start..=it.end).contains(&line));
        let mut mentions = self.mentions_of(name);
        mentions.any(|mention| mention.role == MentionRole::Named && !is_own(mention.line))
    }

    /// Whether anything may have a value that is called undefined.
    pub(super) fn has_undefined_values(&self) -> bool {
        family(self.language) == Language::JavaScript
    }

    /// The statements that bring a name into the file.
    pub(super) fn imports_of(&self, name: &str) -> impl Iterator<Item = &Import> {
        self.imports.all().iter().filter(move |it| bound(self.language, &it.text).contains(&name))
    }

    /// Whether the file has a name from another file: by an import whose path leads to it, or because all files
    /// of a folder are one package.
    pub(super) fn takes_in(&self, name: &str, from: &str) -> bool {
        if Language::of_path(from).is_none_or(|language| family(language) != family(self.language))
        {
            return false;
        }
        if self.language == Language::Go {
            return folder(from) == folder(&self.path);
        }
        self.imports_of(name)
            .any(|import| comes_from(self.language, &import.text, &self.path, from))
    }

    /// Whether what stands on these lines is there whatever happens: at the margin, and not for some builds only.
    pub(super) fn is_unconditional(&self, start: u32, end: u32) -> bool {
        let count = usize::try_from(end.saturating_sub(start)).unwrap_or(usize::MAX);
        let skipped = usize::try_from(start.saturating_sub(1)).unwrap_or(usize::MAX);
        let mut lines = self.text.lines().skip(skipped).take(count.saturating_add(1));
        let at_margin = lines.next().is_some_and(|line| !line.starts_with([' ', '\t']));
        let is_preprocessed =
            matches!(self.language, Language::C | Language::Cpp | Language::CSharp);
        at_margin && !is_preprocessed && !self.text.contains("cfg(")
    }

    /// Whether a definition counts wherever it stands in the file.
    pub(super) fn order_is_free(&self) -> bool {
        match self.language {
            Language::Rust
            | Language::Go
            | Language::Java
            | Language::CSharp
            | Language::Kotlin
            | Language::Swift => true,
            Language::Python
            | Language::JavaScript
            | Language::TypeScript
            | Language::Tsx
            | Language::Ruby
            | Language::C
            | Language::Cpp
            | Language::Php => false,
        }
    }

    pub(super) fn is_in_function(&self, line: u32) -> bool {
        self.symbols.at(line).is_some_and(|symbol| match symbol.kind {
            SymbolKind::Function | SymbolKind::Method => true,
            SymbolKind::Type | SymbolKind::Module => false,
        })
    }

    /// Whether a line is in a test inside the file, as Rust has them.
    pub(super) fn is_in_test(&self, line: u32) -> bool {
        let is_test = |name: &str| name.to_ascii_lowercase().starts_with("test");
        self.symbols.at(line).is_some_and(|symbol| symbol.name.split(['.', ':']).any(is_test))
    }
}

/// Languages whose files import from each other.
fn family(language: Language) -> Language {
    match language {
        Language::JavaScript | Language::TypeScript | Language::Tsx => Language::JavaScript,
        Language::C | Language::Cpp => Language::Cpp,
        other @ (Language::Python
        | Language::Rust
        | Language::Go
        | Language::Java
        | Language::Ruby
        | Language::CSharp
        | Language::Php
        | Language::Kotlin
        | Language::Swift) => other,
    }
}

fn folder(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}
