//! A parsed file: its definitions, imports and mentions of names.

use std::collections::BTreeSet;

use super::module::{imported_names, imports_file};
use super::{last_segment, overlaps};
use crh_review::Location;
use crh_syntax::{
    ImportList, ImportStatement, Language, MentionRole, NameMention, Symbol, SymbolKind, Symbols,
    imports, mentions, symbols,
};

/// A file without syntax errors. A name that the parser does not find here does not occur here.
pub(super) struct ParsedFile {
    path: String,
    text: String,
    language: Language,
    pub(super) symbols: Symbols,
    imports: ImportList,
    mentions: Vec<NameMention>,
}

impl ParsedFile {
    /// Parses a file. None if the language is unknown or the file has syntax errors.
    pub(super) fn parse(path: &str, text: String, names: &BTreeSet<&str>) -> Option<Self> {
        let language = Language::from_path(path)?;
        let symbols = symbols(language, &text).ok()?;
        let imports = imports(language, &text).ok()?;
        if symbols.has_errors() || symbols.omitted() > 0 || imports.omitted() > 0 {
            return None;
        }
        let mentions = mentions(language, &text, names).ok()?;
        Some(Self { path: path.to_owned(), text, language, symbols, imports, mentions })
    }

    pub(super) fn definitions_of(&self, name: &str) -> impl Iterator<Item = &Symbol> {
        self.symbols.all().iter().filter(move |symbol| last_segment(&symbol.name) == name)
    }

    /// The only definition of a name, if it contains the location.
    pub(super) fn definition_at(&self, name: &str, place: &Location) -> Option<&Symbol> {
        let dotted_name = name.replace("::", ".");
        let mut definitions =
            self.definitions_of(last_segment(name)).filter(|symbol| match symbol.kind {
                SymbolKind::Function | SymbolKind::Method | SymbolKind::Type => true,
                SymbolKind::Module => false,
            });
        let definition = definitions.next()?;
        let is_named =
            !dotted_name.contains('.') || definition.name.replace("::", ".") == dotted_name;
        let contains_place = overlaps(definition.start, definition.end, place);
        (definitions.next().is_none() && is_named && contains_place).then_some(definition)
    }

    pub(super) fn mentions_of(&self, name: &str) -> impl Iterator<Item = &NameMention> {
        self.mentions.iter().filter(move |mention| mention.name == name)
    }

    /// A plain use of a name within the cited lines.
    pub(super) fn find_use_at(&self, name: &str, place: &Location) -> Option<&NameMention> {
        self.mentions_of(name).find(|mention| {
            let is_use = matches!(mention.role, MentionRole::Called | MentionRole::Read);
            is_use && overlaps(mention.line, mention.line, place)
        })
    }

    /// Whether something besides the symbol `except` has the same name in this file: a variable, a
    /// parameter, another definition.
    pub(super) fn has_other_binding(&self, name: &str, except: Option<&Symbol>) -> bool {
        let is_in_exception =
            |line: u32| except.is_some_and(|symbol| (symbol.start..=symbol.end).contains(&line));
        let is_binding =
            |role: &MentionRole| matches!(role, MentionRole::Named | MentionRole::Destructured);
        let mut mentions = self.mentions_of(name);
        mentions.any(|mention| is_binding(&mention.role) && !is_in_exception(mention.line))
    }

    /// Whether the language has a value called `undefined`.
    pub(super) fn has_undefined_values(&self) -> bool {
        family(self.language) == Language::JavaScript
    }

    /// Import statements that bind a name.
    pub(super) fn imports_of(&self, name: &str) -> impl Iterator<Item = &ImportStatement> {
        self.imports
            .all()
            .iter()
            .filter(move |import| imported_names(self.language, &import.text).contains(&name))
    }

    /// Whether the file gets a name from another file: by an import with a matching path, or
    /// because both belong to the same Go package.
    pub(super) fn imports_from(&self, name: &str, defined_in: &str) -> bool {
        if Language::from_path(defined_in)
            .is_none_or(|language| family(language) != family(self.language))
        {
            return false;
        }
        if self.language == Language::Go {
            return folder(defined_in) == folder(&self.path);
        }
        self.imports_of(name)
            .any(|import| imports_file(self.language, &import.text, &self.path, defined_in))
    }

    /// Whether the definition in these lines always exists: its first line is not indented, so that
    /// no `if` encloses it, and the file has no conditional compilation. False in languages with a
    /// preprocessor.
    pub(super) fn is_unconditional(&self, start: u32, end: u32) -> bool {
        let count = usize::try_from(end.saturating_sub(start)).unwrap_or(usize::MAX);
        let lines_before = usize::try_from(start.saturating_sub(1)).unwrap_or(usize::MAX);
        let mut lines = self.text.lines().skip(lines_before).take(count.saturating_add(1));
        let at_margin = lines.next().is_some_and(|line| !line.starts_with([' ', '\t']));
        let has_preprocessor =
            matches!(self.language, Language::C | Language::Cpp | Language::CSharp);
        at_margin && !has_preprocessor && !self.text.contains("cfg(")
    }

    /// Whether a definition is visible before its position in the file.
    pub(super) fn allows_any_order(&self) -> bool {
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
        self.symbols.symbol_at(line).is_some_and(|symbol| match symbol.kind {
            SymbolKind::Function | SymbolKind::Method => true,
            SymbolKind::Type | SymbolKind::Module => false,
        })
    }

    /// Whether a line is in an inline test.
    pub(super) fn is_in_test(&self, line: u32) -> bool {
        let is_test = |name: &str| name.to_ascii_lowercase().starts_with("test");
        self.symbols
            .symbol_at(line)
            .is_some_and(|symbol| symbol.name.split(['.', ':']).any(is_test))
    }
}

/// One language for all languages whose files can import each other.
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
