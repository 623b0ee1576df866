//! The lines that an edit of a fixer changes, to tell for which issue it was made.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::FileEdit;
use super::file_kind::FileKind;
use super::indented_blocks::{block_around, has_word, headers, key, named_blocks};
use crh_review::Location;
use crh_review::finding::Side;
use crh_review::report::Issue;
use crh_syntax::{Language, MentionRole, SymbolKind, SyntaxTree, fallback_spans};

/// How far from the lines of an issue its fix may begin. Models cite lines imprecisely.
const MARGIN: usize = 3;

/// Minimum length of a name that shows that removed code is back. Shorter names are in much code.
const NAME_MIN: usize = 3;

/// Words in the title or the suggestion of an issue about comments. `licen` has two spellings.
const COMMENT_WORDS: [&str; 8] =
    ["comment", "docstring", "document", "rustdoc", "javadoc", "jsdoc", "licen", "typo"];

/// What starts a comment in the title or the suggestion of an issue.
const COMMENT_MARKS: [&str; 4] = ["//", "/*", "#", "<!--"];

/// Words in the title or the suggestion of an issue about white space.
const SPACE_WORDS: [&str; 7] = [
    "indent",
    "white space",
    "whitespace",
    "blank line",
    "trailing space",
    "extra space",
    "missing space",
];

/// Maximum cells of the comparison table: 2,000 by 2,000 lines between the first and the last
/// change. More lines are compared in parts, between lines that both texts have once.
const CELLS_MAX: usize = 4_000_000;

/// Lines that an edit replaces. Both ranges count from 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedLines {
    /// The replaced lines of the old text.
    pub before: Range<usize>,
    /// The lines of the new text.
    pub after: Range<usize>,
}

/// The changes of one file.
pub(super) struct FileChanges<'e> {
    path: &'e str,
    kind: FileKind,
    before: FileLines,
    after: FileLines,
    changes: Vec<ChangedLines>,
    /// The file before the reviewed change. Empty if it is unknown.
    base: FileLines,
    /// The changes that were reviewed, and those before the fixer.
    since_base: Vec<ChangedLines>,
}

/// The lines of a file, with what its syntax tells.
#[derive(Default)]
struct FileLines {
    lines: Vec<String>,
    /// The lines without comments.
    code: Vec<String>,
    definitions: Vec<DefinitionLines>,
    /// Callbacks and methods of object literals with several lines.
    callbacks: Vec<Range<usize>>,
    /// Lines that import or bind a name outside of all functions.
    bindings: Vec<(usize, String)>,
    /// Whether the file has a grammar, unlike YAML.
    has_syntax: bool,
}

/// A function, method or type. Lines count from 0.
struct DefinitionLines {
    /// Name without qualifiers.
    name: String,
    is_type: bool,
    lines: Range<usize>,
}

impl<'e> FileChanges<'e> {
    /// `base` is the file before the reviewed change.
    pub(super) fn new(edit: &'e FileEdit, base: Option<&[u8]>) -> Self {
        let lines = |bytes: &Option<Vec<u8>>| {
            bytes.as_deref().map(|bytes| FileLines::parse(&edit.path, bytes)).unwrap_or_default()
        };
        let (before, after) = (lines(&edit.before), lines(&edit.after));
        let changes = changed_lines(&before.lines, &after.lines);
        let base = base.map(|bytes| FileLines::parse(&edit.path, bytes)).unwrap_or_default();
        let since_base = changed_lines(&base.lines, &before.lines);
        let kind = FileKind::from_path(&edit.path);
        Self { path: &edit.path, kind, before, after, changes, base, since_base }
    }

    /// The path of the file.
    pub(super) fn path(&self) -> &'e str {
        self.path
    }

    /// The changes that may fix this issue. Comments, and white space that does not matter, count only
    /// if the issue is about them.
    pub(super) fn substantial(&self, issue: &Issue) -> Vec<&ChangedLines> {
        let is_about_space = self.is_about_blank_space(issue);
        let is_about_comment = self.is_about_comment(issue);
        let may_fix = |change: &&ChangedLines| {
            is_about_space
                || !self.is_blank(change) && (is_about_comment || !self.is_comment(change))
        };
        self.changes.iter().filter(may_fix).collect()
    }

    /// Whether a change is at a place of an issue, or a few lines from it and not in another function.
    /// If the issue is outside of all functions, a change of old lines must be in its block.
    pub(super) fn touches(&self, issue: &Issue, change: &ChangedLines) -> bool {
        let before = &change.before;
        self.places(issue).iter().any(|place| {
            let is_near = before.start < place.end.saturating_add(MARGIN)
                && before.end + MARGIN > place.start;
            let may_be_near = || {
                !self.is_in_other_definition(place, change)
                    && (before.is_empty()
                        || self.before.definitions.iter().any(|it| contains(&it.lines, place))
                        || self.is_in_block(issue, change))
            };
            (overlap(before, place) || is_near && may_be_near())
                && (issue.location.side == Side::New
                    || self.may_replace_removed(issue, place, change))
        })
    }

    /// Whether a change at the place of removed lines adds a line, outside of functions under the same
    /// header, and does not give a removed key another value.
    fn may_replace_removed(
        &self,
        issue: &Issue,
        place: &Range<usize>,
        change: &ChangedLines,
    ) -> bool {
        let removed = self.removed_lines(issue);
        let is_in_definition = self.before.definitions.iter().any(|it| contains(&it.lines, place));
        let may_be_anywhere = is_in_definition || removed.is_empty();
        let mut new = change.after.clone().filter(|at| !self.after.code[*at].trim().is_empty());
        let has_key = |name: &str| {
            self.before.lines[change.before.clone()].iter().any(|line| key(line) == Some(name))
        };
        let has_other_value = |(new, old): (usize, &usize)| {
            self.has_other_value(*old, new) && !key(&self.base.code[*old]).is_some_and(has_key)
        };
        let mut pairs =
            change.after.clone().flat_map(|at| removed.iter().map(move |old| (at, old)));
        new.any(|at| may_be_anywhere || removed.iter().any(|old| self.is_under_header(*old, at)))
            && !pairs.any(has_other_value)
    }

    /// Whether a change is in a function or type that does not contain a place, or at its decorator.
    fn is_in_other_definition(&self, place: &Range<usize>, change: &ChangedLines) -> bool {
        let definitions = self.before.definitions.iter();
        let (own, other): (Vec<_>, Vec<_>) = definitions.partition(|it| contains(&it.lines, place));
        if !change.before.is_empty() {
            return other.iter().any(|it| overlap(&it.lines, &change.before));
        }
        // New lines at the start or at the end of a function are only afterwards in it.
        let has = |list: &[&DefinitionLines], name: &str| list.iter().any(|it| it.name == name);
        let mut changed =
            self.after.definitions.iter().filter(|it| overlap(&it.lines, &change.after));
        let at = change.before.start;
        let mut callbacks = self.before.callbacks.iter();
        changed.any(|it| has(&other, &it.name) && !has(&own, &it.name))
            || own.is_empty()
                && callbacks.any(|it| it.start < at && at < it.end && !contains(it, place))
    }

    /// Whether a change replaces a cited line of an issue, or inserts lines next to one.
    pub(super) fn replaces(&self, issue: &Issue, change: &ChangedLines) -> bool {
        let slack = usize::from(change.before.is_empty());
        self.places(issue).iter().any(|place| {
            change.before.start < place.end.saturating_add(slack)
                && change.before.end + slack > place.start
        })
    }

    /// Whether a change is in the code around an issue: in the same function, or in a type if no
    /// function is around the issue, or in a definition or import of a name that the cited lines
    /// contain. No code is around a removed line.
    pub(super) fn is_around(&self, issue: &Issue, change: &ChangedLines) -> bool {
        // New lines at the start or at the end of a function may belong to it.
        let slack = usize::from(change.before.is_empty());
        let is_within = |definition: &DefinitionLines| {
            change.before.start < definition.lines.end + slack
                && change.before.end + slack > definition.lines.start
        };
        let places = self.places(issue);
        let cited_lines = places.iter().flat_map(|place| {
            let end = place.end.min(self.before.code.len());
            &self.before.code[place.start.min(end)..end]
        });
        let cited_names: BTreeSet<&str> = cited_lines.flat_map(|line| names(line)).collect();
        let is_own = |definition: &DefinitionLines| {
            places.iter().any(|place| {
                definition.lines.contains(&place.start)
                    && (!definition.is_type || !self.before.is_in_function(place.start))
            })
        };
        let is_named = |definition: &DefinitionLines| {
            !definition.is_type && cited_names.contains(definition.name.as_str())
        };
        let is_in_definition = || {
            self.before.definitions.iter().any(|definition| {
                is_within(definition) && (is_own(definition) || is_named(definition))
            })
        };
        let is_binding = || {
            self.after.bindings.iter().any(|(line, name)| {
                change.after.contains(line) && cited_names.contains(name.as_str())
            })
        };
        issue.location.side == Side::New && (is_in_definition() || is_binding())
    }

    /// Whether an issue is outside of all named functions and types, as in YAML, and a change is in
    /// the block of its lines: their callback or the lines at their indentation. In a file without a
    /// grammar, a change also counts in the block of a key or anchor that the lines name, or if it
    /// adds a key that the issue names. A change in a definition or in another callback does not
    /// count.
    pub(super) fn is_in_block(&self, issue: &Issue, change: &ChangedLines) -> bool {
        let before = &change.before;
        let is_in = |lines: &Range<usize>| match before.is_empty() {
            true => lines.start < before.start && before.start < lines.end,
            false => lines.start <= before.start && before.end <= lines.end,
        };
        // New lines at the start or at the end of a block may belong to it.
        let is_in_block = |block: Range<usize>| {
            is_in(&block) || before.is_empty() && [block.start, block.end].contains(&before.start)
        };
        let is_for = |place: Range<usize>| {
            let is_cited = |lines: &Range<usize>| lines.contains(&place.start);
            let callbacks = || self.before.callbacks.iter();
            if self.before.definitions.iter().any(|it| is_cited(&it.lines) || is_in(&it.lines))
                || callbacks().any(|it| is_in(it) && !is_cited(it))
            {
                return false;
            }
            let callback = callbacks().filter(|it| is_cited(it)).min_by_key(|it| it.len());
            let named = match self.before.has_syntax {
                true => Vec::new(),
                false => named_blocks(&self.before.lines, &place),
            };
            let own = block_around(&self.before.lines, place.start, self.before.has_syntax);
            callback.cloned().into_iter().chain([own]).chain(named).any(is_in_block)
                || self.adds_named_key(issue, change)
        };
        let places = std::iter::once(&issue.location).chain(&issue.other_places);
        let mut here = places.filter(|it| it.file == self.path && it.side == Side::New);
        issue.location.side == Side::New
            && here
                .any(|place| is_for(line_index(place.line_start)..line_index(place.line_end) + 1))
    }

    /// Whether a change adds a key that the file does not have and that the issue names, such as
    /// `permissions`, to a file without a grammar.
    fn adds_named_key(&self, issue: &Issue, change: &ChangedLines) -> bool {
        let mut new = self.after.lines[change.after.clone()].iter().filter_map(|line| key(line));
        !self.before.has_syntax
            && new.any(|name| {
                let mut texts = std::iter::once(&issue.title).chain(&issue.suggested_fix);
                texts.any(|text| has_word(text, name))
                    && self.before.lines.iter().all(|line| key(line) != Some(name))
            })
    }

    /// Whether a change brings back lines that the reviewed change removed at the place of an
    /// issue, or a name in them, in the same function or under the same header. Lines and names that
    /// the file still has do not count.
    pub(super) fn brings_back(&self, issue: &Issue, change: &ChangedLines) -> bool {
        let known: BTreeSet<&str> = self.before.code.iter().flat_map(|line| names(line)).collect();
        let is_name_back = |name: &str, new: &str| {
            let is_short = name.len() < NAME_MIN || name.chars().all(char::is_numeric);
            !is_short && !known.contains(name) && names(new).any(|it| it == name)
        };
        let is_back = |old: usize, new: usize| {
            let text = bare_text(&self.base.code[old]);
            let is_line_back = text.contains(char::is_alphanumeric)
                && bare_text(&self.after.code[new]) == text
                && self.before.lines.iter().all(|line| bare_text(line) != text);
            let is_name_back = names(text).any(|name| is_name_back(name, &self.after.code[new]));
            (is_line_back || is_name_back && !self.has_other_value(old, new))
                && self.is_under_header(old, new)
        };
        let mut removed = self.removed_lines(issue).into_iter();
        removed.any(|old| change.after.clone().any(|new| is_back(old, new)))
    }

    /// The lines of the base that the reviewed change removed at the place of an issue.
    fn removed_lines(&self, issue: &Issue) -> Vec<usize> {
        let places = std::iter::once(&issue.location).chain(&issue.other_places);
        let here = places.filter(|it| it.file == self.path && it.side == Side::Old);
        let cited: Vec<Range<usize>> =
            here.map(|it| line_index(it.line_start)..line_index(it.line_end) + 1).collect();
        let removed = self.since_base.iter().map(|it| it.before.clone());
        removed.filter(|lines| cited.iter().any(|it| overlap(it, lines))).flatten().collect()
    }

    /// Whether a new line is in the same function as a line of the base, or under the same header.
    fn is_under_header(&self, old: usize, new: usize) -> bool {
        self.base.headers(old) == self.after.headers(new)
    }

    /// Whether a new line has the key of a line of the base and another value. In code, another value
    /// may be right.
    fn has_other_value(&self, old: usize, new: usize) -> bool {
        let (old, new) = (&self.base.code[old], &self.after.code[new]);
        let name = key(old);
        !self.before.has_syntax
            && name.is_some()
            && name == key(new)
            && self.kind.visible_lines(&[bare_text(old).to_owned()])
                != self.kind.visible_lines(&[bare_text(new).to_owned()])
    }

    /// The cited lines of an issue in this file, and where removed ones were if it is about removed
    /// lines. Lines count from 0.
    fn places(&self, issue: &Issue) -> Vec<Range<usize>> {
        let index = |line: u32| usize::try_from(line).unwrap_or(usize::MAX);
        let quotes = issue.evidence.iter().map(|quote| {
            let start = index(quote.line).saturating_sub(1);
            let end = start.saturating_add(quote.snippet.lines().count().max(1));
            (&quote.file, quote.side, start..end)
        });
        let locations = std::iter::once(&issue.location).chain(&issue.other_places);
        let locations = locations.map(|place| {
            (
                &place.file,
                place.side,
                index(place.line_start).saturating_sub(1)..index(place.line_end),
            )
        });
        let here = locations.chain(quotes).filter(|(file, _, _)| *file == self.path);
        let place = |(_, side, lines): (_, Side, Range<usize>)| match side {
            Side::New => Some(lines),
            Side::Old if issue.location.side == Side::Old => Some(self.place_of_removed(&lines)),
            Side::Old => None,
        };
        here.filter_map(place).collect()
    }

    /// The place of lines of the base in the reviewed file: the lines instead of them, or the place
    /// where they were.
    fn place_of_removed(&self, lines: &Range<usize>) -> Range<usize> {
        let position = |line: usize| {
            let earlier = self.since_base.iter().rev().find(|change| change.before.start <= line);
            match earlier {
                Some(change) if line < change.before.end => change.after.clone(),
                Some(change) => {
                    let start = change.after.end + (line - change.before.end);
                    start..start + 1
                }
                None => line..line + 1,
            }
        };
        position(lines.start).start..position(lines.end.saturating_sub(1)).end
    }

    /// Whether a change is only about white space that does not matter.
    fn is_blank(&self, change: &ChangedLines) -> bool {
        self.kind.visible_lines(&self.before.lines[change.before.clone()])
            == self.kind.visible_lines(&self.after.lines[change.after.clone()])
    }

    /// Whether a change is only about comments and such white space.
    fn is_comment(&self, change: &ChangedLines) -> bool {
        self.kind.visible_lines(&self.before.code[change.before.clone()])
            == self.kind.visible_lines(&self.after.code[change.after.clone()])
    }

    /// Whether an issue speaks of comments, or one of its places is a comment.
    fn is_about_comment(&self, issue: &Issue) -> bool {
        let mut texts = std::iter::once(&issue.title).chain(&issue.suggested_fix);
        let is_comment = |place: Range<usize>| {
            let mut code = self.before.code.get(place).into_iter().flatten().peekable();
            code.peek().is_some() && code.all(|line| line.trim().is_empty())
        };
        texts.any(|text| speaks_of_comments(text)) || self.places(issue).into_iter().any(is_comment)
    }

    /// Whether an issue speaks of white space, or a replacement of it changes nothing else.
    fn is_about_blank_space(&self, issue: &Issue) -> bool {
        let mut texts = std::iter::once(&issue.title).chain(&issue.suggested_fix);
        let speaks_of_space = texts.any(|text| {
            let lower = text.to_lowercase();
            SPACE_WORDS.iter().any(|word| lower.contains(word))
        });
        let index = |line: u32| usize::try_from(line).unwrap_or(usize::MAX);
        let Location { file, line_start, line_end, .. } = &issue.location;
        let lines = self.before.lines.get(index(*line_start).saturating_sub(1)..index(*line_end));
        let of_members = issue.members.iter().map(|member| &member.finding.replacement);
        let mut replacements = of_members.chain([&issue.replacement]).flatten();
        let has_replacement = |lines: &[String]| {
            replacements.any(|text| {
                let text = split_lines(text);
                text != lines && self.kind.visible_lines(&text) == self.kind.visible_lines(lines)
            })
        };
        speaks_of_space || file == self.path && lines.is_some_and(has_replacement)
    }
}

impl FileLines {
    fn parse(path: &str, bytes: &[u8]) -> Self {
        let text = String::from_utf8_lossy(bytes);
        let lines = split_lines(&text);
        let language = Language::of_file(path, bytes);
        let tree = language.and_then(|language| SyntaxTree::new(language, &text).ok());
        let Some(tree) = tree else {
            let spans = fallback_spans(&text);
            let definitions = spans.iter().map(|span| {
                DefinitionLines::new(&span.name, SymbolKind::Function, span.start, span.end)
            });
            let definitions = definitions.collect();
            let code = FileKind::from_path(path).without_comments(&lines);
            return Self { code, lines, definitions, ..Self::default() };
        };
        let symbols = tree.symbols();
        let definitions = symbols.all().iter().filter(|symbol| symbol.kind != SymbolKind::Module);
        let definitions: Vec<DefinitionLines> = definitions
            .map(|symbol| DefinitionLines::new(&symbol.name, symbol.kind, symbol.start, symbol.end))
            .collect();
        let code = split_lines(&tree.without_comments());
        let callbacks = tree.callbacks();
        let bindings = Vec::new();
        let mut parsed = Self { lines, code, definitions, callbacks, bindings, has_syntax: true };
        parsed.bindings = parsed.outer_bindings(&tree);
        parsed
    }

    fn outer_bindings(&self, tree: &SyntaxTree<'_>) -> Vec<(usize, String)> {
        let outer_lines = (0..self.code.len()).filter(|line| !self.is_in_function(*line));
        let outer_names = outer_lines.flat_map(|line| names(&self.code[line])).collect();
        let mentions =
            tree.mentions(&outer_names).into_iter().filter(|mention| match mention.role {
                MentionRole::Named | MentionRole::Destructured | MentionRole::Imported => true,
                MentionRole::Called | MentionRole::Member { .. } | MentionRole::Read => false,
            });
        let bindings = mentions.map(|mention| (line_index(mention.line), mention.name));
        bindings.filter(|(line, _)| !self.is_in_function(*line)).collect()
    }

    /// The names of the functions and types around a line, or else the lines that it belongs to.
    fn headers(&self, line: usize) -> Vec<&str> {
        let around = self.definitions.iter().filter(|it| it.lines.contains(&line));
        let mut around: Vec<&DefinitionLines> = around.collect();
        if around.is_empty() {
            return headers(&self.code, line);
        }
        around.sort_by_key(|it| it.lines.len());
        around.iter().map(|it| it.name.as_str()).collect()
    }

    fn is_in_function(&self, line: usize) -> bool {
        self.definitions.iter().any(|it| !it.is_type && it.lines.contains(&line))
    }
}

impl DefinitionLines {
    fn new(name: &str, kind: SymbolKind, start: u32, end: u32) -> Self {
        let own_name = name.rsplit(['.', ':', '#', '\\']).next().unwrap_or(name);
        let is_type = match kind {
            SymbolKind::Type | SymbolKind::Module => true,
            SymbolKind::Function | SymbolKind::Method => false,
        };
        let lines = line_index(start)..line_index(end) + 1;
        Self { name: own_name.to_owned(), is_type, lines }
    }
}

/// Whether lines contain the first line of a place. Removed lines, whose place is empty, may have been
/// the last ones.
fn contains(lines: &Range<usize>, place: &Range<usize>) -> bool {
    lines.start <= place.start && place.start < lines.end + usize::from(place.is_empty())
}

fn overlap(a: &Range<usize>, b: &Range<usize>) -> bool {
    a.start < b.end && b.start < a.end
}

/// A line without white space around it and without a comma at its end.
fn bare_text(line: &str) -> &str {
    let text = line.trim();
    text.strip_suffix(',').unwrap_or(text)
}

fn split_lines(text: &str) -> Vec<String> {
    text.lines().map(str::to_owned).collect()
}

/// The index of a 1-based line.
fn line_index(line: u32) -> usize {
    usize::try_from(line).unwrap_or(usize::MAX).saturating_sub(1)
}

/// The names and numbers of a line.
fn names(line: &str) -> impl Iterator<Item = &str> {
    line.split(|char: char| !char.is_alphanumeric() && char != '_').filter(|name| !name.is_empty())
}

fn speaks_of_comments(text: &str) -> bool {
    // In a browser, `document.` is the page.
    let lower = text.to_lowercase().replace("document.", "");
    // Only a note of Rust is written in capitals; thread safety is no comment.
    let has_word = text.contains("SAFETY") || COMMENT_WORDS.iter().any(|word| lower.contains(word));
    // `https://`, `C#`, `issue #12` and `#[must_use]` are no comments.
    let is_mark = |(start, mark): (usize, &str)| {
        let mut rest = text[start + mark.len()..].chars();
        !text[..start].ends_with(|before: char| before == ':' || before.is_alphanumeric())
            && !rest.next().is_some_and(|after| after == '[' || after.is_numeric())
    };
    has_word || COMMENT_MARKS.iter().any(|mark| text.match_indices(mark).any(is_mark))
}

/// The changed lines between two texts, by a longest common subsequence.
pub fn changed_lines<L: Ord>(before: &[L], after: &[L]) -> Vec<ChangedLines> {
    let start = before.iter().zip(after).take_while(|(old, new)| old == new).count();
    let rest = before[start..].iter().rev().zip(after[start..].iter().rev());
    let end = rest.take_while(|(old, new)| old == new).count();
    let (old, new) = (&before[start..before.len() - end], &after[start..after.len() - end]);
    if old.is_empty() && new.is_empty() {
        return Vec::new();
    }
    let width = new.len() + 1;
    if (old.len() + 1).saturating_mul(width) > CELLS_MAX {
        return changed_parts(old, new, start);
    }
    // Length of the longest common subsequence of the lines from here on.
    let mut common = vec![0_u32; (old.len() + 1) * width];
    for row in (0..old.len()).rev() {
        for column in (0..new.len()).rev() {
            common[row * width + column] = match old[row] == new[column] {
                true => common[(row + 1) * width + column + 1] + 1,
                false => common[(row + 1) * width + column].max(common[row * width + column + 1]),
            };
        }
    }
    let (mut row, mut column) = (0, 0);
    let mut changes: Vec<ChangedLines> = Vec::new();
    while row < old.len() || column < new.len() {
        if row < old.len() && column < new.len() && old[row] == new[column] {
            (row, column) = (row + 1, column + 1);
            continue;
        }
        let from = (row, column);
        while row < old.len() || column < new.len() {
            let is_old_next = column == new.len()
                || row < old.len()
                    && common[(row + 1) * width + column] >= common[row * width + column + 1];
            if row < old.len() && column < new.len() && old[row] == new[column] {
                break;
            }
            if is_old_next { row += 1 } else { column += 1 }
        }
        let (before, after) = (start + from.0..start + row, start + from.1..start + column);
        changes.push(ChangedLines { before, after });
    }
    changes
}

/// The changed lines between two long texts that begin at this line, between the lines that both
/// have once. Without such lines, everything is one change.
fn changed_parts<L: Ord>(old: &[L], new: &[L], start: usize) -> Vec<ChangedLines> {
    let shift = |lines: Range<usize>, by: usize| lines.start + by..lines.end + by;
    let mut anchors = common_unique_lines(old, new);
    if anchors.is_empty() {
        return vec![ChangedLines {
            before: shift(0..old.len(), start),
            after: shift(0..new.len(), start),
        }];
    }
    anchors.push((old.len(), new.len()));
    let mut from = (0, 0);
    let mut changes = Vec::new();
    for (old_end, new_end) in anchors {
        let part = changed_lines(&old[from.0..old_end], &new[from.1..new_end]);
        changes.extend(part.into_iter().map(|change| ChangedLines {
            before: shift(change.before, start + from.0),
            after: shift(change.after, start + from.1),
        }));
        from = (old_end + 1, new_end + 1);
    }
    changes
}

/// The lines that two texts have once each and in the same order, as in a patience diff.
fn common_unique_lines<L: Ord>(old: &[L], new: &[L]) -> Vec<(usize, usize)> {
    let (old_places, new_places) = (index_lines(old), index_lines(new));
    let pairs = old_places.iter().filter_map(|(line, at)| {
        match (at.as_slice(), new_places.get(line)?.as_slice()) {
            ([old], [new]) => Some((*old, *new)),
            _ => None,
        }
    });
    let mut pairs: Vec<(usize, usize)> = pairs.collect();
    pairs.sort_unstable();
    // The longest increasing subsequence. `ends[n]` is the last pair of the best one of length n + 1.
    let (mut ends, mut previous): (Vec<usize>, Vec<Option<usize>>) = (Vec::new(), Vec::new());
    for (index, (_, new)) in pairs.iter().enumerate() {
        let length = ends.partition_point(|end| pairs[*end].1 < *new);
        previous.push(length.checked_sub(1).map(|shorter| ends[shorter]));
        match ends.get_mut(length) {
            Some(end) => *end = index,
            None => ends.push(index),
        }
    }
    let mut common: Vec<(usize, usize)> =
        std::iter::successors(ends.last().copied(), |index| previous[*index])
            .map(|index| pairs[index])
            .collect();
    common.reverse();
    common
}

fn index_lines<L: Ord>(lines: &[L]) -> BTreeMap<&L, Vec<usize>> {
    let mut places: BTreeMap<&L, Vec<usize>> = BTreeMap::new();
    for (index, line) in lines.iter().enumerate() {
        places.entry(line).or_default().push(index);
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distant_changes_of_a_long_file_are_separate() {
        let before: Vec<String> =
            (0..5000).map(|line| format!("{}", line / 2 * (line % 2))).collect();
        let mut after = before.clone();
        after[4999] = "last".to_owned();
        after.insert(2501, "inserted".to_owned());
        after[1] = "first".to_owned();
        let found = changed_lines(&before, &after);
        let found: Vec<_> = found.into_iter().map(|it| (it.before, it.after)).collect();
        assert_eq!(found, [(1..2, 1..2), (2501..2501, 2501..2502), (4999..5000, 5000..5001)]);
        // Without a unique line, everything is one change.
        let (zeros, ones) = (vec![0; 3000], [vec![1], vec![0; 2998], vec![1]].concat());
        assert_eq!(changed_lines(&zeros, &ones).len(), 1);
    }

    #[test]
    fn only_blank_lines_and_trailing_space_are_blank() {
        let check = |before: &str, after: &str, expected: bool| {
            let bytes = |text: &str| Some(text.as_bytes().to_vec());
            let (before, after) = (bytes(before), bytes(after));
            let edit = FileEdit { path: "a.py".to_owned(), before, after, issues: BTreeSet::new() };
            let file_changes = FileChanges::new(&edit, None);
            let blank = file_changes.changes.iter().map(|change| file_changes.is_blank(change));
            assert_eq!(blank.collect::<Vec<_>>(), [expected], "{edit:?}");
        };
        check("for x in y:\n    return x\n", "for x in y:\nreturn x\n", false);
        check("\"Paid\"+name\n", "\"Paid \"+name\n", false);
        check("a\nb\n", "a  \n\nb\n", true);
        check("a\n\t\nb\n", "a\nb\n", true);
        check("a = 1\n", "a  =1\n", true);
    }

    #[test]
    fn changes_are_found_by_line() {
        let check = |before: &str, after: &str, expected: &[(Range<usize>, Range<usize>)]| {
            let lines = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
            let found = changed_lines(&lines(before), &lines(after));
            let found: Vec<_> = found.into_iter().map(|it| (it.before, it.after)).collect();
            assert_eq!(found, expected, "{before} -> {after}");
        };
        check("a b c", "a b c", &[]);
        check("a b c", "a B c", &[(1..2, 1..2)]);
        check("a b c d e", "A b c d E", &[(0..1, 0..1), (4..5, 4..5)]);
        check("a b c", "a x b c", &[(1..1, 1..2)]);
        check("a b c d", "a d", &[(1..3, 1..1)]);
        check("a b c d e f", "a x c d f", &[(1..2, 1..2), (4..5, 4..4)]);
    }
}
