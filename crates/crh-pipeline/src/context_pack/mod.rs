//! The context pack: code that reviewers need besides the diff. crh chooses it without asking a
//! model. It contains the changed functions, definitions of what changed lines use, users of
//! changed and removed symbols, other definitions with the same name, and copies of removed lines.
//!
//! Invariants:
//! - The pack depends on the two commits and the diff alone. Work is bounded by counts and never by
//!   time, so every machine builds the same pack.
//! - Every line has its number in its file.
//! - Items are sorted by rank. A prompt takes the first items that fit and names the others.

mod changed;
mod files;
pub(crate) mod lookup;
pub(crate) mod relations;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::ops::RangeInclusive;
use std::rc::Rc;

pub(crate) use changed::{own_name, touched_lines};
pub use files::context_files;

use self::changed::{ChangedCode, ChangedFunction, UsedName};
use self::lookup::{CodeLookup, DefinitionSite, NearUses, UseSite};
use crate::change_under_review::ChangeUnderReview;
use crate::code_reader::CodeReader;
use crate::text::numbered_line;
use crh_review::finding::Side;

/// Maximum lines of an item. A changed function with more lines is shown in parts.
const ITEM_LINES_MAX: u32 = 120;
/// Lines to show before and after a change in a function that is too long.
const LONG_FUNCTION_LINES: u32 = 25;
/// Lines to show after the first line of a function that is too long.
const LONG_FUNCTION_HEAD: u32 = 5;
/// Maximum lines of a definition that a changed line uses.
const DEFINITION_LINES: u32 = 30;
/// Maximum lines of another definition with the same name.
const SAME_NAME_LINES: u32 = 20;
/// Lines before and after a use.
const USE_LINES_AROUND: u32 = 2;
/// Maximum shown uses of a symbol outside of tests.
const USES_MAX: usize = 5;
/// Maximum shown uses of a symbol in tests.
const TEST_USES_MAX: usize = 2;
/// Maximum definitions per used name.
const DEFINITIONS_PER_NAME: usize = 2;
/// Maximum files, besides that of a changed function, to parse for definitions with its name.
const SAME_NAMES_MAX: usize = 2;
/// A name with more lines that may define it is too common. For a used name without an owner, crh
/// then shows only definitions in imported files and in the same folder. For a changed function, it
/// shows no other definitions with the name.
const COMMON_NAME_DEFINITIONS: usize = 6;
/// A name with more uses is too common: only uses in the same folder are shown.
const COMMON_NAME_USES: usize = 80;
/// Maximum files to parse for the definition of a name with an owner, such as `Cart.total`.
const OWNER_FILES_MAX: usize = 6;
/// Maximum characters of a line. Longer lines are cut.
const LINE_CHARS: usize = 300;

/// Why an item is in the pack. The order is the rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum ItemKind {
    ChangedFunction,
    RemovedSymbolUse,
    Definition,
    Use,
    SameName,
    RemovedLineCopy,
    Test,
}

impl ItemKind {
    const ALL: [Self; 7] = [
        Self::ChangedFunction,
        Self::RemovedSymbolUse,
        Self::Definition,
        Self::Use,
        Self::SameName,
        Self::RemovedLineCopy,
        Self::Test,
    ];

    /// Title of the items of this kind.
    fn title(self) -> &'static str {
        match self {
            Self::ChangedFunction => "Changed functions, as they are after the change",
            Self::RemovedSymbolUse => "Code that still uses names which the change removes",
            Self::Definition => "Definitions of what changed lines use",
            Self::Use => "Code that uses changed functions and types",
            Self::SameName => "Other definitions with the name of a changed one",
            Self::RemovedLineCopy => "Lines equal to a line that the change removes",
            Self::Test => "Tests that use changed functions and types",
        }
    }

    /// Share of a prompt's space that items of this kind may take, in percent.
    fn share(self) -> usize {
        match self {
            Self::ChangedFunction => 45,
            Self::Definition => 35,
            Self::RemovedSymbolUse | Self::Use => 20,
            Self::SameName | Self::RemovedLineCopy | Self::Test => 10,
        }
    }
}

/// A piece of code with a reason.
#[derive(Debug, Clone, PartialEq, Eq)]
struct PackItem {
    kind: ItemKind,
    /// The changed file that the item belongs to.
    changed_path: String,
    /// Path, symbol and reason, on one line.
    title: String,
    /// Numbered lines.
    text: String,
}

impl PackItem {
    fn render(&self) -> String {
        format!("{}\n{}\n", self.title, self.text)
    }
}

/// Remaining space for items.
struct PackSpace {
    max_chars: usize,
    chars_left: usize,
    /// Taken characters by kind.
    taken: BTreeMap<ItemKind, usize>,
}

impl PackSpace {
    fn new(max_chars: usize) -> Self {
        Self { max_chars, chars_left: max_chars, taken: BTreeMap::new() }
    }

    /// Takes the space of an item. Returns false if the item does not fit, or if items of its kind
    /// already have their share.
    fn try_take(&mut self, item: &PackItem) -> bool {
        let taken = self.taken.entry(item.kind).or_default();
        let size = item.title.len() + item.text.len() + 2;
        let fits_share = *taken + size <= self.max_chars * item.kind.share() / 100;
        let fits = size <= self.chars_left && fits_share;
        if fits {
            *taken += size;
            self.chars_left -= size;
        }
        fits
    }
}

/// Code that reviewers need besides the diff, best items first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ContextPack {
    items: Vec<PackItem>,
}

impl ContextPack {
    /// Builds the pack of the wanted files of a change. Empty if the change is only a diff.
    pub fn build(change: &ChangeUnderReview, is_wanted: &dyn Fn(&str) -> bool) -> Self {
        let code_reader = CodeReader::new(change);
        let changed_code = ChangedCode::collect(change, &code_reader, is_wanted);
        let Some(lookup) = CodeLookup::new(&change.tool_context) else { return Self::default() };
        let mut builder = PackBuilder::new(&code_reader, &changed_code);
        builder.add_changed_functions();
        builder.add_definitions(&lookup);
        builder.add_uses(&lookup);
        builder.add_copies(&lookup);
        let mut items = builder.items;
        items.sort_by_key(|item| item.kind);
        Self { items }
    }

    /// The best items that fit into a number of characters. Empty if there are none. Names the
    /// items that do not fit.
    pub fn render(&self, max_chars: usize) -> String {
        let mut shown: BTreeMap<ItemKind, String> = BTreeMap::new();
        let mut left_out: Vec<&PackItem> = Vec::new();
        let mut space = PackSpace::new(max_chars);
        for item in &self.items {
            if space.try_take(item) {
                shown.entry(item.kind).or_default().push_str(&item.render());
            } else {
                left_out.push(item);
            }
        }
        let mut text = String::new();
        for kind in ItemKind::ALL {
            if let Some(section) = shown.get(&kind).filter(|section| !section.is_empty()) {
                let _ = write!(text, "== {}\n\n{section}", kind.title());
            }
        }
        if !text.is_empty() && !left_out.is_empty() {
            text.push_str("== Left out for lack of room\n\n");
            left_out.iter().take(30).for_each(|item| {
                let _ = writeln!(text, "{}", item.title);
            });
            if left_out.len() > 30 {
                let _ = writeln!(text, "[{} more]", left_out.len() - 30);
            }
        }
        text
    }
}

/// An item before its lines are read.
struct NewItem<'a> {
    kind: ItemKind,
    changed_path: &'a str,
    title: String,
    path: &'a str,
    range: RangeInclusive<u32>,
}

/// Collects items. Leaves out items whose lines the diff and earlier items mostly show.
struct PackBuilder<'a> {
    code_reader: &'a CodeReader<'a>,
    changed: &'a ChangedCode,
    /// Shown lines at head, by path.
    shown: BTreeMap<String, Vec<RangeInclusive<u32>>>,
    /// Texts at head, by path. Many items are in the same files.
    texts: BTreeMap<String, Option<Rc<str>>>,
    items: Vec<PackItem>,
}

impl<'a> PackBuilder<'a> {
    fn new(code_reader: &'a CodeReader<'a>, changed: &'a ChangedCode) -> Self {
        let shown = changed.diff_ranges.clone();
        Self { code_reader, changed, shown, texts: BTreeMap::new(), items: Vec::new() }
    }

    fn text(&mut self, path: &str) -> Option<Rc<str>> {
        if let Some(text) = self.texts.get(path) {
            return text.clone();
        }
        let text: Option<Rc<str>> = self.code_reader.text(Side::New, path).map(Rc::from);
        self.texts.insert(path.to_owned(), text.clone());
        text
    }

    fn is_shown(&self, path: &str, line: u32) -> bool {
        self.shown.get(path).is_some_and(|ranges| ranges.iter().any(|range| range.contains(&line)))
    }

    /// Adds numbered lines of a file at head, unless most of them are shown already.
    fn add(&mut self, item: NewItem<'_>) {
        let NewItem { kind, changed_path, title, path, range } = item;
        let hidden = range.clone().filter(|line| !self.is_shown(path, *line)).count();
        let total = range.clone().count();
        if hidden == 0 || hidden * 4 < total && hidden < 6 {
            return;
        }
        let Some(file) = self.text(path) else { return };
        let text = number_range(&file, &range);
        if !text.is_empty() {
            self.shown.entry(path.to_owned()).or_default().push(range);
            let changed_path = changed_path.to_owned();
            self.items.push(PackItem { kind, changed_path, title, text });
        }
    }

    fn add_changed_functions(&mut self) {
        for function in &self.changed.functions {
            let ChangedFunction { path, name, lines, changed_lines } = function;
            let (kind, changed_path) = (ItemKind::ChangedFunction, path);
            if lines.end() - lines.start() < ITEM_LINES_MAX {
                let title = format!("{path}: {name}");
                self.add(NewItem { kind, changed_path, title, path, range: lines.clone() });
                continue;
            }
            // The first lines of a long function, and the lines around its changes.
            let range = *lines.start()..=lines.start() + LONG_FUNCTION_HEAD;
            let title = format!("{path}: start of {name}");
            self.add(NewItem { kind, changed_path, title, path, range });
            for range in windows(changed_lines, lines) {
                let title = format!("{path}: part of {name}");
                self.add(NewItem { kind, changed_path, title, path, range });
            }
        }
    }

    fn add_definitions(&mut self, lookup: &CodeLookup<'_>) {
        let candidates = lookup.candidates(&self.changed.names_to_define());
        let mut used_names = Vec::new();
        for used in &self.changed.used_names {
            let Some(candidates) = candidates.get(&used.name) else { continue };
            let (mut candidates, near) = lookup.usable_candidates(candidates, &used.path);
            let max_files = match used.owner {
                Some(_) => OWNER_FILES_MAX,
                // If none of many definitions is near, crh cannot tell which one is used.
                None if near == 0 && candidates.len() > COMMON_NAME_DEFINITIONS => continue,
                None => DEFINITIONS_PER_NAME,
            };
            if used.owner.is_none() && near > 0 {
                candidates.truncate(near);
            }
            let (near, far) = candidates.split_at_mut(near);
            lookup.sort_candidates(near, &used.path);
            lookup.sort_candidates(far, &used.path);
            used_names.push((used, candidates, max_files));
        }
        lookup.parse_ahead(used_names.iter().flat_map(|(_, candidates, max_files)| {
            let mut paths: Vec<&str> = candidates.iter().map(|it| &*it.path).collect();
            paths.dedup();
            paths.into_iter().take(*max_files)
        }));
        for (UsedName { name, owner, path }, candidates, max_files) in used_names {
            let mut sites = lookup.confirm(name, &candidates, max_files);
            if let Some(owner) = owner {
                sites.retain(|site| site.belongs_to(owner));
            }
            let sites = sites.iter().take(DEFINITIONS_PER_NAME);
            self.add_sites(ItemKind::Definition, path, sites, DEFINITION_LINES);
        }
        for function in &self.changed.functions {
            let name = function.own_name();
            let Some(candidates) = candidates.get(name) else { continue };
            if candidates.len() <= COMMON_NAME_DEFINITIONS {
                let (mut candidates, near) = lookup.usable_candidates(candidates, &function.path);
                let (near, far) = candidates.split_at_mut(near);
                lookup.sort_candidates(near, &function.path);
                lookup.sort_candidates(far, &function.path);
                let sites = lookup.confirm(name, &candidates, SAME_NAMES_MAX + 1);
                self.add_sites(ItemKind::SameName, &function.path, sites.iter(), SAME_NAME_LINES);
            }
        }
    }

    /// Adds definitions, except for changed functions.
    fn add_sites<'s>(
        &mut self,
        kind: ItemKind,
        changed_path: &str,
        sites: impl Iterator<Item = &'s DefinitionSite>,
        max_lines: u32,
    ) {
        for site in sites {
            let is_changed = self.changed.functions.iter().any(|function| {
                function.path == site.path && function.lines.contains(site.lines.start())
            });
            if !is_changed {
                let range = bounded(&site.lines, max_lines);
                let title = format!("{}: {}", site.path, site.name);
                self.add(NewItem { kind, changed_path, title, path: &site.path, range });
            }
        }
    }

    fn add_uses(&mut self, lookup: &CodeLookup<'_>) {
        let removed_names = &self.changed.removed_names;
        for (name, sites) in lookup.uses(&removed_names.keys().cloned().collect()) {
            let path = &removed_names[&name];
            self.add_use_sites(ItemKind::RemovedSymbolUse, (&name, path), &sites, USES_MAX);
        }
        let uses = lookup.near_uses(&self.changed.folders_by_name(), COMMON_NAME_USES);
        let mut used_functions = Vec::new();
        for function in &self.changed.functions {
            let used = (function.own_name(), function.path.as_str());
            let Some(NearUses { sites, is_common }) = uses.get(used.0) else { continue };
            let mut sites = sites.clone();
            if *is_common {
                // Most of these uses are about other things with the same name.
                let folder = lookup::folder(&function.path);
                sites.retain(|site| lookup::folder(&site.path) == folder);
            }
            sites.sort_by_key(|site| lookup.distance(&site.path, &function.path));
            let (tests, others): (Vec<UseSite>, Vec<UseSite>) =
                sites.into_iter().partition(UseSite::is_test);
            used_functions.push((used, others, tests));
        }
        lookup.parse_ahead(used_functions.iter().flat_map(|(_, others, tests)| {
            let sites = others.iter().take(USES_MAX).chain(tests.iter().take(TEST_USES_MAX));
            sites.map(|site| site.path.as_str())
        }));
        for (used, others, tests) in used_functions {
            self.add_use_sites(ItemKind::Use, used, &others, USES_MAX);
            self.add_use_sites(ItemKind::Test, used, &tests, TEST_USES_MAX);
        }
    }

    /// Adds uses of a name. The file at `changed_path` defines the name, or defined it before the
    /// change.
    fn add_use_sites(
        &mut self,
        kind: ItemKind,
        (name, changed_path): (&str, &str),
        sites: &[UseSite],
        max: usize,
    ) {
        let hidden: Vec<&UseSite> =
            sites.iter().filter(|site| !self.is_shown(&site.path, site.line)).collect();
        for site in hidden.iter().take(max) {
            let path = site.path.as_str();
            let symbols = self.code_reader.symbols(Side::New, path);
            let symbol = symbols.as_ref().and_then(|symbols| symbols.symbol_at(site.line));
            let enclosing = symbol.map(|symbol| format!(", in {}", symbol.name));
            let enclosing = enclosing.unwrap_or_default();
            let total = match hidden.len() {
                count if count > max => format!(" (one of {count} lines)"),
                _ => String::new(),
            };
            let title = format!("{path}: uses {name}{enclosing}{total}");
            self.add(NewItem { kind, changed_path, title, path, range: around(site.line) });
        }
    }

    fn add_copies(&mut self, lookup: &CodeLookup<'_>) {
        let kind = ItemKind::RemovedLineCopy;
        for (text, sites) in lookup.copies(self.changed.removed_lines.keys()) {
            let Some(changed_path) = self.changed.removed_lines.get(&text) else { continue };
            for UseSite { path, line, .. } in &sites {
                if !self.is_shown(path, *line) {
                    let title = format!("{path}:{line}");
                    self.add(NewItem { kind, changed_path, title, path, range: around(*line) });
                }
            }
        }
    }
}

/// A line with its neighbours.
fn around(line: u32) -> RangeInclusive<u32> {
    line.saturating_sub(USE_LINES_AROUND).max(1)..=line.saturating_add(USE_LINES_AROUND)
}

/// Ranges around changed lines within a function, merged if they touch.
fn windows(changed_lines: &[u32], within: &RangeInclusive<u32>) -> Vec<RangeInclusive<u32>> {
    let mut ranges: Vec<RangeInclusive<u32>> = Vec::new();
    for line in changed_lines {
        let first = line.saturating_sub(LONG_FUNCTION_LINES).max(*within.start());
        let last = line.saturating_add(LONG_FUNCTION_LINES).min(*within.end());
        match ranges.last_mut() {
            Some(range) if first <= range.end() + 1 => *range = *range.start()..=last,
            _ => ranges.push(first..=last),
        }
    }
    ranges.into_iter().map(|range| bounded(&range, ITEM_LINES_MAX)).collect()
}

fn bounded(range: &RangeInclusive<u32>, max_lines: u32) -> RangeInclusive<u32> {
    *range.start()..=(*range.end()).min(range.start().saturating_add(max_lines - 1))
}

fn number_range(text: &str, range: &RangeInclusive<u32>) -> String {
    let skipped = usize::try_from(range.start().saturating_sub(1)).unwrap_or(usize::MAX);
    let lines = (*range.start()..).zip(text.lines().skip(skipped));
    let lines = lines.take_while(|(number, _)| range.contains(number));
    lines.map(|(number, line)| numbered_line(number, line.trim_end(), LINE_CHARS)).collect()
}
