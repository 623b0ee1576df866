//! The statements of a file that the change touches: most of a file is as it was, and what is as it was has nothing new in it.
//!
//! It is a filter and no more. A statement that is the same before and after parses the same, and whatever is found in it is found on both sides;
//! what finds nothing in the others has nothing to report. As soon as there is something, the whole texts are looked at.

#[path = "changed_statements/context.rs"]
mod around;

use std::collections::HashMap;
use std::ops::Range;

pub(crate) use around::assigns_itself;

use crh_syntax::{Language, inner_statements, outermost_statements, refusal};

/// Where more of a text than these parts of a hundred is touched, one look at all of it is cheaper than two.
const PERCENT_MAX: usize = 75;

/// Statements inside of touched ones are told apart down to this level: for each the lines are read once more, and little is left of most after two.
const LEVELS_MAX: usize = 5;

/// The statements of one side that the other has not, each as often as it has more of them.
pub(crate) struct Touched<'t> {
    text: &'t str,
    statements: Vec<Statement>,
}

#[derive(Debug, Clone)]
struct Statement {
    range: Range<usize>,
    is_touched: bool,
}

/// What of two texts is touched; none if that cannot be told, or one of them cannot be parsed at all.
pub(crate) fn touched<'t>(
    language: Language,
    [old, new]: [&'t str; 2],
) -> Option<[Touched<'t>; 2]> {
    let statements = [old, new].map(|text| match refusal(language, text) {
        None => outermost_statements(language, text),
        Some(_) => None,
    });
    let [Some(before), Some(after)] = statements else { return None };
    let [before, after] = compared([old, new], [before, after], |_| true);
    Some([Touched { text: old, statements: before }, Touched { text: new, statements: after }])
}

/// Statements of both sides, touched but for those that have a partner on the other one. Only some may have one.
fn compared(
    [old, new]: [&str; 2],
    [before, after]: [Vec<Range<usize>>; 2],
    may_be_kept: impl Fn(&str) -> bool,
) -> [Vec<Statement>; 2] {
    let mut counts: HashMap<&str, i64> = HashMap::with_capacity(before.len());
    for range in &before {
        *counts.entry(old[range.clone()].trim_end()).or_default() += 1;
    }
    let mut kept: HashMap<&str, i64> = HashMap::with_capacity(before.len());
    let after = after.into_iter().map(|range| {
        let statement = new[range.clone()].trim_end();
        let left = counts.get_mut(statement).filter(|left| **left > 0 && may_be_kept(statement));
        let is_kept = left.map(|left| *left -= 1).is_some();
        if is_kept {
            *kept.entry(statement).or_default() += 1;
        }
        Statement { range, is_touched: !is_kept }
    });
    let after = after.collect();
    let before = before.into_iter().map(|range| {
        let left = kept.get_mut(old[range.clone()].trim_end()).filter(|left| **left > 0);
        let is_touched = left.map(|left| *left -= 1).is_none();
        Statement { range, is_touched }
    });
    [before.collect(), after]
}

/// The text after the change with nothing but what is touched, on the lines where it stands; none if that cannot be told, or is nearly all.
pub(crate) fn text_of(path: &str, before: &str, texts: [&str; 2]) -> Option<String> {
    let language = Language::of_path(path)?;
    if Language::of_path(before) != Some(language) {
        return None;
    }
    let [old, new] = touched(language, texts)?;
    let mut left_out: Vec<LeftOut> = inside(language, &old, &new);
    let untouched = new.statements.iter().filter(|it| !it.is_touched);
    left_out.extend(untouched.map(|it| LeftOut { range: it.range.clone(), stand_in: "" }));
    left_out.sort_by_key(|it| it.range.start);
    let bytes: usize = left_out.iter().map(|it| it.range.len()).sum();
    let is_part = (new.text.len() - bytes) * 100 <= new.text.len() * PERCENT_MAX;
    is_part.then(|| without(new.text, &left_out))
}

/// A statement that is not in the part, and what stands in its place.
struct LeftOut {
    range: Range<usize>,
    stand_in: &'static str,
}

/// What is untouched inside of touched statements, level by level, so that no statement is the partner of two.
fn inside(language: Language, old: &Touched<'_>, new: &Touched<'_>) -> Vec<LeftOut> {
    let mut open = [old, new].map(|side| {
        let touched = side.statements.iter().filter(|it| it.is_touched);
        touched.map(|it| it.range.clone()).collect::<Vec<_>>()
    });
    let mut left_out = Vec::new();
    for _ in 0..LEVELS_MAX {
        let inner = [(old.text, &open[0]), (new.text, &open[1])]
            .map(|(text, statements)| inner(language, text, statements));
        let [before, after] = compared([old.text, new.text], inner, |it| !around::matters(it));
        let mut end = 0;
        for it in &after {
            // A block keeps a statement at its place, which has nothing to find in it.
            let is_first = it.range.start != end;
            end = it.range.end;
            if !it.is_touched {
                let stand_in = if is_first { "pass" } else { "" };
                left_out.push(LeftOut { range: it.range.clone(), stand_in });
            }
        }
        open = [before, after]
            .map(|side| side.into_iter().filter(|it| it.is_touched).map(|it| it.range).collect());
    }
    left_out
}

/// The statements one level inside of some.
fn inner(language: Language, text: &str, statements: &[Range<usize>]) -> Vec<Range<usize>> {
    let mut all = Vec::new();
    for outer in statements {
        let inner = inner_statements(language, &text[outer.clone()]).unwrap_or_default();
        let header =
            inner.first().map_or("", |first| &text[outer.start..outer.start + first.start]);
        if !around::reaches_inside(header) {
            let inner = inner.into_iter();
            all.extend(inner.map(|it| outer.start + it.start..outer.start + it.end));
        }
    }
    all
}

/// A text without some statements, the others on their lines.
fn without(text: &str, left_out: &[LeftOut]) -> String {
    let mut part = String::with_capacity(text.len() / 2);
    let mut from = 0;
    for LeftOut { range, stand_in } in left_out {
        part.push_str(&text[from..range.start]);
        let statement = &text[range.clone()];
        if !stand_in.is_empty() {
            let blanks = statement.len() - statement.trim_start_matches([' ', '\t']).len();
            part.push_str(&statement[..blanks]);
            part.push_str(stand_in);
        }
        let lines = memchr::memchr_iter(b'\n', statement.as_bytes()).count();
        part.extend(std::iter::repeat_n('\n', lines));
        from = range.end;
    }
    part.push_str(&text[from..]);
    part
}

/// What is shown of a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shown {
    Nothing,
    All,
    /// What stands before its body, which nothing stands for.
    Header {
        end: usize,
    },
}

impl<'t> Touched<'t> {
    /// The touched statements.
    pub(crate) fn statements(&self) -> impl Iterator<Item = &'t str> {
        let touched = self.statements.iter().filter(|it| it.is_touched);
        touched.map(|it| &self.text[it.range.clone()])
    }

    /// The touched statements, each on its line, or what is to be shown of them.
    pub(crate) fn alone(&self, shown: impl Fn(&str) -> Shown) -> String {
        let mut alone = String::with_capacity(self.text.len() / 2);
        for it in &self.statements {
            let statement = &self.text[it.range.clone()];
            let shown = if it.is_touched { shown(statement) } else { Shown::Nothing };
            let rest = match shown {
                Shown::Nothing => statement,
                Shown::All => {
                    alone.push_str(statement);
                    ""
                }
                Shown::Header { end } => {
                    alone.push_str(&statement[..end]);
                    alone.push_str(" pass");
                    &statement[end..]
                }
            };
            let lines = memchr::memchr_iter(b'\n', rest.as_bytes()).count();
            alone.extend(std::iter::repeat_n('\n', lines));
        }
        alone
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(old: &str, new: &str) -> Option<String> {
        text_of("a.py", "a.py", [old, new])
    }

    #[test]
    fn what_is_touched_stays_on_its_line() {
        let old = "import a\n\n\ndef f():\n    x\n\n\ndef g():\n    y\n\n\ndef h():\n    long(1)\n";
        let new = old.replace("    y\n", "    y\n    z\n");
        let alone = format!("{}def g():\n    pass\n    z\n\n\n\n\n", "\n".repeat(7));
        assert_eq!(check(old, &new), Some(alone));
        // A line that went touches its statement as well, and a statement that only moved is not touched.
        let alone = format!("{}def g():\n    pass\n\n\n\n\n", "\n".repeat(7));
        assert_eq!(check(&new, old), Some(alone));
        assert_eq!(check("a = 1\nb = 2\nc = 3\n", "c = 3\na = 1\nb = 2\n").unwrap().trim(), "");
    }

    #[test]
    fn what_is_there_once_more_is_touched_once() {
        let alone = check("a = 1\nb = 2\n", "a = 1\na = 1\nb = 2\n");
        assert_eq!(alone.as_deref(), Some("\na = 1\n\n"));
        let [old, _] = touched(Language::Python, ["a = 1\na = 1\nb = 2\n", "a = 1\n"]).unwrap();
        assert_eq!(old.statements().collect::<Vec<_>>(), ["a = 1\n", "b = 2\n"]);
    }

    #[test]
    fn what_is_untouched_inside_of_what_is_touched_is_left_out() {
        let old = "class A:\n    a = 1\n\n    def f(x):\n        \"\"\"\n        F.\"\"\"\n        if x:\n            y\n        else:\n            z\n        return z\n\n    def g():\n        y\n";
        let part = |new: &str| check(old, new).unwrap();
        // What is around a `return` matters to it.
        assert_eq!(
            part(&old.replace("            z\n", "            zz\n")),
            "class A:\n    pass\n\n    def f(x):\n        pass\n\n        if x:\n            pass\n        else:\n            zz\n        return z\n\n\n\n"
        );
        // No statement has two partners. What returns from a function of its own gets no further.
        assert_eq!(
            part(&old.replace("    a = 1\n", "    a = 1\n    a = 1\n")),
            format!("class A:\n    pass\n    a = 1\n{}", "\n".repeat(12))
        );
    }

    #[test]
    fn what_is_nearly_all_or_unknown_is_no_part() {
        assert_eq!(check("a = 1\n", "b = 1\n"), None);
        assert_eq!(check("a = 1\nb = 2\nc = (\n", "a = 1\nb = 2\nc = 3\n"), None);
        assert_eq!(text_of("a.go", "a.go", ["package a\n", "package b\n"]), None);
        assert_eq!(text_of("a.py", "a.js", ["a = 1\n", "a = 1\n"]), None);
    }
}
