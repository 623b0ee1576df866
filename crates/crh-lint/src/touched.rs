//! The outermost statements of a file that the change touches: most of a file is as it was, and what is as it was has nothing new in it.
//!
//! It is a filter and no more. A statement that is the same before and after parses the same, and whatever is found in it is found on both sides;
//! what finds nothing in the others has nothing to report. As soon as there is something, the whole texts are looked at.

use std::collections::HashMap;
use std::ops::Range;

use crh_syntax::Language;
use crh_syntax::outermost_statements;
use crh_syntax::refusal;

/// Where more of a text than these parts of a hundred is touched, one look at all of it is cheaper than two.
const PERCENT_MAX: usize = 75;

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
    let mut counts: HashMap<&str, i64> = HashMap::with_capacity(before.len());
    for range in &before {
        *counts.entry(old[range.clone()].trim_end()).or_default() += 1;
    }
    let mut kept: HashMap<&str, i64> = HashMap::with_capacity(before.len());
    let is_touched = |range: &Range<usize>| {
        let statement = new[range.clone()].trim_end();
        let is_known = counts.get_mut(statement).filter(|left| **left > 0);
        let is_kept = is_known.map(|left| *left -= 1).is_some();
        if is_kept {
            *kept.entry(statement).or_default() += 1;
        }
        !is_kept
    };
    let flags: Vec<bool> = after.iter().map(is_touched).collect();
    let after = after.into_iter().zip(flags);
    let after = after.map(|(range, is_touched)| Statement { range, is_touched }).collect();
    let before = before.into_iter().map(|range| {
        let left = kept.get_mut(old[range.clone()].trim_end()).filter(|left| **left > 0);
        let is_touched = left.map(|left| *left -= 1).is_none();
        Statement { range, is_touched }
    });
    let before = before.collect();
    Some([Touched { text: old, statements: before }, Touched { text: new, statements: after }])
}

/// The text after the change with nothing but what is touched, on the lines where it stands; none if that cannot be told, or is nearly all.
pub(crate) fn text_of(path: &str, before: &str, texts: [&str; 2]) -> Option<String> {
    let language = Language::of_path(path)?;
    if Language::of_path(before) != Some(language) {
        return None;
    }
    let [_, new] = touched(language, texts)?;
    let bytes: usize = new.statements().map(str::len).sum();
    (bytes * 100 <= new.text.len() * PERCENT_MAX).then(|| new.alone(|_| true))
}

impl<'t> Touched<'t> {
    /// The touched statements.
    pub(crate) fn statements(&self) -> impl Iterator<Item = &'t str> {
        let touched = self.statements.iter().filter(|it| it.is_touched);
        touched.map(|it| &self.text[it.range.clone()])
    }

    /// Those of the touched statements that are wanted, each on its line.
    pub(crate) fn alone(&self, is_wanted: impl Fn(&str) -> bool) -> String {
        let mut alone = String::with_capacity(self.text.len() / 2);
        for it in &self.statements {
            let statement = &self.text[it.range.clone()];
            if it.is_touched && is_wanted(statement) {
                alone.push_str(statement);
            } else {
                let lines = memchr::memchr_iter(b'\n', statement.as_bytes()).count();
                alone.extend(std::iter::repeat_n('\n', lines));
            }
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
        let alone = format!("{}def g():\n    y\n    z\n\n\n\n\n", "\n".repeat(7));
        assert_eq!(check(old, &new), Some(alone));
        // A line that went touches its statement as well, and a statement that only moved is not touched.
        let alone = format!("{}def g():\n    y\n\n\n\n\n", "\n".repeat(7));
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
    fn what_is_nearly_all_or_unknown_is_no_part() {
        assert_eq!(check("a = 1\n", "b = 1\n"), None);
        assert_eq!(check("a = 1\nb = 2\nc = (\n", "a = 1\nb = 2\nc = 3\n"), None);
        assert_eq!(text_of("a.go", "a.go", ["package a\n", "package b\n"]), None);
        assert_eq!(text_of("a.py", "a.js", ["a = 1\n", "a = 1\n"]), None);
    }
}
