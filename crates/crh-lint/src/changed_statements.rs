//! The statements of a file that the change touches. Most of a file is unchanged and has no new
//! findings.
//!
//! This is only a filter. An unchanged statement parses the same before and after the change, so it
//! has the same findings in both texts. If the touched statements have no findings, there are no
//! new findings. Otherwise the whole texts are checked.

mod context;

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

pub(crate) use context::assigns_itself;

use crh_review::identity::content_id;
use crh_syntax::{Language, inner_statements, outermost_statements, refusal};

/// Maximum percentage of a text that may be touched. Above this, checking the whole text at once is
/// cheaper.
const PERCENT_MAX: usize = 75;

/// Maximum nesting levels whose statements are compared. Each level reads the lines again, and deep
/// levels have few unchanged statements.
const LEVELS_MAX: usize = 5;

/// The touched statements of one text (old or new). A statement is touched if it has no match in
/// the other text (see [`compare`]).
pub(crate) struct ChangedStatements<'t> {
    text: &'t str,
    touched: Vec<Range<usize>>,
}

/// Touched statements of both texts; `None` if the texts cannot be compared.
type TouchedRanges = Option<[Vec<Range<usize>>; 2]>;

/// Language, and content ids of both texts.
type TextsKey = (Language, [String; 2]);

/// Compares each pair of texts once, although several checks need it and files may share texts.
#[derive(Default)]
pub(crate) struct StatementCache {
    by_texts: Mutex<HashMap<TextsKey, Arc<OnceLock<TouchedRanges>>>>,
}

#[derive(Debug, Clone)]
struct ComparedStatement {
    range: Range<usize>,
    is_touched: bool,
}

impl StatementCache {
    /// Compares the statements of two texts; `None` if crh refuses to parse one of them or cannot
    /// split it into statements.
    pub(crate) fn changed_statements<'t>(
        &self,
        language: Language,
        [old, new]: [&'t str; 2],
    ) -> Option<[ChangedStatements<'t>; 2]> {
        let key = (language, [old, new].map(|text| content_id(text.as_bytes())));
        let entry = {
            let mut by_texts = self.by_texts.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(by_texts.entry(key).or_default())
        };
        let touched_ranges = entry.get_or_init(|| touched_ranges(language, [old, new]));
        let [before, after] = touched_ranges.clone()?;
        Some([
            ChangedStatements { text: old, touched: before },
            ChangedStatements { text: new, touched: after },
        ])
    }
}

fn touched_ranges(language: Language, texts: [&str; 2]) -> TouchedRanges {
    let statements = texts.map(|text| match refusal(language, text) {
        // A text without statements, such as a comment, counts as one statement.
        None => outermost_statements(language, text)
            .map(|it| if it.is_empty() { std::iter::once(0..text.len()).collect() } else { it }),
        Some(_) => None,
    });
    let [Some(before), Some(after)] = statements else { return None };
    let compared = compare(texts, [before, after], |_| true);
    Some(compared.map(|side| {
        side.into_iter().filter(|it| it.is_touched).map(|it| it.range).collect::<Vec<_>>()
    }))
}

/// Marks a statement as touched unless the other text has the same statement. Each statement is
/// matched with at most one other, and only if `may_match` allows it.
fn compare(
    [old, new]: [&str; 2],
    [before, after]: [Vec<Range<usize>>; 2],
    may_match: impl Fn(&str) -> bool,
) -> [Vec<ComparedStatement>; 2] {
    let old_statement = |range: &Range<usize>| old[range.clone()].trim_end();
    let new_statement = |range: &Range<usize>| new[range.clone()].trim_end();
    // Most statements stay in place. Only those between the first and the last difference are
    // hashed.
    let is_kept = |(before, after): &(&Range<usize>, &Range<usize>)| {
        let statement = old_statement(before);
        statement == new_statement(after) && may_match(statement)
    };
    let kept_at_start = before.iter().zip(&after).take_while(is_kept).count();
    let [old_rest, new_rest] = [&before[kept_at_start..], &after[kept_at_start..]];
    let kept_at_end = old_rest.iter().rev().zip(new_rest.iter().rev()).take_while(is_kept).count();
    let old_middle = kept_at_start..before.len() - kept_at_end;
    let new_middle = kept_at_start..after.len() - kept_at_end;
    let mut old_counts: HashMap<&str, i64> = HashMap::new();
    for range in &before[old_middle.clone()] {
        *old_counts.entry(old_statement(range)).or_default() += 1;
    }
    let mut match_counts: HashMap<&str, i64> = HashMap::new();
    let after = (0..).zip(after).map(|(index, range)| {
        let statement = new_statement(&range);
        let is_touched = new_middle.contains(&index) && {
            let count =
                old_counts.get_mut(statement).filter(|left| **left > 0 && may_match(statement));
            let is_matched = count.map(|count| *count -= 1).is_some();
            if is_matched {
                *match_counts.entry(statement).or_default() += 1;
            }
            !is_matched
        };
        ComparedStatement { range, is_touched }
    });
    let after = after.collect();
    let before = (0..).zip(before).map(|(index, range)| {
        let is_touched = old_middle.contains(&index) && {
            let count = match_counts.get_mut(old_statement(&range)).filter(|left| **left > 0);
            count.map(|count| *count -= 1).is_none()
        };
        ComparedStatement { range, is_touched }
    });
    [before.collect(), after]
}

/// The touched statements of the new text, without unchanged statements inside them. The lines keep
/// their numbers. `None` if the statements cannot be compared, or if more than [`PERCENT_MAX`] of
/// the text is left.
pub(crate) fn touched_text(
    cache: &StatementCache,
    path: &str,
    old_path: &str,
    texts: [&str; 2],
) -> Option<String> {
    let [old_language, language] = [(old_path, texts[0]), (path, texts[1])]
        .map(|(path, text)| Language::of_file(path, text.as_bytes()));
    let language = language?;
    if old_language != Some(language) {
        return None;
    }
    let [old, new] = cache.changed_statements(language, texts)?;
    let mut omissions: Vec<OmittedStatement> = unchanged_inside(language, &old, &new);
    omissions.extend(new.untouched().map(|range| OmittedStatement { range, placeholder: "" }));
    omissions.sort_by_key(|it| it.range.start);
    let omitted_bytes: usize = omissions.iter().map(|it| it.range.len()).sum();
    let is_small_enough = (new.text.len() - omitted_bytes) * 100 <= new.text.len() * PERCENT_MAX;
    is_small_enough.then(|| blank_out(new.text, &omissions))
}

/// A statement to omit, and the text that replaces it.
struct OmittedStatement {
    range: Range<usize>,
    placeholder: &'static str,
}

/// Unchanged statements inside touched ones. They are compared level by level, so that no statement
/// is matched twice.
fn unchanged_inside(
    language: Language,
    old: &ChangedStatements<'_>,
    new: &ChangedStatements<'_>,
) -> Vec<OmittedStatement> {
    let mut touched_ranges = [old, new].map(|side| side.touched.clone());
    let mut omissions = Vec::new();
    for _ in 0..LEVELS_MAX {
        let inner = [(old.text, &touched_ranges[0]), (new.text, &touched_ranges[1])]
            .map(|(text, statements)| inner_ranges(language, text, statements));
        let [before, after] =
            compare([old.text, new.text], inner, |it| !context::depends_on_context(it));
        let mut previous_end = 0;
        for statement in &after {
            // A Python block needs at least one statement, so its first one becomes `pass`.
            let is_first_in_block = statement.range.start != previous_end;
            previous_end = statement.range.end;
            if !statement.is_touched {
                let placeholder = if is_first_in_block { "pass" } else { "" };
                omissions.push(OmittedStatement { range: statement.range.clone(), placeholder });
            }
        }
        touched_ranges = [before, after]
            .map(|side| side.into_iter().filter(|it| it.is_touched).map(|it| it.range).collect());
    }
    omissions
}

/// The statements one level inside the given ones, except in a function whose header must be
/// checked together with its body.
fn inner_ranges(language: Language, text: &str, statements: &[Range<usize>]) -> Vec<Range<usize>> {
    let mut ranges = Vec::new();
    for outer in statements {
        let inner = inner_statements(language, &text[outer.clone()]).unwrap_or_default();
        let header =
            inner.first().map_or("", |first| &text[outer.start..outer.start + first.start]);
        if !context::depends_on_body(header) {
            let inner = inner.into_iter();
            ranges.extend(inner.map(|it| outer.start + it.start..outer.start + it.end));
        }
    }
    ranges
}

/// The text without the omitted statements. The others keep their line numbers.
fn blank_out(text: &str, omissions: &[OmittedStatement]) -> String {
    let mut output = String::with_capacity(text.len() / 2);
    let mut copied_to = 0;
    for OmittedStatement { range, placeholder } in omissions {
        output.push_str(&text[copied_to..range.start]);
        let statement = &text[range.clone()];
        if !placeholder.is_empty() {
            let blanks = statement.len() - statement.trim_start_matches([' ', '\t']).len();
            output.push_str(&statement[..blanks]);
            output.push_str(placeholder);
        }
        push_line_ends(&mut output, statement);
        copied_to = range.end;
    }
    output.push_str(&text[copied_to..]);
    output
}

/// Adds the line ends of an omitted text.
fn push_line_ends(output: &mut String, omitted: &str) {
    let lines = memchr::memchr_iter(b'\n', omitted.as_bytes()).count();
    output.extend(std::iter::repeat_n('\n', lines));
}

/// How much of a statement [`ChangedStatements::render`] keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StatementPart {
    Nothing,
    All,
    /// The bytes before `end`: the header. `pass` replaces the body.
    Header {
        end: usize,
    },
}

impl<'t> ChangedStatements<'t> {
    /// The touched statements.
    pub(crate) fn statements(&self) -> impl Iterator<Item = &'t str> {
        self.touched.iter().map(|range| &self.text[range.clone()])
    }

    /// The parts of the text before, between and after the touched statements.
    fn untouched(&self) -> impl Iterator<Item = Range<usize>> {
        let starts = std::iter::once(0).chain(self.touched.iter().map(|it| it.end));
        let ends = self.touched.iter().map(|it| it.start).chain([self.text.len()]);
        starts.zip(ends).map(|(start, end)| start..end)
    }

    /// The touched statements, reduced to the parts that `select_part` selects. They keep their
    /// line numbers.
    pub(crate) fn render(&self, select_part: impl Fn(&str) -> StatementPart) -> String {
        let mut output = String::with_capacity(self.text.len() / 2);
        let touched = self.touched.iter().cloned().map(Some).chain([None]);
        for (gap, statement) in self.untouched().zip(touched) {
            push_line_ends(&mut output, &self.text[gap]);
            let Some(statement) = statement.map(|range| &self.text[range]) else { continue };
            let (kept_bytes, placeholder) = match select_part(statement) {
                StatementPart::Nothing => (0, ""),
                StatementPart::All => (statement.len(), ""),
                StatementPart::Header { end } => (end, " pass"),
            };
            output.push_str(&statement[..kept_bytes]);
            output.push_str(placeholder);
            push_line_ends(&mut output, &statement[kept_bytes..]);
        }
        output
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(old: &str, new: &str) -> Option<String> {
        touched_text(&StatementCache::default(), "a.py", "a.py", [old, new])
    }

    #[test]
    fn touched_statements_stay_on_their_lines() {
        let old = "import a\n\n\ndef f():\n    x\n\n\ndef g():\n    y\n\n\ndef h():\n    long(1)\n";
        let new = old.replace("    y\n", "    y\n    z\n");
        let alone = format!("{}def g():\n    pass\n    z\n\n\n\n\n", "\n".repeat(7));
        assert_eq!(check(old, &new), Some(alone));
        // A removed line touches its statement; a moved statement is not touched.
        let alone = format!("{}def g():\n    pass\n\n\n\n\n", "\n".repeat(7));
        assert_eq!(check(&new, old), Some(alone));
        assert_eq!(check("a = 1\nb = 2\nc = 3\n", "c = 3\na = 1\nb = 2\n").unwrap().trim(), "");
    }

    #[test]
    fn repeated_statement_is_touched_once() {
        let alone = check("a = 1\nb = 2\n", "a = 1\na = 1\nb = 2\n");
        assert_eq!(alone.as_deref(), Some("\na = 1\n\n"));
        let [old, _] = StatementCache::default()
            .changed_statements(Language::Python, ["a = 1\na = 1\nb = 2\n", "a = 1\n"])
            .unwrap();
        assert_eq!(old.statements().collect::<Vec<_>>(), ["a = 1\n", "b = 2\n"]);
    }

    #[test]
    fn unchanged_inner_statements_are_omitted() {
        let old = "class A:\n    a = 1\n\n    def f(x):\n        \"\"\"\n        F.\"\"\"\n        if x:\n            y\n        else:\n            z\n        return z\n\n    def g():\n        y\n";
        let part = |new: &str| check(old, new).unwrap();
        // A `return` depends on its context, so it stays.
        assert_eq!(
            part(&old.replace("            z\n", "            zz\n")),
            "class A:\n    pass\n\n    def f(x):\n        pass\n\n        if x:\n            pass\n        else:\n            zz\n        return z\n\n\n\n"
        );
        // The repeated `a = 1` matches only one old statement. The function is unchanged, and its
        // `return` does not leave it.
        assert_eq!(
            part(&old.replace("    a = 1\n", "    a = 1\n    a = 1\n")),
            format!("class A:\n    pass\n    a = 1\n{}", "\n".repeat(12))
        );
    }

    #[test]
    fn mostly_changed_or_unparsable_text_has_no_part() {
        assert_eq!(check("a = 1\n", "b = 1\n"), None);
        assert_eq!(check("a = 1\nb = 2\nc = (\n", "a = 1\nb = 2\nc = 3\n"), None);
        assert_eq!(check("# a\n", "# b\n"), None);
        let cache = StatementCache::default();
        assert_eq!(touched_text(&cache, "a.go", "a.go", ["package a\n", "package b\n"]), None);
        assert_eq!(touched_text(&cache, "a.py", "a.js", ["a = 1\n", "a = 1\n"]), None);
    }
}
