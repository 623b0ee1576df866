//! Triggers: conditions on facts that select a reviewer.

use crate::facts::{ChangeFact, ChangeFacts};
use crh_git::PathGlobs;

/// Conditions that must all hold. A condition that is not set always holds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Trigger {
    /// A fact that must hold.
    pub fact: Option<ChangeFact>,
    /// Minimum number of changed lines of code, in `languages` if set.
    pub lines: Option<u64>,
    /// Globs, one of which must match a file in scope.
    pub paths: Option<PathGlobs>,
    /// Words in lower case, one of which an added line of code must contain, in `languages` if set.
    pub words: Vec<String>,
    /// Languages, one of which must have changed lines of code.
    pub languages: Vec<&'static str>,
}

impl Trigger {
    /// The reason if the trigger fires, else None.
    pub fn fires(&self, facts: &ChangeFacts) -> Option<String> {
        let mut reasons: Vec<String> = Vec::new();
        if let Some(fact) = self.fact {
            reasons.push(facts.witness(fact)?.to_owned());
        }
        if !self.languages.is_empty() || self.lines.is_some() {
            reasons.push(self.enough_lines(facts)?);
        }
        if let Some(globs) = &self.paths {
            let path_reason = |path: &str| {
                Some(format!("`{path}` is under `{}`", globs.first_match(path.as_bytes())?))
            };
            reasons.push(facts.paths().find_map(path_reason)?);
        }
        if !self.words.is_empty() {
            let word_reason = |word: &String| {
                Some(format!("{} says `{word}`", facts.place_of(word, &self.languages)?))
            };
            reasons.push(self.words.iter().find_map(word_reason)?);
        }
        Some(reasons.join(", and ")).filter(|reasons| !reasons.is_empty())
    }

    /// The number of changed lines as a reason, if it is large enough.
    fn enough_lines(&self, facts: &ChangeFacts) -> Option<String> {
        let min_lines = self.lines.unwrap_or(1);
        let (lines, kind) = match self.languages.as_slice() {
            [] => (facts.lines(), "executable".to_owned()),
            languages => {
                let has_changes = |language: &&&str| facts.lines_in(&[language]) > 0;
                let changed_languages: Vec<&str> =
                    languages.iter().filter(has_changes).copied().collect();
                (facts.lines_in(languages), changed_languages.join(" and "))
            }
        };
        let s = if lines == 1 { "" } else { "s" };
        (lines >= min_lines).then(|| format!("{lines} {kind} line{s} changed"))
    }
}
