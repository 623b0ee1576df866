//! Finds definitions and uses of names in the repository at head: a search finds candidate lines,
//! and the parser confirms definitions.

use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;
use std::rc::Rc;
use std::sync::Arc;

use super::changed::own_name;
use crate::revisions::Revisions;
use crate::scope::{FileKind, FileRole};
use crate::tools::ToolContext;
use crh_git::{LineMatch, SearchQuery, search};
use crh_review::diff::RepoPath;
use crh_review::finding::Side;
use crh_syntax::{Language, Symbols, imports};

/// Maximum matches per search.
const MATCHES_MAX: usize = 40_000;
/// Maximum files that one lookup parses.
const PARSED_FILES_MAX: usize = 60;
/// Maximum lines of a constant or variable, which the parser does not list as a symbol.
const VALUE_LINES: u32 = 3;
/// Maximum copies of a removed line. A line with more copies is boilerplate.
const COPIES_MAX: usize = 4;

/// Words that start a definition in one of the languages.
const DEFINITION_WORDS: &str = "def|class|func|fn|fun|function|interface|struct|enum|type|trait|\
                                module|object|const|static|let|var|val|protocol|record|extension";

/// A definition at head.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DefinitionSite {
    pub(crate) path: String,
    /// Qualified name.
    pub(crate) name: String,
    pub(crate) lines: RangeInclusive<u32>,
}

impl DefinitionSite {
    /// Whether the definition is in this type or module.
    pub(super) fn belongs_to(&self, owner: &str) -> bool {
        let mut parts = self.name.split(['.', ':', '\\', '#']);
        parts.any(|part| part == owner) || module_tail(&self.path).ends_with(owner)
    }
}

/// A line at head that may define a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DefinitionCandidate {
    pub(super) path: String,
    pub(super) line: u32,
    /// Whether the line assigns the name.
    is_value: bool,
}

/// A line at head that a search found, such as a use of a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UseSite {
    pub(crate) path: String,
    pub(crate) line: u32,
    pub(crate) text: String,
    pub(super) is_import: bool,
    is_test: bool,
}

impl UseSite {
    fn new(hit: &LineMatch) -> Self {
        let path = shown_path(hit);
        let text = String::from_utf8_lossy(&hit.text).into_owned();
        let starts = ["import ", "from ", "use ", "using ", "require"];
        Self {
            line: line_number(hit),
            is_import: starts.iter().any(|start| text.trim_start().starts_with(start)),
            is_test: FileKind::of_path(&path).role == FileRole::Test,
            path,
            text,
        }
    }

    /// Whether the line is in a test file.
    pub(crate) fn is_test(&self) -> bool {
        self.is_test
    }
}

/// Searches the repository at head.
pub(crate) struct CodeLookup<'a> {
    ctx: &'a ToolContext,
    repository: &'a Revisions,
    head: &'a str,
    /// Imports of files, by path. One file often uses many names.
    imported_modules: RefCell<BTreeMap<String, Rc<str>>>,
}

impl<'a> CodeLookup<'a> {
    /// None if the change is only a diff.
    pub(crate) fn new(ctx: &'a ToolContext) -> Option<Self> {
        let repository = ctx.repository().ok()?;
        let head = repository.resolve(Some("head"))?;
        Some(Self { ctx, repository, head, imported_modules: RefCell::default() })
    }

    /// Lines of code that contain one of the words and match the filter, by path and line. Empty if
    /// the search fails or is stopped.
    fn search(
        &self,
        words: impl IntoIterator<Item = impl Into<String>>,
        line_filter: Option<String>,
    ) -> Vec<LineMatch> {
        let query =
            SearchQuery { max_matches: MATCHES_MAX, line_filter, ..SearchQuery::for_words(words) };
        let is_code = |path: &[u8]| Language::from_path(&String::from_utf8_lossy(path)).is_some();
        search(self.repository.objects(), self.head, &query, &is_code, self.ctx.stop())
            .map(|result| result.matches)
            .unwrap_or_default()
    }

    /// The text of a file at head. Invalid UTF-8 is replaced.
    pub(crate) fn text(&self, path: &str) -> Option<String> {
        let objects = self.repository.objects();
        let quoted = || RepoPath::from_quoted(path.as_bytes());
        let bytes = objects.file(self.head, path).ok();
        let bytes = bytes.or_else(|| objects.file(self.head, quoted()?.as_bytes()).ok())?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Functions and types of a file at head. None if the file does not parse.
    pub(crate) fn symbols(&self, path: &str) -> Option<Arc<Symbols>> {
        self.ctx.symbols(Side::New, path, || self.text(path))
    }

    /// Lines that may define one of these names, by name.
    pub(super) fn candidates(
        &self,
        names: &BTreeSet<String>,
    ) -> BTreeMap<String, Vec<DefinitionCandidate>> {
        let mut candidates: BTreeMap<String, Vec<DefinitionCandidate>> = BTreeMap::new();
        let words = searchable(names);
        if words.is_empty() {
            return candidates;
        }
        let definitions = definition_pattern(&words.join("|"));
        for hit in self.search(words, Some(definitions)) {
            let text = String::from_utf8_lossy(&hit.text);
            let words = text.split(|char: char| !char.is_alphanumeric() && char != '_');
            let words: BTreeSet<&str> = words.filter(|word| names.contains(*word)).collect();
            for word in words {
                candidates.entry(word.to_owned()).or_default().push(DefinitionCandidate {
                    path: shown_path(&hit),
                    line: line_number(&hit),
                    is_value: defined_value(&text) == Some(word),
                });
            }
        }
        candidates
    }

    /// Definitions of a name among the candidates, in their order. Parses at most `max_files`
    /// files.
    pub(super) fn confirm(
        &self,
        name: &str,
        candidates: &[DefinitionCandidate],
        max_files: usize,
    ) -> Vec<DefinitionSite> {
        let mut sites: Vec<DefinitionSite> = Vec::new();
        let mut parsed_files = BTreeSet::new();
        for DefinitionCandidate { path, line, is_value } in candidates {
            if !parsed_files.contains(path) && parsed_files.len() == max_files {
                break;
            }
            let is_first_of_file = parsed_files.insert(path.clone());
            let Some(symbols) = self.symbols(path) else { continue };
            if is_first_of_file {
                // `?` and `!` at the end of a Ruby method are not part of a word.
                let symbols = symbols
                    .all()
                    .iter()
                    .filter(|symbol| own_name(&symbol.name).trim_end_matches(['?', '!']) == name);
                sites.extend(symbols.map(|symbol| DefinitionSite {
                    path: path.clone(),
                    name: symbol.name.clone(),
                    lines: symbol.start..=symbol.end,
                }));
            }
            let is_symbol =
                sites.iter().any(|site| site.path == *path && site.lines.contains(line));
            if *is_value && !is_symbol {
                let lines = *line..=line.saturating_add(VALUE_LINES - 1);
                sites.push(DefinitionSite { path: path.clone(), name: name.to_owned(), lines });
            }
        }
        sites
    }

    /// Definitions of a name, in the order of their paths.
    pub(crate) fn definitions(&self, name: &str) -> Vec<DefinitionSite> {
        let candidates = self.candidates(&BTreeSet::from([name.to_owned()]));
        let candidates = candidates.into_values().next().unwrap_or_default();
        self.confirm(name, &candidates, PARSED_FILES_MAX)
    }

    /// Lines that use these names, in the order of their paths.
    pub(crate) fn uses(&self, names: &BTreeSet<String>) -> BTreeMap<String, Vec<UseSite>> {
        let mut uses: BTreeMap<String, Vec<UseSite>> = BTreeMap::new();
        let words = searchable(names);
        if words.is_empty() {
            return uses;
        }
        for hit in self.search(words, None) {
            let site = UseSite::new(&hit);
            let code = site.text.trim_start();
            if is_comment(Language::from_path(&site.path), code) {
                continue;
            }
            let words = code.split(|char: char| !char.is_alphanumeric() && char != '_');
            let words: BTreeSet<&str> = words.filter(|word| names.contains(*word)).collect();
            for word in words {
                uses.entry(word.to_owned()).or_default().push(site.clone());
            }
        }
        uses
    }

    /// Lines that declare a type which extends or implements the type `name`.
    pub(crate) fn implementations(&self, name: &str) -> Vec<UseSite> {
        let after_word = format!(
            r"\b(?:class|interface|struct|record|object|enum|trait|protocol|extension|impl|module)\b[^\n]*(?:extends|implements|[:(<,]|for|with)\s*[^\n]*\b{name}\b"
        );
        let hits = self.search([name], Some(after_word));
        let sites = hits.iter().map(UseSite::new);
        let declares = |site: &UseSite| {
            let rest = site.text.trim_start();
            let declared = ["class ", "interface ", "trait ", "protocol ", "struct "]
                .iter()
                .find_map(|word| rest.split_once(word))
                .map(|(_, declared)| declared.trim_start());
            declared.is_some_and(|declared| {
                declared.strip_prefix(name).is_some_and(|after| {
                    !after.starts_with(|char: char| char.is_alphanumeric() || char == '_')
                })
            })
        };
        sites.filter(|site| !declares(site)).collect()
    }

    /// Lines that equal one of these lines apart from indentation. Lines with many copies are left
    /// out.
    pub(super) fn copies<'l>(
        &self,
        lines: impl Iterator<Item = &'l String>,
    ) -> BTreeMap<String, Vec<UseSite>> {
        let (mut words, mut escaped) = (Vec::new(), Vec::new());
        for line in lines {
            let line_words = line.split(|char: char| !char.is_alphanumeric() && char != '_');
            words.extend(line_words.max_by_key(|word| word.len()));
            escaped.push(escape_pattern(line));
        }
        if escaped.is_empty() {
            return BTreeMap::new();
        }
        let hits = self.search(words, Some(format!(r"^\s*(?:{})\s*$", escaped.join("|"))));
        let mut by_text: BTreeMap<String, Vec<UseSite>> = BTreeMap::new();
        for hit in hits {
            let site = UseSite::new(&hit);
            by_text.entry(site.text.trim().to_owned()).or_default().push(site);
        }
        by_text.retain(|_, sites| sites.len() <= COPIES_MAX);
        by_text
    }

    /// Keeps candidates in languages whose code the file `path` can use. Sorts near candidates
    /// first: those in its folder or in a file that it imports. Returns the number of near ones.
    pub(super) fn sort_candidates(
        &self,
        candidates: &mut Vec<DefinitionCandidate>,
        path: &str,
    ) -> usize {
        let language = Language::from_path(path);
        candidates
            .retain(|candidate| is_same_family(language, Language::from_path(&candidate.path)));
        let imported = self.imported_modules(path);
        let is_near = |candidate: &DefinitionCandidate| {
            imported.contains(module_tail(&candidate.path).as_str())
                || folder(&candidate.path) == folder(path)
        };
        candidates.sort_by_cached_key(|candidate| {
            let is_test = FileKind::of_path(&candidate.path).role == FileRole::Test;
            let distance = self.distance(&candidate.path, path);
            let DefinitionCandidate { path: own_path, line, .. } = candidate;
            (!is_near(candidate), own_path != path, is_test, distance, own_path.clone(), *line)
        });
        candidates.iter().take_while(|candidate| is_near(candidate)).count()
    }

    /// The imports of a file, with `/` between the parts of a module.
    fn imported_modules(&self, path: &str) -> Rc<str> {
        if let Some(modules) = self.imported_modules.borrow().get(path) {
            return Rc::clone(modules);
        }
        let text = self.text(path);
        let list = text.zip(Language::from_path(path)).and_then(|(text, language)| {
            let list = imports(language, &text).ok()?;
            Some(list.all().iter().map(|statement| statement.text.clone()).collect::<Vec<_>>())
        });
        let list = list.unwrap_or_default().join("\n").replace("::", "/").replace('.', "/");
        let modules: Rc<str> = list.into();
        self.imported_modules.borrow_mut().insert(path.to_owned(), Rc::clone(&modules));
        modules
    }

    /// Sort key that puts near paths first: those that share more leading parts with `from`, then
    /// those in fewer folders.
    pub(super) fn distance(&self, path: &str, from: &str) -> (Reverse<usize>, usize) {
        let shared =
            path.split('/').zip(from.split('/')).take_while(|(one, other)| one == other).count();
        (Reverse(shared), path.matches('/').count())
    }
}

/// Pattern for lines that may define one of `names`, which are joined by `|`.
fn definition_pattern(names: &str) -> String {
    let with_word = format!(r"\b(?:{DEFINITION_WORDS})\b[^\n=;]{{0,60}}?\b(?:{names})\b");
    // Methods without a word before them: `Result name(`, `async name(`.
    let method = format!(r"^\s*[\w@<>\[\],.?*&:\s]*\b(?:{names})\s*(?:<[^>\n]*>)?\([^;\n]*$");
    // Methods of an interface in TypeScript: `name(): Result;`.
    let signature = format!(r"^\s*[\w\s]*\b(?:{names})\??(?:<[^>\n]*>)?\([^\n]*\)\s*:[^\n]*;\s*$");
    let value = format!(r"^(?: {{0,4}}|\t)(?:export\s+)?(?:{names})\s*(?::[^=\n]*)?=[^=>]");
    format!("{with_word}|{method}|{signature}|{value}")
}

/// The name that a line defines as a value: `NAME = 1`, `const name = `.
fn defined_value(line: &str) -> Option<&str> {
    let (left, right) = line.split_once('=')?;
    if right.starts_with(['=', '>']) || left.contains(['(', '[', '{', '"', '\'']) {
        return None;
    }
    let left =
        left.split_once(':').map_or(left, |(name, _)| name).trim_end_matches(['!', '<', '+']);
    let name = left.split_whitespace().last()?;
    let qualifiers = left.split_whitespace().rev().skip(1);
    let are_words = qualifiers.into_iter().all(|word| {
        matches!(
            word,
            "const"
                | "static"
                | "let"
                | "var"
                | "val"
                | "export"
                | "pub"
                | "public"
                | "private"
                | "protected"
                | "final"
                | "readonly"
                | "mut"
                | "type"
                | "declare"
                | "internal"
        ) || word.starts_with(char::is_uppercase)
            || matches!(word, "int" | "long" | "boolean" | "bool" | "string" | "double" | "float")
    });
    are_words.then_some(name)
}

/// Names that need no escaping in patterns.
fn searchable(names: &BTreeSet<String>) -> Vec<&str> {
    let is_word = |name: &&str| name.chars().all(|char| char.is_alphanumeric() || char == '_');
    names.iter().map(String::as_str).filter(is_word).collect()
}

/// Whether a line without indentation starts with a comment, or continues one. `*name`, `*(` and
/// `**name` are pointers, and `#` starts directives in some languages.
fn is_comment(language: Option<Language>, line: &str) -> bool {
    match language {
        // Most files without a grammar are scripts and settings.
        Some(Language::Python | Language::Ruby) | None if line.starts_with('#') => true,
        Some(Language::Python | Language::Ruby) => false,
        Some(Language::Php) if line.starts_with('#') => !line.starts_with("#["),
        _ => {
            let continues = |rest: &str| rest.is_empty() || rest.starts_with([' ', '\t', '/']);
            line.starts_with("//")
                || line.starts_with("/*")
                || line.strip_prefix('*').is_some_and(continues)
        }
    }
}

fn escape_pattern(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for char in text.chars() {
        if char.is_ascii_punctuation() {
            escaped.push('\\');
        }
        escaped.push(char);
    }
    escaped
}

fn shown_path(hit: &LineMatch) -> String {
    RepoPath::new(hit.path.as_slice()).shown().into_owned()
}

fn line_number(hit: &LineMatch) -> u32 {
    u32::try_from(hit.line).unwrap_or(u32::MAX)
}

pub(super) fn folder(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// The last folder and the file name without extension, as imports write them.
fn module_tail(path: &str) -> String {
    let stem = path.rsplit_once('.').map_or(path, |(stem, _)| stem);
    let stem = stem.strip_suffix("/__init__").or(stem.strip_suffix("/index")).unwrap_or(stem);
    let mut parts = stem.rsplit('/');
    let name = parts.next().unwrap_or_default();
    match parts.next() {
        Some(folder) => format!("{folder}/{name}"),
        None => name.to_owned(),
    }
}

/// Whether code in one language can use definitions of the other.
pub(super) fn is_same_family(one: Option<Language>, other: Option<Language>) -> bool {
    fn family(language: Option<Language>) -> Option<Language> {
        match language? {
            Language::Tsx | Language::TypeScript => Some(Language::JavaScript),
            Language::Cpp => Some(Language::C),
            Language::Kotlin => Some(Language::Java),
            other => Some(other),
        }
    }
    family(one) == family(other)
}
