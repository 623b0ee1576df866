//! What the change touches: functions, names that its lines use, removed names and removed lines.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use super::lookup::folder;
use crate::change_under_review::ChangeUnderReview;
use crate::code_reader::CodeReader;
use crate::scope::FileRole;
use crh_review::diff::{Diff, FileDiff, LineKind};
use crh_review::finding::Side;
use crh_syntax::{Language, MentionRole, Symbol, SymbolKind, Symbols, mentions};

/// Maximum number of changed functions in a pack. The code of more functions would mostly not fit
/// into a prompt.
const FUNCTIONS_MAX: usize = 80;
/// Maximum number of used names in a pack, for the same reason.
const USED_NAMES_MAX: usize = 80;
/// Maximum number of changed files with code that are parsed, each before and after the change.
const FILES_MAX: usize = 500;
/// Maximum removed lines that are searched for copies.
const REMOVED_LINES_MAX: usize = 12;
/// Minimum length of a removed line that is searched for copies. Shorter lines have copies by
/// chance.
const REMOVED_LINE_CHARS: usize = 30;
/// Minimum length of a name that is searched. Shorter names have too many uses to be helpful.
const NAME_CHARS: usize = 4;
/// Maximum length of a type that is shown as a whole if a line outside its functions changed.
const TYPE_LINES_MAX: u32 = 60;

/// A function, method or small type with changed lines, at head.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ChangedFunction {
    pub(super) path: String,
    /// Qualified name.
    pub(super) name: String,
    pub(super) lines: RangeInclusive<u32>,
    pub(super) changed_lines: Vec<u32>,
}

impl ChangedFunction {
    /// The name without qualifiers.
    pub(super) fn own_name(&self) -> &str {
        own_name(&self.name)
    }
}

/// A name that a changed line uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct UsedName {
    pub(super) name: String,
    /// The type or module before the name, if it is written with a capital letter.
    pub(super) owner: Option<String>,
    /// The file that uses the name.
    pub(super) path: String,
}

/// What the change touches. Functions and used names are in the diff order of their files, those of
/// tests last.
#[derive(Debug, Default)]
pub(super) struct ChangedCode {
    pub(super) functions: Vec<ChangedFunction>,
    pub(super) used_names: Vec<UsedName>,
    /// Names of functions and types that exist at base only, with their files.
    pub(super) removed_names: BTreeMap<String, String>,
    /// Removed lines that the change does not add elsewhere, with their files.
    pub(super) removed_lines: BTreeMap<String, String>,
    /// Lines at head that the diff shows, by path.
    pub(super) diff_ranges: BTreeMap<String, Vec<RangeInclusive<u32>>>,
}

impl ChangedCode {
    /// Collects what the wanted files of a change touch.
    pub(super) fn collect(
        change: &ChangeUnderReview,
        code_reader: &CodeReader<'_>,
        is_wanted: &dyn Fn(&str) -> bool,
    ) -> Self {
        let mut changed = Self::default();
        let mut names: BTreeSet<String> = BTreeSet::new();
        let (mut old_names, mut new_names) = (BTreeMap::new(), BTreeSet::new());
        let mut files: Vec<_> =
            change.files().filter(|(scope, _)| is_wanted(&scope.path.shown())).collect();
        // The sort is stable. Tests come last, since they need less context.
        files.sort_by_key(|(scope, _)| scope.role == FileRole::Test);
        let code_paths = files.iter().map(|(scope, _)| scope.path.shown().into_owned());
        let code_paths = code_paths.filter(|path| Language::from_path(path).is_some());
        let both_sides = |path: String| [(Side::Old, path.clone()), (Side::New, path)];
        let sides: Vec<_> = code_paths.take(FILES_MAX).flat_map(both_sides).collect();
        code_reader.parse_in_parallel(&sides);
        let mut parsed_files = 0;
        for (scope, file) in files {
            if change.tool_context.check_stopped().is_err() {
                return changed;
            }
            let path = scope.path.shown().into_owned();
            changed.add_diff_ranges(&path, file);
            let Some(language) = Language::from_path(&path) else { continue };
            parsed_files += 1;
            if parsed_files > FILES_MAX {
                continue;
            }
            let old_symbols = code_reader.symbols(Side::Old, &path);
            let old_symbol_names = old_symbols.iter().flat_map(|symbols| searchable_names(symbols));
            old_names.extend(old_symbol_names.map(|name| (name, path.clone())));
            let new_symbols = code_reader.symbols(Side::New, &path);
            new_names.extend(new_symbols.iter().flat_map(|symbols| searchable_names(symbols)));
            if let Some(symbols) = &new_symbols {
                changed.add_functions(&path, &touched_lines(&change.diff, file), symbols);
            }
            if let Some(text) = code_reader.text(Side::New, &path) {
                let added = added_lines(&change.diff, file);
                changed.add_used_names(language, &path, &text, &added, &mut names);
            }
        }
        // A name that moved to another part of the change is not removed.
        let others = change.files().filter(|(scope, _)| !is_wanted(&scope.path.shown()));
        for (scope, _) in others.take(FILES_MAX) {
            let symbols = code_reader.symbols(Side::New, &scope.path.shown());
            new_names.extend(symbols.iter().flat_map(|symbols| searchable_names(symbols)));
        }
        old_names.retain(|name, _| !new_names.contains(name));
        changed.removed_names = old_names;
        changed.removed_lines = removed_lines(change, is_wanted);
        changed
    }

    fn add_diff_ranges(&mut self, path: &str, file: &FileDiff) {
        let spans = file.hunks.iter().map(|hunk| hunk.new).filter(|span| span.len > 0);
        let ranges = spans.map(|span| span.start..=span.start.saturating_add(span.len - 1));
        self.diff_ranges.entry(path.to_owned()).or_default().extend(ranges);
    }

    fn add_functions(&mut self, path: &str, touched: &[u32], symbols: &Symbols) {
        for line in touched {
            let Some(symbol) = enclosing_symbol(symbols, *line) else { continue };
            let is_same = |known: &ChangedFunction| {
                known.path == path && *known.lines.start() == symbol.start
            };
            if let Some(index) = self.functions.iter().position(is_same) {
                self.functions[index].changed_lines.push(*line);
            } else if self.functions.len() < FUNCTIONS_MAX {
                self.functions.push(ChangedFunction {
                    path: path.to_owned(),
                    name: symbol.name.clone(),
                    lines: symbol.start..=symbol.end,
                    changed_lines: vec![*line],
                });
            }
        }
    }

    /// Adds names that added lines call, read or import: calls first, then the rest.
    fn add_used_names(
        &mut self,
        language: Language,
        path: &str,
        text: &str,
        added: &BTreeSet<u32>,
        known: &mut BTreeSet<String>,
    ) {
        let lines = (1..).zip(text.lines()).filter(|(number, _)| added.contains(number));
        let words: BTreeSet<&str> = lines.flat_map(|(_, line)| words(line)).collect();
        let Ok(mut name_mentions) = mentions(language, text, &words) else { return };
        name_mentions.retain(|mention| added.contains(&mention.line));
        let is_call =
            |role: &MentionRole| matches!(role, MentionRole::Called | MentionRole::Member { .. });
        name_mentions.sort_by_key(|mention| (!is_call(&mention.role), mention.line));
        for mention in name_mentions {
            let is_use = match mention.role {
                MentionRole::Named | MentionRole::Destructured => false,
                MentionRole::Called | MentionRole::Member { .. } | MentionRole::Imported => true,
                // Lower-case names that a line only reads are mostly local variables.
                MentionRole::Read => mention.name.starts_with(char::is_uppercase),
            };
            let owner = match mention.role {
                MentionRole::Member { owner } if owner.starts_with(char::is_uppercase) => {
                    Some(owner)
                }
                _ => None,
            };
            if is_use {
                // For `Group.create`, the type `Group` helps more than a method of the framework.
                let owner_name = owner.clone().filter(|owner| is_searchable(owner));
                self.add_used_name(owner_name.map(|name| (name, None)), path, known);
                self.add_used_name(Some((mention.name, owner)), path, known);
            }
        }
    }

    fn add_used_name(
        &mut self,
        name_and_owner: Option<(String, Option<String>)>,
        path: &str,
        known: &mut BTreeSet<String>,
    ) {
        let Some((name, owner)) = name_and_owner else { return };
        if self.used_names.len() < USED_NAMES_MAX && known.insert(name.clone()) {
            self.used_names.push(UsedName { name, owner, path: path.to_owned() });
        }
    }

    /// Names of changed functions, without qualifiers. Names that are not worth a search are left
    /// out.
    pub(super) fn changed_names(&self) -> BTreeSet<String> {
        let names = self.functions.iter().map(ChangedFunction::own_name);
        names.filter(|name| is_searchable(name)).map(str::to_owned).collect()
    }

    /// The [`Self::changed_names`], each with the folders of its functions.
    pub(super) fn folders_by_name(&self) -> BTreeMap<&str, BTreeSet<&str>> {
        let mut folders: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        let functions = self.functions.iter().filter(|it| is_searchable(it.own_name()));
        for function in functions {
            folders.entry(function.own_name()).or_default().insert(folder(&function.path));
        }
        folders
    }

    /// Names whose definitions are searched.
    pub(super) fn names_to_define(&self) -> BTreeSet<String> {
        let mut names = self.changed_names();
        names.extend(self.used_names.iter().map(|used| used.name.clone()));
        names
    }
}

/// Changed lines at head. A removed line counts as the next line that exists at head.
pub(crate) fn touched_lines(diff: &Diff, file: &FileDiff) -> Vec<u32> {
    touched_lines_within(diff, file, &(0..=u32::MAX))
}

/// Changed lines at head whose diff lines are in a range.
pub(super) fn touched_lines_within(
    diff: &Diff,
    file: &FileDiff,
    diff_lines: &RangeInclusive<u32>,
) -> Vec<u32> {
    let mut changed_lines = Vec::new();
    for hunk in &file.hunks {
        let mut next = hunk.new.start.max(1);
        for line in diff.lines(hunk) {
            match line.kind {
                LineKind::Added if diff_lines.contains(&line.number) => {
                    changed_lines.push(line.new);
                }
                LineKind::Removed if diff_lines.contains(&line.number) => changed_lines.push(next),
                LineKind::Added | LineKind::Removed | LineKind::Context | LineKind::Remark => {}
            }
            if line.kind.in_new() {
                next = line.new.saturating_add(1);
            }
        }
    }
    changed_lines.sort_unstable();
    changed_lines.dedup();
    changed_lines
}

fn added_lines(diff: &Diff, file: &FileDiff) -> BTreeSet<u32> {
    let lines = file.hunks.iter().flat_map(|hunk| diff.lines(hunk));
    lines.filter(|line| line.kind == LineKind::Added).map(|line| line.new).collect()
}

/// Long removed lines of code that the change does not add elsewhere, without indentation, with
/// their files.
fn removed_lines(
    change: &ChangeUnderReview,
    is_wanted: &dyn Fn(&str) -> bool,
) -> BTreeMap<String, String> {
    let (mut removed, mut added) = (Vec::new(), BTreeSet::new());
    for (scope, file) in change.files() {
        let is_wanted = is_wanted(&scope.path.shown());
        for line in file.hunks.iter().flat_map(|hunk| change.diff.lines(hunk)) {
            let text = String::from_utf8_lossy(line.text()).trim().to_owned();
            match line.kind {
                LineKind::Added => drop(added.insert(text)),
                LineKind::Removed if is_wanted => {
                    removed.push((text, scope.path.shown().into_owned()));
                }
                LineKind::Removed | LineKind::Context | LineKind::Remark => {}
            }
        }
    }
    let is_specific = |text: &String| {
        text.len() >= REMOVED_LINE_CHARS
            && text.chars().filter(|char| char.is_alphanumeric()).count() >= REMOVED_LINE_CHARS / 2
            && !["import ", "from ", "use ", "using ", "#include", "//", "#", "*", "/*"]
                .iter()
                .any(|start| text.starts_with(start))
    };
    let specific =
        removed.into_iter().filter(|(text, _)| is_specific(text) && !added.contains(text));
    specific.take(REMOVED_LINES_MAX).collect()
}

/// The innermost function around a line, or the innermost small type.
pub(super) fn enclosing_symbol(symbols: &Symbols, line: u32) -> Option<&Symbol> {
    let around = |symbol: &&Symbol| symbol.start <= line && line <= symbol.end;
    let is_function =
        |symbol: &&Symbol| matches!(symbol.kind, SymbolKind::Function | SymbolKind::Method);
    let function = symbols.all().iter().filter(around).rfind(is_function);
    let small_type = || {
        symbols.all().iter().filter(around).rfind(|symbol| {
            symbol.kind == SymbolKind::Type && symbol.end - symbol.start < TYPE_LINES_MAX
        })
    };
    function.or_else(small_type)
}

fn searchable_names(symbols: &Symbols) -> Vec<String> {
    let symbols = symbols.all().iter().filter(|symbol| symbol.kind != SymbolKind::Module);
    let names = symbols.map(|symbol| own_name(&symbol.name));
    names.filter(|name| is_searchable(name)).map(str::to_owned).collect()
}

/// The part of a qualified name after its qualifiers.
pub(crate) fn own_name(name: &str) -> &str {
    name.rsplit(['.', ':', '\\', '#']).next().unwrap_or(name)
}

/// Whether a search for the name is helpful. Such names need no escaping in patterns.
pub(super) fn is_searchable(name: &str) -> bool {
    name.len() >= NAME_CHARS && name.chars().all(|char| char.is_alphanumeric() || char == '_')
}

fn words(line: &str) -> impl Iterator<Item = &str> {
    let words = line.split(|char: char| !char.is_alphanumeric() && char != '_');
    words
        .filter(|word| is_searchable(word) && !word.starts_with(|char: char| char.is_ascii_digit()))
}
