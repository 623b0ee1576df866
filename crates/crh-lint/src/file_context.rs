//! A look at one file of the change: both texts, each parsed at most once for all reviewers, and the way to tell what is new.

use std::collections::HashMap;

use crate::fold::folded;
use crate::found::Found;
use crate::source::Source;
use crate::{Change, ChangedFile};

/// One file of the change with its texts. What is not UTF-8 in them is replaced, as it is in the diff.
pub(crate) struct Look<'a> {
    pub(crate) change: &'a Change<'a>,
    pub(crate) file: &'a ChangedFile,
    /// The text before the change.
    pub(crate) old: Option<Source<'a>>,
    /// The text after it.
    pub(crate) new: Option<Source<'a>>,
    /// The text after it with nothing but the statements that the change touches, where these can be told: what finds nothing in them, and asks
    /// for nothing beyond them, finds nothing new.
    pub(crate) part: Option<Source<'a>>,
}

/// What a reviewer says about one file.
#[derive(Debug, Default)]
pub(crate) struct Looked {
    pub(crate) found: Vec<Found>,
    /// What the reader should know: what was left out, and why.
    pub(crate) notes: Vec<String>,
}

/// A reviewer that looks at one file at a time.
pub(crate) trait Reviewer: Sync {
    /// Its name.
    fn name(&self) -> &'static str;

    /// Whether it has something to say about such a file at all.
    fn wants(&self, file: &ChangedFile) -> bool;

    /// Looks at a file.
    fn look(&self, look: &Look<'_>) -> Looked;
}

impl Look<'_> {
    /// What is found in the text after the change, and neither in the text before it nor in a line that only moved here. The
    /// same rule on a line with the same text, white space aside, is nothing new, as often as it was there. Without a text
    /// after the change, nothing.
    pub(crate) fn introduced(&self, found_in: impl Fn(&Source<'_>) -> Vec<Found>) -> Vec<Found> {
        let Some(new) = &self.new else { return Vec::new() };
        let found = found_in(new);
        if found.is_empty() {
            return found;
        }
        let mut before: HashMap<(String, String), usize> = HashMap::new();
        if let Some(old) = &self.old {
            for it in found_in(old) {
                *before.entry((it.rule, folded(old.line(it.line)))).or_default() += 1;
            }
        }
        let mut was_there = |it: &Found| {
            let left = before.get_mut(&(it.rule.clone(), folded(new.line(it.line))));
            left.filter(|left| **left > 0).map(|left| *left -= 1).is_some()
        };
        // What stayed was there before what was added.
        let stayed: Vec<bool> =
            found.iter().map(|it| !self.file.adds(it.line) && was_there(it)).collect();
        let mut introduced = Vec::new();
        for (it, stayed) in found.into_iter().zip(stayed) {
            if !stayed && !was_there(&it) && !self.change.has_moved(new.path, it.line) {
                introduced.push(it);
            }
        }
        introduced
    }
}
