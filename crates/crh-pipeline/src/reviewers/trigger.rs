//! What of a change asks for a reviewer: conditions over facts, and the reason in words where they hold.

use crate::facts::{Fact, Facts};
use crh_git::Globs;

/// Conditions that must all hold; those that are not set do.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Trigger {
    /// This is known about the change.
    pub fact: Option<Fact>,
    /// So many executable lines changed at least; in `languages`, where there are any.
    pub lines: Option<u64>,
    /// A file under review has such a path.
    pub paths: Option<Globs>,
    /// An added line that runs has one of these as a whole word; in a file in `languages`, where there are any. In lower case.
    pub words: Vec<String>,
    /// Executable lines changed in a file in one of these.
    pub languages: Vec<&'static str>,
}

impl Trigger {
    /// Why it fires; none if it does not.
    pub fn fires(&self, facts: &Facts) -> Option<String> {
        let mut why: Vec<String> = Vec::new();
        if let Some(fact) = self.fact {
            why.push(facts.witness(fact)?.to_owned());
        }
        if !self.languages.is_empty() || self.lines.is_some() {
            why.push(self.enough_lines(facts)?);
        }
        if let Some(globs) = &self.paths {
            let matching = |path: &str| {
                Some(format!("`{path}` is under `{}`", globs.first_match(path.as_bytes())?))
            };
            why.push(facts.paths().find_map(matching)?);
        }
        if !self.words.is_empty() {
            let place = |word: &String| {
                Some(format!("{} says `{word}`", facts.place_of(word, &self.languages)?))
            };
            why.push(self.words.iter().find_map(place)?);
        }
        Some(why.join(", and ")).filter(|why| !why.is_empty())
    }

    /// How many lines changed, if that is enough.
    fn enough_lines(&self, facts: &Facts) -> Option<String> {
        let wanted = self.lines.unwrap_or(1);
        let (lines, of) = match self.languages.as_slice() {
            [] => (facts.lines(), "executable".to_owned()),
            languages => {
                let changed = |language: &&&str| facts.lines_in(&[language]) > 0;
                let named: Vec<&str> = languages.iter().filter(changed).copied().collect();
                (facts.lines_in(languages), named.join(" and "))
            }
        };
        let s = if lines == 1 { "" } else { "s" };
        (lines >= wanted).then(|| format!("{lines} {of} line{s} changed"))
    }
}
