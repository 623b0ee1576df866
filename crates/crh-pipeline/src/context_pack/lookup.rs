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
use crh_git::{
    DefinitionLine, LINE_BYTES_MAX, LineMatch, Objects, SearchQuery, SearchResult,
    files_with_words, find_definitions, search,
};
use crh_review::diff::RepoPath;
use crh_review::finding::Side;
use crh_syntax::{Language, Symbols, imports};

#[cfg(test)]
mod tests;

/// Maximum matches per search.
const MATCHES_MAX: usize = 40_000;
/// Maximum files that one lookup parses.
const PARSED_FILES_MAX: usize = 60;
/// Maximum lines of a constant or variable, which the parser does not list as a symbol.
const VALUE_LINES: u32 = 3;
/// Maximum copies of a removed line. A line with more copies is boilerplate.
const COPIES_MAX: usize = 4;
/// Maximum files to count for a word. Words in more files are equally common.
const COUNTED_FILES_MAX: usize = 1_000;

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
    pub(super) path: Rc<str>,
    /// The path as imports write it.
    module: Rc<str>,
    language: Option<Language>,
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
}

impl UseSite {
    fn new(hit: &LineMatch) -> Self {
        let path = shown_path(&hit.path);
        let text = String::from_utf8_lossy(&hit.text).into_owned();
        let starts = ["import ", "from ", "use ", "using ", "require"];
        Self {
            line: line_number(hit),
            is_import: starts.iter().any(|start| text.trim_start().starts_with(start)),
            path,
            text,
        }
    }

    /// Whether the line is in a test file.
    pub(crate) fn is_test(&self) -> bool {
        FileKind::of_path(&self.path).role == FileRole::Test
    }
}

/// Uses of a name, without imports.
#[derive(Debug)]
pub(super) struct NearUses {
    /// All uses. If the name is common, the first uses in the folders of its functions.
    pub(super) sites: Vec<UseSite>,
    /// Whether the name has more uses than the requested maximum, or more lines than a search
    /// returns.
    pub(super) is_common: bool,
}

/// Searches the repository at head.
pub(crate) struct CodeLookup<'a> {
    ctx: &'a ToolContext,
    repository: &'a Revisions,
    head: &'a str,
    /// Maximum matches per search for words: [`MATCHES_MAX`], or less in tests.
    max_matches: usize,
    /// Cached imports of files, by path. One file often uses many names.
    imported_modules: RefCell<BTreeMap<String, Rc<str>>>,
}

impl<'a> CodeLookup<'a> {
    /// None if the change is only a diff.
    pub(crate) fn new(ctx: &'a ToolContext) -> Option<Self> {
        let repository = ctx.repository().ok()?;
        let head = repository.resolve(Some("head"))?;
        let (max_matches, imported_modules) = (MATCHES_MAX, RefCell::default());
        Some(Self { ctx, repository, head, max_matches, imported_modules })
    }

    /// Lines of code that contain one of the words and match the filter, by path and line. Empty if
    /// the search fails or is stopped.
    fn search(
        &self,
        words: impl IntoIterator<Item = impl Into<String>>,
        line_filter: Option<String>,
    ) -> Vec<LineMatch> {
        let query = SearchQuery { line_filter, ..SearchQuery::for_words(words) };
        self.run_query(query, &is_code).matches
    }

    fn run_query(&self, query: SearchQuery, accepts_path: &dyn Fn(&[u8]) -> bool) -> SearchResult {
        let query = SearchQuery { max_matches: self.max_matches, ..query };
        search(self.repository.objects(), self.head, &query, accepts_path, self.ctx.stop())
            .unwrap_or_default()
    }

    /// The first files with code that contain each of these words, at most `max_files`. Knows only
    /// what the index has, so a result must not depend on it.
    fn first_files<'w>(
        &self,
        words: &BTreeSet<&'w str>,
        max_files: usize,
    ) -> BTreeMap<&'w str, Vec<Vec<u8>>> {
        let objects = self.repository.objects();
        files_with_words(objects, self.head, words, max_files, &is_code).unwrap_or_default()
    }

    /// The text of a file at head. Invalid UTF-8 is replaced.
    pub(crate) fn text(&self, path: &str) -> Option<String> {
        file_text(self.repository.objects(), self.head, path)
    }

    /// Parses files at head into the cache, on all processors.
    pub(super) fn parse_ahead<'p>(&self, paths: impl Iterator<Item = &'p str>) {
        let files: BTreeSet<(Side, String)> =
            paths.map(|path| (Side::New, path.to_owned())).collect();
        let files: Vec<(Side, String)> = files.into_iter().collect();
        let (objects, head) = (self.repository.objects(), self.head);
        self.ctx.parse_in_parallel(&files, |_, path| file_text(objects, head, path));
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
        let objects = self.repository.objects();
        let lines =
            find_definitions(objects, self.head, &words, MATCHES_MAX, &is_code, self.ctx.stop());
        let lines = lines.unwrap_or_default();
        for lines in lines.chunk_by(|one, other| one.path == other.path) {
            let path: Rc<str> =
                lines.first().map(|it| shown_path(&it.path)).unwrap_or_default().into();
            let (module, language) = (module_tail(&path).into(), Language::from_path(&path));
            let candidate =
                DefinitionCandidate { path, module, language, line: 0, is_value: false };
            for DefinitionLine { line, names, value, .. } in lines {
                for name in names {
                    let (line, is_value) = (*line, value.as_ref() == Some(name));
                    let candidate = DefinitionCandidate { line, is_value, ..candidate.clone() };
                    candidates.entry(name.clone()).or_default().push(candidate);
                }
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
        let mut parsed_files: BTreeSet<&str> = BTreeSet::new();
        for DefinitionCandidate { path, line, is_value, .. } in candidates {
            if !parsed_files.contains(&**path) && parsed_files.len() == max_files {
                break;
            }
            let is_first_of_file = parsed_files.insert(path);
            let Some(symbols) = self.symbols(path) else { continue };
            if is_first_of_file {
                // `?` and `!` at the end of a Ruby method are not part of a word.
                let symbols = symbols
                    .all()
                    .iter()
                    .filter(|symbol| own_name(&symbol.name).trim_end_matches(['?', '!']) == name);
                sites.extend(symbols.map(|symbol| DefinitionSite {
                    path: path.to_string(),
                    name: symbol.name.clone(),
                    lines: symbol.start..=symbol.end,
                }));
            }
            let is_symbol =
                sites.iter().any(|site| site.path == **path && site.lines.contains(line));
            if *is_value && !is_symbol {
                let lines = *line..=line.saturating_add(VALUE_LINES - 1);
                sites.push(DefinitionSite { path: path.to_string(), name: name.to_owned(), lines });
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

    /// Lines of code that contain these names, by name and in the order of their paths. Comment
    /// lines are left out.
    pub(crate) fn uses(&self, names: &BTreeSet<String>) -> BTreeMap<String, Vec<UseSite>> {
        let words = searchable(names);
        if words.is_empty() {
            return BTreeMap::new();
        }
        uses_in(self.search(words, None), |word| names.contains(word))
    }

    /// Uses of names, each with the folders of its functions. A name with more than `max` uses is
    /// common. Reading all files with a common name would be slow. The result depends neither on
    /// the order of searches nor on the word index.
    pub(super) fn near_uses(
        &self,
        folders_by_name: &BTreeMap<&str, BTreeSet<&str>>,
        max: usize,
    ) -> BTreeMap<String, NearUses> {
        let names: Vec<&str> = folders_by_name.keys().copied().collect();
        let max_near = self.max_matches / names.len().max(1);
        let sampled = self.sampled_common_names(&names, max);
        let rest = names.iter().copied().filter(|name| !sampled.contains(name)).collect();
        let mut near_uses = self.separate_uses(rest, None, max);
        let is_common = |name: &&str| near_uses.get(*name).is_none_or(|uses| uses.is_common);
        let common = names.into_iter().filter(is_common).collect();
        for (name, uses) in self.separate_uses(common, Some(folders_by_name), max_near) {
            near_uses.insert(name, NearUses { is_common: true, ..uses });
        }
        near_uses
    }

    /// Names that have more than `max` uses in the first files that the index has for them. Which
    /// names these are depends on the index; that a name is common does not.
    fn sampled_common_names<'n>(&self, names: &[&'n str], max: usize) -> BTreeSet<&'n str> {
        let mut first_files = self.first_files(&names.iter().copied().collect(), 2 * max);
        first_files.retain(|_, files| files.len() == 2 * max);
        let mut common: BTreeSet<&str> = first_files.keys().copied().collect();
        if common.is_empty() {
            return common;
        }
        // Most files have more than one use, so these mostly suffice to tell that it is common.
        let samples =
            first_files.into_values().flat_map(|files| files.into_iter().take(max + max / 4));
        let samples: BTreeSet<Vec<u8>> = samples.collect();
        let query = SearchQuery::for_words(common.iter().copied());
        let hits = self.run_query(query, &|path| samples.contains(path)).matches;
        let uses = uses_in(hits, |word| common.contains(word));
        common.retain(|name| {
            let sites = uses.get(*name).into_iter().flatten();
            sites.filter(|site| !site.is_import).count() > max
        });
        common
    }

    /// The first `max` uses of each name, in its folders if there are any given. The uses of a name
    /// do not depend on the other names: if a search of several names has too many matches, parts
    /// of them are searched again.
    fn separate_uses(
        &self,
        names: Vec<&str>,
        folders_by_name: Option<&BTreeMap<&str, BTreeSet<&str>>>,
        max: usize,
    ) -> BTreeMap<String, NearUses> {
        let mut separate_uses = BTreeMap::new();
        let mut groups = vec![names];
        while let Some(group) = groups.pop().filter(|group| !group.is_empty()) {
            let folders: Option<BTreeSet<&str>> = folders_by_name
                .map(|folders| group.iter().flat_map(|name| &folders[name]).copied().collect());
            let is_near = |path: &[u8]| {
                folders.as_ref().is_none_or(|it| it.contains(folder(&shown_path(path))))
            };
            let query = SearchQuery::for_words(group.iter().copied());
            let result = self.run_query(query, &|path| is_code(path) && is_near(path));
            let is_cut = result.total > result.matches.len() as u64;
            let mut uses = uses_in(result.matches, |word| group.contains(&word));
            let mut rest = Vec::new();
            for name in &group {
                let mut sites = uses.remove(*name).unwrap_or_default();
                sites.retain(|site| {
                    let is_own = |all: &BTreeMap<&str, BTreeSet<&str>>| {
                        all[name].contains(folder(&site.path))
                    };
                    !site.is_import && folders_by_name.is_none_or(is_own)
                });
                if is_cut && group.len() > 1 && sites.len() <= max {
                    rest.push(*name);
                } else {
                    let is_common = is_cut || sites.len() > max;
                    sites.truncate(max);
                    separate_uses.insert((*name).to_owned(), NearUses { sites, is_common });
                }
            }
            let half = rest.len().div_ceil(2).max(1);
            groups.extend(rest.chunks(half).map(<[&str]>::to_vec));
        }
        separate_uses
    }

    /// Lines that declare a type which extends or implements the type `name`.
    pub(crate) fn implementations(&self, name: &str) -> Vec<UseSite> {
        let declaration_pattern = format!(
            r"\b(?:class|interface|struct|record|object|enum|trait|protocol|extension|impl|module)\b[^\n]*(?:extends|implements|[:(<,]|for|with)\s*[^\n]*\b{name}\b"
        );
        let hits = self.search([name], Some(declaration_pattern));
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
        let lines: Vec<&'l String> = lines.collect();
        if lines.is_empty() {
            return BTreeMap::new();
        }
        let line_words: Vec<Vec<&'l str>> = lines.iter().map(|line| index_words(line)).collect();
        let words = line_words.iter().flatten().copied().collect();
        let files = self.first_files(&words, COUNTED_FILES_MAX);
        // The rarest word of a line leads to the fewest files. Each word finds the same lines.
        let rarest = |words: &Vec<&'l str>| {
            let count = |word: &str| files.get(word).map_or(0, Vec::len);
            words.iter().copied().min_by_key(|word| (count(word), Reverse(word.len())))
        };
        let words: Vec<&str> = line_words.iter().filter_map(rarest).collect();
        let escaped: Vec<String> = lines.iter().map(|line| regex::escape(line)).collect();
        let hits = self.search(words, Some(format!(r"^\s*(?:{})\s*$", escaped.join("|"))));
        let mut by_text: BTreeMap<String, Vec<UseSite>> = BTreeMap::new();
        for hit in hits {
            let site = UseSite::new(&hit);
            by_text.entry(site.text.trim().to_owned()).or_default().push(site);
        }
        by_text.retain(|_, sites| sites.len() <= COPIES_MAX);
        by_text
    }

    /// Candidates in languages whose code the file `path` can use, and how many of them are near:
    /// those in its folder or in a file that it imports. These come first.
    pub(super) fn usable_candidates(
        &self,
        candidates: &[DefinitionCandidate],
        path: &str,
    ) -> (Vec<DefinitionCandidate>, usize) {
        let language = Language::from_path(path);
        let imported = self.imported_modules(path);
        let (mut near, mut far) = (Vec::new(), Vec::new());
        for of_file in candidates.chunk_by(|one, other| Rc::ptr_eq(&one.path, &other.path)) {
            let Some(first) = of_file.first() else { continue };
            if !is_same_family(language, first.language) {
                continue;
            }
            let is_near = folder(&first.path) == folder(path) || imported.contains(&*first.module);
            let list = if is_near { &mut near } else { &mut far };
            list.extend_from_slice(of_file);
        }
        let near_count = near.len();
        near.extend(far);
        (near, near_count)
    }

    /// Sorts candidates for the file `path`: its own ones first, those of tests last.
    pub(super) fn sort_candidates(&self, candidates: &mut [DefinitionCandidate], path: &str) {
        candidates.sort_by_cached_key(|candidate| {
            let is_test = FileKind::of_path(&candidate.path).role == FileRole::Test;
            let distance = self.distance(&candidate.path, path);
            let DefinitionCandidate { path: own_path, line, .. } = candidate;
            (**own_path != *path, is_test, distance, Rc::clone(own_path), *line)
        });
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

/// The uses of names among matching lines. Comment lines are left out.
fn uses_in(hits: Vec<LineMatch>, is_name: impl Fn(&str) -> bool) -> BTreeMap<String, Vec<UseSite>> {
    let mut uses: BTreeMap<String, Vec<UseSite>> = BTreeMap::new();
    for hit in hits {
        let site = UseSite::new(&hit);
        let mut code = site.text.trim_start();
        if is_comment(Language::from_path(&site.path), code) {
            continue;
        }
        if hit.text.len() == LINE_BYTES_MAX {
            // The search may have cut the last word.
            code = code.trim_end_matches(is_word_char);
        }
        let words: BTreeSet<&str> = words(code).filter(|word| is_name(word)).collect();
        for word in words {
            uses.entry(word.to_owned()).or_default().push(site.clone());
        }
    }
    uses
}

/// Words that a search for whole words finds in this text.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|char: char| !is_word_char(char))
}

/// Whether a character may be part of a word. The search has its own rules for characters beyond
/// ASCII, such as combining accents, so none of them ends a word here.
fn is_word_char(char: char) -> bool {
    char.is_ascii_alphanumeric() || char == '_' || !char.is_ascii()
}

/// The words of a line that the word index can have. If there is none, the longest word.
fn index_words(line: &str) -> Vec<&str> {
    let indexed: Vec<&str> =
        words(line).filter(|word| word.len() >= 4 && word.is_ascii()).collect();
    if !indexed.is_empty() {
        return indexed;
    }
    words(line).max_by_key(|word| word.len()).into_iter().collect()
}

/// Names that need no escaping in patterns.
fn searchable(names: &BTreeSet<String>) -> BTreeSet<&str> {
    let is_word = |name: &&str| name.chars().all(|char| char.is_alphanumeric() || char == '_');
    names.iter().map(String::as_str).filter(is_word).collect()
}

/// Whether a line starts with a comment, or continues one. `line` comes without its indentation.
/// `*name`, `*(` and `**name` are pointers, and `#` starts directives in some languages.
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

fn file_text(objects: &Objects, revision: &str, path: &str) -> Option<String> {
    let quoted = || RepoPath::from_quoted(path.as_bytes());
    let bytes = objects.file(revision, path).ok();
    let bytes = bytes.or_else(|| objects.file(revision, quoted()?.as_bytes()).ok())?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

fn is_code(path: &[u8]) -> bool {
    Language::from_path(&String::from_utf8_lossy(path)).is_some()
}

fn shown_path(path: &[u8]) -> String {
    RepoPath::new(path).shown().into_owned()
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
