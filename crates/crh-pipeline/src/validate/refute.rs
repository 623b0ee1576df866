//! Refutes claims by searching the code: that a name is unused, undefined, not imported or
//! duplicated.
//!
//! A claim is refuted only if the opposite is certain, with the location as proof. The issue must
//! be located at the definition, import or use in question, and all of its findings must be
//! refuted. Files with syntax errors prove nothing. Uses in tests, comments and strings do not
//! count.

mod file;
mod module;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::AtomicBool;

use self::file::ParsedFile;
use super::claim::{Claim, ClaimKind, parse_claim};
use crate::code_reader::CodeReader;
use crate::scope::{FileRole, role_of_path};
use crh_git::{SearchQuery, search};
use crh_review::diff::RepoPath;
use crh_review::finding::Side;
use crh_review::report::Issue;
use crh_review::{Judgement, JudgementResult, Location};
use crh_syntax::{Language, MentionRole, NameMention, Symbol, SymbolKind};

/// Maximum number of names to search for. A review has far fewer claims.
const NAMES_MAX: usize = 64;

/// Maximum number of matching lines, which bounds the memory of the search.
const MATCHES_MAX: usize = 20_000;

/// Maximum number of files to parse, which bounds the time.
const FILES_MAX: usize = 200;

/// Judgements on refuted issues, by `dedupe_key`.
pub(super) fn refute_claims(
    issues: &[Issue],
    code: &CodeReader<'_>,
    stop: &AtomicBool,
) -> BTreeMap<String, Judgement> {
    let claims_by_issue: Vec<(&Issue, Vec<Claim>)> = issues_with_claims(issues).collect();
    let names = claims_by_issue
        .iter()
        .flat_map(|(_, claims)| claims)
        .map(|claim| last_segment(&claim.name));
    let names: BTreeSet<&str> = names.take(NAMES_MAX).collect();
    let mut index = NameIndex::search(code, &names, stop);
    let refuted = claims_by_issue.iter().filter_map(|(issue, claims)| {
        let reasons: Option<Vec<String>> =
            claims.iter().map(|claim| index.find_contradiction(claim, &issue.location)).collect();
        let mut reasons = reasons?;
        reasons.dedup();
        let judgement = Judgement::new(JudgementResult::Refuted, reasons.join("; "));
        Some((issue.dedupe_key.clone(), judgement))
    });
    refuted.collect()
}

/// Whether any issue has a claim to look up.
pub(super) fn has_claims(issues: &[Issue]) -> bool {
    issues_with_claims(issues).next().is_some()
}

/// Issues that consist of claims only, with the claims.
fn issues_with_claims(issues: &[Issue]) -> impl Iterator<Item = (&Issue, Vec<Claim>)> {
    let can_be_refuted =
        |issue: &&Issue| issue.takes_second_look() && issue.location.side == Side::New;
    issues.iter().filter(can_be_refuted).filter_map(|issue| Some((issue, claims(issue)?)))
}

/// The claims of an issue. None if one of its findings is not a claim that code can look up.
fn claims(issue: &Issue) -> Option<Vec<Claim>> {
    let claims: Option<Vec<Claim>> =
        issue.members.iter().map(|member| parse_claim(&member.finding)).collect();
    claims.filter(|claims| !claims.is_empty())
}

/// The last segment of a path: `total` of `Cart.total`.
fn last_segment(name: &str) -> &str {
    name.rsplit(['.', ':']).next().unwrap_or(name)
}

/// The files of the head revision in which the claimed names occur.
struct NameIndex<'a> {
    code: &'a CodeReader<'a>,
    names: BTreeSet<&'a str>,
    /// Files that contain each name.
    files_by_name: BTreeMap<&'a str, BTreeSet<String>>,
    /// Whether the search was complete.
    is_complete: bool,
    parsed: BTreeMap<String, Option<ParsedFile>>,
}

impl<'a> NameIndex<'a> {
    /// Searches the tree once for all names.
    fn search(code: &'a CodeReader<'a>, names: &BTreeSet<&'a str>, stop: &AtomicBool) -> Self {
        let mut index = Self {
            code,
            names: names.clone(),
            files_by_name: BTreeMap::new(),
            is_complete: false,
            parsed: BTreeMap::new(),
        };
        let Some(repository) = code.repository() else { return index };
        let Some(head) = repository.resolve(Some("head")) else { return index };
        let query = SearchQuery {
            max_matches: MATCHES_MAX,
            ..SearchQuery::for_words(names.iter().copied())
        };
        let is_code = |path: &[u8]| Language::from_path(&String::from_utf8_lossy(path)).is_some();
        let Ok(search_result) = search(repository.objects(), head, &query, &is_code, stop) else {
            return index;
        };
        index.is_complete =
            search_result.total <= MATCHES_MAX as u64 && search_result.unreadable_files.is_empty();
        for hit in &search_result.matches {
            let text = String::from_utf8_lossy(&hit.text);
            let path = RepoPath::new(hit.path.as_slice()).shown().into_owned();
            for name in names.iter().filter(|name| text.contains(**name)) {
                index.files_by_name.entry(name).or_default().insert(path.clone());
            }
        }
        index
    }

    /// A parsed file. None if it has syntax errors or cannot be read, or after [`FILES_MAX`] files.
    fn file(&mut self, path: &str) -> Option<&ParsedFile> {
        if !self.parsed.contains_key(path) {
            if self.parsed.len() == FILES_MAX {
                return None;
            }
            let text = self.code.text(Side::New, path);
            let file = text.and_then(|text| ParsedFile::parse(path, text, &self.names));
            self.parsed.insert(path.to_owned(), file);
        }
        self.parsed[path].as_ref()
    }

    /// A sentence with the location that contradicts the claim.
    fn find_contradiction(&mut self, claim: &Claim, place: &Location) -> Option<String> {
        if !self.names.contains(last_segment(&claim.name)) {
            return None;
        }
        match claim.kind {
            ClaimKind::Uncalled | ClaimKind::Unused => self.find_use(claim, place),
            ClaimKind::UnusedImport => self.find_import_use(claim, place),
            ClaimKind::Undefined => self.find_definition(claim, place),
            ClaimKind::NotImported => self.find_import(claim, place),
            ClaimKind::DefinedTwice => self.find_only_definition(claim, place),
            ClaimKind::ImportedTwice => self.find_only_import(claim, place),
        }
    }

    /// A use of the symbol that is defined at the location.
    fn find_use(&mut self, claim: &Claim, place: &Location) -> Option<String> {
        let name = last_segment(&claim.name).to_owned();
        let file = self.file(&place.file)?;
        let definition = file.definition_at(&claim.name, place)?.clone();
        if let Some(line) = use_in_file(file, &definition, claim.kind) {
            return Some(used_at_text(&name, &place.file, line));
        }
        // If the definition is a method, a call in another file may mean a method of another type.
        if definition.name != name {
            return None;
        }
        let paths: Vec<String> = self.files_by_name.get(name.as_str())?.iter().cloned().collect();
        paths.iter().filter(|path| **path != place.file && !is_test(path)).find_map(|path| {
            let file = self.file(path)?;
            let line = use_from_outside(file, &name, &place.file, claim.kind)?;
            Some(used_at_text(&name, path, line))
        })
    }

    /// A use of the name that is imported at the location.
    fn find_import_use(&mut self, claim: &Claim, place: &Location) -> Option<String> {
        let file = self.file(&place.file)?;
        file.imports_of(&claim.name).find(|import| overlaps(import.start, import.end, place))?;
        if file.has_other_binding(&claim.name, None) {
            return None;
        }
        let mention = file.mentions_of(&claim.name).find(|mention| match mention.role {
            MentionRole::Called | MentionRole::Read => true,
            MentionRole::Named
            | MentionRole::Destructured
            | MentionRole::Imported
            | MentionRole::Member { .. } => false,
        })?;
        Some(used_at_text(&claim.name, &place.file, mention.line))
    }

    /// The definition or import of the name that is used at the location.
    fn find_definition(&mut self, claim: &Claim, place: &Location) -> Option<String> {
        let imported = self.find_import(claim, place);
        let file = self.file(&place.file)?;
        // In JavaScript `undefined` is a value.
        if file.has_undefined_values() {
            return None;
        }
        if imported.is_some() {
            return imported;
        }
        file.find_use_at(&claim.name, place)?;
        let symbol = file.symbols.all().iter().find(|symbol| {
            let is_named = match symbol.kind {
                SymbolKind::Function | SymbolKind::Type => symbol.name == claim.name,
                SymbolKind::Method | SymbolKind::Module => false,
            };
            is_named && file.is_unconditional(symbol.start, symbol.end)
        })?;
        let is_visible = symbol.end < place.line_start
            || file.allows_any_order()
            || file.is_in_function(place.line_start);
        is_visible
            .then(|| format!("`{}` is defined at `{}:{}`", claim.name, place.file, symbol.start))
    }

    /// The import of the name that is used at the location.
    fn find_import(&mut self, claim: &Claim, place: &Location) -> Option<String> {
        let file = self.file(&place.file)?;
        file.find_use_at(&claim.name, place)?;
        let import = file.imports_of(&claim.name).find(|import| {
            import.start <= place.line_start && file.is_unconditional(import.start, import.start)
        })?;
        Some(format!("`{}` is imported at `{}:{}`", claim.name, place.file, import.start))
    }

    /// The definition at the location, if it is the only one in the tree.
    fn find_only_definition(&mut self, claim: &Claim, place: &Location) -> Option<String> {
        let name = last_segment(&claim.name).to_owned();
        let file = self.file(&place.file)?;
        let definition = file.definition_at(&claim.name, place)?;
        let start = definition.start;
        let is_imported = |mention: &NameMention| mention.role == MentionRole::Imported;
        if file.has_other_binding(&name, Some(definition))
            || file.mentions_of(&name).any(is_imported)
        {
            return None;
        }
        let paths: Vec<String> = self.files_by_name.get(name.as_str())?.iter().cloned().collect();
        let mut count = 0;
        for path in &paths {
            // A file that does not parse may define the name, too.
            count += self.file(path)?.definitions_of(&name).count();
        }
        (self.is_complete && count == 1)
            .then(|| format!("`{name}` is defined at `{}:{start}` and nowhere else", place.file))
    }

    /// The import at the location, if it is the only one in the file.
    fn find_only_import(&mut self, claim: &Claim, place: &Location) -> Option<String> {
        let file = self.file(&place.file)?;
        let imports: Vec<_> = file.imports_of(&claim.name).collect();
        let [import] = imports.as_slice() else { return None };
        let is_other_import = |mention: &NameMention| {
            mention.role == MentionRole::Imported
                && !(import.start..=import.end).contains(&mention.line)
        };
        let is_only_import = overlaps(import.start, import.end, place)
            && !file.mentions_of(&claim.name).any(is_other_import);
        is_only_import.then(|| {
            format!("`{}` is imported at `{}:{}` alone", claim.name, place.file, import.start)
        })
    }
}

fn used_at_text(name: &str, path: &str, line: u32) -> String {
    format!("`{name}` is used at `{path}:{line}`")
}

fn is_test(path: &str) -> bool {
    match role_of_path(path) {
        FileRole::Test => true,
        FileRole::Executable | FileRole::Config | FileRole::Prose | FileRole::Other => false,
    }
}

/// Whether a line range overlaps the cited lines.
fn overlaps(start: u32, end: u32, place: &Location) -> bool {
    start <= place.line_end && place.line_start <= end
}

/// The line in the same file where a definition is used. Uses inside of the definition do not
/// count.
fn use_in_file(file: &ParsedFile, definition: &Symbol, claim: ClaimKind) -> Option<u32> {
    let name = last_segment(&definition.name);
    let prefix = &definition.name[..definition.name.len() - name.len()];
    if prefix.is_empty() && file.has_other_binding(name, Some(definition)) {
        return None;
    }
    let is_outside_use = |mention: &&NameMention| {
        let is_in_definition = (definition.start..=definition.end).contains(&mention.line);
        let is_same_type = || {
            file.symbols
                .symbol_at(mention.line)
                .is_some_and(|symbol| symbol.name.starts_with(prefix))
        };
        let is_use_of_definition = match &mention.role {
            MentionRole::Member { owner } => {
                let is_self = matches!(owner.as_str(), "self" | "this" | "Self" | "cls");
                !prefix.is_empty() && is_self && is_same_type()
            }
            role => prefix.is_empty() && is_use(role, claim, name),
        };
        is_use_of_definition && !is_in_definition && !file.is_in_test(mention.line)
    };
    file.mentions_of(name).find(is_outside_use).map(|mention| mention.line)
}

/// The line of another file that uses a definition. That file must import the definition or belong
/// to its package.
fn use_from_outside(
    file: &ParsedFile,
    name: &str,
    defined_in: &str,
    claim: ClaimKind,
) -> Option<u32> {
    if !file.imports_from(name, defined_in) || file.has_other_binding(name, None) {
        return None;
    }
    let mut mentions = file.mentions_of(name);
    let is_counted = |mention: &&NameMention| {
        is_use(&mention.role, claim, name) && !file.is_in_test(mention.line)
    };
    mentions.find(is_counted).map(|mention| mention.line)
}

/// Whether a mention is certainly a use. A call always is. Reading a name counts only if the claim
/// is not about calls and the name starts with a capital, since a variable may have the same name
/// as a function.
fn is_use(role: &MentionRole, claim: ClaimKind, name: &str) -> bool {
    let reading_counts = match claim {
        ClaimKind::Uncalled => false,
        ClaimKind::Unused
        | ClaimKind::UnusedImport
        | ClaimKind::Undefined
        | ClaimKind::NotImported
        | ClaimKind::DefinedTwice
        | ClaimKind::ImportedTwice => name.starts_with(|char: char| char.is_ascii_uppercase()),
    };
    match role {
        MentionRole::Called => true,
        MentionRole::Read => reading_counts,
        MentionRole::Named
        | MentionRole::Destructured
        | MentionRole::Imported
        | MentionRole::Member { .. } => false,
    }
}
