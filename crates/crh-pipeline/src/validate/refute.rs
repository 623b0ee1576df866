//! Refutes claims by looking: that something is unused, undefined, not imported or there twice.
//!
//! A claim is refuted only where the contrary is certain, and with the place that shows it. The issue has to stand where
//! its claim is about (at the definition, at the import, at the use), every finding of it has to be refuted, and
//! what does not parse proves nothing. Uses in tests, comments and texts do not count.

mod file;
mod module;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::AtomicBool;

use self::file::ParsedFile;
use super::claim::{Claim, What, claim};
use crate::code::Code;
use crate::scope::{Role, role_of};
use crh_git::{Pattern, Query, search};
use crh_review::diff::RepoPath;
use crh_review::finding::Side;
use crh_review::report::{Issue, Validation};
use crh_review::{Judged, Judgement, Location};
use crh_syntax::{Language, Mention, MentionRole, Symbol, SymbolKind};

/// How many names are searched for. A review that claims more about names than this is best read by a person.
const NAMES_MAX: usize = 64;

/// How many lines that have one of the names are looked at. A name that is everywhere is no name that is unused.
const MATCHES_MAX: usize = 20_000;

/// How many files are parsed to settle all claims.
const FILES_MAX: usize = 200;

/// The judgements on issues whose claims are not so, by `dedupe_key`.
pub(super) fn refuted(
    issues: &[Issue],
    code: &Code<'_>,
    stop: &AtomicBool,
) -> BTreeMap<String, Judgement> {
    let claimed: Vec<(&Issue, Vec<Claim>)> = claimed(issues).collect();
    let names = claimed.iter().flat_map(|(_, claims)| claims).map(|claim| own(&claim.name));
    let names: BTreeSet<&str> = names.take(NAMES_MAX).collect();
    let mut tree = Tree::search(code, &names, stop);
    let refuted = claimed.iter().filter_map(|(issue, claims)| {
        let reasons: Option<Vec<String>> =
            claims.iter().map(|claim| tree.contrary(claim, &issue.location)).collect();
        let mut reasons = reasons?;
        reasons.dedup();
        let judgement = Judgement { result: Judged::Refuted, reason: reasons.join("; ") };
        Some((issue.dedupe_key.clone(), judgement))
    });
    refuted.collect()
}

/// Whether there is anything to look up.
pub(super) fn has_claims(issues: &[Issue]) -> bool {
    claimed(issues).next().is_some()
}

/// The issues that are nothing but claims, with these.
fn claimed(issues: &[Issue]) -> impl Iterator<Item = (&Issue, Vec<Claim>)> {
    let is_asked =
        |issue: &&Issue| issue.validation != Validation::ByCode && issue.location.side == Side::New;
    issues.iter().filter(is_asked).filter_map(|issue| Some((issue, claims(issue)?)))
}

/// The claims of an issue, if that is all that its findings say.
fn claims(issue: &Issue) -> Option<Vec<Claim>> {
    let claims: Option<Vec<Claim>> =
        issue.members.iter().map(|member| claim(&member.finding)).collect();
    claims.filter(|claims| !claims.is_empty())
}

/// A name without what is around it.
fn own(name: &str) -> &str {
    name.rsplit(['.', ':']).next().unwrap_or(name)
}

/// The tree after the change, as far as it has the names in question.
struct Tree<'a> {
    code: &'a Code<'a>,
    names: BTreeSet<&'a str>,
    /// The files in which each name stands.
    places: BTreeMap<&'a str, BTreeSet<String>>,
    /// Whether these are all files.
    is_complete: bool,
    parsed: BTreeMap<String, Option<ParsedFile>>,
}

impl<'a> Tree<'a> {
    /// Searches the tree once for all names.
    fn search(code: &'a Code<'a>, names: &BTreeSet<&'a str>, stop: &AtomicBool) -> Self {
        let mut tree = Self {
            code,
            names: names.clone(),
            places: BTreeMap::new(),
            is_complete: false,
            parsed: BTreeMap::new(),
        };
        let Some(repository) = code.repository() else { return tree };
        let Some(head) = repository.named(Some("head")) else { return tree };
        // Names are letters, digits and underscores: nothing in them means something in a pattern.
        let names: Vec<&str> = names.iter().copied().collect();
        let query = Query {
            pattern: Pattern::Regex(format!(r"\b(?:{})\b", names.join("|"))),
            glob: None,
            ignore_case: false,
            max_matches: MATCHES_MAX,
        };
        let is_code = |path: &[u8]| Language::of_path(&String::from_utf8_lossy(path)).is_some();
        let Ok(found) = search(repository.objects(), head, &query, &is_code, stop) else {
            return tree;
        };
        tree.is_complete = found.total <= MATCHES_MAX as u64 && found.unread.is_empty();
        for hit in &found.matches {
            let text = String::from_utf8_lossy(&hit.text);
            let path = RepoPath::new(hit.path.as_slice()).shown().into_owned();
            for name in names.iter().filter(|name| text.contains(**name)) {
                tree.places.entry(name).or_default().insert(path.clone());
            }
        }
        tree
    }

    /// A file, if it parses without an error.
    fn file(&mut self, path: &str) -> Option<&ParsedFile> {
        if !self.parsed.contains_key(path) {
            if self.parsed.len() == FILES_MAX {
                return None;
            }
            let text = self.code.text(Side::New, path);
            let file = text.and_then(|text| ParsedFile::of(path, text, &self.names));
            self.parsed.insert(path.to_owned(), file);
        }
        self.parsed[path].as_ref()
    }

    /// The place that shows that a claim is not so, in a sentence.
    fn contrary(&mut self, claim: &Claim, place: &Location) -> Option<String> {
        if !self.names.contains(own(&claim.name)) {
            return None;
        }
        match claim.what {
            What::Uncalled | What::Unused => self.use_of(claim, place),
            What::UnusedImport => self.use_of_import(claim, place),
            What::Undefined => self.definition(claim, place),
            What::NotImported => self.import(claim, place),
            What::DefinedTwice => self.only_definition(claim, place),
            What::ImportedTwice => self.only_import(claim, place),
        }
    }

    /// A use of something that is defined at the place.
    fn use_of(&mut self, claim: &Claim, place: &Location) -> Option<String> {
        let name = own(&claim.name).to_owned();
        let file = self.file(&place.file)?;
        let defined = file.defined_at(&claim.name, place)?.clone();
        if let Some(line) = use_in_file(file, &defined, claim.what) {
            return Some(used(&name, &place.file, line));
        }
        // Of a method it is not certain whose it is that others call.
        if defined.name != name {
            return None;
        }
        let elsewhere: Vec<String> = self.places.get(name.as_str())?.iter().cloned().collect();
        elsewhere.iter().filter(|path| **path != place.file && !is_test(path)).find_map(|path| {
            let file = self.file(path)?;
            let line = use_from_outside(file, &name, &place.file, claim.what)?;
            Some(used(&name, path, line))
        })
    }

    /// A use of something that is imported at the place.
    fn use_of_import(&mut self, claim: &Claim, place: &Location) -> Option<String> {
        let file = self.file(&place.file)?;
        file.imports_of(&claim.name).find(|import| meets(import.start, import.end, place))?;
        if file.names_another(&claim.name, None) {
            return None;
        }
        let mention = file.mentions_of(&claim.name).find(|mention| match mention.role {
            MentionRole::Called | MentionRole::Read => true,
            MentionRole::Named | MentionRole::Imported | MentionRole::Reached { .. } => false,
        })?;
        Some(used(&claim.name, &place.file, mention.line))
    }

    /// The definition or import of something that is used at the place.
    fn definition(&mut self, claim: &Claim, place: &Location) -> Option<String> {
        let imported = self.import(claim, place);
        let file = self.file(&place.file)?;
        // There, `undefined` is a value that anything may have.
        if file.has_undefined_values() {
            return None;
        }
        if imported.is_some() {
            return imported;
        }
        file.used_at(&claim.name, place)?;
        let symbol = file.symbols.all().iter().find(|symbol| {
            let is_one = match symbol.kind {
                SymbolKind::Function | SymbolKind::Type => symbol.name == claim.name,
                SymbolKind::Method | SymbolKind::Module => false,
            };
            is_one && file.is_unconditional(symbol.start, symbol.end)
        })?;
        let is_there = symbol.end < place.line_start
            || file.order_is_free()
            || file.is_in_function(place.line_start);
        is_there
            .then(|| format!("`{}` is defined at `{}:{}`", claim.name, place.file, symbol.start))
    }

    /// The import of something that is used at the place.
    fn import(&mut self, claim: &Claim, place: &Location) -> Option<String> {
        let file = self.file(&place.file)?;
        file.used_at(&claim.name, place)?;
        let import = file.imports_of(&claim.name).find(|import| {
            import.start <= place.line_start && file.is_unconditional(import.start, import.start)
        })?;
        Some(format!("`{}` is imported at `{}:{}`", claim.name, place.file, import.start))
    }

    /// The definition at the place, if it is the only one in the tree.
    fn only_definition(&mut self, claim: &Claim, place: &Location) -> Option<String> {
        let name = own(&claim.name).to_owned();
        let file = self.file(&place.file)?;
        let defined = file.defined_at(&claim.name, place)?;
        let start = defined.start;
        let is_imported = |mention: &Mention| mention.role == MentionRole::Imported;
        if file.names_another(&name, Some(defined)) || file.mentions_of(&name).any(is_imported) {
            return None;
        }
        let paths: Vec<String> = self.places.get(name.as_str())?.iter().cloned().collect();
        let mut count = 0;
        for path in &paths {
            // What cannot be parsed may define anything.
            count += self.file(path)?.definitions_of(&name).count();
        }
        (self.is_complete && count == 1)
            .then(|| format!("`{name}` is defined at `{}:{start}` and nowhere else", place.file))
    }

    /// The import at the place, if it is the only one in the file.
    fn only_import(&mut self, claim: &Claim, place: &Location) -> Option<String> {
        let file = self.file(&place.file)?;
        let imports: Vec<_> = file.imports_of(&claim.name).collect();
        let [import] = imports.as_slice() else { return None };
        let is_elsewhere = |mention: &Mention| {
            mention.role == MentionRole::Imported
                && !(import.start..=import.end).contains(&mention.line)
        };
        let is_once = meets(import.start, import.end, place)
            && !file.mentions_of(&claim.name).any(is_elsewhere);
        is_once.then(|| {
            format!("`{}` is imported at `{}:{}` alone", claim.name, place.file, import.start)
        })
    }
}

fn used(name: &str, path: &str, line: u32) -> String {
    format!("`{name}` is used at `{path}:{line}`")
}

fn is_test(path: &str) -> bool {
    match role_of(path) {
        Role::Test => true,
        Role::Executable | Role::Config | Role::Prose | Role::Other => false,
    }
}

/// Whether a span of lines has one of the cited lines in it.
fn meets(start: u32, end: u32, place: &Location) -> bool {
    start <= place.line_end && place.line_start <= end
}

/// The line in its own file where a definition is used, outside of itself.
fn use_in_file(file: &ParsedFile, defined: &Symbol, what: What) -> Option<u32> {
    let name = own(&defined.name);
    let outer = &defined.name[..defined.name.len() - name.len()];
    if outer.is_empty() && file.names_another(name, Some(defined)) {
        return None;
    }
    let is_there = |mention: &&Mention| {
        let is_own = (defined.start..=defined.end).contains(&mention.line);
        let is_same_type =
            || file.symbols.at(mention.line).is_some_and(|symbol| symbol.name.starts_with(outer));
        let is_meant = match &mention.role {
            MentionRole::Reached { of } => {
                let is_self = matches!(of.as_str(), "self" | "this" | "Self" | "cls");
                !outer.is_empty() && is_self && is_same_type()
            }
            role => outer.is_empty() && is_use(role, what, name),
        };
        is_meant && !is_own && !file.is_in_test(mention.line)
    };
    file.mentions_of(name).find(is_there).map(|mention| mention.line)
}

/// The line of another file where a definition is used: the file takes it in from there, or is of the same package.
fn use_from_outside(file: &ParsedFile, name: &str, defined_in: &str, what: What) -> Option<u32> {
    if !file.takes_in(name, defined_in) || file.names_another(name, None) {
        return None;
    }
    let mut mentions = file.mentions_of(name);
    let is_there =
        |mention: &&Mention| is_use(&mention.role, what, name) && !file.is_in_test(mention.line);
    mentions.find(is_there).map(|mention| mention.line)
}

/// Whether a mention certainly uses what has the name. A variable may have the name of a function, so that a function has to
/// be called; nobody names a variable with a capital.
fn is_use(role: &MentionRole, what: What, name: &str) -> bool {
    let reading_counts = match what {
        What::Uncalled => false,
        What::Unused
        | What::UnusedImport
        | What::Undefined
        | What::NotImported
        | What::DefinedTwice
        | What::ImportedTwice => name.starts_with(|char: char| char.is_ascii_uppercase()),
    };
    match role {
        MentionRole::Called => true,
        MentionRole::Read => reading_counts,
        MentionRole::Named | MentionRole::Imported | MentionRole::Reached { .. } => false,
    }
}
